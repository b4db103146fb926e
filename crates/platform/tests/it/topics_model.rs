//! Topics and groups of three nodes against a naive model: subscribers and members, and which of them have too much to
//! do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;
use whimbrel_acl::Symbol;
use whimbrel_platform::EndReason;
use whimbrel_platform::limits::TOPICS_PER_AGENT_MAX;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{LocalRoute, NodeId, Route};
use whimbrel_platform::topics::{Cast, TopicError, Topics, any_member, group, topic};

const NODES: usize = 3;
const AGENTS: usize = 4;

#[derive(Clone, Debug)]
enum TopicsInput {
    Join {
        node: usize,
        agent: usize,
        name: &'static str,
    },
    Leave {
        node: usize,
        agent: usize,
        name: &'static str,
    },
    Ended {
        node: usize,
        agent: usize,
    },
    Crowded {
        node: usize,
        agent: usize,
        crowded: bool,
    },
    /// Delivery of the oldest news from one node to another.
    Arrive {
        from: usize,
        to: usize,
    },
    /// Death of a process, which another one replaces.
    Restart {
        node: usize,
    },
}

const NAMES: [&str; 4] = ["topic:x", "topic:y", "group:x", "group:y"];

fn input() -> impl Strategy<Value = TopicsInput> {
    let name = || prop::sample::select(&NAMES[..]);
    let (node, agent) = (|| 0..NODES, || 0..AGENTS);
    prop_oneof![
        8 => (node(), agent(), name()).prop_map(|(node, agent, name)| TopicsInput::Join { node, agent, name }),
        4 => (node(), agent(), name()).prop_map(|(node, agent, name)| TopicsInput::Leave { node, agent, name }),
        2 => (node(), agent()).prop_map(|(node, agent)| TopicsInput::Ended { node, agent }),
        4 => (node(), agent(), any::<bool>())
            .prop_map(|(node, agent, crowded)| TopicsInput::Crowded { node, agent, crowded }),
        8 => (node(), node()).prop_map(|(from, to)| TopicsInput::Arrive { from, to }),
        1 => node().prop_map(|node| TopicsInput::Restart { node }),
    ]
}

/// Three nodes, the news on its way between them, and the expected state.
struct TopicsWorld {
    nodes: Vec<Topics>,
    links: BTreeMap<(usize, usize), VecDeque<News>>,
    /// Expected subscribers and members, by node, in the order in which they came.
    model: Vec<Vec<(Symbol, Symbol)>>,
    crowded: BTreeSet<String>,
}

fn agent_of(node: usize, agent: usize) -> Symbol {
    Symbol::new(&format!("topics-model-{node}-{agent}"))
}

impl TopicsWorld {
    fn new() -> Self {
        Self {
            nodes: (0..NODES).map(|_| Topics::new()).collect(),
            links: BTreeMap::new(),
            model: vec![Vec::new(); NODES],
            crowded: BTreeSet::new(),
        }
    }

    fn others(node: usize) -> impl Iterator<Item = usize> {
        (0..NODES).filter(move |other| *other != node)
    }

    fn apply(&mut self, input: TopicsInput) {
        match input {
            TopicsInput::Join { node, agent, name } => {
                let (agent, name) = (agent_of(node, agent), Symbol::new(name));
                let crowded = self.crowded.contains(agent.as_str());
                let new = self.nodes[node].join(agent, name, crowded).unwrap();
                assert_eq!(new, !self.model[node].contains(&(name, agent)));
                if new {
                    self.model[node].push((name, agent));
                }
            }
            TopicsInput::Leave { node, agent, name } => {
                let entry = (Symbol::new(name), agent_of(node, agent));
                let was = self.model[node].contains(&entry);
                assert_eq!(self.nodes[node].leave(entry.1, entry.0), was);
                self.model[node].retain(|other| *other != entry);
            }
            TopicsInput::Ended { node, agent } => {
                let agent = agent_of(node, agent);
                self.nodes[node].handle_agent_ended(agent);
                self.model[node].retain(|(_, other)| *other != agent);
                self.crowded.remove(agent.as_str());
                for other in Self::others(node) {
                    let news = News::AgentEnded(agent.into(), EndReason::Finished);
                    self.links.entry((node, other)).or_default().push_back(news);
                }
            }
            TopicsInput::Crowded { node, agent, crowded } => {
                let agent = agent_of(node, agent);
                self.nodes[node].handle_crowded(agent, crowded);
                if crowded {
                    self.crowded.insert(agent.to_string());
                } else {
                    self.crowded.remove(agent.as_str());
                }
            }
            TopicsInput::Arrive { from, to } => {
                if let Some(news) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
                    assert!(self.nodes[to].handle_news(NodeId(from as u32), &news));
                }
            }
            TopicsInput::Restart { node } => self.restart(node),
        }
        for node in 0..NODES {
            while let Some(news) = self.nodes[node].poll_news() {
                for other in Self::others(node) {
                    self.links.entry((node, other)).or_default().push_back(news.clone());
                }
            }
        }
    }

    fn restart(&mut self, node: usize) {
        self.nodes[node] = Topics::new();
        self.model[node].clear();
        self.crowded.retain(|agent| !agent.starts_with(&format!("topics-model-{node}-")));
        for other in Self::others(node) {
            self.nodes[other].handle_node_lost(NodeId(node as u32));
            self.links.remove(&(node, other));
            self.links.insert((other, node), self.nodes[other].introduction().into());
        }
    }

    /// Delivers all news; then all nodes know everything.
    fn settle(&mut self) {
        for ((from, to), news) in std::mem::take(&mut self.links) {
            for news in news {
                assert!(self.nodes[to].handle_news(NodeId(from as u32), &news));
            }
        }
        for node in 0..NODES {
            for name in NAMES {
                self.check(node, Symbol::new(name));
            }
        }
    }

    fn check(&mut self, node: usize, name: Symbol) {
        let of = |node: usize| -> Vec<Symbol> {
            self.model[node].iter().filter(|(other, _)| *other == name).map(|(_, agent)| *agent).collect()
        };
        let there: Vec<usize> = Self::others(node).filter(|other| !of(*other).is_empty()).collect();
        let Some(audience) = self.nodes[node].audience(name) else {
            assert!(of(node).is_empty() && there.is_empty(), "{name} on {node}");
            return;
        };
        assert_eq!(audience.local.to_vec(), of(node), "{name} on {node}");
        let nodes: Vec<(usize, bool)> =
            audience.nodes.iter().map(|listener| (listener.node.0 as usize, listener.crowded)).collect();
        let crowded = |other: usize| of(other).iter().any(|agent| self.crowded.contains(agent.as_str()));
        assert_eq!(nodes, there.iter().map(|other| (*other, crowded(*other))).collect::<Vec<_>>(), "{name} on {node}");
        let mut elsewhere: Vec<Symbol> = audience.elsewhere.to_vec();
        elsewhere.sort_unstable_by_key(|agent| agent.as_str());
        let mut expected: Vec<Symbol> = there.iter().flat_map(|other| of(*other)).collect();
        expected.sort_unstable_by_key(|agent| agent.as_str());
        let is_group = Cast::of(name) == Some(Cast::Multicast);
        assert_eq!(elsewhere, if is_group { expected } else { Vec::new() }, "{name} on {node}");
    }
}

proptest! {
    #[test]
    fn every_node_knows_audiences(inputs in prop::collection::vec(input(), 0..120)) {
        let mut world = TopicsWorld::new();
        for input in inputs {
            world.apply(input);
        }
        world.settle();
        // All agents end: nothing is left.
        for node in 0..NODES {
            for agent in 0..AGENTS {
                world.apply(TopicsInput::Ended { node, agent });
            }
        }
        world.settle();
        for topics in &world.nodes {
            prop_assert_eq!(topics.list(), Vec::new());
            prop_assert_eq!(topics.introduction(), Vec::new());
        }
    }

    /// Any news from peers is harmless, and forgotten with the peers.
    #[test]
    fn nonsensical_news_is_harmless(
        said in prop::collection::vec((0..2_u32, 0..5_usize, 0..6_usize, 0..3_usize), 0..60),
    ) {
        let names = ["topic:x", "group:x", "any:x", "bob", "topic:", ""].map(Symbol::new);
        let mut topics = Topics::new();
        for (node, kind, name, agent) in said {
            let (name, agent) = (names[name], agent_of(7, agent));
            let news = match kind {
                0 => News::Topics(vec![name, agent]),
                1 => News::NoTopic(name),
                2 => News::Joined(name, vec![agent, agent]),
                3 => News::Left(name, agent),
                _ => News::Crowded(name, agent.index().is_multiple_of(2)),
            };
            topics.handle_news(NodeId(node), &news);
        }
        topics.handle_node_lost(NodeId(0));
        topics.handle_node_lost(NodeId(1));
        prop_assert_eq!(topics.list(), Vec::new());
    }

    /// Each member that can take a message has its turn.
    #[test]
    fn anycast_is_fair(states in prop::collection::vec(0..3_u8, 1..20), rounds in 1..5_usize) {
        let mut topics = Topics::new();
        let crew = group("crew").unwrap();
        let route = |state: u8| match state {
            0 => Route::UNKNOWN,
            state => Route::local(LocalRoute { shard: 0, slot: Some(1), generation: 0, crowded: state == 2 }),
        };
        let mut routes = BTreeMap::new();
        for (number, state) in states.iter().enumerate() {
            let name = format!("topics-fair-{number}");
            topics.join(Symbol::new(&name), crew.name, false).unwrap();
            routes.insert(name, route(*state));
        }
        let audience = topics.audience(any_member("crew").unwrap().name).unwrap();
        let best = if states.contains(&1) { 1 } else { 2 };
        let eligible = states.iter().filter(|state| **state == best).count();
        let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
        for _ in 0..rounds * states.len() {
            if let Some((name, route)) = audience.choose(|name| routes[name.as_str()]) {
                prop_assert_eq!(route.is_crowded(), best == 2);
                *chosen.entry(name.as_str()).or_default() += 1;
            }
        }
        prop_assert_eq!(chosen.len(), eligible);
        prop_assert_eq!(chosen.values().sum::<usize>(), if eligible > 0 { rounds * states.len() } else { 0 });
        if eligible == states.len() {
            prop_assert!(chosen.values().all(|count| *count == rounds));
        }
    }
}

#[test]
fn topic_limits_hold() {
    let mut topics = Topics::new();
    let ada = Symbol::new("topics-ada");
    for number in 0..TOPICS_PER_AGENT_MAX {
        topics.join(ada, topic(&number.to_string()).unwrap().name, false).unwrap();
    }
    let most = TOPICS_PER_AGENT_MAX;
    let one_more = topic("one more").unwrap().name;
    assert_eq!(topics.join(ada, one_more, false), Err(TopicError::TooManyOfAgent { agent: ada, most }));
    assert!(topics.leave(ada, topic("7").unwrap().name));
    assert_eq!(topics.join(ada, one_more, false), Ok(true));
    // A new peer hears of all that in few pieces.
    assert_eq!(topics.introduction().len(), 1);
    topics.handle_agent_ended(ada);
    assert_eq!(topics.list(), []);
}
