//! Text from outside, made safe to show: on a terminal, in a pipe, in a log.

use std::borrow::Cow;

use crate::limits::{LOGGED_TEXT_BYTES_MAX, PRINTED_TEXT_BYTES_MAX, SHOWN_WORD_BYTES_MAX};

/// Returns true if a character can act on a terminal, or on a reader of lines. These are controls, line ends, changes
/// of text direction, and characters without width. Joiners of emoji and scripts (U+200C, U+200D) act on neither.
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

/// Escapes a text of several lines as [`harmless`] does; tabs stay. Further lines are indented, so that none is taken
/// for another program's line.
pub fn tame(text: &str) -> String {
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let line = |line: &str| line.split('\t').map(harmless).collect::<Vec<_>>().join("\t");
    // A trailing line end stays: the next output begins a line of its own.
    let (lines, end) = text.strip_suffix('\n').map_or((text, ""), |lines| (lines, "\n"));
    lines.split('\n').map(line).collect::<Vec<_>>().join("\n  ") + end
}

/// Cuts a text to this many bytes, and adds how many more there are.
pub fn shortened(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text.into();
    }
    let at = text.floor_char_boundary(bytes);
    format!("{}… ({} bytes more)", text.get(..at).unwrap_or_default(), text.len() - at).into()
}

/// Cuts the middle out of each word of a text that is longer than an error shows: names and other words that somebody
/// chose. The blanks between words stay.
pub fn with_short_words(text: &str) -> Cow<'_, str> {
    let is_long = |word: &str| word.len() > SHOWN_WORD_BYTES_MAX;
    if !text.split(char::is_whitespace).any(is_long) {
        return text.into();
    }
    let cut = |word: &str| {
        let (head, tail) = (SHOWN_WORD_BYTES_MAX / 2, SHOWN_WORD_BYTES_MAX / 4);
        let head = word.get(..word.floor_char_boundary(head)).unwrap_or_default();
        let tail = word.get(word.ceil_char_boundary(word.len() - tail)..).unwrap_or_default();
        format!("{head}… ({} bytes) …{tail}", word.len() - head.len() - tail.len())
    };
    let words = text.split_inclusive(char::is_whitespace).map(|word| match is_long(word.trim_end()) {
        true => format!("{}{}", cut(word.trim_end()), word.get(word.trim_end().len()..).unwrap_or_default()),
        false => word.to_owned(),
    });
    words.collect::<String>().into()
}

/// Makes a line safe to show that an agent prints: cut, and escaped for pipes and files, too.
pub fn printable(text: &str) -> String {
    tame(&shortened(text, PRINTED_TEXT_BYTES_MAX))
}

/// Makes a line safe to show that a node logs of an agent.
pub fn loggable(text: &str) -> String {
    tame(&shortened(text, LOGGED_TEXT_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_word_keeps_both_ends() {
        let name = format!("b{}é", "o".repeat(5_000));
        let shown = with_short_words(&format!("no agent\nnamed {name}: ask")).into_owned();
        let wanted = format!("no agent\nnamed b{}… (4812 bytes) …{}é: ask", "o".repeat(127), "o".repeat(61));
        assert_eq!(shown, wanted);
        let whole = "a ".repeat(5_000);
        assert_eq!(with_short_words(&whole), whole);
    }

    #[test]
    fn line_breaks_and_escapes_are_escaped() {
        assert_eq!(harmless("a\nb\u{1b}[31m\u{202e}c"), "a\\nb\\u{1b}[31m\\u{202e}c");
        assert_eq!(harmless("olá 👩\u{200d}🚀"), "olá 👩\u{200d}🚀");
    }

    #[test]
    fn text_of_others_is_tame() {
        assert_eq!(tame("plain\ttext é"), "plain\ttext é");
        assert_eq!(tame("one\ntwo\n"), "one\n  two\n");
        let tamed = tame("a\u{1b}[2J\u{1b}]0;title\u{7}\n[bank] paid\r");
        assert_eq!(tamed, "a\\u{1b}[2J\\u{1b}]0;title\\u{7}\n  [bank] paid\\r");
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("aaaé and more", 4), "aaa… (11 bytes more)");
    }
}
