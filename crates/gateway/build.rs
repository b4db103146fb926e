//! Builds the console's files into the program, if they are there: what `make console` leaves in `console/dist`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

include!("src/kinds.rs");

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    // A published package has a copy of the folder.
    let folders = [package.join("../../console/dist"), package.join("console")];
    let folder = folders.iter().find(|folder| folder.is_dir()).cloned().unwrap_or_default();
    let mut files = Vec::new();
    if env::var_os("CARGO_FEATURE_CONSOLE").is_some() {
        // Building the console touches this file. A missing folder cannot be watched: everything would be built again
        // each time.
        if folder.is_dir() {
            list(&folder, &mut files)?;
            println!("cargo::rerun-if-changed={}", folder.display());
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/kinds.rs");
    files.sort();
    let mut code = String::from("static FILES: &[ConsoleFile] = &[\n");
    for file in &files {
        let path = file.strip_prefix(&folder).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let file = file.canonicalize()?;
        let tag = tag(&fs::read(&file)?);
        let _ = writeln!(
            code,
            "    ConsoleFile {{ path: {:?}, kind: {:?}, bytes: include_bytes!({:?}), tag: {tag:?} }},",
            format!("/{path}"),
            kind(&path),
            file.display().to_string()
        );
    }
    code.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("console.rs"), code)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// A number that tells bytes from others (FNV-1a), with their length.
fn tag(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    format!("\"{hash:016x}-{:x}\"", bytes.len())
}
