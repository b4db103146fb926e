/** Test of the AgentSpeak in all documents: it compiles, and prints what the text below it says. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { blockOf, codeBlocks, societyOf } from "../snippets.mjs";
import { RUNNABLE, filesOf } from "../stage.mjs";
import { PATIENCE_MS, root } from "./serve.mjs";

const dist = join(root, "sdk/typescript/dist");
const engine = join(dist, "agentspeak.wasm");
if (!existsSync(engine)) throw new Error("the engine for pages is not built: make sdk agentspeak-wasm");
const { Society } = await import(join(dist, "agentspeak.js"));
const module = await WebAssembly.compile(readFileSync(engine));
/** Documents with code: all Markdown of the repository. */
const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).split("\n").filter((path) => path && existsSync(join(root, path)));

/** Languages of code blocks: a block names one, so that it is read as what it is. */
const LANGUAGES = new Set(["agentspeak", "bit-efficient", "c", "compact", "elisp", "html", "java", "js", "json", "lua", "python", "rust", "sh", "string", "text", "toml", "ts", "xml", "yaml"]);

/** Programs of a document, in its order; each with the society that it runs in, and the output that the text gives. */
function programs(path) {
  const blocks = codeBlocks(readFileSync(join(root, path), "utf8"));
  const runnable = blocks.map(blockOf);
  const own = runnable.filter((block) => block !== undefined);
  return own.map((block, at) => {
    const next = blocks.slice(blocks.findIndex(({ line }) => line === block.line) + 1);
    const output = next[next.findIndex((other) => other.words.includes("output") || blockOf(other) !== undefined)];
    return { block, ...societyOf(own, at), output: output?.words.includes("output") ? output.code.trimEnd().split("\n") : undefined };
  });
}

/** Groups lines by agent. */
function byAgent(lines) {
  const agents = {};
  for (const line of lines) {
    const [, agent = "", text = ""] = /^\[(\w+)\] ?(.*)$/.exec(line) ?? [];
    (agents[agent] ??= []).push(text.trimEnd());
  }
  return agents;
}

/** Runs a society until it has printed so many lines. */
async function printed({ files, path }, count) {
  const society = await Society.load(module);
  const lines = [];
  const done = new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`it printed only:\n${lines.join("\n")}`)), PATIENCE_MS);
    const end = () => {
      clearTimeout(late);
      resolve();
    };
    society.on("printed", ({ agent, text }) => lines.push(`[${agent}] ${text}`) >= count && end());
    society.on("noted", ({ agent, level, text }) => (level === "warning" || level === "severe") && lines.push(`[${agent}] ${text}`) >= count && end());
  });
  society.putFiles(files);
  await society.open(path);
  await done;
  if (!society.isOver) society.close();
  return lines.slice(0, count);
}

for (const path of documents) {
  const all = programs(path);
  if (all.length === 0) continue;
  test(`programs of ${path} compile, and print what it says`, { timeout: 4 * PATIENCE_MS }, async () => {
    for (const { block, output, ...society } of all) {
      const checker = await Society.load(module);
      checker.putFiles(society.files);
      const { diagnostics } = await checker.check(society.path);
      const found = diagnostics.map(({ file, line, message }) => `${path}:${block.line}: ${file}:${line}: ${message}`);
      assert.deepEqual(found, []);
      if (output) assert.deepEqual(byAgent(await printed(society, output.length)), byAgent(output), `${path}:${block.line}`);
    }
  });
}

for (const example of RUNNABLE) {
  test(`example ${example} prints the expected lines in the engine for pages`, { timeout: 4 * PATIENCE_MS }, async () => {
    const own = filesOf(example);
    const society = { files: Object.fromEntries(own.map(({ name, code }) => [name, code])), path: own[0].name };
    const expected = readFileSync(join(root, "examples", example, "expected.txt"), "utf8").trimEnd().split("\n");
    assert.deepEqual(byAgent(await printed(society, expected.length)), byAgent(expected));
  });
}

/** Lines of code that only their indentation makes code: outside of blocks and lists, after an empty line. */
function indentedCode(body) {
  const found = [];
  let [isCode, isList, before] = [false, false, ""];
  for (const [at, line] of body.split("\n").entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    if (/^\s*(?:[-*]|\d+\.) /.test(line)) isList = true;
    else if (/^\S/.test(line)) isList = false;
    if (!isCode && !isList && /^ {4}\S/.test(line) && before.trim() === "") found.push(at + 1);
    before = line;
  }
  return found;
}

test("code blocks name a language, and paste as they stand", () => {
  const wrong = [];
  for (const path of documents) {
    for (const line of indentedCode(readFileSync(join(root, path), "utf8"))) wrong.push(`${path}:${line}: indented, without a fence`);
    for (const { line, language, code } of codeBlocks(readFileSync(join(root, path), "utf8"))) {
      const name = language.split(",")[0];
      if (!LANGUAGES.has(name)) wrong.push(`${path}:${line}: ${name || "no language"}`);
      if (name === "sh" && /^\s*[$%] /m.test(code)) wrong.push(`${path}:${line}: a prompt does not paste`);
    }
  }
  assert.deepEqual(wrong, []);
});
