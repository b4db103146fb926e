//! Who is kept on a node, and for whom: agents whose session is over wait here for their client to come back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::body::{SessionBody, SharedSession};
use super::frames::{Code, Fault, OnLeave};
use super::keeping::SavedState;
use super::kept_body::Cell;
use super::port::Host;
use crate::AgentBody;
use crate::limits::{KEPT_AGENTS_MAX, KEPT_AGENTS_PER_PRINCIPAL_MAX, KEPT_BYTES_PER_PRINCIPAL_MAX};

/// What is kept of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// What becomes of it when its session is over.
    pub on_leave: OnLeave,
    /// Whether it holds what it says.
    pub holds: bool,
    /// What it was when it said so last; `None` if it never did.
    pub saved: Option<SavedState>,
}

/// The kept agents of a node, with a session and without. Shared by all its sessions.
#[derive(Default)]
pub struct Shelf {
    books: Mutex<Books>,
    /// Where agents go on, if they can.
    host: Option<Arc<dyn Host>>,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("books", &self.books).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Books {
    entries: FxHashMap<Symbol, Entry>,
    accounts: FxHashMap<String, Account>,
    /// Agents that go on at this node, and whose they are. They may have ended since.
    gone_on: FxHashMap<Symbol, (String, Kept)>,
}

#[derive(Debug)]
struct Entry {
    principal: String,
    bytes: usize,
    /// Where it waits, if it has no session.
    waiting: Option<Arc<Cell>>,
}

/// What one token or certificate has here.
#[derive(Debug, Default)]
struct Account {
    agents: usize,
    bytes: usize,
}

impl Books {
    fn strike(&mut self, name: Symbol) {
        let Some(Entry { principal, bytes, .. }) = self.entries.remove(&name) else { return };
        let Some(account) = self.accounts.get_mut(&principal) else { return };
        account.agents -= 1;
        account.bytes -= bytes;
        if account.agents == 0 {
            self.accounts.remove(&principal);
        }
    }
}

impl Shelf {
    /// Of a node on which agents can go on.
    pub fn of(host: Arc<dyn Host>) -> Self {
        Self { books: Mutex::default(), host: Some(host) }
    }

    /// The agent as the node runs it, from now on.
    ///
    /// # Errors
    /// The node cannot, or may not: why.
    pub(super) fn go_on(&self, name: Symbol, kept: &Kept) -> Result<Box<dyn AgentBody>, String> {
        let saved = kept.saved.as_ref().ok_or("it never said what it is")?;
        let origin = saved.code.origin().ok_or("no node knows its code")?;
        let host = self.host.as_ref().ok_or("there is no node")?;
        if host.has_code(name, &origin) != Some(true) {
            return Err("its code is not here, or may not run here".to_owned());
        }
        let body = host.restore(name, &origin, &saved.state)?;
        let mut books = self.books();
        let principal = books.entries.get(&name).map(|entry| entry.principal.clone()).unwrap_or_default();
        books.strike(name);
        if books.gone_on.len() >= KEPT_AGENTS_MAX {
            return Err("too many agents went on here".to_owned());
        }
        let whatever = Kept { saved: None, ..kept.clone() };
        books.gone_on.insert(name, (principal, whatever));
        Ok(body)
    }

    /// Whether an agent of this name went on at this node for this principal.
    pub(super) fn went_on(&self, name: Symbol, principal: &str) -> Option<Kept> {
        let mut books = self.books();
        let is_theirs = books.gone_on.get(&name).is_some_and(|(whose, _)| whose == principal);
        if is_theirs { books.gone_on.remove(&name).map(|(_, kept)| kept) } else { None }
    }

    pub(super) fn host(&self) -> Option<&Arc<dyn Host>> {
        self.host.as_ref()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An agent is to be kept for this principal.
    pub(super) fn admit(&self, name: Symbol, principal: &str) -> Result<(), Fault> {
        let mut books = self.books();
        match books.entries.get(&name) {
            Some(entry) if entry.principal == principal => return Ok(()),
            // One of that name ended, and this is another.
            Some(_) => books.strike(name),
            None => {}
        }
        let agents = books.accounts.get(principal).map_or(0, |account| account.agents);
        if agents >= KEPT_AGENTS_PER_PRINCIPAL_MAX || books.entries.len() >= KEPT_AGENTS_MAX {
            return Err(Fault::new(Code::TooManyKept, "as many agents are kept as may be"));
        }
        books.accounts.entry(principal.to_owned()).or_default().agents += 1;
        let entry = Entry { principal: principal.to_owned(), bytes: 0, waiting: None };
        books.entries.insert(name, entry);
        Ok(())
    }

    /// The state of an agent has so many bytes from now on.
    pub(super) fn weigh(&self, name: Symbol, bytes: usize) -> Result<(), Fault> {
        let mut books = self.books();
        let Books { entries, accounts, .. } = &mut *books;
        let Some(entry) = entries.get_mut(&name) else { return Ok(()) };
        let Some(account) = accounts.get_mut(&entry.principal) else { return Ok(()) };
        let all = account.bytes - entry.bytes + bytes;
        if all > KEPT_BYTES_PER_PRINCIPAL_MAX && bytes > entry.bytes {
            let text =
                format!("the states of the agents of one token take {KEPT_BYTES_PER_PRINCIPAL_MAX} bytes at most");
            return Err(Fault::new(Code::TooManyKept, text));
        }
        (account.bytes, entry.bytes) = (all, bytes);
        Ok(())
    }

    /// An agent waits there from now on.
    pub(super) fn put(&self, name: Symbol, cell: &Arc<Cell>) {
        if let Some(entry) = self.books().entries.get_mut(&name) {
            entry.waiting = Some(Arc::clone(cell));
        }
    }

    /// It is kept no more.
    pub(super) fn strike(&self, name: Symbol) {
        self.books().strike(name);
    }

    /// It is kept no more, if it waits there.
    pub(super) fn strike_waiting(&self, name: Symbol, cell: &Arc<Cell>) {
        let mut books = self.books();
        let waits = books.entries.get(&name).and_then(|entry| entry.waiting.as_ref());
        if waits.is_some_and(|waiting| Arc::ptr_eq(waiting, cell)) {
            books.strike(name);
        }
    }

    /// Gives an agent that waits to a session of its principal; what is kept of it. At its next turn it is that session's.
    pub(super) fn claim(
        &self,
        name: Symbol,
        principal: &str,
        session: &Arc<SharedSession>,
        agent: u32,
    ) -> Option<Kept> {
        let cell = {
            let mut books = self.books();
            let entry = books.entries.get_mut(&name).filter(|entry| entry.principal == principal)?;
            entry.waiting.take()?
        };
        cell.pass_on(|| SessionBody::new(Arc::clone(session), agent))
    }

    /// How many agents are kept, with a session and without.
    pub fn len(&self) -> usize {
        self.books().entries.len()
    }

    /// Whether nobody is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
