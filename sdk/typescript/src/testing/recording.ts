/** Recordings of conversations: messages with their times, as text, and expectations about them. */
import { Aid, type AidLike } from "../acl/aid.js";
import { WhimbrelError } from "../acl/errors.js";
import type { Message, MessageParameters } from "../acl/message.js";
import { equalValues } from "../acl/order.js";
import { isAtom, isMap, isRecord, isTerm, type Value } from "../acl/value.js";

/** Messages that a failure shows: the last ones. */
const SHOWN_MAX = 40;
/** Characters of a content in a line of text. */
const CONTENT_MAX = 60;

/** A message of a recording. */
export interface RecordedMessage {
  /** Milliseconds of virtual time. */
  readonly atMs: number;
  readonly message: Message;
}

/** Messages that an agent is to say. */
export interface Expected extends Omit<MessageParameters, "replyTo" | "user"> {
  readonly performative?: string;
  /** Content, or a function that returns true for it. */
  readonly content?: Value | ((content: Value) => boolean);
  /** One of the receivers. */
  readonly to?: AidLike;
  /** Exact number of such messages; 0 if there should be none. */
  readonly times?: number;
}

/** Messages in the order in which they were sent. */
export class Recording {
  readonly #messages: RecordedMessage[] = [];

  /** Adds a message. @internal */
  add(atMs: number, message: Message): void {
    this.#messages.push({ atMs, message });
  }

  /** Returns the messages between agents; with those to and from `df` and `ams` if `directories` is true. */
  messages({ directories = false }: { readonly directories?: boolean } = {}): readonly RecordedMessage[] {
    return directories ? this.#messages : this.#messages.filter(({ message }) => !isOfDirectories(message));
  }

  /** Returns the messages as lines: time in seconds, sender, receivers, performative and content. */
  text(options?: { readonly directories?: boolean }): string {
    return this.messages(options).map(line).join("\n");
  }

  /**
   * Asserts that an agent said such a message, and returns the last one.
   *
   * @throws {@link ExpectationError}, which shows the conversation, otherwise.
   */
  assertSays(agent: AidLike, expected: Expected = {}): Message | undefined {
    const { times, ...rest } = expected;
    const isMeant = (message: Message): boolean => message.sender.equals(agent) && fits(message, rest);
    const found = this.#messages.filter(({ message }) => isMeant(message));
    if (times === undefined ? found.length > 0 : found.length === times) return found.at(-1)?.message;
    const what = times === undefined ? "did not say" : times === 0 ? `said ${number(found.length)}, but should not have said` : `said ${number(found.length)}, not ${number(times)},`;
    const shown = this.#messages.filter(({ message }) => !isOfDirectories(message) || isMeant(message));
    const lines = shown.slice(-SHOWN_MAX).map((one) => `${isMeant(one.message) ? "> " : "  "}${line(one)}`);
    if (shown.length > SHOWN_MAX) lines.unshift(`  ... ${shown.length - SHOWN_MAX} earlier messages`);
    throw new ExpectationError(`${Aid.of(agent)} ${what} ${worded(rest)}\nThe conversation, with times in seconds:\n${lines.join("\n") || "  no agent said anything"}`);
  }
}

/** An agent did not say what a test expects. */
export class ExpectationError extends WhimbrelError {
  override readonly name: string = "ExpectationError";
}

const isService = ({ name }: Aid): boolean => name === "df" || name === "ams";

/** Returns true for messages to and from the directories, but not for reports of undelivered messages. */
function isOfDirectories({ sender, receivers, ontology }: Message): boolean {
  return isService(sender) ? ontology !== undefined : receivers.every(isService);
}

function fits(message: Message, { performative, content, to, ...parameters }: Expected): boolean {
  if (performative !== undefined && message.performative !== performative) return false;
  if (to !== undefined && !message.receivers.some((receiver) => receiver.equals(to))) return false;
  if (typeof content === "function" ? !content(message.content) : content !== undefined && !equalValues(message.content, content)) return false;
  return Object.entries(parameters).every(([name, value]) => value === undefined || message[name as keyof MessageParameters] === value);
}

function worded({ performative, content, to, ...parameters }: Expected): string {
  const parts = [performative ?? "any message"];
  if (content !== undefined) parts.push(typeof content === "function" ? content.name || "content that fits" : shortened(content));
  if (to !== undefined) parts.push(`to ${Aid.of(to)}`);
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) parts.push(`with ${name} ${value}`);
  return parts.join(" ");
}

function line({ atMs, message: { sender, receivers, performative, content } }: RecordedMessage): string {
  return `${(atMs / 1000).toFixed(3).padStart(9)}  ${sender} -> ${receivers.join(", ")}: ${performative} ${shortened(content)}`;
}

function number(count: number): string {
  return ["never", "once", "twice"][count] ?? `${count} times`;
}

function shortened(content: Value): string {
  const text = content === null ? "" : (typeof content === "string" ? content : shown(content)).split(/\s+/).join(" ").trim();
  return text.length <= CONTENT_MAX ? text : `${text.slice(0, CONTENT_MAX - 1)}…`;
}

/** Returns a value for people: terms as AgentSpeak writes them, all else as JavaScript does. */
function shown(value: Value): string {
  if (isAtom(value)) return value.atom;
  if (isTerm(value)) return `${value.negated ? "~" : ""}${value.term}(${value.args.map(shown).join(", ")})`;
  if (isRecord(value)) return `${value.record}(${value.fields.map(([name, item]) => `${name}: ${shown(item)}`).join(", ")})`;
  if (isMap(value)) return `{${value.map.map(([key, item]) => `${shown(key)}: ${shown(item)}`).join(", ")}}`;
  if (Array.isArray(value)) return `[${(value as readonly Value[]).map(shown).join(", ")}]`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
