//! Agents as bytes.

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use whimbrel_platform::durable::State;
use whimbrel_platform::{AgentBody, Time};
use whimbrel_wasm::{Module, WasmAgent};

use crate::agents::COUNTER;
use crate::harness::{agent, compile, guest, host, world};

/// Gives an agent of a doubtful state some turns. The agent may write to an unknown agent, and to the sender of the
/// answer.
fn try_out(agent: Box<WasmAgent>) {
    let (mut sim, _) = world();
    sim.spawn("other", agent);
    sim.tell("other", "go");
    for _ in 0..100 {
        sim.step();
    }
}

fn restored(module: &Arc<Module>, state: Vec<u8>) -> Result<Box<WasmAgent>, String> {
    WasmAgent::restore(Arc::clone(module), "guest.wasm".into(), &[State::Whole(state)], Time(0)).map(Box::new)
}

/// The state of a guest that had a message.
fn a_state() -> Vec<u8> {
    let (mut sim, _) = world();
    sim.spawn("guest", agent(&host(), COUNTER));
    sim.tell("guest", "go");
    sim.run_until_idle();
    sim.body("guest").unwrap().snapshot(Time(0)).unwrap()
}

#[test]
fn guest_continues_from_its_state() {
    let (first, second) = (host(), host());
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&first, COUNTER));
    (0..5).for_each(|_| sim.tell("guest", "go"));
    sim.run_until_idle();
    let state = sim.body("guest").unwrap().snapshot(Time(0)).unwrap();
    assert!(state.len() < 128, "{} bytes", state.len());
    let module = compile(&second, &guest(COUNTER)).unwrap();
    probe.take();
    sim.spawn("other", restored(&module, state).unwrap());
    sim.tell("other", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 6"]);
}

#[test]
fn repeated_saves_are_equal() {
    let module = compile(&host(), &guest(COUNTER)).unwrap();
    let (mut sim, _) = world();
    sim.spawn("guest", agent(&host(), COUNTER));
    (0..5).for_each(|_| sim.tell("guest", "go"));
    sim.run_until_idle();
    let state = sim.body("guest").unwrap().snapshot(Time(7)).unwrap();
    let again = restored(&module, state.clone()).unwrap().snapshot(Time(0)).unwrap();
    assert_eq!(again, state);
}

#[test]
fn clone_diverges_from_original() {
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), COUNTER));
    (0..2).for_each(|_| sim.tell("guest", "go"));
    sim.run_until_idle();
    let clone = sim.body("guest").unwrap().duplicate(Time(0)).unwrap();
    sim.spawn("clone", clone);
    probe.take();
    ["guest", "clone", "clone"].into_iter().for_each(|name| sim.tell(name, "go"));
    sim.run_until_idle();
    let mut lines = probe.take_lines();
    lines.sort();
    assert_eq!(lines, ["inform 3", "inform 3", "inform 4"]);
}

#[test]
fn memory_that_grew_comes_back() {
    let body = r#"
      (func (export "whim_handle") (param i32 i32) (result i32)
        (if (i32.eq (memory.size) (i32.const 1)) (then (drop (memory.grow (i32.const 2)))))
        (i64.store (i32.const 190000) (i64.add (i64.load (i32.const 190000)) (i64.const 1)))
        (call $tell (i64.load (i32.const 190000)))
        (i32.const 0))"#;
    let module = compile(&host(), &guest(body)).unwrap();
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), body));
    sim.tell("guest", "go");
    sim.run_until_idle();
    let state = sim.body("guest").unwrap().snapshot(Time(0)).unwrap();
    sim.spawn("other", restored(&module, state).unwrap());
    sim.tell("other", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 1", "inform 2"]);
}

#[test]
fn unread_options_travel_along() {
    let body = r#"
      (func (export "whim_start") (param $ptr i32) (param $len i32) (result i32)
        (call $tell (i64.load (i32.sub (i32.add (local.get $ptr) (local.get $len)) (i32.const 8))))
        (i32.const 0))
      (func (export "whim_handle") (param i32 i32) (result i32) (i32.const 0))"#;
    let module = compile(&host(), &guest(body)).unwrap();
    let options = vec![("size".into(), whimbrel_acl::Value::Int(42))];
    let state = WasmAgent::new(Arc::clone(&module), "guest.wasm".into(), options).snapshot(Time(3)).unwrap();
    let (mut sim, probe) = world();
    sim.spawn("guest", restored(&module, state).unwrap());
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 42"]);
}

/// Random bytes after the byte of the layout. Half of them begin with empty flags, so that the rest is read as an
/// image.
#[test]
fn random_states_do_no_harm() {
    let module = compile(&host(), &guest(COUNTER)).unwrap();
    let layout = a_state()[0];
    let mut runner = TestRunner::new(ProptestConfig::with_cases(128));
    let (bytes, plain, read) = (proptest::collection::vec(any::<u8>(), 2..200), any::<bool>(), Cell::new(0));
    let outcome = runner.run(&(bytes, plain), |(mut state, plain)| {
        state[0] = layout;
        if plain {
            state[1] &= 1;
        }
        if let Ok(agent) = restored(&module, state) {
            read.set(read.get() + 1);
            try_out(agent);
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(read.get() > 0, "none was read beyond its first bytes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn altered_states_do_no_harm(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let module = compile(&host(), &guest(COUNTER)).unwrap();
        let mut state = a_state();
        let place = at.index(state.len());
        state[place] = byte;
        if let Ok(agent) = restored(&module, state) {
            try_out(agent);
        }
    }
}
