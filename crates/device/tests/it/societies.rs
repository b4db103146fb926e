//! Agents among themselves.

use whimbrel_device::{NextRun, SocietyEvent};
use whimbrel_platform::inspection::{DebugOrder, Instruction, Look};

use super::TestSociety;

#[test]
fn faulty_project_creates_no_agents() {
    let project = "MAS s { environment: asl(\"env.asl\") agents: bob b.asl [beliefs=\"n(1)\"]; w b.asl #2; aslSourcePath: \"src\"; }";
    let program = "!go. +!go : n(N) <- .print(N); act(N). +!go <- .print(none). +seen(X) <- .print(seen, X).";
    let environment = "+!act(A)[source(B)] <- +done.";
    let mut bench = TestSociety::new(&[("p/s.mas2j", project), ("p/src/b.asl", program)]);
    let problems = bench.society.open("p/s.mas2j").expect_err("a file is missing").0;
    assert!(problems.iter().any(|problem| problem.message.contains("env.asl")), "{problems:?}");
    assert!(bench.society.agents().is_empty());
    bench.society.put_file("p/src/env.asl", environment).expect("it has place");
    assert!(bench.society.check("p/s.mas2j").iter().all(|problem| problem.message.is_empty()));
    let (agents, _) = bench.society.open("p/s.mas2j").expect("it is fine");
    let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["environment", "bob", "w1", "w2"]);
    bench.pass(100);
    assert_eq!(bench.printed(), ["[bob] 1", "[w1] none", "[w2] none"]);
    let again = bench.society.open("p/s.mas2j").expect_err("the names are taken").0;
    assert!(again[0].message.contains("exists already"));
    assert_eq!(bench.society.agents().len(), 4, "those that were there stay");
}

#[test]
fn killed_agent_frees_its_name() {
    let amy = "!go. +!go <- .create_agent(bob, \"bob.asl\"); .wait(10); .kill_agent(bob); .wait(10); .all_names(L); .print(L).";
    let mut bench = TestSociety::new(&[("amy.asl", amy), ("bob.asl", "!x. +!x <- .print(here).")]);
    bench.society.open("amy.asl").expect("it is fine");
    bench.pass(100);
    assert_eq!(
        (bench.printed(), bench.ended()),
        (vec!["[bob] here".to_owned(), "[amy] [amy]".to_owned()], vec!["bob killed".to_owned()])
    );
    bench.society.spawn("bob", "bob.asl", &[]).expect("the name is free");
    assert!(bench.society.kill("bob") && !bench.society.kill("bob"));
    assert!(bench.society.spawn("a@b", "bob.asl", &[]).is_err());
    assert!(bench.society.spawn("eve", "eve.asl", &[]).is_err());
}

#[test]
fn topics_reach_their_subscribers() {
    let member = "!join. +!join <- .subscribe(news). +rain[source(A)] <- .print(A).";
    let speaker = "!go. +!go <- .wait(5); .publish(news, tell, rain).";
    let mut bench = TestSociety::new(&[("m.asl", member), ("s.asl", speaker)]);
    for (name, program) in [("m1", "m.asl"), ("m2", "m.asl"), ("s", "s.asl")] {
        bench.society.spawn(name, program, &[]).expect("it is created");
    }
    bench.pass(100);
    assert_eq!(bench.printed(), ["[m1] s", "[m2] s"]);
    let counters = bench.society.counters();
    assert_eq!((counters.sent, counters.handled), (2, 2), "as on a node");
}

#[test]
fn message_to_ended_agent_fails() {
    let asking = "!go. +!go <- .send(bob, achieve, sleep); .wait(20); .kill_agent(bob).
                  +!kqml_received(A, failure, C, _) <- .print(A).";
    let mut bench = TestSociety::new(&[("a.asl", asking), ("bob.asl", "x.")]);
    bench.society.spawn("bob", "bob.asl", &[]).expect("it is created");
    bench.society.spawn("a", "a.asl", &[]).expect("it is created");
    bench.society.set_suspended("bob", true).expect("it is active");
    bench.pass(100);
    assert_eq!((bench.printed(), bench.ended()), (vec!["[a] ams".to_owned()], vec!["bob killed".to_owned()]));
    assert_eq!(bench.society.counters().dead, 1);
}

#[test]
fn stopped_society_gives_no_turns() {
    let mut bench =
        TestSociety::new(&[("a.asl", "!go. +!go <- .stopMAS(50, 3); !tick. +!tick <- .print(t); .wait(20); !tick.")]);
    bench.society.open("a.asl").expect("it is fine");
    bench.pass(1000);
    assert_eq!(bench.society.run(64), NextRun::Over);
    assert_eq!((bench.society.exit_code(), bench.printed().len()), (Some(3), 3));
}

#[test]
fn busy_agent_starves_no_other() {
    let mut bench = TestSociety::new(&[("busy.asl", "!go. +!go <- !go."), ("calm.asl", "!go. +!go <- .print(done).")]);
    bench.society.spawn("busy", "busy.asl", &[]).expect("it is created");
    bench.society.spawn("calm", "calm.asl", &[]).expect("it is created");
    assert_eq!(bench.society.run(4), NextRun::Now);
    bench.happened.extend(std::iter::from_fn(|| bench.society.poll_event()));
    assert_eq!(bench.printed(), ["[calm] done"]);
}

#[test]
fn agent_ends_with_its_lifetime() {
    let mut bench = TestSociety::new(&[("s.mas2j", "MAS s { agents: a [lifetime=\"50ms\"]; }"), ("a.asl", "x.")]);
    bench.society.open("s.mas2j").expect("it is fine");
    bench.pass(40);
    assert_eq!(bench.society.agents().len(), 1);
    bench.pass(40);
    assert_eq!(bench.ended(), ["a its time to live is over"]);
}

#[test]
fn inspector_steps_and_changes_mind() {
    let mut bench = TestSociety::new(&[(
        "bob.asl",
        "likes(tea). !go. +!go <- .wait(10); !go. +sun <- .print(sun). @rain +rain <- .print(rain).",
    )]);
    bench.society.spawn("bob", "bob.asl", &[]).expect("it is created");
    bench.pass(5);
    let seen = bench.society.inspect("bob", Look { follow: true }).expect("it is there");
    let beliefs: Vec<_> = seen.beliefs.iter().map(|belief| belief.text.as_str()).collect();
    assert_eq!((beliefs, seen.intentions.len(), seen.paused), (vec!["likes(tea)"], 1, false));
    bench.society.instruct("bob", &Instruction::Debug(DebugOrder::Pause)).expect("it can pause");
    let sun = br#"{"performative":"tell","sender":"amy","receivers":["bob"],"content":{"atom":"sun"}}"#;
    bench.society.deliver(whimbrel_acl::codec::json::decode(sun).expect("it is a message"));
    bench.pass(100);
    let seen = bench.society.inspect("bob", Look::default()).expect("it is there");
    assert_eq!((seen.paused, seen.mailbox_total, bench.printed().len()), (true, 1, 0));
    assert!(matches!(bench.society.run(64), NextRun::Idle | NextRun::At(_)), "it waits for whoever debugs it");
    bench.society.instruct("bob", &Instruction::Debug(DebugOrder::Continue)).expect("it can go on");
    bench.pass(100);
    assert_eq!(bench.printed(), ["[bob] sun"]);
    let breakpoint = Instruction::Breakpoint { plan: "rain".to_owned(), on: true };
    bench.society.instruct("bob", &breakpoint).expect("there is such a plan");
    let rain = Instruction::Believe { belief: "rain".to_owned(), add: true };
    bench.society.instruct("bob", &rain).expect("it can be believed");
    bench.pass(100);
    assert!(bench.society.inspect("bob", Look::default()).expect("it is there").paused_by.is_some());
    bench.society.instruct("bob", &Instruction::Debug(DebugOrder::End)).expect("it can go on");
    bench.pass(100);
    assert_eq!(bench.printed().last().map(String::as_str), Some("[bob] rain"));
    assert!(bench.society.instruct("bob", &Instruction::Pursue { goal: "a(".to_owned() }).is_err());
    assert!(
        bench.society.instruct("nobody", &rain).is_err() && bench.society.inspect("nobody", Look::default()).is_none()
    );
}

#[test]
fn late_host_loses_no_messages() {
    let talker = "!go(0). +!go(N) : N < 150000 <- .send(\"far@home\", tell, n(N)); .print(N); !go(N + 1). +!go(_) <- .print(done).";
    let mut bench = TestSociety::new(&[("t.asl", talker)]);
    bench.society.attach(Some("home"), "");
    bench.society.spawn("t", "t.asl", &[]).expect("it is created");
    let (mut sent, mut rounds) = (0, 0);
    loop {
        let outlook = bench.society.run(100_000);
        rounds += 1;
        for event in std::iter::from_fn(|| bench.society.poll_event()) {
            if let SocietyEvent::Sent { message, .. } = event {
                assert!(message.get().contains(&sent.to_string()), "{message}");
                sent += 1;
            }
        }
        if outlook != NextRun::Now {
            break;
        }
    }
    assert_eq!((sent, bench.society.counters().left), (150_000, 150_000));
    assert!(rounds > 1, "agents have to wait for the host");
}

#[test]
fn listening_host_hears_messages() {
    let amy = "!go. +!go <- .send(bob, tell, likes(tea)).";
    let mut bench = TestSociety::new(&[("amy.asl", amy), ("bob.asl", "x.")]);
    bench.society.spawn("bob", "bob.asl", &[]).expect("it is created");
    bench.society.set_suspended("bob", true).expect("it is active");
    bench.society.listen(true);
    bench.society.spawn("amy", "amy.asl", &[]).expect("it is created");
    bench.pass(10);
    assert!(bench.society.kill("bob"));
    bench.pass(10);
    let said = bench.happened.iter().filter_map(|event| match event {
        SocietyEvent::Said { from, to, performative, content, dead } => {
            Some(format!("{from} -> {to} {performative} {content} {}", dead.as_deref().unwrap_or("arrived")))
        }
        _ => None,
    });
    let said: Vec<_> = said.collect();
    assert_eq!(said[0], "amy -> bob tell likes(tea) arrived");
    assert!(said[1].starts_with("amy -> bob tell likes(tea) ") && !said[1].ends_with("arrived"), "{said:?}");
    assert!(said[2].starts_with("ams -> amy failure"), "{said:?}");
    bench.society.listen(false);
    bench.society.spawn("bob", "bob.asl", &[]).expect("the name is free");
    bench.society.spawn("eve", "amy.asl", &[]).expect("it is created");
    let before = bench.happened.len();
    bench.pass(10);
    assert!(!bench.happened[before..].iter().any(|event| matches!(event, SocietyEvent::Said { .. })));
}
