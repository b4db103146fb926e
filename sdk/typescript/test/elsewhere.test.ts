/** Test of redirections between several nodes: docs/design/session-protocol.md, Several nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, connect, type ConnectOptions, type Platform } from "../src/index.js";
import { FrameReader, type Frame } from "../src/session/frames.js";
import { MISSES_MAX, SENDINGS_AT_ONCE, SENDINGS_MAX } from "../src/session/limits.js";
import { Session, type SessionEvent } from "../src/session/session.js";
import { addressAt, type Connect } from "../src/session/transport.js";
import { SmallNode } from "./small-node.js";

test("place is a port or host with port", () => {
  const at = (url: string, place?: string): string => addressAt(url, place).href;
  assert.equal(at("wss://node.example/session?x=1", ":40213"), "wss://node.example:40213/session?x=1");
  assert.equal(at("ws://127.0.0.1:8420/session", "10.0.0.2:80"), "ws://10.0.0.2/session");
  assert.equal(at("ws://[::1]:8420/session", ":40213"), "ws://[::1]:40213/session");
  assert.equal(at("tcp://127.0.0.1:7002", "[::2]:7003"), "tcp://[::2]:7003");
  assert.equal(at("ws://node.example/session"), "ws://node.example/session");
  for (const place of ["", ":", "nowhere", "user@host:1", "host:1/path", "host:123456"]) assert.throws(() => at("ws://node.example", place), /invalid place of a node/, place);
});

const LEASE_MS = 3000;
const WELCOME = { type: "welcome", version: 1, session: "n2.s1", secret: "hush", platform: "home", lease_ms: LEASE_MS, window: 8, agents: 4, message_bytes: 1000, messages_per_s: 1000, remember: 0, received: 0, credit: 8 };
const elsewhere = (text: string): object => ({ type: "error", code: "elsewhere", text });

/** A welcomed session whose nodes are simulated. */
class Bench {
  now = 0;
  readonly session: Session;

  constructor(leaseMs = LEASE_MS) {
    this.session = new Session({ follows: true, leaseMs }, 0, () => 1);
    assert.deepEqual(this.next(), undefined);
    const hello = this.open({ ...WELCOME, lease_ms: leaseMs });
    assert.ok(hello?.type === "hello" && hello.follows === true);
  }

  /** Waits for the next attempt to connect, and returns its place. */
  next(): string | undefined {
    for (;;) {
      for (let event: SessionEvent | undefined; (event = this.session.pollEvent()); ) if (event.type === "connect") return event.place ?? undefined;
      assert.equal(this.session.over, undefined);
      this.now = Math.max(this.now, this.session.pollTimeout());
      this.session.handleTimeout(this.now);
    }
  }

  /** Opens the connection, and answers its hello. */
  open(answer: object): Frame | undefined {
    this.session.handleConnected(this.now);
    const text = this.session.pollFrame(this.now);
    this.session.handleFrame(JSON.stringify(answer), this.now);
    return text === undefined ? undefined : new FrameReader("json", 0).read(text);
  }

  fail(): void {
    this.session.handleClosed(this.now, "nobody is there");
  }
}

test("session follows its node again after a break", () => {
  const bench = new Bench();
  bench.fail();
  assert.equal(bench.next(), undefined, "the original address");
  const before = bench.now;
  const asks = bench.open(elsewhere(":2"));
  assert.ok(asks?.type === "hello" && asks.follows === true);
  assert.deepEqual([bench.next(), bench.now], [":2", before], "at once");
  const again = bench.open(WELCOME);
  assert.ok(again?.type === "hello");
  assert.equal(again.resume?.session, "n2.s1");
  bench.fail();
  assert.equal(bench.next(), ":2");
  bench.fail();
  assert.equal(bench.next(), undefined, "no answer: back to the original address");
  bench.open(WELCOME);
  assert.equal(bench.session.over, undefined);
});

test("unreachable node may answer at the original address", () => {
  const bench = new Bench(10_000);
  bench.fail();
  const tried = [];
  for (let attempt = 0; attempt < 6; attempt++) {
    const place = bench.next();
    tried.push(place);
    if (place === undefined) bench.open(elsewhere(":2"));
    // A firewall drops it: no answer in time.
  }
  assert.deepEqual(tried, [undefined, ":2", undefined, ":2", undefined, undefined]);
  assert.equal(tried.filter((place) => place !== undefined).length, MISSES_MAX);
  bench.open(WELCOME);
  bench.fail();
  bench.next();
  bench.open(elsewhere(":2"));
  assert.equal(bench.next(), ":2", "a later redirection is permitted");
});

test("unknown place backs off at the original address", () => {
  const bench = new Bench(60_000);
  bench.fail();
  let wait = 0;
  for (let attempt = 0; attempt < 4; attempt++) {
    const before = bench.now;
    assert.equal(bench.next(), undefined);
    assert.ok(bench.now - before >= wait, `${bench.now - before} ms after ${wait} ms`);
    wait = bench.now - before;
    bench.open(elsewhere(""));
  }
  assert.ok(wait > 300, `${wait} ms`);
});

test("redirection circle backs off and gives up", () => {
  const bench = new Bench(300_000);
  bench.fail();
  const waits: number[] = [];
  let sendings = 0;
  for (; !bench.session.over && sendings < 100; sendings++) {
    const before = bench.now;
    bench.next();
    waits.push(bench.now - before);
    bench.open(elsewhere(sendings % 2 ? ":2" : ":3"));
  }
  assert.equal(bench.session.over?.code, "elsewhere");
  assert.equal(sendings, SENDINGS_MAX + 1);
  assert.equal(waits.findIndex((wait, at) => at > 0 && wait > 0), SENDINGS_AT_ONCE + 1);
});

test("other nodes give no sign of life", () => {
  const bench = new Bench();
  bench.fail();
  for (let attempt = 0; attempt < 100 && bench.now < LEASE_MS && !bench.session.over; attempt++) {
    bench.now = Math.min(LEASE_MS, Math.max(bench.now, bench.session.pollTimeout()));
    bench.session.handleTimeout(bench.now);
    let isDue = false;
    for (let event = bench.session.pollEvent(); event; event = bench.session.pollEvent()) isDue ||= event.type === "connect";
    if (isDue) bench.open(elsewhere(""));
  }
  assert.equal(bench.session.over?.code, "lease-over");
});

/** Nodes of one platform: one at the known address, others at places. */
class SmallNodes {
  readonly nodes = new Map<string | undefined, SmallNode>();
  readonly tried: (string | undefined)[] = [];

  readonly transport: Connect = (events, place) => {
    this.tried.push(place);
    const node = this.nodes.get(place);
    if (node) return node.transport(events);
    queueMicrotask(() => events.onClose("nobody is there"));
    return { send: () => undefined, close: () => undefined };
  };

  at(place?: string): SmallNode {
    const node = this.nodes.get(place) ?? new SmallNode();
    this.nodes.set(place, node);
    return node;
  }

  connect(options: ConnectOptions = {}): Promise<Platform> {
    this.at();
    return connect("ws://node.example", { transport: this.transport, ...options });
  }
}

const types = (node: SmallNode): readonly string[] => node.heard.map(({ type }) => type).filter((type) => type !== "ack");

test("session begins at its first agent's node", async () => {
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("bob", ":2");
  nodes.at(":2").agentsElsewhere.set("bob", ":3");
  nodes.at(":3").states.set("bob", { code: "ts:bob", state: Buffer.from("AQ==", "base64").toString("base64") });
  const platform = await nodes.connect();
  const news: unknown[] = [];
  platform.onConnection((isConnected) => news.push(isConnected));
  const making = platform.create("bob", () => undefined, { code: "ts:bob" });
  const names = [platform.name];
  const bob = await making;
  names.push(platform.name);
  assert.deepEqual([nodes.tried, names, news, platform.isConnected], [[undefined, ":2", ":3"], ["home", "home"], [], true]);
  assert.equal(bob.restored?.code, "ts:bob");
  assert.deepEqual(platform.agents, [bob]);
  for (const place of [undefined, ":2"]) {
    await nodes.at(place).next("bye");
    assert.deepEqual(types(nodes.at(place)), ["hello", "open", "create", "keep", "bye"]);
  }
  assert.deepEqual(nodes.at(":3").of("hello").map(({ follows, resume }) => [follows, resume]), [[true, null]]);
  const amy = await platform.create("amy");
  assert.deepEqual(platform.agents, [bob, amy], "further agents are at the same node");
  nodes.at().sessionsElsewhere = ":3";
  nodes.at(":3").cut();
  bob.send({ performative: "inform", receivers: "amy" });
  await nodes.at(":3").next("message");
  assert.equal(nodes.tried.at(-1), ":3");
  await platform.close();
  assert.equal((await platform.closed).code, "bye");
  assert.equal(platform.isConnected, false);
});

test("session with agents follows its node", async () => {
  const nodes = new SmallNodes();
  const platform = await nodes.connect();
  const bob = await platform.create("bob");
  // The node moves to its own place; another answers at the known address.
  nodes.nodes.set(":2", nodes.at());
  nodes.nodes.set(undefined, new SmallNode());
  nodes.at().sessionsElsewhere = ":2";
  nodes.at(":2").cut();
  bob.send({ performative: "inform", receivers: "amy" });
  await nodes.at(":2").next("message");
  assert.deepEqual(nodes.tried, [undefined, undefined, ":2"]);
  assert.equal(nodes.at(":2").of("hello")[1]?.resume?.session, "s1");
  assert.deepEqual(platform.agents, [bob]);
  await platform.close();
});

test("simultaneous agents lead to one place", { timeout: 30_000 }, async () => {
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("bob", ":2").set("amy", ":3");
  nodes.at(":2");
  nodes.at(":3");
  const platform = await nodes.connect();
  const made = await Promise.all(["bob", "amy"].map((name) => platform.create(name)));
  assert.deepEqual(platform.agents.map(({ name }) => name).toSorted(), ["amy", "bob"]);
  assert.equal(made.length, 2);
  assert.equal(nodes.tried.length, 2, "only one create was redirected");
  await platform.close();
});

test("redirected agent moves no others", async () => {
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("amy", ":2");
  const platform = await nodes.connect();
  const bob = await platform.create("bob");
  await assert.rejects(platform.create("amy"), { name: "RefusedError", code: "elsewhere" });
  assert.deepEqual([platform.agents, nodes.tried, bob.signal.aborted], [[bob], [undefined], false]);
  await platform.close();
});

test("handed-over agent continues from its save", async () => {
  const nodes = new SmallNodes();
  const platform = await nodes.connect();
  const lives: string[] = [];
  const bob = await platform.create("bob", (agent) => void lives.push(agent.restored?.state ? "again" : "first"), { code: "ts:bob" });
  nodes.at().agentsElsewhere.set("bob", ":2");
  nodes.at(":2").states.set("bob", { code: "ts:bob", state: "AQ==" });
  nodes.at().number({ type: "ended", agent: 0, reason: "it goes on at another node" });
  assert.equal(await bob.ended, "it goes on at another node");
  assert.throws(() => bob.send({ performative: "inform", receivers: "amy" }), { name: "EndedError" });
  const again = await bob.successor;
  assert.ok(again && again !== bob && again.name === "bob");
  assert.deepEqual([lives, platform.agents, nodes.tried], [["first", "again"], [again], [undefined, ":2"]]);
  again.send({ performative: "inform", receivers: "amy" });
  await nodes.at(":2").next("message");
  await platform.close();
});

test("successor of a class needs a factory and no neighbours", async () => {
  class Bob extends Agent {}
  const nodes = new SmallNodes();
  const platform = await nodes.connect();
  const hand = async (agent: Agent): Promise<Promise<Agent> | undefined> => {
    nodes.at().number({ type: "ended", agent: 0, reason: "it goes on at another node" });
    await agent.ended;
    return agent.successor;
  };
  const lone = await platform.create("bob", new Bob(), { code: "ts:bob" });
  assert.equal(await hand(lone), undefined);
  const bob = await platform.create("bob", new Bob(), { code: "ts:bob", again: () => new Bob() });
  assert.ok((await hand(bob)) instanceof Bob, "created here if no other node has the agent");
  const [second] = platform.agents;
  const amy = await platform.create("amy");
  nodes.at().agentsElsewhere.set("bob", ":2");
  assert.ok(second);
  await assert.rejects(hand(second) as Promise<unknown>, { name: "RefusedError", code: "elsewhere" });
  assert.deepEqual(platform.agents, [amy]);
  await platform.close();
});

test("unreachable places leave the agent where it is", { timeout: 30_000 }, async () => {
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("bob", ":2");
  const platform = await nodes.connect();
  const bob = await platform.create("bob");
  assert.deepEqual([nodes.tried, bob.name], [[undefined, ":2", undefined, ":2", undefined, undefined], "bob"]);
  assert.deepEqual(nodes.at().of("hello").map(({ follows = false }) => follows), [true, true, true, false]);
  nodes.at().cut();
  await nodes.at().next("hello", 4);
  assert.equal(nodes.at().of("hello")[4]?.follows, true, "the session is still followed");
  await platform.close();
});

test("redirections are limited, leaving stops them", { timeout: 60_000 }, async () => {
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("bob", "");
  const platform = await nodes.connect();
  const begin = performance.now();
  const bob = await platform.create("bob");
  assert.equal(nodes.at().of("hello").length, SENDINGS_MAX + 2);
  assert.ok(performance.now() - begin > 5000, "the client waits between redirections");
  await bob.end();
  await platform.close();

  const leaving = await nodes.connect();
  const creating = assert.rejects(leaving.create("bob"), { name: "RefusedError", code: "elsewhere" });
  await pause(50);
  const connections = nodes.at().connections;
  await leaving.close();
  await creating;
  assert.equal(nodes.at().connections, connections);
});

test("certificate is proven at the node's place", async () => {
  const keys = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("bob", ":2");
  nodes.at().challenge = nodes.at(":2").challenge = "1234";
  const platform = await nodes.connect({ certificate: "PEM", key: keys.privateKey });
  await platform.create("bob");
  for (const [place, name] of [[undefined, "node.example"], [":2", "node.example:2"]] as const) {
    const said = new TextEncoder().encode(`whimbrel session\n${name}\n1234`);
    const signature = Buffer.from(nodes.at(place).of("proof")[0]?.signature ?? "", "base64");
    assert.ok(await crypto.subtle.verify("Ed25519", keys.publicKey, signature, said), name);
  }
  await platform.close();
});

test("client without follows reports the redirection", async () => {
  const nodes = new SmallNodes();
  nodes.at().agentsElsewhere.set("bob", ":2");
  const platform = await nodes.connect({ follows: false });
  await platform.create("bob");
  assert.deepEqual([nodes.tried, nodes.at().of("hello")[0]?.follows], [[undefined], undefined]);
  await platform.close();
});
