//! Goal index of intentions: the candidates for a goal, by its predicate and first argument.
//!
//! The index is made when a goal is looked up among many intentions. A changed intention is entered anew before the
//! next lookup, and its old entries stay: callers compare the goals of each candidate.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;
use whimbrel_acl::Value;

use super::{Intention, IntentionId};
use crate::code::{Key, TriggerKind, TriggerOp};
use crate::logic::constant_hash;
use crate::syntax::quote::reserved;

/// Number of intentions from which they are found by goal.
pub(super) const INDEXED_FROM: usize = 32;

/// Number of outdated entries that are allowed, beside as many as there were entries at first.
const OUTDATED_MAX: usize = 256;

/// Bytes of an entry and of its list, roughly: many lists have one entry.
const ENTRY_BYTES: usize = 48;

/// Index of some intentions, once it is made. Copies of intentions get a new one.
#[derive(Debug, Default)]
pub(super) struct ByGoal(pub(super) RefCell<Option<Box<GoalIndex>>>);

impl Clone for ByGoal {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// True if the index has all goals of an intention; false for a copy.
#[derive(Debug, Default)]
pub(crate) struct IndexMark(pub(super) Cell<bool>);

impl Clone for IndexMark {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Intentions by the goals of their frames.
#[derive(Debug, Default)]
pub(super) struct GoalIndex {
    by_predicate: FxHashMap<Key, Vec<IntentionId>>,
    /// Intentions by predicate and hash of the first argument, if that is a constant.
    by_constant: FxHashMap<(Key, u64), Vec<IntentionId>>,
    /// Intentions by predicate, for goals without a constant first argument.
    open: FxHashMap<Key, Vec<IntentionId>>,
    /// Intentions with goals that plans for any goal pursue.
    others: Vec<IntentionId>,
    /// Places of intentions that began or changed since they were entered.
    changed: Vec<u32>,
    entries: usize,
    /// Number of entries at which the index is rebuilt.
    entries_max: usize,
}

impl GoalIndex {
    /// Notes the place of an intention that began or changed. Returns false if so many did that the index is useless
    /// now.
    pub(super) fn note(&mut self, place: u32) -> bool {
        self.changed.push(place);
        self.changed.len() <= self.entries_max
    }

    /// Enters intentions that began or changed; all if the index is new. An intention without variables of its own that
    /// `is_in_hand` is entered later, and returned: its variables may be elsewhere.
    pub(super) fn refresh(
        &mut self,
        all: &[Option<Box<Intention>>],
        is_in_hand: impl Fn(&Intention) -> bool,
    ) -> Vec<IntentionId> {
        if self.entries >= self.entries_max {
            *self = Self { changed: (0..all.len() as u32).collect(), ..Self::default() };
            all.iter().flatten().for_each(|intention| intention.is_indexed.0.set(false));
        }
        let is_new = self.entries_max == 0;
        let mut unknown = Vec::new();
        for place in std::mem::take(&mut self.changed) {
            let Some(intention) = all.get(place as usize).and_then(Option::as_deref) else { continue };
            if intention.slots.is_empty() && is_in_hand(intention) {
                self.changed.push(place);
                unknown.push(intention.id);
            } else if !intention.is_indexed.0.replace(true) {
                self.enter(intention);
            }
        }
        if is_new {
            self.entries_max = 2 * self.entries.max(all.len()) + OUTDATED_MAX;
        }
        unknown
    }

    /// Returns the memory of the index in bytes, roughly.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.entries * ENTRY_BYTES + self.changed.capacity() * size_of::<u32>()
    }

    fn enter(&mut self, intention: &Intention) {
        let id = intention.id;
        let mut entries = 0;
        let mut add = |list: &mut Vec<IntentionId>| {
            if list.last() != Some(&id) {
                list.push(id);
                entries += 1;
            }
        };
        for frame in &intention.frames {
            let key = frame.trigger.key;
            if frame.trigger.op != TriggerOp::Add || frame.trigger.kind != TriggerKind::Achieve {
                continue;
            }
            if frame.extra.as_ref().is_some_and(|extra| extra.literal.is_some()) {
                add(&mut self.others);
                continue;
            }
            add(self.by_predicate.entry(key).or_default());
            let first = (key.arity > 0).then(|| intention.slots.get(frame.base as usize)).flatten();
            match first.and_then(hash_of) {
                Some(hash) => add(self.by_constant.entry((key, hash)).or_default()),
                None => add(self.open.entry(key).or_default()),
            }
        }
        self.entries += entries;
    }

    /// Returns the intentions that may pursue a goal of this predicate.
    pub(super) fn candidates(&self, key: Key, goal: &Value) -> Vec<IntentionId> {
        let mut found = self.others.clone();
        match goal.args().first().and_then(hash_of) {
            Some(hash) => {
                found.extend(self.by_constant.get(&(key, hash)).into_iter().flatten());
                found.extend(self.open.get(&key).into_iter().flatten());
            }
            None => found.extend(self.by_predicate.get(&key).into_iter().flatten()),
        }
        found
    }
}

/// Returns the predicate of a goal; `None` if the goal may be of several.
pub(super) fn predicate(goal: &Value) -> Option<Key> {
    Key::of_value(goal).filter(|key| key.functor != reserved::DECORATED)
}

/// Returns the hash of an argument that is a constant.
fn hash_of(argument: &Value) -> Option<u64> {
    if matches!(argument, Value::Null) { None } else { constant_hash(argument) }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};
    use whimbrel_acl::Structure;

    use super::super::{Event, Frame, Intentions, Mind};
    use super::*;
    use crate::code::{PlanRef, TriggerKey};

    /// Number of different first arguments; the one after them is a variable.
    const ARGUMENTS: u8 = 5;

    fn goal(argument: u8) -> Value {
        let first = if argument < ARGUMENTS { Value::Num(f64::from(argument)) } else { Value::Null };
        Structure::new(if argument.is_multiple_of(2) { "even" } else { "odd" }.into(), [first].into_iter().collect())
            .into_value()
    }

    fn pursue(intentions: &mut Intentions, id: IntentionId, argument: u8) {
        let goal = goal(argument);
        let trigger = TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key: Key::of_value(&goal).unwrap() };
        let intention = intentions.find_mut(id).unwrap();
        let base = intention.slots.len() as u32;
        intention.slots.extend(goal.args().iter().cloned());
        intention.frames.push(Frame { base, ..Frame::new(PlanRef(0), trigger) });
    }

    /// Finds the intentions with a goal by examining each.
    fn scan(intentions: &Intentions, wanted: &Value) -> Vec<IntentionId> {
        let fits = |intention: &Intention, frame: &Frame| {
            let first = intention.slots.get(frame.base as usize);
            Key::of_value(wanted) == Some(frame.trigger.key)
                && (first == Some(&Value::Null) || first == wanted.args().first() || wanted.args() == [Value::Null])
        };
        let all = intentions.iter().filter(|it| it.frames.iter().any(|frame| fits(it, frame)));
        let mut found: Vec<IntentionId> = all.map(|intention| intention.id).collect();
        found.sort_by_key(|id| id.number);
        found
    }

    proptest! {
        #[test]
        fn candidates_agree_with_scan(steps in proptest::collection::vec((0..6_u8, 0..200_usize, 0..=ARGUMENTS), 1..600)) {
            let mut intentions = Intentions::default();
            for number in 0..2 * INDEXED_FROM {
                let id = intentions.begin();
                pursue(&mut intentions, id, number as u8 % ARGUMENTS);
            }
            for (step, which, argument) in steps {
                let ids = intentions.ids();
                let Some(id) = ids.get(which % ids.len().max(1)).copied() else { break };
                match step {
                    0 => {
                        let id = intentions.begin();
                        pursue(&mut intentions, id, argument);
                    }
                    1 => pursue(&mut intentions, id, argument),
                    2 => {
                        intentions.end(id);
                    }
                    3 => {
                        let intention = intentions.find_mut(id).unwrap();
                        intention.frames.truncate(1);
                    }
                    _ => {
                        let (wanted, expected) = (goal(argument), scan(&intentions, &goal(argument)));
                        let found = intentions.pursuing(&wanted, |_| false);
                        prop_assert!(expected.iter().all(|id| found.contains(id)), "{wanted}");
                        prop_assert!(found.is_sorted_by_key(|id| id.number));
                    }
                }
            }
        }
    }

    #[test]
    fn indexes_count_in_footprint() {
        let mut mind = Mind::default();
        for number in 0..1_000 {
            let id = mind.intentions.begin();
            pursue(&mut mind.intentions, id, number as u8 % ARGUMENTS);
            let goal = Structure::new("goal".into(), [Value::Num(f64::from(number))].into_iter().collect());
            mind.events.push(Event::external(TriggerOp::Add, TriggerKind::Achieve, goal));
        }
        let mut before = mind.footprint(usize::MAX);
        // Two numbers of 8 bytes at least for each entry, of which there are two for each intention or event.
        let least = 1_000 * 2 * 16;
        mind.intentions.pursuing(&goal(2), |_| false);
        let with_goals = mind.footprint(usize::MAX);
        assert!(with_goals >= before + least, "{before} {with_goals}");
        before = with_goals;
        mind.events.for_goal(&Value::term("goal", [Value::Num(7.0)]));
        let with_events = mind.footprint(usize::MAX);
        assert!(with_events >= before + least, "{before} {with_events}");
    }

    #[test]
    fn index_omits_intention_in_hand() {
        let mut intentions = Intentions::default();
        let trigger = |name| {
            let key = Key::of_value(&Value::atom(name)).unwrap();
            TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key }
        };
        let ids: Vec<IntentionId> = (0..200).map(|_| intentions.begin()).collect();
        for (number, id) in ids.iter().enumerate() {
            let name = if number < 100 { "rest" } else { "work" };
            intentions.find_mut(*id).unwrap().frames.push(Frame::new(PlanRef(0), trigger(name)));
        }
        let asked = Cell::new(0);
        let in_hand = |intention: &Intention| {
            asked.set(asked.get() + 1);
            intention.id == ids[0]
        };
        for _ in 0..10 {
            assert_eq!(intentions.pursuing(&Value::atom("work"), in_hand).len(), 101);
        }
        // Each is asked for once, and the one in hand each time.
        assert_eq!(asked.get(), 200 + 9);
    }

    #[test]
    fn first_argument_finds_intentions() {
        let mut intentions = Intentions::default();
        for number in 0..200 {
            let id = intentions.begin();
            pursue(&mut intentions, id, number % ARGUMENTS);
        }
        for _ in 0..3 {
            assert_eq!(intentions.pursuing(&goal(2), |_| false), scan(&intentions, &goal(2)));
            assert_eq!(intentions.pursuing(&goal(2), |_| false).len(), 40);
            assert_eq!(intentions.pursuing(&Value::Null, |_| false).len(), 200);
        }
        // An index without lookups is given up.
        for _ in 0..10_000 {
            let id = intentions.begin();
            intentions.end(id);
        }
        let clone = intentions.clone();
        assert_eq!(clone.pursuing(&goal(3), |_| true), scan(&intentions, &goal(3)));
    }
}
