//! `whimbrel codec`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use whimbrel_acl::Encoding;

/// Read ACL messages in any encoding, and write them in another.
///
/// Encodings: string (FIPA00070), xml (FIPA00071), bit-efficient (FIPA00069), json and compact. In the first three, a file
/// can have several messages one behind another.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel codec inspect message.acl                     what it says, and how long it is in each encoding
  whimbrel codec convert message.acl --to json           from whatever it is in
  whimbrel codec convert --from string --to compact -o message.bin message.acl
  cat message.xml | whimbrel codec convert --to string   from standard input")]
pub struct CodecArguments {
    #[command(subcommand)]
    pub action: CodecAction,
}

/// What to do with a message.
#[derive(Debug, Subcommand)]
pub enum CodecAction {
    /// Write the messages in another encoding.
    Convert {
        /// The message; standard input if not given, or `-`.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The encoding it is in; told by how it begins if not given.
        #[arg(long, value_name = "ENCODING")]
        from: Option<Encoding>,
        /// The encoding to write it in.
        #[arg(long, value_name = "ENCODING")]
        to: Encoding,
        /// Where to write it; standard output if not given.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show what the messages say, for people.
    Inspect {
        /// The message; standard input if not given, or `-`.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The encoding it is in; told by how it begins if not given.
        #[arg(long, value_name = "ENCODING")]
        from: Option<Encoding>,
    },
}
