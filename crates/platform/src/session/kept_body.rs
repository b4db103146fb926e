//! What an agent is in its slot while its client is away: what was saved of it. Its messages wait in its mailbox.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whimbrel_acl::Symbol;

use super::body::SessionBody;
use super::frames::OnLeave;
use super::shelf::{Kept, Shelf};
use crate::inspection::{Detail, Inspection, Look};
use crate::limits::KEPT_MS_MAX;
use crate::services::LogLevel;
use crate::{AgentBody, EndReason, Next, Time, Turn};

/// Where a body waits, and finds what takes its place.
pub(super) struct Cell {
    kept: Kept,
    next: Mutex<Succession>,
}

/// Who has the agent next.
enum Succession {
    Open,
    Session(Box<SessionBody>),
    /// The agent ended, or is somebody's.
    Over,
}

impl Cell {
    fn next(&self) -> MutexGuard<'_, Succession> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the agent to a session; what is kept of it, if it is still there.
    pub fn pass_on(&self, body: impl FnOnce() -> SessionBody) -> Option<Kept> {
        let mut next = self.next();
        if !matches!(*next, Succession::Open) {
            return None;
        }
        *next = Succession::Session(Box::new(body()));
        Some(self.kept.clone())
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("kept", &self.kept).finish_non_exhaustive()
    }
}

/// The body of an agent that is kept and has no session.
pub(super) struct KeptBody {
    name: Symbol,
    cell: Arc<Cell>,
    shelf: Arc<Shelf>,
    /// Until when it waits, from its first turn on.
    until: Time,
    /// It is to go on at its node, if it can.
    goes_on: bool,
    next: Option<Box<dyn AgentBody>>,
}

impl KeptBody {
    /// Of an agent whose session is over.
    pub fn new(name: Symbol, kept: Kept, shelf: Arc<Shelf>) -> Self {
        let goes_on = kept.on_leave == OnLeave::GoOn;
        let cell = Arc::new(Cell { kept, next: Mutex::new(Succession::Open) });
        shelf.put(name, &cell);
        Self { name, cell, shelf, until: Time::NEVER, goes_on, next: None }
    }
}

impl AgentBody for KeptBody {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let mut next = self.cell.next();
        if let Succession::Session(body) = std::mem::replace(&mut *next, Succession::Over) {
            self.next = Some(body);
            return Next::Activate;
        }
        if self.goes_on {
            match self.shelf.go_on(self.name, &self.cell.kept) {
                Ok(body) => {
                    self.next = Some(body);
                    return Next::Activate;
                }
                Err(why) => {
                    // It is not asked again at each message: that looks at the disk, and is recorded.
                    self.goes_on = false;
                    turn.services.log(turn.aid, LogLevel::Info, &format!("it waits for its client: {why}"));
                }
            }
        }
        if self.until == Time::NEVER {
            self.until = turn.now + Duration::from_millis(KEPT_MS_MAX);
        }
        if turn.now >= self.until {
            return Next::End(EndReason::Failed("its client did not come back".to_owned()));
        }
        *next = Succession::Open;
        Next::WaitUntil(self.until)
    }

    fn activate(&mut self) -> Result<Box<dyn AgentBody>, String> {
        self.next.take().ok_or_else(|| "its client is away".to_owned())
    }

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
        // Who was promised the agent hears of its end from the body that is dropped with this.
        let promised = std::mem::replace(&mut *self.cell.next(), Succession::Over);
        self.shelf.strike_waiting(self.name, &self.cell);
        drop(promised);
    }
}
