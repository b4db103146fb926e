//! Door for A2A: the shell around the tasks of clients.

mod answer;
mod request;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::routing::{any, get};
use ring::rand::{SecureRandom, SystemRandom};
use rustc_hash::FxHashMap;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use whimbrel_acl::{AclMessage, Aid, NameAllowance, Symbol, sym};
use whimbrel_interop::a2a::{
    A2aError, A2aErrorKind, Moment, ProxyBody, ProxyPort, ServerOutput, TaskIds, TaskServer, TaskUpdate, WatchId,
};
use whimbrel_interop::society::SocietyPort;
use whimbrel_platform::Time;
use whimbrel_platform::connection_limit::ConnectionLimit;
use whimbrel_platform::limits::{
    A2A_LISTED_AGENTS_MAX, A2A_NAMES_BYTES_MAX, A2A_STREAM_EVENTS_MAX, A2A_STREAMS_EACH_MAX, A2A_STREAMS_MAX,
};
use whimbrel_platform::policy::Pattern;
use whimbrel_platform::services::CreateError;

use crate::doors::door_clients::DoorTokens;
use crate::shared::GatewayState;

/// Longest pause between two looks at the timers.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Names tried for an agent that stands for a client, if others have the first.
const NAMES_TRIED_MAX: u32 = 16;

/// Returns the routes of A2A. They are not in the OpenAPI document: A2A has documents of its own.
pub(crate) fn routes() -> Router<Arc<GatewayState>> {
    Router::new()
        .route("/.well-known/agent-card.json", get(request::root_card))
        .route("/a2a/{*path}", any(request::serve))
}

/// Configuration of the door.
pub struct A2aConfig {
    /// Port to the society.
    pub society: Arc<dyn SocietyPort>,
    /// Agents that are published, by names and patterns.
    pub published: Vec<Pattern>,
    /// Tokens of clients, each with the client's name. Without any, clients of this machine need none.
    pub tokens: Vec<(String, String)>,
}

/// Update for a client, or why there is none.
type Told = Result<Arc<TaskUpdate>, A2aError>;

/// Door for A2A of a node.
pub(crate) struct A2aDoor {
    society: Arc<dyn SocietyPort>,
    published: Vec<Pattern>,
    tokens: DoorTokens,
    desk: Mutex<TaskDesk>,
    /// Wakes the timer when an earlier moment is due.
    earlier: Arc<Notify>,
    random: SystemRandom,
    streams: Arc<ConnectionLimit>,
    /// Bytes of new names that clients may still make the process keep.
    names_left: AtomicU64,
    began_ms: u64,
    /// True if clients connect over TLS.
    is_encrypted: bool,
    me: Weak<Self>,
}

/// Tasks, and those who wait for their updates.
struct TaskDesk {
    server: TaskServer,
    watchers: FxHashMap<WatchId, mpsc::Sender<(Told, bool)>>,
    /// Time for which the timer is set.
    due: Option<Time>,
}

impl A2aDoor {
    /// Opens the door; its timer runs on `runtime`.
    pub fn open(config: A2aConfig, is_encrypted: bool, runtime: &Handle) -> (Arc<Self>, AbortHandle) {
        let A2aConfig { society, published, tokens } = config;
        let began_ms = society.services().wall_clock_ms();
        let node = society.services().node();
        let desk = TaskDesk { server: TaskServer::default(), watchers: FxHashMap::default(), due: None };
        let door = Arc::new_cyclic(|me| Self {
            society,
            published,
            tokens: DoorTokens::of(&tokens, node),
            desk: Mutex::new(desk),
            earlier: Arc::default(),
            random: SystemRandom::new(),
            streams: ConnectionLimit::of(A2A_STREAMS_MAX, A2A_STREAMS_EACH_MAX),
            names_left: AtomicU64::new(A2A_NAMES_BYTES_MAX),
            began_ms,
            is_encrypted,
            me: me.clone(),
        });
        let timer = runtime.spawn(keep_time(Arc::downgrade(&door))).abort_handle();
        (door, timer)
    }

    fn desk(&self) -> MutexGuard<'_, TaskDesk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moment(&self) -> Moment {
        let services = self.society.services();
        Moment { now: services.now(), wall_ms: services.wall_clock_ms() }
    }

    /// Works on the tasks, and carries out what follows.
    fn act<T>(&self, work: impl FnOnce(&mut TaskDesk, Moment) -> T) -> T {
        let at = self.moment();
        let mut desk = self.desk();
        let result = work(&mut desk, at);
        let mut messages: Vec<Box<AclMessage>> = Vec::new();
        while let Some(output) = desk.server.poll_output() {
            match output {
                ServerOutput::Acl(message) => messages.push(message),
                ServerOutput::Update { watch, update, is_last } => desk.tell(watch, update, is_last),
            }
        }
        let due = desk.server.poll_timeout();
        if due.is_some_and(|due| desk.due.is_none_or(|set| due < set)) {
            desk.due = due;
            self.earlier.notify_one();
        }
        drop(desk);
        messages.into_iter().for_each(|message| self.society.send(message));
        result
    }

    /// Returns random numbers for new identifiers.
    fn ids(&self) -> Result<TaskIds, A2aError> {
        let mut bytes = [0; 32];
        let none = |_| A2aError::new(A2aErrorKind::Internal, "the system has no random numbers");
        self.random.fill(&mut bytes).map_err(none)?;
        let (task, context) = bytes.split_at(16);
        let number = |half: &[u8]| half.iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
        Ok(TaskIds { task: number(task), context: number(context) })
    }

    /// Reads what may contain new names, as many as clients may still have.
    fn with_names<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = Symbol::bytes_made_here();
        let allowance = NameAllowance::new(self.names_left.load(Ordering::Relaxed));
        let result = read();
        drop(allowance);
        let made = Symbol::bytes_made_here() - before;
        if made > 0 {
            let less = |left: u64| Some(left.saturating_sub(made));
            let _ = self.names_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
        result
    }

    /// Returns the published agent of this name.
    fn agent(&self, name: &str) -> Option<Aid> {
        if name != sym::DF.as_str() && !self.is_published(name) {
            return None;
        }
        let aid = Aid::local(Symbol::known(name)?);
        self.society.services().exists(aid).then_some(aid)
    }

    fn is_published(&self, name: &str) -> bool {
        self.published.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns the name of the only agent that is published, if there are no others and no patterns.
    fn only_agent(&self) -> Option<&str> {
        match self.published.as_slice() {
            [only] if !only.as_str().contains('*') => Some(only.as_str()),
            _ => None,
        }
    }

    /// Returns the published agents that exist.
    fn published_agents(&self) -> Vec<Aid> {
        let agents = self.society.services().agents();
        let published = agents.into_iter().filter(|agent| self.is_published(agent.name.as_str()));
        published.take(A2A_LISTED_AGENTS_MAX).collect()
    }

    /// Starts the agent of this number, for a client of this name.
    fn start_proxy(&self, proxy: u32, client: &str) -> Result<Aid, String> {
        let node = self.society.services().node();
        let mut failed = String::new();
        for attempt in 0..NAMES_TRIED_MAX {
            let mut name = String::from("a2a_");
            for part in [client, if attempt == 0 { "" } else { node.as_str() }] {
                if !part.is_empty() {
                    name += part;
                    name.push('_');
                }
            }
            name += &(proxy + 1).to_string();
            if attempt > 1 {
                name += &format!("_{attempt}");
            }
            let port = Arc::new(DoorPort(self.me.clone()));
            match self.society.start(Symbol::new(&name), Box::new(ProxyBody::new(port, proxy))) {
                Ok(aid) => return Ok(aid),
                Err(error @ CreateError::NameTaken(_)) => failed = error.to_string(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(failed)
    }
}

impl TaskDesk {
    /// Passes an update on. A client that does not keep up loses its stream.
    fn tell(&mut self, watch: WatchId, update: Told, is_last: bool) {
        let Some(watcher) = self.watchers.get(&watch) else { return };
        let is_lost = watcher.try_send((update, is_last)).is_err();
        if is_lost || is_last {
            self.watchers.remove(&watch);
        }
        if is_lost {
            self.server.unwatch(watch);
        }
    }

    /// Returns the receiver of a watch's updates.
    fn watcher(&mut self, watch: WatchId) -> mpsc::Receiver<(Told, bool)> {
        let (sender, receiver) = mpsc::channel(A2A_STREAM_EVENTS_MAX);
        self.watchers.insert(watch, sender);
        receiver
    }
}

/// Port of the agents that stand for clients.
struct DoorPort(Weak<A2aDoor>);

impl ProxyPort for DoorPort {
    fn handle_message(&self, proxy: u32, message: Box<AclMessage>) {
        if let Some(door) = self.0.upgrade() {
            door.act(|desk, at| desk.server.handle_message(proxy, &message, at));
        }
    }

    fn handle_gone(&self, proxy: u32) {
        if let Some(door) = self.0.upgrade() {
            door.act(|desk, at| desk.server.handle_gone(proxy, at));
        }
    }

    fn describe(&self, proxy: u32) -> Option<(String, String, usize)> {
        self.0.upgrade()?.desk().server.describe(proxy)
    }
}

/// Lets time pass for the tasks.
async fn keep_time(door: Weak<A2aDoor>) {
    loop {
        let Some(there) = door.upgrade() else { return };
        let due = there.act(|desk, at| {
            desk.server.handle_timeout(at);
            desk.due = desk.server.poll_timeout();
            desk.due.map(|due| due - at.now)
        });
        let pause = due.unwrap_or(PAUSE_MAX).min(PAUSE_MAX);
        let earlier = Arc::clone(&there.earlier);
        drop(there);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = earlier.notified() => {}
        }
    }
}
