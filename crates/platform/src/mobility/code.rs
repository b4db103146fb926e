//! How nodes name code that goes with agents.

use std::fmt;

use crate::durable::Origin;

/// What an agent's code is known by everywhere: SHA-256 of the bytes by which it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodeHash(pub [u8; 32]);

impl fmt::Display for CodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Origin {
    /// By what the code travels; `None` if it does not: a Rust type is compiled into a node, or it is not.
    pub fn code(&self) -> Option<CodeHash> {
        match self {
            Self::Program { code, .. } => code.map(CodeHash),
            Self::Module { hash, .. } => Some(CodeHash(*hash)),
            Self::Type(_) => None,
        }
    }

    /// What a policy's rules call the code ([`Action::Code`](crate::policy::Action::Code)): `asl:HASH` or `wasm:HASH`.
    pub fn code_object(&self) -> Option<String> {
        let kind = match self {
            Self::Program { .. } => "asl",
            Self::Module { .. } => "wasm",
            Self::Type(_) => return None,
        };
        self.code().map(|code| format!("{kind}:{code}"))
    }
}
