/** How deep values nest in messages, in JSON as in the compact codec. */
export const VALUE_LEVELS_MAX = 96;
/** How deep resolvers of agent identifiers nest. */
export const RESOLVER_LEVELS_MAX = 4;
/** Memory that one decoded message may take, in bytes, estimated from above: a few bytes can say "a million equal rows". */
export const MESSAGE_BUDGET_BYTES = 16 * 1024 * 1024;
/** Memory that one decoded document may take, in bytes. */
export const DOCUMENT_BUDGET_BYTES = 64 * 1024 * 1024;
/** Bytes of a text, a shape or an agent that the messages of a connection may refer to by number. */
export const REMEMBERED_BYTES_MAX = 1024;
/** Texts said once that are noticed when they come again. */
export const MARKS_MAX = 4096;
