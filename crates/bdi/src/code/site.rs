//! Sites: literals in plan bodies that stand for a goal or belief of the agent, with facts that are found at their
//! first execution.

use std::sync::{Arc, OnceLock};

use super::{Expr, Hint, Image, Key, PlainStep, PlanList, PlanRef, TriggerKey, TriggerKind, TriggerOp};

/// Literal without annotations that a step is about.
#[derive(Clone, Debug)]
pub struct Site {
    /// Key of the literal.
    pub key: Key,
    /// Arguments.
    pub args: Vec<Expr>,
    /// Likely place of the agent's beliefs of this predicate.
    pub hint: Hint,
    /// Plans of the program for the literal as a goal.
    plans: OnceLock<Plans>,
    /// True if no plan of the program reacts to the step's changes of the literal as a belief.
    unheard: OnceLock<bool>,
}

impl Site {
    /// Returns the trigger of an event about the literal.
    #[inline]
    pub fn trigger(&self, op: TriggerOp, kind: TriggerKind) -> TriggerKey {
        TriggerKey { op, kind, key: self.key }
    }

    /// Creates a site about which nothing is known yet.
    pub fn new(key: Key, args: Vec<Expr>) -> Self {
        Self { key, args, hint: Hint::default(), plans: OnceLock::new(), unheard: OnceLock::new() }
    }

    /// Returns this program's plans for the goal. The program must be the same each time.
    #[inline]
    pub fn plans(&self, image: &Image, trigger: impl FnOnce() -> TriggerKey) -> &Plans {
        self.plans.get_or_init(|| Plans::of(image, image.index.candidates_held(&trigger())))
    }

    /// Returns true if no plan of this program reacts to the step's changes of beliefs. Step and program must be the
    /// same each time.
    #[inline]
    pub fn is_unheard(&self, step: PlainStep, image: &Image) -> bool {
        *self.unheard.get_or_init(|| {
            let trigger = |op: &TriggerOp| self.trigger(*op, TriggerKind::Belief);
            step.triggers().iter().all(|op| image.index.candidates(&trigger(op)).all().is_empty())
        })
    }
}

/// Plans of a program for a trigger.
#[derive(Clone, Debug)]
pub struct Plans {
    /// Plans in order.
    pub list: Arc<PlanList>,
    /// True if all are plain plans ([`super::Plan::is_plain`]).
    pub plain: bool,
}

impl Plans {
    fn of(image: &Image, list: Arc<PlanList>) -> Self {
        let is_plain = |place: &PlanRef| image.plans.get(place.0 as usize).is_some_and(|plan| plan.is_plain);
        Self { plain: !image.asks_desires && list.all().iter().all(is_plain), list }
    }
}
