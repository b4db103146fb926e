/** The head of a message: sender, receivers, and all parameters but the content. */
import { Aid } from "../aid.js";
import { DecodeError, EncodeError } from "../errors.js";
import { MARKS_MAX, RESOLVER_LEVELS_MAX } from "../limits.js";
import { checkTexts, KQML_PERFORMATIVES, PERFORMATIVES, type Message } from "../message.js";
import type { Value } from "../value.js";
import { Bytes, keyOf, keyOfText, utf8Length } from "./bytes.js";
import { knownText } from "./known.js";
import { ReceiverTable, SenderTable } from "./dictionary.js";
import { readValue } from "./read-value.js";
import { Reader } from "./reader.js";
import { ITEM } from "./tags.js";
import { itemInFull, textInFull } from "./writer.js";
import { writeBody } from "./write-value.js";

/** Performatives by code. Others are written by name. */
const CODES: readonly string[] = [...PERFORMATIVES, ...KQML_PERFORMATIVES];
const PLACES: ReadonlyMap<string, number> = new Map(CODES.map((name, place) => [name, place]));
const NAMED = 0x3f;
const RECEIVERS = 0x40;
const MASK = 0x80;

/** Parameters in the order of their bits, and in the order of writing. */
const BITS = { conversationId: 1, protocol: 2, replyWith: 4, inReplyTo: 8, ontology: 16, language: 32, replyBy: 64, replyTo: 128, encoding: 256, user: 512 } as const;
const IDS = ["conversationId", "replyWith", "inReplyTo"] as const;
const NAMES = ["protocol", "ontology", "language", "encoding"] as const;
const TEXTS = [...IDS, ...NAMES] as const;

/** Maximum memory of an agent besides its bytes. */
const AGENT_BYTES = 64;
/** Memory of a user-defined parameter. */
const PARAMETER_BYTES = 32;

/** Dictionary of a connection's sender. */
export class SenderDictionary {
  readonly #agents: SenderTable;
  readonly #items: SenderTable;
  /** Texts seen once, mostly conversation identifiers. They enter the dictionary when they recur. */
  readonly #once = new Set<string>();

  constructor(readonly remember: number) {
    this.#agents = new SenderTable(remember);
    this.#items = new SenderTable(remember);
  }

  /** Writes an agent. */
  agent(out: Bytes, agent: Aid): void {
    const text = textOfAgent(agent);
    const parts = text === undefined ? partsOfAgent(agent) : undefined;
    if (this.remember > 0) {
      // No agent that is written as text ends in `@`.
      const key = text ?? `${keyOf(parts as Uint8Array)}@`;
      const known = this.#agents.find(key);
      if (known !== undefined) return out.number(known * 4);
      const number = this.#agents.remember(key, agentBytes(agent));
      if (number !== undefined) out.number(number * 4 + ITEM.REMEMBER);
    }
    if (text !== undefined) textInFull(out, text);
    else itemInFull(out, ITEM.STRUCTURE, parts as Uint8Array);
  }

  /** Writes a text. One that may not recur enters the dictionary the second time. */
  text(out: Bytes, text: string, isLasting: boolean): void {
    const known = isLasting ? knownText(text) : undefined;
    if (known !== undefined) out.number(known * 8 + 4);
    else if (!(isLasting || this.#wasSaidOnce(text)) || !this.#isKnown(out, `${ITEM.TEXT}${keyOfText(text)}`, utf8Length(text))) textInFull(out, text);
  }

  #wasSaidOnce(text: string): boolean {
    if (this.remember === 0) return false;
    if (this.#once.has(text)) return true;
    if (this.#once.size === MARKS_MAX) this.#once.clear();
    this.#once.add(text);
    return false;
  }

  /** Writes a text or a shape. */
  item(out: Bytes, kind: number, bytes: Uint8Array): void {
    if (!this.#isKnown(out, `${kind}${keyOf(bytes)}`, bytes.length)) itemInFull(out, kind, bytes);
  }

  /**
   * Writes the dictionary number of a known item and returns true. Otherwise announces a new entry, and returns false.
   */
  #isKnown(out: Bytes, key: string, bytes: number): boolean {
    if (this.remember === 0) return false;
    const known = this.#items.find(key);
    if (known !== undefined) {
      out.number(known * 8);
      return true;
    }
    const number = this.#items.remember(key, bytes);
    if (number !== undefined) out.number(number * 4 + ITEM.REMEMBER);
    return false;
  }
}

/** An item: a text or a shape. */
export type DictionaryItem = { readonly text: string } | { readonly shape: Uint8Array };

/** Dictionary of a connection's receiver. */
export class ReceiverDictionary {
  readonly #agents: ReceiverTable<Aid>;
  readonly #items: ReceiverTable<DictionaryItem>;

  constructor(remember: number) {
    this.#agents = new ReceiverTable(remember);
    this.#items = new ReceiverTable(remember);
  }

  /** Reads an agent. */
  agent(r: Reader): Aid {
    const { at } = r;
    const number = r.number();
    const place = Math.floor(number / 4);
    if (number % 4 === ITEM.KNOWN) return this.#agents.recall(place, at);
    if (number % 4 !== ITEM.REMEMBER) return agentOf(r, number);
    const agent = agentOf(r, r.number());
    this.#agents.remember(place, agent, agentBytes(agent), at);
    return agent;
  }

  /** Reads a text. */
  text(r: Reader): string {
    const { at } = r;
    const item = this.item(r);
    if ("text" in item) return item.text;
    throw new DecodeError("malformed", "shape instead of a text", at);
  }

  /** Reads an item. */
  item(r: Reader): DictionaryItem {
    const { at } = r;
    const number = r.number();
    const place = Math.floor(number / 4);
    switch (number % 4) {
      case ITEM.KNOWN:
        return number % 8 === 4 ? { text: r.knownText((place - 1) / 2) } : this.#items.recall(place / 2, at);
      case ITEM.REMEMBER: {
        const inner = r.number();
        if (inner % 4 !== ITEM.TEXT && inner % 4 !== ITEM.STRUCTURE) throw new DecodeError("malformed", "dictionary entry for a known item", at);
        const told = readTold(r, inner);
        this.#items.remember(place, told.item, told.bytes, at);
        return told.item;
      }
      default:
        return readTold(r, number).item;
    }
  }
}

/** Reads the rest of an item that is written in full. */
function readTold(r: Reader, number: number): { readonly item: DictionaryItem; readonly bytes: number } {
  const bytes = Math.floor(number / 4);
  if (number % 4 === ITEM.STRUCTURE) return { item: { shape: r.take(bytes).slice() }, bytes };
  r.charge(bytes + 16);
  return { item: { text: r.text(bytes) }, bytes };
}

/** Writes the head of a message. */
export function writeHead(out: Bytes, message: Message, said: SenderDictionary): void {
  checkTexts(message);
  const place = PLACES.get(message.performative) ?? -1;
  const { receivers, replyByMs, replyTo, user } = message;
  let mask = 0;
  for (const name of TEXTS) if (message[name] !== undefined) mask |= BITS[name];
  if (replyByMs !== undefined) mask |= BITS.replyBy;
  if (replyTo && replyTo.length > 0) mask |= BITS.replyTo;
  if (user && user.length > 0) mask |= BITS.user;
  out.byte((place < 0 ? NAMED : place) | (receivers.length === 1 ? 0 : RECEIVERS) | (mask === 0 ? 0 : MASK));
  if (place < 0) said.text(out, message.performative, true);
  said.agent(out, message.sender);
  if (receivers.length !== 1) out.number(receivers.length);
  receivers.forEach((receiver) => said.agent(out, receiver));
  if (mask === 0) return;
  out.number(mask);
  for (const name of IDS) if (message[name] !== undefined) said.text(out, message[name], false);
  for (const name of NAMES) if (message[name] !== undefined) said.text(out, message[name], true);
  if (replyByMs !== undefined) out.number(wholeMs(replyByMs));
  if (mask & BITS.replyTo) {
    out.number(replyTo?.length ?? 0);
    replyTo?.forEach((agent) => said.agent(out, agent));
  }
  if (mask & BITS.user) {
    out.number(user?.length ?? 0);
    user?.forEach(([name, value]) => {
      said.text(out, name, true);
      writeUserValue(out, value);
    });
  }
}

function wholeMs(ms: number): number {
  if (!Number.isSafeInteger(ms) || ms < 0) throw new EncodeError(`invalid time ${ms}: expected whole milliseconds since 1970`);
  return ms;
}

/** Writes a value as a body with its length, so that a forwarder need not decode it. */
function writeUserValue(out: Bytes, value: Value): void {
  const body = writeBody(value);
  out.number(body.length);
  out.bytes(body);
}

/** Reads a head. The content is null. */
export function readHead(r: Reader, heard: ReceiverDictionary): Message {
  const act = r.byte();
  const code = act & NAMED;
  const performative = code === NAMED ? heard.text(r) : (CODES[code] ?? r.fail("unknown performative"));
  const sender = heard.agent(r);
  const receivers = act & RECEIVERS ? readAgents(r, heard) : [heard.agent(r)];
  const parameters = act & MASK ? readParameters(r, heard) : {};
  return { performative, sender, receivers, content: null, ...parameters };
}

function readAgents(r: Reader, heard: ReceiverDictionary): Aid[] {
  const count = r.count(1);
  r.charge(count * AGENT_BYTES);
  return Array.from({ length: count }, () => heard.agent(r));
}

function readParameters(r: Reader, heard: ReceiverDictionary): Partial<Message> {
  const mask = r.number();
  if (mask === 0 || mask >= 2 * BITS.user) r.fail("unknown parameters");
  const read: { -readonly [Member in keyof Message]?: Message[Member] } = {};
  for (const name of TEXTS) if (mask & BITS[name]) read[name] = heard.text(r);
  if (mask & BITS.replyBy) read.replyByMs = r.number();
  if (mask & BITS.replyTo) {
    const agents = readAgents(r, heard);
    if (agents.length > 0) read.replyTo = agents;
  }
  if (mask & BITS.user) {
    const user = readUser(r, () => heard.text(r));
    if (user.length > 0) read.user = user;
  }
  return read;
}

function readUser(r: Reader, name: () => string): (readonly [string, Value])[] {
  const count = r.count(2);
  r.charge(count * PARAMETER_BYTES);
  return Array.from({ length: count }, () => [name(), readUserValue(r)] as const);
}

function readUserValue(r: Reader): Value {
  const body = r.take(r.count(1));
  const inner = Reader.ofBody(body, { ...r.limits, budgetBytes: r.limits.budgetBytes - r.spentBytes });
  const value = readValue(inner);
  inner.end();
  r.charge(inner.spentBytes);
  return value;
}

/** Estimates the bytes of an agent in full. Both ends of a connection compute the same number. */
function agentBytes(agent: Aid): number {
  const own = utf8Length(agent.name) + utf8Length(agent.platform) + AGENT_BYTES;
  if (agent.isPlain) return own;
  const addresses = agent.addresses.reduce((sum, address) => sum + utf8Length(address) + AGENT_BYTES, 0);
  const parameters = new Bytes();
  userParts(parameters, agent.user);
  return own + addresses + agent.resolvers.length * AGENT_BYTES + parameters.length;
}

/** Returns the text form of an agent; undefined if it has more than a name. */
function textOfAgent(agent: Aid): string | undefined {
  const { name, platform } = agent;
  return agent.isPlain && !platform.includes("@") && !(platform === "" && name.includes("@")) ? agent.toString() : undefined;
}

function partsOfAgent(agent: Aid): Uint8Array {
  const parts = new Bytes();
  agentParts(parts, agent, 0);
  return parts.view;
}

function agentParts(out: Bytes, agent: Aid, level: number): void {
  out.text(agent.name);
  out.text(agent.platform);
  out.number(agent.addresses.length);
  agent.addresses.forEach((address) => out.text(address));
  const resolvers = level < RESOLVER_LEVELS_MAX ? agent.resolvers : [];
  out.number(resolvers.length);
  resolvers.forEach((resolver) => agentParts(out, resolver, level + 1));
  out.number(agent.user.length);
  userParts(out, agent.user);
}

function userParts(out: Bytes, user: readonly (readonly [string, Value])[]): void {
  for (const [name, value] of user) {
    out.text(name);
    writeUserValue(out, value);
  }
}

/** Reads the rest of an agent. */
function agentOf(r: Reader, number: number): Aid {
  const length = Math.floor(number / 4);
  if (number % 4 === ITEM.TEXT) {
    const text = r.text(length);
    const at = text.lastIndexOf("@");
    if (at < 0) return new Aid(text, "");
    if (at === text.length - 1) r.fail("agent name ends in @");
    return new Aid(text.slice(0, at), text.slice(at + 1));
  }
  if (number % 4 !== ITEM.STRUCTURE) r.fail("dictionary entry for a known item");
  const end = r.at + length;
  const agent = readParts(r, 0);
  return r.at === end ? agent : r.fail("agent of the wrong length");
}

function readParts(r: Reader, level: number): Aid {
  if (level > RESOLVER_LEVELS_MAX) r.fail("resolvers nested too deeply");
  const [name, platform] = [r.plainText(), r.plainText()];
  const list = <T>(leastBytes: number, read: () => T): T[] => {
    const count = r.count(leastBytes);
    r.charge(count * AGENT_BYTES);
    return Array.from({ length: count }, read);
  };
  const addresses = list(1, () => r.plainText());
  const resolvers = list(4, () => readParts(r, level + 1));
  return new Aid(name, platform, { addresses, resolvers, user: readUser(r, () => r.plainText()) });
}
