//! Subscriptions to entries.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, Symbol, Text, Value};

use super::DfDescription;
use super::index::{Index, Number, keys};

/// Form of a subscriber's notices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NoticeForm {
    /// Notices as in FIPA00023 4.1.4: an `inform` in the subscription's conversation. Its content is `[result(Action,
    /// set(Description, ...))]`, or `[Question = set(Description, ...)]` if the subscriber asked with an identifying
    /// expression. An entry that no longer matches comes with its name only.
    Fipa {
        /// `inform` to send, without its content.
        inform: Box<AclMessage>,
        /// Search action, or identifying expression, of the subscription. It is text in SL if the subscriber wrote it
        /// so, and is answered in SL.
        action: Value,
    },
    /// Notices for AgentSpeak programs: an `inform` for each matching service of each agent, whose content is
    /// `provider(Agent, "Service")`. Departures are not told.
    Provider,
}

/// Subscription: a search that stands until it is cancelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// Agent that is told.
    pub subscriber: Aid,
    /// Template of the entries.
    pub template: DfDescription,
    /// Form of the notices.
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

/// Subscriptions, found by the keys of an entry and by subscriber.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    all: BTreeMap<Number, Subscription>,
    next: Number,
    /// Subscriptions whose template has a key, under the first one.
    by_key: Index,
    /// Subscriptions whose template has no key.
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

    /// Returns the number of the subscriptions of `subscriber`.
    pub fn count_of(&self, subscriber: Aid) -> usize {
        self.by_subscriber.get(&subscriber).map_or(0, Vec::len)
    }

    /// Returns the subscriptions of `subscriber`, the oldest first.
    pub fn of(&self, subscriber: Aid) -> impl Iterator<Item = &Subscription> {
        self.by_subscriber.get(&subscriber).into_iter().flatten().filter_map(|number| self.all.get(number))
    }

    /// Removes the subscriptions of `subscriber` that fit. Returns their number.
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

    /// Removes the subscription of this conversation.
    pub fn remove_conversation(&mut self, subscriber: Aid, conversation: Option<&Text>) -> usize {
        let fipa = |subscription: &Subscription| matches!(subscription.form, NoticeForm::Fipa { .. });
        self.remove(subscriber, |subscription| fipa(subscription) && subscription.conversation() == conversation)
    }

    /// Returns the subscriptions that may match one of these descriptions, the oldest first.
    pub fn concerned<'a>(&'a self, descriptions: [Option<&'a DfDescription>; 2]) -> Vec<&'a Subscription> {
        let keyed = descriptions.into_iter().flatten().flat_map(keys).flat_map(|key| self.by_key.with(key));
        let numbers: BTreeSet<Number> = keyed.chain(self.unkeyed.iter().copied()).collect();
        numbers.iter().filter_map(|number| self.all.get(number)).collect()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Subscription> {
        self.all.values()
    }
}

/// Returns the content of a provider notice.
pub(super) fn provider(agent: Aid, service: Symbol) -> Value {
    Value::term("provider", [crate::dead_letters::agent_atom(agent), Value::from(service.as_str())])
}
