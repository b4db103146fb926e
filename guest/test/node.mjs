// Node in a few lines, for tests: it runs WebAssembly agents as docs/design/wasm-agents.md says, lets them wait, and
// moves them.

import { readFileSync } from "node:fs";

const UNKNOWN = -4;
const TIMEOUT = -5;
const PAGE = 65536;

/** Loads the module of a file, with all its mutable globals by the names under which they can be reached. */
export function load(file) {
  return new WebAssembly.Module(exportGlobals(readFileSync(file)));
}

/** Agent in a module, on a node of this name. */
export class Agent {
  constructor(module, { name = "guest@test", node = "n1", closed = [] } = {}) {
    this.module = module;
    this.name = name;
    this.node = node;
    this.closed = closed; // nodes that refuse it
    this.mailbox = [];
    this.sent = [];
    this.printed = [];
    this.logged = [];
    this.timers = new Map();
    this.hops = 0;
    this.stopped = false; // it has ended
    this.recalls = 0;
    this.lastWords = null; // what is sent should it fail
    this.lifetime = null; // in milliseconds, if it is bounded
    this.clones = [];
    this.suspended = null; // the call that is suspended, and what it waits for
    this.departing = null;
    this.buffer = 0; // where suspended calls are unwound to
    this.result = new Uint8Array();
    this.kept = {}; // by node
    this.instantiate();
  }

  instantiate() {
    this.exports = new WebAssembly.Instance(this.module, { whim: this.imports() }).exports;
  }

  bytes(ptr, len) {
    return new Uint8Array(this.exports.memory.buffer, ptr, len);
  }
  text(ptr, len) {
    return new TextDecoder().decode(this.bytes(ptr, len));
  }
  answer(bytes) {
    this.result = bytes.slice();
    return bytes.length;
  }
  fill(text, ptr, cap) {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    this.bytes(ptr, Math.min(cap, bytes.length)).set(bytes.subarray(0, cap));
    return bytes.length;
  }

  imports() {
    return {
      send: (ptr, len) => (this.sent.push(this.bytes(ptr, len).slice()), 0),
      take: (ptr, len) => {
        const found = this.waiting(this.bytes(ptr, len));
        return found ? this.answer(found) : UNKNOWN;
      },
      read: (ptr, cap) => this.fill(this.result, ptr, cap),
      reason: (ptr, cap) => this.fill("because", ptr, cap),
      name: (ptr, cap) => this.fill(this.name, ptr, cap),
      node: (ptr, cap) => this.fill(this.node, ptr, cap),
      timer: (ms, tag) => (this.timers.set(tag, ms), 0),
      cancel: (tag) => (this.timers.delete(tag) ? 0 : UNKNOWN),
      timer_left: (tag) => this.timers.get(tag) ?? BigInt(UNKNOWN),
      now: () => 1700000000000n,
      random: (ptr, len) => (this.bytes(ptr, len).fill(4), 0),
      log: (level, ptr, len) => void this.logged.push([level, this.text(ptr, len)]),
      print: (ptr, len) => void this.printed.push(this.text(ptr, len)),
      register: () => 0,
      deregister: () => 0,
      search: () => this.answer(Uint8Array.of(8, 0, 0, 0, 0)),
      exists: () => 0,
      join: () => 0,
      leave: () => 0,
      act: (env, len, ptr, count) => this.answer(this.bytes(ptr, count)),
      storage_get: (ptr, len) => {
        const found = this.shelf().get(this.text(ptr, len));
        return found ? this.answer(found) : UNKNOWN;
      },
      storage_put: (ptr, len, value, count) => (this.shelf().set(this.text(ptr, len), this.bytes(value, count).slice()), 0),
      storage_delete: (ptr, len) => (this.shelf().delete(this.text(ptr, len)) ? 0 : UNKNOWN),
      storage_list: (ptr, len, after, count) => {
        const [prefix, last] = [this.text(ptr, len), this.text(after, count)];
        const keys = [...this.shelf().keys()].filter((key) => key.startsWith(prefix) && key > last).sort().slice(0, 1000);
        return this.answer(Uint8Array.from([8, keys.length & 255, keys.length >> 8, 0, 0, ...keys.flatMap((key) => text(5, key))]));
      },
      depart: (ptr, len) => ((this.departing = { to: this.text(ptr, len) }), 0),
      depart_clone: (ptr, len) => ((this.departing = { to: this.text(ptr, len), clone: true }), 0),
      discard: () => {},
      recalled: () => this.recalls,
      set_lifetime: (ms) => ((this.lifetime = this.lifetime === null || ms < this.lifetime ? ms : this.lifetime), 0),
      life: () => 7n,
      on_failure: (ptr, len) => ((this.lastWords = this.bytes(ptr, len).slice()), 0),
      stop: () => void (this.stopped = true),
      receive: (ptr, len, ms) =>
        this.suspend(() => {
          const template = this.bytes(ptr, len).slice();
          return { template, ms };
        }),
      sleep: (ms) => this.suspend(() => ({ ms })),
      move_to: (ptr, len) => this.suspend(() => ({ to: this.text(ptr, len) })),
      clone_to: (ptr, len) => this.suspend(() => ({ to: this.text(ptr, len), clone: true })),
    };
  }

  /** Storage of the agent on its present node. */
  shelf() {
    return (this.kept[this.node] ??= new Map());
  }

  /** Returns the oldest message in the mailbox that fits: here only its performative counts. */
  waiting(template) {
    const fits = (frame) => template.length === 0 || template[0] === 255 || template[0] === frame[0];
    const at = this.mailbox.findIndex(fits);
    return at < 0 ? undefined : this.mailbox.splice(at, 1)[0];
  }

  /** Import that suspends: called once to unwind, and once more when the call has been rewound to it. */
  suspend(wait) {
    const { asyncify_get_state, asyncify_stop_rewind, asyncify_start_unwind, memory } = this.exports;
    if (asyncify_get_state() === 2) {
      asyncify_stop_rewind();
      return this.outcome;
    }
    this.wait = wait();
    if (this.buffer === 0) this.buffer = memory.grow(1) * PAGE;
    new Int32Array(memory.buffer, this.buffer, 2).set([this.buffer + 8, this.buffer + PAGE]);
    asyncify_start_unwind(this.buffer);
    return 0;
  }

  /** Calls the agent, and carries out its requests at the end of the call. */
  call(name, ...args) {
    const code = this.exports[name](...args);
    if (this.exports.asyncify_get_state?.() === 1) {
      this.exports.asyncify_stop_unwind();
      this.suspended = { name, args, ...this.wait };
      return this.stopped ? undefined : this.goOn();
    }
    this.suspended = null;
    if (code) throw new Error(`the agent failed with ${code}`);
    return this.depart();
  }

  resume(outcome) {
    this.outcome = outcome;
    const { name, args } = this.suspended;
    this.exports.asyncify_start_rewind(this.buffer);
    return this.call(name, ...args);
  }

  /** Continues a suspended call if its result is there. */
  goOn() {
    const { template, to, clone } = this.suspended;
    if (clone && !this.closed.includes(to)) {
      this.copy(to).resume(1);
      return this.resume(0);
    }
    if (to !== undefined) {
      const stays = this.closed.includes(to);
      if (!stays) this.move(to);
      return this.resume(stays ? -6 : 0);
    }
    const found = template && this.waiting(template);
    if (found) return this.resume(this.answer(found));
  }

  /** Carries out the requested departure, or moves the agent where the test says. */
  depart(departing = this.departing) {
    this.departing = null;
    if (departing === null || this.stopped) return;
    const { to, clone = false } = departing;
    const from = this.node;
    const stays = this.closed.includes(to);
    this.exports.whim_before_move?.();
    if (clone && !stays) {
      this.copy(to).arrive({ from, to, clone });
      return this.arrive({ from, to: from });
    }
    if (!stays) this.move(to);
    return this.arrive({ from, to, reason: stays && "closed" });
  }

  arrive(news) {
    if (this.exports.whim_after_move) this.hand("whim_after_move", arrival(news));
  }

  /** Makes a second agent of the same state, on a node. */
  copy(to) {
    const copy = new Agent(this.module, { name: this.name.replace("@", `-${this.clones.length + 1}@`), node: this.node, closed: this.closed });
    Object.assign(copy, { exports: this.exports, suspended: this.suspended, buffer: this.buffer, hops: this.hops });
    copy.move(to);
    this.clones.push(copy);
    return copy;
  }

  /** Calls the agent home. An agent that waits in the middle of a call continues to wait. */
  recall(home) {
    const from = this.node;
    this.recalls += 1;
    this.move(home);
    if (!this.suspended) this.arrive({ from, to: home, recalled: true });
  }

  /** Replaces the instance by another one, which has only the bytes of memory and the globals of the old one. */
  move(to) {
    const globals = Object.entries(this.exports).filter(([name]) => name.startsWith("whim:g"));
    const state = globals.map(([name, global]) => [name, global.value]);
    const memory = this.exports.memory.buffer.slice(0);
    this.instantiate();
    const missing = memory.byteLength - this.exports.memory.buffer.byteLength;
    if (missing > 0) this.exports.memory.grow(missing / PAGE);
    new Uint8Array(this.exports.memory.buffer).set(new Uint8Array(memory));
    for (const [name, value] of state) this.exports[name].value = value;
    this.node = to;
    this.hops += 1;
  }

  /** Calls an export with bytes. */
  hand(name, bytes) {
    const ptr = this.exports.whim_inbox(bytes.length);
    this.bytes(ptr, bytes.length).set(bytes);
    return this.call(name, ptr, bytes.length);
  }

  start() {
    if (this.exports.whim_start) this.hand("whim_start", Uint8Array.of(9, 0, 0, 0, 0));
    return this;
  }

  /** Gives the agent a message. */
  message(frame) {
    if (this.stopped) throw new Error("it has ended");
    if (!this.suspended) return this.hand("whim_handle", frame);
    this.mailbox.push(frame);
    this.goOn();
  }

  /** Lets time pass, until the first timer is due or the first wait ends. */
  time() {
    if (this.suspended) return this.resume(this.suspended.template ? TIMEOUT : 0);
    const [[tag]] = [...this.timers].sort(([, one], [, other]) => Number(one - other));
    this.timers.delete(tag);
    return this.call("whim_timer", tag);
  }
}

const utf8 = new TextEncoder();
const text = (tag, string) => {
  const bytes = utf8.encode(string);
  return [tag, bytes.length & 255, bytes.length >> 8, 0, 0, ...bytes];
};

/** Returns the map of an arrival, as `whim_after_move` gets it. */
function arrival({ from, to, clone = false, reason = false, recalled = false }) {
  const pairs = [["from", text(5, from)], ["to", text(5, to)], ["clone", [clone ? 2 : 1]]];
  if (reason) pairs.push(["reason", text(5, reason)]);
  if (recalled) pairs.push(["recalled", [2]]);
  return Uint8Array.of(9, pairs.length, 0, 0, 0, ...pairs.flatMap(([key, value]) => [...text(5, key), ...value]));
}

/** Exports each mutable global of a module as `whim:gN`, as a node does. */
function exportGlobals(module) {
  let at = 8;
  const leb = () => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = module[at++];
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  };
  const unsigned = (value) => {
    const bytes = [];
    for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
    return [...bytes, value];
  };
  let extra = [];
  const parts = [module.subarray(0, 8)];
  while (at < module.length) {
    const begin = at;
    const id = module[at++];
    const len = leb();
    const body = at;
    if (id === 6) extra = mutable(leb, () => module[at++]);
    if (id === 7) {
      at = body;
      const count = leb();
      const entries = extra.flatMap((index) => [...text(0, `whim:g${index}`).slice(5), 3, ...unsigned(index)].toSpliced(0, 0, ...unsigned(`whim:g${index}`.length)));
      const section = [...unsigned(count + extra.length), ...module.subarray(at, body + len), ...entries];
      parts.push(Uint8Array.of(7, ...unsigned(section.length)), Uint8Array.from(section));
    } else {
      parts.push(module.subarray(begin, body + len));
    }
    at = body + len;
  }
  return Buffer.concat(parts);
}

/** Returns the numbers of the mutable globals of a section. None is imported. */
function mutable(leb, byte) {
  const found = [];
  for (let index = 0, count = leb(); index < count; index++) {
    byte();
    if (byte() === 1) found.push(index);
    const opcode = byte();
    if (opcode === 0x43) for (let skip = 4; skip--; ) byte();
    else if (opcode === 0x44) for (let skip = 8; skip--; ) byte();
    else leb();
    if (byte() !== 0x0b) throw new Error("a global begins with an expression");
  }
  return found;
}
