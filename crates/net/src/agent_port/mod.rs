//! The agent port: where programs that are no nodes connect, and have agents here. The sockets around
//! [`whimbrel_platform::session`].

mod arrival;
mod code;
mod doors;
mod proof;
mod task;
#[cfg(test)]
mod tests;
mod tokens;
mod wire;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use rustc_hash::FxHashMap;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use whimbrel_acl::Symbol;
use whimbrel_platform::audit::{Auditor, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::crowd::{Crowd, Place, household};
use whimbrel_platform::limits::{
    SESSION_ACCOUNTS_MAX, SESSION_CODE_ADMISSIONS_MAX, SESSION_FRAME_BYTES_MORE, SESSION_NAME_BYTES_MAX,
    SESSION_NAME_BYTES_SPARE, SESSION_STRANGERS_EACH_MAX, SESSION_STRANGERS_MAX, SESSIONS_MAX,
    SESSIONS_NAME_BYTES_HARD_MAX, SESSIONS_NAME_BYTES_MAX, SESSIONS_PER_ACCOUNT_MAX,
};
use whimbrel_platform::policy::Principal;
use whimbrel_platform::session::{
    Code, Fault, Frame, Grant, Hello, Host, Opening, Session, SessionLimits, SharedSession, Shelf, check_version,
};
use whimbrel_platform::{EndReason, Time};

use self::arrival::{Arrival, NoHello};
use self::doors::Doors;
pub use self::doors::{AskDoors, Carrier, NodeDoors};
use self::proof::{Rejected, Shown};
pub use self::tokens::{TokenError, TokenFile, Tokens, new_token};
pub use self::wire::Messages;
use crate::authority::hex;
use crate::hub::HubView;
use crate::port_guard::PortGuard;
use crate::refusal;
use crate::security::{Credentials, Identity, Level, SecurityError, Tls};
use crate::signing::AgentAuthority;
use crate::threads::Threads;

/// What a client shows so that it is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The token in its hello.
    pub token: Option<&'a str>,
    /// The agents that its certificate names, and patterns of such names, if it showed one. It is called as the first.
    pub certified: Vec<&'a str>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
}

/// Who may come in, and with what: none if this one may not.
pub type Authorise = Box<dyn Fn(&Claim<'_>) -> Option<Grant> + Send + Sync>;

/// What an agent port is to be.
pub struct AgentPortConfig {
    /// How connections are secured: encrypted beyond [`Level::Open`].
    pub level: Level,
    /// What this node shows, if connections are secured; and with what it certifies agents' keys.
    pub credentials: Option<Credentials>,
    /// The node's links: other nodes are to know the certificates of agents here.
    pub links: Option<HubView>,
    /// Finds out where the clients of other nodes connect, if there may be other nodes.
    pub doors: Option<AskDoors>,
    /// Who may come in.
    pub authorise: Authorise,
    /// Who keeps a record of what is refused.
    pub auditor: Option<Arc<dyn Auditor>>,
    /// Told of what an operator wants to know.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

/// Why an agent port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentPortError {
    /// Its threads cannot be made.
    #[error("cannot start the threads of the agent port")]
    Threads(#[source] io::Error),
    /// Its credentials are of no use.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// It cannot listen there.
    #[error("cannot listen for agents at {address}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        source: io::Error,
    },
}

/// What an operator wants to know of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// Who it is.
    pub principal: String,
    /// The names of its agents.
    pub agents: Vec<String>,
    /// Whether there is a connection now.
    pub connected: bool,
}

/// What stands in the name of a session between that of its node and the rest.
const SESSION_OF: char = '.';

/// Whose quotas a session uses up: who shows one token or certificate at one address. Many strangers may have one token, as the
/// visitors of a page have; one of them is not to use up what is for the others.
type AccountKey = (String, Option<IpAddr>);

/// What is counted for each account, over all its sessions.
#[derive(Debug, Default)]
struct Account {
    /// Bytes of names that were never heard before.
    name_bytes: AtomicU64,
    /// Sessions that there are now.
    sessions: AtomicU64,
}

/// Forgets accounts without sessions: half of them, those first that made the fewest names. So of those who come and never come again
/// none is in anybody's way, and who made many names is remembered longest.
fn forget_idle(accounts: &mut FxHashMap<AccountKey, Arc<Account>>) {
    let idle = |account: &Account| account.sessions.load(Ordering::Relaxed) == 0;
    let names = |account: &Account| account.name_bytes.load(Ordering::Relaxed);
    let mut made: Vec<u64> = accounts.values().filter(|account| idle(account)).map(|account| names(account)).collect();
    let half = made.len().div_ceil(2);
    let Some(last) = half.checked_sub(1) else { return };
    let (_, most, _) = made.select_nth_unstable(last);
    let (most, mut left) = (*most, half);
    accounts.retain(|_, account| {
        let goes = left > 0 && idle(account) && names(account) <= most;
        left -= usize::from(goes);
        !goes
    });
}

/// Where connections for a session wait for its task: one at most, since only the newest counts.
struct Door<A = Box<Arrival>> {
    waiting: Mutex<Threshold<A>>,
    /// There is something to do for the session.
    wake: Notify,
}

/// What is at a door.
enum Threshold<A> {
    Nobody,
    Somebody(A),
    /// The task is over: nobody opens any more. Whoever waited here would do so for as long as anything knows the session.
    Shut,
}

impl<A> Default for Door<A> {
    fn default() -> Self {
        Self { waiting: Mutex::new(Threshold::Nobody), wake: Notify::new() }
    }
}

impl<A> Door<A> {
    /// Has the task take this one. The one before it, if it was not taken.
    ///
    /// # Errors
    /// The task is over: it is given back.
    fn put(&self, arrival: A) -> Result<Option<A>, A> {
        let mut waiting = self.lock();
        if matches!(*waiting, Threshold::Shut) {
            return Err(arrival);
        }
        let older = std::mem::replace(&mut *waiting, Threshold::Somebody(arrival));
        self.wake.notify_one();
        Ok(if let Threshold::Somebody(older) = older { Some(older) } else { None })
    }

    /// The one that waits.
    fn take(&self) -> Option<A> {
        let mut waiting = self.lock();
        match std::mem::replace(&mut *waiting, Threshold::Nobody) {
            Threshold::Somebody(arrival) => Some(arrival),
            nobody => {
                *waiting = nobody;
                None
            }
        }
    }

    /// Nobody opens any more: whoever waits sees that the connection closes.
    fn shut(&self) {
        let waiting = std::mem::replace(&mut *self.lock(), Threshold::Shut);
        drop(waiting);
    }

    fn lock(&self) -> MutexGuard<'_, Threshold<A>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session, and how to reach its task.
struct Entry {
    session: Arc<SharedSession>,
    door: Arc<Door>,
    /// Those that its client showed, if they name an agent of a session.
    certificates: Option<Vec<CertificateDer<'static>>>,
}

impl Entry {
    fn end(&self, now: Time, reason: EndReason, last: Fault) {
        self.session.lock().end(now, reason, Frame::Error(last));
        self.door.wake.notify_one();
    }
}

struct Inner {
    host: Arc<dyn Host>,
    authorise: Authorise,
    level: Level,
    tls: Mutex<Option<Arc<Tls>>>,
    /// Certifies agents' keys.
    certifier: Mutex<Option<Arc<AgentAuthority>>>,
    links: Option<HubView>,
    guard: Arc<PortGuard>,
    sessions: Mutex<FxHashMap<String, Entry>>,
    accounts: Mutex<FxHashMap<AccountKey, Arc<Account>>>,
    /// Bytes of names that were never heard before, of all accounts.
    name_bytes: AtomicU64,
    strangers: Arc<Crowd>,
    /// Sessions end, and none begins any more.
    closing: AtomicBool,
    /// Agents that are kept when their sessions are over.
    shelf: Arc<Shelf>,
    /// Places for those whose code is being looked for, or taken in.
    admissions: Semaphore,
    /// Where clients are sent whose sessions or agents are elsewhere.
    doors: Doors,
}

/// See the module. Ends its sessions when it is dropped.
pub struct AgentPort {
    inner: Arc<Inner>,
    limits: SessionLimits,
    address: String,
    threads: Threads,
}

impl AgentPort {
    /// Opens a port at `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address is not to be had, threads are not, or the credentials are of no use.
    pub fn open(config: AgentPortConfig, host: Arc<dyn Host>, address: &str) -> Result<Self, AgentPortError> {
        Self::begin(config, host, Some(address))
    }

    /// A port to which nobody can connect: somebody else hands over connections.
    ///
    /// # Errors
    /// Threads are not to be had, or the credentials are of no use.
    pub fn without_address(config: AgentPortConfig, host: Arc<dyn Host>) -> Result<Self, AgentPortError> {
        Self::begin(config, host, None)
    }

    /// Sets the limits of sessions, which authorisation grants ([`Grant::within`]).
    #[must_use]
    pub fn with_limits(mut self, limits: SessionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Bytes of the longest frame that any client may say.
    pub fn frame_bytes_max(&self) -> usize {
        self.limits.message_bytes as usize + SESSION_FRAME_BYTES_MORE
    }

    fn begin(config: AgentPortConfig, host: Arc<dyn Host>, address: Option<&str>) -> Result<Self, AgentPortError> {
        let AgentPortConfig { level, credentials, links, doors, authorise, auditor, log } = config;
        let tls = Mutex::new(Tls::of_agent_port(level, credentials.as_ref())?.map(Arc::new));
        let certifier = credentials.as_ref().map(|credentials| certifier(&*host, credentials)).transpose()?.flatten();
        let threads = Threads::half("whimbrel-agents").map_err(AgentPortError::Threads)?;
        let listener = address.map(|address| {
            let failed = |source| AgentPortError::Listen { address: address.to_owned(), source };
            threads.block_on(TcpListener::bind(address)).map_err(failed)
        });
        let listener = listener.transpose()?;
        let address = listener.as_ref().and_then(|listener| Some(listener.local_addr().ok()?.to_string()));
        let address = address.unwrap_or_default();
        let shelf = host.shelf();
        shelf.attach(&host);
        let inner = Arc::new(Inner {
            host,
            authorise,
            level,
            tls,
            certifier: Mutex::new(certifier.map(Arc::new)),
            links,
            guard: PortGuard::new(auditor, log),
            sessions: Mutex::default(),
            accounts: Mutex::default(),
            name_bytes: AtomicU64::new(0),
            strangers: Crowd::of(SESSION_STRANGERS_MAX, SESSION_STRANGERS_EACH_MAX),
            closing: AtomicBool::new(false),
            shelf,
            admissions: Semaphore::new(SESSION_CODE_ADMISSIONS_MAX),
            doors: Doors::new(doors),
        });
        if let Some(listener) = listener {
            threads.spawn(accept(listener, Arc::clone(&inner)));
        }
        threads.spawn(Arc::clone(&inner.guard).say_counts());
        Ok(Self { inner, limits: SessionLimits::default(), address, threads })
    }

    /// Where it listens; empty if it does not.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The threads that its sessions run on, for those who bring connections.
    pub fn threads(&self) -> &tokio::runtime::Handle {
        self.threads.handle()
    }

    /// Takes a connection that somebody else accepted, as secure as that is. Done when it belongs to a session, or is
    /// closed.
    /// Until then it has `place` among the newcomers of whoever accepted it.
    pub fn receive_messages(
        &self,
        messages: Box<dyn Messages>,
        from: SocketAddr,
        place: Place,
    ) -> impl Future<Output = ()> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        async move { inner.take_in(Arrival::hear_messages(messages, from).await, from, place).await }
    }

    /// Shows and trusts these from now on, for connections made later. Present ones go on; but sessions that began with
    /// a certificate which is not trusted any more end.
    ///
    /// # Errors
    /// They are of no use: nothing changed.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), SecurityError> {
        let tls = Tls::of_agent_port(self.inner.level, Some(credentials))?.map(Arc::new);
        let certifier = certifier(&*self.inner.host, credentials)?.map(Arc::new);
        *self.inner.certifier.lock().unwrap_or_else(PoisonError::into_inner) = certifier;
        self.inner.tls.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&tls);
        if let Some(tls) = tls {
            self.inner.end_distrusted(&tls);
        }
        Ok(())
    }

    /// All sessions.
    pub fn status(&self) -> Vec<SessionStatus> {
        let status = |entry: &Entry| {
            let session = entry.session.lock();
            SessionStatus {
                principal: session.grant().principal.clone(),
                agents: session.agents().map(|(_, aid)| aid.to_string()).collect(),
                connected: session.is_connected(),
            }
        };
        self.inner.sessions().values().map(status).collect()
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.inner.sessions().len()
    }

    /// What was refused so far, by reason.
    pub fn refusals(&self) -> &RefusalCounts {
        self.inner.guard.counts()
    }

    /// Says good-bye to all clients, and waits until that is written, for as long as this. Their agents end.
    pub fn close(self, at_most: Duration) {
        self.end_sessions();
        let Self { inner, threads, .. } = self;
        threads.end_when(at_most, || inner.sessions().is_empty());
    }

    /// Says good-bye to all clients, and does not wait. Who carries their connections has nothing to wait for afterwards.
    pub fn end_sessions(&self) {
        let now = self.inner.host.now();
        let sessions = self.inner.sessions();
        // Whoever holds the sessions sees it, or begins before they are gone through.
        self.inner.closing.store(true, Ordering::Relaxed);
        for entry in sessions.values() {
            entry.end(now, EndReason::Killed, stopping());
        }
    }
}

/// What certifies agents' keys with these credentials; nothing if they are not for that.
fn certifier(host: &dyn Host, credentials: &Credentials) -> Result<Option<AgentAuthority>, SecurityError> {
    let Some(node) = credentials.node()?.filter(|_| !credentials.agents_pem.is_empty()) else { return Ok(None) };
    let certifier = AgentAuthority::new(host.platform().as_str(), &node, credentials);
    certifier.map(Some).map_err(|error| SecurityError::Unfit(error.to_string()))
}

async fn accept(listener: TcpListener, inner: Arc<Inner>) {
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            // No more files, most likely: let some go first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Some(place) = inner.strangers.enter(from.ip()) else {
            inner.guard.refuse(&Refused::stranger(RefusalReason::TooMany, from.ip(), "too many say nothing"));
            continue;
        };
        let inner = Arc::clone(&inner);
        tokio::spawn(async move { inner.receive(socket, from, place).await });
    }
}

impl Inner {
    fn sessions(&self) -> MutexGuard<'_, FxHashMap<String, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears what a client says first on a socket.
    async fn receive(self: &Arc<Self>, socket: TcpStream, from: SocketAddr, place: Place) {
        let tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let arrived = Arrival::hear(socket, tls.as_deref()).await;
        self.take_in(arrived, from, place).await;
    }

    /// Gives a client's connection, which has `place` among newcomers until then, to a session, or closes it.
    async fn take_in(self: &Arc<Self>, arrived: Result<Arrival, NoHello>, from: SocketAddr, mut place: Place) {
        let mut arrival = match arrived {
            Ok(arrival) => arrival,
            Err(silly) => {
                self.note_closed(from, refusal::of_connection(&silly.why), &silly.why.to_string());
                return silly.say().await;
            }
        };
        match self.welcome(&mut arrival).await {
            Ok(door) => match door.put(Box::new(arrival)) {
                Ok(None) => {}
                Ok(Some(older)) => older.turn_away(taken_over()).await,
                Err(arrival) => arrival.turn_away(Fault::new(Code::SessionGone, "the session is over")).await,
            },
            Err(Rejected { fault, reason }) => {
                // Thousands may be sent elsewhere at once, and nothing is wrong with them.
                if fault.code != Code::Elsewhere {
                    self.note_closed(from, reason, &fault.text);
                }
                if reason == Some(RefusalReason::BadToken) {
                    match self.guard.slow_down(from.ip(), place).await {
                        Some(other) => place = other,
                        None => return,
                    }
                }
                arrival.turn_away(fault).await;
            }
        }
        drop(place);
    }

    /// A connection from there came to nothing: why, and whether that counts as refused.
    fn note_closed(&self, from: SocketAddr, reason: Option<RefusalReason>, why: &str) {
        let line = || format!("an agent's connection from {from} was closed: {why}");
        self.guard.close_stranger(from.ip(), reason, why, line);
    }

    /// Certifies the key of an agent that is here: its certificate and this node's, as PEM.
    fn certify(&self, agent: Symbol, request: &str) -> Result<String, Fault> {
        let certifier = self.certifier.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let certifier = certifier.ok_or_else(|| {
            Fault::new(Code::NotAllowed, "this node has no certificate with which it could certify agents")
        })?;
        let certificate = certifier.certify(agent.as_str(), request).map_err(|error| {
            let who = Principal::Session { name: agent, node: self.host.node() }.to_string();
            self.guard.refuse(&Refused::somebody(RefusalReason::BadCertificate, &who, &error.to_string()));
            Fault::new(Code::BadRequest, error.to_string())
        })?;
        if let Some(links) = &self.links {
            links.adopt(agent, &certificate, certifier.certificate());
        }
        Ok([&certificate, certifier.certificate()].map(|certificate| pem_of(certificate)).concat())
    }

    /// Lets a client in, if it may.
    async fn welcome(self: &Arc<Self>, arrival: &mut Arrival) -> Result<Arc<Door>, Rejected> {
        check_version(&arrival.hello)?;
        if let Some(node) = self.session_elsewhere(&arrival.hello) {
            let at = self.doors.of(node, arrival.carrier()).await;
            return Err(Fault::new(Code::Elsewhere, at).into());
        }
        self.examine(arrival).await?;
        Ok(self.admit(arrival)?)
    }

    /// The other node that has the session which a client wants to go on with, if that follows: its name says which.
    fn session_elsewhere<'a>(&self, hello: &'a Hello) -> Option<&'a str> {
        let (node, _) = hello.resume.as_ref().filter(|_| hello.follows)?.session.rsplit_once(SESSION_OF)?;
        (node != self.host.node().as_str() && self.host.has_neighbour(node)).then_some(node)
    }

    /// A name for a session, unlike any other, which says with which node it is.
    fn new_session_name(&self) -> Option<String> {
        Some(format!("{}{SESSION_OF}{}", self.host.node(), new_secret()?))
    }

    /// Has a client that shows a certificate in its hello prove that it is its own. Over TLS they are shown, and proven, before.
    async fn examine(&self, arrival: &mut Arrival) -> Result<(), Rejected> {
        let (None, Some(pem)) = (&arrival.hello.resume, &arrival.hello.certificate) else { return Ok(()) };
        let Some(places) = arrival.places().map(<[String]>::to_vec) else { return Ok(()) };
        let tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let shown = Shown::of(pem, tls.as_deref())?;
        let challenge = new_secret().ok_or_else(|| Fault::new(Code::Busy, "no random numbers are to be had"))?;
        let signature = arrival.challenge(&challenge).await.map_err(|error| Rejected::unheard(&error))?;
        shown.check(&places, &challenge, &signature)?;
        arrival.shows(shown.chain, shown.identity);
        Ok(())
    }

    /// The session that a client may have, made if it is to be a new one.
    fn admit(self: &Arc<Self>, arrival: &Arrival) -> Result<Arc<Door>, Fault> {
        let hello = &arrival.hello;
        if let Some(resume) = &hello.resume {
            let sessions = self.sessions();
            let known = sessions.get(&resume.session).filter(|entry| entry.session.lock().knows(&resume.secret));
            let known = known.ok_or_else(|| Fault::new(Code::SessionGone, "there is no such session"))?;
            known.session.lock().note_attempt(hello)?;
            return Ok(Arc::clone(&known.door));
        }
        let certified: Vec<&str> = arrival.identity.iter().flat_map(Identity::sessions).collect();
        let is_certified = !certified.is_empty();
        let claim = Claim { token: hello.token.as_deref(), certified, address: arrival.from() };
        let Some(grant) = (self.authorise)(&claim) else {
            return Err(Fault::new(Code::Unauthorised, "no token or certificate that lets anybody in"));
        };
        let certificates = arrival.certificates().filter(|_| is_certified).map(<[_]>::to_vec);
        self.begin((grant.account.clone(), arrival.from().map(household)), grant, hello, certificates)
    }

    fn begin(
        self: &Arc<Self>,
        key: AccountKey,
        grant: Grant,
        hello: &Hello,
        certificates: Option<Vec<CertificateDer<'static>>>,
    ) -> Result<Arc<Door>, Fault> {
        let busy = |text: &str| Fault::new(Code::Busy, text);
        let (name, secret) =
            self.new_session_name().zip(new_secret()).ok_or_else(|| busy("no random numbers are to be had"))?;
        let account = self.account(key).ok_or_else(|| busy("there were too many clients"))?;
        let opening = Opening {
            session: name.clone(),
            secret,
            platform: self.host.platform(),
            grant: grant.narrowed(hello),
            shelf: Arc::clone(&self.shelf),
        };
        let mut sessions = self.sessions();
        if self.closing.load(Ordering::Relaxed) {
            return Err(stopping());
        }
        if sessions.len() >= SESSIONS_MAX {
            return Err(busy("the node has as many sessions as it may"));
        }
        if account.sessions.load(Ordering::Relaxed) >= SESSIONS_PER_ACCOUNT_MAX {
            return Err(busy(
                "there are as many sessions with this token or certificate from this address as there may be",
            ));
        }
        account.sessions.fetch_add(1, Ordering::Relaxed);
        let door = Arc::new(Door::default());
        let notified = Arc::clone(&door);
        let session = Session::new(opening, self.host.now());
        let session = Arc::new(SharedSession::new(session, move || notified.wake.notify_one()));
        let entry = Entry { session: Arc::clone(&session), door: Arc::clone(&door), certificates };
        sessions.insert(name, entry);
        tokio::spawn(task::run(Arc::clone(self), session, account, Arc::clone(&door)));
        Ok(door)
    }

    fn account(&self, key: AccountKey) -> Option<Arc<Account>> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= SESSION_ACCOUNTS_MAX && !accounts.contains_key(&key) {
            forget_idle(&mut accounts);
            if accounts.len() >= SESSION_ACCOUNTS_MAX {
                return None;
            }
        }
        Some(Arc::clone(accounts.entry(key).or_default()))
    }

    /// An account's session made names, so many bytes of them: whether that is more than may be.
    fn is_too_much_named(&self, account: &Account, bytes: u64) -> bool {
        if bytes == 0 {
            return false;
        }
        let own = account.name_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let all = self.name_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Whoever made few suffers for nobody else's, as long as the process can bear it at all.
        let shares = all > SESSIONS_NAME_BYTES_MAX && own > SESSION_NAME_BYTES_SPARE;
        own > SESSION_NAME_BYTES_MAX || shares || all > SESSIONS_NAME_BYTES_HARD_MAX
    }

    /// A session is over.
    fn strike_out(&self, name: &str, account: &Account) {
        let mut sessions = self.sessions();
        sessions.remove(name);
        account.sessions.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the sessions whose certificates are not trusted any more.
    fn end_distrusted(&self, tls: &Tls) {
        let now = self.host.now();
        let mut distrusted = Vec::new();
        for entry in self.sessions().values() {
            let Some(error) = entry.certificates.as_deref().and_then(|chain| tls.distrusts(chain)) else { continue };
            let why = format!("its certificate is not trusted any more: {error}");
            entry.end(now, EndReason::Failed(why.clone()), Fault::new(Code::Unauthorised, why.clone()));
            distrusted.push((entry.session.lock().grant().principal.clone(), refusal::of_tls(&error), why));
        }
        for (principal, reason, why) in distrusted {
            self.guard.say(&format!("a session of {principal} was ended: {why}"));
            let reason = reason.unwrap_or(RefusalReason::BadCertificate);
            self.guard.refuse(&Refused::somebody(reason, &format!("session:{principal}"), &why));
        }
    }
}

fn stopping() -> Fault {
    Fault::new(Code::Stopping, "the node stops")
}

/// What the client is told at the end of a connection that it made before another one.
fn taken_over() -> Fault {
    Fault::new(Code::TakenOver, "the session goes on over another connection")
}

/// A certificate as PEM (RFC 7468).
pub(crate) fn pem_of(certificate: &[u8]) -> String {
    let text = BASE64.encode(certificate);
    let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
}

/// Sixteen random bytes in hexadecimal digits.
fn new_secret() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}
