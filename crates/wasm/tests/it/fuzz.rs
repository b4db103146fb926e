//! Replays what the fuzzers of modules, states, calls and frames start from and what they once found.

#[path = "../../../../fuzz/src/guest.rs"]
mod guest;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use std::path::{Path, PathBuf};

use replay::{change, replay};

#[test]
fn modules_are_replayed_and_changed_ones_do_no_harm() {
    replay("guest_module", guest::guest_module);
    change(&guest::modules(), 300, guest::guest_module);
}

#[test]
fn states_are_replayed_and_changed_ones_do_no_harm() {
    replay("guest_state", guest::guest_state);
    change(&guest::states(), 500, guest::guest_state);
}

#[test]
fn calls_are_replayed_and_changed_ones_do_no_harm() {
    replay("guest_calls", guest::guest_calls);
    change(&guest::scripts(), 40, guest::guest_calls);
}

#[test]
fn a_script_is_what_the_guest_does() {
    let send = [[0].as_slice(), &3000u32.to_le_bytes(), &25u32.to_le_bytes(), &[0; 8]].concat();
    assert_eq!(guest::sent_by(&send.repeat(3)), 3);
}

#[test]
fn frames_are_replayed_and_changed_ones_do_no_harm() {
    replay("guest_frame", guest::guest_frame);
    change(&guest::frames(), 20_000, guest::guest_frame);
}

#[test]
fn states_to_start_from_are_states() {
    for state in guest::states() {
        assert!(guest::is_state(&state), "{state:?}");
        let other_layout = [&[state[0] - 1], &state[1..]].concat();
        assert!(!guest::is_state(&other_layout));
    }
}

/// The target, and what it starts from.
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
fn the_corpus_is_what_the_fuzzers_start_from_today() {
    for (target, seeds) in seeds() {
        for (file, seed) in files(target, seeds) {
            let found = std::fs::read(&file).unwrap_or_default();
            assert!(found == seed, "{} is out of date: run `write_corpus`", file.display());
        }
    }
}

/// Writes the seeds into the folders of corpora, if they are to be made anew.
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
