import { Aid } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import { parseJson, valueFromJson, valueToJson } from "../acl/json.js";
import { message as messageOf, replyTo, type Draft, type Message, type Performative } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { whenAborted } from "./aborts.js";
import { Ams } from "./ams.js";
import { Df } from "./df.js";
import { AnswerError, EndedError, errorOf, lateFrom, RefusedError, StayedError } from "./errors.js";
import { Progress, type Keeper, type Restored } from "./keeper.js";
import { ANSWER_MS, TIMER_MS_MAX } from "./limits.js";
import { Inbox, Mailbox, type Matcher, type Waiting } from "./mailbox.js";

/** What an agent has of its session. @internal */
export interface Seat {
  readonly aid: Aid;
  /** If the node refuses it the agent is told. */
  send(message: Message): void;
  /** Calls back if the node refuses it; what is returned ends that. */
  ask(message: Message, refused: (error: RefusedError) => void): () => void;
  /** Notes that the agent has handled a message. */
  handled(): void;
  end(): void;
  certify(request: string): Promise<string>;
  /** What its code is, from its node. */
  fetchCode(code: string): Promise<Uint8Array>;
  /** What brings its state to the node, if it is kept. */
  readonly keeper: Keeper | undefined;
}

/** What whoever wrote to an agent is told that has too much to do. */
const CROWDED = "the mailbox is full";

/** Those who say so wait for an answer, whether they ask for one in particular (`reply-with`) or not. */
const ASKING: readonly string[] = ["request", "query-if", "query-ref", "cfp", "subscribe"];

const isAsked = ({ replyWith, performative }: Message): boolean => replyWith !== undefined || ASKING.includes(performative);

/** Handles a message. What it throws, or rejects with, goes to {@link Agent.onError}; who asked and was not answered yet hears `failure`. */
export type Handler = (message: Message) => unknown;

/**
 * An agent of a platform whose code runs here. It is in the AMS, is found in the DF, sends, receives, is monitored and killed
 * like all others.
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
    crowded: (message) => this.#answer(message, "failure", CROWDED),
  });
  readonly #ending = new AbortController();
  #seat: Seat | undefined;
  #isClaimed = false;
  /** What was due while it was suspended, if it is. */
  #late: Set<() => void> | undefined;
  #ended: ((reason: string) => void) | undefined;
  readonly #progress = new Progress();
  /** Messages that it is not done with, if it is kept. */
  readonly #open = new Map<Message, () => void>();
  /** Messages that the agent has not handled, with the numbers of their frames: the node answers them if it ends. */
  readonly #given = new Map<Message, number>();
  /** Messages that it answered; to agree is no answer yet. */
  readonly #answered = new WeakSet<Message>();
  #isSetUp = false;
  #hasState = false;
  /** Told before its code runs, of what began outside of it. @internal */
  onTurn: (() => void) | undefined;

  /** Resolves with the reason when the agent ended: `finished`, `killed`, or `failed: ...`. */
  readonly ended: Promise<string> = new Promise((resolve) => (this.#ended = resolve));
  /**
   * If it ended because its node handed it over to another one, on which it goes on as it was last saved: the object that it is from then on, set up as this one was. It rejects
   * if that cannot be reached, or the agent had others beside it in its session, which stay.
   */
  successor: Promise<Agent> | undefined;
  /** The directory of services (yellow pages). */
  readonly df: Df = new Df(this);
  /** The directory of agents (white pages). */
  readonly ams: Ams = new Ams(this);

  /** Called when the agent is: what it does before {@link Platform.create} returns. */
  setup(): unknown {
    return undefined;
  }

  /** Called when the agent ended. It can send nothing any more. */
  takeDown(_reason: string): unknown {
    return undefined;
  }

  /** Told of what handlers throw, with the message, and of messages that the node refuses. Prints it, unless overridden. */
  onError(error: unknown, _message?: Message): void {
    console.error(`agent ${this.#seat?.aid.name ?? ""}:`, error);
  }

  /** Its identifier, `name@platform`. */
  get aid(): Aid {
    return this.#bound.aid;
  }

  /** Its local name. */
  get name(): string {
    return this.aid.name;
  }

  /** Aborted when the agent ends: for what is to end with it. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** How many messages wait that nobody took yet. */
  get waiting(): number {
    return this.#mailbox.size;
  }

  /** The memory that messages take which wait or are being handled, in bytes, about: 64 MiB at most, then their senders hear `failure`. */
  get heldBytes(): number {
    return this.#mailbox.bytes;
  }

  get #bound(): Seat {
    if (this.#ending.signal.aborted) throw this.#ending.signal.reason;
    if (this.#seat === undefined) throw new WhimbrelError("the agent is on no platform yet: give it to platform.create");
    return this.#seat;
  }

  // ---- State

  /** What the agent was when its client was here last, if it goes on where it was. Its entry in the DF is there still. */
  get restored(): Restored | undefined {
    return this.keeper?.restored;
  }

  /**
   * Declares what the agent's state is, so that it can be kept ({@link Keep}): `write` says what it is, between two handlers, and
   * `read` is called at once with what it was, if the agent goes on where it was. To be called while it is set up, before handlers are.
   *
   * What a handler changes and says up to an `await` of something that is not there yet is one step. A handler that was waiting when its page was closed begins
   * again, with the same message; so does what a `for await` over {@link Agent.listen} was doing. What {@link Agent.receive} and {@link Inbox.next} return counts as handled. A state has 512 KiB at most: {@link Agent.onError} is told of a longer one, and of what `write` throws, and the node keeps what it has.
   *
   * @throws {@link DecodeError} if what was kept is no value, or of another kind of agent.
   */
  state(write: () => Value, read: (value: Value) => void): void {
    const { keeper } = this.#bound;
    if (!keeper) return;
    const { restored } = keeper;
    if (restored && !restored.code.startsWith("ts:")) throw new WhimbrelError(`what was kept of it is of ${restored.code}, which is no TypeScript`);
    if (restored) read(valueFromJson(parseJson(new TextDecoder().decode(restored.state))));
    keeper.source = () => ({ state: new TextEncoder().encode(valueToJson(write())), ...this.#progress.written });
    this.#hasState = true;
  }

  /**
   * Has the node keep the agent's state as it is now; resolves when it does.
   *
   * @throws {@link RefusedError} if the node does not take it; {@link WhimbrelError} if it is longer than 512 KiB; {@link EndedError} if the agent
   * ends before.
   */
  async save(): Promise<void> {
    await this.#bound.keeper?.save();
  }

  /**
   * Has the agent go on elsewhere, with the state that it declared ({@link Agent.state}): `place` is the name of a device, or of any agent whose session takes
   * agents in ({@link Platform.onOffer}) and knows this code by its name ({@link Keep.code}). It has to be kept. `handled` is the message that it was asked by: it counts as
   * handled. All others whose handlers are not done come again, there. Resolves when it is there; here it has ended then.
   *
   * @throws {@link StayedError} if it stays: it goes on here then.
   */
  async moveTo(place: string, handled?: Message): Promise<void> {
    const { keeper } = this.#bound;
    if (!keeper) throw new StayedError("not_movable", "it is not kept: create says whether it is (`Keep`)");
    if (!this.#hasState || !keeper.source) throw new StayedError("not_movable", "it does not say what its state is (`Agent.state`)");
    if (handled) this.#open.get(handled)?.();
    const written = keeper.source();
    if (!written) throw new StayedError("not_movable", "it is not to be written out now");
    const wasSuspended = this.isSuspended;
    const left = keeper.leave(place, written);
    this.suspend();
    try {
      await left;
    } catch (error) {
      if (!wasSuspended) this.resume();
      throw error;
    }
  }

  /** Somebody else wants it to be elsewhere. @internal */
  yieldTo(place: string): Promise<void> {
    return this.moveTo(place);
  }

  /** Its code, from its node. @internal */
  fetchCode(code: string): Promise<Uint8Array> {
    return this.#bound.fetchCode(code);
  }

  // ---- Messages

  /** Calls a handler for each message that fits, or for all. The first handler that fits takes a message; what is returned removes it. */
  onMessage(handler: Handler): () => void;
  onMessage(matcher: Matcher, handler: Handler): () => void;
  onMessage(...args: [Handler] | [Matcher, Handler]): () => void {
    const [matcher, handler] = args.length === 1 ? [{}, args[0]] : args;
    return this.#mailbox.handle(matcher, (message) => this.#handle(handler, message));
  }

  /**
   * The next message that fits, of those that wait or come and that nobody else takes.
   *
   * @throws {@link DeadlineError} if none comes in time; {@link EndedError} if the agent ends.
   */
  receive(matcher: Matcher = {}, waiting: Waiting = {}): Promise<Message> {
    return this.#mailbox.receive(matcher, waiting, this.signal);
  }

  /** Nobody waits any more for what is said in a conversation of its own. @internal */
  giveUp(conversationId: string): void {
    this.#mailbox.giveUp(conversationId);
  }

  /** All messages that fit, from now on until it is closed; they come before all handlers. */
  listen(matcher: Matcher): Inbox {
    return this.#mailbox.listen(matcher, this.signal);
  }

  /**
   * Sends a message. It arrives once, behind what this agent sent before; if it cannot be delivered, `failure` comes from `ams`.
   *
   * @throws {@link EncodeError} if it cannot be written; {@link EndedError} if the agent ended.
   */
  send(draft: Draft): void {
    const message = messageOf(draft);
    const seat = this.#bound;
    seat.send(message);
  }

  /** Answers a message, in its conversation and protocol, quoting it. */
  reply(asked: Message, performative: Performative, content: Value = null): void {
    if (performative !== "agree") this.#answered.add(asked);
    this.send(replyTo(asked, Aid.NOBODY, performative, content));
    if (performative !== "agree") this.#handled(asked);
  }

  /**
   * Sends a message and waits for the answer to it; an `agree` is no answer yet.
   *
   * @throws {@link RefuseError}, {@link FailureError}, {@link NotUnderstoodError} for such answers; {@link DeadlineError}
   * if none comes within 10 s, or `timeoutMs`; {@link RefusedError} if the node does not take the message.
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
      throw lateFrom(error, draft.receivers, waiting.timeoutMs ?? ANSWER_MS);
    } finally {
      conversation.close();
    }
  }

  /**
   * Sends a message and listens to all that answers it: what quotes it, or quotes nothing and is of its conversation. Close
   * the inbox when no more is wanted; give it up if no answer is: what comes late is dropped then, unless a handler takes it.
   */
  open(draft: Draft): Inbox {
    const id = newId(this.name);
    const { replyWith = id, conversationId = id } = draft;
    const seat = this.#bound;
    // What this agent says to itself, or to a group that it is in, is no answer.
    const isAnswer = (message: Message): boolean => message.inReplyTo === undefined && message.conversationId === conversationId && message.replyWith !== replyWith;
    const inbox = this.listen((message) => message.inReplyTo === replyWith || isAnswer(message));
    // Identifiers that are not its own may be used again.
    inbox.whenGivenUp(() => id === replyWith || id === conversationId ? this.#mailbox.giveUp(id) : undefined);
    try {
      inbox.whenClosed(seat.ask(messageOf({ ...draft, replyWith, conversationId }), (error) => inbox.fail(error)));
    } catch (error) {
      inbox.close();
      throw error;
    }
    return inbox;
  }

  // ---- Behaviours: what an agent does besides answering. All end with it.

  /** Does something once, now; what it throws goes to {@link Agent.onError}. Await several in turn, or at once by `Promise.all`. */
  run(behaviour: (signal: AbortSignal) => unknown): Promise<void> {
    return this.#try(() => behaviour(this.signal));
  }

  /** Does something after so many milliseconds, unless the agent ended; when it goes on, if it is suspended then. What is returned takes it back. */
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

  /** Does something again and again, so many milliseconds after it was done with the last time. What is returned ends that. */
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

  /** Undefined if the handler is done. */
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
    // That the agent ended is no fault of whoever was waiting then.
    if (this.signal.aborted && error === this.signal.reason) return;
    if (message && !this.signal.aborted) this.#fail(message, error);
    this.tell(error, message);
  }

  /** Who asked and was not answered is not to wait for ever. */
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

  /** Whether it is suspended. */
  get isSuspended(): boolean {
    return this.#late !== undefined;
  }

  /**
   * Handles nothing until it is resumed: messages wait, and so do timers. It is this program that holds it; to the AMS, which has not asked
   * for it, the agent is active.
   */
  suspend(): void {
    this.#late ??= new Set();
    this.#mailbox.suspend();
  }

  /** Goes on, with what came meanwhile first. */
  resume(): void {
    const late = this.#late ?? [];
    this.#late = undefined;
    this.#mailbox.goOn();
    for (const due of late) {
      // Somebody may have suspended it again.
      if (this.isSuspended) (this.#late as Set<() => void> | undefined)?.add(due);
      else due();
    }
  }

  /** Ends the agent: it leaves the AMS and the DF. */
  async end(): Promise<void> {
    if (!this.signal.aborted) this.#bound.end();
    await this.ended;
  }

  /**
   * Has the node certify a key of this agent's own: a certificate signing request (PKCS #10) for an Ed25519 key, as PEM, which
   * {@link createSigningRequest} makes. Resolves with the certificate and that of its node, as PEM, good for an hour.
   *
   * @throws {@link RefusedError} if the node has no certificate for its agents, or the request is for somebody else.
   */
  certify(request: string): Promise<string> {
    return this.#bound.certify(request);
  }

  /** It is to be on a platform, and on no other. @internal */
  claim(): void {
    if (this.#isClaimed) throw new WhimbrelError("the agent is on a platform already");
    this.#isClaimed = true;
  }

  /** The platform did not want it: another may. @internal */
  release(): void {
    this.#isClaimed = false;
  }

  /** @internal */
  bind(seat: Seat): void {
    this.#seat = seat;
    const { keeper } = seat;
    // Until it declares what it is, it is what it was.
    const state = keeper?.restored?.state ?? new TextEncoder().encode("null");
    if (keeper) keeper.source = () => ({ state, upto: 0, ...(this.#isSetUp && this.#progress.written) });
  }

  /** What brings its state to the node, if it is kept. @internal */
  get keeper(): Keeper | undefined {
    return this.#seat?.keeper;
  }

  /** @internal */
  settle(): void {
    this.#isSetUp = true;
  }

  /** Tells of an error; one that {@link Agent.onError} throws is printed. @internal */
  tell(error: unknown, message?: Message): void {
    try {
      this.onError(error, message);
    } catch (worse) {
      console.error(`agent ${this.#seat?.aid.name ?? ""}: onError throws`, worse, "when told of", error);
    }
  }

  /** @internal */
  deliver(message: Message, bytes: number, number: number): void {
    const { keeper } = this;
    const isDone = keeper && this.#progress.take(number);
    if (isDone) this.#open.set(message, isDone);
    // For a kept agent, its saves say what is handled.
    if (!keeper) this.#given.set(message, number);
    const done = (isTaken?: true): void => {
      if (!isTaken || !this.staysOpen(message)) this.#handled(message);
      if (isTaken) return;
      this.#open.delete(message);
      isDone?.();
      keeper?.touched(this.#progress.open);
    };
    if (this.#mailbox.deliver(message, bytes, done)) return;
    done();
    this.#answer(message, "failure", CROWDED);
  }

  /**
   * True if a message that was taken counts as handled only when the agent is done with it, or answers it. @internal
   */
  staysOpen(message: Message): boolean {
    return isAsked(message) && !this.#answered.has(message);
  }

  #handled(message: Message): void {
    if (this.#given.delete(message)) this.#seat?.handled();
  }

  /** Numbers of messages that the agent has not handled. @internal */
  get given(): Iterable<number> {
    return this.#given.values();
  }

  /** Says, as a node does of whose mailbox is full, why nobody handles a message. What is such an answer itself has none. */
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

/** What a program sets an agent up with, if it needs no class of its own. */
export type Setup = (agent: Agent) => unknown;

let ids = 0;
const origin = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** An identifier that nobody else uses. */
export function newId(agent: string): string {
  return `${agent}-${origin}-${++ids}`;
}
