//! One crate for users: guides, references, examples and README name `whimbrel`, and none of the crates below it.

use super::{Finding, word};
use crate::public_api;
use crate::repo::Repo;

/// Folders and files that people read who use Whimbrel.
const FOR_USERS: &[&str] = &["README.md", "docs/guide/", "docs/reference/", "examples/"];
/// Stand-in for `whimbrel` in examples of a crate below it.
const STAND_IN: &str = "crates/runtime/src/facade.rs";
/// Page with names of metrics, which begin like those of crates.
const METRICS: &str = "docs/reference/metrics.md";
/// Crates that are used inside WebAssembly agents, and a file of an example.
const OTHERS: &[&str] = &["whimbrel_guest", "whimbrel_agent"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    let for_users = repo.files().filter(|(path, _)| FOR_USERS.iter().any(|start| path.starts_with(start)));
    let texts = for_users.filter(|(path, _)| (path.ends_with(".md") || path.ends_with(".rs")) && *path != METRICS);
    for (path, file) in texts {
        for (index, line) in file.text.lines().enumerate() {
            let named = line.match_indices("whimbrel_").map(|(at, _)| word(line.get(at..).unwrap_or_default()));
            for name in named.filter(|name| !OTHERS.contains(name)) {
                let message = format!("names {name}: users depend on `whimbrel` only, name what it re-exports");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings.extend(missing_names(repo));
    findings
}

/// Finds names that the stand-in for `whimbrel` in examples has, and `whimbrel` has not.
fn missing_names(repo: &Repo) -> impl Iterator<Item = Finding> {
    let names = public_api::names(repo);
    let shown = public_api::names_in(repo, "whimbrel_runtime", "facade").into_iter();
    let missing = shown.filter(move |name| !names.contains(name));
    missing.map(|name| Finding::new(STAND_IN, 0, format!("whimbrel has no `{name}`: take it out of examples")))
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn lower_crates_are_found() {
        let files = [
            ("docs/guide/a.md", "`whimbrel::acl`\nuse whimbrel_acl::Aid;\nuse whimbrel_guest::Context;\n"),
            ("docs/design/b.md", "use whimbrel_acl::Aid;"),
            ("examples/lamp/main.rs", "use whimbrel_bdi::project::Class;"),
        ];
        let told = |place: &str, name: &str| {
            format!("{place}: names {name}: users depend on `whimbrel` only, name what it re-exports")
        };
        let expected = [told("docs/guide/a.md:2", "whimbrel_acl"), told("examples/lamp/main.rs:1", "whimbrel_bdi")];
        expect(check, &files, &expected.each_ref().map(String::as_str));
    }

    #[test]
    fn missing_names_are_found() {
        let files = [
            ("crates/runtime/src/lib.rs", "pub mod facade;\npub struct Agent;\npub struct Context;"),
            (STAND_IN, "pub mod prelude { pub use crate::{Agent, Context}; }"),
            ("crates/whimbrel/src/lib.rs", "pub mod prelude { pub use whimbrel_runtime::Agent; }"),
        ];
        let told = "whimbrel has no `struct whimbrel::prelude::Context`: take it out of examples";
        expect(check, &files, &[format!("{STAND_IN}: {told}").as_str()]);
    }
}
