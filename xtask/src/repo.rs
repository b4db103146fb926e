//! The repository's files, as git sees them: tracked ones, and new ones that are not ignored.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mask::mask;

/// All files by their path from the repository's root.
#[derive(Default)]
pub struct Repo {
    root: PathBuf,
    files: BTreeMap<String, File>,
}

/// One file.
pub struct File {
    /// Size in bytes.
    pub bytes: usize,
    /// Text of the file; empty if it is no UTF-8.
    pub text: String,
    /// Text of a Rust file with comments and literals blanked out, made when it is first asked for.
    code: OnceCell<String>,
}

impl File {
    fn new(bytes: usize, text: String) -> Self {
        Self { bytes, text, code: OnceCell::new() }
    }
}

impl Repo {
    /// Reads the repository this program was built in.
    pub fn open() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default();
        let repo = Self { root, files: BTreeMap::new() };
        let listing = repo.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        Ok(Self::read(repo.root, &listing))
    }

    /// Reads the files of a listing of git's.
    fn read(root: PathBuf, listing: &str) -> Self {
        let mut files = BTreeMap::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            // A file that is tracked but deleted, or a link, has nothing to check.
            let place = root.join(path);
            if place.is_symlink() {
                continue;
            }
            let Ok(content) = std::fs::read(&place) else { continue };
            let bytes = content.len();
            files.insert(path.to_owned(), File::new(bytes, String::from_utf8(content).unwrap_or_default()));
        }
        Self { root, files }
    }

    /// Runs git in the repository's root and returns its output.
    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        self.git_with(arguments, &[])
    }

    fn git_with(&self, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<String, String> {
        let output = Command::new("git")
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(&self.root)
            .output()
            .map_err(|error| format!("cannot run git: {error}"))?;
        if !output.status.success() {
            let command = arguments.first().copied().unwrap_or_default();
            return Err(format!("git {command} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Reads the repository as it was after the last commit that changed `path`.
    pub fn before(&self, path: &str) -> Result<Self, String> {
        let commit = self.git(&["log", "-1", "--format=%H", "--", path])?;
        self.at(commit.trim())
    }

    /// Reads the repository as it was at a commit.
    pub fn at(&self, commit: &str) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("whimbrel-tidy-{}", std::process::id()));
        let read = self.check_out(commit, &folder);
        let _ = std::fs::remove_dir_all(&folder);
        read
    }

    /// Writes a commit's files to a new folder, with an index of their own, and reads them.
    fn check_out(&self, commit: &str, folder: &Path) -> Result<Self, String> {
        std::fs::create_dir(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let index = folder.join(".index");
        let git = |arguments: &[&str]| self.git_with(arguments, &[("GIT_INDEX_FILE", index.as_os_str())]);
        git(&["read-tree", commit])?;
        git(&["checkout-index", "--all", &format!("--prefix={}/", folder.display())])?;
        Ok(Self::read(folder.to_owned(), &git(&["ls-files", "-z"])?))
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) -> Result<(), String> {
        std::fs::write(self.root.join(path), text).map_err(|error| format!("cannot write {path}: {error}"))
    }

    /// Returns all Rust files: path, text, and the text with comments and literals blanked out.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let rust = self.files().filter(|(path, _)| path.ends_with(".rs"));
        rust.map(|(path, file)| (path, file.text.as_str(), file.code.get_or_init(|| mask(&file.text)).as_str()))
    }

    /// All files in order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Iterates over the files whose paths end with `end`.
    pub fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| path.ends_with(end)).map(|(path, file)| (path, file.text.as_str()))
    }

    /// Returns the text of a file, if there is one.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| file.text.as_str())
    }

    /// Checks whether there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// The folders right below `folder`.
    pub fn folders(&self, folder: &str) -> Vec<&str> {
        let mut found: Vec<&str> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/'))
            .map(|(name, _)| name)
            .collect();
        found.dedup();
        found
    }

    /// A repository with these files.
    #[cfg(test)]
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let file = |text: &str| File::new(text.len(), text.to_owned());
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), file(text))).collect();
        Self { root: PathBuf::new(), files }
    }
}
