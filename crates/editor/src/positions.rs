//! Positions in a text: bytes, as the parser counts, and lines with UTF-16 units, as editors count.

use whimbrel_bdi::syntax::ast::Span;

/// Position of a character: line and UTF-16 unit within it, both from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// Line, from 0.
    pub line: u32,
    /// UTF-16 unit in the line, from 0.
    pub unit: u32,
}

/// Beginnings of a text's lines.
#[derive(Clone, Debug, Default)]
pub struct TextLines {
    starts: Vec<usize>,
}

impl TextLines {
    /// Finds the lines of a text. They end with `\n`, `\r\n` or `\r`, as in editors.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            if ends {
                starts.push(at + 1);
            }
        }
        Self { starts }
    }

    /// Returns the position of a byte; within a character, that of the character.
    pub fn position(&self, text: &str, byte: usize) -> TextPosition {
        let byte = floor(text, byte);
        let line = self.starts.partition_point(|start| *start <= byte).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let unit = text.get(start..byte).unwrap_or_default().encode_utf16().count();
        TextPosition { line: line as u32, unit: unit as u32 }
    }

    /// Returns the byte at a position; beyond the end of its line, the end of the line.
    pub fn byte(&self, text: &str, position: TextPosition) -> usize {
        let Some(start) = self.starts.get(position.line as usize).copied() else { return text.len() };
        let end = self.starts.get(position.line as usize + 1).copied().unwrap_or(text.len());
        let line = text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let mut units = 0;
        for (at, character) in line.char_indices() {
            if units + character.len_utf16() as u32 > position.unit {
                return start + at;
            }
            units += character.len_utf16() as u32;
        }
        start + line.len()
    }

    /// Returns the positions of a span's ends.
    pub fn range(&self, text: &str, span: Span) -> (TextPosition, TextPosition) {
        (self.position(text, span.start as usize), self.position(text, span.end.max(span.start) as usize))
    }
}

/// Returns the greatest boundary of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_utf16() {
        let text = "a😀b\r\né\rz";
        let lines = TextLines::of(text);
        let at = |byte| {
            let TextPosition { line, unit } = lines.position(text, byte);
            (line, unit)
        };
        assert_eq!(at(5), (0, 3));
        assert_eq!(at(3), (0, 1));
        assert_eq!(at(8), (1, 0));
        assert_eq!(at(10), (1, 1));
        assert_eq!(at(11), (2, 0));
        assert_eq!(at(99), (2, 1));
    }

    #[test]
    fn positions_and_bytes_agree() {
        let text = "a😀b\r\né\rz\n";
        let lines = TextLines::of(text);
        for (byte, _) in text.char_indices().filter(|(_, c)| !matches!(c, '\n')) {
            assert_eq!(lines.byte(text, lines.position(text, byte)), byte);
        }
        assert_eq!(lines.byte(text, TextPosition { line: 0, unit: 2 }), 1);
        assert_eq!(lines.byte(text, TextPosition { line: 0, unit: 99 }), 6);
        assert_eq!(lines.byte(text, TextPosition { line: 99, unit: 0 }), text.len());
    }
}
