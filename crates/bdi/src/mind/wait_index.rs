//! Intentions that wait for an event or a condition, by what may end their wait.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use whimbrel_acl::Value;

use super::{Event, IntentionId, TriggerKey, WaitFor};
use crate::code::{Key, reserved};
use crate::logic::constant_hash;

/// Number of waits for conditions from which it is noted what each depends on.
const CONDITIONS_INDEXED_FROM: usize = 8;

/// An intention in the order of their numbers: number and index.
type Waiting = (u32, u32);

/// Subject of an event or of a change of beliefs: hash of its trigger or predicate, and of its first argument. Different
/// ones may have the same hash.
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
    /// Intentions whose condition may come true without a change of beliefs.
    volatile: BTreeSet<Waiting>,
    /// Dependencies of conditions; none while there are few.
    watched: Option<Box<Watched>>,
}

/// Dependencies of conditions.
#[derive(Debug, Default)]
struct Watched {
    by_subject: BTreeSet<(Subject, Waiting)>,
    subjects: FxHashMap<Waiting, Subjects>,
    /// Intentions of whose conditions it is not noted yet what they depend on.
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

    /// The subject of this name, with this first argument.
    fn new(name: impl Hash, first: Option<&Value>) -> Self {
        Self { name: hash(name), argument: first.and_then(constant_hash).map_or(Self::OPEN, hash) }
    }

    /// Beliefs of a predicate that have this first argument, or all of them.
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
    /// True if an intention waits for an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// True if an intention waits for a condition.
    pub fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// True if a condition may come true without a change of beliefs.
    pub fn is_volatile(&self) -> bool {
        !self.volatile.is_empty()
    }

    /// Number of waits.
    pub fn count(&self) -> usize {
        self.events.len() + self.conditions.len()
    }

    /// Enters a wait. `volatile` says that a condition may come true without a change of beliefs.
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

    /// Intentions that may wait for this event, the oldest first.
    pub fn for_event(&self, event: &Event) -> Vec<IntentionId> {
        let mut found = BTreeSet::new();
        who_waits(&self.events, Subject::of_event(event), &mut found);
        found.into_iter().map(intention).collect()
    }

    /// All intentions that wait for a condition, the oldest first.
    pub fn all_conditions(&self) -> Vec<IntentionId> {
        self.conditions.iter().copied().map(intention).collect()
    }

    /// Intentions whose conditions may have come true by these changes, the oldest first.
    pub fn for_changes(&self, changes: &[Subject]) -> Vec<IntentionId> {
        let mut found = self.volatile.clone();
        if let Some(watched) = &self.watched {
            changes.iter().for_each(|subject| who_waits(&watched.by_subject, *subject, &mut found));
        }
        found.into_iter().map(intention).collect()
    }

    /// True if it is noted what conditions depend on.
    pub fn is_watching(&self) -> bool {
        self.watched.is_some()
    }

    /// True if what is noted holds for the rules that there are, of which so many were added so far.
    pub fn is_current(&self, rules: u32) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.rules == rules)
    }

    /// Intentions of whose conditions it is to be noted what they depend on; so many rules were added so far.
    pub fn unwatched(&mut self, rules: u32) -> Vec<IntentionId> {
        if !self.is_current(rules) {
            self.watched = None;
        }
        if self.watched.is_none() && self.conditions.len() >= CONDITIONS_INDEXED_FROM {
            let fresh = self.conditions.clone();
            self.watched = Some(Box::new(Watched { fresh, rules, ..Watched::default() }));
        }
        let Some(watched) = &mut self.watched else { return Vec::new() };
        std::mem::take(&mut watched.fresh).into_iter().map(intention).collect()
    }

    /// Notes what an intention's condition depends on.
    pub fn watch(&mut self, id: IntentionId, subjects: Subjects) {
        let Some(watched) = &mut self.watched else { return };
        watched.by_subject.extend(subjects.iter().map(|subject| (*subject, waiting(id))));
        watched.subjects.insert(waiting(id), subjects);
    }
}

impl Watched {
    fn forget(&mut self, waiting: Waiting) {
        self.fresh.remove(&waiting);
        for subject in self.subjects.remove(&waiting).into_iter().flatten() {
            self.by_subject.remove(&(subject, waiting));
        }
    }
}
