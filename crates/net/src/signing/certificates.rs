//! Certificates of agents, made by their node, which the authority lets certify its own agents.
//!
//! A certificate names the agent (its AID) and the node (its address) in one URI, `whimbrel://NODE/AGENT@PLATFORM`. It
//! is trusted only if it was signed by the key that the authority certified for that very node.

use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, PublicKeyData, SanType, SerialNumber,
};
use ring::signature::Ed25519KeyPair;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use whimbrel_acl::{AclMessage, Symbol};
use whimbrel_platform::limits::{AGENT_CERTIFICATE_S, CERTIFICATE_BYTES_MAX, CERTIFICATE_REQUEST_BYTES_MAX};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Digest, NOTHING, Signature, SignatureClaims, document_of, now_ms, sha256};
use crate::authority::{AuthorityError, CLOCK_SKEW, new_serial};
use crate::security::{Credentials, SecurityError, agents_dns_name, certificates, revocation_lists};

const SCHEME: &str = "whimbrel://";

/// Error of making or verifying an agent's certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentCertificateError {
    /// The node has no key to certify agents with.
    #[error("this node cannot certify agents: it has no certificate for that (agents.pem)")]
    NoKey,
    /// The credentials cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The certificate cannot be made.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The request for a certificate is malformed.
    #[error("bad request for a certificate: {0}")]
    BadRequest(String),
    /// The request is for another agent.
    #[error("the request is for {asked}, and may be for {agent} only")]
    NotYours {
        /// Agent that the request may be for.
        agent: String,
        /// Agent that the request is for.
        asked: String,
    },
    /// The certificate is no agent's.
    #[error("not a certificate of an agent: {0}")]
    NoAgent(&'static str),
    /// The certificate names an agent of another node than the one whose key signed it, or that showed it.
    #[error("the certificate names node {says}, and comes from {signed}")]
    OtherNode {
        /// Node that the certificate names.
        says: String,
        /// Node whose key signed the certificate, or that showed it.
        signed: String,
    },
    /// The certificate is too long.
    #[error("it has {0} bytes: at most {CERTIFICATE_BYTES_MAX}")]
    TooLong(usize),
    /// The node shows too many certificates of its agents.
    #[error("too many certificates of agents of {0}")]
    TooMany(String),
    /// The certificate is not trusted.
    #[error("not trusted: {0}")]
    Untrusted(#[from] rustls::Error),
}

/// Identity of an agent in its certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AgentName {
    pub agent: String,
    pub platform: String,
    pub node: String,
}

impl AgentName {
    fn uri(&self) -> String {
        let Self { agent, platform, node } = self;
        format!("{SCHEME}{}/{}@{}", escaped(node), escaped(agent), escaped(platform))
    }

    fn read(uri: &str) -> Option<Self> {
        let (node, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let (agent, platform) = rest.rsplit_once('@')?;
        Some(Self { agent: unescaped(agent)?, platform: unescaped(platform)?, node: unescaped(node)? })
    }
}

/// Escapes everything but letters, digits, `-`, `.` and `_` as `%` and two digits (RFC 3986 2.1).
fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

fn unescaped(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let (digits, after) = after.split_first_chunk::<2>()?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Key and certificate of an agent.
pub(crate) struct AgentIdentity {
    pub key: Ed25519KeyPair,
    pub certificate: CertificateDer<'static>,
    pub digest: Digest,
    /// Time from which the certificate is renewed, in milliseconds since 1970-01-01 UTC.
    pub renew_ms: u64,
}

/// Key that an agent keeps itself: a connected program makes and keeps it.
pub struct AgentKey {
    pair: KeyPair,
    key: Ed25519KeyPair,
}

impl AgentKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self, AgentCertificateError> {
        let failed = |error: rcgen::Error| AgentCertificateError::from(AuthorityError::from(error));
        let pair = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pair.serialized_der())
            .map_err(|_| AuthorityError::BadFile("an agent's key"))?;
        Ok(Self { pair, key })
    }

    /// Makes a request for a certificate of this key, as PEM: for the agent of this URI
    /// (`whimbrel://NODE/AGENT@PLATFORM`), or for the agent that asks.
    ///
    /// # Errors
    /// The URI is malformed.
    pub fn request(&self, uri: Option<&str>) -> Result<String, AgentCertificateError> {
        let failed = |error: rcgen::Error| AgentCertificateError::from(AuthorityError::from(error));
        let mut params = CertificateParams::default();
        if let Some(uri) = uri {
            params.subject_alt_names.push(SanType::URI(uri.try_into().map_err(failed)?));
        }
        params.serialize_request(&self.pair).and_then(|request| request.pem()).map_err(failed)
    }

    /// Signs a message with this key and the certificates (PEM) that a node issued for it. The message has this number
    /// in its conversation and in this `run` (a random number of the program), and follows the message of the given
    /// digest, if there was one. Returns the digest of the message.
    ///
    /// # Errors
    /// The message cannot be encoded, or the certificate is malformed.
    pub fn sign(
        &self,
        message: &mut AclMessage,
        platform: &str,
        certificates_pem: &str,
        (run, sequence, previous): (u64, u64, Option<Digest>),
    ) -> Result<Digest, AgentCertificateError> {
        Signature::take_from(message);
        let document = document_of(message).ok_or(AgentCertificateError::NoAgent("its message cannot be written"))?;
        let chain = certificates(certificates_pem, "the agent's certificate")?;
        let certificate = chain.first().ok_or(AgentCertificateError::NoKey)?;
        let (certificate, previous) = (sha256(certificate), previous.unwrap_or(NOTHING));
        let claims = SignatureClaims { certificate, run, sequence, time_ms: now_ms(), previous, seen: NOTHING };
        let signed = claims.signed_bytes(platform, &document);
        let mut signature = Signature { claims, signature: [0; 64] };
        signature.signature.copy_from_slice(self.key.sign(&signed).as_ref());
        signature.put_into(message);
        Ok(sha256(&signed))
    }
}

/// Authority of a node over its agents: certifies their keys.
pub struct AgentAuthority {
    platform: String,
    node: String,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl AgentAuthority {
    /// Makes an authority from the node's credentials.
    ///
    /// # Errors
    /// The credentials have no key for agents, or cannot be used.
    pub fn new(platform: &str, node: &str, credentials: &Credentials) -> Result<Self, AgentCertificateError> {
        if credentials.agents_pem.is_empty() {
            return Err(AgentCertificateError::NoKey);
        }
        let failed = |error: rcgen::Error| AgentCertificateError::from(AuthorityError::from(error));
        let key = KeyPair::from_pem(&credentials.agents_key_pem).map_err(failed)?;
        let issuer = Issuer::from_ca_cert_pem(&credentials.agents_pem, key).map_err(failed)?;
        let mut chain = certificates(&credentials.agents_pem, "the certificate for certifying agents")?;
        let certificate = chain.pop().ok_or(AgentCertificateError::NoKey)?;
        Ok(Self { platform: platform.to_owned(), node: node.to_owned(), issuer, certificate })
    }

    /// Returns the certificate by which this node may certify its agents.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    fn name_of(&self, agent: &str) -> AgentName {
        AgentName { agent: agent.to_owned(), platform: self.platform.clone(), node: self.node.clone() }
    }

    /// Makes a key and a certificate for an agent of this node.
    pub(crate) fn identify(&self, agent: Symbol, now_ms: u64) -> Result<AgentIdentity, AgentCertificateError> {
        let AgentKey { pair, key } = AgentKey::generate()?;
        let certificate = self.sign(&self.name_of(agent.as_str()), &pair)?;
        let digest = sha256(&certificate);
        let renew_ms = now_ms + AGENT_CERTIFICATE_S * 1_000 * 2 / 3;
        Ok(AgentIdentity { key, certificate, digest, renew_ms })
    }

    /// Certifies a key that an agent of this node keeps itself, in a connected program. The certificate is for this
    /// agent only, whatever else the request names.
    ///
    /// # Errors
    /// The request is malformed, for another agent, or for another kind of key.
    pub fn certify(&self, agent: &str, csr_pem: &str) -> Result<CertificateDer<'static>, AgentCertificateError> {
        let bad = AgentCertificateError::BadRequest;
        if csr_pem.len() > CERTIFICATE_REQUEST_BYTES_MAX {
            return Err(bad(format!("it has {} bytes: at most {CERTIFICATE_REQUEST_BYTES_MAX}", csr_pem.len())));
        }
        let request = CertificateSigningRequestParams::from_pem(csr_pem).map_err(|error| bad(error.to_string()))?;
        if *request.public_key.algorithm() != PKCS_ED25519 {
            return Err(bad("its key is no Ed25519 key".to_owned()));
        }
        let name = self.name_of(agent);
        // The client need not know which node it is connected to.
        let asked = match request.params.subject_alt_names.as_slice() {
            [] => None,
            [SanType::URI(uri)] if uri.as_str() == name.uri() => None,
            names => Some(format!("{names:?}")),
        };
        match asked {
            None => self.sign(&name, &request.public_key),
            Some(asked) => Err(AgentCertificateError::NotYours { agent: name.uri(), asked }),
        }
    }

    fn sign(
        &self,
        name: &AgentName,
        key: &impl PublicKeyData,
    ) -> Result<CertificateDer<'static>, AgentCertificateError> {
        let failed = |error: rcgen::Error| AgentCertificateError::from(AuthorityError::from(error));
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name.agent.as_str());
        params.subject_alt_names = vec![uri_of(name)?];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + time::Duration::seconds(AGENT_CERTIFICATE_S as i64);
        params.serial_number = Some(SerialNumber::from_slice(&new_serial()?));
        Ok(params.signed_by(key, &self.issuer).map_err(failed)?.der().clone())
    }
}

/// Returns the public key of a certificate.
pub(super) fn public_key_of(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some(parsed.public_key().subject_public_key.data.to_vec())
}

fn uri_of(name: &AgentName) -> Result<SanType, AgentCertificateError> {
    let uri = name.uri().try_into().map_err(AuthorityError::from)?;
    Ok(SanType::URI(uri))
}

/// Verifier of agents' certificates.
pub(crate) struct AgentTrust {
    verifier: Arc<dyn ClientCertVerifier>,
}

/// Content of a trusted certificate.
#[derive(Clone, Debug)]
pub(crate) struct Believed {
    pub name: AgentName,
    /// Public key of the agent, 32 bytes.
    pub key: Vec<u8>,
    /// End of validity, in milliseconds since 1970-01-01 UTC.
    pub until_ms: u64,
}

impl AgentTrust {
    /// Trusts certificates by these authorities, unless they are on these revocation lists.
    pub fn new(authority_pem: &str, revoked_pem: &str) -> Result<Self, SecurityError> {
        let unfit = |error: &dyn std::fmt::Display| SecurityError::Unfit(error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authority_pem, "the authority's certificate")? {
            roots.add(certificate).map_err(|error| unfit(&error))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()))
            .with_crls(revocation_lists(revoked_pem)?)
            // Nodes keep no revocation lists: the certificates of their agents are valid for an hour, and end with
            // their agents.
            .allow_unknown_revocation_status()
            .build()
            .map_err(|error| unfit(&error))?;
        Ok(Self { verifier })
    }

    /// Returns the content of an agent's certificate, if it was valid at that time, and `node` is the certificate for
    /// the key of the very node that it names.
    pub fn believe(
        &self,
        agent: &CertificateDer<'_>,
        node: &CertificateDer<'_>,
        at_ms: u64,
    ) -> Result<Believed, AgentCertificateError> {
        let at = UnixTime::since_unix_epoch(Duration::from_millis(at_ms));
        self.verifier.verify_client_cert(agent, std::slice::from_ref(node), at)?;
        let no_agent = AgentCertificateError::NoAgent;
        let (_, parsed) = X509Certificate::from_der(agent).map_err(|_| no_agent("it cannot be read"))?;
        let (_, issuer) = X509Certificate::from_der(node).map_err(|_| no_agent("its node's cannot be read"))?;
        let mut name = None;
        for general in names_in(&parsed) {
            match general {
                GeneralName::URI(uri) if name.is_none() => name = AgentName::read(uri),
                _ => return Err(no_agent("it has more than one name")),
            }
        }
        let name = name.ok_or(no_agent("it names none"))?;
        let signed = agents_dns_name(&name.node);
        if !names_in(&issuer).any(|one| matches!(one, GeneralName::DNSName(dns) if *dns == signed)) {
            return Err(AgentCertificateError::OtherNode { says: name.node, signed: issuer.subject().to_string() });
        }
        let key = parsed.public_key().subject_public_key.data.to_vec();
        let until_ms = parsed.validity().not_after.timestamp().max(0) as u64 * 1_000;
        Ok(Believed { name, key, until_ms })
    }
}

fn names_in<'a>(certificate: &'a X509Certificate<'a>) -> impl Iterator<Item = &'a GeneralName<'a>> {
    let names = certificate.subject_alternative_name().ok().flatten();
    names.into_iter().flat_map(|names| names.value.general_names.iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Authority;
    use crate::signing::now_ms;

    fn node(authority: &mut Authority, name: &str) -> (AgentAuthority, Credentials) {
        let credentials = authority.issue(name, &[], 1).unwrap();
        (AgentAuthority::new("p", name, &credentials).unwrap(), credentials)
    }

    #[test]
    fn certificate_names_its_agent() {
        let mut authority = Authority::create("p").unwrap();
        let (n1, credentials) = node(&mut authority, "n1");
        let trust = AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem).unwrap();
        for agent in ["amy", "a@b/c%d e", "größe"] {
            let identity = n1.identify(agent.into(), now_ms()).unwrap();
            let believed = trust.believe(&identity.certificate, n1.certificate(), now_ms()).unwrap();
            assert_eq!((believed.name.agent.as_str(), believed.name.platform.as_str()), (agent, "p"));
            assert_eq!((believed.name.node.as_str(), believed.key.len()), ("n1", 32));
            let later = now_ms() + AGENT_CERTIFICATE_S * 1_000 + 1_000;
            let expired = trust.believe(&identity.certificate, n1.certificate(), later);
            assert!(matches!(expired, Err(AgentCertificateError::Untrusted(_))));
        }
    }

    #[test]
    fn node_certifies_only_its_agents() {
        let mut authority = Authority::create("p").unwrap();
        let (n1, credentials) = node(&mut authority, "n1");
        let (mut liar, _) = node(&mut authority, "n2");
        let trust = AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem).unwrap();
        let honest = liar.identify("eve".into(), now_ms()).unwrap();
        assert!(trust.believe(&honest.certificate, liar.certificate(), now_ms()).is_ok());
        let other = trust.believe(&honest.certificate, n1.certificate(), now_ms());
        assert!(matches!(other, Err(AgentCertificateError::Untrusted(_))), "another's key did not sign it");
        liar.node = "n1".to_owned();
        let forged = liar.identify("amy".into(), now_ms()).unwrap();
        let refused = trust.believe(&forged.certificate, liar.certificate(), now_ms()).unwrap_err().to_string();
        assert!(refused.contains("names node n1, and comes from"), "{refused}");
    }

    #[test]
    fn untrusted_nodes_agents_are_refused() {
        let (mut authority, mut other) = (Authority::create("p").unwrap(), Authority::create("p").unwrap());
        let (thief, _) = node(&mut authority, "thief");
        let (stranger, _) = node(&mut other, "n1");
        authority.revoke("thief");
        let trust = authority.trust().unwrap();
        let trust = AgentTrust::new(&trust.authority_pem, &trust.revoked_pem).unwrap();
        for node in [thief, stranger] {
            let identity = node.identify("amy".into(), now_ms()).unwrap();
            let refused = trust.believe(&identity.certificate, node.certificate(), now_ms());
            assert!(matches!(refused, Err(AgentCertificateError::Untrusted(_))), "{refused:?}");
        }
        // A node's own certificate cannot sign those of agents.
        let credentials = authority.issue("n3", &[], 1).unwrap();
        let abused = Credentials {
            agents_pem: credentials.certificate_pem.clone(),
            agents_key_pem: credentials.key_pem.clone(),
            ..credentials
        };
        let refused = AgentAuthority::new("p", "n3", &abused).and_then(|n3| {
            let identity = n3.identify("amy".into(), now_ms())?;
            trust.believe(&identity.certificate, n3.certificate(), now_ms())
        });
        assert!(refused.is_err());
    }

    #[test]
    fn request_for_another_name_is_refused() {
        let mut authority = Authority::create("p").unwrap();
        let (n1, credentials) = node(&mut authority, "n1");
        let trust = AgentTrust::new(&credentials.authority_pem, &credentials.revoked_pem).unwrap();
        let key = AgentKey::generate().unwrap();
        let request = |uri: &str| key.request(Some(uri)).unwrap();
        for request in [key.request(None).unwrap(), request("whimbrel://n1/pump@p")] {
            let own = n1.certify("pump", &request).unwrap();
            let believed = trust.believe(&own, n1.certificate(), now_ms()).unwrap();
            assert_eq!((believed.name.agent.as_str(), believed.name.node.as_str()), ("pump", "n1"));
        }
        for other in ["whimbrel://n1/amy@p", "whimbrel://n2/pump@p", "whimbrel://n1/pump@q", "x:y"] {
            let refused = n1.certify("pump", &request(other));
            assert!(matches!(refused, Err(AgentCertificateError::NotYours { .. })), "{refused:?}");
        }
        let other_kind = crate::NodeKeys::generate().unwrap().request("pump").unwrap().csr_pem;
        assert!(matches!(n1.certify("pump", &other_kind), Err(AgentCertificateError::BadRequest(_))));
        assert!(n1.certify("pump", "nonsense").is_err());
    }
}
