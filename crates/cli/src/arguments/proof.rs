//! `whimbrel prove` and `whimbrel verify`: evidence of conversations.

use std::path::PathBuf;

use clap::Args;

/// Export a conversation with signatures, so that others can verify its authors and order.
///
/// The node must have run with `--security signed --evidence FOLDER`. A conversation is named by its :conversation-id.
/// The messages of two agents without one are named by both agents in alphabetical order: amy~bob.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel run shop.mas2j --nodes 2 --security signed --evidence kept
  whimbrel prove buyer~seller --evidence kept -o deal.json
  whimbrel verify deal.json --authority kept/authority.pem")]
pub struct ProveArguments {
    /// Name of the conversation.
    #[arg(value_name = "CONVERSATION")]
    pub conversation: String,
    /// Folder of the evidence.
    #[arg(long, value_name = "FOLDER")]
    pub evidence: PathBuf,
    /// File to write to [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Verify a conversation that `whimbrel prove` exported. No node needs to run.
///
/// Prints each message with its author, in order. The exit status is 1 if anything was altered, and the error names the
/// place.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel verify deal.json --authority authority.pem
  whimbrel verify deal.json --authority authority.pem --revoked revoked.pem --json")]
pub struct VerifyArguments {
    /// File that `whimbrel prove` wrote.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Certificate of the platform's authority, from a source that you trust.
    #[arg(long, value_name = "FILE")]
    pub authority: PathBuf,
    /// Revocation list of the authority.
    #[arg(long, value_name = "FILE")]
    pub revoked: Option<PathBuf>,
    /// Print one line of JSON for each message.
    #[arg(long)]
    pub json: bool,
}
