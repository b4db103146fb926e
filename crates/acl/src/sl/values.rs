//! Trees to content values and back: the table in the module above.

use super::{
    ActionExpression, ActionOp, BinaryOp, ContentExpression, Identifying, ModalOp, Quantifier, ReferentialOp,
    SlContent, SlTerm, Wff, is_word,
};
use crate::codec::EncodeError;
use crate::codec::date::{self, FipaTime};
use crate::limits::SL_DEPTH_MAX;
use crate::tokens::is_bare;
use crate::{Symbol, Text, Value, Var};

/// Decodes a content as the list of its expressions.
pub(super) fn from_content(content: &SlContent) -> Value {
    let mut reader = SlReader::default();
    let expression = |expression: &ContentExpression| match expression {
        ContentExpression::Identifying(expression) => reader.identifying(expression),
        ContentExpression::Action(action) => reader.action(action),
        ContentExpression::Proposition(formula) => reader.formula(formula),
    };
    Value::list(content.expressions.iter().map(expression).collect::<Vec<_>>())
}

/// Trees to values. Knows the variables met so far: their slots are the order of their first appearance.
#[derive(Default)]
struct SlReader {
    variables: Vec<Symbol>,
}

impl SlReader {
    fn variable(&mut self, name: Symbol) -> Value {
        let known = self.variables.iter().position(|other| *other == name);
        let slot = known.unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        });
        Value::Var(Var { slot: slot as u32, name })
    }

    fn identifying(&mut self, expression: &Identifying) -> Value {
        let parts = [self.term(&expression.term), self.formula(&expression.description)];
        Value::term(expression.operator.word(), parts)
    }

    fn action(&mut self, action: &ActionExpression) -> Value {
        match action {
            ActionExpression::Action(agent, term) => Value::term("action", [self.term(agent), self.term(term)]),
            ActionExpression::Either(one, other) => Value::term("|", [self.action(one), self.action(other)]),
            ActionExpression::Then(first, next) => Value::term(";", [self.action(first), self.action(next)]),
        }
    }

    fn formula(&mut self, formula: &Wff) -> Value {
        match formula {
            Wff::True => Value::Bool(true),
            Wff::False => Value::Bool(false),
            Wff::Symbol(name) => Value::atom(*name),
            Wff::Predicate(name, arguments) => Value::term(*name, self.terms(arguments)),
            Wff::Equal(one, other) => Value::term("=", [self.term(one), self.term(other)]),
            Wff::Result(action, result) => Value::term("result", [self.term(action), self.term(result)]),
            Wff::Not(formula) => Value::term("not", [self.formula(formula)]),
            Wff::Binary(operator, one, other) => Value::term(operator.word(), [self.formula(one), self.formula(other)]),
            Wff::Quantified(quantifier, variable, formula) => {
                Value::term(quantifier.word(), [self.variable(*variable), self.formula(formula)])
            }
            Wff::Modal(operator, agent, formula) => {
                Value::term(operator.word(), [self.term(agent), self.formula(formula)])
            }
            Wff::Happens(operator, action, formula) => {
                let action = self.action(action);
                let formula = formula.as_ref().map(|formula| self.formula(formula));
                Value::term(operator.word(), [action].into_iter().chain(formula))
            }
        }
    }

    fn terms(&mut self, terms: &[SlTerm]) -> Vec<Value> {
        terms.iter().map(|term| self.term(term)).collect()
    }

    fn term(&mut self, term: &SlTerm) -> Value {
        match term {
            SlTerm::Variable(name) => self.variable(*name),
            SlTerm::Integer(n) => Value::Int(*n),
            SlTerm::Float(n) => Value::Num(*n),
            SlTerm::Word(name) => Value::atom(*name),
            SlTerm::Literal(text) => Value::Str(text.clone()),
            SlTerm::Bytes(bytes) => Value::from(bytes.clone()),
            SlTerm::Time(text) => time_value(text),
            // A record, so that it differs from a word.
            SlTerm::Function(name, arguments) if arguments.is_empty() => Value::record(*name, []),
            SlTerm::Function(name, arguments) => Value::term(*name, self.terms(arguments)),
            SlTerm::Frame(name, parameters) => Value::record(
                *name,
                parameters.iter().map(|(name, value)| (*name, self.term(value))).collect::<Vec<_>>(),
            ),
            SlTerm::Action(action) => self.action(action),
            SlTerm::Sequence(items) => Value::list(self.terms(items)),
            SlTerm::Set(items) => Value::term("set", self.terms(items)),
            SlTerm::Identifying(expression) => self.identifying(expression),
        }
    }
}

/// Returns a time's value; a time that no calendar has stays text.
fn time_value(text: &str) -> Value {
    let duration = |ms: i64| Value::term("duration", [Value::Int(ms)]);
    match date::read(text, 0) {
        Ok(FipaTime::Absolute(ms)) => Value::term("datetime", [Value::Int(ms as i64)]),
        Ok(FipaTime::After(ms)) => duration(ms as i64),
        Ok(FipaTime::Before(ms)) => duration(-(ms as i64)),
        Err(_) => Value::from(text),
    }
}

/// Returns the content of a list of expressions, or of one.
pub(super) fn to_content(value: &Value) -> Result<SlContent, EncodeError> {
    let expressions: Vec<&Value> = if value.is_list() { proper_items(value)? } else { vec![value] };
    if expressions.is_empty() {
        return Err(EncodeError::Inexpressible("a content without an expression".to_owned()));
    }
    let expression = |value: &&Value| SlWriter { depth: 1 }.content_expression(value);
    Ok(SlContent { expressions: expressions.iter().map(expression).collect::<Result<_, _>>()? })
}

/// Returns a list's elements, if it ends as lists do.
fn proper_items(list: &Value) -> Result<Vec<&Value>, EncodeError> {
    let mut items = list.items();
    let all = items.by_ref().collect();
    if matches!(items.tail(), Value::Nil) { Ok(all) } else { Err(inexpressible(list)) }
}

fn inexpressible(value: &Value) -> EncodeError {
    EncodeError::Inexpressible(value.to_string().chars().take(80).collect())
}

/// Values to trees, this many brackets down.
#[derive(Clone, Copy)]
struct SlWriter {
    depth: usize,
}

impl SlWriter {
    fn down(self) -> Result<Self, EncodeError> {
        match self.depth < SL_DEPTH_MAX {
            true => Ok(Self { depth: self.depth + 1 }),
            false => Err(EncodeError::TooDeep { what: "SL content", max: SL_DEPTH_MAX }),
        }
    }

    /// Returns functor and arguments of a term without namespace, negation and annotations.
    fn plain(self, value: &Value) -> Option<(&'static str, &[Value])> {
        match value {
            Value::Term(term) if term.is_plain() => Some((term.functor.as_str(), &term.args)),
            _ => None,
        }
    }

    fn content_expression(self, value: &Value) -> Result<ContentExpression, EncodeError> {
        if let Some(expression) = self.identifying(value)? {
            return Ok(ContentExpression::Identifying(expression));
        }
        if let Some(action) = self.action(value)? {
            return Ok(ContentExpression::Action(action));
        }
        Ok(ContentExpression::Proposition(self.formula(value)?))
    }

    fn identifying(self, value: &Value) -> Result<Option<Identifying>, EncodeError> {
        let Some((name, [term, description])) = self.plain(value) else { return Ok(None) };
        let operator = ReferentialOp::of_word(name).filter(|_| description.is_literal());
        let Some(operator) = operator else { return Ok(None) };
        let inner = self.down()?;
        Ok(Some(Identifying { operator, term: inner.term(term)?, description: inner.formula(description)? }))
    }

    /// Checks whether a value has the form of an action. To try to write it and backtrack would take time that
    /// doubles with each level.
    fn is_action(self, value: &Value) -> Result<bool, EncodeError> {
        let inner = self.down()?;
        Ok(match self.plain(value) {
            Some(("action", [_, _])) => true,
            Some(("|" | ";", [one, other])) => inner.is_action(one)? && inner.is_action(other)?,
            _ => false,
        })
    }

    fn action(self, value: &Value) -> Result<Option<ActionExpression>, EncodeError> {
        Ok(match self.is_action(value)? {
            true => Some(self.certain_action(value)?),
            false => None,
        })
    }

    fn certain_action(self, value: &Value) -> Result<ActionExpression, EncodeError> {
        let Some((name, [one, other])) = self.plain(value) else { return Err(inexpressible(value)) };
        let inner = self.down()?;
        if name == "action" {
            return Ok(ActionExpression::Action(inner.term(one)?, inner.term(other)?));
        }
        let (one, other) = (Box::new(inner.certain_action(one)?), Box::new(inner.certain_action(other)?));
        Ok(if name == "|" { ActionExpression::Either(one, other) } else { ActionExpression::Then(one, other) })
    }

    fn formula(self, value: &Value) -> Result<Wff, EncodeError> {
        match value {
            Value::Bool(true) => return Ok(Wff::True),
            Value::Bool(false) => return Ok(Wff::False),
            Value::Atom(name) => return Ok(Wff::Symbol(*name)),
            _ => {}
        }
        let Some((name, arguments)) = self.plain(value) else { return Err(inexpressible(value)) };
        let inner = self.down()?;
        if let Some(formula) = inner.compound(name, arguments)? {
            return Ok(formula);
        }
        let terms: Vec<SlTerm> = arguments.iter().map(|argument| inner.term(argument)).collect::<Result<_, _>>()?;
        match terms.is_empty() {
            true => Ok(Wff::Symbol(Symbol::new(name))),
            false => Ok(Wff::Predicate(Symbol::new(name), terms)),
        }
    }

    /// Returns the formula of an operator with as many operands as it has; `None` if it is a predicate like others.
    fn compound(self, name: &str, arguments: &[Value]) -> Result<Option<Wff>, EncodeError> {
        let formula = |value| Ok::<_, EncodeError>(Box::new(self.formula(value)?));
        Ok(match arguments {
            [one] if name == "not" => Some(Wff::Not(formula(one)?)),
            [one, other] if name == "=" => Some(Wff::Equal(self.term(one)?, self.term(other)?)),
            [one, other] if name == "result" => Some(Wff::Result(self.term(one)?, self.term(other)?)),
            [action, more @ ..] if more.len() < 2 && ActionOp::of_word(name).is_some() => {
                match (ActionOp::of_word(name), self.action(action)?) {
                    (Some(operator), Some(action)) => {
                        let then = more.first().map(formula).transpose()?;
                        Some(Wff::Happens(operator, action, then))
                    }
                    _ => None,
                }
            }
            [one, other] => match (BinaryOp::of_word(name), Quantifier::of_word(name), ModalOp::of_word(name), one) {
                (Some(operator), ..) => Some(Wff::Binary(operator, formula(one)?, formula(other)?)),
                (_, Some(quantifier), _, Value::Var(var)) => {
                    Some(Wff::Quantified(quantifier, variable_name(*var)?, formula(other)?))
                }
                (_, _, Some(operator), agent) => Some(Wff::Modal(operator, self.term(agent)?, formula(other)?)),
                _ => None,
            },
            _ => None,
        })
    }

    fn terms<'v>(self, values: impl IntoIterator<Item = &'v Value>) -> Result<Vec<SlTerm>, EncodeError> {
        values.into_iter().map(|value| self.term(value)).collect()
    }

    fn term(self, value: &Value) -> Result<SlTerm, EncodeError> {
        Ok(match value {
            Value::Bool(truth) => SlTerm::Word(Symbol::new(if *truth { "true" } else { "false" })),
            Value::Int(n) => SlTerm::Integer(*n),
            Value::Num(n) if n.is_finite() => SlTerm::Float(*n),
            Value::Atom(name) if name.as_str() == "set" => SlTerm::Set(Vec::new()),
            Value::Atom(name) if is_word(name.as_str()) => SlTerm::Word(*name),
            Value::Atom(name) => SlTerm::Literal(Text::from(name.as_str())),
            Value::Str(text) => SlTerm::Literal(text.clone()),
            Value::Nil | Value::List(_) => SlTerm::Sequence(self.down()?.terms(proper_items(value)?)?),
            Value::Var(var) => SlTerm::Variable(variable_name(*var)?),
            Value::Record(record) if record.fields.is_empty() => SlTerm::Function(record.name, Vec::new()),
            Value::Record(record) => {
                let inner = self.down()?;
                let field = |(name, value): &(Symbol, Value)| {
                    let writable = is_bare(&format!(":{name}")) && !name.as_str().is_empty();
                    if writable { Ok((*name, inner.term(value)?)) } else { Err(inexpressible(value)) }
                };
                SlTerm::Frame(record.name, record.fields.iter().map(field).collect::<Result<_, _>>()?)
            }
            Value::Term(_) => self.compound_term(value)?,
            other => return Err(inexpressible(other)),
        })
    }

    fn compound_term(self, value: &Value) -> Result<SlTerm, EncodeError> {
        if let Some(expression) = self.identifying(value)? {
            return Ok(SlTerm::Identifying(Box::new(expression)));
        }
        if let Some(action) = self.action(value)? {
            return Ok(SlTerm::Action(Box::new(action)));
        }
        let Some((name, arguments)) = self.plain(value) else { return Err(inexpressible(value)) };
        if let ("datetime" | "duration", [Value::Int(ms)]) = (name, arguments)
            && let Some(text) = time_text(name, *ms)
        {
            return Ok(SlTerm::Time(text));
        }
        let terms = self.down()?.terms(arguments)?;
        Ok(if name == "set" { SlTerm::Set(terms) } else { SlTerm::Function(Symbol::new(name), terms) })
    }
}

fn time_text(name: &str, ms: i64) -> Option<Text> {
    let text = match (name, ms) {
        ("datetime", 0..) => date::write(ms.unsigned_abs()),
        ("duration", 0..) => date::write_duration(ms.unsigned_abs()).map(|text| format!("+{text}")),
        ("duration", _) => date::write_duration(ms.unsigned_abs()).map(|text| format!("-{text}")),
        _ => None,
    };
    text.map(Text::from)
}

/// Returns a variable's name, if it can be written.
fn variable_name(var: Var) -> Result<Symbol, EncodeError> {
    let text = format!("?{}", var.name);
    if text.len() > 1 && is_bare(&text) { Ok(var.name) } else { Err(inexpressible(&Value::Var(var))) }
}
