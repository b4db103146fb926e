//! Tools for editors: the language server driven over its protocol, and the formatter.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use whimbrel_editor::server::path_of;

use super::{CommandFolder, RunningProcess, Scratch, whimbrel};

/// Reads the next message of a server; `None` at its end.
pub fn read_framed(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((_, value)) => length = value.parse().ok()?,
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Editor with a running server.
struct Editor {
    process: RunningProcess,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Notifications that came before an answer.
    notices: Vec<Value>,
    requests: u64,
}

impl Editor {
    /// Starts a server and shakes hands.
    fn start() -> Self {
        Self::start_as(whimbrel())
    }

    fn start_as(mut command: Command) -> Self {
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = RunningProcess(command.spawn().unwrap());
        let input = process.0.stdin.take();
        let output = BufReader::new(process.0.stdout.take().unwrap());
        let mut editor = Self { process, input, output, notices: Vec::new(), requests: 0 };
        let offered = editor.ask("initialize", json!({ "capabilities": {}, "processId": null, "rootUri": null }));
        assert_eq!(offered["capabilities"]["positionEncoding"], "utf-16");
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        input.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn read(&mut self) -> Value {
        read_framed(&mut self.output).expect("the server ended")
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.read();
            if message["id"] == id {
                return message;
            }
            self.notices.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    fn open(&mut self, file: &Path) -> String {
        let uri = format!("file://{}", file.display());
        let text = std::fs::read_to_string(file).unwrap();
        let document = json!({ "uri": uri, "languageId": "agentspeak", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        uri
    }

    /// Returns the codes of the diagnostics that come next for a document.
    fn codes(&mut self, uri: &str) -> Vec<String> {
        loop {
            let message = if self.notices.is_empty() { self.read() } else { self.notices.remove(0) };
            if message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri {
                let found = message["params"]["diagnostics"].as_array().unwrap().clone();
                return found.iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect();
            }
        }
    }

    fn end(mut self) -> Option<i32> {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        drop(self.input.take());
        self.process.0.wait().unwrap().code()
    }
}

fn at(uri: &str, line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } })
}

fn garden() -> Scratch {
    Scratch::with(&[
        ("garden.mas2j", "MAS garden {\n  agents: ann; bob;\n}\n"),
        (
            "ann.asl",
            "price(\"😀\", 3).\n!start.\n// Greets bob.\n+!start : price(P, N) <- .send(bob, achieve, greet(N)); .print(P, N).\n",
        ),
        ("bob.asl", "+!greet(N) <- .print(N).\n"),
    ])
}

#[test]
fn diagnostics_follow_the_typing() {
    let scratch = garden();
    let mut editor = Editor::start();
    let uri = editor.open(&scratch.path().join("ann.asl"));
    assert!(editor.codes(&uri).is_empty());
    let range = json!({ "start": { "line": 1, "character": 1 }, "end": { "line": 1, "character": 6 } });
    let change = |text: &str, range: &Value| json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "range": range, "text": text }] });
    editor.tell("textDocument/didChange", change("strat", &range));
    assert_eq!(editor.codes(&uri), ["goal-without-plan", "plan-never-triggered"]);
    editor.tell("textDocument/didChange", change("start", &range));
    assert!(editor.codes(&uri).is_empty());
    let astral = json!({ "start": { "line": 0, "character": 9 }, "end": { "line": 0, "character": 10 } });
    editor.tell("textDocument/didChange", change("\"", &astral));
    assert!(editor.codes(&uri).is_empty());
    editor.tell("textDocument/didChange", change("", &astral));
    assert!(editor.codes(&uri).contains(&"error".to_owned()));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn definitions_cross_files() {
    let scratch = garden();
    let mut editor = Editor::start();
    let ann = editor.open(&scratch.path().join("ann.asl"));
    let bob = format!("file://{}", scratch.path().join("bob.asl").display());
    let start = editor.ask("textDocument/definition", at(&ann, 1, 3));
    assert_eq!((&start[0]["uri"], &start[0]["range"]["start"]), (&json!(ann), &json!({ "line": 3, "character": 2 })));
    let greet = editor.ask("textDocument/definition", at(&ann, 3, 46));
    assert_eq!((&greet[0]["uri"], &greet[0]["range"]["start"]), (&json!(bob), &json!({ "line": 0, "character": 2 })));
    let agent = editor.ask("textDocument/definition", at(&ann, 3, 32));
    assert_eq!(agent[0]["uri"], json!(bob));
    let project = editor.open(&scratch.path().join("garden.mas2j"));
    let program = editor.ask("textDocument/definition", at(&project, 1, 16));
    assert_eq!(program[0]["uri"], json!(bob));
    let greets = json!({ "includeDeclaration": true });
    let mut params = at(&ann, 3, 46);
    params["context"] = greets;
    assert_eq!(editor.ask("textDocument/references", params).as_array().map(Vec::len), Some(2));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn library_definition_can_be_opened() {
    let program = "{ include(\"$whimbrel/request.asl\") }\n!go.\n+!go <- !request(bob, paint, 500, _).\n";
    let scratch = Scratch::with(&[("ann.asl", program)]);
    let mut command = whimbrel();
    command.env("XDG_CACHE_HOME", scratch.path()).env("LOCALAPPDATA", scratch.path());
    let mut editor = Editor::start_as(command);
    let ann = editor.open(&scratch.path().join("ann.asl"));
    let found = editor.ask("textDocument/definition", at(&ann, 2, 11));
    let copy = path_of(found[0]["uri"].as_str().unwrap());
    let line = found[0]["range"]["start"]["line"].as_u64().unwrap() as usize;
    let text = std::fs::read_to_string(&copy).unwrap();
    assert!(text.lines().nth(line).unwrap().starts_with("+!request("), "{found}");
    assert!(copy.metadata().unwrap().permissions().readonly());
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn hover_shows_the_reference() {
    let scratch = garden();
    let mut editor = Editor::start();
    let ann = editor.open(&scratch.path().join("ann.asl"));
    let shown = |found: &Value| found["contents"]["value"].as_str().unwrap_or_default().to_owned();
    let action = editor.ask("textDocument/hover", at(&ann, 3, 27));
    assert!(shown(&action).contains(".send(To, Performative, Content"), "{action}");
    let goal = editor.ask("textDocument/hover", at(&ann, 1, 3));
    assert!(shown(&goal).contains("+!start : price(P, N)") && shown(&goal).contains("Greets bob."), "{goal}");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn names_are_completed() {
    let scratch = garden();
    let mut editor = Editor::start();
    let ann = editor.open(&scratch.path().join("ann.asl"));
    let mut labels = |line, character| {
        let found = editor.ask("textDocument/completion", at(&ann, line, character));
        let items = found["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(labels(1, 3), ["start"]);
    assert_eq!(labels(3, 30), [".send"]);
    assert!(labels(3, 32).contains(&"bob".to_owned()));
    assert!(labels(3, 64).contains(&"P".to_owned()));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn names_are_renamed() {
    let scratch = garden();
    let mut editor = Editor::start();
    let ann = editor.open(&scratch.path().join("ann.asl"));
    let bob = format!("file://{}", scratch.path().join("bob.asl").display());
    let renamed = |mut params: Value, name: &str| {
        params["newName"] = json!(name);
        params
    };
    let edits = editor.ask("textDocument/rename", renamed(at(&ann, 3, 46), "welcome"));
    let count = |uri: &str| edits["changes"][uri].as_array().map_or(0, Vec::len);
    assert_eq!((count(&ann), count(&bob)), (1, 1));
    let edits = editor.ask("textDocument/rename", renamed(at(&ann, 3, 19), "Count"));
    assert_eq!(edits["changes"][&ann].as_array().map(Vec::len), Some(3));
    for (place, name) in
        [(at(&ann, 3, 46), "Wel"), (at(&ann, 3, 46), "a b"), (at(&ann, 3, 19), "count"), (at(&ann, 3, 27), "x")]
    {
        assert!(editor.answer("textDocument/rename", renamed(place, name)).get("error").is_some(), "{name}");
    }
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn outline_and_lens_are_offered() {
    let scratch = garden();
    let mut editor = Editor::start();
    let ann = editor.open(&scratch.path().join("ann.asl"));
    let document = json!({ "textDocument": { "uri": ann } });
    let outline = editor.ask("textDocument/documentSymbol", document.clone());
    let names: Vec<&str> = outline.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["price(\"😀\", 3)", "!start", "+!start"]);
    let lens = editor.ask("textDocument/codeLens", document.clone());
    assert_eq!(
        (&lens[0]["command"]["command"], &lens[0]["command"]["title"]),
        (&json!("whimbrel.run"), &json!("▶ Run this agent"))
    );
    assert_eq!(
        (&lens[1]["command"]["command"], &lens[1]["command"]["title"]),
        (&json!("whimbrel.debug"), &json!("Debug this agent"))
    );
    assert_eq!(editor.ask("textDocument/formatting", document), json!([]));
    std::fs::write(scratch.path().join("odd.asl"), "!go.\n+!go<-.print( 1 ).\n").unwrap();
    let odd = editor.open(&scratch.path().join("odd.asl"));
    let edits = editor.ask("textDocument/formatting", json!({ "textDocument": { "uri": odd } }));
    assert_eq!(edits[0]["newText"], "!go.\n+!go <- .print(1).\n");
    let project = editor.open(&scratch.path().join("garden.mas2j"));
    let edits = editor.ask("textDocument/formatting", json!({ "textDocument": { "uri": project } }));
    assert_eq!(edits[0]["newText"], "MAS garden {\n   agents: ann; bob;\n}\n");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn server_survives_odd_messages() {
    let mut editor = Editor::start();
    assert_eq!(editor.answer("no/such", json!({}))["error"]["code"], -32601);
    assert!(editor.answer("textDocument/hover", json!({}))["error"]["message"].as_str().is_some());
    editor.send(&json!([1, 2]));
    assert_eq!(editor.read()["error"]["code"], -32600);
    assert_eq!(editor.ask("textDocument/hover", at("file:///nowhere.asl", 9, 9)), Value::Null);
    editor.tell("exit", Value::Null);
    assert_eq!(editor.process.0.wait().unwrap().code(), Some(1));
}

#[test]
fn fmt_changes_files_once() {
    let scratch =
        Scratch::with(&[("a.asl", "!go.\n+!go<-.print( 1 ).\n"), ("sub/b.asl", "p(1).\n"), ("bad.asl", "p(\n")]);
    let checked = scratch.run(&["fmt", "--check", "a.asl", "sub"]);
    assert_eq!(
        (checked.code, checked.err.as_str()),
        (Some(1), "a.asl would change\n2 files: 1 would change, 0 with errors\n")
    );
    let changed = scratch.run(&["fmt", "a.asl", "sub"]);
    assert_eq!((changed.code, changed.err.as_str()), (Some(0), "2 files: 1 changed, 0 with errors\n"));
    assert_eq!(std::fs::read_to_string(scratch.path().join("a.asl")).unwrap(), "!go.\n+!go <- .print(1).\n");
    assert_eq!(scratch.run(&["fmt", "--check", "a.asl", "sub"]).code, Some(0));
    std::fs::write(scratch.path().join("p.mas2j"), "MAS p {agents:a;}\n").unwrap();
    assert_eq!(scratch.run(&["fmt", "p.mas2j"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(scratch.path().join("p.mas2j")).unwrap(), "MAS p { agents: a; }\n");
    let faulty = scratch.run(&["fmt", "."]);
    assert_eq!(faulty.code, Some(1));
    assert!(faulty.err.contains("bad.asl") && faulty.err.contains("1 with errors"), "{}", faulty.err);
}

#[test]
fn fmt_reads_standard_input() {
    let run = |arguments: &[&str], text: &str| {
        let mut command = whimbrel();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let done = process.wait_with_output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    assert_eq!(run(&["fmt", "-"], "+!g<-a;b."), (Some(0), "+!g <- a; b.\n".to_owned()));
    assert_eq!(run(&["fmt", "--check", "-"], "+!g<-a;b.").0, Some(1));
    assert_eq!(run(&["fmt", "-"], "+!g<-").0, Some(1));
}
