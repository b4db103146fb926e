/** Limits of WebAssembly agents; those of nodes that have no policy are the same (docs/design/security.md). */

/** Bytes of a module. */
export const MODULE_BYTES_MAX = 16 << 20;
/** Mutable globals of a module. */
export const MODULE_GLOBALS_MAX = 4096;
/** Messages, and lines printed, in one call. */
export const CALL_MESSAGES_MAX = 10_000;
/** Bytes of both in one call. */
export const CALL_BYTES_MAX = 16 << 20;
/** Things that one call asks the platform: it is begun anew for each. */
export const CALL_QUESTIONS_MAX = 64;
/** Bytes of a template, and its parts. */
export const TEMPLATE_BYTES_MAX = 4 << 10;
export const TEMPLATE_PARTS_MAX = 16;
/** Bytes of a message that is sent should an agent fail. */
export const LAST_WORDS_BYTES_MAX = 4 << 10;
/** Bytes of memory that an agent may have, if nobody says otherwise. */
export const MEMORY_BYTES = 16 << 20;
/** The most that anybody may say. */
export const MEMORY_BYTES_MAX = 64 << 20;
/** Bytes of a state. */
export const STATE_BYTES_MAX = MEMORY_BYTES_MAX + (4 << 20);
/** Bytes of a message that an agent sends, and of text that it hands over. */
export const MESSAGE_BYTES = 1 << 20;
/** Timers that are set. */
export const TIMERS_MAX = 1024;
/** Messages that wait for an agent; who sends more hears `failure`. */
export const MAILBOX_MESSAGES_MAX = 10_000;
/** Random bytes at a time. */
export const RANDOM_BYTES_MAX = 64 << 10;
/** Regions that an agent may discard in one call. */
export const DISCARDED_MAX = 1024;
/** Bytes of the names of agents and nodes. */
export const NAME_BYTES_MAX = 255;
/** What an agent keeps beside its memory: bytes of keys and values, of a key, of a value, keys, and keys told at a time. */
export const STORAGE_BYTES = 1 << 20;
export const STORAGE_KEY_BYTES_MAX = 256;
export const STORAGE_VALUE_BYTES_MAX = 256 << 10;
export const STORAGE_KEYS_MAX = 4096;
export const STORAGE_KEYS_LISTED_MAX = 1000;
/** Bytes of a memory page. */
export const PAGE = 64 << 10;
/** Bytes that are added to the memory of a guest that waits in the middle of a call, for the variables of all functions on its stack. */
export const UNWOUND_BYTES = 512 << 10;
