//! Session agents that outlive their sessions. Whatever breaks at whatever moment, an agent that continues from its
//! saved state has handled each message once and in order, and so have the receivers of its messages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::EndReason;
use whimbrel_platform::ams::{AgentKind, NewAgent};
use whimbrel_platform::durable::{Origin, State};
use whimbrel_platform::limits::{
    CODE_BYTES_MAX, KEPT_MS_MAX, KEPT_WAITING_BYTES_MAX, SESSION_CODE_BYTES_AT_ONCE, SESSION_WINDOW_BYTES_MAX,
};
use whimbrel_platform::session::{
    AckFrame, CodeName, CodePart, Create, ErrorCode, ErrorFrame, HelloFrame, Keep, KeptAgents, Lacks, MessageFrame,
    OnLeave, Opening, Resume, Save, Session, SessionBody, SessionEvent, SessionFrame, SessionGrant, SharedSession,
};
use whimbrel_testkit::{Simulation, answering};

const LEASE_MS: u64 = 2_000;
const CODE: &str = "ts:counter";

/// Step of a test.
#[derive(Clone, Debug)]
enum KeptOp {
    /// Sends messages to bob.
    Tell(u8),
    /// Delivers so many frames to the node.
    ToNode(u8),
    /// Delivers so many frames to the client.
    ToClient(u8),
    /// Has the client handle so many of its messages, and send each to amy.
    Handle(u8),
    /// Has the client save its agent's state.
    Save,
    /// Breaks the connection, and makes it again.
    Break,
    /// Closes the tab, and opens another when the lease is over.
    Crash,
    /// Has the client say good-bye, and come back.
    Leave,
}

fn ops() -> impl Strategy<Value = Vec<KeptOp>> {
    let op = prop_oneof![
        4 => (1..4u8).prop_map(KeptOp::Tell),
        6 => (1..6u8).prop_map(KeptOp::ToNode),
        6 => (1..6u8).prop_map(KeptOp::ToClient),
        5 => (1..4u8).prop_map(KeptOp::Handle),
        4 => Just(KeptOp::Save),
        2 => Just(KeptOp::Break),
        1 => Just(KeptOp::Crash),
        1 => Just(KeptOp::Leave),
    ];
    prop::collection::vec(op, 1..120)
}

/// Client with one agent, bob, whose state is the list of numbers that he received.
struct KeptClient {
    session: Arc<SharedSession>,
    number: u64,
    /// Frames that the node has not acknowledged, and the number of those written on this connection.
    unacknowledged: VecDeque<SessionFrame>,
    written: usize,
    /// Frames on their way to the client.
    coming: VecDeque<SessionFrame>,
    received: u64,
    /// Number up to which the node lets the client send.
    credit: u64,
    /// Messages that arrived and were not handled.
    mailbox: VecDeque<(u64, i64)>,
    state: Vec<i64>,
    upto: u64,
    is_created: bool,
}

impl KeptClient {
    fn say(&mut self, frame: impl FnOnce(u64) -> SessionFrame) {
        self.number += 1;
        self.unacknowledged.push_back(frame(self.number));
    }
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

struct KeptWorld {
    sim: Simulation,
    kept_agents: Arc<KeptAgents>,
    heard: Arc<Mutex<Vec<i64>>>,
    client: KeptClient,
    holds: bool,
    told: i64,
    sessions: u32,
    crashes: usize,
}

impl KeptWorld {
    fn new(seed: u64, holds: bool) -> Self {
        let (mut sim, kept_agents, heard) =
            (Simulation::new(seed), Arc::<KeptAgents>::default(), Arc::<Mutex<Vec<i64>>>::default());
        let hears = Arc::clone(&heard);
        sim.spawn("amy", answering(move |message, _| hears.lock().unwrap().extend(message.content.as_i64())));
        let client = Self::connect(&mut sim, &kept_agents, 0, holds);
        let mut world = Self { sim, kept_agents, heard, client, holds, told: 0, sessions: 1, crashes: 0 };
        world.settle();
        world
    }

    fn connect(sim: &mut Simulation, kept_agents: &Arc<KeptAgents>, count: u32, holds: bool) -> KeptClient {
        let grant = SessionGrant { lease_ms: LEASE_MS, window: 16, ..SessionGrant::new("tester", vec!["bob".into()]) };
        let (session, secret, platform) = (format!("s{count}"), "x".to_owned(), "home".into());
        let opening = Opening { session, secret, platform, grant, kept_agents: Arc::clone(kept_agents) };
        let mut session = Session::new(opening, sim.now());
        session.handle_hello(sim.now(), &HelloFrame { versions: vec![1], ..HelloFrame::default() }).unwrap();
        let session = Arc::new(SharedSession::new(session, || ()));
        let mut client = KeptClient {
            session,
            number: 0,
            unacknowledged: VecDeque::new(),
            written: 0,
            coming: VecDeque::new(),
            received: 0,
            credit: 0,
            mailbox: VecDeque::new(),
            state: Vec::new(),
            upto: 0,
            is_created: false,
        };
        client.say(|number| SessionFrame::Create(Create { number, agent: 0, name: "bob".into() }));
        client.say(|number| SessionFrame::Keep(Keep { number, agent: 0, policy: OnLeave::Wait, holds }));
        client
    }

    /// Carries out all events at the node.
    fn settle(&mut self) {
        loop {
            let now = self.sim.now();
            let mut session = self.client.session.lock();
            if session.poll_timeout() <= now {
                session.handle_timeout(now);
            }
            let event = session.poll_event();
            drop(session);
            match event {
                Some(SessionEvent::Create { agent, name }) => {
                    if self.client.session.claim(agent, name) {
                        continue;
                    }
                    let body = Box::new(SessionBody::new(Arc::clone(&self.client.session), agent));
                    assert!(!self.sim.services().exists(Aid::local(name)), "bob is kept for this client");
                    let aid = self.sim.introduce(NewAgent::new(name, AgentKind::Session), body);
                    self.client.session.lock().handle_created(agent, Ok(aid));
                }
                Some(SessionEvent::Wake(aid)) => self.sim.wake(aid),
                Some(_) => {}
                None if self.sim.step() => {}
                None => break,
            }
        }
        let now = self.sim.now();
        while let Some(frame) = { self.client.session.lock().poll_frame(now) } {
            self.client.coming.push_back(frame);
        }
    }

    fn arrive_at_node(&mut self) {
        let client = &mut self.client;
        let next = client.unacknowledged.get(client.written).filter(|frame| number_of(frame) <= client.credit);
        if let Some(frame) = next.cloned() {
            client.written += 1;
            client.session.lock().handle_frame(self.sim.now(), frame, 50).unwrap();
            self.settle();
        }
    }

    fn arrive_at_client(&mut self) {
        let client = &mut self.client;
        let Some(frame) = client.coming.pop_front() else { return };
        match frame {
            SessionFrame::Welcome(welcome) => client.acknowledge(welcome.received, welcome.credit),
            SessionFrame::Ack(ack) => client.acknowledge(ack.received, ack.credit.unwrap()),
            SessionFrame::Created(created) => {
                (client.received, client.is_created) = (created.number, true);
            }
            SessionFrame::State(state) => {
                client.received = state.number;
                assert!(!client.is_created && state.code == CODE);
                client.state = state.state.chunks(8).map(|n| i64::from_le_bytes(n.try_into().unwrap())).collect();
            }
            SessionFrame::Saved(saved) => client.received = saved.number,
            SessionFrame::Message(message) => {
                client.received = message.number;
                client.mailbox.push_back((message.number, message.message.content.as_i64().unwrap()));
            }
            other => panic!("{other:?}"),
        }
        let ack = SessionFrame::Ack(AckFrame { received: client.received, credit: None });
        client.session.lock().handle_frame(self.sim.now(), ack, 5).unwrap();
        self.settle();
    }

    fn handle(&mut self) {
        let client = &mut self.client;
        let Some((number, content)) = client.mailbox.pop_front() else { return };
        client.state.push(content);
        client.upto = number;
        let message = AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("amy"), Value::Int(content));
        client.say(|number| {
            SessionFrame::Message(MessageFrame { number, agent: 0, message: MessageBody::Owned(Box::new(message)) })
        });
    }

    fn save(&mut self) {
        let client = &mut self.client;
        if client.is_created {
            let state = client.state.iter().flat_map(|n| n.to_le_bytes()).collect();
            let (upto, code) = (client.upto, CODE.to_owned());
            client.say(|number| {
                SessionFrame::Save(Save { number, agent: 0, upto, code, state, to: None, also: vec![], from: None })
            });
        }
    }

    fn resume(&mut self) {
        let client = &mut self.client;
        client.session.lock().handle_disconnected();
        client.coming.clear();
        client.written = 0;
        let resume =
            Resume { session: client.session.lock().name().to_owned(), secret: "x".into(), received: client.received };
        let hello = HelloFrame { versions: vec![1], resume: Some(resume), ..HelloFrame::default() };
        client.session.lock().handle_hello(self.sim.now(), &hello).unwrap();
        self.settle();
        // Its welcome says which frames must be written again.
        self.arrive_at_client();
    }

    /// Replaces the client, whose session is over, by another one.
    fn succeed(&mut self) {
        self.sim.run_for(LEASE_MS + 1);
        self.settle();
        assert!(self.client.session.lock().is_over());
        self.client = Self::connect(&mut self.sim, &self.kept_agents, self.sessions, self.holds);
        self.sessions += 1;
        self.settle();
    }

    fn crash(&mut self) {
        self.client.session.lock().handle_disconnected();
        self.crashes += 1;
        self.succeed();
    }

    fn leave(&mut self) {
        self.client.session.lock().handle_frame(self.sim.now(), SessionFrame::Bye, 1).unwrap();
        self.succeed();
    }

    /// Creates bob, and waits until the client knows that he is there.
    fn begin(&mut self) {
        self.settle();
        while !self.client.is_created {
            self.arrive_at_client();
            self.arrive_at_node();
        }
        self.arrive_at_node();
    }

    fn flush(&mut self) {
        for _ in 0..4 * (self.told as usize + 20) {
            (0..4).for_each(|_| self.arrive_at_client());
            self.handle();
            self.save();
            (0..6).for_each(|_| self.arrive_at_node());
            self.sim.run_for(20);
            self.settle();
        }
    }

    fn take(&mut self, op: &KeptOp) {
        let times = |n: u8, world: &mut Self, what: fn(&mut Self)| (0..n).for_each(|_| what(world));
        match *op {
            KeptOp::Tell(n) => {
                for _ in 0..n {
                    let (bob, content) = (Aid::local("bob"), Value::Int(self.told));
                    self.sim.send(AclMessage::new(Performative::Inform, Aid::local("zoe"), bob, content));
                    self.told += 1;
                }
                self.settle();
            }
            KeptOp::ToNode(n) => times(n, self, Self::arrive_at_node),
            KeptOp::ToClient(n) => times(n, self, Self::arrive_at_client),
            KeptOp::Handle(n) => times(n, self, Self::handle),
            KeptOp::Save => self.save(),
            KeptOp::Break => self.resume(),
            KeptOp::Crash => self.crash(),
            KeptOp::Leave => self.leave(),
        }
    }
}

impl KeptClient {
    fn acknowledge(&mut self, received: u64, credit: u64) {
        self.credit = credit;
        while self.unacknowledged.front().is_some_and(|frame| number_of(frame) <= received) {
            self.unacknowledged.pop_front();
            self.written = self.written.saturating_sub(1);
        }
    }
}

/// Makes a world in which bob is there and the client knows it.
fn begun(seed: u64, holds: bool) -> KeptWorld {
    let mut world = KeptWorld::new(seed, holds);
    world.begin();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn withheld_messages_arrive_exactly_once(seed in any::<u64>(), ops in ops()) {
        let mut world = begun(seed, true);
        ops.iter().for_each(|op| world.take(op));
        world.flush();
        let all: Vec<i64> = (0..world.told).collect();
        prop_assert_eq!(&world.client.state, &all);
        prop_assert_eq!(&*world.heard.lock().unwrap(), &all);
        prop_assert_eq!(world.sim.counters().check(), Ok(()));
        prop_assert_eq!(world.kept_agents.len(), 1);
    }

    #[test]
    fn immediate_messages_may_repeat(seed in any::<u64>(), ops in ops()) {
        let mut world = begun(seed, false);
        ops.iter().for_each(|op| world.take(op));
        world.flush();
        let all: Vec<i64> = (0..world.told).collect();
        prop_assert_eq!(&world.client.state, &all);
        let mut heard = world.heard.lock().unwrap().clone();
        heard.sort_unstable();
        heard.dedup();
        prop_assert_eq!(&heard, &all);
        prop_assert_eq!(world.sim.counters().check(), Ok(()));
    }
}

#[test]
fn waiting_agent_is_killed() {
    let mut world = begun(1, true);
    world.take(&KeptOp::Tell(3));
    world.client.session.lock().handle_disconnected();
    world.sim.run_for(LEASE_MS + 1);
    world.settle();
    assert!(world.sim.services().exists(Aid::local("bob")) && world.kept_agents.len() == 1);
    assert!(world.sim.kill("bob"));
    world.settle();
    assert_eq!((world.sim.ended("bob"), world.kept_agents.len()), (Some(EndReason::Killed), 0));
    assert_eq!(world.sim.counters().check(), Ok(()));
    world.client = KeptWorld::connect(&mut world.sim, &world.kept_agents, 9, true);
    world.begin();
    world.take(&KeptOp::Tell(1));
    world.flush();
    assert_eq!(world.client.state, [3], "it begins anew: who wrote before heard that nobody took it");
}

#[test]
fn agent_returns_only_to_owner() {
    let mut world = begun(2, true);
    world.client.session.lock().handle_disconnected();
    world.sim.run_for(LEASE_MS + 1);
    world.settle();
    // The same name is not enough: another token may be for agents of the same names.
    let grant = SessionGrant { account: "another token".to_owned(), ..SessionGrant::new("tester", vec!["bob".into()]) };
    let (session, secret, platform) = ("other".to_owned(), "y".to_owned(), "home".into());
    let opening = Opening { session, secret, platform, grant, kept_agents: Arc::clone(&world.kept_agents) };
    let session = Arc::new(SharedSession::new(Session::new(opening, world.sim.now()), || ()));
    assert!(!session.claim(0, "bob".into()));
}

#[test]
fn malformed_state_is_refused() {
    let mut world = begun(3, true);
    world.take(&KeptOp::Tell(2));
    (0..6).for_each(|_| world.arrive_at_client());
    let save = |number, upto, code: &str, bytes: usize| {
        SessionFrame::Save(Save {
            number,
            agent: 0,
            upto,
            code: code.into(),
            state: vec![0; bytes],
            to: None,
            also: vec![],
            from: None,
        })
    };
    let mut refused = Vec::new();
    let (mut say, now) = (world.client.number, world.sim.now());
    for (upto, code, bytes) in [(99, CODE, 1), (0, "nothing", 1), (0, CODE, (512 << 10) + 1)] {
        say += 1;
        world.client.session.lock().handle_frame(now, save(say, upto, code, bytes), bytes).unwrap();
    }
    let other = SessionFrame::Save(Save {
        number: say + 1,
        agent: 7,
        upto: 0,
        code: CODE.into(),
        state: vec![],
        to: None,
        also: vec![],
        from: None,
    });
    world.client.session.lock().handle_frame(now, other, 1).unwrap();
    world.settle();
    for frame in std::mem::take(&mut world.client.coming) {
        if let SessionFrame::Refused(refusal) = frame {
            refused.push(refusal.code);
        }
    }
    assert_eq!(refused, [ErrorCode::BadState, ErrorCode::BadState, ErrorCode::TooLong, ErrorCode::NoAgent]);
    world.crash();
    world.flush();
    assert_eq!(world.client.state, [0, 1]);
}

#[test]
fn returned_unkept_agent_ends_with_session() {
    for (policies, is_kept) in [(&[OnLeave::End][..], false), (&[OnLeave::End, OnLeave::Wait][..], true)] {
        let mut world = begun(4, true);
        world.take(&KeptOp::Tell(2));
        world.flush();
        world.client.session.lock().handle_disconnected();
        world.sim.run_for(LEASE_MS + 1);
        world.settle();
        let mut client = KeptWorld::connect(&mut world.sim, &world.kept_agents, 7, true);
        client.unacknowledged.truncate(1);
        client.number = 1;
        for policy in policies {
            client.say(|number| SessionFrame::Keep(Keep { number, agent: 0, policy: *policy, holds: true }));
        }
        world.client = client;
        // All frames are written before anything is done about them.
        let now = world.sim.now();
        for frame in world.client.unacknowledged.clone() {
            world.client.session.lock().handle_frame(now, frame, 9).unwrap();
        }
        world.settle();
        let is_state = |frame: &SessionFrame| matches!(frame, SessionFrame::State(it) if it.state.len() == 16);
        assert!(world.client.coming.iter().any(is_state), "{:?}", world.client.coming);
        assert_eq!(world.kept_agents.len(), usize::from(is_kept));
        world.client.session.lock().handle_frame(now, SessionFrame::Bye, 1).unwrap();
        world.settle();
        assert_eq!(world.sim.services().exists(Aid::local("bob")), is_kept);
    }
}

#[test]
fn agent_without_right_is_dropped() {
    let mut world = begun(4, true);
    let now = world.sim.now();
    let last = SessionFrame::Error(ErrorFrame::new(ErrorCode::Unauthorised, "not trusted any more"));
    world.client.session.lock().end(now, EndReason::Failed("distrusted".into()), last);
    world.settle();
    assert!(!world.sim.services().exists(Aid::local("bob")) && world.kept_agents.is_empty());
}

#[test]
fn code_arrives_in_requested_parts() {
    let mut world = begun(5, true);
    let code: Arc<CodeName> = Arc::new(format!("asl:{}/bob.asl", "00".repeat(32)).parse().unwrap());
    let now = world.sim.now();
    let mut number = world.client.number;
    let mut say = |at: u64, of: u64, bytes: &[u8]| {
        number += 1;
        let (code, bytes) = (code.to_string(), bytes.to_vec());
        let part = SessionFrame::Code(CodePart { number, agent: 0, code, at, of, bytes });
        world.client.session.lock().handle_frame(now, part, 9).unwrap();
    };
    say(0, 1, b"x");
    world.client.session.lock().ask_for_code(0, Arc::clone(&code), world.sim.now());
    say(0, 5, b"abc");
    say(3, 5, b"de");
    let events = std::iter::from_fn(|| world.client.session.lock().poll_event());
    let came: Vec<Vec<u8>> = events
        .filter_map(|event| match event {
            SessionEvent::Admit { bytes, agent: 0, .. } => Some(bytes),
            _ => None,
        })
        .collect();
    assert_eq!(came, [b"abcde"]);
    world.client.session.lock().ask_for_code(0, Arc::clone(&code), world.sim.now());
    for (at, of, bytes) in [(1, 5, b"x"), (0, u64::MAX, b"x")] {
        let mut session = world.client.session.lock();
        session.ask_for_code(0, Arc::clone(&code), now);
        drop(session);
        number += 1;
        let part = CodePart { number, agent: 0, code: code.to_string(), at, of, bytes: bytes.to_vec() };
        world.client.session.lock().handle_frame(now, SessionFrame::Code(part), 9).unwrap();
    }
    world.settle();
    let refused = world.client.coming.iter().filter(|frame| matches!(frame, SessionFrame::Refused(_))).count();
    assert_eq!(refused, 3, "{:?}", world.client.coming);
}

#[test]
fn excess_code_alone_is_refused() {
    let mut world = begun(9, true);
    let code: Arc<CodeName> = Arc::new(format!("wasm:{}/big.wasm", "00".repeat(32)).parse().unwrap());
    let (mut number, mut outcomes) = (world.client.number, Vec::new());
    let (of, now) = (CODE_BYTES_MAX as u64, world.sim.now());
    for _ in 0..=SESSION_CODE_BYTES_AT_ONCE as usize / CODE_BYTES_MAX {
        let mut session = world.client.session.lock();
        session.ask_for_code(0, Arc::clone(&code), now);
        // A part out of order ends the transfer.
        for at in [0, 7] {
            number += 1;
            let code = code.to_string();
            let part = SessionFrame::Code(CodePart { number, agent: 0, code, at, of, bytes: vec![1] });
            session.handle_frame(now, part, 9).unwrap();
        }
        let events = std::iter::from_fn(|| session.poll_event());
        outcomes.push(events.filter(|event| matches!(event, SessionEvent::TooMuchCode { .. })).count());
    }
    assert_eq!(outcomes, [0, 0, 0, 0, 1]);
    world.settle();
    let is_busy = |frame: &&SessionFrame| matches!(frame, SessionFrame::Refused(it) if it.code == ErrorCode::Busy);
    assert_eq!(world.client.coming.iter().filter(is_busy).count(), 1, "{:?}", world.client.coming);
    world.client.number = number;
    world.client.coming.retain(|frame| !matches!(frame, SessionFrame::Refused(_) | SessionFrame::Lacks(_)));
    world.crash();
    assert_eq!(world.kept_agents.len(), 1);
}

/// Written form of an agent of `ts:counter` that waits, as it is with its client.
fn written() -> State {
    let hex = "01e3fa023109466f726d116f6e5f6c656176650b686f6c647309636f64650b73746174651169735f676976656e0b776169747323576169745374733a636f756e74657290a0c261cb076f6e65c2c1";
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    State::Whole(bytes.collect())
}

#[test]
fn waiting_agent_survives_node_restart() {
    let whole = written();
    for (states, had, left) in [
        (vec![whole.clone()], KEPT_MS_MAX - 1_000, KEPT_MS_MAX),
        (vec![whole.clone(), State::Delta(vec![3])], KEPT_MS_MAX - 1_000, 1_000),
        (vec![whole, State::Delta(vec![3])], 2 * KEPT_MS_MAX, 0),
    ] {
        let (mut sim, kept_agents) = (Simulation::new(1), Arc::<KeptAgents>::default());
        let origin = Origin::Kept { account: "tester".to_owned() };
        let body = kept_agents.resume("bob".into(), &origin, &states, Duration::from_millis(had)).unwrap();
        sim.spawn("bob", body);
        sim.run_for(left.saturating_sub(1));
        assert_eq!(sim.ended("bob").is_some(), left == 0);
        sim.run_for(2);
        assert_eq!(sim.ended("bob"), Some(EndReason::Expired));
        assert!(kept_agents.is_empty());
    }
}

#[test]
fn claimed_and_abandoned_agent_is_kept() {
    let mut world = begun(6, true);
    world.take(&KeptOp::Tell(2));
    world.flush();
    world.crash();
    let now = world.sim.now();
    for frame in [SessionFrame::Create(Create { number: 1, agent: 0, name: "bob".into() }), SessionFrame::Bye] {
        world.client.session.lock().handle_frame(now, frame, 1).unwrap();
    }
    world.settle();
    assert!(world.client.session.lock().is_over());
    assert!(world.sim.services().exists(Aid::local("bob")) && world.kept_agents.len() == 1);
    world.succeed();
    world.take(&KeptOp::Tell(1));
    world.begin();
    world.flush();
    assert_eq!(world.client.state, [0, 1, 2]);
}

#[test]
fn returned_client_is_asked_for_code() {
    let code = format!("asl:{}/bob.asl", "00".repeat(32));
    let mut world = begun(7, false);
    let mut number = world.client.number;
    let mut say = |world: &mut KeptWorld, frame: &dyn Fn(u64) -> SessionFrame| {
        number += 1;
        world.client.session.lock().handle_frame(world.sim.now(), frame(number), 9).unwrap();
        let mut events = Vec::new();
        while let Some(event) = { world.client.session.lock().poll_event() } {
            match event {
                SessionEvent::Wake(aid) => world.sim.wake(aid),
                other => events.push(other),
            }
            while world.sim.step() {}
        }
        events
    };
    let save = |number| {
        let (code, state, also) = (code.clone(), vec![1], vec![]);
        SessionFrame::Save(Save { number, agent: 0, upto: 0, code, state, to: None, also, from: None })
    };
    let keep = |policy| move |number| SessionFrame::Keep(Keep { number, agent: 0, policy, holds: false });
    assert_eq!(say(&mut world, &keep(OnLeave::Wait)), []);
    assert_eq!(say(&mut world, &save), []);
    assert_eq!(say(&mut world, &keep(OnLeave::GoOn)), []);
    let asks = |events: &[SessionEvent]| matches!(events, [SessionEvent::Code { .. }]);
    assert!(asks(&say(&mut world, &save)), "its code is the same, but nobody asked for it yet");
    world.client.session.lock().ask_for_code(0, Arc::new(code.parse().unwrap()), world.sim.now());
    say(&mut world, &|number| {
        SessionFrame::Code(CodePart { number, agent: 0, code: code.clone(), at: 7, of: 9, bytes: vec![1] })
    });
    world.settle();
    let saved = world.client.coming.iter().filter(|frame| matches!(frame, SessionFrame::Saved(_))).count();
    assert_eq!(saved, 2, "{:?}", world.client.coming);
}

#[test]
fn ended_request_claims_no_kept_agent() {
    let world = begun(8, true);
    let grant = SessionGrant { account: "another token".to_owned(), ..SessionGrant::new("*", vec!["*".into()]) };
    let (session, secret, platform) = ("other".to_owned(), "y".to_owned(), "home".into());
    let opening = Opening { session, secret, platform, grant, kept_agents: Arc::clone(&world.kept_agents) };
    let (mut other, now) = (Session::new(opening, world.sim.now()), world.sim.now());
    other.handle_hello(now, &HelloFrame { versions: vec![1], ..HelloFrame::default() }).unwrap();
    for frame in [
        SessionFrame::Create(Create { number: 1, agent: 0, name: "bob".into() }),
        SessionFrame::Keep(Keep { number: 2, agent: 0, policy: OnLeave::End, holds: false }),
    ] {
        other.handle_frame(now, frame, 1).unwrap();
    }
    assert_eq!(world.kept_agents.len(), 1, "it has no bob yet, and nothing to say about this one");
}

#[test]
fn unnamed_code_does_not_delay_acknowledgement() {
    let mut world = begun(9, true);
    let code = format!("asl:{}/bob.asl", "00".repeat(32));
    let save = |number| {
        let (code, state, also) = (code.clone(), vec![1], vec![]);
        SessionFrame::Save(Save { number, agent: 0, upto: 0, code, state, to: None, also, from: None })
    };
    world.client.say(|number| SessionFrame::Keep(Keep { number, agent: 0, policy: OnLeave::GoOn, holds: true }));
    world.client.say(save);
    (0..2).for_each(|_| world.arrive_at_node());
    let name: Arc<CodeName> = Arc::new(code.parse().unwrap());
    world.client.session.lock().ask_for_code(0, name, world.sim.now());
    let wait = |world: &mut KeptWorld, ms: u64| {
        for _ in 0..ms / 500 {
            world.sim.run_for(500);
            let ack = SessionFrame::Ack(AckFrame { received: world.client.received, credit: None });
            world.client.session.lock().handle_frame(world.sim.now(), ack, 5).unwrap();
            world.settle();
        }
    };
    let saved =
        |world: &KeptWorld| world.client.coming.iter().filter(|frame| matches!(frame, SessionFrame::Saved(_))).count();
    let part = |number, at: u64, bytes: &[u8]| {
        let (code, bytes) = (code.clone(), bytes.to_vec());
        SessionFrame::Code(CodePart { number, agent: 0, code, at, of: 4, bytes })
    };
    wait(&mut world, 8_000);
    world.client.say(|number| part(number, 0, b"co"));
    world.arrive_at_node();
    wait(&mut world, 8_000);
    assert_eq!(saved(&world), 0, "each part is a sign of life");
    wait(&mut world, 2_500);
    assert_eq!(saved(&world), 1, "{:?}", world.client.coming);
    // Late parts are stored all the same.
    let mut session = world.client.session.lock();
    session.handle_frame(world.sim.now(), part(world.client.number + 1, 2, b"de"), 9).unwrap();
    let came = std::iter::from_fn(|| session.poll_event())
        .any(|event| matches!(event, SessionEvent::Admit { bytes, .. } if bytes == b"code"));
    assert!(came);
}

/// Sends bob so many messages of a million bytes each.
fn tell_much(world: &mut KeptWorld, times: usize) {
    for _ in 0..times {
        let (bob, content) = (Aid::local("bob"), "x".repeat(1_000_000));
        world.sim.send(AclMessage::new(Performative::Inform, Aid::local("amy"), bob, content));
        world.settle();
    }
}

#[test]
fn messages_to_absent_client_are_limited() {
    let mut world = begun(20, true);
    world.client.session.lock().handle_disconnected();
    world.sim.run_for(LEASE_MS + 1);
    world.settle();
    tell_much(&mut world, 40);
    let places = KEPT_WAITING_BYTES_MAX / 1_000_000;
    let dead: Vec<&str> = world.sim.dead_letters().map(|dead| dead.reason.as_str()).collect();
    assert_eq!(dead, vec!["mailbox_full"; 40 - places]);
    assert_eq!(world.sim.counters().queued, places as u64);
    assert_eq!(world.sim.counters().check(), Ok(()));
    // Stored messages are there when the client is back, but no more at once than it acknowledges.
    world.client = KeptWorld::connect(&mut world.sim, &world.kept_agents, 9, true);
    world.begin();
    assert!(world.sim.counters().queued as usize >= places - 5);
    assert_eq!(world.sim.dead_letters().count(), 40 - places);
    assert_eq!(world.sim.counters().check(), Ok(()));
}

#[test]
fn unacknowledged_bytes_are_limited() {
    let mut world = begun(21, false);
    tell_much(&mut world, 10);
    let given = world.client.session.lock().unacknowledged();
    assert!(given * 1_000_000 < SESSION_WINDOW_BYTES_MAX + 2_000_000, "{given} were given");
    assert_eq!(world.sim.counters().queued as usize, 10 - given);
    world.sim.run_for(LEASE_MS + 1);
    world.settle();
    assert_eq!((world.sim.counters().queued, world.sim.counters().check()), (10, Ok(())));
}

#[test]
fn endless_code_requests_exhaust_credit() {
    let mut world = begun(22, true);
    let (code, now) = (format!("asl:{}/bob.asl", "00".repeat(32)), world.sim.now());
    let mut number = world.client.number + 1;
    let state = vec![1];
    let save = Save { number, agent: 0, upto: 0, code: code.clone(), state, to: None, also: vec![], from: None };
    world.client.session.lock().handle_frame(now, SessionFrame::Save(save), 9).unwrap();
    world.settle();
    // All that the client may send without waiting for any answer.
    let lacks = |number| SessionFrame::Lacks(Lacks { number, agent: 0, code: code.clone() });
    let mut asked = Vec::new();
    for _ in 0..1_000 {
        let mut session = world.client.session.lock();
        let _ = std::iter::from_fn(|| session.poll_frame(now)).count();
        number += 1;
        if let Err(fault) = session.handle_frame(now, lacks(number), 9) {
            assert_eq!(fault.code, ErrorCode::OverCredit);
            break;
        }
        asked.extend(std::iter::from_fn(|| session.poll_event()).filter_map(|event| match event {
            SessionEvent::Lack { number, code, .. } => Some((number, code)),
            _ => None,
        }));
    }
    assert!((10..=16).contains(&asked.len()), "{} are asked for at once", asked.len());
    // Each answer gives room for more.
    let mut session = world.client.session.lock();
    asked.drain(..).for_each(|(number, code)| session.deny_code(number, &code));
    let refused = session.unacknowledged();
    assert!(refused >= 10, "{refused} answers");
}
