//! Compaction of a partition's journal, once most of it is out of date.

use whimbrel_platform::limits::{JOURNAL_GARBAGE_BYTES, JOURNAL_TIDY_BYTES};
use whimbrel_platform::store::{Lsn, Partition};

use super::frames::PendingFrame;
use super::served_term::ServedTerm;
use super::writer_state::WriterState;
use crate::durable::recover::{JournalSize, RecoverError, read_partition};

impl WriterState {
    /// Compacts the journal of the partition that gains most for its cost, if garbage exceeds live bytes in all
    /// together.
    pub fn tidy_up(&mut self) {
        if self.unseen < JOURNAL_TIDY_BYTES {
            return;
        }
        self.unseen = 0;
        let (mut live, mut garbage) = (0_u64, 0_u64);
        for term in self.terms.values() {
            live += term.size.live;
            garbage += term.garbage();
        }
        if garbage < live.saturating_add(JOURNAL_GARBAGE_BYTES) {
            return;
        }
        // Garbage per mille of the bytes to write. Each journal has a fixed cost, however small it is.
        let worth =
            |term: &ServedTerm| term.garbage().saturating_mul(1_000) / (term.size.live + JOURNAL_TIDY_BYTES / 4);
        let Some(partition) = self.terms.iter().max_by_key(|(_, term)| worth(term)).map(|(partition, _)| *partition)
        else {
            return;
        };
        if let Err(error) = self.condense(partition) {
            self.log(&format!("the journal grows: {error}"));
            self.leave_untidy(partition);
        }
    }

    /// Postpones the compaction of a partition's journal until it has grown.
    fn leave_untidy(&mut self, partition: Partition) {
        if let Some(term) = self.terms.get_mut(&partition) {
            term.size.live = term.size.all;
        }
    }

    fn condense(&mut self, partition: Partition) -> Result<(), RecoverError> {
        let (_, arrears) = read_partition(&*self.journal, self.ledger.layout(), partition)?;
        let Some(ServedTerm { epoch, number, .. }) = self.terms.get(&partition).copied() else { return Ok(()) };
        let last = self.journal.open(partition, epoch)?;
        let pieces = arrears.condense(&self.ledger);
        let frames = self.frames(partition, pieces);
        let bytes_max = self.journal.promises().frame_bytes_max;
        if frames.iter().any(|frame| frame.bytes.len() > bytes_max) {
            // An agent's complete state has to fit into one frame, and this one does not.
            if let Some(term) = self.terms.get_mut(&partition) {
                term.number = number;
            }
            self.leave_untidy(partition);
            return Ok(());
        }
        let bytes = frames.iter().map(|frame| frame.bytes.len() as u64).sum();
        // The ledger has the content of these frames already.
        let frames = frames.into_iter().map(|frame| PendingFrame { records: Vec::new(), ..frame }).collect();
        if self.append(frames).is_ok() {
            self.journal.trim(partition, Lsn(last.0 + 1))?;
            if let Some(term) = self.terms.get_mut(&partition) {
                term.size = JournalSize { all: bytes, live: bytes };
            }
        }
        Ok(())
    }
}
