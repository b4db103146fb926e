//! Durable timers: each has a name, and continues while its agent is on no node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_platform::Time;

/// Timers of one agent, which are saved in the order in which they were set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<AgentTimer>", into = "Vec<AgentTimer>")]
pub(crate) struct AgentTimers {
    /// Timers in the order in which they were set.
    all: BTreeMap<u64, AgentTimer>,
    named: FxHashMap<Box<str>, u64>,
    /// Timers by time; of those due at once, the one set first comes first.
    due: BTreeSet<(Time, u64)>,
    next: u64,
}

impl PartialEq for AgentTimers {
    fn eq(&self, other: &Self) -> bool {
        self.all.values().eq(other.all.values())
    }
}

impl From<Vec<AgentTimer>> for AgentTimers {
    fn from(timers: Vec<AgentTimer>) -> Self {
        let mut all = Self::default();
        timers.into_iter().for_each(|timer| all.add(timer));
        all
    }
}

impl From<AgentTimers> for Vec<AgentTimer> {
    fn from(timers: AgentTimers) -> Self {
        timers.all.into_values().collect()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct AgentTimer {
    name: Box<str>,
    /// Due time by the wall clock, in milliseconds since 1970-01-01 UTC; [`ON_THE_WAY`] if `delay_ms` is the
    /// remaining delay.
    due_wall_ms: u64,
    /// Delay that the timer was set to.
    delay_ms: u64,
    /// Due time by the clock of this process.
    #[serde(skip, default = "never")]
    due: Time,
}

/// Value that no wall clock shows.
const ON_THE_WAY: u64 = 0;

fn never() -> Time {
    Time::NEVER
}

impl AgentTimers {
    pub fn set(&mut self, name: &str, delay: Duration, now: Time, wall_ms: u64) {
        self.cancel(name);
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        let due_wall_ms = wall_ms.saturating_add(delay_ms);
        self.add(AgentTimer { name: name.into(), due_wall_ms, delay_ms, due: later(now, delay_ms) });
    }

    fn add(&mut self, timer: AgentTimer) {
        let number = self.next;
        self.next += 1;
        self.named.insert(timer.name.clone(), number);
        self.due.insert((timer.due, number));
        self.all.insert(number, timer);
    }

    fn take(&mut self, number: u64) -> Option<Box<str>> {
        let timer = self.all.remove(&number)?;
        self.due.remove(&(timer.due, number));
        self.named.remove(&timer.name);
        Some(timer.name)
    }

    pub fn cancel(&mut self, name: &str) -> bool {
        let number = self.named.get(name).copied();
        number.is_some_and(|number| self.take(number).is_some())
    }

    pub fn left(&self, name: &str, now: Time) -> Option<Duration> {
        let timer = self.all.get(self.named.get(name)?)?;
        Some(timer.due.max(now) - now)
    }

    /// Describes each timer with its remaining time, for people: `tick in 500 ms`.
    pub fn describe(&self, now: Time) -> String {
        let each =
            self.all.values().map(|timer| format!("{} in {} ms", timer.name, (timer.due.max(now) - now).as_millis()));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Returns the timers for a hop, each set to its remaining delay: another node's wall clock may be far ahead, or
    /// behind.
    pub fn on_the_way(&self, now: Time) -> Self {
        let mut timers: Vec<AgentTimer> = self.clone().into();
        for timer in timers.iter_mut().filter(|timer| timer.due < Time::NEVER) {
            let left = timer.due.max(now) - now;
            timer.delay_ms = left.as_micros().div_ceil(1_000).try_into().unwrap_or(u64::MAX);
            timer.due_wall_ms = ON_THE_WAY;
        }
        timers.into()
    }

    /// Resumes the timers of an agent that is back, each with its remaining delay.
    pub fn resume(&mut self, now: Time, wall_ms: u64) {
        let mut timers: Vec<AgentTimer> = std::mem::take(self).into();
        for timer in &mut timers {
            if timer.due_wall_ms == ON_THE_WAY {
                timer.due_wall_ms = wall_ms.saturating_add(timer.delay_ms);
            }
            let left_ms = timer.due_wall_ms.saturating_sub(wall_ms).min(timer.delay_ms);
            timer.due = later(now, left_ms);
        }
        *self = timers.into();
    }

    /// Returns the due time of the next timer.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Takes out the timer that went off first, if any has by `now`.
    pub fn take_due(&mut self, now: Time) -> Option<Box<str>> {
        let (due, number) = *self.due.first()?;
        (due <= now).then(|| self.take(number)).flatten()
    }
}

fn later(now: Time, ms: u64) -> Time {
    Time(now.0.saturating_add(ms.saturating_mul(1_000)).min(Time::NEVER.0 - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_continue_by_wall_clock() {
        let at = Time::from_ms;
        let mut timers = AgentTimers::default();
        timers.set("b", Duration::from_millis(500), at(1_000), 90_000);
        timers.set("a", Duration::from_millis(400), at(1_000), 90_000);
        timers.set("c", Duration::from_secs(9), at(1_000), 90_000);
        timers.set("b", Duration::from_millis(300), at(1_000), 90_000);
        assert!(timers.cancel("c") && !timers.cancel("c"));
        assert_eq!((timers.next(), timers.left("a", at(1_100))), (Some(at(1_300)), Some(Duration::from_millis(300))));
        assert_eq!(timers.take_due(at(1_299)), None);
        // Another process, whose clock shows 5 s, after 350 ms of wall time.
        timers.resume(at(5_000), 90_350);
        assert_eq!(timers.take_due(at(5_000)).as_deref(), Some("b"));
        assert_eq!((timers.next(), timers.take_due(at(5_049))), (Some(at(5_050)), None));
        // The wall clock was set back: the remaining delay is at most the one set.
        timers.resume(at(6_000), 60_000);
        assert_eq!(timers.next(), Some(at(6_400)));
        assert_eq!(timers.take_due(at(6_400)).as_deref(), Some("a"));
        assert_eq!((timers.next(), timers.left("a", at(0))), (None, None));
        timers.set("far", Duration::MAX, at(1), 1);
        assert!(timers.next().is_some_and(|due| due < Time::NEVER));
    }

    #[test]
    fn moving_timers_ignore_wall_clock() {
        let at = Time::from_ms;
        let mut timers = AgentTimers::default();
        timers.set("a", Duration::from_millis(400), at(1_000), 90_000);
        timers.set("b", Duration::from_millis(100), at(1_000), 90_000);
        let written = serde_json::to_string(&timers.on_the_way(at(1_150))).unwrap();
        // Another node, whose clock shows 5 s, with a wall clock an hour ahead.
        let mut there: AgentTimers = serde_json::from_str(&written).unwrap();
        there.resume(at(5_000), 90_000 + 3_600_000);
        assert_eq!(there.take_due(at(5_000)).as_deref(), Some("b"));
        assert_eq!(there.next(), Some(at(5_250)));
        // That node dies, and the agent continues 50 ms later.
        there.resume(at(0), 90_000 + 3_600_050);
        assert_eq!(there.next(), Some(at(200)));
        // An agent that continues before it had a turn has its timers unchanged.
        let mut unseen: AgentTimers = serde_json::from_str(&written).unwrap();
        unseen = unseen.on_the_way(at(9));
        unseen.resume(at(0), 1);
        assert_eq!(unseen.next(), Some(at(0)));
    }
}
