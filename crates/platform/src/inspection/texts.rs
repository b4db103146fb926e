//! Texts for people, bounded each and all together.

use std::fmt::{self, Display, Write};

use crate::limits::{INSPECTION_BYTES_MAX, INSPECTION_TEXT_BYTES_MAX};

/// Mark at the end of a text that was cut.
const CUT: &str = "...";
/// Bytes that each text counts besides its own.
const EACH_BYTES: usize = 16;

/// Writer of texts as long as there is room for them.
#[derive(Debug)]
pub struct Texts {
    left: usize,
}

impl Default for Texts {
    fn default() -> Self {
        Self { left: INSPECTION_BYTES_MAX }
    }
}

impl Texts {
    /// Returns true if there is no room for more.
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Writes a text, cut if it is too long: no more is written than shown.
    pub fn of(&mut self, what: impl Display) -> String {
        let mut bounded = Bounded { text: String::new(), bytes_max: INSPECTION_TEXT_BYTES_MAX.min(self.left) };
        if write!(bounded, "{what}").is_err() {
            bounded.text.push_str(CUT);
        }
        self.left = self.left.saturating_sub(bounded.text.len() + EACH_BYTES);
        bounded.text
    }
}

/// Writer that takes this number of bytes, and then no more.
struct Bounded {
    text: String,
    bytes_max: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.bytes_max.saturating_sub(self.text.len());
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        let end = (0..=room).rev().find(|end| part.is_char_boundary(*end)).unwrap_or_default();
        self.text.push_str(part.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value that writes "ä" too often to wait for its end.
    struct Endless;

    impl Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("ä")?;
            }
        }
    }

    #[test]
    fn texts_are_bounded_together() {
        let mut texts = Texts::default();
        assert_eq!(texts.of("short"), "short");
        let first = texts.of(Endless);
        assert!(first.ends_with("ä...") && first.len() <= INSPECTION_TEXT_BYTES_MAX + CUT.len(), "{}", first.len());
        let mut bytes = first.len();
        while !texts.is_full() {
            bytes += texts.of(Endless).len();
        }
        assert!(bytes <= INSPECTION_BYTES_MAX + CUT.len() && bytes > INSPECTION_BYTES_MAX * 9 / 10, "{bytes}");
        assert_eq!(texts.of("more"), CUT);
        assert_eq!(texts.of(""), "");
    }
}
