//! Moves of agents between shards, without messages overtaking each other.
//!
//! Guarantee: messages from one sender to one receiver arrive in the order in which they were sent, however often
//! either of them moves. The protocol, when shard B gives the agents X to shard C:
//!
//! 1. B sets the routes of X to "C, not there yet", and X have no turns any more. What other shards still send to B
//!    for X, B puts into X's mailboxes. Messages of B's own agents to X go to C from now on, like all others. (They
//!    must not go into the mailboxes: the sender may have come here just now, and may have sent to C before.) C
//!    retains what comes for X until X arrive.
//! 2. B sends a fence to every other shard. Each puts an acknowledgement behind what it sent to B before; what it
//!    sends to X from then on goes to C.
//! 3. With all acknowledgements in, nothing more comes to B for X. B sends X to C, mailboxes and all.
//! 4. C gives X their places, sets their routes, and puts what it retained for them behind what they brought.
//!
//! So a message through B is in the mailbox that X bring along, and one that went straight to C was sent later and is
//! put behind. A sender that moves takes no message along: its shard hands over its messages before the sender
//! leaves. Messages from outside enter through one shard per sender, which routes them as its own. If X are killed on
//! the way, their route is no longer "C, not there yet": C sees that when X arrive, and ends them.

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::EndReason;
use whimbrel_platform::route::{LocalRoute, Place, Route, ShardIndex};

use super::slot::{Slot, SlotStatus};
use super::{AwaitedMove, Shard};
use crate::shard_command::ShardCommand;

impl Shard {
    /// Begins to move agents to another shard. Only one move runs at a time: returns false if one is running, or if
    /// no agent can move.
    pub(super) fn depart(&mut self, to: ShardIndex, agents: impl IntoIterator<Item = u32>) -> bool {
        if self.departure.is_some() || to == self.index || self.node.seat(to).is_none() {
            return false;
        }
        let mut leaving = FxHashMap::default();
        for index in agents {
            if let Some(name) = self.leave(index, to) {
                leaving.insert(name, index);
            }
        }
        if leaving.is_empty() {
            return false;
        }
        let awaited = self.outgoing.len() - 1;
        self.departure = Some(AwaitedMove { to, leaving, awaited });
        let me = self.index;
        for (shard, batch) in self.outgoing.iter_mut().enumerate() {
            if shard != usize::from(me) {
                batch.push(ShardCommand::Fence { from: me });
            }
        }
        true
    }

    /// Makes one agent leave: from now on its messages go to `to`, except those on their way here.
    fn leave(&mut self, index: u32, to: ShardIndex) -> Option<Symbol> {
        let slot = self.slots.at(index).filter(|slot| slot.doom.is_none())?;
        let (name, generation) = (slot.name, slot.generation);
        if self.is_off(name) {
            return None;
        }
        let there = LocalRoute { shard: to, slot: None, generation, crowded: false };
        if !self.redirect(name, index, generation, Route::local(there)) {
            // The agent was killed just now.
            return None;
        }
        let slot = self.slots.at(index)?;
        self.delayed -= usize::from(slot.status == SlotStatus::Delayed);
        slot.status = match slot.status {
            SlotStatus::Held => SlotStatus::LeavingHeld,
            SlotStatus::Idle => SlotStatus::Leaving,
            _ => SlotStatus::LeavingQueued,
        };
        if std::mem::take(&mut slot.crowded) {
            // If the agent is still crowded when it arrives, that is announced again.
            self.node.push_crowded(name, false);
        }
        Some(name)
    }

    /// Returns the place of an agent that is leaving and has not left yet.
    pub(super) fn leaver(&self, name: Symbol) -> Option<u32> {
        let to_shard = self.departure.as_ref().and_then(|departure| departure.leaving.get(&name).copied());
        to_shard.or_else(|| self.gone_slot(name))
    }

    /// Acknowledges another shard's fence behind all messages to it.
    pub(super) fn acknowledge(&mut self, from: ShardIndex) {
        if let Some(batch) = self.outgoing.get_mut(usize::from(from)) {
            batch.push(ShardCommand::FenceReached);
        }
    }

    /// Counts one acknowledgement. With the last, the agents go.
    pub(super) fn fence_reached(&mut self) {
        let Some(departure) = &mut self.departure else { return };
        departure.awaited -= 1;
        self.ship();
    }

    /// Sends the leaving agents, once no messages come for them any more and their steps are persisted.
    pub(super) fn ship(&mut self) {
        let Some(departure) = &self.departure else { return };
        let mut places = departure.leaving.values();
        let unwritten = |index: &u32| self.slots.at(*index).is_some_and(|slot| slot.is_unwritten());
        if departure.awaited > 0 || places.any(unwritten) {
            return;
        }
        let Some(AwaitedMove { to, leaving, .. }) = self.departure.take() else { return };
        let mut places: Vec<u32> = leaving.into_values().collect();
        places.sort_unstable();
        let agents: Vec<Box<Slot>> = places.into_iter().filter_map(|index| self.slots.vacate(index)).collect();
        // All messages of these agents go before them.
        self.flush();
        self.node.put(to, ShardCommand::Arrive(agents));
    }

    /// Takes in agents from another shard.
    pub(super) fn arrive(&mut self, agents: Vec<Box<Slot>>) {
        self.slots.reserve(agents.len());
        self.moved_at = self.now;
        for mut slot in agents {
            let status = slot.status;
            slot.timer_at = whimbrel_platform::Time::NEVER;
            slot.held_up = None;
            slot.status = if status == SlotStatus::LeavingHeld { SlotStatus::Held } else { SlotStatus::Idle };
            let wake_at = slot.wake_at;
            let index = self.admit(slot);
            if status == SlotStatus::LeavingQueued {
                self.enqueue(index);
            } else if wake_at != whimbrel_platform::Time::NEVER {
                self.wake_later(index, wake_at);
            }
            self.watch_idleness(index);
            self.crowd_if_full(index);
            self.welcome(index);
        }
    }

    /// Gives an agent its place and sets its route. Ends the agent if it was killed on its way.
    pub(super) fn admit(&mut self, slot: Box<Slot>) -> u32 {
        let (name, generation) = (slot.name, slot.generation);
        let doomed = slot.doom.is_some();
        let index = self.slots.settle(slot);
        self.debug_newcomer(index);
        let on_its_way = LocalRoute { shard: self.index, slot: None, generation, crowded: false };
        let here = LocalRoute { slot: Some(index), ..on_its_way };
        let known = self.node.routes.replace(name, Route::local(on_its_way), Route::local(here));
        if known.is_err() || self.ending || doomed {
            self.doom(index, generation, EndReason::Killed);
        }
        index
    }

    /// Gives an agent the items that came before it.
    pub(super) fn welcome(&mut self, index: u32) {
        if self.expected.is_empty() {
            return;
        }
        let Some(name) = self.slots.at(index).map(|slot| slot.name) else { return };
        match self.node.routes.look_up(name).place() {
            Place::Local(place) if place.shard == self.index && place.slot == Some(index) => {
                for early in self.expected.remove(&name).unwrap_or_default() {
                    self.hand_over(index, early);
                }
            }
            _ => self.nobody_comes(name),
        }
    }
}
