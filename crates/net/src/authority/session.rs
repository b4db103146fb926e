//! Certificates of programs that have agents at agent ports.

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};

use whimbrel_platform::limits::CERTIFIED_NAMES_MAX;

use super::{Authority, AuthorityError, is_node_name};
use crate::security::session_dns_name;

/// Credentials of a program at an agent port, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionCredentials {
    /// Certificate of the program.
    pub certificate_pem: String,
    /// Private key of the program.
    pub key_pem: String,
    /// Certificates of the platform's authority.
    pub authority_pem: String,
}

impl Authority {
    /// Issues a key and a certificate that let a program have the agent of this name, and others, by names or patterns
    /// (`*`, `?`). The certificate is recorded and revoked as `session:NAME`.
    ///
    /// A name has characters that certificates do not allow, there are too many names, or no key can be made.
    pub fn issue_session(
        &mut self,
        name: &str,
        others: &[String],
        days: u32,
    ) -> Result<SessionCredentials, AuthorityError> {
        let fits = |pattern: &str| is_node_name(&pattern.replace(['*', '?'], "-"));
        if let Some(bad) = others.iter().map(String::as_str).find(|other| !fits(other)) {
            return Err(AuthorityError::BadName(bad.to_owned()));
        }
        if !is_node_name(name) {
            return Err(AuthorityError::BadName(name.to_owned()));
        }
        if others.len() >= CERTIFIED_NAMES_MAX {
            return Err(AuthorityError::TooManyNames);
        }
        let key = KeyPair::generate()?;
        let names = std::iter::once(name).chain(others.iter().map(String::as_str)).map(session_dns_name);
        let mut params = CertificateParams::new(names.collect::<Vec<_>>())?;
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
    fn only_authority_certifies_sessions() {
        let mut authority = Authority::create("home").unwrap();
        let bob = authority.issue_session("bob", &["bob-*".to_owned()], 1).unwrap();
        let roots = chain(&[&bob.authority_pem]);
        for shown in [&[bob.certificate_pem.as_str()][..], &[&bob.certificate_pem, &bob.authority_pem]] {
            let identity = Identity::of_chain(&chain(shown), &roots).unwrap();
            assert_eq!((identity.sessions().collect::<Vec<_>>(), identity.node()), (vec!["bob", "bob-*"], None));
        }
        assert_eq!(authority.revoke("session:bob"), 1);

        // A malicious node signs certificates with the key for its agents.
        let node = authority.issue("n2", &[], 1).unwrap();
        let key = KeyPair::from_pem(&node.agents_key_pem).unwrap();
        let issuer = Issuer::from_ca_cert_pem(&node.agents_pem, key).unwrap();
        for name in [session_dns_name("bob"), node_dns_name(Some("n1"))] {
            let params = CertificateParams::new(vec![name]).unwrap();
            let forged = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap().pem();
            assert_eq!(Identity::of_chain(&chain(&[&forged, &node.agents_pem]), &roots), None);
            assert_eq!(Identity::of_chain(&chain(&[&forged, &node.agents_pem, &bob.authority_pem]), &roots), None);
        }
        for (name, others) in
            [("b b", vec![]), ("", vec![]), ("b*", vec![]), ("b", vec!["x y"]), ("b", vec!["c"; CERTIFIED_NAMES_MAX])]
        {
            let others: Vec<String> = others.into_iter().map(str::to_owned).collect();
            assert!(authority.issue_session(name, &others, 1).is_err(), "{name} {others:?}");
        }
    }
}
