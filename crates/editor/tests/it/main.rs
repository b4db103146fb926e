//! The crate from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod corpus;
mod format;
mod lints;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::SourceText;
use whimbrel_editor::society::ProjectFiles;

/// Files in memory.
#[derive(Default)]
pub(crate) struct MemoryFiles(BTreeMap<String, String>);

impl MemoryFiles {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }
}

impl ProjectFiles for MemoryFiles {
    fn search(&mut self, _folders: &[Text]) {}

    fn has_other_projects(&mut self, project: &str) -> bool {
        self.0.keys().any(|name| name.ends_with(".mas2j") && name != project)
    }

    fn program(&mut self, path: &str) -> Result<(Text, SourceText), String> {
        let text = self.0.get(path).ok_or("no such file")?;
        Ok((Text::from(path), SourceText::from(text.clone())))
    }

    fn included(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), String> {
        self.program(path)
    }
}

/// Files of a folder.
pub(crate) struct FolderFiles {
    pub(crate) folder: PathBuf,
    pub(crate) listed: Vec<Text>,
}

impl FolderFiles {
    pub(crate) fn around(file: &Path) -> Self {
        Self { folder: file.parent().unwrap().to_owned(), listed: Vec::new() }
    }
}

impl ProjectFiles for FolderFiles {
    fn search(&mut self, folders: &[Text]) {
        self.listed = folders.to_vec();
    }

    fn has_other_projects(&mut self, project: &str) -> bool {
        let entries = std::fs::read_dir(&self.folder).unwrap().flatten();
        let projects = entries.filter(|entry| entry.path().extension().is_some_and(|found| found == "mas2j"));
        projects.filter(|entry| !project.ends_with(&*entry.file_name().to_string_lossy())).count() > 0
    }

    fn program(&mut self, path: &str) -> Result<(Text, SourceText), String> {
        let places = self.listed.iter().map(|listed| self.folder.join(listed.as_str()).join(path));
        let file = places.chain([self.folder.join(path)]).find(|file| file.is_file()).ok_or("no such file")?;
        let bytes = std::fs::read(&file).map_err(|error| error.to_string())?;
        Ok((Text::from(file.to_string_lossy()), SourceText::decode(bytes)))
    }

    fn included(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), String> {
        let beside = Path::new(from_file).parent().unwrap().join(path);
        if beside.is_file() {
            let bytes = std::fs::read(&beside).map_err(|error| error.to_string())?;
            return Ok((Text::from(beside.to_string_lossy()), SourceText::decode(bytes)));
        }
        self.program(path)
    }
}
