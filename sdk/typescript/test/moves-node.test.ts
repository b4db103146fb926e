/** Test of moves between programs and real nodes, with states. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Society } from "../src/agentspeak.js";
import { attachSlots, type Slots } from "../src/agentspeak/slots.js";
import { GuestAgent, GuestModule } from "../src/guest.js";
import { connect, isTerm, StayedError, term, textOf, type Agent, type Keep, type Message, type Platform, type Value } from "../src/node.js";
import { ENGINE, WITHOUT_ENGINE } from "./engine.js";
import { guestModule, WITHOUT_GUESTS } from "./guests.js";
import { Society as Node, TOKEN, WITHOUT_NODE } from "./society.js";

const NODE = "n1";
/** Time limit for a machine that is busy with other tests. */
const PATIENCE = { timeout: 120_000 };

let node: Node;
before(async () => {
  if (WITHOUT_NODE) return;
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const policy = join(folder, "policy.toml");
  writeFileSync(policy, '[[allow]]\nwho = "session:*"\nmove = "*"\ncode = "*"\n\n[[deny]]\nwho = "session:tame"\nmove = "*"\n');
  node = await Node.of({ fern: "" }, "--policy", policy, "--nodes", "2");
});
after(() => node?.stop());

const begin = (): Promise<Platform> => connect(`tcp://${node.address}`, { token: TOKEN });

/** Moves on request, also within a plan that waits for an answer, and reports its place. */
const ROVER = `
n(5).
+!go(To) : n(N) <- -+n(N + 1); .move_to(To); ?n(M); .node(Here); .send(boss, tell, at(Here, M)).
-!go(To)[error(E)] <- .send(boss, tell, stays(To, E)).
`;

/** A program with a society, and an agent that accepts others. */
class Tab {
  private constructor(
    readonly name: string,
    readonly platform: Platform,
    readonly society: Society,
    readonly slots: Slots,
  ) {}

  static async open(name: string): Promise<Tab> {
    const platform = await begin();
    platform.place = name;
    const society = await Society.load(readFileSync(ENGINE), { platform: platform.name });
    society.putFiles({ "rover.asl": ROVER, "chief-rover.asl": ROVER.replaceAll("boss", "chief") });
    const { slots } = await attachSlots(society, platform, { place: name });
    await platform.create(name);
    platform.onOffer((offer) => slots.accept(offer.name, offer.code, { onLeave: "go-on" }));
    return new Tab(name, platform, society, slots);
  }

  get minds(): readonly string[] {
    return this.society.agents.map(({ name }) => name);
  }

  async close(): Promise<void> {
    await this.platform.close();
    if (!this.society.isOver) this.society.close();
  }
}

/** The agent that others report their place to. */
class Observer {
  readonly heard: Value[] = [];

  private constructor(readonly platform: Platform, readonly agent: Agent) {
    agent.onMessage(({ content }: Message) => void this.heard.push(content));
  }

  static async begin(name = "boss"): Promise<Observer> {
    const platform = await begin();
    return new Observer(platform, await platform.create(name));
  }

  order(agent: string, to: string): void {
    this.agent.send({ performative: "achieve", receivers: agent, content: term("go", to) });
  }

  async hears(count: number): Promise<readonly Value[]> {
    while (this.heard.length < count) await pause(10);
    return this.heard;
  }
}

/** Formats a term as words: `at n1 6`. */
const words = (value: Value): string => (isTerm(value) ? [value.term, ...value.args.map((one) => textOf(one) ?? String(one))].join(" ") : String(value));

test("mind moves between programs and node in its plan", { skip: WITHOUT_NODE || WITHOUT_ENGINE, ...PATIENCE }, async () => {
  const boss = await Observer.begin();
  const [first, second] = [await Tab.open("tab_1"), await Tab.open("tab_2")];
  const rover = await first.slots.spawnKept("rover", "rover.asl", {}, { onLeave: "go-on" });
  boss.order("rover", NODE);
  await boss.hears(1);
  assert.equal(await rover.ended, `it moved to ${NODE}`);
  assert.deepEqual(first.minds, []);
  boss.order("rover", "tab_2");
  await boss.hears(2);
  assert.deepEqual([second.minds, first.minds], [["rover"], []]);
  boss.order("rover", "nowhere");
  await boss.hears(3);
  boss.order("rover", "tab_1");
  await boss.hears(4);
  assert.deepEqual([second.minds, first.minds], [[], ["rover"]]);
  assert.deepEqual(boss.heard.map(words), [`at ${NODE} 6`, "at tab_2 7", "stays nowhere no_such_node", "at tab_1 9"]);
  await Promise.all([first.close(), second.close(), boss.platform.close()]);
});

test("mind that cannot be set up returns with the reason", { skip: WITHOUT_NODE || WITHOUT_ENGINE, ...PATIENCE }, async () => {
  const boss = await Observer.begin("chief");
  const tab = await Tab.open("tab_5");
  const broken = await begin();
  await broken.create("tab_6");
  broken.onOffer(({ name, code }) => broken.create(name, () => Promise.reject(new Error("there is no engine here")), { onLeave: "go-on", code }));
  const tom = await tab.slots.spawnKept("tom", "chief-rover.asl", {}, { onLeave: "go-on" });
  const heard = async (count: number): Promise<string> => words((await boss.hears(count))[count - 1] ?? null);
  boss.order("tom", NODE);
  assert.equal(await heard(1), `at ${NODE} 6`);
  assert.equal(await tom.ended, `it moved to ${NODE}`);
  boss.order("tom", "tab_6");
  assert.equal(await heard(2), "stays tab_6 refused");
  assert.deepEqual(broken.agents.map(({ name }) => name), ["tab_6"]);
  boss.order("tom", "tab_5");
  assert.equal(await heard(3), "at tab_5 8");
  assert.deepEqual(tab.minds, ["tom"]);
  await Promise.all([tab.close(), broken.close(), boss.platform.close()]);
});

test("guest moves with its call to nodes and back", { skip: WITHOUT_NODE || WITHOUT_GUESTS, ...PATIENCE }, async () => {
  const boss = await Observer.begin("guide");
  const module = await guestModule("traveller-rust");
  const code = await module.codeName("traveller-rust.wasm");
  const keep: Keep = { onLeave: "go-on", code };
  const open = async (name: string): Promise<{ readonly platform: Platform; readonly came: string[] }> => {
    const platform = await begin();
    platform.place = name;
    await platform.create(name);
    const came: string[] = [];
    platform.onOffer(async ({ name: agent, code: wanted }) => {
      assert.equal(wanted, code);
      came.push(agent);
      const fetch = async (one: GuestAgent): Promise<GuestModule> => GuestModule.compile((await one.fetchCode(code)) as Uint8Array<ArrayBuffer>);
      return platform.create(agent, new GuestAgent(fetch, { node: name, isArriving: true }), { ...keep, code: wanted });
    });
    return { platform, came };
  };
  const [first, second] = [await open("bay_1"), await open("bay_2")];
  const sums: (readonly Value[])[] = [];
  for (const tour of [["n1", "bay_2", "n2", "bay_1", "nowhere", "bay_2"], []]) {
    const traveller = await first.platform.create("traveller", new GuestAgent(module, { node: "bay_1" }), keep);
    const { content } = await boss.agent.ask({ performative: "request", receivers: "traveller", content: term("tour", tour) }, { timeoutMs: 60_000 });
    assert.ok(isTerm(content));
    sums.push(content.args);
    if (tour.length === 0) await traveller.end();
    else for (const agent of second.platform.agents) if (agent.name === "traveller") await agent.end();
  }
  const [[moved, moves, place] = [], [stayed, , home] = []] = sums;
  assert.deepEqual([moved, moves, textOf(place ?? null), textOf(home ?? null)], [stayed, 5n, "bay_2", "bay_1"]);
  assert.deepEqual([first.came, second.came], [["traveller"], ["traveller", "traveller"]]);
  await Promise.all([first.platform.close(), second.platform.close(), boss.platform.close()]);
});

test("script moves between programs, not to nodes", { skip: WITHOUT_NODE, ...PATIENCE }, async () => {
  const boss = await Observer.begin("teller");
  const counter = (agent: Agent): void => {
    let sum = 0n;
    agent.state(() => sum, (value) => (sum = value as bigint));
    agent.onMessage({ performative: "inform" }, ({ content }) => void (sum += content as bigint));
    agent.onMessage({ performative: "query-ref" }, (message) => agent.reply(message, "inform", sum));
  };
  const keep: Keep = { onLeave: "wait", code: "ts:counter" };
  const [first, second] = [await begin(), await begin()];
  await second.create("attic");
  first.place = "cellar";
  const came = new Promise<Agent>((resolve) => {
    second.onOffer(async ({ name, code }) => {
      if (code !== "ts:counter") throw new Error("only counters come here");
      resolve(await second.create(name, counter, keep));
    });
  });
  const sum = await first.create("sum", counter, keep);
  const stranger = await first.create("stranger", counter, { ...keep, code: "ts:stranger" });
  const tell = (...numbers: bigint[]): void => numbers.forEach((content) => boss.agent.send({ performative: "inform", receivers: "sum", content }));
  tell(1n, 2n);
  const stays = (why: string) => (error: unknown) => error instanceof StayedError && error.why === why;
  await assert.rejects(sum.moveTo("n1"), stays("not_movable"));
  await assert.rejects(sum.moveTo("nowhere"), stays("no_such_node"));
  await assert.rejects(stranger.moveTo("attic"), (error: unknown) => error instanceof StayedError && /only counters come here/.test(error.message));
  tell(3n);
  const moved = sum.moveTo("attic");
  tell(4n, 5n);
  await moved;
  assert.equal(await sum.ended, "it moved to attic");
  tell(6n);
  const answer = await boss.agent.ask({ performative: "query-ref", receivers: "sum" }, { timeoutMs: 30_000 });
  assert.equal(answer.content, 21n, "each message was handled once");
  assert.equal((await came).restored?.from, "cellar");
  await (await came).end();
  await Promise.all([first.close(), second.close(), boss.platform.close()]);
});
