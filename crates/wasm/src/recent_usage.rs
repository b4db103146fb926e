//! Recent usage of guests that left: a guest that is back soon continues with its usage. A hop there and back takes
//! less than a millisecond, and would otherwise grant a new allowance each time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::limits::{GUEST_AWAY_MS, GUESTS_AWAY_MAX};

use crate::owner_usage::Window;

/// Guests that left recently, by name.
#[derive(Default)]
pub(crate) struct RecentUsage(Mutex<FxHashMap<Symbol, DepartedGuest>>);

struct DepartedGuest {
    at: Instant,
    tally: GuestUsage,
}

/// Usage of a guest at its departure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GuestUsage {
    /// Start of the stay.
    pub since: Time,
    pub messages: Window,
    pub cpu: Window,
    pub names: u32,
}

impl RecentUsage {
    /// Records the usage of a guest that leaves.
    pub fn leaves(&self, name: Symbol, tally: GuestUsage) {
        let mut gone = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.len() >= GUESTS_AWAY_MAX {
            gone.retain(|_, gone| gone.at.elapsed() < away_max());
        }
        if gone.len() < GUESTS_AWAY_MAX || gone.contains_key(&name) {
            gone.insert(name, DepartedGuest { at: Instant::now(), tally });
        }
    }

    /// Returns the usage of a guest of this name that left recently and is back. The start of its stay is moved on by
    /// the time of its absence.
    pub fn comes(&self, name: Symbol) -> Option<GuestUsage> {
        let DepartedGuest { at, tally } = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&name)?;
        let away = at.elapsed();
        (away < away_max()).then(|| GuestUsage { since: tally.since + away, ..tally })
    }
}

fn away_max() -> Duration {
    Duration::from_millis(GUEST_AWAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(names: u32) -> GuestUsage {
        let mut messages = Window::default();
        messages.add(7, Time::from_ms(5_000));
        GuestUsage { since: Time::from_ms(1_000), messages, cpu: Window::default(), names }
    }

    #[test]
    fn guest_back_soon_keeps_usage() {
        let recent_usage = RecentUsage::default();
        recent_usage.leaves("ann".into(), tally(3));
        assert_eq!(recent_usage.comes("bob".into()), None);
        let back = recent_usage.comes("ann".into()).unwrap();
        assert_eq!((back.names, back.messages.now(Time::from_ms(5_500))), (3, 7));
        assert!(back.since >= Time::from_ms(1_000) && back.since < Time::from_ms(60_000));
        assert_eq!(recent_usage.comes("ann".into()), None, "it is here");
    }

    #[test]
    fn remembered_guests_are_bounded() {
        let recent_usage = RecentUsage::default();
        for number in 0..GUESTS_AWAY_MAX + 10 {
            recent_usage.leaves(Symbol::new(&format!("guest{number}")), tally(1));
        }
        recent_usage.leaves("guest0".into(), tally(2));
        assert_eq!(recent_usage.0.lock().unwrap().len(), GUESTS_AWAY_MAX);
        assert_eq!(recent_usage.comes("guest0".into()).map(|tally| tally.names), Some(2));
    }
}
