//! `whimbrel create`, `clone`, `load`, `tell`, `untell`, `achieve`, `ask` and `repl`: agents made, taught and asked in
//! AgentSpeak.

use std::time::Duration;

use clap::Args;

use super::TargetArguments;

/// Create an agent, or several, in a running society.
///
/// PROGRAM is a file on this machine, or else a program of the society's project. A file's text, and those of its
/// includes, are sent to the society. With `--count`, the names are NAME1, NAME2 and so on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel create carl bidder.asl
  whimbrel create bidder bidder.asl --count 100 --beliefs 'budget(40)'
  whimbrel create ida programs/counter.wasm       a module of the society's project")]
pub struct CreateArguments {
    /// Name of the new agent.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// File of the program.
    #[arg(value_name = "PROGRAM")]
    pub program: String,
    /// Number of agents.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// Initial beliefs beside those of the program, for example 'price(tea, 5), rich'.
    #[arg(long, value_name = "BELIEFS")]
    pub beliefs: Option<String>,
    /// Initial goals beside those of the program.
    #[arg(long, value_name = "GOALS")]
    pub goals: Option<String>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Clone a running agent with its mind: the copy continues as the original does.
///
/// Beliefs, plans, intentions and timers are copied, messages are not, as with `.clone` in a program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel clone bob bob2")]
pub struct CloneArguments {
    /// Name of the original.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Name of the copy.
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Load a program into a running agent: plans and rules are exchanged, beliefs and goals stay.
///
/// Running intentions finish the plans that they have begun, and choose new plans for their next subgoals. Plans that
/// the agent learned from others stay. An initial belief of the program is added if the agent has no belief with this
/// name and number of arguments.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel load bob bob.asl                the edited file, while bob runs
  whimbrel load bob careful.asl --goals    and pursue the initial goals of the program")]
pub struct LoadArguments {
    /// Name of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// File of the AgentSpeak program: on this machine, or else in the society's project.
    #[arg(value_name = "PROGRAM")]
    pub program: String,
    /// Pursue the initial goals of the program.
    #[arg(long)]
    pub goals: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Tell an agent a belief, as `.send(AGENT, tell, BELIEF)` does in a program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel tell bob 'price(apple, 3)'      bob believes price(apple,3)[source(cli)]
  whimbrel tell bob '[open, price(tea, 2)]'")]
pub struct TellArguments {
    #[command(flatten)]
    pub told: LiteralArguments,
}

/// Take back a belief that an agent was told: this sender is no longer a source of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel untell bob 'price(apple, 3)'
  whimbrel untell bob 'price(_, _)'")]
pub struct UntellArguments {
    #[command(flatten)]
    pub told: LiteralArguments,
}

/// Ask an agent to achieve a goal, as `.send(AGENT, achieve, GOAL)` does in a program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel achieve bob 'sell(apple, 3)'")]
pub struct AchieveArguments {
    #[command(flatten)]
    pub told: LiteralArguments,
}

/// Literal for an agent.
#[derive(Debug, Args)]
pub struct LiteralArguments {
    /// Name of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Literal, as in a program: `price(apple, 3)`.
    #[arg(value_name = "LITERAL", allow_hyphen_values = true)]
    pub literal: String,
    /// Sender of the message: see `whimbrel send`.
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Ask an agent a question, and print the values of its variables.
///
/// The question is sent as a message with the performative askAll: the agent, or a plan of it, answers with all beliefs
/// that match. A question without variables is answered with yes or no.
///
/// Exit status: 0 if there is an answer; 3 if there is none; 4 if the agent does not reply in time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ask bob 'stock(X, N)'
  whimbrel ask bob 'stock(apple, _)'
  whimbrel ask bob 'stock(X, N)' --json")]
pub struct AskArguments {
    /// Name of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Literal, with variables for what is asked.
    #[arg(value_name = "QUESTION", allow_hyphen_values = true)]
    pub question: String,
    /// Ask for one answer only (askOne): also a plan for the test goal `?QUESTION` may answer.
    #[arg(long)]
    pub one: bool,
    /// Longest time to wait for the reply.
    #[arg(long, short, value_name = "TIME", default_value = "10s", value_parser = whimbrel::duration::parse)]
    pub wait: Duration,
    /// Sender of the message: see `whimbrel send`.
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// Print the answers as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Talk to a society at a prompt, as one of its agents.
///
/// The prompt has an agent of its own, named repl, with an AgentSpeak mind. `?stock(X, N)` asks this mind, `!sell(tea)`
/// pursues a goal, `+price(tea, 3)` adds a belief, and any other plan body is performed. `help` lists the verbs, TAB
/// completes. If standard input is no terminal, its lines are performed one after another.
///
/// SOCIETY is the name of a running society, or else a project or program to run. A society that the prompt began ends
/// with it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel repl                            the society that runs here, or a new and empty one
  whimbrel repl garden                     the running society garden, or else the project garden
  whimbrel repl garden --as bob            as the agent bob
  echo '?stock(X, N)' | whimbrel repl garden --as bob")]
pub struct ReplArguments {
    /// Name of a running society or platform; or project (.mas2j), program (.asl), or folder with one project in it.
    #[arg(value_name = "SOCIETY")]
    pub society: Option<String>,
    /// Act as this agent of the society, instead of one of the prompt's own.
    #[arg(long = "as", value_name = "AGENT")]
    pub acts_as: Option<String>,
    /// Run SOCIETY anew, even if a society of this name runs.
    #[arg(long, conflicts_with_all = ["platform", "node", "pid"])]
    pub new: bool,
    /// Longest time to wait for the end of a goal or plan body, which then continues without the prompt.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = whimbrel::duration::parse)]
    pub wait: Duration,
    #[command(flatten)]
    pub target: TargetArguments,
}
