/** Maximum nesting of values in messages, in JSON and in the compact codec. */
export const VALUE_LEVELS_MAX = 96;
/** Maximum nesting of an identifier's resolvers. */
export const RESOLVER_LEVELS_MAX = 4;
/**
 * Memory that one decoded message may take, in bytes, estimated from above. Few bytes can denote a million equal rows.
 */
export const MESSAGE_BUDGET_BYTES = 16 * 1024 * 1024;
/** Memory that one decoded document may take, in bytes. */
export const DOCUMENT_BUDGET_BYTES = 64 * 1024 * 1024;
/** Bytes of a text, shape or agent in a connection's dictionary. */
export const REMEMBERED_BYTES_MAX = 1024;
/** Texts seen once that are recognised when they recur. */
export const MARKS_MAX = 4096;
