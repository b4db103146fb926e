//! `whimbrel create`, `clone` and `load`: agents made of programs and of each other, and programs exchanged in them.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use whimbrel::control::{RunningNode, choose};
use whimbrel::figures::counted;
use whimbrel::programs::{CompileError, read_program};
use whimbrel_operator::{Answer, IncludedSource, LoadOutcome, Loading, ProgramSource, Request, Spawning};
use whimbrel_platform::plain_text::harmless;
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

use super::life::{ask_anywhere, local};
use crate::arguments::{CloneArguments, CreateArguments, LoadArguments};

/// Time that a node may take to create agents, or to exchange a program.
const PATIENCE: Duration = Duration::from_secs(120);

/// Performs `whimbrel create`.
pub fn create(arguments: &CreateArguments) -> anyhow::Result<ExitCode> {
    let CreateArguments { name, program, count, beliefs, goals, target } = arguments;
    let (program, source) = program_of(program)?;
    let (beliefs, goals) = (beliefs.clone(), goals.clone());
    let spawning = Spawning { name: local(name).to_owned(), program, source, count: *count, beliefs, goals };
    let agents = created(&choose(target)?, spawning)?;
    let text = match agents.as_slice() {
        [first, .., last] => format!("{} agents created: {first} to {last}", agents.len()),
        agents => format!("{} created", agents.concat()),
    };
    let _ = print(&harmless(&text));
    Ok(ExitCode::SUCCESS)
}

/// Creates agents, and returns their names.
pub fn created(nodes: &[RunningNode], spawning: Spawning) -> anyhow::Result<Vec<String>> {
    match ask_anywhere(nodes, &Request::Spawn(Box::new(spawning)), PATIENCE)? {
        Answer::Spawned { agents } => Ok(agents),
        _ => bail!("unexpected answer to a request for new agents"),
    }
}

/// Performs `whimbrel clone`.
pub fn clone(arguments: &CloneArguments) -> anyhow::Result<ExitCode> {
    let (agent, name) = (local(&arguments.agent).to_owned(), local(&arguments.name).to_owned());
    let text = cloned(&choose(&arguments.target)?, agent, name)?;
    let _ = print(&text);
    Ok(ExitCode::SUCCESS)
}

/// Clones an agent, and says so.
pub fn cloned(nodes: &[RunningNode], agent: String, name: String) -> anyhow::Result<String> {
    let text = harmless(&format!("{name} is a clone of {agent}"));
    ask_anywhere(nodes, &Request::Clone { agent, name }, PATIENCE)?;
    Ok(text)
}

/// Performs `whimbrel load`.
pub fn load(arguments: &LoadArguments) -> anyhow::Result<ExitCode> {
    let text = loaded(&choose(&arguments.target)?, &arguments.agent, &arguments.program, arguments.goals)?;
    let _ = print(&text);
    Ok(ExitCode::SUCCESS)
}

/// Loads a program into an agent, and says what was exchanged.
pub fn loaded(nodes: &[RunningNode], agent: &str, program: &str, goals: bool) -> anyhow::Result<String> {
    let (program, source) = program_of(program)?;
    let agent = local(agent).to_owned();
    let begin = harmless(&format!("{agent} runs {program}"));
    let loading = Loading { agent, program, source, goals };
    match ask_anywhere(nodes, &Request::Load(Box::new(loading)), PATIENCE)? {
        Answer::Loaded(outcome) => Ok(format!("{begin}: {}", exchanged(&outcome))),
        _ => bail!("unexpected answer to a request to load a program"),
    }
}

/// `3 plans instead of 2, 1 rule, 1 new belief`
fn exchanged(outcome: &LoadOutcome) -> String {
    let mut parts = vec![format!("{} instead of {}", counted(outcome.added, "plan"), outcome.removed)];
    if outcome.rules > 0 {
        parts.push(counted(outcome.rules, "rule"));
    }
    if outcome.beliefs > 0 {
        parts.push(counted(outcome.beliefs, "new belief"));
    }
    parts.join(", ")
}

/// Returns the name of a program, and its text if it is an AgentSpeak file on this machine. Shows its faults.
pub fn program_of(program: &str) -> anyhow::Result<(String, Option<ProgramSource>)> {
    let file = Path::new(program);
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_module = extension == "wasm";
    if file.is_dir() || (file.is_file() && !["asl", "wasm"].contains(&extension)) {
        let what = if file.is_dir() { "a folder" } else { "no program" };
        bail!("{} is {what}: expected a program (.asl, .wasm)", harmless(program));
    }
    if !file.is_file() || is_module {
        return Ok((program.to_owned(), None));
    }
    let (bundle, warnings) = match read_program(file) {
        Err(CompileError::Errors(diagnostics)) => {
            terminal::show(&diagnostics);
            bail!("{} has errors", file.display());
        }
        read => read?,
    };
    terminal::show(&warnings);
    let included = bundle.included.into_iter();
    let includes = included.map(|file| IncludedSource { path: file.path, name: file.name, text: file.text }).collect();
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, Some(ProgramSource { text: bundle.text, includes })))
}
