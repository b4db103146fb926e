//! Schedule of an agent's behaviours: chooses the behaviour that takes the next step.

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_platform::Time;

use super::step::{Behaviour, Step};
use crate::context::Context;

/// Number of short steps in a row before a long one.
const QUICK_STEPS: u32 = 16;
/// Duration from which a step counts as a piece of a long task.
const QUICK_STEP: Duration = Duration::from_micros(2);

/// Behaviours side by side, each with its wake-up condition.
#[derive(Default)]
pub(crate) struct Schedule {
    /// Ready behaviours that are new, were just woken, or take short steps.
    quick: VecDeque<Box<dyn Behaviour>>,
    /// Ready behaviours with a long task.
    long: VecDeque<Box<dyn Behaviour>>,
    /// Behaviours that wait for a message, a time, or both.
    waiting: Vec<WaitingBehaviour>,
    quick_steps: u32,
    /// Number of arrivals of messages seen so far.
    arrivals: u32,
}

struct WaitingBehaviour {
    behaviour: Box<dyn Behaviour>,
    for_message: bool,
    until: Time,
}

/// Result of a schedule's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleProgress {
    /// No behaviour can take a step before a message comes, or before this time.
    Waiting { for_message: bool, until: Time },
    /// A behaviour took a step, and is ready for another.
    Continued,
    /// A behaviour took a step, and waits now.
    Paused,
    /// A behaviour took its last step, with this outcome.
    Ended(i32),
}

impl Schedule {
    pub fn add(&mut self, behaviour: Box<dyn Behaviour>) {
        self.quick.push_back(behaviour);
    }

    /// Adds the behaviours of another schedule, which have taken no steps yet.
    pub fn join(&mut self, other: Self) {
        self.quick.extend(other.quick);
    }

    pub fn is_empty(&self) -> bool {
        self.quick.is_empty() && self.long.is_empty() && self.waiting.is_empty()
    }

    /// Describes the waiting behaviours for people: `1 ready, 2 wait for a message, 1 for 500 ms`.
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

    /// Returns true if a behaviour can take a step now.
    pub fn is_ready(&self) -> bool {
        !self.quick.is_empty() || !self.long.is_empty()
    }

    /// Returns true if a behaviour can take a short step now.
    pub fn is_quick(&self) -> bool {
        !self.quick.is_empty()
    }

    /// Returns the time of the earliest scheduled step; `None` if there is none.
    pub fn next_time(&self) -> Option<Time> {
        self.waiting.iter().map(|waiting| waiting.until).min().filter(|until| *until != Time::NEVER)
    }

    /// Wakes behaviours that wait for a message, if one arrived since the last call, or for a time that has come.
    pub fn wake(&mut self, arrivals: u32, now: Time) {
        let came = std::mem::replace(&mut self.arrivals, arrivals) != arrivals;
        if self.waiting.is_empty() {
            return;
        }
        let due = |waiting: &mut WaitingBehaviour| waiting.until <= now || (came && waiting.for_message);
        let woken = self.waiting.extract_if(.., due);
        self.quick.extend(woken.map(|waiting| waiting.behaviour));
    }

    /// Lets the next behaviour take a step.
    pub fn step(&mut self, ctx: &mut Context<'_, '_>) -> ScheduleProgress {
        self.wake(ctx.arrivals(), ctx.now());
        let Some(mut behaviour) = self.next() else {
            let for_message = self.waiting.iter().any(|waiting| waiting.for_message);
            let until = self.next_time().unwrap_or(Time::NEVER);
            return ScheduleProgress::Waiting { for_message, until };
        };
        let step = behaviour.action(ctx);
        let took = ctx.lap();
        match step {
            Step::Again => {
                let queue = if took > QUICK_STEP { &mut self.long } else { &mut self.quick };
                queue.push_back(behaviour);
                ScheduleProgress::Continued
            }
            Step::Block => self.wait(behaviour, true, Time::NEVER),
            Step::BlockUntil(until) => self.wait(behaviour, true, until),
            Step::SleepUntil(until) => self.wait(behaviour, false, until),
            Step::Done => ScheduleProgress::Ended(behaviour.outcome()),
        }
    }

    fn wait(&mut self, behaviour: Box<dyn Behaviour>, for_message: bool, until: Time) -> ScheduleProgress {
        self.waiting.push(WaitingBehaviour { behaviour, for_message, until });
        ScheduleProgress::Paused
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
