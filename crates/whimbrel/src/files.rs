//! Program files: reading them with clear words about what is wrong, and finding those that programs name.

use std::io::Read;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::ast::Span;
use whimbrel_bdi::syntax::{Diagnostic, SourceText};
use whimbrel_platform::limits;

/// Reasons why a file cannot be read as program text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceReadError {
    /// File that does not exist.
    #[error("there is no file {}{}", .path.display(), hint(.nearest))]
    Missing {
        /// Path of the missing file.
        path: PathBuf,
        /// A file beside it with a similar name.
        nearest: Option<String>,
    },
    /// The path is a folder.
    #[error("{} is a folder; expected a file", .0.display())]
    Folder(PathBuf),
    /// The file is not text.
    #[error("{} is not UTF-8 text from line {line} on: save it as UTF-8", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first byte that does not fit, from 1.
        line: usize,
    },
    /// The file is longer than a program may be.
    #[error("{} has {bytes} bytes or more: a program may have {bytes_max}", .path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
        /// Minimum length of the file.
        bytes: u64,
        /// Maximum length of a program.
        bytes_max: usize,
    },
    /// The operating system says no.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

/// Reads program text, in whichever encoding an editor saved it.
///
/// # Errors
/// There is no such file.
pub fn read_source(path: &Path) -> Result<SourceText, SourceReadError> {
    read_bytes(path, limits::SOURCE_BYTES_MAX).map(SourceText::decode)
}

/// Reads text that must be UTF-8, as that of policies.
///
/// # Errors
/// There is no such file, or it is no text.
pub fn read(path: &Path) -> Result<String, SourceReadError> {
    let bytes = read_bytes(path, limits::SOURCE_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        SourceReadError::NotText { path: path.to_owned(), line }
    })
}

/// Reads a file of at most this many bytes.
///
/// # Errors
/// There is no such file, or it is longer.
pub fn read_bytes(path: &Path, bytes_max: usize) -> Result<Vec<u8>, SourceReadError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => SourceReadError::Missing { path: path.to_owned(), nearest: nearest(path) },
        _ => SourceReadError::Unreadable { path: path.to_owned(), source },
    };
    let about = std::fs::metadata(path).map_err(failed)?;
    if about.is_dir() {
        return Err(SourceReadError::Folder(path.to_owned()));
    }
    if about.len() > bytes_max as u64 {
        return Err(SourceReadError::TooBig { path: path.to_owned(), bytes: about.len(), bytes_max });
    }
    // Some files are longer than they say.
    let mut bytes = Vec::with_capacity(about.len() as usize);
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > bytes_max {
        return Err(SourceReadError::TooBig { path: path.to_owned(), bytes: bytes.len() as u64, bytes_max });
    }
    Ok(bytes)
}

/// Returns a file beside `path` whose name is much like it.
fn nearest(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| ["asl", "mas2j", "wasm"].iter().any(|ending| has_extension(name, ending)))
        .collect();
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let same_stem = names.iter().find(|name| stem(name) == stem(wanted));
    same_stem.or_else(|| names.iter().find(|name| name.starts_with(wanted))).cloned()
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Prefix of paths within Jason's own archive: `$jasonJar/test/jason/inc/tester_agent.asl`.
const JASON_ARCHIVE: &str = "$jasonJar/";

/// Folders of a checkout of Jason with the contents of its archive.
const JASON_FOLDERS: [&str; 4] =
    ["", "jason-interpreter/src", "jason-interpreter/src/main/resources", "src/main/resources"];

/// Returns a path, that of a file in Jason's archive replaced by where the file is: below the folder that the
/// environment variable `JASON_HOME` names (a checkout of Jason's repository, or its archive unpacked), or below a
/// folder around `near`.
fn in_jason(path: &str, near: &Path) -> PathBuf {
    let Some(path) = path.strip_prefix(JASON_ARCHIVE) else { return path.into() };
    let home = std::env::var_os("JASON_HOME").map(PathBuf::from);
    let near = if near.as_os_str().is_empty() { Path::new(".") } else { near };
    let near = near.canonicalize().unwrap_or_else(|_| near.to_owned());
    let folders = home.iter().map(PathBuf::as_path).chain(near.ancestors());
    let mut places = folders.flat_map(|folder| JASON_FOLDERS.map(|inner| folder.join(inner).join(path)));
    places.find(|place| place.exists()).unwrap_or_else(|| home.clone().unwrap_or_default().join(path))
}

/// Sources of a society's programs.
#[derive(Clone, Debug)]
pub enum Sources {
    /// Folders that are searched in this order.
    Folders(Vec<PathBuf>),
    /// Built in: names and texts.
    BuiltIn(&'static [(&'static str, &'static str)]),
}

/// Returns a file's path in one of these folders or the current one; if it is in none, the last path tried.
fn find_in(folders: &[PathBuf], path: &str) -> PathBuf {
    let path = in_jason(path, folders.last().map_or(Path::new(""), PathBuf::as_path));
    let candidates = || folders.iter().map(|folder| folder.join(&path));
    let found = candidates().find(|file| file.is_file()).or_else(|| path.is_file().then(|| path.clone()));
    found.or_else(|| candidates().next_back()).unwrap_or_else(|| path.clone())
}

/// Finds a file inside these folders, as [`Sources::find_inside`] does.
fn inside(folders: &[PathBuf], path: &str) -> Option<PathBuf> {
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    folders.iter().find_map(|folder| {
        let whole = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize().ok()?;
        let file = folder.join(path);
        // No way round: a link would have endlessly many names, or lead out.
        let is_it = file.canonicalize().is_ok_and(|found| found == whole.join(path) && found.is_file());
        is_it.then_some(file)
    })
}

impl Sources {
    /// `listed` are folders as a project names them, relative to its own folder or to the current one; the project's
    /// own folder is searched after them.
    pub fn new<'a>(project_folder: &Path, listed: impl IntoIterator<Item = &'a str>) -> Self {
        let listed: Vec<PathBuf> = listed.into_iter().map(|folder| in_jason(folder, project_folder)).collect();
        let mut folders: Vec<PathBuf> = listed.iter().map(|folder| project_folder.join(folder)).collect();
        folders.extend(listed);
        folders.push(project_folder.to_owned());
        Self::Folders(folders)
    }

    /// Returns the folder that the project is in, unless it is built in.
    pub fn project_folder(&self) -> Option<&Path> {
        match self {
            Self::Folders(folders) => folders.last().map(PathBuf::as_path),
            Self::BuiltIn(_) => None,
        }
    }

    /// Returns the file a program names by `path`; the last place where one could be, if there is none. Paths that were
    /// written on Windows have back-slashes.
    pub fn find(&self, path: &str) -> PathBuf {
        let path = path.strip_prefix("file:").unwrap_or(path);
        let Self::Folders(folders) = self else { return path.into() };
        let file = find_in(folders, path);
        if file.is_file() || !path.contains('\\') { file } else { find_in(folders, &path.replace('\\', "/")) }
    }

    /// Returns the file of this society that another node names by `path`: in one of the society's folders, and by the
    /// only name that it has there. `None` if there is none. Other nodes learn nothing of other files.
    pub fn find_inside(&self, path: &str) -> Option<PathBuf> {
        let folders = match self {
            Self::Folders(folders) => folders,
            Self::BuiltIn(files) => return files.iter().any(|(name, _)| *name == path).then(|| path.into()),
        };
        inside(folders, path).or_else(|| inside(folders, &path.replace('\\', "/")))
    }

    /// Returns the names of programs in the society's folders, sorted; not of those in further folders.
    pub fn list(&self) -> Vec<String> {
        let is_program = |name: &String| ["asl", "wasm"].iter().any(|extension| has_extension(name, extension));
        let mut names: Vec<String> = match self {
            Self::BuiltIn(files) => files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            Self::Folders(folders) => {
                let folder = |folder: &PathBuf| if folder.as_os_str().is_empty() { ".".into() } else { folder.clone() };
                let entries = folders.iter().filter_map(|listed| std::fs::read_dir(folder(listed)).ok()).flatten();
                entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
            }
        };
        names.retain(is_program);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the text of a file that [`Sources::find`] found.
    ///
    /// # Errors
    /// There is none.
    pub fn read(&self, file: &Path) -> Result<SourceText, SourceReadError> {
        match self {
            Self::Folders(_) => read_source(file),
            Self::BuiltIn(files) => files
                .iter()
                .find(|(name, _)| Path::new(name) == file)
                .map(|(_, text)| (*text).to_owned().into())
                .ok_or_else(|| SourceReadError::Missing { path: file.to_owned(), nearest: None }),
        }
    }
}

impl Sources {
    /// Returns the bytes of a WebAssembly module that [`Sources::find`] found.
    ///
    /// # Errors
    /// There is none.
    pub fn read_module(&self, file: &Path) -> Result<Vec<u8>, SourceReadError> {
        match self {
            Self::Folders(_) => read_bytes(file, limits::MODULE_BYTES_MAX),
            Self::BuiltIn(_) => Err(SourceReadError::Missing { path: file.to_owned(), nearest: None }),
        }
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self::BuiltIn(&[])
    }
}

/// Returns a diagnostic for a fault at a place of a text.
pub fn wrong(text: &str, path: &Path, place: Range<usize>, message: &str) -> Box<Diagnostic> {
    let before = text.as_bytes().get(..place.start).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
    let span = Span { start: place.start as u32, end: place.end as u32, line };
    let message = message.lines().collect::<Vec<_>>().join(": ");
    Box::new(Diagnostic::error(&Text::from(path.to_string_lossy()), span, message, "here"))
}

#[cfg(test)]
mod tests {
    use whimbrel_testkit::Scratch;

    use super::*;

    /// A folder of a society with a program, one in a folder of it, and one beside it that is not the society's.
    fn society() -> (Scratch, Sources) {
        let folder = Scratch::with(&[("society/a.asl", "x."), ("society/agents/b.asl", "x."), ("secret.asl", "x.")]);
        let sources = Sources::new(&folder.path().join("society"), ["agents"]);
        (folder, sources)
    }

    #[test]
    fn requested_paths_stay_plain_and_inside() {
        let (folder, sources) = society();
        for name in ["a.asl", "b.asl", "agents/b.asl", "agents\\b.asl"] {
            assert!(sources.find_inside(name).is_some_and(|file| file.is_file()), "{name}");
        }
        let absolute = folder.path().join("society/a.asl");
        for name in [
            "../secret.asl",
            "..\\secret.asl",
            "x/../a.asl",
            "./a.asl",
            "agents",
            "",
            "/etc/passwd",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(sources.find_inside(name), None, "{name}");
        }
    }

    #[test]
    fn programs_of_all_folders_are_listed() {
        let (_folder, sources) = society();
        assert_eq!(sources.list(), ["a.asl", "b.asl"]);
        assert_eq!(Sources::BuiltIn(&[("x.mas2j", ""), ("y.asl", "")]).list(), ["y.asl"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_strangers_nowhere() {
        let (folder, sources) = society();
        let inside = folder.path().join("society");
        std::os::unix::fs::symlink(&inside, inside.join("again")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret.asl"), inside.join("out.asl")).unwrap();
        assert!(sources.find("again/again/a.asl").is_file());
        for name in ["again/a.asl", "again/again/a.asl", "out.asl"] {
            assert_eq!(sources.find_inside(name), None, "{name}");
        }
    }

    #[test]
    fn back_slashes_name_files_too() {
        let (_folder, sources) = society();
        assert!(sources.find("agents\\b.asl").is_file());
        assert!(!sources.find("agents\\none.asl").is_file());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn oversized_pseudo_file_is_not_read() {
        let path = Path::new("/proc/self/status");
        assert_eq!(std::fs::metadata(path).unwrap().len(), 0);
        assert!(matches!(read_bytes(path, 10), Err(SourceReadError::TooBig { bytes: 11, bytes_max: 10, .. })));
        assert!(!read_bytes(path, 1 << 20).unwrap().is_empty());
    }
}
