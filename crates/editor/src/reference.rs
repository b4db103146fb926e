//! Documentation of internal actions and functions: the rows of docs/reference/internal-actions.md.

use std::sync::LazyLock;

const PAGE: &str = include_str!("../../../docs/reference/internal-actions.md");

/// Documentation of an internal action or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionDoc {
    /// Name, dots included.
    pub name: &'static str,
    /// Call with its arguments, as the page writes it.
    pub call: &'static str,
    /// Effect.
    pub effect: &'static str,
    /// Difference to Jason, or nothing.
    pub unlike: &'static str,
}

static DOCS: LazyLock<Vec<ActionDoc>> = LazyLock::new(|| PAGE.lines().flat_map(row).collect());

/// Returns the documentation of all internal actions and functions.
pub fn all() -> &'static [ActionDoc] {
    &DOCS
}

/// Returns the documentation of an internal action or function; a name may have several calls.
pub fn of(name: &str) -> impl Iterator<Item = &'static ActionDoc> {
    DOCS.iter().filter(move |doc| doc.name == name)
}

/// Returns the calls that a row of a table documents.
fn row(line: &'static str) -> Vec<ActionDoc> {
    let Some(inner) = line.strip_prefix("| `").and_then(|rest| rest.strip_suffix('|')) else { return Vec::new() };
    let (Some((calls, rest)), true) = (inner.split_once("` |"), line.contains('.')) else { return Vec::new() };
    let (effect, unlike) = rest.split_once('|').unwrap_or((rest, ""));
    let doc = |call: &'static str| ActionDoc {
        name: call.split(['(', ' ']).next().unwrap_or_default(),
        call,
        effect: effect.trim(),
        unlike: unlike.trim(),
    };
    calls.split("`, `").map(doc).filter(|doc| doc.name.contains('.')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_bdi::syntax::{action_arity, action_names, function_arity};

    #[test]
    fn every_action_is_documented() {
        let silent = ["Manual", "join"];
        let names = action_names().filter(|name| !silent.contains(name) && !name.contains("Manual"));
        let missing: Vec<&str> = names.filter(|name| of(&format!(".{name}")).next().is_none()).collect();
        assert!(missing.len() < 10, "not in docs/reference/internal-actions.md: {missing:?}");
        assert!(of(".send").next().is_some_and(|doc| doc.effect.contains("message")));
        assert_eq!(of("math.min").map(|doc| doc.call).collect::<Vec<_>>(), ["math.min(A [, B])"]);
    }

    #[test]
    fn documented_actions_exist() {
        for doc in all() {
            assert!(action_arity(doc.name).or(function_arity(doc.name)).is_some(), "{}", doc.name);
        }
    }
}
