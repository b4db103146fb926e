//! Syntax of AgentSpeak: lexer, parser, diagnostics, printing.

pub mod ast;
mod diagnostics;
mod lexer;
mod parser;
mod patterns;
pub mod quote;
mod render;
mod signatures;
mod source_text;
mod unquote;

use whimbrel_acl::Text;

use ast::{Plan, PlanBody, Program, Span, Term, Trigger};
pub(crate) use diagnostics::Diagnostics;
pub use diagnostics::nearest;
pub use diagnostics::{Diagnostic, Severity};
pub use lexer::{Tok, Token};
pub use parser::{LoadError, Loader, NoFiles};
use parser::{Parse, ParseSession, Parser};
pub use render::render;
#[cfg(test)]
pub(crate) use signatures::names_of_kind;
pub use signatures::{
    ActionId, ActionKind, FunctionId, QueryId, StepId, action_arity, action_id, action_names, function_arity,
    function_id, function_names, is_internal_action,
};
pub use source_text::SourceText;

/// Returns the internal action whose name is most similar to this one, which has a dot in front; the result has none.
pub(crate) fn similar_action(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix("jason.stdlib").unwrap_or(name).trim_start_matches('.');
    nearest(bare, signatures::action_names())
}

/// Result of parsing a program.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Program, without the clauses that have errors.
    pub program: Program,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Returns true if the program can run.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }
}

/// Parses a program and the files that it includes; `file` is its name. As in Jason, a program continues without a file
/// that cannot be included, unless the loader [is strict](Loader::is_strict).
pub fn parse_program(text: &str, file: &Text, loader: &mut dyn Loader) -> Parsed {
    let mut session = ParseSession::new(loader);
    Parser::new(text, file, &mut session).program();
    Parsed { program: session.program, diagnostics: session.diagnostics.into_vec() }
}

/// Splits a text into tokens, the last one [`Tok::Eof`]. Blanks and comments are what stands between them. Also returns
/// the faults of the text.
pub fn tokens(text: &str, file: &Text) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut diagnostics = Diagnostics::default();
    let lexer::Tokens { tokens, .. } = lexer::tokens(text, 0, 1, file, &mut diagnostics);
    (tokens, diagnostics.into_vec())
}

/// Parses text that an agent meets while it runs: all of it must be one phrase.
fn parse_phrase<T>(text: &str, parse: impl FnOnce(&mut Parser<'_, '_>) -> Parse<T>) -> Result<T, Vec<Diagnostic>> {
    let mut loader = NoFiles;
    let mut session = ParseSession::new(&mut loader);
    session.at_run_time = true;
    let mut parser = Parser::new(text, &Text::new(), &mut session);
    let parsed = parser.phrase(parse);
    let diagnostics = session.diagnostics.into_vec();
    match parsed {
        Ok(parsed) if diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error) => Ok(parsed),
        _ => Err(diagnostics),
    }
}

/// Parses the literals, separated by commas, in the part of `text` that begins at `start`. Places refer to the whole
/// text.
pub(crate) fn parse_embedded(text: &str, start: Span, file: &Text) -> (Vec<(Term, Span)>, Vec<Diagnostic>) {
    let mut loader = NoFiles;
    let mut session = ParseSession::new(&mut loader);
    let terms = Parser::starting_at(text, start, file, &mut session).terms_phrase();
    (terms, session.diagnostics.into_vec())
}

/// Parses a term, for instance `f(X, [1,2])`.
///
/// # Errors
/// Returns the faults of the text.
pub fn parse_term(text: &str) -> Result<Term, Vec<Diagnostic>> {
    parse_phrase(text, |parser| parser.term_phrase())
}

/// Parses a literal or a variable, for instance `~p(1)[a]`.
///
/// # Errors
/// Returns the faults of the text.
pub fn parse_literal(text: &str) -> Result<Term, Vec<Diagnostic>> {
    parse_phrase(text, |parser| parser.literal_phrase())
}

/// Parses a formula, for instance `a(X) & X > 3`.
///
/// # Errors
/// Returns the faults of the text.
pub fn parse_formula(text: &str) -> Result<Term, Vec<Diagnostic>> {
    parse_phrase(text, |parser| parser.formula_phrase())
}

/// Parses a plan with its full stop, for instance `+!g : c <- a; b.`
///
/// # Errors
/// Returns the faults of the text.
pub fn parse_plan(text: &str) -> Result<Plan, Vec<Diagnostic>> {
    parse_phrase(text, |parser| parser.plan_phrase())
}

/// Parses a triggering event, for instance `+!g(X)`.
///
/// # Errors
/// Returns the faults of the text.
pub fn parse_trigger(text: &str) -> Result<Trigger, Vec<Diagnostic>> {
    parse_phrase(text, |parser| parser.trigger_phrase())
}

/// Parses a plan body, for instance `a; !g; +b`.
///
/// # Errors
/// Returns the faults of the text.
pub fn parse_body(text: &str) -> Result<PlanBody, Vec<Diagnostic>> {
    parse_phrase(text, |parser| parser.body_phrase())
}
