//! Founders: the agents that a society begins with.

use whimbrel_acl::Symbol;
use whimbrel_platform::AgentBody;
use whimbrel_platform::ams::AgentKind;

use super::agent::DurableAgent;
use super::body::DurableBody;
use crate::agent::Agent;
use crate::native_body::NativeBody;

/// Agent that a society begins with, for [`Platform::spawn_together`](crate::Platform::spawn_together) and
/// [`Platform::adopt`](crate::Platform::adopt).
pub type Founder = (Symbol, AgentKind, Box<dyn AgentBody>);

/// Returns a durable founder, which begins in this state unless it is recovered.
pub fn durable(name: impl Into<Symbol>, agent: impl DurableAgent) -> Founder {
    (name.into(), AgentKind::Native, Box::new(DurableBody::new(agent)))
}

/// Returns a volatile founder, which begins anew with its process.
pub fn volatile(name: impl Into<Symbol>, agent: impl Agent) -> Founder {
    (name.into(), AgentKind::Native, NativeBody::boxed(agent))
}
