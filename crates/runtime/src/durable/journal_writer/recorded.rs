//! Recorded messages: those that a durable agent's journal retains until they are handled.

use smallvec::SmallVec;
use whimbrel_acl::{AclMessage, Aid, Symbol, sym};
use whimbrel_platform::durable::Sent;
use whimbrel_platform::durable::creation::is_creation;
use whimbrel_platform::route::Place;
use whimbrel_platform::topics::Cast;

use super::JournalWriter;
use crate::node::Node;
use crate::sync::{Arc, locked};

/// Returns true for names that no durable agent has, whichever node serves which partition.
fn is_never_durable(name: Symbol) -> bool {
    name == sym::AMS || name == sym::DF || Cast::of(name).is_some()
}

impl JournalWriter {
    /// Returns an agent's messages in recorded form.
    ///
    /// Messages to agents that are not durable, to topics and to other platforms are not recorded. Neither are
    /// messages that are nested too deeply, nor those forwarded for other agents: their numbers would not be this
    /// agent's.
    pub fn written(&self, node: &Node, agent: Symbol, sent: &[(Aid, Arc<AclMessage>)]) -> Vec<Sent> {
        let write = |((to, message), is_kept): (&(Aid, Arc<AclMessage>), bool)| {
            let written = if is_kept { Sent::of(*to, message).ok() } else { None };
            written.unwrap_or_else(|| Sent::unkept(*to))
        };
        // Messages are encoded after the locks are released.
        sent.iter().zip(self.kept(node, agent, sent)).map(write).collect()
    }

    /// Tells which of these messages are recorded. Only receivers that may be durable on another node hold up
    /// partitions.
    fn kept(&self, node: &Node, agent: Symbol, sent: &[(Aid, Arc<AclMessage>)]) -> SmallVec<[bool; 8]> {
        let may_be_kept = |(to, message): &(Aid, Arc<AclMessage>)| {
            let is_ours = to.platform == sym::EMPTY || to.platform == node.name;
            is_ours && (message.sender.name == agent || is_creation(message))
        };
        let durable = locked(&self.durable);
        let is_known = |to: Symbol| durable.contains(&to) || is_never_durable(to);
        let all_here = sent.iter().all(|sent| is_known(sent.0.name) || !may_be_kept(sent));
        let (parts, durable) = match &node.cluster {
            // Partitions pass under this lock. A message between two durable agents is always numbered. One without a
            // number takes another way while the receiver's partition moves, and numbered ones would overtake it.
            Some(cluster) if !all_here => {
                drop(durable);
                (Some((cluster, cluster.lock())), locked(&self.durable))
            }
            _ => (None, durable),
        };
        // Only the agent's own node knows whether it is durable.
        let may_be = |name| {
            parts.as_ref().is_some_and(|(cluster, parts)| match node.routes.look_up(name).place() {
                Place::Local(_) => false,
                Place::Node(at) => cluster.may_live_on(parts, name, at),
                _ => !is_never_durable(name),
            })
        };
        let is_durable = |to: Symbol| durable.contains(&to) || may_be(to);
        sent.iter().map(|sent| may_be_kept(sent) && is_durable(sent.0.name)).collect()
    }
}
