//! An authority for one run, and certificates of both ends by it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The name in both ends' certificates.
pub const NAME: &str = "localhost";

/// Makes `authority.pem`, `end.pem` and `end.key` in a folder.
pub fn make(folder: &Path) -> Result<()> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let end = CertificateParams::new(vec![NAME.to_owned(), "127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("authority.pem"), authority.pem())?;
    std::fs::write(folder.join("end.pem"), end.pem())?;
    std::fs::write(folder.join("end.key"), key.serialize_pem())?;
    Ok(())
}

type Parts = (Arc<RootCertStore>, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read(folder: &Path) -> Result<Parts> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("authority.pem"))?)?;
    let chain = vec![CertificateDer::from_pem_file(folder.join("end.pem"))?];
    Ok((Arc::new(roots), chain, PrivateKeyDer::from_pem_file(folder.join("end.key"))?))
}

/// TLS 1.3 with certificates on both ends: the end that accepts.
pub fn server(folder: &Path) -> Result<Arc<ServerConfig>> {
    let (roots, chain, key) = read(folder)?;
    let verifier = WebPkiClientVerifier::builder(roots).build().context("the authority")?;
    let config = ServerConfig::builder_with_protocol_versions(&[&rustls::version::TLS13]);
    Ok(Arc::new(config.with_client_cert_verifier(verifier).with_single_cert(chain, key)?))
}

/// The end that connects.
pub fn client(folder: &Path) -> Result<Arc<ClientConfig>> {
    let (roots, chain, key) = read(folder)?;
    let config = ClientConfig::builder_with_protocol_versions(&[&rustls::version::TLS13]);
    Ok(Arc::new(config.with_root_certificates(roots).with_client_auth_cert(chain, key)?))
}
