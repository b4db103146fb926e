//! Load of a node, in total and for each partition.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{LOAD_PARTITIONS_MAX, LOAD_WINDOW_MS};
use crate::store::Partition;
use crate::time::Time;

/// Whole time of a node's cores, in the unit of loads.
pub const WHOLE: u16 = 1_000;

/// Work of a node's workers since the node began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTotals {
    /// Time of all workers together in agents' turns and their overhead.
    pub busy: Duration,
    /// Number of workers.
    pub workers: u32,
    /// Time for each partition's agents, as far as known; idle partitions are left out.
    pub partitions: Vec<(Partition, Duration)>,
}

/// Recent load of a node, in thousandths of its workers' time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Load of all agents together.
    pub busy: u16,
    /// Loads of the busiest partitions, [`LOAD_PARTITIONS_MAX`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(u16, u16)>,
}

impl Load {
    /// Returns the load as a percentage, for people.
    pub fn percent(&self) -> String {
        format!("{} %", (self.busy.min(WHOLE) + 5) / 10)
    }
}

/// Work of a node in the last [`LOAD_WINDOW_MS`].
#[derive(Debug, Default)]
pub struct LoadWindow(VecDeque<(Time, WorkTotals)>);

impl LoadWindow {
    /// Returns the load, given the work until now; `None` until the window is full. Call it a few times in each window.
    pub fn note(&mut self, work: WorkTotals, now: Time) -> Option<Load> {
        let window = Duration::from_millis(LOAD_WINDOW_MS);
        self.0.push_back((now, work));
        // The window begins at the last entry that is older.
        while self.0.get(1).is_some_and(|(at, _)| now - *at >= window) {
            self.0.pop_front();
        }
        let ((began, before), (_, work)) = (self.0.front()?, self.0.back()?);
        (now - *began >= window).then(|| load(before, work, now - *began))
    }
}

fn load(before: &WorkTotals, work: &WorkTotals, time: Duration) -> Load {
    let all_us = time.as_micros().max(1) * u128::from(work.workers.max(1));
    let share = |spent: Duration| (spent.as_micros() * u128::from(WHOLE) / all_us).min(u128::from(WHOLE)) as u16;
    let spent_before = |partition| {
        let found = before.partitions.iter().find(|(other, _)| *other == partition);
        found.map_or(Duration::ZERO, |(_, spent)| *spent)
    };
    let part = |(partition, spent): &(Partition, Duration)| {
        (partition.0, share(spent.saturating_sub(spent_before(*partition))))
    };
    let mut parts: Vec<(u16, u16)> = work.partitions.iter().map(part).filter(|(_, share)| *share > 0).collect();
    parts.sort_unstable_by_key(|(partition, share)| (std::cmp::Reverse(*share), *partition));
    parts.truncate(LOAD_PARTITIONS_MAX);
    Load { busy: share(work.busy.saturating_sub(before.busy)), parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the work of two workers. One is busy half of the time from the sixth second on, with partition 3 twice
    /// as long as with 5.
    fn work(ms: u64) -> WorkTotals {
        let busy = Duration::from_millis(ms.saturating_sub(6_000) / 2);
        let partitions = vec![(Partition(3), busy * 2 / 3), (Partition(5), busy / 3), (Partition(7), Duration::ZERO)];
        WorkTotals { busy, workers: 2, partitions }
    }

    #[test]
    fn load_needs_whole_window() {
        let mut window = LoadWindow::default();
        let mut at = |ms| window.note(work(ms), Time::from_ms(ms));
        let before: Vec<Option<Load>> = (0..20).map(|beat| at(beat * 250)).collect();
        assert_eq!(before, vec![None; 20]);
        assert_eq!(at(5_000), Some(Load::default()));
        assert_eq!(at(8_500), Some(Load { busy: 125, parts: vec![(3, 83), (5, 41)] }));
        (36..200).for_each(|beat| drop(at(beat * 250)));
        assert_eq!(at(50_000), Some(Load { busy: 250, parts: vec![(3, 166), (5, 83)] }));
        assert!(window.0.len() <= 22);
    }

    #[test]
    fn told_load_is_bounded() {
        let busiest = |share: u64| WorkTotals {
            busy: Duration::from_secs(share),
            workers: 1,
            partitions: (0..1_000)
                .map(|index| (Partition(index), Duration::from_millis(share * u64::from(index))))
                .collect(),
        };
        let mut window = LoadWindow::default();
        window.note(busiest(0), Time::ZERO);
        let load = window.note(busiest(5), Time::from_ms(5_000)).expect("a whole window");
        assert_eq!((load.busy, load.parts.len()), (WHOLE, LOAD_PARTITIONS_MAX));
        assert_eq!(load.parts[0], (999, 999));
    }
}
