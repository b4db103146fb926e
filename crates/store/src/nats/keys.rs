//! Keys of the coordination stream as subjects: `node/a b` is `node.a=20b`.
//!
//! A `/` separates tokens, so that the engine itself can select keys by prefix. Any character but a letter, digit,
//! `-` or `_` is written as `=` and two hexadecimal digits. An empty part is written as `=`.

use std::fmt::Write;

/// Returns the subject of a key, without the common prefix.
pub(crate) fn subject_of(key: &str) -> String {
    let mut subject = String::with_capacity(key.len() + 8);
    for (index, part) in key.split('/').enumerate() {
        if index > 0 {
            subject.push('.');
        }
        if part.is_empty() {
            subject.push('=');
        }
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => subject.push(char::from(byte)),
                // Writing to a string does not fail.
                other => drop(write!(subject, "={other:02x}")),
            }
        }
    }
    subject
}

/// Returns the key of a subject; `None` if the subject is none of a key.
pub(crate) fn key_of(subject: &str) -> Option<String> {
    let mut key = Vec::with_capacity(subject.len());
    for (index, token) in subject.split('.').enumerate() {
        if index > 0 {
            key.push(b'/');
        }
        if token == "=" {
            continue;
        }
        let mut rest = token;
        while let Some(first) = rest.bytes().next() {
            if first == b'=' {
                key.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
                rest = rest.get(3..)?;
            } else {
                key.push(first);
                rest = rest.get(1..)?;
            }
        }
    }
    String::from_utf8(key).ok()
}

/// Returns a filter, in the engine's notation, that includes all keys with this prefix.
pub(crate) fn filter_of(prefix: &str) -> String {
    match prefix.rsplit_once('/') {
        Some((whole, _)) => format!("{}.>", subject_of(whole)),
        None => ">".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_subjects() {
        let cases = [
            ("node/a b", "node.a=20b"),
            ("", "="),
            ("a//b", "a.=.b"),
            ("/", "=.="),
            ("shard/17", "shard.17"),
            ("a.b*c>d", "a=2eb=2ac=3ed"),
            ("=", "=3d"),
            ("č", "=c4=8d"),
        ];
        for (key, subject) in cases {
            assert_eq!(subject_of(key), subject);
            assert_eq!(key_of(subject).as_deref(), Some(key));
        }
        for subject in ["a=", "a=2", "=zz", "=ff", "=é"] {
            assert_eq!(key_of(subject), None, "{subject}");
        }
    }

    #[test]
    fn prefixes_choose_whole_tokens() {
        assert_eq!(filter_of(""), ">");
        assert_eq!(filter_of("no"), ">");
        assert_eq!(filter_of("node/"), "node.>");
        assert_eq!(filter_of("node/a/b"), "node.a.>");
    }

    proptest! {
        #[test]
        fn a_subject_is_one_keys(key in "[a-c/.= \\PC]{0,12}") {
            let subject = subject_of(&key);
            prop_assert!(subject.split('.').all(|token| !token.is_empty()));
            prop_assert_eq!(key_of(&subject), Some(key));
        }
    }
}
