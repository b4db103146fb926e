//! `whimbrel df`: what agents offer.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use whimbrel_operator::{Answer, EntryInfo, Request, ServiceInfo, ServicesFound, ServicesWanted};

use crate::arguments::DfArguments;
use whimbrel::control::choose;
use whimbrel::duration::age;
use whimbrel_terminal::screen::{PageRoom, show};
use whimbrel_terminal::style_of;
use whimbrel_terminal::table::{TableCell, TableColumn, cell, known, left, long, right, table};

/// Performs `whimbrel df`.
pub fn df(arguments: &DfArguments) -> anyhow::Result<ExitCode> {
    show(&arguments.showing, || look(arguments), page)
}

fn look(arguments: &DfArguments) -> anyhow::Result<ServicesFound> {
    let nodes = choose(&arguments.target)?;
    let only_some = arguments.target.node.is_some() || arguments.target.pid.is_some();
    // Of nodes that do not run here, the first tells what it knows.
    let mut elsewhere_but = (!only_some).then(|| nodes.iter().map(|node| node.info.node.clone()).collect());
    let mut entries = Vec::new();
    for node in &nodes {
        let wanted = ServicesWanted { elsewhere_but: elsewhere_but.take(), ..wanted(arguments) };
        match node.ask(&Request::Services(wanted), Duration::ZERO)? {
            Answer::Services(found) => entries.extend(found.entries),
            _ => bail!("node {} sent an unexpected answer to a query for services", node.info.node),
        }
    }
    Ok(ServicesFound { entries })
}

fn wanted(arguments: &DfArguments) -> ServicesWanted {
    let property = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.to_owned(), value.to_owned())
    };
    ServicesWanted {
        service: arguments.service.clone(),
        agent: arguments.agent.clone(),
        name: arguments.name.clone(),
        kind: arguments.kind.clone(),
        ontology: arguments.ontology.clone(),
        protocol: arguments.protocol.clone(),
        language: arguments.language.clone(),
        properties: arguments.property.iter().map(property).collect(),
        elsewhere_but: None,
    }
}

const COLUMNS: [TableColumn; 8] = [
    left("AGENT"),
    left("NODE"),
    long("SERVICE"),
    long("TYPE"),
    long("ONTOLOGIES").if_room(),
    long("PROTOCOLS").if_room(),
    long("PROPERTIES").if_room(),
    right("LEASE").if_room(),
];

fn page(found: &ServicesFound, room: PageRoom) -> String {
    if found.entries.is_empty() {
        return "nobody offers that".to_owned();
    }
    let rows: Vec<Vec<TableCell>> = found.entries.iter().flat_map(rows).collect();
    let shown = room.lines.map_or(rows.len(), |lines| lines.saturating_sub(3)).min(rows.len());
    let more = rows.len() - shown;
    let text = table(&COLUMNS, rows.get(..shown).unwrap_or(&rows), room.columns);
    if more > 0 { format!("{text}\nand {more} more") } else { text }
}

/// Returns a line for each service; one for an entry without any.
fn rows(entry: &EntryInfo) -> Vec<Vec<TableCell>> {
    let bare = ServiceInfo::default();
    let services = if entry.services.is_empty() { std::slice::from_ref(&bare) } else { entry.services.as_slice() };
    services.iter().map(|service| row(entry, service)).collect()
}

fn row(entry: &EntryInfo, service: &ServiceInfo) -> Vec<TableCell> {
    let listed = |names: Vec<String>| known(Some(names.join(", ")).filter(|text| !text.is_empty()));
    let both = |of_service: &[String], of_entry: &[String]| {
        let more = of_entry.iter().filter(|name| !of_service.contains(name));
        listed(of_service.iter().chain(more).cloned().collect())
    };
    let properties = service.properties.iter().map(|(name, value)| format!("{name}={value}")).collect();
    vec![
        TableCell::styled(&entry.agent, style_of(&entry.agent)),
        cell(&entry.node),
        listed(vec![service.name.clone()]),
        listed(vec![service.kind.clone()]),
        both(&service.ontologies, &entry.ontologies),
        both(&service.protocols, &entry.protocols),
        listed(properties),
        known(entry.lease_left_ms.map(|ms| age(Duration::from_millis(ms)))),
    ]
}
