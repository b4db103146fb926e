//! Replays what the fuzzers of modules, states, calls and frames start from and what they once found.

#[path = "../../../../fuzz/src/guest.rs"]
mod guest;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

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

/// Writes the seeds into the folders of corpora, if they are to be made anew.
#[test]
#[ignore = "writes files"]
fn write_corpus() {
    let all = [
        ("guest_module", guest::modules()),
        ("guest_state", guest::states()),
        ("guest_calls", guest::scripts()),
        ("guest_frame", guest::frames()),
    ];
    for (target, seeds) in all {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:02}")), seed).unwrap();
        }
    }
}
