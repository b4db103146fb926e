//! Cost of durability: the same societies without a store, with a store in a folder, and with one on three servers, in
//! turns.

mod arguments;
mod societies;
mod stores;

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::arguments::DurabilityArguments;
use self::arguments::{DurableLevel, DurableSociety};
use self::societies::{Ran, SocietyRun};
use self::stores::{RunStore, Stores};
use super::{Metrics, percentile, report};
use whimbrel_terminal as terminal;
use whimbrel_terminal::stopping::INTERRUPTED;

/// Factor of the work of a society without a store: otherwise it would take no time.
const VOLATILE_TIMES: u64 = 20;

/// One society on one level: the medians of its rounds.
pub struct LevelResult {
    society: DurableSociety,
    level: DurableLevel,
    metrics: Metrics,
}

impl DurableLevel {
    fn name(self) -> &'static str {
        match self {
            Self::Volatile => "volatile",
            Self::Local => "local",
            Self::Replicated => "replicated",
        }
    }
}

impl DurableSociety {
    fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::ContractNet => "contract-net",
        }
    }
}

impl DurabilityArguments {
    fn societies(&self) -> Vec<DurableSociety> {
        self.society.map_or_else(|| vec![DurableSociety::Ring, DurableSociety::ContractNet], |one| vec![one])
    }

    /// Returns the named levels, or else all for which the servers are installed.
    fn levels(&self) -> Vec<DurableLevel> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let levels = [DurableLevel::Volatile, DurableLevel::Local, DurableLevel::Replicated];
        match stores::lack_of_servers() {
            None => levels.to_vec(),
            Some(reason) => {
                terminal::note(&format!("without `replicated`: {reason}"));
                levels.into_iter().filter(|level| *level != DurableLevel::Replicated).collect()
            }
        }
    }

    fn trial(&self, society: DurableSociety, level: DurableLevel) -> SocietyRun {
        let once = match society {
            DurableSociety::Ring => self.passes,
            DurableSociety::ContractNet => self.conversations,
        };
        let times = if level == DurableLevel::Volatile { VOLATILE_TIMES } else { 1 };
        SocietyRun { society, repetitions: once * times }
    }

    /// Returns the parameters as JSON.
    pub fn params(&self) -> String {
        let Self { rounds, workers, tokens, passes, initiators, participants, conversations, .. } = self;
        format!(
            "\"rounds\": {rounds}, \"workers\": {workers}, \"tokens\": {tokens}, \"passes\": {passes}, \
             \"initiators\": {initiators}, \"participants\": {participants}, \"conversations\": {conversations}, \
             \"volatile_times\": {VOLATILE_TIMES}"
        )
    }
}

/// Runs all of it.
///
/// # Errors
/// A store cannot be made or written, or a society came to no result.
pub fn run(what: &DurabilityArguments) -> anyhow::Result<Vec<LevelResult>> {
    let (societies, levels) = (what.societies(), what.levels());
    let stores = Arc::new(Mutex::new(Stores::prepare(what.dir.as_deref(), &levels)?));
    let left = Arc::clone(&stores);
    ctrlc::set_handler(move || {
        locked(&left).clear();
        std::process::exit(INTERRUPTED);
    })?;
    // The handler has them as long as the process lives.
    let measured = run_rounds(what, &stores, &societies, &levels);
    locked(&stores).clear();
    measured
}

fn run_rounds(
    what: &DurabilityArguments,
    stores: &Mutex<Stores>,
    societies: &[DurableSociety],
    levels: &[DurableLevel],
) -> anyhow::Result<Vec<LevelResult>> {
    let cases: Vec<(DurableSociety, DurableLevel)> =
        societies.iter().flat_map(|society| levels.iter().map(|level| (*society, *level))).collect();
    let mut rounds: Vec<Vec<Metrics>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 0..what.rounds {
        // Another one begins each round, so that none is always in the shadow of the same.
        for turn in 0..cases.len() {
            let index = (turn + round as usize) % cases.len();
            let (Some((society, level)), Some(runs)) = (cases.get(index).copied(), rounds.get_mut(index)) else {
                continue;
            };
            let metrics = measure(what, stores, society, level, &format!("round{round}-{index}"))?;
            if !what.json {
                let per_s = metrics.first().and_then(|(_, value)| *value).unwrap_or_default();
                let (round, rounds) = (round + 1, what.rounds);
                let case = format!("{}, {}", society.name(), level.name());
                terminal::note(&format!("round {round} of {rounds}: {case}: {per_s:.0} messages per second"));
            }
            runs.push(metrics);
        }
    }
    let medians = rounds.iter().map(|runs| medians(runs));
    Ok(cases
        .into_iter()
        .zip(medians)
        .map(|((society, level), metrics)| LevelResult { society, level, metrics })
        .collect())
}

fn locked(stores: &Mutex<Stores>) -> MutexGuard<'_, Stores> {
    stores.lock().unwrap_or_else(PoisonError::into_inner)
}

fn measure(
    what: &DurabilityArguments,
    stores: &Mutex<Stores>,
    society: DurableSociety,
    level: DurableLevel,
    name: &str,
) -> anyhow::Result<Metrics> {
    let store = locked(stores).open(level, name)?;
    let kept = store.as_ref().map(RunStore::kept).transpose()?;
    let ran = what.trial(society, level).run(what, kept)?;
    let metrics = figures(ran, store.as_ref());
    store.map_or(Ok(()), RunStore::remove)?;
    Ok(metrics)
}

fn figures(mut ran: Ran, store: Option<&RunStore>) -> Metrics {
    let messages = ran.messages;
    let written = store.map(|store| {
        let journal = &store.journal;
        [&journal.appends, &journal.frames, &journal.bytes].map(|count| count.load(Ordering::Relaxed) as f64)
    });
    vec![
        ("messages_per_s", Some(messages / ran.seconds)),
        ("conversation_p50_ms", percentile(50.0, &mut ran.conversation_ms)),
        ("conversation_p99_ms", percentile(99.0, &mut ran.conversation_ms)),
        ("messages_per_append", written.map(|[appends, ..]| messages / appends)),
        ("frames_per_message", written.map(|[_, frames, _]| frames / messages)),
        ("journal_bytes_per_message", written.map(|[.., bytes]| bytes / messages)),
    ]
}

/// Returns the median of each figure.
fn medians(runs: &[Metrics]) -> Metrics {
    let Some(first) = runs.first() else { return Vec::new() };
    let median = |index: usize| {
        let mut values: Vec<f64> = runs.iter().filter_map(|metrics| metrics.get(index)?.1).collect();
        percentile(50.0, &mut values)
    };
    first.iter().enumerate().map(|(index, (name, _))| (*name, median(index))).collect()
}

/// Returns the throughput of each society and level, relative to the same society without a store.
fn ratio(measured: &LevelResult, all: &[LevelResult]) -> Option<f64> {
    let per_s = |one: &LevelResult| one.metrics.first().and_then(|(_, value)| *value);
    let volatile = all.iter().find(|one| one.society == measured.society && one.level == DurableLevel::Volatile)?;
    Some(per_s(measured)? / per_s(volatile)?)
}

/// Returns one line of JSON.
pub fn json(what: &DurabilityArguments, all: &[LevelResult]) -> String {
    let of_society = |society: DurableSociety| {
        let mine = all.iter().filter(|measured| measured.society == society);
        let levels = mine.map(|measured| {
            let mut metrics = measured.metrics.clone();
            metrics.push(("of_volatile", ratio(measured, all)));
            format!("\"{}\": {}", measured.level.name(), report::object(&metrics))
        });
        format!("\"{}\": {{{}}}", society.name(), levels.collect::<Vec<_>>().join(", "))
    };
    let societies: Vec<String> = what.societies().into_iter().map(of_society).collect();
    report::line_of("durability", &what.params(), &format!("{{{}}}", societies.join(", ")))
}

/// Tables, one for each society.
pub fn table(what: &DurabilityArguments, all: &[LevelResult]) -> String {
    let mut text = String::new();
    for society in what.societies() {
        let size = match society {
            DurableSociety::Ring => format!("workers {}, tokens {}, passes {}", what.workers, what.tokens, what.passes),
            DurableSociety::ContractNet => format!(
                "initiators {}, participants {}, conversations {}",
                what.initiators, what.participants, what.conversations
            ),
        };
        let _ = writeln!(text, "{}: {size}; medians of {} rounds", society.name(), what.rounds);
        for measured in all.iter().filter(|measured| measured.society == society) {
            let _ = writeln!(text, "{}", row(measured, all));
        }
    }
    text.trim_end().to_owned()
}

fn row(measured: &LevelResult, all: &[LevelResult]) -> String {
    let mut text = format!("  {:10}", measured.level.name());
    for (name, value) in &measured.metrics {
        let Some(value) = value else { continue };
        let _ = match *name {
            "messages_per_s" => write!(text, " {value:>12.0} messages/s"),
            "conversation_p50_ms" => write!(text, "  conversation p50 {value:.2} ms"),
            "conversation_p99_ms" => write!(text, ", p99 {value:.2} ms"),
            "messages_per_append" => write!(text, "  {value:.1} messages a flush"),
            "frames_per_message" => write!(text, ", {value:.2} frames"),
            _ => write!(text, " and {value:.0} bytes a message"),
        };
        if *name == "messages_per_s"
            && measured.level != DurableLevel::Volatile
            && let Some(ratio) = ratio(measured, all).filter(|ratio| *ratio > 0.0)
        {
            let _ = write!(text, " (1/{:.1})", 1.0 / ratio);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(level: DurableLevel, per_s: f64) -> LevelResult {
        let metrics = vec![("messages_per_s", Some(per_s)), ("conversation_p50_ms", None)];
        LevelResult { society: DurableSociety::Ring, level, metrics }
    }

    #[test]
    fn medians_and_ratios_stay_per_society() {
        let runs = [3.0, 1.0, 2.0].map(|value| vec![("messages_per_s", Some(value)), ("frames_per_message", None)]);
        assert_eq!(medians(&runs), vec![("messages_per_s", Some(2.0)), ("frames_per_message", None)]);
        assert_eq!(medians(&[]), Vec::new());
        let all = [measured(DurableLevel::Volatile, 100.0), measured(DurableLevel::Local, 20.0)];
        assert_eq!(ratio(&all[1], &all), Some(0.2));
        assert_eq!(row(&all[1], &all), "  local                20 messages/s (1/5.0)");
        assert_eq!(ratio(&all[1], &all[1..]), None);
    }
}
