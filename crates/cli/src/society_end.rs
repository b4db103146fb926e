//! End of a society: its cause, and the last words about it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use whimbrel::duration::readable;
use whimbrel_runtime::Platform;

/// Cause of a society's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// An agent, with this exit status.
    Agent(i32),
    /// Ctrl-C, or a request to terminate.
    Interrupt,
    /// `--for`.
    Time,
    /// `whimbrel stop`.
    Operator,
    /// Output that nobody reads any more.
    ClosedOutput,
}

/// Figures of a society at its end.
#[derive(Clone, Copy, Debug, Default)]
struct EndFigures {
    time: Duration,
    agents: u64,
    sent: u64,
    undeliverable: u64,
    warnings: u64,
}

/// Record of a society's end. Clones share it.
#[derive(Clone)]
pub struct EndRecord {
    platform: Platform,
    /// True if other nodes continue the society when this one leaves.
    is_clustered: bool,
    /// Number of nodes of the command, and of agents on all of them, if there are several.
    nodes: Option<(u16, usize)>,
    warnings: Arc<AtomicU64>,
    began: Arc<OnceLock<Instant>>,
    cause: Arc<OnceLock<EndedBy>>,
    figures: Arc<OnceLock<EndFigures>>,
}

impl EndRecord {
    /// Makes the record of a society that has not begun. `warnings` counts those of its agents.
    /// `nodes` are those of the command, with the number of their agents, if there are several.
    pub fn new(platform: &Platform, is_clustered: bool, nodes: Option<(u16, usize)>, warnings: Arc<AtomicU64>) -> Self {
        let platform = platform.clone();
        Self {
            platform,
            is_clustered,
            nodes,
            warnings,
            began: Arc::default(),
            cause: Arc::default(),
            figures: Arc::default(),
        }
    }

    /// Returns the platform of the society.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Notes that the society begins now.
    pub fn begin(&self) {
        let _ = self.began.set(Instant::now());
    }

    /// Notes the cause of the end; the first one counts.
    pub fn note_cause(&self, cause: EndedBy) {
        let _ = self.cause.set(cause);
    }

    /// Notes that the society has ended with this code, by its agents if no other cause is known.
    pub fn end(&self, code: i32) {
        self.note_cause(EndedBy::Agent(code));
        self.figures();
    }

    /// Returns how long the society ran.
    pub fn time(&self) -> Duration {
        self.figures().time
    }

    fn figures(&self) -> EndFigures {
        *self.figures.get_or_init(|| {
            let counters = self.platform.counters_now();
            EndFigures {
                time: self.began.get().map(Instant::elapsed).unwrap_or_default(),
                agents: self.platform.agents_added(),
                sent: counters.sent,
                undeliverable: counters.dead,
                warnings: self.warnings.load(Ordering::Relaxed),
            }
        })
    }

    /// Returns the last words about the society.
    pub fn last_words(&self) -> String {
        let cause = self.cause.get().copied().unwrap_or(EndedBy::Agent(0));
        let is_left = self.is_clustered && matches!(cause, EndedBy::Interrupt | EndedBy::Time);
        words(if is_left { "this node" } else { "the society" }, cause, self.figures(), self.nodes)
    }
}

/// `the society ended after 1.36 s: 7 agents, 42 messages, nothing failed`
fn words(what: &str, cause: EndedBy, figures: EndFigures, nodes: Option<(u16, usize)>) -> String {
    let time = readable(figures.time);
    let ended = match cause {
        EndedBy::Agent(0) => format!("{what} ended after {time}"),
        EndedBy::Agent(code) => format!("{what} ended with exit status {code} after {time}"),
        EndedBy::Interrupt => format!("{what} was interrupted after {time}"),
        EndedBy::Time => format!("{what} was ended after {time}, as --for asks"),
        EndedBy::Operator => format!("{what} was ended by `whimbrel stop` after {time}"),
        EndedBy::ClosedOutput => format!("{what} was ended after {time}: its output was closed"),
    };
    let several = |count: u64, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let mut parts = match nodes {
        // A node counts its own messages.
        Some((nodes, agents)) => vec![
            format!("{} on {nodes} nodes", several(agents as u64, "agent")),
            format!("{} of n1", several(figures.sent, "message")),
        ],
        None => vec![several(figures.agents, "agent"), several(figures.sent, "message")],
    };
    parts.extend((figures.warnings > 0).then(|| several(figures.warnings, "warning")));
    parts.extend((figures.undeliverable > 0).then(|| format!("{} undeliverable", figures.undeliverable)));
    if figures.warnings + figures.undeliverable == 0 {
        parts.push("nothing failed".to_owned());
    }
    format!("{ended}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_tell_cause_and_figures() {
        let time = Duration::from_millis(1360);
        let fine = EndFigures { time, agents: 7, sent: 42, ..EndFigures::default() };
        let said = words("the society", EndedBy::Agent(0), fine, None);
        assert_eq!(said, "the society ended after 1.36 s: 7 agents, 42 messages, nothing failed");
        let failed = EndFigures { agents: 1, sent: 1, undeliverable: 1, warnings: 2, ..fine };
        let said = words("the society", EndedBy::Agent(3), failed, None);
        let ended =
            "the society ended with exit status 3 after 1.36 s: 1 agent, 1 message, 2 warnings, 1 undeliverable";
        assert_eq!(said, ended);
        let said = words("the society", EndedBy::Agent(0), fine, Some((3, 9)));
        assert!(said.ends_with(": 9 agents on 3 nodes, 42 messages of n1, nothing failed"), "{said}");
        for (cause, part) in [
            (EndedBy::Interrupt, "was interrupted after 1.36 s"),
            (EndedBy::Time, "as --for asks"),
            (EndedBy::Operator, "by `whimbrel stop`"),
            (EndedBy::ClosedOutput, "its output was closed"),
        ] {
            assert!(words("the society", cause, fine, None).contains(part), "{cause:?}");
        }
    }
}
