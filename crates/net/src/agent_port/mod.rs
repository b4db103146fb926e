//! Agent port: programs that are no nodes connect here, and have agents on this node. It has the sockets around
//! [`whimbrel_platform::session`].

mod arrival;
mod code;
mod proof;
mod session_ports;
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
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;
use whimbrel_acl::Symbol;
use whimbrel_platform::audit::{Auditor, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::connection_limit::{ConnectionLimit, ConnectionPlace, household};
use whimbrel_platform::limits::{
    SESSION_ACCOUNTS_MAX, SESSION_CODE_ADMISSIONS_MAX, SESSION_FRAME_BYTES_MORE, SESSION_NAME_BYTES_MAX,
    SESSION_NAME_BYTES_SPARE, SESSION_STRANGERS_EACH_MAX, SESSION_STRANGERS_MAX, SESSIONS_MAX,
    SESSIONS_NAME_BYTES_HARD_MAX, SESSIONS_NAME_BYTES_MAX, SESSIONS_PER_ACCOUNT_MAX,
};
use whimbrel_platform::policy::Principal;
use whimbrel_platform::session::{
    ErrorCode, ErrorFrame, HelloFrame, KeptAgents, Opening, Session, SessionFrame, SessionGrant, SessionHost,
    SessionLimits, SharedSession, check_version,
};
use whimbrel_platform::{EndReason, SocketIo, Time};

use self::arrival::{ClientArrival, NoHello};
use self::proof::{ClientCertificate, ClientRejection};
use self::session_ports::SessionPortCache;
pub use self::session_ports::{Carrier, FindSessionPorts, SessionPorts};
use self::task::SessionDriver;
pub use self::tokens::{AcceptedTokens, TokenError, TokenFile, new_token};
pub use self::wire::Messages;
use crate::authority::hex;
use crate::drivers::{OwnDrivers, SocketDrivers};
use crate::hub::HubView;
use crate::port_guard::PortGuard;
use crate::refusal;
use crate::security::{Credentials, Identity, LinkSecurity, SecurityError, Tls};
use crate::signing::AgentAuthority;
use crate::threads::Threads;

/// Claim of a client that wants to be admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Token in its hello.
    pub token: Option<&'a str>,
    /// Agents that its certificate names, and patterns of such names; the client is called as the first.
    pub certified: Vec<&'a str>,
    /// Address of the client.
    pub address: Option<IpAddr>,
}

/// Authorisation of clients: returns a grant, or `None` to refuse the client.
pub type Authorise = Box<dyn Fn(&Claim<'_>) -> Option<SessionGrant> + Send + Sync>;

/// Configuration of an agent port.
pub struct AgentPortConfig {
    /// Security level of connections: encrypted beyond [`LinkSecurity::Open`].
    pub level: LinkSecurity,
    /// Credentials of this node, if connections are secured. Agents' keys are certified with them, too.
    pub credentials: Option<Credentials>,
    /// Links of the node: other nodes learn of the certificates of agents here, and the links' drivers serve sessions,
    /// too.
    pub links: Option<HubView>,
    /// Finds the session ports of other nodes, if there may be other nodes.
    pub session_ports: Option<FindSessionPorts>,
    /// Authorisation of clients.
    pub authorise: Authorise,
    /// Recorder of refusals.
    pub auditor: Option<Arc<dyn Auditor>>,
    /// Log for operators.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

/// Error of opening an agent port.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentPortError {
    /// Threads cannot be started.
    #[error("cannot start the threads of the agent port")]
    Threads(#[source] io::Error),
    /// The credentials cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The address cannot be listened at.
    #[error("cannot listen for agents at {address}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
}

/// State of a session, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// Principal of the session.
    pub principal: String,
    /// Names of its agents.
    pub agents: Vec<String>,
    /// True while a client is connected.
    pub connected: bool,
}

/// Separator in the name of a session, after the name of its node.
const SESSION_OF: char = '.';

/// Key of an account: a token or certificate, and an address. Many strangers may share a token, as the visitors of a
/// page do; none of them may use up the quotas of the others.
type AccountKey = (String, Option<IpAddr>);

/// Counts of an account over all its sessions.
#[derive(Debug, Default)]
struct SessionAccount {
    /// Bytes of names that were new to this process.
    name_bytes: AtomicU64,
    /// Number of present sessions.
    sessions: AtomicU64,
}

/// Forgets half of the accounts without sessions, those with the fewest names first. So accounts of visitors who never
/// return take no room, and an account that made many names is remembered longest.
fn forget_idle(accounts: &mut FxHashMap<AccountKey, Arc<SessionAccount>>) {
    let idle = |account: &SessionAccount| account.sessions.load(Ordering::Relaxed) == 0;
    let names = |account: &SessionAccount| account.name_bytes.load(Ordering::Relaxed);
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

/// Arrivals for a session's task: the newest connection waits until the task takes it.
struct SessionArrivals<A = Box<ClientArrival>> {
    waiting: Mutex<PendingArrival<A>>,
    /// Woken when the session has work.
    wake: Arc<Notify>,
}

/// Arrival that a session's task has still to take.
enum PendingArrival<A> {
    None,
    Some(A),
    /// The task has ended. A connection that waited here would never be taken.
    Closed,
}

impl<A> Default for SessionArrivals<A> {
    fn default() -> Self {
        Self { waiting: Mutex::new(PendingArrival::None), wake: Arc::default() }
    }
}

impl<A> SessionArrivals<A> {
    /// Offers a connection to the task. Returns the older one, if the task did not take it.
    ///
    /// # Errors
    /// The task has ended: the connection is given back.
    fn put(&self, arrival: A) -> Result<Option<A>, A> {
        let mut waiting = self.lock();
        if matches!(*waiting, PendingArrival::Closed) {
            return Err(arrival);
        }
        let older = std::mem::replace(&mut *waiting, PendingArrival::Some(arrival));
        self.wake.notify_one();
        Ok(if let PendingArrival::Some(older) = older { Some(older) } else { None })
    }

    /// Takes the connection that waits.
    fn take(&self) -> Option<A> {
        let mut waiting = self.lock();
        match std::mem::replace(&mut *waiting, PendingArrival::None) {
            PendingArrival::Some(arrival) => Some(arrival),
            none => {
                *waiting = none;
                None
            }
        }
    }

    /// Takes no more arrivals: the connection that waits is closed.
    fn close(&self) {
        let waiting = std::mem::replace(&mut *self.lock(), PendingArrival::Closed);
        drop(waiting);
    }

    fn lock(&self) -> MutexGuard<'_, PendingArrival<A>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Session with the arrivals for its task.
struct SessionEntry {
    session: Arc<SharedSession>,
    arrivals: Arc<SessionArrivals>,
    /// Certificates of the client, if they name an agent of a session.
    certificates: Option<Vec<CertificateDer<'static>>>,
    task: AbortHandle,
}

impl SessionEntry {
    fn end(&self, now: Time, reason: EndReason, last: ErrorFrame) {
        self.session.lock().end(now, reason, SessionFrame::Error(last));
        self.arrivals.wake.notify_one();
    }
}

struct AgentPortState {
    host: Arc<dyn SessionHost>,
    authorise: Authorise,
    level: LinkSecurity,
    tls: Mutex<Option<Arc<Tls>>>,
    /// Authority that certifies agents' keys.
    certifier: Mutex<Option<Arc<AgentAuthority>>>,
    links: Option<HubView>,
    guard: Arc<PortGuard>,
    sessions: Mutex<FxHashMap<String, SessionEntry>>,
    accounts: Mutex<FxHashMap<AccountKey, Arc<SessionAccount>>>,
    /// Bytes of names that were new to this process, over all accounts.
    name_bytes: AtomicU64,
    strangers: Arc<ConnectionLimit>,
    /// True once sessions end and none begins.
    closing: AtomicBool,
    /// Agents that outlive their sessions.
    kept_agents: Arc<KeptAgents>,
    /// Permits for clients whose code is being searched or stored.
    admissions: Semaphore,
    /// Session ports of other nodes.
    session_ports: SessionPortCache,
    /// Drivers of the sessions' sockets.
    drivers: Arc<SocketDrivers>,
    /// Runtime for connections without a session, and for work that may take long.
    threads: Handle,
}

/// Owner of the sessions' tasks, which end when this is dropped.
struct SessionTasks(Arc<AgentPortState>);

impl Drop for SessionTasks {
    fn drop(&mut self) {
        self.0.sessions().values().for_each(|entry| entry.task.abort());
    }
}

/// Agent port of a node. Dropping it ends its sessions.
pub struct AgentPort {
    inner: Arc<AgentPortState>,
    limits: SessionLimits,
    address: String,
    /// Socket of a port that admits nobody yet.
    listener: Mutex<Option<TcpListener>>,
    threads: Threads,
    tasks: SessionTasks,
    /// Drivers of the sessions' sockets, if they are not those of links.
    own_drivers: Option<OwnDrivers>,
}

impl AgentPort {
    /// Opens a port at `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address cannot be listened at, threads cannot be started, or the credentials cannot be used.
    pub fn open(config: AgentPortConfig, host: Arc<dyn SessionHost>, address: &str) -> Result<Self, AgentPortError> {
        let port = Self::bind(config, host, address)?;
        port.admit();
        Ok(port)
    }

    /// Takes the address of a port that opens with [`admit`](Self::admit). Clients may connect, and wait until then.
    ///
    /// # Errors
    /// The address cannot be listened at, threads cannot be started, or the credentials cannot be used.
    pub fn bind(config: AgentPortConfig, host: Arc<dyn SessionHost>, address: &str) -> Result<Self, AgentPortError> {
        Self::begin(config, host, Some(address))
    }

    /// Opens a port without an address: connections are handed over to it.
    ///
    /// # Errors
    /// Threads cannot be started, or the credentials cannot be used.
    pub fn without_address(config: AgentPortConfig, host: Arc<dyn SessionHost>) -> Result<Self, AgentPortError> {
        Self::begin(config, host, None)
    }

    /// Sets the limits of sessions, which authorisation grants ([`SessionGrant::within`]).
    #[must_use]
    pub fn with_limits(mut self, limits: SessionLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the maximal length of any client's frame, in bytes.
    pub fn frame_bytes_max(&self) -> usize {
        self.limits.message_bytes as usize + SESSION_FRAME_BYTES_MORE
    }

    fn begin(
        config: AgentPortConfig,
        host: Arc<dyn SessionHost>,
        address: Option<&str>,
    ) -> Result<Self, AgentPortError> {
        let AgentPortConfig { level, credentials, links, session_ports, authorise, auditor, log } = config;
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
        let kept_agents = host.kept_agents();
        kept_agents.attach(&host);
        let (drivers, own_drivers) = match &links {
            Some(links) => (Arc::clone(links.drivers()), None),
            None => {
                let own = OwnDrivers::start(true).map_err(AgentPortError::Threads)?;
                (Arc::clone(own.drivers()), Some(own))
            }
        };
        let inner = Arc::new(AgentPortState {
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
            strangers: ConnectionLimit::of(SESSION_STRANGERS_MAX, SESSION_STRANGERS_EACH_MAX),
            closing: AtomicBool::new(false),
            kept_agents,
            admissions: Semaphore::new(SESSION_CODE_ADMISSIONS_MAX),
            session_ports: SessionPortCache::new(session_ports),
            drivers,
            threads: threads.handle().clone(),
        });
        threads.spawn(Arc::clone(&inner.guard).say_counts());
        let (tasks, listener) = (SessionTasks(Arc::clone(&inner)), Mutex::new(listener));
        Ok(Self { inner, limits: SessionLimits::default(), address, listener, threads, tasks, own_drivers })
    }

    /// Admits clients at the port's address, those first that came before.
    pub fn admit(&self) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            self.threads.spawn(accept(listener, Arc::clone(&self.inner)));
        }
    }

    /// Address of the port; empty if it does not listen.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the input and output of the sessions' sockets, for the node's workers to serve; `None` if its links have
    /// them.
    pub fn io(&self) -> Option<Arc<dyn SocketIo>> {
        Some(Arc::<SocketDrivers>::clone(self.own_drivers.as_ref()?.drivers()))
    }

    /// Returns the runtime of newcomers' connections, for callers that hand connections over.
    pub fn threads(&self) -> &tokio::runtime::Handle {
        self.threads.handle()
    }

    /// Takes a connection that was accepted elsewhere, as secure as that is. The future ends when the connection
    /// belongs to a session or is closed. Until then the connection has `place` among the newcomers of its listener.
    pub fn receive_messages(
        &self,
        messages: Box<dyn Messages>,
        from: SocketAddr,
        place: ConnectionPlace,
    ) -> impl Future<Output = ()> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        async move { inner.take_in(ClientArrival::hear_messages(messages, from).await, from, place).await }
    }

    /// Sets the credentials for later connections. Present connections stay; but sessions that began with a certificate
    /// that is no longer trusted end.
    ///
    /// # Errors
    /// The credentials cannot be used; nothing has changed.
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

    /// States of all sessions.
    pub fn status(&self) -> Vec<SessionStatus> {
        let status = |entry: &SessionEntry| {
            let session = entry.session.lock();
            SessionStatus {
                principal: session.grant().principal.clone(),
                agents: session.agents().map(|(_, aid)| aid.to_string()).collect(),
                connected: session.is_connected(),
            }
        };
        self.inner.sessions().values().map(status).collect()
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.inner.sessions().len()
    }

    /// Counts of refusals, by reason.
    pub fn refusals(&self) -> &RefusalCounts {
        self.inner.guard.counts()
    }

    /// Ends all sessions and waits until the good-byes are written, at most for this time. Agents of the sessions end.
    pub fn close(self, at_most: Duration) {
        self.end_sessions();
        let Self { inner, threads, tasks, own_drivers, .. } = self;
        threads.end_when(at_most, || inner.sessions().is_empty());
        drop((tasks, own_drivers));
    }

    /// Ends all sessions without waiting. Callers that hold the connections themselves have nothing to wait for
    /// afterwards.
    pub fn end_sessions(&self) {
        let now = self.inner.host.now();
        let sessions = self.inner.sessions();
        // A new session sees the flag, or is registered before this loop.
        self.inner.closing.store(true, Ordering::Relaxed);
        for entry in sessions.values() {
            entry.end(now, EndReason::Killed, stopping());
        }
    }
}

/// Makes the authority that certifies agents' keys; `None` if the credentials are not for that.
fn certifier(host: &dyn SessionHost, credentials: &Credentials) -> Result<Option<AgentAuthority>, SecurityError> {
    let Some(node) = credentials.node()?.filter(|_| !credentials.agents_pem.is_empty()) else { return Ok(None) };
    let certifier = AgentAuthority::new(host.platform().as_str(), &node, credentials);
    certifier.map(Some).map_err(|error| SecurityError::Unfit(error.to_string()))
}

async fn accept(listener: TcpListener, inner: Arc<AgentPortState>) {
    loop {
        let (socket, from, place) = inner.guard.accept(&listener, |from| inner.strangers.enter(from)).await;
        let inner = Arc::clone(&inner);
        tokio::spawn(async move { inner.receive(socket, from, place).await });
    }
}

impl AgentPortState {
    fn sessions(&self) -> MutexGuard<'_, FxHashMap<String, SessionEntry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears a client on a socket, and takes it in.
    async fn receive(self: &Arc<Self>, socket: TcpStream, from: SocketAddr, place: ConnectionPlace) {
        let tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let arrived = ClientArrival::hear(socket, tls.as_deref()).await;
        self.take_in(arrived, from, place).await;
    }

    /// Gives a client's connection to a session, or closes it. Until then the connection has `place` among newcomers.
    async fn take_in(
        self: &Arc<Self>,
        arrived: Result<ClientArrival, NoHello>,
        from: SocketAddr,
        mut place: ConnectionPlace,
    ) {
        let mut arrival = match arrived {
            Ok(arrival) => arrival,
            Err(silly) => {
                self.note_closed(from, refusal::of_connection(&silly.why), &silly.why.to_string());
                return silly.say().await;
            }
        };
        match self.welcome(&mut arrival).await {
            Ok(arrivals) => match arrivals.put(Box::new(arrival)) {
                Ok(None) => {}
                Ok(Some(older)) => older.turn_away(taken_over()).await,
                Err(arrival) => arrival.turn_away(ErrorFrame::new(ErrorCode::SessionGone, "the session is over")).await,
            },
            Err(ClientRejection { fault, reason }) => {
                // Thousands of clients may be sent elsewhere at once, and nothing is wrong with them.
                if fault.code != ErrorCode::Elsewhere {
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

    /// Records and logs that a connection was closed; counts it as refused, if there is a reason for that.
    fn note_closed(&self, from: SocketAddr, reason: Option<RefusalReason>, why: &str) {
        let line = || format!("agent port: connection from {from} closed: {why}");
        self.guard.close_stranger(from.ip(), reason, why, line);
    }

    /// Certifies the key of an agent of this node. Returns its certificate and the node's, as PEM.
    fn certify(&self, agent: Symbol, request: &str) -> Result<String, ErrorFrame> {
        let certifier = self.certifier.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let certifier = certifier.ok_or_else(|| {
            ErrorFrame::new(
                ErrorCode::NotAllowed,
                "this node cannot certify agents: it has no certificate for that (agents.pem)",
            )
        })?;
        let certificate = certifier.certify(agent.as_str(), request).map_err(|error| {
            let who = Principal::Session { name: agent, node: self.host.node() }.to_string();
            self.guard.refuse(&Refused::somebody(RefusalReason::BadCertificate, &who, &error.to_string()));
            ErrorFrame::new(ErrorCode::BadRequest, error.to_string())
        })?;
        if let Some(links) = &self.links {
            links.adopt(agent, &certificate, certifier.certificate());
        }
        Ok([&certificate, certifier.certificate()].map(|certificate| pem_of(certificate)).concat())
    }

    /// Admits a client, or says why not.
    async fn welcome(self: &Arc<Self>, arrival: &mut ClientArrival) -> Result<Arc<SessionArrivals>, ClientRejection> {
        check_version(&arrival.hello)?;
        if let Some(node) = self.session_elsewhere(&arrival.hello) {
            let at = self.session_ports.of(node, arrival.carrier()).await;
            return Err(ErrorFrame::new(ErrorCode::Elsewhere, at).into());
        }
        self.examine(arrival).await?;
        Ok(self.admit(arrival)?)
    }

    /// Returns the other node that has the session which a client wants to resume, by the name of the session.
    fn session_elsewhere<'a>(&self, hello: &'a HelloFrame) -> Option<&'a str> {
        let (node, _) = hello.resume.as_ref().filter(|_| hello.follows)?.session.rsplit_once(SESSION_OF)?;
        (node != self.host.node().as_str() && self.host.has_neighbour(node)).then_some(node)
    }

    /// Makes a unique name for a session. The name begins with that of this node.
    fn new_session_name(&self) -> Option<String> {
        Some(format!("{}{SESSION_OF}{}", self.host.node(), new_secret()?))
    }

    /// Has a client prove that it owns the certificate in its hello. Over TLS, the handshake has proved that already.
    async fn examine(&self, arrival: &mut ClientArrival) -> Result<(), ClientRejection> {
        let (None, Some(pem)) = (&arrival.hello.resume, &arrival.hello.certificate) else { return Ok(()) };
        let Some(places) = arrival.places().map(<[String]>::to_vec) else { return Ok(()) };
        let tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let shown = ClientCertificate::of(pem, tls.as_deref())?;
        let challenge =
            new_secret().ok_or_else(|| ErrorFrame::new(ErrorCode::Busy, "the system has no random numbers"))?;
        let signature = arrival.challenge(&challenge).await.map_err(|error| ClientRejection::unheard(&error))?;
        shown.check(&places, &challenge, &signature)?;
        arrival.shows(shown.chain, shown.identity);
        Ok(())
    }

    /// Returns the arrivals for the task of the session that a client resumes, or of a new one.
    fn admit(self: &Arc<Self>, arrival: &ClientArrival) -> Result<Arc<SessionArrivals>, ErrorFrame> {
        let hello = &arrival.hello;
        if let Some(resume) = &hello.resume {
            let sessions = self.sessions();
            let known = sessions.get(&resume.session).filter(|entry| entry.session.lock().knows(&resume.secret));
            let known = known.ok_or_else(|| ErrorFrame::new(ErrorCode::SessionGone, "there is no such session"))?;
            known.session.lock().note_attempt(hello)?;
            return Ok(Arc::clone(&known.arrivals));
        }
        let certified: Vec<&str> = arrival.identity.iter().flat_map(Identity::sessions).collect();
        let is_certified = !certified.is_empty();
        let claim = Claim { token: hello.token.as_deref(), certified, address: arrival.from() };
        let Some(grant) = (self.authorise)(&claim) else {
            return Err(ErrorFrame::new(ErrorCode::Unauthorised, "no accepted token or certificate"));
        };
        let certificates = arrival.certificates().filter(|_| is_certified).map(<[_]>::to_vec);
        self.begin((grant.account.clone(), arrival.from().map(household)), grant, arrival, certificates)
    }

    fn begin(
        self: &Arc<Self>,
        key: AccountKey,
        grant: SessionGrant,
        arrival: &ClientArrival,
        certificates: Option<Vec<CertificateDer<'static>>>,
    ) -> Result<Arc<SessionArrivals>, ErrorFrame> {
        let busy = |text: &str| ErrorFrame::new(ErrorCode::Busy, text);
        let (name, secret) =
            self.new_session_name().zip(new_secret()).ok_or_else(|| busy("the system has no random numbers"))?;
        let account = self.account(key).ok_or_else(|| busy("too many clients: try again later"))?;
        let opening = Opening {
            session: name.clone(),
            secret,
            platform: self.host.platform(),
            grant: grant.narrowed(&arrival.hello),
            kept_agents: Arc::clone(&self.kept_agents),
        };
        let mut sessions = self.sessions();
        if self.closing.load(Ordering::Relaxed) {
            return Err(stopping());
        }
        if sessions.len() >= SESSIONS_MAX {
            return Err(busy("the node has its maximum of sessions: try again later"));
        }
        if account.sessions.load(Ordering::Relaxed) >= SESSIONS_PER_ACCOUNT_MAX {
            return Err(busy("this token or certificate has its maximum of sessions from this address: end one"));
        }
        account.sessions.fetch_add(1, Ordering::Relaxed);
        let arrivals = Arc::new(SessionArrivals::default());
        let wake = Arc::clone(&arrivals.wake);
        let driver = self.drivers.for_session().filter(|_| arrival.wire.is_movable()).cloned();
        let waker = driver.clone();
        let notify = move || match &waker {
            Some(driver) => driver.wake(&wake),
            None => wake.notify_one(),
        };
        let session = Arc::new(SharedSession::new(Session::new(opening, self.host.now()), notify));
        let at = driver.as_ref().map(|driver| SessionDriver::new(Arc::clone(driver), &self.drivers));
        let run = task::run(Arc::clone(self), Arc::clone(&session), account, Arc::clone(&arrivals), at);
        let task = match driver {
            Some(driver) => driver.spawn(run),
            None => self.threads.spawn(run).abort_handle(),
        };
        sessions.insert(name, SessionEntry { session, arrivals: Arc::clone(&arrivals), certificates, task });
        Ok(arrivals)
    }

    fn account(&self, key: AccountKey) -> Option<Arc<SessionAccount>> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= SESSION_ACCOUNTS_MAX && !accounts.contains_key(&key) {
            forget_idle(&mut accounts);
            if accounts.len() >= SESSION_ACCOUNTS_MAX {
                return None;
            }
        }
        Some(Arc::clone(accounts.entry(key).or_default()))
    }

    /// Counts new names of an account's session. Returns true if the account has too many.
    fn is_too_much_named(&self, account: &SessionAccount, bytes: u64) -> bool {
        if bytes == 0 {
            return false;
        }
        let own = account.name_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let all = self.name_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // An account with few names does not suffer for others, as long as the process has room.
        let shares = all > SESSIONS_NAME_BYTES_MAX && own > SESSION_NAME_BYTES_SPARE;
        own > SESSION_NAME_BYTES_MAX || shares || all > SESSIONS_NAME_BYTES_HARD_MAX
    }

    /// Removes a session that has ended.
    fn strike_out(&self, name: &str, account: &SessionAccount) {
        let mut sessions = self.sessions();
        sessions.remove(name);
        account.sessions.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the sessions whose certificates are no longer trusted.
    fn end_distrusted(&self, tls: &Tls) {
        let now = self.host.now();
        let mut distrusted = Vec::new();
        for entry in self.sessions().values() {
            let Some(error) = entry.certificates.as_deref().and_then(|chain| tls.distrusts(chain)) else { continue };
            let why = format!("certificate no longer trusted: {error}");
            entry.end(now, EndReason::Failed(why.clone()), ErrorFrame::new(ErrorCode::Unauthorised, why.clone()));
            distrusted.push((entry.session.lock().grant().principal.clone(), refusal::of_tls(&error), why));
        }
        for (principal, reason, why) in distrusted {
            self.guard.say(&format!("session of {principal} ended: {why}"));
            let reason = reason.unwrap_or(RefusalReason::BadCertificate);
            self.guard.refuse(&Refused::somebody(reason, &format!("session:{principal}"), &why));
        }
    }
}

fn stopping() -> ErrorFrame {
    ErrorFrame::new(ErrorCode::Stopping, "the node stops")
}

/// Makes the error frame that closes a client's older connection.
fn taken_over() -> ErrorFrame {
    ErrorFrame::new(ErrorCode::TakenOver, "the session was resumed over another connection")
}

/// Encodes a certificate as PEM (RFC 7468).
pub(crate) fn pem_of(certificate: &[u8]) -> String {
    let text = BASE64.encode(certificate);
    let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
}

/// Makes sixteen random bytes, in hexadecimal digits.
fn new_secret() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}
