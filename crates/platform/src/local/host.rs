//! Host of a platform of one thread: the port through which it reaches everything else.

use std::sync::Arc;

use whimbrel_acl::{Aid, Envelope, Symbol, Value, sym};

use super::registry::LocalRegistry;
use crate::dead_letters::DeadReason;
use crate::environment::NodeEnvironment;
use crate::policy::Policy;
use crate::services::LogLevel;
use crate::topics::Cast;
use crate::{AgentBody, EndReason, PlatformEvent, Time};

static NO_RULES: Policy = Policy::DEFAULT;

/// Host of a [`LocalPlatform`](super::LocalPlatform): clock, random numbers, files, output, and messages to elsewhere.
///
/// Methods that take `&self` are called during turns. The others are called between turns, so a host needs locks only
/// for what changes within a turn. Only the first five methods have no default.
pub trait LocalHost: Send + Sync {
    /// Returns the time; never less than before.
    fn now(&self) -> Time;

    /// Returns the milliseconds since 1970-01-01 UTC.
    fn wall_clock_ms(&self) -> u64;

    /// Returns a random number, uniform over all 64 bits.
    fn random(&self) -> u64;

    /// Prints a line of an agent's output.
    fn print(&self, agent: Aid, text: &str);

    /// Notes something about an agent for its operator.
    fn log(&self, agent: Aid, level: LogLevel, text: &str);

    /// Prints text without the agent's name and without ending the line.
    fn print_bare(&self, agent: Aid, text: &str) {
        self.print(agent, text);
    }

    /// Makes the body of agent `name` from the program at `path`.
    ///
    /// # Errors
    /// The reason why the program cannot be loaded.
    fn load(&self, _name: Symbol, path: &str, _options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        Err(format!("no loader for {path}"))
    }

    /// Reads program text.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    fn read_source(&self, path: &str) -> Result<String, String> {
        Err(format!("no file {path}"))
    }

    /// Returns the files in a folder, and in the folders within it.
    fn list_files(&self, _folder: &str) -> Vec<String> {
        Vec::new()
    }

    /// Writes text to a file.
    ///
    /// # Errors
    /// The reason why it cannot be written.
    fn write_file(&self, path: &str, _text: &str) -> Result<(), String> {
        Err(format!("cannot write {path}: there are no files here"))
    }

    /// Returns the policy.
    fn policy(&self) -> &Policy {
        &NO_RULES
    }

    /// Returns the environment of this name.
    fn environment(&self, _name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        None
    }

    /// Returns the name of this place; empty if it has none.
    fn place(&self) -> Symbol {
        sym::EMPTY
    }

    /// Returns true if a message to `agent` has somewhere to go.
    fn reaches(&self, agent: Aid, registry: &LocalRegistry) -> bool {
        registry.ams().exists(agent)
    }

    /// Returns true if `teacher` may give plans to agents here, as far as the policy lets it.
    fn lets_teach(&self, _teacher: Aid, _registry: &LocalRegistry) -> bool {
        true
    }

    /// Returns true if the agent is being ended while it has a turn.
    fn is_ending(&self, _agent: Aid) -> bool {
        false
    }

    /// Takes note that an agent was created. The platform's own service agents are not reported.
    fn created(&self, _agent: Aid) {}

    /// Takes note that an agent registered a service with the DF, or deregistered it.
    fn offered(&self, _agent: Aid, _service: &str, _kind: &str, _offered: bool) {}

    /// Takes note that an agent had a turn, after which this number of messages wait in its mailbox.
    fn turn_ended(&mut self, _agent: Aid, _waiting: usize) {}

    /// Takes note that an agent ends.
    fn ended(&mut self, _agent: Aid, _reason: &EndReason) {}

    /// Takes note of what happens to a message.
    fn note(&mut self, _event: PlatformEvent<'_>) {}

    /// Chooses the route of a message; for a copy to a member of a topic or group, `cast` is the kind of delivery.
    fn route(&mut self, envelope: Envelope, _cast: Option<Cast>, _registry: &LocalRegistry) -> HostRoute {
        HostRoute::Here(envelope)
    }
}

/// Route that a host chooses for a message.
#[derive(Debug)]
pub enum HostRoute {
    /// Delivery to an agent of this platform, now.
    Here(Envelope),
    /// Delivery later: the host holds the message until it hands it to
    /// [`LocalPlatform::arrive`](super::LocalPlatform::arrive), and counts it among the queued ones.
    Later,
    /// Delivery by another platform, which has the message now.
    Elsewhere,
    /// No delivery, for this reason.
    Nowhere(Envelope, DeadReason),
}
