//! Plans that agents teach each other, as terms or as text.

use whimbrel_acl::{Value, sym};

use crate::logic::without_sources;
use crate::prover::Failure;
use crate::syntax::{self, Diagnostic, ast, quote};

/// Returns the plan that an agent teaches, as a term or as text, if it is one.
pub(crate) fn taught_plan(taught: &Value) -> Option<ast::Plan> {
    match taught {
        Value::Str(text) => parse_plan(text).ok(),
        plan if quote::is_plan(plan) => quote::unquote_plan(&without_sources(plan)).ok(),
        _ => None,
    }
}

/// Returns the label of a plan that an agent takes back, if it has one.
pub(crate) fn taught_label(taught: &Value) -> Option<Value> {
    let label = label_in(taught).ok()?;
    label.functor().filter(|functor| *functor != sym::NO_LABEL).map(|_| label)
}

/// Parses the plan in a text. Backslashes are dropped: they are there for quotes within the text.
pub(crate) fn parse_plan(text: &str) -> Result<ast::Plan, Failure> {
    let text = text.replace('\\', "");
    syntax::parse_plan(&text).or_else(|wrong| {
        if text.trim_end().ends_with('.') {
            return Err(bad_code(&wrong));
        }
        syntax::parse_plan(&format!("{text}.")).map_err(|_| bad_code(&wrong))
    })
}

/// Returns the label in a plan's term or text; any other value is one itself.
pub(crate) fn label_in(plan: &Value) -> Result<Value, Failure> {
    Ok(match plan {
        Value::Str(text) => {
            let text = text.strip_prefix('@').ok_or_else(|| {
                let what = format!("\"{text}\" is no label of a plan: in a text a label begins with @");
                Failure::new("unknown", what)
            })?;
            let label = syntax::parse_literal(text).map_err(|wrong| bad_code(&wrong))?;
            quote::quote(&label, &mut |name| whimbrel_acl::Var { slot: 0, name })
        }
        plan if quote::is_plan(plan) => plan.args().first().cloned().unwrap_or(Value::Null),
        label => label.clone(),
    })
}

/// Makes the failure of malformed code in a text.
pub(crate) fn bad_code(wrong: &[Diagnostic]) -> Failure {
    let message = wrong.first().map(ToString::to_string).unwrap_or_default();
    Failure::new("unknown", message)
}
