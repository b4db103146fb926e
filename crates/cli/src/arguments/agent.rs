//! `whimbrel agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Build WebAssembly agents.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel agent build worker           build worker.wasm from a Cargo package
  whimbrel agent build worker.ts        build from AssemblyScript
  whimbrel agent build worker.c -o w    build from C, and write the file w
  whimbrel agent sdk                    print where the SDKs are, for editors")]
pub struct AgentArguments {
    #[command(subcommand)]
    pub action: AgentAction,
}

/// Actions of `whimbrel agent`.
#[derive(Debug, Subcommand)]
pub enum AgentAction {
    /// Compile a program to an optimised WebAssembly module, instrumented if the agent moves or waits in the middle of
    /// a call.
    ///
    /// Prints the module's size, its SHA-256 (by which nodes know modules), its imports, and when its agents can move.
    #[command(
        after_help = "Programs in Rust use the crate whimbrel-guest; those in AssemblyScript import \"whimbrel\", \
                            those in C include <whimbrel.h>:
both come with this command. docs/guide/wasm-agents.md shows how to write one."
    )]
    Build {
        /// A folder with a Cargo package, a program in AssemblyScript (.ts) or C (.c), or a module (.wasm, .wat).
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// File to write the module to [default: the program's name with `.wasm`, in the current folder].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Write the SDKs for Rust, AssemblyScript and C into a folder of the cache, and print its path.
    ///
    /// `agent build` finds them by itself. Editors need the path: `clang -I "$(whimbrel agent sdk)/c"`.
    Sdk,
}
