//! The processes: the first starts the others, which do as it does. Each has its share of the agents.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
use whimbrel_net::{Authority, Hub, HubConfig, LinkSecurity, NODE_DAYS};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::link::News;
use whimbrel_runtime::Platform;

use super::arguments::Rtt;
use super::pairs::{self, RandomText, Trip};
use crate::messaging::wall_ns;
use crate::peak_bytes;
use whimbrel::node::node_secrets::{NodeSecrets, read_secrets};

/// Longest wait for the next answer, before all outstanding ones count as lost.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest time for nodes to link.
const LINK_PATIENCE: Duration = Duration::from_secs(20);
const LEAVE_PATIENCE: Duration = Duration::from_secs(2);

/// Round trips of one process's senders.
#[derive(Default, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Duration of each round trip.
    pub ms: Vec<f64>,
    pub lost: u64,
    /// Times of the first message and of the last answer.
    pub begun_ns: u64,
    pub ended_ns: u64,
    /// The most memory that the process had.
    pub peak_bytes: f64,
}

fn name_of(node: u16) -> String {
    format!("n{node}")
}

impl Rtt {
    /// Returns the node, from 1, of a pair's sender; pairs count from 1.
    fn node_of_sender(&self, pair: u32) -> u16 {
        ((pair - 1) % u32::from(self.nodes)) as u16 + 1
    }

    /// Returns the node of the receiver: another one, if there is any.
    fn node_of_receiver(&self, pair: u32) -> u16 {
        (pair % u32::from(self.nodes)) as u16 + 1
    }

    /// Returns the agents of a node.
    fn agents_of(&self, node: u16) -> Vec<Symbol> {
        let senders = (1..=self.pairs).filter(|pair| self.node_of_sender(*pair) == node).map(sender);
        let receivers = (1..=self.pairs).filter(|pair| self.node_of_receiver(*pair) == node).map(receiver);
        senders.chain(receivers).collect()
    }
}

fn sender(pair: u32) -> Symbol {
    Symbol::new(&format!("sender{pair}"))
}

fn receiver(pair: u32) -> Symbol {
    Symbol::new(&format!("receiver{pair}"))
}

/// One process with its agents, linked with the others.
pub struct PairsNode {
    platform: Platform,
    hub: Option<Hub>,
    senders: Vec<Aid>,
    begun: Arc<OnceLock<Instant>>,
    trips: Receiver<Trip>,
    due: u64,
}

impl PairsNode {
    /// Starts the agents of node `number`, and waits until they are at rest.
    pub fn start(what: &Rtt, number: u16, secrets: Option<NodeSecrets>) -> anyhow::Result<Self> {
        let platform = Platform::builder().workers(what.threads()).build();
        let (report, trips) = channel();
        let begun = Arc::new(OnceLock::new());
        let expected = format!("{} ", pairs::primes_to(what.limit));
        let bytes = what.bytes as usize;
        let mut senders = Vec::new();
        for pair in 1..=what.pairs {
            let random = |end: u32| RandomText::new(u64::from(2 * pair + end));
            if what.node_of_receiver(pair) == number {
                platform.spawn(receiver(pair), pairs::Receiver { limit: what.limit, bytes, random: random(1) })?;
            }
            if what.node_of_sender(pair) == number {
                let agent = pairs::PairSender {
                    receiver: Aid::local(receiver(pair)),
                    left: what.messages(),
                    bytes,
                    expected: expected.clone(),
                    random: random(0),
                    begun: Arc::clone(&begun),
                    sent: 0,
                    asked: Instant::now(),
                    trips: report.clone(),
                };
                senders.push(platform.spawn(sender(pair), agent)?);
            }
        }
        let hub = secrets.map(|secrets| open_hub(what, number, secrets, &platform)).transpose()?;
        platform.wait_idle();
        let due = senders.len() as u64 * what.messages();
        Ok(Self { platform, hub, senders, begun, trips, due })
    }

    /// Has all senders begin, and waits until they have their answers.
    pub fn measure(&self) -> RoundTrips {
        let begun_ns = wall_ns();
        self.begun.get_or_init(Instant::now);
        for sender in &self.senders {
            let start = AclMessage::new(Performative::Inform, *sender, *sender, Value::Null);
            self.platform.send(start);
        }
        let mut heard = RoundTrips { begun_ns, ended_ns: begun_ns, ..RoundTrips::default() };
        while heard.ms.len() as u64 + heard.lost < self.due {
            match self.trips.recv_timeout(PATIENCE) {
                Ok(Trip::Answered(ms)) => heard.ms.push(ms),
                Ok(Trip::Lost) => heard.lost += 1,
                Err(_) => heard.lost = self.due - heard.ms.len() as u64,
            }
            heard.ended_ns = wall_ns();
        }
        heard.peak_bytes = peak_bytes().unwrap_or_default();
        heard
    }

    fn wait_for_links(&self, count: usize) -> anyhow::Result<()> {
        let until = Instant::now() + LINK_PATIENCE;
        while self.hub.as_ref().is_some_and(|hub| !hub.has_links(count)) {
            if Instant::now() > until {
                bail!("the nodes cannot link");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn leave(self) {
        if let Some(hub) = self.hub {
            hub.leave(LEAVE_PATIENCE);
        }
    }
}

/// Opens the hub that links a node with the others, whose agents it knows.
fn open_hub(what: &Rtt, number: u16, secrets: NodeSecrets, platform: &Platform) -> anyhow::Result<Hub> {
    let mut config = HubConfig::new("whimbrel", name_of(number), platform.services().random());
    config.level = LinkSecurity::from(what.security);
    config.token = Some(secrets.token);
    config.credentials = secrets.credentials;
    let hub = Hub::start(config, platform.station(), Some("127.0.0.1:0"))?;
    platform.link_with(hub.links());
    for other in (1..=what.nodes).filter(|other| *other != number) {
        let node = hub.expect(&name_of(other));
        let agents = what.agents_of(other).into_iter().map(|agent| (agent.into(), AgentKind::Native)).collect();
        platform.station().hear(node, News::Agents(agents));
    }
    if let Some(first) = &what.first {
        hub.connect_to(&name_of(1), first);
    }
    Ok(hub)
}

/// The first node, and the others' processes.
pub struct PairsNodes {
    first: PairsNode,
    others: Vec<OtherProcess>,
}

struct OtherProcess {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl OtherProcess {
    fn start(number: u16, address: &str, secrets: &NodeSecrets) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let mut process = Command::new(program)
            .args(std::env::args_os().skip(1))
            .args(["--node", &number.to_string(), "--first", address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start node {number}"))?;
        let lines = BufReader::new(process.stdout.take().context("its output is a pipe")?);
        let mut other = Self { process, lines };
        other.say(&serde_json::to_string(secrets)?)?;
        Ok(other)
    }

    fn say(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.process.stdin.as_mut().context("its input is a pipe")?, "{line}")?)
    }

    fn hear(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        if line.is_empty() {
            bail!("another node's process ended too early");
        }
        Ok(line)
    }
}

impl PairsNodes {
    /// Starts all nodes, and waits until they are linked and at rest.
    pub fn start(what: &Rtt) -> anyhow::Result<Self> {
        if what.nodes == 1 {
            return Ok(Self { first: PairsNode::start(what, 1, None)?, others: Vec::new() });
        }
        let open = LinkSecurity::from(what.security) == LinkSecurity::Open;
        let mut authority = (!open).then(|| Authority::create("whimbrel")).transpose()?;
        let mut secrets = |number: u16| -> anyhow::Result<NodeSecrets> {
            let issued = authority.as_mut().map(|authority| authority.issue(&name_of(number), &[], NODE_DAYS));
            Ok(NodeSecrets { token: String::new(), credentials: issued.transpose()? })
        };
        let first = PairsNode::start(what, 1, Some(secrets(1)?))?;
        let address = first.hub.as_ref().and_then(Hub::address).unwrap_or_default().to_owned();
        let numbers = 2..=what.nodes;
        let others = numbers.map(|number| OtherProcess::start(number, &address, &secrets(number)?));
        let mut nodes = Self { others: others.collect::<anyhow::Result<_>>()?, first };
        for other in &mut nodes.others {
            other.hear()?;
        }
        nodes.first.wait_for_links(nodes.others.len())?;
        Ok(nodes)
    }

    /// Has all senders of all nodes begin at once: what each node heard.
    pub fn measure(&mut self) -> anyhow::Result<Vec<RoundTrips>> {
        for other in &mut self.others {
            other.say("go")?;
        }
        let mut all = vec![self.first.measure()];
        for other in &mut self.others {
            all.push(serde_json::from_str(&other.hear()?)?);
        }
        Ok(all)
    }

    /// Ends all processes.
    pub fn end(mut self) {
        for other in &mut self.others {
            drop(other.process.stdin.take());
        }
        self.first.leave();
        for other in &mut self.others {
            let _ = other.process.wait();
        }
    }
}

/// Runs one of the other processes: it obeys the first one until that closes the pipe.
///
/// # Errors
/// The first process is not there.
pub fn serve(what: &Rtt, number: u16) -> anyhow::Result<()> {
    let node = PairsNode::start(what, number, Some(read_secrets()?))?;
    node.wait_for_links(usize::from(what.nodes) - 1)?;
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    println!("{}", serde_json::to_string(&node.measure())?);
    while std::io::stdin().read_line(&mut line)? > 0 {}
    node.leave();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::tests::asked;

    #[test]
    fn pairs_spread_over_nodes() {
        let what = Rtt { pairs: 8, nodes: 4, ..asked() };
        for pair in 1..=8 {
            assert_ne!(what.node_of_sender(pair), what.node_of_receiver(pair));
        }
        assert_eq!([1, 2, 3, 4].map(|node| what.agents_of(node).len()), [4; 4]);
        let alone = Rtt { pairs: 3, nodes: 1, ..asked() };
        assert_eq!(alone.agents_of(1).len(), 6);
    }
}
