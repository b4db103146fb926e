/** Reader of columns. */
import { DecodeError } from "../errors.js";
import { atom, map, type Value } from "../value.js";
import { endsClean, packedBytes, unpackBits } from "./bytes.js";
import { assemble, CELL_BYTES, COMPOUND_BYTES, PAIR_BYTES, powerOfTen, readDoubles, readValue } from "./read-value.js";
import type { Reader } from "./reader.js";
import { COLUMN, ROWS, SERIES_DIGITS_MAX } from "./tags.js";

/** Reads the number of rows of a list or map, and charges their memory. */
export function rowCount(r: Reader): number {
  const count = r.number();
  if (Math.ceil(count / ROWS) > r.remaining) throw new DecodeError("truncated", "truncated", r.at);
  r.charge(count * CELL_BYTES);
  return count;
}

/** Reads `count` values from columns. Their memory is charged already. */
export function readColumns(r: Reader, count: number): Value[] {
  const values: Value[] = [];
  while (values.length < count) {
    for (const value of readColumn(r, Math.min(count - values.length, ROWS))) values.push(value);
  }
  return values;
}

function readColumn(r: Reader, count: number): Value[] {
  if (r.peek() !== COLUMN.NULLS) return dense(r, count);
  r.byte();
  const present = presence(r, count);
  return spread(present, dense(r, countOf(present)), null);
}

const countOf = (present: readonly boolean[]): number => present.reduce((sum, there) => sum + Number(there), 0);

/** Returns the values at the present rows, and `none` elsewhere. */
function spread<T>(present: readonly boolean[], values: readonly Value[], none: T): (Value | T)[] {
  let next = 0;
  return present.map((there) => (there ? (values[next++] as Value) : none));
}

/** Reads the mask of present rows. */
function presence(r: Reader, count: number): boolean[] {
  const present = bools(r, count);
  const there = countOf(present);
  if (there === 0 || there === count) r.fail("column with gaps has none, or only gaps");
  return present;
}

function bools(r: Reader, count: number): boolean[] {
  const packed = r.take(Math.ceil(count / 8));
  if (!endsClean(packed, count)) r.fail("bits beyond the last row");
  return Array.from({ length: count }, (_, place) => (((packed[place >> 3] ?? 0) >> (place & 7)) & 1) === 1);
}

/** Reads a column without gaps. */
function dense(r: Reader, count: number): Value[] {
  const tag = r.byte();
  switch (tag) {
    case COLUMN.ANY:
      return Array.from({ length: count }, () => readValue(r));
    case COLUMN.CONSTANT:
      return new Array<Value>(count).fill(readValue(r));
    case COLUMN.BOOLS:
      return bools(r, count);
    case COLUMN.F32:
    case COLUMN.F64:
      return readDoubles(r, tag === COLUMN.F32 ? 4 : 8, count);
    case COLUMN.WHOLE:
      return ints(r, count).map(Number);
    case COLUMN.DECIMALS: {
      const by = powerOfTen(r);
      return ints(r, count).map((whole) => Number(whole) / by);
    }
    case COLUMN.TEXTS:
    case COLUMN.TEXT_REFS:
      return tag === COLUMN.TEXTS ? run(r, count) : refs(r, count);
    case COLUMN.ATOMS:
    case COLUMN.ATOM_REFS:
      return (tag === COLUMN.ATOMS ? run(r, count) : refs(r, count)).map(atom);
    case COLUMN.NUMERIC_TEXTS:
      r.charge(count * 20);
      return ints(r, count).map(String);
    case COLUMN.SERIES:
      return series(r, count);
    case COLUMN.BYTES:
      return byteRuns(r, count);
    case COLUMN.LISTS:
      return r.nested(() => lists(r, count));
    case COLUMN.MAPS:
      return r.nested(() => maps(r, count));
    case COLUMN.TABLE:
      return r.nested(() => table(r, count));
    default:
      return intsTagged(r, tag, count);
  }
}

/** Reads a column of integers. */
function ints(r: Reader, count: number): bigint[] {
  return intsTagged(r, r.byte(), count);
}

function intsTagged(r: Reader, tag: number, count: number): bigint[] {
  if (tag === COLUMN.VARINTS) return Array.from({ length: count }, () => r.signed());
  if (tag >= COLUMN.PACKED && tag < COLUMN.STEPS) {
    const least = r.signed();
    return packed(r, count, tag - COLUMN.PACKED).map((more) => BigInt.asIntN(64, least + more));
  }
  if (tag >= COLUMN.STEPS && tag <= COLUMN.STEPS_LAST) {
    let value = r.signed();
    const least = r.signed();
    const steps = packed(r, count - 1, tag - COLUMN.STEPS);
    return [value, ...steps.map((more) => (value = BigInt.asIntN(64, value + least + more)))];
  }
  return r.fail("unknown kind of column");
}

function packed(r: Reader, count: number, width: number): bigint[] {
  const bytes = r.take(packedBytes(count, width));
  if (!endsClean(bytes, count * width)) r.fail("bits beyond the last number");
  return unpackBits(bytes, count, width);
}

/** Reads a column of lengths. None is negative, and their sum is at most `sumMax`. */
function lengths(r: Reader, count: number, sumMax: number): { readonly each: number[]; readonly sum: number } {
  const { at } = r;
  const each = ints(r, count).map(Number);
  let sum = 0;
  for (const length of each) {
    sum += length < 0 ? Infinity : length;
    if (sum > sumMax) throw new DecodeError("malformed", "lengths exceed the bytes", at);
  }
  return { each, sum };
}

function refs(r: Reader, count: number): string[] {
  return ints(r, count).map((number) => r.dictionaryText(Number(number)));
}

/** Reads texts that are stored as one. Each is cut out as bytes, and must be valid by itself. */
function run(r: Reader, count: number): string[] {
  const { each, sum } = lengths(r, count, r.remaining);
  r.charge(sum);
  return each.map((length) => r.text(length));
}

function series(r: Reader, count: number): Value[] {
  const digits = r.byte();
  const [before, after] = [r.name(), r.name()];
  if (digits > SERIES_DIGITS_MAX) r.fail("series with too many digits");
  const numbers = ints(r, count);
  if (numbers.some((number) => number < 0n)) r.fail("series with a negative number");
  r.charge(count * (before.length + after.length + 20));
  return numbers.map((number) => before + String(number).padStart(digits, "0") + after);
}

function byteRuns(r: Reader, count: number): Value[] {
  const { each, sum } = lengths(r, count, r.remaining);
  r.charge(sum + count * CELL_BYTES);
  return each.map((length) => r.take(length).slice());
}

function lists(r: Reader, count: number): Value[] {
  const { each, sum } = lengths(r, count, r.limits.budgetBytes);
  r.charge(sum * CELL_BYTES);
  const elements = readColumns(r, sum);
  let from = 0;
  return each.map((length) => elements.slice(from, (from += length)));
}

function maps(r: Reader, count: number): Value[] {
  const { each, sum } = lengths(r, count, r.limits.budgetBytes);
  r.charge(sum * 2 * CELL_BYTES);
  const keys = readColumns(r, sum);
  const values = readColumns(r, sum);
  const pairs = keys.map((key, place) => [key, values[place] as Value] as const);
  let from = 0;
  return each.map((length) => map(pairs.slice(from, (from += length))));
}

/** Reads objects of one shape, a column per field. */
function table(r: Reader, count: number): Value[] {
  const shape = r.shapeNumbered(r.number());
  const { width } = shape;
  if (width > r.remaining) throw new DecodeError("truncated", "truncated", r.at);
  r.charge(count * (COMPOUND_BYTES + width * PAIR_BYTES));
  const columns = Array.from({ length: width }, () => cells(r, count));
  return Array.from({ length: count }, (_, row) => assemble(shape, columns.map((column) => column[row])));
}

/** Reads the column of a field. Rows without the field are undefined. */
function cells(r: Reader, count: number): (Value | undefined)[] {
  if (r.peek() !== COLUMN.ABSENT) return readColumn(r, count);
  r.byte();
  const present = presence(r, count);
  return spread(present, readColumn(r, countOf(present)), undefined);
}
