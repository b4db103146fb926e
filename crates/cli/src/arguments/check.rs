//! `whimbrel check` and `whimbrel new`: commands that need no running society.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::examples::example_names;

/// Check programs, projects and policies for errors, without running them.
///
/// All errors and warnings are shown. The exit status is 1 if there is an error. Warnings have codes, which
/// docs/reference/lints.md explains; the comment `// whimbrel: allow(CODE)` hides one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel check garden.mas2j        the project, and every program that it names
  whimbrel check *.asl               some programs
  whimbrel check examples/auction    a folder with one project in it
  whimbrel check policy.toml         a policy
  whimbrel check garden --sarif > garden.sarif       for code hosts and editors")]
pub struct CheckArguments {
    /// Projects (.mas2j), programs (.asl, .wasm), policies (.toml), or folders with one project in each.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON, for programs.
    #[arg(long)]
    pub json: bool,
    /// Print SARIF 2.1.0, for code hosts and editors.
    #[arg(long, conflicts_with = "json")]
    pub sarif: bool,
    /// Exit with status 1 if there are warnings, too.
    #[arg(long)]
    pub deny_warnings: bool,
}

/// Create a folder with a small society that runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel new garden && whimbrel run garden
  whimbrel new school --wasm rust              with agents in WebAssembly, written in Rust
  whimbrel new class --example classroom       a copy of an example")]
pub struct NewArguments {
    /// Folder to create. Its name is the project's name.
    #[arg(value_name = "NAME")]
    pub name: PathBuf,
    /// Write the agents in this language, as WebAssembly modules.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub wasm: Option<Language>,
    /// Copy this example.
    #[arg(long, value_name = "EXAMPLE", value_parser = PossibleValuesParser::new(example_names()), conflicts_with = "wasm")]
    pub example: Option<String>,
}

/// Languages of WebAssembly agents.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Language {
    Rust,
    #[value(name = "assemblyscript", alias = "typescript", alias = "ts")]
    AssemblyScript,
    C,
}
