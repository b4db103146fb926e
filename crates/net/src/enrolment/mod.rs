//! Enrolment: nodes get their certificates from the authority over the network.
//!
//! A conversation is one line of JSON each way over TLS 1.3. A node that enrols knows the authority by the fingerprint
//! in its token, and proves itself by the token's secret. A node that renews shows its present certificate.

mod client;
mod server;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use whimbrel_platform::limits::ENROLMENT_BYTES_MAX;

use crate::authority::{NodeCertificates, NodeRequest, Trust};

pub use client::{EnrolError, enrol, look_after, renew};
pub use server::{Enrolment, EnrolmentConfig};

/// Question to the service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EnrolmentQuestion {
    /// Enrols a node that has no certificate, with a token.
    Enrol {
        /// Token, as `whimbrel ca token` printed it.
        token: String,
        /// Keys to certify.
        request: NodeRequest,
    },
    /// Renews the certificates of the node that the connection's certificate names.
    Renew {
        /// Keys to certify.
        request: NodeRequest,
    },
    /// Asks for the present trust.
    Trust {},
}

/// Answer of the service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnrolmentAnswer {
    /// Certificates.
    Issued(NodeCertificates),
    /// Trusted and revoked certificates.
    Trust {
        /// Certificates of the authority, and its revocation lists.
        trust: Trust,
        /// True if the node's certificate was signed by a key that another one took over from.
        outdated: bool,
    },
    /// Refusal.
    Refused {
        /// Reason of the refusal.
        why: String,
    },
}

/// Reads a line up to the maximal length; `None` at the end.
async fn read_line(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut some = [0; 4096];
    loop {
        let count = from.read(&mut some).await?;
        let came = some.get(..count).unwrap_or_default();
        match came.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                line.extend_from_slice(came.get(..end).unwrap_or_default());
                return Ok(Some(line));
            }
            None if count == 0 || line.len() + count > ENROLMENT_BYTES_MAX => return Ok(None),
            None => line.extend_from_slice(came),
        }
    }
}
