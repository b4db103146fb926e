//! Kept agents of sessions in a durable society: the node is killed at any moment, and each agent then waits for its
//! client in its last saved state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use whimbrel::platform::services::CreateError;
use whimbrel::platform::session::{
    AckFrame, Create, EndFrame, ErrorCode, HelloFrame, Keep, MessageFrame, OnLeave, Opening, Save, Session,
    SessionBody, SessionEvent, SessionFrame, SessionGrant, SessionHost, SharedSession,
};
use whimbrel::platform::store::Epoch;
use whimbrel::runtime::recover;
use whimbrel::store::{Memory, Point, StoreFault};
use whimbrel::{
    AclMessage, Aid, DurableAgent, DurableContext, MessageBody, Performative, Platform, PlatformBuilder, Value, durable,
};

use super::cluster::ClusterNodes;
use super::durable::{PrintedLines, wait_for};

/// Number of numbers that bob is told, two at a time.
const ALL: i64 = 24;

/// Tells bob the next two numbers whenever he asks for them.
#[derive(Default, Serialize, Deserialize)]
struct Zoe {
    told: i64,
}

impl DurableAgent for Zoe {
    const KIND: &'static str = "zoe";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        for _ in 0..2 {
            if self.told < ALL {
                self.told += 1;
                ctx.reply(&message, Performative::Inform, self.told);
            }
        }
    }
}

/// Remembers what she is told, and prints it when she is asked.
#[derive(Default, Serialize, Deserialize)]
struct Amy {
    heard: Vec<i64>,
}

impl DurableAgent for Amy {
    const KIND: &'static str = "amy";

    fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, message: MessageBody) {
        match message.content.as_i64() {
            Some(number) => self.heard.push(number),
            None => ctx.print(&format!("{:?}", self.heard)),
        }
    }
}

/// A process over a store.
fn process(memory: &Arc<Memory>, epoch: u64, lines: &PrintedLines) -> Platform {
    let platform = empty_process(memory, epoch, lines);
    let founders = [durable("zoe", Zoe::default()), durable("amy", Amy::default())];
    platform.spawn_together(founders).expect("they go on");
    platform
}

/// One that has not brought back its agents yet.
fn empty_process(memory: &Arc<Memory>, epoch: u64, lines: &PrintedLines) -> Platform {
    let kept = recover(Arc::clone(memory) as _, Epoch(epoch)).expect("it can be read");
    let builder: PlatformBuilder = Platform::builder().workers(2).output(lines.clone()).durable(kept);
    builder.kind::<Zoe>().kind::<Amy>().build()
}

/// Memory of a client, independent of nodes and sessions.
#[derive(Default)]
struct Memo {
    /// Count of numbers in the newest state acknowledged as saved, if any.
    safe: Option<usize>,
}

/// A client with one agent, whose state is the numbers that it was told.
struct StoredClient {
    host: Arc<dyn SessionHost>,
    session: Arc<SharedSession>,
    number: u64,
    received: u64,
    state: Vec<i64>,
    /// Contents of each unanswered save: its number, and the count of numbers in the state.
    saves: Vec<(u64, usize)>,
    is_created: bool,
    had_state: bool,
    refused: Option<ErrorCode>,
    ended: Option<String>,
}

const BOB: u32 = 0;

impl StoredClient {
    fn open(host: &Arc<dyn SessionHost>, account: &str) -> Self {
        host.kept_agents().attach(host);
        let grant = SessionGrant { account: account.to_owned(), ..SessionGrant::new("tester", vec!["bob".into()]) };
        let (session, secret) = (format!("s{account}"), "x".to_owned());
        let opening = Opening { session, secret, platform: host.platform(), grant, kept_agents: host.kept_agents() };
        let mut session = Session::new(opening, host.now());
        session.handle_hello(host.now(), &HelloFrame { versions: vec![1], ..HelloFrame::default() }).unwrap();
        Self {
            host: Arc::clone(host),
            session: Arc::new(SharedSession::new(session, || ())),
            number: 0,
            received: 0,
            state: Vec::new(),
            saves: Vec::new(),
            is_created: false,
            had_state: false,
            refused: None,
            ended: None,
        }
    }

    /// With bob, to be kept.
    fn with_bob(host: &Arc<dyn SessionHost>, policy: OnLeave, holds: bool) -> Self {
        let mut tab = Self::open(host, "hers");
        tab.say(|number| SessionFrame::Create(Create { number, agent: BOB, name: "bob".into() }));
        tab.say(|number| SessionFrame::Keep(Keep { number, agent: BOB, policy, holds }));
        tab
    }

    fn say(&mut self, frame: impl FnOnce(u64) -> SessionFrame) {
        self.number += 1;
        self.session.lock().handle_frame(self.host.now(), frame(self.number), 50).unwrap();
    }

    fn tell(&mut self, to: &str, content: impl Into<Value>) {
        let message = AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local(to), content);
        let message = MessageBody::Owned(Box::new(message));
        self.say(|number| SessionFrame::Message(MessageFrame { number, agent: BOB, message }));
    }

    fn save(&mut self, upto: u64) {
        let state = self.state.iter().flat_map(|n| n.to_le_bytes()).collect();
        let code = "ts:counter".to_owned();
        self.say(|number| {
            SessionFrame::Save(Save { number, agent: BOB, upto, code, state, to: None, also: vec![], from: None })
        });
        self.saves.push((self.number, self.state.len()));
    }

    /// Serves the agent port.
    fn look_after(&self) {
        loop {
            let Some(event) = self.session.lock().poll_event() else { return };
            match event {
                SessionEvent::Create { agent, name } => {
                    if self.session.claim(agent, name) {
                        continue;
                    }
                    let body = Box::new(SessionBody::new(Arc::clone(&self.session), agent));
                    let fault = |error| {
                        let code = if matches!(error, CreateError::NotYet(_)) {
                            ErrorCode::NotYet
                        } else {
                            ErrorCode::NameTaken
                        };
                        whimbrel::platform::session::ErrorFrame::new(code, format!("{error}"))
                    };
                    let outcome = self.host.lodge(name, body, true, None).map_err(fault);
                    self.session.lock().handle_created(agent, outcome);
                }
                SessionEvent::Wake(agent) => self.host.wake(agent),
                SessionEvent::Code { agent, .. } => self.session.lock().handle_code(agent),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Takes in what came: the numbers of bob's messages, with those of their frames.
    fn hear(&mut self, memo: &mut Memo) -> Vec<(u64, i64)> {
        self.look_after();
        let mut told = Vec::new();
        loop {
            let Some(frame) = self.session.lock().poll_frame(self.host.now()) else { break };
            match frame {
                SessionFrame::Created(created) => {
                    (self.received, self.is_created) = (created.number, true);
                    assert!(self.had_state || memo.safe.is_none(), "what was saved is gone");
                }
                SessionFrame::State(state) => {
                    (self.received, self.had_state) = (state.number, true);
                    self.state = state.state.chunks(8).map(|n| i64::from_le_bytes(n.try_into().unwrap())).collect();
                    assert!(Some(self.state.len()) >= memo.safe, "{:?} of {:?}", self.state, memo.safe);
                    // That it is safe may never have been said.
                    memo.safe = Some(self.state.len());
                }
                SessionFrame::Saved(saved) => {
                    self.received = saved.number;
                    let covered = self.saves.iter().rev().find(|(number, _)| *number <= saved.of);
                    memo.safe = memo.safe.max(covered.map(|(_, len)| *len));
                }
                SessionFrame::Message(message) => {
                    self.received = message.number;
                    told.extend(message.message.content.as_i64().map(|content| (message.number, content)));
                }
                SessionFrame::Refused(refused) => (self.received, self.refused) = (refused.number, Some(refused.code)),
                SessionFrame::Ended(ended) => (self.received, self.ended) = (ended.number, Some(ended.reason)),
                SessionFrame::Welcome(_) | SessionFrame::Ack(_) => {}
                other => panic!("{other:?}"),
            }
        }
        let ack = SessionFrame::Ack(AckFrame { received: self.received, credit: None });
        let _ = self.session.lock().handle_frame(self.host.now(), ack, 5);
        self.look_after();
        told
    }

    /// Hears until bob is told this.
    fn hears(&mut self, number: i64, memo: &mut Memo) {
        let began = Instant::now();
        while !self.hear(memo).iter().any(|(_, told)| *told == number) {
            assert!(began.elapsed() < Duration::from_secs(60), "{number} does not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Hears until this is so.
    fn until(&mut self, memo: &mut Memo, what: impl Fn(&Self, &Memo) -> bool) {
        let began = Instant::now();
        while !what(self, memo) {
            self.hear(memo);
            assert!(began.elapsed() < Duration::from_secs(60), "it takes too long");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Bob, until he was told everything and that is safe, or the store is away.
fn count(platform: &Platform, memo: &mut Memo, holds: bool, crashed: &AtomicBool) {
    let host = platform.host();
    let mut tab = StoredClient::with_bob(&host, OnLeave::Wait, holds);
    let (began, mut begun) = (Instant::now(), false);
    while !crashed.load(Ordering::Acquire) && memo.safe != Some(ALL as usize) {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?} {:?} {:?}", tab.state, memo.safe, tab.refused);
        let told = tab.hear(memo);
        if tab.is_created && !std::mem::replace(&mut begun, true) && !tab.had_state {
            tab.tell("zoe", "more");
            tab.save(0);
        }
        for (frame, number) in told {
            tab.state.push(number);
            tab.tell("amy", number);
            if number % 2 == 0 {
                tab.tell("zoe", "more");
                tab.save(frame);
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn kept_agent_survives_interrupted_node() {
    for seed in 0..10_usize {
        let (memory, lines, mut memo) = (Arc::new(Memory::new(16)), PrintedLines::default(), Memo::default());
        let mut epoch = 0;
        while memo.safe != Some(ALL as usize) {
            epoch += 1;
            assert!(epoch < 200, "{seed}: it does not come to its end");
            let (well, torn) = ((seed * 7 + epoch * 3) % 11, (seed + epoch) % 4);
            let crashed = Arc::new(AtomicBool::new(false));
            let (appends, crash) = (AtomicUsize::new(0), Arc::clone(&crashed));
            let platform = process(&memory, epoch as u64, &lines);
            memory.set_faults(move |point| {
                if matches!(point, Point::Append(_)) && appends.fetch_add(1, Ordering::Relaxed) >= well {
                    crash.store(true, Ordering::Release);
                    return StoreFault::Crash(torn);
                }
                StoreFault::None
            });
            count(&platform, &mut memo, true, &crashed);
            platform.stop();
            memory.clear_faults();
            memory.recover();
        }
        let platform = process(&memory, epoch as u64 + 1, &lines);
        platform.send(AclMessage::new(Performative::Inform, Aid::local("x"), Aid::local("amy"), "tell"));
        let all: Vec<i64> = (1..=ALL).collect();
        wait_for(&lines, &format!("[amy] {all:?}"));
        platform.stop();
    }
}

/// Runs two processes: input of bob in the second, and checks of the first.
fn in_two_processes(
    policy: OnLeave,
    first: impl FnOnce(&Platform, &mut StoredClient, &mut Memo),
    then: impl FnOnce(&Platform, &mut StoredClient, &mut Memo),
) {
    let (memory, lines, mut memo) = (Arc::new(Memory::new(4)), PrintedLines::default(), Memo::default());
    let platform = process(&memory, 1, &lines);
    let mut tab = StoredClient::with_bob(&platform.host(), policy, false);
    tab.until(&mut memo, |tab, _| tab.is_created);
    first(&platform, &mut tab, &mut memo);
    // Nothing more is written: as if the process had been killed.
    platform.stop();
    let platform = process(&memory, 2, &lines);
    let mut tab = StoredClient::with_bob(&platform.host(), policy, false);
    then(&platform, &mut tab, &mut memo);
    platform.stop();
}

/// A client that sends once, and does not answer for it, loses nothing: input that no state covers is delivered again
/// on the agent's next node.
#[test]
fn unsaved_deliveries_repeat_after_move() {
    let files = [("sums.mas2j", "MAS sums { agents: idle; }"), ("idle.asl", "!wait. +!wait <- .wait(600000).")];
    let (mut nodes, mut memo) = (ClusterNodes::new(&files, 2), Memo::default());
    nodes.serve(0, 0..8);
    let home = nodes.nodes[0].platform.partition_of("bob").expect("it has partitions").0;
    let mut tab = StoredClient::with_bob(&nodes.nodes[0].platform.host(), OnLeave::Wait, true);
    tab.until(&mut memo, |tab, _| tab.is_created);
    tab.state.push(0);
    tab.save(0);
    tab.until(&mut memo, |_, memo| memo.safe.is_some());
    let bob = Aid::local("bob");
    nodes.nodes[0].platform.send(AclMessage::new(Performative::Inform, Aid::local("x"), bob, 7));
    tab.hears(7, &mut memo);
    assert!(nodes.pass_on(0, 1, &[home]));
    tab.until(&mut memo, |tab, _| tab.ended.is_some());
    let mut tab = StoredClient::with_bob(&nodes.nodes[1].platform.host(), OnLeave::Wait, true);
    tab.hears(7, &mut memo);
    for node in &nodes.nodes {
        node.platform.wait_idle();
        assert_eq!(node.platform.counters().check(), Ok(()));
    }
}

#[test]
fn newest_save_covers_its_messages() {
    in_two_processes(
        OnLeave::Wait,
        |_, tab, memo| {
            tab.tell("zoe", "more");
            while tab.state.len() < 2 {
                let told = tab.hear(memo);
                tab.state.extend(told.iter().map(|(_, number)| number));
                for (frame, number) in told {
                    if number == 1 {
                        (0..20).for_each(|_| tab.save(frame));
                    }
                }
            }
            let last = tab.saves.len();
            assert!(last >= 20);
            tab.until(memo, |_, memo| memo.safe.is_some());
        },
        |_, tab, memo| {
            tab.until(memo, |tab, _| tab.is_created);
            assert!(tab.had_state);
        },
    );
}

#[test]
fn kept_agent_refuses_other_clients() {
    in_two_processes(
        OnLeave::Wait,
        |_, tab, memo| {
            tab.state = vec![7];
            tab.save(0);
            tab.until(memo, |_, memo| memo.safe.is_some());
        },
        |platform, tab, memo| {
            let mut stranger = StoredClient::open(&platform.host(), "theirs");
            stranger.say(|number| SessionFrame::Create(Create { number, agent: BOB, name: "bob".into() }));
            stranger.until(&mut Memo::default(), |tab, _| tab.refused == Some(ErrorCode::NameTaken));
            tab.until(memo, |tab, _| tab.is_created);
            assert_eq!(tab.state, [7]);
            tab.say(|number| SessionFrame::End(EndFrame { number, agent: BOB }));
            tab.until(memo, |tab, _| tab.ended.is_some());
        },
    );
    in_two_processes(
        OnLeave::Wait,
        |platform, tab, memo| {
            tab.save(0);
            tab.until(memo, |_, memo| memo.safe.is_some());
            assert!(platform.kill(Aid::local("bob")));
            tab.until(memo, |tab, _| tab.ended.is_some());
            platform.wait_idle();
            memo.safe = None;
        },
        |_, tab, memo| {
            tab.until(memo, |tab, _| tab.is_created);
            assert!(!tab.had_state, "it was killed");
        },
    );
}

#[test]
fn recovering_node_leaves_names_undecided() {
    let (memory, lines) = (Arc::new(Memory::new(4)), PrintedLines::default());
    let platform = process(&memory, 1, &lines);
    let (mut tab, mut memo) = (StoredClient::with_bob(&platform.host(), OnLeave::Wait, false), Memo::default());
    tab.until(&mut memo, |tab, _| tab.is_created);
    tab.save(0);
    tab.until(&mut memo, |_, memo| memo.safe.is_some());
    platform.stop();
    let platform = empty_process(&memory, 2, &lines);
    let host = platform.host();
    let not_yet = |name: &str| matches!(host.may_lodge(name.into()), Err(CreateError::NotYet(_)));
    assert!(not_yet("bob") && not_yet("zoe"));
    let founders = [durable("zoe", Zoe::default()), durable("amy", Amy::default())];
    platform.spawn_together(founders).expect("they go on");
    assert_eq!(host.may_lodge("bob".into()), Ok(()));
    platform.stop();
}

#[test]
fn released_agent_is_gone_after_restart() {
    in_two_processes(
        OnLeave::Wait,
        |platform, tab, memo| {
            tab.save(0);
            tab.until(memo, |_, memo| memo.safe.is_some());
            tab.say(|number| SessionFrame::Keep(Keep { number, agent: BOB, policy: OnLeave::End, holds: false }));
            tab.tell("amy", 1);
            tab.hear(memo);
            platform.wait_idle();
            memo.safe = None;
        },
        |_, tab, memo| {
            // Its name is free when it has ended.
            let began = Instant::now();
            while !tab.is_created {
                tab.hear(memo);
                if tab.refused.take().is_some() {
                    *tab = StoredClient::with_bob(&tab.host.clone(), OnLeave::Wait, false);
                }
                assert!(began.elapsed() < Duration::from_secs(60), "its name is not free");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(!tab.had_state, "it was not to be kept");
        },
    );
}
