//! Check of purity: `acl`, `platform`, `bdi`, `device`, `editor`, `interop` and `operator` name no clock, randomness,
//! file or socket.
//! Ports bring them in. So these crates run in a simulator and in a browser.

use super::{Finding, ships, without_tests, words};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

const PURE: &[&str] = &[
    "crates/acl/",
    "crates/platform/",
    "crates/bdi/",
    "crates/device/",
    "crates/editor/",
    "crates/interop/",
    "crates/operator/",
];
/// Words that no pure crate writes.
const IMPURE_WORDS: &[&str] = &["tokio", "rand", "getrandom", "Instant", "SystemTime", "TcpStream", "UdpSocket"];
/// Modules of `std` that no pure crate uses.
const IMPURE_MODULES: &[&str] = &["fs", "net", "thread", "process", "env"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        if !ships(path) || !PURE.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let masked = mask(source);
        let code = without_tests(&masked);
        let mut found: Vec<(usize, String)> = Vec::new();
        for word in IMPURE_WORDS {
            found.extend(words(code, word).map(|at| (at, (*word).to_owned())));
        }
        found.extend(std_modules(code).into_iter().map(|(at, module)| (at, format!("std::{module}"))));
        for (at, what) in found {
            let message = format!("{what} in a pure crate: time, chance and I/O come in through the platform's ports");
            findings.push(Finding::new(path, line_of(code, at), message));
        }
    }
    findings
}

/// Finds impure modules of `std`, in `std::fs` as in `use std::{fmt, fs::File}`.
fn std_modules(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for at in words(code, "std") {
        let Some(rest) = code.get(at..).and_then(|rest| rest.strip_prefix("std::")) else { continue };
        let named = match rest.strip_prefix('{') {
            Some(group) => top_level_names(group),
            None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').take(1).collect(),
        };
        found.extend(IMPURE_MODULES.iter().filter(|module| named.contains(module)).map(|module| (at, *module)));
    }
    found
}

/// The first name of each part of `a::b, c::{d, e}}`.
fn top_level_names(group: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut fresh = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && (c.is_alphanumeric() || c == '_') => {
                fresh = false;
                let rest = group.get(at..).unwrap_or_default();
                names.extend(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    const WHY: &str = "in a pure crate: time, chance and I/O come in through the platform's ports";

    #[test]
    fn clocks_and_files_are_found() {
        let source = "use std::time::Instant;\nuse std::{fmt, fs::File};\nfn f() { std::net::lookup() }\n";
        let expected = [
            format!("crates/bdi/src/a.rs:1: Instant {WHY}"),
            format!("crates/bdi/src/a.rs:2: std::fs {WHY}"),
            format!("crates/bdi/src/a.rs:3: std::net {WHY}"),
        ];
        expect(check, &[("crates/bdi/src/a.rs", source)], &expected.each_ref().map(String::as_str));
        expect(check, &[("crates/runtime/src/a.rs", source)], &[]);
    }

    #[test]
    fn comments_and_tests_are_ignored() {
        let source = "// no std::fs here\nuse std::time::Duration;\nuse std::fmt::{fs, net};\nlet random = 1;\n\
                      #[cfg(test)]\nmod tests { use std::fs; }\n";
        expect(check, &[("crates/acl/src/a.rs", source), ("crates/acl/tests/it/a.rs", "use std::fs;")], &[]);
    }
}
