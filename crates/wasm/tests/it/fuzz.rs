//! Replays the seeds of the fuzzers of modules, states, calls and frames, and the inputs that once failed.

#[path = "../../../../fuzz/src/guest.rs"]
mod guest;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use std::path::{Path, PathBuf};

use replay::{change, replay};

#[test]
fn mutated_modules_do_no_harm() {
    replay("guest_module", guest::guest_module);
    change(&guest::modules(), 300, guest::guest_module);
}

#[test]
fn mutated_states_do_no_harm() {
    replay("guest_state", guest::guest_state);
    change(&guest::states(), 500, guest::guest_state);
}

#[test]
fn mutated_calls_do_no_harm() {
    replay("guest_calls", guest::guest_calls);
    change(&guest::scripts(), 40, guest::guest_calls);
}

#[test]
fn script_drives_the_guest() {
    let send = [[0].as_slice(), &3000u32.to_le_bytes(), &25u32.to_le_bytes(), &[0; 8]].concat();
    assert_eq!(guest::sent_by(&send.repeat(3)), 3);
}

#[test]
fn mutated_frames_do_no_harm() {
    replay("guest_frame", guest::guest_frame);
    change(&guest::frames(), 20_000, guest::guest_frame);
}

#[test]
fn seed_states_are_valid() {
    for state in guest::states() {
        assert!(guest::is_state(&state), "{state:?}");
        let other_layout = [&[state[0] - 1], &state[1..]].concat();
        assert!(!guest::is_state(&other_layout));
    }
}

/// Returns the fuzz targets with their seeds.
fn seeds() -> [(&'static str, Vec<Vec<u8>>); 4] {
    [
        ("guest_module", guest::modules()),
        ("guest_state", guest::states()),
        ("guest_calls", guest::scripts()),
        ("guest_frame", guest::frames()),
    ]
}

/// The seeds of a target with the files that they are in.
fn files(target: &str, seeds: Vec<Vec<u8>>) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    seeds.into_iter().enumerate().map(move |(number, seed)| (folder.join(format!("seed-{number:02}")), seed))
}

/// A fuzzer that starts from states of a former layout gets no further than their first byte.
#[test]
fn corpus_matches_the_seeds() {
    for (target, seeds) in seeds() {
        for (file, seed) in files(target, seeds) {
            let found = std::fs::read(&file).unwrap_or_default();
            assert!(found == seed, "{} is out of date: run `write_corpus`", file.display());
        }
    }
}

/// Writes the seeds into the folders of corpora; run by hand.
#[test]
#[ignore = "writes files"]
fn write_corpus() {
    for (target, seeds) in seeds() {
        for (file, seed) in files(target, seeds) {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, seed).unwrap();
        }
    }
}
