//! Secrets of a node that another process starts.

use anyhow::Context;
use serde::{Deserialize, Serialize};
use whimbrel_net::Credentials;

/// Secrets that the first process of several writes to each of the others, as the first line of its standard input.
/// Other users could read arguments and variables.
#[derive(Serialize, Deserialize)]
pub struct NodeSecrets {
    /// Secret of the platform, which opens links.
    pub token: String,
    /// Certificates that the node shows and trusts, if links are secured.
    pub credentials: Option<Credentials>,
}

/// Reads the secrets of this process from its standard input.
///
/// # Errors
/// Standard input ended, or its first line has no secrets.
pub fn read_secrets() -> anyhow::Result<NodeSecrets> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read this node's secrets from the first process")?;
    serde_json::from_str(&line).context("cannot read this node's secrets from the first process")
}
