//! Mailbox of an agent, and the spare queues that mailboxes share.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, MessageBody, Numbered, Symbol, Template};

use crate::durable::Ticket;
use crate::durable::creation::is_creation;
use crate::limits::{SPARE_QUEUE_MESSAGES_MAX, SPARE_QUEUES_MAX};

/// Mailbox: the messages that an agent has not handled yet, oldest first. Usually that is one or none, so the oldest
/// has its place in the mailbox itself.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// Oldest message, older than `rest`. May be empty with `rest` not empty.
    first: Option<MessageBody>,
    #[allow(clippy::box_collection, reason = "an idle agent should not pay for the queue of a busy one")]
    rest: Option<Box<VecDeque<MessageBody>>>,
    /// Number of messages in `rest`, known without touching it.
    behind: u32,
    /// Number of messages taken since [`Mailbox::count_taken`].
    taken: u32,
    /// Record of messages that are not plain. Few agents get such; the others should not pay for it.
    rare: Option<Box<Rare>>,
}

/// Record of messages that are not [plain](MessageBody::is_plain), and of those that were put aside.
#[derive(Debug, Default)]
struct Rare {
    numbers: Numbers,
    /// Bytes of bulky messages that wait.
    bulk: usize,
    /// Messages without room.
    aside: Vec<MessageBody>,
}

/// Numbered messages that arrived, and those that were taken.
///
/// Doubles and gaps are detected when a message arrives, never when it is taken: an agent may take its messages in any
/// order.
#[derive(Debug, Default)]
struct Numbers {
    /// Tickets of messages taken since [`Mailbox::take_tickets`].
    fresh: Vec<Ticket>,
    /// Highest number that arrived from each sender in each of its lives, if any may be repeated. Numbers of a life
    /// arrive in order, so lower ones arrived before. Lives of one name count apart.
    highest: Option<FxHashMap<(Symbol, u64), u64>>,
    /// Numbers above the highest one, by sender and life, that were handled before this mailbox existed. They need not
    /// be all below the last of them.
    before: FxHashMap<(Symbol, u64), BTreeSet<u64>>,
    /// First replay round whose messages arrive: those of earlier rounds are repeated.
    since: u64,
    /// Senders of messages whose predecessors had not arrived, since [`Mailbox::take_missed`].
    missed: Vec<Symbol>,
    /// Attempts to create an agent of this name, since [`Mailbox::take_creators`].
    creators: Vec<(Aid, Ticket)>,
}

impl Mailbox {
    /// Adds a message that arrives. Returns false if it is dropped instead: it is a [double](Mailbox::take_each_once),
    /// its predecessor is [missing](Mailbox::take_missed), or it [creates](Mailbox::take_creators) an agent.
    #[inline]
    pub fn push(&mut self, message: MessageBody) -> bool {
        let arrives = message.is_plain() || self.note_rare_pushed(&message);
        if arrives {
            self.place(message);
        }
        arrives
    }

    #[inline]
    fn place(&mut self, message: MessageBody) {
        if self.first.is_some() || self.behind > 0 {
            return self.push_behind(message);
        }
        // The place is known to be empty: nothing to drop.
        std::mem::forget(self.first.replace(message));
    }

    #[cold]
    fn note_rare_pushed(&mut self, message: &MessageBody) -> bool {
        let arrives = self.note_arrival(message);
        if arrives {
            self.note_bulk(message.bulk());
        }
        arrives
    }

    /// Notes that a message arrives for which there is no room: its sender gets `failure`. Returns false if the message
    /// would be dropped anyway; then its sender gets nothing.
    #[must_use]
    pub fn refuse(&mut self, message: &MessageBody) -> bool {
        self.note_arrival(message)
    }

    fn note_arrival(&mut self, message: &MessageBody) -> bool {
        let MessageBody::Numbered(numbered) = message else { return true };
        let numbers = &mut self.rare.get_or_insert_default().numbers;
        let ticket = Ticket::of(numbered);
        if numbered.replay_round != Numbered::AGAIN && !numbers.is_first(ticket, numbered.after, numbered.replay_round)
        {
            return false;
        }
        let creates = is_creation(&numbered.message);
        if creates {
            numbers.creators.push((numbered.message.sender, ticket));
        }
        !creates
    }

    #[cold]
    fn note_bulk(&mut self, bytes: usize) {
        if bytes > 0 {
            self.rare.get_or_insert_default().bulk += bytes;
        }
    }

    fn push_behind(&mut self, message: MessageBody) {
        self.rest.get_or_insert_default().push_back(message);
        self.behind += 1;
    }

    /// Adds a message as [`Mailbox::push`] does, with a spare queue of another mailbox: its memory is still in the
    /// processor's cache.
    #[inline]
    pub fn push_using(&mut self, message: MessageBody, spare: &mut SpareQueues) -> bool {
        let arrives = message.is_plain() || self.note_rare_pushed(&message);
        if arrives {
            let is_behind = self.first.is_some() || self.behind > 0;
            if is_behind && self.rest.is_none() {
                self.rest = spare.queues.pop();
            }
            self.place(message);
        }
        arrives
    }

    /// Adds several messages as [`Mailbox::push_using`] does, all of them [plain](MessageBody::is_plain).
    pub fn extend_using(&mut self, mut messages: impl ExactSizeIterator<Item = MessageBody>, spare: &mut SpareQueues) {
        if self.is_empty() {
            self.first = messages.next();
        }
        let count = messages.len();
        if count > 0 {
            if self.rest.is_none() {
                self.rest = spare.queues.pop();
            }
            self.rest.get_or_insert_default().extend(messages);
            self.behind += count as u32;
        }
    }

    /// Gives away the queue, if there is one and it is empty.
    #[inline]
    pub fn spare_queue(&mut self, spare: &mut SpareQueues) {
        if self.behind == 0
            && let Some(queue) = self.rest.take()
        {
            spare.keep(queue);
        }
    }

    /// Takes the oldest message.
    #[inline]
    pub fn take(&mut self) -> Option<MessageBody> {
        let message = match self.first.take() {
            Some(first) => first,
            None if self.behind > 0 => self.take_behind()?,
            None => return None,
        };
        self.note_taken(&message);
        Some(message)
    }

    #[inline]
    fn note_taken(&mut self, message: &MessageBody) {
        self.taken += 1;
        if !message.is_plain() {
            self.note_rare_taken(message);
        }
    }

    #[cold]
    fn note_rare_taken(&mut self, message: &MessageBody) {
        let rare = self.rare.get_or_insert_default();
        rare.bulk = rare.bulk.saturating_sub(message.bulk());
        if let MessageBody::Numbered(numbered) = message {
            rare.numbers.fresh.push(Ticket::of(numbered));
        }
    }

    /// Takes the attempts to create an agent that exists already, since the last call: the creator and the message of
    /// each. No agent is given such messages; the caller has them written as handled.
    pub fn take_creators(&mut self) -> Vec<(Aid, Ticket)> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.numbers.creators)).unwrap_or_default()
    }

    /// Takes the tickets of messages that were taken since the last call, in that order.
    pub fn take_tickets(&mut self) -> Vec<Ticket> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.numbers.fresh)).unwrap_or_default()
    }

    /// Takes the senders of which a message is missing: one arrived without the one before it, since the last call.
    /// Neither it nor later ones are accepted; their senders' nodes must repeat all unsettled messages.
    pub fn take_missed(&mut self) -> Vec<Symbol> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.numbers.missed)).unwrap_or_default()
    }

    /// Notes that messages which were taken before are handled now, as if they had been taken just now.
    pub fn note_handled(&mut self, tickets: impl IntoIterator<Item = Ticket>) {
        let mut tickets = tickets.into_iter().peekable();
        if tickets.peek().is_some() {
            self.rare.get_or_insert_default().numbers.fresh.extend(tickets);
        }
    }

    /// Prepares for repeated numbered messages, in each sender's order: each arrives once from now on. `before` were
    /// handled already, in any order. Messages of replay rounds before `since` do not arrive.
    pub fn take_each_once(&mut self, since: u64, before: impl IntoIterator<Item = Ticket>) {
        let waiting: Vec<Ticket> = self.iter().filter_map(ticket_of).collect();
        let numbers = &mut self.rare.get_or_insert_default().numbers;
        numbers.since = since;
        let highest = numbers.highest.get_or_insert_default();
        for ticket in waiting {
            let highest = highest.entry((ticket.sender, ticket.life())).or_default();
            *highest = ticket.number.max(*highest);
        }
        for ticket in before {
            numbers.before.entry((ticket.sender, ticket.life())).or_default().insert(ticket.number);
        }
    }

    /// Prepares as [`Mailbox::take_each_once`] does, for an agent that this message created. Earlier messages of its
    /// sender to that name were for another agent.
    pub fn take_each_once_behind(&mut self, created_by: Option<Ticket>) {
        self.take_each_once(0, []);
        if let Some(rare) = &mut self.rare {
            rare.numbers
                .highest
                .get_or_insert_default()
                .extend(created_by.map(|ticket| ((ticket.sender, ticket.life()), ticket.number)));
        }
    }

    /// Puts messages that were taken before those that wait, in their order, as if they had not been taken. The count
    /// of taken messages goes down, perhaps below zero.
    pub fn put_back(&mut self, messages: impl IntoIterator<Item = MessageBody>) {
        let mut waiting: VecDeque<MessageBody> = messages.into_iter().collect();
        for message in &mut waiting {
            self.note_bulk(message.bulk());
            if let MessageBody::Numbered(numbered) = message {
                numbered.replay_round = Numbered::AGAIN;
            }
        }
        self.taken = self.taken.wrapping_sub(waiting.len() as u32);
        waiting.extend(self.first.take());
        waiting.extend(self.rest.take().into_iter().flat_map(|rest| *rest));
        self.behind = waiting.len() as u32;
        self.rest = Some(Box::new(waiting));
    }

    fn take_behind(&mut self) -> Option<MessageBody> {
        self.behind -= 1;
        self.rest.as_mut()?.pop_front()
    }

    /// Takes the oldest message that fits; the others keep their order.
    pub fn take_matching(&mut self, template: &Template) -> Option<MessageBody> {
        let message = self.remove_matching(template)?;
        self.note_taken(&message);
        Some(message)
    }

    fn remove_matching(&mut self, template: &Template) -> Option<MessageBody> {
        if self.first.as_ref().is_some_and(|message| template.matches(message)) {
            self.first.take()
        } else {
            let rest = self.rest.as_mut()?;
            let index = rest.iter().position(|message| template.matches(message))?;
            self.behind -= 1;
            rest.remove(index)
        }
    }

    /// Takes all waiting messages, of an agent that will handle none of them.
    pub fn take_all(&mut self) -> Vec<MessageBody> {
        let waiting = std::iter::from_fn(|| self.take()).collect();
        self.taken = 0;
        waiting
    }

    /// Returns the number of messages taken since the last call, less those that were put back: below zero if these
    /// were more.
    #[inline]
    pub fn count_taken(&mut self) -> i32 {
        std::mem::take(&mut self.taken).cast_signed()
    }

    /// Returns the number of waiting messages.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.behind as usize
    }

    /// Returns true if no message waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && self.behind == 0
    }

    /// Returns the bytes of memory of waiting messages that were found to be bulky ([`MessageBody::weighed`]).
    pub fn bulk(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.bulk)
    }

    /// Puts the newest messages aside, all but the `kept` oldest, because there is no room for them. [`Next::Refuse`]
    /// must follow.
    pub fn put_aside(&mut self, kept: usize) {
        let Some(behind) = kept.checked_sub(usize::from(self.first.is_some())) else {
            let first = self.first.take();
            self.put_aside(0);
            let rare = self.rare.get_or_insert_default();
            rare.bulk = rare.bulk.saturating_sub(first.as_ref().map_or(0, MessageBody::bulk));
            return rare.aside.splice(0..0, first).for_each(drop);
        };
        let Some(rest) = self.rest.as_mut().filter(|rest| rest.len() > behind) else { return };
        let aside = rest.split_off(behind);
        self.behind = behind as u32;
        let rare = self.rare.get_or_insert_default();
        rare.bulk = rare.bulk.saturating_sub(aside.iter().map(MessageBody::bulk).sum());
        rare.aside.extend(aside);
    }

    /// Takes the messages that were put aside since the last call, oldest first.
    pub fn take_aside(&mut self) -> Vec<MessageBody> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.aside)).unwrap_or_default()
    }

    /// Returns the waiting messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &MessageBody> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }

    /// Releases memory that an idle agent does not need.
    pub fn shrink(&mut self) {
        if self.behind == 0 {
            self.rest = None;
        }
    }
}

impl Numbers {
    /// Returns true if a message is new and follows the last one that arrived; it counts as arrived from now on.
    fn is_first(&mut self, ticket: Ticket, after: u64, replay_round: u64) -> bool {
        if replay_round < self.since {
            return false;
        }
        let Some(highest) = &mut self.highest else { return true };
        let last = |number| highest.get(&(ticket.sender, Ticket { number, ..ticket }.life())).copied();
        if last(ticket.number).is_some_and(|last| ticket.number <= last) {
            return false;
        }
        // A new agent does not wait for messages that its predecessor of the same name was sent.
        let may_begin = last(after).is_none() && self.since == 0;
        if !may_begin && after > last(after).unwrap_or_default() {
            if !self.missed.contains(&ticket.sender) {
                self.missed.push(ticket.sender);
            }
            return false;
        }
        let life = (ticket.sender, ticket.life());
        highest.insert(life, ticket.number);
        let Some(before) = self.before.get_mut(&life) else { return true };
        let was_handled = before.contains(&ticket.number);
        *before = before.split_off(&ticket.number.saturating_add(1));
        if before.is_empty() {
            self.before.remove(&life);
        }
        !was_handled
    }
}

fn ticket_of(message: &MessageBody) -> Option<Ticket> {
    match message {
        MessageBody::Numbered(numbered) => Some(Ticket::of(numbered)),
        _ => None,
    }
}

/// Spare queues of mailboxes; the one used last is given out first.
#[derive(Debug, Default)]
pub struct SpareQueues {
    #[allow(clippy::vec_box, reason = "it is the boxes that are passed on")]
    queues: Vec<Box<VecDeque<MessageBody>>>,
}

impl SpareQueues {
    #[allow(clippy::box_collection, reason = "it is the box that is passed on")]
    fn keep(&mut self, queue: Box<VecDeque<MessageBody>>) {
        if self.queues.len() < SPARE_QUEUES_MAX && queue.capacity() <= SPARE_QUEUE_MESSAGES_MAX {
            self.queues.push(queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use whimbrel_acl::{AclMessage, Performative, Value};

    use super::*;
    use crate::Outbox;

    fn number(n: i64) -> MessageBody {
        let (from, to) = (Aid::local("body-a"), Aid::local("body-b"));
        MessageBody::Owned(Box::new(AclMessage::new(Performative::Inform, from, to, Value::Int(n))))
    }

    fn numbers<'a>(mailbox: impl Iterator<Item = &'a MessageBody>) -> Vec<i64> {
        mailbox.map(|message| if let Value::Int(n) = message.content { n } else { -1 }).collect()
    }

    /// Returns a message from `body-a` with this number, behind that one.
    fn numbered((number, after): (u64, u64)) -> MessageBody {
        let message = Arc::new(self::number(number as i64).into_message().in_conversation(number.to_string()));
        MessageBody::Numbered(Box::new(Numbered { number, after, replay_round: 1, bulk: 0, message }))
    }

    fn ticket(number: u64) -> Ticket {
        Ticket { sender: "body-a".into(), number }
    }

    fn taken(mailbox: &mut Mailbox, arrive: &[(u64, u64)]) -> Vec<i64> {
        for message in arrive {
            mailbox.push(numbered(*message));
        }
        std::iter::from_fn(|| mailbox.take()).filter_map(|message| message.content.as_i64()).collect()
    }

    #[test]
    fn repeated_message_arrives_once() {
        let mut mailbox = Mailbox::default();
        mailbox.take_each_once(1, [ticket(1)]);
        assert_eq!(taken(&mut mailbox, &[(1, 0), (2, 0), (2, 0), (3, 0)]), [2, 3]);
        assert_eq!(mailbox.take_tickets(), [ticket(2), ticket(3)]);
        assert_eq!(taken(&mut mailbox, &[(2, 0), (3, 0), (5, 0)]), [5], "what comes again comes in its order");
        assert_eq!((mailbox.take_tickets(), mailbox.len()), (vec![ticket(5)], 0));
        assert_eq!(mailbox.count_taken(), 3, "what is dropped was never in the mailbox");
        mailbox.take_each_once(2, []);
        assert!(!mailbox.push(numbered((6, 0))), "what was told before will be told again");
    }

    #[test]
    fn waiting_message_counts_as_arrived() {
        let mut mailbox = Mailbox::default();
        mailbox.push(numbered((3, 0)));
        mailbox.take_each_once(1, []);
        assert_eq!(taken(&mut mailbox, &[(3, 0), (4, 3)]), [3, 4]);
    }

    #[test]
    fn selective_receive_skips_a_predecessor() {
        let mut mailbox = Mailbox::default();
        mailbox.take_each_once(0, []);
        [(1, 0), (2, 1), (3, 2)].into_iter().for_each(|message| assert!(mailbox.push(numbered(message))));
        let third = Template::Conversation("3".into());
        assert!(mailbox.take_matching(&third).is_some_and(|message| message.content.as_i64() == Some(3)));
        assert_eq!((mailbox.take_missed(), mailbox.take_tickets()), (vec![], vec![ticket(3)]));
        assert!(!mailbox.push(numbered((3, 2))) && !mailbox.push(numbered((2, 1))), "both arrived before");
        assert_eq!(taken(&mut mailbox, &[(4, 2)]), [1, 2, 4]);
    }

    #[test]
    fn late_message_of_earlier_life_arrives() {
        let mut mailbox = Mailbox::default();
        mailbox.take_each_once(1, []);
        let later = crate::durable::numbers_of_life(1) + 1;
        assert_eq!(taken(&mut mailbox, &[(later, 0), (1, 0), (later, 1), (2, 1), (1, 0)]), [later as i64, 1, 2]);
        assert_eq!(taken(&mut mailbox, &[(later + 1, later)]), [later as i64 + 1]);
        let latest = crate::durable::numbers_of_life(2) + 1;
        assert_eq!((taken(&mut mailbox, &[(latest, later + 2)]), mailbox.take_missed().len()), (vec![], 1));
    }

    #[test]
    fn missing_predecessor_keeps_message_out() {
        let mut mailbox = Mailbox::default();
        mailbox.take_each_once(1, [ticket(2)]);
        assert_eq!(taken(&mut mailbox, &[(2, 0), (3, 2)]), [3], "the one before it was handled on another node");
        assert_eq!((taken(&mut mailbox, &[(5, 4), (6, 5)]), mailbox.take_missed()), (vec![], vec!["body-a".into()]));
        assert_eq!(taken(&mut mailbox, &[(4, 0), (5, 4), (6, 5)]), [4, 5, 6], "all is said again");
        assert_eq!(mailbox.take_missed(), []);
        // A new agent does not know earlier messages to its name.
        let mut fresh = Mailbox::default();
        fresh.take_each_once(0, []);
        assert_eq!((taken(&mut fresh, &[(9, 8), (11, 10)]), fresh.take_missed()), (vec![9], vec!["body-a".into()]));
    }

    #[test]
    fn refused_message_counts_as_arrived() {
        let mut mailbox = Mailbox::default();
        mailbox.take_each_once(1, [ticket(2)]);
        assert!(mailbox.push(numbered((1, 0))));
        let refused = |mailbox: &mut Mailbox, message| mailbox.refuse(&numbered(message));
        assert!(!refused(&mut mailbox, (1, 0)), "it waits: its sender is not told failure");
        assert!(!refused(&mut mailbox, (2, 1)), "it was handled before");
        assert!(!refused(&mut mailbox, (4, 3)), "the one before it is missing, so it comes again");
        assert!(refused(&mut mailbox, (3, 2)) && !refused(&mut mailbox, (3, 2)));
        assert_eq!(taken(&mut mailbox, &[(3, 2), (4, 3)]), [1, 4], "what was refused does not come later");
        assert_eq!(mailbox.take_tickets(), [ticket(1), ticket(4)]);
    }

    #[test]
    fn mailbox_is_a_queue() {
        let (mut mailbox, mut model) = (Mailbox::default(), VecDeque::new());
        let mut state = 1u64;
        for n in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 || (state >> 62) & 1 == u64::from(n % 2 == 0) {
                mailbox.push(number(n));
                model.push_back(n);
            } else {
                assert_eq!(mailbox.take().map(|message| numbers([&message].into_iter())[0]), model.pop_front());
            }
            assert_eq!((mailbox.len(), mailbox.is_empty()), (model.len(), model.is_empty()));
        }
        assert_eq!(numbers(mailbox.iter()), Vec::from(model));
    }

    #[test]
    fn selective_receive_keeps_others_in_order() {
        let mut mailbox = Mailbox::default();
        (0..4).for_each(|n| assert!(mailbox.push(number(n))));
        let never = Template::sender(Aid::local("body-nobody"));
        assert!(mailbox.take_matching(&never).is_none());
        assert!(mailbox.take_matching(&Template::Any).is_some_and(|m| m.content.as_f64() == Some(0.0)));
        assert!(mailbox.take_matching(&Template::Any).is_some_and(|m| m.content.as_f64() == Some(1.0)));
        mailbox.push(number(4));
        assert_eq!(numbers(mailbox.iter()), [2, 3, 4]);
    }

    #[test]
    fn put_back_message_comes_first() {
        let mut mailbox = Mailbox::default();
        (0..5).for_each(|n| assert!(mailbox.push(number(n))));
        let taken: Vec<MessageBody> = std::iter::from_fn(|| mailbox.take()).take(3).collect();
        assert_eq!(mailbox.count_taken(), 3);
        mailbox.put_back(taken);
        assert_eq!((mailbox.count_taken(), mailbox.len()), (-3, 5));
        assert_eq!(numbers(mailbox.iter()), [0, 1, 2, 3, 4]);
        mailbox.put_back([]);
        mailbox.push(number(5));
        let all = mailbox.take_all();
        assert_eq!((numbers(all.iter()), mailbox.count_taken()), (vec![0, 1, 2, 3, 4, 5], 0));
        mailbox.put_back(all);
        assert!(mailbox.take().is_some() && mailbox.len() == 5);
    }

    #[test]
    fn rows_reach_receivers_in_order() {
        let (a, b) = (Aid::local("body-a"), Aid::local("body-b"));
        let (mut outbox, mut spare, mut mailbox) = (Outbox::default(), SpareQueues::default(), Mailbox::default());
        for (n, to) in [a, a, a, b, b, a].into_iter().enumerate() {
            outbox.send(AclMessage::new(Performative::Inform, b, to, Value::Int(n as i64)));
        }
        assert!(outbox.take_first().is_some());
        let mut rows = Vec::new();
        outbox.take_rest(|to, row| {
            rows.push((to, row.len()));
            mailbox.extend_using(row, &mut spare);
            assert_eq!(mailbox.len(), rows.iter().map(|(_, count)| count).sum::<usize>());
        });
        assert_eq!(rows, [(a, 2), (b, 2), (a, 1)]);
        assert_eq!(numbers(mailbox.iter()), [1, 2, 3, 4, 5]);
        assert!(outbox.is_empty() && !outbox.has_rest());
    }

    #[test]
    fn idle_mailbox_is_small() {
        assert!(size_of::<Mailbox>() <= 40);
    }
}
