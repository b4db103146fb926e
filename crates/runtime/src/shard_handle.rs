//! Shard handle: the part of a shard that other threads may touch.

use crossbeam_utils::CachePadded;
use whimbrel_platform::Time;

use crate::inbox::Inbox;
use crate::shard_command::{Newcomer, ShardCommand};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Public side of one shard.
pub(crate) struct ShardHandle {
    pub inbox: Inbox<ShardCommand, Newcomer>,
    /// Messages in commands of the inbox that stand for several.
    pub copies: AtomicUsize,
    pub figures: CachePadded<ShardFigures>,
}

impl ShardHandle {
    pub fn new() -> Self {
        let figures = CachePadded::new(ShardFigures::default());
        Self { inbox: Inbox::new(), copies: AtomicUsize::new(0), figures }
    }

    /// Returns the approximate number of messages in the inbox.
    pub fn waiting(&self) -> usize {
        self.inbox.commands() + self.copies.load(Ordering::Relaxed)
    }
}

/// Figures of a shard, written only by its holder.
#[derive(Default)]
pub(crate) struct ShardFigures {
    pub sent: AtomicU64,
    pub handled: AtomicU64,
    pub dead: AtomicU64,
    /// Agents that wait for their turns.
    pub runnable: AtomicU64,
    /// Microseconds spent in rounds that are over.
    pub busy_us: AtomicU64,
    /// Microseconds of late turns after the shard continued without them.
    pub late_us: AtomicU64,
    /// Start of the present round; [`ShardFigures::IDLE`] if there is none.
    pub round_began: AtomicU64,
    /// Time since which the observed agent waits for its turn; [`ShardFigures::IDLE`] while none is observed.
    pub waits_since: AtomicU64,
    /// Microseconds that the agent observed before it waited.
    pub waited_us: AtomicU64,
}

impl ShardFigures {
    /// Value for "no round in progress".
    pub const IDLE: u64 = u64::MAX;

    /// Returns true if no round is in progress.
    pub fn is_idle(&self) -> bool {
        self.round_began.load(Ordering::Relaxed) == Self::IDLE
    }

    /// Returns how many microseconds agents wait for their turns.
    pub fn wait_us(&self, now: Time) -> u64 {
        let since = self.waits_since.load(Ordering::Relaxed);
        // The value is 0 before the first observation.
        let present = if since == 0 { 0 } else { now.0.saturating_sub(since) };
        self.waited_us.load(Ordering::Relaxed).max(present)
    }

    /// Returns the microseconds spent in rounds up to now.
    pub fn busy_us(&self, now: Time) -> u64 {
        let began = self.round_began.load(Ordering::Relaxed);
        let present = if began == Self::IDLE { 0 } else { now.0.saturating_sub(began) };
        self.busy_us.load(Ordering::Relaxed) + present
    }

    /// Adds to a figure that only the holder writes, which needs no locked instruction.
    #[inline]
    pub fn add(figure: &AtomicU64, count: u64) {
        figure.store(figure.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }
}
