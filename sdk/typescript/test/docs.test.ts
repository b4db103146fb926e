/** The code in the documents has no mistakes in its types, with the declarations that are published. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { repository } from "./vectors.js";

const sdk = join(repository(), "sdk/typescript");
const folder = join(dirname(fileURLToPath(import.meta.url)), "../docs");

test("the code in the documents is right", () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  let blocks = 0;
  for (const document of ["sdk/typescript/README.md", "docs/guide/typescript.md", "docs/guide/browser.md"]) {
    const text = readFileSync(join(repository(), document), "utf8");
    for (const [, code] of text.matchAll(/^```ts\n(.*?)^```/gms)) {
      writeFileSync(join(folder, `${document.replaceAll(/[/.]/g, "-")}-${++blocks}.ts`), code ?? "");
    }
  }
  assert.ok(blocks >= 10, `${blocks} blocks`);
  const published = (name: string): [string, string[]] => [`whimbrel${name === "index" ? "" : `/${name}`}`, [join(sdk, `dist/${name}.d.ts`)]];
  const compilerOptions = { noEmit: true, paths: Object.fromEntries(["index", "node", "compact", "sl", "agentspeak", "device", "guest"].map(published)), noUnusedLocals: false };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: join(sdk, "tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] }));
  try {
    execFileSync(process.execPath, [join(sdk, "node_modules/typescript/bin/tsc"), "--project", folder], { stdio: "pipe" });
  } catch (error) {
    assert.fail(String((error as { readonly stdout?: unknown }).stdout));
  }
});
