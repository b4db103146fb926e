//! Who is kept on a node, and for whom: agents whose session is over wait here for their client to come back.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::body::{SessionBody, SharedSession};
use super::burden::{Burden, Burdens};
use super::code_name::CodeName;
use super::frames::{Code, Fault, OnLeave};
use super::invitation::{Former, Invitation, InvitedBody};
use super::keeping::SavedState;
use super::kept_body::{Cell, KeptBody};
use super::port::Host;
use super::uploads::Allowances;
use super::written;
use crate::durable::{Origin, State};
use crate::limits::{
    KEPT_AGENTS_MAX, KEPT_AGENTS_PER_PRINCIPAL_MAX, KEPT_BYTES_MAX, KEPT_BYTES_PER_PRINCIPAL_MAX, KEPT_BYTES_SPARE,
    KEPT_PRUNE_MS, SESSION_CODE_BYTES_AT_ONCE, SESSION_CODE_BYTES_PER_S, SESSION_CODE_LOOKUPS_AT_ONCE,
    SESSION_CODE_LOOKUPS_PER_S, SESSION_STATE_BYTES_MAX,
};
use crate::mobility::{HopError, Wish};
use crate::{AgentBody, Time};

/// What is kept of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// What becomes of it when its session is over.
    pub on_leave: OnLeave,
    /// Whether it holds what it says.
    pub holds: bool,
    /// What it was when it said so last; `None` if it never did.
    pub saved: Option<SavedState>,
    /// Its code came to its client from here, or from its client.
    pub is_given: bool,
}

/// The kept agents of a node, with a session and without. Shared by all its sessions.
pub struct Shelf {
    books: Mutex<Books>,
    /// The agents of clients, and their sessions; and whether others can go there.
    clients: Mutex<FxHashMap<Symbol, (Weak<SharedSession>, bool)>>,
    /// Agents that are offered to a client, by their names; and whose that is: another session of theirs may take them, too.
    offers: Mutex<FxHashMap<Symbol, Open>>,
    /// Where agents go on, if they can, while that is there.
    host: Mutex<Option<Weak<dyn Host>>>,
    /// What is kept may be written down there.
    has_journal: AtomicBool,
    /// Bytes of code that clients bring.
    uploads: Mutex<Allowances>,
    /// How often they have code looked for.
    lookups: Mutex<Allowances>,
    /// What waits for clients.
    burdens: Mutex<Burdens>,
}

impl Default for Shelf {
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

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("books", &self.books).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Books {
    entries: FxHashMap<Symbol, Entry>,
    accounts: FxHashMap<String, KeptUsage>,
    /// Of all their states.
    bytes: usize,
    /// When those that went on here are looked through again.
    prune_at: Time,
}

#[derive(Debug)]
struct Entry {
    /// Whose it is: only they get it back.
    account: String,
    bytes: usize,
    place: Place,
}

/// For whom, in which life of its name and how an agent is kept that the node runs.
#[derive(Clone, Debug)]
pub(super) struct Tenure {
    account: String,
    life: Option<u32>,
    kept: Kept,
}

/// Where a kept agent is.
#[derive(Debug)]
enum Place {
    /// With a session.
    Session,
    /// It waits there.
    Waiting(Arc<Cell>),
    /// It waited there, and is being given to a session.
    Passing(Arc<Cell>),
    /// The node runs it, in this life of its name, if that is not over; and how it was kept, but for its state. No life, if it did so
    /// before the node began anew and [is not there yet](Shelf::note_life).
    GoneOn(Option<u32>, Kept),
}

/// An agent that is offered to a session.
#[derive(Debug)]
struct Open {
    offer: Arc<Invitation>,
    session: Weak<SharedSession>,
    account: String,
}

/// What one token or certificate has here.
#[derive(Debug, Default)]
struct KeptUsage {
    agents: usize,
    bytes: usize,
}

fn too_many_bytes() -> Fault {
    let (own, all) = (KEPT_BYTES_PER_PRINCIPAL_MAX, KEPT_BYTES_MAX);
    let text = format!("the states of the agents of one token take {own} bytes at most, those of all {all}");
    Fault::new(Code::TooManyKept, text)
}

/// Whether states may take so many bytes: those of one account, and of all. When all take as much as they may, those who have little still
/// have a place.
fn have_place(own: usize, all: usize) -> bool {
    own <= KEPT_BYTES_PER_PRINCIPAL_MAX && (all <= KEPT_BYTES_MAX || own <= KEPT_BYTES_SPARE)
}

impl Books {
    fn strike(&mut self, name: Symbol) {
        let Some(Entry { account: whose, bytes, .. }) = self.entries.remove(&name) else { return };
        let Some(account) = self.accounts.get_mut(&whose) else { return };
        self.bytes -= bytes;
        account.agents -= 1;
        account.bytes -= bytes;
        if account.agents == 0 {
            self.accounts.remove(&whose);
        }
    }

    /// An agent is kept, instead of any of its name.
    fn enter(&mut self, name: Symbol, account: &str, bytes: usize, place: Place) {
        self.strike(name);
        let of = self.accounts.entry(account.to_owned()).or_default();
        of.agents += 1;
        of.bytes += bytes;
        self.bytes += bytes;
        self.entries.insert(name, Entry { account: account.to_owned(), bytes, place });
    }

    fn is_full(&self, account: &str) -> bool {
        let agents = self.accounts.get(account).map_or(0, |account| account.agents);
        agents >= KEPT_AGENTS_PER_PRINCIPAL_MAX || self.entries.len() >= KEPT_AGENTS_MAX
    }

    /// Strikes those that went on here and have ended since: nobody says so when they do.
    fn prune(&mut self, host: &dyn Host) {
        let now = host.now();
        if now < self.prune_at {
            return;
        }
        self.prune_at = now + Duration::from_millis(KEPT_PRUNE_MS);
        let is_over = |name: Symbol, place: &Place| {
            let Place::GoneOn(Some(life), _) = place else { return false };
            host.life(name) != Some(*life)
        };
        let over: Vec<Symbol> =
            self.entries.iter().filter(|(name, entry)| is_over(**name, &entry.place)).map(|(name, _)| *name).collect();
        over.into_iter().for_each(|name| self.strike(name));
    }

    /// So many bytes are kept of an agent from now on.
    fn weigh(&mut self, name: Symbol, bytes: usize) -> Result<(), Fault> {
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

impl Shelf {
    /// Has agents go on here from now on, if they can.
    pub fn attach(&self, host: &Arc<dyn Host>) {
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(host));
        self.has_journal.store(host.has_journal(), Ordering::Release);
    }

    /// Whether what is kept may be written down here, as far as that is the same for all agents.
    pub(super) fn has_journal(&self) -> bool {
        self.has_journal.load(Ordering::Acquire)
    }

    /// Code is about to be looked for because of a client of this account; false if that is too often for now.
    pub(super) fn count_lookup(&self, account: &str, now: Time) -> bool {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).take(account, 1, now)
    }

    /// What waits for the clients of this account.
    pub(super) fn burden(&self, account: &str) -> Arc<Burden> {
        self.burdens.lock().unwrap_or_else(PoisonError::into_inner).of(account)
    }

    /// The same for whoever this agent is kept.
    pub(super) fn burden_of(&self, name: Symbol) -> Option<Arc<Burden>> {
        let account = self.books().entries.get(&name)?.account.clone();
        Some(self.burden(&account))
    }

    /// A client of this account is about to bring so many bytes of code; false if that is too much for now.
    pub(super) fn count_code(&self, account: &str, bytes: u64, now: Time) -> bool {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner).take(account, bytes, now)
    }

    /// An agent that was kept before its node ended, as its [origin](Origin) and states are written, the last of them so long ago while somebody had it: it waits
    /// for its client.
    ///
    /// # Errors
    /// That is none, or cannot be read: why.
    pub fn resume(
        self: &Arc<Self>,
        name: Symbol,
        origin: &Origin,
        states: &[State],
        age: Duration,
    ) -> Result<Box<dyn AgentBody>, String> {
        let Origin::Kept { account } = origin else { return Err("it is no kept agent".to_owned()) };
        let (kept, waits) = written::read(states)?;
        let bytes = kept.saved.as_ref().map_or(0, |saved| saved.state.len());
        self.books().enter(name, account, bytes, Place::Session);
        Ok(Box::new(KeptBody::resumed(name, kept, Arc::clone(self), origin.clone(), waits.then_some(age))))
    }

    /// The node runs this agent, as it did before it began anew: its client may have it back. Of no account if the origin says nothing of that.
    pub fn note_gone_on(&self, name: Symbol, origin: &Origin) {
        if let Origin::GoneOn { account, on_leave, holds, .. } = origin {
            let kept = Kept { on_leave: *on_leave, holds: *holds, saved: None, is_given: true };
            self.books().enter(name, account, 0, Place::GoneOn(None, kept));
        }
    }

    /// An agent that was made again is there, in this life of its name: another one of its name is not its client's.
    pub fn note_life(&self, name: Symbol, life: u32) {
        if let Some(Entry { place: Place::GoneOn(noted @ None, _), .. }) = self.books().entries.get_mut(&name) {
            *noted = Some(life);
        }
    }

    /// The agent as the node runs it, from now on; and as what it is written down then, if it is by now. It is still counted: whoever comes back gets
    /// it again.
    ///
    /// # Errors
    /// The node cannot, or may not: why.
    pub(super) fn go_on(
        &self,
        name: Symbol,
        kept: &Kept,
        written: Option<&Origin>,
    ) -> Result<(Box<dyn AgentBody>, Option<Origin>), String> {
        let saved = kept.saved.as_ref().ok_or("it never said what it is")?;
        let origin = saved.code.origin().ok_or("no node knows its code")?;
        let host = self.host().ok_or("there is no node")?;
        if host.has_code(name, &origin) != Some(true) {
            return Err("its code is not here, or may not run here".to_owned());
        }
        let life = host.life(name).ok_or("it is not here any more")?;
        let body = host.restore(name, &origin, &saved.state)?;
        let written = match written {
            Some(Origin::Kept { account }) => {
                let code = Box::new(body.origin().ok_or("it could not be made again")?);
                Some(Origin::GoneOn { account: account.clone(), on_leave: kept.on_leave, holds: kept.holds, code })
            }
            _ => None,
        };
        let mut books = self.books();
        // Its state is the node's own now.
        let _ = books.weigh(name, 0);
        if let Some(entry) = books.entries.get_mut(&name) {
            entry.place = Place::GoneOn(Some(life), Kept { saved: None, ..kept.clone() });
        }
        Ok((body, written))
    }

    /// Whether an agent of this name that went on at this node for this account is still there: in which life of its name, and how it was kept.
    pub(super) fn went_on(&self, name: Symbol, account: &str) -> Option<(u32, Kept)> {
        let host = self.host()?;
        let mut books = self.books();
        let entry = books.entries.get(&name).filter(|entry| entry.account == account)?;
        let Place::GoneOn(Some(life), kept) = &entry.place else { return None };
        if host.life(name) == Some(*life) {
            return Some((*life, kept.clone()));
        }
        books.strike(name);
        None
    }

    /// An agent that went on at this node in this life is a session's again, and its state has so many bytes.
    ///
    /// # Errors
    /// That is too much, or it is that no more. It goes on at the node.
    pub(super) fn take_back(&self, name: Symbol, life: u32, bytes: usize) -> Result<(), Fault> {
        let mut books = self.books();
        let place = books.entries.get(&name).map(|entry| &entry.place);
        if !matches!(place, Some(Place::GoneOn(then, _)) if *then == Some(life)) {
            return Err(Fault::new(Code::NameTaken, format!("{name} is not at the node any more")));
        }
        books.weigh(name, bytes)?;
        if let Some(entry) = books.entries.get_mut(&name) {
            entry.place = Place::Session;
        }
        Ok(())
    }

    pub(super) fn host(&self) -> Option<Arc<dyn Host>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
    }

    fn clients(&self) -> MutexGuard<'_, FxHashMap<Symbol, (Weak<SharedSession>, bool)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session has an agent of this name from now on, which stands for its client; to which others can go, or not.
    pub(super) fn list_client(&self, name: Symbol, session: &Arc<SharedSession>, takes_agents: bool) {
        self.clients().insert(name, (Arc::downgrade(session), takes_agents));
    }

    /// Whose agent has this name: of one that has a session, or is kept.
    pub fn account_of(&self, name: Symbol) -> Option<String> {
        let session = self.clients().get(&name).and_then(|(session, _)| session.upgrade());
        match session {
            Some(session) => Some(session.lock().grant().account.clone()),
            None => self.books().entries.get(&name).map(|entry| entry.account.clone()),
        }
    }

    /// It has it no more.
    pub(super) fn strike_client(&self, name: Symbol, session: &Arc<SharedSession>) {
        let mut clients = self.clients();
        if clients.get(&name).is_some_and(|(listed, _)| std::ptr::eq(listed.as_ptr(), Arc::as_ptr(session))) {
            clients.remove(&name);
        }
    }

    /// The session that has an agent of this name, if others can go there.
    pub(super) fn client(&self, name: Symbol) -> Option<Arc<SharedSession>> {
        self.clients().get(&name).filter(|(_, takes_agents)| *takes_agents)?.0.upgrade()
    }

    fn offers(&self) -> MutexGuard<'_, FxHashMap<Symbol, Open>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An agent is offered to a session of this account from now on.
    pub(super) fn list_offer(&self, offer: &Arc<Invitation>, session: &Arc<SharedSession>, account: String) {
        let open = Open { offer: Arc::clone(offer), session: Arc::downgrade(session), account };
        self.offers().insert(offer.name, open);
    }

    /// It is so no more.
    pub(super) fn strike_offer(&self, offer: &Arc<Invitation>) {
        let mut offers = self.offers();
        if offers.get(&offer.name).is_some_and(|open| Arc::ptr_eq(&open.offer, offer)) {
            offers.remove(&offer.name);
        }
    }

    /// The session that an agent is offered to, if that is of this account.
    pub(super) fn offered_to(&self, name: Symbol, account: &str) -> Option<Arc<SharedSession>> {
        self.offers().get(&name).filter(|open| open.account == account)?.session.upgrade()
    }

    /// Whether a session to which others can go has an agent of this name here.
    pub fn has_client(&self, name: Symbol) -> bool {
        self.clients().get(&name).is_some_and(|(_, takes_agents)| *takes_agents)
    }

    /// Whether the client that has the agent `to` could be offered one: to be asked before one sets out for here on its way there.
    ///
    /// # Errors
    /// It could not: why.
    pub fn may_invite(&self, to: Symbol) -> Result<(), HopError> {
        let client = self.client(to).ok_or(HopError::NoSuchNode(to))?;
        client.lock().takes_agents(to)
    }

    /// What an agent of this node is while it is offered to the client that has the agent `to`: `origin` is where its code is, `state` what it is. It is that
    /// again if the client does not take it, and told so.
    ///
    /// # Errors
    /// It cannot be offered: why. The wish comes back.
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

    /// An agent that a session has is to be kept for this account.
    pub(super) fn admit(&self, name: Symbol, account: &str) -> Result<(), Fault> {
        let mut books = self.books();
        match books.entries.get_mut(&name) {
            Some(entry) if entry.account == account => {
                entry.place = Place::Session;
                return Ok(());
            }
            // One of that name ended, and this is another.
            Some(_) => books.strike(name),
            None => {}
        }
        if books.is_full(account)
            && let Some(host) = self.host()
        {
            books.prune(&*host);
        }
        if books.is_full(account) {
            return Err(Fault::new(Code::TooManyKept, "as many agents are kept as may be"));
        }
        books.enter(name, account, 0, Place::Session);
        Ok(())
    }

    /// An agent that was offered to a session of this account is that session's from now on. For whom the node ran it, if it was for somebody.
    ///
    /// # Errors
    /// There is no place for it. Whoever kept it before keeps it.
    pub(super) fn adopt(&self, name: Symbol, account: &str, bytes: usize) -> Result<Option<Tenure>, Fault> {
        let mut books = self.books();
        let tenure = books.entries.get(&name).and_then(|entry| match &entry.place {
            Place::GoneOn(life, kept) => {
                Some(Tenure { account: entry.account.clone(), life: *life, kept: kept.clone() })
            }
            _ => None,
        });
        let before = books.entries.get(&name).filter(|entry| entry.account == account).map(|entry| entry.bytes);
        if before.is_none() && books.is_full(account) {
            return Err(Fault::new(Code::TooManyKept, "as many agents are kept as may be"));
        }
        let more = |of: usize| of + bytes - before.unwrap_or_default();
        let own = books.accounts.get(account).map_or(0, |account| account.bytes);
        if !have_place(more(own), more(books.bytes)) {
            return Err(too_many_bytes());
        }
        books.enter(name, account, bytes, Place::Session);
        Ok(tenure)
    }

    /// An agent is the node's again, and kept for whom it was before, if it was for somebody.
    pub(super) fn hand_back(&self, name: Symbol, before: Option<Tenure>) {
        let mut books = self.books();
        match before {
            Some(Tenure { account, life, kept }) => books.enter(name, &account, 0, Place::GoneOn(life, kept)),
            None => books.strike(name),
        }
    }

    /// The state of an agent has so many bytes from now on.
    pub(super) fn weigh(&self, name: Symbol, bytes: usize) -> Result<(), Fault> {
        self.books().weigh(name, bytes)
    }

    /// An agent waits there from now on.
    pub(super) fn put(&self, name: Symbol, cell: &Arc<Cell>) {
        if let Some(entry) = self.books().entries.get_mut(&name) {
            entry.place = Place::Waiting(Arc::clone(cell));
        }
    }

    /// It is kept no more.
    pub(super) fn strike(&self, name: Symbol) {
        self.books().strike(name);
    }

    /// It is kept no more, if it waits there.
    pub(super) fn strike_waiting(&self, name: Symbol, cell: &Arc<Cell>) {
        let mut books = self.books();
        let place = books.entries.get(&name).map(|entry| &entry.place);
        if matches!(place, Some(Place::Waiting(waiting)) if Arc::ptr_eq(waiting, cell)) {
            books.strike(name);
        }
    }

    /// Gives an agent that waits to a session of its account. Returns what is kept of it, and why it did not go on at its
    /// node, if it was to. At its next turn it is that session's.
    pub(super) fn claim(
        &self,
        name: Symbol,
        account: &str,
        session: &Arc<SharedSession>,
        agent: u32,
    ) -> Option<(Kept, Option<String>)> {
        let cell = {
            let mut books = self.books();
            let entry = books.entries.get_mut(&name).filter(|entry| entry.account == account)?;
            let Place::Waiting(cell) = &entry.place else { return None };
            let cell = Arc::clone(cell);
            entry.place = Place::Passing(Arc::clone(&cell));
            cell
        };
        // Not under the lock of the books: who has the cell may want that.
        let kept = cell.pass_on(|| SessionBody::new(Arc::clone(session), agent));
        let mut books = self.books();
        if let Some(entry) = books.entries.get_mut(&name)
            && matches!(&entry.place, Place::Passing(passing) if Arc::ptr_eq(passing, &cell))
        {
            entry.place = Place::Session;
            if kept.is_none() {
                // It ended meanwhile.
                books.strike(name);
            }
        }
        kept.map(|kept| (kept, cell.stranded().map(str::to_owned)))
    }

    /// How many agents are kept, with a session, without, and as the node runs them.
    pub fn len(&self) -> usize {
        self.books().entries.len()
    }

    /// Whether nobody is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use whimbrel_acl::{Aid, sym};

    use super::super::frames::{Frame, PASSED};
    use super::*;
    use crate::durable::Origin;
    use crate::services::CreateError;
    use crate::session::{Ended, Exchange, Grant, Hello, Opening, Refused, Session, SessionEvent};
    use crate::{Mailbox, Next, Turn};

    const CODE: &str = "asl:0000000000000000000000000000000000000000000000000000000000000000/bob.asl";

    /// A node on which everything can go on, and the agents of which can be written out, or cannot.
    #[derive(Default)]
    struct Node {
        life: AtomicU32,
        /// What is asked of it waits for the test.
        asked: Mutex<Vec<(u32, Exchange)>>,
    }

    struct Anybody;

    impl AgentBody for Anybody {
        fn turn(&mut self, _turn: &mut Turn<'_>) -> Next {
            Next::Wait
        }
    }

    impl Host for Node {
        fn platform(&self) -> Symbol {
            "home".into()
        }
        fn node(&self) -> Symbol {
            sym::EMPTY
        }
        fn now(&self) -> Time {
            Time::default()
        }
        fn lodge(&self, name: Symbol, _body: Box<dyn AgentBody>, _is_home: bool) -> Result<Aid, CreateError> {
            Ok(Aid::local(name))
        }
        fn wake(&self, _agent: Aid) {}
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

    /// A shelf on which bob, who is ann's, went on at the node.
    fn gone_on() -> (Arc<Node>, Arc<Shelf>) {
        let node = Arc::new(Node::default());
        let shelf = Arc::<Shelf>::default();
        shelf.attach(&(Arc::<Node>::clone(&node) as Arc<dyn Host>));
        shelf.admit("bob".into(), "ann").unwrap();
        let saved = SavedState { code: Arc::new(CODE.parse().unwrap()), state: Arc::from([7].as_slice()) };
        let kept = Kept { on_leave: OnLeave::GoOn, holds: true, saved: Some(saved), is_given: false };
        assert!(shelf.go_on("bob".into(), &kept, None).is_ok());
        (node, shelf)
    }

    /// A session of this account that asked for bob, and has nobody yet.
    fn asking(shelf: &Arc<Shelf>, account: &str) -> Arc<SharedSession> {
        let grant = Grant { account: account.to_owned(), ..Grant::new("*", vec!["*".into()]) };
        let (session, secret, platform) = ("s".to_owned(), "x".to_owned(), "home".into());
        let opening = Opening { session, secret, platform, grant, shelf: Arc::clone(shelf) };
        let mut session = Session::new(opening, Time::default());
        session.handle_hello(Time::default(), &Hello { versions: vec![1], moves: true, ..Hello::default() }).unwrap();
        session.create(1, 0, "bob");
        assert!(matches!(session.poll_event(), Some(SessionEvent::Create { .. })));
        Arc::new(SharedSession::new(session, || ()))
    }

    /// What its client is told, of one kind.
    fn told<T>(session: &SharedSession, of: impl Fn(Frame) -> Option<T>) -> Vec<T> {
        let mut session = session.lock();
        std::iter::from_fn(|| session.poll_frame(Time::default())).filter_map(of).collect()
    }

    fn refusals(session: &SharedSession) -> Vec<Code> {
        told(session, |frame| if let Frame::Refused(Refused { code, .. }) = frame { Some(code) } else { None })
    }

    fn ends(session: &SharedSession) -> Vec<String> {
        told(session, |frame| if let Frame::Ended(Ended { reason, .. }) = frame { Some(reason) } else { None })
    }

    fn origin() -> Origin {
        CODE.parse::<super::super::code_name::CodeName>().unwrap().origin().unwrap()
    }

    #[test]
    fn who_went_on_is_given_back_to_its_account_and_to_no_other() {
        let (node, shelf) = gone_on();
        assert!(!asking(&shelf, "eve").claim(0, "bob".into()));
        let session = asking(&shelf, "ann");
        assert!(session.claim(0, "bob".into()));
        let (life, with) = node.asked.lock().unwrap().pop().unwrap();
        let body = with(Some((origin(), vec![8])));
        assert!(life == 0 && body.is_some());
        assert_eq!((refusals(&session), session.lock().agents().count(), shelf.len()), (vec![], 1, 1));
    }

    #[test]
    fn another_agent_of_the_name_is_nobodys() {
        let (node, shelf) = gone_on();
        node.life.store(1, Ordering::Relaxed);
        assert!(!asking(&shelf, "ann").claim(0, "bob".into()));
        assert!(node.asked.lock().unwrap().is_empty() && shelf.is_empty());
    }

    #[test]
    fn who_went_on_before_the_node_began_anew_is_given_back_in_that_life_only() {
        let gone_on = || {
            let (node, shelf) = gone_on();
            shelf.strike("bob".into());
            let (account, code) = ("ann".to_owned(), Box::new(origin()));
            let origin = Origin::GoneOn { account, on_leave: OnLeave::GoOn, holds: true, code };
            shelf.note_gone_on("bob".into(), &origin);
            node.life.store(7, Ordering::Relaxed);
            (node, shelf)
        };
        let (_node, shelf) = gone_on();
        assert!(shelf.went_on("bob".into(), "ann").is_none(), "it is not there yet");
        shelf.note_life("bob".into(), 7);
        assert_eq!(shelf.went_on("bob".into(), "ann").map(|(life, _)| life), Some(7));
        let (node, shelf) = gone_on();
        shelf.note_life("bob".into(), 7);
        node.life.store(8, Ordering::Relaxed);
        shelf.note_life("bob".into(), 8);
        assert!(shelf.went_on("bob".into(), "ann").is_none() && shelf.is_empty(), "another has its name");
    }

    #[test]
    fn who_is_given_back_while_its_partition_passes_on_goes_on_at_another_node() {
        let shelf = Arc::<Shelf>::default();
        shelf.attach(&(Arc::new(Node::default()) as Arc<dyn Host>));
        shelf.admit("bob".into(), "ann").unwrap();
        let kept = Kept { on_leave: OnLeave::Wait, holds: true, saved: None, is_given: false };
        let written = Origin::Kept { account: "ann".to_owned() };
        let mut waiting = KeptBody::new("bob".into(), kept, Arc::clone(&shelf), Some(written));
        let session = asking(&shelf, "ann");
        assert!(session.claim(0, "bob".into()));
        assert_eq!(session.lock().agents().count(), 1, "it is told that it has it");
        // Its node stops to serve its partition before it has had a turn as what it is now.
        waiting.yielded(&mut Mailbox::default());
        assert!(ends(&session).is_empty(), "its name is not free yet");
        drop(waiting);
        assert_eq!((ends(&session), shelf.len()), (vec![PASSED.to_owned()], 0));
    }

    #[test]
    fn who_is_taken_while_its_partition_passes_on_goes_on_at_another_node() {
        let node: Arc<dyn Host> = Arc::new(Node::default());
        let shelf = Arc::<Shelf>::default();
        shelf.attach(&node);
        let session = asking(&shelf, "ann");
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
    fn who_cannot_be_written_out_now_goes_on_and_can_be_asked_for_again() {
        let (node, shelf) = gone_on();
        for _ in 0..2 {
            let session = asking(&shelf, "ann");
            assert!(session.claim(0, "bob".into()));
            let (_, with) = node.asked.lock().unwrap().pop().unwrap();
            assert!(with(None).is_none());
            assert_eq!(refusals(&session), [Code::NotYet]);
        }
        let session = asking(&shelf, "ann");
        assert!(session.claim(0, "bob".into()));
        // It ends before it is asked.
        node.life.store(1, Ordering::Relaxed);
        let (_, with) = node.asked.lock().unwrap().pop().unwrap();
        assert!(with(None).is_none());
        assert!(matches!(session.lock().poll_event(), Some(SessionEvent::Create { .. })), "another is made");
    }

    #[test]
    fn whose_session_is_over_by_then_leaves_the_agent_at_the_node() {
        let (node, shelf) = gone_on();
        let session = asking(&shelf, "ann");
        assert!(session.claim(0, "bob".into()));
        session.lock().end(Time::default(), crate::EndReason::Finished, Frame::Bye);
        let (_, with) = node.asked.lock().unwrap().pop().unwrap();
        assert!(with(Some((origin(), vec![8]))).is_none());
        assert!(session.lock().is_over() && shelf.went_on("bob".into(), "ann").is_some());
    }

    #[test]
    fn who_went_on_is_counted_until_it_ends() {
        let (node, shelf) = gone_on();
        for n in 1..KEPT_AGENTS_PER_PRINCIPAL_MAX {
            shelf.admit(format!("bob{n}").as_str().into(), "ann").unwrap();
        }
        assert_eq!(shelf.admit("one more".into(), "ann").unwrap_err().code, Code::TooManyKept);
        shelf.books().prune_at = Time::default();
        node.life.store(1, Ordering::Relaxed);
        shelf.admit("one more".into(), "ann").unwrap();
    }
}
