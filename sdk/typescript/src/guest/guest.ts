/** A guest: the instance of a WebAssembly agent, apart from any platform. Its surroundings connect it to one. */
import { Aid } from "../acl/aid.js";
import type { Message } from "../acl/message.js";
import { map, type Value } from "../acl/value.js";
import { newCallState, readState, writeState, dueAt, type CallState, type Call, type Image } from "./call-state.js";
import { badState, Input, Output } from "./bytes.js";
import { QueryPending, CallContext, GuestError, CallInputs, Requests, STAYED, TIMEOUT, type Hop, type Surroundings, type WaitingMessage } from "./call-context.js";
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
export type HopResult =
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
interface InputBuffer {
  readonly at: number;
  readonly room: number;
  readonly used: number;
}

const NO_BUFFER: InputBuffer = { at: 0, room: 0, used: 0 };

/** Copy of a guest before a call that may be repeated. */
interface Backup {
  readonly memory: Uint8Array;
  readonly globals: readonly bigint[];
  readonly callState: CallState;
  readonly mailbox: readonly WaitingMessage[];
  readonly buffer: InputBuffer;
}

/** See the module. */
export class Guest {
  readonly #module: GuestModule;
  readonly #context: CallContext;
  #exports!: Exports;
  #memory = new Uint8Array();
  #buffer = NO_BUFFER;
  /** Bytes of the unwind area that the suspended call uses. */
  #unwound = 0;
  #hopResult: HopResult | undefined;
  #running: Promise<Outcome> | undefined;

  /**
   * Creates a guest from a state, or a new one with options for its first call.
   *
   * @throws {@link DecodeError} if the state does not belong to this module.
   */
  constructor(module: GuestModule, surroundings: Surroundings, from: Uint8Array | Readonly<Record<string, Value>> = {}) {
    this.#module = module;
    const { callState, image } = from instanceof Uint8Array ? readState(from, surroundings.now()) : begin(from);
    this.#context = new CallContext(surroundings, callState, () => this.#bytes());
    this.#instantiate();
    this.#become(image);
  }

  #instantiate(): void {
    const whim = importsOf(this.#context, () => this.#exports) as WebAssembly.ModuleImports;
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
      throw new GuestError("its state needs more memory than permitted here (quota memory_bytes)");
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
    const { callState, surroundings } = this.#context;
    return writeState(callState, surroundings.now(), this.#image());
  }

  /** Returns the state to continue with elsewhere. A call that waits for the hop finds it done. */
  departure(): Uint8Array<ArrayBuffer> {
    const { callState, surroundings } = this.#context;
    const { suspended } = callState;
    // A wait for a time in the past returns the same answer as a completed hop.
    const done = suspended?.wait.type === "hop" ? { ...callState, suspended: { ...suspended, wait: { type: "until", until: surroundings.now() } as const } } : callState;
    return writeState(done, surroundings.now(), this.#image());
  }

  #image(): Image {
    if (!this.#context.callState.suspended) {
      this.#clear(this.#buffer.at, this.#buffer.used);
      this.#buffer = { ...this.#buffer, used: 0 };
    }
    const { initialGlobals, first, stackPointer } = this.#module;
    const globals = this.#globals;
    const changed = globals.map((now, index) => [index, now] as const).filter(([index, now]) => now !== initialGlobals[index]);
    const out = new Output().varint(changed.length);
    for (const [index, now] of changed) out.varint(index).varint(now);
    const memory = this.#bytes();
    // Below this address, the stack is unused.
    const top = stackPointer === undefined ? 0 : Number([globals[stackPointer] ?? 0n, initialGlobals[stackPointer] ?? 0n].reduce((one, other) => (one < other ? one : other)));
    first.writeChanges(memory, top, out);
    return { morePages: (memory.length - first.length) / PAGE, changes: out.take() };
  }

  #clear(at: number, length: number): void {
    this.#bytes().fill(0, at, at + length);
  }

  // ---- Messages and moves

  /** Delivers a message; false if the mailbox is full. `done` is called when the guest takes it. */
  deliver(message: Message, done: () => void = () => undefined): boolean {
    const { mailbox } = this.#context;
    if (mailbox.length >= MAILBOX_MESSAGES_MAX) return false;
    mailbox.push({ message, done });
    return true;
  }

  /** Messages that the guest has not taken. */
  get waiting(): readonly Message[] {
    return this.#context.mailbox.map(({ message }) => message);
  }

  /** True if the result of a hop is pending. */
  get hasHopResult(): boolean {
    return this.#hopResult !== undefined;
  }

  /** Time of its next work without a message, in microseconds; `Infinity` if there is none. */
  get dueAt(): number {
    return dueAt(this.#context.callState);
  }

  /** Provenance for its state. */
  get provenance(): CallState["provenance"] {
    return this.#context.callState.provenance;
  }

  set provenance(provenance: CallState["provenance"]) {
    this.#context.callState.provenance = provenance;
  }

  /** Sets the result of a hop, for the next run. */
  hopped(result: HopResult): void {
    // A clone is a different agent.
    if (result.type === "is-clone") Object.assign(this.#context.callState, { life: 0n, lastWords: new Uint8Array() });
    this.#hopResult = result;
  }

  /** Sends the last words, with the reason as content. Called when the guest does not end by itself. */
  sayLastWords(reason: string): void {
    const { callState, surroundings } = this.#context;
    const frame = callState.lastWords;
    callState.lastWords = new Uint8Array();
    if (frame.length > 0) surroundings.send({ ...readMessage(frame, Aid.NOBODY), content: reason });
  }

  /** Counts a recall. The guest learns of it with the result of the hop. */
  recalled(): void {
    this.#context.callState.recalls++;
  }

  /** Tells the guest that it will be moved, unless it is in a call. */
  prepare(): void {
    if (!this.#context.callState.suspended) this.#exports.whim_before_move?.();
  }

  /** Clears discarded regions, so that they do not travel. */
  lighten(): void {
    for (const [at, length] of this.#context.requests.discarded.splice(0)) this.#clear(at, length);
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
    if (!stop || this.#context.callState.suspended) return;
    this.#running = this.#attempt(() => (stop(), STOPPED)).finally(() => (this.#running = undefined));
    await this.#running;
  }

  /** Makes a call. Repeats it from the same state after each query that had to be answered first. */
  async #attempt<Result>(call: () => Result): Promise<Result> {
    const context = this.#context;
    context.visible = context.mailbox.length;
    context.requests = new Requests();
    if (!this.#module.asks) return this.#whole(call);
    const before = this.#remember();
    context.inputs = new CallInputs(context.surroundings.now(), context.surroundings.wall());
    try {
      for (;;) {
        try {
          return this.#whole(call);
        } catch (error) {
          if (!(error instanceof QueryPending)) throw error;
          this.#goBack(before);
          context.inputs.answers.push([error.question, await context.surroundings.ask(error.question)]);
          context.inputs.asked = context.inputs.drawn = 0;
          context.visible = before.mailbox.length;
        }
      }
    } finally {
      context.inputs = undefined;
    }
  }

  /** Makes a call, and carries out its effects. */
  #whole<Result>(call: () => Result): Result {
    const { requests } = this.#context;
    try {
      return call();
    } catch (error) {
      if (error instanceof QueryPending) requests.effects.length = 0;
      throw error;
    } finally {
      // Messages sent before a failure count.
      for (const effect of requests.effects) effect();
    }
  }

  #remember(): Backup {
    const { callState, mailbox } = this.#context;
    return { memory: this.#bytes().slice(), globals: this.#globals, callState: { ...callState }, mailbox: [...mailbox], buffer: this.#buffer };
  }

  #goBack({ memory, globals, callState, mailbox, buffer }: Backup): void {
    const context = this.#context;
    for (const undo of context.requests.undo.reverse()) undo();
    context.requests = new Requests();
    context.phase = { type: "straight" };
    context.maySuspend = false;
    // Keep messages that arrived after the first query, and changes from outside.
    context.mailbox.splice(0, context.visible, ...mailbox);
    const { recalls, provenance } = context.callState;
    context.callState = { ...callState, recalls, provenance };
    this.#buffer = buffer;
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
    const { callState } = this.#context;
    if (!callState.isStarted) return this.#start();
    if (this.#hopResult) return this.#tell(this.#hopResult);
    if (callState.suspended) return this.#resume(callState.suspended);
    const [timer] = callState.timers;
    if (timer && timer.at <= this.#context.now) {
      callState.timers = callState.timers.slice(1);
      return this.#call({ type: "timer", tag: timer.tag });
    }
    if (this.#context.visible === 0) return REST;
    const frame = this.#context.takeFrame(0);
    return frame ? this.#call({ type: "handle", ...this.#handOver(frame) }) : MORE;
  }

  #start(): Outcome {
    const { callState } = this.#context;
    const options = callState.options.length > 0 ? callState.options : valueBytes(map([]));
    callState.isStarted = true;
    callState.options = new Uint8Array();
    return this.#call({ type: "start", ...this.#handOver(options) });
  }

  /** Reports the result of a hop to the guest. */
  #tell(result: HopResult): Outcome {
    const { callState } = this.#context;
    const told = (step: Outcome): Outcome => {
      this.#hopResult = undefined;
      return step;
    };
    if (callState.suspended?.wait.type === "hop") {
      const isRecalled = "isRecalled" in result && result.isRecalled === true;
      if (result.type === "is-clone") return told(this.#goOn(1));
      // A recalled guest did not reach its own destination.
      if (result.type === "arrived" && isRecalled) return told(this.#goOn(this.#context.refuse(STAYED, "it was called home")));
      return told(this.#goOn(result.type === "stayed" ? this.#context.refuse(STAYED, result.why) : 0));
    }
    // The guest was moved while it waits for something else, and continues to wait.
    if (callState.suspended || !this.#exports.whim_after_move) return told(MORE);
    const value = hopValue(result, this.#context.surroundings.node);
    return told(this.#call({ type: "moved", ...this.#handOver(valueBytes(value)) }));
  }

  /** Continues a suspended call if its condition is met. */
  #resume({ wait }: NonNullable<CallState["suspended"]>): Outcome {
    const context = this.#context;
    // The result of a hop is reported earlier, so it was lost.
    if (wait.type === "hop") return this.#goOn(context.refuse(STAYED, "the hop was interrupted"));
    if (wait.type === "until") return wait.until <= context.now ? this.#goOn(0) : REST;
    const length = context.takeMatching(readTemplate(wait.template, context.surroundings.platform));
    if (length !== undefined) return this.#goOn(length);
    return wait.until <= context.now ? this.#goOn(context.refuse(TIMEOUT, "no matching message in time")) : REST;
  }

  /** Continues a suspended call with this answer. */
  #goOn(answer: number): Outcome {
    const { callState } = this.#context;
    const call = callState.suspended?.call;
    const { asyncify_start_rewind: rewind } = this.#exports;
    if (!call || !rewind) throw new GuestError("it cannot be suspended here: its module was not prepared");
    callState.suspended = undefined;
    // binaryen's `Asyncify` stores the end of the used area there.
    const bytes = this.#bytes();
    const end = new DataView(bytes.buffer, bytes.byteOffset).getUint32(callState.unwindAt, true);
    this.#unwound = Math.min(Math.max(end - callState.unwindAt, UNWOUND_HEAD_BYTES), UNWOUND_BYTES);
    rewind(callState.unwindAt);
    this.#context.phase = { type: "rewinding", answer };
    return this.#call(call);
  }

  /** Writes bytes into the guest's buffer. */
  #handOver(bytes: Uint8Array): { readonly ptr: number; readonly len: number } {
    if (this.#buffer.room < bytes.length || this.#buffer.at === 0) {
      const room = Math.max(bytes.length, INBOX_BYTES_MIN);
      const at = this.#exports.whim_inbox(room) >>> 0;
      if (at === 0) throw new GuestError("it returned no buffer for its input (whim_inbox)");
      this.#buffer = { at, room, used: 0 };
    }
    const { at, room, used } = this.#buffer;
    this.#context.region(at, bytes.length).set(bytes);
    this.#buffer = { at, room, used: Math.max(used, bytes.length) };
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
    const context = this.#context;
    const wasWaiting = context.phase.type === "rewinding";
    context.maySuspend = true;
    const code = this.#enter(call);
    context.maySuspend = false;
    const { phase } = context;
    context.phase = { type: "straight" };
    if (phase.type === "unwinding") {
      this.#exports.asyncify_stop_unwind?.();
      // The guest may keep its buffer while it waits, so request another.
      this.#buffer = NO_BUFFER;
      // An earlier request to move after the call is void, because the call continues.
      if (phase.wait.type !== "hop") context.requests.hop = undefined;
      context.callState.suspended = { call, wait: phase.wait };
    } else if (phase.type === "rewinding") throw new GuestError("it cannot be resumed: it did not return to the import where it waited");
    else if (wasWaiting) this.#clearUnwound();
    if (code !== 0 && !context.callState.suspended) throw new GuestError(`its call returned ${code}`);
    return this.#outcome();
  }

  /** Clears the unwind area, so that it does not travel. */
  #clearUnwound(): void {
    this.#clear(this.#context.callState.unwindAt, this.#unwound);
  }

  /** Returns the outcome that the call requested. */
  #outcome(): Outcome {
    const { requests, callState } = this.#context;
    // Stopping overrides all other requests.
    if (requests.isStopping) return STOPPED;
    const { hop } = requests;
    if (!hop) return MORE;
    requests.hop = undefined;
    if (!callState.suspended) this.#exports.whim_before_move?.();
    return { type: "hop", hop };
  }
}

function begin(options: Readonly<Record<string, Value>>): { readonly callState: CallState; readonly image: Image } {
  const value = map(options);
  return { callState: newCallState(value.map.length > 0 ? valueBytes(value) : undefined), image: { morePages: 0, changes: new Uint8Array() } };
}

/** Encodes the argument of `whim_after_move`. */
function hopValue(result: HopResult, here: string): Value {
  const [from, to] = result.type === "stayed" ? [here, result.to] : result.type === "cloned" ? [here, here] : [result.from, here];
  return map({
    from,
    to,
    clone: result.type === "is-clone",
    ...(result.type === "stayed" && { reason: result.why }),
    ...(result.type === "cloned" && { name: result.clone }),
    ...(result.type === "is-clone" && { of: result.of }),
    ...("isRecalled" in result && result.isRecalled && { recalled: true }),
  });
}
