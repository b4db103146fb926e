//! Compilation of programs to modules, language by language.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::sdk::{ASSEMBLYSCRIPT_FOLDER, C_FOLDER, sdk};
use super::tools::{TARGET, cargo, node_tool, well_ended};
use super::{binaryen, run};

/// Exports of every module in AssemblyScript.
const EXPORTS_TS: &str = "export { whim_abi, whim_inbox, whim_start, whim_handle, whim_timer, whim_before_move, \
                          whim_after_move, whim_stop } from \"whimbrel\";";

/// Linker options for the stack. It is the first thing in memory, so that an overflow is caught. The node reads from
/// the stack pointer how much of the stack is unused.
const STACK: [&str; 3] = ["-zstack-size=65536", "--stack-first", "--export=__stack_pointer"];

/// Returns the manifest of the Cargo package at `path`, if it is meant to be one.
fn manifest_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join("Cargo.toml"));
    }
    path.file_name().is_some_and(|name| name == "Cargo.toml").then(|| path.to_owned())
}

/// Checks that there is a program at `path` that can be built, before its compilers are looked for.
pub fn check_program(path: &Path) -> anyhow::Result<()> {
    if let Some(manifest) = manifest_of(path) {
        if !manifest.is_file() {
            bail!("{} is missing: expected a folder with a Cargo package", manifest.display());
        }
        return Ok(());
    }
    if !path.exists() {
        bail!("there is no file {}", path.display());
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ts" | "c" | "wasm" | "wat") => Ok(()),
        Some("rs") => bail!("{} must be part of a Cargo package: give the folder with Cargo.toml", path.display()),
        _ => {
            bail!("{} cannot be built to an agent: expected .ts, .c, .wasm, .wat, or a Cargo package", path.display())
        }
    }
}

/// Compiles the checked program at `path`, in `folder` if it leaves anything; where the module is.
pub fn compile(path: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    if let Some(manifest) = manifest_of(path) {
        return rust(&manifest);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ts") => assemblyscript(path, folder),
        Some("c") => c(path, folder),
        Some("wat") => {
            let module = folder.join("program.wasm");
            run(binaryen("wasm-as", path, &module)?)?;
            Ok(module)
        }
        _ => Ok(path.to_owned()),
    }
}

/// Builds a Cargo package: small, and as nodes expect it, whatever the package says.
fn rust(manifest: &Path) -> anyhow::Result<PathBuf> {
    let mut flags: Vec<String> = STACK.iter().map(|argument| format!("-Clink-arg={argument}")).collect();
    flags.extend(nameless_paths(manifest)?);
    let mut command = cargo()?;
    command.args(["build", "--release", "--lib", "--target", TARGET, "--message-format", "json-render-diagnostics"]);
    command.arg("--manifest-path").arg(manifest);
    command.arg("--config").arg(format!("target.{TARGET}.rustflags={flags:?}"));
    for setting in ["opt-level=\"s\"", "lto=true", "codegen-units=1", "panic=\"abort\"", "strip=true"] {
        command.arg("--config").arg(format!("profile.release.{setting}"));
    }
    let seen = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    well_ended(seen.status, || format!("cargo could not build {}", manifest.display()))?;
    let messages = String::from_utf8_lossy(&seen.stdout);
    let mut modules: Vec<PathBuf> = messages.lines().flat_map(modules_in).collect();
    modules.dedup();
    match modules.as_slice() {
        [module] => Ok(module.clone()),
        [] => bail!("{} builds no module: add to its [lib] crate-type = [\"cdylib\"]", manifest.display()),
        several => bail!("{} builds {} modules: give the folder of one package", manifest.display(), several.len()),
    }
}

/// Names sources by their packages, not by their paths on this machine, so that a module reveals no paths and hardly
/// depends on them.
fn nameless_paths(manifest: &Path) -> anyhow::Result<Vec<String>> {
    let mut command = cargo()?;
    command.args(["metadata", "--format-version", "1", "--filter-platform", TARGET, "--manifest-path"]).arg(manifest);
    let seen = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !seen.status.success() {
        bail!("cargo could not read {}", manifest.display());
    }
    let known: serde_json::Value =
        serde_json::from_slice(&seen.stdout).context("output of cargo metadata is not JSON")?;
    let packages = known.get("packages").and_then(|packages| packages.as_array()).into_iter().flatten();
    let text = |package: &serde_json::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let remapped = packages.filter_map(|package| {
        let (name, file) = (text(package, "name")?, text(package, "manifest_path")?);
        Some(format!("--remap-path-prefix={}={name}", Path::new(&file).parent()?.display()))
    });
    Ok(remapped.collect())
}

/// Returns the modules that a message of cargo's tells of.
fn modules_in(message: &str) -> Vec<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).unwrap_or_default();
    let files = message.get("filenames").and_then(|files| files.as_array()).into_iter().flatten();
    let files = files.filter_map(|file| file.as_str()).map(PathBuf::from);
    files.filter(|file| file.extension().is_some_and(|extension| extension == "wasm")).collect()
}

fn assemblyscript(path: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let tool = node_tool("asc").context("asc of AssemblyScript is missing")?;
    let library = sdk(folder)?.join(ASSEMBLYSCRIPT_FOLDER);
    // What the entry files of a compilation export is what the module exports.
    let exports = folder.join("exports.ts");
    std::fs::write(&exports, EXPORTS_TS).with_context(|| format!("cannot write {}", exports.display()))?;
    let module = folder.join("program.wasm");
    let mut command = Command::new(tool);
    command.arg(path).arg(exports).arg("--outFile").arg(&module).arg("--lib").arg(library);
    command.args(["-O2", "--noColors", "--runtime", "incremental", "--use", "abort=~lib/whimbrel/abort"]);
    run(command)?;
    Ok(module)
}

fn c(path: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let header = sdk(folder)?.join(C_FOLDER);
    let module = folder.join("program.wasm");
    let mut command = Command::new("clang");
    command.args(["--target=wasm32", "-std=c11", "-Os", "-Wall", "-nostdlib", "-ffreestanding", "-mbulk-memory"]);
    command.args(["-msign-ext", "-mnontrapping-fptoint", "-mmutable-globals", "-Wl,--no-entry", "-Wl,--gc-sections"]);
    command.args(STACK.map(|argument| format!("-Wl,{argument}")));
    command.arg("-I").arg(header).arg(path).arg("-o").arg(&module);
    run(command)?;
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_in_cargo_output() {
        let message = r#"{"reason":"compiler-artifact","filenames":["/a/w.wasm","/a/libw.rlib"],"fresh":true}"#;
        assert_eq!(modules_in(message), [PathBuf::from("/a/w.wasm")]);
        assert!(modules_in("not JSON").is_empty());
    }
}
