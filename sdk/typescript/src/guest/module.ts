/** Modules of agents: checked once, and changed so that the whole state of an agent can be captured. */
import { checkCode, F32, F64, I32, I64, ModuleError, SECTION, sections, skipInitial, ModuleReader, type Section } from "./binary.js";
import { InitialMemory } from "./image.js";
import { MEMORY_BYTES, MEMORY_BYTES_MAX, MODULE_BYTES_MAX, MODULE_GLOBALS_MAX, PAGE } from "./limits.js";

/** Version of the interface. */
const VERSION = 1;
/** Name that LLVM's linker gives the exported stack pointer. */
const STACK_POINTER = "__stack_pointer";

/** Required exports with their types. */
const [I, L] = [I32, I64];
const EXPORTS: Readonly<Record<string, readonly [params: readonly number[], results: readonly number[], isOptional?: boolean]>> = {
  whim_abi: [[], [I]],
  whim_inbox: [[I], [I]],
  whim_handle: [[I, I], [I]],
  whim_start: [[I, I], [I], true],
  whim_timer: [[L], [I], true],
  whim_before_move: [[], [], true],
  whim_after_move: [[I, I], [I], true],
  whim_stop: [[], [], true],
};

/** Permitted imports. */
const IMPORTS = new Set(
  (
    "send take read reason name node timer cancel timer_left now random log print register deregister search exists join leave act storage_get storage_put " +
    "storage_delete storage_list depart depart_clone discard recalled set_lifetime life on_failure stop receive sleep move_to clone_to"
  ).split(" "),
);
/** Imports that suspend a call. */
const SUSPENDING = ["receive", "sleep", "move_to", "clone_to"];
/** Imports that query the platform. */
const ASKING = ["search", "exists", "register", "deregister", "join", "leave"];

/** A mutable global, with its export name and type. */
export interface MutableGlobal {
  readonly name: string;
  readonly type: number;
}

interface FunctionType {
  readonly params: readonly number[];
  readonly results: readonly number[];
}

interface ModuleContents {
  readonly functions: readonly (FunctionType | undefined)[];
  /** Types of mutable globals by index; undefined for others. */
  readonly globals: readonly (number | undefined)[];
  readonly exports: readonly { readonly name: string; readonly kind: number; readonly index: number }[];
}

const [FUNCTION, MEMORY, GLOBAL] = [0, 2, 3];
/** First byte of a function type. */
const FUNCTION_TYPE = 0x60;

/** A compiled module. Its agents share the code. */
export class GuestModule {
  private constructor(
    /** Original bytes. */
    readonly bytes: Uint8Array<ArrayBuffer>,
    /** @internal */
    readonly code: WebAssembly.Module,
    /** @internal */
    readonly globals: readonly MutableGlobal[],
    /** Initial values of the globals. @internal */
    readonly initialGlobals: readonly bigint[],
    /** Initial memory. @internal */
    readonly first: InitialMemory,
    /** Index of the stack pointer, if nothing lies below the stack. @internal */
    readonly stackPointer: number | undefined,
    /** True if its agents can be suspended, and move, within a call. */
    readonly suspends: boolean,
    /** Names of its imports. */
    readonly wants: readonly string[],
  ) {}

  /**
   * Checks and compiles a module.
   *
   * @throws {@link ModuleError} if it cannot be an agent here.
   */
  static async compile(source: BufferSource, { memoryBytes = MEMORY_BYTES }: { readonly memoryBytes?: number } = {}): Promise<GuestModule> {
    const bytes = ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice() : new Uint8Array(source).slice();
    if (bytes.length > MODULE_BYTES_MAX) throw new ModuleError(`module too long: ${bytes.length} bytes, the limit is ${MODULE_BYTES_MAX}`);
    try {
      await WebAssembly.compile(bytes);
    } catch (error) {
      throw new ModuleError(`unsupported module: ${error instanceof Error ? error.message : String(error)}`);
    }
    const parts = sections(bytes);
    const { found, wants } = look(bytes, parts);
    const suspends = found.exports.some(({ name, kind }) => name === "asyncify_start_unwind" && kind === FUNCTION);
    const unprepared = wants.find((name) => SUSPENDING.includes(name));
    if (unprepared !== undefined && !suspends) {
      throw new ModuleError(
        `it imports \`whim.${unprepared}\`, which suspends it in the middle of a call, and was not prepared for that: \`whimbrel agent build\` does so (by wasm-opt --asyncify)`,
      );
    }
    const { globals, unexported } = mutableGlobals(found);
    const code = await WebAssembly.compile(prepared(bytes, parts, unexported, Math.min(memoryBytes, MEMORY_BYTES_MAX)));
    const { first, initialGlobals } = firstState(code, globals);
    const pointer = globals.findIndex(({ name, type }) => name === STACK_POINTER && type === I32);
    const isStackFirst = pointer >= 0 && !first.isEmpty && first.isEmptyBelow(Number(initialGlobals[pointer]));
    return new GuestModule(bytes, code, globals, initialGlobals, first, isStackFirst ? pointer : undefined, suspends, wants);
  }

  /**
   * Returns the SHA-256 of its bytes, in hexadecimal.
   *
   * @throws {@link ModuleError} in a page without a secure origin (HTTPS, or this machine).
   */
  async hash(): Promise<string> {
    const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
    if (!subtle) throw new ModuleError("cannot hash a module in this page: a secure origin is required (HTTPS, or localhost)");
    const digest = new Uint8Array(await subtle.digest("SHA-256", this.bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Returns the name of its code, for saved states and moves: the hash, and a file name for people. */
  async codeName(file: string): Promise<string> {
    return `wasm:${await this.hash()}/${file}`;
  }

  /** True if it queries the platform. @internal */
  get asks(): boolean {
    return this.wants.some((name) => ASKING.includes(name));
  }
}

function look(bytes: Uint8Array, parts: readonly Section[]): { readonly found: ModuleContents; readonly wants: readonly string[] } {
  const reader = new ModuleReader(bytes);
  const inSection = <T>(id: number, one: (index: number) => T): T[] => {
    const part = parts.find((section) => section.id === id);
    if (!part) return [];
    reader.at = part.body;
    return reader.many(one);
  };
  const types = inSection(SECTION.type, (): FunctionType => {
    if (reader.byte() !== FUNCTION_TYPE) throw new ModuleError("unsupported module: it has a type that is not a function's");
    return { params: reader.many(() => reader.byte()), results: reader.many(() => reader.byte()) };
  });
  const imported = inSection(SECTION.import, () => {
    const [module, name, kind] = [reader.text(), reader.text(), reader.byte()];
    if (module !== "whim" || kind !== FUNCTION || !IMPORTS.has(name)) {
      throw new ModuleError(`it imports \`${module}.${name}\`, which does not exist: see docs/design/wasm-agents.md`);
    }
    return { name, type: reader.u32() };
  });
  const own = inSection(SECTION.function, () => reader.u32());
  const globals = inSection(SECTION.global, () => {
    const [type, isMutable] = [reader.byte(), reader.byte() === 1];
    skipInitial(reader);
    if (isMutable && !([I32, I64, F32, F64] as readonly number[]).includes(type)) throw new ModuleError("its state cannot be captured: it has a mutable global that is not a number");
    return isMutable ? type : undefined;
  });
  const exports = inSection(SECTION.export, () => ({ name: reader.text(), kind: reader.byte(), index: reader.u32() }));
  inSection(SECTION.code, () => checkCode(reader));
  const found = { functions: [...imported.map(({ type }) => types[type]), ...own.map((type) => types[type])], globals, exports };
  checkExports(found);
  return { found, wants: imported.map(({ name }) => name) };
}

function checkExports({ functions, exports }: ModuleContents): void {
  const isSame = (one: readonly number[], other: readonly number[]): boolean => one.length === other.length && one.every((type, at) => type === other[at]);
  if (!exports.some(({ name, kind }) => name === "memory" && kind === MEMORY)) throw new ModuleError("it does not export `memory` as a memory");
  for (const [wanted, [params, results, isOptional]] of Object.entries(EXPORTS)) {
    const found = exports.find(({ name }) => name === wanted);
    if (!found && isOptional) continue;
    const type = found?.kind === FUNCTION ? functions[found.index] : undefined;
    if (type && isSame(type.params, params) && isSame(type.results, results)) continue;
    const types = (some: readonly number[]): string => some.map((one) => (one === I32 ? "i32" : "i64")).join(", ");
    throw new ModuleError(`it does not export \`${wanted}\` as a function (${types(params)})${results.length > 0 ? ` -> ${types(results)}` : ""}`);
  }
}

function mutableGlobals({ globals, exports }: ModuleContents): { readonly globals: readonly MutableGlobal[]; readonly unexported: readonly number[] } {
  const mutable: MutableGlobal[] = [];
  const unexported: number[] = [];
  globals.forEach((type, index) => {
    if (type === undefined) return;
    const exported = exports.find((one) => one.kind === GLOBAL && one.index === index);
    if (!exported) unexported.push(index);
    mutable.push({ name: exported?.name ?? nameOfGlobal(index), type });
  });
  if (mutable.length > MODULE_GLOBALS_MAX) {
    throw new ModuleError(`its state cannot be captured: it has ${mutable.length} mutable globals, the limit is ${MODULE_GLOBALS_MAX}`);
  }
  const taken = unexported.map(nameOfGlobal).find((name) => exports.some((one) => one.name === name));
  if (taken !== undefined) throw new ModuleError(`its state cannot be captured: it exports something as \`${taken}\``);
  return { globals: mutable, unexported };
}

const nameOfGlobal = (index: number): string => `whim:g${index}`;

const unsigned = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]);

/** Returns the module with all mutable globals exported, and with a memory limit. */
function prepared(bytes: Uint8Array, parts: readonly Section[], unexported: readonly number[], memoryBytes: number): Uint8Array<ArrayBuffer> {
  const out: Uint8Array[] = [bytes.subarray(0, 8)];
  for (const { id, begin, body, end } of parts) {
    if (id === SECTION.memory) out.push(Uint8Array.from(section(id, boundedMemory(new ModuleReader(bytes, body), memoryBytes))));
    else if (id === SECTION.export) {
      const reader = new ModuleReader(bytes, body);
      const count = reader.u32();
      const more = unexported.flatMap((index) => {
        const name = nameOfGlobal(index);
        return [name.length, ...new TextEncoder().encode(name), GLOBAL, ...unsigned(index)];
      });
      out.push(Uint8Array.from(section(id, [...unsigned(count + unexported.length), ...bytes.subarray(reader.at, end), ...more])));
    } else out.push(bytes.subarray(begin, end));
  }
  const whole = new Uint8Array(out.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of out) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const section = (id: number, body: readonly number[]): number[] => [id, ...unsigned(body.length), ...body];

function boundedMemory(reader: ModuleReader, memoryBytes: number): number[] {
  const most = Math.floor(memoryBytes / PAGE);
  const [count, flags, least] = [reader.u32(), reader.byte(), reader.u32()];
  const wanted = flags & 1 ? reader.u32() : most;
  if (count !== 1 || flags > 1) throw new ModuleError("unsupported module: it must have exactly one memory of its own");
  if (least > most) throw new ModuleError(`it needs ${least * PAGE} bytes of memory, the limit is ${memoryBytes} (quota memory_bytes)`);
  return [1, 1, ...unsigned(least), ...unsigned(Math.min(wanted, most))];
}

/** Returns the initial state of an instance. */
function firstState(code: WebAssembly.Module, globals: readonly MutableGlobal[]): { readonly first: InitialMemory; readonly initialGlobals: readonly bigint[] } {
  const whim = Object.fromEntries(
    [...IMPORTS].map((name) => [
      name,
      () => {
        throw new ModuleError("it cannot be instantiated: it calls an import during instantiation");
      },
    ]),
  );
  const instantiate = (): WebAssembly.Exports => {
    try {
      return new WebAssembly.Instance(code, { whim }).exports;
    } catch (error) {
      if (error instanceof ModuleError) throw error;
      throw new ModuleError(`it cannot be instantiated: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  // `whim_abi` may change state, so agents begin from another instance.
  const version = (instantiate()["whim_abi"] as () => number)();
  if (version !== VERSION) throw new ModuleError(`it was written for version ${version} of the interface; this is version ${VERSION}`);
  const exports = instantiate();
  const memory = new Uint8Array((exports["memory"] as WebAssembly.Memory).buffer);
  return { first: new InitialMemory(memory), initialGlobals: globals.map((global) => bitsOf(exports[global.name] as WebAssembly.Global, global.type)) };
}

const scratch = new DataView(new ArrayBuffer(8));

/** Returns the bits of a global. */
export function bitsOf(global: WebAssembly.Global, type: number): bigint {
  const value = global.value as number | bigint;
  if (type === I64) return BigInt.asUintN(64, value as bigint);
  if (type === I32) return BigInt((value as number) >>> 0);
  if (type === F32) scratch.setFloat32(0, value as number);
  else scratch.setFloat64(0, value as number);
  return type === F32 ? BigInt(scratch.getUint32(0)) : scratch.getBigUint64(0);
}

/** Sets the bits of a global. */
export function setBits(global: WebAssembly.Global, type: number, bits: bigint): void {
  if (type === I64) global.value = BigInt.asIntN(64, bits);
  else if (type === I32) global.value = Number(BigInt.asIntN(32, bits));
  else if (type === F32) {
    scratch.setUint32(0, Number(BigInt.asUintN(32, bits)));
    global.value = scratch.getFloat32(0);
  } else {
    scratch.setBigUint64(0, bits);
    global.value = scratch.getFloat64(0);
  }
}
