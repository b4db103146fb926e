/** Participants of FIPA's interaction protocols. Each is a function, so that bundles contain only what they use. */
import { Aid, type AidLike } from "../acl/aid.js";
import { field, isTerm, map, textOf, type Value } from "../acl/value.js";
import type { Agent } from "../agents/agent.js";
import { Refusal } from "../agents/protocols.js";
import { conversationsOf, type Exchange } from "./conversations.js";
import { ask } from "./initiators.js";
import { PROTOCOL_ANSWER_MS } from "./limits.js";
import type { Protocol } from "./machine.js";
import { BROKERING, CONTRACT_NET, ITERATED_CONTRACT_NET, PROPOSE, QUERY, RECRUITING, REQUEST, REQUEST_WHEN, SUBSCRIBE } from "./tables.js";

/** A value, or a promise of one. */
export type Eventually<T> = T | Promise<T>;

/**
 * Work for others. A {@link Refusal} that it throws is answered `refuse`, until the agent has agreed; another error is
 * answered `failure`.
 */
export interface Worker {
  /** Decides before the work begins. With it, `agree` is sent first. */
  readonly agree?: (exchange: Exchange) => unknown;
  /** Returns the result. `exchange.signal` tells that the other agent cancels. */
  readonly perform: (exchange: Exchange) => Eventually<Value | undefined>;
}

function work(agent: Agent, protocol: Protocol, { agree, perform }: Worker): () => void {
  return conversationsOf(agent).respond(protocol, async (exchange) => {
    if (agree) {
      await agree(exchange);
      exchange.say("agree", exchange.message.content);
    }
    exchange.say("inform", (await perform(exchange)) ?? null);
  });
}

/** FIPA request: does what others ask for. */
export const serveRequest = (agent: Agent, worker: Worker): (() => void) => work(agent, REQUEST, worker);

/** FIPA query: answers questions. `exchange.message.performative` is `query-if` or `query-ref`. */
export const serveQuery = (agent: Agent, worker: Worker): (() => void) => work(agent, QUERY, worker);

/** Work that waits for a condition. */
export interface ConditionalWorker {
  readonly agree?: (exchange: Exchange) => unknown;
  /** Resolves when the condition holds. */
  readonly when: (condition: Value, exchange: Exchange) => unknown;
  readonly perform: (action: Value, exchange: Exchange) => Eventually<Value | undefined>;
}

/** FIPA request-when: does what others ask for, as soon as a condition holds. */
export function serveRequestWhen(agent: Agent, { agree, when, perform }: ConditionalWorker): () => void {
  return conversationsOf(agent).respond(REQUEST_WHEN, async (exchange) => {
    const { content } = exchange.message;
    const [action = null, condition = null] = isTerm(content, "when") ? content.args : [content];
    await agree?.(exchange);
    exchange.say("agree", content);
    await when(condition, exchange);
    exchange.say("inform", (await perform(action, exchange)) ?? null);
  });
}

/** Bidder of a contract net. */
export interface ContractBidder {
  /** Makes a proposal; undefined, or a {@link Refusal}, to refuse. */
  readonly propose: (task: Value, initiator: Aid) => Eventually<Value | undefined>;
  /** Does the task whose proposal was accepted, and returns the result. */
  readonly perform: (task: Value, proposal: Value, exchange: Exchange) => Eventually<Value | undefined>;
  readonly rejected?: (task: Value, proposal: Value) => unknown;
}

function bid(agent: Agent, protocol: Protocol, { propose, perform, rejected }: ContractBidder): () => void {
  return conversationsOf(agent).respond(protocol, async (exchange) => {
    let [task, proposal]: [Value, Value] = [null, null];
    while (exchange.state === "called") {
      task = exchange.message.content;
      const made = await propose(task, exchange.from);
      if (made === undefined) return exchange.say("refuse", task);
      proposal = made;
      exchange.say("propose", proposal);
      await exchange.next();
    }
    if (exchange.state === "accepted") exchange.say("inform", (await perform(task, proposal, exchange)) ?? null);
    else if (exchange.state === "rejected") await rejected?.(task, proposal);
  });
}

/** FIPA contract net: makes proposals, and does what is awarded. */
export const serveContractNet = (agent: Agent, bidder: ContractBidder): (() => void) => bid(agent, CONTRACT_NET, bidder);

/** FIPA iterated contract net: makes a proposal in each round, and does what is awarded. */
export const serveIteratedContractNet = (agent: Agent, bidder: ContractBidder): (() => void) => bid(agent, ITERATED_CONTRACT_NET, bidder);

/** FIPA propose: accepts what others propose to do, or rejects it by false or a {@link Refusal}. */
export function servePropose(agent: Agent, accept: (action: Value, initiator: Aid) => Eventually<boolean>): () => void {
  return conversationsOf(agent).respond(PROPOSE, async (exchange) => {
    const { content } = exchange.message;
    exchange.say((await accept(content, exchange.from)) ? "accept-proposal" : "reject-proposal", content);
  });
}

/** Publisher of news. */
export interface Publisher {
  /** Informs subscribers of a topic, or all. */
  announce(news: Value, isFor?: (topic: Value) => boolean): void;
  /** Number of subscribers. */
  readonly size: number;
  /** Takes no further subscriptions, and ends all. */
  stop(): void;
}

/** FIPA subscribe: takes subscriptions. `agree` refuses one by a {@link Refusal}. */
export function serveSubscribe(agent: Agent, agree: (topic: Value, subscriber: Aid) => unknown = () => undefined): Publisher {
  const subscribers = new Map<Exchange, Value>();
  const stop = conversationsOf(agent).respond(SUBSCRIBE, async (exchange) => {
    const topic = exchange.message.content;
    await agree(topic, exchange.from);
    exchange.say("agree", topic);
    if (exchange.machine.isOver) return;
    subscribers.set(exchange, topic);
    while (await exchange.next());
    subscribers.delete(exchange);
  });
  return {
    announce: (news, isFor = () => true) => subscribers.forEach((topic, exchange) => void (isFor(topic) && exchange.say("inform", news))),
    get size() {
      return subscribers.size;
    },
    stop: () => {
      stop();
      subscribers.forEach((_topic, exchange) => exchange.say("failure", "no more news"));
    },
  };
}

/** Finds agents that offer a service. The DF knows them by default. */
export type Finder = (service: string, most: number | undefined, initiator: Aid) => Eventually<readonly AidLike[]>;

const inDf =
  (agent: Agent): Finder =>
  async (service, most) =>
    (await agent.df.search({ services: [{ type: service }] }, most === undefined ? {} : { maxResults: most })).map((entry) => entry.name);

/** Agrees to a proxy. Returns the question, and the agents that it is for. */
async function found(exchange: Exchange, find: Finder): Promise<{ readonly performative: string; readonly protocol: Protocol; readonly content: Value; readonly agents: readonly Aid[] }> {
  const given = exchange.message.content;
  const [service, performative = ""] = [textOf(field(given, "service")), textOf(field(given, "performative"))];
  const protocol = PASSED_ON[performative];
  if (service === undefined || !protocol) throw new Refusal(`expected a service, and one of ${Object.keys(PASSED_ON).join(", ")}`);
  exchange.say("agree", given);
  const most = field(given, "max");
  const agents = await find(service, typeof most === "number" || typeof most === "bigint" ? Number(most) : undefined, exchange.from);
  if (agents.length === 0) throw new Refusal(`no agent offers ${service}`);
  return { performative, protocol, content: field(given, "content") ?? null, agents: agents.map((one) => Aid.of(one)) };
}

/** Protocols of the questions that may be passed on. */
const PASSED_ON: Readonly<Record<string, Protocol>> = { request: REQUEST, "query-if": QUERY, "query-ref": QUERY };

/** FIPA brokering: puts questions to agents that offer a service, and returns their answers. */
export function serveBrokering(agent: Agent, { find = inDf(agent), deadlineMs = PROTOCOL_ANSWER_MS }: { readonly find?: Finder; readonly deadlineMs?: number } = {}): () => void {
  return conversationsOf(agent).respond(BROKERING, async (exchange) => {
    const { performative, protocol, content, agents } = await found(exchange, find);
    exchange.say("inform", agents.map(String));
    const answers = await Promise.allSettled(agents.map((one) => ask(agent, protocol, one, performative, content, { deadlineMs })));
    const given = answers.flatMap((answer) => (answer.status === "fulfilled" ? [map({ agent: `${answer.value.sender}`, content: answer.value.content })] : []));
    if (given.length === 0) throw new Refusal("nobody answered");
    exchange.say("inform", given);
  });
}

/** FIPA recruiting: passes questions on to agents that offer a service. They answer the initiator themselves. */
export function serveRecruiting(agent: Agent, { find = inDf(agent) }: { readonly find?: Finder } = {}): () => void {
  return conversationsOf(agent).respond(RECRUITING, async (exchange) => {
    const { content: given, replyTo = [exchange.from] } = exchange.message;
    const { performative, protocol, content, agents } = await found(exchange, find);
    const conversationId = textOf(field(given, "conversation"));
    const replyWith = textOf(field(given, "reply_with"));
    agent.send({ performative, receivers: agents, content, protocol: protocol.name, conversationId, replyWith, replyTo });
    exchange.say("inform", agents.map(String));
  });
}
