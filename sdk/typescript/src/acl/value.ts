/**
 * Content values of messages. They are plain data in the notation of `conformance/acl`, with JavaScript's types where
 * it has them. A `number` is a double, like AgentSpeak's numbers. A `bigint` is an integer of 64 bits, like Rust's
 * `i64`. All agents treat 3 and 3n as equal.
 */
import { compareValues } from "./order.js";

/** An atom: `bob`. */
export interface Atom {
  readonly atom: string;
}

/** A term: `at(robot, 3)`, `~raining[source(amy)]`. */
export interface Structure {
  /** Functor. */
  readonly term: string;
  readonly args: readonly Value[];
  /** Namespace, if it is not the default one. */
  readonly namespace?: string;
  /** True for strong negation, `~`. */
  readonly negated?: boolean;
  /** Annotations: a sorted set. */
  readonly annots?: readonly Value[];
  /** Tail of an open pattern of annotations: `[a|R]`. */
  readonly annotTail?: Variable;
}

/** A variable of a rule or pattern. */
export interface Variable {
  readonly var: string;
  /** Number that distinguishes variables of the same name. */
  readonly slot: number;
}

/** A list with a tail: `[1, 2 | T]`. */
export interface OpenList {
  readonly list: readonly Value[];
  readonly tail: Value;
}

/** A map, sorted by key. Each key occurs once. */
export interface MapValue {
  readonly map: readonly (readonly [Value, Value])[];
}

/** A record of a named type, with its fields in the type's order. */
export interface RecordValue {
  readonly record: string;
  readonly fields: readonly (readonly [string, Value])[];
}

/** A mutable container of AgentSpeak. In a map, keys and values alternate. */
export interface Container {
  readonly object: "map" | "set" | "queue" | "priority-queue";
  readonly items: Value[];
}

/** Any content value. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Value[]
  | Atom
  | Structure
  | Variable
  | OpenList
  | MapValue
  | RecordValue
  | Container;

/** Kind of a value. */
export type Kind =
  | "null"
  | "bool"
  | "int"
  | "num"
  | "str"
  | "bytes"
  | "list"
  | "open"
  | "atom"
  | "term"
  | "var"
  | "map"
  | "record"
  | "object";

/** Returns the kind of a value. Undefined if it is not a value, which only untyped programs can pass. */
export function kindOf(value: Value): Kind | undefined {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "num";
    case "string":
      return "str";
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (value instanceof Uint8Array) return "bytes";
  if ("atom" in value) return "atom";
  if ("term" in value) return "term";
  if ("var" in value) return "var";
  if ("list" in value) return "open";
  if ("map" in value) return "map";
  if ("record" in value) return "record";
  if ("object" in value) return "object";
  return undefined;
}

/** Returns true if a value is an atom, or the atom `name` if given. */
export function isAtom(value: Value, name?: string): value is Atom {
  return kindOf(value) === "atom" && (name === undefined || (value as Atom).atom === name);
}

/** Returns true if a value is a structure, with the given functor and number of arguments if given. */
export function isTerm(value: Value, functor?: string, args?: number): value is Structure {
  if (kindOf(value) !== "term") return false;
  const term = value as Structure;
  return (functor === undefined || term.term === functor) && (args === undefined || term.args.length === args);
}

/** Returns true if a value is a map. */
export function isMap(value: Value): value is MapValue {
  return kindOf(value) === "map";
}

/** Returns true if a value is a record, of the type `name` if given. */
export function isRecord(value: Value, name?: string): value is RecordValue {
  return kindOf(value) === "record" && (name === undefined || (value as RecordValue).record === name);
}

/** Creates an atom. `true` and `false` become booleans. */
export function atom(name: string): Atom | boolean {
  return name === "true" ? true : name === "false" ? false : { atom: name };
}

/** Creates the term `functor(args)`; an atom if there are no arguments. */
export function term(functor: string, ...args: readonly Value[]): Value {
  return args.length === 0 ? atom(functor) : { term: functor, args };
}

/** Creates a structure from its parts. Empty parts are left out, and annotations become a set. */
export function structure(parts: Structure): Value {
  const { term: functor, args, namespace, negated, annots, annotTail } = parts;
  const said = annots && annots.length > 0 ? sortedSet(annots) : undefined;
  if (args.length === 0 && namespace === undefined && !negated && !said && !annotTail) return atom(functor);
  return {
    term: functor,
    args,
    ...(namespace !== undefined && { namespace }),
    ...(negated && { negated }),
    ...(said && { annots: said }),
    ...(annotTail && { annotTail }),
  };
}

/** Creates a list with a tail. If the tail is a list, the result is an ordinary list. */
export function openList(items: readonly Value[], tail: Value): Value {
  if (items.length === 0) return tail;
  if (Array.isArray(tail)) return [...items, ...(tail as readonly Value[])];
  if (kindOf(tail) === "open") {
    const rest = tail as OpenList;
    return { list: [...items, ...rest.list], tail: rest.tail };
  }
  return { list: items, tail };
}

/**
 * Creates a map from pairs, an object's members, or a `Map`. A later pair replaces an earlier one with the same key.
 */
export function map(pairs: Iterable<readonly [Value, Value]> | Readonly<Record<string, Value>>): MapValue {
  const all = Symbol.iterator in pairs ? [...pairs] : Object.entries(pairs);
  const sorted = all.sort(([one], [other]) => compareValues(one, other));
  const unique: (readonly [Value, Value])[] = [];
  for (const pair of sorted) {
    const last = unique.at(-1);
    if (last !== undefined && compareValues(last[0], pair[0]) === 0) unique[unique.length - 1] = [last[0], pair[1]];
    else unique.push(pair);
  }
  return { map: unique };
}

/** Creates a record of the type `name`. Undefined members are left out. */
export function record(name: string, fields: Readonly<Record<string, Value | undefined>>): RecordValue {
  return { record: name, fields: Object.entries(fields).filter((field): field is [string, Value] => field[1] !== undefined) };
}

/** Creates a container with these contents, ordered according to its kind. */
export function container(kind: Container["object"], items: readonly Value[]): Container {
  if (kind === "map") {
    const pairs: [Value, Value][] = [];
    for (let at = 0; at + 1 < items.length; at += 2) pairs.push([items[at] as Value, items[at + 1] as Value]);
    return { object: kind, items: map(pairs).map.flat() };
  }
  if (kind === "set") return { object: kind, items: sortedSet(items) };
  return { object: kind, items: kind === "queue" ? [...items] : [...items].sort(compareValues) };
}

/** Returns the values in order, without duplicates. */
export function sortedSet(values: readonly Value[]): Value[] {
  const sorted = [...values].sort(compareValues);
  return sorted.filter((value, at) => at === 0 || compareValues(sorted[at - 1] as Value, value) !== 0);
}

/** Returns a record's field, or the value of a map's key that is this text or atom; undefined if there is none. */
export function field(value: Value, name: string): Value | undefined {
  if (isRecord(value)) return value.fields.find(([other]) => other === name)?.[1];
  if (!isMap(value)) return undefined;
  return value.map.find(([key]) => key === name || isAtom(key, name))?.[1];
}

/** Returns a text, or the name of an atom; undefined for other values. */
export function textOf(value: Value | undefined): string | undefined {
  if (typeof value === "string") return value;
  return value !== undefined && isAtom(value) ? value.atom : undefined;
}

/**
 * Converts a value to plain JavaScript. Integers become numbers (beyond 2^53 they stay `bigint`), and atoms become
 * text. Records and maps with textual keys become objects, other maps become `Map`, terms become `{ functor, args }`.
 * The conversion cannot be reversed.
 */
export function plain(value: Value): unknown {
  switch (kindOf(value)) {
    case "int": {
      const n = Number(value);
      return Number.isSafeInteger(n) ? n : value;
    }
    case "list":
      return (value as readonly Value[]).map(plain);
    case "atom":
      return (value as Atom).atom;
    case "term": {
      const { term: functor, args } = value as Structure;
      return { functor, args: args.map(plain) };
    }
    case "record":
      return plainObject((value as RecordValue).fields);
    case "map": {
      const pairs = (value as MapValue).map;
      const named = pairs.map(([key, item]) => [textOf(key), item] as const);
      const isNamed = (pair: readonly [string | undefined, Value]): pair is readonly [string, Value] => pair[0] !== undefined;
      if (named.every(isNamed)) return plainObject(named);
      return new Map(pairs.map(([key, item]) => [plain(key), plain(item)]));
    }
    default:
      return value;
  }
}

/** Creates an object. `fromEntries` keeps names such as `__proto__` from reaching the prototype. */
function plainObject(fields: readonly (readonly [string, Value])[]): unknown {
  return Object.fromEntries(fields.map(([name, item]) => [name, plain(item)]));
}
