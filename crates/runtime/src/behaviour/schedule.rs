//! Which behaviour takes the next step.

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_platform::Time;

use super::{Behaviour, Step};
use crate::context::Context;

/// Short steps in a row, before a long one.
const QUICK_STEPS: u32 = 16;
/// A step that takes longer is a piece of a long task.
const QUICK_STEP: Duration = Duration::from_micros(2);

/// Behaviours side by side, each with what it waits for.
#[derive(Default)]
pub(crate) struct Schedule {
    /// Ready, and new, woken just now, or done quickly each time.
    quick: VecDeque<Box<dyn Behaviour>>,
    /// Ready, with a long task.
    long: VecDeque<Box<dyn Behaviour>>,
    /// Waiting for a message, a time, or both.
    waiting: Vec<Waiting>,
    quick_steps: u32,
    /// Arrivals of messages seen so far.
    arrivals: u32,
}

struct Waiting {
    behaviour: Box<dyn Behaviour>,
    for_message: bool,
    until: Time,
}

/// What a step of one of the behaviours came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// None can take a step before a message comes, or this time.
    Waiting { for_message: bool, until: Time },
    /// One took a step, and wants more at once.
    Continued,
    /// One took a step, and waits now.
    Paused,
    /// One took its last step; how it ended.
    Ended(i32),
}

impl Schedule {
    pub fn add(&mut self, behaviour: Box<dyn Behaviour>) {
        self.quick.push_back(behaviour);
    }

    /// Adds those of another one, which took no steps yet.
    pub fn join(&mut self, other: Self) {
        self.quick.extend(other.quick);
    }

    pub fn is_empty(&self) -> bool {
        self.quick.is_empty() && self.long.is_empty() && self.waiting.is_empty()
    }

    /// What they wait for, for people: `1 ready, 2 wait for a message, 1 for 500 ms`.
    pub fn describe(&self, now: Time) -> String {
        let ready = self.quick.len() + self.long.len();
        let mut parts: Vec<String> = Vec::new();
        if ready > 0 {
            parts.push(format!("{ready} ready"));
        }
        let for_message = self.waiting.iter().filter(|waiting| waiting.for_message).count();
        if for_message > 0 {
            parts.push(format!("{for_message} waiting for a message"));
        }
        let timed = self.waiting.iter().filter(|waiting| waiting.until != Time::NEVER).count();
        if let Some(next) = self.next_time() {
            parts.push(format!("{timed} waiting for a time, the next for {} ms", (next.max(now) - now).as_millis()));
        }
        parts.join(", ")
    }

    /// Whether one can take a step now.
    pub fn is_ready(&self) -> bool {
        !self.quick.is_empty() || !self.long.is_empty()
    }

    /// Whether one can take a short step now.
    pub fn is_quick(&self) -> bool {
        !self.quick.is_empty()
    }

    /// When one wants its step, whatever comes; `None` if none does.
    pub fn next_time(&self) -> Option<Time> {
        self.waiting.iter().map(|waiting| waiting.until).min().filter(|until| *until != Time::NEVER)
    }

    /// Wakes those that waited for a message, if one came since this was asked last, or for a time that has come.
    pub fn wake(&mut self, arrivals: u32, now: Time) {
        let came = std::mem::replace(&mut self.arrivals, arrivals) != arrivals;
        if self.waiting.is_empty() {
            return;
        }
        let due = |waiting: &mut Waiting| waiting.until <= now || (came && waiting.for_message);
        let woken = self.waiting.extract_if(.., due);
        self.quick.extend(woken.map(|waiting| waiting.behaviour));
    }

    /// Has the next one take a step.
    pub fn step(&mut self, ctx: &mut Context<'_, '_>) -> Progress {
        self.wake(ctx.arrivals(), ctx.now());
        let Some(mut behaviour) = self.next() else {
            let for_message = self.waiting.iter().any(|waiting| waiting.for_message);
            let until = self.next_time().unwrap_or(Time::NEVER);
            return Progress::Waiting { for_message, until };
        };
        let step = behaviour.action(ctx);
        let took = ctx.lap();
        match step {
            Step::Again => {
                let queue = if took > QUICK_STEP { &mut self.long } else { &mut self.quick };
                queue.push_back(behaviour);
                Progress::Continued
            }
            Step::Block => self.wait(behaviour, true, Time::NEVER),
            Step::BlockUntil(until) => self.wait(behaviour, true, until),
            Step::SleepUntil(until) => self.wait(behaviour, false, until),
            Step::Done => Progress::Ended(behaviour.outcome()),
        }
    }

    fn wait(&mut self, behaviour: Box<dyn Behaviour>, for_message: bool, until: Time) -> Progress {
        self.waiting.push(Waiting { behaviour, for_message, until });
        Progress::Paused
    }

    fn next(&mut self) -> Option<Box<dyn Behaviour>> {
        let turn_of_long = self.quick_steps >= QUICK_STEPS || self.quick.is_empty();
        if turn_of_long && let Some(behaviour) = self.long.pop_front() {
            self.quick_steps = 0;
            return Some(behaviour);
        }
        self.quick_steps += 1;
        self.quick.pop_front()
    }
}
