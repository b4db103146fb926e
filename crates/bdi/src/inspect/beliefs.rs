//! Beliefs and rules.

use whimbrel_acl::value::Bare;
use whimbrel_acl::{Annot, Annots, Structure, Value, Var};
use whimbrel_platform::inspection::{BeliefSeen, Inspection, Texts};
use whimbrel_platform::limits::{INSPECTION_BELIEFS_EACH_MAX, INSPECTION_BELIEFS_MAX};

use super::Inspector;
use crate::code::CompiledRule;
use crate::logic::is_source;
use crate::mind::Entry;
use crate::syntax::quote;

impl Inspector<'_> {
    /// Adds beliefs by predicate, each predicate's in query order.
    pub(super) fn see_beliefs(&self, seen: &mut Inspection, texts: &mut Texts) {
        for (_, table) in self.mind.beliefs.tables() {
            let before = seen.beliefs.len();
            for entry in table.iter().take(INSPECTION_BELIEFS_EACH_MAX) {
                if seen.beliefs.len() >= INSPECTION_BELIEFS_MAX || texts.is_full() {
                    break;
                }
                seen.beliefs.push(match entry {
                    Entry::Fact(fact) => belief(fact, texts),
                    Entry::Rule(rule) => see_rule(rule.resolve(self.image), texts),
                });
            }
            seen.cut.beliefs += (table.len() - (seen.beliefs.len() - before)) as u64;
        }
    }
}

fn belief(fact: &Structure, texts: &mut Texts) -> BeliefSeen {
    let (sources, others): (Vec<&Annot>, Vec<&Annot>) = fact.annots.iter().partition(|annot| is_source(annot));
    BeliefSeen {
        text: texts.of(readable(fact, Annots::new())),
        namespace: fact.namespace.to_string(),
        sources: sources.into_iter().map(|source| source_text(source, texts)).collect(),
        annotations: others.into_iter().map(|annot| texts.of(annot.to_value())).collect(),
        rule: false,
    }
}

/// Depth to which texts in a belief are searched for.
const READABLE_LEVELS_MAX: u32 = 64;

/// Makes a belief readable for a parser, for example to be forgotten: AgentSpeak prints texts as they are, with
/// whatever quotes they contain.
fn readable(fact: &Structure, annots: Annots) -> Structure {
    let args = match fact.levels() {
        ..=READABLE_LEVELS_MAX => fact.args.iter().map(escaped).collect(),
        _ => fact.args.clone(),
    };
    Structure::full(fact.namespace, fact.negated, fact.functor, args, annots)
}

fn escaped(value: &Value) -> Value {
    match value {
        Value::Str(text) if text.contains(['"', '\n']) => Value::from(text.replace('"', "\\\"").replace('\n', "\\n")),
        Value::List(_) => {
            let mut items = value.items();
            let all: Vec<Value> = items.by_ref().map(escaped).collect();
            Value::list_with_tail(all, items.tail().clone())
        }
        Value::Term(term) => Value::from(readable(term, term.annots.clone())),
        other => other.clone(),
    }
}

/// Writes `source(amy)` as `amy`.
fn source_text(source: &Annot, texts: &mut Texts) -> String {
    match source {
        Annot::Source(name) => texts.of(name),
        other => {
            let value = other.to_value();
            texts.of(value.args().first().unwrap_or(&value))
        }
    }
}

fn see_rule(rule: &CompiledRule, texts: &mut Texts) -> BeliefSeen {
    let written = quote::quote_rule(&rule.source, &mut |name| Var { slot: 0, name });
    BeliefSeen {
        text: texts.of(Bare(&written)),
        namespace: rule.key.namespace.to_string(),
        sources: Vec::new(),
        annotations: Vec::new(),
        rule: true,
    }
}
