//! Each quota, of an agent and of all agents of its owner. An agent that exceeds one is ended, its owner is told why,
//! and other agents are unaffected.

use whimbrel_acl::Performative;

use crate::harness::{host, world};
use crate::owners::introduce;

/// Never returns.
const SPIN: &str = "(loop $l (br $l)) (i32.const 0))";
const GROW: &str = "(drop (memory.grow (i32.const 1))) (i32.const 0))";
/// Sends ten messages of 25 bytes.
const TALK: &str = "(local $n i32) (loop $l (call $tell (i64.const 1))
    (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10)))) (i32.const 0))";
const PRINT: &str = "(call $print (i32.const 1024) (i32.const 25)) (i32.const 0))";
/// Keeps 20 bytes under a key of one.
const KEEP: &str = r#"(drop (call $storage_put (i32.const 3000) (i32.const 1) (i32.const 3100) (i32.const 20)))
    (i32.const 0)) (data (i32.const 3000) "k")"#;
const IDLE: &str = "(i32.const 0))";

/// Returns the reason that the owner hears when a guest of this body exceeds this quota, and no other.
#[track_caller]
fn stopped_for(quota: &str, most: u64, body: &str) -> String {
    let policy = format!(
        r#"{{"grant": [{{"who": "*", "storage": true}}],
            "quota": [{{"who": "agent:guest", "call_cpu_ms": 10000}}, {{"who": "agent:guest", "{quota}": {most}}}]}}"#
    );
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(&policy).unwrap());
    let host = host();
    introduce(&mut sim, &host, "guest", "probe", body);
    introduce(&mut sim, &host, "neighbour", "probe", "(call $tell (i64.const 7)) (i32.const 0))");
    sim.tell("guest", "go");
    sim.run_for(2_000);
    let failures = probe.take().into_iter().filter(|told| told.performative == Performative::Failure);
    let told: Vec<String> = failures.map(|told| told.content.to_string()).collect();
    assert_eq!(told.len(), 1, "{quota}: {told:?}, ended {:?}", sim.ended("guest"));
    sim.tell("neighbour", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 7"], "{quota}: its neighbour goes on");
    told.concat()
}

#[test]
fn exceeded_quota_is_told_to_owner() {
    let quotas = [
        ("call_cpu_ms", 20, SPIN),
        ("cpu_ms_per_s", 20, SPIN),
        ("memory_bytes", 65_536, GROW),
        ("messages_per_s", 5, TALK),
        ("message_bytes", 24, TALK),
        ("message_bytes", 24, PRINT),
        ("storage_bytes", 84, KEEP),
        ("lifetime_s", 1, IDLE),
        ("owner_cpu_ms_per_s", 20, SPIN),
        ("owner_memory_bytes", 65_536, GROW),
        ("owner_messages_per_s", 5, TALK),
        ("owner_message_bytes", 24, TALK),
        ("owner_message_bytes", 24, PRINT),
        ("owner_storage_bytes", 4_100, KEEP),
        ("owner_lifetime_s", 1, IDLE),
    ];
    for (quota, most, body) in quotas {
        let why = stopped_for(quota, most, body);
        assert!(why.contains(&format!("(quota {quota})")), "{quota}: {why}");
    }
}

#[test]
fn more_agents_extend_no_lifetime() {
    let (mut sim, _) = world();
    sim.set_policy(serde_json::from_str(r#"{"quota": [{"who": "*", "owner_lifetime_s": 10}]}"#).unwrap());
    let host = host();
    introduce(&mut sim, &host, "first", "boss", IDLE);
    sim.run_for(6_000);
    introduce(&mut sim, &host, "second", "boss", IDLE);
    introduce(&mut sim, &host, "other", "queen", IDLE);
    sim.run_for(3_000);
    assert_eq!([sim.ended("first"), sim.ended("second")], [None, None]);
    sim.run_for(1_500);
    assert!(sim.ended("first").is_some() && sim.ended("second").is_some(), "both, ten seconds after the first came");
    assert_eq!(sim.ended("other"), None, "it is somebody else's");
    introduce(&mut sim, &host, "third", "boss", IDLE);
    sim.run_for(3_000);
    assert_eq!(sim.ended("third"), None, "nobody of his was there: it begins anew");
}
