//! Batches: messages with their receivers, and news, in the order in which they were put on the link.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use self::read::read_items;
pub(super) use self::read::read_shares;
pub(super) use self::write::BatchWriter;
use super::codec::MessageError;
use super::wire::FrameError;
use crate::limits::{LINK_BATCH_SHARES_MAX, LINK_BATCH_TAGS_MAX};

/// Reason why a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// Malformed number.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Malformed message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Malformed news.
    #[error("unreadable news")]
    News,
    /// Receivers that the message does not have, or too many.
    #[error("receivers that are not among the message's")]
    Receivers,
    /// More items than any node writes into a batch.
    #[error(
        "more than {LINK_BATCH_TAGS_MAX} items in a batch, or more than {LINK_BATCH_SHARES_MAX} receivers that share a message with another"
    )]
    TooMany,
    /// Item with names that the peer may not make this node keep ([`whimbrel_acl::NameAllowance`]).
    #[error("too many new names: this node keeps no more of this peer's")]
    NewNames,
}

pub(super) const TAG_NEWS: u64 = 0;
/// Message for all its receivers.
pub(super) const TAG_ALL: u64 = 1;
/// Message for some of its receivers: their number, then their indexes.
pub(super) const TAG_SOME: u64 = 2;
/// Message for agents that are not among its receivers: their number, then their names.
pub(super) const TAG_OTHERS: u64 = 3;
pub(super) const TAG_VOID: u64 = 4;
/// No item: the reader forgets what the connection's messages had in common.
pub(super) const TAG_FORGET: u64 = 5;
/// Number and replay round of the message that follows, then its receivers as above.
pub(super) const TAG_NUMBERED: u64 = 6;
/// Mark of a message that is passed on for an agent that left.
pub(super) const TAG_FORWARDED: u64 = 7;

/// Message like the one before, except for its content, which follows.
pub(super) const TAG_ALIKE: u64 = 8;
