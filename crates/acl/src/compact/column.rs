//! Columns of dynamic values: a list of values of one kind is written kind by kind, not value by value.

use super::reader::Reader;
use super::tags::{self, column};
use super::texts::{self, TextKind};
use super::writer::Writer;
use super::{DecodeError, bits, floats, ints, table, value_in, value_out};
use crate::{Structure, Symbol, Text, Value, Var};

type Result<T> = std::result::Result<T, DecodeError>;

/// Most rows of one column. A longer list is several columns one after another. So the working sets of writer and
/// reader stay small, and a reader can begin before the end has arrived.
pub(super) const ROWS: usize = 1024;

/// Kind of all values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Null,
    Bool,
    Int,
    Num,
    Atom,
    Str,
    Bytes,
    List,
    Record(Symbol),
    /// A map with few keys, all texts.
    Shaped,
    Map,
    /// Plain terms of this name and number of arguments.
    Term(Symbol, usize),
    Other,
}

impl ColumnKind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::Num(_) => Self::Num,
            Value::Atom(_) => Self::Atom,
            Value::Str(_) => Self::Str,
            Value::Bytes(_) => Self::Bytes,
            Value::Nil => Self::List,
            Value::List(_) => {
                let mut rest = value.items();
                rest.by_ref().for_each(drop);
                if matches!(rest.tail(), Value::Nil) { Self::List } else { Self::Other }
            }
            Value::Record(record) => Self::Record(record.name),
            Value::Map(pairs) if value_out::shaped_keys(pairs).is_some() => Self::Shaped,
            Value::Map(_) => Self::Map,
            Value::Term(term) if term.is_plain() && !term.args.is_empty() => Self::Term(term.functor, term.args.len()),
            _ => Self::Other,
        }
    }

    /// Returns the kind of all these values, or `Other` if they differ.
    fn of_all(values: &[&Value]) -> Self {
        let mut kinds = values.iter().map(|value| Self::of(value));
        let first = kinds.next().unwrap_or(Self::Other);
        match first {
            Self::Other => Self::Other,
            first => {
                if kinds.all(|kind| kind == first) {
                    first
                } else {
                    Self::Other
                }
            }
        }
    }

    /// Returns the number of values from which on a list is a column, if that does not depend on the values.
    fn pays_from(self) -> usize {
        match self {
            Self::Bool => 5,
            Self::Num | Self::Atom | Self::Str => 4,
            Self::Other | Self::Null => usize::MAX,
            _ => 3,
        }
    }
}

/// Checks whether all values are of one simple kind: numbers, texts and so on.
pub(super) fn are_alike<'a>(mut values: impl Iterator<Item = &'a Value>) -> bool {
    let Some(first) = values.next().map(ColumnKind::of) else { return false };
    matches!(
        first,
        ColumnKind::Bool | ColumnKind::Int | ColumnKind::Num | ColumnKind::Atom | ColumnKind::Str | ColumnKind::Bytes
    ) && values.all(|value| ColumnKind::of(value) == first)
}

/// Writes a list of these values.
pub(super) fn list_out(w: &mut Writer<'_>, items: &[&Value]) {
    if pays(items) {
        w.tag(tags::ARRAY);
        w.number(items.len() as u64);
        values_out(w, items);
    } else {
        w.list(items.len());
        items.iter().for_each(|item| value_out::value(w, item));
    }
}

/// Lists with nulls among them are columns from this length on.
const NULLS_PAY_FROM: usize = 8;

fn pays(items: &[&Value]) -> bool {
    match ColumnKind::of_all(items) {
        ColumnKind::Int => {
            items.len() > ROWS || ints::pays(&items.iter().filter_map(|item| item.as_i64()).collect::<Vec<_>>())
        }
        ColumnKind::Other if items.len() >= NULLS_PAY_FROM => {
            let present = present(items);
            present.len() < items.len() && !matches!(ColumnKind::of_all(&present), ColumnKind::Other | ColumnKind::Null)
        }
        kind => items.len() >= kind.pays_from(),
    }
}

fn present<'a>(items: &[&'a Value]) -> Vec<&'a Value> {
    items.iter().copied().filter(|item| !matches!(item, Value::Null)).collect()
}

/// Writes values, at least one, as columns.
pub(super) fn values_out(w: &mut Writer<'_>, items: &[&Value]) {
    items.chunks(ROWS).for_each(|rows| column_out(w, rows));
}

/// Writes one column.
pub(super) fn column_out(w: &mut Writer<'_>, rows: &[&Value]) {
    let kind = ColumnKind::of_all(rows);
    match kind {
        ColumnKind::Int => ints::write(w, &rows.iter().filter_map(|row| row.as_i64()).collect::<Vec<_>>()),
        ColumnKind::Num => floats::write(w, &rows.iter().filter_map(|row| row.as_f64()).collect::<Vec<_>>()),
        ColumnKind::Str => texts::write(w, &strs(rows), TextKind::Text),
        ColumnKind::Atom => texts::write(w, &strs(rows), TextKind::Atom),
        _ if is_constant(rows) => {
            w.tag(column::CONSTANT);
            rows.first().into_iter().for_each(|row| value_out::value(w, row));
        }
        ColumnKind::Bool => {
            w.tag(column::BOOLS);
            bits::pack_bools(w.out, rows.iter().map(|row| row.as_bool() == Some(true)));
        }
        ColumnKind::Bytes => bytes_out(w, rows),
        ColumnKind::List => w.nested(|w| lists_out(w, rows)),
        ColumnKind::Map => w.nested(|w| maps_out(w, rows)),
        ColumnKind::Record(_) | ColumnKind::Shaped | ColumnKind::Term(..) => w.nested(|w| {
            if !table::write(w, rows) {
                any_out(w, rows);
            }
        }),
        ColumnKind::Null | ColumnKind::Other => mixed_out(w, rows),
    }
}

fn strs<'a>(rows: &[&'a Value]) -> Vec<&'a str> {
    rows.iter().filter_map(|row| row.as_str()).collect()
}

pub(super) fn any_out(w: &mut Writer<'_>, rows: &[&Value]) {
    w.tag(column::ANY);
    rows.iter().for_each(|row| value_out::value(w, row));
}

fn mixed_out(w: &mut Writer<'_>, rows: &[&Value]) {
    let present = present(rows);
    if present.len() == rows.len() || matches!(ColumnKind::of_all(&present), ColumnKind::Other | ColumnKind::Null) {
        return any_out(w, rows);
    }
    w.tag(column::NULLS);
    bits::pack_bools(w.out, rows.iter().map(|row| !matches!(row, Value::Null)));
    column_out(w, &present);
}

fn bytes_out(w: &mut Writer<'_>, rows: &[&Value]) {
    let runs = || rows.iter().filter_map(|row| if let Value::Bytes(bytes) = row { Some(bytes) } else { None });
    w.tag(column::BYTES);
    ints::write_lengths(w, runs().map(|run| run.len()));
    runs().for_each(|run| w.out.extend_from_slice(run));
}

fn lists_out(w: &mut Writer<'_>, rows: &[&Value]) {
    w.tag(column::LISTS);
    let elements: Vec<&Value> = rows.iter().flat_map(|row| row.items()).collect();
    let lengths: Vec<usize> = rows.iter().map(|row| row.items().count()).collect();
    ints::write_lengths(w, lengths.iter().copied());
    values_out(w, &elements);
}

fn maps_out(w: &mut Writer<'_>, rows: &[&Value]) {
    let pairs = || rows.iter().filter_map(|row| if let Value::Map(pairs) = row { Some(pairs) } else { None });
    w.tag(column::MAPS);
    ints::write_lengths(w, pairs().map(|pairs| pairs.len()));
    values_out(w, &pairs().flat_map(|pairs| pairs.iter().map(|(key, _)| key)).collect::<Vec<_>>());
    values_out(w, &pairs().flat_map(|pairs| pairs.iter().map(|(_, value)| value)).collect::<Vec<_>>());
}

fn is_constant(rows: &[&Value]) -> bool {
    let Some((first, rest)) = rows.split_first() else { return false };
    rest.iter().all(|row| identical(first, row))
}

/// Checks whether two values are written alike: equal, with equal numbers of one kind.
pub(super) fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Num(a), Value::Num(b)) => a.to_bits() == b.to_bits(),
        (Value::List(_), Value::List(_)) => {
            let (mut left, mut right) = (a.items(), b.items());
            loop {
                match (left.next(), right.next()) {
                    (Some(a), Some(b)) if identical(a, b) => {}
                    (None, None) => return identical(left.tail(), right.tail()),
                    _ => return false,
                }
            }
        }
        (Value::Term(a), Value::Term(b)) => std::ptr::eq(a.as_ref(), b.as_ref()) || identical_terms(a, b),
        (Value::Map(a), Value::Map(b)) => {
            let same = |(a, b): (&(Value, Value), &(Value, Value))| identical(&a.0, &b.0) && identical(&a.1, &b.1);
            a.len() == b.len() && a.iter().zip(b.iter()).all(same)
        }
        (Value::Record(a), Value::Record(b)) => {
            let same = |(a, b): (&(Symbol, Value), &(Symbol, Value))| a.0 == b.0 && identical(&a.1, &b.1);
            a.name == b.name && a.fields.len() == b.fields.len() && a.fields.iter().zip(&b.fields).all(same)
        }
        // Containers are written as references: never as one value for many rows.
        (Value::Object(_), Value::Object(_)) => false,
        (Value::Var(Var { slot, name }), Value::Var(other)) => (*slot, *name) == (other.slot, other.name),
        (Value::Null, Value::Null) | (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Atom(a), Value::Atom(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        _ => false,
    }
}

fn identical_terms(a: &Structure, b: &Structure) -> bool {
    let annots = || a.annots.iter().zip(&b.annots).all(|(a, b)| identical(&a.to_value(), &b.to_value()));
    (a.functor, a.namespace, a.negated) == (b.functor, b.namespace, b.negated)
        && a.args.len() == b.args.len()
        && a.annots.len() == b.annots.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| identical(a, b))
        && annots()
}

/// Reads the count of a list's or map's rows, and charges the memory they take.
pub(super) fn row_count(r: &mut Reader<'_>) -> Result<usize> {
    let count = usize::try_from(r.number()?).unwrap_or(usize::MAX);
    // A column takes at least two bytes, whatever its rows.
    if count.div_ceil(ROWS) > r.remaining() {
        return Err(DecodeError::Truncated { at: r.at() });
    }
    r.charge(count.saturating_mul(value_in::CELL_BYTES))?;
    Ok(count)
}

/// Reads an array.
pub(super) fn array_in(r: &mut Reader<'_>) -> Result<Value> {
    let count = row_count(r)?;
    if count == 0 {
        return Err(r.malformed("an empty array"));
    }
    values_in(r, count).map(Value::list)
}

/// Reads `count` values, written as columns; their memory is charged already.
pub(super) fn values_in(r: &mut Reader<'_>, count: usize) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(count);
    while values.len() < count {
        let rows = (count - values.len()).min(ROWS);
        column_in(r, rows, &mut values)?;
    }
    Ok(values)
}

/// Reads one column of `count` rows.
pub(super) fn column_in(r: &mut Reader<'_>, count: usize, out: &mut Vec<Value>) -> Result<()> {
    if r.peek()? != column::NULLS {
        return dense_in(r, count, out);
    }
    r.byte()?;
    let (present, bitmap) = presence(r, count)?;
    let mut values = Vec::with_capacity(present);
    dense_in(r, present, &mut values)?;
    let mut values = values.into_iter();
    out.extend(
        bitmap.take(count).map(|is_there| if is_there { values.next().unwrap_or_default() } else { Value::Null }),
    );
    Ok(())
}

/// Reads which of the rows are there: how many, and for each whether it is.
pub(super) fn presence<'a>(r: &mut Reader<'a>, count: usize) -> Result<(usize, impl Iterator<Item = bool> + 'a)> {
    let bitmap = r.take(count.div_ceil(8))?;
    let present: usize = bitmap.iter().map(|byte| byte.count_ones() as usize).sum();
    if !bits::ends_clean(bitmap, count) || present == 0 || present == count {
        return Err(r.malformed("a column said to have gaps that has none, or nothing else"));
    }
    Ok((present, bits::bools(bitmap)))
}

/// Reads a column without gaps.
fn dense_in(r: &mut Reader<'_>, count: usize, out: &mut Vec<Value>) -> Result<()> {
    let tag = r.byte()?;
    match tag {
        column::ANY => {
            for _ in 0..count {
                out.push(value_in::value(r)?);
            }
        }
        column::CONSTANT => {
            let value = value_in::value(r)?;
            out.extend(std::iter::repeat_n(value, count));
        }
        column::BOOLS => {
            let packed = r.take(count.div_ceil(8))?;
            if !bits::ends_clean(packed, count) {
                return Err(r.malformed("bits beyond the last row"));
            }
            out.extend(bits::bools(packed).take(count).map(Value::Bool));
        }
        column::BYTES => bytes_in(r, count, out)?,
        column::LISTS => r.nested(|r| lists_in(r, count, out))?,
        column::MAPS => r.nested(|r| maps_in(r, count, out))?,
        column::TABLE => r.nested(|r| table::read(r, count, out))?,
        tag if ints::is_ints(tag) => {
            let mut numbers = Vec::new();
            ints::read_tagged(r, tag, count, &mut numbers)?;
            out.extend(numbers.into_iter().map(Value::Int));
        }
        tag if floats::is_floats(tag) => {
            let mut numbers = Vec::new();
            floats::read_tagged(r, tag, count, &mut numbers)?;
            out.extend(numbers.into_iter().map(Value::Num));
        }
        tag if texts::is_texts(tag, TextKind::Text) => texts_in(r, tag, count, TextKind::Text, out)?,
        tag if texts::is_texts(tag, TextKind::Atom) => texts_in(r, tag, count, TextKind::Atom, out)?,
        _ => return Err(r.malformed("an unknown kind of column")),
    }
    Ok(())
}

fn texts_in(r: &mut Reader<'_>, tag: u8, count: usize, kind: TextKind, out: &mut Vec<Value>) -> Result<()> {
    match texts::read(r, tag, count, kind)? {
        texts::Rows::Refs(numbers) => {
            for number in numbers {
                let number = u64::try_from(number).unwrap_or(u64::MAX);
                out.push(match kind {
                    TextKind::Text => Value::Str(r.shared_text(number)?),
                    TextKind::Atom => Value::atom(r.symbol(number)?),
                });
            }
        }
        texts::Rows::Plain(lengths, run) => {
            r.charge(run.len())?;
            out.extend(texts::pieces(&lengths, run).map(|piece| match kind {
                TextKind::Text => Value::from(piece),
                TextKind::Atom => Value::atom(Symbol::new(piece)),
            }));
        }
        texts::Rows::Made(maker) => {
            r.charge(count.saturating_mul(maker.bytes_max()))?;
            maker.for_each(|text| out.push(Value::Str(Text::from(text))));
        }
    }
    Ok(())
}

fn bytes_in(r: &mut Reader<'_>, count: usize, out: &mut Vec<Value>) -> Result<()> {
    let (lengths, sum) = ints::read_lengths(r, count, r.remaining())?;
    r.charge(sum + count * value_in::CELL_BYTES)?;
    for length in lengths {
        let bytes = r.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        out.push(Value::from(bytes));
    }
    Ok(())
}

/// Reads the lengths of rows, and charges the memory their elements take.
pub(super) fn element_counts(r: &mut Reader<'_>, count: usize, element_bytes: usize) -> Result<(Vec<i64>, usize)> {
    let (lengths, sum) = ints::read_lengths(r, count, r.limits_left().budget_bytes)?;
    r.charge(sum.saturating_mul(element_bytes))?;
    Ok((lengths, sum))
}

fn lists_in(r: &mut Reader<'_>, count: usize, out: &mut Vec<Value>) -> Result<()> {
    let (lengths, sum) = element_counts(r, count, value_in::CELL_BYTES)?;
    let mut elements = values_in(r, sum)?.into_iter();
    for length in lengths {
        let row: Vec<Value> = elements.by_ref().take(length as usize).collect();
        out.push(Value::list(row));
    }
    Ok(())
}

fn maps_in(r: &mut Reader<'_>, count: usize, out: &mut Vec<Value>) -> Result<()> {
    let (lengths, sum) = element_counts(r, count, 2 * value_in::CELL_BYTES)?;
    let keys = values_in(r, sum)?;
    let values = values_in(r, sum)?;
    let mut pairs = keys.into_iter().zip(values);
    for length in lengths {
        out.push(Value::map(pairs.by_ref().take(length as usize)));
    }
    Ok(())
}
