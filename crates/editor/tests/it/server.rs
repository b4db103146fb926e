//! The language server under any messages: it answers each request once, and never panics.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use whimbrel_acl::Text;
use whimbrel_editor::format::format;
use whimbrel_editor::server::{EditorHost, LanguageServer};
use whimbrel_editor::society::SocietyText;

use super::MemoryFiles;

/// Host whose files are the open documents.
struct OpenOnly;

impl EditorHost for OpenOnly {
    fn society(&mut self, file: &Path, open: &FxHashMap<PathBuf, String>) -> Option<SocietyText> {
        let texts: Vec<(String, &String)> =
            open.iter().map(|(path, text)| (path.to_string_lossy().into_owned(), text)).collect();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let mut files = MemoryFiles::with(&texts);
        let (text, name) = (open.get(file)?, Text::from(file.to_string_lossy()));
        Some(match file.extension().is_some_and(|extension| extension == "mas2j") {
            true => SocietyText::of_project(text, &name, &mut files),
            false => SocietyText::of_program(text, &name, &mut files),
        })
    }

    fn library_folder(&self) -> Option<&Path> {
        Some(Path::new("/library"))
    }
}

const PARTS: [&str; 40] = [
    "!go.",
    "+!go",
    "<-",
    ".print(",
    "X",
    "\"é😀\"",
    ")",
    ";",
    ".",
    "\n",
    " : ",
    "b(1)",
    "&",
    "not ",
    "{",
    "}",
    "[",
    "]",
    "@l",
    "ns::",
    "~p",
    "-+",
    "+<",
    "|&|",
    "if (",
    "elif",
    "else",
    ".send(bob, tell, ",
    "/*",
    "*/",
    "// c\n",
    "'q",
    "=..",
    "{ begin dg(g) }",
    "{ end }",
    "{ include(\"/a.asl\") }",
    ":-",
    "_1",
    "X + Y",
    "\r",
];
const METHODS: [&str; 10] = [
    "definition",
    "references",
    "documentHighlight",
    "hover",
    "completion",
    "prepareRename",
    "rename",
    "formatting",
    "documentSymbol",
    "codeLens",
];
const URIS: [&str; 3] = ["file:///a.asl", "file:///m.mas2j", "untitled:x"];

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..12).prop_map(|parts| parts.concat())
}

fn positions() -> impl Strategy<Value = Value> {
    (0_u32..6, 0_u32..40).prop_map(|(line, unit)| json!({ "line": line, "character": unit }))
}

fn messages() -> impl Strategy<Value = Value> {
    let uris = || prop::sample::select(&URIS[..]);
    let open = (uris(), texts()).prop_map(|(uri, text)| {
        json!({ "method": "textDocument/didOpen", "params": { "textDocument": { "uri": uri, "text": text } } })
    });
    let edit = (uris(), positions(), positions(), texts()).prop_map(|(uri, start, end, text)| {
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
        let params = json!({ "textDocument": { "uri": uri }, "contentChanges": [change] });
        json!({ "method": "textDocument/didChange", "params": params })
    });
    let ask = (uris(), positions(), prop::sample::select(&METHODS[..]), texts()).prop_map(|(uri, at, method, name)| {
        let params = json!({ "textDocument": { "uri": uri }, "position": at, "newName": name });
        json!({ "id": 1, "method": format!("textDocument/{method}"), "params": params })
    });
    let odd = prop_oneof![
        Just(json!({ "id": 2, "method": "textDocument/hover", "params": [] })),
        Just(json!({ "id": 3, "method": "textDocument/rename" })),
        Just(
            json!({ "method": "textDocument/didChange", "params": { "textDocument": { "uri": URIS[0] }, "contentChanges": 7 } })
        ),
        Just(json!({ "method": "textDocument/didClose", "params": { "textDocument": { "uri": URIS[0] } } })),
        Just(json!(null)),
    ];
    prop_oneof![2 => open, 4 => edit, 4 => ask, 1 => odd]
}

proptest! {
    #[test]
    fn any_messages_are_answered(messages in prop::collection::vec(messages(), 1..30)) {
        let mut server = LanguageServer::new(OpenOnly, "0");
        server.handle(&json!({ "id": 0, "method": "initialize", "params": {} }));
        for message in &messages {
            let answers = server.handle(message);
            if message.get("id").is_some() {
                prop_assert_eq!(answers.len(), 1);
                prop_assert_eq!(answers[0].get("result").is_some(), answers[0].get("error").is_none());
            }
        }
    }

    #[test]
    fn any_text_formats_stably(text in texts()) {
        let name = Text::from("a.asl");
        if let Ok(once) = format(&text, &name) {
            prop_assert_eq!(format(&once, &name), Ok(once.clone()), "{}", text);
        }
    }
}

/// Server in which a program that includes a file of the library is open.
fn with_library_user() -> LanguageServer<OpenOnly> {
    let mut server = LanguageServer::new(OpenOnly, "0");
    server.handle(&json!({ "id": 0, "method": "initialize", "params": {} }));
    let text = r#"{ include("$whimbrel/request.asl") }
!go.
+!go <- !request(bob, paint, 500, _).
+!perform(paint, painted).
"#;
    open(&mut server, "file:///a.asl", text);
    server
}

fn open(server: &mut LanguageServer<OpenOnly>, uri: &str, text: &str) -> Vec<Value> {
    let document = json!({ "uri": uri, "text": text });
    server.handle(&json!({ "method": "textDocument/didOpen", "params": { "textDocument": document } }))
}

fn ask(server: &mut LanguageServer<OpenOnly>, method: &str, line: u32, character: u32) -> Value {
    let at = json!({ "line": line, "character": character });
    let params = json!({ "textDocument": { "uri": "file:///a.asl" }, "position": at, "newName": "new_name" });
    server.handle(&json!({ "id": 1, "method": format!("textDocument/{method}"), "params": params })).remove(0)
}

#[test]
fn library_definition_is_in_copy() {
    let mut server = with_library_user();
    let found = ask(&mut server, "definition", 2, 11);
    let place = &found["result"][0];
    assert_eq!(place["uri"], "file:///library/request.asl", "{found}");
    let (_, library) = whimbrel_bdi::load_library("$whimbrel/request.asl").unwrap();
    let line = place.pointer("/range/start/line").and_then(Value::as_u64).unwrap() as usize;
    assert!(library.text.lines().nth(line).unwrap().starts_with("+!request("), "{found}");
    let shown = open(&mut server, "file:///library/request.asl", &library.text);
    assert_eq!(shown[0]["params"]["diagnostics"], json!([]), "{shown:?}");
}

#[test]
fn name_of_library_is_not_renamed() {
    let refused = ask(&mut with_library_user(), "rename", 3, 4);
    assert_eq!(refused["error"]["message"], "the name cannot be changed: `$whimbrel/work.asl` uses it", "{refused}");
}
