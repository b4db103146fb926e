//! Output log of a node: the newest lines that agents printed, and warnings and failures about agents, for operators.
//!
//! Inputs: [`OutputLog::print`], [`OutputLog::print_part`] and [`OutputLog::note`], with the time. Output:
//! [`OutputLog::page`], the lines after a number. Memory is bounded by the `OUTPUT_` limits. Printed lines and failures
//! have a ring each, so that an agent that prints much does not push failures out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use whimbrel_acl::Symbol;

use crate::Time;
use crate::limits::{OUTPUT_BYTES_MAX, OUTPUT_LINE_BYTES_MAX, OUTPUT_LINES_MAX};
use crate::plain_text::{shortened, tame};
use crate::services::LogLevel;

/// Kind of a line of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// The agent printed it.
    Printed,
    /// Note for the operator: nothing is wrong.
    Notice,
    /// Something is probably wrong: a goal without a plan, an act that was refused.
    Warning,
    /// A step or the agent failed.
    Failure,
}

impl OutputKind {
    /// Returns the kind of an entry of this level; `None` for levels that operators do not see.
    pub fn of(level: LogLevel) -> Option<Self> {
        match level {
            LogLevel::Debug | LogLevel::Info => None,
            LogLevel::Notice => Some(Self::Notice),
            LogLevel::Warning => Some(Self::Warning),
            LogLevel::Severe => Some(Self::Failure),
        }
    }

    /// Returns true for warnings and failures.
    pub const fn is_fault(self) -> bool {
        matches!(self, Self::Warning | Self::Failure)
    }
}

/// Line of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// Number: 1, 2, ... in the order of output.
    pub number: u64,
    /// Time of the output.
    pub at: Time,
    /// Agent that printed the line, or that it is about.
    pub agent: Symbol,
    /// Kind of the line.
    pub kind: OutputKind,
    /// Text, safe to show; may have several lines.
    pub text: Box<str>,
}

/// Lines of an [`OutputLog`] after a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPage {
    /// Matching lines, the oldest first.
    pub lines: Vec<OutputLine>,
    /// Number of the last line: the next page follows it.
    pub next: u64,
    /// Number of lines that the page omits: deleted ones, and older ones beyond the limit.
    pub left_out: u64,
}

/// Newest lines of one sort.
#[derive(Debug, Default)]
struct LineRing {
    lines: VecDeque<OutputLine>,
    bytes: usize,
    /// Number of all lines so far.
    total: u64,
}

impl LineRing {
    fn push(&mut self, line: OutputLine) {
        self.total += 1;
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.lines.len() > OUTPUT_LINES_MAX || self.bytes > OUTPUT_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes -= oldest.text.len();
        }
    }

    /// Returns the lines after a number, the newest first.
    fn after(&self, number: u64) -> impl Iterator<Item = &OutputLine> {
        self.lines.iter().rev().take_while(move |line| line.number > number)
    }
}

/// Output log; see the module.
#[derive(Debug, Default)]
pub struct OutputLog {
    printed: LineRing,
    faults: LineRing,
    /// Number of the last line.
    last: u64,
    /// Beginning of a line that an agent has not ended yet.
    open: Option<(Time, Symbol, String)>,
}

impl OutputLog {
    /// Adds a line that an agent printed.
    pub fn print(&mut self, at: Time, agent: Symbol, text: &str) {
        self.end_line();
        self.push(at, agent, OutputKind::Printed, text);
    }

    /// Adds a part of a line that an agent printed. The line ends with a line feed, or with the next line of any agent.
    pub fn print_part(&mut self, at: Time, agent: Symbol, text: &str) {
        if self.open.as_ref().is_some_and(|(_, writer, _)| *writer != agent) {
            self.end_line();
        }
        let (_, _, line) = self.open.get_or_insert_with(|| (at, agent, String::new()));
        line.push_str(&shortened(text, OUTPUT_LINE_BYTES_MAX));
        if text.ends_with('\n') || line.len() >= OUTPUT_LINE_BYTES_MAX {
            self.end_line();
        }
    }

    /// Adds an entry about an agent. Levels below [`LogLevel::Notice`] and empty entries are left out.
    pub fn note(&mut self, at: Time, agent: Symbol, level: LogLevel, text: &str) {
        let Some(kind) = OutputKind::of(level).filter(|_| !text.is_empty()) else { return };
        self.end_line();
        self.push(at, agent, kind, text);
    }

    /// Returns the newest `lines_max` lines after a number that `is_wanted`.
    pub fn page(&mut self, after: u64, lines_max: usize, mut is_wanted: impl FnMut(&OutputLine) -> bool) -> OutputPage {
        self.end_line();
        let (mut printed, mut faults) = (self.printed.after(after).peekable(), self.faults.after(after).peekable());
        let (mut lines, mut seen, mut beyond) = (Vec::new(), 0, 0);
        loop {
            let number = |line: Option<&&OutputLine>| line.map_or(0, |line| line.number);
            let is_printed = number(printed.peek()) > number(faults.peek());
            let Some(line) = (if is_printed { printed.next() } else { faults.next() }) else { break };
            seen += 1;
            if !is_wanted(line) {
                continue;
            }
            if lines.len() < lines_max {
                lines.push(line.clone());
            } else {
                beyond += 1;
            }
        }
        lines.reverse();
        let deleted = self.last.saturating_sub(after).saturating_sub(seen);
        OutputPage { lines, next: self.last, left_out: deleted + beyond }
    }

    /// Returns the number of lines that agents printed so far.
    pub fn printed(&self) -> u64 {
        self.printed.total + u64::from(self.open.is_some())
    }

    /// Returns the number of warnings and failures so far.
    pub fn faults(&self) -> u64 {
        self.faults.total
    }

    fn end_line(&mut self) {
        if let Some((at, agent, text)) = self.open.take() {
            self.push(at, agent, OutputKind::Printed, text.trim_end_matches('\n'));
        }
    }

    fn push(&mut self, at: Time, agent: Symbol, kind: OutputKind, text: &str) {
        self.last += 1;
        let text = tame(&shortened(text, OUTPUT_LINE_BYTES_MAX)).into_boxed_str();
        let line = OutputLine { number: self.last, at, agent, kind, text };
        if kind.is_fault() { self.faults.push(line) } else { self.printed.push(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(7);

    fn texts(page: &OutputPage) -> Vec<&str> {
        page.lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn lines_come_in_order() {
        let (ada, bob) = (Symbol::new("ada"), Symbol::new("bob"));
        let mut log = OutputLog::default();
        log.print(NOW, ada, "one");
        log.note(NOW, bob, LogLevel::Severe, "two");
        log.note(NOW, bob, LogLevel::Info, "for developers");
        log.note(NOW, bob, LogLevel::Severe, "");
        log.print(NOW, ada, "three");
        let page = log.page(0, 10, |_| true);
        assert_eq!((texts(&page), page.next, page.left_out), (vec!["one", "two", "three"], 3, 0));
        assert_eq!(texts(&log.page(1, 10, |line| line.kind.is_fault())), ["two"]);
        assert_eq!(texts(&log.page(0, 10, |line| line.agent == ada)), ["one", "three"]);
        assert_eq!(log.page(3, 10, |_| true), OutputPage { next: 3, ..OutputPage::default() });
        assert_eq!((log.printed(), log.faults()), (2, 1));
    }

    #[test]
    fn parts_become_one_line() {
        let (ada, bob) = (Symbol::new("ada"), Symbol::new("bob"));
        let mut log = OutputLog::default();
        log.print_part(NOW, ada, "a");
        log.print_part(NOW, ada, "b\n");
        log.print_part(NOW, ada, "c");
        log.print_part(NOW, bob, "d");
        assert_eq!(texts(&log.page(0, 10, |_| true)), ["ab", "c", "d"]);
        let long = "x".repeat(OUTPUT_LINE_BYTES_MAX);
        (0..3).for_each(|_| log.print_part(NOW, ada, &long));
        assert_eq!(log.page(3, 10, |_| true).lines.len(), 3);
    }

    #[test]
    fn full_log_counts_deleted_lines() {
        let (ada, bob) = (Symbol::new("ada"), Symbol::new("bob"));
        let mut log = OutputLog::default();
        log.note(NOW, bob, LogLevel::Warning, "it failed");
        (0..OUTPUT_LINES_MAX + 5).for_each(|number| log.print(NOW, ada, &number.to_string()));
        let page = log.page(0, 2, |_| true);
        assert_eq!(page.left_out as usize, OUTPUT_LINES_MAX + 4, "{:?}", texts(&page));
        assert_eq!(texts(&log.page(0, 10, |line| line.agent == bob)), ["it failed"], "chatter deletes no failure");
        let long = "x".repeat(OUTPUT_LINE_BYTES_MAX);
        (0..2 * OUTPUT_BYTES_MAX / OUTPUT_LINE_BYTES_MAX).for_each(|_| log.print(NOW, ada, &long));
        assert!(log.printed.bytes <= OUTPUT_BYTES_MAX);
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut log = OutputLog::default();
        log.print(NOW, Symbol::new("ada"), "a\u{1b}[2J\u{202e}b");
        assert_eq!(texts(&log.page(0, 1, |_| true)), ["a\\u{1b}[2J\\u{202e}b"]);
    }
}
