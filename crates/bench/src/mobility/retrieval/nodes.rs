//! Nodes of the study: the server, which has the documents, and one node for each client, whose agent travels to the
//! server. Each is a process, as it would be among machines. Commands and reports are lines of text.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use whimbrel::documents::DocumentFolder;
use whimbrel::{AclMessage, Aid, Output, Performative, Platform, Society, Value};
use whimbrel_net::{Hub, HubConfig, LinkSecurity, LinkStatus};
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_platform::policy::Policy;
use whimbrel_platform::services::{AgentSource, CreateAgent, LogLevel};
use whimbrel_platform::{Observer, PlatformEvent, Time};

use crate::messaging::wall_ns;
use whimbrel::node::node_secrets::NodeSecrets;
use whimbrel_terminal as terminal;

/// The server's name.
pub const SERVER: &str = "server";
/// Name of the offered documents.
const LIBRARY: &str = "library";
/// Longest time for anything that the link does not hold up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest time for a query.
const QUERY_PATIENCE: Duration = Duration::from_secs(300);

/// Role of a process, its first input.
#[derive(Serialize, Deserialize)]
pub struct ProcessRole {
    pub node: String,
    /// Address of the server.
    pub server: String,
    pub secrets: NodeSecrets,
    /// The agents' module.
    pub module: PathBuf,
    /// The documents, for the server.
    pub folder: PathBuf,
}

/// Notes the times at which agents came and were done.
#[derive(Clone, Default)]
struct Visits(Arc<Mutex<Vec<String>>>);

impl Visits {
    fn note(&self, agent: Aid, what: &str) {
        let line = format!("{}/{what}/{}", agent.name, wall_ns());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

impl Observer for Visits {
    fn observe(&self, _at: Time, event: PlatformEvent<'_>) {
        if let PlatformEvent::Came(agent, _) = event {
            self.note(agent, "came");
        }
    }
}

/// The agent prints when it has what it wants.
impl Output for Visits {
    fn print(&self, agent: Aid, _text: &str) {
        self.note(agent, "done");
    }

    fn log(&self, agent: Aid, _level: LogLevel, text: &str) {
        terminal::note(&format!("{agent}: {text}"));
    }
}

fn read_part() -> anyhow::Result<ProcessRole> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).context("the first process does not say who this is")
}

fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn hub(part: ProcessRole, platform: &Platform, listen: bool) -> anyhow::Result<Hub> {
    let mut config = HubConfig::new("whimbrel", part.node, platform.services().random());
    config.level = LinkSecurity::Authenticated;
    config.credentials = part.secrets.credentials;
    let hub = Hub::start(config, platform.station(), listen.then_some(part.server.as_str()))?;
    platform.link_with(hub.links());
    Ok(hub)
}

/// Runs the server until its input ends. It answers each line with the bytes that its links received and sent so far,
/// and with the agents that came and finished since the previous line.
pub fn serve() -> anyhow::Result<()> {
    let part = read_part()?;
    let society = Society::open(&part.module)?;
    let visits = Visits::default();
    let mut environments = NodeEnvironments::default();
    environments.add(LIBRARY, Arc::new(DocumentFolder::open(&part.folder)?));
    let policy: Policy =
        serde_json::from_str(&format!(r#"{{"grant": [{{"who": "*", "environments": "{LIBRARY}"}}]}}"#))?;
    let builder = Platform::builder().workers(1).loader(society.loader()).policy(policy);
    let platform = builder.environments(environments).observer(visits.clone()).output(visits.clone()).build();
    let hub = hub(part, &platform, true)?;
    say("ready")?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let all = std::mem::take(&mut *visits.0.lock().unwrap_or_else(PoisonError::into_inner));
        let links = hub.status();
        let bytes = |of: fn(&LinkStatus) -> u64| links.iter().map(of).sum::<u64>();
        say(&format!("{}/{} {}", bytes(|link| link.bytes_in), bytes(|link| link.bytes_out), all.join(" ")))?;
    }
    hub.leave(Duration::from_secs(1));
    platform.stop();
    drop(society);
    Ok(())
}

/// Runs a client until its input ends. The answer to the line `WORD QUERIES SECONDS PAUSE SEED` is that of
/// `bench/peers/retrieval`. `advise JOB` has advice to the agent as its answer. `carry BYTES` makes the agent larger.
pub fn ask() -> anyhow::Result<()> {
    let part = read_part()?;
    let society = Society::open(&part.module)?;
    let platform = Platform::builder().workers(1).loader(society.loader()).build();
    let (name, path, server) = (part.node.clone(), part.module.clone(), part.server.clone());
    let hub = hub(part, &platform, false)?;
    hub.connect_to(SERVER, &server);
    let until = Instant::now() + PATIENCE;
    while !hub.has_links(1) {
        ensure!(Instant::now() < until, "cannot link with {server}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let source = AgentSource::Program {
        path: path.file_name().unwrap_or_default().to_string_lossy().into(),
        options: Vec::new(),
    };
    let name = format!("retriever-of-{name}").as_str().into();
    let agent = platform.services().create(CreateAgent { name, unique: false, owner: None, source })?;
    say("ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        say(&match line.split_once(' ') {
            Some(("advise", job)) => advise(&platform, agent, job)?,
            Some(("carry", bytes)) => carry(&platform, agent, bytes.parse()?)?,
            _ => queries(&platform, agent, &line)?,
        })?;
    }
    hub.leave(Duration::from_secs(1));
    platform.stop();
    drop(society);
    Ok(())
}

fn advise(platform: &Platform, agent: Aid, job: &str) -> anyhow::Result<String> {
    let advice = platform.advise(Some(agent), SERVER, &serde_json::from_str(job)?)?;
    Ok(serde_json::to_string(&advice)?)
}

fn carry(platform: &Platform, agent: Aid, bytes: i64) -> anyhow::Result<String> {
    let wanted = Value::term("carry", [Value::Int(bytes)]);
    let answer = platform.ask_within(PATIENCE, AclMessage::new(Performative::Request, agent, agent, wanted))?;
    ensure!(answer.performative == Performative::Inform, "the agent says {} {}", answer.performative, answer.content);
    Ok("done".to_owned())
}

fn queries(platform: &Platform, agent: Aid, line: &str) -> anyhow::Result<String> {
    let mut words = line.split(' ');
    let mut next = || words.next().context("WORD QUERIES SECONDS PAUSE SEED is wanted");
    let word = next()?;
    let (count, seconds): (u32, f64) = (next()?.parse()?, next()?.parse()?);
    let pause: f64 = next()?.parse()?;
    let mut random = SplitMix(next()?.parse()?);
    // 0.25 to 0.75 queries a second.
    let mut interval = || Duration::from_secs_f64(pause / (0.25 + 0.5 * random.fraction()));
    let began = Instant::now();
    let mut due = began + interval() / 2;
    let mut told = Vec::new();
    while (told.len() as u32) < count && began.elapsed().as_secs_f64() < seconds {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let (wall, begun) = (wall_ns(), Instant::now());
        due = begun + interval();
        let wanted = Value::term("fetch", [Value::from(word), Value::from(SERVER)]);
        let question = AclMessage::new(Performative::Request, agent, agent, wanted);
        let answer = platform.ask_within(QUERY_PATIENCE, question)?;
        let us = begun.elapsed().as_secs_f64() * 1e6;
        if answer.performative != Performative::Inform {
            bail!("the agent says {} {}", answer.performative, answer.content);
        }
        told.push(format!("{wall}/{us:.1}/0/{}", answer.content.items().count()));
    }
    Ok(told.join(" "))
}

/// Numbers at random, the same for the same seed (splitmix64).
pub struct SplitMix(pub u64);

impl SplitMix {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random fraction from 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
