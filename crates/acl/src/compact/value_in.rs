//! Bytes to dynamic values.

use std::collections::VecDeque;
use std::sync::Arc;

use super::DecodeError;
use super::reader::{Labelled, ObjectShape, Reader, ShapeKind};
use super::tags::{self, container, term};
use crate::value::{Annot, Annots, Args, Contents};
use crate::{Object, Structure, Symbol, Text, Value, Var, sym};

/// Most memory of a list element.
pub(super) const CELL_BYTES: usize = 64;
/// Memory of a compound, besides its elements.
pub(super) const COMPOUND_BYTES: usize = 112;
/// Memory of a pair in a map or a record.
pub(super) const PAIR_BYTES: usize = 48;

/// The first and the last tag of larger whole numbers.
const MORE: u8 = tags::MORE[0];
const LESS: u8 = tags::LESS[3];

type Result<T> = std::result::Result<T, DecodeError>;

/// Reads a value of any kind.
pub(super) fn value(r: &mut Reader<'_>) -> Result<Value> {
    let tag = r.byte()?;
    match tag {
        0..tags::SHORT_TEXT => Ok(Value::Int(i64::from(tag) + tags::SMALL_INT_LEAST)),
        tags::SHORT_TEXT..tags::TEXT_REF => text(r, usize::from(tag - tags::SHORT_TEXT)),
        tags::TEXT_REF..tags::SHORT_LIST => Ok(Value::Str(r.shared_text(u64::from(tag - tags::TEXT_REF))?)),
        tags::SHORT_LIST..tags::OBJECT => list(r, usize::from(tag - tags::SHORT_LIST)),
        tags::OBJECT..tags::ATOM_REF => object(r, tag),
        tags::ATOM_REF..tags::SMALL_NUM => Ok(Value::atom(r.symbol(u64::from(tag - tags::ATOM_REF))?)),
        tags::SMALL_NUM..=tags::SMALL_NUM_LAST => Ok(Value::Num(f64::from(tag - tags::SMALL_NUM))),
        MORE..=LESS | tags::INT => Ok(Value::Int(r.int(tag)?.unwrap_or_default())),
        tags::PLAIN_TERM.. => plain_term(r, usize::from(tag - tags::PLAIN_TERM)),
        _ => rarer(r, tag),
    }
}

fn rarer(r: &mut Reader<'_>, tag: u8) -> Result<Value> {
    match tag {
        tags::NULL => Ok(Value::Null),
        tags::FALSE => Ok(Value::Bool(false)),
        tags::TRUE => Ok(Value::Bool(true)),
        tags::F64 | tags::F32 | tags::WHOLE_NUM | tags::DECIMAL_NUM => super::floats::read_one(r, tag).map(Value::Num),
        tags::TEXT => {
            let length = r.count_of_bytes(1)?;
            text(r, length)
        }
        tags::LONG_TEXT_REF => {
            let number = r.number()?;
            r.shared_text(number).map(Value::Str)
        }
        tags::NUMERIC_TEXT => {
            let n = r.signed()?;
            r.charge(CELL_BYTES)?;
            Ok(Value::from(n.to_string()))
        }
        tags::BYTES => {
            r.charge(COMPOUND_BYTES)?;
            super::blobs::read_run(r).map(Value::from)
        }
        tags::PACKED_BYTES => {
            r.charge(COMPOUND_BYTES)?;
            Ok(Value::from(super::blobs::read(r, tag)?.unwrap_or_default()))
        }
        tags::LIST => {
            let count = r.count_of_bytes(1)?;
            list(r, count)
        }
        tags::OPEN_LIST => open_list(r),
        tags::ARRAY => r.nested(super::column::array_in),
        tags::LONG_OBJECT | tags::OBJECT_IN_PLACE | tags::SHORT_MAP..=tags::SHORT_MAP_LAST => object(r, tag),
        tags::MAP => r.nested(map),
        tags::TERM => full_term(r),
        tags::LONG_ATOM_REF => {
            let number = r.number()?;
            r.symbol(number).map(Value::atom)
        }
        tags::ATOM => r.plain_text().map(|name| Value::atom(Symbol::new(name))),
        tags::VARIABLE => variable(r).map(Value::Var),
        tags::CONTAINER => container(r),
        tags::REFERENCE => reference(r),
        tags::LABEL => label(r),
        _ => Err(r.malformed("an unknown kind of value")),
    }
}

fn text(r: &mut Reader<'_>, length: usize) -> Result<Value> {
    r.charge(length + 16)?;
    Ok(Value::Str(Text::from(r.text_of(length)?)))
}

fn list(r: &mut Reader<'_>, count: usize) -> Result<Value> {
    let items = values(r, count)?;
    Ok(Value::list(items))
}

/// Reads `count` values, each of which takes at least a byte.
fn values(r: &mut Reader<'_>, count: usize) -> Result<Vec<Value>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    r.charge(count.saturating_mul(CELL_BYTES))?;
    r.nested(|r| (0..count).map(|_| value(r)).collect())
}

fn open_list(r: &mut Reader<'_>) -> Result<Value> {
    let count = r.count_of_bytes(1)?;
    let items = values(r, count)?;
    let tail = r.nested(value)?;
    if count == 0 || tail.is_list() {
        return Err(r.malformed("an open list that is empty or ends in a list"));
    }
    Ok(Value::list_with_tail(items, tail))
}

fn object(r: &mut Reader<'_>, tag: u8) -> Result<Value> {
    let number = r.object_shape(tag)?.unwrap_or_default();
    let shape = r.shape_numbered(number)?;
    if shape.len() > r.remaining() {
        return Err(DecodeError::Truncated { at: r.at() });
    }
    r.charge(COMPOUND_BYTES + shape.len() * PAIR_BYTES)?;
    let fields = r.nested(|r| (0..shape.len()).map(|_| value(r)).collect::<Result<Vec<_>>>())?;
    Ok(assemble(&shape, fields.into_iter()))
}

/// Returns the object of this shape with these fields.
pub(super) fn assemble(shape: &ObjectShape<'_>, fields: impl Iterator<Item = Value>) -> Value {
    match shape.kind {
        ShapeKind::Record => {
            let named = shape.fields.iter().map(|name| Symbol::new(name)).zip(fields);
            Value::record(Symbol::new(shape.name), named)
        }
        ShapeKind::Map => Value::map(shape.fields.iter().map(|key| Value::from(*key)).zip(fields)),
        ShapeKind::Term(_) => Structure::new(Symbol::new(shape.name), fields.collect()).into_value(),
    }
}

fn map(r: &mut Reader<'_>) -> Result<Value> {
    let count = super::column::row_count(r)?;
    if count == 0 {
        return Ok(Value::map([]));
    }
    let keys = super::column::values_in(r, count)?;
    let values = super::column::values_in(r, count)?;
    r.charge(count.saturating_mul(PAIR_BYTES))?;
    Ok(Value::map(keys.into_iter().zip(values)))
}

fn plain_term(r: &mut Reader<'_>, args: usize) -> Result<Value> {
    let functor = r.name()?;
    r.charge(COMPOUND_BYTES + args * 16)?;
    let args = r.nested(|r| (0..args).map(|_| value(r)).collect::<Result<Args>>())?;
    Ok(Value::Term(Arc::new(Structure::new(functor, args))))
}

fn full_term(r: &mut Reader<'_>) -> Result<Value> {
    let flags = r.byte()?;
    if flags & !term::ALL != 0 {
        return Err(r.malformed("a term with unknown parts"));
    }
    let has = |bit: u8| flags & bit != 0;
    let functor = r.name()?;
    let namespace = if has(term::NAMESPACE) { r.name()? } else { sym::DEFAULT };
    r.charge(COMPOUND_BYTES)?;
    let count = r.count_of_bytes(1)?;
    let args: Args = values(r, count)?.into();
    let mut annots = Annots::new();
    if has(term::ANNOTS) {
        let count = r.count_of_bytes(1)?;
        annots.extend(values(r, count)?.into_iter().map(Annot::new));
    }
    if has(term::TAIL) {
        annots.push(Annot::Tail(variable(r)?));
    }
    Ok(Value::Term(Arc::new(Structure::full(namespace, has(term::NEGATED), functor, args, annots))))
}

fn variable(r: &mut Reader<'_>) -> Result<Var> {
    let slot = u32::try_from(r.number()?).map_err(|_| r.malformed("a variable's slot beyond 32 bits"))?;
    Ok(Var { slot, name: r.name()? })
}

fn container(r: &mut Reader<'_>) -> Result<Value> {
    let kind = r.byte()?;
    // The label is taken before the contents are read: they may refer to it.
    let object = Arc::new(Object::new(Contents::Queue(VecDeque::new())));
    let label = r.open_label()?;
    r.close_label(label, Labelled::OpenContainer(Value::Object(Arc::clone(&object))));
    let count = r.count_of_bytes(1)?;
    let count = if kind == container::MAP { count.saturating_mul(2) } else { count };
    let items = values(r, count)?.into_iter();
    let contents = match kind {
        container::MAP => Contents::Map(pairs(items)),
        container::SET => Contents::Set(items.collect()),
        container::QUEUE => Contents::Queue(items.collect()),
        container::PRIORITY_QUEUE => Contents::PriorityQueue(items.collect()),
        _ => return Err(r.malformed("an unknown kind of container")),
    };
    *object.contents() = contents;
    let read = Value::Object(object);
    r.close_label(label, Labelled::Value(read.clone()));
    Ok(read)
}

#[allow(clippy::mutable_key_type, reason = "containers order by what they hold when they are put in")]
fn pairs(mut items: impl Iterator<Item = Value>) -> std::collections::BTreeMap<Value, Value> {
    std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
}

fn reference(r: &mut Reader<'_>) -> Result<Value> {
    let at = r.at();
    let label = usize::try_from(r.number()?).unwrap_or(usize::MAX);
    match r.labelled.get(label) {
        Some(Labelled::Value(value)) => Ok(value.clone()),
        Some(Labelled::OpenContainer(value)) if r.allows_circles() => Ok(value.clone()),
        Some(Labelled::OpenContainer(_)) => {
            Err(DecodeError::Malformed { at, what: "a container that holds itself, which is not allowed here" })
        }
        Some(Labelled::Open) => Err(DecodeError::Malformed { at, what: "a circle through a value that cannot change" }),
        Some(Labelled::Typed(_)) => Err(DecodeError::Mismatch { at, expected: "a reference to a value of any kind" }),
        None => Err(DecodeError::Malformed { at, what: "a reference to a label there is not" }),
    }
}

fn label(r: &mut Reader<'_>) -> Result<Value> {
    let label = r.open_label()?;
    r.charge(CELL_BYTES)?;
    let labelled = r.nested(value)?;
    r.close_label(label, Labelled::Value(labelled.clone()));
    Ok(labelled)
}
