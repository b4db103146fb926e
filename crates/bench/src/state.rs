//! The state of agents, written to a store: nine operations of ten write an agent's new state, one reads its last. Each
//! agent has one operation at a time, as agents have whose steps are durable before any effect is visible.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use whimbrel_platform::store::{Append, Epoch, Journal, Lsn, Partition};
use whimbrel_store::{Embedded, Memory, OpenOptions};

use super::{Metrics, percentile};

/// Unmeasured time at the start, until caches are warm and files exist.
const WARM_UP: Duration = Duration::from_millis(500);
/// Number of calls after which unused frames are forgotten, a partition at a time.
const TRIM_CALLS: u64 = 16;
/// Exit status of a program that Ctrl-C ended, as in shells.
const INTERRUPTED: i32 = 130;
const EPOCH: Epoch = Epoch(1);

/// Measure writes and reads of durable states.
#[derive(Debug, Args)]
pub struct StateArguments {
    /// Store of the states: embedded, memory (excludes the cost of the disk), or a cluster engine at
    /// nats://HOST:PORT/NAME. There, a store of that name is created and removed.
    #[arg(long, value_name = "STORE", default_value = "embedded")]
    pub store: StoreKind,
    /// Number of agents, each with one operation at a time.
    #[arg(long, default_value_t = 1_024, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub writers: u64,
    /// Size of an agent's state in bytes.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(16..))]
    pub bytes: u16,
    /// Share of operations that read. Use 0 with a cluster engine, because nodes read states of their agents from their
    /// own memory.
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=90))]
    pub reads: u64,
    /// Duration of the measurement in seconds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Number of threads that write for the agents [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Folder for the temporary store [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Stores of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// In a directory.
    Embedded,
    /// In this process's memory, which excludes the cost of the disk.
    Memory,
    /// In a cluster engine at this address.
    #[cfg(feature = "nats")]
    Nats(String),
}

impl std::str::FromStr for StoreKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "embedded" => Ok(Self::Embedded),
            "memory" => Ok(Self::Memory),
            #[cfg(feature = "nats")]
            address if address.contains("://") => Ok(Self::Nats(address.to_owned())),
            #[cfg(not(feature = "nats"))]
            address if address.contains("://") => Err(whimbrel::build_parts::NATS_ABSENT.to_owned()),
            _ => Err("expected embedded, memory, or nats://HOST:PORT/NAME".to_owned()),
        }
    }
}

/// Store under test, and its properties.
#[derive(Clone)]
struct StoreUnderTest {
    journal: Arc<dyn Journal>,
    embedded: Option<Arc<Embedded>>,
    #[cfg(feature = "nats")]
    nats: Option<Arc<whimbrel_store::nats::Nats>>,
}

impl StoreUnderTest {
    fn open(what: &StateArguments, folder: &std::path::Path) -> anyhow::Result<Self> {
        let mut subject = Self {
            journal: Arc::new(Memory::default()),
            embedded: None,
            #[cfg(feature = "nats")]
            nats: None,
        };
        match &what.store {
            StoreKind::Memory => {}
            StoreKind::Embedded => {
                let embedded = Arc::new(Embedded::open(folder, &OpenOptions::default())?);
                subject.journal = embedded.clone();
                subject.embedded = Some(embedded);
            }
            #[cfg(feature = "nats")]
            StoreKind::Nats(address) => {
                let name = format!("bench-{}", std::process::id());
                let options = whimbrel_store::nats::EngineOptions { name, ..Default::default() };
                let nats = Arc::new(whimbrel_store::nats::Nats::connect(address, options)?);
                subject.journal = nats.clone();
                subject.nats = Some(nats);
            }
        }
        Ok(subject)
    }

    /// Bytes written to the journal so far.
    fn journal_bytes(&self) -> Option<u64> {
        #[cfg(feature = "nats")]
        if let Some(nats) = &self.nats {
            return Some(nats.written_bytes());
        }
        self.embedded.as_ref().map(|store| store.written_bytes())
    }

    /// Removes what is not in the folder.
    fn remove(self) -> anyhow::Result<()> {
        #[cfg(feature = "nats")]
        if let Some(nats) = &self.nats {
            nats.erase()?;
        }
        Ok(())
    }
}

/// Runs the benchmark.
///
/// # Errors
/// The store cannot be opened, refuses a frame, or has not what it acknowledged.
pub fn run(what: &StateArguments) -> anyhow::Result<Metrics> {
    let folder = StateFolder::new(what.dir.as_deref())?;
    let left = folder.0.clone();
    ctrlc::set_handler(move || {
        let _ = std::fs::remove_dir_all(&left);
        std::process::exit(INTERRUPTED);
    })?;
    let subject = StoreUnderTest::open(what, &folder.0)?;
    for partition in 0..subject.journal.partitions() {
        subject.journal.open(Partition(partition), EPOCH)?;
    }
    let threads = what.threads.map_or_else(cores, u64::from).min(what.writers).max(1);
    let begin = Instant::now() + WARM_UP;
    let end = begin + Duration::from_secs(what.seconds);
    let mut before = (None, None);
    let committers = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|index| {
                let mut committer = Committer::new(what, &*subject.journal, index, threads);
                scope.spawn(move || committer.run(begin, end).map(|()| committer.done()))
            })
            .collect();
        std::thread::sleep(begin.saturating_duration_since(Instant::now()));
        before = (subject.journal_bytes(), device_bytes());
        let joined = started.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?);
        joined.collect::<anyhow::Result<Vec<ThreadResult>>>()
    })?;
    let after = (subject.journal_bytes(), device_bytes());
    drop(subject);
    check(what, &folder, &committers)?;
    Ok(metrics(what, committers, before, after))
}

fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}

/// Bytes that this process had written to disks, where the operating system tells.
fn device_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.parse().ok()
}

/// A folder that goes when it is over.
struct StateFolder(PathBuf);

impl StateFolder {
    fn new(within: Option<&std::path::Path>) -> anyhow::Result<Self> {
        let within = within.map_or_else(|| std::env::current_dir().unwrap_or_default(), std::path::Path::to_owned);
        let path = within.join(format!("whimbrel-bench-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An agent, and where its last state is.
struct StateAgent {
    name: u64,
    writes: u64,
    last: Lsn,
}

/// A partition: its agents, and how many frames it has.
struct StatePartition {
    partition: Partition,
    agents: Vec<StateAgent>,
    number: u64,
}

/// A thread, which writes for the agents of its partitions.
struct Committer<'a> {
    journal: &'a dyn Journal,
    parts: Vec<StatePartition>,
    bytes: usize,
    random: u64,
    write_ms: Vec<f64>,
    reads: u64,
    reads_percent: u64,
}

/// Result of a thread.
struct ThreadResult {
    write_ms: Vec<f64>,
    reads: u64,
    /// Last acknowledged frame of each agent, with its partition and place.
    last: Vec<(Partition, Lsn, Vec<u8>)>,
}

/// Makes the state of an agent: its name, the number of its writes, and bytes of its own.
fn state(name: u64, writes: u64, bytes: usize) -> Vec<u8> {
    let mut random = name.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ writes | 1;
    let mut frame = Vec::with_capacity(bytes + 8);
    frame.extend_from_slice(&name.to_le_bytes());
    frame.extend_from_slice(&writes.to_le_bytes());
    while frame.len() < bytes {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        frame.extend_from_slice(&random.to_le_bytes());
    }
    frame.truncate(bytes);
    frame
}

impl<'a> Committer<'a> {
    fn new(what: &StateArguments, journal: &'a dyn Journal, index: u64, threads: u64) -> Self {
        let partitions = u64::from(journal.partitions());
        let mine = (0..partitions).filter(|partition| partition % threads == index);
        let parts = mine.map(|partition| StatePartition {
            partition: Partition(partition as u16),
            agents: (partition..what.writers)
                .step_by(partitions as usize)
                .map(|name| StateAgent { name, writes: 0, last: Lsn(0) })
                .collect(),
            number: 0,
        });
        let bytes = usize::from(what.bytes);
        let random = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self {
            journal,
            parts: parts.collect(),
            bytes,
            random,
            write_ms: Vec::new(),
            reads: 0,
            reads_percent: what.reads,
        }
    }

    /// Performs one operation of each agent after the other, until time is over.
    fn run(&mut self, begin: Instant, end: Instant) -> anyhow::Result<()> {
        self.call(true)?;
        for calls in 0.. {
            let started = Instant::now();
            if started >= end {
                break;
            }
            let (writes, reads) = self.call(false)?;
            if started >= begin {
                let ms = started.elapsed().as_secs_f64() * 1_000.0;
                self.write_ms.extend((0..writes).map(|_| ms));
                self.reads += reads;
            }
            if u64::is_multiple_of(calls, TRIM_CALLS) {
                self.trim(calls / TRIM_CALLS)?;
            }
        }
        Ok(())
    }

    /// Performs an operation of each agent, and returns the numbers of writes and reads.
    fn call(&mut self, writes_only: bool) -> anyhow::Result<(u64, u64)> {
        let mut frames = Vec::new();
        let mut reads = 0;
        for (part_index, part) in self.parts.iter_mut().enumerate() {
            for (index, agent) in part.agents.iter_mut().enumerate() {
                self.random =
                    self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if !writes_only && (self.random >> 33) % 100 < self.reads_percent {
                    read(self.journal, part.partition, agent.last, &state(agent.name, agent.writes, self.bytes))?;
                    reads += 1;
                    continue;
                }
                agent.writes += 1;
                part.number += 1;
                let frame = state(agent.name, agent.writes, self.bytes);
                frames.push((part_index, index, part.partition, part.number, frame));
            }
        }
        let appends: Vec<Append<'_>> = frames
            .iter()
            .map(|(.., partition, number, frame)| Append {
                partition: *partition,
                epoch: EPOCH,
                number: *number,
                frame,
            })
            .collect();
        for (result, (part, index, ..)) in self.journal.append(&appends).into_iter().zip(&frames) {
            let agent = self.parts.get_mut(*part).and_then(|part| part.agents.get_mut(*index));
            if let Some(agent) = agent {
                agent.last = result?;
            }
        }
        Ok((frames.len() as u64, reads))
    }

    /// Forgets what is older than the last state of any agent of a partition.
    fn trim(&self, turn: u64) -> anyhow::Result<()> {
        let count = self.parts.len().max(1) as u64;
        let Some(part) = self.parts.get((turn % count) as usize) else { return Ok(()) };
        if let Some(oldest) = part.agents.iter().map(|agent| agent.last).min() {
            self.journal.trim(part.partition, oldest)?;
        }
        Ok(())
    }

    fn done(&mut self) -> ThreadResult {
        let bytes = self.bytes;
        let of_part = |part: &StatePartition| {
            let partition = part.partition;
            let of_agent = |agent: &StateAgent| (partition, agent.last, state(agent.name, agent.writes, bytes));
            part.agents.iter().map(of_agent).collect::<Vec<_>>()
        };
        let last = self.parts.iter().flat_map(of_part).collect();
        ThreadResult { write_ms: std::mem::take(&mut self.write_ms), reads: self.reads, last }
    }
}

/// Reads a frame, which must be this one.
fn read(journal: &dyn Journal, partition: Partition, lsn: Lsn, expected: &[u8]) -> anyhow::Result<()> {
    let mut found = false;
    journal.read(partition, lsn, &mut |at, frame| {
        found = at == lsn && frame == expected;
        ControlFlow::Break(())
    })?;
    if !found {
        bail!("frame {} of partition {} differs from the acknowledged one", lsn.0, partition.0);
    }
    Ok(())
}

/// Checks that acknowledged frames are there, even if the store is opened anew.
fn check(what: &StateArguments, folder: &StateFolder, committers: &[ThreadResult]) -> anyhow::Result<()> {
    if what.store == StoreKind::Memory {
        return Ok(());
    }
    let subject = StoreUnderTest::open(what, &folder.0)?;
    let mut wanted: BTreeMap<Partition, BTreeMap<Lsn, &[u8]>> = BTreeMap::new();
    for (partition, lsn, frame) in committers.iter().flat_map(|done| &done.last) {
        wanted.entry(*partition).or_default().insert(*lsn, frame);
    }
    for (partition, mut wanted) in wanted {
        let Some((&first, _)) = wanted.first_key_value() else { continue };
        let mut differs = None;
        subject.journal.read(partition, first, &mut |lsn, frame| {
            if wanted.remove(&lsn).is_some_and(|expected| expected != frame) {
                differs = Some(lsn);
            }
            ControlFlow::Continue(())
        })?;
        if let Some(lsn) = differs.or(wanted.into_keys().next()) {
            bail!("frame {} of partition {} differs from the acknowledged one", lsn.0, partition.0);
        }
    }
    subject.remove()
}

type Bytes = (Option<u64>, Option<u64>);

fn metrics(what: &StateArguments, committers: Vec<ThreadResult>, before: Bytes, after: Bytes) -> Metrics {
    let seconds = what.seconds as f64;
    let reads: u64 = committers.iter().map(|done| done.reads).sum();
    let mut write_ms: Vec<f64> = committers.into_iter().flat_map(|done| done.write_ms).collect();
    let user_bytes = write_ms.len() as f64 * f64::from(what.bytes);
    let share = |before: Option<u64>, after: Option<u64>| Some((after? - before?) as f64 / user_bytes);
    let (p50, p99) = (percentile(50.0, &mut write_ms), percentile(99.0, &mut write_ms));
    vec![
        ("writes_per_s", Some(write_ms.len() as f64 / seconds)),
        ("reads_per_s", Some(reads as f64 / seconds)),
        ("p50_ms", p50),
        ("p99_ms", p99),
        ("max_ms", write_ms.last().copied()),
        ("write_amplification", share(before.0, after.0)),
        ("device_amplification", share(before.1, after.1)),
    ]
}

impl StateArguments {
    /// Returns the parameters as JSON.
    pub fn params(&self) -> String {
        let store = match &self.store {
            StoreKind::Embedded => "embedded".to_owned(),
            StoreKind::Memory => "memory".to_owned(),
            #[cfg(feature = "nats")]
            StoreKind::Nats(address) => whimbrel_store::nats::without_password(address),
        };
        let threads = self.threads.map_or_else(cores, u64::from);
        format!(
            "\"store\": \"{store}\", \"writers\": {}, \"bytes\": {}, \"reads\": {}, \"seconds\": {}, \"threads\": {threads}",
            self.writers, self.bytes, self.reads, self.seconds
        )
    }
}
