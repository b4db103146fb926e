//! Dead letters: messages that cannot reach their receiver. They are kept for the operator, and their senders get
//! `failure`.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};
use smallvec::smallvec;
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Symbol, Value, sym};

use crate::Time;
use crate::limits::{DEAD_LETTERS_BYTES_MAX, DEAD_LETTERS_MAX};
use crate::topics::Cast;

/// Reason why a message cannot reach its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeadReason {
    /// Unknown receiver.
    UnknownAgent,
    /// Receiver that ended before it handled the message.
    AgentEnded,
    /// Full mailbox of the receiver.
    MailboxFull,
    /// Unreachable platform or node of the receiver.
    Unreachable,
    /// Message that cannot be sent over a link: it is too long, nested too deeply, or the other end cannot read it.
    Unsendable,
    /// Forged sender; no agent is told.
    Forged,
    /// Platform that stopped before the receiver handled the message.
    Stopped,
    /// Policy that does not let the sender write to the receiver.
    Forbidden,
    /// Group without members.
    NoMember,
}

impl DeadReason {
    /// Returns the reason as an atom: `unknown_agent`, `agent_ended`, `mailbox_full`, `unreachable`, `unsendable`,
    /// `forged`, `stopped`, `forbidden`, `no_member`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownAgent => "unknown_agent",
            Self::AgentEnded => "agent_ended",
            Self::MailboxFull => "mailbox_full",
            Self::Unreachable => "unreachable",
            Self::Unsendable => "unsendable",
            Self::Forged => "forged",
            Self::Stopped => "stopped",
            Self::Forbidden => "forbidden",
            Self::NoMember => "no_member",
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Message that did not reach its receiver.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// Number of dead letters before it.
    pub number: u64,
    /// Time when the message was given up.
    pub at: Time,
    /// Receiver.
    pub to: Aid,
    /// Message, with its sender.
    pub body: MessageBody,
    /// Reason.
    pub reason: DeadReason,
}

/// Newest dead letters of a node, [`DEAD_LETTERS_MAX`] of them and [`DEAD_LETTERS_BYTES_MAX`] at most, and the count of
/// all.
#[derive(Debug, Default)]
pub struct DeadLetters {
    /// Letters with the bytes of memory of each, roughly.
    kept: VecDeque<(DeadLetter, usize)>,
    bytes: usize,
    total: u64,
}

impl DeadLetters {
    /// Returns no dead letters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a message that cannot reach its receiver. Returns the `failure` for its sender, if one is due.
    pub fn bury(&mut self, at: Time, envelope: Envelope, reason: DeadReason) -> Option<AclMessage> {
        let failure = failure_for(&envelope, reason);
        let Envelope { to, body } = envelope;
        let bytes = body.footprint(DEAD_LETTERS_BYTES_MAX);
        // The newest is kept however long it is.
        while self.kept.len() >= DEAD_LETTERS_MAX || self.bytes + bytes > DEAD_LETTERS_BYTES_MAX {
            let Some((_, oldest)) = self.kept.pop_front() else { break };
            self.bytes -= oldest;
        }
        self.kept.push_back((DeadLetter { number: self.total, at, to, body, reason }, bytes));
        self.bytes += bytes;
        self.total += 1;
        failure
    }

    /// Returns the letters that are still kept, newest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &DeadLetter> {
        self.kept.iter().rev().map(|(letter, _)| letter)
    }

    /// Returns the number of dead letters since the node started, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Forgets the kept letters; the count stays.
    pub fn clear(&mut self) {
        self.kept = VecDeque::new();
        self.bytes = 0;
    }
}

/// Returns the `failure` for the sender of a dead letter, from the AMS, in the message's conversation. Its content is
/// the action that failed and the reason (FIPA00037 3.7): `[action(Sender, send(Receiver, Performative, Content)),
/// undelivered(Receiver, Reason)]`, agents and reason as atoms.
///
/// A `failure` is never answered by a `failure`, nor is any message of the AMS itself. A sender to a topic, or to all
/// of a group, does not learn of each receiver that is gone. It learns only of those to which it must not continue to
/// write.
//= fipa00037 3.7
pub fn failure_for(envelope: &Envelope, reason: DeadReason) -> Option<AclMessage> {
    let message = &*envelope.body;
    let ams = Aid::local(sym::AMS);
    let answers = matches!(message.performative, Performative::Failure | Performative::NotUnderstood);
    if answers || message.sender == ams || reason == DeadReason::Forged || is_of_no_concern(envelope, reason) {
        return None;
    }
    let mut failure = message.make_reply(ams, Performative::Failure);
    // `:reply-to` names the agents that get answers to the content; delivery concerns the sender.
    failure.receivers = smallvec![message.sender];
    let action = Value::term("action", [agent_atom(message.sender), sending(message, envelope.to)]);
    let undelivered = Value::term("undelivered", [agent_atom(envelope.to), Value::atom(reason.as_str())]);
    failure.content = Value::list([action, undelivered]);
    Some(failure)
}

/// Returns true for a copy of a message to many, whose receiver is gone.
fn is_of_no_concern(envelope: &Envelope, reason: DeadReason) -> bool {
    let to_many = matches!(Cast::behind(envelope), Some((Cast::Broadcast | Cast::Multicast, _)));
    to_many && matches!(reason, DeadReason::UnknownAgent | DeadReason::AgentEnded | DeadReason::Stopped)
}

/// Returns the sending of a message as an action: `send(Receiver, Performative, Content)`.
pub fn sending(message: &AclMessage, to: Aid) -> Value {
    let performative = Value::atom(Symbol::from(message.performative));
    Value::term("send", [agent_atom(to), performative, message.content.clone()])
}

/// Returns an agent as AgentSpeak knows it: the atom of its name, with its platform if that is another one.
pub fn agent_atom(agent: Aid) -> Value {
    if agent.platform == sym::EMPTY {
        return Value::atom(agent.name);
    }
    Value::atom(agent.to_string().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(performative: Performative, sender: &str) -> Envelope {
        let message = AclMessage::new(performative, Aid::local(sender), Aid::local("nobody"), Value::atom("hello"));
        Envelope { to: Aid::local("nobody"), body: MessageBody::Owned(Box::new(message)) }
    }

    #[test]
    fn dead_letter_fails_to_sender() {
        let mut letters = DeadLetters::new();
        let mut lost = envelope(Performative::Inform, "amy");
        if let MessageBody::Owned(message) = &mut lost.body {
            message.extras_mut().reply_with = Some("r1".into());
            message.extras_mut().reply_to.push(Aid::local("eve"));
        }
        let failure = letters.bury(Time::from_ms(3), lost, DeadReason::UnknownAgent).unwrap();
        assert_eq!(failure.performative, Performative::Failure);
        assert_eq!((failure.sender, failure.receivers.as_slice()), (Aid::local("ams"), [Aid::local("amy")].as_slice()));
        assert_eq!(failure.extras().in_reply_to.as_deref(), Some("r1"));
        assert_eq!(
            failure.content.to_string(),
            "[action(amy,send(nobody,inform,hello)),undelivered(nobody,unknown_agent)]"
        );
    }

    #[test]
    fn dead_failure_gets_no_failure() {
        let mut letters = DeadLetters::new();
        for (performative, sender) in
            [(Performative::Failure, "amy"), (Performative::NotUnderstood, "amy"), (Performative::Inform, "ams")]
        {
            assert_eq!(letters.bury(Time::ZERO, envelope(performative, sender), DeadReason::AgentEnded), None);
        }
        assert_eq!(letters.total(), 3);
    }

    #[test]
    fn oldest_letters_go_first() {
        let mut letters = DeadLetters::new();
        for _ in 0..DEAD_LETTERS_MAX + 10 {
            letters.bury(Time::ZERO, envelope(Performative::Failure, "amy"), DeadReason::MailboxFull);
        }
        let numbers: Vec<u64> = letters.iter().map(|letter| letter.number).collect();
        assert_eq!(numbers.len(), DEAD_LETTERS_MAX);
        assert_eq!((numbers.first(), numbers.last()), (Some(&(DEAD_LETTERS_MAX as u64 + 9)), Some(&10)));
    }
    #[test]
    fn letters_are_bounded_by_bytes() {
        let mut letters = DeadLetters::new();
        for _ in 0..400 {
            let mut lost = envelope(Performative::Inform, "amy");
            if let MessageBody::Owned(message) = &mut lost.body {
                message.content = Value::from("x".repeat(900_000));
            }
            letters.bury(Time::ZERO, lost, DeadReason::MailboxFull);
        }
        let numbers: Vec<u64> = letters.iter().map(|letter| letter.number).collect();
        assert_eq!((numbers.first(), letters.total()), (Some(&399), 400));
        let bytes = numbers.len() * 900_000;
        assert!((DEAD_LETTERS_BYTES_MAX - 1_000_000..DEAD_LETTERS_BYTES_MAX).contains(&bytes), "{bytes}");
        letters.clear();
        letters.bury(Time::ZERO, envelope(Performative::Inform, "amy"), DeadReason::MailboxFull);
        assert!((1..1_000).contains(&letters.bytes), "{}", letters.bytes);
    }
}
