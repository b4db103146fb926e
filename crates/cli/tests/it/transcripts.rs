//! Transcripts of `conformance/session`, replayed at the agent port of a running platform, over TCP and over WebSocket.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};
use whimbrel::WebSessions;
use whimbrel_acl::{MessageBody, Performative};
use whimbrel_gateway::sessions::Sessions;
use whimbrel_gateway::{Access, Gateway, GatewayConfig};
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig};
use whimbrel_net::{Authority, LinkSecurity};
use whimbrel_operator::{
    Answer, Feed, Latency, LogLine, LogWanted, NodeWatch, Operator, Reason, Refusal, Request, Traffic,
};
use whimbrel_platform::session::Framing;
use whimbrel_runtime::{Agent, Context, Platform};
use whimbrel_testkit::{TOKEN, Transcript, TranscriptNode};

use super::examples::repository;

/// Answers requests with what they say.
struct Echo;

impl Agent for Echo {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative == Performative::Request {
            ctx.reply(&message, Performative::Inform, message.content.clone());
        }
    }
}

/// A client's socket to a real port.
struct RealNode {
    address: String,
    socket: Option<TcpStream>,
    bytes: Vec<u8>,
}

/// Longest wait for a frame.
const PATIENCE: Duration = Duration::from_secs(10);

impl RealNode {
    /// Reads what comes within this time; false if nothing more will.
    fn read_within(&mut self, at_most: Duration) -> bool {
        let Some(socket) = &mut self.socket else { return false };
        socket.set_read_timeout(Some(at_most)).expect("a socket");
        let mut bytes = [0; 4096];
        match socket.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.bytes.extend_from_slice(&bytes[..count]);
                true
            }
            Err(error) => error.kind() == ErrorKind::Interrupted,
        }
    }

    fn frame(&mut self) -> Option<Vec<u8>> {
        let length = u32::from_be_bytes(*self.bytes.first_chunk::<4>()?) as usize;
        let frame = self.bytes.get(4..4 + length)?.to_vec();
        self.bytes.drain(..4 + length);
        Some(frame)
    }
}

impl TranscriptNode for RealNode {
    fn connect(&mut self) {
        self.bytes.clear();
        self.socket = Some(TcpStream::connect(&self.address).expect("the port is open"));
    }

    fn write(&mut self, frame: Vec<u8>) {
        let mut bytes = (frame.len() as u32).to_be_bytes().to_vec();
        bytes.extend(frame);
        self.socket.as_mut().expect("connected").write_all(&bytes).expect("it can be written");
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(frame) = self.frame() {
                return Some(frame);
            }
            if !self.read_within(PATIENCE) {
                return None;
            }
        }
    }

    fn is_closed(&mut self) -> bool {
        while self.frame().is_some() {}
        while self.read_within(PATIENCE) {}
        self.socket.take();
        self.bytes.is_empty()
    }

    fn break_off(&mut self) {
        if let Some(socket) = self.socket.take() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn wait_ms(&mut self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }

    fn is_silent(&mut self) -> bool {
        self.bytes.is_empty() && !self.read_within(Duration::from_millis(1))
    }
}

/// A client's WebSocket to a real gateway.
struct WebNode {
    address: String,
    socket: Option<WebSocket<TcpStream>>,
    /// Frames that came when silence was expected.
    came: VecDeque<Vec<u8>>,
}

impl WebNode {
    /// The next message that comes within this time; and whether there may be more.
    fn read_within(&mut self, at_most: Duration) -> (Option<Vec<u8>>, bool) {
        let Some(socket) = &mut self.socket else { return (None, false) };
        socket.get_ref().set_read_timeout(Some(at_most)).expect("a socket");
        match socket.read() {
            Ok(Message::Text(text)) => (Some(text.as_bytes().to_vec()), true),
            Ok(Message::Binary(bytes)) => (Some(bytes.to_vec()), true),
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => (None, true),
            Ok(Message::Close(_)) => (None, false),
            Err(tungstenite::Error::Io(error)) => {
                (None, matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted))
            }
            Err(_) => (None, false),
        }
    }
}

impl TranscriptNode for WebNode {
    fn connect(&mut self) {
        self.came.clear();
        let stream = TcpStream::connect(&self.address).expect("the port is open");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut request = format!("ws://{}/session", self.address).into_client_request().expect("an address");
        let protocol = tungstenite::http::HeaderValue::from_static("whimbrel.v1");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        self.socket = Some(tungstenite::client(request, stream).expect("it is a WebSocket").0);
    }

    fn write(&mut self, frame: Vec<u8>) {
        let message = match String::from_utf8(frame) {
            Ok(text) if text.starts_with('{') => Message::text(text),
            Ok(text) => Message::binary(text.into_bytes()),
            Err(bytes) => Message::binary(bytes.into_bytes()),
        };
        // It may have been closed in answer to the frame before.
        let _ = self.socket.as_mut().expect("connected").send(message);
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(frame) = self.came.pop_front() {
                return Some(frame);
            }
            match self.read_within(PATIENCE) {
                (Some(frame), _) => return Some(frame),
                (None, true) if Instant::now() < until => {}
                _ => return None,
            }
        }
    }

    fn is_closed(&mut self) -> bool {
        self.came.clear();
        let until = Instant::now() + PATIENCE;
        while self.read_within(PATIENCE).1 {
            if Instant::now() > until {
                return false;
            }
        }
        self.socket.take();
        true
    }

    fn break_off(&mut self) {
        if let Some(socket) = self.socket.take() {
            let _ = socket.get_ref().shutdown(Shutdown::Both);
        }
    }

    fn wait_ms(&mut self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }

    fn is_silent(&mut self) -> bool {
        if let (Some(frame), _) = self.read_within(Duration::from_millis(1)) {
            self.came.push_back(frame);
        }
        self.came.is_empty()
    }
}

/// A node that has nothing to tell: sessions are all that is tried here.
struct Mute;

impl Operator for Mute {
    fn answer(&self, _request: Request, _gone: &dyn Fn() -> bool) -> Answer {
        Answer::Error(Refusal::new(Reason::Busy, "no time"))
    }

    fn refusals(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn watch(&self, _wanted: NodeWatch) -> Box<dyn Feed> {
        unreachable!("nobody watches")
    }

    fn count_traffic(&self) -> Box<dyn Traffic> {
        unreachable!("nobody watches")
    }

    fn measure_latency(&self) -> Box<dyn Latency> {
        unreachable!("nobody measures")
    }

    fn log(&self, _: &LogWanted, _: &mut dyn FnMut(LogLine) -> ControlFlow<()>) -> Result<(), Refusal> {
        unreachable!("nobody reads")
    }
}

/// Replays all transcripts, in both forms, at ports that carry frames as `replay` does.
fn replay_all(replay: impl Fn(&Transcript, Framing, AgentPort) -> Result<(), String>) {
    let transcripts = Transcript::read_all(&repository().join("conformance/session"));
    let mut replayed = 0;
    // The party that wants agents elsewhere, and the missing code, are simulated.
    let here = |transcript: &Transcript| transcript.needs.as_deref() != Some("movers");
    for (name, transcript) in transcripts.iter().filter(|(_, transcript)| here(transcript)) {
        for framing in [Framing::Json, Framing::Compact].into_iter().filter(|framing| transcript.is_for(*framing)) {
            let certifies = transcript.needs.as_deref() == Some("authority");
            let called = if certifies { "p" } else { "home" };
            let issue = || Authority::create(called).and_then(|mut authority| authority.issue("n1", &[], 1));
            let credentials = certifies.then(|| issue().expect("randomness"));
            let platform = Platform::builder().name(called).workers(2).build();
            platform.spawn("amy", Echo).expect("a free name");
            let grant = transcript.grant();
            let config = AgentPortConfig {
                level: LinkSecurity::Open,
                credentials,
                links: None,
                session_ports: None,
                authorise: Box::new(move |claim| (claim.token == Some(TOKEN)).then(|| grant.clone())),
                auditor: None,
                log: Box::new(|_| ()),
            };
            let port = AgentPort::open(config, platform.host(), "127.0.0.1:0").expect("a free port");
            assert_eq!(replay(transcript, framing, port), Ok(()), "{name}");
            platform.stop();
            replayed += 1;
        }
    }
    assert!(replayed >= 19, "{replayed}");
}

#[test]
fn transcripts_replay_at_real_port() {
    replay_all(|transcript, framing, port| {
        let mut node = RealNode { address: port.address().to_owned(), socket: None, bytes: Vec::new() };
        let replayed = transcript.replay(framing, &mut node);
        port.close(Duration::from_secs(1));
        replayed
    });
}

#[test]
fn transcripts_are_replayed_over_websockets() {
    replay_all(|transcript, framing, port| {
        let port = Arc::new(port);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let sessions: Arc<dyn Sessions> = Arc::new(WebSessions::of(&port));
        let (operator, access) = (Arc::new(Mute), Access::none());
        let config = GatewayConfig {
            operator,
            sessions: Some(sessions),
            access,
            pages: None,
            tls: None,
            auditor: None,
            a2a: None,
            mcp: None,
        };
        let gateway = Gateway::open(config, listener, port.threads()).expect("a socket");
        let mut node = WebNode { address: gateway.address().to_string(), socket: None, came: VecDeque::new() };
        let replayed = transcript.replay(framing, &mut node);
        gateway.close(Duration::from_secs(1));
        replayed
    });
}
