//! Ties of an agent: its home node, and its lifetime. Few agents have any, so they are kept beside the records.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use crate::Time;

/// Ties of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ties {
    /// Node on which the agent was created; empty if that is this one.
    pub home: Symbol,
    /// End of the agent's lifetime; [`Time::NEVER`] if the lifetime is not bounded.
    pub until: Time,
}

impl Default for Ties {
    fn default() -> Self {
        Self { home: Symbol::default(), until: Time::NEVER }
    }
}

/// Ties of all agents that have any.
#[derive(Debug, Default)]
pub(super) struct AllTies {
    by_name: FxHashMap<Symbol, Ties>,
    /// Ends of bounded lifetimes, the first one first.
    ends: BTreeSet<(Time, Symbol)>,
}

impl AllTies {
    pub fn of(&self, name: Symbol) -> Ties {
        self.by_name.get(&name).copied().unwrap_or_default()
    }

    pub fn set(&mut self, name: Symbol, ties: Ties) {
        self.remove(name);
        if ties != Ties::default() {
            self.by_name.insert(name, ties);
        }
        if ties.until < Time::NEVER {
            self.ends.insert((ties.until, name));
        }
    }

    pub fn remove(&mut self, name: Symbol) {
        if let Some(ties) = self.by_name.remove(&name) {
            self.ends.remove(&(ties.until, name));
        }
    }

    /// Returns the first end.
    pub fn next_end(&self) -> Time {
        self.ends.first().map_or(Time::NEVER, |(until, _)| *until)
    }

    /// Takes out the first end, if it is due.
    pub fn take_due(&mut self, now: Time) -> Option<Symbol> {
        let (until, name) = *self.ends.first()?;
        (until <= now).then(|| {
            self.ends.pop_first();
            name
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_end_in_order() {
        let mut ties = AllTies::default();
        let until = |at| Ties { until: Time(at), ..Ties::default() };
        ties.set("amy".into(), until(30));
        ties.set("bob".into(), until(10));
        ties.set("cid".into(), Ties { home: "n2".into(), ..Ties::default() });
        ties.set("dan".into(), until(20));
        ties.set("amy".into(), until(5));
        ties.remove("dan".into());
        assert_eq!((ties.next_end(), ties.take_due(Time(4))), (Time(5), None));
        let due: Vec<Symbol> = std::iter::from_fn(|| ties.take_due(Time(50))).collect();
        assert_eq!(due, ["amy", "bob"].map(Symbol::new));
        assert_eq!((ties.next_end(), ties.of("cid".into()).home), (Time::NEVER, "n2".into()));
    }
}
