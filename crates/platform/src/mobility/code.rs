//! Code hashes: how nodes name code that moves with agents.

use std::fmt;
use std::ops::Deref;

use whimbrel_acl::compact::{Decode, DecodeError, Encode, Reader, Writer};

use crate::ams::AgentKind;
use crate::durable::Origin;

/// Identity of an agent's code: SHA-256 of the bytes by which it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodeHash(pub [u8; 32]);

impl CodeHash {
    /// Reads a hash as it is written: 64 hexadecimal digits.
    pub fn read(text: &str) -> Option<Self> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() || pairs.len() != 32 {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(pairs) {
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
            *byte = (high? << 4 | low?) as u8;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for CodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Origin {
    /// Returns the hash by which the code travels; `None` if it does not: a Rust type is compiled into a node.
    pub fn code(&self) -> Option<CodeHash> {
        match self {
            Self::Program { code, .. } => code.map(CodeHash),
            Self::Module { hash, .. } => Some(CodeHash(*hash)),
            Self::Type(_) | Self::Kept { .. } | Self::GoneOn { .. } => None,
        }
    }

    /// Returns the kind of an agent with this code on a node; `None` if no node runs it.
    pub fn kind(&self) -> Option<AgentKind> {
        match self {
            Self::Program { .. } => Some(AgentKind::AgentSpeak),
            Self::Module { .. } => Some(AgentKind::Wasm),
            Self::Type(_) => Some(AgentKind::Native),
            Self::Kept { .. } | Self::GoneOn { .. } => None,
        }
    }

    /// Returns the name of the code in a policy's rules ([`Action::Code`](crate::policy::Action::Code)): `asl:HASH` or
    /// `wasm:HASH`.
    pub fn code_object(&self) -> Option<String> {
        let kind = match self {
            Self::Program { .. } => "asl",
            Self::Module { .. } => "wasm",
            Self::Type(_) | Self::Kept { .. } | Self::GoneOn { .. } => return None,
        };
        self.code().map(|code| format!("{kind}:{code}"))
    }
}

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
