//! One end of messaging between two processes, as the runner drives it (`../README.md` has the protocol):
//!
//!     PROGRAM consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS

pub mod certificates;
pub mod tally;

use std::io::BufRead;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Interval between messages of a paced producer.
const PACE: Duration = Duration::from_millis(1);
/// Number of messages that an unpaced producer makes at once.
pub const AT_ONCE: u64 = 64;

/// Measured case, and the end of this process.
#[derive(Clone)]
pub struct MeasuredCase {
    pub consumes: bool,
    pub scenario: String,
    pub producers: usize,
    pub consumers: usize,
    pub bytes: usize,
    pub paced: bool,
    pub secure: bool,
    /// Number of messages of each producer.
    pub messages: u64,
    /// Folder of the certificates.
    pub folder: PathBuf,
    pub address: String,
}

impl MeasuredCase {
    /// Reads the case from the command line.
    pub fn read() -> Result<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [role, scenario, producers, consumers, bytes, mode, security, messages, folder, address] = arguments.as_slice()
        else {
            bail!("consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS");
        };
        Ok(Self {
            consumes: role == "consume",
            scenario: scenario.clone(),
            producers: producers.parse()?,
            consumers: consumers.parse()?,
            bytes: bytes.parse()?,
            paced: mode == "paced",
            secure: security != "open",
            messages: messages.parse()?,
            folder: folder.into(),
            address: address.clone(),
        })
    }

    /// Returns true if each message is for all consumers.
    pub fn is_broadcast(&self) -> bool {
        self.scenario == "broadcast"
    }

    /// Receiver of a producer's messages, except in a broadcast.
    pub fn receiver(&self, producer: usize) -> usize {
        if self.scenario == "one-to-one" { producer } else { 0 }
    }

    /// Number of messages that each consumer gets.
    pub fn due(&self) -> u64 {
        if self.scenario == "one-to-one" { self.messages } else { self.messages * self.producers as u64 }
    }
}

/// Number of threads for one of two processes.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

/// Prints that all is ready.
pub fn ready() {
    println!("ready");
}

/// Prints that all is ready, and waits until the runner wants messages.
pub fn wait_for_go() -> Result<()> {
    ready();
    std::io::stdin().lock().lines().next().context("the runner has gone")??;
    Ok(())
}

/// Waits until the runner has seen enough.
pub fn wait_for_end() {
    std::io::stdin().lock().lines().for_each(drop);
}

/// Calls `send` with each producer's number when one of its messages is due. Producers are spread over the interval.
/// The thread sleeps, since the timers of tokio have steps of a millisecond.
pub fn pace(case: &MeasuredCase, mut send: impl FnMut(usize)) {
    let begun = Instant::now() + Duration::from_millis(100);
    for message in 0..case.messages as u32 {
        for producer in 0..case.producers {
            let due = begun + PACE * message + PACE * producer as u32 / case.producers as u32;
            let early = due.saturating_duration_since(Instant::now());
            if !early.is_zero() {
                std::thread::sleep(early);
            }
            send(producer);
        }
    }
}
