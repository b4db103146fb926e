//! Numbered messages in a mailbox, compared with a model. In whatever order they are handled, lost, repeated or left to
//! another node, each is taken once, in its sender's order, and none is missing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Numbered, Performative, Value};
use whimbrel_platform::Mailbox;
use whimbrel_platform::durable::Ticket;

const SENDERS: [&str; 2] = ["once-ann", "once-eve"];

fn ticket(sender: usize, number: u64) -> Ticket {
    Ticket { sender: SENDERS[sender].into(), number }
}

#[derive(Clone, Debug)]
enum Op {
    Send(usize, u8),
    Arrive(u8),
    /// Loses a message on its way, unnoticed.
    Lose(Index),
    Take(u8),
    /// Messages that were taken are handled, and that is written: not as they came.
    Handle(Vec<Index>),
    /// The sender writes down that some were handled: it does not say them again, and they are forgotten.
    Settle(Vec<Index>),
    /// What is on its way is lost, and all that is not settled is said again.
    Break,
    /// Another node goes on with what is written.
    TakeOver,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let some = || prop::collection::vec(any::<Index>(), 1..4);
    let op = prop_oneof![
        4 => (0..SENDERS.len(), 1..4u8).prop_map(|(sender, n)| Op::Send(sender, n)),
        5 => (1..6u8).prop_map(Op::Arrive),
        1 => any::<Index>().prop_map(Op::Lose),
        5 => (1..6u8).prop_map(Op::Take),
        4 => some().prop_map(Op::Handle),
        2 => some().prop_map(Op::Settle),
        1 => Just(Op::Break),
        1 => Just(Op::TakeOver),
    ];
    prop::collection::vec(op, 1..100)
}

#[derive(Default)]
struct World {
    sent: [u64; SENDERS.len()],
    settled: BTreeSet<Ticket>,
    handled: BTreeSet<Ticket>,
    /// Taken on this node, and not handled yet.
    taken: BTreeSet<Ticket>,
    mailbox: Mailbox,
    wire: VecDeque<MessageBody>,
    telling: u64,
}

impl World {
    fn message(&self, sender: usize, number: u64, after: u64) -> MessageBody {
        let (from, to) = (Aid::local(SENDERS[sender]), Aid::local("once-bob"));
        let message = Arc::new(AclMessage::new(Performative::Inform, from, to, Value::Int(number as i64)));
        MessageBody::Numbered(Box::new(Numbered { number, after, telling: self.telling, bulk: 0, message }))
    }

    fn say_again(&mut self) {
        self.telling += 1;
        self.wire.clear();
        for sender in 0..SENDERS.len() {
            let due = (1..=self.sent[sender]).filter(|number| !self.settled.contains(&ticket(sender, *number)));
            let mut after = 0;
            let due: Vec<MessageBody> =
                due.map(|number| self.message(sender, number, std::mem::replace(&mut after, number))).collect();
            self.wire.extend(due);
        }
    }

    fn send(&mut self, sender: usize) {
        let unsettled = |number: &u64| !self.settled.contains(&ticket(sender, *number));
        let after = (1..=self.sent[sender]).rev().find(unsettled).unwrap_or_default();
        self.sent[sender] += 1;
        let message = self.message(sender, self.sent[sender], after);
        self.wire.push_back(message);
    }

    fn take(&mut self, count: usize) {
        for _ in 0..count {
            if self.mailbox.take().is_none() {
                break;
            }
        }
        for ticket in self.mailbox.take_tickets() {
            assert!(!self.handled.contains(&ticket), "{ticket:?} was handled");
            let came = |number: u64| {
                let before = Ticket { number, ..ticket };
                self.taken.contains(&before) || self.handled.contains(&before)
            };
            assert!((1..ticket.number).all(came), "{ticket:?} overtook another one");
            assert!(self.taken.insert(ticket), "{ticket:?} was taken");
        }
        if !self.mailbox.take_missed().is_empty() {
            self.say_again();
        }
    }

    fn arrive(&mut self, count: usize) {
        for message in self.wire.drain(..count.min(self.wire.len())).collect::<Vec<_>>() {
            self.mailbox.push(message);
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Send(sender, n) => {
                (0..*n).for_each(|_| self.send(*sender));
            }
            Op::Lose(which) => {
                if !self.wire.is_empty() {
                    self.wire.remove(which.index(self.wire.len()));
                }
            }
            Op::Arrive(n) => self.arrive(usize::from(*n)),
            Op::Take(n) => self.take(usize::from(*n)),
            Op::Handle(which) => {
                for index in which {
                    let of: Vec<Ticket> = self.taken.iter().copied().collect();
                    if !of.is_empty() {
                        let ticket = *index.get(&of);
                        self.taken.remove(&ticket);
                        self.handled.insert(ticket);
                    }
                }
            }
            Op::Settle(which) => {
                let of: Vec<Ticket> = self.handled.difference(&self.settled).copied().collect();
                self.settled.extend(which.iter().filter(|_| !of.is_empty()).map(|index| *index.get(&of)));
            }
            Op::Break => self.say_again(),
            Op::TakeOver => {
                self.taken.clear();
                self.mailbox = Mailbox::default();
                self.say_again();
                self.mailbox.take_each_once(self.telling, self.handled.difference(&self.settled).copied());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn numbered_messages_are_taken_once_in_order(ops in ops()) {
        let mut world = World { telling: 1, ..World::default() };
        world.mailbox.take_each_once(1, []);
        ops.iter().for_each(|op| world.step(op));
        world.say_again();
        world.arrive(usize::MAX);
        world.take(usize::MAX);
        for sender in 0..SENDERS.len() {
            for ticket in (1..=world.sent[sender]).map(|number| ticket(sender, number)) {
                prop_assert!(world.taken.contains(&ticket) || world.handled.contains(&ticket), "{:?} is missing", ticket);
            }
        }
    }
}
