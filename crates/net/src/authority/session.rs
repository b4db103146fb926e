//! Certificates of programs that have agents at agent ports.

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};

use super::{Authority, AuthorityError, is_node_name};
use crate::security::session_dns_name;

/// What a program shows at an agent port, and whom it trusts; as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionCredentials {
    /// Its certificate.
    pub certificate_pem: String,
    /// Its private key.
    pub key_pem: String,
    /// The certificates of the platform's authority.
    pub authority_pem: String,
}

impl Authority {
    /// A key and a certificate that let a program have the agent of this name. It is recorded, and revoked, as
    /// `session:NAME`.
    ///
    /// # Errors
    /// The name has characters that are no part of names in certificates, or no key can be made.
    pub fn issue_session(&mut self, name: &str, days: u32) -> Result<SessionCredentials, AuthorityError> {
        if !is_node_name(name) {
            return Err(AuthorityError::BadName(name.to_owned()));
        }
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![session_dns_name(name)])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate_pem = self.sign(params, (&format!("session:{name}"), &[], false), days, &key)?;
        Ok(SessionCredentials { certificate_pem, key_pem: key.serialize_pem(), authority_pem: self.certificates_pem() })
    }
}

#[cfg(test)]
mod tests {
    use rcgen::Issuer;
    use rustls::pki_types::CertificateDer;

    use super::*;
    use crate::security::{Identity, certificates, node_dns_name};

    fn chain(pems: &[&str]) -> Vec<CertificateDer<'static>> {
        certificates(&pems.concat(), "a certificate").unwrap()
    }

    #[test]
    fn only_what_the_authority_itself_signed_says_who_somebody_is() {
        let mut authority = Authority::create("home").unwrap();
        let bob = authority.issue_session("bob", 1).unwrap();
        let roots = chain(&[&bob.authority_pem]);
        for shown in [&[bob.certificate_pem.as_str()][..], &[&bob.certificate_pem, &bob.authority_pem]] {
            let identity = Identity::of_chain(&chain(shown), &roots).unwrap();
            assert_eq!((identity.session(), identity.node()), (Some("bob"), None));
        }
        assert_eq!(authority.revoke("session:bob"), 1);

        // A node that goes bad signs certificates with the key for its agents.
        let node = authority.issue("n2", &[], 1).unwrap();
        let key = KeyPair::from_pem(&node.agents_key_pem).unwrap();
        let issuer = Issuer::from_ca_cert_pem(&node.agents_pem, key).unwrap();
        for name in [session_dns_name("bob"), node_dns_name(Some("n1"))] {
            let params = CertificateParams::new(vec![name]).unwrap();
            let forged = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap().pem();
            assert_eq!(Identity::of_chain(&chain(&[&forged, &node.agents_pem]), &roots), None);
            assert_eq!(Identity::of_chain(&chain(&[&forged, &node.agents_pem, &bob.authority_pem]), &roots), None);
        }
        assert!(authority.issue_session("b b", 1).is_err() && authority.issue_session("", 1).is_err());
    }
}
