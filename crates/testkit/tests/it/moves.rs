//! Agent that moves to and fro between two clients and a node. Whatever breaks at whatever moment, there is one of it,
//! and it handled each message once and in order. So did the receivers of its messages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use whimbrel_platform::capabilities::Mobile;

use proptest::prelude::*;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Symbol, Value, sym};
use whimbrel_platform::ams::{AgentKind, NewAgent};
use whimbrel_platform::durable::Origin;
use whimbrel_platform::inspection::Look;
use whimbrel_platform::limits::SESSION_OFFERS_MAX;
use whimbrel_platform::mobility::{Hop, HopError, Wish};
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::{
    AckFrame, CodeName, CodePart, Create, ErrorCode, HelloFrame, Keep, KeptAgents, Lacks, MessageFrame, OnLeave,
    Opening, Resume, Save, Session, SessionBody, SessionEvent, SessionFrame, SessionGrant, SessionHost,
    SessionMobility, SharedSession, Stays,
};
use whimbrel_platform::{AgentBody, Next, Time, Turn};
use whimbrel_testkit::{Simulation, answering};

const LEASE_MS: u64 = 2_000;
/// Code that the node has.
const CODE_BYTES: usize = 600 << 10;
const NODE: &str = "n1";
const TABS: [&str; 2] = ["tab0", "tab1"];
/// Number of bob in the frames of a tab.
const BOB: u32 = 1;

fn code() -> String {
    format!("asl:{}/bob.asl", "00".repeat(32))
}

fn bytes_of(state: &[i64]) -> Vec<u8> {
    state.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn numbers_of(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks(8).map(|n| i64::from_le_bytes(n.try_into().unwrap())).collect()
}

fn told(number: i64) -> AclMessage {
    AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("amy"), Value::Int(number))
}

/// State that the node and the test share.
#[derive(Default)]
struct SharedScene {
    now: Mutex<Time>,
    /// Tab in which somebody at the node wants bob.
    wanted: Mutex<Option<Symbol>>,
    /// Wish of that party.
    wish: Mutex<Option<Wish>>,
    /// Hops that bob heard of at the node.
    hops: Mutex<Vec<Hop>>,
    /// True if the node lacks bob's code.
    lacks_code: Mutex<bool>,
    /// Action in the middle of the turn in which bob leaves a tab.
    meanwhile: Mutex<Option<Meanwhile>>,
}

type Meanwhile = Box<dyn FnOnce() + Send>;

/// Node on which bob can continue.
struct MovesNode {
    seen: Arc<SharedScene>,
    kept_agents: Mutex<std::sync::Weak<KeptAgents>>,
}

impl SessionHost for MovesNode {
    fn platform(&self) -> Symbol {
        "home".into()
    }
    fn node(&self) -> Symbol {
        sym::EMPTY
    }
    fn now(&self) -> Time {
        *self.seen.now.lock().unwrap()
    }
    fn lodge(
        &self,
        name: Symbol,
        _body: Box<dyn AgentBody>,
        _is_home: bool,
        _near: Option<ShardIndex>,
    ) -> Result<Aid, CreateError> {
        Err(CreateError::NameTaken(name))
    }
    fn wake(&self, _agent: Aid) {}
    fn mobility(&self) -> Option<&dyn SessionMobility> {
        Some(self)
    }
}

impl SessionMobility for MovesNode {
    fn has_code(&self, _name: Symbol, _origin: &Origin) -> Option<bool> {
        Some(!*self.seen.lacks_code.lock().unwrap())
    }
    fn restore(&self, _: Symbol, _: &Origin, state: &[u8]) -> Result<Box<dyn AgentBody>, String> {
        let (seen, kept_agents) =
            (Arc::clone(&self.seen), self.kept_agents.lock().unwrap().upgrade().ok_or("it is gone")?);
        Ok(Box::new(Bob { state: numbers_of(state), seen, kept_agents, next: None }))
    }
    fn may_move(&self, _name: Symbol, _object: &str) -> bool {
        true
    }
    fn is_here(&self, to: Symbol) -> Result<bool, HopError> {
        if let Some(meanwhile) = self.seen.meanwhile.lock().unwrap().take() {
            meanwhile();
        }
        if to == Symbol::new(NODE) { Ok(true) } else { Err(HopError::NoSuchNode(to)) }
    }
    fn life(&self, _name: Symbol) -> Option<u32> {
        Some(1)
    }
}

/// Bob as the node runs him: one message a turn.
struct Bob {
    state: Vec<i64>,
    seen: Arc<SharedScene>,
    kept_agents: Arc<KeptAgents>,
    next: Option<Box<dyn AgentBody>>,
}

impl AgentBody for Bob {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if let Some(to) = self.seen.wanted.lock().unwrap().take() {
            let origin = code().parse::<CodeName>().unwrap().origin().unwrap();
            let wish = self.seen.wish.lock().unwrap().take();
            match self.kept_agents.invite("bob".into(), to, origin, bytes_of(&self.state), wish) {
                Ok(body) => {
                    self.next = Some(body);
                    return Next::Activate;
                }
                Err((why, _)) => self.seen.hops.lock().unwrap().push(Hop::Stayed { to, why }),
            }
        }
        let Some(message) = turn.mailbox.take() else { return Next::Wait };
        let number = message.content.as_i64().unwrap();
        self.state.push(number);
        turn.outbox.send(told(number));
        Next::Ready
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        self.next.take().ok_or_else(|| "it is here".to_owned())
    }

    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        Some(bytes_of(&self.state))
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }
}

impl Mobile for Bob {
    fn hopped(&mut self, hop: &Hop) {
        self.seen.hops.lock().unwrap().push(hop.clone());
    }
}

/// Bob as a tab has him.
#[derive(Default)]
struct TabBob {
    is_created: bool,
    mailbox: VecDeque<(u64, i64)>,
    state: Vec<i64>,
    upto: u64,
    /// Number of the save by which he leaves: until its answer he has no turns.
    leaving: Option<u64>,
}

/// Outgoing frames of a tab.
#[derive(Default)]
struct TabOutbox {
    unacknowledged: VecDeque<SessionFrame>,
    written: usize,
    credit: u64,
}

impl TabOutbox {
    /// Takes the next frame that may be written.
    fn next(&mut self) -> Option<SessionFrame> {
        let next = self.unacknowledged.get(self.written).filter(|frame| number_of(frame) <= self.credit).cloned();
        self.written += usize::from(next.is_some());
        next
    }
}

/// Tab with its own agent, and with bob while he is there.
struct MovingTab {
    session: Arc<SharedSession>,
    number: u64,
    post: Arc<Mutex<TabOutbox>>,
    coming: VecDeque<SessionFrame>,
    received: u64,
    offers: usize,
    /// Received part of bob's code.
    code: Vec<u8>,
    refusals: Vec<ErrorCode>,
    bob: Option<TabBob>,
}

fn number_of(frame: &SessionFrame) -> u64 {
    match frame {
        SessionFrame::Create(create) => create.number,
        SessionFrame::Keep(keep) => keep.number,
        SessionFrame::Save(save) => save.number,
        SessionFrame::Message(message) => message.number,
        SessionFrame::Stays(stays) => stays.number,
        SessionFrame::Lacks(lacks) => lacks.number,
        SessionFrame::Code(part) => part.number,
        other => panic!("{other:?}"),
    }
}

impl MovingTab {
    fn open(now: Time, kept_agents: &Arc<KeptAgents>, which: usize, count: u32) -> Self {
        let grant =
            SessionGrant { lease_ms: LEASE_MS, window: 16, ..SessionGrant::new(TABS[which], vec![TABS[which].into()]) };
        let (session, secret, platform) = (format!("s{count}"), "x".to_owned(), "home".into());
        let opening = Opening { session, secret, platform, grant, kept_agents: Arc::clone(kept_agents) };
        let mut session = Session::new(opening, now);
        session.handle_hello(now, &HelloFrame { versions: vec![1], moves: true, ..HelloFrame::default() }).unwrap();
        let session = Arc::new(SharedSession::new(session, || ()));
        let mut tab = Self {
            session,
            number: 0,
            post: Arc::default(),
            coming: VecDeque::new(),
            received: 0,
            offers: 0,
            code: Vec::new(),
            refusals: Vec::new(),
            bob: None,
        };
        tab.say(|number| SessionFrame::Create(Create { number, agent: 0, name: TABS[which].into() }));
        tab
    }

    fn say(&mut self, frame: impl FnOnce(u64) -> SessionFrame) -> u64 {
        self.number += 1;
        self.post.lock().unwrap().unacknowledged.push_back(frame(self.number));
        self.number
    }

    fn acknowledge(&mut self, received: u64, credit: u64) {
        let mut post = self.post.lock().unwrap();
        post.credit = credit;
        while post.unacknowledged.front().is_some_and(|frame| number_of(frame) <= received) {
            post.unacknowledged.pop_front();
            post.written = post.written.saturating_sub(1);
        }
    }

    fn take(&mut self, frame: SessionFrame) {
        match frame {
            SessionFrame::Welcome(welcome) => self.acknowledge(welcome.received, welcome.credit),
            SessionFrame::Ack(ack) => self.acknowledge(ack.received, ack.credit.unwrap()),
            SessionFrame::Created(created) => {
                self.received = created.number;
                if created.agent == BOB {
                    self.bob.as_mut().unwrap().is_created = true;
                }
            }
            SessionFrame::State(state) => {
                self.received = state.number;
                assert_eq!((state.agent, state.code), (BOB, code()));
                self.bob.as_mut().unwrap().state = numbers_of(&state.state);
            }
            SessionFrame::Message(message) => {
                self.received = message.number;
                let (number, content) = (message.number, message.message.content.as_i64().unwrap());
                self.bob.as_mut().unwrap().mailbox.push_back((number, content));
            }
            SessionFrame::Saved(saved) => self.received = saved.number,
            SessionFrame::Offer(offer) => {
                (self.received, self.offers) = (offer.number, self.offers + 1);
                assert_eq!((offer.name.as_str(), offer.code), ("bob", code()));
            }
            SessionFrame::Ended(ended) => {
                self.received = ended.number;
                let is_gone = ended.reason.starts_with("it moved to") || ended.reason.starts_with("it went back: ");
                assert!(ended.agent == BOB && is_gone, "{ended:?}");
                self.bob = None;
            }
            SessionFrame::Lacks(lacks) => {
                self.received = lacks.number;
                let (code, bytes) = (lacks.code, b"code".to_vec());
                self.say(|number| SessionFrame::Code(CodePart { number, agent: BOB, code, at: 0, of: 4, bytes }));
            }
            SessionFrame::Code(part) => {
                assert_eq!((part.at, part.of), (self.code.len() as u64, CODE_BYTES as u64));
                self.received = part.number;
                self.code.extend(part.bytes);
            }
            SessionFrame::Yield(wish) => self.received = wish.number,
            SessionFrame::Refused(refused) => {
                self.received = refused.number;
                self.refusals.push(refused.code);
                self.refused(refused.of, refused.code);
            }
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self, of: u64, code: ErrorCode) {
        let Some(bob) = &mut self.bob else { return };
        if bob.leaving == Some(of) {
            assert_eq!(code, ErrorCode::NotMovable);
            bob.leaving = None;
        } else if !bob.is_created && matches!(code, ErrorCode::NameTaken | ErrorCode::NotAllowed) {
            // The frame came too late: bob is no longer available.
            self.bob = None;
        }
    }

    /// Accepts bob, or refuses him.
    fn answer(&mut self, takes: bool) {
        if self.offers == 0 {
            return;
        }
        self.offers -= 1;
        if self.bob.is_some() {
            // The tab has accepted him before.
            return;
        }
        if !takes {
            self.say(|number| SessionFrame::Stays(Stays { number, name: "bob".into(), text: "no room".into() }));
            return;
        }
        self.bob = Some(TabBob::default());
        self.say(|number| SessionFrame::Create(Create { number, agent: BOB, name: "bob".into() }));
        self.say(|number| SessionFrame::Keep(Keep { number, agent: BOB, policy: OnLeave::GoOn, holds: true }));
    }

    fn handle(&mut self) {
        let Some(bob) = self.bob.as_mut().filter(|bob| bob.is_created && bob.leaving.is_none()) else { return };
        let Some((number, content)) = bob.mailbox.pop_front() else { return };
        bob.state.push(content);
        bob.upto = number;
        let message = MessageBody::Owned(Box::new(told(content)));
        self.say(|number| SessionFrame::Message(MessageFrame { number, agent: BOB, message }));
    }

    /// Reports that the tab cannot have bob. All that he did since he was saved is undone.
    fn fail(&mut self) {
        if self.bob.as_ref().is_some_and(|bob| bob.is_created && bob.leaving.is_none()) {
            let why = "no engine".to_owned();
            let number = self.say(|number| SessionFrame::Stays(Stays { number, name: "bob".into(), text: why }));
            self.bob.as_mut().unwrap().leaving = Some(number);
        }
    }

    /// Repeats an earlier save.
    fn chat(&mut self) {
        if self.bob.as_ref().is_some_and(|bob| bob.is_created) {
            self.say(|number| SessionFrame::Keep(Keep { number, agent: BOB, policy: OnLeave::GoOn, holds: true }));
        }
    }

    fn save(&mut self, to: Option<&str>) {
        let Some(bob) = self.bob.as_ref().filter(|bob| bob.is_created && bob.leaving.is_none()) else { return };
        let (upto, state, to) = (bob.upto, bytes_of(&bob.state), to.map(str::to_owned));
        let leaves = to.is_some();
        let number = self.say(|number| {
            SessionFrame::Save(Save { number, agent: BOB, upto, code: code(), state, to, also: vec![], from: None })
        });
        if leaves {
            self.bob.as_mut().unwrap().leaving = Some(number);
        }
    }
}

#[derive(Clone, Debug)]
enum MovesOp {
    /// Sends messages to bob.
    Tell(u8),
    ToNode(usize, u8),
    ToTab(usize, u8),
    Handle(usize, u8),
    Save(usize),
    /// The tab says that bob goes to the node, or to the other tab.
    Leave(usize, bool),
    /// A party at the node wants bob in that tab.
    Want(usize),
    /// The tab accepts an offer, or refuses it.
    Answer(usize, bool),
    Break(usize),
    Crash(usize),
    Bye(usize),
    Wait(u16),
    /// In the middle of the turn in which bob leaves a tab next, so many of its frames arrive, or its good-bye.
    Meanwhile(usize, u8),
    /// The tab sends a save of bob that changes nothing.
    Chat(usize),
    /// The tab says that bob goes to the node, which has lost his code.
    LeaveWithCode(usize),
    /// The tab finds that it cannot have bob, who arrived there.
    Fail(usize),
}

fn ops() -> impl Strategy<Value = Vec<MovesOp>> {
    let tab = || 0..TABS.len();
    let op = prop_oneof![
        4 => (1..4u8).prop_map(MovesOp::Tell),
        8 => (tab(), 1..6u8).prop_map(|(tab, n)| MovesOp::ToNode(tab, n)),
        8 => (tab(), 1..6u8).prop_map(|(tab, n)| MovesOp::ToTab(tab, n)),
        5 => (tab(), 1..4u8).prop_map(|(tab, n)| MovesOp::Handle(tab, n)),
        3 => tab().prop_map(MovesOp::Save),
        3 => (tab(), any::<bool>()).prop_map(|(tab, to_node)| MovesOp::Leave(tab, to_node)),
        4 => tab().prop_map(MovesOp::Want),
        5 => (tab(), prop::bool::weighted(0.8)).prop_map(|(tab, takes)| MovesOp::Answer(tab, takes)),
        2 => tab().prop_map(MovesOp::Break),
        1 => tab().prop_map(MovesOp::Crash),
        1 => tab().prop_map(MovesOp::Bye),
        1 => (1..12_000u16).prop_map(MovesOp::Wait),
        2 => (tab(), 0..4u8).prop_map(|(tab, n)| MovesOp::Meanwhile(tab, n)),
        2 => tab().prop_map(MovesOp::Chat),
        2 => tab().prop_map(MovesOp::LeaveWithCode),
        2 => tab().prop_map(MovesOp::Fail),
    ];
    prop::collection::vec(op, 1..150)
}

struct MovesWorld {
    sim: Simulation,
    seen: Arc<SharedScene>,
    kept_agents: Arc<KeptAgents>,
    /// Host for continuing agents; it must live as long as the world.
    _host: Arc<dyn SessionHost>,
    heard: Arc<Mutex<Vec<i64>>>,
    tabs: Vec<MovingTab>,
    told: i64,
    sessions: u32,
    /// Tabs that said good-bye in the middle of something.
    left: Arc<Mutex<Vec<usize>>>,
}

impl MovesWorld {
    fn new(seed: u64) -> Self {
        let (mut sim, seen) = (Simulation::new(seed), Arc::<SharedScene>::default());
        let node = Arc::new(MovesNode { seen: Arc::clone(&seen), kept_agents: Mutex::default() });
        let (kept_agents, host) =
            (Arc::<KeptAgents>::default(), Arc::<MovesNode>::clone(&node) as Arc<dyn SessionHost>);
        kept_agents.attach(&host);
        *node.kept_agents.lock().unwrap() = Arc::downgrade(&kept_agents);
        let heard = Arc::<Mutex<Vec<i64>>>::default();
        let hears = Arc::clone(&heard);
        sim.spawn("amy", answering(move |message, _| hears.lock().unwrap().extend(message.content.as_i64())));
        let bob = Bob { state: Vec::new(), seen: Arc::clone(&seen), kept_agents: Arc::clone(&kept_agents), next: None };
        sim.spawn("bob", Box::new(bob));
        let tabs = (0..TABS.len()).map(|which| MovingTab::open(sim.now(), &kept_agents, which, which as u32)).collect();
        let left = Arc::default();
        let mut world = Self { sim, seen, kept_agents, _host: host, heard, tabs, told: 0, sessions: 2, left };
        (0..TABS.len()).for_each(|tab| world.exchange(tab, 9));
        world
    }

    /// Carries out all events at the node.
    fn settle(&mut self) {
        loop {
            let now = self.sim.now();
            *self.seen.now.lock().unwrap() = now;
            let mut is_quiet = true;
            for tab in 0..self.tabs.len() {
                let session = Arc::clone(&self.tabs[tab].session);
                let is_due = session.lock().poll_timeout() <= now;
                if is_due {
                    session.lock().handle_timeout(now);
                }
                while let Some(event) = { session.lock().poll_event() } {
                    is_quiet = false;
                    self.react(&session, event);
                }
            }
            if !self.sim.step() && is_quiet {
                break;
            }
        }
        for tab in &mut self.tabs {
            while let Some(frame) = { tab.session.lock().poll_frame(self.sim.now()) } {
                tab.coming.push_back(frame);
            }
        }
    }

    fn react(&mut self, session: &Arc<SharedSession>, event: SessionEvent) {
        match event {
            SessionEvent::Create { agent, name } if session.claim(agent, name) => {}
            SessionEvent::Create { agent, name } => {
                let outcome = if self.sim.services().exists(Aid::local(name)) {
                    Err(whimbrel_platform::session::ErrorFrame::new(ErrorCode::NameTaken, "there is one"))
                } else {
                    let body = Box::new(SessionBody::new(Arc::clone(session), agent));
                    Ok(self.sim.introduce(NewAgent::new(name, AgentKind::Session), body))
                };
                session.lock().handle_created(agent, outcome);
            }
            SessionEvent::Wake(aid) => self.sim.wake(aid),
            SessionEvent::Code { agent, .. } => session.lock().handle_code(agent),
            SessionEvent::Admit { agent, .. } => {
                *self.seen.lacks_code.lock().unwrap() = false;
                session.lock().handle_code(agent);
            }
            SessionEvent::Lack { number, code, is_given: false, .. } => session.lock().deny_code(number, &code),
            SessionEvent::Lack { number, agent, code, .. } => {
                let bytes: Arc<[u8]> = (0..CODE_BYTES).map(|n| n as u8).collect();
                session.lock().give_code(number, agent, &code, Some(&bytes));
            }
            _ => {}
        }
    }

    fn arrive_at_node(&mut self, tab: usize) {
        let client = &mut self.tabs[tab];
        let next = client.post.lock().unwrap().next();
        if let Some(frame) = next {
            client.session.lock().handle_frame(self.sim.now(), frame, 50).unwrap();
            self.settle();
        }
        let left = std::mem::take(&mut *self.left.lock().unwrap());
        left.into_iter().for_each(|tab| self.succeed(tab));
    }

    fn arrive_at_tab(&mut self, tab: usize) {
        let client = &mut self.tabs[tab];
        let Some(frame) = client.coming.pop_front() else { return };
        client.take(frame);
        let ack = SessionFrame::Ack(AckFrame { received: client.received, credit: None });
        client.session.lock().handle_frame(self.sim.now(), ack, 5).unwrap();
        self.settle();
    }

    fn exchange(&mut self, tab: usize, times: usize) {
        self.settle();
        for _ in 0..times {
            self.arrive_at_tab(tab);
            self.arrive_at_node(tab);
        }
    }

    fn resume(&mut self, tab: usize) {
        let client = &mut self.tabs[tab];
        client.session.lock().handle_disconnected();
        client.coming.clear();
        client.post.lock().unwrap().written = 0;
        let session = client.session.lock().name().to_owned();
        let resume = Some(Resume { session, secret: "x".into(), received: client.received });
        let hello = HelloFrame { versions: vec![1], moves: true, resume, ..HelloFrame::default() };
        client.session.lock().handle_hello(self.sim.now(), &hello).unwrap();
        self.settle();
        self.arrive_at_tab(tab);
    }

    /// Lets time pass, while the other sessions send signs of life.
    fn wait(&mut self, ms: u64) {
        for _ in 0..=ms / 500 {
            self.sim.run_for(ms.min(500));
            self.settle();
            for tab in 0..self.tabs.len() {
                let ack = SessionFrame::Ack(AckFrame { received: self.tabs[tab].received, credit: None });
                let session = Arc::clone(&self.tabs[tab].session);
                if session.lock().is_connected() {
                    session.lock().handle_frame(self.sim.now(), ack, 5).unwrap();
                }
            }
            self.settle();
        }
    }

    /// Replaces the tab, whose session is over, by another one.
    fn succeed(&mut self, tab: usize) {
        self.wait(LEASE_MS + 500);
        assert!(self.tabs[tab].session.lock().is_over() || self.is_held_up(), "{:?}", self.sim.output());
        // An agent that is offered to another client leaves its session when that client has answered.
        self.wait(11_000);
        assert!(self.tabs[tab].session.lock().is_over());
        self.tabs[tab] = MovingTab::open(self.sim.now(), &self.kept_agents, tab, self.sessions);
        self.sessions += 1;
        self.exchange(tab, 9);
    }

    fn is_held_up(&self) -> bool {
        self.tabs.iter().any(|tab| tab.bob.as_ref().is_some_and(|bob| bob.leaving.is_some()))
    }

    fn take(&mut self, op: &MovesOp) {
        match *op {
            MovesOp::Tell(n) => {
                for _ in 0..n {
                    let (bob, content) = (Aid::local("bob"), Value::Int(self.told));
                    self.sim.send(AclMessage::new(Performative::Inform, Aid::local("zoe"), bob, content));
                    self.told += 1;
                }
                self.settle();
            }
            MovesOp::ToNode(tab, n) => (0..n).for_each(|_| self.arrive_at_node(tab)),
            MovesOp::ToTab(tab, n) => (0..n).for_each(|_| self.arrive_at_tab(tab)),
            MovesOp::Handle(tab, n) => (0..n).for_each(|_| self.tabs[tab].handle()),
            MovesOp::Save(tab) => self.tabs[tab].save(None),
            MovesOp::Leave(tab, to_node) => self.tabs[tab].save(Some(if to_node { NODE } else { TABS[1 - tab] })),
            MovesOp::Want(tab) => {
                *self.seen.wanted.lock().unwrap() = Some(TABS[tab].into());
                self.sim.wake(Aid::local("bob"));
                self.settle();
            }
            MovesOp::Answer(tab, takes) => {
                self.recall();
                self.tabs[tab].answer(takes);
            }
            MovesOp::Break(tab) => self.resume(tab),
            MovesOp::Crash(tab) => {
                self.recall();
                self.tabs[tab].session.lock().handle_disconnected();
                self.succeed(tab);
            }
            MovesOp::Bye(tab) => {
                self.recall();
                self.tabs[tab].session.lock().handle_frame(self.sim.now(), SessionFrame::Bye, 1).unwrap();
                self.succeed(tab);
            }
            MovesOp::Wait(ms) => self.wait(u64::from(ms)),
            MovesOp::Meanwhile(tab, n) => self.meddle(tab, n),
            MovesOp::Chat(tab) => self.tabs[tab].chat(),
            MovesOp::LeaveWithCode(tab) => {
                let is_there = |bob: &TabBob| bob.is_created && bob.leaving.is_none();
                if self.tabs[tab].bob.as_ref().is_some_and(is_there) {
                    *self.seen.lacks_code.lock().unwrap() = true;
                    self.tabs[tab].save(Some(NODE));
                }
            }
            MovesOp::Fail(tab) => {
                self.recall();
                self.tabs[tab].fail();
            }
        }
        if !self.is_held_up() {
            self.recall();
        }
    }

    /// Gives the node bob's code again; without it he would wait for his client.
    fn recall(&self) {
        *self.seen.lacks_code.lock().unwrap() = false;
    }

    /// Has frames of the tab arrive in the middle of the turn in which bob leaves it next; with no frames, its
    /// good-bye.
    fn meddle(&mut self, tab: usize, frames: u8) {
        let (left, seen) = (Arc::clone(&self.left), Arc::clone(&self.seen));
        let (session, post) = (Arc::clone(&self.tabs[tab].session), Arc::clone(&self.tabs[tab].post));
        *self.seen.meanwhile.lock().unwrap() = Some(Box::new(move || {
            let (now, mut session) = (*seen.now.lock().unwrap(), session.lock());
            if !session.is_connected() {
                return;
            }
            if frames == 0 {
                *seen.lacks_code.lock().unwrap() = false;
                session.handle_frame(now, SessionFrame::Bye, 1).unwrap();
                left.lock().unwrap().push(tab);
            }
            for _ in 0..frames {
                if let Some(frame) = post.lock().unwrap().next() {
                    session.handle_frame(now, frame, 50).unwrap();
                }
            }
        }));
    }

    fn flush(&mut self) {
        *self.seen.wanted.lock().unwrap() = None;
        *self.seen.meanwhile.lock().unwrap() = None;
        self.recall();
        for _ in 0..4 * (self.told as usize + 20) {
            for tab in 0..self.tabs.len() {
                (0..4).for_each(|_| self.arrive_at_tab(tab));
                self.tabs[tab].answer(true);
                self.tabs[tab].handle();
                self.tabs[tab].save(None);
                (0..6).for_each(|_| self.arrive_at_node(tab));
            }
            self.sim.run_for(20);
            self.settle();
        }
    }

    /// Messages that bob handled. Exactly one party has him.
    fn bob(&mut self) -> Vec<i64> {
        let now = self.sim.now();
        let here = self.sim.body("bob").and_then(|body| body.snapshot(now)).map(|state| numbers_of(&state));
        let there = self.tabs.iter().filter_map(|tab| tab.bob.as_ref()).map(|bob| bob.state.clone());
        let all: Vec<Vec<i64>> = there.chain(here).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn moving_agent_handles_messages_once(seed in any::<u64>(), ops in ops()) {
        let mut world = MovesWorld::new(seed);
        ops.iter().for_each(|op| world.take(op));
        world.flush();
        let all: Vec<i64> = (0..world.told).collect();
        prop_assert_eq!(&world.bob(), &all);
        prop_assert_eq!(&*world.heard.lock().unwrap(), &all);
        prop_assert_eq!(world.sim.counters().check(), Ok(()));
    }
}

/// Makes a world in which bob is in the first tab.
fn in_a_tab() -> MovesWorld {
    let mut world = MovesWorld::new(1);
    world.take(&MovesOp::Want(0));
    world.exchange(0, 3);
    world.take(&MovesOp::Answer(0, true));
    world.exchange(0, 9);
    assert!(world.tabs[0].bob.as_ref().is_some_and(|bob| bob.is_created));
    world
}

fn say(world: &mut MovesWorld, frame: impl FnOnce(u64) -> SessionFrame) {
    world.tabs[0].say(frame);
    world.exchange(0, 9);
}

#[test]
fn new_client_gets_agents_code() {
    let mut world = in_a_tab();
    say(&mut world, |number| SessionFrame::Lacks(Lacks { number, agent: BOB, code: code() }));
    let all: Vec<u8> = (0..CODE_BYTES).map(|n| n as u8).collect();
    assert!(world.tabs[0].code == all && world.tabs[0].refusals.is_empty());
    let other = format!("asl:{}/bob.asl", "11".repeat(32));
    say(&mut world, |number| SessionFrame::Lacks(Lacks { number, agent: BOB, code: other }));
    say(&mut world, |number| SessionFrame::Lacks(Lacks { number, agent: 0, code: code() }));
    say(&mut world, |number| SessionFrame::Lacks(Lacks { number, agent: 7, code: code() }));
    assert_eq!(world.tabs[0].refusals, [ErrorCode::BadState, ErrorCode::BadState, ErrorCode::NoAgent]);
}

#[test]
fn naming_code_gives_no_access() {
    let mut world = in_a_tab();
    let save = |number, agent, code: String, to: Option<&str>| {
        let (state, to) = (vec![1], to.map(str::to_owned));
        SessionFrame::Save(Save { number, agent, upto: 0, code, state, to, also: vec![], from: None })
    };
    let lacks = |number, agent, code: String| SessionFrame::Lacks(Lacks { number, agent, code });
    // An agent of its own, of code that another client brought here.
    say(&mut world, |number| SessionFrame::Keep(Keep { number, agent: 0, policy: OnLeave::Wait, holds: false }));
    say(&mut world, |number| save(number, 0, code(), None));
    say(&mut world, |number| lacks(number, 0, code()));
    assert_eq!((&world.tabs[0].refusals[..], world.tabs[0].code.len()), (&[ErrorCode::NotAllowed][..], 0));
    // Nor by sending the agent to another client.
    world.tabs[0].say(|number| save(number, 0, code(), Some(TABS[1])));
    world.arrive_at_node(0);
    world.tabs[1].say(|number| SessionFrame::Create(Create { number, agent: BOB, name: TABS[0].into() }));
    world.tabs[1].say(|number| lacks(number, BOB, code()));
    (0..2).for_each(|_| world.arrive_at_node(1));
    let is_denied =
        |frame: &SessionFrame| matches!(frame, SessionFrame::Refused(it) if it.code == ErrorCode::NotAllowed);
    assert!(world.tabs[1].coming.iter().any(is_denied), "{:?}", world.tabs[1].coming);
    // Nor an arrived agent's code, once the agent says that it is of other code.
    world.tabs[0].coming.clear();
    world.tabs[0].refusals.clear();
    let mut world = in_a_tab();
    let other = format!("asl:{}/bob.asl", "11".repeat(32));
    say(&mut world, |number| save(number, BOB, other.clone(), None));
    say(&mut world, |number| lacks(number, BOB, other));
    assert_eq!(world.tabs[0].refusals, [ErrorCode::NotAllowed]);
}

#[test]
fn agent_waits_for_its_code() {
    let mut world = in_a_tab();
    world.take(&MovesOp::Tell(3));
    world.exchange(0, 9);
    *world.seen.lacks_code.lock().unwrap() = true;
    world.take(&MovesOp::Handle(0, 2));
    world.take(&MovesOp::Leave(0, true));
    world.exchange(0, 9);
    assert!(world.tabs[0].bob.is_none() && world.tabs[0].refusals.is_empty());
    world.flush();
    assert_eq!((world.bob(), &*world.heard.lock().unwrap()), (vec![0, 1, 2], &vec![0, 1, 2]));
}

#[test]
fn refused_agent_continues_at_home() {
    let mut world = MovesWorld::new(2);
    for (tab, answer) in [(0, MovesOp::Answer(0, false)), (1, MovesOp::Wait(11_000)), (0, MovesOp::Bye(0))] {
        world.take(&MovesOp::Want(tab));
        world.exchange(tab, 3);
        world.take(&answer);
        world.exchange(tab, 3);
        world.take(&MovesOp::Tell(1));
    }
    let why = |hop: &Hop| match hop {
        Hop::Stayed { why: HopError::Refused { reason, .. }, .. } => reason.clone(),
        other => panic!("{other:?}"),
    };
    let heard: Vec<String> = world.seen.hops.lock().unwrap().iter().map(why).collect();
    assert_eq!(heard, ["no room", "it was not taken within 10000 ms", "its session is over"]);
    world.tabs[1].offers = 0;
    world.flush();
    assert_eq!(world.bob(), [0, 1, 2]);
    // A client that accepts too late gets nobody.
    say(&mut world, |number| SessionFrame::Create(Create { number, agent: BOB, name: "bob".into() }));
    say(&mut world, |number| SessionFrame::Stays(Stays { number, name: "bob".into(), text: String::new() }));
    assert_eq!(world.tabs[0].refusals, [ErrorCode::NotAllowed, ErrorCode::NoAgent]);
}

#[test]
fn wanted_agent_goes_or_stays() {
    let mut world = in_a_tab();
    let outcomes = Arc::<Mutex<Vec<String>>>::default();
    let ask = |world: &mut MovesWorld| {
        let tells = Arc::clone(&outcomes);
        let then = move |outcome: Result<(), HopError>| {
            tells.lock().unwrap().push(outcome.map_or_else(|why| why.to_string(), |()| "it went".to_owned()));
        };
        let now = world.sim.now();
        let back = world.sim.body("bob").unwrap().yields(Wish::new(NODE.into(), Box::new(then)), now);
        assert!(back.is_none());
        world.exchange(0, 3);
    };
    ask(&mut world);
    ask(&mut world);
    say(&mut world, |number| SessionFrame::Stays(Stays { number, name: "bob".into(), text: "not now".into() }));
    ask(&mut world);
    world.take(&MovesOp::Wait(11_000));
    ask(&mut world);
    world.take(&MovesOp::Leave(0, true));
    world.exchange(0, 9);
    let wanted = ["it is leaving already", "not now", "its client did not answer within 10000 ms", "it went"];
    let outcomes = outcomes.lock().unwrap();
    assert!(
        outcomes.len() == 4 && outcomes.iter().zip(wanted).all(|(one, other)| one.ends_with(other)),
        "{outcomes:?}"
    );
}

#[test]
fn offered_agent_is_bound_to_its_offer() {
    let mut world = MovesWorld::new(4);
    let third = MovingTab::open(world.sim.now(), &world.kept_agents, 0, 7);
    world.tabs.push(third);
    world.exchange(2, 9);
    world.take(&MovesOp::Want(0));
    world.exchange(0, 3);
    for (tab, refusals) in [(1, vec![ErrorCode::NotAllowed, ErrorCode::NoAgent]), (2, vec![ErrorCode::NameTaken])] {
        world.tabs[tab].offers = 1;
        world.tabs[tab].answer(true);
        world.exchange(tab, 9);
        // The third tab has no agent of its own: that name is the first one's.
        assert_eq!(world.tabs[tab].refusals, refusals);
    }
    assert!(world.tabs[2].bob.as_ref().is_some_and(|bob| bob.is_created) && world.tabs[1].bob.is_none());
    world.take(&MovesOp::Answer(0, false));
    world.exchange(0, 9);
    assert_eq!(world.tabs[0].refusals, [ErrorCode::NoAgent], "it is offered no more");
}

#[test]
fn frames_of_leaving_agent_are_late() {
    for is_movable in [true, false] {
        let mut world = in_a_tab();
        world.take(&MovesOp::Tell(3));
        world.exchange(0, 9);
        world.take(&MovesOp::Handle(0, 1));
        let to = if is_movable { NODE } else { "nowhere" };
        world.tabs[0].save(Some(to));
        // Its client breaks the rules; the save that leaves is the last word all the same.
        world.tabs[0].say(|number| SessionFrame::Keep(Keep { number, agent: BOB, policy: OnLeave::End, holds: false }));
        let (state, also) = (bytes_of(&[9, 9]), vec![]);
        world.tabs[0].say(|number| {
            SessionFrame::Save(Save { number, agent: BOB, upto: 2, code: code(), state, to: None, also, from: None })
        });
        world.meddle(0, 9);
        world.exchange(0, 12);
        let no_agent = [ErrorCode::NotMovable, ErrorCode::NotMovable];
        assert_eq!(world.tabs[0].refusals.iter().take(2).copied().collect::<Vec<_>>(), no_agent);
        assert_eq!(world.tabs[0].bob.is_none(), is_movable);
        world.flush();
        assert_eq!(world.bob(), [0, 1, 2], "{is_movable}");
        assert_eq!(*world.heard.lock().unwrap(), [0, 1, 2], "{is_movable}");
    }
}

/// Moves bob to the first tab on the wish of a party at the node. Returns what that party has heard so far.
fn sent_to_a_tab(world: &mut MovesWorld) -> Arc<Mutex<Vec<String>>> {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let tells = Arc::clone(&told);
    let then = move |outcome: Result<(), HopError>| {
        tells.lock().unwrap().push(outcome.map_or_else(|why| why.to_string(), |()| "it went".to_owned()));
    };
    *world.seen.wish.lock().unwrap() = Some(Wish::new(TABS[0].into(), Box::new(then)));
    world.take(&MovesOp::Want(0));
    world.exchange(0, 3);
    world.take(&MovesOp::Answer(0, true));
    world.exchange(0, 9);
    told
}

#[test]
fn failed_arrival_returns_the_agent() {
    let mut world = MovesWorld::new(5);
    world.take(&MovesOp::Tell(2));
    let told = sent_to_a_tab(&mut world);
    world.take(&MovesOp::Tell(2));
    world.exchange(0, 9);
    assert!(told.lock().unwrap().is_empty(), "its client said nothing of it yet");
    // Whatever bob did there is undone.
    world.take(&MovesOp::Handle(0, 1));
    world.take(&MovesOp::Fail(0));
    world.exchange(0, 9);
    assert!(world.tabs[0].bob.is_none() && world.tabs[0].refusals.is_empty());
    let hops = world.seen.hops.lock().unwrap().clone();
    let [Hop::Stayed { to, why: HopError::Refused { reason, .. } }] = &hops[..] else { panic!("{hops:?}") };
    assert_eq!((to.as_str(), reason.as_str()), (TABS[0], "no engine"));
    assert!(matches!(&told.lock().unwrap()[..], [why] if why.contains("no engine")), "{told:?}");
    assert!(world.kept_agents.is_empty(), "it is nobody's, as before");
    world.flush();
    assert_eq!((world.bob(), &*world.heard.lock().unwrap()), (vec![0, 1, 2, 3], &vec![0, 1, 2, 3]));
    assert_eq!(world.sim.counters().check(), Ok(()));
}

#[test]
fn arrival_is_confirmed_or_assumed() {
    for is_silent in [true, false] {
        let mut world = MovesWorld::new(6);
        let told = sent_to_a_tab(&mut world);
        assert!(told.lock().unwrap().is_empty());
        if is_silent {
            world.wait(11_000);
        } else {
            world.take(&MovesOp::Save(0));
            world.exchange(0, 3);
        }
        assert_eq!(*told.lock().unwrap(), ["it went"]);
        // Bob may go back all the same, later.
        world.take(&MovesOp::Fail(0));
        world.exchange(0, 99);
        assert!(world.tabs[0].bob.is_none() && world.bob().is_empty() && told.lock().unwrap().len() == 1);
    }
    let mut world = MovesWorld::new(7);
    let told = sent_to_a_tab(&mut world);
    world.take(&MovesOp::Bye(0));
    assert!(matches!(&told.lock().unwrap()[..], [why] if why.contains("tab0 is lost")), "{told:?}");
}

#[test]
fn failed_arrival_continues_at_node() {
    let mut world = in_a_tab();
    world.take(&MovesOp::Tell(2));
    world.exchange(0, 9);
    world.take(&MovesOp::Handle(0, 1));
    world.take(&MovesOp::Leave(0, false));
    world.exchange(0, 9);
    world.exchange(1, 3);
    world.take(&MovesOp::Answer(1, true));
    world.exchange(1, 9);
    world.exchange(0, 9);
    assert!(world.tabs[0].bob.is_none() && world.tabs[1].bob.is_some());
    world.take(&MovesOp::Fail(1));
    world.exchange(1, 9);
    assert!(world.tabs[1].bob.is_none());
    assert_eq!((world.bob(), &*world.heard.lock().unwrap()), (vec![0, 1], &vec![0, 1]));
}

#[test]
fn early_session_end_keeps_agent() {
    let mut world = in_a_tab();
    world.take(&MovesOp::Tell(2));
    world.exchange(0, 9);
    world.take(&MovesOp::Handle(0, 1));
    world.exchange(0, 3);
    let session = Arc::clone(&world.tabs[0].session);
    let seen = Arc::clone(&world.seen);
    *world.seen.meanwhile.lock().unwrap() = Some(Box::new(move || {
        *seen.lacks_code.lock().unwrap() = true;
        session.lock().handle_frame(*seen.now.lock().unwrap(), SessionFrame::Bye, 1).unwrap();
    }));
    world.take(&MovesOp::Leave(0, true));
    world.arrive_at_node(0);
    world.arrive_at_node(0);
    assert!(world.tabs[0].session.lock().is_over() && world.kept_agents.len() == 1);
    // He waits: the node has no code for him. His withheld messages left.
    assert_eq!(*world.heard.lock().unwrap(), [0]);
    let details = format!("{:?}", world.sim.body("bob").unwrap().inspect(Look::default(), Time::ZERO).details);
    assert!(details.contains("it waits for its client") && details.contains("8 bytes"), "{details}");
}

#[test]
fn expired_offer_creates_no_agent() {
    let mut world = MovesWorld::new(4);
    world.take(&MovesOp::Want(0));
    world.exchange(0, 3);
    let session = Arc::clone(&world.tabs[0].session);
    // Between the client's `create` and the node's handling of it, the offer ends, and so does the agent.
    let create = SessionFrame::Create(Create { number: 2, agent: BOB, name: "bob".into() });
    session.lock().handle_frame(world.sim.now(), create, 9).unwrap();
    assert!(world.sim.kill("bob"));
    while world.sim.step() {}
    assert!(!world.sim.services().exists(Aid::local("bob")));
    world.settle();
    let is_refused = |frame: &SessionFrame| {
        matches!(frame, SessionFrame::Refused(it)
            if it.of == 2 && it.code == ErrorCode::NotAllowed)
    };
    assert!(world.tabs[0].coming.iter().any(is_refused), "{:?}", world.tabs[0].coming);
    assert!(!world.sim.services().exists(Aid::local("bob")), "its token is for other names");
}

#[test]
fn missing_code_ends_the_move() {
    let mut world = in_a_tab();
    *world.seen.lacks_code.lock().unwrap() = true;
    world.take(&MovesOp::Leave(0, true));
    world.arrive_at_node(0);
    let now = |world: &MovesWorld| world.sim.now();
    let part = |number, at: u64, bytes: &[u8]| {
        let (code, bytes) = (code(), bytes.to_vec());
        SessionFrame::Code(CodePart { number, agent: BOB, code, at, of: 4, bytes })
    };
    world.wait(8_000);
    world.tabs[0].say(|number| part(number, 0, b"co"));
    world.arrive_at_node(0);
    let began = now(&world);
    // Each part is a sign of life.
    world.wait(8_000);
    assert!(world.tabs[0].coming.iter().all(|frame| !matches!(frame, SessionFrame::Refused(_))));
    world.wait(3_000);
    assert!((now(&world) - began).as_millis() >= 10_000);
    let why = |frame: &SessionFrame| match frame {
        SessionFrame::Refused(refused) => Some((refused.code, refused.text.clone())),
        _ => None,
    };
    let told: Vec<(ErrorCode, String)> = world.tabs[0].coming.iter().filter_map(why).collect();
    let text = "not_movable: it cannot move: its code did not come: no part of it arrived for 10000 ms".to_owned();
    assert_eq!(told, [(ErrorCode::NotMovable, text)]);
    // The agent continues in its client, and further parts of the code are useless.
    world.tabs[0].say(|number| part(number, 2, b"de"));
    world.take(&MovesOp::Tell(2));
    world.tabs[0].coming.retain(|frame| !matches!(frame, SessionFrame::Lacks(_)));
    world.tabs[0].refusals.clear();
    world.exchange(0, 12);
    world.flush();
    assert_eq!(world.bob(), [0, 1]);
}

#[test]
fn code_in_transfer_is_requested_once() {
    let mut world = in_a_tab();
    *world.seen.lacks_code.lock().unwrap() = true;
    let asked = |world: &MovesWorld| {
        world.tabs[0].coming.iter().filter(|frame| matches!(frame, SessionFrame::Lacks(_))).count()
    };
    // As the agent is to continue at the node one day.
    let session = Arc::clone(&world.tabs[0].session);
    session.lock().ask_for_code(BOB, Arc::new(code().parse().unwrap()), world.sim.now());
    world.settle();
    assert_eq!(asked(&world), 1);
    let half = |number, at: u64| {
        let (code, bytes) = (code(), b"co".to_vec());
        SessionFrame::Code(CodePart { number, agent: BOB, code, at, of: 4, bytes })
    };
    world.tabs[0].say(|number| half(number, 0));
    world.take(&MovesOp::Leave(0, true));
    (0..2).for_each(|_| world.arrive_at_node(0));
    assert_eq!(asked(&world), 1, "what came of it stays");
    world.tabs[0].say(|number| half(number, 2));
    world.arrive_at_node(0);
    world.tabs[0].coming.retain(|frame| !matches!(frame, SessionFrame::Lacks(_)));
    world.exchange(0, 9);
    assert!(world.tabs[0].bob.is_none() && world.tabs[0].refusals.is_empty());
}

#[test]
fn old_client_is_offered_nobody() {
    let mut world = MovesWorld::new(3);
    let session = Arc::clone(&world.tabs[0].session);
    session.lock().handle_disconnected();
    let session = session.lock().name().to_owned();
    let resume = Some(Resume { session, secret: "x".into(), received: world.tabs[0].received });
    let hello = HelloFrame { versions: vec![1], resume, ..HelloFrame::default() };
    world.tabs[0].session.lock().handle_hello(world.sim.now(), &hello).unwrap();
    world.take(&MovesOp::Want(0));
    let hops = world.seen.hops.lock().unwrap();
    assert!(matches!(&hops[..], [Hop::Stayed { why: HopError::Refused { .. }, .. }]), "{hops:?}");
}

#[test]
fn client_only_code_reaches_no_node() {
    let mut world = MovesWorld::new(4);
    let save = |number, to: &str| {
        let (code, state, to) = ("ts:counter".to_owned(), vec![1], Some(to.to_owned()));
        SessionFrame::Save(Save {
            number,
            agent: 0,
            upto: 0,
            code,
            state,
            to,
            also: vec![],
            from: Some("attic".into()),
        })
    };
    world.tabs[0].say(|number| SessionFrame::Keep(Keep { number, agent: 0, policy: OnLeave::Wait, holds: false }));
    world.tabs[0].say(|number| save(number, NODE));
    world.tabs[0].say(|number| save(number, TABS[0]));
    world.exchange(0, 9);
    assert_eq!(
        world.tabs[0].refusals,
        [ErrorCode::NotMovable, ErrorCode::NotMovable],
        "no node knows it, and it is there"
    );
    world.tabs[0].say(|number| save(number, TABS[1]));
    world.arrive_at_node(0);
    let offers = |frame: &SessionFrame| {
        matches!(frame, SessionFrame::Offer(it)
            if it.name == TABS[0] && it.code == "ts:counter")
    };
    assert!(world.tabs[1].coming.iter().any(offers), "{:?}", world.tabs[1].coming);
    assert!(world.tabs[0].coming.iter().all(|frame| matches!(frame, SessionFrame::Ack(_))), "it waits for the answer");
    world.tabs[1].say(|number| SessionFrame::Create(Create { number, agent: BOB, name: TABS[0].into() }));
    world.arrive_at_node(1);
    let is_it = |frame: &SessionFrame| {
        matches!(frame, SessionFrame::State(it)
            if it.state == [1] && it.from.as_deref() == Some("attic"))
    };
    assert!(world.tabs[1].coming.iter().any(is_it), "{:?}", world.tabs[1].coming);
    let left = |frame: &SessionFrame| matches!(frame, SessionFrame::Ended(it) if it.reason == "it moved to tab1");
    assert!(world.tabs[0].coming.iter().any(left), "{:?}", world.tabs[0].coming);
}

#[test]
fn excess_offer_answers_busy() {
    let mut world = in_a_tab();
    let origin = || code().parse::<CodeName>().unwrap().origin().unwrap();
    let to: Symbol = TABS[1].into();
    let offer = |world: &MovesWorld, n: usize| {
        world.kept_agents.invite(Symbol::new(&format!("guest{n}")), to, origin(), vec![], None).map_err(|(why, _)| why)
    };
    let open: Vec<_> = (0..SESSION_OFFERS_MAX).map(|n| offer(&world, n).unwrap()).collect();
    let Err(why) = offer(&world, open.len()) else { panic!("one more") };
    assert_eq!(why.code(), "busy");
    // A client hears the same, and its agent continues there.
    let (code, state, to) = (code(), vec![], Some(TABS[1].to_owned()));
    world.tabs[0].say(|number| {
        SessionFrame::Save(Save { number, agent: BOB, upto: 0, code, state, to, also: vec![], from: None })
    });
    world.arrive_at_node(0);
    let refused = world.tabs[0].coming.iter().find_map(|frame| match frame {
        SessionFrame::Refused(refused) => Some((refused.code, refused.text.as_str())),
        _ => None,
    });
    let text = "busy: node tab1 cannot take it now: too many agents are offered to that client";
    assert_eq!(refused, Some((ErrorCode::Busy, text)));
    drop(open);
    assert!(offer(&world, 0).is_ok());
}
