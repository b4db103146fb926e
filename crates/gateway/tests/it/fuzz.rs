//! Replays what the fuzzer of the control socket starts from and what it once found.

#[path = "../../../../fuzz/src/control.rs"]
mod control;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn what_is_said_on_control_sockets_is_replayed() {
    replay("control_frames", control::control_frames);
}

#[test]
fn changed_requests_to_nodes_do_no_harm() {
    change(&control::seeds(), 300, control::control_frames);
}
