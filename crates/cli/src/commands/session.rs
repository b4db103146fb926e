//! `whimbrel session`: what lets programs in any language have agents.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use whimbrel_net::agent_port::new_token;

use crate::arguments::{SessionAction, SessionArguments};
use whimbrel_terminal::screen::print;

/// Performs `whimbrel session`.
pub fn session(arguments: &SessionArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        SessionAction::Token { names, file } => token(names, file)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn token(names: &[String], file: &Path) -> anyhow::Result<()> {
    let (token, line) = new_token(names)?;
    let written = whimbrel_files::append(file).and_then(|mut open| open.write_all(line.as_bytes()));
    written.with_context(|| format!("cannot write {}", file.display()))?;
    print(&token).context("cannot write to standard output")
}
