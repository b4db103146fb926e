//! `whimbrel ps`, `nodes`, `agents`, `df`, `topics`, `dead-letters`, `links`, `log` and `sniff`: commands that only
//! show.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use whimbrel_platform::ams::AgentState;

use whimbrel::control::Cursor;
use whimbrel_terminal::options::OutputOptions;

use super::TargetArguments;

/// List the nodes on this machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ps              one line for each node
  whimbrel ps --watch      refreshed every second
  whimbrel ps --json       for programs")]
pub struct PsArguments {
    #[command(flatten)]
    pub showing: OutputOptions,
}

/// List the nodes of a society on all machines, and the agents that each runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel nodes           one line for each node
  whimbrel nodes --watch   refreshed every second
  whimbrel nodes --json    for programs")]
pub struct NodesArguments {
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// List the agents of a running platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel agents                               all of them, on all nodes
  whimbrel agents 'seller*' --state suspended   some of them
  whimbrel agents --sort mailbox --limit 10     the ten longest mailboxes
  whimbrel agents --watch")]
pub struct AgentsArguments {
    /// Name of the agents. `*` stands for any text, `?` for any one character.
    #[arg(value_name = "NAME", default_value = "")]
    pub name: String,
    /// Show only agents in this state: initiated, active, suspended, waiting or transit.
    #[arg(long, value_name = "STATE")]
    pub state: Option<AgentState>,
    /// Order of the list.
    #[arg(long, value_enum, default_value_t = Order::Name, value_name = "ORDER")]
    pub sort: Order,
    /// Maximum number of entries to show.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// Show the platform's own agents, too.
    #[arg(long)]
    pub services: bool,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Order of a list of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By name; numbers in names count as numbers.
    Name,
    /// Longest mailbox first.
    Mailbox,
    /// Most messages handled first.
    Handled,
    /// Oldest first.
    Age,
}

/// List the services in the directory facilitator.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel df                                  everything
  whimbrel df 'translat*'                      services of this name or type
  whimbrel df --type language --property from=english
  whimbrel df --ontology market --json")]
pub struct DfArguments {
    /// Name or type of the service. `*` stands for any text, `?` for any one character.
    #[arg(value_name = "SERVICE")]
    pub service: Option<String>,
    /// Name of the service.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Type of the service.
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Agent that offers the service.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Ontology of the service.
    #[arg(long, value_name = "NAME")]
    pub ontology: Option<String>,
    /// Interaction protocol of the service.
    #[arg(long, value_name = "NAME")]
    pub protocol: Option<String>,
    /// Content language of the service.
    #[arg(long, value_name = "NAME")]
    pub language: Option<String>,
    /// Property of the service, with any value or the given one. May be given several times.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub property: Vec<String>,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// List the topics and groups of a running platform, with the number of members.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel topics          topic:weather, group:workers, ...
  whimbrel topics --watch  refreshed every second")]
pub struct TopicsArguments {
    /// Name of the topic or group, with or without `topic:` or `group:`. `*` stands for any text, `?` for any one
    /// character.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show the newest undeliverable messages, and the reasons.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel dead-letters
  whimbrel dead-letters 'bidder*' --limit 5      sent by these agents, or addressed to them")]
pub struct DeadLettersArguments {
    /// Sender or receiver of the messages. `*` stands for any text, `?` for any one character.
    #[arg(value_name = "AGENT")]
    pub agents: Vec<String>,
    /// Maximum number of entries to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// List the links between the nodes of a running platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel links --watch    the traffic on each link, every second")]
pub struct LinksArguments {
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show past messages, from the log that `whimbrel run --log` writes.
///
/// The output ends with a cursor. `--since CURSOR` continues from there without gaps or repetitions, however the
/// society or this command ended. Gaps in the log itself are reported.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel log                                          the whole log of a running society
  whimbrel log 'auction-*'                              some conversations
  whimbrel log --performative cfp --from c --last 1h
  whimbrel log --since n1:5321 --follow                 continue after a cursor, with new messages
  whimbrel log --folder garden/.whimbrel/garden.log     the log of a stopped society
  whimbrel log --json > messages.jsonl                  one line per message, with its cursor")]
pub struct LogArguments {
    /// Show only conversations whose identifier matches this pattern. `*` stands for any text, `?` for any one
    /// character.
    #[arg(value_name = "CONVERSATION")]
    pub conversation: Option<String>,
    /// Show only these performatives, separated by commas.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub performative: Vec<String>,
    /// Show only messages from agents that match this pattern.
    #[arg(long, value_name = "PATTERN")]
    pub from: Vec<String>,
    /// Show only messages to agents, topics or groups that match this pattern.
    #[arg(long, value_name = "PATTERN")]
    pub to: Vec<String>,
    /// Show only messages that are not older than this, for example 10m, 1h.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub last: Option<Duration>,
    /// Show only messages after this cursor of an earlier output.
    #[arg(long, value_name = "CURSOR", default_value_t, hide_default_value = true)]
    pub since: Cursor,
    /// Continue with new messages, until Ctrl-C.
    #[arg(long, conflicts_with = "folder")]
    pub follow: bool,
    /// Read the log in this folder; the society need not run.
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Print one line of JSON for each message.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show messages as they are sent.
///
/// With AGENT, messages are drawn as arrows between life lines, as in a sequence diagram; otherwise each message is one
/// line. Agents never wait for the terminal: if it is too slow, messages are left out, and their number is shown.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel sniff                                 everything
  whimbrel sniff buyer seller                    a sequence diagram of these two agents
  whimbrel sniff --agent 'bidder*' --performative cfp,propose
  whimbrel sniff --conversation 'auction-*' --for 5s
  whimbrel sniff --json --limit 100 > messages.jsonl")]
pub struct SniffArguments {
    /// Agents to draw life lines for.
    #[arg(value_name = "AGENT")]
    pub agents: Vec<String>,
    /// Show only messages to or from agents that match this pattern. `*` stands for any text, `?` for any one
    /// character.
    #[arg(long, value_name = "PATTERN")]
    pub agent: Vec<String>,
    /// Show only conversations whose identifier matches this pattern.
    #[arg(long, value_name = "PATTERN")]
    pub conversation: Option<String>,
    /// Show only these performatives, separated by commas.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub performative: Vec<String>,
    /// Leave out the start and end of agents, and services.
    #[arg(long)]
    pub only_messages: bool,
    /// End after this number of messages.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// End after this long.
    #[arg(long = "for", value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub time: Option<Duration>,
    /// Print one line for each message instead of a diagram.
    #[arg(long)]
    pub lines: bool,
    /// Print one line of JSON for each event.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}
