//! Places of code on links: how nodes name the code of an agent that moves.

use std::ops::Deref;

use whimbrel_acl::compact::{Decode, DecodeError, Encode, Reader, Writer};

use crate::durable::{CodeHash, Origin};

/// Place of the code of an agent that moves to another node. On a link a hash is a text, sent once, and a number after
/// that for further agents with the same code. All other news of a move takes fewer bytes than the hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whence(pub Origin);

impl Deref for Whence {
    type Target = Origin;

    fn deref(&self) -> &Origin {
        &self.0
    }
}

/// Form of [`Whence`] on a link.
#[derive(PartialEq, Encode, Decode)]
#[compact(name = "Said")]
enum WhenceForm {
    Program { path: String, fingerprint: u64, code: Option<String> },
    Type(String),
    Module { path: String, hash: String },
}

impl WhenceForm {
    fn of(origin: &Origin) -> Self {
        match origin.clone() {
            Origin::Program { path, fingerprint, code } => {
                Self::Program { path, fingerprint, code: code.map(|code| CodeHash(code).to_string()) }
            }
            Origin::Type(name) => Self::Type(name),
            Origin::Module { path, hash } => Self::Module { path, hash: CodeHash(hash).to_string() },
            // These stay where they are written, and have no code: no node has a type without a name.
            Origin::Kept { .. } | Origin::GoneOn { .. } => Self::Type(String::new()),
        }
    }

    fn origin(self) -> Option<Origin> {
        let bytes = |digits: &String| CodeHash::read(digits).map(|hash| hash.0);
        Some(match self {
            Self::Program { path, fingerprint, code: None } => Origin::Program { path, fingerprint, code: None },
            Self::Program { path, fingerprint, code: Some(code) } => {
                Origin::Program { path, fingerprint, code: Some(bytes(&code)?) }
            }
            Self::Type(name) => Origin::Type(name),
            Self::Module { path, hash } => Origin::Module { path, hash: bytes(&hash)? },
        })
    }
}

impl Encode for Whence {
    fn encode(&self, w: &mut Writer<'_>) {
        WhenceForm::of(self).encode(w);
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Decode for Whence {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let origin = WhenceForm::decode(r)?.origin();
        origin.map(Self).ok_or(DecodeError::Malformed { at: 0, what: "a hash that is none" })
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::compact::{self, Limits};

    use super::*;

    #[test]
    fn code_place_round_trips() {
        let hash: [u8; 32] = std::array::from_fn(|at| (at * 37) as u8);
        let program = |code| Origin::Program { path: "a.asl".to_owned(), fingerprint: u64::MAX, code };
        let module = Origin::Module { path: "a.wasm".to_owned(), hash };
        for origin in [program(None), program(Some(hash)), Origin::Type("t".to_owned()), module] {
            let mut bytes = Vec::new();
            compact::encode_body_of(&Whence(origin.clone()), &mut bytes).unwrap();
            assert_eq!(compact::decode_body_as::<Whence>(&bytes, Limits::MESSAGE).map(|whence| whence.0), Ok(origin));
        }
    }

    #[test]
    fn code_hash_has_64_digits() {
        let digits = CodeHash([0xaf; 32]).to_string();
        assert_eq!(CodeHash::read(&digits), Some(CodeHash([0xaf; 32])));
        for bad in
            ["", "af", &digits[1..], &digits.replace('f', "g"), &format!("{digits}af"), &digits.replacen("af", "é", 1)]
        {
            assert_eq!(CodeHash::read(bad), None, "{bad}");
            let said = WhenceForm::Module { path: "a".to_owned(), hash: (*bad).to_owned() };
            let mut bytes = Vec::new();
            compact::encode_body_of(&said, &mut bytes).unwrap();
            assert!(compact::decode_body_as::<Whence>(&bytes, Limits::MESSAGE).is_err(), "{bad}");
        }
    }
}
