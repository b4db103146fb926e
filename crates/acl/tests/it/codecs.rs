//! Laws of every encoding of messages.

use proptest::prelude::*;
use whimbrel_acl::codec::bits::{BitsDecoder, BitsEncoder, TableSize};
use whimbrel_acl::limits::{RESOLVER_DEPTH_MAX, VALUE_DEPTH_MAX};
use whimbrel_acl::value::Contents;
use whimbrel_acl::{AclMessage, Aid, Contact, DecodeErrorKind, EncodeError, Encoding, Object, Performative, Value};

use crate::generators::{message, value};

/// Everything there is to say about a message: more than equality, which takes 1 and 1.0 for the same and does not look
/// at addresses.
pub fn all_of(message: &AclMessage) -> String {
    let contacts: Vec<String> = [message.sender]
        .iter()
        .chain(&message.receivers)
        .chain(&message.extras().reply_to)
        .map(|aid| contacts_of(*aid))
        .collect();
    format!(
        "{contacts:?} {:?} {:?} {:?} {:?}",
        message.performative,
        message.receivers,
        message.content,
        message.extras()
    )
}

fn contacts_of(aid: Aid) -> String {
    let resolvers: Vec<String> = aid.contact().resolvers.iter().map(|resolver| contacts_of(*resolver)).collect();
    format!("{:?}/{:?} {:?} {resolvers:?}", aid.name, aid.platform, aid.contact())
}

fn comes_back(message: &AclMessage) {
    for encoding in Encoding::ALL {
        let bytes = encoding.encode(message).unwrap_or_else(|error| panic!("{encoding}: {error}: {message:?}"));
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(Encoding::detect(&bytes), Some(encoding), "{shown}");
        let read = encoding.decode(&bytes).unwrap_or_else(|error| panic!("{encoding}: {error}: {shown}"));
        assert_eq!(all_of(&read), all_of(message), "{encoding}: {shown}");
        assert_eq!(encoding.encode(&read).unwrap(), bytes, "{encoding} is written one way only");
    }
}

proptest! {
    #[test]
    fn messages_survive_every_encoding(message in message()) {
        comes_back(&message);
    }

    #[test]
    fn a_code_table_changes_nothing(messages in prop::collection::vec(message(), 1..8), bits in 8..=16_u8) {
        let size = TableSize::from_bits(bits).unwrap();
        let (mut encoder, mut decoder) = (BitsEncoder::new(size), BitsDecoder::new(size));
        for message in messages {
            let bytes = encoder.encode(&message).unwrap();
            prop_assert!(bytes.len() <= Encoding::BitEfficient.encode(&message).unwrap().len());
            prop_assert_eq!(all_of(&decoder.decode(&bytes, None).unwrap()), all_of(&message));
        }
    }

    #[test]
    fn values_come_back_from_json(value in value()) {
        let json = whimbrel_acl::codec::json::value_to_string(&value).unwrap();
        let read = whimbrel_acl::codec::json::value_from_str(&json).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{value:?}"));
        let by_the_notation = crate::notation::read_value(&serde_json::from_str(&json).unwrap());
        prop_assert_eq!(format!("{by_the_notation:?}"), format!("{value:?}"));
    }

    #[test]
    fn cut_off_messages_are_refused(message in message(), cut in any::<prop::sample::Index>()) {
        for encoding in Encoding::ALL {
            let bytes = encoding.encode(&message).unwrap();
            // White space at the end may be missing.
            let end = bytes.trim_ascii_end().len();
            let cut = cut.index(end);
            let error = encoding.decode(&bytes[..cut]).unwrap_err();
            prop_assert!(error.offset <= cut, "{error}");
        }
    }

    #[test]
    fn mutated_messages_do_no_harm(
        message in message(), place in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        for encoding in Encoding::ALL {
            let mut bytes = encoding.encode(&message).unwrap();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            match encoding.decode(&bytes) {
                Ok(read) => drop(encoding.encode(&read)),
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }
}

#[test]
fn containers_are_copied() {
    let contents = Contents::Map([(Value::from("k"), Value::Int(1)), (Value::Nil, Value::Int(2))].into());
    let object = Value::Object(std::sync::Arc::new(Object::new(contents)));
    let message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), object);
    for encoding in Encoding::ALL {
        let read = encoding.decode(&encoding.encode(&message).unwrap()).unwrap();
        assert_eq!(read.content, message.content, "{encoding}");
    }
}

#[test]
fn attribute_tabs_are_escaped() {
    // Any XML reader takes plain white space in an attribute for blanks.
    let act = Performative::Other("a\tb\nc\rd".into());
    let message = AclMessage::new(act, Aid::local("a"), Aid::local("b"), "");
    let written = String::from_utf8(Encoding::Xml.encode(&message).unwrap()).unwrap();
    assert!(written.contains("a&#9;b&#10;c&#13;d"), "{written}");
}

#[test]
fn hard_texts_come_back() {
    let texts = [
        "",
        "\\",
        "a\\",
        "\"",
        "\\\"",
        "((a",
        "#3\"abc",
        "a\u{7f}b",
        " a ",
        "a\r\n\tb",
        "&lt;<>&",
        "]]>",
        "\u{10ffff}",
        "12",
        "-1",
        "1e5",
        ":x",
        "?x",
        "@a",
        "20250101T000000000Z",
    ];
    for text in texts {
        let mut message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), text)
            .in_conversation(text)
            .with_reply_with(text)
            .with_language(text)
            .with_protocol(text)
            .with_ontology(text);
        message.extras_mut().user = vec![("X-t".into(), Value::from(text)), ("X-a".into(), Value::atom(text))];
        comes_back(&message);
    }
    for text in ["\0", "a\u{1}b", "\u{b}"] {
        let mut message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), text);
        message.extras_mut().user = vec![("X-t".into(), Value::from(text))];
        comes_back(&message);
        let error = Encoding::Xml.encode(&message.in_conversation(text));
        assert!(matches!(error, Err(EncodeError::Character { .. })), "{error:?}");
    }
}

#[test]
fn deep_value_is_refused_both_ways() {
    let deep = |levels: usize| (0..levels).fold(Value::Nil, |inner, _| Value::list([inner]));
    let message = |content| AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), content);
    comes_back(&message(deep(VALUE_DEPTH_MAX)));
    let terms = (0..VALUE_DEPTH_MAX).fold(Value::Nil, |inner, _| Value::term("s", [inner]));
    comes_back(&message(terms));
    let maps = (0..VALUE_DEPTH_MAX / 2).fold(Value::Nil, |inner, _| Value::map([(Value::Nil, inner)]));
    comes_back(&message(maps));
    let resolved = |levels: usize| {
        (0..levels).fold(Aid::local("a"), |resolver, _| {
            Aid::local("a").with_contact(Contact { resolvers: vec![resolver], ..Contact::default() })
        })
    };
    comes_back(&AclMessage { sender: resolved(RESOLVER_DEPTH_MAX), ..message(Value::Nil) });
    for encoding in Encoding::ALL {
        for too_deep in [
            message(deep(VALUE_DEPTH_MAX + 1)),
            AclMessage { sender: resolved(RESOLVER_DEPTH_MAX + 1), ..message(Value::Nil) },
        ] {
            let written = encoding.encode(&too_deep);
            assert!(matches!(written, Err(EncodeError::TooDeep { .. })), "{encoding}: {written:?}");
        }
    }
}

#[test]
fn unquotable_text_takes_a_code() {
    let size = TableSize::from_bits(8).unwrap();
    let text = || Value::from("x".repeat(300) + "\\");
    for parameter in [text(), Value::list([text(), Value::from("text"), text()]), Value::list([text()])] {
        let mut message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), 1.0);
        message.extras_mut().user = vec![("X-t".into(), parameter)];
        let (mut encoder, mut decoder) = (BitsEncoder::new(size), BitsDecoder::new(size));
        let sizes = [(); 2].map(|()| {
            let bytes = encoder.encode(&message).unwrap();
            assert_eq!(all_of(&decoder.decode(&bytes, None).unwrap()), all_of(&message));
            bytes.len()
        });
        assert!(sizes[1] + 200 < sizes[0], "{sizes:?}");
    }
}

#[test]
fn deep_resolvers_are_refused_by_readers() {
    let message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::Nil);
    let forms = [
        (Encoding::String, "(agent-identifier :name amy)", "(agent-identifier :name amy :resolvers (sequence ", "))"),
        (
            Encoding::Xml,
            r#"<agent-identifier><name id="amy"/></agent-identifier>"#,
            r#"<agent-identifier><name id="amy"/><resolvers>"#,
            "</resolvers></agent-identifier>",
        ),
        (Encoding::Json, r#""amy""#, r#"{"name":"amy","resolvers":["#, "]}"),
    ];
    for (encoding, agent, open, close) in forms {
        let shallow = String::from_utf8(encoding.encode(&message).unwrap()).unwrap();
        assert!(shallow.contains(agent), "{shallow}");
        let read = |levels: usize| {
            let nested = open.repeat(levels) + agent + &close.repeat(levels);
            encoding.decode(shallow.replacen(agent, &nested, 1).as_bytes()).map(drop).map_err(|error| error.kind)
        };
        assert_eq!(read(RESOLVER_DEPTH_MAX), Ok(()), "{encoding}");
        for levels in [RESOLVER_DEPTH_MAX + 1, 1_000] {
            let refused = read(levels);
            assert!(matches!(refused, Err(DecodeErrorKind::TooDeep { .. })), "{encoding}: {refused:?}");
        }
    }
}

#[test]
fn unwritable_message_is_refused() {
    let message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), 1.0);
    for encoding in [Encoding::String, Encoding::Xml, Encoding::BitEfficient] {
        let never = message.clone().with_reply_by_ms(u64::MAX);
        assert_eq!(encoding.encode(&never), Err(EncodeError::Time(u64::MAX)));
        let odd = AclMessage { sender: Aid::new("a", "b@c"), ..message.clone() };
        assert_eq!(encoding.encode(&odd), Err(EncodeError::AgentName("a@b@c".into())));
    }
    for encoding in Encoding::ALL.into_iter().filter(|encoding| *encoding != Encoding::Compact) {
        let to_nobody = AclMessage { receivers: [Aid::NOBODY].into_iter().collect(), ..message.clone() };
        assert_eq!(encoding.encode(&to_nobody), Err(EncodeError::AgentName(String::new())), "{encoding}");
    }
    for act in [" ask", "ask\n", "\u{a0}ask"] {
        let asking = AclMessage { performative: Performative::Other(act.into()), ..message.clone() };
        assert_eq!(Encoding::Xml.encode(&asking), Err(EncodeError::Performative(act.into())));
    }
}
