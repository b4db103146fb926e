//! Where agents come from that are created from a program's text, and the files programs read and write.

use std::sync::Arc;

use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::mobility::{CodeHash, FetchError};
use whimbrel_platform::{AgentBody, Time};

/// Where the code of an agent is that comes from another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeFound {
    /// It is a program of this node's own.
    Own,
    /// It came from another node, and is in use here.
    Foreign,
    /// It is not in use here.
    Missing,
}

/// Finds program files, compiles them, and makes agents of them. The runtime knows no language; who embeds it does.
pub trait ProgramLoader: Send + Sync {
    /// Makes the body of the agent `name` from the program at `path`.
    ///
    /// # Errors
    /// The program is not to be had, or does not compile: why.
    fn load(&self, name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String>;

    /// What the AMS says of agents that are made from such a program.
    fn kind(&self, _path: &str) -> AgentKind {
        AgentKind::AgentSpeak
    }

    /// Makes an agent's body again from what was kept of it: whole, and what changed since, in order. The last of it was written
    /// at a time by this node's clock that may be before that began: then it wraps.
    ///
    /// # Errors
    /// Its program is not to be had or is another one by now, or the state is none of such a program: why.
    fn restore(
        &self,
        _name: Symbol,
        origin: &Origin,
        _states: &[State],
        _written_at: Time,
    ) -> Result<Box<dyn AgentBody>, String> {
        Err(match origin {
            Origin::Program { path, .. } => format!("no loader is installed for programs such as {path}"),
            Origin::Type(name) => format!("this platform knows no durable type {name}"),
            _ => "its code is not known".to_owned(),
        })
    }

    /// Where the code is of an agent that comes, of all that is in use here. Asked for each one, by threads that have no time to read
    /// anything.
    fn find_code(&self, _origin: &Origin) -> CodeFound {
        CodeFound::Own
    }

    /// Looks for code that nobody has used here yet: among this node's own files, and what came from another node and was kept. If that is
    /// found, it is in use from now on. Takes its time.
    fn recall_code(&self, _origin: &Origin) -> bool {
        false
    }

    /// Code that is in use here as it travels: these bytes have that hash.
    fn code(&self, _code: CodeHash) -> Option<Arc<[u8]>> {
        None
    }

    /// Takes in what another node says is this agent's code. Takes its time.
    ///
    /// # Errors
    /// It has another hash, or cannot be run here.
    fn admit_code(&self, _origin: &Origin, _bytes: Vec<u8>) -> Result<(), FetchError> {
        Err(FetchError::Inadmissible("no loader is installed for programs".to_owned()))
    }

    /// Reads program text by the path a program names.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read_source(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))
    }

    /// The files in a folder that a program names, and in the folders within it, in the order of their paths.
    fn list_files(&self, folder: &str) -> Vec<String> {
        let mut folders = vec![std::path::PathBuf::from(folder)];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                // Links are not followed: they may lead round in a circle.
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(_) => files.push(entry.path().to_string_lossy().into_owned()),
                    Err(_) => {}
                }
            }
        }
        files.sort_unstable();
        files
    }

    /// Keeps text under a name a program chose.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        std::fs::write(path, text).map_err(|error| format!("cannot write {path}: {error}"))
    }
}

/// For platforms whose agents are all made in Rust.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPrograms;

impl ProgramLoader for NoPrograms {
    fn load(&self, _name: Symbol, path: &str, _options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        Err(format!("no loader is installed for programs such as {path}"))
    }
}
