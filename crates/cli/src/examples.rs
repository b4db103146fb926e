//! Examples that are built into the program.

use anyhow::bail;
use whimbrel_gateway::sdk_files;

include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Folder in which pages of examples look for the SDK.
const PAGE_LIBRARY: &str = "page/lib";

/// File of the AgentSpeak engine for pages.
const ENGINE: &str = "agentspeak.wasm";

/// An example, with its files.
struct Example {
    name: &'static str,
    /// Paths within the example's folder, and what is in the files.
    files: &'static [(&'static str, &'static [u8])],
}

/// Returns the names of all examples.
pub fn example_names() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|example| example.name)
}

/// Returns the files of an example, and those that its pages load beside the SDK of a node.
pub fn example_files(name: &str) -> anyhow::Result<Vec<(String, &'static [u8])>> {
    let files = EXAMPLES.iter().filter(|example| example.name == name).flat_map(|example| example.files);
    let mut files: Vec<(String, &'static [u8])> = files.map(|(path, bytes)| ((*path).to_owned(), *bytes)).collect();
    if files.is_empty() {
        bail!("this build has no example {name}: its source tree had none");
    }
    let library = |file: &str| match name {
        "classroom" => true,
        "roaming" => file == ENGINE,
        _ => false,
    };
    let library: Vec<_> = sdk_files().filter(|(file, _)| library(file)).collect();
    if matches!(name, "classroom" | "roaming") && !library.iter().any(|(file, _)| *file == ENGINE) {
        bail!("cannot copy the example {name}: this build has no AgentSpeak engine for pages: run `make dist`");
    }
    files.extend(library.into_iter().map(|(file, bytes)| (format!("{PAGE_LIBRARY}/{file}"), bytes)));
    Ok(files)
}
