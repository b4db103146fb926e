//! Options and commands for agents of external programs.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use whimbrel::node::agent_port;
use whimbrel_platform::limits::{
    SESSION_AGENTS_DEFAULT, SESSION_AGENTS_MAX, SESSION_MESSAGE_BYTES_DEFAULT, SESSION_MESSAGE_BYTES_MAX,
    SESSION_MESSAGE_BYTES_MIN, SESSION_MESSAGES_PER_S,
};
use whimbrel_platform::session::SessionLimits;

use super::run::PORTS;

/// Address and access rules of the agent port, and limits of sessions.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = PORTS)]
pub struct AgentPortArguments {
    /// Open a port for external programs in any language that have agents on this node: a port of this machine (7002),
    /// or an address (10.0.0.1:7002). Connections from other machines are encrypted, unless `--security` says
    /// otherwise.
    #[arg(long, value_name = "PORT")]
    pub agent_port: Option<String>,
    /// Secret with which an external program may have agents of any name.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_AGENT_TOKEN", hide_env_values = true)]
    pub agent_token: Option<String>,
    /// File of tokens with which external programs may have agents of certain names, from `whimbrel session token`. The
    /// node reads it again for each new session.
    #[arg(long, value_name = "FILE")]
    pub agent_tokens: Option<PathBuf>,
    /// Maximum number of agents of one session, at the agent port or over HTTP.
    #[arg(
        long,
        value_name = "N",
        default_value_t = SESSION_AGENTS_DEFAULT,
        value_parser = value_parser!(u32).range(1..=i64::from(SESSION_AGENTS_MAX))
    )]
    pub session_agents: u32,
    /// Maximum average of messages per second of one session. A message to several agents counts once for each. Faster
    /// senders are slowed down.
    #[arg(long, value_name = "N", default_value_t = SESSION_MESSAGES_PER_S, value_parser = value_parser!(u32).range(1..))]
    pub session_messages_per_s: u32,
    /// Maximum length of a message to or from a session, in bytes. A longer message is refused, and its sender is told.
    #[arg(long, value_name = "BYTES", default_value_t = SESSION_MESSAGE_BYTES_DEFAULT,
        value_parser = value_parser!(u32).range(i64::from(SESSION_MESSAGE_BYTES_MIN)..=i64::from(SESSION_MESSAGE_BYTES_MAX)))]
    pub session_message_bytes: u32,
}

impl AgentPortArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> agent_port::AgentPortOptions {
        let limits = SessionLimits {
            agents: self.session_agents,
            messages_per_s: self.session_messages_per_s,
            message_bytes: self.session_message_bytes,
        };
        let (address, token, tokens) = (self.agent_port.clone(), self.agent_token.clone(), self.agent_tokens.clone());
        agent_port::AgentPortOptions { address, token, tokens, limits }
    }
}

/// Create tokens for external programs that have agents on a platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel session token ada 'sensor*' --file agents.tokens    print a token for agents with such names
  whimbrel run garden --agent-port 7002 --agent-tokens agents.tokens")]
pub struct SessionArguments {
    #[command(subcommand)]
    pub action: SessionAction,
}

/// Actions of `whimbrel session`.
#[derive(Debug, Subcommand)]
pub enum SessionAction {
    /// Create a token, print it, and add its hash to a file. Delete that line to revoke the token.
    Token {
        /// Allowed names of agents. `*` stands for any text, `?` for any one character.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// File of tokens; created if missing.
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
}
