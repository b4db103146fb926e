"""Limits of a session. Times are milliseconds."""

#: Version of the session protocol.
SESSION_VERSION = 1
#: Default lease: the time that a session outlives its last frame. It covers a network outage of ten seconds: the last
#: frame may be a quarter of the lease older than the outage, and the rest is for reconnecting.
LEASE_MS = 20_000
#: Default number of agents and texts that compact messages may refer to by number.
REMEMBER = 256
#: Numbered frames that may be unacknowledged: the default request, and the most that nodes grant.
WINDOW = 256
#: Maximum length of a message, with the same meaning.
MESSAGE_BYTES = 1024 * 1024
#: Maximum length of a frame that this client reads.
FRAME_BYTES_MAX = 32 * 1024 * 1024
#: Delay of an acknowledgement, to combine several.
ACK_DELAY_MS = 10
#: Time limit for a node's welcome.
WELCOME_MS_MAX = 10_000
#: Delay before the first reconnection. It doubles with each failure.
RECONNECT_MS_MIN = 100
#: Longest delay before a reconnection.
RECONNECT_MS_MAX = 5_000
#: A session to resume waits at most its lease divided by this between two attempts.
RECONNECTS_PER_LEASE = 10
#: Errors after the same frame number before the session is given up.
FAULTS_MAX = 3
#: Redirections in a row before the client gives up.
SENDINGS_MAX = 16
#: Redirections in a row without a delay. More suggest that the nodes do not agree yet.
SENDINGS_AT_ONCE = 2
#: Unreachable nodes in a row before the client returns to its original address.
MISSES_MAX = 2
#: Default time limit for the first connection.
PATIENCE_MS = 5_000
#: Estimated memory of a JSON message, in bytes per character.
MEMORY_BYTES_PER_CHARACTER = 4
#: Bytes of an agent's code in one frame.
CODE_PART_BYTES = 256 * 1024
#: Messages that one `open` frame lists (as many as a node keeps), and the maximum bytes of a run.
OPEN_MESSAGES_MAX = 16_384
OPEN_RUN_BYTES = 24
