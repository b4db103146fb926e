//! Name conflicts between two nodes: which agent keeps the name, and that no moving agent conflicts with itself.

use whimbrel_acl::Aid;
use whimbrel_platform::policy::Policy;
use whimbrel_runtime::{Platform, durable};

use crate::hops::{Dice, Nodes, Walker, seeds, tell};
use crate::kit::inform;

/// Creates nodes without links, each with an agent `d0`, `d1` or `d2` that tells others what it is asked to.
fn apart(
    count: usize,
    workers: usize,
    build: impl Fn(usize, whimbrel_runtime::PlatformBuilder) -> whimbrel_runtime::PlatformBuilder,
) -> Nodes {
    let nodes = Nodes::with(count, workers, build);
    for node in 0..count {
        nodes.walker(node, &format!("d{node}"));
    }
    nodes.pairs().into_iter().for_each(|(from, to)| nodes.cut(from, to));
    nodes
}

/// Makes an agent of this node tell something to that agent.
fn say(nodes: &Nodes, node: usize, to: &str) {
    nodes.at(node).send(inform("x", Aid::local(format!("d{node}").as_str()), tell(to, 7)));
}

fn link_all(nodes: &Nodes) {
    nodes.pairs().into_iter().for_each(|(from, to)| nodes.link(from, to));
}

fn create(node: &Platform, name: &str) -> bool {
    node.spawn_together([durable(name, Walker::default())]).is_ok()
}

/// Creates two of them, the one at `first` sooner.
fn bobs(nodes: &Nodes, first: usize, second: usize) {
    assert!(create(nodes.at(first), "bob"));
    nodes.idle();
    // Ages are announced in milliseconds.
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(create(nodes.at(second), "bob"));
    nodes.idle();
}

#[test]
fn older_agent_keeps_its_name() {
    for (first, second) in [(0, 1), (1, 0)] {
        let nodes = apart(2, 1, |_, builder| builder);
        bobs(&nodes, first, second);
        link_all(&nodes);
        nodes.settle();
        assert_eq!(nodes.homes("bob"), [first]);
        for node in 0..2 {
            assert!(nodes.knows(node, Aid::local("bob")), "n{node}");
            say(&nodes, node, "bob");
        }
        nodes.settle();
        assert_eq!(nodes.lines[first].all().len(), 2, "{:?}", nodes.lines[first].all());
        let (kept, ended) = (nodes.lines[first].notes().join("\n"), nodes.lines[second].notes().join("\n"));
        assert!(ended.contains(&format!("already-registered: the name bob is an agent's of n{first}")), "{ended}");
        assert!(ended.contains("start it under another name"), "{ended}");
        assert!(first == 1 || kept.contains("n1 has an agent bob, too"), "{kept}");
        assert!(!create(nodes.at(second), "bob"), "the name is taken");
        nodes.counters();
    }
}

#[test]
fn losing_agents_messages_return() {
    let nodes = apart(2, 1, |_, builder| builder);
    bobs(&nodes, 0, 1);
    nodes.at(1).suspend(Aid::local("bob")).unwrap();
    say(&nodes, 1, "bob");
    nodes.idle();
    link_all(&nodes);
    nodes.settle();
    assert_eq!(nodes.homes("bob"), [0]);
    let heard = nodes.lines[1].all();
    assert_eq!((heard.len(), nodes.counters().dead), (1, 1), "{heard:?}");
    assert!(heard[0].starts_with("d1: ams"), "{heard:?}");
}

#[test]
fn third_node_knows_the_winner() {
    for (first, second) in [(0, 1), (1, 0)] {
        for third_meets in [0, 1] {
            let nodes = apart(3, 1, |_, builder| builder);
            bobs(&nodes, first, second);
            for node in 0..2 {
                nodes.at(node).services().df_register(Aid::local("bob"), "sings", "").unwrap();
            }
            for (from, to) in [(third_meets, 2), (2, third_meets)] {
                nodes.link(from, to);
            }
            nodes.settle();
            nodes
                .pairs()
                .into_iter()
                .filter(|pair| ![(third_meets, 2), (2, third_meets)].contains(pair))
                .for_each(|(from, to)| nodes.link(from, to));
            nodes.settle();
            assert_eq!(nodes.homes("bob"), [first]);
            for node in 0..3 {
                assert_eq!(nodes.at(node).services().df_search("sings", ""), [Aid::local("bob")], "n{node}");
            }
            say(&nodes, 2, "bob");
            nodes.settle();
            assert!(nodes.lines[first].all()[0].ends_with(":7"), "{:?}", nodes.lines[first].all());
        }
    }
}

#[test]
fn name_loss_needs_kill_permission() {
    for (second, homes) in [(1, vec![0, 1]), (0, vec![0])] {
        let policy: Policy = serde_json::from_str(r#"{"deny": [{"who": "node:*", "kill": "*"}]}"#).unwrap();
        let nodes = apart(2, 1, |node, builder| if node == second { builder.policy(policy.clone()) } else { builder });
        bobs(&nodes, 1 - second, second);
        link_all(&nodes);
        nodes.settle();
        // If the other one may be ended, it is.
        assert_eq!(nodes.homes("bob"), homes);
        let notes = nodes.lines[second].notes().join("\n");
        assert!(notes.contains(&format!("the policy here does not let n{} end the one here", 1 - second)), "{notes}");
    }
}

/// Agents of a few names begin, move and end on three nodes that are linked at some moment, and items arrive in any
/// order. In the end each name belongs to one agent, which all nodes know.
#[test]
fn name_conflicts_converge_on_one_agent() {
    for seed in seeds() {
        let dice = &mut Dice(seed);
        let nodes = apart(3, 1 + dice.below(2), |_, builder| builder);
        let mut late: Vec<(usize, (usize, usize))> =
            nodes.pairs().into_iter().map(|pair| (dice.below(50), pair)).collect();
        let names = ["a", "b", "c"];
        for now in 0..100 {
            for (_, (from, to)) in late.extract_if(.., |(when, _)| *when == now) {
                nodes.link(from, to);
            }
            nodes.idle();
            let (name, node) = (names[dice.below(names.len())], dice.below(3));
            let homes = nodes.homes(name);
            match (dice.below(12), homes.first()) {
                (0, _) => drop(create(nodes.at(node), name)),
                (1..=3, Some(home)) => {
                    nodes.at(*home).move_agent(Aid::local(name), format!("n{node}").as_str(), |_| ());
                }
                (4, Some(home)) => drop(nodes.at(*home).kill(Aid::local(name))),
                (5, _) => say(&nodes, node, name),
                _ => nodes.step_some(dice, &mut late),
            }
        }
        late.into_iter().for_each(|(_, (from, to))| nodes.link(from, to));
        nodes.settle();
        for name in names {
            let homes = nodes.homes(name);
            assert!(homes.len() < 2, "seed {seed}: {name} on {homes:?}");
            for node in 0..3 {
                assert_eq!(
                    nodes.knows(node, Aid::local(name)),
                    !homes.is_empty(),
                    "seed {seed}: n{node} of {name} on {homes:?}"
                );
            }
        }
        assert_eq!(nodes.counters().queued, 0, "seed {seed}");
    }
}

/// Nodes that an agent has left mention it late, while it goes on: it never conflicts with itself.
#[test]
fn moving_agent_never_conflicts_with_itself() {
    for seed in seeds() {
        let dice = &mut Dice(seed);
        let nodes = Nodes::with(3, 1 + dice.below(2), |_, builder| builder);
        nodes.cut(1, 2);
        nodes.cut(2, 1);
        nodes.walker(0, "walker");
        let (linked_at, pairs) = (dice.below(60), nodes.pairs());
        for now in 0..100 {
            if now == linked_at {
                nodes.link(1, 2);
                nodes.link(2, 1);
            }
            nodes.idle();
            let home = nodes.homes("walker").first().copied();
            match (dice.below(4), home) {
                (0, Some(home)) => {
                    nodes.at(home).move_agent(Aid::local("walker"), format!("n{}", dice.below(3)).as_str(), |_| ());
                }
                _ => {
                    let (from, to) = pairs[dice.below(pairs.len())];
                    nodes.step(from, to);
                }
            }
        }
        nodes.settle();
        assert_eq!(nodes.homes("walker").len(), 1, "seed {seed}");
        let notes: Vec<String> = nodes.lines.iter().flat_map(|lines| lines.notes()).collect();
        assert!(notes.iter().all(|note| !note.contains("walker")), "seed {seed}: {notes:?}");
    }
}
