//! Literals in plan bodies that stand for a goal or a belief of the agent's own, with what is found out about them when
//! they are executed first.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Expr, Image, Key, TriggerKind, TriggerOp};
use crate::mind::{PlanRef, TriggerKey};

/// A literal without annotations that a step is about.
#[derive(Clone, Debug)]
pub struct Site {
    /// What it is called.
    pub key: Key,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Where the agent's beliefs of this predicate are.
    pub hint: Hint,
    /// The plans for its being added: a goal, or a belief.
    pub on_add: Listeners,
    /// The plans for its being deleted.
    pub on_delete: Listeners,
}

impl Site {
    /// The trigger of an event about it.
    #[inline]
    pub fn trigger(&self, op: TriggerOp, kind: TriggerKind) -> TriggerKey {
        TriggerKey { op, kind, key: self.key }
    }

    /// A literal of which nothing is known yet.
    pub fn new(key: Key, args: Vec<Expr>) -> Self {
        Self { key, args, hint: Hint::default(), on_add: Listeners::default(), on_delete: Listeners::default() }
    }
}

/// The program's plans for a trigger, looked up once.
#[derive(Clone, Debug, Default)]
pub struct Listeners(OnceLock<Plans>);

/// The program's plans for a trigger.
#[derive(Clone, Debug)]
pub struct Plans {
    /// They, in order.
    pub places: Box<[PlanRef]>,
    /// Whether all are ordinary plans ([`super::Plan::is_plain`]).
    pub plain: bool,
}

impl Listeners {
    /// The plans of this program for the trigger; both must be the same each time.
    #[inline]
    pub fn plans(&self, image: &Image, trigger: impl FnOnce() -> TriggerKey) -> &Plans {
        self.0.get_or_init(|| Plans::of(image, image.index.candidates(&trigger())))
    }
}

impl Plans {
    fn of(image: &Image, places: &[PlanRef]) -> Self {
        let plain = !image.asks_desires
            && places.iter().all(|place| image.plans.get(place.0 as usize).is_some_and(|plan| plan.is_plain));
        Self { places: places.into(), plain }
    }
}

/// Where a predicate was found last. Only a hint: agents of one program mostly, but not always, have it in the same
/// place.
#[derive(Debug, Default)]
pub struct Hint(AtomicU32);

impl Hint {
    /// The place where to look first.
    #[inline]
    pub fn place(&self) -> usize {
        self.0.load(Ordering::Relaxed) as usize
    }

    /// Notes where it was found.
    pub fn note(&self, place: usize) {
        self.0.store(place as u32, Ordering::Relaxed);
    }
}

impl Clone for Hint {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}
