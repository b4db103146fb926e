/** `node main.js [--part NAMES] [--seconds S] [--json]`: measures Whimbrel in a browser. */
import { execFileSync } from "node:child_process";
import { arch, availableParallelism, platform } from "node:os";
import { parseArgs } from "node:util";
import { CHROMIUM } from "../test/chromium.js";
import { WHIMBREL } from "../test/society.js";
import { Closers } from "./closers.js";
import * as agents from "./parts/agents.js";
import * as console_ from "./parts/console.js";
import * as save from "./parts/save.js";
import * as size from "./parts/size.js";
import * as start from "./parts/start.js";
import { runTabs, runWorkers } from "./parts/traffic.js";
import * as watching from "./parts/watching.js";
import { line, table, type Origin, type Row, type Target } from "./report.js";
import type { Bench } from "./stage.js";

interface Part {
  readonly says: string;
  readonly run: (bench: Bench) => Promise<Row[]>;
  readonly targets?: (rows: readonly Row[]) => Target[];
}

const PARTS: Readonly<Record<string, Part>> = {
  start: { says: "a page that joins and has 50 agents: until all have answered", ...start },
  agents: { says: "how many agents a page holds, and what each takes", ...agents },
  workers: { says: "messages between agents in two Workers of one page", run: runWorkers },
  tabs: { says: "messages between agents in two tabs", run: runTabs },
  save: { says: "from a save to the node's word that it has it", ...save },
  console: { says: "frames of the console, with 10,000 agents and 5,000 messages a second", ...console_ },
  watching: { says: "what a busy node does while somebody watches, as a part of what it does otherwise", ...watching },
  size: { says: "what a page loads, gzipped", ...size },
};

const USAGE = `Measures Whimbrel in a browser: a node, and Chromium without a window.

usage: node main.js [--part NAMES] [--seconds S] [--json]

  --part NAMES   only these, with commas between them:
${Object.entries(PARTS).map(([name, { says }]) => `                   ${name.padEnd(9)} ${says}`).join("\n")}
  --seconds S    how long a stretch is that is measured, 0.1 to 600 (5)
  --json         a line of JSON for each row instead of tables
  --small        little of everything: only to see that it works
  --help         this

WHIMBREL names the binary (target/release/whimbrel), CHROMIUM the browser (chromium).`;

function wrong(text: string): never {
  console.error(`${text}\n\n${USAGE}`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({ options: { part: { type: "string" }, seconds: { type: "string" }, json: { type: "boolean" }, small: { type: "boolean" }, help: { type: "boolean" } } }).values;
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

/** Returns the version that a program prints. */
function versionOf(program: string): string {
  try {
    return execFileSync(program, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    console.error(`${program} does not run here: make build, make chromium, or set WHIMBREL or CHROMIUM`);
    process.exit(1);
  }
}

function origin(): Origin {
  const version = versionOf(WHIMBREL).replace(/^whimbrel /, "");
  const chromium = /[\d.]+/.exec(versionOf(CHROMIUM))?.[0] ?? "";
  return { version, machine: { os: platform(), arch: arch(), cores: availableParallelism(), chromium, node: process.versions.node } };
}

async function main(): Promise<void> {
  const { part, seconds: said, json = false, small = false, help = false } = options();
  if (help) return console.log(USAGE);
  const names = part?.split(",") ?? Object.keys(PARTS);
  const unknown = names.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined) wrong(`there is no part ${unknown}`);
  const seconds = Number(said ?? (small ? 0.2 : 5));
  if (!(seconds >= 0.1 && seconds <= 600)) wrong(`--seconds ${said}: 0.1 to 600 are possible`);
  const closers = new Closers();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void closers.end().then(() => process.exit(130)));
  const by = origin();
  if (!json) console.log(`whimbrel ${by.version}, Chromium ${by.machine["chromium"]}, Node ${by.machine["node"]}, ${by.machine["cores"]} cores`);
  const progress = (text: string): void => void (process.stderr.isTTY ? process.stderr.write(`\r\x1b[K${text}`) : json || console.error(text));
  for (const name of names) {
    const { says, run, targets } = PARTS[name] as Part;
    try {
      const rows = await run({ closers, seconds, isSmall: small, progress });
      if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
      if (json) for (const row of rows) console.log(line(name, row, by));
      else console.log(`\n${name}: ${says}\n${table(rows)}`);
      if (!json) for (const { what, isMet } of targets?.(rows) ?? []) console.log(`  ${isMet ? "met    " : "NOT MET"}  ${what}`);
    } catch (error) {
      // A part that was interrupted has not failed.
      if (closers.isOver) return;
      console.error(`part ${name} failed:`, error);
      process.exitCode = 1;
    } finally {
      await closers.close();
    }
  }
}

await main();
