//! Limits of links between nodes.

use super::{MESSAGE_RECEIVERS_MAX, NODES_MAX};

/// Bytes of one frame on a link between nodes; a peer that announces a longer one is disconnected.
pub const LINK_FRAME_BYTES_MAX: usize = 16 << 20;
/// Bytes of a peer's hello, and of a refusal: a stranger may not use much memory.
pub const LINK_HELLO_BYTES_MAX: usize = 4 << 10;
/// Connections to a link port whose peers have not identified themselves.
pub const LINK_STRANGERS_MAX: usize = 1_024;
/// Connections of strangers to a link port from one address.
pub const LINK_STRANGERS_EACH_MAX: usize = 64;
/// Connections to a link port from addresses of nodes that are, or were, linked, and whose peers have not identified
/// themselves. Strangers at other addresses take none of these places.
pub const LINK_KNOWN_MAX: usize = 4 * NODES_MAX;
/// Connections of that kind from one address.
pub const LINK_KNOWN_EACH_MAX: usize = 64;
/// Bytes of one encoded message on a link; a longer one is a dead letter, and its sender gets `failure`.
pub const LINK_MESSAGE_BYTES_MAX: usize = 12 << 20;
/// Number of times that an unreadable item is sent before its sender is told.
pub const LINK_READ_ATTEMPTS: u32 = 2;
/// Bytes of one piece of news on a link.
pub const LINK_NEWS_BYTES_MAX: usize = 12 << 20;
/// Agents in one piece of news.
pub const LINK_NEWS_AGENTS: usize = 4_096;
/// Entries of the DF that are read at once for a new peer: the DF is locked meanwhile.
pub const LINK_NEWS_ENTRIES: usize = 1_024;
/// Agents that are unknown here and whose end another node reported: this many are remembered for each node.
pub const LINK_DENIED_AGENTS_MAX: usize = 4_096;
/// Time after news of an agent's end in which its node may hand over the agent's last messages (milliseconds): some
/// turns of its shard.
pub const LINK_LAST_WORDS_MS: u64 = 2_000;
/// Agents of one node with last messages at the same time; if there are more, those that ended first have none.
pub const LINK_LAST_WORDS_AGENTS_MAX: usize = 1 << 16;
/// Agents that another node claims, while the node that is believed to have them is asked: this many for each node.
/// Further claims are not believed.
pub const LINK_CLAIMED_AGENTS_MAX: usize = 4_096;
/// Messages of claimed agents that wait, for each node, until the agents' place is known.
pub const LINK_DOUBTFUL_MESSAGES_MAX: usize = 1_024;
/// Bytes of messages of claimed agents that wait, for each node.
pub const LINK_DOUBTFUL_BYTES_MAX: usize = 4 << 20;
/// Bytes of names that a peer may make this node keep as long as the process lives. A message with further names comes
/// back to its sender. Names of agents in news are not kept, and do not count.
pub const LINK_NAME_BYTES_MAX: u64 = 1 << 30;
/// Bytes of encoded messages after which a frame is closed. One longer message makes a longer frame.
pub const LINK_BATCH_BYTES: usize = 32 << 10;
/// Tags of a batch, each with an item, or with a message to several receivers. A node writes one at most for each byte,
/// and one at the end for each receiver of a message that it could not encode. More would let a few bytes take much
/// memory.
pub const LINK_BATCH_TAGS_MAX: usize = LINK_BATCH_BYTES + LINK_RECEIVERS_MAX;
/// Bytes a link hands to its connection at once, roughly.
pub const LINK_WRITE_BYTES: usize = 128 << 10;
/// Bytes that a node lets each peer send before it must have dealt with some of them.
pub const LINK_CREDIT_BYTES: u64 = 4 << 20;
/// Bytes on their way to a peer that has not dealt with them, on a short link: as many as take a few milliseconds.
/// Later bytes wait behind them.
pub const LINK_FLIGHT_BYTES: u64 = 256 << 10;
/// Bytes received and dealt with after which a link acknowledges at once.
pub const LINK_ACK_BYTES: u64 = 64 << 10;
/// Longest delay of an acknowledgement on a link (milliseconds).
pub const LINK_ACK_DELAY_MS: u64 = 10;
/// Bytes of messages that wait to be written to a link, roughly, before their senders wait.
pub const LINK_SOFT_BYTES: usize = 128 << 10;
/// Messages that wait to be written to a link before their senders wait, however short they are.
pub const LINK_SOFT_MESSAGES: usize = 4_096;
/// Messages that may wait to be written to a link before their senders wait, however long they are.
pub const LINK_SOFT_MESSAGES_MIN: usize = 64;
/// Messages that wait on a link at most; further ones are answered `failure`.
pub const LINK_HARD_MESSAGES: usize = 1_000_000;
/// Bytes of the first train (frames without content) by which a link's throughput is measured.
pub const LINK_TRAIN_BYTES: u64 = 16 << 10;
/// Bytes of the longest train.
pub const LINK_TRAIN_BYTES_MAX: u64 = 256 << 10;
/// Time beyond the round trip from which on trains get no longer (milliseconds).
pub const LINK_TRAIN_MS: u64 = 2;
/// Trains of the final length, of which the fastest counts.
pub const LINK_TRAINS: u32 = 3;
/// Time of a train after which no further one is sent (milliseconds), so that the link is free again.
pub const LINK_TRAIN_LONG_MS: u64 = 50;
/// Round trip from which on fewer trains are sent (milliseconds): each train takes one.
pub const LINK_TRAIN_FAR_MS: u64 = 20;
/// Bytes of trains that a node sends at once in answer to a peer's measurements. One measurement takes about a
/// mebibyte. Requests beyond the allowance are not answered.
pub const LINK_TRAIN_ANSWER_BYTES: u64 = 2 << 20;
/// Bytes of trains that a node sends each second in answer to a peer's measurements, beyond
/// [`LINK_TRAIN_ANSWER_BYTES`].
pub const LINK_TRAIN_ANSWER_BYTES_PER_S: u64 = 512 << 10;
/// Silence of a link after which it sends a sign of life (milliseconds).
pub const LINK_PING_MS: u64 = 1_000;
/// Silence of a peer after which its connection counts as broken (milliseconds).
pub const LINK_SILENCE_MS: u64 = 5_000;
/// Time in which a node must answer when another process claims its name (milliseconds); else the name is the other
/// process's.
pub const LINK_CLAIM_MS: u64 = 2_000;
/// Longest wait of such a claim, while the node sends frames and no answer (milliseconds). Then the node counts as
/// present.
pub const LINK_CLAIM_MS_MAX: u64 = 4_000;
/// First delay before a link connects again (milliseconds); it doubles each time.
pub const LINK_BACKOFF_MS: u64 = 50;
/// Longest delay before a link connects again (milliseconds).
pub const LINK_BACKOFF_MS_MAX: u64 = 2_000;
/// Time without an item that cannot be read after which a link connects again as soon as at first (milliseconds).
pub const LINK_UNREAD_FORGOTTEN_MS: u64 = 10_000;
/// Time for which a link may be broken before its peer counts as lost (milliseconds).
pub const LINK_GIVE_UP_MS: u64 = 30_000;
/// Time after which a lost node that connects by itself is forgotten, as a multiple of how long its link may be broken.
/// A node that comes later counts as a new one.
pub const LINK_FORGET_FACTOR: u32 = 20;
/// Receivers of one message on a link; for further ones it is written again.
pub const LINK_RECEIVERS_MAX: usize = MESSAGE_RECEIVERS_MAX;
/// Bytes that each receiver of a message but the first counts as, in a batch and against a link's credit, at both ends.
/// One or two bytes on the wire become an envelope and a place in a mailbox.
pub const LINK_RECEIVER_BYTES: usize = 32;
/// Such receivers in one batch. A batch is closed when they count as its bytes do, and one message may be the last.
pub const LINK_BATCH_SHARES_MAX: usize = LINK_BATCH_BYTES / LINK_RECEIVER_BYTES + LINK_RECEIVERS_MAX;
