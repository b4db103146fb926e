//! One module per command. Each returns the process's exit code, or an error to show.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

pub mod bench;
pub mod ca;
pub mod check;
pub mod codec;
pub mod join;
pub mod new;
pub mod run;
pub mod session;

/// The project to run: the file itself, or the only project in a folder.
fn project_in(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut projects: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("cannot read the folder {}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "mas2j"))
        .collect();
    projects.sort();
    match projects.as_slice() {
        [project] => Ok(project.clone()),
        [] => bail!("{} is a folder without a project (.mas2j) in it", path.display()),
        several => {
            let names: Vec<String> = several.iter().map(|project| project.display().to_string()).collect();
            bail!("{} holds several projects: name one of {}", path.display(), names.join(", "))
        }
    }
}
