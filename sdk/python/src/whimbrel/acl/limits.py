"""Limits of values and messages."""

#: Maximum nesting of values in messages, in JSON and in the compact codec.
VALUE_LEVELS_MAX = 96
#: Maximum nesting of an identifier's resolvers.
RESOLVER_LEVELS_MAX = 4
#: Memory that one decoded message may take, in bytes, estimated from above. Few bytes can denote a million equal rows.
MESSAGE_BUDGET_BYTES = 16 * 1024 * 1024
#: Memory that one decoded document may take, in bytes.
DOCUMENT_BUDGET_BYTES = 64 * 1024 * 1024
#: Bytes of a text, shape or agent in a connection's dictionary.
REMEMBERED_BYTES_MAX = 1024
#: Texts seen once that are recognised when they recur.
MARKS_MAX = 4096
#: Identifiers of agents that are remembered, so that each is parsed once.
AIDS_MAX = 65_536
#: Least and largest integer of a value: 64 bits.
INT_MIN = -(1 << 63)
INT_MAX = (1 << 63) - 1
