//! Plans that nobody triggers.

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_bdi::syntax::ast::{Literal, Plan, Term, TriggerKind, TriggerOp};
use whimbrel_bdi::syntax::{Diagnostic, nearest};

use super::{is_closed, is_from_platform, is_made};
use crate::society::{LiteralRole, MemberProgram, NameOccurrence, OccurrenceOwner, SocietyText};

/// Finds plans of the program's own file whose event's name is said nowhere else in the society.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    if !is_closed(society) {
        return Vec::new();
    }
    let mut said: OccurrencesByName<'_> = FxHashMap::default();
    for other in &society.programs {
        for found in &other.occurrences.literals {
            said.entry(found.functor).or_default().push((other, found));
        }
    }
    let own = program.program.plans.iter().filter(|plan| plan.file == program.file);
    own.filter_map(|plan| warning(society, program, plan, &said)).collect()
}

/// Occurrences of names, with their programs.
type OccurrencesByName<'a> = FxHashMap<Symbol, Vec<(&'a MemberProgram, &'a NameOccurrence)>>;

fn warning(
    society: &SocietyText,
    program: &MemberProgram,
    plan: &Plan,
    said: &OccurrencesByName<'_>,
) -> Option<Diagnostic> {
    let Term::Literal(event) = &plan.trigger.term else { return None };
    let name = event.functor.as_str();
    let is_belief = plan.trigger.kind == TriggerKind::Belief;
    let is_silent = plan.trigger.op == TriggerOp::Meta
        || is_from_platform(name)
        || is_made(society, plan)
        || is_from_others(event)
        || (is_belief && society.perceives)
        || is_mentioned(society, program, event.functor, is_belief, said);
    if is_silent {
        return None;
    }
    let (sign, what) = match plan.trigger.kind {
        TriggerKind::Belief => ("", "is ever believed"),
        TriggerKind::Achieve => ("!", "is ever a goal"),
        TriggerKind::Test => ("?", "is ever asked"),
    };
    let message = format!("no agent triggers this plan: nothing called `{name}` {what}");
    let like = nearest(name, candidates(society, event.functor, is_belief));
    let help = match like {
        Some(like) => format!("the programs say `{sign}{like}`: is it the same?"),
        None if is_belief => format!("add the belief, `+{name}`, or have an agent tell it"),
        None => format!("pursue the goal, `{sign}{name}`, delete the plan, or allow it if operators send the goal"),
    };
    Some(
        Diagnostic::warning(&plan.file, event.span, message, "never happens")
            .with_code("plan-never-triggered")
            .with_help(help),
    )
}

/// Returns true for the event of a message: it names its source, so that its author expects it from somebody. That may
/// be an agent in another language, which joins later.
fn is_from_others(event: &Literal) -> bool {
    let is_source = |term: &Term| match term {
        Term::Literal(annotation) => {
            let is_self = matches!(annotation.args.first(), Some(Term::Literal(who)) if who.functor.as_str() == "self");
            annotation.functor.as_str() == "source" && !is_self
        }
        _ => false,
    };
    event.annots.as_ref().is_some_and(|annotations| annotations.items.iter().any(is_source))
}

/// Returns true if a program says the name other than in plans for that event, so that the event may happen.
fn is_mentioned(
    society: &SocietyText,
    program: &MemberProgram,
    name: Symbol,
    is_belief: bool,
    said: &OccurrencesByName<'_>,
) -> bool {
    let within_own = |other: &MemberProgram, found: &NameOccurrence| match found.owner {
        OccurrenceOwner::Plan(place) => std::ptr::eq(program, other) && is_plan_for(other, place, name),
        OccurrenceOwner::Other => false,
    };
    let found = said.get(&name).map(Vec::as_slice).unwrap_or_default();
    found.iter().any(|(other, found)| can_cause(found, is_belief) && !within_own(other, found))
        || society
            .programs
            .iter()
            .any(|other| other.occurrences.strings.iter().any(|text| text.contains(name.as_str())))
}

fn is_plan_for(program: &MemberProgram, place: usize, name: Symbol) -> bool {
    let plan = program.program.plans.get(place);
    plan.is_some_and(|plan| matches!(&plan.trigger.term, Term::Literal(event) if event.functor == name))
}

/// Returns true if this occurrence can lead to an event: triggers and labels cannot, and what is only asked is not
/// believed.
fn can_cause(found: &NameOccurrence, is_belief: bool) -> bool {
    match found.role {
        LiteralRole::Label => false,
        LiteralRole::Trigger(..) => found.is_quoted,
        LiteralRole::Query | LiteralRole::Test | LiteralRole::Delete => !is_belief || found.is_quoted,
        _ => true,
    }
}

/// Returns names that are raised and that no plan is for.
fn candidates(society: &SocietyText, name: Symbol, is_belief: bool) -> Vec<&'static str> {
    let is_raised = |found: &&NameOccurrence| match found.role {
        LiteralRole::Goal => !is_belief,
        LiteralRole::Add | LiteralRole::Replace | LiteralRole::Fact => is_belief,
        _ => false,
    };
    let programs = society.programs.iter();
    let found = programs.flat_map(|program| program.occurrences.literals.iter()).filter(is_raised);
    found.map(|found| found.functor).filter(|functor| *functor != name).map(Symbol::as_str).collect()
}
