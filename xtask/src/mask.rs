//! Rust source with comments and the insides of literals blanked out, so that the rest can be searched for code.

use std::ops::Range;

/// Returns the same text, line by line and byte by byte, but with spaces in place of comments, strings and characters.
pub fn mask(source: &str) -> String {
    scan(source).out
}

/// Returns the byte ranges of a text's comments, in their order. A line comment ends before its line break.
pub fn comments(source: &str) -> Vec<Range<usize>> {
    scan(source).comments
}

fn scan(source: &str) -> SourceScanner<'_> {
    let mut scan = SourceScanner { rest: source, out: String::with_capacity(source.len()), comments: Vec::new() };
    while let Some(next) = scan.rest.chars().next() {
        let word_before = scan.out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match next {
            '/' if scan.rest.starts_with("//") => scan.comment(scan.rest.find('\n').unwrap_or(scan.rest.len())),
            '/' if scan.rest.starts_with("/*") => scan.comment(block_comment(scan.rest)),
            '"' => scan.blank(1 + string(scan.rest.get(1..).unwrap_or_default())),
            'r' | 'b' | 'c' if !word_before => match prefixed_string(scan.rest) {
                Some(bytes) => scan.blank(bytes),
                None => scan.keep(next),
            },
            '\'' => match character(scan.rest) {
                Some(bytes) => scan.blank(bytes),
                None => scan.keep(next),
            },
            _ => scan.keep(next),
        }
    }
    scan
}

/// Scanner of Rust source.
struct SourceScanner<'a> {
    rest: &'a str,
    out: String,
    comments: Vec<Range<usize>>,
}

impl SourceScanner<'_> {
    fn keep(&mut self, next: char) {
        self.out.push(next);
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
    }

    fn comment(&mut self, bytes: usize) {
        let start = self.out.len();
        self.blank(bytes);
        self.comments.push(start..self.out.len());
    }

    fn blank(&mut self, bytes: usize) {
        let (blanked, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.out.extend(blanked.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

/// Returns the length of the block comment at the start of `text`; block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length of the rest of a string, closing quote included.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a raw, byte or C string or a byte literal at the start of `text`, if there is one.
fn prefixed_string(text: &str) -> Option<usize> {
    let prefix = text.find(|c| !matches!(c, 'r' | 'b' | 'c')).filter(|length| *length <= 2)?;
    let rest = text.get(prefix..)?;
    if !text.get(..prefix)?.contains('r') {
        return match rest.chars().next()? {
            '"' => Some(prefix + 1 + string(rest.get(1..)?)),
            '\'' => Some(prefix + character(rest)?),
            _ => None,
        };
    }
    let hashes = rest.find(|c| c != '#')?;
    let inside = rest.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(prefix + hashes + 1 + length)
}

/// Returns the length of the character literal at the start of `text`; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let inside = text.get(1..)?;
    let first = inside.chars().next()?;
    if first == '\\' {
        // The character after the backslash may be a quote, so the closing quote comes after it.
        let escaped = inside.get(2..)?;
        return Some(escaped.find('\'')? + 4);
    }
    inside.get(first.len_utf8()..)?.starts_with('\'').then(|| first.len_utf8() + 2)
}

/// Returns the line, from 1, that a byte of `text` is in.
pub fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Lines of a text, to look many bytes up.
pub struct LineTable(Vec<usize>);

impl LineTable {
    /// Returns the lines of a text.
    pub fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line, from 1, that a byte is in.
    pub fn line(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let masked = mask(source);
        assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{source}");
        assert_eq!(masked.len(), source.len());
        assert_eq!(masked.lines().count(), source.lines().count());
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("/// doc { \nfn f() {}", "fn f() {}");
    }

    #[test]
    fn comments_are_ranges() {
        let source = "a(\"// no\"); // ä\n/* b */ c";
        assert_eq!(comments(source).into_iter().map(|at| &source[at]).collect::<Vec<_>>(), ["// ä", "/* b */"]);
    }

    #[test]
    fn strings_are_blanked() {
        check(r#"f("a { \" b", x)"#, "f( , x)");
        check(r##"f(r"a\", r#"b " c"#)"##, "f( , )");
        check(r#"f(b"a{", br"b{", c"c{", b'{')"#, "f( , , , )");
        check("f(\"umlaut ä {\", x)", "f( , x)");
        check("barber(rabbit, crab)", "barber(rabbit, crab)");
    }

    #[test]
    fn characters_are_blanked_lifetimes_kept() {
        check(r"f('{', '\'', '\\', '\u{7b}', 'ä')", "f( , , , , )");
        check("fn f<'a>(x: &'a str) -> &'a str { x }", "fn f<'a>(x: &'a str) -> &'a str { x }");
    }
}
