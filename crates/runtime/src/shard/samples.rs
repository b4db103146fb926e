//! Samples of a shard's time by partition, by which a cluster decides what to move from a busy node.
//!
//! Rounds are timed as a whole anyway. At random moments, turns are timed individually for a while. The shard's busy
//! time since the last sample is divided in the same proportions. The moments depend on the busy time: agents that
//! are repeatedly woken together would otherwise be seen in the same order each time, and only the first of them.

use rustc_hash::FxHashMap;
use whimbrel_platform::Time;
use whimbrel_platform::store::Partition;

use super::Shard;
use super::slot::{Away, Slot};
use crate::shard_handle::ShardFigures;
use crate::sync::atomic::Ordering;

/// Number of turns that suffice for a sample...
const TURNS_MAX: u32 = 256;
/// ...and duration after which it ends anyway.
const OPEN_US_MAX: u64 = 200_000;
/// Average busy time between two samples.
const PAUSE_US: u64 = 20_000;

/// Samples of a shard; see the module.
pub(super) struct Samples {
    /// Busy time until the next sample.
    pause_us: u64,
    /// State of the random numbers for pauses.
    chance: u64,
    /// Start of the present sample, if one is being taken.
    began: Option<Time>,
    turns: u32,
    spent_ns: u64,
    /// Time of durable agents in the sample, by partition.
    by_partition: FxHashMap<Partition, u64>,
    /// Busy time of the shard at the end of the last sample.
    busy_then_us: u64,
    /// Busy time since then in late turns, which are reported separately.
    late_us: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            pause_us: PAUSE_US,
            chance: 0x9e37_79b9_7f4a_7c15,
            began: None,
            turns: 0,
            spent_ns: 0,
            by_partition: FxHashMap::default(),
            busy_then_us: 0,
            late_us: 0,
        }
    }
}

impl Samples {
    /// Returns the busy time until the next sample: up to twice the average (Marsaglia 2003, xorshift).
    fn next_pause_us(&mut self) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        1 + self.chance % (2 * PAUSE_US - 1)
    }

    fn note(&mut self, partition: Option<Partition>, spent_ns: u64) {
        self.turns += 1;
        self.spent_ns += spent_ns;
        if let Some(partition) = partition {
            *self.by_partition.entry(partition).or_default() += spent_ns;
        }
    }

    /// Closes a sample. Returns the time of each partition since the last one.
    fn close(&mut self, busy_us: u64) -> impl Iterator<Item = (Partition, u64)> {
        let since_us = busy_us.saturating_sub(self.busy_then_us).saturating_sub(std::mem::take(&mut self.late_us));
        (self.busy_then_us, self.began, self.pause_us) = (busy_us, None, self.next_pause_us());
        let all_ns = u128::from(std::mem::take(&mut self.spent_ns).max(1));
        self.turns = 0;
        let part_us = move |spent_ns| (u128::from(since_us) * u128::from(spent_ns) / all_ns) as u64;
        self.by_partition.drain().map(move |(partition, spent_ns)| (partition, part_us(spent_ns)))
    }
}

impl Shard {
    /// Begins or ends a sample when due, after a round.
    pub(super) fn sample(&mut self, round_us: u64, now: Time) {
        let Some(samples) = &mut self.samples else { return };
        samples.pause_us = samples.pause_us.saturating_sub(round_us);
        if samples.pause_us > 0 {
            return;
        }
        let began = *samples.began.get_or_insert(now);
        if samples.turns >= TURNS_MAX || now.0 >= began.0 + OPEN_US_MAX {
            self.end_sample();
        }
    }

    #[cold]
    fn end_sample(&mut self) {
        let (Some(samples), Some(seat)) = (&mut self.samples, self.node.seat(self.index)) else { return };
        for (partition, spent_us) in samples.close(seat.figures.busy_us.load(Ordering::Relaxed)) {
            self.node.cluster.iter().for_each(|cluster| cluster.note_work(partition, spent_us));
        }
    }

    /// Returns true if turns are to be timed individually.
    pub(super) fn is_sampled(&self) -> bool {
        self.samples.as_ref().is_some_and(|samples| samples.began.is_some())
    }

    /// Notes the duration of the last turn.
    pub(super) fn sample_turn(&mut self, spent_ns: u64) {
        let is_durable = self.slots.at(self.running.index).is_some_and(|slot| slot.unwritten.is_some());
        let cluster = self.node.cluster.as_ref().filter(|_| is_durable);
        let partition = cluster.map(|cluster| cluster.partition_of(self.running.name));
        if let Some(samples) = &mut self.samples {
            samples.note(partition, spent_ns);
        }
    }

    /// Notes that the shard continues without the last turn. Returns that turn's start, and the time now.
    pub(super) fn leave_late(&mut self) -> (Time, Time) {
        let (began, now) = (self.now, self.node.now());
        if let Some(samples) = &mut self.samples {
            samples.late_us += (now - began).as_micros() as u64;
        }
        (began, now)
    }

    /// Notes the end of a late turn.
    pub(super) fn sample_late(&mut self, slot: &Slot, away: &Away) {
        let (node, now) = (&self.node, self.node.now());
        if let Some(seat) = node.seat(self.index) {
            ShardFigures::add(&seat.figures.late_us, (now - away.left).as_micros() as u64);
        }
        if let Some(cluster) = node.cluster.as_ref().filter(|_| slot.unwritten.is_some()) {
            cluster.note_work(cluster.partition_of(slot.name), (now - away.began).as_micros() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_divided_by_sample() {
        let mut samples = Samples { began: Some(Time::ZERO), ..Samples::default() };
        samples.note(Some(Partition(3)), 300_000);
        samples.note(None, 100_000);
        samples.note(Some(Partition(4)), 600_000);
        samples.late_us = 10_000;
        let mut parts: Vec<_> = samples.close(50_000).collect();
        parts.sort_unstable();
        assert_eq!(parts, [(Partition(3), 12_000), (Partition(4), 24_000)]);
        assert!(samples.began.is_none() && (1..2 * PAUSE_US).contains(&samples.pause_us));
        samples.note(Some(Partition(3)), 1);
        assert_eq!(samples.close(51_000).collect::<Vec<_>>(), [(Partition(3), 1_000)]);
    }

    #[test]
    fn sample_pauses_are_random() {
        let mut samples = Samples::default();
        let pauses: Vec<u64> = (0..1_000).map(|_| samples.next_pause_us()).collect();
        assert!(pauses.iter().all(|pause| (1..2 * PAUSE_US).contains(pause)));
        assert!((pauses.iter().sum::<u64>() / 1_000).abs_diff(PAUSE_US) < PAUSE_US / 10);
    }
}
