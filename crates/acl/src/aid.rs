//! Agent identifiers (FIPA00023 section 3.1).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Symbol, Value, sym};

/// Agent identifier: a globally unique name `local@platform`, and addresses. Two identifiers are equal if their names
/// are, whatever their addresses (FIPA00023 3.1). Copying one costs nothing.
#[derive(Clone, Copy)]
pub struct Aid {
    /// The part of the name before `@`.
    pub name: Symbol,
    /// The part of the name after `@`: the home agent platform. Empty for an agent of the platform the holder is on.
    pub platform: Symbol,
    contact: Option<ContactId>,
}

/// Addresses and resolvers of an agent on another platform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Contact {
    /// Transport addresses (URLs), in order of preference.
    pub addresses: Vec<String>,
    /// Agents that resolve the name, in order of preference.
    pub resolvers: Vec<Aid>,
    /// `X-` parameters of the identifier, kept in their order.
    #[serde(default)]
    pub user: Vec<(Symbol, Value)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ContactId(std::num::NonZeroU32);

struct Contacts {
    all: boxcar::Vec<Contact>,
    ids: Mutex<FxHashMap<ContactKey, ContactId>>,
}

/// Key of an interned contact. Agents are equal if their names are, and 1 equals 1.0; contacts must differ in both
/// cases.
#[derive(PartialEq, Eq, Hash)]
struct ContactKey {
    addresses: Vec<String>,
    resolvers: Vec<(Aid, Option<ContactId>)>,
    user: String,
}

impl ContactKey {
    fn of(contact: &Contact) -> Self {
        let resolvers = contact.resolvers.iter().map(|resolver| (*resolver, resolver.contact)).collect();
        Self { addresses: contact.addresses.clone(), resolvers, user: format!("{:?}", contact.user) }
    }

    /// Bytes it takes, and the contact with it, roughly.
    fn bytes(&self) -> usize {
        let addresses: usize = self.addresses.iter().map(|address| address.len() + 24).sum();
        128 + 2 * (addresses + 32 * self.resolvers.len() + self.user.len())
    }
}

static CONTACTS: LazyLock<Contacts> =
    LazyLock::new(|| Contacts { all: boxcar::Vec::new(), ids: Mutex::new(FxHashMap::default()) });

static NO_CONTACT: Contact = Contact { addresses: Vec::new(), resolvers: Vec::new(), user: Vec::new() };

fn intern_contact(contact: Contact) -> Option<ContactId> {
    if contact == NO_CONTACT {
        return None;
    }
    let key = ContactKey::of(&contact);
    let mut ids = CONTACTS.ids.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(id) = ids.get(&key) {
        return Some(*id);
    }
    if !crate::symbol::may_make(key.bytes()) {
        return None;
    }
    let index = CONTACTS.all.push(contact);
    let id = ContactId(std::num::NonZeroU32::new(index as u32 + 1)?);
    ids.insert(key, id);
    Some(id)
}

/// The text is no agent name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an agent name: expected `name` or `name@platform`, neither part empty")]
pub struct AidParseError(pub String);

impl Aid {
    /// No agent: the sender of a message without a sender.
    pub const NOBODY: Self = Self { name: sym::EMPTY, platform: sym::EMPTY, contact: None };

    /// Makes the identifier of the agent `name` of the platform `platform`.
    pub fn new(name: impl Into<Symbol>, platform: impl Into<Symbol>) -> Self {
        Self { name: name.into(), platform: platform.into(), contact: None }
    }

    /// Makes the identifier of the agent `name` of the platform that its holder is on.
    pub fn local(name: impl Into<Symbol>) -> Self {
        Self { name: name.into(), platform: sym::EMPTY, contact: None }
    }

    /// Returns the same agent with these addresses and resolvers.
    #[must_use]
    pub fn with_contact(self, contact: Contact) -> Self {
        Self { contact: intern_contact(contact), ..self }
    }

    /// Returns the same agent with this platform in its name, for places where the name must be globally unique.
    #[must_use]
    pub fn at(self, platform: impl Into<Symbol>) -> Self {
        Self { platform: platform.into(), ..self }
    }

    /// Returns another agent of the same platform, with the same addresses and resolvers.
    #[must_use]
    pub fn renamed(self, name: impl Into<Symbol>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Compares two identifiers including addresses and resolvers.
    #[inline]
    pub fn is_same(self, other: Self) -> bool {
        self == other && self.contact == other.contact
    }

    /// Addresses and resolvers; empty ones if none are known.
    pub fn contact(self) -> &'static Contact {
        self.contact.and_then(|id| CONTACTS.all.get(id.0.get() as usize - 1)).unwrap_or(&NO_CONTACT)
    }
}

impl PartialEq for Aid {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.platform == other.platform
    }
}

impl Eq for Aid {}

impl Hash for Aid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name, self.platform).hash(state);
    }
}

impl PartialOrd for Aid {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Aid {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.name.as_str(), self.platform.as_str()).cmp(&(other.name.as_str(), other.platform.as_str()))
    }
}

impl fmt::Display for Aid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.platform == sym::EMPTY { self.name.fmt(f) } else { write!(f, "{}@{}", self.name, self.platform) }
    }
}

impl fmt::Debug for Aid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Aid {
    type Err = AidParseError;

    fn from_str(text: &str) -> Result<Self, AidParseError> {
        let (name, platform) = text.rsplit_once('@').unwrap_or((text, ""));
        if name.is_empty() || (platform.is_empty() && text.contains('@')) {
            return Err(AidParseError(text.to_owned()));
        }
        Ok(Self::new(name, platform))
    }
}

#[derive(Serialize, Deserialize)]
struct AidData {
    name: Symbol,
    #[serde(default, skip_serializing_if = "is_empty")]
    platform: Symbol,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contact: Option<Contact>,
}

fn is_empty(platform: &Symbol) -> bool {
    *platform == sym::EMPTY
}

impl Default for Symbol {
    fn default() -> Self {
        sym::EMPTY
    }
}

/// Readable formats omit unknown parts; compact ones always have the three parts.
impl Serialize for Aid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contact = self.contact.map(|_| self.contact().clone());
        if serializer.is_human_readable() {
            return AidData { name: self.name, platform: self.platform, contact }.serialize(serializer);
        }
        (self.name, self.platform, contact).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Aid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, platform, contact) = if deserializer.is_human_readable() {
            let data = AidData::deserialize(deserializer)?;
            (data.name, data.platform, data.contact)
        } else {
            Deserialize::deserialize(deserializer)?
        };
        Ok(Self::new(name, platform).with_contact(contact.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_ignores_addresses() {
        let bare = Aid::new("bob", "home");
        let reachable = bare.with_contact(Contact {
            addresses: vec!["http://h:7778/acc".into()],
            resolvers: vec![Aid::local("ams")],
            ..Contact::default()
        });
        assert_eq!(bare, reachable);
        assert_eq!(reachable.contact().addresses, ["http://h:7778/acc"]);
        assert!(bare.contact().addresses.is_empty());
    }

    #[test]
    fn contacts_differ_with_their_resolvers() {
        let resolved_by = |address: &str| {
            let contact = Contact { addresses: vec![address.into()], ..Contact::default() };
            let resolvers = vec![Aid::local("ams").with_contact(contact)];
            Aid::local("bob").with_contact(Contact { resolvers, ..Contact::default() })
        };
        for address in ["http://one", "http://other"] {
            let resolvers = &resolved_by(address).contact().resolvers;
            assert_eq!(
                resolvers.first().map(|ams| ams.contact().addresses.as_slice()),
                Some([address.to_owned()].as_slice())
            );
        }
    }

    #[test]
    fn names_parse_and_print() {
        for text in ["bob", "bob@home", "a@b@c"] {
            assert_eq!(text.parse::<Aid>().map(|aid| aid.to_string()), Ok(text.to_owned()));
        }
        assert!("".parse::<Aid>().is_err());
        assert!("bob@".parse::<Aid>().is_err());
        assert!("@home".parse::<Aid>().is_err());
    }
}
