/** State of a guest between two calls, beside its memory. It travels with the agent. Times are microseconds. */
import { badState, Input, Output } from "./bytes.js";
import { LAST_WORDS_BYTES_MAX, NAME_BYTES_MAX, STATE_BYTES_MAX, TEMPLATE_BYTES_MAX, TIMERS_MAX } from "./limits.js";
import { pack, unpack } from "./packing.js";

/** A call of an export that may suspend. */
export type Call = { readonly type: "start" | "handle" | "moved"; readonly ptr: number; readonly len: number } | { readonly type: "timer"; readonly tag: bigint };

/** Condition that a suspended call waits for: a message that matches a template, a time, or the result of a hop. */
export type Wait =
  | { readonly type: "message"; readonly template: Uint8Array; readonly until: number }
  | { readonly type: "until"; readonly until: number }
  | { readonly type: "hop" };

/** Provenance: the owner, the node of creation, and for a clone the name of the original. */
export interface Provenance {
  readonly owner: string;
  readonly node: string;
  readonly ancestor: string;
}

/** See the module. */
export interface CallState {
  /** True after the first call. */
  isStarted: boolean;
  /** Argument of the first call, as an encoded value; empty afterwards. */
  options: Uint8Array;
  /** Timers, the earliest first. */
  timers: readonly { readonly at: number; readonly tag: bigint }[];
  /** Bytes that the guest knows the length of and has not fetched. */
  held: Uint8Array;
  suspended: { readonly call: Call; readonly wait: Wait } | undefined;
  /** Address of the unwind area in its memory; 0 if none exists. */
  unwindAt: number;
  provenance: Provenance | undefined;
  /** Number of recalls. */
  recalls: number;
  /** Random number that distinguishes this agent from others of the same name; 0 if it never asked. */
  life: bigint;
  /** Frame of the message to send if the agent fails; may be empty. */
  lastWords: Uint8Array;
}

const NOTHING = new Uint8Array();

/** Returns the call state of a new agent. */
export function newCallState(options: Uint8Array = NOTHING): CallState {
  return { isStarted: false, options, timers: [], held: NOTHING, suspended: undefined, unwindAt: 0, provenance: undefined, recalls: 0, life: 0n, lastWords: NOTHING };
}

/** End of the 64-bit range of microseconds. A later time never comes. */
export const TIME_END = 2 ** 64;

/** Returns a time; `Infinity` beyond the range. */
export const timeAt = (sum: number): number => (sum < TIME_END ? sum : Infinity);

/** Sets a timer, and replaces one with the same tag. */
export function withTimer(timers: CallState["timers"], at: number, tag: bigint): CallState["timers"] {
  const others = timers.filter((one) => one.tag !== tag);
  const place = others.findIndex((one) => one.at > at);
  return others.toSpliced(place < 0 ? others.length : place, 0, { at, tag });
}

/** Returns the time of the next work without a message; `Infinity` if there is none. */
export function dueAt({ suspended, timers }: CallState): number {
  if (!suspended) return timers[0]?.at ?? Infinity;
  return suspended.wait.type === "hop" ? Infinity : suspended.wait.until;
}

const [STARTED, TIMERS, HELD, SUSPENDED, UNWIND, OPTIONS, PROVENANCE, RECALLS, LIFE, LAST_WORDS] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const FLAGS = 1023;
const CALLS = ["start", "handle", "moved"] as const;

/** Appends the call state. Times are written relative to `now`. */
export function writeCallState(callState: CallState, now: number, out: Output): void {
  const { options, timers, held, suspended, unwindAt, provenance, recalls, life, lastWords } = callState;
  const flags =
    (callState.isStarted ? STARTED : 0) |
    (timers.length > 0 ? TIMERS : 0) |
    (held.length > 0 ? HELD : 0) |
    (suspended ? SUSPENDED : 0) |
    (unwindAt !== 0 ? UNWIND : 0) |
    (options.length > 0 ? OPTIONS : 0) |
    (provenance ? PROVENANCE : 0) |
    (recalls !== 0 ? RECALLS : 0) |
    (life !== 0n ? LIFE : 0) |
    (lastWords.length > 0 ? LAST_WORDS : 0);
  out.varint(flags);
  if (provenance) for (const text of [provenance.owner, provenance.node, provenance.ancestor]) out.sized(new TextEncoder().encode(text));
  if (options.length > 0) out.sized(options);
  if (timers.length > 0) out.varint(timers.length);
  for (const { at, tag } of timers) writeTime(at, now, out).u64(tag);
  if (held.length > 0) out.sized(held);
  if (suspended) {
    writeCall(suspended.call, out);
    writeWait(suspended.wait, now, out);
  }
  if (unwindAt !== 0) out.varint(unwindAt);
  if (recalls !== 0) out.varint(recalls);
  if (life !== 0n) out.u64(life);
  if (lastWords.length > 0) out.sized(lastWords);
}

function writeTime(at: number, now: number, out: Output): Output {
  return out.varint(at === Infinity ? 0 : Math.round(Math.max(0, at - now)) + 1);
}

function writeCall(call: Call, out: Output): void {
  if (call.type === "timer") out.byte(3).u64(call.tag);
  else out.byte(CALLS.indexOf(call.type)).varint(call.ptr).varint(call.len);
}

function writeWait(wait: Wait, now: number, out: Output): void {
  if (wait.type === "message") writeTime(wait.until, now, out.byte(0).sized(wait.template));
  else if (wait.type === "until") writeTime(wait.until, now, out.byte(1));
  else out.byte(2);
}

/**
 * Reads a call state.
 *
 * @throws {@link DecodeError} if the bytes are invalid.
 */
export function readCallState(input: Input, now: number): CallState {
  const flags = input.length(FLAGS);
  const callState = newCallState();
  callState.isStarted = (flags & STARTED) !== 0;
  if (flags & PROVENANCE) callState.provenance = { owner: text(input), node: text(input), ancestor: text(input) };
  if (flags & OPTIONS) callState.options = input.sized().slice();
  if (flags & TIMERS) {
    for (let left = input.length(TIMERS_MAX); left > 0; left--) {
      const at = readTime(input, now);
      callState.timers = withTimer(callState.timers, at, BigInt.asIntN(64, input.u64()));
    }
  }
  if (flags & HELD) callState.held = input.sized().slice();
  if (flags & SUSPENDED) callState.suspended = { call: readCall(input), wait: readWait(input, now) };
  if (flags & UNWIND) callState.unwindAt = input.length();
  if (flags & RECALLS) callState.recalls = input.length();
  if (flags & LIFE) callState.life = input.u64();
  if (flags & LAST_WORDS) {
    callState.lastWords = input.sized().slice();
    if (callState.lastWords.length > LAST_WORDS_BYTES_MAX) throw badState();
  }
  return callState;
}

function text(input: Input): string {
  const bytes = input.sized();
  if (bytes.length > NAME_BYTES_MAX) throw badState();
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw badState();
  }
}

function readTime(input: Input, now: number): number {
  const left = input.varint();
  return left === 0n ? Infinity : timeAt(now + Number(left - 1n));
}

function readCall(input: Input): Call {
  const kind = input.byte();
  if (kind === 3) return { type: "timer", tag: BigInt.asIntN(64, input.u64()) };
  const type = CALLS[kind];
  if (type === undefined) throw badState();
  return { type, ptr: input.length(), len: input.length() };
}

function readWait(input: Input, now: number): Wait {
  switch (input.byte()) {
    case 0: {
      const template = input.sized().slice();
      if (template.length > TEMPLATE_BYTES_MAX) throw badState();
      return { type: "message", template, until: readTime(input, now) };
    }
    case 1:
      return { type: "until", until: readTime(input, now) };
    case 2:
      return { type: "hop" };
    default:
      throw badState();
  }
}

/** Version of the layout of states. */
const LAYOUT = 4;

/** Difference of an instance from its module's initial state. */
export interface Image {
  /** Pages of memory beyond the initial ones. */
  readonly morePages: number;
  /** Changed globals and changed bytes; may be empty. */
  readonly changes: Uint8Array;
}

/** Encodes a state: the call state, the number of additional pages, and the packed changes. */
export function writeState(callState: CallState, now: number, { morePages, changes }: Image): Uint8Array<ArrayBuffer> {
  const out = new Output().byte(LAYOUT);
  writeCallState(callState, now, out);
  pack(changes, out.varint(morePages));
  return out.take();
}

/**
 * Decodes a state. An empty one belongs to an agent before its first call.
 *
 * @throws {@link DecodeError} if the bytes are invalid.
 */
export function readState(state: Uint8Array, now: number): { readonly callState: CallState; readonly image: Image } {
  if (state.length === 0) return { callState: newCallState(), image: { morePages: 0, changes: NOTHING } };
  const input = new Input(state);
  if (input.byte() !== LAYOUT) throw badState();
  const callState = readCallState(input, now);
  return { callState, image: { morePages: input.length(), changes: unpack(input, STATE_BYTES_MAX) } };
}
