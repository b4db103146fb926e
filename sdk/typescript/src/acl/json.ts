/**
 * JSON form of messages and values: the notation of `conformance/acl`. The output is canonical: equal messages give
 * equal text.
 */
import { Aid } from "./aid.js";
import { DecodeError, EncodeError } from "./errors.js";
import { RESOLVER_LEVELS_MAX, VALUE_LEVELS_MAX } from "./limits.js";
import { checkTexts, type Message } from "./message.js";
import {
  atom,
  container,
  kindOf,
  map,
  openList,
  structure,
  type Atom,
  type Container,
  type MapValue,
  type OpenList,
  type RecordValue,
  type Structure,
  type Value,
  type Variable,
} from "./value.js";

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
type JsonObject = { [member: string]: Json };

/** Largest integer that every JSON reader preserves. */
const EXACT_MAX = 1n << 53n;
const INT_MIN = -(1n << 63n);
const INT_MAX = (1n << 63n) - 1n;

/** Returns true if an integer fits in 64 bits. */
export function isInt64(n: bigint): boolean {
  return n >= INT_MIN && n <= INT_MAX;
}

const malformed = (what: string): DecodeError => new DecodeError("malformed", what);

// ---- Writing

/** Writes an object's members in order. Undefined members are left out. */
function object(members: Readonly<Record<string, string | undefined>>): string {
  let json = "";
  for (const name in members) {
    const text = members[name];
    if (text !== undefined) json += `${json === "" ? "{" : ","}"${name}":${text}`;
  }
  return json === "" ? "{}" : `${json}}`;
}

function array<T>(items: readonly T[], write: (item: T) => string): string {
  return `[${items.map(write).join(",")}]`;
}

function optional<T>(value: T | undefined, write: (value: T) => string): string | undefined {
  return value === undefined ? undefined : write(value);
}

/** Writes a list; undefined if it is empty. */
function some<T>(items: readonly T[] | undefined, write: (item: T) => string): string | undefined {
  return items && items.length > 0 ? array(items, write) : undefined;
}

/** Writes text. Lone surrogates become the replacement character, because they are not text. */
function quote(text: string): string {
  const json = JSON.stringify(text);
  // So are lone surrogates written, and little else.
  return json.includes("\\ud") ? JSON.stringify(text.replace(/\p{Surrogate}/gu, "\ufffd")) : json;
}

/**
 * Encodes a value as JSON.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or is not a value.
 */
export function valueToJson(value: Value, level = 0): string {
  if (level > VALUE_LEVELS_MAX) throw new EncodeError(`value nested deeper than ${VALUE_LEVELS_MAX} levels`);
  const inner = (item: Value): string => valueToJson(item, level + 1);
  switch (kindOf(value)) {
    case "null":
    case "bool":
      return String(value);
    case "int":
      return intToJson(value as bigint);
    case "num":
      return numberToJson(value as number);
    case "str":
      return quote(value as string);
    case "bytes":
      return object({ bytes: `"${hex(value as Uint8Array)}"` });
    case "atom": {
      const name = atom((value as Atom).atom);
      return typeof name === "boolean" ? String(name) : object({ atom: quote(name.atom) });
    }
    case "list":
      return array(value as readonly Value[], inner);
    case "open": {
      const { list, tail } = value as OpenList;
      return object({ list: array(list, inner), tail: inner(tail) });
    }
    case "term":
      return structureToJson(value as Structure, inner);
    case "var":
      return variableToJson(value as Variable);
    case "map":
      return object({ map: array(map((value as MapValue).map).map, (pair) => array(pair, (item) => valueToJson(item, level + 2))) });
    case "record": {
      const { record, fields } = value as RecordValue;
      return object({ record: quote(record), fields: array(fields, ([name, item]) => `[${quote(name)},${inner(item)}]`) });
    }
    case "object": {
      const { object: kind, items } = value as Container;
      return object({ object: quote(kind), items: array(items, inner) });
    }
    default:
      throw new EncodeError(`${String(value)} is not a value`);
  }
}

function intToJson(n: bigint): string {
  if (!isInt64(n)) throw new EncodeError(`${n} is an integer of more than 64 bits`);
  return n <= EXACT_MAX && n >= -EXACT_MAX ? String(n) : object({ int: `"${n}"` });
}

/** Writes a double. A whole one is marked, so that it differs from an integer. */
function numberToJson(n: number): string {
  if (!Number.isFinite(n)) return object({ num: `"${n}"` });
  if (Object.is(n, -0)) return object({ num: '"-0"' });
  return Number.isInteger(n) ? object({ num: String(n) }) : String(n);
}

function structureToJson(given: Structure, inner: (item: Value) => string): string {
  const value = structure(given);
  if (typeof value === "boolean") return String(value);
  if ("atom" in (value as object)) return object({ atom: quote((value as Atom).atom) });
  const { term, args, namespace, negated, annots, annotTail } = value as Structure;
  return object({
    term: quote(term),
    args: some(args, inner),
    namespace: optional(namespace, quote),
    negated: negated ? "true" : undefined,
    annots: some(annots, inner),
    annot_tail: optional(annotTail, variableToJson),
  });
}

const variableToJson = ({ var: name, slot }: Variable): string => object({ var: quote(name), slot: String(slot) });

const userToJson = (user: readonly (readonly [string, Value])[] | undefined): string | undefined =>
  some(user, ([name, value]) => `[${quote(name)},${valueToJson(value)}]`);

function aidToJson(aid: Aid, level = 0): string {
  if (level > RESOLVER_LEVELS_MAX) throw new EncodeError("resolvers nested too deeply");
  if (aid.name + aid.platform === "") throw new EncodeError("agent without a name");
  const full = aid.toString();
  const isName = Aid.parse(full)?.equals(aid) === true;
  if (isName && aid.isPlain) return quote(full);
  return object({
    name: quote(isName ? full : aid.name),
    platform: isName ? undefined : quote(aid.platform),
    addresses: some(aid.addresses, quote),
    resolvers: some(aid.resolvers, (resolver) => aidToJson(resolver, level + 1)),
    user: userToJson(aid.user),
  });
}

/**
 * Encodes a message as JSON.
 *
 * @throws {@link EncodeError} if a part of it cannot be encoded.
 */
export function messageToJson(message: Message): string {
  checkTexts(message);
  const isNobody = message.sender.name + message.sender.platform === "";
  const aids = (list: readonly Aid[] | undefined): string | undefined => some(list, (aid) => aidToJson(aid));
  return object({
    performative: quote(message.performative),
    sender: isNobody ? undefined : aidToJson(message.sender),
    receivers: aids(message.receivers),
    content: message.content === null ? undefined : valueToJson(message.content),
    reply_to: aids(message.replyTo),
    language: optional(message.language, quote),
    encoding: optional(message.encoding, quote),
    ontology: optional(message.ontology, quote),
    protocol: optional(message.protocol, quote),
    conversation_id: optional(message.conversationId, quote),
    reply_with: optional(message.replyWith, quote),
    in_reply_to: optional(message.inReplyTo, quote),
    reply_by_ms: optional(message.replyByMs, String),
    user: userToJson(message.user),
  });
}

// ---- Reading

/** Parses JSON text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed(`malformed JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isObject(json: Json | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function isText(json: Json | undefined): json is string {
  return typeof json === "string";
}

function arrayOf<T>(json: Json, what: string, read: (item: Json) => T): T[] {
  if (!Array.isArray(json)) throw malformed(`expected ${what}`);
  return json.map(read);
}

function textFrom(json: Json, what: string): string {
  if (!isText(json)) throw malformed(`expected ${what}`);
  return json;
}

/** Decodes a value from parsed JSON. A number without a fraction becomes an integer. */
export function valueFromJson(source: unknown, level = 0): Value {
  const json = source as Json;
  if (level > VALUE_LEVELS_MAX) throw new DecodeError("too-deep", `values nested deeper than ${VALUE_LEVELS_MAX} levels`);
  if (typeof json === "number") return Number.isSafeInteger(json) && !Object.is(json, -0) ? BigInt(json) : json;
  if (json === null || typeof json !== "object") return json;
  const inner = (item: Json): Value => valueFromJson(item, level + 1);
  if (Array.isArray(json)) return json.map(inner);
  const kind = Object.keys(json).find((name) => name in READERS);
  for (const name of Object.keys(json)) {
    if (!(name in READERS) && !PARTS.has(name)) throw malformed(`unknown member ${JSON.stringify(name)} in a value`);
  }
  const reader = kind === undefined ? undefined : READERS[kind];
  if (kind === undefined || reader === undefined) throw malformed("object is not a value");
  for (const name of Object.keys(json)) {
    if (name !== kind && !reader.parts.includes(name)) throw malformed("conflicting members in a value");
  }
  return reader.read(json, inner, level);
}

interface ObjectReader {
  /** Members that may accompany the one that names the kind. */
  readonly parts: readonly string[];
  read(json: JsonObject, inner: (item: Json) => Value, level: number): Value;
}

const PARTS = new Set(["args", "namespace", "negated", "annots", "annot_tail", "tail", "slot", "fields", "items"]);

const READERS: Readonly<Record<string, ObjectReader>> = {
  __proto__: null as never,
  int: { parts: [], read: ({ int }) => intFrom(int as Json) },
  num: { parts: [], read: ({ num }) => numberFrom(num as Json) },
  bytes: { parts: [], read: ({ bytes }) => fromHex(textFrom(bytes as Json, "hexadecimal digits")) },
  atom: { parts: [], read: ({ atom: name }) => atom(textFrom(name as Json, "an atom's name")) },
  map: {
    parts: [],
    read: ({ map: pairs }, _inner, level) => map(arrayOf(pairs as Json, "pairs", (pair) => pairFrom(pair, level + 2))),
  },
  term: { parts: ["args", "namespace", "negated", "annots", "annot_tail"], read: termFrom },
  list: {
    parts: ["tail"],
    read: ({ list, tail }, inner) => openList(arrayOf(list as Json, "an array", inner), tail === undefined ? [] : inner(tail)),
  },
  var: { parts: ["slot"], read: (json) => variableFrom(json) },
  record: {
    parts: ["fields"],
    read: ({ record, fields }, _inner, level) => ({
      record: textFrom(record as Json, "a record's name"),
      fields: fieldsFrom(fields ?? [], level + 1),
    }),
  },
  object: {
    parts: ["items"],
    read: ({ object: kind, items }, inner) => containerFrom(kind as Json, arrayOf(items ?? [], "an array", inner)),
  },
};

function intFrom(json: Json): bigint {
  const text = textFrom(json, "an integer as text");
  if (!/^[+-]?\d{1,20}$/.test(text)) throw malformed(`${JSON.stringify(text)} is not an integer`);
  const n = BigInt(text.replace(/^\+/, ""));
  if (!isInt64(n)) throw malformed(`${text} is not an integer of 64 bits`);
  return n;
}

function numberFrom(json: Json): number {
  if (typeof json === "number") return json;
  switch (json) {
    case "NaN":
      return NaN;
    case "Infinity":
      return Infinity;
    case "-Infinity":
      return -Infinity;
    case "-0":
      return -0;
    default:
      throw malformed("expected a number");
  }
}

function pairFrom(json: Json, level: number): readonly [Value, Value] {
  if (!Array.isArray(json) || json.length !== 2) throw malformed("expected [key, value]");
  return [valueFromJson(json[0], level), valueFromJson(json[1], level)];
}

function fieldsFrom(json: Json, level: number): (readonly [string, Value])[] {
  return arrayOf(json, "an array of [name, value]", (pair) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw malformed("expected [name, value]");
    return [textFrom(pair[0] as Json, "a name"), valueFromJson(pair[1], level)];
  });
}

function termFrom(json: JsonObject, inner: (item: Json) => Value): Value {
  const { term, args, namespace, negated, annots, annot_tail: tail } = json;
  if (negated !== undefined && typeof negated !== "boolean") throw malformed("expected a boolean for negated");
  const annotTail = tail === undefined ? undefined : variableOf(inner(tail));
  return structure({
    term: textFrom(term as Json, "a functor"),
    args: arrayOf(args ?? [], "arguments", inner),
    ...(namespace !== undefined && namespace !== "default" && { namespace: textFrom(namespace, "a namespace") }),
    ...(negated && { negated }),
    ...(annots !== undefined && { annots: arrayOf(annots, "annotations", inner) }),
    ...(annotTail && { annotTail }),
  });
}

function variableOf(value: Value): Variable {
  if (kindOf(value) !== "var") throw malformed("annotation tail is not a variable");
  return value as Variable;
}

function variableFrom({ var: name, slot }: JsonObject): Variable {
  const number = slot ?? 0;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 0 || number > 0xffff_ffff) {
    throw malformed("variable slot beyond 32 bits");
  }
  return { var: textFrom(name as Json, "a variable's name"), slot: number };
}

function containerFrom(kind: Json, items: Value[]): Container {
  if (kind !== "map" && kind !== "set" && kind !== "queue" && kind !== "priority-queue") {
    throw malformed(`unknown container ${JSON.stringify(kind)}`);
  }
  if (kind === "map" && items.length % 2 !== 0) throw malformed("key without a value");
  return container(kind, items);
}

function aidFrom(json: Json, level = 0): Aid {
  if (level > RESOLVER_LEVELS_MAX) throw new DecodeError("too-deep", "resolvers nested too deeply");
  if (isText(json)) return named(json);
  if (!isObject(json)) throw malformed("expected an agent: its name, or an object");
  const { name, platform, addresses, resolvers, user, ...others } = json;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw malformed(`unknown member ${JSON.stringify(unknown)} in an agent`);
  if (!isText(name)) throw malformed("agent without a name");
  const contact = {
    addresses: arrayOf(addresses ?? [], "addresses", (address) => textFrom(address, "an address")),
    resolvers: arrayOf(resolvers ?? [], "agents", (resolver) => aidFrom(resolver, level + 1)),
    user: fieldsFrom(user ?? [], 0),
  };
  const home = platform === undefined || platform === null ? "" : textFrom(platform, "a platform");
  const isSaid = platform !== undefined && platform !== null && (home !== "" || name !== "");
  const aid = isSaid ? new Aid(name, home) : named(name);
  return new Aid(aid.name, aid.platform, contact);
}

function named(text: string): Aid {
  const aid = Aid.parse(text);
  if (aid === undefined) throw malformed(`invalid agent name ${JSON.stringify(text)}`);
  return aid;
}

const TEXT_MEMBERS = {
  language: "language",
  encoding: "encoding",
  ontology: "ontology",
  protocol: "protocol",
  conversation_id: "conversationId",
  reply_with: "replyWith",
  in_reply_to: "inReplyTo",
} as const;

/**
 * Decodes a message from parsed JSON.
 *
 * @throws {@link DecodeError} if it is not a message.
 */
export function messageFromJson(source: unknown): Message {
  const json = source as Json;
  if (!isObject(json)) throw malformed("expected a message object");
  if (!isText(json["performative"])) throw malformed("message without a performative");
  const aids = (list: Json): Aid[] => arrayOf(list, "an array of agents", (aid) => aidFrom(aid));
  const message: { -readonly [Member in keyof Message]: Message[Member] } = {
    performative: json["performative"],
    sender: Aid.NOBODY,
    receivers: [],
    content: null,
  };
  for (const [name, value] of Object.entries(json)) {
    if (name === "performative") continue;
    else if (name === "sender") message.sender = aidFrom(value);
    else if (name === "receivers") message.receivers = aids(value);
    else if (name === "content") message.content = valueFromJson(value);
    else if (name === "reply_to") {
      if (aids(value).length > 0) message.replyTo = aids(value);
    } else if (name === "reply_by_ms") {
      if (value !== null) message.replyByMs = wholeNumber(value);
    } else if (name === "user") {
      const user = fieldsFrom(value, 0);
      if (user.length > 0) message.user = user;
    } else if (Object.hasOwn(TEXT_MEMBERS, name)) {
      if (value !== null) message[TEXT_MEMBERS[name as keyof typeof TEXT_MEMBERS]] = textFrom(value, name);
    } else throw malformed(`unknown member ${JSON.stringify(name)} in a message`);
  }
  return message;
}

/** Reads an unsigned integer. Values beyond 2^53 are capped. */
function wholeNumber(json: Json): number {
  if (typeof json !== "number" || !Number.isInteger(json) || json < 0) throw malformed("expected a non-negative integer");
  return Math.min(json, Number.MAX_SAFE_INTEGER);
}

/** Encodes bytes as hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  let digits = "";
  for (const byte of bytes) digits += byte.toString(16).padStart(2, "0");
  return digits;
}

/**
 * Decodes pairs of hexadecimal digits.
 *
 * @throws {@link DecodeError} if the text is not hexadecimal.
 */
export function fromHex(digits: string): Uint8Array {
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) throw malformed("expected pairs of hexadecimal digits");
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}
