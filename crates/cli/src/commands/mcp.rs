//! `whimbrel mcp`: MCP on lines, for clients that start programs; a node answers over HTTP.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, LocalSet};
use whimbrel_interop::mcp::VERSION;
use whimbrel_interop::mcp::lines::{EventReader, repeated_headers};
use whimbrel_platform::limits::{MCP_ANSWER_BYTES_MAX, MCP_BODY_BYTES_MAX};

use crate::arguments::McpBridgeArguments;
use crate::terminal::screen::print_bytes;

/// Line of a node that says where its MCP is.
const ADDRESS_LINE: &str = "MCP is at ";
/// Looks at the list of tools of a new society: pause between them, their number at most, and after how many that find
/// the same the list is whole.
const SETTLE_PAUSE: Duration = Duration::from_millis(50);
const SETTLE_ROUNDS_MAX: u32 = 60;
const SETTLED_ROUNDS: u32 = 5;
const SESSION: &str = "mcp-session-id";

/// Connects the client on standard input and output to a node.
pub fn mcp(arguments: &McpBridgeArguments) -> anyhow::Result<ExitCode> {
    let (society, url) = match arguments.society.is_some() {
        true => {
            let (society, url) = start(arguments)?;
            (Some(society), url)
        }
        false => (None, arguments.url.clone()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bridge = Rc::new(McpBridge {
        url,
        token: arguments.token.clone(),
        session: RefCell::default(),
        open: RefCell::default(),
    });
    let is_started = society.is_some();
    LocalSet::new().block_on(&runtime, async {
        if is_started {
            bridge.settle().await;
        }
        bridge.carry(lines()).await;
    });
    drop(society);
    Ok(ExitCode::SUCCESS)
}

/// Society that ends with the client.
struct ClientSociety(Child);

impl Drop for ClientSociety {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a society. What its agents print goes to standard error: lines of standard output are messages.
fn start(arguments: &McpBridgeArguments) -> anyhow::Result<(ClientSociety, String)> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("run").args(&arguments.society).args(["--http", "127.0.0.1:0", "--mcp"]);
    // It ends with this process, however that ends.
    command.arg(arguments.offered.as_deref().unwrap_or("*")).arg("--end-with-input").stdin(Stdio::piped());
    command.env_remove("WHIMBREL_MCP_TOKEN").env_remove("WHIMBREL_HTTP");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot run the society")?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let society = ClientSociety(child);
    let (Some(out), Some(err)) = (out, err) else { bail!("the society has no output") };
    std::thread::spawn(move || pass_on(BufReader::new(out)));
    let mut err = BufReader::new(err);
    let mut line = String::new();
    while err.read_line(&mut line)? > 0 {
        if let Some((_, url)) = line.trim_end().split_once(ADDRESS_LINE) {
            let url = url.to_owned();
            std::thread::spawn(move || pass_on(err));
            return Ok((society, url));
        }
        eprint!("{line}");
        line.clear();
    }
    bail!("the society ended before its MCP was open")
}

fn pass_on(from: impl BufRead) {
    from.lines().map_while(Result::ok).for_each(|line| eprintln!("{line}"));
}

/// Returns the lines of standard input.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lines().map_while(Result::ok).filter(|line| !line.trim().is_empty());
        for line in lines {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Writes a message as a line.
fn say(message: &str) {
    let line = message.trim().replace(['\r', '\n'], " ") + "\n";
    // Without a reader, the end of standard input follows.
    let _ = print_bytes(line.as_bytes());
}

/// Bridge between lines and HTTP.
struct McpBridge {
    url: String,
    token: Option<String>,
    /// Session, in the legacy era.
    session: RefCell<Option<String>>,
    /// Requests without an answer, by their identifiers in JSON.
    open: RefCell<HashMap<String, AbortHandle>>,
}

impl McpBridge {
    /// Waits until the agents of a new society have registered their services: clients may list tools only once.
    async fn settle(&self) {
        let listed = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        let (mut before, mut rounds) = (0, 0);
        for _ in 0..SETTLE_ROUNDS_MAX {
            let Ok(response) = self.request("POST", &listed, listed.to_string()).await else { return };
            let Ok(body) = response.collect().await else { return };
            let length = body.to_bytes().len();
            rounds = if length == before { rounds + 1 } else { 0 };
            if rounds >= SETTLED_ROUNDS {
                return;
            }
            before = length;
            tokio::time::sleep(SETTLE_PAUSE).await;
        }
    }

    /// Carries messages until the client is gone, and all its requests are answered.
    async fn carry(self: Rc<Self>, mut lines: mpsc::UnboundedReceiver<String>) {
        let mut tasks = tokio::task::JoinSet::new();
        while let Some(line) = lines.recv().await {
            let message: Json = serde_json::from_str(&line).unwrap_or_default();
            let method = message.get("method").and_then(Json::as_str).unwrap_or_default().to_owned();
            if self.is_called_off(&method, &message) {
                continue;
            }
            let id = message.get("id").map(ToString::to_string);
            let bridge = Rc::clone(&self);
            if method == "initialize" {
                // What follows belongs to the session.
                bridge.post(line, message).await;
                continue;
            }
            let task = tasks.spawn_local(async move { bridge.post(line, message).await });
            id.map(|id| self.open.borrow_mut().insert(id, task));
            if method == "notifications/initialized" && self.session.borrow().is_some() {
                let bridge = Rc::clone(&self);
                tokio::task::spawn_local(async move { bridge.listen().await });
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Calls a request of the modern era off: its connection is closed.
    fn is_called_off(&self, method: &str, message: &Json) -> bool {
        if method != "notifications/cancelled" || self.session.borrow().is_some() {
            return false;
        }
        let request = message.get("params").and_then(|params| params.get("requestId")).map(ToString::to_string);
        let open = request.and_then(|request| self.open.borrow_mut().remove(&request));
        open.inspect(AbortHandle::abort);
        true
    }

    /// Sends a message, and writes what is answered.
    async fn post(&self, line: String, message: Json) {
        let id = message.get("id").cloned();
        let answered = async {
            if line.len() > MCP_BODY_BYTES_MAX {
                bail!("a message has at most {MCP_BODY_BYTES_MAX} bytes");
            }
            let response = self.request("POST", &message, line).await?;
            if let Some(session) = response.headers().get(SESSION).and_then(|session| session.to_str().ok()) {
                *self.session.borrow_mut() = Some(session.to_owned());
            }
            write(response).await
        };
        if let Err(error) = answered.await
            && let Some(id) = id.clone().filter(|_| message.get("method").is_some())
        {
            let error = json!({"code": -32603, "message": format!("{}: {error:#}", self.url)});
            say(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
        id.map(|id| self.open.borrow_mut().remove(&id.to_string()));
    }

    /// Writes the notifications of the session.
    async fn listen(&self) {
        // A server without such a stream says so.
        if let Ok(response) = self.request("GET", &Json::Null, String::new()).await
            && response.status().is_success()
        {
            let _ = write(response).await;
        }
    }

    async fn request(&self, method: &str, message: &Json, body: String) -> anyhow::Result<Response<Incoming>> {
        let rest = self.url.strip_prefix("http://").unwrap_or(&self.url);
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let address = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        let stream = TcpStream::connect(&address).await.context("cannot connect: is a node running with --mcp?")?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // It ends with the answer, or when the sender is dropped.
        tokio::task::spawn_local(connection);
        let mut request = Request::builder().method(method).uri(format!("/{path}")).header("host", authority);
        request = request.header("accept", "application/json, text/event-stream");
        request = request.header("content-type", "application/json");
        for (name, value) in repeated_headers(message) {
            request = request.header(name, value);
        }
        if let Some(session) = self.session.borrow().as_ref() {
            request = request.header(SESSION, session);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        Ok(sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?)
    }
}

/// Writes the messages of a response, each as a line.
async fn write(mut response: Response<Incoming>) -> anyhow::Result<()> {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("text/event-stream") {
        let is_json = kind.starts_with("application/json");
        let status = response.status();
        let mut body = Vec::new();
        while let Some(frame) = response.frame().await {
            body.extend_from_slice(frame?.data_ref().map_or(&[], Bytes::as_ref));
            if body.len() > 2 * MCP_ANSWER_BYTES_MAX {
                bail!("the answer is longer than {MCP_ANSWER_BYTES_MAX} bytes");
            }
        }
        match (is_json, body.is_empty()) {
            (true, false) => say(&String::from_utf8(body)?),
            (_, true) if status.is_success() => {}
            _ => bail!("the answer is no MCP: HTTP status {status}"),
        }
        return Ok(());
    }
    let mut events = EventReader::default();
    while let Some(frame) = response.frame().await {
        events.handle_bytes(frame?.data_ref().map_or(&[], Bytes::as_ref))?;
        while let Some(event) = events.poll_event() {
            say(&event);
        }
    }
    Ok(())
}
