//! `whimbrel check`: all that is wrong with programs, projects and policies, without running them.

use std::path::Path;
use std::process::ExitCode;

use rustc_hash::FxHashMap;
use whimbrel::Society;
use whimbrel::files::read_source;
use whimbrel::policy::{self, PolicyError};
use whimbrel::projects::project_in;
use whimbrel::society::SocietyError;
use whimbrel_bdi::syntax::{Diagnostic, Severity, SourceText};
use whimbrel_editor::{lints, report};

use crate::arguments::CheckArguments;
use crate::project_files::{is_same, read_society};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

/// Checks each file, and sums up.
pub fn check(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let mut found = CheckTotals::default();
    for path in &arguments.files {
        found.check(path);
    }
    let text_of = |file: &str| std::fs::read(file).ok().map(|bytes| SourceText::decode(bytes).text);
    if arguments.sarif {
        print(&report::sarif(&found.shown, whimbrel::VERSION, &text_of).to_string())?;
    } else if arguments.json {
        print(&found.json(&text_of).to_string())?;
    } else {
        terminal::show(&found.shown);
        terminal::say_line(&found.to_string());
    }
    let is_fine = found.errors == 0 && (!arguments.deny_warnings || found.warnings == 0);
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A project counts as one, with all of its programs.
#[derive(Default)]
struct CheckTotals {
    projects: usize,
    programs: usize,
    policies: usize,
    errors: usize,
    warnings: usize,
    shown: Vec<Diagnostic>,
}

impl CheckTotals {
    fn check(&mut self, path: &Path) {
        let is_a = |path: &Path, extension: &str| path.extension().is_some_and(|found| found == extension);
        if is_a(path, "toml") {
            self.policies += 1;
            return self.check_policy(path);
        }
        let file = match project_in(path) {
            Ok(file) => file,
            Err(error) => {
                self.errors += 1;
                return terminal::complain(&error.into());
            }
        };
        match is_a(&file, "mas2j") {
            true => self.projects += 1,
            false => self.programs += 1,
        }
        match Society::check(&file) {
            Ok(society) => self.add(with_lints(&file, society.warnings())),
            Err(SocietyError::Errors { diagnostics, .. }) => self.add(diagnostics),
            Err(error) => {
                self.errors += 1;
                terminal::complain(&error.into());
            }
        }
    }

    fn check_policy(&mut self, path: &Path) {
        match policy::open(path) {
            Ok(_) => {}
            Err(PolicyError::Errors { diagnostics, .. }) => self.add(diagnostics),
            Err(error) => {
                self.errors += 1;
                terminal::complain(&error.into());
            }
        }
    }

    fn add(&mut self, diagnostics: Vec<Diagnostic>) {
        for diagnostic in &diagnostics {
            match diagnostic.severity {
                Severity::Error => self.errors += diagnostic.stands_for,
                Severity::Warning => self.warnings += diagnostic.stands_for,
            }
        }
        self.shown.extend(diagnostics);
    }

    fn json(&self, text_of: report::TextOf<'_>) -> serde_json::Value {
        let Self { projects, programs, policies, errors, warnings, shown } = self;
        serde_json::json!({
            "projects": projects, "programs": programs, "policies": policies, "errors": errors, "warnings": warnings,
            "diagnostics": report::json(shown, text_of),
        })
    }
}

/// Returns the warnings about a file and those of the lints, without those that comments allow.
fn with_lints(file: &Path, warnings: &[Diagnostic]) -> Vec<Diagnostic> {
    let Ok(mut society) = read_society(file, &FxHashMap::default()) else { return warnings.to_vec() };
    // Its project may name the file in another way.
    for name in warnings.iter().map(|warning| &warning.file).filter(|name| is_same(Path::new(name.as_str()), file)) {
        if let Ok(source) = read_source(file) {
            society.texts.insert(name.clone(), source.text.into());
        }
    }
    let mut found = lints::without_allowed(warnings.to_vec(), &society);
    let is_project = file.extension().is_some_and(|extension| extension == "mas2j");
    let of_file = |diagnostic: &Diagnostic| is_project || is_same(Path::new(diagnostic.file.as_str()), file);
    found.extend(lints::check(&society).into_iter().filter(of_file));
    found
}

impl std::fmt::Display for CheckTotals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |n: usize, what: &str| format!("{what}{}", if n == 1 { "" } else { "s" });
        let count = |n: usize, what: &str| format!("{n} {}", plural(n, what));
        let Self { projects, programs, policies, errors, warnings, .. } = *self;
        let policies = (policies, if policies == 1 { "policy".to_owned() } else { "policies".to_owned() });
        let kinds = [(projects, "project"), (programs, "program")].map(|(n, what)| (n, plural(n, what)));
        let looked_at: Vec<String> = kinds
            .into_iter()
            .chain([policies])
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
        let looked_at = looked_at.join(", ");
        if errors + warnings == 0 {
            return write!(f, "{looked_at}: nothing wrong");
        }
        write!(f, "{} and {}", count(errors, "error"), count(warnings, "warning"))?;
        if looked_at.is_empty() { Ok(()) } else { write!(f, " in {looked_at}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_summed_up() {
        let found = |projects, programs, policies, errors, warnings| {
            CheckTotals { projects, programs, policies, errors, warnings, shown: Vec::new() }.to_string()
        };
        assert_eq!(found(1, 0, 0, 0, 0), "1 project: nothing wrong");
        assert_eq!(found(2, 1, 2, 0, 0), "2 projects, 1 program, 2 policies: nothing wrong");
        assert_eq!(found(0, 2, 1, 1, 0), "1 error and 0 warnings in 2 programs, 1 policy");
        assert_eq!(found(0, 0, 0, 1, 2), "1 error and 2 warnings");
    }
}
