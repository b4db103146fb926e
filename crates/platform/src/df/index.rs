//! Index of entries by what templates ask for, so that a search need not look at the others.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, sym};

use super::DfDescription;

/// Number of an entry or a subscription, in order of registration.
pub(super) type Number = u64;

/// Key that a template can ask for and an entry can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DfKey {
    ServiceName(Symbol),
    ServiceKind(Symbol),
    Protocol(Symbol),
    Ontology(Symbol),
    Language(Symbol),
}

/// Returns the keys of `description`: a template matches only entries that have all of its keys.
pub(super) fn keys(description: &DfDescription) -> impl Iterator<Item = DfKey> + '_ {
    let kinds = description.services.iter().map(|service| DfKey::ServiceKind(service.kind));
    let names = description.services.iter().map(|service| DfKey::ServiceName(service.name));
    let services = names
        .chain(kinds)
        .filter(|key| !matches!(key, DfKey::ServiceName(sym::EMPTY) | DfKey::ServiceKind(sym::EMPTY)));
    let protocols = description.protocols.iter().copied().map(DfKey::Protocol);
    let ontologies = description.ontologies.iter().copied().map(DfKey::Ontology);
    let languages = description.languages.iter().copied().map(DfKey::Language);
    services.chain(protocols).chain(ontologies).chain(languages)
}

/// Numbers by key.
#[derive(Debug, Default)]
pub(super) struct Index {
    postings: FxHashMap<DfKey, BTreeSet<Number>>,
}

impl Index {
    pub fn add(&mut self, key: DfKey, number: Number) {
        self.postings.entry(key).or_default().insert(number);
    }

    pub fn remove(&mut self, key: DfKey, number: Number) {
        if let Some(numbers) = self.postings.get_mut(&key) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.postings.remove(&key);
            }
        }
    }

    /// Returns the numbers that have this key.
    pub fn with(&self, key: DfKey) -> impl Iterator<Item = Number> + '_ {
        self.postings.get(&key).into_iter().flatten().copied()
    }

    /// Returns a small set of numbers that includes all with every key of `template`; `None` if it has no key.
    pub fn candidates<'a>(&'a self, template: &DfDescription) -> Option<impl Iterator<Item = Number> + use<'a>> {
        let rarest = keys(template).min_by_key(|key| self.postings.get(key).map_or(0, BTreeSet::len))?;
        Some(self.with(rarest))
    }
}
