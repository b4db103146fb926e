/**
 * Requests to the agents `df` and `ams` of a platform in memory, and their answers (FIPA00023 6.3). Their forms are
 * those of a node's: docs/reference/fipa-agent-management.md. A differential test compares them.
 */
import { Aid } from "../acl/aid.js";
import { replyTo, type Message } from "../acl/message.js";
import { atom, isAtom, isMap, isRecord, isTerm, record, term, textOf, type RecordValue, type Value } from "../acl/value.js";
import { elementsOf, ONTOLOGY } from "../agents/directory.js";

/** Performatives of answers. They are not answered: two agents could answer each other for ever. */
export const ANSWERS: ReadonlySet<string> = new Set(["agree", "failure", "inform", "not-understood", "refuse"]);
/** Names of topics and groups, and of one member of a group. */
export const CASTS = /^(topic|group|any):/;
/** Longest name of a topic or group, behind that. */
const TOPIC_NAME_BYTES_MAX = 240;
const IDENTIFYING = ["iota", "any", "all"];
const OLDER_NAMES: Readonly<Record<string, string>> = { protocol: "protocols", ontology: "ontologies", language: "languages" };

/** Reason of a negative answer: its performative, a word, and the word's arguments. */
export class NegativeReason extends Error {
  readonly value: Value;

  constructor(
    readonly performative: "not-understood" | "refuse" | "failure",
    word: string,
    ...args: readonly string[]
  ) {
    super(word);
    this.value = args.length > 0 ? term(word, ...args) : atom(word);
  }
}

/** Encodes an agent as an atom. */
export function agentAtom(agent: Aid): Value {
  return atom(agent.toString());
}

/** Returns true for the name of a topic or group. */
export function isJoinable(name: string): boolean {
  const [, own = ""] = /^(?:topic|group):(.*)$/s.exec(name) ?? [];
  return own !== "" && new TextEncoder().encode(own).length <= TOPIC_NAME_BYTES_MAX;
}

/** Returns the action of sending a message to this agent. */
export function sending(message: Message, to: Aid): Value {
  return term("send", agentAtom(to), atom(message.performative), message.content);
}

/** Encodes an agent identifier, with its platform. */
export function fullIdentifier(agent: Aid, platform: string): RecordValue {
  return record("agent-identifier", { name: agent.platform === "" ? `${agent.name}@${platform}` : agent.toString() });
}

/** Reads an agent identifier, or a name alone. Agents of this platform are named locally. */
export function identifier(value: Value, home: string): Aid | undefined {
  let text = textOf(value);
  if (text === undefined) {
    try {
      text = new Parameters(value, "agent-identifier", ["name", "addresses", "resolvers"]).text("name");
    } catch {
      return undefined;
    }
  }
  const aid = text === undefined ? undefined : Aid.parse(text);
  return aid?.platform === home ? Aid.of(aid.name) : aid;
}

/** A request: its action, the function in that with its arguments, and the question if it was one. */
export interface ServiceRequest {
  readonly action: Value;
  readonly function: string;
  readonly args: readonly Value[];
  readonly question?: Value;
}

const isNamed = (value: Value, ...names: readonly string[]): boolean => isTerm(value) && value.args.length === 2 && names.includes(value.term.toLowerCase());
const argument = (value: Value, at: number): Value => (isTerm(value) ? (value.args[at] ?? null) : null);

/** Reads a request, or a question for the result of one. */
export function readRequest(message: Message, actor: RecordValue, isQuestion: boolean): ServiceRequest {
  const { content } = message;
  if (typeof content === "string") throw new NegativeReason("not-understood", "unsupported-value", "language");
  const items = Array.isArray(content) ? (content as readonly Value[]) : [content];
  let expression: Value = items[0] ?? null;
  if (items.length !== 1) throw new NegativeReason("not-understood", "unrecognised-value", "content");
  let question: Value | undefined;
  if (isQuestion && isNamed(expression, ...IDENTIFYING)) [question, expression] = [expression, argument(expression, 1)];
  if (isQuestion && isNamed(expression, "result")) expression = argument(expression, 0);
  const action = isNamed(expression, "action") ? expression : term("action", actor, expression);
  const called = argument(action, 1);
  const asked = { action, ...(question !== undefined && { question }) };
  if (isRecord(called)) return { ...asked, function: called.record.toLowerCase(), args: called.fields.map(([, value]) => value) };
  if (isAtom(called)) return { ...asked, function: called.atom.toLowerCase(), args: [] };
  if (isTerm(called)) return { ...asked, function: called.term.toLowerCase(), args: called.args };
  throw new NegativeReason("not-understood", "unrecognised-value", "content");
}

/** Returns the template of a search, and the number of results that are wanted. */
export function searchArguments({ args }: ServiceRequest, type: string): { readonly template: Value; readonly most: number | undefined } {
  if (args.length === 0) throw new NegativeReason("refuse", "missing-argument", type);
  if (args.length > 2) throw new NegativeReason("refuse", "unexpected-argument-count");
  return { template: args[0] as Value, most: resultsMax(args[1]) };
}

/** Returns the only argument of a request. */
export function onlyArgument({ args }: ServiceRequest, type: string): Value {
  if (args.length === 0) throw new NegativeReason("refuse", "missing-argument", type);
  if (args.length > 1) throw new NegativeReason("refuse", "unexpected-argument-count");
  return args[0] as Value;
}

/** Parameters of an object, by name. */
export class Parameters {
  readonly #named = new Map<string, Value>();

  /** Reads an object of this type with these parameters only. */
  constructor(
    value: Value,
    readonly type: string,
    allowed: readonly string[],
  ) {
    if (isRecord(value) && value.record.toLowerCase() !== type) throw new NegativeReason("refuse", "unexpected-argument", value.record);
    const isBare = isAtom(value) && value.atom.toLowerCase() === type;
    if (!isRecord(value) && !isMap(value) && !isBare) throw new NegativeReason("refuse", "missing-argument", type);
    const fields: readonly (readonly [Value, Value])[] = isRecord(value) ? value.fields : isMap(value) ? value.map : [];
    for (const [key, item] of fields) {
      const lower = (textOf(key) ?? "").toLowerCase();
      const name = OLDER_NAMES[lower] ?? lower;
      if (!allowed.includes(name) && !name.startsWith("x-")) throw new NegativeReason("refuse", "unexpected-parameter", type, name);
      if (item !== null) this.#named.set(name, item);
    }
  }

  /** Reads a parameter; undefined if it is missing. */
  optional<T>(name: string, read: (value: Value) => T | undefined): T | undefined {
    const given = this.#named.get(name);
    if (given === undefined) return undefined;
    const value = read(given);
    if (value === undefined) throw new NegativeReason("refuse", "unrecognised-parameter-value", this.type, name);
    return value;
  }

  /** Reads a text or an atom. */
  text(name: string): string | undefined {
    return this.optional(name, textOf);
  }

  /** Reads a set of texts. */
  texts(name: string): readonly string[] {
    const read = (value: Value): string[] | undefined => {
      const found = elementsOf(value).map(textOf);
      return found.includes(undefined) ? undefined : (found as string[]);
    };
    return this.optional(name, read) ?? [];
  }

  /** Returns the elements of a set. */
  all(name: string): readonly Value[] {
    return elementsOf(this.#named.get(name));
  }
}

/** Reads the number of results that search constraints allow; undefined for all. */
function resultsMax(constraints: Value | undefined): number | undefined {
  if (constraints === undefined) return undefined;
  const given = new Parameters(constraints, "search-constraints", ["max-depth", "max-results", "search-id", "timeout"]);
  const wanted = given.optional("max-results", (value) => (typeof value === "bigint" || typeof value === "number" ? Number(value) : undefined));
  return wanted !== undefined && wanted >= 0 ? wanted : undefined;
}

/** Answers to one message, sent as they are made. */
export class Answers {
  constructor(
    readonly message: Message,
    readonly me: string,
    readonly send: (message: Message) => void,
  ) {}

  /** Checks that the message names this ontology or none. */
  checkOntology(): void {
    const { ontology } = this.message;
    if (ontology !== undefined && ontology.toLowerCase() !== ONTOLOGY) throw new NegativeReason("not-understood", "unsupported-value", "ontology");
  }

  agree(asked: ServiceRequest): void {
    this.say("agree", [asked.action, true]);
  }

  /** Reports what was done, or found. */
  report(asked: ServiceRequest, result: Value | undefined): void {
    this.say("inform", [result === undefined ? term("done", asked.action) : finding(asked, result)]);
  }

  /** Answers with a reason. Other errors are thrown again. */
  negative(asked: ServiceRequest | undefined, reason: unknown): void {
    if (!(reason instanceof NegativeReason)) throw reason;
    this.say(reason.performative, [asked?.action ?? this.ownSending(), reason.value]);
  }

  /** Returns the action of sending this message, as answers quote it. */
  ownSending(): Value {
    return term("action", agentAtom(this.message.sender), sending(this.message, Aid.of(this.me)));
  }

  say(performative: string, content: Value): void {
    this.send(replyTo(this.message, this.me, performative, content));
  }
}

/** Returns the proposition that answers a request or question. */
export function finding({ action, question }: ServiceRequest, value: Value): Value {
  return question === undefined ? term("result", action, value) : term("=", question, value);
}

/** Encodes a set, also an empty one. */
export function fullSet(items: readonly Value[]): Value {
  return items.length > 0 ? term("set", ...items) : atom("set");
}
