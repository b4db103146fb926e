//! Tables: objects of one shape, a column per field.

use super::reader::{ObjectShape, Reader, ShapeKind};
use super::tags::{column, shape};
use super::writer::Writer;
use super::{DecodeError, bits, column as columns, value_in};
use crate::{Structure, Symbol, Value};

/// Objects with more fields than this, taken together, are no table.
const FIELDS_MAX: usize = 256;
/// Least average density of fields for a table, as a fraction: one field in this many.
const SPARSE_MAX: usize = 16;

/// Returns the fields of an object, in its order; terms' have no names.
fn fields(row: &Value) -> Box<dyn ExactSizeIterator<Item = (&str, &Value)> + '_> {
    match row {
        Value::Record(record) => Box::new(record.fields.iter().map(|(name, value)| (name.as_str(), value))),
        Value::Map(pairs) => Box::new(pairs.iter().map(|(key, value)| (key.as_str().unwrap_or_default(), value))),
        Value::Term(term) => Box::new(term.args.iter().map(|arg| ("", arg))),
        _ => Box::new(std::iter::empty()),
    }
}

/// Writes objects of one kind, at least one, as a table; does nothing and returns `false` if their fields do not fit.
pub(super) fn write(w: &mut Writer<'_>, rows: &[&Value]) -> bool {
    let Some(first) = rows.first() else { return false };
    let names: Vec<&str> = fields(first).map(|(name, _)| name).collect();
    let is_uniform = rows.iter().all(|row| {
        let fields = fields(row);
        fields.len() == names.len() && fields.zip(&names).all(|((name, _), first)| name == *first)
    });
    if is_uniform {
        begin(w, first, &names);
        let mut cells: Vec<_> = rows.iter().map(|row| fields(row)).collect();
        for _ in &names {
            let cells: Vec<&Value> = cells.iter_mut().filter_map(|row| row.next()).map(|(_, value)| value).collect();
            columns::column_out(w, &cells);
        }
        return true;
    }
    write_with_gaps(w, first, rows)
}

fn begin(w: &mut Writer<'_>, first: &Value, names: &[&str]) {
    let number = match first {
        Value::Term(term) => w.dictionary.term_shape(term.functor.as_str(), term.args.len()),
        Value::Record(record) => w.dictionary.named_shape(shape::RECORD, record.name.as_str(), names.iter().copied()),
        _ => w.dictionary.named_shape(shape::MAP, "", names.iter().copied()),
    };
    w.table(number);
}

/// Returns the table of objects that do not all have the same fields.
fn write_with_gaps(w: &mut Writer<'_>, first: &Value, rows: &[&Value]) -> bool {
    let Some(names) = union(rows) else { return false };
    let cells: usize = rows.iter().map(|row| fields(row).len()).sum();
    if names.len() * rows.len() > SPARSE_MAX * cells {
        return false;
    }
    begin(w, first, &names);
    let mut rests: Vec<_> = rows.iter().map(|row| fields(row).peekable()).collect();
    for name in &names {
        let column: Vec<Option<&Value>> =
            rests.iter_mut().map(|rest| rest.next_if(|(next, _)| next == name).map(|(_, value)| value)).collect();
        let present: Vec<&Value> = column.iter().copied().flatten().collect();
        if present.len() < rows.len() {
            w.tag(column::ABSENT);
            bits::pack_bools(w.out, column.iter().map(Option::is_some));
        }
        columns::column_out(w, &present);
    }
    true
}

/// Returns all fields of the rows, in an order that agrees with each row's; `None` if there is none or they are too
/// many.
fn union<'a>(rows: &[&'a Value]) -> Option<Vec<&'a str>> {
    if let [Value::Map(_), ..] = rows {
        // Maps are in the order of their keys.
        let names: std::collections::BTreeSet<&str> =
            rows.iter().flat_map(|row| fields(row).map(|(name, _)| name)).collect();
        return Some(names.into_iter().collect::<Vec<_>>()).filter(|names| names.len() <= FIELDS_MAX);
    }
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        let mut at = 0;
        for (name, _) in fields(row) {
            match names.iter().position(|known| *known == name) {
                Some(place) if place >= at => at = place + 1,
                Some(_) => return None,
                None => {
                    names.insert(at, name);
                    at += 1;
                }
            }
        }
        if names.len() > FIELDS_MAX {
            return None;
        }
    }
    Some(names)
}

/// Reads a table of `count` rows.
pub(super) fn read(r: &mut Reader<'_>, count: usize, out: &mut Vec<Value>) -> Result<(), DecodeError> {
    let number = r.number()?;
    let shape = r.shape_numbered(number)?;
    if shape.len() > r.remaining() {
        return Err(DecodeError::Truncated { at: r.at() });
    }
    r.charge(count.saturating_mul(value_in::COMPOUND_BYTES + shape.len() * value_in::PAIR_BYTES))?;
    let mut cells = Vec::with_capacity(shape.len());
    for _ in 0..shape.len() {
        cells.push(field(r, count)?.into_iter());
    }
    assemble(&shape, count, &mut cells, out);
    Ok(())
}

/// Reads a field's column: a value for each row that has the field.
fn field(r: &mut Reader<'_>, count: usize) -> Result<Vec<Option<Value>>, DecodeError> {
    let mut values = Vec::new();
    if r.peek()? != column::ABSENT {
        columns::column_in(r, count, &mut values)?;
        return Ok(values.into_iter().map(Some).collect());
    }
    r.byte()?;
    let (present, bitmap) = columns::presence(r, count)?;
    columns::column_in(r, present, &mut values)?;
    let mut values = values.into_iter();
    Ok(bitmap.take(count).map(|is_there| if is_there { values.next() } else { None }).collect())
}

fn assemble(
    shape: &ObjectShape<'_>,
    count: usize,
    cells: &mut [std::vec::IntoIter<Option<Value>>],
    out: &mut Vec<Value>,
) {
    let name = Symbol::new(shape.name);
    let keys: Vec<Value> = shape.fields.iter().map(|key| Value::from(*key)).collect();
    let symbols: Vec<Symbol> = match shape.kind {
        ShapeKind::Record => shape.fields.iter().map(|field| Symbol::new(field)).collect(),
        _ => Vec::new(),
    };
    for _ in 0..count {
        let row = cells.iter_mut().map(|column| column.next().flatten());
        out.push(match shape.kind {
            ShapeKind::Record => {
                Value::record(name, symbols.iter().zip(row).filter_map(|(field, value)| Some((*field, value?))))
            }
            ShapeKind::Map => Value::map(keys.iter().zip(row).filter_map(|(key, value)| Some((key.clone(), value?)))),
            ShapeKind::Term(_) => Structure::new(name, row.map(Option::unwrap_or_default).collect()).into_value(),
        });
    }
}
