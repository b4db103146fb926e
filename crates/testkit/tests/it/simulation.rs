//! Time, order, life cycle and failure of simulated agents.

use std::collections::BTreeSet;

use whimbrel_acl::{AclMessage, Aid, Performative, Value};
use whimbrel_platform::ams::{AgentState, LifecycleStep};
use whimbrel_platform::route::NodeId;
use whimbrel_platform::services::{AgentSource, CreateAgent};
use whimbrel_platform::{EndReason, Next, Time};
use whimbrel_testkit::{Probe, Simulation, answering, simulate, turning};

/// Sends the numbers 1 to `count` to `to`, a few each turn.
fn counter(to: &'static str, count: i64) -> Box<dyn whimbrel_platform::AgentBody> {
    let mut next = 1;
    turning(move |turn| {
        for _ in 0..turn.budget.min(3) {
            if next > count {
                return Next::End(EndReason::Finished);
            }
            turn.outbox.send(AclMessage::new(Performative::Inform, turn.aid, Aid::local(to), next));
            next += 1;
        }
        Next::Ready
    })
}

fn busy_run(seed: u64) -> Vec<String> {
    let mut sim = Simulation::new(seed);
    sim.record_trace();
    let probe = Probe::new();
    sim.spawn("probe", probe.body());
    for name in ["a", "b", "c"] {
        sim.spawn(name, counter("probe", 20));
    }
    sim.network().place("c", NodeId(1));
    sim.run_until_idle();
    sim.trace()
}

#[test]
fn seed_repeats_the_run() {
    let runs: BTreeSet<Vec<String>> = (0..10).map(busy_run).collect();
    assert_eq!(runs.len(), 10);
    assert_eq!(busy_run(3), busy_run(3));
}

#[test]
fn pairs_messages_keep_order() {
    simulate(|sim| {
        let probe = Probe::new();
        sim.spawn("probe", probe.body());
        sim.spawn("near", counter("probe", 50));
        sim.spawn("far", counter("probe", 50));
        sim.network().place("far", NodeId(1));
        sim.run_until_idle();
        let got = probe.take();
        for sender in ["near", "far"] {
            let numbers = got.iter().filter(|message| message.sender == Aid::local(sender));
            let numbers: Vec<Value> = numbers.map(|message| message.content.clone()).collect();
            assert_eq!(numbers, (1..=50).map(Value::Int).collect::<Vec<_>>());
        }
    });
}

#[test]
fn time_passes_when_all_wait() {
    simulate(|sim| {
        let mut ticks = 0;
        let ticker = turning(move |turn| {
            turn.services.print(turn.aid, &format!("tick at {}", turn.now.as_ms()));
            ticks += 1;
            if ticks > 3 { Next::End(EndReason::Finished) } else { Next::WaitUntil(Time::from_ms(ticks * 3_600_000)) }
        });
        sim.spawn("clock", ticker);
        sim.spawn("worker", counter("nobody", 100));
        sim.run_until_idle();
        assert_eq!(sim.now(), Time::from_ms(3 * 3_600_000));
        let expected = [0, 1, 2, 3].map(|hour| format!("[clock] tick at {}", hour * 3_600_000));
        assert_eq!(sim.output(), expected);
    });
}

#[test]
fn run_for_stops_on_time() {
    let mut sim = Simulation::new(1);
    sim.spawn("forever", turning(|turn| Next::WaitUntil(Time(turn.now.0 + 1_000))));
    sim.run_for(250);
    assert_eq!(sim.now(), Time::from_ms(250));
    sim.run_for(250);
    assert_eq!(sim.now(), Time::from_ms(500));
}

#[test]
fn held_agent_keeps_its_messages() {
    simulate(|sim| {
        let probe = Probe::new();
        let agent = sim.spawn("probe", probe.body());
        sim.with_ams(|ams| ams.step(agent, LifecycleStep::Suspend)).unwrap();
        sim.tell("probe", "hello");
        sim.run_until_idle();
        assert!(probe.take().is_empty());
        assert_eq!(sim.counters().queued, 1);
        sim.with_ams(|ams| ams.step(agent, LifecycleStep::Resume)).unwrap();
        sim.run_until_idle();
        assert_eq!(probe.take_lines(), ["inform \"hello\""]);
    });
}

#[test]
fn clone_continues_beside_its_original() {
    let mut sim = Simulation::new(1);
    let probe = Probe::new();
    let original = sim.spawn("probe", probe.body());
    let copy = sim.with_ams(|ams| ams.clone_agent(original, "copy".into(), Time::ZERO)).unwrap();
    sim.tell("copy", 1.0);
    sim.tell("probe", 2.0);
    sim.run_until_idle();
    assert_eq!(probe.take().len(), 2);
    sim.spawn("solid", turning(|_| Next::Wait));
    sim.with_ams(|ams| ams.clone_agent(Aid::local("solid"), "gas".into(), Time::ZERO)).unwrap();
    assert!(sim.services().exists(copy) && !sim.services().exists(Aid::local("gas")), "only some can be cloned");
}

#[test]
fn agent_creates_and_kills_others() {
    simulate(|sim| {
        let parent = turning(|turn| {
            let child = answering(|message, turn| turn.services.print(turn.aid, &message.content.to_string()));
            let owner = Some(turn.aid);
            let source = AgentSource::Body(child);
            let child = CreateAgent { name: "child".into(), unique: true, owner, source };
            let child = turn.services.create(child).unwrap();
            turn.outbox.send(AclMessage::new(Performative::Inform, turn.aid, child, "grow"));
            Next::Wait
        });
        sim.spawn("parent", parent);
        sim.run_until_idle();
        assert_eq!(sim.output(), ["[child] \"grow\""]);
        let child = sim.with_ams(|ams| ams.describe(Aid::local("child"))).unwrap();
        assert_eq!((child.owner.as_str(), child.state), ("parent", AgentState::Active));
        assert!(sim.kill("child") && !sim.kill("child"));
        assert_eq!(sim.agent_count(), 3);
    });
}

#[test]
fn loader_makes_programs() {
    let mut sim = Simulation::new(1);
    sim.add_file("hello.txt", "hello");
    sim.set_loader(Box::new(|name, path, _| match path {
        "reader.asl" => Ok(turning(move |turn| {
            let text = turn.services.read_source("hello.txt").unwrap();
            turn.services.print(turn.aid, &format!("{name} read {text}"));
            Next::End(EndReason::Finished)
        })),
        _ => Err("no such program".to_owned()),
    }));
    let create = |path: &str| {
        let source = AgentSource::Program { path: path.to_owned(), options: Vec::new() };
        CreateAgent { name: "bob".into(), unique: false, owner: None, source }
    };
    let error = sim.services().create(create("none.asl")).unwrap_err();
    assert_eq!(error.to_string(), "cannot create agent bob: no such program");
    sim.services().create(create("reader.asl")).unwrap();
    sim.run_until_idle();
    assert_eq!(sim.output(), ["[bob] bob read hello"]);
}

#[test]
fn stopping_ends_every_agent_once() {
    simulate(|sim| {
        for name in ["a", "b"] {
            sim.spawn(name, turning(|turn| Next::WaitUntil(Time(turn.now.0 + 1_000))));
        }
        sim.spawn(
            "stopper",
            turning(|turn| {
                turn.services.stop(50, 3);
                Next::Wait
            }),
        );
        sim.run_until_idle();
        assert_eq!((sim.exit_code(), sim.now(), sim.agent_count()), (Some(3), Time::from_ms(50), 2));
    });
}

#[test]
fn partition_holds_messages_until_healed() {
    simulate(|sim| {
        let probe = Probe::new();
        sim.spawn("probe", probe.body());
        sim.spawn("far", counter("probe", 10));
        sim.network().place("far", NodeId(1));
        sim.network().partition(NodeId(0), NodeId(1));
        sim.run_until_idle();
        assert_eq!((probe.take().len(), sim.counters().queued), (0, 10));
        sim.network().heal();
        sim.run_until_idle();
        let numbers: Vec<Value> = probe.take().into_iter().map(|message| message.content).collect();
        assert_eq!(numbers, (1..=10).map(Value::Int).collect::<Vec<_>>());
    });
}

#[test]
fn failing_seed_is_printed() {
    let failed = std::panic::catch_unwind(|| {
        simulate(|sim| assert!(sim.seed() < 5, "seed {} fails", sim.seed()));
    });
    let message = *failed.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(message, "seed 5 fails");
}
