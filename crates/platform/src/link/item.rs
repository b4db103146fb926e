//! Items of a link: messages and news, each of which arrives once and in order.

use whimbrel_acl::Envelope;

use super::News;

/// Item that travels on a link exactly once and in order.
#[derive(Clone, Debug)]
pub enum LinkItem {
    /// Message to an agent.
    Message(Envelope),
    /// Message to an agent that left the sending node for the receiving one. The message had come to the sending node
    /// first, whoever sent it.
    Forwarded(Envelope),
    /// News from one node to the other.
    News(Box<News>),
    /// Place of a message that cannot be encoded: keeps the numbering.
    Tombstone,
}

impl LinkItem {
    /// Returns true for a message.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Forwarded(_))
    }

    /// Returns the message, if the item is one.
    pub fn into_message(self) -> Option<Envelope> {
        match self {
            Self::Message(envelope) | Self::Forwarded(envelope) => Some(envelope),
            Self::News(_) | Self::Tombstone => None,
        }
    }
}

/// Sink for items that arrive, in order.
pub trait ItemSink {
    /// Puts an item in.
    fn put(&mut self, item: LinkItem);

    /// Puts in a message that differs from the item before in its content alone: both are messages with the same sender
    /// and receiver.
    fn put_alike(&mut self, envelope: Envelope) {
        self.put(LinkItem::Message(envelope));
    }

    /// Returns the number of items put in.
    fn count(&self) -> usize;

    /// Returns the last item, unless it was [alike](ItemSink::put_alike) the one before.
    fn last(&self) -> Option<&LinkItem>;
}

impl ItemSink for Vec<LinkItem> {
    fn put(&mut self, item: LinkItem) {
        self.push(item);
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn last(&self) -> Option<&LinkItem> {
        self.as_slice().last()
    }
}
