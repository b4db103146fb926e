//! Port between a node's scheduler and its message transport to other platforms.

use whimbrel_acl::{Aid, Envelope};

/// Message transport, as the scheduler sees it.
pub trait MessageTransport: Send + Sync {
    /// Takes a message for an agent of another platform, in order. Returns true if so many wait that senders should
    /// slow down. A message that cannot be delivered comes back to the node, which tells its sender.
    fn send(&self, message: Envelope) -> bool;

    /// Returns the number of messages that were taken, and have neither left nor come back.
    fn waiting(&self) -> u64;

    /// Returns true if an address of this agent is known.
    fn reaches(&self, agent: Aid) -> bool;

    /// Returns the addresses at which other platforms reach this one.
    fn addresses(&self) -> Vec<String>;
}
