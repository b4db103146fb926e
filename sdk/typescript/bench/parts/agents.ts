/** Benchmark part: number of agents that a page holds, until an answer takes too long. */
import type { Page } from "playwright-core";
import { median, quantile, sleep } from "../measure.js";
import type { Kind } from "../pages/tab.js";
import type { Row } from "../report.js";
import { Stage, type Bench } from "../stage.js";

const KINDS: readonly Kind[] = ["typescript", "agentspeak", "wasm"];
/** Agents of a session, and so of a Worker. */
const PER_WORKER = 64;
const STEPS = [64, 128, 256, 512, 1024, 2048];
/** Duration of an answer that ends the part. */
const SLOW_MS = 1000;
/** Agents that are asked in turn for the duration of one answer. */
const ASKED = 100;
/** Wait before memory is measured, for the garbage collector. */
const REST_MS = 1500;

/** Asks some of the agents in turn. Returns the milliseconds of each answer. */
function askSome(page: Page, kind: Kind, names: readonly string[]): Promise<number[]> {
  const some = names.filter((_, at) => at % Math.ceil(names.length / ASKED) === 0);
  return page.evaluate(
    async ({ kind, some }) => {
      const took = [];
      for (const name of some) took.push(...(await tab.ask(kind, [name])));
      return took;
    },
    { kind, some },
  );
}

async function grow(bench: Bench, stage: Stage, page: Page, kind: Kind): Promise<Row[]> {
  const rows: Row[] = [];
  const names: string[] = [];
  const empty = await stage.pagesMemory();
  for (const step of bench.isSmall ? STEPS.slice(0, 2) : STEPS) {
    bench.progress(`agents: ${step} in ${kind}`);
    const fresh = Array.from({ length: step - names.length }, (_, at) => `${kind}-${names.length + at}`);
    const began = performance.now();
    await page.evaluate((workers) => tab.join(workers), Math.ceil(fresh.length / PER_WORKER));
    const { there, why } = await page.evaluate(({ kind, fresh }) => tab.spawnMost(kind, fresh), { kind, fresh });
    const spawnedMs = performance.now() - began;
    names.push(...there);
    const all = await page.evaluate(({ kind, names }) => tab.ask(kind, names), { kind, names });
    const one = await askSome(page, kind, names);
    await sleep(bench.isSmall ? 0 : REST_MS);
    const bytes = await stage.pagesMemory();
    const metrics = { agents: names.length, spawn_ms: spawnedMs, all_answered_ms: Math.max(...all), one_p50_ms: median(one), one_p99_ms: quantile(one, 0.99), pages_mb: bytes / 1e6, kb_per_agent: (bytes - empty) / 1e3 / names.length };
    rows.push({ params: { kind, wanted: step, workers: Math.ceil(step / PER_WORKER) }, metrics });
    if (why !== "") bench.progress(`agents: no more than ${names.length} in ${kind}: ${why}`);
    if (why !== "" || metrics.one_p99_ms > SLOW_MS) break;
  }
  return rows;
}

export async function run(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of bench.isSmall ? KINDS.slice(0, 1) : KINDS) {
    const stage = await Stage.set(bench.closers);
    const page = await stage.tab({ workers: "1" });
    await page.evaluate(() => tab.begun);
    rows.push(...(await grow(bench, stage, page, kind)));
    await bench.closers.close();
  }
  return rows;
}
