//! A running node over HTTP: requests, watches, acts and refusals.

mod a2a;
mod everywhere;
mod hostile;
mod https;
mod live;
mod mcp;
mod openapi;
mod opening;
mod output;
mod routes;
mod sessions;
mod shared_port;
mod spawning;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

use super::{Scratch, whimbrel};

/// Longest time for anything.
const PATIENCE: Duration = Duration::from_secs(180);
const ADMIN: &str = "admin-of-the-tests";
const VIEWER: &str = "viewer-of-the-tests";

const MARKET: &str = "MAS market { agents: buyer; seller; bank #12; }";
const BUYER: &str = "
!buy.
+!buy <- .send(seller, tell, order(tea)); .wait(20); !buy.
+sold(X) <- -sold(X)[source(_)].
";
const SELLER: &str = "
!open.
+!open <- .df_register(\"tea\", \"shop\").
+order(X)[source(A)] <- -order(X)[source(A)]; .send(A, tell, sold(X)).
+!kqml_received(A, request, price(X), M) <- .send(A, inform, price(X, 5), M).
";

/// A node of its own, with its HTTP at a free port; ended with the test.
struct HttpNode {
    child: Child,
    address: String,
    scratch: Scratch,
}

impl Drop for HttpNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Response to a request.
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The market, with the options that all tests have.
fn command(scratch: &Scratch, options: &[&str]) -> Command {
    let mut command = whimbrel();
    command.args([
        "run",
        "market.mas2j",
        "--http",
        "127.0.0.1:0",
        "--http-token",
        ADMIN,
        "--http-viewer-token",
        VIEWER,
    ]);
    command.args(options).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
    command
}

fn market() -> Scratch {
    let files =
        [("market.mas2j", MARKET), ("buyer.asl", BUYER), ("seller.asl", SELLER), ("bank.asl", "!rest.\n+!rest.\n")];
    Scratch::with(&files)
}

impl HttpNode {
    fn start() -> Self {
        Self::with(&[])
    }

    #[track_caller]
    fn with(options: &[&str]) -> Self {
        Self::of(market(), options)
    }

    /// One that runs what is in a folder.
    #[track_caller]
    fn of(scratch: Scratch, options: &[&str]) -> Self {
        let mut child =
            command(&scratch, options).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let said = lines.by_ref().map_while(Result::ok).find(|line| line.contains("the console is at "));
        let said = said.expect("it says where the console is");
        let url = said.split("the console is at ").nth(1).expect("an address");
        let (address, token) = url.split_once("/#token=").expect("with the token");
        assert_eq!(token, ADMIN);
        let address = address.split_once("://").expect("with its scheme").1.to_owned();
        // What it says later is nobody's concern, but must not hold it up.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, scratch }
    }

    /// Sends a request as it stands here; all headers but the host and the length of the body.
    #[track_caller]
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{request}\r\n{body}").as_bytes())
    }

    /// Sends bytes, and reads what comes until the end.
    #[track_caller]
    fn raw(&self, bytes: &[u8]) -> Response {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        // It may be told to go before it has said all.
        let _ = socket.write_all(bytes);
        let mut text = Vec::new();
        let _ = socket.read_to_end(&mut text);
        let text = String::from_utf8(text).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Response { status, head: head.to_owned(), body: body.to_owned() }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let response = self.ask("GET", path, ADMIN, "");
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        response.json()
    }

    /// Returns the answer; null if the node cannot answer just now, as when an agent's turn lasts.
    #[track_caller]
    fn look(&self, path: &str) -> Value {
        let response = self.ask("GET", path, ADMIN, "");
        assert!([200, 409].contains(&response.status), "{path}: {}", response.body);
        if response.status == 200 { response.json() } else { Value::Null }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> Response {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.send(method, &format!("/api/v1{path}"), &headers, body)
    }

    /// A WebSocket at this path.
    fn socket(&self, path: &str, protocol: &'static str, headers: &[(&'static str, &str)]) -> Result<Socket, u16> {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        self.socket_over(stream, path, protocol, headers)
    }

    /// The same from another address of this machine.
    #[cfg(target_os = "linux")]
    fn socket_from(
        &self,
        from: [u8; 4],
        path: &str,
        protocol: &'static str,
        headers: &[(&'static str, &str)],
    ) -> Result<Socket, u16> {
        let connecting = async {
            let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
            socket.bind((from, 0).into()).expect("it is of this machine");
            let stream = socket.connect(self.address.parse().expect("an address")).await.expect("it listens");
            stream.into_std().expect("a socket")
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a thread");
        let stream = runtime.block_on(connecting);
        stream.set_nonblocking(false).expect("a socket");
        self.socket_over(stream, path, protocol, headers)
    }

    fn socket_over(
        &self,
        stream: TcpStream,
        path: &str,
        protocol: &'static str,
        headers: &[(&'static str, &str)],
    ) -> Result<Socket, u16> {
        Socket::over(stream, &self.address, path, protocol, headers)
    }

    /// A live socket that was let in.
    #[track_caller]
    fn live(&self, token: &str) -> Socket {
        Socket::live(&self.address, token)
    }

    #[track_caller]
    fn until(&self, mut so: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !so(self) {
            assert!(begin.elapsed() < PATIENCE, "it takes too long");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A client's WebSocket.
struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// The next frame that is no acknowledgement.
    #[track_caller]
    fn next(&mut self) -> Value {
        loop {
            let frame = self.hear().expect("it goes on");
            if frame["type"] != "ack" {
                return frame;
            }
        }
    }

    #[track_caller]
    fn over(
        stream: TcpStream,
        address: &str,
        path: &str,
        protocol: &'static str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut request = format!("ws://{address}{path}").into_client_request().expect("an address");
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(protocol));
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        match tungstenite::client::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// A live socket that was let in.
    #[track_caller]
    fn live(address: &str, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        let mut socket = Self::over(stream, address, "/api/v1/live", "whimbrel.live.v1", &[]).expect("it is one");
        socket.say(&format!(r#"{{"type":"hello","token":"{token}"}}"#));
        let welcome = socket.hear().expect("it answers");
        assert_eq!(welcome["type"], "welcome", "{welcome}");
        socket
    }

    #[track_caller]
    fn say(&mut self, text: &str) {
        self.0.send(Message::text(text)).expect("it is open");
    }

    /// The next message; `None` when the node closed the socket.
    fn hear(&mut self) -> Option<Value> {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).ok(),
                Ok(Message::Close(_)) => {
                    // The node waits for the answer to its good-bye.
                    let _ = self.0.flush();
                    return None;
                }
                Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The next message of this type.
    #[track_caller]
    fn expect(&mut self, kind: &str) -> Value {
        loop {
            let told = self.hear().expect("it goes on");
            if told["type"] == kind {
                return told;
            }
            assert!(told["type"] != "refused" && told["type"] != "error", "{told}");
        }
    }
}
