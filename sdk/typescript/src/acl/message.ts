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

/** The purpose of a message: a performative of FIPA, of KQML, or any other word. */
export type Performative = (typeof PERFORMATIVES)[number] | (typeof KQML_PERFORMATIVES)[number] | (string & {});

/** Optional parameters of a message (FIPA00061). */
export interface MessageParameters {
  /** Receivers of the answer, if not the sender. */
  readonly replyTo?: readonly Aid[] | undefined;
  readonly language?: string | undefined;
  readonly encoding?: string | undefined;
  readonly ontology?: string | undefined;
  /** Interaction protocol, such as `fipa-contract-net`. */
  readonly protocol?: string | undefined;
  readonly conversationId?: string | undefined;
  /** Identifier for an answer to quote. */
  readonly replyWith?: string | undefined;
  /** Identifier that this answer quotes. */
  readonly inReplyTo?: string | undefined;
  /** Time after which an answer is useless: milliseconds since 1970-01-01 UTC. */
  readonly replyByMs?: number | undefined;
  /** `X-` parameters, in order. */
  readonly user?: readonly (readonly [string, Value])[] | undefined;
}

/** An ACL message (FIPA00061). */
export interface Message extends MessageParameters {
  readonly performative: Performative;
  /** Sender; {@link Aid.NOBODY} if unset. A node then uses its session's agent. */
  readonly sender: Aid;
  readonly receivers: readonly Aid[];
  readonly content: Value;
}

/** A message as programs write it: agents by name, defaults left out. */
export interface Draft extends Omit<MessageParameters, "replyTo"> {
  readonly performative: Performative;
  readonly sender?: AidLike | undefined;
  readonly receivers?: AidLike | readonly AidLike[] | undefined;
  readonly content?: Value | undefined;
  readonly replyTo?: AidLike | readonly AidLike[] | undefined;
}

/** Converts one or several agents to identifiers. */
export function agents(some: AidLike | readonly AidLike[] | undefined): readonly Aid[] {
  if (some === undefined) return [];
  return Array.isArray(some) ? some.map((one: AidLike) => Aid.of(one)) : [Aid.of(some as AidLike)];
}

const TEXTS = ["performative", "language", "encoding", "ontology", "protocol", "conversationId", "replyWith", "inReplyTo"] as const;

const isOptionalText = (value: unknown): boolean => value === undefined || typeof value === "string";

/**
 * Checks the types of a message that plain JavaScript may violate: the performative exists, and texts are texts.
 *
 * @throws {@link EncodeError} otherwise.
 */
export function checkTexts(message: { readonly [name in (typeof TEXTS)[number]]?: unknown }): void {
  if (typeof message.performative !== "string" || message.performative === "") throw new EncodeError("message without a performative");
  // Each by its name: looking members up by names in a loop takes longer than all else about a message.
  const areTexts =
    isOptionalText(message.language) &&
    isOptionalText(message.encoding) &&
    isOptionalText(message.ontology) &&
    isOptionalText(message.protocol) &&
    isOptionalText(message.conversationId) &&
    isOptionalText(message.replyWith) &&
    isOptionalText(message.inReplyTo);
  if (!areTexts) throw new EncodeError(`invalid message: ${TEXTS.find((name) => !isOptionalText(message[name]))} is not a text`);
}

/**
 * Builds a message from a draft.
 *
 * @throws {@link EncodeError} if an agent name is invalid, or the performative is missing.
 */
export function message(draft: Draft): Message {
  checkTexts(draft);
  const { sender } = draft;
  const built: Building = {
    performative: draft.performative,
    sender: sender === undefined ? Aid.NOBODY : Aid.of(sender),
    receivers: agents(draft.receivers),
    content: draft.content ?? null,
  };
  const answered = agents(draft.replyTo);
  if (answered.length > 0) built.replyTo = answered;
  setContext(built, draft);
  if (draft.replyWith !== undefined) built.replyWith = draft.replyWith;
  if (draft.inReplyTo !== undefined) built.inReplyTo = draft.inReplyTo;
  if (draft.replyByMs !== undefined) built.replyByMs = draft.replyByMs;
  if (draft.user !== undefined) built.user = draft.user;
  return built;
}

type Building = { -readonly [Member in keyof Message]: Message[Member] };

/** Copies what a reply keeps of its message. Each member by its name, because spreading takes longer. */
function setContext(built: Building, from: Pick<MessageParameters, "language" | "encoding" | "ontology" | "protocol" | "conversationId">): void {
  if (from.language !== undefined) built.language = from.language;
  if (from.encoding !== undefined) built.encoding = from.encoding;
  if (from.ontology !== undefined) built.ontology = from.ontology;
  if (from.protocol !== undefined) built.protocol = from.protocol;
  if (from.conversationId !== undefined) built.conversationId = from.conversationId;
}

/**
 * Builds the reply to a message: to `replyTo`, or else to the sender. It keeps conversation, protocol, ontology,
 * language and encoding, and quotes `replyWith` (FIPA00061 2.5).
 */
export function replyTo(asked: Message, from: AidLike, performative: Performative, content: Value = null): Message {
  const built: Building = {
    performative,
    sender: Aid.of(from),
    receivers: asked.replyTo && asked.replyTo.length > 0 ? asked.replyTo : [asked.sender],
    content,
  };
  setContext(built, asked);
  if (asked.replyWith !== undefined) built.inReplyTo = asked.replyWith;
  return built;
}
