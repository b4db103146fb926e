/**
 * Byte buffers and their numbers: prefix varints. The number of low zero bits in the first byte counts the bytes that
 * follow.
 */

const encoder = new TextEncoder();

/** Encodes text as UTF-8. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Returns the UTF-8 length of a text. */
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

/** Bytes that are converted to text at once, because a call takes a limited number of arguments. */
const KEY_PART_BYTES = 4096;

/** Returns bytes as a map key. */
export function keyOf(bytes: Uint8Array): string {
  let key = "";
  for (let at = 0; at < bytes.length; at += KEY_PART_BYTES) key += String.fromCharCode(...bytes.subarray(at, at + KEY_PART_BYTES));
  return key;
}

/** Returns {@link keyOf} of a text's UTF-8. ASCII text is its own key. */
export function keyOfText(text: string): string {
  return utf8Length(text) === text.length ? text : keyOf(utf8(text));
}

/** Maps small magnitudes to small numbers: 0, -1, 1, -2 become 0, 1, 2, 3. */
export function zigzag(n: bigint): bigint {
  return n >= 0n ? n << 1n : (-n << 1n) - 1n;
}

/** Reverses {@link zigzag}. */
export function unzigzag(n: bigint): bigint {
  return n & 1n ? -((n + 1n) >> 1n) : n >> 1n;
}

/** Returns the number of bits of a non-negative number. */
export function bitsOf(n: bigint): number {
  return n === 0n ? 0 : n <= 0xffff_ffffn ? 32 - Math.clz32(Number(n)) : n.toString(2).length;
}

/** Bound below which a varint has at most four bytes and 32-bit arithmetic suffices. */
const SMALL_MAX = 2 ** 28;

/** Returns the length of a varint, 1 to 9. */
export function varintLength(n: number | bigint): number {
  if (n < 128) return 1;
  if (n < SMALL_MAX) return Math.ceil((32 - Math.clz32(Number(n))) / 7);
  const bits = bitsOf(BigInt(n));
  return bits > 56 ? 9 : Math.ceil(bits / 7);
}

/** Returns the length of a zigzag varint. */
export function signedLength(n: bigint): number {
  return varintLength(zigzag(n));
}

const NONE = new Uint8Array(0);
/** Least buffer size. */
const ROOM_BYTES_MIN = 128;
/** Largest buffer that is kept for reuse. */
const ROOM_KEPT_BYTES = 1 << 16;
/** Longest text that is encoded here rather than by the engine. */
const SHORT_TEXT_UNITS = 256;

/** Growing buffer to write to. */
export class Bytes {
  #buffer = NONE;
  #length = 0;

  /** Clears the buffer. */
  clear(): void {
    this.#length = 0;
    if (this.#buffer.length > ROOM_KEPT_BYTES) this.#buffer = NONE;
  }

  get length(): number {
    return this.#length;
  }

  /** Written bytes, as a view that is valid until the next write. */
  get view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns a copy of the written bytes. */
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

  /** Appends a number in `bytes` bytes, lowest first. */
  little(n: bigint, bytes: number): void {
    const at = this.#room(bytes);
    for (let place = 0; place < bytes; place++) this.#buffer[at + place] = Number((n >> BigInt(8 * place)) & 0xffn);
  }

  /** Appends a number in at most 4 bytes, lowest first. */
  fixed(n: number, bytes: number): void {
    const at = this.#room(bytes);
    for (let place = 0; place < bytes; place++) this.#buffer[at + place] = n >>> (8 * place);
  }

  /** Appends a varint: an integer from 0 to 2^64 - 1. */
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

  /** Appends a zigzag varint. */
  signed(n: bigint): void {
    this.number(zigzag(n));
  }

  /** Appends a length and text. */
  text(text: string): void {
    const bytes = utf8Length(text);
    this.number(bytes);
    this.utf8(text, bytes);
  }

  /** Appends text with a known UTF-8 length. */
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

/** Packs numbers of `width` bits without gaps, lowest bit first. */
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

/** Unpacks `count` numbers of `width` bits. */
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

/** Returns the bytes of `count` packed numbers of `width` bits. */
export function packedBytes(count: number, width: number): number {
  return Math.ceil((count * width) / 8);
}

/** Packs booleans, one bit each. */
export function packBools(out: Bytes, values: readonly boolean[]): void {
  packBits(out, values.map((value) => (value ? 1n : 0n)), 1);
}

/** Returns true if the bits beyond the first `bits` are zero. */
export function endsClean(packed: Uint8Array, bits: number): boolean {
  return bits % 8 === 0 || (packed.at(-1) ?? 0) >> (bits % 8) === 0;
}
