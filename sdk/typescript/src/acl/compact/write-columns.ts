/** Writer of columns. A list of values of one kind is written column by column where that is shorter. */
import { compareNames } from "../order.js";
import { kindOf, map, structure, type Container, type MapValue, type RecordValue, type Structure, type Value, type Variable } from "../value.js";
import { isInt64 } from "../json.js";
import { EncodeError } from "../errors.js";
import { bitsOf, packBits, packBools, packedBytes, signedLength, utf8, utf8Length } from "./bytes.js";
import { COLUMN, ROWS, SERIES_DIGITS_MAX, SHAPE, TAG } from "./tags.js";
import { isPlain, scaledBy, shapedKeys, wholeOf, writeDouble, writeValue } from "./write-value.js";
import { intBytes, numeric, type Writer } from "./writer.js";

/** Least length of a list with nulls that is written as columns. */
const NULLS_PAY_FROM = 8;
/** Least count of integers for an array, and of differences to try. */
const PACKED_COUNT_MIN = 4;
/** Differences to sample before trying all. */
const STEPS_TRIED = 16;
/** Least count of texts for a series. */
const SERIES_ROWS_MIN = 3;
/** Maximum fields of a table, over all rows. */
const FIELDS_MAX = 256;
/** Least ratio of an object's fields to all fields of a table, as its inverse. */
const SPARSE_MAX = 16;

/** Returns the column kind of a value. Values with equal texts share a column. */
function columnKind(value: Value): string {
  const kind = kindOf(value);
  switch (kind) {
    case "record":
      return `record ${(value as RecordValue).record}`;
    case "map":
      return shapedKeys(map((value as MapValue).map).map) ? "shaped" : "map";
    case "term": {
      const term = structure(value as Structure);
      if (kindOf(term) !== "term") return kindOf(term) ?? "other";
      const { args, term: functor } = term as Structure;
      return isPlain(term as Structure) && args.length > 0 ? `term ${args.length} ${functor}` : "other";
    }
    case "atom": {
      const { atom: name } = value as { atom: string };
      return name === "true" || name === "false" ? "bool" : "atom";
    }
    case "open":
    case "var":
    case "object":
    case undefined:
      return "other";
    default:
      return kind;
  }
}

function kindOfAll(values: readonly Value[]): string {
  const first = values.length > 0 ? columnKind(values[0] as Value) : "other";
  return first !== "other" && values.every((value) => columnKind(value) === first) ? first : "other";
}

/** Returns true if all values are of one simple kind. */
export function areAlike(values: readonly Value[]): boolean {
  return ["bool", "int", "num", "atom", "str", "bytes"].includes(kindOfAll(values));
}

/** Writes a list of at least one value. */
export function writeList(w: Writer, items: readonly Value[]): void {
  if (pays(items)) {
    w.out.byte(TAG.ARRAY);
    w.out.number(items.length);
    writeColumns(w, items);
  } else {
    w.list(items.length);
    items.forEach((item) => writeValue(w, item));
  }
}

const present = (items: readonly Value[]): Value[] => items.filter((item) => item !== null);

/** Returns true if the list has nulls among values of one kind. */
function hasGaps(items: readonly Value[]): boolean {
  const there = present(items);
  return there.length < items.length && kindOfAll(there) !== "other";
}

function pays(items: readonly Value[]): boolean {
  const kind = kindOfAll(items);
  switch (kind) {
    case "int":
      return intsPay(items as readonly bigint[]);
    case "other":
      return items.length >= NULLS_PAY_FROM && hasGaps(items);
    case "null":
      return false;
    case "bool":
      return items.length >= 5;
    case "num":
    case "atom":
    case "str":
      return items.length >= 4;
    default:
      return items.length >= 3;
  }
}

/** Writes values as columns. */
export function writeColumns(w: Writer, items: readonly Value[]): void {
  for (let from = 0; from < items.length; from += ROWS) writeColumn(w, items.slice(from, from + ROWS));
}

function writeColumn(w: Writer, rows: readonly Value[]): void {
  const kind = kindOfAll(rows);
  if (kind === "int") return writeInts(w, rows as readonly bigint[]);
  if (kind === "num") return writeDoubles(w, rows as readonly number[]);
  if (kind === "str") return writeTexts(w, rows as readonly string[], true);
  if (kind === "atom") return writeTexts(w, rows.map((row) => nameOf(row)), false);
  if (rows.every((row) => areIdentical(rows[0] as Value, row))) {
    w.out.byte(COLUMN.CONSTANT);
    return writeValue(w, rows[0] as Value);
  }
  switch (kind) {
    case "bool":
      w.out.byte(COLUMN.BOOLS);
      return packBools(w.out, rows.map((row) => row === true || nameOf(row) === "true"));
    case "bytes":
      return writeByteRuns(w, rows as readonly Uint8Array[]);
    case "list":
      return w.nested(() => writeLists(w, rows as readonly (readonly Value[])[]));
    case "map":
      return w.nested(() => writeMaps(w, rows.map((row) => map((row as MapValue).map).map)));
    case "null":
    case "other":
      return writeMixed(w, rows);
    default:
      return w.nested(() => {
        if (!writeTable(w, rows)) writeAny(w, rows);
      });
  }
}

/** Returns an atom's name, also of a term without arguments. */
function nameOf(row: Value): string {
  const value = row as { readonly atom?: string; readonly term?: string };
  return value.atom ?? value.term ?? "";
}

function writeAny(w: Writer, rows: readonly Value[]): void {
  w.out.byte(COLUMN.ANY);
  rows.forEach((row) => writeValue(w, row));
}

function writeMixed(w: Writer, rows: readonly Value[]): void {
  if (!hasGaps(rows)) return writeAny(w, rows);
  w.out.byte(COLUMN.NULLS);
  packBools(w.out, rows.map((row) => row !== null));
  writeColumn(w, present(rows));
}

function writeByteRuns(w: Writer, rows: readonly Uint8Array[]): void {
  w.out.byte(COLUMN.BYTES);
  writeInts(w, rows.map((row) => BigInt(row.length)));
  rows.forEach((row) => w.out.bytes(row));
}

function writeLists(w: Writer, rows: readonly (readonly Value[])[]): void {
  w.out.byte(COLUMN.LISTS);
  writeInts(w, rows.map((row) => BigInt(row.length)));
  writeColumns(w, rows.flat() as Value[]);
}

function writeMaps(w: Writer, rows: readonly MapValue["map"][]): void {
  w.out.byte(COLUMN.MAPS);
  writeInts(w, rows.map((row) => BigInt(row.length)));
  const pairs = rows.flat();
  writeColumns(w, pairs.map(([key]) => key));
  writeColumns(w, pairs.map(([, value]) => value));
}

/** Returns true if two values have the same encoding. Containers are references, so never. */
function areIdentical(one: Value, other: Value): boolean {
  const kind = kindOf(one);
  if (kind !== kindOf(other)) return false;
  const all = <T>(a: readonly T[] | undefined, b: readonly T[] | undefined, same: (x: T, y: T) => boolean): boolean =>
    (a?.length ?? 0) === (b?.length ?? 0) && (a ?? []).every((item, at) => same(item, b?.[at] as T));
  const same = (a: readonly [Value, Value], b: readonly [Value, Value]): boolean => areIdentical(a[0], b[0]) && areIdentical(a[1], b[1]);
  switch (kind) {
    case "bytes":
      return all([...(one as Uint8Array)], [...(other as Uint8Array)], Object.is);
    case "list":
      return all(one as readonly Value[], other as readonly Value[], areIdentical);
    case "open": {
      const [a, b] = [one, other] as [{ list: Value[]; tail: Value }, { list: Value[]; tail: Value }];
      return all(a.list, b.list, areIdentical) && areIdentical(a.tail, b.tail);
    }
    case "atom":
      return nameOf(one) === nameOf(other);
    case "var":
      return (one as Variable).var === (other as Variable).var && (one as Variable).slot === (other as Variable).slot;
    case "term": {
      const [a, b] = [one as Structure, other as Structure];
      const heads = a.term === b.term && a.namespace === b.namespace && Boolean(a.negated) === Boolean(b.negated);
      const tails = a.annotTail === b.annotTail || (a.annotTail !== undefined && b.annotTail !== undefined && areIdentical(a.annotTail, b.annotTail));
      return heads && tails && all(a.args, b.args, areIdentical) && all(a.annots, b.annots, areIdentical);
    }
    case "map":
      return all(map((one as MapValue).map).map, map((other as MapValue).map).map, same);
    case "record": {
      const [a, b] = [one as RecordValue, other as RecordValue];
      return a.record === b.record && all(a.fields, b.fields, same);
    }
    case "object":
      return false;
    default:
      return Object.is(one, other);
  }
}

// ---- Whole numbers

/** Form of a column of integers, and its length in bytes. */
interface Plan {
  readonly form: "packed" | "steps" | "varints";
  readonly least: bigint;
  readonly width: number;
  readonly bytes: number;
}

/** Returns the differences between neighbours. They wrap at 64 bits, and wrap back when decoded. */
function stepsOf(values: readonly bigint[]): bigint[] {
  return values.slice(1).map((value, at) => BigInt.asIntN(64, value - (values[at] as bigint)));
}

function boundsOf(values: readonly bigint[]): { least: bigint; width: number } {
  let least = values[0] ?? 0n;
  let most = least;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { least, width: bitsOf(BigInt.asUintN(64, most - least)) };
}

/** Returns the shortest form of at least one integer. */
function planInts(values: readonly bigint[]): Plan {
  const { least, width } = boundsOf(values);
  const count = values.length;
  let best: Plan = { form: "packed", least, width, bytes: 1 + signedLength(least) + packedBytes(count, width) };
  if (width === 0) return best;
  if (count >= PACKED_COUNT_MIN && boundsOf(stepsOf(values.slice(0, STEPS_TRIED + 1))).width < width) {
    const steps = boundsOf(stepsOf(values));
    const heads = signedLength(values[0] as bigint) + signedLength(steps.least);
    const bytes = 1 + heads + packedBytes(count - 1, steps.width);
    if (bytes < best.bytes) best = { form: "steps", ...steps, bytes };
  }
  const bytes = values.reduce((sum, value) => sum + signedLength(value), 1);
  return bytes < best.bytes ? { form: "varints", least, width, bytes } : best;
}

function intsPay(values: readonly bigint[]): boolean {
  if (values.length > ROWS) return true;
  if (values.length < PACKED_COUNT_MIN) return false;
  return planInts(values).bytes < values.reduce((sum, value) => sum + intBytes(value), 0);
}

function writeInts(w: Writer, values: readonly bigint[], plan: Plan = planInts(values)): void {
  const { form, least, width } = plan;
  if (!values.every(isInt64)) throw new EncodeError("integer of more than 64 bits");
  const distances = (from: readonly bigint[]): bigint[] => from.map((value) => BigInt.asUintN(64, value - least));
  if (form === "varints") {
    w.out.byte(COLUMN.VARINTS);
    return values.forEach((value) => w.out.signed(value));
  }
  w.out.byte((form === "packed" ? COLUMN.PACKED : COLUMN.STEPS) + width);
  if (form === "steps") w.out.signed(values[0] as bigint);
  w.out.signed(least);
  packBits(w.out, distances(form === "packed" ? values : stepsOf(values)), width);
}

// ---- Doubles

function writeDoubles(w: Writer, values: readonly number[]): void {
  const first = values[0] as number;
  if (values.every((value) => Object.is(value, first))) {
    w.out.byte(COLUMN.CONSTANT);
    return writeDouble(w, first);
  }
  const areSingles = values.every((value) => Object.is(Math.fround(value), value));
  const scaled = asWholeNumbers(values);
  const plan = scaled && planInts(scaled.whole);
  if (scaled && plan && plan.bytes < values.length * (areSingles ? 4 : 8)) {
    w.out.byte(scaled.power === 0 ? COLUMN.WHOLE : COLUMN.DECIMALS);
    if (scaled.power > 0) w.out.byte(scaled.power);
    return writeInts(w, scaled.whole, plan);
  }
  w.out.byte(areSingles ? COLUMN.F32 : COLUMN.F64);
  values.forEach((value) => w.out.double(value, areSingles ? 4 : 8));
}

/** Returns the least power of ten that makes all values whole, and the results. */
function asWholeNumbers(values: readonly number[]): { power: number; whole: bigint[] } | undefined {
  const scale = (value: number, power: number): bigint | undefined => (power === 0 ? wholeOf(value) : scaledBy(value, 10 ** power));
  let power = 0;
  for (const value of values) {
    while (scale(value, power) === undefined) if (++power === 10) return undefined;
  }
  const whole = values.map((value) => scale(value, power));
  return whole.every((n) => n !== undefined) ? { power, whole: whole as bigint[] } : undefined;
}

// ---- Texts and atoms

function writeTexts(w: Writer, rows: readonly string[], areTexts: boolean): void {
  const first = rows[0] as string;
  if (rows.every((row) => row === first)) {
    w.out.byte(COLUMN.CONSTANT);
    return areTexts ? w.text(first) : w.atom(first);
  }
  if (areTexts) {
    const numbers = rows.map(numeric);
    if (numbers.every((number) => number !== undefined)) {
      w.out.byte(COLUMN.NUMERIC_TEXTS);
      return writeInts(w, numbers as bigint[]);
    }
    if (writeSeries(w, rows)) return;
  }
  const distinct = [...new Set(rows)];
  const lengths = rows.map(utf8Length);
  const costs = distinct.reduce((sum, text) => sum + w.dictionary.costOf(text), 0);
  const bits = 32 - Math.clz32(distinct.length);
  const asRefs = costs + Math.floor((rows.length * bits) / 8);
  if (asRefs < lengths.reduce((sum, length) => sum + length, 0) + rows.length) {
    w.out.byte(areTexts ? COLUMN.TEXT_REFS : COLUMN.ATOM_REFS);
    const numbers = new Map(distinct.map((text) => [text, BigInt(w.columnText(text))]));
    return writeInts(w, rows.map((row) => numbers.get(row) ?? 0n));
  }
  w.out.byte(areTexts ? COLUMN.TEXTS : COLUMN.ATOMS);
  writeInts(w, lengths.map(BigInt));
  rows.forEach((row) => w.out.bytes(utf8(row)));
}

/** Writes texts that differ only in a number. Returns false, without writing, for others. */
function writeSeries(w: Writer, rows: readonly string[]): boolean {
  const first = rows[0] as string;
  if (rows.length < SERIES_ROWS_MIN) return false;
  let alike = first.length;
  for (const row of rows) {
    let at = 0;
    while (at < alike && row.charCodeAt(at) === first.charCodeAt(at)) at++;
    alike = at;
  }
  const isDigit = (text: string, at: number): boolean => text[at] !== undefined && /[0-9]/.test(text.charAt(at));
  let start = alike;
  while (start > 0 && isDigit(first, start - 1)) start--;
  let end = start;
  while (isDigit(first, end)) end++;
  const [before, after] = [first.slice(0, start), first.slice(end)];
  if (before.length + after.length === 0) return false;
  const middles = rows.map((row) => (row.slice(start).endsWith(after) ? row.slice(start, row.length - after.length) : ""));
  const isPadded = middles.some((middle) => middle.length > 1 && middle.startsWith("0"));
  const fits = (middle: string): boolean =>
    /^[0-9]+$/.test(middle) && middle.length <= SERIES_DIGITS_MAX && (!isPadded || middle.length === end - start);
  if (!middles.every(fits)) return false;
  w.out.byte(COLUMN.SERIES);
  w.out.byte(isPadded ? end - start : 0);
  w.name(before);
  w.name(after);
  writeInts(w, middles.map(BigInt));
  return true;
}

// ---- Tables

/** Returns an object's fields in order. Those of terms have no names. */
function fieldsOf(row: Value): readonly (readonly [string, Value])[] {
  const object = row as RecordValue | MapValue | Structure;
  if ("record" in object) return object.fields;
  return "map" in object ? (map(object.map).map as readonly [string, Value][]) : object.args.map((arg) => ["", arg] as const);
}

/** Writes objects of one kind as a table. Returns false, without writing, if the fields do not match. */
function writeTable(w: Writer, rows: readonly Value[]): boolean {
  const all = rows.map(fieldsOf);
  const names = (all[0] ?? []).map(([name]) => name);
  const isUniform = all.every((fields) => fields.length === names.length && fields.every(([name], at) => name === names[at]));
  if (!isUniform) return writeTableWithGaps(w, rows[0] as Value, all);
  beginTable(w, rows[0] as Value, names);
  names.forEach((_, at) => writeColumn(w, all.map((fields) => (fields[at] as readonly [string, Value])[1])));
  return true;
}

function beginTable(w: Writer, first: Value, names: readonly string[]): void {
  const object = first as RecordValue | MapValue | Structure | Container;
  if ("term" in object) w.table(w.dictionary.shape(SHAPE.TERM, object.term, [], names.length));
  else if ("record" in object) w.table(w.dictionary.shape(SHAPE.RECORD, object.record, names));
  else w.table(w.dictionary.shape(SHAPE.MAP, "", names));
}

function writeTableWithGaps(w: Writer, first: Value, all: readonly (readonly (readonly [string, Value])[])[]): boolean {
  const names = "map" in (first as object) ? [...new Set(all.flat().map(([name]) => name))].sort(compareNames) : unionOf(all);
  const cells = all.reduce((sum, fields) => sum + fields.length, 0);
  if (names === undefined || names.length > FIELDS_MAX || names.length * all.length > SPARSE_MAX * cells) return false;
  beginTable(w, first, names);
  const next = all.map(() => 0);
  for (const name of names) {
    const column = all.map((fields, row) => {
      const field = fields[next[row] as number];
      if (field?.[0] !== name) return undefined;
      next[row] = (next[row] as number) + 1;
      return field[1];
    });
    const there = column.filter((value): value is Value => value !== undefined);
    if (there.length < all.length) {
      w.out.byte(COLUMN.ABSENT);
      packBools(w.out, column.map((value) => value !== undefined));
    }
    writeColumn(w, there);
  }
  return true;
}

/** Returns all fields in an order that agrees with each row; undefined if there is none, or too many fields. */
function unionOf(all: readonly (readonly (readonly [string, Value])[])[]): string[] | undefined {
  const names: string[] = [];
  for (const fields of all) {
    let at = 0;
    for (const [name] of fields) {
      const place = names.indexOf(name);
      if (place >= 0 && place < at) return undefined;
      if (place < 0) names.splice(at, 0, name);
      at = (place < 0 ? at : place) + 1;
    }
    if (names.length > FIELDS_MAX) return undefined;
  }
  return names;
}
