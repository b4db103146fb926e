//! Command line of `whimbrel`: one module per family of commands.

mod a2a;
mod act;
mod advise;
#[cfg(feature = "wasm")]
mod agent;
mod ca;
mod check;
mod codec;
mod editors;
#[cfg(feature = "nats")]
mod engine;
pub mod faults;
mod help;
mod http;
mod look;
mod mcp;
mod meanings;
mod minds;
mod mtp;
mod proof;
mod run;
mod session;
mod shell;
mod store;
mod summary;
mod target;
#[cfg(feature = "nats")]
mod up;
mod verbs;
mod xmpp;

use clap::{Parser, Subcommand, ValueEnum};
#[cfg(feature = "bench")]
use whimbrel_bench::BenchArguments;
#[cfg(all(feature = "bench", feature = "nats"))]
use whimbrel_bench::ChaosArguments;

pub use self::act::{
    DrainArguments, KillArguments, MoveArguments, RecallArguments, ResumeArguments, SendArguments, StopArguments,
    SuspendArguments, Whom,
};
pub use self::advise::AdviseArguments;
#[cfg(feature = "wasm")]
pub use self::agent::{AgentAction, AgentArguments};
pub use self::ca::{CaAction, CaArguments, EnrolArguments};
pub use self::check::{CheckArguments, Language, NewArguments};
pub use self::codec::{CodecAction, CodecArguments};
pub use self::editors::{DapArguments, FmtArguments, LspArguments};
#[cfg(feature = "nats")]
pub use self::engine::{ENGINE_FOLDER, EngineAction, EngineArguments, Sync};
pub use self::help::{asks_for_all, with_help};
pub use self::look::{
    AgentsArguments, DeadLettersArguments, DfArguments, LinksArguments, LogArguments, NodesArguments, Order,
    PsArguments, SniffArguments, TopicsArguments,
};
pub use self::mcp::McpBridgeArguments;
pub use self::minds::{DebugArguments, DebugWord, MindArguments};
pub use self::proof::{ProveArguments, VerifyArguments};
pub use self::run::{GuardingArguments, JoinArguments, RunArguments, SummaryForm};
pub use self::session::{SessionAction, SessionArguments};
pub use self::shell::{CompletedShell, CompletionsArguments, ExplainArguments, ManArguments, RunningNames};
pub use self::store::{StoreAction, StoreArguments};
pub use self::summary::with_summary;
pub use self::target::TargetArguments;
#[cfg(feature = "nats")]
pub use self::up::UpArguments;
pub use self::verbs::{
    AchieveArguments, AskArguments, CloneArguments, CreateArguments, LiteralArguments, LoadArguments, ReplArguments,
    TellArguments, UntellArguments,
};

/// Whimbrel runs societies of agents, on one machine or many.
#[derive(Debug, Parser)]
#[command(name = "whimbrel", version = whimbrel::VERSION, max_term_width = 100, subcommand_required = true)]
#[command(after_help = "Examples:
  whimbrel new garden                 make a small society, ready to run
  whimbrel run garden                 run it, and print the address of its console
  whimbrel run hello.asl --agents 3   run three agents of one program
  whimbrel check garden               look for errors without running anything
  whimbrel sniff                      show the messages of a running society")]
pub struct CommandLine {
    /// Use of colours in the output.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", display_order = 900)]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of `whimbrel`; `summary` groups them for the help.
#[derive(Debug, Subcommand)]
pub enum Command {
    New(NewArguments),
    Check(CheckArguments),
    Fmt(FmtArguments),
    Lsp(LspArguments),
    Dap(DapArguments),
    Run(Box<RunArguments>),
    Join(Box<JoinArguments>),
    #[cfg(feature = "nats")]
    Up(Box<UpArguments>),
    Ps(PsArguments),
    Agents(AgentsArguments),
    Sniff(SniffArguments),
    Log(LogArguments),
    Mind(MindArguments),
    Df(DfArguments),
    Topics(TopicsArguments),
    DeadLetters(DeadLettersArguments),
    Links(LinksArguments),
    Nodes(NodesArguments),
    Repl(ReplArguments),
    Create(CreateArguments),
    Clone(CloneArguments),
    Load(LoadArguments),
    Tell(TellArguments),
    Untell(UntellArguments),
    Achieve(AchieveArguments),
    Ask(AskArguments),
    Send(SendArguments),
    Kill(KillArguments),
    Suspend(SuspendArguments),
    Resume(ResumeArguments),
    Debug(DebugArguments),
    Move(MoveArguments),
    Recall(RecallArguments),
    Advise(Box<AdviseArguments>),
    Drain(DrainArguments),
    Stop(StopArguments),
    #[cfg(feature = "wasm")]
    Agent(AgentArguments),
    Session(SessionArguments),
    Mcp(McpBridgeArguments),
    Codec(CodecArguments),
    Ca(CaArguments),
    Enrol(EnrolArguments),
    Prove(ProveArguments),
    Verify(VerifyArguments),
    Store(StoreArguments),
    #[cfg(feature = "nats")]
    Engine(EngineArguments),
    #[cfg(all(feature = "bench", feature = "nats"))]
    Chaos(ChaosArguments),
    #[cfg(feature = "bench")]
    Bench(BenchArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
    Explain(ExplainArguments),
}

/// Use of colours in the output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl Color {
    /// Applies this choice to all output.
    pub fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::AlwaysAnsi,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Returns the use of colours in help and errors of the command line, if these words choose one.
pub fn color_in(words: &[String]) -> Option<Color> {
    let of = |value: &str| Color::from_str(value, true).ok();
    let apart = words.iter().zip(words.iter().skip(1)).find(|(option, _)| *option == "--color");
    let joined = words.iter().find_map(|word| word.strip_prefix("--color="));
    apart.map(|(_, value)| value.as_str()).or(joined).and_then(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn shared_options_have_one_heading() {
        use clap::CommandFactory;
        let mut headings = std::collections::BTreeMap::new();
        let command = CommandLine::command();
        let starting = command.get_subcommands().filter(|it| ["run", "join", "up"].contains(&it.get_name()));
        let options = starting.flat_map(|it| it.get_arguments().map(move |option| (it.get_name(), option)));
        for (command, option) in options.filter(|(_, option)| !option.is_positional()) {
            let heading = option.get_help_heading();
            let (first, other) = headings.entry(option.get_id().as_str()).or_insert((command, heading));
            assert_eq!(*other, heading, "--{} in the help of {first} and {command}", option.get_id());
        }
        assert!(headings.len() > 20, "{headings:?}");
    }

    #[test]
    fn durations_and_counts_are_checked() {
        let parse = |line: &str| CommandLine::try_parse_from(line.split(' '));
        assert!(parse("whimbrel run a.asl --for 10s --agents 3").is_ok());
        assert!(parse("whimbrel run a.asl --for soon").is_err());
        assert!(parse("whimbrel run a.asl --agents 0").is_err());
        assert!(parse("whimbrel check").is_err());
    }
}
