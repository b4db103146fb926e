//! Frames of a journal: records become frames, and frames are appended.

use std::time::{Duration, Instant};

use whimbrel_platform::durable::{Record, encode_frame};
use whimbrel_platform::limits::FRAME_BYTES;
use whimbrel_platform::store::{Append, AppendError, Epoch, Partition};

use super::served_term::ServedTerm;
use super::writer_state::{Fenced, WriterState};
use crate::sync::atomic::Ordering;

/// Delay before a failed write is tried again, at first and at most.
const RETRY: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// Frame that is about to be written, with its content.
pub(crate) struct PendingFrame {
    pub partition: Partition,
    pub epoch: Epoch,
    pub number: u64,
    pub records: Vec<Record>,
    pub bytes: Vec<u8>,
}

/// Returns the approximate size of a record in bytes.
fn bytes_of(record: &Record) -> usize {
    match record {
        Record::Step(step) => {
            let sent = step.sent.iter().map(|sent| sent.message.len() + 16).sum::<usize>();
            step.state.len() + sent + step.handled.len() * 8 + 16
        }
        Record::Settled { numbers, .. } => numbers.len() * 2 + 8,
        Record::Registration(standing) => standing.size(),
        _ => 64,
    }
}

/// Returns the names of the agents that records are about, for people.
fn agents_of(records: &[Record]) -> String {
    let mut names: Vec<&str> = records.iter().map(|record| record.agent().as_str()).collect();
    names.retain(|name| !name.is_empty());
    names.dedup();
    names.join(", ")
}

impl WriterState {
    /// Puts records that must stay together into frames.
    pub fn frames(&mut self, partition: Partition, pieces: Vec<Vec<Record>>) -> Vec<PendingFrame> {
        let mut frames: Vec<PendingFrame> = Vec::new();
        let (mut records, mut size) = (Vec::new(), 0);
        for piece in pieces {
            let more = piece.iter().map(bytes_of).sum::<usize>();
            if size + more > FRAME_BYTES {
                frames.extend(self.frame(partition, std::mem::take(&mut records)));
                size = 0;
            }
            size += more;
            records.extend(piece);
        }
        frames.extend(self.frame(partition, records));
        frames
    }

    /// Makes a frame of agents' records; it begins with the time for which the partition was served.
    fn frame(&mut self, partition: Partition, mut records: Vec<Record>) -> Option<PendingFrame> {
        if records.is_empty() {
            return None;
        }
        if let Some(term) = self.terms.get_mut(&partition) {
            term.worked = Instant::now();
            if let Some(served) = term.served(partition, term.worked) {
                records.insert(0, served);
            }
        }
        self.seal(partition, records)
    }

    pub fn seal(&mut self, partition: Partition, records: Vec<Record>) -> Option<PendingFrame> {
        let mut bytes = Vec::new();
        if let Err(error) = encode_frame(&records, &mut bytes) {
            // Sent messages were encoded already, and nothing else can be nested too deeply.
            self.log(&format!("a step cannot be written: {error}"));
            return None;
        }
        let Some(ServedTerm { epoch, number, .. }) = self.terms.get_mut(&partition) else {
            self.log(&format!("a step of partition {} is not written: another node serves it", partition.0));
            return None;
        };
        *number += 1;
        Some(PendingFrame { partition, epoch: *epoch, number: *number, records, bytes })
    }

    /// Appends frames, and retries as long as necessary.
    pub fn append(&mut self, mut frames: Vec<PendingFrame>) -> Result<(), Fenced> {
        let (mut wait, mut said) = (RETRY, false);
        while !frames.is_empty() {
            let appends: Vec<Append<'_>> = frames
                .iter()
                .map(|PendingFrame { partition, epoch, number, bytes, .. }| Append {
                    partition: *partition,
                    epoch: *epoch,
                    number: *number,
                    frame: bytes,
                })
                .collect();
            let results = self.journal.append(&appends);
            let (mut left, mut why) = (Vec::new(), None);
            for (frame, result) in frames.into_iter().zip(results) {
                match result {
                    Ok(_) => self.written(frame),
                    Err(error @ (AppendError::Fenced { .. } | AppendError::NotOpen { .. })) => {
                        self.log(&error.to_string());
                        return Err(Fenced);
                    }
                    Err(error @ AppendError::TooBig { .. }) => {
                        // Continuing would promise durability that is not there.
                        self.log(&format!(
                            "the society ends, because a step of {} cannot be stored: {error}",
                            agents_of(&frame.records)
                        ));
                        return Err(Fenced);
                    }
                    Err(error) => {
                        why.get_or_insert(error);
                        left.push(frame);
                    }
                }
            }
            frames = left;
            if let Some(why) = why {
                if !std::mem::replace(&mut said, true) {
                    self.log(&format!("agents wait until their steps can be written: {why}"));
                }
                if self.is_suspended() {
                    return Err(Fenced);
                }
                self.pause(wait);
                wait = (wait * 2).min(RETRY_MAX);
            }
        }
        if said {
            self.log("their steps are written; agents go on");
        }
        Ok(())
    }

    /// Waits, unless the platform ends.
    fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        while !self.is_suspended() && Instant::now() < until {
            std::thread::sleep(RETRY.min(until - Instant::now()));
        }
    }

    fn written(&mut self, frame: PendingFrame) {
        if let Some(term) = self.terms.get_mut(&frame.partition) {
            term.size.all += frame.bytes.len() as u64;
            self.unseen += frame.bytes.len() as u64;
        }
        let Some(scribe) = &self.node.scribe else { return };
        for record in frame.records {
            let gone = if let Record::Gone { agent, .. } = &record { Some(*agent) } else { None };
            if matches!(record, Record::Stopped { .. }) {
                scribe.concluded.store(true, Ordering::Release);
            }
            self.ledger.note(record);
            if let Some(agent) = gone {
                scribe.tell_end(agent, !self.ledger.is_durable(agent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Aid;
    use whimbrel_platform::durable::{AgentStep, Sent, State};

    use super::*;

    /// A frame that is closed too late could exceed what a journal stores, and that ends the society.
    #[test]
    fn estimate_covers_encoded_step() {
        // Bytes that cannot be compressed.
        let noise = |length| -> Vec<u8> {
            let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
            std::iter::successors(Some(1), next).map(|state| (state >> 24) as u8).take(length).collect()
        };
        for (messages, length) in [(0, 1_000), (1, 0), (1, 10), (1, 1_000), (100, 0), (100, 10), (100, 1_000)] {
            let sent = (0..messages).map(|_| Sent { to: Aid::local("bob"), message: noise(length) }).collect();
            let state = State::Whole(noise(length));
            let record = Record::Step(AgentStep { agent: "ann".into(), state, handled: Vec::new(), first: 1, sent });
            let (estimate, mut bytes) = (bytes_of(&record), Vec::new());
            encode_frame(&vec![record], &mut bytes).unwrap();
            assert!(estimate + 100 > bytes.len(), "{messages} of {length}: {estimate}, not {}", bytes.len());
        }
    }
}
