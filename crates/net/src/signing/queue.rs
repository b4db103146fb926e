//! Queue of records that wait to be written.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whimbrel_platform::limits::EVIDENCE_QUEUE_BYTES_MAX;

use super::evidence::EvidenceRecord;

/// Queue of this many bytes: putting waits until there is room.
#[derive(Default)]
pub(super) struct RecordQueue {
    state: Mutex<RecordQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct RecordQueueState {
    records: Vec<EvidenceRecord>,
    bytes: usize,
    /// True while taken records are being written.
    is_writing: bool,
    is_closed: bool,
    lost: u64,
}

impl RecordQueue {
    fn state(&self) -> MutexGuard<'_, RecordQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while a condition holds.
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, RecordQueueState>,
        so: impl FnMut(&mut RecordQueueState) -> bool,
    ) -> MutexGuard<'a, RecordQueueState> {
        self.changed.wait_while(state, so).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, record: EvidenceRecord) {
        let mut state = self.wait(self.state(), |state| state.bytes >= EVIDENCE_QUEUE_BYTES_MAX && !state.is_closed);
        state.bytes += record.bytes();
        state.records.push(record);
        self.changed.notify_all();
    }

    /// Takes all records, as soon as there are some; `None` once the queue is closed.
    pub fn take(&self) -> Option<Vec<EvidenceRecord>> {
        let mut state = self.wait(self.state(), |state| state.records.is_empty() && !state.is_closed);
        state.is_writing = !state.records.is_empty();
        state.is_writing.then(|| std::mem::take(&mut state.records))
    }

    /// Notes that the taken records are written, or that this many of them are lost.
    pub fn written(&self, lost: u64) {
        let mut state = self.state();
        state.bytes = state.records.iter().map(EvidenceRecord::bytes).sum();
        state.lost += lost;
        state.is_writing = false;
        self.changed.notify_all();
    }

    pub fn lost(&self) -> u64 {
        self.state().lost
    }

    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits until the queue is empty and written, at most for this time.
    pub fn settle(&self, at_most: Duration) {
        let busy = |state: &mut RecordQueueState| state.is_writing || !state.records.is_empty();
        let _ = self.changed.wait_timeout_while(self.state(), at_most, busy);
    }
}
