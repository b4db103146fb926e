//! Transcripts of `conformance/session`, replayed against the state machine on a simulated platform; and the vectors of
//! its frames.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use whimbrel_acl::Performative;
use whimbrel_platform::ams::{AgentKind, NewAgent};
use whimbrel_platform::session::{
    ErrorCode, ErrorFrame, FrameReader, FrameWriter, Framing, KeptAgents, Opening, Session, SessionBody, SessionEvent,
    SessionFrame, SessionGrant, SharedSession, check_version,
};
use whimbrel_testkit::{Simulation, Transcript, TranscriptNode, answering};

use super::movers::Movers;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/session")
}

/// Simulated node.
struct SimulatedNode {
    sim: Simulation,
    grant: SessionGrant,
    framing: Framing,
    sessions: Vec<Arc<SharedSession>>,
    kept_agents: Arc<KeptAgents>,
    movers: Option<Arc<Movers>>,
    /// Session of the connection, once it was welcomed.
    current: Option<Arc<SharedSession>>,
    reader: FrameReader,
    writer: FrameWriter,
    out: VecDeque<Vec<u8>>,
    open: bool,
}

impl SimulatedNode {
    fn new(grant: SessionGrant, framing: Framing, moves: bool) -> Self {
        let mut sim = Simulation::new(1);
        let echo = answering(|message, turn| {
            if message.performative == Performative::Request {
                let mut answer = message.make_reply(turn.aid, Performative::Inform);
                answer.content = message.content.clone();
                turn.outbox.send(answer);
            }
        });
        sim.spawn("amy", echo);
        let (reader, writer) = (FrameReader::new(framing, 0), FrameWriter::new(framing, 0, 1 << 20));
        let (sessions, out) = (Vec::new(), VecDeque::new());
        let (movers, kept_agents) = match moves.then(|| Movers::begin(&mut sim)) {
            Some((movers, kept_agents)) => (Some(movers), kept_agents),
            None => (None, Arc::default()),
        };
        Self { sim, grant, framing, sessions, kept_agents, movers, current: None, reader, writer, out, open: false }
    }

    fn say(&mut self, frame: &SessionFrame) {
        let mut bytes = Vec::new();
        self.writer.write(frame, &mut bytes).expect("it can be written");
        self.out.push_back(bytes);
    }

    fn give_up(&mut self, fault: ErrorFrame) {
        self.say(&SessionFrame::Error(fault));
        self.open = false;
        self.current = None;
    }

    fn greet(&mut self, bytes: &[u8]) -> Result<(), ErrorFrame> {
        let (framing, hello) = FrameReader::read_hello(bytes).expect("a hello");
        assert_eq!(framing, self.framing);
        check_version(&hello)?;
        let session = match &hello.resume {
            Some(resume) => {
                let known = self.sessions.iter().find(|session| {
                    let session = session.lock();
                    session.name() == resume.session && session.knows(&resume.secret)
                });
                Arc::clone(known.ok_or_else(|| ErrorFrame::new(ErrorCode::SessionGone, "there is no such session"))?)
            }
            None => {
                let name = format!("s{}", self.sessions.len());
                let (secret, platform) = (format!("secret of {name}"), "home".into());
                let (grant, kept_agents) = (self.grant.clone().narrowed(&hello), Arc::clone(&self.kept_agents));
                let opening = Opening { session: name, secret, platform, grant, kept_agents };
                let session = Arc::new(SharedSession::new(Session::new(opening, self.sim.now()), || ()));
                self.sessions.push(Arc::clone(&session));
                session
            }
        };
        session.lock().handle_hello(self.sim.now(), &hello)?;
        self.current = Some(session);
        Ok(())
    }

    /// Carries out all events, until no more follow.
    fn settle(&mut self) {
        for session in self.sessions.clone() {
            let now = self.sim.now();
            if session.lock().poll_timeout() <= now {
                session.lock().handle_timeout(now);
            }
            while let Some(event) = { session.lock().poll_event() } {
                match event {
                    SessionEvent::Create { agent, name } if session.claim(agent, name) => {}
                    SessionEvent::Create { agent, name } => {
                        let taken = self.sim.services().exists(whimbrel_acl::Aid::local(name));
                        let outcome = if taken {
                            Err(ErrorFrame::new(ErrorCode::NameTaken, "there is one"))
                        } else {
                            let body = Box::new(SessionBody::new(Arc::clone(&session), agent));
                            Ok(self.sim.introduce(NewAgent::new(name, AgentKind::Session), body))
                        };
                        session.lock().handle_created(agent, outcome);
                    }
                    SessionEvent::Wake(agent) => self.sim.wake(agent),
                    SessionEvent::Lack { number, agent, code, .. } => {
                        session.lock().give_code(number, agent, &code, Some(&Movers::code()));
                    }
                    SessionEvent::Admit { agent, .. } => {
                        self.movers.iter().for_each(|movers| movers.admit());
                        session.lock().handle_code(agent);
                    }
                    _ => {}
                }
            }
        }
        while self.sim.step() {}
        if self.movers.clone().is_some_and(|movers| movers.ask(&mut self.sim)) {
            return self.settle();
        }
        let Some(session) = self.current.clone() else { return };
        while let Some(frame) = { session.lock().poll_frame(self.sim.now()) } {
            self.say(&frame);
        }
        if !session.lock().is_connected() {
            self.open = false;
            self.current = None;
        }
    }
}

impl TranscriptNode for SimulatedNode {
    fn connect(&mut self) {
        self.open = true;
        self.out.clear();
    }

    fn write(&mut self, bytes: Vec<u8>) {
        assert!(self.open, "there is no connection");
        let outcome = match self.current.clone() {
            None => self.greet(&bytes),
            Some(session) => {
                let frame = self.reader.read(&bytes).expect("a frame");
                let now = self.sim.now();
                session.lock().handle_frame(now, frame, bytes.len())
            }
        };
        match outcome {
            Ok(()) => self.settle(),
            Err(fault) => self.give_up(fault),
        }
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        for _ in 0..100 {
            if let Some(bytes) = self.out.pop_front() {
                return Some(bytes);
            }
            self.wait_ms(1);
        }
        None
    }

    fn is_silent(&mut self) -> bool {
        self.out.is_empty()
    }

    fn is_closed(&mut self) -> bool {
        !self.open
    }

    fn break_off(&mut self) {
        if let Some(session) = self.current.take() {
            session.lock().handle_disconnected();
        }
        self.open = false;
    }

    fn wait_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            self.settle();
            self.sim.run_for(1);
        }
        self.settle();
    }
}

fn is_simulated(transcript: &Transcript) -> bool {
    transcript.needs.as_deref().is_none_or(|needs| needs == "movers")
}

#[test]
fn transcripts_are_replayed() {
    let transcripts = Transcript::read_all(&folder());
    assert!(transcripts.len() >= 8, "{:?}", transcripts.keys());
    for (name, transcript) in transcripts.iter().filter(|(_, transcript)| is_simulated(transcript)) {
        for framing in [Framing::Json, Framing::Compact] {
            if transcript.is_for(framing) {
                let mut node = SimulatedNode::new(transcript.grant(), framing, transcript.needs.is_some());
                let outcome = transcript.replay(framing, &mut node);
                assert_eq!(outcome, Ok(()), "{name}");
            }
        }
    }
}

#[derive(Deserialize)]
struct FrameVectors {
    frames: Vec<Vector>,
    refused: Vec<RefusedVector>,
}

#[derive(Deserialize)]
struct Vector {
    json: serde_json::Value,
    compact: String,
}

#[derive(Deserialize)]
struct RefusedVector {
    json: Option<String>,
    compact: Option<String>,
    error: String,
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |place: usize| u8::from_str_radix(&text[place..place + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digits).collect()
}

#[test]
fn frames_match_the_vectors() {
    let text = std::fs::read(folder().join("frames.json")).expect("it is there");
    let FrameVectors { frames, refused } = serde_json::from_slice(&text).expect("vectors");
    assert!(frames.len() >= 15 && refused.len() >= 8);
    for Vector { json, compact } in frames {
        let read = FrameReader::new(Framing::Json, 0).read(json.to_string().as_bytes()).expect("a frame");
        let mut written = Vec::new();
        FrameWriter::new(Framing::Compact, 0, 1 << 20).write(&read, &mut written).expect("it can be written");
        let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, compact, "{json}");
        let read = FrameReader::new(Framing::Compact, 0).read(&unhex(&compact)).expect("a frame");
        written.clear();
        FrameWriter::new(Framing::Json, 0, 1 << 20).write(&read, &mut written).expect("it can be written");
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&written).expect("JSON"), json);
    }
    for RefusedVector { json, compact, error } in refused {
        let (framing, bytes) = match (json, compact) {
            (Some(text), _) => (Framing::Json, text.into_bytes()),
            (_, compact) => (Framing::Compact, unhex(&compact.expect("one of them"))),
        };
        let outcome = FrameReader::new(framing, 0).read(&bytes);
        let why = outcome.expect_err(&format!("{bytes:?} is refused")).to_string();
        assert!(why.contains(&error), "{why}, not {error}");
    }
}
