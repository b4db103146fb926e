//! Replays what the fuzzer of the control socket starts from and what it once found.

#[path = "../../../../fuzz/src/control.rs"]
mod control;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn control_corpus_is_replayed() {
    replay("control_frames", control::control_frames);
}

#[test]
fn mutated_requests_do_no_harm() {
    change(&control::seeds(), 300, control::control_frames);
}
