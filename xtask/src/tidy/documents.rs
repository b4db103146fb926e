//! Documents keep up: ARCHITECTURE knows every crate, examples explain themselves, links lead somewhere.

use super::Finding;
use crate::repo::Repo;

/// Document that shows where everything is.
const MAP: &str = "ARCHITECTURE.md";
/// Maximal number of lines of the README: what a newcomer reads.
const README_LINES_MAX: usize = 200;

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = repo.text(MAP).unwrap_or_default();
    for name in repo.folders("crates") {
        if !text.contains(&format!("crates/{name}")) {
            findings.push(Finding::new(MAP, 0, format!("does not mention crates/{name}")));
        }
    }
    let lines = repo.text("README.md").unwrap_or_default().lines().count();
    if lines > README_LINES_MAX {
        let text = format!("has {lines} lines, at most {README_LINES_MAX}: move the rest to docs/");
        findings.push(Finding::new("README.md", 0, text));
    }
    for name in repo.folders("examples") {
        for (file, why) in [("README.md", "explains its idea"), ("expected.txt", "says what it prints")] {
            let path = format!("examples/{name}/{file}");
            if repo.text(&path).is_none() {
                findings.push(Finding::new(&path, 0, format!("missing: each example {why}")));
            }
        }
    }
    for (path, text) in repo.ending(".md") {
        findings.extend(dead_links(repo, path, text));
    }
    findings
}

fn dead_links(repo: &Repo, path: &str, text: &str) -> Vec<Finding> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.starts_with("    ") {
            continue;
        }
        for target in link_targets(line) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !elsewhere && !resolve(folder, file).is_some_and(|place| repo.exists(&place)) {
                findings.push(Finding::new(path, index + 1, format!("link to {file} leads nowhere")));
            }
        }
    }
    findings
}

/// The targets of `[text](target)` and `![text](target)`.
fn link_targets(line: &str) -> Vec<&str> {
    line.match_indices("](").filter_map(|(at, _)| line.get(at + 2..)?.split([')', ' ']).next()).collect()
}

/// The path from the repository's root that `target` means in a document of `folder`; `None` if it leads out.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn every_crate_is_mentioned() {
        let files = [("ARCHITECTURE.md", "crates/acl"), ("crates/acl/Cargo.toml", ""), ("crates/bdi/Cargo.toml", "")];
        expect(check, &files, &["ARCHITECTURE.md: does not mention crates/bdi"]);
    }

    #[test]
    fn long_readme_is_refused() {
        let text = "line\n".repeat(README_LINES_MAX + 1);
        expect(check, &[("README.md", &text)], &["README.md: has 201 lines, at most 200: move the rest to docs/"]);
    }

    #[test]
    fn every_example_explains_itself() {
        let files = [("examples/a/a.mas2j", ""), ("examples/a/README.md", "x"), ("examples/README.md", "")];
        expect(check, &files, &["examples/a/expected.txt: missing: each example says what it prints"]);
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "[a](../b/c.md#d) [e](f.md) [g](https://example.org/h) [i](#j) [k](../b)\n```\n[l](m)\n```\n";
        let files = [("docs/a/x.md", text), ("docs/b/c.md", "")];
        expect(check, &files, &["docs/a/x.md:1: link to f.md leads nowhere"]);
    }
}
