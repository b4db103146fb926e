//! `whimbrel sniff`: what agents say to each other, as they say it.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use whimbrel_operator::{Happening, NodeEvent, Request, SniffWanted};

use crate::arguments::SniffArguments;
use crate::sequence_diagram::{Diagram, EventClock, EventLines};
use whimbrel::control::{Merge, RunningNode, choose};
use whimbrel::figures::counted;
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::{is_closed, print, terminal_size};

/// Events on their way from the connections to the terminal.
const EVENTS_ON_THE_WAY: usize = 1_024;
/// Longest time that events of one node wait for earlier ones of another.
const ORDER_PATIENCE_US: u64 = 500_000;
/// Lines between two titles of a diagram.
const TITLE_EVERY: usize = 40;

/// Exit status of a program that Ctrl-C ended, as in shells.
const INTERRUPTED: i32 = 130;

/// Input of the terminal.
enum SniffNews {
    /// Event on the node of this number.
    Event(usize, Box<NodeEvent>),
    /// This node ended.
    Ended(usize),
    /// Ctrl-C.
    Enough,
}

/// Performs `whimbrel sniff`.
pub fn sniff(arguments: &SniffArguments) -> anyhow::Result<ExitCode> {
    let nodes = choose(&arguments.target)?;
    let (tell, news) = sync_channel(EVENTS_ON_THE_WAY);
    for (number, node) in nodes.iter().enumerate() {
        follow(number, node, &wanted(arguments), tell.clone())?;
    }
    let mut asked = false;
    ctrlc::set_handler(move || {
        if asked || tell.try_send(SniffNews::Enough).is_err() {
            // The terminal is held, most likely.
            std::process::exit(INTERRUPTED);
        }
        asked = true;
    })?;
    let mut shower = EventPrinter::new(arguments, nodes.len());
    shower.begin();
    let ended = watch(&news, nodes.len(), arguments.time, &mut shower)?;
    if !arguments.json {
        shower.sum_up(ended);
    }
    Ok(ExitCode::SUCCESS)
}

fn wanted(arguments: &SniffArguments) -> SniffWanted {
    SniffWanted {
        agents: arguments.agents.iter().chain(&arguments.agent).cloned().collect(),
        conversation: arguments.conversation.clone(),
        performatives: arguments.performative.clone(),
        only_messages: arguments.only_messages,
    }
}

/// Passes on what a node tells.
fn follow(number: usize, node: &RunningNode, wanted: &SniffWanted, tell: SyncSender<SniffNews>) -> anyhow::Result<()> {
    let events = node.lines::<NodeEvent>(&Request::Sniff(wanted.clone()))?;
    let following = move || {
        for event in events.map_while(Result::ok) {
            if tell.send(SniffNews::Event(number, Box::new(event))).is_err() {
                return;
            }
        }
        let _ = tell.send(SniffNews::Ended(number));
    };
    std::thread::Builder::new().spawn(following).context("cannot start a thread to listen")?;
    Ok(())
}

/// Shows what comes, in order of time, until there is enough of it. Whether all nodes ended.
fn watch(
    news: &Receiver<SniffNews>,
    nodes: usize,
    time: Option<Duration>,
    shower: &mut EventPrinter<'_>,
) -> anyhow::Result<bool> {
    let until = time.map(|time| Instant::now() + time);
    let mut merge = Merge::new(nodes, Some(ORDER_PATIENCE_US));
    loop {
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        let first = match news.recv_timeout(left.min(Duration::from_millis(200))) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(false),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
        };
        let more = std::iter::from_fn(|| news.try_recv().ok());
        for news in first.into_iter().chain(more.take(EVENTS_ON_THE_WAY)) {
            match news {
                SniffNews::Event(node, event) => {
                    merge.add(node, event.at_us, Some(*event).filter(|event| event.what != Happening::Tick))
                }
                SniffNews::Ended(node) => merge.end(node),
                SniffNews::Enough => return Ok(false),
            }
        }
        let ended = merge.has_ended();
        if !shower.show(merge.take(now_us()))? || left.is_zero() {
            return Ok(false);
        }
        if ended {
            return Ok(true);
        }
    }
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Draws events, and counts them.
struct EventPrinter<'a> {
    arguments: &'a SniffArguments,
    diagram: Option<Diagram>,
    lines: EventLines,
    drawn: usize,
    messages: u64,
    skipped: u64,
}

impl<'a> EventPrinter<'a> {
    fn new(arguments: &'a SniffArguments, nodes: usize) -> Self {
        let width = terminal_size().map(|(columns, _)| columns);
        let named = !arguments.agents.is_empty() && !arguments.agents.iter().any(|name| name.contains(['*', '?']));
        let wants_diagram = named && !arguments.lines && !arguments.json;
        let diagram = wants_diagram.then(|| Diagram::new(arguments.agents.clone(), EventClock::Day, width)).flatten();
        let lines = EventLines { clock: EventClock::Day, nodes: nodes > 1, width };
        Self { arguments, diagram, lines, drawn: 0, messages: 0, skipped: 0 }
    }

    /// Says that there may be nothing to see for a while.
    fn begin(&self) {
        if !self.arguments.json && terminal_size().is_some() {
            terminal::note("waiting for messages; Ctrl-C ends");
        }
    }

    /// Shows events. False if there were enough, or nobody looks any more.
    fn show(&mut self, events: Vec<NodeEvent>) -> anyhow::Result<bool> {
        let mut text = Vec::new();
        let enough = |messages: u64| self.arguments.limit.is_some_and(|limit| messages >= limit);
        let mut is_enough = enough(self.messages);
        for event in events {
            if is_enough {
                break;
            }
            match &event.what {
                Happening::Sent(_) | Happening::Died { .. } => self.messages += 1,
                Happening::Skipped { count } => self.skipped += count,
                _ => {}
            }
            is_enough = enough(self.messages);
            if self.arguments.json {
                text.push(serde_json::to_string(&event)?);
                continue;
            }
            let line = match &mut self.diagram {
                Some(diagram) => {
                    if diagram.widen(&event) || self.drawn.is_multiple_of(TITLE_EVERY) {
                        text.push(diagram.title());
                    }
                    diagram.line(&event)
                }
                None => self.lines.line(&event),
            };
            self.drawn += 1;
            text.extend(line);
        }
        if text.is_empty() {
            return Ok(!is_enough);
        }
        let written = print(&text.join("\n"));
        if is_closed(&written) {
            return Ok(false);
        }
        written?;
        Ok(!is_enough)
    }

    fn sum_up(&self, ended: bool) {
        if terminal_size().is_none() {
            return;
        }
        let skipped = if self.skipped > 0 { format!(", {} more not shown", self.skipped) } else { String::new() };
        let ended = if ended { "; the platform ended" } else { "" };
        terminal::note(&format!("{}{skipped}{ended}", counted(self.messages, "message")));
    }
}
