//! Directory facilitator (FIPA00023 4.1): the services that agents offer.
//!
//! [`Df`] is a state machine without I/O. Its inputs are requests ([`Df::register`], [`Df::modify`], ...), the end of
//! agents ([`Df::handle_agent_ended`]) and time ([`Df::handle_timeout`], due at [`Df::poll_timeout`]). Its outputs are
//! messages to subscribers ([`Df::poll_message`], to be routed as any other, sent by `df`) and, if someone observes it,
//! changes ([`Df::poll_change`]). After each input, take messages until there are none:
//!
//! ```
//! use whimbrel_acl::Aid;
//! use whimbrel_platform::Time;
//! use whimbrel_platform::df::{Df, DfDescription, ServiceDescription};
//!
//! let mut df = Df::new("home");
//! let (bob, now) = (Aid::local("bob"), Time::ZERO);
//! df.subscribe_providers(Aid::local("amy"), "translate", "", now)?;
//! df.register(DfDescription::of(bob).with(ServiceDescription::new("translate", "language")), now)?;
//! assert_eq!(df.poll_message().map(|told| told.content.to_string()), Some(r#"provider(bob,"translate")"#.to_owned()));
//! assert_eq!(df.providers("", "language", now), [bob]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod description;
mod index;
mod subscriptions;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value, sym};

pub use self::description::{DfDescription, ServiceDescription};
use self::index::{Index, Number, keys};
pub use self::subscriptions::{NoticeForm, Subscription};
use self::subscriptions::{Subscriptions, provider};
use crate::agent_management::{finding, frames};
use crate::limits::{DF_NOTICE_BYTES, DF_SERVICES_PER_AGENT_MAX, DF_SUBSCRIPTIONS_PER_AGENT_MAX, SEARCH_RESULTS_MAX};
use crate::{PlatformHome, Time};

/// Search in the DF, with the number of results that are wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DfQuery {
    /// Template of the entries.
    pub template: DfDescription,
    /// Number of entries to return, [`SEARCH_RESULTS_MAX`] at most.
    pub results_max: usize,
}

impl DfQuery {
    /// Returns a search for all entries that match.
    pub fn all(template: DfDescription) -> Self {
        Self { template, results_max: SEARCH_RESULTS_MAX }
    }
}

/// Reason why an agent was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Description without an agent.
    #[error("the description names no agent")]
    NoAgent,
    /// Agent that has an entry already, which can be modified.
    #[error("agent {0} is registered already")]
    AlreadyRegistered(Aid),
    /// Description with too many services.
    #[error("agent {agent} describes {services} services: an entry has at most {DF_SERVICES_PER_AGENT_MAX}")]
    TooManyServices {
        /// Agent.
        agent: Aid,
        /// Number of services in the description.
        services: usize,
    },
}

/// Reason why an entry was not modified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModifyError {
    /// Agent without an entry.
    #[error(transparent)]
    NotRegistered(#[from] NotRegistered),
    /// Description that could not be registered either.
    #[error(transparent)]
    Description(#[from] RegisterError),
}

/// Error of an agent without an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agent {0} is not registered")]
pub struct NotRegistered(pub Aid);

/// Reason why a subscription was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// Subscriber with as many subscriptions as it may have.
    #[error("agent {0} may have at most {DF_SUBSCRIPTIONS_PER_AGENT_MAX} subscriptions")]
    TooMany(Aid),
}

/// Kinds of changes to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DfChangeKind {
    /// New entry.
    Registered,
    /// Modified description.
    Modified,
    /// Removal by the entry's agent, or by another one that may.
    Deregistered,
    /// End of the entry's lease.
    Expired,
    /// End of the entry's agent.
    AgentEnded,
}

/// Change of one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct DfChange {
    /// Agent of the entry.
    pub agent: Aid,
    /// Kind of change.
    pub kind: DfChangeKind,
    /// Number of services before the change, if the change only added further ones behind them.
    pub added_after: Option<usize>,
}

/// One line, as `--trace` prints it: `df bob registered`.
impl fmt::Display for DfChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DfChangeKind::Registered => "registered",
            DfChangeKind::Modified => "modified",
            DfChangeKind::Deregistered => "deregistered",
            DfChangeKind::Expired => "expired",
            DfChangeKind::AgentEnded => "gone with its agent",
        };
        write!(f, "df {} {what}", self.agent)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct DfEntry {
    agent: Aid,
    description: DfDescription,
    /// End of the lease; [`Time::NEVER`] without one.
    expires: Time,
}

/// Directory facilitator of one platform; see the [module](self).
#[derive(Debug)]
pub struct Df {
    home: PlatformHome,
    entries: BTreeMap<Number, DfEntry>,
    next: Number,
    by_agent: FxHashMap<Aid, Number>,
    index: Index,
    leases: BTreeSet<(Time, Number)>,
    subscriptions: Subscriptions,
    messages: VecDeque<AclMessage>,
    changes: VecDeque<DfChange>,
    observed: bool,
    /// Number of changes of entries so far.
    revision: u64,
    /// Wall clock at the platform's start, if known.
    start_wall_ms: Option<u64>,
}

impl Df {
    /// Returns a DF without entries, for the platform of this name.
    pub fn new(platform: impl Into<Symbol>) -> Self {
        Self {
            home: PlatformHome::new(platform),
            entries: BTreeMap::new(),
            next: 0,
            by_agent: FxHashMap::default(),
            index: Index::default(),
            leases: BTreeSet::new(),
            subscriptions: Subscriptions::default(),
            messages: VecDeque::new(),
            changes: VecDeque::new(),
            observed: false,
            revision: 0,
            start_wall_ms: None,
        }
    }

    /// Returns the platform's name, and the addresses of its message transport.
    pub fn home(&self) -> PlatformHome {
        self.home
    }

    /// Sets the addresses at which other platforms reach this one.
    pub fn set_addresses(&mut self, addresses: Vec<String>) {
        self.home = self.home.at(addresses);
    }

    /// Returns the platform's name.
    pub fn platform(&self) -> Symbol {
        self.home.platform()
    }

    /// Sets if changes are kept for [`Df::poll_change`]. At first they are not.
    pub fn observe(&mut self, observed: bool) {
        self.observed = observed;
        if !observed {
            self.changes = VecDeque::new();
        }
    }

    /// Returns the next message to a subscriber.
    pub fn poll_message(&mut self) -> Option<AclMessage> {
        self.messages.pop_front()
    }

    /// Returns true if messages wait: the agent `df`, or the code that sends for it, should have a turn.
    pub fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Returns a number that grows with each change of an entry: lists made of the entries are renewed when it grew.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the next change, if changes are observed.
    pub fn poll_change(&mut self) -> Option<DfChange> {
        self.changes.pop_front()
    }

    /// Returns when [`Df::handle_timeout`] is due, if ever. May come sooner after each input.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.leases.first().map(|(expires, _)| *expires)
    }

    /// Removes the entries whose lease ended.
    //= fipa00023 5.2.1
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((expires, number)) = self.leases.first().copied()
            && expires <= now
        {
            self.leases.pop_first();
            self.remove(number, DfChangeKind::Expired);
        }
    }

    /// Tells the DF the wall-clock time in milliseconds since 1970-01-01 UTC, in which it states the ends of leases.
    pub fn handle_wall_clock(&mut self, now: Time, wall_ms: u64) {
        self.start_wall_ms = Some(wall_ms.saturating_sub(now.as_ms()));
    }

    /// Removes the entry and the subscriptions of an agent that ended.
    pub fn handle_agent_ended(&mut self, agent: Aid) {
        let agent = self.local(agent);
        self.subscriptions.remove(agent, |_| true);
        if let Some(number) = self.by_agent.get(&agent).copied() {
            self.remove(number, DfChangeKind::AgentEnded);
        }
    }

    /// Returns all subscriptions, the oldest first.
    pub fn subscriptions(&self) -> impl ExactSizeIterator<Item = &Subscription> {
        self.subscriptions.iter()
    }

    /// Ends the subscriptions of an agent that continues on another node, where it will subscribe once more. Its entry
    /// stays.
    pub fn handle_left(&mut self, agent: Aid) {
        self.subscriptions.remove(self.local(agent), |_| true);
    }

    /// Registers an agent and its services.
    ///
    /// # Errors
    /// The description names no agent or has too many services, or the agent is registered already.
    //= fipa00023 6.2.1
    pub fn register(&mut self, mut description: DfDescription, now: Time) -> Result<(), RegisterError> {
        self.handle_timeout(now);
        let agent = self.check(&mut description)?;
        if self.by_agent.contains_key(&agent) {
            return Err(RegisterError::AlreadyRegistered(agent));
        }
        let number = self.next;
        self.next += 1;
        self.put(number, agent, description, now);
        self.note(agent, DfChangeKind::Registered);
        self.tell(agent, None, Some(number));
        Ok(())
    }

    /// Replaces the agent's description; its lease starts anew.
    ///
    /// # Errors
    /// The description names no agent or has too many services, or the agent is not registered.
    //= fipa00023 6.2.3
    pub fn modify(&mut self, mut description: DfDescription, now: Time) -> Result<(), ModifyError> {
        self.handle_timeout(now);
        let agent = self.check(&mut description)?;
        let number = *self.by_agent.get(&agent).ok_or(NotRegistered(agent))?;
        let old = self.take(number);
        let added_after = old.as_ref().filter(|_| self.observed).and_then(|old| description.extends(&old.description));
        self.put(number, agent, description, now);
        if self.observed {
            self.changes.push_back(DfChange { agent, kind: DfChangeKind::Modified, added_after });
        }
        self.tell(agent, old.as_ref(), Some(number));
        Ok(())
    }

    /// Removes the agent's entry.
    ///
    /// # Errors
    /// The agent has none.
    //= fipa00023 6.2.2
    pub fn deregister(&mut self, agent: Aid, now: Time) -> Result<(), NotRegistered> {
        self.handle_timeout(now);
        let agent = self.local(agent);
        let number = *self.by_agent.get(&agent).ok_or(NotRegistered(agent))?;
        self.remove(number, DfChangeKind::Deregistered);
        Ok(())
    }

    /// Returns the entries that match, in order of registration.
    //= fipa00023 6.2.4
    pub fn search<'a>(&'a self, query: &DfQuery, now: Time) -> Vec<&'a DfDescription> {
        let template = self.localized(&query.template);
        let fits = |entry: &&DfEntry| entry.expires > now && template.matches(&entry.description);
        let found = self.candidates(&template).filter(fits);
        found.take(query.results_max.min(SEARCH_RESULTS_MAX)).map(|entry| &entry.description).collect()
    }

    /// Subscribes `subscriber`, in this form, to the entries that match now or later. It also gets notice of matching
    /// entries that change or cease to match (except in [`NoticeForm::Provider`]).
    ///
    /// # Errors
    /// The subscriber has too many subscriptions.
    //= fipa00023 4.1.4
    pub fn subscribe(
        &mut self,
        subscriber: Aid,
        template: DfDescription,
        form: NoticeForm,
        now: Time,
    ) -> Result<(), SubscribeError> {
        let subscription = self.subscription(subscriber, template, form, now)?;
        let present: Vec<&DfEntry> = self.candidates(&subscription.template).collect();
        let matching = present.into_iter().filter(|entry| subscription.template.matches(&entry.description));
        let messages: Vec<AclMessage> = match &subscription.form {
            NoticeForm::Fipa { inform, action } => in_pieces(matching.map(|entry| self.describe(entry)))
                .into_iter()
                .map(|told| fipa_notice(inform, action, told))
                .collect(),
            NoticeForm::Provider => matching.flat_map(|entry| provider_notices(&subscription, None, entry)).collect(),
        };
        self.messages.extend(messages);
        self.subscriptions.add(subscription);
        Ok(())
    }

    /// Subscribes as [`Df::subscribe`] does, for a subscriber that was told of the present entries before.
    ///
    /// # Errors
    /// The subscriber has too many subscriptions.
    pub fn resume(
        &mut self,
        subscriber: Aid,
        template: DfDescription,
        form: NoticeForm,
        now: Time,
    ) -> Result<(), SubscribeError> {
        let subscription = self.subscription(subscriber, template, form, now)?;
        self.subscriptions.add(subscription);
        Ok(())
    }

    fn subscription(
        &mut self,
        subscriber: Aid,
        template: DfDescription,
        form: NoticeForm,
        now: Time,
    ) -> Result<Subscription, SubscribeError> {
        self.handle_timeout(now);
        let subscriber = self.local(subscriber);
        if self.subscriptions.count_of(subscriber) >= DF_SUBSCRIPTIONS_PER_AGENT_MAX {
            return Err(SubscribeError::TooMany(subscriber));
        }
        Ok(Subscription { subscriber, template: self.localized(&template).into_owned(), form })
    }

    /// Ends the subscription that `subscriber` made in this conversation. Returns false if there is none.
    pub fn unsubscribe(&mut self, subscriber: Aid, conversation: Option<&Text>) -> bool {
        let subscriber = self.local(subscriber);
        self.subscriptions.remove_conversation(subscriber, conversation) > 0
    }

    /// Adds a service to the agent's entry, which is made if there is none, as `.df_register` does.
    ///
    /// # Errors
    /// The entry has too many services.
    pub fn add_service(&mut self, agent: Aid, service: &str, kind: &str, now: Time) -> Result<(), RegisterError> {
        self.handle_timeout(now);
        let agent = self.local(agent);
        let service = ServiceDescription::new(service, kind);
        let Some(entry) = self.entry(agent) else {
            return self.register(DfDescription::of(agent).with(service), now);
        };
        if entry.description.services.contains(&service) {
            return Ok(());
        }
        let description = entry.description.clone().with(service);
        match self.modify(description, now) {
            Err(ModifyError::Description(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Adds a service with all that it says to the agent's entry, which is made if there is none. It replaces one of
    /// the same name and type.
    ///
    /// # Errors
    /// The entry has too many services.
    pub fn offer_service(&mut self, agent: Aid, service: ServiceDescription, now: Time) -> Result<(), RegisterError> {
        self.handle_timeout(now);
        let agent = self.local(agent);
        let Some(entry) = self.entry(agent) else {
            return self.register(DfDescription::of(agent).with(service), now);
        };
        let mut description = entry.description.clone();
        description.services.retain(|other| (other.name, other.kind) != (service.name, service.kind));
        match self.modify(description.with(service), now) {
            Err(ModifyError::Description(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Adds services behind the `count` services of the agent's entry. Does nothing if it has another number, or there
    /// is no entry.
    ///
    /// # Errors
    /// There are too many services.
    pub fn add_after(
        &mut self,
        agent: Aid,
        count: usize,
        services: Vec<ServiceDescription>,
        now: Time,
    ) -> Result<(), ModifyError> {
        let entry = self.entry(self.local(agent)).filter(|entry| entry.description.services.len() == count);
        let Some(mut description) = entry.map(|entry| entry.description.clone()) else { return Ok(()) };
        description.services.extend(services);
        self.modify(description, now)
    }

    /// Removes services from the agent's entry, as `.df_deregister` does; an empty name or type stands for any. An
    /// entry that says nothing more is removed. Returns false if it offered no such service.
    pub fn remove_service(&mut self, agent: Aid, service: &str, kind: &str, now: Time) -> bool {
        self.handle_timeout(now);
        let agent = self.local(agent);
        let Some(entry) = self.entry(agent) else { return false };
        let unwanted = ServiceDescription::new(service, kind);
        let mut description = entry.description.clone();
        description.services.retain(|service| !unwanted.matches(service));
        let offered = description.services.len() < entry.description.services.len();
        if description.is_bare() {
            let _ = self.deregister(agent, now);
        } else if offered {
            let _ = self.modify(description, now);
        }
        offered
    }

    /// Returns the agents that offer a service, in order of registration, as `.df_search` does; an empty name or type
    /// matches any.
    pub fn providers(&self, service: &str, kind: &str, now: Time) -> Vec<Aid> {
        let found = self.search(&DfQuery::all(DfDescription::offering(service, kind)), now);
        found.into_iter().filter_map(|description| description.agent).collect()
    }

    /// Subscribes `subscriber` to each agent that offers a service, now or later, as `.df_subscribe` does.
    ///
    /// # Errors
    /// The subscriber has too many subscriptions.
    pub fn subscribe_providers(
        &mut self,
        subscriber: Aid,
        service: &str,
        kind: &str,
        now: Time,
    ) -> Result<(), SubscribeError> {
        self.subscribe(subscriber, DfDescription::offering(service, kind), NoticeForm::Provider, now)
    }

    /// Returns the agent's subscriptions, the oldest first.
    pub fn subscriptions_of(&self, subscriber: Aid) -> impl Iterator<Item = &Subscription> {
        self.subscriptions.of(self.local(subscriber))
    }

    /// Returns the agent's entry.
    pub fn description_of(&self, agent: Aid) -> Option<&DfDescription> {
        self.entry(self.local(agent)).map(|entry| &entry.description)
    }

    /// Returns the entries from this number on, in order of registration, each with its number. Later ones have higher
    /// numbers.
    pub fn entries_from(&self, number: u64, now: Time) -> impl Iterator<Item = (u64, &DfDescription)> {
        let valid = self.entries.range(number..).filter(move |(_, entry)| entry.expires > now);
        valid.map(|(number, entry)| (*number, &entry.description))
    }

    /// Returns when the agent's entry expires; `None` if it has none, or one that lasts as long as the agent.
    pub fn expires(&self, agent: Aid) -> Option<Time> {
        self.entry(self.local(agent)).map(|entry| entry.expires).filter(|expires| *expires < Time::NEVER)
    }

    /// Returns the number of registered agents.
    pub fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entry's description as a FIPA frame, with the end of its lease if that can be told.
    pub fn frame_of(&self, description: &DfDescription) -> Value {
        match description.agent.and_then(|agent| self.entry(agent)) {
            Some(entry) => self.describe(entry),
            None => frames::df_agent_description(description, None, self.home),
        }
    }

    /// Returns the whole state between two inputs, once all messages are taken.
    pub fn snapshot(&self) -> DfSnapshot {
        DfSnapshot {
            platform: self.home.platform(),
            entries: self.entries.values().cloned().collect(),
            subscriptions: self.subscriptions.iter().cloned().collect(),
        }
    }

    /// Restores a DF from its snapshot.
    pub fn restore(snapshot: DfSnapshot) -> Self {
        let mut df = Self::new(snapshot.platform);
        for entry in snapshot.entries {
            df.insert(df.next, entry);
            df.next += 1;
        }
        snapshot.subscriptions.into_iter().for_each(|subscription| df.subscriptions.add(subscription));
        df
    }

    /// Returns the agent without its platform, if that is this one.
    fn local(&self, agent: Aid) -> Aid {
        if agent.platform == self.home.platform() { agent.at(sym::EMPTY) } else { agent }
    }

    /// Returns the template, its agent without this platform.
    fn localized<'t>(&self, template: &'t DfDescription) -> Cow<'t, DfDescription> {
        match template.agent {
            Some(agent) if agent.platform == self.home.platform() => {
                Cow::Owned(DfDescription { agent: Some(self.local(agent)), ..template.clone() })
            }
            _ => Cow::Borrowed(template),
        }
    }

    fn check(&self, description: &mut DfDescription) -> Result<Aid, RegisterError> {
        let agent = self.local(description.agent.ok_or(RegisterError::NoAgent)?);
        description.agent = Some(agent);
        let services = description.services.len();
        if services > DF_SERVICES_PER_AGENT_MAX {
            return Err(RegisterError::TooManyServices { agent, services });
        }
        Ok(agent)
    }

    fn entry(&self, agent: Aid) -> Option<&DfEntry> {
        self.entries.get(self.by_agent.get(&agent)?)
    }

    fn candidates<'a>(&'a self, template: &DfDescription) -> Box<dyn Iterator<Item = &'a DfEntry> + 'a> {
        if let Some(agent) = template.agent {
            return Box::new(self.entry(agent).into_iter());
        }
        match self.index.candidates(template) {
            Some(numbers) => Box::new(numbers.filter_map(|number| self.entries.get(&number))),
            None => Box::new(self.entries.values()),
        }
    }

    fn put(&mut self, number: Number, agent: Aid, description: DfDescription, now: Time) {
        let lease = description.lease_ms.map(Duration::from_millis);
        let expires = lease.map_or(Time::NEVER, |lease| now + lease);
        self.insert(number, DfEntry { agent, description, expires });
    }

    fn insert(&mut self, number: Number, entry: DfEntry) {
        self.revision += 1;
        keys(&entry.description).for_each(|key| self.index.add(key, number));
        if entry.expires < Time::NEVER {
            self.leases.insert((entry.expires, number));
        }
        self.by_agent.insert(entry.agent, number);
        self.entries.insert(number, entry);
    }

    fn take(&mut self, number: Number) -> Option<DfEntry> {
        let entry = self.entries.remove(&number)?;
        self.revision += 1;
        keys(&entry.description).for_each(|key| self.index.remove(key, number));
        self.leases.remove(&(entry.expires, number));
        self.by_agent.remove(&entry.agent);
        Some(entry)
    }

    fn remove(&mut self, number: Number, kind: DfChangeKind) {
        if let Some(entry) = self.take(number) {
            self.note(entry.agent, kind);
            self.tell(entry.agent, Some(&entry), None);
        }
    }

    fn note(&mut self, agent: Aid, kind: DfChangeKind) {
        if self.observed {
            self.changes.push_back(DfChange { agent, kind, added_after: None });
        }
    }

    /// Tells the subscribers concerned that an entry changed from `old` to the one of number `new`.
    fn tell(&mut self, agent: Aid, old: Option<&DfEntry>, new: Option<Number>) {
        let new = new.and_then(|number| self.entries.get(&number));
        let (before, after) = (old.map(|entry| &entry.description), new.map(|entry| &entry.description));
        let mut messages = Vec::new();
        for subscription in self.subscriptions.concerned([before, after]) {
            let matches = |description: &&DfDescription| subscription.template.matches(description);
            let (before, after) = (before.filter(matches), after.filter(matches));
            match (&subscription.form, new) {
                (NoticeForm::Provider, Some(new)) if after.is_some() => {
                    messages.extend(provider_notices(subscription, old, new));
                }
                (NoticeForm::Fipa { inform, action }, Some(new)) if after.is_some() && before != after => {
                    messages.push(fipa_notice(inform, action, vec![self.describe(new)]));
                }
                (NoticeForm::Fipa { inform, action }, _) if before.is_some() && after.is_none() => {
                    let gone = frames::df_agent_description(&DfDescription::of(agent), None, self.home);
                    messages.push(fipa_notice(inform, action, vec![gone]));
                }
                _ => {}
            }
        }
        self.messages.extend(messages);
    }

    fn describe(&self, entry: &DfEntry) -> Value {
        let lease_ends_ms = self.start_wall_ms.filter(|_| entry.expires < Time::NEVER);
        let lease_ends_ms = lease_ends_ms.map(|start| start.saturating_add(entry.expires.as_ms()));
        frames::df_agent_description(&entry.description, lease_ends_ms, self.home)
    }
}

/// State of a DF, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DfSnapshot {
    platform: Symbol,
    entries: Vec<DfEntry>,
    subscriptions: Vec<Subscription>,
}

/// Splits entries into messages of [`DF_NOTICE_BYTES`].
fn in_pieces(entries: impl Iterator<Item = Value>) -> Vec<Vec<Value>> {
    let (mut pieces, mut room) = (Vec::new(), 0);
    for entry in entries {
        let bytes = entry.footprint(DF_NOTICE_BYTES);
        match pieces.last_mut() {
            Some(piece) if bytes <= room => Vec::push(piece, entry),
            _ => {
                room = DF_NOTICE_BYTES;
                pieces.push(vec![entry]);
            }
        }
        room = room.saturating_sub(bytes);
    }
    pieces
}

fn fipa_notice(inform: &AclMessage, action: &Value, descriptions: Vec<Value>) -> AclMessage {
    let content = finding(action, frames::set(descriptions), inform.extras().language);
    AclMessage { content, ..inform.clone() }
}

/// Returns a message for each service of `new` that the subscription asks for and `old` lacked.
fn provider_notices(subscription: &Subscription, old: Option<&DfEntry>, new: &DfEntry) -> Vec<AclMessage> {
    let known = |service: &ServiceDescription| old.is_some_and(|old| old.description.services.contains(service));
    let wanted =
        |service: &ServiceDescription| subscription.template.services.iter().any(|template| template.matches(service));
    let services = new.description.services.iter().filter(|service| wanted(service) && !known(service));
    let message = |service: &ServiceDescription| {
        let content = provider(new.agent, service.name);
        AclMessage::new(Performative::Inform, Aid::local(sym::DF), subscription.subscriber, content)
    };
    services.map(message).collect()
}
