/**
 * The compact codec: messages and content values as few bytes (docs/design/compact-codec.md). A message is a head (agents,
 * performative, conversation) and a body (the content). On a connection, {@link Encoder} and {@link Decoder} remember
 * agents, names, texts and shapes, so that what was said once takes a byte or two afterwards.
 */
import { DecodeError } from "../errors.js";
import { DOCUMENT_BUDGET_BYTES, MESSAGE_BUDGET_BYTES } from "../limits.js";
import type { Message } from "../message.js";
import type { Value } from "../value.js";
import { Bytes } from "./bytes.js";
import { HeardOnLink, readHead, SaidOnLink, writeHead } from "./head.js";
import { readValue } from "./read-value.js";
import { Reader } from "./reader.js";
import { isMark, ITEM, MESSAGE_MARK, VALUE_MARK } from "./tags.js";
import { dictionaryTag, hasDictionary, Writer } from "./writer.js";
import { writeBody, writeValue } from "./write-value.js";

const DOCUMENT_LIMITS = { budgetBytes: DOCUMENT_BUDGET_BYTES, circles: true };

/**
 * A value as a self-contained body.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or no value.
 */
export function encodeBody(value: Value): Uint8Array {
  return writeBody(value);
}

/**
 * The value of a self-contained body.
 *
 * @throws {@link DecodeError} if the bytes are none.
 */
export function decodeBody(bytes: Uint8Array, limits = DOCUMENT_LIMITS): Value {
  const r = Reader.ofBody(bytes, limits);
  const value = readValue(r);
  r.end();
  return value;
}

/**
 * A value as a document: with the format's mark and version, to be stored.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or no value.
 */
export function encodeValue(value: Value): Uint8Array {
  const w = new Writer(true);
  writeValue(w, value);
  const body = w.finish();
  return isMark(body[0] ?? 0) ? body : marked(VALUE_MARK, body);
}

/**
 * The value of a document.
 *
 * @throws {@link DecodeError} if the bytes are none.
 */
export function decodeValue(bytes: Uint8Array): Value {
  return decodeBody(isMark(bytes[0] ?? 0) ? bytes : document(bytes, VALUE_MARK));
}

/**
 * A message as a document by itself.
 *
 * @throws {@link EncodeError} if something in it cannot be written.
 */
export function encodeMessage(message: Message): Uint8Array {
  return marked(MESSAGE_MARK, new Encoder(0).encode(message));
}

/**
 * The message of a document.
 *
 * @throws {@link DecodeError} if the bytes are none.
 */
export function decodeMessage(bytes: Uint8Array): Message {
  return new Decoder(0).decode(document(bytes, MESSAGE_MARK));
}

function marked(mark: number, bytes: Uint8Array): Uint8Array {
  const out = new Bytes();
  out.byte(mark);
  out.bytes(bytes);
  return out.take();
}

/** What follows a document's mark. */
function document(bytes: Uint8Array, mark: number): Uint8Array {
  const [first] = bytes;
  if (first === undefined) throw new DecodeError("truncated", "the bytes end too early", 0);
  if (first !== mark) throw new DecodeError("version", `not what was expected, or of a newer version: it begins with ${first}, not ${mark}`, 0);
  return bytes.subarray(1);
}

/** The sending end of a connection. Its messages must be decoded by one {@link Decoder}, all of them, in their order. */
export class Encoder {
  readonly #said: SaidOnLink;
  readonly #out = new Bytes();

  /** Remembers so many agents, and so many texts and shapes; 0 makes each message self-contained. */
  constructor(remember: number) {
    this.#said = new SaidOnLink(remember);
  }

  /**
   * A message as bytes.
   *
   * @throws {@link EncodeError} if something in it cannot be written; nothing is remembered then of its content.
   */
  encode(message: Message): Uint8Array {
    return this.encodeSealed(message, encodeBody(message.content));
  }

  /** The same, its content a self-contained body already, behind these bytes. */
  encodeSealed(message: Message, body: Uint8Array, behind: readonly number[] = []): Uint8Array {
    const out = this.#out;
    out.clear();
    for (const byte of behind) out.byte(byte);
    writeHead(out, message, this.#said);
    // Without a dictionary there is nothing that the connection could know.
    if (this.#said.remember === 0 || !hasDictionary(body)) out.bytes(body);
    else this.#share(out, body);
    return out.take();
  }

  /** Writes a body whose dictionary is the connection's. */
  #share(out: Bytes, body: Uint8Array): void {
    const r = new Reader(body, DOCUMENT_LIMITS);
    const count = r.dictionaryCount();
    dictionaryTag(out, count);
    for (let item = 0; item < count; item++) {
      const start = r.at;
      const head = r.number();
      if (head % 4 === ITEM.KNOWN) out.bytes(body.subarray(start, r.at));
      else this.#said.item(out, head % 4, r.take(Math.floor(head / 4)));
    }
    out.bytes(body.subarray(r.at));
  }

  /** How many bytes a message takes by itself, its content a self-contained body already. */
  static messageBytes(message: Message, body: Uint8Array): number {
    alone.#out.clear();
    writeHead(alone.#out, message, alone.#said);
    return alone.#out.length + body.length;
  }
}

const alone = new Encoder(0);

/** The receiving end of a connection. */
export class Decoder {
  readonly #heard: HeardOnLink;
  /** The memory that the last message takes that was decoded, estimated from above. */
  spentBytes = 0;

  /** Remembers as much as the other end's {@link Encoder}. */
  constructor(
    remember: number,
    readonly budgetBytes: number = MESSAGE_BUDGET_BYTES,
  ) {
    this.#heard = new HeardOnLink(remember);
  }

  /**
   * The message that an {@link Encoder} made these bytes of, all of them.
   *
   * @throws {@link DecodeError} if they are none. The two ends may then disagree about what was said: end the connection.
   */
  decode(bytes: Uint8Array): Message {
    const r = new Reader(bytes, { budgetBytes: this.budgetBytes, circles: false });
    const head = readHead(r, this.#heard);
    const count = r.dictionaryCount();
    for (let item = 0; item < count; item++) {
      const told = this.#heard.item(r);
      if ("text" in told) r.addText(told.text);
      else r.addShape(told.shape);
    }
    const content = readValue(r);
    r.end();
    this.spentBytes = r.spentBytes;
    return { ...head, content };
  }
}
