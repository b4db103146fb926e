//! Life cycle of a shard's agents: they arrive, are held and resumed, and end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use whimbrel_acl::{AclMessage, Aid, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::Origin;
use whimbrel_platform::mobility::HopError;
use whimbrel_platform::route::{Place, Route};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{EndReason, Time};

use super::slot::Incarnation;
use super::slot::{Doom, Slot, SlotStatus};
use super::{Early, Shard};
use crate::operate::OperateError;
use crate::shard_command::Offered;
use crate::shard_command::{AgentChange, Newcomer, ShardCommand};
use crate::supervision;

impl Shard {
    /// Gives new agents their slots, and queues their first turns.
    pub(super) fn install(&mut self, newcomers: Vec<Newcomer>) {
        let count = newcomers.len();
        self.slots.reserve(if count > 64 { count } else { 0 });
        for slot in newcomers {
            let due = slot.wake_at;
            let index = self.admit(slot);
            self.list_newcomer(index);
            if due > self.now && due != Time::NEVER {
                self.delay(index, due)
            } else {
                self.enqueue(index)
            }
            self.welcome(index);
        }
        if count > 0 {
            self.note_newcomers(count);
        }
    }

    /// Takes in a change that another shard sent here, like [`Shard::take_message`].
    pub(super) fn take_change(&mut self, whom: Incarnation, change: AgentChange) {
        match self.leaver(whom.name) {
            Some(index) => self.change_here(index, whom.generation, change),
            None => self.change(whom, change),
        }
    }

    /// Changes an agent, wherever it is by now.
    pub(super) fn change(&mut self, whom: Incarnation, change: AgentChange) {
        let Incarnation { name, generation } = whom;
        let Place::Local(place) = self.node.routes.look_up(name).place() else {
            match change {
                AgentChange::Hop(errand) => self.node.recall_gone(name, *errand),
                AgentChange::Copy { copy, shard, generation } => {
                    self.node.copied(name, (copy, shard, generation), None)
                }
                _ => {}
            }
            return;
        };
        if place.shard != self.index {
            if let Some(batch) = self.outgoing.get_mut(usize::from(place.shard)) {
                batch.push(ShardCommand::Change(whom, change));
            }
            return;
        }
        match self.arrived_slot(name, place) {
            Some(index) => self.change_here(index, generation, change),
            None => self.expect(name, Early::Change(generation, change)),
        }
    }

    /// Stops an agent's turns.
    pub(super) fn hold(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        self.delayed -= usize::from(slot.status == SlotStatus::Delayed);
        let leaves = matches!(slot.status, SlotStatus::Leaving | SlotStatus::LeavingQueued | SlotStatus::LeavingHeld);
        slot.status = if leaves { SlotStatus::LeavingHeld } else { SlotStatus::Held };
    }

    /// Changes an agent of this shard, if it is still the one that is meant.
    pub(super) fn change_here(&mut self, index: u32, generation: u32, change: AgentChange) {
        let now = self.now;
        if self.slots.generation(index) != Some(generation) {
            if let AgentChange::Copy { copy, shard, generation } = change {
                self.node.copied(Symbol::default(), (copy, shard, generation), None);
            }
            return;
        }
        match (change, self.slots.at(index)) {
            (AgentChange::Hold, Some(_)) => {
                self.hold(index);
                self.note_standing(index);
            }
            (AgentChange::Run, Some(slot)) => {
                if matches!(slot.status, SlotStatus::Held | SlotStatus::LeavingHeld) {
                    self.enqueue(index);
                    self.note_standing(index);
                }
            }
            (AgentChange::Wake, Some(slot)) => {
                // A delayed agent has a turn before long, and not earlier for being woken.
                if !matches!(slot.status, SlotStatus::Held | SlotStatus::LeavingHeld | SlotStatus::Delayed) {
                    self.enqueue(index);
                }
            }
            (AgentChange::Delay(until), Some(_)) => self.delay(index, until),
            (AgentChange::MoveTo(to), Some(_)) => {
                self.depart(to, [index]);
            }
            (AgentChange::Renew(new), Some(slot)) => {
                slot.doom = Some(Box::new(Doom::Renew(new)));
                self.enqueue(index);
            }
            (AgentChange::Release(reason), Some(slot)) => {
                slot.doom = Some(Box::new(Doom::End(reason)));
                self.enqueue(index);
            }
            (AgentChange::Hop(errand), Some(slot)) => {
                let leaves =
                    matches!(slot.status, SlotStatus::Leaving | SlotStatus::LeavingQueued | SlotStatus::LeavingHeld);
                let name = slot.name;
                match leaves && !self.is_off(name) {
                    // The agent is on its way to another shard, and hops from there.
                    true => self.change(Incarnation { name, generation }, AgentChange::Hop(errand)),
                    false => self.begin_hop(index, errand),
                }
            }
            (AgentChange::Exchange(offered), Some(_)) => self.exchange(index, offered),
            (AgentChange::SetOut(request), Some(_)) => self.set_out(index, *request),
            (AgentChange::NoteStanding, Some(_)) => self.note_standing(index),
            (AgentChange::Operate(operation), Some(_)) => self.operate(index, *operation),
            (AgentChange::Copy { copy, shard, generation }, slot) => {
                let original = slot.as_ref().map(|slot| slot.name).unwrap_or_default();
                let body = slot.and_then(|slot| slot.body.duplicate(now));
                self.node.copied(original, (copy, shard, generation), body);
            }
            (change, None) => self.change_away(index, change),
        }
    }

    /// Changes an agent whose late turn continues without this shard.
    fn change_away(&mut self, index: u32, change: AgentChange) {
        let Some(away) = self.slots.away(index) else { return };
        match change {
            AgentChange::Hold => (away.hold, away.standing) = (true, true),
            AgentChange::Run => (away.hold, away.standing) = (false, true),
            AgentChange::NoteStanding => away.standing = true,
            AgentChange::Wake => away.wake = true,
            AgentChange::Renew(new) => away.doom = Some(Box::new(Doom::Renew(new))),
            AgentChange::Release(reason) => away.doom = Some(Box::new(Doom::End(reason))),
            AgentChange::Hop(mut errand) => {
                errand.over(Err(HopError::NotMovable("its turn does not end".to_owned())));
            }
            AgentChange::Operate(operation) => operation.fail(OperateError::Busy(away.name)),
            // An agent in a turn knows this already.
            AgentChange::SetOut(_) => {}
            // The asker is told that the exchange is impossible.
            AgentChange::Exchange(_) => {}
            // This is answered before.
            AgentChange::Copy { .. } => {}
            AgentChange::MoveTo(_) => {}
            // The new agent waits, and the creator is asked again in its next turn.
            AgentChange::Delay(_) => {}
        }
    }

    /// Returns the agent in this place, unless it is in a turn.
    pub(crate) fn slot_at(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.at(index)
    }

    /// Returns true if the agent in this place, or its clone, is leaving for another node.
    pub(crate) fn is_hopping(&self, index: u32) -> bool {
        self.hops.values().any(|hopping| hopping.is_of(index))
    }

    /// Gives an agent a turn in which it follows an operator's instruction, unless it has no turns at all.
    pub(crate) fn wake_for_operator(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        if !matches!(slot.status, SlotStatus::Held | SlotStatus::LeavingHeld | SlotStatus::Delayed) {
            self.enqueue(index);
        }
    }

    /// Ends an agent that lost its name: now if it is here, otherwise after its turn.
    pub(super) fn doom(&mut self, index: u32, generation: u32, reason: EndReason) {
        if !self.hops.is_empty() && self.call_off_hop(index) {
            return;
        }
        self.stop_waiting(index);
        if let Some(slot) = self.slots.bearer(index, generation) {
            slot.doom = Some(Box::new(Doom::End(reason)));
            self.enqueue(index);
        } else if let Some(away) = self.slots.away(index) {
            away.doom = Some(Box::new(Doom::End(reason)));
        }
    }

    /// Ends every agent, in order of creation.
    pub(super) fn doom_all(&mut self) {
        self.ending = true;
        let here = self.slots.iter().map(|slot| (slot.generation, slot.index));
        let away = self.slots.iter_away().map(|(index, away)| (away.generation, index));
        let mut agents: Vec<(u32, u32)> = here.chain(away).collect();
        agents.sort_unstable();
        for (generation, index) in agents {
            self.doom(index, generation, EndReason::Killed);
        }
    }

    /// Ends an agent, or hands it to its supervisor to decide; then its messages wait.
    pub(super) fn end_or_fall(&mut self, index: u32, reason: EndReason) {
        let supervisor = self.slots.at(index).map(|slot| slot.supervisor).unwrap_or_default();
        if supervisor == Symbol::default() || self.node.routes.look_up(supervisor).is_unknown() {
            return self.end(index, reason);
        }
        let Some(name) = self.slots.at(index).map(|slot| slot.name) else { return };
        self.note_end(Aid::local(name), &reason);
        let news = supervision::fallen(Aid::local(name), Aid::local(supervisor), &reason);
        self.replace(index, Box::new(Slot::new(supervision::Fallen)));
        self.tell(news);
    }

    /// Replaces an agent by another slot, under its name and with its messages.
    pub(super) fn replace(&mut self, index: u32, mut new: Box<Slot>) {
        let Some(mut old) = self.slots.lift(index) else { return };
        let written_as = self.node.scribe.as_ref().and_then(|_| written_as(&old, &new));
        new.succeed(&mut old);
        if let Some(origin) = written_as {
            self.node.write_as(&mut new, origin);
        }
        self.slots.put_back(new);
        self.debug_newcomer(index);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(old)));
        self.list_newcomer(index);
        self.enqueue(index);
    }

    /// Exchanges an agent's body between two turns, if its state can be written and it stays on this node.
    fn exchange(&mut self, index: u32, offered: Offered) {
        let Some(slot) = self.slots.at(index) else { return };
        let stays =
            slot.doom.is_none() && matches!(slot.status, SlotStatus::Idle | SlotStatus::Queued | SlotStatus::Delayed);
        let name = slot.name;
        if !stays || self.is_off(name) {
            return;
        }
        let written = self.luggage_of(index);
        if let Some(body) = offered.take(written) {
            self.replace(index, Box::new(Slot::new(body)));
        }
    }

    /// Ends an agent: frees its name, answers its messages, and notifies its watchers.
    pub(super) fn end(&mut self, index: u32, reason: EndReason) {
        let Some(mut slot) = self.slots.vacate(index) else { return };
        let (name, generation) = (slot.name, slot.generation);
        // Other nodes get its messages before the report of its end, because no other node can speak for it.
        self.flush_links();
        if self.redirect(name, index, generation, Route::UNKNOWN) {
            self.node.ended(name, &reason);
        }
        let aid = Aid::local(name);
        let waiting = slot.mailbox.take_all();
        if let Some(unwritten) = slot.unwritten.take().filter(|_| self.node.writes_steps()) {
            // Senders are told once its end is persisted.
            self.write_end(name, *unwritten, waiting);
        } else {
            let stopping = self.node.stopping.load(Ordering::Relaxed);
            let why_dead = if stopping { DeadReason::Stopped } else { DeadReason::AgentEnded };
            waiting.into_iter().for_each(|message| self.undeliverable(aid, message, why_dead));
        }
        // Dropping an agent may panic, too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(slot)));
        self.note_end(aid, &reason);
        for news in self.node.monitors.ended(name, generation, &reason) {
            self.tell(news);
        }
        self.node.gone();
    }

    fn note_end(&self, agent: Aid, reason: &EndReason) {
        match reason {
            EndReason::Failed(_) => self.node.log(agent, LogLevel::Severe, &reason.to_string()),
            EndReason::LeaseOver { .. } => {
                self.node.log(agent, LogLevel::Notice, &format!("ended: {}", reason.in_words()));
            }
            _ => {}
        }
    }

    /// Sends a message of the platform.
    fn tell(&mut self, news: AclMessage) {
        let Some(to) = news.receivers.first().copied() else { return };
        self.send_own(to, news);
    }
}

/// Returns the origin under which an agent with a replaced body is recorded from now on, if it differs. This concerns
/// a session's agent that is retained, returns to its client, or continues at its node.
fn written_as(old: &Slot, new: &Slot) -> Option<Origin> {
    match (old.body.origin(), new.body.origin()) {
        (Some(origin @ Origin::GoneOn { .. }), _) => Some(origin),
        (before, Some(kept @ Origin::Kept { .. })) => {
            (old.unwritten.is_none() || before.as_ref() != Some(&kept)).then_some(kept)
        }
        _ => None,
    }
}
