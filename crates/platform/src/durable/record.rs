//! The records in a journal's frames, and the frames as bytes.
//!
//! A frame is a byte for the layout and a list of records in the compact codec, whose readers go by the names of fields: a
//! release that adds a field reads what older ones wrote.

use whimbrel_acl::compact::{self, Decode, DecodeError, Encode, EncodeError, Limits};
use whimbrel_acl::{AclMessage, Aid, Numbered, Symbol};

use super::LIFE_BITS;
use super::standing::Standing;
use crate::ams::AgentKind;
use crate::limits::FRAME_MEMORY_BYTES_MAX;
use crate::session::OnLeave;

/// The first byte of a frame.
const LAYOUT: u8 = 1;
/// The highest number that a message may have: there is always a next one.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// One thing that happened to a durable agent.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum Record {
    /// It came to be.
    Born(Born),
    /// It took some turns.
    Step(Step),
    /// The receivers of these messages of its wrote down that they handled them: it need not keep them any more.
    Settled {
        /// The sender.
        agent: Symbol,
        /// The messages, by number, in ascending order.
        numbers: Vec<u64>,
    },
    /// It ended the whole society.
    Stopped {
        /// Which.
        agent: Symbol,
        /// The exit code.
        code: i32,
    },
    /// It ended.
    Gone {
        /// Which.
        agent: Symbol,
        /// The number of the last message it sent.
        last: u64,
    },
    /// Of all agents of the partition there ever were, also those of whom nothing else is known any more, none had numbers
    /// of later lives than these come after ([`numbers_of_life`](super::numbers_of_life)).
    Lives {
        /// As in [`Born::after`].
        after: u64,
    },
    /// What the platform knows of it is this from now on.
    Standing(Standing),
    /// A partition was served for this long since this was last said of it: what its agents wait for has come nearer.
    Served {
        /// Which: its number.
        partition: u16,
        /// Milliseconds.
        ms: u64,
    },
    /// What was said of it last was said for the first time when its partition had been served for this long less: in a journal
    /// that was condensed.
    Aged {
        /// Which.
        agent: Symbol,
        /// Milliseconds.
        ms: u64,
    },
}

/// How an agent came to be, as far as needed to make it once more.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Born {
    /// Its name.
    pub agent: Symbol,
    /// What runs it.
    pub kind: AgentKind,
    /// Who created it; empty if nobody.
    pub owner: Symbol,
    /// Root agent of its family, if that is neither its owner nor itself.
    pub root: Option<Symbol>,
    /// Where its code is.
    pub origin: Origin,
    /// Whether it is one of those that the society begins with: then it is not begun again when it has ended.
    pub founder: bool,
    /// Its messages have higher numbers than this ([`numbers_of_life`](super::numbers_of_life)), which is higher than those
    /// of all agents that had its name before: so it is told from them, whoever writes first.
    pub after: u64,
}

/// Where an agent's code is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[non_exhaustive]
pub enum Origin {
    /// It runs a program, which the node's loader finds.
    Program {
        /// The file.
        path: String,
        /// A fingerprint of its text: a mind goes on with the program it has, and no other.
        fingerprint: u64,
        /// SHA-256 of the program with all it includes, as it travels: any node can make the agent that has these bytes. `None`
        /// if it does not travel.
        code: Option<[u8; 32]>,
    },
    /// It is a Rust type, known to the platform by this name.
    Type(String),
    /// It is a WebAssembly module's.
    Module {
        /// The file.
        path: String,
        /// SHA-256 of the file: whoever has a module of this hash can make the agent.
        hash: [u8; 32],
    },
    /// It is a session's, and kept: it waits for its client.
    Kept {
        /// Whose it is: only they get it back.
        account: String,
    },
    /// It is a session's, and kept: the node runs it until its client is back.
    GoneOn {
        /// Whose it is.
        account: String,
        /// What becomes of it when it was with its client again.
        on_leave: OnLeave,
        /// Whether it held what it said there.
        holds: bool,
        /// Its code.
        code: Box<Origin>,
    },
}

/// What some turns of an agent came to.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Step {
    /// Whose.
    pub agent: Symbol,
    /// What it is now.
    pub state: State,
    /// The messages it handled, of those that have numbers.
    pub handled: Vec<Ticket>,
    /// The number of the first message it sent.
    pub first: u64,
    /// What it sent; each has the number after the one before it.
    pub sent: Vec<Sent>,
}

/// An agent's state, as its kind writes it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum State {
    /// As before.
    Same,
    /// All of it.
    Whole(Vec<u8>),
    /// What changed since the state before.
    Delta(Vec<u8>),
}

impl State {
    /// Bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Same => 0,
            Self::Whole(bytes) | Self::Delta(bytes) => bytes.len(),
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message that was handled: who sent it, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Ticket {
    /// Its sender.
    pub sender: Symbol,
    /// Its number.
    pub number: u64,
}

impl Ticket {
    /// That of a message.
    pub fn of(numbered: &Numbered) -> Self {
        Self { sender: numbered.message.sender.name, number: numbered.number }
    }

    /// Life of the sender's name in which the message was sent: see [`numbers_of_life`](super::numbers_of_life).
    pub fn life(&self) -> u64 {
        self.number >> LIFE_BITS
    }
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Sent {
    /// To whom.
    pub to: Aid,
    /// The message, as a document of the compact codec. Empty if it is not kept: its receiver writes nothing down, and it is
    /// sent once at most.
    pub message: Vec<u8>,
}

impl Sent {
    /// A message on its way to `to`, written down.
    ///
    /// # Errors
    /// Its content is nested too deeply.
    pub fn of(to: Aid, message: &AclMessage) -> Result<Self, EncodeError> {
        let mut bytes = Vec::new();
        compact::encode_message(message, &mut bytes)?;
        Ok(Self { to, message: bytes })
    }

    /// A message that is sent once at most.
    pub fn unkept(to: Aid) -> Self {
        Self { to, message: Vec::new() }
    }

    /// Whether it is sent again until its receiver has written down that it handled it.
    pub fn is_kept(&self) -> bool {
        !self.message.is_empty()
    }

    /// The message.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn message(&self) -> Result<AclMessage, DecodeError> {
        compact::decode_message(&self.message)
    }
}

impl Record {
    /// The agent it is about; no name if it is about a partition.
    pub fn agent(&self) -> Symbol {
        match self {
            Self::Lives { .. } | Self::Served { .. } => Symbol::default(),
            Self::Born(born) => born.agent,
            Self::Step(step) => step.agent,
            Self::Standing(standing) => standing.agent,
            Self::Settled { agent, .. }
            | Self::Stopped { agent, .. }
            | Self::Gone { agent, .. }
            | Self::Aged { agent, .. } => *agent,
        }
    }

    /// The latest life that it speaks of.
    pub(super) fn life(&self) -> u64 {
        self.highest() >> LIFE_BITS
    }

    /// The highest number of a message in it.
    fn highest(&self) -> u64 {
        match self {
            Self::Born(born) => born.after,
            Self::Step(step) => {
                let last = step.first.saturating_add(step.sent.len() as u64).saturating_sub(1);
                step.handled.iter().map(|ticket| ticket.number).fold(last, u64::max)
            }
            Self::Settled { numbers, .. } => numbers.iter().copied().max().unwrap_or_default(),
            Self::Stopped { .. } | Self::Served { .. } | Self::Aged { .. } => 0,
            Self::Gone { last, .. } | Self::Standing(Standing { last, .. }) => *last,
            Self::Lives { after } => *after,
        }
    }
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It was written by a release with another layout.
    #[error("the frame has layout {0}, this release reads layout {LAYOUT}")]
    Layout(u8),
    /// There is nothing.
    #[error("the frame is empty")]
    Empty,
    /// A message's number is one that no agent comes to.
    #[error("a message has the number {0}")]
    Number(u64),
    /// Its records cannot be read.
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

/// The records in a frame.
///
/// # Errors
/// The bytes are no frame, or would take too much memory.
pub fn decode_frame(bytes: &[u8]) -> Result<Vec<Record>, FrameError> {
    match bytes.split_first() {
        None => Err(FrameError::Empty),
        Some((&LAYOUT, body)) => {
            let limits = Limits::MESSAGE.with_budget_bytes(FRAME_MEMORY_BYTES_MAX);
            let records: Vec<Record> = compact::decode_body_as(body, limits)?;
            let highest = records.iter().map(Record::highest).max().unwrap_or_default();
            if highest > NUMBER_MAX { Err(FrameError::Number(highest)) } else { Ok(records) }
        }
        Some((layout, _)) => Err(FrameError::Layout(*layout)),
    }
}
