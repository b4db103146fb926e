//! Driver of sockets: moves the bytes of links and sessions on whichever thread has time.
//!
//! Their tasks live in runtimes of one thread each, which any thread can drive. A worker of the scheduler drives one
//! when it has nothing else to do (it *attends*), when it has just sent something, and now and then while it is busy.
//! So a message goes from its sender's turn to the socket, and from the socket to its receiver's turn, on one thread;
//! and memory is freed by the thread that allocated it. Each driver has a *home*, the shard whose number it has: that
//! shard's worker takes the attendance over from others, and agents of sessions live there. Each driver also has a
//! thread of its own, which drives while no worker does: before workers come, while all of them are in long turns, and
//! after they left.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::task::AbortHandle;
use whimbrel_platform::route::ShardIndex;

use crate::alarm::Alarm;

/// Time without a worker after which the driver's own thread drives.
const NEGLECT_MAX: Duration = Duration::from_millis(2);
/// Time limit for blocking tasks when a driver closes.
const CLOSE_PATIENCE: Duration = Duration::from_millis(100);

thread_local! {
    /// True if this thread drives or attends soon: see [`cork`].
    static GATHERS: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether this thread promises to drive or attend soon, and returns the former promise. With the promise, tasks
/// that the thread [wakes](SocketDriver::wake) wait until then. Waking one from outside would interrupt the thread that
/// drives it, as a rule this very thread.
pub(crate) fn cork(gathers: bool) -> bool {
    GATHERS.replace(gathers)
}

/// Driver of some sockets of a node.
pub(crate) struct SocketDriver {
    /// Shard whose worker attends rather than others.
    home: ShardIndex,
    handle: Handle,
    /// Shard of the worker that attends or is about to, as its number and one more; 0 if none.
    place: AtomicU32,
    /// Number of the attending worker's shard, and one more; 0 while no worker waits on the sockets.
    attendant: AtomicU32,
    /// True while the driver's own thread drives.
    is_own: AtomicBool,
    /// Ends the attendance.
    recall: Notify,
    /// Makes the driver's own thread give way to a worker.
    relief: Notify,
    /// Tasks to wake before the next poll; and whether there are any.
    due: Mutex<Vec<Arc<Notify>>>,
    is_due: AtomicBool,
    /// Number of arrivals on its sockets.
    came: AtomicU64,
    state: Mutex<DriverState>,
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

/// State of a driver: its engine, and what the workers and the driver's own thread know of one another.
#[derive(Default)]
struct DriverState {
    /// Engine, unless a thread holds it: that thread drives.
    engine: Option<Box<DriverEngine>>,
    /// Number of times that a worker drove.
    drives: u64,
    /// Number of workers that wait for the engine.
    wants: u32,
    /// True while a worker waits for events on the sockets.
    attends: bool,
    /// True while the driver's own thread sleeps until the worker stops attending.
    dozes: bool,
    closed: bool,
}

/// Engine while a thread holds it. It is put back when this is dropped.
struct HeldEngine<'a> {
    driver: &'a SocketDriver,
    engine: Option<Box<DriverEngine>>,
    attends: bool,
}

impl<'a> HeldEngine<'a> {
    fn new(driver: &'a SocketDriver, engine: Box<DriverEngine>) -> Self {
        Self { driver, engine: Some(engine), attends: false }
    }

    fn engine(&mut self) -> &mut DriverEngine {
        self.engine.as_mut().unwrap_or_else(|| unreachable!("the engine is held until the drop"))
    }
}

impl Drop for HeldEngine<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.driver.state);
        state.engine = self.engine.take();
        state.attends &= !self.attends;
        if std::mem::take(&mut state.dozes) || state.wants > 0 || state.closed {
            self.driver.changed.notify_all();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SocketDriver {
    /// Starts a driver and its own thread. Its home is the shard of this number.
    pub fn start(home: ShardIndex) -> io::Result<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let alarm = {
            let _here = handle.enter();
            Alarm::new()?
        };
        let engine = DriverEngine { runtime, alarm, watcher: PollingRecord::default() };
        let driver = Arc::new(Self {
            home,
            handle,
            place: AtomicU32::new(0),
            attendant: AtomicU32::new(0),
            is_own: AtomicBool::new(false),
            recall: Notify::new(),
            relief: Notify::new(),
            due: Mutex::default(),
            is_due: AtomicBool::new(false),
            came: AtomicU64::new(0),
            state: Mutex::new(DriverState { engine: Some(Box::new(engine)), ..DriverState::default() }),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&driver);
        let thread = std::thread::Builder::new().name(format!("whimbrel-link-{home}"));
        thread.spawn(move || own.drive_when_nobody_does())?;
        Ok(driver)
    }

    /// Returns the shard whose worker attends rather than others.
    pub fn home(&self) -> ShardIndex {
        self.home
    }

    /// Adds a task to the driver.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(task).abort_handle()
    }

    /// Wakes a task for new messages; if this thread [gathers](cork), not before it drives.
    pub fn wake(&self, task: &Arc<Notify>) {
        if !GATHERS.get() {
            return task.notify_one();
        }
        locked(&self.due).push(Arc::clone(task));
        self.is_due.store(true, Ordering::SeqCst);
        // The driver's own thread would not look before a worker drives: it sees the task, or this thread sees it.
        if self.is_own.load(Ordering::SeqCst) {
            self.wake_due();
        }
    }

    /// Returns true if tasks wait for the next thread that drives.
    fn is_due(&self) -> bool {
        self.is_due.load(Ordering::SeqCst)
    }

    /// Wakes the tasks that wait for the next thread that drives.
    fn wake_due(&self) {
        if self.is_due() && self.is_due.swap(false, Ordering::SeqCst) {
            locked(&self.due).drain(..).for_each(|task| task.notify_one());
        }
    }

    /// Writes what waits for the next thread that drives: on this thread, or on the one that drives.
    pub fn flush(&self) {
        if self.is_due() && !self.poll_io(|| (), 1) {
            self.wake_due();
        }
    }

    fn drive_when_nobody_does(&self) {
        // Nobody has driven so far.
        let mut seen = Some(0);
        while let Some(mut held) = self.engine_when_neglected(seen.take()) {
            self.is_own.store(true, Ordering::SeqCst);
            held.engine().runtime.block_on(async {
                self.wake_due();
                self.relief.notified().await;
            });
            self.is_own.store(false, Ordering::SeqCst);
        }
    }

    /// Waits until no worker drives any more, and takes the engine; `None` if the driver is closed. `seen` is the
    /// number of workers' drives when they were counted last.
    fn engine_when_neglected(&self, mut seen: Option<u64>) -> Option<HeldEngine<'_>> {
        let mut state = locked(&self.state);
        while !state.closed {
            let nothing_happened = seen == Some(state.drives);
            if nothing_happened
                && !state.attends
                && state.wants == 0
                && let Some(engine) = state.engine.take()
            {
                return Some(HeldEngine::new(self, engine));
            }
            seen = Some(state.drives);
            state = if nothing_happened && state.attends {
                // While a worker attends, that worker wakes this thread.
                state.dozes = true;
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(state, NEGLECT_MAX).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        None
    }

    /// Drives the sockets without waiting: first calls `first`, then does what is ready. False if another thread
    /// drives, or this one cannot.
    pub fn poll_io(&self, first: impl FnOnce(), passes: u32) -> bool {
        if Handle::try_current().is_ok() {
            return false;
        }
        let Some(mut held) = self.free_engine() else { return false };
        held.engine().runtime.block_on(async {
            self.wake_due();
            first();
            for _ in 0..passes {
                tokio::task::yield_now().await;
            }
        });
        true
    }

    /// Takes the engine, if no thread holds it.
    fn free_engine(&self) -> Option<HeldEngine<'_>> {
        let mut state = locked(&self.state);
        let engine = state.engine.take()?;
        state.drives += 1;
        Some(HeldEngine::new(self, engine))
    }

    /// Drives the sockets on this thread, the worker of `shard`, until it is [recalled](SocketDriver::recall), or for
    /// `at_most`. Calls `begin` when nothing stands in the way any more; `begin` decides whether to drive. Returns
    /// false if another worker drives them, unless this one is at home here.
    pub fn park_on_io(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        if Handle::try_current().is_ok() || !self.take_place(shard) {
            return false;
        }
        let attended = self.attend_alone(shard, at_most, begin);
        let _ = self.place.compare_exchange(place_of(shard), 0, Ordering::AcqRel, Ordering::Relaxed);
        attended
    }

    /// Takes the attending worker's place, if it is free, or for the worker that is at home here.
    fn take_place(&self, shard: ShardIndex) -> bool {
        if self.place.compare_exchange(0, place_of(shard), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return true;
        }
        let is_home = shard == self.home;
        if is_home {
            self.place.store(place_of(shard), Ordering::Release);
            // The other one attends, or still waits for the engine.
            if locked(&self.state).attends {
                self.recall();
            }
            self.changed.notify_all();
        }
        is_home
    }

    fn attend_alone(&self, shard: ShardIndex, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        let Some(mut held) = self.engine_for(shard) else { return false };
        // From here on this thread misses no recall, nor the closing of the driver.
        if begin() {
            self.attendant.store(place_of(shard), Ordering::Relaxed);
            self.wait_on_sockets(held.engine(), at_most);
            self.attendant.store(0, Ordering::Relaxed);
        }
        true
    }

    /// Takes the engine for the worker that attends. Waits until the driver's own thread, or the worker before, has put
    /// it back; `None` if this worker loses its place meanwhile, or the driver is closed.
    fn engine_for(&self, shard: ShardIndex) -> Option<HeldEngine<'_>> {
        let mut state = locked(&self.state);
        state.wants += 1;
        let engine = loop {
            if state.closed || self.place.load(Ordering::Acquire) != place_of(shard) {
                break None;
            }
            if let Some(engine) = state.engine.take() {
                break Some(engine);
            }
            self.relief.notify_one();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.wants -= 1;
        let engine = engine?;
        state.drives += 1;
        state.attends = true;
        Some(HeldEngine { driver: self, engine: Some(engine), attends: true })
    }

    fn wait_on_sockets(&self, engine: &mut DriverEngine, at_most: Option<Duration>) {
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

    /// Returns the shard whose worker attends and so runs the calling task of this driver.
    pub fn attendant(&self) -> Option<ShardIndex> {
        // Tasks run on the thread that drives, which is the one that sets this.
        let next = self.attendant.load(Ordering::Relaxed);
        next.checked_sub(1).and_then(|shard| ShardIndex::try_from(shard).ok())
    }

    /// Notes an arrival on one of the sockets.
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
        let mut state = locked(&self.state);
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        self.changed.notify_all();
        self.relief.notify_one();
        self.recall.notify_one();
        let engine = loop {
            match state.engine.take() {
                Some(engine) => break engine,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(state);
        let DriverEngine { runtime, alarm, .. } = *engine;
        drop(alarm);
        runtime.shutdown_timeout(CLOSE_PATIENCE);
    }
}

/// Returns true if a notification has come.
async fn is_ready(mut waited: Pin<&mut Notified<'_>>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(waited.as_mut().poll(cx).is_ready())).await
}

/// Returns a shard as the place of its worker: 0 is nobody's.
fn place_of(shard: ShardIndex) -> u32 {
    u32::from(shard) + 1
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// Driver with one task, which sends the name of its thread each time that it is woken.
    fn driver() -> (Arc<SocketDriver>, Arc<Notify>, Receiver<String>) {
        let (driver, wake) = (SocketDriver::start(0).unwrap(), Arc::new(Notify::new()));
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
            assert!(!driver.park_on_io(1, None, &|| true), "there is one place");
            assert!(!driver.poll_io(|| (), 1), "somebody drives");
            driver.recall();
            worker.join().unwrap();
        });
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN);
        driver.close();
    }

    #[test]
    fn home_worker_replaces_another() {
        let (driver, wake, told) = driver();
        std::thread::scope(|s| {
            let away = s.spawn(|| driver.park_on_io(1, None, &|| true));
            while driver.place.load(Ordering::Acquire) != place_of(1) {
                std::thread::yield_now();
            }
            let attending = std::thread::Builder::new().name("home".into());
            let home = attending.spawn_scoped(s, || assert!(driver.park_on_io(0, None, &|| true))).unwrap();
            let _ = away.join().unwrap();
            let deadline = Instant::now() + LONG;
            loop {
                wake.notify_one();
                if told.recv_timeout(LONG).unwrap() == "home" {
                    break;
                }
                assert!(Instant::now() < deadline);
            }
            assert!(!driver.park_on_io(1, None, &|| true), "the home worker stays");
            driver.recall();
            home.join().unwrap();
        });
        assert!(driver.park_on_io(1, Some(Duration::ZERO), &|| true), "the place is free again");
        driver.close();
    }

    #[test]
    fn rivals_never_hang() {
        let (driver, wake, told) = driver();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|s| {
            let rival = |shard| {
                let (driver, is_over) = (&driver, &is_over);
                move || {
                    while !is_over.load(Ordering::Acquire) {
                        driver.park_on_io(shard, Some(Duration::from_micros(300)), &|| true);
                        driver.poll_io(|| (), 1);
                    }
                }
            };
            (0..3).for_each(|shard| drop(s.spawn(rival(shard))));
            for _ in 0..2_000 {
                driver.wake(&wake);
                told.recv_timeout(LONG).expect("somebody drives");
            }
            is_over.store(true, Ordering::Release);
        });
        driver.close();
    }

    #[test]
    fn own_thread_sees_gathered_wakes() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN, "it drives by now");
        cork(true);
        driver.wake(&wake);
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN, "nobody else drives");
        cork(false);
        driver.close();
    }

    #[test]
    fn task_knows_attending_worker() {
        let (driver, wake) = (SocketDriver::start(0).unwrap(), Arc::new(Notify::new()));
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
