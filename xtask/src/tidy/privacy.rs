//! Private files: all files and folders are made by `crates/files`, since minds, messages, keys and tokens lie in them.

use super::{Finding, ships, without_tests, words};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

/// Exempt files: `crates/files` itself, and commands whose output files belong to their users.
const OTHERS: &[&str] = &[
    "crates/files/",
    "crates/gateway/build.rs",
    "crates/runtime/src/loader.rs",
    "crates/bench/src/",
    "crates/cli/src/commands/agent_build/",
    "crates/cli/src/commands/codec.rs",
    "crates/cli/src/commands/fmt.rs",
    "crates/cli/src/commands/new.rs",
    "crates/cli/src/commands/shell.rs",
    "crates/net/src/authority/file.rs",
    "crates/testkit/src/scratch.rs",
    "xtask/",
];
/// Functions that make a file or folder.
const MAKERS: &[&str] =
    &["File::create", "fs::write", "create_dir", "create_dir_all", "DirBuilder", "create_new", "create"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        if !ships(path) || OTHERS.iter().any(|other| path.starts_with(other)) {
            continue;
        }
        let masked = mask(source);
        let code = without_tests(&masked);
        for maker in MAKERS {
            for at in words(code, maker).filter(|at| makes_a_file(code, *at, maker)) {
                let message = format!("{maker} makes a file that others can read: use `whimbrel_files`");
                findings.push(Finding::new(path, line_of(code, at), message));
            }
        }
    }
    findings.sort();
    findings
}

/// True if a call is the standard library's: `OpenOptions::create(true)`, not another `create`.
fn makes_a_file(code: &str, at: usize, maker: &str) -> bool {
    let (before, after) = (code.get(..at).unwrap_or_default(), code.get(at + maker.len()..).unwrap_or_default());
    let is_ours = before.ends_with("whimbrel_files::");
    match maker {
        "create" | "create_new" => before.ends_with('.') && after.starts_with("(true)"),
        _ => !is_ours && !after.starts_with('_'),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn files_for_everybody_are_found() {
        let path = "crates/store/src/a.rs";
        let source =
            "fn f() { std::fs::File::create(p); fs::write(p, b); std::fs::create_dir_all(p); o.create(true); }\n";
        let why = |maker: &str| format!("{path}:1: {maker} makes a file that others can read: use `whimbrel_files`");
        let expected = ["File::create", "create", "create_dir_all", "fs::write"].map(why);
        expect(check, &[(path, source)], &expected.each_ref().map(String::as_str));
    }

    #[test]
    fn private_files_are_left_alone() {
        let source = "fn f() { whimbrel_files::create(p); platform.create(true_agent); store.create_new(2); }\n";
        expect(check, &[("crates/store/src/a.rs", source)], &[]);
        expect(check, &[("crates/bench/src/a.rs", "fn f() { fs::write(p, b); }\n")], &[]);
    }
}
