//! Whole societies on a virtual clock, network and store. Nodes have their parts in a cluster and their ledgers; agents
//! send, end and are born. Nodes are killed, stand still, leave and come; links break; the store goes away and leaves
//! outcomes of writes unknown. Whatever happens, each message whose sending was written is handled once, and in order.

mod network;
mod node;
mod store;
mod world;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::cluster::MembershipEnd;
use whimbrel_platform::durable::partition_of;
use whimbrel_platform::store::{Partition, WatchNotice};
use whimbrel_testkit::with_seeds;

use self::world::SocietyWorld;
use crate::durable_actors::{Deed, FOUNDER};

const PARTITIONS: u16 = 8;
/// Names of mortal agents, which end and are born again; the others live as long as the society.
const NAMES: [&str; 10] = ["ann", "bob", "cid", "dan", "fay", "gus", "hal", "ida", "eve", "leo"];
const MORTALS: [&str; 2] = ["eve", "leo"];
/// Time limit for the society to recover.
const CALM: Duration = Duration::from_secs(30);
/// Number of seeds.
const SEEDS: u64 = 200;

fn home(name: Symbol) -> Partition {
    partition_of(name, PARTITIONS)
}

fn is_mortal(name: &str) -> bool {
    MORTALS.contains(&name)
}

impl SocietyWorld {
    /// Does something bad to the society, at random.
    fn strike(&mut self) {
        let living: Vec<usize> = (0..self.nodes.len()).filter(|index| self.nodes[*index].ended.is_none()).collect();
        let one = self.random.pick(&living).copied();
        match (self.random.between(0..=14), one) {
            (0 | 1, _) if living.len() < 9 => {
                let weight = self.random.between(50..=200) as u32;
                self.start(weight);
            }
            (2, Some(index)) => self.end(index, MembershipEnd::Left),
            (3 | 4, Some(index)) => {
                let ms = self.random.between(100..=6_000);
                self.nodes[index].paused_until = self.now + Duration::from_millis(ms);
            }
            (5, Some(index)) => {
                self.nodes[index].leaving = true;
                self.nodes[index].part.prepare_to_leave();
            }
            (6, Some(index)) => {
                let (name, drains) = (format!("n{}", self.random.between(1..=9)), !self.random.one_in(3));
                let now = self.now;
                let _ = self.nodes[index].part.ask_to_drain(&name, drains, now);
            }
            (13 | 14, Some(index)) => {
                let partition = Partition(self.random.between(0..=u64::from(PARTITIONS) - 1) as u16);
                let (name, now) = (format!("n{}", self.random.between(1..=9)), self.now);
                let _ = self.nodes[index].part.ask_to_move(partition, &name, now);
            }
            (7, _) if !self.store.away && self.random.one_in(2) => {
                self.store.away = true;
                self.tell_all(&WatchNotice::Away);
            }
            (7..=10, _) if self.store.away => self.store_comes_back(),
            (8..=11, Some(index)) => {
                let (other, ms) = (self.random.pick(&living).copied().unwrap(), self.random.between(0..=3_000));
                self.network.cut(index, other, self.now, Duration::from_millis(ms), &mut self.random);
            }
            _ => self.store.unknown = *self.random.pick(&[0, 0, 3, 10]).unwrap(),
        }
    }

    fn store_comes_back(&mut self) {
        self.store.away = false;
        self.tell_all(&WatchNotice::Back);
        for watched in self.store.all() {
            self.tell_all(&watched);
        }
    }

    /// Checks that agents handled the messages of each sender in order, none twice; between agents that live all along,
    /// also without a gap. The last message that an ended agent handled may be lost while the next agent of its name is
    /// written already: then the message comes to that one, late.
    fn check(&self) {
        for actor in self.living().flat_map(|node| &node.actors) {
            let (mut heard, mut all): (BTreeMap<(&str, u64), i64>, BTreeSet<_>) = Default::default();
            for deed in &actor.deeds {
                let Deed::Handled { from, life, number } = deed else { continue };
                assert!(all.insert((from, *life, *number)), "{}: {:?}", actor.name, actor.deeds);
                let before = heard.insert((from, *life), *number).unwrap_or(-1);
                let may_be_late = is_mortal(actor.name.as_str());
                assert!(*number > before || may_be_late, "{}: {:?}", actor.name, actor.deeds);
                let both_live = !is_mortal(actor.name.as_str()) && !is_mortal(from);
                assert!(!both_live || *number == before + 1, "{}: {:?}", actor.name, actor.deeds);
            }
        }
    }

    fn deeds(&self, name: &str, is: impl Fn(&Deed) -> bool) -> usize {
        let mut theirs = self.living().flat_map(|node| &node.actors).filter(|actor| actor.name.as_str() == name);
        let actor = theirs.next().unwrap_or_else(|| panic!("{name} is nowhere"));
        assert!(theirs.next().is_none(), "{name} is in two places");
        actor.deeds.iter().filter(|deed| is(deed)).count()
    }

    fn total(&self, count: impl Fn(&node::PlayedMember) -> usize) -> usize {
        self.living().map(count).sum()
    }

    /// Checks that nothing is on its way, and no node remembers more than it must.
    fn check_rest(&self) {
        for (from, to) in NAMES.iter().flat_map(|from| NAMES.map(|to| (from, to))) {
            if !is_mortal(from) && !is_mortal(to) {
                let sent = self.deeds(from, |deed| *deed == Deed::SentTo(to.to_owned()));
                let handled = self.deeds(to, |deed| matches!(deed, Deed::Handled { from: it, .. } if it == from));
                assert_eq!(handled, sent, "{from} to {to}");
            }
        }
        assert_eq!(self.store.handled.len(), self.store.sent.len());
        let living = self.total(|node| node.actors.len());
        assert_eq!(self.total(|node| node.ledger.agents()), living);
        let founder = usize::from(self.living().any(|node| node.ledger.ended().any(|name| name.as_str() == FOUNDER)));
        assert_eq!(self.total(|node| node.ledger.remembered()), living + founder);
        let all: Vec<Partition> = (0..PARTITIONS).map(Partition).collect();
        assert_eq!(self.total(|node| node.ledger.letters_to(&all).len()), 0);
        assert_eq!(self.total(|node| node.taken.values().map(HashSet::len).sum()), 0);
    }
}

fn storm(seed: u64) {
    let mut world = SocietyWorld::new(seed);
    world.start(100);
    for _ in 0..world.random.between(5..=40) {
        world.strike();
        let ms = world.random.between(50..=3_000);
        world.run(Duration::from_millis(ms));
        world.check();
    }
    world.store.unknown = 0;
    if world.store.away {
        world.store_comes_back();
    }
    world.busy = false;
    // All others may leave, or find that they were deposed.
    world.start(100);
    world.run(CALM);
    world.check();
    world.check_rest();
}

#[test]
fn storms_lose_no_message() {
    with_seeds(SEEDS, storm);
}
