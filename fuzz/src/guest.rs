//! Properties of WebAssembly agents, for any module, state and calls: no fault of a guest is noticed outside it. The
//! fuzz targets look for violations; tests of `wasm` replay those that were found.

use serde_json::json;

use std::sync::Arc;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::durable::State;
use whimbrel_platform::policy::Policy;
use whimbrel_platform::{AgentBody, Time};
use whimbrel_testkit::{Probe, Simulation};
use whimbrel_wasm::frame::{read_message, read_template, read_value, write_message, write_value};
use whimbrel_wasm::{Host, HostOptions, Module, WasmAgent};

/// Turns that an agent has at most.
const STEPS: usize = 200;

/// Guest that follows a script: the content of a message is a list of calls, each a byte for the import and four
/// numbers.
const SCRIPTED: &str = include_str!("guest.wat");

/// Number of imports that a script can call: those of [`SCRIPTED`].
fn imports() -> u8 {
    SCRIPTED.matches("(import \"whim\"").count().try_into().expect("few imports")
}

thread_local! {
    /// Host and scripted module of each thread. Guests on one host share their owner's quotas, and so tests that run
    /// beside each other would end each other's guests.
    static SCRIPTED_ON_HOST: (Arc<Host>, Arc<Module>) = {
        let host = Host::new(HostOptions { slots: Some(16), ..HostOptions::default() }).expect("a host");
        let module = host.module(&module()).expect("a guest");
        (host, module)
    };
}

fn host() -> Arc<Host> {
    SCRIPTED_ON_HOST.with(|(host, _)| Arc::clone(host))
}

fn scripted() -> Arc<Module> {
    SCRIPTED_ON_HOST.with(|(_, module)| Arc::clone(module))
}

fn module() -> Vec<u8> {
    wat::parse_str(SCRIPTED).expect("a module")
}

/// A module is refused, or runs in its sandbox.
pub fn guest_module(bytes: &[u8]) {
    if let Ok(module) = host().module(bytes) {
        live(WasmAgent::new(module, "guest.wasm".into(), Vec::new()), &[0; 17]);
    }
}

/// Checks that a state is refused, or is one of an agent that continues or ends.
pub fn guest_state(bytes: &[u8]) {
    let states = [State::Whole(bytes.to_vec())];
    if let Ok(agent) = WasmAgent::restore(scripted(), "guest.wasm".into(), &states, Time(0)) {
        live(agent, &[0; 17]);
    }
}

/// Checks whether a state is valid: an agent continues from it.
pub fn is_state(bytes: &[u8]) -> bool {
    let states = [State::Whole(bytes.to_vec())];
    let Ok(agent) = WasmAgent::restore(scripted(), "guest.wasm".into(), &states, Time(0)) else {
        return false;
    };
    let (mut sim, _) = begin(agent, &[]);
    sim.run_for(1);
    sim.body("guest").is_some()
}

/// Checks that a guest continues or ends with a valid state, whatever it calls, with any numbers, wherever it waits.
pub fn guest_calls(bytes: &[u8]) {
    live(scripted_agent(), bytes);
}

/// Checks that a decoded message, template or value is written as the same.
pub fn guest_frame(bytes: &[u8]) {
    let _ = read_template(bytes);
    let (sender, home) = (Aid::new("amy", "home"), Symbol::new("home"));
    if let Ok(message) = read_message(bytes, sender) {
        let mut written = Vec::new();
        write_message(&message, home, &mut written).expect("what was read can be written");
        let again = read_message(&written, sender).expect("what was written can be read");
        let mut twice = Vec::new();
        write_message(&again, home, &mut twice).expect("and written again");
        assert_eq!(written, twice);
    }
    if let Ok(value) = read_value(bytes) {
        let mut written = Vec::new();
        write_value(&value, &mut written).expect("what was read can be written");
        let mut twice = Vec::new();
        write_value(&read_value(&written).expect("and read"), &mut twice).expect("and written");
        assert_eq!(written, twice);
    }
}

fn live(agent: WasmAgent, script: &[u8]) -> usize {
    let (mut sim, probe) = begin(agent, script);
    for _ in 0..STEPS {
        if !sim.step() {
            sim.run_for(1);
        }
    }
    let now = sim.now();
    if let Some(state) = sim.body("guest").and_then(|body| body.snapshot(now)) {
        // Of another module it may be none.
        let states = [State::Whole(state)];
        let again = WasmAgent::restore(scripted(), "guest.wasm".into(), &states, now);
        let _ = again.map(|agent| agent.snapshot(now));
    }
    let counters = sim.counters();
    assert_eq!(counters.sent, counters.handled + counters.dead + counters.queued, "messages add up");
    probe.take().len()
}

/// A world with a guest that is about to get a script.
fn begin(agent: WasmAgent, script: &[u8]) -> (Simulation, Probe) {
    let (mut sim, probe) = (Simulation::new(1), Probe::new());
    sim.set_policy(policy());
    sim.spawn("probe", probe.body());
    sim.spawn("guest", Box::new(agent));
    let content = Value::from(script);
    let (probe_at, guest) = (Aid::new("probe", "home"), Aid::new("guest", "home"));
    sim.send(AclMessage::new(Performative::Request, probe_at, guest, content));
    (sim, probe)
}

fn scripted_agent() -> WasmAgent {
    WasmAgent::new(scripted(), "guest.wasm".into(), Vec::new())
}

/// Returns the number of messages that a guest sent which followed this script.
pub fn sent_by(script: &[u8]) -> usize {
    live(scripted_agent(), script)
}

/// Policy that grants everything, in small amounts.
fn policy() -> Policy {
    let grant = json!({"who": "*", "clock": true, "random": true, "storage": true, "topics": "*", "environments": "*"});
    let quota = json!({"who": "*", "call_cpu_ms": 50, "messages_per_s": 200, "memory_bytes": 1_048_576,
                       "storage_bytes": 1000, "owner_cpu_ms_per_s": 900, "owner_messages_per_s": 150,
                       "owner_memory_bytes": 900_000});
    serde_json::from_value(json!({"grant": [grant], "quota": [quota]})).expect("a policy")
}

/// Seeds: modules.
pub fn modules() -> Vec<Vec<u8>> {
    vec![module()]
}

/// Scripts to start from: each import once.
pub fn scripts() -> Vec<Vec<u8>> {
    let imports = imports();
    (0..imports)
        .map(|which| {
            let mut script = vec![which];
            [3000u32, 12, 3100, 8].into_iter().for_each(|number| script.extend(number.to_le_bytes()));
            script.push((which + 5) % imports);
            [65_000u32, 600, 0, 4].into_iter().for_each(|number| script.extend(number.to_le_bytes()));
            script
        })
        .collect()
}

/// States to start from: of an agent that has run, and of one that waits in the middle of a call.
pub fn states() -> Vec<Vec<u8>> {
    let state = |script: &[u8]| {
        let (mut sim, _) = begin(scripted_agent(), script);
        sim.run_for(1);
        let now = sim.now();
        sim.body("guest").and_then(|body| body.snapshot(now)).expect("a state")
    };
    let receive = [[23, 0].as_slice(), &[0; 15]].concat();
    vec![state(&[0; 17]), state(&receive)]
}

/// Seeds: frames.
pub fn frames() -> Vec<Vec<u8>> {
    let message =
        AclMessage::new(Performative::Request, Aid::local("amy"), Aid::local("bob"), Value::list([Value::Int(1)]))
            .in_conversation("c1")
            .with_protocol("fipa-request")
            .with_reply_by_ms(5);
    let mut frame = Vec::new();
    write_message(&message, Symbol::new("home"), &mut frame).expect("a frame");
    vec![frame, vec![255], vec![8, 2, 0, 0, 0, 0, 1]]
}
