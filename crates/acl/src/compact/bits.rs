//! Numbers of few bits, one after another without gaps, the lowest bit first.

/// Returns the bytes for `count` numbers of `width` bits.
#[inline]
pub(super) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Block of eight narrow numbers. Packing and unpacking work on eight at a time, which fill whole bytes, by code
/// specialized for each width: all its shifts are constants.
type Eight = [u32; 8];

/// Numbers on the stack, between their packed and their final form.
pub(super) type Block = [Eight; 16];

/// Numbers in a block.
pub(super) const BLOCK: usize = size_of::<Block>() / size_of::<u32>();

/// The widest numbers that have code of their own.
pub(super) const NARROW: u32 = 32;

/// Packing and unpacking functions for numbers of one width.
type Pack = fn(&[Eight], &mut [u8]);
type Unpack = fn(&[u8], &mut [Eight]);

/// A function for each narrow width.
macro_rules! by_width {
    ($function:ident) => {
        by_width!($function: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    };
    ($function:ident: $($width:literal)*) => { [$($function::<$width>),*] };
}

/// Appends `distance` of each value, in `width` bits.
pub(super) fn pack<T: Copy>(out: &mut Vec<u8>, values: &[T], width: u32, distance: impl Fn(T) -> u64) {
    const BY_WIDTH: [Pack; NARROW as usize + 1] = by_width!(pack_eights);
    let Some(pack_block) = BY_WIDTH.get(width as usize) else { return pack_wide(out, values, width, distance) };
    let mut block = Block::default();
    for values in values.chunks(BLOCK) {
        for (place, value) in block.as_flattened_mut().iter_mut().zip(values) {
            *place = distance(*value) as u32;
        }
        let eights = values.len().div_ceil(8);
        block.as_flattened_mut().get_mut(values.len()..eights * 8).unwrap_or_default().fill(0);
        let start = out.len();
        out.resize(start + eights * width as usize, 0);
        pack_block(block.get(..eights).unwrap_or_default(), out.get_mut(start..).unwrap_or_default());
        out.truncate(start + packed_bytes(values.len(), width));
    }
}

fn pack_eights<const WIDTH: usize>(eights: &[Eight], out: &mut [u8]) {
    if WIDTH > 0 {
        for (eight, bytes) in eights.iter().zip(out.as_chunks_mut::<WIDTH>().0) {
            let mut words = [0_u64; 4];
            for (place, number) in eight.iter().enumerate() {
                let (word, bit) = (place * WIDTH / 64, place * WIDTH % 64);
                let number = u64::from(*number);
                words.get_mut(word).into_iter().for_each(|word| *word |= number << bit);
                if bit + WIDTH > 64 {
                    words.get_mut(word + 1).into_iter().for_each(|word| *word |= number >> (64 - bit));
                }
            }
            let words = words.map(u64::to_le_bytes);
            bytes.copy_from_slice(words.as_flattened().get(..WIDTH).unwrap_or_default());
        }
    }
}

fn pack_wide<T: Copy>(out: &mut Vec<u8>, values: &[T], width: u32, distance: impl Fn(T) -> u64) {
    let start = out.len();
    let bytes = packed_bytes(values.len(), width);
    // Whole words are written, and the excess bytes are removed.
    out.resize(start + bytes.next_multiple_of(8) + 8, 0);
    let words = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>().0;
    if width == 64 {
        words.iter_mut().zip(values).for_each(|(word, value)| *word = distance(*value).to_le_bytes());
        return out.truncate(start + bytes);
    }
    let mut words = words.iter_mut();
    let (mut word, mut filled) = (0_u64, 0);
    for value in values {
        let bits = distance(*value);
        word |= bits << filled;
        filled += width;
        if filled >= 64 {
            if let Some(place) = words.next() {
                *place = word.to_le_bytes();
            }
            filled -= 64;
            // The bits that did not fit; zero if the bits ended with the word.
            word = bits.checked_shr(width - filled).unwrap_or(0);
        }
    }
    if let Some(place) = words.next() {
        *place = word.to_le_bytes();
    }
    out.truncate(start + bytes);
}

/// Fills `out` with `base` and more: each number of `width` bits in `packed`, which is long enough.
pub(super) fn unpack(packed: &[u8], width: u32, base: i64, out: &mut [i64]) {
    if width == 64 {
        let numbers = packed.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number));
        return out.iter_mut().zip(numbers).for_each(|(to, number)| *to = base.wrapping_add(number));
    }
    if width > NARROW {
        let numbers = (0..).map(|place| wide(packed, place, width));
        return out.iter_mut().zip(numbers).for_each(|(to, number)| *to = base.wrapping_add(number as i64));
    }
    let (mut rest, mut block) = (packed, Block::default());
    for out in out.chunks_mut(BLOCK) {
        let numbers = unpack_block(&mut rest, out.len(), width, &mut block);
        out.iter_mut().zip(numbers).for_each(|(to, number)| *to = base.wrapping_add(i64::from(*number)));
    }
}

/// Appends `make` of each of `count` numbers of `width` bits.
pub(super) fn unpack_to<T>(packed: &[u8], count: usize, width: u32, out: &mut Vec<T>, make: impl Fn(u64) -> T) {
    out.reserve(count);
    match width {
        0 => return out.extend((0..count).map(|_| make(0))),
        64 => return out.extend(packed.as_chunks().0.iter().map(|number| make(u64::from_le_bytes(*number)))),
        width if width > NARROW => return out.extend((0..count).map(|place| make(wide(packed, place, width)))),
        _ => {}
    }
    let (mut rest, mut block) = (packed, Block::default());
    for start in (0..count).step_by(BLOCK) {
        let numbers = unpack_block(&mut rest, (count - start).min(BLOCK), width, &mut block);
        out.extend(numbers.iter().map(|number| make(u64::from(*number))));
    }
}

/// Takes the next `count` narrow numbers, at most a block of them; after whole blocks.
pub(super) fn unpack_block<'b>(rest: &mut &[u8], count: usize, width: u32, block: &'b mut Block) -> &'b [u32] {
    const BY_WIDTH: [Unpack; NARROW as usize + 1] = by_width!(unpack_eights);
    if let Some(unpack) = BY_WIDTH.get(width as usize) {
        unpack(rest, block.get_mut(..count.div_ceil(8)).unwrap_or_default());
        *rest = rest.get(packed_bytes(BLOCK, width)..).unwrap_or_default();
    }
    block.as_flattened().get(..count).unwrap_or_default()
}

/// Bytes that hold eight numbers: those of the widest, and the excess of the last load.
const WINDOW: usize = NARROW as usize + 8;

fn unpack_eights<const WIDTH: usize>(packed: &[u8], eights: &mut [Eight]) {
    let mut rest = packed;
    let mut eights = eights.iter_mut();
    while let Some(window) = rest.first_chunk::<WINDOW>() {
        let Some(eight) = eights.next() else { return };
        *eight = unpack_eight::<WIDTH>(window);
        rest = rest.get(WIDTH..).unwrap_or_default();
    }
    // The last bytes, with zeros after them.
    let mut padded = [0; 2 * WINDOW];
    if let Some(place) = padded.get_mut(..rest.len()) {
        place.copy_from_slice(rest);
    }
    for (place, eight) in eights.enumerate() {
        let window = padded.get(place * WIDTH..).and_then(<[u8]>::first_chunk::<WINDOW>);
        *eight = window.map(unpack_eight::<WIDTH>).unwrap_or_default();
    }
}

#[inline]
fn unpack_eight<const WIDTH: usize>(window: &[u8; WINDOW]) -> Eight {
    let mask = ((1_u64 << WIDTH) - 1) as u32;
    std::array::from_fn(|place| {
        let bit = place * WIDTH;
        let word = window.get(bit / 8..).and_then(<[u8]>::first_chunk::<8>).copied().unwrap_or_default();
        (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask
    })
}

/// Returns the number at this place, of up to 64 bits.
#[inline]
fn wide(packed: &[u8], place: usize, width: u32) -> u64 {
    let bit = place * width as usize;
    let (rest, shift) = (packed.get(bit / 8..).unwrap_or_default(), bit as u32 % 8);
    let number = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word) >> shift,
        None => {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word) >> shift
        }
    };
    // Bits in a ninth byte.
    let ninth = if shift + width > 64 { rest.get(8).map_or(0, |byte| u64::from(*byte) << (64 - shift)) } else { 0 };
    (number | ninth) & u64::MAX >> (64 - width)
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

/// Packs values that lie side by side, as [`pack_bools`] does.
pub(super) fn pack_bool_slice(out: &mut Vec<u8>, values: &[bool]) {
    let (groups, rest) = values.as_chunks::<8>();
    out.extend(groups.iter().map(|group| {
        // Eight bytes, each 0 or 1: the product has each in a bit of its highest byte.
        let bytes = u64::from_le_bytes(group.map(u8::from));
        (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    }));
    pack_bools(out, rest.iter().copied());
}

/// The truths that each byte's bits are, the lowest first.
static TRUTHS: [[bool; 8]; 256] = truths();

#[allow(clippy::indexing_slicing, reason = "a constant: the compiler finds out")]
const fn truths() -> [[bool; 8]; 256] {
    let mut all = [[false; 8]; 256];
    let mut place = 0;
    while place < 256 * 8 {
        all[place / 8][place % 8] = (place / 8) >> (place % 8) & 1 == 1;
        place += 1;
    }
    all
}

/// Appends `count` bits of `packed`, the lowest of each byte first.
pub(super) fn unpack_bools(out: &mut Vec<bool>, packed: &[u8], count: usize) {
    let start = out.len();
    out.resize(start + packed.len() * 8, false);
    let groups = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>().0;
    for (group, byte) in groups.iter_mut().zip(packed) {
        *group = TRUTHS.get(usize::from(*byte)).copied().unwrap_or_default();
    }
    out.truncate(start + count);
}

/// Returns the bits of `packed`, the lowest of each byte first.
pub(super) fn bools(packed: &[u8]) -> impl Iterator<Item = bool> + '_ {
    packed.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
}

/// Checks whether the bits beyond the first `bits` are zero, as [`pack`] and [`pack_bools`] write them.
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
            for count in [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 300] {
                let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
                let numbers: Vec<u64> =
                    (0..count as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17) & mask).collect();
                let base = -17_i64;
                let values: Vec<i64> = numbers.iter().map(|n| base.wrapping_add(*n as i64)).collect();
                let mut packed = Vec::new();
                pack(&mut packed, &values, width, |value| value.wrapping_sub(base) as u64);
                assert_eq!(packed.len(), packed_bytes(count, width), "{count} of {width} bits");
                assert!(ends_clean(&packed, count * width as usize));
                let mut read = vec![7; count];
                unpack(&packed, width, base, &mut read);
                assert_eq!(read, values, "{count} of {width} bits");
                let mut placed = vec![7];
                unpack_to(&packed, count, width, &mut placed, |n| n);
                assert_eq!(placed[1..], numbers, "{count} of {width} bits");
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
        for byte in 0..=255 {
            let mut back = Vec::new();
            unpack_bools(&mut back, &[byte], 8);
            assert!(bools(&[byte]).eq(back));
        }
        assert!(!ends_clean(&[0b10], 1));
    }
}
