//! Real sockets between hubs, whose schedulers are stand-ins that note what comes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod enrolment;
mod fuzz;
mod links;
mod refusals;
mod signed;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_net::signing::Evidence;
use whimbrel_net::{Credentials, Hub, HubConfig, LinkSecurity};
use whimbrel_platform::df::{DfDescription, ServiceDescription};
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::{NewsExchange, Station, Time};

/// A scheduler that only notes. It has one agent, and believes that every other node has the agents it says.
struct RecordingStation {
    agent: String,
    begun: Instant,
    messages: Mutex<Vec<AclMessage>>,
    forged: Mutex<Vec<AclMessage>>,
    lost: Mutex<Vec<AclMessage>>,
    /// Number of messages that had arrived when a node was lost, for each such node.
    heard_at_loss: Mutex<Vec<usize>>,
    agents: Mutex<Vec<(NodeId, String)>>,
    busy: std::sync::atomic::AtomicBool,
    /// Number of times that senders were told to go on.
    drained: std::sync::atomic::AtomicUsize,
    /// Rest of the node's introduction, or of that of its peer.
    rest: Option<Arc<IntroductionRest>>,
}

/// Rest of an introduction in so many chunks, each of one long entry, and how far both ends are.
#[derive(Default)]
struct IntroductionRest {
    speaker: String,
    chunks: u64,
    bytes: usize,
    heard: std::sync::atomic::AtomicU64,
    /// Chunks that were asked for before the peer heard them, at most.
    ahead: std::sync::atomic::AtomicU64,
    introduced: std::sync::atomic::AtomicBool,
}

impl IntroductionRest {
    fn chunk(&self, place: u64) -> News {
        self.ahead.fetch_max(place - self.heard.load(Ordering::SeqCst), Ordering::SeqCst);
        let text = Value::Str("x".repeat(self.bytes).into());
        let service = ServiceDescription { properties: vec![("text".into(), text)], ..ServiceDescription::default() };
        let agent = Some(Aid::local(format!("entry-{place}").as_str()));
        News::Service(Box::new(DfDescription { agent, services: vec![service], ..DfDescription::default() }))
    }

    fn hear(&self, news: &News) {
        match news {
            News::Service(_) => _ = self.heard.fetch_add(1, Ordering::SeqCst),
            News::Introduced => self.introduced.store(true, Ordering::SeqCst),
            _ => {}
        }
    }
}

fn messages_of(envelopes: impl IntoIterator<Item = Envelope>) -> impl Iterator<Item = AclMessage> {
    envelopes.into_iter().map(|envelope| *envelope.body.into_message())
}

impl Station for RecordingStation {
    fn arrive(&self, _from: NodeId, messages: &mut Vec<Envelope>) {
        self.messages.lock().unwrap().extend(messages_of(messages.drain(..)));
    }

    fn arrive_forwarded(&self, _from: NodeId, message: Envelope) {
        self.messages.lock().unwrap().extend(messages_of([message]));
    }

    fn lose(&self, _node: NodeId, messages: Vec<Envelope>) {
        self.heard_at_loss.lock().unwrap().push(self.messages.lock().unwrap().len());
        self.lost.lock().unwrap().extend(messages_of(messages));
    }

    fn refuse(&self, messages: Vec<Envelope>) {
        self.lost.lock().unwrap().extend(messages_of(messages));
    }

    fn refuse_unsigned(&self, messages: Vec<Envelope>) {
        self.lost.lock().unwrap().extend(messages_of(messages));
    }

    fn speaks_for(&self, node: NodeId, sender: Aid) -> bool {
        whimbrel_platform::ams::is_everywhere(sender.name)
            || self.agents.lock().unwrap().iter().any(|(of, name)| *of == node && *name == sender.name.as_str())
    }

    fn refuse_forged(&self, messages: Vec<Envelope>) {
        self.forged.lock().unwrap().extend(messages_of(messages));
    }

    fn has_room(&self) -> bool {
        !self.busy.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn drained(&self, _to: NodeId, shards: &[ShardIndex]) {
        self.drained.fetch_add(shards.len(), std::sync::atomic::Ordering::Relaxed);
    }

    fn now(&self) -> Time {
        Time(self.begun.elapsed().as_micros() as u64)
    }
}

impl NewsExchange for RecordingStation {
    fn hear(&self, from: NodeId, news: News) {
        let heard = self.rest.iter().filter(|rest| rest.speaker != self.agent);
        heard.for_each(|rest| rest.hear(&news));
        if let News::Agents(agents) = news {
            self.agents.lock().unwrap().extend(agents.iter().map(|(name, _)| (from, name.to_string())));
        }
    }

    fn introduce(&self, tell: &mut dyn FnMut(Vec<News>)) {
        let kind = whimbrel_platform::ams::AgentKind::Native;
        tell(vec![News::Agents(vec![(self.agent.as_str().into(), kind)])]);
    }

    fn introduce_more(&self, place: u64, tell: &mut dyn FnMut(Vec<News>)) -> Option<u64> {
        let rest = self.rest.as_ref().filter(|rest| rest.speaker == self.agent && place < rest.chunks);
        tell(vec![rest.map_or(News::Introduced, |rest| rest.chunk(place))]);
        rest.map(|_| place + 1)
    }
}

/// A node of the platform `p`.
struct TestNode {
    hub: Hub,
    desk: Arc<RecordingStation>,
    log: Arc<Mutex<Vec<String>>>,
}

/// Settings that a test changes.
#[derive(Default)]
struct Setting {
    level: Option<LinkSecurity>,
    credentials: Option<Credentials>,
    token: Option<&'static str>,
    evidence: Option<Arc<Evidence>>,
    incarnation: Option<u64>,
    patience: Option<Duration>,
    name_bytes_max: Option<u64>,
    rest: Option<Arc<IntroductionRest>>,
}

impl TestNode {
    fn start(name: &str, setting: Setting) -> Self {
        let desk = Arc::new(RecordingStation {
            agent: format!("agent-of-{name}"),
            begun: Instant::now(),
            messages: Mutex::default(),
            forged: Mutex::default(),
            lost: Mutex::default(),
            heard_at_loss: Mutex::default(),
            agents: Mutex::default(),
            busy: false.into(),
            drained: 0.into(),
            rest: setting.rest,
        });
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let incarnation = setting.incarnation.unwrap_or_else(|| name.bytes().map(u64::from).product());
        let mut config = HubConfig::new("p", name, incarnation);
        config.patience = setting.patience.unwrap_or(config.patience);
        config.name_bytes_max = setting.name_bytes_max.unwrap_or(config.name_bytes_max);
        config.level = setting.level.unwrap_or(LinkSecurity::Open);
        config.credentials = setting.credentials;
        config.token = setting.token.map(str::to_owned);
        config.evidence = setting.evidence;
        let lines = Arc::clone(&log);
        config.log = Box::new(move |line| lines.lock().unwrap().push(line.to_owned()));
        let station: Arc<dyn Station> = Arc::<RecordingStation>::clone(&desk);
        let hub = Hub::start(config, station, Some("127.0.0.1:0")).expect("it starts");
        Self { hub, desk, log }
    }

    fn address(&self) -> &str {
        self.hub.address().expect("it listens")
    }

    /// Sends a message of `sender` whose content is a number.
    fn send(&self, to: NodeId, sender: &str, number: u64) {
        self.send_for_room(to, sender, number);
    }

    /// Sends a message like `send`. Returns how many more may follow.
    fn send_for_room(&self, to: NodeId, sender: &str, number: u64) -> usize {
        let content = Value::Int(number as i64);
        let message = AclMessage::new(Performative::Inform, Aid::local(sender), Aid::local("b"), content);
        let envelope = Envelope { to: Aid::local("b"), body: MessageBody::Owned(Box::new(message)) };
        self.hub.links().send(to, &mut vec![envelope], 0)
    }

    fn numbers(&self) -> Vec<u64> {
        numbers(&self.desk.messages)
    }

    fn logged(&self, part: &str) -> bool {
        self.log.lock().unwrap().iter().any(|line| line.contains(part))
    }
}

fn numbers(messages: &Mutex<Vec<AclMessage>>) -> Vec<u64> {
    let number = |message: &AclMessage| match message.content {
        Value::Int(number) => number as u64,
        _ => panic!("{message:?}"),
    };
    messages.lock().unwrap().iter().map(number).collect()
}

/// Waits until a condition holds.
#[track_caller]
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
