//! Looking into running agents, pausing them, having them take steps, and changing their minds.

use serde_json::Value;

use super::control::SocietyFolder;

const BOB: &str = "
count(0).
likes(beer)[source(amy)].
!go.
@go +!go <- !tick; !go.
@tick +!tick <- .wait(10); ?count(N); -+count(N + 1).
+!serve(Who) <- +served(Who).
+order(X)[source(A)] <- +ordered(X).
";

fn site() -> SocietyFolder {
    let bob = format!("{BOB}\n@idle[breakpoint] +!rest <- .wait(1000000).\n");
    SocietyFolder::with(&[
        ("bar.mas2j", "MAS bar { agents: bob; amy; }"),
        ("bob.asl", &bob),
        ("amy.asl", "!rest.\n+!rest.\n"),
        ("two.mas2j", "MAS two { agents: bob at \"n1\"; amy at \"n2\"; }"),
        ("kept.mas2j", "MAS kept { agents: amy [passivate=\"5ms\"]; bob; }"),
    ])
}

fn mind(site: &SocietyFolder) -> Value {
    site.json(&["mind", "bob", "--json"])
}

fn count(mind: &Value) -> i64 {
    let texts = mind["beliefs"].as_array().unwrap().iter().map(|belief| belief["text"].as_str().unwrap());
    let count = texts.filter_map(|text| text.strip_prefix("count(")?.strip_suffix(')'));
    count.map(|count| count.parse().unwrap()).next().expect("it counts")
}

fn believes(mind: &Value, text: &str) -> bool {
    mind["beliefs"].as_array().unwrap().iter().any(|belief| belief["text"] == text)
}

#[test]
fn inspected_agent_continues() {
    let site = site();
    let _running = site.start(&["run", "bar.mas2j"], 1);
    // Between two ticks its count is replaced, which takes more than a cycle.
    site.until(|| believes(&mind(&site), "count(3)") || count_if_any(&mind(&site)) > Some(3));
    let text = site.out(&["mind", "bob"]);
    for part in [
        "bob@whimbrel: AgentSpeak, active on n1",
        "bob.asl",
        "beliefs",
        "likes(beer)",
        "goals",
        "!go",
        "intentions",
        "mailbox: none",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let plans = site.out(&["mind", "bob", "--plans"]);
    assert!(plans.contains("tick") && plans.contains("+!tick <- .wait(10); ?count(N); -+count((N+1))"), "{plans}");
    assert!(!plans.contains("beliefs"), "{plans}");
    let before = count_if_any(&mind(&site));
    site.until(|| count_if_any(&mind(&site)) > before);
}

/// Returns the count; none for a moment, when the agent replaces the belief.
fn count_if_any(mind: &Value) -> Option<i64> {
    let has = mind["beliefs"].as_array().unwrap().iter().any(|it| it["text"].as_str().unwrap().starts_with("count("));
    has.then(|| count(mind))
}

#[test]
fn paused_agent_steps_and_continues() {
    let site = site();
    let _running = site.start(&["run", "bar.mas2j"], 1);
    let refused = site.see(&["debug", "bob", "pause", "--json"]);
    assert!(refused.err.contains("`--json` is unexpected") && refused.code == Some(1), "{}", refused.err);
    let paused = site.out(&["debug", "bob", "pause"]);
    assert!(paused.contains("paused by an operator") && paused.contains("intention 1"), "{paused}");
    site.out(&["send", "bob", "order(tea)", "--performative", "tell"]);
    site.until(|| mind(&site)["mailbox_total"] == 1);
    let stood = mind(&site);
    assert_eq!(stood["paused"], true);
    assert_eq!(stood["mailbox"][0]["content"], "order(tea)");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(mind(&site)["beliefs"], stood["beliefs"]);
    // The message is taken by the first step.
    let stepped = site.out(&["debug", "bob", "step"]);
    assert!(stepped.contains("message of cli"), "{stepped}");
    let after = mind(&site);
    assert_eq!((&after["mailbox_total"], &after["paused"]), (&Value::from(0), &Value::from(true)));
    assert_eq!(site.out(&["debug", "bob", "continue"]), "bob goes on\n");
    let before = count_if_any(&stood);
    site.until(|| {
        let mind = mind(&site);
        count_if_any(&mind) > before && believes(&mind, "ordered(tea)")
    });
}

#[test]
fn intention_steps_pause_again() {
    let site = site();
    let _running = site.start(&["run", "bar.mas2j"], 1);
    let running = site.see(&["debug", "bob", "over"]);
    assert!(running.err.contains("it is not paused") && running.code == Some(1), "{}", running.err);
    site.out(&["debug", "bob", "break", "tick"]);
    site.until(|| mind(&site)["paused"] == true);
    for order in ["into", "over", "out"] {
        let stepped = site.out(&["debug", "bob", order]);
        site.until(|| mind(&site)["paused"] == true);
        assert!(stepped.starts_with("bob@whimbrel: AgentSpeak"), "{order}: {stepped}");
    }
    assert_eq!(site.out(&["debug", "bob", "end"]), "bob is not debugged any more\n");
}

#[test]
fn an_agent_stands_at_its_breakpoints() {
    let site = site();
    let _running = site.start(&["run", "bar.mas2j"], 1);
    assert_eq!(site.out(&["debug", "bob", "break", "@tick"]), "bob pauses when @tick is chosen\n");
    site.until(|| mind(&site)["paused"] == true);
    let stood = mind(&site);
    assert_eq!(stood["paused_by"], "the breakpoint of tick");
    let frame = &stood["intentions"][0]["frames"][0];
    assert_eq!((&frame["plan"], &frame["step"], &frame["step_line"]), (&"tick".into(), &".wait(10)".into(), &6.into()));
    let marked = stood["plans"].as_array().unwrap().iter().filter(|plan| plan["breakpoint"] == true);
    assert_eq!(marked.map(|plan| plan["label"].as_str().unwrap()).collect::<Vec<_>>(), ["tick", "idle"]);
    site.out(&["debug", "bob", "unbreak", "tick"]);
    site.out(&["debug", "bob", "pursue", "rest"]);
    site.out(&["debug", "bob", "continue"]);
    // The program's own.
    site.until(|| mind(&site)["paused_by"] == "the breakpoint of idle");
    assert_eq!(site.out(&["debug", "bob", "end"]), "bob is not debugged any more\n");
    let before = count_if_any(&mind(&site));
    site.until(|| count_if_any(&mind(&site)) > before);
}

#[test]
fn a_mind_is_changed() {
    let site = site();
    let _running = site.start(&["run", "bar.mas2j"], 1);
    site.out(&["debug", "bob", "believe", "likes(tea)"]);
    site.out(&["debug", "bob", "forget", "likes(beer)"]);
    site.out(&["debug", "bob", "pursue", "!serve(amy)"]);
    site.until(|| {
        let mind = mind(&site);
        believes(&mind, "likes(tea)") && !believes(&mind, "likes(beer)") && believes(&mind, "served(amy)")
    });
    for (arguments, why) in [
        (&["mind", "bobb"][..], "there is no agent named bobb; did you mean bob?"),
        (&["debug", "bob", "pauze"], "a similar value exists: 'pause'"),
        (&["debug", "bob", "break"], "required"),
        (&["debug", "bob", "break", "tik"], "bob: it has no plan named tik; did you mean tick?"),
        (&["debug", "bob", "believe", "likes("], "bob: likes( is no belief: expected a term"),
        (&["debug", "bob", "pursue", "serv(amy)"], "bob: it has no plan for !serv/1; it has some for !serve/1"),
        (&["debug", "bob", "continue"], "bob: it is not paused"),
        (&["debug", "ams", "pause"], "ams is the platform's own agent"),
    ] {
        let seen = site.see(arguments);
        assert!(seen.code != Some(0) && seen.err.contains(why), "{arguments:?}: {} {}", seen.out, seen.err);
    }
}

#[test]
fn what_cycles_do_is_followed() {
    use std::io::{BufRead, BufReader};
    let site = site();
    let _running = site.start(&["run", "bar.mas2j"], 1);
    let mut command = site.command(&["mind", "bob", "--follow"]);
    let mut follower = command.stdout(std::process::Stdio::piped()).spawn().expect("it runs");
    let lines = BufReader::new(follower.stdout.take().expect("it prints")).lines();
    let mut wanted = vec!["+!tick -> tick", "?count(N) (bob.asl:6, intention 1)"];
    for line in lines.map_while(Result::ok) {
        wanted.retain(|wanted| !line.ends_with(wanted));
        if wanted.is_empty() {
            break;
        }
    }
    let _ = follower.kill();
    let _ = follower.wait();
    assert!(wanted.is_empty(), "not seen: {wanted:?}");
}

#[test]
fn paused_agent_does_not_move() {
    let site = site();
    let _running = site.start(&["run", "two.mas2j", "--nodes", "2"], 2);
    site.out(&["debug", "bob", "pause"]);
    let seen = site.see(&["move", "bob", "n2"]);
    assert!(seen.err.contains("bob stays") && seen.err.contains("paused by a debugger"), "{}", seen.err);
    assert_eq!(mind(&site)["paused"], true);
    site.out(&["debug", "bob", "continue"]);
    assert_eq!(site.out(&["move", "bob", "n2"]), "bob moved to n2\n");
    // It is told when the node that it leaves lets it go: just then it is on no node.
    site.until(|| site.see(&["mind", "bob", "--json"]).out.contains("\"node\":\"n2\""));
    // A request to a single node is answered with the name of the right one.
    let seen = site.see(&["mind", "bob", "--node", "n1"]);
    assert!(seen.err.contains("agent bob lives on node n2"), "{}", seen.err);
    let seen = site.see(&["debug", "bob", "pause", "--node", "n1"]);
    assert!(seen.err.contains("agent bob lives on node n2"), "{}", seen.err);
}

#[test]
fn passive_agent_shows_and_returns() {
    let site = site();
    let _running = site.start(&["run", "kept.mas2j", "--durable"], 1);
    let passive = || site.json(&["agents", "amy", "--json"])["agents"][0]["passive"] == true;
    site.until(passive);
    assert_eq!(site.json(&["mind", "amy", "--json"])["plans"][0]["trigger"], "+!rest");
    assert!(passive(), "nobody is woken by being looked at");
    site.out(&["debug", "amy", "believe", "likes(tea)"]);
    site.until(|| believes(&site.json(&["mind", "amy", "--json"]), "likes(tea)"));
    site.until(passive);
    assert!(believes(&site.json(&["mind", "amy", "--json"]), "likes(tea)"));
    // A paused agent stays in memory.
    site.out(&["debug", "amy", "pause"]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!passive());
}
