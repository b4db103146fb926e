//! Kept agents of a node: agents whose session is over, and which wait for their client.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::body::{SessionBody, SharedSession};
use super::code_name::CodeName;
use super::durability::SavedState;
use super::frames::{ErrorCode, ErrorFrame, OnLeave};
use super::invitation::{Former, Invitation, InvitedBody};
use super::kept_body::{KeptBody, KeptCell};
use super::memory_quota::{Burdens, MemoryQuota};
use super::persisted;
use super::port::{SessionHost, SessionMobility};
use super::uploads::Allowances;
use crate::durable::{Origin, State};
use crate::limits::{
    KEPT_AGENTS_MAX, KEPT_AGENTS_PER_PRINCIPAL_MAX, KEPT_BYTES_MAX, KEPT_BYTES_PER_PRINCIPAL_MAX, KEPT_BYTES_SPARE,
    KEPT_PRUNE_MS, SESSION_CODE_BYTES_AT_ONCE, SESSION_CODE_BYTES_PER_S, SESSION_CODE_LOOKUPS_AT_ONCE,
    SESSION_CODE_LOOKUPS_PER_S, SESSION_STATE_BYTES_MAX,
};
use crate::mobility::{HopError, Wish};
use crate::{AgentBody, Time};

/// Kept state of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptState {
    /// Leave policy: the fate of the agent when its session is over.
    pub on_leave: OnLeave,
    /// Output commit: messages of the agent are withheld until the next save.
    pub holds: bool,
    /// Last saved state; `None` if there never was one.
    pub saved: Option<SavedState>,
    /// True if the code came to the client from this node, or to the node from the client.
    pub is_given: bool,
}

/// Kept agents of a node, with a session and without. Shared by all its sessions.
pub struct KeptAgents {
    books: Mutex<Books>,
    /// Sessions of clients by the names of their agents, and whether other agents can move there.
    clients: Mutex<FxHashMap<Symbol, (Weak<SharedSession>, bool)>>,
    /// Offers of agents to clients, by the agents' names. Another session of the same account may take them, too.
    offers: Mutex<FxHashMap<Symbol, OpenOffer>>,
    /// Host on which agents continue, if they can, while it exists.
    host: Mutex<Option<Weak<dyn SessionHost>>>,
    /// Journal to which kept agents may be written.
    has_journal: AtomicBool,
    /// Allowances for bytes of code that clients bring.
    uploads: Mutex<Allowances>,
    /// Allowances for searches for code.
    lookups: Mutex<Allowances>,
    /// Memory quotas of accounts: bytes that wait for clients.
    burdens: Mutex<Burdens>,
}

impl Default for KeptAgents {
    fn default() -> Self {
        let uploads = Allowances::new(SESSION_CODE_BYTES_PER_S, SESSION_CODE_BYTES_AT_ONCE);
        let lookups = Allowances::new(SESSION_CODE_LOOKUPS_PER_S, SESSION_CODE_LOOKUPS_AT_ONCE);
        Self {
            books: Mutex::default(),
            clients: Mutex::default(),
            offers: Mutex::default(),
            host: Mutex::default(),
            has_journal: AtomicBool::default(),
            uploads: Mutex::new(uploads),
            lookups: Mutex::new(lookups),
            burdens: Mutex::default(),
        }
    }
}

impl fmt::Debug for KeptAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptAgents").field("books", &self.books).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Books {
    entries: FxHashMap<Symbol, KeptEntry>,
    accounts: FxHashMap<String, KeptUsage>,
    /// Bytes of all states.
    bytes: usize,
    /// Time of the next search for agents that continued here and have ended.
    prune_at: Time,
}

#[derive(Debug)]
struct KeptEntry {
    /// Account that owns the agent: only its clients get the agent back.
    account: String,
    bytes: usize,
    place: KeptPlace,
}

/// Tenure of a kept agent that the node runs: its account, the life of its name, and its kept state.
#[derive(Clone, Debug)]
pub(super) struct Tenure {
    account: String,
    life: Option<u32>,
    kept: KeptState,
}

/// Place of a kept agent.
#[derive(Debug)]
enum KeptPlace {
    /// Session of the agent's client.
    Session,
    /// Slot where the agent waits for its client.
    Waiting(Arc<KeptCell>),
    /// Passage from a waiting body to a session.
    Passing(Arc<KeptCell>),
    /// Node that runs the agent, in this life of the name; with the kept state but for the state proper. The life is
    /// unknown while an agent from before a restart [is not there yet](KeptAgents::note_life).
    GoneOn(Option<u32>, KeptState),
}

/// Agent that is offered to a session.
#[derive(Debug)]
struct OpenOffer {
    offer: Arc<Invitation>,
    session: Weak<SharedSession>,
    account: String,
}

/// Usage of one token or certificate.
#[derive(Debug, Default)]
struct KeptUsage {
    agents: usize,
    bytes: usize,
}

fn too_many_bytes() -> ErrorFrame {
    let (own, all) = (KEPT_BYTES_PER_PRINCIPAL_MAX, KEPT_BYTES_MAX);
    let text = format!("the states of the agents of one token take at most {own} bytes, those of all {all}");
    ErrorFrame::new(ErrorCode::TooManyKept, text)
}

/// Returns true if states may take these bytes, of one account and of all. When all together are full, accounts with
/// little still have room.
fn have_place(own: usize, all: usize) -> bool {
    own <= KEPT_BYTES_PER_PRINCIPAL_MAX && (all <= KEPT_BYTES_MAX || own <= KEPT_BYTES_SPARE)
}

impl Books {
    fn strike(&mut self, name: Symbol) {
        let Some(KeptEntry { account: whose, bytes, .. }) = self.entries.remove(&name) else { return };
        let Some(account) = self.accounts.get_mut(&whose) else { return };
        self.bytes -= bytes;
        account.agents -= 1;
        account.bytes -= bytes;
        if account.agents == 0 {
            self.accounts.remove(&whose);
        }
    }

    /// Enters a kept agent, in place of any of its name.
    fn enter(&mut self, name: Symbol, account: &str, bytes: usize, place: KeptPlace) {
        self.strike(name);
        let of = self.accounts.entry(account.to_owned()).or_default();
        of.agents += 1;
        of.bytes += bytes;
        self.bytes += bytes;
        self.entries.insert(name, KeptEntry { account: account.to_owned(), bytes, place });
    }

    fn is_full(&self, account: &str) -> bool {
        let agents = self.accounts.get(account).map_or(0, |account| account.agents);
        agents >= KEPT_AGENTS_PER_PRINCIPAL_MAX || self.entries.len() >= KEPT_AGENTS_MAX
    }

    /// Strikes agents that continued here and have ended since, because no event tells of their end.
    fn prune(&mut self, host: &dyn SessionHost) {
        let now = host.now();
        if now < self.prune_at {
            return;
        }
        self.prune_at = now + Duration::from_millis(KEPT_PRUNE_MS);
        let is_over = |name: Symbol, place: &KeptPlace| {
            let KeptPlace::GoneOn(Some(life), _) = place else { return false };
            host.mobility().and_then(|mobility| mobility.life(name)) != Some(*life)
        };
        let over: Vec<Symbol> =
            self.entries.iter().filter(|(name, entry)| is_over(**name, &entry.place)).map(|(name, _)| *name).collect();
        over.into_iter().for_each(|name| self.strike(name));
    }

    /// Sets the bytes of an agent's kept state.
    fn weigh(&mut self, name: Symbol, bytes: usize) -> Result<(), ErrorFrame> {
        let Self { entries, accounts, bytes: everybodys, .. } = self;
        let Some(entry) = entries.get_mut(&name) else { return Ok(()) };
        let Some(account) = accounts.get_mut(&entry.account) else { return Ok(()) };
        let (own, all) = (account.bytes - entry.bytes + bytes, *everybodys - entry.bytes + bytes);
        if bytes > entry.bytes && !have_place(own, all) {
            return Err(too_many_bytes());
        }
        (account.bytes, entry.bytes, *everybodys) = (own, bytes, all);
        Ok(())
    }
}

impl KeptAgents {
    /// Sets the host on which agents continue, if they can.
    pub fn attach(&self, host: &Arc<dyn SessionHost>) {
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(host));
        self.has_journal.store(host.has_journal(), Ordering::Release);
    }

    /// Returns true if kept agents may be written to a journal here, as far as that is the same for all of them.
    pub(super) fn has_journal(&self) -> bool {
        self.has_journal.load(Ordering::Acquire)
    }

    /// Counts a search for code for a client of this account. Returns false if there are too many now.
    pub(super) fn count_lookup(&self, account: &str, now: Time) -> bool {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).take(account, 1, now)
    }

    /// Returns the memory quota of this account.
    pub(super) fn burden(&self, account: &str) -> Arc<MemoryQuota> {
        self.burdens.lock().unwrap_or_else(PoisonError::into_inner).of(account)
    }

    /// Returns the memory quota of the account for which this agent is kept.
    pub(super) fn burden_of(&self, name: Symbol) -> Option<Arc<MemoryQuota>> {
        let account = self.books().entries.get(&name)?.account.clone();
        Some(self.burden(&account))
    }

    /// Counts code that a client of this account brings. Returns false if it is too much now.
    pub(super) fn count_code(&self, account: &str, bytes: u64, now: Time) -> bool {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).take(account, bytes, now)
    }

    /// Resumes an agent that was kept before its node ended, from its journal. It waits for its client. `age` is the
    /// time since its last written change while the partition was served.
    ///
    /// # Errors
    /// The reason why the origin is not of a kept agent, or the states cannot be read.
    pub fn resume(
        self: &Arc<Self>,
        name: Symbol,
        origin: &Origin,
        states: &[State],
        age: Duration,
    ) -> Result<Box<dyn AgentBody>, String> {
        let Origin::Kept { account } = origin else { return Err("it is no kept agent".to_owned()) };
        let (kept, waits) = persisted::read(states)?;
        let bytes = kept.saved.as_ref().map_or(0, |saved| saved.state.len());
        self.books().enter(name, account, bytes, KeptPlace::Session);
        Ok(Box::new(KeptBody::resumed(name, kept, Arc::clone(self), origin.clone(), waits.then_some(age))))
    }

    /// Notes that the node runs this agent, as it did before a restart: its client may have it back. Does nothing if
    /// the origin does not say so.
    pub fn note_gone_on(&self, name: Symbol, origin: &Origin) {
        if let Origin::GoneOn { account, on_leave, holds, .. } = origin {
            let kept = KeptState { on_leave: *on_leave, holds: *holds, saved: None, is_given: true };
            self.books().enter(name, account, 0, KeptPlace::GoneOn(None, kept));
        }
    }

    /// Notes that a resumed agent is there, in this life of its name. Another agent of its name is not its client's.
    pub fn note_life(&self, name: Symbol, life: u32) {
        if let Some(KeptEntry { place: KeptPlace::GoneOn(noted @ None, _), .. }) = self.books().entries.get_mut(&name) {
            *noted = Some(life);
        }
    }

    /// Returns the body with which the node runs the agent from now on, and its origin in the journal, if it is
    /// written. The agent still counts as kept: its client gets it back.
    ///
    /// # Errors
    /// The reason why the node cannot run it, or may not.
    pub(super) fn go_on(
        &self,
        name: Symbol,
        kept: &KeptState,
        written: Option<&Origin>,
    ) -> Result<(Box<dyn AgentBody>, Option<Origin>), String> {
        let saved = kept.saved.as_ref().ok_or("it never said what it is")?;
        let origin = saved.code.origin().ok_or("no node knows its code")?;
        let host = self.host().ok_or("there is no node")?;
        let runs = |mobility: &&dyn SessionMobility| mobility.has_code(name, &origin) == Some(true);
        let mobility = host.mobility().filter(runs).ok_or("its code is not here, or may not run here")?;
        let life = mobility.life(name).ok_or("it is not here any more")?;
        let body = mobility.restore(name, &origin, &saved.state)?;
        let written = match written {
            Some(Origin::Kept { account }) => {
                let code = Box::new(body.origin().ok_or("it could not be made again")?);
                Some(Origin::GoneOn { account: account.clone(), on_leave: kept.on_leave, holds: kept.holds, code })
            }
            _ => None,
        };
        let mut books = self.books();
        // The agent's state is the node's own now.
        let _ = books.weigh(name, 0);
        if let Some(entry) = books.entries.get_mut(&name) {
            entry.place = KeptPlace::GoneOn(Some(life), KeptState { saved: None, ..kept.clone() });
        }
        Ok((body, written))
    }

    /// Returns the life and the kept state of an agent that continued at this node for this account, if it is still
    /// there.
    pub(super) fn went_on(&self, name: Symbol, account: &str) -> Option<(u32, KeptState)> {
        let host = self.host()?;
        let mut books = self.books();
        let entry = books.entries.get(&name).filter(|entry| entry.account == account)?;
        let KeptPlace::GoneOn(Some(life), kept) = &entry.place else { return None };
        if host.mobility().and_then(|mobility| mobility.life(name)) == Some(*life) {
            return Some((*life, kept.clone()));
        }
        books.strike(name);
        None
    }

    /// Takes an agent back for a session. It continued at this node in this life, and its state has this many bytes.
    ///
    /// # Errors
    /// The state is too large, or the agent is no longer there. It continues at the node.
    pub(super) fn take_back(&self, name: Symbol, life: u32, bytes: usize) -> Result<(), ErrorFrame> {
        let mut books = self.books();
        let place = books.entries.get(&name).map(|entry| &entry.place);
        if !matches!(place, Some(KeptPlace::GoneOn(then, _)) if *then == Some(life)) {
            return Err(ErrorFrame::new(ErrorCode::NameTaken, format!("{name} is not at the node any more")));
        }
        books.weigh(name, bytes)?;
        if let Some(entry) = books.entries.get_mut(&name) {
            entry.place = KeptPlace::Session;
        }
        Ok(())
    }

    pub(super) fn host(&self) -> Option<Arc<dyn SessionHost>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }

    fn clients(&self) -> MutexGuard<'_, FxHashMap<Symbol, (Weak<SharedSession>, bool)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the agent that stands for a session's client, and whether other agents can move to that client.
    pub(super) fn list_client(&self, name: Symbol, session: &Arc<SharedSession>, takes_agents: bool) {
        self.clients().insert(name, (Arc::downgrade(session), takes_agents));
    }

    /// Returns the account of the agent with this name, if it has a session or is kept.
    pub fn account_of(&self, name: Symbol) -> Option<String> {
        let session = self.clients().get(&name).and_then(|(session, _)| session.upgrade());
        match session {
            Some(session) => Some(session.lock().grant().account.clone()),
            None => self.books().entries.get(&name).map(|entry| entry.account.clone()),
        }
    }

    /// Strikes an agent that no longer stands for the session's client.
    pub(super) fn strike_client(&self, name: Symbol, session: &Arc<SharedSession>) {
        let mut clients = self.clients();
        if clients.get(&name).is_some_and(|(listed, _)| std::ptr::eq(listed.as_ptr(), Arc::as_ptr(session))) {
            clients.remove(&name);
        }
    }

    /// Returns the session with an agent of this name, if other agents can move there.
    pub(super) fn client(&self, name: Symbol) -> Option<Arc<SharedSession>> {
        self.clients().get(&name).filter(|(_, takes_agents)| *takes_agents)?.0.upgrade()
    }

    fn offers(&self) -> MutexGuard<'_, FxHashMap<Symbol, OpenOffer>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists an offer to a session of this account.
    pub(super) fn list_offer(&self, offer: &Arc<Invitation>, session: &Arc<SharedSession>, account: String) {
        let open = OpenOffer { offer: Arc::clone(offer), session: Arc::downgrade(session), account };
        self.offers().insert(offer.name, open);
    }

    /// Strikes an offer.
    pub(super) fn strike_offer(&self, offer: &Arc<Invitation>) {
        let mut offers = self.offers();
        if offers.get(&offer.name).is_some_and(|open| Arc::ptr_eq(&open.offer, offer)) {
            offers.remove(&offer.name);
        }
    }

    /// Returns the session to which an agent is offered, if it is of this account.
    pub(super) fn offered_to(&self, name: Symbol, account: &str) -> Option<Arc<SharedSession>> {
        self.offers().get(&name).filter(|open| open.account == account)?.session.upgrade()
    }

    /// Returns true if a session here has an agent of this name, and other agents can move there.
    pub fn has_client(&self, name: Symbol) -> bool {
        self.clients().get(&name).is_some_and(|(_, takes_agents)| *takes_agents)
    }

    /// Checks if an agent could be offered to the client that has the agent `to`. Asked before an agent sets out for
    /// this node.
    ///
    /// # Errors
    /// The reason why it could not.
    pub fn may_invite(&self, to: Symbol) -> Result<(), HopError> {
        let client = self.client(to).ok_or(HopError::NoSuchNode(to))?;
        client.lock().takes_agents(to)
    }

    /// Offers an agent of this node to the client that has the agent `to`. Returns its body meanwhile; `origin` and
    /// `state` are its code and state. If the client does not take it, the agent gets its former body back, and is
    /// told.
    ///
    /// # Errors
    /// The reason why it cannot be offered, and the wish.
    pub fn invite(
        &self,
        name: Symbol,
        to: Symbol,
        origin: Origin,
        state: Vec<u8>,
        wish: Option<Wish>,
    ) -> Result<Box<dyn AgentBody>, (HopError, Option<Wish>)> {
        let not_movable = |why: &str| HopError::NotMovable(why.to_owned());
        let Some((host, client)) = self.host().zip(self.client(to)) else {
            return Err((HopError::NoSuchNode(to), wish));
        };
        let Some(code) = CodeName::of(&origin) else {
            return Err((not_movable("no client could find its code"), wish));
        };
        if state.len() > SESSION_STATE_BYTES_MAX {
            let (bytes, bytes_max) = (state.len() as u64, SESSION_STATE_BYTES_MAX as u64);
            return Err((HopError::TooLarge { bytes, bytes_max }, wish));
        }
        let saved = SavedState { code: Arc::new(code), state: state.into() };
        let invitation = Invitation::new(name, saved, true, host.node(), host.now());
        match client.invite(&invitation, to) {
            Err(why) => Err((why, wish)),
            Ok(()) => Ok(Box::new(InvitedBody::new(invitation, to, client, Former::Node(host, origin, wish)))),
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits an agent of a session as kept for this account.
    pub(super) fn admit(&self, name: Symbol, account: &str) -> Result<(), ErrorFrame> {
        let mut books = self.books();
        match books.entries.get_mut(&name) {
            Some(entry) if entry.account == account => {
                entry.place = KeptPlace::Session;
                return Ok(());
            }
            // The kept agent ended; this is another one of its name.
            Some(_) => books.strike(name),
            None => {}
        }
        if books.is_full(account)
            && let Some(host) = self.host()
        {
            books.prune(&*host);
        }
        if books.is_full(account) {
            return Err(ErrorFrame::new(ErrorCode::TooManyKept, "as many agents are kept as may be"));
        }
        books.enter(name, account, 0, KeptPlace::Session);
        Ok(())
    }

    /// Gives an agent that was offered to a session of this account to that session. Returns its tenure, if the node
    /// ran it for an account.
    ///
    /// # Errors
    /// There is no room for it. Its tenure stays.
    pub(super) fn adopt(&self, name: Symbol, account: &str, bytes: usize) -> Result<Option<Tenure>, ErrorFrame> {
        let mut books = self.books();
        let tenure = books.entries.get(&name).and_then(|entry| match &entry.place {
            KeptPlace::GoneOn(life, kept) => {
                Some(Tenure { account: entry.account.clone(), life: *life, kept: kept.clone() })
            }
            _ => None,
        });
        let before = books.entries.get(&name).filter(|entry| entry.account == account).map(|entry| entry.bytes);
        if before.is_none() && books.is_full(account) {
            return Err(ErrorFrame::new(ErrorCode::TooManyKept, "as many agents are kept as may be"));
        }
        let more = |of: usize| of + bytes - before.unwrap_or_default();
        let own = books.accounts.get(account).map_or(0, |account| account.bytes);
        if !have_place(more(own), more(books.bytes)) {
            return Err(too_many_bytes());
        }
        books.enter(name, account, bytes, KeptPlace::Session);
        Ok(tenure)
    }

    /// Gives an agent back to the node, with its former tenure, if it had one.
    pub(super) fn hand_back(&self, name: Symbol, before: Option<Tenure>) {
        let mut books = self.books();
        match before {
            Some(Tenure { account, life, kept }) => books.enter(name, &account, 0, KeptPlace::GoneOn(life, kept)),
            None => books.strike(name),
        }
    }

    /// Sets the bytes of an agent's kept state.
    pub(super) fn weigh(&self, name: Symbol, bytes: usize) -> Result<(), ErrorFrame> {
        self.books().weigh(name, bytes)
    }

    /// Notes that an agent waits in its slot from now on.
    pub(super) fn put(&self, name: Symbol, cell: &Arc<KeptCell>) {
        if let Some(entry) = self.books().entries.get_mut(&name) {
            entry.place = KeptPlace::Waiting(Arc::clone(cell));
        }
    }

    /// Strikes an agent that is no longer kept.
    pub(super) fn strike(&self, name: Symbol) {
        self.books().strike(name);
    }

    /// Strikes an agent that waits with this cell.
    pub(super) fn strike_waiting(&self, name: Symbol, cell: &Arc<KeptCell>) {
        let mut books = self.books();
        let place = books.entries.get(&name).map(|entry| &entry.place);
        if matches!(place, Some(KeptPlace::Waiting(waiting)) if Arc::ptr_eq(waiting, cell)) {
            books.strike(name);
        }
    }

    /// Gives a waiting agent to a session of its account. Returns its kept state, and why it could not continue on its
    /// node, if it should have. At its next turn it is that session's.
    pub(super) fn claim(
        &self,
        name: Symbol,
        account: &str,
        session: &Arc<SharedSession>,
        agent: u32,
    ) -> Option<(KeptState, Option<String>)> {
        let cell = {
            let mut books = self.books();
            let entry = books.entries.get_mut(&name).filter(|entry| entry.account == account)?;
            let KeptPlace::Waiting(cell) = &entry.place else { return None };
            let cell = Arc::clone(cell);
            entry.place = KeptPlace::Passing(Arc::clone(&cell));
            cell
        };
        // Not under the lock of the entries, which the cell's holder may want.
        let kept = cell.pass_on(|| SessionBody::new(Arc::clone(session), agent));
        let mut books = self.books();
        if let Some(entry) = books.entries.get_mut(&name)
            && matches!(&entry.place, KeptPlace::Passing(passing) if Arc::ptr_eq(passing, &cell))
        {
            entry.place = KeptPlace::Session;
            if kept.is_none() {
                // The agent ended meanwhile.
                books.strike(name);
            }
        }
        kept.map(|kept| (kept, cell.stranded().map(str::to_owned)))
    }

    /// Returns the number of kept agents: with a session, without, and those that the node runs.
    pub fn len(&self) -> usize {
        self.books().entries.len()
    }

    /// Returns true if no agents are kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use whimbrel_acl::{Aid, sym};

    use super::super::frames::{PASSED, SessionFrame};
    use super::*;
    use crate::durable::Origin;
    use crate::route::ShardIndex;
    use crate::services::CreateError;
    use crate::session::{
        EndedFrame, Exchange, HelloFrame, Opening, RefusedFrame, Session, SessionEvent, SessionGrant,
    };
    use crate::{Mailbox, Next, Turn};

    const CODE: &str = "asl:0000000000000000000000000000000000000000000000000000000000000000/bob.asl";

    /// Node on which any agent can continue; its agents can be written out, or cannot.
    #[derive(Default)]
    struct RestoringHost {
        life: AtomicU32,
        /// Requests that wait for the test.
        asked: Mutex<Vec<(u32, Exchange)>>,
    }

    struct Anybody;

    impl AgentBody for Anybody {
        fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
            Next::Wait
        }
    }

    impl SessionHost for RestoringHost {
        fn platform(&self) -> Symbol {
            "home".into()
        }
        fn node(&self) -> Symbol {
            sym::EMPTY
        }
        fn now(&self) -> Time {
            Time::default()
        }
        fn lodge(
            &self,
            name: Symbol,
            _body: Box<dyn AgentBody>,
            _is_home: bool,
            _near: Option<ShardIndex>,
        ) -> Result<Aid, CreateError> {
            Ok(Aid::local(name))
        }
        fn wake(&self, _agent: Aid) {}
        fn mobility(&self) -> Option<&dyn SessionMobility> {
            Some(self)
        }
    }

    impl SessionMobility for RestoringHost {
        fn has_code(&self, _name: Symbol, _origin: &Origin) -> Option<bool> {
            Some(true)
        }
        fn restore(&self, _: Symbol, _: &Origin, _: &[u8]) -> Result<Box<dyn AgentBody>, String> {
            Ok(Box::new(Anybody))
        }
        fn life(&self, _name: Symbol) -> Option<u32> {
            Some(self.life.load(Ordering::Relaxed))
        }
        fn exchange(&self, _name: Symbol, life: u32, with: Exchange) {
            self.asked.lock().unwrap().push((life, with));
        }
    }

    /// Returns kept agents of which bob, an agent of ann's account, continued at the node.
    fn gone_on() -> (Arc<RestoringHost>, Arc<KeptAgents>) {
        let node = Arc::new(RestoringHost::default());
        let kept_agents = Arc::<KeptAgents>::default();
        kept_agents.attach(&(Arc::<RestoringHost>::clone(&node) as Arc<dyn SessionHost>));
        kept_agents.admit("bob".into(), "ann").unwrap();
        let saved = SavedState { code: Arc::new(CODE.parse().unwrap()), state: Arc::from([7].as_slice()) };
        let kept = KeptState { on_leave: OnLeave::GoOn, holds: true, saved: Some(saved), is_given: false };
        assert!(kept_agents.go_on("bob".into(), &kept, None).is_ok());
        (node, kept_agents)
    }

    /// Returns a session of this account that asked for bob and does not have him yet.
    fn asking(kept_agents: &Arc<KeptAgents>, account: &str) -> Arc<SharedSession> {
        let grant = SessionGrant { account: account.to_owned(), ..SessionGrant::new("*", vec!["*".into()]) };
        let (session, secret, platform) = ("s".to_owned(), "x".to_owned(), "home".into());
        let opening = Opening { session, secret, platform, grant, kept_agents: Arc::clone(kept_agents) };
        let mut session = Session::new(opening, Time::default());
        session
            .handle_hello(Time::default(), &HelloFrame { versions: vec![1], moves: true, ..HelloFrame::default() })
            .unwrap();
        session.create(1, 0, "bob");
        assert!(matches!(session.poll_event(), Some(SessionEvent::Create { .. })));
        Arc::new(SharedSession::new(session, || ()))
    }

    /// Returns the frames of one kind that the client is told.
    fn told<T>(session: &SharedSession, of: impl Fn(SessionFrame) -> Option<T>) -> Vec<T> {
        let mut session = session.lock();
        std::iter::from_fn(|| session.poll_frame(Time::default())).filter_map(of).collect()
    }

    fn refusals(session: &SharedSession) -> Vec<ErrorCode> {
        told(
            session,
            |frame| if let SessionFrame::Refused(RefusedFrame { code, .. }) = frame { Some(code) } else { None },
        )
    }

    fn ends(session: &SharedSession) -> Vec<String> {
        told(
            session,
            |frame| if let SessionFrame::Ended(EndedFrame { reason, .. }) = frame { Some(reason) } else { None },
        )
    }

    fn origin() -> Origin {
        CODE.parse::<super::super::code_name::CodeName>().unwrap().origin().unwrap()
    }

    #[test]
    fn continued_agent_returns_to_its_account() {
        let (node, kept_agents) = gone_on();
        assert!(!asking(&kept_agents, "eve").claim(0, "bob".into()));
        let session = asking(&kept_agents, "ann");
        assert!(session.claim(0, "bob".into()));
        let (life, with) = node.asked.lock().unwrap().pop().unwrap();
        let body = with(Some((origin(), vec![8])));
        assert!(life == 0 && body.is_some());
        assert_eq!((refusals(&session), session.lock().agents().count(), kept_agents.len()), (vec![], 1, 1));
    }

    #[test]
    fn agent_of_later_life_is_unclaimed() {
        let (node, kept_agents) = gone_on();
        node.life.store(1, Ordering::Relaxed);
        assert!(!asking(&kept_agents, "ann").claim(0, "bob".into()));
        assert!(node.asked.lock().unwrap().is_empty() && kept_agents.is_empty());
    }

    #[test]
    fn resumed_agent_returns_in_noted_life() {
        let gone_on = || {
            let (node, kept_agents) = gone_on();
            kept_agents.strike("bob".into());
            let (account, code) = ("ann".to_owned(), Box::new(origin()));
            let origin = Origin::GoneOn { account, on_leave: OnLeave::GoOn, holds: true, code };
            kept_agents.note_gone_on("bob".into(), &origin);
            node.life.store(7, Ordering::Relaxed);
            (node, kept_agents)
        };
        let (_node, kept_agents) = gone_on();
        assert!(kept_agents.went_on("bob".into(), "ann").is_none(), "it is not there yet");
        kept_agents.note_life("bob".into(), 7);
        assert_eq!(kept_agents.went_on("bob".into(), "ann").map(|(life, _)| life), Some(7));
        let (node, kept_agents) = gone_on();
        kept_agents.note_life("bob".into(), 7);
        node.life.store(8, Ordering::Relaxed);
        kept_agents.note_life("bob".into(), 8);
        assert!(kept_agents.went_on("bob".into(), "ann").is_none() && kept_agents.is_empty(), "another has its name");
    }

    #[test]
    fn partition_move_ends_returned_agent() {
        let kept_agents = Arc::<KeptAgents>::default();
        kept_agents.attach(&(Arc::new(RestoringHost::default()) as Arc<dyn SessionHost>));
        kept_agents.admit("bob".into(), "ann").unwrap();
        let kept = KeptState { on_leave: OnLeave::Wait, holds: true, saved: None, is_given: false };
        let written = Origin::Kept { account: "ann".to_owned() };
        let mut waiting = KeptBody::new("bob".into(), kept, Arc::clone(&kept_agents), Some(written));
        let session = asking(&kept_agents, "ann");
        assert!(session.claim(0, "bob".into()));
        assert_eq!(session.lock().agents().count(), 1, "it is told that it has it");
        // The node stops serving the partition before the agent's first turn with the new body.
        waiting.yielded(&mut Mailbox::default());
        assert!(ends(&session).is_empty(), "its name is not free yet");
        drop(waiting);
        assert_eq!((ends(&session), kept_agents.len()), (vec![PASSED.to_owned()], 0));
    }

    #[test]
    fn partition_move_ends_taken_agent() {
        let node: Arc<dyn SessionHost> = Arc::new(RestoringHost::default());
        let kept_agents = Arc::<KeptAgents>::default();
        kept_agents.attach(&node);
        let session = asking(&kept_agents, "ann");
        let saved = SavedState { code: Arc::new(CODE.parse().unwrap()), state: Arc::from([7].as_slice()) };
        let invitation = Invitation::new("bob".into(), saved, true, sym::EMPTY, Time::default());
        session.invite(&invitation, "ann".into()).unwrap();
        let former = Former::Node(node, origin(), None);
        let mut offered = InvitedBody::new(invitation, "ann".into(), Arc::clone(&session), former);
        assert!(session.claim(0, "bob".into()));
        assert_eq!(session.lock().agents().count(), 1, "it is told that it has it");
        offered.yielded(&mut Mailbox::default());
        assert!(ends(&session).is_empty(), "its name is not free yet");
        drop(offered);
        assert_eq!(ends(&session), [PASSED]);
    }

    #[test]
    fn unwritable_agent_continues_at_node() {
        let (node, kept_agents) = gone_on();
        for _ in 0..2 {
            let session = asking(&kept_agents, "ann");
            assert!(session.claim(0, "bob".into()));
            let (_, with) = node.asked.lock().unwrap().pop().unwrap();
            assert!(with(None).is_none());
            assert_eq!(refusals(&session), [ErrorCode::NotYet]);
        }
        let session = asking(&kept_agents, "ann");
        assert!(session.claim(0, "bob".into()));
        // The agent ends before it is asked.
        node.life.store(1, Ordering::Relaxed);
        let (_, with) = node.asked.lock().unwrap().pop().unwrap();
        assert!(with(None).is_none());
        assert!(matches!(session.lock().poll_event(), Some(SessionEvent::Create { .. })), "another is made");
    }

    #[test]
    fn ended_session_leaves_agent_at_node() {
        let (node, kept_agents) = gone_on();
        let session = asking(&kept_agents, "ann");
        assert!(session.claim(0, "bob".into()));
        session.lock().end(Time::default(), crate::EndReason::Finished, SessionFrame::Bye);
        let (_, with) = node.asked.lock().unwrap().pop().unwrap();
        assert!(with(Some((origin(), vec![8]))).is_none());
        assert!(session.lock().is_over() && kept_agents.went_on("bob".into(), "ann").is_some());
    }

    #[test]
    fn continued_agent_counts_until_its_end() {
        let (node, kept_agents) = gone_on();
        for n in 1..KEPT_AGENTS_PER_PRINCIPAL_MAX {
            kept_agents.admit(format!("bob{n}").as_str().into(), "ann").unwrap();
        }
        assert_eq!(kept_agents.admit("one more".into(), "ann").unwrap_err().code, ErrorCode::TooManyKept);
        kept_agents.books().prune_at = Time::default();
        node.life.store(1, Ordering::Relaxed);
        kept_agents.admit("one more".into(), "ann").unwrap();
    }

    /// Admits an agent for this account, and sets the bytes of its kept state.
    fn keep(kept_agents: &KeptAgents, name: &str, account: &str, bytes: usize) -> Result<(), ErrorCode> {
        kept_agents.admit(name.into(), account).unwrap();
        kept_agents.weigh(name.into(), bytes).map_err(|fault| fault.code)
    }

    #[test]
    fn kept_bytes_of_account_are_bounded() {
        let kept_agents = KeptAgents::default();
        keep(&kept_agents, "bob", "ann", KEPT_BYTES_PER_PRINCIPAL_MAX - 10).unwrap();
        keep(&kept_agents, "carl", "ann", 10).unwrap();
        assert_eq!(keep(&kept_agents, "carl", "ann", 11), Err(ErrorCode::TooManyKept));
        let adopted = |bytes| kept_agents.adopt("dora".into(), "ann", bytes).map(drop).map_err(|fault| fault.code);
        assert_eq!(adopted(1), Err(ErrorCode::TooManyKept));
        keep(&kept_agents, "bob", "ann", KEPT_BYTES_PER_PRINCIPAL_MAX - 30).unwrap();
        adopted(20).unwrap();
        adopted(20).unwrap();
        assert_eq!(adopted(21), Err(ErrorCode::TooManyKept), "its former state does not count");
        kept_agents.strike("carl".into());
        adopted(30).unwrap();
    }

    #[test]
    fn full_node_spares_small_accounts() {
        let kept_agents = KeptAgents::default();
        let greedy = KEPT_BYTES_MAX / KEPT_BYTES_PER_PRINCIPAL_MAX;
        for n in 0..greedy {
            keep(&kept_agents, &format!("agent{n}"), &format!("eve{n}"), KEPT_BYTES_PER_PRINCIPAL_MAX).unwrap();
        }
        keep(&kept_agents, "bob", "ann", KEPT_BYTES_SPARE).unwrap();
        assert_eq!(keep(&kept_agents, "bob", "ann", KEPT_BYTES_SPARE + 1), Err(ErrorCode::TooManyKept));
        keep(&kept_agents, "agent0", "eve0", KEPT_BYTES_PER_PRINCIPAL_MAX - KEPT_BYTES_SPARE).unwrap();
        assert_eq!(keep(&kept_agents, "bob", "ann", KEPT_BYTES_SPARE + 1), Err(ErrorCode::TooManyKept));
        keep(&kept_agents, "agent0", "eve0", KEPT_BYTES_PER_PRINCIPAL_MAX - KEPT_BYTES_SPARE - 1).unwrap();
        keep(&kept_agents, "bob", "ann", KEPT_BYTES_SPARE + 1).unwrap();
    }

    #[test]
    fn client_is_struck_by_its_session() {
        let (_node, kept_agents) = gone_on();
        let (pad, former, session) = ("pad".into(), asking(&kept_agents, "eve"), asking(&kept_agents, "ann"));
        kept_agents.list_client(pad, &session, true);
        kept_agents.strike_client(pad, &former);
        assert_eq!(kept_agents.account_of(pad).as_deref(), Some("ann"), "another session has the name now");
        kept_agents.strike_client(pad, &session);
        assert_eq!(kept_agents.account_of(pad), None);
    }

    #[test]
    fn invited_state_is_bounded() {
        let (_node, kept_agents) = gone_on();
        let session = asking(&kept_agents, "ann");
        kept_agents.list_client("ann".into(), &session, true);
        let invite = |bytes: usize| kept_agents.invite("carl".into(), "ann".into(), origin(), vec![0; bytes], None);
        let refusal = |bytes: usize| invite(bytes).err().map(|(why, _)| why);
        let too_large = |bytes| Some(HopError::TooLarge { bytes, bytes_max: SESSION_STATE_BYTES_MAX as u64 });
        assert_eq!(refusal(SESSION_STATE_BYTES_MAX), None);
        assert_eq!(refusal(SESSION_STATE_BYTES_MAX + 1), too_large(SESSION_STATE_BYTES_MAX as u64 + 1));
    }
}
