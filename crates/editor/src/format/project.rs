//! Formatting of projects (`.mas2j`), by the same rule as that of programs: only blanks and the beginnings of lines
//! change.

use whimbrel_acl::Text;
use whimbrel_bdi::project::{ProjectTokenKind, parse_project, project_tokens};
use whimbrel_bdi::syntax::{Diagnostic, Severity, Tok, Token};

use super::pieces::{PieceKind, TextPiece, pieces};
use super::{FormattedLine, add, joined, line_ending};

/// Columns of one level.
const LEVEL: usize = 3;

/// Formats a project, also one that cannot run here: with an environment in Java, for example.
///
/// # Errors
/// Returns the errors of a project whose brackets are not closed, or that has text of no meaning.
pub fn format_project(text: &str, file: &Text) -> Result<String, Vec<Diagnostic>> {
    let found = tokens_of(text, file);
    if !is_whole(&found) {
        let found = parse_project(text, file, &[]).diagnostics.into_iter();
        return Err(found.filter(|found| found.severity == Severity::Error).collect());
    }
    let pieces = pieces(text, &found);
    let formatted = laid_out(text, &pieces);
    let again = tokens_of(&formatted, file);
    let is_kept =
        super::pieces::pieces(&formatted, &again).iter().map(TextPiece::said).eq(pieces.iter().map(TextPiece::said));
    Ok(if is_kept { formatted } else { text.to_owned() })
}

/// Returns true if all brackets are closed and all text is tokens.
fn is_whole(tokens: &[Token]) -> bool {
    let mut open = Vec::new();
    for token in tokens {
        let closes = match token.kind {
            Tok::LeftBrace | Tok::LeftParen | Tok::LeftBracket => {
                open.push(token.kind);
                continue;
            }
            Tok::RightBrace => Tok::LeftBrace,
            Tok::RightParen => Tok::LeftParen,
            Tok::RightBracket => Tok::LeftBracket,
            Tok::Unknown => return false,
            _ => continue,
        };
        if open.pop() != Some(closes) {
            return false;
        }
    }
    open.is_empty()
}

/// Returns the tokens of a project, each as the one of a program that looks like it.
fn tokens_of(text: &str, file: &Text) -> Vec<Token> {
    let kind = |kind| match kind {
        ProjectTokenKind::Word => Tok::Atom,
        ProjectTokenKind::Str => Tok::Str,
        ProjectTokenKind::Eof => Tok::Eof,
        ProjectTokenKind::Sign(b'{') => Tok::LeftBrace,
        ProjectTokenKind::Sign(b'}') => Tok::RightBrace,
        ProjectTokenKind::Sign(b'(') => Tok::LeftParen,
        ProjectTokenKind::Sign(b')') => Tok::RightParen,
        ProjectTokenKind::Sign(b'[') => Tok::LeftBracket,
        ProjectTokenKind::Sign(b']') => Tok::RightBracket,
        ProjectTokenKind::Sign(b':') => Tok::Colon,
        ProjectTokenKind::Sign(b';') => Tok::Semicolon,
        ProjectTokenKind::Sign(b',') => Tok::Comma,
        ProjectTokenKind::Sign(b'=') => Tok::Equal,
        // The number of agents: `#`.
        ProjectTokenKind::Sign(_) => Tok::At,
        ProjectTokenKind::Unknown => Tok::Unknown,
    };
    project_tokens(text, file).into_iter().map(|token| Token { kind: kind(token.kind), span: token.span }).collect()
}

fn laid_out(text: &str, pieces: &[TextPiece<'_>]) -> String {
    let mut layout = ProjectLayout::default();
    let mut lines: Vec<FormattedLine> = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        let rest = pieces.get(place..).unwrap_or_default();
        if piece.newlines > 0 || lines.is_empty() {
            let code = " ".repeat(layout.column(rest));
            lines.push(FormattedLine { is_after_blank: piece.newlines > 1 && place > 0, code, comment: None });
            add(lines.last_mut(), piece, false);
        } else {
            add(lines.last_mut(), piece, layout.has_space(piece.kind));
        }
        layout.take(rest);
    }
    joined(&lines, line_ending(text))
}

/// Place in a project.
#[derive(Debug, Default)]
struct ProjectLayout {
    braces: usize,
    brackets: usize,
    /// True behind the colon of a section.
    in_section: bool,
    /// True within an entry of a section.
    in_entry: bool,
    before: Option<Tok>,
}

/// Returns true if a section begins here: `agents:`.
fn begins_section(rest: &[TextPiece<'_>]) -> bool {
    let mut kinds = tokens(rest);
    kinds.next() == Some(Tok::Atom) && kinds.next() == Some(Tok::Colon)
}

fn tokens<'a>(rest: &'a [TextPiece<'_>]) -> impl Iterator<Item = Tok> + 'a {
    rest.iter().filter_map(|piece| match piece.kind {
        PieceKind::Token(kind) => Some(kind),
        _ => None,
    })
}

impl ProjectLayout {
    /// Returns the column of a line that begins with the first piece.
    fn column(&self, rest: &[TextPiece<'_>]) -> usize {
        let is_comment = rest.first().is_some_and(|piece| !matches!(piece.kind, PieceKind::Token(_)));
        let closes = tokens(rest).next() == Some(Tok::RightBrace);
        match () {
            () if self.braces == 0 || (closes && !is_comment) => 0,
            () if self.brackets > 0 || (self.in_entry && !closes && !begins_section(rest)) => 3 * LEVEL,
            () if !self.in_section || begins_section(rest) => LEVEL,
            () => 2 * LEVEL,
        }
    }

    fn has_space(&self, kind: PieceKind) -> bool {
        let (PieceKind::Token(kind), Some(before)) = (kind, self.before) else { return true };
        match (kind, before) {
            (Tok::Semicolon | Tok::Comma | Tok::Colon, _) => false,
            (Tok::LeftParen | Tok::RightParen | Tok::RightBracket, _) => false,
            (_, Tok::LeftParen | Tok::LeftBracket | Tok::At) => false,
            (Tok::Equal, _) | (_, Tok::Equal) => self.brackets == 0,
            (Tok::RightBrace, Tok::LeftBrace) => false,
            _ => true,
        }
    }

    fn take(&mut self, rest: &[TextPiece<'_>]) {
        let Some(PieceKind::Token(kind)) = rest.first().map(|piece| piece.kind) else { return };
        match kind {
            Tok::LeftBrace => self.braces += 1,
            Tok::RightBrace => self.braces = self.braces.saturating_sub(1),
            Tok::LeftParen | Tok::LeftBracket => self.brackets += 1,
            Tok::RightParen | Tok::RightBracket => self.brackets = self.brackets.saturating_sub(1),
            _ if self.brackets > 0 || self.braces == 0 => {}
            Tok::Colon => (self.in_section, self.in_entry) = (true, false),
            Tok::Semicolon => self.in_entry = false,
            _ => self.in_entry = !begins_section(rest),
        }
        self.before = Some(kind);
    }
}
