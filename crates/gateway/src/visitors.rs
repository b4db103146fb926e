//! Visitors: connections that have not proved to be an administrator's, with a limit of their number.
//!
//! When all places are taken, a newcomer takes the place of the visitor who has proved least: first of those that
//! proved nothing, idle ones first, the one that has been so longest; then of viewers. So neither strangers nor
//! viewers lock an administrator out. A stranger never displaces a visitor at another address, unless the node has as
//! many visitors as it can.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use whimbrel_platform::connection_limit::household;

use crate::access::Role;

/// Rank of proven administrators: nobody takes their places.
const ADMIN_RANK: u8 = 2;

/// Places of visitors, with limits for all and for each address.
pub(crate) struct Visitors {
    all_max: usize,
    each_max: usize,
    /// Number of arrivals and changes between idle and busy.
    changes: AtomicU64,
    there: Mutex<PresentVisitors>,
}

#[derive(Default)]
struct PresentVisitors {
    all: FxHashMap<u64, Arc<VisitorState>>,
    each: FxHashMap<IpAddr, usize>,
}

/// State of a visitor.
struct VisitorState {
    address: IpAddr,
    /// 0: nothing proven, 1: viewer, 2: administrator.
    rank: AtomicU8,
    /// True while a request is being answered.
    is_busy: AtomicBool,
    /// Time since which the visitor is idle or busy, as a number of such changes.
    since: AtomicU64,
    is_sent_away: AtomicBool,
    leave: Notify,
}

/// Place of a visitor, until it is dropped.
pub(crate) struct VisitorPlace {
    visitors: Arc<Visitors>,
    number: u64,
    shown: Arc<VisitorState>,
}

impl Visitors {
    /// Allows this many visitors, and this many at one address.
    pub fn of(all_max: usize, each_max: usize) -> Arc<Self> {
        Arc::new(Self { all_max, each_max, changes: AtomicU64::new(0), there: Mutex::default() })
    }

    /// Takes a place for a visitor at this address; `None` if administrators have all of them.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Option<VisitorPlace> {
        let address = household(from);
        let mut there = self.there();
        if there.each.get(&address).copied().unwrap_or_default() >= self.each_max {
            there.send_one_away(Some(address))?;
        } else if there.all.len() >= self.all_max {
            there.send_one_away(None)?;
        }
        let number = self.changes.fetch_add(1, Ordering::Relaxed);
        let shown = Arc::new(VisitorState {
            address,
            rank: AtomicU8::new(0),
            is_busy: AtomicBool::new(false),
            since: AtomicU64::new(number),
            is_sent_away: AtomicBool::new(false),
            leave: Notify::new(),
        });
        there.all.insert(number, Arc::clone(&shown));
        *there.each.entry(address).or_default() += 1;
        Some(VisitorPlace { visitors: Arc::clone(self), number, shown })
    }

    fn there(&self) -> MutexGuard<'_, PresentVisitors> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PresentVisitors {
    /// Sends away the visitor that has proved least and has been idle longest; one at this address, if given.
    fn send_one_away(&mut self, address: Option<IpAddr>) -> Option<()> {
        let worth = |shown: &VisitorState| {
            let rank = shown.rank.load(Ordering::Relaxed);
            (rank, shown.is_busy.load(Ordering::Relaxed), shown.since.load(Ordering::Relaxed))
        };
        let here = self.all.iter().filter(|(_, shown)| address.is_none_or(|it| it == shown.address));
        let (least, number) = here.map(|(number, shown)| (worth(shown), *number)).min()?;
        if least.0 >= ADMIN_RANK {
            return None;
        }
        if let Some(shown) = self.forget(number) {
            shown.is_sent_away.store(true, Ordering::Release);
            shown.leave.notify_waiters();
        }
        Some(())
    }

    fn forget(&mut self, number: u64) -> Option<Arc<VisitorState>> {
        let shown = self.all.remove(&number)?;
        if let Some(count) = self.each.get_mut(&shown.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.each.remove(&shown.address);
            }
        }
        Some(shown)
    }
}

impl VisitorPlace {
    /// Notes the visitor's proven role.
    pub fn prove(&self, role: Role) {
        let rank = match role {
            Role::Viewer => 1,
            Role::Admin => ADMIN_RANK,
        };
        self.shown.rank.fetch_max(rank, Ordering::Relaxed);
    }

    /// Notes whether a request is being answered.
    pub fn set_busy(&self, is_busy: bool) {
        self.shown.since.store(self.visitors.changes.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.shown.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// Waits until another visitor takes the place.
    pub async fn sent_away(&self) {
        let leave = self.shown.leave.notified();
        if !self.shown.is_sent_away.load(Ordering::Acquire) {
            leave.await;
        }
    }
}

impl Drop for VisitorPlace {
    fn drop(&mut self) {
        self.visitors.there().forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn is_sent_away(visit: &VisitorPlace) -> bool {
        visit.shown.is_sent_away.load(Ordering::Acquire)
    }

    #[tokio::test]
    async fn newcomer_replaces_idle_stranger() {
        let visitors = Visitors::of(100, 3);
        let all: Vec<VisitorPlace> = (0..3).filter_map(|_| visitors.enter(address(1))).collect();
        all[0].set_busy(true);
        let other = visitors.enter(address(2)).expect("another address");
        let late = visitors.enter(address(1)).expect("somebody goes");
        assert_eq!(all.iter().map(is_sent_away).collect::<Vec<_>>(), [false, true, false]);
        all[1].sent_away().await;
        assert!(!is_sent_away(&other) && !is_sent_away(&late));
        drop((all, other, late));
        assert!(visitors.there().all.is_empty() && visitors.there().each.is_empty(), "nothing is kept");
    }

    #[test]
    fn visitor_idle_longest_leaves_first() {
        let visitors = Visitors::of(100, 3);
        let all: Vec<VisitorPlace> = (0..3).filter_map(|_| visitors.enter(address(1))).collect();
        // The visitor that came first was answered last.
        for visit in [&all[1], &all[2], &all[0]] {
            visit.set_busy(true);
            visit.set_busy(false);
        }
        let _late = visitors.enter(address(1)).expect("somebody goes");
        assert_eq!(all.iter().map(is_sent_away).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn administrator_displaces_viewer() {
        let visitors = Visitors::of(100, 3);
        let all: Vec<VisitorPlace> = (0..3).filter_map(|_| visitors.enter(address(1))).collect();
        all.iter().for_each(|visit| visit.prove(Role::Viewer));
        let admin = visitors.enter(address(1)).expect("a viewer goes");
        admin.prove(Role::Admin);
        assert_eq!(all.iter().filter(|visit| is_sent_away(visit)).count(), 1);
        let strangers: Vec<VisitorPlace> = (0..10).filter_map(|_| visitors.enter(address(1))).collect();
        assert!(!is_sent_away(&admin), "nobody takes an administrator's place");
        drop(strangers);
    }

    #[test]
    fn number_of_places_is_limited() {
        let visitors = Visitors::of(5, 3);
        let all: Vec<VisitorPlace> = (0..9).filter_map(|last| visitors.enter(address(last))).collect();
        assert_eq!((all.len(), visitors.there().all.len()), (9, 5));
        assert_eq!(all.iter().filter(|visit| is_sent_away(visit)).count(), 4);
        let admins = Visitors::of(1, 1);
        let admin = admins.enter(address(1)).expect("there is room");
        admin.prove(Role::Admin);
        assert!(admins.enter(address(2)).is_none());
    }
}
