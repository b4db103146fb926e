//! Fuzz targets: each calls one function that tests replay. So the workspace's tests compile all that a target does,
//! without a fuzzer.

use super::{Finding, word};
use crate::repo::Repo;

const TARGETS: &str = "fuzz/fuzz_targets/";
const MANIFEST: &str = "fuzz/Cargo.toml";

pub fn check(repo: &Repo) -> Vec<Finding> {
    let manifest = repo.files().find(|(path, _)| *path == MANIFEST).map_or("", |(_, file)| file.text.as_str());
    let tests: Vec<&str> =
        repo.ending(".rs").filter(|(path, _)| path.starts_with("crates/")).map(|(_, text)| text).collect();
    let mut findings = Vec::new();
    for (path, text) in repo.ending(".rs") {
        let Some(target) = path.strip_prefix(TARGETS).and_then(|file| file.strip_suffix(".rs")) else { continue };
        let module = text.split("mod ").nth(1).map_or("", word);
        if text != expected(module, target) {
            let message = format!("is not `fuzz_target!(|bytes: &[u8]| {module}::{target}(bytes))`, as the others are");
            findings.push(Finding::new(path, 0, message));
        }
        let call = format!("{module}::{target}");
        if !tests.iter().any(|test| test.contains(&format!("\"{target}\"")) && test.contains(&call)) {
            findings.push(Finding::new(path, 0, format!("no test replays \"{target}\" with {call}")));
        }
        if !manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")) {
            findings.push(Finding::new(MANIFEST, 0, format!("has no program for {path}")));
        }
    }
    findings
}

/// Returns the text of a target.
fn expected(module: &str, target: &str) -> String {
    format!(
        "#![no_main]\n\n#[path = \"../src/{module}.rs\"]\nmod {module};\n\n\
         libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {module}::{target}(bytes));\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn target_without_replay_is_found() {
        let path = "fuzz/fuzz_targets/acl_json.rs";
        let target = expected("encodings", "acl_json");
        let test = ("crates/acl/tests/it/fuzz.rs", "replay(\"acl_json\", encodings::acl_json);");
        let manifest = (MANIFEST, "path = \"fuzz_targets/acl_json.rs\"");
        expect(check, &[(path, &target), test, manifest], &[]);
        let other = target.replace("acl_json(bytes)", "acl_json(&bytes[1..])");
        expect(
            check,
            &[(path, &other)],
            &[
                "fuzz/fuzz_targets/acl_json.rs: is not `fuzz_target!(|bytes: &[u8]| encodings::acl_json(bytes))`, as \
                 the others are",
                "fuzz/fuzz_targets/acl_json.rs: no test replays \"acl_json\" with encodings::acl_json",
                "fuzz/Cargo.toml: has no program for fuzz/fuzz_targets/acl_json.rs",
            ],
        );
    }
}
