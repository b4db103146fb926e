//! Messages of watched agents, shown above the prompt as they are sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use whimbrel::control::RunningNode;
use whimbrel_operator::{Happening, MessageInfo, NodeEvent, Request, SniffWanted};
use whimbrel_platform::plain_text::{harmless, shortened};

use super::line_editor::LinePrinter;

/// Bytes of a shown message.
const SHOWN_BYTES_MAX: usize = 500;
/// Beginning of the names of agents that get the prompt's own reports.
const REPORTS: &str = "operator";

/// Watched agents, each with the sign that ends its watch.
#[derive(Default)]
pub struct WatchedAgents {
    agents: BTreeMap<String, Arc<AtomicBool>>,
}

impl WatchedAgents {
    /// Begins to watch an agent.
    pub fn begin(&mut self, nodes: &[RunningNode], agent: &str, printer: &LinePrinter) -> anyhow::Result<()> {
        if self.agents.contains_key(agent) {
            return Ok(());
        }
        let ended = Arc::new(AtomicBool::new(false));
        for node in nodes {
            let wanted = SniffWanted { agents: vec![agent.to_owned()], ..SniffWanted::default() };
            let events = node.lines::<NodeEvent>(&Request::Sniff(wanted))?;
            let (ended, printer) = (Arc::clone(&ended), printer.clone());
            let watching = move || {
                // A node tells the time several times a second, so the end of a watch is noticed.
                for event in events.map_while(Result::ok) {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    line(&event.what).into_iter().for_each(|line| printer.print(&line));
                }
            };
            std::thread::Builder::new().spawn(watching).context("cannot start a thread to watch")?;
        }
        self.agents.insert(agent.to_owned(), ended);
        Ok(())
    }

    /// Ends the watch of an agent. Returns false if it is not watched.
    pub fn end(&mut self, agent: &str) -> bool {
        let known = self.agents.remove(agent);
        known.as_ref().inspect(|ended| ended.store(true, Ordering::Relaxed));
        known.is_some()
    }

    /// Ends all watches.
    pub fn end_all(&mut self) {
        std::mem::take(&mut self.agents).into_values().for_each(|ended| ended.store(true, Ordering::Relaxed));
    }

    /// Returns the watched agents by name.
    pub fn agents(&self) -> Vec<String> {
        self.agents.keys().cloned().collect()
    }
}

/// Returns the line for an event; none for the prompt's own reports.
fn line(what: &Happening) -> Option<String> {
    let text = match what {
        Happening::Sent(message) if message.to.starts_with(REPORTS) => return None,
        Happening::Sent(message) => sent(message),
        Happening::Died { message, why } => format!("{} [not delivered: {why}]", sent(message)),
        Happening::Agent { agent, text } => format!("{agent}: {text}"),
        Happening::Skipped { count } => format!("{count} events came too fast and are not shown"),
        _ => return None,
    };
    Some(format!("  {}", harmless(&shortened(&text, SHOWN_BYTES_MAX))))
}

/// `bob -> amy tell price(tea,3)`
fn sent(message: &MessageInfo) -> String {
    format!("{} -> {} {} {}", message.from, message.to, message.performative, message.content)
}
