//! `whimbrel completions`, `whimbrel man` and `whimbrel explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Print completions of commands, options and running agents for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel completions bash > ~/.local/share/bash-completion/completions/whimbrel
  whimbrel completions fish > ~/.config/fish/completions/whimbrel.fish
  whimbrel completions zsh > ~/.zfunc/_whimbrel     with `fpath+=~/.zfunc` before compinit")]
pub struct CompletionsArguments {
    /// Shell that reads the completions.
    #[arg(value_enum, value_name = "SHELL", required_unless_present = "names")]
    pub shell: Option<CompletedShell>,
    /// Print the names of running agents or nodes; for the completions themselves.
    #[arg(long, hide = true, value_enum, value_name = "OF")]
    pub names: Option<RunningNames>,
}

/// Shells that have completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompletedShell {
    Bash,
    Fish,
    Zsh,
}

/// Kinds of names that completions offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunningNames {
    Agents,
    Nodes,
}

/// Write a manual page for each command into a folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel man ~/.local/share/man/man1 && man whimbrel-run")]
pub struct ManArguments {
    /// Folder of the pages. It is made if it is missing.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Explain an error message or a warning of `check`, or list the explanations.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel explain                          list the explanations
  whimbrel explain goal-without-plan        explain a warning by its code
  whimbrel explain 'no society runs here'   explain a message")]
pub struct ExplainArguments {
    /// Message, or the name of an explanation.
    #[arg(value_name = "MESSAGE")]
    pub message: Vec<String>,
}
