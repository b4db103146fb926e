//! Where a message goes: into a mailbox here, into another shard's batch, or back to its sender as `failure`.

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Symbol, Value, sym};
use whimbrel_platform::limits::{MAILBOX_HARD_MESSAGES, MAILBOX_SOFT_MESSAGES};
use whimbrel_platform::route::{LocalRoute, Place, Route};

use super::slot::{Slot, Status};
use super::{Early, Shard};
use crate::parcel::Parcel;

/// What became of a message, as far as its sender should care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    /// All is well.
    Fine,
    /// The receiver has too much to do: slow down.
    Crowded,
}

impl Shard {
    /// Sends a message on its way.
    #[inline]
    pub(super) fn route(&mut self, to: Aid, body: MessageBody) -> Reception {
        let ours = to.platform == sym::EMPTY || to.platform == self.node.name;
        let route = if ours { self.node.routes.look_up(to.name) } else { Route::UNKNOWN };
        if let Some(slot) = route.slot_here(self.index) {
            self.deliver(slot, body);
            return Reception::Fine;
        }
        self.route_farther(Envelope { to, body }, route)
    }

    fn route_farther(&mut self, envelope: Envelope, route: Route) -> Reception {
        let Place::Local(place) = route.place() else {
            self.undeliverable(envelope.to, envelope.body, "there is no such agent");
            return Reception::Fine;
        };
        let reception = if place.crowded { Reception::Crowded } else { Reception::Fine };
        if place.shard != self.index {
            if let Some(batch) = self.outgoing.get_mut(usize::from(place.shard)) {
                batch.push(Parcel::Message(envelope));
            }
            return reception;
        }
        match self.arrived_slot(envelope.to.name, place) {
            Some(slot) => self.deliver_crowded(slot, envelope),
            None => self.expect(envelope.to.name, Early::Message(envelope.body)),
        }
        reception
    }

    /// The slot of an agent of this shard, new agents waiting in the inbox let in first if it is among them.
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

    /// Keeps something for an agent that is on its way here.
    pub(super) fn expect(&mut self, name: Symbol, early: Early) {
        self.expected.entry(name).or_default().push(early);
    }

    /// Puts a message into a mailbox and sees to it that it is handled.
    #[inline]
    pub(super) fn deliver(&mut self, index: u32, body: MessageBody) {
        let Some(slot) = self.slots.at(index) else { return self.deliver_away(index, body) };
        slot.mailbox.push(body);
        if slot.status == Status::Idle {
            slot.status = Status::Queued;
            self.runnable.push_back(index);
        }
        if slot.mailbox.len() == MAILBOX_SOFT_MESSAGES {
            self.crowd(index);
        }
    }

    #[cold]
    fn deliver_away(&mut self, index: u32, body: MessageBody) {
        match self.slots.away(index) {
            Some(away) => away.mailbox.push(body),
            None => self.undeliverable(Aid::local(sym::EMPTY), body, "there is no such agent"),
        }
    }

    fn deliver_crowded(&mut self, index: u32, envelope: Envelope) {
        let waiting = match self.slots.at(index) {
            Some(slot) => slot.mailbox.len(),
            None => self.slots.away(index).map_or(0, |away| away.mailbox.len()),
        };
        if waiting >= MAILBOX_HARD_MESSAGES {
            return self.undeliverable(envelope.to, envelope.body, "its mailbox is full");
        }
        self.deliver(index, envelope.body);
    }

    #[cold]
    fn crowd(&mut self, index: u32) {
        if let Some(mut slot) = self.slots.lift(index) {
            self.set_crowded(&mut slot, true);
            self.slots.put_back(slot);
        }
    }

    /// Tells senders, by the route, whether to slow down.
    pub(super) fn set_crowded(&mut self, slot: &mut Slot, crowded: bool) {
        let &mut Slot { index, generation, .. } = slot;
        let here = |crowded| Route::local(LocalRoute { shard: self.index, slot: Some(index), generation, crowded });
        // If the route is another one by now, the agent lost its name, and nobody sends to it any more.
        let _ = self.node.routes.replace(slot.name, here(!crowded), here(crowded));
        slot.crowded = crowded;
    }

    /// A message that ends here, unhandled: its sender hears of it.
    pub(super) fn undeliverable(&mut self, to: Aid, body: MessageBody, why: &str) {
        self.tally.dead += 1;
        if body.sender.name == sym::AMS && body.performative == Performative::Failure {
            return;
        }
        let answer = failure(to, &body, why);
        self.tally.sent += 1;
        self.route(body.sender, MessageBody::Owned(answer));
    }
}

/// The AMS's answer to a message that cannot be delivered: the same conversation, protocol and so on.
fn failure(to: Aid, message: &AclMessage, why: &str) -> Box<AclMessage> {
    let mut answer = Box::new(message.make_reply(Aid::local(sym::AMS), Performative::Failure));
    answer.receivers = smallvec::smallvec![message.sender];
    answer.content = Value::term("undeliverable", [Value::atom(to.name), Value::from(why)]);
    answer
}
