//! Optional capabilities of an agent's body: persistence, mobility, inspection, ownership.
//!
//! A body returns the capabilities that it has ([`AgentBody::durable`] and its siblings). A wrapper, such as a box or
//! another body, hands them through whole, or says why it lacks one. The methods of `dyn AgentBody` below ask for a
//! capability, and answer for a body without it. They are no part of the trait, so no wrapper can fall back to them by
//! omission.

use std::time::Duration;

use crate::inspection::{Inspection, Instructed, Instruction, Look, Upkeep, Workload};
use crate::mobility::{Hop, HopRequest, Wish};
use crate::{AgentBody, OfferedAgent, Time};

/// Capability of a body whose state is saved after its turns.
pub trait Durable {
    /// Appends the whole state to `out`, from which [`Durable::save_delta`] counts from now on; false if it cannot be
    /// saved.
    fn save_whole(&mut self, now: Time, out: &mut Vec<u8>) -> bool;

    /// Appends the changes since the last save to `out`, between two turns; nothing, if nothing changed. Returns false
    /// if no save precedes it, or if the state cannot be saved as changes. A whole save must follow then, as it must if
    /// the appended bytes are lost.
    fn save_delta(&mut self, now: Time, out: &mut Vec<u8>) -> bool;

    /// Returns why the last save failed, if this kind of agent cannot continue then.
    fn unsaved(&self) -> Option<&str> {
        None
    }

    /// Returns the idle time after which the agent leaves memory, if its body sets one; [`Duration::MAX`] for never.
    fn passivate_after(&self) -> Option<Duration> {
        None
    }

    /// Returns a smaller body that takes this one's place in memory between two turns, and
    /// [becomes](AgentBody::activate) this one again. `None` if this kind of agent stays.
    fn passivate(&mut self, _now: Time) -> Option<Box<dyn AgentBody>> {
        None
    }
}

/// Capability of a body that can move to another node or client.
pub trait Mobile {
    /// Tells the body the outcome of a hop between two turns: before the first on the new node, or the next on the old
    /// one. A turn follows.
    fn hopped(&mut self, _hop: &Hop) {}

    /// Returns true if the body was told the outcome of a hop and has had no turn since. Until then it does not move
    /// again, or it would never know.
    fn has_news(&mut self) -> bool {
        false
    }

    /// Tells the body, between two turns, that another node is to run the agent or a clone of it: its
    /// [snapshot](AgentBody::snapshot) is taken next. The agent asked by [`Next::Hop`](crate::Next::Hop), or another
    /// party did. It may still stay.
    fn before_hop(&mut self) {}

    /// Tells the body that it is called home, which ends its journey. [`Mobile::hopped`] follows, with the outcome.
    fn recalled(&mut self) {}

    /// Returns the hop that the body asked for by [`Next::Hop`](crate::Next::Hop) and whose outcome it was not
    /// [told](Mobile::hopped). The body may have been saved and restored since. Durable bodies that can ask for a hop
    /// implement this.
    fn awaits_hop(&self) -> Option<HopRequest> {
        None
    }

    /// Takes the wish behind the last [`Next::Hop`](crate::Next::Hop), if another party than the agent wants that hop
    /// and is told the outcome.
    fn take_wish(&mut self) -> Option<Wish> {
        None
    }

    /// Asks the party that holds the agent's code to move it where somebody else wants it. Returns the wish if this
    /// node itself can take the agent's snapshot.
    fn yields(&mut self, wish: Wish, _now: Time) -> Option<Wish> {
        Some(wish)
    }

    /// Returns why the agent stays on this node for now, if it does: an operator paused it.
    fn stays(&self) -> Option<&str> {
        None
    }
}

/// Body that an operator can look into.
pub trait Inspectable {
    /// Returns the agent's state without its mailbox, between two turns. Inspecting does not affect the agent.
    fn inspect(&mut self, look: Look, now: Time) -> Inspection;

    /// Returns the agent's program and resources. `made` has those known from its [origin](AgentBody::origin).
    fn upkeep(&mut self, made: Upkeep, _now: Time) -> Upkeep {
        made
    }

    /// Returns the agent's unfinished work. Many agents are asked each second, so this must be quick.
    fn workload(&self) -> Workload {
        Workload::default()
    }

    /// Carries out an operator's instruction, between two turns; a turn follows.
    fn instruct(&mut self, _instruction: &Instruction, _now: Time) -> Instructed {
        not_debuggable()
    }
}

/// Capability of a body that belongs to an owner, who decides what it may use.
pub trait Owned {
    /// Decides whether an agent, or a clone, that another node offers may run here, once the body was made from its
    /// state. A refused agent continues where it was.
    ///
    /// # Errors
    /// The agent cannot run here: why, for the node that offers it.
    fn admit(&mut self, arrival: &OfferedAgent<'_>) -> Result<(), String>;

    /// Discards ownership claims in a state that a client returned: it may have written anything into it.
    /// [`Owned::admit`] follows.
    fn disown(&mut self);

    /// Tells the body that its lifetime is over; [`stopping`](AgentBody::stopping) is called next.
    fn expired(&mut self) {}
}

fn not_debuggable() -> Instructed {
    Instructed::Refused("only AgentSpeak agents can be debugged: `suspend` and `resume` are for all".to_owned())
}

/// Requests to any body, with the answer of one that lacks the capability.
impl dyn AgentBody + '_ {
    /// Saves the whole state ([`Durable::save_whole`]); false if this kind of agent cannot be saved.
    pub fn save_whole(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.durable().is_some_and(|body| body.save_whole(now, out))
    }

    /// Saves what changed ([`Durable::save_delta`]); false if a whole save is needed, or this kind of agent cannot be
    /// saved.
    pub fn save_delta(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.durable().is_some_and(|body| body.save_delta(now, out))
    }

    /// Returns why the last save failed ([`Durable::unsaved`]), if the agent cannot continue then.
    pub fn unsaved(&mut self) -> Option<&str> {
        self.durable()?.unsaved()
    }

    /// Returns the idle time after which the agent leaves memory ([`Durable::passivate_after`]), if its body sets one.
    pub fn passivate_after(&mut self) -> Option<Duration> {
        self.durable()?.passivate_after()
    }

    /// Returns the smaller body that takes this one's place in memory ([`Durable::passivate`]); `None` if it stays.
    pub fn passivate(&mut self, now: Time) -> Option<Box<dyn AgentBody>> {
        self.durable()?.passivate(now)
    }

    /// Tells the body the outcome of a hop ([`Mobile::hopped`]).
    pub fn hopped(&mut self, hop: &Hop) {
        if let Some(body) = self.mobile() {
            body.hopped(hop);
        }
    }

    /// Returns true if the body was told the outcome of a hop and has had no turn since ([`Mobile::has_news`]).
    pub fn has_news(&mut self) -> bool {
        self.mobile().is_some_and(|body| body.has_news())
    }

    /// Tells the body that its snapshot is taken next, for another node ([`Mobile::before_hop`]).
    pub fn before_hop(&mut self) {
        if let Some(body) = self.mobile() {
            body.before_hop();
        }
    }

    /// Tells the body that it is called home ([`Mobile::recalled`]).
    pub fn recalled(&mut self) {
        if let Some(body) = self.mobile() {
            body.recalled();
        }
    }

    /// Returns the hop that the body waits for ([`Mobile::awaits_hop`]).
    pub fn awaits_hop(&mut self) -> Option<HopRequest> {
        self.mobile()?.awaits_hop()
    }

    /// Takes another party's wish for the hop that the body asked for ([`Mobile::take_wish`]).
    pub fn take_wish(&mut self) -> Option<Wish> {
        self.mobile()?.take_wish()
    }

    /// Asks the holder of the agent's code to let it go ([`Mobile::yields`]). Returns the wish if this node can take
    /// the agent's snapshot itself.
    pub fn yields(&mut self, wish: Wish, now: Time) -> Option<Wish> {
        match self.mobile() {
            Some(body) => body.yields(wish, now),
            None => Some(wish),
        }
    }

    /// Returns why the agent stays on this node for now ([`Mobile::stays`]), if it does.
    pub fn stays(&mut self) -> Option<&str> {
        self.mobile()?.stays()
    }

    /// Returns the agent's state ([`Inspectable::inspect`]); empty if the body cannot be inspected.
    pub fn inspect(&mut self, look: Look, now: Time) -> Inspection {
        self.inspectable().map(|body| body.inspect(look, now)).unwrap_or_default()
    }

    /// Returns the agent's program and resources ([`Inspectable::upkeep`]).
    pub fn upkeep(&mut self, now: Time) -> Upkeep {
        let made = self.origin().map_or_else(Upkeep::default, |origin| Upkeep::of(&origin));
        match self.inspectable() {
            Some(body) => body.upkeep(made, now),
            None => made,
        }
    }

    /// Returns the agent's unfinished work ([`Inspectable::workload`]).
    pub fn workload(&mut self) -> Workload {
        self.inspectable().map(|body| body.workload()).unwrap_or_default()
    }

    /// Carries out an operator's instruction ([`Inspectable::instruct`]); refused if the body cannot be debugged.
    pub fn instruct(&mut self, instruction: &Instruction, now: Time) -> Instructed {
        self.inspectable().map_or_else(not_debuggable, |body| body.instruct(instruction, now))
    }

    /// Decides whether the agent can run here ([`Owned::admit`]).
    ///
    /// # Errors
    /// The agent cannot run here: why, for the node that offers it.
    pub fn admit(&mut self, arrival: &OfferedAgent<'_>) -> Result<(), String> {
        self.owned().map_or(Ok(()), |body| body.admit(arrival))
    }

    /// Discards ownership claims in the body's state ([`Owned::disown`]).
    pub fn disown(&mut self) {
        if let Some(body) = self.owned() {
            body.disown();
        }
    }

    /// Tells the body that its lifetime is over ([`Owned::expired`]).
    pub fn expired(&mut self) {
        if let Some(body) = self.owned() {
            body.expired();
        }
    }
}
