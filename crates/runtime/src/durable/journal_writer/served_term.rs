//! Terms of service: the time for which a node serves a partition.

use std::time::{Duration, Instant};

use whimbrel_platform::durable::Record;
use whimbrel_platform::store::{Epoch, Partition};

use crate::durable::recover::JournalSize;

/// Minimum time for which partitions are served, with agents and nothing to write, before that time is recorded.
pub(crate) const SERVED_UNSAID: Duration = Duration::from_secs(5);
/// Fraction of a longer idle time after which it is recorded as well. Waits of agents that are killed begin anew by
/// no more than that.
const SERVED_UNSAID_SHARE: u32 = 8;

/// Time during which this node serves a partition.
#[derive(Clone, Copy)]
pub(crate) struct ServedTerm {
    pub epoch: Epoch,
    /// Number of the last frame.
    pub number: u64,
    /// Size of the partition's journal, with the live bytes at the last compaction.
    pub size: JournalSize,
    /// End of the served time that is recorded.
    said: Instant,
    /// Time of the last write for an agent.
    pub worked: Instant,
}

impl ServedTerm {
    pub fn begin(epoch: Epoch, size: JournalSize) -> Self {
        let now = Instant::now();
        Self { epoch, number: 0, size, said: now, worked: now }
    }

    /// Returns the bytes that are out of date.
    pub fn garbage(&self) -> u64 {
        self.size.all.saturating_sub(self.size.live)
    }

    /// Returns the record of the time served since the last one, if it is not zero.
    pub fn served(&mut self, partition: Partition, now: Instant) -> Option<Record> {
        let ms = now.saturating_duration_since(self.said).as_millis() as u64;
        self.said += Duration::from_millis(ms);
        (ms > 0).then_some(Record::Served { partition: partition.0, ms })
    }

    /// Returns true if the served time is to be recorded though there is nothing else to write.
    pub fn is_unsaid(&self, now: Instant) -> bool {
        let idle = now.saturating_duration_since(self.worked);
        now.saturating_duration_since(self.said) >= SERVED_UNSAID.max(idle / SERVED_UNSAID_SHARE)
    }
}
