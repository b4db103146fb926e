//! End of a society: its cause, and the last words about it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use whimbrel::duration::readable;
use whimbrel::figures::counted;
use whimbrel_platform::Counters;
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
    /// Error that kept the society from beginning.
    NotBegun,
}

/// Figures of a society at its end. All that is said of the end takes them from here, so that it says the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndFigures {
    /// Time that the society ran.
    pub time: Duration,
    /// Number of agents.
    pub agents: u64,
    /// Messages by their fate. Those that the end of their receivers left unread count as waiting, not as dead.
    pub counters: Counters,
    /// Number of warnings of agents.
    pub warnings: u64,
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
    time: Arc<OnceLock<Duration>>,
    /// True once all agents have ended: the counts are exact.
    is_still: Arc<AtomicBool>,
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
            time: Arc::default(),
            is_still: Arc::default(),
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
        self.time();
    }

    /// Notes that all agents have ended: what they sent with their last turns counts, too.
    pub fn note_still(&self) {
        self.is_still.store(true, Ordering::Release);
    }

    fn time(&self) -> Duration {
        *self.time.get_or_init(|| self.began.get().map(Instant::elapsed).unwrap_or_default())
    }

    /// Returns the figures. The first call takes them.
    pub fn figures(&self) -> EndFigures {
        *self.figures.get_or_init(|| EndFigures {
            time: self.time(),
            agents: self.platform.agents_added(),
            counters: self.counters(),
            warnings: self.warnings.load(Ordering::Relaxed),
        })
    }

    fn counters(&self) -> Counters {
        // A turn that does not end must not hold up the end of the process.
        let is_still = self.is_still.load(Ordering::Acquire);
        let counters = if is_still { self.platform.counters() } else { self.platform.counters_now() };
        let unread = self.platform.unread().min(counters.dead);
        Counters { dead: counters.dead - unread, queued: counters.queued + unread, ..counters }
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
    let EndFigures { time, agents, counters, warnings } = figures;
    let time = readable(time);
    let ended = match cause {
        EndedBy::Agent(0) => format!("{what} ended after {time}"),
        EndedBy::Agent(code) => format!("an agent ended {what} with exit status {code} after {time}"),
        EndedBy::Interrupt => format!("{what} was interrupted after {time}"),
        EndedBy::Time => format!("{what} was ended after {time}, as --for asks"),
        EndedBy::Operator => format!("{what} was ended by `whimbrel stop` after {time}"),
        EndedBy::ClosedOutput => format!("{what} was ended after {time}: its output was closed"),
        EndedBy::NotBegun => format!("{what} could not begin"),
    };
    let mut parts = match nodes {
        // A node counts its own messages.
        Some((nodes, agents)) => vec![
            format!("{} on {}", counted(agents, "agent"), counted(nodes, "node")),
            format!("{} of n1", counted(counters.sent, "message")),
        ],
        None => vec![counted(agents, "agent"), counted(counters.sent, "message")],
    };
    parts.extend((warnings > 0).then(|| counted(warnings, "warning")));
    parts.extend((counters.dead > 0).then(|| format!("{} undeliverable", counters.dead)));
    parts.extend((counters.queued > 0).then(|| format!("{} unread", counters.queued)));
    let has_failed = matches!(cause, EndedBy::NotBegun) || matches!(cause, EndedBy::Agent(code) if code != 0);
    if warnings + counters.dead == 0 && !has_failed {
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
        let counters = Counters { sent: 42, handled: 42, ..Counters::default() };
        let fine = EndFigures { time, agents: 7, counters, warnings: 0 };
        let said = words("the society", EndedBy::Agent(0), fine, None);
        assert_eq!(said, "the society ended after 1.36 s: 7 agents, 42 messages, nothing failed");
        let counters = Counters { sent: 1, dead: 1, ..Counters::default() };
        let failed = EndFigures { agents: 1, counters, warnings: 2, ..fine };
        let said = words("the society", EndedBy::Agent(3), failed, None);
        let ended = "an agent ended the society with exit status 3 after 1.36 s: 1 agent, 1 message, 2 warnings, \
                     1 undeliverable";
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
    #[test]
    fn failed_society_never_ended_well() {
        let counters = Counters { sent: 9, handled: 6, queued: 3, ..Counters::default() };
        let figures = EndFigures { agents: 2, counters, ..EndFigures::default() };
        let said = |cause| words("the society", cause, figures, None);
        assert!(said(EndedBy::Agent(1)).ends_with(": 2 agents, 9 messages, 3 unread"), "{}", said(EndedBy::Agent(1)));
        assert!(said(EndedBy::NotBegun).ends_with(": 2 agents, 9 messages, 3 unread"));
        assert!(said(EndedBy::Time).ends_with(": 2 agents, 9 messages, 3 unread, nothing failed"));
    }
}
