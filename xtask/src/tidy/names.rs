//! Names that say nothing: `Manager`, `Helper`, `Util`, `common`, `core`, and `get_`, which in Rust is silent.

use super::{Finding, declared};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

const EMPTY_IN_TYPES: &[&str] = &["Manager", "Helper", "Util"];
const EMPTY_MODULES: &[&str] = &["common", "core", "util", "utils", "helper", "helpers", "manager", "misc"];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        let module = path.strip_suffix("/mod.rs").or(path.strip_suffix(".rs")).unwrap_or(path);
        let name = module.rsplit('/').next().unwrap_or_default();
        if EMPTY_MODULES.contains(&name) {
            findings.push(Finding::new(
                path,
                0,
                format!("a module called {name} tells nothing: name what it is about"),
            ));
        }
        let masked = mask(source);
        for keyword in ["struct", "enum", "trait", "type", "union"] {
            for (at, name) in declared(&masked, keyword) {
                if let Some(empty) = EMPTY_IN_TYPES.iter().find(|empty| name.contains(**empty)) {
                    let message = format!("{name}: `{empty}` tells nothing: name what it does");
                    findings.push(Finding::new(path, line_of(&masked, at), message));
                }
            }
        }
        for (at, name) in declared(&masked, "fn") {
            if let Some(rest) = name.strip_prefix("get_") {
                let message = format!("{name}: call it `{rest}`");
                findings.push(Finding::new(path, line_of(&masked, at), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn empty_names_are_found() {
        let source = "pub struct AgentManager;\nimpl A {\n    fn get_name(&self) {}\n}\n";
        let expected = [
            "crates/acl/src/a.rs:1: AgentManager: `Manager` tells nothing: name what it does",
            "crates/acl/src/a.rs:3: get_name: call it `name`",
        ];
        expect(check, &[("crates/acl/src/a.rs", source)], &expected);
        let expected = ["crates/acl/src/common.rs: a module called common tells nothing: name what it is about"];
        expect(check, &[("crates/acl/src/common.rs", "")], &expected);
    }

    #[test]
    fn foreign_names_are_ignored() {
        let source = "fn f(w: &Manager) { w.get_or_insert(1); }\n// struct Helper\nfn get() {}\n";
        expect(check, &[("crates/acl/src/a.rs", source)], &[]);
    }
}
