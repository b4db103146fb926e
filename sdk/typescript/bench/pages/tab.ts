/**
 * A page that is a device, controlled by the benchmark. Its query has `gateway`, `token`, `name` and `workers`, and
 * optionally `kind` and `agents` to create at once.
 */
import { Device } from "../../src/device.js";
import { connect, term, type Draft, type Keep, type Value } from "../../src/index.js";

/** Languages of agents, each with its module and the draft that it answers. */
const KINDS = {
  typescript: { module: "/echo.js", draft: { performative: "query-ref", content: "ready?" } },
  agentspeak: { module: "/mind.asl", draft: { performative: "askOne", content: term("price", { var: "X", slot: 0 }) } },
  wasm: { module: "/counter.wasm", draft: { performative: "query-ref" } },
} as const satisfies Record<string, { readonly module: string; readonly draft: Omit<Draft, "receivers"> }>;

export type Kind = keyof typeof KINDS;

/** Milliseconds from the request for the page to each stage. */
export interface StageTimes {
  readonly joinedMs: number;
  readonly spawnedMs: number;
  readonly answeredMs: number;
  readonly workers: number;
}

export interface Tab {
  /** Stages of the start that its query requested. */
  readonly begun: Promise<StageTimes>;
  /** Joins again with this many Workers, because each session has a limit of agents. */
  join(workers: number): Promise<void>;
  /** Creates more agents. */
  spawn(kind: Kind, names: readonly string[]): Promise<void>;
  /** Creates as many of these agents as possible. Returns them, and the reason for the rest. */
  spawnMost(kind: Kind, names: readonly string[]): Promise<{ readonly there: string[]; readonly why: string }>;
  /** Asks these agents at the same time. Returns the durations. */
  ask(kind: Kind, names: readonly string[]): Promise<number[]>;
  /** Creates an agent from a module of the benchmark. */
  employ(name: string, module: string, keep?: Keep): Promise<void>;
  /** Returns an agent's answer to a request. */
  order(name: string, content: Value): Promise<Value>;
}

const { searchParams } = new URL(location.href);
const [url, token, name] = ["gateway", "token", "name"].map((key) => searchParams.get(key) ?? "") as [string, string, string];
const PATIENCE = { timeoutMs: 120_000 };

let joined = 0;
function join(workers?: number): Promise<Device> {
  const createWorker = (): Worker => new Worker("/worker.js", { type: "module" });
  return Device.join(url, { token, name: `${name}-${++joined}`, ...(workers !== undefined && { workers }), engine: "/agentspeak.wasm", compact: searchParams.has("compact"), createWorker });
}

const wanted = searchParams.get("workers");
const first = join(wanted === null ? undefined : Number(wanted));
let latest = first;
const asker = connect(url, { token }).then((platform) => platform.create(`${name}-asker`));

async function spawn(kind: Kind, names: readonly string[]): Promise<void> {
  const device = await latest;
  await Promise.all(names.map((one) => device.spawn(one, KINDS[kind].module)));
}

async function spawnMost(kind: Kind, names: readonly string[]): Promise<{ there: string[]; why: string }> {
  const device = await latest;
  const all = await Promise.allSettled(names.map((one) => device.spawn(one, KINDS[kind].module)));
  const failed = all.find((one) => one.status === "rejected");
  return { there: names.filter((_, at) => all[at]?.status === "fulfilled"), why: failed ? String(failed.reason) : "" };
}

async function ask(kind: Kind, names: readonly string[]): Promise<number[]> {
  const agent = await asker;
  return Promise.all(
    names.map(async (receivers) => {
      const began = performance.now();
      await agent.ask({ ...KINDS[kind].draft, receivers }, PATIENCE);
      return performance.now() - began;
    }),
  );
}

async function begin(): Promise<StageTimes> {
  const kind = (searchParams.get("kind") ?? "typescript") as Kind;
  const names = Array.from({ length: Number(searchParams.get("agents") ?? 0) }, (_, at) => `${name}-${kind}-${at}`);
  const { workers } = await first;
  const joinedMs = performance.now();
  await spawn(kind, names);
  const spawnedMs = performance.now();
  await ask(kind, names);
  return { joinedMs, spawnedMs, answeredMs: performance.now(), workers };
}

globalThis.tab = {
  begun: begin(),
  join: async (workers) => void (await (latest = join(workers))),
  spawn,
  spawnMost,
  ask,
  employ: async (one, module, keep) => void (await (await latest).spawn(one, module, undefined, keep)),
  order: async (receivers, content) => (await (await asker).ask({ performative: "request", receivers, content }, PATIENCE)).content,
};
