//! Spawning: an agent creates others.

use whimbrel_acl::Aid;
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError};

use super::Context;
use crate::agent::Agent;
use crate::durable_agent::{DurableAgent, DurableBody};
use crate::native_body::NativeBody;

impl<Own> Context<'_, '_, Own> {
    /// Creates an agent.
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the platform is stopping.
    pub fn spawn(&mut self, name: &str, agent: impl Agent) -> Result<Aid, CreateError> {
        self.create(name, AgentSource::Body(NativeBody::boxed(agent)))
    }

    /// Creates a durable agent, on the node that serves its name. It outlives its process if the platform is durable.
    ///
    /// # Errors
    /// Returns an error as [`Context::spawn`] does, or if the agent's kind is not
    /// [registered](crate::PlatformBuilder::kind), or if its state cannot be written.
    pub fn spawn_durable(&mut self, name: &str, agent: impl DurableAgent) -> Result<Aid, CreateError> {
        self.create(name, AgentSource::Body(DurableBody::checked(name.into(), agent)?))
    }

    fn create(&mut self, name: &str, source: AgentSource) -> Result<Aid, CreateError> {
        let owner = Some(self.turn.aid);
        self.turn.services.create(CreateAgent { name: name.into(), unique: false, owner, source })
    }
}
