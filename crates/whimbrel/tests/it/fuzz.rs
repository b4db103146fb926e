//! Replays what the fuzzer of policy files starts from and what it once found.

#[path = "../../../../fuzz/src/policy.rs"]
mod policy;
#[path = "../../../../fuzz/src/replay.rs"]
mod replay;

use replay::{change, replay};

#[test]
fn policies_are_replayed() {
    replay("policy_file", policy::policy_file);
}

#[test]
fn changed_policies_do_no_harm() {
    change(&policy::seeds(), 300, policy::policy_file);
}
