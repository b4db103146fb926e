//! External programs that connect to any node of a cluster are sent to the node that has their session or agent.
//! Connections break, partitions move and nodes die meanwhile. Each program handles each message once and in order, and
//! finds its agent in the state that was reported as saved.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel::platform::session::{
    AckFrame, Create, ErrorCode, ErrorFrame, FrameReader, FrameWriter, Framing, HelloFrame, Keep, MessageFrame,
    OnLeave, PASSED, Resume, Save, SessionFrame, SessionGrant, Welcome,
};
use whimbrel::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::LinkSecurity;
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig, Authorise, SessionPorts};

use super::cluster::ClusterNodes;

/// Number of partitions of the society, and of devices, of which some run at a time.
const PARTITIONS: u16 = 8;
const DEVICES: u64 = 300;
const AT_ONCE: u64 = 30;
/// Number of numbers that each device is told.
const ALL: i64 = 6;
/// Longest time for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time that a device listens before it acts.
const LISTENS: Duration = Duration::from_millis(5);

const PROJECT: [(&str, &str); 2] = [
    ("sums.mas2j", "MAS sums { agents: echo; }"),
    ("echo.asl", "+!kqml_received(A, request, N, M) <- .send(A, inform, N)."),
];

/// Addresses of agent ports by node.
type Map = Arc<Mutex<Vec<(String, String)>>>;

/// Nodes that serve partitions, and their agent ports.
struct Town {
    nodes: ClusterNodes,
    ports: Vec<Option<AgentPort>>,
    map: Map,
    /// Node of each partition.
    owners: Vec<usize>,
}

impl Town {
    fn new(count: usize) -> Self {
        let mut nodes = ClusterNodes::new(&PROJECT, count);
        let owners: Vec<usize> = (0..usize::from(PARTITIONS)).map(|partition| partition % count).collect();
        for node in 0..count {
            nodes.serve(node, (0..PARTITIONS).filter(|partition| owners[usize::from(*partition)] == node));
        }
        let map = Map::default();
        let mut ports = Vec::new();
        for (number, node) in nodes.nodes.iter().enumerate() {
            let port = AgentPort::open(config(&map), node.platform.host(), "127.0.0.1:0").expect("a free port");
            map.lock().unwrap().push((format!("n{number}"), port.address().to_owned()));
            ports.push(Some(port));
        }
        Self { nodes, ports, map, owners }
    }

    /// A partition passes on to another node that lives.
    fn pass_on(&mut self, partition: u16, to: usize) {
        let from = std::mem::replace(&mut self.owners[usize::from(partition)], to);
        if from != to {
            assert!(self.nodes.pass_on(from, to, &[partition]), "the society goes on");
        }
    }

    /// A node is gone with its sessions, and another one takes over what it served.
    fn kill(&mut self, node: usize, heir: usize) {
        self.map.lock().unwrap().retain(|(name, _)| *name != format!("n{node}"));
        self.nodes.kill(node);
        drop(self.ports[node].take());
        let lost: Vec<u16> = (0..PARTITIONS).filter(|partition| self.owners[usize::from(*partition)] == node).collect();
        lost.iter().for_each(|partition| self.owners[usize::from(*partition)] = heir);
        self.nodes.serve(heir, lost);
    }
}

fn config(map: &Map) -> AgentPortConfig {
    let map = Arc::clone(map);
    let authorise: Authorise = Box::new(|claim| {
        let token = claim.token?;
        Some(SessionGrant::new(token, vec![token.to_owned()]))
    });
    AgentPortConfig {
        level: LinkSecurity::Open,
        credentials: None,
        links: None,
        session_ports: Some(Box::new(move |node| {
            let map = map.lock().unwrap();
            let (_, at) = map.iter().find(|(name, _)| name == node)?;
            Some(SessionPorts { stream: Some(at.clone()), messages: None })
        })),
        authorise,
        auditor: None,
        log: Box::new(|_| ()),
    }
}

/// State of a device's agent: the numbers that it was told, and the last one that it asked for.
#[derive(Clone, Debug, Default, PartialEq)]
struct SumState {
    asked: i64,
    told: Vec<i64>,
}

impl SumState {
    fn bytes(&self) -> Vec<u8> {
        std::iter::once(&self.asked).chain(&self.told).flat_map(|number| number.to_le_bytes()).collect()
    }

    fn of(bytes: &[u8]) -> Self {
        let mut numbers = bytes.chunks_exact(8).map(|number| i64::from_le_bytes(number.try_into().unwrap()));
        Self { asked: numbers.next().unwrap_or_default(), told: numbers.collect() }
    }
}

/// Reasons for the end of a visit.
enum Over {
    /// The connection broke: the session may go on.
    Broke,
    /// There is no session any more.
    Gone,
    /// The agent continues or begins at another node.
    Elsewhere(String),
}

/// A session as its client knows it, whatever becomes of its connections.
#[derive(Default)]
struct ClientSession {
    welcome: Welcome,
    number: u64,
    received: u64,
    /// Frames that the node has not acknowledged.
    unacknowledged: VecDeque<SessionFrame>,
    is_created: bool,
    /// The saves that are not answered, and what they say.
    saves: Vec<(u64, SumState)>,
    upto: u64,
}

struct FramedConnection {
    socket: TcpStream,
    reader: FrameReader,
    writer: FrameWriter,
    /// Bytes of the next frame.
    came: Vec<u8>,
}

struct RedirectedDevice {
    name: String,
    map: Map,
    random: u64,
    known: Option<ClientSession>,
    link: Option<FramedConnection>,
    state: SumState,
    /// Newest state acknowledged as saved.
    safe: SumState,
    sent_elsewhere: usize,
}

fn number_of(frame: &SessionFrame) -> u64 {
    match frame {
        SessionFrame::Create(create) => create.number,
        SessionFrame::Keep(keep) => keep.number,
        SessionFrame::Save(save) => save.number,
        SessionFrame::Message(message) => message.number,
        _ => 0,
    }
}

impl RedirectedDevice {
    fn new(number: u64, map: &Map) -> Self {
        Self {
            name: format!("device-{number}"),
            map: Arc::clone(map),
            random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            known: None,
            link: None,
            state: SumState::default(),
            safe: SumState::default(),
            sent_elsewhere: 0,
        }
    }

    /// Marsaglia 2003, xorshift.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    /// Any node's.
    fn any_address(&mut self) -> String {
        let map = self.map.lock().unwrap().clone();
        let at = self.below(map.len() as u64) as usize;
        map[at].1.clone()
    }

    /// Connects, and goes on with the session or begins one.
    fn connect(&mut self, at: &str) -> Result<(), Over> {
        let socket = TcpStream::connect(at).map_err(|_| Over::Broke)?;
        let (reader, writer) = (FrameReader::new(Framing::Compact, 0), FrameWriter::new(Framing::Compact, 0, 1 << 20));
        self.link = Some(FramedConnection { socket, reader, writer, came: Vec::new() });
        let resume = self.known.as_ref().map(|known| Resume {
            session: known.welcome.session.clone(),
            secret: known.welcome.secret.clone(),
            received: known.received,
        });
        let is_new = resume.is_none();
        let token = Some(self.name.clone());
        self.write(&SessionFrame::Hello(HelloFrame {
            versions: vec![1],
            token,
            lease_ms: Some(1_000),
            follows: true,
            resume,
            ..HelloFrame::default()
        }))?;
        let until = Instant::now() + PATIENCE;
        let welcome = loop {
            assert!(Instant::now() < until, "it is welcomed, or not");
            match self.read()? {
                Some(SessionFrame::Welcome(welcome)) => break welcome,
                Some(SessionFrame::Error(fault)) => return Err(self.over(&fault)),
                Some(other) => panic!("{other:?} before the welcome"),
                None => {}
            }
        };
        let known = self.known.get_or_insert_default();
        known.unacknowledged.retain(|frame| number_of(frame) > welcome.received);
        known.welcome = welcome;
        let again: Vec<SessionFrame> = known.unacknowledged.iter().cloned().collect();
        again.iter().try_for_each(|frame| self.write(frame))?;
        if is_new {
            self.state = SumState::default();
            let name = self.name.clone();
            self.say(|number| SessionFrame::Create(Create { number, agent: 0, name }))?;
            self.say(|number| SessionFrame::Keep(Keep { number, agent: 0, policy: OnLeave::Wait, holds: true }))?;
        }
        Ok(())
    }

    fn over(&mut self, fault: &ErrorFrame) -> Over {
        match fault.code {
            ErrorCode::Elsewhere => Over::Elsewhere(fault.text.clone()),
            ErrorCode::Protocol | ErrorCode::OverCredit | ErrorCode::TooLong => panic!("{}: {fault}", self.name),
            _ => Over::Gone,
        }
    }

    fn say(&mut self, frame: impl FnOnce(u64) -> SessionFrame) -> Result<u64, Over> {
        let known = self.known.as_mut().expect("there is a session");
        known.number += 1;
        let (number, frame) = (known.number, frame(known.number));
        known.unacknowledged.push_back(frame.clone());
        self.write(&frame)?;
        Ok(number)
    }

    fn write(&mut self, frame: &SessionFrame) -> Result<(), Over> {
        let link = self.link.as_mut().ok_or(Over::Broke)?;
        let mut bytes = vec![0; 4];
        link.writer.write(frame, &mut bytes).expect("it can be written");
        let length = (bytes.len() as u32 - 4).to_be_bytes();
        bytes[..4].copy_from_slice(&length);
        link.socket.write_all(&bytes).map_err(|_| Over::Broke)
    }

    /// The next frame, if it comes soon.
    fn read(&mut self) -> Result<Option<SessionFrame>, Over> {
        let link = self.link.as_mut().ok_or(Over::Broke)?;
        let until = Instant::now() + LISTENS;
        loop {
            if let Some((length, rest)) = link.came.split_first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if rest.len() >= length {
                    let frame = link.reader.read(&rest[..length]).expect("the node writes frames");
                    link.came.drain(..4 + length);
                    return Ok(Some(frame));
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            link.socket.set_read_timeout(Some(left)).expect("a socket");
            let mut bytes = [0; 4096];
            match link.socket.read(&mut bytes) {
                Ok(0) => return Err(Over::Broke),
                Ok(count) => link.came.extend_from_slice(&bytes[..count]),
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                }
                Err(_) => return Err(Over::Broke),
            }
        }
    }

    /// Takes in what comes.
    fn listen(&mut self) -> Result<(), Over> {
        while let Some(frame) = self.read()? {
            self.hear(frame)?;
        }
        let received = self.known.as_ref().map_or(0, |known| known.received);
        self.write(&SessionFrame::Ack(AckFrame { received, credit: None }))
    }

    fn hear(&mut self, frame: SessionFrame) -> Result<(), Over> {
        let known = self.known.as_mut().expect("there is a session");
        match frame {
            SessionFrame::Ack(ack) => known.unacknowledged.retain(|frame| number_of(frame) > ack.received),
            SessionFrame::State(state) => {
                known.received = state.number;
                self.state = SumState::of(&state.state);
            }
            SessionFrame::Created(created) => {
                (known.received, known.is_created) = (created.number, true);
                let (state, safe) = (&self.state, &self.safe);
                assert!(state.asked >= safe.asked && state.told.starts_with(&safe.told), "{state:?} after {safe:?}");
            }
            SessionFrame::Saved(saved) => {
                known.received = saved.number;
                let (done, open) =
                    std::mem::take(&mut known.saves).into_iter().partition(|(number, _)| *number <= saved.of);
                known.saves = open;
                let done: Vec<(u64, SumState)> = done;
                self.safe =
                    done.into_iter().map(|(_, state)| state).next_back().unwrap_or(std::mem::take(&mut self.safe));
            }
            SessionFrame::Message(message) => {
                (known.received, known.upto) = (message.number, message.number);
                self.state.told.extend(message.message.content.as_i64());
                let count = self.state.told.len() as i64;
                assert_eq!(self.state.told, (1..=count).collect::<Vec<i64>>(), "{}: each once and in order", self.name);
            }
            SessionFrame::Refused(refused) => {
                known.received = refused.number;
                return Err(match refused.code {
                    ErrorCode::Elsewhere => Over::Elsewhere(refused.text),
                    ErrorCode::NameTaken | ErrorCode::NotYet | ErrorCode::NoAgent => Over::Gone,
                    code => panic!("{}: {code:?} {}", self.name, refused.text),
                });
            }
            SessionFrame::Ended(ended) => {
                assert_eq!(ended.reason, PASSED);
                return Err(Over::Gone);
            }
            SessionFrame::Error(fault) => return Err(self.over(&fault)),
            SessionFrame::Bye => return Err(Over::Gone),
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    /// Asks for the next number, and saves that it did: both or neither.
    fn ask(&mut self) -> Result<(), Over> {
        if self.state.asked < ALL {
            self.state.asked += 1;
            let question =
                AclMessage::new(Performative::Request, Aid::NOBODY, Aid::local("echo"), Value::Int(self.state.asked));
            let message = MessageBody::Owned(Box::new(question));
            self.say(|number| SessionFrame::Message(MessageFrame { number, agent: 0, message }))?;
        }
        let (state, upto) = (self.state.clone(), self.known.as_ref().map_or(0, |known| known.upto));
        let (bytes, code) = (state.bytes(), "ts:device".to_owned());
        let save = |number| {
            SessionFrame::Save(Save {
                number,
                agent: 0,
                upto,
                code,
                state: bytes,
                also: Vec::new(),
                from: None,
                to: None,
            })
        };
        let number = self.say(save)?;
        self.known.as_mut().expect("there is a session").saves.push((number, state));
        Ok(())
    }

    /// Does something, or something happens to it.
    fn step(&mut self) -> Result<(), Over> {
        let is_created = self.known.as_ref().is_some_and(|known| known.is_created);
        if self.link.is_none() || !is_created {
            return self.listen();
        }
        match self.below(12) {
            0 => Err(Over::Broke),
            // Its tab is closed in order, or not.
            1 => {
                self.write(&SessionFrame::Bye)?;
                Err(Over::Gone)
            }
            2 if self.below(4) == 0 => Err(Over::Gone),
            3..=7 => self.ask(),
            _ => self.listen(),
        }
    }

    /// Lives until it was told all numbers, and that is safe.
    fn live(mut self) -> usize {
        let until = Instant::now() + PATIENCE;
        let mut next = None;
        while self.safe.told.len() < ALL as usize {
            assert!(Instant::now() < until, "{}: {:?} {:?}", self.name, self.state, self.safe);
            let outcome = match self.link {
                Some(_) => self.step(),
                None => {
                    let at = next.take().unwrap_or_else(|| self.any_address());
                    self.connect(&at)
                }
            };
            let Err(over) = outcome else { continue };
            if !matches!(over, Over::Broke) {
                // Whatever it began there is over.
                let _ = self.write(&SessionFrame::Bye);
            }
            self.link = None;
            match over {
                Over::Broke => {}
                Over::Gone => self.known = None,
                Over::Elsewhere(at) => {
                    self.sent_elsewhere += 1;
                    next = Some(at).filter(|at| !at.is_empty());
                    // A session that goes on elsewhere is not begun anew.
                    if self.known.as_ref().is_some_and(|known| !known.is_created) {
                        self.known = None;
                    }
                }
            }
        }
        assert_eq!(self.safe.told, (1..=ALL).collect::<Vec<i64>>());
        self.sent_elsewhere
    }
}

#[test]
fn redirected_devices_get_everything_once() {
    let mut town = Town::new(3);
    let (map, sent, begun) = (Arc::clone(&town.map), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for first in 0..AT_ONCE {
            let (map, sent, begun) = (&map, &sent, &begun);
            scope.spawn(move || {
                for number in (first..DEVICES).step_by(AT_ONCE as usize) {
                    begun.fetch_add(1, Ordering::Relaxed);
                    sent.fetch_add(RedirectedDevice::new(number, map).live(), Ordering::Relaxed);
                }
            });
        }
        let await_devices = |count: usize| {
            while begun.load(Ordering::Relaxed) < count {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        for round in 0..16_usize {
            await_devices(round * 10);
            town.pass_on((round % usize::from(PARTITIONS)) as u16, (round + 1 + round / 8) % 3);
        }
        await_devices(DEVICES as usize * 2 / 3);
        town.kill(2, 0);
    });
    assert!(sent.load(Ordering::Relaxed) > DEVICES as usize / 2, "most come to another node at first");
}
