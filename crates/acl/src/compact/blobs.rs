//! Runs of bytes: as they are, or packed if neighbours are alike, as in images and samples of sound.
//!
//! Packed bytes are pairs of blocks of 16. One byte holds the widths in bits of both blocks, the first in its low
//! half. Then each byte follows in that many bits, as the folded difference from the byte one stride before. A stride
//! of 1 suits grey images and 8-bit sound; 3 and 4 suit colours side by side.

use super::DecodeError;
use super::bits;
use super::reader::Reader;
use super::tags;
use super::varint;
use super::writer::Writer;

/// Fewer bytes are never packed.
const PACKED_BYTES_MIN: usize = 64;
/// Bytes of a block, whose differences have one width; and of two such blocks.
const BLOCK: usize = 16;
const PAIR: usize = 2 * BLOCK;
/// Distances to the byte that is subtracted.
const STRIDES: [usize; 4] = [1, 2, 3, 4];
/// Bytes sampled to decide whether packing is worth it.
const SAMPLE_BYTES: usize = 4096;

/// Writes bytes as a value.
pub(super) fn write(w: &mut Writer<'_>, bytes: &[u8]) {
    let stride = if w.packs_bytes { stride(bytes) } else { None };
    match stride {
        Some(stride) => {
            w.tag(tags::PACKED_BYTES);
            w.number(bytes.len() as u64);
            w.tag(stride as u8);
            pairs(bytes, stride, |widths, folded| {
                w.tag((widths[0] | widths[1] << 4) as u8);
                for (folded, width) in folded.chunks(BLOCK).zip(widths) {
                    bits::pack(w.out, folded, width, |folded| folded as u64);
                }
            });
        }
        None => write_plain(w.out, bytes),
    }
}

/// Writes bytes as they are.
pub(super) fn write_plain(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(tags::BYTES);
    varint::write(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Returns the bytes of a body that consists only of at most `bytes_max` plain bytes. A quick path: [`read`] reports
/// the errors of any other body.
pub(super) fn read_plain(body: &[u8], bytes_max: usize) -> Option<&[u8]> {
    let mut at = 1;
    let length = (*body.first()? == tags::BYTES).then(|| varint::read(body, &mut at).ok()).flatten()?;
    let bytes = body.get(at..)?;
    (bytes.len() as u64 == length && bytes.len() <= bytes_max).then_some(bytes)
}

/// Returns the stride at which packing saves at least an eighth.
fn stride(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < PACKED_BYTES_MIN {
        return None;
    }
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let best = STRIDES.into_iter().min_by_key(|stride| packed_size(sample, *stride))?;
    (packed_size(sample, best) <= sample.len() - sample.len() / 8).then_some(best)
}

/// Returns the size of these bytes when packed. Every write asks, and mostly in vain. So the loop works on whole
/// blocks of bytes, unlike [`pairs`].
fn packed_size(bytes: &[u8], stride: usize) -> usize {
    let mut before = [0; BLOCK];
    let blocks = bytes.chunks(BLOCK).enumerate().map(|(number, block)| {
        match (number * BLOCK).checked_sub(stride).and_then(|at| bytes.get(at..)) {
            Some(bytes) => before.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte),
            None => before.iter_mut().skip(stride).zip(bytes).for_each(|(to, byte)| *to = *byte),
        }
        let all = block.iter().zip(before).fold(0, |all, (byte, before)| all | fold(byte.wrapping_sub(before) as i8));
        bits::packed_bytes(block.len(), u8::BITS - all.leading_zeros())
    });
    blocks.sum::<usize>() + bytes.len().div_ceil(PAIR)
}

/// Calls `give` with the widths and the folded differences of each pair of blocks.
fn pairs(bytes: &[u8], stride: usize, mut give: impl FnMut([u32; 2], &[i64])) {
    let mut folded = [0_i64; PAIR];
    for (number, pair) in bytes.chunks(PAIR).enumerate() {
        for (place, (to, byte)) in folded.iter_mut().zip(pair).enumerate() {
            let before = (number * PAIR + place).checked_sub(stride).and_then(|at| bytes.get(at)).copied();
            *to = i64::from(fold(byte.wrapping_sub(before.unwrap_or(0)) as i8));
        }
        let folded = folded.get(..pair.len()).unwrap_or_default();
        let (first, second) = folded.split_at(BLOCK.min(folded.len()));
        give([first, second].map(width), folded);
    }
}

fn width(folded: &[i64]) -> u32 {
    64 - folded.iter().fold(0, |all, difference| all | difference).leading_zeros()
}

fn fold(n: i8) -> u8 {
    ((n << 1) ^ (n >> 7)) as u8
}

fn unfold(n: u8) -> u8 {
    (n >> 1) ^ (n & 1).wrapping_neg()
}

/// Reads bytes after their tag; `None` if it is no tag of bytes.
pub(super) fn read(r: &mut Reader<'_>, tag: u8) -> Result<Option<Vec<u8>>, DecodeError> {
    match tag {
        tags::BYTES => read_run(r).map(|bytes| Some(bytes.to_vec())),
        tags::PACKED_BYTES => read_packed(r).map(Some),
        _ => Ok(None),
    }
}

/// Reads plain bytes after their tag.
pub(super) fn read_run<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = r.count_of_bytes(1)?;
    r.charge(length)?;
    r.take(length)
}

fn read_packed(r: &mut Reader<'_>) -> Result<Vec<u8>, DecodeError> {
    let length = usize::try_from(r.number()?).unwrap_or(usize::MAX);
    let stride = usize::from(r.byte()?);
    if length.div_ceil(PAIR) > r.remaining() || !STRIDES.contains(&stride) {
        return Err(r.malformed("packed bytes that are too many, or packed in an unknown way"));
    }
    r.charge(length)?;
    let mut out: Vec<u8> = Vec::with_capacity(length);
    while out.len() < length {
        let widths = r.byte()?;
        unpack_block(r, u32::from(widths & 15), stride, length, &mut out)?;
        unpack_block(r, u32::from(widths >> 4), stride, length, &mut out)?;
    }
    Ok(out)
}

fn unpack_block(
    r: &mut Reader<'_>,
    width: u32,
    stride: usize,
    length: usize,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let count = (length - out.len()).min(BLOCK);
    if width > 8 || (count == 0 && width > 0) {
        return Err(r.malformed("a byte of more than eight bits, or a block of no bytes"));
    }
    let packed = r.take(bits::packed_bytes(count, width))?;
    let mut folded = [0; BLOCK];
    bits::unpack(packed, width, 0, folded.get_mut(..count).unwrap_or_default());
    for folded in folded.iter().take(count) {
        let before: u8 = out.len().checked_sub(stride).and_then(|at| out.get(at)).copied().unwrap_or(0);
        out.push(before.wrapping_add(unfold(*folded as u8)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::writer::Dictionary;
    use super::*;
    use crate::compact::Limits;

    fn check(bytes: &[u8]) -> usize {
        let (mut out, mut dictionary) = (Vec::new(), Dictionary::default());
        write(&mut Writer::new(&mut out, &mut dictionary), bytes);
        let mut reader = Reader::bare(&out, Limits::DEFAULT);
        let tag = reader.byte().unwrap_or_default();
        assert_eq!(read(&mut reader, tag).ok().flatten().as_deref(), Some(bytes));
        assert_eq!(reader.end(), Ok(()));
        out.len()
    }

    #[test]
    fn packed_size_is_estimated_exactly() {
        let grey: Vec<u8> = (0..700_u32).map(|n| (n / 40 + n % 7) as u8).collect();
        for stride in STRIDES {
            for length in [0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 699, 700] {
                let bytes = grey.get(..length).unwrap_or_default();
                let mut size = 0;
                pairs(bytes, stride, |widths, folded| {
                    let blocks = folded.chunks(BLOCK).zip(widths);
                    size += 1 + blocks.map(|(block, width)| bits::packed_bytes(block.len(), width)).sum::<usize>();
                });
                assert_eq!(packed_size(bytes, stride), size, "{length} bytes, stride {stride}");
            }
        }
    }

    #[test]
    fn what_is_smooth_is_packed() {
        let grey: Vec<u8> = (0..10_000_u32).map(|n| (n / 40 + n % 7) as u8).collect();
        assert!(check(&grey) < 6_000);
        let colours: Vec<u8> = (0..10_000_u32).map(|n| (n / 30 + n % 3 * 80) as u8).collect();
        assert!(check(&colours) < 4_000);
        let noise: Vec<u8> = (0..1000_u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
        assert_eq!(check(&noise), 1003);
        for length in [0, 1, 63, 64, 65, 127, 128, 129] {
            check(&vec![200; length]);
            check(grey.get(..length).unwrap_or_default());
        }
        for n in i8::MIN..=i8::MAX {
            assert_eq!(unfold(fold(n)), n as u8);
        }
    }
}
