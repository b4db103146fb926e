/**
 * The live socket's client: one connection with questions and watches. It uses no browser API: the caller provides
 * sockets and time.
 *
 * Watches are renewed on each connection. Questions are not, because they may already have been executed.
 */
import { signal } from "@preact/signals";
import type { Answer, Refusal, Request, ServerFrame, Watch, WatchFrame, Welcome } from "./vocabulary.js";

export interface Transport {
  send(text: string): void;
  close(): void;
}

/** Events of a transport. `closed` is the last one. */
export interface Listener {
  opened(): void;
  said(text: string): void;
  closed(): void;
}
export type Dial = (listener: Listener) => Transport;

export interface Clock {
  /** Milliseconds since an arbitrary moment. */
  now(): number;
  /** Runs a function later. The returned function cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** State of the connection. */
export type Phase =
  | { readonly is: "connecting" }
  | { readonly is: "live" }
  /** The connection broke. The next attempt is at `againAt`. */
  | { readonly is: "broken"; readonly attempt: number; readonly againAt: number }
  /** The node has stopped in good order. It is tried again at `againAt`, because it may be started anew. */
  | { readonly is: "ended"; readonly text: string; readonly againAt: number }
  /** The node refused the console for good. */
  | { readonly is: "refused"; readonly reason: string; readonly text: string };

export class LiveError extends Error {
  readonly reason: string;
  constructor(refusal: Refusal) {
    super(refusal.text);
    this.reason = refusal.reason;
  }
}

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;
/** Silence after which a connection with watches is given up. */
const SILENCE_MAX_MS = 20_000;
/** Silence after which a node with steady watches counts as quiet: ten ticks of the society. */
const QUIET_MS = 5_000;
/** Interval of checks for silence. */
const LOOK_MS = 1_000;
/** Frames that arrive at each tick. Other frames arrive only after changes. */
const STEADY: readonly string[] = ["society", "traffic", "health"];
/** Questions that may wait for a connection. */
const WAITING_MAX = 100;

interface Question {
  readonly request: Request;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: LiveError) => void;
}
interface Watcher {
  /** Returns the watch to request. Called for each connection, so that a log continues where it was. */
  readonly wanted: () => Watch;
  readonly on: (frame: WatchFrame) => void;
  readonly refused: (refusal: Refusal) => void;
  /** True after a steady frame of this watch on the current connection. */
  isSteady: boolean;
}

export class LiveClient {
  readonly phase = signal<Phase>({ is: "connecting" });
  /** Last welcome of the node. */
  readonly welcome = signal<Welcome | null>(null);
  /** Seconds of silence of a node with steady watches; 0 while that is normal. */
  readonly quietS = signal(0);

  #token: string;
  #transport: Transport | undefined;
  #attempt = 0;
  /** Reason that the node gave for its end. */
  #endedBy: string | undefined;
  #lastId = 0;
  #heardAt = 0;
  #cancelRetry: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;
  readonly #questions = new Map<number, Question>();
  readonly #watchers = new Map<number, Watcher>();

  constructor(
    private readonly dial: Dial,
    token: string,
    private readonly clock: Clock,
    private readonly random: () => number = Math.random,
  ) {
    this.#token = token;
  }

  /** Connects at once, also during a back-off, or with another token after a refusal. */
  connect(token = this.#token): void {
    this.#token = token;
    this.#leave();
    // A node that ended stays ended until another one answers.
    if (this.#endedBy === undefined) this.phase.value = { is: "connecting" };
    let isOver = false;
    const transport = this.dial({
      opened: () => {
        if (!isOver) transport.send(JSON.stringify({ type: "hello", token: this.#token }));
      },
      said: (text) => {
        if (!isOver) this.#hear(text);
      },
      closed: () => {
        if (isOver) return;
        isOver = true;
        if (this.#transport === transport) this.#lost();
      },
    });
    this.#transport = transport;
  }

  /** Closes the connection for good. */
  close(): void {
    this.#leave();
    this.#failAll("closed", "the console was closed");
  }

  get now(): number {
    return this.clock.now();
  }

  get isLive(): boolean {
    return this.phase.value.is === "live";
  }

  offers(feature: string): boolean {
    return this.welcome.value?.features.includes(feature) ?? false;
  }

  get mayAct(): boolean {
    return this.welcome.value?.role === "admin";
  }

  /** @throws {LiveError} The node's refusal, or `lost` if the connection broke first. */
  ask(request: Request): Promise<Answer> {
    return new Promise((answered, failed) => {
      if (this.#questions.size >= WAITING_MAX) {
        failed(new LiveError({ reason: "busy", text: "too many requests are pending: try again later" }));
        return;
      }
      const id = ++this.#lastId;
      this.#questions.set(id, { request, answered, failed });
      if (this.isLive) this.#say({ type: "ask", id, request });
    });
  }

  /** Starts a watch. The returned function ends it. */
  watch(wanted: Watch | (() => Watch), on: (frame: WatchFrame) => void, refused: (refusal: Refusal) => void = () => {}): () => void {
    const id = ++this.#lastId;
    const watcher = { wanted: typeof wanted === "function" ? wanted : () => wanted, on, refused, isSteady: false };
    this.#watchers.set(id, watcher);
    if (this.isLive) this.#say({ type: "watch", id, ...watcher.wanted() });
    return () => {
      if (this.#watchers.delete(id) && this.isLive) this.#say({ type: "unwatch", id });
    };
  }

  #say(frame: object): void {
    this.#transport?.send(JSON.stringify(frame));
  }

  #hear(text: string): void {
    this.#heardAt = this.clock.now();
    this.quietS.value = 0;
    let frame: ServerFrame;
    try {
      frame = JSON.parse(text) as ServerFrame;
    } catch {
      this.#transport?.close();
      return;
    }
    switch (frame.type) {
      case "welcome":
        return this.#begin(frame);
      case "ended":
        this.#endedBy = frame.text;
        return;
      case "error":
        // The node has too many consoles. Retry later.
        return frame.reason === "busy" ? this.#lost() : this.#refused(frame);
      case "answer": {
        const watcher = this.#watchers.get(frame.id);
        return watcher ? watcher.on(frame) : this.#answer(frame.id, frame.answer);
      }
      case "refused": {
        const watcher = this.#watchers.get(frame.id);
        if (!watcher) return this.#answer(frame.id, { answer: "error", reason: frame.reason, text: frame.text });
        watcher.isSteady = false;
        return watcher.refused(frame);
      }
      default: {
        // A newer node may send frames of unknown watches.
        const watcher = this.#watchers.get(frame.id);
        if (!watcher) return;
        watcher.isSteady = STEADY.includes(frame.type);
        watcher.on(frame);
      }
    }
  }

  #begin(welcome: Welcome): void {
    this.#attempt = 0;
    this.#endedBy = undefined;
    this.welcome.value = welcome;
    this.phase.value = { is: "live" };
    for (const [id, question] of this.#questions) this.#say({ type: "ask", id, request: question.request });
    for (const [id, watcher] of this.#watchers) {
      watcher.isSteady = false;
      this.#say({ type: "watch", id, ...watcher.wanted() });
    }
    this.#listenForSilence();
  }

  #listenForSilence(): void {
    const dueAt = this.clock.now() + LOOK_MS;
    this.#cancelSilence = this.clock.after(LOOK_MS, () => {
      const now = this.clock.now();
      const silentMs = now - this.#heardAt;
      // Timers of a hidden, frozen or busy page are late, and may run before pending messages.
      const isLate = now - dueAt > LOOK_MS;
      if (!isLate && this.#watchers.size > 0 && silentMs > SILENCE_MAX_MS) return this.#lost();
      const isQuiet = !isLate && silentMs >= QUIET_MS && [...this.#watchers.values()].some(({ isSteady }) => isSteady);
      this.quietS.value = isQuiet ? Math.floor(silentMs / 1000) : 0;
      this.#listenForSilence();
    });
  }

  #answer(id: number, answer: Answer): void {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    if (answer.answer === "error") question?.failed(new LiveError(answer));
    else question?.answered(answer);
  }

  #refused(refusal: Refusal): void {
    this.#leave();
    this.phase.value = { is: "refused", reason: refusal.reason, text: refusal.text };
    this.#failAll(refusal.reason, refusal.text);
  }

  /** Closes the connection without reporting it. */
  #leave(): void {
    this.#cancelRetry?.();
    this.#cancelSilence?.();
    this.quietS.value = 0;
    const transport = this.#transport;
    this.#transport = undefined;
    transport?.close();
  }

  #lost(): void {
    this.#leave();
    if (this.phase.value.is === "live") this.#failAll("lost", "connection lost: the request may or may not have been carried out");
    const attempt = ++this.#attempt;
    const most = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (attempt - 1));
    // A random half spreads the reconnections of many consoles.
    const ms = most / 2 + (most / 2) * this.random();
    const againAt = this.clock.now() + ms;
    this.phase.value = this.#endedBy === undefined ? { is: "broken", attempt, againAt } : { is: "ended", text: this.#endedBy, againAt };
    this.#cancelRetry = this.clock.after(ms, () => this.connect());
  }

  #failAll(reason: string, text: string): void {
    const questions = [...this.#questions.values()];
    this.#questions.clear();
    for (const question of questions) question.failed(new LiveError({ reason, text }));
  }
}
