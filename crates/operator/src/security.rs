//! What a node shows and trusts, and what it refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::events::Event;

/// How a node is secured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityInfo {
    /// How its links are: `open`, `tls`, `authenticated`, `signed`; `None` if it has none.
    pub level: Option<String>,
    /// What it shows and trusts: its own certificates first, then those of its agents.
    pub certificates: Vec<CertificateInfo>,
    /// What was taken back, by the list that it has.
    pub revoked: Vec<RevokedInfo>,
    /// What was refused since it started, by reason; reasons that nobody was refused for are left out.
    pub refusals: Vec<RefusalCount>,
    /// The file in which refusals are recorded (`--audit`), if they are.
    pub audit: Option<String>,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateInfo {
    /// Whose it is: `node`, `authority`, `certifier` (by which the node certifies its agents), `agent`, `session` (of an agent outside).
    pub of: String,
    /// Whom it names.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// Its serial number, in hexadecimal.
    pub serial: String,
    /// From when it is good: milliseconds since 1970-01-01 UTC.
    pub from_ms: u64,
    /// Until when.
    pub until_ms: u64,
    /// Whether it was taken back.
    pub revoked: bool,
}

/// A certificate that was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokedInfo {
    /// Its serial number, in hexadecimal.
    pub serial: String,
    /// When: milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
}

/// How often something was refused for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalCount {
    /// The reason: `forbidden`, `bad_token` and so on.
    pub reason: String,
    /// How often.
    pub count: u64,
}

/// Some of what an audit log holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFound {
    /// What was refused, the newest first.
    pub refusals: Vec<Event>,
    /// What to say as `before` to go on, if there is more.
    pub next: Option<String>,
}

/// What was refused lately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalsFound {
    /// The newest of those that are kept, the oldest of them first.
    pub refusals: Vec<Event>,
    /// How many there were since the node started.
    pub total: u64,
}
