//! Dynamic values to bytes.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::tags::{self, container, shape, term};
use super::writer::Writer;
use crate::value::{Annot, Contents};
use crate::{Object, Record, Structure, Symbol, Value, Var, sym};

/// Most entries of a map that is written as an object, if all keys are text: the keys are a shape, which is sent
/// once.
const SHAPED_MAP_ENTRIES_MAX: usize = 64;
/// Entries beyond which a map with values of one kind is no object, but a table from keys to values.
pub(super) const ENTRIES_OF_AN_OBJECT: usize = 15;

/// Writes a value.
pub(super) fn value(w: &mut Writer<'_>, value: &Value) {
    match value {
        Value::Null => w.tag(tags::NULL),
        Value::Bool(b) => w.tag(if *b { tags::TRUE } else { tags::FALSE }),
        Value::Int(n) => w.int(*n),
        Value::Num(n) => super::floats::write_one(w, *n),
        Value::Atom(name) => w.atom(name.as_str()),
        Value::Str(text) => w.text(text),
        Value::Bytes(bytes) => super::blobs::write(w, bytes),
        Value::Nil => w.list(0),
        Value::List(_) => w.nested(|w| list(w, value)),
        Value::Term(term) => w.nested(|w| structure(w, term)),
        Value::Var(var) => {
            w.tag(tags::VARIABLE);
            variable(w, *var);
        }
        Value::Map(pairs) => w.nested(|w| map(w, pairs)),
        Value::Record(record) => w.nested(|w| object(w, record)),
        Value::Object(object) => w.nested(|w| container(w, object)),
    }
}

fn variable(w: &mut Writer<'_>, var: Var) {
    w.number(u64::from(var.slot));
    w.name(var.name.as_str());
}

fn list(w: &mut Writer<'_>, list: &Value) {
    let mut rest = list.items();
    let items: Vec<&Value> = rest.by_ref().collect();
    if matches!(rest.tail(), Value::Nil) {
        return super::column::list_out(w, &items);
    }
    w.tag(tags::OPEN_LIST);
    w.number(items.len() as u64);
    items.iter().for_each(|item| value(w, item));
    value(w, rest.tail());
}

fn structure(w: &mut Writer<'_>, structure: &Structure) {
    if structure.is_plain() && structure.args.len() < tags::PLAIN_TERMS {
        w.tag(tags::PLAIN_TERM + structure.args.len() as u8);
        w.name(structure.functor.as_str());
        structure.args.iter().for_each(|arg| value(w, arg));
        return;
    }
    let (annots, tail) = match structure.annots.split_last() {
        Some((Annot::Tail(tail), annots)) => (annots, Some(*tail)),
        _ => (structure.annots.as_slice(), None),
    };
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    w.tag(tags::TERM);
    w.tag(
        flag(structure.negated, term::NEGATED)
            | flag(structure.namespace != sym::DEFAULT, term::NAMESPACE)
            | flag(!annots.is_empty(), term::ANNOTS)
            | flag(tail.is_some(), term::TAIL),
    );
    w.name(structure.functor.as_str());
    if structure.namespace != sym::DEFAULT {
        w.name(structure.namespace.as_str());
    }
    w.number(structure.args.len() as u64);
    structure.args.iter().for_each(|arg| value(w, arg));
    if !annots.is_empty() {
        w.number(annots.len() as u64);
        annots.iter().for_each(|annot| value(w, &annot.to_value()));
    }
    if let Some(tail) = tail {
        variable(w, tail);
    }
}

fn map(w: &mut Writer<'_>, pairs: &[(Value, Value)]) {
    if let Some(shape) = map_shape(w, pairs) {
        w.object(shape);
        pairs.iter().for_each(|(_, field)| value(w, field));
        return;
    }
    w.tag(tags::MAP);
    w.number(pairs.len() as u64);
    if !pairs.is_empty() {
        super::column::values_out(w, &pairs.iter().map(|(key, _)| key).collect::<Vec<_>>());
        super::column::values_out(w, &pairs.iter().map(|(_, value)| value).collect::<Vec<_>>());
    }
}

/// Returns the keys of a map that is written as an object.
pub(super) fn shaped_keys(pairs: &[(Value, Value)]) -> Option<impl ExactSizeIterator<Item = &str> + Clone> {
    let shaped = !pairs.is_empty()
        && pairs.len() <= SHAPED_MAP_ENTRIES_MAX
        && pairs.iter().all(|(key, _)| matches!(key, Value::Str(_)))
        && (pairs.len() <= ENTRIES_OF_AN_OBJECT || !super::column::are_alike(pairs.iter().map(|(_, value)| value)));
    shaped.then(|| pairs.iter().map(|(key, _)| key.as_str().unwrap_or_default()))
}

/// Returns the shape of a map that is written as an object.
pub(super) fn map_shape(w: &mut Writer<'_>, pairs: &[(Value, Value)]) -> Option<u32> {
    Some(w.dictionary.named_shape(shape::MAP, "", shaped_keys(pairs)?))
}

fn object(w: &mut Writer<'_>, record: &Record) {
    let shape = record_shape(w, record);
    w.object(shape);
    record.fields.iter().for_each(|(_, field)| value(w, field));
}

/// Returns the shape of a record.
pub(super) fn record_shape(w: &mut Writer<'_>, record: &Record) -> u32 {
    let symbols = std::iter::once(record.name).chain(record.fields.iter().map(|(name, _)| *name));
    let hash = hash_symbols(symbols.clone());
    if let Some(shape) = w.dictionary.find_symbols(hash, symbols.clone()) {
        return shape;
    }
    let fields = record.fields.iter().map(|(name, _)| name.as_str());
    let shape = w.dictionary.named_shape(shape::RECORD, record.name.as_str(), fields);
    w.dictionary.remember_symbols(hash, symbols, shape);
    shape
}

fn hash_symbols(symbols: impl Iterator<Item = Symbol>) -> u64 {
    let mut hasher = FxHasher::default();
    symbols.for_each(|symbol| symbol.hash(&mut hasher));
    hasher.finish()
}

fn container(w: &mut Writer<'_>, object: &Arc<Object>) {
    let address = Arc::as_ptr(object) as usize;
    if let Some(label) = w.label(address) {
        w.tag(tags::REFERENCE);
        return w.number(u64::from(label));
    }
    // A copy, as the lock must not be held while containers within, perhaps this one, are written.
    let contents = object.contents().clone();
    let (kind, count) = match &contents {
        Contents::Map(pairs) => (container::MAP, pairs.len()),
        Contents::Set(items) => (container::SET, items.len()),
        Contents::Queue(items) => (container::QUEUE, items.len()),
        Contents::PriorityQueue(items) => (container::PRIORITY_QUEUE, items.len()),
    };
    w.tag(tags::CONTAINER);
    w.tag(kind);
    w.number(count as u64);
    contents.values().for_each(|item| value(w, item));
}
