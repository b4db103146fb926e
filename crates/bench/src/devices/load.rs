//! The process with the devices: one thread, an event loop, a task for each device.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};

use super::arguments::DevicesArguments;
use super::device;
use super::tally::{StretchTally, TallyLine};

/// Interval at which operations are given out.
const TICK: Duration = Duration::from_millis(1);
/// Devices that connect at the same time: fewer than may be strangers at one address.
const CONNECTING: usize = 128;
/// Longest time for acting devices to finish their operations.
const SETTLE: Duration = Duration::from_secs(60);
/// Number of operations of which one is a read.
const READ_EVERY: u64 = 10;

/// Reports of a process with devices, one line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum DeviceReport {
    /// All devices have their agents.
    Connected,
    /// Results of the last minute, or of a part of it.
    Minute {
        /// Results.
        tally: TallyLine,
    },
    /// Numbers of devices that lost their connection since the last line, and that have one.
    Devices {
        /// Number of connected devices.
        connected: usize,
    },
    /// All is over.
    Over {
        /// Devices whose state was not what they were told was safe, or newer.
        lost: u64,
        /// Devices whose state was looked at at the end.
        verified: u64,
        /// First fault, in words.
        trouble: Option<String>,
    },
}

/// Tasks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceTask {
    /// Have its state written.
    Write,
    /// Ask for something.
    Read,
}

/// An operation, and when it was due.
#[derive(Clone, Copy, Debug)]
pub struct LoadOperation {
    pub kind: DeviceTask,
    pub due: Instant,
}

/// State of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DevicePhase {
    /// The device has no connection.
    #[default]
    Away,
    /// The device is idle.
    Free,
    /// The device has an operation to do.
    Busy,
}

/// Record of a device, connected or not.
#[derive(Default)]
pub struct DeviceSlot {
    /// Next operation of the device.
    pub operation: Cell<Option<LoadOperation>>,
    pub wake: Notify,
    pub phase: Cell<DevicePhase>,
    /// The number of the last state that it had written, and of the last one that it was told is safe.
    pub written: Cell<u64>,
    pub safe: Cell<u64>,
    /// Address of the node that has its agent, if it was redirected there.
    pub redirect: Cell<Option<SocketAddr>>,
}

/// Shared state of all devices of this process.
pub struct DeviceLoad {
    pub what: DevicesArguments,
    pub node: SocketAddr,
    /// The number of the first device.
    pub first: u32,
    pub slots: Vec<DeviceSlot>,
    pub tally: RefCell<StretchTally>,
    /// Devices that were free once, in the order in which they are to act.
    turns: RefCell<VecDeque<usize>>,
    pub connecting: Semaphore,
    connected: Cell<usize>,
    changed: Notify,
    /// Devices are to leave, and to come back for their states.
    pub is_over: Cell<bool>,
    pub lost: Cell<u64>,
    pub verified: Cell<u64>,
    trouble: RefCell<Option<String>>,
}

impl DeviceLoad {
    fn new(what: DevicesArguments, node: SocketAddr, first: u32, count: usize) -> Self {
        Self {
            what,
            node,
            first,
            slots: std::iter::repeat_with(DeviceSlot::default).take(count).collect(),
            tally: RefCell::default(),
            turns: RefCell::default(),
            connecting: Semaphore::new(CONNECTING),
            connected: Cell::new(0),
            changed: Notify::new(),
            is_over: Cell::new(false),
            lost: Cell::new(0),
            verified: Cell::new(0),
            trouble: RefCell::default(),
        }
    }

    /// Notes that a device has nothing to do: it has its agent, or its operation is done.
    pub fn note_free(&self, slot: &DeviceSlot, index: usize) {
        if slot.phase.replace(DevicePhase::Free) == DevicePhase::Away {
            self.connected.set(self.connected.get() + 1);
            self.changed.notify_one();
        }
        self.turns.borrow_mut().push_back(index);
    }

    /// Notes that a device lost its connection. The outcome of its operation is unknown.
    pub fn note_away(&self, slot: &DeviceSlot) {
        slot.operation.take();
        let before = slot.phase.replace(DevicePhase::Away);
        if before == DevicePhase::Busy {
            self.tally.borrow_mut().errors += 1;
        }
        if before != DevicePhase::Away {
            self.connected.set(self.connected.get().saturating_sub(1));
            self.changed.notify_one();
        }
    }

    /// Notes a fault.
    pub fn note_trouble(&self, text: impl FnOnce() -> String) {
        self.trouble.borrow_mut().get_or_insert_with(text);
    }

    /// Notes that a device's state differs from the one that was acknowledged.
    pub fn note_lost(&self, text: String) {
        self.lost.set(self.lost.get() + 1);
        self.note_trouble(|| text);
    }

    /// Gives an operation to the device whose turn it is; false if none is free.
    fn give(&self, operation: LoadOperation) -> bool {
        loop {
            let Some(index) = self.turns.borrow_mut().pop_front() else { return false };
            let Some(slot) = self.slots.get(index) else { continue };
            // A device that lost its connection meanwhile comes back by itself.
            if slot.phase.get() == DevicePhase::Free {
                slot.phase.set(DevicePhase::Busy);
                slot.operation.set(Some(operation));
                slot.wake.notify_one();
                return true;
            }
        }
    }

    /// Gives operations out at a steady pace, whatever the node does, for as long as that.
    async fn pace(&self, seconds: u64) {
        let (begun, per_s) = (Instant::now(), f64::from(self.what.ops) * self.share());
        let whole = Duration::from_secs(seconds);
        let mut given = 0_u64;
        let mut ticks = tokio::time::interval(TICK);
        while begun.elapsed() < whole {
            ticks.tick().await;
            let due = (begun.elapsed().min(whole).as_secs_f64() * per_s) as u64;
            while given < due {
                let kind = if given % READ_EVERY == READ_EVERY - 1 { DeviceTask::Read } else { DeviceTask::Write };
                let at = begun + Duration::from_secs_f64((given as f64 + 1.0) / per_s);
                if !self.give(LoadOperation { kind, due: at }) {
                    self.tally.borrow_mut().late += 1;
                    break;
                }
                given += 1;
            }
        }
        // What nobody was free for is missing, and is to be seen.
        self.tally.borrow_mut().errors += (whole.as_secs_f64() * per_s) as u64 - given;
    }

    /// This process's part of all operations.
    fn share(&self) -> f64 {
        self.slots.len() as f64 / f64::from(self.what.devices)
    }

    /// Waits until all that was begun is over, for so long.
    async fn settle(&self) {
        let until = Instant::now() + SETTLE;
        let busy = || self.slots.iter().any(|slot| slot.phase.get() == DevicePhase::Busy);
        while busy() && Instant::now() < until {
            tokio::time::sleep(10 * TICK).await;
        }
    }
}

fn say(said: &DeviceReport) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(said)?)?;
    Ok(out.flush()?)
}

/// Has the devices that `--share` says connect, act when told to, and see what became of their states.
///
/// # Errors
/// There is no event loop to be had, or nobody listens to what is said.
pub fn run(what: &DevicesArguments, node: &str, first: u32, count: u32) -> anyhow::Result<()> {
    let node = node.parse().context("the node has no address")?;
    let load = Rc::new(DeviceLoad::new(what.clone(), node, first, count as usize));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no event loop")?;
    tokio::task::LocalSet::new().block_on(&runtime, act(load))
}

async fn act(load: Rc<DeviceLoad>) -> anyhow::Result<()> {
    let mut living: Vec<_> =
        (0..load.slots.len()).map(|index| tokio::task::spawn_local(device::live(Rc::clone(&load), index))).collect();
    while load.connected.get() < load.slots.len() {
        load.changed.notified().await;
    }
    say(&DeviceReport::Connected)?;
    // The other processes have not started yet, or the node's memory is being read.
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
    let reporter = tokio::task::spawn_local(tell(Rc::clone(&load)));
    load.pace(load.what.seconds).await;
    load.settle().await;
    reporter.abort();
    let tally = load.tally.take().told();
    say(&DeviceReport::Minute { tally })?;
    load.is_over.set(true);
    load.slots.iter().for_each(|slot| slot.wake.notify_one());
    for task in living.drain(..) {
        let _ = task.await;
    }
    let trouble = load.trouble.borrow().clone();
    say(&DeviceReport::Over { lost: load.lost.get(), verified: load.verified.get(), trouble })
}

/// Tells what is done, a line a minute, and how many are connected whenever that changes.
async fn tell(load: Rc<DeviceLoad>) {
    let mut minutes = tokio::time::interval(Duration::from_secs(load.what.every.max(1)));
    minutes.tick().await;
    loop {
        let said = tokio::select! {
            _ = minutes.tick() => DeviceReport::Minute { tally: load.tally.take().told() },
            () = load.changed.notified() => {
                // Thousands come and go at once.
                tokio::time::sleep(50 * TICK).await;
                DeviceReport::Devices { connected: load.connected.get() }
            }
        };
        if say(&said).is_err() {
            return;
        }
    }
}
