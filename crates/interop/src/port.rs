//! Port between a message transport and the node whose agents it connects.

use whimbrel_acl::Envelope;
use whimbrel_platform::Services;
use whimbrel_platform::dead_letters::DeadReason;

/// Node, as a message transport sees it.
pub trait MessagePort: Send + Sync {
    /// Takes in a message of a stranger for one of the platform's agents, if the policy permits it. Otherwise, and if
    /// there is no such agent, the stranger gets a `failure`.
    fn take_in(&self, message: Envelope);

    /// Returns true if more messages can be taken in now.
    fn has_room(&self) -> bool;

    /// Takes back messages that did not leave; their senders get a `failure`.
    fn give_up(&self, messages: Vec<Envelope>, why: DeadReason);

    /// Returns the services of the platform: time, log and audit.
    fn services(&self) -> &dyn Services;
}
