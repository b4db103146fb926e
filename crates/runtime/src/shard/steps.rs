//! Steps of durable agents, from the end of a turn until their effects become visible.

use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::creation::name_taken;
use whimbrel_platform::durable::{AgentStep, Record, State, Ticket};
use whimbrel_platform::limits::UNWRITTEN_MESSAGES_MAX;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{EndReason, Outbox, Time};

use super::delivery::RoutingOutcome;
use super::slot::Slot;
use super::{Shard, Steps};
use crate::durable::journal_writer::steps::{Released, StepBatch, StepEntry};
use crate::durable::{Unwritten, WithheldEffect};
use crate::node::Node;
use crate::sync::Arc;

/// Number of agents in one batch, beside new ones.
const BATCH_AGENTS_MAX: usize = 4_096;

impl Shard {
    /// Withholds the messages of a durable agent's turn until they are persisted.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_back(&mut self, slot: &mut Slot, outbox: &mut Outbox) -> RoutingOutcome {
        let handled = slot.mailbox.take_tickets();
        let bearer = (slot.index, slot.generation);
        let Some(unwritten) = &mut slot.unwritten else { return RoutingOutcome::Fine };
        unwritten.handled.extend(handled);
        // Agents that it created come before its messages.
        let (creations, effects) =
            std::mem::take(&mut unwritten.effects).into_iter().partition(WithheldEffect::is_creation);
        unwritten.effects = effects;
        unwritten.sent.extend(creations.into_iter().filter_map(WithheldEffect::into_creation));
        unwritten.sent.extend(outbox.drain().map(|envelope| (envelope.to, envelope.body.into_shared())));
        if !std::mem::replace(&mut unwritten.listed, true) {
            self.steps.changed.push(bearer);
        }
        self.idle.note_turn(slot, self.now);
        let Some(unwritten) = &mut slot.unwritten else { return RoutingOutcome::Fine };
        if unwritten.sent.len() > UNWRITTEN_MESSAGES_MAX { RoutingOutcome::Busy } else { RoutingOutcome::Fine }
    }

    /// Handles messages that an agent's mailbox dropped. If earlier ones are missing, the senders' nodes repeat all.
    /// If the messages create the agent, their senders are told that it exists, with its next step.
    #[cold]
    pub(super) fn note_dropped(&mut self, slot: &mut Slot) {
        let (me, missed, creators) = (slot.aid(), slot.mailbox.take_missed(), slot.mailbox.take_creators());
        self.node.ask_again(me.name, missed);
        let bearer = (slot.index, slot.generation);
        let Some(unwritten) = slot.unwritten.as_mut().filter(|_| !creators.is_empty()) else { return };
        for (creator, ticket) in creators {
            unwritten.handled.push(ticket);
            unwritten.sent.extend(name_taken(me, creator, me).map(|refusal| (creator, Arc::new(refusal))));
        }
        if !std::mem::replace(&mut unwritten.listed, true) {
            self.steps.changed.push(bearer);
        }
    }

    /// Lists a durable agent that is new here.
    pub(super) fn list_newcomer(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        let bearer = (index, slot.generation);
        if let Some(unwritten) = &mut slot.unwritten
            && unwritten.born.is_some()
            && !std::mem::replace(&mut unwritten.listed, true)
        {
            self.steps.born.push(bearer);
        }
    }

    /// Records an agent's changed registration without a turn, if the agent is durable.
    pub(super) fn note_standing(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        let bearer = (index, slot.generation);
        if let Some(unwritten) = &mut slot.unwritten {
            unwritten.effects.push(WithheldEffect::Registration);
            if !std::mem::replace(&mut unwritten.listed, true) {
                self.steps.changed.push(bearer);
            }
        }
    }

    /// Records the end of a durable agent as its last step.
    #[cold]
    pub(super) fn write_end(&mut self, agent: Symbol, unwritten: Unwritten, unhandled: Vec<MessageBody>) {
        let last = unwritten.last + unwritten.sent.len() as u64;
        let mut entry = entry(&self.node, agent, unwritten, State::Same);
        entry.unhandled = unhandled;
        entry.records.push(Record::Gone { agent, last });
        self.steps.ended.push(entry);
    }

    /// Hands steps to the journal writer, unless it is still busy with the last batch.
    pub(super) fn hand_in(&mut self) {
        let Steps { born, changed, ended, writing, .. } = &self.steps;
        if writing.is_some() || (born.is_empty() && changed.is_empty() && ended.is_empty()) {
            return;
        }
        self.capture();
    }

    #[cold]
    fn capture(&mut self) {
        let node = Arc::clone(&self.node);
        let Some(scribe) = node.scribe.as_ref().filter(|_| node.writes_steps()) else { return };
        // Agents created in this round must be included if their creators are.
        let newcomers = node.seat(self.index).map(|seat| seat.inbox.take_newcomers());
        self.install(newcomers.unwrap_or_default());
        let mut agents = std::mem::take(&mut self.steps.born);
        let count = self.steps.changed.len().min(BATCH_AGENTS_MAX);
        agents.extend(self.steps.changed.drain(..count));
        let mut entries = std::mem::take(&mut self.steps.ended);
        self.steps.writing_ended = entries.iter().map(|entry| entry.agent).collect();
        let now = self.now;
        let (mut away, mut unsaved) = (Vec::new(), Vec::new());
        agents.retain(|&(index, generation)| match self.slots.bearer(index, generation) {
            Some(slot) => {
                entries.extend(captured(&node, slot, now));
                let why = slot.body.unsaved().map(|why| EndReason::Failed(why.to_owned()));
                unsaved.extend(why.map(|why| (index, generation, why)));
                true
            }
            None => {
                // The agent is in a late turn, or has ended.
                if self.slots.generation(index) == Some(generation) {
                    away.push((index, generation));
                }
                false
            }
        });
        self.steps.changed.append(&mut away);
        unsaved.into_iter().for_each(|(index, generation, why)| self.doom(index, generation, why));
        if entries.is_empty() {
            return;
        }
        self.steps.writing = Some(agents);
        node.activity.begin();
        scribe.write(StepBatch { shard: self.index, entries });
    }

    /// Releases the withheld effects of a persisted batch.
    pub(super) fn release(&mut self, released: Vec<Released>) {
        self.steps.writing_ended.clear();
        for (index, generation) in self.steps.writing.take().unwrap_or_default() {
            if let Some(unwritten) = self.slots.bearer(index, generation).and_then(|slot| slot.unwritten.as_deref_mut())
            {
                unwritten.captured = false;
            }
        }
        for one in released {
            match one {
                Released::Effect(effect) => self.node.take_effect(effect),
                Released::Message { from, to, body } => self.send_kept_back(from, to, body),
                Released::Unhandled(to, body) => self.undeliverable(to, body, DeadReason::AgentEnded),
            }
        }
        self.ship();
        self.hand_in();
        self.node.activity.end();
    }

    /// Sends an agent's message, and delays the agent if the receiver is crowded.
    fn send_kept_back(&mut self, from: Symbol, to: Aid, body: MessageBody) {
        let reception = self.send_released(to, body);
        if reception != RoutingOutcome::Fine
            && let Some(sender) = self.slot_here(Aid::local(from))
        {
            self.slow_down(sender, reception);
        }
    }

    /// Settles a numbered message that will never be handled: its sender need not account for it.
    #[cold]
    pub(super) fn write_off(&self, envelope: &Envelope, why: DeadReason) {
        if let (MessageBody::Numbered(numbered), Some(scribe)) = (&envelope.body, &self.node.scribe)
            // The end of the platform is no end of durable agents and messages.
            && self.node.writes_steps()
        {
            let (ticket, receiver) = (Ticket::of(numbered), envelope.to.name);
            match why {
                // A forged message's number means nothing.
                DeadReason::Forged => {}
                DeadReason::MailboxFull | DeadReason::Forbidden | DeadReason::Unsendable | DeadReason::Unreachable => {
                    scribe.refuse(ticket, receiver);
                }
                _ => scribe.write_off(ticket, receiver),
            }
        }
    }
}

/// Captures an agent: its steps since the last capture, and its state.
fn captured(node: &Node, slot: &mut Slot, now: Time) -> Option<StepEntry> {
    let agent = slot.name;
    let last = slot.unwritten.as_ref()?.last;
    let state = slot.state(now);
    let unwritten = slot.unwritten.as_mut()?;
    let Unwritten { whole_bytes, delta_bytes, idleness, .. } = **unwritten;
    let (whole_bytes, delta_bytes) = match &state {
        State::Whole(_) => (state.len(), 0),
        _ => (whole_bytes, delta_bytes + state.len()),
    };
    let last = last + unwritten.sent.len() as u64;
    let is_written = state != State::Same || !unwritten.says_nothing();
    let next = Unwritten { captured: is_written, whole_bytes, delta_bytes, idleness, ..Unwritten::after(last) };
    let done = std::mem::replace(&mut **unwritten, next);
    if !is_written {
        return None;
    }
    if state == State::Same && done.born.is_some() && slot.body.unsaved().is_none() {
        node.output.log(
            slot.aid(),
            LogLevel::Warning,
            "its state cannot be written out: it will not survive this process",
        );
    }
    let changed = done.effects.iter().any(|effect| matches!(effect, WithheldEffect::Registration));
    let mut entry = entry(node, agent, done, state);
    entry.records.extend(changed.then(|| Record::Registration(node.standing_of(agent, last))));
    Some(entry)
}

pub(crate) fn entry(node: &Node, agent: Symbol, unwritten: Unwritten, state: State) -> StepEntry {
    let Unwritten { born, last, handled, sent, effects, .. } = unwritten;
    let first = last + 1;
    let mut records: Vec<Record> = born.map(|born| Record::Born(*born)).into_iter().collect();
    let written = node.scribe.as_ref().map(|scribe| scribe.written(node, agent, &sent)).unwrap_or_default();
    records.push(Record::Step(AgentStep { agent, state, handled, first, sent: written }));
    let stops =
        |effect: &WithheldEffect| if let WithheldEffect::Stop { code, .. } = effect { Some(*code) } else { None };
    records.extend(effects.iter().find_map(stops).map(|code| Record::Stopped { agent, code }));
    StepEntry { agent, records, first, sent, effects, unhandled: Vec::new() }
}
