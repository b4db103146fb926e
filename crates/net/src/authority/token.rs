//! Tokens for enrolment: each enrols one node, once, and tells the node which authority to trust.
//!
//! Form: `FINGERPRINT.ID.SECRET.NODE`. The fingerprint is the SHA-256 digest of the authority's certificate, which the
//! node compares before it sends anything (as kubeadm and step-ca do). The authority keeps the digest of the secret
//! only.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::{AuthorityError, fingerprint, hex, is_node_name, random, unhex};

/// Time for which an authority remembers used and expired tokens, to name the reason of a refusal.
const REMEMBERED_S: i64 = 7 * 86_400;
const FINGERPRINT_BYTES: usize = 32;
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 16;

/// Token for enrolment.
#[derive(Clone, PartialEq, Eq)]
pub struct EnrolmentToken {
    fingerprint: String,
    id: String,
    secret: String,
    node: String,
}

/// Record of a token in the authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// Number of the token.
    pub id: String,
    /// Digest of the secret and the name of the node.
    pub digest: String,
    /// Node that the token enrols.
    pub node: String,
    /// Addresses that the node may connect from.
    pub addresses: Vec<String>,
    /// Validity of the node's certificate, in days.
    pub days: u32,
    /// End of the token's validity, in seconds since 1970-01-01 UTC.
    pub expires_s: i64,
    /// Time at which the token was used, if it was.
    pub used_s: Option<i64>,
}

/// Reason for which a token is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolmentTokenError {
    /// The text is no token.
    #[error("malformed token: expected the output of `whimbrel ca token`")]
    Unreadable,
    /// The authority did not make the token.
    #[error("unknown token: this authority did not make it")]
    Unknown,
    /// The token has expired.
    #[error("the token has expired: make another with `whimbrel ca token`")]
    Expired,
    /// The token was used already.
    #[error("the token was used already: make another with `whimbrel ca token`")]
    Used,
}

impl EnrolmentToken {
    pub(super) fn new(node: &str, fingerprint: &str) -> Result<Self, AuthorityError> {
        let (id, secret) = (hex(&random::<ID_BYTES>()?), hex(&random::<SECRET_BYTES>()?));
        Ok(Self { fingerprint: fingerprint.to_owned(), id, secret, node: node.to_owned() })
    }

    /// Node that the token enrols.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the digest of the certificate of the authority that made the token.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the digest of the secret. Its 128 random bits cannot be guessed from the digest.
    fn digest(&self) -> String {
        fingerprint(format!("{}.{}.{}", self.id, self.secret, self.node).as_bytes())
    }

    pub(super) fn permit(&self, addresses: &[String], days: u32, expires_s: i64) -> Permit {
        let (id, node, addresses) = (self.id.clone(), self.node.clone(), addresses.to_vec());
        Permit { id, digest: self.digest(), node, addresses, days, expires_s, used_s: None }
    }

    /// Returns the record of a valid token.
    pub(crate) fn find<'a>(&self, permits: &'a [Permit], now_s: i64) -> Result<&'a Permit, EnrolmentTokenError> {
        let digest = self.digest();
        let known = permits.iter().find(|permit| permit.id == self.id && permit.digest == digest);
        let permit = known.ok_or(EnrolmentTokenError::Unknown)?;
        if permit.used_s.is_some() {
            return Err(EnrolmentTokenError::Used);
        }
        if now_s > permit.expires_s {
            return Err(EnrolmentTokenError::Expired);
        }
        Ok(permit)
    }
}

impl Permit {
    pub(super) fn is_of_interest(&self) -> bool {
        OffsetDateTime::now_utc().unix_timestamp() < self.expires_s + REMEMBERED_S
    }
}

impl fmt::Display for EnrolmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fingerprint, id, secret, node } = self;
        write!(f, "{fingerprint}.{id}.{secret}.{node}")
    }
}

impl fmt::Debug for EnrolmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays out of logs.
        f.debug_struct("Token").field("id", &self.id).field("node", &self.node).finish_non_exhaustive()
    }
}

impl FromStr for EnrolmentToken {
    type Err = EnrolmentTokenError;

    fn from_str(text: &str) -> Result<Self, EnrolmentTokenError> {
        let mut parts = text.trim().splitn(4, '.');
        let mut digits = |bytes: usize| {
            let part = parts.next().filter(|part| unhex(part).is_some_and(|read| read.len() == bytes));
            part.map(str::to_ascii_lowercase).ok_or(EnrolmentTokenError::Unreadable)
        };
        let (fingerprint, id, secret) = (digits(FINGERPRINT_BYTES)?, digits(ID_BYTES)?, digits(SECRET_BYTES)?);
        let node = parts.next().filter(|node| is_node_name(node)).ok_or(EnrolmentTokenError::Unreadable)?.to_owned();
        Ok(Self { fingerprint, id, secret, node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_token_is_refused() {
        for text in
            ["", "a.b.c.d", "00.11.22.n1", &format!("{}.{}.{}.", "0".repeat(64), "1".repeat(12), "2".repeat(32))]
        {
            assert_eq!(text.parse::<EnrolmentToken>(), Err(EnrolmentTokenError::Unreadable), "{text}");
        }
        let good = format!("{}.{}.{}.n.1-b_2", "0".repeat(64), "1".repeat(12), "2".repeat(32));
        let token: EnrolmentToken = good.parse().unwrap();
        assert_eq!((token.node(), token.to_string()), ("n.1-b_2", good));
        assert!(!format!("{token:?}").contains("2222"), "the secret is not shown");
    }
}
