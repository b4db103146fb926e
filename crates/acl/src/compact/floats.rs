//! Doubles, alone: in the fewest bytes that bring back every bit.

use super::DecodeError;
use super::ints;
use super::reader::Reader;
use super::tags::{self, column};
use super::varint;
use super::writer::Writer;
use crate::value::LARGEST_EXACT_INTEGER;

/// Powers of ten that doubles hold exactly, as far as they are tried.
pub(super) const POWERS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Converts a double to a whole number; `None` for -0 and numbers beyond 53 bits.
#[inline]
pub(super) fn whole(n: f64) -> Option<i64> {
    let whole = n as i64;
    (whole as f64 == n && n.abs() <= LARGEST_EXACT_INTEGER as f64 && (whole != 0 || n.is_sign_positive()))
        .then_some(whole)
}

/// Returns the whole number that, divided by a power of ten, is `n` to the last bit.
#[inline]
pub(super) fn scaled(n: f64, power: f64) -> Option<i64> {
    let scaled = (n * power).round();
    let whole = whole(scaled)?;
    (whole as f64 / power).to_bits().eq(&n.to_bits()).then_some(whole)
}

/// Writes a double as a value.
pub(super) fn write_one(w: &mut Writer<'_>, n: f64) {
    if let Some(whole) = whole(n) {
        if (0..tags::SMALL_NUMS).contains(&whole) {
            return w.tag(tags::SMALL_NUM + whole as u8);
        }
        let folded = varint::zigzag(whole);
        if varint::length(folded) < 8 {
            w.tag(tags::WHOLE_NUM);
            return w.number(folded);
        }
    } else {
        let single = n as f32;
        let is_single = f64::from(single).to_bits() == n.to_bits();
        let least = if is_single { 3 } else { 7 };
        for (power, by) in (0_u8..).zip(POWERS).skip(1) {
            let Some(folded) = scaled(n, by).map(varint::zigzag) else { continue };
            if varint::length(folded) < least {
                w.tag(tags::DECIMAL_NUM);
                w.tag(power);
                return w.number(folded);
            }
            break;
        }
        if is_single {
            w.tag(tags::F32);
            return w.out.extend_from_slice(&single.to_le_bytes());
        }
    }
    w.tag(tags::F64);
    w.out.extend_from_slice(&n.to_le_bytes());
}

/// Reads a double that began with this tag.
pub(super) fn read_one(r: &mut Reader<'_>, tag: u8) -> Result<f64, DecodeError> {
    match tag {
        tags::WHOLE_NUM => r.signed().map(|whole| whole as f64),
        tags::DECIMAL_NUM => {
            let by = power(r)?;
            r.signed().map(|whole| whole as f64 / by)
        }
        tags::F32 => fixed(r).map(f32::from_le_bytes).map(f64::from),
        _ => fixed(r).map(f64::from_le_bytes),
    }
}

/// Reads a power of ten.
pub(super) fn power(r: &mut Reader<'_>) -> Result<f64, DecodeError> {
    let power = usize::from(r.byte()?);
    POWERS.get(power).copied().ok_or_else(|| r.malformed("a power of ten beyond nine"))
}

/// Reads `N` bytes.
pub(super) fn fixed<const N: usize>(r: &mut Reader<'_>) -> Result<[u8; N], DecodeError> {
    let bytes = r.take(N)?;
    bytes.try_into().map_err(|_| DecodeError::Truncated { at: r.at() })
}

/// Writes a column of doubles, at least one.
pub(super) fn write(w: &mut Writer<'_>, values: &[f64]) {
    let Some((first, rest)) = values.split_first() else { return };
    if rest.iter().all(|value| value.to_bits() == first.to_bits()) {
        w.tag(column::CONSTANT);
        return write_one(w, *first);
    }
    let singles = values.iter().all(|value| f64::from(*value as f32).to_bits() == value.to_bits());
    let raw_bytes = values.len() * if singles { 4 } else { 8 };
    if let Some((power, whole)) = as_whole_numbers(values) {
        let plan = ints::plan(&whole);
        if plan.bytes < raw_bytes {
            match power {
                0 => w.tag(column::WHOLE),
                power => {
                    w.tag(column::DECIMALS);
                    w.tag(power);
                }
            }
            return ints::write_planned(w, &whole, plan);
        }
    }
    if singles {
        w.tag(column::F32);
        values.iter().for_each(|value| w.out.extend_from_slice(&(*value as f32).to_le_bytes()));
    } else {
        w.tag(column::F64);
        values.iter().for_each(|value| w.out.extend_from_slice(&value.to_le_bytes()));
    }
}

/// Returns the least power of ten that makes all values whole, and the whole numbers.
fn as_whole_numbers(values: &[f64]) -> Option<(u8, Vec<i64>)> {
    let mut power = 0_u8;
    // Most columns that are no decimals show it early: the power only grows.
    for value in values {
        while scale(*value, power).is_none() {
            power += 1;
            if usize::from(power) == POWERS.len() {
                return None;
            }
        }
    }
    // A value that was whole at a lower power need not be at the highest.
    let whole = values.iter().map(|value| scale(*value, power)).collect::<Option<_>>()?;
    Some((power, whole))
}

fn scale(n: f64, power: u8) -> Option<i64> {
    match POWERS.get(usize::from(power)) {
        Some(_) if power == 0 => whole(n),
        Some(by) => scaled(n, *by),
        None => None,
    }
}

/// Appends the `count` doubles of a column after its tag; the caller handles constant columns.
pub(super) fn read_tagged(r: &mut Reader<'_>, tag: u8, count: usize, out: &mut Vec<f64>) -> Result<(), DecodeError> {
    match tag {
        column::WHOLE | column::DECIMALS => {
            let by = if tag == column::WHOLE { 1.0 } else { power(r)? };
            let mut whole = Vec::new();
            ints::read(r, count, &mut whole)?;
            out.extend(whole.iter().map(|whole| *whole as f64 / by));
        }
        column::F32 => {
            let bytes = r.take(count * 4)?;
            out.extend(
                bytes.chunks_exact(4).filter_map(|raw| raw.try_into().ok()).map(f32::from_le_bytes).map(f64::from),
            );
        }
        column::F64 => {
            let bytes = r.take(count * 8)?;
            out.extend(bytes.chunks_exact(8).filter_map(|raw| raw.try_into().ok()).map(f64::from_le_bytes));
        }
        _ => return Err(r.mismatch("a column of doubles")),
    }
    Ok(())
}

/// Checks whether a column with this tag holds doubles; constant columns have tags of their own.
pub(super) fn is_floats(tag: u8) -> bool {
    matches!(tag, column::WHOLE | column::DECIMALS | column::F32 | column::F64)
}
