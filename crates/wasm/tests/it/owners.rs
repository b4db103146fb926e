//! Quotas of an owner's agents together, rights of clones, and admission of agents from other nodes.

use std::sync::Arc;
use std::time::{Duration, Instant};
use whimbrel_platform::capabilities::{Mobile, Owned};

use whimbrel_platform::ams::{AgentKind, NewAgent};
use whimbrel_platform::durable::State;
use whimbrel_platform::{AgentBody, EndReason, OfferedAgent};
use whimbrel_testkit::{Probe, Simulation};
use whimbrel_wasm::{Host, WasmAgent};

use crate::harness::{agent, compile, guest, host, host_of, world};

const HANDLE: &str = r#"(func (export "whim_handle") (param $ptr i32) (param $len i32) (result i32)"#;

/// Spins for a few milliseconds.
const SPIN: &str = "(local $n i64) (loop $l (local.set $n (i64.add (local.get $n) (i64.const 1)))
    (br_if $l (i64.lt_u (local.get $n) (i64.const 8000000)))) (i32.const 0))";

pub fn world_under(policy: &str) -> Simulation {
    let (mut sim, _) = world();
    sim.set_policy(serde_json::from_str(policy).unwrap());
    sim
}

/// Adds an agent of this body with this owner.
pub fn introduce(sim: &mut Simulation, host: &Arc<Host>, name: &str, owner: &str, body: &str) {
    let new = NewAgent { owner: owner.into(), ..NewAgent::new(name, AgentKind::Wasm) };
    sim.introduce(new, agent(host, &format!("{HANDLE} {body}")));
}

/// Returns the reasons for which the agents `name0`, `name1`, ... ended, as far as they did.
fn fates(sim: &Simulation, name: &str, count: usize) -> Vec<String> {
    let ended = (0..count).filter_map(|number| match sim.ended(&format!("{name}{number}"))? {
        EndReason::Failed(why) => Some(why),
        other => Some(format!("{other:?}")),
    });
    ended.collect()
}

/// Sends `go` this many times within a second to each of ten agents of an owner, and to one of another owner.
fn swarm(policy: &str, host: &Arc<Host>, body: &str, times: usize) -> Simulation {
    let mut sim = world_under(policy);
    (0..10).for_each(|number| introduce(&mut sim, host, &format!("guest{number}"), "boss", body));
    introduce(&mut sim, host, "other", "queen", body);
    for _ in 0..times {
        (0..10).for_each(|number| sim.tell(&format!("guest{number}"), "go"));
        sim.tell("other", "go");
        sim.run_for(20);
    }
    sim
}

#[test]
fn owner_message_rate_adds_up() {
    let policy = r#"{"quota": [{"who": "*", "messages_per_s": 20, "owner_messages_per_s": 70}]}"#;
    let sim = swarm(policy, &host(), "(call $tell (i64.const 1)) (i32.const 0))", 10);
    let fates = fates(&sim, "guest", 10);
    // There are a hundred messages of each of ten agents. Those of stopped agents do not count against the others.
    assert!((1..=5).contains(&fates.len()), "{fates:?}");
    let why = "the agents of boss sent or printed more than 70 messages within a second (quota owner_messages_per_s)";
    assert!(fates.iter().all(|fate| fate == why), "{fates:?}");
    assert_eq!(sim.ended("other"), None, "it is somebody else's");
}

#[test]
fn owner_processor_time_adds_up() {
    let policy = r#"{"quota": [{"who": "agent:guest*", "cpu_ms_per_s": 900, "owner_cpu_ms_per_s": 20},
                               {"who": "agent:other", "owner_cpu_ms_per_s": 900}]}"#;
    let sim = swarm(policy, &host(), SPIN, 4);
    let fates = fates(&sim, "guest", 10);
    let why = "the agents of boss took more than 20 ms of processor time within a second (quota owner_cpu_ms_per_s)";
    assert!(!fates.is_empty() && fates.iter().all(|fate| fate == why), "{fates:?}");
    assert_eq!(sim.ended("other"), None, "it is somebody else's");
}

#[test]
fn endless_call_meets_owner_quota() {
    for quota in ["cpu_ms_per_s", "owner_cpu_ms_per_s"] {
        let policy = format!(r#"{{"quota": [{{"who": "*", "call_cpu_ms": 10000, "{quota}": 30}}]}}"#);
        let mut sim = world_under(&policy);
        introduce(&mut sim, &host(), "guest0", "boss", "(loop $l (br $l)) (i32.const 0))");
        sim.tell("guest0", "go");
        let before = Instant::now();
        sim.run_until_idle();
        // Much sooner, unless this machine is very busy.
        assert!(before.elapsed() < Duration::from_secs(8), "{:?}", before.elapsed());
        assert!(fates(&sim, "guest", 1)[0].ends_with(&format!("(quota {quota})")), "{:?}", fates(&sim, "guest", 1));
    }
}

#[test]
fn owner_memory_adds_up() {
    let policy = r#"{"quota": [{"who": "*", "memory_bytes": 131072, "owner_memory_bytes": 851968}]}"#;
    let grow = "(if (i32.eq (memory.size) (i32.const 1)) (then (drop (memory.grow (i32.const 1))))) (i32.const 0))";
    // Also if there is room for two at a time: one that is written out wants its memory back.
    for host in [host(), host_of(2)] {
        let sim = swarm(policy, &host, grow, 2);
        let fates = fates(&sim, "guest", 10);
        let why = "the agents of boss need 917504 bytes of memory, the limit is 851968 (quota owner_memory_bytes)";
        assert!((1..=6).contains(&fates.len()) && fates.iter().all(|fate| fate == why), "{fates:?}");
        assert_eq!(sim.ended("other"), None, "it is somebody else's");
    }
}

#[test]
fn ended_guest_frees_owner_memory() {
    let policy = r#"{"quota": [{"who": "*", "owner_memory_bytes": 65536}]}"#;
    let (mut sim, host) = (world_under(policy), host());
    for number in 0..3 {
        let name = format!("guest{number}");
        introduce(&mut sim, &host, &name, "boss", "(call $stop) (i32.const 0))");
        sim.run_until_idle();
        sim.tell(&name, "go");
        sim.run_until_idle();
        assert_eq!(sim.ended(&name), Some(EndReason::Finished));
    }
}

/// Admits the agent `from`, or its clone, as if it came from another node: this world is both nodes, and gives it
/// another name.
pub fn arrive(
    sim: &mut Simulation,
    host: &Arc<Host>,
    from: &str,
    name: &str,
    is_clone: bool,
    body: &str,
) -> Result<(), String> {
    let now = sim.now();
    let original = sim.body(from).unwrap();
    original.before_hop();
    let state = original.snapshot(now).unwrap();
    let came = taken_in(sim, host, state, name, is_clone.then_some(from), body)?;
    sim.spawn(name, Box::new(came));
    Ok(())
}

/// Admits an agent with this state.
fn taken_in(
    sim: &Simulation,
    host: &Arc<Host>,
    state: Vec<u8>,
    name: &str,
    clone_of: Option<&str>,
    body: &str,
) -> Result<WasmAgent, String> {
    let module = compile(host, &guest(&format!("{HANDLE} {body}"))).unwrap();
    let mut came = WasmAgent::restore(module, "guest.wasm".into(), &[State::Whole(state)], sim.now()).unwrap();
    let (clone_of, services) = (clone_of.map(Into::into), sim.services());
    came.admit(&OfferedAgent { name: name.into(), owner: "liar".into(), from: "n7".into(), clone_of, services })?;
    Ok(came)
}

const TELL_TIME: &str = "(call $tell (i64.extend_i32_s (i64.gt_s (call $now) (i64.const 0)))) (i32.const 0))";

#[test]
fn clone_has_its_originals_grants() {
    let policy = r#"{"grant": [{"who": "agent:seer", "clock": true}]}"#;
    for (original, told) in [("guest", "inform 0"), ("seer", "inform 1")] {
        let (mut sim, probe) = world();
        sim.set_policy(serde_json::from_str(policy).unwrap());
        let host = host();
        introduce(&mut sim, &host, original, "boss", TELL_TIME);
        sim.run_until_idle();
        let clone = if original == "seer" { "blind" } else { "seer" };
        arrive(&mut sim, &host, original, clone, true, TELL_TIME).unwrap();
        sim.run_until_idle();
        // And a clone of the clone.
        arrive(&mut sim, &host, clone, "seer2", true, TELL_TIME).unwrap();
        for name in [clone, "seer2"] {
            sim.tell(name, "go");
            sim.run_until_idle();
            assert_eq!(probe.take_lines(), [told], "{name}, of {original}");
        }
    }
}

#[test]
fn uncalled_clone_moves_as_clone() {
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(r#"{"grant": [{"who": "agent:seer", "clock": true}]}"#).unwrap());
    let host = host();
    // An agent without a turn has no state.
    let mut amy = taken_in(&sim, &host, Vec::new(), "amy", Some("guest"), TELL_TIME).unwrap();
    amy.before_hop();
    let state = amy.snapshot(sim.now()).unwrap();
    let seer = taken_in(&sim, &host, state, "seer", None, TELL_TIME).unwrap();
    sim.spawn("seer", Box::new(seer));
    sim.tell("seer", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform 0"]);
}

/// Restores the agent `guest` from its journal, in a world that knows nothing of its owner.
fn made_again(sim: &mut Simulation, host: &Arc<Host>, body: &str) {
    let (now, mut bytes) = (sim.now(), Vec::new());
    assert!(sim.body("guest").unwrap().save_whole(now, &mut bytes));
    assert!(sim.kill("guest"));
    sim.run_until_idle();
    let module = compile(host, &guest(&format!("{HANDLE} {body}"))).unwrap();
    let again = WasmAgent::restore(module, "guest.wasm".into(), &[State::Whole(bytes)], now).unwrap();
    sim.spawn("guest", Box::new(again));
    sim.tell("guest", "go");
    sim.run_until_idle();
}

/// Without this, an agent that hops back and forth would have a new allowance every millisecond.
#[test]
fn guest_back_soon_keeps_usage() {
    let three = "(call $tell (i64.const 1)) (call $tell (i64.const 2)) (call $tell (i64.const 3)) (i32.const 0))";
    let fate_with = |most: u32| {
        let mut sim = world_under(&format!(r#"{{"quota": [{{"who": "*", "messages_per_s": {most}}}]}}"#));
        let host = host();
        introduce(&mut sim, &host, "guest", "boss", three);
        sim.tell("guest", "go");
        sim.run_for(1);
        sim.body("guest").unwrap().before_hop();
        made_again(&mut sim, &host, three);
        sim.ended("guest")
    };
    assert_eq!(fate_with(6), Some(EndReason::Killed), "that is how it left");
    let Some(EndReason::Failed(why)) = fate_with(5) else { panic!("it went on") };
    assert!(why.contains("quota messages_per_s"), "{why}");
}

/// Keeps a byte, and tells how many bytes were there before.
const KEEP_A_BYTE: &str = r#"(call $tell (i64.extend_i32_s (call $storage_get (i32.const 3000) (i32.const 1))))
    (drop (call $storage_put (i32.const 3000) (i32.const 1) (i32.const 3000) (i32.const 1))) (i32.const 0))
    (data (i32.const 3000) "k")"#;

/// A world in which `guest`, which `boss` owns, has kept a byte.
fn with_a_kept_byte() -> (Simulation, Probe, Arc<Host>) {
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(r#"{"grant": [{"who": "*", "storage": true}]}"#).unwrap());
    let host = host();
    introduce(&mut sim, &host, "guest", "boss", KEEP_A_BYTE);
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform -4"]);
    (sim, probe, host)
}

#[test]
fn restored_agent_keeps_provenance() {
    let (mut sim, probe, host) = with_a_kept_byte();
    made_again(&mut sim, &host, KEEP_A_BYTE);
    assert_eq!(probe.take_lines(), ["inform 1"], "it finds what it left");
}

#[test]
fn clients_state_cannot_claim_owner() {
    let (mut sim, probe, host) = with_a_kept_byte();
    let now = sim.now();
    let state = {
        let guest = sim.body("guest").unwrap();
        guest.before_hop();
        guest.snapshot(now).unwrap()
    };
    sim.kill("guest");
    sim.run_until_idle();
    for (client, told) in [(true, "inform -4"), (false, "inform 1")] {
        let module = compile(&host, &guest(&format!("{HANDLE} {KEEP_A_BYTE}"))).unwrap();
        let states = [State::Whole(state.clone())];
        let mut came = WasmAgent::restore(module, "guest.wasm".into(), &states, now).unwrap();
        if client {
            came.disown();
        }
        let (name, owner, from) = ("guest".into(), "session:guest".into(), "n1".into());
        came.admit(&OfferedAgent { name, owner, from, clone_of: None, services: sim.services() }).unwrap();
        sim.spawn("guest", Box::new(came));
        sim.tell("guest", "go");
        sim.run_until_idle();
        assert_eq!(probe.take_lines(), [told], "it came from a client: {client}");
        sim.kill("guest");
        sim.run_until_idle();
    }
}

#[test]
fn clone_cannot_take_privileged_name() {
    let policy =
        r#"{"allow": [{"who": "agent:warden", "kill": "*"}], "deny": [{"who": "agent:guest*", "send": "vault"}]}"#;
    let (mut sim, host) = (world_under(policy), host());
    let idle = "(i32.const 0))";
    introduce(&mut sim, &host, "guest", "boss", idle);
    sim.run_until_idle();
    for name in ["warden", "amy"] {
        let why = format!("the policy has other rules for the clone {name} than for its original guest");
        assert_eq!(arrive(&mut sim, &host, "guest", name, true, idle), Err(why));
    }
    arrive(&mut sim, &host, "guest", "guest1", true, idle).unwrap();
}

#[test]
fn clones_count_for_first_owner() {
    let (mut sim, host) = (world_under(r#"{"quota": [{"who": "*", "owner_clones": 3}]}"#), host());
    let idle = "(i32.const 0))";
    introduce(&mut sim, &host, "guest", "boss", idle);
    introduce(&mut sim, &host, "queen", "queen", idle);
    sim.run_until_idle();
    let mut last = "guest".to_owned();
    for number in 0..3 {
        let name = format!("clone{number}");
        arrive(&mut sim, &host, &last, &name, true, idle).unwrap();
        sim.run_until_idle();
        last = name;
    }
    let why = Err("too many clones among the agents of boss: the limit is 3 (quota owner_clones)".to_owned());
    assert_eq!(arrive(&mut sim, &host, "guest", "clone3", true, idle), why);
    assert_eq!(arrive(&mut sim, &host, "clone2", "clone3", true, idle), why, "and clones of clones");
    arrive(&mut sim, &host, "queen", "queen1", true, idle).unwrap();
    assert!(sim.kill("clone0"));
    sim.run_until_idle();
    // A clone from elsewhere counts as well: it moves, and is none of `liar`.
    arrive(&mut sim, &host, "clone1", "clone4", false, idle).unwrap();
    assert_eq!(arrive(&mut sim, &host, "clone1", "clone5", false, idle), why);
}

#[test]
fn oversized_arrival_is_refused() {
    let policy = r#"{"quota": [{"who": "agent:big*", "memory_bytes": 131072}]}"#;
    let (mut sim, host) = (world_under(policy), host());
    let grow = "(drop (memory.grow (i32.const 1))) (i32.const 0))";
    introduce(&mut sim, &host, "guest", "boss", grow);
    sim.run_until_idle();
    for pages in 1..5 {
        let came = arrive(&mut sim, &host, "guest", &format!("big{pages}"), false, grow);
        let why = format!("it has {} bytes of memory, the limit is 131072 (quota memory_bytes)", pages << 16);
        assert_eq!(came, if pages <= 2 { Ok(()) } else { Err(why) });
        sim.tell("guest", "go");
        sim.run_until_idle();
    }
    let mut sim = world_under(r#"{"quota": [{"who": "*", "owner_memory_bytes": 131072}]}"#);
    introduce(&mut sim, &host, "guest", "boss", grow);
    sim.tell("guest", "go");
    sim.run_until_idle();
    let why = "the agents of boss need 262144 bytes of memory, the limit is 131072 (quota owner_memory_bytes)";
    assert_eq!(arrive(&mut sim, &host, "guest", "big", false, grow), Err(why.to_owned()));
}

#[test]
fn accepted_arrival_gets_a_turn() {
    let (mut sim, host) = (world_under(r#"{"quota": [{"who": "*", "call_cpu_ms": 20}]}"#), host());
    // The state is packed.
    let fill = "(memory.fill (i32.const 8192) (i32.const 7) (i32.const 3000)) (i32.const 0))";
    introduce(&mut sim, &host, "guest", "boss", fill);
    sim.tell("guest", "go");
    sim.run_until_idle();
    let now = sim.now();
    let good = sim.body("guest").unwrap().snapshot(now).unwrap();
    let module = compile(&host, &guest(&format!("{HANDLE} {fill}"))).unwrap();
    let mut refused = 0;
    let shorter = (0..good.len()).map(|end| good[..end].to_vec());
    let changed = (0..good.len()).flat_map(|at| {
        [1u8, 0x80, 0xFF]
            .map(|bits| good.iter().enumerate().map(|(i, b)| if i == at { b ^ bits } else { *b }).collect())
    });
    for (number, state) in shorter.chain(changed).enumerate() {
        let state: Vec<u8> = state;
        let restored =
            WasmAgent::restore(Arc::clone(&module), "guest.wasm".into(), &[State::Whole(state.clone())], sim.now());
        if restored.is_err() {
            continue;
        }
        let name = format!("bad{number}");
        match taken_in(&sim, &host, state, &name, None, fill) {
            Ok(body) => {
                sim.spawn(&name, Box::new(body));
                sim.tell(&name, "go");
                sim.run_for(1);
                let fate = sim.ended(&name);
                assert!(!format!("{fate:?}").contains("the bytes are no state"), "{number}: {fate:?}");
                sim.kill(&name);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn inflated_state_is_never_unpacked() {
    let (sim, host) = (world_under("{}"), host());
    // A state of layout 4, of an agent that has started, with no further pages, of 48 MiB as LZ4.
    let mut state = vec![4, 1, 0, 0x81, 0x80, 0x80, 0x30];
    state.resize(300_000, 0x1F);
    let why = "its state has 50331648 bytes of changes, for a memory of 65536";
    let came = taken_in(&sim, &host, state.clone(), "guest", None, "(i32.const 0))");
    assert_eq!(came.err().as_deref(), Some(why));
    // So few packed bytes cannot unpack to 48 MiB.
    state.truncate(1_000);
    let module = compile(&host, &guest(&format!("{HANDLE} (i32.const 0))"))).unwrap();
    let came = WasmAgent::restore(module, "guest.wasm".into(), &[State::Whole(state)], sim.now());
    assert_eq!(came.err().as_deref(), Some("not a state of this agent"));
}

/// No agent leaves the only node of the simulator: an attempt fails, and the agent is told.
#[test]
fn traps_in_hops_end_no_other() {
    let depart = r#"(drop (call $depart (i32.const 1047) (i32.const 2))) (i32.const 0))
        (data (i32.const 1047) "n2")"#;
    let exports = [
        r#"(func (export "whim_before_move") (unreachable))"#,
        r#"(func (export "whim_after_move") (param i32 i32) (result i32) (unreachable))"#,
        r#"(func (export "whim_before_move") (loop $l (br $l)))"#,
    ];
    for export in exports {
        let (mut sim, host) = (world_under(r#"{"quota": [{"who": "agent:guest*", "call_cpu_ms": 50}]}"#), host());
        introduce(&mut sim, &host, "guest0", "boss", &format!("{depart} {export}"));
        introduce(&mut sim, &host, "other", "boss", "(call $tell (i64.const 1)) (i32.const 0))");
        ["guest0", "other"].into_iter().for_each(|name| sim.tell(name, "go"));
        sim.run_until_idle();
        assert_eq!(fates(&sim, "guest", 1).len(), 1, "{export}");
        assert_eq!(sim.ended("other"), None, "its neighbour lives on");
    }
    let (mut sim, host) = (world_under("{}"), host());
    introduce(&mut sim, &host, "guest0", "boss", r#"(i32.const 0)) (func (export "whim_stop") (unreachable))"#);
    introduce(&mut sim, &host, "other", "boss", "(i32.const 0))");
    sim.run_until_idle();
    assert!(sim.kill("guest0"));
    sim.run_until_idle();
    assert_eq!((sim.ended("guest0"), sim.ended("other")), (Some(EndReason::Killed), None));
    assert!(sim.log().iter().any(|line| line.contains("whim_stop") && line.contains("unreachable")), "{:?}", sim.log());
}
