//! Output of commands: they write to the terminal, or to a pipe, through the crate `terminal` only. Texts from
//! agents and the network are escaped there.

use super::{Finding, ships, without_tests};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

/// Folders of commands, and of the library that they use.
const FOLDERS: &[&str] = &["crates/cli/src/", "crates/bench/src/chaos/", "crates/whimbrel/src/"];
/// Files that may write: the library has no terminal, and this one writes a line of figures.
const WRITERS: &[&str] = &["crates/whimbrel/src/guests.rs"];
/// Code that writes past the crate `terminal`.
const WORDS: &[&str] = &["stdout().lock()", "stderr().lock()", "println!", "print!", "dbg!"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        let is_checked = FOLDERS.iter().any(|folder| path.starts_with(folder)) && !WRITERS.contains(&path);
        if !ships(path) || !is_checked {
            continue;
        }
        let masked = mask(source);
        let code = without_tests(&masked);
        for word in WORDS {
            for (at, _) in code.match_indices(word) {
                let is_another =
                    code.get(..at).unwrap_or_default().ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if !is_another {
                    let message = format!("{word} goes around the screen: use the crate `terminal`");
                    findings.push(Finding::new(path, line_of(code, at), message));
                }
            }
        }
    }
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn direct_output_is_found() {
        let source = "fn f() {\n    println!(\"{name}\");\n    writeln!(anstream::stdout().lock(), \"x\");\n}\n";
        let found = |path: &str, expected: &[&str]| expect(check, &[(path, source)], expected);
        found(
            "crates/cli/src/commands/x.rs",
            &[
                "crates/cli/src/commands/x.rs:2: println! goes around the screen: use the crate `terminal`",
                "crates/cli/src/commands/x.rs:3: stdout().lock() goes around the screen: use the crate `terminal`",
            ],
        );
        found("crates/terminal/src/screen.rs", &[]);
        found("crates/platform/src/x.rs", &[]);
    }
}
