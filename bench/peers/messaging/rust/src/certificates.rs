//! TLS 1.3 with certificates on both ends.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};

/// The name in both ends' certificates.
pub const NAME: &str = "localhost";

type Parts = (Arc<RootCertStore>, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read(folder: &Path) -> Result<Parts> {
    // AES-128 before AES-256, as in Whimbrel.
    let mut provider = rustls::crypto::ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    let _ = provider.install_default();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("authority.pem"))?)?;
    let chain = vec![CertificateDer::from_pem_file(folder.join("end.pem"))?];
    Ok((Arc::new(roots), chain, PrivateKeyDer::from_pem_file(folder.join("end.key"))?))
}

/// TLS configuration of the accepting end.
pub fn server(folder: &Path) -> Result<Arc<ServerConfig>> {
    let (roots, chain, key) = read(folder)?;
    let verifier = WebPkiClientVerifier::builder(roots).build().context("the authority")?;
    let config = ServerConfig::builder_with_protocol_versions(&[&rustls::version::TLS13]);
    Ok(Arc::new(config.with_client_cert_verifier(verifier).with_single_cert(chain, key)?))
}

/// TLS configuration of the connecting end.
pub fn client(folder: &Path) -> Result<Arc<ClientConfig>> {
    let (roots, chain, key) = read(folder)?;
    let config = ClientConfig::builder_with_protocol_versions(&[&rustls::version::TLS13]);
    Ok(Arc::new(config.with_root_certificates(roots).with_client_auth_cert(chain, key)?))
}
