//! Behaviours that consist of one function.

use std::time::Duration;

use whimbrel_platform::Time;

use super::step::{Behaviour, Step};
use crate::context::Context;

/// Behaviour that runs once.
pub struct OneShot<F> {
    action: F,
}

impl<F: FnMut(&mut Context<'_, '_>) + Send + 'static> OneShot<F> {
    /// Creates a behaviour that runs `action` once.
    pub fn new(action: F) -> Self {
        Self { action }
    }
}

impl<F: FnMut(&mut Context<'_, '_>) + Send + 'static> Behaviour for OneShot<F> {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        (self.action)(ctx);
        Step::Done
    }
}

/// Behaviour that runs again and again, as its steps request.
pub struct Cyclic<F> {
    action: F,
}

impl<F: FnMut(&mut Context<'_, '_>) -> Step + Send + 'static> Cyclic<F> {
    /// Creates a behaviour that runs `action` as its last [`Step`] requests, until that is [`Step::Done`].
    pub fn new(action: F) -> Self {
        Self { action }
    }
}

impl<F: FnMut(&mut Context<'_, '_>) -> Step + Send + 'static> Behaviour for Cyclic<F> {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        (self.action)(ctx)
    }
}

/// Behaviour that runs at regular times, for ever.
pub struct Ticker<F> {
    period: Duration,
    next: Option<Time>,
    action: F,
}

impl<F: FnMut(&mut Context<'_, '_>) + Send + 'static> Ticker<F> {
    /// Creates a behaviour that runs `action` after each `period`, counted from the first step. Missed ticks are
    /// skipped.
    pub fn every(period: Duration, action: F) -> Self {
        Self { period, next: None, action }
    }
}

impl<F: FnMut(&mut Context<'_, '_>) + Send + 'static> Behaviour for Ticker<F> {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        let now = ctx.now();
        let due = match self.next {
            None => now + self.period,
            Some(due) if now < due => due,
            Some(due) => {
                (self.action)(ctx);
                let next = due + self.period;
                if next > now { next } else { now + self.period }
            }
        };
        self.next = Some(due);
        Step::SleepUntil(due)
    }

    fn reset(&mut self) {
        self.next = None;
    }
}

/// Behaviour that runs once, after a delay.
pub struct Waker<F> {
    delay: Duration,
    due: Option<Time>,
    action: F,
}

impl<F: FnMut(&mut Context<'_, '_>) + Send + 'static> Waker<F> {
    /// Creates a behaviour that runs `action` once, this long after its first step.
    pub fn after(delay: Duration, action: F) -> Self {
        Self { delay, due: None, action }
    }
}

impl<F: FnMut(&mut Context<'_, '_>) + Send + 'static> Behaviour for Waker<F> {
    fn action(&mut self, ctx: &mut Context<'_, '_>) -> Step {
        let due = *self.due.get_or_insert(ctx.now() + self.delay);
        if ctx.now() < due {
            return Step::SleepUntil(due);
        }
        (self.action)(ctx);
        Step::Done
    }

    fn reset(&mut self) {
        self.due = None;
    }
}
