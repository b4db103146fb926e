//! Minions that go to another node, and the results that come back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, MessageBody, Symbol, Value};
use whimbrel_platform::ams::AgentQuery;
use whimbrel_runtime::{DispatchError, DurableAgent, DurableContext, Minion, durable};

use crate::hops::Nodes;
use crate::kit::{inform, wait_for};

const LONG_MS: i64 = 60_000;

/// Minion that tells where it is, and fails or panics where it should.
#[derive(Serialize, Deserialize)]
struct Where {
    fails_on: String,
    panics_on: String,
}

impl Minion for Where {
    const KIND: &'static str = "where";

    fn run(self, ctx: &mut DurableContext<'_, '_>) -> Result<Value, String> {
        let here = ctx.services().node();
        assert_ne!(here.as_str(), self.panics_on, "as it was told");
        if here.as_str() == self.fails_on { Err(format!("nothing on {here}")) } else { Ok(Value::from(here.as_str())) }
    }
}

/// Agent that sends a minion for `send([Node, ...], Ms)`, and prints its result; moves on request (`move(Node)`).
#[derive(Default, Serialize, Deserialize)]
struct Boss {
    sent: Vec<Symbol>,
}

impl DurableAgent for Boss {
    const KIND: &'static str = "boss";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        match (message.content.functor().map(|name| name.as_str()), message.content.args()) {
            (Some("send"), [nodes, ms]) => {
                let nodes = nodes.items().map(|node| node.as_str().unwrap().into()).collect::<Vec<Symbol>>();
                let minion = Where { fails_on: "n2".into(), panics_on: "n3".into() };
                let within = Duration::from_millis(ms.as_i64().unwrap() as u64);
                self.sent.push(ctx.dispatch(nodes, minion, within).unwrap());
            }
            (Some("move"), [node]) => ctx.move_to(node.as_str().unwrap()),
            _ => ctx.print(&format!("not its business: {}", message.content)),
        }
    }

    fn on_returned(&mut self, ctx: &mut DurableContext<'_, '_>, minion: Symbol, found: Result<Value, DispatchError>) {
        let number = self.sent.iter().position(|sent| *sent == minion).unwrap();
        match found {
            Ok(found) => ctx.print(&format!("{number}: {found}")),
            Err(error) => ctx.print(&format!("{number}: {}, {error}", error.code())),
        }
    }
}

fn send(nodes: &[&str], within_ms: i64) -> Value {
    let nodes = nodes.iter().map(|node| Value::from(*node));
    Value::term("send", [Value::list(nodes), Value::Int(within_ms)])
}

/// Creates so many nodes, the first of which has an agent that sends minions.
fn nodes(count: usize) -> (Nodes, Aid) {
    let nodes = Nodes::with(count, 2, |_, builder| builder.kind::<Boss>().minion::<Where>());
    let boss = nodes.at(0).spawn_together([durable("boss", Boss::default())]).unwrap()[0];
    nodes.settle();
    (nodes, boss)
}

/// Returns the lines printed on a node, without the agents' names.
fn said(nodes: &Nodes, node: usize) -> Vec<String> {
    nodes.lines[node].all().iter().map(|line| line.split_once(": ").unwrap().1.to_owned()).collect()
}

/// Returns all agents that any node believes to be alive.
fn agents(nodes: &Nodes) -> Vec<String> {
    let of = |node: usize| nodes.at(node).search(&AgentQuery::default()).into_iter().map(|it| it.aid.name.to_string());
    (0..nodes.lines.len()).flat_map(of).filter(|name| !["ams", "df"].contains(&name.as_str())).collect()
}

/// Lets the minion reach the second node without beginning there, because the third one does not answer.
fn let_it_arrive(nodes: &Nodes) {
    let minion = agents(nodes).into_iter().find(|name| name.starts_with("boss_minion_")).unwrap();
    while nodes.homes(&minion) != [1] {
        nodes.step(0, 1);
        nodes.step(1, 0);
        nodes.idle();
    }
}

#[test]
fn minion_returns_result_or_error() {
    let (nodes, boss) = nodes(4);
    for (stops, answer) in [
        (&["n1"][..], "\"n1\""),
        (&["nowhere", "n1"], "\"n1\""),
        (&["n0"], "\"n0\""),
        (&["n2"], "failed, the minion failed: nothing on n2"),
        (&["gone", "lost"], "no_such_node, the minion could not go: there is no node named lost"),
        (&[], "no_such_node, the minion could not go: no node was named"),
    ] {
        nodes.at(0).send(inform("x", boss, send(stops, LONG_MS)));
        nodes.settle();
        assert!(said(&nodes, 0).last().unwrap().ends_with(answer), "{stops:?}: {:?}", said(&nodes, 0));
        assert_eq!(agents(&nodes), ["boss"], "{stops:?}");
    }
    nodes.at(0).send(inform("x", boss, send(&["n3"], LONG_MS)));
    nodes.settle();
    let lost = said(&nodes, 0).pop().unwrap();
    assert!(lost.starts_with("6: lost, the minion is lost: ") && lost.contains("as it was told"), "{lost}");
    assert_eq!((said(&nodes, 0).len(), agents(&nodes)), (7, vec!["boss".to_owned()]));
    nodes.counters();
}

#[test]
fn minion_on_lost_node_is_reported() {
    let (mut nodes, boss) = nodes(3);
    nodes.at(0).send(inform("x", boss, send(&["n1"], LONG_MS)));
    nodes.idle();
    let_it_arrive(&nodes);
    nodes.kill(1);
    nodes.settle();
    assert_eq!(said(&nodes, 0), ["0: lost, the minion is lost: its node is lost"]);
    nodes.counters();
}

#[test]
fn minion_times_out_and_ends() {
    let (nodes, boss) = nodes(2);
    nodes.at(0).send(inform("x", boss, send(&["n1"], 50)));
    nodes.idle();
    // No message arrives anywhere.
    wait_for("it is told", || !said(&nodes, 0).is_empty());
    nodes.idle();
    assert_eq!(said(&nodes, 0), ["0: timeout, the minion did not answer in time"]);
    nodes.settle();
    assert_eq!(agents(&nodes), ["boss"]);
    assert_eq!(said(&nodes, 0).len(), 1, "it is told once: {:?}", said(&nodes, 0));
    nodes.counters();
}

#[test]
fn orphaned_minion_ends_in_time() {
    let (nodes, boss) = nodes(3);
    // On a busy machine, its way may take a while of that.
    nodes.at(0).send(inform("x", boss, send(&["n1"], 1_500)));
    nodes.idle();
    let_it_arrive(&nodes);
    assert!(nodes.at(0).kill(boss));
    nodes.idle();
    assert_eq!(agents(&nodes).len(), 1, "{:?}", agents(&nodes));
    wait_for("it ends", || {
        nodes.settle();
        agents(&nodes).is_empty()
    });
    assert_eq!(said(&nodes, 0).len(), 0);
    nodes.counters();
}

#[test]
fn result_follows_moving_sender() {
    let (nodes, boss) = nodes(3);
    nodes.at(0).send(inform("x", boss, send(&["n1"], LONG_MS)));
    nodes.at(0).send(inform("x", boss, Value::term("move", [Value::from("n2")])));
    nodes.settle();
    assert_eq!((nodes.homes("boss"), said(&nodes, 2)), (vec![2], vec!["0: \"n1\"".to_owned()]));
    assert_eq!(agents(&nodes), ["boss"]);
    nodes.counters();
}
