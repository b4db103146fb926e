//! Unwritten steps of a durable agent: what is withheld until the journal has it.

use whimbrel_acl::{AclMessage, Aid};
use whimbrel_platform::Time;
use whimbrel_platform::durable::{Born, Ticket};
use whimbrel_platform::services::LogLevel;

use crate::sync::Arc;

/// Steps of a durable agent since its last capture.
pub(crate) struct Unwritten {
    /// Record of the agent's creation, until it is persisted.
    pub born: Option<Box<Born>>,
    /// Number of the last message that the agent sent.
    pub last: u64,
    /// Messages that the agent handled.
    pub handled: Vec<Ticket>,
    /// Messages that the agent sent.
    pub sent: Vec<(Aid, Arc<AclMessage>)>,
    /// Other visible effects of the agent's steps.
    pub effects: Vec<WithheldEffect>,
    /// Size of the agent's last complete state, and of the changes written since. Both are 0 before the first write.
    pub whole_bytes: usize,
    pub delta_bytes: usize,
    /// True while the agent is on its shard's list of agents to capture.
    pub listed: bool,
    /// True while a capture of the agent is being written.
    pub captured: bool,
    pub idleness: Idleness,
}

/// Time since when an agent has had nothing to do, and time of the next check whether it leaves memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idleness {
    pub since: Time,
    /// Time of the next check; never, if passivation is off.
    pub asked_at: Time,
    /// True once the agent has left memory.
    pub is_passive: bool,
}

impl Default for Idleness {
    fn default() -> Self {
        Self { since: Time::ZERO, asked_at: Time::NEVER, is_passive: false }
    }
}

impl Unwritten {
    /// Creates the record of a new agent.
    pub fn of(born: Born) -> Self {
        let last = born.after;
        Self { born: Some(Box::new(born)), ..Self::after(last) }
    }

    /// Creates the record of an agent whose last message had this number.
    pub fn after(last: u64) -> Self {
        Self {
            born: None,
            last,
            handled: Vec::new(),
            sent: Vec::new(),
            effects: Vec::new(),
            whole_bytes: 0,
            delta_bytes: 0,
            listed: false,
            captured: false,
            idleness: Idleness::default(),
        }
    }

    /// Returns true if only the agent's state is left to write.
    pub fn says_nothing(&self) -> bool {
        self.born.is_none() && self.handled.is_empty() && self.sent.is_empty() && self.effects.is_empty()
    }
}

/// Visible effect of a turn other than a message; it takes place when the turn is persisted.
pub(crate) enum WithheldEffect {
    /// A line that the agent prints.
    Print(Aid, String),
    /// Text that the agent prints without its name and without ending the line.
    PrintBare(Aid, String),
    /// A log entry by the agent, or by the platform during its turn.
    Log(Aid, LogLevel, String),
    /// Creation of an agent that another node runs.
    Create(Box<AclMessage>),
    /// Call for a waiting caller, once the step is persisted.
    Then(Box<dyn FnOnce() + Send>),
    /// End of the platform.
    Stop { delay_ms: u64, code: i32 },
    /// Changed registration of the agent: already in effect, and only to be persisted.
    Registration,
}

impl WithheldEffect {
    /// Returns true for the creation of an agent on another node: it is sent as a message, in order with the others.
    pub fn is_creation(&self) -> bool {
        matches!(self, Self::Create(_))
    }

    pub fn into_creation(self) -> Option<(Aid, Arc<AclMessage>)> {
        match self {
            Self::Create(message) => Some((message.receivers.first().copied()?, Arc::from(message))),
            _ => None,
        }
    }
}
