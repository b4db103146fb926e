/** Test of the code in the documents, with the published declarations. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";
import { repository } from "./vectors.js";

const sdk = join(repository(), "sdk/typescript");
const folder = join(dirname(fileURLToPath(import.meta.url)), "../docs");
/** Guides whose `ts` is AssemblyScript. */
const ASSEMBLYSCRIPT: readonly string[] = ["documents.md", "mobility.md", "wasm-agents.md"];

test("code in documents type-checks", () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  let blocks = 0;
  const guides = readdirSync(join(repository(), "docs/guide")).filter((name) => name.endsWith(".md") && !ASSEMBLYSCRIPT.includes(name));
  for (const document of ["sdk/typescript/README.md", ...guides.map((name) => `docs/guide/${name}`)]) {
    const text = readFileSync(join(repository(), document), "utf8");
    for (const [, code] of text.matchAll(/^```ts\n(.*?)^```/gms)) {
      writeFileSync(join(folder, `${document.replaceAll(/[/.]/g, "-")}-${++blocks}.ts`), code ?? "");
    }
  }
  assert.ok(blocks >= 30, `${blocks} blocks`);
  const published = (name: string): [string, string[]] => [`whimbrel${name === "index" ? "" : `/${name}`}`, [join(sdk, `dist/${name}.d.ts`)]];
  const compilerOptions = { noEmit: true, paths: Object.fromEntries(["index", "node", "compact", "sl", "agentspeak", "device", "guest", "protocols", "testing"].map(published)), noUnusedLocals: false };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: join(sdk, "tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] }));
  try {
    execFileSync(process.execPath, [join(sdk, "node_modules/typescript/bin/tsc"), "--project", folder], { stdio: "pipe" });
  } catch (error) {
    assert.fail(String((error as { readonly stdout?: unknown }).stdout));
  }
});

test("first five minutes run as printed", { skip: WITHOUT_NODE, timeout: 60_000 }, async () => {
  const text = readFileSync(join(sdk, "README.md"), "utf8");
  const [, mind = ""] = /^```agentspeak\n(.*?)^```/ms.exec(text) ?? [];
  const [, program = ""] = /^```ts\n(.*?)^```/ms.exec(text) ?? [];
  const society = await Society.of({ gardener: mind });
  try {
    const here = [["whimbrel/node", pathToFileURL(join(sdk, "dist/node.js")).href], ["127.0.0.1:7002", society.address], ["open-sesame", TOKEN]] as const;
    const source = here.reduce((code, [printed, own]) => code.replace(printed, own), program);
    const { code } = await transform(source, { loader: "ts", format: "esm" });
    const said = execFileSync(process.execPath, ["--input-type=module"], { input: code, encoding: "utf8" });
    assert.ok(text.includes(`It prints \`${said.trim()}\``), said);
    while (!society.output.includes("[gardener] then I need not water anything")) await pause(20);
  } finally {
    society.stop();
  }
});
