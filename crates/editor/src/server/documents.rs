//! Documents that an editor holds open.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde_json::Value;
use whimbrel_platform::limits;

use crate::positions::{TextLines, TextPosition};

/// Open documents.
#[derive(Debug, Default)]
pub struct OpenDocuments {
    texts: FxHashMap<PathBuf, String>,
    /// Names that the editor gave the documents.
    uris: FxHashMap<PathBuf, String>,
}

impl OpenDocuments {
    /// Opens a document. Returns false if it is not served.
    pub fn open(&mut self, uri: &str, text: &str) -> bool {
        let path = path_of(uri);
        let is_many = self.texts.len() >= limits::EDITOR_DOCUMENTS_MAX && !self.texts.contains_key(&path);
        if is_many || text.len() > limits::EDITOR_DOCUMENT_BYTES_MAX {
            return false;
        }
        self.texts.insert(path.clone(), text.to_owned());
        self.uris.insert(path, uri.to_owned());
        true
    }

    /// Applies changes of a document in their order. Returns false if it is not served any longer.
    pub fn change(&mut self, uri: &str, changes: Option<&Value>) -> bool {
        let path = path_of(uri);
        let Some(text) = self.texts.get_mut(&path) else { return true };
        for change in changes.and_then(Value::as_array).into_iter().flatten() {
            apply(text, change);
            if text.len() > limits::EDITOR_DOCUMENT_BYTES_MAX {
                self.close(uri);
                return false;
            }
        }
        true
    }

    /// Closes a document.
    pub fn close(&mut self, uri: &str) {
        let path = path_of(uri);
        self.texts.remove(&path);
        self.uris.remove(&path);
    }

    /// Returns the text of a document.
    pub fn text(&self, path: &Path) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Returns all texts, by path.
    pub fn texts(&self) -> &FxHashMap<PathBuf, String> {
        &self.texts
    }

    /// Returns the names of all documents.
    pub fn uris(&self) -> impl Iterator<Item = &str> {
        self.uris.values().map(String::as_str)
    }

    /// Returns the name of a file: as the editor gave it, if it is open.
    pub fn uri(&self, path: &Path) -> String {
        self.uris.get(path).cloned().unwrap_or_else(|| uri_of(path))
    }
}

/// Applies one change: of a range, or of the whole text.
fn apply(text: &mut String, change: &Value) {
    let new = change.get("text").and_then(Value::as_str).unwrap_or_default();
    let position = |end: &str| position(change.pointer(&format!("/range/{end}"))?);
    match (position("start"), position("end")) {
        (Some(start), Some(end)) => {
            let lines = TextLines::of(text);
            let (start, end) = (lines.byte(text, start), lines.byte(text, end));
            text.replace_range(start.min(end)..start.max(end), new);
        }
        _ => new.clone_into(text),
    }
}

/// Reads a position.
pub(super) fn position(value: &Value) -> Option<TextPosition> {
    let number =
        |key: &str| value.get(key).and_then(Value::as_u64).map(|number| number.min(u64::from(u32::MAX)) as u32);
    Some(TextPosition { line: number("line")?, unit: number("character")? })
}

/// Returns true for a project's file.
pub(super) fn is_project(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "mas2j")
}

/// Returns the path of a `file:` URI; other URIs as they are, so that documents without a file have names, too.
pub fn path_of(uri: &str) -> PathBuf {
    let Some(rest) = uri.strip_prefix("file://") else { return PathBuf::from(uri) };
    let path = rest.split_once('/').map_or(rest, |(_, path)| path);
    let decoded = decoded(path);
    let is_drive = decoded.as_bytes().get(1) == Some(&b':');
    PathBuf::from(if is_drive { decoded } else { format!("/{decoded}") })
}

/// Replaces `%20` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, later)) = rest.split_first() {
        let hex = later.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()).filter(|_| *first == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = later.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = later;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the `file:` URI of a path.
pub fn uri_of(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let slash = if text.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", crate::report::uri(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_and_paths_agree() {
        for path in ["/a b/ü.asl", "/x/y.mas2j", "/100%/a.asl"] {
            assert_eq!(path_of(&uri_of(Path::new(path))), PathBuf::from(path));
        }
        assert_eq!(path_of("file:///c%3A/a.asl"), PathBuf::from("c:/a.asl"));
        assert_eq!(path_of("untitled:Untitled-1"), PathBuf::from("untitled:Untitled-1"));
        assert_eq!(path_of("file:///a%2"), PathBuf::from("/a%2"));
    }

    #[test]
    fn changes_apply_in_utf16() {
        let mut documents = OpenDocuments::default();
        assert!(documents.open("file:///a.asl", "p(\"😀\").\nq.\n"));
        let changes = serde_json::json!([
            { "range": { "start": { "line": 0, "character": 5 }, "end": { "line": 0, "character": 6 } }, "text": "x\"" },
            { "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 9, "character": 0 } }, "text": "r." },
        ]);
        assert!(documents.change("file:///a.asl", Some(&changes)));
        assert_eq!(documents.text(Path::new("/a.asl")), Some("p(\"😀x\").\nr."));
        assert!(documents.change("file:///a.asl", Some(&serde_json::json!([{ "text": "z." }]))));
        assert_eq!(documents.text(Path::new("/a.asl")), Some("z."));
        assert!(!documents.open("file:///b.asl", &"x".repeat(limits::EDITOR_DOCUMENT_BYTES_MAX + 1)));
    }
}
