//! `whimbrel store` and `whimbrel bench state`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use whimbrel_platform::store::{Append, Blobs, Coord, Epoch, Journal, Lsn, Partition, Revision};
use whimbrel_store::{Embedded, OpenOptions};

use crate::{RunningProcess, Scratch, run_in};

const FRAMES: u64 = 3_000;

/// A store of some small segments in `society.store`, of which the older frames are forgotten.
fn make(scratch: &Scratch) {
    let options = OpenOptions { segment_bytes: 256 << 10, ..OpenOptions::default() };
    let store = Embedded::open(scratch.path().join("society.store"), &options).unwrap();
    for partition in [3, 4] {
        store.open(Partition(partition), Epoch(2)).unwrap();
        for number in 1..=FRAMES {
            let frame = [number as u8; 100];
            let append = Append { partition: Partition(partition), epoch: Epoch(2), number, frame: &frame };
            store.append(&[append])[0].clone().unwrap();
        }
    }
    store.trim(Partition(3), Lsn(FRAMES - 9)).unwrap();
    store.write("shard/3", Revision(0), b"n1").unwrap();
    store.put(b"a snapshot").unwrap();
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn store_commands_work_in_turn() {
    let scratch = Scratch::new();
    make(&scratch);
    let checked = |name: &str| {
        let seen = run_in(scratch.path(), &["store", "check", name, "--json"]);
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
        json(&seen.out)
    };
    let before = checked("society.store");
    assert_eq!((&before["frames"], &before["keys"], &before["blobs"]), (&(FRAMES + 10).into(), &1.into(), &1.into()));
    assert_eq!(before["opened"][0]["first"], FRAMES - 9);
    let seen = run_in(scratch.path(), &["store", "compact", "society.store", "--json"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    let compacted = json(&seen.out);
    assert!(compacted["after_bytes"].as_u64() < compacted["before_bytes"].as_u64(), "{compacted}");
    let after = checked("society.store");
    assert_eq!(before["opened"], after["opened"]);
    assert_eq!(after["journal_bytes"], compacted["after_bytes"]);
    let seen = run_in(scratch.path(), &["store", "export", "society.store", "file"]);
    let said = format!("exported into file: {} frames of {} bytes, 1 key, 1 blob\n", FRAMES + 10, (FRAMES + 10) * 100);
    assert_eq!((seen.code, seen.out), (Some(0), said));
    let seen = run_in(scratch.path(), &["store", "import", "other.store", "file"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    assert_eq!(checked("other.store")["opened"], before["opened"]);
    let seen = run_in(scratch.path(), &["store", "import", "other.store", "file"]);
    assert_eq!(seen.code, Some(1));
    assert_eq!(seen.err, "error: other.store is not empty: an export is only restored into an empty store\n");
    // As a society is kept in `.whimbrel/NAME`.
    let kept = scratch.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    std::fs::rename(scratch.path().join("other.store"), kept.join("one")).unwrap();
    assert_eq!(checked("kept")["opened"], before["opened"]);
    std::fs::rename(scratch.path().join("society.store"), kept.join("two")).unwrap();
    let seen = run_in(scratch.path(), &["store", "check", "kept"]);
    assert_eq!(seen.err, "error: there are several stores in kept: kept/one, kept/two\n");
    let seen = run_in(scratch.path(), &["store", "check", "no.store"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(1), "error: there is no store in no.store\n"));
}

#[test]
fn check_detects_damaged_store() {
    let scratch = Scratch::new();
    make(&scratch);
    let store = Embedded::open(scratch.path().join("society.store"), &OpenOptions::default()).unwrap();
    for partition in 5..9 {
        store.open(Partition(partition), Epoch(1)).unwrap();
    }
    drop(store);
    let seen = run_in(scratch.path(), &["store", "check", "society.store"]);
    assert!(seen.out.ends_with("all of it is as it was written\n"), "{}", seen.out);
    let rows: Vec<Option<&str>> = seen.out.lines().map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows[..4], [Some("partition"), Some("3"), Some("4"), Some("4")], "{}", seen.out);
    assert!(seen.out.contains("4  the other opened partitions have no frames"), "{}", seen.out);
    let journal = scratch.path().join("society.store/journal");
    let first = std::fs::read_dir(&journal).unwrap().map(|file| file.unwrap().path()).min().unwrap();
    let mut bytes = std::fs::read(&first).unwrap();
    let frame = bytes.windows(100).rposition(|window| window == [7; 100]).unwrap();
    bytes[frame + 50] = 8;
    std::fs::write(&first, bytes).unwrap();
    let seen = run_in(scratch.path(), &["store", "check", "society.store"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.err.contains("damaged: partition 4, frame "), "{}", seen.err);
    let seen = run_in(scratch.path(), &["store", "export", "society.store", "file"]);
    assert!(seen.code == Some(1) && seen.err.contains("is damaged: partition 4, frame "), "{}", seen.err);
    let seen = run_in(scratch.path(), &["store", "export", "society.store", "file", "--salvage", "--json"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    assert_eq!(json(&seen.out)["damage"][0]["partition"], 4);
}

const COUNTER: &str = "n(0). !go. +!go : n(N) & N < 3 <- -+n(N+1); .print(N+1); !go. +!go <- .wait(60000).";

#[cfg(unix)]
#[test]
fn missing_store_file_is_repaired() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("c.asl"), COUNTER).unwrap();
    let arguments = ["run", "c.asl", "--store", "st", "--log=said", "--for"];
    let run = |time: &str| run_in(scratch.path(), &[&arguments[..], &[time]].concat());
    // Until it has counted, however long that takes.
    let mut first = crate::whimbrel();
    first.args(arguments).arg("60s").current_dir(scratch.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut first = RunningProcess(first.spawn().expect("the binary runs"));
    let mut lines = BufReader::new(first.0.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "[c] 3"), "it counts");
    kill_process(Pid::from_child(&first.0), Signal::INT).expect("it is ours");
    assert_eq!(first.0.wait().expect("it ends").code(), Some(130));
    let logged = std::fs::read_dir(scratch.path().join("said")).unwrap().next().unwrap().unwrap().path();
    let segment = scratch.path().join("st/journal/0000000001.log");
    let before = std::fs::read(&segment).unwrap();
    for store in [&scratch.path().join("st"), &logged] {
        std::fs::remove_file(store.join("store")).unwrap();
        let seen = run("60s");
        assert_eq!((seen.code, seen.out.as_str()), (Some(1), ""), "{}", seen.err);
        assert!(seen.err.contains("the file `store` is missing") && seen.err.contains("store repair"), "{}", seen.err);
        let name = store.to_string_lossy();
        let seen = run_in(scratch.path(), &["store", "check", &name]);
        assert!(seen.code == Some(1) && seen.err.contains("store repair"), "{}", seen.err);
        let seen = run_in(scratch.path(), &["store", "repair", &name]);
        assert!(seen.code == Some(0) && seen.out.contains("it is whole again: "), "{}{}", seen.out, seen.err);
        let seen = run_in(scratch.path(), &["store", "repair", &name]);
        assert!(seen.out.starts_with("nothing to repair"), "{}{}", seen.out, seen.err);
    }
    assert!(std::fs::read(&segment).unwrap().starts_with(&before[..64]));
    let seen = run("1s");
    assert!(seen.code == Some(0) && !seen.out.contains("[c] 1"), "it began anew: {}{}", seen.out, seen.err);
}

#[cfg(unix)]
#[test]
fn store_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("c.asl"), COUNTER).unwrap();
    let seen = run_in(scratch.path(), &["run", "c.asl", "--durable", "--log", "--for", "2s"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    let mut folders = vec![scratch.path().join(".whimbrel")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
            }
        }
    }
    assert!(files >= 8, "{files}");
}

#[test]
fn the_state_of_agents_is_measured() {
    let scratch = Scratch::new();
    for store in ["embedded", "memory"] {
        let arguments =
            ["bench", "state", "--store", store, "--writers", "50", "--bytes", "64", "--seconds", "1", "--json"];
        let seen = run_in(scratch.path(), &arguments);
        assert_eq!(seen.code, Some(0), "{}", seen.err);
        let line = json(&seen.out);
        assert_eq!((&line["bench"], &line["params"]["writers"]), (&"state".into(), &50.into()));
        assert!(line["metrics"]["writes_per_s"].as_f64().unwrap() > 10.0, "{line}");
        let share = line["metrics"]["write_amplification"].as_f64();
        assert_eq!(store == "embedded", share.is_some_and(|share| share > 1.0 && share < 10.0), "{line}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "something is left");
}
