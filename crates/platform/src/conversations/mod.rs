//! What agents of a node said to each other, kept to be read later: a log of numbered entries.
//!
//! Each entry has the number after the one before it, as long as there is the log. A number is a cursor: who asks for what came
//! after it misses nothing and gets nothing twice; what is not there any more, or never came into the log, is told as a number
//! of messages. The log's frames hold some entries each ([`Passage`]): a byte for the layout, the number of the first entry, how
//! many there are, and the entries in the compact codec, whose readers go by the names of fields.
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

/// The first byte of a frame.
const LAYOUT: u8 = 1;
/// Bytes of what stands before the entries: the layout, the first number, the count.
const HEAD_BYTES: usize = 1 + 8 + 4;

/// An entry.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Logged {
    /// When, in microseconds since 1970-01-01 UTC, by the clock of the node's machine.
    pub at_us: u64,
    /// What.
    pub what: What,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum What {
    /// A message was sent.
    Sent(Said),
    /// A message cannot reach its receiver.
    Died {
        /// The message.
        said: Said,
        /// Why.
        why: String,
    },
    /// So many messages were left out: they came faster than they could be written.
    LeftOut {
        /// How many.
        count: u64,
    },
    /// A process goes on with the log.
    Begun {
        /// The one before it did not end in order: the last that was said there may be missing.
        cut_short: bool,
    },
    /// The process that kept the log ended in order: all that it was to write is written.
    Ended,
}

/// A message to one receiver.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Said {
    /// The receiver of this copy.
    pub to: Aid,
    /// The message, as a document of the compact codec.
    pub message: Vec<u8>,
}

impl Said {
    /// A message, written down. The content of one that is too long, or nested too deeply, is cut and becomes text.
    pub fn of(envelope: &Envelope) -> Self {
        let message = &*envelope.body;
        let fits = |bytes: &Vec<u8>| bytes.len() <= CONVERSATION_MESSAGE_BYTES_MAX;
        let bytes = document(message).filter(fits).or_else(|| {
            let content = Value::from(shortened(&message.content, CONVERSATION_CUT_CHARS));
            let AclMessage { performative, sender, receivers, extras, .. } = message.clone();
            let cut = AclMessage { performative, sender, receivers, content, extras };
            // Whoever sends makes up names of conversations, too, and may make them, and lists of receivers, as long as it likes.
            let bare = || AclMessage { extras: None, receivers: std::iter::once(envelope.to).collect(), ..cut.clone() };
            document(&cut).filter(fits).or_else(|| document(&bare()))
        });
        Self { to: envelope.to, message: bytes.unwrap_or_default() }
    }

    /// The message.
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
    /// Bytes of memory that it takes, roughly.
    pub fn size(&self) -> usize {
        let texts = match self {
            Self::Sent(said) => said.message.len(),
            Self::Died { said, why } => said.message.len() + why.len(),
            _ => 0,
        };
        size_of::<Logged>() + texts
    }
}

/// Entries that are written together.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The number of the first.
    pub first: u64,
    /// The entries; the second has the next number, and so on.
    pub entries: Vec<Logged>,
}

/// Why bytes are no passage.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PassageError {
    /// It was written by a release with another layout.
    #[error("the passage has layout {0}, this release reads layout {LAYOUT}")]
    Layout(u8),
    /// It is shorter than any.
    #[error("the passage is cut short")]
    Short,
    /// Its head says something else than its entries.
    #[error("the passage has {found} entries, not the {said} it says")]
    Count {
        /// What its head says.
        said: u32,
        /// How many there are.
        found: usize,
    },
    /// There is no number so high.
    #[error("the passage begins with the number {0}")]
    Number(u64),
    /// Its entries cannot be read.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
}

impl Passage {
    /// Appends the passage as a frame.
    ///
    /// # Errors
    /// An entry cannot be written: none of those of [`Said::of`].
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(LAYOUT);
        out.extend(self.first.to_le_bytes());
        out.extend((self.entries.len() as u32).to_le_bytes());
        compact::encode_body_of(&self.entries, out)
    }

    /// The passage in a frame.
    ///
    /// # Errors
    /// The bytes are none, or would take too much memory.
    pub fn decode(bytes: &[u8]) -> Result<Self, PassageError> {
        let (first, said) = Self::span(bytes)?;
        let limits = Limits::MESSAGE.with_budget_bytes(FRAME_MEMORY_BYTES_MAX);
        let entries: Vec<Logged> = compact::decode_body_as(bytes.get(HEAD_BYTES..).unwrap_or_default(), limits)?;
        let found = entries.len();
        if found == said as usize { Ok(Self { first, entries }) } else { Err(PassageError::Count { said, found }) }
    }

    /// The number of the first entry in a frame, and how many there are, without reading them.
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
