//! Imports of a module.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use wasmparser::{Parser, Payload};
use whimbrel_wasm::ModuleHash;

/// Imports that suspend an agent in the middle of a call.
const SUSPENDING: [&str; 4] = ["receive", "sleep", "move_to", "clone_to"];

/// A module.
pub struct BuiltModule {
    pub bytes: Vec<u8>,
    imports: BTreeSet<String>,
    exports: BTreeSet<String>,
}

impl BuiltModule {
    /// Reads the module in a file.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
        for payload in Parser::new(0).parse_all(&bytes) {
            match payload.context("not a WebAssembly module")? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        imports.insert(import?.name.to_owned());
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

    /// Returns the imports that suspend the module.
    pub fn suspending(&self) -> Vec<&str> {
        SUSPENDING.into_iter().filter(|name| self.wants(name)).collect()
    }

    fn wants(&self, import: &str) -> bool {
        self.imports.contains(import)
    }

    /// Returns true if the module can be unwound and rewound.
    pub fn is_prepared(&self) -> bool {
        self.exports.contains("asyncify_start_unwind")
    }

    /// Returns a readable description of the module.
    pub fn report(&self, file: &Path) -> String {
        let names: Vec<&str> = self.imports.iter().map(String::as_str).collect();
        let moves = match (self.wants("move_to"), self.wants("depart")) {
            (true, _) => "itself, in the middle of any call",
            (_, true) => "itself, between two calls",
            _ if self.is_prepared() => "when it is told to, also while it waits in the middle of a call",
            _ => "when it is told to, between two calls",
        };
        let (file, bytes, hash) = (file.display(), self.bytes.len(), ModuleHash::of(&self.bytes));
        format!("{file}: {bytes} bytes\n  sha256  {hash}\n  wants   {}\n  moves   {moves}", names.join(", "))
    }
}
