//! Faults of real servers: killed, stopped, and owners that do not know that they are deposed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use whimbrel_platform::store::{
    Append, AppendError, Coord, Epoch, Journal, Lsn, Partition, Revision, WatchNotice, WriteError,
};
use whimbrel_store::nats::{EngineOptions, Nats, status};

use super::engine::{TestEngine, connect};

fn frames(store: &Nats, partition: u16) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut each = |_: Lsn, frame: &[u8]| {
        found.push(frame.to_vec());
        ControlFlow::Continue(())
    };
    Journal::read(store, Partition(partition), Lsn(0), &mut each).unwrap();
    found
}

fn append(store: &Nats, partition: u16, epoch: u64, number: u64) -> Result<Lsn, AppendError> {
    let frame = format!("{epoch}/{number}").into_bytes();
    let append = Append { partition: Partition(partition), epoch: Epoch(epoch), number, frame: &frame };
    store.append(&[append]).remove(0)
}

/// Two nodes, each with its own connection: the old owner is not notified, and learns of it from its next append.
#[test]
fn deposed_owner_gets_no_acknowledgement() {
    let Some(engine) = TestEngine::start(3, true) else { return };
    let address = engine.fresh();
    let nodes = [connect(&address), connect(&address)];
    nodes[0].open(Partition(0), Epoch(1)).unwrap();
    for epoch in 1..=6_u64 {
        let (old, new) = (&nodes[(epoch as usize + 1) % 2], &nodes[epoch as usize % 2]);
        let deposed = AtomicBool::new(false);
        let (acknowledged, late) = scope(|threads| {
            let owner = threads.spawn(|| {
                let (mut number, mut late) = (0, 0);
                loop {
                    let was_deposed = deposed.load(Ordering::SeqCst);
                    match append(old, 0, epoch, number + 1) {
                        Ok(_) => {
                            number += 1;
                            late += u64::from(was_deposed);
                        }
                        Err(AppendError::Retry(_) | AppendError::Unknown(_)) => {}
                        Err(AppendError::Fenced { by }) => {
                            assert_eq!(by, Epoch(epoch + 1));
                            return (number, late);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            sleep(Duration::from_millis(200));
            new.open(Partition(0), Epoch(epoch + 1)).unwrap();
            deposed.store(true, Ordering::SeqCst);
            owner.join().unwrap()
        });
        assert_eq!(late, 0, "acknowledgements after the take-over in epoch {}", epoch + 1);
        assert!(acknowledged > 0);
        let start = format!("{epoch}/");
        let there: Vec<_> = frames(new, 0).into_iter().filter(|frame| frame.starts_with(start.as_bytes())).collect();
        let expected: Vec<_> = (1..=there.len()).map(|number| format!("{epoch}/{number}").into_bytes()).collect();
        assert_eq!(there, expected);
        assert!(there.len() as u64 >= acknowledged, "{acknowledged} were acknowledged, {} are there", there.len());
    }
}

/// A writer with a partition of its own: how many of its frames were acknowledged, and the longest time without one.
fn write(store: &Nats, partition: u16, done: &AtomicBool) -> (u64, Duration) {
    let (mut acknowledged, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
    while !done.load(Ordering::SeqCst) {
        let contents: Vec<Vec<u8>> =
            (acknowledged + 1..=acknowledged + 4).map(|number| format!("1/{number}").into_bytes()).collect();
        let appends: Vec<Append<'_>> = (acknowledged + 1..)
            .zip(&contents)
            .map(|(number, frame)| Append { partition: Partition(partition), epoch: Epoch(1), number, frame })
            .collect();
        for result in store.append(&appends) {
            match result {
                Ok(_) => {
                    acknowledged += 1;
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                }
                Err(AppendError::Retry(_) | AppendError::Unknown(_) | AppendError::Behind) => break,
                Err(error) => panic!("partition {partition}: {error}"),
            }
        }
    }
    (acknowledged, longest.max(last.elapsed()))
}

/// Counts in a key, alone: the last value that was acknowledged.
fn count(store: &Nats, key: &str, done: &AtomicBool) -> u64 {
    let (mut revision, mut value) = (Revision(0), 0_u64);
    while !done.load(Ordering::SeqCst) {
        match store.write(key, revision, &(value + 1).to_le_bytes()) {
            Ok(made) => (revision, value) = (made, value + 1),
            Err(WriteError::Retry(_)) => {}
            Err(WriteError::Unknown(_) | WriteError::Conflict(_)) => {
                let Ok(found) = Coord::read(store, key) else { continue };
                let (found, bytes) = found.map_or((Revision(0), vec![0; 8]), |found| found);
                let there = u64::from_le_bytes(bytes.try_into().unwrap());
                assert!(there == value || there == value + 1, "{key}: {value} was acknowledged, {there} is there");
                (revision, value) = (found, there);
            }
            Err(error) => panic!("{error}"),
        }
        sleep(Duration::from_millis(5));
    }
    value
}

/// State that a watcher has collected.
#[derive(Debug, Default)]
struct WatchedKeys {
    keys: BTreeMap<String, (Revision, Vec<u8>)>,
    away: bool,
    times_away: u32,
    complete: bool,
}

impl WatchedKeys {
    fn hear(&mut self, watched: WatchNotice) {
        match watched {
            WatchNotice::Written(key, revision, value) => {
                let before = self.keys.insert(key, (revision, value));
                assert!(before.is_none_or(|(before, _)| before < revision), "a key went back");
            }
            WatchNotice::Removed(key) => drop(self.keys.remove(&key)),
            WatchNotice::Complete => self.complete = true,
            WatchNotice::Away => {
                self.times_away += u32::from(!self.away);
                self.away = true;
            }
            WatchNotice::Back => {
                self.keys.clear();
                (self.away, self.complete) = (false, false);
            }
        }
    }
}

/// The server that leads a stream.
fn leader(address: &str, stream: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(15);
    while Instant::now() < deadline {
        if let Ok(status) = status(address, EngineOptions::default())
            && let Some(stream) = status.streams.iter().find(|found| found.name.ends_with(stream))
            && !stream.leader.is_empty()
        {
            return stream.leader.clone();
        }
        sleep(Duration::from_millis(100));
    }
    panic!("{stream} has no leader");
}

fn signal(engine: &TestEngine, name: &str, signal: Signal) {
    let processes = engine.cluster.processes();
    let (_, pid) = processes.iter().find(|(found, _)| found == name).unwrap();
    kill_process(Pid::from_raw(*pid as i32).unwrap(), signal).unwrap();
}

/// A fault, and until it is over.
type Fault = fn(&mut TestEngine, &str);

fn killed(engine: &mut TestEngine, server: &str) {
    engine.cluster.kill(server).unwrap();
    sleep(Duration::from_secs(8));
    engine.cluster.restart(server).unwrap();
    sleep(Duration::from_secs(2));
}

fn stopped(engine: &mut TestEngine, server: &str) {
    signal(engine, server, Signal::STOP);
    sleep(Duration::from_secs(8));
    signal(engine, server, Signal::CONT);
    sleep(Duration::from_secs(2));
}

fn nothing_acknowledged_is_lost(faults: &[(&str, Fault)]) {
    let Some(mut engine) = TestEngine::start(3, true) else { return };
    let address = engine.fresh();
    let store = connect(&address);
    for partition in 0..4 {
        store.open(Partition(partition), Epoch(1)).unwrap();
    }
    let view = Arc::new(Mutex::new(WatchedKeys::default()));
    let watch = store.watch(
        "count/",
        Box::new({
            let view = view.clone();
            move |watched| view.lock().unwrap().hear(watched)
        }),
    );
    let done = AtomicBool::new(false);
    let counted = AtomicU64::new(0);
    let written = scope(|threads| {
        let (store, done) = (&store, &done);
        let writers: Vec<_> = (0..4).map(|partition| threads.spawn(move || write(store, partition, done))).collect();
        let counter = threads.spawn(|| counted.store(count(store, "count/1", done), Ordering::SeqCst));
        sleep(Duration::from_secs(1));
        for (stream, fault) in faults {
            let server = leader(&address, stream);
            eprintln!("the leader of {stream} is {server}");
            fault(&mut engine, &server);
        }
        done.store(true, Ordering::SeqCst);
        counter.join().unwrap();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    let fresh = connect(&address);
    for (partition, (acknowledged, longest)) in written.into_iter().enumerate() {
        eprintln!("partition {partition}: {acknowledged} frames acknowledged, {longest:?} without one at most");
        assert!(acknowledged > 0);
        fresh.open(Partition(partition as u16), Epoch(2)).unwrap();
        let there = frames(&fresh, partition as u16);
        let expected: Vec<_> = (1..=there.len()).map(|number| format!("1/{number}").into_bytes()).collect();
        assert_eq!(there, expected, "partition {partition}");
        assert!(there.len() as u64 >= acknowledged, "{acknowledged} were acknowledged, {} are there", there.len());
    }
    let there = Coord::read(&fresh, "count/1").unwrap().unwrap();
    let value = u64::from_le_bytes(there.1.clone().try_into().unwrap());
    assert!(value >= counted.into_inner(), "a key went back");
    let deadline = Instant::now() + Duration::from_secs(20);
    while view.lock().unwrap().keys.get("count/1") != Some(&there) || view.lock().unwrap().away {
        assert!(Instant::now() < deadline, "{:?}, but there is {there:?}", view.lock().unwrap());
        sleep(Duration::from_millis(50));
    }
    eprintln!("{value} counted, away {} times", view.lock().unwrap().times_away);
    drop(watch);
}

#[test]
fn leader_faults_lose_no_acknowledged_frame() {
    nothing_acknowledged_is_lost(&[("J0", killed), ("COORD", stopped)]);
}

/// `cargo test -p whimbrel-store --features nats -- --ignored --nocapture rounds`
#[test]
#[ignore = "takes four minutes"]
fn twenty_fault_rounds_lose_nothing() {
    let round: [(&str, Fault); 4] = [("J0", killed), ("J1", stopped), ("COORD", killed), ("J1", killed)];
    nothing_acknowledged_is_lost(&round.repeat(5));
}
