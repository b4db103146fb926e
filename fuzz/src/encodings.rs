//! Properties of the decoders of messages and of SL, for any bytes. The fuzz targets look for violations; a test of
//! `whimbrel-acl` replays those that were found.
#![allow(dead_code, reason = "each target uses one of these")]

use whimbrel_acl::codec::bits::{BitsDecoder, BitsEncoder, TableSize};
use whimbrel_acl::sl::{Profile, SlContent, text_to_value, value_to_text};
use whimbrel_acl::{AclMessage, Aid, Encoding};

/// Arrival time of the messages.
const ARRIVAL_MS: u64 = 1_700_000_000_000;

/// Decodes FIPA's string encoding.
pub fn acl_string(bytes: &[u8]) {
    message(Encoding::String, bytes);
}

/// Decodes FIPA's XML encoding.
pub fn acl_xml(bytes: &[u8]) {
    message(Encoding::Xml, bytes);
}

/// Decodes JSON.
pub fn acl_json(bytes: &[u8]) {
    message(Encoding::Json, bytes);
}

/// FIPA's bit-efficient encoding: one message alone, and a sequence of messages through one code table, each after its
/// length.
pub fn acl_bits(bytes: &[u8]) {
    message(Encoding::BitEfficient, bytes);
    let Some(size) = bytes.first().and_then(|bits| TableSize::from_bits(bits & 15)) else { return };
    let (mut decoder, mut encoder, mut echo) = (BitsDecoder::new(size), BitsEncoder::new(size), BitsDecoder::new(size));
    let mut rest = &bytes[1..];
    while let Some((length, more)) = rest.split_first() {
        let (one, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        let Ok(read) = decoder.decode(one, Some(ARRIVAL_MS)) else { return };
        if let Ok(written) = encoder.encode(&read) {
            same(&echo.decode(&written, None).expect("what is written can be read"), &read);
        }
    }
}

/// Checks that a decoded message can be read back from each encoding that can write it.
fn message(encoding: Encoding, bytes: &[u8]) {
    let message = match encoding.decode_at(bytes, ARRIVAL_MS) {
        Ok(message) => message,
        Err(error) => {
            assert!(error.offset <= bytes.len(), "{error}");
            return;
        }
    };
    for other in [Encoding::String, Encoding::Xml, Encoding::BitEfficient, Encoding::Json] {
        if let Ok(written) = other.encode(&message) {
            let shown = String::from_utf8_lossy(&written).into_owned();
            let read = other.decode(&written).unwrap_or_else(|error| panic!("{other}: {error}: {shown}"));
            same(&read, &message);
            assert_eq!(other.encode(&read).as_ref(), Ok(&written), "{other} is written one way only");
        }
    }
}

fn same(one: &AclMessage, other: &AclMessage) {
    assert_eq!(all_of(one), all_of(other));
}

/// Renders a message with the parts that equality ignores.
fn all_of(message: &AclMessage) -> String {
    let agents = [&message.sender].into_iter().chain(&message.receivers).chain(&message.extras().reply_to);
    let contacts: Vec<String> = agents.map(|agent| contacts_of(*agent)).collect();
    format!("{contacts:?} {:?} {:?} {:?}", message.performative, message.content, message.extras())
}

fn contacts_of(agent: Aid) -> String {
    let resolvers: Vec<String> = agent.contact().resolvers.iter().map(|agent| contacts_of(*agent)).collect();
    format!("{:?}@{:?} {:?} {resolvers:?}", agent.name, agent.platform, agent.contact())
}

/// Checks that parsed SL is printed the same when it is parsed again, and so are its values.
pub fn sl_content(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for profile in [Profile::Sl0, Profile::Sl1, Profile::Sl2, Profile::Sl] {
        let tree = match SlContent::parse(&text, profile) {
            Ok(tree) => tree,
            Err(error) => {
                assert!(error.offset <= text.len(), "{error}");
                continue;
            }
        };
        let printed = tree.to_string();
        let again = SlContent::parse(&printed, profile).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(again.to_string(), printed);
        let value = text_to_value(&text, profile).expect("the same text was read");
        if let Ok(written) = value_to_text(&value, profile) {
            let read = text_to_value(&written, profile).unwrap_or_else(|error| panic!("{written}: {error}"));
            assert_eq!(format!("{read:?}"), format!("{value:?}"), "{written}");
        }
    }
}
