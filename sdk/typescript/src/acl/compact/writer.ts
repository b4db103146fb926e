/** What writes a body: its bytes, and the dictionary that grows beside them and is put in front when all is written. */
import { EncodeError } from "../errors.js";
import { VALUE_LEVELS_MAX } from "../limits.js";
import type { Container } from "../value.js";
import { Bytes, keyOf, signedLength, utf8Length, varintLength } from "./bytes.js";
import { knownShape, knownText } from "./known.js";
import { Reader } from "./reader.js";
import { COLUMN, FIXED_STARTS, ITEM, SHAPE, SHORT_MAPS, SMALL_INT_LEAST, SMALL_INTS, TAG } from "./tags.js";

/** Texts shorter than this are written where they stand. */
const SHARED_TEXT_BYTES_MIN = 4;
/** Values with more places that refer to the dictionary keep it as it is. */
const REFERENCES_MAX = 128;

/** What bodies are put together in. */
const joined = new Bytes();

/** Where a number in the dictionary stands, which tells how it is written. */
type Place = "text" | "atom" | "name" | "object";

/** A place that refers to the dictionary. */
interface Reference {
  readonly at: number;
  readonly bytes: number;
  readonly place: Place;
  readonly number: number;
}

/** The texts and shapes of one body, each once. */
export class Dictionary {
  /** The items as they stand in a body that is self-contained. */
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

  /** The number of a text, which is added if it is new. */
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

  /** Bytes that a text costs in the dictionary: none if it is there. */
  costOf(text: string): number {
    if (this.#texts.has(text)) return 0;
    const length = utf8Length(text);
    return varintLength(length * 4) + length;
  }

  /** The number of the shape of these fields, which is added if it is new. */
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

/** Writes a text or a shape, its length before it. */
export function itemInFull(out: Bytes, kind: number, bytes: Uint8Array): void {
  out.number(bytes.length * 4 + kind);
  out.bytes(bytes);
}

/** A text as {@link itemInFull} writes it. */
export function textInFull(out: Bytes, text: string): void {
  const bytes = utf8Length(text);
  out.number(bytes * 4 + ITEM.TEXT);
  out.utf8(text, bytes);
}

const defined = new Bytes();

/** The bytes of a shape: good until the next one is defined. */
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

/** Whether a body begins with a dictionary. */
export function hasDictionary(body: Uint8Array): boolean {
  const [tag = 0] = body;
  return tag > TAG.DICTIONARY && tag <= TAG.LONG_DICTIONARY;
}

/** The beginning of a dictionary of so many items. */
export function dictionaryTag(out: Bytes, count: number): void {
  out.byte(Math.min(TAG.DICTIONARY + count, TAG.LONG_DICTIONARY));
  if (TAG.DICTIONARY + count >= TAG.LONG_DICTIONARY) out.number(count);
}

/** The number a text is, if it is just how a 64-bit number is written. */
export function numeric(text: string): bigint | undefined {
  if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) return undefined;
  const n = BigInt(text);
  return BigInt.asIntN(64, n) === n ? n : undefined;
}

/** How a whole number beyond the small ones is written in one to four bytes; undefined if those do not hold it. */
function fixedWidth(n: bigint): { readonly bytes: number; readonly rest: number; readonly tag: number } | undefined {
  // Those that are too large stay so, exact or not.
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

/** How many bytes a whole number takes as a value. */
export function intBytes(n: bigint): number {
  return isSmall(n) ? 1 : 1 + (fixedWidth(n)?.bytes ?? signedLength(n));
}

/** Writes one body. */
export class Writer {
  readonly out = new Bytes();
  readonly dictionary = new Dictionary();
  /** Where the value refers to the dictionary, if that may be rewritten. */
  #references: Reference[] | undefined;
  readonly #labels = new Map<Container, number>();
  #depth = 0;

  /** Of a document that stands alone: what only one place refers to is written there. */
  constructor(isDocument = false) {
    this.#references = isDocument ? [] : undefined;
  }

  /** Begins anew, with a body that does not stand alone. */
  clear(): void {
    this.out.clear();
    this.dictionary.clear();
    this.#references = undefined;
    if (this.#labels.size > 0) this.#labels.clear();
    this.#depth = 0;
  }

  /** Writes something nested. */
  nested(write: () => void): void {
    if (this.#depth === VALUE_LEVELS_MAX) throw new EncodeError(`a value nested more than ${VALUE_LEVELS_MAX} levels deep`);
    this.#depth++;
    write();
    this.#depth--;
  }

  /** The body: the dictionary, then what was written. */
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

  /** The label of a container; undefined if it has none, and then it takes the next one. */
  label(container: Container): number | undefined {
    const found = this.#labels.get(container);
    if (found === undefined) this.#labels.set(container, this.#labels.size);
    return found;
  }

  /** A whole number. */
  int(n: bigint): void {
    if (isSmall(n)) return this.out.byte(Number(n) - SMALL_INT_LEAST);
    const fixed = fixedWidth(n);
    this.out.byte(fixed?.tag ?? TAG.INT);
    if (fixed) this.out.fixed(fixed.rest, fixed.bytes);
    else this.out.signed(n);
  }

  /** Whether nothing was written before: what comes now is the whole body, and nothing can refer to it. */
  get #isAlone(): boolean {
    return this.out.length === 0;
  }

  /** Text, in the shortest way. */
  text(text: string): void {
    const isShort = text.length < SHARED_TEXT_BYTES_MIN && utf8Length(text) < SHARED_TEXT_BYTES_MIN;
    const number = isShort ? undefined : numeric(text);
    if (number !== undefined) {
      this.out.byte(TAG.NUMERIC_TEXT);
      this.out.signed(number);
    } else if (isShort || this.#isAlone) textInPlace(this.out, "text", text);
    else this.#reference("text", this.dictionary.text(text));
  }

  /** An atom. */
  atom(name: string): void {
    if (utf8Length(name) < SHARED_TEXT_BYTES_MIN || this.#isAlone) textInPlace(this.out, "atom", name);
    else this.#reference("atom", this.dictionary.text(name));
  }

  /** A name where nothing else can stand. */
  name(name: string): void {
    if (utf8Length(name) < SHARED_TEXT_BYTES_MIN) textInPlace(this.out, "name", name);
    else this.#reference("name", this.dictionary.text(name));
  }

  /** The beginning of an object of this shape. */
  object(shape: number): void {
    this.#reference("object", shape);
  }

  /** The beginning of a list of so many values. */
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

  /** The number of a text in the dictionary, for a column, which cannot be rewritten. */
  columnText(text: string): number {
    this.#references = undefined;
    return this.dictionary.text(text);
  }

  /** The beginning of a table of this shape. */
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

/** Writes a number in the dictionary. */
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

/** What stands before a text, or a name, of so many bytes. */
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
  /** Its number among those that are kept. */
  number: number;
}

/** Goes through a dictionary's items, which this library wrote or checked. */
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

/** Rewrites a value and its dictionary's items, given all places that refer to one; undefined if nothing would change. */
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
