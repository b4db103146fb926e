/** Encoding of content values for guests: little-endian, no padding (docs/design/wasm-agents.md, Frames). */
import { DecodeError, EncodeError } from "../acl/errors.js";
import { isInt64 } from "../acl/json.js";
import { VALUE_LEVELS_MAX } from "../acl/limits.js";
import { kindOf, map, structure, type Atom, type Container, type MapValue, type OpenList, type RecordValue, type Structure, type Value, type Variable } from "../acl/value.js";
import { Output } from "./bytes.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const [NULL, FALSE, TRUE, INT, NUM, TEXT, ATOM, BYTES, LIST, MAP, RECORD, TERM, VAR] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const [NEGATED, NAMESPACE, ANNOTATED] = [1, 2, 4];

function text(said: string, out: Output): void {
  const bytes = encoder.encode(said);
  out.u32(bytes.length).bytes(bytes);
}

/**
 * Appends a value. A mutable container is written as its list or map.
 *
 * @throws {@link EncodeError} if it nests too deeply for guests, or an integer exceeds 64 bits.
 */
export function writeValue(value: Value, out: Output, levels = VALUE_LEVELS_MAX): void {
  if (levels === 0) throw new EncodeError(`value nested deeper than ${VALUE_LEVELS_MAX} levels`);
  const within = levels - 1;
  switch (kindOf(value)) {
    case "null":
      return void out.byte(NULL);
    case "bool":
      return void out.byte(value === true ? TRUE : FALSE);
    case "int":
      if (!isInt64(value as bigint)) throw new EncodeError(`${String(value)} is not an integer of 64 bits`);
      return void out.byte(INT).u64(value as bigint);
    case "num":
      return void out.byte(NUM).f64(value as number);
    case "str":
      return text(value as string, out.byte(TEXT));
    case "atom":
      return text((value as Atom).atom, out.byte(ATOM));
    case "bytes":
      return void out.byte(BYTES).u32((value as Uint8Array).length).bytes(value as Uint8Array);
    case "list":
      return writeItems(LIST, value as readonly Value[], out, within);
    case "open": {
      const { list, tail } = value as OpenList;
      return writeItems(LIST, [...list, tail], out, within);
    }
    case "map":
      return writePairs((value as MapValue).map, out, within);
    case "record":
      return writeRecord(value as RecordValue, out, within);
    case "term":
      return writeTerm(value as Structure, out, within);
    case "var":
      return text((value as Variable).var, out.byte(VAR));
    case "object":
      return writeContainer(value as Container, out, within);
    default:
      throw new EncodeError("not a value");
  }
}

function writeItems(tag: number, items: readonly Value[], out: Output, within: number): void {
  out.byte(tag).u32(items.length);
  for (const item of items) writeValue(item, out, within);
}

function writePairs(pairs: MapValue["map"], out: Output, within: number): void {
  out.byte(MAP).u32(pairs.length);
  for (const [key, item] of pairs) {
    writeValue(key, out, within);
    writeValue(item, out, within);
  }
}

function writeContainer({ object, items }: Container, out: Output, within: number): void {
  if (object !== "map") return writeItems(LIST, items, out, within);
  out.byte(MAP).u32(items.length >> 1);
  for (const item of items) writeValue(item, out, within);
}

function writeRecord({ record: name, fields }: RecordValue, out: Output, within: number): void {
  text(name, out.byte(RECORD));
  out.u32(fields.length);
  for (const [key, item] of fields) {
    text(key, out);
    writeValue(item, out, within);
  }
}

function writeTerm({ term, args, namespace, negated, annots, annotTail }: Structure, out: Output, within: number): void {
  const annotations = [...(annots ?? []), ...(annotTail ? [annotTail] : [])];
  out.byte(TERM).byte((negated ? NEGATED : 0) | (namespace === undefined ? 0 : NAMESPACE) | (annotations.length > 0 ? ANNOTATED : 0));
  text(term, out);
  if (namespace !== undefined) text(namespace, out);
  out.u32(args.length);
  for (const arg of args) writeValue(arg, out, within);
  if (annotations.length === 0) return;
  out.u32(annotations.length);
  for (const annotation of annotations) writeValue(annotation, out, within);
}

/** Encodes a value. */
export function valueBytes(value: Value): Uint8Array<ArrayBuffer> {
  const out = new Output();
  writeValue(value, out);
  return out.take();
}

/** Reader of a guest's bytes. All lengths are checked. */
export class Reader {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  error(what: string, at = this.#at): DecodeError {
    return new DecodeError("malformed", `${what} at byte ${at}`);
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(count: number): Uint8Array {
    if (count > this.left) throw this.error("truncated");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  byte(): number {
    return this.take(1)[0] as number;
  }

  u32(): number {
    this.take(4);
    return this.#view.getUint32(this.#at - 4, true);
  }

  i64(): bigint {
    this.take(8);
    return this.#view.getBigInt64(this.#at - 8, true);
  }

  f64(): number {
    this.take(8);
    return this.#view.getFloat64(this.#at - 8, true);
  }

  bytes(): Uint8Array {
    return this.take(this.u32());
  }

  text(): string {
    const bytes = this.bytes();
    return this.utf8(bytes, this.#at - bytes.length);
  }

  utf8(bytes: Uint8Array, at = this.#at): string {
    try {
      return decoder.decode(bytes);
    } catch {
      throw this.error("text that is not UTF-8", at);
    }
  }

  /** Reads a vector: a count, and elements of at least `least` bytes each. Reserves no memory for missing elements. */
  many<T>(least: number, one: () => T): T[] {
    const count = this.u32();
    if (count > this.left / least) throw this.error("truncated vector");
    const all: T[] = [];
    while (all.length < count) all.push(one());
    return all;
  }
}

/**
 * Decodes a value from all of the bytes.
 *
 * @throws {@link DecodeError} if they are invalid, or nest too deeply.
 */
export function readValue(bytes: Uint8Array): Value {
  const reader = new Reader(bytes);
  const value = read(reader, VALUE_LEVELS_MAX);
  if (!reader.isDone) throw reader.error("bytes after the value's end");
  return value;
}

function read(reader: Reader, levels: number): Value {
  if (levels === 0) throw reader.error("value nested too deeply");
  const within = levels - 1;
  switch (reader.byte()) {
    case NULL:
      return null;
    case FALSE:
      return false;
    case TRUE:
      return true;
    case INT:
      return reader.i64();
    case NUM:
      return reader.f64();
    case TEXT:
      return reader.text();
    case ATOM:
      return { atom: reader.text() };
    case BYTES:
      return reader.bytes().slice();
    case LIST:
      return readMany(reader, within);
    case MAP:
      return map(reader.many(2, (): [Value, Value] => [read(reader, within), read(reader, within)]));
    case RECORD:
      return { record: reader.text(), fields: reader.many(5, () => [reader.text(), read(reader, within)] as const) };
    case TERM:
      return readTerm(reader, within);
    case VAR:
      return { var: reader.text(), slot: 0 };
    default:
      throw reader.error("unknown kind of value");
  }
}

function readMany(reader: Reader, within: number): Value[] {
  return reader.many(1, () => read(reader, within));
}

function readTerm(reader: Reader, within: number): Value {
  const flags = reader.byte();
  if ((flags & ~(NEGATED | NAMESPACE | ANNOTATED)) !== 0) throw reader.error("unknown flags of a term");
  const term = reader.text();
  const namespace = flags & NAMESPACE ? reader.text() : undefined;
  const args = readMany(reader, within);
  const annots = flags & ANNOTATED ? readMany(reader, within) : [];
  return structure({ term, args, annots, ...(namespace !== undefined && { namespace }), ...(flags & NEGATED && { negated: true }) });
}
