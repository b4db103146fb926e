//! Content values.

use whimbrel_acl::limits::VALUE_DEPTH_MAX;
use whimbrel_acl::value::Contents;
use whimbrel_acl::{Annot, Object, Structure, Symbol, Text, Value, Var, sym};

use super::read::{GuestFrameError, GuestFrameReader};

mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const NUM: u8 = 4;
    pub const TEXT: u8 = 5;
    pub const ATOM: u8 = 6;
    pub const BYTES: u8 = 7;
    pub const LIST: u8 = 8;
    pub const MAP: u8 = 9;
    pub const RECORD: u8 = 10;
    pub const TERM: u8 = 11;
    pub const VAR: u8 = 12;
}

const NEGATED: u8 = 1;
const NAMESPACE: u8 = 2;
const ANNOTATED: u8 = 4;

/// Appends `value` to `out`. A mutable container is written as the list or map that it holds now.
///
/// # Errors
/// The value nests deeper than [`VALUE_DEPTH_MAX`]; then `out` has a part of it.
pub fn write_value(value: &Value, out: &mut Vec<u8>) -> Result<(), TooDeep> {
    write(value, out, VALUE_DEPTH_MAX)
}

/// Error: a value nests deeper than guests can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("value nested deeper than {VALUE_DEPTH_MAX} levels")]
pub struct TooDeep;

fn write(value: &Value, out: &mut Vec<u8>, depth: usize) -> Result<(), TooDeep> {
    let within = depth.checked_sub(1).ok_or(TooDeep)?;
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(truth) => out.push(if *truth { tag::TRUE } else { tag::FALSE }),
        Value::Int(n) => tagged(tag::INT, &n.to_le_bytes(), out),
        Value::Num(n) => tagged(tag::NUM, &n.to_le_bytes(), out),
        Value::Str(text) => sized(tag::TEXT, text.as_bytes(), out),
        Value::Atom(name) => sized(tag::ATOM, name.as_str().as_bytes(), out),
        Value::Bytes(bytes) => sized(tag::BYTES, bytes, out),
        Value::Nil | Value::List(_) => write_list(value, out, within)?,
        Value::Map(pairs) => write_pairs(pairs.iter().map(|(key, value)| (key, value)), out, within)?,
        Value::Record(record) => {
            sized(tag::RECORD, record.name.as_str().as_bytes(), out);
            length(record.fields.len(), out);
            for (name, value) in &record.fields {
                text(name.as_str(), out);
                write(value, out, within)?;
            }
        }
        Value::Term(term) => write_term(term, out, within)?,
        Value::Var(var) => sized(tag::VAR, var.name.as_str().as_bytes(), out),
        Value::Object(object) => write_object(object, out, within)?,
    }
    Ok(())
}

/// Writes a list. The tail of an improper list becomes its last element.
fn write_list(value: &Value, out: &mut Vec<u8>, within: usize) -> Result<(), TooDeep> {
    out.push(tag::LIST);
    let counted = out.len();
    length(0, out);
    let (mut items, mut written) = (value.items(), 0u32);
    for item in items.by_ref() {
        write(item, out, within)?;
        written += 1;
    }
    if !matches!(items.tail(), Value::Nil) {
        write(items.tail(), out, within)?;
        written += 1;
    }
    if let Some(place) = out.get_mut(counted..counted + 4) {
        place.copy_from_slice(&written.to_le_bytes());
    }
    Ok(())
}

fn write_pairs<'a>(
    pairs: impl ExactSizeIterator<Item = (&'a Value, &'a Value)>,
    out: &mut Vec<u8>,
    within: usize,
) -> Result<(), TooDeep> {
    count(tag::MAP, pairs.len(), out);
    for (key, value) in pairs {
        write(key, out, within)?;
        write(value, out, within)?;
    }
    Ok(())
}

fn write_term(term: &Structure, out: &mut Vec<u8>, within: usize) -> Result<(), TooDeep> {
    let has_namespace = term.namespace != sym::DEFAULT;
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let is_annotated = !term.annots.is_empty();
    out.push(tag::TERM);
    out.push(flag(term.negated, NEGATED) | flag(has_namespace, NAMESPACE) | flag(is_annotated, ANNOTATED));
    text(term.functor.as_str(), out);
    if has_namespace {
        text(term.namespace.as_str(), out);
    }
    length(term.args.len(), out);
    term.args.iter().try_for_each(|arg| write(arg, out, within))?;
    if is_annotated {
        length(term.annots.len(), out);
        term.annots.iter().try_for_each(|annot| write(&annot.to_value(), out, within))?;
    }
    Ok(())
}

fn write_object(object: &Object, out: &mut Vec<u8>, within: usize) -> Result<(), TooDeep> {
    // The copy releases the lock before the elements are written: one of them may be the same container.
    let contents = object.contents().clone();
    match contents {
        Contents::Map(pairs) => write_pairs(pairs.iter(), out, within),
        Contents::Set(items) => write_items(items.iter(), out, within),
        Contents::Queue(items) => write_items(items.iter(), out, within),
        Contents::PriorityQueue(items) => write_items(items.iter(), out, within),
    }
}

fn write_items<'a>(
    mut items: impl ExactSizeIterator<Item = &'a Value>,
    out: &mut Vec<u8>,
    within: usize,
) -> Result<(), TooDeep> {
    count(tag::LIST, items.len(), out);
    items.try_for_each(|item| write(item, out, within))
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn sized(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    count(tag, bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn count(tag: u8, count: usize, out: &mut Vec<u8>) {
    out.push(tag);
    length(count, out);
}

fn text(text: &str, out: &mut Vec<u8>) {
    length(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Decodes a value that takes all of the bytes.
///
/// # Errors
/// The bytes are no value, or the value nests deeper than [`VALUE_DEPTH_MAX`].
pub fn read_value(bytes: &[u8]) -> Result<Value, GuestFrameError> {
    let mut reader = GuestFrameReader::new(bytes);
    let value = read(&mut reader, VALUE_DEPTH_MAX)?;
    if reader.is_done() { Ok(value) } else { Err(reader.error("bytes after the value's end")) }
}

fn read(reader: &mut GuestFrameReader<'_>, depth: usize) -> Result<Value, GuestFrameError> {
    let Some(within) = depth.checked_sub(1) else { return Err(reader.error("value nested too deeply")) };
    Ok(match reader.byte()? {
        tag::NULL => Value::Null,
        tag::FALSE => Value::Bool(false),
        tag::TRUE => Value::Bool(true),
        tag::INT => Value::Int(reader.i64()?),
        tag::NUM => Value::Num(reader.f64()?),
        tag::TEXT => Value::Str(Text::from(reader.text()?)),
        tag::ATOM => Value::atom(Symbol::new(reader.text()?)),
        tag::BYTES => Value::from(reader.bytes()?),
        tag::LIST => Value::list(read_many(reader, 1, within)?),
        tag::MAP => {
            let count = reader.count(2)?;
            let pairs = (0..count).map(|_| Ok((read(reader, within)?, read(reader, within)?)));
            Value::map(pairs.collect::<Result<Vec<_>, GuestFrameError>>()?)
        }
        tag::RECORD => {
            let name = Symbol::new(reader.text()?);
            let count = reader.count(5)?;
            let fields = (0..count).map(|_| Ok((Symbol::new(reader.text()?), read(reader, within)?)));
            Value::record(name, fields.collect::<Result<Vec<_>, GuestFrameError>>()?)
        }
        tag::TERM => read_term(reader, within)?,
        tag::VAR => Value::Var(Var { slot: 0, name: Symbol::new(reader.text()?) }),
        _ => return Err(reader.error("unknown kind of value")),
    })
}

fn read_many(reader: &mut GuestFrameReader<'_>, least: usize, within: usize) -> Result<Vec<Value>, GuestFrameError> {
    let count = reader.count(least)?;
    (0..count).map(|_| read(reader, within)).collect()
}

fn read_term(reader: &mut GuestFrameReader<'_>, within: usize) -> Result<Value, GuestFrameError> {
    let flags = reader.byte()?;
    if flags & !(NEGATED | NAMESPACE | ANNOTATED) != 0 {
        return Err(reader.error("unknown flags of a term"));
    }
    let functor = Symbol::new(reader.text()?);
    let namespace = if flags & NAMESPACE == 0 { sym::DEFAULT } else { Symbol::new(reader.text()?) };
    let args = read_many(reader, 1, within)?;
    let annots = if flags & ANNOTATED == 0 { Vec::new() } else { read_many(reader, 1, within)? };
    let annots = annots.into_iter().map(Annot::new).collect();
    let args = args.into_iter().collect();
    Ok(Structure::full(namespace, flags & NEGATED != 0, functor, args, annots).into_value())
}
