//! Security of links: none, encryption, or certificates at both ends.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use serde::{Deserialize, Serialize};
use whimbrel_platform::audit::RefusalReason;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

/// Security level of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkSecurity {
    /// No security: for one machine, and to find faults.
    Open,
    /// Encryption. A peer is known by the platform's secret only.
    Tls,
    /// Encryption, with certificates at both ends. A message whose sender is not an agent of the sending node is
    /// refused.
    Authenticated,
    /// As `Authenticated`, and every message that leaves a node is signed by its sender.
    Signed,
}

/// Application protocol of links at the level `signed`: they link with their like only.
const SIGNED_PROTOCOL: &[u8] = b"whimbrel-signed/1";

/// Certificates and keys of a node, and its trust, as PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// Certificate of the node.
    pub certificate_pem: String,
    /// Private key of the node.
    pub key_pem: String,
    /// Certificate of the key that certifies the node's agents; empty if it certifies none.
    #[serde(default)]
    pub agents_pem: String,
    /// Private key that certifies the node's agents.
    #[serde(default)]
    pub agents_key_pem: String,
    /// Certificates of the platform's authority; several while one takes over from another.
    pub authority_pem: String,
    /// Revocation lists of the authority; empty if there are none.
    pub revoked_pem: String,
}

impl Credentials {
    /// Returns the node that the certificate names; `None` if it names none.
    ///
    /// # Errors
    /// The certificate cannot be read.
    pub fn node(&self) -> Result<Option<String>, SecurityError> {
        let chain = certificates(&self.certificate_pem, "the node's certificate")?;
        Ok(chain.first().and_then(|certificate| Identity::of(certificate).node().map(ToOwned::to_owned)))
    }

    /// Returns true if less than a third of the certificate's validity is left.
    ///
    /// # Errors
    /// The certificate cannot be read.
    pub fn wants_renewal(&self) -> Result<bool, SecurityError> {
        let unreadable = || SecurityError::Unreadable("the node's certificate");
        let chain = certificates(&self.certificate_pem, "the node's certificate")?;
        let (_, parsed) = X509Certificate::from_der(chain.first().ok_or_else(unreadable)?).map_err(|_| unreadable())?;
        let (from, until) = (parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp());
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        Ok(now > until - (until - from) / 3)
    }

    /// Returns true if these credentials trust the same authorities, and have the same revocations.
    ///
    /// # Errors
    /// Certificates or lists cannot be read.
    pub fn trusts_as(&self, trust: &crate::Trust) -> Result<bool, SecurityError> {
        let same_authorities = self.authority_pem == trust.authority_pem;
        Ok(same_authorities && revoked_serials(&self.revoked_pem)? == revoked_serials(&trust.revoked_pem)?)
    }
}

/// Returns the serial numbers on revocation lists.
fn revoked_serials(pem: &str) -> Result<Vec<Vec<u8>>, SecurityError> {
    let mut serials: Vec<Vec<u8>> = revoked(pem)?.into_iter().map(|(serial, _)| serial).collect();
    serials.sort_unstable();
    Ok(serials)
}

/// Returns the serial numbers on revocation lists, with the times of revocation in milliseconds since 1970.
pub(crate) fn revoked(pem: &str) -> Result<Vec<(Vec<u8>, u64)>, SecurityError> {
    let mut all = Vec::new();
    for list in revocation_lists(pem)? {
        let (_, parsed) = CertificateRevocationList::from_der(&list)
            .map_err(|_| SecurityError::Unreadable("the list of revoked certificates"))?;
        let at_ms = |seconds: i64| seconds.max(0) as u64 * 1_000;
        let entries = parsed.iter_revoked_certificates();
        all.extend(entries.map(|one| (one.raw_serial().to_vec(), at_ms(one.revocation_date.timestamp()))));
    }
    Ok(all)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key stays out of logs.
        f.debug_struct("Credentials").field("certificate_pem", &self.certificate_pem).finish_non_exhaustive()
    }
}

/// Error of credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// A part of the credentials is malformed.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// The parts of the credentials do not match.
    #[error("the certificate, its key and the authority do not fit together: {0}")]
    Unfit(String),
    /// The level needs credentials.
    #[error("encrypted links need credentials: a certificate of the platform's authority")]
    NoCredentials,
}

/// Returns the name in the certificates of this node, or of any.
pub(crate) fn node_dns_name(node: Option<&str>) -> String {
    match node {
        Some(node) => format!("{node}.node.whimbrel"),
        None => "node.whimbrel".to_owned(),
    }
}

/// Returns the name in the certificate with which a node certifies its agents.
pub(crate) fn agents_dns_name(node: &str) -> String {
    format!("{node}.agents.whimbrel")
}

/// Returns the name in the certificate of a program that has an agent of this name.
pub(crate) fn session_dns_name(agent: &str) -> String {
    format!("{agent}.session.whimbrel")
}

/// Clients that must show a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientAuthentication {
    Nobody,
    WhoLikes,
    Everybody,
}

/// TLS configuration of a node.
pub(crate) struct Tls {
    pub server: Arc<ServerConfig>,
    pub client: Arc<ClientConfig>,
    pub name: ServerName<'static>,
    /// Application protocol that both ends must agree on, if there is one.
    protocol: Option<&'static [u8]>,
    /// Certificates of the authority.
    pub authority: Vec<CertificateDer<'static>>,
    /// Verifier of nodes' certificates, at both ends.
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Tls {
    /// Checks that a handshake agreed on the application protocol of this level.
    ///
    /// # Errors
    /// The other end is of another level.
    pub fn check_level(&self, agreed: Option<&[u8]>) -> io::Result<()> {
        if agreed == self.protocol {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, rustls::Error::NoApplicationProtocol))
    }

    /// Returns the reason why a peer's certificate is not trusted, or no longer; `None` if it is trusted.
    pub fn distrusts(&self, chain: &[CertificateDer<'_>]) -> Option<rustls::Error> {
        let Some((certificate, others)) = chain.split_first() else {
            return Some(rustls::Error::NoCertificatesPresented);
        };
        self.verifier.verify_client_cert(certificate, others, UnixTime::now()).err()
    }

    /// Makes the configuration for links of this level; `None` if the level is open.
    pub fn new(level: LinkSecurity, credentials: Option<&Credentials>) -> Result<Option<Self>, SecurityError> {
        let showing = if level >= LinkSecurity::Authenticated {
            ClientAuthentication::Everybody
        } else {
            ClientAuthentication::Nobody
        };
        Self::with(level, showing, credentials)
    }

    /// Makes the configuration for an agent port of this level. Programs without a certificate have tokens.
    pub fn of_agent_port(
        level: LinkSecurity,
        credentials: Option<&Credentials>,
    ) -> Result<Option<Self>, SecurityError> {
        // Signatures of messages concern nodes.
        Self::with(level.min(LinkSecurity::Authenticated), ClientAuthentication::WhoLikes, credentials)
    }

    fn with(
        level: LinkSecurity,
        showing: ClientAuthentication,
        credentials: Option<&Credentials>,
    ) -> Result<Option<Self>, SecurityError> {
        if level == LinkSecurity::Open {
            return Ok(None);
        }
        let credentials = credentials.ok_or(SecurityError::NoCredentials)?;
        let unfit = |error: &dyn std::fmt::Display| SecurityError::Unfit(error.to_string());
        let provider = Arc::new(provider());
        let mut roots = RootCertStore::empty();
        let authority = certificates(&credentials.authority_pem, "the authority's certificate")?;
        for certificate in &authority {
            roots.add(certificate.clone()).map_err(|error| unfit(&error))?;
        }
        let roots = Arc::new(roots);
        let lists = revocation_lists(&credentials.revoked_pem)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .with_crls(lists.iter().cloned());
        let verifier =
            if showing == ClientAuthentication::WhoLikes { verifier.allow_unauthenticated() } else { verifier };
        let verifier = verifier.build().map_err(|error| unfit(&error))?;
        let server = server_config(showing, credentials, &provider, &verifier)?;
        let client = client_config(level, credentials, &provider, &roots, &lists)?;
        let (mut server, mut client) = (server, client);
        let protocol = (level == LinkSecurity::Signed).then_some(SIGNED_PROTOCOL);
        server.alpn_protocols = protocol.iter().map(|name| name.to_vec()).collect();
        client.alpn_protocols.clone_from(&server.alpn_protocols);
        let name = ServerName::try_from(node_dns_name(None)).map_err(|error| unfit(&error))?;
        let (server, client) = (Arc::new(server), Arc::new(client));
        Ok(Some(Self { server, client, name, protocol, authority, verifier }))
    }
}

/// Makes the TLS configuration for HTTP with this certificate. Clients need none.
///
/// # Errors
/// The certificate or its key cannot be used.
pub fn https(certificate_pem: &str, key_pem: &str) -> Result<Arc<ServerConfig>, SecurityError> {
    let unfit = |error: rustls::Error| SecurityError::Unfit(error.to_string());
    let chain = certificates(certificate_pem, "the certificate")?;
    let building = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    // All current browsers speak this version.
    let building = building.with_protocol_versions(&[&rustls::version::TLS13]).map_err(unfit)?;
    let mut config = building.with_no_client_auth().with_single_cert(chain, key(key_pem)?).map_err(unfit)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

pub(crate) fn revocation_lists(pem: &str) -> Result<Vec<CertificateRevocationListDer<'static>>, SecurityError> {
    let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(pem.as_bytes()).collect();
    lists.map_err(|_| SecurityError::Unreadable("the list of revoked certificates"))
}

pub(crate) fn certificates(pem: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or(SecurityError::Unreadable(what))
}

pub(crate) fn key(pem: &str) -> Result<PrivateKeyDer<'static>, SecurityError> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| SecurityError::Unreadable("the node's key"))
}

/// Returns the ciphers, AES-128 first: it takes two thirds of the time of AES-256, and every TLS 1.3 implementation has
/// it (RFC 8446 9.1).
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider
}

fn server_config(
    showing: ClientAuthentication,
    credentials: &Credentials,
    provider: &Arc<CryptoProvider>,
    verifier: &Arc<dyn ClientCertVerifier>,
) -> Result<ServerConfig, SecurityError> {
    let unfit = |error: &dyn std::fmt::Display| SecurityError::Unfit(error.to_string());
    let building = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| unfit(&error))?;
    let building = match showing {
        ClientAuthentication::Nobody => building.with_no_client_auth(),
        ClientAuthentication::WhoLikes | ClientAuthentication::Everybody => {
            building.with_client_cert_verifier(Arc::clone(verifier))
        }
    };
    let chain = certificates(&credentials.certificate_pem, "the node's certificate")?;
    let mut config = building.with_single_cert(chain, key(&credentials.key_pem)?).map_err(|error| unfit(&error))?;
    // Links last long: session resumption would only cost the server.
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client_config(
    level: LinkSecurity,
    credentials: &Credentials,
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    lists: &[CertificateRevocationListDer<'static>],
) -> Result<ClientConfig, SecurityError> {
    let unfit = |error: &dyn std::fmt::Display| SecurityError::Unfit(error.to_string());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider))
        .with_crls(lists.iter().cloned())
        .build()
        .map_err(|error| unfit(&error))?;
    let building = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| unfit(&error))?
        .with_webpki_verifier(verifier);
    if level < LinkSecurity::Authenticated {
        return Ok(building.with_no_client_auth());
    }
    let chain = certificates(&credentials.certificate_pem, "the node's certificate")?;
    building.with_client_auth_cert(chain, key(&credentials.key_pem)?).map_err(|error| unfit(&error))
}

/// Names in a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    nodes: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Identity {
    /// Reads the identity in a verified chain; `None` unless the authority itself signed the first certificate, so that
    /// only its own follow. Nodes have certificates to certify their agents; a statement of such a certificate about
    /// nodes and sessions is worthless.
    pub fn of_chain(chain: &[CertificateDer<'_>], authority: &[CertificateDer<'_>]) -> Option<Self> {
        let (first, others) = chain.split_first()?;
        others.iter().all(|other| authority.contains(other)).then(|| Self::of(first))
    }

    /// Agents of a session that the certificate names, and patterns of such names. The holder is called as the first.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(|name| name.strip_suffix(".session.whimbrel"))
    }

    /// Reads a verified certificate; empty if it is malformed.
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut identity = Self::default();
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return identity };
        let names = parsed.subject_alternative_name().ok().flatten();
        for name in names.into_iter().flat_map(|names| names.value.general_names.iter()) {
            match name {
                GeneralName::DNSName(name) => identity.nodes.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => identity.addresses.extend(address_of(bytes)),
                _ => {}
            }
        }
        identity
    }

    /// Returns the node that the certificate names, if it names one.
    pub fn node(&self) -> Option<&str> {
        self.nodes.iter().find_map(|name| name.strip_suffix(".node.whimbrel"))
    }

    /// Returns the reason why the identity is not that of a node that connects from this address; `None` if it is.
    pub fn contradicts(&self, node: &str, from: Option<IpAddr>) -> Option<(RefusalReason, String)> {
        if !self.nodes.contains(&node_dns_name(Some(node))) {
            return Some((RefusalReason::Impostor, format!("its certificate does not name node {node}")));
        }
        match from {
            Some(from) if !self.addresses.is_empty() && !self.addresses.contains(&from.to_canonical()) => {
                Some((RefusalReason::WrongAddress, format!("its certificate is not for the address {from}")))
            }
            _ => None,
        }
    }
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests {
    use rustls::{ClientConnection, ServerConnection};

    use super::*;
    use crate::Authority;

    #[test]
    fn links_use_quickest_cipher() {
        let credentials = Authority::create("p").unwrap().issue("n1", &[], 1).unwrap();
        for level in [LinkSecurity::Tls, LinkSecurity::Authenticated, LinkSecurity::Signed] {
            let tls = Tls::new(level, Some(&credentials)).unwrap().unwrap();
            let mut client = ClientConnection::new(tls.client, tls.name).unwrap();
            let mut server = ServerConnection::new(tls.server).unwrap();
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).unwrap();
            server.read_tls(&mut bytes.as_slice()).unwrap();
            server.process_new_packets().unwrap();
            let agreed = server.negotiated_cipher_suite().map(|suite| suite.suite());
            assert_eq!(agreed, Some(CipherSuite::TLS13_AES_128_GCM_SHA256));
        }
    }
}
