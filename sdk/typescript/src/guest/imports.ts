/** Imports of guests: the functions of module `whim` (docs/design/wasm-agents.md). */
import type { Value } from "../acl/value.js";
import { Aid } from "../acl/aid.js";
import { TIME_END, timeAt, withTimer, type Wait } from "./call-state.js";
import { DENIED, FULL, GuestError, MALFORMED, UNKNOWN, type Desk, type Hop, type LogLevel, type Question } from "./call-context.js";
import { agentNamed, readMessage, readTemplate, type Fits } from "./frame.js";
import { CALL_BYTES_MAX, CALL_MESSAGES_MAX, DISCARDED_MAX, LAST_WORDS_BYTES_MAX, MESSAGE_BYTES, PAGE, RANDOM_BYTES_MAX, TIMERS_MAX, UNWOUND_BYTES } from "./limits.js";
import type { Shelf, ShelfRefusal } from "./storage.js";

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
export function importsOf(desk: Desk, exports: () => Suspendable): Functions {
  return { ...messages(desk), ...platform(desk), ...directories(desk), ...storage(desk), ...places(desk), ...waits(desk, exports) };
}

/** Reads text; undefined if it is not UTF-8, or longer than a message. */
function text(desk: Desk, ptr: number, len: number): string | undefined {
  const bytes = desk.region(ptr, len);
  try {
    return bytes.length > MESSAGE_BYTES ? undefined : decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Calls a function with texts. Refuses if one is invalid. */
function withTexts(desk: Desk, places: readonly number[], work: (...texts: string[]) => number): number {
  const texts: string[] = [];
  for (let at = 0; at + 1 < places.length; at += 2) {
    const found = text(desk, places[at] as number, places[at + 1] as number);
    if (found === undefined) return desk.refuse(MALFORMED, "text that is not UTF-8, or too long");
    texts.push(found);
  }
  return work(...texts);
}

function template(desk: Desk, ptr: number, len: number): Fits | string {
  try {
    return readTemplate(desk.region(ptr, len), desk.surroundings.platform);
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
  if (bytes > MESSAGE_BYTES) throw new GuestError(`it sends or prints ${bytes} bytes at once: ${MESSAGE_BYTES} are the most (quota message_bytes)`);
}

function messages(desk: Desk): Functions {
  return {
    send: (ptr: number, len: number) => {
      const bytes = desk.region(ptr, len);
      checkLength(bytes.length);
      let message;
      try {
        message = readMessage(bytes, Aid.NOBODY);
      } catch (error) {
        return desk.refuse(MALFORMED, messageOf(error));
      }
      const { requests, surroundings } = desk;
      requests.messages += message.receivers.length;
      if (requests.messages > CALL_MESSAGES_MAX || !desk.maySay(bytes.length)) {
        return desk.refuse(FULL, `${CALL_MESSAGES_MAX} messages of ${CALL_BYTES_MAX} bytes in one call are the most`);
      }
      desk.later(() => surroundings.send(message));
      return 0;
    },
    on_failure: (ptr: number, len: number) => {
      const bytes = desk.region(ptr, len).slice();
      checkLength(bytes.length);
      if (bytes.length > LAST_WORDS_BYTES_MAX) return desk.refuse(MALFORMED, `a message of ${bytes.length} bytes: ${LAST_WORDS_BYTES_MAX} are the most`);
      try {
        const receivers = bytes.length > 0 ? readMessage(bytes, Aid.NOBODY).receivers : [];
        if (!receivers.every(isAgent)) return desk.refuse(DENIED, "last words go to agents, not to topics and groups");
      } catch (error) {
        return desk.refuse(MALFORMED, messageOf(error));
      }
      desk.affairs.lastWords = bytes;
      return 0;
    },
    take: (ptr: number, len: number) => {
      const fits = template(desk, ptr, len);
      if (typeof fits === "string") return desk.refuse(MALFORMED, fits);
      return desk.takeMatching(fits) ?? desk.refuse(UNKNOWN, "no such message waits");
    },
    read: (ptr: number, cap: number) => {
      const { held } = desk.affairs;
      desk.affairs.held = new Uint8Array();
      return desk.copyOut(ptr, cap, held);
    },
    reason: (ptr: number, cap: number) => desk.copyOut(ptr, cap, encoder.encode(desk.reason)),
  };
}

/** True for agents. Topics and groups are checked when a message is sent. */
const isAgent = ({ name }: Aid): boolean => !["topic:", "group:", "any:"].some((cast) => name.startsWith(cast));

// ---- Platform: names, clock, randomness, output

const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "severe"];

function platform(desk: Desk): Functions {
  const { surroundings } = desk;
  return {
    name: (ptr: number, cap: number) => desk.copyOut(ptr, cap, encoder.encode(`${surroundings.name}@${surroundings.platform}`)),
    node: (ptr: number, cap: number) => desk.copyOut(ptr, cap, encoder.encode(surroundings.node)),
    timer: (ms: bigint, tag: bigint) => {
      const { affairs } = desk;
      if (affairs.timers.filter((one) => one.tag !== tag).length >= TIMERS_MAX) return desk.refuse(FULL, `${TIMERS_MAX} timers are the most`);
      affairs.timers = withTimer(affairs.timers, later(desk.now, ms < 0n ? 0n : ms), tag);
      return 0;
    },
    cancel: (tag: bigint) => {
      const { affairs } = desk;
      const before = affairs.timers.length;
      affairs.timers = affairs.timers.filter((one) => one.tag !== tag);
      return affairs.timers.length < before ? 0 : desk.refuse(UNKNOWN, "no such timer is set");
    },
    timer_left: (tag: bigint) => {
      const timer = desk.affairs.timers.find((one) => one.tag === tag);
      if (!timer) return BigInt(desk.refuse(UNKNOWN, "no such timer is set"));
      return BigInt(Math.ceil(Math.max(0, Math.min(timer.at, TIME_END) - desk.now) / 1000));
    },
    now: () => BigInt(Math.floor(desk.wall)),
    random: (ptr: number, len: number) => {
      const room = desk.region(ptr, len);
      if (room.length > RANDOM_BYTES_MAX) return desk.refuse(MALFORMED, `${RANDOM_BYTES_MAX} random bytes are the most at a time`);
      desk.random(room);
      return 0;
    },
    log: (level: number, ptr: number, len: number) => line(desk, ptr, len, (said) => surroundings.log(LEVELS[level] ?? "severe", said)),
    print: (ptr: number, len: number) => line(desk, ptr, len, (said) => surroundings.print(said)),
  };
}

/** Writes a line of text, unless the call wrote too many. */
function line(desk: Desk, ptr: number, len: number, write: (text: string) => void): void {
  checkLength(desk.region(ptr, len).length);
  const said = text(desk, ptr, len);
  desk.requests.lines++;
  if (said === undefined) desk.refuse(MALFORMED, "text that is not UTF-8, or too long");
  else if (desk.requests.lines > CALL_MESSAGES_MAX || !desk.maySay(said.length)) desk.refuse(FULL, `${CALL_MESSAGES_MAX} lines in one call are the most`);
  else desk.later(() => write(said));
}

// ---- Directories

function directories(desk: Desk): Functions {
  const service = (what: Question["what"]) => (ptr: number, len: number, kind: number, kindLen: number) =>
    withTexts(desk, [ptr, len, kind, kindLen], (...about) => desk.ask({ what, about }));
  const named = (what: Question["what"]) => (ptr: number, len: number) => {
    const name = text(desk, ptr, len);
    if (name === undefined || !agentNamed(name)) return desk.refuse(MALFORMED, "no name");
    return desk.ask({ what, about: [name] });
  };
  return {
    register: service("register"),
    deregister: service("deregister"),
    search: service("search"),
    exists: named("exists"),
    join: named("join"),
    leave: named("leave"),
    act: (ptr: number, len: number) => withTexts(desk, [ptr, len], (name) => desk.refuse(UNKNOWN, `there is no environment ${name} here`)),
  };
}

// ---- Storage

const REFUSALS: Readonly<Record<Exclude<ShelfRefusal, "quota">, number>> = { malformed: MALFORMED, full: FULL };

function storage(desk: Desk): Functions {
  const { shelf } = desk.surroundings;
  const denied = (): number => desk.refuse(DENIED, "the policy does not grant storage");
  const nothing = (): number => desk.refuse(UNKNOWN, "nothing is kept under this key");
  return {
    storage_get: (ptr: number, len: number) =>
      withTexts(desk, [ptr, len], (key) => {
        if (!shelf) return denied();
        const value = shelf.get(key);
        return value ? desk.hold(value) : nothing();
      }),
    storage_put: (ptr: number, len: number, value: number, count: number) =>
      withTexts(desk, [ptr, len], (key) => {
        const bytes = desk.region(value, count).slice();
        if (!shelf) return denied();
        keepUndo(desk, shelf, key);
        const refused = shelf.put(key, bytes);
        if (refused?.why === "quota") throw new GuestError(refused.text);
        return refused ? desk.refuse(REFUSALS[refused.why], refused.text) : 0;
      }),
    storage_delete: (ptr: number, len: number) =>
      withTexts(desk, [ptr, len], (key) => {
        if (!shelf) return denied();
        keepUndo(desk, shelf, key);
        return shelf.delete(key) ? 0 : nothing();
      }),
    storage_list: (ptr: number, len: number, after: number, count: number) =>
      withTexts(desk, [ptr, len, after, count], (prefix, last) => (shelf ? desk.holdValue(shelf.keys(prefix, last) as Value) : denied())),
  };
}

/** Notes how to undo a change, because a repeated call must find the same storage. */
function keepUndo({ requests }: Desk, shelf: Shelf, key: string): void {
  const before = shelf.get(key);
  requests.undo.push(() => void (before ? shelf.put(key, before) : shelf.delete(key)));
}

// ---- End and moves, after the call

function places(desk: Desk): Functions {
  const depart = (hop: Hop | number): number => {
    if (typeof hop === "number") return hop;
    desk.requests.hop = hop;
    return 0;
  };
  return {
    depart: (ptr: number, len: number) => depart(hopTo(desk, [ptr, len])),
    depart_clone: (ptr: number, len: number, name: number, nameLen: number) => depart(hopTo(desk, [ptr, len, name, nameLen])),
    discard: (ptr: number, len: number) => {
      desk.region(ptr, len);
      if (desk.requests.discarded.length < DISCARDED_MAX) desk.requests.discarded.push([ptr >>> 0, len >>> 0]);
    },
    recalled: () => desk.affairs.recalls,
    life: () => {
      const { affairs } = desk;
      if (affairs.life === 0n) {
        const room = new Uint8Array(8);
        desk.random(room);
        affairs.life = new DataView(room.buffer).getBigUint64(0, true) || 1n;
      }
      return BigInt.asIntN(64, affairs.life);
    },
    set_lifetime: (ms: bigint) => {
      desk.later(() => desk.surroundings.setLifetime(Number(ms < 0n ? 0n : ms)));
      return 0;
    },
    stop: () => {
      desk.requests.isStopping = true;
    },
  };
}

/** Reads the destination of a move or clone. Returns an error code if it is invalid. */
function hopTo(desk: Desk, where: readonly number[]): Hop | number {
  let hop: Hop | undefined;
  const code = withTexts(desk, where, (to, clone) => {
    if (to === "" || to === undefined) return desk.refuse(MALFORMED, "a node without a name");
    hop = { to, ...(clone !== undefined && { clone }) };
    return 0;
  });
  return hop ?? code;
}

// ---- Waiting, within the call

function waits(desk: Desk, exports: () => Suspendable): Functions {
  const suspend = (wait: () => Wait | number): number => {
    const { course } = desk;
    const { asyncify_start_unwind: unwind, asyncify_stop_rewind: stop } = exports();
    if (!unwind || !stop) throw new GuestError("it cannot be suspended here: it was prepared in an unknown way");
    if (course.type === "rewinding") {
      desk.course = { type: "straight" };
      stop();
      return course.answer;
    }
    const wanted = wait();
    if (typeof wanted === "number") return wanted;
    if (!desk.maySuspend) throw new GuestError("it cannot be suspended here: nothing waits in whim_before_move, whim_stop and when it is instantiated");
    const at = unwindArea(desk, exports().memory);
    desk.course = { type: "unwinding", wait: wanted };
    unwind(at);
    return 0;
  };
  const hop = (where: readonly number[]): Wait | number => {
    const wanted = hopTo(desk, where);
    if (typeof wanted === "number") return wanted;
    desk.requests.hop = wanted;
    return { type: "hop" };
  };
  return {
    receive: (ptr: number, len: number, ms: bigint) =>
      suspend(() => {
        const fits = template(desk, ptr, len);
        if (typeof fits === "string") return desk.refuse(MALFORMED, fits);
        return desk.takeMatching(fits) ?? { type: "message", template: desk.region(ptr, len).slice(), until: later(desk.now, ms) };
      }),
    sleep: (ms: bigint) => void suspend(() => ({ type: "until", until: later(desk.now, ms < 0n ? 0n : ms) })),
    move_to: (ptr: number, len: number) => suspend(() => hop([ptr, len])),
    clone_to: (ptr: number, len: number, name: number, nameLen: number) => suspend(() => hop([ptr, len, name, nameLen])),
  };
}

/** Returns the unwind area, room at the end of the memory that the guest does not use. */
function unwindArea(desk: Desk, memory: WebAssembly.Memory): number {
  const { affairs } = desk;
  if (affairs.unwindAt === 0) {
    try {
      affairs.unwindAt = memory.grow(UNWOUND_BYTES / PAGE) * PAGE;
    } catch {
      throw new GuestError("it wants more memory than it may have (quota memory_bytes)");
    }
  }
  const at = affairs.unwindAt;
  // binaryen's `Asyncify` wants the next free address and the end of the area.
  const room = desk.region(at, UNWOUND_BYTES);
  const view = new DataView(room.buffer, room.byteOffset, 8);
  view.setUint32(0, at + 8, true);
  view.setUint32(4, at + UNWOUND_BYTES, true);
  return at;
}
