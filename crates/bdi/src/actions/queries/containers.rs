//! Maps, sets and queues: containers that change in place, held by reference. Maps are also values, as other languages
//! send them: those can be read, but not changed.
//!
//! Stored values are closed: their variables are their own, numbered from 0, and fresh each time a value is taken
//! out. No container is put into itself, directly or indirectly, so that walking over one always ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, MutexGuard};

use whimbrel_acl::value::{Contents, PriorityQueue, TermConversion};
use whimbrel_acl::{Object, Value};

use super::{Outcome, is_variable, nonsense, open};
use crate::prover::{ActionCall, Failure, QueryAnswer};

/// Returns the number of values (of a map, pairs).
pub fn size(contents: &Contents) -> usize {
    match contents {
        Contents::Map(pairs) => pairs.len(),
        Contents::Set(items) => items.len(),
        Contents::Queue(items) => items.len(),
        Contents::PriorityQueue(items) => items.len(),
    }
}

/// Answers `.member` for a set or queue; `None` for a map.
pub fn member(wanted: &Value, object: &Object) -> Option<QueryAnswer> {
    let contents = object.contents();
    if matches!(*contents, Contents::Map(_)) {
        return None;
    }
    if wanted.is_ground() {
        let found = match &*contents {
            Contents::Set(items) => items.contains(wanted),
            other => other.values().any(|item| item == wanted),
        };
        return Some(found.into());
    }
    let items = values(&contents);
    Some(QueryAnswer::Each(wanted.clone(), Box::new(items.into_iter())))
}

fn new(contents: Contents) -> Value {
    Value::Object(Arc::new(Object::new(contents)))
}

/// Returns the container that is argument `place`.
fn object<'c>(call: &ActionCall<'c, '_>, place: usize) -> Result<&'c Arc<Object>, Failure> {
    match call.args.get(place) {
        Some(Value::Object(object)) => Ok(object),
        Some(Value::Map(_)) => {
            Err(nonsense("the map is a value, which does not change: .map.copy makes a map that does"))
        }
        _ => Err(nonsense(format!("{} is no map, set or queue", call.arg(place)))),
    }
}

/// Makes the failure of putting a container into itself.
fn cyclic() -> Failure {
    nonsense("a container cannot be put into itself")
}

/// Makes the failure for a container of another kind.
fn not_a(kind: &str) -> Failure {
    nonsense(format!("the container is no {kind}"))
}

/// Returns the container that is argument 0; binds a variable to a new one.
fn object_or_new(call: &mut ActionCall<'_, '_>, empty: fn() -> Contents) -> Result<Arc<Object>, Failure> {
    if !is_variable(call.arg(0)) {
        return object(call, 0).cloned();
    }
    let created = Arc::new(Object::new(empty()));
    call.bindings.unify(call.args.first().unwrap_or(&Value::Null), &Value::Object(Arc::clone(&created)));
    Ok(created)
}

/// Closes argument `place` to be put into `target`.
fn closed(call: &ActionCall<'_, '_>, place: usize, target: &Arc<Object>) -> Result<Value, Failure> {
    let value = call.bindings.closed(call.args.get(place).ok_or_else(|| nonsense("what to put in is missing"))?);
    if holds(&value, target) { Err(cyclic()) } else { Ok(value) }
}

/// Returns true if a value is the container, or contains it anywhere.
fn holds(value: &Value, target: &Arc<Object>) -> bool {
    if !matches!(value, Value::Object(_) | Value::List(_) | Value::Term(_)) {
        return false;
    }
    // Not by recursion: terms may be deeper than the stack.
    let mut rest = vec![value.clone()];
    while let Some(value) = rest.pop() {
        match &value {
            Value::Object(object) if Arc::ptr_eq(object, target) => return true,
            Value::Object(object) => rest.extend(object.contents().values().cloned()),
            Value::List(cell) => rest.extend([cell.tail.clone(), cell.head.clone()]),
            Value::Term(term) => rest.extend(term.args.iter().cloned()),
            _ => {}
        }
    }
    false
}

/// Closes the values in argument `place`, a list or a container, to be put into `target`.
fn closed_items(call: &ActionCall<'_, '_>, place: usize, target: &Arc<Object>) -> Result<Vec<Value>, Failure> {
    let items: Vec<Value> = match call.arg(place) {
        Value::Object(object) if Arc::ptr_eq(object, target) => return Ok(values(&target.contents())),
        Value::Object(object) => values(&object.contents()),
        list if list.is_list() => list.items().map(|item| call.bindings.closed(item)).collect(),
        other => return Err(nonsense(format!("{other} is neither a list nor a container"))),
    };
    if items.iter().any(|item| holds(item, target)) { Err(cyclic()) } else { Ok(items) }
}

fn values(contents: &Contents) -> Vec<Value> {
    contents.values().map(taken).collect()
}

/// Returns a container's value as a term: other agents than minds may have put integers in.
fn taken(value: &Value) -> Value {
    TermConversion::default().value(value.clone())
}

/// Unifies argument `place` with a value taken out.
fn give(call: &mut ActionCall<'_, '_>, place: usize, value: &Value) -> Outcome {
    let value = open(call.bindings, &taken(value));
    call.unify(place, &value)
}

fn map(contents: &mut Contents) -> Result<&mut BTreeMap<Value, Value>, Failure> {
    if let Contents::Map(pairs) = contents { Ok(pairs) } else { Err(not_a("map")) }
}

fn set(contents: &mut Contents) -> Result<&mut BTreeSet<Value>, Failure> {
    if let Contents::Set(items) = contents { Ok(items) } else { Err(not_a("set")) }
}

fn empty_map() -> Contents {
    Contents::Map(BTreeMap::new())
}

fn empty_set() -> Contents {
    Contents::Set(BTreeSet::new())
}

/// `.map.clear(M)`, `.set.clear(S)`, `.queue.clear(Q)`
pub fn clear(call: &mut ActionCall<'_, '_>) -> Outcome {
    match &mut *object(call, 0)?.contents() {
        Contents::Map(pairs) => pairs.clear(),
        Contents::Set(items) => items.clear(),
        Contents::Queue(items) => items.clear(),
        Contents::PriorityQueue(items) => items.clear(),
    }
    Ok(QueryAnswer::Yes)
}

/// `.map.copy(M, Copy)`, `.set.copy(S, Copy)`, `.queue.copy(Q, Copy)`
pub fn copy(call: &mut ActionCall<'_, '_>) -> Outcome {
    let contents = match call.args.first() {
        Some(Value::Map(pairs)) => Contents::Map(pairs.iter().cloned().collect()),
        _ => object(call, 0)?.contents().clone(),
    };
    call.unify(1, &new(contents))
}

/// `.set.to_list(S, List)`, `.queue.to_list(Q, List)`
pub fn to_list(call: &mut ActionCall<'_, '_>) -> Outcome {
    let items = values(&object(call, 0)?.contents());
    let opened: Vec<Value> = items.iter().map(|item| open(call.bindings, item)).collect();
    call.unify(1, &Value::list(opened))
}

/// `.map.create(M)`
pub fn map_create(call: &mut ActionCall<'_, '_>) -> Outcome {
    call.unify(0, &new(empty_map()))
}

/// `.map.put(M, Key, Value)`; a new map if M is unbound.
pub fn map_put(call: &mut ActionCall<'_, '_>) -> Outcome {
    let target = object_or_new(call, empty_map)?;
    let (key, value) = (closed(call, 1, &target)?, closed(call, 2, &target)?);
    map(&mut target.contents())?.insert(key, value);
    Ok(QueryAnswer::Yes)
}

fn key(call: &ActionCall<'_, '_>) -> Value {
    call.bindings.closed(call.arg(1))
}

/// Returns the value of a key in the map that is argument 0.
fn entry(call: &ActionCall<'_, '_>, key: &Value) -> Result<Option<Value>, Failure> {
    match call.args.first() {
        Some(Value::Map(pairs)) => Ok(pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())),
        _ => Ok(map(&mut object(call, 0)?.contents())?.get(key).cloned()),
    }
}

/// Returns the entries of the map that is argument 0.
fn entries(call: &ActionCall<'_, '_>) -> Result<Vec<(Value, Value)>, Failure> {
    match call.args.first() {
        Some(Value::Map(pairs)) => Ok(pairs.to_vec()),
        _ => {
            Ok(map(&mut object(call, 0)?.contents())?.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
        }
    }
}

/// `.map.freeze(M, Value)`: a map as other languages send it, by value.
pub fn map_freeze(call: &mut ActionCall<'_, '_>) -> Outcome {
    let entries = entries(call)?;
    if let Some((key, value)) = entries.iter().find(|(key, value)| !key.is_ground() || !value.is_ground()) {
        return Err(nonsense(format!("the entry {key}->{value} has a variable without a value")));
    }
    call.unify(1, &Value::map(entries))
}

/// `.map.get(M, Key, Value [, Default])`
pub fn map_get(call: &mut ActionCall<'_, '_>) -> Outcome {
    match (entry(call, &key(call))?, call.args.get(3)) {
        (Some(found), _) => give(call, 2, &found),
        (None, Some(default)) => call.unify(2, default),
        (None, None) => Ok(QueryAnswer::No),
    }
}

/// `.map.remove(M, Key [, Value])`
pub fn map_remove(call: &mut ActionCall<'_, '_>) -> Outcome {
    let key = key(call);
    let removed = map(&mut object(call, 0)?.contents())?.remove(&key);
    match removed {
        Some(removed) if call.args.len() > 2 => give(call, 2, &removed),
        other => Ok(other.is_some().into()),
    }
}

/// `.map.key(M, Key)`: each in turn.
pub fn map_key(call: &mut ActionCall<'_, '_>) -> Outcome {
    if call.arg(1).is_ground() {
        return Ok(entry(call, call.arg(1))?.is_some().into());
    }
    let keys = entries(call)?.into_iter().map(|(key, _)| taken(&key));
    Ok(QueryAnswer::Each(call.arg(1).clone(), Box::new(keys)))
}

/// `.map.value(M, Value)`: each in turn.
pub fn map_value(call: &mut ActionCall<'_, '_>) -> Outcome {
    let values = entries(call)?.into_iter().map(|(_, value)| taken(&value));
    Ok(QueryAnswer::Each(call.arg(1).clone(), Box::new(values)))
}

/// `.set.create(S [, List])`
pub fn set_create(call: &mut ActionCall<'_, '_>) -> Outcome {
    let target = Arc::new(Object::new(empty_set()));
    if call.args.len() > 1 {
        let items = closed_items(call, 1, &target)?;
        set(&mut target.contents())?.extend(items);
    }
    call.unify(0, &Value::Object(target))
}

/// `.set.add(S, X)`; a new set if S is unbound.
pub fn set_add(call: &mut ActionCall<'_, '_>) -> Outcome {
    let target = object_or_new(call, empty_set)?;
    let item = closed(call, 1, &target)?;
    set(&mut target.contents())?.insert(item);
    Ok(QueryAnswer::Yes)
}

/// `.set.add_all(S, ListOrSet)`, `.set.union(S, ListOrSet)`
pub fn set_add_all(call: &mut ActionCall<'_, '_>) -> Outcome {
    let target = object_or_new(call, empty_set)?;
    let items = closed_items(call, 1, &target)?;
    set(&mut target.contents())?.extend(items);
    Ok(QueryAnswer::Yes)
}

/// `.set.remove(S, X)`; yes also if it is not there.
pub fn set_remove(call: &mut ActionCall<'_, '_>) -> Outcome {
    let item = key(call);
    set(&mut object(call, 0)?.contents())?.remove(&item);
    Ok(QueryAnswer::Yes)
}

fn retain(call: &ActionCall<'_, '_>, those_in: bool) -> Outcome {
    let target = object(call, 0)?;
    let mut others = closed_items(call, 1, target)?;
    others.sort();
    set(&mut target.contents())?.retain(|item| others.binary_search(item).is_ok() == those_in);
    Ok(QueryAnswer::Yes)
}

/// `.set.intersection(S, ListOrSet)`
pub fn set_intersection(call: &mut ActionCall<'_, '_>) -> Outcome {
    retain(call, true)
}

/// `.set.difference(S, ListOrSet)`
pub fn set_difference(call: &mut ActionCall<'_, '_>) -> Outcome {
    retain(call, false)
}

/// `.queue.create(Q [, priority])`
pub fn queue_create(call: &mut ActionCall<'_, '_>) -> Outcome {
    let by_priority = matches!(call.arg(1), Value::Atom(kind) if kind.as_str() == "priority");
    let contents =
        if by_priority { Contents::PriorityQueue(PriorityQueue::default()) } else { Contents::Queue(VecDeque::new()) };
    call.unify(0, &new(contents))
}

fn enqueue(contents: &mut MutexGuard<'_, Contents>, item: Value) -> Result<(), Failure> {
    match &mut **contents {
        Contents::Queue(items) => items.push_back(item),
        Contents::PriorityQueue(items) => items.push(item),
        _ => return Err(not_a("queue")),
    }
    Ok(())
}

/// `.queue.add(Q, X)`
pub fn queue_add(call: &mut ActionCall<'_, '_>) -> Outcome {
    let target = object(call, 0)?;
    let item = closed(call, 1, target)?;
    enqueue(&mut target.contents(), item)?;
    Ok(QueryAnswer::Yes)
}

/// `.queue.add_all(Q, List)`
pub fn queue_add_all(call: &mut ActionCall<'_, '_>) -> Outcome {
    let target = object(call, 0)?;
    let items = closed_items(call, 1, target)?;
    let mut contents = target.contents();
    items.into_iter().try_for_each(|item| enqueue(&mut contents, item))?;
    Ok(QueryAnswer::Yes)
}

/// `.queue.head(Q, X)`
pub fn queue_head(call: &mut ActionCall<'_, '_>) -> Outcome {
    let head = match &*object(call, 0)?.contents() {
        Contents::Queue(items) => items.front().cloned(),
        Contents::PriorityQueue(items) => items.first().cloned(),
        _ => return Err(not_a("queue")),
    };
    head.map_or(Ok(QueryAnswer::No), |head| give(call, 1, &head))
}

/// `.queue.remove(Q, X)`
pub fn queue_remove(call: &mut ActionCall<'_, '_>) -> Outcome {
    let head = match &mut *object(call, 0)?.contents() {
        Contents::Queue(items) => items.pop_front(),
        Contents::PriorityQueue(items) => items.pop(),
        _ => return Err(not_a("queue")),
    };
    head.map_or(Ok(QueryAnswer::No), |head| give(call, 1, &head))
}
