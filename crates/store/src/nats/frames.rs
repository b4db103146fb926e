//! Encoding of a message of a journal's stream: consecutive frames of one partition.
//!
//! ```text
//! version: 1   epoch: 8   number of the first frame: 8   place of the first frame: 8   frames: 4
//! per frame:   bytes: 4, the bytes
//! CRC-32C of all this: 4                                                    all integers little-endian
//! ```

use bytes::{BufMut, Bytes, BytesMut};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 1 + 8 + 8 + 8 + 4;
const CRC_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;

/// Bytes of a message with one frame, without the frame's own.
pub(crate) const OVERHEAD_BYTES: usize = HEAD_BYTES + LENGTH_BYTES + CRC_BYTES;

/// Bytes that one more frame takes.
pub(crate) fn bytes_of(frame: &[u8]) -> usize {
    LENGTH_BYTES + frame.len()
}

/// Range of frames in a message. Their numbers and places have no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageHead {
    pub epoch: u64,
    /// The number of the first frame.
    pub number: u64,
    /// The place of the first frame.
    pub place: u64,
    pub frames: u32,
}

impl MessageHead {
    /// Returns the number of the last frame.
    pub(crate) fn last_number(&self) -> u64 {
        self.number + u64::from(self.frames).saturating_sub(1)
    }

    /// Returns the place of the last frame.
    pub(crate) fn last_place(&self) -> u64 {
        self.place + u64::from(self.frames).saturating_sub(1)
    }
}

/// Encodes a message.
pub(crate) fn pack<'a>(head: &MessageHead, frames: impl Iterator<Item = &'a [u8]> + Clone) -> Bytes {
    let bytes = HEAD_BYTES + CRC_BYTES + frames.clone().map(bytes_of).sum::<usize>();
    let mut message = BytesMut::with_capacity(bytes);
    message.put_u8(VERSION);
    message.put_u64_le(head.epoch);
    message.put_u64_le(head.number);
    message.put_u64_le(head.place);
    message.put_u32_le(head.frames);
    for frame in frames {
        // A message is smaller than 4 GiB: the engine's limit is a few megabytes.
        message.put_u32_le(u32::try_from(frame.len()).unwrap_or(u32::MAX));
        message.put_slice(frame);
    }
    let crc = crc32c::crc32c(&message);
    message.put_u32_le(crc);
    message.freeze()
}

/// Decodes a message.
///
/// # Errors
/// The bytes are no encoded message; the text says why.
pub(crate) fn unpack(message: &[u8]) -> Result<(MessageHead, MessageFrames<'_>), &'static str> {
    let (body, crc) = message.split_last_chunk::<CRC_BYTES>().ok_or("the message is truncated")?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return Err("the checksum of the message is wrong");
    }
    let mut rest = body;
    let [version] = take(&mut rest)?;
    if version != VERSION {
        return Err("the message has an unknown version");
    }
    let head = MessageHead {
        epoch: u64::from_le_bytes(take(&mut rest)?),
        number: u64::from_le_bytes(take(&mut rest)?),
        place: u64::from_le_bytes(take(&mut rest)?),
        frames: u32::from_le_bytes(take(&mut rest)?),
    };
    let frames = MessageFrames(rest);
    if head.frames == 0 || head.number == 0 || head.place == 0 || !frames.are(head.frames) {
        return Err("the message does not have the announced frames");
    }
    Ok((head, frames))
}

/// The frames of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageFrames<'a>(&'a [u8]);

impl<'a> MessageFrames<'a> {
    fn are(mut self, count: u32) -> bool {
        (0..count).all(|_| self.next().is_some()) && self.0.is_empty()
    }
}

impl<'a> Iterator for MessageFrames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let bytes = u32::from_le_bytes(take(&mut self.0).ok()?);
        let (frame, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(frame)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], &'static str> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or("the message is truncated")?;
    *rest = after;
    Ok(*taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(frames: &[Vec<u8>]) -> (MessageHead, Bytes) {
        let head = MessageHead { epoch: 7, number: 3, place: 1 << 40, frames: u32::try_from(frames.len()).unwrap() };
        let bytes = pack(&head, frames.iter().map(Vec::as_slice));
        (head, bytes)
    }

    #[test]
    fn bytes_match_the_description() {
        let (_, bytes) = message(&[b"ab".to_vec(), Vec::new()]);
        let crc = crc32c::crc32c(&bytes[..bytes.len() - 4]).to_le_bytes();
        let expected: &[&[u8]] = &[
            &[1, 7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0],
            &[2, 0, 0, 0, b'a', b'b', 0, 0, 0, 0],
            &crc,
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(bytes.len(), OVERHEAD_BYTES + 2 + bytes_of(b""));
    }

    #[test]
    fn message_without_frames_is_refused() {
        assert!(unpack(&message(&[]).1).is_err());
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..9)) {
            let (head, bytes) = message(&frames);
            let (read, unpacked) = unpack(&bytes).unwrap();
            prop_assert_eq!(read, head);
            prop_assert_eq!(unpacked.collect::<Vec<_>>(), frames.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 0_usize..8, at in 0_usize..60) {
            let mut bytes = message(&[vec![5; 20], vec![6; 3]]).1.to_vec();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert!(unpack(&bytes).is_err());
        }

        #[test]
        fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..80), sealed: bool) {
            let mut bytes = bytes;
            if sealed {
                let crc = crc32c::crc32c(&bytes);
                bytes.extend(crc.to_le_bytes());
            }
            if let Ok((head, frames)) = unpack(&bytes) {
                prop_assert_eq!(frames.count(), head.frames as usize);
            }
        }
    }
}
