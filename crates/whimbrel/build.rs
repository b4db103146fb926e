//! Tells the binary which commit it was built from, if there is a git repository around.

use std::path::Path;
use std::process::Command;

fn main() {
    // Only HEAD and what it points at: otherwise each change of any file would build this crate again.
    println!("cargo::rerun-if-changed=build.rs");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let watched = ["HEAD", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
    for file in watched.into_iter().flatten().filter(|file| Path::new(file).exists()) {
        println!("cargo::rerun-if-changed={file}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let long = match git(&["rev-parse", "--short=10", "HEAD"]) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=WHIMBREL_VERSION={long}");
}
