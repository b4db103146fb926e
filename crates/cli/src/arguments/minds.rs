//! `whimbrel mind` and `debug`: looking into agents, and steering them.

use clap::{Args, ValueEnum};

use super::TargetArguments;
use whimbrel_terminal::options::OutputOptions;

/// Show what is in a running agent: beliefs, goals, intentions with the steps they are at, plans, mailbox.
///
/// It goes on as if nobody had looked. Of agents that are not written in AgentSpeak there is less to show.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel mind bob                       all there is
  whimbrel mind bob --goals --intentions  what it wants, and what it does
  whimbrel mind bob --watch               again and again
  whimbrel mind bob --follow              what its cycles do, as they do it
  whimbrel mind bob --json                for programs")]
pub struct MindArguments {
    /// Its name.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// What it believes, and its rules.
    #[arg(long)]
    pub beliefs: bool,
    /// What it wants.
    #[arg(long)]
    pub goals: bool,
    /// What it does: plans in progress, the innermost first, each with the step it is at.
    #[arg(long)]
    pub intentions: bool,
    /// The plans it knows.
    #[arg(long)]
    pub plans: bool,
    /// Messages that wait, and events that were not handled yet.
    #[arg(long)]
    pub mailbox: bool,
    /// What its cycles do, a line each, until Ctrl-C. It goes on a little slower meanwhile.
    #[arg(long, conflicts_with_all = ["watch", "beliefs", "goals", "intentions", "plans", "mailbox"])]
    pub follow: bool,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Pause a running AgentSpeak agent, have it take steps, stop at plans, and change its mind.
///
/// A paused agent has no reasoning cycles; its messages and timers wait, and it goes on as if it had not been paused. While an agent
/// is debugged, it also pauses at plans that have `[breakpoint]` in their label; `end` forgets all that.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel debug bob pause
  whimbrel debug bob step                      one reasoning cycle; shows what it did
  whimbrel debug bob break p3                  pauses when plan @p3 is chosen, before its first step
  whimbrel debug bob continue
  whimbrel debug bob believe 'likes(tea)'      as if a plan had said +likes(tea)
  whimbrel debug bob forget 'likes(_)'         whoever it has that from
  whimbrel debug bob pursue 'serve(amy)'       as if a plan had said !!serve(amy)
  whimbrel debug bob end                       nobody debugs it any more")]
pub struct DebugArguments {
    /// Its name.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// What it is to do.
    #[arg(value_enum, value_name = "ORDER")]
    pub order: DebugWord,
    /// The plan's label, the belief or the goal.
    #[arg(value_name = "WHAT", allow_hyphen_values = true, required_if_eq_any = [
        ("order", "break"), ("order", "unbreak"), ("order", "believe"), ("order", "forget"), ("order", "pursue"),
    ])]
    pub what: Option<String>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// What an agent that is debugged is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DebugWord {
    /// Have no cycles until told to.
    Pause,
    /// Take one reasoning cycle, or what is left of one.
    Step,
    /// Go on, until a plan with a breakpoint is chosen.
    Continue,
    /// Go on, and forget all breakpoints.
    End,
    /// Pause when this plan is chosen.
    Break,
    /// Do so no more.
    Unbreak,
    /// Believe this.
    Believe,
    /// Believe it no more.
    Forget,
    /// Achieve this.
    Pursue,
}
