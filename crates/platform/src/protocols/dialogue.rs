//! Dialogue: one conversation of a protocol with one other agent.

use std::collections::VecDeque;

use whimbrel_acl::{AclMessage, Performative, Symbol, Text};

use super::table::{Protocol, ProtocolRole, START};
use crate::limits::QUESTIONS_MAX;

/// State of one conversation with one other agent, as `conformance/protocols/README.md` specifies it.
///
/// Inputs are what this agent says ([`say`](Self::say)), what the other one says ([`take`](Self::take)), and the time
/// ([`handle_timeout`](Self::handle_timeout)). Outputs are the verdict on each message, [`state`](Self::state), and the
/// next deadline ([`poll_timeout`](Self::poll_timeout)). An agent calls `say` before it sends a message, `take` for
/// each message that it receives, in their order, and `handle_timeout` when the deadline is there. A dialogue ends
/// once: after that, no input changes its state.
#[derive(Clone, Debug)]
pub struct Dialogue {
    protocol: &'static Protocol,
    role: ProtocolRole,
    state: &'static str,
    deadline_ms: Option<u64>,
    /// States that own messages and deadlines left since the last message that fitted, oldest first. Each is there
    /// once: a publisher may never receive another message.
    trail: Vec<TrailState>,
    /// Own messages that an answer may quote, oldest first, each with the state to which it led.
    /// At most [`QUESTIONS_MAX`] of them.
    questions: VecDeque<(Text, &'static str)>,
}

/// State that a dialogue left without a message of the other agent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TrailState {
    name: &'static str,
    ended_by_deadline: bool,
}

/// Message that an agent says or takes, as far as protocols are concerned.
#[derive(Clone, Debug)]
pub struct Saying {
    /// Communicative act.
    pub performative: Performative,
    /// `:reply-with`.
    pub reply_with: Option<Text>,
    /// `:in-reply-to`.
    pub in_reply_to: Option<Text>,
    /// `:reply-by`, in milliseconds since 1970.
    pub reply_by_ms: Option<u64>,
}

impl From<&AclMessage> for Saying {
    fn from(message: &AclMessage) -> Self {
        let extras = message.extras();
        Self {
            performative: message.performative,
            reply_with: extras.reply_with.clone(),
            in_reply_to: extras.in_reply_to.clone(),
            reply_by_ms: extras.reply_by_ms,
        }
    }
}

/// Verdict on a message that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageVerdict {
    /// Allowed: the dialogue is in the state that follows.
    Ok,
    /// Too late: nothing changes. The answer has this performative, if there is one.
    Late(Option<Performative>),
    /// Not allowed: the answer is `not-understood` with this text. A dialogue that was not over is broken.
    Wrong(String),
    /// Part of no dialogue, and beginning of none: the answer is `not-understood` with this text.
    Unknown(String),
}

impl MessageVerdict {
    /// Returns the verdict's name in the scripts of `conformance/protocols`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Late(_) => "late",
            Self::Wrong(_) => "wrong",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// Error: the protocol does not allow an agent to say this now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SayError(pub String);

impl Dialogue {
    /// Returns a dialogue in which nothing was said.
    pub fn new(protocol: &'static Protocol, role: ProtocolRole) -> Self {
        Self { protocol, role, state: START, deadline_ms: None, trail: Vec::new(), questions: VecDeque::new() }
    }

    /// Returns the protocol.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// Returns this agent's role.
    pub fn role(&self) -> ProtocolRole {
        self.role
    }

    /// Returns the name of the state.
    pub fn state(&self) -> &'static str {
        self.state
    }

    /// Returns true if one of the newest [`QUESTIONS_MAX`] own messages with a `:reply-with` had this one.
    pub fn has_asked(&self, reply_with: &Text) -> bool {
        self.questions.iter().any(|(id, _)| id == reply_with)
    }

    /// Returns true if the dialogue is over.
    pub fn is_over(&self) -> bool {
        self.protocol.is_end(self.state)
    }

    /// Returns the time of the deadline, in milliseconds since 1970.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.deadline_ms
    }

    /// Takes note of a message that this agent sends, after the deadline if that has passed.
    ///
    /// # Errors
    /// The protocol does not allow it: the message is not to be sent, and nothing changed, except that the deadline may
    /// have passed.
    pub fn say(&mut self, said: &Saying, now_ms: u64) -> Result<(), SayError> {
        self.handle_timeout(now_ms);
        let next = self.protocol.next(self.state, self.role, said.performative);
        let next = next.ok_or_else(|| SayError(self.explain(self.role, said.performative)))?;
        self.leave(false);
        if let Some(id) = &said.reply_with {
            self.ask(id, next);
        }
        self.enter(next, said.reply_by_ms);
        Ok(())
    }

    /// Takes a message of the other agent, or the AMS's report that a message did not reach that agent.
    pub fn take(&mut self, by: ProtocolRole, said: &Saying, now_ms: u64) -> MessageVerdict {
        self.handle_timeout(now_ms);
        let performative = said.performative;
        let next = |state: &str| self.protocol.next(state, by, performative);
        if self.state == BROKEN {
            return MessageVerdict::Late(None);
        }
        let was_allowed = self.trail.iter().any(|left| next(left.name).is_some());
        if let Some(asked) = self.older_question(said) {
            if was_allowed {
                return self.late(by, performative);
            }
            if next(asked).is_some() {
                return self.wrong(by, performative);
            }
        }
        if let Some(next) = next(self.state) {
            self.trail.clear();
            self.enter(next, said.reply_by_ms);
            return MessageVerdict::Ok;
        }
        if was_allowed || performative == Performative::NotUnderstood {
            return self.late(by, performative);
        }
        self.wrong(by, performative)
    }

    /// Handles the passing of time. Returns true if the deadline passed and the state changed.
    pub fn handle_timeout(&mut self, now_ms: u64) -> bool {
        if self.deadline_ms.is_none_or(|deadline| deadline > now_ms) {
            return false;
        }
        let deadline = self.protocol.states.get(self.state).and_then(|state| state.deadline.as_ref());
        let next = deadline.map_or(self.state, |deadline| deadline.to.as_str());
        self.leave(true);
        self.enter(next, None);
        true
    }

    fn ask(&mut self, id: &Text, state: &'static str) {
        if self.questions.len() >= QUESTIONS_MAX {
            self.questions.pop_front();
        }
        self.questions.push_back((id.clone(), state));
    }

    fn leave(&mut self, ended_by_deadline: bool) {
        let left = TrailState { name: self.state, ended_by_deadline };
        self.trail.retain(|earlier| *earlier != left);
        self.trail.push(left);
    }

    fn enter(&mut self, next: &'static str, reply_by_ms: Option<u64>) {
        self.state = next;
        let has_deadline = self.protocol.states.get(next).is_some_and(|state| state.deadline.is_some());
        self.deadline_ms = reply_by_ms.filter(|_| has_deadline);
    }

    /// Returns the state of the question that a message quotes, if that is not the newest question.
    fn older_question(&self, said: &Saying) -> Option<&'static str> {
        let quoted = said.in_reply_to.as_ref()?;
        let mut newest_first = self.questions.iter().rev();
        let (newest, _) = newest_first.next()?;
        let asked = newest_first.find(|(id, _)| id == quoted).filter(|_| newest != quoted);
        asked.map(|(_, state)| *state)
    }

    fn late(&self, by: ProtocolRole, performative: Performative) -> MessageVerdict {
        let allowed = |left: &&TrailState| self.protocol.next(left.name, by, performative).is_some();
        let Some(left) = self.trail.iter().rev().find(allowed) else { return MessageVerdict::Late(None) };
        let deadline = self.protocol.states.get(left.name).and_then(|state| state.deadline.as_ref());
        let answers = match deadline {
            Some(deadline) if left.ended_by_deadline => &deadline.late,
            None if left.ended_by_deadline => return MessageVerdict::Late(None),
            _ => &self.protocol.late,
        };
        let answer = answers.get(performative.as_str());
        MessageVerdict::Late(answer.map(|name| Performative::named(Symbol::new(name))))
    }

    fn wrong(&mut self, by: ProtocolRole, performative: Performative) -> MessageVerdict {
        let text = self.explain(by, performative);
        if !self.is_over() {
            self.trail.clear();
            self.enter(BROKEN, None);
        }
        MessageVerdict::Wrong(text)
    }

    /// Says what is allowed instead.
    pub(super) fn explain(&self, by: ProtocolRole, performative: Performative) -> String {
        let Self { protocol, state, .. } = self;
        let allowed = protocol.allowed(state, by).join(", ");
        let rule = match allowed.as_str() {
            "" => "nothing may be said any more".to_owned(),
            allowed => format!("{} may say {allowed}", protocol.role_name(by)),
        };
        format!("{}, {state}: {performative} is not allowed; {rule}", protocol.name)
    }
}

const BROKEN: &str = "broken";

#[cfg(test)]
mod tests {
    use super::*;

    fn saying(performative: Performative) -> Saying {
        Saying { performative, reply_with: None, in_reply_to: None, reply_by_ms: None }
    }

    fn publisher() -> Dialogue {
        let mut publisher = Dialogue::new(Protocol::known("fipa-subscribe"), ProtocolRole::Participant);
        let asked = publisher.take(ProtocolRole::Initiator, &saying(Performative::Subscribe), 0);
        assert_eq!(asked, MessageVerdict::Ok);
        publisher.say(&saying(Performative::Agree), 0).unwrap();
        publisher
    }

    #[test]
    fn publisher_does_not_grow() {
        let mut publisher = publisher();
        for _ in 0..1_000 {
            publisher.say(&saying(Performative::Inform), 0).unwrap();
        }
        assert_eq!(publisher.trail.len(), 2, "{:?}", publisher.trail);
    }

    #[test]
    fn oldest_questions_are_forgotten() {
        let mut publisher = publisher();
        let id = |number: usize| Text::from(number.to_string());
        for number in 1..=1_000 {
            publisher.say(&Saying { reply_with: Some(id(number)), ..saying(Performative::Inform) }, 0).unwrap();
        }
        assert_eq!(publisher.questions.len(), QUESTIONS_MAX);
        assert!(!publisher.has_asked(&id(1_000 - QUESTIONS_MAX)));
        assert!(publisher.has_asked(&id(1_001 - QUESTIONS_MAX)) && publisher.has_asked(&id(1_000)));
    }

    #[test]
    fn proposal_after_deadline_is_refused() {
        let mut bidder = Dialogue::new(Protocol::known("fipa-contract-net"), ProtocolRole::Participant);
        let call = Saying { reply_by_ms: Some(1_000), ..saying(Performative::Cfp) };
        assert_eq!(bidder.take(ProtocolRole::Initiator, &call, 0), MessageVerdict::Ok);
        let refused = bidder.say(&saying(Performative::Propose), 1_000).unwrap_err().to_string();
        assert_eq!(refused, "fipa-contract-net, silent: propose is not allowed; nothing may be said any more");
        assert_eq!(bidder.state(), "silent");
    }
}
