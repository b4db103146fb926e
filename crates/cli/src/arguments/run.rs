//! `whimbrel run` and `whimbrel join`: societies, and how the links of their nodes are secured.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use whimbrel::node::document_offers::OfferOptions;
use whimbrel::node::durability::{DurabilityOptions, default_folder};
use whimbrel::node::membership::LinkOptions;
use whimbrel::node::policy_setup::PolicyOptions;
use whimbrel_acl::Encoding;
use whimbrel_net::Level;
use whimbrel_platform::cluster::LEVEL;
use whimbrel_terminal::options::SecurityLevel;

use super::http::HttpArguments;
use super::session::AgentPortArguments;

/// Under what options stand in the help, of which there are many.
pub const KEEPING: &str = "Durability the society";
pub const LOOKING: &str = "Looking at it";
pub const NODES: &str = "Several nodes";
pub const GUARDING: &str = "Who may do what";
pub const ACTING: &str = "What agents act on";
pub const DOORS: &str = "Doors for browsers and programs";

/// Run a society until it ends itself, or is ended by Ctrl-C.
///
/// Lines that agents print go to standard output as `[agent] text`; warnings go to standard error. The exit status is
/// what an agent gave to `.stopMAS`, or 0; 1 if agents were left out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run examples/contract-net --summary     a folder with one project in it
  whimbrel run auction.mas2j --agents 1000         each `#n` of the project becomes #1000
  whimbrel run hello.asl                           one agent, named hello after its file
  whimbrel run hello.asl --agents 3                hello1, hello2 and hello3
  whimbrel run auction.mas2j --nodes 3             three processes, the agents spread over them
  whimbrel run long-plan --durable                 cut short at any moment, it goes on when it is run again
  whimbrel run garden --offer library=texts        a folder of documents, for agents to act on
  whimbrel run auction.mas2j --log                 keep what is said, for `whimbrel log`
  whimbrel run hello.asl --for 10s --trace         for ten seconds, and show every message")]
pub struct RunArguments {
    /// A project (.mas2j), a program (.asl, .wasm), or a folder with one project in it.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How many agents of a lone program, or of each project entry that has `#n`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub agents: Option<u32>,
    /// Run nothing at all if an agent of the society, or a file that a program includes, has errors. Otherwise agents
    /// with errors are left out, and programs continue without such files.
    #[arg(long)]
    pub strict: bool,
    /// End the society after this long, for instance 10s, 500ms, 2m.
    #[arg(long = "for", value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub time: Option<Duration>,
    /// Keep the society in the folder `.whimbrel` beside its file: however this process ends (Ctrl-C, kill -9, a power
    /// cut), run again it goes on where it was, with every belief, intention and message.
    #[arg(long, conflicts_with = "nodes", help_heading = KEEPING)]
    pub durable: bool,
    /// Keep the society in this folder; or in NATS JetStream, as nats://127.0.0.1:4222/garden, where any number of machines
    /// run it together, as `whimbrel up` says (`whimbrel engine up` starts servers for trying that out).
    #[arg(long, value_name = "FOLDER|URL", conflicts_with = "nodes", help_heading = KEEPING)]
    pub store: Option<String>,
    /// Serve nothing as long as another node does that is no standby; go on with the society when there is none any more,
    /// however it ended.
    #[arg(long, requires = "store", conflicts_with = "fresh", help_heading = KEEPING)]
    pub standby: bool,
    /// How long another node may give no sign of life until it is thought dead: 3s if not given. Thought so by mistake it
    /// is ended, and nothing is lost.
    #[arg(long, value_name = "TIME", requires = "store", value_parser = whimbrel::duration::parse_takeover, help_heading = KEEPING)]
    pub takeover: Option<Duration>,
    /// This node's name among others, unlike any other's (with `--store` or `--listen`): n1, n2, ... if not given.
    #[arg(long, value_name = "NAME", conflicts_with = "nodes", help_heading = KEEPING)]
    pub name: Option<String>,
    /// How much this node can do, beside others: it gets agents in proportion. Found by a moment of work if not given.
    #[arg(long, value_name = "N", requires = "store", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = KEEPING)]
    pub weight: Option<u32>,
    /// Write no more than an earlier release would for other nodes: to try out how releases replace each other.
    #[arg(long, hide = true, value_name = "LEVEL", requires = "store", value_parser = clap::value_parser!(u32).range(i64::from(LEVEL) - 1..=i64::from(LEVEL)))]
    pub level: Option<u32>,
    /// Let agents that have had nothing to do for this long leave memory; their next message or timer brings them back. Of a
    /// society that is kept. `passivate="10m"` in the project says it of one agent, `never` that it stays.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse, help_heading = KEEPING)]
    pub passivate: Option<Duration>,
    /// See `whimbrel up`.
    #[arg(skip)]
    pub labels: Vec<String>,
    /// Whether there is a console if nothing was said about it: `run` has one, `up` has none.
    #[arg(skip = true)]
    pub shows_console: bool,
    /// Forget what is kept of the society, and begin anew.
    #[arg(long, help_heading = KEEPING)]
    pub fresh: bool,
    /// Keep what agents say to each other, for `whimbrel log`: in the folder `.whimbrel` beside the society's file, or in this one.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, help_heading = LOOKING)]
    pub log: Option<Option<PathBuf>>,
    /// Open the console in a browser: the society begins when it is there, and the console stays when the society has ended, as long as
    /// somebody looks. `$BROWSER` says which browser.
    #[arg(long, conflicts_with_all = ["nodes", "quiet"], help_heading = LOOKING)]
    pub open: bool,
    /// Show every message, and agents coming and going, on standard error.
    #[arg(long, help_heading = LOOKING)]
    pub trace: bool,
    /// End with a table: agents, messages by performative, awards, time.
    #[arg(long, help_heading = LOOKING)]
    pub summary: bool,
    /// Threads to run agents on; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Where random numbers start, for runs that are to repeat.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Nodes to spread the agents over, each a process of its own on this machine. `at "n2"` in a project puts an agent
    /// on the second one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), help_heading = NODES)]
    pub nodes: Option<u16>,
    /// How the links between nodes are secured: `tls` encrypts them, `authenticated` also makes sure by certificates who
    /// is at the other end, and refuses messages whose sender is not an agent of the node they come from; with `signed` agents also
    /// sign each message that leaves their node.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = NODES)]
    pub security: Option<SecurityLevel>,
    /// Let other nodes join at this address, as 127.0.0.1:7001. Beyond this machine links are authenticated, unless
    /// `--security` says otherwise. With a store in NATS: where the other nodes of the society reach this one.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "nodes", help_heading = NODES)]
    pub listen: Option<String>,
    /// The secret that nodes which join must know.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true, help_heading = NODES)]
    pub token: Option<String>,
    /// The folder with this node's certificate: what `whimbrel ca issue FOLDER n1 --out` made.
    #[arg(long, value_name = "FOLDER", conflicts_with = "nodes", help_heading = NODES)]
    pub credentials: Option<PathBuf>,
    /// How long another node may be out of reach until it is taken for lost, with its agents, and who waits for it is told: 30s if not
    /// given.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_link_timeout, help_heading = NODES)]
    pub link_timeout: Option<Duration>,
    #[command(flatten)]
    pub guarding: GuardingArguments,
    /// Where programs are kept that agents from other nodes bring along, and what modules were compiled to: a folder, or `off`.
    /// In the user's cache (~/.cache/whimbrel/code) if not given.
    #[arg(long, value_name = "FOLDER", help_heading = GUARDING)]
    pub code_cache: Option<PathBuf>,
    #[command(flatten)]
    pub offering: OfferingArguments,
    #[command(flatten)]
    pub agents_elsewhere: AgentPortArguments,
    #[command(flatten)]
    pub http: HttpArguments,
    /// How this node writes messages on its links: compact, or to look at: string, xml, bit-efficient, json. How it reads
    /// them, each peer says.
    #[arg(long, value_name = "ENCODING", default_value = "compact", hide_default_value = true, help_heading = NODES)]
    pub encoding: Encoding,
    /// Which of the nodes this process is; for processes that `--nodes` starts.
    #[arg(long, hide = true, value_name = "K", requires = "nodes", requires = "first")]
    pub node: Option<u16>,
    /// Where the first of the nodes listens; for processes that `--nodes` starts.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
    /// Show no warnings, only what agents print.
    #[arg(long, short, help_heading = LOOKING)]
    pub quiet: bool,
}

/// Join a running platform, with agents of one's own, or to take in agents that move.
///
/// The agents of the file become agents of that platform: they and those there find each other and talk. Agents can move to the node;
/// those whose programs it has not got bring them along. The node leaves when that platform stops, or at Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run garden --listen 127.0.0.1:7001 --token T     on one terminal
  whimbrel join 127.0.0.1:7001 bees.mas2j --token T         on another
  whimbrel join 127.0.0.1:7001 --name n2 --token T          a node for agents that move there
  whimbrel join 10.0.0.1:7001 bees --listen 10.0.0.2:7001   nodes that join later can reach this one")]
pub struct JoinArguments {
    /// Where a node of the platform listens.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// A project (.mas2j), a program (.asl, .wasm), or a folder with one project in it. Without any the node has no agents until some
    /// come from other nodes.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Run nothing at all if an agent of the society, or a file that a program includes, has errors. Otherwise agents
    /// with errors are left out, and programs continue without such files.
    #[arg(long)]
    pub strict: bool,
    /// The platform's secret.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true, help_heading = NODES)]
    pub token: Option<String>,
    /// This node's name, unlike any other's; what its certificate says, or made up, if not given.
    #[arg(long, value_name = "NAME", help_heading = NODES)]
    pub name: Option<String>,
    /// Where nodes that join later can reach this one, as 192.168.7.2:7001: agents of two nodes that joined can only talk
    /// if the first of them can be reached.
    #[arg(long, value_name = "ADDRESS", requires = "token", help_heading = NODES)]
    pub listen: Option<String>,
    /// How links are secured: as the platform's are.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = NODES)]
    pub security: Option<SecurityLevel>,
    /// The folder with this node's certificate: what `whimbrel ca issue` made.
    #[arg(long, value_name = "FOLDER", help_heading = NODES)]
    pub credentials: Option<PathBuf>,
    /// How long another node may be out of reach until it is taken for lost, with its agents, and who waits for it is told: 30s if not
    /// given.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_link_timeout, help_heading = NODES)]
    pub link_timeout: Option<Duration>,
    #[command(flatten)]
    pub guarding: GuardingArguments,
    /// Where programs are kept that agents from other nodes bring along, and what modules were compiled to: a folder, or `off`.
    /// In the user's cache (~/.cache/whimbrel/code) if not given.
    #[arg(long, value_name = "FOLDER", help_heading = GUARDING)]
    pub code_cache: Option<PathBuf>,
    #[command(flatten)]
    pub offering: OfferingArguments,
    #[command(flatten)]
    pub agents_elsewhere: AgentPortArguments,
    #[command(flatten)]
    pub http: HttpArguments,
    /// How this node writes messages on its links: compact, or to look at: string, xml, bit-efficient, json. How it reads
    /// them, each peer says.
    #[arg(long, value_name = "ENCODING", default_value = "compact", hide_default_value = true, help_heading = NODES)]
    pub encoding: Encoding,
    /// Keep what agents of this node say, for `whimbrel log`: in the folder `.whimbrel` beside the file, or in this one.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, help_heading = LOOKING)]
    pub log: Option<Option<PathBuf>>,
    /// Show every message, and agents coming and going, on standard error.
    #[arg(long, help_heading = LOOKING)]
    pub trace: bool,
    /// Show no warnings, only what agents print.
    #[arg(long, short, help_heading = LOOKING)]
    pub quiet: bool,
}

/// What a node offers agents to act on.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = ACTING)]
pub struct OfferingArguments {
    /// Let agents that come here, or live here, act on the documents of this folder, by this name: those to which a `[[grant]]` of
    /// the policy gives it. May be said again.
    #[arg(long = "offer", value_name = "NAME=FOLDER", value_parser = offer)]
    pub offers: Vec<(String, PathBuf)>,
    /// Where WebAssembly agents to which the policy grants `storage` keep what they leave on this node, also when it ends: a folder. In
    /// memory only if not given. With several nodes in one command, each has a folder of its name in there.
    #[arg(long, value_name = "FOLDER")]
    pub storage: Option<PathBuf>,
}

impl OfferingArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> OfferOptions {
        OfferOptions { offers: self.offers.clone(), storage: self.storage.clone() }
    }
}

fn offer(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => Ok((name.to_owned(), folder.into())),
        _ => Err("expected a name and a folder, as library=documents".to_owned()),
    }
}

/// Who may do what on a node, and the record of what was refused.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = GUARDING)]
pub struct GuardingArguments {
    /// Who may create, kill and move agents, register services, write to agents and topics: a policy file.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Append what agents and nodes are refused and allowed to this file: a line of JSON each. What operators do is in
    /// FILE.operators, what strangers try in FILE.outside.
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Keep every signed message that leaves or comes in this folder, for `whimbrel prove`; needs `--security signed`.
    #[arg(long, value_name = "FOLDER")]
    pub evidence: Option<PathBuf>,
}

impl GuardingArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> PolicyOptions {
        PolicyOptions { policy: self.policy.clone(), audit: self.audit.clone(), evidence: self.evidence.clone() }
    }
}

impl RunArguments {
    /// Returns the options of links.
    pub fn links(&self) -> LinkOptions {
        LinkOptions {
            name: self.name.clone(),
            listen: self.listen.clone(),
            token: self.token.clone(),
            level: self.security.map(Level::from),
            credentials: self.credentials.clone(),
            encoding: self.encoding,
            patience: self.link_timeout,
        }
    }

    /// Returns the options of the society's store, if it has one.
    ///
    /// # Errors
    /// Options are given that are about a store, and no store is.
    pub fn durability(&self, file: &Path) -> anyhow::Result<Option<DurabilityOptions>> {
        let store = match &self.store {
            Some(store) => store.clone(),
            None if self.durable => default_folder(file).to_string_lossy().into_owned(),
            None if self.fresh => bail!("--fresh is for societies that are kept: with --durable or --store"),
            None if self.passivate.is_some() => {
                bail!("--passivate is for societies that are kept: with --durable or --store")
            }
            None => return Ok(None),
        };
        Ok(Some(DurabilityOptions {
            store,
            project: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            fresh: self.fresh,
            standby: self.standby,
            weight: self.weight,
            level: self.level,
            labels: self.labels.clone(),
            takeover: self.takeover,
        }))
    }
}

impl JoinArguments {
    /// Returns the options of links.
    pub fn links(&self) -> LinkOptions {
        LinkOptions {
            name: self.name.clone(),
            listen: self.listen.clone(),
            token: self.token.clone(),
            level: self.security.map(Level::from),
            credentials: self.credentials.clone(),
            encoding: self.encoding,
            patience: self.link_timeout,
        }
    }
}
