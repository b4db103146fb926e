/** Test of the pool of Workers, with simulated Workers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Device } from "../src/device/device.js";
import { Crews, type Employer } from "../src/device/worker-pool.js";
import { Pace } from "../src/device/pace.js";
import { again } from "../src/device/page.js";
import type { JoinOrder, News, Order } from "../src/device/protocol.js";
import type { WorkerLike } from "../src/device/worker-channel.js";

const ORDER: JoinOrder = { type: "join", url: "ws://node.example", token: undefined, certificate: undefined, key: undefined, leaseMs: undefined, compact: false, engine: undefined, place: "tab", storage: false, yields: true };

/** A Worker that the test controls. */
class Hand implements WorkerLike {
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

  say(news: News): void {
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
    Hand.measuringMost = Math.max(Hand.measuringMost, ++Hand.measuring);
    await pause(10);
    Hand.measuring--;
    Hand.measured++;
    this.say({ type: "done", id, value: { units: Hand.units, isBusy: Hand.isBusy } });
  }

  terminate(): void {
    this.#tell = undefined;
  }
}

async function withCrews(run: (crews: Crews, hands: Hand[]) => Promise<void>, options: Partial<Employer> = {}): Promise<void> {
  const hands: Hand[] = [];
  Object.assign(Hand, { units: 100, isBusy: false, measuring: 0, measuringMost: 0 });
  const crews = new Crews({
    order: ORDER,
    stuckMs: 20_000,
    weighEveryMs: 600_000,
    weighAgainMs: 30_000,
    weighBusyMs: 600_000,
    create: () => {
      hands.push(new Hand());
      return hands.at(-1) as Hand;
    },
    changed: () => undefined,
    trouble: () => undefined,
    printed: () => undefined,
    isThere: () => Promise.resolve(false),
    ...options,
  });
  try {
    await crews.begin(2);
    await run(crews, hands);
  } finally {
    await crews.leave();
  }
}

test("leave is quiet, lost Worker is reported", { timeout: 20_000 }, async () => {
  const told: string[] = [];
  const options = { trouble: (_: string, error: Error) => void told.push(error.message) };
  await withCrews(() => Promise.resolve(), options);
  assert.deepEqual(told, []);
  await withCrews(async (crews, hands) => {
    hands[0]?.close();
    while (crews.size < 2) await pause(1);
  }, options);
  assert.deepEqual(told, ["no connection: bye: left", "bye: left"]);
});

test("device needs 1 to 256 Workers", async () => {
  for (const workers of [0, -3, 1.5, NaN, Infinity, 257, 1e9]) {
    await assert.rejects(Device.join("ws://127.0.0.1:9", { workers }), { name: "WhimbrelError", message: `a device has 1 to 256 Workers, a whole number: workers is ${workers}` });
  }
});

test("measurements run in turn, small differences are ignored", { timeout: 20_000 }, () =>
  withCrews(async (crews) => {
    await Promise.all([crews.weigh(), crews.weigh(), crews.weigh(), crews.weigh()]);
    assert.equal(Hand.measuringMost, 2, "the two Workers, and each once at a time");
    assert.equal(crews.units, 200);
    Hand.units = 110;
    await crews.weigh();
    assert.equal(crews.units, 200);
    Hand.units = 50;
    await crews.weigh();
    assert.equal(crews.units, 100);
  }));

test("replacement Worker inherits compute units", { timeout: 20_000 }, () =>
  withCrews(async (crews, hands) => {
    await crews.weigh();
    hands[0]?.close();
    assert.deepEqual([crews.size, crews.units], [1, 100]);
    while (crews.size < 2) await pause(1);
    assert.equal(crews.units, 200);
    hands[1]?.close();
    hands[2]?.close();
    assert.deepEqual([crews.size, crews.units], [0, 1], "the least that can be said");
    assert.equal(crews.work("file:///x.js", null), undefined);
    await assert.rejects(crews.lodge({ type: "spawn", name: "bob", module: "file:///bob.js", data: null, keep: undefined }), /being replaced/);
    while (crews.size < 2) await pause(1);
    assert.equal(crews.units, 200);
  }));

test("due measurement happens once", { timeout: 20_000 }, () =>
  withCrews(
    async (crews) => {
      await crews.weigh();
      Hand.units = 300;
      for (let time = 0; time < 100; time++) crews.weighSoon();
      assert.equal(crews.units, 200);
      while (Number(crews.units) !== 600) await pause(5);
    },
    { stuckMs: 4000, weighAgainMs: 100 },
  ));

test("busy measurement is repeated a few times", { timeout: 20_000 }, () =>
  withCrews(
    async (crews) => {
      Object.assign(Hand, { units: 2, isBusy: true });
      await crews.weigh();
      assert.equal(crews.units, 4);
      Object.assign(Hand, { units: 100, isBusy: false });
      while (Number(crews.units) !== 200) await pause(5);
      Object.assign(Hand, { isBusy: true, measured: 0 });
      await crews.weigh();
      while (Hand.measured < 12) await pause(5);
      await pause(300);
      assert.equal(Hand.measured, 12, "each of the two once, and five times more");
    },
    { stuckMs: 200, weighBusyMs: 50 },
  ));

test("pace notices marked changes", () => {
  const pace = new Pace();
  const noted = (kind: string, ms: number, count: number): number => Array.from({ length: count }, () => pace.note(kind, ms)).filter(Boolean).length;
  assert.equal(noted("squares", 100, 200), 0);
  assert.equal(noted("cubes", 1000, 200), 0, "each kind has its time");
  assert.equal(noted("squares", 130, 200), 0);
  assert.equal(noted("squares", 260, 50), 1, "once");
  assert.ok(noted("squares", 100, 50) >= 1);
  // A single slow part is not a change.
  assert.equal(noted("cubes", 3000, 1), 0);
  assert.equal(noted("cubes", 1000, 200), 0);
  const young = new Pace();
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
    const waits = again(20, ending.signal);
    target.dispatchEvent(new Event("online"));
    await waits;
    const last = again(20, ending.signal);
    ending.abort();
    await last;
    await again(20, ending.signal);
    assert.ok(performance.now() - began < 10_000, "it would have been 15 s at least");
  } finally {
    [page["addEventListener"], page["removeEventListener"]] = before;
  }
});

test("agent goes to a Worker of its node", () =>
  withCrews(async (crews, hands) => {
    await crews.begin(3);
    const order = { type: "spawn", name: "bob", module: "ws://node.example/bob.js", data: undefined, keep: {} } as const;
    for (const hand of hands.slice(0, 2)) hand.isElsewhere = true;
    const bob = await crews.lodge(order);
    assert.deepEqual(crews.agents, [bob]);
    for (const hand of hands) hand.isElsewhere = true;
    await assert.rejects(crews.lodge({ ...order, name: "amy" }), { name: "RefusedError", code: "elsewhere" });
    assert.deepEqual(crews.agents, [bob]);
  }));
