//! Limits of the scheduler: mailboxes, turns, agents of a node and of a family, output, health.

/// Messages a mailbox holds before its senders are slowed down.
pub const MAILBOX_SOFT_MESSAGES: usize = 10_000;
/// Messages a mailbox holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_MESSAGES: usize = 1_000_000;
/// Bytes of bulky messages that a mailbox holds before their senders are slowed down. Messages from other nodes,
/// clients and guests are weighed; one of less than 4 KiB counts as a message only.
pub const MAILBOX_SOFT_BYTES: usize = 16 << 20;
/// Encoded bytes from which on a message from outside is weighed: shorter ones are never bulky by much.
pub const MESSAGE_WEIGHED_BYTES: usize = 256;
/// Bytes of bulky messages that a mailbox holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_BYTES: usize = 64 << 20;
/// Empty queues a scheduler shard keeps for mailboxes that need one.
pub const SPARE_QUEUES_MAX: usize = 64;
/// Messages that a spare queue has room for at most; larger queues are freed.
pub const SPARE_QUEUE_MESSAGES_MAX: usize = 1_024;
/// Steps (messages handled, reasoning cycles) one turn may take before the next agent's turn comes.
pub const TURN_STEPS: u32 = 64;
/// Most reasoning cycles of an AgentSpeak agent's turn after a cycle in which it sent something and its intentions
/// continue. So receivers have their turns before the sender continues for long.
pub const TURN_STEPS_AFTER_SENDING: u32 = 24;
/// Nice value of a late turn's thread, whose shard continues without it: it yields to other threads.
pub const LATE_TURN_NICENESS: i32 = 10;
/// Stack of a worker's thread. Terms that programs make may be nested a hundred thousand levels deep, and are walked by
/// recursion. Unused stack takes no memory.
pub const WORKER_STACK_BYTES: usize = 64 << 20;
pub use whimbrel_acl::limits::MESSAGE_RECEIVERS_MAX;
/// Agents of one node.
pub const AGENTS_MAX: usize = 100_000_000;
/// Agents of one node, if no policy says otherwise.
pub const NODE_AGENTS_MAX: u32 = 10_000_000;
/// Share of a process's memory limit that agents may fill, in percent, if no policy says otherwise.
pub const NODE_MEMORY_PERCENT: u64 = 80;
/// Share of a process's memory limit from which on a node reports that memory is short, in percent.
pub const HEALTH_MEMORY_PERCENT: u64 = 90;
/// Share of a process's memory, in percent, that kept names must take before a report of short memory mentions them.
pub const HEALTH_NAMES_PERCENT: u64 = 10;
/// Age of a turn from which on its node reports it (milliseconds).
pub const HEALTH_TURN_MS: u64 = 5_000;
/// Wait of agents for their turns from which on their node reports it (milliseconds).
pub const HEALTH_WAIT_MS: u64 = 2_000;
/// Time for which a node reports an end by a quota, or a full mailbox (milliseconds).
pub const HEALTH_RECENT_MS: u64 = 60_000;
/// Time without a message sent or handled from which a node counts as still (milliseconds).
pub const HEALTH_STILL_MS: u64 = 10_000;
/// Agents of a still node that are looked at: with more of them, the node does not say what they wait for.
pub const HEALTH_STILL_AGENTS_MAX: usize = 10_000;
/// Waiting agents that a still node reports by name.
pub const HEALTH_WAITING_MAX: usize = 3;
/// Late turns that a node reports by name.
pub const HEALTH_LATE_TURNS_MAX: usize = 3;
/// Ends by quotas that a node reports.
pub const HEALTH_QUOTA_ENDS_MAX: usize = 3;
/// Full mailboxes that a node reports.
pub const HEALTH_FULL_MAILBOXES_MAX: usize = 3;
/// Agents of one node that may descend from one root agent, if no policy says otherwise.
pub const FAMILY_AGENTS_MAX: u32 = 100_000;
/// Agents of a family that may be created in any second, if no policy says otherwise.
pub const FAMILY_CREATIONS_PER_S: u32 = 2_000;
/// Agents of a family that may be created at once before any has to wait.
pub const FAMILY_CREATIONS_BURST: u32 = 500;
/// Longest wait of a new agent (milliseconds), while its family creates too fast; a creator beyond that is refused.
pub const FAMILY_LATE_MS: u64 = 1_000;
/// Refused creations of a family in a second beyond which all of it ends.
pub const FAMILY_REFUSALS_PER_S_MAX: u32 = 1_000;
/// Agents of a family that end at a time when all of it ends, so that other agents have their turns meanwhile.
pub const FAMILY_ENDED_AT_ONCE: usize = 256;
/// Time for other agents' turns between two such batches (milliseconds).
pub const FAMILY_ENDED_EVERY_MS: u64 = 2;
/// Bytes of an agent's local name.
pub const AGENT_NAME_BYTES_MAX: usize = 255;
/// Dead letters a node keeps for its operator; older ones are forgotten.
pub const DEAD_LETTERS_MAX: usize = 10_000;
/// Bytes of memory of the dead letters, roughly; older ones are forgotten.
pub const DEAD_LETTERS_BYTES_MAX: usize = 32 << 20;
/// Bytes of the names of one other node's agents, with their records. Further agents of that node stay unknown here.
pub const AGENTS_ELSEWHERE_BYTES_MAX: u64 = 1 << 30;
/// Threads for work that blocks or takes long; further work waits.
pub const OFFLOAD_THREADS_MAX: usize = 64;
/// Bytes of a node's name.
pub const NODE_NAME_BYTES_MAX: usize = 64;
/// Bytes of an agent's output that a node logs at once on its standard error; the rest is only counted.
pub const LOGGED_TEXT_BYTES_MAX: usize = 2 << 10;
/// Bytes that an agent prints at once, or that a command shows of one message; the rest is only counted.
pub const PRINTED_TEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a word, such as the name of an agent, that an error shows; of a longer one it shows both ends.
pub const SHOWN_WORD_BYTES_MAX: usize = 256;
/// Seconds' worth of its quota that a family of agents may print at once.
pub const PRINTED_BURST_S: u64 = 64;
/// Bytes that the agents of a node may print in a second before printing quotas apply.
pub const PRINTED_FREE_BYTES_PER_S: u64 = 256 << 10;
/// Bytes that a family of agents may have logged in a second, if no policy says otherwise.
pub const LOGGED_BYTES_PER_S: u64 = 16 << 10;
/// Seconds' worth of its quota that a family of agents may have logged at once.
pub const LOGGED_BURST_S: u64 = 8;
/// Bytes that a node may log of its agents in a second before logging quotas apply.
pub const LOGGED_FREE_BYTES_PER_S: u64 = 16 << 10;
/// Bytes that a printed or logged line counts beside its text.
pub const LINE_BYTES: u64 = 64;
/// Messages of a durable agent that wait to be written; while there are more, its turns are delayed.
pub const UNWRITTEN_MESSAGES_MAX: usize = 4_096;
