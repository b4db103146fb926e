//! The repository's files, as git sees them: tracked ones, and new ones that are not ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All files by their path from the repository's root.
#[derive(Default)]
pub struct Repo {
    files: BTreeMap<String, File>,
}

/// One file.
pub struct File {
    /// Size in bytes.
    pub bytes: usize,
    /// Text of the file; empty if it is no UTF-8.
    pub text: String,
}

impl Repo {
    /// Reads the repository this program was built in.
    pub fn open() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default();
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .map_err(|error| format!("cannot run git: {error}"))?;
        if !listing.status.success() {
            return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&listing.stderr).trim()));
        }
        let mut repo = Self::default();
        for path in String::from_utf8_lossy(&listing.stdout).split('\0').filter(|path| !path.is_empty()) {
            // A file that is tracked but deleted, or a link, has nothing to check.
            let place = root.join(path);
            if place.is_symlink() {
                continue;
            }
            let Ok(content) = std::fs::read(&place) else { continue };
            let bytes = content.len();
            let text = String::from_utf8(content).unwrap_or_default();
            repo.files.insert(path.to_owned(), File { bytes, text });
        }
        Ok(repo)
    }

    /// All files in order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// All files whose path ends like this.
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
        let file = |text: &str| File { bytes: text.len(), text: text.to_owned() };
        Self { files: files.into_iter().map(|(path, text)| (path.to_owned(), file(text))).collect() }
    }
}
