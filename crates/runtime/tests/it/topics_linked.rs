//! Topics and groups of several nodes, on wires that the tests control.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::link::News;
use whimbrel_platform::policy::Policy;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::topics::{TopicError, any_member, group, topic};
use whimbrel_platform::{AgentBody, Counters, Links, Next, Turn};
use whimbrel_runtime::{Agent, Context, Platform};

use super::kit::{does, inform, wait_for};
use super::topics::MessageRecord;

enum TopicItem {
    Message(Envelope),
    News(News),
}

/// Items on their way from one node to each other.
#[derive(Default)]
struct TopicWires {
    me: usize,
    queues: Mutex<Vec<VecDeque<TopicItem>>>,
}

impl TopicWires {
    fn put(&self, to: usize, item: TopicItem) {
        if let Some(queue) = self.queues.lock().unwrap().get_mut(to) {
            queue.push_back(item);
        }
    }

    fn messages(&self, to: usize) -> usize {
        self.queues.lock().unwrap()[to].iter().filter(|item| matches!(item, TopicItem::Message(_))).count()
    }
}

impl Links for TopicWires {
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, _from: ShardIndex) -> usize {
        batch.drain(..).for_each(|envelope| self.put(to.0 as usize, TopicItem::Message(envelope)));
        usize::MAX
    }

    fn go_on(&self) {}

    fn tell_all(&self, news: News) {
        let count = self.queues.lock().unwrap().len();
        (0..count).filter(|to| *to != self.me).for_each(|to| self.put(to, TopicItem::News(news.clone())));
    }

    fn tell(&self, to: NodeId, news: News) {
        self.put(to.0 as usize, TopicItem::News(news));
    }

    fn waiting(&self) -> u64 {
        let count = self.queues.lock().unwrap().len();
        (0..count).map(|to| self.messages(to) as u64).sum()
    }

    fn me(&self) -> String {
        format!("n{}", self.me)
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        Some(format!("n{}", node.0))
    }
}

/// Nodes of one platform.
struct TopicNodes {
    platforms: Vec<Platform>,
    wires: Vec<Arc<TopicWires>>,
    /// Number of messages that crossed, by sender and receiver.
    crossed: Vec<Vec<usize>>,
    heard: MessageRecord,
}

/// Agent in a topic, a group, or both, that records its messages; `end` ends it, `leave` makes it leave the topic.
struct MemberAgent {
    topic: Option<&'static str>,
    group: Option<&'static str>,
    heard: MessageRecord,
}

impl Agent for MemberAgent {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.topic.into_iter().for_each(|name| ctx.subscribe(name).unwrap());
        self.group.into_iter().for_each(|name| ctx.join(name).unwrap());
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        self.heard.note(ctx, &message);
        match message.content.to_string().as_str() {
            "end" => ctx.end(),
            "leave" => assert!(ctx.unsubscribe(self.topic.unwrap())),
            _ => {}
        }
    }
}

impl TopicNodes {
    fn new(count: usize) -> Self {
        Self::with(count, |builder| builder)
    }

    fn with(
        count: usize,
        build: impl Fn(whimbrel_runtime::PlatformBuilder) -> whimbrel_runtime::PlatformBuilder,
    ) -> Self {
        let platforms: Vec<Platform> = (0..count).map(|_| build(Platform::builder().workers(2)).build()).collect();
        let wires: Vec<Arc<TopicWires>> = (0..count)
            .map(|me| Arc::new(TopicWires { me, queues: Mutex::new((0..count).map(|_| VecDeque::new()).collect()) }))
            .collect();
        for (platform, wires) in platforms.iter().zip(&wires) {
            assert!(platform.link_with(Arc::clone(wires) as Arc<dyn Links>));
        }
        Self { platforms, wires, crossed: vec![vec![0; count]; count], heard: MessageRecord::default() }
    }

    fn idle(&self) {
        self.platforms.iter().for_each(Platform::wait_idle);
    }

    /// Delivers all items from one node to another.
    fn carry(&mut self, from: usize, to: usize) -> bool {
        self.idle();
        let items = std::mem::take(&mut self.wires[from].queues.lock().unwrap()[to]);
        let (any, station) = (!items.is_empty(), self.platforms[to].station());
        for item in items {
            match item {
                TopicItem::Message(envelope) => {
                    self.crossed[from][to] += 1;
                    station.arrive(NodeId(from as u32), &mut vec![envelope]);
                }
                TopicItem::News(news) => station.hear(NodeId(from as u32), news),
            }
        }
        self.idle();
        any
    }

    /// Delivers everything, including all consequences.
    fn settle(&mut self) {
        let count = self.platforms.len();
        loop {
            let mut any = false;
            for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
                any |= from != to && self.carry(from, to);
            }
            if !any {
                return;
            }
        }
    }

    fn listen(&mut self, node: usize, name: &str, topic: Option<&'static str>, group: Option<&'static str>) -> Aid {
        let aid = self.platforms[node].spawn(name, MemberAgent { topic, group, heard: self.heard.clone() }).unwrap();
        self.settle();
        aid
    }

    /// Creates an agent that forwards content to a receiver (`[to, content]`), and records failures.
    fn speaker(&mut self, node: usize, name: &str) -> Aid {
        let heard = self.heard.clone();
        let speak = does(move |ctx, message| {
            if message.performative == Performative::Failure {
                return heard.0.lock().unwrap().push(format!("{}!{}", ctx.aid(), message.content));
            }
            let items: Vec<Value> = message.content.items().cloned().collect();
            let [Value::Str(to), content] = items.as_slice() else { return };
            ctx.tell(to.parse().unwrap(), Performative::Inform, content.clone());
        });
        let aid = self.platforms[node].spawn(name, speak).unwrap();
        self.settle();
        aid
    }

    fn say(&self, node: usize, speaker: Aid, to: Aid, content: impl Into<Value>) {
        let order = Value::list([Value::from(to.to_string()), content.into()]);
        self.platforms[node].send(inform("test", speaker, order));
        self.idle();
    }

    fn counters(&self) -> Counters {
        self.platforms.iter().map(Platform::counters).sum()
    }

    fn check(&self) {
        for (node, platform) in self.platforms.iter().enumerate() {
            platform.counters().check().unwrap_or_else(|error| panic!("node {node}: {error}"));
        }
    }
}

fn names(numbers: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    numbers.map(|number| format!("listener{number}"))
}

#[test]
fn publication_crosses_each_link_once() {
    let mut nodes = TopicNodes::new(3);
    for (number, name) in names(0..9).enumerate() {
        nodes.listen(number % 3, &name, Some("weather"), None);
    }
    let speaker = nodes.speaker(0, "speaker");
    let before = nodes.counters();
    let crossed = nodes.crossed.clone();
    for number in 0..5 {
        nodes.say(0, speaker, topic("weather").unwrap(), Value::Int(number));
    }
    nodes.settle();
    assert_eq!(nodes.heard.count("<topic:weather:"), 9 * 5);
    assert_eq!((nodes.crossed[0][1] - crossed[0][1], nodes.crossed[0][2] - crossed[0][2]), (5, 5));
    assert_eq!((nodes.crossed[1][2], nodes.crossed[2][1]), (crossed[1][2], crossed[2][1]), "nothing is sent on");
    nodes.check();
    let after = nodes.counters();
    // The messages to the speaker, and nine for each publication.
    assert_eq!(after.sent - before.sent, 5 + 9 * 5);
    assert_eq!((after.dead, after.queued), (0, 0));
}

#[test]
fn subscription_reaches_other_nodes_later() {
    let mut nodes = TopicNodes::new(2);
    let (near, far) = (nodes.speaker(0, "near"), nodes.speaker(1, "far"));
    nodes.listen(0, "other", None, None);
    let listener = MemberAgent { topic: Some("weather"), group: None, heard: nodes.heard.clone() };
    nodes.platforms[0].spawn("listener", listener).unwrap();
    nodes.platforms[0].wait_idle();
    nodes.say(1, far, topic("weather").unwrap(), "too early");
    nodes.say(0, near, topic("weather").unwrap(), "in time");
    assert_eq!(nodes.heard.lines(), ["listener<topic:weather:\"in time\""]);
    // A later message of the node comes after the news of the subscription.
    nodes.say(0, near, far, Value::list([Value::from("topic:weather"), Value::from("at last")]));
    nodes.settle();
    assert_eq!(nodes.heard.lines()[1..], ["listener<topic:weather:\"at last\""]);
    nodes.check();
}

#[test]
fn publication_without_subscriber_is_fine() {
    let mut nodes = TopicNodes::new(2);
    let (speaker, listener) = (nodes.speaker(0, "speaker"), nodes.listen(1, "listener", Some("weather"), None));
    nodes.say(0, speaker, topic("weather").unwrap(), Value::atom("leave"));
    nodes.carry(0, 1);
    // The agent left, and the news is on its way.
    nodes.say(0, speaker, topic("weather").unwrap(), "rain");
    assert_eq!(nodes.wires[0].messages(1), 1);
    nodes.settle();
    nodes.say(0, speaker, topic("weather").unwrap(), "rain");
    assert_eq!(nodes.wires[0].messages(1), 0);
    assert_eq!(nodes.heard.lines(), ["listener<topic:weather:leave"]);
    assert!(nodes.platforms.iter().all(|platform| platform.dead_letters().is_empty()));
    nodes.check();
    assert!(nodes.platforms[1].kill(listener));
}

#[test]
fn nodes_keep_publication_order() {
    let mut nodes = TopicNodes::new(2);
    let listeners = ["a", "b"].map(|name| nodes.listen(1, name, Some("weather"), None));
    let publisher = nodes.platforms[0]
        .spawn(
            "publisher",
            does(move |ctx, message| {
                let n = message.content.as_f64().unwrap() as i64;
                ctx.publish("weather", Performative::Inform, Value::Int(2 * n)).unwrap();
                for listener in listeners {
                    ctx.tell(listener, Performative::Inform, Value::Int(2 * n + 1));
                }
            }),
        )
        .unwrap();
    for n in 0..600_i64 {
        nodes.platforms[0].send(inform("test", publisher, Value::Int(n)));
        nodes.platforms[1].move_to_worker(listeners[n as usize % 2], n as usize / 3);
        if n % 10 == 0 {
            nodes.carry(0, 1);
        }
    }
    nodes.settle();
    for name in ["a<", "b<"] {
        let lines = nodes.heard.lines();
        let of_this = lines.iter().filter(|line| line.starts_with(name));
        let numbers: Vec<u64> = of_this.map(|line| line.rsplit_once(':').unwrap().1.parse().unwrap()).collect();
        assert_eq!(numbers, (0..1_200).collect::<Vec<_>>(), "{name}");
    }
    nodes.check();
}

#[test]
fn anycast_covers_all_nodes() {
    let mut nodes = TopicNodes::new(3);
    for (number, name) in names(0..6).enumerate() {
        nodes.listen(number % 3, &name, None, Some("crew"));
    }
    let speaker = nodes.speaker(0, "speaker");
    for _ in 0..12 {
        nodes.say(0, speaker, any_member("crew").unwrap(), "job");
    }
    nodes.settle();
    for name in names(0..6) {
        assert_eq!(nodes.heard.count(&format!("{name}<any:crew:")), 2, "{:?}", nodes.heard.lines());
    }
    nodes.say(0, speaker, group("crew").unwrap(), "all");
    nodes.settle();
    assert_eq!(nodes.heard.count("<group:crew:"), 6);
    for platform in &nodes.platforms {
        assert_eq!(platform.services().members(group("crew").unwrap()).len(), 6);
    }
    nodes.check();
}

#[test]
fn remote_job_finds_another_member() {
    let mut nodes = TopicNodes::new(2);
    let speaker = nodes.speaker(0, "speaker");
    let first = nodes.listen(1, "first", None, Some("crew"));
    nodes.say(0, speaker, any_member("crew").unwrap(), "job 1");
    nodes.platforms[1].kill(first);
    nodes.platforms[1].wait_idle();
    let second = MemberAgent { topic: None, group: Some("crew"), heard: nodes.heard.clone() };
    let second = nodes.platforms[1].spawn("second", second).unwrap();
    nodes.settle();
    assert_eq!(nodes.heard.lines(), ["second<any:crew:\"job 1\""]);
    // Without members there, the sender gets a failure.
    nodes.say(0, speaker, any_member("crew").unwrap(), "job 2");
    nodes.platforms[1].kill(second);
    nodes.settle();
    let failure = nodes.heard.lines().pop().unwrap();
    assert!(failure.starts_with("speaker!") && failure.contains("job 2"), "{failure}");
    nodes.check();
}

#[test]
fn lost_node_loses_its_members() {
    let mut nodes = TopicNodes::new(3);
    let speaker = nodes.speaker(0, "speaker");
    nodes.listen(1, "lost", Some("weather"), Some("crew"));
    nodes.listen(2, "there", Some("weather"), None);
    nodes.say(0, speaker, topic("weather").unwrap(), "rain");
    nodes.say(0, speaker, any_member("crew").unwrap(), "job");
    nodes.say(0, speaker, group("crew").unwrap(), "all");
    let on_their_way = std::mem::take(&mut nodes.wires[0].queues.lock().unwrap()[1]);
    let message = |item| if let TopicItem::Message(envelope) = item { Some(envelope) } else { None };
    nodes.platforms[0].station().lose(NodeId(1), on_their_way.into_iter().filter_map(message).collect());
    nodes.settle();
    let lines = nodes.heard.lines();
    // The fate of the one job is unknown; publications cause no failures.
    assert_eq!(lines.iter().filter(|line| line.starts_with("speaker!")).count(), 1, "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("undelivered(lost,unreachable)")), "{lines:?}");
    assert_eq!(nodes.heard.count("there<topic:weather:"), 1);
    let mut reasons: Vec<DeadReason> = nodes.platforms[0].dead_letters().iter().map(|letter| letter.reason).collect();
    reasons.sort_unstable_by_key(|reason| reason.as_str());
    assert_eq!(reasons, [DeadReason::AgentEnded, DeadReason::AgentEnded, DeadReason::Unreachable]);
    nodes.say(0, speaker, topic("weather").unwrap(), "sun");
    nodes.settle();
    assert_eq!(nodes.heard.count("there<topic:weather:"), 2);
    assert!(!nodes.platforms[0].services().exists(group("crew").unwrap()));
    nodes.platforms[0].counters().check().unwrap();
    nodes.platforms[2].counters().check().unwrap();
}

#[test]
fn remote_crowding_slows_publishers() {
    let mut nodes = TopicNodes::with(2, |builder| builder.mailbox_limits(10, 100_000));
    let lazy = nodes.listen(1, "lazy", Some("weather"), Some("crew"));
    nodes.listen(1, "keen", None, Some("crew"));
    let speaker = nodes.speaker(0, "speaker");
    nodes.platforms[1].suspend(lazy).unwrap();
    for _ in 0..20 {
        nodes.say(0, speaker, topic("weather").unwrap(), "rain");
    }
    nodes.settle();
    for _ in 0..20 {
        nodes.say(0, speaker, any_member("crew").unwrap(), "job");
    }
    nodes.settle();
    assert_eq!(nodes.heard.count("keen<any:crew:"), 20);
    // The publisher's turns come later from now on.
    let publisher = nodes.platforms[0]
        .spawn(
            "publisher",
            does(move |ctx, _| {
                ctx.publish("weather", Performative::Inform, "rain").unwrap();
                let me = ctx.aid();
                ctx.tell(me, Performative::Inform, "again");
            }),
        )
        .unwrap();
    nodes.platforms[0].send(inform("test", publisher, "go"));
    wait_for("it publishes", || nodes.wires[0].messages(1) > 0);
    std::thread::sleep(Duration::from_millis(200));
    nodes.platforms[0].kill(publisher);
    let sent = nodes.wires[0].messages(1);
    assert!(sent < 5_000, "{sent} publications");
    nodes.platforms[1].resume(lazy).unwrap();
    nodes.settle();
    nodes.check();
    assert_eq!(nodes.platforms[1].counters().queued, 0);
}

#[test]
fn new_peer_hears_all_memberships() {
    let mut nodes = TopicNodes::with(2, |builder| builder.mailbox_limits(5, 100));
    nodes.listen(0, "a", Some("weather"), Some("crew"));
    let b = nodes.listen(0, "b", Some("news"), Some("crew"));
    nodes.platforms[0].suspend(b).unwrap();
    for _ in 0..6 {
        nodes.platforms[0].send(inform("test", b, "hello"));
    }
    nodes.idle();
    let mut told = Vec::new();
    let station = nodes.platforms[0].station();
    station.introduce(&mut |news| told.extend(news));
    assert_eq!(station.introduce_more(0, &mut |news| told.extend(news)), None);
    let about_topics = |news: &&News| !matches!(news, News::Agents(_) | News::Service(_));
    let name = whimbrel_acl::Symbol::new;
    let expected = [
        News::Topics(vec![name("topic:news"), name("topic:weather")]),
        News::Joined(name("group:crew"), vec![name("a"), name("b")]),
        News::Crowded(name("group:crew"), true),
        News::Crowded(name("topic:news"), true),
        News::Introduced,
    ];
    assert_eq!(told.iter().filter(about_topics).collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
}

#[test]
fn foreign_names_in_news_are_ignored() {
    let mut nodes = TopicNodes::new(2);
    let speaker = nodes.speaker(0, "speaker");
    nodes.listen(0, "member", Some("weather"), Some("crew"));
    let station = nodes.platforms[0].station();
    let name = whimbrel_acl::Symbol::new;
    station.hear(
        NodeId(1),
        News::Agents(vec![("topic:weather".into(), AgentKind::Native), ("x".into(), AgentKind::Native)]),
    );
    station.hear(NodeId(1), News::Joined(name("group:crew"), vec![name("speaker"), name("nobody")]));
    station.hear(NodeId(1), News::Topics(vec![name("group:crew"), name("x")]));
    station.hear(NodeId(1), News::Joined(name("topic:weather"), vec![name("x")]));
    for to in [topic("weather").unwrap(), group("crew").unwrap(), any_member("crew").unwrap()] {
        nodes.say(0, speaker, to, "hello");
    }
    assert_eq!(nodes.wires[0].messages(1), 0);
    assert_eq!(nodes.heard.count("member<"), 3);
    // A message from there to one of a group stays here.
    let message = inform("x", any_member("crew").unwrap(), "job");
    let envelope = Envelope { to: message.receivers[0], body: MessageBody::Owned(Box::new(message)) };
    station.arrive(NodeId(1), &mut vec![envelope]);
    nodes.idle();
    assert_eq!(nodes.heard.count("member<any:crew:\"job\""), 1);
    nodes.platforms[0].counters().check().unwrap();
}

#[test]
fn policy_restricts_topics() {
    let policy =
        r#"{"deny": [{"who": "agent:spy*", "publish": "vault*", "send": "group:guards", "subscribe": "weather"}]}"#;
    let policy: Policy = serde_json::from_str(policy).unwrap();
    let mut nodes = TopicNodes::with(2, |builder| builder.policy(policy.clone()));
    nodes.listen(0, "keeper", Some("vault/door"), Some("guards"));
    let (spy, far_spy) = (nodes.speaker(0, "spy"), nodes.speaker(1, "spy2"));
    let amy = nodes.speaker(0, "amy");
    let (door, guards) = (topic("vault/door").unwrap(), group("guards").unwrap());
    for to in [door, guards, any_member("guards").unwrap()] {
        nodes.say(0, spy, to, "open");
        nodes.say(1, far_spy, to, "open");
        nodes.say(0, amy, to, "hello");
    }
    nodes.settle();
    assert_eq!((nodes.heard.count("\"open\""), nodes.heard.count("keeper<")), (6, 3), "{:?}", nodes.heard.lines());
    assert_eq!(nodes.heard.count("!"), 6);
    assert_eq!(nodes.heard.count("forbidden"), 6, "{:?}", nodes.heard.lines());
    let services = nodes.platforms[0].services();
    let weather = topic("weather").unwrap();
    assert_eq!(services.join(spy, weather), Err(TopicError::Forbidden { agent: spy, to: weather }));
    assert_eq!(services.join(amy, weather), Ok(()));
    nodes.check();
}

/// Only the first node has a policy. It does not announce subscriptions to nodes that may not subscribe.
#[test]
fn policy_restricts_remote_subscriptions() {
    let policy =
        r#"{"deny": [{"who": ["node:n2", "agent:spy"], "subscribe": ["vault/*", "group:guards", "group:lodge"]}]}"#;
    let policy: Policy = serde_json::from_str(policy).unwrap();
    let first = Cell::new(true);
    let mut nodes =
        TopicNodes::with(3, |builder| if first.replace(false) { builder.policy(policy.clone()) } else { builder });
    nodes.listen(1, "near", Some("vault/door"), Some("guards"));
    nodes.listen(1, "spy", None, Some("lodge"));
    nodes.listen(2, "far", Some("vault/door"), Some("guards"));
    nodes.listen(2, "sam", Some("weather"), Some("crew"));
    let (amy, bob) = (nodes.speaker(0, "amy"), nodes.speaker(1, "bob"));
    for name in ["guards", "lodge", "crew"] {
        nodes.say(0, amy, group(name).unwrap(), "secret");
    }
    for to in [topic("vault/door"), any_member("guards"), topic("weather")] {
        nodes.say(0, amy, to.unwrap(), "secret");
    }
    nodes.settle();
    let heard = |name: &str| nodes.heard.count(name);
    assert_eq!(
        (heard("near<"), heard("spy<"), heard("far<"), heard("sam<")),
        (3, 0, 0, 2),
        "{:?}",
        nodes.heard.lines()
    );
    nodes.say(1, bob, topic("vault/door").unwrap(), "hello");
    nodes.say(1, bob, group("guards").unwrap(), "hello");
    nodes.say(1, bob, group("lodge").unwrap(), "hello");
    nodes.settle();
    assert_eq!((nodes.heard.count("spy<"), nodes.heard.count("far<")), (1, 2), "{:?}", nodes.heard.lines());
    nodes.check();
}

/// Agent that takes four messages a turn, and then waits for more.
struct Sipper;

impl AgentBody for Sipper {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        (0..4).for_each(|_| drop(turn.mailbox.take()));
        Next::Wait
    }
}

/// An agent that is no longer crowded after it moved to another worker does not count as crowded for ever.
#[test]
fn moved_agents_relief_is_announced() {
    let mut nodes = TopicNodes::with(2, |builder| builder.mailbox_limits(10, 1_000));
    let sipper = nodes.platforms[0].spawn_body("sipper", Box::new(Sipper)).unwrap();
    nodes.settle();
    // Only senders to the agent have to know.
    nodes.platforms[1].send(inform("test", sipper, "hello"));
    nodes.settle();
    let platform = &nodes.platforms[0];
    platform.suspend(sipper).unwrap();
    for _ in 0..12 {
        platform.send(inform("test", sipper, "hello"));
    }
    platform.wait_idle();
    platform.resume(sipper).unwrap();
    platform.wait_idle();
    platform.move_to_worker(sipper, 1);
    platform.wait_idle();
    let queues = nodes.wires[0].queues.lock().unwrap();
    let crowded = queues[1].iter().filter_map(|item| match item {
        TopicItem::News(News::Crowded(_, crowded)) => Some(*crowded),
        _ => None,
    });
    assert_eq!(crowded.collect::<Vec<_>>(), [true, false]);
}

#[test]
fn subscribers_may_reuse_names() {
    let mut nodes = TopicNodes::new(2);
    let speaker = nodes.speaker(0, "speaker");
    let (mut listeners, mut expected) = (Vec::new(), 0);
    for round in 0..30_usize {
        // Two of three names are taken at a time; each bearer lives for two rounds.
        let name = format!("listener{}", round % 3);
        listeners.push(nodes.listen(1, &name, Some("weather"), None));
        if let Some(oldest) = listeners.len().checked_sub(3).and_then(|index| listeners.get(index)) {
            assert!(nodes.platforms[1].kill(*oldest));
        }
        nodes.settle();
        nodes.platforms[1].move_to_worker(listeners[round], round);
        for number in 0..5 {
            nodes.say(0, speaker, topic("weather").unwrap(), Value::Int((round * 10 + number) as i64));
        }
        expected += 5 * listeners.len().min(2);
        nodes.settle();
        assert_eq!(nodes.heard.count("<topic:weather:"), expected, "round {round}");
    }
    nodes.check();
    assert_eq!(nodes.counters().dead, 0);
}
