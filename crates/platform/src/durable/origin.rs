//! Origins: where the code of an agent is, and the hash by which it travels.

use std::fmt;

use whimbrel_acl::compact::{Decode, Encode};

use crate::ams::AgentKind;
use crate::session::OnLeave;

/// Place of an agent's code.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[non_exhaustive]
pub enum Origin {
    /// Program, which the node's loader finds.
    Program {
        /// File of the program.
        path: String,
        /// Fingerprint of the program's text: a mind continues with the program it has, and no other.
        fingerprint: u64,
        /// SHA-256 of the program with all its includes, as it travels. Any node that has these bytes can make the
        /// agent. `None` if the program does not travel.
        code: Option<[u8; 32]>,
    },
    /// Rust type, registered with the platform under this name.
    Type(String),
    /// WebAssembly module.
    Module {
        /// File of the module.
        path: String,
        /// SHA-256 of the file: any node that has a module of this hash can make the agent.
        hash: [u8; 32],
    },
    /// Agent of a session, kept until its client returns.
    Kept {
        /// Account that owns the agent: only its clients get the agent back.
        account: String,
    },
    /// Agent of a session, which the node runs until its client returns.
    GoneOn {
        /// Account that owns the agent.
        account: String,
        /// Leave policy of the agent, for the time after its client has it again.
        on_leave: OnLeave,
        /// True if the agent's messages were withheld while it was with its client.
        holds: bool,
        /// Place of the agent's code.
        code: Box<Origin>,
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_name_travelling_code() {
        let (hash, digits) = ([0xAB; 32], "ab".repeat(32));
        let program = |code| Origin::Program { path: "bob.asl".to_owned(), fingerprint: 7, code };
        let module = Origin::Module { path: "bob.wasm".to_owned(), hash };
        assert_eq!(program(Some(hash)).code_object(), Some(format!("asl:{digits}")));
        assert_eq!(module.code_object(), Some(format!("wasm:{digits}")));
        assert_eq!(program(None).code_object(), None);
        assert_eq!(Origin::Type("Bob".to_owned()).code_object(), None);
        assert_eq!(Origin::Kept { account: "ann".to_owned() }.code_object(), None);
    }

    #[test]
    fn hash_reads_as_written() {
        let hash = CodeHash(std::array::from_fn(|place| place as u8 * 7));
        assert_eq!(CodeHash::read(&hash.to_string()), Some(hash));
        let digits = "0".repeat(63);
        for wrong in [String::new(), digits.clone(), format!("{digits}g"), format!("{digits}00")] {
            assert_eq!(CodeHash::read(&wrong), None, "{wrong}");
        }
    }
}
