/** An agent's state on its way to the node: when it is written, and what it covers. */
import { WhimbrelError } from "../acl/errors.js";
import type { OnLeave } from "../session/frames.js";
import type { Agent } from "./agent.js";
import { EndedError, RefusedError, StayedError } from "./errors.js";
import { CHECKPOINT_MS, HELD_BYTES_DUE, HELD_BYTES_MAX, HELD_MESSAGES_DUE, HELD_MESSAGES_MAX, STATE_BYTES_MAX, UNSAVED_MESSAGES_MAX } from "./limits.js";

/** When the state of a kept agent goes to the node. */
export const SAVES = ["each-message", "checkpoint", "no"] as const;

/** How an agent is kept when its session is over: the page was closed, or the network was away for longer than the lease. */
export interface Keep {
  /**
   * What becomes of it then: it ends, waits for this client to create it again, or goes on at the node, if that can run it and may
   * (AgentSpeak, WebAssembly; a rule of the node's policy lets it). `wait` if not said.
   */
  readonly onLeave?: OnLeave;
  /**
   * When its state goes to the node. `each-message`: as soon as it handled one; what it says leaves its node with the state behind it, so that no message is handled
   * or said twice (up to 960 messages and 2.5 MiB of one handler: behind those its state is written in its middle). `checkpoint`: now and then; after the last checkpoint it does again what it did. `no`: only by {@link Agent.save}. `each-message` if not said.
   */
  readonly save?: (typeof SAVES)[number];
  /** Between two checkpoints, if anything happened: 1 s if not said. */
  readonly checkpointMs?: number;
  /** What the agent's code is called, for people and for whoever goes on with it. */
  readonly code?: string;
  /** Whether it goes elsewhere when somebody else wants that; true if not said. */
  readonly yields?: boolean;
  /**
   * Makes the object of an agent that goes on at another node, as its node handed it over to that ({@link Agent.successor}). For agents of classes of their own: one that a function
   * sets up is set up by it again.
   */
  readonly again?: () => Agent | Promise<Agent>;
}

/** What an agent is: its state, and up to which of the node's messages that goes. */
export interface Written {
  readonly state: Uint8Array;
  readonly upto: number;
  /** And these, behind it. */
  readonly also?: readonly number[];
  /** Called when the node has it. */
  readonly known?: () => void;
}

/** A state as the node has it. */
export interface Restored {
  readonly code: string;
  readonly state: Uint8Array;
  /** Where it was before, if it comes from elsewhere. */
  readonly from?: string;
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
      const isBehind = this.upto + 1 < number;
      this.#open.delete(number);
      if (isBehind) return void this.#done.add(number);
      const { upto } = this;
      for (const done of this.#done) if (done <= upto) this.#done.delete(done);
    };
  }

  /** What a state of now covers. The node need be told once of each message. */
  get written(): Pick<Written, "upto" | "also" | "known"> {
    const also = [...this.#done];
    const known = (): void => {
      for (const number of also) this.#done.delete(number);
    };
    return { upto: this.upto, also, known };
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

/** A save that the node did not answer yet, and whoever waits for that. */
interface Unanswered {
  readonly known: (() => void) | undefined;
  /** What leaves with it. */
  readonly messages: number;
  readonly bytes: number;
  done?: () => void;
  failed?: (error: unknown) => void;
}

/** A save with which the agent leaves: what comes of it, and what is done if it stays. */
interface Departure {
  readonly number: number;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
  readonly later: (() => void)[];
}

/** What a keeper has of its session. */
export interface Desk {
  /** Sends a save, with which it goes to another place if there is one; its number. */
  say(written: Pick<Required<Written>, "state" | "upto" | "also"> & { readonly to: string | null }): number;
  /** Tells the agent of what goes wrong. */
  tell(error: unknown): void;
  /** What this place is called; nothing if it has no name. */
  readonly place?: string;
  /** Bytes that a state may have here, if those are fewer than a node keeps. */
  readonly stateBytesMax?: number;
}

/** See the module. */
export class Keeper {
  readonly onLeave: OnLeave;
  readonly holds: boolean;
  /** Whether it goes elsewhere when somebody else wants that. */
  readonly yields: boolean;
  /** What it was, if it goes on where it was. */
  restored: Restored | undefined;
  /** What it is: undefined while nobody knows. */
  source: (() => Written | undefined) | undefined;
  /** Its code, for a node that can run it. */
  code: (() => Uint8Array) | undefined;
  /** Its state is one step ahead of what it said so far, but when it is told that it may be another one. */
  isStepwise = false;
  /** Up to which message its states go: never less than before. */
  upto = 0;
  readonly #keep: Keep;
  readonly #desk: Desk;
  /** By their numbers, the oldest first. While there is one the next waits, lest a slow node be sent states that are none any more. */
  readonly #unanswered = new Map<number, Unanswered>();
  #departure: Departure | undefined;
  #hasMoved = false;
  #isDirty = false;
  #isDue = false;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What it said since its last save, and how many messages it has that it is not done with. */
  #messages = 0;
  #bytes = 0;
  #unsaved = 0;

  constructor(keep: Keep, desk: Desk) {
    this.#keep = keep;
    this.#desk = desk;
    this.onLeave = keep.onLeave ?? "wait";
    this.yields = keep.yields ?? true;
    this.holds = (keep.save ?? "each-message") === "each-message";
  }

  /** Counts a message of so many bytes to so many receivers: each counts. */
  said(bytes: number, receivers = 1): void {
    this.#messages += receivers;
    this.#bytes += bytes;
    if (this.isStepwise) return;
    this.#isDirty = true;
    // A node that is to hold still more refuses it.
    if (this.holds && (this.#messages >= HELD_MESSAGES_MAX || this.#bytes >= HELD_BYTES_MAX)) this.#writeOrTell();
    else this.#plan();
  }

  /** It is between two of its steps, and may be another one by now. `unsaved`: how many messages it has that it is not done with. */
  touched(unsaved = 0): void {
    this.#isDirty = true;
    this.#unsaved = unsaved;
    if (this.#isMuch) this.#writeOrTell();
    else this.#plan();
  }

  #plan(): void {
    if (this.#isDue || !this.#mayWrite || this.#keep.save === "no") return;
    if (!this.holds && this.#unsaved < UNSAVED_MESSAGES_MAX) {
      this.#timer ??= setTimeout(() => this.#writeOrTell(), this.#keep.checkpointMs ?? CHECKPOINT_MS);
      return;
    }
    this.#isDue = true;
    // What a handler does behind an `await` of what is there already belongs to it.
    afterwards(() => {
      this.#isDue = false;
      if (this.#isDirty && this.#mayWrite) this.#writeOrTell();
    });
  }

  get #mayWrite(): boolean {
    return !this.#isOver && !this.#departure && (this.#unanswered.size === 0 || this.#isMuch);
  }

  get #isMuch(): boolean {
    return this.holds && (this.#messages >= HELD_MESSAGES_DUE || this.#bytes >= HELD_BYTES_DUE);
  }

  /**
   * Writes its state now; resolves when the node has it.
   *
   * @throws {@link WhimbrelError} if it is too long, or the node refuses it, or the agent ends before.
   */
  async save(): Promise<void> {
    if (this.#isOver) throw new EndedError("the agent ended, or is elsewhere: nothing is saved of it any more");
    const unanswered = this.#write();
    if (unanswered) await new Promise<void>((done, failed) => Object.assign(unanswered, { done, failed }));
  }

  #writeOrTell(): void {
    try {
      this.#write();
    } catch (error) {
      this.#desk.tell(error);
    }
  }

  /** Between two of its steps, all that it did is said. */
  #write(): Unanswered | undefined {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isOver || this.#departure || !this.source) return undefined;
    // Whatever comes of it: it is tried again when there is more to write.
    this.#isDirty = false;
    const written = this.source();
    if (!written) return undefined;
    const unanswered: Unanswered = { known: written.known, messages: this.#messages, bytes: this.#bytes };
    this.#unanswered.set(this.#say(written, null), unanswered);
    this.#messages = this.#bytes = 0;
    return unanswered;
  }

  #say({ state, upto, also = [] }: Written, to: string | null): number {
    const most = Math.min(STATE_BYTES_MAX, this.#desk.stateBytesMax ?? Infinity);
    if (state.length > most) throw new WhimbrelError(`a state of ${state.length} bytes cannot be kept: ${most} are the most`);
    this.upto = Math.max(this.upto, upto);
    return this.#desk.say({ state, also, upto: this.upto, to });
  }

  /** Whether the agent is on its way to another place, and the node did not say yet that it is there. */
  get isLeaving(): boolean {
    return this.#departure !== undefined;
  }

  /** Whether it is elsewhere. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /**
   * Has it go to another place, where it is what this says; resolves when it is there, and here no more.
   *
   * @throws {@link StayedError} if it stays; {@link EndedError} if it ended before.
   */
  leave(to: string, written: Written): Promise<void> {
    if (this.#isOver) throw new EndedError("the agent ended, or is elsewhere");
    if (this.#departure) throw new StayedError("not_movable", "it is on its way already");
    if (to === this.#desk.place) throw new StayedError("already_there", `it is at ${to} already`);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let number: number;
    try {
      number = this.#say(written, to);
    } catch (error) {
      throw new StayedError("too_large", error instanceof Error ? error.message : String(error));
    }
    return new Promise((done, failed) => (this.#departure = { number, done, failed, later: [] }));
  }

  /** Does it at once; if the agent is leaving, when it turns out that it stays. */
  stayAnd(what: () => void): void {
    if (this.#departure) this.#departure.later.push(what);
    else what();
  }

  /** It did not go: what it wanted to do meanwhile is done behind whatever it does about that. */
  #stay({ failed, later }: Departure, error: unknown): void {
    this.#departure = undefined;
    this.#isDirty = true;
    failed(error instanceof RefusedError ? StayedError.of(error) : error);
    for (const what of later) {
      try {
        what();
      } catch (wrong) {
        this.#desk.tell(wrong);
      }
    }
    this.#plan();
  }

  /** The node has this save, and all before it. */
  saved(of: number): void {
    for (const [number, { known, done }] of this.#unanswered) {
      if (number > of) break;
      this.#unanswered.delete(number);
      known?.();
      done?.();
    }
    if (this.#isDirty) this.#plan();
  }

  /** The node does not take this save. */
  refused(of: number, error: unknown): void {
    if (this.#departure?.number === of) return this.#stay(this.#departure, error);
    const unanswered = this.#unanswered.get(of);
    this.#unanswered.delete(of);
    if (unanswered?.failed) unanswered.failed(error);
    else this.#desk.tell(error);
    this.#holdAgain(unanswered);
    if (this.#isDirty) this.#plan();
  }

  /** What was to leave with a save that was refused is with the node still: it leaves with the next one, soon, though there be nothing new. */
  #holdAgain(unanswered: Unanswered | undefined): void {
    if (!this.holds || !unanswered?.messages || this.#isOver) return;
    this.#messages += unanswered.messages;
    this.#bytes += unanswered.bytes;
    if (this.#keep.save !== "no") this.#timer ??= setTimeout(() => this.#writeOrTell(), this.#keep.checkpointMs ?? CHECKPOINT_MS);
  }

  /** The agent ended, or is elsewhere: if it left for there, that is done. */
  over(hasMoved = false): void {
    this.#isOver = true;
    this.#hasMoved = hasMoved;
    if (hasMoved) this.#departure?.done();
    else this.#departure?.failed(new EndedError("the agent ended before it was elsewhere"));
    this.#departure = undefined;
    clearTimeout(this.#timer);
    for (const { failed } of this.#unanswered.values()) failed?.(new EndedError("the agent ended before its node said that it has its state"));
    this.#unanswered.clear();
  }
}
