//! Rust types to bytes and back, without a [`crate::Value`] between: the target of `#[derive(Encode, Decode)]`.

mod agent;
mod containers;
mod numbers;
pub mod object;
mod shared;
mod text;

pub use containers::MapKey;
use smallvec::SmallVec;

use super::column::ROWS;
use super::reader::Reader;
use super::tags::{self, column};
use super::writer::Writer;
use super::{DecodeError, column as columns, ints, value_in, value_out};
use crate::Value;

/// Values gathered from rows. Most columns are short, and need no heap memory for that.
type Few<T> = SmallVec<[T; 128]>;

type Result<T> = std::result::Result<T, DecodeError>;

/// A type that can be written. Derive it.
///
/// Fields that are `None` are left out; enums are atoms, terms or records named by their variant.
pub trait Encode: Sized {
    /// Writes it as a value.
    fn encode(&self, w: &mut Writer<'_>);

    /// Checks whether both values are written alike.
    fn same(&self, other: &Self) -> bool;

    /// Returns true if an object omits the field with this value.
    fn is_absent(&self) -> bool {
        false
    }

    /// Writes rows as a column; there are 1 to 1024.
    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        if !constant(rows, w) {
            any(rows, w);
        }
    }

    /// Checks whether a list of these values takes fewer bytes as a column.
    fn pays(items: &[Self]) -> bool {
        items.len() >= 3
    }

    /// Writes a list of these as a value.
    fn encode_list(items: &[Self], w: &mut Writer<'_>) {
        if items.is_empty() || !Self::pays(items) {
            w.list(items.len());
            return w.nested(|w| items.iter().for_each(|item| item.encode(w)));
        }
        w.tag(tags::ARRAY);
        w.number(items.len() as u64);
        w.nested(|w| Self::encode_elements(&[items], w));
    }

    /// Writes lists of these as a column; no list is a row of more.
    fn encode_lists(rows: &[&[Self]], w: &mut Writer<'_>) {
        w.tag(column::LISTS);
        ints::write_lengths(w, rows.iter().map(|row| row.len()));
        w.nested(|w| Self::encode_elements(rows, w));
    }

    /// Writes all elements of these lists, as columns.
    fn encode_elements(rows: &[&[Self]], w: &mut Writer<'_>) {
        let mut elements = Few::<&Self>::new();
        rows.iter().for_each(|row| elements.extend(row.iter()));
        elements.chunks(ROWS).for_each(|rows| Self::encode_column(rows, w));
    }

    /// Checks whether two lists of these values are written alike.
    fn same_lists(a: &[Self], b: &[Self]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
    }
}

/// Type that can be decoded. Derive it.
///
/// Fields of an object are found by name. Unknown fields are skipped; missing ones take their default, if they have
/// one.
pub trait Decode: Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// It is malformed, too large, or not of this type.
    fn decode(r: &mut Reader<'_>) -> Result<Self>;

    /// Returns the value of a field that an object omits.
    fn absent() -> Option<Self> {
        None
    }

    /// Appends `count` more values like this one, if that is cheaper than to read them again; all or none.
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        let _ = (count, out);
        false
    }

    /// Appends `count` lists like this one, if that is cheaper than to read them again; all or none.
    fn repeat_list(list: &[Self], count: usize, out: &mut Vec<Vec<Self>>) -> bool {
        if list.is_empty() {
            out.extend((0..count).map(|_| Vec::new()));
            return true;
        }
        let mut copies = Vec::with_capacity(count);
        for _ in 0..count {
            let mut copy = Vec::with_capacity(list.len());
            if !list.iter().all(|item| item.repeat(1, &mut copy)) {
                return false;
            }
            copies.push(copy);
        }
        out.append(&mut copies);
        true
    }

    /// Appends `count` rows of a column; their own memory is charged already.
    ///
    /// # Errors
    /// As for [`Decode::decode`].
    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        let tag = r.byte()?;
        any_tagged(r, tag, count, out)
    }

    /// Reads a list of these.
    ///
    /// # Errors
    /// As for [`Decode::decode`].
    fn decode_list(r: &mut Reader<'_>) -> Result<Vec<Self>> {
        let tag = r.byte()?;
        let count = match tag {
            tags::SHORT_LIST..tags::OBJECT => usize::from(tag - tags::SHORT_LIST),
            tags::LIST => r.count_of_bytes(1)?,
            tags::ARRAY => {
                let count = columns::row_count(r)?;
                return r.nested(|r| Self::decode_elements(r, count));
            }
            _ => return Err(r.mismatch("a list")),
        };
        r.charge(count.saturating_mul(size_of::<Self>()))?;
        r.nested(|r| (0..count).map(|_| Self::decode(r)).collect())
    }

    /// Appends `count` lists of these values, read from a column.
    ///
    /// # Errors
    /// As for [`Decode::decode`].
    fn decode_lists(r: &mut Reader<'_>, count: usize, out: &mut Vec<Vec<Self>>) -> Result<()> {
        let (lengths, sum) = columns::element_counts(r, count, size_of::<Self>())?;
        let elements = r.nested(|r| Self::decode_elements(r, sum))?;
        Self::split(elements, &lengths, out);
        Ok(())
    }

    /// Reads `count` elements, written as columns.
    ///
    /// # Errors
    /// As for [`Decode::decode`].
    fn decode_elements(r: &mut Reader<'_>, count: usize) -> Result<Vec<Self>> {
        r.charge(count.saturating_mul(size_of::<Self>()))?;
        let mut elements = Vec::with_capacity(count);
        while elements.len() < count {
            let rows = (count - elements.len()).min(ROWS);
            Self::decode_column(r, rows, &mut elements)?;
        }
        Ok(elements)
    }

    /// Cuts elements into lists of these lengths.
    fn split(elements: Vec<Self>, lengths: &[i64], out: &mut Vec<Vec<Self>>) {
        let mut elements = elements.into_iter();
        out.extend(lengths.iter().map(|length| elements.by_ref().take(*length as usize).collect()));
    }
}

/// Writes rows as one value if they are all alike.
pub(super) fn constant<T: Encode>(rows: &[&T], w: &mut Writer<'_>) -> bool {
    let Some((first, rest)) = rows.split_first() else { return true };
    let is_constant = rest.iter().all(|row| first.same(row));
    if is_constant {
        w.tag(column::CONSTANT);
        first.encode(w);
    }
    is_constant
}

/// Writes rows one after another.
pub(super) fn any<T: Encode>(rows: &[&T], w: &mut Writer<'_>) {
    w.tag(column::ANY);
    rows.iter().for_each(|row| row.encode(w));
}

/// Reads a column after its tag, in the forms that columns of every type may have.
pub(super) fn any_tagged<T: Decode>(r: &mut Reader<'_>, tag: u8, count: usize, out: &mut Vec<T>) -> Result<()> {
    match tag {
        column::ANY => {
            for _ in 0..count {
                out.push(T::decode(r)?);
            }
            Ok(())
        }
        column::CONSTANT => repeated(r, count, out),
        _ => Err(r.mismatch("a column of another type")),
    }
}

/// Appends a constant column's value once per row: copies if the type can, else it is read again.
fn repeated<T: Decode>(r: &mut Reader<'_>, count: usize, out: &mut Vec<T>) -> Result<()> {
    let (at, labels, spent) = (r.at(), r.labelled.len(), r.spent_bytes());
    let first = T::decode(r)?;
    let others = count.saturating_sub(1);
    // Repeated values are charged as when they are read: the first one may have shared some of its bytes.
    if first.repeat(0, out) {
        r.charge((r.spent_bytes() - spent).saturating_mul(others))?;
        first.repeat(others, out);
    } else {
        for _ in 0..others {
            r.return_to(at);
            r.labelled.truncate(labels);
            out.push(T::decode(r)?);
        }
    }
    out.push(first);
    Ok(())
}

/// Appends `count` clones of a value; always returns true.
fn repeat_clones<T: Clone>(thing: &T, count: usize, out: &mut Vec<T>) -> bool {
    out.extend(std::iter::repeat_n(thing, count).cloned());
    true
}

/// Appends `count` copies of a list of cheaply copied values.
fn repeat_copies<T: Copy>(list: &[T], count: usize, out: &mut Vec<Vec<T>>) -> bool {
    out.extend(std::iter::repeat_n(list, count).map(<[T]>::to_vec));
    true
}

/// Writes `thing` as a document: with the format's mark and version, to be stored or sent.
///
/// # Errors
/// Values are nested too deeply; nothing was written then.
pub fn encode<T: Encode>(thing: &T, out: &mut Vec<u8>) -> std::result::Result<(), super::EncodeError> {
    super::alone::write_document(out, |w| thing.encode(w))
}

/// Writes `thing` as a self-contained body, for [`super::EncodedMessage::body`].
///
/// # Errors
/// Values nest too deeply; then nothing was written.
pub fn encode_body<T: Encode>(thing: &T, out: &mut Vec<u8>) -> std::result::Result<(), super::EncodeError> {
    super::alone::write_body(out, |w| thing.encode(w))
}

/// Reads a document, all of `bytes`.
///
/// # Errors
/// The bytes are no document, or not of this type, or it would take more than the limits allow.
pub fn decode<T: Decode>(bytes: &[u8], limits: super::Limits) -> Result<T> {
    decode_body(super::value_document(bytes)?, limits)
}

/// Reads a self-contained body, all of `bytes`.
///
/// # Errors
/// The bytes are no body, or not of this type, or it would take more than the limits allow.
pub fn decode_body<T: Decode>(bytes: &[u8], limits: super::Limits) -> Result<T> {
    let mut reader = Reader::new(bytes, limits)?;
    let thing = T::decode(&mut reader)?;
    reader.end()?;
    Ok(thing)
}

impl Encode for Value {
    fn encode(&self, w: &mut Writer<'_>) {
        value_out::value(w, self);
    }

    fn same(&self, other: &Self) -> bool {
        columns::identical(self, other)
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        columns::column_out(w, rows);
    }

    fn encode_list(items: &[Self], w: &mut Writer<'_>) {
        w.nested(|w| columns::list_out(w, &items.iter().collect::<Vec<_>>()));
    }
}

impl Decode for Value {
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        value_in::value(r)
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        columns::column_in(r, count, out)
    }
}
