//! The command line.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

mod absent_parts;
mod allocator;
mod arguments;
mod browser_console;
mod cached_folder;
mod commands;
mod examples;
mod framed_messages;
mod guest_sdk;
mod local_nodes;
mod node_supervisor;
mod project_files;
mod sequence_diagram;
mod society_end;
#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;
mod trace;

use arguments::{Command, CommandLine};
use whimbrel_terminal as terminal;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Lines that `whimbrel` without a command prints.
const FIRST_STEPS: &str = "\
Whimbrel runs societies of agents, on one machine or many.
Begin:     whimbrel new garden && whimbrel run garden
Commands:  whimbrel --help";

/// Says how to begin.
fn begin_with() -> ExitCode {
    print_help(FIRST_STEPS).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Returns the command line, with the help that these words ask for.
fn command_for(words: &[String]) -> clap::Command {
    let whole = arguments::asks_for_all(words);
    arguments::with_summary(arguments::with_help(CommandLine::command(), whole), whole)
}

/// Prints a help text or the version. An error is reported, unless the reader has read enough.
fn print_help(text: &str) -> Result<(), ()> {
    let printed = terminal::screen::print(text.strip_suffix('\n').unwrap_or(text)).map_err(anyhow::Error::from);
    match printed {
        Err(error) if !terminal::screen::is_output_closed(&error) => {
            terminal::complain(&error);
            Err(())
        }
        _ => Ok(()),
    }
}

/// Reads the command line. Exits if it asks for help, or is wrong.
fn typed() -> CommandLine {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let read = |mut command: clap::Command| {
        let misplaced = arguments::faults::misplaced_value(&mut command, &words);
        misplaced.map_or_else(|| command.try_get_matches_from_mut(std::env::args_os()), Err)
    };
    // Help is fitted for whoever is shown it: that takes longer than to read what needs none.
    let typed = read(arguments::with_help(CommandLine::command(), true)).or_else(|_| read(command_for(&words)));
    let exit = |error: clap::Error| -> ! {
        let error = arguments::faults::explained(error, &words);
        if let Some(color) = arguments::color_in(&words) {
            color.apply();
        }
        let text = error.render().ansi().to_string();
        if error.use_stderr() {
            terminal::complain_styled(&text);
            terminal::advise(&error.to_string());
            std::process::exit(error.exit_code())
        }
        std::process::exit(i32::from(print_help(&text).is_err()))
    };
    let typed = typed.unwrap_or_else(|error| exit(error));
    CommandLine::from_arg_matches(&typed).unwrap_or_else(|error| exit(error))
}

fn main() -> ExitCode {
    whimbrel_platform::growth::set_give_back(allocator::give_back);
    if std::env::args_os().len() < 2 {
        return begin_with();
    }
    let arguments = typed();
    arguments.color.apply();
    carry_out(&arguments.command).unwrap_or_else(|error| {
        // As with `whimbrel agents | head -1`: the reader has what it wanted.
        if terminal::screen::is_output_closed(&error) {
            return ExitCode::SUCCESS;
        }
        terminal::complain(&error);
        ExitCode::FAILURE
    })
}

/// Carries out a command.
fn carry_out(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(run) => commands::run::run(run),
        #[cfg(feature = "nats")]
        Command::Up(up) => commands::up::up(up),
        Command::Join(join) => commands::join::join(join),
        Command::Ps(ps) => commands::ps::ps(ps),
        Command::Nodes(nodes) => commands::nodes::nodes(nodes),
        Command::Drain(drain) => commands::drain::drain(drain),
        #[cfg(feature = "wasm")]
        Command::Agent(agent) => commands::agent_build::agent(agent),
        Command::Agents(agents) => commands::agents::agents(agents),
        Command::Df(df) => commands::df::df(df),
        Command::Topics(topics) => commands::topics::topics(topics),
        Command::DeadLetters(letters) => commands::dead_letters::dead_letters(letters),
        Command::Links(links) => commands::links::links(links),
        Command::Sniff(sniff) => commands::sniff::sniff(sniff),
        Command::Log(log) => commands::log::log(log),
        Command::Repl(repl) => commands::repl::repl(repl),
        Command::Create(create) => commands::create::create(create),
        Command::Clone(clone) => commands::create::clone(clone),
        Command::Load(load) => commands::create::load(load),
        Command::Tell(tell) => commands::ask::tell(&tell.told, "tell"),
        Command::Untell(untell) => commands::ask::tell(&untell.told, "untell"),
        Command::Achieve(achieve) => commands::ask::tell(&achieve.told, "achieve"),
        Command::Ask(ask) => commands::ask::ask(ask),
        Command::Send(send) => commands::send::send(send),
        Command::Kill(kill) => commands::life::kill(&kill.whom),
        Command::Recall(recall) => commands::life::recall(&recall.whom),
        Command::Advise(advise) => commands::advise::advise(advise),
        Command::Move(order) => commands::life::move_to(order),
        Command::Mind(mind) => commands::mind::mind(mind),
        Command::Debug(debug) => commands::debug::debug(debug),
        Command::Suspend(suspend) => commands::life::suspend(&suspend.whom),
        Command::Resume(resume) => commands::life::resume(&resume.whom),
        Command::Stop(stop) => commands::life::stop(stop),
        Command::Check(check) => commands::check::check(check),
        Command::Fmt(fmt) => commands::fmt::fmt(fmt),
        Command::Lsp(lsp) => commands::lsp::lsp(lsp),
        Command::Dap(dap) => commands::dap::dap(dap),
        Command::New(new) => commands::new::new(new),
        Command::Codec(codec) => commands::codec::codec(codec),
        Command::Ca(ca) => commands::ca::ca(ca),
        #[cfg(feature = "nats")]
        Command::Engine(engine) => commands::engine::engine(engine),
        #[cfg(all(feature = "bench", feature = "nats"))]
        Command::Chaos(plan) => whimbrel_bench::chaos(plan),
        Command::Session(session) => commands::session::session(session),
        Command::Mcp(mcp) => commands::mcp::mcp(mcp),
        Command::Prove(prove) => commands::prove::prove(prove),
        Command::Verify(verify) => commands::prove::verify(verify),
        Command::Enrol(enrol) => commands::enrol::enrol(enrol),
        Command::Store(store) => commands::store::store(store),
        #[cfg(feature = "bench")]
        Command::Bench(bench) => whimbrel_bench::bench(bench),
        Command::Completions(completions) => commands::shell::completions(completions),
        Command::Man(man) => commands::shell::man(man),
        Command::Explain(explain) => commands::shell::explain(explain),
    }
}
