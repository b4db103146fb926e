//! Signs what leaves a node, for its agents.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Envelope, MessageBody, Symbol, Text};
use whimbrel_platform::limits::SIGNED_CONVERSATIONS_MAX;
use whimbrel_platform::link::News;

use super::certificates::{AgentAuthority, AgentCertificateError, AgentIdentity};
use super::evidence::{Direction, Evidence, Record};
use super::{Claims, Digest, NOTHING, Signature, conversation_of, document_of, now_ms, sha256};
use crate::security::Credentials;

/// Messages to many of which is remembered how they were signed: they come once for each node.
const SHARED_REMEMBERED: usize = 32;
/// Certificates told at once.
const CERTIFICATES_AT_ONCE: usize = 200;

/// See the module.
pub(crate) struct Signer {
    platform: String,
    node: String,
    state: Mutex<State>,
    evidence: Option<Arc<Evidence>>,
}

struct State {
    /// Tells the present numbers from others that a node of this name gave.
    run: u64,
    authority: Arc<AgentAuthority>,
    identities: FxHashMap<Symbol, Arc<AgentIdentity>>,
    /// The last message of each sender in each conversation: its number and digest.
    said: FxHashMap<(Symbol, Text), (u64, Digest)>,
    /// The last message of each conversation that this node has seen.
    seen: FxHashMap<Text, Digest>,
    /// Messages to many that were signed, and what became of them; the newest last.
    shared: VecDeque<(Arc<AclMessage>, Arc<AclMessage>)>,
}

/// What is signed and how, as far as it must be decided one after the other.
struct Prepared {
    identity: Arc<AgentIdentity>,
    claims: Claims,
    signed: Vec<u8>,
}

impl Signer {
    pub fn new(
        (platform, node): (&str, &str),
        run: u64,
        credentials: &Credentials,
        evidence: Option<Arc<Evidence>>,
    ) -> Result<Self, AgentCertificateError> {
        let state = State {
            run,
            authority: Arc::new(AgentAuthority::new(platform, node, credentials)?),
            identities: FxHashMap::default(),
            said: FxHashMap::default(),
            seen: FxHashMap::default(),
            shared: VecDeque::new(),
        };
        Ok(Self { platform: platform.to_owned(), node: node.to_owned(), state: Mutex::new(state), evidence })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Certifies with these from now on: agents get new certificates when they sign next.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), AgentCertificateError> {
        let authority = Arc::new(AgentAuthority::new(&self.platform, &self.node, credentials)?);
        let mut state = self.state();
        state.authority = authority;
        state.identities.clear();
        Ok(())
    }

    /// The certificates of all agents that have signed something, for a new peer.
    pub fn introductions(&self) -> Vec<News> {
        let state = self.state();
        let all: Vec<Vec<u8>> = state.identities.values().map(|identity| identity.certificate.to_vec()).collect();
        let news = |some: &[Vec<u8>]| News::Certificates {
            node: state.authority.certificate().to_vec(),
            agents: some.to_vec(),
        };
        all.chunks(CERTIFICATES_AT_ONCE).map(news).collect()
    }

    /// An agent is no more: its key goes with it.
    pub fn forget(&self, agent: Symbol) {
        self.state().identities.remove(&agent);
    }

    /// A message of another node was verified.
    pub fn saw(&self, conversation: &Text, digest: Digest) {
        let mut state = self.state();
        if state.seen.len() >= SIGNED_CONVERSATIONS_MAX {
            state.seen.clear();
        }
        state.seen.insert(conversation.clone(), digest);
    }

    /// Signs messages on their way to another node. What cannot be signed is taken out and returned. New certificates are
    /// told by `tell`, before the messages that they are for are sent.
    pub fn sign(&self, batch: &mut Vec<Envelope>, mut tell: impl FnMut(News)) -> Vec<Envelope> {
        let mut failed = Vec::new();
        for Envelope { to, body } in std::mem::take(batch) {
            let signed = match body {
                MessageBody::Shared(shared) => self.sign_shared(shared, &mut tell).map_err(MessageBody::Shared),
                other => self.sign_one(other.into_message(), &mut tell).map_err(MessageBody::Owned),
            };
            match signed {
                Ok(body) => batch.push(Envelope { to, body }),
                Err(body) => failed.push(Envelope { to, body }),
            }
        }
        failed
    }

    fn sign_shared(
        &self,
        shared: Arc<AclMessage>,
        tell: &mut impl FnMut(News),
    ) -> Result<MessageBody, Arc<AclMessage>> {
        let known = |state: &State| {
            let found = state.shared.iter().rev().find(|(plain, _)| Arc::ptr_eq(plain, &shared));
            found.map(|(_, signed)| MessageBody::Shared(Arc::clone(signed)))
        };
        if let Some(signed) = known(&self.state()) {
            return Ok(signed);
        }
        let copy = Box::new((*shared).clone());
        let Ok(MessageBody::Owned(signed)) = self.sign_one(copy, tell) else { return Err(shared) };
        let signed: Arc<AclMessage> = Arc::from(signed);
        let mut state = self.state();
        if state.shared.len() >= SHARED_REMEMBERED {
            state.shared.pop_front();
        }
        state.shared.push_back((shared, Arc::clone(&signed)));
        Ok(MessageBody::Shared(signed))
    }

    fn sign_one(
        &self,
        mut message: Box<AclMessage>,
        tell: &mut impl FnMut(News),
    ) -> Result<MessageBody, Box<AclMessage>> {
        // Whatever was signed before on the way is somebody else's word.
        Signature::take_from(&mut message);
        let Some(document) = document_of(&message) else { return Err(message) };
        let conversation = conversation_of(&message);
        let Some(prepared) = self.prepare(message.sender.name, &conversation, &document, tell) else {
            return Err(message);
        };
        let Prepared { identity, claims, signed } = prepared;
        let mut signature = Signature { claims, signature: [0; 64] };
        signature.signature.copy_from_slice(identity.key.sign(&signed).as_ref());
        signature.put_into(&mut message);
        if let Some(evidence) = &self.evidence {
            let authority = Arc::clone(&self.state().authority);
            evidence.record(Record {
                direction: Direction::Sent,
                conversation,
                signature,
                document,
                agent: identity.certificate.clone(),
                node: authority.certificate().clone(),
            });
        }
        Ok(MessageBody::Owned(message))
    }

    /// Gives a message its number and its place, in the order in which messages are signed.
    fn prepare(
        &self,
        sender: Symbol,
        conversation: &Text,
        document: &[u8],
        tell: &mut impl FnMut(News),
    ) -> Option<Prepared> {
        let now_ms = now_ms();
        let mut state = self.state();
        let identity = match state.identities.get(&sender).filter(|identity| now_ms < identity.renew_ms) {
            Some(identity) => Arc::clone(identity),
            None => {
                let identity = Arc::new(state.authority.identify(sender, now_ms).ok()?);
                state.identities.insert(sender, Arc::clone(&identity));
                let node = state.authority.certificate().to_vec();
                tell(News::Certificates { node, agents: vec![identity.certificate.to_vec()] });
                identity
            }
        };
        if state.said.len() >= SIGNED_CONVERSATIONS_MAX {
            // Numbers begin anew.
            state.run = state.run.wrapping_add(1);
            state.said.clear();
        }
        let place = (sender, conversation.clone());
        let (number, previous) = state.said.get(&place).copied().unwrap_or((0, NOTHING));
        let seen = state.seen.get(conversation).copied().unwrap_or(NOTHING);
        let claims = Claims {
            certificate: identity.digest,
            run: state.run,
            sequence: number + 1,
            time_ms: now_ms,
            previous,
            seen,
        };
        let signed = claims.signed_bytes(&self.platform, document);
        let digest = sha256(&signed);
        state.said.insert(place, (number + 1, digest));
        state.seen.insert(conversation.clone(), digest);
        Some(Prepared { identity, claims, signed })
    }
}
