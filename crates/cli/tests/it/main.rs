//! The binary from outside: what one types, and what one sees.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod advice;
#[cfg(feature = "wasm")]
mod agent_build;
mod agent_port;
mod bench;
#[cfg(feature = "nats")]
mod chaos;
mod check;
mod cluster;
mod code_travels;
mod codec;
mod control;
mod conversations;
mod dap;
mod documents;
mod durable;
mod durable_rust;
mod editors;
#[cfg(unix)]
mod endings;
#[cfg(feature = "nats")]
mod engine;
mod examples;
mod explanations;
mod external_agents;
mod failures;
mod front_door;
mod gateway;
mod hop_faults;
mod journeys;
mod kept_durable;
mod last_words;
mod log;
mod minds;
mod moves;
mod moving;
mod namespaces;
mod new;
mod nodes;
mod own_keys;
#[cfg(feature = "nats")]
mod partitions_move;
mod partitions_order;
mod partitions_wished;
mod python;
mod repl;
mod run;
mod sent_elsewhere;
mod societies;
#[cfg(feature = "nats")]
mod standby;
mod store;
#[cfg(unix)]
mod strange_uses;
mod topics;
mod transcripts;
#[cfg(feature = "nats")]
mod up;
#[cfg(feature = "wasm")]
mod wasm_agents;
#[cfg(feature = "wasm")]
mod wasm_tours;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use whimbrel_testkit::Scratch;

/// The binary, ready to be given arguments; plain output, whatever the terminal.
fn whimbrel() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whimbrel"));
    command.stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "dumb");
    // What it prints would be another address each time; tests of the console say where it is to be.
    command.env("WHIMBREL_HTTP", "off");
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

/// A command that runs an example in Rust. `cargo xtask test` builds all examples beforehand. Otherwise this one is
/// built now, with the features that `cargo test --workspace` builds it with.
fn rust_example(name: &str) -> Command {
    if std::env::var_os("WHIMBREL_EXAMPLES_BUILT").is_none() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--locked", "--workspace", "--example", name]);
        // Cargo builds the crates anew whose build scripts look at what a test has, and `cargo test` had not.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                build.env_remove(name);
            }
        }
        assert!(build.current_dir(examples::repository()).status().expect("cargo runs").success());
    }
    Command::new(Path::new(env!("CARGO_BIN_EXE_whimbrel")).with_file_name("examples").join(name))
}

/// Beginning of the line that names the explanation of an error.
const EXPLAINED: &str = "  explained by: whimbrel explain ";

/// Result of a command.
struct CommandOutput {
    out: String,
    /// Standard error, without lines that name an explanation.
    err: String,
    /// Names of the explanations that standard error mentions.
    explanations: Vec<String>,
    code: Option<i32>,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let (mut err, mut explanations) = (String::new(), Vec::new());
        for line in text(output.stderr).split_inclusive('\n') {
            match line.strip_prefix(EXPLAINED) {
                Some(name) => explanations.push(name.trim_end().to_owned()),
                None => err += line,
            }
        }
        Self { out: text(output.stdout), err, explanations, code: output.status.code() }
    }
}

/// Runs `whimbrel` with these arguments in `folder`.
fn run_in(folder: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = whimbrel();
    if arguments.first() == Some(&"agent") {
        // What agents are built with is where it was installed.
        match std::env::var_os("XDG_CACHE_HOME") {
            Some(caches) => command.env("XDG_CACHE_HOME", caches),
            None => command.env_remove("XDG_CACHE_HOME"),
        };
    }
    command.args(arguments).current_dir(folder).output().expect("the binary runs").into()
}

/// Folder of a test in which commands run.
trait CommandFolder {
    /// Runs `whimbrel` with these arguments in the folder.
    fn run(&self, arguments: &[&str]) -> CommandOutput;
}

impl CommandFolder for Scratch {
    fn run(&self, arguments: &[&str]) -> CommandOutput {
        run_in(self.path(), arguments)
    }
}

/// Process of a test, killed when the test ends.
struct RunningProcess(Child);

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
