//! Replays the fuzzers' seeds and earlier findings.

#[path = "../../../../fuzz/src/bundles.rs"]
mod bundles;
#[path = "../../../../fuzz/src/language.rs"]
mod language;
#[path = "../../../../fuzz/src/minds.rs"]
mod minds;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn programs_are_replayed() {
    replay("asl_parser", language::asl_parser);
}

#[test]
fn projects_are_replayed() {
    replay("mas2j_parser", language::mas2j_parser);
}

#[test]
fn minds_are_replayed() {
    replay("mind_decoder", minds::mind_decoder);
}

#[test]
fn mutated_minds_are_read_or_refused() {
    change(&minds::seeds(), 300, minds::mind_decoder);
}

#[test]
fn bundles_are_replayed() {
    replay("code_bundle", bundles::code_bundle);
}

#[test]
fn mutated_bundles_are_read_or_refused() {
    change(&bundles::seeds(), 3000, bundles::code_bundle);
}

#[test]
fn terms_are_replayed() {
    replay("term_parser", language::term_parser);
}
