/** Messages on their way from a session to whoever takes them. */
import type { Message } from "../acl/message.js";
import { matches, type Template } from "../acl/template.js";
import { DeadlineError } from "./errors.js";
import { MAILBOX_MESSAGES_MAX, TIMER_MS_MAX } from "./limits.js";

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
  readonly take: (message: Message) => void;
}

/** Somebody who waits: hears one thing, once. */
interface Waiter {
  give(message: Message): void;
  fail(error: unknown): void;
}

function fits(matcher: Matcher, message: Message): boolean {
  return typeof matcher === "function" ? matcher(message) : matches(matcher, message);
}

/** One agent's messages. */
export class Mailbox {
  /** Whoever listens to a conversation: comes before all handlers, the first that began first. */
  readonly #listeners = new Set<Taker>();
  readonly #handlers = new Set<Taker>();
  #messages: Message[] = [];

  /** Hands a message to whoever takes it, or keeps it; false if there is no place for it. */
  deliver(message: Message): boolean {
    for (const takers of [this.#listeners, this.#handlers]) {
      for (const taker of takers) {
        if (!fits(taker.matcher, message)) continue;
        taker.take(message);
        return true;
      }
    }
    if (this.#messages.length >= MAILBOX_MESSAGES_MAX) return false;
    this.#messages.push(message);
    return true;
  }

  /** How many messages wait that nobody took. */
  get size(): number {
    return this.#messages.length;
  }

  /** Gives each message that fits to a handler, those that wait at once; what is returned ends that. */
  handle(matcher: Matcher, take: (message: Message) => void): () => void {
    return this.#add(this.#handlers, { matcher, take });
  }

  /** Collects the messages that fit, those that wait first. */
  listen(matcher: Matcher, ended: AbortSignal): Inbox {
    const inbox = new Inbox(ended, () => stop());
    const stop = this.#add(this.#listeners, { matcher, take: (message) => inbox.add(message) });
    return inbox;
  }

  /** The next message that fits, and only that. */
  async receive(matcher: Matcher, waiting: Waiting, ended: AbortSignal): Promise<Message> {
    const found = this.#messages.findIndex((message) => fits(matcher, message));
    const [waited] = found < 0 ? [] : this.#messages.splice(found, 1);
    if (waited) return waited;
    const inbox = new Inbox(ended, () => stop());
    const stop = this.#add(this.#listeners, {
      matcher,
      take: (message) => {
        stop();
        inbox.add(message);
      },
    });
    try {
      return await inbox.next(waiting);
    } finally {
      inbox.close();
    }
  }

  #add(takers: Set<Taker>, taker: Taker): () => void {
    takers.add(taker);
    const waited = this.#messages.filter((message) => fits(taker.matcher, message));
    if (waited.length > 0) this.#messages = this.#messages.filter((message) => !waited.includes(message));
    waited.forEach((message) => taker.take(message));
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
 */
export class Inbox implements AsyncIterable<Message> {
  readonly #messages: Message[] = [];
  readonly #ended: AbortSignal;
  readonly #stops: (() => void)[];
  #failure: { readonly error: unknown } | undefined;
  /** Those that wait for a message, the first that came first: while there are any there is no message. */
  readonly #waiters = new Set<Waiter>();

  /** @internal */
  constructor(ended: AbortSignal, stop: () => void) {
    this.#ended = ended;
    this.#stops = [stop];
  }

  /** @internal */
  add(message: Message): void {
    const [waiter] = this.#waiters;
    if (waiter) waiter.give(message);
    else this.#messages.push(message);
  }

  /** No message will come: whoever waits hears why. */
  fail(error: unknown): void {
    this.#failure = { error };
    for (const waiter of [...this.#waiters]) waiter.fail(error);
  }

  /** Takes no more messages. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
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
    const { timeoutMs = Infinity, signal } = waiting;
    const message = this.#messages.shift();
    if (message) return message;
    if (this.#failure) throw this.#failure.error;
    if (signal?.aborted) throw signal.reason;
    if (this.#ended.aborted) throw this.#ended.reason;
    return this.#wait(timeoutMs, signal);
  }

  #wait(timeoutMs: number, signal: AbortSignal | undefined): Promise<Message> {
    return new Promise((resolve, reject) => {
      const until = performance.now() + timeoutMs;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const aborted = (): void => waiter.fail(signal?.reason);
      const ended = (): void => waiter.fail(this.#ended.reason);
      const leave = (): void => {
        this.#waiters.delete(waiter);
        if (timer !== undefined) clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        this.#ended.removeEventListener("abort", ended);
      };
      const waiter: Waiter = {
        give: (message) => (leave(), resolve(message)),
        fail: (error) => (leave(), reject(error)),
      };
      const late = (): void => {
        const left = until - performance.now();
        if (left <= 0) waiter.fail(new DeadlineError(`no message came within ${Math.round(timeoutMs)} ms`));
        else if (left < Infinity) timer = setTimeout(late, Math.min(Math.ceil(left), TIMER_MS_MAX));
      };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", aborted);
      this.#ended.addEventListener("abort", ended);
      late();
    });
  }

  /** The messages until the agent ends; leaving the loop closes the inbox. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
    try {
      while (!this.#ended.aborted) {
        try {
          yield await this.next();
        } catch (error) {
          if (error === this.#ended.reason && this.#ended.aborted) return;
          throw error;
        }
      }
    } finally {
      this.close();
    }
  }
}
