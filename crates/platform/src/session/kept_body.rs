//! Kept body: an agent in its slot while its client is away. It has the saved state; its messages wait in its mailbox.

use crate::capabilities::{Durable, Inspectable};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use whimbrel_acl::Symbol;

use super::body::SessionBody;
use super::frames::OnLeave;
use super::kept_agents::{KeptAgents, KeptState};
use super::memory_quota::Backlog;
use super::persisted::{self, UnsavedChange};
use crate::durable::Origin;
use crate::inspection::{Detail, Inspection, Look};
use crate::limits::{KEPT_MS_MAX, KEPT_WAITING_BYTES_MAX, SESSION_LEASE_MS};
use crate::services::LogLevel;
use crate::{AgentBody, EndReason, Mailbox, Next, Time, Turn};

/// Cell that a kept body shares with the session that takes it back.
pub(super) struct KeptCell {
    kept: KeptState,
    next: Mutex<Succession>,
    /// Reason why the agent could not continue on its node, although it should.
    stranded: OnceLock<String>,
}

/// Successor of a kept body.
enum Succession {
    Open,
    Session(Box<SessionBody>),
    /// Agent that ended, or was taken back.
    Over,
}

impl KeptCell {
    fn next(&self) -> MutexGuard<'_, Succession> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the agent to a session. Returns its kept state, if it is still available.
    pub fn pass_on(&self, body: impl FnOnce() -> SessionBody) -> Option<KeptState> {
        let mut next = self.next();
        if !matches!(*next, Succession::Open) {
            return None;
        }
        *next = Succession::Session(Box::new(body()));
        Some(self.kept.clone())
    }
}

impl KeptCell {
    /// Returns why the agent could not continue on its node, although it should.
    pub fn stranded(&self) -> Option<&str> {
        self.stranded.get().map(String::as_str)
    }
}

impl fmt::Debug for KeptCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("kept", &self.kept).finish_non_exhaustive()
    }
}

/// Body of a kept agent without a session.
pub(super) struct KeptBody {
    name: Symbol,
    cell: Arc<KeptCell>,
    kept_agents: Arc<KeptAgents>,
    /// End of the agent's wait, known from the first turn on, and the time that the agent had waited before.
    until: Time,
    waited: Duration,
    /// True if the agent should continue on its node without its client, if possible.
    goes_on: bool,
    next: Option<Box<dyn AgentBody>>,
    /// Origin under which the agent is written to the journal from its next turn on, if it is.
    written: Option<Origin>,
    /// Change that is not written yet.
    change: UnsavedChange,
    /// End of the time in which its client may resume, although its session was lost with the node; unknown before its
    /// first turn.
    grace: Option<Time>,
    /// Backlog: messages in its mailbox.
    backlog: Backlog,
}

impl KeptBody {
    /// Returns the body of an agent whose session is over, written to the journal under this origin.
    pub fn new(name: Symbol, kept: KeptState, kept_agents: Arc<KeptAgents>, written: Option<Origin>) -> Self {
        let goes_on = kept.on_leave == OnLeave::GoOn;
        let cell = Arc::new(KeptCell { kept, next: Mutex::new(Succession::Open), stranded: OnceLock::new() });
        kept_agents.put(name, &cell);
        let (until, waited, change) = (Time::NEVER, Duration::ZERO, UnsavedChange::All);
        let (next, grace, backlog) = (None, Some(Time::ZERO), Backlog::new(KEPT_WAITING_BYTES_MAX));
        Self { name, cell, kept_agents, until, waited, goes_on, next, written, change, grace, backlog }
    }

    /// Returns the body of an agent that its node cannot run, although it should: its client hears why when it is back.
    pub fn stranded(
        name: Symbol,
        kept: KeptState,
        kept_agents: Arc<KeptAgents>,
        written: Option<Origin>,
        why: String,
    ) -> Self {
        let mut body = Self::new(name, kept, kept_agents, written);
        body.goes_on = false;
        let _ = body.cell.stranded.set(why);
        body
    }

    /// Returns the body of an agent that was in the journal when its node ended. `waited` is the time for which it had
    /// waited, if it had.
    pub fn resumed(
        name: Symbol,
        kept: KeptState,
        kept_agents: Arc<KeptAgents>,
        written: Origin,
        waited: Option<Duration>,
    ) -> Self {
        let mut body = Self::new(name, kept, kept_agents, Some(written));
        // From now on the journal says that the agent waits.
        body.change = if waited.is_some() { UnsavedChange::None } else { UnsavedChange::Waits };
        (body.waited, body.grace) = (waited.unwrap_or_default(), None);
        body
    }

    /// Returns the body with which the agent continues on its node, if possible.
    fn go_on(&mut self) -> Result<Box<dyn AgentBody>, String> {
        let (body, written) = self.kept_agents.go_on(self.name, &self.cell.kept, self.written.as_ref())?;
        self.written = written;
        Ok(body)
    }

    /// Waits, with as many messages as there is room for.
    fn wait_until(&mut self, at: Time, turn: &mut Turn<'_>) -> Next {
        let (kept_agents, name) = (&self.kept_agents, self.name);
        self.backlog.begin(|| kept_agents.burden_of(name));
        if self.backlog.weigh(turn.mailbox) { Next::Refuse(at) } else { Next::WaitUntil(at) }
    }

    fn write(&mut self, change: UnsavedChange, out: &mut Vec<u8>) -> bool {
        self.change = UnsavedChange::None;
        self.written.is_some() && persisted::write(&self.cell.kept, true, change, out)
    }
}

impl AgentBody for KeptBody {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let cell = Arc::clone(&self.cell);
        let mut next = cell.next();
        if let Succession::Session(mut body) = std::mem::replace(&mut *next, Succession::Over) {
            body.written = self.written.clone();
            self.next = Some(body);
            return Next::Activate;
        }
        if self.cell.kept.on_leave == OnLeave::End {
            return Next::End(EndReason::Finished);
        }
        let grace = *self.grace.get_or_insert(turn.now + Duration::from_millis(SESSION_LEASE_MS));
        if self.goes_on && turn.now < grace {
            *next = Succession::Open;
            return self.wait_until(grace, turn);
        }
        if self.goes_on {
            match self.go_on() {
                Ok(body) => {
                    self.next = Some(body);
                    return Next::Activate;
                }
                Err(why) => {
                    // The node is not asked again at each message: that reads the disk, and is recorded.
                    self.goes_on = false;
                    turn.services.log(
                        turn.aid,
                        LogLevel::Warning,
                        &format!("it cannot continue here, and waits for its client: {why}"),
                    );
                    let _ = self.cell.stranded.set(why);
                }
            }
        }
        if self.until == Time::NEVER {
            self.until = turn.now + Duration::from_millis(KEPT_MS_MAX).saturating_sub(self.waited);
        }
        if turn.now >= self.until {
            turn.services.log(turn.aid, LogLevel::Notice, "ended: its client did not come back in time");
            return Next::End(EndReason::Expired);
        }
        *next = Succession::Open;
        self.wait_until(self.until, turn)
    }

    fn yielded(&mut self, mailbox: &mut Mailbox) {
        // The session that was promised the agent believes that it has it.
        let promised = std::mem::replace(&mut *self.cell.next(), Succession::Over);
        if let Succession::Session(mut body) = promised {
            body.yielded(mailbox);
            // The promised body tells its client when it is dropped with this one, once the name is free.
            self.next = Some(body);
        }
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        self.next.take().ok_or_else(|| "its client is away".to_owned())
    }

    fn origin(&self) -> Option<Origin> {
        self.written.clone()
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        Some(self)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Durable for KeptBody {
    fn save_whole(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        self.write(UnsavedChange::All, out)
    }

    fn save_delta(&mut self, _now: Time, out: &mut Vec<u8>) -> bool {
        self.write(self.change, out)
    }
}

impl Inspectable for KeptBody {
    fn inspect(&mut self, _look: Look, _now: Time) -> Inspection {
        let mut details = vec![Detail::new("session", "none: it waits for its client")];
        if let Some(saved) = &self.cell.kept.saved {
            details.push(Detail::new("code", saved.code.to_string()));
            details.push(Detail::new("state", format!("{} bytes", saved.state.len())));
        }
        Inspection { details, ..Inspection::default() }
    }
}

impl Drop for KeptBody {
    fn drop(&mut self) {
        // The client that was promised the agent learns of its end from the body that is dropped with this.
        let promised = std::mem::replace(&mut *self.cell.next(), Succession::Over);
        self.kept_agents.strike_waiting(self.name, &self.cell);
        drop(promised);
    }
}
