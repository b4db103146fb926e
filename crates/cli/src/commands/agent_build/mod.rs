//! `whimbrel agent`: a program becomes a module that nodes run; the SDKs with which it is written.

mod compile;
mod inspect;
pub mod requirements;
mod sdk;
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use whimbrel::guests::GuestModules;

use self::compile::{check_program, compile};
use self::inspect::BuiltModule;
use self::requirements::{missing_at, sources};
use self::sdk::sdk_in_cache;
use self::tools::{BuildInterrupted, node_tool, quoted, scratch, well_ended};
use crate::arguments::{AgentAction, AgentArguments};
use whimbrel_terminal::screen::print;

/// WebAssembly features beyond the first version that nodes accept (docs/design/wasm-agents.md).
const FEATURES: [&str; 7] = [
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-multivalue",
    "--enable-bulk-memory",
    "--enable-simd",
];

/// Exit status of a program that Ctrl-C ended, as in shells.
const INTERRUPTED: u8 = 130;

/// `whimbrel agent`.
pub fn agent(arguments: &AgentArguments) -> anyhow::Result<ExitCode> {
    let (path, output) = match &arguments.action {
        AgentAction::Build { path, output } => (path, output),
        AgentAction::Sdk => {
            print(&sdk_in_cache()?.display().to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let output = output.clone().map_or_else(|| default_output(path), Ok)?;
    check_program(path)?;
    let missing = missing_at(path);
    if !missing.is_empty() {
        bail!("{} needs tools that are missing here:\n{}", path.display(), sources(&missing));
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&interrupted);
    // A terminal's Ctrl-C ends the tool at work, too. What is in between is removed then.
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))?;
    let folder = scratch()?;
    let built = build(path, folder.path());
    // The tool may have ended of it before this process was told.
    if interrupted.load(Ordering::Relaxed) || built.as_ref().is_err_and(anyhow::Error::is::<BuildInterrupted>) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let module = built?;
    std::fs::write(&output, &module.bytes).with_context(|| format!("cannot write {}", output.display()))?;
    print(&module.report(&output))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of the program, and `.wasm`.
fn default_output(path: &Path) -> anyhow::Result<PathBuf> {
    let place = if path.is_dir() { path.canonicalize()? } else { path.to_owned() };
    let name = if place.is_dir() { place.file_name() } else { place.file_stem() };
    let output = PathBuf::from(name.context("not a valid name of a program")?).with_extension("wasm");
    if path == output {
        bail!("cannot overwrite the source {}: give another output file with -o", path.display());
    }
    Ok(output)
}

/// Returns the module of the program at `path`, made in `folder`.
fn build(path: &Path, folder: &Path) -> anyhow::Result<BuiltModule> {
    let plain = compile(path, folder)?;
    let module = BuiltModule::read(&plain)?;
    let made = folder.join("made.wasm");
    let mut command = binaryen("wasm-opt", &plain, &made)?;
    let suspending = module.suspending();
    if !suspending.is_empty() && !module.is_prepared() {
        let imports: Vec<String> = suspending.iter().map(|name| format!("whim.{name}")).collect();
        command.arg("--asyncify").arg(format!("--pass-arg=asyncify-imports@{}", imports.join(",")));
    }
    command.args(["-O2", "--strip-debug", "--strip-producers"]);
    run(command)?;
    let module = BuiltModule::read(&made)?;
    // What a node would say of it.
    GuestModules::default().code(path, &module.bytes).map_err(anyhow::Error::msg)?;
    Ok(module)
}

/// Returns a tool of binaryen's that makes one module of another.
fn binaryen(tool: &str, from: &Path, to: &Path) -> anyhow::Result<Command> {
    let Some(program) = node_tool(tool) else { bail!("{tool} is missing: npm install --global binaryen") };
    let mut command = Command::new(program);
    command.args(FEATURES).arg(from).arg("-o").arg(to);
    Ok(command)
}

/// Runs a tool, which says itself what is wrong.
fn run(mut command: Command) -> anyhow::Result<()> {
    let shown = quoted(&command);
    let status = command.stdout(Stdio::null()).status().with_context(|| format!("cannot run {shown}"))?;
    well_ended(status, || format!("{shown} failed"))
}
