//! A peer: what other threads may touch of its link.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, mpsc};
use whimbrel_acl::Envelope;
use whimbrel_platform::limits::{LINK_HARD_MESSAGES, LINK_SOFT_BYTES, LINK_SOFT_MESSAGES, LINK_SOFT_MESSAGES_MIN};
use whimbrel_platform::link::{Item, Measured, News};
use whimbrel_platform::route::{NodeId, ShardIndex};

use crate::connection::Accepted;
use crate::faults::Faults;

/// See the module.
pub(crate) struct Peer {
    pub id: NodeId,
    /// Its name, as soon as it is known: a peer that was dialled says it when it answers.
    pub name: OnceLock<String>,
    /// Where it listens, if it does: a node that is started again may listen elsewhere.
    address: Mutex<Option<String>>,
    /// Address of the present connection's other end, or of the last one's.
    host: Mutex<Option<IpAddr>>,
    /// Whether this node connects, or the peer does.
    pub dials: AtomicBool,
    /// Wakes the link's task.
    pub wake: Notify,
    /// Connections that the peer made.
    pub accepted: mpsc::UnboundedSender<Box<Accepted>>,
    outbox: Mutex<Outbox>,
    /// Messages in the outbox and in the link's window.
    waiting: AtomicUsize,
    /// How many messages wait to be written, at most, before their senders wait.
    soft: AtomicUsize,
    /// Shards wait until those are written.
    has_waiters: AtomicBool,
    /// The link's node had no room when it was asked last.
    pub no_room: AtomicBool,
    /// What was measured of the way to it; and that somebody wants it measured.
    measured: Mutex<Measured>,
    pub to_measure: AtomicBool,
    pub up: AtomicBool,
    pub leaving: AtomicBool,
    /// The link is no more.
    pub ended: AtomicBool,
    /// Because the peer said good-bye.
    pub left: AtomicBool,
    /// True if the peer was lost and did not come back in time.
    pub forgotten: AtomicBool,
    /// Why the peer does not want this node.
    pub refused: OnceLock<String>,
    /// Why what answered where it should be is no node.
    pub no_node: OnceLock<String>,
    /// What was said last of a connection that cannot be made: it is not said again and again.
    pub complaint: Mutex<String>,
    pub figures: Figures,
    pub faults: Faults,
}

/// What a link did so far.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub bytes_out: AtomicU64,
    pub bytes_in: AtomicU64,
    pub items_out: AtomicU64,
    pub items_in: AtomicU64,
    pub connections: AtomicU64,
    /// Microseconds that the peer takes to answer, smoothed; 0 if that is not known.
    pub round_trip_us: AtomicU64,
}

/// What was handed to the link and is not in its window yet.
#[derive(Default)]
struct Outbox {
    items: Vec<Item>,
    /// Items taken from here and not written yet.
    unsent: usize,
    /// Shards to be told when most of all that is written.
    waiters: Vec<ShardIndex>,
    /// The peer knows this node's agents: it hears of all changes.
    introduced: bool,
    /// It was, and is lost; unset when it comes back.
    lost: bool,
    /// The link is gone for good.
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
            wake: Notify::new(),
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
            figures: Figures::default(),
            faults: Faults::default(),
        }
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this node connects.
    pub fn dials(&self) -> bool {
        self.dials.load(Ordering::Acquire)
    }

    /// Where it listens, if that is known.
    pub fn address(&self) -> Option<String> {
        self.address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes where it listens. Whether it was thought to be elsewhere.
    pub fn listens_at(&self, address: String) -> bool {
        let mut known = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        known.replace(address.clone()).is_some_and(|before| before != address)
    }

    /// Notes the address of its connections. Returns the one before.
    pub fn set_host(&self, host: Option<IpAddr>) -> Option<IpAddr> {
        std::mem::replace(&mut *self.host.lock().unwrap_or_else(PoisonError::into_inner), host)
    }

    /// Has the link's task connect there, if there is no connection.
    pub fn dial(&self, address: &str) {
        if !self.up.load(Ordering::Acquire) {
            self.listens_at(address.to_owned());
            self.dials.store(true, Ordering::Release);
            self.wake.notify_one();
        }
    }

    /// What was measured of the way to it.
    pub fn measured(&self) -> Measured {
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes it.
    pub fn note_measured(&self, measured: Measured) {
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = measured;
    }

    /// Has the link's task say good-bye.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Takes messages from a shard, as far as there is room: `taken` hears how many, before they leave. The link's task is
    /// to be woken then. False if the link is gone for good.
    pub fn send(&self, batch: &mut Vec<Envelope>, taken: impl FnOnce(usize)) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        let room = LINK_HARD_MESSAGES.saturating_sub(waiting).min(batch.len());
        let mut outbox = self.outbox();
        if outbox.closed {
            return false;
        }
        taken(room);
        outbox.items.extend(batch.drain(..room).map(Item::Message));
        self.waiting.fetch_add(room, Ordering::Relaxed);
        true
    }

    /// How many more messages of a shard may follow before their senders should wait; if none, the shard is told when they
    /// may go on.
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

    /// Takes messages that are passed on for an agent that left, as far as there is room; what stays in `batch` is not taken. The
    /// link's task is to be woken then.
    pub fn forward(&self, batch: &mut Vec<Envelope>) {
        let room = LINK_HARD_MESSAGES.saturating_sub(self.waiting.load(Ordering::Relaxed)).min(batch.len());
        let mut outbox = self.outbox();
        if !outbox.closed {
            outbox.items.extend(batch.drain(..room).map(Item::Forwarded));
            self.waiting.fetch_add(room, Ordering::Relaxed);
        }
    }

    /// Whether it is linked, or expected to be: not if it was lost, as long as it does not come back.
    pub fn is_there(&self) -> bool {
        let outbox = self.outbox();
        self.name.get().is_some() && !outbox.lost && !outbox.closed
    }

    /// True if the peer was lost, was replaced, or was never reached, and has no connection now.
    pub fn is_lost(&self) -> bool {
        !self.up.load(Ordering::Acquire) && !self.ended.load(Ordering::Acquire) && self.waiting() == 0 && {
            let outbox = self.outbox();
            outbox.lost || (self.dials() && !outbox.introduced)
        }
    }

    /// Takes news, if the peer knows of this node. What is told of agents on their way waits for that, as messages do. True if the
    /// link's task is to be woken.
    pub fn tell(&self, news: News) -> bool {
        let mut outbox = self.outbox();
        let waits = matches!(news, News::Hop(_)) && !outbox.lost;
        let takes = (outbox.introduced || waits) && !outbox.closed;
        if takes {
            outbox.items.push(Item::News(Box::new(news)));
        }
        takes
    }

    /// From now on the peer hears of changes; news from before are told otherwise.
    pub fn introduce(&self) {
        let mut outbox = self.outbox();
        outbox.introduced = true;
        outbox.lost = false;
        let is_hop = |item: &Item| matches!(item, Item::News(news) if matches!(**news, News::Hop(_)));
        outbox.items.retain(|item| item.is_message() || is_hop(item));
    }

    /// Everything that was handed over, for `into`, which is empty and gives its room in exchange.
    pub fn take(&self, into: &mut Vec<Item>) {
        let mut outbox = self.outbox();
        std::mem::swap(&mut outbox.items, into);
        outbox.unsent += into.len();
    }

    /// So many items that were taken are not written yet. The shards that are to be told that there is room again.
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

    /// An item takes so many bytes, as things are: as many may wait as make [`LINK_SOFT_BYTES`].
    pub fn set_item_bytes(&self, bytes: usize) {
        let soft = (LINK_SOFT_BYTES / bytes.max(1)).clamp(LINK_SOFT_MESSAGES_MIN, LINK_SOFT_MESSAGES);
        self.soft.store(soft, Ordering::Relaxed);
    }

    /// The peer is gone; what was handed over meanwhile is lost, too.
    pub fn forget(&self, closed: bool) -> Vec<Envelope> {
        let mut outbox = self.outbox();
        outbox.introduced = false;
        outbox.lost = true;
        outbox.closed |= closed;
        std::mem::take(&mut outbox.items).into_iter().filter_map(Item::into_message).collect()
    }

    /// So many messages wait no more.
    pub fn done(&self, messages: usize) {
        self.waiting.fetch_sub(messages, Ordering::Relaxed);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}
