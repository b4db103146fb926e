//! Compact codec: values survive a round trip in as few bytes as promised, and random bytes do no harm.

use proptest::prelude::*;
use whimbrel_acl::compact::{
    self, DecodeError, Decoder, EncodeError, EncodedMessage, Encoder, Limits, LinkLimits, decode_body, encode_body,
};
use whimbrel_acl::{AclMessage, Aid, Extras, Performative, Symbol, Value};

use crate::generators::{message, value};

fn body_of(value: &Value) -> Vec<u8> {
    let mut body = Vec::new();
    encode_body(value, &mut body).unwrap();
    body
}

fn read_body(body: &[u8]) -> Value {
    decode_body(body, Limits::DEFAULT).unwrap()
}

/// A message without an empty box of extras, which says the same as none.
fn plain(mut message: AclMessage) -> AclMessage {
    message.extras = message.extras.filter(|extras| **extras != Extras::default());
    message
}

fn inform(content: impl Into<Value>) -> AclMessage {
    AclMessage::new(Performative::Inform, Aid::new("amy", "here"), Aid::new("bob", "there"), content)
}

/// Sends the messages through one link, and gives the sizes.
fn through_link(encoder: &mut Encoder, decoder: &mut Decoder, messages: &[AclMessage]) -> Vec<usize> {
    messages
        .iter()
        .map(|message| {
            let mut bytes = Vec::new();
            encoder.encode_message(message, &mut bytes).unwrap();
            let read = decoder.decode_message(&bytes).unwrap();
            assert_eq!(format!("{read:?}"), format!("{message:?}"));
            assert_eq!(read.sender.contact(), message.sender.contact());
            bytes.len()
        })
        .collect()
}

proptest! {
    #[test]
    fn values_come_back(value in value()) {
        let body = body_of(&value);
        let read = read_body(&body);
        prop_assert_eq!(format!("{read:?}"), format!("{value:?}"));
        prop_assert_eq!(body_of(&read), body, "canonical");
        let mut document = Vec::new();
        compact::encode_value(&value, &mut document).unwrap();
        let read = compact::decode_value(&document, Limits::DEFAULT).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{value:?}"));
    }

    #[test]
    fn messages_come_back_alone(message in message().prop_map(plain)) {
        let mut document = Vec::new();
        compact::encode_message(&message, &mut document).unwrap();
        let read = compact::decode_message(&document).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{message:?}"));
        prop_assert_eq!(read.sender.contact(), message.sender.contact());
    }

    #[test]
    fn messages_survive_a_link(
        messages in prop::collection::vec(message().prop_map(plain), 1..20), items in 0..6_u32
    ) {
        for limits in [LinkLimits::DEFAULT, LinkLimits { items, item_bytes: 200 }] {
            through_link(&mut Encoder::new(limits), &mut Decoder::new(Limits::DEFAULT, limits), &messages);
        }
    }

    /// Signatures cover documents: a verifier encodes the document again from the message of a link.
    #[test]
    fn link_message_equals_its_document(messages in prop::collection::vec(message(), 1..20)) {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for message in messages {
            let (mut bytes, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
            compact::encode_message(&message, &mut before).unwrap();
            encoder.encode_message(&message, &mut bytes).unwrap();
            compact::encode_message(&decoder.decode_message(&bytes).unwrap(), &mut after).unwrap();
            prop_assert_eq!(before, after, "{:?}", message);
        }
    }

    #[test]
    fn bodies_cross_links_unchanged(messages in prop::collection::vec(message().prop_map(plain), 1..20)) {
        let (mut first, mut first_end) = (Encoder::default(), Decoder::default());
        let (mut second, mut second_end) = (Encoder::default(), Decoder::default());
        for message in messages {
            let sealed = EncodedMessage::seal(message.clone()).unwrap();
            let (mut bytes, mut onward) = (Vec::new(), Vec::new());
            // An end may send decoded and encoded messages in any order.
            first.encode_message(&message, &mut bytes).unwrap();
            let arrived = first_end.decode_sealed(&bytes).unwrap();
            prop_assert_eq!(&arrived, &sealed);
            second.encode_sealed(&arrived, &mut onward).unwrap();
            let read = second_end.decode_sealed(&onward).unwrap();
            prop_assert_eq!(&read.body, &sealed.body);
            let opened = read.open(Limits::DEFAULT).unwrap();
            prop_assert_eq!(format!("{opened:?}"), format!("{message:?}"));
        }
    }

    #[test]
    fn typed_values_share_the_links_memory(
        messages in prop::collection::vec(message().prop_map(plain), 1..20),
    ) {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for message in messages {
            let (mut bytes, mut said) = (Vec::new(), Vec::new());
            encoder.encode_body_of(&message.content, usize::MAX, &mut said).unwrap();
            encoder.encode_message(&message, &mut bytes).unwrap();
            let content: Value = decoder.decode_body_as(&said).unwrap();
            let arrived = decoder.decode_message(&bytes).unwrap();
            prop_assert_eq!(format!("{content:?}"), format!("{:?}", message.content));
            prop_assert_eq!(format!("{:?}", arrived.content), format!("{content:?}"));
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = decode_body(&bytes, Limits::DEFAULT.with_budget_bytes(1 << 20));
        let _ = compact::decode_message(&bytes);
        let _ = Decoder::default().decode_message(&bytes);
        let _ = Decoder::default().decode_sealed(&bytes);
        let _ = Decoder::default().decode_body_as::<Value>(&bytes);
    }

    #[test]
    fn truncated_or_trailing_bytes_are_refused(message in message(), cut in 0..1000_usize) {
        let mut document = Vec::new();
        compact::encode_message(&message, &mut document).unwrap();
        let cut = cut % document.len();
        prop_assert!(compact::decode_message(&document[..cut]).is_err());
        document.push(0);
        prop_assert!(compact::decode_message(&document).is_err());
    }
}

#[test]
fn repeated_conversation_is_short() {
    let content = "x".repeat(60);
    let mut messages = Vec::new();
    for _ in 0..3 {
        messages.push(inform(content.as_str()).in_conversation("c-17").with_protocol("fipa-request"));
        messages.push(inform(content.as_str()));
    }
    let sizes = through_link(&mut Encoder::default(), &mut Decoder::default(), &messages);
    assert_eq!(sizes[1] - 60, 5, "act, two agents, a tag and a length");
    assert!(sizes[4] - 60 <= 9, "{sizes:?}");
}

#[test]
fn repeated_name_stands_once() {
    let bytes = |names: [&str; 2]| body_of(&Value::term("f", names.map(|name| Value::term(name, [Value::Nil])))).len();
    assert!(bytes(["abcd", "abcd"]) < bytes(["abcd", "efgh"]), "the second one refers to the first");
    assert_eq!(bytes(["abc", "abc"]), bytes(["abc", "def"]), "a reference would take no less");
}

#[test]
fn a_reset_starts_anew() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let first = through_link(&mut encoder, &mut decoder, &[inform("hello"), inform("hello")]);
    encoder.reset();
    decoder.reset();
    let second = through_link(&mut encoder, &mut decoder, &[inform("hello"), inform("hello")]);
    assert_eq!(first, second);
    decoder.reset();
    let mut bytes = Vec::new();
    encoder.encode_message(&inform("hello"), &mut bytes).unwrap();
    assert!(matches!(decoder.decode_message(&bytes), Err(DecodeError::Malformed { .. })));
}

#[test]
fn depth_is_limited_both_ways() {
    let nest = |levels| (0..levels).fold(Value::Int(1), |inner, _| Value::term("s", [inner]));
    assert_eq!(read_body(&body_of(&nest(96))), nest(96));
    let mut out = vec![7];
    assert_eq!(encode_body(&nest(97), &mut out), Err(EncodeError::TooDeep { levels: 96 }));
    assert_eq!(out, [7], "nothing was written");
    let mut encoder = Encoder::default();
    assert!(encoder.encode_message(&inform(nest(97)), &mut out).is_err());
    assert_eq!(out, [7]);
    assert!(encoder.encode_body_of(&nest(97), usize::MAX, &mut out).is_err());
    let long = Value::from("longer than it may be");
    let too_long = EncodeError::TooLong { bytes: 22, bytes_max: 21 };
    assert_eq!(encoder.encode_body_of(&long, 21, &mut out), Err(too_long));
    assert_eq!(out, [7]);
    through_link(&mut encoder, &mut Decoder::default(), &[inform("nothing was remembered, either")]);
    let deep = [[0xF1, 7, b's'].repeat(100), vec![0]].concat();
    assert_eq!(decode_body(&deep, Limits::DEFAULT), Err(DecodeError::TooDeep { at: 291, levels: 96 }));
}

#[test]
fn records_of_different_orders_stay_whole() {
    let record = |names: &[&str]| {
        let fields = names.iter().enumerate().map(|(place, name)| (Symbol::new(name), Value::Int(place as i64)));
        Value::record("point", fields)
    };
    for orders in [
        [&["x", "y"][..], &["y", "x"]],
        [&["x", "y", "z"], &["z", "x"]],
        [&["x", "y"], &["x", "x"]],
        [&["x", "z"], &["x", "y", "z"]],
    ] {
        let rows = Value::list((0..40).map(|row| record(orders[row % 2])));
        assert_eq!(format!("{:?}", read_body(&body_of(&rows))), format!("{rows:?}"), "{orders:?}");
    }
}
