/**
 * FIPA SL (FIPA00008): content as text, for talking to platforms such as JADE. The DF, the AMS and the agents of a
 * Whimbrel platform take values instead.
 *
 * ```ts
 * import { slToValue, valueToSl } from "whimbrel/sl";
 *
 * const value = slToValue("((weather (city Paris) 21))"); // [weather(city(Paris), 21)]
 * const text = valueToSl(value, "fipa-sl0");
 * ```
 *
 * Mapping between SL and values: docs/reference/fipa-agent-management.md.
 *
 * @packageDocumentation
 */
import { utf8 } from "./acl/compact/bytes.js";
import { DecodeError, EncodeError } from "./acl/errors.js";
import {
  atom,
  isAtom,
  isTerm,
  kindOf,
  term,
  type RecordValue,
  type Structure,
  type Value,
  type Variable,
} from "./acl/value.js";

/** The language and its subsets, by their names in `:language`. Each one extends the previous one. */
export const SL_PROFILES = ["fipa-sl0", "fipa-sl1", "fipa-sl2", "fipa-sl"] as const;

/** One of {@link SL_PROFILES}. */
export type SlProfile = (typeof SL_PROFILES)[number];

/** Maximum nesting of brackets. */
const LEVELS_MAX = 96;

const BINARY: readonly string[] = ["and", "or", "implies", "equiv"];
const QUANTIFIERS: readonly string[] = ["forall", "exists"];
const MODAL: readonly string[] = ["B", "U", "PG", "I"];
const HAPPENS: readonly string[] = ["feasible", "done"];
const REFERENTIAL: readonly string[] = ["iota", "any", "all"];
const ACTIONS: readonly string[] = ["action", "|", ";"];
/** Words that cannot name a predicate, and words that cannot name a function. */
const OF_FORMULAS: readonly string[] = ["not", "=", "result", "true", "false", ...ACTIONS, ...BINARY, ...QUANTIFIERS, ...MODAL, ...HAPPENS, ...REFERENTIAL];
const OF_TERMS: readonly string[] = [...ACTIONS, "sequence", "set", ...REFERENTIAL];

const INTEGER = /^[+-]?[0-9]+$/;
const FLOAT = /^[+-]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)$/;
const HEXADECIMAL = /^[+-]?0[xX][0-9a-fA-F]+$/;
const TIME = /^([+-]?)(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(\d\d)(\d{3})([A-Za-z]?)$/;
const DAY_MS = 86_400_000;

/** Returns true if the text is a single bare token. */
function isBare(text: string): boolean {
  return text !== "" && !/^["#]/.test(text) && !/[\0- ()]/.test(text);
}

/** Returns true if the text is a word of SL (FIPA00008 2.2). */
function isWord(text: string): boolean {
  return isBare(text) && !/^[0-9:\-?]/.test(text) && !INTEGER.test(text) && !FLOAT.test(text) && !TIME.test(text);
}

function isInt64(n: bigint): boolean {
  return BigInt.asIntN(64, n) === n;
}

// ---- Reading

/** A token: a bracket, a string (quoted or by length), a word or number, or the end. */
interface Token {
  readonly at: number;
  readonly kind: "open" | "close" | "quoted" | "bytes" | "bare" | "end";
  readonly text: string;
  readonly bytes?: Uint8Array;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Tokens {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  peek(): Token {
    const { at } = this;
    const token = this.next();
    this.at = at;
    return token;
  }

  next(): Token {
    while ((this.bytes[this.at] ?? 0xff) <= 0x20) this.at++;
    const { at, bytes } = this;
    const first = bytes[at];
    if (first === undefined) return { at, kind: "end", text: "the end" };
    if (first === 0x28 || first === 0x29) {
      this.at++;
      return first === 0x28 ? { at, kind: "open", text: "`(`" } : { at, kind: "close", text: "`)`" };
    }
    if (first === 0x22) return this.#quoted(at);
    return (first === 0x23 ? this.#byLength(at) : undefined) ?? this.#bare(at);
  }

  #bare(at: number): Token {
    let end = at;
    while ((this.bytes[end] ?? 0) > 0x20 && this.bytes[end] !== 0x28 && this.bytes[end] !== 0x29) end++;
    this.at = end;
    return { at, kind: "bare", text: textOf(this.bytes.subarray(at, end)) ?? fail(at, "text that is not UTF-8") };
  }

  /** Reads a quoted string. Only the quote itself is escaped. */
  #quoted(at: number): Token {
    let end = at + 1;
    while (this.bytes[end] !== 0x22) {
      if (this.bytes[end] === undefined) throw new DecodeError("truncated", "the content ends within a quoted string", this.bytes.length);
      end += this.bytes[end] === 0x5c && this.bytes[end + 1] === 0x22 ? 2 : 1;
    }
    this.at = end + 1;
    const text = textOf(this.bytes.subarray(at + 1, end)) ?? fail(at, "text that is not UTF-8");
    return { at, kind: "quoted", text: text.replaceAll('\\"', '"') };
  }

  /** Reads a string by length: `#`, digits, `"`, and that many bytes. */
  #byLength(at: number): Token | undefined {
    let end = at + 1;
    let length = 0;
    for (let digit = this.bytes[end] ?? 0; digit >= 0x30 && digit <= 0x39; digit = this.bytes[++end] ?? 0) length = length * 10 + digit - 0x30;
    if (end === at + 1 || this.bytes[end] !== 0x22) return undefined;
    const start = end + 1;
    if (start + length > this.bytes.length) throw new DecodeError("truncated", "the content ends within a byte-length-encoded string", this.bytes.length);
    this.at = start + length;
    const bytes = this.bytes.slice(start, start + length);
    const text = textOf(bytes);
    return text === undefined ? { at, kind: "bytes", text: "bytes", bytes } : { at, kind: "quoted", text };
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function fail(at: number, what: string): never {
  throw new DecodeError("malformed", what, at);
}

function expected(token: Token, what: string): never {
  return fail(token.at, `expected ${what}, found ${token.kind === "bare" ? `\`${token.text}\`` : token.kind === "quoted" ? "a quoted string" : token.text}`);
}

/** Quantifiers permitted at the start of a formula. In SL2 they precede all else, universal ones first. */
type Prenex = "any" | "exists" | "none";

class Parser {
  readonly #tokens: Tokens;
  readonly #profile: number;
  readonly #variables: string[] = [];
  #depth = 0;

  constructor(text: string, profile: SlProfile) {
    this.#tokens = new Tokens(utf8(text));
    this.#profile = SL_PROFILES.indexOf(profile);
  }

  content(): Value[] {
    this.#open("`(`, which begins the content");
    const expressions = [this.#expression()];
    while (!this.#atClose()) expressions.push(this.#expression());
    this.#close();
    const token = this.#tokens.next();
    if (token.kind !== "end") fail(token.at, "text follows the content");
    return expressions;
  }

  #open(what: string): number {
    const token = this.#tokens.next();
    if (token.kind !== "open") expected(token, what);
    if (++this.#depth > LEVELS_MAX) throw new DecodeError("too-deep", `nested deeper than ${LEVELS_MAX} levels`, token.at);
    return token.at;
  }

  #close(): void {
    const token = this.#tokens.next();
    if (token.kind !== "close") expected(token, "`)`");
    this.#depth--;
  }

  #atClose(): boolean {
    return this.#tokens.peek().kind === "close";
  }

  /** Reads an opening bracket and its symbol. A quoted symbol is not an operator. */
  #head(): { readonly at: number; readonly name: string; readonly operator: string } {
    const at = this.#open("`(`");
    const token = this.#tokens.next();
    if (token.kind === "bare" && isWord(token.text)) return { at, name: token.text, operator: token.text };
    return token.kind === "quoted" ? { at, name: token.text, operator: "" } : expected(token, "an operator or a symbol");
  }

  /** Returns the operator after the next bracket, without reading it. */
  #peekOperator(): string {
    const { at } = this.#tokens;
    const isOpen = this.#tokens.next().kind === "open";
    const token = isOpen ? this.#tokens.next() : undefined;
    this.#tokens.at = at;
    return token?.kind === "bare" ? token.text : "";
  }

  /** Refuses a construct that the profile lacks. */
  #require(profile: SlProfile, at: number, construct: string): void {
    if (this.#profile < SL_PROFILES.indexOf(profile)) fail(at, `${SL_PROFILES[this.#profile]} has no ${construct}`);
  }

  #expression(): Value {
    const operator = this.#peekOperator();
    if (REFERENTIAL.includes(operator)) return this.#identifying();
    return ACTIONS.includes(operator) ? this.#action() : this.#formula("any");
  }

  #formula(prenex: Prenex): Value {
    if (this.#tokens.peek().kind !== "open") return this.#proposition();
    const { at, name, operator } = this.#head();
    const formula = this.#compound(at, name, operator, prenex);
    this.#close();
    return formula;
  }

  #compound(at: number, name: string, operator: string, prenex: Prenex): Value {
    if (QUANTIFIERS.includes(operator)) return this.#quantified(at, operator, prenex);
    if (BINARY.includes(operator)) {
      this.#require(operator === "and" || operator === "or" ? "fipa-sl1" : "fipa-sl2", at, operator);
      return term(operator, this.#formula("none"), this.#formula("none"));
    }
    if (MODAL.includes(operator)) {
      this.#require("fipa-sl2", at, operator);
      return term(operator, this.#term(), this.#formula("any"));
    }
    if (HAPPENS.includes(operator)) return this.#happens(at, operator);
    if (operator === "not") {
      this.#require("fipa-sl1", at, operator);
      return term(operator, this.#formula("none"));
    }
    if (operator === "=" || operator === "result") return term(operator, this.#term(), this.#term());
    if (OF_FORMULAS.includes(operator)) fail(at, `expected a formula, found \`(${name}\``);
    const args = [this.#term()];
    while (!this.#atClose()) args.push(this.#term());
    return term(name, ...args);
  }

  #quantified(at: number, operator: string, prenex: Prenex): Value {
    this.#require("fipa-sl2", at, operator);
    const isAllowed = operator === "forall" ? prenex === "any" : prenex !== "none";
    if (!isAllowed) this.#require("fipa-sl", at, "quantifier that is not in front, universal ones first");
    const token = this.#tokens.next();
    if (token.kind !== "bare" || !/^\?./.test(token.text)) expected(token, "a variable");
    return term(operator, this.#variable(token.text.slice(1)), this.#formula(operator === "exists" ? "exists" : "any"));
  }

  #happens(at: number, operator: string): Value {
    if (operator === "feasible") this.#require("fipa-sl2", at, operator);
    const action = this.#action();
    if (this.#atClose()) return term(operator, action);
    this.#require("fipa-sl2", at, "action with a formula");
    return term(operator, action, this.#formula("any"));
  }

  #proposition(): Value {
    const token = this.#tokens.next();
    if (token.kind === "quoted" || (token.kind === "bare" && isWord(token.text))) return atom(token.text);
    return expected(token, "an expression");
  }

  #identifying(): Value {
    const { at, operator } = this.#head();
    this.#require("fipa-sl2", at, operator);
    const identifying = term(operator, this.#term(), this.#formula("none"));
    this.#close();
    return identifying;
  }

  #action(): Value {
    const { at, name, operator } = this.#head();
    let action: Value;
    if (operator === "action") action = term(operator, this.#term(), this.#term());
    else if (ACTIONS.includes(operator)) {
      this.#require("fipa-sl2", at, operator);
      action = term(operator, this.#action(), this.#action());
    } else return fail(at, `expected an action, found \`(${name}\``);
    this.#close();
    return action;
  }

  #term(): Value {
    if (this.#tokens.peek().kind !== "open") return this.#constant();
    const operator = this.#peekOperator();
    if (REFERENTIAL.includes(operator)) return this.#identifying();
    if (ACTIONS.includes(operator)) return this.#action();
    const head = this.#head();
    const read = head.operator === "sequence" ? this.#terms() : head.operator === "set" ? term("set", ...this.#terms()) : this.#functional(head.name);
    this.#close();
    return read;
  }

  #terms(): Value[] {
    const terms: Value[] = [];
    while (!this.#atClose()) terms.push(this.#term());
    return terms;
  }

  #functional(name: string): Value {
    const isParameter = (token: Token): boolean => token.kind === "bare" && token.text.startsWith(":");
    if (!isParameter(this.#tokens.peek())) {
      const args = this.#terms();
      // A record, which differs from a word.
      return args.length === 0 ? { record: name, fields: [] } : term(name, ...args);
    }
    const fields: (readonly [string, Value])[] = [];
    while (!this.#atClose()) {
      const token = this.#tokens.next();
      if (!isParameter(token) || token.text.length < 2) expected(token, "`:parameter`");
      fields.push([token.text.slice(1), this.#term()]);
    }
    return { record: name, fields };
  }

  #constant(): Value {
    const token = this.#tokens.next();
    if (token.kind === "quoted") return token.text;
    if (token.kind === "bytes") return token.bytes ?? null;
    if (token.kind !== "bare") return expected(token, "a term");
    const { text, at } = token;
    if (/^\?./.test(text)) {
      this.#require("fipa-sl2", at, "variables");
      return this.#variable(text.slice(1));
    }
    const constant = numberOf(text) ?? timeOf(text);
    if (constant !== undefined) return constant;
    return isWord(text) ? atom(text) : expected(token, "a term");
  }

  /** Returns a variable. Its slot counts first appearances. */
  #variable(name: string): Variable {
    const known = this.#variables.indexOf(name);
    return { var: name, slot: known < 0 ? this.#variables.push(name) - 1 : known };
  }
}

function numberOf(text: string): Value | undefined {
  if (HEXADECIMAL.test(text)) {
    const magnitude = BigInt(text.replace(/^[+-]/, ""));
    if (!isInt64(magnitude)) return undefined;
    return text.startsWith("-") ? -magnitude : magnitude;
  }
  const isInteger = INTEGER.test(text);
  // A 64-bit number has at most 20 digits.
  const n = isInteger && text.length <= 25 ? BigInt(text.replace(/^\+/, "")) : undefined;
  if (n !== undefined && isInt64(n)) return n;
  const nearest = Number(text);
  return (isInteger || FLOAT.test(text)) && Number.isFinite(nearest) ? nearest : undefined;
}

/** Decodes a time. An invalid date stays text. */
function timeOf(text: string): Value | undefined {
  const parts = TIME.exec(text);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = parts.slice(2, 9).map(Number);
  const clock = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
  if (parts[1] !== "") {
    const span = (year * 365 + month * 30 + day) * DAY_MS + clock;
    return term("duration", BigInt(parts[1] === "-" ? -span : span));
  }
  const midnight = new Date(Date.UTC(year, month - 1, day));
  const isDay = year >= 1970 && midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === day;
  const zone = zoneHours(parts[9] ?? "");
  const moment = midnight.getTime() + clock - (zone ?? 0) * 3_600_000;
  if (!isDay || hour > 23 || minute > 59 || second > 60 || zone === undefined || moment < 0) return text;
  return term("datetime", BigInt(moment));
}

/** Returns the hours that a zone is ahead of UTC. */
function zoneHours(letter: string): number | undefined {
  const zone = letter.toUpperCase();
  if (zone === "" || zone === "Z") return 0;
  const [east, west] = ["ABCDEFGHIKLM".indexOf(zone), "NOPQRSTUVWXY".indexOf(zone)];
  return east >= 0 ? east + 1 : west >= 0 ? -west - 1 : undefined;
}

/**
 * Decodes SL text to a list of expressions.
 *
 * @throws {@link DecodeError} if the text is invalid, or uses a construct that the profile lacks.
 */
export function slToValue(text: string, profile: SlProfile = "fipa-sl"): Value {
  return new Parser(text, profile).content();
}

// ---- Writing

function inexpressible(value: Value): never {
  throw new EncodeError(`SL has no expression for a value of the kind ${kindOf(value) ?? typeof value}`);
}

function symbol(name: string, reserved: readonly string[]): string {
  return isWord(name) && !reserved.includes(name) ? name : literal(name);
}

/** Writes a string in quotes, or by its length if it ends in a backslash. */
function literal(text: string): string {
  return text.endsWith("\\") ? `#${utf8(text).length}"${text}` : `"${text.replaceAll('"', '\\"')}"`;
}

const group = (...parts: readonly string[]): string => `(${parts.join(" ")})`;

/** Returns a term without namespace, negation and annotations; undefined for others. */
function plainTerm(value: Value): Structure | undefined {
  if (!isTerm(value) || value.negated || value.namespace !== undefined || value.annots?.length || value.annotTail) return undefined;
  return value;
}

/** Writer of values at a nesting depth. */
class Printer {
  constructor(readonly depth: number) {}

  get #down(): Printer {
    if (this.depth >= LEVELS_MAX) throw new EncodeError(`content nested deeper than ${LEVELS_MAX} levels`);
    return new Printer(this.depth + 1);
  }

  expression(value: Value): string {
    return this.#identifying(value) ?? this.#action(value) ?? this.formula(value);
  }

  #identifying(value: Value): string | undefined {
    const found = plainTerm(value);
    const [what, description] = found?.args ?? [];
    if (!found || !REFERENTIAL.includes(found.term) || found.args.length !== 2 || what === undefined || description === undefined) return undefined;
    if (!["bool", "atom", "term"].includes(kindOf(description) ?? "")) return undefined;
    const inner = this.#down;
    return group(found.term, inner.term(what), inner.formula(description));
  }

  /** Returns true if a value has the form of an action. Checking first avoids exponential backtracking. */
  #isAction(value: Value): boolean {
    const found = plainTerm(value);
    if (!found || found.args.length !== 2 || !ACTIONS.includes(found.term)) return false;
    const inner = this.#down;
    return found.term === "action" || found.args.every((part) => inner.#isAction(part));
  }

  #action(value: Value): string | undefined {
    return this.#isAction(value) ? this.#certainAction(value as Structure) : undefined;
  }

  #certainAction({ term: name, args }: Structure): string {
    const inner = this.#down;
    return group(name, ...args.map((part) => (name === "action" ? inner.term(part) : inner.#certainAction(part as Structure))));
  }

  formula(value: Value): string {
    if (typeof value === "boolean") return String(value);
    if (isAtom(value)) return symbol(value.atom, ["true", "false"]);
    const found = plainTerm(value) ?? inexpressible(value);
    const inner = this.#down;
    return inner.#compound(found) ?? group(symbol(found.term, OF_FORMULAS), ...found.args.map((arg) => inner.term(arg)));
  }

  /** Writes an operator's formula; undefined if the term is an ordinary predicate. */
  #compound({ term: name, args }: Structure): string | undefined {
    const [one, other] = args;
    if (one === undefined || args.length > 2) return undefined;
    if (HAPPENS.includes(name)) {
      const action = this.#action(one);
      return action === undefined ? undefined : group(name, action, ...(other === undefined ? [] : [this.formula(other)]));
    }
    if (other === undefined) return name === "not" ? group(name, this.formula(one)) : undefined;
    if (name === "=" || name === "result") return group(name, this.term(one), this.term(other));
    if (BINARY.includes(name)) return group(name, this.formula(one), this.formula(other));
    if (QUANTIFIERS.includes(name) && kindOf(one) === "var") return group(name, variableText(one as Variable), this.formula(other));
    return MODAL.includes(name) ? group(name, this.term(one), this.formula(other)) : undefined;
  }

  term(value: Value): string {
    switch (kindOf(value)) {
      case "bool":
      case "int":
        return String(value);
      case "num":
        return doubleText(value as number);
      case "atom": {
        const { atom: name } = value as { readonly atom: string };
        return name === "set" ? "(set)" : isWord(name) ? name : literal(name);
      }
      case "str":
        return literal(value as string);
      case "list":
        return group("sequence", ...this.#all(value as readonly Value[]));
      case "var":
        return variableText(value as Variable);
      case "record":
        return this.#frame(value as RecordValue);
      case "term":
        return this.#compoundTerm(value);
      default:
        return inexpressible(value);
    }
  }

  #all(values: readonly Value[]): string[] {
    const inner = this.#down;
    return values.map((value) => inner.term(value));
  }

  #frame(value: RecordValue): string {
    const inner = this.#down;
    const fields = value.fields.flatMap(([name, item]) => (name !== "" && isBare(`:${name}`) ? [`:${name}`, inner.term(item)] : inexpressible(value)));
    return group(symbol(value.record, OF_TERMS), ...fields);
  }

  #compoundTerm(value: Value): string {
    const special = this.#identifying(value) ?? this.#action(value);
    if (special !== undefined) return special;
    const found = plainTerm(value) ?? inexpressible(value);
    const [ms] = found.args;
    const time = found.args.length === 1 && typeof ms === "bigint" ? timeText(found.term, ms) : undefined;
    return time ?? group(found.term === "set" ? "set" : symbol(found.term, OF_TERMS), ...this.#all(found.args));
  }
}

function variableText({ var: name }: Variable): string {
  return name !== "" && isBare(`?${name}`) ? `?${name}` : inexpressible({ var: name, slot: 0 });
}

/** Writes a double so that it differs from an integer. */
function doubleText(n: number): string {
  if (!Number.isFinite(n)) return inexpressible(n);
  const magnitude = Math.abs(n);
  if (magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e16)) return n.toExponential().replace("e+", "e");
  const text = Object.is(n, -0) ? "-0" : String(n);
  return Number.isInteger(n) ? `${text}.0` : text;
}

/** First time that needs five digits for its year. */
const BEYOND_MS = 253_402_300_800_000n;

function timeText(name: string, ms: bigint): string | undefined {
  if (name === "datetime" && ms >= 0n && ms < BEYOND_MS) return new Date(Number(ms)).toISOString().replaceAll(/[-:.]/g, "");
  if (name !== "duration") return undefined;
  const span = ms < 0n ? -ms : ms;
  const days = Number(span / BigInt(DAY_MS));
  const [years, rest] = [Math.floor(days / 365), days % 365];
  if (years > 9999) return undefined;
  // Twelve months of 30 days do not fill a year, so the last days count as days.
  const months = Math.min(11, Math.floor(rest / 30));
  const clock = new Date(Number(span % BigInt(DAY_MS))).toISOString().slice(11, 23).replaceAll(/[:.]/g, "");
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${ms < 0n ? "-" : "+"}${String(years).padStart(4, "0")}${two(months)}${two(rest - months * 30)}T${clock}`;
}

/**
 * Encodes content as SL text: the elements of a list as expressions, or a single expression.
 *
 * @throws {@link EncodeError} if SL, or the profile, cannot express it.
 */
export function valueToSl(content: Value, profile: SlProfile = "fipa-sl"): string {
  const expressions = Array.isArray(content) ? (content as readonly Value[]) : [content];
  if (expressions.length === 0) throw new EncodeError("content without an expression");
  const text = group(...expressions.map((value) => new Printer(1).expression(value)));
  try {
    slToValue(text, profile);
  } catch (error) {
    throw new EncodeError(`cannot express the content in ${profile}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return text;
}
