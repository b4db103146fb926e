use whimbrel_platform::EndReason;
use whimbrel_testkit::Simulation;

use crate::harness::{agent, compile, guest, host, told, world};

/// Guest that counts its messages.
pub const COUNTER: &str = r#"
  (func (export "whim_handle") (param i32 i32) (result i32)
    (i64.store (i32.const 2048) (i64.add (i64.load (i32.const 2048)) (i64.const 1)))
    (call $tell (i64.load (i32.const 2048)))
    (i32.const 0))"#;

#[test]
fn guest_keeps_its_counter() {
    assert_eq!(told(COUNTER, 3), ["inform 1", "inform 2", "inform 3"]);
}

#[test]
fn guests_share_no_memory() {
    let (mut sim, probe) = world();
    let host = host();
    sim.spawn("one", agent(&host, COUNTER));
    sim.spawn("two", agent(&host, COUNTER));
    ["one", "one", "two"].into_iter().for_each(|name| sim.tell(name, "go"));
    sim.run_until_idle();
    let mut lines = probe.take_lines();
    lines.sort();
    assert_eq!(lines, ["inform 1", "inform 1", "inform 2"]);
    assert_eq!(host.live(), 2);
    drop(sim);
    assert_eq!(host.live(), 0, "they leave no place taken");
}

#[test]
fn message_arrives_as_sent() {
    // The frame of `inform` with a whole number from sim@..., as docs/design/wasm-agents.md has it: content at its end.
    let body = r#"
      (func (export "whim_handle") (param $ptr i32) (param $len i32) (result i32)
        (call $tell (i64.load (i32.sub (i32.add (local.get $ptr) (local.get $len)) (i32.const 8))))
        (i32.const 0))"#;
    assert_eq!(told(body, 2), ["inform 1", "inform 2"]);
}

#[test]
fn timers_fire_in_order_once() {
    let body = r#"
      (func (export "whim_start") (param i32 i32) (result i32)
        (drop (call $timer (i64.const 300) (i64.const 3)))
        (drop (call $timer (i64.const 100) (i64.const 1)))
        (drop (call $timer (i64.const 200) (i64.const 2)))
        (drop (call $timer (i64.const 900) (i64.const 2)))
        (i32.const 0))
      (func (export "whim_timer") (param i64) (result i32) (call $tell (local.get 0)) (i32.const 0))
      (func (export "whim_handle") (param i32 i32) (result i32) (i32.const 0))"#;
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.run_for(250);
    assert_eq!(probe.take_lines(), ["inform 1"]);
    sim.run_for(1_000);
    assert_eq!(probe.take_lines(), ["inform 3", "inform 2"], "a timer that is set again is due once");
}

#[test]
fn guest_can_stop_itself() {
    let body = r#"
      (func (export "whim_handle") (param i32 i32) (result i32)
        (call $tell (i64.const 7)) (call $stop) (i32.const 0))"#;
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    (0..2).for_each(|_| sim.tell("guest", "go"));
    sim.run_until_idle();
    assert_eq!((probe.take_lines().len(), sim.ended("guest")), (1, Some(EndReason::Finished)));
    assert!(sim.dead_letters().count() > 0, "what came too late is refused");
}

#[test]
fn stop_overrides_hop_and_wait() {
    let depart = r#"(drop (call $depart (i32.const 3000) (i32.const 2)))"#;
    let wait = r#"(drop (call $receive (i32.const 3000) (i32.const 0) (i64.const -1)))"#;
    let stop = "(call $stop)";
    for (first, second) in [(stop, depart), (depart, stop), (stop, wait)] {
        let body = format!(
            r#"(data (i32.const 3000) "n2")
               (func (export "whim_handle") (param i32 i32) (result i32)
                 (call $tell (i64.const 7)) {first} {second} (i32.const 0))
               (func (export "whim_before_move") (call $tell (i64.const 8)))
               (func (export "whim_after_move") (param i32 i32) (result i32) (call $tell (i64.const 9)) (i32.const 0))"#
        );
        let (mut sim, probe) = world();
        sim.spawn("guest", agent(&host(), &body));
        sim.tell("guest", "go");
        sim.run_until_idle();
        let seen = (probe.take_lines(), sim.ended("guest"));
        assert_eq!(seen, (vec!["inform 7".to_owned()], Some(EndReason::Finished)), "{first} {second}");
    }
}

#[test]
fn guest_reads_remaining_timer() {
    let body = r#"
      (func (export "whim_start") (param i32 i32) (result i32)
        (drop (call $timer (i64.const 300) (i64.const 3)))
        (call $tell (call $timer_left (i64.const 3)))
        (i32.const 0))
      (func (export "whim_timer") (param i64) (result i32)
        (call $tell (call $timer_left (i64.const 3)))
        (i32.const 0))
      (func (export "whim_handle") (param i32 i32) (result i32)
        (call $tell (call $timer_left (i64.const 3)))
        (i32.const 0))"#;
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.run_for(100);
    sim.tell("guest", "go");
    sim.run_for(1_000);
    let told: Vec<i64> = probe.take_lines().iter().map(|line| line["inform ".len()..].parse().unwrap()).collect();
    assert_eq!((told.len(), told[0], told[2]), (3, 300, -4), "{told:?}");
    assert!((199..=201).contains(&told[1]), "{told:?}");
}

#[test]
fn guest_limits_its_lifetime() {
    let body = r#"
      (func (export "whim_handle") (param i32 i32) (result i32)
        (call $tell (i64.extend_i32_s (call $set_lifetime (i64.const 500))))
        (i32.const 0))"#;
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.tell("guest", 1);
    sim.run_for(499);
    assert_eq!((probe.take_lines(), sim.ended("guest")), (vec!["inform 0".to_owned()], None));
    sim.run_for(2);
    assert_eq!(sim.ended("guest"), Some(EndReason::Expired));
}

#[test]
fn ended_guest_runs_stop() {
    let body = r#"
      (func (export "whim_stop") (call $tell (i64.const 99)))
      (func (export "whim_handle") (param i32 i32) (result i32) (i32.const 0))"#;
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.run_until_idle();
    sim.kill("guest");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 99"]);
}

#[test]
fn take_finds_matching_message() {
    // A template: performative 18 (request), nothing else.
    let body = r#"
      (data (i32.const 3000) "\12")
      (func (export "whim_handle") (param i32 i32) (result i32)
        (call $tell (i64.extend_i32_s (call $take (i32.const 3000) (i32.const 1))))
        (i32.const 0))"#;
    // The guest is told that no request waits.
    assert_eq!(told(body, 1), ["inform -4"]);
}

#[test]
fn ungranted_imports_are_denied() {
    let body = r#"
      (func (export "whim_handle") (param i32 i32) (result i32) (call $tell (call $now)) (i32.const 0))"#;
    assert_eq!(told(body, 1), ["inform -1"]);
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(r#"{"grant": [{"who": "agent:guest", "clock": true}]}"#).unwrap());
    sim.spawn("guest", agent(&host(), body));
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert_ne!(probe.take_lines(), ["inform -1"]);
}

#[test]
fn refused_module_gets_a_reason() {
    let host = host();
    let why = |text: &str| compile(&host, text).err().map(|error| error.to_string()).unwrap_or_default();
    let handle = r#"(func (export "whim_handle") (param i32 i32) (result i32) (i32.const 0))"#;
    assert!(why("(module)").starts_with("it does not export `memory`"));
    assert!(why(&guest("")).starts_with("it does not export `whim_handle` as a function (i32, i32) -> i32"));
    assert!(why(&guest(&handle.replace("(param i32 i32)", "(param i32)"))).contains("`whim_handle`"));
    let foreign = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#;
    assert!(why(foreign).starts_with("it imports `wasi_snapshot_preview1.fd_write`"));
    let later =
        guest(handle).replace(r#""whim_abi") (result i32) (i32.const 1)"#, r#""whim_abi") (result i32) (i32.const 2)"#);
    assert_eq!(why(&later), "it was written for version 2 of the interface; this is version 1");
    let unprepared = guest(handle).replace("asyncify_start_unwind", "other");
    assert!(why(&unprepared).contains("`whim.receive`, which suspends it"));
    let shared = "(module (memory (import \"env\" \"memory\") 1))";
    assert!(why(shared).starts_with("it imports `env.memory`"));
    let changing = guest(&format!("(table 1 funcref) (func (table.set (i32.const 0) (ref.null func))) {handle}"));
    assert_eq!(why(&changing), "its state cannot be captured: it changes a table");
    let reference = guest(&format!("(global (mut externref) (ref.null extern)) {handle}"));
    assert!(why(&reference).contains("a mutable global that is not a number, but externref"));
    assert!(host.module(b"\0asm\x01\0\0\0garbage").is_err() && host.module(b"").is_err());
}

#[test]
fn a_module_is_compiled_once() {
    let host = host();
    let bytes = wat::parse_str(guest(COUNTER)).unwrap();
    let (one, two) = (host.module(&bytes).unwrap(), host.module(&bytes).unwrap());
    assert!(std::sync::Arc::ptr_eq(&one, &two));
    let hash = one.hash;
    assert!(host.module_by_hash(hash).is_some());
    drop((one, two));
    assert!(host.module_by_hash(hash).is_none(), "and kept while somebody needs it");
}

#[test]
fn guests_share_limited_slots() {
    let (mut sim, probe) = world();
    let host = crate::harness::host_of(4);
    let names: Vec<String> = (0..40).map(|n| format!("g{n}")).collect();
    for name in &names {
        sim.spawn(name, agent(&host, COUNTER));
    }
    for _ in 0..3 {
        names.iter().for_each(|name| sim.tell(name, "go"));
        sim.run_until_idle();
        assert!(host.live() <= 4, "{}", host.live());
    }
    let mut lines = probe.take_lines();
    lines.sort();
    let expected: Vec<String> = (1..=3).flat_map(|n| vec![format!("inform {n}"); 40]).collect();
    assert_eq!(lines, expected);
}

#[test]
fn options_reach_its_first_call() {
    // The frame of a map ends with the value of its last entry, here a whole number.
    let body = r#"
      (func (export "whim_start") (param $ptr i32) (param $len i32) (result i32)
        (call $tell (i64.load (i32.sub (i32.add (local.get $ptr) (local.get $len)) (i32.const 8))))
        (i32.const 0))
      (func (export "whim_handle") (param i32 i32) (result i32) (i32.const 0))"#;
    let module = compile(&host(), &guest(body)).unwrap();
    let (mut sim, probe): (Simulation, _) = world();
    let options = vec![("size".into(), whimbrel_acl::Value::Int(42))];
    sim.spawn("guest", Box::new(whimbrel_wasm::WasmAgent::new(module, "guest.wasm".into(), options)));
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 42"]);
}

#[test]
fn call_ends_in_one_hop() {
    let body = r#"(data (i32.const 3000) "n7")
      (func (export "whim_handle") (param i32 i32) (result i32)
        (call $tell (i64.extend_i32_s (call $depart (i32.const 3000) (i32.const 2))))
        (call $tell (i64.extend_i32_s (call $depart (i32.const 3000) (i32.const 2))))
        (i32.const 0))"#;
    assert_eq!(told(body, 1), ["inform 0", "inform -7"]);
}
