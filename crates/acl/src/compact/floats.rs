//! Doubles, alone: in the fewest bytes that bring back every bit.

use super::DecodeError;
use super::reader::Reader;
use super::tags;
use super::varint;
use super::writer::Writer;

/// Powers of ten that doubles hold exactly, as far as they are tried.
pub(super) const POWERS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Whole numbers up to this size are the same as a double and as an integer.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// The whole number a double is; `None` for -0 and what is beyond 53 bits.
#[inline]
pub(super) fn whole(n: f64) -> Option<i64> {
    let whole = n as i64;
    (whole as f64 == n && n.abs() <= WHOLE && (whole != 0 || n.is_sign_positive())).then_some(whole)
}

/// The whole number that, divided by a power of ten, is `n` to the last bit.
#[inline]
pub(super) fn scaled(n: f64, power: f64) -> Option<i64> {
    let scaled = (n * power).round();
    let whole = whole(scaled)?;
    (scaled / power == n).then_some(whole)
}

/// Writes a double as a value.
pub(super) fn write_one(w: &mut Writer<'_>, n: f64) {
    if let Some(whole) = whole(n) {
        let small = whole - tags::SMALL_NUM_LEAST;
        if (0..tags::SMALL_NUMS).contains(&small) {
            return w.tag(tags::SMALL_NUM + small as u8);
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
            let power = usize::from(r.byte()?);
            let by = POWERS.get(power).copied().ok_or_else(|| r.malformed("a power of ten beyond nine"))?;
            r.signed().map(|whole| whole as f64 / by)
        }
        tags::F32 => fixed(r).map(f32::from_le_bytes).map(f64::from),
        _ => fixed(r).map(f64::from_le_bytes),
    }
}

/// So many bytes.
pub(super) fn fixed<const N: usize>(r: &mut Reader<'_>) -> Result<[u8; N], DecodeError> {
    let bytes = r.take(N)?;
    bytes.try_into().map_err(|_| DecodeError::Truncated { at: r.at() })
}
