//! MCP: services of agents as tools, over HTTP as it stands on the wire, and by official clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{ADMIN, HttpNode, PATIENCE, Response, Scratch, VIEWER};

const SHOP: &str = include_str!("../../mcp/shop.asl");
const FIXTURES: &str = include_str!("../../../../../conformance/mcp/fixtures.asl");
const VERSION: &str = "2026-07-28";
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");
/// Set where the official clients must be there.
const REQUIRED: &str = "WHIMBREL_MCP_PEERS_REQUIRED";
/// Folder with a checkout or an installation of MCP's conformance suite.
const SUITE: &str = "WHIMBREL_MCP_SUITE";

fn node(agent: &str, program: &str, options: &[&str]) -> HttpNode {
    let project = format!("MAS market {{ agents: {agent}; }}");
    let file = format!("{agent}.asl");
    HttpNode::of(Scratch::with(&[("market.mas2j", project.as_str()), (&file, program)]), options)
}

fn shop(options: &[&str]) -> HttpNode {
    let node = node("shop", SHOP, &[&["--mcp", "shop"], options].concat());
    node.until(|node| node.get("/services").to_string().contains("secret"));
    node
}

/// Parameters with the metadata of each request.
fn with_meta(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "progressToken": "p1",
    });
    params
}

/// Sends a modern request.
#[track_caller]
fn modern(node: &HttpNode, method: &str, params: Value, more: &[(&str, &str)]) -> Response {
    let name = params["name"].as_str().or_else(|| params["uri"].as_str()).unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut headers = vec![ACCEPT, JSON, ("mcp-protocol-version", VERSION), ("mcp-method", method)];
    if !name.is_empty() {
        headers.push(("mcp-name", &name));
    }
    headers.extend(more);
    node.send("POST", "/mcp", &headers, &body)
}

#[track_caller]
fn call(node: &HttpNode, name: &str, arguments: Value) -> Value {
    let params = with_meta(json!({"name": name, "arguments": arguments}), json!({"elicitation": {}}));
    modern(node, "tools/call", params, &[]).json()
}

/// Returns the messages of a stream of events.
fn events(response: &Response) -> Vec<Value> {
    let data = response.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[test]
fn services_are_tools() {
    let node = shop(&[]);
    let listed = modern(&node, "tools/list", with_meta(json!({}), json!({})), &[]).json();
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["send", "df_search", "shop.price", "shop.order", "shop.brew", "shop.wait"]);
    let price = call(&node, "shop.price", json!({"item": "tea", "count": 2}));
    assert_eq!(price["result"]["structuredContent"], json!({"euros": 5}), "{price}");
    assert_eq!(price["result"]["resultType"], "complete");
    let wrong = call(&node, "shop.price", json!({"count": 2}));
    assert_eq!(wrong["result"]["isError"], true);
    assert_eq!(wrong["result"]["content"][0]["text"], "argument `item` is missing");
    let refused = call(&node, "shop.price", json!({"item": "gold"}));
    assert_eq!(refused["result"]["content"][0]["text"], "there is no gold", "{refused}");
    let sent = call(&node, "send", json!({"agent": "shop", "content": {"term": "price", "args": ["tea", 4]}}));
    assert_eq!(sent["result"]["content"][0]["text"], "price(10)", "{sent}");
    let found = call(&node, "df_search", json!({"service": "secret"}));
    assert_eq!(found["result"]["structuredContent"]["agents"][0]["agent"], "shop");
    let menu = modern(&node, "resources/read", with_meta(json!({"uri": "shop://menu"}), json!({})), &[]).json();
    assert_eq!(menu["result"]["contents"][0]["text"], "tea 2.50", "{menu}");
    let prompt = with_meta(json!({"name": "shop.advertise", "arguments": {"item": "tea"}}), json!({}));
    let prompt = modern(&node, "prompts/get", prompt, &[]).json();
    assert_eq!(prompt["result"]["messages"][1]["role"], "assistant", "{prompt}");
    let brewed = with_meta(json!({"name": "shop.brew"}), json!({}));
    let brewed = events(&modern(&node, "tools/call", brewed, &[]));
    let told: Vec<&Value> = brewed.iter().filter_map(|event| event["params"].get("message")).collect();
    assert_eq!(told, ["water is on", "water boils", "tea draws"], "{brewed:?}");
    assert_eq!(brewed.last().expect("an answer")["result"]["content"][0]["text"], "tea");
}

#[test]
fn question_is_answered_by_next_request() {
    let node = shop(&["--mcp-token", "alice=secret-of-alice", "--mcp-token", "bob=secret-of-bob"]);
    let alice = ("authorization", "Bearer secret-of-alice");
    let order = |more: Value, headers: &[(&str, &str)]| {
        let mut params = json!({"name": "shop.order", "arguments": {"item": "tea"}});
        for (name, value) in more.as_object().expect("an object") {
            params[name] = value.clone();
        }
        modern(&node, "tools/call", with_meta(params, json!({"elicitation": {"form": {}}})), headers)
    };
    let asked = order(json!({}), &[alice]).json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let request = &asked["result"]["inputRequests"]["answer"];
    assert_eq!(
        (&request["method"], &request["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which cup?"))
    );
    let state = asked["result"]["requestState"].as_str().expect("a state");
    let answer = json!({"answer": {"action": "accept", "content": {"answer": "blue"}}});
    let with = |state: &str| json!({"requestState": state, "inputResponses": answer});
    let tampered = order(with(&format!("{state}-")), &[alice]).json();
    assert_eq!(tampered["error"]["code"], -32602);
    let others = order(with(state), &[("authorization", "Bearer secret-of-bob")]).json();
    assert_eq!(others["error"]["code"], -32602, "another client's");
    let served = order(with(state), &[alice]).json();
    assert_eq!(served["result"]["content"][0]["text"], "tea in a blue cup", "{served}");
    let replayed = order(with(state), &[alice]).json();
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    let refusals = node.get("/security").to_string();
    assert!(refusals.contains("forged") && refusals.contains("replayed"), "{refusals}");
    assert_eq!(order(json!({}), &[]).status, 401, "a token is needed");
    assert_eq!(order(json!({}), &[("authorization", "Bearer wrong")]).status, 401);
}

#[test]
fn session_asks_on_its_stream() {
    let node = shop(&[]);
    let send = |session: Option<&str>, body: Value| {
        let mut headers = vec![ACCEPT, JSON];
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        node.send("POST", "/mcp", &headers, &body.to_string())
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {}});
    let opened = send(None, json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    assert_eq!(opened.json()["result"]["protocolVersion"], "2025-06-18");
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!((send(None, list.clone()).status, send(Some("other"), list.clone()).status), (400, 404));
    assert_eq!(send(Some(&session), list.clone()).status, 200);
    let params = json!({"name": "shop.order", "arguments": {"item": "tea"}});
    let order = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(&node.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let (host, length) = (&node.address, order.len());
    let head = format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\ncontent-type: application/json\r\n");
    let head = format!("{head}mcp-session-id: {session}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(format!("{head}{order}").as_bytes()).expect("it takes it");
    let asked = read_event(&mut stream);
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let result = json!({"action": "accept", "content": {"answer": "red"}});
    let answered = send(Some(&session), json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    assert_eq!(answered.status, 202);
    assert_eq!(read_event(&mut stream)["result"]["content"][0]["text"], "tea in a red cup");
    assert_eq!(node.send("DELETE", "/mcp", &[("mcp-session-id", &session)], "").status, 200);
    assert_eq!(send(Some(&session), list).status, 404);
}

/// Reads up to the end of the next event.
#[track_caller]
fn read_event(stream: &mut TcpStream) -> Value {
    let mut text = Vec::new();
    let mut byte = [0];
    while !(text.ends_with(b"\n\n") && text.windows(7).any(|it| it == b"\ndata: ")) {
        assert_eq!(stream.read(&mut byte).expect("it goes on"), 1, "{}", String::from_utf8_lossy(&text));
        text.extend(byte);
    }
    let text = String::from_utf8(text).expect("text");
    let data = text.split("\ndata: ").nth(1).and_then(|rest| rest.split('\n').next()).expect("data");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn closed_stream_cancels_call() {
    let node = shop(&[]);
    let params = with_meta(json!({"name": "shop.wait"}), json!({}));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(&node.address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\naccept: */*\r\ncontent-type: application/json\r\nmcp-method: tools/call\r\n\
         mcp-name: shop.wait\r\nmcp-protocol-version: {VERSION}\r\ncontent-length: {}\r\n\r\n",
        node.address,
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("it takes it");
    assert_eq!(read_event(&mut stream)["params"]["message"], "soon");
    drop(stream);
    node.until(|node| node.get("/output").to_string().contains("called off: wait"));
}

#[test]
fn requests_of_others_are_refused() {
    let node = shop(&[]);
    let list = |more: &[(&str, &str)]| modern(&node, "tools/list", with_meta(json!({}), json!({})), more).status;
    assert_eq!(list(&[("origin", "https://evil.example")]), 403);
    assert_eq!(list(&[("host", "evil.example")]), 403);
    let viewer = format!("Bearer {VIEWER}");
    let viewer = ("authorization", viewer.as_str());
    assert_eq!(list(&[viewer]), 200);
    let price = with_meta(json!({"name": "shop.price", "arguments": {"item": "tea"}}), json!({}));
    assert_eq!(modern(&node, "tools/call", price, &[viewer]).status, 403, "viewers only look");
    let beliefs = with_meta(json!({"uri": "whimbrel://shop/beliefs/stock"}), json!({}));
    assert_eq!(modern(&node, "resources/read", beliefs.clone(), &[]).json()["error"]["code"], -32602);
    let read = modern(&node, "resources/read", beliefs, &[viewer]).json();
    assert_eq!(read["result"]["contents"][0]["text"], "stock(tea,9)[source(self)].\n", "{read}");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let status = |headers: &[(&str, &str)], body: &str| node.send("POST", "/mcp", headers, body).status;
    assert_eq!(status(&[JSON, ("accept", "application/json")], &body), 406);
    assert_eq!(status(&[ACCEPT, ("content-type", "text/plain")], &body), 415);
    assert_eq!(status(&[ACCEPT, JSON], "[]"), 400);
    assert_eq!(node.send("GET", "/mcp", &[ACCEPT], "").status, 405);
    let closed = super::HttpNode::start();
    assert_eq!(modern(&closed, "tools/list", with_meta(json!({}), json!({})), &[]).status, 404, "off by default");
}

#[test]
fn lines_are_carried_to_agents() {
    let scratch = Scratch::with(&[("shop.asl", SHOP)]);
    let mut command = super::whimbrel();
    command.args(["mcp", "shop.asl"]).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let request = |id: u32, method: &str, params: Value| {
        let params = with_meta(params, json!({"elicitation": {}}));
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let arguments = json!({"name": "shop.price", "arguments": {"item": "tea"}});
    let lines = request(1, "tools/call", arguments) + &request(2, "tools/call", json!({"name": "shop.brew"}));
    let lines = lines + &request(3, "nothing", json!({})) + "no JSON\n";
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends with its input");
    let out = String::from_utf8(output.stdout).expect("text");
    let said: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let answer =
        |id: u32| said.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("no answer to {id} in {out}"));
    assert_eq!(answer(1)["result"]["structuredContent"], json!({"euros": 2.5}));
    assert_eq!(answer(2)["result"]["content"][0]["text"], "tea");
    assert_eq!(answer(3)["error"]["code"], -32601);
    assert_eq!(said.iter().filter(|it| it["method"] == "notifications/progress").count(), 3, "{out}");
    assert!(said.iter().any(|it| it["error"]["code"] == -32700), "{out}");
    assert!(output.status.success());
}

/// Runs a client that may be missing; says so loudly.
fn lines_of(what: &str, installed: &Path, program: &Path, script: &Path, url: &str) -> Option<Vec<String>> {
    if !installed.exists() {
        assert!(std::env::var_os(REQUIRED).is_none(), "{what} is not installed at {}", installed.display());
        eprintln!("SKIPPED: {what} is not installed at {}: run `make mcp-peers`", installed.display());
        return None;
    }
    let output = Command::new(program).arg(script).arg(url).output().expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {out}\n{err}");
    Some(out.lines().map(str::to_owned).collect())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("a folder")
}

#[test]
fn official_clients_call_agents() {
    let node = shop(&[]);
    let url = format!("http://{}/mcp", node.address);
    let peers = root().join(".cache/mcp-peers");
    let (python, script) = (peers.join("python/bin/python"), root().join("crates/cli/tests/mcp/peer.py"));
    let python = lines_of("MCP's Python SDK", &python, &python, &script, &url);
    for mode in ["auto", "legacy"] {
        let Some(lines) = &python else { break };
        let has = |line: &str| lines.iter().any(|it| *it == format!("{mode} {line}"));
        assert!(has("price {'euros': 5} False") && has("wrong there is no gold True"), "{lines:#?}");
        assert!(has("order tea in a blue cup") && has("menu tea 2.50") && has("sent price(10)"), "{lines:#?}");
    }
    let script = peers.join("typescript/peer.mjs");
    let typescript = lines_of("MCP's TypeScript SDK", &script, Path::new("node"), &script, &url);
    for mode in ["auto", "legacy"] {
        let Some(lines) = &typescript else { break };
        let has = |line: &str| lines.iter().any(|it| *it == format!("{mode} {line}"));
        assert!(has("price {\"euros\":5}") && has("order tea in a red cup"), "{lines:#?}");
        assert!(has("brew tea water is on, water boils, tea draws"), "{lines:#?}");
    }
}

#[test]
fn conformance_suite_passes() {
    let Some(suite) = std::env::var_os(SUITE).map(PathBuf::from) else {
        eprintln!("SKIPPED: MCP's conformance suite: set {SUITE} to a folder where npm installed it");
        return;
    };
    let node = node("fixtures", FIXTURES, &["--mcp", "fixtures"]);
    node.until(|node| node.get("/services").to_string().contains("asking_prompt"));
    let modules = suite.join("node_modules");
    for version in [VERSION, "2025-11-25"] {
        let mut command = Command::new(modules.join(".bin/node"));
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command.args(["server", "--url", &format!("http://{}/mcp", node.address), "--requirements", version]);
        let output = command.current_dir(node.scratch.path()).output().expect("it runs");
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{version}:\n{out}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let _ = ADMIN;
}
