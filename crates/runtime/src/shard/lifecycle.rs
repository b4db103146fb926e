//! Agents come to a shard, are held and run, and end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::EndReason;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::route::{LocalRoute, Place, Route};
use whimbrel_platform::services::LogLevel;

use super::slot::{Slot, Status};
use super::{Early, Shard};
use crate::parcel::{Change, Newcomer, Parcel};

impl Shard {
    /// Gives new agents their slots, and their first turns a place in the queue.
    pub(super) fn install(&mut self, newcomers: Vec<Newcomer>) {
        self.slots.reserve(if newcomers.len() > 64 { newcomers.len() } else { 0 });
        for slot in newcomers {
            let Slot { name, generation, .. } = *slot;
            let index = self.slots.settle(slot);
            let on_its_way = LocalRoute { shard: self.index, slot: None, generation, crowded: false };
            let here = LocalRoute { slot: Some(index), ..on_its_way };
            let known = self.node.routes.replace(name, Route::local(on_its_way), Route::local(here));
            if known.is_err() {
                // Killed before it came.
                self.doom(index, generation, EndReason::Killed);
                continue;
            }
            self.enqueue(index);
            for early in self.expected.remove(&name).unwrap_or_default() {
                match early {
                    Early::Message(body) => self.deliver(index, body),
                    Early::Change(change) => self.change_here(index, change),
                }
            }
        }
    }

    /// Changes an agent, wherever it is by now.
    pub(super) fn change(&mut self, name: Symbol, change: Change) {
        let Place::Local(place) = self.node.routes.look_up(name).place() else { return };
        if place.shard != self.index {
            if let Some(batch) = self.outgoing.get_mut(usize::from(place.shard)) {
                batch.push(Parcel::ToAgent(name, change));
            }
            return;
        }
        match self.arrived_slot(name, place) {
            Some(index) => self.change_here(index, change),
            None => self.expect(name, Early::Change(change)),
        }
    }

    fn change_here(&mut self, index: u32, change: Change) {
        let now = self.now;
        match (change, self.slots.at(index)) {
            (Change::Hold, Some(slot)) => slot.status = Status::Held,
            (Change::Run, Some(slot)) => {
                if slot.status == Status::Held {
                    self.enqueue(index);
                }
            }
            (Change::Wake, Some(slot)) => {
                if slot.status != Status::Held {
                    self.enqueue(index);
                }
            }
            (Change::Copy { copy, shard, generation }, slot) => {
                let body = slot.and_then(|slot| slot.body.duplicate(now));
                self.node.copied(copy, shard, generation, body);
            }
            (change, None) => {
                if let Some(away) = self.slots.away(index) {
                    match change {
                        Change::Hold => away.hold = true,
                        Change::Run => away.hold = false,
                        Change::Wake | Change::Copy { .. } => away.wake = true,
                    }
                }
            }
        }
    }

    /// Ends an agent that lost its name: now if it is here, else when its turn is over.
    pub(super) fn doom(&mut self, index: u32, generation: u32, reason: EndReason) {
        if let Some(slot) = self.slots.bearer(index, generation) {
            slot.doom = Some(Box::new(reason));
            self.enqueue(index);
        } else if let Some(away) = self.slots.away(index) {
            away.doom = Some(Box::new(reason));
        }
    }

    /// Ends every agent, in order of creation.
    pub(super) fn doom_all(&mut self) {
        let here = self.slots.iter().map(|slot| (slot.generation, slot.index));
        let away = self.slots.iter_away().map(|(index, away)| (away.generation, index));
        let mut agents: Vec<(u32, u32)> = here.chain(away).collect();
        agents.sort_unstable();
        for (generation, index) in agents {
            self.doom(index, generation, EndReason::Killed);
        }
    }

    /// The end of an agent: its name is free, its messages are answered, who watches it is told.
    pub(super) fn end(&mut self, index: u32, reason: EndReason) {
        let Some(slot) = self.slots.vacate(index) else { return };
        let mut slot = slot;
        let &mut Slot { name, generation, crowded, .. } = &mut *slot;
        let here = LocalRoute { shard: self.index, slot: Some(index), generation, crowded };
        if self.node.routes.replace(name, Route::local(here), Route::UNKNOWN).is_ok() {
            self.node.ended(name, &reason);
        }
        let aid = Aid::local(name);
        let stopping = self.node.stopping.load(Ordering::Relaxed);
        let why_dead = if stopping { DeadReason::Stopped } else { DeadReason::AgentEnded };
        if let EndReason::Failed(why) = &reason {
            self.node.output.log(aid, LogLevel::Severe, &format!("failed: {why}"));
        }
        while let Some(message) = slot.mailbox.take() {
            self.undeliverable(aid, message, why_dead);
        }
        // An agent's last words may be a panic, too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
        self.node.gone();
    }
}
