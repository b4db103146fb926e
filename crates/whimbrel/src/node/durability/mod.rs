//! A society that outlives its processes. In a folder its store is this process's alone; in NATS it is a cluster's
//! (docs/design/cluster.md).

mod links;
mod local;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use whimbrel_platform::cluster::{ClusterTerms, LEVEL, Nonce};
use whimbrel_platform::durable::Layout;
use whimbrel_platform::limits::{PROGRAM_NAME_BYTES_MAX, PROGRAMS_COMPARED_MAX};
use whimbrel_platform::store::{Coord, Journal, StoreError};
use whimbrel_runtime::{Platform, PlatformBuilder, RecoverError, erase};
use whimbrel_store::{Embedded, OpenOptions};

use self::links::default_address;
use self::local::SocietyNode;
use super::membership::{LinkOptions, Membership};
use super::{Notes, credentials};
use crate::Society;
use crate::cluster::weight::Weighing;
use crate::cluster::{self, ClusterHandle, ClusterView, Forget, Joined};

/// The folder beside a project in which its society is kept.
const FOLDER: &str = ".whimbrel";
/// Default time in which an owner may be silent.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest time for a leaving node to hand over its partitions.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(30);

/// A store: a folder, or an engine.
trait JournalStore: Journal + Coord {}
impl<S: Journal + Coord> JournalStore for S {}

/// A store, and this process's part in the society there.
pub struct Durability {
    cluster: ClusterHandle,
    place: String,
    /// Address at which others reach this node, if it is one of several.
    listen: Option<String>,
    /// The society had ended before this process began.
    over: Arc<AtomicBool>,
}

/// Store of a society, and this node's part in its cluster.
#[derive(Clone, Debug, Default)]
pub struct DurabilityOptions {
    /// Folder, or address of NATS (`nats://HOST:PORT/NAME`).
    pub store: String,
    /// Name of the project: all nodes run the same.
    pub project: String,
    /// True to forget what is kept, and begin anew.
    pub fresh: bool,
    /// True to serve nothing while another node does that is no standby.
    pub standby: bool,
    /// Share of the work beside other nodes; measured if nothing is said.
    pub weight: Option<u32>,
    /// Release that other nodes are written for; the present one if nothing is said.
    pub level: Option<u32>,
    /// Labels of this node, which agents can ask for.
    pub labels: Vec<String>,
    /// Time without a sign of life after which a node counts as dead.
    pub takeover: Option<Duration>,
}

impl Durability {
    /// Opens the society's store, asks to be let in, and gives the platform to be what is in the store. `None` if this
    /// process is to end before: `ends_within` waits for so long, and returns true then.
    ///
    /// # Errors
    /// The store cannot be opened, or its nodes do not let this one in.
    pub fn begin(
        options: &DurabilityOptions,
        links: &LinkOptions,
        society: &Society,
        builder: PlatformBuilder,
        ends_within: impl Fn(Duration) -> bool,
        notes: &Notes,
    ) -> anyhow::Result<Option<(Self, PlatformBuilder)>> {
        let place = options.store.clone();
        if let Some((agent, _)) = society.lifetimes().next() {
            anyhow::bail!("{agent} has a `lifetime`, which agents of durable societies cannot have: remove it");
        }
        let on_engine = place.contains("://");
        let listen = match &links.listen {
            _ if !on_engine => None,
            Some(listen) => Some(listen.clone()),
            None => Some(default_address(&place)?),
        };
        let store = open(&place, on_engine, options.takeover.unwrap_or(PATIENCE), notes)?;
        // In a folder all agents live in one process, whatever the project says of nodes.
        let layout = match on_engine {
            true => society.layout(store.partitions())?,
            false => Layout::from(store.partitions()),
        };
        let terms = ClusterTerms {
            name: asked_name(links, on_engine)?,
            ..terms(options, links, society, on_engine, layout.clone())
        };
        let told = notes.clone();
        let note = move |text: &str| told.news(text);
        let coord: Arc<dyn Coord> = Arc::clone(&store) as _;
        let weighing = (on_engine && options.weight.is_none()).then(Weighing::begin);
        let joined = ClusterHandle::join(coord, terms, weighing, forget(&store), ends_within, note);
        match joined.with_context(|| format!("cannot run the society stored in {}", shown(&place)))? {
            Joined::In(cluster) => {
                let durability = Self { cluster, place, listen, over: Arc::default() };
                Ok(Some((durability, builder.clustered_by(store as _, layout))))
            }
            Joined::Interrupted => Ok(None),
        }
    }

    /// Returns the address to listen at for other nodes, if there may be any.
    pub fn listen(&self) -> Option<&str> {
        self.listen.as_deref()
    }

    /// Returns whether no other node may serve the society.
    pub fn is_alone(&self) -> bool {
        self.listen.is_none()
    }

    /// This node's name.
    pub fn node(&self) -> &str {
        &self.cluster.name
    }

    /// Returns the secret of links between nodes.
    pub fn token(&self) -> &str {
        &self.cluster.token
    }

    /// Begins to serve, on this platform, linked with other nodes as a member of theirs.
    pub fn serve(&self, platform: &Platform, society: Society, membership: Option<&Membership>, notes: &Notes) {
        let dialler = membership.map(Membership::dialler);
        let local = SocietyNode::new(platform, society, dialler, &self.place, notes, &self.over);
        let address = membership.and_then(Membership::address);
        platform.moved_by(Arc::new(self.cluster.view()));
        self.cluster.begin(address.as_deref().unwrap_or_default(), Arc::new(local));
    }

    /// Returns the nodes, as this one sees them.
    pub fn view(&self) -> ClusterView {
        self.cluster.view()
    }

    /// Ends this node's part after its platform stopped. If the society ended itself, its store is emptied.
    pub fn end(self, platform: &Platform) {
        self.cluster.end(platform.has_concluded() || self.over.load(Ordering::Acquire));
    }
}

/// Hands over to other nodes, if there are any, what this one serves.
pub fn hand_over(view: &ClusterView) {
    view.hand_over(HAND_OVER_PATIENCE);
}

/// Returns the name that is asked for, else the one in the node's certificate, if any.
fn asked_name(links: &LinkOptions, on_engine: bool) -> anyhow::Result<Option<String>> {
    let folder = links.credentials.as_deref().filter(|_| on_engine && links.name.is_none());
    let Some(folder) = folder else { return Ok(links.name.clone()) };
    Ok(credentials::read(folder)?.node()?)
}

fn terms(
    options: &DurabilityOptions,
    links: &LinkOptions,
    society: &Society,
    on_engine: bool,
    layout: Layout,
) -> ClusterTerms {
    let random = cluster::random;
    let token = links.token.clone().unwrap_or_else(|| format!("{:016x}{:016x}", random(), random()));
    ClusterTerms {
        me: Nonce(random()),
        name: None,
        level: options.level.unwrap_or(LEVEL),
        weight: options.weight.unwrap_or(1),
        standby: options.standby,
        fresh: options.fresh,
        alone: !on_engine,
        patience: options.takeover.unwrap_or(PATIENCE),
        project: options.project.clone(),
        programs: compared(society.programs()),
        token,
        process: cluster::this_process(),
        layout,
        labels: options.labels.clone(),
    }
}

/// Returns the programs that nodes compare: as many as have room in the society's key.
fn compared(programs: BTreeMap<String, String>) -> BTreeMap<String, String> {
    programs.into_iter().take(PROGRAMS_COMPARED_MAX).filter(|(file, _)| file.len() <= PROGRAM_NAME_BYTES_MAX).collect()
}

fn forget(store: &Arc<dyn JournalStore>) -> Forget {
    let journal: Arc<dyn Journal> = Arc::clone(store) as _;
    Box::new(move |epoch| {
        erase(&*journal, epoch).map_err(|error| match error {
            RecoverError::Store(error) => error,
            other => StoreError::Away(other.to_string()),
        })
    })
}

/// Returns a store's address without its password.
fn shown(place: &str) -> String {
    #[cfg(feature = "nats")]
    let place = &whimbrel_store::nats::without_password(place);
    place.to_string()
}

fn open(place: &str, on_engine: bool, patience: Duration, notes: &Notes) -> anyhow::Result<Arc<dyn JournalStore>> {
    if on_engine {
        return open_engine(place, patience);
    }
    let store = Embedded::open(place, &OpenOptions::default());
    let store = store.with_context(|| format!("cannot store the society in {place}"))?;
    notes.exposed(store.found().exposed.as_deref());
    Ok(Arc::new(store))
}

/// Requests to an engine that can get no answer before a node is taken for dead.
#[cfg(feature = "nats")]
const TRIES: u32 = 3;

#[cfg(feature = "nats")]
fn open_engine(place: &str, patience: Duration) -> anyhow::Result<Arc<dyn JournalStore>> {
    use whimbrel_store::nats::{EngineOptions, Nats};
    let usual = EngineOptions::default();
    // Whose request got lost is to have tried again before others take this node for dead.
    let request_timeout = usual.request_timeout.min(patience / TRIES);
    let options = EngineOptions { partitions: cluster::ENGINE_PARTITIONS, request_timeout, ..usual };
    Ok(Arc::new(Nats::connect(place, options)?))
}

#[cfg(not(feature = "nats"))]
fn open_engine(_place: &str, _: Duration) -> anyhow::Result<Arc<dyn JournalStore>> {
    anyhow::bail!("cannot store the society in NATS: {}", crate::build_parts::NATS_ABSENT)
}

/// Returns the folder of a society's store if nothing else is said: beside its file.
pub fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    file.parent().unwrap_or(Path::new("")).join(FOLDER).join(stem)
}
