//! Options that commands share.

use std::time::Duration;

use clap::{Args, ValueEnum};

/// Form in which a command shows what it found.
#[derive(Debug, Args)]
pub struct OutputOptions {
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Refresh the output every second, or at the given interval.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "1s")]
    #[arg(value_parser = whimbrel::duration::parse)]
    pub watch: Option<Duration>,
}

/// Security of links between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SecurityLevel {
    /// Unencrypted; a token admits nodes.
    Open,
    /// Encrypted; a token admits nodes.
    Tls,
    /// Encrypted; certificates identify nodes.
    Authenticated,
    /// As `authenticated`; agents also sign their messages.
    Signed,
}

impl From<SecurityLevel> for whimbrel_net::LinkSecurity {
    fn from(level: SecurityLevel) -> Self {
        match level {
            SecurityLevel::Open => Self::Open,
            SecurityLevel::Tls => Self::Tls,
            SecurityLevel::Authenticated => Self::Authenticated,
            SecurityLevel::Signed => Self::Signed,
        }
    }
}
