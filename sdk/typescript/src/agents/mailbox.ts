/** Messages on their way from a session to whoever takes them. */
import type { Message } from "../acl/message.js";
import { matches, type Template } from "../acl/template.js";
import { whenAborted } from "./aborts.js";
import { DeadlineError } from "./errors.js";
import { CONVERSATIONS_GIVEN_UP_MAX, MAILBOX_BYTES_MAX, MAILBOX_MESSAGES_MAX, MESSAGE_BYTES_MIN, TIMER_MS_MAX } from "./limits.js";

/** How long to wait. */
export interface Waiting {
  /** Gives up after so many milliseconds, with a {@link DeadlineError}. */
  readonly timeoutMs?: number | undefined;
  /** Gives up when this says so, with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Which messages somebody takes: a template, or a function. */
export type Matcher = Template | ((message: Message) => boolean);

interface Taker {
  readonly matcher: Matcher;
  /** Takes a message; false if there is no place for it. */
  readonly take: (held: Held) => boolean;
}

/** What a handler does with a message: a promise if it is not done yet. */
export type Take = (message: Message) => Promise<void> | undefined;

type Done = (isTaken?: true) => void;

/** A message and the memory that it takes, in bytes. */
interface Held {
  readonly message: Message;
  readonly bytes: number;
  /** Called when the agent is done with a message, or somebody took it and is not done yet. */
  readonly done: Done;
}

/**
 * How much memory the messages take that an agent was given and is not done with. An agent whose handlers never end would else
 * take all there is. It holds back nobody who waits for an answer: that would wait for ever if the handlers did, too.
 */
class Room {
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** False if there is none for so much more. One message has a place, however long it is. */
  take({ bytes }: Held): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes > MAILBOX_BYTES_MAX) return false;
    this.#bytes += bytes;
    return true;
  }

  leave({ bytes }: Held): void {
    this.#bytes -= bytes;
  }
}

/** Somebody who waits: hears one thing, once. */
interface Waiter {
  give(held: Held): void;
  fail(error: unknown): void;
}

const nothing = (): void => undefined;

/** Whose mailbox it is: what it is told of. */
export interface Owner {
  /** A function that was to say whether the message fits threw: it does not fit. */
  failed(error: unknown, message: Message): void;
  /** Nobody took the message, and one of those who might have could not say whether it fits. It is not kept. */
  notUnderstood(message: Message): void;
  /** There was no place for a message that came while the agent was suspended. */
  crowded(message: Message): void;
}

const NOBODY: Owner = { failed: nothing, notUnderstood: nothing, crowded: nothing };

/** One agent's messages. */
export class Mailbox {
  readonly #owner: Owner;
  /** Whoever listens to a conversation: comes before all handlers, the first that began first. */
  readonly #listeners = new Set<Taker>();
  readonly #handlers = new Set<Taker>();
  readonly #room = new Room();
  /** Conversations nobody waits for any more, and messages nobody waits for the answers to: the oldest first. */
  readonly #givenUp = new Set<string>();
  #waiting: Held[] = [];
  /** What came while the agent was suspended, if it is. */
  #suspended: Held[] | undefined;

  constructor(owner: Owner = NOBODY) {
    this.#owner = owner;
  }

  /** Nobody is handed anything any more, until it goes on. */
  suspend(): void {
    this.#suspended ??= [];
  }

  /** Hands out what came meanwhile, in its order, unless it is suspended again by one of them. */
  goOn(): void {
    const came = this.#suspended ?? [];
    this.#suspended = undefined;
    for (const [at, held] of came.entries()) {
      if (this.#suspended) return void (this.#suspended = [...came.slice(at), ...(this.#suspended as Held[])]);
      this.#room.leave(held);
      if (this.#take(held)) continue;
      held.done();
      this.#owner.crowded(held.message);
    }
  }

  /**
   * Hands a message to whoever takes it, or keeps it; false if there is no place for it. `bytes` is the memory that it takes.
   * A late answer that nobody takes is not kept.
   */
  deliver(message: Message, bytes = 0, done: Done = nothing): boolean {
    const held = { message, bytes: bytes + MESSAGE_BYTES_MIN, done };
    if (this.#suspended === undefined) return this.#take(held);
    if (this.#suspended.length >= MAILBOX_MESSAGES_MAX || !this.#room.take(held)) return false;
    this.#suspended.push(held);
    return true;
  }

  #take(held: Held): boolean {
    let isClear = true;
    const failed = (): void => void (isClear = false);
    for (const takers of [this.#listeners, this.#handlers]) {
      for (const taker of takers) if (this.#fits(taker.matcher, held.message, failed)) return taker.take(held);
    }
    const isLate = this.#isLate(held.message);
    if (isLate || !isClear) {
      held.done();
      if (!isLate) this.#owner.notUnderstood(held.message);
      return true;
    }
    if (this.#waiting.length >= MAILBOX_MESSAGES_MAX || !this.#room.take(held)) return false;
    this.#waiting.push(held);
    return true;
  }

  /** What a function throws that was to say so is no reason to lose the message, nor to keep it from others. */
  #fits(matcher: Matcher, message: Message, failed = nothing): boolean {
    if (typeof matcher !== "function") return matches(matcher, message);
    try {
      return matcher(message);
    } catch (error) {
      failed();
      this.#owner.failed(error, message);
      return false;
    }
  }

  /** How many messages wait that nobody took. */
  get size(): number {
    return this.#waiting.length + (this.#suspended?.length ?? 0);
  }

  /** The memory that those messages take which wait, or are being handled. */
  get bytes(): number {
    return this.#room.bytes;
  }

  /** Gives each message that fits to a handler, those that wait at once; what is returned ends that. */
  handle(matcher: Matcher, take: Take): () => void {
    const begin = (held: Held): boolean => {
      if (!this.#room.take(held)) return false;
      const done = (): void => {
        this.#room.leave(held);
        held.done();
      };
      held.done(true);
      const handling = take(held.message);
      if (handling) void handling.finally(done);
      else done();
      return true;
    };
    return this.#add(this.#handlers, { matcher, take: begin });
  }

  /** Collects the messages that fit, those that wait first. */
  listen(matcher: Matcher, ended: AbortSignal): Inbox {
    const inbox = new Inbox(ended, this.#room, () => stop());
    const stop = this.#add(this.#listeners, { matcher, take: (held) => inbox.put(held) });
    return inbox;
  }

  /** The next message that fits, and only that. */
  async receive(matcher: Matcher, waiting: Waiting, ended: AbortSignal): Promise<Message> {
    const found = this.#waiting.findIndex(({ message }) => this.#fits(matcher, message));
    const [waited] = found < 0 ? [] : this.#waiting.splice(found, 1);
    if (waited) {
      this.#room.leave(waited);
      waited.done();
      return waited.message;
    }
    const inbox = new Inbox(ended, this.#room, () => stop());
    const take = (held: Held): boolean => {
      stop();
      return inbox.put(held);
    };
    const stop = this.#add(this.#listeners, { matcher, take });
    try {
      return await inbox.next(waiting);
    } finally {
      inbox.close();
    }
  }

  /** Nobody waits any more for what answers this message, or is said in this conversation. */
  giveUp(id: string): void {
    this.#givenUp.add(id);
    if (this.#givenUp.size > CONVERSATIONS_GIVEN_UP_MAX) for (const oldest of this.#givenUp) if (this.#givenUp.delete(oldest)) break;
    const late = this.#waiting.filter(({ message }) => this.#isLate(message));
    for (const held of late) {
      this.#room.leave(held);
      held.done();
    }
    if (late.length > 0) this.#waiting = this.#waiting.filter((held) => !late.includes(held));
  }

  #isLate({ inReplyTo, conversationId }: Message): boolean {
    const id = inReplyTo ?? conversationId;
    return id !== undefined && this.#givenUp.has(id);
  }

  #add(takers: Set<Taker>, taker: Taker): () => void {
    takers.add(taker);
    const waited = this.#waiting.filter(({ message }) => this.#fits(taker.matcher, message));
    if (waited.length > 0) this.#waiting = this.#waiting.filter((held) => !waited.includes(held));
    for (const held of waited) {
      this.#room.leave(held);
      // What there was a place for has one.
      taker.take(held);
    }
    return () => void takers.delete(taker);
  }
}

/**
 * The messages that somebody listens to, in their order. Close it when no more are wanted: until then they come here and
 * nowhere else.
 *
 * ```ts
 * for await (const message of agent.listen({ conversationId: "c1" })) { ... }
 * ```
 *
 * An agent that is kept is done with a message of such a loop when the loop asks for the next one or is left, and with one that
 * {@link Inbox.next} returned at once.
 */
export class Inbox implements AsyncIterable<Message> {
  readonly #waiting: Held[] = [];
  readonly #ended: AbortSignal;
  readonly #room: Room;
  readonly #stops: (() => void)[];
  #isClosed = false;
  #givenUp: (() => void) | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Those that wait for a message, the first that came first: while there are any there is no message. */
  readonly #waiters = new Set<Waiter>();

  /** @internal */
  constructor(ended: AbortSignal, room: Room, stop: () => void) {
    this.#ended = ended;
    this.#room = room;
    this.#stops = [stop];
  }

  /** Gives a message to whoever waits for one, or keeps it; false if there is no place for it. @internal */
  put(held: Held): boolean {
    const [waiter] = this.#waiters;
    if (waiter) {
      waiter.give(held);
    } else if (!this.#room.take(held)) return false;
    else this.#waiting.push(held);
    return true;
  }

  /** Puts back what was taken. @internal */
  add(message: Message): void {
    this.put({ message, bytes: 0, done: nothing });
  }

  /** No message will come: whoever waits hears why. */
  fail(error: unknown): void {
    this.#failure = { error };
    for (const waiter of [...this.#waiters]) waiter.fail(error);
  }

  /** Takes no more messages. Those that are there can still be taken. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
    // Who closed it may never ask for them: they are his, and not the mailbox's any more.
    if (!this.#isClosed) {
      for (const held of this.#waiting) {
        this.#room.leave(held);
        held.done();
      }
    }
    this.#isClosed = true;
  }

  /** Takes no more messages, and wants none of those that come late: they are dropped, unless a handler takes them. */
  giveUp(): void {
    this.close();
    this.#givenUp?.();
    this.#givenUp = undefined;
  }

  /** @internal */
  whenGivenUp(what: () => void): void {
    this.#givenUp = what;
  }

  /** @internal */
  whenClosed(stop: () => void): void {
    this.#stops.push(stop);
  }

  /**
   * The next message. Who asks first gets the first.
   *
   * @throws {@link DeadlineError} if it does not come in time; {@link EndedError} if the agent ends.
   */
  async next(waiting: Waiting = {}): Promise<Message> {
    const { message, done } = await this.#next(waiting);
    done();
    return message;
  }

  async #next({ timeoutMs = Infinity, signal }: Waiting): Promise<Held> {
    const held = this.#waiting.shift();
    if (held && !this.#isClosed) this.#room.leave(held);
    // Those that were there when it was closed are done with.
    if (held) return this.#isClosed ? { ...held, done: nothing } : held;
    if (this.#failure) throw this.#failure.error;
    if (signal?.aborted) throw signal.reason;
    if (this.#ended.aborted) throw this.#ended.reason;
    return this.#wait(timeoutMs, signal);
  }

  #wait(timeoutMs: number, signal: AbortSignal | undefined): Promise<Held> {
    return new Promise((resolve, reject) => {
      const until = performance.now() + timeoutMs;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const leave = (): void => {
        this.#waiters.delete(waiter);
        if (timer !== undefined) clearTimeout(timer);
        for (const stop of stops) stop();
      };
      const waiter: Waiter = {
        give: (held) => (leave(), resolve(held)),
        fail: (error) => (leave(), reject(error)),
      };
      const late = (): void => {
        const left = until - performance.now();
        if (left <= 0) waiter.fail(new DeadlineError(`no message came within ${Math.round(timeoutMs)} ms`));
        else if (left < Infinity) timer = setTimeout(late, Math.min(Math.ceil(left), TIMER_MS_MAX));
      };
      this.#waiters.add(waiter);
      const stops = [this.#ended, ...(signal ? [signal] : [])].map((one) => whenAborted(one, () => waiter.fail(one.reason)));
      late();
    });
  }

  /** The messages until the agent ends; leaving the loop closes the inbox. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
    let done: Done = nothing;
    try {
      while (!this.#ended.aborted) {
        try {
          const held = await this.#next({});
          ({ done } = held);
          done(true);
          yield held.message;
        } catch (error) {
          if (error === this.#ended.reason && this.#ended.aborted) return;
          throw error;
        }
        done();
        done = nothing;
      }
    } finally {
      done();
      this.close();
    }
  }
}
