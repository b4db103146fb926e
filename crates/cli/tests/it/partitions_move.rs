//! Agents of a cluster that move with their partitions, by themselves and by order.

use rustix::process::Signal;

use super::engine::program;
use super::standby::Engine;
use super::up::NodeProcesses;

/// Says where it is after each move, and counts them; what it hears meanwhile it counts, too.
const SCOUT: &str = "
moves(0).
heard(0).
+!tour : moves(N) & N < 12 <- .node(Here); !other(Here, To); .move_to(To); .node(There); -+moves(N+1); .print(\"move \", N+1, \" \", There); !tour.
+!tour : heard(120) <- .print(\"heard all\"); .send(counter, achieve, end).
+!tour <- .wait(50); !tour.
+!other(n1, n2).
+!other(_, n1).
@heard[atomic] +number(N) : heard(N-1) <- -+heard(N).
@odd[atomic] +number(N) : heard(M) <- .print(\"after \", M, \" came \", N).
";
const COUNTER: &str = "
!count(1).
+!count(N) : N <= 120 <- .send(scout, tell, number(N)); .wait(30); !count(N+1).
+!count(_).
+!end <- .stopMAS.
";
const PROJECT: &str = "MAS count { agents: scout; counter; }";

fn moves(nodes: &NodeProcesses) -> Vec<String> {
    let mut said: Vec<String> =
        nodes.text("out").lines().filter_map(|line| line.strip_prefix("[scout] move ").map(str::to_owned)).collect();
    said.sort_by_key(|line| line.split_once(' ').and_then(|(count, _)| count.parse::<u32>().ok()));
    said
}

#[test]
fn shuttling_agent_gets_messages_once() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let files = [("count.mas2j", PROJECT), ("scout.asl", SCOUT), ("counter.asl", COUNTER)];
    let mut nodes = NodeProcesses::with(engine.store("tour"), &files);
    nodes.start();
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    let (said, done) = nodes.command(&["send", "scout", "tour", "--performative", "achieve"]);
    assert!(done, "{said}");
    nodes.wait_for("it moves twelve times", |nodes| moves(nodes).len() == 12);
    let said = moves(&nodes);
    let first = said[0].split_once(' ').map(|(_, node)| node.to_owned()).expect("a node");
    let other = if first == "n1" { "n2" } else { "n1" };
    let expected = (1..=12).map(|count| format!("{count} {}", if count % 2 == 1 { first.as_str() } else { other }));
    assert_eq!(said, expected.collect::<Vec<_>>());
    assert_eq!([nodes.wait_for_end(0), nodes.wait_for_end(1)], [Some(0), Some(0)]);
    assert!(nodes.text("out").contains("[scout] heard all"), "{}", nodes.text("out"));
    assert!(!nodes.text("out").contains("[scout] after"), "{}", nodes.text("out"));
}

#[test]
fn agent_reaches_target_despite_dead_node() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let scout = "+!go(To) <- .print(\"going to \", To); .move_to(To); .node(Here); .print(\"here \", Here).
        -!go(To)[error(E), error_msg(M)] <- .node(Here); .print(\"stays at \", Here, \": \", E, \", \", M).";
    let files = [("count.mas2j", "MAS count { agents: scout at \"n3\"; free scout.asl; }"), ("scout.asl", scout)];
    let mut nodes = NodeProcesses::with(engine.store("killed-on-the-way"), &files).mortal();
    for count in 1..=3 {
        nodes.start();
        nodes.wait_for("all have some", |nodes| nodes.partitions().len() == count);
    }
    nodes.wait_for("it is where it is to be", |nodes| nodes.agents_of("n3").contains(&"scout".to_owned()));
    let go = |nodes: &NodeProcesses, agent: &str, to: &str| {
        let (said, done) = nodes.command(&["send", agent, &format!("go({to})"), "--performative", "achieve"]);
        assert!(done, "{said}");
    };
    go(&nodes, "scout", "n1");
    nodes.wait_for("it cannot leave", |nodes| {
        nodes
            .text("out")
            .contains("[scout] stays at n3: refused, node n1 cannot take it: its partition 15 can be served by a")
    });
    go(&nodes, "free", "n9");
    nodes.wait_for("there is no such node", |nodes| {
        nodes.text("out").contains("no_such_node, there is no node named n9")
    });
    let at =
        |nodes: &NodeProcesses| (1..=3).find(|node| nodes.agents_of(&format!("n{node}")).contains(&"free".to_owned()));
    nodes.wait_for("it lives somewhere", |nodes| at(nodes).is_some());
    let home = at(&nodes).expect("it lives somewhere");
    let to = format!("n{}", home % 3 + 1);
    go(&nodes, "free", &to);
    // From now on that it goes there is written.
    nodes.wait_for("it sets out", |nodes| nodes.text("out").contains(&format!("[free] going to {to}")));
    nodes.signal(home - 1, Signal::KILL);
    nodes.wait_for("it is there", |nodes| nodes.text("out").contains(&format!("[free] here {to}")));
    assert_eq!(nodes.text("out").matches("[free] here").count(), 1, "{}", nodes.text("out"));
}

#[test]
fn operator_move_reports_transferred_state() {
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let mut nodes = NodeProcesses::new(engine.store("moved"));
    nodes.start();
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    let all = |nodes: &NodeProcesses| ["n1", "n2"].map(|node| nodes.agents_of(node).len()).iter().sum::<usize>() == 7;
    nodes.wait_for("all are somewhere", all);
    for to in ["n2", "n1", "n2"] {
        let (said, done) = nodes.command(&["move", "counter*", to]);
        assert!(done, "{said}");
        assert_eq!(said.lines().count(), 6, "{said}");
        let is_told = |line: &str| {
            line.contains(&format!(" moved to {to}, with partition "))
                || line.ends_with(&format!(" is on {to} already"))
        };
        assert!(said.lines().all(is_told), "{said}");
        nodes.wait_for("all are there", |nodes| {
            let there = nodes.agents_of(to);
            (1..=6).all(|number| there.contains(&format!("counter{number}")))
        });
    }
    assert!(nodes.text("err").contains("n1 -> n2 (where it is wanted)"), "{}", nodes.text("err"));
    let (said, done) = nodes.command(&["move", "counter1", "n2"]);
    assert!(!done && said.contains("counter1 stays: it is on node n2 already"), "{said}");
    let (said, done) = nodes.command(&["move", "counter1", "n7"]);
    assert!(!done && said.contains("counter1 stays: there is no node named n7"), "{said}");
    let (said, done) = nodes.command(&["recall", "counter1"]);
    assert!(!done && said.contains("agents of a society that is kept have no home"), "{said}");
    nodes.end(&[0, 1]);
    nodes.assert_all_told_once();
}

/// In the middle of an `async` loop and of a recursion: the memory and the stack move along through the journal.
#[test]
fn webassembly_agents_shuttle_within_calls() {
    const GUIDE: &str = "
        +!begin <- for (.member(W, [nomad, traveller])) { .send(W, request, tour([n2, n1, n2, n1, n2])) };
            .send(still, request, tour([])); .send(rest, request, tour([])).
        +sum(Sum, Moves, Node)[source(W)] <- .print(W, \" \", Sum, \" after \", Moves, \" at \", Node).";
    let Some(program) = program() else { return };
    let engine = Engine::start(program);
    let project = "MAS count { agents: nomad \"nomad-rust.wasm\"; traveller \"traveller-c.wasm\";
        still \"traveller-c.wasm\"; rest \"nomad-rust.wasm\"; guide; }";
    let files = [("count.mas2j", project), ("guide.asl", GUIDE)];
    let modules = ["nomad-rust", "traveller-c"];
    let Some(mut nodes) = NodeProcesses::with_modules(engine.store("guests"), &files, &modules) else { return };
    nodes.start();
    nodes.start();
    nodes.wait_for_partitions(&[("n1", 8), ("n2", 8)]);
    let (said, done) = nodes.command(&["send", "guide", "begin", "--performative", "achieve"]);
    assert!(done, "{said}");
    nodes.wait_for("all answer", |nodes| nodes.text("out").matches("[guide] ").count() == 4);
    let out = nodes.text("out");
    let answer = |agent: &str| {
        let line = out.lines().find_map(|line| line.strip_prefix(&format!("[guide] {agent} ")))?;
        let (sum, rest) = line.split_once(" after ")?;
        let (moves, node) = rest.split_once(" at ")?;
        Some((sum.to_owned(), moves.parse::<u32>().ok()?, node.to_owned()))
    };
    for (agent, unmoved) in [("nomad", "rest"), ("traveller", "still")] {
        let (sum, none, _) = answer(unmoved).expect("it answers");
        let (its, moves, node) = answer(agent).expect("it answers");
        // Agents that are on n2 already stay there first.
        assert_eq!((its, none, matches!(moves, 4 | 5), node.as_str()), (sum, 0, true, "n2"), "{out}");
    }
}
