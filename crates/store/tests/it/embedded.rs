//! Particulars of a store in a folder.

use std::ops::ControlFlow;

use whimbrel_platform::store::{Append, Coord, Epoch, Journal, Lsn, Partition, Revision};
use whimbrel_store::{Embedded, OpenOptions, OpenStoreError};

use crate::folders::StoreFolder;

/// Opens a store of small segments.
pub fn open(folder: &StoreFolder) -> Embedded {
    Embedded::open(folder.path(), &OpenOptions { segment_bytes: 128 << 10, ..OpenOptions::default() }).unwrap()
}

/// Appends frames of a size to a partition, from a number on.
pub fn fill(store: &Embedded, partition: u16, numbers: std::ops::RangeInclusive<u64>, bytes: usize) -> Lsn {
    let mut last = Lsn(0);
    for number in numbers {
        let frame = vec![number as u8; bytes];
        let append = Append { partition: Partition(partition), epoch: Epoch(1), number, frame: &frame };
        last = store.append(&[append])[0].clone().unwrap();
    }
    last
}

pub fn count(store: &Embedded, partition: u16) -> usize {
    let mut count = 0;
    Journal::read(store, Partition(partition), Lsn(0), &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    count
}

fn segments(folder: &StoreFolder) -> usize {
    std::fs::read_dir(folder.path().join("journal")).unwrap().count()
}

#[test]
fn second_process_is_told_the_holder() {
    let folder = StoreFolder::new("lock");
    let store = open(&folder);
    let error = Embedded::open(folder.path(), &OpenOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with(&format!("is in use by process {}", std::process::id())), "{error}");
    drop(store);
    drop(open(&folder));
}

#[test]
fn partition_count_is_fixed() {
    let folder = StoreFolder::new("partitions");
    let with = |partitions| Embedded::open(folder.path(), &OpenOptions { partitions, ..OpenOptions::default() });
    assert!(matches!(with(Some(0)), Err(OpenStoreError::PartitionsOutOfRange(0))));
    assert!(matches!(with(Some(16_385)), Err(OpenStoreError::PartitionsOutOfRange(16_385))));
    assert_eq!(with(Some(16_384)).unwrap().partitions(), 16_384);
    assert_eq!(with(None).unwrap().partitions(), 16_384);
    assert!(matches!(with(Some(256)), Err(OpenStoreError::Partitions { found: 16_384, wanted: 256, .. })));
}

#[test]
fn other_folders_are_left_alone() {
    let folder = StoreFolder::new("other");
    std::fs::write(folder.path().join("thesis.tex"), "important").unwrap();
    let error = Embedded::open(folder.path(), &OpenOptions::default()).unwrap_err();
    assert!(matches!(&error, OpenStoreError::NotAStore { found, .. } if found == "thesis.tex"), "{error}");
    let absent = folder.path().join("absent");
    let error = Embedded::open(&absent, &OpenOptions { create: false, ..OpenOptions::default() }).unwrap_err();
    assert!(matches!(error, OpenStoreError::NoStore(_)), "{error}");
    assert!(!absent.exists());
}

#[test]
fn later_layout_is_refused() {
    let folder = StoreFolder::new("layout");
    drop(open(&folder));
    let path = folder.path().join("store");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("layout 1", "layout 2")).unwrap();
    let error = Embedded::open(folder.path(), &OpenOptions::default()).unwrap_err();
    assert!(matches!(error, OpenStoreError::Layout { found: 2, .. }), "{error}");
    std::fs::write(&path, text.replace("partitions 256", "partitions 255")).unwrap();
    let error = Embedded::open(folder.path(), &OpenOptions::default()).unwrap_err();
    assert!(matches!(error, OpenStoreError::Incomplete { .. }), "{error}");
}

#[test]
fn trimmed_frames_free_their_space() {
    let folder = StoreFolder::new("trim");
    let store = open(&folder);
    store.open(Partition(0), Epoch(1)).unwrap();
    let mut last = Lsn(0);
    for round in 0..20 {
        last = fill(&store, 0, round * 100 + 1..=round * 100 + 100, 1_000);
        store.trim(Partition(0), last).unwrap();
        assert!(segments(&folder) <= 3, "{} segments in round {round}", segments(&folder));
    }
    drop(store);
    let store = open(&folder);
    assert_eq!(count(&store, 0), 1);
    assert_eq!(store.open(Partition(0), Epoch(1)).unwrap(), last);
}

/// Segments by their names, oldest first.
fn names(folder: &StoreFolder) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder.path().join("journal")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn damaged_store_gives_space_back() {
    let folder = StoreFolder::new("trim-damaged");
    let store = open(&folder);
    store.open(Partition(0), Epoch(1)).unwrap();
    fill(&store, 0, 1..=600, 1_000);
    drop(store);
    let before = names(&folder);
    let mut bytes = std::fs::read(&before[1]).unwrap();
    bytes.iter_mut().skip(64_000).take(1_500).for_each(|byte| *byte = 0xA5);
    std::fs::write(&before[1], bytes).unwrap();
    let store = open(&folder);
    let lost = store.found().damage.iter().find(|damage| damage.partition.is_some()).unwrap().first;
    assert!(lost.0 > 100 && lost.0 < 250, "{lost:?}");
    assert_eq!(names(&folder), before, "opening removes nothing that is needed");
    store.trim(Partition(0), lost).unwrap();
    assert_eq!(names(&folder)[0], before[1], "the segment before the damaged one is gone");
    store.trim(Partition(0), Lsn(590)).unwrap();
    assert!(!names(&folder).contains(&before[1]), "nothing is missing any more");
    for round in 6..20 {
        let last = fill(&store, 0, round * 100 + 1..=round * 100 + 100, 1_000);
        store.trim(Partition(0), last).unwrap();
        assert!(segments(&folder) <= 3, "{} segments in round {round}", segments(&folder));
    }
}

#[test]
fn unreadable_segment_stays_while_frames_miss() {
    let folder = StoreFolder::new("trim-missing");
    let store = open(&folder);
    for partition in 0..2 {
        store.open(Partition(partition), Epoch(1)).unwrap();
    }
    fill(&store, 0, 1..=150, 1_000);
    let frame = b"lost".repeat(250);
    let append = Append { partition: Partition(1), epoch: Epoch(1), number: 1, frame: &frame };
    assert_eq!(store.append(&[append]), [Ok(Lsn(1))]);
    fill(&store, 0, 151..=600, 1_000);
    drop(store);
    let before = names(&folder);
    // The only frame of the other partition, with the bytes around it.
    let find = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let at = bytes.windows(frame.len()).position(|window| window == frame)?;
        Some((path.clone(), bytes, at))
    };
    let (damaged, mut bytes, at) = before.iter().find_map(find).unwrap();
    bytes.iter_mut().skip(at - 200).take(1_000).for_each(|byte| *byte = 0xA5);
    std::fs::write(&damaged, bytes).unwrap();
    let store = open(&folder);
    assert!(store.found().damage.iter().any(|damage| damage.partition == Some(Partition(1))));
    store.trim(Partition(0), Lsn(200)).unwrap();
    assert_eq!(names(&folder)[0], damaged, "the frame may be found again");
    store.trim(Partition(1), Lsn(2)).unwrap();
    assert!(!names(&folder).contains(&damaged) && !folder.path().join("damaged").exists());
}

/// Damages a store of one frame of partition 1, among 600 of partition 0: the frame's bytes, and with `with_header`
/// those around it. Returns the segment, and its bytes before.
fn damage_one(folder: &StoreFolder, with_header: bool) -> (std::path::PathBuf, Vec<u8>) {
    let store = open(folder);
    for partition in 0..3 {
        store.open(Partition(partition), Epoch(1)).unwrap();
    }
    fill(&store, 0, 1..=30, 1_000);
    fill(&store, 1, 1..=1, 1_500);
    fill(&store, 2, 1..=3, 1_000);
    fill(&store, 0, 31..=600, 1_000);
    drop(store);
    let segment = names(folder)[0].clone();
    let bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(1_500).position(|window| window == vec![1; 1_500]).unwrap();
    let (from, count) = if with_header { (at - 100, 900) } else { (at + 500, 4) };
    let mut damaged = bytes.clone();
    damaged.iter_mut().skip(from).take(count).for_each(|byte| *byte = 0xA5);
    std::fs::write(&segment, damaged).unwrap();
    (segment, bytes)
}

#[test]
fn damaged_frame_blocks_no_later_segment() {
    for with_header in [false, true] {
        let folder = StoreFolder::new("pinned-damaged");
        let (segment, bytes) = damage_one(&folder, with_header);
        let store = open(&folder);
        for round in 6..20 {
            let last = fill(&store, 0, round * 100 + 1..=round * 100 + 100, 1_000);
            store.trim(Partition(0), last).unwrap();
            assert!(segments(&folder) <= 5, "{} segments in round {round}", segments(&folder));
        }
        let is_lost = |store: &Embedded| {
            Journal::read(store, Partition(1), Lsn(0), &mut |_, _| ControlFlow::Continue(())).is_err()
        };
        assert!(is_lost(&store) && count(&store, 2) == 3, "its neighbours are moved");
        drop(store);
        let store = open(&folder);
        let lost: Vec<_> = store.found().damage.iter().filter_map(|damage| damage.partition).collect();
        assert_eq!(lost, [Partition(1)]);
        assert!(is_lost(&store) && count(&store, 2) == 3);
        drop(store);
        let aside = folder.path().join("damaged").join(segment.file_name().unwrap());
        std::fs::write(&aside, bytes).unwrap();
        std::fs::rename(aside, segment).unwrap();
        let store = open(&folder);
        assert_eq!([count(&store, 1), count(&store, 2)], [1, 3], "it is mended");
    }
}

#[test]
fn compaction_sets_damaged_segments_aside() {
    let folder = StoreFolder::new("compact-damaged");
    let (segment, _) = damage_one(&folder, false);
    let store = open(&folder);
    store.trim(Partition(0), Lsn(120)).unwrap();
    store.compact(&mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(
        !names(&folder).contains(&segment) && folder.path().join("damaged").join(segment.file_name().unwrap()).exists()
    );
    assert_eq!([count(&store, 0), count(&store, 2)], [481, 3]);
}

#[test]
fn quiet_partition_holds_no_space() {
    let folder = StoreFolder::new("pinned");
    let store = open(&folder);
    for partition in 0..3 {
        store.open(Partition(partition), Epoch(1)).unwrap();
    }
    // One partition is quiet, and would keep the oldest segment for ever.
    fill(&store, 1, 1..=3, 1_000);
    let revision = store.write("key", Revision(0), b"value").unwrap();
    for round in 0..20 {
        let last = fill(&store, 0, round * 100 + 1..=round * 100 + 100, 1_000);
        fill(&store, 2, round + 1..=round + 1, 1_000);
        store.trim(Partition(0), last).unwrap();
    }
    assert!(segments(&folder) <= 6, "{} segments", segments(&folder));
    let done = store.compact(&mut |_, _| ControlFlow::Continue(())).unwrap();
    assert!(done.moved >= 24 && done.after_bytes < 300_000, "{done:?}");
    let check = |store: &Embedded| {
        assert_eq!((count(store, 0), count(store, 1), count(store, 2)), (1, 3, 20));
        assert_eq!(Coord::read(store, "key").unwrap(), Some((revision, b"value".to_vec())));
    };
    check(&store);
    drop(store);
    check(&open(&folder));
}
