//! Source files decoded to text, in whichever encoding an editor saved them.

use whimbrel_acl::Text;

use super::ast::Span;
use super::diagnostics::Diagnostic;

/// Text of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// Encoding of a file that is not UTF-8, with its first evidence; `None` for UTF-8.
    misread: Option<Misread>,
}

/// Evidence that a file is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Misread {
    encoding: &'static str,
    /// Name of the encoding for `iconv`.
    iconv: &'static str,
    span: Span,
}

/// Characters of the bytes 0x80 to 0x9f in Windows-1252. The bytes above have the characters of their own number.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}',
    '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}',
    '\u{17e}', '\u{178}',
];

fn windows_1252(byte: u8) -> char {
    let odd = byte.checked_sub(0x80).and_then(|place| WINDOWS_1252.get(usize::from(place)));
    odd.copied().unwrap_or(char::from(byte))
}

impl SourceText {
    /// Decodes bytes as UTF-8, or else as Windows-1252, which old editors save. A byte order mark decides, and is
    /// left out.
    pub fn decode(bytes: Vec<u8>) -> Self {
        match bytes.get(..2) {
            Some([0xff, 0xfe]) => return Self::utf_16(&bytes, u16::from_le_bytes),
            Some([0xfe, 0xff]) => return Self::utf_16(&bytes, u16::from_be_bytes),
            _ => {}
        }
        match String::from_utf8(bytes) {
            Ok(text) => match text.strip_prefix('\u{feff}') {
                Some(text) => Self::from(text.to_owned()),
                None => Self::from(text),
            },
            Err(error) => Self::mixed(error.as_bytes()),
        }
    }

    fn mixed(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
        let mut first = None;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                first.get_or_insert(text.len());
            }
            text.extend(chunk.invalid().iter().copied().map(windows_1252));
        }
        let misread =
            first.map(|start| Misread { encoding: "Windows-1252", iconv: "WINDOWS-1252", span: place(&text, start) });
        Self { text, misread }
    }

    fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Self {
        let units = bytes.chunks_exact(2).skip(1).filter_map(|pair| pair.try_into().ok()).map(unit);
        let text: String =
            char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        let misread = Misread { encoding: "UTF-16", iconv: "UTF-16", span: place(&text, 0) };
        Self { text, misread: Some(misread) }
    }

    /// Returns a warning that the file, known as `file`, is not UTF-8; at the first character that shows it.
    pub fn warning(&self, file: &Text) -> Option<Diagnostic> {
        let Misread { encoding, iconv, span } = self.misread?;
        let message = format!("{file} is not UTF-8 from line {} on: it is read as {encoding}", span.line);
        let help = format!("save it as UTF-8, for instance by `iconv -f {iconv} -t UTF-8 {file} > new.asl`");
        Some(Diagnostic::warning(file, span, message, "not UTF-8").with_code("encoding").with_help(help))
    }
}

impl From<String> for SourceText {
    fn from(text: String) -> Self {
        Self { text, misread: None }
    }
}

/// Returns the place of the character at byte `start`.
fn place(text: &str, start: usize) -> Span {
    let (before, after) = text.split_at_checked(start).unwrap_or((text, ""));
    let line = before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1;
    let length = after.chars().next().map_or(0, char::len_utf8);
    Span { start: start as u32, end: (start + length) as u32, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (String, Option<String>) {
        let read = SourceText::decode(bytes.to_vec());
        let warning = read.warning(&Text::from("a.asl")).map(|warning| warning.to_string());
        (read.text, warning)
    }

    #[test]
    fn utf8_gives_no_warning() {
        for text in ["olá €", "\u{feff}olá €"] {
            assert_eq!(read(text.as_bytes()), ("olá €".to_owned(), None));
        }
    }

    #[test]
    fn windows_1252_gives_warning() {
        let (text, warning) = read(b"// a\n// sauda\xe7\xe3o \x80 \x93x\x94\n");
        assert_eq!(text, "// a\n// saudação € “x”\n");
        let said = "a.asl:2: warning: a.asl is not UTF-8 from line 2 on: it is read as Windows-1252";
        assert_eq!(warning.as_deref(), Some(said));
    }

    #[test]
    fn bad_byte_spoils_no_others() {
        assert_eq!(read(b"\xc3\xa9 \xe9 \xc3\xa9").0, "é é é");
        assert_eq!(read(b"cut \xe4\xbd").0, "cut ä½");
    }

    #[test]
    fn utf16_is_known_by_mark() {
        let units: Vec<u16> = "\u{feff}olá\n".encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [little, big] {
            let (text, warning) = read(&bytes);
            assert_eq!(text, "olá\n");
            assert!(warning.is_some_and(|warning| warning.contains("read as UTF-16")));
        }
    }
}
