//! Context of a durable agent in its turn.

use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::mobility::{HopMode, HopRequest};

use super::timers::AgentTimers;
use crate::context::Context;

/// Context of a durable agent while it handles a message or timer: durable timers instead of behaviours.
pub type DurableContext<'a, 't> = Context<'a, 't, KeptTimers<'a>>;

/// Durable timers of an agent, and its requested hop.
pub struct KeptTimers<'a> {
    pub(super) timers: &'a mut AgentTimers,
    /// Requested hop.
    pub(super) hop: Option<HopRequest>,
    /// True if the agent was recalled.
    pub(super) recalled: bool,
}

impl DurableContext<'_, '_> {
    /// Sets a timer: [`DurableAgent::on_timer`](crate::DurableAgent::on_timer) is called with this name, once, after
    /// `delay` (to the millisecond). Replaces an earlier timer of this name. The timer continues by the wall clock
    /// while the agent's process does not run. If that clock is set back meanwhile, the timer goes off after `delay`
    /// at the latest.
    pub fn set_timer(&mut self, name: &str, delay: Duration) {
        let (now, wall_ms) = (self.turn.services.now(), self.turn.services.wall_clock_ms());
        self.own.timers.set(name, delay, now, wall_ms);
    }

    /// Cancels a timer. Returns false if there is none of this name.
    pub fn cancel_timer(&mut self, name: &str) -> bool {
        self.own.timers.cancel(name)
    }

    /// Returns the time until this timer goes off; `None` if there is none of this name.
    pub fn timer(&self, name: &str) -> Option<Duration> {
        self.own.timers.left(name, self.turn.services.now())
    }

    /// Moves the agent to this node as soon as the current message or timer is handled. Its timers and all messages
    /// for it move along. [`DurableAgent::on_hopped`](crate::DurableAgent::on_hopped) is called there, or here with
    /// the reason for staying.
    pub fn move_to(&mut self, node: impl Into<Symbol>) {
        self.own.hop = Some(HopRequest { to: node.into(), mode: HopMode::Move });
    }

    /// Returns true in [`DurableAgent::on_hopped`](crate::DurableAgent::on_hopped) if the agent was recalled, whether
    /// it arrived or cannot get home. Its journey is over then; an [`Itinerary`](crate::Itinerary) handles that
    /// itself.
    pub fn recalled(&self) -> bool {
        self.own.recalled
    }

    /// Starts a second agent of the same type and state on this node, like [`DurableContext::move_to`]. An empty name
    /// is replaced by one made from this agent's.
    pub fn clone_to(&mut self, node: impl Into<Symbol>, name: impl Into<Symbol>) {
        self.own.hop = Some(HopRequest { to: node.into(), mode: HopMode::Clone(name.into()) });
    }
}
