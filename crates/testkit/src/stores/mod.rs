//! Test suite of all stores (`whimbrel_platform::store`): the one in memory, the one in a directory, the one in NATS.

use std::sync::Arc;

use whimbrel_platform::store::{Append, AppendError, Blobs, Coord, Epoch, Journal, Lsn, Partition};

mod coord;
pub mod history;
mod journal;
mod rivals;

/// Complete store.
pub trait Store: Journal + Coord + Blobs {}

impl<T: Journal + Coord + Blobs> Store for T {}

/// Maker of the stores under test.
pub trait Candidate {
    /// Makes an empty store, of 8 partitions or more.
    fn fresh(&self) -> Arc<dyn Store>;

    /// Opens the same store anew, after all handles to it are gone.
    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store>;
}

/// Case of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name, in words.
    pub name: &'static str,
    /// Function that runs the case.
    pub run: fn(&dyn Candidate) -> Outcome,
    /// True if the case continues when calls fail, or have an unknown outcome. Faults may be injected while it runs.
    pub stubborn: bool,
}

/// Failure of a case, if there is one.
pub type Outcome = Result<(), String>;

/// Returns all cases of the suite.
pub fn cases() -> Vec<Case> {
    [journal::CASES, coord::CASES, rivals::CASES].concat()
}

/// Runs all cases; with faults, only those that continue when calls fail.
///
/// # Errors
/// The cases that failed, with the reasons.
pub fn run(candidate: &dyn Candidate, with_faults: bool) -> Outcome {
    let tried = cases().into_iter().filter(|case| case.stubborn || !with_faults);
    let failed: Vec<String> =
        tried.filter_map(|case| (case.run)(candidate).err().map(|why| format!("{}: {why}", case.name))).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Checks that a condition holds; the text is the failure.
fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Checks that two values are equal.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    must(found == expected, || format!("{what}: {found:?}, expected {expected:?}"))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Maximal number of attempts.
const ATTEMPTS: usize = 10_000;

/// Waits a little before another attempt; at first not at all.
fn pause(attempt: usize) {
    if attempt > 10 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Opens a partition, in as many attempts as it takes.
fn open(store: &dyn Store, partition: u16, epoch: u64) -> Result<Lsn, String> {
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        pause(attempt);
        match store.open(Partition(partition), Epoch(epoch)) {
            Ok(lsn) => return Ok(lsn),
            Err(error) => last = error.to_string(),
        }
    }
    Err(format!("partition {partition} does not open in epoch {epoch}: {last}"))
}

/// Appends a frame, in as many attempts as it takes. Returns its place.
fn append(store: &dyn Store, partition: u16, epoch: u64, number: u64, frame: &[u8]) -> Result<Lsn, AppendError> {
    let mut last = AppendError::Behind;
    for attempt in 0..ATTEMPTS {
        pause(attempt);
        let one = Append { partition: Partition(partition), epoch: Epoch(epoch), number, frame };
        match store.append(&[one]).into_iter().next() {
            Some(Ok(lsn)) => return Ok(lsn),
            Some(Err(error @ (AppendError::Retry(_) | AppendError::Unknown(_)))) => last = error,
            Some(Err(error)) => return Err(error),
            None => return Err(AppendError::Unknown("no result for a frame".to_owned())),
        }
    }
    Err(last)
}

/// Reads all frames of a partition from a place on, in as many attempts as it takes.
fn frames(store: &dyn Store, partition: u16, from: u64) -> Result<Vec<(u64, Vec<u8>)>, String> {
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        pause(attempt);
        let mut found = Vec::new();
        let read = Journal::read(store, Partition(partition), Lsn(from), &mut |lsn, frame| {
            found.push((lsn.0, frame.to_vec()));
            std::ops::ControlFlow::Continue(())
        });
        match read {
            Ok(()) => return Ok(found),
            Err(error) => last = error.to_string(),
        }
    }
    Err(format!("partition {partition} cannot be read: {last}"))
}
