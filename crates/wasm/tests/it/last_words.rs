//! Messages on the failure of an agent, and the number that distinguishes agents of one name.

use whimbrel_acl::Aid;
use whimbrel_platform::EndReason;
use whimbrel_platform::mobility::Hop;
use whimbrel_testkit::{Probe, Simulation};

use crate::harness::{agent, host, told, world};
use crate::owners::arrive;

/// Tells the number of its life, and sets the message for its failure.
const SAYS: &str = r#"(call $tell (call $life)) (call $on_failure (i32.const 1024) (i32.const 25)))"#;
const HANDLE: &str = r#"(func (export "whim_handle") (param i32 i32) (result i32)"#;

/// A world with an agent `guest` that said that.
fn with_last_words() -> (Simulation, Probe, std::sync::Arc<whimbrel_wasm::Host>, String) {
    let ((mut sim, probe), host) = (world(), host());
    sim.spawn("guest", agent(&host, &format!("{HANDLE} {SAYS}")));
    let life = tell(&mut sim, &probe, "guest");
    (sim, probe, host, life)
}

/// Returns the lines of an agent after the message `go`.
fn tell(sim: &mut Simulation, probe: &Probe, name: &str) -> String {
    sim.tell(name, "go");
    sim.run_until_idle();
    probe.take_lines().concat()
}

/// Tells an agent that it is a clone.
fn be_clone(sim: &mut Simulation, name: &str) {
    sim.run_until_idle();
    sim.body(name).unwrap().hopped(&Hop::IsClone { of: "guest".into(), from: "n7".into() });
    sim.wake(Aid::local(name));
    sim.run_until_idle();
}

#[test]
fn who_fails_says_why() {
    for (evil, why) in [("(unreachable)", "unreachable"), ("(i32.const 7)", "it answered 7")] {
        let (mut sim, probe) = world();
        let body = format!("{HANDLE} (drop (call $on_failure (i32.const 1024) (i32.const 25))) {evil})");
        sim.spawn("guest", agent(&host(), &body));
        sim.tell("guest", "go");
        sim.run_until_idle();
        let said = probe.take();
        assert_eq!((said.len(), said[0].sender.name), (1, "guest".into()));
        assert!(said[0].content.as_str().unwrap().contains(why), "{}", said[0].content);
    }
}

#[test]
fn last_words_follow_forced_end_only() {
    let (mut sim, probe, ..) = with_last_words();
    assert!(sim.kill("guest"));
    sim.run_until_idle();
    assert_eq!(probe.take()[0].content.as_str(), Some("it was ended"));
    let (mut sim, probe) = world();
    let body = format!("{HANDLE} (call $stop) (call $on_failure (i32.const 1024) (i32.const 25)))");
    sim.spawn("guest", agent(&host(), &body));
    sim.tell("guest", "go");
    sim.run_until_idle();
    assert_eq!((sim.ended("guest"), probe.take().len()), (Some(EndReason::Finished), 0));
}

#[test]
fn moves_keep_life_clones_change() {
    let (mut sim, probe, host, life) = with_last_words();
    assert_eq!(tell(&mut sim, &probe, "guest"), life);
    let body = "(call $tell (call $life)) (i32.const 0))";
    arrive(&mut sim, &host, "guest", "moved", false, SAYS).unwrap();
    assert_eq!(tell(&mut sim, &probe, "moved"), life);
    arrive(&mut sim, &host, "guest", "clone", true, SAYS).unwrap();
    be_clone(&mut sim, "clone");
    assert!(sim.kill("moved") && sim.kill("clone"));
    sim.run_until_idle();
    let said = probe.take();
    assert_eq!((said.len(), said[0].sender.name), (1, "moved".into()), "a clone has no last words of its original");
    arrive(&mut sim, &host, "guest", "twin", true, SAYS).unwrap();
    be_clone(&mut sim, "twin");
    assert_ne!(tell(&mut sim, &probe, "twin"), life);
    // A later agent of the same name.
    assert!(sim.kill("guest"));
    sim.run_until_idle();
    probe.take();
    sim.spawn("guest", agent(&host, &format!("{HANDLE} {body}")));
    assert_ne!(tell(&mut sim, &probe, "guest"), life);
}

#[test]
fn last_words_go_to_agents_only() {
    let answer = |frame: &str, length: usize| {
        let body = format!(
            r#"(data (i32.const 3000) "{frame}") {HANDLE}
               (call $tell (i64.extend_i32_s (call $on_failure (i32.const 3000) (i32.const {length})))) (i32.const 0))"#
        );
        told(&body, 1).concat()
    };
    assert_eq!(answer(r"\07\02\09\00\00\00topic:war", 15), "inform -1");
    assert_eq!(answer(r"\63", 1), "inform -3");
    assert_eq!(answer("", 4_097), "inform -3");
    assert_eq!(answer("", 0), "inform 0", "none");
    assert_eq!(answer(r"\07\02\05\00\00\00probe", 11), "inform 0");
}
