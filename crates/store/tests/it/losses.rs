//! Lost, emptied or renamed parts of a store's folder: nothing is ever made over the rest, and repairable parts are
//! repaired.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use whimbrel_platform::store::{Blobs, Journal};
use whimbrel_store::{Embedded, OpenOptions, OpenStoreError, check, export, import, repair, store_in};

use crate::folders::StoreFolder;
use crate::torn::{PARTITIONS, copy, options, read, write};

/// A store of several segments and a blob, and how many frames each partition has.
fn filled(name: &str) -> (StoreFolder, Vec<u64>) {
    let folder = StoreFolder::new(name);
    let store = Embedded::open(folder.path(), &options()).unwrap();
    write(&store, 5, 400, |_, _| ());
    store.put(b"a snapshot").unwrap();
    let counts = counts(&store);
    drop(store);
    assert!(segments(folder.path()).len() >= 3);
    (folder, counts)
}

fn counts(store: &Embedded) -> Vec<u64> {
    (0..PARTITIONS).map(|partition| read(store, partition).0).collect()
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.join("journal")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the bytes of all files of a folder but the lock.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else if !path.ends_with("lock") {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

fn nothing(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn mended(folder: &Path, counts_before: &[u64]) -> Vec<String> {
    let done = repair(folder, None, &mut nothing).unwrap().done;
    assert_eq!(repair(folder, None, &mut nothing).unwrap().done, Vec::<String>::new(), "after {done:?}");
    let store = Embedded::open(folder, &options()).unwrap();
    assert_eq!(counts(&store), counts_before, "after {done:?}");
    assert!(store.found().damage.is_empty(), "after {done:?}");
    done
}

type Loss = (&'static str, fn(&Path), &'static str);

/// Losses beside the journal's frames, each with the words that report it.
const MENDABLE: &[Loss] = &[
    ("store", |folder| fs::remove_file(folder.join("store")).unwrap(), "the file `store` is missing"),
    ("store empty", |folder| fs::write(folder.join("store"), "").unwrap(), "the file `store` is damaged"),
    (
        "store and mark",
        |folder| {
            fs::remove_file(folder.join("store")).unwrap();
            fs::remove_file(folder.join("flushed")).unwrap();
        },
        "the file `store` is missing",
    ),
    ("mark", |folder| fs::remove_file(folder.join("flushed")).unwrap(), "the file `flushed` is missing"),
    ("mark empty", |folder| fs::write(folder.join("flushed"), "").unwrap(), "the file `flushed` is damaged"),
    (
        "segments renamed",
        |folder| {
            let [first, second] = [0, 1].map(|index| segments(folder)[index].clone());
            fs::rename(&first, folder.join("journal/aside")).unwrap();
            fs::rename(&second, &first).unwrap();
            fs::rename(folder.join("journal/aside"), &second).unwrap();
        },
        "has been renamed",
    ),
    (
        "last segment renamed",
        |folder| {
            let last = segments(folder).pop().unwrap();
            fs::rename(&last, last.with_extension("log.bak")).unwrap();
        },
        "acknowledged and cannot be read",
    ),
];

#[test]
fn incomplete_store_is_repaired() {
    let (folder, counts) = filled("incomplete");
    for (name, lose, said) in MENDABLE {
        let copied = StoreFolder::new("incomplete-copy");
        copy(folder.path(), copied.path());
        lose(copied.path());
        let before = contents(copied.path());
        for create in [true, false] {
            match Embedded::open(copied.path(), &OpenOptions { create, ..options() }) {
                Err(error) => assert!(error.to_string().contains(said), "{name}: {error}"),
                // Damage in the middle of a journal is reported, but does not keep the store from opening at its end.
                Ok(store) => assert!(store.found().damage.iter().any(|damage| damage.what.contains(said)), "{name}"),
            }
        }
        match check(copied.path(), &mut nothing) {
            Err(error) => assert!(error.to_string().contains(said), "{name}: {error}"),
            Ok(report) => assert!(report.damage.iter().any(|damage| damage.what.contains(said)), "{name}: {report:?}"),
        }
        let file = copied.path().with_extension("export");
        assert!(export(copied.path(), &file, false, &mut nothing).is_err(), "{name}");
        if *name != "segments renamed" {
            assert_eq!(contents(copied.path()), before, "{name}: it was changed");
        }
        let done = mended(copied.path(), &counts);
        assert!(!done.is_empty(), "{name}");
    }
}

#[test]
fn store_without_description_is_found() {
    let (folder, _) = filled("found");
    let parent = StoreFolder::new("found-parent");
    copy(folder.path(), &parent.path().join("garden"));
    fs::remove_file(parent.path().join("garden/store")).unwrap();
    assert_eq!(store_in(parent.path()).unwrap(), parent.path().join("garden"));
}

#[test]
fn lost_frames_are_named() {
    let (folder, _) = filled("lost");
    let losses: &[Loss] = &[
        ("last segment", |folder| fs::remove_file(segments(folder).pop().unwrap()).unwrap(), "cannot be read"),
        ("last segment empty", |folder| fs::write(segments(folder).pop().unwrap(), "").unwrap(), "is empty"),
        (
            "journal",
            |folder| fs::remove_dir_all(folder.join("journal")).unwrap(),
            "segments of the journal are missing",
        ),
        (
            "journal's files",
            |folder| segments(folder).iter().for_each(|file| fs::remove_file(file).unwrap()),
            "segments of the journal are missing",
        ),
    ];
    for (name, lose, said) in losses {
        let copied = StoreFolder::new("lost-copy");
        copy(folder.path(), copied.path());
        lose(copied.path());
        let error = Embedded::open(copied.path(), &options()).unwrap_err();
        assert!(matches!(error, OpenStoreError::Damaged { .. }) && error.to_string().contains(said), "{name}: {error}");
        let report = check(copied.path(), &mut nothing).unwrap();
        assert!(report.in_doubt && report.damage.iter().any(|damage| damage.what.contains(said)), "{name}: {report:?}");
        assert!(report.damage.iter().any(|damage| damage.what.contains("frames are missing")), "{name}: {report:?}");
        let error = repair(copied.path(), None, &mut nothing).unwrap_err();
        assert!(matches!(error, OpenStoreError::Damaged { .. }), "{name}: {error}");
    }
    // With one lost in the middle, all others can be read.
    let copied = StoreFolder::new("lost-middle");
    copy(folder.path(), copied.path());
    fs::remove_file(&segments(copied.path())[1]).unwrap();
    let store = Embedded::open(copied.path(), &options()).unwrap();
    let text = store.found().damage.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(text.contains("segments between 1 and 3 are missing") && text.contains(": missing"), "{text}");
}

#[test]
fn missing_blobs_are_said() {
    let (folder, counts) = filled("blobs");
    fs::remove_dir_all(folder.path().join("blobs")).unwrap();
    let error = Embedded::open(folder.path(), &options()).unwrap_err();
    assert!(error.to_string().contains("the folder `blobs` is missing"), "{error}");
    let report = check(folder.path(), &mut nothing).unwrap();
    assert!(report.damage.iter().any(|damage| damage.what.contains("`blobs` is missing")), "{report:?}");
    let file = folder.path().with_extension("export");
    export(folder.path(), &file, false, &mut nothing).unwrap_err();
    assert_eq!(export(folder.path(), &file, true, &mut nothing).unwrap().blobs, 0);
    fs::remove_file(&file).unwrap();
    assert_eq!(mended(folder.path(), &counts).len(), 1);
}

#[test]
fn remains_are_never_overwritten() {
    let (folder, _) = filled("remains");
    for kept in ["journal", "blobs", "flushed"] {
        let copied = StoreFolder::new("remains-copy");
        copy(folder.path(), copied.path());
        for entry in fs::read_dir(copied.path()).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with(kept) {
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
        }
        let before = contents(copied.path());
        let error = Embedded::open(copied.path(), &options()).unwrap_err();
        assert!(matches!(error, OpenStoreError::Incomplete { .. }), "{kept}: {error}");
        let file = copied.path().with_extension("export");
        export(folder.path(), &file, false, &mut nothing).unwrap();
        import(&file, copied.path(), &mut nothing).unwrap_err();
        fs::remove_file(&file).unwrap();
        assert_eq!(contents(copied.path()), before, "{kept}");
    }
    let other = StoreFolder::new("remains-other");
    fs::create_dir_all(other.path().join("journal")).unwrap();
    fs::write(other.path().join("journal/diary.txt"), "important").unwrap();
    let error = Embedded::open(other.path(), &options()).unwrap_err();
    assert!(matches!(&error, OpenStoreError::NotAStore { found, .. } if found == "journal/diary.txt"), "{error}");
}

#[test]
fn unfinished_store_is_made_anew() {
    for with_segment in [true, false] {
        let again = StoreFolder::new("unfinished-again");
        drop(Embedded::open(again.path(), &options()).unwrap());
        // The state that a process leaves if it dies before the description has its name.
        fs::remove_file(again.path().join("store")).unwrap();
        fs::remove_file(again.path().join("flushed")).unwrap();
        let first = segments(again.path()).remove(0);
        fs::write(&first, &fs::read(&first).unwrap()[..128]).unwrap();
        if !with_segment {
            fs::remove_file(&first).unwrap();
        }
        assert_eq!(counts(&Embedded::open(again.path(), &options()).unwrap()), [0; PARTITIONS as usize]);
    }
}

#[test]
fn used_store_is_refused_without_lock() {
    let folder = StoreFolder::new("lockless");
    let store = Embedded::open(folder.path(), &options()).unwrap();
    fs::remove_file(folder.path().join("lock")).unwrap();
    for _ in 0..2 {
        let error = Embedded::open(folder.path(), &options()).unwrap_err();
        assert!(matches!(error, OpenStoreError::InUse { .. }), "{error}");
    }
    drop(store);
    drop(Embedded::open(folder.path(), &options()).unwrap());
}

#[test]
fn first_release_needs_the_partitions() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layout-1/store");
    let folder = StoreFolder::new("first-release");
    copy(&fixture, folder.path());
    fs::remove_file(folder.path().join("store")).unwrap();
    let error = repair(folder.path(), None, &mut nothing).unwrap_err();
    assert!(error.to_string().contains("--partitions 256"), "{error}");
    assert!(repair(folder.path(), Some(16), &mut nothing).unwrap().frames > 30);
    let store = Embedded::open(folder.path(), &options()).unwrap();
    assert_eq!(store.partitions(), 16);
    assert!(read(&store, 0).1.is_ok() && store.found().damage.is_empty());
}

#[cfg(unix)]
#[test]
fn stores_are_their_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let wrong = |folder: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = contents(folder).into_iter().map(|(path, _)| path).collect();
        paths.extend(["", "journal", "blobs", "lock"].map(|name| folder.join(name)));
        paths.retain(|path| mode(path) != if path.is_dir() { 0o700 } else { 0o600 });
        paths
    };
    let (folder, _) = filled("private");
    assert_eq!(wrong(folder.path()), Vec::<PathBuf>::new());
    // A store of an earlier release is narrowed.
    for path in contents(folder.path()).into_iter().map(|(path, _)| path).chain([folder.path().join("lock")]) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    for name in ["", "journal", "blobs"] {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let store = Embedded::open(folder.path(), &options()).unwrap();
    assert_eq!(store.found().exposed, None);
    write(&store, 6, 300, |_, _| ());
    store.put(b"another").unwrap();
    assert_eq!(wrong(folder.path()), Vec::<PathBuf>::new());
    let file = folder.path().with_extension("export");
    drop(store);
    export(folder.path(), &file, false, &mut nothing).unwrap();
    assert_eq!(mode(&file), 0o600);
    let imported = folder.path().with_extension("imported");
    import(&file, &imported, &mut nothing).unwrap();
    assert_eq!(wrong(&imported), Vec::<PathBuf>::new());
    fs::remove_file(&file).unwrap();
    fs::remove_dir_all(&imported).unwrap();
}
