//! FIPA ACL in bit-efficient encoding (FIPA00069), with and without the dynamic code table.
//!
//! [`encode`] and [`decode`] use no table: each message stands alone. A [`BitsEncoder`] and a [`BitsDecoder`] share one
//! table for each direction of a link: a repeated word or string takes one or two bytes. Both ends agree on the size
//! of the table beforehand, and see the same messages in the same order. After an error of the decoder the link is
//! useless.

mod digits;
mod read;
mod table;
mod write;

use crate::limits::CODE_TABLE_BYTES_MAX;
use crate::{AclMessage, DecodeError, EncodeError};
use table::CodeTable;

/// The first byte of a message.
//= fipa00069 2.4.1
mod id {
    /// First byte of a message without a code table.
    pub const PLAIN: u8 = 0xfa;
    /// New words and strings enter the code table.
    pub const TABLE: u8 = 0xfb;
    /// The code table is used, and left as it is.
    pub const FIXED_TABLE: u8 = 0xfc;
}

/// Version 1.0.
//= fipa00069 2.4.2
const VERSION: u8 = 0x10;
/// Version 1.0 with its digits in the wrong places, as some write it.
const VERSION_SWAPPED: u8 = 0x01;

/// Bytes that tell the kind of the data that follow.
//= fipa00069 2.2
mod tag {
    pub const END: u8 = 0x01;
    pub const USER_DEFINED: u8 = 0x00;
    pub const AGENT: u8 = 0x02;
    pub const ADDRESSES: u8 = 0x02;
    pub const RESOLVERS: u8 = 0x03;
    pub const AGENT_PARAMETER: u8 = 0x04;
    pub const WORD: u8 = 0x10;
    pub const WORD_CODE: u8 = 0x11;
    pub const NUMBER: u8 = 0x12;
    pub const HEX_NUMBER: u8 = 0x13;
    pub const STRING: u8 = 0x14;
    pub const STRING_CODE: u8 = 0x15;
    pub const BYTES8: u8 = 0x16;
    pub const BYTES16: u8 = 0x17;
    pub const BYTES_CODE: u8 = 0x18;
    pub const BYTES32: u8 = 0x19;
    pub const TIME: u8 = 0x20;
    pub const TIME_WITH_ZONE: u8 = 0x24;
    pub const UP: u8 = 0x40;
    pub const DOWN: u8 = 0x60;
    pub const STRING_FOLLOWS: u8 = 0xff;
}

/// Number of entries of a code table: a power of two.
//= fipa00069 2.3
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSize(u8);

impl TableSize {
    /// Returns the size of 2 to the power of `bits` entries; `None` unless that is from 256 to 65536.
    pub fn from_bits(bits: u8) -> Option<Self> {
        (8..=16).contains(&bits).then_some(Self(bits))
    }

    /// Returns the number of entries.
    pub fn entries(self) -> usize {
        1 << self.0
    }
}

/// Encodes a message without a code table.
///
/// # Errors
/// See [`EncodeError`].
pub fn encode(message: &AclMessage) -> Result<Vec<u8>, EncodeError> {
    write::message(message, id::PLAIN, None)
}

/// Decodes a message that needs no code table.
///
/// # Errors
/// See [`DecodeError`].
pub fn decode(bytes: &[u8], arrival_ms: Option<u64>) -> Result<AclMessage, DecodeError> {
    read::message(bytes, arrival_ms, None)
}

/// The sending end of a link with a code table.
#[derive(Debug)]
pub struct BitsEncoder {
    table: CodeTable,
}

impl BitsEncoder {
    /// Begins with an empty table of this size.
    pub fn new(size: TableSize) -> Self {
        Self { table: CodeTable::new(size) }
    }

    /// Encodes a message for the decoder at the other end.
    ///
    /// # Errors
    /// See [`EncodeError`]; the table is then as it was.
    pub fn encode(&mut self, message: &AclMessage) -> Result<Vec<u8>, EncodeError> {
        // Errors, and the size of the entries, must be known before anything enters the table.
        let plain = encode(message)?;
        let fits = self.table.bytes() + plain.len() <= CODE_TABLE_BYTES_MAX;
        write::message(message, if fits { id::TABLE } else { id::FIXED_TABLE }, Some(&mut self.table))
    }
}

/// The receiving end of a link with a code table.
#[derive(Debug)]
pub struct BitsDecoder {
    table: CodeTable,
}

impl BitsDecoder {
    /// Begins with an empty table of this size.
    pub fn new(size: TableSize) -> Self {
        Self { table: CodeTable::new(size) }
    }

    /// Decodes a message from the encoder at the other end. A message without a code table may come between.
    ///
    /// # Errors
    /// See [`DecodeError`]; the tables of both ends are then no longer the same.
    pub fn decode(&mut self, bytes: &[u8], arrival_ms: Option<u64>) -> Result<AclMessage, DecodeError> {
        read::message(bytes, arrival_ms, Some(&mut self.table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aid, Performative, Value};

    fn message(content: &str) -> AclMessage {
        let (amy, bob) = (Aid::new("amy", "home"), Aid::new("bob", "home"));
        AclMessage::new(Performative::Inform, amy, bob, content).with_ontology("travel").with_language("fipa-sl0")
    }

    #[test]
    fn smallest_message_is_four_bytes() {
        let nobody = AclMessage {
            receivers: Default::default(),
            ..AclMessage::new(Performative::Cfp, Aid::NOBODY, Aid::NOBODY, Value::Null)
        };
        assert_eq!(encode(&nobody), Ok(vec![0xfa, 0x10, 0x04, 0x01]));
        assert_eq!(decode(&[0xfa, 0x01, 0x04, 0x01], None), Ok(nobody), "with the version's digits swapped");
    }

    #[test]
    fn repeated_words_are_short() {
        let size = TableSize::from_bits(8).expect("a size");
        let (mut encoder, mut decoder) = (BitsEncoder::new(size), BitsDecoder::new(size));
        let mut lengths = Vec::new();
        for content in ["one", "two", "ten"] {
            let bytes = encoder.encode(&message(content)).expect("can be written");
            assert_eq!(decoder.decode(&bytes, None), Ok(message(content)));
            lengths.push(bytes.len());
        }
        assert_eq!(lengths, [57, 27, 27], "content never enters the table");
        assert_eq!(encode(&message("one")).map(|bytes| bytes.len()), Ok(57));
    }

    #[test]
    fn full_table_evicts_at_both_ends() {
        let size = TableSize::from_bits(8).expect("a size");
        let (mut encoder, mut decoder) = (BitsEncoder::new(size), BitsDecoder::new(size));
        for n in 0..2_000 {
            let name = format!("word{}", n * n % 701);
            let message = message("x").with_protocol(name.as_str()).in_conversation(format!("c{}", n % 97));
            let bytes = encoder.encode(&message).expect("can be written");
            assert_eq!(decoder.decode(&bytes, None), Ok(message), "message {n}");
        }
    }

    #[test]
    fn table_codes_need_a_table() {
        let mut encoder = BitsEncoder::new(TableSize::from_bits(12).expect("a size"));
        let bytes = encoder.encode(&message("x")).expect("can be written");
        let error = decode(&bytes, None).expect_err("no table");
        assert_eq!(error, DecodeError::new(0, crate::DecodeErrorKind::NeedsCodeTable));
        assert!(TableSize::from_bits(7).is_none() && TableSize::from_bits(17).is_none());
        let mut decoder = BitsDecoder::new(TableSize::from_bits(12).expect("a size"));
        encoder
            .encode(&message("y"))
            .and_then(|_| encoder.encode(&message("y")))
            .map(|bytes| {
                let error = decoder.decode(&bytes, None).expect_err("earlier messages were lost");
                assert!(matches!(error.kind, crate::DecodeErrorKind::UnknownCode(_)), "{error}");
            })
            .expect("can be written");
    }
}
