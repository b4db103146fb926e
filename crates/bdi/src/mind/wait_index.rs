//! Wait index: intentions that wait for an event or a condition, by what may end their wait.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use whimbrel_acl::Value;

use super::{Event, IntentionId, WaitFor};
use crate::code::{Key, TriggerKey};
use crate::logic::constant_hash;
use crate::syntax::quote::reserved;

/// Number of waits for conditions from which their dependencies are noted.
const CONDITIONS_INDEXED_FROM: usize = 8;

/// Intention in the order of their numbers: number and index.
type Waiting = (u32, u32);

/// Subject of an event or of a change of beliefs: hash of its trigger or predicate, and of its first argument.
/// Different subjects may have the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    name: u32,
    /// [`Self::OPEN`] if there is no first argument, or it is no constant.
    argument: u32,
}

/// Subjects that a condition depends on.
pub type Subjects = SmallVec<[Subject; 2]>;

/// Intentions that wait for an event or a condition.
#[derive(Debug, Default)]
pub struct WaitIndex {
    events: BTreeSet<(Subject, Waiting)>,
    conditions: BTreeSet<Waiting>,
    /// Intentions whose condition may become true without a change of beliefs.
    volatile: BTreeSet<Waiting>,
    /// Dependencies of conditions; `None` while there are few.
    watched: Option<Box<ConditionDependencies>>,
}

/// Dependencies of conditions.
#[derive(Debug, Default)]
struct ConditionDependencies {
    by_subject: BTreeSet<(Subject, Waiting)>,
    subjects: FxHashMap<Waiting, Subjects>,
    /// Intentions whose conditions' dependencies are not noted yet.
    fresh: BTreeSet<Waiting>,
    /// Number of rules that had been added when the dependencies were noted.
    rules: u32,
}

fn waiting(id: IntentionId) -> Waiting {
    (id.number, id.index)
}

fn intention((number, index): Waiting) -> IntentionId {
    IntentionId { index, number }
}

impl Subject {
    const OPEN: u32 = 0;

    /// Any subject.
    pub const ANY: Self = Self { name: 0, argument: Self::OPEN };

    /// Creates the subject of this name, with this first argument.
    fn new(name: impl Hash, first: Option<&Value>) -> Self {
        Self { name: hash(name), argument: first.and_then(constant_hash).map_or(Self::OPEN, hash) }
    }

    /// Returns the subject of beliefs of a predicate with this first argument, or of all its beliefs.
    pub fn of_belief(predicate: &Key, first: Option<&Value>) -> Self {
        Self::new(predicate, first)
    }

    fn of_event(event: &Event) -> Self {
        Self::new(event.trigger(), event.literal.args.first())
    }

    fn of_wait(until: &WaitFor) -> Option<Self> {
        let WaitFor::Event(op, kind, pattern) = until else { return None };
        let key = Key::of_value(pattern).filter(|key| key.functor != reserved::DECORATED);
        let Some(key) = key else { return Some(Self::ANY) };
        Some(Self::new(TriggerKey { op: *op, kind: *kind, key }, pattern.args().first()))
    }
}

/// Returns a hash that is not 0.
fn hash(value: impl Hash) -> u32 {
    (FxBuildHasher.hash_one(value) >> 32) as u32 | 1
}

/// Finds the intentions that wait for a subject: with this first argument, with an open one, or for any subject.
fn who_waits(all: &BTreeSet<(Subject, Waiting)>, subject: Subject, found: &mut BTreeSet<Waiting>) {
    let Subject { name, argument } = subject;
    let mut take = |first: Subject, last: Subject| {
        let range = all.range((first, (0, 0))..=(last, (u32::MAX, u32::MAX)));
        found.extend(range.map(|(_, waiting)| *waiting));
    };
    take(Subject::ANY, Subject::ANY);
    let open = Subject { name, argument: Subject::OPEN };
    match argument {
        Subject::OPEN => take(open, Subject { name, argument: u32::MAX }),
        _ => {
            take(open, open);
            take(subject, subject);
        }
    }
}

impl WaitIndex {
    /// Returns true if an intention waits for an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns true if an intention waits for a condition.
    pub fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Returns true if a condition may become true without a change of beliefs.
    pub fn is_volatile(&self) -> bool {
        !self.volatile.is_empty()
    }

    /// Returns the number of waits.
    pub fn count(&self) -> usize {
        self.events.len() + self.conditions.len()
    }

    /// Enters a wait. `volatile` means that a condition may become true without a change of beliefs.
    pub fn begin(&mut self, id: IntentionId, until: &WaitFor, volatile: bool) {
        if let Some(subject) = Subject::of_wait(until) {
            self.events.insert((subject, waiting(id)));
            return;
        }
        self.conditions.insert(waiting(id));
        if volatile {
            self.volatile.insert(waiting(id));
        }
        if let Some(watched) = &mut self.watched {
            watched.fresh.insert(waiting(id));
        }
    }

    /// Drops a wait.
    pub fn end(&mut self, id: IntentionId, until: &WaitFor) {
        if let Some(subject) = Subject::of_wait(until) {
            self.events.remove(&(subject, waiting(id)));
            return;
        }
        self.conditions.remove(&waiting(id));
        self.volatile.remove(&waiting(id));
        if let Some(watched) = &mut self.watched {
            watched.forget(waiting(id));
        }
        if self.conditions.is_empty() {
            self.watched = None;
        }
    }

    /// Returns intentions that may wait for this event, the oldest first.
    pub fn for_event(&self, event: &Event) -> Vec<IntentionId> {
        let mut found = BTreeSet::new();
        who_waits(&self.events, Subject::of_event(event), &mut found);
        found.into_iter().map(intention).collect()
    }

    /// Returns all intentions that wait for a condition, the oldest first.
    pub fn all_conditions(&self) -> Vec<IntentionId> {
        self.conditions.iter().copied().map(intention).collect()
    }

    /// Returns intentions whose conditions may have become true by these changes, the oldest first.
    pub fn for_changes(&self, changes: &[Subject]) -> Vec<IntentionId> {
        let mut found = self.volatile.clone();
        if let Some(watched) = &self.watched {
            changes.iter().for_each(|subject| who_waits(&watched.by_subject, *subject, &mut found));
        }
        found.into_iter().map(intention).collect()
    }

    /// Returns true if the dependencies of conditions are noted.
    pub fn is_watching(&self) -> bool {
        self.watched.is_some()
    }

    /// Returns true if the notes are valid for the present rules, of which this many were added so far.
    pub fn is_current(&self, rules: u32) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.rules == rules)
    }

    /// Returns the intentions whose conditions' dependencies have to be noted; this many rules were added so far.
    pub fn unwatched(&mut self, rules: u32) -> Vec<IntentionId> {
        if !self.is_current(rules) {
            self.watched = None;
        }
        if self.watched.is_none() && self.conditions.len() >= CONDITIONS_INDEXED_FROM {
            let fresh = self.conditions.clone();
            self.watched = Some(Box::new(ConditionDependencies { fresh, rules, ..ConditionDependencies::default() }));
        }
        let Some(watched) = &mut self.watched else { return Vec::new() };
        std::mem::take(&mut watched.fresh).into_iter().map(intention).collect()
    }

    /// Notes the dependencies of an intention's condition.
    pub fn watch(&mut self, id: IntentionId, subjects: Subjects) {
        let Some(watched) = &mut self.watched else { return };
        watched.by_subject.extend(subjects.iter().map(|subject| (*subject, waiting(id))));
        watched.subjects.insert(waiting(id), subjects);
    }
}

impl ConditionDependencies {
    fn forget(&mut self, waiting: Waiting) {
        self.fresh.remove(&waiting);
        for subject in self.subjects.remove(&waiting).into_iter().flatten() {
            self.by_subject.remove(&(subject, waiting));
        }
    }
}
