//! Code that comes with agents: once for all of them, and whatever their nodes do.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::durable::CodeHash;
use whimbrel_platform::limits::{CODE_BYTES_MAX, CODE_FETCH_MS, CODE_FETCHES_MAX, CODE_PART_BYTES, CODE_PART_MS};
use whimbrel_platform::mobility::{FetchError, FetchStep, Fetches, HopId, InboundHop, Part};
use whimbrel_platform::route::NodeId;

fn code(number: u8) -> CodeHash {
    CodeHash([number; 32])
}

fn bearer(node: u32, number: u64) -> InboundHop {
    InboundHop { node: NodeId(node), hop: HopId { agent: Symbol::new(&format!("a{number}")), number } }
}

fn steps(fetches: &mut Fetches) -> Vec<FetchStep> {
    std::iter::from_fn(|| fetches.poll_step()).collect()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Returns fetches with one agent of node 1, whose code is asked for.
fn asked() -> Fetches {
    let mut fetches = Fetches::default();
    fetches.handle_wanted(code(1), bearer(1, 1));
    fetches.handle_looked(code(1), false, Time::ZERO);
    assert_eq!(steps(&mut fetches), [FetchStep::Look(code(1), bearer(1, 1)), FetchStep::Ask(bearer(1, 1), 0)]);
    fetches
}

fn part(at: u64, of: u64, length: usize) -> Part {
    Part { at, of, bytes: vec![7; length] }
}

#[test]
fn thousand_agents_take_one_fetch() {
    let mut fetches = asked();
    for number in 2..=1000 {
        fetches.handle_wanted(code(1), bearer(1 + (number % 3) as u32, number));
    }
    assert_eq!(steps(&mut fetches), []);
    fetches.handle_part(bearer(1, 1), &part(0, 5, 2), at(1));
    fetches.handle_part(bearer(1, 1), &part(2, 5, 3), at(2));
    let came = vec![7; 5];
    assert_eq!(steps(&mut fetches), [FetchStep::Ask(bearer(1, 1), 2), FetchStep::Admit(code(1), bearer(1, 1), came)]);
    fetches.handle_admitted(code(1), Ok(()));
    assert!(steps(&mut fetches).iter().all(|step| matches!(step, FetchStep::Go(_))) && fetches.is_quiet());
}

#[test]
fn kept_code_is_not_fetched() {
    let mut fetches = Fetches::default();
    fetches.handle_wanted(code(1), bearer(1, 1));
    fetches.handle_wanted(code(1), bearer(2, 2));
    fetches.handle_looked(code(1), true, Time::ZERO);
    let all = [FetchStep::Look(code(1), bearer(1, 1)), FetchStep::Go(bearer(1, 1)), FetchStep::Go(bearer(2, 2))];
    assert_eq!(steps(&mut fetches), all);
    assert!(fetches.is_quiet());
}

#[test]
fn misfit_part_ends_fetch() {
    let most = CODE_BYTES_MAX as u64;
    for (parts, why) in [
        (vec![part(0, 0, 0)], FetchError::None),
        (vec![part(0, most + 1, 1)], FetchError::TooLarge(most + 1)),
        (vec![part(0, u64::MAX, 1)], FetchError::TooLarge(u64::MAX)),
        (vec![part(1, 9, 1)], FetchError::Malformed),
        (vec![part(0, 9, 0)], FetchError::Malformed),
        (vec![part(0, 9, 10)], FetchError::Malformed),
        (vec![part(0, most, CODE_PART_BYTES + 1)], FetchError::Malformed),
        (vec![part(0, 9, 3), part(0, 9, 3)], FetchError::Malformed),
        (vec![part(0, 9, 3), part(3, 10, 3)], FetchError::Malformed),
        (vec![part(0, 9, 3), part(3, 9, 7)], FetchError::Malformed),
        (vec![part(0, 9, 3), part(3, 0, 0)], FetchError::None),
    ] {
        let mut fetches = asked();
        parts.iter().for_each(|part| fetches.handle_part(bearer(1, 1), part, Time::ZERO));
        assert_eq!(steps(&mut fetches).pop(), Some(FetchStep::Refuse(bearer(1, 1), why)), "{parts:?}");
        assert!(fetches.is_quiet());
    }
}

#[test]
fn lying_node_is_replaced() {
    let mut fetches = asked();
    fetches.handle_wanted(code(1), bearer(2, 2));
    fetches.handle_wanted(code(1), bearer(1, 3));
    fetches.handle_part(bearer(1, 1), &part(0, 1, 1), Time::ZERO);
    // Other nodes are ignored.
    fetches.handle_part(bearer(2, 2), &part(0, 1, 1), Time::ZERO);
    fetches.handle_admitted(code(1), Err(FetchError::WrongHash));
    let lie = |number| FetchStep::Refuse(bearer(1, number), FetchError::WrongHash);
    assert_eq!(steps(&mut fetches)[1..], [lie(1), lie(3), FetchStep::Look(code(1), bearer(2, 2))]);
    fetches.handle_looked(code(1), false, Time::ZERO);
    fetches.handle_part(bearer(1, 1), &part(0, 1, 1), Time::ZERO);
    assert_eq!(steps(&mut fetches), [FetchStep::Ask(bearer(2, 2), 0)]);
    // Bytes with the hash are the same from any node.
    fetches.handle_part(bearer(2, 2), &part(0, 1, 1), Time::ZERO);
    let why = FetchError::Inadmissible("no".into());
    fetches.handle_admitted(code(1), Err(why.clone()));
    assert_eq!(steps(&mut fetches).pop(), Some(FetchStep::Refuse(bearer(2, 2), why)));
}

#[test]
fn slow_node_is_replaced() {
    let mut fetches = asked();
    assert_eq!(fetches.poll_timeout(), at(CODE_PART_MS));
    fetches.handle_timeout(at(CODE_PART_MS - 1));
    assert_eq!(steps(&mut fetches), []);
    fetches.handle_timeout(at(CODE_PART_MS));
    assert_eq!(steps(&mut fetches), [FetchStep::Refuse(bearer(1, 1), FetchError::Late)]);
    // One byte at a time, each in time.
    let (mut fetches, mut now, mut sent) = (asked(), 0, 0);
    while now < CODE_FETCH_MS - CODE_PART_MS {
        now += CODE_PART_MS - 1;
        fetches.handle_part(bearer(1, 1), &part(sent, 1 << 20, 1), at(now));
        fetches.handle_timeout(at(now));
        sent += 1;
    }
    assert_eq!(fetches.poll_timeout(), at(CODE_FETCH_MS));
    fetches.handle_timeout(at(CODE_FETCH_MS));
    assert_eq!(steps(&mut fetches).pop(), Some(FetchStep::Refuse(bearer(1, 1), FetchError::Late)));
    assert!(fetches.is_quiet() && fetches.poll_timeout() == Time::NEVER);
}

#[test]
fn fetch_continues_for_another_agent() {
    let mut fetches = asked();
    fetches.handle_wanted(code(1), bearer(2, 2));
    fetches.handle_wanted(code(1), bearer(1, 3));
    fetches.handle_part(bearer(1, 1), &part(0, 9, 4), Time::ZERO);
    fetches.handle_cancelled(bearer(1, 1));
    assert_eq!(steps(&mut fetches), [FetchStep::Ask(bearer(1, 1), 4), FetchStep::Ask(bearer(1, 3), 4)]);
    fetches.handle_lost(NodeId(1));
    assert_eq!(steps(&mut fetches), [FetchStep::Look(code(1), bearer(2, 2))]);
    fetches.handle_cancelled(bearer(2, 2));
    fetches.handle_looked(code(1), false, Time::ZERO);
    assert!(fetches.is_quiet() && steps(&mut fetches).is_empty());
}

#[test]
fn node_gives_one_code_at_once() {
    let mut fetches = asked();
    fetches.handle_wanted(code(2), bearer(1, 2));
    fetches.handle_wanted(code(3), bearer(2, 3));
    assert_eq!(steps(&mut fetches), [FetchStep::Look(code(3), bearer(2, 3))]);
    // Another node, which is free, has it, too.
    fetches.handle_wanted(code(4), bearer(1, 4));
    fetches.handle_wanted(code(4), bearer(3, 5));
    fetches.handle_part(bearer(1, 1), &part(0, 1, 1), Time::ZERO);
    fetches.handle_admitted(code(1), Ok(()));
    let freed = steps(&mut fetches);
    assert!(freed.contains(&FetchStep::Look(code(2), bearer(1, 2))), "{freed:?}");
    assert!(freed.contains(&FetchStep::Look(code(4), bearer(3, 5))), "{freed:?}");
    for number in 0..CODE_FETCHES_MAX as u64 {
        let mut hash = [9; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        fetches.handle_wanted(CodeHash(hash), bearer(1, 100 + number));
    }
    assert!(matches!(steps(&mut fetches).pop(), Some(FetchStep::Refuse(_, FetchError::TooMany))));
}

/// Deed that a node is about to do.
#[derive(Clone, Debug)]
enum FetchInput {
    Want(u8, u32),
    Looked(bool),
    Answer(u8),
    Admitted(u8),
    Cancel(u8),
    Lose(u32),
    Pass(u64),
}

fn deed() -> impl Strategy<Value = FetchInput> {
    prop_oneof![
        4 => (0..3u8, 0..3u32).prop_map(|(code, node)| FetchInput::Want(code, node)),
        3 => any::<bool>().prop_map(FetchInput::Looked),
        6 => (0..6u8).prop_map(FetchInput::Answer),
        3 => (0..4u8).prop_map(FetchInput::Admitted),
        2 => any::<u8>().prop_map(FetchInput::Cancel),
        1 => (0..3u32).prop_map(FetchInput::Lose),
        1 => (0..20_000u64).prop_map(FetchInput::Pass),
    ]
}

/// Expected state: the agents that wait, and the requests that were made.
#[derive(Default)]
struct FetchModel {
    fetches: Fetches,
    waiting: HashMap<InboundHop, CodeHash>,
    looking: Vec<CodeHash>,
    asked: Vec<(InboundHop, u64)>,
    admitting: Vec<CodeHash>,
    number: u64,
    now: u64,
}

impl FetchModel {
    fn take_steps(&mut self) {
        for step in steps(&mut self.fetches) {
            match step {
                FetchStep::Look(code, _) => self.looking.push(code),
                FetchStep::Ask(bearer, from) => self.asked.push((bearer, from)),
                FetchStep::Admit(code, _, bytes) => {
                    assert_eq!(bytes.len(), 3);
                    self.admitting.push(code);
                }
                FetchStep::Go(bearer) | FetchStep::Refuse(bearer, _) => {
                    assert!(self.waiting.remove(&bearer).is_some(), "answered twice, or never asked: {bearer:?}");
                }
            }
        }
    }

    fn perform(&mut self, deed: FetchInput) {
        match deed {
            FetchInput::Want(number, node) => {
                self.number += 1;
                let bearer = bearer(node, self.number);
                self.waiting.insert(bearer, code(number));
                self.fetches.handle_wanted(code(number), bearer);
            }
            FetchInput::Looked(found) => {
                if let Some(code) = self.looking.pop() {
                    self.fetches.handle_looked(code, found, at(self.now));
                }
            }
            FetchInput::Answer(how) => {
                if let Some((bearer, from)) = self.asked.pop() {
                    let parts =
                        [part(from, 3, 1), part(from, 3, 3 - from as usize), part(from + 1, 3, 1), Part::none(from)];
                    let part = parts.get(usize::from(how)).unwrap_or(&parts[0]);
                    self.fetches.handle_part(bearer, part, at(self.now));
                }
            }
            FetchInput::Admitted(how) => {
                if let Some(code) = self.admitting.pop() {
                    let outcome = match how {
                        0 => Err(FetchError::WrongHash),
                        1 => Err(FetchError::Inadmissible("no".into())),
                        _ => Ok(()),
                    };
                    self.fetches.handle_admitted(code, outcome);
                }
            }
            FetchInput::Cancel(which) => {
                let mut all: Vec<InboundHop> = self.waiting.keys().copied().collect();
                all.sort_by_key(|bearer| bearer.hop.number);
                if let Some(bearer) = all.get(usize::from(which) % all.len().max(1)) {
                    self.waiting.remove(bearer);
                    self.fetches.handle_cancelled(*bearer);
                }
            }
            FetchInput::Lose(node) => {
                self.waiting.retain(|bearer, _| bearer.node != NodeId(node));
                self.fetches.handle_lost(NodeId(node));
            }
            FetchInput::Pass(ms) => {
                self.now += ms;
                self.fetches.handle_timeout(at(self.now));
            }
        }
        self.take_steps();
    }
}

proptest! {
    #[test]
    fn every_agent_is_answered_once(deeds in proptest::collection::vec(deed(), 0..200)) {
        let mut books = FetchModel::default();
        deeds.into_iter().for_each(|deed| books.perform(deed));
        // All that is under way comes to an end.
        for _ in 0..1000 {
            for deed in [FetchInput::Looked(false), FetchInput::Answer(1), FetchInput::Admitted(3)] {
                books.perform(deed);
            }
        }
        books.perform(FetchInput::Pass(CODE_FETCH_MS));
        for _ in 0..1000 {
            for deed in [FetchInput::Looked(false), FetchInput::Answer(1), FetchInput::Admitted(3)] {
                books.perform(deed);
            }
        }
        prop_assert!(books.waiting.is_empty(), "{:?}", books.waiting);
        prop_assert!(books.fetches.is_quiet());
    }
}
