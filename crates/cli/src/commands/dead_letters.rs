//! `whimbrel dead-letters`: messages that could not reach their receivers.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;
use whimbrel_operator::{Answer, NodeEvent, Request};

use crate::arguments::DeadLettersArguments;
use crate::sequence_diagram::{EventClock, EventLines};
use whimbrel::control::choose;
use whimbrel::figures::counted;
use whimbrel_terminal::screen::{PageRoom, show};

/// Page of dead letters.
#[derive(Serialize)]
struct DeadLetterPage {
    letters: Vec<NodeEvent>,
    total: u64,
    #[serde(skip)]
    nodes: usize,
}

/// Shows them, the newest last.
pub fn dead_letters(arguments: &DeadLettersArguments) -> anyhow::Result<ExitCode> {
    show(&arguments.showing, || look(arguments), page)
}

fn look(arguments: &DeadLettersArguments) -> anyhow::Result<DeadLetterPage> {
    let nodes = choose(&arguments.target)?;
    let mut seen = DeadLetterPage { letters: Vec::new(), total: 0, nodes: nodes.len() };
    for node in &nodes {
        let request = Request::DeadLetters { agents: arguments.agents.clone(), limit: arguments.limit };
        let Answer::DeadLetters(found) = node.ask(&request, Duration::ZERO)? else {
            bail!("node {} sent an unexpected answer to a query for dead letters", node.info.node);
        };
        seen.letters.extend(found.letters);
        seen.total += found.total;
    }
    seen.letters.sort_by_key(|letter| letter.at_us);
    let older = seen.letters.len().saturating_sub(arguments.limit);
    seen.letters.drain(..older);
    Ok(seen)
}

fn page(seen: &DeadLetterPage, room: PageRoom) -> String {
    let lines = EventLines { clock: EventClock::Day, nodes: seen.nodes > 1, width: room.columns };
    let shown = room.lines.map_or(seen.letters.len(), |lines| lines.saturating_sub(2));
    let older = seen.letters.len().saturating_sub(shown);
    let newest = seen.letters.iter().skip(older).filter_map(|letter| lines.line(letter));
    let dim = anstyle::Style::new().dimmed();
    let sum = format!("{dim}{} died so far{dim:#}", counted(seen.total, "message"));
    newest.chain([sum]).collect::<Vec<_>>().join("\n")
}
