//! Properties of the compact codec, for any bytes. The fuzz target looks for violations; a test of `whimbrel-acl`
//! replays those that were found.
#![allow(dead_code, reason = "the target uses one of these")]

use whimbrel_acl::compact::view::View;
use whimbrel_acl::compact::{self, Decoder, EncodedMessage, Encoder, Limits, decode_body, decode_body_as, encode_body};
use whimbrel_acl::{AclMessage, Text, Value};

/// Memory that one input may make a reader allocate, as the reader counts.
const LIMITS: Limits = Limits::MESSAGE.with_budget_bytes(4 << 20);

/// A type with fields of many kinds.
#[derive(compact::Encode, compact::Decode, Debug, PartialEq)]
#[compact(name = "row")]
struct Row {
    text: Text,
    name: Option<String>,
    number: i32,
    large: Option<u64>,
    real: Option<f64>,
    numbers: Vec<i16>,
    truths: Vec<bool>,
    bytes: Option<Vec<u8>>,
    kind: Option<Kind>,
    map: Option<std::collections::BTreeMap<String, i64>>,
    rows: Vec<Row>,
}

#[derive(compact::Encode, compact::Decode, Debug, PartialEq)]
enum Kind {
    North,
    South,
    At(i32, f32),
    Far { away: u32 },
}

/// Decodes the bytes after the first, which selects the decoder.
pub fn compact_decoder(bytes: &[u8]) {
    let Some((what, bytes)) = bytes.split_first() else { return };
    match what % 4 {
        0 => value(bytes),
        1 => rows(bytes),
        2 => messages(bytes),
        _ => document(bytes),
    }
}

/// A value that is read is written so that the same is read again; and can be looked at in place.
fn value(bytes: &[u8]) {
    let viewed = View::open_body(bytes, LIMITS);
    let Ok(value) = decode_body(bytes, LIMITS) else { return };
    assert!(viewed.is_ok() || bytes.len() > 1000, "{viewed:?}");
    comes_back(&value);
}

fn comes_back(value: &Value) {
    let mut written = Vec::new();
    if encode_body(value, &mut written).is_err() {
        return;
    }
    let again = decode_body(&written, Limits::DEFAULT).expect("what is written can be read");
    let mut rewritten = Vec::new();
    encode_body(&again, &mut rewritten).expect("what was written once can be written again");
    assert_eq!(written, rewritten, "{value:?}");
}

fn rows(bytes: &[u8]) {
    let Ok(rows) = decode_body_as::<Vec<Row>>(bytes, LIMITS) else { return };
    let mut written = Vec::new();
    if compact::encode_body_of(&rows, &mut written).is_ok() {
        let again = decode_body_as::<Vec<Row>>(&written, Limits::DEFAULT).expect("what is written can be read");
        assert_eq!(format!("{again:?}"), format!("{rows:?}"));
    }
}

/// Messages of one link, each with its length before it.
fn messages(bytes: &[u8]) {
    let (mut opened, mut sealed) = (Decoder::new(LIMITS, Default::default()), Decoder::new(LIMITS, Default::default()));
    let (mut encoder, mut end) = (Encoder::default(), Decoder::default());
    let mut rest = bytes;
    while let Some((length, more)) = rest.split_first() {
        let (frame, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        let whole = opened.decode_message(frame);
        let parts = sealed.decode_sealed(frame);
        let (Ok(whole), Ok(parts)) = (whole, parts) else { return };
        passed_on(&mut encoder, &mut end, &parts, &whole);
    }
}

/// A message that can be read can be passed on without being read, and then says the same.
fn passed_on(encoder: &mut Encoder, end: &mut Decoder, parts: &EncodedMessage, whole: &AclMessage) {
    let mut bytes = Vec::new();
    encoder.encode_sealed(parts, &mut bytes).expect("a body that was taken apart can be put together");
    let arrived = end.decode_sealed(&bytes).expect("what is passed on arrives");
    assert_eq!(arrived.body, parts.body);
    let arrived = arrived.open(Limits::DEFAULT).expect("what could be read can be read");
    assert_eq!(format!("{arrived:?}"), format!("{whole:?}"));
}

fn document(bytes: &[u8]) {
    if let Ok(message) = compact::decode_message(bytes) {
        let mut written = Vec::new();
        if compact::encode_message(&message, &mut written).is_ok() {
            let again = compact::decode_message(&written).expect("what is written can be read");
            assert_eq!(format!("{:?}", again.content), format!("{:?}", message.content));
        }
    }
    let _ = compact::decode::<Row>(bytes, LIMITS);
}

/// Bytes to start from: values and messages of every kind, as the target takes them.
pub fn seeds() -> Vec<Vec<u8>> {
    use whimbrel_acl::{Aid, Performative};
    let row = |n: i32| Row {
        text: "a text they share".into(),
        name: (n % 2 == 0).then(|| format!("row {n}")),
        number: n * 1000,
        large: (n % 3 == 0).then_some(u64::MAX),
        real: Some(f64::from(n) / 10.0),
        numbers: (0..n as i16 % 7).collect(),
        truths: (0..n % 9).map(|bit| bit % 2 == 0).collect(),
        bytes: (n % 5 == 0).then(|| vec![n as u8; 3]),
        kind: [None, Some(Kind::North), Some(Kind::South), Some(Kind::At(1, 0.5)), Some(Kind::Far { away: 9 })]
            .into_iter()
            .nth(n as usize % 5)
            .flatten(),
        map: (n % 4 == 0).then(|| [("a".to_owned(), 1), (n.to_string(), 2)].into()),
        rows: Vec::new(),
    };
    let mut all = Vec::new();
    for count in [0, 1, 2, 3, 12, 40] {
        let rows: Vec<Row> = (0..count).map(row).collect();
        for what in [0, 1] {
            let mut seed = vec![what];
            compact::encode_body_of(&rows, &mut seed).expect("not deep");
            all.push(seed);
        }
    }
    let content = Value::list(
        (0..9).map(|n| Value::term("at", [Value::Int(n), Value::from(format!("id{n}"))])).collect::<Vec<_>>(),
    );
    let message = AclMessage::new(Performative::Cfp, Aid::new("ada", "here"), Aid::new("bob", "there"), content)
        .in_conversation("c1")
        .with_protocol("fipa-contract-net");
    let mut encoder = Encoder::default();
    let mut seed = vec![2];
    for _ in 0..3 {
        let mut frame = Vec::new();
        encoder.encode_message(&message, &mut frame).expect("not deep");
        seed.push(frame.len() as u8);
        seed.extend(frame);
    }
    all.push(seed);
    let mut seed = vec![3];
    compact::encode_message(&message, &mut seed).expect("not deep");
    all.push(seed);
    all
}
