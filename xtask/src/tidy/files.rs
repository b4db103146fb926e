//! Files: not too big, and at home on any machine.

use super::Finding;
use crate::repo::Repo;

const BYTES_MAX: usize = 1_000_000;
/// Prefixes of paths that exist on one machine only. Written in pieces, so that this file does not find itself.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, file) in repo.files() {
        if file.bytes >= BYTES_MAX {
            let message = format!("{} bytes: files stay under {BYTES_MAX}", file.bytes);
            findings.push(Finding::new(path, 0, message));
        }
        for (index, line) in file.text.lines().enumerate() {
            if let Some(found) = MACHINE_PATHS.iter().find(|start| names_path(line, start)) {
                let message = format!("a path that begins with {found} exists on one machine only");
                findings.push(Finding::new(path, index + 1, message));
            }
        }
    }
    findings
}

/// Checks whether a path in `line` begins with `start`; `a/start/b` does not.
fn names_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | ')' | '>'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn machine_paths_are_found() {
        let text = format!("cd {}/x\nhttps://example.org{}\n", concat!("/wo", "rk/main"), concat!("/wo", "rk/x"));
        let message = format!("a.sh:1: a path that begins with {} exists on one machine only", concat!("/wo", "rk/"));
        expect(check, &[("a.sh", &text)], &[&message]);
    }

    #[test]
    fn big_files_are_found() {
        let text = "x".repeat(1_000_000);
        expect(check, &[("a.txt", &text)], &["a.txt: 1000000 bytes: files stay under 1000000"]);
    }
}
