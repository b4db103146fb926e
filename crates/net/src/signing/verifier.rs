//! Verifies what comes from other nodes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::signature::{ED25519, UnparsedPublicKey};
use rustc_hash::FxHashMap;
use rustls::pki_types::CertificateDer;
use whimbrel_acl::{AclMessage, Envelope, MessageBody, Symbol, Text};
use whimbrel_platform::limits::{SIGNED_CERTIFICATES_MAX, SIGNED_CONVERSATIONS_MAX};

use super::certificates::{AgentCertificateError, AgentTrust, Believed};
use super::evidence::{Direction, Evidence, Record};
use super::{Digest, Signature, conversation_of, document_of, now_ms, sha256};
use crate::security::{Credentials, SecurityError};

/// See the module.
pub(crate) struct Verifier {
    platform: String,
    state: Mutex<State>,
    evidence: Option<Arc<Evidence>>,
}

struct State {
    trust: Arc<AgentTrust>,
    /// By digest.
    known: FxHashMap<Digest, Arc<Known>>,
    /// The number that came last with each key in each conversation.
    last: FxHashMap<(Digest, u64, Text), u64>,
}

/// A certificate that is believed.
struct Known {
    believed: Believed,
    agent: CertificateDer<'static>,
    node: CertificateDer<'static>,
}

/// What was verified: the conversation and the digest of the message.
pub(crate) type Place = (Text, Digest);

impl Verifier {
    pub fn new(
        platform: &str,
        credentials: &Credentials,
        evidence: Option<Arc<Evidence>>,
    ) -> Result<Self, SecurityError> {
        let trust = Arc::new(AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem)?);
        let state = State { trust, known: FxHashMap::default(), last: FxHashMap::default() };
        Ok(Self { platform: platform.to_owned(), state: Mutex::new(state), evidence })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Trusts these from now on; certificates that are not good any more are forgotten.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), SecurityError> {
        let trust = Arc::new(AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem)?);
        let now_ms = now_ms();
        let mut state = self.state();
        state.known.retain(|_, known| trust.believe(&known.agent, &known.node, now_ms).is_ok());
        state.trust = trust;
        Ok(())
    }

    /// Takes the certificates that a node showed of its agents.
    pub fn learn(&self, from: &str, node: &[u8], agents: &[Vec<u8>]) -> Result<(), AgentCertificateError> {
        let (trust, now_ms) = (Arc::clone(&self.state().trust), now_ms());
        let node = CertificateDer::from(node.to_vec());
        for agent in agents {
            let agent = CertificateDer::from(agent.clone());
            let believed = trust.believe(&agent, &node, now_ms)?;
            if believed.name.node != from {
                let (says, signed) = (believed.name.node, from.to_owned());
                return Err(AgentCertificateError::OtherNode { says, signed });
            }
            let mut state = self.state();
            if state.known.len() >= SIGNED_CERTIFICATES_MAX {
                state.known.retain(|_, known| known.believed.until_ms > now_ms);
            }
            if state.known.len() < SIGNED_CERTIFICATES_MAX {
                state.known.insert(sha256(&agent), Arc::new(Known { believed, agent, node: node.clone() }));
            }
        }
        Ok(())
    }

    /// An agent is no more: what it would say now is not believed.
    pub fn forget(&self, from: &str, agent: Symbol) {
        let gone = |known: &Known| known.believed.name.agent == agent.as_str() && known.believed.name.node == from;
        self.state().known.retain(|_, known| !gone(known));
    }

    /// Why a message of that node is not what its sender signed. The signature stays in the message, for its receiver.
    pub fn verify(&self, from: &str, envelope: &Envelope) -> Result<Place, &'static str> {
        let mut message: AclMessage = match &envelope.body {
            MessageBody::Shared(shared) => (**shared).clone(),
            body => (**body).clone(),
        };
        let signature = Signature::take_from(&mut message).ok_or("it is not signed")?;
        let claims = signature.claims;
        let known = self.state().known.get(&claims.certificate).cloned().ok_or("its certificate is not known")?;
        let name = &known.believed.name;
        if name.agent != message.sender.name.as_str() || name.node != from || name.platform != self.platform {
            return Err("its certificate is not its sender's");
        }
        if now_ms() > known.believed.until_ms {
            return Err("its certificate is too old");
        }
        let document = document_of(&message).ok_or("it cannot be written")?;
        let signed = claims.signed_bytes(&self.platform, &document);
        let key = UnparsedPublicKey::new(&ED25519, &known.believed.key);
        key.verify(&signed, &signature.signature).map_err(|_| "its signature does not fit what it says")?;
        let (conversation, digest) = (conversation_of(&message), sha256(&signed));
        self.count(&conversation, (claims.certificate, claims.run), claims.sequence)?;
        if let Some(evidence) = &self.evidence {
            evidence.record(Record {
                direction: Direction::Received,
                conversation: conversation.clone(),
                signature,
                document,
                agent: known.agent.clone(),
                node: known.node.clone(),
            });
        }
        Ok((conversation, digest))
    }

    /// A key's numbers in a conversation only rise.
    fn count(&self, conversation: &Text, (certificate, run): (Digest, u64), sequence: u64) -> Result<(), &'static str> {
        let mut state = self.state();
        if state.last.len() >= SIGNED_CONVERSATIONS_MAX {
            state.last.clear();
        }
        let last = state.last.entry((certificate, run, conversation.clone())).or_default();
        if sequence <= *last {
            return Err("it came before");
        }
        *last = sequence;
        Ok(())
    }
}
