//! Filters of messages.

use serde::{Deserialize, Serialize};
use whimbrel_acl::Envelope;

use crate::ams::name_fits;

/// Filter of messages. Unset fields match any; in patterns `*` stands for any text and `?` for any one character.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Pattern of the conversation.
    pub conversation: Option<String>,
    /// Performatives, of which one must match.
    pub performatives: Vec<String>,
    /// Patterns of the sender, of which one must match.
    pub from: Vec<String>,
    /// Patterns of the receiver, of which one must match.
    pub to: Vec<String>,
    /// Earliest time, in microseconds since 1970-01-01 UTC.
    pub since_us: u64,
}

impl Wanted {
    /// Returns true if the filter accepts a message that was sent at this time.
    pub fn takes(&self, at_us: u64, envelope: &Envelope) -> bool {
        let message = &envelope.body;
        let fits = |patterns: &[String], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| name_fits(pattern, name))
        };
        let performative = |wanted: &String| spelled_alike(wanted, message.performative.as_str());
        let conversation = |pattern: &String| {
            message.extras().conversation_id.as_ref().is_some_and(|conversation| name_fits(pattern, conversation))
        };
        at_us >= self.since_us
            && (self.performatives.is_empty() || self.performatives.iter().any(performative))
            && self.conversation.as_ref().is_none_or(conversation)
            && fits(&self.from, message.sender.name.as_str())
            && fits(&self.to, envelope.to.name.as_str())
    }
}

/// Returns true if two names mean the same performative: FIPA writes `accept-proposal`, AgentSpeak `accept_proposal`;
/// some write capitals.
pub fn spelled_alike(a: &str, b: &str) -> bool {
    let letter = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
    a.chars().map(letter).eq(b.chars().map(letter))
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative};

    use super::*;

    #[track_caller]
    fn check(wanted: Wanted, expected: bool) {
        let (buyer, seller) = (Aid::local("buyer"), Aid::local("seller"));
        let message = AclMessage::new(Performative::AcceptProposal, buyer, seller, "tea").in_conversation("deal-7");
        let envelope = Envelope { to: seller, body: MessageBody::Owned(Box::new(message)) };
        assert_eq!(wanted.takes(7, &envelope), expected, "{wanted:?}");
    }

    #[test]
    fn filter_checks_all_set_fields() {
        let some = |text: &str| vec!["nobody".to_owned(), text.to_owned()];
        let any = Wanted::default;
        check(any(), true);
        check(Wanted { conversation: Some("deal-?".to_owned()), ..any() }, true);
        check(Wanted { conversation: Some("deal".to_owned()), ..any() }, false);
        check(Wanted { performatives: some("ACCEPT_proposal"), ..any() }, true);
        check(Wanted { performatives: some("accept"), ..any() }, false);
        check(Wanted { from: some("buy*"), to: some("seller"), ..any() }, true);
        check(Wanted { from: some("seller"), ..any() }, false);
        check(Wanted { from: some("buyer"), to: some("buyer"), ..any() }, false);
        check(Wanted { since_us: 7, ..any() }, true);
        check(Wanted { since_us: 8, ..any() }, false);
    }
}
