/** Writer of values, in the shortest form. Equal values have equal bytes. */
import { EncodeError } from "../errors.js";
import { isInt64 } from "../json.js";
import {
  atom,
  kindOf,
  map,
  structure,
  type Atom,
  type Container,
  type MapValue,
  type OpenList,
  type RecordValue,
  type Structure,
  type Value,
  type Variable,
} from "../value.js";
import { packBits, packedBytes, signedLength } from "./bytes.js";
import { CONTAINERS, SHAPE, TAG, TERM } from "./tags.js";
import { areAlike, writeColumns, writeList } from "./write-columns.js";
import { compareValues } from "../order.js";
import { Writer } from "./writer.js";

/** Maximum entries of a map that is written as an object. All its keys must be text. */
const SHAPED_MAP_ENTRIES_MAX = 64;
/** Maximum entries of such a map if all its values are of one kind. */
const ENTRIES_OF_AN_OBJECT = 15;

/** Least count of bytes to pack. */
const PACKED_BYTES_MIN = 64;
/** Bytes whose differences share one width. */
const BLOCK = 16;
/** Bytes to sample before packing. */
const SAMPLE_BYTES = 4096;

/** Writer for reuse. Creating one takes longer than writing a typical message. */
let idle: Writer | undefined;

/**
 * Encodes a value as a self-contained body.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or is not a value.
 */
export function writeBody(value: Value): Uint8Array {
  const w = idle ?? new Writer();
  // A nested body needs a writer of its own, and a writer that failed must not be reused.
  idle = undefined;
  w.clear();
  writeValue(w, value);
  const body = w.finish();
  idle = w;
  return body;
}

/**
 * Writes a value.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or is not a value.
 */
export function writeValue(w: Writer, value: Value): void {
  switch (kindOf(value)) {
    case "null":
      return w.out.byte(TAG.NULL);
    case "bool":
      return w.out.byte(value === true ? TAG.TRUE : TAG.FALSE);
    case "int":
      if (!isInt64(value as bigint)) throw new EncodeError(`${String(value)} is an integer of more than 64 bits`);
      return w.int(value as bigint);
    case "num":
      return writeDouble(w, value as number);
    case "str":
      return w.text(value as string);
    case "bytes":
      return writeBytes(w, value as Uint8Array);
    case "atom":
      return writeAtom(w, (value as Atom).atom);
    case "list": {
      const items = value as readonly Value[];
      return items.length === 0 ? w.list(0) : w.nested(() => writeList(w, items));
    }
    case "open":
      return w.nested(() => writeOpenList(w, value as OpenList));
    case "term":
      return writeTerm(w, value as Structure);
    case "var":
      w.out.byte(TAG.VARIABLE);
      return writeVariable(w, value as Variable);
    case "map":
      return w.nested(() => writeMap(w, sorted((value as MapValue).map)));
    case "record":
      return w.nested(() => writeRecord(w, value as RecordValue));
    case "object":
      return w.nested(() => writeContainer(w, value as Container));
    default:
      throw new EncodeError(`${String(value)} is not a value`);
  }
}

function writeAtom(w: Writer, name: string): void {
  const value = atom(name);
  if (typeof value === "boolean") writeValue(w, value);
  else w.atom(name);
}

function writeVariable(w: Writer, variable: Variable): void {
  w.out.number(variable.slot);
  w.name(variable.var);
}

function writeOpenList(w: Writer, { list, tail }: OpenList): void {
  w.out.byte(TAG.OPEN_LIST);
  w.out.number(list.length);
  list.forEach((item) => writeValue(w, item));
  writeValue(w, tail);
}

/** Returns true if a term has no negation, annotations or namespace. */
export function isPlain(term: Structure): boolean {
  return !term.negated && term.namespace === undefined && !term.annotTail && !term.annots?.length;
}

function writeTerm(w: Writer, given: Structure): void {
  if (given.args.length > 0 && isPlain(given)) return w.nested(() => writeStructure(w, given));
  const value = structure(given);
  if (kindOf(value) !== "term") return writeValue(w, value);
  w.nested(() => writeStructure(w, value as Structure));
}

function writeStructure(w: Writer, term: Structure): void {
  const { args, namespace, annots, annotTail } = term;
  if (isPlain(term) && args.length < 16) {
    w.out.byte(TAG.PLAIN_TERM + args.length);
    w.name(term.term);
    return args.forEach((arg) => writeValue(w, arg));
  }
  const flag = (isSet: unknown, bit: number): number => (isSet ? bit : 0);
  w.out.byte(TAG.TERM);
  w.out.byte(flag(term.negated, TERM.NEGATED) | flag(namespace !== undefined, TERM.NAMESPACE) | flag(annots, TERM.ANNOTS) | flag(annotTail, TERM.TAIL));
  w.name(term.term);
  if (namespace !== undefined) w.name(namespace);
  w.out.number(args.length);
  args.forEach((arg) => writeValue(w, arg));
  if (annots) {
    w.out.number(annots.length);
    annots.forEach((annot) => writeValue(w, annot));
  }
  if (annotTail) writeVariable(w, annotTail);
}

type Pairs = MapValue["map"];

/** Returns the keys of a map that is written as an object; undefined for others. */
export function shapedKeys(pairs: Pairs): readonly string[] | undefined {
  const isShaped =
    pairs.length > 0 &&
    pairs.length <= SHAPED_MAP_ENTRIES_MAX &&
    pairs.every(([key]) => typeof key === "string") &&
    (pairs.length <= ENTRIES_OF_AN_OBJECT || !areAlike(pairs.map(([, value]) => value)));
  return isShaped ? pairs.map(([key]) => key as string) : undefined;
}

/** Returns the pairs in order, each key once. Most maps are sorted already. */
function sorted(pairs: Pairs): Pairs {
  for (let at = 1; at < pairs.length; at++) if (compareValues(pairs[at - 1]?.[0] ?? null, pairs[at]?.[0] ?? null) >= 0) return map(pairs).map;
  return pairs;
}

function writeMap(w: Writer, pairs: Pairs): void {
  const keys = shapedKeys(pairs);
  if (keys) {
    w.object(w.dictionary.shape(SHAPE.MAP, "", keys));
    return pairs.forEach(([, value]) => writeValue(w, value));
  }
  w.out.byte(TAG.MAP);
  w.out.number(pairs.length);
  writeColumns(w, pairs.map(([key]) => key));
  writeColumns(w, pairs.map(([, value]) => value));
}

function writeRecord(w: Writer, { record, fields }: RecordValue): void {
  w.object(w.dictionary.shape(SHAPE.RECORD, record, fields.map(([name]) => name)));
  fields.forEach(([, value]) => writeValue(w, value));
}

function writeContainer(w: Writer, container: Container): void {
  const label = w.label(container);
  if (label !== undefined) {
    w.out.byte(TAG.REFERENCE);
    return w.out.number(label);
  }
  const { object: kind, items } = container;
  w.out.byte(TAG.CONTAINER);
  w.out.byte(CONTAINERS.indexOf(kind));
  w.out.number(kind === "map" ? items.length / 2 : items.length);
  items.forEach((item) => writeValue(w, item));
}

/** Returns the integer that a double equals; undefined for -0 and beyond 53 bits. */
export function wholeOf(n: number): bigint | undefined {
  return Number.isInteger(n) && Math.abs(n) <= 2 ** 53 && !Object.is(n, -0) ? BigInt(n) : undefined;
}

/** Returns the integer that, divided by a power of ten, is exactly `n`. */
export function scaledBy(n: number, by: number): bigint | undefined {
  const product = n * by;
  const whole = wholeOf(Math.sign(product) * Math.round(Math.abs(product)));
  return whole !== undefined && Object.is(Number(whole) / by, n) ? whole : undefined;
}

/** Writes a double in the fewest bytes that preserve every bit. */
export function writeDouble(w: Writer, n: number): void {
  const whole = wholeOf(n);
  if (whole !== undefined) {
    if (whole >= 0n && whole < 8n) return w.out.byte(TAG.SMALL_NUM + Number(whole));
    if (signedLength(whole) < 8) {
      w.out.byte(TAG.WHOLE_NUM);
      return w.out.signed(whole);
    }
  }
  const isSingle = Object.is(Math.fround(n), n);
  if (whole === undefined) {
    for (let power = 1; power < 10; power++) {
      const scaled = scaledBy(n, 10 ** power);
      if (scaled === undefined) continue;
      if (signedLength(scaled) >= (isSingle ? 3 : 7)) break;
      w.out.byte(TAG.DECIMAL_NUM);
      w.out.byte(power);
      return w.out.signed(scaled);
    }
    if (isSingle) {
      w.out.byte(TAG.F32);
      return w.out.double(n, 4);
    }
  }
  w.out.byte(TAG.F64);
  w.out.double(n, 8);
}

/** Writes bytes plainly, or as differences if neighbours are similar, as in images and sound. */
function writeBytes(w: Writer, bytes: Uint8Array): void {
  const stride = bestStride(bytes);
  w.out.byte(stride === undefined ? TAG.BYTES : TAG.PACKED_BYTES);
  w.out.number(bytes.length);
  if (stride === undefined) return w.out.bytes(bytes);
  w.out.byte(stride);
  eachPair(bytes, stride, (widths, blocks) => {
    w.out.byte(widths[0] | (widths[1] << 4));
    blocks.forEach((block, which) => packBits(w.out, block.map(BigInt), widths[which] ?? 0));
  });
}

/** Returns the stride at which packing saves at least an eighth. */
function bestStride(bytes: Uint8Array): number | undefined {
  if (bytes.length < PACKED_BYTES_MIN) return undefined;
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  let [best, least] = [0, Infinity];
  for (const stride of [1, 2, 3, 4]) {
    let size = 0;
    eachPair(sample, stride, (widths, blocks) => {
      size += 1 + packedBytes(blocks[0].length, widths[0]) + packedBytes(blocks[1].length, widths[1]);
    });
    if (size < least) [best, least] = [stride, size];
  }
  return least <= sample.length - Math.floor(sample.length / 8) ? best : undefined;
}

/** Calls `give` with the widths and the zigzag differences of each pair of blocks. */
function eachPair(bytes: Uint8Array, stride: number, give: (widths: [number, number], blocks: [number[], number[]]) => void): void {
  const folded = (from: number): number[] => {
    const block: number[] = [];
    for (let at = from; at < Math.min(from + BLOCK, bytes.length); at++) {
      const difference = (((bytes[at] ?? 0) - (bytes[at - stride] ?? 0)) << 24) >> 24;
      block.push(((difference << 1) ^ (difference >> 7)) & 0xff);
    }
    return block;
  };
  const width = (block: readonly number[]): number => 32 - Math.clz32(block.reduce((all, one) => all | one, 0));
  for (let from = 0; from < bytes.length; from += 2 * BLOCK) {
    const blocks: [number[], number[]] = [folded(from), folded(from + BLOCK)];
    give([width(blocks[0]), width(blocks[1])], blocks);
  }
}
