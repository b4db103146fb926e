//! `whimbrel engine`: the cluster engine that durable agents are kept in.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};
use whimbrel_store::nats::{
    EngineOptions, ServerCluster, ServerInfo, Setup, Status, StreamStatus, find_server, status,
};

use super::engine_record::{EngineRecord, end, option_for, start_detached};
use crate::arguments::{ENGINE_FOLDER, EngineAction, EngineArguments, Sync};
use whimbrel::figures::{bytes, count, counted};
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print;
use whimbrel_terminal::stopping::Stopping;
use whimbrel_terminal::table::{TableCell, TableColumn, cell, known, left, long, right, table};

/// Interval of checks for servers that stopped by themselves.
const LOOK: Duration = Duration::from_millis(500);

/// Performs `whimbrel engine`.
pub fn engine(arguments: &EngineArguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        EngineAction::Up { servers, dir, detach: true, port, sync } => up_detached(*servers, dir, *port, *sync),
        EngineAction::Up { servers, dir, detach: false, port, sync } => up(*servers, dir, *port, *sync),
        EngineAction::Down { dir } => down(dir),
        EngineAction::Status { url: Some(url), json, .. } => show(url, *json),
        EngineAction::Status { url: None, dir, json } => show_local(dir, *json),
    }
}

fn up(servers: u8, dir: &Path, port: u16, sync: Sync) -> anyhow::Result<ExitCode> {
    let program = find_server()?;
    check(servers, dir, port)?;
    let dir = std::path::absolute(dir)?;
    let sync_always = sync == Sync::Always;
    // First, so that Ctrl-C while they start ends them in order, too.
    let stopping = Stopping::new()?;
    let mut cluster = ServerCluster::start(Setup { program, servers, dir: dir.clone(), port, sync_always })?;
    let record = EngineRecord { process: std::process::id(), url: cluster.url(), servers: cluster.processes() };
    record.write(&dir)?;
    print(&format!("store = \"{}\"", cluster.url()))?;
    terminal::note(&format!("{} in {}; Ctrl-C ends them", record.named(), dir.display()));
    while !stopping.within(LOOK) {
        if EngineRecord::read(&dir).as_ref() != Some(&record) {
            terminal::note("`whimbrel engine down` ends the servers");
            cluster.stop();
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(name) = cluster.ended() {
            cluster.stop();
            EngineRecord::remove(&dir);
            bail!("{name} stopped unexpectedly: see {}", dir.join(format!("{name}.log")).display());
        }
    }
    terminal::note("ending the servers (Ctrl-C again to end at once)");
    cluster.stop();
    EngineRecord::remove(&dir);
    Ok(ExitCode::SUCCESS)
}

/// Refuses servers beside others in their folder, and ports that there are not.
fn check(servers: u8, dir: &Path, port: u16) -> anyhow::Result<()> {
    if let Some(record) = EngineRecord::read(dir).filter(EngineRecord::answers) {
        let option = option_for(dir, ENGINE_FOLDER);
        bail!("{} run in {} already: end them with `whimbrel engine down{option}`", record.named(), dir.display());
    }
    let last = u32::from(port) + u32::from(servers) - 1;
    if port > 0 && last > u32::from(u16::MAX) {
        bail!("{servers} servers from port {port} on need ports up to {last}: the last port is {}", u16::MAX);
    }
    Ok(())
}

fn up_detached(servers: u8, dir: &Path, port: u16, sync: Sync) -> anyhow::Result<ExitCode> {
    // Here, so that what is missing is said at once.
    find_server()?;
    check(servers, dir, port)?;
    let path = std::path::absolute(dir)?;
    let flush = if sync == Sync::Always { "always" } else { "lazy" };
    let words = ["engine", "up", "--servers", &servers.to_string(), "--port", &port.to_string(), "--sync", flush];
    let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
    arguments.extend(["--dir".to_owned(), path.to_string_lossy().into_owned()]);
    let record = start_detached(&path, &arguments)?;
    print(&format!("store = \"{}\"", record.url))?;
    let option = option_for(dir, ENGINE_FOLDER);
    terminal::note(&format!("{} run in the background until `whimbrel engine down{option}`", record.named()));
    Ok(ExitCode::SUCCESS)
}

fn down(dir: &Path) -> anyhow::Result<ExitCode> {
    let record = end(dir)?;
    print(&format!("{} ended; their data stays in {}", record.named(), dir.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn show_local(dir: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let Some(record) = EngineRecord::read(dir).filter(EngineRecord::answers) else {
        bail!(
            "no servers run in {}: give the address of an engine, the folder with --dir, or start servers with \
             `whimbrel engine up --detach`",
            dir.display()
        )
    };
    if !as_json {
        print(&format!("{} of process {} in {}", record.named(), record.process, dir.display()))?;
    }
    show(&record.url, as_json)
}

fn show(url: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let status = status(url, EngineOptions::default())?;
    print(&if as_json { line(&status).to_string() } else { text(&status).to_string() })?;
    let fine = status.refused.is_none() && status.streams.iter().all(|stream| stream.differences.is_empty());
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(status: &Status) -> Value {
    let standing = &status.standing;
    let server = |server: &ServerInfo| {
        json!({
            "name": server.name,
            "version": server.version,
            "jetstream": server.jetstream,
            "sync_always": server.sync_always,
            "storage_bytes": server.storage_bytes,
            "uptime": server.uptime,
        })
    };
    let stream = |stream: &StreamStatus| {
        let followers = stream.followers.iter().map(|(name, behind)| json!({ "name": name, "behind": behind }));
        json!({
            "name": stream.name,
            "leader": stream.leader,
            "followers": followers.collect::<Vec<_>>(),
            "messages": stream.messages,
            "bytes": stream.bytes,
            "differences": stream.differences,
        })
    };
    json!({
        "version": standing.version,
        "cluster": standing.cluster,
        "sync_always": standing.sync_always(),
        "servers": standing.servers.iter().map(server).collect::<Vec<_>>(),
        "store": status.store,
        "partitions": status.partitions,
        "streams": status.streams.iter().map(stream).collect::<Vec<_>>(),
        "refused": status.refused,
    })
}

fn text(status: &Status) -> String {
    let standing = &status.standing;
    let cluster = match standing.cluster.as_str() {
        "" => "no cluster".to_owned(),
        name => format!("cluster {name}"),
    };
    let mut parts = vec![format!("NATS {}, {cluster}", standing.version)];
    if standing.servers.is_empty() {
        let question = "$SYS.REQ.SERVER.PING.VARZ";
        parts.push(format!(
            "which servers there are, and when they flush, is not known: this account may not ask {question}"
        ));
    } else {
        parts.push(servers(&standing.servers));
    }
    match status.partitions {
        None => parts.push(format!("store {}: not made yet", status.store)),
        Some(partitions) => {
            let copies = status.options.replicas;
            parts.push(format!(
                "\nstore {}: {}; copies asked for: {copies}",
                status.store,
                counted(partitions, "partition")
            ));
            parts.push(streams(&status.streams));
        }
    }
    for stream in &status.streams {
        parts.extend(stream.differences.iter().map(|difference| format!("{}: {difference}", stream.name)));
    }
    parts.push(match &status.refused {
        Some(why) => format!("\na platform would not start: {why}"),
        None => String::new(),
    });
    parts.join("\n").trim_end().to_owned()
}

fn servers(servers: &[ServerInfo]) -> String {
    const COLUMNS: [TableColumn; 5] =
        [long("server"), left("version"), left("flushes"), right("stored"), left("up for")];
    let row = |server: &ServerInfo| {
        let flushes = match (server.jetstream, server.sync_always) {
            (false, _) => "keeps nothing".to_owned(),
            (true, true) => "always".to_owned(),
            (true, false) => format!("every {} s", server.sync_interval.as_secs()),
        };
        let stored = bytes(server.storage_bytes as f64);
        vec![cell(&server.name), cell(&server.version), cell(flushes), cell(stored), cell(&server.uptime)]
    };
    let rows: Vec<Vec<TableCell>> = servers.iter().map(row).collect();
    table(&COLUMNS, &rows, None)
}

fn streams(streams: &[StreamStatus]) -> String {
    const COLUMNS: [TableColumn; 5] =
        [long("stream"), left("leader"), right("behind"), right("messages"), right("stored")];
    let row = |stream: &StreamStatus| {
        let behind = stream.followers.iter().map(|(_, behind)| *behind).max();
        let leader = Some(&stream.leader).filter(|leader| !leader.is_empty());
        let messages = count(stream.messages as f64);
        let behind = known(behind.map(|behind| count(behind as f64)));
        vec![cell(&stream.name), known(leader), behind, cell(messages), cell(bytes(stream.bytes as f64))]
    };
    let rows: Vec<Vec<TableCell>> = streams.iter().map(row).collect();
    table(&COLUMNS, &rows, None)
}
