//! `whimbrel repl`: a prompt on a society, at which a person acts as one of its agents.

mod agent_output;
mod completion;
mod line_editor;
mod new_society;
mod prompt_session;
mod prompt_verbs;
mod typed_line;
mod watching;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use whimbrel::control::{PlatformChoice, RunningNode, choose, survey};
use whimbrel::projects::project_in;
use whimbrel_platform::plain_text::harmless;
use whimbrel_terminal as terminal;
use whimbrel_terminal::stopping::INTERRUPTED;

use self::completion::Completion;
use self::line_editor::{LineInput, LinePrinter, ReadLine};
use self::new_society::NewSociety;
use self::prompt_session::{AfterLine, PromptSession};
use crate::arguments::ReplArguments;

/// True once Ctrl-C was pressed while a line is performed.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Performs `whimbrel repl`.
pub fn repl(arguments: &ReplArguments) -> anyhow::Result<ExitCode> {
    ctrlc::set_handler(|| {
        if STOPPED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })?;
    let history = history_file();
    let (mut input, printer) = LineInput::open(Completion::new(Vec::new(), ""), history.as_deref())?;
    let (mut society, nodes) = society(arguments, &printer, input.is_terminal())?;
    let begun = PromptSession::begin(nodes.clone(), arguments, printer, society.as_ref());
    let outcome = begun.and_then(|mut session| {
        if society.is_none() {
            session.show_output(input.is_terminal())?;
        }
        if input.is_terminal() {
            session.greet(society.is_some());
        }
        let outcome = perform_lines(&mut input, &mut session, &mut society);
        session.end();
        outcome
    });
    if let Some(file) = &history {
        input.keep_history(file);
    }
    society.into_iter().for_each(|society| society.end(&nodes));
    let is_piped = !input.is_terminal();
    outcome.map(|all_done| if all_done || !is_piped { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Performs lines until the last one, or until the society ends. Returns false if a line failed.
fn perform_lines(
    input: &mut LineInput,
    session: &mut PromptSession,
    society: &mut Option<NewSociety>,
) -> anyhow::Result<bool> {
    let mut all_done = true;
    loop {
        input.complete_for(session.nodes(), session.agent());
        STOPPED.store(false, Ordering::Relaxed);
        let line = match input.read(&format!("{}> ", harmless(session.agent())))? {
            ReadLine::Line(line) => line,
            ReadLine::Dropped => continue,
            ReadLine::End => return Ok(all_done),
        };
        STOPPED.store(false, Ordering::Relaxed);
        let performed = session.perform(&line);
        session.show_printed();
        session.printer.check()?;
        match performed {
            Ok(AfterLine::Continue) => {}
            Ok(AfterLine::Failed) => all_done = false,
            Ok(AfterLine::Leave) => return Ok(all_done),
            Err(error) => {
                terminal::complain(&error);
                all_done = false;
            }
        }
        if society.as_mut().is_some_and(NewSociety::has_ended) || !session.is_running() {
            terminal::note("the society ended");
            return Ok(all_done);
        }
    }
}

/// Returns the society that is meant: a running one, or one that begins now.
fn society(
    arguments: &ReplArguments,
    printer: &LinePrinter,
    is_terminal: bool,
) -> anyhow::Result<(Option<NewSociety>, Vec<RunningNode>)> {
    let target = PlatformChoice::from(&arguments.target);
    let begin = |file: Option<&Path>| {
        let (society, nodes) = NewSociety::begin(file, printer, is_terminal)?;
        Ok((Some(society), nodes))
    };
    let Some(name) = &arguments.society else {
        let is_named = target.platform.is_some() || target.node.is_some() || target.pid.is_some();
        let nobody = !is_named && survey().nodes.is_empty();
        return if nobody || arguments.new { begin(None) } else { Ok((None, choose(target)?)) };
    };
    let is_it = |node: &RunningNode| node.info.platform == *name || node.info.society == *name;
    if !arguments.new && survey().nodes.iter().any(is_it) {
        return Ok((None, choose(PlatformChoice { platform: Some(name.clone()), ..target })?));
    }
    let path = Path::new(name);
    if !path.exists() {
        let name = harmless(name);
        bail!("no society named {name} runs here, and there is no file {name}: start one with `whimbrel run FILE`");
    }
    begin(Some(&project_in(path)?))
}

/// Returns the file that keeps typed lines between prompts.
fn history_file() -> Option<PathBuf> {
    Some(whimbrel_files::home()?.join(".whimbrel").join("repl-history"))
}
