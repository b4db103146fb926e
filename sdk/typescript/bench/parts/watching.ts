/**
 * Benchmark part: cost of a watcher for a busy node. The machine's speed drifts by more than that cost. So each
 * interval with a watcher is compared with its two neighbours, and the median of these pairs counts.
 */
import { availableParallelism } from "node:os";
import WebSocket from "ws";
import { median, quantile, sleep } from "../measure.js";
import type { Row, Target } from "../report.js";
import { node, type Bench } from "../stage.js";

const TOKEN = "token-for-watchers";
const PAIRS = 12;
/** Length of an interval as a part of `--seconds`. With 5 s it exceeds the interval of reports. */
const STRETCH = 1 / 4;
/** Wait after a watcher came or went. */
const SETTLE_MS = 100;
const WARM_UP_MS = 1500;
const TARGET = 0.95;

/** A ring of 50 agents with 400 circulating messages. */
const RING = {
  "society.mas2j": "MAS ring { agents: w #50; starter; }",
  "starter.asl": '!go. +!go <- .wait(500); for (.range(I, 1, 400)) { J = (I mod 50) + 1; .concat("w", J, T); .term2string(A, T); .send(A, achieve, token(I)); }.',
  "w.asl": `+!token(N) <- ?next(X); .send(X, achieve, token(N)).
+?next(X) <- .my_name(Me); .term2string(Me, S); .delete("w", S, D); .term2string(K, D); J = (K mod 50) + 1; .concat("w", J, T); .term2string(X, T); +next(X).`,
};

/**
 * Sets of watches: none, which shows the noise; all messages, as for conversations; and those of the console with its
 * map.
 */
const WATCHES = {
  nobody: [],
  events: [{ what: "events", wanted: {} }],
  map: [
    { what: "society", every_ms: 500 },
    { what: "agents", wanted: { limit: 20_000, elsewhere_but: [] }, every_ms: 1000 },
    { what: "answer", request: { request: "devices", limit: 200 }, every_ms: 1000 },
    { what: "traffic", every_ms: 1000 },
  ],
} as const;

interface Watcher {
  /** Number of frames received. */
  seen: number;
  readonly close: () => void;
}

function watch(gateway: string, wanted: (typeof WATCHES)[keyof typeof WATCHES]): Promise<Watcher> | Watcher {
  if (wanted.length === 0) return { seen: 0, close: () => undefined };
  const socket = new WebSocket(`ws://${gateway}/api/v1/live`, "whimbrel.live.v1");
  const watcher: Watcher = { seen: -1, close: () => socket.close() };
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the node does not let anybody watch")));
    socket.once("open", () => socket.send(JSON.stringify({ type: "hello", token: TOKEN })));
    socket.on("message", () => {
      // The first frame is the welcome.
      if (watcher.seen++ >= 0) return;
      wanted.forEach((one, id) => socket.send(JSON.stringify({ type: "watch", id, ...one })));
      resolve(watcher);
    });
  });
}

interface NodeCounters {
  readonly handled: number;
  readonly up_us: number;
}

/** Measures the messages a second that the node's agents handle. */
async function rate(gateway: string, ms: number): Promise<number> {
  const counted = async (): Promise<NodeCounters> => (await (await fetch(`http://${gateway}/api/v1/node`, { headers: { authorization: `Bearer ${TOKEN}` } })).json()) as NodeCounters;
  const before = await counted();
  await sleep(ms);
  const after = await counted();
  return (1e6 * (after.handled - before.handled)) / (after.up_us - before.up_us);
}

async function pairs(bench: Bench, gateway: string, what: keyof typeof WATCHES): Promise<Row["metrics"]> {
  const ms = 1000 * bench.seconds * STRETCH;
  const ratios: number[] = [];
  const rates: number[] = [];
  let seen = 0;
  let before = await rate(gateway, ms);
  for (let pair = 0; pair < (bench.isSmall ? 2 : PAIRS); pair++) {
    const watcher = await watch(gateway, WATCHES[what]);
    await sleep(SETTLE_MS);
    const watched = await rate(gateway, ms);
    seen += watcher.seen;
    watcher.close();
    await sleep(SETTLE_MS);
    const after = await rate(gateway, ms);
    ratios.push((2 * watched) / (before + after));
    rates.push(after);
    before = after;
  }
  return { messages_per_s: median(rates), ratio: median(ratios), quartile_1: quantile(ratios, 0.25), quartile_3: quantile(ratios, 0.75), frames_seen: seen };
}

export async function run(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  // With a spare core the watcher's own work is not counted; without one it is.
  for (const workers of bench.isSmall ? [1] : [1, availableParallelism()]) {
    const { gateway } = await node(bench.closers, RING, "--http-token", TOKEN, "--workers", String(workers));
    await sleep(WARM_UP_MS);
    for (const what of Object.keys(WATCHES) as (keyof typeof WATCHES)[]) {
      bench.progress(`watching: ${what}, ${workers} threads of agents`);
      rows.push({ params: { what, threads: workers }, metrics: await pairs(bench, gateway, what) });
    }
    await bench.closers.close();
  }
  return rows;
}

export function targets(rows: readonly Row[]): Target[] {
  return rows.filter(({ params }) => params["what"] !== "nobody").map(({ params, metrics }) => ({ what: `${params["what"]} watched, ${params["threads"]} threads: ${TARGET} of what it does when nobody watches`, isMet: (metrics["ratio"] ?? 0) >= TARGET }));
}
