//! `whimbrel topics`: what agents subscribe to, and which groups they are in.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;
use whimbrel_operator::{Answer, Request, TopicInfo};
use whimbrel_platform::ams::name_fits;

use crate::arguments::TopicsArguments;
use whimbrel::control::choose;
use whimbrel_terminal::screen::{PageRoom, show};
use whimbrel_terminal::table::{TableCell, TableColumn, cell, left, long, right, table};

/// Page of topics.
#[derive(Serialize)]
struct TopicPage {
    topics: Vec<TopicInfo>,
}

/// Performs `whimbrel topics`.
pub fn topics(arguments: &TopicsArguments) -> anyhow::Result<ExitCode> {
    show(&arguments.showing, || look(arguments), page)
}

fn look(arguments: &TopicsArguments) -> anyhow::Result<TopicPage> {
    let mut all = Vec::new();
    for node in choose(&arguments.target)? {
        let Answer::Topics { topics } = node.ask(&Request::Topics, Duration::ZERO)? else {
            bail!("node {} sent an unexpected answer to a query for its topics", node.info.node);
        };
        all.extend(topics);
    }
    if let Some(pattern) = &arguments.name {
        let bare = |name: &str| name.split_once(':').map(|(_, name)| name.to_owned());
        all.retain(|topic| {
            name_fits(pattern, &topic.name) || bare(&topic.name).is_some_and(|name| name_fits(pattern, &name))
        });
    }
    // What only other nodes have members of, those tell themselves; unless none of them runs here.
    let told: Vec<String> = all.iter().filter(|topic| topic.members > 0).map(|topic| topic.name.clone()).collect();
    all.retain(|topic| topic.members > 0 || !told.contains(&topic.name));
    all.sort_by(|a, b| (&a.name, &a.node).cmp(&(&b.name, &b.node)));
    all.dedup_by(|a, b| a.members == 0 && b.members == 0 && a.name == b.name);
    Ok(TopicPage { topics: all })
}

const COLUMNS: [TableColumn; 4] = [long("NAME"), left("NODE"), right("MEMBERS"), right("OTHER NODES")];

fn page(seen: &TopicPage, room: PageRoom) -> String {
    if seen.topics.is_empty() {
        return "nobody is in any topic or group".to_owned();
    }
    let row = |topic: &TopicInfo| {
        let (members, nodes) = (topic.members.to_string(), topic.other_nodes.to_string());
        vec![cell(&topic.name), cell(&topic.node), cell(members), cell(nodes)]
    };
    let rows: Vec<Vec<TableCell>> = seen.topics.iter().map(row).collect();
    table(&COLUMNS, &rows, room.columns)
}
