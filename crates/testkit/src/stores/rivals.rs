//! Cases with several concurrent users of a store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{scope, sleep};
use std::time::Duration;

use whimbrel_platform::store::{Append, AppendError, Coord, Epoch, Partition, Revision, WriteError};

use super::history::{ClientOperation, OperationOutcome, check};
use super::{ATTEMPTS, Candidate, Case, Outcome, Store, append, frames, must, open, pause, same, text};

pub const CASES: &[Case] = &[
    Case { name: "a deposed owner gets no acknowledgement", run: deposed, stubborn: true },
    Case { name: "readers see what was acknowledged, in order", run: read_meanwhile, stubborn: true },
    Case { name: "many writers lose nothing", run: many_writers, stubborn: true },
    Case { name: "keys are linearizable", run: linearizable, stubborn: true },
];

/// Appends until it is fenced. Returns the number of acknowledged frames, and the number of those requested after
/// another owner had opened the partition.
fn reign(store: &dyn Store, epoch: u64, deposed: &AtomicBool) -> Result<(u64, u64), String> {
    let (mut number, mut late) = (0, 0);
    loop {
        let is_late = deposed.load(Ordering::SeqCst);
        match append(store, 0, epoch, number + 1, format!("{epoch}/{}", number + 1).as_bytes()) {
            Ok(_) => {
                number += 1;
                late += u64::from(is_late);
            }
            Err(AppendError::Fenced { .. }) => return Ok((number, late)),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn deposed(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    open(&*store, 0, 1)?;
    for epoch in 1..=4 {
        let over = AtomicBool::new(false);
        let (old, seen) = scope(|threads| -> Result<_, String> {
            let owner = threads.spawn(|| reign(&*store, epoch, &over));
            sleep(Duration::from_millis(30));
            open(&*store, 0, epoch + 1)?;
            over.store(true, Ordering::SeqCst);
            let seen = frames(&*store, 0, 0)?.len();
            // Give the deposed owner time to do harm.
            let old = owner.join().map_err(|_| "the owner panicked".to_owned())??;
            Ok((old, seen))
        })?;
        let (acknowledged, late) = old;
        same("acknowledgements of an owner that was deposed", late, 0)?;
        let all = frames(&*store, 0, 0)?;
        same("frames that the new owner did not see", all.len() - seen, 0)?;
        let of_epoch = all.iter().filter(|(_, frame)| frame.starts_with(format!("{epoch}/").as_bytes())).count();
        // One frame may be there that was appended and not acknowledged.
        must(of_epoch as u64 >= acknowledged, || format!("{acknowledged} were acknowledged, {of_epoch} are there"))?;
    }
    Ok(())
}

fn read_meanwhile(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    open(&*store, 0, 1)?;
    let (acknowledged, done) = (AtomicU64::new(0), AtomicBool::new(false));
    scope(|threads| {
        let reader = threads.spawn(|| -> Outcome {
            while !done.load(Ordering::SeqCst) {
                let before = acknowledged.load(Ordering::SeqCst);
                let found = frames(&*store, 0, 0)?;
                must(found.len() as u64 >= before, || format!("{before} were acknowledged, {} read", found.len()))?;
                for (index, (_, frame)) in found.iter().enumerate() {
                    must(*frame == (index as u64 + 1).to_le_bytes(), || format!("frame {index} is {frame:?}"))?;
                }
            }
            Ok(())
        });
        let wrote = (1..=400_u64).try_for_each(|number| {
            append(&*store, 0, 1, number, &number.to_le_bytes()).map_err(text)?;
            acknowledged.store(number, Ordering::SeqCst);
            Ok(())
        });
        done.store(true, Ordering::SeqCst);
        wrote.and(reader.join().map_err(|_| "the reader panicked".to_owned())?)
    })
}

/// Returns a writer with a partition of its own, which appends several frames in each call.
fn write(store: &dyn Store, partition: u16, batches: u64, batch: u64) -> Outcome {
    for first in (0..batches).map(|index| index * batch + 1) {
        let contents: Vec<[u8; 8]> = (first..first + batch).map(u64::to_le_bytes).collect();
        let appends: Vec<Append<'_>> = (first..)
            .zip(&contents)
            .map(|(number, frame)| Append { partition: Partition(partition), epoch: Epoch(1), number, frame })
            .collect();
        let mut attempts = 0;
        while let Some(error) = store.append(&appends).into_iter().find_map(Result::err) {
            attempts += 1;
            pause(attempts);
            must(attempts < ATTEMPTS, || format!("partition {partition}: {error}"))?;
        }
    }
    Ok(())
}

fn many_writers(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    (0..8).try_for_each(|partition| open(&*store, partition, 1).map(drop))?;
    scope(|threads| {
        let writers: Vec<_> = (0..8)
            .map(|partition| {
                threads.spawn({
                    let store = &*store;
                    move || write(store, partition, 25, 8)
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a writer panicked".to_owned())?)
    })?;
    let store = candidate.reopen(store);
    for partition in 0..8 {
        let found = frames(&*store, partition, 0)?;
        same("frames", found.len(), 200)?;
        let expected = (1..=200_u64).map(|number| number.to_le_bytes().to_vec());
        must(found.into_iter().map(|(_, frame)| frame).eq(expected), || format!("other frames in {partition}"))?;
    }
    Ok(())
}

fn linearizable(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let (clock, histories) = (AtomicU64::new(0), [const { Mutex::new(Vec::new()) }; 2]);
    scope(|threads| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (store, clock, histories) = (store.clone(), &clock, &histories);
                threads.spawn(move || {
                    for round in 0..60_u64 {
                        let index = ((round + client) % 2) as usize;
                        let history = histories.get(index).ok_or("no such key")?;
                        contend(&store, &format!("key/{index}"), clock, history)?;
                    }
                    Ok::<(), String>(())
                })
            })
            .collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked".to_owned())?)
    })?;
    for (index, history) in histories.into_iter().enumerate() {
        let history = history.into_inner().unwrap_or_else(PoisonError::into_inner);
        must(history.len() >= 200, || format!("key {index}: {} operations", history.len()))?;
        check(&history).map_err(|why| format!("key {index}: {why}"))?;
    }
    Ok(())
}

/// Reads a key, and writes it if nobody else did meanwhile.
fn contend(store: &Arc<dyn Store>, key: &str, clock: &AtomicU64, history: &Mutex<Vec<ClientOperation>>) -> Outcome {
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let note = |began, seen| {
        let operation = ClientOperation { began, ended: now(), seen };
        history.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
    };
    for attempt in 0..ATTEMPTS {
        pause(attempt);
        let began = now();
        let Ok(found) = Coord::read(&**store, key) else { continue };
        let revision = found.map_or(Revision(0), |(revision, _)| revision);
        note(began, OperationOutcome::Read(revision.0));
        let began = now();
        match store.write(key, revision, &began.to_le_bytes()) {
            Ok(made) => {
                note(began, OperationOutcome::Wrote(revision.0, made.0));
                return Ok(());
            }
            Err(WriteError::Conflict(found)) => note(began, OperationOutcome::Refused(revision.0, found.0)),
            Err(WriteError::Unknown(_)) => {
                // The write may still be made, at any time.
                let operation = ClientOperation { began, ended: u64::MAX, seen: OperationOutcome::Perhaps(revision.0) };
                history.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
                return Ok(());
            }
            Err(WriteError::Retry(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("{key} cannot be written"))
}
