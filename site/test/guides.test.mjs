/**
 * Test of documents, typed to the letter: their files are written into an empty folder, their blocks `sh typed` are
 * typed there, one after the other, and print what the block `text output` or `text shown` below says. Needs the
 * program: WHIMBREL.
 *
 * - `until=WORD` after `typed`: the block stays, as in a terminal of its own, and the next one is typed when it has
 *   printed the word.
 * - `prints=NAME` after `typed`: NAME in later blocks stands for what the block prints, such as a token.
 * - `text output` is what a society prints, in all terminals, also where a page runs it. `text shown` is what the
 *   command alone prints.
 * - `like` after `shown`: figures and the widths of columns may differ, as times and process numbers do.
 *
 * Other machines are this one: their addresses are replaced by loopback addresses. Servers of NATS get free ports, so
 * that no other ones are in the way; `make nats` installs them.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { createServer } from "node:net";
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
  /** Place in the output up to which lines are skipped. */
  #seen = 0;

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

  /** Returns whole lines that were not skipped. */
  get lines() {
    return this.out.slice(this.#seen).split("\n").slice(0, -1).filter((line) => line !== "");
  }

  /** Leaves out what was printed so far. */
  skip() {
    this.#seen = this.out.lastIndexOf("\n") + 1;
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

/** Returns a port that is free. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Number of nodes that can be found in a folder. */
const nodesOf = (folder) => readdirSync(folder).filter((name) => name.endsWith(".sock")).length;

/**
 * Waits until so many nodes can be found in a folder. Agents may print before commands find their node, if a command is
 * typed at once.
 */
async function nodesIn(folder, count) {
  const nodes = () => nodesOf(folder);
  const changes = watch(folder);
  try {
    await new Promise((resolve, reject) => {
      const late = AbortSignal.timeout(PATIENCE_MS);
      late.addEventListener("abort", () => reject(new Error(`${nodes()} of ${count} nodes`)));
      const look = () => nodes() >= count && resolve();
      changes.on("change", look);
      look();
    });
  } finally {
    changes.close();
  }
}

/** Replaces the addresses of other machines by those of this one, and the ports of NATS by those from `port` on. */
function here(script, port) {
  const host = { one: "127.0.0.1", two: "127.0.0.2", three: "127.0.0.3" };
  return script
    .replaceAll(/\b(?:10\.0\.0|192\.168\.7)\.(\d+)\b/g, "127.0.0.$1")
    .replaceAll(/\b(one|two|three):(?=\d)/g, (_, name) => `${host[name]}:`)
    .replaceAll("0.0.0.0", "127.0.0.1")
    .replaceAll("whimbrel engine up", `whimbrel engine up --port ${port}`)
    .replaceAll("127.0.0.1:4222", `127.0.0.1:${port}`);
}

/** Leaves of a line what is the same in every run: no figures, and single blanks. */
const shapeOf = (line) => line.replaceAll(/\d+(?:\.\d+)?/g, "0").replaceAll(/ +/g, " ");

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
    const environment = { ...process.env, PATH: `${dirname(program)}:${join(root, ".cache/nats/bin")}:${process.env.PATH}`, HOME: folder, WHIMBREL_HTTP: "127.0.0.1:0", WHIMBREL_RUN_DIR: join(folder, "run"), PYTHONPATH: join(root, "sdk/python/src") };
    const port = await freePort();
    const runFolder = join(folder, "run");
    mkdirSync(runFolder, { mode: 0o700 });
    const open = [];
    /** Words of the document that stand for what a block printed. */
    const names = new Map();
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
        const output = next?.words.some((word) => word === "output" || word === "shown") ? next : undefined;
        const script = here([...names].reduce((text, [name, value]) => text.replaceAll(name, value), block.code), port).replaceAll(/^mkdir (?!-p)/gm, "mkdir -p ");
        const before = nodesOf(runFolder);
        const terminal = new Terminal(folder, script, environment);
        const until = wordOf(block, "until");
        if (until !== undefined) {
          open.push(terminal);
          beside.push(terminal);
          await terminal.until(() => (terminal.out + terminal.err).includes(until), block.code);
          const [, count] = /^whimbrel (?:run|join|up) (?:.* --nodes (\d+))?/m.exec(script) ?? [, 0];
          await nodesIn(runFolder, before + Number(count ?? 1));
          terminal.skip();
        } else if (output) {
          const shape = output.words.includes("like") ? shapeOf : (line) => line;
          const expected = output.code.split("\n").filter((line) => line !== "");
          const heard = output.words.includes("shown") ? [terminal] : [...beside, terminal];
          const lines = () => heard.flatMap((one) => one.lines);
          await Promise.any(heard.map((one) => one.until(() => lines().length >= expected.length, block.code)));
          assert.deepEqual(byAgent(lines().slice(0, expected.length).map(shape)), byAgent(expected.map(shape)), `${path}:${block.line}\n${terminal.err}`);
          await terminal.interrupt();
          beside = [];
        } else {
          assert.equal(await terminal.ended, 0, `${path}:${block.line}: ${block.code}\n${terminal.out}\n${terminal.err}`);
        }
        const name = wordOf(block, "prints");
        if (name !== undefined) names.set(name, terminal.out.trim());
      }
    } finally {
      await Promise.all(open.map((terminal) => terminal.interrupt()));
      if (existsSync(join(folder, ".whimbrel-engine"))) await new Terminal(folder, "whimbrel engine down", environment).ended;
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
test("guides are typed", () => assert.ok(typed.length >= 18, typed.join()));
