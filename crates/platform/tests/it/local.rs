//! Platform of one thread: agents, messages, directories, topics and ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Symbol, Value};
use whimbrel_platform::ams::{AgentKind, LifecycleStep, NewAgent};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::local::{HostRoute, LocalHost, LocalPlatform, LocalRegistry};
use whimbrel_platform::mobility::{HopError, HopMode, HopRequest};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel};
use whimbrel_platform::topics::{Cast, group, topic};
use whimbrel_platform::{AgentBody, EndReason, Next, PlatformEvent, Services, Time};
use whimbrel_testkit::{Probe, answering, turning};

/// Host whose clock the test sets. Messages to `away` are elsewhere, those to `late` are held.
#[derive(Default)]
struct TestHost {
    now: Time,
    output: Mutex<Vec<String>>,
    events: Mutex<Vec<String>>,
    held: Vec<Envelope>,
}

impl TestHost {
    fn take_events(&self) -> Vec<String> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    fn add(&self, event: String) {
        self.events.lock().unwrap().push(event);
    }
}

impl LocalHost for TestHost {
    fn now(&self) -> Time {
        self.now
    }

    fn wall_clock_ms(&self) -> u64 {
        self.now.as_ms()
    }

    fn random(&self) -> u64 {
        4
    }

    fn print(&self, agent: Aid, text: &str) {
        self.output.lock().unwrap().push(format!("[{agent}] {text}"));
    }

    fn log(&self, agent: Aid, _: LogLevel, text: &str) {
        self.print(agent, text);
    }

    fn load(&self, _: Symbol, path: &str, _: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        if path == "echo" { Ok(echo()) } else { Err(format!("no program {path}")) }
    }

    fn created(&self, agent: Aid) {
        self.add(format!("created {agent}"));
    }

    fn offered(&self, agent: Aid, service: &str, _: &str, offered: bool) {
        self.add(format!("{} {agent} {service}", if offered { "offered" } else { "withdrawn" }));
    }

    fn turn_ended(&mut self, agent: Aid, waiting: usize) {
        self.add(format!("turn {agent} {waiting}"));
    }

    fn ended(&mut self, agent: Aid, reason: &EndReason) {
        self.add(format!("ended {agent}: {reason}"));
    }

    fn note(&mut self, event: PlatformEvent<'_>) {
        self.add(event.to_string());
    }

    fn route(&mut self, envelope: Envelope, cast: Option<Cast>, registry: &LocalRegistry) -> HostRoute {
        match envelope.to.name.as_str() {
            "away" => HostRoute::Elsewhere,
            "late" => {
                assert!(registry.ams().exists(envelope.to));
                self.held.push(envelope);
                HostRoute::Later
            }
            "lost" => HostRoute::Nowhere(envelope, DeadReason::Unsendable),
            "shy" if cast.is_some() => HostRoute::Nowhere(envelope, DeadReason::Forbidden),
            _ => HostRoute::Here(envelope),
        }
    }
}

fn platform() -> LocalPlatform<TestHost> {
    let mut platform = LocalPlatform::new("home", TestHost::default());
    run(&mut platform);
    platform.host().take_events();
    platform
}

/// Gives turns until no agent is due.
fn run(platform: &mut LocalPlatform<TestHost>) {
    platform.pass_time();
    platform.settle();
    platform.stop_when_due();
    while let Some(agent) = platform.next_due() {
        assert_eq!(platform.give_turn(agent, 10), None);
        platform.settle();
        platform.counters().check().unwrap();
    }
}

/// Runs the platform at this time.
fn run_at(platform: &mut LocalPlatform<TestHost>, ms: u64) {
    platform.host_mut().now = Time::from_ms(ms);
    run(platform);
}

fn spawn(platform: &mut LocalPlatform<TestHost>, name: &str, body: Box<dyn AgentBody>) -> Aid {
    platform.spawn(NewAgent::new(name, AgentKind::Native), body).unwrap()
}

fn probe(platform: &mut LocalPlatform<TestHost>, name: &str) -> Probe {
    let probe = Probe::new();
    spawn(platform, name, probe.body());
    probe
}

/// Returns a body that sends each message back.
fn echo() -> Box<dyn AgentBody> {
    answering(|message, turn| {
        let reply = message.make_reply(turn.aid, Performative::Inform);
        turn.outbox.send(AclMessage { content: message.content.clone(), ..reply });
    })
}

fn inform(from: &str, to: &str, content: &str) -> AclMessage {
    AclMessage::new(Performative::Inform, Aid::local(from), Aid::local(to), Value::atom(content))
}

fn create(name: &str, source: AgentSource) -> CreateAgent {
    CreateAgent { name: name.into(), unique: false, owner: None, source }
}

#[test]
fn echo_answers_its_sender() {
    let mut platform = platform();
    let (amy, _) = (probe(&mut platform, "amy"), spawn(&mut platform, "echo", echo()));
    platform.send(inform("amy", "echo", "hello"));
    run(&mut platform);
    assert_eq!(amy.take_lines(), ["inform hello"]);
    let counters = platform.counters();
    assert_eq!((counters.sent, counters.handled, counters.queued), (2, 2, 0));
    let events = platform.host().take_events();
    let expected = [
        "created amy",
        "created echo",
        "sent amy -> echo: inform hello",
        "delivered amy -> echo: inform hello",
        "turn amy 0",
        "handled echo 1",
        "turn echo 0",
        "sent echo -> amy: inform hello",
        "delivered echo -> amy: inform hello",
        "handled amy 1",
        "turn amy 0",
    ];
    assert_eq!(events, expected);
}

#[test]
fn services_create_agents() {
    let mut platform = platform();
    let services = platform.services();
    let body = |name| create(name, AgentSource::Body(echo()));
    let program = |name, path: &str| create(name, AgentSource::Program { path: path.to_owned(), options: Vec::new() });
    assert_eq!(services.create(body("one")), Ok(Aid::local("one")));
    assert_eq!(services.create(body("one")), Err(CreateError::NameTaken("one".into())));
    assert_eq!(services.create(program("two", "echo")), Ok(Aid::local("two")));
    let reason = "no program none".to_owned();
    assert_eq!(
        services.create(program("three", "none")),
        Err(CreateError::BadProgram { name: "three".into(), reason })
    );
    assert_eq!(services.agents(), [Aid::local("one"), Aid::local("two")]);
    assert!(services.exists(Aid::local("two")) && !services.exists(Aid::local("three")));
    assert_eq!(platform.agent_count(), 4, "ams and df count");
    // The receiver is new: it has a name before it has a slot.
    platform.send(inform("ams", "two", "hello"));
    assert_eq!((platform.counters().queued, platform.counters().dead), (1, 0));
}

#[test]
fn killed_agent_leaves_dead_letters() {
    let mut platform = platform();
    let amy = probe(&mut platform, "amy");
    let bob = spawn(&mut platform, "bob", turning(|_| Next::Wait));
    platform.services().df_register(bob, "tea", "").unwrap();
    platform.services().join(bob, topic("news").unwrap()).unwrap();
    platform.send(inform("amy", "bob", "hello"));
    assert!(!platform.services().is_ending(bob));
    assert!(platform.kill(bob) && !platform.kill(bob));
    platform.send(inform("amy", "bob", "again"));
    run(&mut platform);
    let failures = amy.take_lines();
    assert!(failures[0].contains("undelivered(bob,agent_ended)"), "{failures:?}");
    assert!(failures[1].contains("undelivered(bob,unknown_agent)"), "{failures:?}");
    assert_eq!((failures.len(), platform.counters().dead), (2, 2));
    assert_eq!(platform.dead_letters().iter().count(), 2);
    assert_eq!(platform.services().df_search("tea", ""), []);
    assert!(!platform.services().exists(bob) && platform.services().members(topic("news").unwrap()).is_empty());
    assert!(platform.services().is_ending(bob), "work for it can stop");
    assert!(platform.host().take_events().contains(&"ended bob: killed".to_owned()));
    spawn(&mut platform, "bob", echo());
}

#[test]
fn ending_agent_says_good_bye() {
    struct Polite;
    impl AgentBody for Polite {
        fn turn(&mut self, turn: &mut whimbrel_platform::Turn<'_>) -> Next {
            turn.mailbox.take().map_or(Next::Wait, |_| Next::End(EndReason::Finished))
        }

        fn stopping(&mut self, turn: &mut whimbrel_platform::Turn<'_>) {
            turn.outbox.send(inform(turn.aid.name.as_str(), "amy", "bye"));
        }
    }
    let mut platform = platform();
    let amy = probe(&mut platform, "amy");
    let (one, _) = (spawn(&mut platform, "one", Box::new(Polite)), spawn(&mut platform, "two", Box::new(Polite)));
    platform.kill(one);
    platform.send(inform("amy", "two", "end"));
    run(&mut platform);
    assert_eq!((amy.take_lines(), platform.agent_count()), (vec!["inform bye".to_owned()], 3));
}

#[test]
fn full_mailbox_answers_failure() {
    let mut platform = platform();
    platform.set_mailbox_max(2);
    let amy = probe(&mut platform, "amy");
    let bob = spawn(&mut platform, "bob", turning(|_| Next::Wait));
    run(&mut platform);
    for _ in 0..3 {
        assert_eq!(platform.has_room(bob), platform.counters().queued < 2);
        platform.send(inform("amy", "bob", "hello"));
    }
    run(&mut platform);
    let failures = amy.take_lines();
    assert!(failures.len() == 1 && failures[0].contains("undelivered(bob,mailbox_full)"), "{failures:?}");
    assert_eq!((platform.counters().queued, platform.counters().dead), (2, 1));
}

#[test]
fn routes_count_their_messages() {
    let mut platform = platform();
    let (late, amy) = (probe(&mut platform, "late"), probe(&mut platform, "amy"));
    for to in ["away", "late", "lost"] {
        platform.send(inform("amy", to, "hello"));
    }
    let far = Aid::local("amy").at("else");
    platform.send(AclMessage::new(Performative::Inform, Aid::local("amy"), far, "hello"));
    platform.send(AclMessage::new(Performative::Inform, Aid::local("amy"), far.at("home"), "hello"));
    assert_eq!((platform.counters().left, platform.counters().dead), (1, 2));
    let held = platform.host_mut().held.pop().unwrap();
    platform.arrive(held);
    run(&mut platform);
    assert_eq!(late.take_lines(), ["inform hello"]);
    let heard = amy.take_lines();
    assert!(heard[0].contains("undelivered(lost,unsendable)"), "{heard:?}");
    assert!(heard[1].contains("unreachable") && heard[2] == "inform \"hello\"", "{heard:?}");
    let message = Box::new(inform("eve", "amy", "hi"));
    platform.receive(Envelope { to: Aid::local("amy"), body: MessageBody::Owned(message) });
    run(&mut platform);
    assert_eq!((amy.take_lines(), platform.counters().came), (vec!["inform hi".to_owned()], 1));
}

#[test]
fn casts_reach_their_members() {
    let mut platform = platform();
    let (news, crew) = (topic("news").unwrap(), group("crew").unwrap());
    let probes = ["amy", "bob", "shy"].map(|name| probe(&mut platform, name));
    for name in ["amy", "bob", "shy"] {
        platform.services().join(Aid::local(name), news).unwrap();
    }
    platform.services().join(Aid::local("amy"), crew).unwrap();
    assert!(platform.services().join(Aid::local("eve"), crew).is_err(), "there is no eve");
    for to in ["topic:news", "topic:none", "group:crew", "any:crew", "group:none"] {
        platform.send(inform("amy", to, "hello"));
    }
    run(&mut platform);
    let heard = probes.map(|probe| probe.take_lines());
    assert!(heard[0].iter().filter(|line| *line == "inform hello").count() == 3, "{heard:?}");
    assert!(heard[0].iter().any(|line| line.contains("forbidden")), "{heard:?}");
    assert!(heard[0].iter().any(|line| line.contains("no_member")), "{heard:?}");
    assert_eq!((heard[1].as_slice(), heard[2].len()), (["inform hello".to_owned()].as_slice(), 0));
    let message = MessageBody::Owned(Box::new(inform("eve", "topic:news", "hi")));
    platform.receive(Envelope { to: news, body: message });
    run(&mut platform);
    assert!(platform.services().leave(Aid::local("amy"), news));
}

#[test]
fn directories_answer_at_once() {
    let mut platform = platform();
    let amy = probe(&mut platform, "amy");
    platform.services().df_subscribe(Aid::local("amy"), "tea", "");
    let bob = spawn(&mut platform, "bob", echo());
    platform.services().df_register(bob, "tea", "green").unwrap();
    run(&mut platform);
    assert_eq!(amy.take_lines(), [r#"inform provider(bob,"tea")"#]);
    assert_eq!(platform.services().df_search("tea", ""), [bob]);
    assert!(platform.services().df_deregister(bob, "tea", "green"));
    assert!(platform.services().directory().and_then(|directory| directory.with_ams(|ams| ams.exists(bob))).unwrap());
    let events = platform.host().take_events();
    assert!(events.contains(&"offered bob tea".to_owned()) && events.contains(&"withdrawn bob tea".to_owned()));
}

#[test]
fn suspended_agent_keeps_messages() {
    let mut platform = platform();
    let amy = probe(&mut platform, "amy");
    platform.registry().ams().step(Aid::local("amy"), LifecycleStep::Suspend).unwrap();
    platform.send(inform("bob", "amy", "hello"));
    run(&mut platform);
    assert!(amy.take().is_empty() && platform.counters().queued == 1);
    platform.registry().ams().step(Aid::local("amy"), LifecycleStep::Resume).unwrap();
    run(&mut platform);
    assert_eq!(amy.take().len(), 1);
}

#[test]
fn cloned_agent_has_own_mailbox() {
    let mut platform = platform();
    let amy = probe(&mut platform, "amy");
    spawn(&mut platform, "echo", echo());
    for (original, copy) in [("amy", "eve"), ("echo", "other")] {
        let now = Time::ZERO;
        platform.registry().ams().clone_agent(Aid::local(original), copy.into(), now).unwrap();
    }
    run(&mut platform);
    platform.send(inform("bob", "eve", "hello"));
    run(&mut platform);
    assert_eq!(amy.take().len(), 1, "both copies have the probe");
    assert!(!platform.services().exists(Aid::local("other")), "its body cannot be copied");
}

#[test]
fn replaced_timer_does_not_fire() {
    let mut platform = platform();
    let fired = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&fired);
    spawn(
        &mut platform,
        "clock",
        turning(move |turn| {
            times.lock().unwrap().push(turn.now.as_ms());
            turn.mailbox.take();
            Next::WaitUntil(turn.now + Duration::from_millis(10))
        }),
    );
    run(&mut platform);
    assert_eq!(platform.poll_timeout(), Some(Time::from_ms(10)));
    platform.host_mut().now = Time::from_ms(5);
    platform.send(inform("amy", "clock", "now"));
    run(&mut platform);
    run_at(&mut platform, 10);
    assert_eq!(platform.poll_timeout(), Some(Time::from_ms(15)));
    run_at(&mut platform, 15);
    assert_eq!(*fired.lock().unwrap(), [0, 5, 15]);
}

#[test]
fn lifetime_ends_owned_agent() {
    let mut platform = platform();
    let amy = probe(&mut platform, "amy");
    let owner = Some(Aid::local("amy"));
    let bob = CreateAgent { owner, ..create("bob", AgentSource::Body(echo())) };
    let bob = platform.services().create(bob).unwrap();
    assert!(platform.services().set_lifetime(bob, Duration::from_secs(1)));
    assert!(!platform.services().set_lifetime(Aid::local("eve"), Duration::from_secs(1)));
    run(&mut platform);
    assert_eq!(platform.poll_timeout(), Some(Time::from_ms(1000)));
    run_at(&mut platform, 1000);
    assert_eq!(amy.take_lines(), ["inform ended(bob,expired)"]);
    assert!(!platform.services().exists(bob));
}

#[test]
fn stop_ends_all_agents() {
    let mut platform = platform();
    spawn(&mut platform, "amy", echo());
    platform.services().stop(20, 3);
    platform.services().stop(0, 4);
    run(&mut platform);
    assert_eq!((platform.poll_timeout(), platform.exit_code()), (Some(Time::from_ms(20)), None));
    run_at(&mut platform, 20);
    assert_eq!((platform.exit_code(), platform.agent_count()), (Some(3), 2));
    assert_eq!(platform.stop_when_due(), None, "it has stopped");
}

#[test]
fn moving_agent_has_no_turns() {
    let mut platform = platform();
    let request = HopRequest { to: "else".into(), mode: HopMode::Move };
    let answer = request.clone();
    let name = spawn(
        &mut platform,
        "amy",
        turning(move |turn| match turn.mailbox.take() {
            Some(_) => Next::Hop(Box::new(answer.clone())),
            None => Next::Wait,
        }),
    )
    .name;
    run(&mut platform);
    platform.send(inform("bob", "amy", "go"));
    platform.send(inform("bob", "amy", "go"));
    let due = platform.next_due().unwrap();
    assert_eq!(platform.give_turn(due, 10).as_deref(), Some(&request));
    assert!(platform.begin_move(name) && !platform.begin_move("eve".into()));
    platform.wake(name);
    assert_eq!(platform.next_due(), None, "it is on its way");
    platform.stay(name, request.to, HopError::OneNode);
    assert_eq!(platform.next_due(), Some(name));
    assert_eq!(platform.give_turn(name, 10).as_deref(), Some(&request));
    platform.send(inform("bob", "amy", "wait"));
    let waiting = platform.depart(name).unwrap();
    assert_eq!((waiting.len(), platform.counters().left, platform.depart(name).is_none()), (1, 1, true));
    assert!(platform.counters().check().is_ok() && !platform.services().exists(Aid::local("amy")));
    assert!(!platform.host().take_events().iter().any(|event| event.starts_with("ended")));
}

#[test]
fn taken_place_gets_last_agent() {
    let mut platform = platform();
    for name in ["a", "b", "c", "d"] {
        spawn(&mut platform, name, echo());
    }
    assert_eq!(platform.due_count(), 4);
    assert_eq!(platform.take_due(1).map(|name| name.to_string()).as_deref(), Some("b"));
    assert_eq!(platform.take_due(1).map(|name| name.to_string()).as_deref(), Some("d"));
    platform.kill(Aid::local("c"));
    assert_eq!((platform.due_count(), platform.take_due(1), platform.take_due(5)), (2, None, None));
    assert_eq!(platform.next_due().map(|name| name.to_string()).as_deref(), Some("a"));
}
