//! Items that arrived over a link, on their way to the scheduler. Like messages in a row are one element.

use whimbrel_acl::{Aid, Envelope, MessageBody};
use whimbrel_platform::link::{ItemSink, LinkItem};

/// Maximal number of messages in a row: room for more is asked for each.
const ROW_MAX: usize = 1_024;

/// Items of a link, in order of arrival.
#[derive(Default)]
pub(crate) struct Arrived {
    all: Vec<ArrivedElement>,
    /// Number of items, each message of a row counted.
    count: usize,
}

/// An item, or a row of messages.
pub(crate) enum ArrivedElement {
    Item(LinkItem),
    Row(MessageRow),
}

/// Row: plain messages from one agent to another that differ in their contents only.
pub(crate) struct MessageRow {
    pub to: Aid,
    pub bodies: Vec<MessageBody>,
}

impl MessageRow {
    pub fn into_envelopes(self) -> impl Iterator<Item = Envelope> {
        let to = self.to;
        self.bodies.into_iter().map(move |body| Envelope { to, body })
    }
}

impl Arrived {
    /// Takes all elements, and their number of items.
    pub fn take(&mut self) -> (usize, Vec<ArrivedElement>) {
        let Self { all, count } = std::mem::take(self);
        (count, all)
    }

    /// Reuses the memory of taken elements.
    pub fn keep_room(&mut self, mut taken: Vec<ArrivedElement>) {
        taken.clear();
        self.all = taken;
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[cold]
    fn begin_row(&mut self, Envelope { to, body }: Envelope) {
        let bodies = match self.all.pop() {
            Some(ArrivedElement::Item(LinkItem::Message(first))) if first.body.is_plain() => vec![first.body, body],
            last => {
                self.all.extend(last);
                vec![body]
            }
        };
        self.all.push(ArrivedElement::Row(MessageRow { to, bodies }));
    }
}

impl ItemSink for Arrived {
    fn put(&mut self, item: LinkItem) {
        self.count += 1;
        self.all.push(ArrivedElement::Item(item));
    }

    fn put_alike(&mut self, envelope: Envelope) {
        if !envelope.body.is_plain() {
            return self.put(LinkItem::Message(envelope));
        }
        self.count += 1;
        match self.all.last_mut() {
            Some(ArrivedElement::Row(row)) if row.bodies.len() < ROW_MAX => row.bodies.push(envelope.body),
            _ => self.begin_row(envelope),
        }
    }

    fn count(&self) -> usize {
        self.count
    }

    fn last(&self) -> Option<&LinkItem> {
        match self.all.last()? {
            ArrivedElement::Item(item) => Some(item),
            ArrivedElement::Row(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Performative, Value};

    use super::*;

    fn message(content: impl Into<Value>) -> Envelope {
        let (amy, bob) = (Aid::local("amy"), Aid::local("bob"));
        let message = AclMessage::new(Performative::Inform, amy, bob, content);
        Envelope { to: bob, body: MessageBody::Owned(Box::new(message)).weighed() }
    }

    fn lengths(came: &[ArrivedElement]) -> Vec<usize> {
        came.iter().map(|came| if let ArrivedElement::Row(row) = came { row.bodies.len() } else { 0 }).collect()
    }

    #[test]
    fn alike_messages_form_a_row() {
        let mut arrived = Arrived::default();
        arrived.put(LinkItem::Tombstone);
        for row in [1, 4, ROW_MAX + 2] {
            arrived.put(LinkItem::Message(message(0)));
            (1..row).for_each(|number| arrived.put_alike(message(number as i64)));
        }
        assert_eq!(arrived.count(), 1 + 1 + 4 + ROW_MAX + 2);
        let (count, came) = arrived.take();
        assert_eq!((count, lengths(&came)), (ROW_MAX + 8, vec![0, 0, 4, ROW_MAX, 2]));
        let contents = came.into_iter().flat_map(|came| match came {
            ArrivedElement::Row(row) => row.into_envelopes().collect(),
            ArrivedElement::Item(item) => item.into_message().into_iter().collect::<Vec<_>>(),
        });
        let numbers: Vec<i64> = contents.filter_map(|envelope| envelope.body.content.as_i64()).collect();
        assert_eq!(numbers, [0..1, 0..4, 0..ROW_MAX as i64 + 2].into_iter().flatten().collect::<Vec<_>>());
        assert!(arrived.is_empty() && arrived.count() == 0);
    }

    #[test]
    fn bulky_messages_form_no_row() {
        let (mut arrived, bulky) = (Arrived::default(), || message(vec![7_u8; 10_000]));
        arrived.put(LinkItem::Message(bulky()));
        [message(1), message(2), bulky(), message(3)].into_iter().for_each(|envelope| arrived.put_alike(envelope));
        assert_eq!(lengths(&arrived.take().1), [0, 2, 0, 1]);
    }
}
