//! Replays the inputs that the fuzzers of sessions, links, journals and clusters start from, and those that they found.

#[path = "../../../../fuzz/src/cluster.rs"]
mod cluster;
#[path = "../../../../fuzz/src/conversations.rs"]
mod conversations;
#[path = "../../../../fuzz/src/durable.rs"]
mod durable;
#[path = "../../../../fuzz/src/links.rs"]
mod links;
#[path = "../../../../fuzz/src/python.rs"]
mod python;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/session.rs"]
mod session;

use replay::{change, replay};

#[test]
fn session_frames_are_replayed() {
    replay("session_frames", session::session_frames);
}

#[test]
fn changed_session_frames_are_harmless() {
    change(&session::seeds(), 300, session::session_frames);
}

#[test]
fn link_frames_are_replayed() {
    replay("link_frames", links::link_frames);
}

#[test]
fn changed_link_frames_are_harmless() {
    change(&links::seeds(), 2_000, links::link_frames);
}

#[test]
fn journal_frames_are_replayed() {
    replay("journal_frame", durable::journal_frame);
}

/// Journals outlive releases: frames from before registrations were kept.
#[test]
fn earlier_releases_frames_are_read() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal_frame");
    for (name, count) in [("seed-00", 2), ("seed-01", 2), ("seed-02", 2), ("seed-03", 2), ("seed-04", 8)] {
        let bytes = std::fs::read(corpus.join(name)).unwrap();
        let records = whimbrel_platform::durable::decode_frame(&bytes).unwrap();
        assert_eq!(records.len(), count, "{name}");
    }
}

#[test]
fn changed_journal_frames_are_harmless() {
    change(&durable::seeds(), 4_000, durable::journal_frame);
}

#[test]
fn conversation_frames_are_replayed() {
    replay("conversation_log", conversations::conversation_log);
}

#[test]
fn changed_conversation_frames_are_harmless() {
    change(&conversations::seeds(), 4_000, conversations::conversation_log);
}

#[test]
fn cluster_keys_are_replayed() {
    replay("cluster_keys", cluster::cluster_keys);
}

#[test]
fn changed_cluster_keys_are_harmless() {
    change(&cluster::seeds(), 4_000, cluster::cluster_keys);
}

#[test]
fn python_frames_are_replayed() {
    replay("python_frames", python::python_frames);
}

#[test]
fn changed_python_frames_are_harmless() {
    change(&python::seeds(), 2_000, python::python_frames);
}
