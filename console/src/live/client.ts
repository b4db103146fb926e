/**
 * The live socket's client: one connection, questions and watches over it. It knows no browser: sockets and time are given to it.
 *
 * Watches outlive connections: they are asked for again once there is a new one. Questions do not, for nobody knows whether they were heard.
 */
import { signal } from "@preact/signals";
import type { Answer, Refusal, Request, ServerFrame, Watch, WatchFrame, Welcome } from "./vocabulary.js";

export interface Transport {
  send(text: string): void;
  close(): void;
}

/** What a transport tells; after `closed` nothing more. */
export interface Listener {
  opened(): void;
  said(text: string): void;
  closed(): void;
}
export type Dial = (listener: Listener) => Transport;

export interface Clock {
  /** Milliseconds since any moment. */
  now(): number;
  /** Runs this later; the answer takes it back. */
  after(ms: number, run: () => void): () => void;
}

/** How the connection is. */
export type Phase =
  | { readonly is: "connecting" }
  | { readonly is: "live" }
  /** It broke; there is another attempt at this moment of the clock. */
  | { readonly is: "broken"; readonly attempt: number; readonly againAt: number }
  /** The node does not want us: another attempt would not help. */
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
/** A node that watches were asked of and that says nothing for so long is given up. */
const SILENCE_MAX_MS = 20_000;
/** One that has been telling steadily and says nothing for so long is said to be quiet: ten times as long as it takes between two words of the society. */
const QUIET_MS = 5_000;
/** Between two looks at how long nothing was heard. */
const LOOK_MS = 1_000;
/** What is told at each tick, whether something is new or not. Of all else a node that has nothing to tell says nothing. */
const STEADY: readonly string[] = ["society", "traffic", "health"];
/** Questions that wait for a connection. */
const WAITING_MAX = 100;

interface Question {
  readonly request: Request;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: LiveError) => void;
}
interface Watcher {
  /** Asked for at each connection: a log goes on where it was. */
  readonly wanted: () => Watch;
  readonly on: (frame: WatchFrame) => void;
  readonly refused: (refusal: Refusal) => void;
  /** Whether this connection has told of it, and goes on telling at each tick. */
  isSteady: boolean;
}

export class LiveClient {
  readonly phase = signal<Phase>({ is: "connecting" });
  /** What the node said last of itself and of us. */
  readonly welcome = signal<Welcome | null>(null);
  /** For how long, in whole seconds, nothing was heard of a node that told something all the time; 0 as long as that is no wonder. */
  readonly quietS = signal(0);

  #token: string;
  #transport: Transport | undefined;
  #attempt = 0;
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

  /** Connects, now: also while an attempt is being waited for, or with another token after a refusal. */
  connect(token = this.#token): void {
    this.#token = token;
    this.#leave();
    this.phase.value = { is: "connecting" };
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

  /** Ends the connection for good. */
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

  /** @throws {LiveError} The node's refusal, or `lost` if the connection broke before there was an answer. */
  ask(request: Request): Promise<Answer> {
    return new Promise((answered, failed) => {
      if (this.#questions.size >= WAITING_MAX) {
        failed(new LiveError({ reason: "busy", text: "too many questions wait for an answer" }));
        return;
      }
      const id = ++this.#lastId;
      this.#questions.set(id, { request, answered, failed });
      if (this.isLive) this.#say({ type: "ask", id, request });
    });
  }

  /** Watches until the function that is returned is called. */
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
      case "error":
        // As many look as may: later there is room.
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
        // A newer node may say what this console does not know, of watches that it does not have.
        const watcher = this.#watchers.get(frame.id);
        if (!watcher) return;
        watcher.isSteady = STEADY.includes(frame.type);
        watcher.on(frame);
      }
    }
  }

  #begin(welcome: Welcome): void {
    this.#attempt = 0;
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
      // Timers of a page that is hidden, was frozen or had much to do come late, and may come before what was said meanwhile.
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

  /** Lets go of the connection, without a word to anybody. */
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
    if (this.phase.value.is === "live") this.#failAll("lost", "the connection broke: nobody knows whether it was done");
    const attempt = ++this.#attempt;
    const most = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (attempt - 1));
    // Half of it by chance: consoles that lost one node do not come back all at once.
    const ms = most / 2 + (most / 2) * this.random();
    this.phase.value = { is: "broken", attempt, againAt: this.clock.now() + ms };
    this.#cancelRetry = this.clock.after(ms, () => this.connect());
  }

  #failAll(reason: string, text: string): void {
    const questions = [...this.#questions.values()];
    this.#questions.clear();
    for (const question of questions) question.failed(new LiveError({ reason, text }));
  }
}
