//! Checks, one module each. A check takes the repository and returns its findings.

use std::fmt;

use crate::repo::Repo;
use ratchets::Ratchets;

mod arrows;
mod documents;
mod facade;
pub mod figures;
mod files;
mod forwarding;
mod functions;
mod fuzzing;
mod limits_page;
mod names;
mod numbers;
mod output;
mod packing;
mod privacy;
mod purity;
pub mod ratchets;

/// A broken rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1; 0 if the file as a whole is meant.
    pub line: usize,
    /// Fault, and its remedy.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Returns all findings in order of their places, and notes that break no rule.
pub fn check(repo: &Repo) -> (Vec<Finding>, Vec<String>) {
    let checks = [
        arrows::check,
        documents::check,
        facade::check,
        files::check,
        forwarding::check,
        functions::check,
        fuzzing::check,
        limits_page::check,
        names::check,
        numbers::check,
        output::check,
        packing::check,
        privacy::check,
        purity::check,
    ];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(repo)).collect();
    findings.sort();
    let ratchets = Ratchets::of(repo);
    findings.extend(ratchets.findings(repo));
    (findings, ratchets.slack())
}

/// The part of a source file that is no unit test: our files have those at their end. A `mod tests;` only names
/// another file.
fn without_tests(masked: &str) -> &str {
    let end = masked.find("#[cfg(test)]\nmod tests {").unwrap_or(masked.len());
    masked.get(..end).unwrap_or(masked)
}

/// Checks whether a file holds code that ships, in contrast to tests, examples and benchmarks.
pub fn ships(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["crates", _, "src", ..] | ["xtask", "src", ..])
        && !parts.iter().any(|part| matches!(*part, "tests" | "tests.rs"))
}

/// Iterates over the offsets of `word` as a whole word.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

/// Returns the names that a keyword declares, each with the place of the keyword.
fn declared<'a>(masked: &'a str, keyword: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    words(masked, keyword).filter_map(move |at| {
        let name = word(masked.get(at + keyword.len()..)?.strip_prefix(' ')?);
        (!name.is_empty()).then_some((at, name))
    })
}

/// Returns the word that `text` begins with; empty if it begins with something else.
pub fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod testing {
    use super::*;

    /// Runs a check and compares its findings, each as one line.
    #[track_caller]
    pub fn expect(check: fn(&Repo) -> Vec<Finding>, files: &[(&str, &str)], expected: &[&str]) {
        let found: Vec<String> = check(&Repo::of(files.iter().copied())).iter().map(Finding::to_string).collect();
        assert_eq!(found, expected);
    }
}
