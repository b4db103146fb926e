//! The transcripts of `conformance/session`, replayed at the agent port of a running platform.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use whimbrel_acl::{MessageBody, Performative};
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig};
use whimbrel_net::{Authority, Level};
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

/// How long a frame may take to come.
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

#[test]
fn transcripts_are_replayed_at_a_real_port() {
    let transcripts = Transcript::read_all(&repository().join("conformance/session"));
    let mut replayed = 0;
    for (name, transcript) in &transcripts {
        for framing in [Framing::Json, Framing::Compact].into_iter().filter(|framing| transcript.is_for(*framing)) {
            let certifies = transcript.needs.as_deref() == Some("authority");
            let called = if certifies { "p" } else { "home" };
            let issue = || Authority::create(called).and_then(|mut authority| authority.issue("n1", &[], 1));
            let credentials = certifies.then(|| issue().expect("randomness"));
            let platform = Platform::builder().name(called).workers(2).build();
            platform.spawn("amy", Echo).expect("a free name");
            let grant = transcript.grant();
            let config = AgentPortConfig {
                level: Level::Open,
                credentials,
                links: None,
                authorise: Box::new(move |claim| (claim.token == Some(TOKEN)).then(|| grant.clone())),
                auditor: None,
                log: Box::new(|_| ()),
            };
            let port = AgentPort::open(config, platform.host(), "127.0.0.1:0").expect("a free port");
            let mut node = RealNode { address: port.address().to_owned(), socket: None, bytes: Vec::new() };
            assert_eq!(transcript.replay(framing, &mut node), Ok(()), "{name}");
            platform.stop();
            port.close(Duration::from_secs(1));
            replayed += 1;
        }
    }
    assert!(replayed >= 19, "{replayed}");
}
