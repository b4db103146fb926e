//! Plans that can never be chosen.

use rustc_hash::FxHashSet;
use whimbrel_bdi::syntax::Diagnostic;
use whimbrel_bdi::syntax::ast::{Literal, Plan, Term};

use super::{exchanges_plans, gets_plans, is_made};
use crate::society::{MemberProgram, SocietyText};

/// Actions that use plans as data, or take them away.
const PLAN_ACTIONS: [&str; 4] = [".remove_plan", ".relevant_plans", ".relevant_plan", ".plan_label"];

/// Finds plans behind another one for the same event that applies always: the first applicable plan is chosen.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    let found = &program.occurrences;
    let selects = found.literals.iter().any(|found| found.functor.as_str().contains("__"));
    if selects
        || gets_plans(society, program)
        || exchanges_plans(society)
        || found.calls_of(&PLAN_ACTIONS).next().is_some()
    {
        return Vec::new();
    }
    let plans = &program.program.plans;
    let mut warnings = Vec::new();
    let is_own = |plan: &Plan| plan.file == program.file && !is_made(society, plan);
    for (place, plan) in plans.iter().enumerate().filter(|(_, plan)| is_own(plan)) {
        let before = plans.get(..place).unwrap_or_default();
        warnings.extend(
            before
                .iter()
                .find(|first| !is_made(society, first) && takes_all_of(first, plan))
                .and_then(|first| warning(first, plan)),
        );
    }
    warnings
}

fn warning(first: &Plan, plan: &Plan) -> Option<Diagnostic> {
    let Term::Literal(event) = &plan.trigger.term else { return None };
    let message = "this plan is never chosen: the plan before it for the same event always applies";
    let mut warning = Diagnostic::warning(&plan.file, event.span, message, "never chosen");
    (warning.code, warning.help) =
        ("unreachable-plan", Some("put the special plan first, or give the general one a context".to_owned()));
    if let (Term::Literal(other), true) = (&first.trigger.term, first.file == plan.file) {
        warning.related.push((other.span, "always applies".to_owned()));
    }
    Some(warning)
}

/// Returns true if the plan `first` applies to every event that the later `plan` is for.
fn takes_all_of(first: &Plan, plan: &Plan) -> bool {
    let (Term::Literal(general), Term::Literal(event)) = (&first.trigger.term, &plan.trigger.term) else {
        return false;
    };
    let is_same_event = (first.trigger.op, first.trigger.kind) == (plan.trigger.op, plan.trigger.kind)
        && (general.functor, general.args.len()) == (event.functor, event.args.len())
        && (&general.namespace, general.negated) == (&event.namespace, event.negated);
    let is_open = first.context.is_none() && first.goal_condition.is_none() && has_plain_label(first);
    is_same_event && is_open && is_general(general)
}

fn has_plain_label(plan: &Plan) -> bool {
    plan.label_variable.is_none() && plan.label.as_ref().is_none_or(|label| label.annots.is_none())
}

/// Returns true if the literal's arguments are different variables, so that it matches all literals of its name.
fn is_general(literal: &Literal) -> bool {
    let mut names = FxHashSet::default();
    let is_free = |term: &Term| match term {
        Term::Var(variable) => {
            variable.annots.is_none()
                && variable.namespace.is_none()
                && !variable.negated
                && names.insert(variable.name)
        }
        _ => false,
    };
    literal.annots.is_none() && literal.args.iter().all(is_free)
}
