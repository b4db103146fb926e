//! Messages of one durable agent to another arrive in order, while partitions pass from node to node, if a message is
//! lost, and in whatever order the receiver takes them.

use std::sync::{Arc, Mutex};

use whimbrel::platform::ams::AgentKind;
use whimbrel::platform::capabilities::Durable;
use whimbrel::platform::durable::Origin;
use whimbrel::platform::link::News;
use whimbrel::platform::route::{NodeId, ShardIndex};
use whimbrel::platform::store::{Epoch, Partition};
use whimbrel::platform::{AgentBody, Links, Next, Time, Turn};
use whimbrel::store::Memory;
use whimbrel::{AclMessage, Aid, Performative, Platform, PlatformBuilder, Society, Value};
use whimbrel_acl::{Envelope, MessageBody, Numbered, Symbol, Template};
use whimbrel_testkit::Random;

use super::Scratch;
use super::cluster::{ClusterNodes, PARTITIONS, wait_for};
use super::durable::PrintedLines;

const TICKERS: usize = 12;
const TICKS: &str = "MAS ticks { agents: ledger; ticker #12; }";
/// Agent that asks three at a time, and the next three when those are answered.
const TICKER: &str = "
!go(1).
+!go(N) : halted <- .my_name(Me); .send(ledger, achieve, done(Me, N)).
+!go(N) <- .my_name(Me); .send(ledger, achieve, tick(Me, N)); .send(ledger, achieve, tick(Me, N+1));
    .wait(1); .send(ledger, achieve, tick(Me, N+2)).
";
const LEDGER: &str = "
@next[atomic] +!tick(W, N) : last(W, L) & N == L + 1 <-
    -last(W, L); +last(W, N); if (N mod 3 == 0) { .send(W, achieve, go(N+1)); }.
@first[atomic] +!tick(W, 1) <- +last(W, 1).
@done[atomic] +!done(W, N) : last(W, L) & N == L + 1 <-
    +finished(W); .count(finished(_), C); if (C == 12) { .print(\"all in order\"); }.
+!tick(W, N) <- ?last(W, L); .print(\"after \", L, \" of \", W, \" comes \", N).
+!done(W, N) <- ?last(W, L); .print(\"after \", L, \" of \", W, \" comes the end, \", N).
";

/// Returns how often partitions pass on, from `WHIMBREL_SEEDS`.
fn passages() -> u64 {
    std::env::var("WHIMBREL_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

#[test]
fn passing_partitions_keep_order() {
    let mut nodes = ClusterNodes::new(&[("sums.mas2j", TICKS), ("ticker.asl", TICKER), ("ledger.asl", LEDGER)], 3);
    let ledger = nodes.nodes[0].platform.partition_of("ledger").expect("it is a cluster").0;
    nodes.serve(0, 0..PARTITIONS);
    let (mut at, mut random) = ([0; PARTITIONS as usize], Random::new(1));
    for passage in 0..passages() {
        // The receiver's partition half of the time, now and then with a sender's.
        let one = random.between(0..=u64::from(PARTITIONS) - 1) as u16;
        let which = if random.one_in(2) { ledger } else { one };
        let from = at[usize::from(which)];
        let to = (from + random.between(1..=2) as usize) % 3;
        assert!(nodes.pass_on(from, to, &[which]), "the society goes on");
        at[usize::from(which)] = to;
        assert_eq!(nodes.lines().first(), None, "at passage {passage}, and {} more", nodes.lines().len());
    }
    for ticker in 1..=TICKERS {
        let to = Aid::local(format!("ticker{ticker}").as_str());
        nodes.nodes[0].platform.send(AclMessage::new(
            Performative::Other("tell".into()),
            Aid::local("x"),
            to,
            Value::atom("halted"),
        ));
    }
    nodes.wait_for_line("all in order");
    assert_eq!(nodes.lines().len(), 1, "{:?}", nodes.lines());
}

/// Links to one other node, which notes what it is told.
#[derive(Default)]
struct PlayedPeer {
    /// Requests to repeat messages.
    asked: Mutex<Vec<(u16, u64)>>,
    /// Numbers of messages that are written as handled.
    handled: Mutex<Vec<u64>>,
}

impl Links for PlayedPeer {
    fn send(&self, _to: NodeId, batch: &mut Vec<Envelope>, _from: ShardIndex) -> usize {
        batch.clear();
        100
    }

    fn tell_all(&self, _news: News) {}

    fn tell(&self, _to: NodeId, news: News) {
        match news {
            News::Serves { partitions, .. } => self.asked.lock().unwrap().extend(partitions),
            News::Facts(facts) => {
                self.handled.lock().unwrap().extend(facts.handled.iter().map(|receipt| receipt.number));
            }
            _ => {}
        }
    }

    fn go_on(&self) {}

    fn waiting(&self) -> u64 {
        0
    }

    fn me(&self) -> String {
        "n1".to_owned()
    }

    fn name_of(&self, _node: NodeId) -> Option<String> {
        Some("n2".to_owned())
    }
}

/// Node with the agent `receiver`, linked to one that serves the agent `sender`.
struct ReceiverNode {
    platform: Platform,
    peer: Arc<PlayedPeer>,
    here: Partition,
}

impl ReceiverNode {
    fn new(builder: PlatformBuilder, agents: Vec<(Symbol, AgentKind, Box<dyn AgentBody>)>) -> Self {
        let platform = builder.workers(1).clustered(Arc::new(Memory::new(PARTITIONS)) as _).build();
        let peer = Arc::new(PlayedPeer::default());
        platform.link_with(Arc::<PlayedPeer>::clone(&peer));
        let partition = |name: &str| platform.partition_of(name).expect("it has partitions");
        let (here, there) = (partition("receiver"), partition("sender"));
        assert_ne!(here, there);
        let adopted = platform.adopt(&[(here, Epoch(1))], agents).expect("nobody else has it");
        assert!(adopted.failed.is_empty(), "{:?}", adopted.failed);
        let agents = vec![("sender".into(), AgentKind::AgentSpeak)];
        platform.station().hear(NodeId(1), News::Serves { partitions: vec![(there.0, 1)], agents, more: false });
        Self { platform, peer, here }
    }

    /// Has the sender's node say messages again: each by its number and that of the one before it.
    fn tell(&self, replay_round: u64, messages: &[(u64, u64)]) {
        let again = News::Again { partitions: vec![(self.here.0, 1)], replay_round };
        self.platform.station().hear(NodeId(1), again);
        let mut batch = messages.iter().map(|(number, after)| numbered(*number, *after, replay_round)).collect();
        self.platform.station().arrive(NodeId(1), &mut batch);
    }
}

/// A message with this number from another node's agent, behind the one with the number `after`, in a replay round.
fn numbered(number: u64, after: u64, replay_round: u64) -> Envelope {
    let to = Aid::local("receiver");
    let content = Value::term("heard", [Value::Int(number as i64)]);
    let message = AclMessage::new(Performative::Other("achieve".into()), Aid::local("sender"), to, content)
        .in_conversation(number.to_string());
    Envelope {
        to,
        body: MessageBody::Numbered(Box::new(Numbered {
            number,
            after,
            replay_round,
            bulk: 0,
            message: Arc::new(message),
        })),
    }
}

fn printed(lines: &PrintedLines) -> Vec<String> {
    lines.0.lock().unwrap().iter().filter(|line| !line.contains("LOG")).cloned().collect()
}

#[test]
fn missing_message_is_said_again() {
    let scratch = Scratch::with(&[("receiver.asl", "+!heard(N) <- .print(N).")]);
    let mut society = Society::open(&scratch.path().join("receiver.asl")).expect("it is right");
    let lines = PrintedLines::default();
    let builder = Platform::builder().loader(society.loader()).output(lines.clone());
    let stage = ReceiverNode::new(builder, society.some(|_| true));
    let asked = || stage.peer.asked.lock().unwrap().clone();
    stage.tell(1, &[(1, 0), (3, 2), (4, 3)]);
    wait_for("the sender's node is asked", || !asked().is_empty() && !printed(&lines).is_empty());
    assert_eq!((printed(&lines), asked()), (vec!["[receiver] 1".to_owned()], vec![(stage.here.0, 1)]));
    stage.tell(2, &[(2, 0), (3, 2), (4, 3)]);
    wait_for("all is said again", || printed(&lines).len() == 4);
    assert_eq!(printed(&lines), [1, 2, 3, 4].map(|number| format!("[receiver] {number}")));
    assert_eq!(asked().len(), 1, "it is asked once");
}

/// Agent that waits for a message of one conversation, as guests do in a call, and then takes all others.
struct Choosy {
    awaited: Option<Template>,
}

impl Choosy {
    fn agents(awaited: &str) -> Vec<(Symbol, AgentKind, Box<dyn AgentBody>)> {
        let body = Self { awaited: Some(Template::Conversation(awaited.into())) };
        vec![("receiver".into(), AgentKind::Native, Box::new(body))]
    }
}

impl AgentBody for Choosy {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let heard = |turn: &Turn<'_>, message: MessageBody| turn.services.print(turn.aid, &message.content.to_string());
        if let Some(awaited) = &self.awaited {
            let Some(message) = turn.mailbox.take_matching(awaited) else { return Next::Wait };
            heard(turn, message);
            self.awaited = None;
        }
        while let Some(message) = turn.mailbox.take() {
            heard(turn, message);
        }
        Next::Wait
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin::Module { path: "choosy.wasm".to_owned(), hash: [0; 32] })
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        Some(self)
    }
}

impl Durable for Choosy {
    fn save_whole(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        out.push(u8::from(self.awaited.is_some()));
        true
    }

    fn save_delta(&mut self, _now: Time, _out: &mut Vec<u8>) -> bool {
        false
    }
}

#[test]
fn awaited_message_is_taken_before_its_predecessors() {
    let lines = PrintedLines::default();
    let stage = ReceiverNode::new(Platform::builder().output(lines.clone()), Choosy::agents("3"));
    stage.tell(1, &[(1, 0), (2, 1)]);
    stage.tell(2, &[(1, 0), (2, 1), (3, 2), (4, 3)]);
    wait_for("all are taken", || printed(&lines).len() == 4);
    assert_eq!(printed(&lines), [3, 1, 2, 4].map(|number| format!("[receiver] heard({number})")));
    assert_eq!(*stage.peer.asked.lock().unwrap(), []);
    wait_for("all are written", || stage.peer.handled.lock().unwrap().len() == 4);
}

#[test]
fn full_mailbox_drops_doubles_and_writes_refusals() {
    let stage = ReceiverNode::new(Platform::builder().mailbox_limits(1, 2), Choosy::agents("never"));
    stage.tell(1, &[(1, 0), (2, 1), (3, 2)]);
    let handled = || stage.peer.handled.lock().unwrap().clone();
    // The agent takes nothing, so it has no step in which that could be written.
    wait_for("the refusal is written", || handled() == [3]);
    stage.tell(2, &[(1, 0), (2, 1), (3, 2), (4, 3)]);
    wait_for("the next one is refused, too", || handled().len() == 2);
    assert_eq!(handled(), [3, 4]);
    assert_eq!(stage.platform.dead_letters().len(), 2, "nobody is told failure of what waits, or twice");
    let counters = stage.platform.counters();
    assert_eq!((counters.queued, counters.dead), (2, 2));
    assert_eq!(counters.sent + counters.came, counters.handled + counters.dead + counters.queued + counters.left);
}
