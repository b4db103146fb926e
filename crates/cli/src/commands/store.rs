//! `whimbrel store`: what outlives a node, in a directory.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use whimbrel_store::{Archived, Damage, Embedded, OpenOptions, Repaired, Report, store_in};

use crate::arguments::{StoreAction, StoreArguments};
use whimbrel::figures::counted;
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;

/// Damages that are shown line by line; further ones are counted.
const DAMAGE_LINES: usize = 20;

/// Performs `whimbrel store`.
pub fn store(arguments: &StoreArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        StoreAction::Check { dir, json } => check(&store_in(dir)?, *json),
        StoreAction::Repair { dir, partitions, json } => repair(&store_in(dir)?, *partitions, *json),
        StoreAction::Compact { dir, json } => compact(&store_in(dir)?, *json),
        StoreAction::Export { dir, file, salvage, json } => {
            let dir = store_in(dir)?;
            let done = Going::begin("export")?.run(|on| whimbrel_store::export(&dir, file, *salvage, on))?;
            archived(&done, *json, &format!("exported into {}", file.display()))
        }
        StoreAction::Import { dir, file, json } => {
            let done = Going::begin("import")?.run(|on| whimbrel_store::import(file, dir, on))?;
            archived(&done, *json, &format!("imported into {}", dir.display()))
        }
    }
}

/// Work that shows how far it is, and stops, with nothing half-done, at Ctrl-C.
struct Going {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Going {
    fn begin(name: &'static str) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        ctrlc::set_handler(move || stopped.store(true, Ordering::Relaxed))?;
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3}%  {elapsed}, {eta} left");
        let bar = match std::io::stderr().is_terminal() {
            true => ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(5)),
            false => ProgressBar::hidden(),
        };
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_prefix(name);
        Ok(Self { bar, stop })
    }

    fn run<T>(self, work: impl FnOnce(&mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> T) -> T {
        let done = work(&mut |done, total| {
            self.bar.set_length(total);
            self.bar.set_position(done);
            if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.bar.finish_and_clear();
        done
    }
}

fn check(dir: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let report = Going::begin("check")?.run(|on| whimbrel_store::check(dir, on))?;
    if as_json {
        say(&report_json(&report).to_string())?;
    } else {
        say(&table(&report))?;
        complain(&report.damage);
        say(match (report.damage.is_empty(), report.in_doubt) {
            (true, _) => "all of it is as it was written",
            (false, true) => {
                "it is damaged, and cannot be opened: it is not known what is missing at the end of partitions; `whimbrel store repair` \
                 mends what is not in its journal, `whimbrel store export --salvage` saves what is left"
            }
            (false, false) => "it is damaged: what is named here cannot be read, all else can",
        })?;
    }
    Ok(if report.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{:>9}  {:>7}  {:>10}  {:>10}  {:>10}  {:>14}\n",
        "partition", "epoch", "first", "last", "frames", "bytes"
    );
    let filled = report.opened.iter().filter(|one| one.frames > 0);
    let empty = report.opened.len() - filled.clone().count();
    for one in filled {
        text += &format!(
            "{:>9}  {:>7}  {:>10}  {:>10}  {:>10}  {:>14}\n",
            one.partition.0, one.epoch.0, one.first.0, one.last.0, one.frames, one.bytes
        );
    }
    if empty > 0 {
        text += &format!("{empty:>9}  the other opened partitions have no frames (--json lists them)\n");
    }
    let (frames, bytes) = sums(report);
    text += &format!(
        "{} of {}, {} of {}, in {} of {}\n{}; {} of {}",
        report.opened.len(),
        counted(report.partitions, "partition"),
        counted(frames, "frame"),
        counted(bytes, "byte"),
        counted(report.segments, "file"),
        counted(report.journal_bytes, "byte"),
        counted(report.keys, "key"),
        counted(report.blobs, "blob"),
        counted(report.blob_bytes, "byte")
    );
    if report.torn_bytes > 0 {
        text += &format!(
            "\nthe last write of {} was cut short; nobody was told that it is safe",
            counted(report.torn_bytes, "byte")
        );
    }
    text
}

fn sums(report: &Report) -> (u64, u64) {
    let opened = report.opened.iter();
    opened.fold((0, 0), |(frames, bytes), one| (frames + one.frames, bytes + one.bytes))
}

fn damage_json(damage: &[Damage]) -> Value {
    let one = |damage: &Damage| {
        let place = damage.partition.map(|partition| (partition.0, damage.first.0, damage.last.0));
        json!({
            "partition": place.map(|place| place.0),
            "first": place.map(|place| place.1),
            "last": place.map(|place| place.2),
            "what": damage.what,
        })
    };
    damage.iter().map(one).collect()
}

fn report_json(report: &Report) -> Value {
    let opened = report.opened.iter().map(|one| {
        json!({
            "partition": one.partition.0, "epoch": one.epoch.0, "first": one.first.0, "last": one.last.0,
            "frames": one.frames, "bytes": one.bytes,
        })
    });
    let (frames, bytes) = sums(report);
    json!({
        "partitions": report.partitions, "opened": opened.collect::<Value>(), "frames": frames, "frame_bytes": bytes,
        "segments": report.segments, "journal_bytes": report.journal_bytes, "keys": report.keys, "blobs": report.blobs,
        "blob_bytes": report.blob_bytes, "torn_bytes": report.torn_bytes, "damage": damage_json(&report.damage),
        "in_doubt": report.in_doubt,
    })
}

fn complain(damage: &[Damage]) {
    for one in damage.iter().take(DAMAGE_LINES) {
        terminal::note(&format!("damaged: {one}"));
    }
    if damage.len() > DAMAGE_LINES {
        terminal::note(&format!("and {} more: --json lists all", damage.len() - DAMAGE_LINES));
    }
}

fn repair(dir: &Path, partitions: Option<u16>, as_json: bool) -> anyhow::Result<ExitCode> {
    let repaired = Going::begin("repair")?.run(|on| whimbrel_store::repair(dir, partitions, on))?;
    let Repaired { done, frames } = repaired;
    if as_json {
        say(&json!({"done": done, "frames": frames}).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    done.iter().try_for_each(|one| say(one))?;
    say(&match done.is_empty() {
        true => format!("nothing to repair: {}, no part is missing", counted(frames, "frame")),
        false => format!("it is whole again: {}", counted(frames, "frame")),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn compact(dir: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let store = Embedded::open(dir, &OpenOptions { create: false, ..OpenOptions::default() })?;
    let done = Going::begin("compact")?.run(|on| store.compact(on))?;
    // What was allocated for more is given back, too.
    drop(store);
    let after: u64 =
        std::fs::read_dir(dir.join("journal"))?.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum();
    if as_json {
        say(&json!({"before_bytes": done.before_bytes, "after_bytes": after, "moved": done.moved}).to_string())?;
    } else {
        say(&format!(
            "the journal had {} bytes, and has {after}; rewritten: {}",
            done.before_bytes,
            counted(done.moved, "frame")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn archived(done: &Archived, as_json: bool, what: &str) -> anyhow::Result<ExitCode> {
    if as_json {
        let Archived { frames, frame_bytes, keys, blobs, damage } = done;
        let line = json!({
            "frames": frames, "frame_bytes": frame_bytes, "keys": keys, "blobs": blobs, "damage": damage_json(damage),
        });
        say(&line.to_string())?;
    } else {
        complain(&done.damage);
        let Archived { frames, frame_bytes, keys, blobs, .. } = done;
        let (frames, frame_bytes) = (counted(*frames, "frame"), counted(*frame_bytes, "byte"));
        let (keys, blobs) = (counted(*keys, "key"), counted(*blobs, "blob"));
        say(&format!("{what}: {frames} of {frame_bytes}, {keys}, {blobs}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(line: &str) -> anyhow::Result<()> {
    print(line).context("cannot write to standard output")
}
