//! `whimbrel check`: all that is wrong with programs, projects and policies, without running them.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use whimbrel::Society;
use whimbrel::policy::{self, PolicyError};
use whimbrel::society::OpenError;
use whimbrel_bdi::syntax::{Diagnostic, Severity};

use super::project_in;
use crate::arguments::Check;
use crate::terminal;

/// Checks each file, and sums up.
pub fn check(arguments: &Check) -> anyhow::Result<ExitCode> {
    let mut found = Found::default();
    for path in &arguments.files {
        found.check(path);
    }
    writeln!(anstream::stderr().lock(), "{found}")?;
    Ok(if found.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Default)]
struct Found {
    files: usize,
    errors: usize,
    warnings: usize,
}

impl Found {
    fn check(&mut self, path: &Path) {
        self.files += 1;
        if path.extension().is_some_and(|extension| extension == "toml") {
            return self.check_policy(path);
        }
        let file = match project_in(path) {
            Ok(file) => file,
            Err(error) => {
                self.errors += 1;
                return terminal::complain(&error);
            }
        };
        match Society::open(&file) {
            Ok(society) => self.show(society.warnings()),
            Err(OpenError::Errors { diagnostics, .. }) => self.show(&diagnostics),
            Err(error) => {
                self.errors += 1;
                terminal::complain(&error.into());
            }
        }
    }

    fn check_policy(&mut self, path: &Path) {
        match policy::open(path) {
            Ok(_) => {}
            Err(PolicyError::Error(diagnostic)) => self.show(&[*diagnostic]),
            Err(error) => {
                self.errors += 1;
                terminal::complain(&error.into());
            }
        }
    }

    fn show(&mut self, diagnostics: &[Diagnostic]) {
        terminal::show(diagnostics);
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
        self.errors += errors;
        self.warnings += diagnostics.len() - errors;
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let Self { files, errors, warnings } = *self;
        if errors + warnings == 0 {
            return write!(f, "{}: nothing wrong", count(files, "file"));
        }
        write!(f, "{} and {} in {}", count(errors, "error"), count(warnings, "warning"), count(files, "file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_summed_up() {
        assert_eq!(Found { files: 1, errors: 0, warnings: 0 }.to_string(), "1 file: nothing wrong");
        assert_eq!(Found { files: 2, errors: 1, warnings: 0 }.to_string(), "1 error and 0 warnings in 2 files");
    }
}
