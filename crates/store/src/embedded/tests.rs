//! Disks that fail.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

struct FaultyFolder(PathBuf);

impl FaultyFolder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("whimbrel-failing-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for FaultyFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const WRITES: u32 = 1;
const FLUSHES: u32 = 2;
const CUTS: u32 = 4;

/// From now on these fail.
fn fail(store: &Embedded, which: u32) {
    let queue = store.queue();
    queue.tail.as_ref().unwrap().segment.failing.store(which, Ordering::Relaxed);
}

fn append(store: &Embedded, number: u64) -> Result<Lsn, AppendError> {
    let frame = number.to_le_bytes();
    store.append(&[Append { partition: Partition(9), epoch: Epoch(1), number, frame: &frame }])[0].clone()
}

fn frames(store: &Embedded) -> Vec<u64> {
    let mut found = Vec::new();
    Journal::read(store, Partition(9), Lsn(0), &mut |_, frame| {
        found.push(u64::from_le_bytes(frame.try_into().unwrap()));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

fn open(folder: &FaultyFolder) -> Embedded {
    let store = Embedded::open(&folder.0, &OpenOptions::default()).unwrap();
    store.open(Partition(9), Epoch(1)).unwrap();
    store
}

#[test]
fn failed_write_leaves_no_frame() {
    for which in [WRITES, FLUSHES] {
        let folder = FaultyFolder::new();
        let store = open(&folder);
        append(&store, 1).unwrap();
        fail(&store, which);
        assert!(matches!(append(&store, 2), Err(AppendError::Retry(_))), "{which}");
        let key = store.write("key", Revision(0), b"value");
        assert!(matches!(key, Err(WriteError::Retry(_))), "{which}: {key:?}");
        assert!(matches!(store.open(Partition(9), Epoch(2)), Err(OpenError::Store(_))));
        assert_eq!(frames(&store), [1]);
        fail(&store, 0);
        assert_eq!(append(&store, 2), Ok(Lsn(2)), "{which}");
        store.write("key", Revision(0), b"value").unwrap();
        assert_eq!(append(&store, 3), Ok(Lsn(3)), "the take-over did not happen");
        drop(store);
        let store = open(&folder);
        assert_eq!((frames(&store), store.found().torn_bytes), (vec![1, 2, 3], 0), "{which}");
    }
}

#[test]
fn failed_flush_stops_later_writes() {
    let folder = FaultyFolder::new();
    let store = open(&folder);
    append(&store, 1).unwrap();
    fail(&store, FLUSHES | CUTS);
    assert!(matches!(append(&store, 2), Err(AppendError::Unknown(_))));
    assert!(matches!(append(&store, 2), Err(AppendError::Retry(_))));
    fail(&store, 0);
    assert_eq!(append(&store, 2), Ok(Lsn(2)));
    assert_eq!(append(&store, 2), Ok(Lsn(2)));
    drop(store);
    assert_eq!(frames(&open(&folder)), [1, 2]);
}

#[test]
fn process_end_after_flush_failure_loses_nothing() {
    let folder = FaultyFolder::new();
    let store = open(&folder);
    append(&store, 1).unwrap();
    fail(&store, FLUSHES | CUTS);
    assert!(matches!(append(&store, 2), Err(AppendError::Unknown(_))));
    drop(store);
    // The batch may have been written, and here it was. An append of the same number does not write it twice.
    let store = open(&folder);
    assert_eq!(append(&store, 2), Ok(Lsn(2)));
    assert_eq!(frames(&store), [1, 2]);
}
