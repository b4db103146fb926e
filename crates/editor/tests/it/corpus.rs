//! All programs of the repository: what tools say of them, and what they leave as it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::{Diagnostic, SourceText};
use whimbrel_editor::lints;
use whimbrel_editor::society::SocietyText;

use super::FolderFiles;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns all files with this ending in the corpus: the folders of the repository, or those that `WHIMBREL_CORPUS`
/// lists, separated by colons.
pub(crate) fn files(ending: &str) -> Vec<PathBuf> {
    let listed = std::env::var("WHIMBREL_CORPUS")
        .unwrap_or_else(|_| ["conformance/agentspeak", "examples"].map(|folder| format!("{ROOT}/{folder}")).join(":"));
    let mut found = Vec::new();
    for folder in listed.split(':') {
        collect(Path::new(folder), ending, &mut found);
    }
    found.sort();
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// Returns the text of a file.
pub(crate) fn text(file: &Path) -> String {
    SourceText::decode(std::fs::read(file).unwrap()).text
}

/// Reads each project, and each program that no project has.
fn societies() -> Vec<SocietyText> {
    let mut societies = Vec::new();
    let mut members = BTreeSet::new();
    for file in files("mas2j") {
        let name = Text::from(file.to_string_lossy());
        let society = SocietyText::of_project(&text(&file), &name, &mut FolderFiles::around(&file));
        members.extend(society.texts.keys().map(|file| canonical(file)));
        societies.push(society);
    }
    for file in files("asl").into_iter().filter(|file| !members.contains(&canonical(&file.to_string_lossy()))) {
        let name = Text::from(file.to_string_lossy());
        societies.push(SocietyText::of_program(&text(&file), &name, &mut FolderFiles::around(&file)));
    }
    societies
}

fn canonical(file: &str) -> PathBuf {
    Path::new(file).canonicalize().unwrap()
}

fn line(found: &Diagnostic) -> String {
    let file = found.file.replace(&format!("{ROOT}/"), "");
    format!("{file}:{}: {}: {}", found.span.line, found.code, found.message)
}

/// Alarms of the lints on the corpus, each judged by reading: all of them are true. The file's head says why they stay.
#[test]
fn corpus_alarms_are_known() {
    let societies = societies();
    assert!(societies.len() > 500 || std::env::var_os("WHIMBREL_CORPUS").is_some(), "{} societies", societies.len());
    let found: BTreeSet<String> = societies.iter().flat_map(lints::check).map(|f| line(&f)).collect();
    let known = include_str!("corpus-alarms.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    let new: Vec<&String> = found.difference(&known).collect();
    let gone: Vec<&String> = known.difference(&found).collect();
    let lists = format!("{} societies, new:\n{new:#?}\ngone:\n{gone:#?}", societies.len());
    assert!(new.is_empty() && gone.is_empty(), "{lists}");
}
