//! AgentSpeak code as values, in text. The language's crate makes these values and explains them; this module has
//! only their notation.

use std::fmt::{self, Display, Write};

use super::{Structure, Value};
use crate::{Symbol, sym};

/// Checks whether a structure is code, or a variable with wrapping.
pub(super) fn is_code(code: &Structure) -> bool {
    matches!(
        (code.functor, code.args.as_slice()),
        (sym::CODE_PLAN, [_, _, _, _, ..])
            | (sym::CODE_RULE, [_, _])
            | (sym::CODE_TRIGGER | sym::CODE_STEP, [Value::Atom(_), _])
            | (sym::CODE_BODY, [_] | [_, _])
            | (sym::CODE_VAR, [_, _, _, _])
    )
}

/// Returns the first argument of a control structure that is written without braces if it is a body.
pub(super) fn first_bare_argument(functor: Symbol) -> usize {
    match functor.as_str() {
        ".if_then_else" | ".loop" | ".foreach" | ".fork" => 1,
        _ => usize::MAX,
    }
}

/// Value that is printed without its outermost braces if it is code: `+!g <- a` instead of `{ +!g <- a }`.
#[derive(Clone, Copy, Debug)]
pub struct Bare<'a>(pub &'a Value);

impl Display for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Atom(sym::CODE_BODY) => Ok(()),
            Value::Term(code) if is_code(code) => write_bare(f, code),
            other => other.fmt(f),
        }
    }
}

/// Writes code with its braces. A step alone and a variable have none.
pub(super) fn write(f: &mut fmt::Formatter<'_>, code: &Structure) -> fmt::Result {
    match code.functor {
        sym::CODE_STEP | sym::CODE_VAR => write_bare(f, code),
        _ => {
            f.write_str("{ ")?;
            write_bare(f, code)?;
            f.write_str(" }")
        }
    }
}

fn write_bare(f: &mut fmt::Formatter<'_>, code: &Structure) -> fmt::Result {
    match (code.functor, code.args.as_slice()) {
        (sym::CODE_PLAN, [label, trigger, context, body, more @ ..]) => {
            write_plan(f, [label, trigger, context, body], more)
        }
        (sym::CODE_RULE, [head, body]) => write!(f, "{head} :- {body}"),
        (sym::CODE_TRIGGER, [Value::Atom(operator), literal]) => write!(f, "{operator}{literal}"),
        (sym::CODE_BODY, _) => write_steps(f, code, &mut true),
        (sym::CODE_STEP, [Value::Atom(operator), term]) => match operator.as_str() {
            "." | "=" => term.fmt(f),
            operator => write!(f, "{operator}{term}"),
        },
        (sym::CODE_VAR, [inner, namespace, negated, annots]) => write_decorated(f, [inner, namespace, negated, annots]),
        _ => Ok(()),
    }
}

/// Writes the steps of a body, separated; `first` tells whether none was written before. A body in a step's place is
/// written as its steps are.
fn write_steps(f: &mut fmt::Formatter<'_>, body: &Structure, first: &mut bool) -> fmt::Result {
    let mut body = body;
    loop {
        let (step, rest) = match body.args.as_slice() {
            [step, rest] => (step, Some(rest)),
            [only] => (only, None),
            _ => return Ok(()),
        };
        write_step(f, step, first)?;
        match rest {
            Some(Value::Term(next)) if next.functor == sym::CODE_BODY => body = next,
            Some(last) => return write_step(f, last, first),
            None => return Ok(()),
        }
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &Value, first: &mut bool) -> fmt::Result {
    match step {
        Value::Atom(sym::CODE_BODY) => Ok(()),
        Value::Term(body) if body.functor == sym::CODE_BODY => write_steps(f, body, first),
        _ => {
            if !std::mem::replace(first, false) {
                f.write_str("; ")?;
            }
            Bare(step).fmt(f)
        }
    }
}

fn write_plan(f: &mut fmt::Formatter<'_>, parts: [&Value; 4], more: &[Value]) -> fmt::Result {
    let [label, trigger, context, body] = parts;
    if !matches!(label, Value::Atom(sym::NO_LABEL)) {
        write!(f, "@{label} ")?;
    }
    Bare(trigger).fmt(f)?;
    if !matches!(context, Value::Bool(true)) {
        write!(f, " : {}", Bare(context))?;
    }
    let (condition, sub_plans) = match more {
        [condition, sub_plans, ..] => (condition, sub_plans),
        _ => (&Value::Null, &Value::Nil),
    };
    if !matches!(condition, Value::Null) {
        write!(f, " <: {condition}")?;
    }
    let empty = matches!(body, Value::Atom(sym::CODE_BODY));
    if matches!(sub_plans, Value::Nil) {
        return if empty { Ok(()) } else { write!(f, " <- {}", Bare(body)) };
    }
    f.write_str(" {")?;
    if !empty {
        write!(f, "\n   <- {}.", Bare(body))?;
    }
    for plan in sub_plans.items() {
        write!(f, "\n   {}.", Bare(plan))?;
    }
    f.write_str("\n}")
}

fn write_decorated(f: &mut fmt::Formatter<'_>, parts: [&Value; 4]) -> fmt::Result {
    let [inner, namespace, negated, annots] = parts;
    if !matches!(namespace, Value::Null) {
        write!(f, "{namespace}::")?;
    }
    if matches!(negated, Value::Bool(true)) {
        f.write_char('~')?;
    }
    inner.fmt(f)?;
    match annots {
        Value::Nil => Ok(()),
        Value::Var(_) => write!(f, "[|{annots}]"),
        _ => annots.fmt(f),
    }
}
