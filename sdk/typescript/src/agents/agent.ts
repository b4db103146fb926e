import { Aid } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import { parseJson, valueFromJson, valueToJson } from "../acl/json.js";
import { message as messageOf, replyTo, type Draft, type Message, type Performative } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { whenAborted } from "./aborts.js";
import { Ams } from "./ams.js";
import { Df } from "./df.js";
import { AnswerError, EndedError, errorOf, deadlineErrorFrom, RefusedError, StayedError } from "./errors.js";
import { Progress, type StateSaver, type Restored } from "./saver.js";
import { ANSWER_MS, TIMER_MS_MAX } from "./limits.js";
import { Inbox, Mailbox, type Matcher, type Waiting } from "./mailbox.js";

/** An agent's access to its session. @internal */
export interface SessionPort {
  readonly aid: Aid;
  /** Sends a message. The agent learns of a refusal by the node. */
  send(message: Message): void;
  /** Sends a message, and calls back if the node refuses it. The returned function removes the callback. */
  ask(message: Message, refused: (error: RefusedError) => void): () => void;
  /** Notes that the agent has handled a message. */
  handled(): void;
  end(): void;
  certify(request: string): Promise<string>;
  /** Fetches the code of this name from the node. */
  fetchCode(code: string): Promise<Uint8Array>;
  /** Writer of the agent's state, if the agent is durable. */
  readonly saver: StateSaver | undefined;
}

/** Reason in the `failure` answer of a full mailbox. */
const MAILBOX_FULL = "mailbox full";

/** Performatives whose senders expect an answer, with or without `reply-with`. */
const ASKING: readonly string[] = ["request", "query-if", "query-ref", "cfp", "subscribe"];

const isAsked = ({ replyWith, performative }: Message): boolean => replyWith !== undefined || ASKING.includes(performative);

/**
 * Handler of messages. What it throws, or rejects with, goes to {@link Agent.onError}. A sender who expects an answer
 * and has none gets `failure`.
 */
export type Handler = (message: Message) => unknown;

/**
 * An agent of a platform whose code runs here. Like every agent, it is registered with the AMS, can be found in the DF,
 * sends, receives, is monitored and can be killed.
 *
 * Either give {@link Platform.create} a function that sets an agent up, or extend this class:
 *
 * ```ts
 * class Calendar extends Agent {
 *   override async setup() {
 *     this.onMessage({ performative: "query-ref" }, (message) => this.reply(message, "inform", today()));
 *     await this.df.register({ services: [{ type: "calendar" }] });
 *   }
 * }
 * const calendar = await platform.create("calendar", new Calendar());
 * ```
 */
export class Agent {
  readonly #mailbox = new Mailbox({
    failed: (error, message) => this.tell(error, message),
    notUnderstood: (message) => this.#answer(message, "not-understood", message.content),
    mailboxFull: (message) => this.#answer(message, "failure", MAILBOX_FULL),
  });
  readonly #ending = new AbortController();
  #port: SessionPort | undefined;
  #isClaimed = false;
  /** Timers that fell due while the agent was suspended; undefined if it is not. */
  #late: Set<() => void> | undefined;
  #ended: ((reason: string) => void) | undefined;
  readonly #progress = new Progress();
  /** Messages that a durable agent has not finished. */
  readonly #open = new Map<Message, () => void>();
  /**
   * Messages that the agent has not handled, with the numbers of their frames. If the agent ends, the node answers
   * them.
   */
  readonly #given = new Map<Message, number>();
  /** Messages that the agent has answered, by more than `agree`. */
  readonly #answered = new WeakSet<Message>();
  #isSetUp = false;
  #hasState = false;
  /** Called before the agent's code runs for an outside event. @internal */
  onTurn: (() => void) | undefined;

  /** Resolves with the reason when the agent ended: `finished`, `killed`, or `failed: ...`. */
  readonly ended: Promise<string> = new Promise((resolve) => (this.#ended = resolve));
  /**
   * The successor of an agent that its node handed over to another node. The successor continues from the last saved
   * state, set up in the same way. Rejects if that node is unreachable, or if the session has other agents, which keep
   * it here.
   */
  successor: Promise<Agent> | undefined;
  /** The directory of services (yellow pages). */
  readonly df: Df = new Df(this);
  /** The directory of agents (white pages). */
  readonly ams: Ams = new Ams(this);

  /** Called when the agent has joined the platform. {@link Platform.create} returns after it. */
  setup(): unknown {
    return undefined;
  }

  /** Called when the agent has ended. It cannot send any more. */
  takeDown(_reason: string): unknown {
    return undefined;
  }

  /** Receives errors of handlers with their messages, and messages that the node refuses. Prints them by default. */
  onError(error: unknown, _message?: Message): void {
    console.error(`agent ${this.#port?.aid.name ?? ""}:`, error);
  }

  /** Identifier, `name@platform`. */
  get aid(): Aid {
    return this.#bound.aid;
  }

  /** Local name. */
  get name(): string {
    return this.aid.name;
  }

  /** Signal that is aborted when the agent ends. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Number of messages in the mailbox that nothing has taken. */
  get waiting(): number {
    return this.#mailbox.size;
  }

  /** Estimated memory of waiting and current messages, in bytes. Above 64 MiB, senders get `failure`. */
  get heldBytes(): number {
    return this.#mailbox.bytes;
  }

  get #bound(): SessionPort {
    if (this.#ending.signal.aborted) throw this.#ending.signal.reason;
    if (this.#port === undefined) throw new WhimbrelError("the agent has no platform yet: pass it to platform.create");
    return this.#port;
  }

  // ---- State

  /** State of an agent that was restored. Its DF entry still exists. */
  get restored(): Restored | undefined {
    return this.saver?.restored;
  }

  /**
   * Declares the agent's state, so that the platform can keep it ({@link Keep}). `write` returns the state; it is
   * called between two handlers. `read` is called at once with the saved state if the agent is restored. Call this
   * method during set-up, before adding handlers.
   *
   * A handler's changes and messages up to an `await` that really waits are one step. A handler that waited when its
   * page was closed begins again with the same message. So does the body of a `for await` over {@link
   * Agent.listen}. A message that {@link Agent.receive} or {@link Inbox.next} returned counts as handled.
   *
   * A state may have 512 KiB. {@link Agent.onError} receives errors about longer states and errors of `write`; the node
   * then keeps the previous state.
   *
   * @throws {@link DecodeError} if the saved state cannot be decoded. {@link WhimbrelError} if it belongs to an agent
   * of another language.
   */
  state(write: () => Value, read: (value: Value) => void): void {
    const { saver } = this.#bound;
    if (!saver) return;
    const { restored } = saver;
    if (restored && !restored.code.startsWith("ts:")) throw new WhimbrelError(`cannot restore the agent: its saved state belongs to ${restored.code}, which is not TypeScript`);
    if (restored) read(valueFromJson(parseJson(new TextDecoder().decode(restored.state))));
    saver.source = () => ({ state: new TextEncoder().encode(valueToJson(write())), ...this.#progress.covered });
    this.#hasState = true;
  }

  /**
   * Saves the agent's state now. Resolves when the node has it.
   *
   * @throws {@link RefusedError} if the node refuses it. {@link WhimbrelError} if the state is longer than 512 KiB.
   * {@link EndedError} if the agent ends first.
   */
  async save(): Promise<void> {
    await this.#bound.saver?.save();
  }

  /**
   * Moves the agent to another place, with the state that it declared ({@link Agent.state}). The agent must be durable.
   * `place` names a device, or an agent whose session accepts agents ({@link Platform.onOffer}) and knows this code by
   * name ({@link Keep.code}). `handled` is the message that asked for the move, and counts as handled; other unfinished
   * messages are delivered again there.
   *
   * Resolves when the agent has arrived; here it has ended by then.
   *
   * @throws {@link StayedError} if the agent cannot move. It continues here.
   */
  async moveTo(place: string, handled?: Message): Promise<void> {
    const { saver } = this.#bound;
    if (!saver) throw new StayedError("not_movable", "not durable: pass a `Keep` to create");
    if (!this.#hasState || !saver.source) throw new StayedError("not_movable", "no state declared: call `Agent.state` in setup");
    if (handled) this.#open.get(handled)?.();
    const written = saver.source();
    if (!written) throw new StayedError("not_movable", "its state is unknown at the moment");
    const wasSuspended = this.isSuspended;
    const left = saver.leave(place, written);
    this.suspend();
    try {
      await left;
    } catch (error) {
      if (!wasSuspended) this.resume();
      throw error;
    }
  }

  /** Moves the agent because another agent asked for it. @internal */
  yieldTo(place: string): Promise<void> {
    return this.moveTo(place);
  }

  /** Fetches the agent's code from its node. @internal */
  fetchCode(code: string): Promise<Uint8Array> {
    return this.#bound.fetchCode(code);
  }

  // ---- Messages

  /**
   * Calls a handler for each message that matches, or for all. The first matching handler takes a message. The returned
   * function removes the handler.
   */
  onMessage(handler: Handler): () => void;
  onMessage(matcher: Matcher, handler: Handler): () => void;
  onMessage(...args: [Handler] | [Matcher, Handler]): () => void {
    const [matcher, handler] = args.length === 1 ? [{}, args[0]] : args;
    return this.#mailbox.handle(matcher, (message) => this.#handle(handler, message));
  }

  /**
   * Takes the next matching message, waiting or future, that no other receiver takes.
   *
   * @throws {@link DeadlineError} if none arrives in time. {@link EndedError} if the agent ends.
   */
  receive(matcher: Matcher = {}, waiting: Waiting = {}): Promise<Message> {
    return this.#mailbox.receive(matcher, waiting, this.signal);
  }

  /** Drops later messages of a conversation that was abandoned. @internal */
  giveUp(conversationId: string): void {
    this.#mailbox.giveUp(conversationId);
  }

  /** Collects all matching messages until the inbox is closed. An inbox has priority over handlers. */
  listen(matcher: Matcher): Inbox {
    return this.#mailbox.listen(matcher, this.signal);
  }

  /**
   * Sends a message. It arrives exactly once, after earlier messages of this agent. If it cannot be delivered, `ams`
   * sends `failure`.
   *
   * @throws {@link EncodeError} if the message cannot be encoded. {@link EndedError} if the agent ended.
   */
  send(draft: Draft): void {
    const message = messageOf(draft);
    const port = this.#bound;
    port.send(message);
  }

  /** Replies to a message in its conversation and protocol, and quotes it. */
  reply(asked: Message, performative: Performative, content: Value = null): void {
    if (performative !== "agree") this.#answered.add(asked);
    this.send(replyTo(asked, Aid.NOBODY, performative, content));
    if (performative !== "agree") this.#handled(asked);
  }

  /**
   * Sends a message and waits for its answer. An `agree` is not the answer yet.
   *
   * @throws {@link RefuseError}, {@link FailureError}, {@link NotUnderstoodError} for such answers. {@link
   * DeadlineError} if none arrives within 10 s, or `timeoutMs`. {@link RefusedError} if the node refuses the message.
   */
  async ask(draft: Draft, waiting: Waiting = {}): Promise<Message> {
    const conversation = this.open(draft);
    const until = performance.now() + (waiting.timeoutMs ?? ANSWER_MS);
    try {
      for (;;) {
        const answer = await conversation.next({ ...waiting, timeoutMs: Math.max(0, until - performance.now()) });
        const error = errorOf(answer);
        if (error) throw error;
        if (answer.performative !== "agree") return answer;
      }
    } catch (error) {
      if (!(error instanceof AnswerError)) conversation.giveUp();
      throw deadlineErrorFrom(error, draft.receivers, waiting.timeoutMs ?? ANSWER_MS);
    } finally {
      conversation.close();
    }
  }

  /**
   * Sends a message and collects its answers: messages that quote it, or that belong to its conversation and quote
   * nothing. Close the inbox when it has enough. Give it up to drop late answers that no handler takes.
   */
  open(draft: Draft): Inbox {
    const id = newId(this.name);
    const { replyWith = id, conversationId = id } = draft;
    const port = this.#bound;
    // Messages of this agent itself, directly or through a group, are not answers.
    const isAnswer = (message: Message): boolean => message.inReplyTo === undefined && message.conversationId === conversationId && message.replyWith !== replyWith;
    const inbox = this.listen((message) => message.inReplyTo === replyWith || isAnswer(message));
    // Identifiers from the caller may be used again.
    inbox.whenGivenUp(() => id === replyWith || id === conversationId ? this.#mailbox.giveUp(id) : undefined);
    try {
      inbox.whenClosed(port.ask(messageOf({ ...draft, replyWith, conversationId }), (error) => inbox.fail(error)));
    } catch (error) {
      inbox.close();
      throw error;
    }
    return inbox;
  }

  // ---- Behaviours. All end with the agent.

  /** Runs a function now. Errors go to {@link Agent.onError}. Await several in turn, or together by `Promise.all`. */
  run(behaviour: (signal: AbortSignal) => unknown): Promise<void> {
    return this.#try(() => behaviour(this.signal));
  }

  /**
   * Runs a function after `ms` milliseconds, unless the agent has ended. A suspended agent runs it when it resumes. The
   * returned function cancels it.
   */
  after(ms: number, behaviour: () => unknown): () => void {
    const timer = setTimeout(() => {
      if (this.#late) return void this.#late.add(due);
      due();
    }, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
    const due = (): void => {
      forget();
      this.onTurn?.();
      void this.#try(behaviour);
    };
    const stop = (): void => {
      forget();
      clearTimeout(timer);
      this.#late?.delete(due);
    };
    const forget = whenAborted(this.signal, stop);
    if (this.signal.aborted) stop();
    return stop;
  }

  /**
   * Runs a function repeatedly, `ms` milliseconds after the previous run finished. The returned function stops that.
   */
  every(ms: number, behaviour: () => unknown): () => void {
    let stop = (): void => undefined;
    let isOver = false;
    const wait = (): void => {
      stop = this.after(ms, async () => {
        await this.#try(behaviour);
        if (!isOver && !this.signal.aborted) wait();
      });
    };
    wait();
    return () => {
      isOver = true;
      stop();
    };
  }

  /** Calls a handler. Undefined if it finished at once. */
  #handle(handler: Handler, message: Message): Promise<void> | undefined {
    let result: unknown;
    this.onTurn?.();
    try {
      result = handler(message);
    } catch (error) {
      this.#failed(error, message);
      return undefined;
    }
    return result instanceof Object && "then" in result ? this.#try(() => result, message) : undefined;
  }

  #failed(error: unknown, message?: Message): void {
    // A handler that waited when the agent ended has not failed.
    if (this.signal.aborted && error === this.signal.reason) return;
    if (message && !this.signal.aborted) this.#fail(message, error);
    this.tell(error, message);
  }

  /** Answers `failure` to a sender that would otherwise wait for ever. */
  #fail(message: Message, error: unknown): void {
    if (!isAsked(message) || errorOf(message) || this.#answered.has(message)) return;
    this.reply(message, "failure", error instanceof Error ? error.message : String(error));
  }

  async #try(what: () => unknown, message?: Message): Promise<void> {
    try {
      await what();
    } catch (error) {
      this.#failed(error, message);
    }
  }

  // ---- Life

  /** True while the agent is suspended. */
  get isSuspended(): boolean {
    return this.#late !== undefined;
  }

  /**
   * Suspends the agent in this program: messages and timers wait until it resumes. The AMS still lists it as active.
   */
  suspend(): void {
    this.#late ??= new Set();
    this.#mailbox.suspend();
  }

  /** Resumes the agent. Delayed messages and timers come first. */
  resume(): void {
    const late = this.#late ?? [];
    this.#late = undefined;
    this.#mailbox.goOn();
    for (const due of late) {
      // A timer may have suspended the agent again.
      if (this.isSuspended) (this.#late as Set<() => void> | undefined)?.add(due);
      else due();
    }
  }

  /** Ends the agent. It leaves the AMS and the DF. */
  async end(): Promise<void> {
    if (!this.signal.aborted) this.#bound.end();
    await this.ended;
  }

  /**
   * Has the node certify a key of this agent. `request` is a certificate signing request (PKCS #10) for an Ed25519 key,
   * as PEM, from {@link createSigningRequest}. Resolves with the agent's and the node's certificates as PEM, valid for
   * an hour.
   *
   * @throws {@link RefusedError} if the node issues no certificates, or the request names another agent.
   */
  certify(request: string): Promise<string> {
    return this.#bound.certify(request);
  }

  /** Reserves the agent for one platform. @internal */
  claim(): void {
    if (this.#isClaimed) throw new WhimbrelError("the agent already belongs to a platform: create another object");
    this.#isClaimed = true;
  }

  /** Releases the agent after a failed creation. @internal */
  release(): void {
    this.#isClaimed = false;
  }

  /** @internal */
  bind(port: SessionPort): void {
    this.#port = port;
    const { saver } = port;
    // Until the agent declares a state, its saved state stays as it is.
    const state = saver?.restored?.state ?? new TextEncoder().encode("null");
    if (saver) saver.source = () => ({ state, upto: 0, ...(this.#isSetUp && this.#progress.covered) });
  }

  /** Writer of the agent's state, if the agent is durable. @internal */
  get saver(): StateSaver | undefined {
    return this.#port?.saver;
  }

  /** @internal */
  settle(): void {
    this.#isSetUp = true;
  }

  /** Reports an error to {@link Agent.onError}. Prints an error that `onError` throws. @internal */
  tell(error: unknown, message?: Message): void {
    try {
      this.onError(error, message);
    } catch (worse) {
      console.error(`agent ${this.#port?.aid.name ?? ""}: onError throws`, worse, "when called with", error);
    }
  }

  /** @internal */
  deliver(message: Message, bytes: number, number: number): void {
    const { saver } = this;
    const isDone = saver && this.#progress.take(number);
    if (isDone) this.#open.set(message, isDone);
    // A durable agent's saves report its handled messages.
    if (!saver) this.#given.set(message, number);
    const done = (isTaken?: true): void => {
      if (!isTaken || !this.staysOpen(message)) this.#handled(message);
      if (isTaken) return;
      this.#open.delete(message);
      isDone?.();
      saver?.touched(this.#progress.open);
    };
    if (this.#mailbox.deliver(message, bytes, done)) return;
    done();
    this.#answer(message, "failure", MAILBOX_FULL);
  }

  /** True if a taken message counts as handled only after the agent has finished or answered it. @internal */
  staysOpen(message: Message): boolean {
    return isAsked(message) && !this.#answered.has(message);
  }

  #handled(message: Message): void {
    if (this.#given.delete(message)) this.#port?.handled();
  }

  /** Numbers of messages that the agent has not handled. @internal */
  get given(): Iterable<number> {
    return this.#given.values();
  }

  /**
   * Answers a message that nothing handles, as a node does for a full mailbox. Such answers themselves get no answer.
   */
  #answer(message: Message, performative: Performative, content: Value): void {
    const error = errorOf(message);
    if (error === undefined) this.reply(message, performative, content);
    else this.tell(error, message);
  }

  /** @internal */
  over(reason: string, successor?: Promise<Agent>): void {
    if (this.signal.aborted) return;
    this.successor = successor;
    this.#ending.abort(new EndedError(`the agent ended: ${reason}`));
    this.#ended?.(reason);
    void this.#try(() => this.takeDown(reason));
  }
}

/** Function that sets up an agent without a class of its own. */
export type Setup = (agent: Agent) => unknown;

let ids = 0;
const origin = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Returns a unique identifier. */
export function newId(agent: string): string {
  return `${agent}-${origin}-${++ids}`;
}
