/**
 * The standard order of values. It begins as Jason sorts terms: null, numbers, text, lists, literals (with booleans),
 * variables. Then follow bytes, maps, records and containers.
 */
import { kindOf, type Container, type Kind, type MapValue, type OpenList, type RecordValue, type Structure, type Value, type Variable } from "./value.js";

const RANKS: Readonly<Record<Kind, number>> = {
  null: 0,
  int: 1,
  num: 1,
  str: 2,
  list: 3,
  open: 3,
  bool: 4,
  atom: 4,
  term: 4,
  var: 5,
  bytes: 6,
  map: 7,
  record: 8,
  object: 9,
};

/** Compares two values. Returns less than 0 if `one` comes first, 0 if they are equal, else more. */
export function compareValues(one: Value, other: Value): number {
  const [kind, otherKind] = [kindOf(one) ?? "null", kindOf(other) ?? "null"];
  const rank = RANKS[kind];
  if (rank !== RANKS[otherKind]) return rank - RANKS[otherKind];
  switch (rank) {
    case 1:
      return compareNumbers(one as number | bigint, other as number | bigint);
    case 2:
      return compareTexts(one as string, other as string);
    case 3:
      return compareLists(partsOfList(one), partsOfList(other));
    case 4:
      return compareLiterals(partsOfLiteral(one), partsOfLiteral(other));
    case 5:
      return compareNames((one as Variable).var, (other as Variable).var) || (one as Variable).slot - (other as Variable).slot;
    case 6:
      return compareAll([...(one as Uint8Array)], [...(other as Uint8Array)], (a, b) => a - b);
    case 7:
      return compareAll((one as MapValue).map, (other as MapValue).map, comparePairs);
    case 8:
      return compareRecords(one as RecordValue, other as RecordValue);
    case 9:
      return compareContainers(one, other);
    default:
      return 0;
  }
}

/** Returns true if two values are equal; 3 equals 3n. */
export function equalValues(one: Value, other: Value): boolean {
  return compareValues(one, other) === 0;
}

/** Compares names by their code points, which is also the order of their UTF-8. */
export function compareNames(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return codePointOrder(a) - codePointOrder(b);
  }
  return one.length - other.length;
}

/** Maps a UTF-16 unit so that surrogates sort after all other units. */
function codePointOrder(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Compares texts as Jason does, with their quotes: a text followed by a blank or `!` comes first. */
function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  if (one.startsWith(other)) return one.charCodeAt(other.length) < 0x22 ? -1 : 1;
  if (other.startsWith(one)) return other.charCodeAt(one.length) < 0x22 ? 1 : -1;
  return compareNames(one, other);
}

/** Compares numbers exactly. NaN comes last and equals itself. */
function compareNumbers(one: number | bigint, other: number | bigint): number {
  if (one < other) return -1;
  if (one > other) return 1;
  return Number(Number.isNaN(one)) - Number(Number.isNaN(other));
}

function compareAll<T>(one: readonly T[], other: readonly T[], compare: (a: T, b: T) => number): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const order = compare(one[at] as T, other[at] as T);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

function comparePairs(one: readonly [Value, Value], other: readonly [Value, Value]): number {
  return compareValues(one[0], other[0]) || compareValues(one[1], other[1]);
}

function partsOfList(value: Value): { items: readonly Value[]; tail: Value | undefined } {
  if (Array.isArray(value)) return { items: value as readonly Value[], tail: undefined };
  const { list, tail } = value as OpenList;
  return { items: list, tail };
}

type ListParts = ReturnType<typeof partsOfList>;

function compareLists(one: ListParts, other: ListParts): number {
  const order = compareAll(one.items, other.items, compareValues);
  if (order !== 0) return order;
  if (one.tail === undefined && other.tail === undefined) return 0;
  return compareValues(one.tail ?? [], other.tail ?? []);
}

function partsOfLiteral(value: Value): Structure {
  if (typeof value === "boolean") return { term: String(value), args: [] };
  const literal = value as Structure | { readonly atom: string };
  return "atom" in literal ? { term: literal.atom, args: [] } : literal;
}

const DEFAULT_NAMESPACE = "default";

function compareLiterals(one: Structure, other: Structure): number {
  return (
    compareNames(one.namespace ?? DEFAULT_NAMESPACE, other.namespace ?? DEFAULT_NAMESPACE) ||
    compareNames(one.term, other.term) ||
    Number(one.negated ?? false) - Number(other.negated ?? false) ||
    compareAll(one.args, other.args, compareValues) ||
    compareAnnots(one, other)
  );
}

/** Compares annotations. A tail comes after all annotations. */
function compareAnnots(one: Structure, other: Structure): number {
  const [a, b] = [one.annots ?? [], other.annots ?? []];
  const length = Math.min(a.length, b.length);
  const order = compareAll(a.slice(0, length), b.slice(0, length), compareValues);
  if (order !== 0) return order;
  const next = (annots: readonly Value[], tail: Variable | undefined): [number, Value] =>
    annots.length > length ? [1, annots[length] as Value] : tail ? [2, tail] : [0, null];
  const [left, right] = [next(a, one.annotTail), next(b, other.annotTail)];
  return left[0] - right[0] || compareValues(left[1], right[1]);
}

function compareRecords(one: RecordValue, other: RecordValue): number {
  const compareFields = (a: readonly [string, Value], b: readonly [string, Value]): number =>
    compareNames(a[0], b[0]) || compareValues(a[1], b[1]);
  return compareNames(one.record, other.record) || compareAll(one.fields, other.fields, compareFields);
}

/** Compares containers by their contents, whatever their kinds. */
function compareContainers(one: Value, other: Value): number {
  return one === other ? 0 : compareAll((one as Container).items, (other as Container).items, compareValues);
}
