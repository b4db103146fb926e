/** Initiators of FIPA's interaction protocols. Each is a function, so that bundles contain only what they use. */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import { compareValues } from "../acl/order.js";
import { field, map, term, textOf, type Value } from "../acl/value.js";
import type { Agent } from "../agents/agent.js";
import { DeadlineError } from "../agents/errors.js";
import { Talk, type TalkOptions } from "./conversations.js";
import { PROTOCOL_ANSWER_MS } from "./limits.js";
import type { Protocol } from "./machine.js";
import { BROKERING, CONTRACT_NET, ITERATED_CONTRACT_NET, PROPOSE, QUERY, RECRUITING, REQUEST, REQUEST_WHEN, SUBSCRIBE } from "./tables.js";

/** Options of conversations that wait for an answer. */
export interface AnswerOptions extends TalkOptions {
  /** Maximum time for the answer; 10 s by default. */
  readonly deadlineMs?: number;
}

/** Asks one agent by a protocol, and waits for its result: as long as for its answer, by default. @internal */
export async function ask(agent: Agent, protocol: Protocol, to: AidLike, performative: string, content: Value, options: AnswerOptions, resultMs?: number): Promise<Message> {
  const { deadlineMs = PROTOCOL_ANSWER_MS } = options;
  const talk = new Talk(agent, protocol, to, options);
  try {
    const [other = ""] = talk.others;
    talk.say(performative, content, { deadlineMs });
    // The deadline of the machine is a millisecond earlier.
    await talk.until(() => talk.isOver, resultMs ?? deadlineMs + 1);
    if (!talk.isOver) throw new WhimbrelError(`${other} agreed, and did not deliver in time: cancelled`);
    const error = talk.error(other);
    const answer = talk.last(other);
    if (error || !answer) throw error ?? new WhimbrelError(`${other} did not answer`);
    return answer;
  } finally {
    talk.close();
  }
}

/** FIPA request: asks an agent to do something, and waits for the `inform` with the result. */
export const request = (agent: Agent, to: AidLike, action: Value, options: AnswerOptions = {}): Promise<Message> => ask(agent, REQUEST, to, "request", action, options);

/** FIPA query: asks whether a proposition is true. */
export const queryIf = (agent: Agent, to: AidLike, proposition: Value, options: AnswerOptions = {}): Promise<Message> => ask(agent, QUERY, to, "query-if", proposition, options);

/** FIPA query: asks for what matches a description. */
export const queryRef = (agent: Agent, to: AidLike, description: Value, options: AnswerOptions = {}): Promise<Message> => ask(agent, QUERY, to, "query-ref", description, options);

/** A question for agents that a broker or a recruiter finds. */
export interface ProxyQuestion {
  /** Service of the agents. */
  readonly service: string;
  /** `request` by default. */
  readonly performative?: "request" | "query-if" | "query-ref";
  readonly content: Value;
  /** Maximum number of agents. */
  readonly max?: number;
}

/** Answer of an agent that a broker or a recruiter found. */
export interface ProxyAnswer {
  readonly agent: Aid;
  readonly content: Value;
}

const proxied = ({ service, performative = "request", content, max }: ProxyQuestion, more: Readonly<Record<string, Value>> = {}): Value => map({ service, performative, content, max: max ?? null, ...more });

/** FIPA brokering: has a broker ask agents that it finds. Returns their answers. */
export async function broker(agent: Agent, to: AidLike, question: ProxyQuestion, options: AnswerOptions = {}): Promise<ProxyAnswer[]> {
  const { content } = await ask(agent, BROKERING, to, "proxy", proxied(question), options);
  return listOf(content).map((one) => ({ agent: Aid.of(textOf(field(one, "agent")) ?? ""), content: field(one, "content") ?? null }));
}

/** FIPA recruiting: has a recruiter pass a question on to agents that it finds. They answer this agent directly. */
export async function recruit(agent: Agent, to: AidLike, question: ProxyQuestion, options: AnswerOptions = {}): Promise<ProxyAnswer[]> {
  const { performative = "request" } = question;
  const talk = new Talk(agent, performative === "request" ? REQUEST : QUERY, [], options);
  const replyWith = talk.expect(performative);
  try {
    const { content } = await ask(agent, RECRUITING, to, "proxy", proxied(question, { conversation: talk.conversationId, reply_with: replyWith }), options);
    talk.others = listOf(content).map((one) => talk.add(Aid.of(textOf(one) ?? "")));
    await talk.until(() => talk.isOver, options.deadlineMs ?? PROTOCOL_ANSWER_MS);
    const answers = talk.among("done").map((other) => ({ agent: talk.aid(other), content: talk.last(other)?.content ?? null }));
    if (answers.length > 0) return answers;
    const errors = talk.others.map((other) => talk.error(other));
    throw errors.find((error) => error !== undefined) ?? new DeadlineError("no recruited agent answered in time");
  } finally {
    talk.leave();
  }
}

const listOf = (content: Value): readonly Value[] => (Array.isArray(content) ? (content as readonly Value[]) : []);

/** FIPA request-when: asks for an action as soon as a condition holds. Waits for the result, without a limit. */
export const requestWhen = (agent: Agent, to: AidLike, action: Value, condition: Value, options: AnswerOptions = {}): Promise<Message> =>
  ask(agent, REQUEST_WHEN, to, "request-when", term("when", action, condition), options, Infinity);

/** Answer to a proposal. */
export interface Decision {
  readonly accepted: boolean;
  readonly message: Message;
}

/** FIPA propose: proposes to do something, and waits for the decision of the other agent. */
export async function propose(agent: Agent, to: AidLike, action: Value, options: AnswerOptions = {}): Promise<Decision> {
  const talk = new Talk(agent, PROPOSE, to, options);
  try {
    const [other = ""] = talk.others;
    talk.say("propose", action, { deadlineMs: options.deadlineMs ?? PROTOCOL_ANSWER_MS });
    await talk.until(() => talk.isOver);
    const message = talk.last(other);
    const state = talk.state(other);
    if (!message || (state !== "accepted" && state !== "rejected")) throw talk.error(other) ?? new WhimbrelError(`${other} did not answer`);
    return { accepted: state === "accepted", message };
  } finally {
    talk.close();
  }
}

/** A proposal in a contract net. */
export interface Bid {
  readonly agent: Aid;
  readonly content: Value;
  readonly message: Message;
}

/** Options of a contract net. */
export interface ContractNetOptions extends TalkOptions {
  readonly task: Value;
  /** Agents that are asked for proposals. */
  readonly to: readonly AidLike[];
  /** Maximum time to wait for proposals of a round. */
  readonly deadlineMs: number;
  /** Selects the accepted proposals; the least one by default. */
  readonly select?: (bids: readonly Bid[]) => readonly Bid[] | Promise<readonly Bid[]>;
  /** Maximum time to wait for results; 10 s by default. */
  readonly resultMs?: number;
}

/** Outcome of an accepted proposal: its result, or an error. */
export interface Award {
  readonly bid: Bid;
  readonly result?: Message;
  readonly error?: WhimbrelError;
}

/** Result of a contract net. */
export interface ContractNetResult {
  readonly awards: readonly Award[];
  /** Proposals of the last round. */
  readonly bids: readonly Bid[];
  /** States of the conversations, by names of the agents. */
  readonly ends: ReadonlyMap<string, string>;
}

/** FIPA contract net: calls for proposals, accepts some of those that come in time, and waits for the results. */
export function contractNet(agent: Agent, options: ContractNetOptions): Promise<ContractNetResult> {
  return net(agent, CONTRACT_NET, options);
}

/** Options of an iterated contract net. */
export interface IteratedOptions extends ContractNetOptions {
  /** Returns the task for another round, or undefined to decide. By default there are two rounds. */
  readonly again?: (bids: readonly Bid[], round: number) => Value | undefined | Promise<Value | undefined>;
}

/** FIPA iterated contract net: as {@link contractNet}, in rounds, so that participants improve their proposals. */
export function iteratedContractNet(agent: Agent, options: IteratedOptions): Promise<ContractNetResult> {
  const { again = (_bids: readonly Bid[], round: number) => (round === 1 ? options.task : undefined) } = options;
  return net(agent, ITERATED_CONTRACT_NET, options, again);
}

async function net(agent: Agent, protocol: Protocol, options: ContractNetOptions, again?: IteratedOptions["again"]): Promise<ContractNetResult> {
  const { task, to, deadlineMs, select = least, resultMs = PROTOCOL_ANSWER_MS } = options;
  const talk = new Talk(agent, protocol, to, options);
  try {
    let called = task;
    let bids = await callFor(talk, called, talk.others, deadlineMs);
    for (let round = 1; again && bids.length > 0; round += 1) {
      const next = await again(bids, round);
      if (next === undefined) break;
      called = next;
      bids = await callFor(talk, called, talk.among("proposed"), deadlineMs);
    }
    const accepted = new Set(bids.length > 0 ? await select(bids) : []);
    for (const bid of bids) {
      const other = nameOf(talk, bid.agent);
      if (talk.state(other) !== "proposed") continue;
      if (accepted.has(bid)) talk.say("accept-proposal", called, { to: [other], deadlineMs: resultMs });
      else talk.say("reject-proposal", called, { to: [other] });
    }
    await talk.until(() => talk.among("accepted").length === 0, resultMs + 1000);
    const awards = [...accepted].map((bid): Award => {
      const other = nameOf(talk, bid.agent);
      const [error, result] = [talk.error(other), talk.last(other)];
      return error || !result ? { bid, error: error ?? new WhimbrelError(`${other} did not deliver`) } : { bid, result };
    });
    return { awards, bids, ends: new Map(talk.others.map((other) => [other, talk.state(other)])) };
  } finally {
    talk.close();
  }
}

const nameOf = (talk: Talk, agent: Aid): string => talk.others.find((other) => talk.aid(other) === agent) ?? String(agent);

const least = (bids: readonly Bid[]): readonly Bid[] => [...bids].sort((one, other) => compareValues(one.content, other.content)).slice(0, 1);

async function callFor(talk: Talk, task: Value, to: readonly string[], deadlineMs: number): Promise<Bid[]> {
  talk.say("cfp", task, { to, deadlineMs });
  await talk.until(() => talk.among("called").length === 0, deadlineMs + 1000);
  return talk.among("proposed").flatMap((other) => {
    const message = talk.last(other);
    return message ? [{ agent: talk.aid(other), content: message.content, message }] : [];
  });
}

/** A subscription: news until it is cancelled, or the other agent fails. */
export interface Feed extends AsyncIterable<Message> {
  /** Cancels the subscription. Resolves when the other agent has confirmed it. */
  cancel(): Promise<void>;
}

/**
 * FIPA subscribe: subscribes to news of an agent. Iterate over the result.
 *
 * @throws If the other agent does not agree.
 */
export async function subscribe(agent: Agent, to: AidLike, topic: Value, options: AnswerOptions = {}): Promise<Feed> {
  const talk = new Talk(agent, SUBSCRIBE, to, options);
  const [other = ""] = talk.others;
  const news: Message[] = [];
  talk.onHeard = (_other, message) => {
    if (message.performative === "inform" && talk.state(other) === "active") news.push(message);
  };
  talk.say("subscribe", topic, { deadlineMs: options.deadlineMs ?? PROTOCOL_ANSWER_MS });
  await talk.until(() => talk.state(other) !== "subscribed");
  if (talk.state(other) !== "active") {
    talk.close();
    throw talk.error(other) ?? new WhimbrelError(`${other} did not agree`);
  }
  let isCancelled = false;
  async function* read(): AsyncGenerator<Message> {
    for (;;) {
      await talk.until(() => news.length > 0 || talk.isOver || isCancelled);
      const next = news.shift();
      if (next) yield next;
      else if (isCancelled) return;
      else throw talk.error(other) ?? new WhimbrelError(`${other} ended the subscription`);
    }
  }
  return {
    [Symbol.asyncIterator]: read,
    cancel: async () => {
      isCancelled = true;
      talk.cancel();
      talk.wake();
      await talk.until(() => talk.isOver);
      talk.close();
    },
  };
}
