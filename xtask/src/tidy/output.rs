//! Output of commands: they write to the terminal, or to a pipe, through `screen` and `terminal` only. Texts from
//! agents and the network are escaped there.

use super::{Finding, ships, without_tests};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

/// Folder of the command line.
const FOLDER: &str = "crates/whimbrel/src/";
/// Files that may write: `screen` and `terminal`, benchmarks (figures of their own), and the library, which has no
/// terminal and writes one line of figures.
const WRITERS: &[&str] = &["screen.rs", "terminal.rs", "guests.rs", "bench/"];
/// Code that writes without `screen` and `terminal`.
const WORDS: &[&str] = &["stdout().lock()", "stderr().lock()", "println!", "print!", "dbg!"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        let Some(name) = path.strip_prefix(FOLDER) else { continue };
        if !ships(path) || WRITERS.iter().any(|writer| name.starts_with(writer)) {
            continue;
        }
        let masked = mask(source);
        let code = without_tests(&masked);
        for word in WORDS {
            for (at, _) in code.match_indices(word) {
                let is_another =
                    code.get(..at).unwrap_or_default().ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if !is_another {
                    let message = format!("{word} goes around the screen: use screen::print or terminal");
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
    fn output_past_the_screen_is_found() {
        let source = "fn f() {\n    println!(\"{name}\");\n    writeln!(anstream::stdout().lock(), \"x\");\n}\n";
        let found = |path: &str, expected: &[&str]| expect(check, &[(path, source)], expected);
        found(
            "crates/whimbrel/src/commands/x.rs",
            &[
                "crates/whimbrel/src/commands/x.rs:2: println! goes around the screen: use screen::print or terminal",
                "crates/whimbrel/src/commands/x.rs:3: stdout().lock() goes around the screen: use screen::print or terminal",
            ],
        );
        found("crates/whimbrel/src/screen.rs", &[]);
        found("crates/platform/src/x.rs", &[]);
    }
}
