//! Replays what the fuzzers of sessions, of links, of journals and of clusters start from and what they once found.

#[path = "../../../../fuzz/src/cluster.rs"]
mod cluster;
#[path = "../../../../fuzz/src/conversations.rs"]
mod conversations;
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

/// Journals outlive releases: frames with the records that there were before what the platform knows of agents was kept.
#[test]
fn frames_of_earlier_releases_are_read() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal_frame");
    for (name, count) in [("seed-00", 2), ("seed-01", 2), ("seed-02", 2), ("seed-03", 2), ("seed-04", 8)] {
        let bytes = std::fs::read(corpus.join(name)).unwrap();
        let records = whimbrel_platform::durable::decode_frame(&bytes).unwrap();
        assert_eq!(records.len(), count, "{name}");
    }
}

#[test]
fn changed_frames_of_journals_do_no_harm() {
    change(&durable::seeds(), 4_000, durable::journal_frame);
}

#[test]
fn frames_of_logs_of_conversations_are_replayed() {
    replay("conversation_log", conversations::conversation_log);
}

#[test]
fn changed_frames_of_logs_of_conversations_do_no_harm() {
    change(&conversations::seeds(), 4_000, conversations::conversation_log);
}

#[test]
fn keys_of_clusters_are_replayed() {
    replay("cluster_keys", cluster::cluster_keys);
}

#[test]
fn changed_keys_of_clusters_do_no_harm() {
    change(&cluster::seeds(), 4_000, cluster::cluster_keys);
}
