//! Plans that can never be chosen.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;
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
    let mut warnings = Vec::new();
    // Plans that apply to all events of their name and number of arguments.
    let mut general: FxHashMap<(Symbol, usize), Vec<&Plan>> = FxHashMap::default();
    for plan in &program.program.plans {
        let Term::Literal(event) = &plan.trigger.term else { continue };
        if is_made(society, plan) {
            continue;
        }
        let before = general.entry((event.functor, event.args.len())).or_default();
        if plan.file == program.file {
            let first = before.iter().find(|first| is_same_event(first, plan));
            warnings.extend(first.and_then(|first| warning(first, plan)));
        }
        if applies_always(plan) {
            before.push(plan);
        }
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

/// Returns true if two plans are for the same kind of event, with the same name and number of arguments.
fn is_same_event(first: &Plan, plan: &Plan) -> bool {
    let (Term::Literal(general), Term::Literal(event)) = (&first.trigger.term, &plan.trigger.term) else {
        return false;
    };
    (first.trigger.op, first.trigger.kind) == (plan.trigger.op, plan.trigger.kind)
        && (general.functor, general.args.len()) == (event.functor, event.args.len())
        && (&general.namespace, general.negated) == (&event.namespace, event.negated)
}

/// Returns true if a plan applies to every event of its name and number of arguments.
fn applies_always(plan: &Plan) -> bool {
    let is_open = plan.context.is_none() && plan.goal_condition.is_none() && has_plain_label(plan);
    is_open && matches!(&plan.trigger.term, Term::Literal(event) if is_general(event))
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
