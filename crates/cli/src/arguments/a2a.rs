//! Options of the door for A2A.

use clap::Args;
use whimbrel::doors::a2a::A2aOptions;

/// Heading of options in the help.
const DOORS: &str = "Other agent platforms";

/// Agents that are published over A2A, and tokens of clients.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = DOORS)]
pub struct A2aArguments {
    /// Publish these agents over A2A, at /a2a/NAME of the HTTP port: names or patterns, separated by commas, for
    /// example `seller,helper*`. Clients of this machine need no token, unless `--a2a-token` is given.
    #[arg(long = "a2a", value_name = "AGENTS", value_delimiter = ',')]
    pub published: Vec<String>,
    /// Token of an A2A client, for example alice=SECRET, or a token alone. Each client sees its own tasks only. May be
    /// given several times.
    #[arg(long = "a2a-token", value_name = "[NAME=]TOKEN", env = "WHIMBREL_A2A_TOKEN", hide_env_values = true)]
    pub tokens: Vec<String>,
}

impl A2aArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> A2aOptions {
        A2aOptions { published: self.published.clone(), tokens: self.tokens.clone() }
    }
}
