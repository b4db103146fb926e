//! Compaction: removal of segments whose frames are all forgotten, oldest first. A segment with a few frames left has
//! them written again at the journal's end. A segment with unreadable frames is set aside, so that it does not hold
//! back those behind it.

use std::ops::ControlFlow;
use std::sync::PoisonError;

use whimbrel_files::{create_folder, sync_folder};
use whimbrel_platform::store::{Partition, StoreError};

use super::folder::DAMAGED;
use super::layout::{RecordKind, SegmentRecord};
use super::queue::{RecordEffect, WriteQueue};
use super::recover::FrameSlot;
use super::{BATCH_BYTES, Embedded, damaged};

/// Share of live frames from which a requested compaction leaves a segment alone, in hundredths.
const FULL_PERCENT: u64 = 90;

/// Summary of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the journal before.
    pub before_bytes: u64,
    /// Bytes of the journal after.
    pub after_bytes: u64,
    /// Frames that were written again.
    pub moved: u64,
}

impl Embedded {
    /// Frees the space of forgotten frames. `progress` gets the number of segments done and in all. It may interrupt
    /// the compaction: the store is as good as before, only bigger than it could be.
    ///
    /// # Errors
    /// The store cannot be written, or a file cannot be read: then its segment is left as it is.
    pub fn compact(&self, progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<Compacted, StoreError> {
        let mut done = Compacted { before_bytes: self.journal_bytes(), ..Compacted::default() };
        let wasteful = self.wasteful(FULL_PERCENT);
        if !wasteful.is_empty() {
            // The last segment is never moved: from now on that is a new one.
            self.begin_segment()?;
        }
        for (index, segment) in wasteful.iter().enumerate() {
            if progress(index as u64, wasteful.len() as u64).is_break() {
                break;
            }
            done.moved += self.move_frames(*segment)?;
            self.sweep();
        }
        done.after_bytes = self.journal_bytes();
        Ok(done)
    }

    /// Frees the oldest segment if forgotten frames take more room than live ones and one segment together.
    pub(super) fn compact_a_little(&self) {
        let (segments, bytes, frame_bytes) = {
            let queue = self.queue();
            (queue.segments.len(), sizes(&queue), queue.segments.values().map(|kept| kept.frame_bytes).sum::<u64>())
        };
        let waste = bytes.saturating_sub(frame_bytes);
        if segments < 2 || waste < frame_bytes.saturating_add(self.segment_bytes) {
            return;
        }
        let oldest = self.queue().segments.keys().next().copied();
        // Frames that cannot be moved stay, and are tried again: nothing is lost by that but space.
        if oldest.is_some_and(|oldest| self.move_frames(oldest).is_ok()) {
            self.sweep();
        }
    }

    /// Bytes of the journal's files.
    fn journal_bytes(&self) -> u64 {
        sizes(&self.queue())
    }

    /// Returns the oldest segments, up to the last of those that are less full than this.
    fn wasteful(&self, full_percent: u64) -> Vec<u32> {
        let queue = self.queue();
        let wasted = |kept: &super::queue::KeptSegment| {
            let bytes = kept.segment.len().unwrap_or_default();
            kept.frame_bytes * 100 < bytes * full_percent
        };
        let last = queue.segments.iter().rev().find(|(_, kept)| wasted(kept)).map(|(number, _)| *number);
        queue.segments.keys().copied().filter(|number| Some(*number) <= last).collect()
    }

    pub(super) fn begin_segment(&self) -> Result<(), StoreError> {
        let mut queue = self.queue();
        queue.begin_segment = true;
        let outcome = queue.pending.outcome.clone();
        Ok(self.settle(queue, &outcome).1?)
    }

    /// Writes the frames of a segment again, at the end: how many. If some cannot be read, the segment is set aside.
    fn move_frames(&self, number: u32) -> Result<u64, StoreError> {
        let frames = found_in(&self.queue(), number);
        let Some(segment) = self.queue().segments.get(&number).map(|kept| kept.segment.clone()) else { return Ok(0) };
        let mut buffer = Vec::new();
        let mut moved = 0;
        let mut last = None;
        let mut is_damaged = self.queue().may_have_lost(number);
        for (partition, lsn, slot) in frames {
            let (header, frame) = match segment.read(slot, self.store, &mut buffer) {
                Ok(read) => read,
                Err(what) => {
                    if !segment.is_damaged(slot, self.store, &mut buffer) {
                        return Err(damaged(Partition(partition), lsn, &what));
                    }
                    is_damaged = true;
                    continue;
                }
            };
            let mut queue = self.queue();
            if queue.logs.get(usize::from(partition)).and_then(|log| log.frames.slot(lsn)) != Some(slot) {
                continue;
            }
            let record = SegmentRecord { kind: RecordKind::Moved, ..header.record };
            let effect = |at| RecordEffect::Moved { partition, lsn, from: number, at, bytes: slot.bytes };
            let outcome = queue.push(&record, frame, effect);
            moved += 1;
            if queue.pending.batch.bytes.len() > BATCH_BYTES / 2 {
                self.settle(queue, &outcome).1?;
            } else {
                last = Some(outcome);
            }
        }
        if let Some(outcome) = last {
            self.settle(self.queue(), &outcome).1?;
        }
        if is_damaged {
            self.set_aside(number)?;
        }
        Ok(moved)
    }

    /// Moves the oldest segment out of the journal, with all its unreadable frames. These are missing from then on,
    /// until the segment is repaired and put back.
    fn set_aside(&self, number: u32) -> Result<(), StoreError> {
        let _one_at_a_time = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        let segment = {
            let queue = self.queue();
            let is_last = queue.segments.len() < 2;
            let Some((_, kept)) = queue.segments.first_key_value().filter(|(first, _)| **first == number && !is_last)
            else {
                return Ok(());
            };
            kept.segment.clone()
        };
        let aside = self.folder.join(DAMAGED);
        let journal = segment.path.parent().unwrap_or(&self.folder);
        let moved = create_folder(&aside)
            .and_then(|()| std::fs::rename(&segment.path, aside.join(segment.path.file_name().unwrap_or_default())))
            .and_then(|()| sync_folder(&aside))
            .and_then(|()| sync_folder(journal));
        moved.map_err(|error| StoreError::Away(format!("{} cannot be set aside: {error}", segment.path.display())))?;
        let mut queue = self.queue();
        queue.segments.remove(&number);
        for log in &mut queue.logs {
            log.frames
                .slots
                .iter_mut()
                .filter(|slot| slot.segment == number)
                .for_each(|slot| *slot = FrameSlot::default());
        }
        Ok(())
    }
}

fn sizes(queue: &WriteQueue) -> u64 {
    queue.segments.values().map(|kept| kept.segment.len().unwrap_or_default()).sum()
}

fn found_in(queue: &WriteQueue, segment: u32) -> Vec<(u16, u64, FrameSlot)> {
    let mut frames = Vec::new();
    for (partition, log) in queue.logs.iter().enumerate() {
        let slots = log.frames.slots.iter().enumerate().filter(|(_, slot)| slot.segment == segment);
        // There are fewer partitions than that.
        frames.extend(slots.map(|(index, slot)| (partition as u16, log.frames.lsn(index), *slot)));
    }
    frames
}
