//! Message transport to other FIPA platforms: the port where they post messages, and connections to post ours.
//!
//! One thread serves both. What it does with bytes is decided in `whimbrel_interop::mtp`.

mod posting;
mod receiving;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use whimbrel_acl::{Aid, Envelope, Symbol};
use whimbrel_interop::MessagePort;
use whimbrel_interop::mtp::{HomePlatform, HttpAddress, OutgoingQueues};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::{MessageTransport, Time};

use self::posting::IdleConnections;
use self::receiving::StrangerNames;
use crate::outbound::OutboundRules;

/// Configuration of a message transport.
pub struct MtpConfig {
    /// Name and address of this platform.
    pub home: HomePlatform,
    /// Port to the node.
    pub node: Arc<dyn MessagePort>,
    /// Addresses of other platforms that the user named, with the names of some: they are permitted wherever they are.
    pub peers: Vec<(Option<Symbol>, HttpAddress)>,
}

/// Message transport of a node. It is open until it is closed or dropped.
pub struct MtpDoor {
    state: Arc<MtpState>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// Parts of a message transport that its tasks share.
struct MtpState {
    home: HomePlatform,
    node: Arc<dyn MessagePort>,
    rules: OutboundRules,
    outgoing: Mutex<OutgoingQueues>,
    /// Messages on their way back to the node.
    returning: AtomicU64,
    idle: Mutex<IdleConnections>,
    names: Mutex<StrangerNames>,
    /// Wakes the dispatcher of posts.
    wake: Notify,
    closing: watch::Sender<bool>,
}

impl MtpState {
    fn outgoing(&self) -> MutexGuard<'_, OutgoingQueues> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.node.services().now()
    }

    /// Hands messages that did not leave back to the node.
    fn give_up_undelivered(&self) {
        let (mut unreachable, mut unsendable) = (Vec::new(), Vec::new());
        let mut outgoing = self.outgoing();
        while let Some(undelivered) = outgoing.poll_undelivered() {
            self.returning.fetch_add(1, Ordering::Relaxed);
            let place = if undelivered.is_unsendable { &mut unsendable } else { &mut unreachable };
            place.push(undelivered);
        }
        drop(outgoing);
        for (undelivered, why) in [(unreachable, DeadReason::Unreachable), (unsendable, DeadReason::Unsendable)] {
            let count = undelivered.len() as u64;
            if let Some(first) = undelivered.first() {
                let text = format!(
                    "message transport: {count} messages did not leave, the first to {}: {}",
                    first.message.to, first.why
                );
                self.warn(&text);
                self.node.give_up(undelivered.into_iter().map(|it| it.message).collect::<Vec<Envelope>>(), why);
            }
            self.returning.fetch_sub(count, Ordering::Relaxed);
        }
    }

    fn warn(&self, text: &str) {
        use whimbrel_acl::sym;
        use whimbrel_platform::services::LogLevel;
        self.node.services().log(Aid::local(sym::AMS), LogLevel::Warning, text);
    }
}

/// Message transport, as the node's scheduler sees it.
struct NodeTransport(Arc<MtpState>);

impl MessageTransport for NodeTransport {
    fn send(&self, message: Envelope) -> bool {
        let now = self.0.now();
        let is_busy = self.0.outgoing().handle_message(now, message);
        if *self.0.closing.borrow() {
            // Nobody else hands the message back.
            self.0.give_up_undelivered();
        }
        self.0.wake.notify_one();
        is_busy
    }

    fn waiting(&self) -> u64 {
        let outgoing = self.0.outgoing();
        outgoing.waiting() as u64 + outgoing.undelivered() as u64 + self.0.returning.load(Ordering::Relaxed)
    }

    fn reaches(&self, agent: Aid) -> bool {
        !self.0.outgoing().contacts.addresses_of(agent).is_empty()
    }

    fn addresses(&self) -> Vec<String> {
        vec![self.0.home.address.clone()]
    }
}

impl MtpDoor {
    /// Opens a message transport on `listener`.
    ///
    /// # Errors
    /// The listener cannot be used, or the thread cannot be started.
    pub fn open(config: MtpConfig, listener: std::net::TcpListener) -> io::Result<Self> {
        let MtpConfig { home, node, peers } = config;
        let (mut outgoing, mut rules) = (OutgoingQueues::default(), OutboundRules::default());
        for (platform, address) in peers {
            rules = rules.with(&address.host, address.port);
            if let Some(platform) = platform {
                outgoing.contacts.add_platform(platform, address);
            }
        }
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let state = Arc::new(MtpState {
            home,
            node,
            rules,
            outgoing: Mutex::new(outgoing),
            returning: AtomicU64::new(0),
            idle: Mutex::default(),
            names: Mutex::default(),
            wake: Notify::new(),
            closing: watch::Sender::new(false),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("mtp".to_owned()).spawn(move || {
            runtime.block_on(async {
                let receiving = receiving::accept(Arc::clone(&served), listener);
                tokio::join!(receiving, posting::dispatch(Arc::clone(&served)));
            });
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
        Ok(Self { state, address, thread: Some(thread) })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the transport for the node's scheduler.
    pub fn transport(&self) -> Arc<dyn MessageTransport> {
        Arc::new(NodeTransport(Arc::clone(&self.state)))
    }

    /// Waits until all messages have left, at most for this time, and closes the port. Messages that still wait go back
    /// to their senders.
    pub fn close(self, at_most: Duration) {
        let until = std::time::Instant::now() + at_most;
        while self.state.outgoing().waiting() > 0 && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for MtpDoor {
    fn drop(&mut self) {
        self.state.closing.send_replace(true);
        self.state.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.state.outgoing().close();
        self.state.give_up_undelivered();
    }
}
