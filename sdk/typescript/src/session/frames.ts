/** Frames of the session protocol, and their encoding: docs/design/session-protocol.md. */
import { utf8 } from "../acl/compact/bytes.js";
import { DecodeError, EncodeError } from "../acl/errors.js";
import { messageFromJson, messageToJson, parseJson } from "../acl/json.js";
import type { Message } from "../acl/message.js";
import type { Value } from "../acl/value.js";
import { MEMORY_BYTES_PER_CHARACTER } from "./limits.js";

/** The compact message codec, `compact` of `whimbrel/compact`. Programs that use JSON need not load it. */
export interface Compact {
  /** Encodes content. */
  encodeBody(content: Value): Uint8Array;
  /** Creates the sender's state of a connection. `remember` is the size of its dictionary. */
  encoder(remember: number): { /** The message, its content such bytes, behind others. */ encodeSealed(message: Message, body: Uint8Array, behind: readonly number[]): Uint8Array };
  /** Returns the bytes of a message with this encoded content. */
  messageBytes(message: Message, body: Uint8Array): number;
  /** Creates the receiver's state of a connection. `remember` is the size of its dictionary. */
  decoder(remember: number): { decode(bytes: Uint8Array): Message; /** The memory that the last message takes, about. */ readonly spentBytes: number };
}

/** Form of a connection's frames: JSON objects, or a kind with binary fields. */
export type Form = "json" | Compact;

/** Reasons of a node for ending a connection or refusing a frame. */
export const CODES = [
  "protocol",
  "version",
  "unauthorised",
  "session-gone",
  "taken-over",
  "too-long",
  "over-credit",
  "lease-over",
  "busy",
  "too-many-names",
  "stopping",
  "bad-name",
  "name-taken",
  "not-allowed",
  "too-many-agents",
  "no-agent",
  "forged-sender",
  "no-receiver",
  "bad-message",
  "bad-request",
  "not-kept",
  "too-many-kept",
  "bad-state",
  "not-movable",
  "not-yet",
  "elsewhere",
  "too-many-receivers",
] as const;

/** One of {@link CODES}. */
export type Code = (typeof CODES)[number];

/** Session that a client resumes. */
export interface Resume {
  readonly session: string;
  readonly secret: string;
  readonly received: number;
}

/** First frame of a connection: the client's credentials and wishes. */
export interface Hello {
  readonly type: "hello";
  readonly versions: readonly number[];
  readonly token: string | null;
  readonly resume: Resume | null;
  readonly lease_ms: number | null;
  readonly window: number | null;
  readonly message_bytes: number | null;
  readonly remember: number;
  /** True if agents may be asked to move away or here; false by default. */
  readonly moves?: boolean;
  /** Certificates as PEM, the client's first. The node answers with a challenge. */
  readonly certificate?: string;
  /** Number of this connection of the session. A late connection with a lower number takes nothing over. */
  readonly attempt?: number;
  /** True if the client follows a redirection (`elsewhere`); false by default. */
  readonly follows?: boolean;
}

/** Text that a client with a certificate must sign. */
export interface Challenge {
  readonly type: "challenge";
  readonly text: string;
}
/** Signature of a challenge. */
export interface Proof {
  readonly type: "proof";
  readonly signature: Uint8Array;
}

/** Grant of a session. */
export interface Welcome {
  readonly type: "welcome";
  readonly version: number;
  readonly session: string;
  readonly secret: string;
  readonly platform: string;
  readonly lease_ms: number;
  readonly window: number;
  readonly agents: number;
  readonly message_bytes: number;
  readonly messages_per_s: number;
  readonly remember: number;
  readonly received: number;
  readonly credit: number;
}

/** Acknowledgement, credit, and sign of life. */
export interface Ack {
  readonly type: "ack";
  readonly received: number;
  readonly credit: number | null;
}

/** Acknowledged messages that the client's agents have not handled: the first number of each run, and its length. */
export interface Open {
  readonly type: "open";
  readonly messages: readonly number[];
}

/** Frames with a number. They are kept until the other end acknowledges them. */
interface Numbered<Type extends string> {
  readonly type: Type;
  readonly number: number;
  readonly agent: number;
}

/** Request to create an agent. */
export interface Create extends Numbered<"create"> {
  readonly name: string;
}
/** Confirmation that the agent exists. */
export interface Created extends Numbered<"created"> {
  readonly name: string;
}
/** Request to end an agent. */
export type End = Numbered<"end">;
/** Report that an agent ended. */
export interface Ended extends Numbered<"ended"> {
  readonly reason: string;
}
/** Message from an agent of the session, or to one. */
export interface MessageFrame extends Numbered<"message"> {
  readonly message: Message;
  /** Estimated memory of a received message. */
  readonly bytes?: number;
}
/** Placeholder for a message that cannot be decoded. Its number counts. */
export interface UnreadableMessage extends Numbered<"unreadable"> {
  readonly why: string;
}
/** Refusal of the frame `of`. If `of` is 0, a message to an agent of the session could not be delivered. */
export interface Refused {
  readonly type: "refused";
  readonly number: number;
  readonly of: number;
  readonly code: Code;
  readonly text: string;
}
/** Last frame of a connection: the reason for its end. */
export interface Fault {
  readonly type: "error";
  readonly code: Code;
  readonly text: string;
}
/** Announcement that the sender leaves. */
export interface Bye {
  readonly type: "bye";
}
/** Request to certify an agent's key. */
export interface Certify extends Numbered<"certify"> {
  readonly request: string;
}
/** Certificates for the agent's key. */
export interface Certified extends Numbered<"certified"> {
  readonly certificates: string;
}

/** Fate of an agent after its session: it ends, waits for this client, or continues at the node. */
export const ON_LEAVE = ["end", "wait", "go-on"] as const;
/** One of {@link ON_LEAVE}. */
export type OnLeave = (typeof ON_LEAVE)[number];

/** Request to keep an agent after the session. */
export interface Keep extends Numbered<"keep"> {
  readonly policy: OnLeave;
  /** True if the agent's messages leave only with the save behind them. */
  readonly holds: boolean;
}
/** State of an agent. */
export interface Save extends Numbered<"save"> {
  /** Last message from the node that the state covers. */
  readonly upto: number;
  readonly code: string;
  readonly state: Uint8Array;
  /** Destination of a move: a node, or the session of this agent. */
  readonly to: string | null;
  /** Covered messages after `upto`. */
  readonly also: readonly number[];
  /** Name of the place that the agent leaves. */
  readonly from: string | null;
}
/** Confirmation of the save `of`. */
export interface Saved extends Numbered<"saved"> {
  readonly of: number;
}
/** Saved state of an agent that is restored here. */
export interface State extends Numbered<"state"> {
  readonly code: string;
  readonly state: Uint8Array;
  /** Previous place, if the agent was offered to this client. */
  readonly from: string | null;
}

/** Request for an agent's code. */
export interface Lacks extends Numbered<"lacks"> {
  readonly code: string;
}
/** Part of an agent's code, from `at`; `of` is the total length. */
export interface CodePart extends Numbered<"code"> {
  readonly code: string;
  readonly at: number;
  readonly of: number;
  readonly bytes: Uint8Array;
}

/** Request to move an agent. The answer is a save with that destination, or `stays`. */
export interface Yield extends Numbered<"yield"> {
  readonly to: string;
}
/** Offer of an agent with this code. The answer is `create`, or `stays`. */
export interface Offer {
  readonly type: "offer";
  readonly number: number;
  readonly name: string;
  readonly code: string;
}
/** Refusal of a move, with the reason. */
export interface Stays {
  readonly type: "stays";
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

/** Any frame, in either form. */
export type Frame =
  | Hello
  | Welcome
  | Ack
  | Create
  | Created
  | End
  | Ended
  | MessageFrame
  | UnreadableMessage
  | Refused
  | Fault
  | Bye
  | Certify
  | Certified
  | Keep
  | Save
  | Saved
  | State
  | Lacks
  | CodePart
  | Yield
  | Offer
  | Stays
  | Challenge
  | Proof
  | Open;

type FieldType = "u32" | "u64" | "text" | "code" | "versions" | "resume" | "policy" | "bool" | "bytes" | "numbers";
/**
 * Field of a frame. `?` marks optional fields. `+` marks fields of later versions: present only if they or a later
 * field have a value.
 */
type Field = readonly [name: string, type: FieldType, optional?: "?" | "+"];

const numbered = (...more: Field[]): Field[] => [["number", "u64"], ["agent", "u32"], ...more];

/** Frame kinds with their fields. The position is the kind's number. */
const KINDS: readonly (readonly [name: string, fields: readonly Field[]])[] = [
  ["", []],
  [
    "hello",
    [
      ["versions", "versions"],
      ["token", "text", "?"],
      ["resume", "resume", "?"],
      ["lease_ms", "u64", "?"],
      ["window", "u32", "?"],
      ["message_bytes", "u32", "?"],
      ["remember", "u32"],
      ["moves", "bool", "+"],
      ["certificate", "text", "+"],
      ["attempt", "u32", "+"],
      ["follows", "bool", "+"],
    ],
  ],
  [
    "welcome",
    [
      ["version", "u32"],
      ["session", "text"],
      ["secret", "text"],
      ["platform", "text"],
      ["lease_ms", "u64"],
      ["window", "u32"],
      ["agents", "u32"],
      ["message_bytes", "u32"],
      ["messages_per_s", "u32"],
      ["remember", "u32"],
      ["received", "u64"],
      ["credit", "u64"],
    ],
  ],
  ["ack", [["received", "u64"], ["credit", "u64", "?"]]],
  ["create", numbered(["name", "text"])],
  ["created", numbered(["name", "text"])],
  ["end", numbered()],
  ["ended", numbered(["reason", "text"])],
  ["message", numbered()],
  ["refused", [["number", "u64"], ["of", "u64"], ["code", "code"], ["text", "text"]]],
  ["error", [["code", "code"], ["text", "text"]]],
  ["bye", []],
  ["certify", numbered(["request", "text"])],
  ["certified", numbered(["certificates", "text"])],
  ["keep", numbered(["policy", "policy"], ["holds", "bool"])],
  ["save", numbered(["upto", "u64"], ["code", "text"], ["state", "bytes"], ["to", "text", "?"], ["also", "numbers"], ["from", "text", "?"])],
  ["saved", numbered(["of", "u64"])],
  ["state", numbered(["code", "text"], ["state", "bytes"], ["from", "text", "?"])],
  ["lacks", numbered(["code", "text"])],
  ["code", numbered(["code", "text"], ["at", "u64"], ["of", "u64"], ["bytes", "bytes"])],
  ["yield", numbered(["to", "text"])],
  ["offer", [["number", "u64"], ["name", "text"], ["code", "text"]]],
  ["stays", [["number", "u64"], ["name", "text"], ["text", "text"]]],
  ["challenge", [["text", "text"]]],
  ["proof", [["signature", "bytes"]]],
  ["open", [["messages", "numbers"]]],
];

const RESUME: readonly Field[] = [["session", "text"], ["secret", "text"], ["received", "u64"]];
const HELLO = 1;
const MESSAGE = 8;

const unreadable = (why: string): DecodeError => new DecodeError("malformed", `frame cannot be read: ${why}`);

/** A message as JSON, or in the compact form: then its parts are encoded that do not depend on earlier messages. */
export type EncodedMessage = { readonly json: string } | CompactMessage;

interface CompactMessage {
  readonly message: Message;
  readonly body: Uint8Array;
  /** Length of the whole. */
  readonly bytes: number;
}

/**
 * Encodes a message as far as possible before its connection is known.
 *
 * @throws {@link EncodeError} if it cannot be encoded, or is longer than granted.
 */
export function seal(form: Form, message: Message, messageBytesMax: number): EncodedMessage {
  const check = (bytes: number): void => {
    if (bytes > messageBytesMax) throw new EncodeError(`message too long: ${bytes} bytes, the limit is ${messageBytesMax} (--session-message-bytes)`);
  };
  if (form === "json") {
    const json = messageToJson(message);
    // A UTF-16 unit takes at most three bytes.
    if (json.length * 3 > messageBytesMax) check(utf8(json).length);
    return { json };
  }
  const body = form.encodeBody(message.content);
  const bytes = form.messageBytes(message, body);
  check(bytes);
  return { message, body, bytes };
}

/** Returns the encoded length of a message. */
export function sealedBytes(message: EncodedMessage): number {
  return "json" in message ? utf8(message.json).length : message.bytes;
}

/** A frame to send, with an encoded message. */
export type Outgoing = Exclude<Frame, MessageFrame | UnreadableMessage> | (Omit<MessageFrame, "message"> & { readonly message: EncodedMessage });

/** Writer of the frames of a connection, in order. */
export class FrameWriter {
  readonly #encoder: ReturnType<Compact["encoder"]> | undefined;

  constructor(
    readonly form: Form,
    remember: number,
  ) {
    this.#encoder = form === "json" ? undefined : form.encoder(remember);
  }

  /** Encodes a frame as text or bytes. */
  write(frame: Outgoing): string | Uint8Array {
    if (frame.type === "message") return this.#writeMessage(frame, frame.message);
    if (!this.#encoder) return JSON.stringify(inJson(frame));
    const kind = KINDS.findIndex(([name]) => name === frame.type);
    const out: number[] = [kind];
    writeFields(out, KINDS[kind]?.[1] ?? [], frame);
    return Uint8Array.from(out);
  }

  #writeMessage({ number, agent }: { number: number; agent: number }, sealed: EncodedMessage): string | Uint8Array {
    if ("json" in sealed) return `{"type":"message","number":${number},"agent":${agent},"message":${sealed.json}}`;
    if (!this.#encoder) throw new EncodeError("the message is encoded for another form of the session");
    const out = [MESSAGE];
    writeNumber(out, number);
    writeNumber(out, agent);
    return this.#encoder.encodeSealed(sealed.message, sealed.body, out);
  }
}

function writeFields(out: number[], fields: readonly Field[], from: object): void {
  const valueOf = (name: string): unknown => (from as Record<string, unknown>)[name] ?? null;
  const isSaid = ([name, , optional]: Field): boolean => optional !== "+" || (valueOf(name) !== null && valueOf(name) !== false);
  const last = fields.reduce((before, field, at) => (isSaid(field) ? at : before), -1);
  for (const [name, type, optional] of fields.slice(0, last + 1)) {
    const value = valueOf(name);
    const isMarked = optional === "?" || (optional === "+" && type !== "bool");
    if (isMarked) out.push(value === null ? 0 : 1);
    if (value !== null) writeField(out, type, value);
    else if (optional === "+" && !isMarked) out.push(0);
  }
}

function writeField(out: number[], type: FieldType, value: unknown): void {
  if (type === "text" || type === "bytes") {
    const bytes = type === "text" ? utf8(value as string) : (value as Uint8Array);
    writeNumber(out, bytes.length);
    for (const byte of bytes) out.push(byte);
  } else if (type === "bool") out.push(value ? 1 : 0);
  else if (type === "policy") out.push(ON_LEAVE.indexOf(value as OnLeave));
  else if (type === "versions" || type === "numbers") {
    const versions = value as readonly number[];
    writeNumber(out, versions.length);
    versions.forEach((version) => writeNumber(out, version));
  } else if (type === "resume") writeFields(out, RESUME, value as object);
  else writeNumber(out, type === "code" ? CODES.indexOf(value as Code) : (value as number));
}

/** Appends a number, seven bits a byte, lowest first. The high bit marks that more follow. */
function writeNumber(out: number[], number: number): void {
  let rest = number;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
}

/** Reader of the frames of a connection, in order. */
export class FrameReader {
  readonly #decoder: ReturnType<Compact["decoder"]> | undefined;

  constructor(
    readonly form: Form,
    remember: number,
  ) {
    this.#decoder = form === "json" ? undefined : form.decoder(remember);
  }

  /**
   * Decodes a frame.
   *
   * @throws {@link DecodeError} if it is invalid. The connection cannot be used any more.
   */
  read(frame: string | Uint8Array): Frame {
    if (frame.length === 0) throw new DecodeError("truncated", "empty frame");
    const isJson = typeof frame === "string" || frame[0] === 0x7b;
    if (isJson === (this.#decoder !== undefined)) throw new DecodeError("other-framing", "frame in another form than the hello");
    if (this.#decoder) return this.#compact(frame as Uint8Array, this.#decoder);
    return readJson(typeof frame === "string" ? frame : textOf(frame));
  }

  #compact(bytes: Uint8Array, messages: ReturnType<Compact["decoder"]>): Frame {
    const [name, fields] = KINDS[bytes[0] ?? 0] ?? ["", []];
    if (name === "" || (name === "bye" && bytes.length > 1)) throw new DecodeError("unknown-kind", `frame of unknown kind ${bytes[0]}`);
    const r = new FieldReader(bytes);
    const frame = { type: name, ...r.fields(fields) };
    if (bytes[0] !== MESSAGE) {
      // Later versions may append fields to a hello.
      if (bytes[0] !== HELLO && r.at < bytes.length) throw unreadable("more than its fields");
      return frame as unknown as Frame;
    }
    try {
      const message = messages.decode(bytes.subarray(r.at));
      return { ...frame, message, bytes: messages.spentBytes } as unknown as Frame;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      throw new DecodeError(error.code, `message cannot be read: ${error.message}`);
    }
  }
}

/** Returns a frame with its bytes in base64. */
function inJson(frame: Exclude<Outgoing, { readonly type: "message" }>): object {
  if (frame.type === "code") return { ...frame, bytes: toBase64(frame.bytes) };
  if (frame.type === "proof") return { ...frame, signature: toBase64(frame.signature) };
  return "state" in frame ? { ...frame, state: toBase64(frame.state) } : frame;
}

/** Encodes in chunks, because a call takes a limited number of arguments. */
function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x2000) text += String.fromCharCode(...bytes.subarray(at, at + 0x2000));
  return btoa(text);
}

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw unreadable("text that is not UTF-8");
  }
}

class FieldReader {
  at = 1;

  constructor(readonly bytes: Uint8Array) {}

  fields(fields: readonly Field[]): Record<string, unknown> {
    const read: Record<string, unknown> = {};
    for (const [name, type, optional] of fields) {
      if (optional === "+" && this.at === this.bytes.length) break;
      const isMarked = optional === "?" || (optional === "+" && type !== "bool");
      const value = isMarked && !this.#isThere() ? null : this.#field(type);
      if (optional !== "+" || (value !== null && value !== false)) read[name] = value;
    }
    return read;
  }

  #isThere(): boolean {
    const byte = this.#byte();
    if (byte > 1) throw unreadable("invalid boolean");
    return byte === 1;
  }

  #field(type: FieldType): unknown {
    switch (type) {
      case "text":
        return textOf(this.#bytes());
      case "bytes":
        return this.#bytes().slice();
      case "bool":
        return this.#isThere();
      case "policy":
        return ON_LEAVE[this.#number(ON_LEAVE.length)];
      case "versions":
      case "numbers": {
        const count = this.#number(2 ** 32);
        if (count > this.bytes.length - this.at) throw unreadable("truncated");
        return Array.from({ length: count }, () => this.#number(type === "versions" ? 2 ** 32 : 2 ** 64));
      }
      case "resume":
        return this.fields(RESUME);
      case "code":
        return CODES[this.#number(CODES.length)];
      default:
        return this.#number(type === "u32" ? 2 ** 32 : 2 ** 64);
    }
  }

  #bytes(): Uint8Array {
    const length = this.#number(2 ** 32);
    if (length > this.bytes.length - this.at) throw unreadable("truncated");
    return this.bytes.subarray(this.at, (this.at += length));
  }

  #byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw unreadable("truncated");
    return byte;
  }

  /** Reads a number below `end`. Numbers above 2^53, which no session reaches, are capped. */
  #number(end: number): number {
    let [number, scale] = [0, 1];
    for (;;) {
      const byte = this.#byte();
      number += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0 && scale > 1) throw unreadable("number not in its shortest form");
        break;
      }
      scale *= 128;
      if (scale > 2 ** 63) throw unreadable("number of more than 64 bits");
    }
    if (end < 2 ** 64 ? number >= end : number > end) throw unreadable("number too large");
    return Math.min(number, Number.MAX_SAFE_INTEGER);
  }
}

const KINDS_BY_NAME = new Map(KINDS.map((kind) => [kind[0], kind]));

function readJson(text: string): Frame {
  let json: unknown;
  try {
    json = parseJson(text);
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message : String(error));
  }
  const given = json as Record<string, unknown> | null;
  const type = typeof given === "object" && given !== null ? given["type"] : undefined;
  if (given === null || typeof type !== "string") throw unreadable("no type");
  const [name, fields] = KINDS_BY_NAME.get(type) ?? [];
  if (!name || !fields) throw new DecodeError("unknown-kind", `frame of unknown kind ${JSON.stringify(type)}`);
  const frame = { type: name, ...readJsonFields(fields, given, name === "hello") };
  if (name !== "message") return frame as unknown as Frame;
  if (given["message"] === undefined) throw unreadable("no message");
  try {
    const message = messageFromJson(given["message"]);
    return { ...frame, message, bytes: text.length * MEMORY_BYTES_PER_CHARACTER } as unknown as Frame;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { ...frame, type: "unreadable", why: error.message } as unknown as Frame;
  }
}

/** Reads the fields of a JSON frame. A hello may lack any field. */
function readJsonFields(fields: readonly Field[], from: Record<string, unknown>, areDefaulted: boolean): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [name, type, optional] of fields) {
    const value = from[name] ?? null;
    if (optional === "+") {
      const said = value !== null && readJsonField(name, type, value);
      if (said !== false) read[name] = said;
    } else if (value !== null) read[name] = readJsonField(name, type, value);
    else if (optional) read[name] = null;
    else if (areDefaulted) read[name] = type === "versions" ? [] : 0;
    else throw unreadable(`no ${name}`);
  }
  return read;
}

function readJsonField(name: string, type: FieldType, value: unknown): unknown {
  const wrong = (): DecodeError => unreadable(`invalid ${name}`);
  const number = (of: unknown, end: number): number => {
    if (typeof of !== "number" || !Number.isInteger(of) || of < 0 || of > end || (of === end && end < 2 ** 64)) throw wrong();
    return Math.min(of, Number.MAX_SAFE_INTEGER);
  };
  switch (type) {
    case "text":
      if (typeof value !== "string") throw wrong();
      return value;
    case "code":
      if (!CODES.includes(value as Code)) throw wrong();
      return value;
    case "policy":
      if (!ON_LEAVE.includes(value as OnLeave)) throw wrong();
      return value;
    case "bool":
      if (typeof value !== "boolean") throw wrong();
      return value;
    case "bytes":
      try {
        return fromBase64(value as string);
      } catch {
        throw wrong();
      }
    case "versions":
    case "numbers":
      if (!Array.isArray(value)) throw wrong();
      return value.map((one) => number(one, type === "versions" ? 2 ** 32 : 2 ** 64));
    case "resume":
      if (typeof value !== "object" || value === null) throw wrong();
      return readJsonFields(RESUME, value as Record<string, unknown>, false);
    default:
      return number(value, type === "u32" ? 2 ** 32 : 2 ** 64);
  }
}
