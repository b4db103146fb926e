//! Files of projects, as the tools for programs read them: from folders, or as an editor holds them.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use whimbrel::files::{Sources, read_source};
use whimbrel_acl::Text;
use whimbrel_bdi::syntax::SourceText;
use whimbrel_editor::society::{ProjectFiles, SocietyText};

/// Folders above a program in which its project is searched.
const FOLDERS_ABOVE: usize = 3;

/// Files around a project or a program.
pub struct EditorFiles<'a> {
    folder: PathBuf,
    sources: Sources,
    /// Texts that an editor holds, by path.
    open: &'a FxHashMap<PathBuf, String>,
}

impl<'a> EditorFiles<'a> {
    /// Returns the files around the project or program `file`; `open` has precedence.
    pub fn around(file: &Path, open: &'a FxHashMap<PathBuf, String>) -> Self {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Self { sources: Sources::new(&folder, []), folder, open }
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, file: &Path) -> Result<SourceText, String> {
        match self.open.get(file) {
            Some(text) => Ok(SourceText::from(text.clone())),
            None => read_source(file).map_err(|error| error.to_string()),
        }
    }

    fn named(&self, file: &Path) -> Result<(Text, SourceText), String> {
        Ok((Text::from(file.to_string_lossy()), self.read(file)?))
    }
}

impl ProjectFiles for EditorFiles<'_> {
    fn search(&mut self, folders: &[Text]) {
        self.sources = Sources::new(&self.folder, folders.iter().map(Text::as_str));
    }

    fn has_other_projects(&mut self, project: &str) -> bool {
        projects_in(&self.folder).iter().any(|other| !is_same(other, Path::new(project)))
    }

    fn program(&mut self, path: &str) -> Result<(Text, SourceText), String> {
        self.named(&self.sources.find(path))
    }

    fn included(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), String> {
        let beside = Path::new(from_file).parent().unwrap_or(Path::new("")).join(path);
        let file = if beside.is_file() { beside } else { self.sources.find(path) };
        self.named(&file)
    }
}

/// Reads a project with its programs, or a program with the project that names it, if there is one.
///
/// # Errors
/// The file cannot be read.
pub fn read_society(file: &Path, open: &FxHashMap<PathBuf, String>) -> Result<SocietyText, String> {
    let mut files = EditorFiles::around(file, open);
    let source = files.read(file)?;
    let name = Text::from(file.to_string_lossy());
    if file.extension().is_some_and(|extension| extension == "mas2j") {
        return Ok(SocietyText::of_project(&source.text, &name, &mut files));
    }
    let society = projects_above(file).into_iter().find_map(|project| {
        let society = read_society(&project, open).ok()?;
        let is_member = |file: &Text| is_same(Path::new(file.as_str()), Path::new(name.as_str()));
        society.programs.iter().any(|program| is_member(&program.file)).then_some(society)
    });
    Ok(society.unwrap_or_else(|| SocietyText::of_program(&source.text, &name, &mut files)))
}

/// Returns true if two paths are of one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Returns the projects in the folders around a program, the nearest first.
fn projects_above(file: &Path) -> Vec<PathBuf> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    folder.ancestors().take(FOLDERS_ABOVE).flat_map(projects_in).collect()
}

/// Returns the projects in a folder, by name.
fn projects_in(folder: &Path) -> Vec<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "mas2j"))
        .collect();
    found.sort();
    found
}
