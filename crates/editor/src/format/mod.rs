//! Formatting of programs and projects. Only blanks and the beginnings of lines change: all tokens and comments stay,
//! in the lines where their author put them. `whimbrel fmt` documents the style.

mod indent;
mod pieces;
mod project;
mod spacing;

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::{Diagnostic, LoadError, Loader, Severity, SourceText, parse_program, tokens};

use indent::Indents;
use pieces::{PieceKind, TextPiece, pieces};
pub use project::format_project;

/// Formats a program.
///
/// # Errors
/// Returns the errors of a program that cannot be parsed.
pub fn format(text: &str, file: &Text) -> Result<String, Vec<Diagnostic>> {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    let parsed = parse_program(text, file, &mut Anything);
    if parsed.diagnostics.iter().any(is_error) {
        return Err(parsed.diagnostics.into_iter().filter(is_error).collect());
    }
    let (found, _) = tokens(text, file);
    let pieces = pieces(text, &found);
    let formatted = laid_out(text, &pieces);
    // The guarantee does not depend on the rules below: a text that would lose a token stays as it is.
    let (again, _) = tokens(&formatted, file);
    let is_kept =
        self::pieces::pieces(&formatted, &again).iter().map(TextPiece::said).eq(pieces.iter().map(TextPiece::said));
    Ok(if is_kept { formatted } else { text.to_owned() })
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

fn laid_out(text: &str, pieces: &[TextPiece<'_>]) -> String {
    let spaces = spacing::spaces(pieces);
    let mut indents = Indents::default();
    let mut lines: Vec<FormattedLine> = Vec::new();
    for (place, (piece, has_space)) in pieces.iter().zip(spaces).enumerate() {
        let is_last = pieces.get(place + 1).is_none_or(|next| next.newlines > 0);
        if piece.newlines > 0 || lines.is_empty() {
            let code = " ".repeat(indents.of_line(piece.kind));
            lines.push(FormattedLine { is_after_blank: piece.newlines > 1 && place > 0, code, comment: None });
            add(lines.last_mut(), piece, false);
        } else {
            add(lines.last_mut(), piece, has_space);
        }
        indents.take(piece.kind, is_last);
    }
    joined(&lines, line_ending(text))
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
