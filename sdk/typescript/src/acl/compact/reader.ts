/** Reader of a body: position, dictionary, and memory budget. */
import { DecodeError } from "../errors.js";
import { VALUE_LEVELS_MAX } from "../limits.js";
import type { Value } from "../value.js";
import { unzigzag } from "./bytes.js";
import { KNOWN_SHAPES, KNOWN_TEXTS } from "./known.js";
import { FIXED_STARTS, ITEM, SHAPE, SHORT_MAPS, SMALL_INT_LEAST, SMALL_INTS, TAG } from "./tags.js";

/** Limits of a reader. */
export interface Limits {
  /** Estimated memory that the value may take. */
  readonly budgetBytes: number;
  /** True if a container may contain itself. */
  readonly circles: boolean;
}

/** Shape of an object: its name and fields. */
export interface Shape {
  readonly kind: "record" | "map" | "term";
  readonly name: string;
  /** Field names; empty for terms. */
  readonly fields: readonly string[];
  /** Number of fields or arguments. */
  readonly width: number;
}

/** Maximum memory of a dictionary item besides its bytes. */
const ITEM_BYTES = 64;
/** Arguments of a term in a shape. */
const TERM_ARGS_MAX = 1 << 16;
/** Longest text that is faster to decode byte by byte. */
const SHORT_TEXT_BYTES = 24;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reader of a body. */
export class Reader {
  at = 0;
  spentBytes = 0;
  readonly texts: string[] = [];
  readonly shapes: Shape[] = [];
  /** Labelled containers; open while they are being read. */
  readonly labelled: ({ readonly value: Value; readonly open: boolean } | undefined)[] = [];
  #depth = 0;

  constructor(
    readonly bytes: Uint8Array,
    readonly limits: Limits,
  ) {}

  /** Creates a reader of a self-contained body, and reads its dictionary. */
  static ofBody(bytes: Uint8Array, limits: Limits): Reader {
    const reader = new Reader(bytes, limits);
    const count = reader.dictionaryCount();
    for (let item = 0; item < count; item++) reader.#item();
    return reader;
  }

  /** Reads the tag of a dictionary, if there is one. Returns the number of items. */
  dictionaryCount(): number {
    const { at } = this;
    const tag = this.bytes[at] ?? 0;
    if (tag <= TAG.DICTIONARY || tag > TAG.LONG_DICTIONARY) return 0;
    this.at++;
    if (tag < TAG.LONG_DICTIONARY) return tag - TAG.DICTIONARY;
    const count = this.number();
    if (count < TAG.LONG_DICTIONARY - TAG.DICTIONARY || count > 0xffff_ffff) {
      throw new DecodeError("malformed", "dictionary count not in its shortest form", at);
    }
    return count;
  }

  #item(): void {
    const { at } = this;
    const head = this.number();
    if (head % 4 === ITEM.TEXT) return this.addText(this.text(Math.floor(head / 4)));
    if (head % 4 === ITEM.STRUCTURE) return this.addShape(this.take(Math.floor(head / 4)));
    if (head % 8 !== 4) throw new DecodeError("malformed", "item that only links may have", at);
    this.addText(this.knownText(Math.floor(head / 8)));
  }

  /** Returns a text of the static dictionary. */
  knownText(number: number): string {
    return KNOWN_TEXTS[number] ?? this.fail("unknown text");
  }

  addText(text: string): void {
    this.charge(ITEM_BYTES);
    this.texts.push(text);
  }

  addShape(definition: Uint8Array): void {
    this.charge(definition.length * 16 + ITEM_BYTES);
    const inner = new Reader(definition, this.limits);
    let shape: Shape;
    try {
      shape = inner.shape(inner.number());
      inner.end();
    } catch {
      this.fail("malformed shape");
    }
    this.shapes.push(shape);
  }

  /** Reads the rest of a shape. */
  shape(head: number): Shape {
    const [kind, count] = [head % 4, Math.floor(head / 4)];
    if (kind === SHAPE.KNOWN) return this.#knownShape(count);
    if (kind === SHAPE.TERM) {
      if (count > TERM_ARGS_MAX) this.fail("shape with too many fields");
      return { kind: "term", name: this.plainText(), fields: [], width: count };
    }
    const name = kind === SHAPE.RECORD ? this.plainText() : "";
    if (count > this.remaining) this.fail("shape with too many fields");
    const fields: string[] = [];
    for (let field = 0; field < count; field++) fields.push(this.plainText());
    return { kind: kind === SHAPE.RECORD ? "record" : "map", name, fields, width: count };
  }

  #knownShape(number: number): Shape {
    const mask = this.number();
    const known = KNOWN_SHAPES[number] ?? this.fail("unknown shape");
    if (mask >= 2 ** known.fields.length) this.fail("fields that the shape lacks");
    const fields = known.fields.filter((_, place) => (mask >> place) & 1);
    return { kind: "record", name: known.name, fields, width: fields.length };
  }

  /** Reads the shape of an object after its tag. */
  objectShape(tag: number): Shape {
    if (tag >= TAG.OBJECT && tag < TAG.ATOM_REF) return this.shapeNumbered(tag - TAG.OBJECT);
    if (tag === TAG.LONG_OBJECT) return this.shapeNumbered(this.number());
    const isMap = tag >= TAG.SHORT_MAP && tag < TAG.SHORT_MAP + SHORT_MAPS;
    const { at } = this;
    const shape = this.shape(isMap ? (tag - TAG.SHORT_MAP + 1) * 4 + SHAPE.MAP : this.number());
    this.charge((this.at - at) * 16 + ITEM_BYTES);
    this.shapes.push(shape);
    return shape;
  }

  shapeNumbered(number: number): Shape {
    return this.shapes[number] ?? this.fail("shape not in the dictionary");
  }

  get remaining(): number {
    return this.bytes.length - this.at;
  }

  /** Checks that no bytes are left. */
  end(): void {
    if (this.remaining > 0) throw new DecodeError("trailing", "bytes after the end", this.at);
  }

  /** Throws an error about the bytes. */
  fail(what: string): never {
    throw new DecodeError("malformed", what, this.at);
  }

  #truncated(at: number): never {
    throw new DecodeError("truncated", "truncated", at);
  }

  /** Charges memory to the budget before it is allocated. */
  charge(bytes: number): void {
    this.spentBytes += bytes;
    const { budgetBytes } = this.limits;
    if (this.spentBytes > budgetBytes) {
      throw new DecodeError("budget", `the decoded value would exceed the budget of ${budgetBytes} bytes`, this.at);
    }
  }

  /** Reads a nested value. */
  nested<T>(read: () => T): T {
    if (this.#depth >= VALUE_LEVELS_MAX) {
      throw new DecodeError("too-deep", `nested deeper than ${VALUE_LEVELS_MAX} levels`, this.at);
    }
    this.#depth++;
    const result = read();
    this.#depth--;
    return result;
  }

  peek(): number {
    return this.bytes[this.at] ?? this.#truncated(this.at);
  }

  byte(): number {
    const byte = this.peek();
    this.at++;
    return byte;
  }

  /** Reads a varint. Values beyond 2^53 exceed any valid count, and are capped. */
  number(): number {
    const first = this.peek();
    if (first & 1) {
      this.at++;
      return first >> 1;
    }
    const n = this.big();
    return n > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(n);
  }

  /** Reads a varint of 64 bits. */
  big(): bigint {
    const start = this.at;
    const first = this.byte();
    const length = first === 0 ? 9 : 32 - Math.clz32(first & -first);
    let n = first === 0 ? 0n : BigInt(first >> length);
    if (length > 1) {
      if (this.remaining < length - 1) this.#truncated(start);
      for (let place = 1; place < length; place++) {
        n |= BigInt(this.bytes[start + place] ?? 0) << BigInt(first === 0 ? 8 * (place - 1) : 8 * place - length);
      }
      this.at = start + length;
      const least = first === 0 ? 1n << 56n : 1n << BigInt(7 * (length - 1));
      if (n < least) throw new DecodeError("malformed", "number not in its shortest form", start);
    }
    return n;
  }

  signed(): bigint {
    return unzigzag(this.big());
  }

  take(length: number): Uint8Array {
    if (length > this.remaining) this.#truncated(this.at);
    const { at } = this;
    this.at = at + length;
    return this.bytes.subarray(at, at + length);
  }

  /** Reads a count of items of at least `leastBytes` bytes each. */
  count(leastBytes: number): number {
    const { at } = this;
    const count = this.number();
    if (count * leastBytes > this.remaining) this.#truncated(at);
    return count;
  }

  /** Reads text of `length` bytes. */
  text(length: number): string {
    const { at } = this;
    const bytes = this.take(length);
    if (length <= SHORT_TEXT_BYTES) {
      let text = "";
      for (const byte of bytes) {
        if (byte >= 0x80) return this.#decode(bytes, at);
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return this.#decode(bytes, at);
  }

  #decode(bytes: Uint8Array, at: number): string {
    try {
      return decoder.decode(bytes);
    } catch {
      throw new DecodeError("malformed", "text that is not UTF-8", at);
    }
  }

  /** Reads a length and text. */
  plainText(): string {
    return this.text(this.count(1));
  }

  /** Returns a text of the dictionary. Each use counts towards the budget. */
  dictionaryText(number: number): string {
    return this.texts[number] ?? this.fail("text not in the dictionary");
  }

  /** Reads a name. */
  name(): string {
    const head = this.number();
    return head % 2 === 0 ? this.dictionaryText(head / 2) : this.text((head - 1) / 2);
  }

  /** Reads an integer after its tag; undefined for other tags. */
  int(tag: number): bigint | undefined {
    if (tag < SMALL_INTS) return BigInt(tag + SMALL_INT_LEAST);
    if (tag === TAG.INT) return this.signed();
    if (tag < TAG.MORE || tag >= TAG.LESS + 4) return undefined;
    const width = (tag - TAG.MORE) % 4;
    let beyond: number = FIXED_STARTS[width] ?? 0;
    this.take(width + 1).forEach((byte, place) => (beyond += byte * 2 ** (8 * place)));
    return BigInt(tag >= TAG.LESS ? SMALL_INT_LEAST - 1 - beyond : SMALL_INT_LEAST + SMALL_INTS + beyond);
  }
}
