//! Numbered messages in a mailbox, compared with a model. They are taken, handled, refused, lost, repeated or left to
//! another node in any order. Each arrives once, in its sender's order.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Numbered, Performative, Template, Value};
use whimbrel_platform::Mailbox;
use whimbrel_platform::durable::Ticket;

const SENDERS: [&str; 2] = ["once-ann", "once-eve"];
const CONVERSATIONS: usize = 3;

fn conversation(number: usize) -> String {
    format!("once-{number}")
}

fn ticket(sender: usize, number: u64) -> Ticket {
    Ticket { sender: SENDERS[sender].into(), number }
}

#[derive(Clone, Debug)]
enum MailboxOp {
    Send(usize, u8),
    Arrive(u8),
    /// Loses a message on its way, unnoticed.
    Lose(Index),
    Take(u8),
    /// Takes messages of one conversation only.
    TakeOf(usize, u8),
    /// Fills the mailbox, so that messages are refused.
    Refuse(u8),
    /// Handles messages that were taken, in another order, and writes that.
    Handle(Vec<Index>),
    /// Settles some handled messages: the sender does not repeat them, and they are forgotten.
    Settle(Vec<Index>),
    /// Loses everything on its way, and repeats all unsettled messages.
    Break,
    /// Continues on another node with what is written.
    TakeOver,
}

fn ops() -> impl Strategy<Value = Vec<MailboxOp>> {
    let some = || prop::collection::vec(any::<Index>(), 1..4);
    let op = prop_oneof![
        4 => (0..SENDERS.len(), 1..4u8).prop_map(|(sender, n)| MailboxOp::Send(sender, n)),
        5 => (1..6u8).prop_map(MailboxOp::Arrive),
        1 => any::<Index>().prop_map(MailboxOp::Lose),
        4 => (1..6u8).prop_map(MailboxOp::Take),
        4 => (0..CONVERSATIONS, 1..4u8).prop_map(|(conversation, n)| MailboxOp::TakeOf(conversation, n)),
        1 => (1..3u8).prop_map(MailboxOp::Refuse),
        4 => some().prop_map(MailboxOp::Handle),
        2 => some().prop_map(MailboxOp::Settle),
        1 => Just(MailboxOp::Break),
        1 => Just(MailboxOp::TakeOver),
    ];
    prop::collection::vec(op, 1..100)
}

#[derive(Default)]
struct MailboxWorld {
    sent: [u64; SENDERS.len()],
    settled: BTreeSet<Ticket>,
    handled: BTreeSet<Ticket>,
    /// Messages in the mailbox of this node.
    waiting: BTreeSet<Ticket>,
    /// Messages taken on this node, and not handled yet.
    taken: BTreeSet<Ticket>,
    /// Messages answered with `failure`.
    refused: BTreeSet<Ticket>,
    mailbox: Mailbox,
    wire: VecDeque<MessageBody>,
    replay_round: u64,
}

impl MailboxWorld {
    fn message(&self, sender: usize, number: u64, after: u64) -> MessageBody {
        let (from, to) = (Aid::local(SENDERS[sender]), Aid::local("once-bob"));
        let message = AclMessage::new(Performative::Inform, from, to, Value::Int(number as i64));
        let message = Arc::new(message.in_conversation(conversation(number as usize % CONVERSATIONS)));
        MessageBody::Numbered(Box::new(Numbered { number, after, replay_round: self.replay_round, bulk: 0, message }))
    }

    fn say_again(&mut self) {
        self.replay_round += 1;
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

    fn take(&mut self, count: usize, take: impl Fn(&mut Mailbox) -> Option<MessageBody>) {
        (0..count).map_while(|_| take(&mut self.mailbox)).for_each(drop);
        for ticket in self.mailbox.take_tickets() {
            assert!(self.waiting.remove(&ticket) && self.taken.insert(ticket), "{ticket:?} was not waiting");
        }
    }

    fn has(&self, ticket: &Ticket) -> bool {
        [&self.waiting, &self.taken, &self.handled].iter().any(|all| all.contains(ticket))
    }

    /// Notes that a message is on this node from now on.
    fn note(&self, ticket: Ticket) {
        assert!(!self.has(&ticket), "{ticket:?} was here");
        let mut earlier = (1..ticket.number).map(|number| Ticket { number, ..ticket });
        assert!(earlier.all(|earlier| self.has(&earlier)), "{ticket:?} overtook another one");
    }

    fn arrive(&mut self, count: usize, is_full: bool) {
        for message in self.wire.drain(..count.min(self.wire.len())).collect::<Vec<_>>() {
            let MessageBody::Numbered(numbered) = &message else { panic!("{message:?}") };
            let ticket = Ticket::of(numbered);
            let arrives = if is_full { self.mailbox.refuse(&message) } else { self.mailbox.push(message) };
            if !arrives {
                continue;
            }
            self.note(ticket);
            if is_full {
                // Written at once, whatever the agent does.
                self.handled.insert(ticket);
                self.refused.insert(ticket);
            } else {
                self.waiting.insert(ticket);
            }
        }
        if !self.mailbox.take_missed().is_empty() {
            self.say_again();
        }
    }

    fn step(&mut self, op: &MailboxOp) {
        match op {
            MailboxOp::Send(sender, n) => {
                (0..*n).for_each(|_| self.send(*sender));
            }
            MailboxOp::Lose(which) => {
                if !self.wire.is_empty() {
                    self.wire.remove(which.index(self.wire.len()));
                }
            }
            MailboxOp::Arrive(n) => self.arrive(usize::from(*n), false),
            MailboxOp::Refuse(n) => self.arrive(usize::from(*n), true),
            MailboxOp::Take(n) => self.take(usize::from(*n), Mailbox::take),
            MailboxOp::TakeOf(one, n) => {
                let template = Template::Conversation(conversation(*one).as_str().into());
                self.take(usize::from(*n), |mailbox| mailbox.take_matching(&template));
            }
            MailboxOp::Handle(which) => {
                for index in which {
                    let of: Vec<Ticket> = self.taken.iter().copied().collect();
                    if !of.is_empty() {
                        let ticket = *index.get(&of);
                        self.taken.remove(&ticket);
                        self.handled.insert(ticket);
                    }
                }
            }
            MailboxOp::Settle(which) => {
                let of: Vec<Ticket> = self.handled.difference(&self.settled).copied().collect();
                self.settled.extend(which.iter().filter(|_| !of.is_empty()).map(|index| *index.get(&of)));
            }
            MailboxOp::Break => self.say_again(),
            MailboxOp::TakeOver => {
                self.taken.clear();
                self.waiting.clear();
                self.mailbox = Mailbox::default();
                self.say_again();
                self.mailbox.take_each_once(self.replay_round, self.handled.difference(&self.settled).copied());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn numbered_messages_arrive_once_in_order(ops in ops()) {
        let mut world = MailboxWorld { replay_round: 1, ..MailboxWorld::default() };
        world.mailbox.take_each_once(1, []);
        ops.iter().for_each(|op| world.step(op));
        world.say_again();
        world.arrive(usize::MAX, false);
        world.take(usize::MAX, Mailbox::take);
        prop_assert!(world.waiting.is_empty() && world.refused.is_disjoint(&world.taken));
        for sender in 0..SENDERS.len() {
            for ticket in (1..=world.sent[sender]).map(|number| ticket(sender, number)) {
                prop_assert!(world.taken.contains(&ticket) || world.handled.contains(&ticket), "{:?} is missing", ticket);
            }
        }
    }
}
