//! Policy files: who may do what, as TOML.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer, Error};
use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_platform::limits::{DIAGNOSTICS_MAX, POLICY_BYTES_MAX};
use whimbrel_platform::policy::Policy;

use crate::files::{SourceReadError, read, wrong};

/// Reasons why a file is no policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] SourceReadError),
    /// The file is longer than a policy may be.
    #[error("{} is longer than {POLICY_BYTES_MAX} bytes, the limit of a policy", .0.display())]
    TooLong(PathBuf),
    /// All that is wrong with it, and where.
    #[error("{} has errors", path.display())]
    Errors {
        /// The file.
        path: PathBuf,
        /// Diagnostics in the order of the file.
        diagnostics: Vec<Diagnostic>,
    },
}

/// Reads a policy file.
///
/// # Errors
/// There is no such file, or it is no policy.
pub fn open(path: &Path) -> Result<Policy, PolicyError> {
    let text = read(path)?;
    if text.len() > POLICY_BYTES_MAX {
        return Err(PolicyError::TooLong(path.to_owned()));
    }
    parse(&text, path)
}

/// Returns the SHA-256 of a policy file, in hexadecimal, by which the audit log names it.
///
/// # Errors
/// The file is missing.
pub fn digest(path: &Path) -> Result<String, SourceReadError> {
    let digest = ring::digest::digest(&ring::digest::SHA256, read(path)?.as_bytes());
    Ok(digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn parse(text: &str, path: &Path) -> Result<Policy, PolicyError> {
    let (document, unreadable) = DeTable::parse_recoverable(text);
    let errors = if unreadable.is_empty() {
        match read_table(document.get_ref().clone()) {
            Ok(policy) => return Ok(policy),
            Err(first) => Some(errors_of(document.get_ref())).filter(|all| !all.is_empty()).unwrap_or(vec![first]),
        }
    } else {
        unreadable
    };
    let place = |error: &Error| error.span().unwrap_or(0..0);
    let mut errors: Vec<_> = errors.iter().map(|error| (place(error), error.message())).collect();
    errors.sort_by_key(|(place, _)| place.start);
    errors.dedup();
    let diagnostics = errors.into_iter().take(DIAGNOSTICS_MAX);
    let diagnostics = diagnostics.map(|(place, message)| *wrong(text, path, place, message)).collect();
    Err(PolicyError::Errors { path: path.to_owned(), diagnostics })
}

fn read_table(table: DeTable<'_>) -> Result<Policy, Error> {
    Policy::deserialize(Deserializer::from(Spanned::new(0..0, table)))
}

/// Returns all errors. A reader stops at its first error, so each rule, and each of several values of a rule, is read
/// by itself.
fn errors_of(document: &DeTable<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    for (list, value) in document {
        let read = |value| read_table(DeTable::from_iter([(list.clone(), value)]));
        match value.get_ref() {
            DeValue::Array(rules) => {
                for rule in rules {
                    let alone = |rule| read(array_of(value, rule));
                    errors.extend(errors_of_rule(list.get_ref(), rule, &alone));
                }
            }
            _ => errors.extend(read(value.clone()).err()),
        }
    }
    errors
}

type SpannedValue<'a> = Spanned<DeValue<'a>>;

/// Checks each entry of a rule, and the rule as a whole.
fn errors_of_rule<'a>(
    list: &str,
    rule: &SpannedValue<'a>,
    read: &dyn Fn(SpannedValue<'a>) -> Result<Policy, Error>,
) -> Vec<Error> {
    let Err(whole) = read(rule.clone()) else { return Vec::new() };
    let DeValue::Table(says) = rule.get_ref() else { return vec![whole] };
    let anything = |name: &'static str| {
        (Spanned::new(0..0, DeString::from(name)), Spanned::new(0..0, DeValue::String(DeString::from("*"))))
    };
    let mut errors = Vec::new();
    for (name, value) in says {
        for part in parts_of(value) {
            // What a rule has to have besides.
            let rest = match &**name.get_ref() {
                "who" if matches!(list, "allow" | "deny") => Some(anything("send")),
                "who" => None,
                _ => Some(anything("who")),
            };
            let only = DeTable::from_iter(rest.into_iter().chain([(name.clone(), part)]));
            errors.extend(read(Spanned::new(rule.span(), DeValue::Table(only))).err());
        }
    }
    if errors.is_empty() { vec![whole] } else { errors }
}

/// Returns the entries of a list, as lists of one each; else the value itself.
fn parts_of<'a>(value: &SpannedValue<'a>) -> Vec<SpannedValue<'a>> {
    match value.get_ref() {
        DeValue::Array(list) if !list.is_empty() => list.iter().map(|one| array_of(value, one.clone())).collect(),
        _ => vec![value.clone()],
    }
}

/// Returns a list of this item only, at the place of the list that it came from.
fn array_of<'a>(list: &SpannedValue<'a>, one: SpannedValue<'a>) -> SpannedValue<'a> {
    Spanned::new(list.span(), DeValue::Array([one].into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of all that is wrong, each with a part of what is said of it.
    #[track_caller]
    fn is_wrong(text: &str, expected: &[(u32, &str)]) {
        let Err(PolicyError::Errors { diagnostics, .. }) = parse(text, Path::new("p.toml")) else { panic!("{text}") };
        let lines: Vec<u32> = diagnostics.iter().map(|diagnostic| diagnostic.span.line).collect();
        assert_eq!(lines, expected.iter().map(|(line, _)| *line).collect::<Vec<_>>(), "{diagnostics:?}");
        for (diagnostic, (_, why)) in diagnostics.iter().zip(expected) {
            assert!(diagnostic.message.contains(why), "{diagnostic}");
        }
    }

    #[test]
    fn policy_errors_have_places() {
        let text = "# comment\n[[allow]]\nwho = \"stranger\"\nsend = [\"seller*\", \"df\"]\n\n[[deny]]\nwho = \"node:n3\"\nkill = \"*\"\n";
        assert_eq!(parse(text, Path::new("p.toml")).unwrap().rules(), 2);
        assert_eq!(parse("", Path::new("p.toml")).unwrap(), Policy::DEFAULT);
        is_wrong("[[allow]]\nwho = \"strangers\"\nsend = \"*\"\n", &[(2, "names nobody")]);
        is_wrong("[[allow]]\nwho = \"stranger\"\n\nsned = \"*\"\n", &[(4, "unknown field `sned`, expected")]);
        is_wrong("[[allow]]\nwho = \"stranger\n", &[(2, "")]);
        is_wrong("[[permit]]\nwho = \"stranger\"\n", &[(1, "unknown field `permit`")]);
        is_wrong("allow = 3\n", &[(1, "invalid type")]);
        is_wrong("[[allow]]\nwho = \"*\"\n", &[(1, "says nothing")]);
        is_wrong("[[allow]]\nwho = []\nsend = \"a\"\n", &[(1, "about nobody")]);
    }

    #[test]
    fn all_that_is_wrong_is_told() {
        is_wrong(
            "[[allow]]\nwho = [\"stranger\", \"amy\", \"bob\"]\nsned = \"*\"\nsend = [\"a\", \"\"]\n\n\
             [[deny]]\nwho = \"*\"\n\n[[deny]]\nsend = \"*\"\n\n[[permit]]\n\n[[quota]]\nwho = \"amy\"\n",
            &[
                (2, "\"amy\" names nobody"),
                (2, "\"bob\" names nobody"),
                (3, "unknown field `sned`"),
                (4, "an empty pattern"),
                (6, "says nothing"),
                (9, "missing field `who`"),
                (12, "unknown field `permit`"),
                (15, "\"amy\" names nobody"),
            ],
        );
        // What cannot be read at all is told of first.
        is_wrong("[[allow]]\nwho = \"stranger\nsend = \"*\nkill = \"amy\"\n", &[(2, ""), (3, "")]);
    }

    #[test]
    fn values_out_of_range_are_found() {
        is_wrong(
            "[[quota]]\nwho = \"*\"\ncall_cpu_ms = 99999\nmemory_bytes = 1000000000\nmessages_per_s = -1\nlifetime_s = 1.5\n\
             [[quota]]\nwho = \"agent:a\"\ncall_cpu_ms = 0\nowner_clones = 5000000000\n",
            &[
                (3, "`call_cpu_ms` of 99999: 1 to 10000 can be set"),
                (4, "`memory_bytes` of 1000000000: 0 to 67108864 can be set"),
                (5, "-1"),
                (6, "floating point"),
                (9, "`call_cpu_ms` of 0"),
                (10, "5000000000"),
            ],
        );
    }
}
