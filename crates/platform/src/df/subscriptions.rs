//! Who wants to be told of which entries.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, Symbol, Text, Value};

use super::DfDescription;
use super::index::{Index, Number, keys};

/// How a subscriber is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NoticeForm {
    /// Notices as in FIPA00023 4.1.4: an `inform` in the subscription's conversation, whose content is `[result(Action,
    /// set(Description, ...))]`, or `[Question = set(Description, ...)]` if the subscriber asked with an identifying
    /// expression. An entry that no longer matches comes with its name only.
    Fipa {
        /// The `inform` to send, its content left out.
        inform: Box<AclMessage>,
        /// Search action, or identifying expression, of the subscription. It is text in SL if the subscriber wrote it
        /// so, and is answered in SL.
        action: Value,
    },
    /// As AgentSpeak programs know it: an `inform` for each matching service of each agent, whose content is
    /// `provider(Agent, "Service")`. Departures are not told.
    Provider,
}

/// A standing search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// Who is told.
    pub subscriber: Aid,
    /// Of which entries.
    pub template: DfDescription,
    /// And how.
    pub form: NoticeForm,
}

impl Subscription {
    fn conversation(&self) -> Option<&Text> {
        match &self.form {
            NoticeForm::Fipa { inform, .. } => inform.extras().conversation_id.as_ref(),
            NoticeForm::Provider => None,
        }
    }
}

/// All standing searches, found by what an entry has and by subscriber.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    all: BTreeMap<Number, Subscription>,
    next: Number,
    /// Those whose template has a key, under the first one.
    by_key: Index,
    /// Those whose template has none.
    unkeyed: BTreeSet<Number>,
    by_subscriber: FxHashMap<Aid, Vec<Number>>,
}

impl Subscriptions {
    pub fn add(&mut self, subscription: Subscription) {
        let number = self.next;
        self.next += 1;
        match keys(&subscription.template).next() {
            Some(key) => self.by_key.add(key, number),
            None => drop(self.unkeyed.insert(number)),
        }
        self.by_subscriber.entry(subscription.subscriber).or_default().push(number);
        self.all.insert(number, subscription);
    }

    /// How many `subscriber` has.
    pub fn count_of(&self, subscriber: Aid) -> usize {
        self.by_subscriber.get(&subscriber).map_or(0, Vec::len)
    }

    /// Those of `subscriber`, oldest first.
    pub fn of(&self, subscriber: Aid) -> impl Iterator<Item = &Subscription> {
        self.by_subscriber.get(&subscriber).into_iter().flatten().filter_map(|number| self.all.get(number))
    }

    /// Removes those of `subscriber` that fit; tells how many.
    pub fn remove(&mut self, subscriber: Aid, fits: impl Fn(&Subscription) -> bool) -> usize {
        let Some(numbers) = self.by_subscriber.remove(&subscriber) else { return 0 };
        let (gone, kept): (Vec<_>, Vec<_>) =
            numbers.into_iter().partition(|number| self.all.get(number).is_none_or(&fits));
        if !kept.is_empty() {
            self.by_subscriber.insert(subscriber, kept);
        }
        for number in &gone {
            if let Some(subscription) = self.all.remove(number) {
                match keys(&subscription.template).next() {
                    Some(key) => self.by_key.remove(key, *number),
                    None => drop(self.unkeyed.remove(number)),
                }
            }
        }
        gone.len()
    }

    /// Removes that of this conversation.
    pub fn remove_conversation(&mut self, subscriber: Aid, conversation: Option<&Text>) -> usize {
        let fipa = |subscription: &Subscription| matches!(subscription.form, NoticeForm::Fipa { .. });
        self.remove(subscriber, |subscription| fipa(subscription) && subscription.conversation() == conversation)
    }

    /// Those that may match one of these descriptions, oldest first.
    pub fn concerned<'a>(&'a self, descriptions: [Option<&'a DfDescription>; 2]) -> Vec<&'a Subscription> {
        let keyed = descriptions.into_iter().flatten().flat_map(keys).flat_map(|key| self.by_key.with(key));
        let numbers: BTreeSet<Number> = keyed.chain(self.unkeyed.iter().copied()).collect();
        numbers.iter().filter_map(|number| self.all.get(number)).collect()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Subscription> {
        self.all.values()
    }
}

/// The content of a provider notice.
pub(super) fn provider(agent: Aid, service: Symbol) -> Value {
    Value::term("provider", [crate::dead_letters::agent_atom(agent), Value::from(service.as_str())])
}
