//! Logical formulas and relations.

use super::terms::is_arithmetic;
use super::{Height, Parse, Parser};
use crate::syntax::ast::{Op, Span, Term};
use crate::syntax::lexer::Tok;

fn relation_sign(kind: Tok) -> Option<Op> {
    Some(match kind {
        Tok::Less => Op::Lt,
        Tok::LessEqual => Op::Le,
        Tok::Greater => Op::Gt,
        Tok::GreaterEqual => Op::Ge,
        Tok::EqualEqual => Op::Eq,
        Tok::NotEqual => Op::Ne,
        Tok::Equal => Op::Unify,
        Tok::Univ => Op::Univ,
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// Parses a formula as a condition: not a number, text or list.
    pub(super) fn condition(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let formula = self.formula()?;
        let span = self.span_from(start);
        self.check_formula(&formula, span)?;
        Ok(formula)
    }

    /// Parses `a | b`, or any term.
    pub(super) fn formula(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let first = self.conjunction()?;
        if self.peek() != Tok::Bar {
            return Ok(first);
        }
        self.chain(first, start, Op::Or, Tok::Bar, Self::conjunction)
    }

    fn conjunction(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let first = self.negation()?;
        if self.peek() != Tok::Ampersand {
            return Ok(first);
        }
        self.chain(first, start, Op::And, Tok::Ampersand, Self::negation)
    }

    #[inline(never)]
    fn chain(
        &mut self,
        first: Term,
        start: Span,
        op: Op,
        sign: Tok,
        operand: impl Fn(&mut Self) -> Parse<Term>,
    ) -> Parse<Term> {
        let span = self.span_from(start);
        self.check_formula(&first, span)?;
        let mut operands = vec![(first, self.height)];
        while self.accept(sign) {
            if self.peek() == sign {
                let help = if sign == Tok::Bar { "or is written `|`" } else { "and is written `&`" };
                return Err(self.unexpected_with_help(&["a formula"], help));
            }
            let start = self.token().span;
            let term = operand(self)?;
            let span = self.span_from(start);
            self.check_formula(&term, span)?;
            operands.push((term, self.height));
        }
        self.side_by_side(op, operands)
    }

    /// Parses the operands of a chain. A last operand in parentheses that is such a chain itself continues it.
    #[inline(never)]
    fn side_by_side(&mut self, op: Op, operands: Vec<(Term, Height)>) -> Parse<Term> {
        let count = operands.len();
        let mut height = Height::default();
        let mut terms = Vec::with_capacity(count);
        for (place, (term, own)) in operands.into_iter().enumerate() {
            height = height.max(own.deeper(place.min(count.saturating_sub(2))));
            match term {
                Term::Op(inner, more) if inner == op && place + 1 == count => terms.extend(more),
                term => terms.push(term),
            }
        }
        self.grown(height)?;
        Ok(Term::Op(op, terms))
    }

    #[inline(never)]
    pub(super) fn negation(&mut self) -> Parse<Term> {
        let mut count = 0;
        while self.accept(Tok::Not) {
            count += 1;
        }
        if count == 0 {
            return self.relation();
        }
        let start = self.token().span;
        let mut formula = self.relation()?;
        let span = self.span_from(start);
        self.check_formula(&formula, span)?;
        for _ in 0..count {
            self.grown(self.height)?;
            formula = Term::Op(Op::Not, vec![formula]);
        }
        Ok(formula)
    }

    #[inline(never)]
    fn relation(&mut self) -> Parse<Term> {
        let mut left = self.operand()?;
        let Some(op) = relation_sign(self.peek()) else { return Ok(left) };
        let height = self.height;
        self.advance();
        let mut right = self.operand()?;
        self.grown(height.max(self.height))?;
        self.leave_namespace(&mut left);
        self.leave_namespace(&mut right);
        if relation_sign(self.peek()).is_some() {
            let span = self.token().span;
            let help = "join two relations with `&`: `1 < X & X < 9`";
            return Err(self.error_with_help(span, "relations cannot be chained", "a second relation", help));
        }
        Ok(Term::Op(op, vec![left, right]))
    }

    /// Resets the namespace of a relation's sides: they are data, so their names are not in the namespace of
    /// literals.
    fn leave_namespace(&self, term: &mut Term) {
        let current = self.current_namespace();
        match term {
            Term::Literal(literal) if literal.namespace == current => literal.namespace = None,
            Term::Var(variable) if variable.namespace == current => variable.namespace = None,
            _ => {}
        }
    }

    #[inline(never)]
    fn check_formula(&mut self, term: &Term, span: Span) -> Parse<()> {
        let (what, help) = match term {
            Term::Num(_) => ("a number", "compare it: `X == 3`"),
            Term::Str(_) => ("a string", "compare it: `X == \"text\"`"),
            Term::List { .. } => ("a list", "compare it: `X = [a|T]`"),
            Term::Chain(..) => ("arithmetic", "compare it: `X + 1 > Y`"),
            Term::Op(op, _) if is_arithmetic(*op) => ("arithmetic", "compare it: `X + 1 > Y`"),
            Term::Code(_) => ("code", "code in braces is data; a formula is grouped by parentheses"),
            _ => return Ok(()),
        };
        let message = format!("{what} is not a formula that could hold");
        Err(self.error_with_help(span, message, "expected a formula", help))
    }
}
