//! Timers of a mind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use whimbrel_acl::{Aid, Structure};
use whimbrel_platform::Time;

use super::{Event, IntentionId};

/// Timer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timer {
    /// Due time.
    pub due: Time,
    /// Number that distinguishes timers due at the same time, in the order in which they were set.
    pub serial: u64,
    /// Work that is due.
    pub what: TimerWhat,
}

/// Work that is due at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TimerWhat {
    /// The end of an intention's wait, if it is still this wait.
    Wait(IntentionId, u64),
    /// An event.
    Event(Event),
    /// The end of an agent.
    Kill(Aid),
    /// A goal's deadline: the goal is failed in every intention that has it.
    Deadline(Structure),
}

/// Key of a timer, which also determines the order: the soonest is the least.
pub type TimerKey = (Time, u64);

impl Timer {
    fn key(&self) -> TimerKey {
        (self.due, self.serial)
    }
}

/// All timers of a mind. It takes 8 bytes until one is set or the mind is saved: most minds have no timers.
#[derive(Clone, Debug, Default)]
pub struct Timers(Option<Box<TimerSet>>);

/// Timers that are set.
#[derive(Clone, Debug, Default)]
struct TimerSet {
    /// Timers by time. Setting one and taking the soonest cost the logarithm of their number, however many are due at
    /// once.
    all: BTreeMap<TimerKey, Timer>,
    /// Timers set or removed since the last save, if the agent is saved at all.
    noted: Option<Vec<TimerKey>>,
}

impl Timers {
    /// Sets a timer.
    pub fn set(&mut self, timer: Timer) {
        let set = self.0.get_or_insert_default();
        set.note(timer.key());
        set.all.insert(timer.key(), timer);
    }

    /// Takes the soonest timer.
    pub fn pop(&mut self) -> Option<Timer> {
        let set = self.0.as_mut()?;
        let (key, timer) = set.all.pop_first()?;
        set.note(key);
        Some(timer)
    }

    /// Retains only some timers.
    pub fn retain(&mut self, keep: impl Fn(&Timer) -> bool) {
        let Some(set) = &mut self.0 else { return };
        let TimerSet { all, noted } = &mut **set;
        all.retain(|key, timer| {
            let keeps = keep(timer);
            if let (false, Some(noted)) = (keeps, noted.as_mut()) {
                noted.push(*key);
            }
            keeps
        });
    }

    /// Returns the time of the soonest timer.
    #[inline]
    pub fn next_due(&self) -> Option<Time> {
        self.0.as_ref()?.all.first_key_value().map(|((due, _), _)| *due)
    }

    /// Returns true if there are no timers.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|set| set.all.is_empty())
    }

    /// Iterates over all timers, the soonest last.
    pub fn iter(&self) -> impl Iterator<Item = &Timer> {
        self.0.iter().flat_map(|set| set.all.values().rev())
    }

    /// Changes all due times, in the same order.
    pub(crate) fn shift(&mut self, shift: impl Fn(&mut Time)) {
        let Some(set) = &mut self.0 else { return };
        let shifted = std::mem::take(&mut set.all).into_values().map(|mut timer| {
            shift(&mut timer.due);
            (timer.key(), timer)
        });
        set.all = shifted.collect();
    }

    /// Starts to note changes.
    pub(crate) fn mark_saved(&mut self) {
        self.0.get_or_insert_default().noted.get_or_insert_default().clear();
    }

    /// Sorts the notes.
    pub(crate) fn sort_notes(&mut self) {
        if let Some(noted) = self.0.as_mut().and_then(|set| set.noted.as_mut()) {
            noted.sort_unstable();
            noted.dedup();
        }
    }

    /// Returns the keys set or removed since the last save, each with its timer if that still exists. The notes must
    /// be sorted.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (TimerKey, Option<&Timer>)> {
        self.0.iter().flat_map(|set| {
            let noted = set.noted.iter().flat_map(|noted| noted.iter());
            noted.map(|key| (*key, set.all.get(key)))
        })
    }

    /// Removes the timer with this key.
    pub(crate) fn remove(&mut self, key: TimerKey) {
        if let Some(set) = &mut self.0 {
            set.all.remove(&key);
        }
    }
}

impl TimerSet {
    fn note(&mut self, key: TimerKey) {
        if let Some(noted) = &mut self.noted {
            noted.push(key);
        }
    }
}
