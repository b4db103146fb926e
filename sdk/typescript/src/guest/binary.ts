/** Reader of a module's bytes: exports, imports, and the places of an agent's state. */
import { WhimbrelError } from "../acl/errors.js";

/** The module cannot be an agent. */
export class ModuleError extends WhimbrelError {
  override readonly name = "ModuleError";
}

/** A section: its number, its start with the header, and the range of its content. */
export interface Section {
  readonly id: number;
  readonly begin: number;
  readonly body: number;
  readonly end: number;
}

/** Value types by their byte. */
export const [I32, I64, F32, F64] = [0x7f, 0x7e, 0x7d, 0x7c] as const;

/** Numbers of sections. */
export const SECTION = { type: 1, import: 2, function: 3, memory: 5, global: 6, export: 7, code: 10 } as const;

const decoder = new TextDecoder();

/** Reader of a validated module. Nothing in it is truncated. */
export class ModuleReader {
  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {}

  byte(): number {
    return this.bytes[this.at++] ?? 0;
  }

  skip(count: number): void {
    this.at += count;
  }

  u32(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  /** Skips an integer of any width. */
  leb(): void {
    while (this.byte() >= 0x80);
  }

  text(): string {
    const length = this.u32();
    this.at += length;
    return decoder.decode(this.bytes.subarray(this.at - length, this.at));
  }

  /**
   * Reads a vector: a count and its elements.
   *
   * @throws {@link ModuleError} if the count exceeds the remaining bytes.
   */
  many<T>(one: (index: number) => T): T[] {
    const count = this.u32();
    if (count > this.bytes.length - this.at) throw new ModuleError("unsupported module: truncated vector");
    return Array.from({ length: count }, (_, index) => one(index));
  }
}

/** Returns the module's sections in order. */
export function sections(bytes: Uint8Array): Section[] {
  const found: Section[] = [];
  for (const reader = new ModuleReader(bytes, 8); reader.at < bytes.length; ) {
    const begin = reader.at;
    const id = reader.byte();
    const length = reader.u32();
    found.push({ id, begin, body: reader.at, end: reader.at + length });
    reader.skip(length);
  }
  return found;
}

/** Skips the constant expression of a global. */
export function skipInitial(reader: ModuleReader): void {
  for (;;) {
    const opcode = reader.byte();
    if (opcode === 0x0b) return;
    skipImmediates(opcode, reader);
  }
}

/** Checks a function's body for state outside memory and globals. */
export function checkCode(reader: ModuleReader): void {
  const end = reader.u32() + reader.at;
  for (let locals = reader.u32(); locals > 0; locals--) {
    reader.u32();
    reader.byte();
  }
  while (reader.at < end) skipImmediates(reader.byte(), reader);
}

const uncapturable = (what: string): ModuleError => new ModuleError(`its state cannot be captured: it ${what}`);

function skipImmediates(opcode: number, reader: ModuleReader): void {
  const within = (first: number, last: number): boolean => opcode >= first && opcode <= last;
  if (within(0x45, 0xc4) || [0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1].includes(opcode)) return;
  if (opcode === 0x26) throw uncapturable("changes a table");
  // One index: blocks, branches, calls, variables, memory size, tables and function references.
  if (within(0x02, 0x04) || within(0x20, 0x25) || [0x0c, 0x0d, 0x10, 0x3f, 0x40, 0x41, 0x42, 0xd0, 0xd2].includes(opcode)) return reader.leb();
  if (within(0x28, 0x3e) || opcode === 0x11) return reader.leb(), reader.leb();
  if (opcode === 0x0e) return void (reader.many(() => reader.u32()), reader.leb());
  if (opcode === 0x1c) return void reader.many(() => reader.byte());
  if (opcode === 0x43) return reader.skip(4);
  if (opcode === 0x44) return reader.skip(8);
  if (opcode === 0xfc) return skipBulk(reader.u32(), reader);
  if (opcode === 0xfd) return skipVector(reader.u32(), reader);
  throw new ModuleError(`unsupported module: unknown instruction 0x${opcode.toString(16)}`);
}

function skipBulk(opcode: number, reader: ModuleReader): void {
  if (opcode < 8) return;
  if (opcode === 9 || opcode === 13) throw uncapturable("drops a segment");
  if ([12, 14, 15, 17].includes(opcode)) throw uncapturable("changes a table");
  if (opcode > 17) throw new ModuleError(`unsupported module: unknown instruction 0xfc ${opcode}`);
  reader.leb();
  if (opcode === 8 || opcode === 10) reader.leb();
}

function skipVector(opcode: number, reader: ModuleReader): void {
  const hasPlace = opcode <= 11 || (opcode >= 84 && opcode <= 93);
  const hasLane = (opcode >= 21 && opcode <= 34) || (opcode >= 84 && opcode <= 91);
  if (opcode === 12 || opcode === 13) reader.skip(16);
  if (hasPlace) reader.leb(), reader.leb();
  if (hasLane) reader.skip(1);
  if (opcode > 255) throw new ModuleError(`unsupported module: unknown instruction 0xfd ${opcode}`);
}
