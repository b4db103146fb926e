//! Blanks between the pieces of a line.

use whimbrel_bdi::syntax::Tok;

use super::pieces::{PieceKind, TextPiece};

/// Returns for each piece whether a blank stands before it, if it does not begin a line.
pub fn spaces(pieces: &[TextPiece<'_>]) -> Vec<bool> {
    let mut spacing = Spacing::default();
    pieces
        .iter()
        .map(|piece| match piece.kind {
            PieceKind::Token(kind) => spacing.token(kind, piece.is_adjacent),
            _ => spacing.comment(),
        })
        .collect()
}

/// Part of a plan's label that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LabelPart {
    #[default]
    None,
    /// `@`
    Sign,
    /// `@name`
    Name,
    /// `@name[`, with the number of brackets around it.
    Annotations(usize),
}

#[derive(Default)]
struct Spacing {
    before: Option<Tok>,
    /// True if the token before is a sign in front of its operand.
    is_prefix: bool,
    /// True if the token before ends a term, so that `+` and `-` after it are arithmetic.
    ends_term: bool,
    /// True after a comment in the line.
    is_after_comment: bool,
    open: Vec<Tok>,
    label: LabelPart,
}

fn is_name(kind: Tok) -> bool {
    matches!(kind, Tok::Atom | Tok::Begin | Tok::End | Tok::Var | Tok::Anonymous | Tok::Numbered)
}

impl Spacing {
    fn comment(&mut self) -> bool {
        self.is_after_comment = true;
        !matches!(self.before, Some(Tok::LeftParen | Tok::LeftBracket))
    }

    fn token(&mut self, kind: Tok, is_adjacent: bool) -> bool {
        let is_prefix = self.is_prefix_here(kind);
        let has_space = self.is_after_comment || self.has_space(kind, is_adjacent);
        self.is_after_comment = false;
        self.ends_term = is_name(kind)
            || matches!(kind, Tok::Number | Tok::Str | Tok::True | Tok::False | Tok::RightParen | Tok::RightBracket);
        self.take_label(kind);
        match kind {
            Tok::LeftParen | Tok::LeftBracket | Tok::LeftBrace => self.open.push(kind),
            Tok::RightParen | Tok::RightBracket | Tok::RightBrace => {
                self.open.pop();
            }
            _ => {}
        }
        (self.before, self.is_prefix) = (Some(kind), is_prefix);
        has_space
    }

    /// Follows a label, behind which a plan's event begins: its sign is not arithmetic.
    fn take_label(&mut self, kind: Tok) {
        let is_inside = matches!(self.label, LabelPart::Sign | LabelPart::Name);
        self.label = match (self.label, kind) {
            (_, Tok::At) => LabelPart::Sign,
            (LabelPart::Sign, kind) if is_name(kind) => LabelPart::Name,
            (_, Tok::LeftBracket) if is_inside => LabelPart::Annotations(self.open.len()),
            (LabelPart::Annotations(around), Tok::RightBracket) if self.open.len() == around + 1 => {
                self.ends_term = false;
                LabelPart::None
            }
            (LabelPart::Annotations(around), _) => LabelPart::Annotations(around),
            _ => LabelPart::None,
        };
        self.ends_term &= self.label != LabelPart::Name;
    }

    fn is_prefix_here(&self, kind: Tok) -> bool {
        match kind {
            Tok::Bang | Tok::BangBang | Tok::Question | Tok::Tilde | Tok::Caret | Tok::At => true,
            Tok::Plus | Tok::Minus => !self.ends_term,
            // `+<belief` and `+>belief`.
            Tok::Less | Tok::Greater => self.is_prefix && self.before == Some(Tok::Plus),
            _ => false,
        }
    }

    fn has_space(&self, kind: Tok, is_adjacent: bool) -> bool {
        let Some(before) = self.before else { return false };
        let in_list = self.open.last() == Some(&Tok::LeftBracket);
        let is_glued = self.is_prefix
            || matches!(before, Tok::LeftParen | Tok::LeftBracket | Tok::NsSign)
            || (before == Tok::Bar && in_list);
        match kind {
            Tok::Comma | Tok::Semicolon | Tok::Dot | Tok::RightParen | Tok::RightBracket => false,
            Tok::RightBrace => before != Tok::LeftBrace,
            Tok::NsSign if is_name(before) => false,
            Tok::Bar if in_list => false,
            Tok::LeftParen if matches!(before, Tok::Atom | Tok::Begin | Tok::End) => false,
            // A variable directly before a parenthesis would be a call.
            Tok::LeftParen if is_name(before) => !is_adjacent,
            Tok::LeftBracket if is_name(before) || matches!(before, Tok::RightParen | Tok::True | Tok::False) => false,
            _ => !is_glued,
        }
    }
}
