//! Society that a prompt begins: another process, which ends with the prompt.

use std::path::{Path, PathBuf};

use anyhow::Context;
use whimbrel::control::RunningNode;

use super::line_editor::LinePrinter;
use crate::commands::child_society::{ChildOutput, ChildSociety, run_command};

/// Name of a prompt's own agent.
pub const OWN_AGENT: &str = "repl";

/// Process of the society.
pub struct NewSociety {
    process: ChildSociety,
    /// Folder of an empty society, removed with it.
    folder: Option<PromptFolder>,
}

/// Folder that is removed when it is dropped.
struct PromptFolder(PathBuf);

impl Drop for PromptFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl NewSociety {
    /// Runs a project or a program; without one an empty society. Returns the process and its nodes, once they answer.
    pub fn begin(
        file: Option<&Path>,
        printer: &LinePrinter,
        has_console: bool,
    ) -> anyhow::Result<(Self, Vec<RunningNode>)> {
        let folder = file.is_none().then(empty_society).transpose()?;
        let of_its_own = folder.as_ref().map(|folder| folder.0.join(format!("{OWN_AGENT}.asl")));
        let file = file.map(Path::to_owned).or(of_its_own).unwrap_or_default();
        let mut command = run_command(&file)?;
        if !has_console {
            command.args(["--http", "off"]);
        }
        if printer.is_colored() {
            command.args(["--color", "always"]);
        }
        let printer = printer.clone();
        let process = ChildSociety::start(command, move |output, line| match output {
            ChildOutput::Standard => printer.print(line),
            ChildOutput::Error => printer.note(line),
        })?;
        let mut society = Self { process, folder };
        let nodes = society.process.nodes()?;
        Ok((society, nodes))
    }

    /// Returns true for a society with no agent but the prompt's.
    pub fn is_empty(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns true if the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.process.ended().is_some()
    }

    /// Ends the society, and waits until all its output is shown.
    pub fn end(mut self, nodes: &[RunningNode]) {
        self.process.end(nodes);
    }
}

/// Makes a folder with the only program of an empty society: that of the prompt's agent.
fn empty_society() -> anyhow::Result<PromptFolder> {
    let folder = std::env::temp_dir().join(format!("whimbrel-repl-{}", std::process::id()));
    whimbrel_files::create_new_folder(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let made = PromptFolder(folder.clone());
    whimbrel_files::write(&folder.join(format!("{OWN_AGENT}.asl")), b"// The agent of a prompt.\n")?;
    Ok(made)
}
