//! Functions stay under 70 lines. Those that were let through once are listed in `long-functions.txt`, a list that only
//! shrinks: an entry that is no longer needed is an error.

use super::{Finding, words};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

const LINES_MAX: usize = 69;
const LIST: &str = "xtask/long-functions.txt";

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut allowed: Vec<(&str, bool)> =
        repo.text(LIST).unwrap_or_default().lines().filter(|line| !line.starts_with('#')).map(|l| (l, false)).collect();
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        for FunctionSpan { name, line, lines } in functions(source) {
            if lines <= LINES_MAX {
                continue;
            }
            let entry = format!("{path} {name}");
            if let Some((_, used)) = allowed.iter_mut().find(|(allowed, _)| *allowed == entry) {
                *used = true;
                continue;
            }
            let message = format!("function {name} has {lines} lines; {LINES_MAX} are enough: split it");
            findings.push(Finding::new(path, line, message));
        }
    }
    for (entry, used) in allowed {
        if !used && !entry.is_empty() {
            findings.push(Finding::new(LIST, 0, format!("`{entry}` is not long any more: delete the entry")));
        }
    }
    findings
}

struct FunctionSpan {
    name: String,
    line: usize,
    lines: usize,
}

/// All functions with a body, those inside others too.
fn functions(source: &str) -> Vec<FunctionSpan> {
    let masked = mask(source);
    words(&masked, "fn").filter_map(|at| function(&masked, at)).collect()
}

fn function(masked: &str, at: usize) -> Option<FunctionSpan> {
    let rest = masked.get(at..)?;
    let name: String = rest.get(3..)?.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() {
        // A function pointer's type.
        return None;
    }
    let body = body_start(rest)?;
    let length = body + block_length(rest.get(body..)?);
    let lines = rest.get(..length)?.lines().count();
    Some(FunctionSpan { name, line: line_of(masked, at), lines })
}

/// Returns the offset of the body's `{`; `None` for a function that is only declared.
fn body_start(rest: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

pub(super) fn block_length(block: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in block.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    block.len()
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    fn long(name: &str, lines: usize) -> String {
        format!("/// {{\nfn {name}<'a>(x: [u8; 2]) -> &'a str {{\n{}}}\n", "    g(\"}\");\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions_are_found() {
        let message = "crates/acl/src/a.rs:2: function f has 70 lines; 69 are enough: split it";
        expect(check, &[("crates/acl/src/a.rs", &long("f", 70))], &[message]);
        expect(check, &[("crates/acl/src/a.rs", &long("f", 69))], &[]);
    }

    #[test]
    fn declarations_have_no_body() {
        let source = format!("trait T {{ fn f(&self, g: fn(u8) -> u8); }}\n{}", "const A: u8 = { 1 };\n".repeat(100));
        expect(check, &[("crates/acl/src/a.rs", &source)], &[]);
    }

    #[test]
    fn the_list_only_shrinks() {
        let list = ("xtask/long-functions.txt", "# why\ncrates/acl/src/a.rs f\n");
        expect(check, &[("crates/acl/src/a.rs", &long("f", 70)), list], &[]);
        let message = "xtask/long-functions.txt: `crates/acl/src/a.rs f` is not long any more: delete the entry";
        expect(check, &[("crates/acl/src/a.rs", &long("f", 20)), list], &[message]);
    }
}
