/** Mailbox of an agent: messages between the session and their receivers. */
import type { Message } from "../acl/message.js";
import { matches, type Template } from "../acl/template.js";
import { whenAborted } from "./aborts.js";
import { ChurnList, type ListItem } from "../collections/churn-list.js";
import { DeadlineError } from "./errors.js";
import { CONVERSATIONS_GIVEN_UP_MAX, MAILBOX_BYTES_MAX, MAILBOX_MESSAGES_MAX, MESSAGE_BYTES_MIN, TIMER_MS_MAX } from "./limits.js";

/** Limits of waiting. */
export interface Waiting {
  /** Milliseconds until a {@link DeadlineError}. */
  readonly timeoutMs?: number | undefined;
  /** Aborts waiting, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Selects messages: a template, or a function. */
export type Matcher = Template | ((message: Message) => boolean);

interface Receiver extends ListItem {
  readonly matcher: Matcher;
  /** Takes a message; false if there is no room. */
  readonly take: (held: MailboxEntry) => boolean;
}

/** Handles a message. Returns a promise if the work continues. */
export type TakeMessage = (message: Message) => Promise<void> | undefined;

type Done = (isTaken?: true) => void;

/** A message and its estimated memory in bytes. */
interface MailboxEntry {
  readonly message: Message;
  readonly bytes: number;
  /** Called when the agent has finished the message, or (true) when it was taken but is not finished. */
  readonly done: Done;
}

/**
 * Memory of an agent's waiting and current messages. Without the limit, handlers that never finish would use up all
 * memory. Messages for a waiting receiver are exempt, because the handlers may wait for that receiver.
 */
class MemoryBudget {
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Reserves memory; false if there is none left. A single message always fits. */
  take({ bytes }: MailboxEntry): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes > MAILBOX_BYTES_MAX) return false;
    this.#bytes += bytes;
    return true;
  }

  leave({ bytes }: MailboxEntry): void {
    this.#bytes -= bytes;
  }
}

/** A receiver of one message. */
interface Waiter extends ListItem {
  give(held: MailboxEntry): void;
  fail(error: unknown): void;
}

const nothing = (): void => undefined;

/** Callbacks to the owner of a mailbox. */
export interface MailboxOwner {
  /** A matcher function threw. The message does not match. */
  failed(error: unknown, message: Message): void;
  /** Nothing took the message, and a matcher threw. The message is dropped. */
  notUnderstood(message: Message): void;
  /** A message that arrived while the agent was suspended has no room. */
  mailboxFull(message: Message): void;
}

const NOBODY: MailboxOwner = { failed: nothing, notUnderstood: nothing, mailboxFull: nothing };

/** An agent's mailbox. */
export class Mailbox {
  readonly #owner: MailboxOwner;
  /** Inboxes. They take priority over handlers, the oldest first. */
  readonly #listeners = new ChurnList<Receiver>();
  readonly #handlers = new ChurnList<Receiver>();
  readonly #room = new MemoryBudget();
  /** Identifiers of abandoned conversations and requests, the oldest first. */
  readonly #givenUp = new Set<string>();
  #waiting: MailboxEntry[] = [];
  /** Messages that arrived while suspended; undefined if not suspended. */
  #suspended: MailboxEntry[] | undefined;

  constructor(owner: MailboxOwner = NOBODY) {
    this.#owner = owner;
  }

  /** Holds all messages until {@link Mailbox.goOn}. */
  suspend(): void {
    this.#suspended ??= [];
  }

  /** Delivers held messages in order, until one of them suspends the mailbox again. */
  goOn(): void {
    const came = this.#suspended ?? [];
    this.#suspended = undefined;
    for (const [at, held] of came.entries()) {
      if (this.#suspended) return void (this.#suspended = [...came.slice(at), ...(this.#suspended as MailboxEntry[])]);
      this.#room.leave(held);
      if (this.#take(held)) continue;
      held.done();
      this.#owner.mailboxFull(held.message);
    }
  }

  /**
   * Delivers a message to a receiver, or keeps it. Returns false if there is no room. `bytes` is its memory. A late
   * answer that nothing takes is dropped.
   */
  deliver(message: Message, bytes = 0, done: Done = nothing): boolean {
    const held = { message, bytes: bytes + MESSAGE_BYTES_MIN, done };
    if (this.#suspended === undefined) return this.#take(held);
    if (this.#suspended.length >= MAILBOX_MESSAGES_MAX || !this.#room.take(held)) return false;
    this.#suspended.push(held);
    return true;
  }

  #take(held: MailboxEntry): boolean {
    let isClear = true;
    const failed = (): void => void (isClear = false);
    const fits = (receiver: Receiver): boolean => this.#fits(receiver.matcher, held.message, failed);
    const receiver = this.#listeners.find(fits) ?? this.#handlers.find(fits);
    if (receiver) return receiver.take(held);
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

  /** Returns true if the message matches. A matcher that throws must not keep the message from other receivers. */
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

  /** Number of messages that nothing has taken. */
  get size(): number {
    return this.#waiting.length + (this.#suspended?.length ?? 0);
  }

  /** Memory of waiting and current messages. */
  get bytes(): number {
    return this.#room.bytes;
  }

  /** Adds a handler, also for waiting messages. The returned function removes it. */
  handle(matcher: Matcher, take: TakeMessage): () => void {
    const begin = (held: MailboxEntry): boolean => {
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

  /** Collects matching messages, the waiting ones first. */
  listen(matcher: Matcher, ended: AbortSignal): Inbox {
    const inbox = new Inbox(ended, this.#room, () => stop());
    const stop = this.#add(this.#listeners, { matcher, take: (held) => inbox.put(held) });
    return inbox;
  }

  /** Takes the next matching message. */
  async receive(matcher: Matcher, waiting: Waiting, ended: AbortSignal): Promise<Message> {
    const found = this.#waiting.findIndex(({ message }) => this.#fits(matcher, message));
    const [waited] = found < 0 ? [] : this.#waiting.splice(found, 1);
    if (waited) {
      this.#room.leave(waited);
      waited.done();
      return waited.message;
    }
    const inbox = new Inbox(ended, this.#room, () => stop());
    const take = (held: MailboxEntry): boolean => {
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

  /** Marks a request or conversation as abandoned. */
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

  #add(receivers: ChurnList<Receiver>, receiver: Receiver): () => void {
    receivers.add(receiver);
    const waited = this.#waiting.filter(({ message }) => this.#fits(receiver.matcher, message));
    if (waited.length > 0) this.#waiting = this.#waiting.filter((held) => !waited.includes(held));
    for (const held of waited) {
      this.#room.leave(held);
      // A waiting message has reserved its memory already.
      receiver.take(held);
    }
    return () => void receivers.delete(receiver);
  }
}

/**
 * Matching messages in their order. Until the inbox is closed, no other receiver gets them.
 *
 * ```ts
 * for await (const message of agent.listen({ conversationId: "c1" })) { ... }
 * ```
 *
 * In a durable agent, a message of such a loop is finished when the loop asks for the next one or is left. A message
 * from {@link Inbox.next} is finished at once.
 */
export class Inbox implements AsyncIterable<Message> {
  readonly #waiting: MailboxEntry[] = [];
  readonly #ended: AbortSignal;
  readonly #room: MemoryBudget;
  readonly #stops: (() => void)[];
  #isClosed = false;
  #givenUp: (() => void) | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Waiting receivers, the oldest first. While there are any, no message waits. */
  readonly #waiters = new ChurnList<Waiter>();

  /** @internal */
  constructor(ended: AbortSignal, room: MemoryBudget, stop: () => void) {
    this.#ended = ended;
    this.#room = room;
    this.#stops = [stop];
  }

  /** Gives a message to a waiting receiver, or keeps it. Returns false if there is no room. @internal */
  put(held: MailboxEntry): boolean {
    const waiter = this.#waiters.find(() => true);
    if (waiter) {
      waiter.give(held);
    } else if (!this.#room.take(held)) return false;
    else this.#waiting.push(held);
    return true;
  }

  /** Puts a taken message back. @internal */
  add(message: Message): void {
    this.put({ message, bytes: 0, done: nothing });
  }

  /** Fails all waiting receivers. */
  fail(error: unknown): void {
    this.#failure = { error };
    for (const waiter of this.#waiters) waiter.fail(error);
  }

  /** Stops collecting. Collected messages can still be taken. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
    // The owner may never take the rest, so it no longer counts as the mailbox's.
    if (!this.#isClosed) {
      for (const held of this.#waiting) {
        this.#room.leave(held);
        held.done();
      }
    }
    this.#isClosed = true;
  }

  /** Stops collecting, and drops late messages that no handler takes. */
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
   * Takes the next message. The first caller gets the first message.
   *
   * @throws {@link DeadlineError} if none arrives in time. {@link EndedError} if the agent ends.
   */
  async next(waiting: Waiting = {}): Promise<Message> {
    const { message, done } = await this.#next(waiting);
    done();
    return message;
  }

  async #next({ timeoutMs = Infinity, signal }: Waiting): Promise<MailboxEntry> {
    const held = this.#waiting.shift();
    if (held && !this.#isClosed) this.#room.leave(held);
    // Messages that waited at the time of closing are finished already.
    if (held) return this.#isClosed ? { ...held, done: nothing } : held;
    if (this.#failure) throw this.#failure.error;
    if (signal?.aborted) throw signal.reason;
    if (this.#ended.aborted) throw this.#ended.reason;
    return this.#wait(timeoutMs, signal);
  }

  #wait(timeoutMs: number, signal: AbortSignal | undefined): Promise<MailboxEntry> {
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
        if (left <= 0) waiter.fail(new DeadlineError(`no message within ${Math.round(timeoutMs)} ms`));
        else if (left < Infinity) timer = setTimeout(late, Math.min(Math.ceil(left), TIMER_MS_MAX));
      };
      this.#waiters.add(waiter);
      const stops = [this.#ended, ...(signal ? [signal] : [])].map((one) => whenAborted(one, () => waiter.fail(one.reason)));
      late();
    });
  }

  /** Iterates over the messages until the agent ends. Leaving the loop closes the inbox. */
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
