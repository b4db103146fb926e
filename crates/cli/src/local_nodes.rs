//! `--nodes`: one society in several processes. The first starts the others, which run the same project: all of them
//! know from it the node of each agent.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustc_hash::FxHashMap;
use whimbrel::Society;
use whimbrel::node::node_secrets::{NodeSecrets, read_secrets};
use whimbrel::society::Seat;
use whimbrel_acl::{Symbol, Text};
use whimbrel_net::{Authority, Credentials, Hub, HubConfig, HubView, LinkSecurity, NODE_DAYS};
use whimbrel_platform::link::News;
use whimbrel_runtime::Platform;

use crate::arguments::RunArguments;
use crate::node_supervisor::{Supervision, is_supervised};
use whimbrel::node::ending::Farewell;
use whimbrel::node::policy_setup::Guards;
use whimbrel_terminal as terminal;

/// Longest wait at the end, first for links to say good-bye, then for processes to end.
const LEAVE_PATIENCE: Duration = Duration::from_secs(2);
const END_PATIENCE: Duration = Duration::from_secs(8);

/// Line with which the first node tells another one that the society has ended.
const ENDED: &str = "ended";

/// Other nodes, and the node of each agent.
pub struct LocalNodes {
    hub: Hub,
    platform: Platform,
    /// Address of the first node, if this is another one.
    first: Option<String>,
    places: FxHashMap<Symbol, u16>,
    me: u16,
    command: Vec<std::ffi::OsString>,
    /// Secrets for the processes to be started.
    others: Vec<NodeSecrets>,
    children: Vec<Child>,
    supervision: Option<Supervision>,
}

/// Returns the name of the k-th node.
pub fn name_of(node: u16) -> String {
    format!("n{node}")
}

impl LocalNodes {
    /// Links this node with the others, as far as they are there, and makes their agents known here.
    pub fn start(
        arguments: &RunArguments,
        count: u16,
        platform: &Platform,
        society: &Society,
        guards: &Guards,
    ) -> anyhow::Result<Self> {
        let me = arguments.node.unwrap_or(1);
        let random = || platform.services().random();
        let name = platform.services().platform();
        let level = arguments.security.map_or(LinkSecurity::Open, LinkSecurity::from);
        let (mut authority, secrets) = match arguments.first {
            Some(_) => (None, read_secrets()?),
            None => {
                let mut authority =
                    (level != LinkSecurity::Open).then(|| Authority::create(name.as_str())).transpose()?;
                let token = format!("{:016x}{:016x}", random(), random());
                let credentials = issue(&mut authority, me)?;
                (authority, NodeSecrets { token, credentials })
            }
        };
        let mut others = Vec::new();
        if arguments.first.is_none() {
            for node in 2..=count {
                others.push(NodeSecrets { token: secrets.token.clone(), credentials: issue(&mut authority, node)? });
            }
        }
        let mut config = HubConfig::new(name.as_str(), name_of(me), random());
        config.token = Some(secrets.token);
        config.level = level;
        config.encoding = arguments.encoding;
        config.patience = arguments.link_timeout.unwrap_or(config.patience);
        config.credentials = secrets.credentials;
        guards.guard(&mut config)?;
        let (trace, quiet) = (arguments.trace, arguments.quiet);
        config.log = Box::new(move |text| {
            if trace && !quiet {
                terminal::note(text);
            }
        });
        let hub = Hub::start(config, platform.station(), Some("127.0.0.1:0"))?;
        platform.link_with(hub.links());
        let seats = society.members();
        let places = place(&seats, count);
        if arguments.first.is_none() && !quiet {
            for host in no_nodes(&seats, count) {
                let nodes = if count == 1 { "node".to_owned() } else { format!("{count} nodes") };
                terminal::note(&format!(
                    "`{host}` is not among the {nodes} of this run: its agents run on another node"
                ));
            }
        }
        for node in (1..=count).filter(|node| *node != me) {
            let id = hub.expect(&name_of(node));
            let there = seats.iter().filter(|seat| places.get(&seat.name) == Some(&node));
            let agents = there.map(|seat| (seat.name.into(), seat.kind)).collect();
            platform.station().hear(id, News::Agents(agents));
        }
        let (first, command, platform) = (arguments.first.clone(), std::env::args_os().collect(), platform.clone());
        Ok(Self { hub, platform, first, places, me, command, others, children: Vec::new(), supervision: None })
    }

    /// Sets the connection to the supervisor.
    pub fn supervised_by(self, supervision: Option<Supervision>) -> Self {
        Self { supervision, ..self }
    }

    /// Returns the links as an operator sees them.
    pub fn view(&self) -> HubView {
        self.hub.view()
    }

    /// Returns true if this agent lives on this node.
    pub fn lives_here(&self, agent: Symbol) -> bool {
        self.places.get(&agent) == Some(&self.me)
    }

    /// Starts the other processes, if this is the first; else connects to the first. To be called when this node's
    /// agents are there: messages for them may come at once.
    pub fn open(mut self) -> anyhow::Result<Self> {
        if let Some(first) = &self.first {
            self.hub.connect_to(&name_of(1), first);
            end_with_the_first(self.platform.clone());
            return Ok(self);
        }
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let address = self.hub.address().unwrap_or_default().to_owned();
        for (node, secrets) in (2..).zip(std::mem::take(&mut self.others)) {
            let mut child = Command::new(&program)
                .args(self.command.iter().skip(1))
                .args(["--node", &node.to_string(), "--first", &address])
                .stdin(Stdio::piped())
                .spawn()
                .with_context(|| format!("cannot start node {}", name_of(node)))?;
            if let Some(input) = &mut child.stdin {
                let line = serde_json::to_string(&secrets)?;
                writeln!(input, "{line}").with_context(|| format!("node {} ended at once", name_of(node)))?;
            }
            self.children.push(child);
        }
        Ok(self)
    }

    /// Tells the supervisor that the society ends here, with this exit code.
    pub fn note_end(&self, code: i32) {
        self.supervision.iter().for_each(|supervision| supervision.end(code));
    }

    /// Says good-bye to the other nodes; waits until the processes that this one started have ended.
    pub fn end(mut self, farewell: &Farewell) {
        // Half of what is left is for the processes.
        self.hub.leave(farewell.patience(LEAVE_PATIENCE * 2) / 2);
        let until = Instant::now() + farewell.patience(END_PATIENCE);
        for child in &mut self.children {
            // A node that did not learn of the society's end learns of it here. It may be gone.
            if let Some(mut input) = child.stdin.take() {
                let _ = writeln!(input, "{ENDED}");
            }
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns a node's credentials, if there is an authority.
fn issue(authority: &mut Option<Authority>, node: u16) -> anyhow::Result<Option<Credentials>> {
    let issued = authority.as_mut().map(|authority| authority.issue(&name_of(node), &[], NODE_DAYS));
    Ok(issued.transpose()?)
}

/// Waits until the process that started this one has the society begin. Returns false, and ends the platform, if that
/// process is gone.
pub fn begins_with_input(platform: &Platform) -> bool {
    let begins = matches!(std::io::stdin().read_line(&mut String::new()), Ok(1..));
    if !begins {
        platform.stop_with(0);
    }
    begins
}

/// Ends the platform when the process that started this one is gone, whatever became of it: then standard input is at
/// its end.
pub fn end_with_input(platform: Platform) {
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        platform.stop_with(0);
    });
}

/// Ends the platform when the first process says that the society has ended. When that process is gone without a word,
/// the society continues as long as a supervisor lives.
fn end_with_the_first(platform: Platform) {
    std::thread::spawn(move || {
        let mut said = String::new();
        let _ = std::io::stdin().read_to_string(&mut said);
        if said.contains(ENDED) || !is_supervised() {
            platform.stop_with(0);
        }
    });
}

/// Hosts that look like nodes of this run, and are none: a slip, or a project for more nodes.
fn no_nodes(seats: &[Seat], nodes: u16) -> Vec<&str> {
    let number = |host: &str| host.strip_prefix('n').and_then(|number| number.parse::<u16>().ok());
    let hosts = seats.iter().filter_map(|seat| seat.host.as_deref());
    let mut strange: Vec<&str> =
        hosts.filter(|host| number(host).is_some_and(|it| !(1..=nodes).contains(&it))).collect();
    strange.sort_unstable();
    strange.dedup();
    strange
}

/// Puts each agent on a node, numbered from 1: on that of its host, or on the next in turn. A host that names no node
/// (`n1`, `n2`, ...) stands for one of the nodes, each host for the next.
fn place(seats: &[Seat], nodes: u16) -> FxHashMap<Symbol, u16> {
    let mut hosts: FxHashMap<Text, u16> = FxHashMap::default();
    let mut turns = 0..;
    let in_turn = |place: usize| (place % usize::from(nodes)) as u16 + 1;
    let mut node_of = |seat: &Seat| match &seat.host {
        Some(host) => {
            let named = (1..=nodes).find(|node| name_of(*node) == host.as_str());
            let next = in_turn(hosts.len());
            named.unwrap_or_else(|| *hosts.entry(host.clone()).or_insert(next))
        }
        None => in_turn(turns.next().unwrap_or_default()),
    };
    seats.iter().map(|seat| (seat.name, node_of(seat))).collect()
}

#[cfg(test)]
mod tests {
    use whimbrel_platform::ams::AgentKind;

    use super::*;

    fn seats(all: &[(&str, &str)]) -> Vec<Seat> {
        let seat = |(name, host): &(&str, &str)| Seat {
            name: Symbol::new(name),
            kind: AgentKind::AgentSpeak,
            host: (!host.is_empty()).then(|| Text::from(*host)),
        };
        all.iter().map(seat).collect()
    }

    #[test]
    fn agents_spread_over_nodes_in_turn() {
        let seats =
            seats(&[("a", ""), ("b", "n3"), ("c", ""), ("d", "here"), ("e", "there"), ("f", "here"), ("g", "")]);
        let places = place(&seats, 3);
        let node = |name: &str| places.get(&Symbol::new(name)).copied();
        let all: Vec<Option<u16>> = ["a", "b", "c", "d", "e", "f", "g"].map(node).to_vec();
        assert_eq!(all, [1, 3, 2, 1, 2, 1, 3].map(Some));
    }

    #[test]
    fn many_agents_take_turns() {
        let names: Vec<String> = (0..70_000).map(|number| format!("a{number}")).collect();
        let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let places = place(&seats(&all), 2);
        assert_eq!(places.values().filter(|node| **node == 1).count(), 35_000);
    }

    #[test]
    fn unknown_host_names_are_reported() {
        let seats =
            seats(&[("a", "n9"), ("b", "n3"), ("c", ""), ("d", "here"), ("e", "n0"), ("f", "n9"), ("g", "nine")]);
        assert_eq!(no_nodes(&seats, 3), ["n0", "n9"]);
    }
}
