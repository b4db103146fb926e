//! Replays what the fuzzers of policy files and of plans of faults start from and what they once found.

#[path = "../../../../fuzz/src/chaos.rs"]
mod chaos;
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

#[test]
fn plans_of_faults_are_replayed() {
    replay("chaos_plan", chaos::chaos_plan);
}

#[test]
fn changed_plans_do_no_harm() {
    change(&chaos::seeds(), 300, chaos::chaos_plan);
}
