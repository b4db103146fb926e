//! Who is alive, as far as one node sees.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::member::{Member, Nonce};
use super::placement::Candidate;
use crate::durable::{Pin, Rules};
use crate::store::Revision;
use crate::time::Time;

/// An observer's view of the nodes. It counts, by its own clock, how long each node's key did not change; no two clocks are
/// ever compared. Silence means nothing while the store cannot be reached, nor while the observer itself stood still: afterwards
/// everybody has a full measure of patience again. And who hears nothing of himself either is deaf, which is no sign of anybody's
/// death: silence counts only until the observer last heard a sign of life of its own, which comes by the same way.
#[derive(Debug)]
pub struct Roster {
    patience: Duration,
    /// Nobody else can be alive: this process has the store for itself.
    alone: Option<Nonce>,
    seen: BTreeMap<Nonce, Seen>,
    /// The store cannot be reached.
    away: bool,
    /// All that is there is being told: whoever was not told of since is gone.
    telling: Option<BTreeSet<Nonce>>,
    /// Whether all that is there was ever told.
    complete: bool,
    /// When the observer last looked.
    looked: Option<Time>,
    /// When it last heard a sign of life of its own, if it gives any.
    heard_self: Option<Time>,
}

#[derive(Debug)]
struct Seen {
    revision: Revision,
    /// `None` if it has no key: it is gone, or was only heard of.
    member: Option<Member>,
    gone: bool,
    /// Since when it did not change.
    since: Time,
}

impl Roster {
    /// Nobody is known yet; a node that is silent for `patience` is dead.
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            alone: None,
            seen: BTreeMap::new(),
            away: false,
            telling: Some(BTreeSet::new()),
            complete: false,
            looked: None,
            heard_self: None,
        }
    }

    /// A roster of one who has the store for itself: everybody else is dead, whatever is written.
    pub fn alone(me: Nonce) -> Self {
        Self { alone: Some(me), ..Self::new(Duration::ZERO) }
    }

    /// A node's key has this value.
    pub fn written(&mut self, node: Nonce, revision: Revision, member: Member, now: Time) {
        if let Some(told) = &mut self.telling {
            told.insert(node);
        }
        match self.seen.get_mut(&node) {
            // What is told again, or late, is no sign of life.
            Some(seen) if seen.revision >= revision => {}
            _ => {
                let seen = Seen { revision, member: Some(member), gone: false, since: now };
                self.seen.insert(node, seen);
            }
        }
    }

    /// This node was told of its own sign of life: it has heard all that was written before.
    pub fn heard_self(&mut self, now: Time) {
        self.heard_self = Some(now);
    }

    /// A node's key was removed: it left, or was taken for dead.
    pub fn removed(&mut self, node: Nonce, now: Time) {
        let seen = self.heard_of(node, now);
        (seen.gone, seen.member) = (true, None);
    }

    /// A node is named somewhere. If its key is never told of, it is dead after the usual patience.
    pub fn mentioned(&mut self, node: Nonce, now: Time) {
        self.heard_of(node, now);
    }

    fn heard_of(&mut self, node: Nonce, now: Time) -> &mut Seen {
        self.seen.entry(node).or_insert(Seen { revision: Revision(0), member: None, gone: false, since: now })
    }

    /// All that is there has been told.
    pub fn complete(&mut self, now: Time) {
        let told = self.telling.take().unwrap_or_default();
        for (node, seen) in &mut self.seen {
            if !told.contains(node) && seen.member.take().is_some() {
                seen.gone = true;
            }
        }
        self.complete = true;
        self.have_patience(now);
    }

    /// The store cannot be reached.
    pub fn away(&mut self) {
        self.away = true;
    }

    /// The store is back; all that is there is told again.
    pub fn back(&mut self, now: Time) {
        self.away = false;
        self.telling = Some(BTreeSet::new());
        self.have_patience(now);
    }

    /// This node's own writes did not come through: what it does not see of others means nothing.
    pub fn have_patience(&mut self, now: Time) {
        for seen in self.seen.values_mut() {
            seen.since = now;
        }
    }

    /// To be called often. Whoever was not looking for long (stopped, suspended, starved) has missed signs of life.
    pub fn look(&mut self, now: Time) {
        let stood_still = self.looked.is_some_and(|looked| now - looked > self.patience / 2);
        if stood_still {
            self.have_patience(now);
        }
        self.looked = Some(now);
    }

    /// Whether this view can be relied on: all that is there was told, and the store can be reached.
    pub fn is_clear(&self) -> bool {
        self.complete && !self.away && self.telling.is_none()
    }

    /// Whether a node is dead, or has left. Never while the view is not clear.
    pub fn is_dead(&self, node: Nonce, now: Time) -> bool {
        if let Some(me) = self.alone {
            return node != me;
        }
        let Some(seen) = self.seen.get(&node).filter(|_| self.is_clear()) else { return false };
        let left = seen.member.as_ref().is_some_and(Member::has_left);
        seen.gone || left || self.heard_self.unwrap_or(now) - seen.since >= self.patience
    }

    /// What a node says of itself, as long as it has a key.
    pub fn member(&self, node: Nonce) -> Option<&Member> {
        self.seen.get(&node)?.member.as_ref()
    }

    /// All nodes that have keys, dead or alive, and their revisions.
    pub fn members(&self) -> impl Iterator<Item = (Nonce, Revision, &Member)> {
        self.seen.iter().filter_map(|(node, seen)| Some((*node, seen.revision, seen.member.as_ref()?)))
    }

    /// The nodes that are alive, as far as is known.
    pub fn living(&self, now: Time) -> impl Iterator<Item = (Nonce, &Member)> {
        self.members().filter(move |(node, ..)| !self.is_dead(*node, now)).map(|(node, _, member)| (node, member))
    }

    /// How long this node has given no sign of life.
    pub fn silent(&self, node: Nonce, now: Time) -> Option<Duration> {
        self.seen.get(&node).map(|seen| now - seen.since)
    }

    /// The nodes that are to serve partitions, and by the rules which they may not have: the ordinary ones. If there is none, one
    /// of those that stand by: who of them has most already, by `has`.
    pub fn candidates(&self, has: impl Fn(Nonce) -> usize, rules: &Rules, now: Time) -> Vec<Candidate> {
        let willing = || self.living(now).filter(|(_, member)| member.takes_partitions());
        let candidate = |(node, member): (Nonce, &Member)| member.candidate(node, rules);
        let ordinary: Vec<Candidate> = willing().filter(|(_, member)| !member.standby).map(candidate).collect();
        if !ordinary.is_empty() {
            return ordinary;
        }
        willing().max_by_key(|(node, _)| (has(*node), std::cmp::Reverse(*node))).map(candidate).into_iter().collect()
    }
}

impl Member {
    fn candidate(&self, node: Nonce, rules: &Rules) -> Candidate {
        let others = rules.pins.iter().filter(|(pin, _)| !self.suits(pin)).flat_map(|(_, partitions)| partitions);
        Candidate { node, weight: self.weight, without: self.unreadable().chain(others.copied()).collect() }
    }

    /// Whether it is one that agents with this hint may live on.
    pub(super) fn suits(&self, pin: &Pin) -> bool {
        match pin {
            Pin::Node(name) => self.name == *name,
            Pin::Label(label) => self.labels.contains(label),
        }
    }

    fn has_left(&self) -> bool {
        self.state == super::MemberState::Left
    }
}
