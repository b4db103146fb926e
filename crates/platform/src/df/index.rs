//! Which entries have what a template asks for, without looking at the others.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, sym};

use super::DfDescription;

/// The number of an entry or a subscription, in order of registration.
pub(super) type Number = u64;

/// Something a template can ask for and an entry can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    ServiceName(Symbol),
    ServiceKind(Symbol),
    Protocol(Symbol),
    Ontology(Symbol),
    Language(Symbol),
}

/// What `description` has, or asks for: a template matches only entries that have all of its keys.
pub(super) fn keys(description: &DfDescription) -> impl Iterator<Item = Key> + '_ {
    let kinds = description.services.iter().map(|service| Key::ServiceKind(service.kind));
    let names = description.services.iter().map(|service| Key::ServiceName(service.name));
    let services =
        names.chain(kinds).filter(|key| !matches!(key, Key::ServiceName(sym::EMPTY) | Key::ServiceKind(sym::EMPTY)));
    let protocols = description.protocols.iter().copied().map(Key::Protocol);
    let ontologies = description.ontologies.iter().copied().map(Key::Ontology);
    let languages = description.languages.iter().copied().map(Key::Language);
    services.chain(protocols).chain(ontologies).chain(languages)
}

/// Numbers by key.
#[derive(Debug, Default)]
pub(super) struct Index {
    postings: FxHashMap<Key, BTreeSet<Number>>,
}

impl Index {
    pub fn add(&mut self, key: Key, number: Number) {
        self.postings.entry(key).or_default().insert(number);
    }

    pub fn remove(&mut self, key: Key, number: Number) {
        if let Some(numbers) = self.postings.get_mut(&key) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.postings.remove(&key);
            }
        }
    }

    /// What has this key.
    pub fn with(&self, key: Key) -> impl Iterator<Item = Number> + '_ {
        self.postings.get(&key).into_iter().flatten().copied()
    }

    /// The fewest numbers that hold all that have every key of `template`; `None` if it has no key.
    pub fn candidates<'a>(&'a self, template: &DfDescription) -> Option<impl Iterator<Item = Number> + use<'a>> {
        let rarest = keys(template).min_by_key(|key| self.postings.get(key).map_or(0, BTreeSet::len))?;
        Some(self.with(rarest))
    }
}
