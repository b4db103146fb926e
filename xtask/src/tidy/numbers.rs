//! Check of limits: every limit that others can meet is a named constant in `platform::limits`, or in `acl::limits`
//! for encoded input. So all limits are in one place. A private constant tunes its own module, and stays there.

use super::{Finding, ships, without_tests, words};
use crate::limits::{ENCODINGS, FOLDER};
use crate::mask::{line_of, mask};
use crate::repo::Repo;

const LIMITS: &[&str] = &[FOLDER, ENCODINGS];

pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in repo.ending(".rs") {
        if LIMITS.iter().any(|limits| path.starts_with(limits))
            || !ships(path)
            || path.starts_with("xtask/")
            || path.starts_with("crates/testkit/")
        {
            continue;
        }
        let masked = mask(source);
        let code = without_tests(&masked);
        for at in words(code, "const") {
            let line_start = code.get(..at).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
            if !line_start.trim_start().starts_with("pub") {
                continue;
            }
            let Some(declaration) = code.get(at + "const".len()..).and_then(|rest| rest.split(';').next()) else {
                continue;
            };
            let Some((name, rest)) = declaration.split_once(':') else { continue };
            let name = name.trim();
            if is_limit(name) && is_number(rest) {
                let message = format!("{name} is a limit: it belongs into platform::limits, under a name of its own");
                findings.push(Finding::new(path, line_of(code, at), message));
            }
        }
    }
    findings
}

fn is_limit(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && name.split('_').any(|part| matches!(part, "MAX" | "LIMIT" | "CAPACITY"))
}

/// Checks whether a declaration's rest, `type = value`, gives a number that is written out, not computed from others.
fn is_number(rest: &str) -> bool {
    let Some((_, value)) = rest.split_once('=') else { return false };
    let value = value.trim();
    value.starts_with(|c: char| c.is_ascii_digit()) && !value.contains(|c: char| c.is_ascii_alphabetic() && c != 'x')
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn limits_live_in_one_place() {
        let source = "pub const FRAME_BYTES_MAX: usize = 1 << 20;\n    pub(crate) const HOP_LIMIT: u8 = 3;\n";
        let expected = [
            "crates/net/src/a.rs:1: FRAME_BYTES_MAX is a limit: it belongs into platform::limits, under a name of its own",
            "crates/net/src/a.rs:2: HOP_LIMIT is a limit: it belongs into platform::limits, under a name of its own",
        ];
        expect(check, &[("crates/net/src/a.rs", source)], &expected);
        expect(check, &[("crates/platform/src/limits/links.rs", source)], &[]);
    }

    #[test]
    fn other_constants_are_free() {
        let source = "pub const MAXIMUM: f64 = 1.0;\npub const SHARDS_MAX: usize = u16::MAX as usize;\nconst SPINS_MAX: u32 = 3;\n";
        expect(check, &[("crates/net/src/a.rs", source)], &[]);
    }
}
