"""Limits of agents. Times are seconds, but where the name says milliseconds."""

#: Messages in an agent's mailbox. Senders of more get `failure`.
MAILBOX_MESSAGES_MAX = 10_000
#: Estimated memory of an agent's waiting messages. Senders of more get `failure`.
MAILBOX_BYTES_MAX = 64 * 1024 * 1024
#: Least memory of a message.
MESSAGE_BYTES_MIN = 1024
#: Default time to wait for an answer.
ANSWER_S = 10.0
#: Interval of looks whether a watched agent is still there.
WATCH_S = 1.0
#: Default interval of checkpoints.
CHECKPOINT_S = 1.0
#: Unfinished messages at which an agent is saved. A node keeps 1,024 that no state covers.
UNSAVED_MESSAGES_MAX = 256
#: Sent messages and bytes at which an agent is saved after a handler. A node holds 1,024 messages and 4 MiB until the
#: next state.
HELD_MESSAGES_DUE = 256
HELD_BYTES_DUE = 1024 * 1024
#: Sent messages and bytes at which an agent is saved in the middle of a handler. The last message may take 1 MiB.
HELD_MESSAGES_MAX = 960
HELD_BYTES_MAX = 5 * 512 * 1024
#: Bytes of a state that a node keeps.
STATE_BYTES_MAX = 512 * 1024
#: Delay before creating an agent again whose previous session is not over yet.
CREATE_AGAIN_S = 0.5
#: Time limit for a node that does not know yet whether it has an agent of that name.
CREATE_NOT_YET_S_MAX = 60.0
#: Number of abandoned conversations that are remembered.
GIVEN_UP_MAX = 1000
#: Bytes of an agent's code.
CODE_BYTES_MAX = 16 * 1024 * 1024
#: Sent messages whose senders are remembered for refusals: a power of two. A node refuses soon, or not at all.
SENT_MAX = 4096
