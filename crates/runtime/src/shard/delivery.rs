//! Delivery of messages: into a local mailbox, into the batch for another shard or another node, or back to the sender
//! as `failure`.

use std::sync::atomic::Ordering;

use whimbrel_acl::{Aid, Envelope, MessageBody, Symbol, sym};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::route::{LocalRoute, NodeId, Place, Route, ShardIndex};
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{PlatformEvent, Time};

use super::slot::{Slot, SlotStatus};
use super::{Departing, Early, Shard};
use crate::node::Node;
use crate::shard_command::ShardCommand;
use crate::sync::locked;

/// Number of commands that wait for the end of the round, at most.
const BATCH_MAX: usize = 4_096;

/// Time for which messages for other nodes wait for later ones while there is more to do. A write to a socket takes
/// as long as some fifty messages.
const GATHER_US: u64 = 50;

/// Result of routing a message, for its sender; greater values are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RoutingOutcome {
    /// The message was delivered or sent.
    Fine,
    /// The receiver's shard is overloaded: slow down.
    Busy,
    /// This receiver is crowded: wait for it.
    Crowded(Symbol),
    /// The link to this node is full: wait for it.
    LinkFull(NodeId),
}

impl Shard {
    /// Routes a message.
    #[inline(always)]
    pub(super) fn route(&mut self, to: Aid, body: MessageBody) -> RoutingOutcome {
        self.route_by(self.route_of(to), to, body)
    }

    #[inline(always)]
    pub(super) fn route_of(&self, to: Aid) -> Route {
        let ours = to.platform == sym::EMPTY || to.platform == self.node.name;
        if ours { self.node.routes.look_up(to.name) } else { Route::UNKNOWN }
    }

    #[inline(always)]
    pub(super) fn route_by(&mut self, route: Route, to: Aid, body: MessageBody) -> RoutingOutcome {
        if let Some(slot) = route.slot_at(self.here) {
            self.deliver(slot, body);
            return RoutingOutcome::Fine;
        }
        self.route_farther(Envelope { to, body }, route)
    }

    /// Returns the place of an agent of this shard, if it is not crowded.
    pub(super) fn slot_here(&self, agent: Aid) -> Option<u32> {
        let ours = agent.platform == sym::EMPTY || agent.platform == self.node.name;
        self.node.routes.look_up(agent.name).slot_at(self.here).filter(|_| ours)
    }

    #[inline(never)]
    fn route_farther(&mut self, envelope: Envelope, route: Route) -> RoutingOutcome {
        if let Place::Node(node) = route.place() {
            return self.send_linked(node, envelope, route);
        }
        let Place::Local(place) = route.place() else {
            let ours = envelope.to.platform == sym::EMPTY || envelope.to.platform == self.node.name;
            if ours {
                return self.route_unknown(envelope);
            }
            return self.send_abroad(envelope);
        };
        let reception = if place.crowded { RoutingOutcome::Crowded(envelope.to.name) } else { RoutingOutcome::Fine };
        if place.shard != self.index {
            let busy = self.send_across(place.shard, envelope);
            return if busy { reception.max(RoutingOutcome::Busy) } else { reception };
        }
        match self.arrived_slot(envelope.to.name, place) {
            Some(slot) => self.deliver_crowded(slot, envelope),
            None => self.expect(envelope.to.name, Early::Message(envelope.body)),
        }
        reception
    }

    /// Hands a message for an agent of another platform to the message transport.
    #[cold]
    fn send_abroad(&mut self, envelope: Envelope) -> RoutingOutcome {
        let Some(transport) = self.node.linked.transport() else {
            self.undeliverable(envelope.to, envelope.body, DeadReason::Unreachable);
            return RoutingOutcome::Fine;
        };
        // No other platform says when it has handled a message, so none is sent twice.
        self.write_off(&envelope, DeadReason::UnknownAgent);
        let body = if envelope.body.is_plain() { envelope.body } else { envelope.body.for_many() };
        self.node.linked.handed.fetch_add(1, crate::sync::atomic::Ordering::Relaxed);
        match transport.send(Envelope { to: envelope.to, body }) {
            true => RoutingOutcome::Busy,
            false => RoutingOutcome::Fine,
        }
    }

    /// Puts a message into another shard's batch. Returns true if that shard is so loaded that senders should slow
    /// down. Whether the receiver is crowded shows only later.
    fn send_across(&mut self, shard: ShardIndex, envelope: Envelope) -> bool {
        self.balance.load.crossed += 1;
        let Some(seat) = self.node.seat(shard) else { return false };
        let Some(batch) = self.outgoing.get_mut(usize::from(shard)) else { return false };
        batch.push(ShardCommand::Message(envelope));
        // An idle worker should not wait for the end of this round.
        self.urgent |= batch.len() >= BATCH_MAX || seat.figures.is_idle();
        seat.waiting() + batch.len() > self.mailbox_limits.soft
    }

    /// Puts a message into the batch for another node.
    pub(super) fn send_linked(&mut self, node: NodeId, envelope: Envelope, route: Route) -> RoutingOutcome {
        self.send_row_linked(node, envelope.to, std::iter::once(envelope.body), route)
    }

    /// Puts several messages to one receiver into the batch for another node.
    pub(super) fn send_row_linked(
        &mut self,
        node: NodeId,
        to: Aid,
        row: impl ExactSizeIterator<Item = MessageBody>,
        route: Route,
    ) -> RoutingOutcome {
        let index = node.0 as usize;
        if self.linked.len() <= index {
            self.linked.resize_with(index + 1, Departing::default);
        }
        let Some(batch) = self.linked.get_mut(index) else { return RoutingOutcome::Fine };
        let crowded = if route.is_crowded() { RoutingOutcome::Crowded(to.name) } else { RoutingOutcome::Fine };
        batch.room = batch.room.saturating_sub(row.len());
        batch.messages.extend(row.map(|body| Envelope { to, body }));
        self.urgent |= batch.is_full();
        if batch.room == 0 { RoutingOutcome::LinkFull(node) } else { crowded }
    }

    /// Reconsiders a result after urgent messages were handed over: a link may have room again.
    pub(super) fn reconsider(&self, reception: RoutingOutcome) -> RoutingOutcome {
        match reception {
            RoutingOutcome::LinkFull(node) => {
                let has_room = self.linked.get(node.0 as usize).is_some_and(|batch| batch.room > 0);
                if has_room { RoutingOutcome::Fine } else { reception }
            }
            reception => reception,
        }
    }

    /// Notes that a full link has room again; the link tells how much when asked next.
    pub(super) fn drained(&mut self, node: NodeId) {
        if let Some(batch) = self.linked.get_mut(node.0 as usize) {
            batch.drained = true;
            self.urgent = true;
        }
    }

    /// Hands over messages to other nodes, and lets senders continue where there is room.
    pub(super) fn flush_links(&mut self) {
        self.flush_those_links(|_| true);
    }

    /// Hands over messages at the end of a round: those that have waited long enough, or all if no more may follow
    /// soon. Where turns can fill a long round, nothing waits.
    pub(super) fn flush_links_in_time(&mut self) {
        if self.linked.is_empty() {
            return;
        }
        let waits = self.has_work() && self.pace.turns() > 1 && self.await_turns.is_empty();
        if waits && !self.node.stopping.load(Ordering::Relaxed) {
            let before = Time(self.node.now().0.saturating_sub(GATHER_US));
            return self.flush_those_links(|batch| batch.left_at <= before);
        }
        self.flush_links();
    }

    /// Hands over messages to nodes whose batch is full.
    pub(super) fn flush_full_links(&mut self) {
        self.flush_those_links(Departing::is_full);
    }

    fn flush_those_links(&mut self, which: impl Fn(&Departing) -> bool) {
        for index in 0..self.linked.len() {
            let Some(batch) = self.linked.get_mut(index).filter(|batch| which(batch)) else { continue };
            let drained = std::mem::take(&mut batch.drained);
            if drained || !batch.messages.is_empty() {
                let messages = std::mem::take(&mut batch.messages);
                batch.left_at = self.now;
                self.flush_link(NodeId(index as u32), messages);
            }
        }
    }

    fn flush_link(&mut self, node: NodeId, mut messages: Vec<Envelope>) {
        if self.observed {
            messages.iter().for_each(|envelope| self.node.tell(PlatformEvent::Linked(envelope, node)));
        }
        let (count, links) = (messages.len(), self.node.linked.links());
        let room = links.map_or(usize::MAX, |links| links.send(node, &mut messages, self.index));
        let handed = (count - messages.len()) as u64;
        self.node.linked.handed.fetch_add(handed, crate::sync::atomic::Ordering::Relaxed);
        // Numbered messages will be repeated to the next server of the receiver's partition.
        let left = messages.len();
        let mut messages = self.node.unsaid(messages);
        self.node.count_copies(0, (left - messages.len()) as u64);
        for Envelope { to, body } in messages.drain(..) {
            // Without a link, the subscribers there are gone.
            let for_many = Cast::of(to.name).is_some();
            let why = if for_many && room > 0 { DeadReason::AgentEnded } else { DeadReason::Unreachable };
            self.undeliverable(to, body, why);
        }
        if let Some(batch) = self.linked.get_mut(node.0 as usize) {
            batch.room = room;
            if batch.messages.is_empty() {
                batch.messages = messages;
            }
        }
        if room > 0 {
            self.let_senders_go_on(node, room);
        }
    }

    /// Takes in a message that another shard sent here. If the receiver is leaving, the message goes along, because
    /// it precedes those sent after the move began.
    pub(super) fn take_message(&mut self, envelope: Envelope) {
        match self.leaver(envelope.to.name) {
            Some(index) => self.deliver_crowded(index, envelope),
            None => self.route_again(envelope.to, envelope.body),
        }
    }

    /// Routes a message again that missed its receiver.
    pub(super) fn route_again(&mut self, to: Aid, body: MessageBody) {
        let sender = body.sender;
        // As long as messages are on their way here from before their sender's move, its earlier ones are here, too.
        let came_over_link =
            matches!(self.route_of(sender).place(), Place::Node(_)) && self.node.entry_shard_of(sender.name).is_none();
        if came_over_link {
            // No node would accept from this one a message of another node's agent.
            return self.route_arrived(to, body);
        }
        self.route(to, body);
    }

    /// Returns the slot of an agent of this shard. Installs new agents from the inbox first if the agent is among
    /// them.
    pub(super) fn arrived_slot(&mut self, name: Symbol, place: LocalRoute) -> Option<u32> {
        if place.slot.is_some() {
            return place.slot;
        }
        let newcomers = self.node.seat(self.index).map(|seat| seat.inbox.take_newcomers());
        self.install(newcomers.unwrap_or_default());
        match self.node.routes.look_up(name).place() {
            Place::Local(LocalRoute { shard, slot, .. }) if shard == self.index => slot,
            _ => None,
        }
    }

    /// Retains an item for an agent that is on its way here.
    pub(super) fn expect(&mut self, name: Symbol, early: Early) {
        self.expected.entry(name).or_default().push(early);
    }

    /// Puts a message into a mailbox, and queues its agent.
    #[inline(always)]
    pub(super) fn deliver(&mut self, index: u32, body: MessageBody) {
        if body.is_plain() {
            return self.put_in(index, body);
        }
        self.deliver_rare(index, body);
    }

    /// Delivers a message that may be bulky.
    #[cold]
    fn deliver_rare(&mut self, index: u32, body: MessageBody) {
        self.put_in(index, body);
        let full = |slot: &mut Slot| !slot.crowded && self.mailbox_limits.are_used(&slot.mailbox);
        if self.slots.at(index).is_some_and(full) {
            self.crowd(index);
        }
    }

    #[inline(always)]
    fn put_in(&mut self, index: u32, body: MessageBody) {
        let Some(slot) = self.slots.at(index) else { return self.deliver_away(index, body) };
        let body = if self.observed {
            self.probes.pick(slot, self.now);
            Self::delivered(&self.node, slot.aid(), body)
        } else {
            body
        };
        if !slot.mailbox.push_using(body, &mut self.spare_queues) {
            return self.dropped(index);
        }
        let waiting = slot.mailbox.len();
        match slot.status {
            SlotStatus::Idle => {
                slot.status = SlotStatus::Queued;
                self.runnable.push(index);
            }
            SlotStatus::Leaving => slot.status = SlotStatus::LeavingQueued,
            _ => {}
        }
        if waiting == self.mailbox_limits.soft {
            self.crowd(index);
        }
    }

    /// Notes that a mailbox dropped a numbered message: it is settled, though the agent has no turn for it.
    #[cold]
    fn dropped(&mut self, index: u32) {
        self.tally.handled += 1;
        if let Some(mut slot) = self.slots.lift(index) {
            self.note_dropped(&mut slot);
            self.slots.put_back(slot);
        }
    }

    /// Delivers several messages at once, unobserved; see [`Shard::deliver`].
    pub(super) fn deliver_row(&mut self, index: u32, row: impl ExactSizeIterator<Item = MessageBody>) {
        let Some(slot) = self.slots.at(index) else { return row.for_each(|body| self.deliver_away(index, body)) };
        let waited = slot.mailbox.len();
        if waited + row.len() > self.mailbox_limits.hard {
            // Messages without room are refused one by one.
            let to = slot.aid();
            return row.for_each(|body| self.deliver_crowded(index, Envelope { to, body }));
        }
        slot.mailbox.extend_using(row, &mut self.spare_queues);
        let full = waited < self.mailbox_limits.soft && slot.mailbox.len() >= self.mailbox_limits.soft;
        if slot.status == SlotStatus::Idle || slot.status == SlotStatus::Leaving {
            self.enqueue(index);
        }
        if full {
            self.crowd(index);
        }
    }

    #[cold]
    fn delivered(node: &Node, to: Aid, body: MessageBody) -> MessageBody {
        let envelope = Envelope { to, body };
        node.tell(PlatformEvent::Delivered(&envelope));
        envelope.body
    }

    #[cold]
    fn deliver_away(&mut self, index: u32, body: MessageBody) {
        match self.slots.away(index) {
            Some(away) => {
                let to = Aid::local(away.name);
                let body = if self.observed { Self::delivered(&self.node, to, body) } else { body };
                away.mailbox.push(body);
            }
            None => self.undeliverable(Aid::local(sym::EMPTY), body, DeadReason::UnknownAgent),
        }
    }

    fn deliver_crowded(&mut self, index: u32, envelope: Envelope) {
        let limits = self.mailbox_limits;
        let Some(slot) = self.slots.at(index) else { return self.deliver_crowded_away(index, envelope) };
        if !limits.refuse(&slot.mailbox, &envelope.body) {
            return self.deliver(index, envelope.body);
        }
        if slot.mailbox.refuse(&envelope.body) {
            self.undeliverable(envelope.to, envelope.body, DeadReason::MailboxFull);
        } else {
            self.dropped(index);
        }
    }

    /// Delivers to an agent whose late turn continues without the shard. Only the end of that turn tells whether a
    /// numbered message is a duplicate. So the message is dropped rather than refused, and repeated then.
    fn deliver_crowded_away(&mut self, index: u32, envelope: Envelope) {
        let (limits, says_again) = (self.mailbox_limits, self.node.cluster.is_some());
        match self.slots.away(index).filter(|away| limits.refuse(&away.mailbox, &envelope.body)) {
            None => self.deliver_away(index, envelope.body),
            Some(away) if says_again && matches!(envelope.body, MessageBody::Numbered(_)) => {
                away.missed.insert(envelope.body.sender.name);
                self.tally.handled += 1;
            }
            Some(_) => self.undeliverable(envelope.to, envelope.body, DeadReason::MailboxFull),
        }
    }

    #[cold]
    fn crowd(&mut self, index: u32) {
        if let Some(mut slot) = self.slots.lift(index) {
            self.set_crowded(&mut slot, true);
            self.slots.put_back(slot);
        }
    }

    /// Sets the route of an agent of this shard, if it still leads to it.
    pub(super) fn redirect(&self, name: Symbol, index: u32, generation: u32, to: Route) -> bool {
        let routes = &self.node.routes;
        loop {
            let route = routes.look_up(name);
            let leads_here = matches!(route.place(), Place::Local(place) if place.shard == self.index
                && place.slot == Some(index) && place.generation == generation);
            if !leads_here {
                return false;
            }
            if routes.replace(name, route, to).is_ok() {
                return true;
            }
        }
    }

    /// Tells senders to slow down if an agent arrived with a full mailbox.
    pub(super) fn crowd_if_full(&mut self, index: u32) {
        if self.slots.at(index).is_some_and(|slot| self.mailbox_limits.are_used(&slot.mailbox)) {
            self.crowd(index);
        }
    }

    /// Hands an agent an item that came before it.
    pub(super) fn hand_over(&mut self, index: u32, early: Early) {
        match early {
            Early::Message(body) => {
                let Some(to) = self.slots.at(index).map(|slot| slot.aid()) else { return };
                self.deliver_crowded(index, Envelope { to, body });
            }
            Early::Change(generation, change) => self.change_here(index, generation, change),
        }
    }

    /// Fails what came for an agent that will not arrive.
    pub(super) fn nobody_comes(&mut self, name: Symbol) {
        let awaited =
            matches!(self.node.routes.look_up(name).place(), Place::Local(place) if place.shard == self.index);
        if awaited {
            // Another agent of that name is on its way, and gets the items.
            return;
        }
        for early in self.expected.remove(&name).unwrap_or_default() {
            if let Early::Message(body) = early {
                self.undeliverable(Aid::local(name), body, DeadReason::AgentEnded);
            }
        }
    }

    /// Marks an agent's route as crowded or not, for its senders.
    pub(super) fn set_crowded(&mut self, slot: &mut Slot, crowded: bool) {
        let here = LocalRoute { shard: self.index, slot: Some(slot.index), generation: slot.generation, crowded };
        // A changed route means that the agent lost its name or leaves; senders find out by themselves.
        self.redirect(slot.name, slot.index, slot.generation, Route::local(here));
        slot.crowded = crowded;
        self.node.push_crowded(slot.name, crowded);
        if !crowded {
            self.node.relieved(slot.name);
        }
    }

    /// Ends a message unhandled: its sender gets a `failure`.
    #[cold]
    pub(super) fn undeliverable(&mut self, to: Aid, body: MessageBody, why: DeadReason) {
        let Err(envelope) = self.choose_again(Envelope { to, body }, why) else { return };
        self.write_off(&envelope, why);
        self.node.tell(PlatformEvent::Died(&envelope, why));
        if why == DeadReason::MailboxFull {
            self.node.health.note_full_mailbox(envelope.to.name, self.now);
        }
        self.tally.dead += 1;
        if self.node.stopping.load(Ordering::Relaxed) {
            self.node.unread.fetch_add(1, Ordering::Relaxed);
        }
        let failure = locked(&self.node.dead_letters).bury(self.now, envelope, why);
        if let Some(failure) = failure {
            let to = failure.receivers.first().copied();
            self.send_own(to.unwrap_or(failure.sender), failure);
        }
    }
}
