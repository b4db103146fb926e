//! Parts of lists, longest first.

use whimbrel_acl::Value;

use super::{Outcome, each_part, is_variable};
use crate::logic::are_apart;
use crate::prover::{ActionCall, QueryAnswer};

/// Returns the length of a list that is not open. Returns `None` for an open list or a variable, which may have any
/// length.
fn known_length(part: &Value) -> Option<usize> {
    let mut items = part.items();
    let length = items.by_ref().count();
    matches!(items.tail(), Value::Nil).then_some(length)
}

/// Returns the list without its open tail, and its length.
fn closed(list: &Value) -> (Value, usize) {
    let mut items = list.items();
    let length = items.by_ref().count();
    match items.tail() {
        Value::Nil => (list.clone(), length),
        _ => (first_of(list, length), length),
    }
}

fn first_of(list: &Value, count: usize) -> Value {
    Value::list(list.items().take(count).cloned().collect::<Vec<_>>())
}

/// Returns a list after its first `count` elements, shared.
fn rest_of(list: &Value, count: usize) -> Value {
    let mut items = list.items();
    (0..count).for_each(|_| {
        items.next();
    });
    items.tail().clone()
}

/// `.prefix(P, ListOrString)`, longest first, down to the empty one.
pub fn prefix(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call)?;
    let (part, whole) = (call.arg(0), call.arg(1));
    if let Value::Str(text) = whole {
        let text = text.clone();
        let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        ends.push(text.len());
        let prefixes = ends.into_iter().rev().map(move |end| Value::from(text.get(..end).unwrap_or_default()));
        return Ok(QueryAnswer::Each(part.clone(), Box::new(prefixes)));
    }
    let (list, length) = closed(whole);
    let lengths = lengths_to_try(part, length);
    let prefixes = lengths.map(move |count| if count == length { list.clone() } else { first_of(&list, count) });
    Ok(each_part(part, prefixes))
}

/// `.suffix(S, ListOrString)`, longest first, down to the empty one.
pub fn suffix(call: &mut ActionCall<'_, '_>) -> Outcome {
    check(call)?;
    let (part, whole) = (call.arg(0), call.arg(1));
    if let Value::Str(text) = whole {
        let text = text.clone();
        let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        starts.push(text.len());
        let suffixes = starts.into_iter().map(move |start| Value::from(text.get(start..).unwrap_or_default()));
        return Ok(QueryAnswer::Each(part.clone(), Box::new(suffixes)));
    }
    let (list, length) = closed(whole);
    let lengths = lengths_to_try(part, length);
    // Each suffix is the rest of the one before.
    let (mut rest, mut have) = (list, length);
    let suffixes = lengths.map(move |count| {
        rest = rest_of(&rest, have - count);
        have = count;
        rest.clone()
    });
    Ok(each_part(part, suffixes))
}

/// Returns the possible lengths of a part of a list of `length` elements, greatest first.
fn lengths_to_try(part: &Value, length: usize) -> std::iter::Rev<std::ops::RangeInclusive<usize>> {
    let lengths = match known_length(part) {
        #[allow(clippy::reversed_empty_ranges, reason = "too long a part is no part: there is no length to try")]
        Some(wanted) if wanted > length => 1..=0,
        Some(wanted) => wanted..=wanted,
        None => 0..=length,
    };
    lengths.rev()
}

fn check(call: &ActionCall<'_, '_>) -> Result<(), crate::prover::Failure> {
    let (part, whole) = (call.arg(0), call.arg(1));
    if !part.is_list() && !matches!(part, Value::Str(_)) && !is_variable(part) {
        return Err(call.wrong("first argument must be a list, string, or a variable"));
    }
    if !whole.is_list() && !matches!(whole, Value::Str(_)) {
        return Err(call.wrong("second argument must be either a list or a string"));
    }
    Ok(())
}

/// `.sublist(S, List)`: adjacent elements; from each place the longest first, the empty list last.
pub fn sublist(call: &mut ActionCall<'_, '_>) -> Outcome {
    let part = call.arg(0);
    if !part.is_list() && !is_variable(part) {
        return Err(call.wrong("first argument must be a list or a variable"));
    }
    let whole = call.list(1, "second argument must be a list")?;
    let (list, length) = closed(whole);
    let first: Vec<Value> = part.items().cloned().collect();
    Ok(each_part(part, Sublists { rest: Some(list), length, next: length, wanted: known_length(part), first }))
}

/// Sublists of a list: from each place the longest first.
struct Sublists {
    /// List from the current place on; `None` at the end.
    rest: Option<Value>,
    /// Length of that list.
    length: usize,
    /// Length of the next sublist.
    next: usize,
    /// Only length of interest, if there is one.
    wanted: Option<usize>,
    /// Known beginning of the sublist.
    first: Vec<Value>,
}

impl Sublists {
    /// Returns true if no sublist of this length at the start of `rest` is of interest, before making one.
    fn is_ruled_out(&self, rest: &Value, length: usize) -> bool {
        length < self.first.len()
            || self.wanted.is_some_and(|wanted| wanted > length || wanted == 0)
            || self.first.iter().zip(rest.items()).any(|(wanted, item)| are_apart(wanted, item))
    }
}

impl Iterator for Sublists {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            let rest = self.rest.as_ref()?;
            if self.length == 0 {
                self.rest = None;
                return (self.first.is_empty() && self.wanted.is_none_or(|wanted| wanted == 0)).then_some(Value::Nil);
            }
            if self.next == 0 || self.is_ruled_out(rest, self.next) {
                self.rest = Some(rest_of(rest, 1));
                self.length -= 1;
                self.next = self.length;
                continue;
            }
            let count = self.wanted.unwrap_or(self.next);
            let found = if count == self.length { rest.clone() } else { first_of(rest, count) };
            self.next = count - 1;
            return Some(found);
        }
    }
}
