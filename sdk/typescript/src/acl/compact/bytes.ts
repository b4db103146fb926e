/** Bytes that grow, and the numbers in them: prefix varints, whose first byte's low zero bits count the bytes that follow. */

const encoder = new TextEncoder();

/** Text as UTF-8. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** How many bytes text takes as UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      bytes += 4;
      at++;
    } else bytes += 3;
  }
  return bytes;
}

/** Bytes that become a text at once: functions take only so many arguments. */
const KEY_PART_BYTES = 4096;

/** Bytes as a key of maps. */
export function keyOf(bytes: Uint8Array): string {
  let key = "";
  for (let at = 0; at < bytes.length; at += KEY_PART_BYTES) key += String.fromCharCode(...bytes.subarray(at, at + KEY_PART_BYTES));
  return key;
}

/** {@link keyOf} of text as UTF-8: text of ASCII alone is its own. */
export function keyOfText(text: string): string {
  return utf8Length(text) === text.length ? text : keyOf(utf8(text));
}

/** Small magnitudes to small numbers: 0, -1, 1, -2 to 0, 1, 2, 3. */
export function zigzag(n: bigint): bigint {
  return n >= 0n ? n << 1n : (-n << 1n) - 1n;
}

/** The number that {@link zigzag} made this of. */
export function unzigzag(n: bigint): bigint {
  return n & 1n ? -((n + 1n) >> 1n) : n >> 1n;
}

/** How many bits a number has that is not negative. */
export function bitsOf(n: bigint): number {
  return n === 0n ? 0 : n <= 0xffff_ffffn ? 32 - Math.clz32(Number(n)) : n.toString(2).length;
}

/** Numbers below this take four bytes at most, and bits of 32-bit numbers make them. */
const SMALL_MAX = 2 ** 28;

/** How many bytes a varint takes, 1 to 9. */
export function varintLength(n: number | bigint): number {
  if (n < 128) return 1;
  if (n < SMALL_MAX) return Math.ceil((32 - Math.clz32(Number(n))) / 7);
  const bits = bitsOf(BigInt(n));
  return bits > 56 ? 9 : Math.ceil(bits / 7);
}

/** How many bytes a number takes whose sign is folded. */
export function signedLength(n: bigint): number {
  return varintLength(zigzag(n));
}

const NONE = new Uint8Array(0);
/** The least room that is made. */
const ROOM_BYTES_MIN = 128;
/** More room than this is not kept for what is written next. */
const ROOM_KEPT_BYTES = 1 << 16;
/** Text of more units is written by the engine. */
const SHORT_TEXT_UNITS = 256;

/** Bytes at whose end more are written. */
export class Bytes {
  #buffer = NONE;
  #length = 0;

  /** Forgets what was written. */
  clear(): void {
    this.#length = 0;
    if (this.#buffer.length > ROOM_KEPT_BYTES) this.#buffer = NONE;
  }

  get length(): number {
    return this.#length;
  }

  /** What was written: a view, good until more is. */
  get view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** What was written, to be kept. */
  take(): Uint8Array {
    return this.#buffer.slice(0, this.#length);
  }

  #room(bytes: number): number {
    const at = this.#length;
    const needed = at + bytes;
    if (needed > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.length, ROOM_BYTES_MIN));
      larger.set(this.view);
      this.#buffer = larger;
    }
    this.#length = needed;
    return at;
  }

  byte(byte: number): void {
    const at = this.#room(1);
    this.#buffer[at] = byte;
  }

  bytes(bytes: Uint8Array): void {
    const at = this.#room(bytes.length);
    this.#buffer.set(bytes, at);
  }

  /** So many bytes of a number, the lowest first. */
  little(n: bigint, bytes: number): void {
    const at = this.#room(bytes);
    for (let place = 0; place < bytes; place++) this.#buffer[at + place] = Number((n >> BigInt(8 * place)) & 0xffn);
  }

  /** So many bytes, 4 at most, of a number, the lowest first. */
  fixed(n: number, bytes: number): void {
    const at = this.#room(bytes);
    for (let place = 0; place < bytes; place++) this.#buffer[at + place] = n >>> (8 * place);
  }

  /** A varint: a whole number from 0 to 2^64 - 1. */
  number(n: number | bigint): void {
    if (n < 128) return this.byte((Number(n) << 1) | 1);
    const bytes = varintLength(n);
    if (n < SMALL_MAX) {
      return this.fixed(Number(n) * 2 ** bytes + 2 ** (bytes - 1), bytes);
    }
    if (bytes === 9) {
      this.byte(0);
      return this.little(BigInt(n), 8);
    }
    this.little((BigInt(n) << BigInt(bytes)) | (1n << BigInt(bytes - 1)), bytes);
  }

  /** A varint whose sign is folded. */
  signed(n: bigint): void {
    this.number(zigzag(n));
  }

  /** A length, and text. */
  text(text: string): void {
    const bytes = utf8Length(text);
    this.number(bytes);
    this.utf8(text, bytes);
  }

  /** Text as so many bytes. */
  utf8(text: string, bytes: number): void {
    if (bytes !== text.length || bytes > SHORT_TEXT_UNITS) return this.bytes(utf8(text));
    const at = this.#room(bytes);
    const buffer = this.#buffer;
    for (let place = 0; place < bytes; place++) buffer[at + place] = text.charCodeAt(place);
  }

  double(n: number, bytes: 4 | 8): void {
    const at = this.#room(bytes);
    const view = new DataView(this.#buffer.buffer, at, bytes);
    if (bytes === 8) view.setFloat64(0, n, true);
    else view.setFloat32(0, n, true);
  }
}

/** Numbers of few bits, one after another without gaps, the lowest bit first. */
export function packBits(out: Bytes, values: readonly bigint[], width: number): void {
  if (width === 0) return;
  let [word, filled] = [0n, 0];
  for (const value of values) {
    word |= value << BigInt(filled);
    filled += width;
    const whole = filled >> 3;
    if (whole > 0) {
      out.little(word, whole);
      word >>= BigInt(8 * whole);
      filled &= 7;
    }
  }
  if (filled > 0) out.byte(Number(word));
}

/** So many numbers of `width` bits. */
export function unpackBits(packed: Uint8Array, count: number, width: number): bigint[] {
  const values: bigint[] = [];
  const mask = (1n << BigInt(width)) - 1n;
  for (let place = 0; place < count; place++) {
    const bit = place * width;
    const from = bit >> 3;
    if (width <= 24) {
      const low = ((packed[from] ?? 0) | ((packed[from + 1] ?? 0) << 8) | ((packed[from + 2] ?? 0) << 16) | ((packed[from + 3] ?? 0) << 24)) >>> (bit & 7);
      values.push(BigInt(low & ((1 << width) - 1)));
      continue;
    }
    let word = 0n;
    for (let byte = Math.ceil(((bit & 7) + width) / 8) - 1; byte >= 0; byte--) word = (word << 8n) | BigInt(packed[from + byte] ?? 0);
    values.push((word >> BigInt(bit & 7)) & mask);
  }
  return values;
}

/** Bytes that so many numbers of so many bits take. */
export function packedBytes(count: number, width: number): number {
  return Math.ceil((count * width) / 8);
}

/** A bit per truth. */
export function packBools(out: Bytes, values: readonly boolean[]): void {
  packBits(out, values.map((value) => (value ? 1n : 0n)), 1);
}

/** Whether the bits beyond the first `bits` are zero. */
export function endsClean(packed: Uint8Array, bits: number): boolean {
  return bits % 8 === 0 || (packed.at(-1) ?? 0) >> (bits % 8) === 0;
}
