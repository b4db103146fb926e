//! Client of the authority's service, used by nodes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use whimbrel_platform::limits::ENROLMENT_MS;

use super::{EnrolmentAnswer, EnrolmentQuestion, read_line};
use crate::authority::{
    AuthorityError, EnrolmentToken, EnrolmentTokenError, NodeKeys, SERVICE_NAME, Trust, fingerprint,
};
use crate::security::{Credentials, Identity, LinkSecurity, SecurityError, Tls, certificates};

/// Error of a request to the authority's service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolError {
    /// The token is malformed.
    #[error(transparent)]
    Token(#[from] EnrolmentTokenError),
    /// The service cannot be reached, or does not belong to the authority that made the token.
    #[error("cannot talk to the authority at {address}")]
    Connection {
        /// Address of the service.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// The authority refuses the request.
    #[error("the authority refuses: {0}")]
    Refused(String),
    /// The answer is malformed.
    #[error("malformed answer from {0}: no authority is there")]
    NoAnswer(String),
    /// The node's credentials cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// Keys cannot be made.
    #[error(transparent)]
    Keys(#[from] AuthorityError),
    /// Threads cannot be started.
    #[error("cannot start the network threads")]
    Threads(#[source] io::Error),
}

/// Enrols with a token: makes keys, which stay on the node, and gets certificates for them.
///
/// # Errors
/// See [`EnrolError`].
pub fn enrol(address: &str, token: &EnrolmentToken) -> Result<Credentials, EnrolError> {
    let keys = NodeKeys::generate()?;
    let provider = Arc::new(default_provider());
    let pinned = Pinned { fingerprint: token.fingerprint().to_owned(), provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| SecurityError::Unfit(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    let question = EnrolmentQuestion::Enrol { token: token.to_string(), request: keys.request(token.node())? };
    match ask(address, Arc::new(config), &question)? {
        EnrolmentAnswer::Issued(certificates) => Ok(keys.with(certificates)),
        answer => Err(refused(address, answer)),
    }
}

/// Renews a node's credentials: new keys and new certificates, for the same name.
///
/// # Errors
/// See [`EnrolError`].
pub fn renew(address: &str, present: &Credentials) -> Result<Credentials, EnrolError> {
    let keys = NodeKeys::generate()?;
    let node = node_of(present)?;
    match ask(address, client_of(present)?, &EnrolmentQuestion::Renew { request: keys.request(&node)? })? {
        EnrolmentAnswer::Issued(certificates) => Ok(keys.with(certificates)),
        answer => Err(refused(address, answer)),
    }
}

/// Gets the present trust, and whether the node's own certificate was signed by a key that another one took over from.
///
/// # Errors
/// See [`EnrolError`].
pub fn look_after(address: &str, present: &Credentials) -> Result<(Trust, bool), EnrolError> {
    match ask(address, client_of(present)?, &EnrolmentQuestion::Trust {})? {
        EnrolmentAnswer::Trust { trust, outdated } => Ok((trust, outdated)),
        answer => Err(refused(address, answer)),
    }
}

fn refused(address: &str, answer: EnrolmentAnswer) -> EnrolError {
    match answer {
        EnrolmentAnswer::Refused { why } => EnrolError::Refused(why),
        _ => EnrolError::NoAnswer(address.to_owned()),
    }
}

fn client_of(credentials: &Credentials) -> Result<Arc<ClientConfig>, EnrolError> {
    let tls = Tls::new(LinkSecurity::Authenticated, Some(credentials))?.ok_or(SecurityError::NoCredentials)?;
    Ok(tls.client)
}

/// Returns the node that credentials name.
fn node_of(credentials: &Credentials) -> Result<String, SecurityError> {
    let chain = certificates(&credentials.certificate_pem, "the node's certificate")?;
    let identity = chain.first().map(Identity::of).unwrap_or_default();
    identity.node().map(str::to_owned).ok_or(SecurityError::Unreadable("the node's certificate"))
}

fn ask(address: &str, config: Arc<ClientConfig>, question: &EnrolmentQuestion) -> Result<EnrolmentAnswer, EnrolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(EnrolError::Threads)?;
    let talk = async {
        let socket = TcpStream::connect(address).await?;
        let name = ServerName::try_from(SERVICE_NAME).map_err(io::Error::other)?;
        let mut stream = TlsConnector::from(config).connect(name, socket).await?;
        let mut text = serde_json::to_vec(question)?;
        text.push(b'\n');
        stream.write_all(&text).await?;
        stream.flush().await?;
        read_line(&mut stream).await
    };
    let patience = Duration::from_millis(ENROLMENT_MS);
    let answered = runtime.block_on(async { tokio::time::timeout(patience, talk).await });
    let failed = |source| EnrolError::Connection { address: address.to_owned(), source };
    let line = answered.map_err(|_| failed(io::ErrorKind::TimedOut.into()))?.map_err(failed)?;
    let no_answer = || EnrolError::NoAnswer(address.to_owned());
    serde_json::from_slice(&line.ok_or_else(no_answer)?).map_err(|_| no_answer())
}

/// Verifier that trusts the authority whose certificate has a known digest. It searches that certificate in the chain
/// that the service shows, and then verifies everything with the certificate as its root.
#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let believed = intermediates.iter().find(|certificate| fingerprint(certificate) == self.fingerprint);
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let mut roots = RootCertStore::empty();
        roots.add(believed.ok_or_else(unknown)?.clone().into_owned())?;
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider))
            .build()
            .map_err(|_| unknown())?
            .verify_server_cert(end_entity, &[], server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
