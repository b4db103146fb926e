//! Hostile guests: each is ended with a reason, and no other agent is affected.

use whimbrel_platform::EndReason;
use whimbrel_platform::ams::{AgentKind, NewAgent};

use crate::harness::{agent, host, world};

const HANDLE: &str = r#"(func (export "whim_handle") (param $ptr i32) (param $len i32) (result i32)"#;

/// Returns the reason for which a guest of this body ended after a message, under this policy (JSON).
fn fate_under(policy: &str, body: &str) -> String {
    let (mut sim, _) = world();
    sim.set_policy(serde_json::from_str(policy).unwrap());
    let host = host();
    sim.spawn("guest", agent(&host, &format!("{HANDLE} {body})")));
    sim.spawn("neighbour", agent(&host, crate::agents::COUNTER));
    sim.tell("guest", "go");
    sim.tell("neighbour", "go");
    sim.run_for(2_000);
    let ended = sim.ended("guest");
    assert!(sim.ended("neighbour").is_none(), "its neighbour lives on");
    match ended {
        Some(EndReason::Failed(why)) => why,
        other => format!("{other:?}"),
    }
}

fn fate(body: &str) -> String {
    fate_under("{}", body)
}

#[test]
fn an_endless_loop_is_interrupted() {
    let quota = r#"{"quota": [{"who": "agent:guest", "call_cpu_ms": 50}]}"#;
    let why = fate_under(quota, "(loop $l (br $l)) (i32.const 0)");
    assert_eq!(why, "a call took more than 50 ms of processor time (quota call_cpu_ms)");
}

#[test]
fn memory_bomb_ends_its_guest() {
    let why = fate("(loop $l (drop (memory.grow (i32.const 1))) (br $l)) (i32.const 0)");
    assert_eq!(why, "it needs 16842752 bytes of memory, the limit is 16777216 (quota memory_bytes)");
}

#[test]
fn false_addresses_end_the_guest() {
    for (ptr, len) in [(0, 65537), (65536, 1), (-1, 1), (-1, -1), (i32::MAX, i32::MAX), (0, -1)] {
        let why = fate(&format!("(drop (call $send (i32.const {ptr}) (i32.const {len}))) (i32.const 0)"));
        assert_eq!(why, "it passed an address outside its memory", "{ptr} {len}");
    }
}

#[test]
fn a_trap_ends_it() {
    assert!(fate("(unreachable)").contains("unreachable"));
    assert_eq!(fate("(i32.const 7)"), "it answered 7");
}

/// Returns the reason for which a guest of this body ended, which got a message and has a timer.
fn fate_of(body: &str) -> String {
    let (mut sim, _) = world();
    let host = host();
    sim.spawn("guest", agent(&host, body));
    sim.spawn("neighbour", agent(&host, crate::agents::COUNTER));
    sim.tell("guest", "go");
    sim.tell("neighbour", "go");
    sim.run_for(100);
    assert!(sim.ended("neighbour").is_none(), "its neighbour lives on");
    format!("{:?}", sim.ended("guest"))
}

#[test]
fn trap_in_any_export_ends_guest() {
    let handle = format!("{HANDLE} (i32.const 0))");
    let start = format!(r#"{handle} (func (export "whim_start") (param i32 i32) (result i32) (unreachable))"#);
    let timer = format!(
        r#"{HANDLE} (call $timer (i64.const 1) (i64.const 10)))
           (func (export "whim_timer") (param i64) (result i32) (unreachable))"#
    );
    for body in [start, timer] {
        let fate = fate_of(&body);
        assert!(fate.starts_with("Some(Failed") && fate.contains("unreachable"), "{fate}");
    }
}

#[test]
fn trap_in_inbox_ends_guest() {
    let (mut sim, _) = world();
    let text = crate::harness::guest(&format!("{HANDLE} (i32.const 0))"));
    let text = text.replace("(i32.const 4096)", "(unreachable)");
    let module = crate::harness::compile(&host(), &text).unwrap();
    sim.spawn("guest", Box::new(whimbrel_wasm::WasmAgent::new(module, "guest.wasm".into(), Vec::new())));
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert!(matches!(sim.ended("guest"), Some(EndReason::Failed(why)) if why.contains("unreachable")));
}

#[test]
fn trapping_start_function_is_refused() {
    let text = crate::harness::guest(&format!("{HANDLE} (i32.const 0)) (func $begin (unreachable)) (start $begin)"));
    let why = crate::harness::compile(&host(), &text).map(|_| ()).unwrap_err().to_string();
    assert!(why.starts_with("it cannot be instantiated") && why.contains("unreachable"), "{why}");
}

/// A kill does not wait for the whole time that a call may take.
#[test]
fn endless_loop_ends_when_killed() {
    let (mut sim, probe) = world();
    sim.set_policy(serde_json::from_str(r#"{"quota": [{"who": "agent:guest", "call_cpu_ms": 10000}]}"#).unwrap());
    let body =
        format!("{HANDLE} (drop (call $on_failure (i32.const 1024) (i32.const 25))) (loop $l (br $l)) (i32.const 0))");
    sim.spawn("guest", agent(&host(), &body));
    sim.doom("guest");
    sim.tell("guest", "go");
    let before = std::time::Instant::now();
    sim.run_until_idle();
    assert_eq!(sim.ended("guest"), Some(EndReason::Killed));
    assert!(before.elapsed() < std::time::Duration::from_secs(8), "a call may take 10 s of a processor");
    assert_eq!(probe.take()[0].content.as_str(), Some("it was ended"));
}

#[test]
fn recursion_ends_with_the_stack() {
    let (mut sim, _) = world();
    let body = format!(
        "(func $again (param i32) (call $again (local.get 0))) {HANDLE} (call $again (i32.const 1)) (i32.const 0))"
    );
    sim.spawn("guest", agent(&host(), &body));
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert!(matches!(sim.ended("guest"), Some(EndReason::Failed(why)) if why.contains("stack")));
}

#[test]
fn message_flood_is_limited() {
    let flood = "(loop $l (call $tell (i64.const 1)) (br $l)) (i32.const 0)";
    let quota = r#"{"quota": [{"who": "agent:guest", "messages_per_s": 100}]}"#;
    assert_eq!(
        fate_under(quota, flood),
        "it sent or printed more than 100 messages within a second (quota messages_per_s)"
    );
    let lines = "(loop $l (call $print (i32.const 4000) (i32.const 1)) (br $l)) (i32.const 0)";
    assert_eq!(fate_under(quota, lines), fate_under(quota, flood));
    let quota = r#"{"quota": [{"who": "agent:guest", "call_cpu_ms": 50}]}"#;
    assert!(fate_under(quota, flood).starts_with("a call took more than 50 ms"));
}

/// A process keeps names for ever.
#[test]
fn searched_names_are_counted() {
    let search = r#"
        (local $n i32)
        (memory.fill (i32.const 3000) (i32.const 97) (i32.const 1000))
        (loop $l
            (i32.store16 (i32.const 3000) (i32.add (i32.const 0x3030) (local.tee $n (i32.add (local.get $n) (i32.const 1)))))
            (drop (call $search (i32.const 3000) (i32.const 1000) (i32.const 3000) (i32.const 0)))
            (br_if $l (i32.lt_u (local.get $n) (i32.const 72))))
        (i32.const 0)"#;
    assert_eq!(
        fate_under("{}", search),
        "it created more than 65536 bytes of names, which its node keeps: reuse names"
    );
}

/// Each agent may create some names, but all together have a limit; beyond it, agents with few names continue.
#[test]
fn names_of_all_guests_are_counted() {
    let (mut sim, _) = world();
    let host = host();
    // A text of this many bytes that contains a name of its own.
    let search = |bytes: u32| {
        format!(
            r#"{HANDLE}
            (memory.fill (i32.const 3000) (i32.const 97) (i32.const {bytes}))
            (drop (call $name (i32.const 3000) (i32.const 100)))
            (drop (call $search (i32.const 3000) (i32.const {bytes}) (i32.const 3000) (i32.const 0)))
            (i32.const 0))"#
        )
    };
    let (few, search) = (search(3_000), search(62_000));
    for number in 0..1_100 {
        sim.spawn(&format!("guest{number}"), agent(&host, &search));
        sim.tell(&format!("guest{number}"), "go");
    }
    sim.run_until_idle();
    let why = "the agents of this node created more than 67108864 bytes of names, which it keeps: reuse names, or restart the node";
    let why = EndReason::Failed(why.to_owned());
    let ended: Vec<EndReason> = (0..1_100).filter_map(|number| sim.ended(&format!("guest{number}"))).collect();
    assert!(!ended.is_empty() && ended.len() < 50 && ended.iter().all(|reason| *reason == why), "{ended:?}");
    sim.spawn("innocent", agent(&host, &few));
    sim.tell("innocent", "go");
    sim.run_until_idle();
    assert_eq!(sim.ended("innocent"), None);
}

#[test]
fn overlong_message_ends_guest_unsent() {
    let body = "(call $send (i32.const 1024) (i32.const 25))";
    for (quota, of) in [("message_bytes", ""), ("owner_message_bytes", "for agents of this node ")] {
        let policy = format!(r#"{{"quota": [{{"who": "agent:guest", "{quota}": 24}}]}}"#);
        let why = format!("it sends or prints 25 bytes at once, the limit is 24 {of}(quota {quota})");
        assert_eq!(fate_under(&policy, body), why);
    }
    let long = "(memory.grow (i32.const 16)) (drop) (call $send (i32.const 0) (i32.const 1048577))";
    assert_eq!(
        fate(long),
        "it sends or prints 1048577 bytes at once, the limit is 1048576 (quota message_bytes)",
        "also without a rule"
    );
}

#[test]
fn invalid_frames_are_refused() {
    // An unknown performative; a field that ends too early.
    for frame in [r"\63", r"\07\02\ff\ff\ff\ff", r"\07", r"\07\02\01\00\00\00\ff", r"\07\63\00\00\00\00"] {
        let (mut sim, probe) = world();
        let length = frame.matches('\\').count();
        let body = format!(
            r#"(data (i32.const 3000) "{frame}")
               {HANDLE} (call $tell (i64.extend_i32_s (call $send (i32.const 3000) (i32.const {length})))) (i32.const 0))"#
        );
        sim.spawn("guest", agent(&host(), &body));
        sim.tell("guest", "go");
        sim.run_until_idle();
        assert_eq!(probe.take_lines(), ["inform -3"], "{frame}");
    }
}

#[test]
fn its_room_may_be_nowhere() {
    let (mut sim, _) = world();
    let body = format!("{HANDLE} (i32.const 0))");
    let text = crate::harness::guest(&body).replace("(i32.const 4096)", "(i32.const -5)");
    let module = crate::harness::compile(&host(), &text).unwrap();
    sim.spawn("guest", Box::new(whimbrel_wasm::WasmAgent::new(module, "guest.wasm".into(), Vec::new())));
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert!(matches!(sim.ended("guest"), Some(EndReason::Failed(why)) if why.contains("outside its memory")));
}

#[test]
fn lifetime_ends_the_guest() {
    let quota = r#"{"quota": [{"who": "agent:guest", "lifetime_s": 1}]}"#;
    assert_eq!(fate_under(quota, "(i32.const 0)"), "its lifetime on this node is over: 1 s (quota lifetime_s)");
}

#[test]
fn owner_hears_failure_reason() {
    let (mut sim, probe) = world();
    let new = NewAgent { owner: "probe".into(), ..NewAgent::new("guest", AgentKind::Wasm) };
    sim.introduce(new, agent(&host(), &format!("{HANDLE} (unreachable))")));
    sim.tell("guest", "go");
    sim.run_until_idle();
    let told = probe.take();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].performative, whimbrel_acl::Performative::Failure);
    assert!(told[0].content.to_string().contains("unreachable"), "{}", told[0].content);
}

#[test]
fn huge_template_is_refused() {
    // Fields 8 (language) of no bytes, five bytes each, over most of a page.
    let body = format!(
        r#"{HANDLE}
          (local $at i32)
          (local.set $at (i32.const 8193))
          (i32.store8 (i32.const 8192) (i32.const 255))
          (loop $l
            (i32.store8 (local.get $at) (i32.const 8))
            (local.set $at (i32.add (local.get $at) (i32.const 5)))
            (br_if $l (i32.lt_u (local.get $at) (i32.const 60000))))
          (call $tell (i64.extend_i32_s (call $take (i32.const 8192) (i32.sub (local.get $at) (i32.const 8192)))))
          (call $tell (i64.extend_i32_s (call $take (i32.const 8192) (i32.const 96))))
          (i32.const 0))"#
    );
    let (mut sim, probe) = world();
    sim.spawn("guest", agent(&host(), &body));
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert_eq!(probe.take_lines(), ["inform -3", "inform -3"], "too long, and of too many parts");
}

#[test]
fn usage_survives_leaving_memory() {
    let flood = "(call $tell (i64.const 1)) (call $tell (i64.const 2)) (i32.const 0)";
    let (mut sim, _) = world();
    let quota = r#"{"quota": [{"who": "agent:guest", "messages_per_s": 3}]}"#;
    sim.set_policy(serde_json::from_str(quota).unwrap());
    // With one slot, each call of another guest writes this one out.
    let host = crate::harness::host_of(1);
    sim.spawn("guest", agent(&host, &format!("{HANDLE} {flood})")));
    sim.spawn("other", agent(&host, crate::agents::COUNTER));
    for _ in 0..2 {
        sim.tell("guest", "go");
        sim.run_until_idle();
        sim.tell("other", "go");
        sim.run_until_idle();
    }
    assert!(matches!(sim.ended("guest"), Some(EndReason::Failed(why)) if why.contains("messages_per_s")));
}

/// Returns the reason for which a module with these additional functions is not admitted.
fn refused(functions: &str) -> String {
    let text = crate::harness::guest(&format!("{HANDLE} (i32.const 0)) {functions}"));
    crate::harness::compile(&host(), &text).map(|_| ()).unwrap_err().to_string()
}

/// Small modules can take a compiler gigabytes and minutes: they are refused before it sees them.
#[test]
fn costly_module_is_refused() {
    let locals = |count: usize| format!("(local {})", "i32 ".repeat(count));
    assert_eq!(
        refused(&format!("(func (param i32) {})", locals(1_000))),
        "its function 30 has 1001 parameters and locals, the limit is 1000"
    );
    let branches = "(if (local.get 0) (then (local.set 1 (local.get 2))))".repeat(3_000);
    let why = refused(&format!("(func {} {branches})", locals(1_000)));
    assert!(why.starts_with("its function 30 has 120") && why.contains("units of work for the compiler"), "{why}");
    let values = format!("(func {} {})", "(i32.const 1)".repeat(5_000), "(drop)".repeat(5_000));
    assert!(refused(&values).contains("units of work"), "operands are variables as well");
    let ways = format!("(func {} (br_table {} (i32.const 1)))", locals(1_000), "0 ".repeat(20_000));
    assert!(refused(&ways).contains("units of work"), "each way counts");
    let nested = format!("(func {} {})", "(loop ".repeat(65), ")".repeat(65));
    assert_eq!(refused(&nested), "its function 30 has 65 nested loops, the limit is 64");
    assert_eq!(refused(&"(func)".repeat(20_000)), "it has 20001 functions, the limit is 20000");
    let function =
        format!("(func {} {})", locals(500), "(if (local.get 0) (then (local.set 1 (local.get 2))))".repeat(500));
    let why = refused(&function.repeat(60));
    assert!(why.starts_with("it has 4") && why.ends_with("the limit is 48000000"), "{why}");
}
