/** A message that a person writes, and its form for the node (the JSON of conformance/acl/README.md). */
import { namesOf } from "./pattern.js";

export interface MessageDraft {
  readonly sender: string;
  readonly receivers: string;
  readonly performative: string;
  readonly content: string;
  /** Form of the content: an AgentSpeak term, text, or JSON values. */
  readonly contentIs: "term" | "text" | "json";
  readonly language: string;
  readonly ontology: string;
  readonly protocol: string;
  readonly conversation: string;
  readonly replyWith: string;
  readonly inReplyTo: string;
  /** Seconds from now; empty for no limit. */
  readonly replyByS: string;
}

export const BLANK: MessageDraft = {
  sender: "", receivers: "", performative: "inform", content: "", contentIs: "term", language: "", ontology: "", protocol: "",
  conversation: "", replyWith: "", inReplyTo: "", replyByS: "",
};

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** Returns the fault of a message for people; null if there is none. */
export function fault(draft: MessageDraft): string | null {
  if (draft.receivers.trim() === "") return "Enter a receiver.";
  if (!/^[A-Za-z][\w-]*$/.test(draft.performative)) return "A performative is one word, such as inform or askOne.";
  if (draft.replyByS !== "" && !(Number(draft.replyByS) > 0)) return "Reply by must be a number of seconds above 0.";
  try {
    contentOf(draft);
  } catch (error) {
    return `The content is invalid: ${error instanceof Error ? error.message : String(error)}`;
  }
  return null;
}

/** @throws {Error} If the message has a fault ({@link fault}). */
export function messageOf(draft: MessageDraft, nowMs: number): { [member: string]: Json } {
  const optional: [string, string][] = [
    ["sender", draft.sender], ["language", draft.language], ["ontology", draft.ontology], ["protocol", draft.protocol],
    ["conversation_id", draft.conversation], ["reply_with", draft.replyWith], ["in_reply_to", draft.inReplyTo],
  ];
  const message: { [member: string]: Json } = { performative: draft.performative, receivers: namesOf(draft.receivers) };
  const content = contentOf(draft);
  if (content !== undefined) message["content"] = content;
  for (const [member, text] of optional) if (text.trim() !== "") message[member] = text.trim();
  if (draft.replyByS !== "") message["reply_by_ms"] = Math.round(nowMs + Number(draft.replyByS) * 1000);
  return message;
}

function contentOf(draft: MessageDraft): Json | undefined {
  if (draft.content.trim() === "") return undefined;
  if (draft.contentIs === "text") return draft.content;
  if (draft.contentIs === "json") return JSON.parse(draft.content) as Json;
  return readTerm(draft.content);
}

/** Converts a message's JSON to a form, so that saved and received messages can be edited. */
export function draftOf(message: { readonly [member: string]: unknown }): MessageDraft {
  const text = (member: string) => (typeof message[member] === "string" ? (message[member] as string) : "");
  const name = (agent: unknown) => (typeof agent === "string" ? agent : String((agent as { name?: unknown } | null)?.name ?? ""));
  const receivers = Array.isArray(message["receivers"]) ? message["receivers"].map(name) : [];
  const content = message["content"] as Json | undefined;
  const [written, contentIs] = content === undefined ? ["", "term" as const] : contentFor(content);
  return {
    ...BLANK,
    sender: message["sender"] === undefined ? "" : name(message["sender"]),
    receivers: receivers.join(" "),
    performative: text("performative") || BLANK.performative,
    content: written,
    contentIs,
    language: text("language"),
    ontology: text("ontology"),
    protocol: text("protocol"),
    conversation: text("conversation_id"),
    replyWith: text("reply_with"),
    inReplyTo: text("in_reply_to"),
  };
}

/**
 * Returns the same text for equal values. The order of members, the slots of variables and the form of integers do not
 * matter: `1`, `{"num": 1}` and `{"int": "1"}` are equal.
 */
function canonical(value: Json, slots = new Map<Json, number>()): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, slots)).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (typeof value["num"] === "number") return JSON.stringify(value["num"]);
  if (typeof value["int"] === "string") return value["int"];
  if (typeof value["var"] === "string") {
    const slot = value["slot"] ?? 0;
    if (!slots.has(slot)) slots.set(slot, slots.size);
    return `${value["var"]}#${slots.get(slot)}`;
  }
  return `{${Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => `${name}:${canonical(inner, slots)}`).join()}}`;
}

/** Returns the content as text or as a term if that is lossless, else as JSON. */
function contentFor(content: Json): [string, MessageDraft["contentIs"]] {
  if (typeof content === "string") return [content, "text"];
  try {
    const term = writeTerm(content);
    if (canonical(readTerm(term)) === canonical(content)) return [term, "term"];
  } catch {
    // A term cannot express this content.
  }
  return [JSON.stringify(content, null, 2), "json"];
}

// ---- Terms, in the notation of values

/** Maximum nesting of terms. */
const LEVELS_MAX = 100;

class TermReader {
  #at = 0;
  #level = 0;
  /** Variables by name. Equal names are one variable. */
  readonly #slots = new Map<string, number>();
  #slotsUsed = 0;
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }

  all(): Json {
    const value = this.#value();
    this.#space();
    if (this.#at < this.#text.length) throw this.#wrong("an end");
    return value;
  }

  #wrong(expected: string): Error {
    const rest = this.#text.slice(this.#at, this.#at + 12);
    return new Error(`${expected} expected ${rest === "" ? "at the end" : `before “${rest}”`}`);
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #value(): Json {
    this.#space();
    if (++this.#level > LEVELS_MAX) throw new Error(`nested deeper than ${LEVELS_MAX} levels`);
    try {
      return this.#string() ?? this.#number() ?? this.#list() ?? this.#variable() ?? this.#structure();
    } finally {
      this.#level--;
    }
  }

  #string(): Json | undefined {
    const quoted = this.#match(/"(?:[^"\\]|\\.)*"/sy);
    return quoted === undefined ? undefined : unquote(quoted);
  }

  #number(): Json | undefined {
    const digits = this.#match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (digits === undefined) return undefined;
    const value = Number(digits);
    if (/^-?\d+$/.test(digits)) return Number.isSafeInteger(value) ? value : { int: BigInt(digits).toString() };
    return Number.isInteger(value) ? { num: value } : value;
  }

  #list(): Json | undefined {
    if (this.#match(/\[/y) === undefined) return undefined;
    const list = this.#items("]");
    this.#space();
    if (this.#match(/\|/y) === undefined) {
      if (this.#match(/\]/y) === undefined) throw this.#wrong("]");
      return list;
    }
    const tail = this.#value();
    this.#space();
    if (this.#match(/\]/y) === undefined) throw this.#wrong("]");
    return { list, tail };
  }

  /** Reads values with commas, up to the closing bracket or bar. */
  #items(close: string): Json[] {
    const items: Json[] = [];
    this.#space();
    if (this.#text[this.#at] === close) return items;
    do {
      items.push(this.#value());
      this.#space();
    } while (this.#match(/,/y) !== undefined);
    return items;
  }

  #variable(): Json | undefined {
    const name = this.#match(/[A-Z_]\w*/y);
    if (name === undefined) return undefined;
    // Each `_` is a new variable.
    const known = name === "_" ? undefined : this.#slots.get(name);
    const slot = known ?? this.#slotsUsed++;
    this.#slots.set(name, slot);
    return { var: name, slot };
  }

  #structure(): Json {
    const negated = this.#match(/~/y) !== undefined;
    const quoted = this.#match(/'(?:[^'\\]|\\.)*'/sy);
    const name = quoted === undefined ? this.#match(/[a-z][\w.-]*[\w]|[a-z]/y) : unquote(quoted);
    if (name === undefined) throw this.#wrong("a term");
    let args: Json[] = [];
    if (this.#match(/\(/y) !== undefined) {
      args = this.#items(")");
      if (this.#match(/\)/y) === undefined) throw this.#wrong(")");
    }
    let annots: Json[] = [];
    if (this.#match(/\[/y) !== undefined) {
      annots = this.#items("]");
      if (this.#match(/\]/y) === undefined) throw this.#wrong("]");
    }
    if (args.length === 0 && annots.length === 0 && !negated) return name === "true" || name === "false" ? name === "true" : { atom: name };
    return { term: name, ...(args.length > 0 && { args }), ...(negated && { negated }), ...(annots.length > 0 && { annots }) };
  }
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(/\\(.)/gs, (_, c: string) => ({ n: "\n", t: "\t", r: "\r" })[c] ?? c);
}

/** @throws {Error} If the text is not a term. */
export function readTerm(text: string): Json {
  return new TermReader(text).all();
}

/** Formats a value as AgentSpeak. Values without a notation become JSON. */
export function writeTerm(value: Json): string {
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeTerm).join(",")}]`;
  const { atom, term, int, num, list, tail } = value;
  if (typeof atom === "string") return writeName(atom);
  if (typeof int === "string") return int;
  // Jason omits the fraction of whole numbers.
  if (num !== undefined) return String(num);
  if (typeof value["var"] === "string") return value["var"];
  if (Array.isArray(list)) return `[${list.map(writeTerm).join(",")}${tail === undefined ? "" : `|${writeTerm(tail)}`}]`;
  if (typeof value["record"] === "string" && Array.isArray(value["fields"])) {
    const fields = value["fields"].map((field) => (Array.isArray(field) ? `${writeName(String(field[0]))}: ${writeTerm(field[1] ?? null)}` : ""));
    return `${writeName(value["record"])}{${fields.join(", ")}}`;
  }
  if (typeof term !== "string") return JSON.stringify(value);
  const part = (items: Json | undefined, open: string, close: string) => (Array.isArray(items) && items.length > 0 ? `${open}${items.map(writeTerm).join(",")}${close}` : "");
  return `${value["negated"] === true ? "~" : ""}${writeName(term)}${part(value["args"], "(", ")")}${part(value["annots"], "[", "]")}`;
}

function writeName(name: string): string {
  return /^[a-z]([\w.-]*\w)?$/.test(name) ? name : `'${name.replaceAll(/[\\']/g, "\\$&")}'`;
}
