//! Strings.

use whimbrel_acl::{Args, Structure, Symbol, Value, Var};

use super::{Outcome, bad_pattern, failure, is_variable, nonsense, patterns, text_of};
use crate::logic::arith;
use crate::prover::{ActionCall, Failure, QueryAnswer};
use crate::syntax::ast::Term;
use crate::syntax::{self, quote};

/// `.substring(Part, Whole)`: true if the text contains the part. `.substring(Part, Whole, Start [, End])`: each
/// place, with the last character's place as `End`. With an unbound part and a bound start: the text there, `End`
/// excluded.
pub fn substring(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (part, whole) = (call.arg(0), call.arg(1));
    if call.args.len() == 2 {
        return Ok(text_of(whole).contains(&*text_of(part)).into());
    }
    if let Value::Num(start) = call.arg(2) {
        let (open, known) = if is_variable(part) { (0, whole) } else { (1, part) };
        if is_variable(call.arg(open)) {
            let end = call.args.get(3).map(|end| end.as_f64().ok_or_else(|| not_a_place(end))).transpose()?;
            let found = slice(&text_of(known), *start as i64, end.map(|end| end as i64));
            let found = found.ok_or_else(|| nonsense(format!("{known} has no such part: places count from 0")))?;
            return call.unify(open, &Value::from(found));
        }
    }
    let target = Value::list(call.args.iter().skip(2).cloned().collect::<Vec<_>>());
    let with_end = call.args.len() > 3;
    let (part, whole) = (text_of(part).into_owned(), text_of(whole).into_owned());
    let length = part.chars().count() as f64;
    let places = Occurrences { part, whole, at: 0, place: 0 }.map(move |start| {
        let start = start as f64;
        let places = [Value::Num(start), Value::Num(start + length - 1.0)];
        Value::list(places.into_iter().take(if with_end { 2 } else { 1 }).collect::<Vec<_>>())
    });
    Ok(QueryAnswer::Each(target, Box::new(places)))
}

fn not_a_place(value: &Value) -> Failure {
    nonsense(format!("{value} is no place in a text: places are numbers from 0"))
}

/// Returns the characters from `start` up to `end`; `None` if these are not places of the text.
fn slice(text: &str, start: i64, end: Option<i64>) -> Option<String> {
    let length = text.chars().count() as i64;
    let end = end.unwrap_or(length);
    let fits = 0 <= start && start <= end && end <= length;
    fits.then(|| text.chars().skip(start as usize).take((end - start) as usize).collect())
}

/// Places of a part in a text, counted in characters. The end of the text is no place.
struct Occurrences {
    part: String,
    whole: String,
    /// Byte to search from, and its place in characters.
    at: usize,
    place: usize,
}

impl Iterator for Occurrences {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let rest = self.whole.get(self.at..)?;
        let found = rest.find(self.part.as_str())?;
        let place = self.place + rest.get(..found)?.chars().count();
        let first = rest.get(found..)?.chars().next()?;
        self.at += found + first.len_utf8();
        self.place = place + 1;
        Some(place)
    }
}

/// `.upper_case(Term, R)`
pub fn upper_case(call: &mut ActionCall<'_, '_>) -> Outcome {
    let upper = text_of(call.arg(0)).to_uppercase();
    call.unify(1, &Value::from(upper))
}

/// `.lower_case(Term, R)`
pub fn lower_case(call: &mut ActionCall<'_, '_>) -> Outcome {
    let lower = text_of(call.arg(0)).to_lowercase();
    call.unify(1, &Value::from(lower))
}

/// `.replace(Term, Pattern, Replacement, R)`: all matches of a regular expression; `$1` in the replacement is its
/// first group.
pub fn replace(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (Value::Str(pattern), Value::Str(replacement)) = (call.arg(1), call.arg(2)) else {
        return Err(nonsense("the pattern and its replacement must be texts in quotes"));
    };
    let replaced =
        patterns::replace_all(&text_of(call.arg(0)), pattern, replacement).ok_or_else(|| bad_pattern(pattern))?;
    call.unify(3, &Value::from(replaced))
}

/// `.term2string(Term, String)`: writes the term, or reads it if it is a variable.
pub fn term2string(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (term, text) = (call.arg(0), call.arg(1));
    match (is_variable(term), text) {
        (false, Value::Str(text)) => Ok((term.to_string() == text.as_str()).into()),
        (false, text) if is_variable(text) => {
            let written = Value::from(term.to_string());
            call.unify(1, &written)
        }
        (true, text) if !is_variable(text) => {
            let text = text_of(text).into_owned();
            let read = read(call, &text);
            call.unify(0, &read)
        }
        _ => Err(failure("invalid case of term2string")),
    }
}

/// Reads the term in a text, with fresh variables; an atom with this text if it contains none.
fn read(call: &mut ActionCall<'_, '_>, text: &str) -> Value {
    let term = syntax::parse_term(text).or_else(|_| syntax::parse_formula(text));
    match term {
        Ok(term) => computed(&with_fresh_variables(call, &term)),
        Err(_) => Value::atom(text),
    }
}

/// Computes arithmetic in the value where possible, except in code.
fn computed(value: &Value) -> Value {
    match value {
        Value::Term(term) if !quote::is_code(value) => {
            let args: Args = term.args.iter().map(computed).collect();
            if let Some(number) = arith::evaluate(term.functor, &args) {
                return Value::Num(number);
            }
            Structure::full(term.namespace, term.negated, term.functor, args, term.annots.clone()).into_value()
        }
        Value::List(_) => {
            let mut items = value.items();
            let computed: Vec<Value> = items.by_ref().map(computed).collect();
            Value::list_with_tail(computed, items.tail().clone())
        }
        other => other.clone(),
    }
}

/// Builds a term as a value, with fresh variables for its variables.
pub fn with_fresh_variables(call: &mut ActionCall<'_, '_>, term: &Term) -> Value {
    let mut known: Vec<(Symbol, u32)> = Vec::new();
    quote::quote(term, &mut |name| {
        let slot = known.iter().find(|(other, _)| *other == name).map(|(_, slot)| *slot);
        let slot = slot.unwrap_or_else(|| {
            let slot = call.bindings.extend(1);
            known.push((name, slot));
            slot
        });
        Var { slot, name }
    })
}
