//! Certificates of a node, for operators.

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::Credentials;
use crate::security::{certificates, revoked};

/// Role of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateOf {
    /// Certificate of this node.
    Node,
    /// Certificate of the authority.
    Authority,
    /// Certificate of the key with which the node certifies its agents.
    Certifier,
    /// Certificate of an agent of this node.
    Agent,
    /// Certificate of an agent outside, which keeps its key itself.
    Session,
}

impl CertificateOf {
    /// Returns the name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Authority => "authority",
            Self::Certifier => "certifier",
            Self::Agent => "agent",
            Self::Session => "session",
        }
    }
}

/// Content of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSeen {
    /// Role of the certificate.
    pub of: CertificateOf,
    /// Subject, or the alternative names, which are more specific.
    pub subject: String,
    /// Issuer.
    pub issuer: String,
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// Start of validity, in milliseconds since 1970-01-01 UTC.
    pub from_ms: u64,
    /// End of validity, in milliseconds since 1970-01-01 UTC.
    pub until_ms: u64,
    /// True if the certificate is on the node's revocation list.
    pub is_revoked: bool,
}

/// Revoked certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedSeen {
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// Time of revocation, in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
}

/// Own and trusted certificates of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certified {
    /// Certificates of the node first, then those of its agents.
    pub certificates: Vec<CertificateSeen>,
    /// Revoked certificates.
    pub revoked: Vec<RevokedSeen>,
}

impl Certified {
    /// Reads the certificates of credentials. Unreadable ones are left out: with them there would be no links.
    pub(crate) fn of(credentials: &Credentials) -> Self {
        let revoked = revoked(&credentials.revoked_pem).unwrap_or_default();
        let revoked = revoked.into_iter().map(|(serial, at_ms)| RevokedSeen { serial: hex(&serial), at_ms }).collect();
        let mut seen = Self { certificates: Vec::new(), revoked };
        for (of, pem) in [
            (CertificateOf::Node, &credentials.certificate_pem),
            (CertificateOf::Certifier, &credentials.agents_pem),
            (CertificateOf::Authority, &credentials.authority_pem),
        ] {
            // Behind the first certificate is its issuer's, which is listed by itself.
            let most = if of == CertificateOf::Authority { usize::MAX } else { 1 };
            let chain = certificates(pem, "a certificate").unwrap_or_default();
            chain.iter().take(most).for_each(|certificate| seen.add(of, certificate));
        }
        seen
    }

    pub(crate) fn add(&mut self, of: CertificateOf, certificate: &CertificateDer<'_>) {
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return };
        let ms = |seconds: i64| seconds.max(0) as u64 * 1_000;
        let serial = hex(parsed.raw_serial());
        let is_revoked = self.revoked.iter().any(|revoked| revoked.serial == serial);
        self.certificates.push(CertificateSeen {
            of,
            subject: names_of(&parsed),
            issuer: parsed.issuer().to_string(),
            serial,
            from_ms: ms(parsed.validity().not_before.timestamp()),
            until_ms: ms(parsed.validity().not_after.timestamp()),
            is_revoked,
        });
    }
}

/// Names in a certificate.
fn names_of(certificate: &X509Certificate<'_>) -> String {
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.into_iter().flat_map(|names| names.value.general_names.iter()).filter_map(|name| match name {
        GeneralName::DNSName(name) | GeneralName::URI(name) => Some((*name).to_owned()),
        _ => None,
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() { certificate.subject().to_string() } else { names.join(", ") }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authority, NODE_DAYS};

    #[test]
    fn certificates_of_credentials_are_listed() {
        let mut authority = Authority::create("estuary").expect("an authority");
        let credentials = authority.issue("n1", &[], NODE_DAYS).expect("credentials");
        let seen = Certified::of(&credentials);
        let of: Vec<(CertificateOf, bool)> = seen.certificates.iter().map(|one| (one.of, one.is_revoked)).collect();
        assert!(
            of.contains(&(CertificateOf::Node, false)) && of.contains(&(CertificateOf::Authority, false)),
            "{of:?}"
        );
        let node = seen.certificates.first().expect("its own");
        assert!(node.subject.contains("n1.node.whimbrel") && node.issuer.contains("estuary"), "{node:?}");
        assert!(node.from_ms < node.until_ms);
        let days = (node.until_ms - node.from_ms) / 86_400_000;
        assert!(days.abs_diff(u64::from(NODE_DAYS)) <= 1, "{days}");
        assert_eq!(seen.revoked, []);
    }
}
