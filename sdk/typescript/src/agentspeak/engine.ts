/**
 * The AgentSpeak engine of nodes, compiled to WebAssembly. Orders go in as JSON and bytes, answers come out
 * (docs/design/device.md).
 */
import { WhimbrelError } from "../acl/errors.js";
import type { Clock } from "./clock.js";

/** Source of the engine's module: its address, its bytes, a response with the bytes, or the compiled module. */
export type EngineSource = string | URL | BufferSource | Response | PromiseLike<Response> | WebAssembly.Module;

/** Error or warning about a program. Lines and columns count from 1; columns count UTF-16 units, as editors do. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  /** Short description of the marked place. */
  readonly label: string;
  /** Suggested fix. */
  readonly help: string | undefined;
  /** The whole diagnostic with its source lines, as a terminal shows it. */
  readonly rendered: string;
}

/** Message counts by outcome. `sent + came = handled + dead + queued + left` always holds. */
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

/** Event that the engine reports. */
export type EngineEvent =
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

/** State of an agent's mind. Empty parts are left out; `cut` counts the entries that exceeded a limit. */
export interface Mind {
  /** Reasoning cycles since the mind was first followed or debugged. */
  readonly cycle?: number;
  readonly paused: boolean;
  /** Reason for the pause: an instruction, or the plan whose breakpoint was reached. */
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
  /** Steps of the last cycles, recorded while the mind is followed. */
  readonly recent: readonly { readonly cycle: number; readonly text: string }[];
  readonly cut: Readonly<Record<string, number>>;
}

/** Instruction to an inspected agent. */
export type Instruction =
  | "pause"
  | "continue"
  | "step"
  /** Continues and removes all breakpoints. */
  | "end"
  /** Sets or clears a breakpoint: the agent pauses when it chooses this plan. */
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

/** Answer to an order, with the events since the previous order. */
export interface Reply {
  readonly answer: Answer;
  readonly happened: readonly EngineEvent[];
  /** Number of events that were dropped because nobody fetched them. */
  readonly lost: number;
  /** Delay until the next turn; null if the society waits for an event. */
  readonly wait_ms: number | null;
  readonly over: boolean;
  /** Bytes that accompany the answer. */
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

/** Longest order in bytes, attached bytes included. */
const ORDER_BYTES_MAX = 128 << 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Failure of the engine itself. The society in it is lost; start a new one from saved states. */
export class EngineError extends WhimbrelError {
  override readonly name = "EngineError";
}

/** Compiles the engine's module. */
export async function compileEngine(source: EngineSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (ArrayBuffer.isView(source) || source instanceof ArrayBuffer) return WebAssembly.compile(source);
  const response = await (typeof source === "string" || source instanceof URL ? fetch(source) : (source as Response | PromiseLike<Response>));
  if (!response.ok) throw new WhimbrelError(`cannot load the AgentSpeak engine: ${response.url} answered ${response.status}`);
  // Some servers do not know the type of WebAssembly. They must still work.
  if (response.headers.get("content-type")?.startsWith("application/wasm")) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Encodes an order as JSON. */
function encodeOrder(order: unknown): Uint8Array {
  try {
    return encoder.encode(JSON.stringify(order));
  } catch (error) {
    throw new WhimbrelError(`the order cannot be encoded as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Instance of the engine's module. */
export class Engine {
  readonly #exports: Exports;
  #fault: EngineError | undefined;

  constructor(module: WebAssembly.Module, platform: string, clock: Pick<Clock, "now" | "wall">, random: () => bigint) {
    const whim = { now: () => clock.now(), wall: () => clock.wall(), random };
    this.#exports = new WebAssembly.Instance(module, { whim }).exports as unknown as Exports;
    this.#exports.whim_begin(this.#write(encoder.encode(platform)));
  }

  /** Error that stopped the engine, if any. */
  get fault(): EngineError | undefined {
    return this.#fault;
  }

  /**
   * Executes an order.
   *
   * @throws {@link EngineError} if the engine traps or has trapped before. {@link WhimbrelError} if the order is
   * invalid or too long; then nothing happened.
   */
  order(order: unknown, bytes: Uint8Array = new Uint8Array()): Reply {
    if (this.#fault) throw this.#fault;
    const input = encodeOrder(order);
    const length = input.length + bytes.length;
    if (length > ORDER_BYTES_MAX) throw new WhimbrelError(`order too long: ${length} bytes, the limit is ${ORDER_BYTES_MAX}`);
    try {
      const text = this.#exports.whim_order(this.#write(input, bytes));
      const output = new Uint8Array(this.#exports.memory.buffer, this.#exports.whim_output(), this.#exports.whim_output_bytes());
      const reply = JSON.parse(decoder.decode(output.subarray(0, text))) as Omit<Reply, "bytes">;
      return { ...reply, bytes: output.slice(text) };
    } catch (error) {
      this.#fault = error instanceof EngineError ? error : new EngineError(`the AgentSpeak engine failed: ${error instanceof Error ? error.message : String(error)}`);
      throw this.#fault;
    }
  }

  /** Writes an order into the engine's memory. Returns the length of its text. */
  #write(text: Uint8Array, bytes: Uint8Array = new Uint8Array()): number {
    const at = this.#exports.whim_input(text.length + bytes.length);
    if (at === 0) throw new EngineError(`order too long for the engine: ${text.length + bytes.length} bytes`);
    const input = new Uint8Array(this.#exports.memory.buffer, at, text.length + bytes.length);
    input.set(text);
    input.set(bytes, text.length);
    return text.length;
  }
}

/** Converts a diagnostic of the engine to the public form. */
export function diagnosticOf({ end_line: endLine, end_column: endColumn, help, ...rest }: DiagnosticJson): Diagnostic {
  return { ...rest, endLine, endColumn, help: help ?? undefined };
}
