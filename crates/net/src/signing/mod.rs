//! Signatures of messages: at the level `signed`, every message that leaves a node is signed by its sender.
//!
//! A signature covers the platform, the whole message (sender, receivers, conversation, content and all else, in the
//! compact codec's canonical form), and its number among the sender's messages of the conversation. It also covers the
//! digests of the sender's message before it and of the message that the sender's node had seen last. It is the
//! parameter [`PARAMETER`] of the message. `docs/design/security.md` draws the bytes.

mod bundle;
mod certificates;
mod evidence;
mod queue;
mod recent;
mod signer;
#[cfg(test)]
mod talk;
mod verifier;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest::{SHA256, digest};
use whimbrel_acl::{AclMessage, Envelope, Symbol, Text, Value, compact};

use crate::security::{Credentials, SecurityError};

pub use bundle::{EvidenceBundle, EvidenceBundleError, ProvenMessage, Verified};
pub use certificates::{AgentAuthority, AgentCertificateError, AgentKey};
pub use evidence::{Direction, Evidence, EvidenceError, prove};
use signer::MessageSigner;
use verifier::{VerifiedMessage, Verifier};

/// User-defined parameter (FIPA00061 2.13) that holds a signature.
pub const PARAMETER: &str = "X-whimbrel-signature";
/// Prefix of signed bytes, so that none of them mean anything elsewhere.
const DOMAIN: &[u8] = b"whimbrel-signed-message-1\0";
const SIGNATURE_BYTES: usize = 64;
/// Length of a signature with its claims: certificate, run, sequence, time, previous, seen, signature.
const ALL_BYTES: usize = 32 + 8 + 8 + 8 + 32 + 32 + SIGNATURE_BYTES;

/// Signer and verifier of a node.
pub(crate) struct Signing {
    pub signer: MessageSigner,
    pub verifier: Verifier,
    turns: Mutex<()>,
}

impl Signing {
    pub fn new(
        platform: &str,
        node: &str,
        run: u64,
        credentials: &Credentials,
        evidence: Option<Arc<Evidence>>,
    ) -> Result<Self, AgentCertificateError> {
        let signer = MessageSigner::new((platform, node), run, credentials, evidence.clone())?;
        Ok(Self { signer, verifier: Verifier::new(platform, credentials, evidence)?, turns: Mutex::new(()) })
    }

    /// Lock to hold from signing until the signed messages are handed over, if other threads may sign for the same
    /// agent.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a message of that node is as its sender signed it. The copies of a message to many follow each
    /// other, and only the first is verified: `verified` remembers it.
    pub fn check(
        &self,
        node: &str,
        envelope: &Envelope,
        verified: &mut Option<(Arc<AclMessage>, Digest)>,
    ) -> Result<(), &'static str> {
        if let (Some(shared), Some((before, digest))) = (envelope.body.shared(), &verified)
            && Arc::ptr_eq(shared, before)
        {
            self.verifier.also_for(node, digest, envelope.to);
            return Ok(());
        }
        let VerifiedMessage { conversation, digest, is_first } = self.verifier.verify(node, envelope)?;
        if let Some(shared) = envelope.body.shared() {
            *verified = Some((Arc::clone(shared), digest));
        }
        if is_first {
            self.signer.saw(&conversation, digest);
        }
        Ok(())
    }

    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), SecurityError> {
        self.verifier.set_credentials(credentials)?;
        self.signer.set_credentials(credentials).map_err(|error| SecurityError::Unfit(error.to_string()))
    }
}

/// SHA-256 digest.
pub(crate) type Digest = [u8; 32];

/// Digest for a missing predecessor.
const NOTHING: Digest = [0; 32];

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    let mut out = NOTHING;
    out.copy_from_slice(digest(&SHA256, bytes).as_ref());
    out
}

/// Claims of a sender about a message, which its signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignatureClaims {
    /// Digest of the certificate for the signature.
    pub certificate: Digest,
    /// Random number of the process: message numbers begin anew with each.
    pub run: u64,
    /// Number of the message among the sender's in this conversation, from 1.
    pub sequence: u64,
    /// Time of the signature, in milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// Digest of the sender's message before it in this conversation; zero if there is none.
    pub previous: Digest,
    /// Digest of the last message of this conversation that the sender's node had seen; zero if there is none.
    pub seen: Digest,
}

/// Signature with its claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub claims: SignatureClaims,
    pub signature: [u8; SIGNATURE_BYTES],
}

impl Signature {
    pub fn to_bytes(self) -> Vec<u8> {
        let Self { claims, signature } = self;
        let mut out = Vec::with_capacity(ALL_BYTES);
        claims.write(&mut out);
        out.extend_from_slice(&signature);
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (certificate, rest) = bytes.split_first_chunk::<32>()?;
        let (run, rest) = rest.split_first_chunk::<8>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (time_ms, rest) = rest.split_first_chunk::<8>()?;
        let (previous, rest) = rest.split_first_chunk::<32>()?;
        let (seen, rest) = rest.split_first_chunk::<32>()?;
        let signature = rest.try_into().ok()?;
        let claims = SignatureClaims {
            certificate: *certificate,
            run: u64::from_le_bytes(*run),
            sequence: u64::from_le_bytes(*sequence),
            time_ms: u64::from_le_bytes(*time_ms),
            previous: *previous,
            seen: *seen,
        };
        Some(Self { claims, signature })
    }

    /// Takes the signature out of a message; `None` if it has none, or a malformed one.
    pub fn take_from(message: &mut AclMessage) -> Option<Self> {
        let extras = message.extras.as_mut()?;
        let at = extras.user.iter().position(|(name, _)| name.as_str() == PARAMETER)?;
        let (_, value) = extras.user.remove(at);
        if **extras == whimbrel_acl::Extras::default() {
            message.extras = None;
        }
        match value {
            Value::Bytes(bytes) => Self::from_bytes(&bytes),
            _ => None,
        }
    }

    /// Puts the signature into a message.
    pub fn put_into(self, message: &mut AclMessage) {
        let value = Value::from(self.to_bytes());
        message.extras_mut().user.push((Symbol::new(PARAMETER), value));
    }
}

impl SignatureClaims {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.certificate);
        out.extend_from_slice(&self.run.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        out.extend_from_slice(&self.previous);
        out.extend_from_slice(&self.seen);
    }

    /// Bytes that are signed. `document` is the message without its signature, in the compact codec.
    pub fn signed_bytes(&self, platform: &str, document: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(DOMAIN.len() + platform.len() + document.len() + ALL_BYTES);
        out.extend_from_slice(DOMAIN);
        out.extend_from_slice(&(platform.len() as u64).to_le_bytes());
        out.extend_from_slice(platform.as_bytes());
        self.write(&mut out);
        out.extend_from_slice(document);
        out
    }
}

/// Encodes a message in the compact codec.
pub(crate) fn document_of(message: &AclMessage) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    compact::encode_message(message, &mut out).ok()?;
    Some(out)
}

/// Conversation of a message: its `:conversation-id`, or else the talk of its sender and its first receiver, `amy~bob`,
/// whichever of them sends.
pub(crate) fn conversation_of(message: &AclMessage) -> Text {
    if let Some(id) = &message.extras().conversation_id {
        return id.clone();
    }
    let (one, other) = (message.sender.name.as_str(), message.receivers.first().map_or("", |to| to.name.as_str()));
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    Text::from(format!("{first}~{second}"))
}

pub(crate) fn now_ms() -> u64 {
    (time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000) as u64
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Aid, Performative};

    use super::*;

    #[test]
    fn message_carries_its_signature() {
        let claims =
            SignatureClaims { certificate: [1; 32], run: 9, sequence: 2, time_ms: 3, previous: [4; 32], seen: [5; 32] };
        let signature = Signature { claims, signature: [6; 64] };
        let plain = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), "hello");
        let mut message = plain.clone();
        signature.put_into(&mut message);
        assert_ne!(message, plain);
        assert_eq!(Signature::take_from(&mut message), Some(signature));
        assert_eq!(message, plain);
        assert_eq!(Signature::take_from(&mut message), None);
        for cut in 0..ALL_BYTES {
            assert_eq!(Signature::from_bytes(&signature.to_bytes()[..cut]), None);
        }
        assert_eq!(Signature::from_bytes(&[0; ALL_BYTES + 1]), None);
    }

    #[test]
    fn unnamed_conversation_has_both_names() {
        let message =
            |from: &str, to: &str| AclMessage::new(Performative::Inform, Aid::local(from), Aid::local(to), "hello");
        assert_eq!(conversation_of(&message("bob", "amy")), "amy~bob");
        assert_eq!(conversation_of(&message("amy", "bob")), "amy~bob");
        assert_eq!(conversation_of(&message("amy", "bob").in_conversation("c1")), "c1");
    }
}
