//! Beliefs, rules and namespaces as terms.

use whimbrel_acl::{Annot, Annots, Structure, Value, sym};

use super::{Outcome, is_variable, nonsense, open};
use crate::code::{CompiledRule, Key};
use crate::logic::is_source;
use crate::mind::{Entry, Table};
use crate::numbering::Numbering;
use crate::prover::{ActionCall, Failure, QueryAnswer};
use crate::syntax::quote;

/// Namespace of the plans and rules for messages, which no program counts as its own.
const KQML: &str = "kqml";

/// Builds a rule as a term, its variables numbered from 0.
fn rule_term(rule: &CompiledRule) -> Value {
    let mut names = Numbering::default();
    quote::quote_rule(&rule.source, &mut |name| quote::numbered(&mut names, name))
}

fn with_annots(literal: &Value, change: impl Fn(&[Annot]) -> Annots) -> Value {
    let annots = change(literal.annots());
    match literal {
        Value::Term(term) => term.with_annots(annots).into_value(),
        other => {
            let functor = other.functor().unwrap_or_default();
            Structure::full(sym::DEFAULT, false, functor, Default::default(), annots).into_value()
        }
    }
}

fn with_own_source(literal: &Value) -> Value {
    with_annots(literal, |annots| {
        let mut annots: Annots = annots.iter().cloned().collect();
        if !annots.iter().any(is_source) {
            annots.push(Annot::Source(sym::SELF));
        }
        annots
    })
}

fn without_sources(literal: &Value) -> Value {
    with_annots(literal, |annots| annots.iter().filter(|annot| !is_source(annot)).cloned().collect())
}

/// Builds a belief as a term: a fact, or the head of a rule that always holds, which is how facts with variables are
/// stored.
fn belief_term(entry: &Entry, call: &ActionCall<'_, '_>) -> Option<Value> {
    match entry {
        Entry::Fact(fact) => Some(Value::Term(fact.clone())),
        Entry::Rule(rule) => {
            let rule = rule.resolve(call.solver.known.image);
            if rule.source.body.is_some() {
                return None;
            }
            rule_term(rule).args().first().map(with_own_source)
        }
    }
}

fn no_literal(value: &Value) -> Failure {
    nonsense(format!("{value} is no literal"))
}

/// `.belief(Pattern)`: each belief that matches, without rules.
pub fn belief(call: &mut ActionCall<'_, '_>) -> Outcome {
    let pattern = call.arg(0);
    let beliefs = &call.solver.known.mind.beliefs;
    let found: Vec<Value> = if is_variable(pattern) {
        beliefs.tables().flat_map(|(_, table)| table.iter()).filter_map(|entry| belief_term(entry, call)).collect()
    } else {
        let key = Key::of_value(pattern).ok_or_else(|| no_literal(pattern))?;
        let image = call.solver.known.image;
        let mut candidates = beliefs.table(&key).map(|table| table.candidates_of(pattern.args()));
        let entries = std::iter::from_fn(|| candidates.as_mut()?.next(image));
        entries.filter_map(|entry| belief_term(entry, call)).collect()
    };
    Ok(QueryAnswer::Each(pattern.clone(), Box::new(found.into_iter())))
}

fn rules<'c>(call: &ActionCall<'c, '_>, table: &'c Table) -> impl Iterator<Item = &'c CompiledRule> {
    let image = call.solver.known.image;
    table.iter().filter_map(move |entry| match entry {
        Entry::Rule(rule) => Some(rule.resolve(image)),
        Entry::Fact(_) => None,
    })
}

/// `.list_rules`: prints the rules.
pub fn list_rules(call: &mut ActionCall<'_, '_>) -> Outcome {
    let known = call.solver.known;
    for (key, table) in known.mind.beliefs.tables() {
        if key.namespace.as_str() == KQML {
            continue;
        }
        for rule in rules(call, table) {
            if let [head, body] = rule_term(rule).args() {
                known.services.print(known.aid, &format!("{} :- {body}", with_own_source(head)));
            }
        }
    }
    Ok(QueryAnswer::Yes)
}

/// `.relevant_rules(Pattern, Rules)`: the rules whose head unifies with the pattern.
pub fn relevant_rules(call: &mut ActionCall<'_, '_>) -> Outcome {
    let pattern = call.arg(0).clone();
    let beliefs = &call.solver.known.mind.beliefs;
    let tables: Vec<&Table> = if is_variable(&pattern) {
        let own = |key: &Key| key.namespace.as_str() != KQML;
        beliefs.tables().filter(|(key, _)| own(key)).map(|(_, table)| table).collect()
    } else {
        let key = Key::of_value(&pattern).ok_or_else(|| no_literal(&pattern))?;
        beliefs.table(&key).into_iter().collect()
    };
    let mut found = Vec::new();
    for table in tables {
        for rule in rules(call, table).map(rule_term).collect::<Vec<_>>() {
            let [head, body] = rule.args() else { continue };
            let rule = Value::term(rule.functor().unwrap_or_default(), [without_sources(head), body.clone()]);
            let mark = call.bindings.mark();
            let opened = open(call.bindings, &rule);
            let relevant = opened.args().first().is_some_and(|head| call.bindings.unify(head, &pattern));
            call.bindings.undo(mark);
            if relevant {
                found.push(rule);
            }
        }
    }
    let found: Vec<Value> = found.iter().map(|rule| open(call.bindings, rule)).collect();
    call.unify(1, &Value::list(found))
}

/// `.namespace(N)`: each namespace that has beliefs.
pub fn namespace(call: &mut ActionCall<'_, '_>) -> Outcome {
    let mut namespaces = vec![Value::Atom(sym::DEFAULT), Value::atom(KQML)];
    for (key, _) in call.solver.known.mind.beliefs.tables() {
        let namespace = Value::Atom(key.namespace);
        if !namespaces.contains(&namespace) {
            namespaces.push(namespace);
        }
    }
    Ok(QueryAnswer::Each(call.arg(0).clone(), Box::new(namespaces.into_iter())))
}

/// `.namespace_get_prop(Namespace, Key [, Value [, Default]])`; each property if the key is unbound.
pub fn namespace_get_prop(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (Some(namespace), key) = (call.arg(0).functor(), call.arg(1)) else {
        return Err(nonsense(format!("the first argument must be a namespace, not {}", call.arg(0))));
    };
    let properties = &call.solver.known.mind.namespace_properties;
    let own = properties.iter().filter(|(owner, _, _)| *owner == namespace);
    if is_variable(key) {
        let target = Value::list([key.clone(), call.arg(2).clone()]);
        let with_value = call.args.len() > 2;
        let all: Vec<Value> = own
            .map(|(_, key, value)| {
                Value::list([Value::Atom(*key), if with_value { value.clone() } else { Value::Null }])
            })
            .collect();
        return Ok(QueryAnswer::Each(target, Box::new(all.into_iter())));
    }
    let found = own.filter(|(_, known, _)| key.functor() == Some(*known)).map(|(_, _, value)| value).next();
    match (found, call.args.get(3)) {
        (Some(value), _) if call.args.len() > 2 => {
            let value = open(call.bindings, &value.clone());
            call.unify(2, &value)
        }
        (None, Some(default)) => call.unify(2, default),
        _ => Ok(QueryAnswer::Yes),
    }
}
