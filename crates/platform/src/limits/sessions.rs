//! Limits of sessions: programs outside nodes, and the agents that they keep.

use super::LINK_MESSAGE_BYTES_MAX;

/// Sessions of one node.
pub const SESSIONS_MAX: usize = 60_000;
/// Sessions of one token or certificate from one address on one node; other clients keep room.
pub const SESSIONS_PER_ACCOUNT_MAX: u64 = 5_000;
/// Certificates a second, on average, for the agents of a session; at once, as many as it may have agents.
pub const SESSION_CERTIFICATES_PER_S: u32 = 1;
/// Agents of one session at a time, unless its node sets another limit (`--session-agents`).
pub const SESSION_AGENTS_DEFAULT: u32 = 640;
/// Highest number of agents of one session that a node may set: the number of an agent stands in each frame.
pub const SESSION_AGENTS_MAX: u32 = 10_000;
/// Bytes of the first frame of a session's connection: a stranger may not use much memory.
pub const SESSION_HELLO_BYTES_MAX: usize = 4 << 10;
/// Bytes of one message from or to a session, unless its node sets another limit (`--session-message-bytes`). Sixty
/// thousand sessions may each have a part of one in memory.
pub const SESSION_MESSAGE_BYTES_DEFAULT: u32 = 1 << 20;
/// Largest message limit of sessions that a node may set: links can carry such messages.
pub const SESSION_MESSAGE_BYTES_MAX: u32 = LINK_MESSAGE_BYTES_MAX as u32;
/// Smallest message limit of sessions that a node may set: directories' answers fit.
pub const SESSION_MESSAGE_BYTES_MIN: u32 = 64 << 10;
/// Bytes of a frame beside those of its message.
pub const SESSION_FRAME_BYTES_MORE: usize = 1_024;
/// Bytes of one frame of a session: those of a message, and its frame.
pub const SESSION_FRAME_BYTES_MAX: usize = SESSION_MESSAGE_BYTES_DEFAULT as usize + SESSION_FRAME_BYTES_MORE;
/// Bytes of memory for reading a session's message, for each byte that it may have; [`SESSION_MESSAGE_BUDGET_BYTES`] at
/// least.
pub const SESSION_MESSAGE_BUDGET_TIMES: usize = 4;
/// Bytes of memory for reading a session's message, at least; see [`SESSION_MESSAGE_BUDGET_TIMES`].
pub const SESSION_MESSAGE_BUDGET_BYTES: usize = 16 << 20;
/// Numbered frames of a session that may be unacknowledged, each way.
pub const SESSION_WINDOW_MAX: u32 = 256;
/// Messages that a session's client acknowledged and its agents have not handled, of which the node keeps copies. Their
/// senders get `failure` if the agent ends. Further messages count as handled.
pub const SESSION_OPEN_MESSAGES_MAX: usize = 16_384;
/// Open messages, and runs of messages in an `open` frame, that are checked for the price of one message: the frame
/// counts as that many messages against the rate.
pub const SESSION_OPEN_MESSAGES_PER_CHARGE: usize = 512;
/// Bytes of memory of the copies of open messages.
pub const SESSION_OPEN_BYTES_MAX: usize = 64 << 20;
/// Answers of a node that wait behind a session's window. A client that still sends beyond its credit is disconnected.
pub const SESSION_ANSWERS_MAX: u64 = 4_096;
/// Bytes of the text of such an answer.
pub const SESSION_ANSWER_BYTES_MAX: usize = 1_024;
/// Bytes of a session's messages for agents that had no turn yet, before nothing more is read from its connection.
pub const SESSION_QUEUE_BYTES_MAX: usize = 4 << 20;
/// Numbered frames per second that a session's client may send, on average, unless its node sets another limit
/// (`--session-messages-per-s`). A message counts once for each receiver.
pub const SESSION_MESSAGES_PER_S: u32 = 100_000;
/// Lease of a session, if its client does not ask for another (milliseconds): it outlives the client's last frame by
/// this.
pub const SESSION_LEASE_MS: u64 = 10_000;
/// Shortest lease of a session (milliseconds).
pub const SESSION_LEASE_MS_MIN: u64 = 1_000;
/// Longest lease of a session (milliseconds).
pub const SESSION_LEASE_MS_MAX: u64 = 300_000;
/// Longest delay of an acknowledgement to a session's client (milliseconds).
pub const SESSION_ACK_DELAY_MS: u64 = 20;
/// Time in which the client of an ended session may read its last frames (milliseconds).
pub const SESSION_LAST_FRAMES_MS: u64 = 5_000;
/// Agents that compact messages of a session refer to by number, each way; and as many texts.
pub const SESSION_REMEMBER_MAX: u32 = 4_096;
/// Bytes of new names that all sessions of one token or certificate from one address may make: names stay as long as
/// the process.
pub const SESSION_NAME_BYTES_MAX: u64 = 16 << 20;
/// Bytes of new names that all sessions of a node may make together, except for clients below
/// [`SESSION_NAME_BYTES_SPARE`].
pub const SESSIONS_NAME_BYTES_MAX: u64 = 256 << 20;
/// Bytes of new names that a client may still make when all sessions together have reached their limit.
pub const SESSION_NAME_BYTES_SPARE: u64 = 64 << 10;
/// Bytes of new names of all sessions of a node beyond which no client may make any.
pub const SESSIONS_NAME_BYTES_HARD_MAX: u64 = 1 << 30;
/// Connections to an agent port whose clients have not identified themselves yet.
pub const SESSION_STRANGERS_MAX: usize = 1_024;
/// Such connections from one address.
pub const SESSION_STRANGERS_EACH_MAX: usize = 256;
/// Tokens and certificates, with addresses, whose usage a node remembers.
pub const SESSION_ACCOUNTS_MAX: usize = 100_000;
/// Bytes of the state of a session's agent that its node keeps: they fit into a frame of either form.
pub const SESSION_STATE_BYTES_MAX: usize = 512 << 10;
/// Bytes of the name of such an agent's code.
pub const SESSION_CODE_NAME_BYTES_MAX: usize = 512;
/// Messages that such an agent was given and no state covers: further ones stay in its mailbox until its next save.
pub const SESSION_UNSAVED_MESSAGES_MAX: usize = 1_024;
/// Deliveries of messages that such an agent withholds until its next save: a message counts once for each receiver.
pub const SESSION_HELD_DELIVERIES_MAX: u64 = 16_384;
/// Bytes of withheld messages of such an agent.
pub const SESSION_HELD_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages to a client that it has not acknowledged, before no more are taken from its agents' mailboxes.
pub const SESSION_WINDOW_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages that such an agent was given and no state covers; see [`SESSION_UNSAVED_MESSAGES_MAX`].
pub const SESSION_UNSAVED_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages that wait in the mailbox of an agent whose client is away; further ones are answered `failure`.
pub const KEPT_WAITING_BYTES_MAX: usize = 16 << 20;
/// Bytes of all messages that wait for the clients of one token or certificate: in mailboxes, unacknowledged, not
/// covered, or withheld. Further ones are answered `failure`.
pub const SESSION_WAITING_BYTES_MAX: usize = 256 << 20;
/// Bytes of all messages that wait for the clients of a node, except for clients below [`SESSION_WAITING_BYTES_SPARE`].
pub const SESSION_WAITING_BYTES_ALL_MAX: usize = 1 << 30;
/// Bytes of messages that may still wait for a client when all clients together have reached their limit.
pub const SESSION_WAITING_BYTES_SPARE: usize = 8 << 20;
/// Largest number of bytes as which one such message counts.
pub const SESSION_WAITING_COUNTED_BYTES: usize = 64 << 20;
/// Time between two checks for room for a client's messages (milliseconds).
pub const SESSION_ROOM_MS: u64 = 100;
/// Agents of one token or certificate that a node keeps, with or without a session.
pub const KEPT_AGENTS_PER_PRINCIPAL_MAX: usize = 60_000;
/// Agents of sessions that a node keeps.
pub const KEPT_AGENTS_MAX: usize = 200_000;
/// Shortest time between two searches for ended agents by a node that keeps as many as it may (milliseconds).
pub const KEPT_PRUNE_MS: u64 = 1_000;
/// Bytes of the states of agents that a node keeps for one token or certificate.
pub const KEPT_BYTES_PER_PRINCIPAL_MAX: usize = 256 << 20;
/// Bytes of the states of agents that a node keeps for all clients, except for clients below [`KEPT_BYTES_SPARE`].
pub const KEPT_BYTES_MAX: usize = 2 << 30;
/// Bytes of states that a client may still have when all clients together have reached their limit.
pub const KEPT_BYTES_SPARE: usize = 1 << 20;
/// Longest wait of an agent for its session's client (milliseconds).
pub const KEPT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Time in which a client must take an agent that is offered to it, or let one go that is wanted elsewhere
/// (milliseconds).
pub const SESSION_OFFER_MS: u64 = 10_000;
/// Agents that are offered to one session at a time.
pub const SESSION_OFFERS_MAX: usize = 64;
/// Bytes of an agent's code that go to a client in one frame.
pub const SESSION_CODE_PART_BYTES: usize = 256 << 10;
/// Bytes of code that clients with one token or certificate may bring to a node at once.
pub const SESSION_CODE_BYTES_AT_ONCE: u32 = 64 << 20;
/// Bytes a second by which that allowance refills, up to [`SESSION_CODE_BYTES_AT_ONCE`].
pub const SESSION_CODE_BYTES_PER_S: u32 = 64 << 10;
/// Searches for code a second, on average, that clients with one token or certificate may cause.
pub const SESSION_CODE_LOOKUPS_PER_S: u32 = 100;
/// Searches for code that they may cause at once: an agent's first save is one, and each `lacks`.
pub const SESSION_CODE_LOOKUPS_AT_ONCE: u32 = 20_000;
/// Programs from clients that a node takes in at a time: compiling one takes seconds.
pub const SESSION_CODE_ADMISSIONS_MAX: usize = 2;
/// Fewest bytes of a token that lets programs have agents.
pub const SESSION_TOKEN_BYTES_MIN: usize = 8;
/// Bytes of a file of such tokens.
pub const SESSION_TOKEN_FILE_BYTES_MAX: u64 = 16 << 20;
