/** Benchmark part: cost of saving an agent's state at the node. */
import type { Row } from "../report.js";
import { folder, Stage, type Bench } from "../stage.js";

const BYTES = [256, 16_384];
/** Agents that save at the same time. */
const AGENTS = [1, 16];

type Saved = readonly [perS: number, p50Ms: number, p99Ms: number];

export async function run(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const store of ["none", "folder"]) {
    const options = store === "folder" ? ["--store", folder(bench.closers)] : [];
    const stage = await Stage.set(bench.closers, ...options);
    const page = await stage.tab({ workers: "1" });
    const names = Array.from({ length: Math.max(...AGENTS) }, (_, at) => `saver${at}`);
    for (const name of names) await page.evaluate((one) => tab.employ(one, "/saver.js", { save: "no", onLeave: "wait" }), name);
    for (const bytes of bench.isSmall ? BYTES.slice(0, 1) : BYTES) {
      for (const agents of AGENTS) {
        bench.progress(`save: store ${store}, ${bytes} bytes, ${agents} at once`);
        const asked = { names: names.slice(0, agents), content: [bytes, 1000 * bench.seconds] };
        const all = (await page.evaluate(({ names, content }) => Promise.all(names.map((one) => tab.order(one, content))), asked)) as unknown as Saved[];
        const mean = (at: 1 | 2): number => all.reduce((sum, saved) => sum + saved[at], 0) / all.length;
        const metrics = { saves_per_s: all.reduce((sum, [perS]) => sum + perS, 0), p50_ms: mean(1), p99_ms: mean(2) };
        rows.push({ params: { store, bytes, agents }, metrics });
      }
    }
    await bench.closers.close();
  }
  return rows;
}
