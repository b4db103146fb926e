//! Tells the program which tokio it was built with, since its results name the peer's version.
use std::{env, fs, path::Path};

fn main() {
    let manifest_dir = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let lock = fs::read_to_string(Path::new(&manifest_dir).join("Cargo.lock")).expect("cargo writes it first");
    let version = lock
        .split("[[package]]")
        .find(|entry| entry.contains("name = \"tokio\"\n"))
        .and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next())
        .expect("tokio is a dependency");
    println!("cargo:rustc-env=TOKIO_VERSION={version}");
    println!("cargo:rerun-if-changed=Cargo.lock");
}
