//! Placer: the one node that changes the placement table.

use std::time::Duration;

use super::member::Nonce;
use super::placement::{Placement, PlacementRow, choose};
use super::roster::Roster;
use crate::durable::Rules;
use crate::store::Partition;
use crate::time::Time;

/// Share of all partitions, as a divisor (at least one partition), that may move between living nodes at a time.
pub const MOVES_AT_ONCE_SHARE: usize = 8;
/// Time for which no node must have come or gone before partitions move for balance, so that nodes that start together
/// are all counted.
pub const SETTLE: Duration = Duration::from_secs(1);

/// Returns true if `me` is the placer: the living node with the lowest number, as far as this node sees. Others may see
/// otherwise; then one of their writes has no effect.
pub fn is_placer(roster: &Roster, me: Nonce, now: Time) -> bool {
    roster.is_clear()
        && roster.living(now).find(|(_, member)| member.takes_part()).is_some_and(|(first, _)| first == me)
}

/// Returns the table as the placer wants it now; `None` if it is well as it is.
///
/// - Partitions of dead nodes go to other nodes at once.
/// - Moves between living nodes are marked, a few partitions at a time, and handed over by their owners.
/// - A partition that its owner cannot read goes to a node that has not tried; if all have tried, it stays.
/// - A node that takes no more partitions (it drains, or stands by) loses its own without delay.
/// - For balance, nothing moves before the nodes have been unchanged since `settled` for [`SETTLE`].
/// - A partition that moved because of load counts for the share of its former node. It stays as long as both nodes may
///   have it.
/// - A partition with a wish moves at once, and stays as long as the wished node may have it. It may count for another
///   node's share, too.
pub fn proposal(placement: &Placement, roster: &Roster, rules: &Rules, settled: Time, now: Time) -> Option<Placement> {
    let candidates = roster.candidates(|node| placement.owned_by(node), rules, now);
    let may_have = |node: Nonce, partition: Partition| {
        candidates.iter().any(|candidate| candidate.node == node && !candidate.without.contains(&partition))
    };
    let lives = |node: Nonce| !roster.is_dead(node, now);
    let is_stuck = |owner: Option<Nonce>, partition: Partition| {
        owner.and_then(|owner| roster.member(owner)).is_some_and(|member| member.is_stuck_with(partition))
    };
    let wish = |partition: Partition, part: &PlacementRow| part.wish.filter(|node| may_have(*node, partition));
    // Owner, or next owner.
    let carrier =
        |partition: Partition, part: &PlacementRow| part.next.filter(|node| may_have(*node, partition)).or(part.owner);
    // Node for whose share the partition counts. A place that is due to load does not count.
    let bearer = |(partition, part): (Partition, &PlacementRow)| {
        let home = part.home.filter(|node| may_have(*node, partition));
        home.or(carrier(partition, part)).filter(|node| lives(*node))
    };
    let bearers: Vec<Option<Nonce>> = placement.iter().map(bearer).collect();
    let chosen = choose(&bearers, &candidates, &rules.apart);
    let mut proposed = placement.clone();
    let mut waiting: Vec<(Partition, Nonce)> = Vec::new();
    let mut moving = 0;
    for ((index, part), to) in (0..).zip(&mut proposed.parts).zip(chosen) {
        let owner = part.owner.filter(|owner| lives(*owner));
        let elsewhere = carrier(Partition(index), part).filter(|node| may_have(*node, Partition(index)));
        part.wish = wish(Partition(index), part);
        part.home = match part.wish {
            Some(wish) => to.filter(|share| *share != wish),
            None => part.home.filter(|home| to == Some(*home) && elsewhere.is_some()),
        };
        match (owner, part.wish.or(part.home.and(elsewhere)).or(to)) {
            // No living node may have the partition: it waits.
            (_, None) => part.next = part.next.filter(|node| may_have(*node, Partition(index))),
            (None, Some(to)) => {
                (part.owner, part.next) = (Some(to), None);
                part.epoch.0 += 1;
            }
            (Some(_), Some(to)) => {
                part.next = part.next.filter(|next| may_have(*next, Partition(index)) && Some(*next) != part.owner);
                match part.next {
                    // A partition whose agents do not stop delays no others.
                    Some(_) => moving += usize::from(!is_stuck(part.owner, Partition(index))),
                    // A caller waits for this move.
                    None if part.owner != Some(to) && part.wish.is_some() => part.next = Some(to),
                    None if part.owner != Some(to) => waiting.push((Partition(index), to)),
                    None => {}
                }
            }
        }
    }
    let may_go = |owner, partition| !may_have(owner, partition) || now - settled >= SETTLE;
    mark(&mut proposed, waiting, moving, may_go);
    (proposed != *placement).then_some(proposed)
}

/// Marks partitions to move from owners that `may_go`, as many as may move at once.
fn mark(
    table: &mut Placement,
    waiting: Vec<(Partition, Nonce)>,
    moving: usize,
    may_go: impl Fn(Nonce, Partition) -> bool,
) {
    let at_once = (table.parts.len() / MOVES_AT_ONCE_SHARE).max(1);
    let mut room = at_once.saturating_sub(moving);
    for (partition, to) in waiting {
        let Some(part) = table.parts.get_mut(usize::from(partition.0)) else { continue };
        if room > 0 && part.owner.is_some_and(|owner| may_go(owner, partition)) {
            part.next = Some(to);
            room -= 1;
        }
    }
}
