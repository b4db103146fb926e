//! The AMS: records, life cycle, search, limits.

use std::time::Instant;

use whimbrel_acl::{Aid, Contact, sym};
use whimbrel_platform::ams::{
    AgentKind, AgentModification, AgentQuery, AgentState, Ams, AmsCommand, CloneError, ElsewhereError, LifecycleError,
    LifecycleStep, NewAgent,
};
use whimbrel_platform::limits::AGENTS_ELSEWHERE_BYTES_MAX;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::{EndReason, Time};

fn native(name: &str) -> NewAgent {
    NewAgent::new(name, AgentKind::Native)
}

fn running(name: &str) -> NewAgent {
    NewAgent { started: true, ..native(name) }
}

fn commands(ams: &mut Ams) -> Vec<AmsCommand> {
    std::iter::from_fn(|| ams.poll_command()).collect()
}

#[test]
fn agent_lives() {
    let mut ams = Ams::new("home");
    ams.observe(true);
    let bob = ams.create(native("bob"), Time::from_ms(5)).unwrap();
    assert_eq!(ams.state(bob), Some(AgentState::Initiated));
    ams.step(bob, LifecycleStep::Start).unwrap();
    ams.step(bob, LifecycleStep::Suspend).unwrap();
    ams.step(bob, LifecycleStep::Resume).unwrap();
    ams.step(bob, LifecycleStep::Wait).unwrap();
    ams.step(bob, LifecycleStep::Wake).unwrap();
    ams.kill(bob).unwrap();
    ams.kill(bob).unwrap();
    use AmsCommand::{End, Hold, Run};
    assert_eq!(commands(&mut ams), [Run(bob), Hold(bob), Run(bob), Hold(bob), Run(bob), End(bob)]);
    assert!(ams.exists(bob) && ams.agents().next().is_none(), "it is ending");
    assert!(ams.handle_ended(bob, EndReason::Killed));
    assert!(!ams.exists(bob) && !ams.handle_ended(bob, EndReason::Killed));
    let changes: Vec<String> = std::iter::from_fn(|| ams.poll_change()).map(|change| change.to_string()).collect();
    assert_eq!(changes.first().unwrap(), "agent bob created, initiated");
    assert_eq!(changes[2], "agent bob active, now suspended");
    assert_eq!(changes.last().unwrap(), "agent bob ended: killed");
}

/// People read that a page was closed; programs still compare with the old text.
#[test]
fn lease_end_is_failure_for_programs() {
    let mut ams = Ams::new("home");
    ams.observe(true);
    let tab = ams.create(running("tab"), Time::ZERO).unwrap();
    let reason = EndReason::LeaseOver { lease_ms: 1_500 };
    assert_eq!(reason.to_string(), "failed: its lease is over");
    assert!(ams.handle_ended(tab, reason));
    let ended = std::iter::from_fn(|| ams.poll_change()).last().unwrap().to_string();
    let why =
        "its page or program, closed or out of reach, was not heard of for 1.5 s; nothing is wrong with the agent";
    assert_eq!(ended, format!("agent tab ended: {why}"));
}

#[test]
fn illegal_step_names_agent_and_state() {
    let mut ams = Ams::new("home");
    let bob = ams.create(running("bob"), Time::ZERO).unwrap();
    let error = ams.step(bob, LifecycleStep::Resume).unwrap_err();
    assert_eq!(error.to_string(), "cannot resume agent bob: it is active");
    assert_eq!(
        ams.step(Aid::local("eve"), LifecycleStep::Start).unwrap_err().to_string(),
        "there is no agent named eve"
    );
    ams.kill(bob).unwrap();
    assert_eq!(ams.step(bob, LifecycleStep::Suspend), Err(LifecycleError::Ending(bob)));
    assert_eq!(commands(&mut ams), [AmsCommand::End(bob)]);
}

#[test]
fn name_is_taken_until_end() {
    let mut ams = Ams::new("home");
    let bob = ams.create(running("bob"), Time::ZERO).unwrap();
    assert_eq!(ams.create(running("bob"), Time::ZERO), Err(CreateError::NameTaken("bob".into())));
    ams.kill(bob).unwrap();
    assert_eq!(ams.create(running("bob"), Time::ZERO), Err(CreateError::NameTaken("bob".into())));
    ams.handle_ended(bob, EndReason::Killed);
    assert_eq!(ams.create(running("bob"), Time::ZERO), Ok(bob));
}

#[test]
fn unique_name_takes_lowest_number() {
    let mut ams = Ams::new("home");
    let new = NewAgent { unique: true, ..running("bob") };
    let names: Vec<String> = (0..4).map(|_| ams.create(new, Time::ZERO).unwrap().to_string()).collect();
    assert_eq!(names, ["bob", "bob_1", "bob_2", "bob_3"]);
    ams.handle_ended(Aid::local("bob_1"), EndReason::Finished);
    assert_eq!(ams.create(new, Time::ZERO), Ok(Aid::local("bob_1")));
    assert_eq!(ams.create(new, Time::ZERO), Ok(Aid::local("bob_4")));
}

#[test]
fn invalid_names_are_refused() {
    let mut ams = Ams::new("home");
    for name in ["a\u{1b}[31m", "a\nb", "", "bob@home", &"x".repeat(256)] {
        assert!(matches!(ams.create(running(name), Time::ZERO), Err(CreateError::BadName { .. })), "{name}");
    }
    assert!(ams.create(running(&"x".repeat(255)), Time::ZERO).is_ok());
}

#[test]
fn agent_is_known_without_platform() {
    let mut ams = Ams::new("home");
    ams.create(running("bob"), Time::from_ms(7)).unwrap();
    let found = ams.describe(Aid::new("bob", "home")).unwrap();
    assert_eq!((found.aid.to_string().as_str(), found.created), ("bob@home", Time::from_ms(7)));
    assert!(!ams.exists(Aid::new("bob", "away")));
}

#[test]
fn clone_has_originals_kind_and_owner() {
    let mut ams = Ams::new("home");
    let new = NewAgent { owner: "amy".into(), ..NewAgent::new("dolly", AgentKind::AgentSpeak) };
    let dolly = ams.create(new, Time::ZERO).unwrap();
    let refused = ams.clone_agent(dolly, "dolly2".into(), Time::ZERO).unwrap_err();
    assert_eq!(refused.to_string(), "cannot clone agent dolly: it is initiated");
    ams.step(dolly, LifecycleStep::Start).unwrap();
    let copy = ams.clone_agent(dolly, "dolly2".into(), Time::ZERO).unwrap();
    let described = ams.describe(copy).unwrap();
    assert_eq!((described.kind, described.owner.as_str()), (AgentKind::AgentSpeak, "amy"));
    assert_eq!(commands(&mut ams), [AmsCommand::Run(dolly), AmsCommand::Copy { original: dolly, copy }]);
    let taken = ams.clone_agent(dolly, "dolly2".into(), Time::ZERO);
    assert_eq!(taken, Err(CloneError::Copy(CreateError::NameTaken("dolly2".into()))));
}

#[test]
fn modification_is_atomic() {
    let mut ams = Ams::new("home");
    let bob = ams.create(running("bob"), Time::ZERO).unwrap();
    let contact = Contact { addresses: vec!["http://h:7778/acc".into()], ..Contact::default() };
    let change =
        |state| AgentModification { owner: Some("amy".into()), contact: Some(contact.clone()), state: Some(state) };
    let error = ams.modify(bob, change(AgentState::Initiated)).unwrap_err();
    assert_eq!(error.to_string(), "cannot make agent bob initiated: it is active");
    assert_eq!(ams.describe(bob).unwrap().owner, sym::EMPTY);
    ams.modify(bob, change(AgentState::Suspended)).unwrap();
    let described = ams.describe(bob).unwrap();
    assert_eq!((described.owner.as_str(), described.state), ("amy", AgentState::Suspended));
    assert_eq!(described.aid.contact(), &contact);
    assert_eq!(commands(&mut ams), [AmsCommand::Hold(bob)]);
    ams.modify(bob, change(AgentState::Suspended)).unwrap();
    assert_eq!(commands(&mut ams), [], "the state it has is no step");
}

#[test]
fn search_pages_in_creation_order() {
    let mut ams = Ams::new("home");
    ams.create(NewAgent::new("ams", AgentKind::Service), Time::ZERO).unwrap();
    ams.create_population(running("bidder"), 12, Time::ZERO).unwrap();
    ams.create(NewAgent { owner: "amy".into(), ..native("seller") }, Time::ZERO).unwrap();
    ams.step(Aid::local("bidder3"), LifecycleStep::Suspend).unwrap();
    let names =
        |query: AgentQuery| -> Vec<&str> { ams.search(&query).iter().map(|found| found.aid.name.as_str()).collect() };
    assert_eq!(names(AgentQuery::named("bidder1?")), ["bidder10", "bidder11", "bidder12"]);
    assert_eq!(names(AgentQuery::named("bidder7")), ["bidder7"]);
    assert_eq!(names(AgentQuery::in_state(AgentState::Suspended)), ["bidder3"]);
    assert_eq!(names(AgentQuery { owner: Some("amy".into()), ..AgentQuery::default() }), ["seller"]);
    assert_eq!(names(AgentQuery { kind: Some(AgentKind::Service), ..AgentQuery::default() }), ["ams"]);
    let page = AgentQuery { skip: 2, results_max: 2, ..AgentQuery::named("bidder*") };
    assert_eq!(names(page), ["bidder3", "bidder4"]);
    assert_eq!(names(AgentQuery::default()).len(), 14);
    assert_eq!(ams.agents().count(), 13, "the platform's own agents are not counted");
}

#[test]
fn population_is_created_atomically() {
    let mut ams = Ams::new("home");
    ams.create(running("p3"), Time::ZERO).unwrap();
    assert_eq!(ams.create_population(running("p"), 5, Time::ZERO), Err(CreateError::NameTaken("p3".into())));
    assert_eq!(ams.agent_count(), 1);
    assert_eq!(ams.create_population(running("q"), 3, Time::ZERO).unwrap().len(), 3);
}

#[test]
fn agents_of_other_nodes_are_located() {
    let mut ams = Ams::new("home");
    ams.create(running("amy"), Time::ZERO).unwrap();
    assert_eq!(ams.handle_elsewhere("bob", NodeId(2), AgentKind::Native), Ok(()));
    let taken = ams.handle_elsewhere("amy", NodeId(2), AgentKind::Native);
    assert_eq!(taken, Err(ElsewhereError::NameTaken), "she is here");
    let places = |ams: &Ams| ["amy", "bob", "eve"].map(|name| ams.node_of(name));
    assert_eq!(places(&ams), [None, Some(NodeId(2)), None]);
    assert!(
        !ams.handle_ended_elsewhere(&"bob".into(), NodeId(3)) && ams.handle_ended_elsewhere(&"bob".into(), NodeId(2))
    );
    assert_eq!(places(&ams), [None, None, None]);
}

#[test]
fn node_with_too_many_agents_refuses_awaited_ones() {
    let mut ams = Ams::new("home");
    let there = NodeId(2);
    for name in ["amy", "ann"] {
        ams.create(running(name), Time::ZERO).unwrap();
    }
    ams.limit_elsewhere(0);
    let awaited = ams.handle_awaited(running("bob"), Some(there), Time::ZERO, false);
    assert_eq!(awaited, Err(CreateError::NoRoomElsewhere("bob".into())));
    let shown = awaited.unwrap_err().to_string();
    assert!(shown.contains(&AGENTS_ELSEWHERE_BYTES_MAX.to_string()), "{shown}");
    assert_eq!(ams.handle_elsewhere("bea", there, AgentKind::Native), Err(ElsewhereError::NoRoom));
    // Agents that were here are known wherever they are, until they end.
    ams.handle_left("amy".into(), Some(there));
    ams.handle_left("ann".into(), None);
    assert_eq!(ams.handle_elsewhere("ann", there, AgentKind::Native), Ok(()));
    for name in ["amy", "ann"] {
        assert_eq!(ams.node_of(name), Some(there));
        assert!(ams.handle_ended_elsewhere(&name.into(), there));
        assert!(ams.create(running(name), Time::ZERO).is_ok(), "the name is free again");
    }
}

#[test]
fn stopping_platform_creates_no_agents() {
    let mut ams = Ams::new("home");
    ams.create(NewAgent { started: true, ..NewAgent::new("df", AgentKind::Service) }, Time::ZERO).unwrap();
    let all = ams.create_population(running("p"), 2, Time::ZERO).unwrap();
    ams.stop();
    assert_eq!(commands(&mut ams), [AmsCommand::End(all[0]), AmsCommand::End(all[1])]);
    assert_eq!(ams.create(running("late"), Time::ZERO), Err(CreateError::Stopping));
}

#[test]
fn snapshot_restores_whole_state() {
    let mut ams = Ams::new("home");
    ams.create_population(running("p"), 3, Time::from_ms(1)).unwrap();
    ams.step(Aid::local("p2"), LifecycleStep::Suspend).unwrap();
    let text = serde_json::to_string(&ams.snapshot()).unwrap();
    let restored = Ams::restore(serde_json::from_str(&text).unwrap());
    assert_eq!(restored.snapshot(), ams.snapshot());
    assert_eq!(restored.search(&AgentQuery::default()), ams.search(&AgentQuery::default()));
}

#[test]
fn million_agents_are_cheap() {
    let mut ams = Ams::new("home");
    let began = Instant::now();
    ams.create_population(running("p"), 1_000_000, Time::ZERO).unwrap();
    let took = began.elapsed();
    println!("1 M agents: {took:?}, {} bytes each", ams.bytes() / 1_000_000);
    assert!(ams.bytes() < 100_000_000, "{} bytes", ams.bytes());
    assert_eq!(ams.search(&AgentQuery::named("p777777")).len(), 1);
    for number in 1..=999_000 {
        assert!(ams.handle_ended(Aid::local(format!("p{number}").as_str()), EndReason::Finished));
    }
    assert_eq!(ams.agents().count(), 1000);
    assert!(ams.bytes() < 300_000, "memory is given back: {} bytes", ams.bytes());
}

#[test]
fn full_node_refuses_more_agents() {
    let mut ams = Ams::new("home");
    let policy = r#"{"quota": [{"who": "*", "node_agents": 3}, {"who": "agent:guest*", "node_agents": 2}]}"#;
    ams.govern(serde_json::from_str(policy).unwrap(), "n1".into());
    ams.create(NewAgent::new("helper", AgentKind::Service), Time::ZERO).unwrap();
    assert_eq!(ams.occupancy(), (0, 3), "the platform's own agents take no place");
    ams.create(running("guest"), Time::ZERO).unwrap();
    ams.create(NewAgent { owner: "guest".into(), ..running("child") }, Time::ZERO).unwrap();
    let full = |agents_max| Err(CreateError::TooManyAgents { agents_max });
    let grandchild = NewAgent { owner: "child".into(), ..running("grandchild") };
    assert_eq!(ams.create(grandchild, Time::ZERO), full(2), "its family leaves room for others");
    assert_eq!(
        ams.clone_agent(Aid::local("child"), "twin".into(), Time::ZERO),
        Err(CloneError::Copy(full(2).unwrap_err()))
    );
    assert_eq!(
        ams.create_population(running("host"), 2, Time::ZERO),
        Err(CreateError::TooManyAgents { agents_max: 3 })
    );
    ams.create(running("host"), Time::ZERO).unwrap();
    assert_eq!(ams.create(running("late"), Time::ZERO), full(3));
    assert!(ams.create(NewAgent::new("clerk", AgentKind::Service), Time::ZERO).is_ok(), "the platform needs it");
    assert_eq!(ams.occupancy(), (3, 3));
    assert!(ams.create_again(running("back"), Time::ZERO).is_ok(), "it was there before");
    let told = full(3).unwrap_err().to_string();
    assert!(told.contains("the node may have 3") && told.contains("`node_agents`"), "{told}");
}
