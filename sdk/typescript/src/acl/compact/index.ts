/**
 * The compact codec: messages and content values in few bytes (docs/design/compact-codec.md). A message has a head
 * (agents, performative, conversation) and a body (the content). On a connection, {@link Encoder} and {@link Decoder}
 * keep a dictionary of agents, names, texts and shapes. Repeated items take one or two bytes.
 */
import { DecodeError } from "../errors.js";
import { DOCUMENT_BUDGET_BYTES, MESSAGE_BUDGET_BYTES } from "../limits.js";
import type { Message } from "../message.js";
import type { Value } from "../value.js";
import { Bytes } from "./bytes.js";
import { ReceiverDictionary, readHead, SenderDictionary, writeHead } from "./head.js";
import { readValue } from "./read-value.js";
import { Reader } from "./reader.js";
import { isMark, ITEM, MESSAGE_MARK, VALUE_MARK } from "./tags.js";
import { dictionaryTag, hasDictionary, Writer } from "./writer.js";
import { writeBody, writeValue } from "./write-value.js";

const DOCUMENT_LIMITS = { budgetBytes: DOCUMENT_BUDGET_BYTES, circles: true };

/**
 * Encodes a value as a self-contained body.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or is not a value.
 */
export function encodeBody(value: Value): Uint8Array {
  return writeBody(value);
}

/**
 * Decodes a self-contained body.
 *
 * @throws {@link DecodeError} if the bytes are invalid.
 */
export function decodeBody(bytes: Uint8Array, limits = DOCUMENT_LIMITS): Value {
  const r = Reader.ofBody(bytes, limits);
  const value = readValue(r);
  r.end();
  return value;
}

/**
 * Encodes a value as a document, with the format's mark and version, for storage.
 *
 * @throws {@link EncodeError} if it is nested too deeply, or is not a value.
 */
export function encodeValue(value: Value): Uint8Array {
  const w = new Writer(true);
  writeValue(w, value);
  const body = w.finish();
  return isMark(body[0] ?? 0) ? body : marked(VALUE_MARK, body);
}

/**
 * Decodes a document with a value.
 *
 * @throws {@link DecodeError} if the bytes are invalid.
 */
export function decodeValue(bytes: Uint8Array): Value {
  return decodeBody(isMark(bytes[0] ?? 0) ? bytes : document(bytes, VALUE_MARK));
}

/**
 * Encodes a message as a document.
 *
 * @throws {@link EncodeError} if a part of it cannot be encoded.
 */
export function encodeMessage(message: Message): Uint8Array {
  return marked(MESSAGE_MARK, new Encoder(0).encode(message));
}

/**
 * Decodes a document with a message.
 *
 * @throws {@link DecodeError} if the bytes are invalid.
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

/** Returns the bytes after a document's mark. */
function document(bytes: Uint8Array, mark: number): Uint8Array {
  const [first] = bytes;
  if (first === undefined) throw new DecodeError("truncated", "truncated", 0);
  if (first !== mark) throw new DecodeError("version", `wrong document, or newer version: it begins with ${first}, expected ${mark}`, 0);
  return bytes.subarray(1);
}

/** Encoder of a connection. One {@link Decoder} must decode all of its messages, in order. */
export class Encoder {
  readonly #said: SenderDictionary;
  readonly #out = new Bytes();

  /**
   * Creates an encoder. `remember` limits its dictionaries of agents, and of texts and shapes; 0 makes each message
   * self-contained.
   */
  constructor(remember: number) {
    this.#said = new SenderDictionary(remember);
  }

  /**
   * Encodes a message.
   *
   * @throws {@link EncodeError} if a part of it cannot be encoded. Its content then enters no dictionary.
   */
  encode(message: Message): Uint8Array {
    return this.encodeSealed(message, encodeBody(message.content));
  }

  /** Encodes a message with an encoded body, after the bytes in `behind`. */
  encodeSealed(message: Message, body: Uint8Array, behind: readonly number[] = []): Uint8Array {
    const out = this.#out;
    out.clear();
    for (const byte of behind) out.byte(byte);
    writeHead(out, message, this.#said);
    // Without a dictionary of either side, copy the body.
    if (this.#said.remember === 0 || !hasDictionary(body)) out.bytes(body);
    else this.#share(out, body);
    return out.take();
  }

  /** Writes a body with its dictionary replaced by the connection's. */
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

  /** Returns the length of a message by itself, given its encoded body. */
  static messageBytes(message: Message, body: Uint8Array): number {
    alone.#out.clear();
    writeHead(alone.#out, message, alone.#said);
    return alone.#out.length + body.length;
  }
}

const alone = new Encoder(0);

/** Decoder of a connection. */
export class Decoder {
  readonly #heard: ReceiverDictionary;
  /** Estimated memory of the last message, an upper bound. */
  spentBytes = 0;

  /** Creates a decoder. `remember` must equal the {@link Encoder}'s. */
  constructor(
    remember: number,
    readonly budgetBytes: number = MESSAGE_BUDGET_BYTES,
  ) {
    this.#heard = new ReceiverDictionary(remember);
  }

  /**
   * Decodes a message of the other end's {@link Encoder}.
   *
   * @throws {@link DecodeError} if the bytes are invalid. End the connection then, because the dictionaries may differ.
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
