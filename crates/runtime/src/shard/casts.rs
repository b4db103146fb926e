//! Messages to a topic or group: to all its members, or to one of them.
//!
//! Each copy takes the same way as any message to its receiver, so that none overtakes another, and all share one
//! message. Other nodes get one copy each, and distribute it themselves ([`crate::arrivals`]).

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Symbol};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::route::{Place, Route};
use whimbrel_platform::topics::{Audience, Cast};

use super::Shard;
use super::delivery::RoutingOutcome;
use crate::cluster::WaitOutcome;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

impl Shard {
    /// Routes a message to a name without an agent's route.
    #[inline(never)]
    pub(super) fn route_unknown(&mut self, envelope: Envelope) -> RoutingOutcome {
        let name = envelope.to.name;
        let Some(cast) = Cast::of(name) else {
            return self.route_unserved(envelope);
        };
        match (cast, self.audiences.of(name, &self.node.forum)) {
            (Cast::Anycast, Some(audience)) => self.send_to_one(&audience, envelope),
            (_, Some(audience)) if audience.roaming => self.publish_to_roaming(envelope),
            (_, Some(audience)) => self.send_to_all(&audience, envelope),
            (_, None) => self.send_to_nobody(envelope),
        }
    }

    fn send_to_nobody(&mut self, envelope: Envelope) -> RoutingOutcome {
        match Cast::of(envelope.to.name) {
            // The topic itself accepts the message.
            Some(Cast::Broadcast) => self.tally.handled += 1,
            _ => self.undeliverable(envelope.to, envelope.body, DeadReason::NoMember),
        }
        RoutingOutcome::Fine
    }

    /// Routes a message to an agent without a route. The message waits if no node serves the agent's partition just
    /// now.
    fn route_unserved(&mut self, envelope: Envelope) -> RoutingOutcome {
        let node = Arc::clone(&self.node);
        let waiting = match &node.cluster {
            Some(cluster) => cluster.wait(envelope, &node.routes),
            None => WaitOutcome::No(envelope),
        };
        let envelope = match waiting {
            WaitOutcome::No(envelope) => envelope,
            WaitOutcome::Here => return RoutingOutcome::Fine,
            WaitOutcome::InTheBooks => {
                // A repetition counts as another message.
                self.tally.handled += 1;
                return RoutingOutcome::Fine;
            }
            WaitOutcome::TooMany(envelope) => {
                self.undeliverable(envelope.to, envelope.body, DeadReason::MailboxFull);
                return RoutingOutcome::Busy;
            }
        };
        let Err(envelope) = node.expect_creation(envelope) else {
            self.tally.handled += 1;
            return RoutingOutcome::Fine;
        };
        if self.node.routes.look_up(envelope.to.name).is_unknown() {
            if let Some(server) = node.refuses_for(&envelope) {
                return self.send_linked(server, envelope, Route::node(server));
            }
            self.undeliverable(envelope.to, envelope.body, DeadReason::UnknownAgent);
            return RoutingOutcome::Fine;
        }
        // A node serves the partition by now.
        self.route(envelope.to, envelope.body)
    }

    /// Sends a message, counted once so far, to each of an audience.
    fn send_to_all(&mut self, audience: &Audience, envelope: Envelope) -> RoutingOutcome {
        let copies = audience.copies();
        self.tally.sent += (copies as u64).saturating_sub(1);
        let Envelope { to, body } = envelope;
        if let ([only], []) = (&*audience.local, &*audience.nodes) {
            return self.route_copy(*only, body);
        }
        let (shared, mut reception) = (body.for_many(), RoutingOutcome::Fine);
        let mut note = |outcome: RoutingOutcome| reception = outcome.max(reception);
        for name in &audience.local {
            note(self.route_copy(*name, shared.clone()));
        }
        for listener in &audience.nodes {
            let route = Route::node(listener.node).with_crowded(listener.crowded);
            let copy = Envelope { to, body: shared.clone() };
            note(self.send_linked(listener.node, copy, route));
        }
        reception
    }

    /// Publishes to an audience with moving subscribers. The message leaves for the others before this node switches
    /// to the new nodes of these.
    fn publish_to_roaming(&mut self, envelope: Envelope) -> RoutingOutcome {
        let node = Arc::clone(&self.node);
        node.begin_publishing();
        let audience = node.with_topics(|topics| topics.audience_for(envelope.to.name, None));
        let reception = match audience.copies() {
            0 => self.send_to_nobody(envelope),
            _ => self.send_to_all(&audience, envelope),
        };
        self.flush_links();
        node.end_publishing();
        reception
    }

    /// Sends a message to one of an audience.
    fn send_to_one(&mut self, audience: &Audience, envelope: Envelope) -> RoutingOutcome {
        let Envelope { to, body } = envelope;
        match audience.choose(|name| self.node.routes.look_up(name)) {
            Some((member, _)) => self.route_copy(member, body),
            None => {
                self.undeliverable(to, body, DeadReason::NoMember);
                RoutingOutcome::Fine
            }
        }
    }

    /// Takes in messages from another node for several agents, as if each had come for each.
    pub(super) fn take_copies(&mut self, agents: &[Symbol], messages: Vec<Arc<AclMessage>>) {
        let copies = agents.len() * messages.len();
        let row: Vec<MessageBody> = messages.into_iter().map(|one| MessageBody::Shared(one).weighed()).collect();
        let at_once = !self.observed && row.iter().all(MessageBody::is_plain);
        for name in agents {
            let to = Aid::local(*name);
            match self.slot_here(to).filter(|_| at_once) {
                Some(slot) => self.deliver_row(slot, row.iter().cloned()),
                None => row.iter().for_each(|body| self.route_arrived(to, body.clone())),
            }
        }
        if let Some(seat) = self.node.seat(self.index) {
            seat.copies.fetch_sub(copies, Ordering::Relaxed);
        }
    }

    #[inline(never)]
    fn route_copy(&mut self, to: Symbol, body: MessageBody) -> RoutingOutcome {
        self.route(Aid::local(to), body)
    }

    /// Sends a message to a group's member that ended without handling it to another member. Returns any other
    /// message, and one without another member to send it to. A message of another node's agent stays on this node.
    pub(super) fn choose_again(&mut self, envelope: Envelope, why: DeadReason) -> Result<(), Envelope> {
        if !matches!(why, DeadReason::UnknownAgent | DeadReason::AgentEnded)
            || self.node.stopping.load(Ordering::Relaxed)
        {
            return Err(envelope);
        }
        let Some((Cast::Anycast, any)) = Cast::behind(&envelope) else { return Err(envelope) };
        let Some(audience) = self.audiences.of(any.name, &self.node.forum) else { return Err(envelope) };
        let routes = &self.node.routes;
        let of_ours = matches!(routes.look_up(envelope.body.sender.name).place(), Place::Local(_));
        let route_of = |name| routes.look_up(name);
        let chosen = if of_ours { audience.choose(route_of) } else { audience.choose_local(route_of) };
        match chosen {
            Some((member, _)) => {
                self.route_copy(member, envelope.body);
                Ok(())
            }
            None => Err(envelope),
        }
    }
}
