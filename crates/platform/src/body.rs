//! The port every kind of agent implements: native, AgentSpeak, WebAssembly, a browser's session.

use std::collections::VecDeque;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Template};

use crate::{Services, Time};

/// What runs in an agent's slot. The scheduler gives it turns; in between it is only data.
pub trait AgentBody: Send {
    /// Runs until there is nothing to do or the budget is spent. The first turn comes without a message.
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next;

    /// The whole state as bytes, between two turns; `None` if this kind of agent cannot be written out.
    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        None
    }

    /// A second agent of the same code and state; `None` if this kind of agent cannot be cloned.
    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        None
    }

    /// Called once when the agent ends by another's will (killed, platform stopping) instead of its own.
    fn stopping(&mut self, _turn: &mut Turn<'_>) {}
}

/// What an agent sees and can do during one turn.
pub struct Turn<'a> {
    /// The agent whose turn it is.
    pub aid: Aid,
    /// The time at the start of the turn.
    pub now: Time,
    /// Its messages, in order of arrival.
    pub mailbox: &'a mut Mailbox,
    /// What it sends; routed when the turn ends.
    pub outbox: &'a mut Outbox,
    /// Steps it may take this turn: messages handled, reasoning cycles.
    pub budget: u32,
    /// The platform.
    pub services: &'a dyn Services,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Nothing to do until a message comes.
    Wait,
    /// Nothing to do until a message comes, or until this moment.
    WaitUntil(Time),
    /// More to do: the next turn comes when the other agents had theirs.
    Ready,
    /// The agent is done and leaves the platform.
    End(EndReason),
}

/// Why an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// It finished by its own will.
    Finished,
    /// It was killed, or the platform stopped.
    Killed,
    /// It failed (a panic or an error it gave up on), for this reason.
    Failed(String),
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Finished => f.write_str("finished"),
            Self::Killed => f.write_str("killed"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
        }
    }
}

/// The messages an agent has not handled yet.
#[derive(Debug, Default)]
pub struct Mailbox {
    queue: VecDeque<MessageBody>,
}

impl Mailbox {
    /// Adds a message that arrived.
    pub fn push(&mut self, message: MessageBody) {
        self.queue.push_back(message);
    }

    /// Takes the oldest message.
    pub fn take(&mut self) -> Option<MessageBody> {
        self.queue.pop_front()
    }

    /// Takes the oldest message that fits, leaving the others in their order.
    pub fn take_matching(&mut self, template: &Template) -> Option<MessageBody> {
        let index = self.queue.iter().position(|message| template.matches(message))?;
        self.queue.remove(index)
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The waiting messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &MessageBody> {
        self.queue.iter()
    }

    /// Gives memory back that an idle agent does not need.
    pub fn shrink(&mut self) {
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }
}

/// What an agent sends during a turn.
#[derive(Debug, Default)]
pub struct Outbox {
    envelopes: Vec<Envelope>,
}

impl Outbox {
    /// Sends `message` to each of its receivers.
    pub fn send(&mut self, message: impl Into<Box<AclMessage>>) {
        let envelopes = &mut self.envelopes;
        Envelope::for_each_receiver(message.into(), |envelope| envelopes.push(envelope));
    }

    /// Takes what was sent, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Envelope> + '_ {
        self.envelopes.drain(..)
    }

    /// Whether nothing was sent.
    pub fn is_empty(&self) -> bool {
        self.envelopes.is_empty()
    }
}
