//! Conversations of a node's agents, kept to be read later: a log of numbered entries.
//!
//! Each entry has the number after the one before it, as long as the log exists. A number is a cursor: a reader that
//! asks for entries after it misses nothing and gets nothing twice. Entries that are gone, or never came into the log,
//! are told as a number of messages. Each frame of the log is a [`Passage`] of some entries. It has a layout byte, the
//! number of the first entry, the number of entries, and the entries. Entries are in the compact codec, whose readers
//! go by the names of fields.
//!
//! Nothing here knows of files: `whimbrel_store` keeps the frames in a journal.

mod text;
mod wanted;

use whimbrel_acl::compact::{self, Decode, DecodeError, Encode, EncodeError, Limits};
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Value};

pub use self::text::shortened;
pub use self::wanted::{Wanted, spelled_alike};
use crate::limits::{
    CONVERSATION_CUT_CHARS, CONVERSATION_MESSAGE_BYTES_MAX, CONVERSATION_PASSAGE_ENTRIES_MAX, FRAME_MEMORY_BYTES_MAX,
};

/// First byte of a frame: its layout.
const LAYOUT: u8 = 1;
/// Bytes before the entries: the layout, the first number, the count.
const HEAD_BYTES: usize = 1 + 8 + 4;

/// Entry of the log.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Logged {
    /// Time in microseconds since 1970-01-01 UTC, by the clock of the node's machine.
    pub at_us: u64,
    /// Event.
    pub what: What,
}

/// Event of an entry.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum What {
    /// Message that was sent.
    Sent(LoggedMessage),
    /// Message that cannot reach its receiver.
    Died {
        /// Message.
        said: LoggedMessage,
        /// Reason.
        why: String,
    },
    /// Messages that were left out, because they came faster than they could be written.
    LeftOut {
        /// Number of messages.
        count: u64,
    },
    /// Process that continues the log.
    Begun {
        /// Disorderly end of the process before this one: its last messages may be missing.
        cut_short: bool,
    },
    /// Orderly end of the process that kept the log: everything is written.
    Ended,
}

/// Message to one receiver.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[compact(name = "Said")]
pub struct LoggedMessage {
    /// Receiver of this copy.
    pub to: Aid,
    /// Message, as a document of the compact codec.
    pub message: Vec<u8>,
}

impl LoggedMessage {
    /// Returns the record of a message. The content of one that is too long, or nested too deeply, is cut and becomes
    /// text.
    pub fn of(envelope: &Envelope) -> Self {
        let message = &*envelope.body;
        let fits = |bytes: &Vec<u8>| bytes.len() <= CONVERSATION_MESSAGE_BYTES_MAX;
        let bytes = document(message).filter(fits).or_else(|| {
            let content = Value::from(shortened(&message.content, CONVERSATION_CUT_CHARS));
            let AclMessage { performative, sender, receivers, extras, .. } = message.clone();
            let cut = AclMessage { performative, sender, receivers, content, extras };
            // Senders make up names of conversations and lists of receivers, of any length.
            let bare = || AclMessage { extras: None, receivers: std::iter::once(envelope.to).collect(), ..cut.clone() };
            document(&cut).filter(fits).or_else(|| document(&bare()))
        });
        Self { to: envelope.to, message: bytes.unwrap_or_default() }
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn envelope(&self) -> Result<Envelope, DecodeError> {
        let message = compact::decode_message(&self.message)?;
        Ok(Envelope { to: self.to, body: MessageBody::Owned(Box::new(message)) })
    }
}

fn document(message: &AclMessage) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    compact::encode_message(message, &mut bytes).ok().map(|()| bytes)
}

impl What {
    /// Returns the bytes of memory that it takes, roughly.
    pub fn size(&self) -> usize {
        let texts = match self {
            Self::Sent(said) => said.message.len(),
            Self::Died { said, why } => said.message.len() + why.len(),
            _ => 0,
        };
        size_of::<Logged>() + texts
    }
}

/// Passage of the log: entries that are written together.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Number of the first entry.
    pub first: u64,
    /// Entries; the second has the next number, and so on.
    pub entries: Vec<Logged>,
}

/// Reason why bytes are no passage.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PassageError {
    /// Layout of another release.
    #[error("log frame of layout {0}: this release reads layout {LAYOUT}")]
    Layout(u8),
    /// Bytes too short for any passage.
    #[error("log frame is cut short")]
    Short,
    /// Head that does not match the entries.
    #[error("log frame has {found} entries, and announces {said}")]
    Count {
        /// Number of entries in the head.
        said: u32,
        /// Number of entries.
        found: usize,
    },
    /// Number that is too high.
    #[error("log frame begins with number {0}")]
    Number(u64),
    /// Entries that cannot be read.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
}

impl Passage {
    /// Appends the passage as a frame.
    ///
    /// # Errors
    /// An entry cannot be encoded; those of [`LoggedMessage::of`] always can.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(LAYOUT);
        out.extend(self.first.to_le_bytes());
        out.extend((self.entries.len() as u32).to_le_bytes());
        compact::encode_body_of(&self.entries, out)
    }

    /// Decodes the passage in a frame.
    ///
    /// # Errors
    /// The bytes are no passage, or would take too much memory.
    pub fn decode(bytes: &[u8]) -> Result<Self, PassageError> {
        let (first, said) = Self::span(bytes)?;
        let limits = Limits::MESSAGE.with_budget_bytes(FRAME_MEMORY_BYTES_MAX);
        let entries: Vec<Logged> = compact::decode_body_as(bytes.get(HEAD_BYTES..).unwrap_or_default(), limits)?;
        let found = entries.len();
        if found == said as usize { Ok(Self { first, entries }) } else { Err(PassageError::Count { said, found }) }
    }

    /// Returns the number of the first entry in a frame, and the number of entries, without decoding them.
    ///
    /// # Errors
    /// The bytes are no passage.
    pub fn span(bytes: &[u8]) -> Result<(u64, u32), PassageError> {
        match bytes.first() {
            None => return Err(PassageError::Short),
            Some(&LAYOUT) => {}
            Some(layout) => return Err(PassageError::Layout(*layout)),
        }
        let head = bytes.get(1..HEAD_BYTES).ok_or(PassageError::Short)?;
        let (first, count) = head.split_at_checked(8).ok_or(PassageError::Short)?;
        let first = u64::from_le_bytes(first.try_into().map_err(|_| PassageError::Short)?);
        let count = u32::from_le_bytes(count.try_into().map_err(|_| PassageError::Short)?);
        if count as usize > CONVERSATION_PASSAGE_ENTRIES_MAX {
            return Err(PassageError::Count { said: count, found: CONVERSATION_PASSAGE_ENTRIES_MAX });
        }
        let is_possible = first > 0 && first.checked_add(u64::from(count)).is_some();
        if is_possible { Ok((first, count)) } else { Err(PassageError::Number(first)) }
    }
}
