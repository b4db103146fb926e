//! Task of a session: moves bytes between the session and its client's connection, when there is one.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::audit::{Party, RefusalReason, Refused};
use whimbrel_platform::limits::{SESSION_ACK_DELAY_MS, SESSION_NAME_BYTES_MAX, SESSIONS_NAME_BYTES_MAX};
use whimbrel_platform::policy::{Action, Principal};
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::{
    ErrorCode, ErrorFrame, FrameReader, FrameWriteError, FrameWriter, Framing, SessionBody, SessionEvent, SessionFrame,
    SessionGrant, SharedSession, Whereabouts,
};

use super::arrival::ClientArrival;
use super::code;
use super::session_ports::Carrier;
use super::wire::{Moved, SessionWire, WRITE_BYTES};
use super::{AgentPortState, SessionAccount, SessionArrivals, taken_over};
use crate::driver::SocketDriver;
use crate::drivers::{DriverUse, SocketDrivers};
use crate::refusal;
use crate::task::SLEEP_MAX;

/// Principal of a token that is good for agents of any name.
const ANY_NAME: &str = "*";

/// Interval at which a session checks whether a client that sent beyond its credit may be read again.
const ROOM_LOOK: Duration = Duration::from_millis(SESSION_ACK_DELAY_MS);

struct SessionTask {
    port: Arc<AgentPortState>,
    session: Arc<SharedSession>,
    account: Arc<SessionAccount>,
    arrivals: Arc<SessionArrivals>,
    /// Transport of the client, if the client follows when it is sent to another node.
    follows: Option<Carrier>,
    /// Driver that runs the task, if the port's threads do not.
    driver: Option<SessionDriver>,
}

/// Driver of a session's socket. Workers attend it meanwhile.
pub(super) struct SessionDriver {
    driver: Arc<SocketDriver>,
    _used: DriverUse,
}

impl SessionDriver {
    /// Notes the use of a driver for a session.
    pub fn new(driver: Arc<SocketDriver>, drivers: &Arc<SocketDrivers>) -> Self {
        Self { driver, _used: drivers.used() }
    }
}

impl Drop for SessionTask {
    fn drop(&mut self) {
        // This runs also when the threads end with the port.
        self.arrivals.close();
    }
}

/// Event of a connection.
enum ClientEvent {
    /// Bytes arrived, or there is work.
    Go,
    /// The client has gone.
    Gone,
}

/// Runs a session until its end.
pub(super) async fn run(
    port: Arc<AgentPortState>,
    session: Arc<SharedSession>,
    account: Arc<SessionAccount>,
    arrivals: Arc<SessionArrivals>,
    driver: Option<SessionDriver>,
) {
    let mut task = SessionTask { port, session, account, arrivals, follows: None, driver };
    let mut arrival = None;
    loop {
        arrival = match arrival.take() {
            Some(arrival) => task.converse(arrival).await,
            None => task.wait().await,
        };
        if arrival.is_none() && task.session.lock().is_over() {
            break;
        }
    }
    let name = task.session.lock().name().to_owned();
    task.port.strike_out(&name, &task.account);
}

impl SessionTask {
    /// Waits for a client.
    async fn wait(&mut self) -> Option<Box<ClientArrival>> {
        self.look_after();
        if self.session.lock().is_over() {
            return None;
        }
        let arrival = self.arrivals.take();
        if arrival.is_some() {
            return arrival;
        }
        let until = self.session.lock().poll_timeout();
        let wait = (until - self.port.host.now()).min(SLEEP_MAX);
        let _ = tokio::time::timeout(wait, self.arrivals.wake.notified()).await;
        None
    }

    /// Exchanges frames until the connection ends. Returns the next connection, if there is one.
    async fn converse(&mut self, arrival: Box<ClientArrival>) -> Option<Box<ClientArrival>> {
        let now = self.port.host.now();
        let greeted = self.session.lock().handle_hello(now, &arrival.hello);
        if let Err(fault) = greeted {
            tokio::spawn(arrival.turn_away(fault));
            return None;
        }
        self.follows = arrival.hello.follows.then(|| arrival.carrier());
        let grant = self.session.lock().grant().clone();
        let Some(mut connection) = ClientConnection::of(arrival, &grant, self.driver.is_some()) else {
            self.session.lock().handle_disconnected();
            return None;
        };
        loop {
            if let Some(arrival) = self.arrivals.take() {
                self.hang_up(connection, taken_over());
                return Some(arrival);
            }
            if let Err(fault) = self.take_frames(&mut connection) {
                self.hang_up(connection, fault);
                return None;
            }
            self.look_after();
            if !self.session.lock().is_connected() {
                // The session is over, and the client did not read its last frames in time.
                return None;
            }
            self.fill_out(&mut connection);
            if !self.session.lock().is_connected() {
                tokio::spawn(connection.wire.close());
                return None;
            }
            match self.happening(&mut connection).await {
                ClientEvent::Go => {}
                ClientEvent::Gone => {
                    self.session.lock().handle_disconnected();
                    return None;
                }
            }
        }
    }

    async fn happening(&mut self, connection: &mut ClientConnection) -> ClientEvent {
        let (now, is_writable) = (self.port.host.now(), connection.wire.is_free());
        let (until, has_room) = {
            let mut session = self.session.lock();
            let until = if is_writable { session.poll_timeout() } else { session.poll_timeout_unwritable() };
            (until, session.has_room(now))
        };
        // The client may wait for its rate, which sends no event when it recovers.
        let wait = (until - now).min(if has_room { SLEEP_MAX } else { ROOM_LOOK });
        tokio::select! {
            moved = connection.wire.exchange(has_room) => match moved {
                Moved::Some => ClientEvent::Go,
                Moved::Gone => ClientEvent::Gone,
            },
            () = self.arrivals.wake.notified() => ClientEvent::Go,
            () = tokio::time::sleep(wait) => ClientEvent::Go,
        }
    }

    /// Takes all frames that have arrived.
    fn take_frames(&mut self, connection: &mut ClientConnection) -> Result<(), ErrorFrame> {
        let now = self.port.host.now();
        while self.session.lock().has_room(now) {
            let Some(bytes) = connection.wire.frame(connection.frame_bytes_max)? else { break };
            let frame = connection
                .reader
                .read(bytes)
                .map_err(|error| ErrorFrame::new(ErrorCode::Protocol, error.to_string()))?;
            let made = connection.reader.take_name_bytes();
            self.count_names(made)?;
            // The name of an agent that is created is made only here.
            let before = Symbol::bytes_made_here();
            if let Some(SessionDriver { driver, .. }) = &self.driver {
                driver.note_came();
            }
            self.session.lock().handle_frame(now, frame, bytes.len())?;
            self.count_names(Symbol::bytes_made_here() - before)?;
        }
        Ok(())
    }

    fn count_names(&self, made: u64) -> Result<(), ErrorFrame> {
        if self.port.is_too_much_named(&self.account, made) {
            let text = format!(
                "too many names of agents, terms and parameters that the node never heard before: sessions of one token \
                 at one address may say {SESSION_NAME_BYTES_MAX} bytes of them, all sessions {SESSIONS_NAME_BYTES_MAX}; \
                 use names again, or restart the node, which forgets them"
            );
            return Err(ErrorFrame::new(ErrorCode::TooManyNames, text));
        }
        Ok(())
    }

    /// Advances the session's time, and carries out its events.
    fn look_after(&mut self) {
        let now = self.port.host.now();
        {
            let mut session = self.session.lock();
            if session.poll_timeout() <= now {
                session.handle_timeout(now);
            }
        }
        loop {
            let Some(event) = self.session.lock().poll_event() else { break };
            self.react(event);
        }
    }

    fn react(&self, event: SessionEvent) {
        match event {
            SessionEvent::Create { agent, name } => self.create(agent, name),
            SessionEvent::Wake(agent) => self.port.host.wake(agent),
            SessionEvent::Certify { number, agent, name, request } => {
                let outcome = self.port.certify(name, &request);
                self.session.lock().handle_certified(number, agent, outcome);
            }
            code @ (SessionEvent::Code { .. } | SessionEvent::Admit { .. } | SessionEvent::Lack { .. }) => {
                self.see_to_code(code);
            }
            SessionEvent::TooMuchCode { agent, code } => {
                let (who, object) = (self.principal(agent).to_string(), code.to_string());
                let (reason, detail) = (RefusalReason::Quota, "more code than its quota");
                let who = Party::named(&who);
                let what = Refused { reason, who, action: Some(Action::Code), object: &object, detail };
                let line = || format!("refused code of external agent {agent}: over its quota");
                self.port.guard.refuse_and_say(&what, line);
            }
            SessionEvent::Forged { agent, sender } => {
                let (who, object) = (self.principal(agent).to_string(), sender.to_string());
                let (reason, detail) = (RefusalReason::Forged, "named as the sender of its message");
                let who = Party::named(&who);
                let what = Refused { reason, who, action: Some(Action::Send), object: &object, detail };
                let line = || format!("refused message of external agent {agent}: forged sender {sender}");
                self.port.guard.refuse_and_say(&what, line);
            }
            _ => {}
        }
    }

    /// Creates an agent of the session: the one that was kept for it, or a new one. Otherwise names the node that has
    /// the agent, or should have it. Only the session's first agent decides about the node; the others are created
    /// beside it.
    fn create(&self, agent: u32, name: Symbol) {
        let host = &self.port.host;
        let allowed = host.may_lodge(name);
        // Before the agent is looked for here, since it may leave meanwhile.
        let place = host.whereabouts(name);
        let node = match place {
            Whereabouts::With(node) => Some(node),
            Whereabouts::Due(node) => Some(node).filter(|_| self.session.lock().agents().next().is_none()),
            Whereabouts::Here => None,
        };
        if let Some((node, carrier)) = node.zip(self.follows)
            && allowed.is_ok()
        {
            return self.send_elsewhere(agent, node, carrier);
        }
        if allowed.is_ok() && self.session.claim(agent, name) {
            return;
        }
        let is_home = place == Whereabouts::Here;
        let body = Box::new(SessionBody::new(Arc::clone(&self.session), agent).at_home(is_home));
        let near = self.driver.as_ref().map(|SessionDriver { driver, .. }| driver.home());
        let outcome = allowed.and_then(|()| host.lodge(name, body, is_home, near)).map_err(|error| fault_of(&error));
        self.session.lock().handle_created(agent, outcome);
    }

    /// Refuses an agent, and names the session port of the node that has it.
    fn send_elsewhere(&self, agent: u32, node: Symbol, carrier: Carrier) {
        let (port, session, arrivals) = (Arc::clone(&self.port), Arc::clone(&self.session), Arc::clone(&self.arrivals));
        self.port.threads.spawn(async move {
            let at = port.session_ports.of(node.as_str(), carrier).await;
            session.lock().handle_created(agent, Err(ErrorFrame::new(ErrorCode::Elsewhere, at)));
            arrivals.wake.notify_one();
        });
    }

    /// Carries out an event about an agent's code on a thread that may read the disk and compile.
    fn see_to_code(&self, event: SessionEvent) {
        let (port, session, arrivals) = (Arc::clone(&self.port), Arc::clone(&self.session), Arc::clone(&self.arrivals));
        self.port.threads.spawn(async move {
            // Nobody closes the semaphore.
            let _place = port.admissions.acquire().await;
            let at_work = Arc::clone(&port);
            let _ = tokio::task::spawn_blocking(move || code::see_to(&at_work, &session, event)).await;
            arrivals.wake.notify_one();
        });
    }

    /// Returns the principal of an agent of this session.
    fn principal(&self, agent: Symbol) -> Principal {
        Principal::Session { name: agent, node: self.port.host.node() }
    }

    /// Encodes further frames, if the last ones are written.
    fn fill_out(&mut self, connection: &mut ClientConnection) {
        let ClientConnection { writer, framing, wire, .. } = connection;
        if !wire.is_free() {
            return;
        }
        let now = self.port.host.now();
        while wire.put_bytes() < WRITE_BYTES {
            let Some(frame) = self.session.lock().poll_frame(now) else { break };
            if let Err(error) = wire.put(*framing, |out| writer.write(&frame, out)) {
                self.unwritable(&frame, &error);
            }
        }
    }

    /// Reports a message that cannot be encoded to the client and the sender. The message keeps its number.
    fn unwritable(&self, frame: &SessionFrame, error: &FrameWriteError) {
        let SessionFrame::Message(message) = frame else { return };
        let code =
            if matches!(error, FrameWriteError::TooLong { .. }) { ErrorCode::TooLong } else { ErrorCode::BadMessage };
        self.session.lock().handle_unwritable(message.number, code, &error.to_string());
    }

    /// Writes a fault to the client, and closes the connection.
    fn hang_up(&mut self, mut connection: ClientConnection, fault: ErrorFrame) {
        let (principal, first) = {
            let mut session = self.session.lock();
            session.handle_disconnected();
            (session.grant().principal.clone(), session.agents().min_by_key(|(number, _)| *number))
        };
        let from = connection.wire.from().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |from| from.ip());
        let line = || match first {
            Some((_, agent)) => format!("connection of external agent {} closed: {fault}", agent.name),
            None if principal == ANY_NAME => format!("connection of a session from {from} closed: {fault}"),
            None => format!("connection of session {principal} closed: {fault}"),
        };
        match (refusal::of_fault(&fault), first) {
            (None, _) => self.port.guard.say(&line()),
            (Some(reason), Some((_, agent))) => {
                let who = self.principal(agent.name).to_string();
                self.port.guard.refuse_and_say(&Refused::somebody(reason, &who, &fault.text), line);
            }
            // A client without an agent has no name by which the policy could mean it.
            (Some(reason), None) => self.port.guard.close_stranger(from, Some(reason), &fault.text, line),
        }
        let ClientConnection { writer, framing, wire, .. } = &mut connection;
        let _ = wire.put(*framing, |out| writer.write(&SessionFrame::Error(fault), out));
        // The session does not wait for that.
        self.port.threads.spawn(connection.wire.close());
    }
}

struct ClientConnection {
    wire: SessionWire,
    framing: Framing,
    reader: FrameReader,
    writer: FrameWriter,
    /// Maximal length of the client's frames, in bytes.
    frame_bytes_max: usize,
}

impl ClientConnection {
    /// Connection of an admitted client. The rest of its arrival is dropped: a session that lives for days has no use
    /// for it. If a driver serves it, its socket moves there; `None` if that fails.
    fn of(arrival: Box<ClientArrival>, grant: &SessionGrant, has_driver: bool) -> Option<Self> {
        let ClientArrival { mut wire, framing, .. } = *arrival;
        wire.release();
        if has_driver {
            wire = wire.move_here().ok()?;
        }
        Some(Self {
            reader: FrameReader::of_messages(framing, grant.remember, grant.sent_message_bytes as usize),
            writer: FrameWriter::new(framing, grant.remember, grant.message_bytes as usize),
            frame_bytes_max: grant.frame_bytes_max(),
            framing,
            wire,
        })
    }
}

/// Makes the error frame for a client whose agent cannot be created.
fn fault_of(error: &CreateError) -> ErrorFrame {
    let code = match error {
        CreateError::NameTaken(_) => ErrorCode::NameTaken,
        CreateError::NotYet(_) => ErrorCode::NotYet,
        CreateError::BadName { .. } => ErrorCode::BadName,
        CreateError::Forbidden(_) => ErrorCode::NotAllowed,
        CreateError::Stopping => ErrorCode::Stopping,
        _ => ErrorCode::TooManyAgents,
    };
    ErrorFrame::new(code, error.to_string())
}
