/** Imports of guests: the functions of module `whim` (docs/design/wasm-agents.md). */
import type { Value } from "../acl/value.js";
import { Aid } from "../acl/aid.js";
import { TIME_END, timeAt, withTimer, type Wait } from "./call-state.js";
import { DENIED, FULL, GuestError, MALFORMED, UNKNOWN, type CallContext, type Hop, type LogLevel, type Question } from "./call-context.js";
import { agentNamed, readMessage, readTemplate, type MessageMatcher } from "./frame.js";
import { CALL_BYTES_MAX, CALL_MESSAGES_MAX, DISCARDED_MAX, LAST_WORDS_BYTES_MAX, MESSAGE_BYTES, PAGE, RANDOM_BYTES_MAX, TIMERS_MAX, UNWOUND_BYTES } from "./limits.js";
import type { GuestStorage, StorageRefusal } from "./storage.js";

type Function = (...args: never[]) => number | bigint | void;
type Functions = Readonly<Record<string, Function>>;

/** Exports of a module that binaryen's asyncify made suspendable, and its memory. */
export interface Suspendable {
  readonly memory: WebAssembly.Memory;
  readonly asyncify_start_unwind?: (at: number) => void;
  readonly asyncify_stop_rewind?: () => void;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns all imports of a guest. */
export function importsOf(context: CallContext, exports: () => Suspendable): Functions {
  return { ...messages(context), ...platform(context), ...directories(context), ...storage(context), ...places(context), ...waits(context, exports) };
}

/** Reads text; undefined if it is not UTF-8, or longer than a message. */
function text(context: CallContext, ptr: number, len: number): string | undefined {
  const bytes = context.region(ptr, len);
  try {
    return bytes.length > MESSAGE_BYTES ? undefined : decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Calls a function with texts. Refuses if one is invalid. */
function withTexts(context: CallContext, places: readonly number[], work: (...texts: string[]) => number): number {
  const texts: string[] = [];
  for (let at = 0; at + 1 < places.length; at += 2) {
    const found = text(context, places[at] as number, places[at + 1] as number);
    if (found === undefined) return context.refuse(MALFORMED, "text not UTF-8, or too long");
    texts.push(found);
  }
  return work(...texts);
}

function template(context: CallContext, ptr: number, len: number): MessageMatcher | string {
  try {
    return readTemplate(context.region(ptr, len), context.surroundings.platform);
  } catch (error) {
    if (error instanceof GuestError) throw error;
    return messageOf(error);
  }
}

/** Returns the time in `ms` milliseconds, in microseconds. Never if `ms` is negative, or beyond the range of nodes. */
const later = (now: number, ms: bigint): number => (ms < 0n ? Infinity : timeAt(now + Number(ms) * 1000));

// ---- Messages

/** Ends a guest that sends or prints too much at once, as nodes do. */
function checkLength(bytes: number): void {
  if (bytes > MESSAGE_BYTES) throw new GuestError(`it sends or prints ${bytes} bytes at once, the limit is ${MESSAGE_BYTES} (quota message_bytes)`);
}

function messages(context: CallContext): Functions {
  return {
    send: (ptr: number, len: number) => {
      const bytes = context.region(ptr, len);
      checkLength(bytes.length);
      let message;
      try {
        message = readMessage(bytes, Aid.NOBODY);
      } catch (error) {
        return context.refuse(MALFORMED, messageOf(error));
      }
      const { requests, surroundings } = context;
      requests.messages += message.receivers.length;
      if (requests.messages > CALL_MESSAGES_MAX || !context.maySay(bytes.length)) {
        return context.refuse(FULL, `too many messages in one call: the limits are ${CALL_MESSAGES_MAX} messages and ${CALL_BYTES_MAX} bytes`);
      }
      context.later(() => surroundings.send(message));
      return 0;
    },
    on_failure: (ptr: number, len: number) => {
      const bytes = context.region(ptr, len).slice();
      checkLength(bytes.length);
      if (bytes.length > LAST_WORDS_BYTES_MAX) return context.refuse(MALFORMED, `last message too long: ${bytes.length} bytes, the limit is ${LAST_WORDS_BYTES_MAX}`);
      try {
        const receivers = bytes.length > 0 ? readMessage(bytes, Aid.NOBODY).receivers : [];
        if (!receivers.every(isAgent)) return context.refuse(DENIED, "a last message goes to agents, not to topics and groups");
      } catch (error) {
        return context.refuse(MALFORMED, messageOf(error));
      }
      context.callState.lastWords = bytes;
      return 0;
    },
    take: (ptr: number, len: number) => {
      const fits = template(context, ptr, len);
      if (typeof fits === "string") return context.refuse(MALFORMED, fits);
      return context.takeMatching(fits) ?? context.refuse(UNKNOWN, "no matching message");
    },
    read: (ptr: number, cap: number) => {
      const { held } = context.callState;
      context.callState.held = new Uint8Array();
      return context.copyOut(ptr, cap, held);
    },
    reason: (ptr: number, cap: number) => context.copyOut(ptr, cap, encoder.encode(context.reason)),
  };
}

/** True for agents. Topics and groups are checked when a message is sent. */
const isAgent = ({ name }: Aid): boolean => !["topic:", "group:", "any:"].some((cast) => name.startsWith(cast));

// ---- Platform: names, clock, randomness, output

const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "severe"];

function platform(context: CallContext): Functions {
  const { surroundings } = context;
  return {
    name: (ptr: number, cap: number) => context.copyOut(ptr, cap, encoder.encode(`${surroundings.name}@${surroundings.platform}`)),
    node: (ptr: number, cap: number) => context.copyOut(ptr, cap, encoder.encode(surroundings.node)),
    timer: (ms: bigint, tag: bigint) => {
      const { callState } = context;
      if (callState.timers.filter((one) => one.tag !== tag).length >= TIMERS_MAX) return context.refuse(FULL, `too many timers: the limit is ${TIMERS_MAX}`);
      callState.timers = withTimer(callState.timers, later(context.now, ms < 0n ? 0n : ms), tag);
      return 0;
    },
    cancel: (tag: bigint) => {
      const { callState } = context;
      const before = callState.timers.length;
      callState.timers = callState.timers.filter((one) => one.tag !== tag);
      return callState.timers.length < before ? 0 : context.refuse(UNKNOWN, "no such timer");
    },
    timer_left: (tag: bigint) => {
      const timer = context.callState.timers.find((one) => one.tag === tag);
      if (!timer) return BigInt(context.refuse(UNKNOWN, "no such timer"));
      return BigInt(Math.ceil(Math.max(0, Math.min(timer.at, TIME_END) - context.now) / 1000));
    },
    now: () => BigInt(Math.floor(context.wall)),
    random: (ptr: number, len: number) => {
      const room = context.region(ptr, len);
      if (room.length > RANDOM_BYTES_MAX) return context.refuse(MALFORMED, `too many random bytes: the limit is ${RANDOM_BYTES_MAX}`);
      context.random(room);
      return 0;
    },
    log: (level: number, ptr: number, len: number) => line(context, ptr, len, (said) => surroundings.log(LEVELS[level] ?? "severe", said)),
    print: (ptr: number, len: number) => line(context, ptr, len, (said) => surroundings.print(said)),
  };
}

/** Writes a line of text, unless the call wrote too many. */
function line(context: CallContext, ptr: number, len: number, write: (text: string) => void): void {
  checkLength(context.region(ptr, len).length);
  const said = text(context, ptr, len);
  context.requests.lines++;
  if (said === undefined) context.refuse(MALFORMED, "text not UTF-8, or too long");
  else if (context.requests.lines > CALL_MESSAGES_MAX || !context.maySay(said.length)) context.refuse(FULL, `too many lines in one call: the limit is ${CALL_MESSAGES_MAX}`);
  else context.later(() => write(said));
}

// ---- Directories

function directories(context: CallContext): Functions {
  const service = (what: Question["what"]) => (ptr: number, len: number, kind: number, kindLen: number) =>
    withTexts(context, [ptr, len, kind, kindLen], (...about) => context.ask({ what, about }));
  const named = (what: Question["what"]) => (ptr: number, len: number) => {
    const name = text(context, ptr, len);
    if (name === undefined || !agentNamed(name)) return context.refuse(MALFORMED, "invalid name");
    return context.ask({ what, about: [name] });
  };
  return {
    register: service("register"),
    deregister: service("deregister"),
    search: service("search"),
    exists: named("exists"),
    join: named("join"),
    leave: named("leave"),
    act: (ptr: number, len: number) => withTexts(context, [ptr, len], (name) => context.refuse(UNKNOWN, `no environment ${name} here`)),
  };
}

// ---- Storage

const REFUSALS: Readonly<Record<Exclude<StorageRefusal, "quota">, number>> = { malformed: MALFORMED, full: FULL };

function storage(context: CallContext): Functions {
  const { storage } = context.surroundings;
  const denied = (): number => context.refuse(DENIED, "the policy does not grant storage");
  const nothing = (): number => context.refuse(UNKNOWN, "no value for this key");
  return {
    storage_get: (ptr: number, len: number) =>
      withTexts(context, [ptr, len], (key) => {
        if (!storage) return denied();
        const value = storage.get(key);
        return value ? context.hold(value) : nothing();
      }),
    storage_put: (ptr: number, len: number, value: number, count: number) =>
      withTexts(context, [ptr, len], (key) => {
        const bytes = context.region(value, count).slice();
        if (!storage) return denied();
        keepUndo(context, storage, key);
        const refused = storage.put(key, bytes);
        if (refused?.why === "quota") throw new GuestError(refused.text);
        return refused ? context.refuse(REFUSALS[refused.why], refused.text) : 0;
      }),
    storage_delete: (ptr: number, len: number) =>
      withTexts(context, [ptr, len], (key) => {
        if (!storage) return denied();
        keepUndo(context, storage, key);
        return storage.delete(key) ? 0 : nothing();
      }),
    storage_list: (ptr: number, len: number, after: number, count: number) =>
      withTexts(context, [ptr, len, after, count], (prefix, last) => (storage ? context.holdValue(storage.keys(prefix, last) as Value) : denied())),
  };
}

/** Notes how to undo a change, because a repeated call must find the same storage. */
function keepUndo({ requests }: CallContext, storage: GuestStorage, key: string): void {
  const before = storage.get(key);
  requests.undo.push(() => void (before ? storage.put(key, before) : storage.delete(key)));
}

// ---- End and moves, after the call

function places(context: CallContext): Functions {
  const depart = (hop: Hop | number): number => {
    if (typeof hop === "number") return hop;
    context.requests.hop = hop;
    return 0;
  };
  return {
    depart: (ptr: number, len: number) => depart(hopTo(context, [ptr, len])),
    depart_clone: (ptr: number, len: number, name: number, nameLen: number) => depart(hopTo(context, [ptr, len, name, nameLen])),
    discard: (ptr: number, len: number) => {
      context.region(ptr, len);
      if (context.requests.discarded.length < DISCARDED_MAX) context.requests.discarded.push([ptr >>> 0, len >>> 0]);
    },
    recalled: () => context.callState.recalls,
    life: () => {
      const { callState } = context;
      if (callState.life === 0n) {
        const room = new Uint8Array(8);
        context.random(room);
        callState.life = new DataView(room.buffer).getBigUint64(0, true) || 1n;
      }
      return BigInt.asIntN(64, callState.life);
    },
    set_lifetime: (ms: bigint) => {
      context.later(() => context.surroundings.setLifetime(Number(ms < 0n ? 0n : ms)));
      return 0;
    },
    stop: () => {
      context.requests.isStopping = true;
    },
  };
}

/** Reads the destination of a move or clone. Returns an error code if it is invalid. */
function hopTo(context: CallContext, where: readonly number[]): Hop | number {
  let hop: Hop | undefined;
  const code = withTexts(context, where, (to, clone) => {
    if (to === "" || to === undefined) return context.refuse(MALFORMED, "destination without a name");
    hop = { to, ...(clone !== undefined && { clone }) };
    return 0;
  });
  return hop ?? code;
}

// ---- Waiting, within the call

function waits(context: CallContext, exports: () => Suspendable): Functions {
  const suspend = (wait: () => Wait | number): number => {
    const { phase } = context;
    const { asyncify_start_unwind: unwind, asyncify_stop_rewind: stop } = exports();
    if (!unwind || !stop) throw new GuestError("it cannot be suspended here: its module was prepared in an unknown way");
    if (phase.type === "rewinding") {
      context.phase = { type: "straight" };
      stop();
      return phase.answer;
    }
    const wanted = wait();
    if (typeof wanted === "number") return wanted;
    if (!context.maySuspend) throw new GuestError("it cannot wait in whim_before_move, in whim_stop, or during instantiation");
    const at = unwindArea(context, exports().memory);
    context.phase = { type: "unwinding", wait: wanted };
    unwind(at);
    return 0;
  };
  const hop = (where: readonly number[]): Wait | number => {
    const wanted = hopTo(context, where);
    if (typeof wanted === "number") return wanted;
    context.requests.hop = wanted;
    return { type: "hop" };
  };
  return {
    receive: (ptr: number, len: number, ms: bigint) =>
      suspend(() => {
        const fits = template(context, ptr, len);
        if (typeof fits === "string") return context.refuse(MALFORMED, fits);
        return context.takeMatching(fits) ?? { type: "message", template: context.region(ptr, len).slice(), until: later(context.now, ms) };
      }),
    sleep: (ms: bigint) => void suspend(() => ({ type: "until", until: later(context.now, ms < 0n ? 0n : ms) })),
    move_to: (ptr: number, len: number) => suspend(() => hop([ptr, len])),
    clone_to: (ptr: number, len: number, name: number, nameLen: number) => suspend(() => hop([ptr, len, name, nameLen])),
  };
}

/** Returns the unwind area, room at the end of the memory that the guest does not use. */
function unwindArea(context: CallContext, memory: WebAssembly.Memory): number {
  const { callState } = context;
  if (callState.unwindAt === 0) {
    try {
      callState.unwindAt = memory.grow(UNWOUND_BYTES / PAGE) * PAGE;
    } catch {
      throw new GuestError("it needs more memory than it may have (quota memory_bytes)");
    }
  }
  const at = callState.unwindAt;
  // binaryen's `Asyncify` wants the next free address and the end of the area.
  const room = context.region(at, UNWOUND_BYTES);
  const view = new DataView(room.buffer, room.byteOffset, 8);
  view.setUint32(0, at + 8, true);
  view.setUint32(4, at + UNWOUND_BYTES, true);
  return at;
}
