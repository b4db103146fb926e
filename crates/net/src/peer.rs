//! Peer: state of a link that all threads share.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, mpsc};
use whimbrel_acl::Envelope;
use whimbrel_platform::limits::{LINK_HARD_MESSAGES, LINK_SOFT_BYTES, LINK_SOFT_MESSAGES, LINK_SOFT_MESSAGES_MIN};
use whimbrel_platform::link::{LinkItem, Measured, News};
use whimbrel_platform::route::{NodeId, ShardIndex};

use crate::connection::Accepted;
use crate::faults::FaultCounts;

/// Peer of this node, with the shared state of its link.
pub(crate) struct Peer {
    pub id: NodeId,
    /// Name of the peer, once it is known: a peer that was dialled names itself in its hello.
    pub name: OnceLock<String>,
    /// Address at which the peer listens, if it does. A restarted node may listen elsewhere.
    address: Mutex<Option<String>>,
    /// Address of the present connection's other end, or of the last one's.
    host: Mutex<Option<IpAddr>>,
    /// True if this node connects, false if the peer does.
    pub dials: AtomicBool,
    /// Wakes the task of the link.
    pub wake: Arc<Notify>,
    /// Connections that the peer made.
    pub accepted: mpsc::UnboundedSender<Box<Accepted>>,
    outbox: Mutex<PeerOutbox>,
    /// Number of messages in the outbox and in the link's window.
    waiting: AtomicUsize,
    /// Maximal number of messages that wait to be written before their senders wait.
    soft: AtomicUsize,
    /// True while shards wait until messages are written.
    has_waiters: AtomicBool,
    /// True if the link's node had no room when it was asked last.
    pub no_room: AtomicBool,
    /// Measurements of the link; and a request for measuring.
    measured: Mutex<Measured>,
    pub to_measure: AtomicBool,
    pub up: AtomicBool,
    pub leaving: AtomicBool,
    /// True once the link has ended.
    pub ended: AtomicBool,
    /// True if the peer ended the link by a good-bye.
    pub left: AtomicBool,
    /// True if the peer was lost and did not come back in time.
    pub forgotten: AtomicBool,
    /// Reason for which the peer refuses this node.
    pub refused: OnceLock<String>,
    /// Reason why something at the peer's address is no node.
    pub no_node: OnceLock<String>,
    /// Last logged failure to connect. It is not logged again and again.
    pub complaint: Mutex<String>,
    pub figures: LinkFigures,
    pub faults: FaultCounts,
}

/// Figures of a link.
#[derive(Debug, Default)]
pub(crate) struct LinkFigures {
    pub bytes_out: AtomicU64,
    pub bytes_in: AtomicU64,
    pub items_out: AtomicU64,
    pub items_in: AtomicU64,
    pub connections: AtomicU64,
    /// Smoothed round-trip time in microseconds; 0 if unknown.
    pub round_trip_us: AtomicU64,
}

/// Messages that were handed to the link, and are not in its window yet.
#[derive(Default)]
struct PeerOutbox {
    items: Vec<LinkItem>,
    /// Number of items that were taken from here and are not written yet.
    unsent: usize,
    /// Shards to wake when most of the items are written.
    waiters: Vec<ShardIndex>,
    /// True once the peer knows this node's agents: it learns of all changes.
    introduced: bool,
    /// True while a known peer is lost.
    lost: bool,
    /// True once the link has ended for good.
    closed: bool,
}

impl Peer {
    pub fn new(id: NodeId, dials: bool, accepted: mpsc::UnboundedSender<Box<Accepted>>) -> Self {
        Self {
            id,
            name: OnceLock::new(),
            address: Mutex::default(),
            host: Mutex::default(),
            dials: AtomicBool::new(dials),
            wake: Arc::default(),
            accepted,
            outbox: Mutex::default(),
            waiting: AtomicUsize::new(0),
            soft: AtomicUsize::new(LINK_SOFT_MESSAGES_MIN),
            has_waiters: AtomicBool::new(false),
            no_room: AtomicBool::new(false),
            measured: Mutex::default(),
            to_measure: AtomicBool::new(false),
            up: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            left: AtomicBool::new(false),
            forgotten: AtomicBool::new(false),
            refused: OnceLock::new(),
            no_node: OnceLock::new(),
            complaint: Mutex::default(),
            figures: LinkFigures::default(),
            faults: FaultCounts::default(),
        }
    }

    fn outbox(&self) -> MutexGuard<'_, PeerOutbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if this node connects.
    pub fn dials(&self) -> bool {
        self.dials.load(Ordering::Acquire)
    }

    /// Address at which the peer listens, if it is known.
    pub fn address(&self) -> Option<String> {
        self.address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the address at which the peer listens. Returns true if the address has changed.
    pub fn listens_at(&self, address: String) -> bool {
        let mut known = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        known.replace(address.clone()).is_some_and(|before| before != address)
    }

    /// Sets the address of the peer's connections. Returns the former one.
    pub fn set_host(&self, host: Option<IpAddr>) -> Option<IpAddr> {
        std::mem::replace(&mut *self.host.lock().unwrap_or_else(PoisonError::into_inner), host)
    }

    /// Has the link's task connect to an address, if there is no connection.
    pub fn dial(&self, address: &str) {
        if !self.up.load(Ordering::Acquire) {
            self.listens_at(address.to_owned());
            self.dials.store(true, Ordering::Release);
            self.wake.notify_one();
        }
    }

    /// Measurements of the link.
    pub fn measured(&self) -> Measured {
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the measurements of the link.
    pub fn note_measured(&self, measured: Measured) {
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = measured;
    }

    /// Has the link's task say good-bye.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Takes messages from a shard, as far as there is room. `taken` gets their number before they leave. The link's
    /// task must be woken then. False if the link has ended for good.
    pub fn send(&self, batch: &mut Vec<Envelope>, taken: impl FnOnce(usize)) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        let room = LINK_HARD_MESSAGES.saturating_sub(waiting).min(batch.len());
        let mut outbox = self.outbox();
        if outbox.closed {
            return false;
        }
        taken(room);
        outbox.items.extend(batch.drain(..room).map(LinkItem::Message));
        self.waiting.fetch_add(room, Ordering::Relaxed);
        true
    }

    /// Returns the number of further messages that a shard may send before their senders should wait. If there are
    /// none, the shard is woken when its senders may continue.
    pub fn room_for(&self, shard: ShardIndex) -> usize {
        let mut outbox = self.outbox();
        if outbox.closed {
            return usize::MAX;
        }
        let left = self.soft.load(Ordering::Relaxed).saturating_sub(outbox.items.len() + outbox.unsent);
        if left == 0 && !outbox.waiters.contains(&shard) {
            outbox.waiters.push(shard);
            self.has_waiters.store(true, Ordering::Release);
        }
        left
    }

    /// Takes messages that are forwarded for an agent that left, as far as there is room; the others stay in `batch`.
    /// The link's task must be woken then.
    pub fn forward(&self, batch: &mut Vec<Envelope>) {
        let room = LINK_HARD_MESSAGES.saturating_sub(self.waiting.load(Ordering::Relaxed)).min(batch.len());
        let mut outbox = self.outbox();
        if !outbox.closed {
            outbox.items.extend(batch.drain(..room).map(LinkItem::Forwarded));
            self.waiting.fetch_add(room, Ordering::Relaxed);
        }
    }

    /// Returns true if the peer is present: named, and neither lost nor ended.
    pub fn is_there(&self) -> bool {
        let outbox = self.outbox();
        self.name.get().is_some() && !outbox.lost && !outbox.closed
    }

    /// Returns true if the peer was lost, was replaced, or was never reached, and has no connection now.
    pub fn is_lost(&self) -> bool {
        !self.up.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire) && self.waiting() == 0 && {
            let outbox = self.outbox();
            outbox.lost || (self.dials() && !outbox.introduced)
        }
    }

    /// Takes news, if the peer knows this node. News about travelling agents wait for an introduction, as messages do.
    /// Returns true if the link's task must be woken.
    pub fn tell(&self, news: News) -> bool {
        let mut outbox = self.outbox();
        let waits = matches!(news, News::Hop(_)) && !outbox.lost;
        let takes = (outbox.introduced || waits) && !outbox.closed;
        if takes {
            outbox.items.push(LinkItem::News(Box::new(news)));
        }
        takes
    }

    /// Introduces this node: from now on the peer learns of changes. Earlier news are in the introduction.
    pub fn introduce(&self) {
        let mut outbox = self.outbox();
        outbox.introduced = true;
        outbox.lost = false;
        let is_hop = |item: &LinkItem| matches!(item, LinkItem::News(news) if matches!(**news, News::Hop(_)));
        outbox.items.retain(|item| item.is_message() || is_hop(item));
    }

    /// Moves all items into `into`, which is empty and gives its memory in exchange.
    pub fn take(&self, into: &mut Vec<LinkItem>) {
        let mut outbox = self.outbox();
        std::mem::swap(&mut outbox.items, into);
        outbox.unsent += into.len();
    }

    /// Notes that this many of the taken items are not written yet. Returns the shards to wake, since there is room
    /// again.
    pub fn handle_written(&self, unsent: usize) -> Vec<ShardIndex> {
        let mut outbox = self.outbox();
        outbox.unsent = unsent;
        let waiting = outbox.items.len() + unsent;
        if !self.has_waiters.load(Ordering::Acquire) || waiting > self.soft.load(Ordering::Relaxed) / 2 {
            return Vec::new();
        }
        self.has_waiters.store(false, Ordering::Release);
        std::mem::take(&mut outbox.waiters)
    }

    /// Sets the usual size of an item. As many items may wait as have [`LINK_SOFT_BYTES`].
    pub fn set_item_bytes(&self, bytes: usize) {
        let soft = (LINK_SOFT_BYTES / bytes.max(1)).clamp(LINK_SOFT_MESSAGES_MIN, LINK_SOFT_MESSAGES);
        self.soft.store(soft, Ordering::Relaxed);
    }

    /// Forgets a peer that is gone. Returns the messages that were handed over, which are lost.
    pub fn forget(&self, closed: bool) -> Vec<Envelope> {
        let mut outbox = self.outbox();
        outbox.introduced = false;
        outbox.lost = true;
        outbox.closed |= closed;
        std::mem::take(&mut outbox.items).into_iter().filter_map(LinkItem::into_message).collect()
    }

    /// Notes that this many messages wait no longer.
    pub fn done(&self, messages: usize) {
        self.waiting.fetch_sub(messages, Ordering::Relaxed);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}
