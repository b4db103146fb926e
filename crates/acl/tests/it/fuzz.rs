//! Replays the seeds of the fuzzers, and the inputs that once failed.

#[path = "../../../../fuzz/src/compact.rs"]
mod compact;
#[path = "../../../../fuzz/src/encodings.rs"]
mod encodings;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn compact_bytes_are_replayed() {
    replay("compact_decoder", compact::compact_decoder);
}

#[test]
fn messages_and_sl_are_replayed() {
    for (target, check) in [
        ("acl_string", encodings::acl_string as fn(&[u8])),
        ("acl_xml", encodings::acl_xml),
        ("acl_bits", encodings::acl_bits),
        ("acl_json", encodings::acl_json),
        ("sl_content", encodings::sl_content),
    ] {
        replay(target, check);
    }
}

/// Every byte of every seed changed in many ways.
#[test]
fn changed_bytes_do_no_harm() {
    change(&compact::seeds(), 200, compact::compact_decoder);
}
