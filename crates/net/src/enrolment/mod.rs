//! How nodes get their certificates from the authority over the network.
//!
//! One conversation is one line of JSON each way over TLS 1.3. Whoever enrols knows the authority by the fingerprint in
//! the token and proves itself by the token's secret; whoever renews shows the certificate that it has.

mod client;
mod server;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use whimbrel_platform::limits::ENROLMENT_BYTES_MAX;

use crate::authority::{NodeCertificates, NodeRequest, Trust};

pub use client::{EnrolError, enrol, look_after, renew};
pub use server::{Enrolment, EnrolmentConfig};

/// The name in the certificate of the authority's service.
pub(crate) const SERVICE_NAME: &str = "ca.whimbrel";

/// What is said to the service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// With a token, for a node that has no certificate.
    Enrol {
        /// What `whimbrel ca token` printed.
        token: String,
        /// The keys that are to be certified.
        request: NodeRequest,
    },
    /// For the node that the certificate of this connection names.
    Renew {
        /// The keys that are to be certified.
        request: NodeRequest,
    },
    /// Whom to trust by now.
    Trust {},
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The certificates that were asked for.
    Issued(NodeCertificates),
    /// Whom to trust.
    Trust {
        /// The authority, and whom not any more.
        trust: Trust,
        /// The node's certificate was signed by a key that another one took over from.
        outdated: bool,
    },
    /// It says no.
    Refused {
        /// Why.
        why: String,
    },
}

/// A line, as far as its length goes; `None` if there is none.
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
