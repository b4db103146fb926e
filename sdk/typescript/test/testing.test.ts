/** Test of the kit for tests: virtual time, platforms in memory, expectations, and conversations as on a node. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Agent, AnswerError, atom, connect, DeadlineError, EndedError, FailureError, map, onContractNet, record, replyTo, term, type Message, type Platform, type Value } from "../src/index.js";
import { WebSocket } from "ws";
import { webSocket, type Connect } from "../src/session/transport.js";
import { ExpectationError, inVirtualTime, StuckError } from "../src/testing.js";
import { Society, TOKEN, WITHOUT_NODE } from "./society.js";

/** Greets, and counts seconds. */
class Greeter extends Agent {
  ticks = 0;

  override setup(): void {
    this.onMessage({ performative: "request" }, (message) => this.reply(message, "inform", `hello, ${String(message.content)}`));
    this.every(1000, () => this.ticks++);
  }
}

const ask = (agent: Agent, receivers: string, content: Value = null, timeoutMs?: number): Promise<Message> =>
  agent.ask({ performative: "request", receivers, content }, timeoutMs === undefined ? {} : { timeoutMs });

test("hour of timers takes no time", () =>
  inVirtualTime(async ({ platform, time, advance }) => {
    const greeter = await platform.create("ada", new Greeter());
    const late: number[] = [];
    greeter.after(1_800_500, () => void late.push(time.now));
    await advance(3_600_000);
    assert.deepEqual([greeter.ticks, late, time.now], [3600, [1_800_500], 3_600_000]);
  }));

test("timers of one moment keep their order", () =>
  inVirtualTime(async ({ platform, advance }) => {
    const order: number[] = [];
    for (let number = 0; number < 20; number++) (await platform.create(`a${number}`)).after(300, () => void order.push(number));
    await advance(299);
    assert.deepEqual(order, []);
    await advance(1);
    assert.deepEqual(order, [...Array(20).keys()]);
  }));

test("deadlines follow virtual time", () =>
  inVirtualTime(async ({ platform, time }) => {
    await platform.create("mute");
    const bob = await platform.create("bob");
    await assert.rejects(ask(bob, "mute", null, 600_000), DeadlineError);
    assert.equal(time.now, 600_000);
    assert.equal(Date.now(), Date.UTC(2025, 0, 1) + 600_000);
  }));

test("clocks are real again afterwards", async () => {
  const now = Date.now();
  await inVirtualTime(({ advance }) => advance(1e7));
  assert.ok(Math.abs(Date.now() - now) < 60_000);
  await new Promise((resolve) => setTimeout(resolve, 0));
});

test("endless wait is found", async () => {
  await assert.rejects(inVirtualTime(({ platform }) => platform.create("bob").then((bob) => bob.receive())), StuckError);
});

test("expectation shows conversation", () =>
  inVirtualTime(async ({ platform, says, recording }) => {
    await platform.create("ada", new Greeter());
    const bob = await platform.create("bob");
    await bob.ask({ performative: "request", receivers: "ada", content: "world", ontology: "manners" });
    says("ada", { performative: "inform", content: (text) => String(text).startsWith("hello"), to: "bob", ontology: "manners" });
    says("ada", { performative: "refuse", times: 0 });
    assert.throws(() => says("ada", { performative: "propose", content: map({ price: 5 }), to: "bob" }), {
      name: "ExpectationError",
      message: [
        'ada did not say propose {"price": 5} to bob',
        "The conversation, with times in seconds:",
        "      0.000  bob -> ada: request world",
        "      0.000  ada -> bob: inform hello, world",
      ].join("\n"),
    });
    assert.throws(() => says("ada", { performative: "inform", times: 2 }), ExpectationError);
    assert.equal(recording.messages().length, 2);
  }));

test("cut connection loses nothing", () =>
  inVirtualTime(async ({ platform, cut, advance }) => {
    const [bob, amy] = [await platform.create("bob"), await platform.create("amy")];
    for (let number = 0; number < 10; number++) {
      bob.send({ performative: "inform", receivers: "amy", content: BigInt(number) });
      if (number % 3 === 0) cut();
      await advance(1);
    }
    await advance(5000);
    for (let number = 0; number < 10; number++) assert.equal((await amy.receive()).content, BigInt(number));
  }));

test("lost program ends its agents after the lease", () =>
  inVirtualTime(async ({ platform, node, cut, advance }) => {
    const bob = await platform.create("bob");
    let isLost = false;
    const transport: Connect = (events) => (isLost ? { send: () => undefined, close: () => undefined } : node.transport(events));
    const program = await connect("ws://memory.invalid", { leaseMs: 5000, transport });
    const eve = await program.create("eve");
    const told = bob.ams.whenEnded("eve");
    await advance(0);
    isLost = true;
    cut();
    await advance(4000);
    assert.equal((await bob.ams.search({ name: "eve" })).length, 1);
    await advance(2000);
    assert.equal(await told, "failed: its lease is over");
    await assert.rejects(ask(bob, "eve"), FailureError);
    assert.ok(eve.signal.aborted);
  }));

test("AMS tells of ends", () =>
  inVirtualTime(async ({ platform, another, advance, recording }) => {
    const bob = await platform.create("bob");
    const program = await another();
    const eve = await program.create("eve");
    const told = [bob.ams.whenEnded("eve"), bob.ams.whenEnded("eve")];
    await advance(3_600_000);
    assert.equal(recording.messages({ directories: true }).filter(({ message }) => message.receivers[0]?.equals("bob")).length, 2);
    await eve.ams.kill("eve").catch(() => undefined);
    assert.deepEqual(await Promise.all(told), ["killed", "killed"]);
    await assert.rejects(bob.ams.whenEnded("eve"), FailureError);
  }));

// ---- Against a real node

type Story = (platform: Platform) => Promise<void>;
const quietly = async (work: Promise<unknown>): Promise<void> => {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof AnswerError || error instanceof DeadlineError || error instanceof EndedError)) throw error;
  }
};
const STORIES: Readonly<Record<string, Story>> = {
  "contract net": async (platform) => {
    for (const [name, price] of [["ada", 30n], ["rosa", 20n]] as const) {
      await platform.create(name, (agent) => void onContractNet(agent, { bid: () => price, perform: () => "painted" }));
    }
    const buyer = await platform.create("buyer");
    for (const name of ["ada", "rosa"]) {
      const offer = await buyer.ask({ performative: "cfp", receivers: name, content: "paint", protocol: "fipa-contract-net" });
      if (offer.content === 20n) await buyer.ask(replyTo(offer, "buyer", "accept-proposal"));
      else buyer.reply(offer, "reject-proposal");
    }
  },
  directory: async (platform) => {
    const [amy, bob] = [await platform.create("amy"), await platform.create("bob")];
    const changes: unknown[] = [];
    const stop = await amy.df.subscribe({ services: [{ type: "weather" }] }, (change) => void changes.push(change));
    await bob.df.register({ services: [{ type: "weather", name: "rain", properties: { price: 5n } }] });
    await quietly(bob.df.register({ services: [{ type: "weather" }] }));
    await bob.df.modify({ services: [{ type: "news", protocols: ["fipa-request"] }] });
    await amy.df.search({ services: [{ type: "news" }] });
    await bob.df.deregister();
    await quietly(bob.df.deregister());
    // The DF answers what comes after all changes.
    await amy.df.search({});
    stop();
    await amy.df.search({});
    if (changes.length !== 2) throw new Error(`${changes.length} changes`);
  },
  "malformed requests": async (platform) => {
    const bob = await platform.create("bob");
    const description = record("df-agent-description", { name: record("agent-identifier", { name: "bob" }) });
    const contents: Value[] = [
      atom("dance"),
      [term("action", atom("df"), atom("register"))],
      term("register", description, description),
      term("register", record("df-agent-description", {})),
      term("register", record("df-agent-description", { name: "eve" })),
      term("register", record("df-agent-description", { colour: "red" })),
      term("register", record("df-agent-description", { name: "bob", services: record("wrong", {}) })),
      [1, 2],
      7,
    ];
    for (const content of contents) await quietly(ask(bob, "df", content));
    for (const name of ["register", "deregister", "modify", "search", "join", "leave", "get-description", "fly"]) {
      await quietly(ask(bob, "ams", term(name)));
      await quietly(ask(bob, "ams", term(name, record("ams-agent-description", { name: "nobody" }))));
      await quietly(ask(bob, "ams", term(name, atom("group:crew"))));
    }
  },
  agents: async (platform) => {
    const [amy, bob] = [await platform.create("amy"), await platform.create("bob")];
    await bob.ams.search({ name: "?m?" }, { maxResults: 2 });
    await quietly(bob.ams.kill("amy"));
    await ask(amy, "ams", term("modify", record("ams-agent-description", { name: "amy", ownership: "bob" })));
    await bob.ams.setState("amy", "suspended");
    await quietly(bob.ams.setState("amy", "waiting"));
    await bob.ams.setState("amy", "active");
    await bob.ams.kill("amy");
    await quietly(ask(bob, "amy"));
  },
  monitors: async (platform) => {
    const [amy, bob] = [await platform.create("amy"), await platform.create("bob")];
    const end = bob.ams.whenEnded("amy");
    await bob.ams.search({ name: "bob" });
    await quietly(amy.ams.kill("amy"));
    assert.equal(await end, "killed");
    await quietly(bob.ams.whenEnded("amy"));
  },
  topics: async (platform) => {
    const [amy, bob] = [await platform.create("amy"), await platform.create("bob")];
    await bob.ams.join("topic:news");
    await bob.ams.join("group:crew");
    for (const receivers of ["topic:news", "group:crew", "any:crew"]) {
      amy.send({ performative: "inform", receivers, content: receivers });
      await bob.receive({}, { timeoutMs: 5000 });
    }
    await bob.ams.leave("group:crew");
    await quietly(bob.ams.leave("group:crew"));
    await quietly(bob.ams.join(`topic:${"\u00e9".repeat(121)}`));
    await quietly(bob.ams.join("group:"));
    await quietly(ask(amy, "any:crew"));
    await quietly(ask(amy, "nobody", map({ x: [1n, 2.5] })));
  },
};

/** Notes the messages of a connection's frames: direction, agent, and what does not differ from run to run. */
function noting(inner: Connect, notes: string[]): Connect {
  const note = (direction: string, frame: string | Uint8Array): void => {
    const { type, agent, message } = JSON.parse(typeof frame === "string" ? frame : new TextDecoder().decode(frame)) as { readonly type: string; readonly agent?: number; readonly message?: object };
    if (type === "message") notes.push(`${direction} ${agent} ${normalized(message)}`);
  };
  return (events, place) => {
    const onFrame = (frame: string | Uint8Array): void => {
      note("to", frame);
      events.onFrame(frame);
    };
    const transport = inner({ onOpen: () => events.onOpen(), onClose: (why) => events.onClose(why), onFrame }, place);
    const send = (frame: string | Uint8Array): void => {
      note("from", frame);
      transport.send(frame);
    };
    return { send, close: () => transport.close() };
  };
}

function normalized(message: unknown): string {
  const sorted = (_: string, value: unknown): unknown =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value;
  const text = JSON.stringify(message, sorted);
  return text.replace(/("(?:conversation_id|reply_with|in_reply_to)":)"[^"]+"/g, '$1"ID"').replaceAll(/@(home|whimbrel)\b/g, "@HOME").replaceAll(/"(home|whimbrel)"/g, '"HOME"');
}

/** Returns the notes of each agent and direction in their order. */
const byAgent = (notes: readonly string[]): string[] => [...notes].sort((one, other) => (one.slice(0, 6) < other.slice(0, 6) ? -1 : one.slice(0, 6) > other.slice(0, 6) ? 1 : 0));

describe("memory and node have same conversations", { skip: WITHOUT_NODE }, () => {
  let society: Society;
  before(async () => void (society = await Society.of({ fern: "// Answers nothing." })));
  after(() => society.stop());

  for (const [name, story] of Object.entries(STORIES)) {
    test(name, async () => {
      const [inMemory, onNode]: [string[], string[]] = [[], []];
      await inVirtualTime(async ({ node }) => {
        const platform = await connect("ws://memory.invalid", { transport: noting(node.transport, inMemory) });
        await story(platform);
        await platform.close();
      });
      const platform = await connect("ws://node.invalid", { token: TOKEN, transport: noting(webSocket(`ws://${society.gateway}/session`, WebSocket as never), onNode) });
      await story(platform);
      await platform.close();
      assert.deepEqual(byAgent(inMemory), byAgent(onNode));
      assert.ok(onNode.length > 4);
    });
  }
});
