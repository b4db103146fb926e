//! Spare messages: memory of received messages, reused for those that are sent in the same turn. Most agents answer
//! their messages, some of them two at once.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Structure};

/// Spare messages and contents.
#[derive(Debug, Default)]
pub struct Spares {
    messages: Two<Box<AclMessage>>,
    contents: Two<Arc<Structure>>,
}

impl Spares {
    /// Retains a message without its content.
    #[inline]
    pub fn keep_message(&mut self, message: Box<AclMessage>) {
        self.messages.keep(message);
    }

    /// Retains the content of a message. Others may hold it, too.
    #[inline]
    pub fn keep_content(&mut self, content: Arc<Structure>) {
        self.contents.keep(content);
    }

    /// Returns a spare message.
    #[inline]
    pub fn message(&mut self) -> Option<Box<AclMessage>> {
        self.messages.take()
    }

    /// Returns a spare content that has no other holder.
    #[inline]
    pub fn content(&mut self) -> Option<Arc<Structure>> {
        self.contents.take()
    }
}

/// Up to two of a kind; the last one is returned first.
#[derive(Debug)]
struct Two<T> {
    last: Option<T>,
    before: Option<T>,
}

impl<T> Default for Two<T> {
    fn default() -> Self {
        Self { last: None, before: None }
    }
}

impl<T> Two<T> {
    #[inline]
    fn keep(&mut self, one: T) {
        if let Some(last) = self.last.replace(one) {
            self.before = Some(last);
        }
    }

    #[inline]
    fn take(&mut self) -> Option<T> {
        self.last.take().or_else(|| self.before.take())
    }
}
