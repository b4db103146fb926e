//! Who moves the bytes of links: whoever has time.
//!
//! The tasks of links live in runtimes of one thread each, which any thread can lend itself to. A worker of the scheduler
//! does so when it has nothing else to do (it *attends*), when it has just sent something, and now and then while it is
//! busy: so that a message goes from its sender's turn to the socket, and from the socket to its receiver's turn, on one
//! thread, and what was made by one thread is freed by it. Each driver has a thread of its own besides, which sees to the
//! links while no worker does: before workers come, while all of them are in long turns, and after they left.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::alarm::Alarm;
use crate::peer::Peer;

/// How long links may be neglected by the workers that drove them, before the driver's own thread sees to them.
const NEGLECT_MAX: Duration = Duration::from_millis(2);
/// How long the end waits for tasks that block.
const CLOSE_PATIENCE: Duration = Duration::from_millis(100);

thread_local! {
    /// This thread drives or attends soon: see [`gather`].
    static GATHERS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread promises to drive or attend soon: then what it hands to links waits for that. Who wakes a link's task
/// from outside interrupts the wait of the thread that drives it, itself as a rule. What was so before.
pub(crate) fn gather(gathers: bool) -> bool {
    GATHERS.replace(gathers)
}

/// See the module.
pub(crate) struct Driver {
    /// Whoever holds it drives.
    engine: Mutex<Option<Engine>>,
    handle: Handle,
    /// A worker attends, or is about to.
    attended: AtomicBool,
    /// Ends the attendance.
    recall: Notify,
    /// Has the driver's own thread make way for a worker.
    relief: Notify,
    /// Whose tasks whoever drives next is to wake first, and whether there are any.
    due: Mutex<Vec<Arc<Peer>>>,
    is_due: AtomicBool,
    /// How often something came on its links.
    came: AtomicU64,
    watch: Mutex<Watch>,
    changed: Condvar,
}

struct Engine {
    runtime: Runtime,
    alarm: Alarm,
    watcher: Watcher,
}

/// How long whoever attends looks for what comes before it sleeps. A core that sleeps takes a third of that to wake; a node answers
/// another one in less.
const LOOK: Duration = Duration::from_micros(100);
/// How often in a row that must not have paid until it is given up, and of how many times then it is tried once.
const LOOK_CREDIT_MAX: u32 = 8;
const LOOK_TRIED_ONCE_IN: u32 = 128;

/// Whether it pays to look for what comes before sleeping, by experience: not if the one that it comes from waits for this core.
#[derive(Default)]
struct Watcher {
    credit: u32,
    waits: u32,
}

impl Watcher {
    /// Whether it is to be looked now.
    fn is_worth_it(&mut self) -> bool {
        self.waits = self.waits.wrapping_add(1);
        self.credit > 0 || self.waits.is_multiple_of(LOOK_TRIED_ONCE_IN)
    }

    fn note(&mut self, paid: bool) {
        self.credit = if paid { (self.credit + 1).min(LOOK_CREDIT_MAX) } else { self.credit.saturating_sub(1) };
    }
}

/// What the driver's own thread knows of what workers do.
#[derive(Default)]
struct Watch {
    /// How often a worker drove.
    drives: u64,
    /// A worker waits for the driver's own thread to make way.
    wants: bool,
    /// A worker waits for what happens on the links.
    attends: bool,
    /// The driver's own thread sleeps until the worker does not.
    dozes: bool,
    closed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver {
    /// Starts a driver and its own thread.
    pub fn start(number: usize) -> io::Result<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let alarm = {
            let _here = handle.enter();
            Alarm::new()?
        };
        let driver = Arc::new(Self {
            engine: Mutex::new(Some(Engine { runtime, alarm, watcher: Watcher::default() })),
            handle,
            attended: AtomicBool::new(false),
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

    /// Gives the driver one task more.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(task));
    }

    /// Has the task of a link of this driver's see what was handed to it; not before this thread drives, if it [gathers](gather).
    pub fn wake(&self, peer: &Arc<Peer>) {
        if !GATHERS.get() {
            return peer.wake.notify_one();
        }
        locked(&self.due).push(Arc::clone(peer));
        self.is_due.store(true, Ordering::Release);
    }

    /// Whether tasks wait for whoever drives next.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// Wakes those tasks.
    fn wake_due(&self) {
        if self.is_due() && self.is_due.swap(false, Ordering::AcqRel) {
            locked(&self.due).drain(..).for_each(|peer| peer.wake.notify_one());
        }
    }

    /// Has what waits for whoever drives next written now: by this thread, or by the one that drives.
    pub fn see_off(&self) {
        if self.is_due() && !self.drive(|| (), 1) {
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
                // All is quiet: whoever attends says when that is over.
                watch.dozes = true;
                self.changed.wait(watch).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(watch, NEGLECT_MAX).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        false
    }

    /// Does what there is to do on the links, `first` before everything else, and waits for nothing. False if another
    /// thread does so, or this one cannot.
    pub fn drive(&self, first: impl FnOnce(), passes: u32) -> bool {
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

    /// Has this thread see to the links until it is [recalled](Driver::recall), or for `at_most`. `begin` is called when
    /// nothing stands in the way of that any more, and says whether to. False if another thread attends.
    pub fn attend(&self, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        if Handle::try_current().is_ok() || self.attended.swap(true, Ordering::Acquire) {
            return false;
        }
        let attended = self.attend_alone(at_most, begin);
        self.attended.store(false, Ordering::Release);
        attended
    }

    fn attend_alone(&self, at_most: Option<Duration>, begin: &dyn Fn() -> bool) -> bool {
        let mut engine = match self.engine.try_lock() {
            Ok(engine) => engine,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // In this order: the own thread does not come back before this one was there.
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
        // What calls this thread back from here on, the closing of the driver among it, is not missed.
        if begin() {
            self.wait_on_links(engine, at_most);
        }
        let mut watch = locked(&self.watch);
        watch.attends = false;
        if std::mem::take(&mut watch.dozes) {
            self.changed.notify_one();
        }
        true
    }

    fn wait_on_links(&self, engine: &mut Engine, at_most: Option<Duration>) {
        let Engine { runtime, alarm, watcher } = engine;
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

    /// Something came on one of its links.
    pub fn note_came(&self) {
        self.came.fetch_add(1, Ordering::Relaxed);
    }

    /// Looks for what comes before it sleeps, as long as that pays. True if this thread is recalled.
    async fn look(
        &self,
        watcher: &mut Watcher,
        mut recalled: Pin<&mut Notified<'_>>,
        at_most: Option<Duration>,
    ) -> bool {
        let end = at_most.map(|at_most| Instant::now() + at_most);
        while watcher.is_worth_it() {
            // What is there already is no merit of looking.
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

    /// Has the thread that attends go back to its work. To be called by whoever gave it some.
    pub fn recall(&self) {
        self.recall.notify_one();
    }

    /// Ends all tasks.
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

/// Whether what is waited for has come.
async fn is_ready(mut waited: Pin<&mut Notified<'_>>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(waited.as_mut().poll(cx).is_ready())).await
}

/// Drivers, closed when this is dropped.
pub(crate) struct Drivers(Vec<Arc<Driver>>);

impl Drivers {
    /// Starts so many.
    pub fn start(count: usize) -> io::Result<Self> {
        let mut drivers = Self(Vec::new());
        for number in 0..count {
            drivers.0.push(Driver::start(number)?);
        }
        Ok(drivers)
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Driver>> {
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

    /// A driver with one task, which tells which thread it runs on each time that it is woken.
    fn driver() -> (Arc<Driver>, Arc<Notify>, Receiver<String>) {
        let (driver, wake) = (Driver::start(0).unwrap(), Arc::new(Notify::new()));
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
    fn its_own_thread_drives_when_nobody_does() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN);
        driver.close();
    }

    #[test]
    fn who_attends_drives_until_recalled_and_the_own_thread_comes_back() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        told.recv_timeout(LONG).unwrap();
        std::thread::scope(|s| {
            let attending = std::thread::Builder::new().name("attends".into());
            let worker = attending.spawn_scoped(s, || assert!(driver.attend(None, &|| true))).unwrap();
            // The own thread makes way some time; what is done until then is done, too.
            let deadline = Instant::now() + LONG;
            loop {
                wake.notify_one();
                if told.recv_timeout(LONG).unwrap() == "attends" {
                    break;
                }
                assert!(Instant::now() < deadline);
            }
            assert!(!driver.attend(None, &|| true), "there is one place");
            assert!(!driver.drive(|| (), 1), "somebody drives");
            driver.recall();
            worker.join().unwrap();
        });
        wake.notify_one();
        assert_eq!(told.recv_timeout(LONG).unwrap(), OWN);
        driver.close();
    }

    #[test]
    fn who_attends_comes_back_in_time_and_who_has_work_does_not_begin() {
        let (driver, _, _told) = driver();
        let begun = Instant::now();
        assert!(driver.attend(Some(LONG), &|| false));
        assert!(begun.elapsed() < LONG);
        let wait = Duration::from_millis(3);
        let begun = Instant::now();
        assert!(driver.attend(Some(wait), &|| true));
        assert!(begun.elapsed() >= wait);
        driver.close();
    }

    #[test]
    fn what_is_driven_is_done_here_and_at_once() {
        let (driver, wake, told) = driver();
        wake.notify_one();
        told.recv_timeout(LONG).unwrap();
        // Attending makes the own thread give way; it comes back when neglected, as it is if this one sleeps in between.
        while !(driver.attend(Some(Duration::ZERO), &|| true) && driver.drive(|| wake.notify_one(), 1)) {}
        assert_eq!(told.try_recv().unwrap(), here());
        // Within a runtime nothing is driven: it may be this one.
        let other = Builder::new_current_thread().build().unwrap();
        assert!(!other.block_on(async { driver.drive(|| (), 1) }));
        driver.close();
    }

    #[test]
    fn it_is_looked_as_long_as_that_pays_and_now_and_then() {
        let mut watcher = Watcher::default();
        let tries = |watcher: &mut Watcher| (0..10 * LOOK_TRIED_ONCE_IN).filter(|_| watcher.is_worth_it()).count();
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
                let worker = s.spawn(|| while driver.attend(None, &|| true) {});
                driver.close();
                worker.join().unwrap();
            });
            assert!(!driver.attend(None, &|| true) && !driver.drive(|| (), 1));
        }
    }
}
