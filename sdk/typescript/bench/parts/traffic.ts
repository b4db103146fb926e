/** Benchmark part: messages between two Workers of a page, and between two tabs. Both go through the node. */
import type { Page } from "playwright-core";
import type { Row } from "../report.js";
import { Stage, type Bench } from "../stage.js";

/** Requests in flight. */
const AT_ONCE = [1, 32, 256];

/** Forms of frames. */
const FORMS = ["json", "compact"] as const;

type Form = (typeof FORMS)[number];

async function measure(bench: Bench, what: string, form: Form, from: Page, to: Page): Promise<Row[]> {
  // A device creates an agent in the emptiest Worker, so the second one is in the other Worker.
  await from.evaluate(() => tab.employ("pinger", "/pinger.js"));
  await to.evaluate(() => tab.employ("echo", "/echo.js"));
  const rows: Row[] = [];
  for (const atOnce of bench.isSmall ? AT_ONCE.slice(0, 2) : AT_ONCE) {
    bench.progress(`${what}: ${form}, ${atOnce} at once`);
    const told = ["echo", atOnce, 1000 * bench.seconds];
    const [asksPerMs, p50, p99] = (await from.evaluate((content) => tab.order("pinger", content), told)) as [number, number, number];
    rows.push({ params: { form, at_once: atOnce, bytes: 64 }, metrics: { messages_per_s: 2000 * asksPerMs, round_trip_p50_ms: p50, round_trip_p99_ms: p99 } });
  }
  return rows;
}

async function eachForm(bench: Bench, what: string, tabs: (stage: Stage, query: Record<string, string>) => Promise<readonly [Page, Page]>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const form of bench.isSmall ? FORMS.slice(0, 1) : FORMS) {
    const stage = await Stage.set(bench.closers);
    const [from, to] = await tabs(stage, form === "compact" ? { compact: "" } : {});
    rows.push(...(await measure(bench, what, form, from, to)));
    await bench.closers.close();
  }
  return rows;
}

export function runWorkers(bench: Bench): Promise<Row[]> {
  return eachForm(bench, "workers", async (stage, query) => {
    const page = await stage.tab({ ...query, workers: "2" });
    return [page, page];
  });
}

export function runTabs(bench: Bench): Promise<Row[]> {
  return eachForm(bench, "tabs", async (stage, query) => [await stage.tab({ ...query, workers: "1" }), await stage.tab({ ...query, workers: "1" })]);
}
