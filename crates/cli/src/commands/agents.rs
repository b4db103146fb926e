//! `whimbrel agents`: the agents of a platform.

use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use whimbrel_operator::{AgentInfo, AgentOrder, AgentsFound, AgentsWanted, Answer, Request};
use whimbrel_platform::ams::{AgentKind, AgentState};

use crate::arguments::{AgentsArguments, Order};
use whimbrel::control::{RunningNode, choose, merge};
use whimbrel::duration::age;
use whimbrel::figures::count;
use whimbrel_terminal::screen::{PageRoom, show};
use whimbrel_terminal::style_of;
use whimbrel_terminal::table::{TableCell, TableColumn, cell, known, left, long, right, table};

/// Agents that a prompt lists.
const LISTED_MAX: usize = 200;

/// Performs `whimbrel agents`.
pub fn agents(arguments: &AgentsArguments) -> anyhow::Result<ExitCode> {
    show(&arguments.showing, || look(arguments), page)
}

impl From<Order> for AgentOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Name => Self::Name,
            Order::Mailbox => Self::Mailbox,
            Order::Handled => Self::Handled,
            Order::Age => Self::Age,
        }
    }
}

fn look(arguments: &AgentsArguments) -> anyhow::Result<AgentsFound> {
    let nodes = choose(&arguments.target)?;
    let only_some = arguments.target.node.is_some() || arguments.target.pid.is_some();
    let wanted = AgentsWanted {
        name: arguments.name.clone(),
        state: arguments.state,
        services: arguments.services,
        sort: AgentOrder::from(arguments.sort),
        limit: arguments.limit,
        elsewhere_but: None,
    };
    ask_each(&nodes, &wanted, only_some)
}

/// Asks all these nodes for their agents, and one of them for those on other machines unless `only_some` count.
fn ask_each(nodes: &[RunningNode], wanted: &AgentsWanted, only_some: bool) -> anyhow::Result<AgentsFound> {
    // Of nodes that do not run here, the first tells what it knows.
    let mut elsewhere_but = (!only_some).then(|| nodes.iter().map(|node| node.info.node.clone()).collect());
    let mut parts = Vec::new();
    for node in nodes {
        let wanted = AgentsWanted { elsewhere_but: elsewhere_but.take(), ..wanted.clone() };
        match node.ask(&Request::Agents(wanted), Duration::ZERO)? {
            Answer::Agents(found) => parts.push(found),
            _ => bail!("node {} sent an unexpected answer to a query for its agents", node.info.node),
        }
    }
    Ok(merge(parts, wanted.sort, wanted.limit))
}

/// Returns the table of the agents whose names match a pattern; of all if it is empty.
pub fn listed(nodes: &[RunningNode], pattern: &str, room: PageRoom) -> anyhow::Result<String> {
    let wanted = AgentsWanted {
        name: pattern.to_owned(),
        state: None,
        services: false,
        sort: AgentOrder::Name,
        limit: LISTED_MAX,
        elsewhere_but: None,
    };
    Ok(page(&ask_each(nodes, &wanted, false)?, room))
}

const COLUMNS: [TableColumn; 7] =
    [long("AGENT"), left("KIND"), left("STATE"), left("NODE"), right("MAILBOX"), right("HANDLED"), right("AGE")];

fn page(found: &AgentsFound, room: PageRoom) -> String {
    if found.total == 0 {
        return "no such agents".to_owned();
    }
    // Below the titles, and with a line left for what is not shown.
    let shown = room.lines.map_or(found.agents.len(), |lines| lines.saturating_sub(3)).min(found.agents.len());
    let rows: Vec<Vec<TableCell>> = found.agents.iter().take(shown).map(row).collect();
    let mut text = table(&COLUMNS, &rows, room.columns);
    let more = found.total.saturating_sub(shown as u64);
    if more > 0 {
        let dim = Style::new().dimmed();
        let hint = if shown < found.agents.len() { "" } else { ": give a pattern, or a higher --limit" };
        text.push_str(&format!("\n{dim}and {more} more{hint}{dim:#}"));
    }
    text
}

fn row(agent: &AgentInfo) -> Vec<TableCell> {
    let colored = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let kind = match agent.kind {
        AgentKind::AgentSpeak => "agentspeak",
        AgentKind::Native => "native",
        AgentKind::Wasm => "wasm",
        AgentKind::Session => "session",
        AgentKind::Service => "service",
        _ => "other",
    };
    let state = match agent.state {
        _ if agent.ending => TableCell::styled("ending", colored(AnsiColor::Red)),
        Some(AgentState::Active) if agent.passive => TableCell::styled("passive", Style::new().dimmed()),
        Some(state @ AgentState::Active) => cell(state.as_str()),
        Some(state) => TableCell::styled(state.as_str(), colored(AnsiColor::Yellow)),
        None => known(None::<&str>),
    };
    vec![
        TableCell::styled(&agent.name, style_of(&agent.name)),
        cell(kind),
        state,
        cell(&agent.node),
        known(agent.mailbox.map(|count| count.to_string())),
        known(agent.handled.map(|handled| count(handled as f64))),
        known(agent.age_ms.map(|ms| age(Duration::from_millis(ms)))),
    ]
}
