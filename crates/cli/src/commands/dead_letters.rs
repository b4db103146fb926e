//! `whimbrel dead-letters`: messages that could not reach their receivers.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;
use whimbrel_operator::{Answer, Event, Request};

use crate::arguments::DeadLetters;
use crate::sequence_diagram::{Clock, Lines};
use whimbrel::control::choose;
use whimbrel_terminal::screen::{Room, show};

/// What is shown.
#[derive(Serialize)]
struct Seen {
    letters: Vec<Event>,
    total: u64,
    #[serde(skip)]
    nodes: usize,
}

/// Shows them, the newest last.
pub fn dead_letters(arguments: &DeadLetters) -> anyhow::Result<ExitCode> {
    show(&arguments.showing, || look(arguments), page)
}

fn look(arguments: &DeadLetters) -> anyhow::Result<Seen> {
    let nodes = choose(&arguments.target)?;
    let mut seen = Seen { letters: Vec::new(), total: 0, nodes: nodes.len() };
    for node in &nodes {
        let request = Request::DeadLetters { agents: arguments.agents.clone(), limit: arguments.limit };
        let Answer::DeadLetters(found) = node.ask(&request, Duration::ZERO)? else {
            bail!("node {} does not tell of its dead letters", node.info.node);
        };
        seen.letters.extend(found.letters);
        seen.total += found.total;
    }
    seen.letters.sort_by_key(|letter| letter.at_us);
    let older = seen.letters.len().saturating_sub(arguments.limit);
    seen.letters.drain(..older);
    Ok(seen)
}

fn page(seen: &Seen, room: Room) -> String {
    let lines = Lines { clock: Clock::Day, nodes: seen.nodes > 1, width: room.columns };
    let shown = room.lines.map_or(seen.letters.len(), |lines| lines.saturating_sub(2));
    let older = seen.letters.len().saturating_sub(shown);
    let newest = seen.letters.iter().skip(older).filter_map(|letter| lines.line(letter));
    let dim = anstyle::Style::new().dimmed();
    let sum = format!("{dim}{} messages died so far{dim:#}", seen.total);
    newest.chain([sum]).collect::<Vec<_>>().join("\n")
}
