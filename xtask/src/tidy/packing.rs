//! Packages: a crate that is published contains all files that its code includes. Cargo packs no file outside the
//! crate's folder, and only building the package would show it.

use super::{Finding, ships, without_tests, words};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

const MACROS: &[&str] = &["include", "include_bytes", "include_str"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs").filter(|(path, _)| ships(path) && is_published(repo, path)) {
        let masked = mask(source);
        let code = without_tests(&masked);
        // Examples of documentation are compiled from the repository.
        let code = code.get(..code.find("#[cfg(doctest)]").unwrap_or(code.len())).unwrap_or(code);
        for at in MACROS.iter().flat_map(|name| words(code, name)) {
            let Some(included) = source.get(at..).and_then(included) else { continue };
            if leaves_crate(path, included) {
                let message = format!("includes {included}, outside the crate: its package would not compile");
                findings.push(Finding::new(path, line_of(code, at), message));
            }
        }
    }
    findings
}

fn is_published(repo: &Repo, path: &str) -> bool {
    let Some(name) = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()) else { return false };
    let manifest = repo.text(&format!("crates/{name}/Cargo.toml"));
    manifest.is_some_and(|manifest| !manifest.lines().any(|line| line == "publish = false"))
}

/// Returns the path in `include_str!("path")`.
fn included(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("!(")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// Checks whether a relative path in the file at `path` is outside `crates/NAME`.
fn leaves_crate(path: &str, included: &str) -> bool {
    let depth = path.split('/').count() - 3;
    included.split('/').take_while(|part| *part == "..").count() > depth
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn files_outside_package_are_found() {
        let source = "const A: &str = include_str!(\"../data/a.json\");\n\
                      const B: &str = include_str!(\n    \"../../../../conformance/b.json\");\n\
                      #[cfg(test)]\nmod tests { const C: &str = include_str!(\"../../../../docs/c.md\"); }\n";
        let files = [
            ("crates/platform/Cargo.toml", "[package]\nname = \"whimbrel-platform\"\n"),
            ("crates/platform/src/protocols/table.rs", source),
            ("crates/cli/Cargo.toml", "[package]\npublish = false\n"),
            ("crates/cli/src/new.rs", "const D: &str = include_str!(\"../../../examples/d.asl\");"),
        ];
        let told = "includes ../../../../conformance/b.json, outside the crate: its package would not compile";
        expect(check, &files, &[&format!("crates/platform/src/protocols/table.rs:2: {told}")]);
    }

    #[test]
    fn documentation_may_include_guides() {
        let source = "#[cfg(doctest)]\nmod guides { #[doc = include_str!(\"../../../README.md\")] mod readme {} }";
        expect(check, &[("crates/whimbrel/Cargo.toml", "[package]"), ("crates/whimbrel/src/lib.rs", source)], &[]);
    }
}
