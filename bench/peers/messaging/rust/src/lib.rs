//! One end of messaging between two processes, as the runner drives it (`../README.md` has the protocol):
//!
//!     PROGRAM consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS

pub mod certificates;
pub mod tally;

use std::io::BufRead;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long after each other a producer that paces itself sends.
const PACE: Duration = Duration::from_millis(1);
/// How many messages a producer that does not makes at once.
pub const AT_ONCE: u64 = 64;

/// What is measured, and which end this is.
#[derive(Clone)]
pub struct Case {
    pub consumes: bool,
    pub scenario: String,
    pub producers: usize,
    pub consumers: usize,
    pub bytes: usize,
    pub paced: bool,
    pub secure: bool,
    /// How many each producer sends.
    pub messages: u64,
    /// Where the certificates are.
    pub folder: PathBuf,
    pub address: String,
}

impl Case {
    /// From the command line.
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

    /// Whether each message is for all consumers.
    pub fn is_broadcast(&self) -> bool {
        self.scenario == "broadcast"
    }

    /// To whom a producer sends, if it is not a broadcast.
    pub fn receiver(&self, producer: usize) -> usize {
        if self.scenario == "one-to-one" { producer } else { 0 }
    }

    /// How many messages each consumer gets.
    pub fn due(&self) -> u64 {
        if self.scenario == "one-to-one" { self.messages } else { self.messages * self.producers as u64 }
    }
}

/// As many threads as one of two processes gets.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}

/// Says that all is in place.
pub fn ready() {
    println!("ready");
}

/// Says that all is in place, and waits until the runner wants messages.
pub fn wait_for_go() -> Result<()> {
    ready();
    std::io::stdin().lock().lines().next().context("the runner has gone")??;
    Ok(())
}

/// Waits until the runner has seen enough.
pub fn wait_for_end() {
    std::io::stdin().lock().lines().for_each(drop);
}

/// Calls `send` with each producer's number, once for each of its messages, when it is due; producers are spread over the
/// pace. A thread's sleep, since the timers of tokio have steps of a millisecond.
pub fn pace(case: &Case, mut send: impl FnMut(usize)) {
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
