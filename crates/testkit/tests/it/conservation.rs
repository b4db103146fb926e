//! No message is lost: sent = handled + dead + queued, whatever is killed, held, cloned, crowded or cut off.

use whimbrel_acl::{AclMessage, Aid, Performative, Value};
use whimbrel_platform::ams::{AgentKind, AgentQuery, LifecycleStep, NewAgent};
use whimbrel_platform::route::NodeId;
use whimbrel_platform::services::{AgentSource, CreateAgent};
use whimbrel_platform::{AgentBody, EndReason, Next, Time, Turn};
use whimbrel_testkit::{Simulation, simulate};

/// Agent that chats with random agents for as long as it lives, sometimes with many, sometimes taking only messages of
/// a template. Now and then it registers a service, has a child, or ends.
struct RandomChatter;

const NAMES: u64 = 12;

fn any_agent(turn: &Turn<'_>) -> Aid {
    Aid::local(format!("agent{}", turn.services.random() % NAMES).as_str())
}

impl AgentBody for RandomChatter {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        for _ in 0..turn.budget.min(4) {
            let Some(message) = turn.mailbox.take() else { break };
            let reply = message.make_reply(turn.aid, Performative::Confirm);
            if matches!(message.performative, Performative::Inform) {
                turn.outbox.send(reply);
            }
        }
        let mut message = AclMessage::new(Performative::Inform, turn.aid, any_agent(turn), Value::Null);
        match turn.services.random() % 40 {
            0 => return Next::End(EndReason::Finished),
            1 => return Next::End(EndReason::Failed("tired".to_owned())),
            2 => drop(turn.services.kill(any_agent(turn))),
            3 => drop(turn.services.df_register(turn.aid, "chat", "talk")),
            4 => turn.services.df_subscribe(turn.aid, "", "talk"),
            5 => {
                let source = AgentSource::Body(Box::new(RandomChatter));
                let request = CreateAgent { name: any_agent(turn).name, unique: false, owner: None, source };
                let _ = turn.services.create(request);
            }
            6..10 => {
                message.receivers.push(any_agent(turn));
                message.receivers.push(any_agent(turn));
            }
            10 => message.receivers = smallvec::smallvec![Aid::new("eve", "elsewhere")],
            _ => {}
        }
        turn.outbox.send(message);
        if turn.services.random().is_multiple_of(3) {
            Next::WaitUntil(Time(turn.now.0 + turn.services.random() % 5_000))
        } else {
            Next::Wait
        }
    }

    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        Some(Box::new(RandomChatter))
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        let farewell = AclMessage::new(Performative::Inform, turn.aid, any_agent(turn), "farewell");
        turn.outbox.send(farewell);
    }
}

/// Does something to the platform that an operator, or chance, might do.
fn meddle(sim: &mut Simulation) {
    let name = format!("agent{}", sim.random().between(0..=NAMES - 1));
    let agent = Aid::local(name.as_str());
    let now = sim.now();
    match sim.random().between(0..=8) {
        0 => drop(sim.kill(&name)),
        1 => drop(sim.with_ams(|ams| ams.step(agent, LifecycleStep::Suspend))),
        2 => drop(sim.with_ams(|ams| ams.step(agent, LifecycleStep::Resume))),
        3 => drop(sim.with_ams(|ams| ams.clone_agent(agent, "agent0".into(), now))),
        4 => sim.network().partition(NodeId(0), NodeId(1)),
        5 => sim.network().heal(),
        6 => sim.network().place(&name, NodeId(1)),
        _ if sim.services().exists(agent) => {}
        _ => drop(sim.introduce(NewAgent::new(agent.name, AgentKind::Native), Box::new(RandomChatter))),
    }
}

#[test]
fn counters_always_balance() {
    simulate(|sim| {
        sim.set_mailbox_max(20);
        for number in 0..NAMES {
            sim.spawn(&format!("agent{number}"), Box::new(RandomChatter));
        }
        for _ in 0..200 {
            let ms = sim.random().between(0..=5);
            sim.run_for(ms);
            meddle(sim);
            sim.counters().check().unwrap();
        }
        let counters = sim.counters();
        assert!(counters.sent > 500 && counters.dead > 10, "nothing happened: {counters}");
    });
}

#[test]
fn stopped_society_leaves_nothing_queued() {
    simulate(|sim| {
        for number in 0..NAMES {
            sim.spawn(&format!("agent{number}"), Box::new(RandomChatter));
        }
        sim.run_for(50);
        sim.services().stop(0, 0);
        sim.run_until_idle();
        let left = sim.with_ams(|ams| ams.search(&AgentQuery::default()));
        assert_eq!(left.iter().map(|agent| agent.aid.name.as_str()).collect::<Vec<_>>(), ["ams", "df"]);
        let entries = sim.with_df(|df| df.entry_count());
        assert_eq!(entries, 0, "entries end with their agents");
    });
}

#[test]
fn full_mailbox_answers_failure() {
    simulate(|sim| {
        sim.set_mailbox_max(3);
        let deaf = sim.spawn("deaf", Box::new(RandomChatter));
        sim.with_ams(|ams| ams.step(deaf, LifecycleStep::Suspend)).unwrap();
        let probe = whimbrel_testkit::Probe::new();
        sim.spawn("probe", probe.body());
        for number in 0..5_i64 {
            sim.send(AclMessage::new(Performative::Inform, Aid::local("probe"), deaf, number));
        }
        sim.run_until_idle();
        let expected =
            [3, 4].map(|n| format!("failure [action(probe,send(deaf,inform,{n})),undelivered(deaf,mailbox_full)]"));
        assert_eq!(probe.take_lines(), expected);
        assert_eq!(sim.dead_letters().count(), 2);
    });
}
