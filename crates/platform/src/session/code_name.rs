//! Code names: how a session's agent names its code.

use std::fmt;
use std::str::FromStr;

use crate::durable::CodeHash;
use crate::durable::Origin;
use crate::limits::SESSION_CODE_NAME_BYTES_MAX;

/// Name of an agent's code, which travels with its state: `asl:HASH/NAME`, `wasm:HASH/NAME`, `ts:NAME` or `py:NAME`.
/// HASH is the SHA-256 of its bytes in hexadecimal digits; NAME is its file's name, for people. The client alone knows
/// code of the forms `ts:NAME` and `py:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeName {
    /// AgentSpeak program, as it travels between nodes.
    Program {
        /// SHA-256 of the program.
        hash: [u8; 32],
        /// Name of the file.
        name: String,
    },
    /// WebAssembly module.
    Module {
        /// SHA-256 of the module.
        hash: [u8; 32],
        /// Name of the file.
        name: String,
    },
    /// Client's own code: no node can run it.
    Script {
        /// Language in which the client is written.
        language: ScriptLanguage,
        /// Name by which clients know the code.
        name: String,
    },
}

/// Languages of clients that name code of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptLanguage {
    /// `ts:`, also for JavaScript.
    TypeScript,
    /// `py:`
    Python,
}

impl ScriptLanguage {
    const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    /// Returns the prefix of its code names, without the colon.
    fn prefix(self) -> &'static str {
        match self {
            Self::TypeScript => "ts",
            Self::Python => "py",
        }
    }
}

impl CodeName {
    /// Returns the place where a node finds the code; `None` if no node can run it.
    pub fn origin(&self) -> Option<Origin> {
        match self.clone() {
            // The hash identifies the code, so no fingerprint is needed.
            Self::Program { hash, name } => Some(Origin::Program { path: name, fingerprint: 0, code: Some(hash) }),
            Self::Module { hash, name } => Some(Origin::Module { path: name, hash }),
            Self::Script { .. } => None,
        }
    }

    /// Returns the name of the code at a place; `None` if the code does not travel.
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

/// Error of a text that names no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("code is asl:HASH/NAME, wasm:HASH/NAME, ts:NAME or py:NAME, of at most {SESSION_CODE_NAME_BYTES_MAX} bytes")]
pub struct NoCodeName;

impl FromStr for CodeName {
    type Err = NoCodeName;

    fn from_str(text: &str) -> Result<Self, NoCodeName> {
        if text.len() > SESSION_CODE_NAME_BYTES_MAX {
            return Err(NoCodeName);
        }
        let (kind, rest) = text.split_once(':').ok_or(NoCodeName)?;
        if let Some(language) = ScriptLanguage::ALL.into_iter().find(|language| language.prefix() == kind) {
            return Ok(Self::Script { language, name: rest.to_owned() });
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
            Self::Script { language, name } => return write!(f, "{}:{name}", language.prefix()),
        };
        write!(f, "{kind}:{}/{name}", CodeHash(*hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_name_round_trips() {
        let hash = "0123456789abcdef".repeat(4);
        let (program, module) = (format!("asl:{hash}/bob.asl"), format!("wasm:{hash}/a/b.wasm"));
        for name in [program.as_str(), &module, "ts:", "ts:x:y/z", "py:Counter"] {
            assert_eq!(name.parse::<CodeName>().map(|code| code.to_string()).as_deref(), Ok(name));
        }
        let upper = hash.to_uppercase();
        let long = format!("ts:{}", "x".repeat(SESSION_CODE_NAME_BYTES_MAX));
        for wrong in [
            "",
            "asl",
            "asl:",
            "js:x",
            &format!("asl:{hash}"),
            &format!("asl:{hash}/"),
            &format!("asl:{upper}/x"),
            &long,
        ] {
            assert_eq!(wrong.parse::<CodeName>(), Err(NoCodeName), "{wrong}");
        }
    }

    #[test]
    fn travelling_code_is_found_by_hash() {
        for kind in ["asl", "wasm"] {
            let code: CodeName = format!("{kind}:{}/bob", "00".repeat(32)).parse().unwrap();
            assert_eq!(CodeName::of(&code.origin().unwrap()), Some(code));
        }
        let module = Origin::Module { path: "guests/bob.wasm".to_owned(), hash: [0; 32] };
        let name = format!("wasm:{}/bob.wasm", "00".repeat(32));
        assert_eq!(CodeName::of(&module).map(|code| code.to_string()), Some(name));
        assert_eq!(CodeName::of(&Origin::Type("Bob".to_owned())), None);
        assert_eq!("py:x".parse::<CodeName>().unwrap().origin(), None);
    }
}
