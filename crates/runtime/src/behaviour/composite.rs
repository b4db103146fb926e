//! Behaviours made of behaviours.

use super::schedule::Progress;
use super::{Behaviour, Schedule, Step};
use crate::context::Context;

/// Does one thing after the other.
#[derive(Default)]
pub struct Sequential {
    steps: Vec<Box<dyn Behaviour>>,
    at: usize,
}

impl Sequential {
    /// Nothing yet; add what to do with [`Sequential::then`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Does this next.
    #[must_use]
    pub fn then(mut self, behaviour: impl Behaviour) -> Self {
        self.steps.push(Box::new(behaviour));
        self
    }
}

impl Behaviour for Sequential {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        let Some(behaviour) = self.steps.get_mut(self.at) else { return Step::Done };
        match behaviour.action(ctx) {
            Step::Done => self.at += 1,
            step => return step,
        }
        if self.at < self.steps.len() { Step::Again } else { Step::Done }
    }

    /// That of the last.
    fn outcome(&self) -> i32 {
        self.steps.last().map_or(0, |behaviour| behaviour.outcome())
    }

    fn reset(&mut self) {
        self.at = 0;
        self.steps.iter_mut().for_each(|behaviour| behaviour.reset());
    }
}

/// Does several things side by side.
#[derive(Default)]
pub struct Parallel {
    schedule: Schedule,
    /// How many must end for the whole to end.
    enough: usize,
    count: usize,
    ended: usize,
    outcome: i32,
}

impl Parallel {
    /// Ends when all of its behaviours have.
    pub fn all() -> Self {
        Self { enough: usize::MAX, ..Self::default() }
    }

    /// Ends when the first of its behaviours does; the others are dropped.
    pub fn any() -> Self {
        Self::some(1)
    }

    /// Ends when so many of its behaviours have; the others are dropped.
    pub fn some(enough: usize) -> Self {
        Self { enough, ..Self::default() }
    }

    /// Does this, too.
    #[must_use]
    pub fn with(mut self, behaviour: impl Behaviour) -> Self {
        self.schedule.add(Box::new(behaviour));
        self.count += 1;
        self
    }
}

impl Behaviour for Parallel {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        if self.ended >= self.enough.min(self.count) {
            return Step::Done;
        }
        match self.schedule.step(ctx) {
            Progress::Continued | Progress::Paused => Step::Again,
            Progress::Waiting { for_message: true, until } => Step::BlockUntil(until),
            Progress::Waiting { for_message: false, until } => Step::SleepUntil(until),
            Progress::Ended(outcome) => {
                self.ended += 1;
                self.outcome = outcome;
                if self.ended >= self.enough.min(self.count) { Step::Done } else { Step::Again }
            }
        }
    }

    /// That of the one that ended last.
    fn outcome(&self) -> i32 {
        self.outcome
    }
}
