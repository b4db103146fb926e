//! `whimbrel agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Make agents that are WebAssembly modules.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel agent build worker           the module worker.wasm of a Cargo package
  whimbrel agent build worker.ts        of a program in AssemblyScript
  whimbrel agent build worker.c -o w    of one in C, written to the file w")]
pub struct AgentArguments {
    #[command(subcommand)]
    pub action: AgentAction,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum AgentAction {
    /// Compile a program to a module that nodes run, optimised, and prepared for moving if it moves in mid-call.
    ///
    /// Shows how big the module is, its SHA-256 (nodes know modules by it), what it wants of a node, and how it can move.
    #[command(
        after_help = "Programs in Rust use the crate whimbrel-guest; those in AssemblyScript import \"whimbrel\", \
                            those in C include <whimbrel.h>:
both come with this command. docs/guide/wasm-agents.md shows how to write one."
    )]
    Build {
        /// A folder with a Cargo package, a program in AssemblyScript (.ts) or C (.c), or a module (.wasm, .wat).
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// Where to write the module; if not given, the program's name and `.wasm`, in the current folder.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}
