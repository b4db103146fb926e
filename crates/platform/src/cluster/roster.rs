//! Roster: the nodes that are alive, as far as one node sees.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::member::{Member, Nonce};
use super::placement::OwnerCandidate;
use crate::durable::{Pin, Rules};
use crate::store::Revision;
use crate::time::Time;

/// Observer's view of the nodes that are alive.
///
/// The observer counts, by its own clock, how long each node's key did not change; clocks of two nodes are never
/// compared. Silence means nothing while the store cannot be reached, nor while the observer itself stood still.
/// Afterwards every node has its full patience again. An observer that does not hear its own signs of life is deaf:
/// silence of others counts only until it last heard itself.
///
/// Inputs: notices of a watch ([`Roster::written`], [`Roster::removed`], [`Roster::complete`], [`Roster::away`],
/// [`Roster::back`]), and the passing of time ([`Roster::look`], often). Outputs: [`Roster::is_dead`],
/// [`Roster::living`] and [`Roster::candidates`], once the view [is clear](Roster::is_clear).
#[derive(Debug)]
pub struct Roster {
    patience: Duration,
    /// Number of this node, if it has the store for itself: no other node can be alive.
    alone: Option<Nonce>,
    seen: BTreeMap<Nonce, NodeSighting>,
    /// Outage of the store: it cannot be reached.
    away: bool,
    /// Nodes reported since the watch began to report all keys; the others are gone once that is complete.
    listed: Option<BTreeSet<Nonce>>,
    /// Completion of the first report, in which the watch reports all keys.
    complete: bool,
    /// Time when the observer last looked.
    looked: Option<Time>,
    /// Time when the observer last heard its own sign of life, if it gives any.
    heard_self: Option<Time>,
}

#[derive(Debug)]
struct NodeSighting {
    revision: Revision,
    /// Entry of the node; `None` if it has no key: it is gone, or was only mentioned.
    member: Option<Member>,
    gone: bool,
    /// Time since when the key did not change.
    since: Time,
}

impl Roster {
    /// Returns an empty roster; a node that is silent for `patience` is dead.
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            alone: None,
            seen: BTreeMap::new(),
            away: false,
            listed: Some(BTreeSet::new()),
            complete: false,
            looked: None,
            heard_self: None,
        }
    }

    /// Returns the roster of a node that has the store for itself: all others are dead, whatever is written.
    pub fn alone(me: Nonce) -> Self {
        Self { alone: Some(me), ..Self::new(Duration::ZERO) }
    }

    /// Takes in the value of a node's key.
    pub fn written(&mut self, node: Nonce, revision: Revision, member: Member, now: Time) {
        if let Some(listed) = &mut self.listed {
            listed.insert(node);
        }
        match self.seen.get_mut(&node) {
            // Repeated or late values are no sign of life.
            Some(seen) if seen.revision >= revision => {}
            _ => {
                let seen = NodeSighting { revision, member: Some(member), gone: false, since: now };
                self.seen.insert(node, seen);
            }
        }
    }

    /// Notes that this node was told of its own sign of life: it has heard all that was written before.
    pub fn heard_self(&mut self, now: Time) {
        self.heard_self = Some(now);
    }

    /// Takes in the removal of a node's key: the node left, or was taken for dead.
    pub fn removed(&mut self, node: Nonce, now: Time) {
        let seen = self.heard_of(node, now);
        (seen.gone, seen.member) = (true, None);
    }

    /// Notes that a node is mentioned somewhere. If its key never appears, it is dead after the usual patience.
    pub fn mentioned(&mut self, node: Nonce, now: Time) {
        self.heard_of(node, now);
    }

    fn heard_of(&mut self, node: Nonce, now: Time) -> &mut NodeSighting {
        self.seen.entry(node).or_insert(NodeSighting { revision: Revision(0), member: None, gone: false, since: now })
    }

    /// Notes that all keys have been told.
    pub fn complete(&mut self, now: Time) {
        let listed = self.listed.take().unwrap_or_default();
        for (node, seen) in &mut self.seen {
            if !listed.contains(node) && seen.member.take().is_some() {
                seen.gone = true;
            }
        }
        self.complete = true;
        self.have_patience(now);
    }

    /// Notes that the store cannot be reached.
    pub fn away(&mut self) {
        self.away = true;
    }

    /// Notes that the store is back; all keys are told again.
    pub fn back(&mut self, now: Time) {
        self.away = false;
        self.listed = Some(BTreeSet::new());
        self.have_patience(now);
    }

    /// Gives every node its full patience again: this node's own writes did not come through, so silence of others
    /// means nothing.
    pub fn have_patience(&mut self, now: Time) {
        for seen in self.seen.values_mut() {
            seen.since = now;
        }
    }

    /// Notes that the observer looks. Call it often: an observer that did not look for long (stopped, suspended,
    /// starved) has missed signs of life.
    pub fn look(&mut self, now: Time) {
        let stood_still = self.looked.is_some_and(|looked| now - looked > self.patience / 2);
        if stood_still {
            self.have_patience(now);
        }
        self.looked = Some(now);
    }

    /// Returns true if this view can be relied on: all keys were told, and the store can be reached.
    pub fn is_clear(&self) -> bool {
        self.complete && !self.away && self.listed.is_none()
    }

    /// Returns true if a node is dead, or has left. Never while the view is not clear.
    pub fn is_dead(&self, node: Nonce, now: Time) -> bool {
        if let Some(me) = self.alone {
            return node != me;
        }
        let Some(seen) = self.seen.get(&node).filter(|_| self.is_clear()) else { return false };
        let left = seen.member.as_ref().is_some_and(Member::has_left);
        seen.gone || left || self.heard_self.unwrap_or(now) - seen.since >= self.patience
    }

    /// Returns a node's entry about itself, as long as it has a key.
    pub fn member(&self, node: Nonce) -> Option<&Member> {
        self.seen.get(&node)?.member.as_ref()
    }

    /// Returns all nodes that have keys, dead or alive, with their revisions.
    pub fn members(&self) -> impl Iterator<Item = (Nonce, Revision, &Member)> {
        self.seen.iter().filter_map(|(node, seen)| Some((*node, seen.revision, seen.member.as_ref()?)))
    }

    /// Returns the nodes that are alive, as far as known.
    pub fn living(&self, now: Time) -> impl Iterator<Item = (Nonce, &Member)> {
        self.members().filter(move |(node, ..)| !self.is_dead(*node, now)).map(|(node, _, member)| (node, member))
    }

    /// Returns how long this node has given no sign of life.
    pub fn silent(&self, node: Nonce, now: Time) -> Option<Duration> {
        self.seen.get(&node).map(|seen| now - seen.since)
    }

    /// Returns the nodes that are to serve partitions, each with those that it may not have by the rules. Ordinary
    /// nodes come first. If there is none, one standby is chosen: the one that owns most partitions already, by `has`.
    pub fn candidates(&self, has: impl Fn(Nonce) -> usize, rules: &Rules, now: Time) -> Vec<OwnerCandidate> {
        let willing = || self.living(now).filter(|(_, member)| member.takes_partitions());
        let candidate = |(node, member): (Nonce, &Member)| member.candidate(node, rules);
        let ordinary: Vec<OwnerCandidate> = willing().filter(|(_, member)| !member.standby).map(candidate).collect();
        if !ordinary.is_empty() {
            return ordinary;
        }
        willing().max_by_key(|(node, _)| (has(*node), std::cmp::Reverse(*node))).map(candidate).into_iter().collect()
    }
}

impl Member {
    fn candidate(&self, node: Nonce, rules: &Rules) -> OwnerCandidate {
        let others = rules.pins.iter().filter(|(pin, _)| !self.suits(pin)).flat_map(|(_, partitions)| partitions);
        OwnerCandidate { node, weight: self.weight, without: self.unreadable().chain(others.copied()).collect() }
    }

    /// Returns true if agents with this pin may live on the node.
    pub(super) fn suits(&self, pin: &Pin) -> bool {
        match pin {
            Pin::Node(name) => self.name == *name,
            Pin::Label(label) => self.labels.contains(label),
        }
    }

    fn has_left(&self) -> bool {
        self.state == super::MemberPhase::Left
    }
}
