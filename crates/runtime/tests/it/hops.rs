//! Moves of agents between nodes, on wires that the tests control.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use whimbrel_platform::capabilities::Mobile;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Envelope, MessageBody, Name, Performative, Symbol, Value};
use whimbrel_platform::ams::{AgentKind, AgentQuery};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::df::DfDescription;
use whimbrel_platform::durable::Registration;
use whimbrel_platform::limits::{LINK_DOUBTFUL_MESSAGES_MAX, LINK_NEWS_AGENTS};
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::{Hop, HopError, HopMode, HopNews, HopRequest};
use whimbrel_platform::policy::Policy;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::topics::group;
use whimbrel_platform::{AgentBody, Counters, EndReason, Links, Next, SocketIo, Turn};
use whimbrel_runtime::{DurableAgent, DurableContext, KillOutcome, Platform, durable};

use crate::kit::{Lines, does, inform, wait_for};

pub enum WireItem {
    Message(Envelope),
    Forwarded(Envelope),
    News(News),
}

/// Items on their way from one node to each other; `None` where a node is lost.
pub struct Wires {
    me: usize,
    pub queues: Mutex<Vec<Option<VecDeque<WireItem>>>>,
    /// Corked items, with their receivers.
    held: Mutex<Vec<(usize, WireItem)>>,
    /// Nodes that are expected and not linked yet: items for them wait, unless they need no introduction first.
    expected: Mutex<Vec<usize>>,
}

thread_local! {
    static GATHERS: Cell<bool> = const { Cell::new(false) };
}

impl Wires {
    fn put(&self, to: usize, items: impl Iterator<Item = WireItem>) -> bool {
        let mut held = self.held.lock().unwrap();
        let before = held.extract_if(.., |(node, _)| *node == to).map(|(_, item)| item);
        let mut queues = self.queues.lock().unwrap();
        let queue = queues[to].as_mut();
        queue.map(|queue| queue.extend(before.chain(items))).is_some()
    }
}

impl Links for Wires {
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, _from: ShardIndex) -> usize {
        if self.queues.lock().unwrap()[to.0 as usize].is_some() {
            self.put(to.0 as usize, batch.drain(..).map(WireItem::Message));
        }
        usize::MAX
    }

    fn go_on(&self) {}

    fn tell_all(&self, news: News) {
        self.nodes().into_iter().for_each(|to| self.tell(to, news.clone()));
    }

    fn tell(&self, to: NodeId, news: News) {
        let waits = matches!(news, News::Hop(_));
        let (to, item) = (to.0 as usize, WireItem::News(news));
        if !waits && self.expected.lock().unwrap().contains(&to) {
            return;
        }
        if GATHERS.get() {
            self.held.lock().unwrap().push((to, item));
        } else {
            self.put(to, [item].into_iter());
        }
    }

    fn forward(&self, to: NodeId, batch: &mut Vec<Envelope>) {
        if self.queues.lock().unwrap()[to.0 as usize].is_some() {
            self.put(to.0 as usize, batch.drain(..).map(WireItem::Forwarded));
        }
    }

    fn nodes(&self) -> Vec<NodeId> {
        let queues = self.queues.lock().unwrap();
        (0..queues.len()).filter(|to| queues[*to].is_some()).map(|to| NodeId(to as u32)).collect()
    }

    fn node_named(&self, name: &str) -> Option<NodeId> {
        self.nodes().into_iter().find(|node| format!("n{}", node.0) == name)
    }

    fn waiting(&self) -> u64 {
        let queues = self.queues.lock().unwrap();
        let is_message = |item: &&WireItem| !matches!(item, WireItem::News(_));
        queues.iter().flatten().map(|queue| queue.iter().filter(is_message).count() as u64).sum()
    }

    fn me(&self) -> String {
        format!("n{}", self.me)
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        Some(format!("n{}", node.0))
    }

    fn io(self: Arc<Self>) -> Option<Arc<dyn SocketIo>> {
        Some(self)
    }
}

impl SocketIo for Wires {
    fn poll_io(&self, _shard: ShardIndex) {}

    fn park_on_io(&self, _shard: ShardIndex, _at_most: Option<Duration>, _begin: &dyn Fn() -> bool) -> bool {
        false
    }

    fn recall(&self, _shard: ShardIndex) {}

    fn cork(&self, gathers: bool) -> bool {
        GATHERS.replace(gathers)
    }

    fn flush(&self, _shard: ShardIndex) {
        let nodes = self.queues.lock().unwrap().len();
        for to in 0..nodes {
            self.put(to, [].into_iter());
        }
    }
}

/// Agent that records its messages; moves on request (`move(Node)`), or has a clone there (`clone(Node)`,
/// `clone(Node, Name)`).
#[derive(Default, Serialize, Deserialize)]
pub struct Walker {
    heard: Vec<String>,
    hops: u32,
}

impl DurableAgent for Walker {
    const KIND: &'static str = "walker";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        match message.content.functor().map(|name| name.as_str()) {
            Some("move") => ctx.move_to(message.content.args()[0].as_str().unwrap()),
            Some("join") => {
                let topic = message.content.args()[0].as_str().unwrap().parse().unwrap();
                ctx.services().join(ctx.aid(), topic).unwrap();
            }
            Some("create") => {
                let name = message.content.args()[0].as_str().unwrap();
                let created = ctx.spawn_durable(name, Walker::default());
                ctx.print(&created.map_or_else(|error| error.to_string(), |aid| format!("created {aid}")));
            }
            Some("clone") => {
                let name = message.content.args().get(1).and_then(Value::as_str);
                ctx.clone_to(message.content.args()[0].as_str().unwrap(), name.unwrap_or_default());
            }
            Some("tell") => {
                let to = message.content.args()[0].as_str().unwrap().parse().unwrap();
                ctx.tell(to, Performative::Inform, message.content.args()[1].clone());
            }
            _ => {
                let line = format!("{}:{}", message.sender, message.content);
                ctx.print(&line);
                self.heard.push(line);
            }
        }
    }

    fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
        self.hops += 1;
        match hop {
            Hop::Arrived { from } => ctx.print(&format!("from {from}, knows {}", self.heard.len())),
            Hop::Stayed { to, why } => ctx.print(&format!("not to {to}: {why}")),
            Hop::Cloned { clone, to } => ctx.print(&format!("{clone} is at {to}")),
            Hop::IsClone { of, from } => ctx.print(&format!("I am {of} of {from}")),
        }
    }
}

/// Nodes of one platform.
pub struct Nodes {
    platforms: Vec<Option<Platform>>,
    pub wires: Vec<Arc<Wires>>,
    pub lines: Vec<Lines>,
}

impl Nodes {
    fn new(count: usize, workers: usize) -> Self {
        Self::with(count, workers, |_, builder| builder)
    }

    pub fn with(
        count: usize,
        workers: usize,
        build: impl Fn(usize, whimbrel_runtime::PlatformBuilder) -> whimbrel_runtime::PlatformBuilder,
    ) -> Self {
        let lines: Vec<Lines> = (0..count).map(|_| Lines::default()).collect();
        let platforms: Vec<Platform> = (0..count)
            .map(|me| {
                let builder = Platform::builder().workers(workers).output(lines[me].clone()).kind::<Walker>();
                build(me, builder).build()
            })
            .collect();
        let queues = |me| (0..count).map(|to| (to != me).then(VecDeque::new)).collect();
        let wires: Vec<Arc<Wires>> = (0..count)
            .map(|me| {
                let queues = Mutex::new(queues(me));
                Arc::new(Wires { me, queues, held: Mutex::default(), expected: Mutex::default() })
            })
            .collect();
        for (platform, wires) in platforms.iter().zip(&wires) {
            assert!(platform.link_with(Arc::clone(wires) as Arc<dyn Links>));
        }
        Self { platforms: platforms.into_iter().map(Some).collect(), wires, lines }
    }

    fn introduce(&self, node: usize, mut tell: impl FnMut(Vec<News>)) {
        let (station, mut next) = (self.at(node).station(), Some(0));
        station.introduce(&mut tell);
        while let Some(place) = next {
            next = station.introduce_more(place, &mut tell);
        }
    }

    pub fn at(&self, node: usize) -> &Platform {
        self.platforms[node].as_ref().unwrap()
    }

    pub fn idle(&self) {
        self.platforms.iter().flatten().for_each(Platform::wait_idle);
    }

    /// Delivers the next item from one node to another.
    pub fn step(&self, from: usize, to: usize) -> bool {
        if self.wires[from].expected.lock().unwrap().contains(&to) {
            return false;
        }
        let item = self.wires[from].queues.lock().unwrap()[to].as_mut().and_then(VecDeque::pop_front);
        let (Some(item), Some(platform)) = (item, &self.platforms[to]) else { return false };
        let (from, station) = (NodeId(from as u32), platform.station());
        match item {
            WireItem::Message(envelope) => match station.speaks_for(from, envelope.body.sender) {
                true => station.arrive(from, &mut vec![envelope]),
                false => {
                    let forged = station.keep_doubtful(from, envelope);
                    assert!(forged.is_none(), "{:?} from {from:?}", forged.map(|it| it.body.sender));
                }
            },
            WireItem::Forwarded(envelope) => station.arrive_forwarded(from, envelope),
            WireItem::News(news) => station.hear(from, news),
        }
        true
    }

    /// Delivers some items over random links. Links that begin late begin at both ends before their first item.
    pub fn step_some(&self, dice: &mut Dice, late: &mut Vec<(usize, (usize, usize))>) {
        let pairs = self.pairs();
        for _ in 0..dice.below(8) {
            let (from, to) = pairs[dice.below(pairs.len())];
            for (_, (from, to)) in late.extract_if(.., |(_, wire)| *wire == (to, from)) {
                self.link(from, to);
            }
            self.step(from, to);
        }
    }

    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.platforms.len();
        (0..count).flat_map(|from| (0..count).map(move |to| (from, to))).filter(|(from, to)| from != to).collect()
    }

    /// Delivers everything, including all consequences.
    pub fn settle(&self) {
        loop {
            self.idle();
            let mut any = false;
            for (from, to) in self.pairs() {
                any |= self.step(from, to);
            }
            if !any && self.wires.iter().all(|wires| wires.waiting() == 0) {
                return;
            }
        }
    }

    pub fn walker(&self, node: usize, name: &str) -> Aid {
        let aid = self.at(node).spawn_together([durable(name, Walker::default())]).unwrap()[0];
        self.settle();
        aid
    }

    /// Ends the process of a node; the others are told.
    pub fn kill(&mut self, node: usize) {
        drop(self.platforms[node].take());
        for other in (0..self.platforms.len()).filter(|other| *other != node) {
            let lost = self.wires[other].queues.lock().unwrap()[node].take();
            self.wires[node].queues.lock().unwrap()[other].take();
            let message = |item| match item {
                WireItem::Message(envelope) | WireItem::Forwarded(envelope) => Some(envelope),
                WireItem::News(_) => None,
            };
            let lost = lost.into_iter().flatten().filter_map(message).collect();
            if let Some(platform) = &self.platforms[other] {
                platform.station().lose(NodeId(node as u32), lost);
            }
        }
    }

    /// Returns the nodes on which an agent of this name lives.
    pub fn homes(&self, name: &str) -> Vec<usize> {
        let lives = |platform: &Platform| {
            platform
                .search(&whimbrel_platform::ams::AgentQuery::default())
                .iter()
                .any(|it| it.aid.name.as_str() == name)
        };
        let nodes = self.platforms.iter().enumerate();
        nodes.filter(|(_, platform)| platform.as_ref().is_some_and(lives)).map(|(node, _)| node).collect()
    }

    pub fn counters(&self) -> Counters {
        let zero = Counters { sent: 0, handled: 0, dead: 0, queued: 0, came: 0, left: 0 };
        self.platforms.iter().flatten().fold(zero, |sum, platform| {
            let of = platform.counters();
            assert!(of.check().is_ok(), "{of}");
            Counters {
                sent: sum.sent + of.sent,
                handled: sum.handled + of.handled,
                dead: sum.dead + of.dead,
                queued: sum.queued + of.queued,
                came: sum.came + of.came,
                left: sum.left + of.left,
            }
        })
    }
}

#[test]
fn families_count_moved_agents() {
    let policy: Policy = serde_json::from_str(r#"{"quota": [{"who": "agent:root", "owner_agents": 2}]}"#).unwrap();
    let nodes = Nodes::with(2, 1, |_, builder| builder.policy(policy.clone()));
    nodes.walker(0, "root");
    let tell = |node: usize, to: &str, what: &str, arg: &str| {
        nodes.at(node).send(inform("x", Aid::local(to), Value::term(what, [Value::from(arg)])));
        nodes.settle();
    };
    tell(0, "root", "create", "child");
    tell(0, "child", "move", "n1");
    for name in ["a", "b"] {
        tell(1, "child", "create", name);
    }
    let refused = "no room for more agents of root: at most 2";
    let is_refused = |node: usize, who: &str| {
        let last = nodes.lines[node].all().pop().unwrap();
        assert!(last.starts_with(who) && last.contains(refused), "{last}");
    };
    is_refused(1, "child: ");
    // Its clones belong to its family, too.
    tell(0, "root", "clone", "n1");
    is_refused(0, "root: ");
}

fn go(node: &str) -> Value {
    Value::term("move", [Value::from(node)])
}

#[test]
fn agent_moves_with_its_messages() {
    for (count, workers) in [(2, 1), (2, 2), (3, 1), (3, 2)] {
        let nodes = Nodes::new(count, workers);
        let walker = nodes.walker(0, "walker");
        nodes.at(0).send(inform("x", walker, 1));
        nodes.at(0).send(inform("x", walker, go("n1")));
        nodes.at(0).send(inform("x", walker, 2));
        nodes.settle();
        nodes.at(1).send(inform("x", walker, 3));
        nodes.settle();
        assert_eq!(nodes.homes("walker"), [1]);
        let (left, came) = (nodes.lines[0].all(), nodes.lines[1].all());
        assert_eq!((left.len(), came.len()), (1, 3), "{left:?} {came:?}");
        assert!(came[0].contains("from n0, knows 1") && came[1].ends_with(":2") && came[2].ends_with(":3"), "{came:?}");
        let counters = nodes.counters();
        assert_eq!((counters.dead, counters.queued, counters.came), (0, 0, counters.left));
        // And back.
        nodes.at(1).send(inform("x", walker, go("n0")));
        nodes.settle();
        assert_eq!(nodes.homes("walker"), [0]);
        nodes.counters();
    }
}

/// Agent that moves to `n1` with its first message, and counts its bodies that were dropped in this process.
#[derive(Serialize, Deserialize)]
struct CountedMover;

static LEAVERS_DROPPED: AtomicU32 = AtomicU32::new(0);

impl Drop for CountedMover {
    fn drop(&mut self) {
        LEAVERS_DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

impl DurableAgent for CountedMover {
    const KIND: &'static str = "mover";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, _: MessageBody) {
        ctx.move_to("n1");
    }
}

#[test]
fn moved_agent_leaves_no_body() {
    let nodes = Nodes::with(2, 1, |_, builder| builder.kind::<CountedMover>());
    let mover = nodes.at(0).spawn_together([durable("mover", CountedMover)]).unwrap()[0];
    nodes.settle();
    let before = LEAVERS_DROPPED.load(Ordering::SeqCst);
    nodes.at(0).send(inform("x", mover, "go"));
    nodes.settle();
    assert_eq!(nodes.homes("mover"), [1]);
    wait_for("the body to be dropped", || LEAVERS_DROPPED.load(Ordering::SeqCst) > before);
}

#[test]
fn unlinked_node_learns_new_location() {
    let nodes = Nodes::new(3, 1);
    nodes.wires[0].queues.lock().unwrap()[2] = None;
    nodes.wires[2].queues.lock().unwrap()[0] = None;
    let (walker, other) = (nodes.walker(0, "walker"), nodes.walker(2, "other"));
    nodes.at(0).services().df_register(walker, "walks", "").unwrap();
    nodes.settle();
    assert!(!nodes.at(2).services().exists(walker));
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.settle();
    nodes.at(2).send(inform("x", other, tell("walker", 1)));
    nodes.at(1).send(inform("x", walker, tell("other", 2)));
    nodes.settle();
    assert!(nodes.lines[1].all().iter().any(|line| line.ends_with("other:1")), "{:?}", nodes.lines[1].all());
    assert!(nodes.lines[2].all().iter().any(|line| line.ends_with("walker:2")), "{:?}", nodes.lines[2].all());
    assert_eq!(nodes.at(2).services().df_search("walks", ""), [walker]);
}

impl Nodes {
    /// Links one node to another, which gets its introduction first.
    pub fn link(&self, from: usize, to: usize) {
        let wires = &self.wires[from];
        wires.queues.lock().unwrap()[to].get_or_insert_default();
        self.introduce(from, |news| {
            wires.put(to, news.into_iter().map(WireItem::News));
        });
    }

    /// Separates two nodes that expect a link.
    fn expect(&self, a: usize, b: usize) {
        for (from, to) in [(a, b), (b, a)] {
            self.wires[from].expected.lock().unwrap().push(to);
        }
    }

    /// Establishes the expected link: the nodes introduce themselves before all waiting items.
    fn meet(&self, a: usize, b: usize) {
        for (from, to) in [(a, b), (b, a)] {
            let wires = &self.wires[from];
            self.introduce(from, |news| {
                let mut expected = wires.expected.lock().unwrap();
                if !expected.contains(&to) {
                    drop(expected);
                    wires.put(to, news.into_iter().map(WireItem::News));
                    return;
                }
                expected.retain(|expected| *expected != to);
                drop(expected);
                let mut queues = wires.queues.lock().unwrap();
                let queue = queues[to].as_mut().unwrap();
                news.into_iter().rev().for_each(|news| queue.push_front(WireItem::News(news)));
            });
        }
    }

    /// Cuts a link with the items on it. The other end may not know yet.
    pub fn cut(&self, from: usize, to: usize) {
        self.wires[from].queues.lock().unwrap()[to] = None;
    }

    /// Delivers the items from one node to another, without their consequences.
    fn pass(&self, from: usize, to: usize) {
        self.idle();
        while self.step(from, to) {
            self.idle();
        }
    }

    pub fn knows(&self, node: usize, agent: Aid) -> bool {
        self.at(node).services().exists(agent)
    }
}

#[test]
fn late_link_brings_no_ended_agent() {
    // The agent hops from the first node to the second before that has a link to the third. There it ends, or
    // returns.
    for (order, lives) in [(Value::Nil, false), (go("n0"), true)] {
        let nodes = Nodes::new(3, 1);
        nodes.link(0, 2);
        nodes.cut(1, 2);
        let (walker, stays) = (nodes.walker(0, "walker"), nodes.walker(0, "stays"));
        for walker in [walker, stays] {
            nodes.at(0).services().df_register(walker, "walks", "").unwrap();
            nodes.at(0).send(inform("x", walker, go("n1")));
        }
        nodes.settle();
        assert!(nodes.knows(2, walker) && nodes.knows(2, stays), "it heard so from the first node");
        match lives {
            true => nodes.at(1).send(inform("x", walker, order)),
            false => assert!(nodes.at(1).kill(walker)),
        }
        nodes.at(1).services().df_deregister(stays, "walks", "");
        nodes.settle();
        nodes.link(1, 2);
        nodes.settle();
        assert_eq!((nodes.knows(2, walker), nodes.knows(2, stays)), (lives, true));
        let walkers = nodes.at(2).services().df_search("walks", "");
        assert_eq!(walkers, if lives { vec![walker] } else { vec![] }, "nor what it offered");
        let other = nodes.walker(2, "other");
        nodes.at(2).send(inform("x", other, tell("stays", 1)));
        nodes.settle();
        assert!(nodes.lines[1].all().iter().any(|line| line.ends_with("other:1")), "{:?}", nodes.lines[1].all());
    }
}

#[test]
fn moving_agent_survives_introduction() {
    let nodes = Nodes::new(3, 1);
    nodes.link(0, 2);
    let walker = nodes.walker(0, "walker");
    nodes.cut(1, 2);
    // The second node introduces itself before it hears of the agent. Its introduction arrives after the agent has
    // left.
    nodes.link(1, 2);
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.idle();
    for _ in 0..4 {
        nodes.pass(0, 1);
        nodes.pass(1, 0);
    }
    nodes.pass(0, 2);
    assert!(nodes.knows(2, walker));
    nodes.pass(1, 2);
    nodes.pass(2, 1);
    nodes.pass(1, 2);
    assert!(nodes.knows(2, walker), "it is there, or will be");
    nodes.settle();
    assert!(nodes.knows(2, walker));
    nodes.counters();
}

#[test]
fn late_claim_of_source_is_ignored() {
    let nodes = Nodes::new(3, 1);
    nodes.link(1, 2);
    nodes.pass(1, 2);
    let walker = nodes.walker(0, "walker");
    // The first node announces the agent. The announcement is still on the wires when the first node gives the third
    // one up.
    nodes.link(0, 2);
    let late = nodes.wires[0].queues.lock().unwrap()[2].take();
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.settle();
    assert!(nodes.knows(2, walker), "the second node said so");
    nodes.wires[0].queues.lock().unwrap()[2] = late;
    nodes.pass(0, 2);
    let other = nodes.walker(2, "other");
    nodes.at(2).send(inform("x", other, tell("walker", 1)));
    nodes.settle();
    let heard = nodes.lines[1].all();
    assert_eq!(heard.iter().filter(|line| line.ends_with("other:1")).count(), 1, "{heard:?}");
    // The third node loses the link, too, and still knows where the agent is.
    nodes.at(2).station().lose(NodeId(0), Vec::new());
    assert!(nodes.knows(2, walker));
}

#[test]
fn early_end_report_holds() {
    // The third node hears the agent's fate from the second node first, and later from the first that the agent went
    // there. The second one did not wait, because it takes the first for lost. The agent may have begun there before
    // it ended.
    for introduced in [false, true] {
        let mut nodes = Nodes::new(3, 1);
        if introduced {
            nodes.link(1, 2);
            nodes.link(0, 2);
            nodes.settle();
        }
        let walker = nodes.walker(0, "walker");
        nodes.at(0).send(inform("x", walker, go("n1")));
        while nodes.homes("walker") != [1] {
            nodes.idle();
            nodes.step(0, 1);
            nodes.step(1, 0);
        }
        let late = nodes.wires[0].queues.lock().unwrap()[2].take();
        nodes.cut(0, 1);
        nodes.cut(1, 0);
        nodes.at(1).station().lose(NodeId(0), Vec::new());
        nodes.idle();
        assert!(nodes.at(1).kill(walker));
        nodes.idle();
        nodes.pass(1, 2);
        nodes.wires[0].queues.lock().unwrap()[2] = late;
        nodes.pass(0, 2);
        for _ in 0..3 {
            nodes.pass(2, 1);
            nodes.pass(1, 2);
        }
        assert!(!nodes.knows(2, walker), "introduced: {introduced}");
        nodes.kill(0);
    }
}

impl Nodes {
    /// Takes the items from one node to another off the wires. Returns the agents asked about, and the number of
    /// answers.
    fn asked_and_answered(&self, from: usize, to: usize) -> (Vec<Vec<Name>>, usize) {
        self.idle();
        let items = std::mem::take(self.wires[from].queues.lock().unwrap()[to].as_mut().unwrap());
        let (mut asked, mut answers) = (Vec::new(), 0);
        for item in items {
            match item {
                WireItem::News(News::Asks(agents)) => asked.push(agents),
                WireItem::News(News::Has { agents, not }) => answers += agents.len() + not.len(),
                _ => {}
            }
        }
        (asked, answers)
    }

    /// Makes a node believe that another one claims an agent itself.
    fn believe(&self, node: usize, agent: Aid, there: usize) {
        let there = NodeId(there as u32);
        self.at(node).station().hear(there, News::Introduced);
        self.at(node).station().hear(there, News::Agents(vec![(agent.name.into(), AgentKind::Native)]));
    }
}

#[test]
fn answers_keep_order_with_events() {
    let nodes = Nodes::new(2, 1);
    let station = nodes.at(1).station();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                station.hear(NodeId(0), News::Asks(vec!["walker".into()]));
            }
        });
        // The asker is answered both ways, however seldom it has the processor.
        let answered = |lives: bool| {
            let queues = nodes.wires[1].queues.lock().unwrap();
            let is_so = |item: &WireItem| {
                let WireItem::News(News::Has { agents, .. }) = item else { return false };
                agents.is_empty() != lives
            };
            queues[0].as_ref().unwrap().iter().any(is_so)
        };
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            for _ in 0..300 {
                let walker = nodes.at(1).spawn_together([durable("walker", Walker::default())]).unwrap()[0];
                nodes.at(1).wait_idle();
                nodes.at(1).kill(walker);
                nodes.at(1).wait_idle();
            }
            if answered(true) && answered(false) {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let (mut lives, mut answers, mut wrong) = (false, [0, 0], 0);
    for item in nodes.wires[1].queues.lock().unwrap()[0].take().unwrap() {
        match item {
            WireItem::News(News::Agents(_)) => lives = true,
            WireItem::News(News::AgentEnded(..)) => lives = false,
            WireItem::News(News::Has { agents, not }) => {
                assert_eq!(agents.len() + not.len(), 1);
                wrong += usize::from(lives == agents.is_empty());
                answers[agents.len()] += 1;
            }
            _ => {}
        }
    }
    assert_eq!(wrong, 0, "of {answers:?}");
    assert!(answers.iter().all(|count| *count > 0), "{answers:?}");
}

#[test]
fn late_claim_brings_group_memberships() {
    let (crew, guards) = (group("crew").unwrap(), group("guards").unwrap());
    let nodes = Nodes::new(3, 1);
    nodes.cut(1, 2);
    let (walker, other) = (nodes.walker(1, "walker"), nodes.walker(1, "other"));
    for (agent, to) in [(walker, crew), (walker, guards), (other, guards)] {
        nodes.at(1).services().join(agent, to).unwrap();
    }
    nodes.at(1).services().df_register(walker, "walks", "").unwrap();
    nodes.settle();
    let speaker = nodes.walker(2, "speaker");
    nodes.believe(2, walker, 0);
    nodes.link(1, 2);
    nodes.settle();
    assert_eq!(nodes.at(2).services().members(crew), [walker]);
    assert_eq!(nodes.at(2).services().members(guards).len(), 2);
    assert_eq!(nodes.at(2).services().df_search("walks", ""), [walker]);
    nodes.at(2).send(inform("x", speaker, tell(crew.name.as_str(), 1)));
    nodes.settle();
    let heard = nodes.lines[1].all();
    assert!(heard.len() == 1 && heard[0].ends_with("speaker:1"), "{heard:?}");
}

#[test]
fn verified_agents_messages_arrive_afterwards() {
    for seed in 0..20 {
        let nodes = Nodes::new(3, 1);
        nodes.cut(1, 2);
        let (walker, speaker) = (nodes.walker(1, "walker"), nodes.walker(2, "speaker"));
        nodes.settle();
        nodes.believe(2, walker, 0);
        nodes.link(1, 2);
        // It hears of the speaker, and speaks before the other node knows where it is.
        nodes.pass(2, 1);
        for number in 0..5 {
            nodes.at(1).send(inform("x", walker, tell("speaker", number)));
        }
        nodes.idle();
        for _ in 0..seed {
            nodes.step(1, 2);
        }
        nodes.settle();
        let heard: Vec<String> = (0..5).map(|number| format!("speaker: walker:{number}")).collect();
        assert_eq!(nodes.lines[2].all(), heard, "{seed}");
        assert!(nodes.at(2).station().speaks_for(NodeId(1), walker));
        let _ = speaker;
    }
}

#[test]
fn ended_agents_messages_are_genuine() {
    let nodes = Nodes::new(3, 1);
    let walker = nodes.walker(1, "walker");
    nodes.settle();
    nodes.believe(0, walker, 1);
    let station = nodes.at(0).station();
    let (home, other) = (NodeId(1), NodeId(2));
    let ended = || News::AgentEnded(walker.name.into(), EndReason::Killed);
    station.hear(other, ended());
    assert!(station.speaks_for(home, walker) && !station.speaks_for(other, walker), "it was never there");
    station.hear(home, ended());
    assert!(station.speaks_for(home, walker), "the link has the rest of its words");
    assert!(!station.speaks_for(other, walker) && !station.speaks_for(home, Aid::local("stranger")));
    station.hear(other, News::Agents(vec![(walker.name.into(), AgentKind::Native)]));
    assert!(!station.speaks_for(home, walker) && station.speaks_for(other, walker), "another has its name");
}

/// Permissions depend on the agent's kind, even for its last messages.
#[test]
fn last_messages_keep_senders_permissions() {
    for (denied, kind, arrives) in [
        ("session:*", AgentKind::Session, false),
        ("session:*", AgentKind::Native, true),
        ("agent:*", AgentKind::Session, true),
        ("agent:*", AgentKind::Native, false),
    ] {
        let policy: Policy =
            serde_json::from_str(&format!(r#"{{"deny":[{{"who":"{denied}","send":"vault"}}]}}"#)).unwrap();
        let nodes = Nodes::with(2, 1, |me, builder| if me == 0 { builder.policy(policy.clone()) } else { builder });
        let vault = nodes.at(0).spawn("vault", does(|_, _| ())).unwrap();
        let (station, pump) = (nodes.at(0).station(), Aid::local("pump"));
        station.hear(NodeId(1), News::Agents(vec![(pump.name.into(), kind)]));
        station.hear(NodeId(1), News::AgentEnded(pump.name.into(), EndReason::Finished));
        assert!(station.speaks_for(NodeId(1), pump));
        let body = MessageBody::Owned(Box::new(inform("pump", vault, 1.0)));
        station.arrive(NodeId(1), &mut vec![Envelope { to: vault, body }]);
        nodes.settle();
        let dead: Vec<DeadReason> =
            nodes.at(0).dead_letters().iter().filter(|it| it.to == vault).map(|it| it.reason).collect();
        let refused = if arrives { Vec::new() } else { vec![DeadReason::Forbidden] };
        assert_eq!(dead, refused, "{denied} {kind:?}");
    }
}

#[test]
fn false_claim_moves_no_agent() {
    let nodes = Nodes::new(3, 1);
    let walker = nodes.walker(1, "walker");
    nodes.settle();
    nodes.believe(0, walker, 1);
    let (liar, station) = (NodeId(2), nodes.at(0).station());
    let is_there = || station.speaks_for(NodeId(1), walker);
    station.hear(liar, News::Has { agents: vec![(walker.name.into(), AgentKind::Native)], not: Vec::new() });
    assert!(is_there(), "it was not asked");
    station.hear(NodeId(1), News::Has { agents: Vec::new(), not: vec![walker.name.into()] });
    assert!(is_there(), "nor was this");
    for _ in 0..3 {
        station.hear(liar, News::Agents(vec![(walker.name.into(), AgentKind::Native)]));
        let forged =
            Envelope { to: Aid::local("ams"), body: MessageBody::Owned(Box::new(inform("walker", walker, 1.0))) };
        assert!(station.keep_doubtful(liar, forged.clone()).is_none(), "it waits");
        let stranger = Envelope { to: forged.to, body: MessageBody::Owned(Box::new(inform("stranger", walker, 1.0))) };
        assert!(station.keep_doubtful(liar, stranger).is_some(), "nobody says so of this one");
        nodes.settle();
        assert!(is_there() && !station.speaks_for(liar, walker));
        assert!(station.keep_doubtful(liar, forged).is_some(), "now it is known");
    }
    let dead = nodes.at(0).dead_letters();
    assert!(dead.len() == 3 && dead.iter().all(|letter| letter.reason == DeadReason::Forged), "{dead:?}");
    // The number of waiting messages is limited.
    station.hear(liar, News::Agents(vec![(walker.name.into(), AgentKind::Native)]));
    let forged =
        || Envelope { to: Aid::local("ams"), body: MessageBody::Owned(Box::new(inform("walker", walker, 1.0))) };
    let kept = (0..2 * LINK_DOUBTFUL_MESSAGES_MAX).filter(|_| station.keep_doubtful(liar, forged()).is_none()).count();
    assert_eq!(kept, LINK_DOUBTFUL_MESSAGES_MAX);
}

#[test]
fn location_questions_are_batched_and_limited() {
    let nodes = Nodes::new(2, 1);
    let names = |count: usize| (0..count).map(|at| Name::new(&format!("w{at}"))).collect::<Vec<_>>();
    let named: Vec<_> = names(5).into_iter().map(|name| (name, AgentKind::Native)).collect();
    let nobody = NodeId(7);
    nodes.at(0).station().hear(nobody, News::Introduced);
    nodes.at(0).station().hear(nobody, News::Agents(named.clone()));
    nodes.at(0).station().hear(NodeId(1), News::Agents(named));
    assert_eq!(nodes.asked_and_answered(0, 1), (vec![names(5)], 0), "all at once");
    let asks = |agents| {
        nodes.at(0).station().hear(NodeId(1), News::Asks(agents));
        nodes.asked_and_answered(0, 1).1
    };
    assert_eq!(asks([names(2), names(3), names(1)].concat()), 3, "each once");
    assert_eq!(asks(names(LINK_NEWS_AGENTS)), LINK_NEWS_AGENTS);
    assert_eq!(asks(names(LINK_NEWS_AGENTS + 1)), 0);
    assert_eq!(asks(vec![Name::new("w1"); LINK_NEWS_AGENTS + 1]), 0, "however few they are");
}

#[test]
fn last_turns_messages_precede_end() {
    for workers in [1, 2] {
        let nodes = Nodes::new(2, workers);
        let walker = nodes.walker(1, "walker");
        let last = does(move |ctx, _| {
            ctx.tell(walker, Performative::Inform, "farewell");
            ctx.end();
        });
        let last = nodes.at(0).spawn("last", last).unwrap();
        nodes.settle();
        nodes.at(0).send(inform("x", last, "go"));
        // A node would take it for forged if no agent of that name lived there.
        nodes.settle();
        assert!(
            nodes.lines[1].all().iter().any(|line| line.ends_with("last:\"farewell\"")),
            "{:?}",
            nodes.lines[1].all()
        );
        assert!(!nodes.at(1).services().exists(last));
    }
}

#[test]
fn arriving_agent_killed_leaves_nothing() {
    let nodes = Nodes::new(3, 1);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).services().join(walker, group("crew").unwrap()).unwrap();
    nodes.settle();
    nodes.at(0).send(inform("x", walker, go("n1")));
    // The third node does not answer. The agent belongs to the second node and waits there.
    while nodes.homes("walker") != [1] {
        nodes.idle();
        nodes.step(0, 1);
        nodes.step(1, 0);
    }
    assert!(nodes.at(1).kill(walker));
    nodes.settle();
    for node in 0..3 {
        assert!(!nodes.at(node).services().exists(walker), "n{node}");
    }
    nodes.at(1).send(inform("x", group("crew").unwrap(), 1));
    nodes.settle();
    let counters = nodes.counters();
    assert_eq!((counters.queued, counters.came), (0, counters.left), "{counters}");
    // A new agent of that name is in no group.
    let walker = nodes.walker(1, "walker");
    nodes.at(1).send(inform("x", group("crew").unwrap(), 2));
    nodes.settle();
    assert!(nodes.lines[1].all().is_empty(), "{walker}: {:?}", nodes.lines[1].all());
}

/// A caller on each node ends an agent at any step of its way to another one, and on.
#[test]
fn moving_agent_can_be_killed() {
    for killer in 0..3 {
        for steps in 0..40 {
            let nodes = Nodes::new(3, 1);
            let walker = nodes.walker(0, "walker");
            nodes.at(0).send(inform("x", walker, go("n1")));
            nodes.at(0).send(inform("x", walker, go("n2")));
            nodes.idle();
            let pairs = nodes.pairs();
            for step in 0..steps {
                let (from, to) = pairs[step % pairs.len()];
                nodes.step(from, to);
                nodes.idle();
            }
            assert!(nodes.at(killer).kill(walker), "n{killer} after {steps}");
            nodes.settle();
            assert_eq!(nodes.homes("walker"), [0; 0], "n{killer} after {steps}");
            // Another agent may have the name.
            nodes.walker(1, "walker");
            assert_eq!(nodes.homes("walker"), [1], "n{killer} after {steps}");
        }
    }
}

#[test]
fn hop_outcome_precedes_next_hop() {
    let nodes = Nodes::new(2, 1);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).suspend(walker).unwrap();
    let moved = |from: usize, to: &'static str| {
        let (tell, told) = std::sync::mpsc::channel();
        nodes.at(from).move_agent(walker, to, move |outcome| tell.send(outcome).unwrap());
        nodes.settle();
        told.recv().unwrap()
    };
    assert_eq!(moved(0, "n1"), Ok(()));
    assert!(matches!(moved(1, "n0"), Err(HopError::NotMovable(_))));
    nodes.at(1).resume(walker).unwrap();
    nodes.settle();
    assert_eq!(nodes.lines[1].all(), ["walker: from n0, knows 0"]);
    assert_eq!(moved(1, "n0"), Ok(()));
}

#[test]
fn source_speaks_for_own_agents() {
    let nodes = Nodes::new(2, 1);
    let (bank, walker) = (nodes.walker(1, "bank"), nodes.walker(0, "walker"));
    nodes.at(1).services().df_register(bank, "bank", "honest").unwrap();
    nodes.at(0).services().df_register(walker, "walks", "").unwrap();
    nodes.settle();
    nodes.at(0).send(inform("x", walker, go("n1")));
    let mut forged = false;
    while nodes.homes("walker") != [1] {
        nodes.idle();
        nodes.step(1, 0);
        for item in nodes.wires[0].queues.lock().unwrap()[1].iter_mut().flatten() {
            let WireItem::News(News::Hop(HopNews::Commit { standing, .. })) = item else { continue };
            let standing = standing.get_or_insert_with(|| Box::new(Registration::plain(bank.name)));
            standing.agent = bank.name;
            let entry = DfDescription { agent: Some(bank), ..DfDescription::offering("bank", "forged") };
            (standing.entry, standing.expires_ms) = (Some(entry), Some(u64::MAX));
            forged = true;
        }
        nodes.step(0, 1);
    }
    nodes.settle();
    assert!(forged);
    assert_eq!(nodes.at(1).services().df_search("bank", "forged"), []);
    assert_eq!(nodes.at(1).services().df_search("bank", "honest"), [bank]);
}

#[test]
fn full_node_refuses_agents() {
    let full: Policy = serde_json::from_str(r#"{"quota": [{"who": "*", "node_agents": 0}]}"#).unwrap();
    let nodes = Nodes::with(2, 1, |me, builder| if me == 1 { builder.policy(full.clone()) } else { builder });
    let walker = nodes.walker(0, "walker");
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.settle();
    let lines = nodes.lines[0].all();
    assert!(lines[0].contains("not to n1") && lines[0].contains("`node_agents`"), "{lines:?}");
    assert_eq!(nodes.homes("walker"), [0]);
    nodes.counters();
}

#[test]
fn refused_hop_tells_the_reason() {
    let forbidden: Policy = serde_json::from_str(r#"{"deny":[{"who":"*","move":"*"}]}"#).unwrap();
    let nodes = Nodes::with(3, 1, |me, builder| if me == 2 { builder.policy(forbidden.clone()) } else { builder });
    let walker = nodes.walker(0, "walker");
    for to in ["n0", "n9", "n2"] {
        nodes.at(0).send(inform("x", walker, go(to)));
        nodes.settle();
    }
    let lines = nodes.lines[0].all();
    assert!(lines[0].ends_with("not to n0: it is on node n0 already"), "{lines:?}");
    assert!(lines[1].ends_with("not to n9: there is no node named n9"), "{lines:?}");
    assert!(lines[2].ends_with("not to n2: the policy of node n2 forbids it"), "{lines:?}");
    let plain = nodes.at(0).spawn("plain", does(|_, _| ())).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    nodes.at(0).move_agent(plain, "n1", move |outcome| tell.send(outcome).unwrap());
    nodes.settle();
    assert!(matches!(told.recv().unwrap(), Err(HopError::NotMovable(_))));
    assert_eq!(nodes.homes("walker"), [0]);
    nodes.counters();
}

/// A rule about `move` concerns the agents that it names, where they leave and where they arrive, and their clones
/// and minions.
#[test]
fn move_rules_hold_at_both_ends() {
    let rule = r#"{"deny": [{"who": "*", "move": ["scout*", "walker_*", "walker_minion*"]}]}"#;
    let policy: Policy = serde_json::from_str(rule).unwrap();
    for guarded in 0..2 {
        let nodes =
            Nodes::with(2, 1, |me, builder| if me == guarded { builder.policy(policy.clone()) } else { builder });
        let (walker, scout) = (nodes.walker(0, "walker"), nodes.walker(0, "scout7"));
        let clone_as = |name: &str| Value::term("clone", [Value::from("n1"), Value::from(name)]);
        for (who, order) in [(scout, go("n1")), (walker, clone_as("walker_minion_1")), (walker, clone_as("twin"))] {
            nodes.at(0).send(inform("x", who, order));
            nodes.settle();
        }
        nodes.at(0).send(inform("x", walker, go("n1")));
        nodes.settle();
        let told: Vec<String> =
            nodes.lines[0].all().iter().filter_map(|line| Some(line.split_once("not to ")?.1.to_owned())).collect();
        assert_eq!(told, vec![format!("n1: the policy of node n{guarded} forbids it"); 2]);
        let homes = ["scout7", "walker_minion_1", "twin", "walker"].map(|name| nodes.homes(name));
        assert_eq!(homes, [vec![0], vec![], vec![1], vec![1]], "of node n{guarded}");
        nodes.counters();
    }
}

/// A recall needs the permission of the node where the agent is, too.
#[test]
fn move_rule_forbids_recall() {
    for (name, expected) in [("guest", (Ok(()), vec![0])), ("walker", (Err(HopError::Forbidden("n1".into())), vec![1]))]
    {
        let rule = format!(r#"{{"deny": [{{"who": "node:n2", "move": "{name}"}}]}}"#);
        let policy: Policy = serde_json::from_str(&rule).unwrap();
        let nodes = Nodes::with(3, 1, |me, builder| if me == 1 { builder.policy(policy.clone()) } else { builder });
        let walker = nodes.walker(0, "walker");
        nodes.at(0).send(inform("x", walker, go("n1")));
        nodes.settle();
        let (tell, told) = std::sync::mpsc::channel();
        nodes.at(2).recall_agent(walker, move |outcome| tell.send(outcome).unwrap());
        nodes.settle();
        assert_eq!((told.recv().unwrap(), nodes.homes("walker")), expected, "a rule about {name}");
    }
}

#[test]
fn forwarded_message_is_not_repeated() {
    let mut nodes = Nodes::new(2, 1);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.settle();
    nodes.kill(0);
    // The message was never acknowledged, whatever its fate.
    let envelope = Envelope { to: walker, body: MessageBody::Owned(Box::new(inform("x", walker, 7))) };
    nodes.at(1).station().lose(NodeId(0), vec![envelope]);
    nodes.settle();
    let lines = nodes.lines[1].all();
    assert!(lines.iter().all(|line| !line.ends_with(":7")), "{lines:?}");
    let dead = nodes.at(1).dead_letters().iter().filter(|letter| letter.to == walker).count();
    assert_eq!((nodes.homes("walker"), dead), (vec![1], 1));
}

#[test]
fn clone_begins_on_other_node() {
    let nodes = Nodes::new(2, 2);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).send(inform("x", walker, 1));
    nodes.at(0).send(inform("x", walker, Value::term("clone", [Value::from("n1")])));
    nodes.settle();
    assert_eq!((nodes.homes("walker"), nodes.homes("walker_1")), (vec![0], vec![1]));
    assert!(nodes.lines[0].all()[1].ends_with("walker_1 is at n1"), "{:?}", nodes.lines[0].all());
    assert!(nodes.lines[1].all()[0].ends_with("walker_1: I am walker of n0"), "{:?}", nodes.lines[1].all());
    nodes.counters();
}

impl Nodes {
    /// Returns an agent's age, and the number of messages that it has handled.
    fn life(&self, node: usize, agent: Aid) -> (Duration, Option<u64>) {
        let platform = self.at(node);
        let known = platform.search(&AgentQuery::named(agent.name.as_str()));
        let handled = platform.figures_of(&[agent.name]).first().and_then(|figures| figures.handled);
        (known[0].age(platform.services().now()), handled)
    }
}

#[test]
fn age_moves_with_agent() {
    let nodes = Nodes::new(3, 2);
    let walker = nodes.walker(0, "walker");
    std::thread::sleep(Duration::from_millis(50));
    for (node, next) in [(0, "n1"), (1, "n2"), (2, "n0")] {
        nodes.at(node).send(inform("x", walker, 1));
        nodes.settle();
        let (age, handled) = nodes.life(node, walker);
        nodes.at(node).send(inform("x", walker, go(next)));
        nodes.settle();
        let there = (node + 1) % 3;
        let (later, more) = nodes.life(there, walker);
        assert!(later.as_millis() >= age.as_millis(), "{age:?} {later:?}");
        assert_eq!((handled, more), (Some(2 * node as u64 + 1), Some(2 * node as u64 + 2)));
    }
    let began = Instant::now();
    nodes.at(0).send(inform("x", walker, Value::term("clone", [Value::from("n1")])));
    nodes.settle();
    let (age, handled) = nodes.life(1, Aid::local("walker_1"));
    assert!(age <= began.elapsed() && handled == Some(0), "{age:?} {handled:?}");
    nodes.counters();
}

#[test]
fn clone_name_gains_no_permission() {
    let policy: Policy = serde_json::from_str(r#"{"deny":[{"who":"agent:walker","send":"vault"}]}"#).unwrap();
    let nodes = Nodes::with(2, 1, |me, builder| if me == 1 { builder.policy(policy.clone()) } else { builder });
    let walker = nodes.walker(0, "walker");
    nodes.at(0).send(inform("x", walker, Value::term("clone", [Value::from("n1")])));
    nodes.settle();
    let why = "the policy has other rules for the clone walker_1 than for its original walker";
    assert!(nodes.lines[0].all()[0].contains(why), "{:?}", nodes.lines[0].all());
    // Nor one that the AMS makes there.
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.settle();
    nodes.at(1).clone_agent(walker, "twin").unwrap();
    nodes.settle();
    assert_eq!((nodes.homes("walker"), nodes.homes("walker_1"), nodes.homes("twin")), (vec![1], vec![], vec![]));
}

#[test]
fn suspended_agents_move_suspended() {
    let nodes = Nodes::new(2, 2);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).suspend(walker).unwrap();
    nodes.at(0).send(inform("x", walker, 1));
    nodes.at(0).move_agent(walker, "n1", |outcome| assert_eq!(outcome, Ok(())));
    nodes.settle();
    assert_eq!((nodes.homes("walker"), nodes.lines[1].all().len()), (vec![1], 0));
    nodes.at(1).resume(walker).unwrap();
    nodes.settle();
    assert_eq!(nodes.lines[1].all().len(), 2);
    assert_eq!(Symbol::new("n1"), nodes.at(1).services().node());
    nodes.counters();
}

impl Nodes {
    /// Runs `what` on the worker of the first node, between turns, where callers of a failed hop are told.
    fn in_between(&self, what: impl FnOnce() + Send + 'static) {
        let plain = self.at(0).spawn("plain", does(|_, _| ())).unwrap();
        self.at(0).move_agent(plain, "n1", move |_| what());
    }

    /// Makes the first node lose the second one, when called, after so many news from there.
    fn loses_after(&self, news: usize) -> impl FnOnce() + Send + use<> {
        let (here, there) = (Arc::clone(&self.wires[0]), Arc::clone(&self.wires[1]));
        let station = self.at(0).station();
        move || {
            for _ in 0..news {
                let item = there.queues.lock().unwrap()[0].as_mut().and_then(VecDeque::pop_front);
                let Some(WireItem::News(news)) = item else { panic!("no news") };
                station.hear(NodeId(1), news);
            }
            here.queues.lock().unwrap()[1] = None;
            station.lose(NodeId(1), Vec::new());
        }
    }

    /// Checks that an agent belongs to the first node, and continues there.
    fn goes_on_here(&self, agent: Aid) {
        assert_eq!(self.homes(agent.name.as_str()), [0]);
        self.at(0).send(inform("x", agent, 7));
        self.idle();
        let lines = self.lines[0].all();
        assert!(lines[0].ends_with("not to n1: node n1 is lost") && lines[1].ends_with(":7"), "{lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
        self.counters();
    }
}

#[test]
fn leaving_agent_refuses_second_hop() {
    let nodes = Nodes::new(2, 1);
    let walker = nodes.walker(0, "walker");
    let (tell, told) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let tell = tell.clone();
        nodes.at(0).move_agent(walker, "n1", move |outcome| tell.send(outcome).unwrap());
    }
    nodes.at(0).send(inform("x", walker, 1));
    nodes.idle();
    assert!(matches!(told.try_recv(), Ok(Err(HopError::NotMovable(_)))));
    assert_eq!(nodes.lines[0].all(), [""; 0]);
    nodes.settle();
    assert_eq!((told.try_recv(), nodes.homes("walker")), (Ok(Ok(())), vec![1]));
    let came = nodes.lines[1].all();
    assert!(came.len() == 2 && came[0].ends_with("from n0, knows 0") && came[1].ends_with(":1"), "{came:?}");
    nodes.counters();
}

#[test]
fn hop_of_ending_agent_fails() {
    let nodes = Nodes::new(2, 1);
    let walker = nodes.walker(0, "walker");
    let (go_on, gate) = std::sync::mpsc::channel();
    nodes.in_between(move || gate.recv().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    nodes.at(0).move_agent(walker, "n1", move |outcome| tell.send(outcome).unwrap());
    nodes.at(0).kill(walker);
    go_on.send(()).unwrap();
    assert!(matches!(told.recv(), Ok(Err(HopError::NotMovable(_)))));
}

#[test]
fn lost_destination_before_commit_keeps_agent() {
    let nodes = Nodes::new(2, 1);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).move_agent(walker, "n1", |outcome| assert!(outcome.is_err()));
    nodes.idle();
    assert!(nodes.step(0, 1));
    nodes.idle();
    nodes.in_between(nodes.loses_after(1));
    nodes.idle();
    nodes.goes_on_here(walker);
}

/// Action that runs while a [`Tripping`] is serialised.
static WHILE_WRITTEN: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Value that runs that action.
#[derive(Default, Deserialize)]
struct Tripping;

impl Serialize for Tripping {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let what = WHILE_WRITTEN.lock().unwrap().take();
        what.into_iter().for_each(|what| what());
        serializer.serialize_unit_struct("Tripping")
    }
}

/// A [`Walker`] with such a value.
#[derive(Default, Serialize, Deserialize)]
struct Tripper(Tripping, Walker);

impl DurableAgent for Tripper {
    const KIND: &'static str = "tripper";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        self.1.on_message(ctx, message);
    }

    fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
        self.1.on_hopped(ctx, hop);
    }
}

#[test]
fn lost_destination_during_encoding_keeps_agent() {
    let nodes = Nodes::with(2, 1, |_, builder| builder.kind::<Tripper>());
    let tripper = nodes.at(0).spawn_together([durable("tripper", Tripper::default())]).unwrap()[0];
    nodes.settle();
    *WHILE_WRITTEN.lock().unwrap() = Some(Box::new(nodes.loses_after(0)));
    nodes.at(0).send(inform("x", tripper, go("n1")));
    nodes.idle();
    nodes.goes_on_here(tripper);
}

/// True once the turn of a [`Sluggard`] may end.
static ENOUGH: AtomicBool = AtomicBool::new(false);

/// Agent with a long turn before its hop.
#[derive(Default, Serialize, Deserialize)]
struct Sluggard(Walker);

impl DurableAgent for Sluggard {
    const KIND: &'static str = "sluggard";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        let goes = message.content.functor().is_some();
        while goes && !ENOUGH.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.on_message(ctx, message);
    }
}

#[test]
fn suspended_late_agent_leaves_without_turn() {
    let nodes = Nodes::with(2, 1, |_, builder| builder.kind::<Sluggard>());
    let sluggard = nodes.at(0).spawn_together([durable("sluggard", Sluggard::default())]).unwrap()[0];
    let neighbour = nodes.walker(0, "neighbour");
    nodes.at(0).send(inform("x", sluggard, go("n1")));
    nodes.at(0).send(inform("x", neighbour, 0));
    // Its shard continues without it.
    let deadline = Instant::now() + Duration::from_secs(60);
    while nodes.lines[0].all().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    nodes.at(0).suspend(sluggard).unwrap();
    ENOUGH.store(true, Ordering::Release);
    nodes.idle();
    nodes.at(0).resume(sluggard).unwrap();
    (1..=2).for_each(|number| nodes.at(0).send(inform("x", sluggard, number)));
    nodes.settle();
    assert_eq!(nodes.lines[0].all(), ["neighbour: x:0"]);
    assert_eq!(nodes.lines[1].all(), ["sluggard: x:1", "sluggard: x:2"]);
}

/// Agent that requests a hop with its first message, and fails just before it.
struct Stumbler;

impl AgentBody for Stumbler {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        match turn.mailbox.take() {
            Some(_) => Next::Hop(Box::new(HopRequest { to: Symbol::new("n1"), mode: HopMode::Move })),
            None => Next::Wait,
        }
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }
}

impl Mobile for Stumbler {
    fn before_hop(&mut self) {
        panic!("stumbled");
    }
}

#[test]
fn failure_before_hop_ends_agent() {
    let nodes = Nodes::new(2, 1);
    let stumbler = nodes.at(0).spawn_body("stumbler", Box::new(Stumbler)).unwrap();
    nodes.settle();
    nodes.at(0).send(inform("x", stumbler, "go"));
    nodes.settle();
    assert_eq!(nodes.homes("stumbler"), [0; 0]);
    assert!(nodes.lines[0].notes().iter().any(|note| note.contains("stumbled")), "{:?}", nodes.lines[0].notes());
    let walker = nodes.walker(0, "walker");
    nodes.at(0).send(inform("x", walker, go("n1")));
    nodes.settle();
    assert_eq!(nodes.homes("walker"), [1], "its neighbours go on");
}

/// Small random number generator (splitmix64): a seed determines most of a run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % count as u64) as usize
    }
}

pub fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("WHIMBREL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WHIMBREL_SEEDS").unwrap_or(200),
    }
}

pub fn tell(to: &str, what: impl Into<Value>) -> Value {
    Value::term("tell", [Value::from(to), what.into()])
}

/// Two agents move among three nodes, at the request of others, while all talk with all and items arrive in any
/// order. Each message arrives once, in the order of its sender.
#[test]
fn messages_keep_their_order_whoever_moves() {
    for seed in seeds() {
        let (dice, shared) = (&mut Dice(seed), Lines::default());
        let nodes = Nodes::with(3, 1 + dice.below(2), |_, builder| builder.output(shared.clone()));
        let movers = ["a", "b"];
        for (node, name) in [(0, "d0"), (1, "d1"), (2, "d2"), (0, "a"), (1, "b")] {
            nodes.walker(node, name);
        }
        let pairs = nodes.pairs();
        let mut sent: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
        let mut number = |line: String| {
            let next = sent.entry(line.clone()).or_default();
            *next += 1;
            Value::from(format!("{line} {next}"))
        };
        for _ in 0..150 {
            let (driver, mover) = (dice.below(3), movers[dice.below(2)]);
            let order = match dice.below(10) {
                0 => tell(mover, go(&format!("n{}", dice.below(3)))),
                1 => tell(mover, number(format!("d{driver} to {mover}"))),
                2 => {
                    let to = ["a", "b", "d0", "d1", "d2"][dice.below(5)];
                    tell(mover, tell(to, number(format!("d{driver} by {mover} to {to}"))))
                }
                _ => {
                    for _ in 0..dice.below(8) {
                        let (from, to) = pairs[dice.below(pairs.len())];
                        nodes.step(from, to);
                    }
                    continue;
                }
            };
            nodes.at(driver).send(inform("x", Aid::local(["d0", "d1", "d2"][driver]), order));
        }
        nodes.settle();
        let mut heard: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
        for line in shared.all() {
            let Some((_, said)) = line.split_once('"') else { continue };
            let Some((line, number)) = said.trim_end_matches('"').rsplit_once(' ') else { continue };
            let last = heard.entry(line.to_owned()).or_default();
            assert_eq!(number.parse(), Ok(*last + 1), "seed {seed}: {line} after {last}: {:#?}", shared.all());
            *last += 1;
        }
        assert_eq!(heard, sent, "seed {seed}: {:#?}", shared.all());
        movers.iter().for_each(|mover| assert_eq!(nodes.homes(mover).len(), 1, "seed {seed}"));
        let counters = nodes.counters();
        assert_eq!((counters.dead, counters.queued, counters.came), (0, 0, counters.left), "seed {seed}");
    }
}

/// A message that arrives just before all nodes have followed is at the entry shard by then, but not forwarded yet.
#[test]
fn entry_shard_forwards_last_messages() {
    const MESSAGES: i64 = 50;
    let nodes = Nodes::new(3, 2);
    let teller = nodes.walker(2, "teller");
    let sleeper = nodes.at(1).spawn("sleeper", does(|_, _| std::thread::sleep(Duration::from_millis(3)))).unwrap();
    for number in 0..16 {
        let name = format!("walker{number}");
        let walker = nodes.walker(0, &name);
        nodes.at(0).send(inform("x", walker, go("n1")));
        nodes.idle();
        // While the first shard there is busy, the agent arrives at the second one. Messages for it take the first
        // one to the entry shard.
        nodes.at(1).send(inform("x", sleeper, 0));
        std::thread::sleep(Duration::from_millis(1));
        while nodes.step(0, 1) {}
        nodes.settle();
        nodes.at(1).send(inform("x", walker, go("n0")));
        while nodes.homes(&name) != [0] {
            nodes.idle();
            nodes.step(1, 0);
            nodes.step(0, 1);
        }
        for message in 0..MESSAGES {
            nodes.at(2).send(inform("x", teller, tell(&name, message)));
        }
        nodes.idle();
        while nodes.step(1, 2) {}
        nodes.idle();
        // Its node follows behind the agent's messages, and nothing in between is waited for.
        while nodes.step(2, 1) {}
        nodes.settle();
        let heard: Vec<String> = nodes.lines[0].all();
        let heard: Vec<&str> = heard.iter().filter_map(|line| line.strip_prefix(&format!("{name}: teller:"))).collect();
        assert_eq!(heard, (0..MESSAGES).map(|message| message.to_string()).collect::<Vec<_>>());
    }
}

/// Moving and staying subscribers on three nodes. On each node an agent publishes, and items arrive in any order.
/// Each message reaches each subscriber once, in the order of its sender.
#[test]
fn publications_reach_moving_subscribers() {
    seeds().for_each(|seed| publish_to_movers(seed, None));
}

/// Like the last test, with two nodes that expect each other and are linked some time later.
#[test]
fn publications_reach_subscribers_linked_late() {
    for seed in seeds() {
        for late in [(0, 1), (0, 2), (1, 2)] {
            publish_to_movers(seed, Some(late));
        }
    }
}

fn publish_to_movers(seed: u64, late: Option<(usize, usize)>) {
    let (dice, shared) = (&mut Dice(seed), Lines::default());
    let workers = 1 + dice.below(2);
    let nodes = Nodes::with(3, workers, |_, builder| builder.output(shared.clone()));
    // A subscriber that stays makes its node one that hears the topic anyway.
    let all = [(0, "a"), (1, "b"), (0, "c"), (1, "d")].map(|(node, name)| nodes.walker(node, name));
    let place = ["topic:news", "group:crew"][dice.below(2)];
    let residents = 2 + dice.below(3);
    let subscribers = &all[..residents.min(all.len())];
    for (at, subscriber) in subscribers.iter().enumerate() {
        nodes.at(at % 2).send(inform("x", *subscriber, Value::term("join", [place.into()])));
    }
    for (node, name) in ["d0", "d1", "d2"].into_iter().enumerate() {
        nodes.walker(node, name);
    }
    nodes.settle();
    let (mut late, linked_at) = (late, dice.below(200));
    if let Some((a, b)) = late {
        nodes.expect(a, b);
    }
    let pairs = nodes.pairs();
    let mut sent = [0u32; 3];
    for now in 0..=200 {
        if now >= linked_at
            && let Some((a, b)) = late.take()
        {
            nodes.meet(a, b);
        }
        match dice.below(8) {
            0 => {
                let to = format!("n{}", dice.below(3));
                let mover = ["a", "b"][dice.below(2)];
                let driver = dice.below(3);
                let order = tell(mover, go(&to));
                nodes.at(driver).send(inform("x", Aid::local(["d0", "d1", "d2"][driver]), order));
            }
            1 | 2 => {
                let publisher = dice.below(3);
                sent[publisher] += 1;
                let said = tell(place, format!("d{publisher} {}", sent[publisher]));
                nodes.at(publisher).send(inform("x", Aid::local(["d0", "d1", "d2"][publisher]), said));
            }
            _ => {
                for _ in 0..dice.below(8) {
                    let (from, to) = pairs[dice.below(pairs.len())];
                    nodes.step(from, to);
                }
            }
        }
    }
    nodes.settle();
    heard_all(subscribers, &shared, sent, &format!("seed {seed}, {place}, {workers} workers"));
    // All records of moving subscribers are gone.
    for node in 0..3 {
        let topics = nodes.at(node).topics();
        let listed: usize = topics.iter().map(|(_, here, _)| here).sum();
        let lives = subscribers.iter().filter(|it| nodes.homes(it.name.as_str()) == [node]).count();
        assert_eq!(listed, lives, "seed {seed}: {topics:?}");
    }
    let counters = nodes.counters();
    assert_eq!((counters.dead, counters.queued), (0, 0), "seed {seed}");
}

/// Checks that each of them heard all publications of each node, once and in order.
fn heard_all(subscribers: &[Aid], lines: &Lines, sent: [u32; 3], what: &str) {
    for subscriber in subscribers {
        let heard: Vec<String> =
            lines.all().into_iter().filter(|line| line.starts_with(&format!("{subscriber}: d"))).collect();
        for (publisher, count) in sent.iter().enumerate() {
            let of: Vec<&str> = heard
                .iter()
                .filter_map(|line| line.split_once(&format!(": d{publisher}:")))
                .map(|(_, said)| said)
                .collect();
            let expected: Vec<String> = (1..=*count).map(|n| format!("\"d{publisher} {n}\"")).collect();
            assert_eq!(of, expected, "{what}: {subscriber} of d{publisher}");
        }
    }
}

/// An agent subscribes, has another publish on a node that is not linked yet, and goes.
#[test]
fn subscriber_before_link_misses_nothing() {
    for destination in [1, 2] {
        for met_after in 0..12 {
            let nodes = Nodes::new(3, 1);
            let (walker, publisher) = (nodes.walker(0, "walker"), nodes.walker(2, "publisher"));
            nodes.expect(0, 2);
            nodes.at(0).send(inform("x", walker, Value::term("join", ["topic:news".into()])));
            nodes.idle();
            for number in 0..3 {
                let said = tell(publisher.name.as_str(), tell("topic:news", number));
                nodes.at(0).send(inform("x", walker, said));
            }
            nodes.at(0).send(inform("x", walker, go(&format!("n{destination}"))));
            let pairs = nodes.pairs();
            for step in 0..met_after {
                nodes.idle();
                let (from, to) = pairs[step % pairs.len()];
                nodes.step(from, to);
            }
            nodes.idle();
            nodes.meet(0, 2);
            nodes.settle();
            let heard: Vec<String> =
                nodes.lines[destination].all().into_iter().filter(|it| it.contains("publisher:")).collect();
            let numbers: Vec<Option<&str>> = heard.iter().map(|line| line.rsplit(':').next()).collect();
            assert_eq!(
                numbers,
                [Some("0"), Some("1"), Some("2")],
                "to n{destination}, linked after {met_after}: {heard:?}"
            );
        }
    }
}

/// One of three nodes ends at any moment of a subscriber's hop from the first to the second.
#[test]
fn moved_subscriber_survives_node_loss() {
    for lost in 0..3 {
        for steps in 0..24 {
            let mut nodes = Nodes::new(3, 1);
            let walker = nodes.walker(0, "walker");
            nodes.at(0).send(inform("x", walker, Value::term("join", ["topic:news".into()])));
            for (node, name) in ["d0", "d1", "d2"].into_iter().enumerate() {
                nodes.walker(node, name);
            }
            nodes.at(0).send(inform("x", walker, go("n1")));
            nodes.idle();
            let pairs = nodes.pairs();
            for step in 0..steps {
                let (from, to) = pairs[step % pairs.len()];
                nodes.step(from, to);
                nodes.idle();
            }
            nodes.kill(lost);
            nodes.settle();
            let [home] = nodes.homes("walker")[..] else { continue };
            for node in (0..3).filter(|node| *node != lost) {
                nodes.at(node).send(inform(
                    "x",
                    Aid::local(["d0", "d1", "d2"][node]),
                    tell("topic:news", format!("from {node}")),
                ));
            }
            nodes.settle();
            let heard = nodes.lines[home].all();
            for node in (0..3).filter(|node| *node != lost) {
                let count = heard.iter().filter(|line| line.contains(&format!("\"from {node}\""))).count();
                assert_eq!(count, 1, "n{lost} lost after {steps}, {node} published, it lives at n{home}: {heard:?}");
            }
        }
    }
}

/// An operator ends an agent at its destination, at any moment of the hop.
#[test]
fn moving_agent_is_never_unknown() {
    for steps in 0..24 {
        let nodes = Nodes::new(3, 1);
        let walker = nodes.walker(0, "walker");
        nodes.at(0).send(inform("x", walker, go("n1")));
        let pairs = nodes.pairs();
        for step in 0..steps {
            nodes.idle();
            let (from, to) = pairs[step % pairs.len()];
            nodes.step(from, to);
        }
        nodes.idle();
        let said = nodes.at(1).end(walker, Duration::ZERO);
        assert_ne!(said, KillOutcome::NoSuchAgent, "after {steps}");
        nodes.settle();
        let lives = !nodes.homes("walker").is_empty();
        assert_eq!(lives, matches!(said, KillOutcome::Elsewhere(_)), "after {steps}: {said:?}");
    }
}

/// One of three nodes ends at any moment of a hop from the first to the second.
#[test]
fn node_loss_leaves_one_copy() {
    for seed in seeds() {
        let dice = &mut Dice(seed);
        let mut nodes = Nodes::new(3, 1 + dice.below(2));
        let walker = nodes.walker(0, "walker");
        nodes.walker(2, "other");
        let pairs = nodes.pairs();
        nodes.at(0).send(inform("x", walker, go("n1")));
        nodes.idle();
        for _ in 0..dice.below(40) {
            let (from, to) = pairs[dice.below(pairs.len())];
            nodes.step(from, to);
            nodes.idle();
        }
        nodes.at(2).send(inform("x", Aid::local("other"), tell("walker", 1)));
        nodes.idle();
        let killed = dice.below(3);
        nodes.kill(killed);
        nodes.settle();
        let homes = nodes.homes("walker");
        match killed {
            0 => assert!(homes.is_empty() || homes == [1], "seed {seed}: {homes:?}"),
            1 => assert!(homes.is_empty() || homes == [0], "seed {seed}: {homes:?}"),
            _ => assert_eq!(homes, [1], "seed {seed}"),
        }
        for node in (0..3).filter(|node| *node != killed) {
            let known = nodes.at(node).services().exists(walker);
            assert_eq!(known, !homes.is_empty(), "seed {seed}: n{node} of an agent on {homes:?}");
        }
        let mut counters = nodes.counters();
        // Messages to and from the node that ended are in no other node's accounts.
        (counters.came, counters.left) = (0, 0);
        assert_eq!(counters.queued, 0, "seed {seed}");
    }
}

/// Agents move, end and begin on three nodes, two of which are linked at some moment, one way after the other. Items
/// arrive in any order. In the end all nodes know which agents live, and their services.
#[test]
fn late_links_converge_on_locations() {
    for seed in seeds() {
        let dice = &mut Dice(seed);
        let nodes = Nodes::new(3, 1 + dice.below(2));
        nodes.cut(1, 2);
        nodes.cut(2, 1);
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0)] {
            nodes.link(from, to);
        }
        let mut walkers: Vec<String> = Vec::new();
        let mut late = vec![(dice.below(60), (1, 2)), (dice.below(60), (2, 1))];
        for now in 0..80 {
            for (_, (from, to)) in late.extract_if(.., |(when, _)| *when == now) {
                nodes.link(from, to);
            }
            nodes.idle();
            let drawn = (!walkers.is_empty()).then(|| walkers[dice.below(walkers.len())].clone());
            let home = drawn.as_ref().and_then(|walker| nodes.homes(walker).first().copied());
            match (dice.below(12), drawn, home) {
                (0, ..) if walkers.len() < 6 => {
                    let (node, name) = (dice.below(3), format!("w{now}"));
                    let walker = nodes.at(node).spawn_together([durable(name.as_str(), Walker::default())]).unwrap()[0];
                    nodes.at(node).services().df_register(walker, "walks", &name).unwrap();
                    walkers.push(name);
                }
                (1..=4, Some(walker), Some(home)) => {
                    let to = format!("n{}", dice.below(3));
                    nodes.at(home).move_agent(Aid::local(walker.as_str()), to.as_str(), |_| ());
                }
                (5, Some(walker), Some(home)) => drop(nodes.at(home).kill(Aid::local(walker.as_str()))),
                (6, Some(walker), Some(home)) => {
                    nodes.at(home).services().df_deregister(Aid::local(walker.as_str()), "walks", &walker);
                }
                _ => nodes.step_some(dice, &mut late),
            }
        }
        late.into_iter().for_each(|(_, (from, to))| nodes.link(from, to));
        nodes.settle();
        for walker in &walkers {
            let homes = nodes.homes(walker);
            assert!(homes.len() < 2, "seed {seed}: {walker} on {homes:?}");
            let aid = Aid::local(walker.as_str());
            let offers =
                homes.first().is_some_and(|home| !nodes.at(*home).services().df_search("walks", walker).is_empty());
            for node in 0..3 {
                assert_eq!(nodes.knows(node, aid), !homes.is_empty(), "seed {seed}: n{node} of {walker} on {homes:?}");
                let found = nodes.at(node).services().df_search("walks", walker);
                assert_eq!(!found.is_empty(), offers, "seed {seed}: n{node} of what {walker} on {homes:?} offers");
            }
        }
    }
}

#[test]
fn agent_questioned_during_hop_survives() {
    let nodes = Nodes::new(2, 2);
    let walker = nodes.walker(0, "walker");
    nodes.at(0).services().join(walker, group("crew").unwrap()).unwrap();
    nodes.at(0).services().df_register(walker, "walks", "").unwrap();
    nodes.settle();
    for round in 0..20 {
        let (from, to) = (round % 2, (round + 1) % 2);
        assert_eq!(nodes.homes("walker"), [from], "round {round}");
        nodes.at(from).move_agent(walker, format!("n{to}").as_str(), |_| ());
        // Both nodes are asked before each item between them.
        for _ in 0..20 {
            for (me, other) in [(0, NodeId(1)), (1, NodeId(0))] {
                nodes.at(me).station().hear(other, News::Asks(vec![walker.name.into()]));
            }
            for _ in 0..4 {
                nodes.idle();
                nodes.step(0, 1);
                nodes.step(1, 0);
            }
        }
        nodes.settle();
        assert_eq!(nodes.homes("walker"), [to], "round {round}");
        for node in 0..2 {
            assert_eq!(nodes.at(node).services().df_search("walks", ""), [walker], "round {round}: n{node}");
            assert_eq!(nodes.at(node).services().members(group("crew").unwrap()), [walker], "round {round}: n{node}");
        }
    }
}
