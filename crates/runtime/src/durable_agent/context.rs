//! What a durable agent sees and can do in its turn.

use std::time::Duration;

use super::timers::Timers;
use crate::context::Context;

/// What a durable agent sees and can do while it handles something: no behaviours, but timers that are kept.
pub type DurableContext<'a, 't> = Context<'a, 't, KeptTimers<'a>>;

/// What a durable agent has timers with.
pub struct KeptTimers<'a>(pub(super) &'a mut Timers);

impl DurableContext<'_, '_> {
    /// Has [`DurableAgent::on_timer`](crate::DurableAgent::on_timer) called with this name, once, after `delay` (to the
    /// millisecond), instead of when this timer would have gone off before. It goes on while the agent's process does not
    /// run, by the clock on the wall; if that is set back meanwhile, it goes off after `delay` at the latest.
    pub fn set_timer(&mut self, name: &str, delay: Duration) {
        let (now, wall_ms) = (self.turn.services.now(), self.turn.services.wall_clock_ms());
        self.own.0.set(name, delay, now, wall_ms);
    }

    /// Takes a timer back; false if there is none of this name.
    pub fn cancel_timer(&mut self, name: &str) -> bool {
        self.own.0.cancel(name)
    }

    /// How long it is until this timer goes off; `None` if there is none of this name.
    pub fn timer(&self, name: &str) -> Option<Duration> {
        self.own.0.left(name, self.turn.services.now())
    }
}
