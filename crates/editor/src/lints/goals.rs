//! Goals without a plan.

use rustc_hash::FxHashSet;
use whimbrel_acl::Symbol;
use whimbrel_bdi::library;
use whimbrel_bdi::syntax::ast::{Plan, Term, TriggerKind, TriggerOp};
use whimbrel_bdi::syntax::{Diagnostic, nearest};

use super::gets_plans;
use crate::society::{LiteralRole, MemberProgram, NameOccurrence, SocietyText};

/// Finds goals that no plan of the program is for. A failure plan `-!g` counts, because its author expects the failure.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    if gets_plans(society, program) {
        return Vec::new();
    }
    let known = Achievable::of(program);
    let is_lost = |found: &&NameOccurrence| {
        found.role == LiteralRole::Goal && !found.is_quoted && !known.keys.contains(&(found.functor, found.arity))
    };
    program.occurrences.literals.iter().filter(is_lost).map(|goal| known.warning(goal)).collect()
}

/// Goals that a program has plans for.
struct Achievable {
    keys: FxHashSet<(Symbol, usize)>,
}

impl Achievable {
    fn of(program: &MemberProgram) -> Self {
        let own = program.occurrences.literals.iter().filter(|found| {
            matches!(found.role, LiteralRole::Trigger(TriggerOp::Add | TriggerOp::Delete, TriggerKind::Achieve))
        });
        let own = own.map(|found| (found.functor, found.arity));
        let of_library = library().plans.iter().filter_map(goal_of);
        Self { keys: own.chain(of_library).collect() }
    }

    fn warning(&self, goal: &NameOccurrence) -> Diagnostic {
        let (name, arity) = (goal.functor.as_str(), goal.arity);
        let mut others: Vec<usize> =
            self.keys.iter().filter(|(functor, _)| *functor == goal.functor).map(|(_, arity)| *arity).collect();
        others.sort_unstable();
        let help = match others.first() {
            Some(other) => format!("there is a plan for `{name}` with {}", arguments(*other)),
            None => match nearest(name, self.keys.iter().map(|(functor, _)| functor.as_str())) {
                Some(like) => format!("did you mean `!{like}`?"),
                None => format!("write a plan that begins with `+!{}`", head(name, arity)),
            },
        };
        let message = match arity {
            0 => format!("no plan achieves the goal `{name}`"),
            _ => format!("no plan achieves the goal `{name}` with {}", arguments(arity)),
        };
        Diagnostic::warning(&goal.file, goal.span, message, "fails when it is pursued")
            .with_code("goal-without-plan")
            .with_help(help)
    }
}

fn goal_of(plan: &Plan) -> Option<(Symbol, usize)> {
    match &plan.trigger.term {
        Term::Literal(literal) => Some((literal.functor, literal.args.len())),
        _ => None,
    }
}

/// Returns `1 argument` or `3 arguments`.
pub(super) fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

/// Returns `go(A, B)`: a name with variables.
fn head(name: &str, arity: usize) -> String {
    let letters: Vec<String> = ('A'..='Z').take(arity).map(String::from).collect();
    if letters.is_empty() { name.to_owned() } else { format!("{name}({})", letters.join(", ")) }
}
