//! Service of the authority: enrols nodes and renews their certificates.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use whimbrel_platform::audit::{Act, Auditor, Party, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::connection_limit::{ConnectionLimit, ConnectionPlace};
use whimbrel_platform::limits::{ENROLMENT_MS, ENROLMENTS_MAX, ENROLMENTS_PER_ADDRESS_MAX};

use super::{EnrolmentAnswer, EnrolmentQuestion, read_line};
use crate::authority::file::{AuthorityFileError, Folder};
use crate::authority::{AuthorityError, EnrolmentToken};
use crate::hub::HubError;
use crate::port_guard::PortGuard;
use crate::refusal;
use crate::security::{Identity, SecurityError, certificates, key, revocation_lists};
use crate::threads::Threads;

/// Maximal age of the service's TLS configuration: its certificate is valid for a day.
const FRESH: Duration = Duration::from_secs(12 * 3_600);

/// Configuration of the service.
pub struct EnrolmentConfig {
    /// Folder of the authority.
    pub folder: Folder,
    /// Recorder of refusals.
    pub auditor: Option<Arc<dyn Auditor>>,
    /// Log for operators.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

/// Service of the authority; it runs until this is dropped.
pub struct Enrolment {
    inner: Arc<EnrolmentState>,
    address: SocketAddr,
    _threads: Threads,
}

struct EnrolmentState {
    folder: Folder,
    guard: Arc<PortGuard>,
    tls: Mutex<Option<ServiceTls>>,
}

/// TLS configuration of the service, and the version of the authority that it was made from.
struct ServiceTls {
    made: Instant,
    epoch: (u32, usize, usize),
    config: Arc<ServerConfig>,
}

impl Enrolment {
    /// Starts the service at this address; port 0 takes any free one.
    ///
    /// # Errors
    /// The address cannot be listened at, threads cannot be started, or the folder holds no authority that opens.
    pub fn start(config: EnrolmentConfig, address: &str) -> Result<Self, EnrolmentError> {
        let EnrolmentConfig { folder, auditor, log } = config;
        let inner = Arc::new(EnrolmentState { folder, guard: PortGuard::new(auditor, log), tls: Mutex::default() });
        inner.tls()?;
        let threads = Threads::start(1, "whimbrel-authority").map_err(HubError::Threads)?;
        let failed = |source| HubError::Listen { address: address.to_owned(), source };
        let listener = threads.block_on(TcpListener::bind(address)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        threads.spawn(accept(listener, Arc::clone(&inner)));
        threads.spawn(Arc::clone(&inner.guard).say_counts());
        Ok(Self { inner, address, _threads: threads })
    }

    /// Address of the service.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counts of refusals, by reason.
    pub fn refusals(&self) -> &RefusalCounts {
        self.inner.guard.counts()
    }
}

/// Error of starting the service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolmentError {
    /// The address cannot be listened at, or threads cannot be started.
    #[error(transparent)]
    Listen(#[from] HubError),
    /// The authority cannot be used.
    #[error(transparent)]
    Authority(#[from] AuthorityFileError),
    /// The certificates that the authority made for the service do not match.
    #[error(transparent)]
    Security(#[from] SecurityError),
}

async fn accept(listener: TcpListener, inner: Arc<EnrolmentState>) {
    // No address may take all places: a node that is shut out learns of no revocation.
    let room = ConnectionLimit::of(ENROLMENTS_MAX, ENROLMENTS_PER_ADDRESS_MAX);
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Some(place) = room.enter(from.ip()) else {
            let what = Refused::stranger(RefusalReason::TooMany, from.ip(), "too many requests at once");
            inner.guard.refuse(&what);
            continue;
        };
        let inner = Arc::clone(&inner);
        tokio::spawn(async move {
            let talk = tokio::time::timeout(Duration::from_millis(ENROLMENT_MS), inner.talk(socket, from, place)).await;
            let slow = || std::io::Error::new(std::io::ErrorKind::InvalidData, "timeout");
            if let Err(error) = talk.unwrap_or_else(|_| Err(slow())) {
                let (reason, why) = (refusal::of_connection(&error), error.to_string());
                let line = || format!("connection from {from} closed: {why}");
                inner.guard.close_stranger(from.ip(), reason, &why, line);
            }
        });
    }
}

impl EnrolmentState {
    /// Returns the TLS configuration, made anew when the authority has changed.
    fn tls(&self) -> Result<Arc<ServerConfig>, EnrolmentError> {
        let mut kept = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        let epoch = self.folder.epoch()?;
        if let Some(shown) = kept.as_ref().filter(|shown| shown.epoch == epoch && shown.made.elapsed() < FRESH) {
            return Ok(Arc::clone(&shown.config));
        }
        let (trust, service) =
            self.folder.with(|authority| Ok((authority.trust()?, authority.service_certificate()?)))?;
        let unfit = |error: &dyn std::fmt::Display| SecurityError::Unfit(error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&trust.authority_pem, "the authority's certificate")? {
            roots.add(certificate).map_err(|error| unfit(&error))?;
        }
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .with_crls(revocation_lists(&trust.revoked_pem)?)
            .allow_unauthenticated()
            .build()
            .map_err(|error| unfit(&error))?;
        let (chain, secret) = service;
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unfit(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates(&chain, "the service's certificate")?, key(&secret)?)
            .map_err(|error| unfit(&error))?;
        let config = Arc::new(config);
        *kept = Some(ServiceTls { made: Instant::now(), epoch, config: Arc::clone(&config) });
        Ok(config)
    }

    /// Answers the question of a connection, which has `place` among those of its address.
    async fn talk(self: &Arc<Self>, socket: TcpStream, from: SocketAddr, mut place: ConnectionPlace) -> io::Result<()> {
        let inner = Arc::clone(self);
        // Opening the authority's key with a passphrase is slow by design.
        let tls = tokio::task::spawn_blocking(move || inner.tls()).await?.map_err(io::Error::other)?;
        let mut stream = TlsAcceptor::from(tls).accept(socket).await?;
        let identity = stream.get_ref().1.peer_certificates().and_then(|chain| Identity::of_chain(chain, &[]));
        let line = read_line(&mut stream).await?.ok_or(io::ErrorKind::InvalidData)?;
        let question: EnrolmentQuestion = serde_json::from_slice(&line)?;
        let inner = Arc::clone(self);
        let outcome = tokio::task::spawn_blocking(move || inner.answer(question, identity.as_ref(), from)).await?;
        let answer = match outcome {
            Ok(answer) => answer,
            Err((reason, why)) => {
                self.guard.close_stranger(from.ip(), Some(reason), &why, || format!("refused {from}: {why}"));
                if reason == RefusalReason::BadToken {
                    match self.guard.slow_down(from.ip(), place).await {
                        Some(other) => place = other,
                        None => return Ok(()),
                    }
                }
                EnrolmentAnswer::Refused { why }
            }
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        stream.write_all(&text).await?;
        let closed = stream.shutdown().await;
        drop(place);
        closed
    }

    fn answer(
        &self,
        question: EnrolmentQuestion,
        identity: Option<&Identity>,
        from: SocketAddr,
    ) -> Result<EnrolmentAnswer, Refusal> {
        let did = |node: &str, action: &str| {
            let (who, from) = (format!("node:{node}"), from.ip().to_string());
            self.guard.allow(&Act { who: Party::named(&who), from: &from, action, object: node, detail: "" });
        };
        match question {
            EnrolmentQuestion::Enrol { token, request } => {
                let (node, answer) = self.enrol(&token, &request)?;
                did(&node, "enrol");
                Ok(answer)
            }
            EnrolmentQuestion::Renew { request } => self.of_node(identity, from, |node| {
                let certificates = self.folder.with(|authority| authority.renew(node, &request))?;
                self.guard.say(&format!("renewed the certificate of {node}"));
                did(node, "renew");
                Ok(EnrolmentAnswer::Issued(certificates))
            }),
            EnrolmentQuestion::Trust {} => self.of_node(identity, from, |node| {
                let answer = |authority: &mut crate::Authority| {
                    Ok(EnrolmentAnswer::Trust { trust: authority.trust()?, outdated: authority.is_outdated(node) })
                };
                self.folder.with(answer)
            }),
        }
    }

    fn enrol(&self, token: &str, request: &crate::NodeRequest) -> Result<(String, EnrolmentAnswer), Refusal> {
        let token: EnrolmentToken = token.parse().map_err(|error| refusal_of(&AuthorityError::Token(error).into()))?;
        // Strangers may guess as often as they like without the key being opened for it.
        self.folder.check(&token)?;
        let certificates = self.folder.with(|authority| authority.admit(&token, request))?;
        self.guard.say(&format!("{} enrolled", token.node()));
        Ok((token.node().to_owned(), EnrolmentAnswer::Issued(certificates)))
    }

    /// Runs `work` for the node that the connection's certificate names.
    fn of_node(
        &self,
        identity: Option<&Identity>,
        from: SocketAddr,
        work: impl FnOnce(&str) -> Result<EnrolmentAnswer, AuthorityFileError>,
    ) -> Result<EnrolmentAnswer, Refusal> {
        let node = identity.and_then(Identity::node);
        let node = node.ok_or((RefusalReason::BadCertificate, "no certificate of a node".to_owned()))?;
        if let Some((reason, why)) = identity.and_then(|identity| identity.contradicts(node, Some(from.ip()))) {
            return Err((reason, why));
        }
        work(node).map_err(|error| refusal_of(&error))
    }
}

type Refusal = (RefusalReason, String);

fn refusal_of(error: &AuthorityFileError) -> Refusal {
    let reason = match error {
        AuthorityFileError::Authority(AuthorityError::Token(_)) => RefusalReason::BadToken,
        AuthorityFileError::Authority(AuthorityError::BadRequest { .. }) => RefusalReason::Impostor,
        // Files and keys are nobody else's business.
        _ => return (RefusalReason::Malformed, "the authority cannot do that now".to_owned()),
    };
    (reason, error.to_string())
}

impl From<AuthorityFileError> for Refusal {
    fn from(error: AuthorityFileError) -> Self {
        refusal_of(&error)
    }
}
