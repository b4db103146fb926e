#!/usr/bin/env node
// Runs the binary of the package for this system.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `whimbrel-cli-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "whimbrel.exe" : "whimbrel";
let binary;
try {
  binary = createRequire(import.meta.url).resolve(`${name}/bin/${file}`);
} catch {
  console.error(`whimbrel: the package ${name} is missing: there is none for this system, or npm was told to omit optional packages`);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal's Ctrl-C reaches both processes, and the binary decides when to end.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
