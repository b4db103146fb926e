//! Several nodes in one process, over a store in memory, with agents that are only numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel_platform::cluster::{AdoptError, LocalNode, Nonce, Terms, YieldError};
use whimbrel_platform::store::{
    Append, Coord, Epoch, Journal, Lsn, OpenError, Partition, Revision, StoreError, Watch, Watched, WriteError,
};
use whimbrel_store::{Fault, Memory, Point};

use super::{Cluster, JoinError, Joined, random};

const PARTITIONS: u16 = 8;
const TAKEOVER: Duration = Duration::from_secs(1);
/// How long something may take on a busy machine.
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

    fn watch(&self, prefix: &str, mut tell: Box<dyn FnMut(Watched) + Send>) -> Result<Box<dyn Watch>, StoreError> {
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
struct Seen {
    served: Mutex<BTreeMap<Partition, Epoch>>,
    links: Mutex<Vec<(String, String)>>,
    deposed: AtomicBool,
    concluded: AtomicBool,
    failed: Mutex<String>,
    /// How long adopting takes.
    slow_ms: AtomicU64,
}

struct Fake {
    store: Arc<Memory>,
    seen: Arc<Seen>,
}

impl LocalNode for Fake {
    fn adopt(&self, partitions: &[(Partition, Epoch)]) -> Result<(), AdoptError> {
        std::thread::sleep(Duration::from_millis(self.seen.slow_ms.load(Ordering::Relaxed)));
        for (partition, epoch) in partitions {
            self.store.open(*partition, *epoch).map_err(|error| match error {
                OpenError::Fenced { partition, by } => AdoptError::Fenced { partition, by },
                other => AdoptError::Unreadable(other.to_string()),
            })?;
        }
        self.seen.served.lock().unwrap().extend(partitions.iter().copied());
        Ok(())
    }

    fn yield_up(&self, partitions: &[Partition]) -> Result<(), YieldError> {
        self.seen.served.lock().unwrap().retain(|partition, _| !partitions.contains(partition));
        Ok(())
    }

    fn link_with(&self, members: &[(String, String)]) {
        *self.seen.links.lock().unwrap() = members.to_vec();
    }

    fn agents(&self) -> u64 {
        self.seen.served.lock().unwrap().len() as u64 * 100
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

struct Node {
    cluster: Cluster,
    seen: Arc<Seen>,
    closed: Arc<AtomicBool>,
}

impl Node {
    fn has(&self) -> usize {
        self.seen.served.lock().unwrap().len()
    }
}

fn terms() -> Terms {
    Terms {
        me: Nonce(random()),
        name: None,
        weight: 10,
        standby: false,
        fresh: false,
        alone: false,
        patience: TAKEOVER,
        project: "garden".to_owned(),
        token: "secret".to_owned(),
        process: "a test".to_owned(),
        partitions: PARTITIONS,
    }
}

fn join_with(store: &Arc<Memory>, terms: Terms) -> Result<Node, JoinError> {
    let (seen, closed) = (Arc::<Seen>::default(), Arc::<AtomicBool>::default());
    let gate = Arc::new(Gate { store: Arc::clone(store), closed: Arc::clone(&closed) });
    let journal = Arc::clone(store);
    let forget = Box::new(move |epoch| {
        whimbrel_runtime::erase(&*journal, epoch).map_err(|error| StoreError::Away(error.to_string()))
    });
    let wait = |time| {
        std::thread::sleep(time);
        false
    };
    let Joined::In(cluster) = Cluster::join(gate, terms, forget, wait, |_| {})? else {
        unreachable!("nobody interrupts")
    };
    cluster.begin("here", Arc::new(Fake { store: Arc::clone(store), seen: Arc::clone(&seen) }));
    Ok(Node { cluster, seen, closed })
}

fn join(store: &Arc<Memory>) -> Node {
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
fn nodes_share_and_who_is_silent_is_replaced_and_finds_out() {
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
fn who_leaves_hands_over_and_who_drains_has_nothing() {
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
fn a_society_ends_everywhere_and_is_forgotten() {
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
fn signs_of_life_go_on_while_partitions_are_adopted() {
    let store = store();
    let first = join(&store);
    wait_for("all is served", || first.has() == 8);
    let second = join(&store);
    second.seen.slow_ms.store(3 * TAKEOVER.as_millis() as u64, Ordering::Relaxed);
    wait_for("the second has some", || second.has() > 0);
    assert!(!second.seen.deposed.load(Ordering::Relaxed) && first.has() >= 4);
}

#[test]
fn a_store_that_is_away_deposes_nobody() {
    let store = store();
    let [first, second] = [join(&store), join(&store)];
    wait_for("both have some", || (first.has(), second.has()) == (4, 4));
    let before = first.seen.served.lock().unwrap().clone();
    store.set_faults(|point| if matches!(point, Point::WriteKey(_)) { Fault::Crash(0) } else { Fault::None });
    std::thread::sleep(3 * TAKEOVER);
    store.clear_faults();
    store.recover();
    std::thread::sleep(2 * TAKEOVER);
    let deposed = |node: &Node| node.seen.deposed.load(Ordering::Relaxed);
    assert!(!deposed(&first) && !deposed(&second));
    assert_eq!(*first.seen.served.lock().unwrap(), before);
}

#[test]
fn who_is_not_let_in_hears_why_and_who_waits_can_be_interrupted() {
    let store = store();
    let first = join(&store);
    let other = join_with(&store, Terms { project: "desert".to_owned(), ..terms() });
    let why = other.err().expect("it is another society").to_string();
    assert!(why.starts_with("the society garden is kept there, not desert"), "{why}");
    // A node of the same name lives, or not: that takes a moment to find out.
    first.closed.store(true, Ordering::Relaxed);
    let (gate, forget) = (Gate { store: Arc::clone(&store), closed: Arc::default() }, Box::new(|_| Ok(())));
    let twin = Terms { name: Some("n1".to_owned()), ..terms() };
    let mut waits = 0;
    let joined = Cluster::join(
        Arc::new(gate),
        twin,
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
