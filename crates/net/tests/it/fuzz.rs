//! Replays what the fuzzers of evidence and enrolment start from and what they once found.

#[path = "../../../../fuzz/src/enrolment.rs"]
mod enrolment;
#[path = "../../../../fuzz/src/evidence.rs"]
mod evidence;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn bundle_corpus_is_replayed() {
    replay("evidence_bundle", evidence::evidence_bundle);
}

#[test]
fn mutated_bundles_do_no_harm() {
    change(&evidence::seeds(), 500, evidence::evidence_bundle);
}

#[test]
fn authority_corpus_is_replayed() {
    replay("enrolment", enrolment::enrolment);
}

#[test]
fn mutated_requests_do_no_harm() {
    change(&enrolment::seeds(), 100, enrolment::enrolment);
}
