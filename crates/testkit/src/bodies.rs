//! Bodies for tests, in a line each.

use std::sync::{Arc, Mutex, PoisonError};

use whimbrel_acl::{AclMessage, MessageBody};
use whimbrel_platform::{AgentBody, Next, Time, Turn};

/// Returns a body that does `work` each turn.
pub fn turning(work: impl FnMut(&mut Turn<'_>) -> Next + Send + 'static) -> Box<dyn AgentBody> {
    Box::new(TurningBody(work))
}

struct TurningBody<F>(F);

impl<F: FnMut(&mut Turn<'_>) -> Next + Send> AgentBody for TurningBody<F> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        (self.0)(turn)
    }
}

/// Returns a body that does `work` for each message.
pub fn answering(work: impl FnMut(MessageBody, &mut Turn<'_>) + Send + 'static) -> Box<dyn AgentBody> {
    Box::new(AnsweringBody(work))
}

struct AnsweringBody<F>(F);

impl<F: FnMut(MessageBody, &mut Turn<'_>) + Send> AgentBody for AnsweringBody<F> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        for _ in 0..turn.budget {
            let Some(message) = turn.mailbox.take() else { return Next::Wait };
            (self.0)(message, turn);
        }
        if turn.mailbox.is_empty() { Next::Wait } else { Next::Ready }
    }
}

/// Keeps what the agent with its [`body`](Probe::body) gets. It can be copied: all copies keep in one place.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    messages: Arc<Mutex<Vec<AclMessage>>>,
}

impl Probe {
    /// Returns a probe that got nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a body that keeps its messages here.
    pub fn body(&self) -> Box<dyn AgentBody> {
        Box::new(self.clone())
    }

    /// Takes the messages kept, in order of arrival.
    pub fn take(&self) -> Vec<AclMessage> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the messages kept, each as `performative content`.
    pub fn take_lines(&self) -> Vec<String> {
        self.take().iter().map(|message| format!("{} {}", message.performative, message.content)).collect()
    }
}

impl AgentBody for Probe {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while let Some(message) = turn.mailbox.take() {
            self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(*message.into_message());
        }
        Next::Wait
    }

    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        Some(self.body())
    }
}
