//! Prefix varints: the zero bits at the low end of the first byte tell how many bytes follow, so that reading one is a
//! load, a count and a shift.
//!
//! ```text
//! 0..2^7     xxxxxxx1
//! ..2^14     xxxxxx10 xxxxxxxx                 (little-endian)
//! ..2^56     10000000 and 7 bytes
//! ..2^64     00000000 and 8 bytes
//! ```
//! The shortest form is the only one.

use super::DecodeError;

/// Appends `value`.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, value: u64) {
    if value < 1 << 7 {
        out.push((value as u8) << 1 | 1);
    } else {
        write_long(out, value);
    }
}

fn write_long(out: &mut Vec<u8>, value: u64) {
    let bytes = length(value);
    if bytes == 9 {
        out.push(0);
        out.extend_from_slice(&value.to_le_bytes());
        return;
    }
    let encoded = (value << bytes) | 1 << (bytes - 1);
    let end = out.len() + bytes;
    out.extend_from_slice(&encoded.to_le_bytes());
    out.truncate(end);
}

/// Returns the number of bytes of an encoded `value`, 1 to 9.
#[inline]
pub(super) fn length(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 { 9 } else { bits.div_ceil(7) }
}

/// Reads the number at `*at` and moves past it.
#[inline]
pub(super) fn read(bytes: &[u8], at: &mut usize) -> Result<u64, DecodeError> {
    match bytes.get(*at) {
        Some(first) if first & 1 == 1 => {
            *at += 1;
            Ok(u64::from(first >> 1))
        }
        Some(first) => read_long(bytes, at, *first),
        None => Err(DecodeError::Truncated { at: *at }),
    }
}

fn read_long(bytes: &[u8], at: &mut usize, first: u8) -> Result<u64, DecodeError> {
    let start = *at;
    let length = first.trailing_zeros() as usize + 1;
    let mut raw = [0; 8];
    let (from, count) = if length == 9 { (start + 1, 8) } else { (start, length) };
    match bytes.get(from..from + 8) {
        Some(whole) => raw.copy_from_slice(whole),
        None => {
            let part = bytes.get(from..from + count).ok_or(DecodeError::Truncated { at: start })?;
            raw.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
        }
    }
    *at = from + count;
    let whole = u64::from_le_bytes(raw);
    let value = if length == 9 { whole } else { (whole << (64 - 8 * length)) >> (64 - 7 * length) };
    let least = if length == 9 { 1 << 56 } else { 1 << (7 * (length - 1)) };
    if value < least {
        return Err(DecodeError::Malformed { at: start, what: "a number that is not in its shortest form" });
    }
    Ok(value)
}

/// Small magnitudes to small numbers: 0, -1, 1, -2 to 0, 1, 2, 3.
#[inline]
pub(super) fn zigzag(n: i64) -> u64 {
    (n << 1 ^ n >> 63) as u64
}

/// Reverts [`zigzag`].
#[inline]
pub(super) fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varint_length_is_exact() {
        let borders = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]);
        for value in borders {
            for padding in [0, 9] {
                let mut out = Vec::new();
                write(&mut out, value);
                assert_eq!(out.len(), length(value), "{value:#x}");
                out.extend(std::iter::repeat_n(0xFF, padding));
                let mut at = 0;
                assert_eq!(read(&out, &mut at), Ok(value));
                assert_eq!(at, length(value));
            }
        }
    }

    #[test]
    fn overlong_or_truncated_varint_is_refused() {
        for bytes in [&[0b10, 0][..], &[0b1111_1110, 0], &[0, 1, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(matches!(read(bytes, &mut 0), Err(DecodeError::Malformed { .. })), "{bytes:?}");
        }
        for bytes in [&[][..], &[0b10], &[0b1000_0000, 1, 1, 1, 1, 1, 1], &[0, 1, 1, 1]] {
            assert!(matches!(read(bytes, &mut 0), Err(DecodeError::Truncated { .. })), "{bytes:?}");
        }
    }

    #[test]
    fn signs_fold() {
        for n in [0, -1, 1, -2, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(n)), n);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }
}
