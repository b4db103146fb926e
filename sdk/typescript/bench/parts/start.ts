/** Benchmark part: time until a page has agents that answer. */
import { median } from "../measure.js";
import type { Kind } from "../pages/tab.js";
import type { Row, Target } from "../report.js";
import { Stage, type Bench } from "../stage.js";

const KINDS: readonly Kind[] = ["typescript", "agentspeak", "wasm"];
/** Measured loads, after one that warms up node and browser. */
const LOADS = 9;
const AGENTS = 50;
const TARGET_MS = 1000;

export async function run(bench: Bench): Promise<Row[]> {
  const stage = await Stage.set(bench.closers);
  const loads = bench.isSmall ? 1 : LOADS;
  const rows: Row[] = [];
  for (const kind of bench.isSmall ? KINDS.slice(0, 2) : KINDS) {
    const all = [];
    for (let load = 0; load <= loads; load++) {
      bench.progress(`start: ${kind}, load ${load} of ${loads}`);
      const page = await stage.tab({ kind, agents: String(AGENTS) });
      const begun = await page.evaluate(() => tab.begun);
      await page.context().close();
      if (load > 0) all.push(begun);
    }
    const answered = all.map(({ answeredMs }) => answeredMs);
    const metrics = { joined_ms: median(all.map(({ joinedMs }) => joinedMs)), spawned_ms: median(all.map(({ spawnedMs }) => spawnedMs)), answered_ms: median(answered), slowest_ms: Math.max(...answered) };
    rows.push({ params: { kind, agents: AGENTS, workers: all[0]?.workers ?? 0, loads }, metrics });
  }
  return rows;
}

export function targets(rows: readonly Row[]): Target[] {
  return rows.map(({ params, metrics }) => ({ what: `${AGENTS} agents in ${params["kind"]} answer within ${TARGET_MS} ms`, isMet: (metrics["answered_ms"] ?? Infinity) < TARGET_MS }));
}
