//! What a module wants of a node, and whether it is an agent at all.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, bail};
use wasmparser::{Parser, Payload};

/// What a node does for agents (docs/design/wasm-agents.md).
const IMPORTS: [&str; 23] = [
    "send",
    "take",
    "read",
    "reason",
    "name",
    "node",
    "timer",
    "cancel",
    "now",
    "random",
    "log",
    "print",
    "register",
    "deregister",
    "search",
    "exists",
    "join",
    "leave",
    "act",
    "depart",
    "depart_clone",
    "discard",
    "stop",
];

/// What suspends an agent in the middle of a call.
const SUSPENDING: [&str; 4] = ["receive", "sleep", "move_to", "clone_to"];

/// What a node needs of an agent.
const EXPORTS: [&str; 4] = ["memory", "whim_abi", "whim_inbox", "whim_handle"];

/// A module.
pub struct Module {
    pub bytes: Vec<u8>,
    /// Module and name.
    imports: BTreeSet<(String, String)>,
    exports: BTreeSet<String>,
}

impl Module {
    /// Reads the module in a file.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
        for payload in Parser::new(0).parse_all(&bytes) {
            match payload.context("that is no module")? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        imports.insert((import.module.to_owned(), import.name.to_owned()));
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        exports.insert(export?.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(Self { bytes, imports, exports })
    }

    /// Whether a node can run it.
    pub fn check(&self) -> anyhow::Result<()> {
        for (module, name) in &self.imports {
            let known = IMPORTS.contains(&name.as_str()) || SUSPENDING.contains(&name.as_str());
            if module != "whim" || !known {
                bail!("it imports {module}.{name}, which no node has");
            }
        }
        if let Some(name) = EXPORTS.iter().find(|name| !self.exports.contains(**name)) {
            bail!("it does not export {name}");
        }
        Ok(())
    }

    /// Its imports that suspend it.
    pub fn suspending(&self) -> Vec<&str> {
        SUSPENDING.into_iter().filter(|name| self.wants(name)).collect()
    }

    fn wants(&self, import: &str) -> bool {
        self.imports.iter().any(|(_, name)| name == import)
    }

    /// Whether it can be unwound and rewound.
    pub fn is_prepared(&self) -> bool {
        self.exports.contains("asyncify_start_unwind")
    }

    /// What it is, for people.
    pub fn report(&self, file: &Path) -> String {
        let names: Vec<&str> = self.imports.iter().map(|(_, name)| name.as_str()).collect();
        let moves = match (self.wants("move_to"), self.wants("depart")) {
            (true, _) => "itself, in the middle of any call",
            (_, true) => "itself, between two calls",
            _ if self.is_prepared() => "when it is told to, also while it waits in the middle of a call",
            _ => "when it is told to, between two calls",
        };
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.bytes);
        let mut text = format!("{}: {} bytes\n  sha256  ", file.display(), self.bytes.len());
        for byte in digest.as_ref() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        let _ = write!(text, "\n  wants   {}\n  moves   {moves}", names.join(", "));
        text
    }
}
