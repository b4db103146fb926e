//! Durable agents: each of their steps is written to a journal before anybody sees what came of it
//! ([`whimbrel_platform::durable`] says what that promises).
//!
//! One step's way: the agent has its turn; what it sends and prints is kept back in its slot ([`Unwritten`]). At the end
//! of the round its shard captures all agents that had turns ([`crate::shard`], `steps`): their states, what they handled
//! and what they kept back, and hands that batch to the [`scribe`], a thread of its own, which writes it. Meanwhile the
//! agents go on; what they do now goes with the next batch. When the batch is acknowledged, the shard gets it back and
//! sends and prints what was kept back. So the disk's time is nobody's but the message's, and the busier the agents are,
//! the more steps one write holds.

pub(crate) mod backstage;
mod recover;
mod resume;
pub(crate) mod scribe;
mod standing;

use whimbrel_acl::{AclMessage, Aid};
use whimbrel_platform::Time;
use whimbrel_platform::durable::{Born, Ticket};
use whimbrel_platform::services::LogLevel;

use crate::sync::Arc;

pub use recover::{Kept, RecoverError, erase, recover};
pub(crate) use recover::{Recovered, recover_some};
pub(crate) use resume::{Entrant, volatile};

/// A durable agent's steps since they were captured last.
pub(crate) struct Unwritten {
    /// How it came to be, until that is written.
    pub born: Option<Box<Born>>,
    /// The number of the last message it sent.
    pub last: u64,
    /// Messages it handled.
    pub handled: Vec<Ticket>,
    /// Messages it sent.
    pub sent: Vec<(Aid, Arc<AclMessage>)>,
    /// What else it did that others see.
    pub effects: Vec<Effect>,
    /// How big its last whole state was, and what was written of changes since; both 0 if nothing was written yet.
    pub whole_bytes: usize,
    pub delta_bytes: usize,
    /// It is on its shard's list of those to be captured.
    pub listed: bool,
    /// It was captured, and that is being written.
    pub captured: bool,
    pub idleness: Idleness,
}

/// Since when an agent has had nothing to do, and when it is to be asked whether it leaves memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idleness {
    pub since: Time,
    /// Never, if nobody will ask.
    pub asked_at: Time,
    /// It has left.
    pub is_passive: bool,
}

impl Default for Idleness {
    fn default() -> Self {
        Self { since: Time::ZERO, asked_at: Time::NEVER, is_passive: false }
    }
}

impl Unwritten {
    /// Of an agent that is new.
    pub fn of(born: Born) -> Self {
        let last = born.after;
        Self { born: Some(Box::new(born)), ..Self::after(last) }
    }

    /// Of an agent whose last message had this number.
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

    /// Whether there is nothing to write but its state.
    pub fn says_nothing(&self) -> bool {
        self.born.is_none() && self.handled.is_empty() && self.sent.is_empty() && self.effects.is_empty()
    }
}

/// Something an agent did, beside sending, that others see: it is done when it is written.
pub(crate) enum Effect {
    /// It printed a line.
    Print(Aid, String),
    /// It printed text without its name and without ending the line.
    PrintBare(Aid, String),
    /// It, or the platform in its turn, noted something for its operator.
    Log(Aid, LogLevel, String),
    /// It created an agent that another node runs.
    Create(Box<AclMessage>),
    /// Somebody waits for its step to be written.
    Then(Box<dyn FnOnce() + Send>),
    /// It ended the platform.
    Stop { delay_ms: u64, code: i32 },
    /// What the platform knows of it changed. That is done already; it is only to be written.
    Standing,
}

impl Effect {
    /// Whether it creates an agent that another node runs: that is sent as a message, in its order among them.
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
