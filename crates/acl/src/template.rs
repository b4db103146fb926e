//! Templates for selective receive (JADE's `MessageTemplate`).

use crate::{AclMessage, Aid, Performative, Symbol, Text};

/// Filter for messages that an agent is ready to take. Combine filters with `&`, `|` and `!`:
///
/// ```
/// use whimbrel_acl::{Performative, Template};
/// let answers = (Template::performative(Performative::Propose) | Template::performative(Performative::Refuse))
///     & Template::conversation("cnp-1") & !Template::sender("eve".parse().unwrap());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Template {
    /// Any message.
    Any,
    /// This performative.
    Performative(Performative),
    /// This `:conversation-id`.
    Conversation(Text),
    /// This `:ontology`.
    Ontology(Symbol),
    /// This `:protocol`.
    Protocol(Symbol),
    /// This `:language`.
    Language(Symbol),
    /// This `:in-reply-to`.
    InReplyTo(Text),
    /// Sender of the message.
    Sender(Aid),
    /// This agent, topic or group is among the `:receiver`s.
    Receiver(Aid),
    /// Two templates that must both match.
    And(Box<Template>, Box<Template>),
    /// Either matches.
    Or(Box<Template>, Box<Template>),
    /// The other does not match.
    Not(Box<Template>),
}

impl Template {
    /// Messages with this performative.
    pub fn performative(performative: Performative) -> Self {
        Self::Performative(performative)
    }

    /// Messages of this conversation.
    pub fn conversation(id: impl Into<Text>) -> Self {
        Self::Conversation(id.into())
    }

    /// Messages that answer the one sent with this `:reply-with`.
    pub fn in_reply_to(id: impl Into<Text>) -> Self {
        Self::InReplyTo(id.into())
    }

    /// Messages in this ontology.
    pub fn ontology(name: impl Into<Symbol>) -> Self {
        Self::Ontology(name.into())
    }

    /// Messages of this interaction protocol.
    pub fn protocol(name: impl Into<Symbol>) -> Self {
        Self::Protocol(name.into())
    }

    /// Messages from this agent.
    pub fn sender(aid: Aid) -> Self {
        Self::Sender(aid)
    }

    /// Messages to this agent, topic or group.
    pub fn receiver(aid: Aid) -> Self {
        Self::Receiver(aid)
    }

    /// Checks whether `message` matches.
    pub fn matches(&self, message: &AclMessage) -> bool {
        match self {
            Self::Any => true,
            Self::Performative(performative) => message.performative == *performative,
            Self::Conversation(id) => message.extras().conversation_id.as_ref() == Some(id),
            Self::Ontology(name) => message.extras().ontology == Some(*name),
            Self::Protocol(name) => message.extras().protocol == Some(*name),
            Self::Language(name) => message.extras().language == Some(*name),
            Self::InReplyTo(id) => message.extras().in_reply_to.as_ref() == Some(id),
            Self::Sender(aid) => message.sender == *aid,
            Self::Receiver(aid) => message.receivers.contains(aid),
            Self::And(a, b) => a.matches(message) && b.matches(message),
            Self::Or(a, b) => a.matches(message) || b.matches(message),
            Self::Not(a) => !a.matches(message),
        }
    }
}

impl std::ops::BitAnd for Template {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::And(Box::new(self), Box::new(other))
    }
}

impl std::ops::BitOr for Template {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }
}

impl std::ops::Not for Template {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_combine() {
        let bob = Aid::local("bob");
        let mut message = AclMessage::new(Performative::Propose, bob, Aid::local("amy"), 10.0);
        message.extras_mut().conversation_id = Some("c1".into());
        let fits = |template: Template| template.matches(&message);
        assert!(fits(Template::Any));
        assert!(fits(Template::performative(Performative::Propose) & Template::conversation("c1")));
        assert!(!fits(Template::performative(Performative::Propose) & Template::conversation("c2")));
        assert!(fits(Template::performative(Performative::Refuse) | Template::sender(bob)));
        assert!(!fits(!Template::sender(bob)));
        assert!(!fits(Template::ontology("market")));
        assert!(fits(Template::receiver(Aid::local("amy"))) && !fits(Template::receiver(bob)));
    }
}
