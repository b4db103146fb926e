import { Aid, type AidLike } from "./aid.js";
import type { Message, Performative } from "./message.js";

/**
 * Selection of messages. All given members must match; a performative may be one of several.
 *
 * ```ts
 * const answers: Template = { performative: ["propose", "refuse"], conversationId: "cnp-1", not: { sender: "eve" } };
 * ```
 */
export interface Template {
  readonly performative?: Performative | readonly Performative[];
  readonly conversationId?: string;
  readonly ontology?: string;
  readonly protocol?: string;
  readonly language?: string;
  readonly inReplyTo?: string;
  readonly sender?: AidLike;
  /** An agent, topic or group among the receivers. */
  readonly receiver?: AidLike;
  /** Templates that must all match. */
  readonly and?: readonly Template[];
  /** Templates of which one must match. */
  readonly or?: readonly Template[];
  /** Template that must not match. */
  readonly not?: Template;
}

const TEXTS = ["conversationId", "ontology", "protocol", "language", "inReplyTo"] as const;

/** Returns true if a message matches a template. `{}` matches all. */
export function matches(template: Template, message: Message): boolean {
  const { performative, sender, receiver, and, or, not } = template;
  if (performative !== undefined) {
    const fits = typeof performative === "string" ? performative === message.performative : performative.includes(message.performative);
    if (!fits) return false;
  }
  for (const name of TEXTS) {
    const wanted = template[name];
    if (wanted !== undefined && wanted !== message[name]) return false;
  }
  if (sender !== undefined && !message.sender.equals(sender)) return false;
  if (receiver !== undefined) {
    const aid = Aid.of(receiver);
    if (!message.receivers.some((other) => other.equals(aid))) return false;
  }
  if (and?.some((part) => !matches(part, message))) return false;
  if (or && !or.some((part) => matches(part, message))) return false;
  return not === undefined || !matches(not, message);
}
