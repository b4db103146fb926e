//! Driver of links: moves their bytes on whichever thread has time.
//!
//! The tasks of links live in runtimes of one thread each, which any thread can drive. A worker of the scheduler drives
//! one when it has nothing else to do (it *attends*), when it has just sent something, and now and then while it is
//! busy. So a message goes from its sender's turn to the socket, and from the socket to its receiver's turn, on one
//! thread; and memory is freed by the thread that allocated it. Each driver also has a thread of its own, which drives
//! while no worker does: before workers come, while all of them are in long turns, and after they left.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use whimbrel_platform::route::ShardIndex;

use crate::alarm::Alarm;
use crate::peer::Peer;

/// Time without a worker after which the driver's own thread drives.
const NEGLECT_MAX: Duration = Duration::from_millis(2);
/// Time limit for blocking tasks when a driver closes.
const CLOSE_PATIENCE: Duration = Duration::from_millis(100);

thread_local! {
    /// True if this thread drives or attends soon: see [`cork`].
    static GATHERS: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether this thread promises to drive or attend soon, and returns the former promise. With the promise,
/// messages that the thread hands to links wait until then. Waking a link's task from outside would interrupt the
/// thread that drives it, as a rule this very thread.
pub(crate) fn cork(gathers: bool) -> bool {
    GATHERS.replace(gathers)
}

/// Driver of some links of a node.
pub(crate) struct LinkDriver {
    /// Engine; its holder drives.
    engine: Mutex<Option<DriverEngine>>,
    handle: Handle,
    /// True while a worker attends, or is about to.
    attended: AtomicBool,
    /// Number of the attending worker's shard, and one more; 0 while no worker waits on the links.
    attendant: AtomicU32,
    /// Ends the attendance.
    recall: Notify,
    /// Makes the driver's own thread give way to a worker.
    relief: Notify,
    /// Peers to wake before the next poll; and whether there are any.
    due: Mutex<Vec<Arc<Peer>>>,
    is_due: AtomicBool,
    /// Number of arrivals on its links.
    came: AtomicU64,
    watch: Mutex<WorkerWatch>,
    changed: Condvar,
}

struct DriverEngine {
    runtime: Runtime,
    alarm: Alarm,
    watcher: PollingRecord,
}

/// Time for which an attending thread polls before it sleeps. Waking a core takes a third of that; a node replies to
/// another one sooner.
const LOOK: Duration = Duration::from_micros(100);
/// Number of vain polls in a row after which polling is given up. Then one wait in [`LOOK_TRIED_ONCE_IN`] polls.
const LOOK_CREDIT_MAX: u32 = 8;
const LOOK_TRIED_ONCE_IN: u32 = 128;

/// Experience with polling before sleeping: it does not pay if the sender waits for this very core.
#[derive(Default)]
struct PollingRecord {
    credit: u32,
    waits: u32,
}

impl PollingRecord {
    /// Returns true if this wait is to poll first.
    fn is_worth_it(&mut self) -> bool {
        self.waits = self.waits.wrapping_add(1);
        self.credit > 0 || self.waits.is_multiple_of(LOOK_TRIED_ONCE_IN)
    }

    fn note(&mut self, paid: bool) {
        self.credit = if paid { (self.credit + 1).min(LOOK_CREDIT_MAX) } else { self.credit.saturating_sub(1) };
    }
}

/// State of workers, as the driver's own thread sees it.
#[derive(Default)]
struct WorkerWatch {
    /// Number of times that a worker drove.
    drives: u64,
    /// True while a worker waits for the driver's own thread to give way.
    wants: bool,
    /// True while a worker waits for events on the links.
    attends: bool,
    /// True while the driver's own thread sleeps until the worker stops attending.
    dozes: bool,
    closed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LinkDriver {
    /// Starts a driver and its own thread.
    pub fn start(number: usize) -> io::Result<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let alarm = {
            let _here = handle.enter();
            Alarm::new()?
        };
        let driver = Arc::new(Self {
            engine: Mutex::new(Some(DriverEngine { runtime, alarm, watcher: PollingRecord::default() })),
            handle,
            attended: AtomicBool::new(false),
            attendant: AtomicU32::new(0),
            recall: Notify::new(),
            relief: Notify::new(),
            due: Mutex::default(),
            is_due: AtomicBool::new(false),
            came: AtomicU64::new(0),
            watch: Mutex::default(),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&driver);
        let thread = std::thread::Builder::new().name(format!("whimbrel-link-{number}"));
        thread.spawn(move || own.drive_when_nobody_does())?;
        Ok(driver)
    }

    /// Adds a task to the driver.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(task));
    }

    /// Wakes the task of a link for new messages; if this thread [gathers](gather), not before it drives.
    pub fn wake(&self, peer: &Arc<Peer>) {
        if !GATHERS.get() {
            return peer.wake.notify_one();
        }
        locked(&self.due).push(Arc::clone(peer));
        self.is_due.store(true, Ordering::Release);
    }

    /// Returns true if tasks wait for the next thread that drives.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// Wakes the tasks that wait for the next thread that drives.
    fn wake_due(&self) {
        if self.is_due() && self.is_due.swap(false, Ordering::AcqRel) {
            locked(&self.due).drain(..).for_each(|peer| peer.wake.notify_one());
        }
    }

    /// Writes what waits for the next thread that drives: on this thread, or on the one that drives.
    pub fn flush(&self) {
        if self.is_due() && !self.poll_io(|| (), 1) {
            self.wake_due();
        }
    }

    fn drive_when_nobody_does(&self) {
        loop {
            {
                let engine = locked(&self.engine);
                let Some(engine) = &*engine else { return };
                engine.runtime.block_on(async {
                    self.wake_due();
                    self.relief.notified().await;
                });
            }
            if !self.is_neglected() {
                return;
            }
        }
    }

    /// Waits until no worker drives any more; false if the driver is closed.
    fn is_neglected(&self) -> bool {
        let (mut watch, mut seen) = (locked(&self.watch), None);
        while !watch.closed {
            let nothing_happened = seen == Some(watch.drives);
            if nothing_happened && !watch.attends && !watch.wants {
                return true;
            }
            seen = Some(watch.drives);
            watch = if nothing_happened && watch.attends {
                // While a worker attends, that worker wakes this thread.
                watch.dozes = true;
                self.changed.wait(watch).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(watch, NEGLECT_MAX).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        false
    }

    /// Drives the links without waiting: first calls `first`, then does what is ready. False if another thread drives,
    /// or this one cannot.
    pub fn poll_io(&self, first: impl FnOnce(), passes: u32) -> bool {
        if Handle::try_current().is_ok() {
            return false;
        }
        let engine = match self.engine.try_lock() {
            Ok(engine) => engine,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let Some(engine) = &*engine else { return false };
        locked(&self.watch).drives += 1;
        engine.runtime.block_on(async {
            self.wake_due();
            first();
            for _ in 0..passes {
                tokio::task::yield_now().await;
            }
        });
        true
    }

    /// Drives the links on this thread, the worker of `shard`, until it is [recalled](LinkDriver::recall), or for
    /// `at_most`. Calls `begin` when nothing stands in the way any more; `begin` decides whether to drive. Returns
    /// false if another thread drives them.
    pub fn park_on_io(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        if Handle::try_current().is_ok() || self.attended.swap(true, Ordering::Acquire) {
            return false;
        }
        let attended = self.attend_alone(shard, at_most, begin);
        self.attended.store(false, Ordering::Release);
        attended
    }

    fn attend_alone(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        let mut engine = match self.engine.try_lock() {
            Ok(engine) => engine,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // In this order, the own thread does not come back before this thread was there.
                locked(&self.watch).wants = true;
                self.relief.notify_one();
                locked(&self.engine)
            }
        };
        let engine = engine.as_mut();
        let engine = {
            let mut watch = locked(&self.watch);
            watch.wants = false;
            let Some(engine) = engine.filter(|_| !watch.closed) else { return false };
            watch.drives += 1;
            watch.attends = true;
            engine
        };
        // From here on this thread misses no recall, nor the closing of the driver.
        if begin() {
            self.attendant.store(u32::from(shard) + 1, Ordering::Relaxed);
            self.wait_on_links(engine, at_most);
            self.attendant.store(0, Ordering::Relaxed);
        }
        let mut watch = locked(&self.watch);
        watch.attends = false;
        if std::mem::take(&mut watch.dozes) {
            self.changed.notify_one();
        }
        true
    }

    fn wait_on_links(&self, engine: &mut DriverEngine, at_most: Option<Duration>) {
        let DriverEngine { runtime, alarm, watcher } = engine;
        runtime.block_on(async {
            self.wake_due();
            let mut recalled = pin!(self.recall.notified());
            if self.look(watcher, recalled.as_mut(), at_most).await {
                return;
            }
            match at_most {
                None => recalled.await,
                Some(at_most) => tokio::select! {
                    () = recalled => {}
                    () = alarm.rings_in(at_most) => {}
                },
            }
        });
    }

    /// Returns the shard whose worker attends and so runs the calling task, a link of this driver.
    pub fn attendant(&self) -> Option<ShardIndex> {
        // Tasks run on the thread that drives, which is the one that sets this.
        let next = self.attendant.load(Ordering::Relaxed);
        next.checked_sub(1).and_then(|shard| ShardIndex::try_from(shard).ok())
    }

    /// Notes an arrival on one of the links.
    pub fn note_came(&self) {
        self.came.fetch_add(1, Ordering::Relaxed);
    }

    /// Polls for arrivals before sleeping, as long as that pays. True if this thread is recalled.
    async fn look(
        &self,
        watcher: &mut PollingRecord,
        mut recalled: Pin<&mut Notified<'_>>,
        at_most: Option<Duration>,
    ) -> bool {
        let end = at_most.map(|at_most| Instant::now() + at_most);
        while watcher.is_worth_it() {
            // Bytes that have arrived already are no merit of polling.
            tokio::task::yield_now().await;
            if is_ready(recalled.as_mut()).await {
                return true;
            }
            let (came, began) = (self.came.load(Ordering::Relaxed), Instant::now());
            let until = end.map_or(began + LOOK, |end| end.min(began + LOOK));
            let is_recalled = loop {
                if is_ready(recalled.as_mut()).await {
                    break true;
                }
                if self.came.load(Ordering::Relaxed) != came || Instant::now() >= until {
                    break false;
                }
                tokio::task::yield_now().await;
            };
            let paid = is_recalled || self.came.load(Ordering::Relaxed) != came;
            watcher.note(paid);
            if is_recalled || !paid {
                return is_recalled;
            }
        }
        false
    }

    /// Recalls the attending thread, since it has got work.
    pub fn recall(&self) {
        self.recall.notify_one();
    }

    /// Closes the driver and ends all its tasks.
    pub fn close(&self) {
        locked(&self.watch).closed = true;
        self.changed.notify_one();
        self.relief.notify_one();
        self.recall.notify_one();
        if let Some(engine) = locked(&self.engine).take() {
            drop(engine.alarm);
            engine.runtime.shutdown_timeout(CLOSE_PATIENCE);
        }
    }
}

/// Returns true if a notification has come.
async fn is_ready(mut waited: Pin<&mut Notified<'_>>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(waited.as_mut().poll(cx).is_ready())).await
}

/// Drivers of a hub; closed when this is dropped.
pub(crate) struct Drivers(Vec<Arc<LinkDriver>>);

impl Drivers {
    /// Starts this many drivers.
    pub fn start(count: usize) -> io::Result<Self> {
        let mut drivers = Self(Vec::new());
        for number in 0..count {
            drivers.0.push(LinkDriver::start(number)?);
        }
        Ok(drivers)
    }

    /// Returns all drivers.
    pub fn all(&self) -> Vec<Arc<LinkDriver>> {
        self.0.clone()
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        self.0.iter().for_each(|driver| driver.close());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// Driver with one task, which sends the name of its thread each time that it is woken.
    fn driver() -> (Arc<LinkDriver>, Arc<Notify>, Receiver<String>) {
        let (driver, wake) = (LinkDriver::start(0).unwrap(), Arc::new(Notify::new()));
        let (tell, told) = channel();
        let waking = Arc::clone(&wake);
        driver.spawn(async move {
            loop {
                waking.notified().await;
                let _ = tell.send(std::thread::current().name().unwrap_or_default().to_owned());
            }
        });
        (driver, wake, told)
    }

    fn here() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    const OWN: &str = "whimbrel-link-0";

    #[test]
    fn own_thread_drives_without_workers() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN);
        driver.close();
    }

    #[test]
    fn recalled_worker_stops_driving() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        told.recv_timeout(LONG).unwrap();
        std::thread::scope(|s| {
            let attending = std::thread::Builder::new().name("attends".into());
            let worker = attending.spawn_scoped(s, || assert!(driver.park_on_io(0, None, &|| true))).unwrap();
            // The own thread gives way at some time; what is done until then is done, too.
            let deadline = Instant::now() + LONG;
            loop {
                wake.notify_one();
                if told.recv_timeout(LONG).unwrap() == "attends" {
                    break;
                }
                assert!(Instant::now() < deadline);
            }
            assert!(!driver.park_on_io(0, None, &|| true), "there is one place");
            assert!(!driver.poll_io(|| (), 1), "somebody drives");
            driver.recall();
            worker.join().unwrap();
        });
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN);
        driver.close();
    }

    #[test]
    fn task_knows_attending_worker() {
        let (driver, wake) = (LinkDriver::start(0).unwrap(), Arc::new(Notify::new()));
        let (tell, told) = channel();
        let (asked, waking) = (Arc::clone(&driver), Arc::clone(&wake));
        driver.spawn(async move {
            loop {
                waking.notified().await;
                let _ = tell.send(asked.attendant());
            }
        });
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), None, "the own thread drives");
        std::thread::scope(|s| {
            let worker = s.spawn(|| assert!(driver.park_on_io(3, None, &|| true)));
            let deadline = Instant::now() + LONG;
            let shard = loop {
                wake.notify_one();
                if let Some(shard) = told.recv_timeout(LONG).unwrap() {
                    break shard;
                }
                assert!(Instant::now() < deadline);
            };
            assert_eq!(shard, 3);
            driver.recall();
            worker.join().unwrap();
        });
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), None, "the own thread drives again");
        driver.close();
    }

    #[test]
    fn attendance_ends_in_time() {
        let (driver, _, _told) = driver();
        let begun = Instant::now();
        assert!(driver.park_on_io(0, Some(LONG), &|| false));
        assert!(begun.elapsed() < LONG);
        let wait = Duration::from_millis(3);
        let begun = Instant::now();
        assert!(driver.park_on_io(0, Some(wait), &|| true));
        assert!(begun.elapsed() >= wait);
        driver.close();
    }

    #[test]
    fn driving_runs_tasks_here() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        told.recv_timeout(LONG).unwrap();
        // Attending makes the own thread give way. It comes back when neglected, as it is if this thread sleeps in
        // between.
        while !(driver.park_on_io(0, Some(Duration::ZERO), &|| true) && driver.poll_io(|| wake.notify_one(), 1)) {}
        assert_eq!(told.try_recv().unwrap(), here());
        // Within a runtime nothing is driven: it may be this very runtime.
        let other = Builder::new_current_thread().build().unwrap();
        assert!(!other.block_on(async { driver.poll_io(|| (), 1) }));
        driver.close();
    }

    #[test]
    fn polling_stops_when_it_is_vain() {
        let mut watcher = PollingRecord::default();
        let tries =
            |watcher: &mut PollingRecord| (0..10 * LOOK_TRIED_ONCE_IN).filter(|_| watcher.is_worth_it()).count();
        assert_eq!(tries(&mut watcher), 10);
        watcher.note(true);
        assert!(watcher.is_worth_it());
        (0..100).for_each(|_| watcher.note(true));
        (1..LOOK_CREDIT_MAX).for_each(|_| watcher.note(false));
        assert!(watcher.is_worth_it());
        watcher.note(false);
        assert_eq!(tries(&mut watcher), 10);
    }

    #[test]
    fn closing_ends_an_attendance() {
        for _ in 0..50 {
            let (driver, _, _told) = driver();
            std::thread::scope(|s| {
                let worker = s.spawn(|| while driver.park_on_io(0, None, &|| true) {});
                driver.close();
                worker.join().unwrap();
            });
            assert!(!driver.park_on_io(0, None, &|| true) && !driver.poll_io(|| (), 1));
        }
    }
}
