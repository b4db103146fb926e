//! `whimbrel run` and `whimbrel join`: societies, and the security of the links between their nodes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::{Args, ValueEnum};
use whimbrel::node::document_offers::OfferOptions;
use whimbrel::node::durability::{DurabilityOptions, default_folder};
use whimbrel::node::membership::LinkOptions;
use whimbrel::node::policy_setup::PolicyOptions;
use whimbrel_acl::Encoding;
use whimbrel_net::LinkSecurity;
use whimbrel_platform::cluster::LEVEL;
use whimbrel_terminal::options::SecurityLevel;

use whimbrel::doors::DoorOptions;

use super::http::HttpArguments;
use super::mtp::MtpArguments;
use super::session::AgentPortArguments;
use super::xmpp::XmppArguments;

/// Headings of options in the help.
pub const KEEPING: &str = "Durability";
pub const LOOKING: &str = "Observation";
pub const NODES: &str = "Several nodes";
pub const GUARDING: &str = "Access control";
pub const ACTING: &str = "Resources for agents";
pub const PORTS: &str = "HTTP port and agent port";

/// Run a society until it ends, or Ctrl-C.
///
/// Output of agents goes to standard output as `[agent] text`; warnings go to standard error.
///
/// Exit status: the argument of `.stopMAS` if an agent gave one, else 0; 1 if agents were left out because of errors.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run examples/contract-net --summary     a folder with one project in it
  whimbrel run auction.mas2j --agents 1000         each `#n` of the project becomes #1000
  whimbrel run hello.asl                           one agent, named hello after its file
  whimbrel run hello.asl --agents 3                hello1, hello2 and hello3
  whimbrel run auction.mas2j --open --keep         watch it in a browser, also after its end
  whimbrel run auction.mas2j --nodes 3             three processes that share the agents
  whimbrel run long-plan --durable                 after any interruption, the next run continues
  whimbrel run garden --offer library=texts        offer a folder of documents to agents
  whimbrel run auction.mas2j --log                 keep a log of messages for `whimbrel log`
  whimbrel run hello.asl --for 10s --trace         run for ten seconds, and print every message")]
pub struct RunArguments {
    /// Project (.mas2j), program (.asl, .wasm), or folder with one project in it.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Number of agents of a single program, or of each project entry with `#n`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub agents: Option<u32>,
    /// Refuse to run if an agent of the society, or a file that a program includes, has errors. By default, agents with
    /// errors are left out, and programs run without such files.
    #[arg(long)]
    pub strict: bool,
    /// End the society after this time, for example 10s, 500ms, 2m.
    #[arg(long = "for", value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub time: Option<Duration>,
    /// Store the society in the folder `.whimbrel` beside its file. After any end of this process (Ctrl-C, kill -9, a
    /// power cut), the next run continues with every belief, intention and message.
    #[arg(long, conflicts_with = "nodes", help_heading = KEEPING)]
    pub durable: bool,
    /// Store the society in this folder, or in NATS JetStream, for example nats://127.0.0.1:4222/garden. Several
    /// machines can then run it together: see `whimbrel up`. `whimbrel engine up` starts servers for trials.
    #[arg(long, value_name = "FOLDER|URL", conflicts_with = "nodes", help_heading = KEEPING)]
    pub store: Option<String>,
    /// Run no agents while a node without this option lives. Take over the society when no such node lives.
    #[arg(long, requires = "store", conflicts_with = "fresh", help_heading = NODES)]
    pub standby: bool,
    /// Time without a sign of life after which another node is declared dead [default: 3s]. A node declared dead by
    /// mistake is stopped, and nothing is lost.
    #[arg(
        long,
        value_name = "TIME",
        requires = "store",
        value_parser = whimbrel::duration::parse_takeover,
        help_heading = NODES
    )]
    pub takeover: Option<Duration>,
    /// Unique name of this node, with `--store` or `--listen` [default: n1, n2, ...].
    #[arg(long, value_name = "NAME", conflicts_with = "nodes", help_heading = NODES)]
    pub name: Option<String>,
    /// Capacity of this node relative to others; agents are shared out in proportion [default: measured at the start].
    #[arg(
        long,
        value_name = "N",
        requires = "store",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = NODES
    )]
    pub weight: Option<u32>,
    /// Emulate the formats of an earlier release towards other nodes, to test upgrades.
    #[arg(
        long,
        hide = true,
        value_name = "LEVEL",
        requires = "store",
        value_parser = clap::value_parser!(u32).range(i64::from(LEVEL) - 1..=i64::from(LEVEL))
    )]
    pub level: Option<u32>,
    /// Remove agents from memory after this time without work. Their next message or timer brings them back. Only for
    /// durable societies. In the project, `passivate="10m"` sets this for one agent, and `passivate="never"` excludes
    /// it.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse, help_heading = KEEPING)]
    pub passivate: Option<Duration>,
    /// Labels of the node: see `whimbrel up`.
    #[arg(skip)]
    pub labels: Vec<String>,
    /// True if the command has a console by default: `run` has one, `up` has none.
    #[arg(skip = true)]
    pub shows_console: bool,
    /// Delete the stored society, and begin anew.
    #[arg(long, help_heading = KEEPING)]
    pub fresh: bool,
    /// Keep a log of messages for `whimbrel log`, in `.whimbrel` beside the society's file or in this folder.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, help_heading = LOOKING)]
    pub log: Option<Option<PathBuf>>,
    /// Open the console in a browser. The society begins when the page is loaded. After the society's end, the console
    /// stays while a browser has it open. `$BROWSER` chooses the browser.
    #[arg(long, conflicts_with_all = ["nodes", "quiet"], help_heading = LOOKING)]
    pub open: bool,
    /// Keep the console after the society's end, until Ctrl-C.
    #[arg(long, help_heading = LOOKING)]
    pub keep: bool,
    /// Print every message, and the start and end of agents, to standard error.
    #[arg(long, help_heading = LOOKING)]
    pub trace: bool,
    /// Print a table at the end: agents, messages by performative, awards, time. `--summary=json` prints one line of
    /// JSON.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "table",
        help_heading = LOOKING
    )]
    pub summary: Option<SummaryForm>,
    /// Number of threads that run agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Seed of random numbers, for repeatable runs.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of nodes to spread the agents over, each a process on this machine. `at "n2"` in a project puts an agent
    /// on the second node.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), help_heading = NODES)]
    pub nodes: Option<u16>,
    /// Security of the links between nodes. `tls` encrypts links. `authenticated` also identifies nodes by
    /// certificates, and refuses messages whose sender is no agent of their node. With `signed`, agents also sign each
    /// message that leaves their node.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = NODES)]
    pub security: Option<SecurityLevel>,
    /// Let other nodes join at this address, for example 127.0.0.1:7001. Links to other machines are authenticated,
    /// unless `--security` says otherwise. With a store in NATS: address at which the society's other nodes reach this
    /// one.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "nodes", help_heading = NODES)]
    pub listen: Option<String>,
    /// Secret that joining nodes must present.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true, help_heading = NODES)]
    pub token: Option<String>,
    /// Folder with this node's certificate, from `whimbrel ca issue FOLDER n1 --out`.
    #[arg(long, value_name = "FOLDER", conflicts_with = "nodes", help_heading = NODES)]
    pub credentials: Option<PathBuf>,
    /// Time without contact after which another node and its agents are declared lost: senders of messages to them get
    /// `failure` [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_link_timeout, help_heading = NODES)]
    pub link_timeout: Option<Duration>,
    #[command(flatten)]
    pub guarding: GuardingArguments,
    /// Cache of compiled modules, and of programs that agents from other nodes bring along: a folder, or `off`
    /// [default: ~/.cache/whimbrel/code].
    #[arg(long, value_name = "FOLDER", help_heading = GUARDING)]
    pub code_cache: Option<PathBuf>,
    #[command(flatten)]
    pub offering: OfferingArguments,
    #[command(flatten)]
    pub agents_elsewhere: AgentPortArguments,
    #[command(flatten)]
    pub http: HttpArguments,
    #[command(flatten)]
    pub mtp: MtpArguments,
    #[command(flatten)]
    pub xmpp: XmppArguments,
    /// Encoding of messages that this node sends to others: compact (the default), or for inspection string, xml,
    /// bit-efficient or json. Each peer chooses its own.
    #[arg(long, value_name = "ENCODING", default_value = "compact", hide_default_value = true, help_heading = NODES)]
    pub encoding: Encoding,
    /// Number of this node; for processes that `--nodes` starts.
    #[arg(long, hide = true, value_name = "K", requires = "nodes", requires = "first")]
    pub node: Option<u16>,
    /// End the society when standard input is at its end; for the process that a prompt starts.
    #[arg(long, hide = true)]
    pub end_with_input: bool,
    /// Begin the society when standard input has a line; for the process that a debugger starts.
    #[arg(long, hide = true, requires = "end_with_input", conflicts_with = "open")]
    pub begin_with_input: bool,
    /// Address of the first node; for processes that `--nodes` starts.
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub first: Option<String>,
    /// Print no warnings, only the output of agents.
    #[arg(long, short, help_heading = LOOKING)]
    pub quiet: bool,
}

/// Form of the summary of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SummaryForm {
    Table,
    Json,
}

/// Join a running platform, with agents of a society or as a node for moving agents.
///
/// Agents of FILE become agents of the platform: they find its agents and exchange messages with them. Agents can move
/// to the node, and bring along programs that it lacks. The node leaves when the platform stops, or at Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run garden --listen 127.0.0.1:7001 --token T     on one terminal
  whimbrel join 127.0.0.1:7001 bees.mas2j --token T         on another
  whimbrel join 127.0.0.1:7001 --name n2 --token T          a node to which agents can move
  whimbrel join 10.0.0.1:7001 bees --token T --listen 10.0.0.2:7001   later nodes can reach this one")]
pub struct JoinArguments {
    /// Address at which a node of the platform listens.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// Project (.mas2j), program (.asl, .wasm), or folder with one project in it. Without FILE, the node has no agents
    /// until some move to it.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Refuse to run if an agent of the society, or a file that a program includes, has errors. By default, agents with
    /// errors are left out, and programs run without such files.
    #[arg(long)]
    pub strict: bool,
    /// Secret of the platform.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true, help_heading = NODES)]
    pub token: Option<String>,
    /// Unique name of this node [default: the name in its certificate, or a generated one].
    #[arg(long, value_name = "NAME", help_heading = NODES)]
    pub name: Option<String>,
    /// Address at which nodes that join later reach this one, for example 192.168.7.2:7001. Without it, agents of this
    /// node cannot exchange messages with agents of those nodes.
    #[arg(long, value_name = "ADDRESS", requires = "token", help_heading = NODES)]
    pub listen: Option<String>,
    /// Security of links; must match the platform's.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = NODES)]
    pub security: Option<SecurityLevel>,
    /// Folder with this node's certificate, from `whimbrel ca issue`.
    #[arg(long, value_name = "FOLDER", help_heading = NODES)]
    pub credentials: Option<PathBuf>,
    /// Time without contact after which another node and its agents are declared lost: senders of messages to them get
    /// `failure` [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_link_timeout, help_heading = NODES)]
    pub link_timeout: Option<Duration>,
    #[command(flatten)]
    pub guarding: GuardingArguments,
    /// Cache of compiled modules, and of programs that agents from other nodes bring along: a folder, or `off`
    /// [default: ~/.cache/whimbrel/code].
    #[arg(long, value_name = "FOLDER", help_heading = GUARDING)]
    pub code_cache: Option<PathBuf>,
    #[command(flatten)]
    pub offering: OfferingArguments,
    #[command(flatten)]
    pub agents_elsewhere: AgentPortArguments,
    #[command(flatten)]
    pub http: HttpArguments,
    /// Encoding of messages that this node sends to others: compact (the default), or for inspection string, xml,
    /// bit-efficient or json. Each peer chooses its own.
    #[arg(long, value_name = "ENCODING", default_value = "compact", hide_default_value = true, help_heading = NODES)]
    pub encoding: Encoding,
    /// Keep a log of this node's messages for `whimbrel log`, in `.whimbrel` beside the file or in this folder.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, help_heading = LOOKING)]
    pub log: Option<Option<PathBuf>>,
    /// Print every message, and the start and end of agents, to standard error.
    #[arg(long, help_heading = LOOKING)]
    pub trace: bool,
    /// Print no warnings, only the output of agents.
    #[arg(long, short, help_heading = LOOKING)]
    pub quiet: bool,
}

/// Resources that a node offers to agents.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = ACTING)]
pub struct OfferingArguments {
    /// Offer the documents of this folder under this name to agents on this node. A `[[grant]]` of the policy gives
    /// access. May be given several times.
    #[arg(long = "offer", value_name = "NAME=FOLDER", value_parser = offer)]
    pub offers: Vec<(String, PathBuf)>,
    /// Folder for data that WebAssembly agents leave on this node, if the policy grants them `storage` [default: memory
    /// only]. With several nodes in one command, each has its own subfolder.
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

/// Policy of a node, and its records of refusals and evidence.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = GUARDING)]
pub struct GuardingArguments {
    /// Policy file: rules that allow or deny creating, killing and moving agents, registering services, and sending to
    /// agents and topics, and that set quotas.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Append each refusal, and each allowed act that changes something, to this file, one line of JSON each.
    /// Operators' actions go to FILE.operators, attempts of unknown clients to FILE.outside.
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Store every signed message that leaves or enters the node in this folder, for `whimbrel prove`. Needs
    /// `--security signed`.
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
    /// Returns the doors to other platforms: of several nodes, the first has them.
    pub fn doors(&self) -> DoorOptions {
        let is_first = self.node.is_none();
        DoorOptions { mtp: self.mtp.options(is_first), xmpp: self.xmpp.options(is_first) }
    }

    /// Returns true if the society waits for something before it begins.
    pub fn begins_later(&self) -> bool {
        self.open || self.begin_with_input
    }

    /// Returns the options of links.
    pub fn links(&self) -> LinkOptions {
        LinkOptions {
            name: self.name.clone(),
            listen: self.listen.clone(),
            token: self.token.clone(),
            level: self.security.map(LinkSecurity::from),
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
            None if self.fresh => bail!("--fresh needs a durable society: give --durable or --store"),
            None if self.passivate.is_some() => {
                bail!("--passivate needs a durable society: give --durable or --store")
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
            level: self.security.map(LinkSecurity::from),
            credentials: self.credentials.clone(),
            encoding: self.encoding,
            patience: self.link_timeout,
        }
    }
}
