//! `cargo xtask test`: all tests of the workspace but documentation, once, and which of them are slow.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use crate::times::{self, Times};

/// Clippy compiles the tests, as in the Makefile: nothing is compiled twice, and what is compiled is linted.
const LINTED: &str = "build.rustc-workspace-wrapper=\"clippy-driver\"";

/// Runs all tests, and lists the slowest ones.
///
/// # Errors
/// Cargo cannot be started.
pub fn run() -> io::Result<ExitCode> {
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([
        "--config",
        LINTED,
        "--config",
        &times::runner()?,
        "test",
        "--quiet",
        "--locked",
        "--workspace",
        "--no-fail-fast",
        // All but examples in documentation, which `make doc-test` runs.
        "--lib",
        "--bins",
        "--tests",
    ]);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // Cargo started this program with variables about its package. Build scripts that look at them would run again.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    let mut child = command.spawn()?;
    // It holds the ends of the pipe that are written to.
    drop(command);
    let (mut times, mut out) = (Times::default(), io::stdout().lock());
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        if times.read(&String::from_utf8_lossy(&line)) {
            out.write_all(&line)?;
            out.write_all(b"\n")?;
        }
    }
    write!(out, "{}", times.summary())?;
    Ok(if child.wait()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
