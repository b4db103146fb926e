//! Bodies by themselves: the buffers that a thread keeps do not show in the next body.

use whimbrel_acl::compact::{Decode, Encode, Limits, Writer, decode, encode, encode_value};
use whimbrel_acl::{Text, Value};

/// Writes another document while it is written, as a wrapper of opaque bytes would.
#[derive(Clone, Debug, PartialEq)]
struct Sealed(TextPair);

#[derive(Clone, Debug, Decode, Encode, PartialEq)]
struct TextPair {
    first: Text,
    second: Text,
}

impl Encode for Sealed {
    fn encode(&self, w: &mut Writer<'_>) {
        let mut bytes = Vec::new();
        encode(&self.0, &mut bytes).unwrap();
        Value::from(bytes.as_slice()).encode(w);
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

fn pair() -> TextPair {
    TextPair { first: "a longer text".into(), second: "a longer text".into() }
}

fn bytes_of(thing: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(thing, &mut bytes).unwrap();
    bytes
}

#[test]
fn nested_writes_are_independent() {
    let alone = bytes_of(&pair());
    let (around, inside) = ((pair(), (Sealed(pair()), pair())), Value::from(alone.as_slice()));
    assert_eq!(bytes_of(&around), bytes_of(&(pair(), (inside, pair()))));
    assert_eq!(bytes_of(&pair()), alone);
}

#[test]
fn bodies_share_nothing() {
    let first = bytes_of(&pair());
    // Too deep, long, and none that went wrong halfway.
    let deep = (0..200).fold(Value::Null, |value, _| Value::list([value]));
    let mut untouched = vec![7];
    assert!(encode_value(&deep, &mut untouched).is_err() && untouched == [7]);
    let long = vec![pair(); 100_000];
    assert_eq!(decode::<Vec<TextPair>>(&bytes_of(&long), Limits::DEFAULT.with_budget_bytes(usize::MAX)).unwrap(), long);
    let panics = std::panic::catch_unwind(|| bytes_of(&Panics));
    assert!(panics.is_err());
    assert_eq!(bytes_of(&pair()), first);
    assert_eq!(decode::<TextPair>(&first, Limits::DEFAULT).unwrap(), pair());
    assert_eq!(std::thread::spawn(|| bytes_of(&pair())).join().unwrap(), first, "on any thread");
}

struct Panics;

impl Encode for Panics {
    fn encode(&self, w: &mut Writer<'_>) {
        pair().encode(w);
        panic!("halfway");
    }

    fn same(&self, _other: &Self) -> bool {
        true
    }
}
