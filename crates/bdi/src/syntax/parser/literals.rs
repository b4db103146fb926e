//! Literals and variables, with namespaces and annotations.

use whimbrel_acl::{Symbol, sym};

use super::terms::{ListParts, begins_term};
use super::{Height, Parse, Parser};
use crate::syntax::ast::{Annotations, CodeTerm, Literal, Namespace, PlanBody, Span, Term, Variable};
use crate::syntax::diagnostics::nearest;
use crate::syntax::lexer::Tok;
use crate::syntax::signatures;

/// Names that mean the same in every namespace, with their number of arguments.
const KEYWORDS: &[(&str, usize)] = &[
    ("achieve", 0),
    ("all_unifs", 0),
    ("askAll", 0),
    ("askHow", 0),
    ("askOne", 0),
    ("atomic", 0),
    ("breakpoint", 0),
    ("default", 0),
    ("percept", 0),
    ("self", 0),
    ("source", 1),
    ("tell", 0),
    ("tellHow", 0),
    ("this_ns", 0),
    ("unachieve", 0),
    ("untell", 0),
    ("untellHow", 0),
];

fn is_keyword(name: &str, arity: usize) -> bool {
    arity <= 1 && KEYWORDS.contains(&(name, arity))
}

/// Returns true for the name of an internal action or a function.
pub(in crate::syntax) fn is_dotted(name: &str) -> bool {
    name.contains('.') && !name.starts_with('\'')
}

/// Returns the first argument that may be code, for internal actions that take code. Jason prints such code without
/// braces, so it is read without braces too.
fn first_code_argument(name: &str) -> Option<usize> {
    matches!(name, ".if_then_else" | ".loop" | ".foreach" | ".fork").then_some(1)
}

impl Parser<'_, '_> {
    /// Parses a literal or a variable, each with an optional namespace, negation and annotations.
    pub(super) fn literal(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let explicit = self.namespace_prefix()?;
        let negated = self.accept(Tok::Tilde);
        match self.peek() {
            Tok::Atom | Tok::Begin | Tok::End => {
                let namespace = explicit.unwrap_or_else(|| self.current_namespace());
                Ok(Term::Literal(self.structure(start, namespace, negated)?))
            }
            Tok::Var | Tok::Anonymous | Tok::Numbered => {
                let namespace = explicit.unwrap_or_else(|| self.current_namespace());
                Ok(Term::Var(self.variable(start, namespace, negated)?))
            }
            Tok::True | Tok::False if explicit.is_none() && !negated => {
                let token = self.advance();
                self.height = Height::default();
                Ok(Term::Literal(Literal {
                    namespace: None,
                    negated: false,
                    functor: self.symbol_of(token.span),
                    args: Vec::new(),
                    annots: None,
                    span: token.span,
                }))
            }
            _ => Err(self.unexpected(if negated { &["a literal"] } else { &["a term"] })),
        }
    }

    /// Parses `ns::`, `Ns::` or `::`; the outer `None` if there is none of them.
    #[allow(clippy::option_option, reason = "absent, the default namespace, or another one")]
    #[inline(never)]
    fn namespace_prefix(&mut self) -> Parse<Option<Option<Namespace>>> {
        let namespace = match self.peek() {
            Tok::NsSign => self.this_namespace.map(Namespace::Name),
            Tok::Atom if self.peek_at(1) == Tok::NsSign => {
                let token = self.advance();
                match self.text_of(token.span) {
                    "this_ns" => self.this_namespace.map(Namespace::Name),
                    name => self.mapped(Symbol::new(name)).map(Namespace::Name),
                }
            }
            Tok::Var | Tok::Anonymous | Tok::Numbered if self.peek_at(1) == Tok::NsSign => {
                Some(Namespace::Var(self.plain_variable().name))
            }
            _ => return Ok(None),
        };
        self.advance();
        if self.peek() == Tok::NsSign || self.peek_at(1) == Tok::NsSign {
            let span = self.token().span;
            return Err(self.error(span, "a namespace cannot be in a namespace", "a second namespace"));
        }
        Ok(Some(namespace))
    }

    fn check_no_late_namespace(&mut self, negated: bool) -> Parse<()> {
        if self.peek() != Tok::NsSign {
            return Ok(());
        }
        let span = self.token().span;
        Err(if negated {
            let help = "the negation comes after the namespace: `ns::~p`";
            self.error_with_help(span, "a namespace cannot be negated", "after `~`", help)
        } else {
            self.error(span, "a namespace has no arguments or annotations", "expected a bare name before `::`")
        })
    }

    #[inline(never)]
    fn structure(&mut self, start: Span, mut namespace: Option<Namespace>, negated: bool) -> Parse<Literal> {
        let token = self.advance();
        let name = self.text_of(token.span);
        let functor = Symbol::new(name);
        let mut height = Height::default();
        let mut args = Vec::new();
        if self.peek() == Tok::LeftParen {
            args = self.arguments(name)?;
            height = self.height;
        }
        let annots = self.annotations()?;
        let annots_height = if annots.is_some() { self.height } else { Height::default() };
        self.check_no_late_namespace(negated)?;
        if is_keyword(name, args.len()) {
            namespace = None;
        }
        let span = self.span_from(start);
        if is_dotted(name) {
            self.check_internal_action(name, negated, annots.is_some(), args.len(), span)?;
            if name != ".include" {
                namespace = None;
            }
        }
        self.grown(height.max(annots_height))?;
        Ok(Literal { namespace, negated, functor, args, annots, span })
    }

    #[inline(never)]
    fn check_internal_action(
        &mut self,
        name: &str,
        negated: bool,
        annotated: bool,
        arity: usize,
        span: Span,
    ) -> Parse<()> {
        if annotated {
            let message = format!("the internal action `{name}` cannot have annotations");
            return Err(self.error_with_help(span, message, "annotated", "leave out the annotations"));
        }
        if negated {
            let message = format!("the internal action `{name}` cannot be negated by `~`");
            return Err(self.error_with_help(span, message, "negated", format!("write `not {name}`")));
        }
        if self.session.at_run_time || self.is_function(Symbol::new(name), arity) {
            return Ok(());
        }
        match signatures::action_arity(name) {
            Some(range) if range.contains(&arity) => {}
            Some(range) => {
                let wanted = signatures::arguments_text(&range);
                let message = format!("`{name}` takes {wanted}, not {arity}");
                self.warn("argument-count", span, message, "will fail when it runs", format!("give it {wanted}"));
            }
            None => self.warn_unknown(name, span),
        }
        Ok(())
    }

    /// Warns about unknown functions and actions. Names without a leading dot may be actions of the agent's host;
    /// those with one are all known.
    fn warn_unknown(&mut self, name: &str, span: Span) {
        if let Some(bare) = name.strip_prefix('.') {
            let help = match nearest(bare, signatures::action_names()) {
                Some(like) => format!("did you mean `.{like}`?"),
                None => "see the reference of internal actions".to_owned(),
            };
            self.warn("unknown-action", span, format!("there is no internal action `{name}`"), "unknown", help);
        }
    }

    #[inline(never)]
    fn variable(&mut self, start: Span, namespace: Option<Namespace>, negated: bool) -> Parse<Variable> {
        let token = self.token();
        let mut variable = self.plain_variable();
        if self.peek() == Tok::LeftParen && self.last.end == self.token().span.start {
            let name = self.text_of(token.span);
            let message = format!("the variable `{name}` cannot have arguments");
            let mut lower = name.to_owned();
            if let Some(first) = lower.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            let help = format!("names of literals begin with a lower-case letter: `{lower}(`");
            return Err(self.error_with_help(token.span, message, "a variable", help));
        }
        self.height = Height::default();
        let annots = self.annotations()?;
        self.check_no_late_namespace(negated)?;
        if annots.is_some() {
            self.grown(self.height)?;
        }
        variable.namespace = namespace;
        variable.negated = negated;
        variable.annots = annots;
        variable.span = self.span_from(start);
        Ok(variable)
    }

    /// Parses `[a, b | T]` after a name, if it is there; `[]` has no effect.
    #[inline(never)]
    pub(super) fn annotations(&mut self) -> Parse<Option<Annotations>> {
        if self.peek() != Tok::LeftBracket {
            return Ok(None);
        }
        let ListParts { items, tail } = self.list_parts()?;
        Ok(if items.is_empty() && tail.is_none() { None } else { Some(Annotations { items, tail }) })
    }

    /// Parses `(a, b)` after a name; arguments are in the default namespace.
    #[inline(never)]
    pub(super) fn arguments(&mut self, name: &str) -> Parse<Vec<Term>> {
        let outer = self.namespace.take();
        let args = self.arguments_in_default_namespace(name);
        self.namespace = outer;
        args
    }

    fn arguments_in_default_namespace(&mut self, name: &str) -> Parse<Vec<Term>> {
        let code_from = first_code_argument(name).unwrap_or(usize::MAX);
        self.open()?;
        let mut args = Vec::new();
        let mut height = Height::default();
        loop {
            let arg = if args.len() >= code_from { self.code_argument()? } else { self.argument(name, &args)? };
            height = height.max(self.height);
            args.push(arg);
            if !self.accept(Tok::Comma) {
                break;
            }
        }
        self.close(Tok::RightParen, &["`,`", "`)`"])?;
        self.height = height;
        Ok(args)
    }

    #[inline(never)]
    fn argument(&mut self, name: &str, before: &[Term]) -> Parse<Term> {
        if begins_term(self.peek()) {
            return self.term();
        }
        if self.peek() != Tok::RightParen {
            return Err(self.unexpected(&["a term"]));
        }
        let help = match before {
            [] => format!("without arguments, write `{name}`"),
            _ => "leave out the last `,`".to_owned(),
        };
        Err(self.unexpected_with_help(&["a term"], help))
    }

    /// Parses an argument that may be code without braces, or empty.
    #[inline(never)]
    fn code_argument(&mut self) -> Parse<Term> {
        let ends = |kind| matches!(kind, Tok::Comma | Tok::RightParen);
        let kind = self.peek();
        if ends(kind) {
            self.height = Height::default();
            return Ok(Term::Code(CodeTerm::Body(PlanBody::default())));
        }
        let variable = matches!(kind, Tok::Var | Tok::Anonymous | Tok::Numbered) && ends(self.peek_at(1));
        if kind == Tok::LeftBrace || variable {
            return self.term();
        }
        let body = self.body()?;
        Ok(Term::Code(CodeTerm::Body(body)))
    }

    /// Takes a name as used for labels and directives.
    pub(super) fn accept_name(&mut self) -> Option<(Symbol, Span)> {
        matches!(self.peek(), Tok::Atom | Tok::Begin | Tok::End).then(|| {
            let token = self.advance();
            (self.symbol_of(token.span), token.span)
        })
    }
}

/// Returns true for Jason's truth values.
pub(super) fn is_truth(term: &Term) -> bool {
    matches!(term, Term::Literal(literal) if literal.functor == sym::TRUE && literal.args.is_empty() && literal.annots.is_none())
}
