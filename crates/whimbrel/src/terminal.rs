//! Lines on the terminal: what agents print on standard output, everything else on standard error.

use std::borrow::Cow;
use std::hash::Hasher;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use anstyle::{Ansi256Color, AnsiColor, Color, Style};
use rustc_hash::FxHashMap;
use whimbrel_acl::Aid;
use whimbrel_bdi::syntax::{Diagnostic, render};
use whimbrel_platform::services::LogLevel;
use whimbrel_runtime::Output;

use crate::stopping::Reason;
use crate::table::harmless;

/// Colours that are told apart on a light and on a dark ground.
const AGENT_COLORS: [u8; 14] = [33, 34, 37, 61, 65, 67, 97, 98, 130, 136, 160, 162, 166, 172];

/// Bytes of what is logged of an agent at once.
const LOGGED_BYTES_MAX: usize = 16 << 10;

/// What agents print, as `[agent] text`, the name in a colour that stays the agent's.
pub struct Lines {
    colored: bool,
    /// Whether a person sees it, on a terminal that does what it is told.
    is_terminal: bool,
    quiet: bool,
    nobody_reads: Mutex<Option<Sender<Reason>>>,
    /// Whether it was said that lines cannot be written: a full disk is, for instance.
    complained: AtomicBool,
}

impl Lines {
    /// Lines for standard output; tells `nobody_reads` when it is closed.
    pub fn new(quiet: bool, nobody_reads: Sender<Reason>) -> Self {
        let colored = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let is_terminal = std::io::stdout().is_terminal();
        Self {
            colored,
            is_terminal,
            quiet,
            nobody_reads: Mutex::new(Some(nobody_reads)),
            complained: AtomicBool::new(false),
        }
    }
}

impl Lines {
    /// What an agent prints, as it is to be seen: programs that read it get each byte.
    fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_terminal { tame(text).into() } else { text.into() }
    }

    /// Whoever read our output may have read enough: that ends the society, and quietly. If lines cannot be written for
    /// another reason, that is said, once: agents go on.
    fn printed(&self, outcome: &std::io::Result<()>) {
        let Err(error) = outcome else { return };
        if error.kind() != ErrorKind::BrokenPipe {
            if !self.complained.swap(true, Ordering::Relaxed) {
                note(&format!("what agents print cannot be written, and is lost: {error}"));
            }
        } else if let Ok(mut told) = self.nobody_reads.lock()
            && let Some(sender) = told.take()
        {
            let _ = sender.send(Reason::NobodyReads);
        }
    }
}

impl Output for Lines {
    fn print(&self, agent: Aid, text: &str) {
        let name = agent.name.as_str();
        let style = if self.colored { style_of(name) } else { Style::new() };
        let text = self.shown(text);
        self.printed(&writeln!(std::io::stdout().lock(), "{style}[{}]{style:#} {text}", harmless(name)));
    }

    fn print_bare(&self, _agent: Aid, text: &str) {
        self.printed(&write!(std::io::stdout().lock(), "{}", self.shown(text)));
    }

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        let (word, color) = match level {
            _ if self.quiet => return,
            LogLevel::Notice => ("", AnsiColor::White),
            LogLevel::Warning => ("warning: ", AnsiColor::Yellow),
            // As Jason prints them, so that what a program's failures look like is the same.
            LogLevel::Severe => ("", AnsiColor::Red),
            LogLevel::Debug | LogLevel::Info => return,
        };
        let style = Style::new().bold().fg_color(Some(color.into()));
        // Names and messages of others may be in there.
        let text = cut_short(text).split('\n').map(harmless).collect::<Vec<_>>().join("\n");
        let name = harmless(agent.name.as_str());
        say(format_args!("{style}{word}{style:#}[{name}] {text}\n"));
    }
}

/// Text of agents, or of others whose messages they show, as a terminal may have it: it moves nothing there, and changes no title. What
/// follows the first line is set off, so that it is not taken for another agent's.
fn tame(text: &str) -> String {
    // Tables of agents have tabs in them.
    let line = |line: &str| line.split('\t').map(harmless).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n  ")
}

/// The beginning of a text that may be a stranger's: a log is not to be filled by one message.
fn cut_short(text: &str) -> &str {
    let ends = |at: &usize| text.is_char_boundary(*at);
    let at = (0..=LOGGED_BYTES_MAX.min(text.len())).rev().find(ends).unwrap_or_default();
    text.get(..at).unwrap_or(text)
}

/// The style of an agent's name: the same in every run.
pub fn style_of(name: &str) -> Style {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(name.as_bytes());
    let index = (hasher.finish() >> 32) as usize % AGENT_COLORS.len();
    let color = AGENT_COLORS.get(index).copied().unwrap_or_default();
    Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(color))))
}

/// Writes to standard error, in one piece: if both streams are the same pipe, an agent's line would come in between several.
fn say(text: std::fmt::Arguments<'_>) {
    let choice = anstream::AutoStream::choice(&std::io::stderr());
    let mut line = anstream::AutoStream::new(Vec::new(), choice);
    if line.write_fmt(text).is_ok() {
        let _ = std::io::stderr().lock().write_all(&line.into_inner());
    }
}

/// Says what went wrong, and why.
pub fn complain(error: &anyhow::Error) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    say(format_args!("{style}error{style:#}: {error:#}\n"));
}

/// Says something that is not an agent's business. Names that others gave themselves may be in it.
pub fn note(text: &str) {
    let text = harmless(text);
    let style = Style::new().dimmed();
    let break_line = if std::io::stderr().is_terminal() { "\n" } else { "" };
    say(format_args!("{break_line}{style}whimbrel: {text}{style:#}\n"));
}

/// Shows what there is to say about programs, with the lines it is about.
pub fn show(diagnostics: &[Diagnostic]) {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let mut sources: FxHashMap<&str, String> = FxHashMap::default();
    for diagnostic in diagnostics {
        let file = diagnostic.file.as_str();
        let source = sources.entry(file).or_insert_with(|| std::fs::read_to_string(file).unwrap_or_default());
        say(format_args!("{}\n\n", render(diagnostic, source, color)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_say_does_nothing_to_a_terminal() {
        assert_eq!(tame("plain\ttext é"), "plain\ttext é");
        let tamed = tame("a\u{1b}[2J\u{1b}]0;title\u{7}\n[bank] paid\r");
        assert_eq!(tamed, "a\\u{1b}[2J\\u{1b}]0;title\\u{7}\n  [bank] paid\\r");
        assert_eq!(cut_short("short"), "short");
        let long = format!("{}é", "a".repeat(LOGGED_BYTES_MAX - 1));
        assert_eq!(cut_short(&long).len(), LOGGED_BYTES_MAX - 1);
    }
}
