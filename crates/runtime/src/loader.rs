//! Program loader: makes agents from program text, and reads and writes programs' files.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Symbol, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{CodeHash, Origin, State};
use whimbrel_platform::foreign_actions::SharedForeignActions;
use whimbrel_platform::mobility::FetchError;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{AgentBody, Time};

/// Location of the code of an agent that comes from another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeFound {
    /// The code is a program of this node.
    Own,
    /// The code came from another node, and is in use here.
    Foreign,
    /// The code is not in use here.
    Missing,
}

/// Access to a platform for threads that its loader started. It does not keep the platform running; once that has
/// ended, nothing happens.
pub trait PlatformAccess: Send + Sync {
    /// Sends a message.
    fn send(&self, message: Box<AclMessage>);

    /// Prints a line of an agent's output.
    fn print(&self, agent: Aid, text: &str);

    /// Notes something about an agent for its operator.
    fn log(&self, agent: Aid, level: LogLevel, text: &str);
}

/// Port that finds program files, compiles them, and makes agents of them. The runtime knows no language; the program
/// that embeds it does.
pub trait ProgramLoader: Send + Sync {
    /// Makes the body of the agent `name` from the program at `path`.
    ///
    /// # Errors
    /// Returns the reason if the program cannot be found or does not compile.
    fn load(&self, name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String>;

    /// Returns the kind under which the AMS lists agents of such a program.
    fn kind(&self, _path: &str) -> AgentKind {
        AgentKind::AgentSpeak
    }

    /// Restores an agent's body from its recorded states: a complete one, then changes in order. The last was
    /// recorded at a time on this node's clock that may lie before the clock's start; then it wraps.
    ///
    /// # Errors
    /// Returns the reason if the program cannot be found or has changed, or if the state does not belong to it.
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

    /// Looks up the code of an agent that arrives, among all code in use here. Called for each agent by threads that
    /// must not read files.
    fn find_code(&self, _origin: &Origin) -> CodeFound {
        CodeFound::Own
    }

    /// Looks for code that is not in use here yet: among this node's own files and the code retained from other
    /// nodes. Code that is found is in use from now on. May take long.
    fn recall_code(&self, _origin: &Origin) -> bool {
        false
    }

    /// Returns code in use here as it travels: bytes with this hash.
    fn code(&self, _code: CodeHash) -> Option<Arc<[u8]>> {
        None
    }

    /// Admits what another node sent as this agent's code. May take long.
    ///
    /// # Errors
    /// Returns an error if the code has another hash, or cannot run here.
    fn admit_code(&self, _origin: &Origin, _bytes: Vec<u8>) -> Result<(), FetchError> {
        Err(FetchError::Inadmissible("no loader is installed for programs".to_owned()))
    }

    /// Reads program text by the path that a program names.
    ///
    /// # Errors
    /// Returns the reason if the file cannot be read.
    fn read_source(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))
    }

    /// Lists the files in a folder that a program names, and in its subfolders, ordered by path.
    fn list_files(&self, folder: &str) -> Vec<String> {
        let mut folders = vec![std::path::PathBuf::from(folder)];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                // Symbolic links are not followed: they may form a cycle.
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

    /// Returns the host of foreign actions that programs call (`py.fun`), if there is one.
    fn foreign_actions(&self) -> Option<SharedForeignActions> {
        None
    }

    /// Gives access to the platform that runs the loader's programs. Called once, before there are agents.
    fn attach(&self, _platform: Box<dyn PlatformAccess>) {}

    /// Writes text to a file that a program names.
    ///
    /// # Errors
    /// Returns the reason if the file cannot be written.
    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        std::fs::write(path, text).map_err(|error| format!("cannot write {path}: {error}"))
    }
}

/// Loader without programs, for platforms whose agents are all written in Rust.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPrograms;

impl ProgramLoader for NoPrograms {
    fn load(&self, _name: Symbol, path: &str, _options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        Err(format!("no loader is installed for programs such as {path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_subfolders_are_listed() {
        let folder = std::env::temp_dir().join(format!("whimbrel-loader-{}", std::process::id()));
        let inner = folder.join("b");
        std::fs::create_dir_all(&inner).unwrap();
        let names = [folder.join("c.txt"), inner.join("d.txt"), folder.join("a.txt")];
        let mut names = names.map(|file| file.to_string_lossy().into_owned());
        names.iter().for_each(|file| NoPrograms.write_file(file, "text").unwrap());
        names.sort_unstable();
        let listed = NoPrograms.list_files(&folder.to_string_lossy());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(listed, names);
        assert_eq!(NoPrograms.list_files(&folder.to_string_lossy()), Vec::<String>::new());
    }
}
