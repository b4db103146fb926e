//! Patterns of names.

use std::fmt;

use crate::limits::POLICY_PATTERN_BYTES_MAX;

/// Pattern of names: `*` stands for any text, the empty one included; everything else for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Box<str>);

/// Reason why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Empty text.
    #[error("an empty pattern matches nothing: write `*` for anything")]
    Empty,
    /// Text longer than [`POLICY_PATTERN_BYTES_MAX`].
    #[error("a pattern of {0} bytes: at most {POLICY_PATTERN_BYTES_MAX}")]
    TooLong(usize),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// The text is empty, or too long.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        match text.len() {
            0 => Err(PatternError::Empty),
            1..=POLICY_PATTERN_BYTES_MAX => Ok(Self(text.into())),
            long => Err(PatternError::TooLong(long)),
        }
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the pattern matches any name that begins so.
    pub fn may_begin(&self, beginning: &str) -> bool {
        match self.0.split_once('*') {
            Some((fixed, _)) => beginning.starts_with(fixed) || fixed.starts_with(beginning),
            None => self.0.starts_with(beginning),
        }
    }

    /// Returns true if a name fits.
    ///
    /// At worst this takes time proportional to the product of both lengths. A star gives back one character at a time,
    /// and only the last star does.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // Place of the last star, and how far into the name it reaches.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(byte) if name.get(n) == Some(byte) => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((at, reached)) = star else { return false };
                    star = Some((at, reached + 1));
                    p = at + 1;
                    n = reached + 1;
                }
            }
        }
        pattern.get(p..).is_none_or(|rest| rest.iter().all(|byte| *byte == b'*'))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, fits: &[&str], does_not: &[&str]) {
        let pattern = Pattern::new(pattern).unwrap();
        for name in fits {
            assert!(pattern.matches(name), "{pattern} fits {name}");
        }
        for name in does_not {
            assert!(!pattern.matches(name), "{pattern} does not fit {name}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        check("*", &["", "a", "weather/berlin"], &[]);
        check("seller", &["seller"], &["", "seller1", "a seller", "sellers"]);
        check("seller*", &["seller", "seller12"], &["reseller", ""]);
        check("*/out", &["a/out", "/out", "a/b/out"], &["out", "a/outer"]);
        check("a*b*c", &["abc", "a1b2c", "abbcc", "abcbc"], &["ab", "acb", "abcd"]);
        check("**", &["", "x"], &[]);
    }

    #[test]
    fn hostile_patterns_cost_little() {
        let pattern = Pattern::new(&"*a".repeat(POLICY_PATTERN_BYTES_MAX / 2)).unwrap();
        assert!(!pattern.matches(&"a".repeat(POLICY_PATTERN_BYTES_MAX / 2 - 1)));
        assert!(!pattern.matches(&"b".repeat(10_000)));
        assert_eq!(Pattern::new(&"a".repeat(POLICY_PATTERN_BYTES_MAX + 1)), Err(PatternError::TooLong(256)));
    }

    /// Returns the meaning of a pattern, computed in another way.
    fn model(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|taken| model(rest, &name[taken..])),
            Some((byte, rest)) => name.first() == Some(byte) && model(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn patterns_mean_what_the_model_says(pattern in "[ab*]{1,8}", name in "[ab]{0,10}") {
            let fits = Pattern::new(&pattern).unwrap().matches(&name);
            prop_assert_eq!(fits, model(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
