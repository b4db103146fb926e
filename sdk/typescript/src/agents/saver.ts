/** Durability of an agent: when its state is sent to the node, and which messages it covers. */
import { WhimbrelError } from "../acl/errors.js";
import type { OnLeave } from "../session/frames.js";
import type { Agent } from "./agent.js";
import { EndedError, RefusedError, StayedError } from "./errors.js";
import { CHECKPOINT_MS, HELD_BYTES_DUE, HELD_BYTES_MAX, HELD_MESSAGES_DUE, HELD_MESSAGES_MAX, STATE_BYTES_MAX, UNSAVED_MESSAGES_MAX } from "./limits.js";

/** Points at which the state of a durable agent is saved. */
export const SAVES = ["each-message", "checkpoint", "no"] as const;

/**
 * Durability options of an agent. They apply when its session is over: the page was closed, or the network was down for
 * longer than the lease.
 */
export interface Keep {
  /**
   * Fate of the agent after its session: it ends, waits for this client to create it again, or continues at the node.
   * `go-on` needs a node that can run it (AgentSpeak, WebAssembly) and a policy that permits it. `wait` by default.
   */
  readonly onLeave?: OnLeave;
  /**
   * Time of saves; `each-message` by default.
   *
   * `each-message` saves after each handled message. Messages of the agent leave the node together with the next state,
   * so none is handled or sent twice. A handler that sends more than 960 messages or 2.5 MiB is saved in its middle.
   *
   * `checkpoint` saves at intervals; after a restart, the agent repeats its steps since the last checkpoint. `no` saves
   * only by {@link Agent.save}.
   */
  readonly save?: (typeof SAVES)[number];
  /** Interval of checkpoints; 1 s by default. */
  readonly checkpointMs?: number;
  /** Name of the agent's code, for people and for the session that restores it. */
  readonly code?: string;
  /** True if the agent may move when others ask for it; true by default. */
  readonly yields?: boolean;
  /**
   * Makes the object of a successor at another node ({@link Agent.successor}). Needed for agents of classes; a set-up
   * function is simply called again.
   */
  readonly again?: () => Agent | Promise<Agent>;
}

/** A state to save, with the node's messages that it covers. */
export interface Checkpoint {
  readonly state: Uint8Array;
  readonly upto: number;
  /** Covered messages after `upto`. */
  readonly also?: readonly number[];
  /** Called when the node has the state. */
  readonly known?: () => void;
}

/** A saved state of an agent. */
export interface Restored {
  readonly code: string;
  readonly state: Uint8Array;
  /** Previous place, if the agent moved here. */
  readonly from?: string;
}

/** Calls back after all pending microtasks, also in hidden pages. */
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

/** Progress of an agent: delivered messages, and those that it has finished. */
export class Progress {
  /** Unfinished messages, the oldest first. */
  readonly #open = new Set<number>();
  /** Finished messages behind an unfinished one. */
  readonly #done = new Set<number>();
  #last = 0;

  /** Adds a delivered message. The returned function marks it as finished. */
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

  /** Messages that a state saved now covers. Each is reported to the node once. */
  get covered(): Pick<Checkpoint, "upto" | "also" | "known"> {
    const also = [...this.#done];
    const known = (): void => {
      for (const number of also) this.#done.delete(number);
    };
    return { upto: this.upto, also, known };
  }

  /** Number of the last message before the first unfinished one. */
  get upto(): number {
    for (const first of this.#open) return first - 1;
    return this.#last;
  }

  /** Number of unfinished messages. */
  get open(): number {
    return this.#open.size;
  }
}

/** A save without an answer of the node, and its callbacks. */
interface PendingSave {
  readonly known: (() => void) | undefined;
  /** Messages and bytes that leave with the save. */
  readonly messages: number;
  readonly bytes: number;
  done?: () => void;
  failed?: (error: unknown) => void;
}

/** A save with which the agent moves: its callbacks, and actions to do if it stays. */
interface PendingMove {
  readonly number: number;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
  readonly later: (() => void)[];
}

/** A saver's access to its session. */
export interface SaverPort {
  /** Sends a save, and returns its number. `to` is the place that the agent moves to. */
  say(checkpoint: Pick<Required<Checkpoint>, "state" | "upto" | "also"> & { readonly to: string | null }): number;
  /** Reports an error to the agent. */
  tell(error: unknown): void;
  /** Name of this place, if it has one. */
  readonly place?: string;
  /** Maximum bytes of a state in this session, if lower than the node's limit. */
  readonly stateBytesMax?: number;
}

/** See the module. */
export class StateSaver {
  readonly onLeave: OnLeave;
  readonly holds: boolean;
  /** True if the agent may move when others ask for it. */
  readonly yields: boolean;
  /** Saved state of a restored agent. */
  restored: Restored | undefined;
  /** Returns the current state; undefined while it is unknown. */
  source: (() => Checkpoint | undefined) | undefined;
  /** Returns the agent's code, for a node that can run it. */
  code: (() => Uint8Array) | undefined;
  /** True if sending does not change the state; then only `touched` makes a save due. */
  isStepwise = false;
  /** Last message that the saved states cover. It never decreases. */
  upto = 0;
  readonly #keep: Keep;
  readonly #port: SaverPort;
  /**
   * Unanswered saves by number, the oldest first. While there is one, the next save waits, so that a slow node does not
   * get outdated states.
   */
  readonly #pending = new Map<number, PendingSave>();
  #departure: PendingMove | undefined;
  #hasMoved = false;
  #isDirty = false;
  #isDue = false;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Messages and bytes sent since the last save. */
  #messages = 0;
  #bytes = 0;
  #unsaved = 0;

  constructor(keep: Keep, port: SaverPort) {
    this.#keep = keep;
    this.#port = port;
    this.onLeave = keep.onLeave ?? "wait";
    this.yields = keep.yields ?? true;
    this.holds = (keep.save ?? "each-message") === "each-message";
  }

  /** Counts a sent message. Each receiver counts as one message. */
  said(bytes: number, receivers = 1): void {
    this.#messages += receivers;
    this.#bytes += bytes;
    if (this.isStepwise) return;
    this.#isDirty = true;
    // A node refuses to hold more.
    if (this.holds && (this.#messages >= HELD_MESSAGES_MAX || this.#bytes >= HELD_BYTES_MAX)) this.#writeOrTell();
    else this.#plan();
  }

  /** Notes that the agent finished a step, so its state may have changed. `unsaved` counts its unfinished messages. */
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
    // Code after an `await` of a settled promise belongs to the same step.
    afterwards(() => {
      this.#isDue = false;
      if (this.#isDirty && this.#mayWrite) this.#writeOrTell();
    });
  }

  get #mayWrite(): boolean {
    return !this.#isOver && !this.#departure && (this.#pending.size === 0 || this.#isMuch);
  }

  get #isMuch(): boolean {
    return this.holds && (this.#messages >= HELD_MESSAGES_DUE || this.#bytes >= HELD_BYTES_DUE);
  }

  /**
   * Saves the state now. Resolves when the node has it.
   *
   * @throws {@link WhimbrelError} if the state is too long. {@link RefusedError} if the node refuses it. {@link
   * EndedError} if the agent ends first.
   */
  async save(): Promise<void> {
    if (this.#isOver) throw new EndedError("cannot save: the agent ended, or has moved away");
    const pending = this.#write();
    if (pending) await new Promise<void>((done, failed) => Object.assign(pending, { done, failed }));
  }

  #writeOrTell(): void {
    try {
      this.#write();
    } catch (error) {
      this.#port.tell(error);
    }
  }

  /** Sends the state. Called between two steps, when all messages of the last step are sent. */
  #write(): PendingSave | undefined {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isOver || this.#departure || !this.source) return undefined;
    // If this save fails, the next change starts another.
    this.#isDirty = false;
    const checkpoint = this.source();
    if (!checkpoint) return undefined;
    const pending: PendingSave = { known: checkpoint.known, messages: this.#messages, bytes: this.#bytes };
    this.#pending.set(this.#say(checkpoint, null), pending);
    this.#messages = this.#bytes = 0;
    return pending;
  }

  #say({ state, upto, also = [] }: Checkpoint, to: string | null): number {
    const most = Math.min(STATE_BYTES_MAX, this.#port.stateBytesMax ?? Infinity);
    if (state.length > most) throw new WhimbrelError(`state too long: ${state.length} bytes, the limit is ${most}`);
    this.upto = Math.max(this.upto, upto);
    return this.#port.say({ state, also, upto: this.upto, to });
  }

  /** True while the agent is moving and the node has not confirmed its arrival. */
  get isLeaving(): boolean {
    return this.#departure !== undefined;
  }

  /** True if the agent has moved away. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /**
   * Moves the agent to another place with this state. Resolves when it has arrived there.
   *
   * @throws {@link StayedError} if the agent stays. {@link EndedError} if it ended first.
   */
  leave(to: string, checkpoint: Checkpoint): Promise<void> {
    if (this.#isOver) throw new EndedError("cannot move: the agent ended, or has moved away");
    if (this.#departure) throw new StayedError("not_movable", "already moving");
    if (to === this.#port.place) throw new StayedError("already_there", `already at ${to}`);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let number: number;
    try {
      number = this.#say(checkpoint, to);
    } catch (error) {
      throw new StayedError("too_large", error instanceof Error ? error.message : String(error));
    }
    return new Promise((done, failed) => (this.#departure = { number, done, failed, later: [] }));
  }

  /** Runs a function at once; while the agent is moving, after it is known to stay. */
  stayAnd(what: () => void): void {
    if (this.#departure) this.#departure.later.push(what);
    else what();
  }

  /** Handles a refused move. Delayed actions run after the rejection. */
  #stay({ failed, later }: PendingMove, error: unknown): void {
    this.#departure = undefined;
    this.#isDirty = true;
    failed(error instanceof RefusedError ? StayedError.of(error) : error);
    for (const what of later) {
      try {
        what();
      } catch (wrong) {
        this.#port.tell(wrong);
      }
    }
    this.#plan();
  }

  /** The node has this save and all earlier ones. */
  saved(of: number): void {
    for (const [number, { known, done }] of this.#pending) {
      if (number > of) break;
      this.#pending.delete(number);
      known?.();
      done?.();
    }
    if (this.#isDirty) this.#plan();
  }

  /** The node refused this save. */
  refused(of: number, error: unknown): void {
    if (this.#departure?.number === of) return this.#stay(this.#departure, error);
    const pending = this.#pending.get(of);
    this.#pending.delete(of);
    if (pending?.failed) pending.failed(error);
    else this.#port.tell(error);
    this.#holdAgain(pending);
    if (this.#isDirty) this.#plan();
  }

  /** Schedules another save after a refusal, because the node still holds the messages that were to leave with it. */
  #holdAgain(pending: PendingSave | undefined): void {
    if (!this.holds || !pending?.messages || this.#isOver) return;
    this.#messages += pending.messages;
    this.#bytes += pending.bytes;
    if (this.#keep.save !== "no") this.#timer ??= setTimeout(() => this.#writeOrTell(), this.#keep.checkpointMs ?? CHECKPOINT_MS);
  }

  /** Ends the saver: the agent ended, or has moved away. */
  over(hasMoved = false): void {
    this.#isOver = true;
    this.#hasMoved = hasMoved;
    if (hasMoved) this.#departure?.done();
    else this.#departure?.failed(new EndedError("the agent ended before it had moved"));
    this.#departure = undefined;
    clearTimeout(this.#timer);
    for (const { failed } of this.#pending.values()) failed?.(new EndedError("the agent ended before its node confirmed the save"));
    this.#pending.clear();
  }
}
