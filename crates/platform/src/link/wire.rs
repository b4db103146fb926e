//! Frames of a link: their bytes and contents. See `docs/design/links.md` for the picture.

use whimbrel_acl::compact::{self, Decode, Encode, Limits};

use crate::limits::{LINK_FRAME_BYTES_MAX, LINK_HELLO_BYTES_MAX, LINK_TRAIN_BYTES_MAX};

/// Version of the link protocol. A peer with another version is refused. Any change of what nodes tell each other, or
/// how, increments it, once between two releases.
pub const LINK_VERSION: u16 = 3;

/// Kind of a frame: its first byte after the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Identity of the sending node: the first frame of a connection, each way.
    Hello = 1,
    /// Messages and news, in order.
    Batch = 2,
    /// Acknowledgement of items, and credit for more bytes.
    Ack = 3,
    /// Sign of life.
    Ping = 4,
    /// Good-bye: the sending node leaves the platform and sends nothing more. Contains the number of items that it
    /// received.
    Bye = 5,
    /// Refusal of the peer, and its reason: the last frame of a connection.
    Refuse = 6,
    /// Meaningless bytes, to measure throughput.
    Train = 7,
}

impl FrameKind {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Hello, Self::Batch, Self::Ack, Self::Ping, Self::Bye, Self::Refuse, Self::Train];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Reason why bytes are no frames of a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Frame longer than any may be.
    #[error("a frame of {0} bytes: at most {LINK_FRAME_BYTES_MAX}")]
    TooLong(u64),
    /// Frame without a kind.
    #[error("an empty frame")]
    Empty,
    /// Frame of an unknown kind.
    #[error("a frame of the unknown kind {0}")]
    UnknownKind(u8),
    /// Frame whose content is malformed, or does not end where the frame does.
    #[error("malformed {0:?} frame")]
    Content(FrameKind),
    /// Number in more bytes than it needs, or than there are.
    #[error("malformed number")]
    Number,
}

/// Greeting: the identity of the sending node, and where the two nodes left off. A record of the compact codec: a peer
/// skips fields that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[compact(name = "hello")]
pub struct Hello {
    /// Version of the protocol: [`LINK_VERSION`].
    pub version: u16,
    /// Name of the platform.
    pub platform: String,
    /// Name of the node.
    pub node: String,
    /// Incarnation: a random number that tells the processes of this name apart.
    pub incarnation: u64,
    /// Incarnation of the peer, and the number of its items that were received, if the two have met.
    pub heard: Option<(u64, u64)>,
    /// Bytes that the peer may send before it is granted more.
    pub credit: u64,
    /// Address at which the node listens, if it does.
    pub address: Option<String>,
    /// Token of the platform, for nodes that were given one.
    pub token: Option<String>,
    /// Encoding of the node's messages: the name of an [`Encoding`](whimbrel_acl::Encoding).
    pub encoding: String,
    /// Number of an item that arrived more than once and cannot be read: it is not to be sent again.
    pub unreadable: Option<u64>,
    /// Name of the node that the sending node means to reach, if known. A node of another name refuses, and touches no
    /// link.
    pub to: Option<String>,
}

/// Acknowledgement of items, and credit for more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Items received since the session began.
    pub received: u64,
    /// Bytes of frames that may be sent since the connection began.
    pub credit: u64,
}

/// Sign of life with the sending node's position, so that losses are noticed even when all is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Acknowledgement, as in every [`Ack`].
    pub ack: Ack,
    /// Number of the next item.
    pub next: u64,
    /// Time of a question, by the sending node's clock and more than 0, if the peer is to answer at once.
    pub question: u64,
    /// Number of the question that this answers; 0: none.
    pub answer: u64,
}

/// Frame whose content is still bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFrame<'a> {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// Content.
    pub content: &'a [u8],
    /// Number of bytes of the whole frame, head included.
    pub bytes: usize,
}

impl<'a> LinkFrame<'a> {
    /// Returns the frame at the beginning of `bytes`; `None` if it has not arrived completely.
    ///
    /// # Errors
    /// The bytes do not begin with a frame.
    pub fn first(bytes: &'a [u8]) -> Result<Option<Self>, FrameError> {
        let Some((length, head)) = read_number(bytes)? else { return Ok(None) };
        if length > LINK_FRAME_BYTES_MAX as u64 {
            return Err(FrameError::TooLong(length));
        }
        let length = length as usize;
        let Some(frame) = bytes.get(head..head + length) else { return Ok(None) };
        let (kind, content) = frame.split_first().ok_or(FrameError::Empty)?;
        let kind = FrameKind::of(*kind).ok_or(FrameError::UnknownKind(*kind))?;
        Ok(Some(Self { kind, content, bytes: head + length }))
    }

    /// Parses the content of a frame that is no batch.
    ///
    /// # Errors
    /// The content is of another kind, or malformed.
    pub fn parse<T: FrameContent>(&self) -> Result<T, FrameError> {
        let mut rest = self.content;
        let content = (self.kind == T::KIND).then(|| T::take(&mut rest)).flatten();
        content.filter(|_| rest.is_empty()).ok_or(FrameError::Content(self.kind))
    }
}

/// Content of a frame that is no batch.
pub trait FrameContent: Sized {
    /// Kind of frame that has this content.
    const KIND: FrameKind;

    /// Appends the content.
    fn put(&self, out: &mut Vec<u8>);

    /// Takes the content off the front of these bytes, if it is there.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

/// Writes a frame that is no batch.
pub fn write_frame<T: FrameContent>(content: &T, out: &mut Vec<u8>) {
    let start = begin_frame(T::KIND, out);
    content.put(out);
    end_frame(start, out);
}

impl FrameContent for Hello {
    const KIND: FrameKind = FrameKind::Hello;

    fn put(&self, out: &mut Vec<u8>) {
        // Plain data can always be encoded.
        let _ = compact::encode_body_of(self, out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let all = std::mem::take(bytes);
        compact::decode_body_as(all, Limits::MESSAGE.with_budget_bytes(16 * LINK_HELLO_BYTES_MAX)).ok()
    }
}

impl FrameContent for Ack {
    const KIND: FrameKind = FrameKind::Ack;

    fn put(&self, out: &mut Vec<u8>) {
        write_number(self.received, out);
        write_number(self.credit, out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self { received: take_number(bytes).ok()?, credit: take_number(bytes).ok()? })
    }
}

impl FrameContent for Ping {
    const KIND: FrameKind = FrameKind::Ping;

    fn put(&self, out: &mut Vec<u8>) {
        self.ack.put(out);
        [self.next, self.question, self.answer].into_iter().for_each(|number| write_number(number, out));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let ack = Ack::take(bytes)?;
        let mut number = || take_number(bytes).ok();
        Some(Self { ack, next: number()?, question: number()?, answer: number()? })
    }
}

/// Good-bye, with the number of items that were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bye(pub u64);

impl FrameContent for Bye {
    const KIND: FrameKind = FrameKind::Bye;

    fn put(&self, out: &mut Vec<u8>) {
        write_number(self.0, out);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        take_number(bytes).ok().map(Self)
    }
}

/// Reason why a peer is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refuse(pub String);

impl FrameContent for Refuse {
    const KIND: FrameKind = FrameKind::Refuse;

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let all = std::mem::take(bytes);
        let text = std::str::from_utf8(all).ok().filter(|text| text.len() <= LINK_HELLO_BYTES_MAX)?;
        Some(Self(text.to_owned()))
    }
}

/// Train of meaningless bytes: a question that takes longer because of them, or an answer that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// Time of the question, by the sending node's clock and more than 0, if the peer is to answer at once.
    pub question: u64,
    /// Number of the question that this answers; 0: none.
    pub answer: u64,
    /// Bytes that the answer should have.
    pub wanted: u64,
    /// Bytes of this train: [`LINK_TRAIN_BYTES_MAX`] at most.
    pub bytes: u64,
}

impl FrameContent for Train {
    const KIND: FrameKind = FrameKind::Train;

    fn put(&self, out: &mut Vec<u8>) {
        [self.question, self.answer, self.wanted].into_iter().for_each(|number| write_number(number, out));
        out.resize(out.len() + self.bytes.min(LINK_TRAIN_BYTES_MAX) as usize, 0);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let mut number = || take_number(bytes).ok();
        let (question, answer, wanted) = (number()?, number()?, number()?);
        let bytes = std::mem::take(bytes).len() as u64;
        let wanted = wanted.min(LINK_TRAIN_BYTES_MAX);
        (bytes <= LINK_TRAIN_BYTES_MAX).then_some(Self { question, answer, wanted, bytes })
    }
}

/// Bytes reserved for the length of a frame while it is written: as many as a full batch needs. So only small frames
/// are moved, and those with one very long message.
const LENGTH_BYTES: usize = 3;

/// Begins a frame of unknown length; returns its start, for [`end_frame`].
pub fn begin_frame(kind: FrameKind, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    out.push(kind as u8);
    start
}

/// Ends a frame: writes its length, in as few bytes as it takes.
pub fn end_frame(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start - LENGTH_BYTES;
    let mut head = Vec::with_capacity(LENGTH_BYTES + 2);
    write_number(length as u64, &mut head);
    match out.get_mut(start..start + LENGTH_BYTES) {
        Some(place) if head.len() == LENGTH_BYTES => place.copy_from_slice(&head),
        _ => drop(out.splice(start..start + LENGTH_BYTES, head)),
    }
}

/// Begins a part of unknown length, which is written before it; returns its start, for [`end_sized`].
pub fn begin_sized(out: &mut Vec<u8>) -> usize {
    out.push(0);
    out.len()
}

/// Ends a part. If its length needs more than the one reserved byte, the part is moved.
#[inline]
pub fn end_sized(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    match out.get_mut(start - 1) {
        Some(place) if length < 0x80 => *place = length as u8,
        _ => move_behind(length as u64, start, out),
    }
}

#[inline(never)]
fn move_behind(length: u64, start: usize, out: &mut Vec<u8>) {
    let mut head = Vec::with_capacity(LENGTH_BYTES + 1);
    write_number(length, &mut head);
    drop(out.splice(start - 1..start, head));
}

/// Writes a number, seven bits a byte, the lowest first.
pub fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number. Returns it with the number of bytes it took; `None` if they have not all arrived.
///
/// # Errors
/// The number has too many bytes, or more than it needs.
pub fn read_number(bytes: &[u8]) -> Result<Option<(u64, usize)>, FrameError> {
    let mut number = 0u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        let part = u64::from(byte & 0x7f);
        if index == 9 && part > 1 || index > 0 && *byte == 0 {
            return Err(FrameError::Number);
        }
        number |= part << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(Some((number, index + 1)));
        }
    }
    if bytes.len() >= 10 { Err(FrameError::Number) } else { Ok(None) }
}

/// Reads a number off the front of `bytes`.
///
/// # Errors
/// The bytes do not begin with a number.
#[inline]
pub fn take_number(bytes: &mut &[u8]) -> Result<u64, FrameError> {
    if let [byte @ ..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Ok(u64::from(*byte));
    }
    let (number, taken) = read_number(bytes)?.ok_or(FrameError::Number)?;
    *bytes = bytes.get(taken..).unwrap_or_default();
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form_each() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            assert_eq!(read_number(&bytes), Ok(Some((number, bytes.len()))));
            for cut in 0..bytes.len() {
                assert_eq!(read_number(&bytes[..cut]), Ok(None), "{number} cut at {cut}");
            }
        }
        assert_eq!(read_number(&[0x80, 0]), Err(FrameError::Number));
        assert_eq!(read_number(&[0xff; 10]), Err(FrameError::Number));
    }

    #[test]
    fn frame_needs_all_its_bytes() {
        let mut bytes = Vec::new();
        write_frame(&Ack { received: 300, credit: 70_000 }, &mut bytes);
        let start = begin_frame(FrameKind::Batch, &mut bytes);
        bytes.extend_from_slice(&[7; 200]);
        end_frame(start, &mut bytes);
        let ack = LinkFrame::first(&bytes).unwrap().unwrap();
        assert_eq!(ack.parse::<Ack>(), Ok(Ack { received: 300, credit: 70_000 }));
        let rest = &bytes[ack.bytes..];
        let batch = LinkFrame::first(rest).unwrap().unwrap();
        assert_eq!((batch.kind, batch.content, batch.bytes), (FrameKind::Batch, &[7; 200][..], 203));
        assert_eq!(ack.bytes + batch.bytes, bytes.len());
        for cut in 0..rest.len() {
            assert_eq!(LinkFrame::first(&rest[..cut]), Ok(None), "cut at {cut}");
        }
    }

    #[test]
    fn frame_length_matches_any_size() {
        for length in [0, 1, 126, 127, 16_382, 16_383, 100_000, (1 << 21) - 2, (1 << 21) - 1, 1 << 22] {
            let mut bytes = b"before".to_vec();
            let start = begin_frame(FrameKind::Batch, &mut bytes);
            bytes.resize(bytes.len() + length, 7);
            end_frame(start, &mut bytes);
            let frame = LinkFrame::first(&bytes[6..]).unwrap().unwrap();
            assert_eq!((frame.content.len(), frame.bytes + 6), (length, bytes.len()));
            assert!(frame.content.iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn sized_part_has_any_size() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 1 << 21] {
            let (content, mut bytes) = (vec![7; length], b"before".to_vec());
            let start = begin_sized(&mut bytes);
            bytes.extend_from_slice(&content);
            end_sized(start, &mut bytes);
            let mut rest = bytes.strip_prefix(b"before").unwrap();
            assert_eq!(take_number(&mut rest), Ok(length as u64));
            assert_eq!(rest, content);
        }
    }

    #[test]
    fn train_length_is_bounded() {
        let train = Train { question: 300, answer: 0, wanted: 7, bytes: 1_000 };
        let mut bytes = Vec::new();
        write_frame(&train, &mut bytes);
        assert_eq!(LinkFrame::first(&bytes).unwrap().unwrap().parse::<Train>(), Ok(train));
        let mut long = Vec::new();
        let start = begin_frame(FrameKind::Train, &mut long);
        long.resize(long.len() + 4 + LINK_TRAIN_BYTES_MAX as usize, 0);
        end_frame(start, &mut long);
        let outcome = LinkFrame::first(&long).unwrap().unwrap().parse::<Train>();
        assert_eq!(outcome, Err(FrameError::Content(FrameKind::Train)));
    }

    #[test]
    fn hostile_frames_are_refused() {
        assert_eq!(LinkFrame::first(&[0]), Err(FrameError::Empty));
        assert_eq!(LinkFrame::first(&[1, 99]), Err(FrameError::UnknownKind(99)));
        assert_eq!(LinkFrame::first(&[0xff, 0xff, 0xff, 0xff, 1]), Err(FrameError::TooLong(0x1fff_ffff)));
        let trailing = LinkFrame::first(&[4, 3, 1, 1, 1]).unwrap().unwrap();
        assert_eq!(trailing.parse::<Ack>(), Err(FrameError::Content(FrameKind::Ack)));
    }
}
