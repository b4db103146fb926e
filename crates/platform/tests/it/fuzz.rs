//! Replays what the fuzzers of sessions, of links and of journals start from and what they once found.

#[path = "../../../../fuzz/src/durable.rs"]
mod durable;
#[path = "../../../../fuzz/src/links.rs"]
mod links;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/session.rs"]
mod session;

use replay::{change, replay};

#[test]
fn frames_of_sessions_are_replayed() {
    replay("session_frames", session::session_frames);
}

#[test]
fn changed_frames_of_sessions_do_no_harm() {
    change(&session::seeds(), 300, session::session_frames);
}

#[test]
fn frames_of_links_are_replayed() {
    replay("link_frames", links::link_frames);
}

#[test]
fn changed_frames_of_links_do_no_harm() {
    change(&links::seeds(), 2_000, links::link_frames);
}

#[test]
fn frames_of_journals_are_replayed() {
    replay("journal_frame", durable::journal_frame);
}

#[test]
fn changed_frames_of_journals_do_no_harm() {
    change(&durable::seeds(), 4_000, durable::journal_frame);
}
