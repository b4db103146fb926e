//! Text from anybody, made safe to show: on a terminal, in a pipe, in a log.

/// True if a character can act on a terminal, or on a reader of lines: controls, line ends, changes of text direction,
/// and characters without width. Joiners of emoji and scripts (U+200C, U+200D) act on neither.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes a text to one line without characters that terminals act upon.
pub fn harmless(text: &str) -> String {
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let escape = |c: char| if is_harmful(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_and_escapes_are_escaped() {
        assert_eq!(harmless("a\nb\u{1b}[31m\u{202e}c"), "a\\nb\\u{1b}[31m\\u{202e}c");
        assert_eq!(harmless("olá 👩\u{200d}🚀"), "olá 👩\u{200d}🚀");
    }
}
