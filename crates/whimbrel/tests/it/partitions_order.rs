//! Messages of one durable agent to another arrive in order, while partitions pass from node to node and if a message
//! is lost.

use std::sync::{Arc, Mutex};

use whimbrel::platform::Links;
use whimbrel::platform::ams::AgentKind;
use whimbrel::platform::link::News;
use whimbrel::platform::route::{NodeId, ShardIndex};
use whimbrel::platform::store::Epoch;
use whimbrel::store::Memory;
use whimbrel::{AclMessage, Aid, Performative, Platform, Society, Value};
use whimbrel_acl::{Envelope, MessageBody, Numbered};
use whimbrel_testkit::Random;

use super::Scratch;
use super::cluster::{Nodes, PARTITIONS, wait_for};
use super::durable::Lines;

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
    let mut nodes = Nodes::new(&[("sums.mas2j", TICKS), ("ticker.asl", TICKER), ("ledger.asl", LEDGER)], 3);
    let ledger = nodes.nodes[0].platform.partition_of("ledger".into()).expect("it is a cluster").0;
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

/// Links to one other node, which notes requests to repeat messages.
#[derive(Default)]
struct Peer {
    asked: Mutex<Vec<(u16, u64)>>,
}

impl Links for Peer {
    fn send(&self, _to: NodeId, batch: &mut Vec<Envelope>, _from: ShardIndex) -> usize {
        batch.clear();
        100
    }

    fn tell_all(&self, _news: News) {}

    fn tell(&self, _to: NodeId, news: News) {
        if let News::Serves { partitions, .. } = news {
            self.asked.lock().unwrap().extend(partitions);
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

/// A message with this number from another node's agent, behind that one, in a telling.
fn numbered(number: u64, after: u64, telling: u64) -> Envelope {
    let to = Aid::local("receiver");
    let content = Value::term("heard", [Value::Int(number as i64)]);
    let message = AclMessage::new(Performative::Other("achieve".into()), Aid::local("sender"), to, content);
    Envelope {
        to,
        body: MessageBody::Numbered(Box::new(Numbered { number, after, telling, bulk: 0, message: Arc::new(message) })),
    }
}

#[test]
fn missing_message_is_said_again() {
    let scratch = Scratch::with(&[("receiver.asl", "+!heard(N) <- .print(N).")]);
    let mut society = Society::open(&scratch.0.join("receiver.asl")).expect("it is right");
    let (lines, journal) = (Lines::default(), Arc::new(Memory::new(PARTITIONS)));
    let platform =
        Platform::builder().workers(1).loader(society.loader()).output(lines.clone()).clustered(journal as _).build();
    let peer = Arc::new(Peer::default());
    platform.link_with(Arc::<Peer>::clone(&peer));
    let partition = |name: &str| platform.partition_of(name.into()).expect("it has partitions");
    let (here, there) = (partition("receiver"), partition("sender"));
    assert_ne!(here, there);
    platform.adopt(&[(here, Epoch(1))], society.some(|_| true)).expect("nobody else has it");
    let agents = vec![("sender".into(), AgentKind::AgentSpeak)];
    platform.station().hear(NodeId(1), News::Serves { partitions: vec![(there.0, 1)], agents, more: false });
    let tell = |telling: u64, messages: &[(u64, u64)]| {
        let again = News::Again { partitions: vec![(here.0, 1)], telling };
        platform.station().hear(NodeId(1), again);
        let mut batch = messages.iter().map(|(number, after)| numbered(*number, *after, telling)).collect();
        platform.station().arrive(NodeId(1), &mut batch);
    };
    let printed =
        || -> Vec<String> { lines.0.lock().unwrap().iter().filter(|line| !line.contains("LOG")).cloned().collect() };
    tell(1, &[(1, 0), (3, 2), (4, 3)]);
    wait_for("the sender's node is asked", || !peer.asked.lock().unwrap().is_empty() && !printed().is_empty());
    assert_eq!((printed(), &peer.asked.lock().unwrap()[..]), (vec!["[receiver] 1".to_owned()], &[(here.0, 1)][..]));
    tell(2, &[(2, 0), (3, 2), (4, 3)]);
    wait_for("all is said again", || printed().len() == 4);
    assert_eq!(printed(), [1, 2, 3, 4].map(|number| format!("[receiver] {number}")));
    assert_eq!(peer.asked.lock().unwrap().len(), 1, "it is asked once");
}
