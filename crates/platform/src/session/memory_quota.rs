//! Memory quota of an account: bytes that wait for its clients, or are held back for them.
//!
//! Windows, messages that no state covers, withheld messages, and mailboxes of agents whose client is away or slow are
//! each bounded by themselves. But one client may have thousands of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;

use crate::Mailbox;
use crate::limits::{
    SESSION_WAITING_BYTES_ALL_MAX, SESSION_WAITING_BYTES_MAX, SESSION_WAITING_BYTES_SPARE,
    SESSION_WAITING_COUNTED_BYTES,
};

/// Memory quota of one account: bytes that wait for it, and for all accounts together.
#[derive(Debug, Default)]
pub(super) struct MemoryQuota {
    bytes: AtomicUsize,
    all: Arc<AtomicUsize>,
}

impl MemoryQuota {
    /// Returns true if there is room for more. When all together have none left, accounts with little still have some.
    pub fn has_room(&self) -> bool {
        let (own, all) = (self.bytes.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed));
        own < SESSION_WAITING_BYTES_MAX && (all < SESSION_WAITING_BYTES_ALL_MAX || own < SESSION_WAITING_BYTES_SPARE)
    }
}

/// Memory quotas of all accounts for which bytes wait.
#[derive(Debug, Default)]
pub(super) struct Burdens {
    by_account: FxHashMap<String, Weak<MemoryQuota>>,
    all: Arc<AtomicUsize>,
    /// Number of accounts at which those without waiting bytes are dropped.
    prune_at: usize,
}

impl Burdens {
    pub fn of(&mut self, account: &str) -> Arc<MemoryQuota> {
        if let Some(burden) = self.by_account.get(account).and_then(Weak::upgrade) {
            return burden;
        }
        if self.by_account.len() >= self.prune_at {
            self.by_account.retain(|_, burden| burden.strong_count() > 0);
            self.prune_at = 2 * self.by_account.len() + 64;
        }
        let burden = Arc::new(MemoryQuota { bytes: AtomicUsize::new(0), all: Arc::clone(&self.all) });
        self.by_account.insert(account.to_owned(), Arc::downgrade(&burden));
        burden
    }
}

/// Part of the bytes of a memory quota, released on drop.
#[derive(Debug, Default)]
pub(super) struct QuotaShare {
    burden: Option<Arc<MemoryQuota>>,
    bytes: usize,
}

impl QuotaShare {
    pub fn on(burden: &Arc<MemoryQuota>) -> Self {
        Self { burden: Some(Arc::clone(burden)), bytes: 0 }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn has_room(&self) -> bool {
        self.burden.as_ref().is_none_or(|burden| burden.has_room())
    }

    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        if let Some(burden) = &self.burden {
            burden.bytes.fetch_add(bytes, Ordering::Relaxed);
            burden.all.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub fn sub(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        if let Some(burden) = &self.burden {
            burden.bytes.fetch_sub(bytes, Ordering::Relaxed);
            burden.all.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for QuotaShare {
    fn drop(&mut self) {
        self.sub(self.bytes);
    }
}

/// Backlog: messages in the mailbox of an agent whose client is away, or has not taken them yet. It must be told of
/// each message that is taken.
#[derive(Debug)]
pub(super) struct Backlog {
    weight: QuotaShare,
    bytes_max: usize,
    /// Weights of the oldest messages.
    each: VecDeque<usize>,
    /// Completion of the first weighing. Messages that were in the mailbox before it always fit.
    begun: bool,
}

impl Backlog {
    /// Returns an empty backlog of this many bytes at most.
    pub fn new(bytes_max: usize) -> Self {
        Self { weight: QuotaShare::default(), bytes_max, each: VecDeque::new(), begun: false }
    }

    /// Charges the backlog to this account, if nothing was weighed yet.
    pub fn begin(&mut self, burden: impl FnOnce() -> Option<Arc<MemoryQuota>>) {
        if !self.begun
            && let Some(burden) = burden()
        {
            self.weight = QuotaShare::on(&burden);
        }
    }

    /// Notes that the oldest message was taken.
    pub fn note_taken(&mut self) {
        if let Some(bytes) = self.each.pop_front() {
            self.weight.sub(bytes);
        }
    }

    /// Weighs messages that arrived. Messages without room are [put aside](Mailbox::put_aside), with all behind them.
    /// Returns true if there are any.
    #[must_use]
    pub fn weigh(&mut self, mailbox: &mut Mailbox) -> bool {
        let begun = std::mem::replace(&mut self.begun, true);
        let (known, mut has_room) = (self.each.len(), true);
        for message in mailbox.iter().skip(known) {
            let bytes = message.footprint(SESSION_WAITING_COUNTED_BYTES);
            has_room = !begun || (self.weight.bytes() + bytes <= self.bytes_max && self.weight.has_room());
            if !has_room {
                break;
            }
            self.each.push_back(bytes);
            self.weight.add(bytes);
        }
        if !has_room {
            mailbox.put_aside(self.each.len());
        }
        !has_room
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative};

    use super::*;

    fn message(bytes: usize) -> MessageBody {
        let message = AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("bob"), "x".repeat(bytes));
        MessageBody::Owned(Box::new(message))
    }

    #[test]
    fn account_burden_is_bounded_and_released() {
        let mut burdens = Burdens::default();
        let burden = burdens.of("ann");
        let mut backlog = Backlog::new(1 << 20);
        backlog.begin(|| Some(Arc::clone(&burden)));
        let mut mailbox = Mailbox::default();
        (0..20).for_each(|_| assert!(mailbox.push(message(100_000))));
        assert!(!backlog.weigh(&mut mailbox), "what was there before stays");
        mailbox.push(message(10));
        assert!(backlog.weigh(&mut mailbox));
        assert_eq!((mailbox.len(), mailbox.take_aside().len()), (20, 1));
        for _ in 0..10 {
            assert!(mailbox.take().is_some());
            backlog.note_taken();
        }
        mailbox.push(message(10_000));
        mailbox.push(message(100_000));
        mailbox.push(message(10));
        assert!(backlog.weigh(&mut mailbox));
        assert_eq!((mailbox.len(), mailbox.take_aside().len()), (11, 2), "what came behind is put aside, too");
        assert!(burden.bytes.load(Ordering::Relaxed) > 1_000_000);
        drop(backlog);
        assert_eq!(burden.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn full_burden_spares_small_accounts() {
        let mut burdens = Burdens::default();
        let mut greedy = QuotaShare::on(&burdens.of("eve"));
        greedy.add(SESSION_WAITING_BYTES_MAX);
        assert!(!greedy.has_room());
        let others: Vec<QuotaShare> = (0..SESSION_WAITING_BYTES_ALL_MAX / SESSION_WAITING_BYTES_MAX)
            .map(|n| {
                let mut other = QuotaShare::on(&burdens.of(&format!("eve{n}")));
                other.add(SESSION_WAITING_BYTES_MAX - 1);
                other
            })
            .collect();
        assert!(others.iter().all(|other| !other.has_room()), "there is none for all");
        let mut ann = QuotaShare::on(&burdens.of("ann"));
        ann.add(1 << 20);
        assert!(ann.has_room());
        drop(others);
        assert!(burdens.of("eve1").has_room());
    }
}
