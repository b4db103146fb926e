//! Door for A2A: published agents, tokens of clients, and the society behind.

use std::sync::Arc;

use whimbrel_gateway::doors::a2a::A2aConfig;
use whimbrel_platform::policy::Pattern;
use whimbrel_runtime::Platform;

use super::platform_society::{DoorSociety, named_token};

/// Options of the door for A2A.
#[derive(Clone, Debug, Default)]
pub struct A2aOptions {
    /// Names and patterns of published agents.
    pub published: Vec<String>,
    /// Tokens of clients, each after the client's name and `=`, or alone.
    pub tokens: Vec<String>,
}

impl A2aOptions {
    /// Returns the configuration of the door, if agents are published.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn config(&self, platform: &Platform) -> anyhow::Result<Option<A2aConfig>> {
        if self.published.is_empty() {
            return Ok(None);
        }
        let published = self.published.iter().map(|pattern| Pattern::new(pattern)).collect::<Result<_, _>>()?;
        let society = Arc::new(DoorSociety(platform.clone()));
        let tokens = self.tokens.iter().map(|text| named_token(text)).collect();
        Ok(Some(A2aConfig { society, published, tokens }))
    }

    /// Returns the addresses of the published agents at a host, patterns included.
    pub fn addresses(&self, host: &str) -> String {
        self.published.iter().map(|name| format!("{host}/a2a/{name}")).collect::<Vec<_>>().join(", ")
    }
}
