//! Moves of agents to nodes without their code, on wires that the tests control.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{CodeHash, Origin, State};
use whimbrel_platform::limits::{CODE_PART_BYTES, HOP_PIECE_BYTES, HOP_STATE_BYTES_MAX};
use whimbrel_platform::link::News;
use whimbrel_platform::mobility::{FetchError, HopError, HopNews, HopOffer, Part};
use whimbrel_platform::policy::Policy;
use whimbrel_platform::{AgentBody, Next, Time, Turn};
use whimbrel_runtime::{CodeFound, ProgramLoader};

use crate::hops::{Nodes, WireItem};

/// Agent that does nothing.
struct Idler(CodeHash);

impl AgentBody for Idler {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while turn.mailbox.take().is_some() {}
        Next::Wait
    }

    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        Some(vec![1; 100])
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin::Module { path: "idler.wasm".into(), hash: self.0.0 })
    }
}

/// Agent with a state, and a program that every node has.
struct StateCarrier(Vec<u8>);

impl AgentBody for StateCarrier {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while turn.mailbox.take().is_some() {}
        Next::Wait
    }

    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin::Program { path: "carrier.asl".into(), fingerprint: 1, code: None })
    }
}

/// Returns a checksum that serves as hash in these tests.
fn hash(code: &[u8]) -> CodeHash {
    let sum = code.iter().fold(code.len() as u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&sum.to_le_bytes());
    CodeHash(hash)
}

/// Loader of a node that records its code, and counts admissions.
#[derive(Clone, Default)]
struct RecordingLoader {
    own: Arc<Mutex<BTreeMap<CodeHash, Arc<[u8]>>>>,
    foreign: Arc<Mutex<BTreeMap<CodeHash, Arc<[u8]>>>>,
    taken: Arc<AtomicUsize>,
    /// States of carriers that arrived.
    restored: Arc<Mutex<Vec<CodeHash>>>,
}

impl ProgramLoader for RecordingLoader {
    fn load(&self, _name: Symbol, path: &str, _: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        Err(format!("there is no {path}"))
    }

    fn restore(&self, _: Symbol, origin: &Origin, states: &[State], _: Time) -> Result<Box<dyn AgentBody>, String> {
        match (origin.code(), states) {
            (Some(code), _) => Ok(Box::new(Idler(code))),
            (None, [State::Whole(state)]) => {
                self.restored.lock().unwrap().push(hash(state));
                Ok(Box::new(StateCarrier(state.clone())))
            }
            _ => Err("it has no state".into()),
        }
    }

    fn find_code(&self, origin: &Origin) -> CodeFound {
        let Some(code) = origin.code() else { return CodeFound::Own };
        let has = |codes: &Mutex<BTreeMap<CodeHash, Arc<[u8]>>>| codes.lock().unwrap().contains_key(&code);
        match (has(&self.own), has(&self.foreign)) {
            (true, _) => CodeFound::Own,
            (_, true) => CodeFound::Foreign,
            _ => CodeFound::Missing,
        }
    }

    fn recall_code(&self, origin: &Origin) -> bool {
        self.find_code(origin) == CodeFound::Foreign
    }

    fn code(&self, code: CodeHash) -> Option<Arc<[u8]>> {
        let own = self.own.lock().unwrap().get(&code).cloned();
        own.or_else(|| self.foreign.lock().unwrap().get(&code).cloned())
    }

    fn admit_code(&self, origin: &Origin, bytes: Vec<u8>) -> Result<(), FetchError> {
        let code = origin.code().unwrap();
        if hash(&bytes) != code {
            return Err(FetchError::WrongHash);
        }
        assert_ne!(bytes, b"crash", "it was to crash");
        if bytes == b"bad" {
            return Err(FetchError::Inadmissible("it is bad".into()));
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.foreign.lock().unwrap().insert(code, bytes.into());
        Ok(())
    }
}

/// Creates nodes, the first of which has this code and the others none.
fn nodes(count: usize, code: &[u8], policy: &str) -> (Nodes, Vec<RecordingLoader>) {
    let loaders: Vec<RecordingLoader> = (0..count).map(|_| RecordingLoader::default()).collect();
    loaders[0].own.lock().unwrap().insert(hash(code), code.into());
    let policy: Policy = serde_json::from_str(policy).unwrap();
    let nodes = Nodes::with(count, 2, |me, builder| {
        let builder = builder.loader(loaders[me].clone());
        if me == 1 { builder.policy(policy.clone()) } else { builder }
    });
    (nodes, loaders)
}

fn idlers(nodes: &Nodes, count: usize, code: &[u8]) -> Vec<Aid> {
    let body = |_| Box::new(Idler(hash(code))) as Box<dyn AgentBody>;
    let all = (0..count).map(|number| (Symbol::new(&format!("idler{number}")), AgentKind::Wasm, body(number)));
    let aids = nodes.at(0).spawn_together(all).unwrap();
    nodes.settle();
    aids
}

type Outcomes = Arc<Mutex<Vec<Result<(), HopError>>>>;

fn go(nodes: &Nodes, from: usize, agents: &[Aid], to: &str) -> Outcomes {
    let outcomes = Outcomes::default();
    for agent in agents {
        let outcomes = Arc::clone(&outcomes);
        nodes.at(from).move_agent(*agent, to, move |outcome| outcomes.lock().unwrap().push(outcome));
    }
    outcomes
}

/// Delivers everything, after `tamper`. Returns the requested offsets in order.
fn settle(nodes: &Nodes, tamper: impl Fn(&mut Part)) -> Vec<u64> {
    let mut asked = Vec::new();
    loop {
        nodes.idle();
        let mut any = false;
        for (from, to) in nodes.pairs() {
            if let Some(WireItem::News(News::Hop(news))) =
                nodes.wires[from].queues.lock().unwrap()[to].as_mut().and_then(|wire| wire.front_mut())
            {
                match news {
                    HopNews::Lacks { at, .. } => asked.push(*at),
                    HopNews::Code(_, part) => tamper(part),
                    _ => {}
                }
            }
            any |= nodes.step(from, to);
        }
        if !any {
            return asked;
        }
    }
}

#[test]
fn thousand_agents_transfer_code_once() {
    let code = vec![3; CODE_PART_BYTES * 2 + 1];
    let (nodes, loaders) = nodes(3, &code, "{}");
    let agents = idlers(&nodes, 1000, &code);
    let outcomes = go(&nodes, 0, &agents, "n1");
    let part = CODE_PART_BYTES as u64;
    assert_eq!(settle(&nodes, |_| ()), [0, part, part * 2]);
    let arrived = outcomes.lock().unwrap().iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!((arrived, loaders[1].taken.load(Ordering::Relaxed)), (1000, 1));
    assert_eq!((nodes.homes("idler0"), nodes.homes("idler999")), (vec![1], vec![1]));
    // On to the third node, which gets the code from the second.
    go(&nodes, 1, &agents[..1], "n2");
    assert_eq!(settle(&nodes, |_| ()), [0, part, part * 2]);
    assert_eq!(nodes.homes("idler0"), [2]);
    // And home, where the code is known.
    go(&nodes, 2, &agents[..1], "n0");
    assert!(settle(&nodes, |_| ()).is_empty());
    assert_eq!(nodes.homes("idler0"), [0]);
    nodes.counters();
}

/// Returns the reason why an agent with this code stays, after `tamper` on its way.
fn stays(code: &[u8], policy: &str, tamper: impl Fn(&mut Part)) -> String {
    let (nodes, _) = nodes(2, code, policy);
    let agents = idlers(&nodes, 2, code);
    let outcomes = go(&nodes, 0, &agents, "n1");
    settle(&nodes, tamper);
    assert_eq!((nodes.homes("idler0"), nodes.homes("idler1")), (vec![0], vec![0]));
    nodes.counters();
    let outcomes = outcomes.lock().unwrap();
    assert_eq!((outcomes.len(), &outcomes[0]), (2, &outcomes[1]));
    outcomes[0].clone().unwrap_err().to_string()
}

#[test]
fn agent_with_bad_code_stays() {
    let cannot = |why: &str| format!("node n1 cannot take it: {why}");
    assert_eq!(stays(b"good", "{}", |part| part.bytes[0] ^= 1), cannot("its code does not match its hash"));
    assert_eq!(stays(b"bad", "{}", |_| ()), cannot("its code cannot be run here: it is bad"));
    assert!(stays(b"crash", "{}", |_| ()).contains("it was to crash"));
    let misfit = cannot("the parts of its code do not fit together");
    assert_eq!(stays(b"good", "{}", |part| part.at += 1), misfit);
    assert_eq!(stays(b"good", "{}", |part| part.bytes.clear()), misfit);
    assert_eq!(stays(b"good", "{}", |part| part.bytes.resize(CODE_PART_BYTES + 1, 0)), misfit);
    assert!(stays(b"good", "{}", |part| part.of = u64::MAX).contains("at most 16777216"));
    assert_eq!(stays(b"good", "{}", |part| part.of = 0), cannot("the node that it comes from cannot give its code"));
}

#[test]
fn policy_decides_on_foreign_code() {
    let object = format!("wasm:{}", hash(b"good"));
    let why = format!(
        "node n1 cannot take it: its program is not there, and the policy there takes none from elsewhere (code = \"{object}\")"
    );
    assert_eq!(stays(b"good", r#"{"quota": [{"who": "*", "messages_per_s": 9}]}"#, |_| ()), why);
    assert_eq!(stays(b"good", r#"{"allow": [{"who": "*", "code": "asl:*"}]}"#, |_| ()), why);
    assert_eq!(stays(b"good", r#"{"deny": [{"who": "node:n0", "code": "*"}]}"#, |_| ()), why);
    for rule in ["*", "wasm:*", object.as_str()] {
        let (nodes, loaders) =
            nodes(2, b"good", &format!(r#"{{"allow": [{{"who": "agent:idler0", "code": "{rule}"}}]}}"#));
        let agents = idlers(&nodes, 2, b"good");
        go(&nodes, 0, &agents, "n1");
        settle(&nodes, |_| ());
        assert_eq!((nodes.homes("idler0"), nodes.homes("idler1")), (vec![1], vec![0]), "{rule}");
        // The code is no program of the node itself because an agent brought it.
        go(&nodes, 0, &agents[1..], "n1");
        settle(&nodes, |_| ());
        assert_eq!((nodes.homes("idler1"), loaders[1].taken.load(Ordering::Relaxed)), (vec![0], 1));
    }
}

#[test]
fn code_goes_only_to_destination() {
    let (nodes, _) = nodes(3, b"good", "{}");
    let agents = idlers(&nodes, 1, b"good");
    go(&nodes, 0, &agents, "n1");
    nodes.idle();
    let hop = {
        let queues = nodes.wires[0].queues.lock().unwrap();
        let Some(WireItem::News(News::Hop(HopNews::Offer(offer)))) = queues[1].as_ref().unwrap().front() else {
            panic!()
        };
        let HopOffer { hop, .. } = **offer;
        hop
    };
    // Another node asks; and this one, for another hop.
    let other = whimbrel_platform::mobility::HopId { number: hop.number + 1, ..hop };
    let station = nodes.at(0).station();
    station.hear(whimbrel_platform::route::NodeId(2), News::Hop(HopNews::Lacks { hop, at: 0 }));
    station.hear(whimbrel_platform::route::NodeId(1), News::Hop(HopNews::Lacks { hop: other, at: 0 }));
    let gives = |to: usize| {
        let queues = nodes.wires[0].queues.lock().unwrap();
        queues[to].as_ref().unwrap().iter().any(|item| matches!(item, WireItem::News(News::Hop(HopNews::Code(..)))))
    };
    assert!(!gives(1) && !gives(2));
    // Parts that were not requested are ignored.
    let station = nodes.at(2).station();
    let part = Part { at: 0, of: 4, bytes: b"good".to_vec() };
    station.hear(whimbrel_platform::route::NodeId(0), News::Hop(HopNews::Code(hop, part)));
    settle(&nodes, |_| ());
    assert_eq!(nodes.homes("idler0"), [1]);
}

#[test]
fn pending_code_ends_with_agent() {
    let (mut nodes, loaders) = nodes(3, b"good", "{}");
    let agents = idlers(&nodes, 3, b"good");
    let outcomes = go(&nodes, 0, &agents, "n1");
    nodes.idle();
    // The three offers arrive, and one request is on its way back.
    while nodes.step(0, 1) {}
    nodes.idle();
    assert!(nodes.at(0).kill(agents[0]));
    nodes.idle();
    settle(&nodes, |_| ());
    assert_eq!((nodes.homes("idler0"), nodes.homes("idler1")), (vec![], vec![1]));
    assert_eq!(outcomes.lock().unwrap().iter().filter(|outcome| outcome.is_ok()).count(), 2);
    assert_eq!(loaders[1].taken.load(Ordering::Relaxed), 1);
    // The second time, the node that was asked is lost.
    go(&nodes, 1, &agents[1..], "n2");
    nodes.idle();
    while nodes.step(1, 2) {}
    nodes.idle();
    nodes.kill(1);
    settle(&nodes, |_| ());
    assert_eq!((nodes.homes("idler1"), loaders[2].taken.load(Ordering::Relaxed)), (vec![], 0));
    nodes.counters();
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut random = 1_u64;
    let next = |_| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 56) as u8
    };
    (0..bytes).map(next).collect()
}

/// Sends a carrier with this state. Returns the number of pieces after the offer, and the outcome.
fn carry(state: &[u8], tamper: impl Fn(&mut Part)) -> (usize, Result<(), HopError>) {
    let (nodes, loaders) = nodes(2, b"", "{}");
    let body = Box::new(StateCarrier(state.to_vec())) as Box<dyn AgentBody>;
    let aids = nodes.at(0).spawn_together([(Symbol::new("carrier"), AgentKind::AgentSpeak, body)]).unwrap();
    nodes.settle();
    let outcomes = go(&nodes, 0, &aids, "n1");
    let mut pieces = 0;
    loop {
        nodes.idle();
        let on_the_way = |item: &&mut WireItem| matches!(item, WireItem::News(News::Hop(HopNews::State(..))));
        let mut queues = nodes.wires[0].queues.lock().unwrap();
        let mut waiting: Vec<&mut WireItem> = queues[1].as_mut().unwrap().iter_mut().filter(on_the_way).collect();
        assert!(waiting.len() <= 1, "others use the link, too");
        if let Some(WireItem::News(News::Hop(HopNews::State(_, piece)))) = waiting.first_mut() {
            pieces += 1;
            tamper(piece);
        }
        drop(queues);
        if !(nodes.step(0, 1) | nodes.step(1, 0)) {
            break;
        }
    }
    let outcome = outcomes.lock().unwrap().pop().unwrap();
    let expected = if outcome.is_ok() { (vec![1], vec![hash(state)]) } else { (vec![0], vec![]) };
    assert_eq!((nodes.homes("carrier"), loaders[1].restored.lock().unwrap().clone()), expected);
    nodes.counters();
    (pieces, outcome)
}

#[test]
fn large_states_go_in_pieces() {
    assert_eq!(carry(&noise(HOP_PIECE_BYTES), |_| ()), (0, Ok(())));
    assert_eq!(carry(&noise(HOP_PIECE_BYTES * 3 + 1), |_| ()), (3, Ok(())));
    // Repetitive states take little room.
    assert_eq!(carry(&b"a belief, ".repeat(100_000), |_| ()), (0, Ok(())));
    assert_eq!(carry(&vec![7; HOP_STATE_BYTES_MAX], |_| ()), (1, Ok(())));
    let too_large = carry(&vec![7; HOP_STATE_BYTES_MAX + 1], |_| ()).1;
    assert!(matches!(too_large, Err(HopError::TooLarge { .. })), "{too_large:?}");
}

#[test]
fn bad_state_pieces_are_refused() {
    let state = noise(HOP_PIECE_BYTES * 2 + 5);
    let tampers: [fn(&mut Part); 5] = [
        |piece| piece.at += 1,
        |piece| piece.of += 1,
        |piece| piece.bytes.clear(),
        |piece| piece.bytes.resize(HOP_PIECE_BYTES * 3, 0),
        |piece| piece.of = u64::MAX,
    ];
    for tamper in tampers {
        let (_, outcome) = carry(&state, tamper);
        assert!(outcome.unwrap_err().to_string().ends_with("its state came in pieces that do not fit together"));
    }
}
