//! Placement table, and the choice of owners for partitions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::member::Nonce;
use crate::limits::STORE_PARTITIONS_MAX;
use crate::store::{Epoch, Partition, StoreError};

/// Row of the placement table: the owner of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementRow {
    /// Node that serves the partition, or is about to.
    pub owner: Option<Nonce>,
    /// Epoch of the owner; 0 if the partition was never served.
    pub epoch: Epoch,
    /// Node to which the owner is to hand over the partition.
    pub next: Option<Nonce>,
    /// Node whose share the partition counts for, wherever it is. Set if the partition moved because of load or of a
    /// wish.
    pub home: Option<Nonce>,
    /// Node that the partition should be on by request: it stays there as long as that node may have it.
    pub wish: Option<Nonce>,
}

/// Placement table: the owner of every partition. One value in the store, so each change has one winner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Placement {
    /// Row of each partition.
    pub parts: Vec<PlacementRow>,
}

/// Placement table as stored: the nodes' numbers once, and indexes into that list. So sixteen thousand partitions fit
/// in one value.
#[derive(Serialize, Deserialize)]
struct Stored {
    nodes: Vec<Nonce>,
    /// Epoch, owner, next, home, wish. Missing nodes are -1, or left out at the end.
    parts: Vec<Vec<i64>>,
}

const NOBODY: i64 = -1;
/// Highest epoch that is accepted: there is always a next one.
const EPOCH_MAX: u64 = 1 << 62;

impl From<Placement> for Stored {
    fn from(placement: Placement) -> Self {
        let named = placement.parts.iter().flat_map(|part| [part.owner, part.next, part.home, part.wish]).flatten();
        let nodes: Vec<Nonce> = named.collect::<BTreeSet<_>>().into_iter().collect();
        let place = |node: Option<Nonce>| {
            let found = node.and_then(|node| nodes.binary_search(&node).ok());
            found.and_then(|place| i64::try_from(place).ok()).unwrap_or(NOBODY)
        };
        let line = |part: &PlacementRow| {
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
        let part = |line: &Vec<i64>| -> Result<PlacementRow, Self::Error> {
            let epoch = line.first().and_then(|epoch| u64::try_from(*epoch).ok()).filter(|epoch| *epoch <= EPOCH_MAX);
            let epoch = epoch.ok_or("a line without an epoch")?;
            let [owner, next, home, wish] =
                [node(line.get(1))?, node(line.get(2))?, node(line.get(3))?, node(line.get(4))?];
            Ok(PlacementRow { epoch: Epoch(epoch), owner, next, home, wish })
        };
        Ok(Self { parts: stored.parts.iter().map(part).collect::<Result<_, _>>()? })
    }
}

impl Placement {
    /// Returns a table without owners; the first owner of each partition gets the epoch after `after`.
    pub fn new(partitions: u16, after: Epoch) -> Self {
        Self { parts: vec![PlacementRow { epoch: after, ..PlacementRow::default() }; usize::from(partitions)] }
    }

    /// Decodes a table.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the bytes are no table, or one of another number of partitions.
    pub fn decode(bytes: &[u8], partitions: u16) -> Result<Self, StoreError> {
        let damaged =
            |why: String| StoreError::Damaged(format!("it does not say which node serves which partition: {why}"));
        let read: Self = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if read.parts.len() != usize::from(partitions) {
            return Err(damaged(format!("{} partitions of {partitions}", read.parts.len())));
        }
        Ok(read)
    }

    /// Encodes the table.
    pub fn encode(&self) -> Vec<u8> {
        // JSON can represent numbers and lists, so this cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns each partition with its row.
    pub fn iter(&self) -> impl Iterator<Item = (Partition, &PlacementRow)> {
        (0..).map(Partition).zip(&self.parts)
    }

    /// Returns a partition's row.
    pub fn part(&self, partition: Partition) -> Option<&PlacementRow> {
        self.parts.get(usize::from(partition.0))
    }

    fn part_mut(&mut self, partition: Partition) -> Option<&mut PlacementRow> {
        self.parts.get_mut(usize::from(partition.0))
    }

    /// Returns true if this node owns a partition, or is the next owner of one.
    pub fn names(&self, node: Nonce) -> bool {
        self.parts.iter().any(|part| part.owner == Some(node) || part.next == Some(node))
    }

    /// Returns the number of partitions that this node owns.
    pub fn owned_by(&self, node: Nonce) -> usize {
        self.parts.iter().filter(|part| part.owner == Some(node)).count()
    }

    /// Returns all owners and next owners.
    pub fn nodes(&self) -> BTreeSet<Nonce> {
        self.parts.iter().flat_map(|part| [part.owner, part.next]).flatten().collect()
    }

    /// Returns the highest epoch in the table.
    pub fn highest_epoch(&self) -> Epoch {
        self.parts.iter().map(|part| part.epoch).max().unwrap_or_default()
    }

    /// Gives partitions that `me` has yielded to their next owner, or back to `me`. In either case the epoch is new,
    /// because the writer of the old one is gone. Partitions that `me` no longer owns are left alone.
    pub fn hand_over(&mut self, me: Nonce, yielded: &[Partition]) {
        for partition in yielded {
            if let Some(part) = self.part_mut(*partition).filter(|part| part.owner == Some(me)) {
                part.owner = part.next.take().or(Some(me));
                part.epoch.0 += 1;
            }
        }
    }

    /// Marks a partition to move to this node because of load. It still counts for the same share, unless a rule keeps
    /// it apart from others: such partitions count where they are.
    pub fn relieve(&mut self, partition: Partition, to: Nonce, is_apart: bool) {
        if let Some(part) = self.part_mut(partition) {
            part.home = if is_apart { Some(to) } else { part.home.or(part.owner) };
            part.next = Some(to);
        }
    }

    /// Sets the wish that a partition be on this node.
    pub fn wish(&mut self, partition: Partition, to: Nonce) {
        if let Some(part) = self.part_mut(partition) {
            part.wish = Some(to);
        }
    }

    /// Takes back the wish for a partition: shares decide about it again.
    pub fn unwish(&mut self, partition: Partition) {
        if let Some(part) = self.part_mut(partition)
            && let Some(wish) = part.wish.take()
        {
            part.home = None;
            part.next = part.next.filter(|next| *next != wish);
        }
    }

    /// Raises the epoch of a partition of `me`, if this one is higher.
    pub fn raise(&mut self, me: Nonce, partition: Partition, epoch: Epoch) {
        if let Some(part) = self.part_mut(partition).filter(|part| part.owner == Some(me)) {
            part.epoch = part.epoch.max(epoch);
        }
    }

    /// Gives all partitions to `me`, in one epoch higher than any before.
    pub fn take_all(&mut self, me: Nonce) -> Epoch {
        let epoch = Epoch(self.highest_epoch().0 + 1);
        self.parts.fill(PlacementRow { owner: Some(me), epoch, ..PlacementRow::default() });
        epoch
    }

    /// Returns the changes since `before`.
    pub fn changes_since(&self, before: &Self) -> Vec<RowChange> {
        let change = |((partition, now), then): ((Partition, &PlacementRow), &PlacementRow)| {
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
            Some(RowChange { partition, from: then.owner, to, kind, cause })
        };
        self.iter().zip(&before.parts).filter_map(change).collect()
    }
}

/// Change of a partition's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Partition that changed.
    pub partition: Partition,
    /// Owner before.
    pub from: Option<Nonce>,
    /// Owner now, or the next one.
    pub to: Option<Nonce>,
    /// Kind of change.
    pub kind: ChangeKind,
    /// Cause of the change.
    pub cause: Cause,
}

/// Cause of a partition's move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Balance, or an owner that may not have the partition any more.
    Share,
    /// Load.
    Load,
    /// Wish.
    Wish,
}

/// Kinds of changes to a partition's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Handover that is to come.
    Planned,
    /// Handover by the owner.
    HandedOver,
    /// Takeover: the partition had no owner, or one that is dead or has left.
    TakenOver,
}

/// Candidate for owning partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerCandidate {
    /// Number of the node.
    pub node: Nonce,
    /// Weight; 0 counts as 1.
    pub weight: u32,
    /// Partitions that the node may not own.
    pub without: BTreeSet<Partition>,
}

/// Chooses the owner of each partition, given the current (or next) owners. Nodes that are no candidates lose all
/// partitions.
///
/// Partitions that some candidates may not have, and those of the sets `apart`, are given first. They go to the current
/// owner if it may have them, else to the best candidate by score. No candidate gets two of a set as long as another
/// one that may have them has none.
///
/// Then each candidate gets its share of all partitions, in proportion to its weight, rounded down or up. The first
/// step may leave it less. As few partitions as possible change their owner. Partitions without an owner are given by
/// weighted rendezvous hashing with bounded loads (Thaler and Ravishankar 1998; Mirrokni et al. 2018). The result
/// depends on the arguments only. Without candidates, no partition gets an owner.
pub fn choose(
    bearers: &[Option<Nonce>],
    candidates: &[OwnerCandidate],
    apart: &[BTreeSet<Partition>],
) -> Vec<Option<Nonce>> {
    let mut choice = OwnerChoice::new(bearers.len(), candidates, apart);
    choice.bind(bearers);
    choice.keep(bearers);
    choice.fill(NodeShare::floor);
    choice.fill(NodeShare::ceiling);
    choice.level();
    choice.chosen
}

/// Number of partitions that a node has, and that it should have.
struct NodeShare {
    weight: u64,
    has: u64,
    /// Partitions times weight: its share times the sum of all weights.
    share: u128,
    sum: u128,
}

impl NodeShare {
    fn floor(&self) -> u64 {
        (self.share / self.sum) as u64
    }

    fn ceiling(&self) -> u64 {
        self.share.div_ceil(self.sum) as u64
    }
}

struct OwnerChoice<'a> {
    candidates: &'a [OwnerCandidate],
    apart: &'a [BTreeSet<Partition>],
    loads: BTreeMap<Nonce, NodeShare>,
    chosen: Vec<Option<Nonce>>,
    /// Partitions bound by rules: they are not moved for balance.
    bound: BTreeSet<usize>,
}

impl<'a> OwnerChoice<'a> {
    fn new(partitions: usize, candidates: &'a [OwnerCandidate], apart: &'a [BTreeSet<Partition>]) -> Self {
        let weights: BTreeMap<Nonce, u64> =
            candidates.iter().map(|candidate| (candidate.node, u64::from(candidate.weight.max(1)))).collect();
        let sum = weights.values().map(|weight| u128::from(*weight)).sum::<u128>().max(1);
        let load = |(node, weight): (Nonce, u64)| {
            (node, NodeShare { weight, has: 0, share: partitions as u128 * u128::from(weight), sum })
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

    /// Gives away bound partitions: to the current owner, else to the best candidate, preferably one below its share.
    fn bind(&mut self, bearers: &[Option<Nonce>]) {
        let candidates = self.candidates;
        for index in std::mem::take(&mut self.bound) {
            let partition = Partition(index as u16);
            let may = |candidate: &&OwnerCandidate| !candidate.without.contains(&partition);
            let willing = candidates.iter().filter(may).count();
            let offer = |candidate: &OwnerCandidate| {
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

    /// Returns how many more partitions of an `apart` set a node would have than it should, if this many nodes share
    /// the set.
    fn crowd(&self, partition: Partition, node: Nonce, nodes: usize) -> usize {
        let more = |apart: &BTreeSet<Partition>| {
            let here = |other: &&Partition| self.chosen.get(usize::from(other.0)) == Some(&Some(node));
            (apart.iter().filter(here).count() + 1).saturating_sub(apart.len().div_ceil(nodes.max(1)))
        };
        self.apart.iter().filter(|apart| apart.contains(&partition)).map(more).max().unwrap_or(0)
    }

    /// Lets candidates keep their partitions up to their share, those with the highest scores first.
    fn keep(&mut self, bearers: &[Option<Nonce>]) {
        let here = (0..).zip(bearers).filter(|(index, _)| !self.bound.contains(index));
        let here = here.filter_map(|(index, bearer)| Some((index, (*bearer)?)));
        let mut held: Vec<(f64, usize, Nonce)> = here
            .filter_map(|(index, node)| Some((score(index, node, self.loads.get(&node)?.weight), index, node)))
            .collect();
        held.sort_by(best_first);
        for (_, index, node) in held {
            self.give(index, node, NodeShare::ceiling);
        }
    }

    /// Gives partitions without an owner to candidates that have fewer than `bound`.
    fn fill(&mut self, bound: fn(&NodeShare) -> u64) {
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

    /// Takes partitions from candidates above the lower bound of their share as long as another one is below it.
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
            self.give(index, to, NodeShare::floor);
        }
    }

    fn give(&mut self, index: usize, node: Nonce, bound: fn(&NodeShare) -> u64) {
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

/// Returns the score of a node for a partition: `-weight / ln(hash)`, with a hash between 0 and 1. A node with twice
/// the weight has the highest score twice as often.
fn score(partition: usize, node: Nonce, weight: u64) -> f64 {
    let hash = mix(node.0 ^ mix(partition as u64 + 1));
    // 53 bits, and never 0 nor 1.
    let unit = ((hash >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -(weight as f64) / unit.ln()
}

/// Mixes a word with SplitMix64's last step: every bit of the input matters to every bit of the output.
fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_follow_weights() {
        let best = |partition| score(partition, Nonce(1), 300) > score(partition, Nonce(2), 100);
        let won = (0..10_000).filter(|partition| best(*partition)).count();
        assert!((7_300..7_700).contains(&won), "a node with three times the weight won {won} of 10000");
    }
}
