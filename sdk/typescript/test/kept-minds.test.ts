/** Test of durable AgentSpeak minds: within a plan they continue in another program or at the node, and return. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { after, before, test } from "node:test";
import { Society } from "../src/agentspeak.js";
import { clock } from "../src/agentspeak/clock.js";
import { attachSlots, type Slots } from "../src/agentspeak/slots.js";
import { atom, connect, term, type Agent, type Keep, type Message, type Platform, type Value } from "../src/node.js";
import { GuestAgent } from "../src/guest.js";
import { ENGINE, WITHOUT_ENGINE } from "./engine.js";
import { guestModule, WITHOUT_GUESTS } from "./guests.js";
import { Society as Node, TOKEN, WITHOUT_NODE } from "./society.js";

const SKIP = WITHOUT_NODE || WITHOUT_ENGINE;

/** Asks, waits for the answer, then for a message, and reports its beliefs. */
const ROVER = `
n(5).
!start.
+!start <- .send(boss, askOne, ready(_), ready(Y)); .print("heard ", Y); .wait({+go}); .send(boss, tell, gone(Y)).
+!count[source(S)] : n(N) <- -+n(N + 1); .send(S, tell, n(N)).
`;

let node: Node;
before(async () => {
  if (SKIP) return;
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const policy = join(folder, "policy.toml");
  writeFileSync(policy, '[[allow]]\nwho = "session:*"\nmove = "*"\ncode = "*"\n');
  node = await Node.of({ fern: "" }, "--policy", policy);
});
after(() => node?.stop());

/** A program with the rover, until the rover leaves. */
class Tab {
  private constructor(
    readonly platform: Platform,
    readonly society: Society,
    readonly slots: Slots,
    readonly troubles: string[],
  ) {}

  static async open(keep: Keep, wall = clock.wall, wrong?: string): Promise<Tab> {
    const platform = await connect(`tcp://${node.address}`, { token: TOKEN });
    const society = await Society.load(readFileSync(ENGINE), { platform: platform.name, clock: { ...clock, wall } });
    const troubles: string[] = [];
    society.putFiles({ "rover.asl": ROVER, "watch.asl": "!go. +!go <- .time(H, M, S)." });
    const { slots } = await attachSlots(society, platform, { onError: (_, error) => void troubles.push(String(error)) });
    const tab = new Tab(platform, society, slots, troubles);
    if (wrong) await assert.rejects(slots.spawnKept("rover", wrong, {}, keep), /its saved state belongs to asl:/);
    else await slots.spawnKept("rover", "rover.asl", {}, keep);
    return tab;
  }

  async close(): Promise<void> {
    await this.platform.close();
    this.society.close();
  }
}

/** The agent that the rover asks. */
class Asker {
  readonly heard: Message[] = [];

  private constructor(readonly platform: Platform, readonly agent: Agent) {
    agent.onMessage((message) => void this.heard.push(message));
  }

  static async begin(): Promise<Asker> {
    const platform = await connect(`tcp://${node.address}`, { token: TOKEN });
    return new Asker(platform, await platform.create("boss"));
  }

  tell(performative: string, content: Value): void {
    this.agent.send({ performative, receivers: "rover", content });
  }

  async hears(count: number): Promise<Message[]> {
    while (this.heard.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    return this.heard;
  }
}

test("mind in a plan waits for its client", { skip: SKIP }, async () => {
  const boss = await Asker.begin();
  const first = await Tab.open({ onLeave: "wait" });
  const [asked] = await boss.hears(1);
  boss.tell("achieve", term("count"));
  assert.deepEqual((await boss.hears(2))[1]?.content, term("n", 5));
  await first.close();
  boss.agent.reply(asked!, "tell", term("ready", 42));
  boss.tell("achieve", term("count"));
  const second = await Tab.open({ onLeave: "wait" });
  assert.deepEqual((await boss.hears(3))[2]?.content, term("n", 6));
  boss.tell("tell", atom("go"));
  assert.deepEqual((await boss.hears(4))[3]?.content, term("gone", 42));
  assert.equal(boss.heard.filter(({ performative }) => performative === "askOne").length, 1, "the agent asked once");
  second.society.kill("rover");
  await second.close();
  await boss.platform.close();
});

test("mind continues at the node and returns", { skip: SKIP }, async () => {
  const boss = await Asker.begin();
  const first = await Tab.open({ onLeave: "go-on" });
  const [asked] = await boss.hears(1);
  boss.tell("achieve", term("count"));
  await boss.hears(2);
  await first.close();
  boss.agent.reply(asked!, "tell", term("ready", 7));
  boss.tell("achieve", term("count"));
  assert.deepEqual((await boss.hears(3))[2]?.content, term("n", 6), "only the node can have sent it");
  assert.match(node.output, /\[rover\] heard 7/);
  const second = await Tab.open({ onLeave: "go-on" });
  assert.ok(second.society.agents.some(({ name }) => name === "rover"));
  boss.tell("achieve", term("count"));
  boss.tell("tell", atom("go"));
  const last = await boss.hears(5);
  // The two intentions may run in either order.
  const said = last.slice(3).map(({ content }) => content);
  for (const one of [term("n", 7), term("gone", 7)]) assert.ok(said.some((other) => isDeepStrictEqual(other, one)), String(one));
  assert.deepEqual(boss.heard.filter(({ performative }) => performative === "askOne").length, 1);
  second.society.kill("rover");
  await second.close();
  await boss.platform.close();
});

test("mind survives the kill of node and client", { skip: SKIP, timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "whimbrel-sdk-"));
  const policy = join(folder, "policy.toml");
  writeFileSync(policy, '[[allow]]\nwho = "session:*"\nmove = "*"\ncode = "*"\n');
  writeFileSync(join(folder, "society.mas2j"), "MAS home { agents: fern; }");
  writeFileSync(join(folder, "fern.asl"), "");
  const begin = (): Promise<Node> => Node.run(folder, undefined, "--durable", "--policy", policy);
  const counted = async (there: Node): Promise<Value> => {
    const platform = await connect(`tcp://${there.address}`, { token: TOKEN });
    // While the node recovers, no name is known to be free. This waits.
    const asker = await platform.create("boss");
    const heard = new Promise<Value>((resolve) => {
      asker.onMessage({ performative: "tell" }, ({ content }) => resolve(content));
      asker.onMessage({ performative: "failure" }, () => void setTimeout(count, 100));
    });
    const count = (): void => asker.send({ performative: "achieve", receivers: "pilot", content: term("count") });
    count();
    const content = await heard;
    await platform.close();
    return content;
  };
  const first = await begin();
  let second: Node | undefined;
  try {
    const platform = await connect(`tcp://${first.address}`, { token: TOKEN, leaseMs: 1_000 });
    const society = await Society.load(readFileSync(ENGINE), { platform: platform.name });
    society.putFiles({ "pilot.asl": "n(5).\n+!count[source(S)] : n(N) <- -+n(N + 1); .send(S, tell, n(N)).\n" });
    const { slots } = await attachSlots(society, platform);
    await slots.spawnKept("pilot", "pilot.asl", {}, { onLeave: "go-on" });
    // Its message leaves after its state is on disk.
    assert.deepEqual(await counted(first), term("n", 5));
    first.stop();
    assert.equal((await platform.closed).code, "lease-over", "the client no longer has the agent");
    second = await begin();
    assert.deepEqual(await counted(second), term("n", 6), "only the node can have sent it");
    second.stop();
    second = await begin();
    assert.deepEqual(await counted(second), term("n", 7), "an agent of the node is saved, too");
  } finally {
    first.stop();
    second?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("lost engine keeps the saved mind", { skip: SKIP }, async () => {
  const boss = await Asker.begin();
  let isBroken = false;
  const first = await Tab.open({ onLeave: "wait" }, () => {
    if (isBroken) throw new Error("the clock fell down");
    return clock.wall();
  });
  await boss.hears(1);
  boss.tell("achieve", term("count"));
  assert.deepEqual((await boss.hears(2))[1]?.content, term("n", 5));
  isBroken = true;
  const failed = new Promise((resolve) => first.society.on("failed", resolve));
  first.society.spawn("watch", "watch.asl");
  await failed;
  assert.match(first.troubles[0] ?? "", /the AgentSpeak engine failed; the agent waits for another session in its last saved state: .*the clock fell down/);
  boss.tell("achieve", term("count"));
  await first.platform.close();
  const second = await Tab.open({ onLeave: "wait" }, clock.wall, "watch.asl");
  await second.slots.spawnKept("rover", "rover.asl", {}, { onLeave: "wait" });
  assert.deepEqual((await boss.hears(3))[2]?.content, term("n", 6), "no message was lost or refused");
  // It has a turn, and ends before it is saved.
  second.slots.worked("rover", 0);
  second.society.kill("rover");
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(second.troubles, []);
  await second.close();
  await boss.platform.close();
});

test("guest continues at the node and returns", { skip: WITHOUT_NODE || WITHOUT_GUESTS, timeout: 120_000 }, async () => {
  const platform = await connect(`tcp://${node.address}`, { token: TOKEN });
  const asker = await platform.create("asker");
  const count = async (): Promise<Value> => (await asker.ask({ performative: "query-ref", receivers: "adder" }, { timeoutMs: 20_000 })).content;
  const module = await guestModule("counter-rust");
  const keep: Keep = { onLeave: "go-on", code: await module.codeName("counter-rust.wasm") };
  for (let turn = 1n; turn <= 2n; turn++) {
    const tab = await connect(`tcp://${node.address}`, { token: TOKEN });
    const adder = await tab.create("adder", new GuestAgent(module), keep);
    asker.send({ performative: "inform", receivers: "adder" });
    assert.equal(await count(), 2n * turn - 1n);
    await adder.save();
    await tab.close();
    asker.send({ performative: "inform", receivers: "adder" });
    assert.equal(await count(), 2n * turn, "only the node can have counted it");
  }
  await platform.close();
});
