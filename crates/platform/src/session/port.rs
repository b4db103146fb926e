//! The port between a node's scheduler and its agent port. Neither knows the other.

use whimbrel_acl::{Aid, Symbol};

use crate::services::CreateError;
use crate::{AgentBody, Time};

/// The scheduler, as sessions see it.
pub trait Host: Send + Sync {
    /// The platform's name.
    fn platform(&self) -> Symbol;

    /// This node's name; empty for a platform of one node.
    fn node(&self) -> Symbol;

    /// The time.
    fn now(&self) -> Time;

    /// Creates an agent whose code is elsewhere. It exists when this returns; its first turn may come before.
    ///
    /// # Errors
    /// The name is taken or no name, or the platform is stopping.
    fn lodge(&self, name: Symbol, body: Box<dyn AgentBody>) -> Result<Aid, CreateError>;

    /// Gives an agent a turn, whether it has messages or not.
    fn wake(&self, agent: Aid);
}
