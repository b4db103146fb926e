//! Examples in the documentation are true.

use whimbrel_acl::{AclMessage, Encoding};

use crate::codecs::all_of;

/// The code block of this kind.
fn block<'a>(document: &'a str, kind: &str) -> &'a str {
    let fence = format!("```{kind}\n");
    let start = document.find(&fence).unwrap_or_else(|| panic!("no block of {kind}")) + fence.len();
    let length = document[start..].find("```").unwrap();
    &document[start..start + length]
}

fn bytes_of(encoding: Encoding, block: &str) -> Vec<u8> {
    match encoding {
        Encoding::BitEfficient | Encoding::Compact => {
            block.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
        }
        _ => block.trim_end().as_bytes().to_vec(),
    }
}

#[test]
fn example_shows_every_encoding() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/acl-encodings.md");
    let document = std::fs::read_to_string(path).unwrap();
    let mut first: Option<AclMessage> = None;
    let mut sizes = String::from("| bytes |");
    for encoding in Encoding::ALL {
        let bytes = bytes_of(encoding, block(&document, encoding.name()));
        let message = encoding.decode(&bytes).unwrap_or_else(|error| panic!("{encoding}: {error}"));
        let first = first.get_or_insert_with(|| message.clone());
        assert_eq!(all_of(&message), all_of(first), "{encoding}");
        let written = encoding.encode(&message).unwrap();
        if encoding != Encoding::Xml {
            assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&bytes), "{encoding}");
        }
        sizes += &format!(" {} |", written.len());
    }
    assert!(document.contains(&sizes), "{sizes}");
}
