//! Shallow proofs: formulas over facts, relations, negation and alternatives, proved by plain recursion. The
//! program's text limits its depth. Formulas that may need more, such as rules and internal actions, are left to the
//! full prover.

use whimbrel_acl::{Structure, Symbol, Value};

use super::solve::{Solver, asked_last, relation_holds};
use super::{build, match_expr, match_slot};
use crate::code::{CompiledRule, Expr, Formula, RelationExpr, TermExpr};
use crate::logic::{Bindings, open_slots};
use crate::mind::Entry;

/// Number of conjuncts of one formula that are proved by recursion.
const CONJUNCTS_MAX: usize = 200;

/// Result of a shallow proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shallow {
    /// The first solution was found, and its bindings stay.
    Holds,
    /// There is no solution.
    Fails,
    /// The full prover must start from the beginning.
    Unknown,
}

/// Remaining formulas of a proof.
#[derive(Clone, Copy)]
struct RemainingFormulas<'a> {
    formulas: &'a [Formula],
    next: Option<&'a RemainingFormulas<'a>>,
}

/// Shallow proof: the prover, with the place and names of the variables.
pub(super) struct ShallowProof<'a, 'm> {
    pub(super) solver: &'a Solver<'m>,
    pub(super) base: u32,
    pub(super) names: &'a [Symbol],
}

impl ShallowProof<'_, '_> {
    /// Finds the first solution. Otherwise the caller has to undo the bindings.
    #[inline]
    pub(super) fn first(&self, formula: &Formula, bindings: &mut Bindings) -> Shallow {
        let formulas = match formula {
            Formula::And(formulas) if formulas.len() > CONJUNCTS_MAX => return Shallow::Unknown,
            Formula::And(formulas) => formulas,
            formula => std::slice::from_ref(formula),
        };
        self.proceed(Some(&RemainingFormulas { formulas, next: None }), bindings)
    }

    fn prove(&self, formula: &Formula, rest: Option<&RemainingFormulas<'_>>, bindings: &mut Bindings) -> Shallow {
        match formula {
            Formula::True => self.proceed(rest, bindings),
            Formula::False => Shallow::Fails,
            Formula::Relation(relation) => match self.relation(relation, bindings) {
                true => self.proceed(rest, bindings),
                false => Shallow::Fails,
            },
            Formula::Query(term) if term.has_no_annots() => self.query(term, rest, bindings),
            Formula::And(formulas) if formulas.len() > CONJUNCTS_MAX => Shallow::Unknown,
            Formula::And(formulas) => self.proceed(Some(&RemainingFormulas { formulas, next: rest }), bindings),
            Formula::Or(formulas) => self.alternatives(formulas, rest, bindings),
            Formula::Not(inner) => {
                let mark = bindings.mark();
                let holds = self.solver.first(inner, bindings, self.base, self.names);
                bindings.undo(mark);
                if holds { Shallow::Fails } else { self.proceed(rest, bindings) }
            }
            _ => Shallow::Unknown,
        }
    }

    fn proceed(&self, rest: Option<&RemainingFormulas<'_>>, bindings: &mut Bindings) -> Shallow {
        let mut rest = rest;
        while let Some(RemainingFormulas { formulas, next }) = rest {
            let mut left = *formulas;
            while let [formula, formulas @ ..] = left {
                match self.only_way(formula, bindings) {
                    Shallow::Holds => left = formulas,
                    Shallow::Fails => return Shallow::Fails,
                    Shallow::Unknown => {
                        return self.prove(formula, Some(&RemainingFormulas { formulas, next: *next }), bindings);
                    }
                }
            }
            rest = *next;
        }
        Shallow::Holds
    }

    /// Proves a formula with at most one solution, as most in contexts are. Returns unknown if there may be more.
    #[inline(always)]
    fn only_way(&self, formula: &Formula, bindings: &mut Bindings) -> Shallow {
        let holds = match formula {
            Formula::Relation(relation) => self.relation(relation, bindings),
            Formula::Query(term) if term.has_no_annots() => {
                let table = self.solver.known.mind.beliefs.table_at(&term.key, &term.hint);
                let Some(table) = table.filter(|table| !table.is_empty()) else { return Shallow::Fails };
                let Some(fact) = table.only_fact() else { return Shallow::Unknown };
                self.fact(term, fact, bindings)
            }
            _ => return Shallow::Unknown,
        };
        if holds { Shallow::Holds } else { Shallow::Fails }
    }

    fn alternatives(
        &self,
        formulas: &[Formula],
        rest: Option<&RemainingFormulas<'_>>,
        bindings: &mut Bindings,
    ) -> Shallow {
        let mark = bindings.mark();
        for formula in formulas {
            match self.prove(formula, rest, bindings) {
                Shallow::Fails => bindings.undo(mark),
                found => return found,
            }
        }
        Shallow::Fails
    }

    #[inline]
    fn relation(&self, relation: &RelationExpr, bindings: &mut Bindings) -> bool {
        relation_holds(self.solver, bindings, self.base, self.names, relation)
    }

    fn query(&self, term: &TermExpr, rest: Option<&RemainingFormulas<'_>>, bindings: &mut Bindings) -> Shallow {
        let Some(table) = self.solver.known.mind.beliefs.table_at(&term.key, &term.hint) else {
            return Shallow::Fails;
        };
        if let Some(fact) = table.only_fact() {
            return if self.any_fact(term, fact, bindings) { self.proceed(rest, bindings) } else { Shallow::Fails };
        }
        let mark = bindings.mark();
        let mut candidates = self.solver.candidates(table, term, bindings, self.base, self.names);
        let image = self.solver.known.image;
        while let Some(entry) = candidates.next(image) {
            if !self.solver.spend(1, || Some(asked_last(&term.key))) {
                return Shallow::Fails;
            }
            let holds = match entry {
                Entry::Fact(fact) => self.any_fact(term, fact, bindings),
                Entry::Rule(rule) => match rule.resolve(image) {
                    rule if matches!(rule.body, Formula::True) => self.open_fact(term, rule, bindings),
                    _ => return Shallow::Unknown,
                },
            };
            let found = if holds { self.proceed(rest, bindings) } else { Shallow::Fails };
            if found != Shallow::Fails {
                return found;
            }
            bindings.undo(mark);
        }
        Shallow::Fails
    }

    fn any_fact(&self, term: &TermExpr, fact: &Structure, bindings: &mut Bindings) -> bool {
        if fact.is_ground() {
            return self.fact(term, fact, bindings);
        }
        let base = bindings.extend(open_slots(fact));
        term.args.iter().zip(&fact.args).all(|(expr, value)| match value.is_ground() {
            true => self.argument(expr, value, bindings),
            false => {
                let value = Bindings::rename(value, base);
                match_expr(self.solver, bindings, self.base, self.names, expr, &value)
            }
        })
    }

    /// Matches a rule without a condition: a fact with variables of its own.
    fn open_fact(&self, term: &TermExpr, rule: &CompiledRule, bindings: &mut Bindings) -> bool {
        let base = bindings.extend(rule.slots);
        term.args.iter().zip(&rule.args).enumerate().all(|(place, (expr, head))| {
            let own = match head {
                None => Some(place as u32),
                Some(Expr::Slot(own)) => Some(*own),
                Some(_) => None,
            };
            if let (Expr::Slot(slot), Some(own)) = (expr, own)
                && let Some(same) = bindings.unify_plainly(self.base + slot, base + own)
            {
                return same;
            }
            let value = build(self.solver, bindings, self.base, self.names, expr);
            match (own, head) {
                (Some(own), _) => match_slot(bindings, base, &rule.names, own, &value),
                (None, Some(head)) => match_expr(self.solver, bindings, base, &rule.names, head, &value),
                (None, None) => false,
            }
        })
    }

    #[inline(always)]
    fn fact(&self, term: &TermExpr, fact: &Structure, bindings: &mut Bindings) -> bool {
        for (expr, value) in term.args.iter().zip(&fact.args) {
            if !self.argument(expr, value, bindings) {
                return false;
            }
        }
        true
    }

    /// Matches an argument with a ground value. Most arguments are simple, and matched in place.
    #[inline(always)]
    fn argument(&self, expr: &Expr, value: &Value, bindings: &mut Bindings) -> bool {
        match (expr, value) {
            (Expr::Const(Value::Atom(a)), Value::Atom(b)) => a == b,
            (Expr::Const(Value::Num(a)), Value::Num(b)) => a == b,
            (Expr::Slot(slot), value) => {
                let slot = self.base + slot;
                match (bindings.slot(slot), value) {
                    (Value::Null, Value::Atom(_) | Value::Num(_)) => bindings.bind_ground(slot, value.clone()),
                    (Value::Atom(a), Value::Atom(b)) => return a == b,
                    (Value::Num(a), Value::Num(b)) => return a == b,
                    _ => return match_expr(self.solver, bindings, self.base, self.names, expr, value),
                }
                true
            }
            _ => match_expr(self.solver, bindings, self.base, self.names, expr, value),
        }
    }
}
