//! Options of the door for MCP.

use std::path::PathBuf;

use clap::Args;
use whimbrel::doors::mcp::McpOptions;

/// Heading of options in the help.
const DOORS: &str = "Other agent platforms";

/// Services that are offered over MCP, and tokens of clients.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = DOORS)]
pub struct McpArguments {
    /// Offer the services of these agents to language models over MCP, at /mcp of the HTTP port: agents or single
    /// services, as names or patterns, separated by commas, for example `seller,helper*,archive.find`. Clients of this
    /// machine need no token, unless `--mcp-token` is given.
    #[arg(long = "mcp", value_name = "AGENTS", value_delimiter = ',')]
    pub mcp_offered: Vec<String>,
    /// Token of an MCP client, for example alice=SECRET, or a token alone. Each client sees its own calls only. May be
    /// given several times.
    #[arg(long = "mcp-token", value_name = "[NAME=]TOKEN", env = "WHIMBREL_MCP_TOKEN", hide_env_values = true)]
    pub mcp_tokens: Vec<String>,
}

impl McpArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> McpOptions {
        McpOptions { offered: self.mcp_offered.clone(), tokens: self.mcp_tokens.clone() }
    }
}

/// Address of a node's MCP if none is given.
const USUAL: &str = "http://127.0.0.1:8420/mcp";

/// Connect an MCP client that starts programs to agents: messages are lines on standard input and output.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel mcp shop.asl      run shop.asl, and offer the services of its agents
  whimbrel mcp               offer those of the node that runs with --mcp on this machine")]
pub struct McpBridgeArguments {
    /// Society to run, as for `whimbrel run`; it ends with the client. Without one, a running node is used.
    #[arg(value_name = "SOCIETY", conflicts_with = "url")]
    pub society: Option<PathBuf>,
    /// Agents and services to offer, as for `whimbrel run --mcp` [default: all].
    #[arg(long = "mcp", value_name = "AGENTS", requires = "society")]
    pub offered: Option<String>,
    /// Address of a running node's MCP, on this machine or in a trusted network.
    #[arg(long, value_name = "URL", default_value = USUAL, value_parser = plain_url)]
    pub url: String,
    /// Token of the client.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_MCP_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

fn plain_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").ok_or("expected an address as http://127.0.0.1:8420/mcp, without TLS")?;
    let (authority, path) = rest.split_once('/').ok_or("the address has no path: add /mcp")?;
    let is_plain = !authority.is_empty() && !path.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain { Ok(text.to_owned()) } else { Err("expected an address as http://127.0.0.1:8420/mcp".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        assert!(plain_url(USUAL).is_ok());
        for wrong in ["https://a/mcp", "127.0.0.1:8420", "http://a", "http:///mcp", "http://a/m cp"] {
            assert!(plain_url(wrong).is_err(), "{wrong}");
        }
    }
}
