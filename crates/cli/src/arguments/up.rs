//! `whimbrel up`: a node of a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use whimbrel_acl::Encoding;
use whimbrel_platform::cluster::LEVEL;
use whimbrel_terminal::options::SecurityLevel;

use super::http::HttpArguments;
use super::mtp::MtpArguments;
use super::run::{GUARDING, GuardingArguments, KEEPING, LOOKING, NODES, OfferingArguments, RunArguments};

use super::session::AgentPortArguments;
use super::xmpp::XmppArguments;

/// Run a node of a society that several machines share.
///
/// Run the same command on each machine. NATS JetStream stores the society, and each node runs a share of the agents.
/// Nodes may join, leave and die at any time: their agents continue on other nodes, in the middle of their plans.
/// Ctrl-C hands over this node's agents and leaves. Agents end the society on all nodes with `.stopMAS`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  whimbrel engine up --dir engine                            three NATS servers on this machine, for trials
  whimbrel up garden --store nats://127.0.0.1:4222/garden    a node; on another terminal, a second one
  whimbrel nodes                                             the nodes and their agents
  whimbrel drain n1                                          n1 hands over its agents
  whimbrel up garden --store nats://10.0.0.9:4222/garden --listen 10.0.0.2:7001 --credentials n2    on several machines")]
pub struct UpArguments {
    /// Project (.mas2j), program (.asl), or folder with one project in it. Must be the same on all nodes.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Store in NATS JetStream through which nodes find each other, for example nats://127.0.0.1:4222/garden.
    #[arg(long, value_name = "URL", help_heading = KEEPING)]
    pub store: String,
    /// Address at which other nodes reach this one, for example 10.0.0.2:7001. Not needed if the engine is on this
    /// machine.
    #[arg(long, value_name = "ADDRESS", help_heading = NODES)]
    pub listen: Option<String>,
    /// Unique name of this node [default: n1, n2, ...].
    #[arg(long, value_name = "NAME", help_heading = NODES)]
    pub name: Option<String>,
    /// Capacity of this node relative to others; agents are shared out in proportion [default: measured at the start].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = NODES)]
    pub weight: Option<u32>,
    /// Emulate the formats of an earlier release towards other nodes, to test upgrades.
    #[arg(
        long,
        hide = true,
        value_name = "LEVEL",
        value_parser = clap::value_parser!(u32).range(i64::from(LEVEL) - 1..=i64::from(LEVEL))
    )]
    pub level: Option<u32>,
    /// Label of this node, for example `gpu`. Agents with `[label=gpu]` in the project run only on nodes with that
    /// label. May be given several times.
    #[arg(long = "label", value_name = "LABEL", help_heading = NODES)]
    pub labels: Vec<String>,
    /// Run no agents while a node without this option lives. Take over the society when no such node lives.
    #[arg(long, conflicts_with = "fresh", help_heading = NODES)]
    pub standby: bool,
    /// Time without a sign of life after which another node is declared dead [default: 3s]. A node declared dead by
    /// mistake is stopped, and nothing is lost.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_takeover, help_heading = NODES)]
    pub takeover: Option<Duration>,
    /// Remove agents from memory after this time without work. Their next message or timer brings them back. In the
    /// project, `passivate="10m"` sets this for one agent, and `passivate="never"` excludes it.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse, help_heading = KEEPING)]
    pub passivate: Option<Duration>,
    /// Delete the stored society, and begin anew. Refused while another node lives.
    #[arg(long, help_heading = KEEPING)]
    pub fresh: bool,
    /// Number of agents of a single program, or of each project entry with `#n`. Must be the same on all nodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub agents: Option<u32>,
    /// End this node after this time, for example 10s, 500ms, 2m. Its agents continue on the other nodes.
    #[arg(long = "for", value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub time: Option<Duration>,
    /// Number of threads that run agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Secret of the links between nodes [default: made by the first node].
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true, help_heading = NODES)]
    pub token: Option<String>,
    /// Security of the links between nodes. Links to other machines are authenticated by default.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = NODES)]
    pub security: Option<SecurityLevel>,
    /// Folder with this node's certificate, from `whimbrel ca issue FOLDER n1 --out`.
    #[arg(long, value_name = "FOLDER", help_heading = NODES)]
    pub credentials: Option<PathBuf>,
    /// Time without contact after which another node and its agents are declared lost: senders of messages to them get
    /// `failure` [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_link_timeout, help_heading = NODES)]
    pub link_timeout: Option<Duration>,
    #[command(flatten)]
    pub guarding: GuardingArguments,
    /// Cache of compiled modules: a folder, or `off` [default: ~/.cache/whimbrel/code].
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
    /// Keep a log of this node's messages for `whimbrel log`, in `.whimbrel` beside the file or in this folder.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, help_heading = LOOKING)]
    pub log: Option<Option<PathBuf>>,
    /// Print every message, and the start and end of agents, to standard error.
    #[arg(long, help_heading = LOOKING)]
    pub trace: bool,
    /// Print no warnings and no moves, only the output of agents.
    #[arg(long, short, help_heading = LOOKING)]
    pub quiet: bool,
}

impl From<UpArguments> for RunArguments {
    fn from(up: UpArguments) -> Self {
        Self {
            file: up.file,
            agents: up.agents,
            strict: false,
            time: up.time,
            durable: false,
            store: Some(up.store),
            standby: up.standby,
            takeover: up.takeover,
            name: up.name,
            weight: up.weight,
            level: up.level,
            passivate: up.passivate,
            labels: up.labels,
            shows_console: false,
            fresh: up.fresh,
            open: false,
            keep: false,
            trace: up.trace,
            summary: None,
            log: up.log,
            workers: up.workers,
            seed: None,
            nodes: None,
            security: up.security,
            listen: up.listen,
            token: up.token,
            credentials: up.credentials,
            link_timeout: up.link_timeout,
            guarding: up.guarding,
            offering: up.offering,
            code_cache: up.code_cache,
            agents_elsewhere: up.agents_elsewhere,
            http: up.http,
            mtp: up.mtp,
            xmpp: up.xmpp,
            encoding: Encoding::Compact,
            node: None,
            end_with_input: false,
            begin_with_input: false,
            first: None,
            quiet: up.quiet,
        }
    }
}
