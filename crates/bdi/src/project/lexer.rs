//! Lexer of projects. Words include dots and slashes, so that file and class names are one token; the position of a
//! word decides whether it is special.

use whimbrel_acl::Text;

use crate::syntax::ast::Span;
use crate::syntax::{Diagnostic, Diagnostics};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectTokenKind {
    /// A name, a number, a path.
    Word,
    /// `"..."`
    Str,
    /// One of `{ } ( ) [ ] : ; , # =`.
    Sign(u8),
    /// Text that begins no token; reported.
    Unknown,
    /// The end of the text.
    Eof,
}

/// Token.
#[derive(Clone, Copy, Debug)]
pub struct ProjectToken {
    /// Kind.
    pub kind: ProjectTokenKind,
    /// Place in the text.
    pub span: Span,
}

/// Splits the text of a project into tokens; the last one is [`ProjectTokenKind::Eof`]. Faults are left out.
pub fn project_tokens(text: &str, file: &Text) -> Vec<ProjectToken> {
    tokens(text, file, &mut Diagnostics::default())
}

/// Splits `text` into tokens; the last one is [`ProjectTokenKind::Eof`].
pub(super) fn tokens(text: &str, file: &Text, diagnostics: &mut Diagnostics) -> Vec<ProjectToken> {
    let mut lexer = ProjectLexer { text, bytes: text.as_bytes(), at: 0, line: 1, file, diagnostics };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token();
        tokens.push(token);
        if token.kind == ProjectTokenKind::Eof {
            return tokens;
        }
    }
}

struct ProjectLexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    file: &'a Text,
    diagnostics: &'a mut Diagnostics,
}

impl ProjectLexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn error(&mut self, span: Span, message: String, label: &str, help: &str) {
        self.diagnostics.push(Diagnostic::error(self.file, span, message, label).with_help(help));
    }

    fn token(&mut self) -> ProjectToken {
        self.skip_blank();
        let (start, line) = (self.at, self.line);
        let kind = match self.byte(0) {
            0 if self.at >= self.bytes.len() => ProjectTokenKind::Eof,
            b'"' => self.string(),
            sign @ (b'{' | b'}' | b'(' | b')' | b'[' | b']' | b':' | b';' | b',' | b'#' | b'=') => {
                self.at += 1;
                ProjectTokenKind::Sign(sign)
            }
            _ if self.in_word() => {
                while self.in_word() {
                    self.at += 1;
                }
                ProjectTokenKind::Word
            }
            _ => self.unknown(),
        };
        ProjectToken { kind, span: Span { start: start as u32, end: self.at as u32, line } }
    }

    /// Returns true if a word continues here. A colon belongs to it after a drive letter, as in `c:\x`.
    fn in_word(&self) -> bool {
        match self.byte(0) {
            b'/' => !matches!(self.byte(1), b'/' | b'*'),
            b':' => {
                let before = self.bytes.get(..self.at).unwrap_or_default();
                let drive = matches!(before, [.., other, letter] if letter.is_ascii_alphabetic() && other.is_ascii_whitespace());
                drive && matches!(self.byte(1), b'/' | b'\\') && self.byte(2) != b'/'
            }
            byte => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'\\' | b'-' | b'$' | b'+'),
        }
    }

    fn skip_blank(&mut self) {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r', _) => self.at += 1,
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.byte(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => self.skip_comment(),
                _ => return,
            }
        }
    }

    fn skip_comment(&mut self) {
        let (start, line) = (self.at as u32, self.line);
        self.at += 2;
        while self.at < self.bytes.len() {
            if self.byte(0) == b'*' && self.byte(1) == b'/' {
                self.at += 2;
                return;
            }
            self.line += u32::from(self.byte(0) == b'\n');
            self.at += 1;
        }
        let span = Span { start, end: start + 2, line };
        self.error(span, "this comment is not closed".to_owned(), "begins here", "close it with `*/`");
    }

    fn string(&mut self) -> ProjectTokenKind {
        let start = self.at as u32;
        self.at += 1;
        loop {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return ProjectTokenKind::Str;
                }
                b'\\' if !matches!(self.byte(1), b'\n' | b'\r') && self.at + 1 < self.bytes.len() => {
                    self.at += 1;
                    self.skip_character();
                }
                b'\n' | b'\r' => break,
                0 if self.at >= self.bytes.len() => break,
                _ => self.at += 1,
            }
        }
        let span = Span { start, end: self.at as u32, line: self.line };
        self.error(span, "this string is not closed".to_owned(), "no closing `\"` on this line", "close it with `\"`");
        ProjectTokenKind::Unknown
    }

    fn skip_character(&mut self) {
        let length = self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        self.at += length;
    }

    fn unknown(&mut self) -> ProjectTokenKind {
        let start = self.at;
        let character = self.text.get(start..).and_then(|rest| rest.chars().next()).unwrap_or('?');
        self.skip_character();
        let span = Span { start: start as u32, end: self.at as u32, line: self.line };
        let message = format!("unexpected character `{}`", character.escape_debug());
        self.error(span, message, "not in a project", "comments begin with `//`; texts stand in quotes");
        ProjectTokenKind::Unknown
    }
}
