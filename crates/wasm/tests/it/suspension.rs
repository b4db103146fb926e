//! Calls that wait in their middle, by guests that save and find their place by hand as asyncify would.

use whimbrel_platform::Time;
use whimbrel_platform::durable::State;
use whimbrel_platform::inspection::Look;
use whimbrel_platform::mobility::{Hop, HopError};
use whimbrel_wasm::WasmAgent;

use crate::harness::{agent, compile, guest, host, world};

/// Tells the length of the message that it waited for within a call, or that none came; then continues.
const WAITER: &str = r#"
  (data (i32.const 3000) "\12")
  (func (export "whim_handle") (param i32 i32) (result i32)
    (local $got i32)
    (if (i32.ne (global.get $state) (i32.const 2))
      (then
        (call $tell (i64.const 1))
        ;; What it would keep in a variable, it saves.
        (i32.store (i32.const 2000) (i32.const 41))))
    (local.set $got (call $receive (i32.const 3000) (i32.const 1) (i64.const 500)))
    (if (i32.eq (global.get $state) (i32.const 1)) (then (return (i32.const 0))))
    (call $tell (i64.extend_i32_s (local.get $got)))
    (call $tell (i64.extend_i32_s (i32.add (i32.load (i32.const 2000)) (i32.const 1))))
    (i32.const 0))"#;

#[test]
fn call_waits_for_matching_message() {
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), WAITER));
    sim.tell("guest", 1);
    sim.run_for(10);
    assert_eq!(probe.take_lines(), ["inform 1"]);
    sim.tell("guest", 2);
    sim.run_for(10);
    assert_eq!(probe.take_lines(), [""; 0], "an inform is not what it waits for: it stays in the mailbox");
    let request = whimbrel_acl::AclMessage::new(
        whimbrel_acl::Performative::Request,
        whimbrel_acl::Aid::local("probe"),
        whimbrel_acl::Aid::local("guest"),
        whimbrel_acl::Value::Int(3),
    );
    sim.send(request);
    sim.run_for(10);
    let lines = probe.take_lines();
    assert_eq!(lines.len(), 3, "it went on, and began with the one that had waited: {lines:?}");
    assert_eq!(lines[1..], ["inform 42", "inform 1"]);
    assert!(lines[0].trim_start_matches("inform ").parse::<i32>().unwrap() > 0);
}

#[test]
fn inspection_shows_the_wait() {
    let (mut sim, _) = world();
    let host = host();
    sim.spawn("guest", agent(&host, WAITER));
    let see = |sim: &mut whimbrel_testkit::Simulation| -> Vec<String> {
        let now = sim.now();
        let seen = sim.body("guest").unwrap().inspect(Look::default(), now);
        let shown = seen.details.into_iter().filter(|detail| detail.name != "sha-256");
        shown.map(|detail| format!("{}: {}", detail.name, detail.value)).collect()
    };
    sim.run_for(1);
    assert_eq!(see(&mut sim), ["module: guest.wasm", "at: rest", "memory: 64 KiB"]);
    sim.tell("guest", 1);
    sim.run_for(99);
    let at = &see(&mut sim)[1];
    assert!(
        at.starts_with("at: the middle of a call, waiting for a message, 4") && at.ends_with(" ms more at most"),
        "{at}"
    );
}

#[test]
fn call_waits_until_timeout() {
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), WAITER));
    sim.tell("guest", 1);
    sim.run_for(499);
    assert_eq!(probe.take_lines(), ["inform 1"]);
    sim.run_for(10);
    assert_eq!(probe.take_lines(), ["inform -5", "inform 42"]);
}

#[test]
fn waiting_call_survives_a_save() {
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), WAITER));
    sim.tell("guest", 1);
    sim.run_for(100);
    let now = sim.now();
    let state = sim.body("guest").unwrap().snapshot(now).unwrap();
    sim.kill("guest");
    probe.take();
    let module = compile(&host(), &guest(WAITER)).unwrap();
    let other = WasmAgent::restore(module, "guest.wasm".into(), &[State::Whole(state)], now).unwrap();
    sim.spawn("other", Box::new(other));
    sim.run_for(390);
    assert_eq!(probe.take_lines(), [""; 0]);
    sim.run_for(20);
    assert_eq!(probe.take_lines(), ["inform -5", "inform 42"], "it waits as long as was left, and goes on");
    let _: Time = now;
}

#[test]
fn nothing_waits_in_last_words() {
    let body = r#"
      (func (export "whim_stop") (drop (call $receive (i32.const 0) (i32.const 0) (i64.const 5))))
      (func (export "whim_handle") (param i32 i32) (result i32) (i32.const 0))"#;
    let (mut sim, _) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.run_until_idle();
    sim.kill("guest");
    sim.run_until_idle();
    assert!(
        sim.log().iter().any(|line| line.contains("it cannot wait in whim_before_move, in whim_stop")),
        "{:?}",
        sim.log()
    );
}

#[test]
fn guest_reads_its_recalls() {
    let body = r#"
      (func (export "whim_after_move") (param $ptr i32) (param $len i32) (result i32)
        (call $tell (i64.extend_i32_s (local.get $len)))
        (call $tell (i64.extend_i32_s (call $recalled)))
        (i32.const 0))
      (func (export "whim_handle") (param i32 i32) (result i32)
        (call $tell (i64.extend_i32_s (call $recalled)))
        (i32.const 0))"#;
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.run_for(10);
    let stayed = Hop::Stayed { to: "n2".into(), why: HopError::AlreadyThere("n2".into()) };
    for recalled in [false, true, true] {
        if recalled {
            sim.body("guest").unwrap().recalled();
        }
        sim.body("guest").unwrap().hopped(&stayed);
        sim.wake(whimbrel_acl::Aid::local("guest"));
        sim.run_for(10);
    }
    let now = sim.now();
    let state = sim.body("guest").unwrap().snapshot(now).unwrap();
    let told: Vec<i64> = probe.take_lines().iter().map(|line| line["inform ".len()..].parse().unwrap()).collect();
    let (lengths, counts): (Vec<i64>, Vec<i64>) = told.chunks(2).map(|told| (told[0], told[1])).unzip();
    // `"recalled": true` is a text of eight letters and a byte.
    let with = lengths[0] + 5 + 8 + 1;
    assert_eq!((lengths.as_slice(), counts), (&[with - 14, with, with][..], vec![0, 1, 2]));
    let other = WasmAgent::restore(compile(&host(), &guest(body)).unwrap(), "g".into(), &[State::Whole(state)], now);
    sim.spawn("other", Box::new(other.unwrap()));
    sim.tell("other", 1);
    sim.run_for(10);
    assert_eq!(probe.take_lines(), ["inform 2"], "it takes that along");
}

#[test]
fn waiting_guest_gets_no_hop_call() {
    let body = format!(
        r#"{WAITER}
          (func (export "whim_after_move") (param i32 i32) (result i32) (call $tell (i64.const 77)) (i32.const 0))"#
    );
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), &body));
    sim.tell("guest", 1);
    sim.run_for(10);
    let stayed = Hop::Stayed { to: "n2".into(), why: HopError::OneNode };
    sim.body("guest").unwrap().hopped(&stayed);
    sim.wake(whimbrel_acl::Aid::local("guest"));
    sim.run_for(1_000);
    assert_eq!(probe.take_lines(), ["inform 1", "inform -5", "inform 42"]);
}
