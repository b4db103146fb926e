/** Encoding of states: LEB128 varints. All input is validated. */
import { DecodeError } from "../acl/errors.js";

/** Growing buffer to write to. */
export class Output {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #room(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length));
      bytes.set(this.#bytes);
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer);
    }
    return at;
  }

  byte(byte: number): this {
    const at = this.#room(1);
    this.#bytes[at] = byte;
    return this;
  }

  bytes(bytes: Uint8Array): this {
    const at = this.#room(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  u32(n: number): this {
    const at = this.#room(4);
    this.#view.setUint32(at, n, true);
    return this;
  }

  u64(n: bigint): this {
    const at = this.#room(8);
    this.#view.setBigUint64(at, BigInt.asUintN(64, n), true);
    return this;
  }

  f64(n: number): this {
    const at = this.#room(8);
    this.#view.setFloat64(at, n, true);
    return this;
  }

  /** Fills in a length of four bytes that was reserved at `at`. */
  fillLength(at: number): void {
    this.#view.setUint32(at, this.#length - at - 4, true);
  }

  varint(n: number | bigint): this {
    if (typeof n === "number" && n < 0x80) return this.byte(n);
    let left = BigInt.asUintN(64, BigInt(n));
    for (; left >= 0x80n; left >>= 7n) this.byte(Number(left & 0x7fn) | 0x80);
    return this.byte(Number(left));
  }

  /** Appends a length and its bytes. */
  sized(bytes: Uint8Array): this {
    return this.varint(bytes.length).bytes(bytes);
  }
}

/** Error for an invalid state. */
export function badState(): DecodeError {
  return new DecodeError("malformed", "not a state of this agent");
}

/** Reader of a state's bytes. */
export class Input {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length;
  }

  get rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }

  take(count: number): Uint8Array {
    if (count > this.#bytes.length - this.#at) throw badState();
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  byte(): number {
    const [byte] = this.take(1);
    return byte as number;
  }

  u64(): bigint {
    this.take(8);
    return this.#view.getBigUint64(this.#at - 8, true);
  }

  varint(): bigint {
    let n = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const byte = this.byte();
      n |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, n);
    }
    throw badState();
  }

  /** Reads a length, an address or a count. */
  length(max = 2 ** 32): number {
    const n = this.varint();
    if (n > BigInt(max)) throw badState();
    return Number(n);
  }

  sized(): Uint8Array {
    return this.take(this.length());
  }
}
