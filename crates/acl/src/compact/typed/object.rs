//! Support for derived code: objects, their fields by name, and columns of them.

use std::rc::Rc;

use super::super::column as columns;
use super::super::reader::ShapeKind;
use super::super::tags::{self, column, shape};
use super::super::texts::{self, Rows, TextKind};
use super::super::writer::define;
use super::super::{DecodeError, bits, table, value_in, varint};
use super::{Decode, Encode, Few, Reader, Result, Writer, any_tagged};

/// Static description of a derived type.
pub struct Description {
    /// Name of the type on the wire.
    pub name: &'static str,
    /// Names of the fields on the wire, at most 64.
    pub fields: &'static [&'static str],
    /// Other names that fields had, and which fields.
    pub aliases: &'static [(&'static str, u8)],
}

/// Number of a field that the type does not have.
const UNKNOWN: u8 = u8::MAX;

impl Description {
    fn shape(&'static self, w: &mut Writer<'_>, present: u64) -> u32 {
        let address = std::ptr::from_ref(self) as usize;
        if let Some(number) = w.dictionary.find_type(address, present) {
            return number;
        }
        let number = w.dictionary.type_shape(address, present, |definition| {
            let fields = self.fields.iter().enumerate().filter(|(at, _)| present >> at & 1 == 1);
            let fields: Vec<&str> = fields.map(|(_, field)| *field).collect();
            define(definition, shape::RECORD, self.name, fields.iter().copied());
        });
        w.dictionary.remember_type(address, present, number);
        number
    }

    /// Returns the index of the type's field of this name: most likely the one at the same place.
    fn place(&self, at: usize, name: &str) -> u8 {
        if self.fields.get(at) == Some(&name) {
            return at as u8;
        }
        let own = self.fields.iter().position(|field| *field == name).map(|at| at as u8);
        own.or_else(|| self.aliases.iter().find(|(alias, _)| *alias == name).map(|(_, at)| *at)).unwrap_or(UNKNOWN)
    }

    /// Returns the indices of the type's fields for the shape's fields; computed once for each shape.
    fn places(&'static self, r: &mut Reader<'_>, number: u64) -> Result<Rc<[u8]>> {
        let address = std::ptr::from_ref(self) as usize;
        if let Some(known) = r.places.iter().find(|known| known.0 == address && known.1 == number) {
            return Ok(Rc::clone(&known.2));
        }
        let shape = r.shape_numbered(number)?;
        let fits = match shape.kind {
            ShapeKind::Record => shape.name == self.name,
            ShapeKind::Map => true,
            ShapeKind::Term(_) => false,
        };
        if !fits {
            return Err(r.mismatch(self.name));
        }
        let places: Rc<[u8]> = shape.fields.iter().enumerate().map(|(at, field)| self.place(at, field)).collect();
        r.charge(places.len() + 64)?;
        r.places.push((address, number, Rc::clone(&places)));
        Ok(places)
    }
}

/// Begins an object that has these fields, a bit each.
pub fn begin(w: &mut Writer<'_>, of: &'static Description, present: u64) {
    let shape = of.shape(w, present);
    w.object(shape);
}

/// Begins a table whose rows have these fields, a bit each.
pub fn begin_table(w: &mut Writer<'_>, of: &'static Description, present: u64) {
    let shape = of.shape(w, present);
    w.table(shape);
}

/// Writes a nested value.
pub fn nested(w: &mut Writer<'_>, write: impl FnOnce(&mut Writer<'_>)) {
    w.nested(write);
}

/// Writes rows as one value if they are all alike.
pub fn constant<T: Encode>(rows: &[&T], w: &mut Writer<'_>) -> bool {
    super::constant(rows, w)
}

/// Writes the column of a field that at least one row has.
pub fn column<'a, S, T: Encode + 'a>(w: &mut Writer<'_>, rows: &[&'a S], field: impl Fn(&'a S) -> &'a T) {
    // Where it stands: it is too long to be moved.
    let mut cells = Few::<&T>::new();
    cells.extend(rows.iter().map(|row| field(row)));
    if !cells.iter().any(|cell| cell.is_absent()) {
        return T::encode_column(&cells, w);
    }
    w.tag(column::ABSENT);
    bits::pack_bools(w.out, cells.iter().map(|cell| !cell.is_absent()));
    cells.retain(|cell| !cell.is_absent());
    T::encode_column(&cells, w);
}

/// Begins reading an object: which of the type's fields follow.
///
/// # Errors
/// It is no object, or one of another type.
pub fn open(r: &mut Reader<'_>, of: &'static Description) -> Result<Rc<[u8]>> {
    let tag = r.byte()?;
    let number = r.object_shape(tag)?.ok_or_else(|| r.mismatch(of.name))?;
    of.places(r, number)
}

/// Begins reading a column: which of the type's fields follow as columns; if it is no table, reads it whole.
///
/// # Errors
/// It is no column of this type.
pub fn open_table<T: Decode>(
    r: &mut Reader<'_>,
    of: &'static Description,
    count: usize,
    out: &mut Vec<T>,
) -> Result<Option<Rc<[u8]>>> {
    let tag = r.byte()?;
    if tag != column::TABLE {
        any_tagged(r, tag, count, out)?;
        return Ok(None);
    }
    let number = r.number()?;
    of.places(r, number).map(Some)
}

/// Reads a nested value.
///
/// # Errors
/// Errors of `read`, or a value that nests too deeply.
pub fn inside<'a, T>(r: &mut Reader<'a>, read: impl FnOnce(&mut Reader<'a>) -> Result<T>) -> Result<T> {
    r.nested(read)
}

/// Skips the value of a field that the type does not have.
///
/// # Errors
/// The value is malformed.
pub fn skip(r: &mut Reader<'_>) -> Result<()> {
    value_in::value(r).map(drop)
}

/// Skips the column of a field that the type does not have.
///
/// # Errors
/// The column is malformed.
pub fn skip_column(r: &mut Reader<'_>, count: usize) -> Result<()> {
    r.charge(count.saturating_mul(value_in::CELL_BYTES))?;
    let rows = if r.peek()? == column::ABSENT {
        r.byte()?;
        columns::presence(r, count)?.0
    } else {
        count
    };
    columns::column_in(r, rows, &mut Vec::new())
}

/// Returns the field that was read, or its default.
///
/// # Errors
/// There is neither.
pub fn required<T: Decode>(field: Option<T>, of: &'static Description, place: usize) -> Result<T> {
    field.or_else(T::absent).ok_or_else(|| missing(of, place))
}

fn missing(of: &'static Description, place: usize) -> DecodeError {
    DecodeError::Missing { of: of.name, field: of.fields.get(place).copied().unwrap_or_default() }
}

/// Reads a field's column, with a value for each row that has the field.
pub(super) fn field_column<T: Decode>(r: &mut Reader<'_>, count: usize) -> Result<Vec<Option<T>>> {
    r.charge(count.saturating_mul(size_of::<T>()))?;
    let mut values = Vec::new();
    if r.peek()? != column::ABSENT {
        T::decode_column(r, count, &mut values)?;
        return Ok(values.into_iter().map(Some).collect());
    }
    r.byte()?;
    let (present, bitmap) = columns::presence(r, count)?;
    T::decode_column(r, present, &mut values)?;
    let mut values = values.into_iter();
    Ok(bitmap.take(count).map(|is_there| if is_there { values.next() } else { None }).collect())
}

/// Reads a field's column; rows that lack the field have its default.
///
/// # Errors
/// The column is malformed, not of this type, or a row lacks the field and it has no default.
pub fn fields<T: Decode>(
    r: &mut Reader<'_>,
    count: usize,
    default: fn() -> Option<T>,
    of: &'static Description,
    place: usize,
) -> Result<Vec<T>> {
    if r.peek()? == column::ABSENT {
        let values = field_column(r, count)?.into_iter();
        return values.map(|value| value.or_else(default).ok_or_else(|| missing(of, place))).collect();
    }
    r.charge(count.saturating_mul(size_of::<T>()))?;
    let mut values = Vec::with_capacity(count);
    T::decode_column(r, count, &mut values)?;
    Ok(values)
}

/// Returns the rows of a field that were read, or its default for each row.
///
/// # Errors
/// There is neither.
pub fn rows<T>(
    column: Option<Vec<T>>,
    count: usize,
    default: fn() -> Option<T>,
    of: &'static Description,
    place: usize,
) -> Result<std::vec::IntoIter<T>> {
    if let Some(column) = column {
        return Ok(column.into_iter());
    }
    let column: Option<Vec<T>> = (0..count).map(|_| default()).collect();
    column.map(Vec::into_iter).ok_or_else(|| missing(of, place))
}

/// Writes a variant without fields.
pub fn atom(w: &mut Writer<'_>, name: &str) {
    w.atom(name);
}

/// Begins a variant with this number of fields without names, at most 15.
pub fn term(w: &mut Writer<'_>, name: &str, fields: usize) {
    w.tag(tags::PLAIN_TERM + fields as u8);
    w.name(name);
}

/// Writes a column of an enum; `name` tells a variant's name if it has no fields.
pub fn variants<T: Encode>(rows: &[&T], w: &mut Writer<'_>, name: impl Fn(&T) -> Option<&'static str>) {
    match rows.iter().map(|row| name(row)).collect::<Option<Vec<&str>>>() {
        Some(names) => texts::write(w, &names, TextKind::Atom),
        None if super::constant(rows, w) => {}
        None => super::any(rows, w),
    }
}

/// First part of a variant.
pub enum Variant<'a> {
    /// Variant without fields.
    Atom(&'a str),
    /// Variant with this number of fields without names.
    Term(&'a str, usize),
    /// An object of this name follows.
    Object(&'a str),
}

/// Reads the beginning of a variant; an object is left whole.
///
/// # Errors
/// It is no variant of an enum.
pub fn variant<'a>(r: &mut Reader<'a>, of: &'static str) -> Result<Variant<'a>> {
    let at = r.at();
    let tag = r.byte()?;
    match tag {
        tags::ATOM_REF..tags::SMALL_NUM => Ok(Variant::Atom(r.dictionary_text(u64::from(tag - tags::ATOM_REF))?.text)),
        tags::LONG_ATOM_REF => {
            let number = r.number()?;
            Ok(Variant::Atom(r.dictionary_text(number)?.text))
        }
        tags::ATOM => r.plain_text().map(Variant::Atom),
        tags::TRUE => Ok(Variant::Atom("true")),
        tags::FALSE => Ok(Variant::Atom("false")),
        tags::PLAIN_TERM.. => Ok(Variant::Term(r.name_text()?, usize::from(tag - tags::PLAIN_TERM))),
        tag => {
            let number = r.object_shape(tag)?.ok_or_else(|| r.mismatch(of))?;
            let shape = r.shape_numbered(number)?;
            r.return_to(at);
            Ok(Variant::Object(shape.name))
        }
    }
}

/// Makes the error that a type has no such variant.
pub fn no_variant(r: &Reader<'_>, of: &'static str) -> DecodeError {
    r.mismatch(of)
}

/// Reads a column of an enum; `named` makes a variant without fields.
///
/// # Errors
/// It is no column of this type.
pub fn read_variants<T: Decode>(
    r: &mut Reader<'_>,
    count: usize,
    out: &mut Vec<T>,
    named: impl Fn(&str) -> Option<T>,
    of: &'static str,
) -> Result<()> {
    let tag = r.byte()?;
    if tag == column::TABLE {
        return table_of_variants(r, count, out);
    }
    if !texts::is_texts(tag, TextKind::Atom) {
        return any_tagged(r, tag, count, out);
    }
    match texts::read(r, tag, count, TextKind::Atom)? {
        Rows::Refs(numbers) => {
            for number in numbers {
                let name = r.dictionary_text(u64::try_from(number).unwrap_or(u64::MAX))?.text;
                out.push(named(name).ok_or_else(|| r.mismatch(of))?);
            }
        }
        Rows::Plain(lengths, run) => {
            for name in texts::pieces(&lengths, run) {
                out.push(named(name).ok_or_else(|| r.mismatch(of))?);
            }
        }
        Rows::Made(_) => return Err(r.mismatch(of)),
    }
    Ok(())
}

/// Reads a table of one variant, which a writer of dynamic values makes, by way of dynamic values.
fn table_of_variants<T: Decode>(r: &mut Reader<'_>, count: usize, out: &mut Vec<T>) -> Result<()> {
    let mut rows = Vec::new();
    r.nested(|r| table::read(r, count, &mut rows))?;
    for row in rows {
        let mut body = Vec::new();
        super::super::encode_body(&row, &mut body).map_err(|_| r.malformed("values nested too deeply"))?;
        let mut inner = Reader::new(&body, r.limits_left())?;
        out.push(T::decode(&mut inner)?);
        r.charge(inner.spent_bytes())?;
    }
    Ok(())
}

/// Returns a text as if it were read as a value.
pub(super) fn value_of_text<T: Decode>(r: &mut Reader<'_>, text: &str) -> Result<T> {
    let mut bytes = vec![tags::TEXT];
    varint::write(&mut bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
    r.charge(text.len())?;
    T::decode(&mut Reader::bare(&bytes, r.limits_left()))
}
