//! Codecs of containers: options, lists, arrays, boxes, maps, tuples.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use super::super::column as columns;
use super::super::reader::ShapeKind;
use super::super::tags::{self, column, shape};
use super::super::{bits, ints, value_in};
use super::{Decode, Encode, Few, Reader, Result, Writer, any, any_tagged, constant};

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Some(inner) => inner.encode(w),
            None => w.tag(tags::NULL),
        }
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        let present: Few<&T> = rows.iter().filter_map(|row| row.as_ref()).collect();
        if present.is_empty() {
            w.tag(column::CONSTANT);
            return w.tag(tags::NULL);
        }
        if present.len() < rows.len() {
            w.tag(column::NULLS);
            bits::pack_bools(w.out, rows.iter().map(|row| row.is_some()));
        }
        T::encode_column(&present, w);
    }

    fn pays(items: &[Self]) -> bool {
        items.len() >= 8
    }
}

impl<T: Decode> Decode for Option<T> {
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        let Some(inner) = self else {
            out.extend((0..count).map(|_| None));
            return true;
        };
        let mut inners = Vec::with_capacity(count);
        let repeats = inner.repeat(count, &mut inners);
        out.extend(inners.into_iter().map(Some));
        repeats
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        if r.peek()? == tags::NULL {
            r.byte()?;
            return Ok(None);
        }
        T::decode(r).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        match r.peek()? {
            tag @ (column::ANY | column::CONSTANT) => {
                r.byte()?;
                return any_tagged(r, tag, count, out);
            }
            column::NULLS => {
                r.byte()?;
            }
            _ => {
                let mut values = Vec::with_capacity(count);
                T::decode_column(r, count, &mut values)?;
                out.extend(values.into_iter().map(Some));
                return Ok(());
            }
        }
        let (present, bitmap) = columns::presence(r, count)?;
        let mut values = Vec::with_capacity(present);
        T::decode_column(r, present, &mut values)?;
        let mut values = values.into_iter();
        out.extend(bitmap.take(count).map(|is_there| if is_there { values.next() } else { None }));
        Ok(())
    }
}

fn list_column<'a, T: Encode + 'a, L>(rows: &[&'a L], w: &mut Writer<'_>, items: impl Fn(&'a L) -> &'a [T]) {
    let Some((first, rest)) = rows.split_first() else { return };
    let first = items(first);
    if rest.iter().all(|row| T::same_lists(first, items(row))) {
        w.tag(column::CONSTANT);
        T::encode_list(first, w);
    } else {
        T::encode_lists(&rows.iter().map(|row| items(row)).collect::<Few<_>>(), w);
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, w: &mut Writer<'_>) {
        T::encode_list(self, w);
    }

    fn same(&self, other: &Self) -> bool {
        T::same_lists(self, other)
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        list_column(rows, w, |row| row);
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn repeat(&self, count: usize, out: &mut Vec<Self>) -> bool {
        T::repeat_list(self, count, out)
    }

    /// Decodes a single value as a list of one, so that a field may become a list.
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        let tag = r.peek()?;
        let is_list = (tags::SHORT_LIST..tags::OBJECT).contains(&tag);
        if is_list || matches!(tag, tags::LIST | tags::ARRAY | tags::BYTES | tags::PACKED_BYTES) {
            return T::decode_list(r);
        }
        r.charge(size_of::<T>())?;
        T::decode(r).map(|one| vec![one])
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        let at = r.at();
        let tag = r.byte()?;
        match tag {
            column::LISTS | column::BYTES => return T::decode_lists(r, count, out),
            column::ANY | column::CONSTANT => return any_tagged(r, tag, count, out),
            _ => {}
        }
        r.return_to(at);
        r.charge(count.saturating_mul(size_of::<T>()))?;
        let mut alone = Vec::with_capacity(count);
        T::decode_column(r, count, &mut alone)?;
        out.extend(alone.into_iter().map(|one| vec![one]));
        Ok(())
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    fn encode(&self, w: &mut Writer<'_>) {
        T::encode_list(self, w);
    }

    fn same(&self, other: &Self) -> bool {
        T::same_lists(self, other)
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        list_column(rows, w, |row| row.as_slice());
    }
}

impl<T: Decode, const N: usize> Decode for [T; N] {
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        T::decode_list(r)?.try_into().map_err(|_| r.mismatch("a list of another length"))
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        let mut lists = Vec::with_capacity(count);
        Vec::<T>::decode_column(r, count, &mut lists)?;
        for list in lists {
            out.push(list.try_into().map_err(|_| r.mismatch("lists of another length"))?);
        }
        Ok(())
    }
}

impl<T: Encode> Encode for Box<T> {
    fn encode(&self, w: &mut Writer<'_>) {
        w.nested(|w| (**self).encode(w));
    }

    fn same(&self, other: &Self) -> bool {
        (**self).same(other)
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        w.nested(|w| T::encode_column(&rows.iter().map(|row| &***row).collect::<Few<_>>(), w));
    }
}

impl<T: Decode> Decode for Box<T> {
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        r.charge(size_of::<T>())?;
        r.nested(|r| T::decode(r)).map(Self::new)
    }

    fn absent() -> Option<Self> {
        T::absent().map(Self::new)
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        r.charge(count.saturating_mul(size_of::<T>()))?;
        let mut values = Vec::with_capacity(count);
        r.nested(|r| T::decode_column(r, count, &mut values))?;
        out.extend(values.into_iter().map(Self::new));
        Ok(())
    }
}

/// A map's key, as a field's name if it is text.
pub trait MapKey: Ord {
    /// Returns the text of the key, if it is text.
    fn as_text(&self) -> Option<&str> {
        None
    }
}

impl MapKey for String {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl MapKey for crate::Text {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

macro_rules! plain_keys { ($($type:ty)*) => { $(impl MapKey for $type {})* } }
plain_keys! { i8 i16 i32 i64 u8 u16 u32 u64 usize bool }

/// Most entries of a map that is written as an object, as for dynamic values.
const SHAPED_ENTRIES_MAX: usize = super::super::value_out::ENTRIES_OF_AN_OBJECT;

fn encode_map<'a, K: Encode + MapKey + 'a, V: Encode + 'a>(
    entries: impl ExactSizeIterator<Item = (&'a K, &'a V)>,
    w: &mut Writer<'_>,
) {
    let mut entries: Vec<(&K, &V)> = entries.collect();
    entries.sort_by_key(|entry| entry.0);
    let shaped = (1..=SHAPED_ENTRIES_MAX).contains(&entries.len());
    let keys = entries.iter().map(|(key, _)| key.as_text()).collect::<Option<Vec<&str>>>();
    if let Some(keys) = keys.filter(|_| shaped) {
        let shape = w.dictionary.named_shape(shape::MAP, "", keys.iter().copied());
        w.object(shape);
        return w.nested(|w| entries.iter().for_each(|(_, value)| value.encode(w)));
    }
    w.tag(tags::MAP);
    w.number(entries.len() as u64);
    w.nested(|w| map_columns(&entries, w));
}

fn map_columns<K: Encode, V: Encode>(entries: &[(&K, &V)], w: &mut Writer<'_>) {
    let keys: Vec<&K> = entries.iter().map(|(key, _)| *key).collect();
    keys.chunks(columns::ROWS).for_each(|rows| K::encode_column(rows, w));
    let values: Vec<&V> = entries.iter().map(|(_, value)| *value).collect();
    values.chunks(columns::ROWS).for_each(|rows| V::encode_column(rows, w));
}

fn encode_maps<'a, K: Encode + MapKey + 'a, V: Encode + 'a, M>(
    rows: &[&'a M],
    w: &mut Writer<'_>,
    sorted: impl Fn(&'a M) -> Vec<(&'a K, &'a V)>,
) {
    let maps: Vec<Vec<(&K, &V)>> = rows.iter().map(|row| sorted(row)).collect();
    w.tag(column::MAPS);
    ints::write_lengths(w, maps.iter().map(Vec::len));
    w.nested(|w| map_columns(&maps.concat(), w));
}

fn decode_map<K: Decode, V: Decode>(r: &mut Reader<'_>) -> Result<Vec<(K, V)>> {
    let tag = r.byte()?;
    if tag == tags::MAP {
        let count = columns::row_count(r)?;
        let (keys, values) = r.nested(|r| Ok((K::decode_elements(r, count)?, V::decode_elements(r, count)?)))?;
        return Ok(keys.into_iter().zip(values).collect());
    }
    let number = r.object_shape(tag)?.ok_or_else(|| r.mismatch("a map"))?;
    let keys = object_keys(r, number)?;
    r.charge(keys.len().saturating_mul(size_of::<(K, V)>()))?;
    r.nested(|r| keys.into_iter().map(|key| Ok((key, V::decode(r)?))).collect())
}

/// Returns the keys that a shape's fields are.
fn object_keys<K: Decode>(r: &mut Reader<'_>, number: u64) -> Result<Vec<K>> {
    let shape = r.shape_numbered(number)?;
    if shape.kind != ShapeKind::Map {
        return Err(r.mismatch("a map"));
    }
    shape.fields.iter().map(|field| super::object::value_of_text(r, field)).collect()
}

fn decode_maps<K: Decode + Clone, V: Decode>(r: &mut Reader<'_>, count: usize) -> Result<Vec<Vec<(K, V)>>> {
    let tag = r.byte()?;
    if tag == column::MAPS {
        let (lengths, sum) = columns::element_counts(r, count, size_of::<(K, V)>())?;
        let (keys, values) = r.nested(|r| Ok((K::decode_elements(r, sum)?, V::decode_elements(r, sum)?)))?;
        let mut entries = keys.into_iter().zip(values);
        return Ok(lengths.iter().map(|length| entries.by_ref().take(*length as usize).collect()).collect());
    }
    if tag == column::TABLE {
        return r.nested(|r| decode_table(r, count));
    }
    let at = r.at();
    let mut maps = Vec::new();
    for _ in 0..count {
        if tag == column::CONSTANT {
            r.return_to(at);
        } else if tag != column::ANY {
            return Err(r.mismatch("a column of maps"));
        }
        maps.push(decode_map(r)?);
    }
    Ok(maps)
}

fn decode_table<K: Decode + Clone, V: Decode>(r: &mut Reader<'_>, count: usize) -> Result<Vec<Vec<(K, V)>>> {
    let number = r.number()?;
    let keys: Vec<K> = object_keys(r, number)?;
    if keys.len() > r.remaining() {
        return Err(r.malformed("a table without columns"));
    }
    r.charge(count.saturating_mul(value_in::COMPOUND_BYTES + keys.len() * size_of::<(K, V)>()))?;
    let mut maps: Vec<Vec<(K, V)>> = (0..count).map(|_| Vec::new()).collect();
    for key in keys {
        let column = super::object::field_column::<V>(r, count)?;
        for (map, value) in maps.iter_mut().zip(column) {
            map.extend(value.map(|value| (key.clone(), value)));
        }
    }
    Ok(maps)
}

impl<K: Encode + MapKey, V: Encode> Encode for BTreeMap<K, V> {
    fn encode(&self, w: &mut Writer<'_>) {
        encode_map(self.iter(), w);
    }

    fn same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.0.same(b.0) && a.1.same(b.1))
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        if !constant(rows, w) {
            encode_maps(rows, w, |row| row.iter().collect());
        }
    }
}

impl<K: Decode + MapKey + Clone, V: Decode> Decode for BTreeMap<K, V> {
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        Ok(decode_map(r)?.into_iter().collect())
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        out.extend(decode_maps(r, count)?.into_iter().map(Self::from_iter));
        Ok(())
    }
}

impl<K: Encode + MapKey + Hash + Eq, V: Encode, S: BuildHasher> Encode for HashMap<K, V, S> {
    fn encode(&self, w: &mut Writer<'_>) {
        encode_map(self.iter(), w);
    }

    fn same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key).is_some_and(|own| own.same(value)))
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        if constant(rows, w) {
            return;
        }
        encode_maps(rows, w, |row| {
            let mut entries: Vec<(&K, &V)> = row.iter().collect();
            entries.sort_by_key(|entry| entry.0);
            entries
        });
    }
}

impl<K: Decode + MapKey + Clone + Hash + Eq, V: Decode, S: BuildHasher + Default> Decode for HashMap<K, V, S> {
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        Ok(decode_map(r)?.into_iter().collect())
    }

    fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
        out.extend(decode_maps(r, count)?.into_iter().map(Self::from_iter));
        Ok(())
    }
}

/// A pair is a list of two.
impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, w: &mut Writer<'_>) {
        w.list(2);
        w.nested(|w| {
            self.0.encode(w);
            self.1.encode(w);
        });
    }

    fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0) && self.1.same(&other.1)
    }

    fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
        if !constant(rows, w) {
            any(rows, w);
        }
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn decode(r: &mut Reader<'_>) -> Result<Self> {
        if r.byte()? != tags::SHORT_LIST + 2 {
            return Err(r.mismatch("a list of two"));
        }
        r.nested(|r| Ok((A::decode(r)?, B::decode(r)?)))
    }
}
