//! What concerns agents that are no part of a node.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::run::DOORS;

/// Where programs in any language can have agents, and which.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = DOORS)]
pub struct AgentPortOptions {
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
}

/// Let programs in any language have agents on a platform.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel session token ada 'sensor*' --file agents.tokens    prints a token, for agents of these names
  whimbrel run garden --agent-port 7002 --agent-tokens agents.tokens")]
pub struct Session {
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
