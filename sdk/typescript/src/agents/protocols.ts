/**
 * FIPA's interaction protocols: both roles of request, query, contract net and subscribe. Each is a function of an agent, so
 * that a program bundles only what it uses.
 */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Draft, Message } from "../acl/message.js";
import { matches, type Template } from "../acl/template.js";
import { isTerm, type Value } from "../acl/value.js";
import { newId, type Agent } from "./agent.js";
import { cancel } from "./cancel.js";
import { agentOf } from "./directory.js";
import { DeadlineError, EndedError, errorOf, lateFrom, type AnswerError } from "./errors.js";
import { ALIVE_LOOK_MS, ANSWER_MS, RECEIVERS_MAX } from "./limits.js";
import type { Inbox, Waiting } from "./mailbox.js";

/** Thrown by the responder of a protocol to answer `refuse`. Anything else that is thrown is answered `failure`. */
export class Refusal extends WhimbrelError {
  override readonly name = "Refusal";

  constructor(
    /** What the other hears: the reason. */
    readonly content: Value,
  ) {
    super("refused");
  }
}

// ---- Request and query

/** What is asked for, besides what the protocol says itself. */
export interface Question extends Omit<Draft, "performative" | "receivers" | "content" | "protocol">, Waiting {}

function ask(agent: Agent, performative: string, protocol: string, to: AidLike, content: Value, question: Question): Promise<Message> {
  const { timeoutMs, signal, ...draft } = question;
  return agent.ask({ ...draft, performative, protocol, receivers: to, content }, { timeoutMs, signal });
}

/**
 * FIPA-Request: asks an agent to do something, and waits until it is done.
 *
 * @returns The final `inform`.
 * @throws As {@link Agent.ask} does.
 */
export function request(agent: Agent, to: AidLike, action: Value, question: Question = {}): Promise<Message> {
  return ask(agent, "request", "fipa-request", to, action, question);
}

/** FIPA-Query: asks whether something is so. */
export function queryIf(agent: Agent, to: AidLike, proposition: Value, question: Question = {}): Promise<Message> {
  return ask(agent, "query-if", "fipa-query", to, proposition, question);
}

/** FIPA-Query: asks for what fits a description. */
export function queryRef(agent: Agent, to: AidLike, description: Value, question: Question = {}): Promise<Message> {
  return ask(agent, "query-ref", "fipa-query", to, description, question);
}

/** What makes an answer of a message: a value, or undefined for none. */
export type Answer = (message: Message) => Value | undefined | Promise<Value | undefined>;

/** Where a responder listens. */
export interface Responding {
  /** What else must fit. */
  readonly template?: Template;
  /** Whether to answer `agree` before it begins. */
  readonly agree?: boolean;
}

function respond(agent: Agent, performatives: readonly string[], answer: Answer, { template = {}, agree = false }: Responding): () => void {
  return agent.onMessage({ and: [{ performative: performatives }, template] }, async (message) => {
    if (agree) agent.reply(message, "agree", message.content);
    await conclude(agent, message, () => answer(message));
  });
}

/** Answers `inform` with the result, `refuse`, or `failure` with what went wrong. */
async function conclude(agent: Agent, message: Message, what: () => Value | undefined | Promise<Value | undefined>): Promise<void> {
  let result: Value | undefined;
  try {
    result = await what();
  } catch (error) {
    if (agent.signal.aborted) return;
    if (error instanceof Refusal) return agent.reply(message, "refuse", error.content);
    agent.reply(message, "failure", error instanceof Error ? error.message : String(error));
    throw error;
  }
  agent.reply(message, "inform", result ?? null);
}

/** FIPA-Request, the other side: does what is asked for. What is returned ends that. */
export function onRequest(agent: Agent, perform: Answer, responding: Responding = {}): () => void {
  return respond(agent, ["request"], perform, responding);
}

/** FIPA-Query, the other side: answers `query-if` and `query-ref`. What is returned ends that. */
export function onQuery(agent: Agent, answer: Answer, responding: Responding = {}): () => void {
  return respond(agent, ["query-if", "query-ref"], answer, responding);
}

// ---- Contract net

/** A proposal in a contract net. */
export interface Proposal {
  readonly agent: Aid;
  /** What it offers. */
  readonly content: Value;
  readonly message: Message;
}

/** What the initiator of a contract net says. */
export interface Call extends Omit<Draft, "performative" | "receivers" | "content" | "protocol" | "replyByMs"> {
  /** Who is asked for proposals. */
  readonly participants: readonly AidLike[];
  /** What for. */
  readonly content: Value;
  /** How long proposals are waited for; not longer than until all have answered. */
  readonly deadlineMs: number;
  /** Which of the proposals are accepted, in order. */
  readonly select: (proposals: readonly Proposal[]) => readonly Proposal[] | Promise<readonly Proposal[]>;
  /** What is said to those who are accepted, or rejected; their proposal if not said. */
  readonly verdict?: (proposal: Proposal, isAccepted: boolean) => Value;
  /** How long a result is waited for: 10 s if not said. `Infinity` will do: who ends is not waited for. */
  readonly resultMs?: number;
  /** Gives the call up. */
  readonly signal?: AbortSignal;
}

/** What came of a proposal that was accepted. */
export interface Outcome {
  readonly proposal: Proposal;
  /** The `inform` with which it was done. */
  readonly result?: Message;
  /** Why it was not: `failure`, the result did not come in time, or the contractor ended before it told one. */
  readonly error?: AnswerError | DeadlineError | EndedError;
}

/** How a contract net went. */
export interface Contract {
  readonly outcomes: readonly Outcome[];
  readonly proposals: readonly Proposal[];
  /** What was answered that is no proposal; `failure` from `ams` for those who are not there. */
  readonly refused: readonly Message[];
  /** Those who did not answer in time. */
  readonly silent: readonly Aid[];
}

/**
 * FIPA-Contract-Net: calls for proposals, selects among those that come in time, and waits for the results. Participants that
 * do not quote the conversation (AgentSpeak's plans for `kqml_received` need not) are understood by who they are.
 */
export async function contractNet(agent: Agent, call: Call): Promise<Contract> {
  const { participants, content, deadlineMs, select, verdict, resultMs = ANSWER_MS, signal, ...draft } = call;
  // A participant that is named twice is asked once.
  const called = new Map(participants.map((participant) => atHome(agent, Aid.of(participant))).map((other) => [`${other}`, other]));
  const conversationId = draft.conversationId ?? newId(agent.name);
  const head = { ...draft, protocol: "fipa-contract-net", conversationId };
  const inbox = agent.listen((message) => {
    if (message.conversationId !== undefined) return message.conversationId === conversationId;
    return ANSWERS.includes(message.performative) && called.has(`${atHome(agent, message.sender)}`);
  });
  try {
    const replyByMs = Date.now() + Math.round(deadlineMs);
    // Without participants, nothing is sent.
    for (let at = 0; at < called.size; at += RECEIVERS_MAX) agent.send({ ...head, performative: "cfp", receivers: [...called.values()].slice(at, at + RECEIVERS_MAX), content, replyByMs });
    const answers = await answersTo(inbox, agent, called.keys(), { timeoutMs: deadlineMs, signal });
    const proposals = answers
      .filter(({ performative }) => performative === "propose")
      .map((message) => ({ agent: atHome(agent, message.sender), content: message.content, message }));
    const accepted = new Set(await select(proposals));
    for (const proposal of proposals) {
      const isAccepted = accepted.has(proposal);
      const { replyWith } = proposal.message;
      agent.send({
        ...head,
        performative: isAccepted ? "accept-proposal" : "reject-proposal",
        receivers: proposal.agent,
        content: verdict ? verdict(proposal, isAccepted) : proposal.content,
        ...(replyWith !== undefined && { inReplyTo: replyWith }),
      });
    }
    const { results, ended } = await resultsOf(inbox, agent, [...accepted].map((proposal) => proposal.agent), { timeoutMs: resultMs, signal });
    for (const answer of answers) called.delete(answererOf(agent, answer));
    return {
      outcomes: [...accepted].map((proposal) => outcomeOf(proposal, results.get(`${proposal.agent}`), ended.has(proposal.agent))),
      proposals,
      refused: answers.filter(({ performative }) => performative !== "propose"),
      silent: [...called.values()],
    };
  } finally {
    inbox.close();
    // Proposals that come too late are not wanted. An identifier that is the caller's own may be used again.
    if (draft.conversationId === undefined) agent.giveUp(conversationId);
  }
}

/** What participants say. */
const ANSWERS: readonly string[] = ["propose", "refuse", "not-understood", "inform", "failure"];

/** Agents of this platform are called by their local names, whoever speaks of them. */
function atHome(agent: Agent, other: Aid): Aid {
  return other.platform === agent.aid.platform ? new Aid(other.name, "", other) : other;
}

/** The name of whose answer a message is: what the AMS says of a message that it could not deliver stands for the one whom that was for. */
function answererOf(agent: Agent, { content, performative, sender }: Message): string {
  const from = `${atHome(agent, sender)}`;
  if (performative !== "failure" || from !== "ams" || !Array.isArray(content)) return from;
  const reason = (content as readonly Value[]).at(-1) ?? null;
  const unreached = isTerm(reason, "undelivered") ? agentOf(reason.args[0]) : undefined;
  return unreached ? `${atHome(agent, unreached)}` : from;
}

/** The first answer of each agent of these names, as far as they come in time. What else the AMS says is among them. */
async function answersTo(inbox: Inbox, agent: Agent, from: Iterable<string>, waiting: Waiting): Promise<Message[]> {
  const missing = new Set(from);
  const answers: Message[] = [];
  const until = performance.now() + (waiting.timeoutMs ?? ANSWER_MS);
  while (missing.size > 0) {
    let message: Message;
    try {
      message = await inbox.next({ signal: waiting.signal, timeoutMs: until - performance.now() });
    } catch (error) {
      if (error instanceof DeadlineError) break;
      throw error;
    }
    const answerer = answererOf(agent, message);
    if (missing.delete(answerer) || answerer === "ams") answers.push(message);
  }
  return answers;
}

/**
 * The results of those who got the contract. Nobody tells of an agent that ended with the award in its hands, as that was delivered: so the AMS is asked now and then whether those who are missing
 * still live. Who ended told its result before, if it did, and that may still be on its way: so it is looked twice.
 */
async function resultsOf(inbox: Inbox, agent: Agent, from: readonly Aid[], { timeoutMs = ANSWER_MS, signal }: Waiting): Promise<{ readonly results: ReadonlyMap<string, Message>; readonly ended: ReadonlySet<Aid> }> {
  const results = new Map<string, Message>();
  const ended = new Set<Aid>();
  let missing = from;
  let suspects = new Set<Aid>();
  const until = performance.now() + timeoutMs;
  for (let left = timeoutMs; missing.length > 0 && left > 0; left = until - performance.now()) {
    for (const result of await answersTo(inbox, agent, missing.map(String), { signal, timeoutMs: Math.min(left, ALIVE_LOOK_MS) })) results.set(answererOf(agent, result), result);
    missing = missing.filter((other) => !results.has(`${other}`));
    const gone = new Set<Aid>();
    for (const other of missing) if (until > performance.now() && (await isGone(agent, other, signal))) (suspects.has(other) ? ended : gone).add(other);
    missing = missing.filter((other) => !ended.has(other));
    suspects = gone;
  }
  return { results, ended };
}

/** Whether there is no such agent on this platform. False if nobody says so: of other platforms' agents nothing is known here. */
async function isGone(agent: Agent, other: Aid, signal: AbortSignal | undefined): Promise<boolean> {
  if (other.platform !== "") return false;
  try {
    const found = await agent.ams.search({ name: other.name }, { timeoutMs: ALIVE_LOOK_MS, signal });
    return !found.some(({ name }) => name.name === other.name);
  } catch (error) {
    if (agent.signal.aborted || signal?.aborted) throw error;
    return false;
  }
}

function outcomeOf(proposal: Proposal, result: Message | undefined, hasEnded: boolean): Outcome {
  if (result === undefined && hasEnded) return { proposal, error: new EndedError(`${proposal.agent} ended before it told a result`) };
  if (result === undefined) return { proposal, error: new DeadlineError(`${proposal.agent} told no result in time`) };
  const error = errorOf(result);
  return error ? { proposal, error } : { proposal, result };
}

/** What a participant of contract nets does. */
export interface Contractor {
  /** What it offers for what is called for; undefined, or a {@link Refusal}, if it does not want it. */
  readonly bid: Answer;
  /** Does what was awarded. `proposal` is what it offered, if the verdict quotes the conversation. */
  readonly perform: (verdict: Message, proposal: Value | undefined) => Value | undefined | Promise<Value | undefined>;
  /** Hears that another got it. */
  readonly rejected?: (verdict: Message, proposal: Value | undefined) => unknown;
  /** What else calls for proposals must fit. */
  readonly template?: Template;
}

/** Proposals that are remembered until the verdict: initiators that never say one must not fill the memory. */
const PROPOSALS_MAX = 1000;

/** FIPA-Contract-Net, the other side: bids, and does what it is awarded. What is returned ends that. */
export function onContractNet(agent: Agent, { bid, perform, rejected, template = {} }: Contractor): () => void {
  const offered = new Map<string, Value>();
  const keyOf = (message: Message): string => `${message.sender} ${message.conversationId}`;
  const taken = (message: Message): Value | undefined => {
    const offer = offered.get(keyOf(message));
    offered.delete(keyOf(message));
    return offer;
  };
  const stops = [
    agent.onMessage({ and: [{ performative: "cfp" }, template] }, async (call) => {
      let offer: Value | undefined;
      try {
        offer = await bid(call);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return agent.reply(call, "refuse", error.content);
      }
      if (offer === undefined) return agent.reply(call, "refuse", call.content);
      if (call.conversationId !== undefined) offered.set(keyOf(call), offer);
      if (offered.size > PROPOSALS_MAX) for (const [oldest] of offered) if (offered.delete(oldest)) break;
      return agent.reply(call, "propose", offer);
    }),
    agent.onMessage({ performative: "accept-proposal" }, (verdict) => conclude(agent, verdict, () => perform(verdict, taken(verdict)))),
    agent.onMessage({ performative: "reject-proposal" }, (verdict) => rejected?.(verdict, taken(verdict))),
  ];
  return () => stops.forEach((stop) => stop());
}

// ---- Subscribe

/** FIPA-Subscribe: what another agent tells, until it is cancelled. */
export interface Subscription extends AsyncIterable<Message> {
  /** The next `inform`. */
  next(waiting?: Waiting): Promise<Message>;
  /** Wants to hear no more. */
  cancel(): void;
}

/**
 * FIPA-Subscribe: subscribes to what an agent tells.
 *
 * @throws As {@link Agent.ask} does, if the other agent does not agree.
 */
export async function subscribe(agent: Agent, to: AidLike, content: Value, question: Question = {}): Promise<Subscription> {
  const { timeoutMs = ANSWER_MS, signal, ...draft } = question;
  const conversationId = draft.conversationId ?? newId(agent.name);
  const head = { ...draft, conversationId, protocol: "fipa-subscribe", receivers: to };
  const inbox = agent.open({ ...head, performative: "subscribe", content });
  try {
    const first = await inbox.next({ timeoutMs, signal });
    const error = errorOf(first);
    if (error) throw error;
    // Who tells at once has agreed.
    if (first.performative !== "agree") inbox.add(first);
  } catch (error) {
    inbox.close();
    // The other may agree later: nobody listens then.
    if (error instanceof DeadlineError || signal?.aborted) cancel(agent, conversationId, { ...head, content });
    throw lateFrom(error, to, timeoutMs);
  }
  return {
    next: (waiting) => inbox.next(waiting),
    cancel: () => {
      inbox.close();
      cancel(agent, conversationId, { ...head, content });
    },
    [Symbol.asyncIterator]: () => inbox[Symbol.asyncIterator](),
  };
}

/** Somebody who subscribed. */
export interface Subscriber {
  readonly aid: Aid;
  /** The `subscribe`. */
  readonly message: Message;
  /** Aborted when it cancels, or this agent ends. */
  readonly signal: AbortSignal;
  /** Tells it something. */
  tell(content: Value): void;
}

/**
 * FIPA-Subscribe, the other side: `begin` is called for each subscriber, and answered `agree`, or `refuse` if it throws a
 * {@link Refusal}. What is returned ends that.
 */
export function onSubscribe(agent: Agent, begin: (subscriber: Subscriber) => unknown, template: Template = {}): () => void {
  const subscribers = new Map<string, AbortController>();
  const keyOf = (message: Message): string => `${message.sender} ${message.conversationId}`;
  const unreachable: Template = { performative: "failure", sender: "ams" };
  const forget = (message: Message): void => {
    const key = [...subscribers.keys()].find((known) => known.endsWith(` ${message.conversationId}`));
    if (key !== undefined) subscribers.get(key)?.abort();
    if (key !== undefined) subscribers.delete(key);
  };
  const stops = [
    agent.onMessage({ and: [{ performative: "subscribe" }, template] }, async (message) => {
      const ending = new AbortController();
      const signal = AbortSignal.any([ending.signal, agent.signal]);
      const tell = (content: Value): void => {
        if (!signal.aborted) agent.reply(message, "inform", content);
      };
      try {
        await begin({ aid: message.sender, message, signal, tell });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return agent.reply(message, "refuse", error.content);
      }
      subscribers.set(keyOf(message), ending);
      return agent.reply(message, "agree", message.content);
    }),
    agent.onMessage(
      (message) => message.performative === "cancel" && subscribers.has(keyOf(message)),
      (message) => {
        subscribers.get(keyOf(message))?.abort();
        subscribers.delete(keyOf(message));
        agent.reply(message, "inform", message.content);
      },
    ),
    // A subscriber that is no more hears nothing more.
    agent.onMessage((message) => matches(unreachable, message) && [...subscribers.keys()].some((key) => key.endsWith(` ${message.conversationId}`)), forget),
  ];
  return () => {
    stops.forEach((stop) => stop());
    subscribers.forEach((ending) => ending.abort());
  };
}
