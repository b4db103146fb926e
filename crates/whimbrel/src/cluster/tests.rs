//! Several nodes in one process, over a store in memory, with agents that are only numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel_platform::cluster::{
    AdoptError, ClusterTerms, LEVEL, LocalNode, Mover, Nonce, TroubleKind, WorkTotals, YIELD_PATIENCE, YieldFailure,
};
use whimbrel_platform::mobility::{HopError, Wish};
use whimbrel_platform::store::{
    Append, Coord, Epoch, Journal, Lsn, OpenError, Partition, Revision, StoreError, WatchGuard, WatchNotice, WriteError,
};
use whimbrel_store::{Memory, Point, StoreFault};

use super::weight::Weighing;
use super::{ClusterHandle, JoinError, Joined, random};

const PARTITIONS: u16 = 8;
const TAKEOVER: Duration = Duration::from_secs(1);
/// Longest time for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node's way to the store, which can be closed.
struct Gate {
    store: Arc<Memory>,
    closed: Arc<AtomicBool>,
}

impl Gate {
    fn check(&self) -> Result<(), StoreError> {
        match self.closed.load(Ordering::Relaxed) {
            true => Err(StoreError::Away("the gate is closed".to_owned())),
            false => Ok(()),
        }
    }
}

impl Coord for Gate {
    fn read(&self, key: &str) -> Result<Option<(Revision, Vec<u8>)>, StoreError> {
        self.check()?;
        Coord::read(&*self.store, key)
    }

    fn write(&self, key: &str, expected: Revision, value: &[u8]) -> Result<Revision, WriteError> {
        self.check().map_err(|error| WriteError::Retry(error.to_string()))?;
        self.store.write(key, expected, value)
    }

    fn remove(&self, key: &str, expected: Revision) -> Result<(), WriteError> {
        self.check().map_err(|error| WriteError::Retry(error.to_string()))?;
        Coord::remove(&*self.store, key, expected)
    }

    fn watch(
        &self,
        prefix: &str,
        mut tell: Box<dyn FnMut(WatchNotice) + Send>,
    ) -> Result<Box<dyn WatchGuard>, StoreError> {
        let closed = Arc::clone(&self.closed);
        // What is told while it is closed comes late.
        let told = move |watched| {
            while closed.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            tell(watched);
        };
        self.store.watch(prefix, Box::new(told))
    }
}

#[derive(Default)]
struct RecordedChanges {
    served: Mutex<BTreeMap<Partition, Epoch>>,
    links: Mutex<Vec<(String, String)>>,
    deposed: AtomicBool,
    concluded: AtomicBool,
    failed: Mutex<String>,
    /// Duration of adopting.
    slow_ms: AtomicU64,
    /// A partition that cannot be read here.
    damaged: Mutex<Option<Partition>>,
    all_damaged: AtomicBool,
    /// A partition whose agents do not stop.
    busy: Mutex<Option<Partition>>,
    /// Nodes that tell it what they serve.
    peers: Mutex<Vec<(String, Arc<RecordedChanges>)>>,
}

struct Fake {
    store: Arc<Memory>,
    seen: Arc<RecordedChanges>,
}

impl LocalNode for Fake {
    fn adopt(&self, partitions: &[(Partition, Epoch)]) -> Vec<(Partition, AdoptError)> {
        std::thread::sleep(Duration::from_millis(self.seen.slow_ms.load(Ordering::Relaxed)));
        let mut failed = Vec::new();
        for (partition, epoch) in partitions {
            let is_damaged =
                self.seen.all_damaged.load(Ordering::Relaxed) || *self.seen.damaged.lock().unwrap() == Some(*partition);
            match self.store.open(*partition, *epoch) {
                Ok(_) if is_damaged => failed.push((*partition, AdoptError::Unreadable("it is damaged".to_owned()))),
                Ok(_) => drop(self.seen.served.lock().unwrap().insert(*partition, *epoch)),
                Err(OpenError::Fenced { by, .. }) => failed.push((*partition, AdoptError::Fenced { by })),
                Err(other) => failed.push((*partition, AdoptError::Unreadable(other.to_string()))),
            }
        }
        failed
    }

    fn yield_up(&self, partitions: &[Partition]) -> Vec<(Partition, YieldFailure)> {
        let stuck = || self.seen.busy.lock().unwrap().filter(|busy| partitions.contains(busy));
        let until = Instant::now() + YIELD_PATIENCE;
        while stuck().is_some() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let stuck = stuck();
        let stays = |partition: &Partition| !partitions.contains(partition) || stuck == Some(*partition);
        self.seen.served.lock().unwrap().retain(|partition, _| stays(partition));
        stuck.map(|partition| (partition, YieldFailure("it does not stop".to_owned()))).into_iter().collect()
    }

    fn link_with(&self, members: &[(String, String)]) {
        *self.seen.links.lock().unwrap() = members.to_vec();
    }

    fn server_of(&self, partition: Partition) -> Option<String> {
        let peers = self.seen.peers.lock().unwrap();
        let serves = |seen: &RecordedChanges| seen.served.lock().unwrap().contains_key(&partition);
        peers.iter().find(|(_, seen)| serves(seen)).map(|(name, _)| name.clone())
    }

    fn agents(&self) -> u64 {
        self.seen.served.lock().unwrap().len() as u64 * 100
    }

    fn work(&self) -> WorkTotals {
        WorkTotals::default()
    }

    fn deposed(&self) {
        self.seen.deposed.store(true, Ordering::Relaxed);
    }

    fn concluded(&self) {
        self.seen.concluded.store(true, Ordering::Relaxed);
    }

    fn failed(&self, why: &str) {
        *self.seen.failed.lock().unwrap() = why.to_owned();
    }
}

struct ThreadNode {
    cluster: ClusterHandle,
    seen: Arc<RecordedChanges>,
    closed: Arc<AtomicBool>,
}

impl ThreadNode {
    fn has(&self) -> usize {
        self.seen.served.lock().unwrap().len()
    }
}

fn terms() -> ClusterTerms {
    ClusterTerms {
        me: Nonce(random()),
        name: None,
        level: LEVEL,
        weight: 10,
        standby: false,
        fresh: false,
        alone: false,
        patience: TAKEOVER,
        project: "garden".to_owned(),
        token: "secret".to_owned(),
        process: "a test".to_owned(),
        layout: PARTITIONS.into(),
        labels: Vec::new(),
        programs: BTreeMap::new(),
    }
}

fn join_with(store: &Arc<Memory>, terms: ClusterTerms) -> Result<ThreadNode, JoinError> {
    join_weighing(store, terms, None)
}

fn join_weighing(
    store: &Arc<Memory>,
    terms: ClusterTerms,
    weighing: Option<Weighing>,
) -> Result<ThreadNode, JoinError> {
    join_recording(store, terms, weighing, Arc::default())
}

fn join_recording(
    store: &Arc<Memory>,
    terms: ClusterTerms,
    weighing: Option<Weighing>,
    seen: Arc<RecordedChanges>,
) -> Result<ThreadNode, JoinError> {
    let closed = Arc::<AtomicBool>::default();
    let gate = Arc::new(Gate { store: Arc::clone(store), closed: Arc::clone(&closed) });
    let journal = Arc::clone(store);
    let forget = Box::new(move |epoch| {
        whimbrel_runtime::erase(&*journal, epoch).map_err(|error| StoreError::Away(error.to_string()))
    });
    let wait = |time| {
        std::thread::sleep(time);
        false
    };
    let Joined::In(cluster) = ClusterHandle::join(gate, terms, weighing, forget, wait, |_| {})? else {
        unreachable!("nobody interrupts")
    };
    cluster.begin("here", Arc::new(Fake { store: Arc::clone(store), seen: Arc::clone(&seen) }));
    Ok(ThreadNode { cluster, seen, closed })
}

fn join(store: &Arc<Memory>) -> ThreadNode {
    join_with(store, terms()).expect("it is let in")
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn store() -> Arc<Memory> {
    Arc::new(Memory::new(PARTITIONS))
}

#[test]
fn silent_node_is_replaced() {
    let store = store();
    let first = join(&store);
    wait_for("all is served", || first.has() == 8);
    let second = join(&store);
    assert_eq!((first.cluster.name.as_str(), second.cluster.name.as_str()), ("n1", "n2"));
    assert_eq!(second.cluster.token, "secret");
    wait_for("the second has its half", || (first.has(), second.has()) == (4, 4));
    assert_eq!(*second.seen.links.lock().unwrap(), [("n1".to_owned(), "here".to_owned())]);
    let agents = || second.cluster.view().nodes().iter().map(|node| node.member.agents).sum::<u64>();
    wait_for("its agents are told of", || agents() == 800);
    first.closed.store(true, Ordering::Relaxed);
    wait_for("the second has all", || second.has() == 8);
    first.closed.store(false, Ordering::Relaxed);
    wait_for("the first is deposed", || first.seen.deposed.load(Ordering::Relaxed));
    assert!(!second.seen.deposed.load(Ordering::Relaxed));
}

#[test]
fn partition_move_is_answered() {
    let store = store();
    let first = join(&store);
    wait_for("all is served", || first.has() == 8);
    let second = join(&store);
    wait_for("the second has its half", || (first.has(), second.has()) == (4, 4));
    *first.seen.peers.lock().unwrap() = vec![("n2".to_owned(), Arc::clone(&second.seen))];
    let wanted = *first.seen.served.lock().unwrap().keys().next().expect("it has four");
    let ask = |to: &str| {
        let (told, outcome) = std::sync::mpsc::channel();
        let then = Box::new(move |outcome| drop(told.send(outcome)));
        first.cluster.view().bring(wanted, Wish::new(to.into(), then));
        outcome
    };
    let said = |outcome: std::sync::mpsc::Receiver<_>| outcome.recv_timeout(PATIENCE).expect("it is told");
    assert_eq!(said(ask("n7")), Err(HopError::NoSuchNode("n7".into())));
    assert_eq!(said(ask("n2")), Ok(()));
    assert!(second.seen.served.lock().unwrap().contains_key(&wanted));
    assert_eq!((first.has(), second.has()), (3, 5));
    assert_eq!(said(ask("n2")), Err(HopError::AlreadyThere("n2".into())));
    // Nobody waits for ever: not for agents that do not stop while this node ends.
    *second.seen.busy.lock().unwrap() = Some(wanted);
    let waits = ask("n1");
    let view = first.cluster.view();
    drop(first.cluster);
    assert!(matches!(said(waits), Err(HopError::NotMovable(_))));
    let (told, outcome) = std::sync::mpsc::channel();
    view.bring(wanted, Wish::new("n1".into(), Box::new(move |outcome| drop(told.send(outcome)))));
    assert!(said(outcome).is_err(), "it is not there any more");
}

#[test]
fn leaving_and_draining_hand_over() {
    let store = store();
    let [first, second, third] = [join(&store), join(&store), join(&store)];
    wait_for("all have some", || [&first, &second, &third].iter().all(|node| (2..=3).contains(&node.has())));
    first.cluster.view().drain(&third.cluster.name, true).expect("it lives");
    assert_eq!(first.cluster.view().drain("n9", true), Err("no node here is called n9".to_owned()));
    wait_for("the third has nothing", || third.has() == 0);
    wait_for("the others have all", || first.has() + second.has() == 8);
    assert!(first.cluster.view().hand_over(PATIENCE));
    assert_eq!(first.has(), 0);
    first.cluster.end(false);
    wait_for("the second has all", || second.has() == 8);
    second.cluster.view().drain(&third.cluster.name, false).expect("it lives");
    wait_for("the third takes its share", || third.has() == 4);
}

#[test]
fn ended_society_is_deleted_everywhere() {
    let store = store();
    let [first, second] = [join(&store), join(&store)];
    wait_for("both have some", || (first.has(), second.has()) == (4, 4));
    let frames = |store: &Memory| {
        let mut frames = 0;
        for partition in 0..PARTITIONS {
            let mut each = |_, _: &[u8]| {
                frames += 1;
                std::ops::ControlFlow::Continue(())
            };
            Journal::read(store, Partition(partition), Lsn(0), &mut each).expect("it is there");
        }
        frames
    };
    let (partition, epoch) = first.seen.served.lock().unwrap().iter().map(|(p, e)| (*p, *e)).next().expect("four");
    let append = Append { partition, epoch, number: 1, frame: b"a step" };
    assert!(store.append(&[append])[0].is_ok());
    assert_eq!(frames(&store), 1);
    let ending = std::thread::spawn(move || first.cluster.end(true));
    wait_for("the second hears of it", || second.seen.concluded.load(Ordering::Relaxed));
    second.cluster.end(false);
    ending.join().expect("it ends");
    assert_eq!(frames(&store), 0);
    let next = join(&store);
    wait_for("another society begins", || next.has() == 8);
}

#[test]
fn heartbeats_continue_during_adoption() {
    let store = store();
    let first = join(&store);
    wait_for("all is served", || first.has() == 8);
    let second = join(&store);
    second.seen.slow_ms.store(3 * TAKEOVER.as_millis() as u64, Ordering::Relaxed);
    wait_for("the second has some", || second.has() > 0);
    assert!(!second.seen.deposed.load(Ordering::Relaxed) && first.has() >= 4);
}

#[test]
fn unreachable_store_deposes_nobody() {
    let store = store();
    let [first, second] = [join(&store), join(&store)];
    wait_for("both have some", || (first.has(), second.has()) == (4, 4));
    let before = first.seen.served.lock().unwrap().clone();
    store.set_faults(|point| if matches!(point, Point::WriteKey(_)) { StoreFault::Crash(0) } else { StoreFault::None });
    std::thread::sleep(3 * TAKEOVER);
    store.clear_faults();
    store.recover();
    std::thread::sleep(2 * TAKEOVER);
    let deposed = |node: &ThreadNode| node.seen.deposed.load(Ordering::Relaxed);
    assert!(!deposed(&first) && !deposed(&second));
    assert_eq!(*first.seen.served.lock().unwrap(), before);
}

#[test]
fn refused_admission_explains_reason() {
    let store = store();
    let first = join(&store);
    let other = join_with(&store, ClusterTerms { project: "desert".to_owned(), ..terms() });
    let why = other.err().expect("it is another society").to_string();
    assert!(why.starts_with("the store has the society garden, not desert"), "{why}");
    // A node of the same name lives, or not: that takes a moment to find out.
    first.closed.store(true, Ordering::Relaxed);
    let (gate, forget) = (Gate { store: Arc::clone(&store), closed: Arc::default() }, Box::new(|_| Ok(())));
    let twin = ClusterTerms { name: Some("n1".to_owned()), ..terms() };
    let mut waits = 0;
    let joined = ClusterHandle::join(
        Arc::new(gate),
        twin,
        None,
        forget,
        |time| {
            std::thread::sleep(time);
            waits += 1;
            waits > 3
        },
        |_| {},
    );
    assert!(matches!(joined, Ok(Joined::Interrupted)));
}

/// A node that joined in a noisy moment gets its share when it has measured again.
#[test]
fn noisy_weight_is_replaced() {
    static IS_NOISY: AtomicBool = AtomicBool::new(true);
    let measure = || if IS_NOISY.load(Ordering::Relaxed) { 2.0 } else { 6.0 };
    let store = store();
    let first = join_weighing(&store, terms(), Some(Weighing::with(|| 6.0, Duration::ZERO, Duration::ZERO)));
    let second = join_weighing(&store, terms(), Some(Weighing::with(measure, Duration::ZERO, Duration::ZERO)));
    let [first, second] = [first, second].map(|node| node.expect("it is let in"));
    wait_for("the second has less", || (first.has(), second.has()) == (6, 2));
    IS_NOISY.store(false, Ordering::Relaxed);
    wait_for("the second has its half", || (first.has(), second.has()) == (4, 4));
    let weights = || first.cluster.view().nodes().iter().map(|view| view.member.weight).collect::<Vec<_>>();
    wait_for("it is told", || weights() == [6, 6]);
}

#[test]
fn unreadable_partition_ends_no_node() {
    let store = store();
    let damaged = Partition(3);
    let node = || {
        let seen = Arc::new(RecordedChanges::default());
        *seen.damaged.lock().unwrap() = Some(damaged);
        join_recording(&store, terms(), None, seen).expect("it is let in")
    };
    let first = node();
    wait_for("the rest is served", || first.has() == 7);
    let second = node();
    let troubled = |node: &ThreadNode| {
        let nodes = first.cluster.view().nodes();
        let view = nodes.into_iter().find(|view| view.member.name == node.cluster.name);
        view.is_some_and(|view| view.member.unreadable().eq([damaged]))
    };
    wait_for("both have tried", || troubled(&first) && troubled(&second));
    wait_for("the rest is shared", || first.has() + second.has() == 7 && first.has().abs_diff(second.has()) <= 1);
    let view = first.cluster.view().nodes();
    assert_eq!(view.iter().flat_map(|node| node.unserved.clone()).collect::<Vec<_>>(), [damaged]);
    // Somebody can.
    let third = join(&store);
    wait_for("the third has it", || third.seen.served.lock().unwrap().contains_key(&damaged));
    for node in [&first, &second, &third] {
        assert_eq!(*node.seen.failed.lock().unwrap(), "", "{}", node.cluster.name);
        assert!(!node.seen.deposed.load(Ordering::Relaxed));
    }
    assert!(first.cluster.view().hand_over(PATIENCE), "what it could not read is in nobody's way");
}

#[test]
fn node_without_readable_partitions_ends() {
    let store = store();
    let first = join(&store);
    wait_for("all is served", || first.has() == 8);
    let seen = Arc::new(RecordedChanges::default());
    seen.all_damaged.store(true, Ordering::Relaxed);
    let second = join_recording(&store, terms(), None, seen).expect("it is let in");
    wait_for("it gives up", || second.seen.failed.lock().unwrap().ends_with("it is damaged"));
    second.cluster.end(false);
    wait_for("the first has all", || first.has() == 8);
}

#[test]
fn stuck_agents_delay_no_takeover() {
    let store = store();
    let [first, second, third] = [join(&store), join(&store), join(&store)];
    let nodes = [&first, &second, &third];
    wait_for("all have some", || nodes.iter().all(|node| (2..=3).contains(&node.has())));
    let stuck = *first.seen.served.lock().unwrap().keys().next().expect("it has some");
    *first.seen.busy.lock().unwrap() = Some(stuck);
    first.cluster.view().drain("n1", true).expect("it lives");
    let is_told = || {
        let nodes = third.cluster.view().nodes();
        let trouble = nodes.iter().flat_map(|node| &node.member.troubles).next().cloned();
        trouble.is_some_and(|trouble| (trouble.partition, trouble.kind) == (stuck.0, TroubleKind::Stuck))
    };
    wait_for("it is said", is_told);
    wait_for("the rest is handed over", || first.has() == 1);
    first.cluster.view().drain("n1", false).expect("it lives");
    // It yields still, and takes over at the same time.
    second.closed.store(true, Ordering::Relaxed);
    wait_for("it takes over", || first.has() > 1);
    assert!(first.seen.served.lock().unwrap().contains_key(&stuck), "it does not stop");
    *first.seen.busy.lock().unwrap() = None;
    wait_for("all is served", || first.has() + third.has() == 8 && !is_told());
}

#[test]
fn dropped_part_ends_silently() {
    let store = store();
    let [first, second] = [join(&store), join(&store)];
    wait_for("both have some", || (first.has(), second.has()) == (4, 4));
    let seen = Arc::downgrade(&first.seen);
    drop(first);
    wait_for("its threads end", || seen.upgrade().is_none());
    wait_for("it is taken for dead", || second.has() == 8);
}
