//! Door for MCP: the shell around the calls of clients.

mod belief_resources;
mod call;
mod listen;
mod post;
mod seal;
mod sessions;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use ring::rand::{SecureRandom, SystemRandom};
use rustc_hash::FxHashMap;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::AbortHandle;
use whimbrel_acl::{AclMessage, Aid, NameAllowance, Symbol};
use whimbrel_interop::mcp::{
    CallEvent, CallId, CallMoment, CallOutput, CallProxyBody, CallProxyPort, CallServer, McpError, McpOffer,
    results::ServerIdentity,
};
use whimbrel_interop::society::SocietyPort;
use whimbrel_platform::Time;
use whimbrel_platform::connection_limit::ConnectionLimit;
use whimbrel_platform::df::DfDescription;
use whimbrel_platform::limits::{
    MCP_NAMES_BYTES_MAX, MCP_STREAM_EVENTS_MAX, MCP_STREAMS_EACH_MAX, MCP_STREAMS_MAX, MCP_WATCH_INTERVAL_MS,
};
use whimbrel_platform::policy::Pattern;
use whimbrel_platform::services::{CreateError, LogLevel};

use self::post::serve;
use self::seal::StateSeal;
use self::sessions::McpSessions;
use super::door_clients::DoorTokens;
use super::event_stream::ms;
use crate::shared::GatewayState;

/// Returns the route of the door.
pub(crate) fn routes() -> Router<Arc<GatewayState>> {
    Router::new().route("/mcp", get(serve).post(serve).delete(serve))
}

/// Longest pause between two looks at the timers.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Names tried for an agent that stands for a client, if others have the first.
const NAMES_TRIED_MAX: u32 = 16;
/// Age at which the known offer is compared with the DF.
const OFFER_AGE: Duration = ms(20);

/// Configuration of the door.
pub struct McpConfig {
    /// Port to the society.
    pub society: Arc<dyn SocietyPort>,
    /// Agents, and services as `agent.service`, that are offered, by names and patterns.
    pub offered: Vec<Pattern>,
    /// Tokens of clients, each with the client's name. Without any, clients of this machine need none.
    pub tokens: Vec<(String, String)>,
}

/// Door for MCP of a node.
pub(crate) struct McpDoor {
    society: Arc<dyn SocietyPort>,
    offered: Vec<Pattern>,
    tokens: DoorTokens,
    desk: Mutex<CallDesk>,
    sessions: Mutex<McpSessions>,
    offer: Mutex<KnownOffer>,
    /// Offer for those who listen to changes.
    announced: watch::Sender<Arc<McpOffer>>,
    identity: ServerIdentity,
    seal: StateSeal,
    /// Wakes the timer when an earlier moment is due.
    earlier: Arc<Notify>,
    random: SystemRandom,
    streams: Arc<ConnectionLimit>,
    /// Bytes of new names that clients may still make the process keep.
    names_left: AtomicU64,
    me: Weak<Self>,
}

/// Calls, and those who wait for their events.
struct CallDesk {
    server: CallServer,
    sinks: FxHashMap<CallId, mpsc::Sender<CallEvent>>,
    /// Time for which the timer is set.
    due: Option<Time>,
}

/// Offer as it was when it was made.
struct KnownOffer {
    offer: Arc<McpOffer>,
    /// Revision of the DF.
    revision: Option<u64>,
    checked: Time,
}

impl McpDoor {
    /// Opens the door; its timers run on `runtime`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn open(config: McpConfig, runtime: &Handle) -> std::io::Result<(Arc<Self>, [AbortHandle; 2])> {
        let McpConfig { society, offered, tokens } = config;
        let none = |_| std::io::Error::other("the system has no random numbers");
        let seal = StateSeal::new().map_err(none)?;
        let (node, title) = (society.services().node(), society.services().platform().to_string());
        let desk = CallDesk { server: CallServer::default(), sinks: FxHashMap::default(), due: None };
        let door = Arc::new_cyclic(|me| Self {
            society,
            offered,
            tokens: DoorTokens::of(&tokens, node),
            desk: Mutex::new(desk),
            sessions: Mutex::default(),
            offer: Mutex::new(KnownOffer { offer: Arc::default(), revision: None, checked: Time(0) }),
            announced: watch::Sender::default(),
            identity: ServerIdentity { title, version: env!("CARGO_PKG_VERSION") },
            seal,
            earlier: Arc::default(),
            random: SystemRandom::new(),
            streams: ConnectionLimit::of(MCP_STREAMS_MAX, MCP_STREAMS_EACH_MAX),
            names_left: AtomicU64::new(MCP_NAMES_BYTES_MAX),
            me: me.clone(),
        });
        let timer = runtime.spawn(keep_time(Arc::downgrade(&door))).abort_handle();
        let announcing = runtime.spawn(announce(Arc::downgrade(&door))).abort_handle();
        Ok((door, [timer, announcing]))
    }

    fn desk(&self) -> MutexGuard<'_, CallDesk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, McpSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moment(&self) -> CallMoment {
        let services = self.society.services();
        CallMoment { now: services.now(), wall_ms: services.wall_clock_ms() }
    }

    /// Works on the calls, and carries out what follows.
    fn act<T>(&self, work: impl FnOnce(&mut CallDesk, CallMoment) -> T) -> T {
        let at = self.moment();
        let mut desk = self.desk();
        let result = work(&mut desk, at);
        let mut messages: Vec<Box<AclMessage>> = Vec::new();
        while let Some(output) = desk.server.poll_output() {
            match output {
                CallOutput::Acl(message) => messages.push(message),
                CallOutput::Event(call, event) => desk.tell(call, event),
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

    /// Returns a random number that becomes an identifier nobody can guess.
    fn number(&self) -> Result<u128, McpError> {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes).map_err(|_| McpError::internal("the system has no random numbers"))?;
        Ok(u128::from_be_bytes(bytes))
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

    fn is_offered(&self, name: &str) -> bool {
        self.offered.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns what agents offer, as of some milliseconds ago at most.
    fn offer(&self) -> Arc<McpOffer> {
        let now = self.society.services().now();
        let mut known = self.offer.lock().unwrap_or_else(PoisonError::into_inner);
        if known.revision.is_none() || known.checked + OFFER_AGE <= now {
            self.renew(&mut known, now);
        }
        Arc::clone(&known.offer)
    }

    /// Returns what agents offer right now.
    fn newest_offer(&self) -> Arc<McpOffer> {
        let mut known = self.offer.lock().unwrap_or_else(PoisonError::into_inner);
        self.renew(&mut known, self.society.services().now());
        Arc::clone(&known.offer)
    }

    fn renew(&self, known: &mut KnownOffer, now: Time) {
        known.checked = now;
        let services = self.society.services();
        let Some(directory) = services.directory() else { return };
        let before = known.revision;
        let found = directory.with_df(|df| {
            df.handle_timeout(now);
            let revision = Some(df.revision());
            let entries = (revision != before)
                .then(|| df.entries_from(0, now).map(|(_, entry)| entry.clone()).collect::<Vec<DfDescription>>());
            (revision, entries)
        });
        let Some((revision, Some(entries))) = found else { return };
        let offer = McpOffer::of(&entries, &|name| self.is_offered(name));
        for why in offer.left_out.iter().filter(|why| !known.offer.left_out.contains(why)) {
            services.log(Aid::NOBODY, LogLevel::Warning, &format!("not offered over MCP: {why}"));
        }
        (known.revision, known.offer) = (revision, Arc::new(offer));
    }

    /// Starts the agent of this number, for a client of this name.
    fn start_proxy(&self, proxy: u32, client: &str) -> Result<Aid, String> {
        let node = self.society.services().node();
        let mut failed = String::new();
        for attempt in 0..NAMES_TRIED_MAX {
            let mut name = String::from("mcp_");
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
            let port = Arc::new(McpDoorPort(self.me.clone()));
            match self.society.start(Symbol::new(&name), Box::new(CallProxyBody::new(port, proxy))) {
                Ok(aid) => return Ok(aid),
                Err(error @ CreateError::NameTaken(_)) => failed = error.to_string(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(failed)
    }
}

impl CallDesk {
    /// Passes an event on. A client that does not keep up loses its stream, and with it the call.
    fn tell(&mut self, call: CallId, event: CallEvent) {
        let Some(sink) = self.sinks.get(&call) else { return };
        let is_over = matches!(event, CallEvent::Done(_));
        if sink.try_send(event).is_err() || is_over {
            self.sinks.remove(&call);
        }
    }

    /// Returns the receiver of a call's events.
    fn sink(&mut self, call: CallId) -> mpsc::Receiver<CallEvent> {
        let (sender, receiver) = mpsc::channel(MCP_STREAM_EVENTS_MAX);
        self.sinks.insert(call, sender);
        receiver
    }
}

/// Port of the agents that stand for clients.
struct McpDoorPort(Weak<McpDoor>);

impl CallProxyPort for McpDoorPort {
    fn handle_message(&self, proxy: u32, message: Box<AclMessage>) {
        if let Some(door) = self.0.upgrade() {
            door.act(|desk, at| desk.server.handle_message(proxy, &message, at));
        }
    }

    fn handle_gone(&self, proxy: u32) {
        if let Some(door) = self.0.upgrade() {
            door.act(|desk, _| desk.server.handle_gone(proxy));
        }
    }

    fn describe(&self, proxy: u32) -> Option<(String, String)> {
        self.0.upgrade()?.desk().server.describe(proxy)
    }
}

/// Lets time pass for the calls.
async fn keep_time(door: Weak<McpDoor>) {
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

/// Tells those who listen what agents offer, whenever that changes.
async fn announce(door: Weak<McpDoor>) {
    loop {
        tokio::time::sleep(ms(MCP_WATCH_INTERVAL_MS)).await;
        let Some(there) = door.upgrade() else { return };
        if there.announced.receiver_count() > 0 {
            let offer = there.newest_offer();
            there.announced.send_if_modified(|known| {
                let is_news = !Arc::ptr_eq(known, &offer);
                *known = offer;
                is_news
            });
        }
    }
}
