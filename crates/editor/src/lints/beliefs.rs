//! Beliefs that are asked and never added.

use rustc_hash::FxHashSet;
use whimbrel_acl::Symbol;
use whimbrel_bdi::syntax::ast::TriggerKind;
use whimbrel_bdi::syntax::{Diagnostic, nearest};

use super::goals::arguments;
use super::{is_closed, is_from_platform};
use crate::society::{LiteralRole, MemberProgram, NameOccurrence, SocietyText};

/// Finds queries of beliefs whose name no program of the society adds, tells or states; each once in a program.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    if !is_closed(society) || society.perceives {
        return Vec::new();
    }
    let mut judged: FxHashSet<(Symbol, usize)> = FxHashSet::default();
    let asked = program.occurrences.literals.iter().filter(|found| is_asked(found) && found.file == program.file);
    let first = asked.filter(|found| judged.insert((found.functor, found.arity)));
    first.filter_map(|found| warning(society, found)).collect()
}

fn is_asked(found: &NameOccurrence) -> bool {
    let is_truth = matches!(found.functor.as_str(), "true" | "false");
    matches!(found.role, LiteralRole::Query | LiteralRole::Test) && !found.is_quoted && !is_truth
}

/// Support of a belief in the society's programs.
#[derive(Default)]
struct BeliefSupport {
    /// Numbers of arguments with which the belief is stated or added.
    arities: Vec<usize>,
    /// True if the name is said in another way, so that the belief may have any form.
    is_open: bool,
}

fn support(society: &SocietyText, name: Symbol) -> BeliefSupport {
    let mut support = BeliefSupport::default();
    for program in &society.programs {
        let found = &program.occurrences;
        support.is_open |= found.strings.iter().any(|text| text.contains(name.as_str()));
        for occurrence in found.literals.iter().filter(|found| found.functor == name) {
            match occurrence.role {
                _ if occurrence.is_quoted => support.is_open = true,
                LiteralRole::Fact | LiteralRole::Head | LiteralRole::Add | LiteralRole::Replace => {
                    support.arities.push(occurrence.arity)
                }
                LiteralRole::Query | LiteralRole::Test | LiteralRole::Delete | LiteralRole::Label => {}
                LiteralRole::Trigger(_, kind) => support.is_open |= kind == TriggerKind::Test,
                _ => support.is_open = true,
            }
        }
    }
    support
}

fn warning(society: &SocietyText, found: &NameOccurrence) -> Option<Diagnostic> {
    let name = found.functor.as_str();
    let support = support(society, found.functor);
    if support.is_open || is_from_platform(name) || support.arities.contains(&found.arity) {
        return None;
    }
    let other = support.arities.first();
    let message = match other {
        Some(_) => format!("no agent ever believes `{name}` with {}", arguments(found.arity)),
        None => format!("no agent ever believes `{name}`"),
    };
    let help = match (other, nearest(name, stated(society, found.functor))) {
        (Some(other), _) => format!("it is believed with {}", arguments(*other)),
        (None, Some(like)) => format!("did you mean `{like}`?"),
        (None, None) => format!("state it, `{name}.`, add it in a plan, `+{name}`, or have an agent tell it"),
    };
    let label = "never holds";
    let warning = Diagnostic::warning(&found.file, found.span, message, label);
    Some(warning.with_code("belief-never-added").with_help(help))
}

/// Returns the names of beliefs that programs state or add.
fn stated(society: &SocietyText, name: Symbol) -> Vec<&'static str> {
    let is_stated = |found: &&NameOccurrence| {
        matches!(found.role, LiteralRole::Fact | LiteralRole::Head | LiteralRole::Add | LiteralRole::Replace)
    };
    let found = society.programs.iter().flat_map(|program| program.occurrences.literals.iter()).filter(is_stated);
    found.map(|found| found.functor).filter(|functor| *functor != name).map(Symbol::as_str).collect()
}
