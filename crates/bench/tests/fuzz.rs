//! Replays what the fuzzer of plans of faults starts from and what it once found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../fuzz/src/chaos.rs"]
mod chaos;
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn plans_of_faults_are_replayed() {
    replay("chaos_plan", chaos::chaos_plan);
}

#[test]
fn changed_plans_do_no_harm() {
    change(&chaos::seeds(), 300, chaos::chaos_plan);
}
