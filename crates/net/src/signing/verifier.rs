//! Verifier of messages from other nodes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::signature::{ED25519, UnparsedPublicKey};
use rustc_hash::{FxHashMap, FxHashSet};
use rustls::pki_types::CertificateDer;
use whimbrel_acl::{AclMessage, Aid, Envelope, Symbol, Text};
use whimbrel_platform::limits::{
    CERTIFICATE_BYTES_MAX, SIGNED_CERTIFICATES_BYTES_MAX, SIGNED_CERTIFICATES_PER_AGENT_MAX, SIGNED_CONVERSATIONS_MAX,
    SIGNED_LAST_WORDS_MS, SIGNED_RECEIVERS_MAX, SIGNED_SHARED_MAX,
};

use super::certificates::{AgentCertificateError, AgentTrust, Believed};
use super::evidence::{Direction, Evidence, EvidenceRecord};
use super::recent::RecentMap;
use super::{Digest, Signature, SignatureClaims, conversation_of, document_of, now_ms, sha256};
use crate::security::{Credentials, SecurityError};

/// Approximate memory of a certificate's content, beside its own bytes.
const KNOWN_BYTES: usize = 256;

/// Verifier of a node.
pub(crate) struct Verifier {
    platform: String,
    state: Mutex<VerifierState>,
    evidence: Option<Arc<Evidence>>,
}

struct VerifierState {
    trust: Arc<AgentTrust>,
    /// Other nodes, by name. The memory for one node is not at the expense of others.
    nodes: FxHashMap<String, SigningNode>,
}

/// Known state of another node.
struct SigningNode {
    /// Certificates of its agents, by their names; the newest last.
    known: FxHashMap<String, VecDeque<Arc<KnownCertificate>>>,
    /// Approximate bytes of these certificates, and their maximum.
    bytes: usize,
    bytes_max: usize,
    /// Certificate that certifies its agents, as it was shown last.
    certificate: Arc<CertificateDer<'static>>,
    /// Last number of each key in each conversation, by [`place_of`].
    last: RecentMap<Digest, u64>,
    /// Messages to several receivers, the newest last: further receivers may follow.
    spread: VecDeque<Spread>,
    /// Ended agents, each with the time until which its certificates are trusted.
    ending: VecDeque<(u64, String, Vec<Digest>)>,
    /// Certificates of the ended agents. A node that repeats an end adds nothing.
    ends: FxHashSet<Digest>,
}

/// Message to several receivers, and those that it came for.
struct Spread {
    digest: Digest,
    to: FxHashSet<Aid>,
}

/// Trusted certificate of an agent.
struct KnownCertificate {
    digest: Digest,
    believed: Believed,
    agent: CertificateDer<'static>,
    node: Arc<CertificateDer<'static>>,
}

/// Verified message: its conversation, its digest, and whether it came for the first time.
pub(crate) struct VerifiedMessage {
    pub conversation: Text,
    pub digest: Digest,
    pub is_first: bool,
}

/// Returns the digest under which the numbers of a key in a conversation are counted. Its length does not depend on
/// names.
fn place_of(claims: &SignatureClaims, conversation: &Text) -> Digest {
    sha256(&[&claims.certificate, &claims.run.to_le_bytes()[..], conversation.as_bytes()].concat())
}

impl KnownCertificate {
    fn bytes(&self) -> usize {
        KNOWN_BYTES + self.agent.len() + self.believed.name.agent.len()
    }
}

impl SigningNode {
    fn new(bytes_max: usize) -> Self {
        Self {
            known: FxHashMap::default(),
            bytes: 0,
            bytes_max,
            certificate: Arc::new(CertificateDer::from(Vec::new())),
            last: RecentMap::new(SIGNED_CONVERSATIONS_MAX),
            spread: VecDeque::new(),
            ending: VecDeque::new(),
            ends: FxHashSet::default(),
        }
    }

    /// Notes that an agent ended. Its last messages may still come.
    fn end(&mut self, agent: &str, now_ms: u64) {
        self.forget_ended(now_ms);
        let Some(known) = self.known.get(agent) else { return };
        let certificates = known.iter().map(|known| known.digest);
        let certificates: Vec<Digest> = certificates.filter(|certificate| self.ends.insert(*certificate)).collect();
        if !certificates.is_empty() {
            self.ending.push_back((now_ms + SIGNED_LAST_WORDS_MS, agent.to_owned(), certificates));
        }
    }

    /// Forgets agents that ended long enough ago, but no later agents of the same name.
    fn forget_ended(&mut self, now_ms: u64) {
        while let Some((_, agent, certificates)) = self.ending.pop_front_if(|(until_ms, ..)| *until_ms <= now_ms) {
            certificates.iter().for_each(|certificate| _ = self.ends.remove(certificate));
            let Some(known) = self.known.get_mut(&agent) else { continue };
            known.retain(|known| {
                let stays = !certificates.contains(&known.digest);
                self.bytes -= if stays { 0 } else { known.bytes() };
                stays
            });
            if known.is_empty() {
                self.known.remove(&agent);
            }
        }
    }

    /// Forgets the certificates for which a condition does not hold.
    fn retain(&mut self, mut so: impl FnMut(&KnownCertificate) -> bool) {
        for known in self.known.values_mut() {
            known.retain(|known| so(known));
        }
        self.known.retain(|_, known| !known.is_empty());
        self.bytes = self.known.values().flatten().map(|known| known.bytes()).sum();
    }

    /// Takes a certificate. False if there is no room for it.
    fn learn(&mut self, known: KnownCertificate, now_ms: u64) -> bool {
        self.forget_ended(now_ms);
        if self.bytes + known.bytes() > self.bytes_max {
            self.retain(|known| known.believed.until_ms > now_ms);
            if self.bytes + known.bytes() > self.bytes_max {
                return false;
            }
        }
        let of_agent = self.known.entry(known.believed.name.agent.clone()).or_default();
        of_agent.retain(|other| {
            other.digest != known.digest || {
                self.bytes -= other.bytes();
                false
            }
        });
        if of_agent.len() >= SIGNED_CERTIFICATES_PER_AGENT_MAX
            && let Some(oldest) = of_agent.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
        self.bytes += known.bytes();
        of_agent.push_back(Arc::new(known));
        true
    }

    /// Checks the number of a message: a key's numbers in a conversation only rise. A message to several receivers may
    /// come more than once, for others each time. Returns true if it came for the first time.
    fn count(
        &mut self,
        message: &AclMessage,
        to: Aid,
        place: Digest,
        (sequence, digest): (u64, Digest),
    ) -> Result<bool, &'static str> {
        if sequence > self.last.get(&place).copied().unwrap_or_default() {
            self.last.insert(place, sequence);
            if message.receivers.len() > 1 {
                self.spread.push_back(Spread { digest, to: [to].into_iter().collect() });
                self.forget_spread();
            }
            return Ok(true);
        }
        let spread = self.spread.iter_mut().rev().find(|spread| spread.digest == digest);
        if spread.is_some_and(|spread| spread.to.insert(to)) { Ok(false) } else { Err("it came before") }
    }

    fn forget_spread(&mut self) {
        let receivers = |spread: &VecDeque<Spread>| spread.iter().map(|spread| spread.to.len()).sum::<usize>();
        while self.spread.len() > SIGNED_SHARED_MAX
            || self.spread.len() > 1 && receivers(&self.spread) > SIGNED_RECEIVERS_MAX
        {
            self.spread.pop_front();
        }
    }
}

impl Verifier {
    pub fn new(
        platform: &str,
        credentials: &Credentials,
        evidence: Option<Arc<Evidence>>,
    ) -> Result<Self, SecurityError> {
        let trust = Arc::new(AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem)?);
        let state = VerifierState { trust, nodes: FxHashMap::default() };
        Ok(Self { platform: platform.to_owned(), state: Mutex::new(state), evidence })
    }

    fn state(&self) -> MutexGuard<'_, VerifierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the trusted authorities. Certificates that are no longer valid are forgotten.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), SecurityError> {
        let trust = Arc::new(AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem)?);
        let now_ms = now_ms();
        let mut state = self.state();
        for node in state.nodes.values_mut() {
            node.retain(|known| trust.believe(&known.agent, &known.node, now_ms).is_ok());
        }
        state.trust = trust;
        Ok(())
    }

    /// Takes the certificates of a node's agents.
    pub fn learn(&self, from: &str, node: &[u8], agents: &[Vec<u8>]) -> Result<(), AgentCertificateError> {
        self.learn_bounded(from, node, agents, SIGNED_CERTIFICATES_BYTES_MAX)
    }

    /// Takes the certificates of a node's agents, at most this many bytes of them.
    pub(super) fn learn_bounded(
        &self,
        from: &str,
        node: &[u8],
        agents: &[Vec<u8>],
        bytes_max: usize,
    ) -> Result<(), AgentCertificateError> {
        let longest = agents.iter().map(Vec::len).chain([node.len()]).max().unwrap_or_default();
        if longest > CERTIFICATE_BYTES_MAX {
            return Err(AgentCertificateError::TooLong(longest));
        }
        let (trust, now_ms) = (Arc::clone(&self.state().trust), now_ms());
        let issuer = CertificateDer::from(node.to_vec());
        for agent in agents {
            let agent = CertificateDer::from(agent.clone());
            let believed = trust.believe(&agent, &issuer, now_ms)?;
            if believed.name.node != from {
                let (says, signed) = (believed.name.node, from.to_owned());
                return Err(AgentCertificateError::OtherNode { says, signed });
            }
            let mut state = self.state();
            let node = state.nodes.entry(from.to_owned()).or_insert_with(|| SigningNode::new(bytes_max));
            if *node.certificate != issuer {
                node.certificate = Arc::new(issuer.clone());
            }
            let (digest, issuer) = (sha256(&agent), Arc::clone(&node.certificate));
            if !node.learn(KnownCertificate { digest, believed, agent, node: issuer }, now_ms) {
                return Err(AgentCertificateError::TooMany(from.to_owned()));
            }
        }
        Ok(())
    }

    /// Notes that an agent ended. Its last messages are accepted as long as they may be on their way.
    pub fn end(&self, from: &str, agent: &str) {
        if let Some(node) = self.state().nodes.get_mut(from) {
            node.end(agent, now_ms());
        }
    }

    /// Returns the number of remembered ends of a node's agents.
    #[cfg(test)]
    pub(super) fn ends_of(&self, from: &str) -> usize {
        self.state().nodes.get(from).map_or(0, |node| node.ending.len())
    }

    /// Forgets a node that is gone, or was replaced by another.
    pub fn forget_node(&self, from: &str) {
        self.state().nodes.remove(from);
    }

    /// Notes that an agent has moved to another node: messages of its former node in its name are refused.
    pub fn forget(&self, from: &str, agent: Symbol) {
        if let Some(node) = self.state().nodes.get_mut(from)
            && let Some(gone) = node.known.remove(agent.as_str())
        {
            node.bytes -= gone.iter().map(|known| known.bytes()).sum::<usize>();
        }
    }

    fn known(&self, from: &str, agent: &str, digest: &Digest) -> Option<Arc<KnownCertificate>> {
        let mut state = self.state();
        let node = state.nodes.get_mut(from)?;
        node.forget_ended(now_ms());
        let of_agent = node.known.get(agent)?;
        of_agent.iter().find(|known| known.digest == *digest).cloned()
    }

    /// Checks that a message of a node is as its sender signed it. The signature stays in the message, for its
    /// receiver.
    pub fn verify(&self, from: &str, envelope: &Envelope) -> Result<VerifiedMessage, &'static str> {
        let mut message: AclMessage = (*envelope.body).clone();
        let signature = Signature::take_from(&mut message).ok_or("it is not signed")?;
        let claims = signature.claims;
        let known = self.known(from, message.sender.name.as_str(), &claims.certificate);
        let known = known.ok_or("no certificate of its sender is known")?;
        if known.believed.name.platform != self.platform {
            return Err("its certificate is of another platform");
        }
        if now_ms() > known.believed.until_ms {
            return Err("its certificate has expired");
        }
        let document = document_of(&message).ok_or("it cannot be written")?;
        let signed = claims.signed_bytes(&self.platform, &document);
        let key = UnparsedPublicKey::new(&ED25519, &known.believed.key);
        key.verify(&signed, &signature.signature).map_err(|_| "its signature does not match the message")?;
        let (conversation, digest) = (conversation_of(&message), sha256(&signed));
        let numbered = (claims.sequence, digest);
        let is_first = match self.state().nodes.get_mut(from) {
            Some(node) => node.count(&message, envelope.to, place_of(&claims, &conversation), numbered)?,
            None => true,
        };
        if let (Some(evidence), true) = (&self.evidence, is_first) {
            evidence.record(EvidenceRecord {
                direction: Direction::Received,
                conversation: conversation.clone(),
                signature,
                document,
                agent: known.agent.clone(),
                node: (*known.node).clone(),
            });
        }
        Ok(VerifiedMessage { conversation, digest, is_first })
    }

    /// Notes that another copy of a message that was just verified is for another receiver.
    pub fn also_for(&self, from: &str, digest: &Digest, to: Aid) {
        let mut state = self.state();
        let Some(node) = state.nodes.get_mut(from) else { return };
        if let Some(spread) = node.spread.iter_mut().rev().find(|spread| spread.digest == *digest) {
            spread.to.insert(to);
        }
        node.forget_spread();
    }
}
