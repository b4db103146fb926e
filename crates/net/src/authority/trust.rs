//! Trust in an authority, as its nodes have it.

use serde::{Deserialize, Serialize};

/// Trusted and revoked certificates of a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Certificates of the platform's authority; several while one key takes over from another.
    pub authority_pem: String,
    /// Revocation lists of the authority, one for each key.
    pub revoked_pem: String,
}
