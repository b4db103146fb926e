/**
 * FIPA's interaction protocols: both roles of request, query, contract net and subscribe. Each role is a function, so
 * that bundles contain only what they use.
 */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Draft, Message } from "../acl/message.js";
import { matches, type Template } from "../acl/template.js";
import type { Value } from "../acl/value.js";
import { newId, type Agent } from "./agent.js";
import { cancel } from "./cancel.js";
import { unreachedIn } from "./directory.js";
import { DeadlineError, EndedError, errorOf, deadlineErrorFrom, type AnswerError } from "./errors.js";
import { ALIVE_LOOK_MS, ANSWER_MS, RECEIVERS_MAX } from "./limits.js";
import type { Inbox, Waiting } from "./mailbox.js";

/** Thrown by a responder to answer `refuse`. Other errors are answered `failure`. */
export class Refusal extends WhimbrelError {
  override readonly name = "Refusal";

  constructor(
    /** Reason that the initiator gets. */
    readonly content: Value,
  ) {
    super("refused");
  }
}

// ---- Request and query

/** Options of a request: message parameters, and limits of waiting. */
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

/** FIPA-Query: asks whether a proposition is true. */
export function queryIf(agent: Agent, to: AidLike, proposition: Value, question: Question = {}): Promise<Message> {
  return ask(agent, "query-if", "fipa-query", to, proposition, question);
}

/** FIPA-Query: asks for the objects that match a description. */
export function queryRef(agent: Agent, to: AidLike, description: Value, question: Question = {}): Promise<Message> {
  return ask(agent, "query-ref", "fipa-query", to, description, question);
}

/** Computes the answer to a message: a value, or undefined for none. */
export type Answer = (message: Message) => Value | undefined | Promise<Value | undefined>;

/** Options of a responder. */
export interface Responding {
  /** Further conditions on messages. */
  readonly template?: Template;
  /** True to answer `agree` before the work begins. */
  readonly agree?: boolean;
}

function respond(agent: Agent, performatives: readonly string[], answer: Answer, { template = {}, agree = false }: Responding): () => void {
  return agent.onMessage({ and: [{ performative: performatives }, template] }, async (message) => {
    if (agree) agent.reply(message, "agree", message.content);
    await conclude(agent, message, () => answer(message));
  });
}

/** Answers `inform` with the result, `refuse`, or `failure` with the error's text. */
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

/** FIPA-Request, responder: performs actions. The returned function ends that. */
export function onRequest(agent: Agent, perform: Answer, responding: Responding = {}): () => void {
  return respond(agent, ["request"], perform, responding);
}

/** FIPA-Query, responder: answers `query-if` and `query-ref`. The returned function ends that. */
export function onQuery(agent: Agent, answer: Answer, responding: Responding = {}): () => void {
  return respond(agent, ["query-if", "query-ref"], answer, responding);
}

// ---- Contract net

/** A proposal in a contract net. */
export interface Proposal {
  readonly agent: Aid;
  /** Content of the proposal. */
  readonly content: Value;
  readonly message: Message;
}

/** A call for proposals, by the initiator of a contract net. */
export interface Call extends Omit<Draft, "performative" | "receivers" | "content" | "protocol" | "replyByMs"> {
  /** Agents that are asked for proposals. */
  readonly participants: readonly AidLike[];
  /** Task to propose for. */
  readonly content: Value;
  /** Maximum time to wait for proposals. The call continues as soon as all have answered. */
  readonly deadlineMs: number;
  /** Selects the accepted proposals, in order. */
  readonly select: (proposals: readonly Proposal[]) => readonly Proposal[] | Promise<readonly Proposal[]>;
  /** Content of the acceptance or rejection; the proposal by default. */
  readonly verdict?: (proposal: Proposal, isAccepted: boolean) => Value;
  /**
   * Maximum time to wait for results; 10 s by default. `Infinity` is safe, because contractors that end are noticed.
   */
  readonly resultMs?: number;
  /** Aborts the call. */
  readonly signal?: AbortSignal;
}

/** Outcome of an accepted proposal. */
export interface Outcome {
  readonly proposal: Proposal;
  /** The `inform` with the result. */
  readonly result?: Message;
  /** Reason of the failure: a `failure`, a deadline, or the end of the contractor. */
  readonly error?: AnswerError | DeadlineError | EndedError;
}

/** Result of a contract net. */
export interface Contract {
  readonly outcomes: readonly Outcome[];
  readonly proposals: readonly Proposal[];
  /** Answers that are not proposals; `failure` from `ams` for unreachable participants. */
  readonly refused: readonly Message[];
  /** Participants that did not answer in time. */
  readonly silent: readonly Aid[];
}

/**
 * FIPA-Contract-Net, initiator: calls for proposals, selects among those that arrive in time, and waits for the
 * results. Answers without the conversation's identifier are matched by their sender, because AgentSpeak's plans for
 * `kqml_received` need not quote it.
 */
export async function contractNet(agent: Agent, call: Call): Promise<Contract> {
  const { participants, content, deadlineMs, select, verdict, resultMs = ANSWER_MS, signal, ...draft } = call;
  // Ask each participant once.
  const called = new Map(participants.map((participant) => atHome(agent, Aid.of(participant))).map((other) => [`${other}`, other]));
  const conversationId = draft.conversationId ?? newId(agent.name);
  const head = { ...draft, protocol: "fipa-contract-net", conversationId };
  const inbox = agent.listen((message) => {
    if (message.conversationId !== undefined) return message.conversationId === conversationId;
    return ANSWERS.includes(message.performative) && called.has(`${atHome(agent, message.sender)}`);
  });
  try {
    const replyByMs = Date.now() + Math.round(deadlineMs);
    // Without participants, send nothing.
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
    // Drop late proposals. An identifier from the caller may be used again.
    if (draft.conversationId === undefined) agent.giveUp(conversationId);
  }
}

/** Performatives of participants. */
const ANSWERS: readonly string[] = ["propose", "refuse", "not-understood", "inform", "failure"];

/** Strips the platform from agents of this platform, so that names compare equal. */
function atHome(agent: Agent, other: Aid): Aid {
  return other.platform === agent.aid.platform ? new Aid(other.name, "", other) : other;
}

/**
 * Returns the name of the agent that a message answers for. A `failure` from the AMS stands for the unreachable
 * participant.
 */
function answererOf(agent: Agent, { content, performative, sender }: Message): string {
  const from = `${atHome(agent, sender)}`;
  const unreached = performative === "failure" && from === "ams" ? unreachedIn(content) : undefined;
  return unreached ? `${atHome(agent, unreached)}` : from;
}

/** Collects the first answer of each named agent, within the time limit. Other messages of the AMS are included. */
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
 * Collects the results of accepted contractors. The platform does not report the end of a contractor that already got
 * its award, so the AMS is asked at intervals. A contractor counts as ended after two such checks, because its result
 * may still be on its way.
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

/** Returns true if the platform has no such agent. False if unknown, as for agents of other platforms. */
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
  if (result === undefined && hasEnded) return { proposal, error: new EndedError(`${proposal.agent} ended before it sent a result`) };
  if (result === undefined) return { proposal, error: new DeadlineError(`${proposal.agent} sent no result in time`) };
  const error = errorOf(result);
  return error ? { proposal, error } : { proposal, result };
}

/** A contractor's role in a contract net. */
export interface Contractor {
  /** Computes the proposal; undefined, or a {@link Refusal}, to refuse. */
  readonly bid: Answer;
  /** Performs the awarded task. `proposal` is its own proposal, if the award quotes the conversation. */
  readonly perform: (verdict: Message, proposal: Value | undefined) => Value | undefined | Promise<Value | undefined>;
  /** Called when the proposal was rejected. */
  readonly rejected?: (verdict: Message, proposal: Value | undefined) => unknown;
  /** Further conditions on calls. */
  readonly template?: Template;
}

/** Proposals that are remembered until the verdict. The oldest is dropped, because some initiators never send one. */
const PROPOSALS_MAX = 1000;

/** FIPA-Contract-Net, contractor: proposes, and performs what is awarded. The returned function ends that. */
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

/** A subscription to an agent's messages, until it is cancelled. */
export interface Subscription extends AsyncIterable<Message> {
  /** Takes the next `inform`. */
  next(waiting?: Waiting): Promise<Message>;
  /** Cancels the subscription. */
  cancel(): void;
}

/**
 * FIPA-Subscribe: subscribes to an agent's messages.
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
    // An `inform` at once implies agreement.
    if (first.performative !== "agree") inbox.add(first);
  } catch (error) {
    inbox.close();
    // Cancel, because the other agent may still agree after the deadline.
    if (error instanceof DeadlineError || signal?.aborted) cancel(agent, conversationId, { ...head, content });
    throw deadlineErrorFrom(error, to, timeoutMs);
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

/** A subscriber. */
export interface Subscriber {
  readonly aid: Aid;
  /** The `subscribe` message. */
  readonly message: Message;
  /** Signal that is aborted when the subscriber cancels or this agent ends. */
  readonly signal: AbortSignal;
  /** Sends an `inform` to the subscriber. */
  tell(content: Value): void;
}

/**
 * FIPA-Subscribe, responder: calls `begin` for each subscriber, and answers `agree`, or `refuse` if `begin` throws a
 * {@link Refusal}. The returned function ends all subscriptions.
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
    // An unreachable subscriber is removed.
    agent.onMessage((message) => matches(unreachable, message) && [...subscribers.keys()].some((key) => key.endsWith(` ${message.conversationId}`)), forget),
  ];
  return () => {
    stops.forEach((stop) => stop());
    subscribers.forEach((ending) => ending.abort());
  };
}
