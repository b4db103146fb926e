//! Language server: the answers to an editor's messages. Texts come in with them, other files through a [`EditorHost`].
//! Messages are JSON-RPC 2.0 of the Language Server Protocol 3.17; positions are in UTF-16 units.

mod answers;
mod completion;
mod documents;
mod outline;

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use whimbrel_acl::Text;
use whimbrel_bdi::project::parse_project;
use whimbrel_bdi::syntax::{Diagnostic, Severity};

use crate::lints;
use crate::positions::TextLines;
use crate::society::SocietyText;

pub use documents::{OpenDocuments, path_of, uri_of};

/// Host of the server: the files that the editor does not hold.
pub trait EditorHost {
    /// Reads the society around a project or program; `open` has precedence over files.
    fn society(&mut self, file: &Path, open: &FxHashMap<PathBuf, String>) -> Option<SocietyText>;

    /// Returns the folder with copies of the library's files, `$whimbrel/contract_net.asl` and others, for an editor to
    /// open; `None` if there is none.
    fn library_folder(&self) -> Option<&Path>;
}

/// Codes of errors of JSON-RPC and of the protocol.
mod codes {
    pub const INVALID_REQUEST: i32 = -32600;
    pub const NO_METHOD: i32 = -32601;
    pub const NOT_INITIALIZED: i32 = -32002;
    pub const REQUEST_FAILED: i32 = -32803;
}

/// Error that answers a request.
#[derive(Debug)]
pub(crate) struct RequestFault {
    code: i32,
    message: String,
}

impl RequestFault {
    fn failed(message: impl Into<String>) -> Self {
        Self { code: codes::REQUEST_FAILED, message: message.into() }
    }
}

/// Language server of one editor. Call [`LanguageServer::handle`] with each message, send what it returns, and end when
/// [`LanguageServer::ended`] says how.
pub struct LanguageServer<H> {
    host: H,
    version: &'static str,
    documents: OpenDocuments,
    /// Society that was read last, with the file that it was read for.
    society: Option<(PathBuf, SocietyText)>,
    is_initialized: bool,
    is_shut_down: bool,
    ended: Option<bool>,
}

impl<H: EditorHost> LanguageServer<H> {
    /// Makes a server of this version.
    pub fn new(host: H, version: &'static str) -> Self {
        Self {
            host,
            version,
            documents: OpenDocuments::default(),
            society: None,
            is_initialized: false,
            is_shut_down: false,
            ended: None,
        }
    }

    /// Returns true once the editor has ended the server in order, false if it did so without notice.
    pub fn ended(&self) -> Option<bool> {
        self.ended
    }

    /// Takes a message, and returns the messages to send.
    pub fn handle(&mut self, message: &Value) -> Vec<Value> {
        let method = message.get("method").and_then(Value::as_str);
        let params = message.get("params").unwrap_or(&Value::Null);
        match (message.get("id"), method) {
            (Some(id), Some(method)) => {
                let answer = match self.request(method, params) {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err(RequestFault { code, message }) => {
                        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
                    }
                };
                vec![answer]
            }
            (None, Some(method)) => self.notification(method, params),
            // An answer of the editor: the server asks nothing.
            (Some(_), None) if message.get("result").is_some() || message.get("error").is_some() => Vec::new(),
            _ => {
                let error = json!({ "code": codes::INVALID_REQUEST, "message": "a message has a method" });
                vec![json!({ "jsonrpc": "2.0", "id": null, "error": error })]
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, RequestFault> {
        match method {
            "initialize" => {
                self.is_initialized = true;
                return Ok(self.capabilities());
            }
            _ if !self.is_initialized => {
                let message = "the first request must be `initialize`".to_owned();
                return Err(RequestFault { code: codes::NOT_INITIALIZED, message });
            }
            _ if self.is_shut_down => {
                let message = "the server is shut down".to_owned();
                return Err(RequestFault { code: codes::INVALID_REQUEST, message });
            }
            "shutdown" => {
                self.is_shut_down = true;
                return Ok(Value::Null);
            }
            _ => {}
        }
        match method {
            "textDocument/definition" => self.definition(params),
            "textDocument/references" => self.references(params),
            "textDocument/documentHighlight" => self.highlights(params),
            "textDocument/hover" => self.hover(params),
            "textDocument/completion" => self.completion(params),
            "textDocument/prepareRename" => self.prepare_rename(params),
            "textDocument/rename" => self.rename(params),
            "textDocument/formatting" => self.formatting(params),
            "textDocument/documentSymbol" => self.outline(params),
            "textDocument/codeLens" => self.code_lenses(params),
            _ => Err(RequestFault { code: codes::NO_METHOD, message: format!("there is no request `{method}`") }),
        }
    }

    fn capabilities(&self) -> Value {
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": { "openClose": true, "change": 2, "save": true },
                "definitionProvider": true,
                "referencesProvider": true,
                "documentHighlightProvider": true,
                "hoverProvider": true,
                "completionProvider": { "triggerCharacters": [".", "!", "?", "+", "-"] },
                "renameProvider": { "prepareProvider": true },
                "documentFormattingProvider": true,
                "documentSymbolProvider": true,
                "codeLensProvider": { "resolveProvider": false },
            },
            "serverInfo": { "name": "whimbrel", "version": self.version },
        })
    }

    fn notification(&mut self, method: &str, params: &Value) -> Vec<Value> {
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
        match (method, uri) {
            ("exit", _) => {
                self.ended = Some(self.is_shut_down);
                Vec::new()
            }
            _ if !self.is_initialized => Vec::new(),
            ("textDocument/didOpen", Some(uri)) => {
                let text = params.pointer("/textDocument/text").and_then(Value::as_str).unwrap_or_default();
                self.society = None;
                if self.documents.open(uri, text) { self.published(uri) } else { too_large(uri) }
            }
            ("textDocument/didChange", Some(uri)) => {
                self.society = None;
                if self.documents.change(uri, params.get("contentChanges")) {
                    self.published(uri)
                } else {
                    too_large(uri)
                }
            }
            ("textDocument/didClose", Some(uri)) => {
                self.documents.close(uri);
                self.society = None;
                vec![publication(uri, Vec::new())]
            }
            ("textDocument/didSave", Some(uri)) => {
                self.society = None;
                self.published(uri)
            }
            ("workspace/didChangeWatchedFiles", _) => {
                self.society = None;
                let uris: Vec<String> = self.documents.uris().map(str::to_owned).collect();
                uris.iter().flat_map(|uri| self.publication_of(uri)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the diagnostics of a document, and of the open documents of its society.
    fn published(&mut self, uri: &str) -> Vec<Value> {
        let own = self.publication_of(uri);
        let uris: Vec<String> = self.documents.uris().filter(|other| *other != uri).map(str::to_owned).collect();
        let files: Vec<PathBuf> = match &self.society {
            Some((_, society)) => society.texts.keys().map(|file| PathBuf::from(file.as_str())).collect(),
            None => Vec::new(),
        };
        let others = uris.iter().filter(|other| files.contains(&path_of(other)));
        let others: Vec<Value> = others.flat_map(|uri| self.publication_of(uri)).collect();
        own.into_iter().chain(others).collect()
    }

    fn publication_of(&mut self, uri: &str) -> Option<Value> {
        let path = path_of(uri);
        let text = self.documents.text(&path)?.to_owned();
        let lines = TextLines::of(&text);
        let found = self.diagnostics(&path, &text);
        Some(publication(uri, found.iter().map(|found| shown(found, uri, &text, &lines)).collect()))
    }

    /// Returns all that is wrong with a document.
    fn diagnostics(&mut self, path: &Path, text: &str) -> Vec<Diagnostic> {
        if self.library_path(path).is_some() {
            return Vec::new();
        }
        if documents::is_project(path) {
            return parse_project(text, &Text::from(path.to_string_lossy()), &[]).diagnostics;
        }
        let Some((file, society)) = self.society_of(path) else { return Vec::new() };
        let of_parser = society.programs.iter().flat_map(|program| &program.diagnostics).cloned();
        let of_parser = lints::without_allowed(of_parser.collect(), society);
        let mut found: Vec<Diagnostic> = Vec::new();
        for diagnostic in of_parser.into_iter().chain(lints::check(society)) {
            if diagnostic.file == file && !found.contains(&diagnostic) {
                found.push(diagnostic);
            }
        }
        found
    }

    /// Returns the society around a document, and the name that the document has in it. A copy of a file of the library
    /// belongs to the society that was read last, if that includes the file.
    fn society_of(&mut self, path: &Path) -> Option<(Text, &SocietyText)> {
        let library = self.library_path(path);
        let own = library.as_deref().map_or(path, Path::new);
        let is_known = |name: &Path, society: &Option<(PathBuf, SocietyText)>| {
            society.as_ref().is_some_and(|(_, society)| name_in(society, name).is_some())
        };
        let name = if is_known(own, &self.society) { own } else { path };
        if !is_known(name, &self.society) {
            let society = self.host.society(path, self.documents.texts())?;
            self.society = Some((path.to_owned(), society));
        }
        let (_, society) = self.society.as_ref()?;
        Some((name_in(society, name)?, society))
    }

    /// Returns the path of a file of the library, if `path` is the host's copy of it.
    fn library_path(&self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(self.host.library_folder()?).ok()?;
        Some(whimbrel_bdi::library_path_of(&name.to_string_lossy().replace('\\', "/")))
    }

    /// Returns the URI of a file of a society. Editors open the host's copy of a file of the library.
    fn uri(&self, file: &Text) -> Option<String> {
        match whimbrel_bdi::library_name_of(file) {
            Some(name) => Some(self.documents.uri(&self.host.library_folder()?.join(name))),
            None => Some(self.documents.uri(Path::new(file.as_str()))),
        }
    }
}

/// Returns the name of a file in a society.
fn name_in(society: &SocietyText, path: &Path) -> Option<Text> {
    society.texts.keys().find(|name| Path::new(name.as_str()) == path).cloned()
}

fn publication(uri: &str, diagnostics: Vec<Value>) -> Value {
    let params = json!({ "uri": uri, "diagnostics": diagnostics });
    json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params })
}

fn too_large(uri: &str) -> Vec<Value> {
    let message = format!("{uri} is not served: it is too large, or too many documents are open");
    let params = json!({ "type": 2, "message": message });
    vec![json!({ "jsonrpc": "2.0", "method": "window/showMessage", "params": params })]
}

fn shown(found: &Diagnostic, uri: &str, text: &str, lines: &TextLines) -> Value {
    let help = found.help.iter().map(|help| format!("\n{help}")).collect::<String>();
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    let related: Vec<Value> = found
        .related
        .iter()
        .map(|(span, label)| {
            let location = json!({ "uri": uri, "range": answers::range(text, lines, *span) });
            json!({ "location": location, "message": label })
        })
        .collect();
    json!({
        "range": answers::range(text, lines, found.span),
        "severity": severity,
        "code": found.code,
        "source": "whimbrel",
        "message": format!("{}{help}", found.message),
        "relatedInformation": related,
    })
}
