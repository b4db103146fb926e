//! Changes of beliefs other than by `+` and `-`.

use std::sync::Arc;

use whimbrel_acl::{Annots, Structure, Value};

use crate::code::{TriggerKind, TriggerOp};
use crate::mind::{Event, matches_fact};
use crate::prover::Failure;
use crate::reason::{StepCall, StepProgress, step_event_of, structure, with_own_source};
use crate::syntax::quote;

/// `.asserta(Belief)`: like `+`, with an event of its own; for rules, too.
pub fn assert_first(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    assert(call, false)
}

/// `.assertz(Belief)`: adds at the end, without a source unless it names one.
pub fn assert_last(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    assert(call, true)
}

fn assert(call: &mut StepCall<'_, '_>, at_end: bool) -> Result<StepProgress, Failure> {
    let wrong = || Failure::wrong_argument(call.call, "first argument must be a ground literal (or rule).");
    let value = call.arg(0).clone();
    if quote::is_rule(&value) {
        let rule = quote::unquote_rule(&value).map_err(|e| Failure::new("internal_action", e.to_string()))?;
        call.cycle.add_rule(&rule, at_end);
        return Ok(StepProgress::Done);
    }
    if quote::is_code(&value) {
        return Err(wrong());
    }
    let mut literal = structure(value).ok_or_else(wrong)?;
    if !at_end {
        with_own_source(&mut literal);
    }
    let event = step_event_of(TriggerOp::Add, literal, TriggerKind::Belief);
    if let Some(changed) = call.cycle.mind.beliefs.add(event.literal.clone(), at_end) {
        call.cycle.add_event(Event { literal: changed, ..event });
    }
    Ok(StepProgress::Done)
}

/// `.abolish(Pattern)`: removes all beliefs that match, whatever their sources.
pub fn abolish(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let pattern = call.arg(0).clone();
    let plain = matches!(&pattern, Value::Term(term) if term.functor != quote::reserved::DECORATED)
        || matches!(pattern, Value::Atom(_) | Value::Bool(_));
    if !plain && !matches!(pattern, Value::Var(_) | Value::Term(_)) {
        return Err(Failure::wrong_argument(call.call, "first argument must be a literal or variable."));
    }
    let patterns: Vec<Structure> =
        if plain { structure(pattern).into_iter().collect() } else { all_like(call, &pattern) };
    for pattern in patterns {
        for gone in call.cycle.mind.beliefs.abolish(&pattern, call.cycle.bindings) {
            let literal = gone.with_annots(Annots::new());
            call.cycle.add_event(step_event_of(TriggerOp::Delete, literal, TriggerKind::Belief));
        }
    }
    Ok(StepProgress::Done)
}

/// Returns the beliefs that unify with a variable, which may have annotations.
fn all_like(call: &mut StepCall<'_, '_>, pattern: &Value) -> Vec<Structure> {
    let bindings = &mut *call.cycle.bindings;
    let mut matches = |fact: &Arc<Structure>| {
        let mark = bindings.mark();
        let matched = matches_fact(pattern, fact, bindings);
        bindings.undo(mark);
        matched
    };
    let facts = call.cycle.mind.beliefs.facts();
    facts.filter(|fact| matches(fact)).map(|fact| (**fact).clone()).collect()
}

/// `.perceive`: percepts are taken in as they come, so that nothing is left to do.
pub fn perceive(_call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    Ok(StepProgress::Done)
}

/// `.namespace_set_prop(Namespace, Key, Value)`.
pub fn set_namespace_property(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let Value::Atom(namespace) = *call.arg(0) else {
        return Err(Failure::wrong_argument(call.call, "first argument must be an atom (the namespace id)."));
    };
    let key = call
        .arg(1)
        .functor()
        .ok_or_else(|| Failure::new("unknown", format!("the property's name must be an atom, not {}", call.arg(1))))?;
    let value = call.cycle.bindings.closed(call.arg(2));
    let properties = &mut call.cycle.mind.namespace_properties;
    properties.retain(|(of, known, _)| (*of, *known) != (namespace, key));
    properties.push((namespace, key, value));
    Ok(StepProgress::Done)
}
