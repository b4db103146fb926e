//! Cluster decisions: the choice of owners, the table, the view of living nodes, and the duties of one node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use whimbrel_platform::Time;
use whimbrel_platform::cluster::{
    ChangeKind, Duties, Holdings, LEVEL, Load, LoadedNode, Member, MemberPhase, Nonce, OwnerCandidate, Placement,
    PlacementRow, Roster, SETTLE, Trouble, TroubleKind, choose, is_placer, proposal, relief,
};
use whimbrel_platform::durable::{Pin, Rules};
use whimbrel_platform::store::{Epoch, Partition, Revision};

const PATIENCE: Duration = Duration::from_secs(3);

fn candidates(weights: &[u32]) -> Vec<OwnerCandidate> {
    // Numbers as they are drawn: all bits matter.
    let number = |index: u64| Nonce((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..)
        .zip(weights)
        .map(|(index, weight)| OwnerCandidate { node: number(index), weight: *weight, without: BTreeSet::new() })
        .collect()
}

fn counts(chosen: &[Option<Nonce>]) -> BTreeMap<Nonce, usize> {
    let mut counts = BTreeMap::new();
    for node in chosen.iter().flatten() {
        *counts.entry(*node).or_default() += 1;
    }
    counts
}

/// Checks that each candidate has its share, rounded down or up.
fn assert_fair(chosen: &[Option<Nonce>], candidates: &[OwnerCandidate]) {
    let sum: u64 = candidates.iter().map(|candidate| u64::from(candidate.weight.max(1))).sum();
    let counts = counts(chosen);
    for candidate in candidates {
        let share = chosen.len() as u64 * u64::from(candidate.weight.max(1));
        let has = counts.get(&candidate.node).copied().unwrap_or(0) as u64;
        assert!((share / sum..=share.div_ceil(sum)).contains(&has), "{has} of {}, share {share}/{sum}", chosen.len());
    }
    assert!(chosen.iter().all(Option::is_some), "one is nobody's");
}

fn moved(before: &[Option<Nonce>], after: &[Option<Nonce>]) -> usize {
    before.iter().zip(after).filter(|(before, after)| before != after).count()
}

proptest! {
    #[test]
    fn bound_partitions_are_given_first(
        nodes in 1usize..8,
        partitions in 1usize..60,
        without in prop::collection::vec((0usize..8, 0u16..60), 0..40),
    ) {
        let mut candidates = candidates(&vec![100; nodes]);
        for (node, partition) in without {
            candidates[node % nodes].without.insert(Partition(partition));
        }
        let may = |index: usize, node: Nonce| {
            candidates.iter().any(|one| one.node == node && !one.without.contains(&Partition(index as u16)))
        };
        let chosen = choose(&vec![None; partitions], &candidates, &[]);
        for (index, node) in chosen.iter().enumerate() {
            prop_assert_eq!(node.is_some(), candidates.iter().any(|one| may(index, one.node)), "somebody may have it");
            prop_assert!(node.is_none_or(|node| may(index, node)));
        }
        prop_assert_eq!(&chosen, &choose(&chosen, &candidates, &[]), "what is chosen stays so");
        let counts = counts(&chosen);
        let is_bound = |index: &usize| candidates.iter().any(|one| one.without.contains(&Partition(*index as u16)));
        let free = |node: Nonce| {
            (0..partitions).filter(|index| chosen[*index] == Some(node) && !is_bound(index)).count()
        };
        for candidate in &candidates {
            let has = counts.get(&candidate.node).copied().unwrap_or(0);
            prop_assert!(has <= partitions.div_ceil(nodes) || free(candidate.node) == 0, "more than its share only of those");
        }
    }

    #[test]
    fn shares_follow_weights(weights in prop::collection::vec(0u32..2_000, 1..15), partitions in 0usize..600) {
        let candidates = candidates(&weights);
        let chosen = choose(&vec![None; partitions], &candidates, &[]);
        assert_fair(&chosen, &candidates);
        // The order of the arguments does not matter, and the choice is stable.
        let turned: Vec<OwnerCandidate> = candidates.iter().rev().cloned().collect();
        prop_assert_eq!(&chosen, &choose(&vec![None; partitions], &turned, &[]));
        prop_assert_eq!(&chosen, &choose(&chosen, &turned, &[]));
    }

    #[test]
    fn leaving_node_moves_only_its_partitions(nodes in 2usize..15, gone in any::<prop::sample::Index>(), partitions in 1usize..600) {
        let mut candidates = candidates(&vec![100; nodes]);
        let before = choose(&vec![None; partitions], &candidates, &[]);
        let gone = candidates.remove(gone.index(nodes)).node;
        let after = choose(&before, &candidates, &[]);
        assert_fair(&after, &candidates);
        let had = counts(&before).get(&gone).copied().unwrap_or(0);
        prop_assert_eq!(moved(&before, &after), had);
    }

    #[test]
    fn joining_node_moves_only_its_share(weights in prop::collection::vec(1u32..500, 2..15), partitions in 1usize..600) {
        let mut candidates = candidates(&weights);
        let newcomer = candidates.remove(0);
        let before = choose(&vec![None; partitions], &candidates, &[]);
        candidates.push(newcomer.clone());
        let after = choose(&before, &candidates, &[]);
        assert_fair(&after, &candidates);
        let gets = counts(&after).get(&newcomer.node).copied().unwrap_or(0);
        // Each of the others may give one to another of them, because shares are rounded.
        prop_assert!(moved(&before, &after) <= gets + candidates.len(), "{} moved, {gets} to the newcomer", moved(&before, &after));
    }

    #[test]
    fn table_round_trips(parts in prop::collection::vec((0u64..9, 0u64..5, 0u64..5, 0u64..5, 0u64..5), 0..50)) {
        let node = |number: u64| (number > 0).then_some(Nonce(number << 40));
        let part = |&(epoch, owner, next, home, wish): &(u64, u64, u64, u64, u64)| PlacementRow {
            epoch: Epoch(epoch),
            owner: node(owner),
            next: node(next),
            home: node(home),
            wish: node(wish),
        };
        let table = Placement { parts: parts.iter().map(part).collect() };
        let partitions = table.parts.len() as u16;
        prop_assert_eq!(Placement::decode(&table.encode(), partitions), Ok(table.clone()));
        prop_assert!(Placement::decode(&table.encode(), partitions + 1).is_err());
    }

    #[test]
    fn malformed_table_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Placement::decode(&bytes, 16).is_err());
    }
}

proptest! {
    /// With constant loads, each move leaves both nodes less busy than the busier one was, so moves end soon.
    #[test]
    fn load_moves_come_to_an_end(
        weights in prop::collection::vec(1u32..400, 2..9),
        works in prop::collection::vec(0u32..20_000, 1..40),
    ) {
        let candidates = candidates(&weights);
        let chosen = choose(&vec![None; works.len()], &candidates, &[]);
        let mut owners: Vec<Nonce> = chosen.into_iter().flatten().collect();
        let (mut before, mut moves) = (busiest_first(&owners, &works, &candidates), 0);
        while let Some((partition, to)) = step(&owners, &works, &candidates) {
            prop_assert_ne!(std::mem::replace(&mut owners[usize::from(partition.0)], to), to);
            let after = busiest_first(&owners, &works, &candidates);
            prop_assert!(after < before, "{before:?} {after:?}");
            before = after;
            moves += 1;
        }
        prop_assert!(moves <= 2 * works.len(), "{moves} moves of {}", works.len());
    }
}

/// Returns the load that each node would have without bounds, in thousandths, if partitions take this much of a node of
/// weight 1.
fn wanted(owners: &[Nonce], works: &[u32], candidate: &OwnerCandidate) -> Vec<(u16, u32)> {
    let its = (0..).zip(owners.iter().zip(works)).filter(|(_, (owner, _))| **owner == candidate.node);
    its.map(|(index, (_, work))| (index, work / candidate.weight)).collect()
}

fn busiest_first(owners: &[Nonce], works: &[u32], candidates: &[OwnerCandidate]) -> Vec<u32> {
    let all = |candidate| wanted(owners, works, candidate).iter().map(|(_, wanted)| wanted).sum();
    let mut all: Vec<u32> = candidates.iter().map(all).collect();
    all.sort_unstable_by_key(|busy| std::cmp::Reverse(*busy));
    all
}

/// Returns the load of each node, bounded.
fn loads(owners: &[Nonce], works: &[u32], candidates: &[OwnerCandidate]) -> Vec<Load> {
    let load = |candidate: &OwnerCandidate| {
        let wanted = wanted(owners, works, candidate);
        let all: u32 = wanted.iter().map(|(_, share)| share).sum();
        let share = |share: u32| (u64::from(share) * 1_000 / u64::from(all.max(1_000))) as u16;
        let parts: Vec<(u16, u16)> = wanted.iter().map(|(index, wanted)| (*index, share(*wanted))).collect();
        Load { busy: share(all), parts }
    };
    candidates.iter().map(load).collect()
}

fn step(owners: &[Nonce], works: &[u32], candidates: &[OwnerCandidate]) -> Option<(Partition, Nonce)> {
    let part = |owner: &Nonce| PlacementRow { owner: Some(*owner), epoch: Epoch(1), ..PlacementRow::default() };
    let table = Placement { parts: owners.iter().map(part).collect() };
    let loads = loads(owners, works, candidates);
    let bearers: Vec<LoadedNode> =
        candidates.iter().zip(&loads).map(|(candidate, load)| LoadedNode { candidate, load }).collect();
    relief(&table, &bearers, |_| true, |_| true, |_, _| true)
}

#[test]
fn load_move_minimises_busier_node() {
    let candidates = candidates(&[100; 3]);
    let [a, b, c] = [0, 1, 2].map(|index: usize| candidates[index].node);
    let moved = |works: [u32; 5]| step(&[a, a, a, b, c], &works.map(|work| work * 100), &candidates);
    assert_eq!(moved([400, 300, 200, 200, 100]), Some((Partition(0), c)));
    assert_eq!(moved([800, 100, 20, 500, 500]), Some((Partition(1), b.min(c))));
    assert_eq!(moved([800, 20, 20, 700, 700]), None, "it would only change places");
    assert_eq!(moved([300, 200, 100, 0, 0]), None, "it is not too busy");
    let mut pinned = candidates.clone();
    pinned[2].without = BTreeSet::from([Partition(0)]);
    let works = [400, 300, 200, 200, 100].map(|work| work * 100);
    assert_eq!(step(&[a, a, a, b, c], &works, &pinned), Some((Partition(1), c)));
}

#[test]
fn load_move_counts_for_home_node() {
    let members = [(1, member(100, MemberPhase::Running)), (2, member(100, MemberPhase::Running))];
    let settled = |table: &Placement, members: &[(u64, Member)]| {
        let roster = roster(members);
        let now = Time::ZERO + SETTLE;
        proposal(table, &roster, &Rules::default(), Time::ZERO, now)
    };
    let part = |owner: u64| PlacementRow { owner: Some(Nonce(owner)), epoch: Epoch(1), ..PlacementRow::default() };
    let mut table = Placement { parts: [1, 1, 1, 1, 2, 2, 2, 2].map(part).to_vec() };
    assert_eq!(settled(&table, &members), None);
    for partition in [0, 1] {
        table.relieve(Partition(partition), Nonce(2), false);
        assert_eq!(settled(&table, &members), None, "it is on its way");
        table.hand_over(Nonce(1), &[Partition(partition)]);
        assert_eq!(settled(&table, &members), None, "it is where it is to be");
    }
    assert_eq!((table.owned_by(Nonce(1)), table.owned_by(Nonce(2))), (2, 6));
    assert_eq!(
        table.parts[0],
        PlacementRow { owner: Some(Nonce(2)), epoch: Epoch(2), home: Some(Nonce(1)), ..PlacementRow::default() }
    );
    // If its owner leaves, it goes home. If its home leaves, it stays.
    let drains = |node: usize| {
        let mut members = members.clone();
        members[node].1.state = MemberPhase::Draining;
        members
    };
    let home = settled(&table, &drains(1)).unwrap();
    assert_eq!((home.parts[0].next, home.parts[0].home), (Some(Nonce(1)), None));
    let stays = settled(&table, &drains(0)).unwrap();
    assert_eq!((stays.parts[0].owner, stays.parts[0].next, stays.parts[0].home), (Some(Nonce(2)), None, None));
    let mut dead = members.to_vec();
    dead[1].1.state = MemberPhase::Left;
    let taken = settled(&table, &dead).unwrap();
    assert_eq!(taken.parts[0], PlacementRow { owner: Some(Nonce(1)), epoch: Epoch(3), ..PlacementRow::default() });
}

#[test]
fn equal_nodes_get_equal_shares() {
    let candidates = candidates(&[100; 4]);
    let chosen = choose(&[None; 1024], &candidates, &[]);
    assert!(counts(&chosen).values().all(|count| *count == 256));
    // Without bounds, few partitions would go to another node than the best: the scores are spread evenly.
    let alone: Vec<usize> = candidates
        .iter()
        .map(|one| moved(&choose(&[None; 1024], &candidates, &[]), &vec![Some(one.node); 1024]))
        .collect();
    assert_eq!(alone, [768; 4]);
}

#[test]
fn no_candidates_give_no_owners() {
    assert_eq!(choose(&[Some(Nonce(1)), None], &[], &[]), [None, None]);
}

#[test]
fn nonsensical_rows_are_refused() {
    for bad in [
        r#"{"nodes":[],"parts":[[1,0]]}"#,
        r#"{"nodes":["0000000000000001"],"parts":[[-1,0]]}"#,
        r#"{"nodes":["0000000000000001"],"parts":[[1,-2]]}"#,
        r#"{"nodes":["1"],"parts":[[1,0]]}"#,
        r#"{"nodes":["+000000000000001"],"parts":[[1,0]]}"#,
        r#"{"nodes":[],"parts":[[]]}"#,
        r#"{"parts":[[1]]}"#,
    ] {
        assert!(Placement::decode(bad.as_bytes(), 1).is_err(), "{bad}");
    }
    let read = Placement::decode(br#"{"nodes":["00000000000000ff"],"parts":[[7,0]],"later":1}"#, 1).unwrap();
    assert_eq!(read.parts, [PlacementRow { owner: Some(Nonce(255)), epoch: Epoch(7), ..PlacementRow::default() }]);
}

#[test]
fn largest_table_fits_in_value() {
    use whimbrel_platform::limits::{STORE_PARTITIONS_MAX, STORE_VALUE_BYTES_MAX};
    let candidates = candidates(&[1; 500]);
    let chosen: Vec<Option<Nonce>> =
        (0..usize::from(STORE_PARTITIONS_MAX)).map(|index| candidates.get(index % 500).map(|one| one.node)).collect();
    let part = |(index, owner): (usize, &Option<Nonce>)| PlacementRow {
        owner: *owner,
        epoch: Epoch(1_000_000),
        next: chosen.get(index + 1).copied().flatten(),
        home: chosen.get(index + 2).copied().flatten(),
        wish: chosen.get(index + 3).copied().flatten(),
    };
    let table = Placement { parts: chosen.iter().enumerate().map(part).collect() };
    assert!(table.encode().len() < STORE_VALUE_BYTES_MAX, "{} bytes", table.encode().len());
}

fn member(weight: u32, state: MemberPhase) -> Member {
    Member {
        name: "n".into(),
        address: String::new(),
        level: LEVEL,
        weight,
        state,
        standby: false,
        number: 1,
        term: 1,
        agents: 0,
        beat: 0,
        process: String::new(),
        labels: Vec::new(),
        load: None,
        troubles: Vec::new(),
    }
}

/// Returns a roster that was told of these nodes, at time 0.
fn roster(members: &[(u64, Member)]) -> Roster {
    let mut roster = Roster::new(PATIENCE);
    for (node, member) in members {
        roster.written(Nonce(*node), Revision(*node), member.clone(), Time::ZERO);
    }
    roster.complete(Time::ZERO);
    roster.look(Time::ZERO);
    roster
}

fn running() -> Member {
    member(100, MemberPhase::Running)
}

/// Looks often until this time.
fn look_until(roster: &mut Roster, from_ms: u64, to_ms: u64) {
    (from_ms..=to_ms).step_by(250).for_each(|ms| roster.look(Time::from_ms(ms)));
}

#[test]
fn silent_node_is_dead_after_patience() {
    let mut roster = roster(&[(1, running()), (2, running()), (3, member(1, MemberPhase::Left))]);
    look_until(&mut roster, 0, 2_000);
    roster.written(Nonce(1), Revision(10), running(), Time::from_ms(2_000));
    // A repeated value is no sign of life.
    roster.written(Nonce(2), Revision(2), running(), Time::from_ms(2_000));
    look_until(&mut roster, 2_250, 3_000);
    let dead = |roster: &Roster, at: u64| [1, 2, 3].map(|node| roster.is_dead(Nonce(node), Time::from_ms(at)));
    assert_eq!(dead(&roster, 2_999), [false, false, true]);
    assert_eq!(dead(&roster, 3_000), [false, true, true]);
    assert_eq!(roster.living(Time::from_ms(3_000)).map(|(node, _)| node.0).collect::<Vec<_>>(), [1]);
    roster.removed(Nonce(1), Time::from_ms(3_000));
    assert_eq!(dead(&roster, 3_000), [true, true, true]);
}

#[test]
fn absent_store_kills_no_node() {
    let mut roster = roster(&[(1, running()), (2, running())]);
    roster.away();
    look_until(&mut roster, 0, 60_000);
    assert!(!roster.is_clear() && !roster.is_dead(Nonce(1), Time::from_ms(60_000)));
    roster.back(Time::from_ms(60_000));
    roster.written(Nonce(2), Revision(2), running(), Time::from_ms(60_100));
    assert!(!roster.is_dead(Nonce(1), Time::from_ms(60_100)), "not all is told again");
    roster.complete(Time::from_ms(60_200));
    assert!(roster.is_clear());
    // A node that was not told of again is gone; the other one has its full patience.
    let dead = |roster: &Roster, at: u64| [1, 2].map(|node| roster.is_dead(Nonce(node), Time::from_ms(at)));
    assert_eq!(dead(&roster, 60_200), [true, false]);
    look_until(&mut roster, 60_250, 63_250);
    assert_eq!(dead(&roster, 63_199), [true, false]);
    assert_eq!(dead(&roster, 63_200), [true, true]);
}

#[test]
fn stalled_observer_suspects_no_node() {
    let mut roster = roster(&[(1, running())]);
    look_until(&mut roster, 0, 2_000);
    roster.look(Time::from_ms(30_000));
    assert!(!roster.is_dead(Nonce(1), Time::from_ms(30_000)));
    look_until(&mut roster, 30_250, 33_000);
    assert!(roster.is_dead(Nonce(1), Time::from_ms(33_000)));
}

#[test]
fn mentioned_node_has_full_patience() {
    let mut roster = roster(&[(1, running())]);
    look_until(&mut roster, 0, 1_000);
    roster.mentioned(Nonce(9), Time::from_ms(1_000));
    look_until(&mut roster, 1_000, 4_000);
    assert!(!roster.is_dead(Nonce(9), Time::from_ms(3_999)));
    assert!(roster.is_dead(Nonce(9), Time::from_ms(4_000)));
    assert!(!roster.is_dead(Nonce(10), Time::from_ms(4_000)), "nobody mentioned it");
}

#[test]
fn sole_owner_is_alone() {
    let mut roster = Roster::alone(Nonce(2));
    roster.written(Nonce(1), Revision(1), running(), Time::ZERO);
    roster.written(Nonce(2), Revision(2), running(), Time::ZERO);
    roster.complete(Time::ZERO);
    assert!(roster.is_dead(Nonce(1), Time::ZERO) && !roster.is_dead(Nonce(2), Time::NEVER));
    assert!(is_placer(&roster, Nonce(2), Time::ZERO));
}

#[test]
fn standby_serves_only_without_ordinary_node() {
    let standing = Member { standby: true, ..running() };
    let none = |_: Nonce| 0;
    let both = roster(&[(1, standing.clone()), (2, running()), (3, running())]);
    let nodes = |roster: &Roster| {
        roster.candidates(none, &Rules::default(), Time::ZERO).iter().map(|one| one.node.0).collect::<Vec<_>>()
    };
    assert_eq!(nodes(&both), [2, 3]);
    let waiting = roster(&[(1, standing.clone()), (2, standing.clone()), (3, member(1, MemberPhase::Draining))]);
    assert_eq!(nodes(&waiting), [1], "one of them is enough");
    let serving = waiting.candidates(|node| usize::from(node == Nonce(2)), &Rules::default(), Time::ZERO);
    assert_eq!(serving.iter().map(|one| one.node.0).collect::<Vec<_>>(), [2], "who serves goes on serving");
}

fn table(owners: &[u64]) -> Placement {
    let part = |owner: &u64| PlacementRow { owner: Some(Nonce(*owner)), epoch: Epoch(1), ..PlacementRow::default() };
    Placement { parts: owners.iter().map(part).collect() }
}

/// Returns the placer's proposal, long after any node came or went.
fn proposed(placement: &Placement, roster: &Roster) -> Option<Placement> {
    proposal(placement, roster, &Rules::default(), Time::ZERO, Time::ZERO + SETTLE)
}

#[test]
fn society_begins_with_all_partitions() {
    let roster = roster(&[(1, running())]);
    let begun = proposal(&Placement::new(16, Epoch(41)), &roster, &Rules::default(), Time::ZERO, Time::ZERO).unwrap();
    assert!(
        begun
            .parts
            .iter()
            .all(|part| *part == PlacementRow { owner: Some(Nonce(1)), epoch: Epoch(42), ..PlacementRow::default() })
    );
    assert_eq!(proposed(&begun, &roster), None);
}

#[test]
fn dead_nodes_partitions_move_at_once() {
    let mut roster = roster(&[(1, running()), (2, running()), (3, running())]);
    roster.removed(Nonce(2), Time::ZERO);
    let before = table(&[1, 2, 3, 1, 2, 3, 1, 2, 3]);
    let after = proposal(&before, &roster, &Rules::default(), Time::ZERO, Time::ZERO).unwrap();
    for (before, after) in before.parts.iter().zip(&after.parts) {
        let moved = before.owner == Some(Nonce(2));
        assert_eq!(after.epoch, Epoch(if moved { 2 } else { 1 }));
        assert!(after.owner != Some(Nonce(2)) && (moved || before == after));
    }
    let kinds: Vec<ChangeKind> = after.changes_since(&before).iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::TakenOver; 3]);
}

#[test]
fn joining_node_gets_share_gradually() {
    let roster = roster(&[(1, running()), (2, running())]);
    let mut at = table(&[1; 16]);
    assert_eq!(proposal(&at, &roster, &Rules::default(), Time::ZERO, Time::ZERO), None, "others may come");
    let mut rounds = 0;
    while let Some(next) = proposed(&at, &roster) {
        let marked: Vec<Partition> =
            next.iter().filter(|(_, part)| part.next.is_some()).map(|(partition, _)| partition).collect();
        assert_eq!(marked.len(), 2, "an eighth of 16");
        assert_eq!(proposed(&next, &roster), None, "no more before these have arrived");
        at = next;
        at.hand_over(Nonce(1), &marked);
        rounds += 1;
    }
    assert_eq!((at.owned_by(Nonce(1)), at.owned_by(Nonce(2)), rounds), (8, 8, 4));
    assert_eq!(at.iter().filter(|(_, part)| part.epoch == Epoch(2)).count(), 8);
}

#[test]
fn draining_node_hands_over_at_once() {
    let draining = member(100, MemberPhase::Draining);
    let both = roster(&[(1, draining.clone()), (2, running())]);
    let next = proposal(&table(&[1; 8]), &both, &Rules::default(), Time::ZERO, Time::ZERO).unwrap();
    assert_eq!(next.parts.iter().filter(|part| part.next == Some(Nonce(2))).count(), 1);
    let alone = roster(&[(1, draining)]);
    assert_eq!(proposed(&table(&[1; 8]), &alone), None);
}

#[test]
fn next_owner_may_end_first() {
    let both = roster(&[(1, running()), (2, running())]);
    let marked = proposed(&table(&[1; 8]), &both).unwrap();
    let alone = roster(&[(1, running())]);
    assert_eq!(proposed(&marked, &alone), Some(table(&[1; 8])));
    // Its owner may end, too.
    let mut heir = roster(&[(1, running()), (2, running())]);
    heir.removed(Nonce(1), Time::ZERO);
    let after = proposal(&marked, &heir, &Rules::default(), Time::ZERO, Time::ZERO).unwrap();
    assert!(
        after
            .parts
            .iter()
            .all(|part| *part == PlacementRow { owner: Some(Nonce(2)), epoch: Epoch(2), ..PlacementRow::default() })
    );
}

#[test]
fn placer_is_first_member() {
    let joining = member(1, MemberPhase::Joining);
    let roster = roster(&[(1, joining), (2, running()), (3, running())]);
    assert_eq!([1, 2, 3].map(|node| is_placer(&roster, Nonce(node), Time::ZERO)), [false, true, false]);
}

#[test]
fn holdings_follow_table() {
    let me = Nonce(1);
    let mut holdings = Holdings::default();
    let mut at = table(&[1, 2, 1]);
    let both = [(Partition(0), Epoch(1)), (Partition(2), Epoch(1))];
    assert_eq!(holdings.duties(&at, me), Duties { adopt: both.to_vec(), ..Duties::default() });
    assert_eq!(holdings.duties(&at, me), Duties::default(), "it is told once");
    at.parts[0].next = Some(Nonce(2));
    assert_eq!(holdings.duties(&at, me), Duties::default(), "it is not served yet");
    holdings.adopted(&both);
    assert_eq!(holdings.duties(&at, me).yield_up, [Partition(0)]);
    holdings.yielded(&[Partition(0)]);
    assert_eq!(holdings.duties(&at, me).hand_over, [Partition(0)]);
    at.hand_over(me, &[Partition(0)]);
    assert_eq!(at.parts[0], PlacementRow { owner: Some(Nonce(2)), epoch: Epoch(2), ..PlacementRow::default() });
    assert_eq!(holdings.duties(&at, me), Duties::default());
    assert_eq!(holdings.served().collect::<Vec<_>>(), [Partition(2)]);
}

#[test]
fn needless_yield_returns_in_new_epoch() {
    let me = Nonce(1);
    let mut holdings = Holdings::default();
    let mut at = table(&[1]);
    holdings.duties(&at, me);
    holdings.adopted(&[(Partition(0), Epoch(1))]);
    at.parts[0].next = Some(Nonce(2));
    holdings.duties(&at, me);
    at.parts[0].next = None;
    holdings.yielded(&[Partition(0)]);
    assert_eq!(holdings.duties(&at, me).hand_over, [Partition(0)]);
    at.hand_over(me, &[Partition(0)]);
    assert_eq!(holdings.duties(&at, me).adopt, [(Partition(0), Epoch(2))]);
}

#[test]
fn unyielded_loss_deposes_node() {
    let me = Nonce(1);
    for served in [false, true] {
        let mut holdings = Holdings::default();
        let mut at = table(&[1]);
        holdings.duties(&at, me);
        if served {
            holdings.adopted(&[(Partition(0), Epoch(1))]);
        }
        at.parts[0] = PlacementRow { owner: Some(Nonce(2)), epoch: Epoch(2), ..PlacementRow::default() };
        assert!(holdings.duties(&at, me).deposed);
    }
}

#[test]
fn failed_duty_is_retried() {
    let me = Nonce(1);
    let mut holdings = Holdings::default();
    let mut at = table(&[1]);
    let mine = holdings.duties(&at, me).adopt;
    holdings.not_adopted(Partition(0));
    assert_eq!(holdings.duties(&at, me).adopt, mine);
    holdings.adopted(&mine);
    at.parts[0].next = Some(Nonce(2));
    assert_eq!(holdings.duties(&at, me).yield_up, [Partition(0)]);
    holdings.not_yielded(Partition(0));
    assert_eq!(holdings.duties(&at, me).yield_up, [Partition(0)]);
    // Some of its agents have stopped, so it cannot be served again.
    holdings.not_yielded(Partition(0));
    at.parts[0].next = None;
    assert_eq!(holdings.duties(&at, me).yield_up, [Partition(0)]);
}

#[test]
fn unreadable_partition_is_handed_over() {
    let me = Nonce(1);
    let mut holdings = Holdings::default();
    let mut at = table(&[1]);
    holdings.duties(&at, me);
    holdings.unreadable(Partition(0));
    assert_eq!(holdings.duties(&at, me), Duties::default(), "nobody else is there");
    assert!(holdings.is_empty());
    at.parts[0].next = Some(Nonce(2));
    assert_eq!(holdings.duties(&at, me).hand_over, [Partition(0)]);
    at.hand_over(me, &[Partition(0)]);
    assert_eq!(holdings.duties(&at, me), Duties::default());
    at.parts[0] = PlacementRow { owner: Some(me), epoch: Epoch(3), ..PlacementRow::default() };
    assert_eq!(holdings.duties(&at, me).adopt, [(Partition(0), Epoch(3))]);
}

#[test]
fn unreadable_partition_goes_to_untried_node() {
    let unreadable = |partition| Trouble { partition, kind: TroubleKind::Unreadable, why: String::new() };
    let member = |partitions: &[u16]| Member {
        troubles: partitions.iter().map(|partition| unreadable(*partition)).collect(),
        ..running()
    };
    let both = roster(&[(1, member(&[3])), (2, running())]);
    let next = proposal(&table(&[1, 1, 2, 1]), &both, &Rules::default(), Time::ZERO, Time::ZERO).unwrap();
    let marked: Vec<Partition> = next.iter().filter(|(_, part)| part.next.is_some()).map(|(at, _)| at).collect();
    assert_eq!(marked, [Partition(3)], "at once, and no other before the nodes have settled");
    let nobody = roster(&[(1, member(&[3])), (2, member(&[3]))]);
    assert_eq!(proposed(&table(&[1, 1, 2, 1]), &nobody), None, "it stays");
    // It counts as one of those that its owner has.
    let three = roster(&[(1, running()), (2, member(&[0, 1])), (3, member(&[0, 1]))]);
    assert_eq!(proposed(&table(&[1, 1, 2, 2, 3, 3]), &three), None);
}

#[test]
fn stuck_partition_delays_none() {
    let stuck = |partition| Trouble { partition, kind: TroubleKind::Stuck, why: String::new() };
    let with = |troubles: Vec<Trouble>| roster(&[(1, Member { troubles, ..running() }), (2, running())]);
    // One partition may move at a time.
    let moving = proposed(&table(&[1; 8]), &with(Vec::new())).unwrap();
    let marked = |table: &Placement| -> Vec<u16> {
        table.iter().filter(|(_, part)| part.next.is_some()).map(|(partition, _)| partition.0).collect()
    };
    let [first] = marked(&moving)[..] else { panic!("{:?}", marked(&moving)) };
    assert_eq!(proposed(&moving, &with(vec![stuck((first + 1) % 8)])), None, "that is another one");
    let next = proposed(&moving, &with(vec![stuck(first)])).unwrap();
    assert_eq!((marked(&next).len(), marked(&next).contains(&first)), (2, true));
}

#[test]
fn apart_partitions_are_spread() {
    let apart = [BTreeSet::from([1, 4, 7].map(Partition))];
    let all = candidates(&[100; 4]);
    let homes = |chosen: &[Option<Nonce>]| {
        [1, 4, 7].map(|index: usize| chosen[index]).into_iter().collect::<BTreeSet<_>>().len()
    };
    let chosen = choose(&[None; 16], &all, &apart);
    assert_eq!(homes(&chosen), 3);
    assert_fair(&chosen, &all);
    assert_eq!(choose(&chosen, &all, &apart), chosen, "what is chosen stays so");
    let two = choose(&chosen, &all[..2], &apart);
    assert_eq!(homes(&two), 2);
    // They part again when there are nodes, and nothing else moves than necessary.
    let three = choose(&two, &all[..3], &apart);
    assert_eq!(homes(&three), 3);
    assert!(moved(&two, &three) <= 6, "{} moved", moved(&two, &three));
}

#[test]
fn pinned_partition_waits_for_node() {
    let pins = [(Pin::Node("n9".into()), vec![Partition(2)]), (Pin::Label("gpu".into()), vec![Partition(3)])];
    let rules = Rules { pins: pins.into_iter().collect(), apart: Vec::new() };
    let named = |name: &str, labels: &[&str]| Member {
        name: name.into(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        ..running()
    };
    let owners = |roster: &Roster| {
        let table = proposal(&Placement::new(4, Epoch(0)), roster, &rules, Time::ZERO, Time::ZERO).unwrap();
        table.parts.iter().map(|part| part.owner.map(|owner| owner.0)).collect::<Vec<_>>()
    };
    assert_eq!(owners(&roster(&[(1, named("n1", &[]))])), [Some(1), Some(1), None, None]);
    let both = roster(&[(1, named("n9", &["slow"])), (2, named("n2", &["gpu"]))]);
    assert_eq!(owners(&both)[2..], [Some(1), Some(2)]);
}
