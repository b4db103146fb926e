//! Diagnostics of a program: faults, their places, and advice.

use std::fmt;

use whimbrel_acl::Text;
use whimbrel_platform::limits;

use super::ast::Span;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program can run, but probably does not do what is meant.
    Warning,
    /// The program cannot run.
    Error,
}

/// Diagnostic. Shown by [`render`](super::render()), or in one line by `Display`.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Code of the kind of fault: `// whimbrel: allow(code)` hides a warning.
    pub code: &'static str,
    /// Description of the fault, in lower case.
    pub message: String,
    /// Source file.
    pub file: Text,
    /// Place in the file.
    pub span: Span,
    /// Description of the place, shown beside it.
    pub label: String,
    /// Advice.
    pub help: Option<String>,
    /// Alternatives that could stand at the place.
    pub expected: Vec<&'static str>,
    /// Other places of the same file that explain the fault.
    pub related: Vec<(Span, String)>,
    /// Number of diagnostics that this one stands for; more than one for a summary of those not shown.
    pub stands_for: usize,
}

impl Diagnostic {
    /// Creates an error.
    pub fn error(file: &Text, span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code: "error",
            message: message.into(),
            file: file.clone(),
            span,
            label: label.into(),
            help: None,
            expected: Vec::new(),
            related: Vec::new(),
            stands_for: 1,
        }
    }

    /// Creates a warning.
    pub fn warning(file: &Text, span: Span, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, code: "warning", ..Self::error(file, span, message, label) }
    }

    /// Sets the code of the kind of fault.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `file:line: error: message`
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}: {severity}: {}", self.file, self.span.line, self.message)
    }
}

/// Collector of diagnostics, up to a limit: a hostile program must not cost memory without bound.
#[derive(Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    errors_left_out: usize,
    warnings_left_out: usize,
}

impl Diagnostics {
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < limits::DIAGNOSTICS_MAX {
            self.found.push(diagnostic);
        } else {
            match diagnostic.severity {
                Severity::Error => self.errors_left_out += diagnostic.stands_for,
                Severity::Warning => self.warnings_left_out += diagnostic.stands_for,
            }
        }
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        self.found.iter().filter(is_error).map(|error| error.stands_for).sum::<usize>() + self.errors_left_out
    }

    /// Turns all errors after the first `count` ones into warnings.
    pub fn excuse_since(&mut self, count: usize) {
        let mut before = 0;
        for found in self.found.iter_mut().filter(|found| found.severity == Severity::Error) {
            before += found.stands_for;
            if before > count {
                found.severity = Severity::Warning;
            }
        }
        let excused = self.errors_left_out.min((before + self.errors_left_out).saturating_sub(count));
        self.errors_left_out -= excused;
        self.warnings_left_out += excused;
    }

    /// Returns the diagnostics of each file in the order of its text, files in the order of their first diagnostics.
    /// The last ones summarise the errors and warnings that were left out.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        let mut files: Vec<Text> = Vec::new();
        for found in &self.found {
            if !files.contains(&found.file) {
                files.push(found.file.clone());
            }
        }
        self.found.sort_by_key(|found| (files.iter().position(|file| *file == found.file), found.span.start));
        let Some(last) = self.found.last().cloned() else { return self.found };
        let left_out =
            [(self.errors_left_out, Severity::Error, "error"), (self.warnings_left_out, Severity::Warning, "warning")];
        for (count, severity, word) in left_out {
            if count > 0 {
                let message = if count == 1 {
                    format!("1 more {word} is not shown")
                } else {
                    format!("{count} more {word}s are not shown")
                };
                let note = Diagnostic::error(&last.file, last.span, message, "the last one shown");
                self.found.push(Diagnostic { severity, stands_for: count, ..note });
            }
        }
        self.found
    }
}

/// Returns the candidate most similar to `name`, if one is similar: for "did you mean" advice.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(name, candidate, limit), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two texts; at least
/// `limit + 1` if there are more than `limit`.
fn edits(from: &str, to: &str, limit: usize) -> usize {
    if from.len().abs_diff(to.len()) > limit {
        return limit + 1;
    }
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let at = |row: &[usize], i: usize| row.get(i).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = Vec::with_capacity(to.len() + 1);
        row.push(i + 1);
        for (j, b) in to.iter().enumerate() {
            let mut best = (at(&above, j) + usize::from(a != b)).min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && from.get(i - 1) == Some(b) && to.get(j - 1) == Some(a);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(limit + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_found() {
        let names = ["print", "println", "send", "my_name", "broadcast"];
        assert_eq!(nearest("prnit", names), Some("print"));
        assert_eq!(nearest("myname", names), Some("my_name"));
        assert_eq!(nearest("frobnicate", names), None);
    }

    #[test]
    fn diagnostics_are_limited() {
        let file = Text::from("x.asl");
        let mut all = Diagnostics::default();
        for _ in 0..limits::DIAGNOSTICS_MAX + 5 {
            all.push(Diagnostic::error(&file, Span::default(), "bad", ""));
        }
        let all = all.into_vec();
        assert_eq!(all.len(), limits::DIAGNOSTICS_MAX + 1);
        let last = all.last().unwrap();
        assert_eq!(
            (last.message.as_str(), last.severity, last.stands_for),
            ("5 more errors are not shown", Severity::Error, 5)
        );
    }

    #[test]
    fn diagnostics_follow_file_order() {
        let (one, two) = (Text::from("1.asl"), Text::from("2.asl"));
        let mut all = Diagnostics::default();
        for (file, line) in [(&one, 7), (&two, 3), (&one, 2), (&two, 9), (&one, 7)] {
            all.push(Diagnostic::error(file, Span { start: line * 10, end: line * 10, line }, "bad", ""));
        }
        let order: Vec<String> = all.into_vec().iter().map(ToString::to_string).collect();
        let wanted =
            ["1.asl:2", "1.asl:7", "1.asl:7", "2.asl:3", "2.asl:9"].map(|place| format!("{place}: error: bad"));
        assert_eq!(order, wanted);
    }

    #[test]
    fn omitted_warnings_hide_no_error() {
        let file = Text::from("x.asl");
        let mut all = Diagnostics::default();
        for _ in 0..=limits::DIAGNOSTICS_MAX {
            all.push(Diagnostic::warning(&file, Span::default(), "odd", ""));
        }
        assert!(all.found.iter().all(|found| found.severity == Severity::Warning));
        all.push(Diagnostic::error(&file, Span::default(), "bad", ""));
        let notes: Vec<String> = all.into_vec().iter().skip(limits::DIAGNOSTICS_MAX).map(ToString::to_string).collect();
        assert_eq!(
            notes,
            ["x.asl:0: error: 1 more error is not shown", "x.asl:0: warning: 1 more warning is not shown"]
        );
    }
}
