//! Literals in plan bodies that stand for a goal or a belief of the agent's own, with what is found out about them when
//! they are executed first.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Expr, Image, Key, PlainStep, TriggerKind, TriggerOp};
use crate::mind::{PlanList, PlanRef, TriggerKey};

/// A literal without annotations that a step is about.
#[derive(Clone, Debug)]
pub struct Site {
    /// What it is called.
    pub key: Key,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Where the agent's beliefs of this predicate are.
    pub hint: Hint,
    /// If it is a goal: the program's plans for it.
    plans: OnceLock<Plans>,
    /// If it is a belief: whether the program has no plan for what the step does to it.
    unheard: OnceLock<bool>,
}

impl Site {
    /// The trigger of an event about it.
    #[inline]
    pub fn trigger(&self, op: TriggerOp, kind: TriggerKind) -> TriggerKey {
        TriggerKey { op, kind, key: self.key }
    }

    /// A literal of which nothing is known yet.
    pub fn new(key: Key, args: Vec<Expr>) -> Self {
        Self { key, args, hint: Hint::default(), plans: OnceLock::new(), unheard: OnceLock::new() }
    }

    /// This program's plans for the goal; it must be the same each time.
    #[inline]
    pub fn plans(&self, image: &Image, trigger: impl FnOnce() -> TriggerKey) -> &Plans {
        self.plans.get_or_init(|| Plans::of(image, image.index.candidates_held(&trigger())))
    }

    /// Whether this program has no plan for what the step does to beliefs; both must be the same each time.
    #[inline]
    pub fn is_unheard(&self, step: PlainStep, image: &Image) -> bool {
        *self.unheard.get_or_init(|| {
            let trigger = |op: &TriggerOp| self.trigger(*op, TriggerKind::Belief);
            step.triggers().iter().all(|op| image.index.candidates(&trigger(op)).all().is_empty())
        })
    }
}

/// The program's plans for a trigger.
#[derive(Clone, Debug)]
pub struct Plans {
    /// They, in order.
    pub list: Arc<PlanList>,
    /// Whether all are ordinary plans ([`super::Plan::is_plain`]).
    pub plain: bool,
}

impl Plans {
    fn of(image: &Image, list: Arc<PlanList>) -> Self {
        let is_plain = |place: &PlanRef| image.plans.get(place.0 as usize).is_some_and(|plan| plan.is_plain);
        Self { plain: !image.asks_desires && list.all().iter().all(is_plain), list }
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
