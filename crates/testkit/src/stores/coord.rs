//! Cases for coordination and blobs.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use whimbrel_platform::store::{BlobHash, Blobs, Coord, Revision, WatchNotice, WriteError};

use super::{Candidate, Case, Outcome, Store, must, same, text};

pub const CASES: &[Case] = &[
    Case { name: "keys are written by whom expected what is there", run: keys, stubborn: false },
    Case { name: "a key's revisions never come back", run: revisions, stubborn: false },
    Case { name: "keys have their limits", run: key_limits, stubborn: false },
    Case { name: "watchers hear what is there, and then what changes", run: watched, stubborn: false },
    Case { name: "blobs are kept by their hash", run: blobs, stubborn: false },
];

/// Time limit of a watcher for an expected event.
const PATIENCE: Duration = Duration::from_secs(20);

fn keys(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    same("a key that is not there", Coord::read(&*store, "a").map_err(text)?, None)?;
    let first = store.write("a", Revision(0), b"1").map_err(text)?;
    must(first > Revision(0), || "the first revision is 0".to_owned())?;
    same("written", Coord::read(&*store, "a").map_err(text)?, Some((first, b"1".to_vec())))?;
    same("as if it were not there", store.write("a", Revision(0), b"2"), Err(WriteError::Conflict(first)))?;
    let second = store.write("a", first, b"2").map_err(text)?;
    must(second > first, || format!("revision {second:?} after {first:?}"))?;
    same("over an old revision", store.write("a", first, b"3"), Err(WriteError::Conflict(second)))?;
    same("removed by an old revision", Coord::remove(&*store, "a", first), Err(WriteError::Conflict(second)))?;
    store.write("a/b", Revision(0), b"").map_err(text)?;
    let store = candidate.reopen(store);
    same("opened anew", Coord::read(&*store, "a").map_err(text)?, Some((second, b"2".to_vec())))?;
    Coord::remove(&*store, "a", second).map_err(text)?;
    same("removed", Coord::read(&*store, "a").map_err(text)?, None)?;
    let store = candidate.reopen(store);
    same("removed, and opened anew", Coord::read(&*store, "a").map_err(text)?, None)?;
    let inner = Coord::read(&*store, "a/b").map_err(text)?.map(|(_, value)| value);
    same("a key that begins as it did", inner, Some(Vec::new()))
}

fn revisions(candidate: &dyn Candidate) -> Outcome {
    let mut store = candidate.fresh();
    let mut last = Revision(0);
    for round in 0..6_u8 {
        let revision = store.write("k", Revision(0), &[round]).map_err(text)?;
        must(revision > last, || format!("revision {revision:?} came after {last:?}"))?;
        let stale = store.write("k", last, b"stale");
        must(round == 0 || matches!(stale, Err(WriteError::Conflict(_))), || format!("over {last:?}: {stale:?}"))?;
        if round > 0 {
            Coord::remove(&*store, "k", revision).map_err(text)?;
        } else {
            // The write over revision 0 was refused: the key is there.
            must(matches!(stale, Err(WriteError::Conflict(_))), || format!("made twice: {stale:?}"))?;
            Coord::remove(&*store, "k", revision).map_err(text)?;
        }
        last = revision;
        store = candidate.reopen(store);
    }
    Ok(())
}

fn key_limits(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let empty = store.write("", Revision(0), b"x");
    must(matches!(empty, Err(WriteError::TooBig { .. })), || format!("a key without a name: {empty:?}"))?;
    let long = store.write(&"k".repeat(100_000), Revision(0), b"x");
    must(matches!(long, Err(WriteError::TooBig { .. })), || format!("a key of 100,000 bytes: {long:?}"))?;
    let big = store.write("k", Revision(0), &vec![7; 64 << 20]);
    must(matches!(big, Err(WriteError::TooBig { .. })), || format!("a value of 64 MiB: {big:?}"))?;
    same("after all that", Coord::read(&*store, "k").map_err(text)?, None)
}

struct EventReceiver(Receiver<WatchNotice>);

impl EventReceiver {
    fn next(&self) -> Result<WatchNotice, String> {
        self.0.recv_timeout(PATIENCE).map_err(|_| "a watcher heard nothing".to_owned())
    }
}

fn watched(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let one = store.write("node/1", Revision(0), b"here").map_err(text)?;
    store.write("shard/1", Revision(0), b"elsewhere").map_err(text)?;
    let (tell, heard) = channel();
    let heard = EventReceiver(heard);
    let watch = store.watch("node/", Box::new(move |watched| drop(tell.send(watched)))).map_err(text)?;
    same("what is there", heard.next()?, WatchNotice::Written("node/1".into(), one, b"here".to_vec()))?;
    same("the end of that", heard.next()?, WatchNotice::Complete)?;
    // A second watch takes nothing from the first.
    let (tell, second) = channel();
    let second = EventReceiver(second);
    let other = store.watch("node/", Box::new(move |watched| drop(tell.send(watched)))).map_err(text)?;
    same("the same in a second watch", second.next()?, WatchNotice::Written("node/1".into(), one, b"here".to_vec()))?;
    same("the end of that", second.next()?, WatchNotice::Complete)?;
    let two = store.write("node/2", Revision(0), b"there").map_err(text)?;
    same("a new key", heard.next()?, WatchNotice::Written("node/2".into(), two, b"there".to_vec()))?;
    same("a new key there", second.next()?, WatchNotice::Written("node/2".into(), two, b"there".to_vec()))?;
    drop(other);
    store.write("nodes", Revision(0), b"another prefix").map_err(text)?;
    Coord::remove(&*store, "node/1", one).map_err(text)?;
    same("a key that is gone", heard.next()?, WatchNotice::Removed("node/1".into()))?;
    let mut revision = two;
    for round in 0..200_u8 {
        revision = store.write("node/2", revision, &[round]).map_err(text)?;
    }
    let mut seen = Revision(0);
    while seen < revision {
        match heard.next()? {
            WatchNotice::Written(key, now, _) if key == "node/2" && now > seen => seen = now,
            other => return Err(format!("after {seen:?} of node/2: {other:?}")),
        }
    }
    drop(watch);
    store.write("node/2", revision, b"unheard").map_err(text)?;
    must(heard.0.recv_timeout(Duration::from_millis(300)).is_err(), || "a watch that was ended tells on".to_owned())
}

fn blobs(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let big: Vec<u8> = (0..3_000_000_u32).map(|index| (index.wrapping_mul(index) >> 7) as u8).collect();
    let check = |store: &dyn Store, hash: BlobHash, bytes: &[u8]| -> Outcome {
        let found = store.fetch(hash).map_err(text)?;
        must(found.as_deref() == Some(bytes), || format!("a blob of {} bytes differs", bytes.len()))
    };
    let empty = store.put(b"").map_err(text)?;
    // SHA-256 of nothing, as FIPS 180-4's.
    same("the hash of nothing", empty.0.first_chunk().copied(), Some([0xE3, 0xB0, 0xC4, 0x42]))?;
    let hash = store.put(&big).map_err(text)?;
    same("the same bytes again", store.put(&big).map_err(text)?, hash)?;
    let store = candidate.reopen(store);
    check(&*store, empty, b"")?;
    check(&*store, hash, &big)?;
    Blobs::remove(&*store, hash).map_err(text)?;
    Blobs::remove(&*store, hash).map_err(text)?;
    same("a blob that was removed", store.fetch(hash).map_err(text)?.map(|bytes| bytes.len()), None)?;
    check(&*store, empty, b"")
}
