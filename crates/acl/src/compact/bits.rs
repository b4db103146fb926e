//! Numbers of few bits, one after another without gaps, the lowest bit first.

/// Bytes that so many numbers of so many bits take.
#[inline]
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends the differences of `values` from `base`, each of `width` bits.
pub(super) fn pack(out: &mut Vec<u8>, values: &[i64], base: i64, width: u32) {
    // So many numbers are joined before they are put to the others.
    match width {
        0 => {}
        1..=8 => pack_joined::<8>(out, values, base, width),
        9..=10 => pack_joined::<6>(out, values, base, width),
        11..=12 => pack_joined::<5>(out, values, base, width),
        13..=16 => pack_joined::<4>(out, values, base, width),
        17..=21 => pack_joined::<3>(out, values, base, width),
        22..=32 => pack_joined::<2>(out, values, base, width),
        _ => pack_joined::<1>(out, values, base, width),
    }
}

fn pack_joined<const JOINED: usize>(out: &mut Vec<u8>, values: &[i64], base: i64, width: u32) {
    let start = out.len();
    let bytes = packed_bytes(values.len(), width);
    // Whole words are written; what is beyond the last byte goes again.
    out.resize(start + bytes.next_multiple_of(8) + 8, 0);
    let mut words = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>().0.iter_mut();
    let (mut word, mut filled) = (0_u64, 0);
    let mut put = |bits: u64, count: u32| {
        word |= bits << filled;
        filled += count;
        if filled >= 64 {
            if let Some(place) = words.next() {
                *place = word.to_le_bytes();
            }
            filled -= 64;
            // What did not fit; nothing if the bits ended with the word.
            word = bits.checked_shr(count - filled).unwrap_or(0);
        }
    };
    let (groups, rest) = values.as_chunks::<JOINED>();
    for group in groups {
        let mut joined = 0;
        for (place, value) in (0..).zip(group) {
            joined |= (value.wrapping_sub(base) as u64) << (place * width);
        }
        put(joined, JOINED as u32 * width);
    }
    rest.iter().for_each(|value| put(value.wrapping_sub(base) as u64, width));
    if let Some(place) = words.next() {
        *place = word.to_le_bytes();
    }
    out.truncate(start + bytes);
}

/// Fills `out` with what `make` makes of each number of `width` bits in `packed`, which has the right length.
#[inline]
pub(super) fn unpack_into<T>(packed: &[u8], width: u32, out: &mut [T], make: impl Fn(u64) -> T) {
    match width {
        1..=7 => unpack_groups::<8, T>(packed, width, out, make),
        8..=11 => unpack_groups::<5, T>(packed, width, out, make),
        12..=19 => unpack_groups::<3, T>(packed, width, out, make),
        20..=28 => unpack_groups::<2, T>(packed, width, out, make),
        _ => {
            let mut places = out.iter_mut();
            let count = places.len();
            unpack(packed, count, width, |number| {
                if let Some(place) = places.next() {
                    *place = make(number);
                }
            });
        }
    }
}

#[inline]
fn unpack_groups<const JOINED: usize, T>(packed: &[u8], width: u32, out: &mut [T], make: impl Fn(u64) -> T) {
    let mask = u64::MAX >> (64 - width);
    let mut bit = 0;
    let (groups, _) = out.as_chunks_mut::<JOINED>();
    let mut done = 0;
    for group in groups {
        let Some((bytes, _)) = packed.get(bit >> 3..).and_then(<[u8]>::split_first_chunk::<8>) else { break };
        let mut word = u64::from_le_bytes(*bytes) >> (bit & 7);
        for place in group {
            *place = make(word & mask);
            word >>= width;
        }
        bit += JOINED * width as usize;
        done += JOINED;
    }
    for place in out.get_mut(done..).unwrap_or_default() {
        *place = make(single(packed, bit) & mask);
        bit += width as usize;
    }
}

/// The bits from this one on, at least 57 if there are as many.
fn single(packed: &[u8], bit: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = packed.get(bit >> 3..).unwrap_or_default();
    bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(bytes) >> (bit & 7)
}

/// Calls `give` with each of `count` numbers of `width` bits in `packed`, which has the right length.
#[inline]
pub(super) fn unpack(packed: &[u8], count: usize, width: u32, mut give: impl FnMut(u64)) {
    match width {
        0 => (0..count).for_each(|_| give(0)),
        // As many as eight bytes hold wherever in a byte the first begins.
        1..=7 => unpack_joined::<8>(packed, count, width, give),
        8..=11 => unpack_joined::<5>(packed, count, width, give),
        12..=19 => unpack_joined::<3>(packed, count, width, give),
        20..=28 => unpack_joined::<2>(packed, count, width, give),
        29..=57 => unpack_joined::<1>(packed, count, width, give),
        _ => unpack_wide(packed, count, width, u64::MAX >> (64 - width), give),
    }
}

#[inline]
fn unpack_joined<const JOINED: usize>(packed: &[u8], count: usize, width: u32, mut give: impl FnMut(u64)) {
    let mask = u64::MAX >> (64 - width);
    let mut bit = 0;
    let mut left = count;
    while left >= JOINED {
        let Some((bytes, _)) = packed.get(bit >> 3..).and_then(<[u8]>::split_first_chunk::<8>) else { break };
        let mut word = u64::from_le_bytes(*bytes) >> (bit & 7);
        for _ in 0..JOINED {
            give(word & mask);
            word >>= width;
        }
        bit += JOINED * width as usize;
        left -= JOINED;
    }
    for _ in 0..left {
        give(single(packed, bit) & mask);
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

/// The same, of values that lie side by side.
pub(super) fn pack_bool_slice(out: &mut Vec<u8>, values: &[bool]) {
    let (groups, rest) = values.as_chunks::<8>();
    out.extend(groups.iter().map(|group| {
        // Eight bytes, each 0 or 1: the product has each in a bit of its highest byte.
        let bytes = u64::from_le_bytes(group.map(u8::from));
        (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    }));
    pack_bools(out, rest.iter().copied());
}

/// Appends so many of the bits of `packed`, the lowest of each byte first.
pub(super) fn unpack_bools(out: &mut Vec<bool>, packed: &[u8], count: usize) {
    let start = out.len();
    out.resize(start + packed.len() * 8, false);
    let groups = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>().0;
    for (group, byte) in groups.iter_mut().zip(packed) {
        // The byte eight times, a bit of each kept.
        let spread = u64::from(*byte).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
        *group = spread.to_le_bytes().map(|bit| bit != 0);
    }
    out.truncate(start + count);
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
                let mut placed = vec![7; count];
                unpack_into(&packed, width, &mut placed, |n| n);
                assert_eq!(placed, numbers, "{count} of {width} bits");
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
        for count in 0..40 {
            let values: Vec<bool> = (0..count).map(|n| n * n % 7 < 3).collect();
            let (mut one, mut other, mut back) = (Vec::new(), Vec::new(), vec![true]);
            pack_bools(&mut one, values.iter().copied());
            pack_bool_slice(&mut other, &values);
            assert_eq!(one, other);
            unpack_bools(&mut back, &one, count);
            assert_eq!(back[1..], values);
        }
        assert!(!ends_clean(&[0b10], 1));
    }
}
