//! Numbers of few bits, one after another without gaps, the lowest bit first.

/// Bytes that so many numbers of so many bits take.
#[inline]
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends the differences of `values` from `base`, each of `width` bits.
pub(super) fn pack(out: &mut Vec<u8>, values: &[i64], base: i64, width: u32) {
    if width == 0 {
        return;
    }
    out.reserve(packed_bytes(values.len(), width) + 8);
    let (mut word, mut filled) = (0_u64, 0);
    for value in values {
        let number = value.wrapping_sub(base) as u64;
        word |= number << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // What did not fit; nothing if the number ended with the word.
            word = number.checked_shr(width - filled).unwrap_or(0);
        }
    }
    let end = out.len() + (filled as usize).div_ceil(8);
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
}

/// Calls `give` with each of `count` numbers of `width` bits in `packed`, which has the right length.
#[inline]
pub(super) fn unpack(packed: &[u8], count: usize, width: u32, mut give: impl FnMut(u64)) {
    if width == 0 {
        (0..count).for_each(|_| give(0));
        return;
    }
    let mask = u64::MAX >> (64 - width);
    if width > 57 {
        return unpack_wide(packed, count, width, mask, give);
    }
    // As long as eight bytes can be loaded at once; each number is found by itself, so that loads overlap.
    let whole = if packed.len() < 8 { 0 } else { count.min(((packed.len() - 8) * 8 + 7) / width as usize + 1) };
    let mut bit = 0;
    for _ in 0..whole {
        let Some(Ok(bytes)) = packed.get(bit >> 3..(bit >> 3) + 8).map(<[u8; 8]>::try_from) else { break };
        give(u64::from_le_bytes(bytes) >> (bit & 7) & mask);
        bit += width as usize;
    }
    for _ in bit / width as usize..count {
        let mut bytes = [0; 8];
        let rest = packed.get(bit >> 3..).unwrap_or_default();
        bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        give(u64::from_le_bytes(bytes) >> (bit & 7) & mask);
        bit += width as usize;
    }
}

fn unpack_wide(packed: &[u8], count: usize, width: u32, mask: u64, mut give: impl FnMut(u64)) {
    for place in 0..count {
        let bit = place * width as usize;
        let mut bytes = [0; 16];
        let rest = packed.get(bit >> 3..).unwrap_or_default();
        bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        give((u128::from_le_bytes(bytes) >> (bit & 7)) as u64 & mask);
    }
}

/// Appends one bit per value.
pub(super) fn pack_bools(out: &mut Vec<u8>, values: impl Iterator<Item = bool>) {
    let (mut byte, mut filled) = (0, 0);
    for value in values {
        byte |= u8::from(value) << filled;
        filled += 1;
        if filled == 8 {
            out.push(byte);
            (byte, filled) = (0, 0);
        }
    }
    if filled > 0 {
        out.push(byte);
    }
}

/// The bits of `packed`, the lowest of each byte first.
pub(super) fn bools(packed: &[u8]) -> impl Iterator<Item = bool> + '_ {
    packed.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
}

/// Whether the bits beyond the first `bits` are zero, as they are in what [`pack`] and [`pack_bools`] wrote.
pub(super) fn ends_clean(packed: &[u8], bits: usize) -> bool {
    match (packed.last(), bits % 8) {
        (Some(last), used @ 1..) => last >> used == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_comes_back() {
        for width in 0..=64_u32 {
            for count in [0, 1, 2, 7, 8, 9, 63, 64, 65, 200] {
                let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
                let numbers: Vec<u64> =
                    (0..count as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) & mask).collect();
                let base = -17_i64;
                let values: Vec<i64> = numbers.iter().map(|n| base.wrapping_add(*n as i64)).collect();
                let mut packed = Vec::new();
                pack(&mut packed, &values, base, width);
                assert_eq!(packed.len(), packed_bytes(count, width), "{count} of {width} bits");
                assert!(ends_clean(&packed, count * width as usize));
                let mut read = Vec::new();
                unpack(&packed, count, width, |n| read.push(n));
                assert_eq!(read, numbers, "{count} of {width} bits");
            }
        }
    }

    #[test]
    fn bits_come_back() {
        let values = [true, false, true, true, false, false, false, true, true];
        let mut packed = Vec::new();
        pack_bools(&mut packed, values.into_iter());
        assert_eq!(packed, [0b1000_1101, 1]);
        assert!(bools(&packed).take(9).eq(values));
        assert!(ends_clean(&packed, 9));
        assert!(!ends_clean(&[0b10], 1));
    }
}
