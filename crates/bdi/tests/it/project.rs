//! Parsing of projects.

use whimbrel_acl::{Symbol, Text};
use whimbrel_bdi::project::{AgentNames, ClassArg, Project, ProjectEnvironment, Scheduling, parse_project};

#[track_caller]
fn project(text: &str) -> Project {
    let parsed = parse_project(text, &Text::from("app.mas2j"), &["RoomEnv", "mars"]);
    assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    parsed.project
}

#[test]
fn all_sections_are_read() {
    let project = project(
        r#"MAS auction_1 { // comment
            infrastructure: Local(pool,4)
            environment: mars(50, "x", [a,1], nested(b)) at "host1"
            agents:
                bob [verbose=1, events=requeue, beliefs="price(10), ~seen", goals="start", my_param="a \"b\""] #3 at "h";
                amy ./src/x.asl;
                joe common;
                eve agentClass jason.asSemantics.Agent;
            classpath: "lib/a.jar"; "lib/b.jar";
            aslSourcePath: "src"; "src/more";
        }"#,
    );
    assert_eq!(project.name, "auction_1");
    assert_eq!((project.infrastructure.scheduling, project.infrastructure.workers), (Scheduling::Pool, Some(4)));
    let Some(ProjectEnvironment::Host(mars)) = &project.environment else { panic!() };
    assert_eq!((mars.name.as_str(), mars.args.len(), mars.host.as_deref()), ("mars", 4, Some("host1")));
    assert!(matches!(&mars.args[2], ClassArg::List(items) if items.len() == 2));
    let sources: Vec<&str> = project.agents.iter().map(|agent| agent.source.as_str()).collect();
    assert_eq!(sources, ["bob.asl", "./src/x.asl", "common.asl", "eve.asl"]);
    let bob = &project.agents[0];
    assert_eq!(bob.count, 3);
    assert_eq!(bob.option("events"), Some("requeue"));
    assert_eq!(bob.option("my_param"), Some("a \"b\""));
    assert_eq!((bob.beliefs.len(), bob.goals.len()), (2, 1));
    assert!(bob.beliefs[1].head.negated);
    assert_eq!(project.classpath, ["lib/a.jar", "lib/b.jar"]);
    assert_eq!(project.asl_source_path, ["src", "src/more"]);
    assert!(project.agents[3].agent_class.is_none());
}

#[test]
fn duplicate_agents_are_numbered() {
    let text = "MAS m { agents: worker #2; worker #2; boss; boss; boss_1; boss; none #0; a #2; a1; }";
    let parsed = parse_project(text, &Text::from("m.mas2j"), &[]);
    assert!(parsed.is_ok(), "{:?}", parsed.diagnostics);
    let mut names = AgentNames::default();
    let all: Vec<String> = (parsed.project.agents.iter())
        .flat_map(|agent| names.reserve(agent.name, agent.count as usize, usize::MAX))
        .map(|name| name.to_string())
        .collect();
    let expected = "worker1 worker2 worker1_1 worker2_1 boss boss_1 boss_1_1 boss_2 a1 a2 a1_1";
    assert_eq!(all.join(" "), expected);
    let said: Vec<&str> = parsed.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(said.len(), 5, "{said:?}");
}

#[test]
fn declared_counts_make_few_names() {
    let text = "MAS m { agents: populous #100000000; populous #100000000; }";
    let parsed = parse_project(text, &Text::from("m.mas2j"), &[]);
    assert!(parsed.is_ok() && parsed.project.agents.iter().all(|agent| agent.count == 100_000_000));
    assert!(Symbol::known("populous1").is_some() && Symbol::known("populous10001").is_none());
}

#[test]
fn paths_may_have_back_slashes() {
    let text = "MAS m { environment: asl(\"src\\env.asl\") agents: a src\\asl\\a.asl; b \"src\\\\b\"; aslSourcePath: \"src\\asl\"; }";
    let project = project(text);
    let sources: Vec<&str> = project.agents.iter().map(|agent| agent.source.as_str()).collect();
    assert_eq!(sources, ["src/asl/a.asl", "src/b.asl"]);
    assert!(matches!(&project.environment, Some(ProjectEnvironment::Program { file, .. }) if file == "src/env.asl"));
    assert_eq!(project.asl_source_path, ["src/asl"]);
}

#[test]
fn agent_errors_spare_other_agents() {
    let ok = |agents: &str| {
        let parsed = parse_project(&format!("MAS m {{ agents: {agents} }}"), &Text::from("m.mas2j"), &[]);
        let broken: Vec<bool> = parsed.project.agents.iter().map(|agent| agent.is_broken).collect();
        (parsed.is_ok(), parsed.is_ok_in_part(), broken)
    };
    assert_eq!(ok("a agentArchClass my.Arch; b;"), (false, true, vec![true, false]));
    assert_eq!(ok("a; b [beliefs=\"p(\"]; c [verbose=x];"), (false, true, vec![false, true, true]));
    assert_eq!(ok("a; b [verbose=x] c;"), (false, false, vec![false]));
    assert!(!ok("a #x; b;").1);
}

#[test]
fn nodes_offer_folders() {
    let offers = project("MAS m { offers: library = \"texts\"; more = \"../b\" at \"n2\"; agents: a; }").offers;
    let told: Vec<_> = offers.iter().map(|offer| (&*offer.name, &*offer.folder, offer.host.as_deref())).collect();
    assert_eq!(told, [("library", "texts", None), ("more", "../b", Some("n2"))]);
    for wrong in
        ["offers: agents: a;", "offers: a; agents: b;", "offers: a = b; agents: a;", "offers: a = \"b\" agents: a;"]
    {
        let parsed = parse_project(&format!("MAS m {{ {wrong} }}"), &Text::from("m.mas2j"), &[]);
        assert!(!parsed.is_ok(), "{wrong}");
    }
}

#[test]
fn infrastructure_sets_workers_and_cycles() {
    let infrastructure = |text: &str| {
        let infrastructure = project(&format!("MAS m {{ infrastructure: {text} agents: a; }}")).infrastructure;
        (infrastructure.scheduling, infrastructure.workers, infrastructure.cycles)
    };
    assert_eq!(infrastructure("Centralised"), (Scheduling::Threaded, None, None));
    assert_eq!(infrastructure("Local(threaded,7)"), (Scheduling::Threaded, None, Some(7)));
    assert_eq!(infrastructure("Local(pool,2)"), (Scheduling::Pool, Some(2), None));
    assert_eq!(infrastructure("Local(pool,2,10)"), (Scheduling::Pool, Some(2), Some(10)));
    assert_eq!(infrastructure("Local(asynch,2,3,4,1,1,1)"), (Scheduling::Asynch, Some(2), Some(1)));
    assert_eq!(infrastructure("Local(asynch_shared,2)"), (Scheduling::AsynchShared, Some(2), None));
    assert_eq!(infrastructure("Local(synch_scheduled,2)"), (Scheduling::SynchScheduled, Some(2), None));
}

#[test]
fn environments_are_programs_or_provided() {
    let environment = |text: &str| project(&format!("MAS m {{ environment: {text} agents: a; }}")).environment;
    assert!(
        matches!(environment("asl(\"env.asl\")"), Some(ProjectEnvironment::Program { file, .. }) if file == "env.asl")
    );
    assert!(matches!(environment("RoomEnv"), Some(ProjectEnvironment::Host(class)) if class.name == "RoomEnv"));
    assert!(matches!(environment("py(\"env.py\")"), Some(ProjectEnvironment::Host(_))));
    assert!(environment("jason.environment.Environment").is_none());
}

#[test]
fn project_beliefs_have_its_places() {
    let text = "MAS m {\n  agents: a [beliefs=\"b(1), c(\\\"x\\\")\"];\n}";
    let project = project(text);
    let beliefs = &project.agents[0].beliefs;
    assert_eq!(beliefs.len(), 2);
    assert_eq!(beliefs[0].span.line, 2);
    assert_eq!(&text[beliefs[0].span.start as usize..beliefs[0].span.end as usize], "b(1)");
    assert_eq!(&text[beliefs[1].span.start as usize..beliefs[1].span.end as usize], "c(\\\"x\\\")");
}

#[test]
fn faulty_agent_spares_the_others() {
    let parsed = parse_project("MAS m { agents: a; b [x]; c #2; classpath: ; }", &Text::from("app.mas2j"), &[]);
    assert_eq!(parsed.diagnostics.len(), 2);
    assert_eq!(parsed.project.agents.len(), 2);
}

#[test]
fn options_and_hosts_place_agents() {
    let agents =
        project(r#"MAS m { agents: a [together=crew]; b [apart="r x"] #3 at "localhost"; c at "n2"; d [label=gpu]; }"#)
            .agents;
    let hint = |index: usize, key| agents[index].option(key);
    assert_eq!((hint(0, "together"), hint(1, "apart"), hint(3, "label")), (Some("crew"), Some("r x"), Some("gpu")));
    let nodes: Vec<Option<&str>> = agents.iter().map(|agent| agent.node().map(Text::as_str)).collect();
    assert_eq!(nodes, [None, None, Some("n2"), None]);
}

#[test]
fn contradictory_hints_are_errors() {
    for (agents, message) in [
        ("a [together=x, apart=y] #2;", "`a` is to be together with others and apart from them"),
        ("a [label=gpu] at \"n1\";", "`a` is to be on the node n1 and on any with a label"),
        ("a [apart=x] #2 at \"n1\";", "several of `a` are to be on the node n1 and apart"),
        ("a [together=x] at \"n1\"; b [together=x];", "`a` and `b` are to be together and on different nodes"),
        ("a [together=x, label=g]; b [together=x, label=h];", "`a` and `b` are to be together and on different nodes"),
        ("a [label=\" \"];", "the option `label` is a name"),
        ("a [apart=x];", "one agent only is in the group `x`"),
    ] {
        let parsed = parse_project(&format!("MAS m {{ agents: {agents} }}"), &Text::from("m.mas2j"), &[]);
        let messages: Vec<&str> = parsed.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        assert_eq!(messages, [message], "{agents}");
        assert_eq!(parsed.is_ok(), message.starts_with("one agent"), "{agents}");
    }
}
