//! Lists, and strings as lists of characters.

use whimbrel_acl::Value;

use super::{Elements, Outcome, bad_pattern, each_part, failure, is_variable, nonsense, patterns, text_of};
use crate::prover::{ActionCall, Failure, QueryAnswer};

/// Returns the number of elements or characters; `None` if the value has no length.
fn size(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Nil | Value::List(_) => value.items().count(),
        Value::Str(text) => text.chars().count(),
        Value::Object(object) => super::containers::size(&object.contents()),
        Value::Map(pairs) => pairs.len(),
        _ => return None,
    })
}

/// `.length(ListOrStringOrContainer, N)`; a list's open tail does not count.
pub fn length(call: &mut ActionCall<'_, '_>) -> Outcome {
    match size(call.arg(0)) {
        Some(size) => call.unify(1, &Value::Num(size as f64)),
        None => Ok(QueryAnswer::No),
    }
}

/// `.length(ListOrStringOrContainer)` in an expression.
pub fn length_function(call: &mut ActionCall<'_, '_>) -> Option<Value> {
    size(call.arg(0)).map(|size| Value::Num(size as f64))
}

/// `.empty(ListOrStringOrContainer)`
pub fn empty(call: &mut ActionCall<'_, '_>) -> Outcome {
    Ok(match call.arg(0) {
        Value::List(_) => false,
        other => size(other) == Some(0),
    }
    .into())
}

/// `.concat(X1, .., Xn, R)`: lists to a list, anything else to a string.
pub fn concat(call: &mut ActionCall<'_, '_>) -> Outcome {
    let Some((last, parts)) = call.args.split_last() else { return Err(nonsense("there is nothing to join")) };
    if parts.first().is_some_and(Value::is_list) {
        if let Some(place) = parts.iter().position(|part| !part.is_list()) {
            return Err(call.wrong(&format!("arg[{place}] is not a list")));
        }
        if !last.is_list() && !is_variable(last) {
            return Err(failure(format!("Last argument of concat '{last}'is not a list nor a variable.")));
        }
        let joined = join_lists(parts);
        return Ok(call.bindings.unify(last, &joined).into());
    }
    let parts = if parts.is_empty() { call.args } else { parts };
    let joined = Value::from(join_texts(parts));
    Ok(match last {
        Value::Str(_) => *last == joined,
        other if is_variable(other) => call.bindings.unify(last, &joined),
        other => Value::from(other.to_string()) == joined,
    }
    .into())
}

/// Joins lists, sharing the last one. A list with an open tail ends the result.
fn join_lists(parts: &[Value]) -> Value {
    let Some((last, parts)) = parts.split_last() else { return Value::Nil };
    let mut joined = Vec::new();
    for part in parts {
        let mut items = part.items();
        joined.extend(items.by_ref().cloned());
        if !matches!(items.tail(), Value::Nil) {
            return Value::list_with_tail(joined, items.tail().clone());
        }
    }
    Value::list_with_tail(joined, last.clone())
}

fn join_texts(parts: &[Value]) -> String {
    let mut joined = String::new();
    for part in parts {
        match part {
            Value::Atom(name) => joined.push_str(unquoted(name.as_str())),
            other => joined.push_str(&text_of(other)),
        }
    }
    joined
}

/// Returns an atom's name without its quotes.
fn unquoted(name: &str) -> &str {
    name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name)
}

/// `.delete(Element, List, R)`, `.delete(Position, ListOrString, R)`, `.delete(From, To, ListOrString, R)`,
/// `.delete(Pattern, Text, R)`
pub fn delete(call: &mut ActionCall<'_, '_>) -> Outcome {
    let args = call.args;
    let (result, place) = match (args.first(), args.get(1)) {
        (Some(Value::Num(from)), Some(Value::Num(to))) if args.len() == 4 => {
            (delete_places(call.arg(2), *from as i64, *to as i64), 3)
        }
        (Some(Value::Num(at)), Some(from)) => (delete_places(from, *at as i64, (*at as i64).saturating_add(1)), 2),
        (Some(Value::Str(pattern)), Some(text)) => {
            let left = patterns::replace_all(&text_of(text), pattern, "").ok_or_else(|| bad_pattern(pattern))?;
            (Some(Value::from(left)), 2)
        }
        (Some(element), Some(list)) if list.is_list() => (Some(delete_elements(call, element, list)), 2),
        _ => (None, 0),
    };
    match result {
        Some(result) => call.unify(place, &result),
        None => Err(failure("Incorrect use of the internal action '.delete' (see documentation).")),
    }
}

/// Removes the places from `from` up to `to`; `None` for anything but a list or string.
fn delete_places(whole: &Value, from: i64, to: i64) -> Option<Value> {
    if let Value::Str(text) = whole {
        let length = text.chars().count() as i64;
        if from < 0 || from > length || to > length || to < 0 {
            return Some(whole.clone());
        }
        let left = text.chars().take(from as usize).chain(text.chars().skip(to as usize));
        return Some(Value::from(left.collect::<String>()));
    }
    let kept = (0..).zip(whole.items()).filter(|(place, _)| *place < from || *place >= to);
    whole.is_list().then(|| Value::list(kept.map(|(_, item)| item.clone()).collect::<Vec<_>>()))
}

/// Removes the elements that unify with `element`. Bindings of the first one hold for the others, but not afterwards.
fn delete_elements(call: &mut ActionCall<'_, '_>, element: &Value, list: &Value) -> Value {
    let mut kept = Vec::new();
    let before = call.bindings.mark();
    for item in list.items() {
        let mark = call.bindings.mark();
        if !call.bindings.unify(element, item) {
            call.bindings.undo(mark);
            kept.push(item.clone());
        }
    }
    call.bindings.undo(before);
    Value::list(kept)
}

/// `.reverse(ListOrString, R)`
pub fn reverse(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (whole, last) = (call.arg(0), call.arg(1));
    let (reversed, fits, kind) = match whole {
        Value::Str(text) => {
            let reversed = text.chars().rev().collect::<String>();
            (Value::from(reversed), matches!(last, Value::Str(_)), "string")
        }
        list if list.is_list() => {
            let mut items = list.items();
            let reversed: Vec<Value> = items.by_ref().cloned().collect();
            let reversed = Value::list_with_tail(reversed.into_iter().rev(), items.tail().clone());
            (reversed, last.is_list(), "list")
        }
        other => {
            return Err(call.wrong(&format!("first argument of .reverse '{other}' must be a string or a list")));
        }
    };
    if !fits && !is_variable(last) {
        return Err(call.wrong(&format!("last argument '{last}' must be a {kind} or a variable.")));
    }
    call.unify(1, &reversed)
}

/// `.nth(Index, ListOrString, Element)`; with an unbound index each place in turn.
pub fn nth(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (index, whole) = (call.arg(0), call.arg(1));
    if !is_variable(index) && index.as_f64().is_none() {
        return Err(call.wrong(&format!("the first argument should be numeric or a variable -- not '{index}'.")));
    }
    if !whole.is_list() && !matches!(whole, Value::Str(_)) {
        return Err(call.wrong(&format!("the second argument should be a list or string and not '{whole}'.")));
    }
    match index.as_f64() {
        Some(index) => {
            let element = element_at(whole, index as i64)?;
            call.unify(2, &element)
        }
        None => {
            let target = Value::list([index.clone(), call.arg(2).clone()]);
            let numbered = |(place, item)| Value::list([Value::Num(f64::from(place)), item]);
            Ok(match whole {
                Value::Str(text) => {
                    let text = text.clone();
                    let letters = text.chars().map(|letter| Value::from(letter.to_string())).collect::<Vec<_>>();
                    QueryAnswer::Each(target, Box::new((0_u32..).zip(letters).map(numbered)))
                }
                list => each_part(&target, (0_u32..).zip(Elements(list.clone())).map(numbered)),
            })
        }
    }
}

fn element_at(whole: &Value, index: i64) -> Result<Value, Failure> {
    let place = usize::try_from(index).ok();
    let found = match whole {
        Value::Str(text) => place.and_then(|place| text.chars().nth(place)).map(|c| Value::from(c.to_string())),
        list => place.and_then(|place| list.items().nth(place).cloned()),
    };
    found.ok_or_else(|| {
        let size = size(whole).unwrap_or_default();
        failure(format!("nth: index {index} is out of bounds ({size})"))
    })
}

/// `.member(X, ListOrSetOrQueue)`, each in turn.
pub fn member(call: &mut ActionCall<'_, '_>) -> Outcome {
    let (wanted, whole) = (call.arg(0), call.arg(1));
    match whole {
        Value::Nil => Ok(QueryAnswer::No),
        Value::List(_) => Ok(each_part(wanted, Elements(whole.clone()))),
        Value::Object(object) => super::containers::member(wanted, object)
            .ok_or_else(|| call.wrong("second argument must be a list or a set")),
        _ => Err(call.wrong("second argument must be a list or a set")),
    }
}

/// `.sort(List, R)`: in the standard order, equal ones stay in their order.
pub fn sort(call: &mut ActionCall<'_, '_>) -> Outcome {
    let mut items: Vec<Value> = call.list(0, "first argument must be a list")?.items().cloned().collect();
    items.sort();
    call.unify(1, &Value::list(items))
}

/// `.shuffle(List, R)`
pub fn shuffle(call: &mut ActionCall<'_, '_>) -> Outcome {
    let mut items: Vec<Value> = call.list(0, "first argument must be a list")?.items().cloned().collect();
    let mind = call.solver.known.mind;
    for place in (1..items.len()).rev() {
        let other = (mind.random() * (place + 1) as f64) as usize;
        items.swap(place, other.min(place));
    }
    call.unify(1, &Value::list(items))
}
