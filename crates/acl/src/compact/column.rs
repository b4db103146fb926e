//! Columns.

use super::DecodeError;
use super::reader::Reader;
use super::writer::Writer;
use crate::Value;

pub(super) fn list_out(w: &mut Writer<'_>, items: &[&Value]) {
    w.list(items.len());
    values_out(w, items);
}

pub(super) fn values_out(w: &mut Writer<'_>, items: &[&Value]) {
    items.iter().for_each(|item| super::value_out::value(w, item));
}

pub(super) fn row_count(r: &mut Reader<'_>) -> Result<usize, DecodeError> {
    r.count_of_bytes(1)
}

pub(super) fn values_in(r: &mut Reader<'_>, count: usize) -> Result<Vec<Value>, DecodeError> {
    r.charge(count.saturating_mul(super::value_in::CELL_BYTES))?;
    (0..count).map(|_| super::value_in::value(r)).collect()
}

pub(super) fn array_in(r: &mut Reader<'_>) -> Result<Value, DecodeError> {
    Err(r.malformed("an unknown kind of value"))
}
