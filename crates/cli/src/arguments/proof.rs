//! What can be typed about evidence: proving and verifying.

use std::path::PathBuf;

use clap::Args;

/// Write down a conversation so that others can verify who said what in it, and in which order.
///
/// The evidence is what a node kept that ran with `--security signed --evidence FOLDER`. A conversation is known by its
/// :conversation-id; the talk of two agents without one, by their names in the order of the alphabet: amy~bob.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run shop.mas2j --nodes 2 --security signed --evidence kept
  whimbrel prove buyer~seller --evidence kept -o deal.json
  whimbrel verify deal.json --authority kept/authority.pem")]
pub struct ProveArguments {
    /// The conversation.
    #[arg(value_name = "CONVERSATION")]
    pub conversation: String,
    /// Where the evidence is kept.
    #[arg(long, value_name = "FOLDER")]
    pub evidence: PathBuf,
    /// Where to write it; standard output if not given.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Verify a conversation that `whimbrel prove` wrote down, without any node.
///
/// Prints what was said, by whom, in which order. The exit status is 1 if anything was altered, and the message says where.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel verify deal.json --authority authority.pem
  whimbrel verify deal.json --authority authority.pem --revoked revoked.pem --json")]
pub struct VerifyArguments {
    /// What `whimbrel prove` wrote.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The certificate of the platform's authority, from a source that you trust.
    #[arg(long, value_name = "FILE")]
    pub authority: PathBuf,
    /// The authority's list of certificates that were taken back.
    #[arg(long, value_name = "FILE")]
    pub revoked: Option<PathBuf>,
    /// A line of JSON for each message.
    #[arg(long)]
    pub json: bool,
}
