//! Hub of a node: its listener, and its links to all peers.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use rustls::pki_types::CertificateDer;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use whimbrel_acl::{Encoding, Envelope, Symbol};
use whimbrel_platform::ams::is_everywhere;
use whimbrel_platform::audit::{Auditor, Party, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::connection_limit::Place;
use whimbrel_platform::limits::{LINK_GIVE_UP_MS, LINK_NAME_BYTES_MAX, NODE_NAME_BYTES_MAX, NODES_MAX};
use whimbrel_platform::link::{Link, LinkError, Measured, Member, News, Speaker};
use whimbrel_platform::mobility::HopNews;
use whimbrel_platform::policy::Action;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::{Links, Station};

use crate::authority::is_node_name;
use crate::certified::Certified;
use crate::connection::{Accepted, LinkConnection};
use crate::driver::{Drivers, LinkDriver, cork};
use crate::peer::Peer;
use crate::peers::Peers;
use crate::port_guard::PortGuard;
use crate::refusal;
use crate::security::{Credentials, LinkSecurity, SecurityError, Tls};
use crate::signing::{AgentCertificateError, Evidence, Signing};
use crate::strangers::Strangers;
use crate::task;
use crate::threads::Threads;

/// Maximal number of threads that drive links while no worker does.
const DRIVERS_MAX: usize = 4;

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
    #[error("{0:?} cannot name a node: letters, digits, `-`, `_` and `.`, {NODE_NAME_BYTES_MAX} at most")]
    BadName(String),
}

/// State of a link, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Name of the peer, once it has connected.
    pub node: Option<String>,
    /// Address at which the peer listens, if it is known.
    pub address: Option<String>,
    /// True while the link is connected.
    pub up: bool,
    /// True if the peer left in good order: no message waits for it.
    pub left: bool,
    /// Number of connections so far.
    pub connections: u64,
    /// Number of messages that wait, unacknowledged ones included.
    pub waiting: u64,
    /// Number of received messages and updates, repeated ones included.
    pub items_in: u64,
    /// Number of sent messages and updates, repeated ones included.
    pub items_out: u64,
    /// Number of received bytes.
    pub bytes_in: u64,
    /// Number of sent bytes.
    pub bytes_out: u64,
    /// Smoothed round-trip time in microseconds, if it is known.
    pub round_trip_us: Option<u64>,
    /// Counts of faults that ended connections, by [`LinkError::reason`].
    pub faults: Vec<(&'static str, u64)>,
}

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
    drivers: Vec<Arc<LinkDriver>>,
}

/// Hub of a node. Dropping it ends its links.
pub struct Hub {
    inner: Arc<HubState>,
    /// Threads for connections of strangers.
    threads: Threads,
    drivers: Drivers,
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
        let drivers = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, DRIVERS_MAX));
        let drivers = Drivers::start(drivers).map_err(HubError::Threads)?;
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
            drivers: drivers.all(),
        });
        if let Some(listener) = listener {
            threads.spawn(accept(listener, Arc::clone(&inner)));
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

    /// Number of messages that were refused because their senders were not agents of the sending nodes.
    pub fn forged(&self) -> u64 {
        self.inner.guard.counts().of(RefusalReason::Forged)
    }

    /// States of all links.
    pub fn status(&self) -> Vec<LinkStatus> {
        self.inner.status()
    }

    /// View of the links for operators, for others than the hub's owner.
    pub fn view(&self) -> HubView {
        HubView(Arc::clone(&self.inner))
    }

    /// Reason for which a node that this one connects to refuses it, if one does.
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

    /// True if every peer ever known has left, or refused this node. A peer that was lost, or forgotten, may come back.
    pub fn is_alone(&self) -> bool {
        self.inner.peers.is_alone()
    }

    /// Sends to this channel, which replaces the former one, whenever this node is [alone](Self::is_alone).
    pub fn when_alone(&self, tell: Option<std::sync::mpsc::Sender<()>>) {
        self.inner.peers.when_alone(tell);
    }

    /// Returns true if at least so many links are connected.
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

/// View of a hub for operators. It may outlive the hub: then its links are down.
#[derive(Clone)]
pub struct HubView(Arc<HubState>);

impl HubView {
    /// Name of this node.
    pub fn node(&self) -> &str {
        &self.0.me.node
    }

    /// Address at which this node listens, if it does.
    pub fn address(&self) -> Option<&str> {
        self.0.me.address.as_deref()
    }

    /// Takes the certificate of an agent of this node that keeps its own key, in a connected program. At the level
    /// `signed`, other nodes hear of the certificate, and messages that the agent signed leave unchanged.
    pub fn adopt(&self, agent: Symbol, certificate: &CertificateDer<'static>, node: &CertificateDer<'static>) {
        let Some(signing) = &self.0.signing else { return };
        if let Some(news) = signing.signer.adopt(agent, certificate, node) {
            self.0.tell_all(news);
        }
    }

    /// Certificates that this node has and trusts, and those of at most so many of its agents.
    pub fn certified(&self, agents_max: usize) -> Certified {
        let mut certified = self.0.certified.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(signing) = &self.0.signing {
            signing.signer.tell_certificates(&mut certified, agents_max);
        }
        certified
    }

    /// Security level of links.
    pub fn level(&self) -> LinkSecurity {
        self.0.level
    }

    /// States of all links.
    pub fn status(&self) -> Vec<LinkStatus> {
        self.0.status()
    }
}

fn status_of(peer: &Peer) -> LinkStatus {
    let figure = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
    let figures = &peer.figures;
    LinkStatus {
        node: peer.name.get().cloned(),
        address: peer.address(),
        up: peer.up.load(Ordering::Acquire),
        left: peer.left.load(Ordering::Acquire),
        connections: figure(&figures.connections),
        waiting: peer.waiting() as u64,
        items_in: figure(&figures.items_in),
        items_out: figure(&figures.items_out),
        bytes_in: figure(&figures.bytes_in),
        bytes_out: figure(&figures.bytes_out),
        round_trip_us: Some(figure(&figures.round_trip_us)).filter(|us| *us > 0),
        faults: peer.faults.counts(),
    }
}

/// Writes an error to a peer, and closes its connection.
pub(crate) fn close(accepted: Accepted, why: &LinkError) {
    let refusal = why.refusal().unwrap_or_default();
    tokio::spawn(async move {
        let Accepted { connection, place, .. } = accepted;
        connection.close(&refusal).await;
        drop(place);
    });
}

fn check_name(node: &str) -> Result<(), HubError> {
    if !is_node_name(node) {
        return Err(HubError::BadName(node.to_owned()));
    }
    Ok(())
}

async fn accept(listener: TcpListener, inner: Arc<HubState>) {
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            // The process has no more file descriptors, most likely: wait until some are closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Some(place) = inner.place_for(from.ip()) else {
            inner.guard.refuse(&Refused::stranger(
                RefusalReason::TooMany,
                from.ip(),
                "too many connections without a hello",
            ));
            continue;
        };
        let inner = Arc::clone(&inner);
        tokio::spawn(async move {
            let welcomed = async {
                let mut connection = LinkConnection::accept(socket, inner.tls().as_deref()).await?;
                let hello = connection.hello().await?;
                io::Result::Ok(Accepted { connection, hello, place })
            };
            match welcomed.await {
                Ok(accepted) => inner.welcome(accepted),
                Err(error) => {
                    let (reason, why) = (refusal::of_connection(&error), error.to_string());
                    let line = || format!("connection from {from} closed: {why}");
                    inner.guard.close_stranger(from.ip(), reason, &why, line);
                }
            }
        });
    }
}

impl HubState {
    /// Takes a place for a stranger at this address, if there is one.
    fn place_for(&self, from: IpAddr) -> Option<Place> {
        self.strangers.enter(from, self.peers.is_known(from))
    }

    /// Gives a connection that a peer made to its link.
    fn welcome(self: &Arc<Self>, accepted: Accepted) {
        let name = accepted.hello.node.clone();
        // Check before anything is allocated for the peer, or taken from a link of that name: the peer may be nobody.
        if let Err(error) = self.me.admits(&accepted.hello) {
            if error.is_of_other_node() {
                // The peer looks for a node that left, or restarted under another name: no harm is meant.
                return close(accepted, &error);
            }
            let reason = crate::refusal::of_link(&error).unwrap_or(RefusalReason::Malformed);
            return self.turn_away(accepted, reason, &error);
        }
        let present = self.peers.known().there_count();
        if name == self.me.node {
            return self.turn_away(accepted, RefusalReason::Impostor, &LinkError::NameTaken(name));
        }
        if check_name(&name).is_err() || present >= NODES_MAX {
            let why = LinkError::Impostor("invalid node name, or too many nodes".to_owned());
            return self.turn_away(accepted, RefusalReason::Impostor, &why);
        }
        if let Some((reason, why)) = accepted.connection.contradicts(&name, self.level) {
            return self.turn_away(accepted, reason, &LinkError::Impostor(why));
        }
        // The link decides whether the connection is its own: it knows which process has the name.
        let _ = self.peer_named(&name, false).accepted.send(Box::new(accepted));
    }

    /// Writes an error to a peer that connected, and closes the connection.
    pub fn turn_away(self: &Arc<Self>, accepted: Accepted, reason: RefusalReason, error: &LinkError) {
        let why = match error {
            LinkError::Impostor(why) => why.clone(),
            other => other.to_string(),
        };
        // The node's name is not proven here, only the address is.
        let (from, port) = (accepted.from(), accepted.connection.peer_address());
        let node = accepted.hello.node.clone();
        let line = || format!("refused node {node:?} from {port}: {why}");
        self.guard.close_stranger(from, Some(reason), &format!("claimed node {node:?}: {why}"), line);
        if reason != RefusalReason::BadToken {
            return close(accepted, error);
        }
        let (inner, refusal) = (Arc::clone(self), error.refusal().unwrap_or_default());
        tokio::spawn(async move {
            let Accepted { connection, place, .. } = accepted;
            if let Some(_place) = inner.guard.slow_down(from, place).await {
                connection.close(&refusal).await;
            }
        });
    }

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

    fn status(&self) -> Vec<LinkStatus> {
        let known = self.peers.known();
        let names: FxHashSet<&String> = known.there().filter_map(|peer| peer.name.get()).collect();
        // Of ended peers, show those that said good-bye and did not come back.
        let is_shown = |peer: &Peer| {
            peer.left.load(Ordering::Acquire) && peer.name.get().is_some_and(|name| !names.contains(name))
        };
        let mut shown: Vec<&Arc<Peer>> = known.there().collect();
        shown.retain(|peer| !peer.ended.load(Ordering::Acquire) || peer.left.load(Ordering::Acquire));
        shown.extend(known.ended().filter(|peer| is_shown(peer)));
        shown.sort_unstable_by_key(|peer| peer.id);
        shown.into_iter().map(|peer| status_of(peer)).collect()
    }

    /// TLS configuration of later links.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn names(&self) -> std::sync::MutexGuard<'_, FxHashMap<String, NodeId>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn peer_of(&self, name: &str) -> Option<Arc<Peer>> {
        let id = self.names().get(name).copied()?;
        self.peer(id)
    }

    /// Returns the peer of this name, made if it is new.
    fn peer_named(self: &Arc<Self>, name: &str, dials: bool) -> Arc<Peer> {
        let mut names = self.names();
        if let Some(peer) = names.get(name).and_then(|id| self.peer(*id)) {
            return peer;
        }
        let peer = self.add(Some(name), None, dials);
        names.insert(name.to_owned(), peer.id);
        peer
    }

    /// Sets the name of a peer that was dialled. False if a peer of this name is present already, or the name is this
    /// node's.
    pub fn assign_name(&self, peer: &Peer, name: &str) -> bool {
        if peer.name.get().is_some_and(|known| known == name) {
            return true;
        }
        let mut names = self.names();
        if name == self.me.node || names.contains_key(name) || peer.name.set(name.to_owned()).is_err() {
            return false;
        }
        names.insert(name.to_owned(), peer.id);
        true
    }

    /// Connects to an address, unless the node is known already.
    fn dial(self: &Arc<Self>, address: &str, name: Option<&str>) -> NodeId {
        let is_it = |peer: &Peer| peer.name.get().is_none_or(|known| name.is_none_or(|name| name == known));
        let is_there = |peer: &Peer| {
            !peer.ended.load(Ordering::Acquire) && is_it(peer) && peer.address().is_some_and(|known| known == address)
        };
        let known = self.peers.known().there().find(|peer| is_there(peer)).map(|peer| peer.id);
        if let Some(peer) = known {
            return peer;
        }
        match name {
            None => self.add(None, Some(address), true).id,
            Some(name) => {
                let mut names = self.names();
                if let Some(peer) = names.get(name).and_then(|id| self.peer(*id)) {
                    peer.dial(address);
                    return peer.id;
                }
                let peer = self.add(Some(name), Some(address), true);
                names.insert(name.to_owned(), peer.id);
                peer.id
            }
        }
    }

    fn add(self: &Arc<Self>, name: Option<&str>, address: Option<&str>, dials: bool) -> Arc<Peer> {
        let (accepting, accepted) = mpsc::unbounded_channel();
        let peer = self.peers.add(|id| Peer::new(id, dials, accepting));
        // The peer is known before its task connects: a connection names its peer.
        if let Some(name) = name {
            let _ = peer.name.set(name.to_owned());
        }
        if let Some(address) = address {
            peer.listens_at(address.to_owned());
        }
        let seed = self.me.incarnation.rotate_left(17) ^ u64::from(peer.id.0);
        // Whether this end dials is in `Peer::dials`, since it may change.
        let mut link = Link::new(self.me.clone(), self.encoding, false, seed, self.station.now());
        link.set_patience(self.patience);
        link.set_name_bytes_max(self.name_bytes_max);
        if let Some(driver) = self.driver_of(peer.id) {
            driver.spawn(task::run(Arc::clone(self), Arc::clone(&peer), link, accepted));
        }
        peer
    }

    fn driver_of(&self, peer: NodeId) -> Option<&Arc<LinkDriver>> {
        self.drivers.get(peer.0 as usize % self.drivers.len().max(1))
    }

    /// Returns the driver that a shard's worker may drive; `None` if links take longer than an agent should wait for
    /// its turn.
    fn driver_for(&self, shard: ShardIndex) -> Option<&Arc<LinkDriver>> {
        self.drivers.get(usize::from(shard) % self.drivers.len().max(1)).filter(|_| self.signing.is_none())
    }

    /// Notes an arrival from this peer.
    pub fn note_came(&self, peer: &Peer) {
        if let Some(driver) = self.driver_of(peer.id) {
            driver.note_came();
        }
    }

    fn tell_peer(&self, peer: &Arc<Peer>, news: News) {
        if peer.tell(news) {
            self.wake(peer);
        }
    }

    /// Wakes the task of a link for new messages.
    fn wake(&self, peer: &Arc<Peer>) {
        match self.driver_of(peer.id) {
            Some(driver) => driver.wake(peer),
            None => peer.wake.notify_one(),
        }
    }

    fn peer(&self, id: NodeId) -> Option<Arc<Peer>> {
        self.peers.get(id)
    }

    /// Frees the name of a peer that is gone for good.
    pub fn strike_out(&self, peer: &Peer) {
        let mut names = self.names();
        if let Some(name) = peer.name.get().filter(|name| names.get(*name) == Some(&peer.id)) {
            if let Some(signing) = &self.signing {
                signing.verifier.forget_node(name);
            }
            names.remove(name);
        }
    }

    /// Handles news from a peer: about links, or for the scheduler.
    pub fn hear(self: &Arc<Self>, from: NodeId, news: News) {
        match news {
            News::Members(members) => {
                // Addresses that this node knows already are better than those in the news.
                let is_known = |node: &str| self.peer_of(node).is_some_and(|peer| peer.address().is_some());
                for Member { node, address } in members {
                    if node != self.me.node && !is_known(&node) {
                        self.dial(&address, Some(&node));
                    }
                }
            }
            News::Certificates { node, agents } => self.learn(from, &node, &agents),
            News::AgentEnded(name, reason) => {
                if let (Some(signing), Some(node)) = (&self.signing, self.name_of(from)) {
                    signing.verifier.end(&node, name.as_str());
                }
                self.station.hear(from, News::AgentEnded(name, reason));
            }
            News::Hop(HopNews::Departed(hop, to)) => {
                // From now on its new node certifies it.
                if let (Some(signing), Some(node)) = (&self.signing, self.name_of(from)) {
                    signing.verifier.forget(&node, hop.agent);
                }
                self.station.hear(from, News::Hop(HopNews::Departed(hop, to)));
            }
            news => match self.driver_of(from).and_then(|driver| driver.attendant()) {
                Some(shard) => self.station.hear_on_worker(shard, from, news),
                None => self.station.hear(from, news),
            },
        }
    }

    /// Takes the certificates of a node's agents, or logs why not.
    fn learn(&self, from: NodeId, node: &[u8], agents: &[Vec<u8>]) {
        let (Some(signing), Some(name)) = (&self.signing, self.name_of(from)) else { return };
        if let Err(error) = signing.verifier.learn(&name, node, agents) {
            let reason = match error {
                AgentCertificateError::TooMany(_) => RefusalReason::TooMany,
                _ => RefusalReason::BadCertificate,
            };
            let (who, why) = (format!("node:{name}"), error.to_string());
            let line = || format!("refused a certificate of an agent of {name}: {why}");
            self.guard.refuse_and_say(&Refused::somebody(reason, &who, &why), line);
        }
    }

    /// Signs messages and hands them to the link. Messages that cannot be signed do not leave.
    #[cold]
    fn send_signed(&self, signing: &Signing, peer: &Peer, batch: &mut Vec<Envelope>) -> bool {
        // The platform's own agents send from every shard, and their numbers must leave in order.
        let common = batch.iter().any(|envelope| is_everywhere(envelope.body.sender.name));
        let _turn = common.then(|| signing.turn());
        let mut signed = signing.signer.sign(batch, |news| self.tell_all(news));
        let unsigned = std::mem::take(&mut signed.unsigned);
        if !unsigned.is_empty() {
            self.guard.say(&format!("{} messages not sent: they cannot be signed", unsigned.len()));
            self.station.refuse_unsigned(unsigned);
        }
        peer.send(batch, |taken| signing.signer.record(&signed, taken))
    }

    /// Counts `peer` as present. Returns the peers that it should link with: all that were present before. So of any
    /// two nodes, the later one connects.
    pub fn enlist(&self, peer: &Peer) -> News {
        let _one_at_a_time = self.names();
        let known = self.peers.known();
        let others = known.there().filter(|other| other.id != peer.id);
        let there = others.filter(|other| other.up.load(Ordering::Acquire));
        let member = |other: &Arc<Peer>| Some(Member { node: other.name.get()?.clone(), address: other.address()? });
        let members = News::Members(there.filter_map(member).collect());
        peer.up.store(true, Ordering::Release);
        members
    }
}

impl Links for HubState {
    fn send(&self, to: NodeId, batch: &mut Vec<Envelope>, from: ShardIndex) -> usize {
        let Some(peer) = self.peer(to) else { return usize::MAX };
        let (taken, driver) = match &self.signing {
            None => (peer.send(batch, |_| ()), self.driver_of(to)),
            Some(signing) => (self.send_signed(signing, &peer, batch), None),
        };
        if !taken {
            return usize::MAX;
        }
        // Write at once, if this thread can: a woken thread has farther to go.
        if !driver.is_some_and(|driver| driver.poll_io(|| peer.wake.notify_one(), 1)) {
            peer.wake.notify_one();
        }
        // Written messages take no room any more.
        peer.room_for(from)
    }

    fn poll_io(&self, shard: ShardIndex) {
        if let Some(driver) = self.driver_for(shard) {
            driver.poll_io(|| (), 2);
        }
    }

    fn park_on_io(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        let Some(own) = self.driver_for(shard) else { return false };
        self.drivers.iter().filter(|driver| !Arc::ptr_eq(driver, own)).for_each(|driver| driver.flush());
        own.park_on_io(shard, at_most, begin)
    }

    fn cork(&self, gathers: bool) -> bool {
        // A node that signs does not drive.
        self.signing.is_none() && cork(gathers)
    }

    fn flush(&self, _shard: ShardIndex) {
        self.drivers.iter().for_each(|driver| driver.flush());
    }

    fn recall(&self, shard: ShardIndex) {
        if let Some(driver) = self.driver_for(shard) {
            driver.recall();
        }
    }

    fn go_on(&self) {
        for peer in self.peers.known().there() {
            if peer.no_room.swap(false, Ordering::AcqRel) {
                peer.wake.notify_one();
            }
        }
    }

    fn tell_all(&self, news: News) {
        if let (News::AgentEnded(name, _), Some(signing)) = (&news, &self.signing) {
            name.known().into_iter().for_each(|name| signing.signer.end(name));
        }
        for peer in self.peers.known().there() {
            self.tell_peer(peer, news.clone());
        }
    }

    fn tell(&self, to: NodeId, news: News) {
        if let (News::Hop(HopNews::Commit { hop, .. }), Some(signing)) = (&news, &self.signing) {
            signing.signer.forget(hop.agent);
        }
        if let Some(peer) = self.peer(to) {
            self.tell_peer(&peer, news);
        }
    }

    fn forward(&self, to: NodeId, batch: &mut Vec<Envelope>) {
        if let Some(peer) = self.peer(to) {
            peer.forward(batch);
            self.wake(&peer);
        }
    }

    fn measured(&self, node: NodeId) -> Measured {
        self.peer(node).map(|peer| peer.measured()).unwrap_or_default()
    }

    fn measure(&self, node: NodeId) {
        if let Some(peer) = self.peer(node) {
            peer.to_measure.store(true, Ordering::Release);
            peer.wake.notify_one();
        }
    }

    fn round_trip(&self, node: NodeId) -> Option<Duration> {
        let us = self.peer(node)?.figures.round_trip_us.load(Ordering::Relaxed);
        (us > 0).then(|| Duration::from_micros(us))
    }

    fn node_named(&self, name: &str) -> Option<NodeId> {
        self.peer_of(name).filter(|peer| peer.is_there()).map(|peer| peer.id)
    }

    fn nodes(&self) -> Vec<NodeId> {
        self.peers.known().there().filter(|peer| peer.is_there()).map(|peer| peer.id).collect()
    }

    fn waiting(&self) -> u64 {
        self.peers.known().there().map(|peer| peer.waiting() as u64).sum()
    }

    fn me(&self) -> String {
        self.me.node.clone()
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        self.peer(node)?.name.get().cloned()
    }
}
