/** A guest: the instance of a WebAssembly agent, apart from any platform. Its surroundings connect it to one. */
import { Aid } from "../acl/aid.js";
import type { Message } from "../acl/message.js";
import { map, type Value } from "../acl/value.js";
import { newAffairs, readState, writeState, dueAt, type Affairs, type Call, type Image } from "./call-state.js";
import { badState, Input, Output } from "./bytes.js";
import { Asked, Desk, GuestError, Heard, Requests, STAYED, TIMEOUT, type Hop, type Surroundings, type Waiting } from "./call-context.js";
import { readMessage, readTemplate } from "./frame.js";
import { applyChanges } from "./image.js";
import { importsOf, type Suspendable } from "./imports.js";
import { MAILBOX_MESSAGES_MAX, MEMORY_BYTES_MAX, PAGE, UNWOUND_BYTES } from "./limits.js";
import { bitsOf, setBits, type GuestModule } from "./module.js";
import { valueBytes } from "./value.js";

/** Least buffer to request from a guest. Most messages fit, so one request suffices. */
const INBOX_BYTES_MIN = 512;
/** Bytes of the unwind area's header: its current and its final address. */
const UNWOUND_HEAD_BYTES = 8;

/** Result of a hop, for the guest. */
export type News =
  | { readonly type: "arrived"; readonly from: string; readonly isRecalled?: boolean }
  | { readonly type: "stayed"; readonly to: string; readonly why: string; readonly isRecalled?: boolean }
  | { readonly type: "cloned"; readonly clone: string }
  | { readonly type: "is-clone"; readonly from: string; readonly of: string };

/** Outcome of a run: more work, none for now, the end, or a hop. */
export type Outcome = { readonly type: "more" } | { readonly type: "rest" } | { readonly type: "stopped" } | { readonly type: "hop"; readonly hop: Hop };

const MORE = { type: "more" } as const;
const REST = { type: "rest" } as const;
const STOPPED = { type: "stopped" } as const;

interface Exports extends Suspendable {
  whim_inbox(len: number): number;
  whim_handle(ptr: number, len: number): number;
  whim_start?(ptr: number, len: number): number;
  whim_timer?(tag: bigint): number;
  whim_before_move?(): void;
  whim_after_move?(ptr: number, len: number): number;
  whim_stop?(): void;
  asyncify_stop_unwind?(): void;
  asyncify_start_rewind?(at: number): void;
}

/** Buffer of the guest for input: address, size, and used bytes. */
interface Inbox {
  readonly at: number;
  readonly room: number;
  readonly used: number;
}

const NO_INBOX: Inbox = { at: 0, room: 0, used: 0 };

/** Copy of a guest before a call that may be repeated. */
interface Before {
  readonly memory: Uint8Array;
  readonly globals: readonly bigint[];
  readonly affairs: Affairs;
  readonly mailbox: readonly Waiting[];
  readonly inbox: Inbox;
}

/** See the module. */
export class Guest {
  readonly #module: GuestModule;
  readonly #desk: Desk;
  #exports!: Exports;
  #memory = new Uint8Array();
  #inbox = NO_INBOX;
  /** Bytes of the unwind area that the suspended call uses. */
  #unwound = 0;
  #news: News | undefined;
  #running: Promise<Outcome> | undefined;

  /**
   * Creates a guest from a state, or a new one with options for its first call.
   *
   * @throws {@link DecodeError} if the state does not belong to this module.
   */
  constructor(module: GuestModule, surroundings: Surroundings, from: Uint8Array | Readonly<Record<string, Value>> = {}) {
    this.#module = module;
    const { affairs, image } = from instanceof Uint8Array ? readState(from, surroundings.now()) : begin(from);
    this.#desk = new Desk(surroundings, affairs, () => this.#bytes());
    this.#instantiate();
    this.#become(image);
  }

  #instantiate(): void {
    const whim = importsOf(this.#desk, () => this.#exports) as WebAssembly.ModuleImports;
    this.#exports = new WebAssembly.Instance(this.#module.code, { whim }).exports as unknown as Exports;
  }

  #bytes(): Uint8Array {
    const { buffer } = this.#exports.memory;
    if (this.#memory.buffer !== buffer) this.#memory = new Uint8Array(buffer);
    return this.#memory;
  }

  #become({ morePages, changes }: Image): void {
    if (this.#module.first.length + morePages * PAGE > MEMORY_BYTES_MAX) throw badState();
    try {
      if (morePages > 0) this.#exports.memory.grow(morePages);
    } catch {
      throw new GuestError("it has more memory than it may have here (quota memory_bytes)");
    }
    if (changes.length === 0) return;
    const input = new Input(changes);
    for (let left = input.length(); left > 0; left--) this.#setGlobal(input.length(), input.varint());
    applyChanges(this.#bytes(), input);
  }

  #global(index: number): WebAssembly.Global {
    return (this.#exports as unknown as WebAssembly.Exports)[this.#module.globals[index]?.name ?? ""] as WebAssembly.Global;
  }

  #setGlobal(index: number, bits: bigint): void {
    const known = this.#module.globals[index];
    if (!known) throw badState();
    setBits(this.#global(index), known.type, bits);
  }

  get #globals(): bigint[] {
    return this.#module.globals.map(({ type }, index) => bitsOf(this.#global(index), type));
  }

  // ---- Snapshots

  /** Returns its state in the format of nodes, without undelivered messages. */
  snapshot(): Uint8Array<ArrayBuffer> {
    const { affairs, surroundings } = this.#desk;
    return writeState(affairs, surroundings.now(), this.#image());
  }

  /** Returns the state to continue with elsewhere. A call that waits for the hop finds it done. */
  departure(): Uint8Array<ArrayBuffer> {
    const { affairs, surroundings } = this.#desk;
    const { suspended } = affairs;
    // A wait for a time in the past returns the same answer as a completed hop.
    const done = suspended?.wait.type === "hop" ? { ...affairs, suspended: { ...suspended, wait: { type: "until", until: surroundings.now() } as const } } : affairs;
    return writeState(done, surroundings.now(), this.#image());
  }

  #image(): Image {
    if (!this.#desk.affairs.suspended) {
      this.#clear(this.#inbox.at, this.#inbox.used);
      this.#inbox = { ...this.#inbox, used: 0 };
    }
    const { beginning, first, stackPointer } = this.#module;
    const globals = this.#globals;
    const changed = globals.map((now, index) => [index, now] as const).filter(([index, now]) => now !== beginning[index]);
    const out = new Output().varint(changed.length);
    for (const [index, now] of changed) out.varint(index).varint(now);
    const memory = this.#bytes();
    // Below this address, the stack is unused.
    const top = stackPointer === undefined ? 0 : Number([globals[stackPointer] ?? 0n, beginning[stackPointer] ?? 0n].reduce((one, other) => (one < other ? one : other)));
    first.writeChanges(memory, top, out);
    return { morePages: (memory.length - first.length) / PAGE, changes: out.take() };
  }

  #clear(at: number, length: number): void {
    this.#bytes().fill(0, at, at + length);
  }

  // ---- Messages and moves

  /** Delivers a message; false if the mailbox is full. `done` is called when the guest takes it. */
  deliver(message: Message, done: () => void = () => undefined): boolean {
    const { mailbox } = this.#desk;
    if (mailbox.length >= MAILBOX_MESSAGES_MAX) return false;
    mailbox.push({ message, done });
    return true;
  }

  /** Messages that the guest has not taken. */
  get waiting(): readonly Message[] {
    return this.#desk.mailbox.map(({ message }) => message);
  }

  /** True if the result of a hop is pending. */
  get hasNews(): boolean {
    return this.#news !== undefined;
  }

  /** Time of its next work without a message, in microseconds; `Infinity` if there is none. */
  get dueAt(): number {
    return dueAt(this.#desk.affairs);
  }

  /** Provenance for its state. */
  get line(): Affairs["line"] {
    return this.#desk.affairs.line;
  }

  set line(line: Affairs["line"]) {
    this.#desk.affairs.line = line;
  }

  /** Sets the result of a hop, for the next run. */
  hopped(news: News): void {
    // A clone is a different agent.
    if (news.type === "is-clone") Object.assign(this.#desk.affairs, { life: 0n, lastWords: new Uint8Array() });
    this.#news = news;
  }

  /** Sends the last words, with the reason as content. Called when the guest does not end by itself. */
  sayLastWords(reason: string): void {
    const { affairs, surroundings } = this.#desk;
    const frame = affairs.lastWords;
    affairs.lastWords = new Uint8Array();
    if (frame.length > 0) surroundings.send({ ...readMessage(frame, Aid.NOBODY), content: reason });
  }

  /** Counts a recall. The guest learns of it with the result of the hop. */
  recalled(): void {
    this.#desk.affairs.recalls++;
  }

  /** Tells the guest that it will be moved, unless it is in a call. */
  prepare(): void {
    if (!this.#desk.affairs.suspended) this.#exports.whim_before_move?.();
  }

  /** Clears discarded regions, so that they do not travel. */
  lighten(): void {
    for (const [at, length] of this.#desk.requests.discarded.splice(0)) this.#clear(at, length);
  }

  // ---- Turns

  /**
   * Works until there is nothing to do, the guest ends, or it wants to move; at most `steps` steps.
   *
   * @throws {@link GuestError}, or an error of the engine, if the guest fails. It cannot be used any more.
   */
  run(steps = Infinity): Promise<Outcome> {
    this.#running ??= this.#work(steps).finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** True during a call, also while it waits for the platform. The state is then that before the call. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  async #work(steps: number): Promise<Outcome> {
    for (let left = steps; left > 0; left--) {
      const step = await this.#attempt(() => this.#next());
      if (step.type !== "more") return step;
    }
    return MORE;
  }

  /**
   * Ends the guest on request: calls `whim_stop`, and its messages are sent. A guest that waits in a call is not
   * called, nor one that stopped or failed meanwhile.
   */
  async stop(): Promise<void> {
    while (this.#running) {
      const { type } = await this.#running.catch(() => STOPPED);
      if (type === "stopped") return;
    }
    const { whim_stop: stop } = this.#exports;
    if (!stop || this.#desk.affairs.suspended) return;
    this.#running = this.#attempt(() => (stop(), STOPPED)).finally(() => (this.#running = undefined));
    await this.#running;
  }

  /** Makes a call. Repeats it from the same state after each query that had to be answered first. */
  async #attempt<Result>(call: () => Result): Promise<Result> {
    const desk = this.#desk;
    desk.visible = desk.mailbox.length;
    desk.requests = new Requests();
    if (!this.#module.asks) return this.#whole(call);
    const before = this.#remember();
    desk.heard = new Heard(desk.surroundings.now(), desk.surroundings.wall());
    try {
      for (;;) {
        try {
          return this.#whole(call);
        } catch (error) {
          if (!(error instanceof Asked)) throw error;
          this.#goBack(before);
          desk.heard.answers.push([error.question, await desk.surroundings.ask(error.question)]);
          desk.heard.asked = desk.heard.drawn = 0;
          desk.visible = before.mailbox.length;
        }
      }
    } finally {
      desk.heard = undefined;
    }
  }

  /** Makes a call, and carries out its effects. */
  #whole<Result>(call: () => Result): Result {
    const { requests } = this.#desk;
    try {
      return call();
    } catch (error) {
      if (error instanceof Asked) requests.effects.length = 0;
      throw error;
    } finally {
      // Messages sent before a failure count.
      for (const effect of requests.effects) effect();
    }
  }

  #remember(): Before {
    const { affairs, mailbox } = this.#desk;
    return { memory: this.#bytes().slice(), globals: this.#globals, affairs: { ...affairs }, mailbox: [...mailbox], inbox: this.#inbox };
  }

  #goBack({ memory, globals, affairs, mailbox, inbox }: Before): void {
    const desk = this.#desk;
    for (const undo of desk.requests.undo.reverse()) undo();
    desk.requests = new Requests();
    desk.course = { type: "straight" };
    desk.maySuspend = false;
    // Keep messages that arrived after the first query, and changes from outside.
    desk.mailbox.splice(0, desk.visible, ...mailbox);
    const { recalls, line } = desk.affairs;
    desk.affairs = { ...affairs, recalls, line };
    this.#inbox = inbox;
    // Memory cannot shrink, so a larger one needs a new instance.
    if (this.#bytes().length !== memory.length) {
      this.#instantiate();
      const missing = memory.length - this.#bytes().length;
      if (missing > 0) this.#exports.memory.grow(missing / PAGE);
    }
    this.#bytes().set(memory);
    globals.forEach((bits, index) => this.#setGlobal(index, bits));
  }

  #next(): Outcome {
    const { affairs } = this.#desk;
    if (!affairs.isStarted) return this.#start();
    if (this.#news) return this.#tell(this.#news);
    if (affairs.suspended) return this.#resume(affairs.suspended);
    const [timer] = affairs.timers;
    if (timer && timer.at <= this.#desk.now) {
      affairs.timers = affairs.timers.slice(1);
      return this.#call({ type: "timer", tag: timer.tag });
    }
    if (this.#desk.visible === 0) return REST;
    const frame = this.#desk.takeFrame(0);
    return frame ? this.#call({ type: "handle", ...this.#handOver(frame) }) : MORE;
  }

  #start(): Outcome {
    const { affairs } = this.#desk;
    const options = affairs.options.length > 0 ? affairs.options : valueBytes(map([]));
    affairs.isStarted = true;
    affairs.options = new Uint8Array();
    return this.#call({ type: "start", ...this.#handOver(options) });
  }

  /** Reports the result of a hop to the guest. */
  #tell(news: News): Outcome {
    const { affairs } = this.#desk;
    const told = (step: Outcome): Outcome => {
      this.#news = undefined;
      return step;
    };
    if (affairs.suspended?.wait.type === "hop") {
      const isRecalled = "isRecalled" in news && news.isRecalled === true;
      if (news.type === "is-clone") return told(this.#goOn(1));
      // A recalled guest did not reach its own destination.
      if (news.type === "arrived" && isRecalled) return told(this.#goOn(this.#desk.refuse(STAYED, "it was called home")));
      return told(this.#goOn(news.type === "stayed" ? this.#desk.refuse(STAYED, news.why) : 0));
    }
    // The guest was moved while it waits for something else, and continues to wait.
    if (affairs.suspended || !this.#exports.whim_after_move) return told(MORE);
    const value = newsValue(news, this.#desk.surroundings.node);
    return told(this.#call({ type: "moved", ...this.#handOver(valueBytes(value)) }));
  }

  /** Continues a suspended call if its condition is met. */
  #resume({ wait }: NonNullable<Affairs["suspended"]>): Outcome {
    const desk = this.#desk;
    // The result of a hop is reported earlier, so it was lost.
    if (wait.type === "hop") return this.#goOn(desk.refuse(STAYED, "the hop was interrupted"));
    if (wait.type === "until") return wait.until <= desk.now ? this.#goOn(0) : REST;
    const length = desk.takeMatching(readTemplate(wait.template, desk.surroundings.platform));
    if (length !== undefined) return this.#goOn(length);
    return wait.until <= desk.now ? this.#goOn(desk.refuse(TIMEOUT, "no such message came in time")) : REST;
  }

  /** Continues a suspended call with this answer. */
  #goOn(answer: number): Outcome {
    const { affairs } = this.#desk;
    const call = affairs.suspended?.call;
    const { asyncify_start_rewind: rewind } = this.#exports;
    if (!call || !rewind) throw new GuestError("it cannot be suspended here: it was not prepared");
    affairs.suspended = undefined;
    // binaryen's `Asyncify` stores the end of the used area there.
    const bytes = this.#bytes();
    const end = new DataView(bytes.buffer, bytes.byteOffset).getUint32(affairs.unwindAt, true);
    this.#unwound = Math.min(Math.max(end - affairs.unwindAt, UNWOUND_HEAD_BYTES), UNWOUND_BYTES);
    rewind(affairs.unwindAt);
    this.#desk.course = { type: "rewinding", answer };
    return this.#call(call);
  }

  /** Writes bytes into the guest's buffer. */
  #handOver(bytes: Uint8Array): { readonly ptr: number; readonly len: number } {
    if (this.#inbox.room < bytes.length || this.#inbox.at === 0) {
      const room = Math.max(bytes.length, INBOX_BYTES_MIN);
      const at = this.#exports.whim_inbox(room) >>> 0;
      if (at === 0) throw new GuestError("it has no room for what it is handed");
      this.#inbox = { at, room, used: 0 };
    }
    const { at, room, used } = this.#inbox;
    this.#desk.region(at, bytes.length).set(bytes);
    this.#inbox = { at, room, used: Math.max(used, bytes.length) };
    return { ptr: at, len: bytes.length };
  }

  #enter(call: Call): number {
    const exports = this.#exports;
    if (call.type === "handle") return exports.whim_handle(call.ptr, call.len);
    if (call.type === "timer") return exports.whim_timer?.(call.tag) ?? 0;
    if (call.type === "start") return exports.whim_start?.(call.ptr, call.len) ?? 0;
    return exports.whim_after_move?.(call.ptr, call.len) ?? 0;
  }

  /** Calls the guest. Returns the outcome of its turn. */
  #call(call: Call): Outcome {
    const desk = this.#desk;
    const wasWaiting = desk.course.type === "rewinding";
    desk.maySuspend = true;
    const code = this.#enter(call);
    desk.maySuspend = false;
    const { course } = desk;
    desk.course = { type: "straight" };
    if (course.type === "unwinding") {
      this.#exports.asyncify_stop_unwind?.();
      // The guest may keep its buffer while it waits, so request another.
      this.#inbox = NO_INBOX;
      // An earlier request to move after the call is void, because the call continues.
      if (course.wait.type !== "hop") desk.requests.hop = undefined;
      desk.affairs.suspended = { call, wait: course.wait };
    } else if (course.type === "rewinding") throw new GuestError("it cannot be suspended here: it did not come back to where it waited");
    else if (wasWaiting) this.#clearUnwound();
    if (code !== 0 && !desk.affairs.suspended) throw new GuestError(`it answered ${code}`);
    return this.#outcome();
  }

  /** Clears the unwind area, so that it does not travel. */
  #clearUnwound(): void {
    this.#clear(this.#desk.affairs.unwindAt, this.#unwound);
  }

  /** Returns the outcome that the call requested. */
  #outcome(): Outcome {
    const { requests, affairs } = this.#desk;
    // Stopping overrides all other requests.
    if (requests.isStopping) return STOPPED;
    const { hop } = requests;
    if (!hop) return MORE;
    requests.hop = undefined;
    if (!affairs.suspended) this.#exports.whim_before_move?.();
    return { type: "hop", hop };
  }
}

function begin(options: Readonly<Record<string, Value>>): { readonly affairs: Affairs; readonly image: Image } {
  const value = map(options);
  return { affairs: newAffairs(value.map.length > 0 ? valueBytes(value) : undefined), image: { morePages: 0, changes: new Uint8Array() } };
}

/** Encodes the argument of `whim_after_move`. */
function newsValue(news: News, here: string): Value {
  const [from, to] = news.type === "stayed" ? [here, news.to] : news.type === "cloned" ? [here, here] : [news.from, here];
  return map({
    from,
    to,
    clone: news.type === "is-clone",
    ...(news.type === "stayed" && { reason: news.why }),
    ...(news.type === "cloned" && { name: news.clone }),
    ...(news.type === "is-clone" && { of: news.of }),
    ...("isRecalled" in news && news.isRecalled && { recalled: true }),
  });
}
