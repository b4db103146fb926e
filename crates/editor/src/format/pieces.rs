//! Pieces of a text: its tokens, and the comments between them.

use whimbrel_bdi::syntax::{Tok, Token};

/// Kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Token.
    Token(Tok),
    /// `// ...`
    LineComment,
    /// `/* ... */`
    BlockComment,
}

/// Token or comment, with what stood before it.
#[derive(Clone, Copy, Debug)]
pub struct TextPiece<'a> {
    /// Kind.
    pub kind: PieceKind,
    /// Text.
    pub text: &'a str,
    /// Ends of lines before it.
    pub newlines: usize,
    /// True if nothing stands between the piece before and this one.
    pub is_adjacent: bool,
    /// Column in which it begins.
    pub column: usize,
}

impl TextPiece<'_> {
    /// Returns what formatting never changes.
    pub fn said(&self) -> (PieceKind, &str) {
        let text = if self.kind == PieceKind::LineComment { self.text.trim_end() } else { self.text };
        (self.kind, text)
    }
}

/// Splits a text into pieces; `tokens` are its tokens.
pub fn pieces<'a>(text: &'a str, tokens: &[Token]) -> Vec<TextPiece<'a>> {
    let mut cutter = Cutter { text, at: 0, newlines: 0, last_end: 0, pieces: Vec::with_capacity(tokens.len()) };
    for token in tokens {
        cutter.blanks_up_to(token.span.start as usize);
        if token.kind != Tok::Eof {
            cutter.cut(PieceKind::Token(token.kind), token.span.end as usize);
        }
    }
    cutter.pieces
}

struct Cutter<'a> {
    text: &'a str,
    at: usize,
    newlines: usize,
    last_end: usize,
    pieces: Vec<TextPiece<'a>>,
}

impl Cutter<'_> {
    /// Takes blanks and comments up to the byte `end`.
    fn blanks_up_to(&mut self, end: usize) {
        while self.at < end {
            let rest = self.text.get(self.at..end).unwrap_or_default();
            if rest.starts_with("//") {
                let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
                self.cut(PieceKind::LineComment, self.at + length);
            } else if rest.starts_with("/*") {
                let length = rest.get(2..).and_then(|inner| inner.find("*/")).map_or(rest.len(), |inner| inner + 4);
                self.cut(PieceKind::BlockComment, self.at + length);
            } else {
                let bytes = rest.as_bytes();
                let is_end = match bytes.first() {
                    Some(b'\n') => true,
                    Some(b'\r') => bytes.get(1) != Some(&b'\n'),
                    _ => false,
                };
                self.newlines += usize::from(is_end);
                self.at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
    }

    fn cut(&mut self, kind: PieceKind, end: usize) {
        let start = self.at;
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        let text = self.text.get(start..end).unwrap_or_default();
        let is_adjacent = start == self.last_end && start > 0;
        self.pieces.push(TextPiece { kind, text, newlines: self.newlines, is_adjacent, column });
        (self.at, self.last_end, self.newlines) = (end, end, 0);
    }
}
