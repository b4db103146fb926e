//! The mobile-agent study's retrieval task: clients want the documents of a server that contain a word.
//!
//! Either an agent travels to the server, searches there and returns with the documents; or the client fetches all
//! documents and searches them itself, with a program in C++ as in the study, uncompressed or compressed by LZ4. The
//! server's link is slow or fast, and all clients share it.

pub mod advisor;
mod network;
mod nodes;
mod systems;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::network::RetrievalNetwork;
use self::nodes::SplitMix;
pub use self::systems::System;
use self::systems::{QueryTimes, RunningSystem};
use crate::mobility::arguments::{Retrieval, RetrievalRole};
use crate::{TimesPicture, deviation, line, percentile, times};
use whimbrel_terminal as terminal;

/// Number of documents, and bytes of each.
#[derive(Clone, Copy)]
struct Collection {
    documents: usize,
    bytes: usize,
}

impl Collection {
    /// The study's.
    const STUDY: Self = Self { documents: 60, bytes: 4_096 };

    /// Returns the number of documents with the word of this percentage.
    fn passing(self, pass: u32) -> usize {
        (self.documents * pass as usize).div_ceil(100)
    }

    /// Bytes of all.
    fn total(self) -> usize {
        self.documents * self.bytes
    }
}

/// Queries that go before: code is fetched and compiled.
const WARM_UP: u32 = 2;
/// Queries of which bytes are counted, one after the other without a pause, by one client.
const COUNTED: u32 = 100;

/// Returns the word that this percentage of documents contains.
fn word(pass: u32) -> String {
    format!("pass{pass}")
}

/// A folder for the time of a run.
struct RetrievalFolder(PathBuf);

impl RetrievalFolder {
    fn temporary() -> Self {
        Self(std::env::temp_dir().join(format!("whimbrel-retrieval-{}", std::process::id())))
    }
}

impl Drop for RetrievalFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Measures all requested cells and reports each as soon as it is done. In a child process, runs that process's part.
///
/// # Errors
/// This machine allows no such networks, or a process failed to do its part.
pub fn run(what: &Retrieval, json: bool) -> anyhow::Result<()> {
    match what.role {
        Some(RetrievalRole::Server) => nodes::serve(),
        Some(RetrievalRole::Client) => nodes::ask(),
        None => compare(what, json),
    }
}

fn compare(what: &Retrieval, json: bool) -> anyhow::Result<()> {
    let module = &what.retriever;
    let folder = RetrievalFolder::temporary();
    write_documents(&folder.0.join("documents"), &what.pass, Collection::STUDY)?;
    let module = module.canonicalize().with_context(|| format!("{}: `make guests` builds it", module.display()))?;
    let mut cells = Vec::new();
    for &clients in &what.clients {
        let network = RetrievalNetwork::new(clients.into())?;
        for &system in &what.systems {
            let mut running = match RunningSystem::start(system, &network, clients.into(), &folder.0, &module) {
                Ok(running) => running,
                Err(error) if system != System::Agent => {
                    terminal::note(&format!("{} is left out: {error:#}", system.name()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            measure(what, &network, &mut running, clients, |cell| {
                tell(&cell, json)?;
                cells.push(cell);
                Ok(())
            })?;
        }
    }
    if !json {
        writeln!(anstream::stdout().lock(), "{}", compared(&cells))?;
    }
    what.plot.as_deref().map_or(Ok(()), |folder| draw(what, &cells, folder))
}

/// Draws a picture for each bandwidth: times by the number of clients.
fn draw(what: &Retrieval, cells: &[Cell], folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for &mbit in &what.mbit {
        let mut lines = Vec::new();
        for (&system, &pass) in what.systems.iter().flat_map(|system| what.pass.iter().map(move |pass| (system, pass)))
        {
            let same = |cell: &&Cell| (cell.system, cell.pass, cell.mbit) == (system, pass, mbit);
            let point = |cell: &Cell| Some((f64::from(cell.clients), cell.total_p50()? * 1e3));
            let points = cells.iter().filter(same).filter_map(point).collect();
            lines.push((format!("{}, {pass} %", system.name()), points));
        }
        let shown = TimesPicture { about: "median time of a query", x: "clients" };
        let title = format!("retrieval of {} documents, {mbit} Mbit/s", Collection::STUDY.documents);
        let path = folder.join(format!("retrieval-{mbit}.svg"));
        std::fs::write(&path, times(&title, shown, lines)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Measures all cells of a system with this number of clients.
fn measure(
    what: &Retrieval,
    network: &RetrievalNetwork,
    running: &mut RunningSystem,
    clients: u16,
    mut done: impl FnMut(Cell) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // Code of agents is compiled; nothing of the others' is, and their connections are up to speed after a few packets.
    if running.system == System::Agent {
        for &pass in &what.pass {
            running.ask(&word(pass), WARM_UP, 60.0, 0.0)?;
        }
    }
    for &mbit in &what.mbit {
        network.shape(mbit)?;
        for &pass in &what.pass {
            let queries = running.ask(&word(pass), what.queries, what.seconds, 1.0)?;
            let bytes = (clients == 1).then(|| count_bytes(network, running, pass)).transpose()?;
            let expected = Collection::STUDY.passing(pass);
            anyhow::ensure!(
                queries.iter().all(|query| query.found == expected),
                "{}: not all queries found {expected} documents",
                running.system.name()
            );
            done(Cell { system: running.system, mbit, clients, pass, queries, bytes })?;
        }
    }
    Ok(())
}

/// Bytes that a query takes to the server and back.
struct TransferBytes {
    /// Whole packets, those included that only acknowledge.
    wire: (f64, f64),
    /// Traffic of the links, for agents.
    link: Option<(f64, f64)>,
}

fn count_bytes(network: &RetrievalNetwork, running: &mut RunningSystem, pass: u32) -> anyhow::Result<TransferBytes> {
    let (wire, link) = (network.server_bytes()?, running.link_bytes);
    // On a slow link fewer will do.
    let queries = running.ask(&word(pass), COUNTED, 5.0, 0.0)?.len() as f64;
    let each = |before: (u64, u64), after: (u64, u64)| {
        ((after.0 - before.0) as f64 / queries, (after.1 - before.1) as f64 / queries)
    };
    let link = link.zip(running.link_bytes).map(|(before, after)| each(before, after));
    Ok(TransferBytes { wire: each(wire, network.server_bytes()?), link })
}

/// One cell of the grid.
struct Cell {
    system: System,
    mbit: u32,
    clients: u16,
    pass: u32,
    queries: Vec<QueryTimes>,
    bytes: Option<TransferBytes>,
}

impl Cell {
    fn ms(&self, of: impl Fn(&QueryTimes) -> f64) -> Vec<f64> {
        self.queries.iter().map(|query| of(query) / 1e3).collect()
    }

    fn total_p50(&self) -> Option<f64> {
        percentile(50.0, &mut self.ms(|query| query.total_us))
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn tell(cell: &Cell, json: bool) -> anyhow::Result<()> {
    let total = cell.ms(|query| query.total_us);
    let task = cell.ms(|query| query.task_us);
    let jump = cell.ms(|query| query.out_us + query.back_us);
    let jumped = |value: Option<f64>| value.filter(|_| cell.system == System::Agent);
    let metrics = vec![
        ("total_p50_ms", cell.total_p50()),
        ("total_mean_ms", mean(&total)),
        ("total_sd_ms", deviation(&total)),
        ("task_mean_ms", mean(&task)),
        ("task_sd_ms", deviation(&task)),
        ("jump_mean_ms", jumped(mean(&jump))),
        ("jump_sd_ms", jumped(deviation(&jump))),
        ("queries", Some(total.len() as f64)),
        ("wire_bytes_out", cell.bytes.as_ref().map(|bytes| bytes.wire.0)),
        ("wire_bytes_back", cell.bytes.as_ref().map(|bytes| bytes.wire.1)),
        ("link_bytes_out", cell.bytes.as_ref().and_then(|bytes| bytes.link).map(|(out, _)| out)),
        ("link_bytes_back", cell.bytes.as_ref().and_then(|bytes| bytes.link).map(|(_, back)| back)),
    ];
    let Cell { system, mbit, clients, pass, .. } = cell;
    let system = system.name();
    let text = if json {
        let params = format!(
            "\"part\": \"retrieval\", \"system\": \"{system}\", \"mbit\": {mbit}, \"clients\": {clients}, \"pass\": {pass}"
        );
        line("mobility", &params, &metrics)
    } else {
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let (p50, sd) = (shown(cell.total_p50()), shown(deviation(&total)));
        format!(
            "{system:>9}  {mbit:>4} Mbit/s  {clients:>2} clients  {pass:>2} %  {p50:>10} ms (sd {sd}), {} queries",
            total.len()
        )
    };
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Describes how much faster the agent is than each other system, cell by cell.
fn compared(cells: &[Cell]) -> String {
    let mut text = String::from("\nhow many times as long as the agent the others take (medians)\n");
    for cell in cells.iter().filter(|cell| cell.system == System::Agent) {
        let same = |other: &&Cell| (other.mbit, other.clients, other.pass) == (cell.mbit, cell.clients, cell.pass);
        let _ = write!(text, "{:>5} Mbit/s  {:>2} clients  {:>2} %", cell.mbit, cell.clients, cell.pass);
        for other in cells.iter().filter(same).filter(|other| other.system != System::Agent) {
            if let (Some(ours), Some(theirs)) = (cell.total_p50(), other.total_p50()) {
                let _ = write!(text, "  {} {:.2}x", other.system.name(), theirs / ours);
            }
        }
        text.push('\n');
    }
    text
}

/// Writes documents in an invented language. Some of its words are much more frequent than others, as in real ones. The
/// searched words are in the given numbers of documents.
fn write_documents(folder: &Path, passes: &[u32], collection: Collection) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut random = SplitMix(1);
    let letter = |letters: &str, random: &mut SplitMix| {
        letters.chars().nth(random.number() as usize % letters.len()).unwrap_or('a')
    };
    let syllable = |random: &mut SplitMix| [letter("bcdfghklmnprstvw", random), letter("aeiou", random)];
    let vocabulary: Vec<String> =
        (0..4_096).map(|_| (0..1 + random.number() % 4).flat_map(|_| syllable(&mut random)).collect()).collect();
    for number in 0..collection.documents {
        let mut text = String::new();
        for pass in passes.iter().filter(|pass| number < collection.passing(**pass)) {
            let _ = write!(text, "{} ", word(*pass));
        }
        while text.len() < collection.bytes {
            // Zipf: the chance of the n-th word is as 1/n.
            let rank = (vocabulary.len() as f64).powf(random.fraction()) as usize - 1;
            text.push_str(vocabulary.get(rank).map_or("", String::as_str));
            text.push(' ');
        }
        text.truncate(collection.bytes);
        // What is looked for is not always at the beginning.
        let half = text.split_off(if number % 2 == 0 { 0 } else { collection.bytes / 2 });
        std::fs::write(folder.join(format!("document-{number:02}.txt")), half + &text)?;
    }
    Ok(())
}
