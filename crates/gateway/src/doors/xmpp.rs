//! Connection to an XMPP server, by which agents of SPADE and this platform reach each other.
//!
//! One thread serves it. What it does with bytes is decided in `whimbrel_interop::xmpp`.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use whimbrel_acl::{Aid, Envelope, NameAllowance, Symbol, sym};
use whimbrel_interop::MessagePort;
use whimbrel_interop::xmpp::{ComponentEvent, ComponentState, Residents, XmppComponent, XmppEnd};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::limits::{
    XMPP_DEADLINE_MS, XMPP_NAME_BYTES_MAX, XMPP_OPEN_PATIENCE_MS, XMPP_PAUSE_MAX_MS, XMPP_PAUSE_MIN_MS,
    XMPP_QUEUED_MAX, XMPP_QUEUED_SOFT, XMPP_WRITTEN_BYTES_SOFT,
};
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{MessageTransport, Time};

const OPEN_PATIENCE: Duration = Duration::from_millis(XMPP_OPEN_PATIENCE_MS);
const PAUSE_MIN: Duration = Duration::from_millis(XMPP_PAUSE_MIN_MS);
const PAUSE_MAX: Duration = Duration::from_millis(XMPP_PAUSE_MAX_MS);
/// Interval at which received messages wait for room in the node.
const ROOM_EVERY: Duration = Duration::from_millis(2);
/// Shortest time between two lists of the node's agents.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// Interval at which messages are looked at that wait for a connection.
const EXPIRE_EVERY: Duration = Duration::from_millis(500);

/// Configuration of a connection to an XMPP server.
pub struct XmppConfig {
    /// Port to the node.
    pub node: Arc<dyn MessagePort>,
    /// Address of the server's port for components: `HOST:PORT`.
    pub server: String,
    /// Domain of the agents here.
    pub domain: String,
    /// Secret that the server expects from the component.
    pub secret: String,
}

/// Connection to an XMPP server. It is kept up until it is closed or dropped.
pub struct XmppDoor {
    state: Arc<XmppState>,
    thread: Option<JoinHandle<()>>,
}

/// Parts that the thread of a connection shares with the node.
struct XmppState {
    node: Arc<dyn MessagePort>,
    domain: String,
    outgoing: Mutex<WaitingStanzas>,
    /// Messages that are on their way back to the node.
    returning: AtomicU64,
    wake: Notify,
    closing: watch::Sender<bool>,
}

/// Messages that wait for the server, and those that found no room.
#[derive(Default)]
struct WaitingStanzas {
    queue: VecDeque<(Time, Envelope)>,
    refused: Vec<Envelope>,
}

impl XmppState {
    fn outgoing(&self) -> MutexGuard<'_, WaitingStanzas> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, level: LogLevel, text: &str) {
        self.node.services().log(Aid::local(sym::AMS), level, text);
    }

    /// Hands messages back to the node that did not arrive.
    fn give_up(&self, messages: Vec<Envelope>, why: DeadReason) {
        if !messages.is_empty() {
            self.node.give_up(messages, why);
        }
    }

    /// Gives up messages that found no room, and those that wait too long.
    fn expire(&self, all: bool) {
        let now = self.node.services().now();
        let mut outgoing = self.outgoing();
        let mut over = std::mem::take(&mut outgoing.refused);
        let is_over = |since: Time| all || since.0 + XMPP_DEADLINE_MS * 1_000 <= now.0;
        while outgoing.queue.front().is_some_and(|(since, _)| is_over(*since)) {
            over.extend(outgoing.queue.pop_front().map(|(_, message)| message));
        }
        self.returning.fetch_add(over.len() as u64, Ordering::Relaxed);
        drop(outgoing);
        let count = over.len() as u64;
        self.give_up(over, DeadReason::Unreachable);
        self.returning.fetch_sub(count, Ordering::Relaxed);
    }
}

/// The connection, as the node's scheduler sees it.
struct XmppTransport(Arc<XmppState>);

impl MessageTransport for XmppTransport {
    fn send(&self, message: Envelope) -> bool {
        let now = self.0.node.services().now();
        let mut outgoing = self.0.outgoing();
        if outgoing.queue.len() < XMPP_QUEUED_MAX {
            outgoing.queue.push_back((now, message));
        } else {
            outgoing.refused.push(message);
        }
        let is_busy = outgoing.queue.len() > XMPP_QUEUED_SOFT;
        drop(outgoing);
        self.0.wake.notify_one();
        is_busy
    }

    fn waiting(&self) -> u64 {
        let outgoing = self.0.outgoing();
        (outgoing.queue.len() + outgoing.refused.len()) as u64 + self.0.returning.load(Ordering::Relaxed)
    }

    /// Returns true for every agent: the server knows where its domain is.
    fn reaches(&self, _agent: Aid) -> bool {
        true
    }

    fn addresses(&self) -> Vec<String> {
        vec![format!("xmpp:{}", self.0.domain)]
    }
}

impl XmppDoor {
    /// Connects to an XMPP server, now or as soon as there is one.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn open(config: XmppConfig) -> io::Result<Self> {
        let XmppConfig { node, server, domain, secret } = config;
        let component = XmppComponent::new(&domain, &secret);
        let state = Arc::new(XmppState {
            node,
            domain: component.domain().to_owned(),
            outgoing: Mutex::default(),
            returning: AtomicU64::new(0),
            wake: Notify::new(),
            closing: watch::Sender::new(false),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("xmpp".to_owned()).spawn(move || {
            let mut closing = served.closing.subscribe();
            let mut link = ServerLink {
                component,
                residents: NodeResidents::of(&served),
                names: 0,
                was_ready: false,
                state: served,
            };
            runtime.block_on(async {
                tokio::select! {
                    () = link.keep_up(&server) => {}
                    _ = closing.wait_for(|closing| *closing) => {}
                }
            });
        })?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Returns the transport for the node's scheduler.
    pub fn transport(&self) -> Arc<dyn MessageTransport> {
        Arc::new(XmppTransport(Arc::clone(&self.state)))
    }

    /// Waits until all messages were given to the server, at most for this time, and closes the connection. Messages
    /// that still wait go back to their senders.
    pub fn close(self, at_most: Duration) {
        let until = Instant::now() + at_most;
        while !self.state.outgoing().queue.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for XmppDoor {
    fn drop(&mut self) {
        self.state.closing.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.state.expire(true);
    }
}

/// Agents of the node. Servers write their names in small letters, so those with others are also known by these.
struct NodeResidents {
    state: Arc<XmppState>,
    /// Agents with capital letters in their names, by their names in small letters; `None` if several are so called.
    capitals: FxHashMap<String, Option<Symbol>>,
    /// Time when they were last listed.
    listed: Option<Instant>,
}

impl NodeResidents {
    fn of(state: &Arc<XmppState>) -> Self {
        Self { state: Arc::clone(state), capitals: FxHashMap::default(), listed: None }
    }

    fn exists(&self, name: Symbol) -> bool {
        self.state.node.services().exists(Aid::local(name))
    }

    /// Lists the agents anew, unless that was done a moment ago.
    fn list(&mut self) {
        if self.listed.is_some_and(|listed| listed.elapsed() < LIST_EVERY) {
            return;
        }
        self.listed = Some(Instant::now());
        self.capitals.clear();
        for agent in self.state.node.services().agents() {
            let small = agent.name.as_str().to_lowercase();
            if small != agent.name.as_str() {
                let only = |known: &mut Option<Symbol>| *known = known.filter(|known| *known == agent.name);
                self.capitals.entry(small).and_modify(only).or_insert(Some(agent.name));
            }
        }
    }
}

impl Residents for NodeResidents {
    fn find(&mut self, name: &str) -> Option<Symbol> {
        // A name that nobody has yet is no agent's: it does not become one of the process.
        if let Some(exact) = Symbol::known(name).filter(|name| self.exists(*name)) {
            return Some(exact);
        }
        let small = name.to_lowercase();
        let known = self.capitals.get(&small).copied().flatten().filter(|name| self.exists(*name));
        known.or_else(|| {
            self.list();
            self.capitals.get(&small).copied().flatten().filter(|name| self.exists(*name))
        })
    }
}

/// The thread's part: the component, and what it knows of the node.
struct ServerLink {
    state: Arc<XmppState>,
    component: XmppComponent,
    residents: NodeResidents,
    /// Bytes of names that strangers have made the process keep.
    names: u64,
    /// True if the server accepted the component since the connection began.
    was_ready: bool,
}

impl ServerLink {
    /// Connects again and again.
    async fn keep_up(&mut self, server: &str) {
        let (mut pause, mut told) = (PAUSE_MIN, String::new());
        loop {
            let why = match timeout(OPEN_PATIENCE, TcpStream::connect(server)).await {
                Ok(Ok(socket)) => {
                    let why = self.serve(socket).await;
                    if std::mem::take(&mut self.was_ready) {
                        (pause, told) = (PAUSE_MIN, String::new());
                    }
                    self.component.handle_lost();
                    why
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("it did not answer in {OPEN_PATIENCE:?}"),
            };
            if why != told {
                let text = format!("no connection to the XMPP server at {server}: {why}; trying again");
                self.state.note(LogLevel::Warning, &text);
                told = why;
            }
            let until = Instant::now() + pause;
            while Instant::now() < until {
                sleep(EXPIRE_EVERY.min(pause)).await;
                self.state.expire(false);
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Moves bytes until the connection ends. Returns the reason.
    async fn serve(&mut self, socket: TcpStream) -> String {
        let _ = socket.set_nodelay(true);
        let (mut reading, mut writing) = socket.into_split();
        self.component.handle_connected();
        let (mut bytes, mut written) = (vec![0; 64 << 10], Vec::<u8>::new());
        let opened_by = Instant::now() + OPEN_PATIENCE;
        let (state, mut tick) = (Arc::clone(&self.state), tokio::time::interval(EXPIRE_EVERY));
        loop {
            written.extend(self.component.poll_output().unwrap_or_default().into_bytes());
            if written.len() < XMPP_WRITTEN_BYTES_SOFT && self.component.state() == ComponentState::Ready {
                self.encode_waiting(&mut written);
            }
            let is_opening = self.component.state() == ComponentState::Opening;
            if is_opening && Instant::now() >= opened_by {
                return format!("it did not accept the component in {OPEN_PATIENCE:?}");
            }
            tokio::select! {
                read = reading.read(&mut bytes) => match read {
                    Ok(0) => return XmppEnd::Closed.to_string(),
                    Ok(count) => {
                        let received = bytes.get(..count).unwrap_or_default();
                        if let Some(why) = self.receive(received).await {
                            return why;
                        }
                    }
                    Err(error) => return error.to_string(),
                },
                wrote = writing.write(&written), if !written.is_empty() => match wrote {
                    Ok(count) => drop(written.drain(..count)),
                    Err(error) => return error.to_string(),
                },
                () = state.wake.notified(), if !is_opening && written.len() < XMPP_WRITTEN_BYTES_SOFT => {}
                _ = tick.tick() => {
                    state.expire(false);
                    if self.component.state() == ComponentState::Ready {
                        self.component.handle_census(&mut self.residents);
                    }
                }
            }
        }
    }

    /// Encodes messages that wait, as many as should be ready at once.
    fn encode_waiting(&mut self, written: &mut Vec<u8>) {
        while written.len() < XMPP_WRITTEN_BYTES_SOFT {
            let Some((_, message)) = self.state.outgoing().queue.pop_front() else { return };
            if let Err((message, why)) = self.component.handle_message(message) {
                let text = format!("XMPP: a message to {} did not leave: {why}", message.to);
                self.state.note(LogLevel::Warning, &text);
                self.state.give_up(vec![message], DeadReason::Unsendable);
            }
            written.extend(self.component.poll_output().unwrap_or_default().into_bytes());
        }
    }

    /// Takes bytes of the server. Returns the reason if the connection is to end.
    async fn receive(&mut self, bytes: &[u8]) -> Option<String> {
        self.read(bytes);
        while let Some(event) = self.component.poll_event() {
            match event {
                ComponentEvent::Ready => {
                    self.was_ready = true;
                    let text = format!("agents of XMPP reach NAME@{}", self.state.domain);
                    self.state.note(LogLevel::Info, &text);
                }
                ComponentEvent::Came(message) => {
                    while !self.state.node.has_room() {
                        sleep(ROOM_EVERY).await;
                    }
                    self.state.node.take_in(message);
                }
                ComponentEvent::Returned(message, why) => {
                    self.state.note(LogLevel::Warning, &format!("XMPP: no message reaches {}: {why}", message.to));
                    self.state.give_up(vec![message], DeadReason::Unreachable);
                }
                ComponentEvent::Presence(..) => {}
                ComponentEvent::End(why) => return Some(why.to_string()),
            }
        }
        None
    }

    /// Has the component read bytes within the allowance of names.
    fn read(&mut self, bytes: &[u8]) {
        let allowance = NameAllowance::new(XMPP_NAME_BYTES_MAX.saturating_sub(self.names));
        let before = Symbol::bytes_made_here();
        self.component.handle_bytes(bytes, &mut self.residents);
        drop(allowance);
        self.names += Symbol::bytes_made_here() - before;
    }
}
