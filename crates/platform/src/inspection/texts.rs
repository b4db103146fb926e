//! Texts for people, none of them too long, nor all of them together.

use std::fmt::{self, Display, Write};

use crate::limits::{INSPECTION_BYTES_MAX, INSPECTION_TEXT_BYTES_MAX};

/// What ends a text that was cut.
const CUT: &str = "...";
/// What each text costs besides its bytes.
const EACH_BYTES: usize = 16;

/// Makes texts as long as there is room for them.
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
    /// Whether there is no room for more.
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// As a text, cut if it is too long: no longer is written than is shown.
    pub fn of(&mut self, what: impl Display) -> String {
        let mut bounded = Bounded { text: String::new(), bytes_max: INSPECTION_TEXT_BYTES_MAX.min(self.left) };
        if write!(bounded, "{what}").is_err() {
            bounded.text.push_str(CUT);
        }
        self.left = self.left.saturating_sub(bounded.text.len() + EACH_BYTES);
        bounded.text
    }
}

/// Takes so many bytes, and then no more.
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

    /// Says so often "ä" that nobody could wait for the end of it.
    struct Endless;

    impl Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("ä")?;
            }
        }
    }

    #[test]
    fn no_text_is_too_long_nor_all_of_them_together() {
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
