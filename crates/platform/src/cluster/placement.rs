//! The table that says who serves which partition, and whom to choose.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::member::Nonce;
use crate::limits::STORE_PARTITIONS_MAX;
use crate::store::{Epoch, Partition, StoreError};

/// Who serves one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The node that serves it, or is about to.
    pub owner: Option<Nonce>,
    /// In which epoch. That of a partition which nobody ever served is 0.
    pub epoch: Epoch,
    /// The node that it is to be handed over to.
    pub next: Option<Nonce>,
    /// It was moved because of load, or somebody wants it elsewhere: the node whose share it counts to, wherever it is.
    pub home: Option<Nonce>,
    /// Somebody wants it to be on this node: it stays there as long as that may have it.
    pub wish: Option<Nonce>,
}

/// Who serves what: one value in the store, of which each change has one winner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Placement {
    /// A line for each partition.
    pub parts: Vec<Part>,
}

/// The table as it is stored: the nodes' numbers once, and places in that list instead of them. Sixteen thousand partitions fit in
/// one value.
#[derive(Serialize, Deserialize)]
struct Stored {
    nodes: Vec<Nonce>,
    /// Epoch, owner, next, home, wish; those that nobody is are left out at the end, or -1.
    parts: Vec<Vec<i64>>,
}

const NOBODY: i64 = -1;
/// No society comes to that: there is always a next epoch.
const EPOCH_MAX: u64 = 1 << 62;

impl From<Placement> for Stored {
    fn from(placement: Placement) -> Self {
        let named = placement.parts.iter().flat_map(|part| [part.owner, part.next, part.home, part.wish]).flatten();
        let nodes: Vec<Nonce> = named.collect::<BTreeSet<_>>().into_iter().collect();
        let place = |node: Option<Nonce>| {
            let found = node.and_then(|node| nodes.binary_search(&node).ok());
            found.and_then(|place| i64::try_from(place).ok()).unwrap_or(NOBODY)
        };
        let line = |part: &Part| {
            let epoch = i64::try_from(part.epoch.0).unwrap_or(i64::MAX);
            let mut line = vec![epoch, place(part.owner), place(part.next), place(part.home), place(part.wish)];
            while line.len() > 1 && line.last() == Some(&NOBODY) {
                line.pop();
            }
            line
        };
        let parts = placement.parts.iter().map(line).collect();
        Self { nodes, parts }
    }
}

impl TryFrom<Stored> for Placement {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        if stored.parts.len() > usize::from(STORE_PARTITIONS_MAX) {
            return Err("more partitions than a store has");
        }
        let node = |place: Option<&i64>| match place.copied().unwrap_or(NOBODY) {
            NOBODY => Ok(None),
            place => {
                let found = usize::try_from(place).ok().and_then(|place| stored.nodes.get(place));
                found.map(|node| Some(*node)).ok_or("a node that is not listed")
            }
        };
        let part = |line: &Vec<i64>| -> Result<Part, Self::Error> {
            let epoch = line.first().and_then(|epoch| u64::try_from(*epoch).ok()).filter(|epoch| *epoch <= EPOCH_MAX);
            let epoch = epoch.ok_or("a line without an epoch")?;
            let [owner, next, home, wish] =
                [node(line.get(1))?, node(line.get(2))?, node(line.get(3))?, node(line.get(4))?];
            Ok(Part { epoch: Epoch(epoch), owner, next, home, wish })
        };
        Ok(Self { parts: stored.parts.iter().map(part).collect::<Result<_, _>>()? })
    }
}

impl Placement {
    /// A table in which nobody serves anything; the first owner of each partition has the epoch after `after`.
    pub fn new(partitions: u16, after: Epoch) -> Self {
        Self { parts: vec![Part { epoch: after, ..Part::default() }; usize::from(partitions)] }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it is none, or not one of so many partitions.
    pub fn decode(bytes: &[u8], partitions: u16) -> Result<Self, StoreError> {
        let damaged = |why: String| StoreError::Damaged(format!("it does not say who serves what: {why}"));
        let read: Self = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if read.parts.len() != usize::from(partitions) {
            return Err(damaged(format!("{} partitions of {partitions}", read.parts.len())));
        }
        Ok(read)
    }

    /// Writes it.
    pub fn encode(&self) -> Vec<u8> {
        // Numbers and lists can be written as JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Each partition with its line.
    pub fn iter(&self) -> impl Iterator<Item = (Partition, &Part)> {
        (0..).map(Partition).zip(&self.parts)
    }

    /// A partition's line.
    pub fn part(&self, partition: Partition) -> Option<&Part> {
        self.parts.get(usize::from(partition.0))
    }

    fn part_mut(&mut self, partition: Partition) -> Option<&mut Part> {
        self.parts.get_mut(usize::from(partition.0))
    }

    /// Whether anything is this node's, or is to be.
    pub fn names(&self, node: Nonce) -> bool {
        self.parts.iter().any(|part| part.owner == Some(node) || part.next == Some(node))
    }

    /// How many partitions this node owns.
    pub fn owned_by(&self, node: Nonce) -> usize {
        self.parts.iter().filter(|part| part.owner == Some(node)).count()
    }

    /// All nodes that are named.
    pub fn nodes(&self) -> BTreeSet<Nonce> {
        self.parts.iter().flat_map(|part| [part.owner, part.next]).flatten().collect()
    }

    /// The highest epoch of all.
    pub fn highest_epoch(&self) -> Epoch {
        self.parts.iter().map(|part| part.epoch).max().unwrap_or_default()
    }

    /// What `me` has yielded goes to whom it is to go, or back to `me`; in either case in a new epoch, for the old one's writer is
    /// no more. What is no longer `me`'s is left alone.
    pub fn hand_over(&mut self, me: Nonce, yielded: &[Partition]) {
        for partition in yielded {
            if let Some(part) = self.part_mut(*partition).filter(|part| part.owner == Some(me)) {
                part.owner = part.next.take().or(Some(me));
                part.epoch.0 += 1;
            }
        }
    }

    /// Because of load, a partition is to be handed over to this node. It goes on counting to the share that it counts to, unless it is one
    /// that is kept apart from others: those are counted where they are.
    pub fn relieve(&mut self, partition: Partition, to: Nonce, is_apart: bool) {
        if let Some(part) = self.part_mut(partition) {
            part.home = if is_apart { Some(to) } else { part.home.or(part.owner) };
            part.next = Some(to);
        }
    }

    /// Somebody wants a partition to be on this node, from now on.
    pub fn wish(&mut self, partition: Partition, to: Nonce) {
        if let Some(part) = self.part_mut(partition) {
            part.wish = Some(to);
        }
    }

    /// Nobody wants a partition to be anywhere any more: shares decide where it is, as if nobody had.
    pub fn unwish(&mut self, partition: Partition) {
        if let Some(part) = self.part_mut(partition)
            && let Some(wish) = part.wish.take()
        {
            part.home = None;
            part.next = part.next.filter(|next| *next != wish);
        }
    }

    /// A partition of `me` goes on in this epoch, if it is higher than its own.
    pub fn raise(&mut self, me: Nonce, partition: Partition, epoch: Epoch) {
        if let Some(part) = self.part_mut(partition).filter(|part| part.owner == Some(me)) {
            part.epoch = part.epoch.max(epoch);
        }
    }

    /// All partitions are `me`'s, in one epoch higher than any before.
    pub fn take_all(&mut self, me: Nonce) -> Epoch {
        let epoch = Epoch(self.highest_epoch().0 + 1);
        self.parts.fill(Part { owner: Some(me), epoch, ..Part::default() });
        epoch
    }

    /// What is different from `before`.
    pub fn changes_since(&self, before: &Self) -> Vec<Change> {
        let change = |((partition, now), then): ((Partition, &Part), &Part)| {
            let kind = match () {
                () if now.epoch != then.epoch && then.owner.is_some() && then.next == now.owner => {
                    ChangeKind::HandedOver
                }
                () if now.epoch != then.epoch => ChangeKind::TakenOver,
                () if now.next != then.next && now.next.is_some() => ChangeKind::Planned,
                () => return None,
            };
            let to = if kind == ChangeKind::Planned { now.next } else { now.owner };
            let cause = match () {
                () if to.is_some() && now.wish == to => Cause::Wish,
                () if now.home.is_some() && kind != ChangeKind::TakenOver => Cause::Load,
                () => Cause::Share,
            };
            Some(Change { partition, from: then.owner, to, kind, cause })
        };
        self.iter().zip(&before.parts).filter_map(change).collect()
    }
}

/// What happened to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub partition: Partition,
    /// Who had it.
    pub from: Option<Nonce>,
    /// Who has it now, or is to have it.
    pub to: Option<Nonce>,
    /// How.
    pub kind: ChangeKind,
    /// Why.
    pub cause: Cause,
}

/// Why a partition comes to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// For balance, or because its owner cannot have it any more.
    Share,
    /// Because of load.
    Load,
    /// Somebody wants it there.
    Wish,
}

/// How a partition comes to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Its owner is to hand it over.
    Planned,
    /// Its owner handed it over.
    HandedOver,
    /// It was nobody's, or its owner is dead or has left.
    TakenOver,
}

/// A node that may serve partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which.
    pub node: Nonce,
    /// Its weight; 0 counts as 1.
    pub weight: u32,
    /// Partitions that it may not have.
    pub without: BTreeSet<Partition>,
}

/// Who is to serve what, given who does (or is about to). Nodes that are no candidates lose all they have.
///
/// Partitions that some may not have, and those of the sets `apart`, are given first: to who has them and may, else to who suits them
/// best. Of each of these sets no candidate has two as long as another one that may have them has none.
///
/// Of all, each candidate gets its share, in proportion to its weight, rounded down or up, as far as these leave it; as few as
/// possible go from one candidate to another. Who gets what nobody has is decided by weighted rendezvous hashing with bounded
/// loads (Thaler and Ravishankar 1998; Mirrokni et al. 2018). Everybody who asks with the same arguments gets the same answer.
/// If there is no candidate, nobody is to serve anything.
pub fn choose(
    bearers: &[Option<Nonce>],
    candidates: &[Candidate],
    apart: &[BTreeSet<Partition>],
) -> Vec<Option<Nonce>> {
    let mut choice = Choice::new(bearers.len(), candidates, apart);
    choice.bind(bearers);
    choice.keep(bearers);
    choice.fill(Load::floor);
    choice.fill(Load::ceiling);
    choice.level();
    choice.chosen
}

/// How many partitions a node has, and how many it should.
struct Load {
    weight: u64,
    has: u64,
    /// Partitions times weight: its share times the sum of all weights.
    share: u128,
    sum: u128,
}

impl Load {
    fn floor(&self) -> u64 {
        (self.share / self.sum) as u64
    }

    fn ceiling(&self) -> u64 {
        self.share.div_ceil(self.sum) as u64
    }
}

struct Choice<'a> {
    candidates: &'a [Candidate],
    apart: &'a [BTreeSet<Partition>],
    loads: BTreeMap<Nonce, Load>,
    chosen: Vec<Option<Nonce>>,
    /// Partitions that are bound by rules: they are not moved for balance.
    bound: BTreeSet<usize>,
}

impl<'a> Choice<'a> {
    fn new(partitions: usize, candidates: &'a [Candidate], apart: &'a [BTreeSet<Partition>]) -> Self {
        let weights: BTreeMap<Nonce, u64> =
            candidates.iter().map(|candidate| (candidate.node, u64::from(candidate.weight.max(1)))).collect();
        let sum = weights.values().map(|weight| u128::from(*weight)).sum::<u128>().max(1);
        let load = |(node, weight): (Nonce, u64)| {
            (node, Load { weight, has: 0, share: partitions as u128 * u128::from(weight), sum })
        };
        let without = candidates.iter().flat_map(|candidate| &candidate.without);
        let bound = without.chain(apart.iter().flatten()).map(|partition| usize::from(partition.0));
        Self {
            candidates,
            apart,
            loads: weights.into_iter().map(load).collect(),
            chosen: vec![None; partitions],
            bound: bound.filter(|index| *index < partitions).collect(),
        }
    }

    /// Gives away what is bound: to who has it, else to who suits it best, of those below their share if there are any.
    fn bind(&mut self, bearers: &[Option<Nonce>]) {
        let candidates = self.candidates;
        for index in std::mem::take(&mut self.bound) {
            let partition = Partition(index as u16);
            let may = |candidate: &&Candidate| !candidate.without.contains(&partition);
            let willing = candidates.iter().filter(may).count();
            let offer = |candidate: &Candidate| {
                let load = self.loads.get(&candidate.node)?;
                let is_bearer = bearers.get(index).copied().flatten() == Some(candidate.node);
                let is_full = !is_bearer && load.has >= load.ceiling();
                let rank = (self.crowd(partition, candidate.node, willing), !is_bearer, is_full);
                Some((rank, (score(index, candidate.node, load.weight), index, candidate.node)))
            };
            let offers = candidates.iter().filter(may).filter_map(offer);
            let best = offers.min_by(|one, other| one.0.cmp(&other.0).then_with(|| best_first(&one.1, &other.1)));
            if let Some((_, (.., node))) = best {
                self.give(index, node, |_| u64::MAX);
            }
            self.bound.insert(index);
        }
    }

    /// How many more of those that are to be apart from a partition a node has already than it should of all, if so many nodes
    /// share them.
    fn crowd(&self, partition: Partition, node: Nonce, nodes: usize) -> usize {
        let more = |apart: &BTreeSet<Partition>| {
            let here = |other: &&Partition| self.chosen.get(usize::from(other.0)) == Some(&Some(node));
            (apart.iter().filter(here).count() + 1).saturating_sub(apart.len().div_ceil(nodes.max(1)))
        };
        self.apart.iter().filter(|apart| apart.contains(&partition)).map(more).max().unwrap_or(0)
    }

    /// Candidates keep what they have, up to their share: what they are the best for rather than the rest.
    fn keep(&mut self, bearers: &[Option<Nonce>]) {
        let here = (0..).zip(bearers).filter(|(index, _)| !self.bound.contains(index));
        let here = here.filter_map(|(index, bearer)| Some((index, (*bearer)?)));
        let mut held: Vec<(f64, usize, Nonce)> = here
            .filter_map(|(index, node)| Some((score(index, node, self.loads.get(&node)?.weight), index, node)))
            .collect();
        held.sort_by(best_first);
        for (_, index, node) in held {
            self.give(index, node, Load::ceiling);
        }
    }

    /// Gives what nobody has to candidates that have less than `bound`.
    fn fill(&mut self, bound: fn(&Load) -> u64) {
        let is_free = |(index, node): &(usize, &Option<Nonce>)| node.is_none() && !self.bound.contains(index);
        let free: Vec<usize> = (0..).zip(&self.chosen).filter(is_free).map(|(index, _)| index).collect();
        let mut pairs: Vec<(f64, usize, Nonce)> = Vec::new();
        for (node, load) in self.loads.iter().filter(|(_, load)| load.has < bound(load)) {
            pairs.extend(free.iter().map(|index| (score(*index, *node, load.weight), *index, *node)));
        }
        pairs.sort_by(best_first);
        for (_, index, node) in pairs {
            self.give(index, node, bound);
        }
    }

    /// Takes from those above the lower bound of their share as long as somebody is below it.
    fn level(&mut self) {
        while let Some((to, weight)) =
            self.loads.iter().find(|(_, load)| load.has < load.floor()).map(|(node, load)| (*node, load.weight))
        {
            let above = |node: &Nonce| self.loads.get(node).is_some_and(|load| load.has > load.floor());
            let held = (0..).zip(&self.chosen).filter(|(index, _)| !self.bound.contains(index));
            let held = held.filter_map(|(index, node)| node.filter(above).map(|_| index));
            let offers = held.map(|index| (score(index, to, weight), index, to));
            let Some((_, index, _)) = offers.min_by(best_first) else { return };
            self.take(index);
            self.give(index, to, Load::floor);
        }
    }

    fn give(&mut self, index: usize, node: Nonce, bound: fn(&Load) -> u64) {
        if let (Some(chosen @ None), Some(load)) = (self.chosen.get_mut(index), self.loads.get_mut(&node))
            && load.has < bound(load)
        {
            *chosen = Some(node);
            load.has += 1;
        }
    }

    fn take(&mut self, index: usize) {
        if let Some(node) = self.chosen.get_mut(index).and_then(Option::take)
            && let Some(load) = self.loads.get_mut(&node)
        {
            load.has -= 1;
        }
    }
}

fn best_first(one: &(f64, usize, Nonce), other: &(f64, usize, Nonce)) -> std::cmp::Ordering {
    other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2)))
}

/// How well a node suits a partition: `-weight / ln(hash)`, with a hash between 0 and 1. Of all nodes, one with twice the weight
/// has the highest score twice as often.
fn score(partition: usize, node: Nonce, weight: u64) -> f64 {
    let hash = mix(node.0 ^ mix(partition as u64 + 1));
    // 53 bits, and never 0 nor 1.
    let unit = ((hash >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -(weight as f64) / unit.ln()
}

/// SplitMix64's last step: every bit of the input matters to every bit of the output.
fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
