//! Allowed arrows between crates: acl -> platform -> {runtime, bdi, wasm, store, net, operator -> gateway} -> whimbrel
//! -> terminal -> bench -> cli.

use super::Finding;
use crate::repo::Repo;

/// Each crate's folder, and the crates it may use in code that ships. Tests may use testkit, too, and those of
/// [`FOR_TESTS`].
pub(super) const MAY_USE: &[(&str, &[&str])] = &[
    ("acl-derive", &[]),
    ("acl", &["acl-derive"]),
    ("platform", &["acl"]),
    ("runtime", &["acl", "platform"]),
    ("bdi", &["acl", "platform"]),
    ("editor", &["acl", "platform", "bdi"]),
    ("wasm", &["acl", "platform"]),
    ("files", &[]),
    ("store", &["platform", "files"]),
    ("net", &["acl", "platform", "files"]),
    ("operator", &["platform"]),
    ("interop", &["acl", "platform"]),
    ("gateway", &["acl", "platform", "operator", "interop"]),
    (
        "whimbrel",
        &["acl", "platform", "runtime", "bdi", "wasm", "store", "net", "operator", "interop", "gateway", "files"],
    ),
    ("terminal", &["acl", "platform", "runtime", "bdi", "net", "whimbrel"]),
    ("bench", &["acl", "platform", "runtime", "wasm", "store", "net", "operator", "files", "whimbrel", "terminal"]),
    (
        "cli",
        &[
            "acl", "platform", "runtime", "bdi", "editor", "wasm", "store", "net", "operator", "interop", "gateway",
            "files", "whimbrel", "terminal", "bench",
        ],
    ),
    ("device", &["acl", "platform", "bdi"]),
    ("testkit", &["acl", "platform"]),
];

/// Crate, and a crate that its tests may use: durable agents are tested on the journal in memory.
const FOR_TESTS: (&str, &str) = ("runtime", "store");

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in repo.folders("crates") {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(manifest) = repo.text(&path) else {
            findings.push(Finding::new(&path, 0, "missing: each folder of crates/ is a crate"));
            continue;
        };
        let Some((_, may_use)) = MAY_USE.iter().find(|(crate_name, _)| *crate_name == name) else {
            findings.push(Finding::new(&path, 0, format!("no arrows for crate {name} in xtask/src/tidy/arrows.rs")));
            continue;
        };
        for Dependency { line, used, for_tests } in dependencies(manifest) {
            let allowed = may_use.contains(&used) || (for_tests && (used == "testkit" || (name, used) == FOR_TESTS));
            if !allowed {
                let message = format!("{name} must not use {used}: it may use {may_use:?} (DESIGN: one direction)");
                findings.push(Finding::new(&path, line, message));
            }
        }
    }
    findings
}

/// One of the project's own crates that a manifest names.
pub(super) struct Dependency<'a> {
    pub line: usize,
    pub used: &'a str,
    pub for_tests: bool,
}

/// Returns the project's own crates that a manifest depends on.
pub(super) fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            continue;
        }
        if !section.ends_with("dependencies") {
            continue;
        }
        let named = line.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
        // The library has the project's own name.
        let library = (named == "whimbrel").then_some(named);
        let Some(used) = named.strip_prefix("whimbrel-").or(library) else { continue };
        found.push(Dependency { line: index + 1, used, for_tests: section.ends_with("dev-dependencies") });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn arrows_go_one_way() {
        let bdi = "[dependencies]\nwhimbrel-acl.workspace = true\nwhimbrel-runtime.workspace = true\n";
        let message = "crates/bdi/Cargo.toml:3: bdi must not use runtime: it may use [\"acl\", \"platform\"] (DESIGN: one direction)";
        expect(check, &[("crates/bdi/Cargo.toml", bdi)], &[message]);
    }

    #[test]
    fn testkit_is_for_tests() {
        let manifest = "[dev-dependencies]\nwhimbrel-testkit = { path = \"../testkit\" }\n";
        expect(check, &[("crates/acl/Cargo.toml", manifest)], &[]);
        let manifest = "[target.'cfg(unix)'.dependencies]\nwhimbrel-testkit = { path = \"../testkit\" }\n";
        let message =
            "crates/acl/Cargo.toml:2: acl must not use testkit: it may use [\"acl-derive\"] (DESIGN: one direction)";
        expect(check, &[("crates/acl/Cargo.toml", manifest)], &[message]);
    }

    #[test]
    fn new_crates_need_arrows() {
        let message = "crates/extra/Cargo.toml: no arrows for crate extra in xtask/src/tidy/arrows.rs";
        expect(check, &[("crates/extra/Cargo.toml", "")], &[message]);
    }
}
