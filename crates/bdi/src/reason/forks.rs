//! Fork and join: branches of a plan as intentions of their own.

use whimbrel_acl::Value;

use super::Cycle;
use super::cycle::is_scoped;
use crate::mind::{Fork, ForkMark, Intention, IntentionId, IntentionPlace};

impl Cycle<'_> {
    /// Splits an intention into one per branch. The first branch is the intention itself.
    pub(super) fn fork(&mut self, id: IntentionId, first_wins: bool, starts: &[u32], join: u32) {
        let Some(original) = self.mind.intentions.find(id).cloned() else { return };
        let place = self.mind.forks.iter().position(Option::is_none).unwrap_or(self.mind.forks.len());
        let mark = ForkMark { fork: place as u32, frames: original.frames.len() as u32 };
        let mut branches = Vec::new();
        for (number, start) in starts.iter().enumerate() {
            let branch = if number == 0 { id } else { self.copy_intention(&original) };
            branches.push(branch);
            if let Some(intention) = self.mind.intentions.find_mut(branch) {
                intention.forks.push(mark);
                if let Some(frame) = intention.frames.last_mut() {
                    frame.pc = *start;
                }
            }
        }
        let fork = Fork { branches: branches.clone(), first_wins, join, bound: Vec::new() };
        match self.mind.forks.get_mut(place) {
            Some(free) => *free = Some(fork),
            None => self.mind.forks.push(Some(fork)),
        }
        for branch in branches {
            self.skip_to_step(branch);
            self.make_ready(branch);
        }
    }

    fn copy_intention(&mut self, original: &Intention) -> IntentionId {
        let id = self.mind.intentions.begin();
        self.mind.scoped_frames += original.frames.iter().filter(|frame| is_scoped(frame)).count() as u32;
        if let Some(copy) = self.mind.intentions.find_mut(id) {
            *copy = Intention { id, place: IntentionPlace::InEvent, ..original.clone() };
        }
        id
    }

    fn skip_to_step(&mut self, id: IntentionId) {
        let _ = self.frame_finished(id);
    }

    /// Ends a branch at the join.
    pub(crate) fn join(&mut self, id: IntentionId) {
        let Some(mark) = self.mind.intentions.find(id).and_then(|i| i.forks.last().copied()) else {
            self.after_join(id, None);
            return;
        };
        let Some(mut fork) = self.mind.forks.get_mut(mark.fork as usize).and_then(Option::take) else {
            self.after_join(id, None);
            return;
        };
        fork.branches.retain(|branch| *branch != id);
        if fork.first_wins {
            for loser in std::mem::take(&mut fork.branches) {
                self.withdraw(loser);
                self.end_intention(loser);
            }
        }
        if fork.branches.is_empty() {
            self.after_join(id, Some(fork));
            return;
        }
        self.keep_bound(id, &mut fork);
        if let Some(place) = self.mind.forks.get_mut(mark.fork as usize) {
            *place = Some(fork);
        }
        self.end_intention(id);
    }

    /// Notes a branch's bindings for the branch that continues.
    fn keep_bound(&self, id: IntentionId, fork: &mut Fork) {
        let Some(intention) = self.mind.intentions.find(id) else { return };
        let Some(frame) = intention.frames.last() else { return };
        let slots = intention.slots.iter().enumerate().skip(frame.base as usize);
        let bound = slots.filter(|(_, value)| !matches!(value, Value::Null) && value.is_ground());
        fork.bound.extend(bound.map(|(slot, value)| (slot as u32, value.clone())));
    }

    /// Gives the bindings of the other branches to the one that continues.
    fn after_join(&mut self, id: IntentionId, fork: Option<Fork>) {
        if let Some(intention) = self.mind.intentions.find_mut(id) {
            intention.forks.pop();
            if let Some(fork) = fork {
                for (slot, value) in fork.bound {
                    if let Some(place) = intention.slots.get_mut(slot as usize)
                        && matches!(place, Value::Null)
                    {
                        *place = value;
                    }
                }
                if let Some(frame) = intention.frames.last_mut() {
                    frame.pc = fork.join;
                }
            } else if let Some(frame) = intention.frames.last_mut() {
                frame.pc += 1;
            }
        }
        if self.clear_finished(id) {
            self.make_ready(id);
        }
    }

    /// Separates a branch from its fork: the others do not wait for it.
    pub fn leave_fork(&mut self, id: IntentionId) {
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        let marks = std::mem::take(&mut intention.forks);
        for mark in marks {
            if let Some(fork) = self.mind.forks.get_mut(mark.fork as usize).and_then(Option::as_mut) {
                fork.branches.retain(|branch| *branch != id);
            }
        }
    }

    pub(super) fn is_first_wins(&self, mark: ForkMark) -> bool {
        self.mind.forks.get(mark.fork as usize).and_then(Option::as_ref).is_some_and(|fork| fork.first_wins)
    }

    /// Handles a branch that ends without reaching the join. If all branches must end, the last one takes the others'
    /// plan with it; if the first wins, the others continue.
    pub(super) fn branch_died(&mut self, id: IntentionId) {
        let marks = self.mind.intentions.find(id).map(|i| i.forks.clone()).unwrap_or_default();
        for mark in marks.into_iter().rev() {
            let Some(fork) = self.mind.forks.get_mut(mark.fork as usize).and_then(Option::as_mut) else { continue };
            fork.branches.retain(|branch| *branch != id);
            let others = if fork.first_wins { Vec::new() } else { std::mem::take(&mut fork.branches) };
            if fork.branches.is_empty()
                && let Some(place) = self.mind.forks.get_mut(mark.fork as usize)
            {
                *place = None;
            }
            for other in others {
                self.withdraw(other);
                self.end_intention(other);
            }
        }
    }

    /// Cuts an intention to below a fork, whose other branches have lost their purpose.
    pub(super) fn leave_forks(&mut self, id: IntentionId, keep: usize) {
        loop {
            let Some(intention) = self.mind.intentions.find_mut(id) else { return };
            let Some(mark) = intention.forks.last().copied().filter(|mark| mark.frames as usize > keep) else { return };
            intention.forks.pop();
            let Some(fork) = self.mind.forks.get_mut(mark.fork as usize).and_then(Option::take) else { continue };
            for other in fork.branches.into_iter().filter(|branch| *branch != id) {
                self.withdraw(other);
                self.end_intention(other);
            }
        }
    }
}
