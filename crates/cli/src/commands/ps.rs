//! `whimbrel ps`: the nodes that run on this machine.

use std::process::ExitCode;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::Serialize;
use whimbrel_operator::{Answer, NodeInfo, Request, StillInfo};
use whimbrel_platform::plain_text::harmless;

use crate::arguments::PsArguments;
use whimbrel::control::{RunningNode, Survey, platforms, survey};
use whimbrel::duration::age;
use whimbrel::figures::{bytes, count};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::{PageRoom, show};
use whimbrel_terminal::table::{TableCell, TableColumn, cell, known, left, long, right, table};

/// Time between two looks at the counters, from which rates are computed.
pub const MOMENT: Duration = Duration::from_millis(150);

/// Page of processes.
#[derive(Serialize)]
struct ProcessPage {
    nodes: Vec<ProcessRow>,
    /// Societies on which nothing happens while agents wait, and since when, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stuck: Vec<String>,
}

#[derive(Serialize)]
struct ProcessRow {
    #[serde(flatten)]
    info: NodeInfo,
    /// Messages handled in a second, just now; unknown of a node that was not there a moment ago.
    messages_per_s: Option<f64>,
}

/// Messages that each process had handled, and the time of that figure.
type Before = FxHashMap<u32, (u64, u64)>;

/// Performs `whimbrel ps`.
pub fn ps(arguments: &PsArguments) -> anyhow::Result<ExitCode> {
    let mut before = Before::default();
    show(
        &arguments.showing,
        || {
            if before.is_empty() {
                before = figures(&survey());
                std::thread::sleep(if before.is_empty() { Duration::ZERO } else { MOMENT });
            }
            let survey = survey();
            survey.problems.iter().for_each(|problem| terminal::note(&format!("{problem:#}")));
            let now = figures(&survey);
            let platforms = platforms(survey.nodes);
            let stuck = platforms.iter().filter_map(|nodes| stuck(nodes)).collect();
            let rows = platforms.into_iter().flatten().map(|found| {
                let messages_per_s = rate(before.get(&found.info.pid), now.get(&found.info.pid));
                ProcessRow { info: found.info, messages_per_s }
            });
            let seen = ProcessPage { nodes: rows.collect(), stuck };
            before = now;
            Ok(seen)
        },
        page,
    )
}

/// Returns why the society of these nodes is stuck, if it is. Its nodes on other machines are asked, too.
fn stuck(nodes: &[RunningNode]) -> Option<String> {
    let first = nodes.first().filter(|first| first.info.still.is_some())?;
    let is_here = |name: &String| nodes.iter().any(|node| node.info.node == *name);
    let mut peers = nodes.iter().flat_map(|node| &node.info.peers);
    let why = if peers.all(|peer| peer.node.as_ref().is_some_and(is_here)) {
        StillInfo::stuck(nodes.iter().map(|node| &node.info))?
    } else {
        match first.ask(&Request::Totals, Duration::ZERO) {
            Ok(Answer::Totals(found)) if found.silent.is_empty() => StillInfo::stuck(&found.nodes)?,
            _ => return None,
        }
    };
    Some(format!("{}: {why}", first.info.society))
}

fn figures(survey: &Survey) -> Before {
    survey.nodes.iter().map(|found| (found.info.pid, (found.info.handled, found.info.up_us))).collect()
}

/// Returns the growth of a figure per second, from two samples of the figure and its time in microseconds.
pub fn rate(before: Option<&(u64, u64)>, now: Option<&(u64, u64)>) -> Option<f64> {
    let (before, now) = (before?, now?);
    let us = now.1.checked_sub(before.1).filter(|us| *us > 0)?;
    Some(now.0.saturating_sub(before.0) as f64 * 1e6 / us as f64)
}

const COLUMNS: [TableColumn; 11] = [
    left("PLATFORM"),
    left("NODE"),
    long("SOCIETY"),
    right("PID"),
    right("UP"),
    right("AGENTS"),
    right("MSG/S"),
    right("WAITING"),
    right("MEMORY"),
    left("SECURITY").if_room(),
    left("ADDRESS").if_room(),
];

fn page(seen: &ProcessPage, room: PageRoom) -> String {
    if seen.nodes.is_empty() {
        return "no society runs here".to_owned();
    }
    let row = |ProcessRow { info, messages_per_s }: &ProcessRow| -> Vec<TableCell> {
        vec![
            cell(&info.platform),
            cell(&info.node),
            cell(&info.society),
            cell(info.pid.to_string()),
            cell(age(Duration::from_micros(info.up_us))),
            cell(count(info.agents as f64)),
            known(messages_per_s.map(count)),
            cell(count(info.queued as f64)),
            known(info.memory_bytes.map(|memory| bytes(memory as f64))),
            known(info.security.as_ref()),
            known(info.address.as_ref()),
        ]
    };
    let rows: Vec<Vec<TableCell>> = seen.nodes.iter().map(row).collect();
    let wrong = seen.nodes.iter().flat_map(|row| row.info.wrong.iter().map(|what| (&row.info.node, what)));
    let wrong = wrong.map(|(node, what)| format!("\n{}: {}", harmless(node), harmless(what)));
    let stuck = seen.stuck.iter().map(|what| format!("\n{}", harmless(what)));
    table(&COLUMNS, &rows, room.columns) + &wrong.chain(stuck).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_from_two_looks() {
        assert_eq!(rate(Some(&(100, 1_000_000)), Some(&(400, 1_150_000))), Some(2_000.0));
        assert_eq!(rate(None, Some(&(400, 1_150_000))), None);
        assert_eq!(rate(Some(&(400, 7)), Some(&(400, 7))), None);
    }
}
