/** Context of a guest's call: what its imports read and change. */
import { WhimbrelError } from "../acl/errors.js";
import type { Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import type { CallState, Wait } from "./call-state.js";
import type { MessageMatcher } from "./frame.js";
import { messageFrame } from "./frame.js";
import { CALL_BYTES_MAX, CALL_QUESTIONS_MAX } from "./limits.js";
import type { GuestStorage } from "./storage.js";
import { valueBytes } from "./value.js";

/** Error codes of imports. */
export const [DENIED, QUOTA, MALFORMED, UNKNOWN, TIMEOUT, STAYED, FULL] = [-1, -2, -3, -4, -5, -6, -7] as const;

/** A guest's action that ends it. */
export class GuestError extends WhimbrelError {
  override readonly name = "GuestError";
}

/** Level of a guest's log line. */
export type LogLevel = "debug" | "info" | "warning" | "severe";

/** Query to the platform: a service name and type, or an agent's name. */
export interface Question {
  readonly what: "search" | "exists" | "register" | "deregister" | "join" | "leave";
  readonly about: readonly string[];
}

/** Answer to a query: a code, with a reason if it is negative; or a value to fetch. */
export type Answer = { readonly code: number; readonly reason?: string } | { readonly value: Value };

/** Environment of a guest: everything beyond computing. */
export interface Surroundings {
  /** Local name. */
  readonly name: string;
  readonly platform: string;
  /** Name of its place. */
  readonly node: string;
  /** Monotonic time in microseconds. */
  now(): number;
  /** Milliseconds since 1970. */
  wall(): number;
  random(room: Uint8Array): void;
  send(message: Message): void;
  print(text: string): void;
  log(level: LogLevel, text: string): void;
  ask(question: Question): Promise<Answer>;
  /** Ends the agent after `ms` milliseconds at the latest. */
  setLifetime(ms: number): void;
  /** Storage beside its memory, if granted. */
  readonly storage: GuestStorage | undefined;
}

/** Destination of a move, or of a clone. An empty clone name requests a new one. */
export interface Hop {
  readonly to: string;
  readonly clone?: string;
}

/** State of a call at an import that waits. */
export type CallPhase = { readonly type: "straight" } | { readonly type: "unwinding"; readonly wait: Wait } | { readonly type: "rewinding"; readonly answer: number };

/** Requests of a guest that take effect after the call. */
export class Requests {
  hop: Hop | undefined;
  isStopping = false;
  /** Addresses and lengths of regions that need not travel. */
  readonly discarded: [number, number][] = [];
  /** Effects to carry out after the call. */
  readonly effects: (() => void)[] = [];
  /** Reversals of immediate effects, in case the call is repeated. */
  readonly undo: (() => void)[] = [];
  messages = 0;
  lines = 0;
  bytes = 0;
}

/** A waiting message, and its callback. */
export interface WaitingMessage {
  readonly message: Message;
  readonly done: () => void;
}

/** Aborts a call at a query without an answer. The call is repeated with the answer. */
export class QueryPending {
  constructor(readonly question: Question) {}
}

/** Inputs of a call that vary: time, randomness, answers. A repeated call gets the same ones. */
export class CallInputs {
  readonly answers: (readonly [Question, Answer])[] = [];
  readonly chance: Uint8Array[] = [];
  asked = 0;
  drawn = 0;

  constructor(
    readonly now: number,
    readonly wall: number,
  ) {}
}

/** See the module. */
export class CallContext {
  requests = new Requests();
  phase: CallPhase = { type: "straight" };
  /** True while the call may wait. */
  maySuspend = false;
  /** Reason of the last negative answer. */
  reason = "";
  mailbox: WaitingMessage[] = [];
  /** Number of messages that the call sees. Later ones are hidden from a repeated call. */
  visible = 0;
  inputs: CallInputs | undefined;

  constructor(
    readonly surroundings: Surroundings,
    public callState: CallState,
    readonly memory: () => Uint8Array,
  ) {}

  /** Time in microseconds. It stays the same when the call is repeated. */
  get now(): number {
    return this.inputs?.now ?? this.surroundings.now();
  }

  get wall(): number {
    return this.inputs?.wall ?? this.surroundings.wall();
  }

  /** Stores the reason, and returns the error code. */
  refuse(code: number, reason: string): number {
    this.reason = reason;
    return code;
  }

  /** Stores bytes for the guest to fetch. Returns their length. */
  hold(bytes: Uint8Array): number {
    this.callState.held = bytes;
    return bytes.length;
  }

  holdValue(value: Value): number {
    try {
      return this.hold(valueBytes(value));
    } catch (error) {
      return this.refuse(MALFORMED, `the answer cannot be encoded: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Returns a region of memory. */
  region(ptr: number, len: number): Uint8Array {
    const memory = this.memory();
    const [at, count] = [ptr >>> 0, len >>> 0];
    if (at + count > memory.length) throw new GuestError("it passed an address outside its memory");
    return memory.subarray(at, at + count);
  }

  /** Copies as many bytes as fit. Returns the full length. */
  copyOut(ptr: number, cap: number, bytes: Uint8Array): number {
    const room = this.region(ptr, cap);
    room.set(bytes.subarray(0, room.length));
    return bytes.length;
  }

  /** Counts sent or printed bytes. Returns false above the limit of a call. */
  maySay(bytes: number): boolean {
    this.requests.bytes += bytes;
    return this.requests.bytes <= CALL_BYTES_MAX;
  }

  later(effect: () => void): void {
    this.requests.effects.push(effect);
  }

  random(room: Uint8Array): void {
    const before = this.inputs?.chance[this.inputs.drawn];
    if (before?.length === room.length) room.set(before);
    else {
      this.surroundings.random(room);
      this.inputs?.chance.splice(this.inputs.drawn, Infinity, room.slice());
    }
    if (this.inputs) this.inputs.drawn++;
  }

  /** Returns the answer to a query. If there is none yet, aborts the call. */
  ask(question: Question): number {
    const { inputs } = this;
    if (!inputs) return this.refuse(DENIED, "queries are not permitted in this call");
    const at = inputs.asked++;
    if (at >= CALL_QUESTIONS_MAX) return this.refuse(QUOTA, `too many queries in one call: the limit is ${CALL_QUESTIONS_MAX}`);
    const [known, answer] = inputs.answers[at] ?? [];
    const isSame = known?.what === question.what && known.about.every((text, index) => text === question.about[index]);
    if (!isSame || !answer) {
      inputs.answers.splice(at);
      throw new QueryPending(question);
    }
    if ("value" in answer) return this.holdValue(answer.value);
    return answer.code < 0 ? this.refuse(answer.code, answer.reason ?? "") : answer.code;
  }

  /** Stores the oldest matching message for the guest to fetch. Returns its length. */
  takeMatching(fits: MessageMatcher): number | undefined {
    for (;;) {
      const at = this.mailbox.findIndex(({ message }, index) => index < this.visible && fits(message));
      if (at < 0) return undefined;
      const frame = this.takeFrame(at);
      if (frame) return this.hold(frame);
    }
  }

  /** Takes a message and encodes it. If the guest cannot read it, the sender is told, and the result is undefined. */
  takeFrame(at: number): Uint8Array | undefined {
    const [{ message, done }] = this.mailbox.splice(at, 1) as [WaitingMessage];
    this.visible--;
    this.later(done);
    const { surroundings } = this;
    try {
      return messageFrame(message, surroundings.platform);
    } catch (error) {
      const why = `${surroundings.name} cannot read this: ${error instanceof Error ? error.message : String(error)}`;
      this.later(() => surroundings.send(refusal(message, why)));
      return undefined;
    }
  }
}

function refusal({ sender, replyTo, conversationId, replyWith, protocol, ontology, language }: Message, why: string): Message {
  return {
    performative: "not-understood",
    sender,
    receivers: replyTo && replyTo.length > 0 ? replyTo : [sender],
    content: why,
    ...(conversationId !== undefined && { conversationId }),
    ...(replyWith !== undefined && { inReplyTo: replyWith }),
    ...(protocol !== undefined && { protocol }),
    ...(ontology !== undefined && { ontology }),
    ...(language !== undefined && { language }),
  };
}
