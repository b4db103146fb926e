//! `whimbrel fmt`, `whimbrel lsp` and `whimbrel dap`: tools for those who write programs.

use std::path::PathBuf;

use clap::Args;

/// Format programs and projects in Jason's usual style.
///
/// Blanks and the beginnings of lines change. All tokens, comments and line breaks stay. A program with errors stays as
/// it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel fmt garden              all files in a folder, and in those within it
  whimbrel fmt --check garden      exit status 1 if one would change
  whimbrel fmt - < a.asl           from standard input to standard output")]
pub struct FmtArguments {
    /// Programs (.asl), projects (.mas2j), folders, or `-` for a program in standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing; exit with status 1 if a program would change.
    #[arg(long)]
    pub check: bool,
}

/// Serve an editor: the Language Server Protocol on standard input and output.
///
/// Editors start this command themselves. It offers diagnostics, outline, definitions, references, hover, completion,
/// rename, formatting and a lens that runs an agent.
#[derive(Debug, Args)]
#[command(after_help = "Example, in Neovim:
  vim.lsp.start({ name = 'whimbrel', cmd = { 'whimbrel', 'lsp' } })")]
pub struct LspArguments {
    /// Use standard input and output. This is the only way, and needs not be said.
    #[arg(long, hide = true)]
    #[allow(dead_code, reason = "editors pass it, and there is no other way")]
    pub stdio: bool,
}

/// Serve a debugger: the Debug Adapter Protocol on standard input and output.
///
/// Editors start this command themselves. It runs a society, or attaches to a running one, and offers breakpoints in
/// plans, steps of intentions, pauses at failures, minds and their variables, queries and goals.
#[derive(Debug, Args)]
#[command(after_help = "Example, with Neovim's nvim-dap:
  require('dap').adapters.whimbrel = { type = 'executable', command = 'whimbrel', args = { 'dap' } }")]
pub struct DapArguments {
    /// Use standard input and output. This is the only way, and needs not be said.
    #[arg(long, hide = true)]
    #[allow(dead_code, reason = "editors pass it, and there is no other way")]
    pub stdio: bool,
}
