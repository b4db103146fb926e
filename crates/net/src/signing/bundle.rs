//! Bundle: a conversation with everything that proves its senders and its order. Anybody who has the authority's
//! certificate can verify it without a node.

use std::collections::BTreeMap;
use std::fmt;

use ring::signature::{ED25519, UnparsedPublicKey};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, compact};
use whimbrel_platform::plain_text::harmless;

use super::certificates::{AgentTrust, Believed};
use super::evidence::{Chain, Direction, EvidenceEntry};
use super::{Digest, NOTHING, conversation_of, sha256};
use crate::authority::{Trust, hex};
use crate::security::SecurityError;

/// Version of the bundle's format.
const VERSION: u32 = 1;

/// Conversation with its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBundle {
    bundle: u32,
    conversation: String,
    entries: Vec<EvidenceEntry>,
    /// Certificates, by digest.
    certificates: BTreeMap<String, Chain>,
}

/// Message of a verified conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvenMessage {
    /// Number of the entry in the recorded conversation.
    pub entry: u64,
    /// Node of the sender.
    pub node: String,
    /// Platform of the sender.
    pub platform: String,
    /// Time of the signature, by the sender's clock, in milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// Number among the sender's messages of the conversation.
    pub sequence: u64,
    /// Direction at the node that kept the evidence.
    pub direction: Direction,
    /// Entry that the sender's node had seen last when the message was signed, if it is in the bundle.
    pub after: Option<u64>,
    /// The message.
    pub message: AclMessage,
}

/// Content of a verified bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Name of the conversation.
    pub conversation: String,
    /// Messages, in the order in which they were recorded.
    pub said: Vec<ProvenMessage>,
    /// Numbers of missing messages, whose existence other messages prove. They went to others than the node that kept
    /// the evidence, or were not kept.
    pub missing: Vec<String>,
    /// Gaps that the node itself recorded: messages that it could not keep.
    pub gaps: Vec<String>,
}

/// Error of verifying a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceBundleError {
    /// The text is no bundle.
    #[error("not a bundle of evidence")]
    Unreadable(#[from] serde_json::Error),
    /// The bundle is of another version.
    #[error("bundle version {0}: this program reads {VERSION}")]
    Version(u32),
    /// The authority's certificate cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// An entry was changed.
    #[error("entry {entry}: {why}")]
    Tampered {
        /// Number that the entry claims.
        entry: u64,
        /// Fault of the entry.
        why: String,
    },
}

impl EvidenceBundle {
    pub(super) fn new(conversation: &str, entries: Vec<EvidenceEntry>, certificates: BTreeMap<String, Chain>) -> Self {
        Self { bundle: VERSION, conversation: conversation.to_owned(), entries, certificates }
    }

    /// Reads a bundle that [`EvidenceBundle::to_json`] wrote.
    ///
    /// # Errors
    /// The text is no bundle.
    pub fn from_json(text: &str) -> Result<Self, EvidenceBundleError> {
        let bundle: Self = serde_json::from_str(text)?;
        if bundle.bundle == VERSION { Ok(bundle) } else { Err(EvidenceBundleError::Version(bundle.bundle)) }
    }

    /// Encodes the bundle as JSON, for a file.
    pub fn to_json(&self) -> String {
        // Texts and numbers can always be encoded.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the bundle has no messages.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Verifies everything, trusting these authorities.
    ///
    /// # Errors
    /// An entry was changed since it was recorded, or its sender did not send it.
    pub fn verify(&self, trust: &Trust) -> Result<Verified, EvidenceBundleError> {
        let trust = AgentTrust::new(&trust.authority_pem, &trust.revoked_pem)?;
        let mut reading =
            BundleVerification { bundle: self, trust, chain: None, at: FxHashMap::default(), last: BTreeMap::new() };
        let mut verified = Verified {
            conversation: self.conversation.clone(),
            said: Vec::new(),
            missing: Vec::new(),
            gaps: Vec::new(),
        };
        for entry in &self.entries {
            let tampered = |why: String| EvidenceBundleError::Tampered { entry: entry.entry, why };
            reading.read(entry, &mut verified).map_err(tampered)?;
        }
        Ok(verified)
    }
}

/// State of a verification.
struct BundleVerification<'a> {
    bundle: &'a EvidenceBundle,
    trust: AgentTrust,
    /// Number and digest of the entry before.
    chain: Option<(u64, Digest)>,
    /// Entries, by the digests of their signed bytes.
    at: FxHashMap<Digest, u64>,
    /// Number and digest of each sender's last message, by node, agent and process.
    last: BTreeMap<(String, String, u64), (u64, Digest)>,
}

impl BundleVerification<'_> {
    fn read(&mut self, entry: &EvidenceEntry, verified: &mut Verified) -> Result<(), String> {
        self.link(entry, verified)?;
        let (Some(signature), Some(document)) = (entry.signature(), entry.document()) else {
            return Err("it cannot be read".to_owned());
        };
        let claims = signature.claims;
        let believed = self.believe(entry, &claims.certificate)?;
        let signed = claims.signed_bytes(&believed.name.platform, &document);
        let key = UnparsedPublicKey::new(&ED25519, &believed.key);
        key.verify(&signed, &signature.signature)
            .map_err(|_| format!("its signature is not that of {}", believed.name.agent))?;
        let message =
            compact::decode_message(&document).map_err(|error| format!("its message cannot be read: {error}"))?;
        if message.sender.name.as_str() != believed.name.agent {
            return Err(format!("it is signed by {}, and says it is of {}", believed.name.agent, message.sender));
        }
        if conversation_of(&message) != self.bundle.conversation.as_str() {
            return Err(format!("its message is of the conversation {}", conversation_of(&message)));
        }
        let digest = sha256(&signed);
        let who = (believed.name.node.clone(), believed.name.agent.clone(), claims.run);
        let (number, before) = self.last.get(&who).copied().unwrap_or((0, NOTHING));
        if claims.sequence <= number {
            return Err(format!("{} said its message {} before its message {number}", who.1, claims.sequence));
        }
        if Some(claims.sequence) == number.checked_add(1) && claims.previous != before {
            return Err(format!("what {} said before it is not its message {number}", who.1));
        }
        if claims.sequence > number + 1 {
            let (first, last) = (number + 1, claims.sequence - 1);
            let which = if first == last { format!("message {first}") } else { format!("messages {first} to {last}") };
            verified.missing.push(format!("{which} of {}", who.1));
        }
        self.last.insert(who, (claims.sequence, digest));
        self.at.insert(digest, entry.entry);
        verified.said.push(ProvenMessage {
            entry: entry.entry,
            node: believed.name.node,
            platform: believed.name.platform,
            time_ms: claims.time_ms,
            sequence: claims.sequence,
            direction: entry.direction,
            after: self.at.get(&claims.seen).copied(),
            message,
        });
        Ok(())
    }

    /// Checks that an entry builds upon the one before. The first entry may have a later number, if those before it are
    /// no longer kept.
    fn link(&mut self, entry: &EvidenceEntry, verified: &mut Verified) -> Result<(), String> {
        if entry.conversation != self.bundle.conversation {
            return Err(format!("it is of the conversation {}", entry.conversation));
        }
        let is_first = entry.entry == 1 && entry.chain == hex(&NOTHING);
        let follows = match self.chain {
            Some((number, digest)) => number.checked_add(1) == Some(entry.entry) && entry.chain == hex(&digest),
            None => entry.entry > 1 || is_first,
        };
        let begins_anew = entry.anew && is_first;
        if !follows && !begins_anew {
            return Err("it does not follow upon the entry before it".to_owned());
        }
        if !follows {
            let gap = format!("at entry {} the record begins anew: there may be others before it", entry.entry);
            verified.gaps.push(gap);
        }
        if entry.lost > 0 {
            let messages = if entry.lost == 1 { "message" } else { "messages" };
            verified.gaps.push(format!("before entry {}: {} {messages} could not be kept", entry.entry, entry.lost));
        }
        self.chain = Some((entry.entry, entry.digest()));
        Ok(())
    }

    fn believe(&self, entry: &EvidenceEntry, digest: &Digest) -> Result<Believed, String> {
        let chain = self.bundle.certificates.get(&entry.certificate);
        let chain = chain.and_then(Chain::certificates).ok_or("its certificate is not in the bundle")?;
        let [agent, node] = chain;
        if sha256(&agent) != *digest {
            return Err("its certificate is another one".to_owned());
        }
        let believed = self.trust.believe(&agent, &node, entry.time_ms);
        believed.map_err(|error| format!("its certificate is not to be believed: {error}"))
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for said in &self.said {
            let ProvenMessage { entry, node, message, .. } = said;
            let to: Vec<String> = message.receivers.iter().map(|to| to.name.to_string()).collect();
            let AclMessage { sender, performative, content, .. } = message;
            let said_so = format!("{} of {node} to {}: {performative} {content}", sender.name, to.join(", "));
            write!(f, "{entry:>4}  {}  {}", said.time(), harmless(&said_so))?;
            match said.after {
                Some(after) => writeln!(f, "  (after {after})")?,
                None => writeln!(f)?,
            }
        }
        for missing in &self.missing {
            writeln!(f, "      not here: {}, which went to others or could not be kept", harmless(missing))?;
        }
        for gap in &self.gaps {
            writeln!(f, "      {gap}")?;
        }
        Ok(())
    }
}

impl ProvenMessage {
    /// Returns the time of the signature, in the format of RFC 3339.
    pub fn time(&self) -> String {
        let at = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.time_ms) * 1_000_000);
        at.map(crate::audit::rfc3339).unwrap_or_default()
    }
}
