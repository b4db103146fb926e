//! Lines that a person types: with history and completion on a terminal, one after another from a pipe. Output of the
//! society appears above the line that is being typed.

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{History, MemHistory, SearchDirection};
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter, Helper};
use whimbrel::control::RunningNode;
use whimbrel_terminal::screen::print;

use super::completion::Completion;

/// Lines of the history that are kept.
const HISTORY_LINES_MAX: usize = 1_000;

/// Input of the prompt.
pub enum LineInput {
    Terminal(Box<Editor<EditorCompletion, MemHistory>>),
    /// Lines of standard input, which is no terminal.
    Piped(std::io::Lines<std::io::StdinLock<'static>>),
}

/// Result of reading a line.
pub enum ReadLine {
    Line(String),
    /// Ctrl-C: the line is dropped.
    Dropped,
    /// Ctrl-D, or the end of the input.
    End,
}

type PrintAbove = Box<dyn FnMut(String) -> rustyline::Result<()> + Send>;

/// Printer of lines from any thread.
#[derive(Clone)]
pub struct LinePrinter {
    above: Option<Arc<Mutex<PrintAbove>>>,
    colored: bool,
    /// Error of a line that could not be written.
    unwritten: Arc<Mutex<Option<std::io::Error>>>,
}

/// Completion in the editor.
pub struct EditorCompletion(Completion);

impl LineInput {
    /// Opens standard input. Lines are kept in this file between prompts, if it is a terminal.
    pub fn open(completion: Completion, history: Option<&Path>) -> anyhow::Result<(Self, LinePrinter)> {
        let colored = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Ok((
                Self::Piped(std::io::stdin().lock().lines()),
                LinePrinter { above: None, colored, unwritten: Arc::default() },
            ));
        }
        let config = Config::builder().completion_type(CompletionType::List).max_history_size(HISTORY_LINES_MAX)?;
        let config = config.history_ignore_dups(true)?.build();
        let history_lines = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history_lines).context("cannot use this terminal")?;
        editor.set_helper(Some(EditorCompletion(completion)));
        let earlier = history.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        for line in earlier.lines() {
            let _ = editor.add_history_entry(line);
        }
        let mut above = editor.create_external_printer().context("cannot print on this terminal")?;
        let above: PrintAbove = Box::new(move |line| above.print(line));
        let above = Some(Arc::new(Mutex::new(above)));
        let printer = LinePrinter { above, colored, unwritten: Arc::default() };
        Ok((Self::Terminal(Box::new(editor)), printer))
    }

    /// Returns true for a terminal.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Reads a line.
    pub fn read(&mut self, prompt: &str) -> anyhow::Result<ReadLine> {
        match self {
            Self::Piped(lines) => match lines.next() {
                Some(line) => Ok(ReadLine::Line(line.context("cannot read standard input")?)),
                None => Ok(ReadLine::End),
            },
            Self::Terminal(editor) => match editor.readline(prompt) {
                Ok(line) => {
                    let _ = editor.add_history_entry(line.as_str());
                    Ok(ReadLine::Line(line))
                }
                Err(ReadlineError::Interrupted) => Ok(ReadLine::Dropped),
                Err(ReadlineError::Eof) => Ok(ReadLine::End),
                Err(error) => Err(error).context("cannot read from this terminal"),
            },
        }
    }

    /// Has the completion complete for this agent.
    pub fn complete_for(&mut self, nodes: &[RunningNode], agent: &str) {
        if let Self::Terminal(editor) = self {
            editor.set_helper(Some(EditorCompletion(Completion::new(nodes.to_vec(), agent))));
        }
    }

    /// Keeps the typed lines for later prompts.
    pub fn keep_history(&self, file: &Path) {
        let Self::Terminal(editor) = self else { return };
        let history = editor.history();
        let line = |index| history.get(index, SearchDirection::Forward).ok().flatten().map(|found| found.entry);
        let lines: Vec<_> = (0..history.len()).filter_map(line).collect();
        if let Some(folder) = file.parent() {
            let _ = whimbrel_files::create_folder(folder);
        }
        // A prompt without a home works as well.
        let _ = whimbrel_files::write(file, format!("{}\n", lines.join("\n")).as_bytes());
    }
}

impl LinePrinter {
    /// Returns true if output has colours.
    pub fn is_colored(&self) -> bool {
        self.colored
    }

    /// Prints a line on standard output.
    pub fn print(&self, line: &str) {
        match &self.above {
            Some(above) => {
                let mut above = above.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = above(format!("{line}\n"));
            }
            None => {
                if let Err(error) = print(line) {
                    *self.unwritten.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    }

    /// Returns the error of a line that could not be written since the last check.
    ///
    /// # Errors
    /// A line was not written.
    pub fn check(&self) -> anyhow::Result<()> {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take();
        unwritten.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Prints a line on standard error; on a terminal, above the prompt.
    pub fn note(&self, line: &str) {
        match &self.above {
            Some(_) => self.print(line),
            None => whimbrel_terminal::say_line(line),
        }
    }
}

impl Completer for EditorCompletion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _ctx: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.0.complete(line.get(..pos).unwrap_or_default()))
    }
}

impl Hinter for EditorCompletion {
    type Hint = String;
}

impl Highlighter for EditorCompletion {}
impl Validator for EditorCompletion {}
impl Helper for EditorCompletion {}
