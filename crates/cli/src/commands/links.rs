//! `whimbrel links`: what goes over the links between nodes.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use rustc_hash::FxHashMap;
use serde::Serialize;
use whimbrel_operator::{Answer, LinkInfo, Request};

use super::ps::{MOMENT, rate};
use crate::arguments::LinksArguments;
use whimbrel::control::choose;
use whimbrel::figures::{bytes, count};
use whimbrel_terminal::screen::{PageRoom, show};
use whimbrel_terminal::table::{TableCell, TableColumn, cell, known, left, right, table};

/// Page of links.
#[derive(Serialize)]
struct LinkPage {
    links: Vec<LinkRow>,
}

#[derive(Serialize)]
struct LinkRow {
    #[serde(flatten)]
    link: LinkInfo,
    /// Messages and news received in a second, just now.
    items_in_per_s: Option<f64>,
    items_out_per_s: Option<f64>,
    bytes_in_per_s: Option<f64>,
    bytes_out_per_s: Option<f64>,
}

/// Links, each with when it was looked at, in microseconds.
type Before = FxHashMap<(String, Option<String>), (LinkInfo, u64)>;

/// Performs `whimbrel links`.
pub fn links(arguments: &LinksArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let mut before = Before::default();
    show(
        &arguments.showing,
        || {
            if before.is_empty() {
                before = by_name(look(arguments, began)?);
                std::thread::sleep(if before.is_empty() { Duration::ZERO } else { MOMENT });
            }
            let now = look(arguments, began)?;
            let links = now.iter().map(|(link, at)| row(link, *at, before.get(&name(link)))).collect();
            before = by_name(now);
            Ok(LinkPage { links })
        },
        page,
    )
}

fn name(link: &LinkInfo) -> (String, Option<String>) {
    (link.node.clone(), link.peer.clone().or_else(|| link.address.clone()))
}

fn by_name(links: Vec<(LinkInfo, u64)>) -> Before {
    links.into_iter().map(|(link, at)| (name(&link), (link, at))).collect()
}

fn look(arguments: &LinksArguments, began: Instant) -> anyhow::Result<Vec<(LinkInfo, u64)>> {
    let mut all = Vec::new();
    for node in choose(&arguments.target)? {
        let Answer::Links { links } = node.ask(&Request::Links, Duration::ZERO)? else {
            bail!("node {} sent an unexpected answer to a query for its links", node.info.node);
        };
        let at = began.elapsed().as_micros() as u64;
        all.extend(links.into_iter().map(|link| (link, at)));
    }
    Ok(all)
}

fn row(link: &LinkInfo, at: u64, before: Option<&(LinkInfo, u64)>) -> LinkRow {
    let grown = |figure: fn(&LinkInfo) -> u64| {
        let then = before.map(|(link, at)| (figure(link), *at));
        rate(then.as_ref(), Some(&(figure(link), at)))
    };
    LinkRow {
        items_in_per_s: grown(|link| link.items_in),
        items_out_per_s: grown(|link| link.items_out),
        bytes_in_per_s: grown(|link| link.bytes_in),
        bytes_out_per_s: grown(|link| link.bytes_out),
        link: link.clone(),
    }
}

/// Returns a time in microseconds, for people.
fn latency(us: u64) -> String {
    if us < 10_000 { format!("{us} us") } else { format!("{} ms", us / 1_000) }
}

const COLUMNS: [TableColumn; 14] = [
    left("NODE"),
    left("PEER"),
    left("STATE"),
    right("LATENCY"),
    right("WAITING"),
    right("IN"),
    right("IN/S"),
    right("OUT"),
    right("OUT/S"),
    right("BYTES IN").if_room(),
    right("PER S").if_room(),
    right("BYTES OUT").if_room(),
    right("PER S").if_room(),
    right("CONNECTIONS").if_room(),
];

fn page(seen: &LinkPage, room: PageRoom) -> String {
    if seen.links.is_empty() {
        return "no links: this platform is one node".to_owned();
    }
    let colored = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let row = |row: &LinkRow| {
        let link = &row.link;
        let state = match link.up {
            true => ("up", colored(AnsiColor::Green)),
            false if link.left => ("left", Style::new()),
            false => ("down", colored(AnsiColor::Red)),
        };
        let counted = |figure: u64| cell(count(figure as f64));
        let sized = |figure: u64| cell(bytes(figure as f64));
        vec![
            cell(&link.node),
            known(link.peer.as_ref().or(link.address.as_ref())),
            TableCell::styled(state.0, state.1),
            known(link.round_trip_us.map(latency)),
            counted(link.waiting),
            counted(link.items_in),
            known(row.items_in_per_s.map(count)),
            counted(link.items_out),
            known(row.items_out_per_s.map(count)),
            sized(link.bytes_in),
            known(row.bytes_in_per_s.map(bytes)),
            sized(link.bytes_out),
            known(row.bytes_out_per_s.map(bytes)),
            counted(link.connections),
        ]
    };
    let rows: Vec<Vec<TableCell>> = seen.links.iter().map(row).collect();
    table(&COLUMNS, &rows, room.columns)
}
