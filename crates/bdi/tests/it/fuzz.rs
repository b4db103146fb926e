//! Replays what the fuzzers start from and what they once found.

#[path = "../../../../fuzz/src/language.rs"]
mod language;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn programs_are_replayed() {
    replay("asl_parser", language::asl_parser);
}

#[test]
fn projects_are_replayed() {
    replay("mas2j_parser", language::mas2j_parser);
}

#[test]
fn terms_are_replayed() {
    replay("term_parser", language::term_parser);
}
