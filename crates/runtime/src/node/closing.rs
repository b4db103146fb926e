//! End of a platform: its agents end, then its workers leave.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use whimbrel_platform::ams::Ams;
use whimbrel_platform::route::ShardIndex;

use super::{Node, unhandled};
use crate::ending::Remains;
use crate::shard_command::ShardCommand;
use crate::sync::locked;

/// Time for which late turns may still send when the platform stops.
const LAST_TURNS: Duration = Duration::from_secs(1);
/// Wait for the next agent to end, once the patience of the platform's end is over.
const NEXT_END: Duration = Duration::from_millis(100);

impl Node {
    /// Waits until each shard was between two turns and all late turns are over. By then, the last messages of the
    /// agent that stops the platform are on their way. Other nodes accept nothing from an agent after the report of
    /// its end.
    fn let_turns_end(&self, until: Instant) {
        let (answer, answers) = std::sync::mpsc::channel::<()>();
        (0..self.seats.len()).for_each(|shard| self.put(shard as ShardIndex, ShardCommand::TurnsEnd(answer.clone())));
        drop(answer);
        while answers.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    }

    /// Ends all agents: the society's first, in order of creation, then the platform's own; then the workers leave.
    /// Returns false if some agent's turn did not end in time. A second call returns the result of the first.
    pub fn close(&self, patience: Duration) -> bool {
        let mut closed = locked(&self.closed);
        *closed.get_or_insert_with(|| self.wind_up(patience))
    }

    /// Returns what the platform leaves unfinished at this moment.
    fn remains(&self) -> Remains {
        let (sent, handled, dead) = self.figures();
        let (came, left, _) = self.linked.figures();
        Remains {
            at: self.now(),
            code: self.ending.code().unwrap_or_default(),
            agents: self.with_ams(|ams| ams.agents().count() as u64),
            queued: unhandled(sent + came, [handled, dead, left]),
        }
    }

    fn wind_up(&self, patience: Duration) -> bool {
        let began = Instant::now();
        let (until, latest) = (began + patience, began + 2 * patience);
        self.remains.get_or_init(|| self.remains());
        self.stopping.store(true, Ordering::Release);
        if let Some(scribe) = &self.scribe {
            // Steps so far are persisted or were never visible. The end of the process is not the end of its durable
            // agents.
            scribe.suspended.store(true, Ordering::Release);
        }
        if self.linked.links().is_some() {
            self.let_turns_end(until.min(began + LAST_TURNS));
        }
        self.stop_hops();
        self.with_ams(Ams::stop);
        self.let_agents_end(until, latest);
        for shard in 0..self.seats.len() {
            self.put(shard as ShardIndex, ShardCommand::EndAll);
        }
        let still = self.let_agents_end(until, latest);
        self.report_left_out();
        self.closing.store(true, Ordering::Release);
        for shard in 0..self.seats.len() {
            self.fill(shard as ShardIndex, |_| ());
        }
        if let Some(scribe) = &self.scribe {
            scribe.end();
        }
        still && self.living() == 0
    }

    /// Waits until the platform is idle: until the first of the two times, and beyond it while agents keep ending.
    /// Returns false if turns are left that do not end.
    fn let_agents_end(&self, until: Instant, latest: Instant) -> bool {
        loop {
            let (living, left) = (self.living(), until.saturating_duration_since(Instant::now()));
            if self.activity.wait_still(Some(left.max(NEXT_END))) {
                return true;
            }
            if self.living() >= living || Instant::now() >= latest {
                return false;
            }
        }
    }
}
