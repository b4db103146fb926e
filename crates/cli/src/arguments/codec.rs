//! `whimbrel codec`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use whimbrel_acl::Encoding;

/// Convert ACL messages between encodings.
///
/// Encodings: string (FIPA00070), xml (FIPA00071), bit-efficient (FIPA00069), json and compact. A file in one of the
/// first three may contain several messages, one after another.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel codec inspect message.acl                     its contents, and its length in each encoding
  whimbrel codec convert message.acl --to json           detects the encoding of the file
  whimbrel codec convert --from string --to compact -o message.bin message.acl
  cat message.xml | whimbrel codec convert --to string   from standard input")]
pub struct CodecArguments {
    #[command(subcommand)]
    pub action: CodecAction,
}

/// Actions of `whimbrel codec`.
#[derive(Debug, Subcommand)]
pub enum CodecAction {
    /// Convert messages to another encoding.
    Convert {
        /// File with the messages; `-` is standard input [default: -].
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Encoding of the input [default: detected from its first bytes].
        #[arg(long, value_name = "ENCODING")]
        from: Option<Encoding>,
        /// Encoding of the output.
        #[arg(long, value_name = "ENCODING")]
        to: Encoding,
        /// File to write to [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show messages in readable form, with their length in each encoding.
    Inspect {
        /// File with the messages; `-` is standard input [default: -].
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Encoding of the input [default: detected from its first bytes].
        #[arg(long, value_name = "ENCODING")]
        from: Option<Encoding>,
    },
}
