//! Prover: finds the solutions of logical formulas over beliefs, rules and internal actions.
//!
//! The prover is an explicit machine without recursion: conjunctions are a linked list of goals left to prove,
//! alternatives a stack of choice points. A rule may recurse as deeply as memory allows, and the last goal of a rule
//! needs no frame. Only negation, `.findall` and the like start a proof within a proof.

use std::borrow::Cow;
use std::cell::Cell;

use smallvec::SmallVec;
use whimbrel_acl::{Annot, Annots, Args, Structure, Symbol, Value, Var, sym};
use whimbrel_platform::{Services, Time, limits};

use super::shallow::{Shallow, ShallowProof};
use super::{
    ActionCall, Failure, Queries, QueryAction, QueryAnswer, build, build_annots, build_args, foreign_query, match_expr,
    match_slot, number, push_plain_value,
};
use crate::code::{
    CallExpr, CompiledRule, Expr, Formula, Function, FunctionExpr, Image, InternalAction, Key, RelationExpr, TermExpr,
    acts_in_formulas,
};
use crate::logic::{
    AnnotWays, Bindings, BindingsMark, Opened, RequestedStep, arith, is_decorated, is_namespaced, levels, map_annots,
    match_annots, match_ground_annots, open_slots, univ, variables,
};
use crate::mind::{Candidates, Entry, Mind, Table};
use crate::numbering::Numbering;
use crate::syntax::quote::reserved;
use crate::syntax::{function_id, quote};

/// Knowledge of an agent while it reasons.
#[derive(Clone, Copy)]
pub struct Knowledge<'m> {
    /// Program of the agent.
    pub image: &'m Image,
    /// Mind of the agent.
    pub mind: &'m Mind,
    /// Name of the agent.
    pub aid: whimbrel_acl::Aid,
    /// Time of the agent's turn.
    pub now: Time,
    /// Platform.
    pub services: &'m dyn Services,
    /// Query actions and functions.
    pub queries: &'static Queries,
}

/// Prover of formulas against an agent's mind.
pub struct Solver<'m> {
    /// Knowledge.
    pub known: Knowledge<'m>,
    depth: Cell<u32>,
    /// Steps that the solver's proofs may still take, of this many at most.
    steps: Cell<u32>,
    most: u32,
}

/// Decision whether a proof continues to the next solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchDecision {
    /// Find the next solution.
    More,
    /// Stop.
    Enough,
}

/// Place and names of a formula's variables.
#[derive(Clone, Copy)]
struct Scope<'f> {
    base: u32,
    /// Number of rule calls that led to this scope.
    calls: u32,
    names: &'f [Symbol],
}

/// Goals left to prove after the current one.
struct PendingGoals<'f> {
    formulas: &'f [Formula],
    scope: Scope<'f>,
    next: u32,
    /// Bindings at the start of the current goal.
    mark: BindingsMark,
}

const NOTHING: u32 = u32::MAX;

/// Error of a step whose proof calls rules too deep.
const TOO_DEEP: &str = "rule_too_deep";

/// Error of a step whose proof takes too many steps.
const TOO_LONG: &str = "proof_too_long";

/// Error of a step whose formula requests too many actions.
const TOO_MANY_EFFECTS: &str = "too_many_effects";

/// Choice point.
struct ChoicePoint<'f> {
    alternatives: Alternatives<'f>,
    scope: Scope<'f>,
    next: u32,
    mark: BindingsMark,
    pending: u32,
}

/// Values for a target, one after another.
type Values<'f> = Box<dyn Iterator<Item = Value> + 'f>;

enum Alternatives<'f> {
    Formulas(&'f [Formula]),
    Entries { query: PendingQuery<'f>, first: &'f Entry, rest: Candidates<'f> },
    Annots(Box<AnnotWays<'f>>),
    Values { target: Value, values: Values<'f>, opened: Opened },
}

/// Query in progress.
#[derive(Clone, Copy)]
struct PendingQuery<'f> {
    term: &'f TermExpr,
    /// Arguments, if rules may need them.
    args: Option<Passed>,
}

/// Values of a query's arguments: slots that a rule's variables take or follow.
#[derive(Clone, Copy)]
struct Passed {
    base: u32,
    /// True if a variable can be bound to any of them directly.
    plain: bool,
}

/// Proof in progress.
pub struct Proof<'f, 'm: 'f> {
    solver: &'f Solver<'m>,
    pending: SmallVec<[PendingGoals<'f>; 4]>,
    choices: SmallVec<[ChoicePoint<'f>; 2]>,
    /// Rule that was tried last.
    rule: Option<&'f CompiledRule>,
}

/// Next action of a proof.
enum ProofStep<'f> {
    Prove(&'f Formula, Scope<'f>, u32),
    Proceed(u32),
    Fail,
}

impl<'m> Solver<'m> {
    /// Creates a prover over this knowledge.
    pub fn new(known: Knowledge<'m>) -> Self {
        let most = limits::PROOF_STEPS_MAX;
        Self { known, depth: Cell::new(0), steps: Cell::new(most), most }
    }

    /// Limits the steps of all its proofs together.
    #[must_use]
    pub fn within(self, steps: u32) -> Self {
        Self { steps: Cell::new(steps), most: steps, ..self }
    }

    /// Counts steps of a proof. Returns false if too many were taken, and notes that with `last`, the last thing
    /// tried.
    #[inline]
    pub fn spend(&self, steps: u32, last: impl FnOnce() -> Option<String>) -> bool {
        match self.steps.get().checked_sub(steps) {
            Some(left) => {
                self.steps.set(left);
                true
            }
            None => {
                levels::note_runaway(TOO_LONG, || {
                    let why = format!("a proof takes more than {} steps", self.most);
                    last().map_or_else(|| why.clone(), |last| format!("{why}: {last}"))
                });
                false
            }
        }
    }

    /// Finds the first solution. Its bindings stay; without a solution nothing is bound.
    #[inline]
    pub fn first(&self, formula: &Formula, bindings: &mut Bindings, base: u32, names: &[Symbol]) -> bool {
        let mark = bindings.mark();
        match (ShallowProof { solver: self, base, names }).first(formula, bindings) {
            Shallow::Holds => return true,
            Shallow::Fails => {
                bindings.undo(mark);
                return false;
            }
            Shallow::Unknown => bindings.undo(mark),
        }
        let mut found = false;
        self.each(formula, bindings, base, names, &mut |_| {
            found = true;
            SearchDecision::Enough
        });
        if !found {
            bindings.undo(mark);
        }
        found
    }

    /// Calls `on_solution` with the bindings of each solution in turn. After the last one nothing is bound; if
    /// `on_solution` has enough, the bindings of that solution stay.
    pub fn each(
        &self,
        formula: &Formula,
        bindings: &mut Bindings,
        base: u32,
        names: &[Symbol],
        on_solution: &mut dyn FnMut(&mut Bindings) -> SearchDecision,
    ) {
        if self.depth.get() >= limits::PROOF_NESTING_MAX {
            let most = limits::PROOF_NESTING_MAX;
            levels::note_runaway(TOO_DEEP, || format!("proofs within proofs nest more than {most} deep"));
            return;
        }
        self.depth.set(self.depth.get() + 1);
        let mut proof = Proof { solver: self, pending: SmallVec::new(), choices: SmallVec::new(), rule: None };
        let mut next = ProofStep::Prove(formula, Scope { base, calls: 0, names }, NOTHING);
        while proof.run(next, bindings) && on_solution(bindings) == SearchDecision::More {
            next = ProofStep::Fail;
        }
        self.depth.set(self.depth.get() - 1);
    }

    /// Returns the entries that may match a query: by its first argument, and if these are many, by other known
    /// arguments.
    #[inline(always)]
    pub(super) fn candidates<'t>(
        &self,
        table: &'t Table,
        term: &TermExpr,
        bindings: &mut Bindings,
        base: u32,
        names: &[Symbol],
    ) -> Candidates<'t> {
        let candidates = match term.args.first() {
            None => table.candidates(&Value::Null),
            Some(Expr::Const(value)) => table.candidates(value),
            Some(expr) => table.candidates(&build(self, bindings, base, names, expr)),
        };
        if candidates.are_many() { narrowed(candidates, term, bindings, base) } else { candidates }
    }

    /// Computes the function calls in a value where possible. A call with unbound arguments at the time of its
    /// building was left as a structure.
    pub fn compute(&self, bindings: &mut Bindings, value: Value) -> Value {
        if !self.known.image.calls_functions {
            return value;
        }
        match &value {
            // Calls in code are computed when it runs.
            code if quote::is_code(code) => value,
            Value::Term(term) => {
                let args: Args = term.args.iter().map(|arg| self.compute(bindings, arg.clone())).collect();
                if let Some(number) = arith::evaluate(term.functor, &args) {
                    return Value::Num(number);
                }
                let native = function_id(term.functor.as_str(), args.len());
                if let (Some(function), true) = (native, args.iter().all(Value::is_ground)) {
                    let call =
                        FunctionExpr { name: term.functor, function: Function::Native(function), args: Vec::new() };
                    if let Some(result) = self.function(bindings, &call, &args) {
                        return result;
                    }
                }
                let (namespace, negated) = (term.namespace, term.negated);
                Structure::full(namespace, negated, term.functor, args, term.annots.clone()).into_value()
            }
            Value::Atom(name) if name.as_str().contains('.') => {
                let Some(function) = function_id(name.as_str(), 0) else { return value };
                let call = FunctionExpr { name: *name, function: Function::Native(function), args: Vec::new() };
                self.function(bindings, &call, &[]).unwrap_or(value)
            }
            Value::List(_) => {
                let mut items = value.items();
                let computed: Vec<Value> = items.by_ref().map(|item| self.compute(bindings, item.clone())).collect();
                Value::list_with_tail(computed, items.tail().clone())
            }
            _ => value,
        }
    }

    /// Computes a function call, if its arguments allow a value.
    pub fn function(&self, bindings: &mut Bindings, call: &FunctionExpr, args: &[Value]) -> Option<Value> {
        match call.function {
            Function::Native(id) => {
                let function = self.known.queries.function(id)?;
                let call = &CallExpr::bare(call.name, InternalAction::Unknown);
                function(&mut ActionCall { solver: self, bindings, base: 0, names: &[], args, call })
            }
            Function::Rule(rule) => self.rule_value(bindings, rule, args),
        }
    }

    fn rule_value(&self, bindings: &mut Bindings, rule: Symbol, args: &[Value]) -> Option<Value> {
        let slot = bindings.extend(1);
        let result = Value::Var(Var { slot, name: sym::ANY });
        let goal = Value::term(rule, args.iter().cloned().chain([result.clone()]));
        let formula = crate::code::compile::formula_of_value(&goal, self.known.image);
        let found = self.first(&formula, bindings, 0, &[]);
        found.then(|| bindings.resolve(&result))
    }
}

/// Describes a rule with a remark.
fn named(rule: &CompiledRule, what: &str) -> String {
    let CompiledRule { key, source, .. } = rule;
    format!("rule {}/{} ({}:{}) {what}", key.functor, key.arity, source.file, source.span.line)
}

/// Describes the predicate that a proof asked for last.
pub(super) fn asked_last(key: &Key) -> String {
    format!("{}/{} was asked last", key.functor, key.arity)
}

impl<'f, 'm: 'f> Proof<'f, 'm> {
    /// Runs until a solution is found. Returns false if there is none.
    fn run(&mut self, mut next: ProofStep<'f>, bindings: &mut Bindings) -> bool {
        loop {
            next = match next {
                ProofStep::Prove(formula, scope, rest) => self.prove(formula, scope, rest, bindings),
                ProofStep::Proceed(NOTHING) => return true,
                ProofStep::Proceed(at) => self.proceed(at, bindings),
                // A term nests too deep, which fails the whole proof.
                ProofStep::Fail if levels::noted() => return false,
                ProofStep::Fail => match self.backtrack(bindings) {
                    Some(next) => next,
                    None => return false,
                },
            };
        }
    }

    fn proceed(&mut self, at: u32, bindings: &mut Bindings) -> ProofStep<'f> {
        if !self.spend(1) {
            return ProofStep::Fail;
        }
        let Some(PendingGoals { formulas, scope, next, mark }) = self.pending.get(at as usize) else {
            return ProofStep::Fail;
        };
        let (formulas, scope, next, mark) = (*formulas, *scope, *next, *mark);
        let comes_back = self.choices.last().is_some_and(|choice| choice.pending > at);
        if !comes_back && at as usize + 1 == self.pending.len() {
            self.pending.pop();
            bindings.forget_proof(mark);
        }
        self.conjunction(formulas, scope, next, bindings)
    }

    /// Proves relations at once, because a rule's first conditions mostly decide whether it applies.
    #[inline]
    fn conjunction(
        &mut self,
        formulas: &'f [Formula],
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        let mut formulas = formulas;
        while let [Formula::Relation(relation), rest @ ..] = formulas {
            if !relation_holds(self.solver, bindings, scope.base, scope.names, relation) {
                return ProofStep::Fail;
            }
            formulas = rest;
        }
        match formulas {
            [] => ProofStep::Proceed(next),
            [last] => ProofStep::Prove(last, scope, next),
            [first, rest @ ..] => {
                self.pending.push(PendingGoals { formulas: rest, scope, next, mark: bindings.mark() });
                ProofStep::Prove(first, scope, self.pending.len() as u32 - 1)
            }
        }
    }

    fn prove(&mut self, formula: &'f Formula, scope: Scope<'f>, next: u32, bindings: &mut Bindings) -> ProofStep<'f> {
        match formula {
            Formula::True => ProofStep::Proceed(next),
            Formula::False => ProofStep::Fail,
            Formula::And(formulas) => self.conjunction(formulas, scope, next, bindings),
            Formula::Or(formulas) => match formulas.as_slice() {
                [] => ProofStep::Fail,
                [first, rest @ ..] => {
                    self.choose(Alternatives::Formulas(rest), scope, next, bindings);
                    ProofStep::Prove(first, scope, next)
                }
            },
            Formula::Not(inner) => {
                let mark = bindings.mark();
                let holds = self.solver.first(inner, bindings, scope.base, scope.names);
                bindings.undo(mark);
                if holds { ProofStep::Fail } else { ProofStep::Proceed(next) }
            }
            Formula::Query(term) => self.query(term, scope, next, bindings),
            Formula::Call(call) => self.call(call, scope, next, bindings),
            Formula::Relation(_) => self.conjunction(std::slice::from_ref(formula), scope, next, bindings),
            Formula::Dynamic(expr) => self.dynamic(expr, scope, next, bindings),
        }
    }

    #[inline]
    fn choose(&mut self, alternatives: Alternatives<'f>, scope: Scope<'f>, next: u32, bindings: &Bindings) {
        let (mark, pending) = (bindings.mark(), self.pending.len() as u32);
        self.choices.push(ChoicePoint { alternatives, scope, next, mark, pending });
    }

    fn backtrack(&mut self, bindings: &mut Bindings) -> Option<ProofStep<'f>> {
        if !self.spend(1) {
            return None;
        }
        if let ChoicePoint {
            alternatives: Alternatives::Values { target, values, opened }, mark, pending, next, ..
        } = self.choices.last_mut()?
        {
            // The choice point stays where it is: there may be many values.
            bindings.undo(*mark);
            self.pending.truncate(*pending as usize);
            let next = *next;
            if bindings.unify_next(target, values.as_mut(), *opened) {
                return Some(ProofStep::Proceed(next));
            }
            self.choices.pop();
            return Some(ProofStep::Fail);
        }
        let choice = self.choices.pop()?;
        bindings.undo(choice.mark);
        self.pending.truncate(choice.pending as usize);
        let (scope, next) = (choice.scope, choice.next);
        Some(match choice.alternatives {
            Alternatives::Formulas([]) => ProofStep::Fail,
            Alternatives::Formulas([last]) => ProofStep::Prove(last, scope, next),
            Alternatives::Formulas([first, rest @ ..]) => {
                self.choose(Alternatives::Formulas(rest), scope, next, bindings);
                ProofStep::Prove(first, scope, next)
            }
            Alternatives::Entries { query, first, rest } => {
                self.entries(query, Some(first), rest, scope, next, bindings)
            }
            Alternatives::Annots(ways) => self.annots(ways, scope, next, bindings),
            Alternatives::Values { .. } => ProofStep::Fail,
        })
    }

    fn query(&mut self, term: &'f TermExpr, scope: Scope<'f>, next: u32, bindings: &mut Bindings) -> ProofStep<'f> {
        let Some(table) = self.solver.known.mind.beliefs.table_at(&term.key, &term.hint) else {
            return ProofStep::Fail;
        };
        if table.has_rules() {
            let args = self.pass(&term.args, scope, bindings);
            let arg = |place: usize| bindings.deref(bindings.slot(args.base + place as u32));
            let mut rest = table.candidates(arg(0));
            if rest.are_many() {
                (1..term.args.len()).for_each(|place| rest.narrow(place, arg(place)));
            }
            let query = PendingQuery { term, args: Some(args) };
            let first = self.next_candidate(query, &mut rest, bindings);
            return self.entries(query, first, rest, scope, next, bindings);
        }
        let mut rest = self.solver.candidates(table, term, bindings, scope.base, scope.names);
        let first = rest.next(self.solver.known.image);
        self.entries(PendingQuery { term, args: None }, first, rest, scope, next, bindings)
    }

    /// Pushes the values of a query's arguments onto the bindings.
    fn pass(&self, args: &[Expr], scope: Scope<'f>, bindings: &mut Bindings) -> Passed {
        let (base, mut plain) = (bindings.len(), true);
        for (place, expr) in args.iter().enumerate() {
            if push_plain_value(bindings, scope.base, expr) {
                continue;
            }
            let top = bindings.len();
            let value = build(self.solver, bindings, scope.base, scope.names, expr);
            plain &= is_plain(&value);
            if bindings.len() > top {
                // A function has left variables: the values have to be adjacent.
                let before = bindings.from_mut(base).iter_mut().take(place).map(std::mem::take);
                let mut values: Args = before.chain([value]).collect();
                let rest = args.get(place + 1..).unwrap_or_default();
                values.extend(build_args(self.solver, bindings, scope.base, scope.names, rest));
                let base = bindings.len();
                let plain = values.iter().all(is_plain);
                values.into_iter().for_each(|value| bindings.push(value));
                return Passed { base, plain };
            }
            bindings.push(value);
        }
        Passed { base, plain }
    }

    /// Tries the candidates in turn until one matches. Leaves a choice point only if others may match too.
    fn entries(
        &mut self,
        query: PendingQuery<'f>,
        first: Option<&'f Entry>,
        mut rest: Candidates<'f>,
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        let mark = bindings.mark();
        let (choices, pending) = (self.choices.len(), self.pending.len() as u32);
        let mut candidate = first;
        while let Some(entry) = candidate {
            candidate = self.next_candidate(query, &mut rest, bindings);
            let found = self.entry(&query, entry, scope, next, bindings);
            if matches!(found, ProofStep::Fail) && self.choices.len() == choices {
                bindings.undo(mark);
                continue;
            }
            if let Some(first) = candidate {
                // Below those that the entry's annotations left.
                let alternatives = Alternatives::Entries { query, first, rest };
                self.choices.insert(choices, ChoicePoint { alternatives, scope, next, mark, pending });
            }
            return found;
        }
        ProofStep::Fail
    }

    /// Returns the next entry that may match. A rule does not match if it begins with a comparison of numbers that
    /// fails; checking that for the last one saves a choice point.
    #[inline]
    fn next_candidate(
        &self,
        query: PendingQuery<'f>,
        rest: &mut Candidates<'f>,
        bindings: &Bindings,
    ) -> Option<&'f Entry> {
        let image = self.solver.known.image;
        loop {
            match (rest.next(image)?, query.args) {
                (Entry::Rule(rule), Some(args))
                    if args.plain && is_ruled_out(rule.resolve(image), bindings, args.base) => {}
                (entry, _) => return Some(entry),
            }
        }
    }

    fn entry(
        &mut self,
        query: &PendingQuery<'f>,
        entry: &'f Entry,
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        match entry {
            Entry::Fact(fact) => self.fact(query, fact, scope, next, bindings),
            Entry::Rule(rule) => {
                let rule: &'f CompiledRule = rule.resolve(self.solver.known.image);
                self.rule(query, rule, scope, next, bindings)
            }
        }
    }

    fn fact(
        &mut self,
        query: &PendingQuery<'f>,
        fact: &'f Structure,
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        let solver = self.solver;
        let matched = if fact.is_ground() {
            (query.term.args.iter().zip(&fact.args))
                .all(|(expr, value)| match_expr(solver, bindings, scope.base, scope.names, expr, value))
        } else {
            let base = bindings.len();
            bindings.extend(open_slots(fact));
            let matched = (query.term.args.iter().zip(&fact.args)).all(|(expr, value)| {
                let value = Bindings::rename(value, base);
                match_expr(solver, bindings, scope.base, scope.names, expr, &value)
            });
            let has_annots = !query.term.annots.is_empty() || query.term.annots_tail.is_some();
            if matched && has_annots && !fact.annots.iter().all(Annot::is_ground) {
                let apart = &mut |var: Var| Value::Var(Var { slot: var.slot + base, name: var.name });
                let annots = map_annots(&fact.annots, apart).into_vec();
                return self.fact_annots(query, Cow::Owned(annots), scope, next, bindings);
            }
            matched
        };
        if !matched {
            return ProofStep::Fail;
        }
        if query.term.annots.is_empty() && query.term.annots_tail.is_none() {
            return ProofStep::Proceed(next);
        }
        self.fact_annots(query, Cow::Borrowed(&fact.annots), scope, next, bindings)
    }

    fn fact_annots(
        &mut self,
        query: &PendingQuery<'f>,
        fact: Cow<'f, [Annot]>,
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        let wanted = build_annots(self.solver, bindings, scope.base, scope.names, query.term);
        if query.term.annots_tail.is_some() || wanted.iter().all(Annot::is_ground) {
            // Only annotations with variables of their own are a copy.
            let matched = match fact {
                Cow::Borrowed(fact) => match_ground_annots(bindings, &wanted, fact),
                Cow::Owned(fact) => match_annots(bindings, &wanted, &fact),
            };
            return if matched { ProofStep::Proceed(next) } else { ProofStep::Fail };
        }
        self.annots(Box::new(AnnotWays::new(wanted, fact)), scope, next, bindings)
    }

    /// Tries the ways in which a query's annotations may match a belief's.
    fn annots(
        &mut self,
        mut ways: Box<AnnotWays<'f>>,
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        let (mark, pending) = (bindings.mark(), self.pending.len() as u32);
        if !ways.match_next(bindings, &|| self.spend(1)) {
            return ProofStep::Fail;
        }
        if !ways.is_over() {
            self.choices.push(ChoicePoint { alternatives: Alternatives::Annots(ways), scope, next, mark, pending });
        }
        ProofStep::Proceed(next)
    }

    fn rule(
        &mut self,
        query: &PendingQuery<'f>,
        rule: &'f CompiledRule,
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        self.rule = Some(rule);
        if !self.may_call(scope, bindings) || levels::noted() {
            return ProofStep::Fail;
        }
        let Some(args) = query.args else { return ProofStep::Fail };
        let Some(inner) = self.rule_head(rule, args, bindings) else { return ProofStep::Fail };
        let inner = Scope { calls: scope.calls + 1, ..inner };
        if !query.term.has_no_annots() && !self.rule_annots(query.term, rule, scope, inner, bindings) {
            return ProofStep::Fail;
        }
        match &rule.body {
            Formula::And(formulas) => self.conjunction(formulas, inner, next, bindings),
            Formula::Relation(_) => self.conjunction(std::slice::from_ref(&rule.body), inner, next, bindings),
            body => ProofStep::Prove(body, inner, next),
        }
    }

    /// Returns true if another rule may be called from this scope. A rule that calls itself without end is given up.
    #[inline]
    fn may_call(&self, scope: Scope<'f>, bindings: &Bindings) -> bool {
        if scope.calls >= limits::PROOF_CALLS_MAX || bindings.len() > limits::PROOF_SLOTS_MAX {
            self.too_deep(scope);
            return false;
        }
        self.spend(1)
    }

    /// Spends steps as [`Solver::spend`] does, and names the rule or predicate if none are left.
    #[inline]
    fn spend(&self, steps: u32) -> bool {
        self.solver.spend(steps, || self.tried_last())
    }

    #[cold]
    fn too_deep(&self, scope: Scope<'f>) {
        levels::note_runaway(TOO_DEEP, || {
            let why = match scope.calls {
                limits::PROOF_CALLS_MAX.. => format!("calls of rules nest more than {} deep", limits::PROOF_CALLS_MAX),
                _ => format!("a proof has more than {} variables", limits::PROOF_SLOTS_MAX),
            };
            self.rule.map_or_else(|| why.clone(), |rule| format!("{why}: {}", named(rule, "does not end")))
        });
    }

    #[cold]
    fn tried_last(&self) -> Option<String> {
        if let Some(rule) = self.rule {
            return Some(named(rule, "was tried last"));
        }
        self.choices.iter().rev().find_map(|choice| match &choice.alternatives {
            Alternatives::Entries { query, .. } => Some(asked_last(&query.term.key)),
            _ => None,
        })
    }

    /// Matches a rule's head with the arguments on top of the bindings. Returns the scope of its variables.
    fn rule_head(&self, rule: &'f CompiledRule, args: Passed, bindings: &mut Bindings) -> Option<Scope<'f>> {
        let arity = rule.args.len() as u32;
        let base = if args.plain { args.base } else { bindings.extend(arity) };
        bindings.extend(rule.slots - arity);
        for (place, head) in (0..arity).zip(&rule.args) {
            if head.is_none() && args.plain {
                continue;
            }
            let value = bindings.slot(args.base + place).clone();
            let matches = match head {
                Some(head) => match_expr(self.solver, bindings, base, &rule.names, head, &value),
                None => match_slot(bindings, base, &rule.names, place, &value),
            };
            if !matches {
                return None;
            }
        }
        Some(Scope { base, calls: 0, names: &rule.names })
    }

    fn rule_annots(
        &self,
        query: &TermExpr,
        rule: &CompiledRule,
        scope: Scope<'_>,
        inner: Scope<'_>,
        bindings: &mut Bindings,
    ) -> bool {
        let wanted = build_annots(self.solver, bindings, scope.base, scope.names, query);
        let mut own: Annots = (rule.annots.iter())
            .map(|annot| Annot::new(build(self.solver, bindings, inner.base, inner.names, annot)))
            .collect();
        if !own.iter().any(|annot| matches!(annot, Annot::Source(_))) {
            own.push(Annot::Source(sym::SELF));
        }
        match_annots(bindings, &wanted, &own)
    }

    fn call(&mut self, call: &'f CallExpr, scope: Scope<'f>, next: u32, bindings: &mut Bindings) -> ProofStep<'f> {
        let args = build_args(self.solver, bindings, scope.base, scope.names, &call.args);
        if matches!(call.action, InternalAction::WrongCount) {
            self.solver.log_failure(&format!("{}: {}", call.name, Failure::wrong_count(call).message()));
            return ProofStep::Fail;
        }
        let action = match call.action {
            InternalAction::Query(id) => self.solver.known.queries.action(id),
            InternalAction::Foreign => Some(foreign_query as QueryAction),
            _ => None,
        };
        let Some(action) = action else { return self.effect(call, &args, next, bindings) };
        let mark = bindings.mark();
        let answer = action(&mut ActionCall {
            solver: self.solver,
            bindings,
            base: scope.base,
            names: scope.names,
            args: &args,
            call,
        });
        match answer {
            Ok(QueryAnswer::Yes) => ProofStep::Proceed(next),
            Ok(QueryAnswer::No) => {
                bindings.unbind(mark);
                ProofStep::Fail
            }
            Ok(QueryAnswer::Each(target, values)) => self.values((target, values, open_value), scope, next, bindings),
            Ok(QueryAnswer::Parts(target, values)) => {
                self.values((target, values, |part, _| part), scope, next, bindings)
            }
            Err(failure) => {
                self.solver.log_failure(&format!("{}: {}", call.name, failure.message()));
                ProofStep::Fail
            }
        }
    }

    /// Notes a call that changes the agent: it is executed when the formula is decided.
    fn effect(&self, call: &CallExpr, args: &[Value], next: u32, bindings: &mut Bindings) -> ProofStep<'f> {
        if let Some(effect) = requested_step(call, args, bindings) {
            if bindings.ask(effect) {
                return ProofStep::Proceed(next);
            }
            let (most, name) = (limits::FORMULA_EFFECTS_MAX, call.name);
            levels::note_runaway(TOO_MANY_EFFECTS, || {
                format!("a formula asks for more than {most} actions, the last one {name}, so none is done")
            });
            return ProofStep::Fail;
        }
        let name = call.name.as_str();
        let why = match call.action {
            InternalAction::Unknown if name.starts_with('.') => Failure::unknown_action(call.name).message(),
            InternalAction::Unknown => format!("{name} is a Java class, which cannot run here"),
            _ => format!("{name} has no place in a context"),
        };
        self.solver.log_failure(&format!("{why}: it counts as failed"));
        ProofStep::Fail
    }

    /// Tries values for a target in turn.
    fn values(
        &mut self,
        (target, mut values, opened): (Value, Values<'f>, Opened),
        scope: Scope<'f>,
        next: u32,
        bindings: &mut Bindings,
    ) -> ProofStep<'f> {
        let (mark, pending) = (bindings.mark(), self.pending.len() as u32);
        if !bindings.unify_next(&target, values.as_mut(), opened) {
            return ProofStep::Fail;
        }
        let alternatives = Alternatives::Values { target, values, opened };
        self.choices.push(ChoicePoint { alternatives, scope, next, mark, pending });
        ProofStep::Proceed(next)
    }

    fn dynamic(&mut self, expr: &Expr, scope: Scope<'f>, next: u32, bindings: &mut Bindings) -> ProofStep<'f> {
        let goal = build(self.solver, bindings, scope.base, scope.names, expr);
        if unbound(&goal) {
            let all: Vec<Value> =
                self.solver.known.mind.beliefs.facts().map(|fact| Value::Term(fact.clone())).collect();
            return self.values((goal, Box::new(all.into_iter()), open_value), scope, next, bindings);
        }
        if !goal.is_literal() {
            return ProofStep::Fail;
        }
        let formula = crate::code::compile::formula_of_value(&goal, self.solver.known.image);
        let target = Value::list(variables(&goal).into_iter().map(Value::Var).collect::<Vec<_>>());
        let mut solutions: Vec<Value> = Vec::new();
        let mark = bindings.mark();
        self.solver.each(&formula, bindings, 0, &[], &mut |bindings| {
            solutions.push(bindings.closed(&target));
            SearchDecision::More
        });
        bindings.undo(mark);
        self.values((target, Box::new(solutions.into_iter()), open_value), scope, next, bindings)
    }
}

/// Returns true if a rule begins with comparisons of numbers among its arguments, of which one fails. The arguments
/// begin at `base`.
fn is_ruled_out(rule: &CompiledRule, bindings: &Bindings, base: u32) -> bool {
    let formulas = match &rule.body {
        Formula::And(formulas) => formulas,
        body => std::slice::from_ref(body),
    };
    for formula in formulas {
        let Formula::Relation(relation) = formula else { return false };
        let number = |side| number(bindings, base, side);
        match (number(&relation.left), number(&relation.right)) {
            (Some(left), Some(right)) if relation.op != sym::UNIV => {
                if !compare(relation.op, left, right) {
                    return true;
                }
            }
            _ => return false,
        }
    }
    false
}

/// Narrows the candidates for a query to those that match its constant or bound arguments.
fn narrowed<'t>(candidates: Candidates<'t>, term: &TermExpr, bindings: &Bindings, base: u32) -> Candidates<'t> {
    let mut candidates = candidates;
    for (place, expr) in term.args.iter().enumerate().skip(1) {
        match expr {
            Expr::Const(value) => candidates.narrow(place, value),
            Expr::Slot(slot) => candidates.narrow(place, bindings.deref(bindings.slot(base + slot))),
            _ => {}
        }
    }
    candidates
}

/// Returns true if a variable can be bound to a value directly.
fn is_plain(value: &Value) -> bool {
    let Value::Term(term) = value else { return true };
    let computed = arith::is_operation(term.functor, term.args.len());
    !computed && !is_decorated(value) && !is_namespaced(value)
}

/// Returns the step that a call in a formula requests; `None` if the action is not allowed there.
fn requested_step(call: &CallExpr, args: &[Value], bindings: &Bindings) -> Option<RequestedStep> {
    let InternalAction::Step(action) = call.action else { return None };
    let name = call.name.as_str();
    if !acts_in_formulas(name) {
        return None;
    }
    let mut vars = Numbering::default();
    let args: Vec<Value> = args.iter().map(|arg| bindings.close(arg, &mut vars)).collect();
    // Answers of these actions would arrive when no step waits for them any more.
    let answers = matches!(name, ".create_agent" | ".include") && args.iter().any(|arg| matches!(arg, Value::Var(_)));
    (!answers).then(|| RequestedStep { action, name: call.name, args, slots: vars.len() as u32 })
}

/// Tests a relation; `=` and `=..` bind variables.
#[inline]
pub(super) fn relation_holds(
    solver: &Solver<'_>,
    bindings: &mut Bindings,
    base: u32,
    names: &[Symbol],
    relation: &RelationExpr,
) -> bool {
    let RelationExpr { op, left, right } = relation;
    let (one, other) = (number(bindings, base, left), number(bindings, base, right));
    match (one, other, *op) {
        (Some(one), Some(other), op) if op != sym::UNIV => {
            return compare(op, one, other);
        }
        (None, Some(number), sym::UNIFY) => {
            if let Expr::Slot(slot) = left
                && bindings.bind_number(base + slot, number)
            {
                return true;
            }
        }
        _ => {}
    }
    let left = build(solver, bindings, base, names, left);
    let right = build(solver, bindings, base, names, right);
    relate(bindings, *op, &left, &right)
}

/// Returns true if a dynamic goal stands for any belief: a variable, bare or decorated.
fn unbound(goal: &Value) -> bool {
    match goal {
        Value::Var(_) => true,
        Value::Term(term) => term.functor == reserved::DECORATED,
        _ => false,
    }
}

/// Replaces a value's variables, which are numbered from 0, by fresh ones.
pub fn open_value(value: Value, bindings: &mut Bindings) -> Value {
    if value.is_ground() {
        return value;
    }
    let Some(highest) = variables(&value).iter().map(|var| var.slot).max() else { return value };
    let base = bindings.extend(highest + 1);
    Bindings::rename(&value, base)
}

/// Compares numbers.
#[inline]
fn compare(op: Symbol, a: f64, b: f64) -> bool {
    match op {
        sym::LT => a < b,
        sym::LE => a <= b,
        sym::GT => a > b,
        sym::GE => a >= b,
        sym::NE => a != b,
        _ => a == b,
    }
}

/// Tests `left op right`; `=` and `=..` bind variables.
pub fn relate(bindings: &mut Bindings, op: Symbol, left: &Value, right: &Value) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    if let (Value::Num(a), Value::Num(b)) = (left, right) {
        return compare(op, *a, *b);
    }
    match op {
        sym::UNIFY => bindings.unify(left, right),
        sym::UNIV => univ(bindings, left, right),
        sym::EQ => left == right,
        sym::NE => left != right,
        sym::LT => left.cmp(right) == Less,
        sym::LE => left.cmp(right) != Greater,
        sym::GT => left.cmp(right) == Greater,
        sym::GE => matches!(left.cmp(right), Greater | Equal),
        _ => false,
    }
}

impl Solver<'_> {
    fn log_failure(&self, text: &str) {
        self.known.services.log(self.known.aid, whimbrel_platform::services::LogLevel::Warning, text);
    }
}

/// Returns the key of a query for any arity up to the maximum of a [`Key`].
pub fn key(functor: Symbol, arity: usize) -> Key {
    Key { functor, namespace: sym::DEFAULT, arity: u16::try_from(arity).unwrap_or(u16::MAX), negated: false }
}
