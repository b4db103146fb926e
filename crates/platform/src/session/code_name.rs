//! What an agent of a session calls its code.

use std::fmt;
use std::str::FromStr;

use crate::durable::Origin;
use crate::limits::SESSION_CODE_NAME_BYTES_MAX;
use crate::mobility::CodeHash;

/// An agent's code, by the name that travels with its state: `asl:HASH/NAME`, `wasm:HASH/NAME` (the SHA-256 of its bytes in hexadecimal
/// digits, and its file's name, for people), or `ts:NAME` (known to the client alone).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeName {
    /// An AgentSpeak program, as it travels between nodes.
    Program {
        /// SHA-256 of that.
        hash: [u8; 32],
        /// The file's name.
        name: String,
    },
    /// A WebAssembly module.
    Module {
        /// SHA-256 of its bytes.
        hash: [u8; 32],
        /// The file's name.
        name: String,
    },
    /// The client's own: no node can run it.
    Script(String),
}

impl CodeName {
    /// Where a node finds it; `None` if none can.
    pub fn origin(&self) -> Option<Origin> {
        match self.clone() {
            // Of what has this hash, the fingerprint is known.
            Self::Program { hash, name } => Some(Origin::Program { path: name, fingerprint: 0, code: Some(hash) }),
            Self::Module { hash, name } => Some(Origin::Module { path: name, hash }),
            Self::Script(_) => None,
        }
    }

    /// What a client would call the code that a node finds there; `None` if it does not travel.
    pub fn of(origin: &Origin) -> Option<Self> {
        let (path, hash, is_module) = match origin {
            Origin::Program { path, code, .. } => (path, (*code)?, false),
            Origin::Module { path, hash } => (path, *hash, true),
            _ => return None,
        };
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        Some(if is_module { Self::Module { hash, name } } else { Self::Program { hash, name } })
    }
}

/// Why a text names no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("code is asl:HASH/NAME, wasm:HASH/NAME or ts:NAME, of {SESSION_CODE_NAME_BYTES_MAX} bytes at most")]
pub struct NoCodeName;

impl FromStr for CodeName {
    type Err = NoCodeName;

    fn from_str(text: &str) -> Result<Self, NoCodeName> {
        if text.len() > SESSION_CODE_NAME_BYTES_MAX {
            return Err(NoCodeName);
        }
        let (kind, rest) = text.split_once(':').ok_or(NoCodeName)?;
        if kind == "ts" {
            return Ok(Self::Script(rest.to_owned()));
        }
        let (digits, name) = rest.split_once('/').ok_or(NoCodeName)?;
        let has_one_name = !digits.bytes().any(|digit| digit.is_ascii_uppercase());
        let CodeHash(hash) = CodeHash::read(digits).filter(|_| has_one_name).ok_or(NoCodeName)?;
        let name = name.to_owned();
        match kind {
            _ if name.is_empty() => Err(NoCodeName),
            "asl" => Ok(Self::Program { hash, name }),
            "wasm" => Ok(Self::Module { hash, name }),
            _ => Err(NoCodeName),
        }
    }
}

impl fmt::Display for CodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, hash, name) = match self {
            Self::Program { hash, name } => ("asl", hash, name),
            Self::Module { hash, name } => ("wasm", hash, name),
            Self::Script(name) => return write!(f, "ts:{name}"),
        };
        write!(f, "{kind}:{}/{name}", CodeHash(*hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_what_they_are_read_from() {
        let hash = "0123456789abcdef".repeat(4);
        for name in [format!("asl:{hash}/bob.asl"), format!("wasm:{hash}/a/b.wasm"), "ts:".into(), "ts:x:y/z".into()] {
            assert_eq!(name.parse::<CodeName>().map(|code| code.to_string()), Ok(name));
        }
        let upper = hash.to_uppercase();
        let long = format!("ts:{}", "x".repeat(SESSION_CODE_NAME_BYTES_MAX));
        for wrong in [
            "",
            "asl",
            "asl:",
            "py:x",
            &format!("asl:{hash}"),
            &format!("asl:{hash}/"),
            &format!("asl:{upper}/x"),
            &long,
        ] {
            assert_eq!(wrong.parse::<CodeName>(), Err(NoCodeName), "{wrong}");
        }
    }

    #[test]
    fn code_that_travels_is_found_by_its_hash() {
        let code: CodeName = format!("asl:{}/bob.asl", "00".repeat(32)).parse().unwrap();
        assert_eq!(CodeName::of(&code.origin().unwrap()), Some(code));
        assert_eq!(CodeName::Script("x".into()).origin(), None);
    }
}
