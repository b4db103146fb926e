//! Outbox of a turn: the messages that an agent sends.

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, sym};

use crate::limits::MESSAGE_WEIGHED_BYTES;

/// Row of adjacent messages for the same receiver, all of which the callee takes.
pub type Row<'a, 'outbox> = std::iter::Take<&'a mut std::vec::Drain<'outbox, MessageBody>>;

/// Outbox: the messages that an agent sends during a turn. Most turns send one message at most, so the first has its
/// place here.
///
/// Receivers and messages are kept apart, so that each is copied by itself. To copy both at once, the processor would
/// have to wait for the stores that wrote them one by one. That took a third of the time of a busy agent's turn.
#[derive(Debug)]
pub struct Outbox {
    first_to: Aid,
    first: Option<MessageBody>,
    rest_to: Vec<Aid>,
    rest: Vec<MessageBody>,
    /// True if some of the rest may not be plain.
    mixed: bool,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { first_to: Aid::local(sym::EMPTY), first: None, rest_to: Vec::new(), rest: Vec::new(), mixed: false }
    }
}

impl Outbox {
    /// Sends `message` to each of its receivers.
    #[inline]
    pub fn send(&mut self, message: impl Into<Box<AclMessage>>) {
        Envelope::for_each_receiver(message.into(), |envelope| self.push(envelope.to, envelope.body));
    }

    /// Sends a message that came from outside in this many bytes, from a client or a guest. It is
    /// [weighed](MessageBody::weighed) if it may be bulky.
    pub fn send_of(&mut self, message: impl Into<Box<AclMessage>>, bytes: usize) {
        if bytes < MESSAGE_WEIGHED_BYTES {
            return self.send(message);
        }
        Envelope::for_each_receiver_weighed(message.into(), |envelope| {
            self.mixed |= !envelope.body.is_plain();
            self.push(envelope.to, envelope.body);
        });
    }

    #[inline]
    fn push(&mut self, to: Aid, body: MessageBody) {
        // The outbox is always emptied whole, so an empty first place means that all is empty.
        if self.first.is_some() {
            self.rest_to.push(to);
            self.rest.push(body);
            return;
        }
        self.first_to = to;
        // The place is known to be empty: nothing to drop.
        std::mem::forget(self.first.replace(body));
    }

    /// Takes all messages, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Envelope> + '_ {
        let first = self.first.take().map(|body| Envelope { to: self.first_to, body });
        let rest = self.rest_to.drain(..).zip(self.rest.drain(..)).map(|(to, body)| Envelope { to, body });
        first.into_iter().chain(rest)
    }

    /// Takes the first message, if any. The caller takes the [rest](Outbox::take_rest), too.
    #[inline]
    pub fn take_first(&mut self) -> Option<(Aid, MessageBody)> {
        let body = self.first.take()?;
        Some((self.first_to, body))
    }

    /// Returns true if more than one message was sent.
    #[inline]
    pub fn has_rest(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Returns true if some message after the first one may not be [plain](MessageBody::is_plain).
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Gives all messages after the first one to `to`, in order: each receiver with all adjacent messages for it.
    pub fn take_rest(&mut self, mut to: impl FnMut(Aid, Row<'_, '_>)) {
        self.mixed = false;
        let mut bodies = self.rest.drain(..);
        for row in self.rest_to.chunk_by(|a, b| a == b) {
            if let Some(receiver) = row.first() {
                to(*receiver, bodies.by_ref().take(row.len()));
            }
        }
        drop(bodies);
        self.rest_to.clear();
    }

    /// Returns the receiver of the first message.
    #[inline]
    pub fn first_receiver(&self) -> Option<Aid> {
        self.first.is_some().then_some(self.first_to)
    }

    /// Returns true if nothing was sent.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Performative, Value};

    use super::*;

    fn number(n: i64) -> MessageBody {
        let (from, to) = (Aid::local("body-a"), Aid::local("body-b"));
        MessageBody::Owned(Box::new(AclMessage::new(Performative::Inform, from, to, Value::Int(n))))
    }

    fn numbers<'a>(mailbox: impl Iterator<Item = &'a MessageBody>) -> Vec<i64> {
        mailbox.map(|message| if let Value::Int(n) = message.content { n } else { -1 }).collect()
    }

    #[test]
    fn outbox_keeps_order() {
        let mut outbox = Outbox::default();
        for round in 0..3 {
            for n in 0..round {
                outbox.send(number(n).into_message());
            }
            let mut sent = Vec::new();
            if let Some((_, body)) = outbox.take_first() {
                sent.push(body);
                outbox.take_rest(|_, row| sent.extend(row));
            }
            assert_eq!(numbers(sent.iter()), (0..round).collect::<Vec<_>>());
            assert!(outbox.is_empty());
        }
        outbox.send(number(7).into_message());
        outbox.send(number(8).into_message());
        assert_eq!(outbox.drain().count(), 2);
    }
}
