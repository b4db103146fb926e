//! Hub of a node: its listener, and its links to all peers.

mod acceptor;
mod links;
mod names;
mod news;
mod status;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tokio::net::TcpListener;
use whimbrel_acl::{Encoding, Envelope};
use whimbrel_platform::audit::{Auditor, Party, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::limits::{LINK_GIVE_UP_MS, LINK_NAME_BYTES_MAX, NODE_NAME_BYTES_MAX};
use whimbrel_platform::link::Speaker;
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::{Links, Station};

pub(crate) use self::acceptor::close;
pub use self::status::{HubView, LinkStatus};
use crate::authority::is_node_name;
use crate::certified::Certified;
use crate::drivers::{DriverUse, OwnDrivers, SocketDrivers};
use crate::peer::Peer;
use crate::peers::Peers;
use crate::port_guard::PortGuard;
use crate::security::{Credentials, LinkSecurity, SecurityError, Tls};
use crate::signing::{AgentCertificateError, Evidence, Signing};
use crate::strangers::Strangers;
use crate::threads::Threads;

/// Configuration of a hub.
pub struct HubConfig {
    /// Name of the platform.
    pub platform: String,
    /// Unique name of this node.
    pub node: String,
    /// Random number that identifies this process.
    pub incarnation: u64,
    /// Secret that peers must show, if there is one.
    pub token: Option<String>,
    /// Security level of links.
    pub level: LinkSecurity,
    /// Credentials of this node, if links are secured.
    pub credentials: Option<Credentials>,
    /// Store of evidence of signed messages, if evidence is kept.
    pub evidence: Option<Arc<Evidence>>,
    /// Encoding of sent messages; each peer names its own for the messages that it sends.
    pub encoding: Encoding,
    /// Time without a connection after which a peer counts as lost.
    pub patience: Duration,
    /// Maximal number of bytes of names that each peer may make this node keep.
    pub name_bytes_max: u64,
    /// Recorder of refusals.
    pub auditor: Option<Arc<dyn Auditor>>,
    /// Log for operators.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

impl HubConfig {
    /// Makes a configuration for a node of this platform.
    pub fn new(platform: impl Into<String>, node: impl Into<String>, incarnation: u64) -> Self {
        Self {
            platform: platform.into(),
            node: node.into(),
            incarnation,
            token: None,
            level: LinkSecurity::Open,
            credentials: None,
            evidence: None,
            encoding: Encoding::Compact,
            patience: Duration::from_millis(LINK_GIVE_UP_MS),
            name_bytes_max: LINK_NAME_BYTES_MAX,
            auditor: None,
            log: Box::new(|_| ()),
        }
    }
}

/// Error of a hub.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// Threads cannot be started.
    #[error("cannot start the network threads")]
    Threads(#[source] io::Error),
    /// The credentials cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// Agents cannot be certified, so that they cannot sign.
    #[error(transparent)]
    Signing(#[from] AgentCertificateError),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// The name of the node is empty, too long, or has characters that names do not allow.
    #[error("{0:?} cannot name a node: letters, digits, `-`, `_` and `.`, at most {NODE_NAME_BYTES_MAX}")]
    BadName(String),
}

/// State of a hub, shared by its owner, its links and the scheduler.
pub(crate) struct HubState {
    pub me: Speaker,
    pub station: Arc<dyn Station>,
    pub level: LinkSecurity,
    tls: Mutex<Option<Arc<Tls>>>,
    /// Certificates of the current credentials, for operators.
    certified: Mutex<Certified>,
    /// Signs sent messages and verifies received ones, at the level that requires it.
    pub signing: Option<Signing>,
    /// Number of changes of the TLS configuration.
    pub tls_changes: AtomicU64,
    pub encoding: Encoding,
    pub patience: Duration,
    name_bytes_max: u64,
    pub guard: Arc<PortGuard>,
    pub peers: Peers,
    by_name: Mutex<FxHashMap<String, NodeId>>,
    strangers: Strangers,
    /// Drivers; each has some of the links.
    drivers: Arc<SocketDrivers>,
    /// Workers attend as long as the hub lives.
    _used: DriverUse,
}

/// Hub of a node. Dropping it ends its links.
pub struct Hub {
    inner: Arc<HubState>,
    /// Threads for connections of strangers.
    threads: Threads,
    drivers: OwnDrivers,
}

impl Hub {
    /// Starts a hub without peers. With `listen`, others can connect there; port 0 takes any free port.
    ///
    /// # Errors
    /// The name is invalid, the address cannot be listened at, or threads cannot be started.
    pub fn start(config: HubConfig, station: Arc<dyn Station>, listen: Option<&str>) -> Result<Self, HubError> {
        let HubConfig {
            platform,
            node,
            incarnation,
            token,
            level,
            credentials,
            evidence,
            encoding,
            patience,
            name_bytes_max,
            auditor,
            log,
        } = config;
        check_name(&node)?;
        let tls = Mutex::new(Tls::new(level, credentials.as_ref())?.map(Arc::new));
        let certified = Mutex::new(credentials.as_ref().map(Certified::of).unwrap_or_default());
        let signing = match credentials.as_ref().filter(|_| level == LinkSecurity::Signed) {
            Some(credentials) => Some(Signing::new(&platform, &node, incarnation, credentials, evidence)?),
            None => None,
        };
        let threads = Threads::start(1, "whimbrel-net").map_err(HubError::Threads)?;
        let listener = listen.map(|address| {
            let failed = |source| HubError::Listen { address: address.to_owned(), source };
            threads.block_on(TcpListener::bind(address)).map_err(failed)
        });
        let listener = listener.transpose()?;
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok()).map(|addr| addr.to_string());
        // Signing takes longer than an agent should wait for its turn.
        let drivers = OwnDrivers::start(signing.is_none()).map_err(HubError::Threads)?;
        let inner = Arc::new(HubState {
            me: Speaker { platform, node, incarnation, address, token },
            station,
            level,
            tls,
            certified,
            signing,
            tls_changes: AtomicU64::new(0),
            encoding,
            patience,
            name_bytes_max,
            guard: PortGuard::new(auditor, log),
            peers: Peers::default(),
            by_name: Mutex::default(),
            strangers: Strangers::default(),
            drivers: Arc::clone(drivers.drivers()),
            _used: drivers.drivers().used(),
        });
        if let Some(listener) = listener {
            threads.spawn(acceptor::accept(listener, Arc::clone(&inner)));
        }
        threads.spawn(Arc::clone(&inner.guard).say_counts());
        Ok(Self { inner, threads, drivers })
    }

    /// Address at which this node listens, if it does.
    pub fn address(&self) -> Option<&str> {
        self.inner.me.address.as_deref()
    }

    /// Links of the hub, for the scheduler.
    pub fn links(&self) -> Arc<dyn Links> {
        Arc::clone(&self.inner) as Arc<dyn Links>
    }

    /// Connects to the node that listens at an address, now and whenever the connection breaks. Returns its number.
    pub fn connect(&self, address: &str) -> NodeId {
        self.inner.dial(address, None)
    }

    /// Connects to the node of this name that listens at an address. The node may be known already. Returns its number.
    pub fn connect_to(&self, node: &str, address: &str) -> NodeId {
        self.inner.dial(address, Some(node))
    }

    /// Forgets lost nodes that are not in this list: no node connects to them any more. One that comes back counts as a
    /// new node.
    pub fn forget_lost_but(&self, nodes: &[(String, String)]) {
        for peer in self.inner.peers.known().there() {
            let is_one = peer.name.get().is_none_or(|name| nodes.iter().any(|(node, _)| node == name));
            if !is_one && peer.is_lost() {
                peer.leave();
            }
        }
    }

    /// Returns the number of a node that will connect later. Messages for its agents wait until then.
    pub fn expect(&self, node: &str) -> NodeId {
        self.inner.peer_named(node, false).id
    }

    /// Sets the credentials of later connections. Present connections stay, unless their peers are no longer trusted.
    ///
    /// # Errors
    /// The credentials cannot be used; nothing has changed.
    pub fn set_credentials(&self, credentials: &Credentials) -> Result<(), SecurityError> {
        let tls = Tls::new(self.inner.level, Some(credentials))?.map(Arc::new);
        if let Some(signing) = &self.inner.signing {
            signing.set_credentials(credentials)?;
        }
        *self.inner.tls.lock().unwrap_or_else(PoisonError::into_inner) = tls;
        *self.inner.certified.lock().unwrap_or_else(PoisonError::into_inner) = Certified::of(credentials);
        self.inner.tls_changes.fetch_add(1, Ordering::Release);
        self.inner.peers.known().there().for_each(|peer| peer.wake.notify_one());
        Ok(())
    }

    /// Counts of refusals on links and connections, by reason.
    pub fn refusals(&self) -> &RefusalCounts {
        self.inner.guard.counts()
    }

    /// Returns the number of messages that were refused because their senders were not agents of the sending nodes.
    pub fn forged(&self) -> u64 {
        self.inner.guard.counts().of(RefusalReason::Forged)
    }

    /// States of all links.
    pub fn status(&self) -> Vec<LinkStatus> {
        self.inner.status()
    }

    /// Returns a view of the links for parties other than the hub's owner, such as operators.
    pub fn view(&self) -> HubView {
        HubView(Arc::clone(&self.inner))
    }

    /// Returns the reason for which a node that this one connects to refuses it, if one does.
    pub fn refusal(&self) -> Option<String> {
        self.inner.peers.known().all().find_map(|peer| peer.refused.get().cloned())
    }

    /// Obstacles to connecting: the reason why something at a peer's address is no node; and the last failure of a
    /// connection, before any has succeeded.
    pub fn obstacle(&self) -> (Option<String>, Option<String>) {
        let known = self.inner.peers.known();
        let no_node = known.all().find_map(|peer| peer.no_node.get().cloned());
        let complaint = |peer: &Arc<Peer>| peer.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (no_node, known.all().map(complaint).find(|complaint| !complaint.is_empty()))
    }

    /// Returns true if every peer ever known has left, or refused this node. A peer that was lost, or forgotten, may
    /// come back.
    pub fn is_alone(&self) -> bool {
        self.inner.peers.is_alone()
    }

    /// Sends to this channel, which replaces the former one, whenever this node is [alone](Self::is_alone).
    pub fn when_alone(&self, tell: Option<std::sync::mpsc::Sender<()>>) {
        self.inner.peers.when_alone(tell);
    }

    /// Returns true if at least this many links are connected.
    pub fn has_links(&self, count: usize) -> bool {
        self.inner.peers.known().there().filter(|peer| peer.up.load(Ordering::Acquire)).count() >= count
    }

    /// Leaves the platform: writes all waiting messages and a good-bye on every link. Waits for that at most for this
    /// time.
    pub fn leave(self, at_most: Duration) {
        let Self { inner, threads, drivers } = self;
        inner.peers.known().there().for_each(|peer| peer.leave());
        threads.end_when(at_most, || !inner.peers.known().there().any(|peer| peer.up.load(Ordering::Acquire)));
        drop(drivers);
    }
}

fn check_name(node: &str) -> Result<(), HubError> {
    if !is_node_name(node) {
        return Err(HubError::BadName(node.to_owned()));
    }
    Ok(())
}

impl HubState {
    /// Counts and records that a party was refused altogether.
    pub fn refuse(&self, reason: RefusalReason, who: Party<'_>, detail: &str) {
        self.guard.refuse(&Refused { reason, who, action: None, object: "", detail });
    }

    /// Counts, records and logs that a message of a known node was refused.
    pub fn refuse_message(&self, reason: RefusalReason, node: &str, envelope: &Envelope, why: &str) {
        let (sender, to) = (envelope.body.sender.to_string(), envelope.to.to_string());
        let (who, detail) = (format!("node:{node}"), format!("sender {sender}"));
        let party = Party::named(&who);
        let what = Refused { reason, who: party, action: Some(Action::Send), object: &to, detail: &detail };
        self.guard.refuse_and_say(&what, || format!("link to {node}: refused a message to {to}: {why}"));
    }

    /// Returns the TLS configuration of later links.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
