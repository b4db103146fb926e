/** Writer of a body: its bytes, and a growing dictionary that precedes them in the result. */
import { EncodeError } from "../errors.js";
import { VALUE_LEVELS_MAX } from "../limits.js";
import type { Container } from "../value.js";
import { Bytes, keyOf, signedLength, utf8Length, varintLength } from "./bytes.js";
import { knownShape, knownText } from "./known.js";
import { Reader } from "./reader.js";
import { COLUMN, FIXED_STARTS, ITEM, SHAPE, SHORT_MAPS, SMALL_INT_LEAST, SMALL_INTS, TAG } from "./tags.js";

/** Least length of a text in the dictionary. Shorter ones are written in place. */
const SHARED_TEXT_BYTES_MIN = 4;
/** Most references of a value whose dictionary is rewritten. */
const REFERENCES_MAX = 128;

/** Buffer for joining bodies. */
const joined = new Bytes();

/** Position of a dictionary number, which determines its form. */
type Place = "text" | "atom" | "name" | "object";

/** A reference to the dictionary. */
interface Reference {
  readonly at: number;
  readonly bytes: number;
  readonly place: Place;
  readonly number: number;
}

/** Dictionary of a body: its texts and shapes, each once. */
export class Dictionary {
  /** Encoded items of a self-contained body. */
  readonly items = new Bytes();
  count = 0;
  readonly #texts = new Map<string, number>();
  readonly #shapes = new Map<string, number>();

  clear(): void {
    if (this.count === 0) return;
    this.count = 0;
    this.items.clear();
    this.#texts.clear();
    this.#shapes.clear();
  }

  /** Returns the number of a text, and adds it if it is new. */
  text(text: string): number {
    const found = this.#texts.get(text);
    if (found !== undefined) return found;
    this.count++;
    const known = knownText(text);
    if (known !== undefined) this.items.number(known * 8 + 4);
    else textInFull(this.items, text);
    this.#texts.set(text, this.#texts.size);
    return this.#texts.size - 1;
  }

  /** Returns the bytes that a text adds to the dictionary; 0 if it is known. */
  costOf(text: string): number {
    if (this.#texts.has(text)) return 0;
    const length = utf8Length(text);
    return varintLength(length * 4) + length;
  }

  /** Returns the number of a shape, and adds it if it is new. */
  shape(kind: number, name: string, fields: readonly string[], width = fields.length): number {
    const definition = define(kind, name, fields, width);
    const key = keyOf(definition);
    const found = this.#shapes.get(key);
    if (found !== undefined) return found;
    this.count++;
    itemInFull(this.items, ITEM.STRUCTURE, definition);
    this.#shapes.set(key, this.#shapes.size);
    return this.#shapes.size - 1;
  }
}

/** Writes a text or a shape in full, after its length. */
export function itemInFull(out: Bytes, kind: number, bytes: Uint8Array): void {
  out.number(bytes.length * 4 + kind);
  out.bytes(bytes);
}

/** Writes a text as {@link itemInFull} does. */
export function textInFull(out: Bytes, text: string): void {
  const bytes = utf8Length(text);
  out.number(bytes * 4 + ITEM.TEXT);
  out.utf8(text, bytes);
}

const defined = new Bytes();

/** Returns the bytes of a shape, valid until the next call. */
function define(kind: number, name: string, fields: readonly string[], width: number): Uint8Array {
  const out = defined;
  out.clear();
  const known = kind === SHAPE.RECORD ? knownShape(name, fields) : undefined;
  if (known) {
    out.number(known.number * 4 + SHAPE.KNOWN);
    out.number(known.mask);
    return out.view;
  }
  out.number(width * 4 + kind);
  if (kind !== SHAPE.MAP) out.text(name);
  if (kind !== SHAPE.TERM) fields.forEach((field) => out.text(field));
  return out.view;
}

/** Returns true if a body begins with a dictionary. */
export function hasDictionary(body: Uint8Array): boolean {
  const [tag = 0] = body;
  return tag > TAG.DICTIONARY && tag <= TAG.LONG_DICTIONARY;
}

/** Writes the tag of a dictionary with `count` items. */
export function dictionaryTag(out: Bytes, count: number): void {
  out.byte(Math.min(TAG.DICTIONARY + count, TAG.LONG_DICTIONARY));
  if (TAG.DICTIONARY + count >= TAG.LONG_DICTIONARY) out.number(count);
}

/** Returns the integer that a text equals, if it is that integer's only spelling. */
export function numeric(text: string): bigint | undefined {
  if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) return undefined;
  const n = BigInt(text);
  return BigInt.asIntN(64, n) === n ? n : undefined;
}

/** Returns the form of an integer in one to four bytes; undefined if it needs more. */
function fixedWidth(n: bigint): { readonly bytes: number; readonly rest: number; readonly tag: number } | undefined {
  // A number that is too large stays too large when it is rounded.
  const number = Number(n);
  const isMore = number >= 0;
  const beyond = isMore ? number - (SMALL_INT_LEAST + SMALL_INTS) : SMALL_INT_LEAST - 1 - number;
  const bytes = FIXED_STARTS.findIndex((start) => beyond < start);
  if (bytes < 1) return undefined;
  return { bytes, rest: beyond - (FIXED_STARTS[bytes - 1] ?? 0), tag: (isMore ? TAG.MORE : TAG.LESS) + bytes - 1 };
}

function isSmall(n: bigint): boolean {
  return n >= SMALL_INT_LEAST && n < SMALL_INT_LEAST + SMALL_INTS;
}

/** Returns the length of an integer as a value. */
export function intBytes(n: bigint): number {
  return isSmall(n) ? 1 : 1 + (fixedWidth(n)?.bytes ?? signedLength(n));
}

/** Writer of one body. */
export class Writer {
  readonly out = new Bytes();
  readonly dictionary = new Dictionary();
  /** References to the dictionary, unless rewriting is excluded. */
  #references: Reference[] | undefined;
  readonly #labels = new Map<Container, number>();
  #depth = 0;

  /** Creates a writer. In a document, items with a single reference are written in place. */
  constructor(isDocument = false) {
    this.#references = isDocument ? [] : undefined;
  }

  /** Clears the writer for a body that is not a document. */
  clear(): void {
    this.out.clear();
    this.dictionary.clear();
    this.#references = undefined;
    if (this.#labels.size > 0) this.#labels.clear();
    this.#depth = 0;
  }

  /** Writes a nested value. */
  nested(write: () => void): void {
    if (this.#depth === VALUE_LEVELS_MAX) throw new EncodeError(`value nested deeper than ${VALUE_LEVELS_MAX} levels`);
    this.#depth++;
    write();
    this.#depth--;
  }

  /** Returns the body: the dictionary, then the value. */
  finish(): Uint8Array {
    const { count, items } = this.dictionary;
    if (count === 0) return this.out.take();
    const body = joined;
    body.clear();
    const rewritten = this.#references && rewrite(this.out.view, items.view, this.#references);
    if (rewritten) {
      if (rewritten.count > 0) dictionaryTag(body, rewritten.count);
      body.bytes(rewritten.bytes);
    } else {
      dictionaryTag(body, count);
      body.bytes(items.view);
      body.bytes(this.out.view);
    }
    return body.take();
  }

  /** Returns the label of a container. If it has none, assigns the next one and returns undefined. */
  label(container: Container): number | undefined {
    const found = this.#labels.get(container);
    if (found === undefined) this.#labels.set(container, this.#labels.size);
    return found;
  }

  /** Writes an integer. */
  int(n: bigint): void {
    if (isSmall(n)) return this.out.byte(Number(n) - SMALL_INT_LEAST);
    const fixed = fixedWidth(n);
    this.out.byte(fixed?.tag ?? TAG.INT);
    if (fixed) this.out.fixed(fixed.rest, fixed.bytes);
    else this.out.signed(n);
  }

  /** True if nothing was written before. The next value is then the whole body, so nothing can refer to it. */
  get #isAlone(): boolean {
    return this.out.length === 0;
  }

  /** Writes a text in the shortest form. */
  text(text: string): void {
    const isShort = text.length < SHARED_TEXT_BYTES_MIN && utf8Length(text) < SHARED_TEXT_BYTES_MIN;
    const number = isShort ? undefined : numeric(text);
    if (number !== undefined) {
      this.out.byte(TAG.NUMERIC_TEXT);
      this.out.signed(number);
    } else if (isShort || this.#isAlone) textInPlace(this.out, "text", text);
    else this.#reference("text", this.dictionary.text(text));
  }

  /** Writes an atom. */
  atom(name: string): void {
    if (utf8Length(name) < SHARED_TEXT_BYTES_MIN || this.#isAlone) textInPlace(this.out, "atom", name);
    else this.#reference("atom", this.dictionary.text(name));
  }

  /** Writes a name. */
  name(name: string): void {
    if (utf8Length(name) < SHARED_TEXT_BYTES_MIN) textInPlace(this.out, "name", name);
    else this.#reference("name", this.dictionary.text(name));
  }

  /** Writes the start of an object. */
  object(shape: number): void {
    this.#reference("object", shape);
  }

  /** Writes the start of a list. */
  list(count: number): void {
    if (count < TAG.OBJECT - TAG.SHORT_LIST) return this.out.byte(TAG.SHORT_LIST + count);
    this.out.byte(TAG.LIST);
    this.out.number(count);
  }

  #reference(place: Place, number: number): void {
    const at = this.out.length;
    reference(this.out, place, number);
    this.#references?.push({ at, bytes: this.out.length - at, place, number });
    if (this.#references && this.#references.length > REFERENCES_MAX) this.#references = undefined;
  }

  /** Returns the dictionary number of a text in a column. Columns exclude rewriting. */
  columnText(text: string): number {
    this.#references = undefined;
    return this.dictionary.text(text);
  }

  /** Writes the start of a table. */
  table(shape: number): void {
    this.#references = undefined;
    this.out.byte(COLUMN.TABLE);
    this.out.number(shape);
  }
}

const REFERENCES = {
  text: { short: TAG.TEXT_REF, shorts: 32, long: TAG.LONG_TEXT_REF },
  atom: { short: TAG.ATOM_REF, shorts: 16, long: TAG.LONG_ATOM_REF },
  object: { short: TAG.OBJECT, shorts: 16, long: TAG.LONG_OBJECT },
} as const;

/** Writes a dictionary number. */
function reference(out: Bytes, place: Place, number: number): void {
  if (place === "name") return out.number(number * 2);
  const { short, shorts, long } = REFERENCES[place];
  if (number < shorts) return out.byte(short + number);
  out.byte(long);
  out.number(number);
}

function textInPlace(out: Bytes, place: Place, text: string): void {
  const bytes = utf8Length(text);
  lengthInPlace(out, place, bytes);
  out.utf8(text, bytes);
}

/** Writes the length of a text or name in place. */
function lengthInPlace(out: Bytes, place: Place, bytes: number): void {
  if (place === "name") return out.number(bytes * 2 + 1);
  if (place === "text" && bytes < TAG.TEXT_REF - TAG.SHORT_TEXT) return out.byte(TAG.SHORT_TEXT + bytes);
  out.byte(place === "text" ? TAG.TEXT : TAG.ATOM);
  out.number(bytes);
}

function objectInPlace(out: Bytes, definition: Uint8Array): void {
  const head = new Reader(definition, { budgetBytes: 0, circles: false });
  const number = head.number();
  const count = number >> 2;
  if (number % 4 === SHAPE.MAP && count >= 1 && count <= SHORT_MAPS) {
    out.byte(TAG.SHORT_MAP + count - 1);
    out.bytes(definition.subarray(head.at));
  } else {
    out.byte(TAG.OBJECT_IN_PLACE);
    out.bytes(definition);
  }
}

interface Item {
  readonly whole: Uint8Array;
  readonly content: Uint8Array;
  used: number;
  /** Number among the items that are kept. */
  number: number;
}

/** Calls back for each item of a valid dictionary. */
export function splitItems(items: Uint8Array, give: (kind: number, whole: Uint8Array, content: Uint8Array) => void): void {
  const r = new Reader(items, { budgetBytes: 0, circles: false });
  while (r.remaining > 0) {
    const start = r.at;
    const head = r.number();
    const kind = head % 4;
    const content = r.take(kind === ITEM.KNOWN ? 0 : Math.floor(head / 4));
    give(kind, items.subarray(start, r.at), content);
  }
}

/** Rewrites a value and its dictionary, given all references; undefined if nothing would change. */
function rewrite(value: Uint8Array, items: Uint8Array, references: readonly Reference[]): { count: number; bytes: Uint8Array } | undefined {
  const texts: Item[] = [];
  const shapes: Item[] = [];
  splitItems(items, (kind, whole, content) => {
    (kind === ITEM.STRUCTURE ? shapes : texts).push({ whole, content, used: kind === ITEM.KNOWN ? 2 : 0, number: 0 });
  });
  const itemOf = (found: Reference): Item => (found.place === "object" ? shapes : texts)[found.number] as Item;
  references.forEach((found) => itemOf(found).used++);
  if ([...texts, ...shapes].every((item) => item.used > 1)) return undefined;
  const out = new Bytes();
  let count = 0;
  for (const list of [texts, shapes]) {
    const kept = list.filter((item) => item.used > 1);
    kept.forEach((item, number) => {
      item.number = number;
      out.bytes(item.whole);
    });
    count += kept.length;
  }
  let from = 0;
  for (const found of references) {
    out.bytes(value.subarray(from, found.at));
    from = found.at + found.bytes;
    const item = itemOf(found);
    if (item.used > 1) reference(out, found.place, item.number);
    else if (found.place === "object") objectInPlace(out, item.content);
    else {
      lengthInPlace(out, found.place, item.content.length);
      out.bytes(item.content);
    }
  }
  out.bytes(value.subarray(from));
  return { count, bytes: out.take() };
}
