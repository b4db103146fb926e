//! Formatting of programs and projects. Only blanks and the beginnings of lines change: all tokens and comments stay,
//! in the lines where their author put them. `whimbrel fmt` documents the style.

mod indent;
mod pieces;
mod project;
mod spacing;

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::{Diagnostic, LoadError, Loader, Severity, SourceText, Tok, parse_program, tokens};

use indent::Indents;
use pieces::{PieceKind, TextPiece, pieces};
pub use project::format_project;

/// Bytes of a part of a long program. Its tokens and lines take about fifty times as much meanwhile.
const PART_BYTES: usize = 256 << 10;

/// Formats a program.
///
/// # Errors
/// Returns the errors of a program that cannot be parsed.
pub fn format(text: &str, file: &Text) -> Result<String, Vec<Diagnostic>> {
    format_by_parts(text, file, PART_BYTES)
}

/// Formats a program part after part, each of about this many bytes: a program may be long.
fn format_by_parts(text: &str, file: &Text, part_bytes: usize) -> Result<String, Vec<Diagnostic>> {
    let is_fine = |part: &str| errors(part, file).is_empty();
    let cuts = cuts(text, file, part_bytes);
    let parts = || {
        let starts = [0].into_iter().chain(cuts.iter().copied());
        starts.zip(cuts.iter().copied().chain([text.len()])).filter_map(|(start, end)| text.get(start..end))
    };
    // A block of directives may span parts, and an error has its line in the whole program.
    if !parts().all(is_fine) {
        let errors = errors(text, file);
        if !errors.is_empty() {
            return Err(errors);
        }
    }
    let mut formatted = String::with_capacity(text.len() + text.len() / 8);
    for (number, part) in parts().enumerate() {
        match formatted_part(part, file, number == 0, line_ending(text)) {
            Some(part) => formatted.push_str(&part),
            None => return Ok(text.to_owned()),
        }
    }
    Ok(formatted)
}

/// Returns the errors of a program.
fn errors(text: &str, file: &Text) -> Vec<Diagnostic> {
    let found = parse_program(text, file, &mut Anything).diagnostics.into_iter();
    found.filter(|found| found.severity == Severity::Error).collect()
}

/// Returns the ends of parts: full stops of clauses that end their line.
fn cuts(text: &str, file: &Text, part_bytes: usize) -> Vec<usize> {
    let (mut cuts, mut start, mut window) = (Vec::new(), 0, part_bytes);
    while start + window < text.len() {
        let end = text.ceil_char_boundary(start + window);
        match last_clause_end(text.get(start..end).unwrap_or_default(), file) {
            Some(length) => {
                start += length;
                cuts.push(start);
                window = part_bytes;
            }
            None => window *= 2,
        }
    }
    cuts
}

/// Returns the end of the last clause that ends its line. `text` is the beginning of a program, cut anywhere.
fn last_clause_end(text: &str, file: &Text) -> Option<usize> {
    let (found, faults) = tokens(text, file);
    // The last token may be cut, and so may everything behind a fault.
    let readable = faults.iter().map(|fault| fault.span.start as usize).min().unwrap_or(text.len());
    let (mut open, mut last) = (0_usize, None);
    for pair in found.windows(2) {
        let [token, next] = pair else { break };
        match token.kind {
            Tok::LeftParen | Tok::LeftBracket | Tok::LeftBrace => open += 1,
            Tok::RightParen | Tok::RightBracket | Tok::RightBrace => open = open.saturating_sub(1),
            Tok::Dot if open == 0 && next.kind != Tok::Eof && (next.span.end as usize) < readable => {
                let end = token.span.end as usize;
                let between = text.get(end..next.span.start as usize).unwrap_or_default();
                let line = between.split(['\n', '\r']).next().unwrap_or_default();
                if line.len() < between.len() && line.trim().is_empty() {
                    last = Some(end);
                }
            }
            _ => {}
        }
    }
    last
}

/// Formats a part of a program. The guarantee does not depend on the rules: `None` if a token would be lost.
fn formatted_part(text: &str, file: &Text, is_first: bool, ending: &str) -> Option<String> {
    let (found, _) = tokens(text, file);
    let pieces = pieces(text, &found);
    let formatted = laid_out(&pieces, is_first, ending);
    let (again, _) = tokens(&formatted, file);
    let is_kept =
        self::pieces::pieces(&formatted, &again).iter().map(TextPiece::said).eq(pieces.iter().map(TextPiece::said));
    is_kept.then_some(formatted)
}

/// Loader whose files are all empty: includes are not formatted.
struct Anything;

impl Loader for Anything {
    fn load(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        Ok((Text::from(path), SourceText::default()))
    }

    fn load_library(&mut self, path: &str) -> Result<(Text, SourceText), LoadError> {
        self.load(path, "")
    }
}

/// Line of the result.
struct FormattedLine {
    is_after_blank: bool,
    code: String,
    /// Comment at the end, and its column before.
    comment: Option<(String, usize)>,
}

fn laid_out(pieces: &[TextPiece<'_>], is_first: bool, ending: &str) -> String {
    let spaces = spacing::spaces(pieces);
    let mut indents = Indents::default();
    let mut lines: Vec<FormattedLine> = Vec::new();
    for (place, (piece, has_space)) in pieces.iter().zip(spaces).enumerate() {
        let is_last = pieces.get(place + 1).is_none_or(|next| next.newlines > 0);
        if piece.newlines > 0 || lines.is_empty() {
            let code = " ".repeat(indents.of_line(piece.kind));
            let is_after_blank = piece.newlines > 1 && (place > 0 || !is_first);
            lines.push(FormattedLine { is_after_blank, code, comment: None });
            add(lines.last_mut(), piece, false);
        } else {
            add(lines.last_mut(), piece, has_space);
        }
        indents.take(piece.kind, is_last);
    }
    joined(&lines, ending)
}

/// Returns the end of lines in a text.
fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn add(line: Option<&mut FormattedLine>, piece: &TextPiece<'_>, has_space: bool) {
    let Some(line) = line else { return };
    let is_first = line.code.trim().is_empty();
    if piece.kind == PieceKind::LineComment && !is_first {
        line.comment = Some((piece.text.trim_end().to_owned(), piece.column));
        return;
    }
    if has_space {
        line.code.push(' ');
    }
    line.code.push_str(if piece.kind == PieceKind::LineComment { piece.text.trim_end() } else { piece.text });
}

/// Joins the lines. Comments at the ends of neighbouring lines that stood in one column stand in one column.
fn joined(lines: &[FormattedLine], ending: &str) -> String {
    let mut text = String::new();
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let is_more = |line: &&FormattedLine| line.comment.is_some() && !line.is_after_blank;
        let run = if first.comment.is_some() { 1 + rest.iter().skip(1).take_while(is_more).count() } else { 1 };
        let (run, later) = rest.split_at(run.min(rest.len()));
        rest = later;
        let columns: Vec<usize> =
            run.iter().filter_map(|line| line.comment.as_ref()).map(|(_, column)| *column).collect();
        let is_aligned = columns.iter().all(|column| Some(column) == columns.first());
        let widest = run.iter().map(|line| line.code.chars().count()).max().unwrap_or_default();
        for line in run {
            if line.is_after_blank {
                text.push_str(ending);
            }
            text.push_str(&line.code);
            if let Some((comment, _)) = &line.comment {
                let width = line.code.chars().count();
                let gap = if is_aligned { widest.saturating_sub(width) } else { 0 };
                text.push_str(&" ".repeat(gap + COMMENT_GAP));
                text.push_str(comment);
            }
            text.push_str(ending);
        }
    }
    text
}

/// Blanks before a comment at the end of a line.
const COMMENT_GAP: usize = 2;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Adds the programs in a folder and below it.
    fn programs(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                programs(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "asl") {
                found.extend(std::fs::read_to_string(path));
            }
        }
    }

    #[test]
    fn parts_make_the_same_whole() {
        let (root, mut all) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), Vec::new());
        ["examples", "conformance/agentspeak"].iter().for_each(|folder| programs(&root.join(folder), &mut all));
        let (mut parts, file) = (0, Text::from("a.asl"));
        for text in &all {
            let whole = format_by_parts(text, &file, usize::MAX / 2);
            assert_eq!(format_by_parts(text, &file, 16), whole, "{text}");
            parts += cuts(text, &file, 16).len();
        }
        assert!(all.len() > 200 && parts > 1_000, "{} programs, {parts} parts", all.len());
        let text = "a.\n\n\n// \u{e9}\nb.  // c.\n/* d.\n */ e(\"f.\\n\").\ng.";
        assert_eq!(format_by_parts(text, &file, 1), format_by_parts(text, &file, usize::MAX / 2));
        assert!(format_by_parts("a.\nb(.\nc.", &file, 1).is_err_and(|errors| errors[0].span.line == 2));
    }

    #[test]
    fn long_program_is_cut_into_parts() {
        let text = "likes(tea, 3).\n".repeat(5_000);
        let cuts = cuts(&text, &Text::from("a.asl"), 4_096);
        let longest = cuts.iter().scan(0, |start, end| Some(end - std::mem::replace(start, *end))).max();
        assert!(cuts.len() > 17 && longest.is_some_and(|bytes| bytes <= 4_096), "{} parts, {longest:?}", cuts.len());
    }
}
