//! Packing of an agent's changes. Most states are a few hundred bytes of small numbers, addresses and text, in which
//! LZ4 finds hardly any repetition. Such states are written in a Huffman code, as HTTP/2 does with headers (RFC 7541,
//! 5.2). Repetitive ones are packed by LZ4, and the rest stays as it is.

use std::borrow::Cow;

use crate::bytes::{BadBytes, StateReader, put_varint};

/// Least bytes for which LZ4 is tried.
const LZ4_FROM: usize = 96;
/// Most bytes for which the code is tried; LZ4 packs more of them better.
const CODE_UP_TO: usize = 4096;
/// Most bytes that one packed byte can stand for, in LZ4 and in the code.
const LZ4_FACTOR_MAX: usize = 255;
const CODE_FACTOR_MAX: usize = 2;
/// Lengths of the code in bits, a hexadecimal digit for each byte. It is the Huffman code of 561 states of the
/// example modules in Rust, C and AssemblyScript, without the retriever's: those that `whimbrel bench mobility`
/// measures. Each state counts alike, and each byte a little.
const LENGTHS: &[u8; 256] = b"\
    4634665778788988788babbaaaaa9baa87599aaaaaababb9855855aaaabbabb9\
    79ab8bbbbbbaabbb999ababbbbbbabbb888998ba88ba8949887999a8bbbbabbb\
    58bbabbbbbbb8bbb88bbabbbabbaa9ba98aaabbbabbbabbb869ababaaabbabba\
    89abbbbabbbbbaba8aaabbbbabbbabbb8a6b9bbbabbbbbbb8688b8ba99999886";
/// Length of the longest code.
const LONGEST: u32 = 11;
const TABLE: usize = 1 << LONGEST;

/// Code of each byte: the bits, in the lowest places, and their number.
static CODE: [(u16, u32); 256] = code();
/// Byte whose code the bits begin with, and the length of the code.
static BYTES: [(u8, u32); TABLE] = bytes();

/// Appends these bytes packed. Unpacked bytes follow a 0. Packed bytes follow twice the unpacked length, plus one for
/// LZ4.
pub(crate) fn pack(bytes: &[u8], out: &mut Vec<u8>) {
    let coded = (bytes.len() <= CODE_UP_TO).then(|| encode(bytes));
    let packed = (bytes.len() >= LZ4_FROM).then(|| lz4_flex::block::compress(bytes));
    let shortest = [coded.map(|coded| (0, coded)), packed.map(|packed| (1, packed))].into_iter().flatten();
    let shortest = shortest.min_by_key(|(_, packed)| packed.len()).filter(|(_, packed)| packed.len() < bytes.len());
    put_varint(shortest.as_ref().map_or(0, |(kind, _)| (bytes.len() as u64) << 1 | kind), out);
    out.extend_from_slice(shortest.as_ref().map_or(bytes, |(_, packed)| packed));
}

/// Packed bytes, to the end of the input.
pub(crate) struct PackedChanges<'a> {
    /// Length when unpacked.
    pub len: usize,
    kind: PackingKind,
    bytes: &'a [u8],
}

#[derive(Clone, Copy)]
enum PackingKind {
    Plain,
    Code,
    Lz4,
}

impl<'a> PackedChanges<'a> {
    /// Reads the output of [`pack`].
    pub fn read(input: &mut StateReader<'a>) -> Result<Self, BadBytes> {
        let head = input.length()?;
        let bytes = input.rest();
        let (kind, len, factor_max) = match (head >> 1, head & 1) {
            (0, 0) => (PackingKind::Plain, bytes.len(), 1),
            (0, _) => return Err(BadBytes),
            (len, 0) => (PackingKind::Code, len, CODE_FACTOR_MAX),
            (len, _) => (PackingKind::Lz4, len, LZ4_FACTOR_MAX),
        };
        // No packed bytes unpack to more, so no memory is allocated for a false length.
        if len / factor_max > bytes.len() { Err(BadBytes) } else { Ok(Self { len, kind, bytes }) }
    }

    pub fn unpack(&self) -> Result<Cow<'a, [u8]>, BadBytes> {
        Ok(match self.kind {
            PackingKind::Plain => Cow::Borrowed(self.bytes),
            PackingKind::Code => Cow::Owned(decode(self.bytes, self.len)?),
            PackingKind::Lz4 => {
                let bytes = lz4_flex::block::decompress(self.bytes, self.len).map_err(|_| BadBytes)?;
                // There may be fewer bytes than announced.
                Cow::Owned(Some(bytes).filter(|bytes| bytes.len() == self.len).ok_or(BadBytes)?)
            }
        })
    }
}

/// Encodes bytes. The first bits are the highest of the first byte; the last byte is filled up with zeros.
fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut held, mut count) = (0u64, 0);
    for byte in bytes {
        let (bits, length) = CODE.get(usize::from(*byte)).copied().unwrap_or_default();
        (held, count) = (held << length | u64::from(bits), count + length);
        while count >= u8::BITS {
            count -= u8::BITS;
            out.push((held >> count) as u8);
        }
    }
    if count > 0 {
        out.push((held << (u8::BITS - count)) as u8);
    }
    out
}

fn decode(bytes: &[u8], len: usize) -> Result<Vec<u8>, BadBytes> {
    let mut out = Vec::with_capacity(len);
    let mut bytes = bytes.iter();
    // Unused bits, in the lowest places.
    let (mut held, mut count) = (0u64, 0);
    while out.len() < len {
        while count < LONGEST
            && let Some(byte) = bytes.next()
        {
            (held, count) = (held << u8::BITS | u64::from(*byte), count + u8::BITS);
        }
        let next = if count < LONGEST { held << (LONGEST - count) } else { held >> (count - LONGEST) };
        let (byte, length) = BYTES.get(next as usize % TABLE).copied().unwrap_or_default();
        count = count.checked_sub(length).ok_or(BadBytes)?;
        held &= (1 << count) - 1;
        out.push(byte);
    }
    let is_end = bytes.next().is_none() && count < u8::BITS && held == 0;
    if is_end { Ok(out) } else { Err(BadBytes) }
}

/// Builds the canonical code of these lengths: the shortest first, bytes of one length in their order.
#[expect(clippy::indexing_slicing, reason = "it is done when this is compiled")]
const fn code() -> [(u16, u32); 256] {
    let mut code = [(0, 0); 256];
    let (mut next, mut length) = (0, 1);
    while length <= LONGEST {
        let mut byte = 0;
        while byte < 256 {
            if digit(LENGTHS[byte]) == length {
                code[byte] = (next, length);
                next += 1;
            }
            byte += 1;
        }
        next <<= 1;
        length += 1;
    }
    assert!(next as usize == 2 * TABLE, "each beginning stands for a byte");
    code
}

#[expect(clippy::indexing_slicing, reason = "it is done when this is compiled")]
const fn bytes() -> [(u8, u32); TABLE] {
    let (code, mut bytes) = (code(), [(0, 0); TABLE]);
    let mut byte = 0;
    while byte < 256 {
        let (bits, length) = code[byte];
        let mut rest = 0;
        while rest < 1 << (LONGEST - length) {
            bytes[(bits as usize) << (LONGEST - length) | rest] = (byte as u8, length);
            rest += 1;
        }
        byte += 1;
    }
    bytes
}

const fn digit(letter: u8) -> u32 {
    match (letter as char).to_digit(16) {
        Some(digit) => digit,
        // Without a length, not each prefix stands for a byte, and the assertion above fails.
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(bytes, &mut out);
        out
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, BadBytes> {
        let packed = PackedChanges::read(&mut StateReader::new(bytes))?;
        let bytes = packed.unpack()?.into_owned();
        assert_eq!(bytes.len(), packed.len);
        Ok(bytes)
    }

    #[test]
    fn shortest_packing_is_chosen() {
        // The TypeScript SDK has the same (`guest.test.ts`).
        assert_eq!(packed(&[]), [0]);
        assert_eq!(packed(&[0x55]), [0, 0x55]);
        assert_eq!(packed(&[0, 1, 2, 3, 4]), [10, 0x28, 0x81, 0xC6]);
        assert_eq!(packed(&[7; 200]).get(..2), Some(&[0x91, 0x03][..]), "LZ4");
        assert_eq!(packed(&[0xCE; 20]).first(), Some(&0), "what is never there takes more");
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all), 256), Ok(all));
    }

    #[test]
    fn what_pretends_is_refused() {
        for bytes in [
            &[][..],
            &[1, 0],
            &[10, 0x28, 0x81],
            &[10, 0x28, 0x81, 0xC7],
            &[10, 0x28, 0x81, 0xC6, 0],
            &[8, 0x28, 0x81, 0xC6],
            &[29, 0x70, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(unpacked(bytes), Err(BadBytes), "{bytes:?}");
        }
        let mut much = Vec::new();
        put_varint(u64::MAX - 1, &mut much);
        assert_eq!(unpacked(&much), Err(BadBytes));
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(prop_oneof![0u8..8, any::<u8>()], 0..600)) {
            let packed = packed(&bytes);
            prop_assert!(packed.len() <= bytes.len() + 2);
            prop_assert_eq!(unpacked(&packed), Ok(bytes));
        }

        #[test]
        fn hostile_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = unpacked(&bytes);
        }
    }
}
