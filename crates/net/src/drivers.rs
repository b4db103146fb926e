//! Drivers of a node: which of them serves a link or a session, and whether workers take part.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use whimbrel_platform::SocketIo;
use whimbrel_platform::route::ShardIndex;

use crate::driver::{SocketDriver, cork};

/// Maximal number of threads that drive sockets while no worker does.
const DRIVERS_MAX: usize = 4;

/// Drivers of a node's sockets.
pub(crate) struct SocketDrivers {
    all: Vec<Arc<SocketDriver>>,
    /// True if workers drive. They do not if sockets take longer than an agent should wait for its turn.
    by_workers: bool,
    /// Number of present users: hubs and sessions.
    users: AtomicUsize,
    /// Number of sessions so far.
    sessions: AtomicUsize,
}

impl SocketDrivers {
    /// Returns the driver of one of several tasks that belong together, by its number.
    pub fn of(&self, number: usize) -> Option<&Arc<SocketDriver>> {
        self.all.get(number % self.all.len().max(1))
    }

    /// Returns the driver for a further session.
    pub fn for_session(&self) -> Option<&Arc<SocketDriver>> {
        self.of(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Has workers attend as long as the returned guard lives.
    pub fn used(self: &Arc<Self>) -> DriverUse {
        self.users.fetch_add(1, Ordering::Relaxed);
        DriverUse(Arc::clone(self))
    }

    fn for_shard(&self, shard: ShardIndex) -> Option<&Arc<SocketDriver>> {
        self.of(usize::from(shard)).filter(|_| self.is_used())
    }
}

/// Use of a node's drivers: while there is none, workers do not attend.
pub(crate) struct DriverUse(Arc<SocketDrivers>);

impl Drop for DriverUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SocketIo for SocketDrivers {
    fn is_used(&self) -> bool {
        self.by_workers && self.users.load(Ordering::Relaxed) > 0
    }

    fn poll_io(&self, shard: ShardIndex) {
        if let Some(driver) = self.for_shard(shard) {
            driver.poll_io(|| (), 2);
        }
    }

    fn park_on_io(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        let Some(own) = self.for_shard(shard) else { return false };
        self.all.iter().filter(|driver| !Arc::ptr_eq(driver, own)).for_each(|driver| driver.flush());
        own.park_on_io(shard, at_most, begin)
    }

    fn cork(&self, gathers: bool) -> bool {
        cork(gathers && self.is_used())
    }

    fn flush(&self, _shard: ShardIndex) {
        self.all.iter().for_each(|driver| driver.flush());
    }

    fn recall(&self, shard: ShardIndex) {
        if let Some(driver) = self.of(usize::from(shard)) {
            driver.recall();
        }
    }
}

/// Owner of a node's drivers, which close when this is dropped.
pub(crate) struct OwnDrivers(Arc<SocketDrivers>);

impl OwnDrivers {
    /// Starts half as many drivers as there are cores, at most four.
    pub fn start(by_workers: bool) -> io::Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, DRIVERS_MAX));
        let all = (0..count as ShardIndex).map(SocketDriver::start).collect::<io::Result<_>>()?;
        let (users, sessions) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Self(Arc::new(SocketDrivers { all, by_workers, users, sessions })))
    }

    /// Returns the drivers.
    pub fn drivers(&self) -> &Arc<SocketDrivers> {
        &self.0
    }
}

impl Drop for OwnDrivers {
    fn drop(&mut self) {
        self.0.all.iter().for_each(|driver| driver.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_drivers_are_left() {
        let own = OwnDrivers::start(true).unwrap();
        let drivers = own.drivers();
        let attends = || drivers.park_on_io(0, Some(Duration::ZERO), &|| true);
        assert!(!attends() && !drivers.is_used());
        let used = drivers.used();
        assert!(attends() && drivers.is_used());
        assert!(!drivers.cork(true) && drivers.cork(false), "workers gather");
        drop(used);
        assert!(!attends());
        assert!(!drivers.cork(true) && !drivers.cork(true), "nobody would drive what is gathered");
        let signing = OwnDrivers::start(false).unwrap();
        let _used = signing.drivers().used();
        assert!(!signing.drivers().is_used(), "sockets take too long there");
    }
}
