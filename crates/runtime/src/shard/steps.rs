//! What durable agents do, from the end of a turn to when it may be seen.

use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::durable::creation::name_taken;
use whimbrel_platform::durable::{Record, State, Step, Ticket};
use whimbrel_platform::limits::UNWRITTEN_MESSAGES_MAX;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{EndReason, Outbox, Time};

use super::Shard;
use super::delivery::Reception;
use super::slot::Slot;
use crate::cluster::Yielding;
use crate::durable::scribe::{Batch, Entry, Released};
use crate::durable::{Effect, Unwritten};
use crate::node::Node;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// Agents that one batch holds, beside those that are new.
const BATCH_AGENTS_MAX: usize = 4_096;

/// Bytes of changes that may follow a whole state, however small that is.
const DELTAS_BYTES: usize = 1 << 10;

/// The durable agents of a shard that have something to be written.
#[derive(Default)]
pub(super) struct Steps {
    /// New agents, by place and which bearers they are. They come first: who created them goes in the same batch.
    born: Vec<(u32, u32)>,
    /// Others.
    changed: Vec<(u32, u32)>,
    /// What those did last that have ended.
    ended: Vec<Entry>,
    /// The agents of the batch that is being written.
    writing: Option<Vec<(u32, u32)>>,
    /// Those that have ended, of that batch.
    writing_ended: Vec<Symbol>,
}

impl Steps {
    /// Those of these agents that have ended, and that is not written.
    pub fn ended_of(&self, order: &Yielding) -> impl Iterator<Item = Symbol> {
        let waiting = self.ended.iter().map(|entry| entry.agent);
        waiting.chain(self.writing_ended.iter().copied()).filter(|agent| order.concerns(*agent))
    }
}

impl Shard {
    /// Keeps what a durable agent sent in its turn until it is written.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_back(&mut self, slot: &mut Slot, outbox: &mut Outbox) -> Reception {
        let handled = slot.mailbox.take_tickets();
        let bearer = (slot.index, slot.generation);
        let Some(unwritten) = &mut slot.unwritten else { return Reception::Fine };
        unwritten.handled.extend(handled);
        // What it created is there before what it sent.
        let (creations, effects) = std::mem::take(&mut unwritten.effects).into_iter().partition(Effect::is_creation);
        unwritten.effects = effects;
        unwritten.sent.extend(creations.into_iter().filter_map(Effect::into_creation));
        unwritten.sent.extend(outbox.drain().map(|envelope| (envelope.to, envelope.body.into_shared())));
        if !std::mem::replace(&mut unwritten.listed, true) {
            self.steps.changed.push(bearer);
        }
        self.idle.note_turn(slot, self.now);
        let Some(unwritten) = &mut slot.unwritten else { return Reception::Fine };
        if unwritten.sent.len() > UNWRITTEN_MESSAGES_MAX { Reception::Busy } else { Reception::Fine }
    }

    /// An agent's mailbox dropped messages. If predecessors of theirs are missing, their senders' nodes repeat all. If they
    /// were to create the agent, their senders are told that there is one, with its next step.
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

    /// A durable agent is new here.
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

    /// What the platform knows of an agent changed, though it had no turn: if it is durable, that is written.
    pub(super) fn note_standing(&mut self, index: u32) {
        let Some(slot) = self.slots.at(index) else { return };
        let bearer = (index, slot.generation);
        if let Some(unwritten) = &mut slot.unwritten {
            unwritten.effects.push(Effect::Standing);
            if !std::mem::replace(&mut unwritten.listed, true) {
                self.steps.changed.push(bearer);
            }
        }
    }

    /// A durable agent ended: that is its last step.
    #[cold]
    pub(super) fn write_end(&mut self, agent: Symbol, unwritten: Unwritten, unhandled: Vec<MessageBody>) {
        let last = unwritten.last + unwritten.sent.len() as u64;
        let mut entry = entry(&self.node, agent, unwritten, State::Same);
        entry.unhandled = unhandled;
        entry.records.push(Record::Gone { agent, last });
        self.steps.ended.push(entry);
    }

    /// Hands what was done since to the scribe, unless it is still busy with what was done before.
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
        // Whom agents created in this round is to be there if they are.
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
                // Its turn goes on without this shard, or it has ended.
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
        scribe.write(Batch { shard: self.index, entries });
    }

    /// A batch is written: what was kept back may be seen.
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

    /// Sends what an agent sent, and has it slow down if its receiver has too much to do.
    fn send_kept_back(&mut self, from: Symbol, to: Aid, body: MessageBody) {
        let reception = self.send_released(to, body);
        if reception != Reception::Fine
            && let Some(sender) = self.slot_here(Aid::local(from))
        {
            self.slow_down(sender, reception);
        }
    }

    /// A numbered message will never be handled: its sender need not answer for it.
    #[cold]
    pub(super) fn write_off(&self, envelope: &Envelope, why: DeadReason) {
        if let (MessageBody::Numbered(numbered), Some(scribe)) = (&envelope.body, &self.node.scribe)
            // That the platform stops is no end of anything that is kept.
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

impl Node {
    /// Whether what durable agents do is written: there are some, and the platform does not stop.
    pub fn writes_steps(&self) -> bool {
        self.scribe.as_ref().is_some_and(|scribe| !scribe.suspended.load(Ordering::Acquire))
    }

    /// Does what an agent did, now that it is written.
    fn take_effect(&self, effect: Effect) {
        match effect {
            Effect::Print(agent, text) => self.print(agent, &text),
            Effect::PrintBare(agent, text) => self.print_bare(agent, &text),
            Effect::Log(agent, level, text) => self.log(agent, level, &text),
            Effect::Stop { delay_ms, code } => self.end_all(delay_ms, code),
            Effect::Standing => {}
            Effect::Then(then) => then(),
            Effect::Create(message) => self.post(0, message),
        }
    }
}

impl Slot {
    /// Whether there is something of it that is not written yet.
    pub(super) fn is_unwritten(&self) -> bool {
        self.unwritten.as_ref().is_some_and(|unwritten| unwritten.listed || unwritten.captured)
    }

    /// What the agent is: the whole, or what changed since it was written last, as long as all changes take less than
    /// the whole.
    fn state(&mut self, now: Time) -> State {
        let Some(unwritten) = &self.unwritten else { return State::Same };
        let mut bytes = Vec::new();
        let has_whole = unwritten.whole_bytes > 0;
        let worth_while = has_whole && unwritten.delta_bytes < unwritten.whole_bytes.max(DELTAS_BYTES);
        if worth_while && self.body.save_delta(now, &mut bytes) {
            return if bytes.is_empty() { State::Same } else { State::Delta(bytes) };
        }
        bytes.clear();
        if self.body.save_whole(now, &mut bytes) { State::Whole(bytes) } else { State::Same }
    }
}

/// What an agent did since it was captured last, and what it is now.
fn captured(node: &Node, slot: &mut Slot, now: Time) -> Option<Entry> {
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
    let changed = done.effects.iter().any(|effect| matches!(effect, Effect::Standing));
    let mut entry = entry(node, agent, done, state);
    entry.records.extend(changed.then(|| Record::Standing(node.standing_of(agent, last))));
    Some(entry)
}

fn entry(node: &Node, agent: Symbol, unwritten: Unwritten, state: State) -> Entry {
    let Unwritten { born, last, handled, sent, effects, .. } = unwritten;
    let first = last + 1;
    let mut records: Vec<Record> = born.map(|born| Record::Born(*born)).into_iter().collect();
    let written = node.scribe.as_ref().map(|scribe| scribe.written(node, agent, &sent)).unwrap_or_default();
    records.push(Record::Step(Step { agent, state, handled, first, sent: written }));
    let stops = |effect: &Effect| if let Effect::Stop { code, .. } = effect { Some(*code) } else { None };
    records.extend(effects.iter().find_map(stops).map(|code| Record::Stopped { agent, code }));
    Entry { agent, records, first, sent, effects, unhandled: Vec::new() }
}
