/** A guest: an agent in a WebAssembly module, without anything of a platform but what its surroundings do for it. */
import { Aid } from "../acl/aid.js";
import type { Message } from "../acl/message.js";
import { map, type Value } from "../acl/value.js";
import { newAffairs, readState, writeState, dueAt, type Affairs, type Call, type Image } from "./affairs.js";
import { badState, Input, Output } from "./bytes.js";
import { Asked, Desk, GuestError, Heard, Requests, STAYED, TIMEOUT, type Hop, type Surroundings, type Waiting } from "./desk.js";
import { readMessage, readTemplate } from "./frame.js";
import { applyChanges } from "./image.js";
import { importsOf, type Suspendable } from "./imports.js";
import { MAILBOX_MESSAGES_MAX, MEMORY_BYTES_MAX, PAGE, UNWOUND_BYTES } from "./limits.js";
import { bitsOf, setBits, type GuestModule } from "./module.js";
import { valueBytes } from "./value.js";

/** Bytes that a guest is asked to have room for at least: most messages need no more, so it is asked once. */
const INBOX_BYTES_MIN = 512;
/** Where what was unwound ends, and where the room for it does. */
const UNWOUND_HEAD_BYTES = 8;

/** What became of a hop, of which a guest is told. */
export type News =
  | { readonly type: "arrived"; readonly from: string; readonly isRecalled?: boolean }
  | { readonly type: "stayed"; readonly to: string; readonly why: string; readonly isRecalled?: boolean }
  | { readonly type: "cloned"; readonly clone: string }
  | { readonly type: "is-clone"; readonly from: string; readonly of: string };

/** How a run ended: there is more to do, or nothing for now; it is over; or it wants to be elsewhere. */
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

/** Room that the guest gave for what it is handed: where, how much, and how much of it was used. */
interface Inbox {
  readonly at: number;
  readonly room: number;
  readonly used: number;
}

const NO_INBOX: Inbox = { at: 0, room: 0, used: 0 };

/** All of a guest before a call that may be begun anew. */
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
  /** Bytes that a call needs to find its way back. */
  #unwound = 0;
  #news: News | undefined;
  #running: Promise<Outcome> | undefined;

  /**
   * A guest that goes on from a state, or a new one whose first call is told these options.
   *
   * @throws {@link DecodeError} if it is no state of an agent of this module.
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

  // ---- As bytes

  /** Its state, as nodes write and read it, with what it was not called about yet left out. */
  snapshot(): Uint8Array<ArrayBuffer> {
    const { affairs, surroundings } = this.#desk;
    return writeState(affairs, surroundings.now(), this.#image());
  }

  /** The same as it is elsewhere: what it did to go there is done. */
  departure(): Uint8Array<ArrayBuffer> {
    const { affairs, surroundings } = this.#desk;
    const { suspended } = affairs;
    // To wait until a time that is over ends with the same answer as to have gone.
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
    // Below this address nothing is alive.
    const top = stackPointer === undefined ? 0 : Number([globals[stackPointer] ?? 0n, beginning[stackPointer] ?? 0n].reduce((one, other) => (one < other ? one : other)));
    first.writeChanges(memory, top, out);
    return { morePages: (memory.length - first.length) / PAGE, changes: out.take() };
  }

  #clear(at: number, length: number): void {
    this.#bytes().fill(0, at, at + length);
  }

  // ---- What comes to it

  /** Gives it a message; false if there is no place for it. `done` is called when it took it. */
  deliver(message: Message, done: () => void = () => undefined): boolean {
    const { mailbox } = this.#desk;
    if (mailbox.length >= MAILBOX_MESSAGES_MAX) return false;
    mailbox.push({ message, done });
    return true;
  }

  /** Messages that it did not take yet. */
  get waiting(): readonly Message[] {
    return this.#desk.mailbox.map(({ message }) => message);
  }

  /** Whether there is anything to be told of. */
  get hasNews(): boolean {
    return this.#news !== undefined;
  }

  /** When it has something to do without a message, in microseconds; `Infinity` if never. */
  get dueAt(): number {
    return dueAt(this.#desk.affairs);
  }

  /** Where it comes from, as its state is to say. */
  get line(): Affairs["line"] {
    return this.#desk.affairs.line;
  }

  set line(line: Affairs["line"]) {
    this.#desk.affairs.line = line;
  }

  /** It is told what became of a hop when it runs again. */
  hopped(news: News): void {
    // A clone is somebody else.
    if (news.type === "is-clone") Object.assign(this.#desk.affairs, { life: 0n, lastWords: new Uint8Array() });
    this.#news = news;
  }

  /** It ends otherwise than by its own will: what it wanted to be sent then is sent, with the reason as its content. */
  sayLastWords(reason: string): void {
    const { affairs, surroundings } = this.#desk;
    const frame = affairs.lastWords;
    affairs.lastWords = new Uint8Array();
    if (frame.length > 0) surroundings.send({ ...readMessage(frame, Aid.NOBODY), content: reason });
  }

  /** Somebody calls it home: it is told with the news of the hop. */
  recalled(): void {
    this.#desk.affairs.recalls++;
  }

  /** Somebody else sends it elsewhere: it is told between two calls. */
  prepare(): void {
    if (!this.#desk.affairs.suspended) this.#exports.whim_before_move?.();
  }

  /** What need not travel does not: that is said before it goes. */
  lighten(): void {
    for (const [at, length] of this.#desk.requests.discarded.splice(0)) this.#clear(at, length);
  }

  // ---- Turns

  /**
   * Does what there is to do, until there is nothing, it ends, or wants to be elsewhere; or for so many steps.
   *
   * @throws {@link GuestError}, or what the engine throws, if it fails: it is of no use then.
   */
  run(steps = Infinity): Promise<Outcome> {
    this.#running ??= this.#work(steps).finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Whether a call is being made, or waits for what the platform answers: its state is that before the call. */
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
   * It is ended by another's will: what it sends now is still sent. Who waits in the middle of a call is not told, nor is who stopped or
   * failed in one that had to be waited for.
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

  /** Does something with the guest; anew, from the same beginning, if it asks what has to be asked for first. */
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

  /** Does it, and what it asked for. */
  #whole<Result>(call: () => Result): Result {
    const { requests } = this.#desk;
    try {
      return call();
    } catch (error) {
      if (error instanceof Asked) requests.effects.length = 0;
      throw error;
    } finally {
      // What it said before it failed is said.
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
    // What came since it asked first is behind what it saw, and stays; so does what others said of it.
    desk.mailbox.splice(0, desk.visible, ...mailbox);
    const { recalls, line } = desk.affairs;
    desk.affairs = { ...affairs, recalls, line };
    this.#inbox = inbox;
    // Memory does not shrink.
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

  /** Tells it what became of its hop. */
  #tell(news: News): Outcome {
    const { affairs } = this.#desk;
    const told = (step: Outcome): Outcome => {
      this.#news = undefined;
      return step;
    };
    if (affairs.suspended?.wait.type === "hop") {
      const isRecalled = "isRecalled" in news && news.isRecalled === true;
      if (news.type === "is-clone") return told(this.#goOn(1));
      // Who was called home wanted to go elsewhere.
      if (news.type === "arrived" && isRecalled) return told(this.#goOn(this.#desk.refuse(STAYED, "it was called home")));
      return told(this.#goOn(news.type === "stayed" ? this.#desk.refuse(STAYED, news.why) : 0));
    }
    // Somebody else sent it while it waits for something: it goes on waiting.
    if (affairs.suspended || !this.#exports.whim_after_move) return told(MORE);
    const value = newsValue(news, this.#desk.surroundings.node);
    return told(this.#call({ type: "moved", ...this.#handOver(valueBytes(value)) }));
  }

  /** Goes on with a call that waits, if what it waits for has come. */
  #resume({ wait }: NonNullable<Affairs["suspended"]>): Outcome {
    const desk = this.#desk;
    // Whoever is told what became of a hop is told before; nobody will now.
    if (wait.type === "hop") return this.#goOn(desk.refuse(STAYED, "the hop was interrupted"));
    if (wait.type === "until") return wait.until <= desk.now ? this.#goOn(0) : REST;
    const length = desk.takeMatching(readTemplate(wait.template, desk.surroundings.platform));
    if (length !== undefined) return this.#goOn(length);
    return wait.until <= desk.now ? this.#goOn(desk.refuse(TIMEOUT, "no such message came in time")) : REST;
  }

  /** Goes on with a call that waits: it gets this answer. */
  #goOn(answer: number): Outcome {
    const { affairs } = this.#desk;
    const call = affairs.suspended?.call;
    const { asyncify_start_rewind: rewind } = this.#exports;
    if (!call || !rewind) throw new GuestError("it cannot be suspended here: it was not prepared");
    affairs.suspended = undefined;
    // binaryen's `Asyncify` keeps there where that ends which it needs.
    const bytes = this.#bytes();
    const end = new DataView(bytes.buffer, bytes.byteOffset).getUint32(affairs.unwindAt, true);
    this.#unwound = Math.min(Math.max(end - affairs.unwindAt, UNWOUND_HEAD_BYTES), UNWOUND_BYTES);
    rewind(affairs.unwindAt);
    this.#desk.course = { type: "rewinding", answer };
    return this.#call(call);
  }

  /** Writes bytes where the guest wants to have them. */
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

  /** Calls the guest; how its turn ends, if it does. */
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
      // It may keep what it was handed while it waits: it is asked for other room then.
      this.#inbox = NO_INBOX;
      // A departure that was asked for before is over: the call is not.
      if (course.wait.type !== "hop") desk.requests.hop = undefined;
      desk.affairs.suspended = { call, wait: course.wait };
    } else if (course.type === "rewinding") throw new GuestError("it cannot be suspended here: it did not come back to where it waited");
    else if (wasWaiting) this.#clearUnwound();
    if (code !== 0 && !desk.affairs.suspended) throw new GuestError(`it answered ${code}`);
    return this.#outcome();
  }

  /** Clears what a call needed to find its way back, so that it does not travel. */
  #clearUnwound(): void {
    this.#clear(this.#desk.affairs.unwindAt, this.#unwound);
  }

  /** What the guest asked for in the call that is over. */
  #outcome(): Outcome {
    const { requests, affairs } = this.#desk;
    // Whatever else it asked for: it neither goes on waiting nor goes anywhere.
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

/** What `whim_after_move` is told. */
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
