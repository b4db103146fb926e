//! Acts of administrators: what is recorded, and what waits for what.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel_gateway::{Access, Gateway, GatewayConfig, Role};
use whimbrel_operator::{
    Answer, Feed, Latency, LogLine, LogWanted, NodeWatch, Operator, Reason, Refusal, Request, Traffic,
};
use whimbrel_platform::audit::{Act, Auditor, Refused};
use whimbrel_platform::limits::HTTP_LONG_ANSWERS_AT_ONCE_MAX;

const TOKEN: &str = "an-administrator-of-tests";

/// Node that carries out each act; an agent's reply comes when the test says so.
#[derive(Default)]
struct ActingNode {
    /// Number of acts in progress.
    acting: AtomicUsize,
    /// True once waiting sends get their replies.
    answers: AtomicBool,
    /// True if kills wait until their client has gone.
    awaits_hang_up: AtomicBool,
    recorded: Mutex<Vec<String>>,
}

impl Operator for ActingNode {
    fn answer(&self, request: Request, gone: &dyn Fn() -> bool) -> Answer {
        self.acting.fetch_add(1, Ordering::AcqRel);
        let is_over = || match &request {
            Request::Send(_) => self.answers.load(Ordering::Acquire),
            _ => !self.awaits_hang_up.load(Ordering::Acquire) || gone(),
        };
        until("the act is over", is_over);
        Answer::Done
    }

    fn refusals(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn watch(&self, _wanted: NodeWatch) -> Box<dyn Feed> {
        unreachable!("nobody watches")
    }

    fn count_traffic(&self) -> Box<dyn Traffic> {
        unreachable!("nobody counts")
    }

    fn measure_latency(&self) -> Box<dyn Latency> {
        unreachable!("nobody measures")
    }

    fn log(&self, _: &LogWanted, _: &mut dyn FnMut(LogLine) -> ControlFlow<()>) -> Result<(), Refusal> {
        Err(Refusal::new(Reason::NoLog, "there is none"))
    }
}

impl Auditor for ActingNode {
    fn refused(&self, _what: &Refused<'_>) {}

    fn allowed(&self, what: &Act<'_>) {
        let line = format!("{} {} {} {}", what.who, what.from, what.action, what.object);
        self.recorded.lock().unwrap().push(line);
    }
}

/// Waits until a condition holds.
#[track_caller]
fn until(what: &str, so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

/// Gateway of a node, on a runtime of its own.
struct Port {
    node: Arc<ActingNode>,
    gateway: Gateway,
    _runtime: tokio::runtime::Runtime,
}

impl Port {
    fn open() -> Self {
        let node = Arc::<ActingNode>::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let config = GatewayConfig {
            operator: Arc::clone(&node) as Arc<dyn Operator>,
            sessions: None,
            access: Access::none().with_token(TOKEN, Role::Admin),
            pages: None,
            tls: None,
            auditor: Some(Arc::clone(&node) as Arc<dyn Auditor>),
            a2a: None,
            mcp: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gateway = Gateway::open(config, listener, runtime.handle()).unwrap();
        Self { node, gateway, _runtime: runtime }
    }

    /// Sends a request without reading the answer.
    fn say(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.gateway.address()).unwrap();
        let (host, length) = (self.gateway.address(), body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n");
        let head = format!("{head}connection: close\r\ncontent-type: application/json\r\ncontent-length: {length}");
        socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        socket
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut text = String::new();
        self.say(method, path, body).read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn act_of_gone_client_is_recorded() {
    let port = Port::open();
    port.node.awaits_hang_up.store(true, Ordering::Release);
    let client = port.say("DELETE", "/api/v1/agents/bob", "");
    until("the kill is under way", || port.node.acting.load(Ordering::Acquire) == 1);
    client.shutdown(Shutdown::Both).unwrap();
    drop(client);
    until("it is recorded", || !port.node.recorded.lock().unwrap().is_empty());
    assert_eq!(*port.node.recorded.lock().unwrap(), ["token:admin http 127.0.0.1 kill bob"]);
}

#[test]
fn kill_waits_for_no_agent() {
    let port = Port::open();
    let body = r#"{"message":{"performative":"request","receivers":["bob"]},"wait_ms":60000}"#;
    let waiting: Vec<TcpStream> =
        (0..HTTP_LONG_ANSWERS_AT_ONCE_MAX).map(|_| port.say("POST", "/api/v1/messages", body)).collect();
    until("all wait", || port.node.acting.load(Ordering::Acquire) == waiting.len());
    let refused = port.ask("POST", "/api/v1/messages", body);
    assert!(refused.contains("busy") && refused.contains("try again when one of them is done"), "{refused}");
    let killed = port.ask("DELETE", "/api/v1/agents/bob", "");
    assert!(killed.starts_with("HTTP/1.1 200"), "{killed}");
    port.node.answers.store(true, Ordering::Release);
    until("all are recorded", || port.node.recorded.lock().unwrap().len() == waiting.len() + 1);
}
