//! What concerns agents that are no part of a node.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use whimbrel::node::agent_port;
use whimbrel_platform::limits::{
    SESSION_AGENTS_MAX, SESSION_AGENTS_MOST, SESSION_MESSAGE_BYTES_LEAST, SESSION_MESSAGE_BYTES_MAX,
    SESSION_MESSAGE_BYTES_MOST, SESSION_MESSAGES_PER_S,
};
use whimbrel_platform::session::SessionLimits;

use super::run::DOORS;

/// Where programs in any language can have agents, and which.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = DOORS)]
pub struct AgentPortArguments {
    /// Let programs in any language have agents here: a port of this machine, as 7002, or an address, as 10.0.0.1:7002.
    /// Beyond this machine connections are encrypted, unless `--security` says otherwise.
    #[arg(long, value_name = "PORT")]
    pub agent_port: Option<String>,
    /// The secret that lets a program have agents of any name.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_AGENT_TOKEN", hide_env_values = true)]
    pub agent_token: Option<String>,
    /// Tokens that let programs have agents of certain names: what `whimbrel session token` made. Looked into whenever
    /// somebody comes.
    #[arg(long, value_name = "FILE")]
    pub agent_tokens: Option<PathBuf>,
    /// Agents that one session may have at a time, over the agent port and over HTTP.
    #[arg(long, value_name = "N", default_value_t = SESSION_AGENTS_MAX, value_parser = value_parser!(u32).range(1..=i64::from(SESSION_AGENTS_MOST)))]
    pub session_agents: u32,
    /// Messages a second that one session may send, on average; one to several agents counts once for each. Faster ones
    /// wait.
    #[arg(long, value_name = "N", default_value_t = SESSION_MESSAGES_PER_S, value_parser = value_parser!(u32).range(1..))]
    pub session_messages_per_s: u32,
    /// Bytes of one message of a session, or to one. A longer one is refused, and its sender told.
    #[arg(long, value_name = "BYTES", default_value_t = SESSION_MESSAGE_BYTES_MAX,
        value_parser = value_parser!(u32).range(i64::from(SESSION_MESSAGE_BYTES_LEAST)..=i64::from(SESSION_MESSAGE_BYTES_MOST)))]
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

/// Let programs in any language have agents on a platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel session token ada 'sensor*' --file agents.tokens    prints a token, for agents of these names
  whimbrel run garden --agent-port 7002 --agent-tokens agents.tokens")]
pub struct SessionArguments {
    #[command(subcommand)]
    pub action: SessionAction,
}

/// What to do about sessions.
#[derive(Debug, Subcommand)]
pub enum SessionAction {
    /// Make a token, print it, and add its hash to a file. Deleting that line takes it back.
    Token {
        /// What the agents may be called; `*` stands for any characters, `?` for any one.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// The file; made if it is not there.
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
}
