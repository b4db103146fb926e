//! Finding compilers: those of the machine, and those that `make wasm-tools` put into the cache.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, bail};

use self::system::{program_in, was_interrupted};
use crate::cached_folder::cache;

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

/// Attempts to find a free name for a folder of intermediate files.
const SCRATCH_TRIES: u32 = 100;

/// Rust target of agents.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Returns a program of this name where commands are searched.
pub fn program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).find_map(|folder| program_in(&folder, name))
}

/// Returns a tool that npm installs: ours, or else the machine's.
pub fn node_tool(name: &str) -> Option<PathBuf> {
    let ours = cache().map(|cache| cache.join("wasm-tools/node_modules/.bin"));
    ours.and_then(|folder| program_in(&folder, name)).or_else(|| program(name))
}

/// Returns Cargo, with the environment in which it compiles for WebAssembly.
pub fn cargo() -> anyhow::Result<Command> {
    let mut command = Command::new("cargo");
    // What is set for the machine's own programs is not meant for agents.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        command.env_remove(name);
    }
    if let Some(made) = cache().map(|cache| cache.join("wasm-rust/env")).filter(|_| !rustc_has_target()) {
        let Ok(variables) = std::fs::read_to_string(&made) else {
            bail!(
                "Rust lacks the target {TARGET}: run `rustup target add {TARGET}` or, if that cannot be \
                   downloaded, `make wasm-tools` in Whimbrel's repository"
            );
        };
        for (name, value) in variables.lines().filter_map(|line| line.split_once('=')) {
            let mut value = OsString::from(value);
            if let Some(already) = std::env::var_os(name).filter(|_| name == "LD_LIBRARY_PATH") {
                value.push(":");
                value.push(already);
            }
            command.env(name, value);
        }
    }
    Ok(command)
}

/// Returns true if agents can be compiled for WebAssembly, by the installed rustc or by one made for it.
pub fn has_rust_target() -> bool {
    rustc_has_target() || cache().is_some_and(|cache| cache.join("wasm-rust/env").is_file())
}

/// Returns true if the installed rustc has the library of the WebAssembly target.
fn rustc_has_target() -> bool {
    let seen = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    seen.is_ok_and(|seen| seen.status.success() && Path::new(String::from_utf8_lossy(&seen.stdout).trim()).is_dir())
}

/// Returns the command as one would type it.
pub fn quoted(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| match word.to_string_lossy() {
        word if word.contains([' ', '"', '*']) => format!("'{word}'"),
        word => word.into_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A tool was ended by Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct BuildInterrupted;

/// Checks that a tool succeeded. The error names the tool, unless Ctrl-C ended it.
pub fn well_ended(status: ExitStatus, failed: impl Fn() -> String) -> anyhow::Result<()> {
    if was_interrupted(status) {
        bail!(BuildInterrupted);
    }
    if status.success() { Ok(()) } else { bail!(failed()) }
}

/// A folder for what is in between, removed when this is dropped.
pub struct BuildFolder(PathBuf);

/// Makes a new folder. In a place where every user may write, no other user can have put anything into it.
pub fn scratch() -> anyhow::Result<BuildFolder> {
    let mut number = 0;
    loop {
        let folder = std::env::temp_dir().join(format!("whimbrel-agent-{}-{number}", std::process::id()));
        match whimbrel_files::create_new_folder(&folder) {
            Ok(()) => return Ok(BuildFolder(folder)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < SCRATCH_TRIES => number += 1,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make the folder {}", folder.display()));
            }
        }
    }
}

impl BuildFolder {
    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for BuildFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
