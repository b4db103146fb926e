/** Messages that wait in an agent's mailbox for somebody who takes them; who sends more hears `failure`. */
export const MAILBOX_MESSAGES_MAX = 10_000;
/** How long an answer is waited for, if nobody says otherwise. */
export const ANSWER_MS = 10_000;
/** The longest that a timer of JavaScript can wait. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
