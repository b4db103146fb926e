//! Store as nodes see it: a register in which each write has one winner, and a fenced journal per partition. The store
//! may be away, and may leave the outcome of a write unknown. It also bears witness: it sees everything that is ever
//! written.

use std::collections::{BTreeMap, HashMap};

use whimbrel_acl::Symbol;
use whimbrel_platform::durable::{Record, Sent, Ticket};
use whimbrel_platform::store::{
    AppendError, Epoch, OpenError, Partition, Revision, StoreError, WatchNotice, WriteError,
};
use whimbrel_testkit::Random;

use crate::durable_actors::frame;

#[derive(Default)]
pub struct SocietyStore {
    keys: BTreeMap<String, (Revision, Vec<u8>)>,
    revision: u64,
    logs: Vec<SimulatedLog>,
    pub away: bool,
    /// Number of writes among which one has an unknown outcome; 0 for none.
    pub unknown: u64,
    /// Messages that were ever written, and the agents that handled them.
    pub sent: HashMap<Ticket, Sent>,
    pub handled: HashMap<Ticket, Symbol>,
    /// Node that opened a partition in an epoch.
    opened: HashMap<(Partition, Epoch), usize>,
}

#[derive(Clone, Default)]
struct SimulatedLog {
    epoch: Epoch,
    /// Number of the last frame of this epoch.
    last: u64,
    frames: Vec<Vec<u8>>,
}

impl SocietyStore {
    pub fn new(partitions: u16) -> Self {
        Self { logs: vec![SimulatedLog::default(); usize::from(partitions)], ..Self::default() }
    }

    fn log(&mut self, partition: Partition) -> &mut SimulatedLog {
        &mut self.logs[usize::from(partition.0)]
    }

    pub fn all(&self) -> Vec<WatchNotice> {
        let there = self
            .keys
            .iter()
            .map(|(key, (revision, value))| WatchNotice::Written(key.clone(), *revision, value.clone()));
        there.chain([WatchNotice::Complete]).collect()
    }

    pub fn key(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        if self.away { Err(StoreError::Away("away".into())) } else { Ok(self.keys.get(key).cloned()) }
    }

    /// Writes a key. Returns the outcome, and the event for watchers.
    pub fn write(
        &mut self,
        key: &str,
        expected: Revision,
        value: Option<&[u8]>,
        random: &mut Random,
    ) -> (Result<Revision, WriteError>, Option<WatchNotice>) {
        if self.away {
            return (Err(WriteError::Retry("away".into())), None);
        }
        let unknown = random.one_in(self.unknown);
        if unknown && random.one_in(2) {
            return (Err(WriteError::Unknown("not done".into())), None);
        }
        let found = self.keys.get(key).map_or(Revision(0), |(revision, _)| *revision);
        if found != expected {
            return (Err(WriteError::Conflict(found)), None);
        }
        self.revision += 1;
        let revision = Revision(self.revision);
        let (watched, now) = match value {
            Some(value) => {
                self.keys.insert(key.to_owned(), (revision, value.to_vec()));
                (WatchNotice::Written(key.to_owned(), revision, value.to_vec()), revision)
            }
            None => {
                self.keys.remove(key);
                (WatchNotice::Removed(key.to_owned()), Revision(0))
            }
        };
        (if unknown { Err(WriteError::Unknown("done".into())) } else { Ok(now) }, Some(watched))
    }

    pub fn open(&mut self, node: usize, partition: Partition, epoch: Epoch) -> Result<(), OpenError> {
        if self.away {
            return Err(OpenError::Store(StoreError::Away("away".into())));
        }
        let log = self.log(partition);
        if log.epoch > epoch {
            return Err(OpenError::Fenced { partition, by: log.epoch });
        }
        if log.epoch < epoch {
            (log.epoch, log.last) = (epoch, 0);
        }
        let owner = *self.opened.entry((partition, epoch)).or_insert(node);
        assert_eq!(owner, node, "two nodes opened partition {} in epoch {}", partition.0, epoch.0);
        Ok(())
    }

    /// Number of the last frame of a partition in its present epoch.
    pub fn last(&self, partition: Partition) -> u64 {
        self.logs[usize::from(partition.0)].last
    }

    pub fn frames(&self, partition: Partition) -> &[Vec<u8>] {
        &self.logs[usize::from(partition.0)].frames
    }

    pub fn append(
        &mut self,
        partition: Partition,
        epoch: Epoch,
        number: u64,
        records: &[Record],
        random: &mut Random,
    ) -> Result<(), AppendError> {
        if self.away {
            return Err(AppendError::Retry("away".into()));
        }
        let unknown = random.one_in(self.unknown);
        if unknown && random.one_in(2) {
            return Err(AppendError::Unknown("not done".into()));
        }
        let log = self.log(partition);
        if log.epoch != epoch {
            return Err(AppendError::Fenced { by: log.epoch });
        }
        if number > log.last {
            assert_eq!(number, log.last + 1, "a frame is missing");
            log.last = number;
            log.frames.push(frame(records.to_vec()));
            records.iter().for_each(|record| self.witness(record));
        }
        if unknown { Err(AppendError::Unknown("done".into())) } else { Ok(()) }
    }

    /// Replaces the content of a partition by these pieces; appends them if not all of them are written.
    pub fn rewrite(&mut self, partition: Partition, epoch: Epoch, pieces: Vec<Vec<Record>>, written: usize) -> bool {
        let log = self.log(partition);
        if log.epoch != epoch {
            return false;
        }
        let (old, all) = (log.frames.len(), pieces.len());
        log.frames.extend(pieces.into_iter().take(written).map(frame));
        log.last += written.min(all) as u64;
        if written >= all {
            log.frames.drain(..old);
        }
        true
    }

    fn witness(&mut self, record: &Record) {
        let Record::Step(step) = record else { return };
        for ticket in &step.handled {
            assert!(self.sent.contains_key(ticket), "{ticket:?} was handled before it was written");
            let before = self.handled.insert(*ticket, step.agent);
            assert_eq!(before, None, "{ticket:?} was handled twice");
        }
        for (number, sent) in (step.first..).zip(&step.sent) {
            let before = self.sent.insert(Ticket { sender: step.agent, number }, sent.clone());
            assert_eq!(before, None, "a number was used twice");
        }
    }
}
