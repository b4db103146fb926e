//! Door for MCP: offered services, tokens of clients, and the society behind.

use std::sync::Arc;

use whimbrel_gateway::doors::mcp::McpConfig;
use whimbrel_platform::policy::Pattern;
use whimbrel_runtime::Platform;

use super::platform_society::{DoorSociety, named_token};

/// Options of the door for MCP.
#[derive(Clone, Debug, Default)]
pub struct McpOptions {
    /// Names and patterns of agents, and of services as `agent.service`.
    pub offered: Vec<String>,
    /// Tokens of clients, each after the client's name and `=`, or alone.
    pub tokens: Vec<String>,
}

impl McpOptions {
    /// Returns the configuration of the door, if services are offered.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn config(&self, platform: &Platform) -> anyhow::Result<Option<McpConfig>> {
        if self.offered.is_empty() {
            return Ok(None);
        }
        let offered = self.offered.iter().map(|pattern| Pattern::new(pattern)).collect::<Result<_, _>>()?;
        let society = Arc::new(DoorSociety(platform.clone()));
        let tokens = self.tokens.iter().map(|text| named_token(text)).collect();
        Ok(Some(McpConfig { society, offered, tokens }))
    }
}
