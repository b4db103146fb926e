/** Test of the example in TypeScript: it type-checks like a user's program, runs, and prints the expected lines. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";
import { repository } from "./vectors.js";

const sdk = join(repository(), "sdk/typescript");
const example = join(repository(), "examples/couriers");

/** Folder of the built example, in this package so that it uses this build of `whimbrel`. */
const built = join(dirname(fileURLToPath(import.meta.url)), "../couriers");

test("example type-checks", () => {
  const config = {
    extends: join(example, "tsconfig.json"),
    compilerOptions: { rootDir: example, outDir: built, typeRoots: [join(sdk, "node_modules/@types")], paths: { "whimbrel/node": [join(sdk, "dist/node.d.ts")] } },
    include: [join(example, "*.ts")],
  };
  const node = process.execPath;
  const write = `require("fs").mkdirSync(${JSON.stringify(built)}, { recursive: true }); require("fs").writeFileSync(${JSON.stringify(join(built, "tsconfig.json"))}, ${JSON.stringify(JSON.stringify(config))})`;
  execFileSync(node, ["-e", write]);
  execFileSync(node, [join(sdk, "node_modules/typescript/bin/tsc"), "--project", join(built, "tsconfig.json")], { stdio: "pipe" });
});

test("example prints the expected lines", { skip: WITHOUT_NODE, timeout: 60_000 }, async () => {
  const society = await Society.run(example);
  const drone = spawn(process.execPath, [join(built, "drone.js"), `tcp://${society.address}`], {
    env: { ...process.env, WHIMBREL_AGENT_TOKEN: TOKEN },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let flown = "";
  drone.stdout.on("data", (data: Uint8Array) => (flown += String(data)));
  const left = new Promise((resolve) => drone.once("close", resolve));
  try {
    const said = (await society.finished()) + ((await left) === 0 ? flown : "the drone failed");
    const byAgent = (text: string): string[] => text.trim().split("\n").sort((one, other) => (one.split("]")[0] ?? "").localeCompare(other.split("]")[0] ?? ""));
    assert.deepEqual(byAgent(said), byAgent(readFileSync(join(example, "expected.txt"), "utf8")));
  } finally {
    drone.kill("SIGKILL");
    society.stop();
  }
});
