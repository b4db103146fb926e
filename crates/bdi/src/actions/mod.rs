//! Internal actions and functions.
//!
//! A *query* action only reads: it may stand in a context, a rule or a plan body, and may have several solutions. A
//! *step* action changes the agent. Where Jason allows one in a formula, it is executed as soon as the formula is
//! decided.

mod queries;
mod steps;

use crate::prover::Queries;
use crate::reason::Actions;

/// All internal actions and functions.
pub(crate) static ACTIONS: Actions =
    Actions { queries: Queries { actions: queries::ACTIONS, functions: queries::FUNCTIONS }, steps: steps::ACTIONS };

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::code::{IN_FORMULAS, acts_in_formulas};
    use crate::syntax::{ActionKind, action_arity, function_arity, function_names, names_of_kind};

    const REFERENCE: &str = include_str!("../../../../docs/reference/internal-actions.md");

    /// Returns the calls at the beginning of the reference's tables: name, fewest and most arguments of all forms.
    fn documented(text: &str) -> BTreeMap<&str, (usize, usize)> {
        let mut found = BTreeMap::new();
        for row in text.lines().filter_map(|line| line.strip_prefix("| `")) {
            let cell = row.split(" | ").next().unwrap_or(row);
            for call in cell.split('`').filter(|call| call.contains('.')) {
                let (name, args) = call.split_once('(').unwrap_or((call, ")"));
                let (least, most) = counts(args.strip_suffix(')').expect("a call ends with a bracket"));
                let forms = found.entry(name).or_insert((least, most));
                *forms = (forms.0.min(least), forms.1.max(most));
            }
        }
        found
    }

    /// Returns the numbers of arguments in `A, B [, C]`.
    fn counts(args: &str) -> (usize, usize) {
        let mut depth = 0;
        let required: String = args
            .chars()
            .filter(|c| {
                depth += i32::from(*c == '[');
                let outside = depth == 0;
                depth -= i32::from(*c == ']');
                outside
            })
            .collect();
        let all = args.replace(['[', ']'], "");
        let count = |args: &str| args.split(',').filter(|arg| !matches!(arg.trim(), "" | "..")).count();
        (count(&required), if all.contains("..") { usize::MAX } else { count(&all) })
    }

    fn assert_allowed(name: &str, (least, most): (usize, usize), arity: std::ops::RangeInclusive<usize>) {
        let is_open = *arity.end() == usize::MAX;
        let fits = *arity.start() <= least && most <= *arity.end();
        let same = arity == (least..=most);
        assert!(if is_open { fits } else { same }, "{name}: {least} to {most} documented, {arity:?} taken");
    }

    /// Returns the names of a table, and checks that none is there twice.
    fn names<A>(table: &[(&'static str, A)]) -> Vec<&'static str> {
        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted());
        names
    }

    #[test]
    fn tables_have_order_of_signatures() {
        let dotted = |kind| names_of_kind(kind).map(|name| format!(".{name}")).collect::<Vec<_>>();
        assert_eq!(names(queries::ACTIONS), dotted(ActionKind::Query));
        assert_eq!(names(steps::ACTIONS), dotted(ActionKind::Step));
        assert_eq!(names(queries::FUNCTIONS), function_names().collect::<Vec<_>>());
    }

    #[test]
    fn actions_of_formulas_are_steps() {
        let acting: Vec<&str> = names(steps::ACTIONS).into_iter().filter(|name| acts_in_formulas(name)).collect();
        assert_eq!(acting, IN_FORMULAS);
    }

    #[test]
    fn reference_documents_every_action() {
        let (actions, _) = REFERENCE.split_once("## Functions").expect("functions come last");
        let documented = documented(actions);
        let names: Vec<&str> = documented.keys().copied().collect();
        let mut all: Vec<&str> = [self::names(queries::ACTIONS), self::names(steps::ACTIONS)].concat();
        all.sort_unstable();
        assert_eq!(names, all);
        for (name, counts) in documented {
            assert_allowed(name, counts, action_arity(name).expect("it is known"));
        }
    }

    #[test]
    fn reference_documents_every_function() {
        let (_, functions) = REFERENCE.split_once("## Functions").expect("functions come last");
        let documented = documented(functions);
        assert_eq!(documented.keys().copied().collect::<Vec<_>>(), names(queries::FUNCTIONS));
        for (name, counts) in documented {
            assert_allowed(name, counts, function_arity(name).expect("it is known"));
        }
    }
}
