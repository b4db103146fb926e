//! Links of a node with the sockets that workers serve, and counts of the messages that cross the links.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use whimbrel_platform::{Links, MessageTransport, SocketIo};

use crate::arrivals::Arrivals;
use crate::location_claims::LocationClaims;
use crate::sync::{Arc, Mutex};

/// Links of a node, if it has any.
#[derive(Default)]
pub(crate) struct PeerNodes {
    attached: OnceLock<Arc<dyn Links>>,
    /// Input and output of the node's sockets, if workers serve them.
    io: OnceLock<Arc<dyn SocketIo>>,
    /// Message transport to other platforms, if the node has one.
    transport: OnceLock<Arc<dyn MessageTransport>>,
    /// Counts of messages handed to links and the transport, and received from them.
    pub handed: AtomicU64,
    pub came: AtomicU64,
    /// True while links wait for shards to take their messages in.
    pub awaited: AtomicBool,
    pub arrivals: Mutex<Arrivals>,
    pub hearsay: Mutex<LocationClaims>,
}

impl PeerNodes {
    pub fn links(&self) -> Option<&Arc<dyn Links>> {
        self.attached.get()
    }

    /// Returns the input and output of the node's sockets, if workers serve them.
    pub fn io(&self) -> Option<&dyn SocketIo> {
        self.io.get().map(|io| &**io)
    }

    /// Attaches the links, and the sockets under them. Returns false if the node has links already.
    pub fn attach(&self, links: Arc<dyn Links>) -> bool {
        let io = Arc::clone(&links).io();
        let attached = self.attached.set(links).is_ok();
        if let Some(io) = io.filter(|_| attached) {
            self.attach_io(io);
        }
        attached
    }

    /// Has workers serve these sockets. Returns false if they serve others.
    pub fn attach_io(&self, io: Arc<dyn SocketIo>) -> bool {
        self.io.set(io).is_ok()
    }

    /// Returns the message transport to other platforms, if the node has one.
    pub fn transport(&self) -> Option<&Arc<dyn MessageTransport>> {
        self.transport.get()
    }

    /// Attaches the message transport. Returns false if the node has one already.
    pub fn attach_transport(&self, transport: Arc<dyn MessageTransport>) -> bool {
        self.transport.set(transport).is_ok()
    }

    /// Resumes links that wait for shards, after a shard has taken its messages in.
    #[inline]
    pub fn taken_in(&self) {
        let Some(links) = self.links() else { return };
        fence(Ordering::SeqCst);
        if self.awaited.load(Ordering::Relaxed) && self.awaited.swap(false, Ordering::AcqRel) {
            links.go_on();
        }
    }

    /// Returns the counts of messages that came from other nodes and platforms, that left for them, and that wait to
    /// leave.
    pub fn figures(&self) -> (u64, u64, u64) {
        let abroad = self.transport().map_or(0, |transport| transport.waiting());
        let waiting = abroad + self.links().map_or(0, |links| links.waiting());
        let handed = self.handed.load(Ordering::Relaxed);
        (self.came.load(Ordering::Relaxed), handed.saturating_sub(waiting), waiting)
    }
}

/// Guard of [`Node::cork`](crate::node::Node::cork).
pub(crate) struct Gathering<'a> {
    pub io: Option<&'a dyn SocketIo>,
    pub before: bool,
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        if let Some(io) = self.io {
            io.cork(self.before);
        }
    }
}
