//! Body of an agent: the port that every kind of agent implements: native, AgentSpeak, WebAssembly, a browser's
//! session.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Numbered, Symbol, Template, sym};

use crate::capabilities::{Durable, Inspectable, Mobile, Owned};
use crate::durable::creation::is_creation;
use crate::durable::{Origin, Ticket};
use crate::limits::{MESSAGE_WEIGHED_BYTES, SPARE_QUEUE_MESSAGES_MAX, SPARE_QUEUES_MAX};
use crate::mobility::HopRequest;
use crate::{Services, Time};

/// Behaviour and state of an agent, in its slot. The scheduler gives it turns; in between it is only data. Abilities
/// that only some bodies have are [capabilities](crate::capabilities).
pub trait AgentBody: Send {
    /// Runs until there is nothing to do or the budget is spent. The first turn comes without a message.
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next;

    /// Tells the agent once that it ends by another's will (killed, platform stopping) instead of its own.
    fn stopping(&mut self, _turn: &mut Turn<'_>) {}

    /// Stops the agent on this node, whose partition is another node's by now. The journal has its state, so nothing
    /// else is saved. The body puts messages back that it took and that the journal does not cover.
    fn yielded(&mut self, _mailbox: &mut Mailbox) {}

    /// Returns the place of the agent's code, so that another process can make the agent again from a
    /// [snapshot](AgentBody::snapshot); `None` if none could.
    fn origin(&self) -> Option<Origin> {
        None
    }

    /// Returns the whole state as bytes, between two turns; `None` if this kind of agent cannot be written out.
    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        None
    }

    /// Returns a second agent with the same code and state; `None` if this kind of agent cannot be cloned.
    fn duplicate(&self, _now: Time) -> Option<Box<dyn AgentBody>> {
        None
    }

    /// Returns the body that this one replaced, or the next one. Called when a turn ended with [`Next::Activate`].
    ///
    /// # Errors
    /// The reason why the agent cannot be made again.
    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        Err("it had not left".to_owned())
    }

    /// Returns the capability to be saved after turns, if the body has it.
    fn durable(&mut self) -> Option<&mut dyn Durable> {
        None
    }

    /// Returns the capability to move between nodes, if the body has it.
    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        None
    }

    /// Returns the capability to be inspected by an operator, if the body has it.
    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        None
    }

    /// Returns the capability to belong to an owner, if the state names one.
    fn owned(&mut self) -> Option<&mut dyn Owned> {
        None
    }
}

/// Agent that another node offers.
pub struct Arrival<'a> {
    /// Name of the agent here.
    pub name: Symbol,
    /// Owner of the agent; empty if it has none.
    pub owner: Symbol,
    /// Node that offers it.
    pub from: Symbol,
    /// Original agent, if the arriving one is a clone.
    pub clone_of: Option<Symbol>,
    /// Services of this platform.
    pub services: &'a dyn Services,
}

/// Turn of an agent: what it sees and can do.
pub struct Turn<'a> {
    /// Agent whose turn it is.
    pub aid: Aid,
    /// Time at the start of the turn.
    pub now: Time,
    /// Messages of the agent, in order of arrival.
    pub mailbox: &'a mut Mailbox,
    /// Messages that the agent sends; routed when the turn ends.
    pub outbox: &'a mut Outbox,
    /// Steps that the agent may take in this turn: messages handled, reasoning cycles.
    pub budget: u32,
    /// Services of the platform.
    pub services: &'a dyn Services,
}

/// Result of a turn: when the next one comes.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Nothing to do until a message arrives.
    Wait,
    /// Nothing to do until a message arrives, or until this moment.
    WaitUntil(Time),
    /// As [`Next::WaitUntil`], without room for the messages that were [put aside](Mailbox::put_aside): their senders
    /// get an answer as from a full mailbox.
    Refuse(Time),
    /// More to do: the next turn comes when the other agents had theirs.
    Ready,
    /// Replace the body by the one that it [activates](AgentBody::activate), which has its turn then.
    Activate,
    /// Request to continue on another node, or to have a clone there. The agent has no turn, and messages wait, until
    /// it [is told](crate::capabilities::Mobile::hopped) the outcome. An agent that has neither a
    /// [snapshot](AgentBody::snapshot) nor an [origin](AgentBody::origin) stays.
    Hop(Box<HopRequest>),
    /// End: the agent is done and leaves the platform.
    End(EndReason),
}

/// Reason of an agent's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[non_exhaustive]
pub enum EndReason {
    /// End by the agent's own choice.
    Finished,
    /// End by order, or with the platform.
    Killed,
    /// Failure (a panic or an error that ended the agent), for this reason.
    Failed(String),
    /// End of the agent's lifetime.
    Expired,
    /// End of a session's lease: its page or program was silent for too long.
    LeaseOver {
        /// Lease, in milliseconds.
        lease_ms: u64,
    },
}

impl EndReason {
    /// Returns the reason of a failure, for monitors, supervisors and clients, which decide by it.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(why) => Some(why),
            Self::LeaseOver { .. } => Some("its lease is over"),
            Self::Finished | Self::Killed | Self::Expired => None,
        }
    }

    /// Returns the reason for people. A closed page is no fault to look into.
    pub fn in_words(&self) -> String {
        match self {
            Self::LeaseOver { lease_ms } => {
                let seconds = Duration::from_millis(*lease_ms).as_secs_f64();
                let what = "its page or program, closed or out of reach, was not heard of for";
                format!("{what} {seconds} s; nothing is wrong with the agent")
            }
            reason => reason.to_string(),
        }
    }
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self, self.failure()) {
            (_, Some(why)) => write!(f, "failed: {why}"),
            (Self::Killed, _) => f.write_str("killed"),
            (Self::Expired, _) => f.write_str("its time to live is over"),
            _ => f.write_str("finished"),
        }
    }
}

/// Reason why a delta was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadDelta(pub String);

/// Boxed body: the whole trait is passed through, as `cargo xtask tidy` checks.
impl<B: AgentBody + ?Sized> AgentBody for Box<B> {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        (**self).turn(turn)
    }

    fn stopping(&mut self, turn: &mut Turn<'_>) {
        (**self).stopping(turn);
    }

    fn yielded(&mut self, mailbox: &mut Mailbox) {
        (**self).yielded(mailbox);
    }

    fn origin(&self) -> Option<Origin> {
        (**self).origin()
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        (**self).snapshot(now)
    }

    fn duplicate(&self, now: Time) -> Option<Box<dyn AgentBody>> {
        (**self).duplicate(now)
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        (**self).activate()
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        (**self).durable()
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        (**self).mobile()
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        (**self).inspectable()
    }

    fn owned(&mut self) -> Option<&mut dyn Owned> {
        (**self).owned()
    }
}

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
        if numbered.telling != Numbered::AGAIN && !numbers.is_first(ticket, numbered.after, numbered.telling) {
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
                numbered.telling = Numbered::AGAIN;
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
    fn is_first(&mut self, ticket: Ticket, after: u64, telling: u64) -> bool {
        if telling < self.since {
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

/// Row of adjacent messages for the same receiver, all of which the callee takes.
pub type Row<'a, 'outbox> = std::iter::Take<&'a mut std::vec::Drain<'outbox, MessageBody>>;

/// Outbox: the messages that an agent sends during a turn. Most turns send one message at most, so the first has its
/// place here.
///
/// Receivers and messages are kept apart, so that each is copied by itself. To copy both at once, the processor would
/// have to wait for the stores that wrote them one by one. That took a third of the time of a busy agent's turn.
#[derive(Debug)]
pub struct Outbox {
    first_to: Aid,
    first: Option<MessageBody>,
    rest_to: Vec<Aid>,
    rest: Vec<MessageBody>,
    /// True if some of the rest may not be plain.
    mixed: bool,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { first_to: Aid::local(sym::EMPTY), first: None, rest_to: Vec::new(), rest: Vec::new(), mixed: false }
    }
}

impl Outbox {
    /// Sends `message` to each of its receivers.
    #[inline]
    pub fn send(&mut self, message: impl Into<Box<AclMessage>>) {
        Envelope::for_each_receiver(message.into(), |envelope| self.push(envelope.to, envelope.body));
    }

    /// Sends a message that came from outside in this many bytes, from a client or a guest. It is
    /// [weighed](MessageBody::weighed) if it may be bulky.
    pub fn send_of(&mut self, message: impl Into<Box<AclMessage>>, bytes: usize) {
        if bytes < MESSAGE_WEIGHED_BYTES {
            return self.send(message);
        }
        Envelope::for_each_receiver_weighed(message.into(), |envelope| {
            self.mixed |= !envelope.body.is_plain();
            self.push(envelope.to, envelope.body);
        });
    }

    #[inline]
    fn push(&mut self, to: Aid, body: MessageBody) {
        // The outbox is always emptied whole, so an empty first place means that all is empty.
        if self.first.is_some() {
            self.rest_to.push(to);
            self.rest.push(body);
            return;
        }
        self.first_to = to;
        // The place is known to be empty: nothing to drop.
        std::mem::forget(self.first.replace(body));
    }

    /// Takes all messages, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Envelope> + '_ {
        let first = self.first.take().map(|body| Envelope { to: self.first_to, body });
        let rest = self.rest_to.drain(..).zip(self.rest.drain(..)).map(|(to, body)| Envelope { to, body });
        first.into_iter().chain(rest)
    }

    /// Takes the first message, if any. The caller takes the [rest](Outbox::take_rest), too.
    #[inline]
    pub fn take_first(&mut self) -> Option<(Aid, MessageBody)> {
        let body = self.first.take()?;
        Some((self.first_to, body))
    }

    /// Returns true if more than one message was sent.
    #[inline]
    pub fn has_rest(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Returns true if some message after the first one may not be [plain](MessageBody::is_plain).
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Gives all messages after the first one to `to`, in order: each receiver with all adjacent messages for it.
    pub fn take_rest(&mut self, mut to: impl FnMut(Aid, Row<'_, '_>)) {
        self.mixed = false;
        let mut bodies = self.rest.drain(..);
        for row in self.rest_to.chunk_by(|a, b| a == b) {
            if let Some(receiver) = row.first() {
                to(*receiver, bodies.by_ref().take(row.len()));
            }
        }
        drop(bodies);
        self.rest_to.clear();
    }

    /// Returns the receiver of the first message.
    #[inline]
    pub fn first_receiver(&self) -> Option<Aid> {
        self.first.is_some().then_some(self.first_to)
    }

    /// Returns true if nothing was sent.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use whimbrel_acl::{Performative, Value};

    use super::*;

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
        MessageBody::Numbered(Box::new(Numbered { number, after, telling: 1, bulk: 0, message }))
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
    fn outbox_keeps_order() {
        let mut outbox = Outbox::default();
        for round in 0..3 {
            for n in 0..round {
                outbox.send(number(n).into_message());
            }
            let mut sent = Vec::new();
            if let Some((_, body)) = outbox.take_first() {
                sent.push(body);
                outbox.take_rest(|_, row| sent.extend(row));
            }
            assert_eq!(numbers(sent.iter()), (0..round).collect::<Vec<_>>());
            assert!(outbox.is_empty());
        }
        outbox.send(number(7).into_message());
        outbox.send(number(8).into_message());
        assert_eq!(outbox.drain().count(), 2);
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
