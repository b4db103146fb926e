/** Conversations of an agent: what it sends and receives by protocols is judged by machines. */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import { message as messageOf, replyTo, type Draft, type Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { newId, type Agent } from "../agents/agent.js";
import { whenAborted } from "../agents/aborts.js";
import { DeadlineError, EndedError, errorOf } from "../agents/errors.js";
import { Refusal } from "../agents/protocols.js";
import { PROTOCOL_ANSWER_MS } from "./limits.js";
import { isEnd, ProtocolError, type Machine, type Protocol } from "./machine.js";
import { Machines } from "./machines.js";

/** Performatives that nobody answers. */
const UNANSWERED: readonly string[] = ["inform", "reject-proposal"];

/** Side of a conversation that messages and deadlines wake. */
interface Party {
  hear(other: string, message: Message): void;
  wake(): void;
}

/** Answers the first message of conversations that others begin. */
export type Responder = (exchange: Exchange) => unknown;

const ALL = new WeakMap<Agent, Conversations>();

/** Returns the conversations of an agent. */
export function conversationsOf(agent: Agent): Conversations {
  const found = ALL.get(agent) ?? new Conversations(agent);
  ALL.set(agent, found);
  return found;
}

/** Conversations of one agent by protocols. */
export class Conversations {
  readonly #protocols = new Map<string, Protocol>();
  readonly #responders = new Map<string, Responder>();
  readonly #parties = new Map<string, Party>();
  readonly machines: Machines;
  #stopTimer = (): void => undefined;

  /** @internal */
  constructor(readonly agent: Agent) {
    this.machines = new Machines(this.#protocols, (other) => this.nameOf(other));
    agent.onMessage((message) => this.#isJudged(message), (message) => this.#take(message));
  }

  /** Returns the name of an agent; without the platform for agents of this platform. */
  nameOf(other: Aid): string {
    return other.platform === this.agent.aid.platform ? other.name : String(other);
  }

  /** Has messages of a protocol judged. */
  know(protocol: Protocol): void {
    this.#protocols.set(protocol.name, protocol);
  }

  /** Answers conversations that others begin by a protocol. The returned function ends that. */
  respond(protocol: Protocol, responder: Responder): () => void {
    this.know(protocol);
    this.#responders.set(protocol.name, responder);
    return () => {
      if (this.#responders.get(protocol.name) === responder) this.#responders.delete(protocol.name);
    };
  }

  /** Adds a side of a conversation. `other` is undefined for an initiator, who has several others. */
  join(party: Party, conversationId: string, other?: string): () => void {
    const key = `${conversationId}\n${other ?? ""}`;
    this.#parties.set(key, party);
    return () => void this.#parties.delete(key);
  }

  /**
   * Sends a message that its protocol allows.
   *
   * @throws {@link ProtocolError} if the protocol does not allow it.
   */
  send(draft: Draft): void {
    const message = messageOf(draft);
    this.machines.send(message, Date.now());
    this.agent.send(draft);
    this.#setTimer();
  }

  #isJudged(message: Message): boolean {
    if (message.protocol !== undefined && this.#protocols.has(message.protocol)) return true;
    return [...this.#parties.keys()].some((key) => message.conversationId !== undefined && key.startsWith(`${message.conversationId}\n`));
  }

  #take(message: Message): void {
    const judged = this.machines.receive(message, Date.now());
    if (!judged) return;
    const { machine, other, conversationId = "", verdict } = judged;
    if (judged.answer !== undefined) this.agent.send(replyTo(message, Aid.NOBODY, judged.answer, judged.reason ?? null));
    this.#setTimer();
    const party = this.#parties.get(`${conversationId}\n`) ?? this.#parties.get(`${conversationId}\n${other}`);
    if (verdict !== "ok" || !machine) return party?.wake();
    if (party) return party.hear(other, message);
    const responder = machine.role === "participant" ? this.#responders.get(machine.protocol.name) : undefined;
    const exchange = new Exchange(this, machine, message, other);
    if (responder) return void exchange.serve(responder);
    if (machine.role === "participant" && !machine.isOver) exchange.say("not-understood", `${this.agent.name} does not take part in ${machine.protocol.name}`);
  }

  #setTimer(): void {
    this.#stopTimer();
    const next = this.machines.nextDeadlineMs;
    if (next === undefined) return;
    this.#stopTimer = this.agent.after(Math.max(0, next - Date.now()), () => {
      if (this.machines.tick(Date.now())) for (const party of [...this.#parties.values()]) party.wake();
      this.#setTimer();
    });
  }
}

/** Waiting of a side of a conversation until something changes. */
class Change {
  #wake = (): void => undefined;

  wake(): void {
    this.#wake();
  }

  /** Resolves at the next change, or after `ms`. */
  async next(agent: Agent, ms: number): Promise<void> {
    if (agent.signal.aborted) throw agent.signal.reason;
    let stop = (): void => undefined;
    const forget = whenAborted(agent.signal, () => this.#wake());
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (Number.isFinite(ms)) stop = agent.after(ms, resolve);
    });
    forget();
    stop();
    if (agent.signal.aborted) throw agent.signal.reason;
  }
}

/** Parameters of the messages of a conversation. */
export interface TalkOptions {
  readonly conversationId?: string;
  readonly ontology?: string;
  readonly language?: string;
  /** Aborts waiting. */
  readonly signal?: AbortSignal;
}

/** A conversation that an agent began, with one or several others. */
export class Talk implements Party {
  readonly conversationId: string;
  /** Names of the other agents. */
  others: readonly string[];
  readonly #conversations: Conversations;
  readonly #aids = new Map<string, Aid>();
  readonly #last = new Map<string, Message>();
  readonly #change = new Change();
  readonly #leave: () => void;
  #ended = (): void => undefined;
  /** Called for each message that the protocol allows. */
  onHeard: ((other: string, message: Message) => void) | undefined;

  constructor(
    readonly agent: Agent,
    readonly protocol: Protocol,
    to: AidLike | readonly AidLike[],
    readonly options: TalkOptions = {},
  ) {
    this.#conversations = conversationsOf(agent);
    this.#conversations.know(protocol);
    for (const one of Array.isArray(to) ? (to as readonly AidLike[]) : [to as AidLike]) this.#aids.set(this.#conversations.nameOf(Aid.of(one)), Aid.of(one));
    this.others = [...this.#aids.keys()];
    this.conversationId = options.conversationId ?? newId(agent.name);
    const leave = this.#conversations.join(this, this.conversationId);
    const forget = options.signal && whenAborted(options.signal, () => this.wake());
    this.#leave = () => {
      leave();
      forget?.();
    };
  }

  /** Adds another agent. Returns its name. */
  add(other: Aid): string {
    const name = this.#conversations.nameOf(other);
    this.#aids.set(name, other);
    return name;
  }

  /** Expects answers to a question that another agent passes on. Returns the identifier that they quote. */
  expect(performative: string): string {
    const replyWith = newId(this.agent.name);
    this.#ended = this.#conversations.machines.expect(this.conversationId, this.protocol, { performative, replyWith });
    return replyWith;
  }

  /** Stops listening at once. Messages that still come are judged, and reach nobody. */
  leave(): void {
    this.#ended();
    this.#leave();
  }

  #machine(other: string): Machine | undefined {
    return this.#conversations.machines.find(this.conversationId, other, Date.now());
  }

  /** Returns the state of the conversation with another agent. */
  state(other: string): string {
    return this.#machine(other)?.state ?? "start";
  }

  /** Returns the other agents in one of these states. */
  among(...states: readonly string[]): string[] {
    return this.others.filter((other) => states.includes(this.state(other)));
  }

  /** Returns the other agents in a state, those first whose newest message came first. */
  inOrder(state: string): string[] {
    return [...this.#last.keys()].filter((other) => this.state(other) === state);
  }

  /** Returns the identifier of another agent. */
  aid(other: string): Aid {
    return this.#aids.get(other) ?? Aid.of(other);
  }

  /** Returns the newest message of another agent that the protocol allowed. */
  last(other: string): Message | undefined {
    return this.#last.get(other);
  }

  /** True if the conversation ended with all other agents. */
  get isOver(): boolean {
    return this.others.every((other) => isEnd(this.protocol, this.state(other)));
  }

  /** Returns the error of a conversation that ended badly. */
  error(other: string): WhimbrelError | undefined {
    const state = this.state(other);
    if (this.#machine(other)?.isGood || !isEnd(this.protocol, state)) return undefined;
    if (state === "silent") return new DeadlineError(`${other} did not answer in time`);
    const last = this.#last.get(other);
    if (state === "broken" || !last) return new ProtocolError(`${other} breaks the protocol ${this.protocol.name}`);
    return errorOf(last) ?? new WhimbrelError(`${other} answered ${last.performative}: the conversation is ${state}`);
  }

  /** Says something to some of the others, or to all. `deadlineMs` is the time for the answer. */
  say(performative: string, content: Value = null, { to = this.others, deadlineMs }: { readonly to?: readonly string[] | undefined; readonly deadlineMs?: number | undefined } = {}): void {
    const { ontology, language } = this.options;
    for (const other of to) {
      const quoted = this.#last.get(other)?.replyWith;
      this.#conversations.send({
        performative,
        receivers: this.aid(other),
        content,
        protocol: this.protocol.name,
        conversationId: this.conversationId,
        ...(ontology !== undefined && { ontology }),
        ...(language !== undefined && { language }),
        ...(!UNANSWERED.includes(performative) && { replyWith: newId(this.agent.name) }),
        ...(quoted !== undefined && { inReplyTo: quoted }),
        ...(deadlineMs !== undefined && Number.isFinite(deadlineMs) && { replyByMs: Date.now() + Math.ceil(deadlineMs) }),
      });
    }
  }

  /** Waits until a condition holds, at most this time. Returns whether it holds. */
  async until(condition: () => boolean, ms = Infinity): Promise<boolean> {
    const end = performance.now() + ms;
    while (!condition()) {
      if (this.options.signal?.aborted) throw this.options.signal.reason;
      const left = end - performance.now();
      if (left <= 0) return false;
      await this.#change.next(this.agent, left);
    }
    return true;
  }

  /** Cancels the conversation with all agents with whom it goes on, by FIPA's cancel meta-protocol. */
  cancel(deadlineMs = PROTOCOL_ANSWER_MS): void {
    const open = this.others.filter((other) => !["start", "cancelling"].includes(this.state(other)) && !isEnd(this.protocol, this.state(other)));
    if (!this.agent.signal.aborted) this.say("cancel", null, { to: open, deadlineMs });
  }

  /** Cancels what is not over yet, and stops listening when the others have confirmed that. */
  close(): void {
    if (this.isOver) return this.#leave();
    this.cancel();
    void this.until(() => this.isOver).then(this.#leave, this.#leave);
  }

  /** @internal */
  hear(other: string, message: Message): void {
    // The map keeps the order of the newest messages.
    this.#last.delete(other);
    this.#last.set(other, message);
    this.onHeard?.(other, message);
    this.wake();
  }

  /** @internal */
  wake(): void {
    this.#change.wake();
  }
}

/** A conversation that another agent began. */
export class Exchange implements Party {
  readonly #conversations: Conversations;
  readonly #change = new Change();
  readonly #ending = new AbortController();
  #message: Message;
  /** True if {@link next} has not returned the newest message. */
  #isHeard = false;

  /** @internal */
  constructor(
    conversations: Conversations,
    readonly machine: Machine,
    message: Message,
    /** Name of the other agent. */
    readonly other: string,
  ) {
    this.#conversations = conversations;
    this.#message = message;
  }

  /** Agent of this side. */
  get agent(): Agent {
    return this.#conversations.agent;
  }

  /** The other agent. */
  get from(): Aid {
    return this.#message.sender;
  }

  /** The newest message of the other agent. */
  get message(): Message {
    return this.#message;
  }

  get state(): string {
    return this.machine.state;
  }

  /** Signal that is aborted when the other agent cancels, the conversation ends, or this agent ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Says something to the other agent. Says nothing if the conversation was cancelled or is over. */
  say(performative: string, content: Value = null, { deadlineMs }: { readonly deadlineMs?: number } = {}): void {
    this.machine.tick(Date.now());
    if (this.machine.isOver || this.state === "cancelling") return;
    this.#send(performative, content, deadlineMs);
  }

  #send(performative: string, content: Value, deadlineMs?: number): void {
    const asks = performative === "propose";
    this.#conversations.send({
      ...replyTo(this.#message, Aid.NOBODY, performative, content),
      ...(asks && { replyWith: newId(this.agent.name) }),
      ...(deadlineMs !== undefined && { replyByMs: Date.now() + Math.ceil(deadlineMs) }),
    });
    if (this.machine.isOver) this.#ending.abort(new EndedError(`the conversation with ${this.other} is over`));
  }

  /** Waits for the next message of the other agent. Undefined if the conversation ends without one. */
  async next(): Promise<Message | undefined> {
    while (!this.#isHeard && !this.machine.isOver && this.state !== "cancelling") await this.#change.next(this.agent, Infinity);
    if (!this.#isHeard || this.state === "cancelling") return undefined;
    this.#isHeard = false;
    return this.#message;
  }

  /** @internal */
  async serve(responder: Responder): Promise<void> {
    const leave = this.#conversations.join(this, this.#message.conversationId ?? "", this.other);
    try {
      await responder(this);
    } catch (error) {
      if (this.agent.signal.aborted || this.signal.aborted) return;
      this.#fail(error);
    } finally {
      leave();
    }
  }

  #fail(error: unknown): void {
    const { protocol, role } = this.machine;
    const may = protocol.moves.filter(([from, by]) => by === role && from.includes(this.state)).flatMap(([, , say]) => say);
    const content = error instanceof Refusal ? error.content : error instanceof Error ? error.message : String(error);
    const order = error instanceof Refusal ? ["refuse", "reject-proposal", "failure"] : ["failure", "refuse", "reject-proposal"];
    const said = order.find((performative) => may.includes(performative));
    if (said !== undefined) this.say(said, content);
    if (!(error instanceof Refusal)) this.agent.tell(error, this.#message);
  }

  /** @internal */
  hear(_other: string, message: Message): void {
    this.#message = message;
    this.#isHeard = true;
    if (this.state === "cancelling") {
      this.#ending.abort(new EndedError(`${this.other} cancelled`));
      this.#send("inform", null);
    } else if (this.machine.isOver) this.#ending.abort(new EndedError(`the conversation with ${this.other} is over`));
    this.wake();
  }

  /** @internal */
  wake(): void {
    if (this.machine.isOver) this.#ending.abort(new EndedError(`the conversation with ${this.other} is over`));
    this.#change.wake();
  }
}
