import { Aid, type AidLike } from "./aid.js";
import { EncodeError } from "./errors.js";
import type { Value } from "./value.js";

/** The 22 performatives of FIPA00037. */
export const PERFORMATIVES = [
  "accept-proposal",
  "agree",
  "cancel",
  "cfp",
  "confirm",
  "disconfirm",
  "failure",
  "inform",
  "inform-if",
  "inform-ref",
  "not-understood",
  "propagate",
  "propose",
  "proxy",
  "query-if",
  "query-ref",
  "refuse",
  "reject-proposal",
  "request",
  "request-when",
  "request-whenever",
  "subscribe",
] as const;

/** KQML's performatives, as AgentSpeak uses them. */
export const KQML_PERFORMATIVES = [
  "tell",
  "untell",
  "achieve",
  "unachieve",
  "askOne",
  "askAll",
  "askHow",
  "tellHow",
  "untellHow",
  "signal",
] as const;

/** What a message does: one of FIPA's performatives, one of KQML's, or any other word. */
export type Performative = (typeof PERFORMATIVES)[number] | (typeof KQML_PERFORMATIVES)[number] | (string & {});

/** What messages have besides a performative, a sender, receivers and content (FIPA00061). */
export interface MessageParameters {
  /** Who is to be answered, if not the sender. */
  readonly replyTo?: readonly Aid[] | undefined;
  readonly language?: string | undefined;
  readonly encoding?: string | undefined;
  readonly ontology?: string | undefined;
  /** The interaction protocol, `fipa-contract-net`. */
  readonly protocol?: string | undefined;
  readonly conversationId?: string | undefined;
  /** What an answer is to quote. */
  readonly replyWith?: string | undefined;
  /** What this answer quotes. */
  readonly inReplyTo?: string | undefined;
  /** Until when an answer is of use: milliseconds since 1970-01-01 UTC. */
  readonly replyByMs?: number | undefined;
  /** `X-` parameters, in their order. */
  readonly user?: readonly (readonly [string, Value])[] | undefined;
}

/** An ACL message (FIPA00061). */
export interface Message extends MessageParameters {
  readonly performative: Performative;
  /** {@link Aid.NOBODY} if the message does not say; to a node that is its agent. */
  readonly sender: Aid;
  readonly receivers: readonly Aid[];
  readonly content: Value;
}

/** A message as one writes it down: agents by their names, and what goes without saying left out. */
export interface Draft extends Omit<MessageParameters, "replyTo"> {
  readonly performative: Performative;
  readonly sender?: AidLike | undefined;
  readonly receivers?: AidLike | readonly AidLike[] | undefined;
  readonly content?: Value | undefined;
  readonly replyTo?: AidLike | readonly AidLike[] | undefined;
}

/** Several agents, of which one may stand for itself. */
export function agents(some: AidLike | readonly AidLike[] | undefined): readonly Aid[] {
  if (some === undefined) return [];
  return Array.isArray(some) ? some.map((one: AidLike) => Aid.of(one)) : [Aid.of(some as AidLike)];
}

const TEXTS = ["performative", "language", "encoding", "ontology", "protocol", "conversationId", "replyWith", "inReplyTo"] as const;

/**
 * Looks over what JavaScript does not: that there is a performative, and that texts are texts.
 *
 * @throws {@link EncodeError} if not.
 */
export function checkTexts(message: { readonly [name in (typeof TEXTS)[number]]?: unknown }): void {
  if (typeof message.performative !== "string" || message.performative === "") throw new EncodeError("a message without a performative");
  for (const name of TEXTS) if (message[name] !== undefined && typeof message[name] !== "string") throw new EncodeError(`a message whose ${name} is no text`);
}

/**
 * The message that a draft means.
 *
 * @throws {@link EncodeError} if a text is no agent's name, or there is no performative.
 */
export function message(draft: Draft): Message {
  const { sender, receivers, content, replyTo, ...rest } = draft;
  checkTexts(draft);
  const answered = agents(replyTo);
  return {
    ...rest,
    sender: sender === undefined ? Aid.NOBODY : Aid.of(sender),
    receivers: agents(receivers),
    content: content ?? null,
    ...(answered.length > 0 && { replyTo: answered }),
  };
}

/**
 * The answer to a message: to `replyTo` or else the sender, in the same conversation, protocol, ontology, language and
 * encoding, quoting `replyWith` (FIPA00061 2.5).
 */
export function replyTo(asked: Message, from: AidLike, performative: Performative, content: Value = null): Message {
  const { language, encoding, ontology, protocol, conversationId, replyWith } = asked;
  return {
    performative,
    sender: Aid.of(from),
    receivers: asked.replyTo && asked.replyTo.length > 0 ? asked.replyTo : [asked.sender],
    content,
    ...(language !== undefined && { language }),
    ...(encoding !== undefined && { encoding }),
    ...(ontology !== undefined && { ontology }),
    ...(protocol !== undefined && { protocol }),
    ...(conversationId !== undefined && { conversationId }),
    ...(replyWith !== undefined && { inReplyTo: replyWith }),
  };
}
