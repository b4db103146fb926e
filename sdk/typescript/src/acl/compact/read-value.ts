/** Reader of values. */
import { DecodeError } from "../errors.js";
import { atom, container, map, openList, structure, term, type Container, type Value, type Variable } from "../value.js";
import { readColumns, rowCount } from "./read-columns.js";
import type { Reader, Shape } from "./reader.js";
import { CONTAINERS, SMALL_INTS, TAG, TERM } from "./tags.js";

/** Maximum memory of a list element. */
export const CELL_BYTES = 64;
/** Memory of a compound besides its elements. */
export const COMPOUND_BYTES = 112;
/** Memory of a pair in a map or record. */
export const PAIR_BYTES = 48;

/** Neighbouring bytes that share one width. */
const BLOCK = 16;

/** Reads a value of any kind. */
export function readValue(r: Reader): Value {
  const tag = r.byte();
  if (tag < SMALL_INTS) return r.int(tag) as bigint;
  if (tag < TAG.TEXT_REF) return text(r, tag - TAG.SHORT_TEXT);
  if (tag < TAG.SHORT_LIST) return r.dictionaryText(tag - TAG.TEXT_REF);
  if (tag < TAG.OBJECT) return values(r, tag - TAG.SHORT_LIST);
  if (tag < TAG.ATOM_REF) return object(r, tag);
  if (tag < TAG.SMALL_NUM) return atom(r.dictionaryText(tag - TAG.ATOM_REF));
  if (tag < TAG.SHORT_MAP) return tag - TAG.SMALL_NUM;
  if (tag >= TAG.PLAIN_TERM) return plainTerm(r, tag - TAG.PLAIN_TERM);
  return r.int(tag) ?? rarer(r, tag);
}

function rarer(r: Reader, tag: number): Value {
  switch (tag) {
    case TAG.NULL:
      return null;
    case TAG.FALSE:
    case TAG.TRUE:
      return tag === TAG.TRUE;
    case TAG.F64:
    case TAG.F32:
    case TAG.WHOLE_NUM:
    case TAG.DECIMAL_NUM:
      return readDouble(r, tag);
    case TAG.TEXT:
      return text(r, r.count(1));
    case TAG.LONG_TEXT_REF:
      return r.dictionaryText(r.number());
    case TAG.NUMERIC_TEXT:
      r.charge(CELL_BYTES);
      return String(r.signed());
    case TAG.BYTES:
    case TAG.PACKED_BYTES:
      r.charge(COMPOUND_BYTES);
      return tag === TAG.BYTES ? bytes(r) : packedBytes(r);
    case TAG.LIST:
      return values(r, r.count(1));
    case TAG.OPEN_LIST:
      return open(r);
    case TAG.ARRAY:
      return r.nested(() => array(r));
    case TAG.MAP:
      return r.nested(() => wholeMap(r));
    case TAG.TERM:
      return fullTerm(r);
    case TAG.LONG_ATOM_REF:
      return atom(r.dictionaryText(r.number()));
    case TAG.ATOM:
      return atom(r.plainText());
    case TAG.VARIABLE:
      return variable(r);
    case TAG.CONTAINER:
      return mutable(r);
    case TAG.REFERENCE:
      return reference(r);
    case TAG.LABEL:
      return label(r);
    default:
      if (tag === TAG.LONG_OBJECT || (tag >= TAG.SHORT_MAP && tag <= TAG.OBJECT_IN_PLACE)) return object(r, tag);
      return r.fail("unknown kind of value");
  }
}

function text(r: Reader, length: number): string {
  r.charge(length + 16);
  return r.text(length);
}

/** Reads `count` values of at least one byte each. */
function values(r: Reader, count: number): Value[] {
  if (count === 0) return [];
  r.charge(count * CELL_BYTES);
  return r.nested(() => {
    const read: Value[] = [];
    for (let place = 0; place < count; place++) read.push(readValue(r));
    return read;
  });
}

function open(r: Reader): Value {
  const count = r.count(1);
  const items = values(r, count);
  const tail = r.nested(() => readValue(r));
  const isList = Array.isArray(tail) || (typeof tail === "object" && tail !== null && "list" in tail);
  if (count === 0 || isList) r.fail("open list is empty, or ends in a list");
  return openList(items, tail);
}

function array(r: Reader): Value {
  const count = rowCount(r);
  if (count === 0) r.fail("empty array");
  return readColumns(r, count);
}

function wholeMap(r: Reader): Value {
  const count = rowCount(r);
  if (count === 0) return map([]);
  const keys = readColumns(r, count);
  const items = readColumns(r, count);
  r.charge(count * PAIR_BYTES);
  return map(keys.map((key, place) => [key, items[place] as Value] as const));
}

function object(r: Reader, tag: number): Value {
  const shape = r.objectShape(tag);
  const count = shape.width;
  if (count > r.remaining) throw new DecodeError("truncated", "truncated", r.at);
  r.charge(COMPOUND_BYTES + count * PAIR_BYTES);
  return r.nested(() => {
    const fields: Value[] = [];
    for (let place = 0; place < count; place++) fields.push(readValue(r));
    return assemble(shape, fields);
  });
}

/** Builds the object of a shape. Maps and records may lack fields. */
export function assemble(shape: Shape, fields: readonly (Value | undefined)[]): Value {
  if (shape.kind === "term") return term(shape.name, ...fields.map((field) => field ?? null));
  const named: (readonly [string, Value])[] = [];
  shape.fields.forEach((name, place) => {
    const value = fields[place];
    if (value !== undefined) named.push([name, value]);
  });
  return shape.kind === "record" ? { record: shape.name, fields: named } : map(named);
}

function plainTerm(r: Reader, count: number): Value {
  const functor = r.name();
  r.charge(COMPOUND_BYTES + count * 16);
  return r.nested(() => {
    const args: Value[] = [];
    for (let place = 0; place < count; place++) args.push(readValue(r));
    return term(functor, ...args);
  });
}

function fullTerm(r: Reader): Value {
  const flags = r.byte();
  if (flags & ~TERM.ALL) r.fail("term with unknown parts");
  const functor = r.name();
  const namespace = flags & TERM.NAMESPACE ? r.name() : "default";
  r.charge(COMPOUND_BYTES);
  const args = values(r, r.count(1));
  const annots = flags & TERM.ANNOTS ? values(r, r.count(1)) : [];
  const annotTail = flags & TERM.TAIL ? variable(r) : undefined;
  return structure({
    term: functor,
    args,
    annots,
    negated: (flags & TERM.NEGATED) !== 0,
    ...(namespace !== "default" && { namespace }),
    ...(annotTail && { annotTail }),
  });
}

function variable(r: Reader): Variable {
  const slot = r.number();
  if (slot > 0xffff_ffff) r.fail("variable slot beyond 32 bits");
  return { slot, var: r.name() };
}

/** Reads a mutable container. Its label is assigned first, because the contents may refer to it. */
function mutable(r: Reader): Value {
  const kind = CONTAINERS[r.byte()] ?? r.fail("unknown kind of container");
  const value: Container = { object: kind, items: [] };
  r.charge(CELL_BYTES);
  const number = r.labelled.push({ value, open: true }) - 1;
  const count = r.count(1);
  const items = values(r, kind === "map" ? 2 * count : count);
  for (const item of kind === "priority-queue" ? items : container(kind, items).items) value.items.push(item);
  r.labelled[number] = { value, open: false };
  return value;
}

function reference(r: Reader): Value {
  const { at } = r;
  const found = r.labelled[r.number()];
  if (found === undefined) throw new DecodeError("malformed", "reference to an unknown label, or a cycle", at);
  if (found.open && !r.limits.circles) throw new DecodeError("malformed", "container contains itself", at);
  return found.value;
}

function label(r: Reader): Value {
  r.charge(2 * CELL_BYTES);
  const number = r.labelled.push(undefined) - 1;
  const value = r.nested(() => readValue(r));
  r.labelled[number] = { value, open: false };
  return value;
}

/** Reads a double after its tag. */
export function readDouble(r: Reader, tag: number): number {
  switch (tag) {
    case TAG.WHOLE_NUM:
      return Number(r.signed());
    case TAG.DECIMAL_NUM: {
      const by = powerOfTen(r);
      return Number(r.signed()) / by;
    }
    default:
      return readDoubles(r, tag === TAG.F32 ? 4 : 8, 1)[0] ?? 0;
  }
}

/** Reads a power of ten. */
export function powerOfTen(r: Reader): number {
  const power = r.byte();
  return power < 10 ? 10 ** power : r.fail("power of ten above nine");
}

/** Reads `count` doubles of `bytes` bytes. */
export function readDoubles(r: Reader, bytes: 4 | 8, count: number): number[] {
  const taken = r.take(bytes * count);
  const view = new DataView(taken.buffer, taken.byteOffset, taken.byteLength);
  return Array.from({ length: count }, (_, place) =>
    bytes === 4 ? view.getFloat32(4 * place, true) : view.getFloat64(8 * place, true),
  );
}

function bytes(r: Reader): Uint8Array {
  const length = r.count(1);
  r.charge(length);
  return r.take(length).slice();
}

/**
 * Reads packed bytes: pairs of blocks of 16, with both widths in one byte. Each byte is a zigzag difference from an
 * earlier one.
 */
function packedBytes(r: Reader): Uint8Array {
  const length = r.number();
  const stride = r.byte();
  if (Math.ceil(length / (2 * BLOCK)) > r.remaining || stride < 1 || stride > 4) {
    r.fail("too many packed bytes, or unknown packing");
  }
  r.charge(length);
  const out = new Uint8Array(length);
  let at = 0;
  while (at < length) {
    const widths = r.byte();
    at = unpackBlock(r, widths & 15, stride, out, at);
    at = unpackBlock(r, widths >> 4, stride, out, at);
  }
  return out;
}

function unpackBlock(r: Reader, width: number, stride: number, out: Uint8Array, from: number): number {
  const count = Math.min(out.length - from, BLOCK);
  if (width > 8 || (count === 0 && width > 0)) r.fail("packed width above eight bits, or empty block");
  const packed = r.take(Math.ceil((count * width) / 8));
  for (let place = 0; place < count; place++) {
    const bit = place * width;
    const folded = (((packed[bit >> 3] ?? 0) | ((packed[(bit >> 3) + 1] ?? 0) << 8)) >> (bit & 7)) & ((1 << width) - 1);
    const before = out[from + place - stride] ?? 0;
    out[from + place] = before + ((folded >> 1) ^ -(folded & 1));
  }
  return from + count;
}
