//! Accuracy of the advisor. Before each cell is run, a client's node advises for the shaped link. The job is given, and
//! so is the speed of the programs, which was measured once before the link was shaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use whimbrel_platform::advice::{Advice, DocumentJob, MoveChoice};
use whimbrel_platform::limits::ADVICE_FRESH_MS;

use super::network::RetrievalNetwork;
use super::systems::{RunningSystem, System};
use super::{Collection, RetrievalFolder, WARM_UP, write_documents};
use crate::mobility::arguments::{Grid, Retrieval};
use crate::{Metrics, line, percentile};
use whimbrel_terminal as terminal;

/// Queries by which is measured how fast the programs work.
const CALIBRATION: u32 = 20;
/// Queries of a client in a second, on average.
const PER_SECOND: f64 = 0.5;
/// Times that are so near to each other are as good as the same: which is shorter is chance.
const NEAR: f64 = 1.1;
/// Documents of which few are asked for.
const FEW: Collection = Collection { documents: 3, bytes: 512 };
/// Bytes that a heavy agent carries.
const HEAVY_BYTES: u64 = 1 << 20;

/// Place of a cell in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CellPlace {
    grid: Grid,
    clients: u16,
    mbit: u32,
    pass: u32,
}

/// Advice before a cell was run, and the medians in milliseconds that followed.
#[derive(Default)]
struct AdvisedCell {
    agent_ms: Option<f64>,
    /// Against each of the others.
    others: Vec<(System, Advice)>,
    others_ms: Vec<(System, f64)>,
}

/// Comparison of the advice with the result.
struct AdviceVerdict<'a> {
    at: CellPlace,
    against: System,
    agent_ms: f64,
    other_ms: f64,
    advice: &'a Advice,
}

impl AdviceVerdict<'_> {
    fn is_right(&self) -> bool {
        (self.advice.choice == MoveChoice::Go) == (self.agent_ms < self.other_ms)
    }

    /// Returns the time of the advised side, relative to the faster one.
    fn regret(&self) -> f64 {
        let picked = if self.advice.choice == MoveChoice::Go { self.agent_ms } else { self.other_ms };
        picked / self.agent_ms.min(self.other_ms)
    }

    fn is_near(&self) -> bool {
        self.agent_ms.max(self.other_ms) < self.agent_ms.min(self.other_ms) * NEAR
    }
}

/// Nanoseconds that a program takes for a byte of the documents: looking for the word, and all else.
#[derive(Clone, Copy)]
struct WorkPace {
    work: f64,
    handling: f64,
}

/// Runs all cells that were asked for.
///
/// # Errors
/// There can be no such networks here, or a process did not do its part.
pub fn run(what: &Retrieval, json: bool) -> anyhow::Result<()> {
    let module = what.retriever.canonicalize();
    let module = module.with_context(|| format!("{}: `make guests` builds it", what.retriever.display()))?;
    let root = RetrievalFolder::temporary();
    let paces = calibrate(what, &root.0.join("calibration"), &module)?;
    let mut cells: BTreeMap<CellPlace, AdvisedCell> = BTreeMap::new();
    for &grid in &what.grid {
        let folder = root.0.join(grid.name());
        write_documents(&folder.join("documents"), &passes(what, grid), collection(grid))?;
        let clients = what.clients.iter().take(if grid == Grid::Study { usize::MAX } else { 1 });
        for &clients in clients {
            let network = RetrievalNetwork::new(clients.into())?;
            for &system in &what.systems {
                let mut running = RunningSystem::start(system, &network, clients.into(), &folder, &module)?;
                let field = AdvisedGrid { what, network: &network, grid, clients, paces: &paces };
                field.run(&mut running, &mut cells)?;
            }
        }
    }
    let verdicts = verdicts(&cells);
    let mut out = anstream::stdout().lock();
    for verdict in &verdicts {
        writeln!(out, "{}", if json { json_line(verdict) } else { text_line(verdict) })?;
    }
    if !json {
        writeln!(out, "{}", summary(&verdicts))?;
    }
    Ok(())
}

fn collection(grid: Grid) -> Collection {
    if grid == Grid::Few { FEW } else { Collection::STUDY }
}

fn passes(what: &Retrieval, grid: Grid) -> Vec<u32> {
    match grid {
        Grid::Study | Grid::Heavy => what.pass.clone(),
        Grid::Whole => vec![100],
        Grid::Few => vec![34],
    }
}

/// Measures how fast the programs work, while the link is as fast as the machine.
fn calibrate(what: &Retrieval, folder: &Path, module: &Path) -> anyhow::Result<BTreeMap<&'static str, WorkPace>> {
    let mut paces = BTreeMap::new();
    write_documents(&folder.join("documents"), &[5], Collection::STUDY)?;
    for &system in &what.systems {
        let network = RetrievalNetwork::new(1)?;
        let mut running = RunningSystem::start(system, &network, 1, folder, module)?;
        running.ask(&super::word(5), WARM_UP, 60.0, 0.0)?;
        let queries = running.ask(&super::word(5), CALIBRATION, 60.0, 0.0)?;
        let bytes = Collection::STUDY.total() as f64;
        let median = |of: fn(&super::systems::QueryTimes) -> f64| {
            percentile(50.0, &mut queries.iter().map(of).collect::<Vec<_>>()).unwrap_or_default() * 1e3 / bytes
        };
        let work = median(|query| query.task_us);
        let pace = WorkPace { work, handling: (median(|query| query.total_us) - work).max(0.0) };
        terminal::note(&format!(
            "{}: {:.2} ns of work with a byte, {:.2} ns beside that",
            system.name(),
            pace.work,
            pace.handling
        ));
        paces.insert(system.name(), pace);
    }
    Ok(paces)
}

/// Cells of a grid with this many clients.
struct AdvisedGrid<'a> {
    what: &'a Retrieval,
    network: &'a RetrievalNetwork,
    grid: Grid,
    clients: u16,
    paces: &'a BTreeMap<&'static str, WorkPace>,
}

impl AdvisedGrid<'_> {
    fn run(&self, running: &mut RunningSystem, cells: &mut BTreeMap<CellPlace, AdvisedCell>) -> anyhow::Result<()> {
        let Self { what, grid, clients, .. } = *self;
        let passes = passes(what, grid);
        if running.system == System::Agent {
            for &pass in &passes {
                running.ask(&super::word(pass), WARM_UP, 60.0, 0.0)?;
            }
            if grid == Grid::Heavy {
                running.say(&format!("carry {HEAVY_BYTES}"))?;
            }
        }
        let mut measured_at: Option<Instant> = None;
        for &mbit in &what.mbit {
            self.network.shape(mbit)?;
            // What was measured of the link as it was is not to count.
            let fresh = Duration::from_millis(ADVICE_FRESH_MS);
            std::thread::sleep(measured_at.map_or(Duration::ZERO, |at| fresh.saturating_sub(at.elapsed())));
            for &pass in &passes {
                let cell = cells.entry(CellPlace { grid, clients, mbit, pass }).or_default();
                if running.system == System::Agent {
                    for &other in what.systems.iter().filter(|other| **other != System::Agent) {
                        cell.others.push((other, self.advise(running, other, pass)?));
                    }
                    measured_at = Some(Instant::now());
                }
                let queries = running.ask(&super::word(pass), what.queries, what.seconds, 1.0)?;
                let expected = collection(grid).passing(pass);
                ensure!(queries.iter().all(|query| query.found == expected), "not all queries found {expected}");
                let mut ms: Vec<f64> = queries.iter().map(|query| query.total_us / 1e3).collect();
                let median = percentile(50.0, &mut ms).context("no query was answered")?;
                match running.system {
                    System::Agent => cell.agent_ms = Some(median),
                    other => cell.others_ms.push((other, median)),
                }
            }
        }
        Ok(())
    }

    /// Returns the advice to the first client's agent about the other way.
    fn advise(&self, running: &mut RunningSystem, other: System, pass: u32) -> anyhow::Result<Advice> {
        let collection = collection(self.grid);
        let pace = |system: System| self.paces.get(system.name()).copied();
        let job = DocumentJob {
            pass: Some(collection.passing(pass) as f64 / collection.documents as f64),
            question: Some(1),
            packed: other == System::Lz4,
            work_ns: pace(other).map(|pace| pace.work),
            handling_ns: pace(other).map(|pace| pace.handling),
            agent_work_ns: pace(System::Agent).map(|pace| pace.work),
            clients: Some(self.clients.into()),
            per_second: Some(PER_SECOND),
            ..DocumentJob::with(collection.documents as u64, collection.bytes as u64)
        };
        let answer = running.say(&format!("advise {}", serde_json::to_string(&job)?))?;
        serde_json::from_str(&answer).with_context(|| format!("no advice: {answer}"))
    }
}

fn verdicts(cells: &BTreeMap<CellPlace, AdvisedCell>) -> Vec<AdviceVerdict<'_>> {
    let mut all = Vec::new();
    for (&at, cell) in cells {
        for (against, advice) in &cell.others {
            let other = cell.others_ms.iter().find(|(other, _)| other == against);
            if let (Some(agent_ms), Some(&(_, other_ms))) = (cell.agent_ms, other) {
                all.push(AdviceVerdict { at, against: *against, agent_ms, other_ms, advice });
            }
        }
    }
    all
}

fn json_line(verdict: &AdviceVerdict<'_>) -> String {
    let CellPlace { grid, clients, mbit, pass } = verdict.at;
    let params = format!(
        "\"part\": \"advisor\", \"grid\": \"{}\", \"against\": \"{}\", \"mbit\": {mbit}, \"clients\": {clients}, \"pass\": {pass}",
        grid.name(),
        verdict.against.name()
    );
    let yes = |so: bool| Some(f64::from(u8::from(so)));
    let metrics: Metrics = vec![
        ("agent_p50_ms", Some(verdict.agent_ms)),
        ("other_p50_ms", Some(verdict.other_ms)),
        ("agent_estimated_ms", Some(verdict.advice.go.seconds() * 1e3)),
        ("other_estimated_ms", Some(verdict.advice.ask.seconds() * 1e3)),
        ("advised_to_go", yes(verdict.advice.choice == MoveChoice::Go)),
        ("right", yes(verdict.is_right())),
        ("regret", Some(verdict.regret())),
    ];
    line("mobility", &params, &metrics)
}

fn text_line(verdict: &AdviceVerdict<'_>) -> String {
    let CellPlace { grid, clients, mbit, pass } = verdict.at;
    format!(
        "{:>5} {mbit:>5} Mbit/s  {clients:>2} clients  {pass:>3} %  {:>5}  agent {:>9.2} ms ({:>9.2}), other {:>9.2} ms ({:>9.2})  {:>3} {}",
        grid.name(),
        verdict.against.name(),
        verdict.agent_ms,
        verdict.advice.go.seconds() * 1e3,
        verdict.other_ms,
        verdict.advice.ask.seconds() * 1e3,
        verdict.advice.choice.name(),
        if verdict.is_right() { "right".to_owned() } else { format!("wrong ({:.2}x)", verdict.regret()) }
    )
}

/// Summarises how often the advice was right and the cost where it was wrong, beside the two fixed choices: always
/// move, always ask.
fn summary(verdicts: &[AdviceVerdict<'_>]) -> String {
    let mut text = String::from("(estimates in brackets)\n");
    for study in [true, false] {
        for against in [System::Plain, System::Lz4] {
            let its: Vec<&AdviceVerdict<'_>> =
                verdicts.iter().filter(|it| it.against == against && (it.at.grid == Grid::Study) == study).collect();
            if its.is_empty() {
                continue;
            }
            let count = |so: fn(&AdviceVerdict<'_>) -> bool| its.iter().filter(|it| so(it)).count();
            let (all, right, goes) = (its.len(), count(|it| it.is_right()), count(|it| it.agent_ms < it.other_ms));
            let wrong = its.iter().filter(|it| !it.is_right());
            let (near, worst) =
                (wrong.clone().filter(|it| it.is_near()).count(), wrong.map(|it| it.regret()).fold(1.0, f64::max));
            let _ = writeln!(
                text,
                "{} against {}: right in {right} of {all} cells ({:.0} %); of those that were wrong {near} are nearly ties, the worst takes \
                 {worst:.2} times as long; always going: {goes}, always asking: {}",
                if study { "study's grid" } else { "other cells" },
                against.name(),
                100.0 * right as f64 / all as f64,
                all - goes
            );
        }
    }
    text
}
