//! Routes of agents of other nodes in a cluster, whatever these say, and in which order.

use whimbrel_acl::{Aid, Envelope, Name, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::partition_of;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, Place, ShardIndex};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::store::{
    Append, AppendError, Epoch, Journal, Lsn, OpenError, Partition, Promises, ReadFrame, StoreError, Survives,
};
use whimbrel_platform::{EndReason, Links};

use crate::node::Node;
use crate::sync::{Arc, Mutex, locked};
use crate::{Output, Platform};

const PARTITIONS: u16 = 3;
const NODES: u32 = 3;
const AGENTS: u64 = 60;

/// Journal of which nobody on this node opens a partition.
struct NoJournal;

impl Journal for NoJournal {
    fn promises(&self) -> Promises {
        let (frame_bytes_max, recovery) = (1 << 20, std::time::Duration::ZERO);
        Promises { survives: Survives::Nothing, frame_bytes_max, recovery, name: "no journal".to_owned() }
    }

    fn partitions(&self) -> u16 {
        PARTITIONS
    }

    fn open(&self, _: Partition, _: Epoch) -> Result<Lsn, OpenError> {
        Ok(Lsn(0))
    }

    fn append(&self, frames: &[Append<'_>]) -> Vec<Result<Lsn, AppendError>> {
        frames.iter().map(|_| Ok(Lsn(1))).collect()
    }

    fn read(&self, _: Partition, _: Lsn, _: &mut ReadFrame<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn trim(&self, _: Partition, _: Lsn) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Links that take everything, and lead nowhere.
struct Nowhere;

impl Links for Nowhere {
    fn send(&self, _: NodeId, batch: &mut Vec<Envelope>, _: ShardIndex) -> usize {
        batch.clear();
        usize::MAX
    }

    fn go_on(&self) {}

    fn tell_all(&self, _: News) {}

    fn tell(&self, _: NodeId, _: News) {}

    fn nodes(&self) -> Vec<NodeId> {
        (1..=NODES).map(NodeId).collect()
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn me(&self) -> String {
        "n0".to_owned()
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        Some(format!("n{}", node.0))
    }
}

fn clustered() -> Platform {
    Platform::builder().workers(1).clustered(Arc::new(NoJournal)).build()
}

fn is_known(node: &Node, name: &Name) -> bool {
    !node.routes.look_up(name).is_unknown()
}

/// Names that nobody told of, each in turn with a number that a forgotten name had.
fn strangers(count: usize) -> Vec<Name> {
    (0..count).map(|number| Name::new(&format!("stranger-{number}"))).collect()
}

fn told(name: &str) -> Vec<(Name, AgentKind)> {
    vec![(name.into(), AgentKind::Native)]
}

/// An agent that is told of by one node, and then by the one that begins to serve its partition, ends there.
#[test]
fn agent_that_changed_servers_leaves_no_route() {
    let ends: [fn(&Platform, &str); 2] = [
        |platform, name| platform.station().hear(NodeId(2), News::AgentEnded(name.into(), EndReason::Finished)),
        |platform, _| platform.station().lose(NodeId(2), Vec::new()),
    ];
    for (number, end) in ends.into_iter().enumerate() {
        for is_told_together in [true, false] {
            let (platform, name) = (clustered(), format!("changes-{number}-{is_told_together}"));
            let (station, partition) = (platform.station(), partition_of(Name::new(&name), PARTITIONS).0);
            station.hear(NodeId(1), News::Agents(told(&name)));
            let agents = if is_told_together { told(&name) } else { Vec::new() };
            station.hear(NodeId(2), News::Serves { partitions: vec![(partition, 1)], agents, more: true });
            if !is_told_together {
                station.hear(NodeId(2), News::Agents(told(&name)));
            }
            let held = Name::new(&name);
            assert!(!is_known(platform.node(), &held), "it waits until its server knows what it missed");
            end(&platform, &name);
            assert!(!is_known(platform.node(), &held));
        }
    }
}

/// Whatever nodes announce in whatever order: an agent has a route to the node that the AMS knows, or none, and a
/// number that is given again has none.
#[test]
fn numbers_given_again_have_no_routes() {
    let platform = clustered();
    assert!(platform.link_with(Arc::new(Nowhere)));
    let (station, node) = (platform.station(), platform.node());
    let text = |number: u64| format!("clustered-{number}");
    let partition = |number: u64| partition_of(Name::new(&text(number)), PARTITIONS).0;
    let mut seed = 11_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for step in 0..6_000_u64 {
        let (from, number) = (NodeId(1 + draw(u64::from(NODES)) as u32), draw(AGENTS));
        let some: Vec<u64> = (0..AGENTS).filter(|_| draw(4) == 0).collect();
        let of = |wanted: u16| some.iter().copied().filter(move |number| partition(*number) == wanted);
        let wanted = draw(u64::from(PARTITIONS)) as u16;
        match draw(8) {
            0 | 1 => station.hear(from, News::Agents(told(&text(number)))),
            2..=4 => {
                station.hear(from, News::AgentEnded(text(number).as_str().into(), EndReason::Finished));
            }
            5 => {
                let agents = of(wanted).flat_map(|number| told(&text(number))).collect();
                let more = draw(3) == 0;
                station.hear(from, News::Serves { partitions: vec![(wanted, step)], agents, more });
            }
            6 => {
                let agents = of(wanted).map(|number| text(number).as_str().into()).collect();
                station.hear(from, News::Yields { partitions: vec![wanted], agents });
            }
            _ if draw(4) == 0 => station.lose(from, Vec::new()),
            _ => station.hear(from, News::Introduced),
        }
        let stale: Vec<Name> = strangers(64).into_iter().filter(|name| is_known(node, name)).collect();
        assert!(stale.is_empty(), "step {step}: {stale:?}");
        for name in (0..AGENTS).map(|number| Name::new(&text(number))) {
            // Under the lock of the AMS, as routes of agents of other nodes are set and cleared.
            let (there, route) = node.with_ams(|ams| (ams.node_of(&name), node.routes.look_up(&name).place()));
            let is_right = matches!(route, Place::Unknown) || there.is_some_and(|there| route == Place::Node(there));
            assert!(is_right, "step {step}: {name} is on {there:?}, its route is {route:?}");
        }
    }
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Output for Log {
    fn print(&self, _: Aid, _: &str) {}

    fn log(&self, _: Aid, _: LogLevel, text: &str) {
        locked(&self.0).push(text.to_owned());
    }
}

/// A node has too many agents. Some of their names are symbols here, others are not.
#[test]
fn agents_left_out_are_counted() {
    let agents = |word: &str| -> Vec<(Name, AgentKind)> {
        (0..4).flat_map(|number| told(&format!("left-out-{word}-{number}"))).collect()
    };
    let _spoken_of = [0, 1].map(|number| Symbol::new(&format!("left-out-told-{number}")));
    for is_clustered in [false, true] {
        let log = Log::default();
        let builder = Platform::builder().workers(1).output(log.clone());
        let builder = if is_clustered { builder.clustered(Arc::new(NoJournal)) } else { builder };
        let platform = builder.build();
        platform.node().with_ams(|ams| ams.limit_elsewhere(0));
        let count = || locked(&log.0).drain(..).filter(|text| text.contains(": 4 of them cannot be reached")).count();
        platform.station().hear(NodeId(1), News::Agents(agents("told")));
        assert_eq!(count(), 1, "clustered: {is_clustered}");
        if is_clustered {
            for (epoch, more) in [(1, false), (2, true)] {
                let partitions = (0..PARTITIONS).map(|partition| (partition, epoch)).collect();
                platform.station().hear(NodeId(1), News::Serves { partitions, agents: agents("served"), more });
                assert_eq!(count(), 1, "more: {more}");
            }
        } else {
            assert!(platform.link_with(Arc::new(Nowhere)));
            let names = agents("asked").into_iter().map(|(name, _)| name).collect::<Vec<Name>>();
            platform.node().ask_for(NodeId(1), &names);
            platform.station().hear(NodeId(1), News::Has { agents: agents("asked"), not: Vec::new() });
            assert_eq!(count(), 1, "they were asked about");
        }
    }
}
