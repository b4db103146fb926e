/** Messages that wait in an agent's mailbox for somebody who takes them; who sends more hears `failure`. */
export const MAILBOX_MESSAGES_MAX = 10_000;
/** How long an answer is waited for, if nobody says otherwise. */
export const ANSWER_MS = 10_000;
/** The longest that a timer of JavaScript can wait. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
/**
 * Memory that the messages may take which an agent was given and is not done with: they wait, or are being handled. Estimated; who sends
 * more hears `failure`.
 */
export const MAILBOX_BYTES_MAX = 64 * 1024 * 1024;
/** What a message takes at least. */
export const MESSAGE_BYTES_MIN = 1024;
/** How many conversations are remembered that nobody waits for any more. */
export const CONVERSATIONS_GIVEN_UP_MAX = 1000;
