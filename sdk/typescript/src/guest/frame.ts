/** Frames of messages and templates for guests (docs/design/wasm-agents.md, Frames). */
import { Aid } from "../acl/aid.js";
import { PERFORMATIVES, type Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { Output } from "./bytes.js";
import { TEMPLATE_BYTES_MAX, TEMPLATE_PARTS_MAX } from "./limits.js";
import { Reader, readValue, writeValue } from "./value.js";

/** Performative bytes: a name in a field, and (in templates) any performative. */
const NAMED = 254;
const ANY = 255;

const enum Field {
  Sender = 1,
  Receiver,
  Content,
  ConversationId,
  ReplyWith,
  InReplyTo,
  Ontology,
  Language,
  Protocol,
  Encoding,
  ReplyBy,
  ReplyTo,
  Performative,
  User,
}

/** Text fields, by number. */
const TEXTS = [
  [Field.ConversationId, "conversationId"],
  [Field.ReplyWith, "replyWith"],
  [Field.InReplyTo, "inReplyTo"],
  [Field.Ontology, "ontology"],
  [Field.Language, "language"],
  [Field.Protocol, "protocol"],
  [Field.Encoding, "encoding"],
] as const;

/** Prefixes of topics and groups. Their names have no platform. */
const CASTS = ["topic:", "group:", "any:"];

const encoder = new TextEncoder();

function fullName(aid: Aid, platform: string): string {
  if (aid.platform !== "") return `${aid.name}@${aid.platform}`;
  return CASTS.some((cast) => aid.name.startsWith(cast)) ? aid.name : `${aid.name}@${platform}`;
}

function put(field: Field, text: string, out: Output): void {
  const bytes = encoder.encode(text);
  out.byte(field).u32(bytes.length).bytes(bytes);
}

function putValue(field: Field, value: Value, out: Output, name?: string): void {
  const at = out.byte(field).length;
  out.u32(0);
  if (name !== undefined) {
    const bytes = encoder.encode(name);
    out.u32(bytes.length).bytes(bytes);
  }
  writeValue(value, out);
  out.fillLength(at);
}

/**
 * Encodes a message: fields by number, agents with full names. Agents without a platform get this one.
 *
 * @throws {@link EncodeError} if the content nests too deeply for guests.
 */
export function messageFrame(message: Message, platform: string): Uint8Array<ArrayBuffer> {
  const out = new Output();
  const number = (PERFORMATIVES as readonly string[]).indexOf(message.performative);
  out.byte(number < 0 ? NAMED : number);
  if (!message.sender.equals(Aid.NOBODY)) put(Field.Sender, fullName(message.sender, platform), out);
  for (const receiver of message.receivers) put(Field.Receiver, fullName(receiver, platform), out);
  if (message.content !== null) putValue(Field.Content, message.content, out);
  for (const [field, name] of TEXTS) {
    const text = message[name];
    if (text !== undefined) put(field, text, out);
  }
  if (message.replyByMs !== undefined) out.byte(Field.ReplyBy).u32(8).u64(BigInt(Math.round(message.replyByMs)));
  for (const other of message.replyTo ?? []) put(Field.ReplyTo, fullName(other, platform), out);
  if (number < 0) put(Field.Performative, message.performative, out);
  for (const [name, value] of message.user ?? []) putValue(Field.User, value, out, name);
  return out.take();
}

type Writable = { -readonly [Name in keyof Message]: Message[Name] };

/**
 * Decodes a guest's message. Its sender field is ignored.
 *
 * @throws {@link DecodeError} if the bytes are invalid, or there is no receiver.
 */
export function readMessage(bytes: Uint8Array, sender: Aid): Message {
  const reader = new Reader(bytes);
  let performative: string | undefined = PERFORMATIVES[reader.byte()];
  const [receivers, replyTo, user]: [Aid[], Aid[], [string, Value][]] = [[], [], []];
  const message: Writable = { performative: "inform", sender, receivers, content: null };
  while (!reader.isDone) {
    const field = reader.byte() as Field;
    const at = reader.bytes();
    const name = TEXTS.find(([number]) => number === field)?.[1];
    if (name !== undefined) message[name] = reader.utf8(at);
    else if (field === Field.Receiver) receivers.push(agent(at, reader));
    else if (field === Field.Content) message.content = readValue(at);
    else if (field === Field.ReplyTo) replyTo.push(agent(at, reader));
    else if (field === Field.Performative) performative = reader.utf8(at);
    else if (field === Field.ReplyBy) message.replyByMs = replyBy(at, reader);
    else if (field === Field.User) user.push(userParameter(at));
    // Ignored, because the sender is known.
    else if (field !== Field.Sender) throw reader.error("unknown field in a message");
  }
  if (performative === undefined) throw reader.error("invalid number of a performative", 0);
  if (receivers.length === 0) throw reader.error("message without a receiver");
  message.performative = performative;
  if (replyTo.length > 0) message.replyTo = replyTo;
  if (user.length > 0) message.user = user;
  return message;
}

function replyBy(bytes: Uint8Array, reader: Reader): number {
  if (bytes.length !== 8) throw reader.error("reply-by is not eight bytes long");
  return Number(BigInt.asUintN(64, new Reader(bytes).i64()));
}

function userParameter(bytes: Uint8Array): [string, Value] {
  const parts = new Reader(bytes);
  const name = parts.text();
  return [name, readValue(parts.take(parts.left))];
}

/** Parses an agent's name. Undefined if a part of it is empty. */
export function agentNamed(name: string): Aid | undefined {
  const at = name.indexOf("@");
  const [local, platform] = at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)];
  return local === "" || (at >= 0 && platform === "") ? undefined : new Aid(local, platform);
}

function agent(bytes: Uint8Array, reader: Reader): Aid {
  const aid = agentNamed(reader.utf8(bytes));
  if (!aid) throw reader.error("invalid agent name");
  return aid;
}

/** Returns true if a message matches. */
export type MessageMatcher = (message: Message) => boolean;

/**
 * Decodes a guest's template for messages on this platform. An empty one matches every message.
 *
 * @throws {@link DecodeError} if the bytes are invalid or too many.
 */
export function readTemplate(bytes: Uint8Array, platform: string): MessageMatcher {
  if (bytes.length === 0) return () => true;
  const reader = new Reader(bytes);
  if (bytes.length > TEMPLATE_BYTES_MAX) throw reader.error("template too long");
  const number = reader.byte();
  const performative = PERFORMATIVES[number];
  if (performative === undefined && number !== NAMED && number !== ANY) throw reader.error("invalid number of a performative", 0);
  const parts: MessageMatcher[] = performative === undefined ? [] : [(message) => message.performative === performative];
  for (let count = 1; !reader.isDone; count++) {
    const field = reader.byte() as Field;
    const at = reader.bytes();
    if (count > TEMPLATE_PARTS_MAX) throw reader.error("template with too many parts");
    parts.push(part(field, at, reader, platform));
  }
  return (message) => parts.every((fits) => fits(message));
}

function part(field: Field, bytes: Uint8Array, reader: Reader, platform: string): MessageMatcher {
  const isSame = (one: Aid, other: Aid): boolean => one.name === other.name && (one.platform || platform) === (other.platform || platform);
  if (field === Field.Sender || field === Field.Receiver) {
    const aid = agent(bytes, reader);
    return field === Field.Sender ? ({ sender }) => isSame(sender, aid) : ({ receivers }) => receivers.some((one) => isSame(one, aid));
  }
  const wanted = reader.utf8(bytes);
  if (field === Field.Performative) return ({ performative }) => performative === wanted;
  const name = TEXTS.find(([number]) => number === field)?.[1];
  if (name === undefined || field === Field.ReplyWith || field === Field.Encoding) throw reader.error("unknown field in a template");
  return (message) => message[name] === wanted;
}
