//! The certification authority of a platform: it says which process is which node.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams, SanType, SerialNumber,
};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use crate::security::{Credentials, node_dns_name};

/// How long an authority's own certificate is good for.
const AUTHORITY_DAYS: i64 = 3650;
/// How long a node's certificate is good for, if nothing else is said.
pub const NODE_DAYS: u32 = 90;
/// Clocks differ: certificates are good from somewhat before they were made.
const CLOCK_SKEW: Duration = Duration::minutes(5);

/// Why an authority cannot do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// A certificate or list cannot be made.
    #[error("cannot make the certificate")]
    Certificate(#[from] rcgen::Error),
    /// There is no randomness to be had.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// The address is none.
    #[error("{0:?} is no IP address")]
    BadAddress(String),
    /// A file of it is not what it should be.
    #[error("this is no authority's file: {0}")]
    BadFile(&'static str),
    /// The key does not open with this passphrase, or was tampered with.
    #[error("the passphrase does not open the authority's key")]
    BadPassphrase,
}

/// A certificate that was issued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Its serial number, in hexadecimal digits.
    pub serial: String,
    /// The node that it names.
    pub node: String,
    /// Until when it is good, in seconds since 1970-01-01 UTC.
    pub not_after_s: i64,
    /// When it was revoked, if it was.
    pub revoked_s: Option<i64>,
}

/// See the module.
pub struct Authority {
    platform: String,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
    issued: Vec<Issued>,
    lists: u64,
}

/// All of an authority but its key, as it is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct Register {
    pub platform: String,
    pub certificate_pem: String,
    pub issued: Vec<Issued>,
    pub lists: u64,
}

impl Authority {
    /// A new authority for the platform of this name.
    ///
    /// # Errors
    /// No key can be made.
    pub fn create(platform: &str) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("{platform} authority"));
        params.distinguished_name.push(DnType::OrganizationName, platform);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + Duration::days(AUTHORITY_DAYS);
        let certificate_pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self { platform: platform.to_owned(), certificate_pem, issuer, issued: Vec::new(), lists: 0 })
    }

    pub(crate) fn restore(register: Register, key_pem: &str) -> Result<Self, AuthorityError> {
        let Register { platform, certificate_pem, issued, lists } = register;
        let issuer = Issuer::from_ca_cert_pem(&certificate_pem, KeyPair::from_pem(key_pem)?)?;
        Ok(Self { platform, certificate_pem, issuer, issued, lists })
    }

    pub(crate) fn register(&self) -> Register {
        let Self { platform, certificate_pem, issued, lists, .. } = self;
        let (platform, certificate_pem) = (platform.clone(), certificate_pem.clone());
        Register { platform, certificate_pem, issued: issued.clone(), lists: *lists }
    }

    pub(crate) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// The platform it is for.
    pub fn platform(&self) -> &str {
        &self.platform
    }

    /// Its certificate.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// All certificates it issued, oldest first.
    pub fn issued(&self) -> &[Issued] {
        &self.issued
    }

    /// A key and a certificate for a node. If `addresses` are given, the node may only come from these.
    ///
    /// # Errors
    /// An address is none, or no key can be made.
    pub fn issue(&mut self, node: &str, addresses: &[String], days: u32) -> Result<Credentials, AuthorityError> {
        let key = KeyPair::generate()?;
        let names = vec![node_dns_name(None), node_dns_name(Some(node))];
        let mut params = CertificateParams::new(names)?;
        for address in addresses {
            let ip = address.parse().map_err(|_| AuthorityError::BadAddress(address.clone()))?;
            params.subject_alt_names.push(SanType::IpAddress(ip));
        }
        params.distinguished_name.push(DnType::CommonName, node);
        params.distinguished_name.push(DnType::OrganizationName, self.platform.as_str());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + Duration::days(i64::from(days));
        let serial = new_serial()?;
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        let certificate_pem = params.signed_by(&key, &self.issuer)?.pem();
        let not_after_s = params.not_after.unix_timestamp();
        self.issued.push(Issued { serial: hex(&serial), node: node.to_owned(), not_after_s, revoked_s: None });
        Ok(Credentials {
            certificate_pem,
            key_pem: key.serialize_pem(),
            authority_pem: self.certificate_pem.clone(),
            revoked_pem: self.revocation_list()?,
        })
    }

    /// Takes back all certificates of this node, or the one of this serial number; returns how many.
    pub fn revoke(&mut self, node_or_serial: &str) -> usize {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let meant =
            |one: &&mut Issued| one.revoked_s.is_none() && (one.node == node_or_serial || one.serial == node_or_serial);
        self.issued.iter_mut().filter(meant).map(|one| one.revoked_s = Some(now)).count()
    }

    /// The list of certificates that were taken back, signed.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn revocation_list(&mut self) -> Result<String, AuthorityError> {
        self.lists += 1;
        let now = OffsetDateTime::now_utc();
        let revoked = |one: &Issued| {
            Some(RevokedCertParams {
                serial_number: SerialNumber::from_slice(&unhex(&one.serial)?),
                revocation_time: OffsetDateTime::from_unix_timestamp(one.revoked_s?).ok()?,
                reason_code: Some(RevocationReason::PrivilegeWithdrawn),
                invalidity_date: None,
            })
        };
        let params = CertificateRevocationListParams {
            this_update: now - CLOCK_SKEW,
            next_update: now + Duration::days(AUTHORITY_DAYS),
            crl_number: SerialNumber::from(self.lists),
            issuing_distribution_point: None,
            revoked_certs: self.issued.iter().filter_map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(params.signed_by(&self.issuer)?.pem()?)
    }
}

/// Sixteen random bytes, the first bit clear: a positive number.
fn new_serial() -> Result<[u8; 16], AuthorityError> {
    let mut serial = [0; 16];
    SystemRandom::new().fill(&mut serial).map_err(|_| AuthorityError::NoRandomness)?;
    if let Some(first) = serial.first_mut() {
        *first = *first & 0x7f | 0x40;
    }
    Ok(serial)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |place: usize| text.get(place..place + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (text.len().is_multiple_of(2) && text.is_ascii()).then_some(())?;
    (0..text.len()).step_by(2).map(digit).collect()
}
