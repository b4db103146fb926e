/** Test of moves with a simulated node: frames of the platform, and its reactions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { EndedError, StayedError, type Agent, type Keep, type Platform } from "../src/index.js";
import { readFileSync } from "node:fs";
import { Society } from "../src/agentspeak.js";
import { attachSlots, type Slots } from "../src/agentspeak/slots.js";
import { GuestAgent, GuestModule } from "../src/guest.js";
import { ENGINE, WITHOUT_ENGINE } from "./engine.js";
import { guestModule, WITHOUT_GUESTS } from "./guests.js";
import { SmallNode, withPlatform, type ClientFrame } from "./small-node.js";

const KEEP: Keep = { onLeave: "wait", code: "ts:counter" };

const text = (base64 = ""): string => Buffer.from(base64, "base64").toString();
const state = (of: string): string => Buffer.from(of).toString("base64");

/** Adds received numbers; `go` moves it. */
function counter(agent: Agent): void {
  let sum = 0n;
  agent.state(
    () => sum,
    (value) => (sum = value as bigint),
  );
  agent.onMessage({ performative: "inform" }, ({ content }) => void (sum += content as bigint));
  agent.onMessage({ performative: "request" }, (message) => agent.moveTo(String(message.content), message));
}

const tell = (node: SmallNode, performative: string, content: unknown): void => node.number({ type: "message", agent: 0, message: { performative, sender: "amy", content } });

/** Creates a counter that was told 5 and is saved. */
async function counting(platform: Platform, node: SmallNode): Promise<Agent> {
  const bob = await platform.create("bob", counter, KEEP);
  tell(node, "inform", 5);
  assert.equal(text((await node.next("save")).state), "5");
  return bob;
}

test("agent moves with state and message, ends here", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    assert.equal((await node.next("hello")).moves, true);
    const bob = await counting(platform, node);
    tell(node, "request", "tab-2");
    const save = await node.next("save", 1);
    assert.deepEqual([save.to, text(save.state), save.upto, save.code], ["tab-2", "5", 4, "ts:counter"]);
    // The node gives later messages to the new place. A message sent now would be sent there, too.
    tell(node, "inform", 7);
    bob.send({ performative: "inform", receivers: "amy", content: "on my way" });
    await pause(20);
    node.number({ type: "saved", agent: 0, of: save.number });
    node.number({ type: "ended", agent: 0, reason: "it moved to tab-2" });
    assert.equal(await bob.ended, "it moved to tab-2");
    assert.deepEqual([node.of("message"), node.of("save").length], [[], 2]);
    assert.throws(() => bob.send({ performative: "inform", receivers: "amy" }), EndedError);
    assert.equal(platform.agents.length, 0, "the number is free");
  }));

test("refused move fails, the agent continues", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await counting(platform, node);
    const refusals = [
      ["not-movable", "no_such_node: there is no node named n9", "no_such_node", "there is no node named n9"],
      ["not-allowed", "the policy of node n1 forbids it", "forbidden", "the policy of node n1 forbids it"],
      ["not-movable", "it is wild", "not_movable", "it is wild"],
    ] as const;
    for (const [at, [code, said, why, words]] of refusals.entries()) {
      const saves = node.of("save").length;
      const moved = bob.moveTo("n9");
      const save = await node.next("save", saves);
      assert.equal(save.to, "n9");
      tell(node, "inform", 1);
      bob.send({ performative: "inform", receivers: "amy", content: at });
      await assert.rejects(bob.moveTo("n8"), /already moving/);
      node.number({ type: "refused", of: save.number, code, text: said });
      await assert.rejects(moved, (error: unknown) => error instanceof StayedError && error.why === why && error.message === words);
      // It handles and sends what waited, and is saved again.
      while (text(node.of("save").at(-1)?.state) !== String(6 + at) || node.of("save").at(-1)?.to !== null) await pause(2);
    }
    assert.deepEqual(node.of("message").map(({ message }) => message?.content), [0, 1, 2].map((num) => ({ num })));
    await bob.end();
  }));

test("agent without durability or state stays", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const stays = (why: RegExp) => (error: unknown) => error instanceof StayedError && error.why === "not_movable" && why.test(error.message);
    await assert.rejects((await platform.create("amy", counter)).moveTo("n2"), stays(/not durable/));
    await assert.rejects((await platform.create("tom", () => undefined, KEEP)).moveTo("n2"), stays(/no state declared/));
    assert.ok(node.of("save").every(({ to }) => to === null));
  }));

test("session's end during a move ends the agent", { timeout: 10_000 }, async () => {
  const node = new SmallNode();
  const platform = await node.connect();
  const bob = await counting(platform, node);
  const moved = bob.moveTo("n2");
  await node.next("save", 1);
  node.say({ type: "error", code: "stopping", text: "the node stops" });
  await assert.rejects(moved, EndedError);
  assert.equal((await platform.closed).code, "stopping");
});

test("requested move happens or is refused with a reason", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await counting(platform, node);
    node.number({ type: "yield", agent: 0, to: "n2" });
    const save = await node.next("save", 1);
    assert.deepEqual([save.to, save.upto], ["n2", 2]);
    node.number({ type: "refused", of: save.number, code: "not-movable", text: "unreachable: node n2 is lost" });
    await pause(20);
    assert.equal(node.of("stays").length, 0, "the node knows");
    node.number({ type: "yield", agent: 0, to: "n2" });
    while (node.of("save").filter(({ to }) => to === "n2").length < 2) await pause(2);
    node.number({ type: "ended", agent: 0, reason: "it moved to n2" });
    assert.equal(await bob.ended, "it moved to n2");

    await platform.create("amy", counter, { ...KEEP, yields: false });
    await platform.create("tom", counter);
    node.number({ type: "yield", agent: 0, to: "n2" });
    node.number({ type: "yield", agent: 1, to: "n2" });
    const [amy, tom] = [await node.next("stays", 0), await node.next("stays", 1)];
    assert.deepEqual([amy.name, amy.text, tom.name], ["amy", "its client does not let it move", "tom"]);
  }));

test("offered agent is created with its state, or refused", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    node.number({ type: "offer", name: "eve", code: "ts:counter" });
    assert.deepEqual([(await node.next("stays")).name, node.of("stays")[0]?.text], ["eve", "its client accepts no agents"]);
    platform.onOffer(({ name, code }) => {
      if (code !== "ts:counter") throw new Error(`nobody here knows ${code}`);
      return platform.create(name, counter, KEEP);
    });
    node.number({ type: "offer", name: "eve", code: "ts:stranger" });
    assert.equal((await node.next("stays", 1)).text, "nobody here knows ts:stranger");
    node.states.set("bob", { code: "ts:counter", state: state("41") });
    node.number({ type: "offer", name: "bob", code: "ts:counter" });
    await node.next("create");
    tell(node, "inform", 1);
    assert.equal(text((await node.next("save")).state), "42");
    assert.deepEqual(platform.agents.map(({ name }) => name), ["bob"]);
  }));

test("arriving agent with failed set-up returns", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    let isBroken = true;
    platform.onOffer(({ name }) =>
      platform.create(name, (agent) => {
        if (isBroken) throw new Error("no engine");
        counter(agent);
      }, KEEP),
    );
    node.states.set("bob", { code: "ts:counter", state: state("41") });
    node.number({ type: "offer", name: "bob", code: "ts:counter" });
    const { name, text: why } = await node.next("stays");
    assert.deepEqual([name, why, platform.agents], ["bob", "no engine", []]);
    node.number({ type: "ended", agent: 0, reason: "it went back: no engine" });
    isBroken = false;
    node.number({ type: "offer", name: "bob", code: "ts:counter" });
    await node.next("create", 1);
    tell(node, "inform", 1);
    assert.equal(text((await node.next("save")).state), "42");
    // An agent that is here already is not created again.
    node.number({ type: "offer", name: "bob", code: "ts:counter" });
    tell(node, "inform", 1);
    assert.equal(text((await node.next("save", 1)).state), "43");
    assert.deepEqual([node.of("stays").length, node.of("create").length, platform.agents.length], [1, 2, 1]);
  }));

test("code arrives in parts, or its lack is reported", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob", counter, KEEP);
    const fetched = bob.fetchCode("wasm:ab/x");
    assert.equal((await node.next("lacks")).code, "wasm:ab/x");
    const part = (at: number, of: number, bytes: string): void => node.number({ type: "code", agent: 0, code: "wasm:ab/x", at, of, bytes: state(bytes) });
    part(0, 5, "abc");
    part(3, 5, "de");
    assert.equal(Buffer.from(await fetched).toString(), "abcde");
    part(0, 5, "an unrequested part");
    for (const wrong of [() => part(1, 5, "abc"), () => part(0, 0, ""), () => part(0, 2 ** 40, "abc"), () => part(0, 2, "abc")]) {
      const failed = bob.fetchCode("wasm:ab/x");
      wrong();
      await assert.rejects(failed, /unexpected part|does not have/);
    }
    const refused = bob.fetchCode("wasm:cd/x");
    while (node.of("lacks").at(-1)?.code !== "wasm:cd/x") await pause(2);
    node.number({ type: "refused", of: node.of("lacks").at(-1)?.number, code: "not-movable", text: "it is not at this node" });
    await assert.rejects(refused, /not at this node/);
    const late = bob.fetchCode("wasm:ab/x");
    await bob.end();
    await assert.rejects(late, /finished/);
  }));

/** Moves, and reports the outcome, while it counts. */
const WANDERER = `
n(1).
+!go(To) <- .node(Here); ?n(N); .send(amy, tell, leaving(Here, N)); .move_to(To); .node(There); ?n(M); .send(amy, tell, at(There, M)).
-!go(To)[error(E), error_msg(M)] <- .send(amy, tell, stays(E, M)).
+!count : n(N) <- -+n(N + 1).
`;

/** A society on a platform, with its messages. */
async function societyAt(platform: Platform, place: string): Promise<{ society: Society; slots: Slots }> {
  platform.place = place;
  const society = await Society.load(readFileSync(ENGINE), { platform: platform.name });
  society.putFiles({ "wanderer.asl": WANDERER });
  return { society, slots: (await attachSlots(society, platform, { place })).slots };
}

/** Returns the messages of agents as text. */
const said = (node: SmallNode): string[] => node.of("message").map(({ message }) => JSON.stringify(message?.content));
const go = (to: string): object => ({ term: "go", args: [{ atom: to }] });

/** Waits for the save with which an agent leaves for a place. */
async function departure(node: SmallNode, to: string): Promise<ClientFrame> {
  for (let at = 0; ; at++) {
    const save = await node.next("save", at);
    if (save.to === to) return save;
  }
}

/** Completes a move on the node's side. */
function gone(node: SmallNode, save: ClientFrame): void {
  node.number({ type: "saved", agent: save.agent, of: save.number });
  node.number({ type: "ended", agent: save.agent, reason: `it moved to ${save.to}` });
}

/** Asks for an agent's code on the node's side. */
async function codeOf(node: SmallNode, code: string | undefined): Promise<string> {
  node.number({ type: "lacks", agent: 0, code });
  const part = await node.next("code");
  assert.equal(part.code, code);
  return part.bytes ?? "";
}

test("mind moves in a plan, or learns why not", { skip: WITHOUT_ENGINE, timeout: 30_000 }, () =>
  withPlatform((here, one) =>
    withPlatform(async (there, other) => {
      const first = await societyAt(here, "tab-1");
      const bob = await first.slots.spawnKept("bob", "wanderer.asl", {}, { onLeave: "go-on" });
      tell(one, "achieve", go("tab-1"));
      await one.next("message", 1);
      assert.match(said(one)[1] ?? "", /"stays".*"already_there"/);
      tell(one, "achieve", go("n9"));
      const refused = await departure(one, "n9");
      // It gets no turns, so nothing is counted before the outcome.
      tell(one, "achieve", { atom: "count" });
      await pause(50);
      assert.deepEqual([one.of("message").length, refused.upto, one.of("save").at(-1)?.to], [3, 5, "n9"]);
      one.number({ type: "refused", of: refused.number, code: "not-movable", text: "no_such_node: there is no node named n9" });
      await one.next("message", 3);
      assert.match(said(one)[3] ?? "", /"stays".*"no_such_node"/);
      tell(one, "achieve", go("tab-2"));
      const save = await departure(one, "tab-2");
      const bytes = await codeOf(one, save.code);
      gone(one, save);
      assert.equal(await bob.ended, "it moved to tab-2");
      assert.deepEqual([first.society.agents, here.agents, one.of("end")], [[], [], []]);

      const second = await societyAt(there, "tab-2");
      there.onOffer(({ name, code }) => second.slots.accept(name, code, { onLeave: "go-on" }));
      other.states.set("bob", { code: save.code ?? "", state: save.state ?? "" });
      other.number({ type: "offer", name: "bob", code: save.code });
      const lacks = await other.next("lacks");
      other.number({ type: "code", agent: lacks.agent, code: lacks.code, at: 0, of: Buffer.from(bytes, "base64").length, bytes });
      await other.next("message");
      assert.match(said(other)[0] ?? "", /"at".*"tab-2".*2/);
      // Another agent sends it back.
      other.number({ type: "yield", agent: 0, to: "n1" });
      gone(other, await departure(other, "n1"));
      while (second.society.agents.length > 0) await pause(2);
    }),
  ),
);

test("code with a wrong hash is refused", { skip: WITHOUT_ENGINE, timeout: 30_000 }, () =>
  withPlatform(async (platform, node) => {
    const { society, slots } = await societyAt(platform, "tab-1");
    const { name: code } = society.code("wanderer.asl");
    platform.onOffer((offer) => slots.accept(offer.name, offer.code, { onLeave: "go-on" }));
    node.states.set("bob", { code, state: state("none") });
    node.number({ type: "offer", name: "bob", code });
    const lacks = await node.next("lacks");
    node.number({ type: "code", agent: lacks.agent, code, at: 0, of: 3, bytes: state("bad") });
    assert.equal((await node.next("stays")).name, "bob");
    assert.deepEqual([society.agents, node.of("end"), node.of("save")], [[], [], []], "the node keeps the agent");
  }),
);

for (const name of ["traveller-c", "traveller-rust", "nomad-rust"]) {
  test(`${name} moves with its call`, { skip: WITHOUT_GUESTS, timeout: 60_000 }, async () => {
    const module = await guestModule(name);
    const code = await module.codeName(`${name}.wasm`);
    const keep: Keep = { onLeave: "go-on", code };
    /** Returns the answer of an agent that visits these places, each a tab of its own. */
    const tour = async (places: readonly string[]): Promise<readonly unknown[]> => {
      let place = "tab-0";
      let before: string | undefined;
      let state: string | undefined;
      for (;;) {
        const node = new SmallNode();
        const platform = await node.connect();
        if (state !== undefined) node.states.set("guest", { code, state, from: before ?? "" });
        platform.place = place;
        const arrived = state !== undefined;
        const fetch = async (agent: GuestAgent): Promise<GuestModule> => GuestModule.compile((await agent.fetchCode(code)) as Uint8Array<ArrayBuffer>);
        const created = platform.create("guest", new GuestAgent(arrived ? fetch : module, { node: place, isArriving: arrived, onPrint: () => undefined }), keep);
        if (arrived) {
          const { agent } = await node.next("lacks");
          node.number({ type: "code", agent, code, at: 0, of: module.bytes.length, bytes: Buffer.from(module.bytes).toString("base64") });
        }
        const guest = await created;
        assert.equal(guest.restored?.from, before);
        if (!arrived) tell(node, "request", { term: "tour", args: [places] });
        const leaves = (): ClientFrame | undefined => node.of("save").find(({ to }) => typeof to === "string");
        while (!leaves() && node.of("message").length === 0) await pause(2);
        const next = leaves();
        if (!next) {
          await platform.close();
          return (node.of("message")[0]?.message?.content as { readonly args: readonly unknown[] }).args;
        }
        assert.deepEqual([next.code, next.from], [code, place]);
        gone(node, next);
        assert.equal(await guest.ended, `it moved to ${next.to}`);
        await platform.close();
        [before, place, state] = [place, next.to ?? "", next.state];
      }
    };
    const [there, here] = [await tour(["tab-1", "tab-2", "tab-2", "tab-3"]), await tour([])];
    assert.deepEqual(there.slice(0, 1), here.slice(0, 1), "both tours compute the same");
    assert.deepEqual([there.slice(1), here.slice(1)].map((rest) => JSON.stringify(rest)), ['[3,"tab-3"]', '[0,"tab-0"]'], "a move to the same place is no move");
  });
}

test("guest moves between calls on request, or stays", { skip: WITHOUT_GUESTS, timeout: 30_000 }, () =>
  withPlatform(async (platform, node) => {
    const module = await guestModule("counter-rust");
    const guest = await platform.create("guest", new GuestAgent(module), { onLeave: "go-on", code: await module.codeName("counter-rust.wasm") });
    tell(node, "inform", null);
    node.number({ type: "yield", agent: 0, to: "n1" });
    const first = await departure(node, "n1");
    node.number({ type: "refused", of: first.number, code: "not-movable", text: "unreachable: node n1 is lost" });
    tell(node, "query-ref", null);
    assert.deepEqual((await node.next("message")).message?.content, 1);
    await assert.rejects(platform.create("bare", new GuestAgent(module)).then((bare) => bare.moveTo("n1")), StayedError);
    const moved = guest.moveTo("n2");
    gone(node, await departure(node, "n2"));
    await moved;
    assert.equal(await guest.ended, "it moved to n2");
  }),
);
