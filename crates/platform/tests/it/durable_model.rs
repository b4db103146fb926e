//! Model-based tests of one node's ledger of durable agents. Agents send, handle, end and are created again. Frames
//! span several partitions, of which a crash leaves any number. Journals are condensed at any time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;
use whimbrel_acl::{AclMessage, Symbol};
use whimbrel_platform::durable::{JournalReplay, Ledger, Record, Ticket, decode_frame};
use whimbrel_platform::store::Partition;

use crate::durable_actors::{Actor, Deed, FOUNDER, frame};

const PARTITIONS: u16 = 3;
/// The last agent ends and is born again, the others live as long as the test.
const NAMES: [&str; 4] = ["ann", "bob", "cid", "eve"];
const MORTAL: &str = "eve";
/// Agent that handles messages in any order, and refuses some.
pub const SELECTIVE: &str = "cid";

#[derive(Clone, Debug)]
enum DurableInput {
    Send {
        from: usize,
        to: usize,
    },
    Handle {
        agent: usize,
        all: bool,
    },
    /// The selective agent handles a message before others, or refuses it.
    Select {
        which: Index,
        refuse: bool,
    },
    /// Steps of some agents are written, each in a frame of its own or not.
    Write {
        agents: u8,
        apart: bool,
    },
    /// Steps are written, and a crash leaves some of them.
    Crash {
        agents: u8,
        apart: bool,
        left: Vec<Index>,
        order: Index,
    },
    /// A partition is condensed; a crash in the middle leaves this number of frames.
    Condense {
        partition: u16,
        crash: Option<Index>,
    },
    EndMortal,
    BearMortal,
}

fn inputs() -> impl Strategy<Value = Vec<DurableInput>> {
    let agent = || 0..NAMES.len();
    let left = || prop::collection::vec(any::<Index>(), usize::from(PARTITIONS));
    let input = prop_oneof![
        8 => (agent(), agent()).prop_map(|(from, to)| DurableInput::Send { from, to }),
        6 => (agent(), any::<bool>()).prop_map(|(agent, all)| DurableInput::Handle { agent, all }),
        4 => (any::<Index>(), any::<bool>()).prop_map(|(which, refuse)| DurableInput::Select { which, refuse }),
        6 => (any::<u8>(), any::<bool>()).prop_map(|(agents, apart)| DurableInput::Write { agents, apart }),
        2 => (any::<u8>(), any::<bool>(), left(), any::<Index>())
            .prop_map(|(agents, apart, left, order)| DurableInput::Crash { agents, apart, left, order }),
        2 => (0..PARTITIONS, prop::option::of(any::<Index>()))
            .prop_map(|(partition, crash)| DurableInput::Condense { partition, crash }),
        1 => Just(DurableInput::EndMortal),
        1 => Just(DurableInput::BearMortal),
    ];
    prop::collection::vec(input, 0..120)
}

struct ModelPlatform {
    ledger: Ledger,
    /// Life of the next agent that is born.
    next_life: u64,
    /// Number of agents that ever were.
    born: u64,
    actors: Vec<Actor>,
    /// Last steps of agents that have ended.
    ended: Vec<Actor>,
    journals: Vec<Vec<Vec<u8>>>,
    /// Messages that the selective agent refused: since the last write, by what is written, and perhaps by what a crash
    /// left.
    refused: Vec<Deed>,
    refused_for_good: Vec<Deed>,
    refused_perhaps: Vec<Deed>,
}

impl ModelPlatform {
    fn new() -> Self {
        let (ledger, ..) = JournalReplay::new(PARTITIONS).finish();
        let next_life = ledger.next_life() + 1;
        let actors = (0..).zip(NAMES).map(|(serial, name)| Actor::new(name, next_life - 1, serial)).collect();
        let journals = vec![Vec::new(); usize::from(PARTITIONS)];
        let (ended, refused, refused_for_good, refused_perhaps) = Default::default();
        let born = NAMES.len() as u64;
        Self { ledger, next_life, born, actors, ended, journals, refused, refused_for_good, refused_perhaps }
    }

    fn actor(&mut self, name: &str) -> Option<&mut Actor> {
        self.actors.iter_mut().find(|actor| actor.name.as_str() == name)
    }

    fn end(&mut self, name: &str) {
        let Some(place) = self.actors.iter().position(|actor| actor.name.as_str() == name) else { return };
        let mut actor = self.actors.remove(place);
        for (ticket, _) in actor.mailbox.drain(..) {
            self.ledger.write_off(ticket, actor.name);
        }
        // Its turn continues though its name is free.
        actor.send(Symbol::new(NAMES[0]));
        self.ended.push(actor);
    }

    /// Writes steps of some agents; `left` says how many frames of each partition a crash leaves. Returns true if
    /// nothing was lost.
    fn write(&mut self, agents: u8, apart: bool, left: Option<&[Index]>) -> bool {
        let mut pieces: BTreeMap<Partition, Vec<Vec<Record>>> = BTreeMap::new();
        for partition in self.ledger.partitions_to_settle() {
            pieces.entry(partition).or_default().push(self.ledger.take_settled(partition));
        }
        let mut leaves = Vec::new();
        let chosen = |place: usize| agents & (1 << place) != 0;
        for (_, actor) in self.actors.iter_mut().enumerate().filter(|(place, _)| chosen(*place)) {
            let (records, left) = actor.capture();
            pieces.entry(self.ledger.partition_of(actor.name)).or_default().push(records);
            leaves.extend(left);
        }
        // Another shard's, perhaps: the end of one may be written after the birth of the next.
        let ended = if chosen(7) { std::mem::take(&mut self.ended) } else { Vec::new() };
        for mut actor in ended {
            let (mut records, left) = actor.capture();
            records.push(Record::Gone { agent: actor.name, last: actor.last });
            pieces.entry(self.ledger.partition_of(actor.name)).or_default().push(records);
            leaves.extend(left);
        }
        for (partition, pieces) in pieces {
            let mut frames = if apart { pieces } else { vec![pieces.concat()] };
            if let Some(left) = left {
                frames.truncate(left[usize::from(partition.0)].index(frames.len() + 1));
            }
            for records in frames {
                self.journals[usize::from(partition.0)].push(frame(records.clone()));
                if left.is_none() {
                    records.into_iter().for_each(|record| self.ledger.note(record));
                }
            }
        }
        if left.is_some() {
            return false;
        }
        leaves.into_iter().for_each(|(ticket, to, message)| self.deliver(ticket, to, message));
        self.refused_for_good.append(&mut self.refused);
        true
    }

    fn deliver(&mut self, ticket: Ticket, to: Symbol, message: AclMessage) {
        let durable = self.ledger.is_durable(to);
        match self.actor(to.as_str()) {
            Some(actor) if durable => actor.mailbox.push_back((ticket, message)),
            // Before its birth is written it is not known to be durable; and an agent that has ended gets nothing.
            _ => self.ledger.write_off(ticket, to),
        }
    }

    fn recover(&mut self, order: usize) {
        let mut arrears = JournalReplay::of(PARTITIONS, &[]);
        for place in 0..self.journals.len() {
            // Each partition by itself, as readers do that read several at a time.
            let partition = (place + order) % self.journals.len();
            let mut one = JournalReplay::of(PARTITIONS, &[Partition(partition as u16)]);
            for bytes in &self.journals[partition] {
                one.read(decode_frame(bytes).unwrap());
            }
            arrears.absorb(one);
        }
        let (ledger, resumed, letters) = arrears.finish();
        self.next_life = ledger.next_life() + 1;
        self.ended.clear();
        self.refused_perhaps.append(&mut self.refused);
        self.actors.clear();
        self.actors.extend(resumed.into_iter().map(Actor::resumed));
        for name in NAMES.iter().filter(|name| **name != MORTAL) {
            if self.actor(name).is_none() {
                // Nothing was written of it: it begins, like all agents that the society begins with.
                self.born += 1;
                self.actors.push(Actor::new(name, self.next_life - 1, self.born));
            }
        }
        self.ledger = ledger;
        for (ticket, to, sent) in letters {
            let message = sent.message().unwrap();
            self.deliver(ticket, to.name, message);
        }
    }

    fn condense(&mut self, partition: u16, crash: Option<Index>) {
        let mut arrears = JournalReplay::new(PARTITIONS);
        let journal = &mut self.journals[usize::from(partition)];
        for bytes in journal.iter() {
            arrears.read(decode_frame(bytes).unwrap());
        }
        let old = journal.len();
        journal.extend(arrears.condense(&self.ledger).into_iter().map(frame));
        match crash {
            Some(left) => {
                let kept = old + left.index(journal.len() - old + 1);
                journal.truncate(kept);
                self.recover(kept);
            }
            None => drop(journal.drain(..old)),
        }
    }

    fn apply(&mut self, input: DurableInput) {
        match input {
            DurableInput::Send { from, to } => {
                if let Some(actor) = self.actor(NAMES[from]) {
                    actor.send(Symbol::new(NAMES[to]));
                }
            }
            DurableInput::Handle { agent, all } => {
                if let Some(actor) = self.actor(NAMES[agent]) {
                    let count = if all { actor.mailbox.len() } else { 1 };
                    (0..count).for_each(|_| actor.handle());
                }
            }
            DurableInput::Select { which, refuse } => self.select(which, refuse),
            DurableInput::Write { agents, apart } => drop(self.write(agents, apart, None)),
            DurableInput::Crash { agents, apart, left, order } => {
                self.write(agents, apart, Some(&left));
                self.recover(order.index(usize::from(PARTITIONS)));
            }
            DurableInput::Condense { partition, crash } => self.condense(partition, crash),
            DurableInput::EndMortal => self.end(MORTAL),
            DurableInput::BearMortal => {
                if self.actor(MORTAL).is_none() {
                    self.next_life += 1;
                    self.born += 1;
                    self.actors.push(Actor::new(MORTAL, self.next_life - 1, self.born));
                }
            }
        }
    }

    fn select(&mut self, which: Index, refuse: bool) {
        let Some(actor) = self.actor(SELECTIVE).filter(|actor| !actor.mailbox.is_empty()) else { return };
        let place = which.index(actor.mailbox.len());
        if !refuse {
            return actor.handle_at(place);
        }
        let Some((ticket, deed)) = actor.take(place) else { return };
        self.ledger.refuse(ticket, SELECTIVE.into());
        self.refused.push(deed);
    }

    /// Checks what each agent has handled so far: each sender's messages in order, nothing twice, and from agents that
    /// live all along without a gap. The selective agent handles nothing twice and nothing that was refused. The record
    /// of an ended agent's last messages may be lost although its successor of the same name is written. Then the
    /// successor gets these messages, late.
    fn check(&self) {
        for actor in &self.actors {
            let (mut heard, mut all): (BTreeMap<(&str, u64), i64>, BTreeSet<_>) = Default::default();
            for deed in &actor.deeds {
                let Deed::Handled { from, life, number } = deed else { continue };
                assert!(all.insert((from, *life, *number)), "{}: {:?}", actor.name, actor.deeds);
                let before = heard.insert((from, *life), *number).unwrap_or(-1);
                if actor.name.as_str() == SELECTIVE {
                    assert!(!self.refused_for_good.contains(deed), "{deed:?} was refused");
                    continue;
                }
                let may_be_late = actor.name.as_str() == MORTAL;
                assert!(*number > before || may_be_late, "{}: {:?}", actor.name, actor.deeds);
                let both_live = actor.name.as_str() != MORTAL && from != MORTAL;
                assert!(!both_live || *number == before + 1, "{}: {:?}", actor.name, actor.deeds);
            }
        }
    }

    /// Continues until all is handled and all accounts are settled.
    fn drain(&mut self) {
        for _ in 0..6 {
            self.actors.iter_mut().for_each(|actor| (0..actor.mailbox.len()).for_each(|_| actor.handle()));
            self.write(0xFF, false, None);
        }
        assert!(self.actors.iter().all(|actor| actor.mailbox.is_empty()));
    }

    /// Returns the number of messages of a sender that the selective agent refused, and did not handle.
    fn refused(&self, sender: &str) -> usize {
        let actor = self.actors.iter().find(|actor| actor.name.as_str() == SELECTIVE).unwrap();
        let mut refused: Vec<&Deed> = Vec::new();
        for deed in self.refused_for_good.iter().chain(&self.refused_perhaps) {
            let is_senders = matches!(deed, Deed::Handled { from, .. } if from == sender);
            if is_senders && !actor.deeds.contains(deed) && !refused.contains(&deed) {
                refused.push(deed);
            }
        }
        refused.len()
    }

    fn sent(&self, from: &str, to: &str) -> usize {
        let actor = self.actors.iter().find(|actor| actor.name.as_str() == from).unwrap();
        actor.deeds.iter().filter(|deed| **deed == Deed::SentTo(to.to_owned())).count()
    }

    fn handled(&self, by: &str, sender: &str) -> usize {
        let actor = self.actors.iter().find(|actor| actor.name.as_str() == by).unwrap();
        actor.deeds.iter().filter(|deed| matches!(deed, Deed::Handled { from, .. } if from == sender)).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn each_message_is_handled_once(inputs in inputs()) {
        let mut platform = ModelPlatform::new();
        // All agents that a society begins with are written at once.
        platform.write(0xFF, true, None);
        for input in inputs {
            platform.apply(input);
            platform.check();
        }
        platform.drain();
        platform.check();
        let living = || NAMES.iter().filter(|name| **name != MORTAL);
        for (from, to) in living().flat_map(|from| living().map(move |to| (from, to))) {
            let refused = if *to == SELECTIVE { platform.refused(from) } else { 0 };
            prop_assert_eq!(platform.handled(to, from) + refused, platform.sent(from, to), "{} to {}", from, to);
        }
        prop_assert_eq!(platform.ledger.unsettled(), 0);
        prop_assert_eq!(platform.ledger.agents(), platform.actors.len());
        for name in NAMES {
            platform.end(name);
        }
        platform.drain();
        prop_assert_eq!(platform.ledger.agents(), 0);
        // The founder is known to have ended.
        prop_assert_eq!(platform.ledger.remembered(), 1);
        for partition in 0..PARTITIONS {
            platform.condense(partition, None);
        }
        let frames = platform.journals.iter().flatten().map(|bytes| decode_frame(bytes).unwrap());
        let lives = |records: &[Record]| matches!(records, [Record::Lives { .. }]);
        prop_assert_eq!(frames.filter(|records| !lives(records)).count(), 1);
        let mut arrears = JournalReplay::new(PARTITIONS);
        platform.journals.iter().flatten().for_each(|bytes| arrears.read(decode_frame(bytes).unwrap()));
        let (ledger, agents, letters) = arrears.finish();
        prop_assert_eq!((agents.len(), letters.len(), ledger.remembered()), (0, 0, 1));
        prop_assert_eq!(ledger.ended().collect::<Vec<_>>(), [Symbol::new(FOUNDER)]);
    }
}
