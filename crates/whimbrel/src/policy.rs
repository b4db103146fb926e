//! Policy files: who may do what, as TOML.

use std::path::{Path, PathBuf};

use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_platform::limits::POLICY_BYTES_MAX;
use whimbrel_platform::policy::Policy;

use crate::files::{ReadError, read, wrong};

/// Why a file is no policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is longer than any policy may be.
    #[error("{} is longer than {POLICY_BYTES_MAX} bytes: that is no policy", .0.display())]
    TooLong(PathBuf),
    /// What is wrong with it, and where.
    #[error("{0}")]
    Error(Box<Diagnostic>),
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

fn parse(text: &str, path: &Path) -> Result<Policy, PolicyError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        PolicyError::Error(wrong(text, path, error.span().unwrap_or(0..0), error.message()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_wrong(text: &str, line: u32, why: &str) {
        let Err(PolicyError::Error(diagnostic)) = parse(text, Path::new("p.toml")) else { panic!("{text}") };
        assert_eq!(diagnostic.span.line, line, "{diagnostic}");
        assert!(diagnostic.message.contains(why), "{diagnostic}");
    }

    #[test]
    fn a_policy_is_read_and_what_is_wrong_has_its_place() {
        let text = "# comment\n[[allow]]\nwho = \"stranger\"\nsend = [\"seller*\", \"df\"]\n\n[[deny]]\nwho = \"node:n3\"\nkill = \"*\"\n";
        assert_eq!(parse(text, Path::new("p.toml")).unwrap().rules(), 2);
        assert_eq!(parse("", Path::new("p.toml")).unwrap(), Policy::DEFAULT);
        is_wrong("[[allow]]\nwho = \"strangers\"\nsend = \"*\"\n", 2, "names nobody");
        is_wrong("[[allow]]\nwho = \"stranger\"\n\nsned = \"*\"\n", 4, "unknown field `sned`, expected");
        is_wrong("[[allow]]\nwho = \"stranger\n", 2, "");
        is_wrong("[[permit]]\nwho = \"stranger\"\n", 1, "unknown field `permit`");
    }
}
