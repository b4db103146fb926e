//! Compilers that programs in each language need, and how to get those that are missing.

use std::fmt::Write;
use std::path::Path;

use super::tools::{TARGET, has_rust_target, node_tool, program};
use crate::arguments::Language;

/// A compiler, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildTool {
    Cargo,
    RustTarget,
    AssemblyScript,
    Clang,
    Linker,
    Optimiser,
    Assembler,
}

impl BuildTool {
    fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::RustTarget => TARGET,
            Self::AssemblyScript => "asc",
            Self::Clang => "clang",
            Self::Linker => "wasm-ld",
            Self::Optimiser => "wasm-opt",
            Self::Assembler => "wasm-as",
        }
    }

    /// Returns how to install the tool.
    fn source(self) -> &'static str {
        match self {
            Self::Cargo => "install Rust: https://rustup.rs",
            Self::RustTarget => "rustup target add wasm32-unknown-unknown",
            Self::AssemblyScript => "npm install --global assemblyscript",
            Self::Clang => "apt install clang, or brew install llvm",
            Self::Linker => "apt install lld, or brew install lld",
            Self::Optimiser | Self::Assembler => "npm install --global binaryen",
        }
    }

    fn is_there(self) -> bool {
        match self {
            Self::RustTarget => has_rust_target(),
            Self::Cargo | Self::Clang | Self::Linker => program(self.name()).is_some(),
            Self::AssemblyScript | Self::Optimiser | Self::Assembler => node_tool(self.name()).is_some(),
        }
    }
}

/// Returns the tools for a language that are missing.
pub fn missing_for(language: Language) -> Vec<BuildTool> {
    let needed: &[BuildTool] = match language {
        Language::Rust => &[BuildTool::Cargo, BuildTool::RustTarget, BuildTool::Optimiser],
        Language::AssemblyScript => &[BuildTool::AssemblyScript, BuildTool::Optimiser],
        Language::C => &[BuildTool::Clang, BuildTool::Linker, BuildTool::Optimiser],
    };
    needed.iter().copied().filter(|tool| !tool.is_there()).collect()
}

/// Returns the tools for the program at `path` that are missing.
pub fn missing_at(path: &Path) -> Vec<BuildTool> {
    let of = |needed: &[BuildTool]| needed.iter().copied().filter(|tool| !tool.is_there()).collect();
    match path.extension().and_then(|extension| extension.to_str()) {
        _ if path.is_dir() => missing_for(Language::Rust),
        Some("toml") => missing_for(Language::Rust),
        Some("ts") => missing_for(Language::AssemblyScript),
        Some("c") => missing_for(Language::C),
        Some("wat") => of(&[BuildTool::Assembler, BuildTool::Optimiser]),
        Some("wasm") => of(&[BuildTool::Optimiser]),
        _ => Vec::new(),
    }
}

/// Returns a line for each missing tool, with how to install it, and one for all.
pub fn sources(missing: &[BuildTool]) -> String {
    let names = missing.iter().map(|tool| tool.name());
    let width = names.chain(["all of them"]).map(str::len).max().unwrap_or_default();
    let mut text = String::new();
    for tool in missing {
        let _ = writeln!(text, "  {:width$}  {}", tool.name(), tool.source());
    }
    let _ = write!(text, "  {:width$}  make wasm-tools, in Whimbrel's repository", "all of them");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_have_sources() {
        let text = sources(&[BuildTool::Clang, BuildTool::RustTarget]);
        let expected = "  clang                   apt install clang, or brew install llvm\n  \
                        wasm32-unknown-unknown  rustup target add wasm32-unknown-unknown\n  \
                        all of them             make wasm-tools, in Whimbrel's repository";
        assert_eq!(text, expected);
        assert!(missing_at(Path::new("a.py")).is_empty());
    }
}
