//! Port to a society: the protocols start agents for those outside, send messages in their names, and ask directories
//! and policy.

use whimbrel_acl::{AclMessage, Aid, Symbol};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::{AgentBody, Services};

/// SocietyPort of a node, as the doors to other platforms see it.
pub trait SocietyPort: Send + Sync + 'static {
    /// Starts an agent that stands for somebody outside.
    ///
    /// # Errors
    /// The name is taken or invalid, or the platform is stopping.
    fn start(&self, name: Symbol, body: Box<dyn AgentBody>) -> Result<Aid, CreateError>;

    /// Sends a message as its sender.
    fn send(&self, message: Box<AclMessage>);

    /// Returns the services of the platform: directories, policy, audit and time.
    fn services(&self) -> &dyn Services;
}
