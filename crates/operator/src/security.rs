//! Certificates and refusals of a node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::events::NodeEvent;

/// Security of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityInfo {
    /// Security level of the links: `open`, `tls`, `authenticated`, `signed`; `None` without links.
    pub level: Option<String>,
    /// Certificates: those of the node first, then those of its agents.
    pub certificates: Vec<CertificateInfo>,
    /// Revoked certificates, by the node's revocation list.
    pub revoked: Vec<RevokedInfo>,
    /// Counts of refusals since the node started, by reason; zero counts are left out.
    pub refusals: Vec<RefusalCount>,
    /// File of the audit log (`--audit`), if there is one.
    pub audit: Option<String>,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateInfo {
    /// Role of the certificate: `node`, `authority`, `certifier` (certifies the node's agents), `agent`, `session` (an
    /// agent outside).
    pub of: String,
    /// Subject.
    pub subject: String,
    /// Issuer.
    pub issuer: String,
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// Start of validity, in milliseconds since 1970-01-01 UTC.
    pub from_ms: u64,
    /// End of validity, in milliseconds since 1970-01-01 UTC.
    pub until_ms: u64,
    /// True if the certificate was revoked.
    pub revoked: bool,
}

/// Revoked certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokedInfo {
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// Time of revocation, in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
}

/// Count of refusals for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalCount {
    /// Reason: `forbidden`, `bad_token` and so on.
    pub reason: String,
    /// Number of refusals.
    pub count: u64,
}

/// Some entries of an audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFound {
    /// Entries, the newest first.
    pub refusals: Vec<NodeEvent>,
    /// Value of `before` for the next request, if there is more.
    pub next: Option<String>,
}

/// Recent refusals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalsFound {
    /// Newest refusals that are kept, the oldest of them first.
    pub refusals: Vec<NodeEvent>,
    /// Number of refusals since the node started.
    pub total: u64,
}
