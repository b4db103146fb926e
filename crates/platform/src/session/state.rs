//! State machine of the node's end of a session; see [`Session`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Aid, Symbol};

use super::code_name::CodeName;
use super::frames::{
    AckFrame, Certify, Create, EndFrame, ErrorCode, ErrorFrame, HelloFrame, MessageFrame, SESSION_VERSION, SessionFrame,
};
use super::grant::SessionGrant;
use super::kept_agents::KeptAgents;
use super::memory_quota::{MemoryQuota, QuotaShare};
use super::moves::Moves;
use super::open_messages::OpenMessages;
use super::session_agents::SessionAgent;
use super::transmit::Outgoing;
use crate::durable::Ticket;
use crate::limits::{
    SESSION_ACK_DELAY_MS, SESSION_ANSWERS_MAX, SESSION_CERTIFICATES_PER_S, SESSION_LAST_FRAMES_MS,
    SESSION_QUEUE_BYTES_MAX,
};
use crate::rate::Rate;
use crate::{EndReason, Time};

/// Parameters of a new session.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Identifier of the session in frames.
    pub session: String,
    /// Secret with which its client resumes the session over another connection: random, and known to nobody else.
    pub secret: String,
    /// Name of the platform.
    pub platform: Symbol,
    /// Rights and limits of the session.
    pub grant: SessionGrant,
    /// Kept agents of its node.
    pub kept_agents: Arc<KeptAgents>,
}

/// Event of a session: an action for its driver, or information.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Create an agent with a [body](super::SessionBody) of this number, then call [`Session::handle_created`].
    Create {
        /// Number of the agent in frames.
        agent: u32,
        /// Local name of the agent.
        name: Symbol,
    },
    /// Give this agent a turn.
    Wake(Aid),
    /// Certify an agent's key, then call [`Session::handle_certified`].
    Certify {
        /// Number of the frame that asks for it.
        number: u64,
        /// Number of the agent in frames.
        agent: u32,
        /// Local name of the agent.
        name: Symbol,
        /// Certificate signing request, as PEM.
        request: String,
    },
    /// Note the code of an agent that is to continue on this node. If the code can run here and is not here, call
    /// [`Session::ask_for_code`], else [`Session::handle_code`].
    Code {
        /// Number of the agent in frames.
        agent: u32,
        /// Local name of the agent.
        name: Symbol,
        /// Name of the agent's code.
        code: Arc<CodeName>,
    },
    /// Admit code of an agent, then call [`Session::handle_code`]; if it was admitted, call [`Session::note_brought`]
    /// before.
    Admit {
        /// Number of the last frame with the code.
        number: u64,
        /// Number of the agent in frames.
        agent: u32,
        /// Local name of the agent.
        name: Symbol,
        /// Name of the agent's code.
        code: Arc<CodeName>,
        /// Bytes that the client sent as that code.
        bytes: Vec<u8>,
    },
    /// Look for the code of an agent, which the client lacks, then call [`Session::give_code`]. Call
    /// [`Session::deny_code`] instead if the client did not have that code before and the agent may not [run
    /// here](super::SessionMobility::has_code) with it.
    Lack {
        /// Number of the frame that asks for it.
        number: u64,
        /// Number of the agent in frames.
        agent: u32,
        /// Local name of the agent.
        name: Symbol,
        /// Name of the agent's code.
        code: Arc<CodeName>,
        /// True if the code came to the client from this node, or to the node from the client.
        is_given: bool,
    },
    /// Note that code from the client was refused, because it exceeds the allowance.
    TooMuchCode {
        /// Local name of the agent.
        agent: Symbol,
        /// Name of the code.
        code: Arc<CodeName>,
    },
    /// Note that a message with a forged sender was refused.
    Forged {
        /// Agent that sent it.
        agent: Symbol,
        /// Sender that the agent named.
        sender: Aid,
    },
}

/// State of one connection of a session.
#[derive(Debug)]
pub(super) struct SessionConnection {
    /// Pending welcome: true until it is written.
    pub welcome: bool,
    /// Number of frames of the window that were written on it.
    pub sent: usize,
    /// Highest number that the client lets the node send, if it named one.
    pub credit: Option<u64>,
    /// Values of `received` and `granted` that the client was told; `ack_due` is when it is to be told again.
    pub told: (u64, u64),
    pub ack_due: Time,
    pub spoke_at: Time,
}

/// Node's end of a session, without sockets.
///
/// Inputs: the `handle_*` functions, with the time, and the turns of its agents' bodies
/// ([`SessionBody`](super::SessionBody)).
///
/// Commands: [`Session::end`], and the answers to events, which each event names.
///
/// Outputs: [`Session::poll_frame`] (frames to write), [`Session::poll_event`], [`Session::poll_timeout`] (when to call
/// [`Session::handle_timeout`]).
///
/// Order: [`Session::handle_hello`] begins each connection, [`Session::handle_frame`] follows for each frame, as long
/// as [`Session::has_room`], and [`Session::handle_disconnected`] ends it. After each input or command, take all frames
/// and events until there are none, then the timeout.
///
/// Frames that must not be lost or doubled are numbered from 1, each way. A frame stays in its sender's window until it
/// is acknowledged; after a break both ends say what they received, and resume from there. A client that is silent for
/// as long as its lease loses the session, and its agents end or are kept.
pub struct Session {
    pub(super) opening: Opening,
    /// Agents of the session, boxed because a node of the map has room for eleven. Most sessions have one agent, and
    /// there are very many sessions.
    pub(super) lodgers: BTreeMap<u32, Box<SessionAgent>>,
    /// Agents that are gone, but still in their slots, with the reasons.
    pub(super) parting: Vec<(u32, String)>,
    /// Number of the last numbered frame received.
    pub(super) received: u64,
    /// Deliveries received for agents that had no turn yet, and their bytes.
    pub(super) queued: u64,
    pub(super) queued_bytes: usize,
    /// Highest number that the client may send.
    pub(super) granted: u64,
    /// Number of searches for code, and of code being taken in, for the client: each counts against its credit.
    pub(super) looking: u64,
    pub(super) rate: Rate,
    pub(super) certificates: Rate,
    /// Frames from the oldest unacknowledged one on; its number is `first`.
    pub(super) window: VecDeque<Outgoing>,
    /// Bytes of the messages in the window.
    pub(super) weight: QuotaShare,
    /// Messages that the client has and its agents have not handled.
    pub(super) open: OpenMessages,
    /// Memory quota of the account: bytes that wait for its clients.
    pub(super) burden: Arc<MemoryQuota>,
    pub(super) first: u64,
    /// Highest number ever written.
    pub(super) written: u64,
    pub(super) connection: Option<SessionConnection>,
    /// Highest number that the client gave a connection.
    attempt: u32,
    pub(super) heard_at: Time,
    /// Reason of the session's end, once it is over.
    pub(super) over: Option<EndReason>,
    /// Time at which a session that is over closes its connection, even if its client has not read everything.
    close_at: Time,
    /// Last frame of the connection: good-bye or an error.
    pub(super) last: Option<SessionFrame>,
    pub(super) events: VecDeque<SessionEvent>,
    pub(super) moves: Moves,
    /// Tickets of handled messages, by the agent that was given them earlier.
    pub(super) covered: FxHashMap<u32, Vec<Ticket>>,
}

impl Session {
    /// Returns a session that begins now, without a connection yet.
    pub fn new(opening: Opening, now: Time) -> Self {
        let grant = &opening.grant;
        let mut rate = Rate::new(grant.messages_per_s, grant.window, now);
        let granted = rate.take(u64::from(grant.window), now);
        let certificates = Rate::new(SESSION_CERTIFICATES_PER_S, grant.agents, now);
        let burden = opening.kept_agents.burden(&opening.grant.account);
        Self {
            opening,
            weight: QuotaShare::on(&burden),
            open: OpenMessages::new(QuotaShare::on(&burden)),
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

    /// Returns the identifier of the session.
    pub fn name(&self) -> &str {
        &self.opening.session
    }

    /// Returns the rights and limits of the session.
    pub fn grant(&self) -> &SessionGrant {
        &self.opening.grant
    }

    /// Returns true if there is a connection.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Returns the number of frames to the client that it has not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.window.len()
    }

    /// Returns true if the session is over and all its agents have ended.
    pub fn is_over(&self) -> bool {
        self.over.is_some() && self.lodgers.is_empty() && self.parting.is_empty()
    }

    /// Returns true if the session takes more frames now; grants the client the credit that is due. While it is false,
    /// read no frames: a client that sends beyond its credit waits, and the lease does not run.
    pub fn has_room(&mut self, now: Time) -> bool {
        self.grow_credit(now);
        let is_taken_in = self.queued_bytes < SESSION_QUEUE_BYTES_MAX && self.queued <= self.window_max();
        // A client that owes acknowledgements is still read: they may follow frames beyond the credit.
        is_taken_in && !self.rate.is_in_debt(now) && (self.received < self.granted || self.behind() > 0)
    }

    fn window_max(&self) -> u64 {
        u64::from(self.opening.grant.window)
    }

    /// Returns the number of answers without room in the window.
    fn behind(&self) -> u64 {
        (self.window.len() as u64).saturating_sub(self.window_max())
    }

    /// Grants the client all credit that is due. Returns true if its rate withholds some of it.
    pub(super) fn grow_credit(&mut self, now: Time) -> bool {
        // Answers behind the window count, so a client that acknowledges none cannot cause more.
        let taken = self.queued + self.looking + self.behind() + self.granted;
        let wanted = (self.received + self.window_max()).saturating_sub(taken);
        let given = self.rate.take(wanted, now);
        self.granted += given;
        given < wanted
    }

    /// Returns true if this is the secret that the client was told.
    pub fn knows(&self, secret: &str) -> bool {
        let (ours, theirs) = (self.opening.secret.as_bytes(), secret.as_bytes());
        // The time of the comparison does not depend on where they differ.
        ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |all, (one, other)| all | (one ^ other)) == 0
    }

    /// Checks that no newer connection of the client has said hello, as far as known.
    ///
    /// # Errors
    /// The hello of an older connection came late: tell the client why, and close that connection. The session
    /// continues over the newer one.
    pub fn note_attempt(&mut self, hello: &HelloFrame) -> Result<(), ErrorFrame> {
        match hello.attempt {
            Some(attempt) if attempt < self.attempt => {
                Err(ErrorFrame::new(ErrorCode::TakenOver, "a newer connection of its client has the session"))
            }
            said => {
                self.attempt = self.attempt.max(said.unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Takes in the hello of a new connection. It replaces an earlier connection.
    ///
    /// # Errors
    /// The session cannot continue: tell the client why, and close the connection.
    pub fn handle_hello(&mut self, now: Time, hello: &HelloFrame) -> Result<(), ErrorFrame> {
        check_version(hello)?;
        let gone = |text: &str| ErrorFrame::new(ErrorCode::SessionGone, text);
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
        self.connection =
            Some(SessionConnection { welcome: true, sent: 0, credit: None, told, ack_due, spoke_at: now });
        Ok(())
    }

    /// Notes that the connection is gone.
    pub fn handle_disconnected(&mut self) {
        self.connection = None;
    }

    /// Takes in a frame of this many bytes.
    ///
    /// # Errors
    /// The connection has failed: tell the client why, and close it. The session continues.
    pub fn handle_frame(&mut self, now: Time, frame: SessionFrame, bytes: usize) -> Result<(), ErrorFrame> {
        let outcome = self.take_frame(now, frame, bytes);
        if outcome.is_err() {
            self.handle_disconnected();
        }
        outcome
    }

    fn take_frame(&mut self, now: Time, frame: SessionFrame, bytes: usize) -> Result<(), ErrorFrame> {
        let Some(connection) = &mut self.connection else {
            return Err(ErrorFrame::new(ErrorCode::Protocol, "there is no connection"));
        };
        self.heard_at = now;
        match frame {
            SessionFrame::Ack(AckFrame { received, credit }) => {
                connection.credit = credit;
                self.acknowledge(received, true)?;
                self.open.keep_listed();
            }
            SessionFrame::Open(open) => {
                let cost = self.open.list(&open.messages)?;
                self.rate.charge(cost);
            }
            SessionFrame::Create(Create { number, agent, name }) => {
                self.count(now, number)?;
                self.create(number, agent, &name);
            }
            SessionFrame::End(EndFrame { number, agent }) => {
                self.count(now, number)?;
                self.end_agent(number, agent);
            }
            SessionFrame::Message(MessageFrame { number, agent, message }) => {
                self.count(now, number)?;
                self.accept(number, agent, message.into_message(), bytes);
            }
            SessionFrame::Unreadable { number, why } => {
                self.count(now, number)?;
                self.refuse(number, ErrorCode::BadMessage, why);
            }
            SessionFrame::Certify(Certify { number, agent, request }) => {
                self.count(now, number)?;
                self.certify(now, number, agent, request);
            }
            SessionFrame::Keep(keep) => {
                self.count(now, keep.number)?;
                self.keep(keep);
            }
            SessionFrame::Save(save) => {
                self.count(now, save.number)?;
                self.save(save, bytes);
            }
            SessionFrame::Code(part) => {
                self.count(now, part.number)?;
                self.take_code(now, part);
            }
            SessionFrame::Lacks(lacks) => {
                self.count(now, lacks.number)?;
                self.lack(lacks);
            }
            SessionFrame::Stays(stays) => {
                self.count(now, stays.number)?;
                self.stay(stays);
            }
            SessionFrame::Bye => self.end(now, EndReason::Finished, SessionFrame::Bye),
            _ => {
                return Err(ErrorFrame::new(
                    ErrorCode::Protocol,
                    "a frame that is not a client's to say, or out of turn",
                ));
            }
        }
        Ok(())
    }

    /// Counts a numbered frame.
    fn count(&mut self, now: Time, number: u64) -> Result<(), ErrorFrame> {
        let due = self.received + 1;
        if number != due {
            return Err(ErrorFrame::new(ErrorCode::Protocol, format!("frame {number} came where {due} is due")));
        }
        if number > self.granted {
            let behind = self.behind();
            if behind == 0 || behind >= SESSION_ANSWERS_MAX {
                let text = format!(
                    "frame {number} is beyond what was granted, {}; {} answers wait: acknowledge what came (`ack`), then send on",
                    self.granted,
                    self.window.len()
                );
                return Err(ErrorFrame::new(ErrorCode::OverCredit, text));
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

    /// Removes frames that the client acknowledges from the window. `knows` says if it has listed the open messages
    /// among them.
    fn acknowledge(&mut self, received: u64, knows: bool) -> Result<(), ErrorFrame> {
        if received > self.written {
            let text = format!("frame {received} is acknowledged; {} is the last that was sent", self.written);
            return Err(ErrorFrame::new(ErrorCode::Protocol, text));
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

    /// Ends the session: its agents end, and the connection, with this last frame.
    pub fn end(&mut self, now: Time, reason: EndReason, last: SessionFrame) {
        if self.over.is_none() {
            self.close_at = now + Duration::from_millis(SESSION_LAST_FRAMES_MS);
            self.over = Some(reason);
            self.last = Some(last);
            self.end_all();
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(self.opening.grant.lease_ms)
    }

    /// Returns the time of the node's next sign of life: a third of the lease after it last wrote.
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

    /// Returns when [`Session::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Time {
        if self.over.is_some() {
            return if self.is_connected() { self.close_at } else { Time::NEVER };
        }
        let ack_due = self.connection.as_ref().map_or(Time::NEVER, |connection| connection.ack_due);
        (self.heard_at + self.lease()).min(ack_due).min(self.sign_of_life_at()).min(self.moves.due())
    }

    /// Takes in that the time of [`Session::poll_timeout`] has come.
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
            let over = SessionFrame::Error(ErrorFrame::new(ErrorCode::LeaseOver, text));
            return self.end(now, EndReason::LeaseOver { lease_ms: self.opening.grant.lease_ms }, over);
        }
        if now >= self.sign_of_life_at() {
            self.acknowledge_by(now);
        }
        self.give_up_waiting(now);
    }
}

/// Checks that a client speaks a version that this node speaks.
///
/// # Errors
/// It does not.
pub fn check_version(hello: &HelloFrame) -> Result<(), ErrorFrame> {
    if hello.versions.contains(&SESSION_VERSION) {
        return Ok(());
    }
    Err(ErrorFrame::new(
        ErrorCode::Version,
        format!("this node speaks version {SESSION_VERSION} of the session protocol"),
    ))
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, MessageBody, Performative, Value};

    use super::super::frames::{OpenFrame, Resume};
    use super::super::session_agents::{Outlook, Waiting};
    use super::*;
    use crate::limits::MESSAGE_RECEIVERS_MAX;

    const BOB: u32 = 3;

    fn opening(window: u32) -> Opening {
        let grant = SessionGrant {
            window,
            agents: 64,
            lease_ms: 9_000,
            ..SessionGrant::new("tester", vec!["bob".into(), "s*".into()])
        };
        let (session, secret) = ("id".into(), "secret".into());
        Opening { session, secret, platform: "home".into(), grant, kept_agents: Arc::default() }
    }

    fn hello() -> HelloFrame {
        HelloFrame { versions: vec![7, SESSION_VERSION], ..HelloFrame::default() }
    }

    fn resume(received: u64) -> HelloFrame {
        let resume = Resume { session: "id".into(), secret: "secret".into(), received };
        HelloFrame { resume: Some(resume), ..hello() }
    }

    /// Returns a session with a client that was welcomed.
    fn session(window: u32) -> Session {
        let mut session = Session::new(opening(window), Time::ZERO);
        session.handle_hello(Time::ZERO, &hello()).unwrap();
        assert!(matches!(session.poll_frame(Time::ZERO), Some(SessionFrame::Welcome(_))));
        session
    }

    /// Returns such a session with an agent, which the client knows of.
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

    fn hear(session: &mut Session, frame: SessionFrame) -> Result<(), ErrorFrame> {
        session.handle_frame(Time::ZERO, frame, 100)
    }

    fn create(number: u64, agent: u32, name: &str) -> SessionFrame {
        SessionFrame::Create(Create { number, agent, name: name.into() })
    }

    fn ack(received: u64) -> SessionFrame {
        SessionFrame::Ack(AckFrame { received, credit: None })
    }

    fn message(n: i64) -> AclMessage {
        AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("amy"), Value::Int(n))
    }

    fn message_frame(number: u64, message: AclMessage) -> SessionFrame {
        SessionFrame::Message(MessageFrame { number, agent: BOB, message: MessageBody::Owned(Box::new(message)) })
    }

    /// Returns the frames that the session writes now, in a few words each, without acknowledgements.
    fn said(session: &mut Session) -> Vec<String> {
        let frames = std::iter::from_fn(|| session.poll_frame(Time::ZERO));
        let shown = |frame| match frame {
            SessionFrame::Created(created) => Some(format!("created {} {}", created.number, created.name)),
            SessionFrame::Ended(ended) => Some(format!("ended {} {}", ended.number, ended.reason)),
            SessionFrame::Message(frame) => Some(format!("message {} {}", frame.number, frame.message.content)),
            SessionFrame::Certified(certified) => {
                Some(format!("certified {} {}", certified.number, certified.certificates))
            }
            SessionFrame::Refused(refused) => {
                Some(format!("refused {} {} {:?}", refused.number, refused.of, refused.code))
            }
            SessionFrame::Error(fault) => Some(format!("error {:?}", fault.code)),
            SessionFrame::Bye => Some("bye".into()),
            _ => None,
        };
        frames.filter_map(shown).collect()
    }

    /// Gives the agent a turn with these messages in its mailbox. Returns what it sends; messages that it leaves stay
    /// in the mailbox.
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
    fn agent_sends_as_itself() {
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
    fn impossible_frames_are_refused_alone() {
        let mut session = lodging(16);
        let nobody = AclMessage { receivers: [].into_iter().collect(), ..message(0) };
        for frame in [
            create(2, BOB, "sam"),
            create(3, 64, "sam"),
            create(4, 5, "eve"),
            create(5, 5, "s@m"),
            message_frame(6, nobody),
            SessionFrame::End(EndFrame { number: 7, agent: 9 }),
            SessionFrame::Unreadable { number: 8, why: "it is none".into() },
            create(9, 5, "sam"),
        ] {
            hear(&mut session, frame).unwrap();
        }
        session.handle_created(5, Err(ErrorFrame::new(ErrorCode::NameTaken, "there is one")));
        let refusals = ["2 2 TooManyAgents", "3 3 TooManyAgents", "4 4 NotAllowed", "5 5 BadName", "6 6 NoReceiver"];
        let more = ["7 7 NoAgent", "8 8 BadMessage", "9 9 NameTaken"];
        let expected: Vec<String> = refusals.iter().chain(&more).map(|refusal| format!("refused {refusal}")).collect();
        assert_eq!(said(&mut session), expected);
    }

    #[test]
    fn full_window_keeps_mailbox_waiting() {
        let mut session = lodging(3);
        let mut mailbox: Vec<i64> = (0..6).collect();
        assert_eq!(turn(&mut session, &mut mailbox).1, Outlook::Stay);
        assert_eq!((said(&mut session).len(), mailbox.len()), (3, 3));
        hear(&mut session, ack(3)).unwrap();
        assert_eq!(session.poll_event(), Some(SessionEvent::Wake(Aid::local("bob"))));
        turn(&mut session, &mut mailbox);
        assert_eq!(said(&mut session), ["message 5 3", "message 6 4"]);
        let closed = SessionFrame::Ack(AckFrame { received: 6, credit: Some(6) });
        hear(&mut session, closed).unwrap();
        turn(&mut session, &mut mailbox);
        assert_eq!((said(&mut session).len(), mailbox.len()), (0, 0), "the client wants no more for now");
        hear(&mut session, SessionFrame::Ack(AckFrame { received: 6, credit: Some(7) })).unwrap();
        assert_eq!(said(&mut session), ["message 7 5"]);
    }

    #[test]
    fn session_resumes_where_it_was() {
        let mut session = lodging(8);
        turn(&mut session, &mut vec![10, 11, 12]);
        assert_eq!(said(&mut session).len(), 3);
        session.handle_disconnected();
        assert!(hear(&mut session, message_frame(2, message(0))).is_err(), "there is no connection");
        assert_eq!(said(&mut session).len(), 0);
        session.handle_hello(Time::ZERO, &resume(3)).unwrap();
        let Some(SessionFrame::Welcome(welcome)) = session.poll_frame(Time::ZERO) else { panic!("no welcome") };
        assert_eq!((welcome.received, welcome.session.as_str()), (1, "id"));
        assert_eq!(said(&mut session), ["message 4 12"]);
        for (hello, code) in [
            (resume(2), ErrorCode::SessionGone),
            (resume(9), ErrorCode::Protocol),
            (HelloFrame { versions: vec![2], ..resume(3) }, ErrorCode::Version),
        ] {
            assert_eq!(session.handle_hello(Time::ZERO, &hello).map_err(|fault| fault.code), Err(code));
        }
        let mut wrong = resume(3);
        wrong.resume.as_mut().unwrap().secret = "secreT".into();
        assert_eq!(session.handle_hello(Time::ZERO, &wrong).map_err(|fault| fault.code), Err(ErrorCode::SessionGone));
    }

    #[test]
    fn late_connection_takes_nothing_over() {
        let mut session = lodging(16);
        let attempt = |n| HelloFrame { attempt: Some(n), ..resume(1) };
        session.handle_hello(Time::ZERO, &attempt(3)).unwrap();
        assert_eq!(session.handle_hello(Time::ZERO, &attempt(2)).unwrap_err().code, ErrorCode::TakenOver);
        assert!(session.is_connected(), "the newer one has it");
        // A client that counts no connections is always the newest.
        session.handle_hello(Time::ZERO, &resume(1)).unwrap();
        assert_eq!(session.handle_hello(Time::ZERO, &attempt(2)).unwrap_err().code, ErrorCode::TakenOver);
        session.handle_hello(Time::ZERO, &attempt(3)).unwrap();
        session.handle_hello(Time::ZERO, &attempt(4)).unwrap();
    }

    #[test]
    fn fault_leaves_session_alive() {
        for (frame, code) in [
            (message_frame(3, message(0)), ErrorCode::Protocol),
            (message_frame(1, message(0)), ErrorCode::Protocol),
            (ack(2), ErrorCode::Protocol),
            (SessionFrame::Hello(hello()), ErrorCode::Protocol),
            (SessionFrame::Error(ErrorFrame::new(ErrorCode::Busy, "me?")), ErrorCode::Protocol),
        ] {
            let mut session = lodging(4);
            assert_eq!(hear(&mut session, frame).map_err(|fault| fault.code), Err(code));
            assert!(!session.is_connected() && !session.is_over());
            session.handle_hello(Time::ZERO, &resume(1)).unwrap();
        }
    }

    #[test]
    fn credit_follows_turns_and_quota() {
        let mut session = lodging(4);
        for number in 2..=4 {
            hear(&mut session, message_frame(number, message(0))).unwrap();
        }
        assert_eq!(said(&mut session).len(), 0);
        assert_eq!(
            hear(&mut session, message_frame(5, message(0))).map_err(|fault| fault.code),
            Err(ErrorCode::OverCredit)
        );
        session.handle_hello(Time::ZERO, &resume(1)).unwrap();
        turn(&mut session, &mut vec![]);
        let later = Time::from_ms(50);
        let frames: Vec<SessionFrame> = std::iter::from_fn(|| session.poll_frame(later)).collect();
        assert!(matches!(
            frames.as_slice(),
            [SessionFrame::Welcome(_), SessionFrame::Ack(AckFrame { received: 4, credit: Some(8) })]
        ));

        let slow = SessionGrant { messages_per_s: 10, ..opening(4).grant };
        let mut session = Session::new(Opening { grant: slow, ..opening(4) }, Time::ZERO);
        session.handle_hello(Time::ZERO, &hello()).unwrap();
        let mut credit = 0;
        for ms in 0..2_000 {
            let now = Time::from_ms(ms);
            while let Some(frame) = session.poll_frame(now) {
                credit = match frame {
                    SessionFrame::Welcome(welcome) => welcome.credit,
                    SessionFrame::Ack(ack) => ack.credit.unwrap(),
                    _ => credit,
                };
            }
            if session.received < credit {
                let number = session.received + 1;
                session.handle_frame(now, SessionFrame::End(EndFrame { number, agent: 0 }), 10).unwrap();
                session.handle_frame(now, ack(session.written), 10).unwrap();
            }
        }
        assert!((20..=24).contains(&session.received), "{} in 2 s", session.received);
    }

    #[test]
    fn silent_client_loses_session() {
        let mut session = lodging(4);
        turn(&mut session, &mut vec![7]);
        said(&mut session);
        assert_eq!(session.poll_timeout(), Time::from_ms(20), "what came is acknowledged soon");
        let (almost, over) = (Time::from_ms(8_999), Time::from_ms(9_000));
        session.handle_timeout(almost);
        assert!(matches!(session.poll_frame(almost), Some(SessionFrame::Ack(_))), "the node says that it lives");
        assert!(session.over.is_none());
        session.handle_timeout(over);
        assert_eq!(session.poll_event(), Some(SessionEvent::Wake(Aid::local("bob"))));
        let (_, outlook) = turn(&mut session, &mut vec![8]);
        let Outlook::End(reason, undelivered) = outlook else { panic!("it goes on") };
        assert_eq!(reason, EndReason::LeaseOver { lease_ms: 9_000 });
        assert_eq!(undelivered.len(), 1, "what was not acknowledged goes back");
        assert!(session.is_over());
        assert_eq!(session.handle_hello(over, &resume(1)).map_err(|fault| fault.code), Err(ErrorCode::SessionGone));
    }

    #[test]
    fn unread_session_keeps_its_lease() {
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
    fn unacknowledged_frames_stop_at_window() {
        let mut session = session(8);
        let mut now = Time::ZERO;
        let mut credit = 0;
        for number in 1..=16 {
            session.handle_frame(now, create(number, 64, "sam"), 100).unwrap();
            now = now + Duration::from_millis(10);
            while let Some(frame) = session.poll_frame(now) {
                credit = if let SessionFrame::Ack(ack) = frame { ack.credit.unwrap() } else { credit };
            }
        }
        assert_eq!((session.window.len(), session.written, credit), (16, 8, 16), "none but the window was written");
        session.handle_hello(now, &resume(8)).unwrap();
        let frames: Vec<SessionFrame> = std::iter::from_fn(|| session.poll_frame(now)).collect();
        let [SessionFrame::Welcome(_), SessionFrame::Ack(AckFrame { credit: Some(24), .. }), refusals @ ..] =
            frames.as_slice()
        else {
            panic!("{frames:?}")
        };
        assert_eq!((refusals.len(), session.window.len()), (8, 8), "who acknowledges goes on");
    }

    #[test]
    fn unacknowledged_answers_end_connection() {
        let mut session = session(8);
        let refused = 8 + SESSION_ANSWERS_MAX;
        for number in 1..=refused {
            let now = Time::from_ms(number);
            assert!(session.has_room(now));
            session.handle_frame(now, create(number, 64, "sam"), 100).unwrap();
        }
        let fault = hear(&mut session, create(refused + 1, 64, "sam")).unwrap_err();
        assert_eq!(fault.code, ErrorCode::OverCredit);
        assert!(fault.text.contains("acknowledge what came"), "{fault}");
    }

    #[test]
    fn frames_beyond_credit_wait() {
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
    fn each_receiver_uses_credit() {
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
    fn open_frames_use_rate() {
        let mut session = lodging(4);
        let per_s = u64::from(session.grant().messages_per_s);
        let open = || SessionFrame::Open(OpenFrame { messages: vec![1, 1] });
        for _ in 0..2 * per_s {
            session.handle_frame(Time::ZERO, open(), 10).unwrap();
        }
        assert!(!session.has_room(Time::from_ms(1_000)), "it is not read for a while");
        assert!(session.has_room(Time::from_ms(2_100)));
    }

    #[test]
    fn excess_receivers_are_refused() {
        let mut session = lodging(4);
        hear(&mut session, message_frame(2, to_many(MESSAGE_RECEIVERS_MAX + 1))).unwrap();
        assert_eq!(said(&mut session), ["refused 2 2 TooManyReceivers"]);
        let mut twice = to_many(1);
        twice.receivers = std::iter::repeat_n(Aid::local("amy"), 3).chain([Aid::new("amy", "home")]).collect();
        hear(&mut session, message_frame(3, twice)).unwrap();
        assert_eq!(session.queued, 1, "an agent that is named again is one receiver");
    }

    #[test]
    fn ended_session_closes_in_time() {
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
    fn bye_is_answered_after_agents() {
        let mut session = lodging(4);
        hear(&mut session, message_frame(2, message(5))).unwrap();
        hear(&mut session, SessionFrame::Bye).unwrap();
        assert_eq!(said(&mut session).len(), 0);
        let (sent, outlook) = turn(&mut session, &mut vec![]);
        assert_eq!((sent.len(), outlook), (1, Outlook::End(EndReason::Finished, vec![])), "it says what it had to");
        assert_eq!(said(&mut session), ["ended 2 finished", "bye"]);
        assert!(session.is_over() && !session.is_connected());
    }

    #[test]
    fn killed_agent_is_still_created_first() {
        let mut session = session(4);
        hear(&mut session, create(1, BOB, "bob")).unwrap();
        hear(&mut session, message_frame(2, message(5))).unwrap();
        assert!(session.handle_agent_gone(BOB, "killed").is_empty());
        session.handle_created(BOB, Ok(Aid::local("bob")));
        assert_eq!(said(&mut session), ["created 1 bob@home", "refused 2 2 NoAgent", "ended 3 killed"]);
        assert_eq!((session.queued, session.queued_bytes), (0, 0));
    }

    #[test]
    fn killed_agents_unsent_is_refused() {
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
    fn certificates_are_rate_limited() {
        let mut session = lodging(200);
        let certify =
            |number: u64, agent: u32| SessionFrame::Certify(Certify { number, agent, request: "please".into() });
        hear(&mut session, certify(2, BOB)).unwrap();
        let (name, request) = ("bob".into(), "please".to_owned());
        assert_eq!(session.poll_event(), Some(SessionEvent::Certify { number: 2, agent: BOB, name, request }));
        session.handle_certified(2, BOB, Ok("one".into()));
        hear(&mut session, certify(3, 9)).unwrap();
        hear(&mut session, certify(4, BOB)).unwrap();
        session.handle_certified(4, BOB, Err(ErrorFrame::new(ErrorCode::BadRequest, "no")));
        assert_eq!(said(&mut session), ["certified 2 one", "refused 3 3 NoAgent", "refused 4 4 BadRequest"]);
        // A client may request as many at once as it may have agents, then one a second.
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
    fn unwritable_message_fails_with_number() {
        let mut session = lodging(4);
        turn(&mut session, &mut vec![1]);
        assert_eq!(said(&mut session), ["message 2 1"]);
        session.handle_unwritable(2, ErrorCode::TooLong, "too long");
        assert_eq!(said(&mut session), ["refused 2 0 TooLong"]);
        session.handle_unwritable(2, ErrorCode::TooLong, "too long");
        session.handle_unwritable(0, ErrorCode::TooLong, "too long");
        let (sent, _) = turn(&mut session, &mut vec![]);
        assert!(matches!(sent.as_slice(), [failure] if failure.starts_with("ams: ")), "{sent:?}");
    }
}
