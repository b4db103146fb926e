//! Messaging between two processes, as the study of secure messaging does it: producers in one, consumers in the other,
//! each message a whole ACL message from one agent to another (or on a topic that all consumers subscribe to), paced or
//! as many as possible.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_net::{Authority, Hub, HubConfig, LinkSecurity, NODE_DAYS};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::link::News;
use whimbrel_platform::topics::topic;
use whimbrel_platform::{AgentBody, EndReason, Next, Time, Turn};
use whimbrel_runtime::Platform;

use super::{Metrics, percentile};
use whimbrel::node::node_secrets::{NodeSecrets, read_secrets};
use whimbrel_terminal::options::SecurityLevel;

/// Longest wait for the next consumer to have all its messages.
const PATIENCE: Duration = Duration::from_secs(300);
/// Messages of each producer that paces itself, and how long after each other.
const PACED_MESSAGES: u64 = 500;
const PACE_US: u64 = 1_000;
/// Messages of all producers together that do not, if nothing else is said.
const SATURATED_MESSAGES: u64 = 2_000_000;
/// The same if each is signed: a signature takes a hundred times as long as all the rest.
const SATURATED_SIGNED_MESSAGES: u64 = 50_000;
/// Number of messages of which one is timed, if they come as fast as possible.
const TIMED_OF: u64 = 16;
/// The kernel's unit of processor time, a hundredth of a second, on every Linux there is.
const TICKS_PER_S: f64 = 100.0;

/// Measure messages between two processes.
#[derive(Debug, Args)]
pub struct Messaging {
    /// Pattern of senders and receivers.
    #[arg(long, value_enum, default_value_t = Scenario::OneToOne)]
    pub scenario: Scenario,
    /// Number of agents that send.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub producers: u16,
    /// Number of agents that receive, for broadcasts only: the other scenarios have one per producer, or one.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub consumers: u16,
    /// Size of a message's content in bytes.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(8..))]
    pub bytes: u16,
    /// Pace of the producers: a message each millisecond, or as fast as possible.
    #[arg(long, value_enum, default_value_t = Mode::Paced)]
    pub mode: Mode,
    /// Security of the link.
    #[arg(long, value_enum, default_value_t = SecurityLevel::Authenticated, value_name = "LEVEL")]
    pub security: SecurityLevel,
    /// Number of messages of each producer [default: 500 if paced, else enough for a longer run].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub messages: Option<u64>,
    /// Number of threads in each process that run agents [default: half the number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Address of the first process; for the process with the producers.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
}

/// Pattern of senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Each producer to a consumer of its own.
    OneToOne,
    /// Each producer to all consumers.
    Broadcast,
    /// All producers to one consumer.
    ManyToOne,
}

/// Paces of producers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A message each millisecond.
    Paced,
    /// As fast as possible.
    Saturated,
}

impl Messaging {
    fn producers(&self) -> u64 {
        u64::from(self.producers)
    }

    /// Returns the number of consumers.
    pub fn consumers(&self) -> u64 {
        match self.scenario {
            Scenario::OneToOne => self.producers(),
            Scenario::ManyToOne => 1,
            Scenario::Broadcast => u64::from(self.consumers),
        }
    }

    /// Messages that each producer sends.
    fn each(&self) -> u64 {
        match (self.mode, self.messages) {
            (_, Some(messages)) => messages,
            (Mode::Paced, None) => PACED_MESSAGES,
            (Mode::Saturated, None) => {
                let all = match self.security {
                    SecurityLevel::Signed => SATURATED_SIGNED_MESSAGES,
                    _ => SATURATED_MESSAGES,
                };
                let shared = if self.scenario == Scenario::Broadcast { self.consumers().min(4) } else { 1 };
                (all / self.producers() / shared).max(1)
            }
        }
    }

    /// Messages that each consumer gets.
    fn due(&self) -> u64 {
        match self.scenario {
            Scenario::OneToOne => self.each(),
            Scenario::ManyToOne | Scenario::Broadcast => self.each() * self.producers(),
        }
    }

    fn threads(&self) -> usize {
        let half = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2);
        self.threads.map_or(half.max(1), usize::from)
    }

    /// Returns the parameters, as JSON.
    pub fn params(&self) -> String {
        let scenario = match self.scenario {
            Scenario::OneToOne => "one-to-one",
            Scenario::ManyToOne => "many-to-one",
            Scenario::Broadcast => "broadcast",
        };
        let mode = if self.mode == Mode::Paced { "paced" } else { "saturated" };
        let security = security_name(self.security);
        format!(
            "\"scenario\": \"{scenario}\", \"producers\": {}, \"consumers\": {}, \"bytes\": {}, \"mode\": \"{mode}\", \
             \"security\": \"{security}\", \"threads\": {}, \"messages\": {}",
            self.producers(),
            self.consumers(),
            self.bytes,
            self.threads(),
            self.each()
        )
    }
}

/// Returns a level as it is typed.
pub(super) fn security_name(level: SecurityLevel) -> &'static str {
    match level {
        SecurityLevel::Open => "open",
        SecurityLevel::Tls => "tls",
        SecurityLevel::Authenticated => "authenticated",
        SecurityLevel::Signed => "signed",
    }
}

/// Nanoseconds since 1970: the same clock in all processes.
pub(super) fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Returns the topic of a broadcast.
fn news() -> anyhow::Result<Aid> {
    Ok(topic("news")?)
}

/// Counts what comes, and how long it took.
struct MessageConsumer {
    /// Topic to which the agent subscribes in its first turn.
    topic: Option<Aid>,
    left: u64,
    every: u64,
    until_timed: u64,
    us: Vec<f64>,
    begun_ns: u64,
    done: Sender<Consumed>,
}

/// Result of one consumer.
struct Consumed {
    begun_ns: u64,
    ended_ns: u64,
    us: Vec<f64>,
}

impl AgentBody for MessageConsumer {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if let Some(topic) = self.topic.take()
            && let Err(error) = turn.services.join(turn.aid, topic)
        {
            return Next::End(EndReason::Failed(error.to_string()));
        }
        let now_ns = wall_ns();
        while let Some(message) = turn.mailbox.take() {
            if self.begun_ns == 0 {
                self.begun_ns = now_ns;
            }
            self.left = self.left.saturating_sub(1);
            self.until_timed -= 1;
            if self.until_timed == 0 {
                self.until_timed = self.every;
                self.us.extend(age_us(&message.content, now_ns));
            }
        }
        if self.left == 0 && self.begun_ns > 0 {
            let us = std::mem::take(&mut self.us);
            let _ = self.done.send(Consumed { begun_ns: self.begun_ns, ended_ns: now_ns, us });
        }
        Next::Wait
    }
}

/// Returns the age of a message's content.
fn age_us(content: &Value, now_ns: u64) -> Option<f64> {
    let Value::Bytes(bytes) = content else { return None };
    let made_ns = u64::from_le_bytes(*bytes.first_chunk()?);
    Some(now_ns.saturating_sub(made_ns) as f64 / 1_000.0)
}

/// Sends messages to one consumer, or on a topic.
struct Producer {
    to: Aid,
    left: u64,
    /// The content: a moment, as eight bytes, then as many others as were asked for.
    content: Vec<u8>,
    /// Time of the next message, in paced mode.
    next: Option<Time>,
}

impl Producer {
    fn send(&mut self, turn: &mut Turn<'_>, now_ns: u64) {
        if let Some(moment) = self.content.first_chunk_mut() {
            *moment = now_ns.to_le_bytes();
        }
        turn.outbox.send(AclMessage::new(Performative::Inform, turn.aid, self.to, self.content.as_slice()));
        self.left -= 1;
    }
}

impl AgentBody for Producer {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while turn.mailbox.take().is_some() {}
        let Some(next) = self.next else {
            let now_ns = wall_ns();
            for _ in 0..self.left.min(u64::from(turn.budget)) {
                self.send(turn, now_ns);
            }
            return if self.left == 0 { Next::Wait } else { Next::Ready };
        };
        let mut due = next;
        while due <= turn.now && self.left > 0 {
            self.send(turn, wall_ns());
            due = due + Duration::from_micros(PACE_US);
        }
        self.next = Some(due);
        if self.left == 0 { Next::Wait } else { Next::WaitUntil(due) }
    }
}

/// Runs it: this process has the consumers, and starts the one with the producers.
///
/// # Errors
/// The other process cannot be started, or messages did not come.
pub fn run(what: &Messaging) -> anyhow::Result<Metrics> {
    let platform = Platform::builder().workers(what.threads()).build();
    let (done, all_done) = channel();
    let every = if what.mode == Mode::Paced { 1 } else { TIMED_OF };
    let topic = if what.scenario == Scenario::Broadcast { Some(news()?) } else { None };
    platform.spawn_bodies("consumer", AgentKind::Native, what.consumers() as usize, |_| {
        let us = Vec::with_capacity((what.due() / every) as usize + 1);
        Box::new(MessageConsumer {
            topic,
            left: what.due(),
            every,
            until_timed: every,
            us,
            begun_ns: 0,
            done: done.clone(),
        })
    })?;
    platform.wait_idle();
    let level = LinkSecurity::from(what.security);
    let mut authority = (level != LinkSecurity::Open).then(|| Authority::create("whimbrel")).transpose()?;
    let mut secrets = |node: &str| -> anyhow::Result<NodeSecrets> {
        let issued = authority.as_mut().map(|authority| authority.issue(node, &[], NODE_DAYS));
        Ok(NodeSecrets { token: String::new(), credentials: issued.transpose()? })
    };
    let hub = hub_of("n1", level, secrets("n1")?, &platform)?;
    platform.link_with(hub.links());
    let mut child = start_other(hub.address().unwrap_or_default(), &secrets("n2")?)?;
    let producers_pid = child.id();
    let cpu_before = cpu_s("self")? + cpu_s(&producers_pid.to_string())?;
    // It waits for this line until both processes are at rest.
    writeln!(child.stdin.as_mut().context("its input is a pipe")?, "go")?;
    let mut all = Vec::new();
    for _ in 0..what.consumers() {
        let Ok(consumed) = all_done.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            bail!("not all messages came: {} of {} consumers have theirs", all.len(), what.consumers());
        };
        all.push(consumed);
    }
    let cpu = cpu_s("self")? + cpu_s(&producers_pid.to_string())? - cpu_before;
    drop(child.stdin.take());
    hub.leave(Duration::from_secs(1));
    let _ = child.wait();
    Ok(figures(all, what.due() * what.consumers(), cpu))
}

fn figures(all: Vec<Consumed>, deliveries: u64, cpu: f64) -> Metrics {
    let begun_ns = all.iter().map(|one| one.begun_ns).min().unwrap_or_default();
    let ended_ns = all.iter().map(|one| one.ended_ns).max().unwrap_or_default();
    let seconds = ended_ns.saturating_sub(begun_ns) as f64 / 1e9;
    let mut us: Vec<f64> = all.into_iter().flat_map(|one| one.us).collect();
    vec![
        ("messages_per_s", (seconds > 0.0).then(|| deliveries as f64 / seconds)),
        ("p50_us", percentile(50.0, &mut us)),
        ("p99_us", percentile(99.0, &mut us)),
        ("cpu_s_per_million", Some(cpu / deliveries as f64 * 1e6)),
        ("seconds", Some(seconds)),
    ]
}

pub(super) fn hub_of(
    name: &str,
    level: LinkSecurity,
    secrets: NodeSecrets,
    platform: &Platform,
) -> anyhow::Result<Hub> {
    let mut config = HubConfig::new("whimbrel", name, platform.services().random());
    config.level = level;
    config.credentials = secrets.credentials;
    let listen = (name == "n1").then_some("127.0.0.1:0");
    Ok(Hub::start(config, platform.station(), listen)?)
}

/// Starts this program again, as the other process; it is told where this one listens.
pub(super) fn start_other(address: &str, secrets: &NodeSecrets) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .args(["--first", address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the other process")?;
    let input = child.stdin.as_mut().context("its input is a pipe")?;
    writeln!(input, "{}", serde_json::to_string(secrets)?)?;
    let mut ready = String::new();
    BufReader::new(child.stdout.take().context("its output is a pipe")?).read_line(&mut ready)?;
    if ready.trim() != "ready" {
        bail!("the other process did not start");
    }
    Ok(child)
}

/// Runs the other process: producers, until the first process closes the pipe.
///
/// # Errors
/// The first process is not there.
pub fn produce(what: &Messaging, first: &str) -> anyhow::Result<()> {
    let platform = Platform::builder().workers(what.threads()).build();
    let hub = hub_of("n2", LinkSecurity::from(what.security), read_secrets()?, &platform)?;
    platform.link_with(hub.links());
    let node = hub.connect_to("n1", first);
    let until = Instant::now() + Duration::from_secs(10);
    while !hub.has_links(1) {
        if Instant::now() > until {
            bail!("cannot link with {first}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let consumers: Vec<Symbol> =
        (1..=what.consumers()).map(|number| Symbol::new(&format!("consumer{number}"))).collect();
    let known = consumers.iter().map(|name| ((*name).into(), AgentKind::Native)).collect();
    platform.station().hear(node, News::Agents(known));
    let news = news()?;
    if what.scenario == Scenario::Broadcast {
        platform.station().hear(node, News::Topics(vec![news.name]));
    }
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let begin = platform.services().now() + Duration::from_millis(100);
    let producers = what.producers();
    platform.spawn_bodies("producer", AgentKind::Native, producers as usize, |index| {
        let pick = |index: usize| Aid::local(consumers.get(index).copied().unwrap_or_default());
        let to = match what.scenario {
            Scenario::OneToOne => pick(index),
            Scenario::ManyToOne => pick(0),
            Scenario::Broadcast => news,
        };
        // Not all in the same instant.
        let offset = Duration::from_micros(PACE_US * index as u64 / producers);
        let next = (what.mode == Mode::Paced).then(|| begin + offset);
        Box::new(Producer { to, left: what.each(), content: vec![b'x'; usize::from(what.bytes)], next })
    })?;
    // Until the pipe is closed.
    while std::io::stdin().read_line(&mut line)? > 0 {}
    hub.leave(Duration::from_secs(1));
    Ok(())
}

/// Returns the processor time that a process used so far.
pub(super) fn cpu_s(process: &str) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).context("this needs Linux")?;
    // The name, in brackets, may have blanks in it; what follows has not.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / TICKS_PER_S)
}
