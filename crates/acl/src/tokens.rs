//! The tokens that FIPA's string encoding and FIPA SL have in common.
//= fipa00070 2.3
//= fipa00008 2.1

use std::borrow::Cow;

use crate::codec::{DecodeError, DecodeErrorKind};

/// A token, and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FipaToken<'a> {
    pub at: usize,
    pub kind: TokenKind<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind<'a> {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `"..."`, with its escapes resolved.
    Literal(Cow<'a, str>),
    /// `#n"...`: n bytes, which need not be text.
    Bytes(&'a [u8]),
    /// Anything else up to white space or a bracket: a word, number, time, keyword or variable.
    Bare(&'a str),
    /// The end of the input.
    End,
}

impl TokenKind<'_> {
    /// Returns the token as an error message shows it.
    pub fn describe(&self) -> String {
        match self {
            Self::Open => "`(`".to_owned(),
            Self::Close => "`)`".to_owned(),
            Self::Literal(_) => "a quoted string".to_owned(),
            Self::Bytes(_) => "a byte-length-encoded string".to_owned(),
            Self::Bare(text) => format!("`{}`", text.chars().take(40).collect::<String>()),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Reads tokens one after another. After an error it is at the input's end.
#[derive(Clone, Debug)]
pub(crate) struct FipaTokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Checks for white space: everything up to the blank.
fn is_space(byte: u8) -> bool {
    byte <= b' '
}

/// Checks whether a byte ends a bare token.
fn ends_bare(byte: u8) -> bool {
    is_space(byte) || byte == b'(' || byte == b')'
}

impl<'a> FipaTokens<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the tokens of a document, which may begin with a byte order mark.
    pub fn of_document(bytes: &'a [u8]) -> Self {
        Self { bytes, at: if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 } }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Returns the next token without reading on.
    pub fn peek(&self) -> Result<FipaToken<'a>, DecodeError> {
        self.clone().next()
    }

    /// Reads the next token.
    pub fn next(&mut self) -> Result<FipaToken<'a>, DecodeError> {
        self.at += self.rest().iter().take_while(|byte| is_space(**byte)).count();
        let at = self.at;
        let kind = match self.rest() {
            [] => TokenKind::End,
            [b'(', ..] => self.take(1, TokenKind::Open),
            [b')', ..] => self.take(1, TokenKind::Close),
            [b'"', ..] => TokenKind::Literal(self.literal()?),
            [b'#', rest @ ..] => match byte_length(rest) {
                Some((digits, length)) => TokenKind::Bytes(self.byte_string(digits, length)?),
                None => TokenKind::Bare(self.bare()?),
            },
            _ => TokenKind::Bare(self.bare()?),
        };
        Ok(FipaToken { at, kind })
    }

    fn take(&mut self, count: usize, kind: TokenKind<'a>) -> TokenKind<'a> {
        self.at += count;
        kind
    }

    fn bare(&mut self) -> Result<&'a str, DecodeError> {
        let rest = self.rest();
        let length = rest.iter().position(|byte| ends_bare(*byte)).unwrap_or(rest.len());
        let text = utf8(rest.get(..length).unwrap_or_default(), self.at)?;
        self.at += length;
        Ok(text)
    }

    /// `#` digits `"` and as many bytes as the digits say.
    //= fipa00070 2.3 ByteLengthEncodedString
    fn byte_string(&mut self, digits: usize, length: usize) -> Result<&'a [u8], DecodeError> {
        let start = self.at + 1 + digits + 1;
        let taken = start.checked_add(length).and_then(|end| self.bytes.get(start..end));
        let Some(bytes) = taken else {
            return Err(DecodeError::new(self.bytes.len(), DecodeErrorKind::Truncated("a byte-length-encoded string")));
        };
        self.at = start + length;
        Ok(bytes)
    }

    /// `"` ... `"`, in which only the quote is escaped.
    //= fipa00070 2.3 StringLiteral
    fn literal(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        let start = self.at + 1;
        let inside = self.bytes.get(start..).unwrap_or_default();
        let mut escaped = false;
        let mut at = 0;
        loop {
            match inside.get(at) {
                None => {
                    return Err(DecodeError::new(self.bytes.len(), DecodeErrorKind::Truncated("a quoted string")));
                }
                Some(b'\\') if inside.get(at + 1) == Some(&b'"') => {
                    escaped = true;
                    at += 2;
                }
                Some(b'"') => break,
                Some(_) => at += 1,
            }
        }
        let text = utf8(inside.get(..at).unwrap_or_default(), start)?;
        self.at = start + at + 1;
        Ok(if escaped { Cow::Owned(text.replace("\\\"", "\"")) } else { Cow::Borrowed(text) })
    }
}

/// Returns the digits' number and the length they say, if a byte-length-encoded string begins here, after `#`.
fn byte_length(rest: &[u8]) -> Option<(usize, usize)> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || rest.get(digits) != Some(&b'"') {
        return None;
    }
    let text = std::str::from_utf8(rest.get(..digits)?).ok()?;
    // A count beyond 64 bits exceeds any input.
    Some((digits, text.parse().unwrap_or(usize::MAX)))
}

/// Returns a token's text, however it is written.
pub(crate) fn text_of(token: FipaToken<'_>, expected: &'static str) -> Result<String, DecodeError> {
    match token.kind {
        TokenKind::Bare(text) => Ok(text.to_owned()),
        TokenKind::Literal(text) => Ok(text.into_owned()),
        TokenKind::Bytes(bytes) => Ok(utf8(bytes, token.at)?.to_owned()),
        other => Err(DecodeError::expected(token.at, expected, other.describe())),
    }
}

/// Bytes as text.
pub(crate) fn utf8(bytes: &[u8], at: usize) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|error| DecodeError::new(at + error.valid_up_to(), DecodeErrorKind::NotUtf8))
}

/// Writes a quoted string; one that quoting cannot carry (its end would be taken for an escaped quote) by its length.
pub(crate) fn write_literal(out: &mut Vec<u8>, text: &str) {
    if text.ends_with('\\') {
        out.extend_from_slice(format!("#{}\"", text.len()).as_bytes());
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(b'"');
}

/// Checks whether `text` is one bare token as it stands.
pub(crate) fn is_bare(text: &str) -> bool {
    let bytes = text.as_bytes();
    !matches!(bytes.first(), None | Some(b'"' | b'#')) && !bytes.iter().any(|byte| ends_bare(*byte))
}

/// Checks whether `text` is a word of FIPA's string encoding.
//= fipa00070 2.3 Word
pub(crate) fn is_word(text: &str) -> bool {
    is_bare(text) && !matches!(text.as_bytes().first(), Some(b'0'..=b'9' | b'-' | b'@'))
}

/// Checks whether `text` is a whole number: an optional sign, and digits.
pub(crate) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks whether `text` is a number with a fraction or an exponent.
//= fipa00070 2.3 Float
pub(crate) fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0,
        None => exponent.is_some() && !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_fits && exponent.is_none_or(is_integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind<'_>> {
        let mut tokens = FipaTokens::new(text.as_bytes());
        let mut kinds = Vec::new();
        loop {
            match tokens.next().expect("tokens").kind {
                TokenKind::End => return kinds,
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn tokens_are_told_apart() {
        use TokenKind::{Bare, Bytes, Close, Literal, Open};
        assert_eq!(kinds("(a :b)"), [Open, Bare("a"), Bare(":b"), Close]);
        assert_eq!(kinds(r#""a\"b\c""#), [Literal(r#"a"b\c"#.into())]);
        assert_eq!(kinds("#3\"a b)"), [Bytes(b"a b"), Close]);
        assert_eq!(kinds("# #x a\"b"), [Bare("#"), Bare("#x"), Bare("a\"b")]);
    }

    #[test]
    fn truncated_token_is_reported() {
        for text in ["\"abc", "\"abc\\\"", "#4\"abc", "#99999999999999999999999\"a"] {
            let error = FipaTokens::new(text.as_bytes()).next().expect_err("cut off");
            assert!(matches!(error.kind, DecodeErrorKind::Truncated(_)), "{text}: {error}");
            assert_eq!(error.offset, text.len());
        }
        let error = FipaTokens::new(b"  ab\xff").next().expect_err("no text");
        assert_eq!((error.offset, error.kind), (4, DecodeErrorKind::NotUtf8));
    }

    #[test]
    fn literals_come_back() {
        for text in ["", "a", "\"", "\\", "\\\"", "a\\", "a\"b\"", "\\\\\"", "é\n"] {
            let mut written = Vec::new();
            write_literal(&mut written, text);
            let token = FipaTokens::new(&written).next().expect("a token");
            let read = match token.kind {
                TokenKind::Literal(text) => text.into_owned(),
                TokenKind::Bytes(bytes) => String::from_utf8(bytes.to_vec()).expect("text"),
                other => panic!("{other:?}"),
            };
            assert_eq!(read, text);
        }
    }

    #[test]
    fn numbers_are_told_from_words() {
        assert!(["1.0", ".5", "5.", "1e3", "-2.5E-7", "+.1"].iter().all(|text| is_float(text)));
        assert!(["1", ".", "e3", "1e", "1.0.0", "a", "-", "1e1.5"].iter().all(|text| !is_float(text)));
        assert!(["0", "-12", "+7"].iter().all(|text| is_integer(text)));
        assert!(["", "-", "1.0", "x"].iter().all(|text| !is_integer(text)));
        assert!(["a", "a-1", "fipa-sl0", "x:y", "http://h:1/acc", "+a"].iter().all(|text| is_word(text)));
        assert!(["", "1a", "-a", "@a", "#a", "a b", "a(", "\"a"].iter().all(|text| !is_word(text)));
    }
}
