//! Durable agents that want to be on another node: their partition goes there, and they with it.
//!
//! That an agent wants it is part of its mind, and is written before anybody hears of it. From then on it has no turns on this node,
//! unless it is told why it stays. Whichever node goes on with it looks whether it is where it wanted to be.

use whimbrel_platform::mobility::{Hop, HopError, HopMode, HopRequest};

use super::Shard;
use super::slot::{Slot, Status};
use crate::durable::Effect;
use crate::mobility::{Errand, HopOrder};
use crate::parcel::{Bearer, Parcel};
use crate::sync::Arc;

/// An agent of this shard that waits for its partition to be elsewhere.
pub(super) struct Bound {
    index: u32,
    generation: u32,
    request: HopRequest,
}

impl Shard {
    /// Whether what an agent does is written down.
    pub(super) fn is_written_down(&mut self, index: u32) -> bool {
        self.slots.at(index).is_some_and(|slot| slot.unwritten.is_some())
    }

    /// Whether an agent is about to be on another node.
    pub(super) fn is_off(&self, name: whimbrel_acl::Symbol) -> bool {
        self.hops.contains_key(&name) || self.bound.contains_key(&name)
    }

    /// A durable agent of a cluster wants to be on another node, or somebody calls it home.
    pub(super) fn begin_journey(&mut self, index: u32, mut errand: Errand) {
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

    /// Has a durable agent's partition go where it wants to be, as soon as that it wants it is written.
    pub(super) fn set_out(&mut self, index: u32, request: HopRequest) {
        if let Err(why) = self.may_set_out(index, &request) {
            return self.stay(index, *Errand::of(request), why);
        }
        let Some(slot) = self.slots.at(index) else { return };
        self.delayed -= usize::from(slot.status == Status::Delayed);
        slot.status = match slot.status {
            Status::Held | Status::LeavingHeld => Status::LeavingHeld,
            _ => Status::LeavingQueued,
        };
        let bearer = Bearer { name: slot.name, generation: slot.generation };
        let (node, shard, to) = (Arc::clone(&self.node), self.index, request.to);
        let ask = move || {
            let told = Arc::clone(&node);
            let then = move |outcome: Result<(), HopError>| {
                if let Err(why) = outcome {
                    told.put(shard, Parcel::Hop(Box::new(HopOrder::Unmoved(bearer, why))));
                }
            };
            node.convey(bearer.name, to, Box::new(then));
        };
        self.bound.insert(bearer.name, Bound { index, generation: bearer.generation, request });
        match &mut slot.unwritten {
            Some(unwritten) if unwritten.listed => unwritten.effects.push(Effect::Then(Box::new(ask))),
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

    /// A durable agent's partition does not go where it wants to be: it goes on here.
    pub(super) fn unmoved(&mut self, whom: Bearer, why: HopError) {
        let is_it = |bound: &&Bound| bound.generation == whom.generation;
        if self.bound.get(&whom.name).filter(is_it).is_some()
            && let Some(Bound { index, request, .. }) = self.bound.remove(&whom.name)
        {
            self.tell_hopped(index, &Hop::Stayed { to: request.to, why });
        }
    }

    /// An agent is about to end: it waits for its partition no longer.
    pub(super) fn stop_waiting(&mut self, index: u32) {
        if self.bound.is_empty() {
            return;
        }
        let waits = |slot: &&mut Slot| self.bound.remove(&slot.name).is_some();
        if let Some(slot) = self.slots.at(index).filter(waits) {
            slot.status = Status::Idle;
        }
    }
}
