import { Aid, type AidLike } from "./aid.js";
import type { Message, Performative } from "./message.js";

/**
 * Which messages somebody is ready to take. All members that are given must fit; a performative may be one of several.
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
  /** This agent, topic or group is among the receivers. */
  readonly receiver?: AidLike;
  /** All of these fit. */
  readonly and?: readonly Template[];
  /** One of these fits. */
  readonly or?: readonly Template[];
  /** This does not fit. */
  readonly not?: Template;
}

const TEXTS = ["conversationId", "ontology", "protocol", "language", "inReplyTo"] as const;

/** Whether a message fits a template; `{}` fits all. */
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
