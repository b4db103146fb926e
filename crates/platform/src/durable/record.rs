//! Journal records, and the frames that hold them as bytes.
//!
//! A frame is a layout byte and a list of records in the compact codec. Readers go by the names of fields, so a release
//! that adds a field reads the frames of older releases.

use whimbrel_acl::compact::{self, Decode, DecodeError, Encode, EncodeError, Limits};
use whimbrel_acl::{AclMessage, Aid, Numbered, Symbol};

use super::LIFE_BITS;
use super::origin::Origin;
use super::registration::Registration;
use crate::ams::AgentKind;
use crate::limits::FRAME_MEMORY_BYTES_MAX;

/// First byte of a frame: its layout.
const LAYOUT: u8 = 1;
/// Highest number that a message may have: there is always a next one.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// Event in the life of a durable agent or its partition.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum Record {
    /// Creation of an agent.
    Born(Born),
    /// Step: some turns of an agent.
    Step(AgentStep),
    /// Settlement of messages: their receivers wrote that they handled them, so their sender need not keep them.
    Settled {
        /// Sender of the messages.
        agent: Symbol,
        /// Numbers of the messages, ascending.
        numbers: Vec<u64>,
    },
    /// End of the whole society, by an agent.
    Stopped {
        /// Agent that ended the society.
        agent: Symbol,
        /// Exit code.
        code: i32,
    },
    /// End of an agent.
    Gone {
        /// Agent that ended.
        agent: Symbol,
        /// Number of the last message that it sent.
        last: u64,
    },
    /// Highest life of all agents that the partition ever had, forgotten ones included
    /// ([`numbers_of_life`](super::numbers_of_life)).
    Lives {
        /// Lower bound of the message numbers of that life, as in [`Born::after`].
        after: u64,
    },
    /// Registrations of an agent with the platform, from now on.
    #[compact(name = "Standing")]
    Registration(Registration),
    /// Time for which a partition was served since the last record of this kind. The waits of its agents advance by it.
    Served {
        /// Number of the partition.
        partition: u16,
        /// Milliseconds.
        ms: u64,
    },
    /// Age of an agent's last change, in a condensed journal: it was first written when the partition had been served
    /// for this much less.
    Aged {
        /// Agent whose change it is.
        agent: Symbol,
        /// Milliseconds.
        ms: u64,
    },
}

/// Creation record of an agent, with all that is needed to make it again.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Born {
    /// Name of the agent.
    pub agent: Symbol,
    /// Kind of body.
    pub kind: AgentKind,
    /// Creator of the agent; empty if it has none.
    pub owner: Symbol,
    /// Root agent of its family, if that is neither its owner nor itself.
    pub root: Option<Symbol>,
    /// Place of the agent's code.
    pub origin: Origin,
    /// True for an agent that the society begins with. Such an agent is not created again after it has ended.
    pub founder: bool,
    /// Lower bound of the agent's message numbers ([`numbers_of_life`](super::numbers_of_life)). It exceeds the numbers
    /// of all earlier agents of the name, which tells them apart in any order of writing.
    pub after: u64,
}

/// Result of some turns of an agent.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[compact(name = "Step")]
pub struct AgentStep {
    /// Agent that took the turns.
    pub agent: Symbol,
    /// State of the agent after them.
    pub state: State,
    /// Numbered messages that it handled.
    pub handled: Vec<Ticket>,
    /// Number of the first message that it sent.
    pub first: u64,
    /// Messages that the agent sent, numbered in order.
    pub sent: Vec<Sent>,
}

/// State of an agent, as its kind of body writes it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum State {
    /// Unchanged state.
    Same,
    /// Complete state.
    Whole(Vec<u8>),
    /// Change since the state before.
    Delta(Vec<u8>),
}

impl State {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Same => 0,
            Self::Whole(bytes) | Self::Delta(bytes) => bytes.len(),
        }
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Identifier of a numbered message: its sender and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Ticket {
    /// Sender of the message.
    pub sender: Symbol,
    /// Number of the message.
    pub number: u64,
}

impl Ticket {
    /// Returns the ticket of a message.
    pub fn of(numbered: &Numbered) -> Self {
        Self { sender: numbered.message.sender.name, number: numbered.number }
    }

    /// Returns the life of the sender's name in which the message was sent: see
    /// [`numbers_of_life`](super::numbers_of_life).
    pub fn life(&self) -> u64 {
        self.number >> LIFE_BITS
    }
}

/// Message that was sent, as a journal keeps it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Sent {
    /// Receiver.
    pub to: Aid,
    /// Message as a document of the compact codec. Empty if the message is not kept: its receiver writes nothing down,
    /// and it is sent once at most.
    pub message: Vec<u8>,
}

impl Sent {
    /// Returns the record of a message to `to`.
    ///
    /// # Errors
    /// The message's content is nested too deeply.
    pub fn of(to: Aid, message: &AclMessage) -> Result<Self, EncodeError> {
        let mut bytes = Vec::new();
        compact::encode_message(message, &mut bytes)?;
        Ok(Self { to, message: bytes })
    }

    /// Returns the record of a message that is sent once at most.
    pub fn unkept(to: Aid) -> Self {
        Self { to, message: Vec::new() }
    }

    /// Returns true if the message is sent again until its receiver has written that it handled it.
    pub fn is_kept(&self) -> bool {
        !self.message.is_empty()
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn message(&self) -> Result<AclMessage, DecodeError> {
        compact::decode_message(&self.message)
    }
}

impl Record {
    /// Returns the agent that the record is about; an empty name if it is about a partition.
    pub fn agent(&self) -> Symbol {
        match self {
            Self::Lives { .. } | Self::Served { .. } => Symbol::default(),
            Self::Born(born) => born.agent,
            Self::Step(step) => step.agent,
            Self::Registration(standing) => standing.agent,
            Self::Settled { agent, .. }
            | Self::Stopped { agent, .. }
            | Self::Gone { agent, .. }
            | Self::Aged { agent, .. } => *agent,
        }
    }

    /// Returns the latest life that the record mentions.
    pub(super) fn life(&self) -> u64 {
        self.highest() >> LIFE_BITS
    }

    /// Returns the highest message number in the record.
    fn highest(&self) -> u64 {
        match self {
            Self::Born(born) => born.after,
            Self::Step(step) => {
                let last = step.first.saturating_add(step.sent.len() as u64).saturating_sub(1);
                step.handled.iter().map(|ticket| ticket.number).fold(last, u64::max)
            }
            Self::Settled { numbers, .. } => numbers.iter().copied().max().unwrap_or_default(),
            Self::Stopped { .. } | Self::Served { .. } | Self::Aged { .. } => 0,
            Self::Gone { last, .. } | Self::Registration(Registration { last, .. }) => *last,
            Self::Lives { after } => *after,
        }
    }
}

/// Error of bytes that are no frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Layout of another release.
    #[error("journal frame of layout {0}: this release reads layout {LAYOUT}")]
    Layout(u8),
    /// No bytes.
    #[error("the frame is empty")]
    Empty,
    /// Message number that no agent reaches.
    #[error("a message has the number {0}")]
    Number(u64),
    /// Records that cannot be read.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
}

/// Appends records as a frame.
///
/// # Errors
/// A value in them is nested too deeply; nothing was written then.
pub fn encode_frame(records: &Vec<Record>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    out.push(LAYOUT);
    compact::encode_body_of(records, out).inspect_err(|_| out.truncate(start))
}

/// Decodes the records of a frame.
///
/// # Errors
/// The bytes are no frame, or would take too much memory.
pub fn decode_frame(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    match bytes.split_first() {
        None => Err(RecordError::Empty),
        Some((&LAYOUT, body)) => {
            let limits = Limits::MESSAGE.with_budget_bytes(FRAME_MEMORY_BYTES_MAX);
            let records: Vec<Record> = compact::decode_body_as(body, limits)?;
            let highest = records.iter().map(Record::highest).max().unwrap_or_default();
            if highest > NUMBER_MAX { Err(RecordError::Number(highest)) } else { Ok(records) }
        }
        Some((layout, _)) => Err(RecordError::Layout(*layout)),
    }
}
