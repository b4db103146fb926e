/** Test of a platform with a simulated node: node's frames, program errors, memory. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { getEventListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { MAILBOX_BYTES_MAX } from "../src/agents/limits.js";
import { Agent, contractNet, DeadlineError, onRequest, subscribe, type Platform } from "../src/index.js";
import { RECONNECT_MS_MAX } from "../src/session/limits.js";
import { Driver } from "../src/session/driver.js";
import { SmallNode, withPlatform } from "./small-node.js";

/** Collects printed lines. */
function printed(context: TestContext): unknown[][] {
  const lines: unknown[][] = [];
  context.mock.method(console, "error", (...line: unknown[]) => void lines.push(line));
  return lines;
}

test("cancelled timers leave nothing behind", () => {
  const agent = new Agent();
  for (let count = 0; count < 100; count++) agent.after(1e6, () => assert.fail("it was taken back"))();
  agent.every(1e6, () => assert.fail("it was taken back"))();
  assert.equal(getEventListeners(agent.signal, "abort").length, 1, "however many there were");
});

test("agent is on one platform under one name", () =>
  withPlatform(async (platform, node) => {
    const agent = new Agent();
    const both = await Promise.allSettled([platform.create("bob", agent), platform.create("amy", agent)]);
    assert.deepEqual(both.map(({ status }) => status), ["fulfilled", "rejected"]);
    await assert.rejects(platform.create("eve", agent), /already belongs to a platform/);
    assert.deepEqual(node.of("create").map(({ name }) => name), ["bob"], "no frame reaches the node");
    const other = new Agent();
    await assert.rejects(platform.create("taken", other), { code: "name-taken" });
    assert.equal((await platform.create("ulla", other)).name, "ulla", "a refused agent may try another name");
    assert.deepEqual(platform.agents, [agent, other]);
  }));

test("unreadable input is refused, session continues", () =>
  withPlatform(async (platform, node) => {
    for (const name of [5, {}, null, "half \ud83d of a sign"]) await assert.rejects(platform.create(name as string), { code: "bad-name" });
    await assert.rejects(platform.create("bob", () => undefined, { onLeave: "dance" as "wait" }), /invalid onLeave dance: use one of end, wait, go-on/);
    await assert.rejects(platform.create("bob", () => undefined, { save: "now" as "no" }), /invalid save now: use one of each-message, checkpoint, no/);
    assert.deepEqual(node.of("create"), [], "no frame reaches the node");
    assert.equal((await platform.create("whole \ud83d\ude00")).name, "whole \ud83d\ude00");
  }));

test("name not known to be free is retried", () =>
  withPlatform(async (platform, node) => {
    node.notYet = 2;
    assert.equal((await platform.create("soon")).name, "soon");
    assert.equal(node.of("create").length, 3);
  }));

test("throwing onError is printed, others continue", { timeout: 10_000 }, async (context) => {
  const lines = printed(context);
  const impatient = new SmallNode();
  impatient.leaseMs = 1000;
  await withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    bob.onError = () => {
      throw new Error("cannot even complain");
    };
    const next = bob.receive();
    node.number({ type: "message", agent: 0, message: { performative: 7 } });
    node.number({ type: "message", agent: 0, message: { performative: "inform", content: "fine" } });
    assert.equal((await next).content, "fine");
    bob.onMessage(() => {
      throw new Error("cannot");
    });
    node.number({ type: "message", agent: 0, message: { performative: "inform" } });
    // The client goes on with its acknowledgements.
    while (node.of("ack").length < 2) await pause(5);
  }, impatient);
  assert.equal(lines.filter((line) => line.some((word) => String(word).includes("cannot even complain"))).length, 2);
});

test("throwing matcher answers not-understood", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const errors: string[] = [];
    await platform.create(
      "bob",
      (agent) => {
        agent.onError = (error, message) => void errors.push(`${(error as Error).message} ${String(message?.content)}`);
        agent.onMessage(({ content }) => (content as { length: number }).length > 3, () => assert.fail("too short"));
        agent.state(() => null, () => undefined);
      },
      {},
    );
    for (const performative of ["request", "failure"]) node.number({ type: "message", agent: 0, message: { performative, sender: "amy", content: null, reply_with: "q1" } });
    const { message } = await node.next("message");
    assert.deepEqual([message?.performative, message?.content ?? null], ["not-understood", null]);
    while (!node.of("save").some(({ upto }) => upto === 3)) await pause(5);
    assert.equal(node.of("message").length, 1, "a failure is not answered");
    assert.equal(errors.length, 3);
    assert.match(errors[0] ?? "", /null/);
  }));

test("session continues after handler errors", { timeout: 10_000 }, async (context) => {
  const lines = printed(context);
  const node = new SmallNode();
  node.leaseMs = 1000;
  const types: string[] = [];
  const driver = new Driver({ leaseMs: 1000 }, node.transport, undefined, ({ type }) => {
    types.push(type);
    throw new Error("what now?");
  });
  driver.session.create(0, "bob");
  while (node.of("ack").length < 2) await pause(5);
  assert.deepEqual(types, ["welcome", "created"]);
  driver.session.bye();
  driver.pump();
  await pause(20);
  assert.deepEqual(types, ["welcome", "created", "over"]);
  assert.equal(lines.length, 3);
});

test("refusal finds its waiting caller", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    const answer = bob.ask({ performative: "request", receivers: "amy" }, { timeoutMs: 3000 });
    const errors: string[] = [];
    bob.onError = (error) => errors.push((error as Error).message);
    for (let n = 0; n < 5000; n++) bob.send({ performative: "inform", receivers: "amy", content: n });
    while (node.of("message").length < 5001) await pause(5);
    node.number({ type: "refused", of: node.of("message")[0]?.number, code: "not-allowed", text: "no" });
    node.number({ type: "refused", of: node.of("message")[5000]?.number, code: "not-allowed", text: "no" });
    await assert.rejects(answer, { name: "RefusedError", code: "not-allowed" });
    assert.deepEqual(errors, ["not-allowed: message to amy: no"]);
  }));

test("refusal finds the sender of a message", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const [bob, amy] = [await platform.create("bob"), await platform.create("amy")];
    const errors: string[] = [];
    bob.onError = (error) => errors.push((error as Error).message);
    amy.onError = () => errors.push("not mine");
    while (platform.unacknowledged > 0) await pause(5);
    node.isDeaf = true;
    for (let n = 0; n < 5000; n++) bob.send({ performative: "inform", receivers: "tom", content: n });
    while (node.of("message").length < 200) await pause(5);
    node.number({ type: "refused", of: node.of("message")[0]?.number, code: "not-allowed", text: "no" });
    while (errors.length < 1) await pause(5);
    node.isDeaf = false;
    node.say({ type: "ack", received: node.of("message").at(-1)?.number });
    assert.deepEqual(errors, ["not-allowed: message to tom: no"]);

    const hasty = bob.open({ performative: "request", receivers: "tom" });
    hasty.close();
    while (platform.unacknowledged > 0) await pause(5);
    node.number({ type: "refused", of: node.of("message").at(-1)?.number, code: "not-allowed", text: "no" });
    await pause(20);
    assert.equal(errors.length, 1, "neither the late asker nor others get the answer");
  }));

test("refused part of a creation reaches its agent alone", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const errors: string[] = [];
    const hears = (agent: Agent): void => {
      agent.onError = (error) => errors.push(`${agent.aid.name}: ${(error as Error).message}`);
    };
    const [, bob] = [await platform.create("amy", hears), await platform.create("bob", hears)];
    const created = node.of("create").map(({ number }) => number);
    node.number({ type: "refused", of: created[1], code: "not-movable", text: "it could not go on at this node" });
    while (errors.length === 0) await pause(5);
    assert.deepEqual(errors, ["bob: not-movable: it could not go on at this node"]);
    assert.ok(!bob.signal.aborted, "it is there all the same");
  }));

test("finished messages and agents free their memory", { timeout: 20_000 }, () =>
  withPlatform(async (platform, node) => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const bob = await platform.create("bob");
    const refs = await leavings(platform, bob);
    while (node.of("end").length < 1 || platform.unacknowledged > 0) await pause(5);
    for (let round = 0; round < 20 && refs.some(([, ref]) => ref.deref()); round++) {
      await pause(10);
      collect();
    }
    assert.deepEqual(refs.filter(([, ref]) => ref.deref()).map(([what]) => what), []);
  }));

/** Returns references to finished objects. */
async function leavings(platform: Platform, bob: Agent): Promise<(readonly [string, WeakRef<object>])[]> {
  const content = new Uint8Array(1000);
  bob.send({ performative: "inform", receivers: "amy", content });
  const inbox = bob.open({ performative: "request", receivers: "amy" });
  inbox.close();
  const tom = await platform.create("tom");
  assert.equal(await tom.certify("PEM"), "PEM");
  await tom.end();
  return [
    ["a message's content", new WeakRef(content)],
    ["a closed conversation", new WeakRef(inbox)],
    ["an agent that ended", new WeakRef(tom)],
  ];
}

test("endless handlers fill the mailbox, senders are told", { timeout: 20_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    bob.onMessage({ performative: "request" }, () => new Promise(() => undefined));
    const content = "x".repeat(1 << 20);
    const most = Math.floor(MAILBOX_BYTES_MAX / (4 << 20));
    for (let n = 0; n < most + 2; n++) node.number({ type: "message", agent: 0, message: { performative: "request", sender: "amy", content } });
    while (node.of("message").length < 2) await pause(5);
    assert.ok(bob.heldBytes <= MAILBOX_BYTES_MAX && bob.heldBytes > MAILBOX_BYTES_MAX / 2);
    assert.deepEqual(node.of("message").map(({ message }) => [message?.performative, message?.content]).slice(0, 2), [
      ["failure", "mailbox full"],
      ["failure", "mailbox full"],
    ]);
    const answer = bob.ask({ performative: "query-ref", receivers: "amy" }, { timeoutMs: 5000 });
    while (node.of("message").length < 4) await pause(5);
    const asked = node.of("message").at(-1)?.message;
    node.number({ type: "message", agent: 0, message: { performative: "inform", in_reply_to: asked?.reply_with, content } });
    assert.equal((await answer).content, content, "awaited answers fit");
  }));

test("contractor gone at award is not waited for", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const boss = await platform.create("boss");
    const net = contractNet(boss, { participants: ["amy", "ed"], content: "mow", deadlineMs: 600_000, resultMs: 600_000, select: (proposals) => proposals });
    const { message: call } = await node.next("message");
    const say = (message: object): void => node.number({ type: "message", agent: 0, message: { conversation_id: call?.conversation_id, ...message } });
    for (const sender of ["amy", "ed"]) say({ performative: "propose", sender, content: 5 });
    while (node.of("message").length < 3) await pause(5);
    const undelivered = { term: "undelivered", args: [{ atom: "amy" }, { atom: "unknown_agent" }] };
    say({ performative: "failure", sender: "ams", content: [{ term: "action", args: [{ atom: "boss" }, null] }, undelivered] });
    say({ performative: "inform", sender: "ed", content: "done" });
    const { outcomes, silent } = await net;
    assert.deepEqual(outcomes.map(({ proposal, result, error }) => [proposal.agent.name, result?.content, error?.message]), [
      ["amy", undefined, "ams answers failure: amy cannot be reached: unknown agent"],
      ["ed", "done", undefined],
    ]);
    assert.deepEqual(silent, []);
  }));

test("many questions add one listener per signal", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    const { signal } = new AbortController();
    const asks = Array.from({ length: 30 }, () => bob.ask({ performative: "query-ref", receivers: "amy" }, { signal }));
    const stops = Array.from({ length: 30 }, () => bob.after(1e6, () => undefined));
    while (node.of("message").length < 30) await pause(5);
    assert.deepEqual([bob.signal, signal].map((one) => getEventListeners(one, "abort").length), [1, 1]);
    for (const { message } of node.of("message")) node.number({ type: "message", agent: 0, message: { performative: "inform", in_reply_to: message?.reply_with } });
    await Promise.all(asks);
    for (const stop of stops) stop();
  }));

test("throwing handler answers failure once", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const told: string[] = [];
    const bob = await platform.create("bob", (agent) => {
      agent.onError = (error) => void told.push((error as Error).message);
      onRequest(agent, () => Promise.reject(new Error("no way")), { template: { ontology: "bank" }, agree: true });
      agent.onMessage({ performative: "query-ref" }, async () => Promise.reject(new Error("no idea")));
      agent.onMessage((message) => {
        if (message.content === "agree") agent.reply(message, "agree");
        if (message.content === "answer") agent.reply(message, "inform", 1n);
        throw new Error("no luck");
      });
    });
    const say = (message: object): void => node.number({ type: "message", agent: 0, message: { sender: "amy", ...message } });
    say({ performative: "request", reply_with: "r1", ontology: "bank" });
    say({ performative: "query-ref", reply_with: "r2" });
    say({ performative: "cfp", conversation_id: "c" });
    say({ performative: "achieve", reply_with: "r3", content: "agree" });
    say({ performative: "request", reply_with: "r4", content: "answer" });
    for (const performative of ["inform", "tell", "failure", "not-understood"]) say({ performative });
    say({ performative: "refuse", reply_with: "r5" });
    while (told.length < 10) await pause(5);
    while (node.of("message").length < 7) await pause(5);
    await pause(50);
    const heard = node.of("message").map(({ message }) => `${(message as { in_reply_to?: string }).in_reply_to ?? ""} ${message?.performative} ${String(message?.content)}`);
    assert.deepEqual(heard.sort(), [" failure no luck", "r1 agree undefined", "r1 failure no way", "r2 failure no idea", "r3 agree undefined", "r3 failure no luck", "r4 inform 1"]);
    await bob.end();
  }));

test("silent agent is named in the deadline error", { timeout: 10_000 }, () =>
  withPlatform(async (platform) => {
    const bob = await platform.create("bob");
    const late = { name: "DeadlineError", message: "amy, ed did not answer within 20 ms" };
    await assert.rejects(bob.ask({ performative: "query-ref", receivers: ["amy", "ed"] }, { timeoutMs: 20 }), late);
    await assert.rejects(subscribe(bob, "amy", "news", { timeoutMs: 20 }), { message: "amy did not answer within 20 ms" });
  }));

test("late answer is dropped, late subscription cancelled", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    await assert.rejects(bob.ask({ performative: "query-ref", receivers: "amy" }, { timeoutMs: 20 }), DeadlineError);
    const asked = node.of("message").at(-1)?.message;
    node.number({ type: "message", agent: 0, message: { performative: "inform", in_reply_to: asked?.reply_with, content: 1 } });
    node.number({ type: "message", agent: 0, message: { performative: "inform", content: 2 } });
    while (bob.waiting === 0) await pause(5);
    assert.equal((await bob.receive()).content, 2n);
    assert.equal(bob.waiting, 0);

    await assert.rejects(subscribe(bob, "amy", "news", { timeoutMs: 20 }), DeadlineError);
    await assert.rejects(bob.df.subscribe({}, () => undefined, { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    while (node.of("message").length < 5) await pause(5);
    const said = node.of("message").slice(1).map(({ message }) => message);
    assert.deepEqual(said.map((message) => message?.performative), ["subscribe", "cancel", "subscribe", "cancel"]);
    assert.equal(said[0]?.conversation_id, said[1]?.conversation_id);
    assert.equal(said[2]?.conversation_id, said[3]?.conversation_id);
  }));

test("connecting can be aborted", { timeout: 10_000 }, async () => {
  const node = new SmallNode();
  await assert.rejects(node.connect(AbortSignal.abort(new Error("never mind"))), /never mind/);
  assert.equal(node.connections, 0);
  node.isThere = false;
  const giving = new AbortController();
  const connecting = node.connect(giving.signal);
  while (node.connections < 2) await pause(5);
  giving.abort(new Error("enough"));
  await assert.rejects(connecting, /enough/);
  const { connections } = node;
  await pause(300);
  assert.equal(node.connections, connections, "no further attempt");
  node.isThere = true;
  const later = new AbortController();
  const platform = await node.connect(later.signal);
  later.abort();
  await platform.create("bob");
  await platform.close();
});

test("network events are reported and end the back-off", { timeout: 20_000 }, async () => {
  const target = new EventTarget();
  const added = { addEventListener: target.addEventListener.bind(target), removeEventListener: target.removeEventListener.bind(target) };
  const names = Object.keys(added) as (keyof typeof added)[];
  Object.assign(globalThis, added);
  const node = new SmallNode();
  const platform = await node.connect();
  try {
    const heard: (readonly [boolean, string | undefined])[] = [];
    const stop = platform.onConnection((isConnected, why) => void heard.push([isConnected, why]));
    node.isThere = false;
    node.cut();
    while (heard.length < 1) await pause(5);
    assert.deepEqual([heard[0], platform.isConnected], [[false, "cut"], false]);
    // By now the back-off is nearly at its maximum.
    while (node.connections < 7) await pause(20);
    node.isThere = true;
    const since = performance.now();
    target.dispatchEvent(new Event("online"));
    while (heard.length < 2) await pause(5);
    // The back-off would take at least half of its maximum.
    assert.ok(performance.now() - since < RECONNECT_MS_MAX * 0.45, "the client connects before its delay ends");
    assert.deepEqual([heard[1], platform.isConnected], [[true, undefined], true]);
    stop();
    const acknowledged = node.of("ack").length;
    target.dispatchEvent(new Event("resume"));
    while (node.of("ack").length === acknowledged) await pause(5);
  } finally {
    await platform.close();
    for (const name of names) Reflect.deleteProperty(globalThis, name);
  }
});

test("suspended agent handles everything in order later", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    const heard: unknown[] = [];
    bob.onMessage(({ content }) => void heard.push(content));
    bob.suspend();
    assert.equal(bob.isSuspended, true);
    const stop = bob.after(10, () => heard.push("never"));
    bob.after(10, () => heard.push("timer"));
    const wanted = bob.receive({ performative: "query-ref" });
    for (const content of ["1", "2"]) node.number({ type: "message", agent: 0, message: { performative: "inform", content } });
    node.number({ type: "message", agent: 0, message: { performative: "query-ref", content: "3" } });
    while (bob.waiting < 3) await pause(5);
    await pause(30);
    assert.deepEqual(heard, []);
    stop();
    bob.resume();
    assert.deepEqual(heard, ["1", "2", "timer"]);
    assert.equal((await wanted).content, "3");
    assert.deepEqual([bob.waiting, bob.heldBytes, bob.isSuspended], [0, 0, false]);
  }));

/** Returns the open messages of the last `open` frame, and the frames around the end in order. */
function lastWords(node: SmallNode, end: "end" | "bye"): { readonly open: readonly number[] | undefined; readonly types: readonly string[] } {
  const types = node.heard.map(({ type }) => type).filter((type) => ["open", "ack", end].includes(type));
  return { open: node.of("open").at(-1)?.messages, types: types.slice(Math.max(0, types.indexOf(end) - 2)) };
}

/** Delivers messages of these performatives to an agent, numbered from 2. */
function given(node: SmallNode, ...performatives: readonly string[]): void {
  for (const performative of performatives) node.number({ type: "message", agent: 0, message: { performative, sender: "amy", receivers: ["bob"] } });
}

test("unhandled messages are listed before an end", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    bob.onMessage({ performative: "request" }, () => new Promise(() => undefined));
    bob.onMessage({ performative: "query-if" }, async (asked) => {
      bob.reply(asked, "inform", true);
      await new Promise(() => undefined);
    });
    bob.onMessage({ performative: "confirm" }, () => new Promise(() => undefined));
    const taken = bob.receive({ performative: "cfp" });
    given(node, "inform", "request", "query-if", "confirm", "cfp", "inform", "inform");
    await taken;
    while (bob.waiting < 3) await pause(2);
    await bob.end();
    assert.deepEqual(lastWords(node, "end"), { open: [2, 2, 7, 2], types: ["open", "ack", "end"] });
    assert.equal(node.of("ack").at(-1)?.received, 8, "the node answers waiting messages");
  }));

test("handled messages are not listed", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    const told = bob.receive({ performative: "inform" });
    given(node, "inform");
    await told;
    given(node, "request");
    while (bob.waiting < 1) await pause(2);
    const says = (open: string): boolean => JSON.stringify(node.of("open").at(-1)?.messages) === open;
    while (!says("[3,1]")) await pause(2);
    bob.reply(await bob.receive(), "agree");
    while (!says("[]")) await pause(2);
    await bob.end();
    assert.ok(says("[]"));
    assert.ok(node.heard.findIndex(({ type }) => type === "end") > node.heard.findLastIndex(({ type, received }) => type === "ack" && received === 3));
  }));

test("closing platform acknowledges first", { timeout: 10_000 }, async () => {
  const node = new SmallNode();
  const platform = await node.connect();
  const bob = await platform.create("bob");
  const told = bob.receive({});
  given(node, "inform");
  await told;
  await platform.close();
  assert.deepEqual(lastWords(node, "bye"), { open: [], types: ["open", "ack", "bye"] });
  assert.equal(node.of("ack").at(-1)?.received, 2);
});

test("messages of a failed set-up are listed", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const failing = platform.create("bob", async (bob) => {
      given(node, "request");
      while (bob.waiting < 1) await pause(2);
      throw new Error("it cannot be");
    });
    await assert.rejects(failing, /it cannot be/);
    assert.deepEqual(lastWords(node, "end"), { open: [2, 1], types: ["open", "ack", "end"] });
  }));

test("open messages are listed again on resumption", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    given(node, "inform", "inform");
    const says = (open: string): boolean => JSON.stringify(node.of("open").at(-1)?.messages) === open;
    while (!says("[2,2]")) await pause(2);
    await bob.receive();
    node.cut();
    while (!says("[3,1]")) await pause(2);
    assert.ok(platform.isConnected);
  }));

test("contract net calls each participant once, or none", { timeout: 10_000 }, () =>
  withPlatform(async (platform, node) => {
    const bob = await platform.create("bob");
    const call = { content: "paint", deadlineMs: 50, select: () => [] };
    assert.deepEqual(await contractNet(bob, { ...call, participants: [] }), { outcomes: [], proposals: [], refused: [], silent: [] });
    assert.deepEqual(node.of("message"), []);
    const many = Array.from({ length: 1500 }, (_, at) => `painter${at}`);
    const { silent } = await contractNet(bob, { ...call, participants: [...many, "painter0", `painter1@${platform.name}`, ...many] });
    const receivers = node.of("message").map(({ message }) => (message as { receivers?: unknown[] }).receivers?.length);
    assert.deepEqual([silent.length, receivers], [1500, [1024, 476]]);
  }));
