//! A conversation with all that it takes to verify who said what in it, and in which order: without any node, by whoever
//! has the authority's certificate.

use std::collections::BTreeMap;
use std::fmt;

use ring::signature::{ED25519, UnparsedPublicKey};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, compact};
use whimbrel_platform::plain_text::harmless;

use super::certificates::{AgentTrust, Believed};
use super::evidence::{Chain, Direction, Entry};
use super::{Digest, NOTHING, conversation_of, sha256};
use crate::authority::{Trust, hex};
use crate::security::SecurityError;

/// The version of the form that bundles are written in.
const VERSION: u32 = 1;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    bundle: u32,
    conversation: String,
    entries: Vec<Entry>,
    /// By digest.
    certificates: BTreeMap<String, Chain>,
}

/// One message that is proven to have been said.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Its number in the conversation as it was recorded.
    pub entry: u64,
    /// The node of its sender.
    pub node: String,
    /// The platform of its sender.
    pub platform: String,
    /// When it was signed, by the sender's clock: milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// Its number among its sender's messages of the conversation.
    pub sequence: u64,
    /// Whether it left the node that kept the evidence, or came to it.
    pub direction: Direction,
    /// The number of the message that the sender's node had seen last when it was signed, if that is among these.
    pub after: Option<u64>,
    /// The message.
    pub message: AclMessage,
}

/// What a bundle proves.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// The conversation.
    pub conversation: String,
    /// What was said, in the order in which it was recorded.
    pub said: Vec<Said>,
    /// What is not there, though other messages say that it was said: numbers of senders' messages that went to others
    /// than the node that kept the evidence, or were not kept.
    pub missing: Vec<String>,
    /// What the node that kept the evidence could not keep, as it says itself.
    pub gaps: Vec<String>,
}

/// Why a bundle proves nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It is not one.
    #[error("this is no bundle")]
    Unreadable(#[from] serde_json::Error),
    /// It is of another version.
    #[error("this is a bundle of version {0}; known is {VERSION}")]
    Version(u32),
    /// The authority's certificate is of no use.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// An entry is not what it was.
    #[error("entry {entry}: {why}")]
    Tampered {
        /// Which, as it says.
        entry: u64,
        /// What is wrong with it.
        why: String,
    },
}

impl Bundle {
    pub(super) fn new(conversation: &str, entries: Vec<Entry>, certificates: BTreeMap<String, Chain>) -> Self {
        Self { bundle: VERSION, conversation: conversation.to_owned(), entries, certificates }
    }

    /// Reads what [`Bundle::to_json`] wrote.
    ///
    /// # Errors
    /// It is something else.
    pub fn from_json(text: &str) -> Result<Self, BundleError> {
        let bundle: Self = serde_json::from_str(text)?;
        if bundle.bundle == VERSION { Ok(bundle) } else { Err(BundleError::Version(bundle.bundle)) }
    }

    /// As JSON, for a file.
    pub fn to_json(&self) -> String {
        // Texts and numbers: there is nothing in it that cannot be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Verifies everything, believing these authorities.
    ///
    /// # Errors
    /// Something is not what it was when it was recorded, or was not said by whom it says.
    pub fn verify(&self, trust: &Trust) -> Result<Verified, BundleError> {
        let trust = AgentTrust::new(&trust.authority_pem, &trust.revoked_pem)?;
        let mut reading = Reading { bundle: self, trust, chain: None, at: FxHashMap::default(), last: BTreeMap::new() };
        let mut verified = Verified {
            conversation: self.conversation.clone(),
            said: Vec::new(),
            missing: Vec::new(),
            gaps: Vec::new(),
        };
        for entry in &self.entries {
            let tampered = |why: String| BundleError::Tampered { entry: entry.entry, why };
            reading.read(entry, &mut verified).map_err(tampered)?;
        }
        Ok(verified)
    }
}

/// How far one is with a bundle.
struct Reading<'a> {
    bundle: &'a Bundle,
    trust: AgentTrust,
    /// The number and digest of the entry before.
    chain: Option<(u64, Digest)>,
    /// The entries by the digests of what was signed.
    at: FxHashMap<Digest, u64>,
    /// The number and digest of each sender's last message; by node, agent and process.
    last: BTreeMap<(String, String, u64), (u64, Digest)>,
}

impl Reading<'_> {
    fn read(&mut self, entry: &Entry, verified: &mut Verified) -> Result<(), String> {
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
        verified.said.push(Said {
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

    /// Each entry builds upon the one before. The first may be a later one, if those before it are kept no more.
    fn link(&mut self, entry: &Entry, verified: &mut Verified) -> Result<(), String> {
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

    fn believe(&self, entry: &Entry, digest: &Digest) -> Result<Believed, String> {
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
            let Said { entry, node, message, .. } = said;
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

impl Said {
    /// When it was signed, as RFC 3339.
    pub fn time(&self) -> String {
        let at = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.time_ms) * 1_000_000);
        at.map(crate::audit::rfc3339).unwrap_or_default()
    }
}
