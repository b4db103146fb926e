//! Pending moves of durable agents: an agent moves to another node together with its partition.
//!
//! The agent's wish to move is part of its state, and persisted before it takes effect. From then on the agent has no
//! turns on this node, unless the move fails. Every node that recovers the agent checks whether it has arrived.

use whimbrel_platform::mobility::{Hop, HopError, HopMode, HopRequest};

use super::slot::Incarnation;
use super::slot::{Slot, SlotStatus};
use super::{Bound, Shard};
use crate::durable::WithheldEffect;
use crate::mobility::{HopJob, HopOrder};
use crate::shard_command::ShardCommand;
use crate::sync::Arc;

impl Shard {
    /// Returns true if an agent is durable.
    pub(super) fn is_written_down(&mut self, index: u32) -> bool {
        self.slots.at(index).is_some_and(|slot| slot.unwritten.is_some())
    }

    /// Returns true if an agent is about to move to another node.
    pub(super) fn is_off(&self, name: whimbrel_acl::Symbol) -> bool {
        self.hops.contains_key(&name) || self.bound.contains_key(&name)
    }

    /// Begins the move of a durable agent, requested by the agent or by a caller.
    pub(super) fn begin_journey(&mut self, index: u32, mut errand: HopJob) {
        let Some(slot) = self.slots.at(index) else { return };
        if self.bound.contains_key(&slot.name) {
            return errand.over(Err(HopError::NotMovable("it is leaving already".to_owned())));
        }
        if errand.request.mode == HopMode::Move {
            let request = errand.request.clone();
            return self.set_out(index, request);
        }
        let why = match errand.request.mode {
            HopMode::Recall => {
                "agents of a society that is kept have no home: they live where their partition is served"
            }
            _ => "a clone of a durable agent lives where the partition of its name is served",
        };
        self.stay(index, errand, HopError::NotMovable(why.to_owned()));
    }

    /// Requests that a durable agent's partition moves, as soon as the wish is persisted.
    pub(super) fn set_out(&mut self, index: u32, request: HopRequest) {
        if let Err(why) = self.may_set_out(index, &request) {
            return self.stay(index, *HopJob::of(request), why);
        }
        let Some(slot) = self.slots.at(index) else { return };
        self.delayed -= usize::from(slot.status == SlotStatus::Delayed);
        slot.status = match slot.status {
            SlotStatus::Held | SlotStatus::LeavingHeld => SlotStatus::LeavingHeld,
            _ => SlotStatus::LeavingQueued,
        };
        let bearer = Incarnation { name: slot.name, generation: slot.generation };
        let (node, shard, to) = (Arc::clone(&self.node), self.index, request.to);
        let ask = move || {
            let told = Arc::clone(&node);
            let then = move |outcome: Result<(), HopError>| {
                if let Err(why) = outcome {
                    told.put(shard, ShardCommand::Hop(Box::new(HopOrder::Unmoved(bearer, why))));
                }
            };
            node.convey(bearer.name, to, Box::new(then));
        };
        self.bound.insert(bearer.name, Bound { index, generation: bearer.generation, request });
        match &mut slot.unwritten {
            Some(unwritten) if unwritten.listed => unwritten.effects.push(WithheldEffect::Then(Box::new(ask))),
            _ => ask(),
        }
    }

    fn may_set_out(&mut self, index: u32, request: &HopRequest) -> Result<(), HopError> {
        let Some(slot) = self.slots.at(index) else { return Ok(()) };
        if slot.doom.is_some() {
            return Err(HopError::Stopping);
        }
        if slot.supervisor != whimbrel_acl::Symbol::default() {
            return Err(HopError::NotMovable("it is supervised".to_owned()));
        }
        let name = slot.name;
        self.node.may_be_conveyed(name, request.to)
    }

    /// Ends the pending move of an agent whose partition stays: the agent continues here.
    pub(super) fn unmoved(&mut self, whom: Incarnation, why: HopError) {
        let is_it = |bound: &&Bound| bound.generation == whom.generation;
        if self.bound.get(&whom.name).filter(is_it).is_some()
            && let Some(Bound { index, request, .. }) = self.bound.remove(&whom.name)
        {
            self.tell_hopped(index, &Hop::Stayed { to: request.to, why });
        }
    }

    /// Ends the pending move of an agent that is about to end.
    pub(super) fn stop_waiting(&mut self, index: u32) {
        if self.bound.is_empty() {
            return;
        }
        let waits = |slot: &&mut Slot| self.bound.remove(&slot.name).is_some();
        if let Some(slot) = self.slots.at(index).filter(waits) {
            slot.status = SlotStatus::Idle;
        }
    }
}
