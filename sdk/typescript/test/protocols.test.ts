/** Interaction protocols: the scripts of `conformance/protocols`, random orders of messages, and agents. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { Aid } from "../src/acl/aid.js";
import { replyTo, type Message } from "../src/acl/message.js";
import { atom, term, type Value } from "../src/acl/value.js";
import { Agent } from "../src/agents/agent.js";
import { QUESTIONS_MAX } from "../src/protocols/limits.js";
import {
  bidInDutchAuctions,
  bidInEnglishAuctions,
  broker,
  contractNet,
  dutchAuction,
  englishAuction,
  iteratedContractNet,
  Machine,
  propose,
  ProtocolError,
  queryIf,
  recruit,
  Refusal,
  request,
  requestWhen,
  serveBrokering,
  serveContractNet,
  serveIteratedContractNet,
  servePropose,
  serveQuery,
  serveRecruiting,
  serveRequest,
  serveRequestWhen,
  serveSubscribe,
  subscribe,
  Talk,
  REQUEST,
} from "../src/protocols.js";
import { KNOWN, ScriptReplay, scripts } from "./protocol-scripts.js";
import { tablesText } from "./protocol-tables.js";
import { repository } from "./vectors.js";

test("scripts have the same verdicts", () => {
  for (const { protocol, script } of scripts()) {
    try {
      new ScriptReplay(script, protocol).run();
    } catch (error) {
      throw new Error(script.name, { cause: error });
    }
  }
});

test("tables are those of the data", () => {
  assert.equal(readFileSync(join(repository(), "sdk/typescript/src/protocols/tables.ts"), "utf8"), tablesText());
});

test("oldest questions of a conversation are forgotten", () => {
  const machine = new Machine(KNOWN.get("fipa-subscribe")!, "participant");
  machine.receive({ performative: "subscribe" }, 0);
  for (let number = 0; number < 1000; number++) machine.send({ performative: "inform", replyWith: `${number}` }, number);
  const remembered = Array.from({ length: 1000 }, (_, number) => `${number}`).filter((id) => machine.asked(id));
  assert.deepEqual([remembered.length, remembered[0], remembered.at(-1)], [QUESTIONS_MAX, `${1000 - QUESTIONS_MAX}`, "999"]);
});

test("random orders end conversations once", () => {
  const said = fc.constantFrom("cfp", "propose", "refuse", "request", "agree", "inform", "failure", "cancel", "subscribe", "accept-proposal", "reject-proposal", "not-understood", "proxy");
  const step = fc.record({ say: said, kind: fc.nat(3), quotes: fc.option(fc.nat(5), { nil: undefined }), ms: fc.nat(50) });
  const property = fc.property(fc.constantFrom(...KNOWN.values()), fc.constantFrom("initiator" as const, "participant" as const), fc.array(step), (protocol, role, steps) => {
    const machine = new Machine(protocol, role);
    let [end, nowMs]: [string | undefined, number] = [undefined, 0];
    for (const [number, { say, kind, quotes, ms }] of steps.entries()) {
      nowMs += ms;
      const saying = { performative: say, replyWith: `${number}`, inReplyTo: quotes?.toString(), replyByMs: nowMs + 20 };
      if (kind === 0) machine.tick(nowMs);
      else if (kind === 1) try {
        machine.send(saying, nowMs);
      } catch (error) {
        assert.ok(error instanceof ProtocolError);
      }
      else machine.receive(saying, nowMs, kind === 2 ? "platform" : undefined);
      if (end !== undefined) assert.equal(machine.state, end);
      end = machine.isOver ? machine.state : undefined;
    }
  });
  fc.assert(property);
});

/** Agents in this program, whose messages arrive in a later task. */
class Hub {
  readonly agents = new Map<string, Agent>();
  readonly errors: unknown[] = [];
  readonly sent: string[] = [];

  agent(name: string): Agent {
    const agent = new Agent();
    agent.onError = (error) => void this.errors.push(error);
    const nothing = (): void => undefined;
    const aid = new Aid(name, "here");
    agent.bind({ aid, send: (message) => this.#send({ ...message, sender: aid }), ask: () => nothing, handled: nothing, end: nothing, certify: () => Promise.reject(new Error()), fetchCode: () => Promise.reject(new Error()), saver: undefined });
    this.agents.set(name, agent);
    return agent;
  }

  #undelivered(message: Message, receiver: Aid): void {
    const ams = new Aid("ams", "here");
    const content = [atom("sent"), term("undelivered", atom(String(receiver)), atom("unknown_agent"))];
    setImmediate(() => this.agents.get(message.sender.name)?.deliver(replyTo(message, ams, "failure", content), 0, 0));
  }

  #send(message: Message): void {
    for (const receiver of message.receivers) {
      this.sent.push(`${message.sender.name}>${receiver.name} ${message.performative}`);
      const to = this.agents.get(receiver.name);
      setImmediate(() => to?.deliver(message, 0, 0));
      if (!to) this.#undelivered(message, receiver);
    }
  }
}

/** Resolves when a condition holds. */
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

const reason = async (what: Promise<unknown>): Promise<string> => {
  try {
    await what;
    return "done";
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
};

test("request is performed, refused, failed or late", async () => {
  const hub = new Hub();
  const [ada, bob] = [hub.agent("ada"), hub.agent("bob")];
  let isAborted = false;
  serveRequest(bob, {
    agree: ({ message: { content } }) => {
      if (content === "fly") throw new Refusal("no wings");
    },
    perform: async ({ message: { content }, signal }) => {
      if (content === "spill") throw new Error("spilt");
      if (content === "sleep") await new Promise((resolve) => signal.addEventListener("abort", resolve));
      isAborted = signal.aborted;
      return `${content}: done`;
    },
  });
  assert.equal((await request(ada, "bob", "paint")).content, "paint: done");
  assert.equal(await reason(request(ada, "bob", "fly")), "RefuseError");
  assert.equal(await reason(request(ada, "bob", "spill")), "FailureError");
  assert.equal(await reason(request(ada, "bob", "sleep", { deadlineMs: 300 })), "WhimbrelError");
  await until(() => isAborted && hub.sent.length === 12);
  assert.deepEqual(hub.sent.slice(-2), ["ada>bob cancel", "bob>ada inform"]);
  for (const nobody of ["nobody", "nobody@here"]) assert.equal(await reason(request(ada, nobody, "paint")), "FailureError");
  assert.deepEqual(hub.errors.map(String), ["Error: spilt"]);
  assert.equal(await reason(queryIf(ada, "bob", "raining", { deadlineMs: 20 })), "DeadlineError");
});

test("conversations at a time cause no warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  const hub = new Hub();
  const [ada, bob] = [hub.agent("ada"), hub.agent("bob")];
  const { signal } = new AbortController();
  serveRequest(bob, { perform: ({ message: { content } }) => content });
  await Promise.all(Array.from({ length: 50 }, (_, number) => request(ada, "bob", BigInt(number), { signal })));
  // Warnings come in a later task.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  assert.deepEqual(warnings, []);
});

test("message that the protocol forbids is answered not-understood", async () => {
  const hub = new Hub();
  const [ada, bob] = [hub.agent("ada"), hub.agent("bob")];
  bob.onMessage({ performative: "request" }, (message) => bob.reply(message, "propose", 3));
  assert.equal(await reason(request(ada, "bob", "paint")), "ProtocolError");
  assert.deepEqual(hub.sent, ["ada>bob request", "bob>ada propose", "ada>bob not-understood"]);
  const talk = new Talk(ada, REQUEST, "bob");
  assert.throws(() => talk.say("inform"), /initiator may say request/);
});

test("contract net goes to the least proposal", async () => {
  const hub = new Hub();
  const [ivan, ada, bruno, chloe] = ["ivan", "ada", "bruno", "chloe"].map((name) => hub.agent(name)) as [Agent, Agent, Agent, Agent];
  const lost: Value[] = [];
  for (const [agent, price] of [[ada, 40], [bruno, 35], [chloe, undefined]] as const) serveContractNet(agent, { propose: () => price, perform: (task) => `${agent.name} built the ${task}`, rejected: (_task, proposal) => lost.push(proposal) });
  const { awards, bids, ends } = await contractNet(ivan, { task: "fence", to: ["ada", "bruno", "chloe", "nobody"], deadlineMs: 5000 });
  assert.deepEqual(awards.map(({ result }) => result?.content), ["bruno built the fence"]);
  assert.deepEqual([bids.length, lost], [2, [40]]);
  assert.deepEqual([...ends], [["ada", "rejected"], ["bruno", "done"], ["chloe", "refused"], ["nobody", "unreachable"]]);
});

test("iterated contract net improves proposals", async () => {
  const hub = new Hub();
  const [ivan, bruno, chloe] = ["ivan", "bruno", "chloe"].map((name) => hub.agent(name)) as [Agent, Agent, Agent];
  for (const [agent, first] of [[bruno, 50], [chloe, 45]] as const) {
    let price = first + 10;
    serveIteratedContractNet(agent, { propose: () => (price -= 10), perform: () => "built" });
  }
  const { awards } = await iteratedContractNet(ivan, { task: "fence", to: ["bruno", "chloe"], deadlineMs: 5000 });
  assert.deepEqual(awards.map(({ bid }) => [bid.agent.name, bid.content]), [["chloe", 35]]);
});

test("query, propose and request-when are answered", async () => {
  const hub = new Hub();
  const [ada, bob] = [hub.agent("ada"), hub.agent("bob")];
  let dry = (): void => undefined;
  serveQuery(bob, { perform: ({ message: { content } }) => content === "raining" });
  servePropose(bob, (action) => action === "tea");
  serveRequestWhen(bob, { when: () => new Promise<void>((resolve) => (dry = resolve)), perform: (action) => `${action}: done` });
  assert.equal((await queryIf(ada, "bob", "raining")).content, true);
  assert.deepEqual([(await propose(ada, "bob", "tea")).accepted, (await propose(ada, "bob", "rum")).accepted], [true, false]);
  const watered = requestWhen(ada, "bob", "water", "dry");
  await until(() => hub.sent.at(-1) === "bob>ada agree");
  dry();
  assert.equal((await watered).content, "water: done");
});

test("subscription gets news until it is cancelled", async () => {
  const hub = new Hub();
  const [ada, press] = [hub.agent("ada"), hub.agent("press")];
  const publisher = serveSubscribe(press, (topic) => {
    if (topic === "gossip") throw new Refusal("never");
  });
  assert.equal(await reason(subscribe(ada, "press", "gossip")), "RefuseError");
  const feed = await subscribe(ada, "press", "sport");
  publisher.announce("one");
  publisher.announce("one");
  const heard: Value[] = [];
  for await (const { content } of feed) {
    heard.push(content);
    if (heard.length === 2) await feed.cancel();
  }
  assert.deepEqual([heard, publisher.size], [["one", "one"], 0]);
});

test("broker returns answers, and recruited agents answer themselves", async () => {
  const hub = new Hub();
  const [ada, bob, chloe] = ["ada", "bob", "chloe"].map((name) => hub.agent(name)) as [Agent, Agent, Agent];
  const find = (service: string): string[] => (service === "shop" ? ["chloe"] : []);
  serveBrokering(bob, { find });
  serveRecruiting(bob, { find });
  serveRequest(chloe, { perform: ({ message: { content } }) => `3 for ${content}` });
  const question = { service: "shop", content: "tea" };
  for (const answers of [await broker(ada, "bob", question), await recruit(ada, "bob", question)]) assert.deepEqual(answers.map(({ agent, content }) => [agent.name, content]), [["chloe", "3 for tea"]]);
  assert.ok(hub.sent.includes("chloe>ada inform"), "recruited agents answer the initiator");
  const said = hub.sent.slice(0, hub.sent.indexOf("ada>bob proxy", 1)).filter((one) => one.startsWith("bob>ada"));
  assert.deepEqual(said, ["bob>ada agree", "bob>ada inform", "bob>ada inform"], "a broker names the agents, then answers");
  assert.equal(await reason(recruit(ada, "bob", { service: "bank", content: "tea" })), "FailureError");
});

test("auctions go to the highest and to the first bid", async () => {
  const hub = new Hub();
  const [sally, bruno, chloe] = ["sally", "bruno", "chloe"].map((name) => hub.agent(name)) as [Agent, Agent, Agent];
  const over: unknown[] = [];
  for (const [agent, most] of [[bruno, 22], [chloe, 31]] as const) {
    const bidder = { bid: (_goods: Value, price: number) => price <= most, over: (_goods: Value, price: number | undefined) => over.push([agent.name, price]) };
    bidInEnglishAuctions(agent, bidder);
    bidInDutchAuctions(agent, bidder);
  }
  const common = { goods: "vase", to: ["bruno", "chloe"], roundMs: 5000 };
  const english = await englishAuction(sally, { ...common, from: 10, step: 5 });
  assert.deepEqual([english?.buyer.name, english?.price], ["chloe", 25]);
  const dutch = await dutchAuction(sally, { ...common, from: 50, step: 10, least: 5 });
  assert.deepEqual([dutch?.buyer.name, dutch?.price], ["chloe", 30]);
  await until(() => over.length === 4);
  assert.deepEqual(over.sort(), [["bruno", undefined], ["bruno", undefined], ["chloe", 25], ["chloe", 30]]);
});

test("auctioneer takes the bid that came first", async () => {
  for (const auction of [englishAuction, dutchAuction]) {
    const hub = new Hub();
    const [sally, bruno, chloe] = ["sally", "bruno", "chloe"].map((name) => hub.agent(name)) as [Agent, Agent, Agent];
    const isTaken = (_goods: Value, price: number): boolean => price === 10;
    const slow = async (goods: Value, price: number): Promise<boolean> => {
      await until(() => hub.sent.some((one) => one === "chloe>sally propose"));
      return isTaken(goods, price);
    };
    for (const [agent, bid] of [[bruno, slow], [chloe, isTaken]] as const) {
      bidInEnglishAuctions(agent, { bid });
      bidInDutchAuctions(agent, { bid });
    }
    const sale = await auction(sally, { goods: "vase", to: ["bruno", "chloe"], roundMs: 5000, from: 10, step: 5, least: 10 });
    assert.deepEqual([sale?.buyer.name, sale?.price], ["chloe", 10]);
  }
});
