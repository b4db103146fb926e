//! Lines that agents of a running society print, shown at the prompt. A society that the prompt began prints there
//! itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use whimbrel::control::RunningNode;
use whimbrel_operator::{Answer, OutputWanted, Request};
use whimbrel_platform::limits::OUTPUT_ANSWER_LINES_MAX;
use whimbrel_platform::plain_text::harmless;

use super::line_editor::LinePrinter;

/// Interval of looks for new lines.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Names of the agents whose lines are shown.
pub type ShownAgents = Arc<Mutex<Vec<String>>>;

/// Output of a society's agents, from one moment on.
pub struct AgentOutput {
    /// Nodes, each with the number of its last line that is known.
    nodes: Vec<(RunningNode, u64)>,
}

impl AgentOutput {
    /// Begins with the lines that are printed from now on.
    pub fn from_now(nodes: &[RunningNode]) -> Self {
        let mut output = Self { nodes: nodes.iter().map(|node| (node.clone(), 0)).collect() };
        output.take(&[]);
        output
    }

    /// Returns the new lines of these agents.
    pub fn take(&mut self, agents: &[String]) -> Vec<String> {
        let limit = if agents.is_empty() { 0 } else { OUTPUT_ANSWER_LINES_MAX };
        let mut lines = Vec::new();
        for (node, since) in &mut self.nodes {
            let wanted = OutputWanted { since: *since, agents: agents.to_vec(), faults: false };
            // A node of an earlier release knows no such request.
            if let Ok(Answer::Output(found)) = node.ask(&Request::Output { wanted, limit }, Duration::ZERO) {
                *since = found.next;
                lines.extend(found.lines.into_iter().map(|line| harmless(&format!("[{}] {}", line.agent, line.text))));
            }
        }
        lines
    }

    /// Shows new lines as they come, until the society ends.
    pub fn follow(mut self, agents: ShownAgents, printer: LinePrinter) -> anyhow::Result<()> {
        let following = move || {
            while self.nodes.iter().any(|(node, _)| node.socket().exists()) {
                let agents = agents.lock().unwrap_or_else(PoisonError::into_inner).clone();
                self.take(&agents).iter().for_each(|line| printer.print(line));
                std::thread::sleep(LOOK_EVERY);
            }
        };
        std::thread::Builder::new().spawn(following).context("cannot start a thread to watch output")?;
        Ok(())
    }
}
