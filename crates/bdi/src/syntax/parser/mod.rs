//! Parser from tokens to syntax tree: recursive descent, one file of functions per level of the language.
//!
//! A function that meets an error reports it and returns [`Failed`]. The nearest enclosing clause skips to its end,
//! and parsing continues, so that one run reports all errors of a program. Depth is limited twice: of brackets by
//! this parser's stack, of trees by their readers' stack. Some functions are never inlined, to save stack: otherwise
//! a level of brackets would take twice as much.

mod bodies;
mod clauses;
mod code;
mod directives;
mod formulas;
pub(super) mod literals;
mod session;
pub(super) mod terms;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text, sym};
use whimbrel_platform::limits;

pub(crate) use session::ParseSession;
pub use session::{LoadError, Loader, NoFiles};

use super::ast::{Namespace, Plan, PlanBody, Span, Term, Trigger};
use super::diagnostics::Diagnostic;
use super::lexer::{self, Tok, Token};

/// Marker of an error that was reported.
#[derive(Debug)]
pub(crate) struct Failed;

pub(crate) type Parse<T> = Result<T, Failed>;

/// Levels of a term.
#[derive(Clone, Copy, Debug, Default)]
struct Height {
    /// Levels of the syntax tree, over which its readers recurse.
    tree: u32,
    /// Levels of the term as data, where each part of a chain is one level deeper than the one before.
    data: u32,
}

impl Height {
    /// Returns the greater of each.
    fn max(self, other: Self) -> Self {
        Self { tree: self.tree.max(other.tree), data: self.data.max(other.data) }
    }

    /// Returns the height of a term that is this many parts into a chain.
    fn deeper(self, parts: usize) -> Self {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX / 2);
        Self { data: self.data.saturating_add(parts), ..self }
    }
}

/// Parser of one text.
pub(crate) struct Parser<'a, 'l> {
    text: &'a str,
    file: Text,
    tokens: Vec<Token>,
    at: usize,
    /// End of the last token taken.
    last: Span,
    /// Open brackets, with the token that opened each.
    open: Vec<Token>,
    /// Number of open lists inside lists; they take none of the parser's stack.
    flat: usize,
    /// Levels of the term parsed last.
    height: Height,
    /// Namespace of names that are written without one; `None` is the default one.
    namespace: Option<Symbol>,
    /// Namespace that `this_ns` and `::` stand for.
    this_namespace: Option<Symbol>,
    /// Namespaces declared local here, and their names for others.
    local_names: FxHashMap<Symbol, Symbol>,
    /// Number above which anonymous variables are numbered, anew in each clause.
    numbered: u32,
    anonymous: u32,
    /// Number of directive blocks around the current place.
    blocks: u32,
    /// Number of code terms around the current place.
    quoted: u32,
    session: &'a mut ParseSession<'l>,
}

impl<'a, 'l> Parser<'a, 'l> {
    pub(crate) fn new(text: &'a str, file: &Text, session: &'a mut ParseSession<'l>) -> Self {
        Self::starting_at(text, Span { line: 1, ..Span::default() }, file, session)
    }

    /// Creates a parser of the part of `text` from `start` on. Places refer to the whole text.
    pub(crate) fn starting_at(text: &'a str, start: Span, file: &Text, session: &'a mut ParseSession<'l>) -> Self {
        let file = file.clone();
        let mut text = text;
        if text.len() > limits::SOURCE_BYTES_MAX {
            let message = format!("this file is larger than {} bytes", limits::SOURCE_BYTES_MAX);
            session.diagnostics.push(Diagnostic::error(&file, Span { line: 1, ..Span::default() }, message, ""));
            text = "";
        }
        let lexer::Tokens { tokens, greatest_number } =
            lexer::tokens(text, start.start as usize, start.line, &file, &mut session.diagnostics);
        Self {
            text,
            file,
            tokens,
            at: 0,
            last: Span { end: start.start, ..start },
            open: Vec::new(),
            flat: 0,
            height: Height::default(),
            namespace: None,
            this_namespace: None,
            local_names: FxHashMap::default(),
            numbered: greatest_number,
            anonymous: greatest_number,
            blocks: 0,
            quoted: 0,
            session,
        }
    }

    fn set_namespace(&mut self, namespace: Option<Symbol>) {
        self.namespace = namespace;
        self.this_namespace = namespace;
    }

    /// Runs `parse` with names that are written without a namespace in `namespace`.
    fn with_namespace<T>(&mut self, namespace: Option<Symbol>, parse: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.namespace, namespace);
        let result = parse(self);
        self.namespace = outer;
        result
    }

    fn token_at(&self, index: usize) -> Token {
        let end = || Token { kind: Tok::Eof, span: self.tokens.last().map(|token| token.span).unwrap_or_default() };
        self.tokens.get(index).copied().unwrap_or_else(end)
    }

    fn token(&self) -> Token {
        self.token_at(self.at)
    }

    #[inline]
    fn peek(&self) -> Tok {
        self.tokens.get(self.at).map_or(Tok::Eof, |token| token.kind)
    }

    #[inline]
    fn peek_at(&self, ahead: usize) -> Tok {
        self.tokens.get(self.at + ahead).map_or(Tok::Eof, |token| token.kind)
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != Tok::Eof {
            self.at += 1;
            self.last = token.span;
        }
        token
    }

    fn accept(&mut self, kind: Tok) -> bool {
        let found = self.peek() == kind;
        if found {
            self.advance();
        }
        found
    }

    fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn symbol_of(&self, span: Span) -> Symbol {
        Symbol::new(self.text_of(span))
    }

    /// Returns the span from `start` to the end of the last token taken.
    fn span_from(&self, start: Span) -> Span {
        Span { start: start.start, end: self.last.end.max(start.end), line: start.line }
    }

    /// Returns a fresh name for an anonymous variable; `rest` is the text after its `_`.
    fn anonymous_name(&mut self, rest: &str) -> Symbol {
        self.anonymous += 1;
        match rest {
            "" => Symbol::new(&format!("_{}", self.anonymous)),
            rest => Symbol::new(&format!("_{}_{rest}", self.anonymous)),
        }
    }

    /// Returns the namespace of this name, as known outside.
    fn mapped(&self, name: Symbol) -> Option<Symbol> {
        match self.local_names.get(&name) {
            Some(local) => Some(*local),
            None if name == sym::DEFAULT => None,
            None => Some(name),
        }
    }

    fn current_namespace(&self) -> Option<Namespace> {
        self.namespace.map(Namespace::Name)
    }

    #[inline(never)]
    fn error(&mut self, span: Span, message: impl Into<String>, label: impl Into<String>) -> Failed {
        self.report(Diagnostic::error(&self.file, span, message, label))
    }

    #[inline(never)]
    fn error_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Failed {
        self.report(Diagnostic::error(&self.file, span, message, label).with_help(help))
    }

    #[inline(never)]
    fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.session.diagnostics.push(diagnostic);
        Failed
    }

    #[inline(never)]
    fn warn(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let warning = Diagnostic::warning(&self.file, span, message, label).with_code(code).with_help(help);
        self.session.diagnostics.push(warning);
    }

    /// Reports the token here as unexpected, unless the lexer has reported it already.
    #[inline(never)]
    fn unexpected(&mut self, expected: &[&'static str]) -> Failed {
        let diagnostic = self.unexpected_diagnostic(expected);
        self.report_unexpected(diagnostic)
    }

    #[inline(never)]
    fn unexpected_with_help(&mut self, expected: &[&'static str], help: impl Into<String>) -> Failed {
        let diagnostic = self.unexpected_diagnostic(expected).with_help(help);
        self.report_unexpected(diagnostic)
    }

    fn report_unexpected(&mut self, diagnostic: Diagnostic) -> Failed {
        if self.peek() == Tok::Unknown { Failed } else { self.report(diagnostic) }
    }

    fn unexpected_diagnostic(&self, expected: &[&'static str]) -> Diagnostic {
        let token = self.token();
        let found = match token.kind {
            Tok::Eof => "the end of the file".to_owned(),
            _ => format!("`{}`", shorten(self.text_of(token.span))),
        };
        let wanted = list_of(expected);
        let message = format!("expected {wanted}, found {found}");
        let mut diagnostic = Diagnostic::error(&self.file, token.span, message, format!("expected {wanted}"));
        diagnostic.expected = expected.to_vec();
        diagnostic.help = self.mistake_help(token);
        if let Some(open) = self.open.last()
            && expected.iter().any(|sign| matches!(*sign, "`)`" | "`]`" | "`}`"))
        {
            diagnostic.related.push((open.span, format!("this `{}` is not closed", self.text_of(open.span))));
        }
        diagnostic
    }

    /// Returns advice on a common slip that the token here shows.
    fn mistake_help(&self, token: Token) -> Option<String> {
        let next = self.peek_at(1);
        let help = match (token.kind, next) {
            (Tok::Unknown, _) => return None,
            (Tok::Bang, Tok::Equal) => "different is written `\\==`",
            (Tok::Less, Tok::Greater) => "different is written `\\==`",
            (Tok::Equal, Tok::Less) => "less or equal is written `<=`",
            (Tok::Equal, Tok::Greater) => "greater or equal is written `>=`",
            (Tok::Colon, Tok::Equal) => "to bind a variable write `X = value`; to replace a belief write `-+b(value)`",
            (Tok::Minus, Tok::Greater) => "a plan's body begins with `<-`",
            (Tok::Bang, Tok::Atom | Tok::Var | Tok::LeftParen) if !self.open.is_empty() => "not is written `not`",
            (Tok::Atom, _) if self.text_of(token.span).starts_with('.') && self.last.end == token.span.start => {
                "put a blank or a new line after the full stop that ends a clause"
            }
            (Tok::Eof, _) => return None,
            (kind, _) if is_keyword(kind) => {
                let word = self.text_of(token.span);
                return Some(format!("`{word}` is a word of the language; as a name write it in quotes: '{word}'"));
            }
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// Takes the token `kind` or reports that it is missing.
    fn expect(&mut self, kind: Tok, expected: &[&'static str]) -> Parse<Token> {
        if self.peek() == kind { Ok(self.advance()) } else { Err(self.unexpected(expected)) }
    }

    /// Takes an opening bracket; [`Parser::close`] must follow.
    #[inline(never)]
    fn open(&mut self) -> Parse<Token> {
        let token = self.advance();
        if self.open.len().saturating_sub(self.flat) as u32 >= limits::BRACKET_DEPTH_MAX {
            let message = format!("brackets are nested more than {} deep", limits::BRACKET_DEPTH_MAX);
            return Err(self.error(token.span, message, "one too many"));
        }
        self.open.push(token);
        Ok(token)
    }

    /// Takes the closing bracket of the innermost open one.
    #[inline(never)]
    fn close(&mut self, kind: Tok, expected: &[&'static str]) -> Parse<Token> {
        let token = self.expect(kind, expected)?;
        self.open.pop();
        Ok(token)
    }

    /// Notes that the tree grew by a level above parts of `height` levels.
    #[inline(never)]
    fn grown(&mut self, height: Height) -> Parse<()> {
        self.height = Height { tree: height.tree + 1, data: height.data + 1 };
        let (most, message) = match self.height {
            Height { tree, .. } if tree > limits::TERM_DEPTH_MAX => (limits::TERM_DEPTH_MAX, "levels deep"),
            Height { data, .. } if data > limits::TERM_DATA_DEPTH_MAX => (limits::TERM_DATA_DEPTH_MAX, "parts long"),
            _ => return Ok(()),
        };
        Err(self.error(self.last, format!("this is more than {most} {message}"), "too much here"))
    }

    /// Returns true if the token stands first on its line.
    fn is_first_on_line(&self, token: Token) -> bool {
        let before = self.text.get(..token.span.start as usize).unwrap_or_default();
        before.trim_end_matches([' ', '\t', '\r']).chars().next_back().is_none_or(|c| c == '\n')
    }
}

/// Whole texts.
impl Parser<'_, '_> {
    /// Parses the whole text with `parse`.
    pub(crate) fn phrase<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let parsed = parse(self)?;
        if self.peek() == Tok::Eof { Ok(parsed) } else { Err(self.unexpected(&["the end of the text"])) }
    }

    pub(crate) fn term_phrase(&mut self) -> Parse<Term> {
        self.term()
    }

    pub(crate) fn literal_phrase(&mut self) -> Parse<Term> {
        self.literal()
    }

    pub(crate) fn formula_phrase(&mut self) -> Parse<Term> {
        self.condition()
    }

    pub(crate) fn plan_phrase(&mut self) -> Parse<Plan> {
        self.plan()
    }

    pub(crate) fn trigger_phrase(&mut self) -> Parse<Trigger> {
        self.trigger()
    }

    pub(crate) fn body_phrase(&mut self) -> Parse<PlanBody> {
        self.body()
    }

    /// Parses terms separated by commas, each with its place, up to the first error.
    pub(crate) fn terms_phrase(&mut self) -> Vec<(Term, Span)> {
        let mut terms = Vec::new();
        while self.peek() != Tok::Eof {
            let start = self.token().span;
            let Ok(term) = self.list_element() else { break };
            terms.push((term, self.span_from(start)));
            if self.peek() != Tok::Eof && self.expect(Tok::Comma, &["`,`", "the end of the string"]).is_err() {
                break;
            }
        }
        terms
    }
}

fn is_keyword(kind: Tok) -> bool {
    matches!(
        kind,
        Tok::True
            | Tok::False
            | Tok::Not
            | Tok::Div
            | Tok::Mod
            | Tok::If
            | Tok::Else
            | Tok::Elif
            | Tok::For
            | Tok::While
    )
}

/// Joins names: `a`, `a or b`, `a, b or c`.
fn list_of(items: &[&str]) -> String {
    match items {
        [] => "something else".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// Shortens a long token to its beginning.
fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(32) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
