//! Storage of guests on a node, and services that they offer.

use whimbrel_platform::EndReason;

use crate::harness::{agent, host, told, world};
use crate::owners::{arrive, introduce, world_under};

const GRANT: &str = r#"{"grant": [{"who": "*", "storage": true}], "quota": [{"who": "*", "storage_bytes": 84, "owner_storage_bytes": 8300}]}"#;

/// Tells the answers of these calls; keys are at 3000, values at 3100.
fn body_of(calls: &[&str]) -> String {
    let calls: String = calls.iter().map(|call| format!("(call $tell (i64.extend_i32_s (call ${call})))")).collect();
    format!(
        r#"{calls} (i32.const 0)) (data (i32.const 3000) "notes/1notes/2other") (data (i32.const 3100) "abcdefghijklmnopqrst")"#
    )
}

fn at(ptr: u32, len: u32) -> String {
    format!("(i32.const {ptr}) (i32.const {len})")
}

#[test]
fn stored_value_is_found_again() {
    let (one, two, other) = (at(3000, 7), at(3007, 7), at(3014, 5));
    let put = |key: &str, len| format!("storage_put {key} {}", at(3100, len));
    let calls = [
        format!("storage_get {one}"),
        put(&one, 3),
        put(&two, 1),
        put(&other, 0),
        format!("storage_get {one}"),
        // The answer is the whole length, and as much content as fits.
        "read (i32.const 3200) (i32.const 2)".to_owned(),
        format!("storage_get {other}"),
        format!("storage_delete {other}"),
        format!("storage_delete {other}"),
        // A list of two texts of seven bytes; of one; of none.
        format!("storage_list {} {}", at(3000, 6), at(3000, 0)),
        format!("storage_list {} {}", at(3000, 6), one),
        format!("storage_list {} {}", at(3000, 0), two),
    ];
    let body = body_of(&calls.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(r#"{"grant": [{"who": "agent:guest", "storage": true}]}"#).unwrap());
    introduce(&mut sim, &host(), "guest", "boss", &body);
    sim.tell("guest", "go");
    sim.run_until_idle();
    let answers: Vec<i64> = probe.take().iter().filter_map(|message| message.content.as_i64()).collect();
    assert_eq!(answers, [-4, 0, 0, 0, 3, 3, 0, 0, -4, 29, 17, 5]);
}

#[test]
fn ended_guest_can_still_store() {
    let put = format!("storage_put {} {}", at(3000, 7), at(3100, 3));
    let body = format!(
        r#"(i32.const 0)) (func (export "whim_stop") (call $tell (i64.extend_i32_s (call ${put}))))
           (data (i32.const 3000) "notes/1") (data (i32.const 3100) "abc")"#
    );
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(GRANT).unwrap());
    introduce(&mut sim, &host(), "guest", "boss", &body);
    sim.tell("guest", "go");
    sim.run_until_idle();
    sim.kill("guest");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 0"]);
}

#[test]
fn ungranted_storage_is_denied() {
    let body = body_of(&[
        &format!("storage_put {} {}", at(3000, 7), at(3100, 1)),
        &format!("storage_get {}", at(3000, 7)),
        &format!("storage_delete {}", at(3000, 7)),
        &format!("storage_list {} {}", at(3000, 7), at(3000, 7)),
    ]);
    let handle = r#"(func (export "whim_handle") (param i32 i32) (result i32)"#;
    assert_eq!(told(&format!("{handle} {body}"), 1), ["inform -1"; 4]);
}

#[test]
fn keys_and_values_are_limited() {
    let body = body_of(&[
        &format!("storage_put {} {}", at(3000, 0), at(3100, 1)),
        &format!("storage_put {} {}", at(3000, 257), at(3100, 1)),
        &format!("storage_put {} {}", at(3000, 1), at(3100, 19)),
        // No text.
        &format!("storage_put {} {}", at(2, 1), at(3100, 1)),
        &format!("storage_get {}", at(3000, 9)),
        // A byte too many.
        &format!("storage_put {} {}", at(3000, 1), at(3100, 20)),
    ]);
    let body = body + r#"(data (i32.const 2) "\ff")"#;
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(GRANT).unwrap());
    introduce(&mut sim, &host(), "guest", "boss", &body);
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform -3", "inform -3", "inform 0", "inform -3", "inform -4"]);
    let why = "its storage would have 85 bytes, the limit is 84 (quota storage_bytes)".to_owned();
    assert_eq!(sim.ended("guest"), Some(EndReason::Failed(why)));
}

#[test]
fn owner_storage_adds_up() {
    let body = body_of(&[&format!("storage_put {} {}", at(3000, 1), at(3100, 19))]);
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(GRANT).unwrap());
    let host = host();
    for (name, owner) in [("one", "boss"), ("two", "boss"), ("three", "queen")] {
        introduce(&mut sim, &host, name, owner, &body);
        sim.tell(name, "go");
        sim.run_until_idle();
    }
    assert_eq!(probe.take_lines(), ["inform 0", "inform 0"]);
    let why = |name: &str| format!("{:?}", sim.ended(name));
    assert!(why("two").contains("(quota owner_storage_bytes)"), "{}", why("two"));
    assert_eq!((sim.ended("one"), sim.ended("three")), (None, None));
}

#[test]
fn only_descendants_find_stored_values() {
    let put = body_of(&[&format!("storage_put {} {}", at(3000, 1), at(3100, 5))]);
    let get = body_of(&[&format!("storage_get {}", at(3000, 1))]);
    let mut sim = world_under(GRANT);
    let host = host();
    introduce(&mut sim, &host, "guest", "boss", &put);
    sim.tell("guest", "go");
    sim.run_until_idle();
    // An agent of the same name with another owner.
    assert!(sim.kill("guest"));
    introduce(&mut sim, &host, "guest", "queen", &get);
    let probe = whimbrel_testkit::Probe::new();
    assert!(sim.kill("probe"));
    sim.spawn("probe", probe.body());
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert!(sim.kill("guest"));
    // An agent of the same name and owner.
    introduce(&mut sim, &host, "guest", "boss", &get);
    sim.tell("guest", "go");
    sim.run_until_idle();
    arrive(&mut sim, &host, "guest", "clone", true, &get).unwrap();
    sim.tell("clone", "go");
    sim.run_until_idle();
    // An agent with another name.
    introduce(&mut sim, &host, "other", "boss", &get);
    sim.tell("other", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform -4", "inform 5", "inform 5", "inform -4"]);
}

#[test]
fn refused_service_is_not_offered() {
    let body = body_of(&["register (i32.const 3000) (i32.const 5) (i32.const 3000) (i32.const 0)"]);
    let handle = r#"(func (export "whim_handle") (param i32 i32) (result i32)"#;
    for (policy, answer) in
        [("{}", "inform 0"), (r#"{"deny": [{"who": "agent:guest", "register": "not*"}]}"#, "inform -1")]
    {
        let (mut sim, probe) = world();
        sim.set_policy(serde_json::from_str(policy).unwrap());
        sim.spawn("guest", agent(&host(), &format!("{handle} {body}")));
        sim.tell("guest", "go");
        sim.run_until_idle();
        assert_eq!(probe.take_lines(), [answer]);
    }
}

#[test]
fn unknown_deregistration_is_reported() {
    let service = "(i32.const 3000) (i32.const 5) (i32.const 3000) (i32.const 0)";
    let other = "(i32.const 3001) (i32.const 5) (i32.const 3000) (i32.const 0)";
    let body = body_of(&[
        &format!("deregister {service}"),
        &format!("register {service}"),
        &format!("deregister {other}"),
        &format!("deregister {service}"),
        &format!("deregister {service}"),
    ]);
    let handle = r#"(func (export "whim_handle") (param i32 i32) (result i32)"#;
    let answers = ["inform -4", "inform 0", "inform -4", "inform 0", "inform -4"];
    assert_eq!(told(&format!("{handle} {body}"), 1), answers);
}
