//! Certification authority of a platform: certifies which process is which node.
//!
//! An authority may have several keys. While one takes over from another, nodes trust both, and one of them signs.

pub mod file;
mod session;
mod token;
mod trust;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertificateSigningRequestParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PKCS_ED25519, PublicKeyData,
    RevocationReason, RevokedCertParams, SanType, SerialNumber,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use whimbrel_platform::limits::{CERTIFICATE_REQUEST_BYTES_MAX, CERTIFIED_NAMES_MAX, NODE_NAME_BYTES_MAX};

use crate::security::{Credentials, agents_dns_name, node_dns_name};

pub use session::SessionCredentials;
pub use token::{EnrolmentToken, EnrolmentTokenError, Permit};
pub use trust::Trust;

/// Validity of an authority's own certificate.
const AUTHORITY_DAYS: i64 = 3650;
/// Default validity of a node's certificate.
pub const NODE_DAYS: u32 = 90;
/// Time by which validity begins before a certificate is made, since clocks differ.
pub(crate) const CLOCK_SKEW: Duration = Duration::minutes(5);

/// Name in the certificate of the authority's service.
pub(crate) const SERVICE_NAME: &str = "ca.whimbrel";

/// Error of an authority.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// A certificate or list cannot be made.
    #[error("cannot make the certificate")]
    Certificate(#[from] rcgen::Error),
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoRandomness,
    /// The text is no IP address.
    #[error("{0:?} is no IP address")]
    BadAddress(String),
    /// The name is no name of a node.
    #[error("{0:?} cannot name a node: letters, digits, `-`, `_` and `.`, at most {NODE_NAME_BYTES_MAX}")]
    BadName(String),
    /// The certificate would name too many agents.
    #[error("too many agents for a certificate: at most {CERTIFIED_NAMES_MAX}")]
    TooManyNames,
    /// A file of the authority is malformed.
    #[error("not a file of an authority: {0}")]
    BadFile(&'static str),
    /// The passphrase does not open the key, or the key was tampered with.
    #[error("the passphrase does not open the authority's key")]
    BadPassphrase,
    /// The request for a certificate is malformed, or is for another node.
    #[error("bad request for a certificate of {node}: {why}")]
    BadRequest {
        /// Node that the request must be for.
        node: String,
        /// Fault of the request.
        why: String,
    },
    /// The token is refused.
    #[error(transparent)]
    Token(#[from] EnrolmentTokenError),
    /// The step of a key rotation is out of order.
    #[error("{0}")]
    Rotation(String),
}

/// Issued certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Serial number, in hexadecimal digits.
    pub serial: String,
    /// Node that the certificate names.
    pub node: String,
    /// End of validity, in seconds since 1970-01-01 UTC.
    pub not_after_s: i64,
    /// Time of revocation, if the certificate was revoked.
    pub revoked_s: Option<i64>,
    /// Number of the key that signed the certificate, from 1.
    pub key: u32,
    /// Addresses that the node may connect from; any if empty.
    pub addresses: Vec<String>,
    /// True for the certificate with which the node certifies its agents.
    pub agents: bool,
}

/// Key of an authority.
struct AuthorityKey {
    number: u32,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// Certification authority of a platform.
pub struct Authority {
    platform: String,
    /// Keys, the oldest first; never empty.
    signers: Vec<AuthorityKey>,
    /// Number of the key that signs.
    signing: u32,
    issued: Vec<Issued>,
    permits: Vec<Permit>,
    /// Number of revocation lists made so far, and the present list of each key, if it is up to date.
    lists: u64,
    revoked_pem: Option<String>,
}

/// Certificate of one of the authority's keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptSigner {
    pub number: u32,
    pub certificate_pem: String,
}

/// Stored state of an authority, without its keys.
#[derive(Serialize, Deserialize)]
pub(crate) struct AuthorityRegister {
    pub platform: String,
    pub signers: Vec<KeptSigner>,
    pub signing: u32,
    pub issued: Vec<Issued>,
    pub permits: Vec<Permit>,
    pub lists: u64,
    #[serde(default)]
    pub revoked_pem: Option<String>,
}

/// Request of a node: for its own key, and for the key with which it certifies its agents.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeRequest {
    /// Certificate signing request (PKCS #10) for the node's key, as PEM.
    pub csr_pem: String,
    /// Certificate signing request for the key that certifies the node's agents.
    pub agents_csr_pem: String,
}

/// Keys of a node that is to be certified. They never leave the node.
pub struct NodeKeys {
    key: KeyPair,
    agents_key: KeyPair,
}

/// Answer of an authority to a node's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCertificates {
    /// Certificate of the node, as PEM.
    pub certificate_pem: String,
    /// Certificate of the key that certifies the node's agents.
    pub agents_pem: String,
    /// Trust of the node; see [`Trust`].
    pub trust: Trust,
}

impl NodeKeys {
    /// Makes new keys.
    ///
    /// # Errors
    /// No keys can be made.
    pub fn generate() -> Result<Self, AuthorityError> {
        Ok(Self { key: KeyPair::generate()?, agents_key: KeyPair::generate_for(&PKCS_ED25519)? })
    }

    /// Makes a request for certificates of these keys, for the node of this name.
    ///
    /// # Errors
    /// The name is no name of a node.
    pub fn request(&self, node: &str) -> Result<NodeRequest, AuthorityError> {
        let csr = |name: String, key: &KeyPair| -> Result<String, AuthorityError> {
            Ok(CertificateParams::new(vec![name])?.serialize_request(key)?.pem()?)
        };
        Ok(NodeRequest {
            csr_pem: csr(node_dns_name(Some(node)), &self.key)?,
            agents_csr_pem: csr(agents_dns_name(node), &self.agents_key)?,
        })
    }

    /// Combines the keys with their certificates.
    pub fn with(self, certificates: NodeCertificates) -> Credentials {
        let NodeCertificates { certificate_pem, agents_pem, trust } = certificates;
        Credentials {
            certificate_pem,
            key_pem: self.key.serialize_pem(),
            agents_pem,
            agents_key_pem: self.agents_key.serialize_pem(),
            authority_pem: trust.authority_pem,
            revoked_pem: trust.revoked_pem,
        }
    }
}

impl AuthorityKey {
    fn create(platform: &str, number: u32) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        // Names differ, so that the right issuer is found.
        params.distinguished_name.push(DnType::CommonName, format!("{platform} authority {number}"));
        params.distinguished_name.push(DnType::OrganizationName, platform);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + Duration::days(AUTHORITY_DAYS);
        let certificate_pem = params.self_signed(&key)?.pem();
        Ok(Self { number, certificate_pem, issuer: Issuer::new(params, key) })
    }

    fn restore(kept: KeptSigner, key_pem: &str) -> Result<Self, AuthorityError> {
        let issuer = Issuer::from_ca_cert_pem(&kept.certificate_pem, KeyPair::from_pem(key_pem)?)?;
        Ok(Self { number: kept.number, certificate_pem: kept.certificate_pem, issuer })
    }
}

impl Authority {
    /// Creates an authority for the platform of this name.
    ///
    /// # Errors
    /// No key can be made.
    pub fn create(platform: &str) -> Result<Self, AuthorityError> {
        let signers = vec![AuthorityKey::create(platform, 1)?];
        let (platform, issued, permits) = (platform.to_owned(), Vec::new(), Vec::new());
        Ok(Self { platform, signers, signing: 1, issued, permits, lists: 0, revoked_pem: None })
    }

    /// Restores an authority from its stored state, and its keys by number.
    pub(crate) fn restore(register: AuthorityRegister, keys_pem: &[(u32, String)]) -> Result<Self, AuthorityError> {
        let AuthorityRegister { platform, signers, signing, issued, permits, lists, revoked_pem } = register;
        let restore = |kept: KeptSigner| {
            let key = keys_pem.iter().find(|(number, _)| *number == kept.number);
            let (_, key) = key.ok_or(AuthorityError::BadFile("the key of a certificate is missing"))?;
            AuthorityKey::restore(kept, key)
        };
        let signers = signers.into_iter().map(restore).collect::<Result<_, _>>()?;
        Ok(Self { platform, signers, signing, issued, permits, lists, revoked_pem })
    }

    pub(crate) fn register(&self) -> AuthorityRegister {
        let kept = |signer: &AuthorityKey| KeptSigner {
            number: signer.number,
            certificate_pem: signer.certificate_pem.clone(),
        };
        AuthorityRegister {
            platform: self.platform.clone(),
            signers: self.signers.iter().map(kept).collect(),
            signing: self.signing,
            issued: self.issued.clone(),
            permits: self.permits.clone(),
            lists: self.lists,
            revoked_pem: self.revoked_pem.clone(),
        }
    }

    pub(crate) fn keys_pem(&self) -> Vec<(u32, String)> {
        self.signers.iter().map(|signer| (signer.number, signer.issuer.key().serialize_pem())).collect()
    }

    fn signer(&self) -> Result<&AuthorityKey, AuthorityError> {
        let signing = self.signers.iter().find(|signer| signer.number == self.signing);
        signing.ok_or(AuthorityError::BadFile("no key signs"))
    }

    /// Returns the key that has been known for the longest time. All nodes trust it, also those that know no other yet.
    fn eldest(&self) -> Result<&AuthorityKey, AuthorityError> {
        self.signers.first().ok_or(AuthorityError::BadFile("it has no key"))
    }

    /// Returns the platform of the authority.
    pub fn platform(&self) -> &str {
        &self.platform
    }

    /// Certificates of the authority's keys, that of the signing key last. Trusting them means trusting the authority.
    pub fn certificates_pem(&self) -> String {
        let (signing, others): (Vec<_>, Vec<_>) = self.signers.iter().partition(|one| one.number == self.signing);
        others.into_iter().chain(signing).map(|signer| signer.certificate_pem.as_str()).collect()
    }

    /// SHA-256 digest of the certificate that identifies the authority's service, in hexadecimal digits: that of the
    /// oldest key.
    ///
    /// # Errors
    /// The authority has no key.
    pub fn fingerprint(&self) -> Result<String, AuthorityError> {
        fingerprint_of(&self.eldest()?.certificate_pem)
    }

    /// Returns the issued certificates, the oldest first.
    pub fn issued(&self) -> &[Issued] {
        &self.issued
    }

    /// Issues a key and a certificate for a node. If `addresses` are given, the node may only connect from these.
    ///
    /// # Errors
    /// The name or an address is invalid, or no key can be made.
    pub fn issue(&mut self, node: &str, addresses: &[String], days: u32) -> Result<Credentials, AuthorityError> {
        let keys = NodeKeys::generate()?;
        let certificates = self.certify(node, addresses, days, &keys.request(node)?)?;
        Ok(keys.with(certificates))
    }

    /// Issues certificates for the keys of a node, if the request names that node and no other.
    ///
    /// # Errors
    /// The request is malformed or names another node; or the name or an address is invalid.
    pub fn certify(
        &mut self,
        node: &str,
        addresses: &[String],
        days: u32,
        request: &NodeRequest,
    ) -> Result<NodeCertificates, AuthorityError> {
        if !is_node_name(node) {
            return Err(AuthorityError::BadName(node.to_owned()));
        }
        let key = read_request(&request.csr_pem, node, &node_dns_name(Some(node)))?;
        let agents_key = read_request(&request.agents_csr_pem, node, &agents_dns_name(node))?;
        let mut params = CertificateParams::new(vec![node_dns_name(None), node_dns_name(Some(node))])?;
        for address in addresses {
            let ip = address.parse().map_err(|_| AuthorityError::BadAddress(address.clone()))?;
            params.subject_alt_names.push(SanType::IpAddress(ip));
        }
        params.distinguished_name.push(DnType::CommonName, node);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate_pem = self.sign(params, (node, addresses, false), days, &key.public_key)?;
        let mut params = CertificateParams::new(vec![agents_dns_name(node)])?;
        params.distinguished_name.push(DnType::CommonName, format!("agents of {node}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let agents_pem = self.sign(params, (node, &[], true), days, &agents_key.public_key)?;
        Ok(NodeCertificates { certificate_pem, agents_pem, trust: self.trust()? })
    }

    /// Signs a certificate for a node, and records it.
    fn sign(
        &mut self,
        mut params: CertificateParams,
        (node, addresses, agents): (&str, &[String], bool),
        days: u32,
        key: &impl PublicKeyData,
    ) -> Result<String, AuthorityError> {
        params.distinguished_name.push(DnType::OrganizationName, self.platform.as_str());
        params.use_authority_key_identifier_extension = true;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + Duration::days(i64::from(days));
        let serial = new_serial()?;
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        let pem = params.signed_by(key, &self.signer()?.issuer)?.pem();
        self.issued.push(Issued {
            serial: hex(&serial),
            node: node.to_owned(),
            not_after_s: params.not_after.unix_timestamp(),
            revoked_s: None,
            key: self.signing,
            addresses: addresses.to_vec(),
            agents,
        });
        Ok(pem)
    }

    /// Issues a certificate for the authority's own service, with which nodes enrol: valid for a day, and not recorded.
    /// Returns its chain and key as PEM.
    pub(crate) fn service_certificate(&self) -> Result<(String, String), AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![SERVICE_NAME.to_owned()])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + Duration::days(1);
        params.serial_number = Some(SerialNumber::from_slice(&new_serial()?));
        let signer = self.eldest()?;
        let pem = params.signed_by(&key, &signer.issuer)?.pem();
        Ok((format!("{pem}{}", signer.certificate_pem), key.serialize_pem()))
    }

    /// Revokes all certificates of this node, or the one of this serial number. Returns their number.
    pub fn revoke(&mut self, node_or_serial: &str) -> usize {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let meant =
            |one: &&mut Issued| one.revoked_s.is_none() && (one.node == node_or_serial || one.serial == node_or_serial);
        let count = self.issued.iter_mut().filter(meant).map(|one| one.revoked_s = Some(now)).count();
        if count > 0 {
            self.revoked_pem = None;
        }
        count
    }

    /// Returns the present trust, for nodes.
    ///
    /// # Errors
    /// A revocation list cannot be made.
    pub fn trust(&mut self) -> Result<Trust, AuthorityError> {
        Ok(Trust { authority_pem: self.certificates_pem(), revoked_pem: self.revocation_lists()? })
    }

    /// Returns the revocation lists, one of each key. They stay the same until another certificate is revoked.
    ///
    /// # Errors
    /// The lists cannot be made.
    pub fn revocation_lists(&mut self) -> Result<String, AuthorityError> {
        if let Some(lists) = &self.revoked_pem {
            return Ok(lists.clone());
        }
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
        let mut lists = String::new();
        for signer in &self.signers {
            let params = CertificateRevocationListParams {
                this_update: now - CLOCK_SKEW,
                next_update: now + Duration::days(AUTHORITY_DAYS),
                crl_number: SerialNumber::from(self.lists),
                issuing_distribution_point: None,
                revoked_certs: self.issued.iter().filter(|one| one.key == signer.number).filter_map(revoked).collect(),
                key_identifier_method: KeyIdMethod::Sha256,
            };
            lists += &params.signed_by(&signer.issuer)?.pem()?;
        }
        self.revoked_pem = Some(lists.clone());
        Ok(lists)
    }

    /// Returns true if the node's certificate was signed by another key than the one that signs now, and must be
    /// renewed.
    pub fn is_outdated(&self, node: &str) -> bool {
        self.issued.iter().rev().find(|one| one.node == node).is_none_or(|newest| newest.key != self.signing)
    }

    /// Takes the first step to a new key: makes it, so that nodes trust it; the present key signs.
    ///
    /// # Errors
    /// Another key is taking over already, or no key can be made.
    pub fn begin_rotation(&mut self) -> Result<(), AuthorityError> {
        if self.signers.len() > 1 {
            return Err(AuthorityError::Rotation(
                "a key rotation is in progress: finish it with `whimbrel ca rotate FOLDER --switch`, then `--finish`"
                    .to_owned(),
            ));
        }
        let number = self.signing + 1;
        self.signers.push(AuthorityKey::create(&self.platform, number)?);
        self.revoked_pem = None;
        Ok(())
    }

    /// Takes the second step, when all nodes trust the new key: it signs from now on, and nodes renew their
    /// certificates.
    ///
    /// # Errors
    /// There is no new key, or the new key signs already.
    pub fn switch_rotation(&mut self) -> Result<(), AuthorityError> {
        let newest = self.signers.last().map_or(self.signing, |signer| signer.number);
        if newest == self.signing {
            return Err(AuthorityError::Rotation(
                "no new key to switch to: begin with `whimbrel ca rotate FOLDER`".to_owned(),
            ));
        }
        self.signing = newest;
        Ok(())
    }

    /// Takes the last step, when all nodes have certificates by the new key: forgets the old key.
    ///
    /// # Errors
    /// The new key does not sign yet; or nodes have valid certificates by the old key only, and the step is not
    /// `forced`.
    pub fn finish_rotation(&mut self, forced: bool) -> Result<(), AuthorityError> {
        let oldest = self.signers.first().map_or(self.signing, |signer| signer.number);
        if oldest == self.signing {
            return Err(AuthorityError::Rotation(
                "no old key to forget: `whimbrel ca rotate FOLDER --switch` comes first".to_owned(),
            ));
        }
        let now_s = OffsetDateTime::now_utc().unix_timestamp();
        let good = self.issued.iter().filter(|one| one.revoked_s.is_none() && one.not_after_s > now_s);
        let mut waiting: Vec<&str> = good.map(|one| one.node.as_str()).filter(|node| self.is_outdated(node)).collect();
        waiting.sort_unstable();
        waiting.dedup();
        if !waiting.is_empty() && !forced {
            let text = format!(
                "nodes with certificates by the old key only: {}: give them new ones (`whimbrel ca issue`), or add --force",
                waiting.join(", ")
            );
            return Err(AuthorityError::Rotation(text));
        }
        let signing = self.signing;
        self.signers.retain(|signer| signer.number == signing);
        self.revoked_pem = None;
        Ok(())
    }

    /// Makes a token with which the node of this name can enrol, once and within `valid`. If `addresses` are given, its
    /// certificate is for these.
    ///
    /// # Errors
    /// The name or an address is invalid.
    pub fn permit(
        &mut self,
        node: &str,
        addresses: &[String],
        days: u32,
        valid: std::time::Duration,
    ) -> Result<EnrolmentToken, AuthorityError> {
        if !is_node_name(node) {
            return Err(AuthorityError::BadName(node.to_owned()));
        }
        if let Some(bad) = addresses.iter().find(|address| address.parse::<std::net::IpAddr>().is_err()) {
            return Err(AuthorityError::BadAddress(bad.clone()));
        }
        let token = EnrolmentToken::new(node, &self.fingerprint()?)?;
        let expires_s = OffsetDateTime::now_utc().unix_timestamp() + valid.as_secs() as i64;
        self.permits.retain(|permit| permit.is_of_interest());
        self.permits.push(token.permit(addresses, days, expires_s));
        Ok(token)
    }

    /// Enrols the bearer of a token: returns certificates for its node, and uses the token up.
    ///
    /// # Errors
    /// The token is unknown, was used, or has expired; or the request is for another node, which does not use the token
    /// up.
    pub fn admit(&mut self, token: &EnrolmentToken, request: &NodeRequest) -> Result<NodeCertificates, AuthorityError> {
        let now_s = OffsetDateTime::now_utc().unix_timestamp();
        let permit = token.find(&self.permits, now_s)?.clone();
        let certificates = self.certify(&permit.node, &permit.addresses, permit.days, request)?;
        if let Some(used) = self.permits.iter_mut().find(|one| one.id == permit.id) {
            used.used_s = Some(now_s);
        }
        Ok(certificates)
    }

    /// Renews the certificates of a node, for the same addresses.
    ///
    /// # Errors
    /// The node has no valid certificate, or the request is for another node.
    pub fn renew(&mut self, node: &str, request: &NodeRequest) -> Result<NodeCertificates, AuthorityError> {
        let bad = |why: &str| AuthorityError::BadRequest { node: node.to_owned(), why: why.to_owned() };
        let mut newest_first = self.issued.iter().rev();
        let newest = newest_first.find(|one| one.node == node && !one.agents && one.revoked_s.is_none());
        let addresses = newest.ok_or_else(|| bad("no valid certificate to renew"))?.addresses.clone();
        self.certify(node, &addresses, NODE_DAYS, request)
    }
}

/// Reads a request for a certificate of this name and no other. The signature of the request proves that the sender has
/// the key.
fn read_request(pem: &str, node: &str, name: &str) -> Result<CertificateSigningRequestParams, AuthorityError> {
    let bad = |why: String| AuthorityError::BadRequest { node: node.to_owned(), why };
    if pem.len() > CERTIFICATE_REQUEST_BYTES_MAX {
        return Err(bad(format!("it has {} bytes", pem.len())));
    }
    let request = CertificateSigningRequestParams::from_pem(pem).map_err(|error| bad(error.to_string()))?;
    let names = &request.params.subject_alt_names;
    match names.as_slice() {
        [SanType::DnsName(asked)] if asked.as_str() == name => Ok(request),
        _ => Err(bad(format!("it names {}", names.iter().map(name_in).collect::<Vec<_>>().join(", ")))),
    }
}

fn name_in(name: &SanType) -> String {
    match name {
        SanType::DnsName(name) => name.as_str().to_owned(),
        other => format!("{other:?}"),
    }
}

pub(crate) use whimbrel_platform::links::is_node_name;

fn fingerprint_of(pem: &str) -> Result<String, AuthorityError> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes());
    Ok(fingerprint(&der.map_err(|_| AuthorityError::BadFile("a certificate"))?))
}

/// Returns a certificate's SHA-256 digest, in hexadecimal digits.
pub(crate) fn fingerprint(certificate: &[u8]) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, certificate).as_ref())
}

/// Makes sixteen random bytes, the first bit clear: a positive number.
pub(crate) fn new_serial() -> Result<[u8; 16], AuthorityError> {
    let mut serial = random::<16>()?;
    if let Some(first) = serial.first_mut() {
        *first = *first & 0x7f | 0x40;
    }
    Ok(serial)
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], AuthorityError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| AuthorityError::NoRandomness)?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |place: usize| text.get(place..place + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(())?;
    (0..text.len()).step_by(2).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: std::time::Duration = std::time::Duration::from_secs(3_600);

    fn request(node: &str) -> NodeRequest {
        NodeKeys::generate().unwrap().request(node).unwrap()
    }

    fn why<T: std::fmt::Debug>(outcome: Result<T, AuthorityError>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn token_enrols_one_node_once() {
        let mut authority = Authority::create("p").unwrap();
        let token = authority.permit("n2", &["127.0.0.1".to_owned()], 5, HOUR).unwrap();
        let read: EnrolmentToken = token.to_string().parse().unwrap();
        assert_eq!((&read, read.node()), (&token, "n2"));
        let other = why(authority.admit(&token, &request("n3")));
        assert_eq!(other, "bad request for a certificate of n2: it names n3.node.whimbrel");
        let issued = authority.admit(&token, &request("n2")).unwrap();
        assert!(issued.certificate_pem.starts_with("-----BEGIN CERTIFICATE"));
        assert_eq!(
            why(authority.admit(&token, &request("n2"))),
            "the token was used already: make another with `whimbrel ca token`"
        );
        assert_eq!(authority.issued().len(), 2);
        assert_eq!(authority.issued()[0].addresses, ["127.0.0.1"]);
    }

    #[test]
    fn wrong_tokens_are_refused() {
        let (mut authority, mut other) = (Authority::create("p").unwrap(), Authority::create("p").unwrap());
        let theirs = other.permit("n2", &[], 5, HOUR).unwrap();
        assert_eq!(why(authority.admit(&theirs, &request("n2"))), "unknown token: this authority did not make it");
        let late = authority.permit("n2", &[], 5, std::time::Duration::ZERO).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        assert_eq!(
            why(authority.admit(&late, &request("n2"))),
            "the token has expired: make another with `whimbrel ca token`"
        );
        let good = authority.permit("n2", &[], 5, HOUR).unwrap().to_string();
        // Token with another name and the same secret.
        let renamed: EnrolmentToken = good.replace(".n2", ".n1").parse().unwrap();
        assert_eq!(why(authority.admit(&renamed, &request("n1"))), "unknown token: this authority did not make it");
        let at = good.find('.').unwrap() + 20;
        let digit = if good.as_bytes()[at] == b'0' { "1" } else { "0" };
        let guessed: EnrolmentToken = format!("{}{digit}{}", &good[..at], &good[at + 1..]).parse().unwrap();
        assert_eq!(why(authority.admit(&guessed, &request("n2"))), "unknown token: this authority did not make it");
        assert!(matches!(authority.permit("no name", &[], 5, HOUR), Err(AuthorityError::BadName(_))));
        assert!(matches!(authority.permit("n", &["x".into()], 5, HOUR), Err(AuthorityError::BadAddress(_))));
    }

    #[test]
    fn request_for_another_node_is_refused() {
        let mut authority = Authority::create("p").unwrap();
        let keys = NodeKeys::generate().unwrap();
        let honest = keys.request("n2").unwrap();
        let csr = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let csr_pem = CertificateParams::new(names).unwrap().serialize_request(&keys.key).unwrap().pem().unwrap();
            NodeRequest { csr_pem, agents_csr_pem: honest.agents_csr_pem.clone() }
        };
        for names in [&["n1.node.whimbrel"][..], &["n2.node.whimbrel", "n1.node.whimbrel"], &["127.0.0.1"], &[]] {
            let refused = authority.certify("n2", &[], 1, &csr(names));
            assert!(why(refused).starts_with("bad request for a certificate of n2: it names"), "{names:?}");
        }
        for (csr_pem, agents_csr_pem) in [
            (honest.agents_csr_pem.clone(), honest.agents_csr_pem.clone()),
            (honest.csr_pem.clone(), honest.csr_pem.clone()),
            ("nonsense".to_owned(), honest.agents_csr_pem.clone()),
            ("x".repeat(CERTIFICATE_REQUEST_BYTES_MAX + 1), honest.agents_csr_pem.clone()),
        ] {
            assert!(authority.certify("n2", &[], 1, &NodeRequest { csr_pem, agents_csr_pem }).is_err());
        }
        // A request signed by another key than its own: the sender does not have the key.
        let flipped = honest.csr_pem.lines().map(|line| format!("{line}\n")).collect::<Vec<_>>();
        let mut broken = flipped.clone();
        let last = broken.len() - 2;
        broken[last] = broken[last].chars().rev().collect::<String>().trim_start().to_owned() + "\n";
        let broken = NodeRequest { csr_pem: broken.concat(), agents_csr_pem: honest.agents_csr_pem.clone() };
        assert!(authority.certify("n2", &[], 1, &broken).is_err());
        assert!(authority.issued().is_empty());
        assert!(authority.certify("n2", &[], 1, &honest).is_ok());
    }

    #[test]
    fn key_rotation_takes_three_steps() {
        let mut authority = Authority::create("p").unwrap();
        authority.issue("n1", &["127.0.0.1".to_owned()], 5).unwrap();
        assert!(why(authority.switch_rotation()).contains("no new key"));
        assert!(why(authority.finish_rotation(false)).contains("no old key"));
        let before = authority.fingerprint().unwrap();
        authority.begin_rotation().unwrap();
        assert_eq!(authority.fingerprint().unwrap(), before);
        assert_eq!(authority.certificates_pem().matches("BEGIN CERTIFICATE").count(), 2);
        assert_eq!(authority.revocation_lists().unwrap().matches("BEGIN X509 CRL").count(), 2);
        assert!(why(authority.begin_rotation()).contains("finish it with"));
        authority.switch_rotation().unwrap();
        assert_eq!(authority.fingerprint().unwrap(), before, "its service is known by the old one still");
        assert!(authority.is_outdated("n1"));
        assert!(why(authority.finish_rotation(false)).contains("by the old key only: n1: give"));
        authority.renew("n1", &request("n1")).unwrap();
        assert_eq!(authority.issued()[2].addresses, ["127.0.0.1"]);
        authority.finish_rotation(false).unwrap();
        assert_ne!(authority.fingerprint().unwrap(), before);
        assert_eq!(authority.certificates_pem().matches("BEGIN CERTIFICATE").count(), 1);
        assert!(why(authority.renew("n7", &request("n7"))).contains("no valid certificate to renew"));
    }
}
