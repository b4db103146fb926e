//! The agents `ams` and `df`, asked in ACL.

use proptest::prelude::*;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_platform::agent_management::frames;
use whimbrel_platform::ams::{AgentKind, AgentState, NewAgent};
use whimbrel_platform::df::{DfDescription, ServiceDescription};
use whimbrel_platform::route::NodeId;
use whimbrel_testkit::{Probe, Simulation, generators, simulate};

fn record(name: &str, fields: &[(&str, Value)]) -> Value {
    Value::record(name, fields.iter().map(|(name, value)| (Symbol::new(name), value.clone())))
}

fn set(items: &[Value]) -> Value {
    frames::set(items.to_vec())
}

proptest! {
    /// Any message to the service agents is answered, unless it is an answer, and none is lost.
    #[test]
    fn everything_is_answered(message in generators::message(), to in prop::sample::select(&["ams", "df"][..])) {
        let mut sim = Simulation::new(1);
        let bob = ServiceClient::new(&mut sim, "bob");
        let mut message = AclMessage { sender: Aid::local("bob"), receivers: smallvec::smallvec![Aid::local(to)], ..message };
        message.extras_mut().reply_to.clear();
        let answer = matches!(
            message.performative,
            Performative::Agree | Performative::Failure | Performative::Inform | Performative::NotUnderstood | Performative::Refuse
        );
        sim.send(message);
        sim.run_until_idle();
        prop_assert_eq!(bob.probe.take().is_empty(), answer);
        prop_assert!(sim.counters().check().is_ok());
    }

    /// Any description comes back from the DF as it was registered.
    #[test]
    fn descriptions_survive_acl(name in generators::symbol(), kind in generators::symbol(), value in generators::value()) {
        let mut sim = Simulation::new(1);
        let bob = ServiceClient::new(&mut sim, "bob");
        let service = ServiceDescription { properties: vec![(name, value)], ..ServiceDescription::new(name, kind) };
        let mut description = DfDescription::of(Aid::local("bob")).with(service);
        description.ontologies = vec![name, kind];
        let frame = frames::df_agent_description(&description, None, "home".into());
        let answers = bob.ask(&mut sim, "df", Value::term("register", [frame]));
        prop_assert_eq!(answers, ["agree [ACTION,true]", "inform [done(ACTION)]"]);
        let registered = sim.with_df(|df| df.description_of(Aid::local("bob")).cloned());
        prop_assert_eq!(registered, Some(description));
    }
}

/// Returns a DF entry of `agent` with one service.
fn entry(agent: &str, service: &str, kind: &str) -> Value {
    let description = DfDescription::of(Aid::local(agent)).with(ServiceDescription::new(service, kind));
    frames::df_agent_description(&description, None, "home".into())
}

fn template(service: &str) -> Value {
    frames::df_agent_description(&DfDescription::offering(service, ""), None, "home".into())
}

fn ams_entry(agent: &str, more: &[(&str, Value)]) -> Value {
    let name = [("name", Value::from(agent))];
    record("ams-agent-description", &[&name, more].concat())
}

/// A client of the service agents.
struct ServiceClient {
    name: &'static str,
    probe: Probe,
}

impl ServiceClient {
    fn new(sim: &mut Simulation, name: &'static str) -> Self {
        let probe = Probe::new();
        sim.spawn(name, probe.body());
        Self { name, probe }
    }

    fn message(&self, to: &str, performative: Performative, content: Value) -> AclMessage {
        let message = AclMessage::new(performative, Aid::local(self.name), Aid::local(to), content);
        message.in_conversation("c1").with_reply_with("r1")
    }

    /// Returns the answers to a request, each as `performative content`, without the action quoted in each.
    fn ask(&self, sim: &mut Simulation, to: &str, function: Value) -> Vec<String> {
        let action = Value::term("action", [Value::atom(to), function]);
        sim.send(self.message(to, Performative::Request, Value::list([action.clone()])));
        sim.run_until_idle();
        let answers = self.probe.take();
        for answer in &answers {
            assert_eq!(answer.sender, Aid::local(to));
            assert_eq!(answer.extras().conversation_id.as_deref(), Some("c1"));
            assert_eq!(answer.extras().in_reply_to.as_deref(), Some("r1"));
        }
        let line = |answer: &AclMessage| format!("{} {}", answer.performative, answer.content);
        answers.iter().map(|answer| line(answer).replace(&action.to_string(), "ACTION")).collect()
    }
}

#[test]
fn service_entry_lives_and_ends() {
    simulate(|sim| {
        let (bob, amy) = (ServiceClient::new(sim, "bob"), ServiceClient::new(sim, "amy"));
        let done = ["agree [ACTION,true]", "inform [done(ACTION)]"];
        let english = entry("bob", "english", "translation");
        assert_eq!(bob.ask(sim, "df", Value::term("register", [english.clone()])), done);
        let again = bob.ask(sim, "df", Value::term("register", [english.clone()]));
        assert_eq!(again, ["agree [ACTION,true]", "failure [ACTION,already-registered]"]);
        let found = amy.ask(sim, "df", Value::term("search", [template("english")]));
        assert_eq!(found[1], format!("inform [result(ACTION,set({english}))]"));
        assert_eq!(bob.ask(sim, "df", Value::term("modify", [entry("bob", "french", "translation")])), done);
        let found = amy.ask(sim, "df", Value::term("search", [template("english")]));
        assert_eq!(found[1], "inform [result(ACTION,set)]");
        assert_eq!(bob.ask(sim, "df", Value::term("deregister", [entry("bob", "", "")])), done);
        let again = bob.ask(sim, "df", Value::term("deregister", [entry("bob", "", "")]));
        assert_eq!(again[1], "failure [ACTION,not-registered]");
    });
}

#[test]
fn invalid_request_is_refused_with_reason() {
    let mut sim = Simulation::new(1);
    let bob = ServiceClient::new(&mut sim, "bob");
    let object = "df-agent-description";
    let mut refused = |function: Value| {
        let answers = bob.ask(&mut sim, "df", function);
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0].strip_prefix("refuse [ACTION,").and_then(|rest| rest.strip_suffix(']')).unwrap().to_owned()
    };
    assert_eq!(refused(Value::atom("dance")), r#"unsupported-function("dance")"#);
    assert_eq!(refused(Value::atom("register")), format!("missing-argument(\"{object}\")"));
    assert_eq!(refused(Value::term("register", [Value::Int(1)])), format!("missing-argument(\"{object}\")"));
    assert_eq!(refused(Value::term("register", [record("dog", &[])])), r#"unexpected-argument("dog")"#);
    let two = Value::term("register", [entry("bob", "a", "b"), entry("bob", "a", "b")]);
    assert_eq!(refused(two), "unexpected-argument-count");
    let nameless = Value::term("register", [record(object, &[])]);
    assert_eq!(refused(nameless), format!("missing-parameter(\"{object}\",\"name\")"));
    let colour = Value::term("search", [record(object, &[("colour", Value::Int(1))])]);
    assert_eq!(refused(colour), format!("unexpected-parameter(\"{object}\",\"colour\")"));
    let lease = Value::term("search", [record(object, &[("lease-time", Value::atom("soon"))])]);
    assert_eq!(refused(lease), format!("unrecognised-parameter-value(\"{object}\",\"lease-time\")"));
    assert_eq!(refused(Value::term("register", [entry("amy", "a", "b")])), "unauthorised");
}

#[test]
fn unintelligible_message_is_not_understood() {
    let mut sim = Simulation::new(1);
    let bob = ServiceClient::new(&mut sim, "bob");
    let mut answers = |performative: Performative, content: Value, ontology: Option<&str>| {
        let mut message = bob.message("df", performative, content);
        message.extras_mut().ontology = ontology.map(Symbol::new);
        sim.send(message);
        sim.run_until_idle();
        bob.probe.take_lines()
    };
    let search = Value::term("search", [template("x")]);
    assert_eq!(
        answers(Performative::Propose, Value::atom("x"), None),
        [r#"not-understood [action(bob,send(df,propose,x)),unsupported-act("propose")]"#]
    );
    assert_eq!(
        answers(Performative::Request, Value::Int(1), None),
        [r#"not-understood [action(bob,send(df,request,1)),unrecognised-value("content")]"#]
    );
    assert!(
        answers(Performative::Request, search.clone(), Some("cooking"))[0].contains("unsupported-value(\"ontology\")")
    );
    assert_eq!(answers(Performative::Request, search, Some("FIPA-Agent-Management")).len(), 2, "in any case");
    for performative in [Performative::Inform, Performative::Failure, Performative::NotUnderstood, Performative::Agree]
    {
        assert_eq!(answers(performative, Value::Null, None), [] as [String; 0], "answers are not answered");
    }
}

#[test]
fn short_requests_are_understood() {
    let mut sim = Simulation::new(1);
    let bob = ServiceClient::new(&mut sim, "bob");
    let service = Value::map([(Value::from("type"), Value::from("market"))]);
    let entry = Value::map([(Value::from("name"), Value::atom("bob")), (Value::from("services"), service)]);
    sim.send(bob.message("df", Performative::Request, Value::term("register", [entry])));
    sim.run_until_idle();
    assert_eq!(bob.probe.take().len(), 2);
    assert_eq!(sim.services().df_search("", "market"), [Aid::local("bob")]);
}

/// Requests as JADE writes them, with answers that it reads.
#[test]
fn sl_request_gets_sl_answer() {
    let mut sim = Simulation::new(1);
    let bob = ServiceClient::new(&mut sim, "bob");
    let mut ask = |content: &str| {
        let message = bob.message("df", Performative::Request, Value::from(content));
        sim.send(message.with_language("fipa-sl0").with_ontology("fipa-agent-management"));
        sim.run_until_idle();
        let line = |answer: &AclMessage| {
            format!(
                "{} {}",
                answer.performative,
                answer.content.as_str().map_or_else(|| answer.content.to_string(), str::to_owned)
            )
        };
        bob.probe.take().iter().map(line).collect::<Vec<_>>()
    };
    let df = "(agent-identifier :name df@home)";
    let entry = "(df-agent-description :name (agent-identifier :name bob) :services (set (service-description :name \"my \\\"good\\\" weather\" :type weather :languages (set fipa-sl0))))";
    let register = format!("(action {df} (register {entry}))");
    let answers = ask(&format!("({register})"));
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(answers[0], format!("agree ({register} true)"));
    assert_eq!(answers[1], format!("inform ((done {register}))"));
    let search = format!("(action {df} (search (df-agent-description) (search-constraints :max-results -1)))");
    let answers = ask(&format!("({search})"));
    assert_eq!(answers[0], format!("agree ({search} true)"), "an object without parameters keeps its brackets");
    assert!(answers[1].starts_with(&format!("inform ((result {search} (set (df-agent-description ")), "{}", answers[1]);
    assert!(answers[1].contains(":name \"my \\\"good\\\" weather\""), "{}", answers[1]);
    let answers = ask("((action");
    assert!(answers[0].starts_with("not-understood ((action "), "{answers:?}");
}

/// Returns an answer as text: its act, its language and its content.
fn in_words(answer: &AclMessage) -> String {
    let content = answer.content.as_str().map_or_else(|| format!("value {}", answer.content), str::to_owned);
    format!("{} {} {content}", answer.performative, answer.extras().language.map_or("", Symbol::as_str))
}

fn say(
    sim: &mut Simulation,
    client: &ServiceClient,
    act: Performative,
    language: Option<&str>,
    content: &str,
) -> Vec<String> {
    let mut message = client.message("df", act, Value::from(content));
    message.extras_mut().language = language.map(Symbol::new);
    sim.send(message);
    sim.run_until_idle();
    client.probe.take().iter().map(in_words).collect()
}

/// The question is as JADE's `DFService.createSubscriptionMessage` writes it, the answer as `decodeNotification` reads
/// it.
#[test]
fn sl_question_is_answered_by_equation() {
    let search = "(action (agent-identifier :name df) (search (df-agent-description :services (set (service-description :type sell)))))";
    let question = format!("(iota ?x (result {search} ?x))");
    let entry = "(df-agent-description :name (agent-identifier :name \"eve@home\")";
    for (language, said) in [(Some("fipa-sl"), "fipa-sl"), (Some("FIPA-SL0"), "FIPA-SL0"), (None, "fipa-sl")] {
        let mut sim = Simulation::new(1);
        let amy = ServiceClient::new(&mut sim, "amy");
        sim.services().df_register(Aid::local("eve"), "plums", "sell").unwrap();
        let asked = say(&mut sim, &amy, Performative::QueryRef, language, &format!("({question})"));
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(asked[0].starts_with(&format!("inform {said} ((= {question} (set {entry}")), "{asked:?}");
        let subscribed = say(&mut sim, &amy, Performative::Subscribe, language, &format!("({question})"));
        assert_eq!(subscribed[0], format!("agree {said} ({search} true)"));
        assert_eq!(subscribed[1], asked[0]);
        sim.services().df_register(Aid::local("zoe"), "figs", "sell").unwrap();
        sim.run_until_idle();
        let told = amy.probe.take().iter().map(in_words).collect::<Vec<_>>();
        assert!(told[0].starts_with(&format!("inform {said} ((= {question} (set (df-agent-description")), "{told:?}");
    }
}

#[test]
fn sl_subscription_gets_sl_results() {
    let mut sim = Simulation::new(1);
    let amy = ServiceClient::new(&mut sim, "amy");
    sim.services().df_register(Aid::local("eve"), "plums", "sell").unwrap();
    let search = "(action (agent-identifier :name df) (search (df-agent-description)))";
    let told = say(&mut sim, &amy, Performative::Subscribe, Some("fipa-sl0"), &format!("({search})"));
    assert!(told[1].starts_with(&format!("inform fipa-sl0 ((result {search} (set (df-agent-description")), "{told:?}");
}

#[test]
fn sl_subscription_survives_journal() {
    let mut sim = Simulation::new(1);
    let amy = ServiceClient::new(&mut sim, "amy");
    let question = "(iota ?x (result (action (agent-identifier :name df) (search (df-agent-description))) ?x))";
    say(&mut sim, &amy, Performative::Subscribe, Some("fipa-sl2"), &format!("({question})"));
    let form = sim.with_df(|df| df.subscriptions_of(Aid::local("amy")).next().unwrap().form.clone());
    let written = whimbrel_platform::durable::DfSubscription::of(&DfDescription::default(), &form).unwrap();
    assert_eq!(written.form().unwrap(), form);
}

#[test]
fn other_language_is_not_understood() {
    let mut sim = Simulation::new(1);
    let amy = ServiceClient::new(&mut sim, "amy");
    let answers = say(&mut sim, &amy, Performative::Request, Some("prolog"), "search(X).");
    assert!(answers[0].contains("unsupported-value(\"language\")"), "{answers:?}");
}

#[test]
fn unknown_function_is_refused() {
    let mut sim = Simulation::new(1);
    let amy = ServiceClient::new(&mut sim, "amy");
    for to in ["ams", "df"] {
        for function in [
            "(kill-agent :agent (agent-identifier :name x))",
            "(foo :a 1)",
            "(foo 1)",
            "(foo)",
            "(Create-Agent :name x :class y)",
        ] {
            let content = format!("((action (agent-identifier :name {to}) {function}))");
            let message = amy.message(to, Performative::Request, Value::from(content));
            sim.send(message.with_language("fipa-sl0"));
            sim.run_until_idle();
            let answers: Vec<String> = amy.probe.take().iter().map(in_words).collect();
            let name = function.trim_matches(['(', ')']).split(' ').next().unwrap();
            let reason = format!("(unsupported-function \"{name}\"))");
            assert!(answers.len() == 1 && answers[0].starts_with("refuse "), "{answers:?}");
            assert!(answers[0].ends_with(&reason), "{answers:?}");
        }
    }
}

/// JADE reads words in any case, including those of FIPA's drafts of 2000.
#[test]
fn older_names_are_read() {
    let mut sim = Simulation::new(1);
    let bob = ServiceClient::new(&mut sim, "bob");
    let entry = "(Df-agent-description :Name (AGENT-IDENTIFIER :name bob) :Services (SET (Service-Description :type sell :ontology (set market))) :protocol (set fipa-request) :language fipa-sl0)";
    let answers = say(
        &mut sim,
        &bob,
        Performative::Request,
        Some("fipa-sl0"),
        &format!("((ACTION (agent-identifier :name df) (REGISTER {entry})))"),
    );
    assert!(answers[0].starts_with("agree "), "{answers:?}");
    let registered = sim.with_df(|df| df.description_of(Aid::local("bob")).cloned()).unwrap();
    assert_eq!(registered.protocols, [Symbol::new("fipa-request")]);
    assert_eq!(registered.languages, [Symbol::new("fipa-sl0")]);
    assert_eq!(registered.services[0].ontologies, [Symbol::new("market")]);
}

#[test]
fn asked_limit_bounds_results() {
    let mut sim = Simulation::new(1);
    let amy = ServiceClient::new(&mut sim, "amy");
    for name in ["a", "b", "c"] {
        sim.services().df_register(Aid::local(name), "sell", "market").unwrap();
    }
    for (limit, expected) in [(2, 2), (0, 0), (-1, 3)] {
        let constraints = record("search-constraints", &[("max-results", Value::Int(limit))]);
        let found = amy.ask(&mut sim, "df", Value::term("search", [template("sell"), constraints]));
        assert_eq!(found[1].matches("df-agent-description").count(), expected);
    }
}

#[test]
fn acl_lease_ends() {
    simulate(|sim| {
        let bob = ServiceClient::new(sim, "bob");
        let lease = |time: Value| {
            let fields = [("name", Value::from("bob@home")), ("services", set(&[])), ("lease-time", time)];
            record("df-agent-description", &fields)
        };
        let minute = Value::term("duration", [Value::Int(60_000)]);
        bob.ask(sim, "df", Value::term("register", [lease(minute)]));
        assert_eq!(sim.now().as_ms(), 60_000, "idle only when the lease ended");
        assert_eq!(sim.with_df(|df| df.entry_count()), 0);
        let at = i64::try_from(sim.services().wall_clock_ms()).unwrap() + 5_000;
        let message = Value::term("register", [lease(Value::term("datetime", [Value::Int(at)]))]);
        sim.send(bob.message("df", Performative::Request, message));
        sim.run_for(4_999);
        assert_eq!(sim.with_df(|df| df.entry_count()), 1);
        bob.probe.take();
        sim.send(bob.message(
            "df",
            Performative::Request,
            Value::term("search", [record("df-agent-description", &[])]),
        ));
        while sim.step() {}
        assert!(bob.probe.take_lines()[1].contains(&format!("lease-time: datetime({at})")));
        sim.run_for(1);
        assert_eq!(sim.with_df(|df| df.entry_count()), 0);
    });
}

#[test]
fn subscription_is_agreed_served_cancelled() {
    simulate(|sim| {
        let (amy, bob) = (ServiceClient::new(sim, "amy"), ServiceClient::new(sim, "bob"));
        sim.services().df_register(Aid::local("eve"), "sell", "market").unwrap();
        let action = Value::term("action", [Value::atom("df"), Value::term("search", [template("sell")])]);
        let x = Value::Var(whimbrel_acl::Var { slot: 0, name: "X".into() });
        let result = Value::term("result", [action.clone(), x.clone()]);
        let question = Value::term("iota", [x, result]);
        sim.send(amy.message("df", Performative::Subscribe, Value::list([question.clone()])));
        sim.run_until_idle();
        let lines = amy.probe.take_lines();
        assert_eq!(lines[0], format!("agree [{action},true]"));
        assert_eq!(lines[1], format!("inform [({question} = set({}))]", entry("eve", "sell", "market")));
        bob.ask(sim, "df", Value::term("register", [entry("bob", "sell", "stall")]));
        assert!(amy.probe.take_lines()[0].contains("bob@home"));
        sim.kill("bob");
        sim.run_until_idle();
        let gone = frames::df_agent_description(&DfDescription::of(Aid::local("bob")), None, "home".into());
        assert_eq!(amy.probe.take_lines(), [format!("inform [({question} = set({gone}))]")]);
        sim.send(amy.message("df", Performative::Cancel, Value::Null));
        sim.run_until_idle();
        assert_eq!(amy.probe.take_lines(), ["inform [done(action(amy,send(df,cancel,null)))]"]);
        sim.send(amy.message("df", Performative::Cancel, Value::Null));
        sim.services().df_register(Aid::local("zoe"), "sell", "market").unwrap();
        sim.run_until_idle();
        assert_eq!(amy.probe.take_lines(), ["failure [action(amy,send(df,cancel,null)),not-registered]"]);
    });
}

#[test]
fn ams_finds_and_changes_agents() {
    simulate(|sim| {
        let amy = ServiceClient::new(sim, "amy");
        sim.introduce(NewAgent { owner: "amy".into(), ..NewAgent::new("bob", AgentKind::Native) }, Probe::new().body());
        sim.spawn("eve", Probe::new().body());
        let done = ["agree [ACTION,true]", "inform [done(ACTION)]"];
        let bob = "name: agent-identifier{name: \"bob@home\"},ownership: amy";
        let found = amy.ask(sim, "ams", Value::term("search", [ams_entry("b*", &[])]));
        assert_eq!(found[1], format!("inform [result(ACTION,set(ams-agent-description{{{bob},state: active}}))]"));
        let elsewhere = amy.ask(sim, "ams", Value::term("search", [ams_entry("bob@away", &[])]));
        assert_eq!(elsewhere[1], "inform [result(ACTION,set)]");
        let suspended = [("state", Value::atom("suspended"))];
        assert_eq!(amy.ask(sim, "ams", Value::term("modify", [ams_entry("bob", &suspended)])), done);
        assert_eq!(sim.with_ams(|ams| ams.state(Aid::local("bob"))), Some(AgentState::Suspended));
        let waiting =
            amy.ask(sim, "ams", Value::term("modify", [ams_entry("bob", &[("state", Value::atom("waiting"))])]));
        assert_eq!(waiting[1], r#"failure [ACTION,internal-error("cannot make agent bob waiting: it is suspended")]"#);
        let other = amy.ask(sim, "ams", Value::term("modify", [ams_entry("eve", &suspended)]));
        assert_eq!(other, ["refuse [ACTION,unauthorised]"]);
        assert_eq!(amy.ask(sim, "ams", Value::term("deregister", [ams_entry("bob@home", &[])])), done);
        assert!(!sim.services().exists(Aid::local("bob")));
        let missing = amy.ask(sim, "ams", Value::term("deregister", [ams_entry("bob", &[])]));
        assert_eq!(missing[1], "failure [ACTION,not-registered]");
        let platform = amy.ask(sim, "ams", Value::atom("get-description"));
        assert_eq!(platform[1], "inform [result(ACTION,ap-description{name: home})]");
        sim.with_ams(|ams| ams.set_addresses(vec!["http://h:1/acc".to_owned()]));
        let platform = amy.ask(sim, "ams", Value::atom("get-description"));
        let service = "{name: fipa.mts.mtp.http.std,type: fipa.mts.mtp.http.std,addresses: [\"http://h:1/acc\"]}";
        assert!(platform[1].contains(service), "{}", platform[1]);
        let found = amy.ask(sim, "ams", Value::term("search", [ams_entry("amy", &[])]));
        assert!(found[1].contains("addresses: [\"http://h:1/acc\"]"), "{}", found[1]);
        sim.with_ams(|ams| ams.set_addresses(Vec::new()));
        let register = amy.ask(sim, "ams", Value::term("register", [ams_entry("amy", &[])]));
        assert_eq!(register[1], "failure [ACTION,already-registered]");
    });
}

#[test]
fn ams_finds_agents_of_other_nodes() {
    simulate(|sim| {
        let amy = ServiceClient::new(sim, "amy");
        sim.with_ams(|ams| {
            for name in ["bob", "bea", "eve"] {
                assert_eq!(ams.handle_elsewhere(name, NodeId(2), AgentKind::Native), Ok(()));
            }
        });
        let search = |sim: &mut Simulation, args: Vec<Value>| {
            let found = amy.ask(sim, "ams", Value::term("search", args));
            let names =
                found[1].split("name: \"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default().to_owned());
            names.collect::<Vec<String>>()
        };
        let most = |limit| record("search-constraints", &[("max-results", Value::Int(limit))]);
        assert_eq!(search(sim, vec![ams_entry("b*", &[])]), ["bea@home", "bob@home"]);
        assert_eq!(search(sim, vec![ams_entry("b*", &[]), most(1)]), ["bea@home"]);
        assert_eq!(search(sim, vec![ams_entry("*", &[]), most(1)]).len(), 1, "there are own ones");
        assert_eq!(search(sim, vec![ams_entry("eve@home", &[])]), ["eve@home"]);
        assert_eq!(search(sim, vec![ams_entry("*", &[]), most(5)]).last().unwrap(), "bob@home", "own ones come first");
        assert!(
            search(sim, vec![ams_entry("bob", &[("state", Value::atom("active"))])]).is_empty(),
            "only its node knows"
        );
        assert!(search(sim, vec![ams_entry("zoe", &[])]).is_empty());
    });
}

#[test]
fn ams_lets_agents_join_topics() {
    simulate(|sim| {
        let (bob, amy) = (ServiceClient::new(sim, "bob"), ServiceClient::new(sim, "amy"));
        let done = ["agree [ACTION,true]", "inform [done(ACTION)]"];
        let weather = record("agent-identifier", &[("name", Value::from("topic:weather@home"))]);
        assert_eq!(bob.ask(sim, "ams", Value::term("join", [weather.clone()])), done);
        assert_eq!(amy.ask(sim, "ams", Value::term("join", [Value::from("group:crew")])), done);
        sim.send(amy.message("topic:weather", Performative::Inform, Value::atom("rain")));
        sim.send(bob.message("any:crew", Performative::Inform, Value::atom("job")));
        sim.run_until_idle();
        assert_eq!(
            (bob.probe.take_lines(), amy.probe.take_lines()),
            (vec!["inform rain".into()], vec!["inform job".into()])
        );
        assert_eq!(bob.ask(sim, "ams", Value::term("leave", [weather.clone()])), done);
        let again = bob.ask(sim, "ams", Value::term("leave", [weather]));
        assert_eq!(again[1], "failure [ACTION,not-registered]");
        let refused = |answers: Vec<String>| answers.concat();
        let missing = "refuse [ACTION,missing-argument(\"agent-identifier\")]";
        assert_eq!(refused(bob.ask(sim, "ams", Value::atom("join"))), missing);
        assert_eq!(refused(bob.ask(sim, "ams", Value::term("join", [record("dog", &[])]))), missing);
        let unexpected = "refuse [ACTION,unexpected-argument(\"agent-identifier\")]";
        assert_eq!(refused(bob.ask(sim, "ams", Value::term("join", [Value::from("amy")]))), unexpected);
    });
}

#[test]
fn topic_is_joined_in_sl() {
    let mut sim = Simulation::new(1);
    let bob = ServiceClient::new(&mut sim, "bob");
    let text = "((action (agent-identifier :name ams) (join (agent-identifier :name topic:weather))))";
    sim.send(bob.message("ams", Performative::Request, Value::from(text)).with_language("fipa-sl0"));
    sim.run_until_idle();
    let answers: Vec<Performative> = bob.probe.take().iter().map(|answer| answer.performative).collect();
    assert_eq!(answers, [Performative::Agree, Performative::Inform]);
    assert_eq!(sim.services().members(Aid::local("topic:weather")), [Aid::local("bob")]);
}
