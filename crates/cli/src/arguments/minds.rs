//! `whimbrel mind` and `debug`: commands that inspect and steer agents.

use clap::{Args, ValueEnum};

use super::TargetArguments;
use whimbrel_terminal::options::OutputOptions;

/// Inspect a running agent: beliefs, goals, intentions with their current steps, plans, mailbox.
///
/// Inspection does not disturb the agent. Agents in other languages than AgentSpeak show less.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel mind bob                       everything
  whimbrel mind bob --goals --intentions  only goals and intentions
  whimbrel mind bob --watch               refreshed every second
  whimbrel mind bob --follow              each reasoning cycle as it happens
  whimbrel mind bob --json                for programs")]
pub struct MindArguments {
    /// Name of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Show the beliefs and rules.
    #[arg(long)]
    pub beliefs: bool,
    /// Show the goals.
    #[arg(long)]
    pub goals: bool,
    /// Show the intentions: plans in progress, the innermost first, each with its current step.
    #[arg(long)]
    pub intentions: bool,
    /// Show the plans.
    #[arg(long)]
    pub plans: bool,
    /// Show waiting messages, and events that were not handled yet.
    #[arg(long)]
    pub mailbox: bool,
    /// Show each reasoning cycle as one line, until Ctrl-C. The agent runs slightly slower meanwhile.
    #[arg(long, conflicts_with_all = ["watch", "beliefs", "goals", "intentions", "plans", "mailbox"])]
    pub follow: bool,
    #[command(flatten)]
    pub showing: OutputOptions,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Pause a running AgentSpeak agent, step it, set breakpoints at plans, and change its beliefs and goals.
///
/// A paused agent has no reasoning cycles. Its messages and timers wait, and `continue` resumes it without loss. During
/// debugging, an agent also pauses at plans with `[breakpoint]` in their label. `end` removes all breakpoints and
/// resumes the agent.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel debug bob pause
  whimbrel debug bob step                      one reasoning cycle; shows its steps
  whimbrel debug bob over                      until the next step of the present plan
  whimbrel debug bob break p3                  pauses when plan @p3 is chosen, before its first step
  whimbrel debug bob continue
  whimbrel debug bob believe 'likes(tea)'      as if a plan had said +likes(tea)
  whimbrel debug bob forget 'likes(_)'         from any source
  whimbrel debug bob pursue 'serve(amy)'       as if a plan had said !!serve(amy)
  whimbrel debug bob end                       end debugging, and remove all breakpoints")]
pub struct DebugArguments {
    /// Name of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Order to the agent.
    #[arg(value_enum, value_name = "ORDER")]
    pub order: DebugWord,
    /// Label of the plan, the belief or the goal.
    #[arg(value_name = "WHAT", allow_hyphen_values = true, required_if_eq_any = [
        ("order", "break"), ("order", "unbreak"), ("order", "believe"), ("order", "forget"), ("order", "pursue"),
    ])]
    pub what: Option<String>,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Orders to an agent in debugging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DebugWord {
    /// Stop reasoning until `step`, `continue` or `end`.
    Pause,
    /// Run one reasoning cycle, or the rest of one.
    Step,
    /// Run until the next step of the present intention, also in the plan of a sub-goal.
    Into,
    /// Run until the next step of the present plan, or of one around it.
    Over,
    /// Run until the next step of a plan around the present one.
    Out,
    /// Run until a breakpoint.
    Continue,
    /// Remove all breakpoints, and run.
    End,
    /// Set a breakpoint: pause when this plan is chosen.
    Break,
    /// Remove the breakpoint of this plan.
    Unbreak,
    /// Add this belief.
    Believe,
    /// Remove this belief.
    Forget,
    /// Add this goal.
    Pursue,
}
