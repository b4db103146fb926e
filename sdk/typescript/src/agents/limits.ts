/** Messages that wait in an agent's mailbox for somebody who takes them; who sends more hears `failure`. */
export const MAILBOX_MESSAGES_MAX = 10_000;
/** Receivers of one message: a node refuses one with more. */
export const RECEIVERS_MAX = 1024;
/** How long an answer is waited for, if nobody says otherwise. */
export const ANSWER_MS = 10_000;
/** How often it is looked whether those who owe a result still live. */
export const ALIVE_LOOK_MS = 1000;
/** Between two saves of an agent's state, if it is saved now and then. */
export const CHECKPOINT_MS = 1000;
/** An agent that is given so many messages is saved: a node keeps 1,024 that no state covers. */
export const UNSAVED_MESSAGES_MAX = 256;
/** An agent that said so many messages, or so many bytes, is saved once a handler returned: a node holds 1,024, and 4 MiB, for the state behind them. */
export const HELD_MESSAGES_DUE = 256;
export const HELD_BYTES_DUE = 1024 * 1024;
/** And if none returns, at so many: the last may take 1 MiB. */
export const HELD_MESSAGES_MAX = 960;
export const HELD_BYTES_MAX = 5 * 512 * 1024;
/** Bytes of a state that a node keeps. */
export const STATE_BYTES_MAX = 512 * 1024;
/** How long one waits until an agent of this client, whose session is not over yet, is tried again. */
export const CREATE_AGAIN_MS = 500;
/** How long it is tried again while the node does not know yet whether there is an agent of that name. */
export const CREATE_NOT_YET_MS_MAX = 60_000;
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
/** Bytes that an agent's code may have. */
export const CODE_BYTES_MAX = 16 * 1024 * 1024;
/** Workers that a device may have: each is a thread with a session. With many more a page does nothing else than begin them. */
export const WORKERS_MAX = 256;
