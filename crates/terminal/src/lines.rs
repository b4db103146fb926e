//! Lines on the terminal: what agents print on standard output, everything else on standard error.

use std::hash::Hasher;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use anstyle::{Ansi256Color, AnsiColor, Color, Style};
use rustc_hash::FxHashMap;
use whimbrel::node::Notes;
use whimbrel_acl::Aid;
use whimbrel_bdi::syntax::{Diagnostic, SourceText, render};
use whimbrel_platform::limits::LOGGED_TEXT_BYTES_MAX;
use whimbrel_platform::plain_text::{harmless, loggable, printable, shortened, with_short_words};
use whimbrel_platform::services::LogLevel;
use whimbrel_runtime::Output;

use crate::explanations;
use crate::stopping::StopReason;
use crate::table::screened;

/// Colours that are told apart on a light and on a dark ground.
const AGENT_COLORS: [u8; 14] = [33, 34, 37, 61, 65, 67, 97, 98, 130, 136, 160, 162, 166, 172];

/// Printer of agents' output as `[agent] text`, with a colour for each agent's name.
pub struct AgentLines {
    colored: bool,
    quiet: bool,
    nobody_reads: Mutex<Option<Sender<StopReason>>>,
    /// True once a failure to write was reported, for instance on a full disk.
    complained: AtomicBool,
    warnings: Arc<AtomicU64>,
}

impl AgentLines {
    /// Lines for standard output; tells `nobody_reads` when it is closed.
    pub fn new(quiet: bool, nobody_reads: Sender<StopReason>) -> Self {
        let colored = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        Self {
            colored,
            quiet,
            nobody_reads: Mutex::new(Some(nobody_reads)),
            complained: AtomicBool::new(false),
            warnings: Arc::default(),
        }
    }

    /// Returns the number of warnings and errors of agents so far, which continues to be counted.
    pub fn warnings(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.warnings)
    }
}

impl AgentLines {
    /// Handles an error of standard output. If its reader has closed it, the society ends quietly. Any other reason is
    /// reported once, and agents continue.
    fn printed(&self, outcome: &std::io::Result<()>) {
        let Err(error) = outcome else { return };
        if error.kind() != ErrorKind::BrokenPipe {
            if !self.complained.swap(true, Ordering::Relaxed) {
                note(&format!("cannot print the output of agents, which is lost: {error}"));
            }
        } else if let Ok(mut told) = self.nobody_reads.lock()
            && let Some(sender) = told.take()
        {
            let _ = sender.send(StopReason::NobodyReads);
        }
    }
}

impl Output for AgentLines {
    fn print(&self, agent: Aid, text: &str) {
        let name = agent.name.as_str();
        let style = if self.colored { style_of(name) } else { Style::new() };
        let text = printable(text);
        self.printed(&writeln!(std::io::stdout().lock(), "{style}[{}]{style:#} {text}", harmless(name)));
    }

    fn print_bare(&self, _agent: Aid, text: &str) {
        self.printed(&write!(std::io::stdout().lock(), "{}", printable(text)));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        if matches!(level, LogLevel::Warning | LogLevel::Severe) && !text.is_empty() {
            self.warnings.fetch_add(1, Ordering::Relaxed);
        }
        let (word, color) = match level {
            _ if self.quiet => return,
            LogLevel::Notice => ("", AnsiColor::White),
            LogLevel::Warning => ("warning: ", AnsiColor::Yellow),
            LogLevel::Severe => ("error: ", AnsiColor::Red),
            LogLevel::Debug | LogLevel::Info => return,
        };
        let style = Style::new().bold().fg_color(Some(color.into()));
        // Names and messages of others may be in there.
        let text = loggable(text);
        let name = harmless(agent.name.as_str());
        say(format_args!("{style}{word}{style:#}[{name}] {text}\n"));
        if level == LogLevel::Severe {
            advise(&text);
        }
    }
}

/// Returns the style of an agent's name: the same in every run.
pub fn style_of(name: &str) -> Style {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(name.as_bytes());
    let index = (hasher.finish() >> 32) as usize % AGENT_COLORS.len();
    let color = AGENT_COLORS.get(index).copied().unwrap_or_default();
    Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(color))))
}

/// Writes to standard error in one piece. If both streams are the same pipe, an agent's line would otherwise come
/// between two pieces.
fn say(text: std::fmt::Arguments<'_>) {
    let choice = anstream::AutoStream::choice(&std::io::stderr());
    let mut line = anstream::AutoStream::new(Vec::new(), choice);
    if line.write_all(screened(&text.to_string()).as_bytes()).is_ok() {
        let _ = std::io::stderr().lock().write_all(&line.into_inner());
    }
}

/// Reports a wrong command line, as clap words it.
pub fn complain_styled(text: &str) {
    say(format_args!("{}", with_short_words(text)));
}

/// Writes a line to standard error, unchanged.
pub fn say_line(line: &str) {
    say(format_args!("{line}\n"));
}

/// Reports an error and its causes. Only the first line begins at the margin.
pub fn complain(error: &anyhow::Error) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let text = format!("{error:#}");
    say(format_args!("{style}error{style:#}: {}\n", printable(&with_short_words(&text))));
    advise(&text);
}

/// Says where a message or lint is explained, the first time that it comes.
pub fn advise(words: &str) {
    if let Some(advice) = explanations::advice(words) {
        let style = Style::new().dimmed();
        say(format_args!("{style}{advice}{style:#}\n"));
    }
}

/// Says something that is not an agent's business. Names that others gave themselves may be in it.
pub fn note(text: &str) {
    let text = harmless(&shortened(&with_short_words(text), LOGGED_TEXT_BYTES_MAX));
    let style = Style::new().dimmed();
    let break_line = if std::io::stderr().is_terminal() { "\n" } else { "" };
    say(format_args!("{break_line}{style}whimbrel: {text}{style:#}\n"));
}

/// Returns what shows a node's lines on standard error; if it is to be quiet, warnings and errors only.
pub fn notes(is_quiet: bool) -> Notes {
    Notes::new(is_quiet, note, |text| complain(&anyhow::anyhow!(text.to_owned())))
}

/// Shows what there is to say about programs, with the lines it is about.
pub fn show(diagnostics: &[Diagnostic]) {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let mut sources: FxHashMap<&str, String> = FxHashMap::default();
    for diagnostic in diagnostics {
        let file = diagnostic.file.as_str();
        let source = sources.entry(file).or_insert_with(|| {
            let bytes = std::fs::read(file).unwrap_or_default();
            SourceText::decode(bytes).text
        });
        say(format_args!("{}\n", render(diagnostic, source, color)));
        advise(&diagnostic.message);
        advise(diagnostic.code);
        say(format_args!("\n"));
    }
}
