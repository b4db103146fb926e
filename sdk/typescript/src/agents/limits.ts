/** Messages in an agent's mailbox. Senders of more get `failure`. */
export const MAILBOX_MESSAGES_MAX = 10_000;
/** Receivers of one message. A node refuses more. */
export const RECEIVERS_MAX = 1024;
/** Default time to wait for an answer. */
export const ANSWER_MS = 10_000;
/** Interval of checks whether contractors are still alive. */
export const ALIVE_LOOK_MS = 1000;
/** Default interval of checkpoints. */
export const CHECKPOINT_MS = 1000;
/** Unfinished messages at which an agent is saved. A node keeps 1,024 that no state covers. */
export const UNSAVED_MESSAGES_MAX = 256;
/**
 * Sent messages and bytes at which an agent is saved after a handler. A node holds 1,024 messages and 4 MiB until the
 * next state.
 */
export const HELD_MESSAGES_DUE = 256;
export const HELD_BYTES_DUE = 1024 * 1024;
/** Sent messages and bytes at which an agent is saved in the middle of a handler. The last message may take 1 MiB. */
export const HELD_MESSAGES_MAX = 960;
export const HELD_BYTES_MAX = 5 * 512 * 1024;
/** Bytes of a state that a node keeps. */
export const STATE_BYTES_MAX = 512 * 1024;
/** Delay before creating an agent again whose previous session is not over yet. */
export const CREATE_AGAIN_MS = 500;
/** Time limit for a node that does not know yet whether it has an agent of that name. */
export const CREATE_NOT_YET_MS_MAX = 60_000;
/** Longest delay of a JavaScript timer. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
/** Estimated memory of an agent's waiting and current messages. Senders of more get `failure`. */
export const MAILBOX_BYTES_MAX = 64 * 1024 * 1024;
/** Least memory of a message. */
export const MESSAGE_BYTES_MIN = 1024;
/** Number of abandoned conversations that are remembered. */
export const CONVERSATIONS_GIVEN_UP_MAX = 1000;
/** Bytes of an agent's code. */
export const CODE_BYTES_MAX = 16 * 1024 * 1024;
/** Workers of a device. Each is a thread with a session; a page with more is busy only starting them. */
export const WORKERS_MAX = 256;
