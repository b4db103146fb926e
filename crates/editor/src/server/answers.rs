//! Answers about a name: definition, references, hover, rename; and formatting.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use whimbrel_acl::Text;
use whimbrel_bdi::syntax::ast::Span;

use super::documents::{is_project, position};
use super::{EditorHost, LanguageServer, RequestFault, path_of};
use crate::format;
use crate::index::{self, FilePlace, NameMeaning, NameSite};
use crate::positions::TextLines;
use crate::reference;
use crate::society::SocietyText;

/// Definitions that a hover shows.
const SHOWN_MAX: usize = 6;

/// Returns a range of the protocol.
pub(super) fn range(text: &str, lines: &TextLines, span: Span) -> Value {
    let (start, end) = lines.range(text, span);
    json!({
        "start": { "line": start.line, "character": start.unit },
        "end": { "line": end.line, "character": end.unit },
    })
}

/// Returns the path of the document that a request is about.
pub(super) fn document(params: &Value) -> Result<PathBuf, RequestFault> {
    let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
    uri.map(path_of).ok_or_else(|| RequestFault::failed("the request names no document"))
}

/// Name at the position of a request, with the society around it.
struct FoundName<'a> {
    file: Text,
    society: &'a SocietyText,
    site: NameSite,
}

impl<H: EditorHost> LanguageServer<H> {
    /// Returns the byte at the position of a request.
    pub(super) fn byte(&self, path: &Path, params: &Value) -> Option<usize> {
        let text = self.documents.text(path)?;
        Some(TextLines::of(text).byte(text, position(params.get("position")?)?))
    }

    fn found(&mut self, params: &Value) -> Result<Option<FoundName<'_>>, RequestFault> {
        let path = document(params)?;
        let Some(byte) = self.byte(&path, params) else { return Ok(None) };
        let Some((file, society)) = self.society_of(&path) else { return Ok(None) };
        let site = index::site_at(society, &file, byte);
        Ok(site.map(|site| FoundName { file, society, site }))
    }

    /// Returns the places as locations of the protocol.
    fn locations(&self, places: &[FilePlace], texts: &Texts) -> Value {
        let location = |place: &FilePlace| {
            let (text, lines) = texts.get(&place.file)?;
            Some(json!({ "uri": self.uri(&place.file)?, "range": range(text, lines, place.span()) }))
        };
        json!(places.iter().filter_map(location).collect::<Vec<Value>>())
    }

    pub(super) fn definition(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let path = document(params)?;
        if is_project(&path) {
            return Ok(self.agent_at(&path, params));
        }
        let Some(FoundName { file, society, site }) = self.found(params)? else { return Ok(Value::Null) };
        let places = index::definitions(society, &file, &site);
        let texts = texts_of(society, &places);
        Ok(self.locations(&places, &texts))
    }

    pub(super) fn references(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let Some(FoundName { file, society, site }) = self.found(params)? else { return Ok(Value::Null) };
        let mut places = index::occurrences(society, &file, &site);
        if params.pointer("/context/includeDeclaration") == Some(&Value::Bool(false)) {
            let definitions = index::definitions(society, &file, &site);
            places.retain(|place| !definitions.contains(place));
        }
        let texts = texts_of(society, &places);
        Ok(self.locations(&places, &texts))
    }

    pub(super) fn highlights(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let Some(FoundName { file, society, site }) = self.found(params)? else { return Ok(Value::Null) };
        let text = society.texts.get(&file).map(Text::as_str).unwrap_or_default();
        let lines = TextLines::of(text);
        let places = index::occurrences(society, &file, &site);
        let own = places.iter().filter(|place| place.file == file);
        Ok(json!(own.map(|place| json!({ "range": range(text, &lines, place.span()) })).collect::<Vec<Value>>()))
    }

    pub(super) fn hover(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let Some(FoundName { file, society, site }) = self.found(params)? else { return Ok(Value::Null) };
        let shown = match site.meaning {
            NameMeaning::Action(name) => action_page(name.as_str()),
            NameMeaning::Variable(_) => None,
            NameMeaning::Literal { .. } => definition_page(society, &file, &site),
        };
        let text = society.texts.get(&file).map(Text::as_str).unwrap_or_default();
        let range = range(text, &TextLines::of(text), site.span);
        Ok(shown
            .map_or(Value::Null, |shown| json!({ "contents": { "kind": "markdown", "value": shown }, "range": range })))
    }

    pub(super) fn prepare_rename(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let Some(FoundName { file, society, site }) = self.found(params)? else { return Ok(Value::Null) };
        if matches!(site.meaning, NameMeaning::Action(_)) {
            return Err(RequestFault::failed("internal actions cannot be renamed"));
        }
        let text = society.texts.get(&file).map(Text::as_str).unwrap_or_default();
        Ok(range(text, &TextLines::of(text), site.span))
    }

    pub(super) fn rename(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let name = params.get("newName").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(FoundName { file, society, site }) = self.found(params)? else {
            return Err(RequestFault::failed("there is no name here"));
        };
        if !index::is_name_for(&site, &name) {
            let wanted = match site.meaning {
                NameMeaning::Variable(_) => "a variable begins with an upper-case letter",
                NameMeaning::Literal { .. } => "a name begins with a lower-case letter and has no dot",
                NameMeaning::Action(_) => "internal actions cannot be renamed",
            };
            return Err(RequestFault::failed(format!("`{name}` cannot be the new name: {wanted}")));
        }
        let places = index::occurrences(society, &file, &site);
        if let Some(place) = places.iter().find(|place| whimbrel_bdi::is_library_path(&place.file)) {
            return Err(RequestFault::failed(format!("the name cannot be changed: `{}` uses it", place.file)));
        }
        let texts = texts_of(society, &places);
        let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for place in &places {
            let Some((text, lines)) = texts.get(&place.file) else { continue };
            let edit = json!({ "range": range(text, lines, place.span()), "newText": name });
            changes.entry(self.documents.uri(Path::new(place.file.as_str()))).or_default().push(edit);
        }
        Ok(json!({ "changes": changes }))
    }

    pub(super) fn formatting(&mut self, params: &Value) -> Result<Value, RequestFault> {
        let path = document(params)?;
        let Some(text) = self.documents.text(&path) else { return Ok(Value::Null) };
        let name = Text::from(path.to_string_lossy());
        let (formatted, what) = match is_project(&path) {
            true => (format::format_project(text, &name), "project"),
            false => (format::format(text, &name), "program"),
        };
        let Ok(formatted) = formatted else {
            return Err(RequestFault::failed(format!("the {what} has errors: it is formatted when they are mended")));
        };
        if formatted == text {
            return Ok(json!([]));
        }
        let whole = Span { start: 0, end: text.len() as u32, line: 1 };
        Ok(json!([{ "range": range(text, &TextLines::of(text), whole), "newText": formatted }]))
    }
}

/// Texts of files, with their lines.
type Texts = BTreeMap<Text, (Text, TextLines)>;

/// Returns the texts of the files that places are in.
fn texts_of(society: &SocietyText, places: &[FilePlace]) -> Texts {
    let mut texts = Texts::new();
    for file in places.iter().map(|place| &place.file) {
        if let (false, Some(text)) = (texts.contains_key(file), society.texts.get(file)) {
            texts.insert(file.clone(), (text.clone(), TextLines::of(text)));
        }
    }
    texts
}

/// Returns the page of an internal action.
fn action_page(name: &str) -> Option<String> {
    let mut page = String::new();
    for doc in reference::of(name.strip_prefix("jason.stdlib").unwrap_or(name)) {
        // Text takes whatever is written to it.
        let _ = write!(page, "```agentspeak\n{}\n```\n{}\n", doc.call, doc.effect);
        if !doc.unlike.is_empty() {
            let _ = writeln!(page, "\n*Unlike Jason:* {}", doc.unlike);
        }
    }
    (!page.is_empty()).then_some(page)
}

/// Returns the first lines of a name's definitions, with the comments above them.
fn definition_page(society: &SocietyText, file: &str, site: &NameSite) -> Option<String> {
    let places = index::definitions(society, file, site);
    let mut page = String::new();
    for place in places.iter().take(SHOWN_MAX) {
        let text = society.texts.get(&place.file)?;
        let before = text.get(..place.start as usize).unwrap_or_default();
        let number = before.matches('\n').count();
        let lines: Vec<&str> = text.lines().collect();
        let Some(line) = lines.get(number) else { continue };
        let above = lines.get(..number).unwrap_or_default().iter().rev();
        let mut comments: Vec<&str> = above
            .map(|line| line.trim())
            .skip_while(|line| line.starts_with('@'))
            .map_while(|line| line.strip_prefix("//"))
            .map(str::trim)
            .collect();
        comments.reverse();
        let _ = write!(page, "```agentspeak\n{}\n```\n{}\n", line.trim(), comments.join("\n"));
    }
    if places.len() > SHOWN_MAX {
        let _ = writeln!(page, "and {} more", places.len() - SHOWN_MAX);
    }
    (!page.is_empty()).then_some(page)
}
