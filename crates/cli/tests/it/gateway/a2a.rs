//! Agents that are published over A2A: bindings, cards, refusals, and clients of the official SDKs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use whimbrel_platform::limits::A2A_STREAMS_EACH_MAX;

use super::{HttpNode, Response, Scratch};

const SHOP: &str = include_str!("../../a2a/shop.asl");
const TCK: &str = include_str!("../../../../../conformance/a2a/tck.asl");
const PROJECT: &str = "MAS market { agents: shop; secret shop.asl; tck; }";
const ALICE: &str = "alice-of-the-tests";
const EVE: &str = "eve-of-the-tests";
/// Variable that makes tests fail if the SDKs are missing.
const REQUIRED: &str = "WHIMBREL_A2A_REQUIRED";

fn node(options: &[&str]) -> HttpNode {
    let files = [("market.mas2j", PROJECT), ("shop.asl", SHOP), ("tck.asl", TCK)];
    HttpNode::of(Scratch::with(&files), options)
}

/// Node with two clients that have tokens.
fn guarded(options: &[&str]) -> HttpNode {
    let alice = format!("alice={ALICE}");
    let eve = format!("eve={EVE}");
    node(&[&["--a2a", "shop", "--a2a-token", &alice, "--a2a-token", &eve], options].concat())
}

impl HttpNode {
    #[track_caller]
    fn rest(&self, token: &str, method: &str, path: &str, body: &Value) -> Response {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("content-type", "application/json"), ("a2a-version", "1.0")];
        if !token.is_empty() {
            headers.push(("authorization", &bearer));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, &format!("/a2a/shop/{path}"), &headers, &body)
    }

    #[track_caller]
    fn rpc(&self, method: &str, params: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = self.send("POST", "/a2a/shop", &[("content-type", "application/json")], &call.to_string());
        assert_eq!(answer.json()["id"], 7);
        answer.json()
    }
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// Events of a stream, without the frames of chunked transfer.
fn events(response: &Response) -> Vec<Value> {
    let data = response.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn published_agent_answers_all_bindings() {
    let node = node(&["--a2a", "shop"]);
    let card = |node: &HttpNode| node.send("GET", "/a2a/shop/.well-known/agent-card.json", &[], "");
    node.until(|node| card(node).json()["skills"][0]["id"] == "tea");
    let card = card(&node);
    let url = format!("http://{}/a2a/shop", node.address);
    assert_eq!(card.json()["supportedInterfaces"][0]["url"], url.as_str());
    let tag = card.header("etag").expect("it has one").to_owned();
    assert_eq!(node.send("GET", "/.well-known/agent-card.json", &[("if-none-match", &tag)], "").status, 304);
    let host = node.send("GET", "/a2a/.well-known/agent-card.json", &[], "").json();
    assert_eq!(host["skills"][0]["id"], "shop.tea");
    let strict = node.send("GET", "/a2a/shop/.well-known/agent-card.json", &[("a2a-version", "1.0")], "").json();
    assert_eq!((strict.get("url"), card.json()["url"].as_str()), (None, Some(url.as_str())));

    let rest = node.rest("", "POST", "message:send", &message("price of tea")).json();
    assert_eq!(rest["task"]["artifacts"][0]["parts"][0]["text"], "5 euros");
    let rpc = node.rpc("SendMessage", &message("price of tea"));
    assert_eq!(rpc["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let old = json!({"message": {
        "kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "price of tea"}],
    }});
    let old = node.rpc("message/send", &old);
    assert_eq!((&old["result"]["kind"], &old["result"]["status"]["state"]), (&json!("task"), &json!("completed")));
    let term = json!({"term": "price", "args": [{"atom": "tea"}]});
    let term = json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": term}]}});
    let term = node.rest("", "POST", "message:send", &term).json();
    let data = &term["task"]["artifacts"][0]["parts"][0]["data"];
    assert_eq!(*data, json!({"term": "price", "args": [{"atom": "tea"}, {"num": 5}]}));

    for (text, state) in [("sing", "REJECTED"), ("unheard of", "REJECTED"), ("break", "FAILED")] {
        let task = node.rest("", "POST", "message:send", &message(text)).json();
        assert_eq!(task["task"]["status"]["state"], format!("TASK_STATE_{state}"), "{task}");
    }

    let stream = events(&node.rest("", "POST", "message:stream", &message("brew")));
    let kinds: Vec<_> = stream.iter().filter_map(|event| event.as_object()?.keys().next().cloned()).collect();
    assert_eq!(kinds, ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    let id = stream[0]["task"]["id"].as_str().expect("it has one");
    assert_eq!(node.rest("", "GET", &format!("tasks/{id}"), &Value::Null).json()["id"], id);
    assert_eq!(node.rest("", "GET", "tasks?pageSize=2", &Value::Null).json()["totalSize"], 8);
    node.until(|node| {
        let figures = node.get("/node");
        let figure = |name: &str| figures[name].as_u64().expect("a number");
        assert_eq!(figure("dead"), 0, "{figures}");
        figure("sent") >= 10 && figure("sent") == figure("handled")
    });
}

#[test]
fn clients_see_their_own_tasks() {
    let node = guarded(&[]);
    let sent = node.rest(ALICE, "POST", "message:send", &message("paint")).json();
    let id = sent["task"]["id"].as_str().expect("a task").to_owned();
    assert_eq!(sent["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let get = |token: &str| node.rest(token, "GET", &format!("tasks/{id}"), &Value::Null).status;
    assert_eq!((get(ALICE), get(EVE), get(super::ADMIN)), (200, 404, 404));
    assert_eq!(node.rest(EVE, "POST", &format!("tasks/{id}:cancel"), &Value::Null).status, 404);
    assert_eq!(node.rest(EVE, "POST", &format!("tasks/{id}:subscribe"), &Value::Null).status, 404);
    let none = node.rest("", "GET", "tasks", &Value::Null);
    assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(node.rest(super::VIEWER, "GET", "tasks", &Value::Null).status, 401);
    let cancelled = node.rest(ALICE, "POST", &format!("tasks/{id}:cancel"), &Value::Null).json();
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
    let again = node.rest(ALICE, "POST", &format!("tasks/{id}:cancel"), &Value::Null).json();
    assert_eq!(again["error"]["details"][0]["reason"], "TASK_NOT_CANCELABLE");
    // Clients are agents with the names of their tokens.
    let agents = node.get("/agents?limit=100");
    let names: Vec<_> = agents["agents"].as_array().expect("agents").iter().map(|agent| &agent["name"]).collect();
    assert!(names.iter().any(|name| **name == "a2a_alice_1"), "{names:?}");
}

#[test]
fn hostile_requests_are_refused() {
    let node = node(&["--a2a", "shop"]);
    let json = ("content-type", "application/json");
    let body = message("price of tea").to_string();
    let post = |path: &str, headers: &[(&str, &str)], body: &str| node.send("POST", path, headers, body);
    let send = "/a2a/shop/message:send";
    assert_eq!(post(send, &[json], &body).status, 200);
    assert_eq!(post(send, &[json, ("origin", "https://evil.example")], &body).status, 403);
    assert_eq!(post(send, &[json, ("host", "evil.example")], &body).status, 403);
    assert_eq!(post("/a2a/secret/message:send", &[json], &body).status, 404, "it is not published");
    assert_eq!(post("/a2a/nobody/message:send", &[json], &body).status, 404);
    assert_eq!(node.send("GET", "/a2a/secret/.well-known/agent-card.json", &[], "").status, 404);
    assert_eq!(post(send, &[("content-type", "text/plain")], &body).status, 415);
    assert_eq!(post(send, &[json, ("a2a-version", "99.0")], &body).status, 400);
    assert_eq!(post(send, &[json], &"[".repeat(100_000)).status, 400);
    assert_eq!(post(send, &[json], &format!("\"{}\"", "x".repeat(1 << 20))).status, 400);
    let code = |body: &str| post("/a2a/shop", &[json], body).json()["error"]["code"].clone();
    for (body, expected) in [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Nothing"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#, -32001),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ListTaskPushNotificationConfigs","params":{"id":"x"}}"#, -32003),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#, -32007),
    ] {
        assert_eq!(code(body), expected, "{body}");
    }
    let refused = &node.get("/security")["refusals"];
    assert!(refused.to_string().contains("wrong_origin"), "{refused}");
}

#[test]
fn streams_of_one_address_are_bounded() {
    let node = node(&["--a2a", "shop"]);
    let sent = node.rest("", "POST", "message:send", &message("paint")).json();
    let id = sent["task"]["id"].as_str().expect("a task").to_owned();
    let subscribe = || {
        let mut socket = TcpStream::connect(&node.address).expect("it listens");
        let request = format!("GET /a2a/shop/tasks/{id}:subscribe HTTP/1.1\r\nhost: {}\r\n\r\n", node.address);
        socket.write_all(request.as_bytes()).expect("it reads");
        let mut head = [0; 12];
        socket.read_exact(&mut head).expect("it answers");
        (String::from_utf8_lossy(&head).into_owned(), socket)
    };
    let streams: Vec<_> = (0..A2A_STREAMS_EACH_MAX).map(|_| subscribe()).collect();
    assert!(streams.iter().all(|(head, _)| head == "HTTP/1.1 200"));
    assert_eq!(subscribe().0, "HTTP/1.1 429");
    assert_eq!(node.rest("", "POST", "message:send", &message("price of tea")).status, 200, "others are served");
    drop(streams);
    node.until(|_| subscribe().0 == "HTTP/1.1 200");
}

#[test]
fn policy_binds_clients() {
    let files = [
        ("market.mas2j", PROJECT),
        ("shop.asl", SHOP),
        ("tck.asl", TCK),
        ("policy.toml", "[[deny]]\nwho = [\"session:eve\"]\nsend = [\"shop\"]\n"),
    ];
    let (alice, eve) = (format!("alice={ALICE}"), format!("eve={EVE}"));
    let options = ["--a2a", "s*", "--a2a-token", &alice, "--a2a-token", &eve, "--policy", "policy.toml"];
    let node = HttpNode::of(Scratch::with(&files), &options);
    let status = |token| node.rest(token, "POST", "message:send", &message("price of tea")).status;
    assert_eq!((status(ALICE), status(EVE)), (200, 403));
}

#[test]
fn door_is_closed_by_default() {
    let node = node(&[]);
    assert_eq!(node.rest("", "POST", "message:send", &message("price of tea")).status, 404);
    assert_eq!(node.send("GET", "/.well-known/agent-card.json", &[], "").status, 404);
}

/// Lines that a client of an official SDK prints.
const DRIVEN: [&str; 5] = [
    "send: completed 5 euros",
    "task submitted, working, artifact a cup of tea, completed",
    "asked: input_required which colour?",
    "answered: completed painted red",
    "cancelled: canceled",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a path below the cache; says so if there is nothing, or panics if it is required.
fn cached(path: &str, what: &str) -> Option<PathBuf> {
    let path = root().join(".cache").join(path);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os(REQUIRED).is_none(), "{what} is missing: make a2a-sdks installs it");
    eprintln!("SKIPPED: {what} is missing: make a2a-sdks installs it");
    None
}

#[track_caller]
fn drives(client: &mut Command) {
    let output = client.stdin(Stdio::null()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let missing: Vec<_> = DRIVEN.iter().filter(|line| !text.contains(**line)).collect();
    assert!(missing.is_empty(), "{missing:?} in {text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn python_sdk_drives_agent() {
    let Some(python) = cached("a2a-python/bin/python", "A2A's Python SDK") else { return };
    let node = node(&["--a2a", "shop"]);
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let base = format!("http://{}/a2a/shop", node.address);
        let mut client = Command::new(&python);
        drives(client.arg(root().join("crates/cli/tests/a2a/peer.py")).args([&base, binding]));
    }
}

#[test]
fn javascript_sdk_drives_agent() {
    let Some(modules) = cached("a2a-js/node_modules", "A2A's JavaScript SDK") else { return };
    let node = node(&["--a2a", "shop"]);
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let base = format!("http://{}/a2a/shop/", node.address);
        let modules = modules.parent().expect("a folder");
        let mut client = Command::new("node");
        drives(client.arg(root().join("crates/cli/tests/a2a/peer.mjs")).args([&base, binding]).arg(modules));
    }
}

/// A2A's technology compatibility kit, whose checkouts `WHIMBREL_A2A_TCK` (branch 1.0-dev) and `WHIMBREL_A2A_TCK_03`
/// (tag 0.3.0.beta4) name. `WHIMBREL_A2A_TCK_PYTHON` is a Python with what it needs.
#[test]
fn compatibility_kit_passes() {
    let python = std::env::var_os("WHIMBREL_A2A_TCK_PYTHON").unwrap_or_else(|| "python3".into());
    let kits = [
        ("WHIMBREL_A2A_TCK", "--sut-host", "/v1.0", ["--transport", "jsonrpc,http_json"]),
        ("WHIMBREL_A2A_TCK_03", "--sut-url", "", ["--category", "mandatory"]),
    ];
    for (variable, option, end, arguments) in kits {
        let Some(folder) = std::env::var_os(variable) else {
            eprintln!("SKIPPED: {variable} names no checkout of a2a-tck, so the kit is not run");
            continue;
        };
        let node = node(&["--a2a", "tck"]);
        let base = format!("http://{}/a2a/tck{end}", node.address);
        let mut kit = Command::new(&python);
        let output = kit.arg("run_tck.py").args([option, &base]).args(arguments).current_dir(folder).output();
        let output = output.expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = text.lines().last().unwrap_or_default();
        println!("{variable}: {last}");
        assert!(last.contains(" passed") && !last.contains(" failed") && !last.contains(" error"), "{text}");
    }
}
