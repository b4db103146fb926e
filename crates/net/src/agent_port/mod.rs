//! The agent port: where programs that are no nodes connect, and have agents here. The sockets around
//! [`whimbrel_platform::session`].

mod arrival;
mod task;
mod tokens;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use rustc_hash::FxHashMap;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc};
use whimbrel_platform::EndReason;
use whimbrel_platform::audit::{Auditor, RefusalCounts, Refused};
use whimbrel_platform::limits::SESSIONS_MAX;
use whimbrel_platform::session::{
    Code, Fault, Frame, Grant, Hello, Host, Opening, Session, SharedSession, check_version,
};

use self::arrival::Arrival;
pub use self::tokens::{TokenError, Tokens, new_token};
use crate::authority::hex;
use crate::refusal;
use crate::security::{Credentials, Identity, Level, SecurityError, Tls};

/// Connections that have not said who they are yet, at most.
const STRANGERS_MAX: u64 = 256;
/// Principals whose figures are remembered after their sessions.
const ACCOUNTS_MAX: usize = 100_000;

/// What a client shows so that it is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The token in its hello.
    pub token: Option<&'a str>,
    /// The agent that its certificate names, if it showed one.
    pub certified: Option<&'a str>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
}

/// Who may come in, and with what: none if this one may not.
pub type Authorise = Box<dyn Fn(&Claim<'_>) -> Option<Grant> + Send + Sync>;

/// What an agent port is to be.
pub struct AgentPortConfig {
    /// How connections are secured: encrypted beyond [`Level::Open`].
    pub level: Level,
    /// What this node shows, if connections are secured.
    pub credentials: Option<Credentials>,
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

/// What is counted for each principal, over all its sessions.
#[derive(Debug, Default)]
struct Account {
    /// Bytes of names that were never heard before.
    name_bytes: AtomicU64,
}

/// A session, and how to reach its task.
struct Entry {
    session: Arc<SharedSession>,
    arrivals: mpsc::UnboundedSender<Box<Arrival>>,
    wake: Arc<Notify>,
}

struct Inner {
    host: Arc<dyn Host>,
    authorise: Authorise,
    level: Level,
    tls: Mutex<Option<Arc<Tls>>>,
    log: Box<dyn Fn(&str) + Send + Sync>,
    auditor: Option<Arc<dyn Auditor>>,
    refusals: RefusalCounts,
    sessions: Mutex<FxHashMap<String, Entry>>,
    accounts: Mutex<FxHashMap<String, Arc<Account>>>,
    strangers: AtomicU64,
}

/// See the module. Ends its sessions when it is dropped.
pub struct AgentPort {
    inner: Arc<Inner>,
    address: String,
    runtime: Option<Runtime>,
}

impl AgentPort {
    /// Opens a port at `address`; port 0 takes any free one.
    ///
    /// # Errors
    /// The address is not to be had, threads are not, or the credentials are of no use.
    pub fn open(config: AgentPortConfig, host: Arc<dyn Host>, address: &str) -> Result<Self, AgentPortError> {
        let AgentPortConfig { level, credentials, authorise, auditor, log } = config;
        let tls = Mutex::new(Tls::of_agent_port(level, credentials.as_ref())?.map(Arc::new));
        let threads = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4));
        let mut building = tokio::runtime::Builder::new_multi_thread();
        let runtime = building.worker_threads(threads).thread_name("whimbrel-agents").enable_all().build();
        let runtime = runtime.map_err(AgentPortError::Threads)?;
        let failed = |source| AgentPortError::Listen { address: address.to_owned(), source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        let address = listener.local_addr().map_or_else(|_| address.to_owned(), |address| address.to_string());
        let inner = Arc::new(Inner {
            host,
            authorise,
            level,
            tls,
            log,
            auditor,
            refusals: RefusalCounts::default(),
            sessions: Mutex::default(),
            accounts: Mutex::default(),
            strangers: AtomicU64::new(0),
        });
        runtime.spawn(accept(listener, Arc::clone(&inner)));
        Ok(Self { inner, address, runtime: Some(runtime) })
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Shows and trusts these from now on, for connections made later; present ones go on.
    ///
    /// # Errors
    /// They are of no use: nothing changed.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), SecurityError> {
        let tls = Tls::of_agent_port(self.inner.level, Some(credentials))?.map(Arc::new);
        *self.inner.tls.lock().unwrap_or_else(PoisonError::into_inner) = tls;
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

    /// What was refused so far, by reason.
    pub fn refusals(&self) -> &RefusalCounts {
        &self.inner.refusals
    }

    /// Says good-bye to all clients, and waits until that is written, for as long as this. Their agents end.
    pub fn close(mut self, at_most: Duration) {
        for entry in self.inner.sessions().values() {
            let stopping = Frame::Error(Fault::new(Code::Stopping, "the node stops"));
            entry.session.lock().end(EndReason::Killed, stopping);
            entry.wake.notify_one();
        }
        let until = Instant::now() + at_most;
        while !self.inner.sessions().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(100));
        }
    }
}

impl Drop for AgentPort {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn accept(listener: TcpListener, inner: Arc<Inner>) {
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            // No more files, most likely: let some go first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        if inner.strangers.fetch_add(1, Ordering::Relaxed) >= STRANGERS_MAX {
            inner.strangers.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let inner = Arc::clone(&inner);
        tokio::spawn(async move {
            inner.receive(socket, from).await;
            inner.strangers.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

impl Inner {
    fn sessions(&self) -> MutexGuard<'_, FxHashMap<String, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears what a client says first, and gives its connection to a session, or closes it.
    async fn receive(self: &Arc<Self>, socket: TcpStream, from: SocketAddr) {
        let tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (reason, why) = match Arrival::hear(socket, tls.as_deref()).await {
            Err(error) => (refusal::of_connection(&error), error.to_string()),
            Ok(arrival) => match self.admit(&arrival) {
                Ok(arrivals) => {
                    // If its task ended just now, the connection is dropped with the channel.
                    let _ = arrivals.send(Box::new(arrival));
                    return;
                }
                Err(fault) => {
                    let seen = (refusal::of_fault(&fault), fault.to_string());
                    arrival.turn_away(fault).await;
                    seen
                }
            },
        };
        (self.log)(&format!("an agent's connection from {from} was closed: {why}"));
        if let Some(reason) = reason {
            self.refuse(&Refused::somebody(reason, &from.to_string(), &why));
        }
    }

    /// Counts and records a refusal.
    fn refuse(&self, what: &Refused<'_>) {
        self.refusals.count(what.reason);
        if let Some(auditor) = &self.auditor {
            auditor.refused(what);
        }
    }

    /// The session that a client may have, made if it is to be a new one.
    fn admit(self: &Arc<Self>, arrival: &Arrival) -> Result<mpsc::UnboundedSender<Box<Arrival>>, Fault> {
        let hello = &arrival.hello;
        check_version(hello)?;
        if let Some(resume) = &hello.resume {
            let sessions = self.sessions();
            let known = sessions.get(&resume.session).filter(|entry| entry.session.lock().knows(&resume.secret));
            let known = known.map(|entry| entry.arrivals.clone());
            return known.ok_or_else(|| Fault::new(Code::SessionGone, "there is no such session"));
        }
        let certified = arrival.identity.as_ref().and_then(Identity::session);
        let claim = Claim { token: hello.token.as_deref(), certified, address: arrival.from() };
        let Some(grant) = (self.authorise)(&claim) else {
            return Err(Fault::new(Code::Unauthorised, "no token or certificate that lets anybody in"));
        };
        self.begin(grant, hello)
    }

    fn begin(self: &Arc<Self>, grant: Grant, hello: &Hello) -> Result<mpsc::UnboundedSender<Box<Arrival>>, Fault> {
        let busy = |text: &str| Fault::new(Code::Busy, text);
        let (name, secret) = new_secret().zip(new_secret()).ok_or_else(|| busy("no random numbers are to be had"))?;
        let account = self.account(&grant.principal).ok_or_else(|| busy("there were too many clients"))?;
        let opening =
            Opening { session: name.clone(), secret, platform: self.host.platform(), grant: grant.narrowed(hello) };
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS_MAX {
            return Err(busy("the node has as many sessions as it may"));
        }
        let wake = Arc::new(Notify::new());
        let (arrivals, coming) = mpsc::unbounded_channel();
        let notified = Arc::clone(&wake);
        let session = Session::new(opening, self.host.now());
        let session = Arc::new(SharedSession::new(session, move || notified.notify_one()));
        let entry = Entry { session: Arc::clone(&session), arrivals: arrivals.clone(), wake: Arc::clone(&wake) };
        sessions.insert(name, entry);
        tokio::spawn(task::run(Arc::clone(self), session, account, wake, coming));
        Ok(arrivals)
    }

    fn account(&self, principal: &str) -> Option<Arc<Account>> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= ACCOUNTS_MAX && !accounts.contains_key(principal) {
            return None;
        }
        Some(Arc::clone(accounts.entry(principal.to_owned()).or_default()))
    }

    /// A session is over.
    fn strike_out(&self, name: &str) {
        self.sessions().remove(name);
    }
}

/// Sixteen random bytes in hexadecimal digits.
fn new_secret() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}
