//! Check, export and import.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use whimbrel_platform::store::{Append, Blobs, Coord, Epoch, Journal, Lsn, Partition, Revision};
use whimbrel_store::{ArchiveError, Archived, Embedded, OpenOptions, Report, check, export, import};

use crate::folders::StoreFolder;
use crate::torn::{copy, options, read, write};

fn on(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn checked(folder: &Path) -> Report {
    check(folder, &mut on).unwrap()
}

/// A store with a bit of everything.
fn rich(folder: &StoreFolder) -> PathBuf {
    let path = folder.path().join("rich");
    let store = Embedded::open(&path, &OpenOptions { partitions: Some(32), ..options() }).unwrap();
    write(&store, 1, 120, |_, _| ());
    store.trim(Partition(1), Lsn(40)).unwrap();
    store.open(Partition(31), Epoch(77)).unwrap();
    let revision = store.write("shard/1", Revision(0), b"n1").unwrap();
    store.write("shard/1", revision, b"n2").unwrap();
    let gone = store.write("gone", Revision(0), b"soon").unwrap();
    Coord::remove(&store, "gone", gone).unwrap();
    store.put(b"a snapshot").unwrap();
    store.put(&[5; 100_000]).unwrap();
    path
}

#[test]
fn what_is_exported_is_imported() {
    let folder = StoreFolder::new("archive");
    let (from, file, to) = (rich(&folder), folder.path().join("file"), folder.path().join("to"));
    let before = checked(&from);
    assert!(before.damage.is_empty() && !before.in_doubt, "{before:?}");
    let exported = export(&from, &file, false, &mut on).unwrap();
    let imported = import(&file, &to, &mut on).unwrap();
    assert_eq!(exported, imported);
    assert_eq!((exported.keys, exported.blobs), (1, 2));
    let after = checked(&to);
    assert_eq!(before.opened, after.opened);
    assert_eq!((after.keys, after.blobs, after.blob_bytes, after.partitions), (1, 2, 100_010, 32));
    // Another export is equal to the last byte.
    let again = folder.path().join("again");
    export(&to, &again, false, &mut on).unwrap();
    let (one, two) = (std::fs::read(&file).unwrap(), std::fs::read(&again).unwrap());
    assert_eq!(one.len(), two.len());
    let (from, to) = (Embedded::open(&from, &options()).unwrap(), Embedded::open(&to, &options()).unwrap());
    for partition in 0..4 {
        let frames = |store: &Embedded| {
            let mut frames = Vec::new();
            Journal::read(store, Partition(partition), Lsn(0), &mut |lsn, frame| {
                frames.push((lsn, frame.to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
            frames
        };
        assert!(frames(&from) == frames(&to), "partition {partition}");
    }
    let key = Coord::read(&from, "shard/1").unwrap();
    assert_eq!(Coord::read(&to, "shard/1").unwrap(), key);
    // Revisions continue, even if the last write was of a removed key.
    assert_eq!(to.write("gone", Revision(0), b"back"), from.write("gone", Revision(0), b"back"));
    assert!(to.open(Partition(31), Epoch(76)).is_err());
}

#[test]
fn import_needs_an_empty_store() {
    let folder = StoreFolder::new("occupied");
    let (from, file, to) = (rich(&folder), folder.path().join("file"), folder.path().join("to"));
    export(&from, &file, false, &mut on).unwrap();
    assert!(matches!(import(&file, &from, &mut on), Err(ArchiveError::NotEmpty(_))));
    drop(Embedded::open(&to, &options()).unwrap());
    import(&file, &to, &mut on).unwrap();
    assert!(matches!(import(&file, &to, &mut on), Err(ArchiveError::NotEmpty(_))));
    assert!(matches!(import(&file, folder.path(), &mut on), Err(ArchiveError::NotEmpty(_))));
    let open = Embedded::open(&to, &options()).unwrap();
    let error = export(&to, &file, false, &mut on).unwrap_err();
    assert!(error.to_string().contains("is in use by process"), "{error}");
    drop(open);
}

#[test]
fn interrupted_export_leaves_nothing() {
    let folder = StoreFolder::new("enough");
    let (from, file, to) = (rich(&folder), folder.path().join("file"), folder.path().join("to"));
    let stop = |done: u64, _: u64| if done < 50 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    assert!(matches!(export(&from, &file, false, &mut { stop }), Err(ArchiveError::Interrupted)));
    assert!(!file.exists());
    export(&from, &file, false, &mut on).unwrap();
    assert!(matches!(import(&file, &to, &mut { stop }), Err(ArchiveError::Interrupted)));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn damaged_export_is_refused() {
    let folder = StoreFolder::new("damaged-export");
    let (from, file, to) = (rich(&folder), folder.path().join("file"), folder.path().join("to"));
    export(&from, &file, false, &mut on).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let mut cases =
        vec![bytes[..bytes.len() - 1].to_vec(), bytes[..20].to_vec(), Vec::new(), [&bytes[..], b"x"].concat()];
    for at in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        cases.push(changed);
    }
    let mut refused = 0;
    for case in &cases {
        std::fs::write(&file, case).unwrap();
        match import(&file, &to, &mut on) {
            Err(ArchiveError::NotAnExport { .. }) => refused += 1,
            // The padding of a record may be any bytes.
            Ok(_) => std::fs::remove_dir_all(&to).unwrap(),
            Err(error) => panic!("{error}"),
        }
        assert!(!to.exists());
    }
    assert!(refused > cases.len() - 5, "{refused} of {}", cases.len());
}

#[test]
fn salvage_exports_undamaged_rest() {
    let folder = StoreFolder::new("salvage");
    let (from, file, to) = (rich(&folder), folder.path().join("file"), folder.path().join("to"));
    let damaged = folder.path().join("damaged");
    copy(&from, &damaged);
    // A byte in the middle of a frame of the first file.
    let path = damaged.join("journal/0000000001.log");
    let mut bytes = std::fs::read(&path).unwrap();
    let frame = crate::torn::content(2, 20);
    let at = bytes.windows(frame.len()).position(|window| window == frame).unwrap() + frame.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let report = checked(&damaged);
    assert!(!report.in_doubt);
    let [one] = &report.damage[..] else { panic!("{:?}", report.damage) };
    assert_eq!((one.partition, one.first, one.last), (Some(Partition(2)), Lsn(20), Lsn(20)));
    let error = export(&damaged, &file, false, &mut on).unwrap_err();
    assert!(error.to_string().contains("is damaged: partition 2, frame 20: "), "{error}");
    assert!(!file.exists());
    let whole = export(&from, &folder.path().join("whole"), false, &mut on).unwrap();
    let left: Archived = export(&damaged, &file, true, &mut on).unwrap();
    assert_eq!((left.frames, left.damage.len()), (whole.frames - 1, 1), "{left:?}");
    let imported = import(&file, &to, &mut on).unwrap();
    assert_eq!(
        imported.damage.iter().map(|one| (one.partition, one.first)).collect::<Vec<_>>(),
        [(Some(Partition(2)), Lsn(20))]
    );
    // Missing frames are still reported as missing; later frames are there.
    let store = Embedded::open(&to, &options()).unwrap();
    let (count, outcome) = read(&store, 2);
    assert!(count == 19 && outcome.unwrap_err().to_string().contains("partition 2, frame 20"));
    let mut count = 0;
    Journal::read(&store, Partition(2), Lsn(21), &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(count, report.opened[2].frames - 20);
}

#[test]
fn damaged_blob_is_found() {
    let folder = StoreFolder::new("blob");
    let from = rich(&folder);
    let file = std::fs::read_dir(from.join("blobs")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, b"a smapshot").unwrap();
    let report = checked(&from);
    assert!(report.damage.len() == 1 && report.damage[0].to_string().starts_with("blob "), "{:?}", report.damage);
}

#[test]
fn damaged_header_spares_its_batch() {
    let folder = StoreFolder::new("header");
    let path = folder.path().join("store");
    let store = Embedded::open(&path, &options()).unwrap();
    store.open(Partition(0), Epoch(1)).unwrap();
    let contents: Vec<Vec<u8>> = (1..=12).map(|sequence| crate::torn::content(0, sequence)).collect();
    for batch in [&contents[..10], &contents[10..]] {
        let first = if batch.len() == 10 { 1 } else { 11 };
        let append = |(number, frame)| Append { partition: Partition(0), epoch: Epoch(1), number, frame };
        let appends: Vec<Append<'_>> = (first..).zip(batch.iter().map(Vec::as_slice)).map(append).collect();
        assert!(store.append(&appends).iter().all(Result::is_ok));
    }
    drop(store);
    let segment = path.join("journal/0000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    let fifth = bytes.windows(contents[4].len()).position(|window| window == contents[4]).unwrap();
    bytes[fifth - 20] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let report = checked(&path);
    assert!(report.in_doubt, "{report:?}");
    assert_eq!(report.opened[0].frames, 11);
    assert!(report.damage.iter().any(|one| one.to_string() == "partition 0, frame 5: missing"), "{:?}", report.damage);
    let file = folder.path().join("file");
    assert_eq!(export(&path, &file, true, &mut on).unwrap().frames, 11);
    assert_eq!(import(&file, &folder.path().join("saved"), &mut on).unwrap().frames, 11);
}
