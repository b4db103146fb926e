/**
 * Test of documents, typed to the letter: their files are written into an empty folder, their blocks `sh typed` are
 * typed there, one after the other, and print what the block `text output` below says. Needs the program: WHIMBREL.
 *
 * A block with `until=WORD` stays, as in a terminal of its own, and the next one is typed when it has printed the word.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { codeBlocks, wordOf } from "../snippets.mjs";
import { PATIENCE_MS, root } from "./serve.mjs";

const program = resolve(process.env.WHIMBREL ?? join(root, "target/debug/whimbrel"));
if (!existsSync(program)) throw new Error(`there is no ${program}: make build, or set WHIMBREL`);
const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).split("\n").filter((path) => path && existsSync(join(root, path)));
const blocksOf = (path) => codeBlocks(readFileSync(join(root, path), "utf8"));
const typed = documents.filter((path) => blocksOf(path).some(({ language, words }) => language === "sh" && words.includes("typed")));

/** Writes the files of a document: a block's name, in the folder of its project; `net/here.mas2j` is a path already. */
function writeFiles(folder, blocks) {
  const files = new Map();
  for (const block of blocks) {
    const [file, project] = [wordOf(block, "file"), wordOf(block, "project")];
    if (file === undefined) continue;
    const path = project === undefined ? file : join(project, file);
    files.set(path, files.has(path) ? `${files.get(path)}\n\n${block.code}` : block.code);
  }
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  }
}

/** A terminal: commands that run in a folder, with what they print. */
class Terminal {
  #child;
  #waiting = [];
  out = "";
  err = "";

  constructor(folder, script, environment) {
    this.#child = spawn("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env: environment, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout.on("data", (data) => this.#heard("out", data));
    this.#child.stderr.on("data", (data) => this.#heard("err", data));
    this.ended = new Promise((resolve) => this.#child.once("close", resolve));
  }

  #heard(stream, data) {
    this[stream] += String(data);
    this.#waiting = this.#waiting.filter(({ holds, resolve }) => !holds() || resolve());
  }

  /** Waits until this holds; fails if the commands end, or if it takes too long. */
  async until(holds, what) {
    if (holds()) return;
    const late = AbortSignal.timeout(PATIENCE_MS);
    const why = await Promise.race([
      new Promise((resolve) => this.#waiting.push({ holds, resolve: () => resolve(undefined) })),
      this.ended.then(() => (holds() ? undefined : "it ended")),
      new Promise((resolve) => late.addEventListener("abort", () => resolve("it takes too long"))),
    ]);
    assert.equal(why, undefined, `${what}: ${why}\n${this.out}\n${this.err}`);
  }

  /** Ctrl-C. */
  async interrupt() {
    if (this.#child.exitCode === null) process.kill(-this.#child.pid, "SIGINT");
    await this.ended;
  }
}

/** Groups lines by agent. */
function byAgent(lines) {
  const agents = {};
  for (const line of lines.filter((one) => one !== "")) {
    const [, agent = "", text = line] = /^\[(\w+)\] ?(.*)$/.exec(line) ?? [];
    (agents[agent] ??= []).push(text.trimEnd());
  }
  return agents;
}

for (const path of typed) {
  test(`${path} works as typed`, { timeout: 10 * PATIENCE_MS }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "whimbrel-guide-"));
    const blocks = blocksOf(path);
    const environment = { ...process.env, PATH: `${dirname(program)}:${process.env.PATH}`, HOME: folder, WHIMBREL_HTTP: "off" };
    const open = [];
    /** Terminals that stayed for the next block: its output is what all of them print. */
    let beside = [];
    try {
      writeFiles(folder, blocks);
      symlinkSync(join(root, "examples"), join(folder, "examples"));
      for (const [at, block] of blocks.entries()) {
        if (block.language !== "sh" || !block.words.includes("typed")) continue;
        // What a block exports is known in the blocks below it, as in a terminal.
        for (const [, name, value] of block.code.matchAll(/^export (\w+)=(\S+)$/gm)) environment[name] = value;
        const next = blocks[at + 1];
        const expected = next?.words.includes("output") ? byAgent(next.code.split("\n")) : undefined;
        const script = block.code.replaceAll(/^mkdir (?!-p)/gm, "mkdir -p ");
        const terminal = new Terminal(folder, script, environment);
        const until = wordOf(block, "until");
        if (until !== undefined) {
          open.push(terminal);
          beside.push(terminal);
          await terminal.until(() => (terminal.out + terminal.err).includes(until), block.code);
        } else if (expected) {
          const count = next.code.trimEnd().split("\n").length;
          const lines = () => [...beside, terminal].flatMap(({ out }) => out.split("\n").slice(0, -1));
          await Promise.any([...beside, terminal].map((one) => one.until(() => lines().length >= count, block.code)));
          assert.deepEqual(byAgent(lines().slice(0, count)), expected, `${path}:${block.line}\n${terminal.err}`);
          await terminal.interrupt();
          beside = [];
        } else {
          assert.equal(await terminal.ended, 0, `${path}:${block.line}: ${block.code}\n${terminal.out}\n${terminal.err}`);
        }
      }
    } finally {
      await Promise.all(open.map((terminal) => terminal.interrupt()));
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
test("guides are typed", () => assert.ok(typed.length >= 3, typed.join()));
