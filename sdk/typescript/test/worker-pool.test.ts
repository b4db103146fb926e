/** Test of the pool of Workers, with simulated Workers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Device } from "../src/device/device.js";
import { WorkerPool, type PoolOwner } from "../src/device/worker-pool.js";
import { DurationTrend } from "../src/device/duration-trend.js";
import { retryDelay } from "../src/device/page.js";
import type { JoinOrder, WorkerReport, Order } from "../src/device/protocol.js";
import type { WorkerLike } from "../src/device/worker-channel.js";

const ORDER: JoinOrder = { type: "join", url: "ws://node.example", token: undefined, certificate: undefined, key: undefined, leaseMs: undefined, compact: false, engine: undefined, place: "tab", storage: false, yields: true };

/** A Worker that the test controls. */
class FakeWorker implements WorkerLike {
  static units = 100;
  static isBusy = false;
  static measured = 0;
  static measuring = 0;
  static measuringMost = 0;
  /** True if its session is at another node than all new agents. */
  isElsewhere = false;
  #tell: ((event: { readonly data: unknown; readonly message?: string }) => void) | undefined;

  addEventListener(type: string, listener: (event: { readonly data: unknown; readonly message?: string }) => void): void {
    if (type === "message") this.#tell = listener;
  }

  say(news: WorkerReport): void {
    this.#tell?.({ data: news });
  }

  postMessage(order: Order): void {
    if (order.type === "join") setImmediate(() => this.say({ type: "joined", platform: "home", agentsMax: 4 }));
    else if (order.type === "weigh") void this.#measure(order.id);
    else if (order.type === "ping") setImmediate(() => this.say({ type: "done", id: order.id, value: null }));
    else if (order.type === "spawn") setImmediate(() => this.#spawn(order.id, order.name));
    else if (order.type === "leave") setImmediate(() => this.close());
  }

  #spawn(id: number, name: string): void {
    if (this.isElsewhere) this.say({ type: "failed", id, fault: { name: "RefusedError", message: "elsewhere: :2", code: "elsewhere" } });
    else this.say({ type: "spawned", id, name: `${name}@home` });
  }

  close(): void {
    this.say({ type: "connection", isConnected: false, why: "bye: left" });
    this.say({ type: "closed", fault: { name: "SessionError", message: "bye: left", code: "bye" } });
  }

  async #measure(id: number): Promise<void> {
    FakeWorker.measuringMost = Math.max(FakeWorker.measuringMost, ++FakeWorker.measuring);
    await pause(10);
    FakeWorker.measuring--;
    FakeWorker.measured++;
    this.say({ type: "done", id, value: { units: FakeWorker.units, isBusy: FakeWorker.isBusy } });
  }

  terminate(): void {
    this.#tell = undefined;
  }
}

async function withPool(run: (pool: WorkerPool, workers: FakeWorker[]) => Promise<void>, options: Partial<PoolOwner> = {}): Promise<void> {
  const workers: FakeWorker[] = [];
  Object.assign(FakeWorker, { units: 100, isBusy: false, measuring: 0, measuringMost: 0 });
  const pool = new WorkerPool({
    order: ORDER,
    stuckMs: 20_000,
    weighEveryMs: 600_000,
    weighAgainMs: 30_000,
    weighBusyMs: 600_000,
    create: () => {
      workers.push(new FakeWorker());
      return workers.at(-1) as FakeWorker;
    },
    changed: () => undefined,
    trouble: () => undefined,
    printed: () => undefined,
    exists: () => Promise.resolve(false),
    ...options,
  });
  try {
    await pool.begin(2);
    await run(pool, workers);
  } finally {
    await pool.leave();
  }
}

test("leave is quiet, lost Worker is reported", { timeout: 20_000 }, async () => {
  const told: string[] = [];
  const options = { trouble: (_: string, error: Error) => void told.push(error.message) };
  await withPool(() => Promise.resolve(), options);
  assert.deepEqual(told, []);
  await withPool(async (pool, workers) => {
    workers[0]?.close();
    while (pool.size < 2) await pause(1);
  }, options);
  assert.deepEqual(told, ["no connection to the node: bye: left", "bye: left"]);
});

test("device needs 1 to 256 Workers", async () => {
  for (const workers of [0, -3, 1.5, NaN, Infinity, 257, 1e9]) {
    await assert.rejects(Device.join("ws://127.0.0.1:9", { workers }), { name: "WhimbrelError", message: `invalid number of Workers ${workers}: expected an integer from 1 to 256` });
  }
});

test("measurements run in turn, small differences are ignored", { timeout: 20_000 }, () =>
  withPool(async (pool) => {
    await Promise.all([pool.weigh(), pool.weigh(), pool.weigh(), pool.weigh()]);
    assert.equal(FakeWorker.measuringMost, 2, "the two Workers, and each once at a time");
    assert.equal(pool.units, 200);
    FakeWorker.units = 110;
    await pool.weigh();
    assert.equal(pool.units, 200);
    FakeWorker.units = 50;
    await pool.weigh();
    assert.equal(pool.units, 100);
  }));

test("replacement Worker inherits compute units", { timeout: 20_000 }, () =>
  withPool(async (pool, workers) => {
    await pool.weigh();
    workers[0]?.close();
    assert.deepEqual([pool.size, pool.units], [1, 100]);
    while (pool.size < 2) await pause(1);
    assert.equal(pool.units, 200);
    workers[1]?.close();
    workers[2]?.close();
    assert.deepEqual([pool.size, pool.units], [0, 1], "an empty pool reports one unit");
    assert.equal(pool.work("file:///x.js", null), undefined);
    await assert.rejects(pool.assign({ type: "spawn", name: "bob", module: "file:///bob.js", data: null, keep: undefined }), /replacing its Workers/);
    while (pool.size < 2) await pause(1);
    assert.equal(pool.units, 200);
  }));

test("due measurement happens once", { timeout: 20_000 }, () =>
  withPool(
    async (pool) => {
      await pool.weigh();
      FakeWorker.units = 300;
      for (let time = 0; time < 100; time++) pool.weighSoon();
      assert.equal(pool.units, 200);
      while (Number(pool.units) !== 600) await pause(5);
    },
    { stuckMs: 4000, weighAgainMs: 100 },
  ));

test("busy measurement is repeated a few times", { timeout: 20_000 }, () =>
  withPool(
    async (pool) => {
      Object.assign(FakeWorker, { units: 2, isBusy: true });
      await pool.weigh();
      assert.equal(pool.units, 4);
      Object.assign(FakeWorker, { units: 100, isBusy: false });
      while (Number(pool.units) !== 200) await pause(5);
      Object.assign(FakeWorker, { isBusy: true, measured: 0 });
      await pool.weigh();
      while (FakeWorker.measured < 12) await pause(5);
      await pause(300);
      assert.equal(FakeWorker.measured, 12, "each of the two once, and five times more");
    },
    { stuckMs: 200, weighBusyMs: 50 },
  ));

test("trend of durations notices marked changes", () => {
  const trend = new DurationTrend();
  const noted = (kind: string, ms: number, count: number): number => Array.from({ length: count }, () => trend.note(kind, ms)).filter(Boolean).length;
  assert.equal(noted("squares", 100, 200), 0);
  assert.equal(noted("cubes", 1000, 200), 0, "each kind has its own mean");
  assert.equal(noted("squares", 130, 200), 0);
  assert.equal(noted("squares", 260, 50), 1, "once");
  assert.ok(noted("squares", 100, 50) >= 1);
  // A single slow part is not a change.
  assert.equal(noted("cubes", 3000, 1), 0);
  assert.equal(noted("cubes", 1000, 200), 0);
  const young = new DurationTrend();
  assert.deepEqual([1, 900, 5, 400, 20, 90, 700, 3].filter((ms) => young.note("few", ms)), [], "a few say nothing");
});

test("retry wakes by network or end", { timeout: 20_000 }, async () => {
  const page = globalThis as unknown as Record<string, unknown>;
  const [target, before] = [new EventTarget(), [page["addEventListener"], page["removeEventListener"]]];
  page["addEventListener"] = target.addEventListener.bind(target);
  page["removeEventListener"] = target.removeEventListener.bind(target);
  try {
    const ending = new AbortController();
    const began = performance.now();
    const waits = retryDelay(20, ending.signal);
    target.dispatchEvent(new Event("online"));
    await waits;
    const last = retryDelay(20, ending.signal);
    ending.abort();
    await last;
    await retryDelay(20, ending.signal);
    assert.ok(performance.now() - began < 10_000, "the delay would be at least 15 s");
  } finally {
    [page["addEventListener"], page["removeEventListener"]] = before;
  }
});

test("agent goes to a Worker of its node", () =>
  withPool(async (pool, workers) => {
    await pool.begin(3);
    const order = { type: "spawn", name: "bob", module: "ws://node.example/bob.js", data: undefined, keep: {} } as const;
    for (const worker of workers.slice(0, 2)) worker.isElsewhere = true;
    const bob = await pool.assign(order);
    assert.deepEqual(pool.agents, [bob]);
    for (const worker of workers) worker.isElsewhere = true;
    await assert.rejects(pool.assign({ ...order, name: "amy" }), { name: "RefusedError", code: "elsewhere" });
    assert.deepEqual(pool.agents, [bob]);
  }));
