//! Solutions of formulas.

use smallvec::SmallVec;
use whimbrel_acl::{Value, Var, sym};

use super::{Outcome, is_formula, nonsense};
use crate::code::{Expr, Formula, TermExpr};
use crate::logic::map_vars;
use crate::numbering::Numbering;
use crate::prover::{ActionCall, Failure, QueryAnswer, SearchDecision};
use whimbrel_platform::limits::PROOF_STEPS_KEPT;

/// Collects the values of a template in each solution of argument `place`. A variable that a solution leaves open is
/// the caller's if the caller has it, otherwise a fresh one.
fn collect(call: &mut ActionCall<'_, '_>, place: usize, template: &Value) -> Vec<Value> {
    let top = call.bindings.len();
    let mut fresh = 0;
    let mut found = Vec::new();
    let solver = call.solver;
    call.each_solution(place, |bindings| {
        let value = bindings.resolve(template);
        let mut value = solver.compute(bindings, value);
        if !value.is_ground() {
            let mut beyond = Numbering::default();
            value = map_vars(&value, &mut |var| {
                let slot = if var.slot < top { var.slot } else { top + fresh + beyond.number(var.slot) };
                Value::Var(Var { slot, name: var.name })
            });
            fresh += beyond.len() as u32;
        }
        found.push(value);
        // A stored solution takes more memory than its proof, so it costs more steps.
        if solver.spend(PROOF_STEPS_KEPT, || None) { SearchDecision::More } else { SearchDecision::Enough }
    });
    call.bindings.extend(fresh);
    found
}

/// Returns true if argument `place` can be a formula.
fn is_asked(call: &ActionCall<'_, '_>, place: usize) -> bool {
    match call.formula(place) {
        None | Some(Formula::Dynamic(_)) => is_formula(call.arg(place)),
        Some(_) => true,
    }
}

fn check(call: &ActionCall<'_, '_>, place: usize, what: &str) -> Result<(), Failure> {
    if is_asked(call, place) { Ok(()) } else { Err(call.wrong(&format!("{what} argument must be a formula"))) }
}

/// `.findall(Template, Formula, List)`
pub fn findall(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call, 1, "second")?;
    let template = call.arg(0).clone();
    let found = collect(call, 1, &template);
    call.unify(2, &Value::list(found))
}

/// `.setof(Template, Formula, List)`: in the standard order, without duplicates.
pub fn setof(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call, 1, "second")?;
    let template = call.arg(0).clone();
    let mut found = collect(call, 1, &template);
    found.sort();
    found.dedup();
    call.unify(2, &Value::list(found))
}

/// `.count(Formula, N)`
pub fn count(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call, 0, "first")?;
    let count = number_of_solutions(call);
    call.unify(1, &Value::Num(count as f64))
}

/// `.count(Formula)` in an expression.
pub fn count_function(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    check(call, 0, "first").ok()?;
    Some(Value::Num(number_of_solutions(call) as f64))
}

fn number_of_solutions(call: &mut ActionCall<'_, '_>) -> usize {
    if let Some(count) = believed(call) {
        return count;
    }
    let mut count = 0;
    call.each_solution(0, |_| {
        count += 1;
        SearchDecision::More
    });
    count
}

/// Returns the number of solutions of a query for a whole predicate, such as `b(_, _)`, or for each of its sources,
/// such as `b(_, _)[source(_)]`. Returns `None` for any other query.
fn believed(call: &ActionCall<'_, '_>) -> Option<usize> {
    let Some(Formula::Query(query)) = call.formula(0) else { return None };
    let mut slots: SmallVec<[u32; 4]> = SmallVec::new();
    for arg in query.args.iter().chain(source_asked(query)) {
        let Expr::Slot(slot) = arg else { return None };
        if slots.contains(slot) || !matches!(call.bindings.slot(call.base + slot), Value::Null) {
            return None;
        }
        slots.push(*slot);
    }
    let each_source = slots.len() > query.args.len();
    if query.annots_tail.is_some() || (!query.annots.is_empty() && !each_source) {
        return None;
    }
    match call.solver.known.mind.beliefs.table(&query.key) {
        None => Some(0),
        Some(table) if !table.is_countable() => None,
        Some(table) if each_source => table.sources(),
        Some(table) => Some(table.len()),
    }
}

/// Returns the source in a query whose only annotation is `[source(..)]`.
fn source_asked(query: &TermExpr) -> Option<&Expr> {
    let [Expr::Term(annot)] = query.annots.as_slice() else { return None };
    let [source] = annot.args.as_slice() else { return None };
    let plain = annot.key.functor == sym::SOURCE && annot.key.namespace == sym::DEFAULT && !annot.key.negated;
    (plain && annot.has_no_annots()).then_some(source)
}

/// `.eval(Truth, Formula)`: `true` or `false`; binds no variable of the formula.
pub fn eval(call: &mut ActionCall<'_, '_>) -> Outcome {
    if !is_asked(call, 1) {
        return Err(call.wrong("second argument must be a logical formula"));
    }
    let mark = call.bindings.mark();
    let holds = call.holds(1);
    call.bindings.undo(mark);
    call.unify(0, &Value::Bool(holds))
}

/// `.max(List, X)`, `.max(Template, Formula, X)`: the first of the greatest.
pub fn max(call: &mut ActionCall<'_, '_>) -> Outcome {
    best(call, |new, best| new > best)
}

/// `.min(List, X)`, `.min(Template, Formula, X)`: the first of the least.
pub fn min(call: &mut ActionCall<'_, '_>) -> Outcome {
    best(call, |new, best| new < best)
}

fn best(call: &mut ActionCall<'_, '_>, better: fn(&Value, &Value) -> bool) -> Outcome {
    let first = call.arg(0).clone();
    if call.args.len() == 2 {
        if !first.is_list() {
            return Err(call.wrong("first argument must be a list when two arguments are used"));
        }
        let best = first.items().reduce(|best, new| if better(new, best) { new } else { best });
        return match best {
            Some(best) => call.unify(1, best),
            None => Ok(QueryAnswer::No),
        };
    }
    if !is_asked(call, 1) {
        return Err(nonsense(format!("the second argument must be a formula, not {}", call.arg(1))));
    }
    let found = collect(call, 1, &first);
    let best = found.iter().reduce(|best, new| if better(new, best) { new } else { best });
    match best {
        Some(best) => call.unify(2, best),
        None => Ok(QueryAnswer::No),
    }
}
