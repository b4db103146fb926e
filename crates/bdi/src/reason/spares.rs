//! What is left of messages that were taken in: memory for those that go out in the same turn. Most agents answer what they are
//! told, some of them two messages at once.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Structure};

/// Messages and contents to be used again.
#[derive(Debug, Default)]
pub struct Spares {
    messages: Two<Box<AclMessage>>,
    contents: Two<Arc<Structure>>,
}

impl Spares {
    /// Keeps a message without its content.
    #[inline]
    pub fn keep_message(&mut self, message: Box<AclMessage>) {
        self.messages.keep(message);
    }

    /// Keeps what was the content of a message. Others may have it, too.
    #[inline]
    pub fn keep_content(&mut self, content: Arc<Structure>) {
        self.contents.keep(content);
    }

    /// A message to be used again.
    #[inline]
    pub fn message(&mut self) -> Option<Box<AclMessage>> {
        self.messages.take()
    }

    /// A content to be used again, if nobody else has it.
    #[inline]
    pub fn content(&mut self) -> Option<Arc<Structure>> {
        self.contents.take()
    }
}

/// Up to two of a kind, the last one given out first.
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
