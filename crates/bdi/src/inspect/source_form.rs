//! Steps and bodies as programs write them: control structures with their keywords, rather than as internal actions.

use whimbrel_acl::value::Bare;
use whimbrel_acl::{Symbol, Var};

use crate::syntax::ast::{BodyStep, CodeTerm, ELIF, Literal, PlanBody, Term};
use crate::syntax::quote;

fn var(name: Symbol) -> Var {
    Var { slot: 0, name }
}

/// Writes a body in one line.
pub(crate) fn body(body: &PlanBody) -> String {
    let steps: Vec<String> = body.steps.iter().map(step).collect();
    steps.join("; ")
}

/// Writes a step; of a control structure only its head.
pub(crate) fn head(step: &BodyStep) -> String {
    control(step).map_or_else(|| plain(step), |(word, control)| format!("{word} {}", condition(control)))
}

/// Writes a step with everything in it.
fn step(step: &BodyStep) -> String {
    if let Term::Literal(literal) = &step.term
        && literal.functor.as_str() == ELIF
    {
        return branches(&literal.args);
    }
    let Some((word, control)) = control(step) else { return plain(step) };
    let mut blocks = control.args.iter().skip(1).filter_map(|arg| match arg {
        Term::Code(CodeTerm::Body(block)) => Some(format!("{{ {} }}", body(block))),
        _ => None,
    });
    let head = format!("{word} {} {}", condition(control), blocks.next().unwrap_or_default());
    blocks.next().map_or(head.clone(), |otherwise| format!("{head} else {otherwise}"))
}

/// Writes an `if` with `elif`.
fn branches(args: &[Term]) -> String {
    let block = |code: &Term| match code {
        Term::Code(CodeTerm::Body(block)) => format!("{{ {} }}", body(block)),
        _ => String::new(),
    };
    let written = args.chunks(2).enumerate().map(|(number, branch)| match branch {
        [condition, then] => {
            let word = if number == 0 { "if" } else { "elif" };
            format!("{word} {} {}", in_parentheses(condition), block(then))
        }
        [otherwise] => format!("else {}", block(otherwise)),
        _ => String::new(),
    });
    written.collect::<Vec<_>>().join(" ")
}

/// Returns the keyword of a control structure, and its internal action.
fn control(step: &BodyStep) -> Option<(&'static str, &Literal)> {
    let Term::Literal(control) = &step.term else { return None };
    let word = match control.functor.as_str() {
        ".if_then_else" | ELIF => "if",
        ".loop" => "while",
        ".foreach" => "for",
        _ => return None,
    };
    Some((word, control))
}

fn condition(control: &Literal) -> String {
    control.args.first().map_or_else(String::new, in_parentheses)
}

fn in_parentheses(condition: &Term) -> String {
    let condition = quote::quote(condition, &mut var).to_string();
    // An operation has its parentheses already.
    if condition.starts_with('(') { condition } else { format!("({condition})") }
}

fn plain(step: &BodyStep) -> String {
    Bare(&quote::quote_body(&PlanBody { steps: vec![step.clone()] }, &mut var)).to_string()
}
