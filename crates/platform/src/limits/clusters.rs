//! Limits of clusters: load, weights, partitions, programs that nodes compare.

/// Unnumbered messages that wait for agents of a partition without a server.
pub const UNSERVED_MESSAGES_MAX: usize = 100_000;
/// Reasons of partition errors that a node publishes at a time.
pub const TROUBLE_REASONS_MAX: usize = 8;
/// Characters of one published reason of a partition error.
pub const TROUBLE_REASON_CHARS_MAX: usize = 400;
/// Programs of a project that nodes compare when they join a society: the first ones by name.
pub const PROGRAMS_COMPARED_MAX: usize = 1_024;
/// Bytes of the name of such a program.
pub const PROGRAM_NAME_BYTES_MAX: usize = 255;
/// Window over which a node measures its load (milliseconds).
pub const LOAD_WINDOW_MS: u64 = 5_000;
/// Partitions whose loads a node publishes: the busiest.
pub const LOAD_PARTITIONS_MAX: usize = 64;
/// Load, in thousandths of its workers' time, from which on a node gives partitions away.
pub const LOAD_BUSY: u16 = 600;
/// Time that a node must have been so busy before it gives a partition away (milliseconds).
pub const LOAD_PATIENCE_MS: u64 = 5_000;
/// Gain of a move because of load: the other node stays less busy than the first one is now, by this much at least.
pub const LOAD_GAIN: u16 = 150;
/// Smallest load of a partition that moves because of load.
pub const LOAD_PART_MIN: u16 = 30;
/// Time after any move in which no partition moves because of load (milliseconds): nodes measure their loads anew.
pub const LOAD_REST_MS: u64 = 10_000;
/// Time that a partition stays after it moved because of load (milliseconds), unless another cause moves it.
pub const LOAD_STAY_MS: u64 = 300_000;
/// Load, in thousandths of its workers' time, up to which a node is idle and may measure its weight.
pub const WEIGHT_IDLE: u16 = 50;
/// Idle time after which a node measures its weight (milliseconds).
pub const WEIGHT_IDLE_MS: u64 = 10_000;
/// Time between two measurements of a node's weight (milliseconds).
pub const WEIGHT_AGAIN_MS: u64 = 60_000;
/// Latest measurements of a node's weight, of which the highest counts.
pub const WEIGHT_MEASURES: usize = 5;
/// Smallest change of a weight that is published, as a share of the published one.
pub const WEIGHT_CHANGE: f64 = 0.25;
/// Nodes of one platform.
pub const NODES_MAX: usize = 1_000;
