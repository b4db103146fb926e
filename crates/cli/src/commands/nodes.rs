//! `whimbrel nodes`: the nodes of a cluster.

use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use serde::Serialize;
use whimbrel_operator::{Answer, MemberInfo, MemberState, Request, WishInfo};
use whimbrel_platform::cluster::{Load, Trouble, TroubleKind};

use crate::arguments::NodesArguments;
use whimbrel::control::{RunningNode, choose};
use whimbrel::figures::count;
use whimbrel_terminal::screen::{PageRoom, show};
use whimbrel_terminal::table::{TableCell, TableColumn, cell, left, right, table};

/// Page of nodes.
#[derive(Serialize)]
struct NodePage {
    nodes: Vec<MemberInfo>,
    /// Partitions that wait for a node.
    vacant: Vec<String>,
    /// Wishes for places of partitions.
    wishes: Vec<WishInfo>,
    /// Names of the nodes, if the platform is no cluster.
    linked: Vec<String>,
}

/// Shows them, as one of those that run here sees them.
pub fn nodes(arguments: &NodesArguments) -> anyhow::Result<ExitCode> {
    show(
        &arguments.showing,
        || {
            let Some(node) = choose(&arguments.target)?.into_iter().next() else {
                bail!("no such node runs here: `whimbrel ps` lists nodes")
            };
            let Answer::Nodes { mut nodes, vacant, wishes } = node.ask(&Request::Nodes, Duration::ZERO)? else {
                bail!("node {} sent an unexpected answer to a query for its peers", node.info.node);
            };
            nodes.sort_by(|one, other| (one.node.len(), &one.node).cmp(&(other.node.len(), &other.node)));
            let linked = if nodes.is_empty() { linked(&node)? } else { Vec::new() };
            Ok(NodePage { nodes, vacant, wishes, linked })
        },
        page,
    )
}

/// Number of wishes that are shown.
const WISHES_SHOWN: usize = 8;

const COLUMNS: [TableColumn; 9] = [
    left("NODE"),
    left("STATE"),
    right("PARTITIONS"),
    right("LEAVING"),
    right("AGENTS"),
    right("LOAD"),
    right("WEIGHT"),
    left("ADDRESS"),
    left("PROCESS").if_room(),
];

fn page(seen: &NodePage, room: PageRoom) -> String {
    if seen.nodes.is_empty() {
        let what = match &*seen.linked {
            [] | [_] => "one node".to_owned(),
            names => format!("the nodes {}, which share no store (`whimbrel links`)", names.join(", ")),
        };
        return format!("no cluster, but {what}: `whimbrel up` makes one");
    }
    let row = |node: &MemberInfo| {
        let (word, color) = match node.state {
            MemberState::Joining => ("joining", AnsiColor::Yellow),
            MemberState::Running if node.standby => ("standby", AnsiColor::Green),
            MemberState::Running => ("running", AnsiColor::Green),
            MemberState::Draining => ("draining", AnsiColor::Yellow),
            MemberState::Left => ("left", AnsiColor::Yellow),
            MemberState::Silent => ("silent", AnsiColor::Red),
        };
        vec![
            cell(named(node)),
            TableCell::styled(word, Style::new().fg_color(Some(color.into()))),
            cell(node.partitions.to_string()),
            cell(node.leaving.to_string()),
            cell(count(node.agents as f64)),
            cell(node.load.as_ref().map_or("-".to_owned(), Load::percent)),
            cell(node.weight.to_string()),
            cell(&node.address),
            cell(&node.process),
        ]
    };
    let rows: Vec<Vec<TableCell>> = seen.nodes.iter().map(row).collect();
    let mut page = table(&COLUMNS, &rows, room.columns);
    let said = troubles(&seen.nodes).into_iter().chain(mixture(&seen.nodes)).chain(seen.vacant.iter().cloned());
    for line in said.chain(wanted(&seen.wishes)) {
        page += "\n";
        page += &line;
    }
    page
}

/// Describes the wishes for partitions.
fn wanted(wishes: &[WishInfo]) -> Option<String> {
    let one = |WishInfo { partition, node, agents }: &WishInfo| {
        let agents = if agents.is_empty() { String::new() } else { format!(" (of {})", agents.join(", ")) };
        format!("partition {partition}{agents} on {node}")
    };
    let shown: Vec<String> = wishes.iter().take(WISHES_SHOWN).map(one).collect();
    let more = wishes.len().saturating_sub(WISHES_SHOWN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!wishes.is_empty())
        .then(|| format!("Wanted: {}{more}. `whimbrel move AGENT '*'` takes that back.", shown.join(", ")))
}

/// Returns the names of a node and of those that it is linked with.
fn linked(node: &RunningNode) -> anyhow::Result<Vec<String>> {
    let Answer::Links { links } = node.ask(&Request::Links, Duration::ZERO)? else {
        bail!("node {} sent an unexpected answer to a query for its links", node.info.node);
    };
    let peers = links.into_iter().filter(|link| link.up).filter_map(|link| link.peer);
    let mut names: Vec<String> = peers.chain([node.info.node.clone()]).collect();
    names.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    Ok(names)
}

/// Returns a node's name, and its labels.
fn named(node: &MemberInfo) -> String {
    if node.labels.is_empty() { node.node.clone() } else { format!("{} [{}]", node.node, node.labels.join(", ")) }
}

/// Returns a remark if nodes are of two releases.
fn mixture(nodes: &[MemberInfo]) -> Option<String> {
    let living = || nodes.iter().filter(|node| !matches!(node.state, MemberState::Left | MemberState::Silent));
    let newest = living().max_by_key(|node| node.level)?;
    let older: Vec<&str> = living().filter(|node| node.level < newest.level).map(|node| node.node.as_str()).collect();
    let (names, verb) = (older.join(", "), if older.len() == 1 { "is" } else { "are" });
    (!older.is_empty()).then(|| {
        format!(
            "{names} {verb} of an earlier release than {}: all nodes use the formats of the earlier release until no such node is left.",
            newest.node
        )
    })
}

/// Returns partition errors, and what can be done about them.
fn troubles(nodes: &[MemberInfo]) -> Vec<String> {
    let line = |node: &MemberInfo, Trouble { partition, kind, why }: &Trouble| {
        let what = match kind {
            TroubleKind::Stuck => format!("is to hand over partition {partition}, and cannot"),
            TroubleKind::Unreadable if node.unserved.contains(partition) => {
                format!("has partition {partition}, and cannot serve it")
            }
            TroubleKind::Unreadable => format!("cannot serve partition {partition}, which another node has"),
        };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        format!("{} {what}{why}", node.node)
    };
    let lines = nodes.iter().flat_map(|node| node.troubles.iter().map(|trouble| line(node, trouble)));
    let hint = "Agents of a partition that no node serves wait: they continue when a node with their program joins (--fresh \
                deletes the whole society).";
    let is_unserved = nodes.iter().any(|node| !node.unserved.is_empty());
    lines.chain(is_unserved.then(|| hint.to_owned())).collect()
}
