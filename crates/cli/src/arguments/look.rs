//! `whimbrel ps`, `nodes`, `agents`, `df` and `links`: looking at what runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use whimbrel_platform::ams::AgentState;

use whimbrel::control::Cursor;
use whimbrel_terminal::options::OutputOptions;

use super::TargetArguments;

/// Show the nodes that run on this machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ps              one line for each node
  whimbrel ps --watch      again and again
  whimbrel ps --json       for programs")]
pub struct PsArguments {
    #[command(flatten)]
    pub showing: OutputOptions,
}

/// Show the nodes of a society that runs on several, on whatever machines: who runs how much of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel nodes           one line for each node
  whimbrel nodes --watch   again and again
  whimbrel nodes --json    for programs")]
pub struct NodesArguments {
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show the agents of a running platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel agents                               all of them, on all nodes
  whimbrel agents 'seller*' --state suspended   those that fit
  whimbrel agents --sort mailbox --limit 10     who has most to do
  whimbrel agents --watch")]
pub struct AgentsArguments {
    /// The name, in which `*` stands for any text and `?` for any one character.
    #[arg(value_name = "NAME", default_value = "")]
    pub name: String,
    /// Only those in this state: initiated, active, suspended, waiting or transit.
    #[arg(long, value_name = "STATE")]
    pub state: Option<AgentState>,
    /// Which come first.
    #[arg(long, value_enum, default_value_t = Order::Name, value_name = "ORDER")]
    pub sort: Order,
    /// How many to show at most.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// The platform's own agents, too.
    #[arg(long)]
    pub services: bool,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Which agents come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By name, numbers in names as numbers.
    Name,
    /// Those with most messages waiting.
    Mailbox,
    /// Those that handled most messages.
    Handled,
    /// The oldest.
    Age,
}

/// Show what agents offer: the entries of the directory facilitator.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel df                                  everything
  whimbrel df 'translat*'                      services of this name or type
  whimbrel df --type language --property from=english
  whimbrel df --ontology market --json")]
pub struct DfArguments {
    /// The service's name or type, in which `*` stands for any text and `?` for any one character.
    #[arg(value_name = "SERVICE")]
    pub service: Option<String>,
    /// The service's name.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The service's type.
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The agent that offers it.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// An ontology that it knows.
    #[arg(long, value_name = "NAME")]
    pub ontology: Option<String>,
    /// An interaction protocol that it speaks.
    #[arg(long, value_name = "NAME")]
    pub protocol: Option<String>,
    /// A content language that it speaks.
    #[arg(long, value_name = "NAME")]
    pub language: Option<String>,
    /// A property of the service, of any value or of this one.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub property: Vec<String>,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show the topics and groups of a running platform, and how many agents are in each.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel topics          topic:weather, group:workers, ...
  whimbrel topics --watch  again and again")]
pub struct TopicsArguments {
    /// The name, with or without `topic:` or `group:`; `*` stands for any text and `?` for any one character.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show the newest messages that could not reach their receivers, and why.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel dead-letters
  whimbrel dead-letters 'bidder*' --limit 5      what these sent or should have got")]
pub struct DeadLettersArguments {
    /// Agents that sent them, or should have got them; `*` stands for any text and `?` for any one character.
    #[arg(value_name = "AGENT")]
    pub agents: Vec<String>,
    /// How many to show at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show the links between the nodes of a running platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel links --watch    how much goes over each, every second")]
pub struct LinksArguments {
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show what agents said to each other: the log of conversations that `whimbrel run --log` keeps.
///
/// It ends with a cursor. `--since` with that cursor goes on from there: nothing is missed and nothing shown twice, however the
/// society or this command ended meanwhile. Where something is missing in the log itself, it says so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel log                                          all that is kept of a running society
  whimbrel log 'auction-*'                              conversations whose name fits
  whimbrel log --performative cfp --from c --last 1h
  whimbrel log --since n1:5321 --follow                 what came after that, and what comes
  whimbrel log --folder garden/.whimbrel/garden.log     of a society that does not run
  whimbrel log --json > messages.jsonl                  each line with the cursor after it")]
pub struct LogArguments {
    /// Only conversations whose name fits this pattern: `*` stands for any text, `?` for any one character.
    #[arg(value_name = "CONVERSATION")]
    pub conversation: Option<String>,
    /// Only these performatives.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub performative: Vec<String>,
    /// Only what such agents sent.
    #[arg(long, value_name = "PATTERN")]
    pub from: Vec<String>,
    /// Only what such agents, topics or groups were sent.
    #[arg(long, value_name = "PATTERN")]
    pub to: Vec<String>,
    /// Only what was sent in this last time, as 10m, 1h.
    #[arg(long, value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub last: Option<Duration>,
    /// Only what came after this: a cursor that this command told.
    #[arg(long, value_name = "CURSOR", default_value_t, hide_default_value = true)]
    pub since: Cursor,
    /// Go on with what is said from now on, until Ctrl-C.
    #[arg(long, conflicts_with = "folder")]
    pub follow: bool,
    /// The log in this folder, of a society that does not run.
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// A line of JSON for each message.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Show what agents say to each other, as they say it.
///
/// If agents are named, messages are drawn as arrows between their life lines, as in a sequence diagram; else each is a
/// line. Agents never wait for the terminal: if it is too slow, messages are left out, and their number is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel sniff                                 everything
  whimbrel sniff buyer seller                    a sequence diagram of what these two send and get
  whimbrel sniff --agent 'bidder*' --performative cfp,propose
  whimbrel sniff --conversation 'auction-*' --for 5s
  whimbrel sniff --json --limit 100 > messages.jsonl")]
pub struct SniffArguments {
    /// Agents to draw life lines of.
    #[arg(value_name = "AGENT")]
    pub agents: Vec<String>,
    /// Only what such agents send or get; `*` stands for any text, `?` for any one character.
    #[arg(long, value_name = "PATTERN")]
    pub agent: Vec<String>,
    /// Only conversations whose name fits this pattern.
    #[arg(long, value_name = "PATTERN")]
    pub conversation: Option<String>,
    /// Only these performatives.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub performative: Vec<String>,
    /// Neither agents that come and go, nor services.
    #[arg(long)]
    pub only_messages: bool,
    /// End after so many messages.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// End after this long.
    #[arg(long = "for", value_name = "TIME", value_parser = whimbrel::duration::parse)]
    pub time: Option<Duration>,
    /// A line for each message, no diagram.
    #[arg(long)]
    pub lines: bool,
    /// A line of JSON for each event.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}
