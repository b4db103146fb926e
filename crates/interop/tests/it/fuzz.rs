//! Replays what the fuzzer of A2A requests starts from and what it once found.

#[path = "../../../../fuzz/src/a2a.rs"]
mod a2a;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn a2a_corpus_is_replayed() {
    replay("a2a_requests", a2a::a2a_requests);
}

#[test]
fn mutated_a2a_requests_do_no_harm() {
    change(&a2a::seeds(), 300, a2a::a2a_requests);
}
