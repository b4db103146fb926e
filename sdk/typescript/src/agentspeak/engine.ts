/** The AgentSpeak engine of nodes, compiled to WebAssembly: orders as JSON and bytes in, answers out (docs/design/device.md). */
import { WhimbrelError } from "../acl/errors.js";
import type { Clock } from "./clock.js";

/** Where the engine's module is: its address, its bytes, a response with them, or the module itself. */
export type EngineSource = string | URL | BufferSource | Response | PromiseLike<Response> | WebAssembly.Module;

/** What is wrong with a program, or probably not meant. Lines and columns count from 1, columns in UTF-16 units as editors count. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  /** What the place is. */
  readonly label: string;
  /** What to do about it. */
  readonly help: string | undefined;
  /** With the lines that it is about, as a terminal shows it. */
  readonly rendered: string;
}

/** How many messages took which way: `sent + came = handled + dead + queued + left`, always. */
export interface Counters {
  readonly sent: number;
  readonly handled: number;
  readonly dead: number;
  readonly queued: number;
  readonly came: number;
  readonly left: number;
}

/** A message in JSON (conformance/acl). */
export type MessageJson = Readonly<Record<string, unknown>>;

/** What happened, as the engine tells it. */
export type Happening =
  | { readonly printed: { readonly agent: string; readonly text: string; readonly bare: boolean } }
  | { readonly noted: { readonly agent: string; readonly level: "debug" | "info" | "warning" | "severe"; readonly text: string } }
  | { readonly sent: { readonly agent: string; readonly message: MessageJson } }
  | { readonly said: { readonly from: string; readonly to: string; readonly performative: string; readonly content: string; readonly dead: string | null } }
  | { readonly offered: { readonly agent: string; readonly service: string; readonly kind: string; readonly offered: boolean } }
  | { readonly created: { readonly agent: string } }
  | { readonly leaving: { readonly agent: string; readonly to: string } }
  | { readonly worked: { readonly agent: string; readonly waiting: number } }
  | { readonly ended: { readonly agent: string; readonly reason: string } }
  | { readonly stopped: { readonly code: number } };

/** What is in an agent's mind. What there is none of is left out; `cut` tells what there was no room for. */
export interface Mind {
  /** Reasoning cycles since somebody followed or debugged it. */
  readonly cycle?: number;
  readonly paused: boolean;
  /** Why it stands: it was told to, or the plan with a breakpoint that was chosen. */
  readonly paused_by?: string;
  readonly source_file?: string;
  readonly beliefs: readonly { readonly text: string; readonly namespace: string; readonly sources: readonly string[]; readonly annotations: readonly string[]; readonly rule: boolean }[];
  readonly goals: readonly { readonly text: string; readonly state: string; readonly intention: number | null; readonly reason: string | null }[];
  readonly intentions: readonly {
    readonly id: number;
    /** `running`, `atomic`, `waiting` or `suspended`. */
    readonly state: string;
    readonly waits_for: string | null;
    /** Plans in progress, the innermost first. */
    readonly frames: readonly {
      readonly trigger: string;
      readonly plan: string;
      readonly file: string;
      readonly line: number;
      readonly step: string | null;
      readonly step_line: number | null;
      readonly unifier: readonly (readonly [string, string])[];
    }[];
  }[];
  readonly plans: readonly { readonly label: string; readonly trigger: string; readonly context: string; readonly body: string; readonly file: string; readonly line: number; readonly breakpoint: boolean }[];
  readonly mailbox: readonly { readonly from: string; readonly performative: string; readonly content: string }[];
  readonly mailbox_total: number;
  readonly events: readonly { readonly text: string; readonly intention: number | null }[];
  /** What the last cycles did, while somebody follows it. */
  readonly recent: readonly { readonly cycle: number; readonly text: string }[];
  readonly cut: Readonly<Record<string, number>>;
}

/** What somebody has an agent do who looks into it. */
export type Instruction =
  | "pause"
  | "continue"
  | "step"
  /** It goes on, and has no breakpoints any more. */
  | "end"
  /** It pauses when this plan is chosen, or does not. */
  | { readonly breakpoint: { readonly plan: string; readonly on: boolean } }
  | { readonly believe: { readonly belief: string; readonly add: boolean } }
  | { readonly pursue: { readonly goal: string } };

type Answer =
  | "done"
  | { readonly mind: { readonly mind: Mind } }
  | { readonly refused: { readonly reason: string } }
  | { readonly checked: { readonly diagnostics: readonly DiagnosticJson[]; readonly missing: readonly string[]; readonly agents: readonly string[] } }
  | { readonly agents: { readonly agents: readonly (readonly [string, string])[]; readonly counters: Counters } }
  | { readonly delivered: { readonly missing: readonly (readonly string[])[] } }
  | { readonly code: { readonly name: string } }
  | { readonly departed: { readonly messages: readonly MessageJson[] } };

type DiagnosticJson = Omit<Diagnostic, "endLine" | "endColumn" | "help"> & { readonly end_line: number; readonly end_column: number; readonly help: string | null };

/** The answer to an order, and what happened since the one before. */
export interface Reply {
  readonly answer: Answer;
  readonly happened: readonly Happening[];
  /** How much happened that was forgotten, because nobody asked. */
  readonly lost: number;
  /** When to give turns again; null if nothing is to be done until something happens. */
  readonly wait_ms: number | null;
  readonly over: boolean;
  /** What comes beside the answer. */
  readonly bytes: Uint8Array;
}

interface Exports {
  readonly memory: WebAssembly.Memory;
  whim_input(bytes: number): number;
  whim_begin(name: number): void;
  whim_order(text: number): number;
  whim_output(): number;
  whim_output_bytes(): number;
}

/** Bytes of an order, with those that come with it. */
const ORDER_BYTES_MAX = 128 << 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What is wrong with the engine itself: whatever ran in it is lost, and a new one begins from what was saved. */
export class EngineError extends WhimbrelError {
  override readonly name = "EngineError";
}

/** Compiles the module. */
export async function compileEngine(source: EngineSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (ArrayBuffer.isView(source) || source instanceof ArrayBuffer) return WebAssembly.compile(source);
  const response = await (typeof source === "string" || source instanceof URL ? fetch(source) : (source as Response | PromiseLike<Response>));
  if (!response.ok) throw new WhimbrelError(`the engine is not to be had: ${response.url} answers ${response.status}`);
  // A server that does not know the type of WebAssembly is no reason to fail.
  if (response.headers.get("content-type")?.startsWith("application/wasm")) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** An order as JSON. */
function written(order: unknown): Uint8Array {
  try {
    return encoder.encode(JSON.stringify(order));
  } catch (error) {
    throw new WhimbrelError(`that cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** An instance of the module. */
export class Engine {
  readonly #exports: Exports;
  #fault: EngineError | undefined;

  constructor(module: WebAssembly.Module, platform: string, clock: Pick<Clock, "now" | "wall">, random: () => bigint) {
    const whim = { now: () => clock.now(), wall: () => clock.wall(), random };
    this.#exports = new WebAssembly.Instance(module, { whim }).exports as unknown as Exports;
    this.#exports.whim_begin(this.#write(encoder.encode(platform)));
  }

  /** What stopped it, if something did. */
  get fault(): EngineError | undefined {
    return this.#fault;
  }

  /**
   * Carries out an order.
   *
   * @throws {@link EngineError} if it traps, now or before; {@link WhimbrelError} if the order is none, or too long: nothing happened then.
   */
  order(order: unknown, bytes: Uint8Array = new Uint8Array()): Reply {
    if (this.#fault) throw this.#fault;
    const input = written(order);
    const length = input.length + bytes.length;
    if (length > ORDER_BYTES_MAX) throw new WhimbrelError(`an order of ${length} bytes is too long: ${ORDER_BYTES_MAX} are the most`);
    try {
      const text = this.#exports.whim_order(this.#write(input, bytes));
      const output = new Uint8Array(this.#exports.memory.buffer, this.#exports.whim_output(), this.#exports.whim_output_bytes());
      const reply = JSON.parse(decoder.decode(output.subarray(0, text))) as Omit<Reply, "bytes">;
      return { ...reply, bytes: output.slice(text) };
    } catch (error) {
      this.#fault = error instanceof EngineError ? error : new EngineError(`the engine stopped: ${error instanceof Error ? error.message : String(error)}`);
      throw this.#fault;
    }
  }

  /** Writes what goes in; the length of the first part. */
  #write(text: Uint8Array, bytes: Uint8Array = new Uint8Array()): number {
    const at = this.#exports.whim_input(text.length + bytes.length);
    if (at === 0) throw new EngineError(`an order of ${text.length + bytes.length} bytes is too long`);
    const input = new Uint8Array(this.#exports.memory.buffer, at, text.length + bytes.length);
    input.set(text);
    input.set(bytes, text.length);
    return text.length;
  }
}

/** A diagnostic as programs see it. */
export function diagnosticOf({ end_line: endLine, end_column: endColumn, help, ...rest }: DiagnosticJson): Diagnostic {
  return { ...rest, endLine, endColumn, help: help ?? undefined };
}
