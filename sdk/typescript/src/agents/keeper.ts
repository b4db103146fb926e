/** An agent's state on its way to the node: when it is written, and what it covers. */
import { HELD_MESSAGES_MAX, CHECKPOINT_MS, UNSAVED_MESSAGES_MAX } from "./limits.js";
import type { OnLeave } from "../session/frames.js";

/** How an agent is kept when its session is over: the page was closed, or the network was away for longer than the lease. */
export interface Keep {
  /**
   * What becomes of it then: it ends, waits for this client to create it again, or goes on at the node, if that can run it and may
   * (AgentSpeak, WebAssembly; a rule of the node's policy lets it). `wait` if not said.
   */
  readonly onLeave?: OnLeave;
  /**
   * When its state goes to the node. `each-message`: as soon as it handled one; what it says leaves its node with the state behind it, so that no message is handled
   * or said twice. `checkpoint`: now and then; after the last checkpoint it does again what it did. `no`: only by {@link Agent.save}. `each-message` if not said.
   */
  readonly save?: "each-message" | "checkpoint" | "no";
  /** Between two checkpoints, if anything happened: 1 s if not said. */
  readonly checkpointMs?: number;
  /** What the agent's code is called, for people and for whoever goes on with it. */
  readonly code?: string;
}

/** What an agent is: its state, and up to which of the node's messages that goes. */
export interface Written {
  readonly state: Uint8Array;
  readonly upto: number;
  /** And these, behind it. */
  readonly also?: readonly number[];
}

/** A state as the node has it. */
export interface Restored {
  readonly code: string;
  readonly state: Uint8Array;
}

/** Calls back when everything is done that was about to be: soon, and in hidden pages, too. */
const afterwards: (what: () => void) => void = (() => {
  if (typeof setImmediate === "function") return (what: () => void) => void setImmediate(what);
  const { port1, port2 } = new MessageChannel();
  const due: (() => void)[] = [];
  port1.onmessage = () => due.shift()?.();
  return (what: () => void) => {
    due.push(what);
    port2.postMessage(null);
  };
})();

/** The messages that an agent was given, and which it is done with. */
export class Progress {
  /** Those that it is not done with, the oldest first. */
  readonly #open = new Set<number>();
  /** Those that it is done with, behind one that it is not done with. */
  readonly #done = new Set<number>();
  #last = 0;

  /** A message of this number is the agent's; what is returned says that it is done with it. */
  take(number: number): () => void {
    this.#last = number;
    this.#open.add(number);
    return () => {
      this.#open.delete(number);
      this.#done.add(number);
      const { upto } = this;
      for (const done of this.#done) if (done <= upto) this.#done.delete(done);
    };
  }

  /** It is done with these, too. */
  get also(): readonly number[] {
    return [...this.#done];
  }

  /** It is done with all messages up to this one. */
  get upto(): number {
    for (const first of this.#open) return first - 1;
    return this.#last;
  }

  /** How many it has. */
  get open(): number {
    return this.#open.size;
  }
}

/** See the module. */
export class Keeper {
  readonly onLeave: OnLeave;
  readonly holds: boolean;
  /** What it was, if it goes on where it was. */
  restored: Restored | undefined;
  /** What it is: undefined while nobody knows. */
  source: (() => Written | undefined) | undefined;
  /** Its code, for a node that can run it. */
  code: (() => Uint8Array) | undefined;
  /** Its state is one step ahead of what it said so far, but when it is told that it may be another one. */
  isStepwise = false;
  readonly #keep: Keep;
  readonly #say: (written: Required<Written>) => number;
  /** Whoever waits for the node to have a save. */
  readonly #waiting = new Map<number, () => void>();
  #isDirty = false;
  #isDue = false;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saidSince = 0;
  #upto = 0;

  constructor(keep: Keep, say: (written: Required<Written>) => number) {
    this.#keep = keep;
    this.#say = say;
    this.onLeave = keep.onLeave ?? "wait";
    this.holds = (keep.save ?? "each-message") === "each-message";
  }

  /** It said something: how many messages that are not saved yet. */
  said(): void {
    this.#saidSince++;
    if (!this.isStepwise && this.#isMuch) this.#write();
    else if (!this.isStepwise) this.touched();
  }

  /** It may be another one by now. `unsaved`: of how many messages the node does not know whether it is done with them. */
  touched(unsaved = 0): void {
    this.#isDirty = true;
    if (this.#isMuch) return void this.#write();
    if (this.#isDue || this.#isOver || this.#keep.save === "no") return;
    if (!this.holds && unsaved < UNSAVED_MESSAGES_MAX) {
      this.#timer ??= setTimeout(() => this.#write(), this.#keep.checkpointMs ?? CHECKPOINT_MS);
      return;
    }
    this.#isDue = true;
    // What a handler does behind an `await` of what is there already belongs to it.
    afterwards(() => {
      this.#isDue = false;
      if (this.#isDirty) this.#write();
    });
  }

  get #isMuch(): boolean {
    return this.holds && this.#saidSince >= HELD_MESSAGES_MAX;
  }

  /** Writes its state now; resolves when the node has it. */
  async save(): Promise<void> {
    const number = this.#write();
    if (number !== undefined) await new Promise<void>((done) => this.#waiting.set(number, done));
  }

  /** Between two of its steps, all that it did is said. */
  #write(): number | undefined {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const written = this.#isOver ? undefined : this.source?.();
    if (!written) return undefined;
    this.#isDirty = false;
    this.#saidSince = 0;
    this.#upto = Math.max(this.#upto, written.upto);
    return this.#say({ also: [], ...written, upto: this.#upto });
  }

  /** The node has this save, and all before it. */
  saved(of: number): void {
    for (const [number, done] of this.#waiting) {
      if (number > of) break;
      this.#waiting.delete(number);
      done();
    }
  }

  /** The agent ended, or is elsewhere. */
  over(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.saved(Infinity);
  }
}
