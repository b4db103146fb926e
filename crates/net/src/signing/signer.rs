//! Signer: signs messages that leave a node, for its agents.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::signature::{ED25519, UnparsedPublicKey};
use rustc_hash::FxHashMap;
use rustls::pki_types::CertificateDer;
use whimbrel_acl::{AclMessage, Envelope, MessageBody, Symbol, Text};
use whimbrel_platform::limits::{
    LINK_LAST_WORDS_MS, SIGNED_CONVERSATIONS_MAX, SIGNED_SHARED_BYTES_MAX, SIGNED_SHARED_MAX,
};
use whimbrel_platform::link::News;

use super::certificates::{AgentAuthority, AgentCertificateError, AgentIdentity, public_key_of};
use super::evidence::{Direction, Evidence, EvidenceRecord};
use super::recent::RecentMap;
use super::{Digest, NOTHING, Signature, SignatureClaims, conversation_of, document_of, now_ms, sha256};
use crate::certified::{CertificateOf, Certified};
use crate::security::Credentials;

/// Maximal number of certificates in one message to a peer.
const CERTIFICATES_AT_ONCE: usize = 200;
/// Number of identities from which expired ones are looked for.
const SWEEP_FROM: usize = 1_024;

/// Signer of a node.
pub(crate) struct MessageSigner {
    platform: String,
    node: String,
    state: Mutex<SignerState>,
    evidence: Option<Arc<Evidence>>,
}

struct SignerState {
    /// Random number that tells message numbers of this process from those of another process of the node.
    run: u64,
    authority: Arc<AgentAuthority>,
    identities: FxHashMap<Symbol, Arc<AgentIdentity>>,
    /// Ended agents, each with the time until which its last messages may leave, and its certificate if it keeps its
    /// own key.
    ending: VecDeque<(u64, Symbol, Option<Digest>)>,
    /// Number of identities at which expired ones are removed.
    sweep_at: usize,
    /// Certificates of agents that keep their own keys, in connected programs.
    guests: FxHashMap<Symbol, Arc<OwnKeyAgent>>,
    /// Last message of each sender in each conversation. Conversations are known by the digests of their names.
    said: RecentMap<(Symbol, Digest), SenderPosition>,
    /// Last message of each conversation that this node has seen.
    seen: RecentMap<Digest, Digest>,
    /// Signed messages to many, the newest last. They come once for each node.
    shared: VecDeque<SharedMessage>,
}

/// Last message of a sender in a conversation.
#[derive(Clone, Copy)]
struct SenderPosition {
    run: u64,
    number: u64,
    digest: Digest,
}

/// Agent that keeps its own key.
struct OwnKeyAgent {
    digest: Digest,
    /// Public key of the agent.
    key: Vec<u8>,
    certificate: CertificateDer<'static>,
    /// Certificate of the key that signed the agent's.
    node: CertificateDer<'static>,
}

/// Signed message to many.
struct SharedMessage {
    plain: Arc<AclMessage>,
    signed: Arc<AclMessage>,
    due: Option<Arc<Due>>,
    /// Length of the encoded message.
    bytes: usize,
}

impl SignerState {
    fn forget(&mut self, agent: Symbol) {
        self.identities.remove(&agent);
        self.guests.remove(&agent);
    }

    /// Forgets agents that ended long enough ago. Later agents of the same name get another key.
    fn forget_ended(&mut self, now_ms: u64) {
        while let Some((_, agent, certificate)) = self.ending.pop_front_if(|(until_ms, ..)| *until_ms <= now_ms) {
            self.identities.remove(&agent);
            if self.guests.get(&agent).map(|guest| guest.digest) == certificate {
                self.guests.remove(&agent);
            }
        }
    }

    /// Keeps an identity. Last messages of ended agents may have made some; these last no longer than their
    /// certificates.
    fn keep(&mut self, agent: Symbol, identity: &Arc<AgentIdentity>, now_ms: u64) {
        if self.identities.len() >= self.sweep_at {
            self.identities.retain(|_, identity| now_ms < identity.renew_ms);
            self.sweep_at = SWEEP_FROM.max(2 * self.identities.len());
        }
        self.identities.insert(agent, Arc::clone(identity));
    }
}

impl OwnKeyAgent {
    fn introduction(&self) -> News {
        News::Certificates { node: self.node.to_vec(), agents: vec![self.certificate.to_vec()] }
    }
}

/// Record of a message, due once a link has taken it: once only, if the message goes to several receivers or nodes.
pub(crate) struct Due(Mutex<Option<EvidenceRecord>>);

/// Result of signing a batch.
#[derive(Default)]
pub(crate) struct Signed {
    /// Messages that could not be signed.
    pub unsigned: Vec<Envelope>,
    /// Records of the signed messages, in their order, if this node keeps evidence.
    due: Vec<Option<Arc<Due>>>,
}

/// Claims of a message and the key to sign them with: the part of signing that must happen in order.
struct PreparedSignature {
    identity: Arc<AgentIdentity>,
    /// Certificate of the key that signed the identity's certificate.
    node: CertificateDer<'static>,
    claims: SignatureClaims,
    signed: Vec<u8>,
}

impl MessageSigner {
    pub fn new(
        (platform, node): (&str, &str),
        run: u64,
        credentials: &Credentials,
        evidence: Option<Arc<Evidence>>,
    ) -> Result<Self, AgentCertificateError> {
        let state = SignerState {
            run,
            authority: Arc::new(AgentAuthority::new(platform, node, credentials)?),
            identities: FxHashMap::default(),
            ending: VecDeque::new(),
            sweep_at: SWEEP_FROM,
            guests: FxHashMap::default(),
            said: RecentMap::new(SIGNED_CONVERSATIONS_MAX),
            seen: RecentMap::new(SIGNED_CONVERSATIONS_MAX),
            shared: VecDeque::new(),
        };
        Ok(Self { platform: platform.to_owned(), node: node.to_owned(), state: Mutex::new(state), evidence })
    }

    fn state(&self) -> MutexGuard<'_, SignerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Certifies with these credentials from now on. Agents get new certificates when they sign next.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), AgentCertificateError> {
        let authority = Arc::new(AgentAuthority::new(&self.platform, &self.node, credentials)?);
        let mut state = self.state();
        state.authority = authority;
        state.identities.clear();
        Ok(())
    }

    /// Returns the certificates of all agents that may sign, for a new peer.
    pub fn introductions(&self) -> Vec<News> {
        let state = self.state();
        let all: Vec<Vec<u8>> = state.identities.values().map(|identity| identity.certificate.to_vec()).collect();
        let news = |some: &[Vec<u8>]| News::Certificates {
            node: state.authority.certificate().to_vec(),
            agents: some.to_vec(),
        };
        // The certifying key may have changed since.
        let guests = state.guests.values().map(|guest| guest.introduction());
        all.chunks(CERTIFICATES_AT_ONCE).map(news).chain(guests).collect()
    }

    /// Adds the certificates of this node's agents, at most this many.
    pub fn tell_certificates(&self, told: &mut Certified, most: usize) {
        let state = self.state();
        let own = state.identities.values().map(|identity| (CertificateOf::Agent, &identity.certificate));
        let guests = state.guests.values().map(|guest| (CertificateOf::Session, &guest.certificate));
        guests.chain(own).take(most).for_each(|(of, certificate)| told.add(of, certificate));
    }

    /// Takes the certificate of an agent that keeps its own key: messages that it signed leave unchanged. Returns the
    /// news for other nodes; `None` if the certificate has no usable key.
    pub fn adopt(
        &self,
        agent: Symbol,
        certificate: &CertificateDer<'static>,
        node: &CertificateDer<'static>,
    ) -> Option<News> {
        let key = public_key_of(certificate)?;
        let (certificate, node) = (certificate.clone(), node.clone());
        let guest = OwnKeyAgent { digest: sha256(&certificate), key, certificate, node };
        let news = guest.introduction();
        self.state().guests.insert(agent, Arc::new(guest));
        Some(news)
    }

    /// Ends an agent. Its key is deleted once its last messages have left its shard.
    pub fn end(&self, agent: Symbol) {
        self.end_at(agent, now_ms());
    }

    fn end_at(&self, agent: Symbol, now_ms: u64) {
        let mut state = self.state();
        state.forget_ended(now_ms);
        if state.identities.contains_key(&agent) || state.guests.contains_key(&agent) {
            let certificate = state.guests.get(&agent).map(|guest| guest.digest);
            state.ending.push_back((now_ms + LINK_LAST_WORDS_MS, agent, certificate));
        }
    }

    /// Deletes the key of an agent that has moved to another node, at once.
    pub fn forget(&self, agent: Symbol) {
        self.state().forget(agent);
    }

    /// Notes that a message of another node was verified.
    pub fn saw(&self, conversation: &Text, digest: Digest) {
        self.state().seen.insert(sha256(conversation.as_bytes()), digest);
    }

    /// Sets the number of remembered conversations.
    #[cfg(test)]
    pub fn keep_conversations(&self, count: usize) {
        let mut state = self.state();
        (state.said, state.seen) = (RecentMap::new(count), RecentMap::new(count));
    }

    /// Signs messages on their way to another node. Removes and returns those that cannot be signed. Passes new
    /// certificates to `tell`, which must send them before the messages. Messages that a link has taken must be
    /// [recorded](Self::record).
    pub fn sign(&self, batch: &mut Vec<Envelope>, mut tell: impl FnMut(News)) -> Signed {
        let mut all = Signed::default();
        for Envelope { to, body } in std::mem::take(batch) {
            let signed = match body {
                body if body.shared().is_some() => {
                    self.sign_shared(body.into_shared(), &mut tell).map_err(MessageBody::Shared)
                }
                other => {
                    let signed = self.sign_one(other.into_message(), &mut tell).map_err(MessageBody::Owned);
                    signed.map(|(message, due, _)| (MessageBody::Owned(message), due))
                }
            };
            match signed {
                Ok((body, due)) => {
                    batch.push(Envelope { to, body });
                    all.due.push(due);
                }
                Err(body) => all.unsigned.push(Envelope { to, body }),
            }
        }
        all
    }

    /// Records the first `taken` messages, which a link has taken.
    pub fn record(&self, signed: &Signed, taken: usize) {
        let Some(evidence) = &self.evidence else { return };
        for due in signed.due.iter().take(taken).flatten() {
            let record = due.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            record.into_iter().for_each(|record| evidence.record(record));
        }
    }

    fn sign_shared(
        &self,
        shared: Arc<AclMessage>,
        tell: &mut impl FnMut(News),
    ) -> Result<(MessageBody, Option<Arc<Due>>), Arc<AclMessage>> {
        let known = |state: &SignerState| {
            let found = state.shared.iter().rev().find(|known| Arc::ptr_eq(&known.plain, &shared));
            found.map(|known| (MessageBody::Shared(Arc::clone(&known.signed)), known.due.clone()))
        };
        if let Some(signed) = known(&self.state()) {
            return Ok(signed);
        }
        let copy = Box::new((*shared).clone());
        let Ok((signed, due, bytes)) = self.sign_one(copy, tell) else { return Err(shared) };
        let signed: Arc<AclMessage> = Arc::from(signed);
        let mut state = self.state();
        state.shared.push_back(SharedMessage { plain: shared, signed: Arc::clone(&signed), due: due.clone(), bytes });
        let bytes = |shared: &VecDeque<SharedMessage>| shared.iter().map(|shared| shared.bytes).sum::<usize>();
        while state.shared.len() > SIGNED_SHARED_MAX
            || state.shared.len() > 1 && bytes(&state.shared) > SIGNED_SHARED_BYTES_MAX
        {
            state.shared.pop_front();
        }
        Ok((MessageBody::Shared(signed), due))
    }

    /// Signs a message. Returns it with its record and the length of its signed bytes.
    #[allow(clippy::type_complexity, reason = "what there is to say of one message, once")]
    fn sign_one(
        &self,
        mut message: Box<AclMessage>,
        tell: &mut impl FnMut(News),
    ) -> Result<(Box<AclMessage>, Option<Arc<Due>>, usize), Box<AclMessage>> {
        // A signature that was put in before is not the sender's, unless the sender keeps its own key.
        let own = Signature::take_from(&mut message);
        let Some(document) = document_of(&message) else { return Err(message) };
        let conversation = conversation_of(&message);
        if let Some((guest, signature)) = self.own_word(message.sender.name, own, &conversation, &document) {
            signature.put_into(&mut message);
            let bytes = document.len();
            let (agent, node) = (guest.certificate.clone(), guest.node.clone());
            let record = EvidenceRecord { direction: Direction::Sent, conversation, signature, document, agent, node };
            return Ok((message, self.due(record), bytes));
        }
        let Some(prepared) = self.prepare(message.sender.name, &conversation, &document, tell) else {
            return Err(message);
        };
        let PreparedSignature { identity, node, claims, signed } = prepared;
        let mut signature = Signature { claims, signature: [0; 64] };
        signature.signature.copy_from_slice(identity.key.sign(&signed).as_ref());
        signature.put_into(&mut message);
        let (agent, bytes) = (identity.certificate.clone(), signed.len());
        let record = EvidenceRecord { direction: Direction::Sent, conversation, signature, document, agent, node };
        Ok((message, self.due(record), bytes))
    }

    fn due(&self, record: EvidenceRecord) -> Option<Arc<Due>> {
        self.evidence.as_ref().map(|_| Arc::new(Due(Mutex::new(Some(record)))))
    }

    /// Returns the signature that an agent with its own key put into its message, if it is valid.
    fn own_word(
        &self,
        sender: Symbol,
        own: Option<Signature>,
        conversation: &Text,
        document: &[u8],
    ) -> Option<(Arc<OwnKeyAgent>, Signature)> {
        let own = own?;
        let guest = self.state().guests.get(&sender).cloned()?;
        if guest.digest != own.claims.certificate {
            return None;
        }
        let signed = own.claims.signed_bytes(&self.platform, document);
        UnparsedPublicKey::new(&ED25519, &guest.key).verify(&signed, &own.signature).ok()?;
        self.saw(conversation, sha256(&signed));
        Some((guest, own))
    }

    /// Gives a message its number and its predecessor, in the order in which messages are signed.
    fn prepare(
        &self,
        sender: Symbol,
        conversation: &Text,
        document: &[u8],
        tell: &mut impl FnMut(News),
    ) -> Option<PreparedSignature> {
        let now_ms = now_ms();
        let mut state = self.state();
        state.forget_ended(now_ms);
        let identity = match state.identities.get(&sender).filter(|identity| now_ms < identity.renew_ms) {
            Some(identity) => Arc::clone(identity),
            None => {
                let identity = Arc::new(state.authority.identify(sender, now_ms).ok()?);
                state.keep(sender, &identity, now_ms);
                let node = state.authority.certificate().to_vec();
                tell(News::Certificates { node, agents: vec![identity.certificate.to_vec()] });
                identity
            }
        };
        let place = sha256(conversation.as_bytes());
        let nothing = SenderPosition { run: state.run, number: 0, digest: NOTHING };
        let said = state.said.get(&(sender, place)).copied().unwrap_or(nothing);
        let claims = SignatureClaims {
            certificate: identity.digest,
            run: said.run,
            sequence: said.number + 1,
            time_ms: now_ms,
            previous: said.digest,
            seen: state.seen.get(&place).copied().unwrap_or(NOTHING),
        };
        let signed = claims.signed_bytes(&self.platform, document);
        let digest = sha256(&signed);
        let said = SenderPosition { run: said.run, number: claims.sequence, digest };
        if state.said.insert((sender, place), said) {
            // Numbers begin anew in conversations that were forgotten.
            state.run = state.run.wrapping_add(1);
        }
        state.seen.insert(place, digest);
        Some(PreparedSignature { identity, node: state.authority.certificate().clone(), claims, signed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Authority;

    #[test]
    fn ended_agents_identities_are_forgotten() {
        let credentials = Authority::create("p").unwrap().issue("n1", &[], 1).unwrap();
        let signer = MessageSigner::new(("p", "n1"), 1, &credentials, None).unwrap();
        let sign = |agent: &str| {
            let message = AclMessage::new(
                whimbrel_acl::Performative::Inform,
                whimbrel_acl::Aid::local(agent),
                whimbrel_acl::Aid::local("b"),
                whimbrel_acl::Value::from(1),
            );
            signer
                .sign_one(Box::new(message), &mut |_| ())
                .map(|(message, ..)| Signature::take_from(&mut message.clone()))
        };
        let certificate = |agent: &str| sign(agent).unwrap().unwrap().claims.certificate;
        let (amy, at) = (certificate("amy"), now_ms());
        signer.end_at("amy".into(), at);
        assert_eq!(certificate("amy"), amy, "its last words are its own");
        signer.state().forget_ended(at + LINK_LAST_WORDS_MS);
        assert!(signer.state().identities.is_empty());
        assert_ne!(certificate("amy"), amy, "another one of its name has another key");
        // The identity of an ended agent that still sends is forgotten in time.
        let identity = signer.state().identities.values().next().cloned().unwrap();
        let later = at + 24 * 3_600_000;
        (0..10 * SWEEP_FROM).for_each(|agent| {
            let past = Arc::clone(&identity);
            signer.state().keep(format!("dead{agent}").as_str().into(), &past, later);
        });
        assert!(signer.state().identities.len() <= SWEEP_FROM + 1);
    }
}
