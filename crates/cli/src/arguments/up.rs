//! `whimbrel up`: a node of a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use whimbrel_acl::Encoding;
use whimbrel_platform::cluster::LEVEL;
use whimbrel_terminal::options::SecurityLevel;

use super::http::HttpArguments;
use super::run::{GUARDING, GuardingArguments, KEEPING, LOOKING, NODES, OfferingArguments, RunArguments};

use super::session::AgentPortArguments;

/// Run a society on several machines: this one is a node of it.
///
/// The same command on each of them: the society is kept in NATS JetStream, and each node runs its share of the agents.
/// Nodes may come, leave and die at any time: their agents go on elsewhere, in the middle of their plans. Ctrl-C hands
/// over what runs here and leaves; agents end the society on all nodes with `.stopMAS`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  whimbrel engine up --dir engine                            three NATS servers on this machine, to try things out
  whimbrel up garden --store nats://127.0.0.1:4222/garden    a node; typed again on another terminal, a second one
  whimbrel nodes                                             who runs what
  whimbrel drain n1                                          have n1 hand over what it runs
  whimbrel up garden --store nats://10.0.0.9:4222/garden --listen 10.0.0.2:7001 --credentials n2    among machines")]
pub struct UpArguments {
    /// A project (.mas2j), a program (.asl), or a folder with one project in it: the same on all nodes.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the society is kept, and nodes find each other: NATS JetStream, as nats://127.0.0.1:4222/garden.
    #[arg(long, visible_alias = "join", value_name = "URL")]
    pub store: String,
    /// Where the other nodes reach this one, as 10.0.0.2:7001. Need not be said if the engine is on this machine.
    #[arg(long, value_name = "ADDRESS", help_heading = NODES)]
    pub listen: Option<String>,
    /// This node's name, unlike any other's: n1, n2, ... if not given.
    #[arg(long, value_name = "NAME", help_heading = NODES)]
    pub name: Option<String>,
    /// How much this node can do, beside others: it gets agents in proportion. Found by a moment of work if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = NODES)]
    pub weight: Option<u32>,
    /// Write no more than an earlier release would for other nodes: to try out how releases replace each other.
    #[arg(long, hide = true, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(i64::from(LEVEL) - 1..=i64::from(LEVEL)))]
    pub level: Option<u32>,
    /// What this node is called beside its name, as `gpu`: agents with `[label=gpu]` in the project run on nodes with that label
    /// only. May be said again.
    #[arg(long = "label", value_name = "LABEL", help_heading = NODES)]
    pub labels: Vec<String>,
    /// Serve nothing as long as another node does that is no standby.
    #[arg(long, conflicts_with = "fresh", help_heading = NODES)]
    pub standby: bool,
    /// How long another node may give no sign of life until it is thought dead: 3s if not given. Thought so by mistake it
    /// is ended, and nothing is lost.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_takeover, help_heading = NODES)]
    pub takeover: Option<Duration>,
    /// Let agents that have had nothing to do for this long leave memory; their next message or timer brings them back.
    /// `passivate="10m"` in the project says it of one agent, `never` that it stays.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse, help_heading = KEEPING)]
    pub passivate: Option<Duration>,
    /// Forget what is kept of the society, and begin anew: if no other node lives.
    #[arg(long, help_heading = KEEPING)]
    pub fresh: bool,
    /// How many agents of a lone program, or of each project entry that has `#n`: the same on all nodes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub agents: Option<u32>,
    /// Leave after this long, for instance 10s, 500ms, 2m.
    #[arg(long = "for", value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub time: Option<Duration>,
    /// The secret of the links between nodes, if the first node is not to make one up.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_TOKEN", hide_env_values = true, help_heading = NODES)]
    pub token: Option<String>,
    /// How the links between nodes are secured: beyond this machine they are authenticated, unless this says otherwise.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = NODES)]
    pub security: Option<SecurityLevel>,
    /// The folder with this node's certificate: what `whimbrel ca issue FOLDER n1 --out` made.
    #[arg(long, value_name = "FOLDER", help_heading = NODES)]
    pub credentials: Option<PathBuf>,
    /// How long another node may be out of reach until it is taken for lost, with its agents, and who waits for it is told: 30s if not
    /// given.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse_link_timeout, help_heading = NODES)]
    pub link_timeout: Option<Duration>,
    #[command(flatten)]
    pub guarding: GuardingArguments,
    /// Where it is kept what modules were compiled to: a folder, or `off`. In the user's cache (~/.cache/whimbrel/code) if not given.
    #[arg(long, value_name = "FOLDER", help_heading = GUARDING)]
    pub code_cache: Option<PathBuf>,
    #[command(flatten)]
    pub offering: OfferingArguments,
    #[command(flatten)]
    pub agents_elsewhere: AgentPortArguments,
    #[command(flatten)]
    pub http: HttpArguments,
    /// Keep what agents of this node say, for `whimbrel log`: in the folder `.whimbrel` beside the file, or in this one.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true, help_heading = LOOKING)]
    pub log: Option<Option<PathBuf>>,
    /// Threads to run agents on; as many as there are cores if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Show every message, and agents coming and going, on standard error.
    #[arg(long, help_heading = LOOKING)]
    pub trace: bool,
    /// Show no warnings and no moves, only what agents print.
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
            trace: up.trace,
            summary: false,
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
            encoding: Encoding::Compact,
            node: None,
            first: None,
            quiet: up.quiet,
        }
    }
}
