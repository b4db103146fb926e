//! Stores that earlier versions wrote are read by this one. Each is kept under `tests/fixtures`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use whimbrel_platform::store::{Blobs, Coord, Epoch, Journal, Lsn, Partition, Revision};
use whimbrel_store::{Embedded, OpenOptions, check, import};

use crate::folders::StoreFolder;
use crate::torn::{content, copy, options, write};

/// Layouts that have fixtures.
const LAYOUTS: &[&str] = &["layout-1"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Writes the content of every fixture.
fn fill(folder: &Path) {
    let store = Embedded::open(folder, &OpenOptions { partitions: Some(16), ..options() }).unwrap();
    write(&store, 2, 12, |_, _| ());
    store.trim(Partition(1), Lsn(5)).unwrap();
    store.open(Partition(9), Epoch(3)).unwrap();
    let revision = store.write("shard/1", Revision(0), b"n1").unwrap();
    store.write("shard/1", revision, b"n2").unwrap();
    let gone = store.write("gone", Revision(0), b"").unwrap();
    Coord::remove(&store, "gone", gone).unwrap();
    store.put(b"a snapshot").unwrap();
}

fn check_filled(store: &Embedded) {
    assert_eq!((store.found().damage.len(), store.partitions()), (0, 16));
    let mut frames = 0;
    for partition in 0..4 {
        let mut next = if partition == 1 { 5 } else { 1 };
        Journal::read(store, Partition(partition), Lsn(0), &mut |lsn, frame| {
            assert_eq!(lsn, Lsn(next));
            assert!(frame == content(partition, next), "partition {partition}, frame {next}");
            (next, frames) = (next + 1, frames + 1);
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    assert!(frames > 30, "{frames} frames");
    assert!(store.open(Partition(9), Epoch(2)).is_err());
    assert_eq!(Coord::read(store, "shard/1").unwrap(), Some((Revision(2), b"n2".to_vec())));
    assert_eq!(Coord::read(store, "gone").unwrap(), None);
    assert_eq!(store.write("gone", Revision(0), b"").unwrap(), Revision(5));
    let [hash] = store.blobs().unwrap()[..] else { panic!("there is one blob") };
    assert_eq!(store.fetch(hash).unwrap(), Some(b"a snapshot".to_vec()));
}

#[test]
fn earlier_layouts_are_read() {
    for layout in LAYOUTS {
        let folder = StoreFolder::new("fixture");
        let (to, fixture) = (folder.path().join("store"), fixtures().join(layout));
        copy(&fixture.join("store"), &to);
        let report = check(&to, &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert!(report.damage.is_empty() && report.torn_bytes == 0, "{report:?}");
        check_filled(&Embedded::open(&to, &options()).unwrap());
        let imported = folder.path().join("imported");
        import(&fixture.join("export"), &imported, &mut |_, _| ControlFlow::Continue(())).unwrap();
        check_filled(&Embedded::open(&imported, &options()).unwrap());
    }
}

/// Writes the fixture of this version, once, when the layout changes: `cargo test -p whimbrel-store -- --ignored
/// fixture`.
#[test]
#[ignore = "writes into the source tree"]
fn current_fixture_is_written() {
    let fixture = fixtures().join("layout-1");
    let store = fixture.join("store");
    assert!(!store.exists(), "it is there: fixtures are never written anew");
    std::fs::create_dir_all(&fixture).unwrap();
    fill(&store);
    whimbrel_store::export(&store, &fixture.join("export"), false, &mut |_, _| ControlFlow::Continue(())).unwrap();
    std::fs::remove_file(store.join("lock")).unwrap();
}
