//! Moves of agents to and from clients: a shard's part. The session's part is in `platform::session`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_acl::sym;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::mobility::{HopError, HopMode, HopRequest, Wish};
use whimbrel_platform::policy::Action;

use super::Shard;
use super::slot::{Slot, SlotStatus};
use crate::mobility::HopJob;

impl Shard {
    /// Asks a client to release an agent that a caller wants elsewhere. Returns the job if no client has the agent's
    /// code.
    pub(super) fn ask_client(&mut self, index: u32, mut errand: Box<HopJob>) -> Option<Box<HopJob>> {
        let HopRequest { to, mode } = errand.request;
        let is_home = mode == HopMode::Recall && to == self.node.called() && !self.is_lodged(index);
        if is_home || !matches!(mode, HopMode::Move | HopMode::Recall) {
            return Some(errand);
        }
        let Some(then) = errand.then.take() else { return Some(errand) };
        let (now, wish) = (self.now, Wish::new(to, then));
        let wish = match self.slots.at(index) {
            Some(slot) => slot.body.yields(wish, now),
            None => Some(wish),
        };
        errand.then = Some(wish?.into_call());
        Some(errand)
    }

    /// Returns true if an agent left this node for a client, and was not made by one.
    fn is_lodged(&mut self, index: u32) -> bool {
        let Some(aid) = self.slots.at(index).map(|slot| slot.aid()) else { return false };
        self.node.with_ams(|ams| ams.ties(aid).home) != sym::EMPTY
    }

    /// Offers an agent to a client of this node, if the client is its destination. Returns the job otherwise.
    pub(super) fn invite(&mut self, index: u32, mut errand: Box<HopJob>) -> Option<Box<HopJob>> {
        let to = errand.request.to;
        let is_node = self.node.linked.links().is_some_and(|links| links.node_named(to.as_str()).is_some());
        let Some(kept_agents) = self.node.kept_agents_with(to).filter(|_| !is_node && to != self.node.called()) else {
            return Some(errand);
        };
        let written = self.write_out(index, &errand);
        let Some(name) = self.slots.at(index).map(|slot| slot.name) else { return Some(errand) };
        let why = match written {
            Ok((origin, state)) => {
                let wish = errand.then.take().map(|then| Wish::new(to, then));
                match kept_agents.invite(name, to, origin, state, wish) {
                    Ok(body) => {
                        self.replace(index, Box::new(Slot::new(body)));
                        return None;
                    }
                    Err((why, wish)) => {
                        errand.then = wish.map(Wish::into_call);
                        why
                    }
                }
            }
            Err(why) => why,
        };
        self.stay(index, *errand, why);
        None
    }

    /// Returns an agent's origin and state, if it can go to a client.
    fn write_out(&mut self, index: u32, errand: &HopJob) -> Result<(Origin, Vec<u8>), HopError> {
        let not_movable = |why: &str| Err(HopError::NotMovable(why.to_owned()));
        let HopRequest { to, mode } = errand.request;
        let (aid, me) = (self.may_leave(index)?, self.node.called());
        if mode != HopMode::Move {
            return not_movable("clones do not go to clients");
        }
        let who = self.node.bearer(aid.name, me);
        let may = |object: &str| self.node.permits(who, Action::Move, object);
        if !may(aid.name.as_str()) || !may(&format!("session:{to}")) {
            return Err(HopError::Forbidden(me));
        }
        let Some(slot) = self.slots.at(index) else { return not_movable("it has its turn") };
        if !matches!(slot.status, SlotStatus::Idle | SlotStatus::Queued | SlotStatus::Delayed) {
            return not_movable("it has no turns at the moment");
        }
        if let Some(why) = slot.body.stays().filter(|_| errand.then.is_some()) {
            return not_movable(why);
        }
        // Its next turn shows any fault.
        let _ = catch_unwind(AssertUnwindSafe(|| slot.body.before_hop()));
        let written = self.luggage_of(index);
        written.ok_or_else(|| HopError::NotMovable("this kind of agent has no state that can be".to_owned()))
    }
}
