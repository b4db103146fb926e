//! Moves because of load: from a node that has been busy for long to one that has time.
//!
//! Each move pauses a partition for a moment, so moves are slow on purpose. A node must have been busy for
//! [`LOAD_PATIENCE_MS`]. One partition moves at a time, and after any move, whatever its cause, nodes measure anew for
//! [`LOAD_REST_MS`]. A partition that has moved stays for [`LOAD_STAY_MS`].
//!
//! After a move, both nodes are less busy than the first one was before. So, with constant loads, the list of all
//! nodes' loads, the busiest first, gets smaller with each move, and moves come to an end.

use std::collections::BTreeMap;
use std::time::Duration;

use super::load::Load;
use super::member::{Member, Nonce};
use super::placement::{Cause, OwnerCandidate, Placement, RowChange};
use super::roster::Roster;
use crate::durable::Rules;
use crate::limits::{LOAD_BUSY, LOAD_GAIN, LOAD_PART_MIN, LOAD_PATIENCE_MS, LOAD_REST_MS, LOAD_STAY_MS};
use crate::store::Partition;
use crate::time::Time;

/// Pressure of load: the times since when nodes have been busy, and of recent moves, as one node sees them.
#[derive(Debug, Default)]
pub struct Pressure {
    busy_since: BTreeMap<Nonce, Time>,
    /// Time of the last move.
    moved_at: Option<Time>,
    /// Times of moves because of load, by partition.
    relieved_at: BTreeMap<Partition, Time>,
}

/// Node that may serve partitions and tells its load.
#[derive(Clone, Debug)]
pub struct LoadedNode<'a> {
    /// Number, weight, and partitions that it may not have.
    pub candidate: &'a OwnerCandidate,
    /// Load of the node.
    pub load: &'a Load,
}

impl Pressure {
    /// Notes that a partition moved to another node.
    pub fn moved(&mut self, change: &RowChange, now: Time) {
        self.moved_at = Some(now);
        if change.cause == Cause::Load {
            self.relieved_at.insert(change.partition, now);
        }
    }

    /// Returns the table with one more partition marked to move, if load is a reason. Called often, by the placer, when
    /// nothing else is to be moved.
    pub fn proposal(&mut self, table: &Placement, roster: &Roster, rules: &Rules, now: Time) -> Option<Placement> {
        self.note_busy(roster, now);
        let is_stuck =
            |node: Nonce, partition| roster.member(node).is_some_and(|member| member.is_stuck_with(partition));
        let is_moving = |(partition, part): (Partition, &super::PlacementRow)| {
            part.next.is_some() && !part.owner.is_some_and(|owner| is_stuck(owner, partition))
        };
        if self.busy_since.is_empty() || self.rests(now) || table.iter().any(is_moving) {
            return None;
        }
        let candidates = roster.candidates(|node| table.owned_by(node), rules, now);
        let load = |node: Nonce| roster.member(node)?.load.as_ref();
        let bearer = |candidate| Some(LoadedNode { candidate, load: load(candidate.node)? });
        let bearers: Vec<LoadedNode> = candidates.iter().filter_map(bearer).collect();
        let may_give = |bearer: &LoadedNode| {
            let since = self.busy_since.get(&bearer.candidate.node);
            since.is_some_and(|since| now - *since >= Duration::from_millis(LOAD_PATIENCE_MS))
        };
        let may_go = |partition: Partition| {
            let stays = self.relieved_at.get(&partition);
            stays.is_none_or(|since| now - *since >= Duration::from_millis(LOAD_STAY_MS))
                && table.part(partition).is_some_and(|part| part.next.is_none() && part.wish.is_none())
        };
        let may_come = |partition: Partition, node: Nonce| {
            let has = |part: &super::PlacementRow| part.owner == Some(node) || part.next == Some(node);
            !rules.crowds(partition, |other| table.part(other).is_some_and(has))
        };
        let (partition, to) = relief(table, &bearers, may_give, may_go, may_come)?;
        let mut proposed = table.clone();
        proposed.relieve(partition, to, rules.is_apart(partition));
        Some(proposed)
    }

    /// Notes since when each living node has been busy.
    fn note_busy(&mut self, roster: &Roster, now: Time) {
        let is_busy = |member: &Member| member.load.as_ref().is_some_and(|load| load.busy > LOAD_BUSY);
        let busy = roster.living(now).filter(|(_, member)| is_busy(member));
        let since = |(node, _)| (node, self.busy_since.get(&node).copied().unwrap_or(now));
        self.busy_since = busy.map(since).collect();
        self.relieved_at.retain(|_, since| now - *since < Duration::from_millis(LOAD_STAY_MS));
    }

    fn rests(&self, now: Time) -> bool {
        self.moved_at.is_some_and(|moved| now - moved < Duration::from_millis(LOAD_REST_MS))
    }
}

/// Chooses the partition to move because of load, and its new node. The partition comes from the busiest node that may
/// give one away. Of its partitions, the one is chosen whose move leaves the busier of the two nodes least busy.
/// Returns `None` if no move helps.
///
/// A partition's load on another node is inversely proportional to the nodes' weights.
pub fn relief(
    table: &Placement,
    bearers: &[LoadedNode],
    may_give: impl Fn(&LoadedNode) -> bool,
    may_go: impl Fn(Partition) -> bool,
    may_come: impl Fn(Partition, Nonce) -> bool,
) -> Option<(Partition, Nonce)> {
    let mut givers: Vec<&LoadedNode> =
        bearers.iter().filter(|bearer| bearer.load.busy > LOAD_BUSY && may_give(bearer)).collect();
    givers.sort_by_key(|bearer| (std::cmp::Reverse(bearer.load.busy), bearer.candidate.node));
    givers.into_iter().find_map(|giver| {
        let from = giver.candidate.node;
        let parts = giver.load.parts.iter().map(|(partition, share)| (Partition(*partition), *share));
        let may = |(partition, share): &(Partition, u16)| {
            let is_its = table.part(*partition).is_some_and(|part| part.owner == Some(from));
            *share >= LOAD_PART_MIN && is_its && may_go(*partition)
        };
        let may_come = &may_come;
        let outcomes = parts.filter(may).flat_map(|(partition, share)| {
            let is_free = move |to: Nonce| to != from && may_come(partition, to);
            let others = bearers.iter().filter(move |other| is_free(other.candidate.node));
            others.filter_map(move |other| {
                Some((outcome(giver, other, partition, share)?, partition, other.candidate.node))
            })
        });
        outcomes.min().map(|(_, partition, to)| (partition, to))
    })
}

/// Returns the load of the busier of two nodes after a move, and the load of the taker. The partition has this share of
/// the giver's time. Returns `None` if the taker may not or should not have the partition.
fn outcome(giver: &LoadedNode, taker: &LoadedNode, partition: Partition, share: u16) -> Option<(u64, u64)> {
    if taker.candidate.without.contains(&partition) {
        return None;
    }
    let weight = |bearer: &LoadedNode| u64::from(bearer.candidate.weight.max(1));
    let comes = u64::from(share) * weight(giver) / weight(taker);
    let (busy, taken) = (u64::from(giver.load.busy), u64::from(taker.load.busy) + comes);
    let left = busy.saturating_sub(u64::from(share));
    (taken + u64::from(LOAD_GAIN) <= busy).then_some((left.max(taken), taken))
}
