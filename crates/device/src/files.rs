//! Program text that was handed over, by the paths that programs and projects call it by.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use whimbrel_acl::Text;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::{Diagnostic, LoadError, Loader, SourceText};
use whimbrel_bdi::{Bundle, Loaded, ProgramError};
use whimbrel_platform::limits::{CODE_BYTES_MAX, DEVICE_FILES_BYTES_MAX, SOURCE_BYTES_MAX};
use whimbrel_platform::session::CodeName;

/// Compiled program.
#[derive(Clone, Debug)]
struct CompiledProgram {
    image: Arc<Image>,
    /// Packed program, for other places; empty if it is too large.
    bytes: Arc<[u8]>,
}

/// Files by path, and the programs that were compiled of them.
#[derive(Debug, Default)]
pub struct SourceFiles {
    texts: BTreeMap<String, String>,
    bytes: usize,
    /// Folders that a project has programs looked for in, before its own.
    folders: Vec<String>,
    compiled: FxHashMap<String, CompiledProgram>,
    /// Programs that came as bytes, by the names of their code.
    foreign: FxHashMap<String, CompiledProgram>,
    /// Files that were looked for and are missing.
    missing: Vec<String>,
}

/// Returns a path with `.` and `..` resolved and one slash between names.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn folder_of(path: &str) -> &str {
    path.rfind('/').and_then(|slash| path.get(..slash)).unwrap_or_default()
}

fn within(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') { plain(path) } else { plain(&format!("{folder}/{path}")) }
}

impl SourceFiles {
    /// Adds a file, or replaces it. Running agents keep their program.
    ///
    /// # Errors
    /// The file, or all files together, are too long.
    pub fn put(&mut self, path: &str, text: &str) -> Result<(), String> {
        let before = self.texts.get(&plain(path)).map_or(0, String::len);
        let bytes = self.bytes - before + text.len();
        if text.len() > SOURCE_BYTES_MAX || bytes > DEVICE_FILES_BYTES_MAX {
            return Err(format!(
                "{path} has {} bytes, too many: all files together have at most {DEVICE_FILES_BYTES_MAX}",
                text.len()
            ));
        }
        self.bytes = bytes;
        self.texts.insert(plain(path), text.to_owned());
        // Any program may include this file, so all are compiled again on their next use.
        self.compiled.clear();
        Ok(())
    }

    /// Removes a file; false if there is none.
    pub fn remove(&mut self, path: &str) -> bool {
        let removed = self.texts.remove(&plain(path));
        self.bytes -= removed.as_ref().map_or(0, String::len);
        self.compiled.clear();
        removed.is_some()
    }

    /// Sets the folders in which programs are searched first.
    pub fn search_in(&mut self, folders: Vec<String>) {
        self.folders = folders;
    }

    /// Returns the text of a file.
    ///
    /// # Errors
    /// There is no such file: it is noted as missing.
    pub fn read(&mut self, path: &str) -> Result<&str, String> {
        let path = plain(path);
        if !self.texts.contains_key(&path) {
            if !self.missing.contains(&path) && self.missing.len() < whimbrel_platform::limits::DIAGNOSTICS_MAX {
                self.missing.push(path.clone());
            }
            return Err(format!("there is no file {path}"));
        }
        Ok(self.texts.get(&path).map_or("", String::as_str))
    }

    /// Returns the missing files since the last call. A host that adds them may try again.
    pub fn take_missing(&mut self) -> Vec<String> {
        std::mem::take(&mut self.missing)
    }

    /// Returns the files in a folder, and in the folders within it: their paths, which begin as the folder's name is
    /// given.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let (given, found) = (folder.trim_end_matches('/'), plain(folder));
        let rest = |path: &'_ String| match found.as_str() {
            "" => Some(path.clone()),
            found => path.strip_prefix(found)?.strip_prefix('/').map(ToOwned::to_owned),
        };
        let named = |rest: String| if given.is_empty() { rest } else { format!("{given}/{rest}") };
        self.texts.keys().filter_map(rest).map(named).collect()
    }

    /// Finds a program beside the file that names it, or in the folders of projects.
    pub fn find(&self, path: &str, from_file: &str) -> String {
        let beside = std::iter::once(within(folder_of(from_file), path));
        let listed = self.folders.iter().map(|folder| within(folder, path));
        let mut places = beside.chain(listed).chain(std::iter::once(plain(path)));
        let found = places.find(|place| self.texts.contains_key(place));
        found.unwrap_or_else(|| within(folder_of(from_file), path))
    }

    /// Returns the compiled program; when it is compiled for the first time, also its diagnostics.
    ///
    /// # Errors
    /// There is no such file, or it has errors; returns all errors and warnings.
    pub fn compile(&mut self, path: &str) -> Result<(Arc<Image>, Vec<Diagnostic>), Vec<Diagnostic>> {
        if let Some(foreign) = self.foreign.get(path) {
            return Ok((Arc::clone(&foreign.image), Vec::new()));
        }
        let path = self.find(path, "");
        if let Some(program) = self.compiled.get(&path) {
            return Ok((Arc::clone(&program.image), Vec::new()));
        }
        let name = Text::from(path.as_str());
        let nowhere = whimbrel_bdi::syntax::ast::Span::default();
        let missing = |why: String| vec![Diagnostic::error(&name, nowhere, why, "named here")];
        let text = self.read(&path).map_err(missing)?.to_owned();
        let loaded = whimbrel_bdi::load_bundled(&text, &name, &mut IncludedFiles(self));
        let Loaded { mut image, warnings, bundle } = loaded.map_err(|ProgramError { diagnostics }| diagnostics)?;
        let bytes = bundle.encode().filter(|bytes| bytes.len() <= CODE_BYTES_MAX).unwrap_or_default();
        image.code = (!bytes.is_empty()).then(|| hash_of(&bytes));
        let image = Arc::new(image);
        self.compiled.insert(path, CompiledProgram { image: Arc::clone(&image), bytes: bytes.into() });
        Ok((image, warnings))
    }

    /// Returns a program as it travels, and the name of its code.
    ///
    /// # Errors
    /// It has errors, or is too much to travel.
    pub fn code(&mut self, path: &str) -> Result<(CodeName, Arc<[u8]>), String> {
        let (image, _) = self.compile(path).map_err(|diagnostics| {
            diagnostics.first().map_or_else(|| format!("{path} has errors"), ToString::to_string)
        })?;
        let hash = image.code.ok_or_else(|| format!("{path} is too large to travel"))?;
        let file = image.name.rsplit('/').next().unwrap_or_default().to_owned();
        let found = self.foreign.get(path).or_else(|| self.compiled.get(&self.find(path, "")));
        let bytes = found.map(|program| Arc::clone(&program.bytes)).unwrap_or_default();
        Ok((CodeName::Program { hash, name: file }, bytes))
    }

    /// Takes in a program that came as bytes. From now on the name of its code is its path.
    ///
    /// # Errors
    /// That is no name of a program, these are not its bytes, or they are no program.
    pub fn admit(&mut self, code: &str, bytes: &[u8]) -> Result<(), String> {
        let Ok(CodeName::Program { hash, name }) = code.parse() else {
            return Err(format!("{code} is not an AgentSpeak program"));
        };
        if hash_of(bytes) != hash {
            return Err(format!("the bytes do not match the hash of {code}"));
        }
        let bundle = Bundle::decode(bytes).map_err(|error| error.to_string())?;
        let loaded = whimbrel_bdi::load_bundled(&bundle.text, &Text::from(name.as_str()), &mut bundle.loader(&name));
        let mut image = loaded.map_err(|error| error.to_string())?.image;
        image.code = Some(hash);
        self.foreign.insert(code.to_owned(), CompiledProgram { image: Arc::new(image), bytes: bytes.into() });
        Ok(())
    }
}

fn hash_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Files that programs include: beside the including file, then where programs are found.
struct IncludedFiles<'a>(&'a mut SourceFiles);

impl Loader for IncludedFiles<'_> {
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), LoadError> {
        let found = self.0.find(path, from_file);
        let text = self.0.read(&found)?.to_owned();
        Ok((Text::from(found), text.into()))
    }

    /// Returns true: a missing file is an error here, so that the host can be asked for it.
    fn is_strict(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> SourceFiles {
        let mut files = SourceFiles::default();
        texts.iter().for_each(|(path, text)| files.put(path, text).unwrap());
        files
    }

    #[test]
    fn paths_are_made_plain() {
        for (path, expected) in
            [("a//./b.asl", "a/b.asl"), ("a/../b", "b"), ("../a", "../a"), ("/x/../y", "/y"), ("", "")]
        {
            assert_eq!(plain(path), expected, "{path}");
        }
    }

    #[test]
    fn include_is_found_beside_then_folders() {
        let mut files = files(&[
            ("src/p.asl", "{ include(\"q.asl\") } { include(\"inc/r.asl\") } !a."),
            ("src/q.asl", "+!a <- !b."),
            ("lib/inc/r.asl", "+!b."),
        ]);
        assert!(files.compile("src/p.asl").is_err());
        assert_eq!(files.take_missing(), ["src/inc/r.asl"]);
        files.search_in(vec!["lib".to_owned(), "src".to_owned()]);
        let (image, warnings) = files.compile("p.asl").unwrap();
        assert_eq!((image.name.as_str(), warnings.len()), ("src/p.asl", 0));
        let again = files.compile("p.asl").unwrap().0;
        assert!(Arc::ptr_eq(&image, &again));
        files.put("src/q.asl", "+!a <- !c.").unwrap();
        assert!(!Arc::ptr_eq(&image, &files.compile("p.asl").unwrap().0));
        assert_eq!(files.list("src"), ["src/p.asl", "src/q.asl"]);
        assert_eq!(files.list("./lib/"), ["./lib/inc/r.asl"]);
        assert_eq!((files.list("").len(), files.list(".").len(), files.list("li").len()), (3, 3, 0));
        assert!(files.remove("lib/inc/r.asl") && !files.remove("lib/inc/r.asl"));
    }

    #[test]
    fn packed_program_survives_travel() {
        let mut here = files(&[("src/p.asl", "{ include(\"q.asl\") } !a."), ("src/q.asl", "+!a <- !b.")]);
        let (code, bytes) = here.code("src/p.asl").unwrap();
        let mut there = SourceFiles::default();
        there.admit(&code.to_string(), &bytes).unwrap();
        let image = there.compile(&code.to_string()).unwrap().0;
        assert_eq!(image.fingerprint, here.compile("src/p.asl").unwrap().0.fingerprint);
        assert_eq!(
            there.code(&code.to_string()).map(|(code, bytes)| (code.to_string(), bytes)),
            Ok((code.to_string(), bytes.clone()))
        );
        assert!(there.admit(&code.to_string(), &bytes[1..]).is_err() && there.admit("ts:x", &bytes).is_err());
    }

    #[test]
    fn all_files_together_are_bounded() {
        let mut files = SourceFiles::default();
        let text = " ".repeat(DEVICE_FILES_BYTES_MAX / 2);
        files.put("a", &text).unwrap();
        files.put("b", &text).unwrap();
        assert!(files.put("c", "x").is_err());
        files.put("a", "x").unwrap();
        files.put("c", "x").unwrap();
    }
}
