//! Index from entry numbers to frames of the journal.

use std::collections::VecDeque;

use whimbrel_platform::store::Lsn;

/// Overhead of a frame: its header in the journal's files, and its entry in memory.
const FRAME_COST_BYTES: u64 = 256;

/// Frame with entries.
#[derive(Clone, Copy, Debug)]
struct FramePlace {
    /// The number of its first entry.
    first: u64,
    lsn: Lsn,
    bytes: u64,
}

/// The frames of a log that are there.
#[derive(Debug, Default)]
pub(super) struct FrameIndex {
    places: VecDeque<FramePlace>,
    bytes: u64,
    last: u64,
    /// True if the last writer did not end the log in order.
    pub cut_short: bool,
}

impl FrameIndex {
    /// Adds a frame whose entries have these numbers.
    pub fn push(&mut self, (first, count): (u64, u32), bytes: usize, lsn: Lsn) {
        let bytes = bytes as u64 + FRAME_COST_BYTES;
        self.places.push_back(FramePlace { first, lsn, bytes });
        self.bytes += bytes;
        self.last = self.last.max(first + u64::from(count).saturating_sub(1));
    }

    /// Returns the number of the last entry.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the frame in which entries after number `after` begin; `None` if there are none.
    pub fn find(&self, after: u64) -> Option<Lsn> {
        if after >= self.last {
            return None;
        }
        let later = self.places.partition_point(|place| place.first <= after + 1);
        self.places.get(later.saturating_sub(1)).map(|place| place.lsn)
    }

    /// Forgets the oldest frames if the log takes more than `bytes_max`. Drops an eighth at once, so that not every
    /// new frame does this. Returns the first frame that remains, if any were forgotten.
    pub fn shrink(&mut self, bytes_max: u64) -> Option<Lsn> {
        if self.bytes <= bytes_max {
            return None;
        }
        while self.bytes > bytes_max / 8 * 7
            && self.places.len() > 1
            && let Some(place) = self.places.pop_front()
        {
            self.bytes -= place.bytes;
        }
        self.places.front().map(|place| place.lsn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_of_next_number_is_found() {
        let mut index = FrameIndex::default();
        assert_eq!(index.find(0), None);
        for (first, count, lsn) in [(1, 3, 10), (4, 1, 11), (5, 5, 15)] {
            index.push((first, count), 144, Lsn(lsn));
        }
        let found = |after| index.find(after).map(|lsn| lsn.0);
        assert_eq!([0, 2, 3, 4, 8].map(found), [Some(10), Some(10), Some(11), Some(15), Some(15)]);
        assert_eq!([9, 10].map(found), [None, None]);
        assert_eq!((index.last(), index.shrink(1_200)), (9, None));
        assert_eq!(index.shrink(1_199), Some(Lsn(11)));
        assert_eq!(index.find(0), Some(Lsn(11)), "the first there is");
        assert_eq!(index.shrink(1), Some(Lsn(15)), "the last one stays");
    }
}
