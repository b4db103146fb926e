//! Durable agents that ask to move to another node, while their node dies at any moment. The nodes are in one process,
//! and the test moves their partitions.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel::platform::cluster::Mover;
use whimbrel::platform::mobility::{Hop, HopError, Wish};
use whimbrel::platform::store::Partition;
use whimbrel::runtime::{DurableAgent, DurableContext, Founder, durable};
use whimbrel::{AclMessage, Aid, MessageBody, Performative, Value};

use super::cluster::{ClusterNode, ClusterNodes, wait_for};

const PATIENCE: Duration = Duration::from_secs(180);

/// Counts its messages, and goes wherever it is told to.
#[derive(Default, Serialize, Deserialize)]
pub struct Roamer {
    heard: u32,
}

impl DurableAgent for Roamer {
    const KIND: &'static str = "roamer";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        self.heard += 1;
        ctx.print(&format!("heard {}", self.heard));
        let to = message.content.functor();
        to.into_iter().filter(|to| to.as_str() != "stay").for_each(|to| ctx.move_to(to));
    }

    fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
        let here = ctx.services().node();
        match hop {
            Hop::Arrived { from } => ctx.print(&format!("at {here} from {from}, having heard {}", self.heard)),
            Hop::Stayed { why, .. } => ctx.print(&format!("at {here} still: {why}")),
            _ => {}
        }
    }
}

fn roamer() -> Vec<Founder> {
    vec![durable("roamer", Roamer::default())]
}

/// Hands wishes to the test.
struct WishRecorder(Mutex<Sender<(Partition, Wish)>>);

impl Mover for WishRecorder {
    fn bring(&self, partition: Partition, wish: Wish) {
        let _ = self.0.lock().unwrap().send((partition, wish));
    }
}

/// Three nodes, of which the first serves everything; and what is wished on each.
fn three() -> (ClusterNodes, Vec<Receiver<(Partition, Wish)>>) {
    let walker = "+!go(To) <- .print(\"from \", To); .move_to(To); .node(Here); .print(\"at \", Here).
        -!go(_)[error(E)] <- .node(Here); .print(\"at \", Here, \" still: \", E).";
    let files = [("sums.mas2j", "MAS sums { agents: walker; }"), ("walker.asl", walker)];
    let mut nodes = ClusterNodes::new(&files, 3);
    nodes.in_rust = roamer;
    let wishes = |node: &ClusterNode| {
        let (told, wishes) = channel();
        node.platform.moved_by(Arc::new(WishRecorder(Mutex::new(told))));
        wishes
    };
    let wishes = nodes.nodes.iter().map(wishes).collect();
    nodes.serve(0, 0..8);
    // An agent that arrives is told where it comes from, as far as its new node has heard.
    let knows = |node: &ClusterNode| (0..8).all(|part| node.platform.server_of(Partition(part)) == Some("n0".into()));
    wait_for("all nodes know the server", || nodes.nodes.iter().all(knows));
    (nodes, wishes)
}

fn tell(nodes: &ClusterNodes, agent: &str, performative: Performative, content: Value) {
    let message = AclMessage::new(performative, Aid::local("tester"), Aid::local(agent), content);
    nodes.nodes[0].platform.send(message);
}

/// The next wish, which is for an agent's partition and this node.
fn wished(nodes: &ClusterNodes, wishes: &Receiver<(Partition, Wish)>, agent: &str, to: &str) -> (u16, Wish) {
    let (partition, wish) = wishes.recv_timeout(PATIENCE).expect("it wants to move");
    assert_eq!(Some(partition), nodes.nodes[0].platform.partition_of(agent));
    assert_eq!(wish.to.as_str(), to);
    (partition.0, wish)
}

/// In Rust and in AgentSpeak: told to go, what it says when it is there, and when it stays.
fn go(nodes: &ClusterNodes, agent: &str, to: &str) {
    match agent {
        "walker" => tell(nodes, agent, Performative::Request, Value::term("go", [Value::Atom(to.into())])),
        _ => tell(nodes, agent, Performative::Inform, Value::Atom(to.into())),
    }
}

#[test]
fn granted_wish_is_answered_there() {
    for agent in ["roamer", "walker"] {
        let (mut nodes, wishes) = three();
        go(&nodes, agent, "n1");
        let (partition, wish) = wished(&nodes, &wishes[0], agent, "n1");
        // What comes meanwhile waits.
        tell(&nodes, agent, Performative::Inform, Value::Atom("stay".into()));
        assert!(nodes.pass_on(0, 1, &[partition]));
        wish.over(Ok(()));
        nodes.wait_for_line(&format!("[{agent}] at n1"));
        if agent == "roamer" {
            nodes.wait_for_line("[roamer] at n1 from n0, having heard 1");
            nodes.wait_for_line("[roamer] heard 2");
        }
        let lines = nodes.lines();
        assert_eq!(lines.iter().filter(|line| line.contains("at n")).count(), 1, "{lines:?}");
    }
}

#[test]
fn refused_wish_is_answered_here() {
    for agent in ["roamer", "walker"] {
        let (nodes, wishes) = three();
        go(&nodes, agent, "n0");
        nodes.wait_for_line(&format!("[{agent}] at n0 still"));
        go(&nodes, agent, "n2");
        let (_, wish) = wished(&nodes, &wishes[0], agent, "n2");
        wish.over(Err(HopError::Unreachable("n2".into())));
        nodes.wait_for_line(if agent == "roamer" {
            "at n0 still: node n2 is lost"
        } else {
            "at n0 still: unreachable"
        });
        // A wish that is dropped without an outcome fails the move.
        go(&nodes, agent, "n1");
        drop(wished(&nodes, &wishes[0], agent, "n1"));
        nodes.wait_for_line(if agent == "roamer" { "it is not here any more" } else { "at n0 still: not_movable" });
    }
}

/// The partition's node dies: another one, which it did not wish for, takes over and repeats the wish.
#[test]
fn next_owner_repeats_wish() {
    for agent in ["roamer", "walker"] {
        let (mut nodes, wishes) = three();
        go(&nodes, agent, "n1");
        let (partition, wish) = wished(&nodes, &wishes[0], agent, "n1");
        nodes.kill(0);
        nodes.serve(2, 0..8);
        drop(wish);
        let (again, wish) = wished(&nodes, &wishes[2], agent, "n1");
        assert_eq!(again, partition);
        assert!(nodes.pass_on(2, 1, &[partition]));
        wish.over(Ok(()));
        nodes.wait_for_line(&format!("[{agent}] at n1"));
        let lines = nodes.lines();
        assert_eq!(lines.iter().filter(|line| line.contains("at n1")).count(), 1, "{lines:?}");
    }
}
