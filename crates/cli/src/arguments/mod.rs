//! What can be typed after `whimbrel`: one module per family of commands.

mod act;
mod advise;
#[cfg(feature = "wasm")]
mod agent;
mod ca;
mod check;
mod codec;
#[cfg(feature = "nats")]
mod engine;
pub mod faults;
mod http;
mod look;
mod minds;
mod proof;
mod run;
mod session;
mod store;
mod summary;
mod target;
#[cfg(feature = "nats")]
mod up;

use clap::{Parser, Subcommand, ValueEnum};
use whimbrel_bench::BenchArguments;
#[cfg(feature = "nats")]
use whimbrel_bench::ChaosArguments;

pub use self::act::{Drain, Kill, Move, Recall, Resume, Send, Stop, Suspend, Whom};
pub use self::advise::Advise;
#[cfg(feature = "wasm")]
pub use self::agent::{Agent, AgentAction};
pub use self::ca::{Ca, CaAction, Enrol};
pub use self::check::{Check, Language, New};
pub use self::codec::{Codec, CodecAction};
#[cfg(feature = "nats")]
pub use self::engine::{Engine, EngineAction, Sync};
pub use self::http::{Http, HttpOptions};
pub use self::look::{Agents, DeadLetters, Df, Links, Log, Nodes, Order, Ps, Sniff, Topics};
pub use self::minds::{Debug, DebugWord, Mind};
pub use self::proof::{Prove, Verify};
pub use self::run::{Guarding, Join, Offering, Run};
pub use self::session::{AgentPortOptions, Session, SessionAction};
pub use self::store::{Store, StoreAction};
pub use self::summary::with_summary;
pub use self::target::Target;
#[cfg(feature = "nats")]
pub use self::up::Up;

/// Whimbrel runs societies of agents, in AgentSpeak, WebAssembly, Rust and TypeScript, on one machine or many.
#[derive(Debug, Parser)]
#[command(name = "whimbrel", version = whimbrel::VERSION, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  whimbrel new garden                 make a small society, ready to run
  whimbrel run garden                 run it; prints the address of its console
  whimbrel run hello.asl --agents 3   run three agents of one program
  whimbrel check garden               look for errors without running anything
  whimbrel sniff                      what the agents of a running society say

`whimbrel help COMMAND` shows more examples.")]
pub struct Arguments {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", display_order = 900)]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands; `summary` says in which groups help lists them.
#[derive(Debug, Subcommand)]
pub enum Command {
    New(New),
    Check(Check),
    Run(Box<Run>),
    Join(Box<Join>),
    #[cfg(feature = "nats")]
    Up(Box<Up>),
    Ps(Ps),
    Agents(Agents),
    Sniff(Sniff),
    Log(Log),
    Mind(Mind),
    Df(Df),
    Topics(Topics),
    DeadLetters(DeadLetters),
    Links(Links),
    Nodes(Nodes),
    Send(Send),
    Kill(Kill),
    Suspend(Suspend),
    Resume(Resume),
    Debug(Debug),
    Move(Move),
    Recall(Recall),
    Advise(Box<Advise>),
    Drain(Drain),
    Stop(Stop),
    #[cfg(feature = "wasm")]
    Agent(Agent),
    Session(Session),
    Codec(Codec),
    Ca(Ca),
    Enrol(Enrol),
    Prove(Prove),
    Verify(Verify),
    Store(Store),
    #[cfg(feature = "nats")]
    Engine(Engine),
    #[cfg(feature = "nats")]
    Chaos(ChaosArguments),
    Bench(BenchArguments),
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes this the choice for all output.
    pub fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::AlwaysAnsi,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_and_counts_are_checked() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' '));
        assert!(parse("whimbrel run a.asl --for 10s --agents 3").is_ok());
        assert!(parse("whimbrel run a.asl --for soon").is_err());
        assert!(parse("whimbrel run a.asl --agents 0").is_err());
        assert!(parse("whimbrel check").is_err());
    }
}
