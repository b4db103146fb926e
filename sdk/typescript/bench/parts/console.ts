/**
 * Benchmark part: frames of the console for a large and busy society. A mock node provides the society, because it
 * needs less of the processors than agents.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { repository } from "../../test/vectors.js";
import { quantile, sleep } from "../measure.js";
import type { Row, Target } from "../report.js";
import { browser, type Bench } from "../stage.js";

const MOCK = join(repository(), "console/.build/mock/main.js");
const VIEWS = ["society", "society/initiator1", "conversations", "mind/initiator1", "directory", "health", "mobility", "security"];
const AGENTS = 10_000;
const MESSAGES_PER_S = 5000;
const TARGET_FPS = 30;
/** Wait until a view has data. */
const SETTLE_MS = 4000;

/** Starts a mock node, and returns its address. */
function mock({ closers }: Bench, agents: number, rate: number): Promise<string> {
  if (!existsSync(MOCK)) throw new Error(`there is no ${MOCK}: make bench-browser builds it`);
  closers.goOn();
  const child = spawn(process.execPath, [MOCK, "--agents", String(agents), "--rate", String(rate), "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  closers.add(() => void child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("the mock node ended")));
    child.stdout.once("data", (data: Uint8Array) => resolve(/http:\S+/.exec(String(data))?.[0] ?? ""));
  });
}

/** Returns the milliseconds between frames. */
function gaps(page: Page, ms: number): Promise<number[]> {
  return page.evaluate(
    (ms) =>
      new Promise((resolve) => {
        const found: number[] = [];
        const began = performance.now();
        let last = began;
        const frame = (): void => {
          const now = performance.now();
          found.push(now - last);
          last = now;
          if (now - began < ms) requestAnimationFrame(frame);
          else resolve(found);
        };
        requestAnimationFrame(frame);
      }),
    ms,
  );
}

/** Returns the seconds of the page's thread, the time, and the heap. */
async function worked(session: CDPSession): Promise<{ busy: number; at: number; heap: number }> {
  const { metrics } = await session.send("Performance.getMetrics");
  const value = (of: string): number => metrics.find(({ name }) => name === of)?.value ?? NaN;
  return { busy: value("TaskDuration"), at: value("Timestamp"), heap: value("JSHeapUsedSize") };
}

export async function run(bench: Bench): Promise<Row[]> {
  const { isSmall, seconds, progress } = bench;
  const [agents, rate] = isSmall ? [100, 50] : [AGENTS, MESSAGES_PER_S];
  const url = await mock(bench, agents, rate);
  const context = await (await browser(bench.closers)).newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(url);
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const rows: Row[] = [];
  for (const view of isSmall ? VIEWS.slice(0, 1) : VIEWS) {
    progress(`console: ${view}`);
    await page.evaluate((view) => void (location.hash = `#/${view}`), view);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await sleep(isSmall ? 500 : SETTLE_MS);
    const before = await worked(session);
    const found = await gaps(page, 1000 * seconds);
    const after = await worked(session);
    const tookS = found.reduce((sum, gap) => sum + gap, 0) / 1000;
    const metrics = { fps: found.length / tookS, gap_p50_ms: quantile(found, 0.5), gap_p95_ms: quantile(found, 0.95), gap_max_ms: Math.max(...found), busy: (after.busy - before.busy) / (after.at - before.at), heap_mb: after.heap / 1e6 };
    rows.push({ params: { view, agents, messages_per_s: rate }, metrics });
  }
  return rows;
}

export function targets(rows: readonly Row[]): Target[] {
  return rows.map(({ params, metrics }) => ({ what: `${params["view"]}: ${TARGET_FPS} frames a second`, isMet: (metrics["fps"] ?? 0) >= TARGET_FPS }));
}
