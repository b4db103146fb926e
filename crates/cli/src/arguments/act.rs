//! `whimbrel send`, `kill`, `move`, `recall`, `suspend`, `resume`, `drain` and `stop`: commands that act on agents and
//! nodes.

use std::time::Duration;

use clap::Args;

use super::TargetArguments;

/// Send a message to an agent, and with --wait show the answer.
///
/// MESSAGE is either content or a whole message. Content is an AgentSpeak term if it parses as one, else text. A whole
/// message may have any encoding that `whimbrel codec` reads. Without MESSAGE, or with `-`, standard input is read.
///
/// Exit status: 0 if the message was sent and, with --wait, answered; 3 if the answer is failure, refuse or
/// not-understood; 4 if no answer came in time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel send seller 'price(tea)'                                an inform whose sender is cli
  whimbrel send seller 'price(tea)' --performative request --wait  a request; shows the answer
  whimbrel send seller '(request :content \"(price tea)\")'          a message in FIPA's string encoding
  whimbrel send --to a --to b --performative achieve --content 'open(door)'
  whimbrel codec convert message.xml --to json | whimbrel send")]
pub struct SendArguments {
    /// Receiver of the message. A whole message names its own receivers.
    #[arg(value_name = "AGENT", conflicts_with = "to")]
    pub agent: Option<String>,
    /// Content, or a whole message. `-` reads standard input.
    #[arg(value_name = "MESSAGE", conflicts_with = "content", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Receiver of the message. May be given several times.
    #[arg(long, value_name = "AGENT")]
    pub to: Vec<String>,
    /// Performative of the message [default: inform].
    #[arg(long, short, value_name = "NAME")]
    pub performative: Option<String>,
    /// Content of the message.
    #[arg(long, short, value_name = "CONTENT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Sender of the message. If no agent has this name, one is created; it prints messages that no command waits for.
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// Conversation identifier of the message.
    #[arg(long, value_name = "NAME")]
    pub conversation: Option<String>,
    /// Interaction protocol of the message.
    #[arg(long, value_name = "NAME")]
    pub protocol: Option<String>,
    /// Ontology of the content.
    #[arg(long, value_name = "NAME")]
    pub ontology: Option<String>,
    /// Language of the content.
    #[arg(long, value_name = "NAME")]
    pub language: Option<String>,
    /// Wait for the answer, for 10 seconds or the given time.
    #[arg(long, short, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10s")]
    #[arg(value_parser = whimbrel::duration::parse)]
    pub wait: Option<Duration>,
    /// Show the answer as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Stop agents for good.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel kill bidder7
  whimbrel kill 'bidder*'")]
pub struct KillArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Move agents to another node, in the middle of their plans.
///
/// Messages, timers, services and intentions move with an agent. An agent that cannot move stays, and the reason is
/// printed. Run this command on the machine of the agent's node.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel move bidder7 n2
  whimbrel move 'bidder*' n2
  whimbrel move bidder7 '*'")]
pub struct MoveArguments {
    /// Name of the agents. `*` stands for any text, `?` for any one character.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Name of the destination, as `whimbrel nodes` shows it. The node may be on another machine. `*` withdraws an
    /// earlier order: an agent of a society that several nodes share may then run on any of them again.
    #[arg(value_name = "NODE")]
    pub to: String,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Move agents home, to the nodes where they were created.
///
/// A recall ends an agent's tour. An agent in the middle of a hop turns back after the hop. If the home node is dead,
/// the agent stays where it is, and the command says so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel recall scout3
  whimbrel recall 'scout*'")]
pub struct RecallArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Suspend agents until they are resumed. Their messages wait.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel suspend seller
  whimbrel suspend 'bidder*' clerk")]
pub struct SuspendArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Resume suspended agents.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel resume seller
  whimbrel resume '*'")]
pub struct ResumeArguments {
    #[command(flatten)]
    pub whom: Whom,
}

/// Selection of agents.
#[derive(Debug, Args)]
pub struct Whom {
    /// Names of the agents. `*` stands for any text, `?` for any one character.
    #[arg(value_name = "AGENT", required = true)]
    pub agents: Vec<String>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Hand over all agents of a node to the other nodes of its cluster, for example before maintenance.
///
/// The agents continue on the other nodes, in the middle of their plans, and no message to them fails. The node accepts
/// no agents until `--undo`. The command waits until the node is empty.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel drain n2
  whimbrel drain n2 --undo       let n2 take its share again")]
pub struct DrainArguments {
    /// Name of the node, as `whimbrel nodes` shows it. The node may be on another machine.
    #[arg(value_name = "NODE")]
    pub drained: String,
    /// Let the node take its share of the agents again.
    #[arg(long)]
    pub undo: bool,
    /// Longest time to wait.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = whimbrel::duration::parse)]
    pub wait: Duration,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Stop a platform on all its nodes, and wait until the nodes on this machine have ended.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel stop
  whimbrel stop --platform garden --code 3")]
pub struct StopArguments {
    /// Exit status of the platform's processes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=255))]
    pub code: i32,
    #[command(flatten)]
    pub target: TargetArguments,
}
