//! What a durable agent sees and can do in its turn.

use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::mobility::{HopMode, HopRequest};

use super::timers::Timers;
use crate::context::Context;

/// What a durable agent sees and can do while it handles something: no behaviours, but timers that are kept.
pub type DurableContext<'a, 't> = Context<'a, 't, KeptTimers<'a>>;

/// What a durable agent has timers with, and goes to other nodes by.
pub struct KeptTimers<'a> {
    pub(super) timers: &'a mut Timers,
    /// Where it wants to be.
    pub(super) hop: Option<HopRequest>,
    /// It was called home.
    pub(super) recalled: bool,
}

impl DurableContext<'_, '_> {
    /// Has [`DurableAgent::on_timer`](crate::DurableAgent::on_timer) called with this name, once, after `delay` (to the
    /// millisecond), instead of when this timer would have gone off before. It goes on while the agent's process does not
    /// run, by the clock on the wall; if that is set back meanwhile, it goes off after `delay` at the latest.
    pub fn set_timer(&mut self, name: &str, delay: Duration) {
        let (now, wall_ms) = (self.turn.services.now(), self.turn.services.wall_clock_ms());
        self.own.timers.set(name, delay, now, wall_ms);
    }

    /// Takes a timer back; false if there is none of this name.
    pub fn cancel_timer(&mut self, name: &str) -> bool {
        self.own.timers.cancel(name)
    }

    /// How long it is until this timer goes off; `None` if there is none of this name.
    pub fn timer(&self, name: &str) -> Option<Duration> {
        self.own.timers.left(name, self.turn.services.now())
    }

    /// Has the agent go on on this node as soon as this message or timer is handled: there it is told by
    /// [`DurableAgent::on_hopped`](crate::DurableAgent::on_hopped), or here why it stayed. Its timers and all messages for it go
    /// along.
    pub fn move_to(&mut self, node: impl Into<Symbol>) {
        self.own.hop = Some(HopRequest { to: node.into(), mode: HopMode::Move });
    }

    /// In [`DurableAgent::on_hopped`](crate::DurableAgent::on_hopped): whether the agent was called home by somebody, and is there, or
    /// stays where it is because it cannot get there. A journey that it is on is over: an [`Itinerary`](crate::Itinerary) sees to that
    /// itself.
    pub fn recalled(&self) -> bool {
        self.own.recalled
    }

    /// Has a second agent of the same type and state begin on this node, as [`DurableContext::move_to`] has it; its name, if
    /// this one is empty, is made from this agent's.
    pub fn clone_to(&mut self, node: impl Into<Symbol>, name: impl Into<Symbol>) {
        self.own.hop = Some(HopRequest { to: node.into(), mode: HopMode::Clone(name.into()) });
    }
}
