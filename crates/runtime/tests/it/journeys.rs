//! Journeys of agents: tours, recalls, and lifetimes.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, MessageBody, Value};
use whimbrel_platform::mobility::{Hop, HopError};
use whimbrel_runtime::{DurableAgent, DurableContext, Itinerary, Leg, durable};

use crate::hops::Nodes;
use crate::kit::{does, inform, wait_for};

/// Agent that goes on the tour of a message, `tour([[n1], [n2, n3]])`, and tells where it is. At a stop it continues
/// on `next`, or at once if it is `hasty`. If it `dawdles`, it notices late that it did not reach a node.
#[derive(Default, Serialize, Deserialize)]
struct Tourist {
    tour: Itinerary<u32>,
    hasty: bool,
    dawdles: bool,
}

impl Tourist {
    fn go_on(&mut self, ctx: &mut DurableContext<'_, '_>, mut leg: Leg<u32>) {
        while let Leg::At { node, task } = &leg {
            ctx.print(&format!("task {task} on {node}"));
            if !self.hasty {
                return;
            }
            leg = self.tour.next(ctx);
        }
        if let Leg::Over(end) = leg {
            let missed: Vec<&str> = self.tour.missed().iter().map(|missed| missed.node.as_str()).collect();
            ctx.print(&format!("over on {}: {end:?}, missed {missed:?}", ctx.services().node()));
        }
    }
}

impl DurableAgent for Tourist {
    const KIND: &'static str = "tourist";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        if let [stops, within] = message.content.args() {
            let names = |stop: &Value| stop.items().map(|node| node.as_str().unwrap().into()).collect::<Vec<_>>();
            let tour = stops.items().enumerate().fold(Itinerary::<u32>::new(), |tour: Itinerary<u32>, (task, stop)| {
                tour.stop::<whimbrel_acl::Symbol>(names(stop), task as u32)
            });
            self.tour = tour.within(Duration::from_millis(within.as_i64().unwrap() as u64)).returning();
        }
        let leg = self.tour.next(ctx);
        self.go_on(ctx, leg);
    }

    fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
        if self.dawdles && matches!(hop, Hop::Stayed { .. }) {
            std::thread::sleep(Duration::from_millis(60));
        }
        let leg = self.tour.hopped(ctx, hop);
        self.go_on(ctx, leg);
    }
}

const LONG: i64 = 60_000;

fn tour(stops: &[&[&str]], within_ms: i64) -> Value {
    let stops = stops.iter().map(|stop| Value::list(stop.iter().map(|node| Value::from(*node))));
    Value::term("tour", [Value::list(stops), Value::Int(within_ms)])
}

fn nodes(count: usize) -> Nodes {
    Nodes::with(count, 2, |_, builder| builder.kind::<Tourist>())
}

fn tourist(nodes: &Nodes, hasty: bool) -> Aid {
    let tourist = Tourist { hasty, ..Tourist::default() };
    let aid = nodes.at(0).spawn_together([durable("tourist", tourist)]).unwrap()[0];
    nodes.settle();
    aid
}

/// Returns the lines printed on all nodes, without the agents' names.
fn printed(nodes: &Nodes) -> Vec<Vec<String>> {
    let text = |line: String| line.split_once(": ").map_or(line.clone(), |(_, text)| text.to_owned());
    nodes.lines.iter().map(|lines| lines.all().into_iter().map(text).collect()).collect()
}

#[test]
fn tour_avoids_dead_node_and_returns() {
    let mut nodes = nodes(4);
    let tourist = tourist(&nodes, true);
    nodes.kill(2);
    nodes.settle();
    nodes.at(0).send(inform("x", tourist, tour(&[&["n1"], &["n2", "n3"], &["n2"], &["n0"]], LONG)));
    nodes.settle();
    let said = printed(&nodes);
    assert_eq!(said[0], ["task 3 on n0", "over on n0: Done, missed [\"n2\", \"n2\"]"]);
    assert_eq!((said[1].as_slice(), said[3].as_slice()), (&["task 0 on n1".into()][..], &["task 1 on n3".into()][..]));
    nodes.counters();
}

#[test]
fn tour_stops_when_time_ends() {
    let nodes = nodes(3);
    let tourist = tourist(&nodes, false);
    let began = Instant::now();
    nodes.at(0).send(inform("x", tourist, tour(&[&["n1"], &["n2"]], 500)));
    nodes.settle();
    let arrived = began.elapsed();
    std::thread::sleep(Duration::from_millis(600));
    nodes.at(1).send(inform("x", tourist, "next"));
    nodes.settle();
    let said = printed(&nodes);
    // On a busy machine the time may be over on the way there.
    let is_late = arrived >= Duration::from_millis(500) && said[1].is_empty();
    assert!(is_late || said[1] == ["task 0 on n1"], "{said:?} after {arrived:?}");
    assert_eq!((said[0].as_slice(), said[2].len()), (&["over on n0: Late, missed []".to_owned()][..], 0));
}

#[test]
fn dead_nodes_use_up_time() {
    let mut nodes = nodes(4);
    let dawdler = Tourist { dawdles: true, ..Tourist::default() };
    let dawdler = nodes.at(0).spawn_together([durable("dawdler", dawdler)]).unwrap()[0];
    nodes.settle();
    nodes.kill(2);
    nodes.kill(3);
    nodes.settle();
    nodes.at(0).send(inform("x", dawdler, tour(&[&["n2", "n3", "n1"], &["n1"]], 30)));
    nodes.settle();
    let said = printed(&nodes);
    assert_eq!((said[0].len(), said[1].len()), (1, 0), "{said:?}");
    assert!(said[0][0].starts_with("over on n0: Late, missed [\"n2\""), "{said:?}");
}

#[test]
fn tour_with_dead_home_ends() {
    let mut nodes = nodes(3);
    let tourist = tourist(&nodes, false);
    nodes.at(0).send(inform("x", tourist, tour(&[&["n1"]], LONG)));
    nodes.settle();
    nodes.kill(0);
    nodes.settle();
    nodes.at(1).send(inform("x", tourist, "next"));
    nodes.settle();
    let said = printed(&nodes);
    assert!(said[1][1].starts_with("over on n1: NoWayBack(Missed { node: \"n0\""), "{said:?}");
    nodes.counters();
}

#[test]
fn recall_ends_tour_at_home() {
    // By its home, by the node where it is, and by a third one.
    for caller in 0..3 {
        let nodes = nodes(3);
        let tourist = tourist(&nodes, false);
        nodes.at(0).send(inform("x", tourist, tour(&[&["n1"], &["n2"], &["n1"]], LONG)));
        nodes.settle();
        nodes.at(1).send(inform("x", tourist, "next"));
        nodes.settle();
        assert_eq!(nodes.homes("tourist"), [2]);
        let (tell, told) = mpsc::channel();
        nodes.at(caller).recall_agent(tourist, move |outcome| tell.send(outcome).unwrap());
        nodes.settle();
        assert_eq!((told.try_recv(), nodes.homes("tourist")), (Ok(Ok(())), vec![0]), "{caller}");
        assert_eq!(printed(&nodes)[0], ["over on n0: Recalled, missed []"]);
        // And again, when it is there.
        let (tell, told) = mpsc::channel();
        nodes.at(caller).recall_agent(tourist, move |outcome| tell.send(outcome).unwrap());
        nodes.settle();
        assert_eq!(told.try_recv(), Ok(Ok(())));
        nodes.counters();
    }
}

#[test]
fn recall_during_hop_succeeds() {
    // The recall comes after so many items on the wires, from the node that it leaves, its destination, and its home.
    for (caller, after) in (0..3).flat_map(|caller| (0..12).map(move |after| (caller, after))) {
        let nodes = nodes(3);
        let tourist = tourist(&nodes, false);
        nodes.at(0).send(inform("x", tourist, tour(&[&["n1"], &["n2"], &["n1"]], LONG)));
        nodes.settle();
        nodes.at(1).send(inform("x", tourist, "next"));
        nodes.idle();
        let order = [(1, 2), (2, 1), (1, 0), (0, 1), (1, 2), (2, 1)];
        step_in_turns(&nodes, &order, after);
        let (tell, told) = mpsc::channel();
        nodes.at(caller).recall_agent(tourist, move |outcome| tell.send(outcome).unwrap());
        nodes.settle();
        assert_eq!((told.try_recv(), nodes.homes("tourist")), (Ok(Ok(())), vec![0]), "{caller} after {after}");
        let said = printed(&nodes);
        assert!(said[0].last().unwrap().starts_with("over on n0: Recalled"), "{caller} after {after}: {said:?}");
        nodes.counters();
    }
}

/// Delivers so many items over these wires, one after the other and again from the first.
fn step_in_turns(nodes: &Nodes, order: &[(usize, usize)], times: usize) {
    for (from, to) in order.iter().cycle().take(times) {
        nodes.step(*from, *to);
        nodes.idle();
    }
}

#[test]
fn recall_reaches_constantly_hopping_agent() {
    for after in 0..12 {
        let nodes = nodes(3);
        let tourist = tourist(&nodes, true);
        let stops = [&["n1"][..], &["n2"]].repeat(40);
        nodes.at(0).send(inform("x", tourist, tour(&stops, LONG)));
        nodes.idle();
        let order = [(0, 1), (1, 0), (0, 1), (0, 2), (2, 0), (1, 2), (2, 1)];
        step_in_turns(&nodes, &order, after);
        let (tell, told) = mpsc::channel();
        nodes.at(2).recall_agent(tourist, move |outcome| tell.send(outcome).unwrap());
        nodes.settle();
        assert_eq!((told.try_recv(), nodes.homes("tourist")), (Ok(Ok(())), vec![0]), "after {after}");
        let said = printed(&nodes);
        assert_eq!(said[0], ["over on n0: Recalled, missed []"], "after {after}");
        let stops = said[1].len() + said[2].len();
        assert!(stops < 40, "it made {stops} of 80 stops, after {after}");
        nodes.counters();
    }
}

#[test]
fn recall_to_dead_home_ends_tour() {
    let mut nodes = nodes(3);
    let tourist = tourist(&nodes, false);
    nodes.at(0).send(inform("x", tourist, tour(&[&["n1"], &["n2"]], LONG)));
    nodes.settle();
    nodes.kill(0);
    nodes.settle();
    let (tell, told) = mpsc::channel();
    nodes.at(2).recall_agent(tourist, move |outcome| tell.send(outcome).unwrap());
    nodes.settle();
    assert_eq!(told.try_recv(), Ok(Err(HopError::NoSuchNode("n0".into()))));
    assert_eq!(nodes.homes("tourist"), [1]);
    assert_eq!(printed(&nodes)[1], ["task 0 on n1", "over on n1: Recalled, missed []"]);
    let nobody = nodes.at(2).spawn("other", does(|_, _| ())).unwrap();
    let (tell, told) = mpsc::channel();
    nodes.at(2).kill(nobody);
    nodes.settle();
    nodes.at(2).recall_agent(nobody, move |outcome| tell.send(outcome).unwrap());
    nodes.settle();
    assert!(matches!(told.try_recv(), Ok(Err(HopError::NotMovable(_)))));
}

#[test]
fn recall_over_lost_node_fails() {
    let mut nodes = nodes(3);
    let tourist = tourist(&nodes, false);
    nodes.at(0).send(inform("x", tourist, tour(&[&["n1"]], LONG)));
    nodes.settle();
    let (tell, told) = mpsc::channel();
    nodes.at(2).recall_agent(tourist, move |outcome| tell.send(outcome).unwrap());
    nodes.kill(1);
    nodes.settle();
    assert_eq!(told.try_recv(), Ok(Err(HopError::Unreachable("n1".into()))));
}

#[test]
fn lifetime_holds_on_every_node() {
    let nodes = nodes(2);
    let lines = nodes.lines[0].clone();
    let owner = nodes
        .at(0)
        .spawn(
            "owner",
            does(|ctx, message| match message.content.functor().map(|name| name.as_str()) {
                Some("ended") => ctx.print(&format!("heard of {}", message.content)),
                _ => {
                    let child = ctx.spawn("child", does(|_, _| ())).unwrap();
                    assert!(ctx.set_lifetime(child, Duration::from_millis(20)));
                    assert!(!ctx.set_lifetime(Aid::local("nobody"), Duration::from_secs(1)));
                }
            }),
        )
        .unwrap();
    nodes.at(0).send(inform("x", owner, "begin"));
    let tourist = tourist(&nodes, false);
    let heard = || lines.all().into_iter().filter(|line| line.contains("heard of ended(child,expired)")).count();
    wait_for("the owner hears of the end", || {
        nodes.settle();
        heard() > 0
    });
    assert_eq!((nodes.homes("child"), heard()), (vec![], 1), "{:?}", lines.all());
    // Long enough for its way on a busy machine, too.
    let (began, lifetime) = (Instant::now(), Duration::from_millis(1_500));
    assert!(nodes.at(0).set_lifetime(tourist, lifetime));
    nodes.at(0).send(inform("x", tourist, tour(&[&["n1"]], LONG)));
    nodes.settle();
    assert_eq!(nodes.homes("tourist"), [1]);
    wait_for("the tourist ends there", || {
        nodes.settle();
        nodes.homes("tourist").is_empty()
    });
    // A shard looks at the clock once in a round, and a lifetime begins with that look.
    assert!(began.elapsed() + Duration::from_millis(50) >= lifetime, "{:?}", began.elapsed());
    nodes.counters();
}
