//! Lexer. Longest match, as in Jason: a name includes its inner dots, so a full stop ends a clause only if no letter
//! or digit follows it.

use whimbrel_acl::Text;

use super::ast::Span;
use super::diagnostics::{Diagnostic, Diagnostics};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tok {
    /// A name: `abc`, `.print`, `math.abs`, `'Any text'`.
    Atom,
    /// `Abc`
    Var,
    /// `_` or `_abc`: every occurrence is another variable.
    Anonymous,
    /// `_12` or `_12Abc`: an anonymous variable that was printed; occurrences of one name are one variable.
    Numbered,
    /// A number.
    Number,
    /// `"..."`
    Str,
    /// `true`
    True,
    /// `false`
    False,
    /// `not`
    Not,
    /// `~`
    Tilde,
    /// `div`
    Div,
    /// `mod`
    Mod,
    /// `begin`
    Begin,
    /// `end`
    End,
    /// `@`
    At,
    /// `if`
    If,
    /// `else`
    Else,
    /// `elif`
    Elif,
    /// `for`
    For,
    /// `while`
    While,
    /// `|&|`
    ForkAnd,
    /// `|||`
    ForkOr,
    /// `<-`
    Arrow,
    /// `<:`
    GoalCondition,
    /// `:-`
    RuleSign,
    /// `::`
    NsSign,
    /// `{`
    LeftBrace,
    /// `}`
    RightBrace,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `[`
    LeftBracket,
    /// `]`
    RightBracket,
    /// `.` at a clause's end.
    Dot,
    /// `!`
    Bang,
    /// `!!`
    BangBang,
    /// `:`
    Colon,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `^`
    Caret,
    /// `?`
    Question,
    /// `;`
    Semicolon,
    /// `,`
    Comma,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// `==`
    EqualEqual,
    /// `\==`
    NotEqual,
    /// `=`
    Equal,
    /// `=..`
    Univ,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `**`
    StarStar,
    /// `|`
    Bar,
    /// `&`
    Ampersand,
    /// Text that begins no token, or does not end; reported by the lexer.
    Unknown,
    /// The end of the text.
    Eof,
}

/// Token: its kind and place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Kind.
    pub kind: Tok,
    /// Place in the source.
    pub span: Span,
}

/// Tokens of a text, the last one [`Tok::Eof`].
pub struct Tokens {
    /// Tokens.
    pub tokens: Vec<Token>,
    /// Greatest number among its numbered variables; anonymous variables are numbered from above it.
    pub greatest_number: u32,
}

/// Splits `text` from byte `start` on, which is on `line`, into tokens, and reports faulty text.
pub fn tokens(text: &str, start: usize, line: u32, file: &Text, diagnostics: &mut Diagnostics) -> Tokens {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: start, line, file, diagnostics, greatest_number: 0 };
    let mut tokens = Vec::with_capacity((text.len() - start.min(text.len())) / 4 + 1);
    loop {
        let token = lexer.token();
        tokens.push(token);
        if token.kind == Tok::Eof {
            return Tokens { tokens, greatest_number: lexer.greatest_number };
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    file: &'a Text,
    diagnostics: &'a mut Diagnostics,
    greatest_number: u32,
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Lexer<'_> {
    /// Returns the byte `ahead` of here; 0 past the end.
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn span(&self, start: usize, line: u32) -> Span {
        Span { start: start as u32, end: self.at as u32, line }
    }

    fn error(&mut self, span: Span, message: &str, label: &str, help: &str) {
        let help = (!help.is_empty()).then(|| help.to_owned());
        let diagnostic = Diagnostic { help, ..Diagnostic::error(self.file, span, message, label) };
        self.diagnostics.push(diagnostic);
    }

    fn token(&mut self) -> Token {
        self.skip_blank();
        let (start, line) = (self.at, self.line);
        let kind = if self.at >= self.bytes.len() { Tok::Eof } else { self.kind() };
        Token { kind, span: self.span(start, line) }
    }

    fn skip_blank(&mut self) {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' if self.byte(1) == b'/' => {
                    while self.at < self.bytes.len() && !matches!(self.byte(0), b'\n' | b'\r') {
                        self.at += 1;
                    }
                }
                b'/' if self.byte(1) == b'*' => self.skip_comment(),
                _ => return,
            }
        }
    }

    fn skip_comment(&mut self) {
        let (start, line) = (self.at, self.line);
        self.at += 2;
        while self.at < self.bytes.len() {
            match self.byte(0) {
                b'*' if self.byte(1) == b'/' => {
                    self.at += 2;
                    return;
                }
                b'\n' => self.line += 1,
                _ => {}
            }
            self.at += 1;
        }
        let span = Span { start: start as u32, end: start as u32 + 2, line };
        self.error(span, "this comment is not closed", "begins here", "close it with `*/`");
    }

    fn kind(&mut self) -> Tok {
        match self.byte(0) {
            b'a'..=b'z' => self.name(),
            b'A'..=b'Z' => {
                self.skip_name();
                Tok::Var
            }
            b'_' => self.anonymous(),
            b'0'..=b'9' => self.number(),
            b'.' => self.dot(),
            b'"' => self.string(),
            b'\'' => self.quoted(),
            _ => self.sign(),
        }
    }

    fn skip_name(&mut self) {
        while is_name_byte(self.byte(0)) {
            self.at += 1;
        }
    }

    /// Reads a name with its inner dots, or a keyword.
    fn name(&mut self) -> Tok {
        let start = self.at;
        self.skip_dotted();
        match self.bytes.get(start..self.at).unwrap_or_default() {
            b"true" => Tok::True,
            b"false" => Tok::False,
            b"not" => Tok::Not,
            b"div" => Tok::Div,
            b"mod" => Tok::Mod,
            b"begin" => Tok::Begin,
            b"end" => Tok::End,
            b"if" => Tok::If,
            b"else" => Tok::Else,
            b"elif" => Tok::Elif,
            b"for" => Tok::For,
            b"while" => Tok::While,
            _ => Tok::Atom,
        }
    }

    fn skip_dotted(&mut self) {
        loop {
            self.skip_name();
            if self.byte(0) == b'.' && is_name_byte(self.byte(1)) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn anonymous(&mut self) -> Tok {
        let start = self.at;
        self.skip_name();
        let name = self.bytes.get(start + 1..self.at).unwrap_or_default();
        let digits = name.iter().take_while(|byte| byte.is_ascii_digit());
        let mut number: Option<u32> = None;
        for digit in digits {
            let digit = u32::from(digit - b'0');
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
        }
        match number {
            Some(number) => {
                self.greatest_number = self.greatest_number.max(number.min(u32::MAX / 2));
                Tok::Numbered
            }
            None => Tok::Anonymous,
        }
    }

    fn skip_digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Skips the exponent of a number, if one follows.
    fn skip_exponent(&mut self) {
        if !matches!(self.byte(0), b'e' | b'E') {
            return;
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if self.byte(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.skip_digits();
        }
    }

    fn number(&mut self) -> Tok {
        self.skip_digits();
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.skip_digits();
        }
        self.skip_exponent();
        Tok::Number
    }

    /// Reads a full stop, `.5`, or `.name`; the longer of the latter two.
    fn dot(&mut self) -> Tok {
        if !is_name_byte(self.byte(1)) {
            self.at += 1;
            return Tok::Dot;
        }
        let start = self.at;
        let mut number_end = start;
        if self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.skip_digits();
            self.skip_exponent();
            number_end = self.at;
            self.at = start;
        }
        self.at += 1;
        self.skip_dotted();
        if number_end >= self.at {
            self.at = number_end;
            return Tok::Number;
        }
        Tok::Atom
    }

    fn string(&mut self) -> Tok {
        let (start, line) = (self.at, self.line);
        self.at += 1;
        loop {
            match self.byte(0) {
                b'"' => {
                    self.at += 1;
                    return Tok::Str;
                }
                b'\\' => self.escape(),
                0 if self.at >= self.bytes.len() => break,
                b'\n' | b'\r' => break,
                _ => self.at += 1,
            }
        }
        let span = self.span(start, line);
        let help = "close it with `\"`; a string ends on the line it began on, `\\n` in it is a new line";
        self.error(span, "this string is not closed", "no closing `\"` on this line", help);
        Tok::Unknown
    }

    /// Reads a backslash in a string with the character that it escapes.
    fn escape(&mut self) {
        let start = self.at;
        match self.byte(1) {
            b'n' | b't' | b'b' | b'r' | b'f' | b'\\' | b'\'' | b'"' | b'0'..=b'7' => self.at += 2,
            b'\n' | b'\r' => self.at += 1,
            0 if self.at + 1 >= self.bytes.len() => self.at += 1,
            _ => {
                self.at += 1;
                self.skip_character();
                let span = self.span(start, self.line);
                let help =
                    "the escapes are \\n \\t \\b \\r \\f \\\\ \\' \\\" and octal numbers; write a backslash as `\\\\`";
                self.error(span, "unknown escape in a string", "not an escape", help);
            }
        }
    }

    /// Reads `'any text'`: the quotes are part of the name.
    fn quoted(&mut self) -> Tok {
        let (start, line) = (self.at, self.line);
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.byte(0) {
                b'\'' => {
                    self.at += 1;
                    return Tok::Atom;
                }
                b'\n' => self.line += 1,
                _ => {}
            }
            self.at += 1;
        }
        let span = Span { start: start as u32, end: start as u32 + 1, line };
        self.error(span, "this quoted name is not closed", "no closing `'` after this", "close it with `'`");
        Tok::Unknown
    }

    fn skip_character(&mut self) {
        let length = self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        self.at += length;
    }

    fn sign(&mut self) -> Tok {
        let (kind, length) = match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'|', b'&', b'|') => (Tok::ForkAnd, 3),
            (b'|', b'|', b'|') => (Tok::ForkOr, 3),
            (b'=', b'.', b'.') => (Tok::Univ, 3),
            (b'\\', b'=', b'=') => (Tok::NotEqual, 3),
            (b'<', b'-', _) => (Tok::Arrow, 2),
            (b'<', b':', _) => (Tok::GoalCondition, 2),
            (b'<', b'=', _) => (Tok::LessEqual, 2),
            (b'>', b'=', _) => (Tok::GreaterEqual, 2),
            (b'=', b'=', _) => (Tok::EqualEqual, 2),
            (b':', b'-', _) => (Tok::RuleSign, 2),
            (b':', b':', _) => (Tok::NsSign, 2),
            (b'!', b'!', _) => (Tok::BangBang, 2),
            (b'*', b'*', _) => (Tok::StarStar, 2),
            (first, _, _) => (single(first), 1),
        };
        if kind == Tok::Unknown {
            self.unknown();
        } else {
            self.at += length;
        }
        kind
    }

    fn unknown(&mut self) {
        let start = self.at;
        let character = self.text.get(start..).and_then(|rest| rest.chars().next()).unwrap_or('?');
        self.skip_character();
        let help = match character {
            '#' | '%' => "a comment begins with `//`",
            '\\' => "different is `\\==`",
            '\u{201c}' | '\u{201d}' => "a string is written in straight quotes: \"...\"",
            '\u{2018}' | '\u{2019}' => "a quoted name is written in straight quotes: '...'",
            _ if character.is_alphabetic() => "names have ASCII letters only; put other names in quotes: 'née'",
            _ => "",
        };
        let span = self.span(start, self.line);
        let message = format!("unexpected character `{}`", character.escape_debug());
        self.error(span, &message, "begins no term", help);
    }
}

fn single(byte: u8) -> Tok {
    match byte {
        b'~' => Tok::Tilde,
        b'@' => Tok::At,
        b'{' => Tok::LeftBrace,
        b'}' => Tok::RightBrace,
        b'(' => Tok::LeftParen,
        b')' => Tok::RightParen,
        b'[' => Tok::LeftBracket,
        b']' => Tok::RightBracket,
        b'!' => Tok::Bang,
        b':' => Tok::Colon,
        b'+' => Tok::Plus,
        b'-' => Tok::Minus,
        b'^' => Tok::Caret,
        b'?' => Tok::Question,
        b';' => Tok::Semicolon,
        b',' => Tok::Comma,
        b'<' => Tok::Less,
        b'>' => Tok::Greater,
        b'=' => Tok::Equal,
        b'*' => Tok::Star,
        b'/' => Tok::Slash,
        b'|' => Tok::Bar,
        b'&' => Tok::Ampersand,
        _ => Tok::Unknown,
    }
}
