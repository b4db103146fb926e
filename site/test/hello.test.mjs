/** Test of examples/hello: three agents in three languages say what expected.txt has. Needs the program: WHIMBREL. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { PATIENCE_MS, root } from "./serve.mjs";

const example = join(root, "examples/hello");
const program = resolve(process.env.WHIMBREL ?? join(root, "target/debug/whimbrel"));
if (!existsSync(program)) throw new Error(`there is no ${program}: make build, or set WHIMBREL`);
if (!existsSync(join(root, "sdk/typescript/dist/node.js"))) throw new Error("the SDK is not built: make sdk");

const environment = { ...process.env, WHIMBREL_HTTP: "off", NODE_NO_WARNINGS: "1", PYTHONPATH: join(root, "sdk/python/src") };

/** Starts a program. `found` resolves when it has printed a match. */
function start(command, args) {
  const child = spawn(command, args, { cwd: example, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  const one = { child, out: "", all: "", ended: new Promise((done) => child.once("close", done)) };
  child.stdout.on("data", (data) => (one.out += String(data)));
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (one.all += String(data)));
  one.found = (pattern) =>
    new Promise((resolve, reject) => {
      const look = () => pattern.test(one.all) && resolve(pattern.exec(one.all));
      for (const stream of [child.stdout, child.stderr]) stream.on("data", look);
      child.once("close", () => (look() ? undefined : reject(new Error(`${command} ended: ${one.all}`))));
      look();
    });
  return one;
}

for (const [name, order] of [["Python first", ["hello.py", "hello.ts"]], ["TypeScript first", ["hello.ts", "hello.py"]]]) {
  test(`three languages talk, ${name}`, { timeout: 4 * PATIENCE_MS }, async () => {
    const node = start(program, ["run", ".", "--agent-port", "127.0.0.1:0", "--agent-token", "open-sesame"]);
    const programs = [];
    try {
      const [, address] = await node.found(/agents can connect at (\S+)/);
      for (const file of order) {
        const one = start(file.endsWith(".py") ? "python3" : process.execPath, [file, `tcp://${address}`]);
        programs.push(one);
        await one.found(/ada speaks AgentSpeak/);
      }
      for (const one of programs) assert.equal(await one.ended, 0, one.all);
    } finally {
      for (const one of programs) one.child.kill();
      node.child.kill("SIGINT");
      await node.ended;
    }
    const lines = [node, ...programs].flatMap(({ out }) => out.trim().split("\n"));
    assert.deepEqual(lines.sort(), readFileSync(join(example, "expected.txt"), "utf8").trim().split("\n").sort());
  });
}
