//! Finding the project file of a society.

use std::path::{Path, PathBuf};

/// Reason why a folder does not name one project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The folder cannot be read.
    #[error("cannot read the folder {}", .0.display())]
    Folder(PathBuf, #[source] std::io::Error),
    /// The folder has no project.
    #[error("{} is a folder without a project (.mas2j) in it", .0.display())]
    NoProject(PathBuf),
    /// The folder has more than one project.
    #[error("{} holds several projects: name one of {}", folder.display(), names(projects))]
    SeveralProjects {
        /// The folder.
        folder: PathBuf,
        /// Projects of the folder, by name.
        projects: Vec<PathBuf>,
    },
}

fn names(projects: &[PathBuf]) -> String {
    let names: Vec<String> = projects.iter().map(|project| project.display().to_string()).collect();
    names.join(", ")
}

/// Returns the file to run: `path` itself, or the only project in the folder `path`.
///
/// # Errors
/// The folder cannot be read, or has no project, or several.
pub fn project_in(path: &Path) -> Result<PathBuf, ProjectError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries = std::fs::read_dir(path).map_err(|error| ProjectError::Folder(path.to_owned(), error))?;
    let mut projects: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "mas2j"))
        .collect();
    projects.sort();
    match projects.as_slice() {
        [project] => Ok(project.clone()),
        [] => Err(ProjectError::NoProject(path.to_owned())),
        _ => Err(ProjectError::SeveralProjects { folder: path.to_owned(), projects }),
    }
}
