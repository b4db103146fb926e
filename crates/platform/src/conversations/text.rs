//! Values as text of bounded length.

use std::fmt::{self, Write};

use whimbrel_acl::Value;

/// Returns a value as AgentSpeak writes it, with this number of characters at most, and `…` if there were more; an
/// empty text for null.
pub fn shortened(content: &Value, chars_max: usize) -> String {
    let mut short = Short { text: String::new(), left: chars_max };
    if !matches!(content, Value::Null) {
        let _ = write!(short, "{content}");
    }
    short.text
}

struct Short {
    text: String,
    left: usize,
}

impl Write for Short {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let count = piece.chars().count();
        self.text.extend(piece.chars().take(self.left));
        if count > self.left {
            self.text.push('…');
            // Stop, so that a large value is not written in vain.
            return Err(fmt::Error);
        }
        self.left -= count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_contents_are_cut() {
        let long = shortened(&Value::from("é".repeat(2_000).as_str()), 2_000);
        assert_eq!(long.chars().count(), 2_001);
        assert!(long.ends_with('…'));
        assert_eq!(shortened(&Value::from("short"), 2_000), "\"short\"");
        assert_eq!(shortened(&Value::Null, 2_000), "");
    }
}
