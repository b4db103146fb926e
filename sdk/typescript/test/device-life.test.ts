/** Test of devices with broken Workers, networks and nodes. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Device, type DeviceAgent, type DeviceOptions, type Trouble } from "../src/device.js";
import { atom, connect, isTerm, term, textOf, type Agent, type Platform, type Value } from "../src/node.js";
import { KEPT, NAPS, SQUARES, Thread } from "./device-thread.js";
import { Proxy } from "./proxy.js";
import { Society, TOKEN, WHIMBREL, WITHOUT_NODE } from "./society.js";

/** Lease of devices whose network is cut. */
const LEASE_MS = 3000;

/** Report of the agent `devices` about a device. */
type Told = Readonly<Record<string, Value>>;

/** Returns the reports of the agent `devices`, by device. */
async function devices(boss: Agent): Promise<ReadonlyMap<string, Told>> {
  const { content } = await boss.ask({ performative: "query-ref", receivers: "devices", content: atom("devices") });
  return new Map(
    (content as readonly (readonly Value[])[]).map((members) => {
      const told = Object.fromEntries(members.flatMap((member) => (isTerm(member, undefined, 1) ? [[member.term, member.args[0] ?? null]] : [])));
      return [textOf(told["device"]) ?? "", told];
    }),
  );
}

/** Waits until the report about a device satisfies a condition. */
async function knows(boss: Agent, name: string, fits: (told: Told | undefined) => boolean): Promise<Told | undefined> {
  for (;;) {
    const told = (await devices(boss)).get(name);
    if (fits(told)) return told;
    await pause(50);
  }
}

const places = (count: bigint) => (told: Told | undefined): boolean => told?.["places"] === count;

describe("life of a device", { skip: WITHOUT_NODE, concurrency: false, timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  process.env["WHIMBREL_RUN_DIR"] = folder;
  let society: Society;
  let platform: Platform;
  let boss: Agent;
  before(async () => {
    society = await Society.of({ fern: "" });
    platform = await connect(`tcp://${society.address}`, { token: TOKEN });
    boss = await platform.create("boss");
  });
  /** All devices, also those of failed tests. */
  const joined: Device[] = [];
  after(async () => {
    await Promise.all(joined.map((device) => device.leave()));
    await platform.close();
    society.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const troubles: string[] = [];

  async function join_(name: string, options: DeviceOptions = {}, address = society.gateway): Promise<Device> {
    troubles.length = 0;
    const onTrouble = ({ agent, error }: Trouble): void => void troubles.push(`${agent === "" ? "" : `${agent}: `}${error.message}`);
    const own = { token: TOKEN, name, workers: 1, work: { squares: SQUARES }, createWorker: () => new Thread(), onTrouble };
    const device = await Device.join(`http://${address}`, { ...own, ...options });
    joined.push(device);
    return device;
  }

  const square = async (part: bigint, from = boss): Promise<Value> => (await from.ask({ performative: "request", receivers: "devices", content: term("share", "squares", part) }, { timeoutMs: 60_000 })).content;

  test("broken Worker is replaced and reported", { timeout: 120_000 }, async () => {
    const threads: Thread[] = [];
    let [isRefused, isHeld] = [false, false];
    const createWorker = (): Thread => {
      if (isRefused) throw new Error("no memory left");
      const thread = new Thread();
      if (isHeld) thread.hold();
      threads.push(thread);
      return thread;
    };
    const device = await join_("tab-broken", { workers: 2, createWorker });
    const whole = await knows(boss, "tab-broken", places(2n));
    // The next Worker takes its time.
    isHeld = true;
    threads[0]?.fail("it broke");
    const half = await knows(boss, "tab-broken", places(1n));
    assert.ok(Number(half?.["units"]) < Number(whole?.["units"]), "units of a lost Worker do not count");
    isHeld = false;
    threads[2]?.release();
    const again = await knows(boss, "tab-broken", places(2n));
    assert.ok(Number(again?.["units"]) > Number(half?.["units"]));
    // At first there is none.
    isRefused = true;
    threads[1]?.fail("it broke, too");
    await knows(boss, "tab-broken", places(1n));
    while (!troubles.includes("no memory left")) await pause(10);
    isRefused = false;
    await knows(boss, "tab-broken", places(2n));
    assert.equal(device.workers, 2);
    assert.deepEqual(troubles, ["it broke", "it broke, too", "no memory left"], "a missing Worker is reported once");
    assert.equal(await square(7n), 49n);
    await device.leave();
    await knows(boss, "tab-broken", (told) => told === undefined);
    assert.equal((await device.closed).message, "bye: the device left the platform");
  });

  test("device rejoins after a long outage and works", { timeout: 120_000 }, async () => {
    const proxy = await Proxy.to(society.gateway);
    const connections: boolean[] = [];
    const device = await join_("tab-asleep", { leaseMs: LEASE_MS, onConnection: (isConnected) => void connections.push(isConnected) }, proxy.address);
    try {
      const seen: Agent[] = [];
      await device.create("tab-asleep-eye", (agent) => {
        seen.push(agent);
        agent.onMessage({ performative: "request" }, (message) => agent.reply(message, "inform", "here"));
      });
      const brief = await device.create("tab-asleep-brief", () => undefined);
      await brief.end();
      await knows(boss, "tab-asleep", places(1n));
      assert.equal(await square(3n), 9n);
      proxy.isDown = true;
      proxy.cut();
      await knows(boss, "tab-asleep", (told) => told === undefined);
      while (!troubles.some((text) => text.startsWith("lease-over"))) await pause(10);
      assert.equal(device.isConnected, false);
      proxy.isDown = false;
      const told = await knows(boss, "tab-asleep", places(1n));
      assert.equal(Number(told?.["units"]), device.units);
      assert.equal(await square(4n), 16n);
      assert.deepEqual(connections, [false, true]);
      assert.equal(device.isConnected, true);
      assert.equal((await boss.ask({ performative: "request", receivers: "tab-asleep-eye" })).content, "here");
      assert.equal(seen.length, 2);
      assert.deepEqual(await boss.ams.search({ name: "tab-asleep-brief" }), [], "an agent that ended before does not return");
    } finally {
      await device.leave();
      await proxy.close();
    }
  });

  test("durable agents survive an outage unless ended", { timeout: 120_000 }, async () => {
    const proxy = await Proxy.to(society.gateway);
    const threads: Thread[] = [];
    const createWorker = (): Thread => {
      threads.push(new Thread());
      return threads.at(-1) as Thread;
    };
    const device = await join_("tab-home", { leaseMs: LEASE_MS, createWorker }, proxy.address);
    try {
      const count = async (name: string): Promise<Value> => (await boss.ask({ performative: "request", receivers: name }, { timeoutMs: 60_000 })).content;
      const spawn = (name: string, isKept = true): Promise<DeviceAgent> => device.spawn(name, KEPT, undefined, isKept ? { onLeave: "wait" } : undefined);
      const [stays, killed, brief] = [await spawn("stays"), await spawn("killed"), await spawn("brief", false)];
      assert.deepEqual([await count("stays"), await count("killed"), await count("brief")], [1n, 1n, 1n]);
      proxy.isDown = true;
      proxy.cut();
      assert.match(await brief.ended, /lease/, "an agent that is not durable ends");
      await knows(boss, "tab-home", (told) => told === undefined);
      execFileSync(WHIMBREL, ["kill", "killed"], { stdio: "pipe" });
      boss.send({ performative: "request", receivers: "stays" });
      stays.suspend();
      proxy.isDown = false;
      assert.match(await killed.ended, /lease/);
      await knows(boss, "tab-home", places(1n));
      while (!device.agents.includes(stays)) await pause(10);
      assert.deepEqual(device.agents.map(({ name }) => name), ["stays"]);
      assert.deepEqual(await boss.ams.search({ name: "killed" }), [], "no agent begins again");
      stays.resume();
      assert.equal(await count("stays"), 3n, "the agent has its state, and handled the waiting messages");
      // A broken Worker may have broken because of them.
      threads.at(-1)?.fail("it broke");
      assert.equal(await stays.ended, "failed: it broke");
      await assert.rejects(stays.moveTo("n1"), /it broke/);
    } finally {
      await device.leave();
      await proxy.close();
    }
  });

  test("stuck agent is found, others of its Worker continue", { timeout: 180_000 }, async () => {
    const threads: Thread[] = [];
    const createWorker = (): Thread => {
      threads.push(new Thread());
      return threads.at(-1) as Thread;
    };
    const device = await join_("tab-stuck", { leaseMs: LEASE_MS, stuckMs: 8000, createWorker });
    try {
      const count = async (name: string): Promise<Value> => (await boss.ask({ performative: "request", receivers: name }, { timeoutMs: 90_000 })).content;
      const names = ["calm", "wild", "calmer"];
      const agents = await Promise.all(names.map((name) => device.spawn(name, KEPT, undefined, { onLeave: "wait" })));
      const brief = await device.spawn("brief", KEPT);
      assert.deepEqual(await Promise.all(names.map(count)), [1n, 1n, 1n]);
      boss.send({ performative: "request", receivers: "wild", content: atom("spin") });
      assert.match(await brief.ended, /did not answer for 8 s/, "an agent that is not durable ends");
      assert.match((await agents[1]?.ended) ?? "", /did not answer for 8 s/);
      assert.ok(troubles.some((text) => text.startsWith("wild: not restored on this device, because it had its turn when a Worker did not answer")), troubles.join("; "));
      assert.deepEqual(await Promise.all(["calm", "calmer"].map(count)), [2n, 2n]);
      assert.deepEqual(device.agents.map(({ name }) => name).sort(), ["calm", "calmer"]);
      assert.equal(threads.length, 3, "the second Worker identified the stuck agent");
      assert.equal((await boss.ams.search({ name: "wild" })).length, 1, "the agent waits in its last saved state");
    } finally {
      await device.leave();
    }
  });

  test("device waits for its node, or leaves", { timeout: 120_000 }, async () => {
    const [first, leaver] = [await Society.of({ fern: "" }), await Proxy.to(society.gateway)];
    const proxy = await Proxy.to(first.gateway);
    const device = await join_("tab-patient", {}, proxy.address);
    const other = await join_("tab-leaver", { leaseMs: LEASE_MS }, leaver.address);
    leaver.isDown = true;
    leaver.cut();
    first.process.kill("SIGTERM");
    await first.finished();
    first.stop();
    while (device.isConnected || other.isConnected) await pause(10);
    await other.leave();
    await leaver.close();
    const second = await Society.of({ fern: "" });
    try {
      proxy.target = second.gateway;
      const there = await connect(`tcp://${second.address}`, { token: TOKEN });
      const asker = await there.create("boss");
      await knows(asker, "tab-patient", places(1n));
      assert.equal(await square(5n, asker), 25n);
      await there.close();
    } finally {
      await device.leave();
      await proxy.close();
      second.stop();
    }
  });

  test("durable agents survive a node's restart", { timeout: 120_000 }, async () => {
    const project = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
    writeFileSync(join(project, "fern.asl"), "");
    writeFileSync(join(project, "home.mas2j"), "MAS home { agents: fern; }");
    const begin = (): Promise<Society> => Society.run(project, undefined, "--store", join(project, "store"));
    const stop = async (one: Society): Promise<void> => {
      one.process.kill("SIGTERM");
      await one.finished();
    };
    let node = await begin();
    const proxy = await Proxy.to(node.gateway);
    const device = await join_("tab-kept", { workers: 2 }, proxy.address);
    try {
      const ask = async (...names: string[]): Promise<Value[]> => {
        const there = await connect(`tcp://${node.address}`, { token: TOKEN });
        const asker = await there.create("asker");
        const counts: Value[] = [];
        for (const name of names) counts.push((await asker.ask({ performative: "request", receivers: name }, { timeoutMs: 60_000 })).content);
        await there.close();
        return counts;
      };
      const keep = { onLeave: "wait" } as const;
      const [one, two, ended, brief] = [await device.spawn("one", KEPT, undefined, keep), await device.spawn("two", KEPT, undefined, keep), await device.spawn("ended", KEPT, undefined, keep), await device.spawn("brief", KEPT)];
      const over: string[] = [];
      for (const agent of [one, two]) void agent.ended.then((reason) => over.push(reason));
      assert.deepEqual(await ask("one", "two", "one"), [1n, 1n, 2n]);
      await ended.end();
      for (let times = 1; times <= 2; times++) {
        await stop(node);
        node = await begin();
        proxy.target = node.gateway;
        assert.deepEqual(await ask("one", "two"), [BigInt(2 + times), BigInt(1 + times)], "both agents have their states");
        while (device.agents.length < 2) await pause(10);
        assert.deepEqual(device.agents.map(({ name }) => name).sort(), ["one", "two"]);
      }
      assert.ok((await brief.ended) !== "");
      assert.deepEqual(over, []);
      await two.end();
      assert.deepEqual(over, ["finished"]);
    } finally {
      await device.leave();
      await proxy.close();
      await stop(node);
      rmSync(project, { recursive: true, force: true });
    }
  });

  test("device ends with its agent", { timeout: 60_000 }, async () => {
    const device = await join_("tab-killed");
    await knows(boss, "tab-killed", places(1n));
    execFileSync(WHIMBREL, ["kill", "tab-killed"], { stdio: "pipe" });
    assert.match((await device.closed).message, /the device's agent ended: killed/);
    await device.leave();
    assert.equal(device.workers, 0);
    assert.equal((await devices(boss)).get("tab-killed"), undefined);
  });

  test("idle Worker closes its session", { timeout: 60_000 }, async () => {
    const threads: Thread[] = [];
    const device = await join_("tab-polite", {
      workers: 2,
      createWorker: () => {
        threads.push(new Thread());
        return threads.at(-1) as Thread;
      },
    });
    await device.leave();
    assert.deepEqual(threads.map(({ toldAtItsEnd }) => toldAtItsEnd?.includes("closed")), [true, true], "the node ended the session");
  });

  test("slower parts cause a measurement", { timeout: 120_000 }, async () => {
    const thread = new Thread();
    const weighed = (): number => thread.asked.filter((what) => what === "weigh").length;
    const device = await join_("tab-slow", { createWorker: () => thread, work: { naps: NAPS }, weighAgainMs: 1 });
    const nap = (ms: number): Promise<unknown> => boss.ask({ performative: "request", receivers: "devices", content: term("share", "naps", ms) }, { timeoutMs: 60_000 });
    for (let part = 0; part < 9; part++) await nap(20);
    const before = weighed();
    while (weighed() === before) await nap(200);
    await device.leave();
  });

  test("shown page is measured, not too often", { timeout: 60_000 }, async () => {
    const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
    const see = (state: string): void => {
      page.visibilityState = state;
      page.dispatchEvent(new Event("visibilitychange"));
    };
    (globalThis as { document?: unknown }).document = page;
    try {
      const thread = new Thread();
      const weighed = (): number => thread.asked.filter((what) => what === "weigh").length;
      const device = await join_("tab-shown", { createWorker: () => thread, weighAgainMs: 500 });
      assert.equal(weighed(), 1);
      see("hidden");
      await knows(boss, "tab-shown", (told) => told?.["visible"] === false);
      await pause(3000);
      assert.equal(weighed(), 1, "the page is hidden");
      for (let time = 0; time < 10; time++) see("visible");
      await knows(boss, "tab-shown", (told) => told?.["visible"] === true);
      while (weighed() < 2) await pause(10);
      await device.leave();
      assert.equal(weighed(), 2);
    } finally {
      delete (globalThis as { document?: unknown }).document;
    }
  });
});
