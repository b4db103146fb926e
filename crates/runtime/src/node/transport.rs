//! Message transport of a node: messages to and from agents of other platforms.

use std::sync::atomic::Ordering;

use whimbrel_acl::{Aid, Envelope, sym};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::policy::{Principal, act_of_sending};
use whimbrel_platform::route::Place;
use whimbrel_platform::{MessageTransport, PlatformEvent};

use super::Node;
use crate::shard_command::ShardCommand;
use crate::sync::Arc;

impl Node {
    /// Sets the message transport, and has directories tell its addresses. Returns false if the node has one already.
    pub fn transport_with(&self, transport: Arc<dyn MessageTransport>) -> bool {
        let addresses = transport.addresses();
        let is_first = self.linked.attach_transport(transport);
        if is_first {
            self.with_ams(|ams| ams.set_addresses(addresses.clone()));
            self.with_df(|df| df.set_addresses(addresses));
        }
        is_first
    }

    /// Returns true if an agent may exist on another platform that messages can be sent to. Only that platform knows.
    pub fn may_be_abroad(&self, agent: Aid) -> bool {
        let ours = agent.platform == sym::EMPTY || agent.platform == self.name;
        !ours && self.linked.transport().is_some()
    }

    /// Takes in a message of another platform's agent. Nothing vouches for its sender, so it is a stranger's. All
    /// enter by one shard, so that they keep their order.
    pub fn take_in_foreign(&self, message: Envelope) {
        self.linked.came.fetch_add(1, Ordering::Relaxed);
        self.tell(PlatformEvent::Sent(&message));
        let place = self.routes.look_up(message.to.name).place();
        self.tell(PlatformEvent::Routed(&message, place));
        let (action, object) = act_of_sending(message.to.name);
        let command = match (self.permits(Principal::Stranger, action, &object), place) {
            (false, _) => ShardCommand::Undeliverable(message, DeadReason::Forbidden),
            // Nodes accept messages of each other's agents only.
            (_, Place::Node(_)) => ShardCommand::Undeliverable(message, DeadReason::Unreachable),
            _ => ShardCommand::Posted(message),
        };
        self.fill(0, |content| content.commands.push(command));
    }

    /// Takes back messages that the transport could not deliver.
    pub fn give_up_foreign(&self, messages: Vec<Envelope>, why: DeadReason) {
        self.linked.handed.fetch_sub(messages.len() as u64, Ordering::Relaxed);
        self.bury_all(messages, why);
    }
}
