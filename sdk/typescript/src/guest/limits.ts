/** Limits of WebAssembly agents. Nodes without a policy have the same (docs/design/security.md). */

/** Bytes of a module. */
export const MODULE_BYTES_MAX = 16 << 20;
/** Mutable globals of a module. */
export const MODULE_GLOBALS_MAX = 4096;
/** Messages and printed lines of one call. */
export const CALL_MESSAGES_MAX = 10_000;
/** Bytes of messages and lines of one call. */
export const CALL_BYTES_MAX = 16 << 20;
/** Queries of one call. The call is repeated for each. */
export const CALL_QUESTIONS_MAX = 64;
/** Bytes and parts of a template. */
export const TEMPLATE_BYTES_MAX = 4 << 10;
export const TEMPLATE_PARTS_MAX = 16;
/** Bytes of the message that is sent if an agent fails. */
export const LAST_WORDS_BYTES_MAX = 4 << 10;
/** Default bytes of an agent's memory. */
export const MEMORY_BYTES = 16 << 20;
/** Maximum that can be configured. */
export const MEMORY_BYTES_MAX = 64 << 20;
/** Bytes of a state. */
export const STATE_BYTES_MAX = MEMORY_BYTES_MAX + (4 << 20);
/** Bytes of a message, and of a text argument. */
export const MESSAGE_BYTES = 1 << 20;
/** Timers that are set. */
export const TIMERS_MAX = 1024;
/** Messages in a guest's mailbox. Senders of more get `failure`. */
export const MAILBOX_MESSAGES_MAX = 10_000;
/** Random bytes of one request. */
export const RANDOM_BYTES_MAX = 64 << 10;
/** Regions that an agent may discard in one call. */
export const DISCARDED_MAX = 1024;
/** Bytes of the names of agents and nodes. */
export const NAME_BYTES_MAX = 255;
/** Storage limits: total bytes, bytes of a key, bytes of a value, keys, and keys in one listing. */
export const STORAGE_BYTES = 1 << 20;
export const STORAGE_KEY_BYTES_MAX = 256;
export const STORAGE_VALUE_BYTES_MAX = 256 << 10;
export const STORAGE_KEYS_MAX = 4096;
export const STORAGE_KEYS_LISTED_MAX = 1000;
/** Bytes of a memory page. */
export const PAGE = 64 << 10;
/** Bytes that are added to a suspended guest's memory, for the variables of all functions on its stack. */
export const UNWOUND_BYTES = 512 << 10;
