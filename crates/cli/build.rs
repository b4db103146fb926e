//! Builds the examples into the program, for `whimbrel new --example`. A package of this crate has none.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Examples that run with the program alone.
const EXAMPLES: [&str; 10] = [
    "ants",
    "auction",
    "blocks",
    "classroom",
    "contract-net",
    "domestic-robot",
    "gridworld",
    "long-plan",
    "roaming",
    "sensors",
];

/// Endings of the files of an example.
const ENDINGS: [&str; 9] = ["asl", "mas2j", "md", "html", "js", "css", "json", "toml", "py"];

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../examples");
    println!("cargo::rerun-if-changed=build.rs");
    let mut code = String::from("static EXAMPLES: &[Example] = &[\n");
    for name in EXAMPLES {
        let mut files = Vec::new();
        list(&folder.join(name), &mut files)?;
        files.sort();
        let _ = writeln!(code, "    Example {{ name: {name:?}, files: &[");
        for file in files {
            let shown = file.strip_prefix(folder.join(name)).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            let file = file.canonicalize()?;
            println!("cargo::rerun-if-changed={}", file.display());
            let _ = writeln!(code, "        ({shown:?}, include_bytes!({:?})),", file.display().to_string());
        }
        code.push_str("    ] },\n");
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("examples.rs"), code)
}

/// Collects the files of an example, without what is built or stored there.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "lib" && !name.starts_with('.') {
            list(&path, files)?;
        } else if ENDINGS.iter().any(|ending| path.extension().is_some_and(|it| it == *ending)) {
            files.push(path);
        }
    }
    Ok(())
}
