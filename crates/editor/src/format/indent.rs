//! Beginnings of lines.

use whimbrel_bdi::syntax::Tok;

use super::pieces::PieceKind;

/// Columns of one level.
const LEVEL: usize = 3;
/// Columns of a line that continues a context: behind `: `.
const CONTEXT: usize = 5;
/// Columns of a line that continues a body: behind `<- `.
const BODY: usize = 6;

/// Part of a clause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClausePart {
    /// Nothing of the clause yet, or its label only.
    #[default]
    Begin,
    /// Trigger, belief or goal.
    Head,
    /// Context, or the condition of a goal.
    Context,
    /// Body, at this column.
    Body(usize),
    /// Condition of a rule.
    Rule,
}

/// Open bracket.
#[derive(Clone, Copy, Debug)]
struct OpenBracket {
    /// Column of the contents of the line that it stands in.
    column: usize,
    /// True for the braces around sub-plans or a directive, within which clauses begin anew.
    has_clauses: bool,
    /// Part of the clause around it.
    part: ClausePart,
}

/// Columns of lines, from the tokens before them.
#[derive(Debug, Default)]
pub struct Indents {
    open: Vec<OpenBracket>,
    part: ClausePart,
    /// Column of the contents of the present line.
    column: usize,
    /// True after a full stop or at the beginning: a brace here holds clauses, or a directive.
    is_label: bool,
    before: Option<Tok>,
}

impl Indents {
    /// Returns the column in which a line begins whose first piece is of this kind.
    pub fn of_line(&mut self, first: PieceKind) -> usize {
        let column = self.column_of(first);
        self.column = column;
        column
    }

    /// Returns the column of clauses here.
    fn base(&self) -> usize {
        self.open.iter().filter(|open| open.has_clauses).count() * LEVEL
    }

    fn column_of(&self, first: PieceKind) -> usize {
        let is_closing = matches!(first, PieceKind::Token(Tok::RightParen | Tok::RightBracket | Tok::RightBrace));
        if let (Some(open), true) = (self.open.last(), is_closing) {
            return if open.has_clauses { self.base() - LEVEL } else { open.column };
        }
        if let Some(open) = self.open.last().filter(|open| !open.has_clauses) {
            return open.column + LEVEL;
        }
        let base = self.base();
        match (self.part, first) {
            (ClausePart::Begin, _) => base,
            (_, PieceKind::Token(Tok::Colon | Tok::GoalCondition | Tok::Arrow | Tok::RuleSign)) => base + LEVEL,
            (ClausePart::Head | ClausePart::Rule, _) => base + LEVEL,
            (ClausePart::Context, _) => base + CONTEXT,
            (ClausePart::Body(column), _) => base + column,
        }
    }

    /// Takes a piece; `is_last` if its line ends behind it.
    pub fn take(&mut self, piece: PieceKind, is_last: bool) {
        let PieceKind::Token(kind) = piece else { return };
        match kind {
            Tok::LeftParen | Tok::LeftBracket | Tok::LeftBrace => {
                let has_clauses = kind == Tok::LeftBrace && self.part == ClausePart::Begin;
                self.open.push(OpenBracket { column: self.column, has_clauses, part: self.part });
            }
            Tok::RightParen | Tok::RightBracket | Tok::RightBrace => {
                if let Some(open) = self.open.pop() {
                    self.part = open.part;
                }
            }
            _ if self.open.last().is_some_and(|open| !open.has_clauses) => {}
            kind => self.take_part(kind, is_last),
        }
        self.before = Some(kind);
    }

    /// Takes a token outside of brackets.
    fn take_part(&mut self, kind: Tok, is_last: bool) {
        let base = self.base();
        match kind {
            Tok::Dot => (self.part, self.is_label) = (ClausePart::Begin, false),
            Tok::At => self.is_label = true,
            _ if self.is_label && self.before == Some(Tok::At) => {}
            Tok::Colon | Tok::GoalCondition if matches!(self.part, ClausePart::Head | ClausePart::Context) => {
                self.part = ClausePart::Context;
                self.column = base + CONTEXT;
            }
            Tok::Arrow if matches!(self.part, ClausePart::Head | ClausePart::Context) => {
                let column = if is_last { LEVEL } else { BODY };
                (self.part, self.column) = (ClausePart::Body(column), base + column);
            }
            Tok::RuleSign => self.part = ClausePart::Rule,
            _ if self.part == ClausePart::Begin => self.part = ClausePart::Head,
            _ => {}
        }
    }
}
