//! Merge of several nodes' lines, in the order of their times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Merge of several nodes' lines in the order of their times. The lines of one node keep their order.
pub struct Merge<T> {
    /// Time until which each node has sent everything.
    told_us: Vec<u64>,
    /// Lines by time; those of one time in the order of arrival.
    waiting: BinaryHeap<Reverse<(u64, u64)>>,
    told: BTreeMap<u64, T>,
    next: u64,
    patience_us: Option<u64>,
}

impl<T> Merge<T> {
    /// Creates a merge for this many nodes. A silent node is waited for no longer than the limit, if there is one.
    pub fn new(nodes: usize, patience_us: Option<u64>) -> Self {
        Self { told_us: vec![0; nodes], waiting: BinaryHeap::new(), told: BTreeMap::new(), next: 0, patience_us }
    }

    /// Takes a node's line of this time, or its report that it has sent everything until then.
    pub fn add(&mut self, node: usize, at_us: u64, told: Option<T>) {
        let Some(until) = self.told_us.get_mut(node) else { return };
        *until = at_us.max(*until);
        if let Some(told) = told {
            self.waiting.push(Reverse((*until, self.next)));
            self.told.insert(self.next, told);
            self.next += 1;
        }
    }

    /// Notes that a node will send nothing more.
    pub fn end(&mut self, node: usize) {
        if let Some(told) = self.told_us.get_mut(node) {
            *told = u64::MAX;
        }
    }

    /// Returns true if no node will send more.
    pub fn has_ended(&self) -> bool {
        self.told_us.iter().all(|told| *told == u64::MAX)
    }

    /// Returns the lines that no earlier line can precede any more, and those that waited long enough.
    pub fn take(&mut self, now_us: u64) -> Vec<T> {
        let told = self.told_us.iter().copied().min().unwrap_or(u64::MAX);
        let until = self.patience_us.map_or(told, |patience| told.max(now_us.saturating_sub(patience)));
        let mut taken = Vec::new();
        while let Some(Reverse((_, number))) = self.waiting.peek().copied().filter(|next| next.0.0 <= until) {
            self.waiting.pop();
            taken.extend(self.told.remove(&number));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_events_are_in_order() {
        let mut merge = Merge::new(2, Some(500));
        [10, 30].into_iter().for_each(|at| merge.add(0, at, Some(at)));
        assert_eq!(merge.take(0), [0; 0], "the other node has said nothing yet");
        merge.add(1, 20, Some(20));
        assert_eq!(merge.take(0), [10, 20]);
        merge.add(1, 40, None);
        assert_eq!(merge.take(0), [30], "nothing happened there until 40");
        merge.add(0, 50, Some(50));
        assert_eq!(merge.take(50 + 500), [50], "whoever is silent is not waited for");
        merge.end(1);
        merge.add(0, 60, Some(60));
        merge.add(0, 55, Some(55));
        assert_eq!(merge.take(0), [60, 55], "what one node tells stays in its order");
        assert!(!merge.has_ended());
        merge.end(0);
        assert!(merge.has_ended());
    }

    #[test]
    fn merge_waits_for_required_nodes() {
        let mut merge = Merge::new(2, None);
        merge.add(0, 10, Some(10));
        assert_eq!(merge.take(u64::MAX), [0; 0]);
        merge.add(1, 11, None);
        assert_eq!(merge.take(0), [10]);
    }
}
