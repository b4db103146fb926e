//! Replays the seeds of the fuzzers, and the inputs that once failed.

#[path = "../../../../fuzz/src/a2a.rs"]
mod a2a;
#[path = "../../../../fuzz/src/mcp.rs"]
mod mcp;
#[path = "../../../../fuzz/src/mtp.rs"]
mod mtp;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../../../fuzz/src/xmpp.rs"]
mod xmpp;

use replay::{change, replay};

#[test]
fn posts_are_replayed() {
    replay("mtp_post", mtp::mtp_post);
}

/// Every byte of every seed changed in many ways.
#[test]
fn changed_posts_do_no_harm() {
    change(&mtp::seeds(), 500, mtp::mtp_post);
}

#[test]
fn a2a_requests_are_replayed() {
    replay("a2a_requests", a2a::a2a_requests);
}

#[test]
fn changed_a2a_requests_do_no_harm() {
    change(&a2a::seeds(), 300, a2a::a2a_requests);
}

#[test]
fn xmpp_streams_are_replayed() {
    replay("xmpp_stream", xmpp::xmpp_stream);
}

#[test]
fn changed_xmpp_streams_do_no_harm() {
    change(&xmpp::seeds(), 200, xmpp::xmpp_stream);
}

#[test]
fn mcp_messages_are_replayed() {
    replay("mcp_messages", mcp::mcp_messages);
}

#[test]
fn changed_mcp_messages_do_no_harm() {
    change(&mcp::seeds(), 300, mcp::mcp_messages);
}
