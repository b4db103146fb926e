//! `whimbrel send`, `kill`, `move`, `recall`, `suspend`, `resume`, `drain` and `stop`: acting upon what runs.

use std::time::Duration;

use clap::Args;

use super::TargetArguments;

/// Send a message to an agent, and show its answer if asked to wait for one.
///
/// The message is content (a term of AgentSpeak if it is one, else text), or a whole message in any encoding that
/// `whimbrel codec` knows. It is read from standard input if it is not given, or `-`. The exit status is 0 if the message
/// was sent and, with --wait, answered; 3 if the answer is failure, refuse or not-understood; 4 if none came in time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel send seller 'price(tea)'                                an inform, from cli
  whimbrel send seller 'price(tea)' --performative request --wait  and shows the answer
  whimbrel send seller '(request :content \"(price tea)\")'          a message in FIPA's string encoding
  whimbrel send --to a --to b --performative achieve --content 'open(door)'
  whimbrel codec convert message.xml --to json | whimbrel send")]
pub struct SendArguments {
    /// Who is to get it; whoever the message names, if it is a whole one.
    #[arg(value_name = "AGENT", conflicts_with = "to")]
    pub agent: Option<String>,
    /// Content, or a whole message.
    #[arg(value_name = "MESSAGE", conflicts_with = "content", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Who is to get it.
    #[arg(long, value_name = "AGENT")]
    pub to: Vec<String>,
    /// What the message does: inform if not given.
    #[arg(long, short, value_name = "NAME")]
    pub performative: Option<String>,
    /// What it is about.
    #[arg(long, short, value_name = "CONTENT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Who sends it. An agent of this name is made if there is none, which prints what nobody waits for.
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// The conversation it is part of.
    #[arg(long, value_name = "NAME")]
    pub conversation: Option<String>,
    /// The interaction protocol it is part of.
    #[arg(long, value_name = "NAME")]
    pub protocol: Option<String>,
    /// The ontology of its content.
    #[arg(long, value_name = "NAME")]
    pub ontology: Option<String>,
    /// The language of its content.
    #[arg(long, value_name = "NAME")]
    pub language: Option<String>,
    /// Wait for the answer, 10 seconds or this long.
    #[arg(long, short, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10s")]
    #[arg(value_parser = whimbrel::duration::parse)]
    pub wait: Option<Duration>,
    /// Show the answer as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// End agents.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel kill bidder7
  whimbrel kill 'bidder*'")]
pub struct KillArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Have agents go on on another node, in the middle of what they do.
///
/// Their messages, timers, services and intentions go along. Whoever cannot go stays, and it is said why. To be typed on the
/// machine of the agent's node.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel move bidder7 n2
  whimbrel move 'bidder*' n2
  whimbrel move bidder7 '*'")]
pub struct MoveArguments {
    /// Their name, in which `*` stands for any text and `?` for any one character.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// The node's name, as `whimbrel nodes` shows it; it may be on another machine. `*` takes an earlier order back: an agent that
    /// several nodes keep may then be on any of them again.
    #[arg(value_name = "NODE")]
    pub to: String,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Call agents home: to the node that each was created on, wherever it is.
///
/// A tour that an agent is on is over, also if it cannot get home because that node is dead: then it stays where it is, and that is
/// said. Whoever is in the middle of a hop turns back when that is done.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel recall scout3
  whimbrel recall 'scout*'")]
pub struct RecallArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Give agents no turns until they are resumed; their messages wait.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel suspend seller
  whimbrel suspend 'bidder*' clerk")]
pub struct SuspendArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Give suspended agents turns again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel resume seller
  whimbrel resume '*'")]
pub struct ResumeArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Which agents.
#[derive(Debug, Args)]
pub struct Whom {
    /// Their names, in which `*` stands for any text and `?` for any one character.
    #[arg(value_name = "AGENT", required = true)]
    pub agents: Vec<String>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Have a node of a cluster hand over all it runs to the other nodes, and take no more: before it is ended for
/// maintenance.
///
/// Its agents go on elsewhere, in the middle of their plans, and no message to them fails. Waits until it is done.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel drain n2
  whimbrel drain n2 --undo       it takes its share again")]
pub struct DrainArguments {
    /// The node's name, as `whimbrel nodes` shows it; it may be on another machine.
    #[arg(value_name = "NODE")]
    pub drained: String,
    /// Have it take its share again.
    #[arg(long)]
    pub undo: bool,
    /// How long to wait.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = whimbrel::duration::parse)]
    pub wait: Duration,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// End a platform, on all its nodes, and wait until those here have ended.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel stop
  whimbrel stop --platform garden --code 3")]
pub struct StopArguments {
    /// The exit status of its processes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=255))]
    pub code: i32,
    #[command(flatten)]
    pub target: TargetArguments,
}
