/** Open conversations of an agent. The oldest one is forgotten. */
export const CONVERSATIONS_OPEN_MAX = 10_000;
/** Ended conversations that an agent remembers, to tell late messages from unknown ones. */
export const CONVERSATIONS_ENDED_MAX = 1000;
/**
 * Own messages with a `replyWith` that a conversation remembers, so that an answer to an older one is known as late.
 * The oldest is forgotten.
 */
export const QUESTIONS_MAX = 64;
/** Default time for an answer, or for the result of accepted work. */
export const PROTOCOL_ANSWER_MS = 10_000;
