//! Behaviours made of other behaviours.

use super::schedule::Schedule;
use super::schedule::ScheduleProgress;
use super::step::{Behaviour, Step};
use crate::context::Context;

/// Behaviour that runs others one after another.
#[derive(Default)]
pub struct Sequential {
    steps: Vec<Box<dyn Behaviour>>,
    at: usize,
}

impl Sequential {
    /// Creates an empty sequence; add behaviours with [`Sequential::then`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a behaviour.
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

    /// Returns the last behaviour's outcome.
    fn outcome(&self) -> i32 {
        self.steps.last().map_or(0, |behaviour| behaviour.outcome())
    }

    fn reset(&mut self) {
        self.at = 0;
        self.steps.iter_mut().for_each(|behaviour| behaviour.reset());
    }
}

/// Behaviour that runs others side by side.
#[derive(Default)]
pub struct Parallel {
    schedule: Schedule,
    /// Number of behaviours that must end before the whole ends.
    enough: usize,
    count: usize,
    ended: usize,
    outcome: i32,
}

impl Parallel {
    /// Creates a behaviour that ends when all of its behaviours have.
    pub fn all() -> Self {
        Self { enough: usize::MAX, ..Self::default() }
    }

    /// Creates a behaviour that ends when the first of its behaviours does; the others are dropped.
    pub fn any() -> Self {
        Self::some(1)
    }

    /// Creates a behaviour that ends when this many of its behaviours have; the others are dropped.
    pub fn some(enough: usize) -> Self {
        Self { enough, ..Self::default() }
    }

    /// Adds a behaviour.
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
            ScheduleProgress::Continued | ScheduleProgress::Paused => Step::Again,
            ScheduleProgress::Waiting { for_message: true, until } => Step::BlockUntil(until),
            ScheduleProgress::Waiting { for_message: false, until } => Step::SleepUntil(until),
            ScheduleProgress::Ended(outcome) => {
                self.ended += 1;
                self.outcome = outcome;
                if self.ended >= self.enough.min(self.count) { Step::Done } else { Step::Again }
            }
        }
    }

    /// Returns the outcome of the behaviour that ended last.
    fn outcome(&self) -> i32 {
        self.outcome
    }
}
