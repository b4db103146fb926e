//! Assumptions in place of unknown values. Advice that rests on one says so.

/// Seconds of a round trip.
pub const ROUND_TRIP_S: f64 = 0.001;
/// Bytes a second that a link carries each way: 100 Mbit/s.
pub const BYTES_PER_S: f64 = 12.5e6;
/// Share of documents that passes.
pub const PASS: f64 = 0.1;
/// Share to which a document is packed on the way: text by LZ4.
pub const PACKS_TO: f64 = 0.6;
/// Bytes of a question.
pub const QUESTION_BYTES: u64 = 100;
/// Bytes of an agent's state.
pub const STATE_BYTES: u64 = 1_024;
/// Bytes of an agent's code, if the other node lacks it.
pub const CODE_BYTES: u64 = 32 << 10;
/// Nanoseconds of work with a byte of a document, on a core that has nothing else to do.
pub const WORK_NS: f64 = 3.0;
/// Nanoseconds to write, send, read and deliver a byte of a document in a message.
pub const HANDLING_NS: f64 = 1.0;
/// Seconds of a hop that are neither latency nor transfer: both nodes' threads, the directory, the policy.
pub const HOP_S: f64 = 0.000_15;
/// Bytes of the nodes' news about a hop, each way, beside the state.
pub const HOP_NEWS_BYTES: f64 = 600.0;
/// Nanoseconds to write a byte of a state, pack it, unpack it and read it.
pub const PACKING_NS: f64 = 5.0;
/// Nanoseconds to check and compile a byte of code.
pub const COMPILING_NS: f64 = 400.0;
/// Seconds that a thread that has slept works before others that want the core have their turns: a slice of Linux's
/// scheduler (EEVDF).
pub const TIME_SLICE_S: f64 = 0.003;
/// Factor up to which cores' speeds count as equal: repeated measurements of one core may differ by it.
pub const ALIKE: f64 = 1.25;
