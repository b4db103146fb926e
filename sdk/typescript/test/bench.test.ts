/** Test of the browser benchmark at a small scale: it measures, reports, and cleans up. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { withoutBrowser } from "./chromium.js";
import { WITHOUT_ENGINE } from "./engine.js";
import { WITHOUT_GUESTS } from "./guests.js";
import { WITHOUT_NODE } from "./society.js";

const MAIN = join(dirname(fileURLToPath(import.meta.url)), "../bench/main.js");
const without = WITHOUT_NODE || WITHOUT_ENGINE || WITHOUT_GUESTS || withoutBrowser();

interface BenchRun {
  readonly code: number | null;
  readonly out: string;
  readonly noted: string;
  /** Files and processes left behind. */
  readonly left: readonly string[];
}

/** Returns the processes whose temporary folder this is. */
function processesOf(folder: string): string[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").filter((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/environ`, "utf8").includes(`TMPDIR=${folder}`);
    } catch {
      return false;
    }
  });
}

/** Returns what remains after a short wait for processes to end. */
async function leftIn(folder: string): Promise<string[]> {
  const files = readdirSync(folder).filter((name) => /^(whimbrel-|playwright_chromiumdev)/.test(name));
  for (let attempt = 0; attempt < 200; attempt++) {
    if (processesOf(folder).length === 0) return files;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return [...files, ...processesOf(folder)];
}

/** Runs the benchmark. `heard` gets all its output. */
async function run(args: readonly string[], heard?: (printed: string, interrupt: () => void) => void): Promise<BenchRun> {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  try {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TMPDIR: folder } });
    let [out, noted] = ["", ""];
    const interrupt = (): void => void child.kill("SIGINT");
    child.stdout.on("data", (data: Uint8Array) => {
      out += String(data);
      heard?.(out, interrupt);
    });
    child.stderr.on("data", (data: Uint8Array) => {
      noted += String(data);
      heard?.(noted, interrupt);
    });
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, out, noted, left: await leftIn(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("benchmark prints a JSON line per row", { skip: without, timeout: 180_000 }, async () => {
  const { code, out, noted, left } = await run(["--small", "--json", "--part", "workers"]);
  assert.equal(code, 0, noted);
  const rows = out.trim().split("\n").map((line) => JSON.parse(line) as { bench: string; version: string; machine: Record<string, unknown>; params: Record<string, unknown>; metrics: Record<string, number> });
  assert.deepEqual([...new Set(rows.map(({ params }) => params["part"]))], ["workers"]);
  for (const { bench, version, machine, metrics } of rows) {
    assert.equal(bench, "browser");
    assert.match(version, /^\d+\.\d+/);
    assert.match(String(machine["chromium"]), /^\d+\./);
    for (const [name, value] of Object.entries(metrics)) assert.ok(value > 0, `${name} is ${value}`);
  }
  assert.deepEqual(left, []);
});

test("interrupted benchmark leaves nothing behind", { skip: without, timeout: 120_000 }, async () => {
  // Once before the start, and once with a page that begins.
  for (const moment of [/Chromium \d/, /start: /]) {
    let isTold = false;
    const { code, left } = await run(["--small", "--part", "start"], (printed, interrupt) => {
      if (isTold || !moment.test(printed)) return;
      isTold = true;
      interrupt();
    });
    assert.deepEqual([code, left], [130, []]);
  }
});

test("invalid arguments are named", async () => {
  for (const [args, why] of [[["--part", "nothing"], /there is no part nothing/], [["--seconds", "none"], /0.1 to 600/]] as const) {
    const { code, noted } = await run(args);
    assert.equal(code, 2);
    assert.match(noted, why);
    assert.match(noted, /usage/);
  }
});
