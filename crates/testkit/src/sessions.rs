//! Session of a client with a simulated platform, over a wire that breaks, loses and doubles frames.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::Time;
use whimbrel_platform::ams::{AgentKind, NewAgent};
use whimbrel_platform::session::{
    AckFrame, Create, ErrorCode, ErrorFrame, FrameReader, FrameWriter, Framing, HelloFrame, MessageFrame, Opening,
    Resume, Session, SessionBody, SessionEvent, SessionFrame, SessionGrant, SharedSession, Welcome,
};

use crate::{Faults, Random, Simulation};

/// Client's end of a session with one agent, `bob`, as an SDK has it.
pub struct SessionClient {
    framing: Framing,
    welcome: Option<Welcome>,
    /// Number of the last sent frame; and the frames that the node has not acknowledged.
    number: u64,
    unacknowledged: VecDeque<SessionFrame>,
    /// Number of these frames that were written on this connection, and the number up to which frames may be.
    written: usize,
    credit: u64,
    received: u64,
    /// Numbers in the messages that arrived, in order.
    pub arrived: Vec<i64>,
    /// Faults that the node reported.
    pub faults: Vec<ErrorFrame>,
    /// Codes of refused frames.
    pub refused: Vec<ErrorCode>,
    /// Reason why the agent ended, if it did.
    pub ended: Option<String>,
    /// True for a client that reads, and acknowledges nothing.
    pub is_lazy: bool,
    /// True for a client that does nothing at all.
    pub is_dead: bool,
    spoke_at: Time,
}

impl SessionClient {
    fn new(framing: Framing) -> Self {
        let mut client = Self {
            framing,
            welcome: None,
            number: 0,
            unacknowledged: VecDeque::new(),
            written: 0,
            credit: 0,
            received: 0,
            arrived: Vec::new(),
            faults: Vec::new(),
            refused: Vec::new(),
            ended: None,
            is_lazy: false,
            is_dead: false,
            spoke_at: Time::ZERO,
        };
        client.keep(|number| SessionFrame::Create(Create { number, agent: 0, name: "bob".into() }));
        client
    }

    fn keep(&mut self, frame: impl FnOnce(u64) -> SessionFrame) {
        self.number += 1;
        let frame = frame(self.number);
        self.unacknowledged.push_back(frame);
    }

    /// Sends a number from bob to amy.
    pub fn send(&mut self, number: i64) {
        let message = AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("amy"), Value::Int(number));
        let message = MessageBody::Owned(Box::new(message));
        self.keep(|number| SessionFrame::Message(MessageFrame { number, agent: 0, message }));
    }

    /// Returns the number of messages that the node has not acknowledged.
    pub fn waiting(&self) -> usize {
        self.unacknowledged.len()
    }

    fn acknowledged(&mut self, received: u64) {
        let first = self.number - self.unacknowledged.len() as u64;
        let count = received.saturating_sub(first) as usize;
        self.unacknowledged.drain(..count.min(self.unacknowledged.len()));
        self.written = self.written.saturating_sub(count);
    }

    /// Handles a frame of the node. False if the connection must end.
    fn take(&mut self, frame: SessionFrame) -> bool {
        match &frame {
            SessionFrame::Created(_) | SessionFrame::Ended(_) | SessionFrame::Refused(_) | SessionFrame::Message(_) => {
                let number = match &frame {
                    SessionFrame::Created(frame) => frame.number,
                    SessionFrame::Ended(frame) => frame.number,
                    SessionFrame::Refused(frame) => frame.number,
                    SessionFrame::Message(frame) => frame.number,
                    _ => 0,
                };
                if number != self.received + 1 {
                    return false;
                }
                self.received = number;
            }
            _ => {}
        }
        match frame {
            SessionFrame::Welcome(welcome) => {
                self.acknowledged(welcome.received);
                self.written = 0;
                self.credit = welcome.credit;
                self.welcome = Some(welcome);
            }
            SessionFrame::Ack(AckFrame { received, credit }) => {
                self.acknowledged(received);
                self.credit = credit.unwrap_or(self.credit);
            }
            SessionFrame::Message(frame) => {
                if let Value::Int(number) = frame.message.content {
                    self.arrived.push(number);
                }
            }
            SessionFrame::Refused(refused) => self.refused.push(refused.code),
            SessionFrame::Ended(ended) => self.ended = Some(ended.reason),
            SessionFrame::Error(fault) => {
                self.faults.push(fault);
                return false;
            }
            SessionFrame::Bye => return false,
            _ => {}
        }
        true
    }

    fn hello(&mut self) -> HelloFrame {
        let resume = self.welcome.as_ref().map(|welcome| Resume {
            session: welcome.session.clone(),
            secret: welcome.secret.clone(),
            received: self.received,
        });
        HelloFrame { versions: vec![1], resume, ..HelloFrame::default() }
    }

    fn next(&mut self, now: Time, lease: Duration, told: &mut u64) -> Option<SessionFrame> {
        let next = self.unacknowledged.get(self.written);
        let first = self.number - self.unacknowledged.len() as u64;
        if let Some(frame) = next.filter(|_| first + (self.written as u64) < self.credit) {
            self.written += 1;
            self.spoke_at = now;
            return Some(frame.clone());
        }
        let due = now >= self.spoke_at + lease / 3 || (self.received > *told && !self.is_lazy);
        if !due {
            return None;
        }
        if !self.is_lazy {
            *told = self.received;
        }
        self.spoke_at = now;
        Some(SessionFrame::Ack(AckFrame { received: *told, credit: None }))
    }
}

/// Readers and writers of both ends of a connection.
struct Ends {
    reader: FrameReader,
    writer: FrameWriter,
    client_reader: FrameReader,
    client_writer: FrameWriter,
    /// Number of received frames that the node was told.
    told: u64,
    /// True once the node knows that the connection is broken.
    closed: bool,
}

/// Client, platform, and the wire between them.
pub struct SessionWorld {
    /// Simulated platform.
    pub sim: Simulation,
    /// The client.
    pub client: SessionClient,
    /// Fault rates of the wire; bits are not flipped.
    pub faults: Faults,
    /// True if no connection can be made.
    pub severed: bool,
    session: Arc<SharedSession>,
    ends: Option<Ends>,
    connect_at: Time,
    to_node: VecDeque<(Time, Vec<u8>)>,
    to_client: VecDeque<(Time, Vec<u8>)>,
    random: Random,
    /// Number of connections so far.
    pub connections: usize,
}

impl SessionWorld {
    /// Makes a client that connects at once to a platform with an agent `amy`, which prints the numbers it gets.
    pub fn new(seed: u64, framing: Framing, grant: SessionGrant) -> Self {
        let mut sim = Simulation::new(seed);
        sim.spawn(
            "amy",
            crate::answering(|message, turn| turn.services.print(turn.aid, &format!("{}", message.content))),
        );
        let (session, secret, platform) = ("s".into(), "x".into(), "simulated".into());
        let opening = Opening { session, secret, platform, grant, kept_agents: Arc::default() };
        let session = Arc::new(SharedSession::new(Session::new(opening, sim.now()), || ()));
        Self {
            sim,
            client: SessionClient::new(framing),
            faults: Faults::default(),
            severed: false,
            session,
            ends: None,
            connect_at: Time::ZERO,
            to_node: VecDeque::new(),
            to_client: VecDeque::new(),
            random: Random::new(seed),
            connections: 0,
        }
    }

    /// Returns the end of the session at the node.
    pub fn session(&self) -> &SharedSession {
        &self.session
    }

    /// Sends a number from amy to bob.
    pub fn send_to_bob(&mut self, number: i64) {
        self.sim.send(AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::Int(number)));
    }

    /// Lets time pass, in steps of a millisecond.
    pub fn run_for(&mut self, ms: u64) {
        for _ in 0..ms {
            self.sim.run_for(1);
            self.client_step();
            self.node_step();
        }
    }

    fn connect(&mut self) {
        let grant = self.session.lock().grant().clone();
        let (framing, remember) = (self.client.framing, grant.remember);
        let hello = self.client.hello();
        self.to_client.clear();
        self.to_node.clear();
        self.connections += 1;
        let mut ends = Ends {
            reader: FrameReader::new(framing, remember),
            writer: FrameWriter::new(framing, remember, grant.message_bytes as usize),
            client_reader: FrameReader::new(framing, remember),
            client_writer: FrameWriter::new(framing, remember, grant.message_bytes as usize),
            told: self.client.received,
            closed: false,
        };
        self.client.written = 0;
        self.client.credit = 0;
        self.client.spoke_at = self.sim.now();
        let greeted = self.session.lock().handle_hello(self.sim.now(), &hello);
        if let Err(fault) = greeted {
            self.client.faults.push(fault);
            return self.disconnect();
        }
        ends.closed = false;
        self.ends = Some(ends);
    }

    /// Breaks the client's connection. The node notices, or does not, at random.
    fn disconnect(&mut self) {
        if self.ends.take().is_some() && self.random.one_in(2) {
            self.session.lock().handle_disconnected();
        }
        self.connect_at = self.sim.now() + Duration::from_millis(self.random.between(1..=40));
    }

    /// Cuts the connection.
    pub fn cut(&mut self) {
        self.disconnect();
    }

    fn client_step(&mut self) {
        let now = self.sim.now();
        if self.client.is_dead {
            return;
        }
        if self.ends.is_none() {
            if !self.severed && now >= self.connect_at {
                self.connect();
            }
            return;
        }
        while self.to_client.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, bytes)) = self.to_client.pop_front() else { break };
            let Some(ends) = &mut self.ends else { return };
            let taken = ends.client_reader.read(&bytes).is_ok_and(|frame| self.client.take(frame));
            if !taken {
                return self.disconnect();
            }
        }
        let lease = Duration::from_millis(self.session.lock().grant().lease_ms);
        while let Some(ends) = &mut self.ends
            && let Some(frame) = self.client.next(now, lease, &mut ends.told)
        {
            let mut bytes = Vec::new();
            let _ = ends.client_writer.write(&frame, &mut bytes);
            if !self.carry(bytes, true) {
                return;
            }
        }
    }

    /// Puts bytes on the wire. False if that broke it.
    fn carry(&mut self, bytes: Vec<u8>, to_node: bool) -> bool {
        if self.random.one_in(self.faults.cut) {
            self.disconnect();
            return false;
        }
        if self.random.one_in(self.faults.drop) {
            return true;
        }
        let copies = 1 + usize::from(self.random.one_in(self.faults.double));
        let at = self.sim.now() + Duration::from_millis(self.random.between(1..=5));
        let queue = if to_node { &mut self.to_node } else { &mut self.to_client };
        let at = queue.back().map_or(at, |(last, _)| at.max(*last));
        (0..copies).for_each(|_| queue.push_back((at, bytes.clone())));
        true
    }

    fn node_step(&mut self) {
        let now = self.sim.now();
        while self.to_node.front().is_some_and(|(at, _)| *at <= now) && self.session.lock().has_room(now) {
            let Some((_, bytes)) = self.to_node.pop_front() else { break };
            let Some(ends) = self.ends.as_mut().filter(|ends| !ends.closed) else { break };
            let fault = match ends.reader.read(&bytes) {
                Ok(frame) => self.session.lock().handle_frame(now, frame, bytes.len()).err(),
                Err(error) => Some(ErrorFrame::new(ErrorCode::Protocol, error.to_string())),
            };
            if let Some(fault) = fault {
                self.session.lock().handle_disconnected();
                ends.closed = true;
                let mut last = Vec::new();
                let _ = ends.writer.write(&SessionFrame::Error(fault), &mut last);
                self.to_client.push_back((now, last));
            }
        }
        {
            let mut session = self.session.lock();
            if session.poll_timeout() <= now {
                session.handle_timeout(now);
            }
        }
        while let Some(event) = { self.session.lock().poll_event() } {
            self.react(event);
        }
        self.node_writes(now);
    }

    fn react(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Create { agent, name } => {
                let body = Box::new(SessionBody::new(Arc::clone(&self.session), agent));
                let new = NewAgent::new(name, AgentKind::Session);
                let aid = self.sim.introduce(new, body);
                self.session.lock().handle_created(agent, Ok(aid));
            }
            SessionEvent::Wake(aid) => self.sim.wake(aid),
            _ => {}
        }
    }

    fn node_writes(&mut self, now: Time) {
        while let Some(frame) = { self.session.lock().poll_frame(now) } {
            let Some(ends) = self.ends.as_mut().filter(|ends| !ends.closed) else { continue };
            let mut bytes = Vec::new();
            if ends.writer.write(&frame, &mut bytes).is_ok() && !self.carry(bytes, false) {
                return;
            }
        }
    }
}
