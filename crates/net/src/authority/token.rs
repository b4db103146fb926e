//! Tokens with which nodes enrol: each lets one node in, once, and tells it which authority to believe.
//!
//! `FINGERPRINT.ID.SECRET.NODE`: the SHA-256 digest of the authority's certificate, which the node compares before it says
//! anything (as kubeadm and step-ca do); a number; a secret; the node's name. The authority keeps the secret's digest only.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::{AuthorityError, fingerprint, hex, is_node_name, random, unhex};

/// How long an authority remembers tokens that were used or ran out, to tell whoever comes with one what is wrong.
const REMEMBERED_S: i64 = 7 * 86_400;
const FINGERPRINT_BYTES: usize = 32;
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 16;

/// See the module.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    fingerprint: String,
    id: String,
    secret: String,
    node: String,
}

/// What an authority keeps of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// The token's number.
    pub id: String,
    /// The digest of its secret and of the name of the node.
    pub digest: String,
    /// Which node it lets in.
    pub node: String,
    /// Where that node may come from.
    pub addresses: Vec<String>,
    /// How long its certificate will be good for.
    pub days: u32,
    /// Until when it can be used, in seconds since 1970-01-01 UTC.
    pub expires_s: i64,
    /// When it was used, if it was.
    pub used_s: Option<i64>,
}

/// Why a token lets nobody in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is not written as tokens are.
    #[error("this is no token: expected what `whimbrel ca token` printed")]
    Unreadable,
    /// This authority never made it.
    #[error("the token is not one of this authority")]
    Unknown,
    /// Its time is over.
    #[error("the token is too old")]
    Expired,
    /// Somebody enrolled with it.
    #[error("the token was used already")]
    Used,
}

impl Token {
    pub(super) fn new(node: &str, fingerprint: &str) -> Result<Self, AuthorityError> {
        let (id, secret) = (hex(&random::<ID_BYTES>()?), hex(&random::<SECRET_BYTES>()?));
        Ok(Self { fingerprint: fingerprint.to_owned(), id, secret, node: node.to_owned() })
    }

    /// The node that it is for.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The digest of the certificate of the authority that made it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Of a secret of 128 random bits: nobody can guess it from its digest.
    fn digest(&self) -> String {
        fingerprint(format!("{}.{}.{}", self.id, self.secret, self.node).as_bytes())
    }

    pub(super) fn permit(&self, addresses: &[String], days: u32, expires_s: i64) -> Permit {
        let (id, node, addresses) = (self.id.clone(), self.node.clone(), addresses.to_vec());
        Permit { id, digest: self.digest(), node, addresses, days, expires_s, used_s: None }
    }

    /// What an authority keeps of it, if it lets its bearer in.
    pub(crate) fn find<'a>(&self, permits: &'a [Permit], now_s: i64) -> Result<&'a Permit, TokenError> {
        let digest = self.digest();
        let known = permits.iter().find(|permit| permit.id == self.id && permit.digest == digest);
        let permit = known.ok_or(TokenError::Unknown)?;
        if permit.used_s.is_some() {
            return Err(TokenError::Used);
        }
        if now_s > permit.expires_s {
            return Err(TokenError::Expired);
        }
        Ok(permit)
    }
}

impl Permit {
    pub(super) fn is_of_interest(&self) -> bool {
        OffsetDateTime::now_utc().unix_timestamp() < self.expires_s + REMEMBERED_S
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fingerprint, id, secret, node } = self;
        write!(f, "{fingerprint}.{id}.{secret}.{node}")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays out of logs.
        f.debug_struct("Token").field("id", &self.id).field("node", &self.node).finish_non_exhaustive()
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let mut parts = text.trim().splitn(4, '.');
        let mut digits = |bytes: usize| {
            let part = parts.next().filter(|part| unhex(part).is_some_and(|read| read.len() == bytes));
            part.map(str::to_ascii_lowercase).ok_or(TokenError::Unreadable)
        };
        let (fingerprint, id, secret) = (digits(FINGERPRINT_BYTES)?, digits(ID_BYTES)?, digits(SECRET_BYTES)?);
        let node = parts.next().filter(|node| is_node_name(node)).ok_or(TokenError::Unreadable)?.to_owned();
        Ok(Self { fingerprint, id, secret, node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_token_is_told() {
        for text in
            ["", "a.b.c.d", "00.11.22.n1", &format!("{}.{}.{}.", "0".repeat(64), "1".repeat(12), "2".repeat(32))]
        {
            assert_eq!(text.parse::<Token>(), Err(TokenError::Unreadable), "{text}");
        }
        let good = format!("{}.{}.{}.n.1-b_2", "0".repeat(64), "1".repeat(12), "2".repeat(32));
        let token: Token = good.parse().unwrap();
        assert_eq!((token.node(), token.to_string()), ("n.1-b_2", good));
        assert!(!format!("{token:?}").contains("2222"), "the secret is not shown");
    }
}
