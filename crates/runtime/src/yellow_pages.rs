//! Who offers which service on this node.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sym};

/// A service somebody offers, or asks for; an empty word in a question fits any.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    agent: Aid,
    service: Symbol,
    kind: Symbol,
}

impl Entry {
    fn answers(&self, question: &Self) -> bool {
        let fits = |asked: Symbol, offered: Symbol| asked == sym::EMPTY || asked == offered;
        fits(question.service, self.service) && fits(question.kind, self.kind)
    }
}

#[derive(Debug, Default)]
pub(crate) struct YellowPages {
    offers: Vec<Entry>,
    subscriptions: Vec<Entry>,
}

impl YellowPages {
    /// Registers an offer; what the subscribers are to be told.
    pub fn register(&mut self, agent: Aid, service: &str, kind: &str) -> Vec<AclMessage> {
        let offer = Entry { agent, service: service.into(), kind: kind.into() };
        if self.offers.contains(&offer) {
            return Vec::new();
        }
        let told = self.subscriptions.iter().filter(|s| offer.answers(s)).map(|s| news(s.agent, &offer)).collect();
        self.offers.push(offer);
        told
    }

    pub fn deregister(&mut self, agent: Aid, service: &str, kind: &str) {
        let question = Entry { agent, service: service.into(), kind: kind.into() };
        self.offers.retain(|offer| offer.agent != agent || !offer.answers(&question));
    }

    pub fn search(&self, service: &str, kind: &str) -> Vec<Aid> {
        let question = Entry { agent: Aid::local(sym::EMPTY), service: service.into(), kind: kind.into() };
        let mut found = Vec::new();
        for offer in self.offers.iter().filter(|offer| offer.answers(&question)) {
            if !found.contains(&offer.agent) {
                found.push(offer.agent);
            }
        }
        found
    }

    /// Subscribes; what the subscriber is to be told at once.
    pub fn subscribe(&mut self, agent: Aid, service: &str, kind: &str) -> Vec<AclMessage> {
        let question = Entry { agent, service: service.into(), kind: kind.into() };
        let told = self.offers.iter().filter(|offer| offer.answers(&question)).map(|o| news(agent, o)).collect();
        self.subscriptions.push(question);
        told
    }

    /// Forgets an agent that ended.
    pub fn forget(&mut self, agent: Aid) {
        self.offers.retain(|entry| entry.agent != agent);
        self.subscriptions.retain(|entry| entry.agent != agent);
    }
}

fn news(to: Aid, offer: &Entry) -> AclMessage {
    let content = Value::term("provider", [Value::atom(offer.agent.name), Value::from(offer.service.as_str())]);
    AclMessage::new(Performative::Inform, Aid::local(sym::DF), to, content)
}
