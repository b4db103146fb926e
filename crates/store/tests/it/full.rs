//! Full disk: no acknowledged frame is lost, no other file either, and with room again the store continues.

use std::path::Path;
use std::process::Command;

use whimbrel_platform::store::{
    Append, AppendError, Blobs, Coord, Epoch, Journal, Lsn, Partition, Revision, StoreError,
};
use whimbrel_store::Embedded;

use crate::folders::StoreFolder;
use crate::torn::{content, options, read};

/// A small disk of its own, in memory.
struct FullDisk(StoreFolder);

impl FullDisk {
    /// `None` where disks cannot be mounted: not root, or not Linux.
    fn mount(megabytes: u32) -> Option<Self> {
        let folder = StoreFolder::new("disk");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none"])
            .arg(folder.path())
            .output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).output();
    }
}

fn append(store: &Embedded, epoch: u64, number: u64, sequence: u64) -> Result<Lsn, AppendError> {
    let frame = content(0, sequence);
    store.append(&[Append { partition: Partition(0), epoch: Epoch(epoch), number, frame: &frame }])[0].clone()
}

/// Appends until the disk is full: the last sequence that was acknowledged.
fn fill(store: &Embedded, epoch: u64, begun: u64) -> u64 {
    for number in 1.. {
        match append(store, epoch, number, begun + number) {
            Ok(lsn) => assert_eq!(lsn.0, begun + number),
            Err(AppendError::Retry(why)) => {
                assert!(why.to_lowercase().contains("space"), "{why}");
                return begun + number - 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

#[test]
fn full_disk_loses_nothing() {
    let Some(disk) = FullDisk::mount(4) else {
        eprintln!("no disk can be mounted here: not tried");
        return;
    };
    let (folder, ballast) = (disk.path().join("store"), disk.path().join("ballast"));
    std::fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let store = Embedded::open(&folder, &options()).unwrap();
    store.open(Partition(0), Epoch(1)).unwrap();
    let full = fill(&store, 1, 0);
    assert!(full > 2_000, "{full} frames");
    assert!(matches!(store.put(&vec![3; 1 << 20]), Err(StoreError::Away(_))), "a blob on a full disk");
    assert_eq!(read(&store, 0), (full, Ok(())));
    drop(store);
    // The store opens on the full disk, and has all frames.
    let store = Embedded::open(&folder, &options()).unwrap();
    assert_eq!(store.found().damage, []);
    assert_eq!(read(&store, 0), (full, Ok(())));
    // With room again it continues, without being opened again.
    store.open(Partition(0), Epoch(2)).unwrap();
    let more = fill(&store, 2, full);
    std::fs::remove_file(&ballast).unwrap();
    let after = fill(&store, 2, full).max(more);
    drop(store);
    let store = Embedded::open(&folder, &options()).unwrap();
    let (count, outcome) = read(&store, 0);
    assert_eq!(outcome, Ok(()));
    assert!(count >= after && count > more, "{count} frames, {after} acknowledged, {more} before there was room");
    // Frames can be forgotten on a full disk, which makes room.
    store.trim(Partition(0), Lsn(count - 10)).unwrap();
    store.open(Partition(0), Epoch(3)).unwrap();
    append(&store, 3, 1, count + 1).unwrap();
    store.write("key", Revision(0), b"value").unwrap();
    assert_eq!(store.put(&vec![3; 1 << 20]).map(drop), Ok(()));
}
