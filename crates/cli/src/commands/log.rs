//! `whimbrel log`: what agents said to each other.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::json;
use whimbrel_operator::{Happening, LogLine, LogWanted, Reason, Refusal, Request};
use whimbrel_platform::conversations::Wanted;
use whimbrel_store::ConversationLog;

use crate::arguments::LogArguments;
use crate::sequence_diagram::{EventClock, EventLines};
use whimbrel::control::{Cursor, Merge, RunningNode, choose, history};
use whimbrel::node::conversation_recorder;
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::{is_closed, print, terminal_size};

/// Lines on their way from the nodes to the terminal.
const LINES_ON_THE_WAY: usize = 1_024;

/// Input of the terminal.
enum LogNews {
    /// The node of this number tells something.
    Line(usize, Box<LogLine>),
    /// End of a node's lines, or the error of the node or of the request.
    Ended(usize, anyhow::Result<()>),
    /// Ctrl-C.
    Enough,
}

/// Performs `whimbrel log`.
pub fn log(arguments: &LogArguments) -> anyhow::Result<ExitCode> {
    let (tell, news) = sync_channel(LINES_ON_THE_WAY);
    let names = match &arguments.folder {
        Some(folder) => read_folder(arguments, folder, &tell)?,
        None => ask_nodes(arguments, &tell)?,
    };
    if arguments.since.is_lone()
        && let [first, _, ..] = names.as_slice()
    {
        bail!("ambiguous cursor: there are several nodes ({}): name one, as in {first}:5321", names.join(", "));
    }
    // The node does not wait for a slow reader.
    ctrlc::set_handler(move || {
        if tell.try_send(LogNews::Enough).is_err() {
            std::process::exit(INTERRUPTED);
        }
    })?;
    let mut shower = LogPrinter::new(arguments, names);
    if shower.show_all(&news)? {
        shower.end();
    }
    Ok(ExitCode::SUCCESS)
}

/// Exit status of a program that Ctrl-C ended, as in shells.
const INTERRUPTED: i32 = 130;

fn wanted(arguments: &LogArguments, node: &str) -> LogWanted {
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    let ago_us = |last: Duration| now_us.saturating_sub(last.as_micros() as u64);
    let wanted = Wanted {
        conversation: arguments.conversation.clone(),
        performatives: arguments.performative.clone(),
        from: arguments.from.clone(),
        to: arguments.to.clone(),
        since_us: arguments.last.map(ago_us).unwrap_or_default(),
    };
    LogWanted { since: arguments.since.of(node), follow: arguments.follow, wanted }
}

/// Has the nodes that run here tell; their names.
fn ask_nodes(arguments: &LogArguments, tell: &SyncSender<LogNews>) -> anyhow::Result<Vec<String>> {
    let hint = |error| anyhow::anyhow!("{error} (for the log of a stopped society: --folder .whimbrel/NAME.log)");
    let nodes: Vec<RunningNode> = choose(&arguments.target).map_err(hint)?;
    for (number, node) in nodes.iter().enumerate() {
        let lines = node.lines::<LogLine>(&Request::Log(wanted(arguments, &node.info.node)))?;
        let tell = tell.clone();
        let listen = move || {
            let mut lines = lines;
            let outcome = lines.try_for_each(|line| pass_on(&tell, number, line?));
            let _ = tell.send(LogNews::Ended(number, outcome));
        };
        std::thread::Builder::new().spawn(listen).context("cannot start a thread to listen")?;
    }
    Ok(nodes.into_iter().map(|node| node.info.node).collect())
}

/// Has the logs in a folder tell; their nodes' names.
fn read_folder(
    arguments: &LogArguments,
    folder: &std::path::Path,
    tell: &SyncSender<LogNews>,
) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for (number, (name, log)) in conversation_recorder::read(folder, &terminal::notes(false))?.into_iter().enumerate() {
        let (wanted, tell) = (wanted(arguments, &name), tell.clone());
        names.push(name.clone());
        let read = move || {
            let outcome = read_log(&log, &name, &wanted, &tell, number);
            let _ = tell.send(LogNews::Ended(number, outcome));
        };
        std::thread::Builder::new().spawn(read).context("cannot start a thread to read")?;
    }
    Ok(names)
}

fn read_log(
    log: &ConversationLog,
    name: &str,
    wanted: &LogWanted,
    tell: &SyncSender<LogNews>,
    number: usize,
) -> anyhow::Result<()> {
    let mut line = |line: &LogLine| pass_on(tell, number, line.clone()).map_err(std::io::Error::other);
    match history::tell(log, name, wanted, &mut line) {
        Err(history::HistoryEnd::Refused(refusal)) => Err(refusal.into()),
        // Nobody looks any more.
        _ => Ok(()),
    }
}

fn pass_on(tell: &SyncSender<LogNews>, number: usize, line: LogLine) -> anyhow::Result<()> {
    Ok(tell.send(LogNews::Line(number, Box::new(line)))?)
}

/// A line for programs.
#[derive(Serialize)]
struct PrintedEntry {
    #[serde(flatten)]
    line: LogLine,
    /// Cursor after the line.
    cursor: String,
}

/// Shows lines, and knows how far it came.
struct LogPrinter {
    nodes: Vec<String>,
    json: bool,
    lines: EventLines,
    cursor: Cursor,
}

impl LogPrinter {
    fn new(arguments: &LogArguments, nodes: Vec<String>) -> Self {
        let width = terminal_size().map(|(columns, _)| columns);
        let lines = EventLines { clock: EventClock::Date, nodes: nodes.len() > 1, width };
        let mut cursor = if arguments.since.is_lone() { Cursor::default() } else { arguments.since.clone() };
        nodes.iter().for_each(|node| cursor.advance(node, arguments.since.of(node)));
        Self { nodes, json: arguments.json, lines, cursor }
    }

    /// Shows what comes, in order of time, until there is enough of it. False if nobody looks any more.
    fn show_all(&mut self, news: &Receiver<LogNews>) -> anyhow::Result<bool> {
        let mut merge = Merge::new(self.nodes.len(), None);
        let mut failed = Ok(());
        while !merge.has_ended() {
            let first = news.recv()?;
            for news in std::iter::once(first).chain(news.try_iter().take(LINES_ON_THE_WAY)) {
                match news {
                    LogNews::Line(node, line) => merge.add(node, line.event.at_us, Some(*line)),
                    LogNews::Ended(node, outcome) => {
                        merge.end(node);
                        failed = failed.and(self.judge(node, outcome));
                    }
                    LogNews::Enough => return Ok(true),
                }
            }
            if !self.show(merge.take(0))? {
                return Ok(false);
            }
        }
        failed.map(|()| true)
    }

    /// Judges an outcome: a node without a log is no failure if others have one.
    fn judge(&self, node: usize, outcome: anyhow::Result<()>) -> anyhow::Result<()> {
        let Err(error) = outcome else { return Ok(()) };
        let Some(name) = self.nodes.get(node).filter(|_| self.nodes.len() > 1) else { return Err(error) };
        let keeps_none = error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.reason == Reason::NoLog);
        if !keeps_none {
            return Err(error.context(format!("node {name}")));
        }
        terminal::note(&format!("node {name} keeps no log of messages"));
        Ok(())
    }

    /// Shows some lines. False if nobody looks any more.
    fn show(&mut self, lines: Vec<LogLine>) -> anyhow::Result<bool> {
        let mut text = Vec::new();
        for line in lines {
            self.cursor.advance(&line.event.node, line.number);
            if line.event.what == Happening::Tick {
                continue;
            }
            if self.json {
                text.push(serde_json::to_string(&PrintedEntry { line, cursor: self.cursor.to_string() })?);
            } else {
                text.extend(self.lines.line(&line.event));
            }
        }
        if text.is_empty() {
            return Ok(true);
        }
        let written = print(&text.join("\n"));
        if is_closed(&written) {
            return Ok(false);
        }
        written?;
        Ok(true)
    }

    /// Says how far it came.
    fn end(&self) {
        if self.json {
            let _ = print(&json!({"event": "end", "cursor": self.cursor.to_string()}).to_string());
        } else {
            terminal::note(&format!("to continue: --since {}", self.cursor));
        }
    }
}
