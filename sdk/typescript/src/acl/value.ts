/**
 * Content values: what messages say. They are plain data in the notation of `conformance/acl`, with JavaScript's own types
 * where it has them: a `number` is a double (as AgentSpeak's numbers are), a `bigint` a whole number of 64 bits (as Rust's
 * `i64` is); 3 and 3n are equal to all agents.
 */
import { compareValues } from "./order.js";

/** A name: `bob`. */
export interface Atom {
  readonly atom: string;
}

/** A term: `at(robot, 3)`, `~raining[source(amy)]`. */
export interface Structure {
  /** The functor. */
  readonly term: string;
  readonly args: readonly Value[];
  /** The namespace, if it is not the default one. */
  readonly namespace?: string;
  /** Whether it is strongly negated: `~`. */
  readonly negated?: boolean;
  /** Annotations: a sorted set. */
  readonly annots?: readonly Value[];
  /** What an open pattern of annotations ends in: `[a|R]`. */
  readonly annotTail?: Variable;
}

/** A variable, as rules and patterns have them. */
export interface Variable {
  readonly var: string;
  /** Tells variables of one name apart. */
  readonly slot: number;
}

/** A list that does not end as lists do: `[1, 2 | T]`. */
export interface OpenList {
  readonly list: readonly Value[];
  readonly tail: Value;
}

/** A map, sorted by its keys; each key once. */
export interface MapValue {
  readonly map: readonly (readonly [Value, Value])[];
}

/** An object of a type, its fields in the type's order. */
export interface RecordValue {
  readonly record: string;
  readonly fields: readonly (readonly [string, Value])[];
}

/** A mutable container of AgentSpeak. Of a map, keys and values take turns. */
export interface Container {
  readonly object: "map" | "set" | "queue" | "priority-queue";
  readonly items: Value[];
}

/** Anything a message can say. */
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

/** Which of the kinds a value is of; undefined for what is no value. */
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

/** The kind of a value; undefined if it is none, which only programs without types can make. */
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

/** Whether a value is an atom; with a name, whether it is this one. */
export function isAtom(value: Value, name?: string): value is Atom {
  return kindOf(value) === "atom" && (name === undefined || (value as Atom).atom === name);
}

/** Whether a value is a structure; with a functor and a count, whether it is one with these. */
export function isTerm(value: Value, functor?: string, args?: number): value is Structure {
  if (kindOf(value) !== "term") return false;
  const term = value as Structure;
  return (functor === undefined || term.term === functor) && (args === undefined || term.args.length === args);
}

/** Whether a value is a map. */
export function isMap(value: Value): value is MapValue {
  return kindOf(value) === "map";
}

/** Whether a value is a record; with a name, whether it is one of this type. */
export function isRecord(value: Value, name?: string): value is RecordValue {
  return kindOf(value) === "record" && (name === undefined || (value as RecordValue).record === name);
}

/** The atom of this name. `true` and `false` are truths. */
export function atom(name: string): Atom | boolean {
  return name === "true" ? true : name === "false" ? false : { atom: name };
}

/** The term `functor(args)`; an atom if there are no arguments. */
export function term(functor: string, ...args: readonly Value[]): Value {
  return args.length === 0 ? atom(functor) : { term: functor, args };
}

/** A structure with all its parts; what says nothing is left out, annotations become a set. */
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

/** A list of these elements that ends in something else; a list like others if that is a list. */
export function openList(items: readonly Value[], tail: Value): Value {
  if (items.length === 0) return tail;
  if (Array.isArray(tail)) return [...items, ...(tail as readonly Value[])];
  if (kindOf(tail) === "open") {
    const rest = tail as OpenList;
    return { list: [...items, ...rest.list], tail: rest.tail };
  }
  return { list: items, tail };
}

/** A map of these pairs, of an object's members or of a `Map`; of two with the same key the later counts. */
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

/** An object of the type `name`; members that are undefined are left out. */
export function record(name: string, fields: Readonly<Record<string, Value | undefined>>): RecordValue {
  return { record: name, fields: Object.entries(fields).filter((field): field is [string, Value] => field[1] !== undefined) };
}

/** A container of AgentSpeak with these contents, ordered as its kind is. */
export function container(kind: Container["object"], items: readonly Value[]): Container {
  if (kind === "map") {
    const pairs: [Value, Value][] = [];
    for (let at = 0; at + 1 < items.length; at += 2) pairs.push([items[at] as Value, items[at + 1] as Value]);
    return { object: kind, items: map(pairs).map.flat() };
  }
  if (kind === "set") return { object: kind, items: sortedSet(items) };
  return { object: kind, items: kind === "queue" ? [...items] : [...items].sort(compareValues) };
}

/** The values in their order, each once. */
export function sortedSet(values: readonly Value[]): Value[] {
  const sorted = [...values].sort(compareValues);
  return sorted.filter((value, at) => at === 0 || compareValues(sorted[at - 1] as Value, value) !== 0);
}

/** The field of a record, or the value of a map's key that is this text or atom; undefined if there is none. */
export function field(value: Value, name: string): Value | undefined {
  if (isRecord(value)) return value.fields.find(([other]) => other === name)?.[1];
  if (!isMap(value)) return undefined;
  return value.map.find(([key]) => key === name || isAtom(key, name))?.[1];
}

/** Text, or the name of an atom; undefined for other values. */
export function textOf(value: Value | undefined): string | undefined {
  if (typeof value === "string") return value;
  return value !== undefined && isAtom(value) ? value.atom : undefined;
}

/**
 * A value as plain JavaScript: whole numbers as numbers (those beyond 2^53 stay `bigint`), atoms as text, records and maps
 * with textual keys as objects, other maps as `Map`, terms as `{ functor, args }`. What is lost cannot be brought back.
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

/** No member is the prototype's, whatever it is called. */
function plainObject(fields: readonly (readonly [string, Value])[]): unknown {
  return Object.fromEntries(fields.map(([name, item]) => [name, plain(item)]));
}
