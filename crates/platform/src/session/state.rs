//! The node's end of a session; see [`Session`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol};

use super::burden::{Burden, Weight};
use super::code_name::CodeName;
use super::frames::{Ack, Certify, Code, Create, End, Fault, Frame, Hello, MessageFrame, SESSION_VERSION};
use super::grant::Grant;
use super::lodgers::Lodger;
use super::moves::Moves;
use super::open_messages::OpenMessages;
use super::shelf::Shelf;
use super::transmit::Outgoing;
use crate::durable::Ticket;
use crate::limits::{
    SESSION_ACK_DELAY_MS, SESSION_ANSWERS_MAX, SESSION_CERTIFICATES_PER_S, SESSION_LAST_FRAMES_MS,
    SESSION_QUEUE_BYTES_MAX,
};
use crate::rate::Rate;
use crate::{EndReason, Time};

/// What a session begins with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// What it is called in frames.
    pub session: String,
    /// What its client must show to go on with it over another connection: random, and known to nobody else.
    pub secret: String,
    /// The platform's name.
    pub platform: Symbol,
    /// What it may have.
    pub grant: Grant,
    /// Who is kept on its node.
    pub shelf: Arc<Shelf>,
}

/// What the shell around a session is to do, or to know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Create an agent with a [body](super::SessionBody) of this number, then call [`Session::handle_created`].
    Create {
        /// What it is called in frames.
        agent: u32,
        /// Its local name.
        name: Symbol,
    },
    /// Give this agent a turn.
    Wake(Aid),
    /// Certify an agent's key, then call [`Session::handle_certified`].
    Certify {
        /// The number of the frame that asks for it.
        number: u64,
        /// What the agent is called in frames.
        agent: u32,
        /// Its local name.
        name: Symbol,
        /// The certificate signing request, as PEM.
        request: String,
    },
    /// An agent that is to go on at this node has this code from now on: if it can run here, and is not here, call
    /// [`Session::ask_for_code`], else [`Session::handle_code`].
    Code {
        /// What the agent is called in frames.
        agent: u32,
        /// Its local name.
        name: Symbol,
        /// Its code.
        code: Arc<CodeName>,
    },
    /// An agent's code came: take it in, then call [`Session::handle_code`].
    /// If that is so, call [`Session::note_brought`] before.
    Admit {
        /// The number of the last frame of it.
        number: u64,
        /// What the agent is called in frames.
        agent: u32,
        /// The agent's local name.
        name: Symbol,
        /// Its code.
        code: Arc<CodeName>,
        /// What is said to be that.
        bytes: Vec<u8>,
    },
    /// The client has not got an agent's code: look whether it is here, then call [`Session::give_code`]; or [`Session::deny_code`], if it was not given to it before and
    /// the agent may not [run here](super::Host::has_code) with it.
    Lack {
        /// The number of the frame that asks for it.
        number: u64,
        /// What the agent is called in frames.
        agent: u32,
        /// Its local name.
        name: Symbol,
        /// Its code.
        code: Arc<CodeName>,
        /// It came to the client from here, or from the client.
        is_given: bool,
    },
    /// The client brings more code than it may; it was refused.
    TooMuchCode {
        /// The local name of the agent whose it is.
        agent: Symbol,
        /// The code.
        code: Arc<CodeName>,
    },
    /// A message said that somebody else sends it; it was refused.
    Forged {
        /// Who sent it.
        agent: Symbol,
        /// Whom it named.
        sender: Aid,
    },
}

/// What a connection knows.
#[derive(Debug)]
pub(super) struct Connection {
    /// It is still to be welcomed.
    pub welcome: bool,
    /// How many of the window were written on it.
    pub sent: usize,
    /// The highest number the client lets the node send, if it said one.
    pub credit: Option<u64>,
    /// What the client was told of `received` and `granted`, and when more is due.
    pub told: (u64, u64),
    pub ack_due: Time,
    pub spoke_at: Time,
}

/// The node's end of a session: everything about it but sockets.
///
/// Inputs: `handle_*`, and what the bodies of its agents do in their turns ([`SessionBody`](super::SessionBody)); outputs:
/// [`Session::poll_frame`], [`Session::poll_event`], [`Session::poll_timeout`]. After each input, take outputs until
/// there are none.
///
/// What each end sends that must not be lost or doubled is numbered from 1. It stays in the sender's window until it is
/// acknowledged; after a break both say what they received, and go on from there. A client that is not heard of for as
/// long as its lease loses the session, and its agents end.
pub struct Session {
    pub(super) opening: Opening,
    /// Apart from the map, whose nodes have room for eleven: most sessions have one agent, and there are very many of them.
    pub(super) lodgers: BTreeMap<u32, Box<Lodger>>,
    /// Agents that are no more, but still in their slots; and why.
    pub(super) parting: Vec<(u32, String)>,
    /// The number of the last numbered frame received.
    pub(super) received: u64,
    /// Deliveries received for agents that had no turn yet, and their bytes.
    pub(super) queued: u64,
    pub(super) queued_bytes: usize,
    /// The highest number the client may send.
    pub(super) granted: u64,
    /// Code that is being looked for because of it, or taken in: each counts against its credit.
    pub(super) looking: u64,
    pub(super) rate: Rate,
    pub(super) certificates: Rate,
    /// From the oldest that is not acknowledged, whose number is `first`.
    pub(super) window: VecDeque<Outgoing>,
    /// What the messages in it take.
    pub(super) weight: Weight,
    /// Messages that the client has and its agents have not handled.
    pub(super) open: OpenMessages,
    /// What waits for the clients of its account.
    pub(super) burden: Arc<Burden>,
    pub(super) first: u64,
    /// The highest number ever written.
    pub(super) written: u64,
    pub(super) connection: Option<Connection>,
    /// The highest number that a client gave a connection.
    attempt: u32,
    pub(super) heard_at: Time,
    /// The session is over, for this reason.
    pub(super) over: Option<EndReason>,
    /// When a session that is over closes its connection, whatever its client has not read.
    close_at: Time,
    /// How the connection is to end: with good-bye, or with a fault.
    pub(super) last: Option<Frame>,
    pub(super) events: VecDeque<SessionEvent>,
    pub(super) moves: Moves,
    /// Of each agent messages that are handled, which it was given earlier.
    pub(super) covered: FxHashMap<u32, Vec<Ticket>>,
}

impl Session {
    /// A session that begins now, without a connection yet.
    pub fn new(opening: Opening, now: Time) -> Self {
        let grant = &opening.grant;
        let mut rate = Rate::new(grant.messages_per_s, grant.window, now);
        let granted = rate.take(u64::from(grant.window), now);
        let certificates = Rate::new(SESSION_CERTIFICATES_PER_S, grant.agents, now);
        let burden = opening.shelf.burden(&opening.grant.account);
        Self {
            opening,
            weight: Weight::on(&burden),
            open: OpenMessages::new(Weight::on(&burden)),
            burden,
            lodgers: BTreeMap::new(),
            parting: Vec::new(),
            received: 0,
            queued: 0,
            queued_bytes: 0,
            granted,
            looking: 0,
            rate,
            certificates,
            window: VecDeque::new(),
            first: 1,
            written: 0,
            connection: None,
            attempt: 0,
            heard_at: now,
            over: None,
            close_at: Time::NEVER,
            last: None,
            events: VecDeque::new(),
            moves: Moves::default(),
            covered: FxHashMap::default(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.opening.session
    }

    /// What it may have.
    pub fn grant(&self) -> &Grant {
        &self.opening.grant
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Messages to its agents that its client has not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.window.len()
    }

    /// Whether it is over, and all its agents have ended.
    pub fn is_over(&self) -> bool {
        self.over.is_some() && self.lodgers.is_empty() && self.parting.is_empty()
    }

    /// True if the session takes more frames now; grants the client the credit that is due. While it is false, read no
    /// frames: a client that sends beyond its credit waits, and the lease does not run.
    pub fn has_room(&mut self, now: Time) -> bool {
        self.grow_credit(now);
        let is_taken_in = self.queued_bytes < SESSION_QUEUE_BYTES_MAX && self.queued <= self.window_max();
        // A client that owes acknowledgements is still read: they may follow frames beyond the credit.
        is_taken_in && !self.rate.is_in_debt(now) && (self.received < self.granted || self.behind() > 0)
    }

    fn window_max(&self) -> u64 {
        u64::from(self.opening.grant.window)
    }

    /// Answers for which the window has no place.
    fn behind(&self) -> u64 {
        (self.window.len() as u64).saturating_sub(self.window_max())
    }

    /// Grants the client all credit that is due. Returns whether its rate holds some of it back.
    pub(super) fn grow_credit(&mut self, now: Time) -> bool {
        // Answers behind the window count, so a client that acknowledges none cannot cause more.
        let taken = self.queued + self.looking + self.behind() + self.granted;
        let wanted = (self.received + self.window_max()).saturating_sub(taken);
        let given = self.rate.take(wanted, now);
        self.granted += given;
        given < wanted
    }

    /// Whether this is the secret that its client was told.
    pub fn knows(&self, secret: &str) -> bool {
        let (ours, theirs) = (self.opening.secret.as_bytes(), secret.as_bytes());
        // In a time that does not tell where they differ.
        ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |all, (one, other)| all | (one ^ other)) == 0
    }

    /// Whether a client that says this is the one whose connection counts, as far as is known: none with a higher number has said hello.
    ///
    /// # Errors
    /// An older connection's hello came late: tell the client why, and close it. The session goes on over the newer one.
    pub fn note_attempt(&mut self, hello: &Hello) -> Result<(), Fault> {
        match hello.attempt {
            Some(attempt) if attempt < self.attempt => {
                Err(Fault::new(Code::TakenOver, "a newer connection of its client has the session"))
            }
            said => {
                self.attempt = self.attempt.max(said.unwrap_or_default());
                Ok(())
            }
        }
    }

    /// A client connected and said this. A connection that was there before is of no account any more.
    ///
    /// # Errors
    /// The two cannot go on: tell the client why, and close the connection.
    pub fn handle_hello(&mut self, now: Time, hello: &Hello) -> Result<(), Fault> {
        check_version(hello)?;
        let gone = |text: &str| Fault::new(Code::SessionGone, text);
        if self.over.is_some() {
            return Err(gone("the session is over"));
        }
        let received = match &hello.resume {
            None => 0,
            Some(resume) if self.knows(&resume.secret) => resume.received,
            Some(_) => return Err(gone("there is no such session")),
        };
        self.note_attempt(hello)?;
        if received.saturating_add(1) < self.first {
            return Err(gone("frames that are missing were acknowledged before"));
        }
        self.acknowledge(received, false)?;
        self.heard_at = now;
        self.moves.known = hello.moves;
        let told = (self.received, self.granted);
        let ack_due = Time::NEVER;
        self.connection = Some(Connection { welcome: true, sent: 0, credit: None, told, ack_due, spoke_at: now });
        Ok(())
    }

    /// The connection is gone.
    pub fn handle_disconnected(&mut self) {
        self.connection = None;
    }

    /// A frame came that took this many bytes.
    ///
    /// # Errors
    /// The connection is of no use any more: tell the client why, and close it. The session goes on.
    pub fn handle_frame(&mut self, now: Time, frame: Frame, bytes: usize) -> Result<(), Fault> {
        let outcome = self.take_frame(now, frame, bytes);
        if outcome.is_err() {
            self.handle_disconnected();
        }
        outcome
    }

    fn take_frame(&mut self, now: Time, frame: Frame, bytes: usize) -> Result<(), Fault> {
        let Some(connection) = &mut self.connection else {
            return Err(Fault::new(Code::Protocol, "there is no connection"));
        };
        self.heard_at = now;
        match frame {
            Frame::Ack(Ack { received, credit }) => {
                connection.credit = credit;
                self.acknowledge(received, true)?;
                self.open.keep_listed();
            }
            Frame::Open(open) => {
                let cost = self.open.list(&open.messages)?;
                self.rate.charge(cost);
            }
            Frame::Create(Create { number, agent, name }) => {
                self.count(now, number)?;
                self.create(number, agent, &name);
            }
            Frame::End(End { number, agent }) => {
                self.count(now, number)?;
                self.end_agent(number, agent);
            }
            Frame::Message(MessageFrame { number, agent, message }) => {
                self.count(now, number)?;
                self.accept(number, agent, message.into_message(), bytes);
            }
            Frame::Unreadable { number, why } => {
                self.count(now, number)?;
                self.refuse(number, Code::BadMessage, why);
            }
            Frame::Certify(Certify { number, agent, request }) => {
                self.count(now, number)?;
                self.certify(now, number, agent, request);
            }
            Frame::Keep(keep) => {
                self.count(now, keep.number)?;
                self.keep(keep);
            }
            Frame::Save(save) => {
                self.count(now, save.number)?;
                self.save(save, bytes);
            }
            Frame::Code(part) => {
                self.count(now, part.number)?;
                self.take_code(now, part);
            }
            Frame::Lacks(lacks) => {
                self.count(now, lacks.number)?;
                self.lack(lacks);
            }
            Frame::Stays(stays) => {
                self.count(now, stays.number)?;
                self.stay(stays);
            }
            Frame::Bye => self.end(now, EndReason::Finished, Frame::Bye),
            _ => return Err(Fault::new(Code::Protocol, "a frame that is not a client's to say, or out of turn")),
        }
        Ok(())
    }

    /// A numbered frame came.
    fn count(&mut self, now: Time, number: u64) -> Result<(), Fault> {
        let due = self.received + 1;
        if number != due {
            return Err(Fault::new(Code::Protocol, format!("frame {number} came where {due} is due")));
        }
        if number > self.granted {
            let behind = self.behind();
            if behind == 0 || behind >= SESSION_ANSWERS_MAX {
                let text = format!(
                    "frame {number} is beyond what was granted, {}; {} answers wait: acknowledge what came (`ack`), then send on",
                    self.granted,
                    self.window.len()
                );
                return Err(Fault::new(Code::OverCredit, text));
            }
            self.rate.charge(number - self.granted);
            self.granted = number;
        }
        self.received = number;
        self.acknowledge_by(now + Duration::from_millis(SESSION_ACK_DELAY_MS));
        Ok(())
    }

    pub(super) fn acknowledge_by(&mut self, at: Time) {
        if let Some(connection) = &mut self.connection {
            connection.ack_due = connection.ack_due.min(at);
        }
    }

    /// The client has everything up to this number, and `knows` which messages of that are open.
    fn acknowledge(&mut self, received: u64, knows: bool) -> Result<(), Fault> {
        if received > self.written {
            let text = format!("frame {received} is acknowledged; {} is the last that was sent", self.written);
            return Err(Fault::new(Code::Protocol, text));
        }
        let count = (received + 1).saturating_sub(self.first);
        let gone: Vec<Outgoing> = self.window.drain(..(count as usize).min(self.window.len())).collect();
        for (number, outgoing) in (self.first..).zip(gone) {
            let Outgoing::Message { agent, message, bytes } = outgoing else { continue };
            self.weight.sub(bytes);
            // For a kept agent, its saves say what is handled.
            if self.lodgers.get(&agent).is_some_and(|lodger| lodger.keeping.is_none()) {
                self.open.note(number, agent, &message, bytes, knows);
            }
        }
        self.first += count;
        if let Some(connection) = &mut self.connection {
            connection.sent = connection.sent.saturating_sub(count as usize);
        }
        self.wake_waiting();
        Ok(())
    }

    /// The session is over: its agents end, and the connection, with this as the last frame.
    pub fn end(&mut self, now: Time, reason: EndReason, last: Frame) {
        if self.over.is_none() {
            self.close_at = now + Duration::from_millis(SESSION_LAST_FRAMES_MS);
            self.over = Some(reason);
            self.last = Some(last);
            self.end_all();
        }
    }

    /// The next thing to do or to know.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(self.opening.grant.lease_ms)
    }

    /// When the node has something to say though nothing happened: a third of the lease after it spoke.
    fn sign_of_life_at(&self) -> Time {
        self.connection.as_ref().map_or(Time::NEVER, |connection| connection.spoke_at + self.lease() / 3)
    }

    /// Returns when [`Session::handle_timeout`] is due while nothing can be written to the client: outgoing frames
    /// wait.
    pub fn poll_timeout_unwritable(&self) -> Time {
        if self.over.is_some() {
            return self.poll_timeout();
        }
        (self.heard_at + self.lease()).min(self.moves.due())
    }

    /// When [`Session::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Time {
        if self.over.is_some() {
            return if self.is_connected() { self.close_at } else { Time::NEVER };
        }
        let ack_due = self.connection.as_ref().map_or(Time::NEVER, |connection| connection.ack_due);
        (self.heard_at + self.lease()).min(ack_due).min(self.sign_of_life_at()).min(self.moves.due())
    }

    /// The time that [`Session::poll_timeout`] told has come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.over.is_some() {
            if now >= self.close_at {
                self.handle_disconnected();
            }
            return;
        }
        if !self.has_room(now) {
            self.heard_at = now;
        }
        if now >= self.heard_at + self.lease() {
            let text = format!("nothing was heard for {} ms", self.opening.grant.lease_ms);
            let over = Frame::Error(Fault::new(Code::LeaseOver, text));
            return self.end(now, EndReason::LeaseOver { lease_ms: self.opening.grant.lease_ms }, over);
        }
        if now >= self.sign_of_life_at() {
            self.acknowledge_by(now);
        }
        self.give_up_waiting(now);
    }
}

/// Whether a client speaks a version that this node speaks.
///
/// # Errors
/// It does not.
pub fn check_version(hello: &Hello) -> Result<(), Fault> {
    if hello.versions.contains(&SESSION_VERSION) {
        return Ok(());
    }
    Err(Fault::new(Code::Version, format!("this node speaks version {SESSION_VERSION} of the session protocol")))
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, MessageBody, Performative, Value};

    use super::super::frames::{OpenFrame, Resume};
    use super::super::lodgers::{Outlook, Waiting};
    use super::*;
    use crate::limits::MESSAGE_RECEIVERS_MAX;

    const BOB: u32 = 3;

    fn opening(window: u32) -> Opening {
        let grant =
            Grant { window, agents: 64, lease_ms: 9_000, ..Grant::new("tester", vec!["bob".into(), "s*".into()]) };
        let (session, secret) = ("id".into(), "secret".into());
        Opening { session, secret, platform: "home".into(), grant, shelf: Arc::default() }
    }

    fn hello() -> Hello {
        Hello { versions: vec![7, SESSION_VERSION], ..Hello::default() }
    }

    fn resume(received: u64) -> Hello {
        let resume = Resume { session: "id".into(), secret: "secret".into(), received };
        Hello { resume: Some(resume), ..hello() }
    }

    /// A session with a client that was welcomed.
    fn session(window: u32) -> Session {
        let mut session = Session::new(opening(window), Time::ZERO);
        session.handle_hello(Time::ZERO, &hello()).unwrap();
        assert!(matches!(session.poll_frame(Time::ZERO), Some(Frame::Welcome(_))));
        session
    }

    /// The same, with an agent, which the client knows of.
    fn lodging(window: u32) -> Session {
        let mut session = session(window);
        hear(&mut session, create(1, BOB, "bob")).unwrap();
        assert_eq!(session.poll_event(), Some(SessionEvent::Create { agent: BOB, name: "bob".into() }));
        session.handle_created(BOB, Ok(Aid::local("bob")));
        assert_eq!(said(&mut session), ["created 1 bob@home"]);
        hear(&mut session, ack(1)).unwrap();
        session.begin_turn(BOB);
        while session.poll_event().is_some() {}
        session
    }

    fn hear(session: &mut Session, frame: Frame) -> Result<(), Fault> {
        session.handle_frame(Time::ZERO, frame, 100)
    }

    fn create(number: u64, agent: u32, name: &str) -> Frame {
        Frame::Create(Create { number, agent, name: name.into() })
    }

    fn ack(received: u64) -> Frame {
        Frame::Ack(Ack { received, credit: None })
    }

    fn message(n: i64) -> AclMessage {
        AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("amy"), Value::Int(n))
    }

    fn message_frame(number: u64, message: AclMessage) -> Frame {
        Frame::Message(MessageFrame { number, agent: BOB, message: MessageBody::Owned(Box::new(message)) })
    }

    /// What the session says now, in a few words each; acknowledgements aside.
    fn said(session: &mut Session) -> Vec<String> {
        let frames = std::iter::from_fn(|| session.poll_frame(Time::ZERO));
        let shown = |frame| match frame {
            Frame::Created(created) => Some(format!("created {} {}", created.number, created.name)),
            Frame::Ended(ended) => Some(format!("ended {} {}", ended.number, ended.reason)),
            Frame::Message(frame) => Some(format!("message {} {}", frame.number, frame.message.content)),
            Frame::Certified(certified) => Some(format!("certified {} {}", certified.number, certified.certificates)),
            Frame::Refused(refused) => Some(format!("refused {} {} {:?}", refused.number, refused.of, refused.code)),
            Frame::Error(fault) => Some(format!("error {:?}", fault.code)),
            Frame::Bye => Some("bye".into()),
            _ => None,
        };
        frames.filter_map(shown).collect()
    }

    /// A turn of the agent with such messages in its mailbox: how many are left there, and what it sends.
    fn turn(session: &mut Session, mailbox: &mut Vec<i64>) -> (Vec<String>, Outlook) {
        session.begin_turn(BOB);
        let done = std::iter::from_fn(|| session.next_to_do(BOB)).collect::<Vec<_>>();
        let sent = done.iter().filter_map(|waiting| match waiting {
            Waiting::Message { message, .. } => Some(format!("{}: {}", message.sender, message.content)),
            Waiting::Save { .. } => None,
        });
        let sent = sent.collect();
        while !mailbox.is_empty() && session.may_deliver(BOB) {
            session.deliver(BOB, MessageBody::Owned(Box::new(message(mailbox.remove(0)))), false);
        }
        let outlook = session.end_turn(BOB);
        if matches!(outlook, Outlook::End(..)) {
            let said = session.window.len();
            session.handle_agent_left(BOB);
            assert_eq!(session.window.len(), said + 1, "that it ended is said when it left its slot");
        }
        (sent, outlook)
    }

    #[test]
    fn an_agent_sends_as_itself() {
        let mut session = lodging(8);
        hear(&mut session, message_frame(2, message(1))).unwrap();
        assert_eq!(session.poll_event(), Some(SessionEvent::Wake(Aid::local("bob"))));
        let as_itself = AclMessage { sender: Aid::new("bob", "home"), ..message(2) };
        hear(&mut session, message_frame(3, as_itself)).unwrap();
        assert_eq!(session.poll_event(), None, "it was woken already");
        assert_eq!(turn(&mut session, &mut vec![]).0, ["bob: 1", "bob: 2"]);
        for sender in [Aid::local("amy"), Aid::new("bob", "elsewhere")] {
            let number = session.received + 1;
            hear(&mut session, message_frame(number, AclMessage { sender, ..message(3) })).unwrap();
            assert_eq!(session.poll_event(), Some(SessionEvent::Forged { agent: "bob".into(), sender }));
        }
        assert_eq!(said(&mut session), ["refused 2 4 ForgedSender", "refused 3 5 ForgedSender"]);
        assert_eq!(turn(&mut session, &mut vec![]), (vec![], Outlook::Stay));
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_the_rest_goes_on() {
        let mut session = lodging(16);
        let nobody = AclMessage { receivers: [].into_iter().collect(), ..message(0) };
        for frame in [
            create(2, BOB, "sam"),
            create(3, 64, "sam"),
            create(4, 5, "eve"),
            create(5, 5, "s@m"),
            message_frame(6, nobody),
            Frame::End(End { number: 7, agent: 9 }),
            Frame::Unreadable { number: 8, why: "it is none".into() },
            create(9, 5, "sam"),
        ] {
            hear(&mut session, frame).unwrap();
        }
        session.handle_created(5, Err(Fault::new(Code::NameTaken, "there is one")));
        let refusals = ["2 2 TooManyAgents", "3 3 TooManyAgents", "4 4 NotAllowed", "5 5 BadName", "6 6 NoReceiver"];
        let more = ["7 7 NoAgent", "8 8 BadMessage", "9 9 NameTaken"];
        let expected: Vec<String> = refusals.iter().chain(&more).map(|refusal| format!("refused {refusal}")).collect();
        assert_eq!(said(&mut session), expected);
    }

    #[test]
    fn a_window_is_kept_and_what_is_behind_it_waits_in_the_mailbox() {
        let mut session = lodging(3);
        let mut mailbox: Vec<i64> = (0..6).collect();
        assert_eq!(turn(&mut session, &mut mailbox).1, Outlook::Stay);
        assert_eq!((said(&mut session).len(), mailbox.len()), (3, 3));
        hear(&mut session, ack(3)).unwrap();
        assert_eq!(session.poll_event(), Some(SessionEvent::Wake(Aid::local("bob"))));
        turn(&mut session, &mut mailbox);
        assert_eq!(said(&mut session), ["message 5 3", "message 6 4"]);
        let closed = Frame::Ack(Ack { received: 6, credit: Some(6) });
        hear(&mut session, closed).unwrap();
        turn(&mut session, &mut mailbox);
        assert_eq!((said(&mut session).len(), mailbox.len()), (0, 0), "the client wants no more for now");
        hear(&mut session, Frame::Ack(Ack { received: 6, credit: Some(7) })).unwrap();
        assert_eq!(said(&mut session), ["message 7 5"]);
    }

    #[test]
    fn a_session_goes_on_where_it_was() {
        let mut session = lodging(8);
        turn(&mut session, &mut vec![10, 11, 12]);
        assert_eq!(said(&mut session).len(), 3);
        session.handle_disconnected();
        assert!(hear(&mut session, message_frame(2, message(0))).is_err(), "there is no connection");
        assert_eq!(said(&mut session).len(), 0);
        session.handle_hello(Time::ZERO, &resume(3)).unwrap();
        let Some(Frame::Welcome(welcome)) = session.poll_frame(Time::ZERO) else { panic!("no welcome") };
        assert_eq!((welcome.received, welcome.session.as_str()), (1, "id"));
        assert_eq!(said(&mut session), ["message 4 12"]);
        for (hello, code) in [
            (resume(2), Code::SessionGone),
            (resume(9), Code::Protocol),
            (Hello { versions: vec![2], ..resume(3) }, Code::Version),
        ] {
            assert_eq!(session.handle_hello(Time::ZERO, &hello).map_err(|fault| fault.code), Err(code));
        }
        let mut wrong = resume(3);
        wrong.resume.as_mut().unwrap().secret = "secreT".into();
        assert_eq!(session.handle_hello(Time::ZERO, &wrong).map_err(|fault| fault.code), Err(Code::SessionGone));
    }

    #[test]
    fn an_older_connection_that_comes_late_takes_nothing_over() {
        let mut session = lodging(16);
        let attempt = |n| Hello { attempt: Some(n), ..resume(1) };
        session.handle_hello(Time::ZERO, &attempt(3)).unwrap();
        assert_eq!(session.handle_hello(Time::ZERO, &attempt(2)).unwrap_err().code, Code::TakenOver);
        assert!(session.is_connected(), "the newer one has it");
        // Whoever counts nothing is as new as can be.
        session.handle_hello(Time::ZERO, &resume(1)).unwrap();
        assert_eq!(session.handle_hello(Time::ZERO, &attempt(2)).unwrap_err().code, Code::TakenOver);
        session.handle_hello(Time::ZERO, &attempt(3)).unwrap();
        session.handle_hello(Time::ZERO, &attempt(4)).unwrap();
    }

    #[test]
    fn faults_end_the_connection_and_not_the_session() {
        for (frame, code) in [
            (message_frame(3, message(0)), Code::Protocol),
            (message_frame(1, message(0)), Code::Protocol),
            (ack(2), Code::Protocol),
            (Frame::Hello(hello()), Code::Protocol),
            (Frame::Error(Fault::new(Code::Busy, "me?")), Code::Protocol),
        ] {
            let mut session = lodging(4);
            assert_eq!(hear(&mut session, frame).map_err(|fault| fault.code), Err(code));
            assert!(!session.is_connected() && !session.is_over());
            session.handle_hello(Time::ZERO, &resume(1)).unwrap();
        }
    }

    #[test]
    fn credit_is_given_as_agents_have_their_turns_and_as_fast_as_the_quota_lets() {
        let mut session = lodging(4);
        for number in 2..=4 {
            hear(&mut session, message_frame(number, message(0))).unwrap();
        }
        assert_eq!(said(&mut session).len(), 0);
        assert_eq!(hear(&mut session, message_frame(5, message(0))).map_err(|fault| fault.code), Err(Code::OverCredit));
        session.handle_hello(Time::ZERO, &resume(1)).unwrap();
        turn(&mut session, &mut vec![]);
        let later = Time::from_ms(50);
        let frames: Vec<Frame> = std::iter::from_fn(|| session.poll_frame(later)).collect();
        assert!(matches!(frames.as_slice(), [Frame::Welcome(_), Frame::Ack(Ack { received: 4, credit: Some(8) })]));

        let slow = Grant { messages_per_s: 10, ..opening(4).grant };
        let mut session = Session::new(Opening { grant: slow, ..opening(4) }, Time::ZERO);
        session.handle_hello(Time::ZERO, &hello()).unwrap();
        let mut credit = 0;
        for ms in 0..2_000 {
            let now = Time::from_ms(ms);
            while let Some(frame) = session.poll_frame(now) {
                credit = match frame {
                    Frame::Welcome(welcome) => welcome.credit,
                    Frame::Ack(ack) => ack.credit.unwrap(),
                    _ => credit,
                };
            }
            if session.received < credit {
                let number = session.received + 1;
                session.handle_frame(now, Frame::End(End { number, agent: 0 }), 10).unwrap();
                session.handle_frame(now, ack(session.written), 10).unwrap();
            }
        }
        assert!((20..=24).contains(&session.received), "{} in 2 s", session.received);
    }

    #[test]
    fn who_is_silent_for_as_long_as_the_lease_is_gone() {
        let mut session = lodging(4);
        turn(&mut session, &mut vec![7]);
        said(&mut session);
        assert_eq!(session.poll_timeout(), Time::from_ms(20), "what came is acknowledged soon");
        let (almost, over) = (Time::from_ms(8_999), Time::from_ms(9_000));
        session.handle_timeout(almost);
        assert!(matches!(session.poll_frame(almost), Some(Frame::Ack(_))), "the node says that it lives");
        assert!(session.over.is_none());
        session.handle_timeout(over);
        assert_eq!(session.poll_event(), Some(SessionEvent::Wake(Aid::local("bob"))));
        let (_, outlook) = turn(&mut session, &mut vec![8]);
        let Outlook::End(reason, undelivered) = outlook else { panic!("it goes on") };
        assert_eq!(reason, EndReason::LeaseOver { lease_ms: 9_000 });
        assert_eq!(undelivered.len(), 1, "what was not acknowledged goes back");
        assert!(session.is_over());
        assert_eq!(session.handle_hello(over, &resume(1)).map_err(|fault| fault.code), Err(Code::SessionGone));
    }

    #[test]
    fn while_nothing_is_read_the_lease_does_not_run() {
        let mut session = lodging(4);
        session.handle_frame(Time::ZERO, message_frame(2, message(0)), SESSION_QUEUE_BYTES_MAX).unwrap();
        assert!(!session.has_room(Time::ZERO));
        session.handle_timeout(Time::from_ms(20_000));
        assert!(session.over.is_none());
        turn(&mut session, &mut vec![]);
        assert!(session.has_room(Time::from_ms(20_000)));
        session.handle_timeout(Time::from_ms(29_001));
        assert!(session.over.is_some());
    }

    #[test]
    fn who_acknowledges_nothing_fills_the_window_and_no_more() {
        let mut session = session(8);
        let mut now = Time::ZERO;
        let mut credit = 0;
        for number in 1..=16 {
            session.handle_frame(now, create(number, 64, "sam"), 100).unwrap();
            now = now + Duration::from_millis(10);
            while let Some(frame) = session.poll_frame(now) {
                credit = if let Frame::Ack(ack) = frame { ack.credit.unwrap() } else { credit };
            }
        }
        assert_eq!((session.window.len(), session.written, credit), (16, 8, 16), "none but the window was written");
        session.handle_hello(now, &resume(8)).unwrap();
        let frames: Vec<Frame> = std::iter::from_fn(|| session.poll_frame(now)).collect();
        let [Frame::Welcome(_), Frame::Ack(Ack { credit: Some(24), .. }), refusals @ ..] = frames.as_slice() else {
            panic!("{frames:?}")
        };
        assert_eq!((refusals.len(), session.window.len()), (8, 8), "who acknowledges goes on");
    }

    #[test]
    fn unacknowledged_answers_beyond_credit_end_the_connection() {
        let mut session = session(8);
        let refused = 8 + SESSION_ANSWERS_MAX;
        for number in 1..=refused {
            let now = Time::from_ms(number);
            assert!(session.has_room(now));
            session.handle_frame(now, create(number, 64, "sam"), 100).unwrap();
        }
        let fault = hear(&mut session, create(refused + 1, 64, "sam")).unwrap_err();
        assert_eq!(fault.code, Code::OverCredit);
        assert!(fault.text.contains("acknowledge what came"), "{fault}");
    }

    #[test]
    fn frames_beyond_credit_wait_to_be_read() {
        let mut session = lodging(4);
        assert!(session.has_room(Time::ZERO));
        hear(&mut session, message_frame(2, to_many(5))).unwrap();
        let now = Time::from_ms(20_000);
        assert!(!session.has_room(now), "its agent had no turn");
        session.handle_timeout(now);
        turn(&mut session, &mut vec![]);
        assert!(session.has_room(now) && session.over.is_none(), "who waits to be read is not silent");
    }

    fn to_many(receivers: usize) -> AclMessage {
        AclMessage { receivers: (0..receivers).map(|n| Aid::local(format!("r{n}").as_str())).collect(), ..message(0) }
    }

    #[test]
    fn each_receiver_counts_against_credit_and_rate() {
        let mut session = lodging(4);
        hear(&mut session, message_frame(2, to_many(1_000))).unwrap();
        assert_eq!(session.queued, 1_000);
        assert!(!session.has_room(Time::ZERO));
        turn(&mut session, &mut vec![]);
        assert_eq!(session.queued, 0);
        let per_s = session.grant().messages_per_s;
        let (early, late) = (Time(900_000_000 / u64::from(per_s)), Time(1_100_000_000 / u64::from(per_s)));
        assert!(!session.has_room(early), "the rate is made up for");
        assert!(session.has_room(late));
    }

    #[test]
    fn open_frames_count_against_the_rate() {
        let mut session = lodging(4);
        let per_s = u64::from(session.grant().messages_per_s);
        let open = || Frame::Open(OpenFrame { messages: vec![1, 1] });
        for _ in 0..2 * per_s {
            session.handle_frame(Time::ZERO, open(), 10).unwrap();
        }
        assert!(!session.has_room(Time::from_ms(1_000)), "it is not read for a while");
        assert!(session.has_room(Time::from_ms(2_100)));
    }

    #[test]
    fn message_to_too_many_receivers_is_refused() {
        let mut session = lodging(4);
        hear(&mut session, message_frame(2, to_many(MESSAGE_RECEIVERS_MAX + 1))).unwrap();
        assert_eq!(said(&mut session), ["refused 2 2 TooManyReceivers"]);
        let mut twice = to_many(1);
        twice.receivers = std::iter::repeat_n(Aid::local("amy"), 3).chain([Aid::new("amy", "home")]).collect();
        hear(&mut session, message_frame(3, twice)).unwrap();
        assert_eq!(session.queued, 1, "an agent that is named again is one receiver");
    }

    #[test]
    fn a_session_that_is_over_waits_only_so_long_for_its_client_to_read() {
        let mut session = lodging(4);
        let over = Time::from_ms(9_000);
        session.handle_timeout(over);
        turn(&mut session, &mut vec![]);
        let close_at = over + Duration::from_millis(SESSION_LAST_FRAMES_MS);
        assert_eq!((session.is_over(), session.poll_timeout()), (true, close_at));
        session.handle_timeout(Time::from_ms(9_001));
        assert!(session.is_connected(), "its last frames may still be read");
        session.handle_timeout(close_at);
        assert_eq!((session.is_connected(), session.poll_timeout()), (false, Time::NEVER));
    }

    #[test]
    fn a_good_bye_is_answered_when_all_agents_ended() {
        let mut session = lodging(4);
        hear(&mut session, message_frame(2, message(5))).unwrap();
        hear(&mut session, Frame::Bye).unwrap();
        assert_eq!(said(&mut session).len(), 0);
        let (sent, outlook) = turn(&mut session, &mut vec![]);
        assert_eq!((sent.len(), outlook), (1, Outlook::End(EndReason::Finished, vec![])), "it says what it had to");
        assert_eq!(said(&mut session), ["ended 2 finished", "bye"]);
        assert!(session.is_over() && !session.is_connected());
    }

    #[test]
    fn an_agent_may_be_killed_before_its_creation_is_known() {
        let mut session = session(4);
        hear(&mut session, create(1, BOB, "bob")).unwrap();
        hear(&mut session, message_frame(2, message(5))).unwrap();
        assert!(session.handle_agent_gone(BOB, "killed").is_empty());
        session.handle_created(BOB, Ok(Aid::local("bob")));
        assert_eq!(said(&mut session), ["created 1 bob@home", "refused 2 2 NoAgent", "ended 3 killed"]);
        assert_eq!((session.queued, session.queued_bytes), (0, 0));
    }

    #[test]
    fn killed_agents_unsent_messages_are_refused() {
        let mut session = lodging(4);
        hear(&mut session, message_frame(2, message(5))).unwrap();
        hear(&mut session, message_frame(3, message(6))).unwrap();
        assert!(session.handle_agent_gone(BOB, "killed").is_empty());
        session.handle_agent_left(BOB);
        let told = said(&mut session);
        assert_eq!(told, ["refused 2 2 NoAgent", "refused 3 3 NoAgent", "ended 4 killed"]);
        assert_eq!((session.queued, session.queued_bytes), (0, 0));
    }

    #[test]
    fn keys_of_agents_are_certified_and_not_too_many() {
        let mut session = lodging(200);
        let certify = |number: u64, agent: u32| Frame::Certify(Certify { number, agent, request: "please".into() });
        hear(&mut session, certify(2, BOB)).unwrap();
        let (name, request) = ("bob".into(), "please".to_owned());
        assert_eq!(session.poll_event(), Some(SessionEvent::Certify { number: 2, agent: BOB, name, request }));
        session.handle_certified(2, BOB, Ok("one".into()));
        hear(&mut session, certify(3, 9)).unwrap();
        hear(&mut session, certify(4, BOB)).unwrap();
        session.handle_certified(4, BOB, Err(Fault::new(Code::BadRequest, "no")));
        assert_eq!(said(&mut session), ["certified 2 one", "refused 3 3 NoAgent", "refused 4 4 BadRequest"]);
        // As many at once as there may be agents, then one a second.
        let now = Time::ZERO;
        let most = u64::from(session.grant().agents);
        for number in 5..=most + 10 {
            session.handle_frame(now, certify(number, BOB), 100).unwrap();
        }
        assert!(said(&mut session).last().unwrap().ends_with("Busy"));
        let written = session.written;
        hear(&mut session, ack(written)).unwrap();
        let later = Time::from_ms(1_001);
        session.handle_frame(later, certify(most + 11, BOB), 100).unwrap();
        let asked = std::iter::from_fn(|| session.poll_event());
        assert_eq!(asked.filter(|event| matches!(event, SessionEvent::Certify { .. })).count() as u64, most);
    }

    #[test]
    fn a_message_that_cannot_be_written_is_answered_and_keeps_its_number() {
        let mut session = lodging(4);
        turn(&mut session, &mut vec![1]);
        assert_eq!(said(&mut session), ["message 2 1"]);
        session.handle_unwritable(2, Code::TooLong, "too long");
        assert_eq!(said(&mut session), ["refused 2 0 TooLong"]);
        session.handle_unwritable(2, Code::TooLong, "too long");
        session.handle_unwritable(0, Code::TooLong, "too long");
        let (sent, _) = turn(&mut session, &mut vec![]);
        assert!(matches!(sent.as_slice(), [failure] if failure.starts_with("ams: ")), "{sent:?}");
    }
}
