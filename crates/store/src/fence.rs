//! Fencing: the owner of a partition, and its next frame. The rules are the same for every store of this crate.

use whimbrel_platform::store::{Append, AppendError, Epoch, Lsn};

/// Ownership of a partition, and its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The epoch it was last opened in; 0: never.
    pub epoch: u64,
    /// The number of the last frame of that epoch.
    pub number: u64,
    /// The place of the last frame.
    pub last: u64,
    /// The frames up to this place are forgotten.
    pub trimmed: u64,
}

/// Decision on an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The frame comes next, at this place.
    Next(Lsn),
    /// The frame was appended before, at this place.
    Again(Lsn),
    /// The frame must not be appended.
    Refused(AppendError),
}

impl Ownership {
    /// Decides on an append.
    pub fn admit(&self, append: &Append<'_>) -> Admission {
        let epoch = append.epoch.0;
        if epoch < self.epoch {
            return Admission::Refused(AppendError::Fenced { by: Epoch(self.epoch) });
        }
        if epoch > self.epoch || epoch == 0 {
            return Admission::Refused(AppendError::NotOpen { partition: append.partition, epoch: append.epoch });
        }
        match append.number {
            0 => Admission::Refused(AppendError::Behind),
            // The places of an epoch's frames are without a gap.
            number if number <= self.number => Admission::Again(Lsn(self.last.saturating_sub(self.number - number))),
            number if number == self.number + 1 => Admission::Next(Lsn(self.last + 1)),
            _ => Admission::Refused(AppendError::Behind),
        }
    }

    /// Notes that the next frame of this epoch was appended.
    pub fn appended(&mut self) {
        self.number += 1;
        self.last += 1;
    }

    /// Opens it in a higher epoch.
    pub fn open(&mut self, epoch: Epoch) {
        if epoch.0 > self.epoch {
            self.epoch = epoch.0;
            self.number = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_platform::store::Partition;

    use super::*;

    fn frame(epoch: u64, number: u64) -> Append<'static> {
        Append { partition: Partition(3), epoch: Epoch(epoch), number, frame: b"x" }
    }

    #[test]
    fn only_next_frame_is_appended() {
        let mut owned = Ownership::default();
        let not_open =
            |epoch| Admission::Refused(AppendError::NotOpen { partition: Partition(3), epoch: Epoch(epoch) });
        assert_eq!(owned.admit(&frame(0, 1)), not_open(0));
        assert_eq!(owned.admit(&frame(1, 1)), not_open(1));
        owned.open(Epoch(2));
        assert_eq!(owned.admit(&frame(1, 1)), Admission::Refused(AppendError::Fenced { by: Epoch(2) }));
        assert_eq!(owned.admit(&frame(3, 1)), not_open(3));
        assert_eq!(owned.admit(&frame(2, 0)), Admission::Refused(AppendError::Behind));
        assert_eq!(owned.admit(&frame(2, 2)), Admission::Refused(AppendError::Behind));
        assert_eq!(owned.admit(&frame(2, 1)), Admission::Next(Lsn(1)));
    }

    #[test]
    fn repeated_append_is_found_in_later_epochs() {
        let mut owned = Ownership::default();
        owned.open(Epoch(1));
        (0..5).for_each(|_| owned.appended());
        assert_eq!(owned.admit(&frame(1, 2)), Admission::Again(Lsn(2)));
        owned.open(Epoch(1));
        assert_eq!(owned.admit(&frame(1, 6)), Admission::Next(Lsn(6)));
        owned.open(Epoch(4));
        assert_eq!(owned.admit(&frame(4, 1)), Admission::Next(Lsn(6)));
        owned.appended();
        assert_eq!(owned.admit(&frame(4, 1)), Admission::Again(Lsn(6)));
    }
}
