//! State machine of a link; see [`Link`].

mod claim;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{Encoding, Envelope, NameAllowance, Symbol};

pub use claim::ClaimOutcome;
use claim::Contest;

use super::batch::{BatchError, BatchWriter, read_shares};
use super::codec::{MessageReader, reader, writer};
use super::flight::Flight;
use super::gauge::{Allowance, Gauge, Measured};
use super::wire::{
    Ack, Bye, FrameError, FrameKind, Hello, LINK_VERSION, LinkFrame, Ping, Refuse, Train, begin_frame, end_frame,
    write_frame,
};
use super::{ItemSink, LinkItem, News};
use crate::Time;
use crate::limits::{
    LINK_ACK_BYTES, LINK_ACK_DELAY_MS, LINK_BACKOFF_MS, LINK_BACKOFF_MS_MAX, LINK_BATCH_BYTES, LINK_CREDIT_BYTES,
    LINK_GIVE_UP_MS, LINK_NAME_BYTES_MAX, LINK_PING_MS, LINK_READ_ATTEMPTS, LINK_RECEIVER_BYTES, LINK_SILENCE_MS,
    LINK_UNREAD_FORGOTTEN_MS, LINK_WRITE_BYTES,
};

/// Identity of this end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// Name of the platform.
    pub platform: String,
    /// Name of this node.
    pub node: String,
    /// Incarnation: a random number that this process chose at its start. The link increments it when it gives a peer
    /// up.
    pub incarnation: u64,
    /// Address at which this node listens, if it does.
    pub address: Option<String>,
    /// Token that lets nodes join, if there is one.
    pub token: Option<String>,
}

/// Error that ends a connection. The link connects again and resumes, unless the peer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Bytes that are no frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Batch that cannot be read.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Peer with another version of the protocol.
    #[error(
        "the peer speaks version {0} of the link protocol, this node version {LINK_VERSION}: run releases that speak the \
         same version on all nodes"
    )]
    Version(u16),
    /// Peer of another platform.
    #[error("the peer belongs to platform {0:?}")]
    OtherPlatform(String),
    /// Peer without the platform's token.
    #[error("the peer's token is not the platform's")]
    BadToken,
    /// Frame that does not fit those before.
    #[error("unexpected {0:?} frame")]
    OutOfTurn(FrameKind),
    /// Unexpected batch: some batches were lost, doubled or replayed.
    #[error("unexpected batch: starts at item {came}, expected {due} (both modulo 65536)")]
    NotNext {
        /// Number of the first item that arrived.
        came: u16,
        /// Number of the item that was expected.
        due: u16,
    },
    /// Acknowledgement of items that were never sent.
    #[error("the peer acknowledges {received} items, but was sent {sent}")]
    BadAck {
        /// Number of items that the peer acknowledges.
        received: u64,
        /// Number of items that were sent.
        sent: u64,
    },
    /// More bytes than the peer was allowed to send.
    #[error("the peer sent {0} bytes more than its credit")]
    OverCredit(u64),
    /// Encoding of messages that this node does not know.
    #[error("the peer writes messages in the encoding {0:?}, which this node does not know")]
    UnknownEncoding(String),
    /// Item with names that are new to this node, which keeps no more of the peer's. Names stay as long as the process.
    /// The item comes back to its sender, and the link continues.
    #[error(
        "names that were new to the receiving node take {0} bytes of this link, the maximum: messages with further \
         new names come back to their senders, others pass; use names again, or restart the receiving node, which \
         forgets them"
    )]
    TooManyNames(u64),
    /// Node other than the one that the connecting end meant to reach.
    #[error("the node at this address is {here:?}, not {wanted:?}")]
    OtherNode {
        /// Name of the node that was reached.
        here: String,
        /// Name of the node that was meant.
        wanted: String,
    },
    /// Peer whose name belongs to another process, which answers.
    #[error(
        "the node name {0:?} is taken: the process that has it answers; give this node another name (--name), or end the other one first"
    )]
    NameTaken(String),
    /// Peer that has a working connection already.
    #[error("there is a link between {0:?} and this node already")]
    Linked(String),
    /// Refusal by the peer.
    #[error("the peer refuses this node: {why}")]
    Refused {
        /// Reason of the refusal in a word, as [`LinkError::reason`] has it; empty if the peer gave none.
        reason: String,
        /// Reason of the refusal in a sentence.
        why: String,
    },
    /// Peer whose identity is not proven.
    #[error("the peer is not who it says it is: {0}")]
    Impostor(String),
    /// Silence of the peer for too long.
    #[error("nothing came for {LINK_SILENCE_MS} ms")]
    Silence,
}

/// Reason of the error that closes a connection and leaves its link.
const TOO_MANY_NAMES: &str = "too_many_names";

impl LinkError {
    /// Returns the frame that tells a peer why it is refused; `None` if the reason would not help it.
    pub fn refusal(&self) -> Option<Vec<u8>> {
        let mut frame = Vec::new();
        if !(self.is_refusal() || self.is_of_names()) || matches!(self, Self::Refused { .. }) {
            return None;
        }
        write_frame(&Refuse(format!("{}: {self}", self.reason())), &mut frame);
        Some(frame)
    }

    /// Returns a peer's refusal as an error.
    fn refused(Refuse(text): Refuse) -> Self {
        let is_reason = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        match text.split_once(": ").filter(|(word, _)| is_reason(word)) {
            Some((reason, why)) => Self::Refused { reason: reason.to_owned(), why: why.to_owned() },
            None => Self::Refused { reason: String::new(), why: text },
        }
    }

    /// Returns true if the connection reached another node than the one meant, whichever end noticed.
    pub fn is_of_other_node(&self) -> bool {
        match self {
            Self::OtherNode { .. } => true,
            Self::Refused { reason, .. } => reason == "other_node",
            _ => false,
        }
    }

    /// Returns true if the connection ended because of one message with new names, whichever end noticed: the message
    /// does not come again.
    pub fn is_of_names(&self) -> bool {
        match self {
            Self::TooManyNames(_) => true,
            Self::Refused { reason, .. } => reason == TOO_MANY_NAMES,
            _ => false,
        }
    }

    /// Returns true if connecting again is of no use.
    pub fn is_refusal(&self) -> bool {
        if self.is_of_names() {
            return false;
        }
        matches!(
            self,
            Self::Version(_)
                | Self::OtherPlatform(_)
                | Self::BadToken
                | Self::UnknownEncoding(_)
                | Self::OtherNode { .. }
                | Self::NameTaken(_)
                | Self::Linked(_)
                | Self::Refused { .. }
                | Self::Impostor(_)
        )
    }

    /// Returns the kind of error in a word or two, for counting.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Frame(_) => "bad_frame",
            Self::Batch(_) => "bad_batch",
            Self::Version(_) => "other_version",
            Self::OtherPlatform(_) => "other_platform",
            Self::BadToken => "bad_token",
            Self::OutOfTurn(_) => "out_of_turn",
            Self::NotNext { .. } => "not_next",
            Self::BadAck { .. } => "bad_acknowledgement",
            Self::OverCredit(_) => "over_credit",
            Self::UnknownEncoding(_) => "unknown_encoding",
            Self::TooManyNames(_) => TOO_MANY_NAMES,
            Self::OtherNode { .. } => "other_node",
            Self::NameTaken(_) => "name_taken",
            Self::Linked(_) => "linked",
            Self::Refused { .. } => "refused",
            Self::Impostor(_) => "impostor",
            Self::Silence => "silence",
        }
    }
}

/// Event of a link: an action for the code that drives it, or information.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LinkEvent {
    /// Connect, then call [`Link::handle_connected`], or [`Link::handle_disconnected`] if that fails.
    Connect,
    /// Replace the present connection by the waiting one ([`ClaimOutcome::Waits`]): close the present one, and call
    /// [`Link::handle_accepted`].
    ClaimGranted,
    /// Close the waiting connection; tell its peer the reason, if there is one that helps it.
    ClaimRefused(Option<LinkError>),
    /// Close the connection, which has failed. [`Link::handle_disconnected`] was called already.
    Close(LinkError),
    /// Session begun with a new peer, or with a new process of it: give [`Link::introduce`] what the peer has to know.
    Began,
    /// Session resumed with the same peer.
    Resumed,
    /// Session lost: the peer is gone or begins anew. These are the unacknowledged messages, in order; it may have
    /// received some of them.
    Lost(Vec<Envelope>),
    /// Messages that cannot be encoded, because they are too long or nested too deeply, or that the peer cannot read.
    Unsendable(Vec<Envelope>),
    /// Departure of the peer from the platform: it will not come back. Comes after [`LinkEvent::Lost`].
    Left,
}

/// Number of round trips that are measured when a connection begins.
const QUESTIONS: u32 = 4;
/// Inertia of the smoothed round trip: each new one counts for one part in this number (as for TCP, RFC 6298).
const ROUND_TRIP_INERTIA: u32 = 8;

/// State of one connection of a link.
struct Connection {
    /// Role of the end that made the connection, which speaks first.
    dialled: bool,
    writer: BatchWriter,
    /// Reader of the peer's messages, once it has told its encoding.
    reader: Option<Box<dyn MessageReader>>,
    greeted: bool,
    greet: bool,
    /// Due sign of life.
    ping: bool,
    /// Question of the peer to answer, if it is more than 0.
    question: u64,
    /// Number of questions that this end still asks at the beginning.
    questions: u32,
    /// Time of this end's last question.
    asked_at: Time,
    /// Time that the peer takes to answer, smoothed.
    round_trip: Option<Duration>,
    /// Bytes of frames that may be sent in all; the same at first; and those that were sent.
    allowed: u64,
    allowed_at_first: u64,
    sent_bytes: u64,
    flight: Flight,
    gauge: Gauge,
    /// Train of the peer to answer, if its question is more than 0.
    train: Train,
    allowance: Allowance,
    /// Bytes of frames that the peer may send in all; those that arrived; and those that are dealt with.
    granted: u64,
    came_bytes: u64,
    done_bytes: u64,
    /// Last acknowledgement sent.
    told: Ack,
    ack_due: Time,
    heard_at: Time,
    spoke_at: Time,
}

impl Connection {
    /// Checks that the peer has not exceeded its credit by more than the batch, of this number of bytes, that it may
    /// have been writing. A single message may be longer than a batch.
    fn check_credit(&self, batch: u64) -> Result<(), LinkError> {
        let over = self.came_bytes.saturating_sub(self.granted);
        if over > LINK_BATCH_BYTES as u64 && over > batch { Err(LinkError::OverCredit(over)) } else { Ok(()) }
    }

    /// Returns the number of bytes that the peer has dealt with.
    fn dealt_with(&self) -> u64 {
        self.allowed - self.allowed_at_first
    }

    /// Takes in the number of bytes that the peer lets this end send in all.
    fn handle_credit(&mut self, now: Time, credit: u64) {
        if credit > self.allowed {
            self.allowed = credit;
            if let Some((bytes, took)) = self.flight.handle_dealt_with(now, self.dealt_with(), self.sent_bytes) {
                self.gauge.handle_busy(now, bytes, took);
            }
        }
    }

    /// Takes in the peer's answer to the question of this time; 0 if it is none.
    fn handle_answer(&mut self, now: Time, asked: u64) {
        if asked == 0 || asked > now.0 {
            return;
        }
        let took = now - Time(asked);
        self.flight.handle_answer(took);
        self.round_trip = Some(smoothed(self.round_trip, took, self.questions > 0));
        // The next question, unless the beginning is over.
        self.ping |= self.questions > 0;
        self.questions = self.questions.saturating_sub(1);
    }
}

/// Returns the smoothed round trip after one more. A peer that has just begun is busy: a late answer then says nothing
/// about the link.
fn smoothed(known: Option<Duration>, took: Duration, begins: bool) -> Duration {
    match known {
        None => took,
        Some(known) if begins => known.min(took),
        Some(known) => (known * (ROUND_TRIP_INERTIA - 1) + took) / ROUND_TRIP_INERTIA,
    }
}

/// Session with the peer, since the two first met.
#[derive(Clone, Copy)]
struct PeerSession {
    incarnation: u64,
    /// Number of items received in the session.
    received: u64,
    /// Incarnation of this end in the session before, if this end began the session anew: the peer may not have learned
    /// of it.
    before: Option<u64>,
}

/// Session state that two ends share when they meet.
enum Meeting {
    /// Session of which the peer received this number of items.
    Known(u64),
    /// Session that the peer does not know, because none of its frames arrived.
    Unheard,
    /// No common session.
    New,
}

/// One end of a link between two nodes, without its socket.
///
/// Items that are [offered](Link::offer) arrive at the other end once and in order, however often the connection
/// breaks. This holds as long as both processes live and no break lasts longer than the patience of both.
///
/// Inputs: the `handle_*` functions, with the time. [`Link::handle_claim`] comes before [`Link::handle_accepted`].
///
/// Commands: [`Link::offer`] items, [`Link::introduce`] this node on [`LinkEvent::Began`], [`Link::measure`] the
/// throughput, [`Link::leave`] the platform, [`Link::abandon`] the link.
///
/// Outputs: [`Link::poll_transmit`] (bytes to write), [`Link::poll_event`], [`Link::poll_timeout`] (when to call
/// [`Link::handle_timeout`]), [`Link::take_released`] and [`Link::take_measured`].
///
/// Order: after each input or command, take all events, then the bytes to write, until there are none, then the
/// timeout. Call [`Link::handle_dealt_with`] when all items that arrived are dealt with.
///
/// Each item has a number, counted from the beginning of the session between two processes. A sent item stays in the
/// window until it is acknowledged. After a break both ends say what they received, and each resumes from there with a
/// new encoder. Bytes are sent against credit. A busy receiver grants no more, so the window grows at the sender, where
/// sending agents are slowed down.
///
/// A session is between two incarnations, and no incarnation of an end has two sessions with one of the peer. The end
/// that accepts hears its peer before it speaks, and increments its own incarnation when it begins anew.
pub struct Link {
    me: Speaker,
    /// Name of the peer, once known.
    peer: Option<String>,
    /// Encoding in which this end writes messages.
    encoding: Encoding,
    dials: bool,
    patience: Duration,
    /// Items from the oldest unacknowledged one on.
    window: VecDeque<LinkItem>,
    /// Number of items of the window that were sent on the present connection.
    sent: usize,
    /// Number of the first item of the window.
    first: u64,
    session: Option<PeerSession>,
    connection: Option<Connection>,
    /// Time since when there is no peer to talk to; `NEVER` while there is one.
    broken_since: Time,
    connect_at: Time,
    attempts: u32,
    /// Number of connections in a row that ended because of an item that cannot be read, and the time of the last of
    /// them. The more there are in a row, the rarer the connections.
    unread: (u32, Time),
    random: u64,
    events: VecDeque<LinkEvent>,
    released: usize,
    sent_items: u64,
    /// Bytes of names that the peer made this node keep, and the most that it may.
    name_bytes: u64,
    name_bytes_max: u64,
    /// Number of the last unreadable item, and the number of times that it arrived.
    unreadable: (u64, u32),
    leaving: Goodbye,
    contest: Option<Contest>,
}

/// Progress of the good-bye.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goodbye {
    /// Staying.
    No,
    /// Leaving as soon as everything is sent.
    Wanted,
    /// Good-bye said.
    Said,
    /// Good-bye received from the peer, which is told that this number of its items arrived.
    Answered(u64),
}

impl Link {
    /// Returns a link that connects by itself (`dials`) or waits for the other end to connect, and writes messages in
    /// this encoding. `random` seeds its jitter.
    pub fn new(me: Speaker, encoding: Encoding, dials: bool, random: u64, now: Time) -> Self {
        Self {
            me,
            peer: None,
            encoding,
            dials,
            patience: Duration::from_millis(LINK_GIVE_UP_MS),
            window: VecDeque::new(),
            sent: 0,
            first: 0,
            session: None,
            connection: None,
            broken_since: now,
            connect_at: if dials { now } else { Time::NEVER },
            attempts: 0,
            unread: (0, Time::ZERO),
            random,
            events: VecDeque::new(),
            released: 0,
            sent_items: 0,
            name_bytes: 0,
            name_bytes_max: LINK_NAME_BYTES_MAX,
            unreadable: (0, 0),
            leaving: Goodbye::No,
            contest: None,
        }
    }

    /// Sets the name of the node to reach; another node that answers is refused.
    pub fn set_peer(&mut self, name: &str) {
        if self.peer.as_deref() != Some(name) {
            self.peer = Some(name.to_owned());
        }
    }

    /// Sets the time after which an unreachable peer is given up. At first [`LINK_GIVE_UP_MS`].
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Sets the bytes of names that the peer may make this node keep. At first [`LINK_NAME_BYTES_MAX`].
    pub fn set_name_bytes_max(&mut self, bytes: u64) {
        self.name_bytes_max = bytes;
    }

    /// Puts items on the link, in order; `items` is empty afterwards.
    pub fn offer(&mut self, items: &mut Vec<LinkItem>) {
        // Appended as one run of memory, not one by one.
        let mut fresh = VecDeque::from(std::mem::take(items));
        self.window.append(&mut fresh);
        *items = fresh.into();
    }

    /// Puts the introduction for a new peer before everything else. Call it on [`LinkEvent::Began`], before anything is
    /// transmitted.
    pub fn introduce(&mut self, news: Vec<News>) {
        debug_assert_eq!(self.sent, 0, "a session begins with its introduction");
        for news in news.into_iter().rev() {
            self.window.push_front(LinkItem::News(Box::new(news)));
        }
    }

    /// Returns the number of items that wait to be written.
    pub fn unsent(&self) -> usize {
        self.window.len() - self.sent
    }

    /// Returns the number of items that are not acknowledged yet, those that wait included.
    pub fn waiting(&self) -> usize {
        self.window.len()
    }

    /// Returns the number of items written so far, repetitions after breaks included.
    pub fn sent_items(&self) -> u64 {
        self.sent_items
    }

    /// Returns the number of messages acknowledged since the last call.
    pub fn take_released(&mut self) -> usize {
        std::mem::take(&mut self.released)
    }

    /// Returns the smoothed time in which the peer answers a question on the present connection. A message and its
    /// acknowledgement take about as long, waiting at both ends included. `None` until the first answer.
    pub fn round_trip(&self) -> Option<Duration> {
        self.connection.as_ref()?.round_trip
    }

    /// Measures the bytes a second to and from the peer, as soon as the link has nothing else to do.
    pub fn measure(&mut self, now: Time) {
        if let Some(connection) = &mut self.connection {
            connection.gauge.begin(now);
        }
    }

    /// Returns the measurements of the link, if there are new ones.
    pub fn take_measured(&mut self) -> Option<Measured> {
        self.connection.as_mut()?.gauge.take_news()
    }

    /// Returns true if items can be exchanged now.
    pub fn is_up(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.greeted)
    }

    /// Begins a connection that this end made because of [`LinkEvent::Connect`]. It replaces an earlier one.
    pub fn handle_connected(&mut self, now: Time) {
        self.begin_connection(now, true);
    }

    /// Begins a connection that the peer made and that this link was granted ([`Link::handle_claim`]). It replaces an
    /// earlier one. The peer's hello comes first.
    pub fn handle_accepted(&mut self, now: Time) {
        if self.connection.is_some() {
            self.handle_disconnected(now);
        }
        self.begin_connection(now, false);
    }

    fn begin_connection(&mut self, now: Time, dialled: bool) {
        self.sent = 0;
        self.connect_at = Time::NEVER;
        self.connection = Some(Connection {
            dialled,
            writer: BatchWriter::new(writer(self.encoding)),
            reader: None,
            greeted: false,
            greet: true,
            ping: false,
            question: 0,
            questions: QUESTIONS,
            asked_at: Time::ZERO,
            round_trip: None,
            allowed: 0,
            allowed_at_first: 0,
            sent_bytes: 0,
            flight: Flight::new(),
            gauge: Gauge::default(),
            train: Train { question: 0, answer: 0, wanted: 0, bytes: 0 },
            allowance: Allowance::default(),
            granted: LINK_CREDIT_BYTES,
            came_bytes: 0,
            done_bytes: 0,
            told: Ack { received: self.session.map_or(0, |session| session.received), credit: LINK_CREDIT_BYTES },
            ack_due: Time::NEVER,
            heard_at: now,
            spoke_at: now,
        });
    }

    /// Notes that the connection is gone, or could not be made.
    pub fn handle_disconnected(&mut self, now: Time) {
        if self.is_up() || self.broken_since == Time::NEVER {
            self.broken_since = now;
            self.attempts = self.recently_unread(now);
        }
        self.connection = None;
        self.sent = 0;
        self.end_contest_granted();
        if self.dials {
            self.connect_at = now + self.backoff();
        }
    }

    /// Returns half to all of a time that doubles with each attempt.
    fn backoff(&mut self) -> Duration {
        let longest_us = (LINK_BACKOFF_MS << self.attempts.min(16)).min(LINK_BACKOFF_MS_MAX) * 1_000;
        self.attempts += 1;
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros(longest_us / 2 + (self.random >> 33) % (longest_us / 2 + 1))
    }

    /// Takes in a frame. Its items are put into `items`, in order, each once; those before a fault count.
    ///
    /// # Errors
    /// The connection has failed: close it, and call only what connects again.
    pub fn handle_frame(
        &mut self,
        now: Time,
        frame: &LinkFrame<'_>,
        items: &mut impl ItemSink,
    ) -> Result<(), LinkError> {
        let outcome = self.take_frame(now, frame, items);
        if let Err(error) = &outcome {
            self.handle_disconnected(now);
            let is_given_up = matches!(error, LinkError::Batch(_)) && self.unreadable.1 >= LINK_READ_ATTEMPTS;
            if is_given_up || matches!(error, LinkError::TooManyNames(_)) {
                self.note_unread(now);
            }
        }
        outcome
    }

    /// Notes that a connection ended because of an item that cannot be read at its end. The other end learns that from
    /// the next hello.
    fn note_unread(&mut self, now: Time) {
        self.unread = (self.recently_unread(now).saturating_add(1), now);
    }

    /// Returns the number of connections that ended because of such an item, each soon after the one before.
    fn recently_unread(&self, now: Time) -> u32 {
        let (count, last) = self.unread;
        let is_recent = count > 0 && now - last < Duration::from_millis(LINK_UNREAD_FORGOTTEN_MS);
        if is_recent { count } else { 0 }
    }

    fn take_frame(&mut self, now: Time, frame: &LinkFrame<'_>, items: &mut impl ItemSink) -> Result<(), LinkError> {
        let Some(connection) = &mut self.connection else { return Err(LinkError::OutOfTurn(frame.kind)) };
        connection.heard_at = now;
        if frame.kind == FrameKind::Refuse {
            return Err(LinkError::refused(frame.parse()?));
        }
        if connection.greeted == (frame.kind == FrameKind::Hello) {
            return Err(LinkError::OutOfTurn(frame.kind));
        }
        if connection.greeted && self.session.is_none() && frame.kind != FrameKind::Bye {
            // The frame was on its way when the two said good-bye.
            return Ok(());
        }
        match frame.kind {
            FrameKind::Hello => {
                let hello: Hello = frame.parse()?;
                self.handle_hello(now, &hello)
            }
            FrameKind::Batch => self.handle_batch(now, frame, items),
            FrameKind::Ack => {
                let ack: Ack = frame.parse()?;
                connection.handle_credit(now, ack.credit);
                self.release(ack.received)
            }
            FrameKind::Ping => {
                let Ping { ack, next, question, answer } = frame.parse()?;
                let due = self.session.map_or(0, |session| session.received);
                if next != due {
                    return Err(LinkError::NotNext { came: next as u16, due: due as u16 });
                }
                if question > 0 {
                    // An answer that arrives before the last question is answered leaves that question alone.
                    connection.question = question;
                }
                connection.handle_answer(now, answer);
                connection.handle_credit(now, ack.credit);
                self.end_contest_answered(answer);
                self.release(ack.received)
            }
            FrameKind::Train => {
                let train: Train = frame.parse()?;
                if train.question > 0 {
                    connection.train = train;
                }
                connection.gauge.handle_answer(now, train.answer);
                Ok(())
            }
            FrameKind::Bye => {
                self.release(frame.parse::<Bye>()?.0)?;
                if self.leaving != Goodbye::Said {
                    self.leaving = Goodbye::Answered(self.session.map_or(0, |session| session.received));
                }
                self.give_up();
                self.events.push_back(LinkEvent::Left);
                Ok(())
            }
            FrameKind::Refuse => Err(LinkError::OutOfTurn(frame.kind)),
        }
    }

    fn handle_hello(&mut self, now: Time, hello: &Hello) -> Result<(), LinkError> {
        self.me.admits(hello)?;
        let encoding = hello.encoding.parse().map_err(|_| LinkError::UnknownEncoding(hello.encoding.clone()))?;
        let dialled = self.connection.as_ref().is_some_and(|connection| connection.dialled);
        if let Some(wanted) = self.peer.as_ref().filter(|peer| **peer != hello.node) {
            return Err(LinkError::OtherNode { here: hello.node.clone(), wanted: wanted.clone() });
        }
        match self.meeting(hello) {
            Meeting::Known(received) if dialled => {
                // The peer relies on this number. If it is wrong, both begin anew with the next connection.
                let outcome = self.release_unsent(received);
                if outcome.is_err() {
                    self.give_up();
                }
                outcome?;
                self.take_back(now, hello.unreadable);
                self.events.push_back(LinkEvent::Resumed);
            }
            Meeting::Known(received) if self.release_unsent(received).is_ok() => {
                self.take_back(now, hello.unreadable);
                self.events.push_back(LinkEvent::Resumed);
            }
            Meeting::Unheard => self.events.push_back(LinkEvent::Resumed),
            Meeting::Known(_) | Meeting::New => self.begin_session(hello.incarnation, dialled),
        }
        self.set_peer(&hello.node);
        self.broken_since = Time::NEVER;
        self.attempts = 0;
        if let (Some(connection), Some(session)) = (&mut self.connection, self.session) {
            connection.greeted = true;
            connection.reader = Some(reader(encoding));
            (connection.allowed, connection.allowed_at_first) = (hello.credit, hello.credit);
            connection.told.received = session.received;
        }
        Ok(())
    }

    /// Compares the peer's hello with this end's session.
    fn meeting(&self, hello: &Hello) -> Meeting {
        let Some(session) = self.session.filter(|session| session.incarnation == hello.incarnation) else {
            return Meeting::New;
        };
        let untouched = self.first == 0 && session.received == 0;
        match hello.heard {
            Some((incarnation, received)) if incarnation == self.me.incarnation => Meeting::Known(received),
            // The peer did not get this session's hello, so it received nothing. Ending the session here would lose the
            // messages that wait.
            None if untouched => Meeting::Unheard,
            Some((incarnation, _)) if untouched && session.before == Some(incarnation) => Meeting::Unheard,
            // The peer lost this session: it met another process of this end's name, or gave this end up.
            _ => Meeting::New,
        }
    }

    /// Begins a session with a peer that does not know the one before, if there was one.
    fn begin_session(&mut self, incarnation: u64, dialled: bool) {
        let mut before = None;
        if self.session.is_some() && dialled {
            // This end has already said its incarnation. A peer that knows another one learns of the change from the
            // next hello.
            self.lose();
        } else if self.session.is_some() {
            before = Some(self.me.incarnation);
            self.give_up();
        }
        self.session = Some(PeerSession { incarnation, received: 0, before });
        self.events.push_back(LinkEvent::Began);
    }

    fn handle_batch(&mut self, now: Time, frame: &LinkFrame<'_>, items: &mut impl ItemSink) -> Result<(), LinkError> {
        let (Some(connection), Some(session)) = (&mut self.connection, &mut self.session) else {
            return Err(LinkError::OutOfTurn(FrameKind::Batch));
        };
        connection.came_bytes += frame.bytes as u64;
        connection.check_credit(frame.bytes as u64)?;
        let (number, content) = frame.content.split_first_chunk().ok_or(FrameError::Content(FrameKind::Batch))?;
        let (came, due) = (u16::from_le_bytes(*number), session.received as u16);
        if came != due {
            return Err(LinkError::NotNext { came, due });
        }
        let Some(reader) = connection.reader.as_deref_mut() else {
            return Err(LinkError::OutOfTurn(FrameKind::Batch));
        };
        let (before, names) = (items.count(), Symbol::bytes_made_here());
        let mut shares = 0;
        let allowance = NameAllowance::new(self.name_bytes_max.saturating_sub(self.name_bytes));
        let read = read_shares(content, reader, items, &mut shares);
        // The batch may be unreadable because a name was refused.
        let is_refused = read.is_err() && NameAllowance::is_refused();
        drop(allowance);
        connection.came_bytes += (shares * LINK_RECEIVER_BYTES) as u64;
        session.received += (items.count() - before) as u64;
        connection.ack_due = connection.ack_due.min(now + Duration::from_millis(LINK_ACK_DELAY_MS));
        self.name_bytes += Symbol::bytes_made_here() - names;
        if is_refused {
            // Reading it again would change nothing.
            self.unreadable = (session.received, LINK_READ_ATTEMPTS);
            return Err(LinkError::TooManyNames(self.name_bytes_max));
        }
        if read.is_err() {
            let number = session.received;
            let times = if self.unreadable.0 == number { self.unreadable.1 } else { 0 };
            self.unreadable = (number, times + 1);
        }
        read?;
        connection.check_credit((frame.bytes + shares * LINK_RECEIVER_BYTES) as u64)
    }

    /// Takes back an item that the peer cannot read, for whatever reason: it is not sent again.
    fn take_back(&mut self, now: Time, number: Option<u64>) {
        let Some(place) = number.and_then(|number| number.checked_sub(self.first)) else { return };
        let place = place as usize;
        if matches!(self.window.get(place), Some(LinkItem::News(_))) {
            self.note_unread(now);
            return self.void(&[place]);
        }
        let Some(item @ (LinkItem::Message(Envelope { body, .. }) | LinkItem::Forwarded(Envelope { body, .. }))) =
            self.window.get(place)
        else {
            return;
        };
        let mut places = vec![place];
        if let (LinkItem::Message(_), Some(message)) = (item, body.shared()) {
            // The message goes to all its receivers.
            let same = |item: &LinkItem| {
                matches!(item, LinkItem::Message(Envelope { body, .. })
                if body.shared().is_some_and(|other| Arc::ptr_eq(message, other)))
            };
            places.extend((place + 1..self.window.len()).take_while(|at| self.window.get(*at).is_some_and(same)));
        }
        self.note_unread(now);
        self.void(&places);
    }

    /// Removes the items that the peer acknowledged from the window.
    fn release(&mut self, received: u64) -> Result<(), LinkError> {
        let sent = self.first + self.sent as u64;
        if received < self.first || received > sent {
            return Err(LinkError::BadAck { received, sent });
        }
        let count = (received - self.first) as usize;
        self.released += self.window.drain(..count).filter(LinkItem::is_message).count();
        self.first = received;
        self.sent -= count;
        Ok(())
    }

    /// Removes acknowledged items at the beginning of a connection, when nothing was sent on it.
    fn release_unsent(&mut self, received: u64) -> Result<(), LinkError> {
        self.sent = self.window.len();
        let outcome = self.release(received);
        self.sent = 0;
        outcome
    }

    /// Ends the session by this end's choice: if the peer comes back, it hears that it speaks to a new incarnation.
    fn give_up(&mut self) {
        self.me.incarnation = self.me.incarnation.wrapping_add(1);
        self.lose();
    }

    /// Ends the session: unacknowledged messages are lost, and the next peer that comes is another one.
    fn lose(&mut self) {
        let lost = self.abandon();
        self.events.push_back(LinkEvent::Lost(lost));
    }

    /// Ends the session and returns its unacknowledged messages, in order. For links that are given up from outside.
    pub fn abandon(&mut self) -> Vec<Envelope> {
        self.session = None;
        self.unreadable = (0, 0);
        self.sent = 0;
        self.first = 0;
        std::mem::take(&mut self.window).into_iter().filter_map(LinkItem::into_message).collect()
    }

    /// Lets this end connect from now on.
    pub fn start_dialling(&mut self, now: Time) {
        self.dials = true;
        if self.connection.is_none() {
            self.connect_at = now;
        }
    }

    /// Notes that all items that arrived are dealt with: the peer may send as much again.
    pub fn handle_dealt_with(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.done_bytes = connection.came_bytes;
        }
    }

    /// Says good-bye: the peer hears that this node leaves, after all items offered before. [`LinkEvent::Left`] comes
    /// when it answers.
    pub fn leave(&mut self) {
        if self.leaving == Goodbye::No {
            self.leaving = Goodbye::Wanted;
        }
    }

    /// Returns true if this node or the peer has said good-bye.
    pub fn is_leaving(&self) -> bool {
        self.leaving != Goodbye::No
    }

    /// Appends the bytes to write now to `out`. Returns false if there are none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let Some(connection) = &mut self.connection else { return false };
        let speaks = connection.dialled || connection.greeted;
        if speaks && std::mem::take(&mut connection.greet) {
            let heard = self.session.map(|session| (session.incarnation, session.received));
            let Speaker { platform, node, incarnation, address, token } = self.me.clone();
            let (version, credit) = (LINK_VERSION, connection.granted);
            let encoding = self.encoding.name().to_owned();
            let (number, times) = self.unreadable;
            let unreadable = heard.and((times >= LINK_READ_ATTEMPTS).then_some(number));
            write_frame(
                &Hello {
                    version,
                    platform,
                    node,
                    incarnation,
                    heard,
                    credit,
                    address,
                    token,
                    encoding,
                    unreadable,
                    to: self.peer.clone(),
                },
                out,
            );
        }
        if connection.greeted {
            self.write_ack(now, out);
            self.write_ping(now, out.len() == before, out);
            self.write_batches(now, out);
            self.write_trains(now, out);
        }
        let Some(connection) = &mut self.connection else { return false };
        let received = self.session.map_or(0, |session| session.received);
        match self.leaving {
            Goodbye::Wanted if connection.greeted && self.sent == self.window.len() => {
                write_frame(&Bye(received), out);
                self.leaving = Goodbye::Said;
            }
            Goodbye::Answered(received) => {
                write_frame(&Bye(received), out);
                self.leaving = Goodbye::Said;
            }
            _ => {}
        }
        if out.len() > before {
            connection.spoke_at = now;
        }
        out.len() > before
    }

    fn write_ack(&mut self, now: Time, out: &mut Vec<u8>) {
        let (Some(connection), Some(session)) = (&mut self.connection, self.session) else { return };
        let credit = connection.done_bytes + LINK_CREDIT_BYTES;
        let ack = Ack { received: session.received, credit: credit.max(connection.granted) };
        let much = ack.credit - connection.told.credit >= LINK_ACK_BYTES;
        if ack != connection.told && (much || now >= connection.ack_due) {
            write_frame(&ack, out);
            connection.told = ack;
            connection.granted = ack.credit;
            connection.ack_due = Time::NEVER;
        } else if ack == connection.told {
            connection.ack_due = Time::NEVER;
        }
    }

    /// Writes a sign of life, if one is due and nothing else is written (`alone`); or a question, if that is due; or an
    /// answer.
    fn write_ping(&mut self, now: Time, alone: bool, out: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else { return };
        let answer = std::mem::take(&mut connection.question);
        let due = std::mem::take(&mut connection.ping) && alone;
        let asks_again = now >= connection.asked_at + Duration::from_millis(LINK_PING_MS);
        let asks = due || asks_again || connection.questions == QUESTIONS;
        if !asks && answer == 0 {
            return;
        }
        connection.questions -= u32::from(connection.questions == QUESTIONS);
        if asks {
            connection.asked_at = now;
        }
        let (next, question) = (self.first + self.sent as u64, if asks { now.0.max(1) } else { 0 });
        write_frame(&Ping { ack: connection.told, next, question, answer }, out);
    }

    /// Answers a train, and writes one if the peer has dealt with everything before.
    fn write_trains(&mut self, now: Time, out: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else { return };
        let Train { question, wanted, .. } = connection.train;
        if question > 0 {
            connection.train.question = 0;
            // A peer that wants more than any measurement takes is not measuring.
            if connection.allowance.take(wanted, now) {
                write_frame(&Train { question: 0, answer: question, wanted: 0, bytes: wanted }, out);
            }
        }
        if self.sent == self.window.len()
            && let Some(train) = connection.gauge.next_train(now)
        {
            write_frame(&train, out);
        }
    }

    fn write_batches(&mut self, now: Time, out: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else { return };
        let full = out.len() + LINK_WRITE_BYTES;
        let mut refused = Vec::new();
        while self.sent < self.window.len() && connection.sent_bytes < connection.allowed && out.len() < full {
            if !connection.flight.has_room(connection.sent_bytes, connection.dealt_with()) {
                connection.flight.handle_full(now, connection.sent_bytes, connection.dealt_with());
                break;
            }
            let before = out.len();
            let start = begin_frame(FrameKind::Batch, out);
            let number = (self.first + self.sent as u64) as u16;
            out.extend_from_slice(&number.to_le_bytes());
            let written = connection.writer.write(&self.window, self.sent, LINK_BATCH_BYTES, out);
            let count = written.items;
            refused.extend(written.refused);
            self.sent += count;
            self.sent_items += count as u64;
            end_frame(start, out);
            // Receivers that share a message count, too: the peer has to hold each.
            connection.sent_bytes += (out.len() - before + written.shares * LINK_RECEIVER_BYTES) as u64;
        }
        if !refused.is_empty() {
            self.void(&refused);
        }
    }

    /// Replaces messages that cannot be encoded by placeholders.
    #[cold]
    fn void(&mut self, places: &[usize]) {
        let mut refused = Vec::new();
        for place in places {
            let item = self.window.get_mut(*place).map(|item| std::mem::replace(item, LinkItem::Tombstone));
            refused.extend(item.and_then(LinkItem::into_message));
        }
        self.events.push_back(LinkEvent::Unsendable(refused));
    }

    /// Returns true if [`Link::poll_event`] has an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    /// Returns the time when [`Link::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Time {
        let Some(connection) = &self.connection else {
            let give_up = if self.gives_up() { self.broken_since + self.patience } else { Time::NEVER };
            return self.connect_at.min(give_up);
        };
        let ping =
            if connection.greeted { connection.spoke_at + Duration::from_millis(LINK_PING_MS) } else { Time::NEVER };
        let silence = connection.heard_at + Duration::from_millis(LINK_SILENCE_MS);
        ping.min(silence).min(connection.ack_due).min(self.contest_due())
    }

    /// Returns true if there is a session, or an item, that giving up would end.
    fn gives_up(&self) -> bool {
        self.broken_since != Time::NEVER && (self.session.is_some() || !self.window.is_empty())
    }

    /// Takes in that the time of [`Link::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        self.settle_contest(now);
        if let Some(connection) = &mut self.connection {
            if now >= connection.heard_at + Duration::from_millis(LINK_SILENCE_MS) {
                self.handle_disconnected(now);
                self.events.push_back(LinkEvent::Close(LinkError::Silence));
            } else if now >= connection.spoke_at + Duration::from_millis(LINK_PING_MS) {
                connection.ping = connection.greeted;
            }
            return;
        }
        if self.gives_up() && now >= self.broken_since + self.patience {
            self.give_up();
            self.broken_since = now;
        }
        if now >= self.connect_at {
            self.connect_at = Time::NEVER;
            self.events.push_back(LinkEvent::Connect);
        }
    }
}

impl Speaker {
    /// Checks if the sender of this hello may be a peer. Call it before anything is done for the sender.
    ///
    /// # Errors
    /// The peer speaks another version, is of another platform, does not know its token, or means another node.
    pub fn admits(&self, hello: &Hello) -> Result<(), LinkError> {
        if hello.version != LINK_VERSION {
            return Err(LinkError::Version(hello.version));
        }
        if hello.platform != self.platform {
            return Err(LinkError::OtherPlatform(hello.platform.clone()));
        }
        if self.token.is_some() && !same_secret(self.token.as_deref(), hello.token.as_deref()) {
            return Err(LinkError::BadToken);
        }
        match &hello.to {
            Some(wanted) if *wanted != self.node => {
                Err(LinkError::OtherNode { here: self.node.clone(), wanted: wanted.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Compares two secrets, in a time that does not depend on where they differ.
fn same_secret(ours: Option<&str>, theirs: Option<&str>) -> bool {
    let (ours, theirs) = (ours.unwrap_or_default().as_bytes(), theirs.unwrap_or_default().as_bytes());
    let differences = ours.iter().zip(theirs).fold(0, |all, (one, other)| all | (one ^ other));
    ours.len() == theirs.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::super::wire::FrameContent;
    use super::*;

    fn take(link: &mut Link, content: &impl FrameContent) {
        let mut bytes = Vec::new();
        write_frame(content, &mut bytes);
        let frame = LinkFrame::first(&bytes).unwrap().unwrap();
        link.handle_frame(Time::ZERO, &frame, &mut Vec::new()).unwrap();
        link.poll_transmit(Time::ZERO, &mut Vec::new());
    }

    #[test]
    fn uncredited_peer_gets_nothing() {
        let speaker = |node: &str, incarnation| Speaker {
            platform: "p".into(),
            node: node.into(),
            incarnation,
            address: None,
            token: None,
        };
        let mut link = Link::new(speaker("one", 1), Encoding::Compact, false, 1, Time::ZERO);
        link.handle_accepted(Time::ZERO);
        link.offer(&mut vec![LinkItem::News(Box::new(News::NoTopic("news".into())))]);
        let Speaker { platform, node, incarnation, address, token } = speaker("two", 2);
        let hello = Hello {
            version: LINK_VERSION,
            platform,
            node,
            incarnation,
            heard: None,
            credit: 0,
            address,
            token,
            encoding: Encoding::Compact.name().to_owned(),
            unreadable: None,
            to: None,
        };
        take(&mut link, &hello);
        assert!(link.is_up());
        assert_eq!(link.unsent(), 1);
        take(&mut link, &Ack { received: 0, credit: 1 });
        assert_eq!(link.unsent(), 0);
    }

    #[test]
    fn slow_first_answer_is_discounted() {
        let us = Duration::from_micros;
        assert_eq!(smoothed(None, us(33_000), true), us(33_000));
        assert_eq!(smoothed(Some(us(33_000)), us(150), true), us(150));
        assert_eq!(smoothed(Some(us(150)), us(40_000), true), us(150));
        // Later an answer counts for an eighth, whichever way it differs.
        assert_eq!(smoothed(Some(us(800)), us(1_600), false), us(900));
        assert_eq!(smoothed(Some(us(800)), us(80), false), us(710));
    }
}
