//! Limits of moving agents: hops, code, advice.

use super::GUEST_STATE_BYTES_MAX;

/// Time to wait for a minion's report (milliseconds), if its sender names none.
pub const DISPATCH_MS: u64 = 60_000;
/// Bytes of an agent's state that moves to another node: as much as WebAssembly agents may have.
pub const HOP_STATE_BYTES_MAX: usize = GUEST_STATE_BYTES_MAX;
/// Bytes of a moving state from which on it is compressed, if that makes it shorter by an eighth at least.
pub const HOP_COMPRESSED_FROM_BYTES: usize = 512;
/// Bytes of a moving state that are sent at once: other messages use the link, too.
pub const HOP_PIECE_BYTES: usize = 256 << 10;
/// Bytes of a moving state up to which the thread that receives it makes the agent: that takes less time than calling
/// another thread.
pub const HOP_MADE_AT_ONCE_BYTES: usize = 4 << 10;
/// Greatest age (milliseconds) and number of handled messages that another node may state for an arriving agent: as
/// much as programs with doubles read exactly.
pub const HOP_LIVED_MAX: u64 = 1 << 53;
/// Bits of a hop's number, four bytes on a link. It is drawn at random, and compared only with those of the same agent,
/// which are few at a time.
pub const HOP_NUMBER_BITS: u32 = 27;
/// Bytes of states of agents that arrive from one other node at a time, if they are more than one agent.
pub const HOP_ARRIVING_BYTES_MAX: usize = 128 << 20;
/// Bytes of code that moves with an agent to a node without it.
pub const CODE_BYTES_MAX: usize = 16 << 20;
/// Bytes of code that are sent at once: other messages use the link, too.
pub const CODE_PART_BYTES: usize = 256 << 10;
/// Time that a node may take for one part of a code (milliseconds).
pub const CODE_PART_MS: u64 = 10_000;
/// Time that a node may take for all parts of a code (milliseconds).
pub const CODE_FETCH_MS: u64 = 120_000;
/// Codes that a node fetches, or is about to fetch.
pub const CODE_FETCHES_MAX: usize = 1_024;
/// Bytes of agents of one other node that wait for their code.
pub const CODE_WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes of code from other nodes that a node keeps in memory; unused code goes first.
pub const CODE_MEMORY_BYTES_MAX: usize = 256 << 20;
/// Bytes of the folder in which a node keeps code from other nodes, and compiled code; code that was unused for longest
/// goes first.
pub const CODE_CACHE_BYTES_MAX: u64 = 1 << 30;
/// Age up to which measurements of a link and a node are fresh for advice (milliseconds).
pub const ADVICE_FRESH_MS: u64 = 5_000;
/// Time that advice waits for measurements (milliseconds); after it, earlier measurements or assumptions count.
pub const ADVICE_PATIENCE_MS: u64 = 1_500;
/// Age up to which values of a link and of hops count as measured (milliseconds); older ones are marked as old.
pub const ADVICE_RECENT_MS: u64 = 120_000;
/// Pieces of advice that are computed at a time; further requests wait. Their threads wait for other nodes.
pub const ADVICE_THREADS: usize = 8;
/// Questions of one other node that are answered at a time, for its advice; further ones are not answered.
pub const ADVICE_QUESTIONS_MAX: u32 = 16;
/// Time that a node takes to measure its speed (milliseconds).
pub const ADVICE_SPEED_MS: u64 = 10;
/// Time for which a measurement of a node's speed counts (milliseconds).
pub const ADVICE_SPEED_FRESH_MS: u64 = 300_000;
/// Codes of a node that are listed at a time, and whose uses are counted.
pub const CODES_TOLD_MAX: usize = 1_000;
