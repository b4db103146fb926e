//! Limits of devices and of the work that they share.

/// Agents that a device may list as running there.
pub const DEVICE_AGENTS_TOLD_MAX: usize = 256;
/// Devices that take part at a time.
pub const DEVICES_MAX: usize = 1_000_000;
/// Compute units of one device.
pub const DEVICE_UNITS_MAX: u32 = 1_000_000_000;
/// Parts of work that a device may have at a time.
pub const DEVICE_PLACES_MAX: u32 = 256;
/// Divisor of the compute units of a device whose page is hidden.
pub const DEVICE_HIDDEN_PART: u32 = 8;
/// Battery level below which a device gets no work, unless it is being charged.
pub const DEVICE_BATTERY_LOW_PERCENT: u8 = 20;
/// Wrong answers after which a device is given no more work.
pub const DEVICE_WRONG_MAX: u32 = 2;
/// Parts of work in a row that did not come back from a device, after which it gets no more.
pub const DEVICE_OVERDUE_MAX: u32 = 8;
/// Answers whose times are kept to estimate how long one takes.
pub const WORK_TIMES_KEPT: usize = 64;
/// Parts of work that are searched for one that suits a device with room.
pub const WORK_LOOKAHEAD: usize = 64;
/// Time before which a part of work never counts as dawdling (milliseconds).
pub const WORK_DAWDLES_MS_MIN: u64 = 1_000;
/// Kinds of work that one device offers.
pub const DEVICE_KINDS_MAX: usize = 16;
/// Bytes of the name of a kind of work.
pub const DEVICE_KIND_BYTES_MAX: usize = 64;
/// Shortest lease of a part of work (milliseconds).
pub const WORK_LEASE_MS_MIN: u64 = 10;
/// Longest lease of a part of work (milliseconds).
pub const WORK_LEASE_MS_MAX: u64 = 24 * 3_600_000;
/// Highest number of devices that must give the same answer before it is believed.
pub const WORK_AGREEING_MAX: u32 = 16;
/// Number of times that a part of work may be lent.
pub const WORK_ATTEMPTS_MAX: u32 = 1_000;
/// Unfinished parts of work of all customers.
pub const WORK_PARTS_MAX: usize = 100_000;
/// Bytes of unfinished parts of work, roughly.
pub const WORK_BYTES_MAX: usize = 256 << 20;
/// Kinds of work with unfinished parts, or with remembered times and wrong answers.
pub const WORK_KINDS_MAX: usize = 1_000;
/// Bytes of program text for a society in a page or a Worker.
pub const DEVICE_FILES_BYTES_MAX: usize = 64 << 20;
/// Events of such a society that its host has not fetched: beyond that, the oldest lines and notes are dropped. While
/// this many messages and reports about agents wait, no agent has a turn.
pub const DEVICE_HAPPENINGS_MAX: usize = 100_000;
/// Bytes of a message's content that listeners to such a society are shown.
pub const DEVICE_SAID_BYTES: usize = 400;
/// Messages that wait for one of its agents.
pub const DEVICE_MAILBOX_MESSAGES: usize = 100_000;
/// Turns that such a society gives in one call at most, whatever its host asks for.
pub const DEVICE_TURNS_MAX: u32 = 100_000;
/// Bytes of one order to it, attachments included.
pub const DEVICE_ORDER_BYTES_MAX: usize = 128 << 20;
/// Absent devices whose wrong answers are remembered.
pub const DEVICES_REMEMBERED_MAX: usize = 100_000;
/// Devices that had a part of work and did not do it, which are remembered for it.
pub const WORK_HOLDERS_KEPT: usize = 64;
/// Time after which parts of work that could not all be looked at are looked at again (milliseconds).
pub const WORK_LOOKS_MS: u64 = 10;
/// Unfinished parts of work of one customer.
pub const WORK_PARTS_EACH_MAX: usize = 10_000;
/// Unfinished parts of work of all agents with one payer. A payer is a client's token or certificate, an owner, or
/// another node.
pub const WORK_PARTS_PER_PAYER_MAX: usize = 25_000;
/// Bytes of the unfinished parts of one payer, roughly.
pub const WORK_BYTES_PER_PAYER_MAX: usize = 64 << 20;
/// Kinds of work with unfinished parts that one payer was the first to want.
pub const WORK_KINDS_PER_PAYER_MAX: usize = 100;
/// Multiple of the median of the other devices' compute units up to which a device's own claim counts.
pub const DEVICE_UNITS_OVER_MEDIAN_MAX: u32 = 32;
/// Shortest time of a part that tells anything about its device's speed (milliseconds): shorter ones are mostly travel
/// time.
pub const WORK_TELLING_MS_MIN: u64 = 200;
/// Devices whose newest answer of a kind has its cost remembered.
pub const WORK_COSTS_KEPT: usize = 64;
/// Answers of a device after which its observed speed counts, if that is less than it claims.
pub const DEVICE_SHOWN_ANSWERS_MIN: u32 = 4;
/// Factor by which the observed speed must be lower for that.
pub const DEVICE_SHOWN_TOLERANCE: f64 = 2.0;
