//! Where an agent pauses that somebody debugs.

use whimbrel_platform::limits::BREAKPOINTS_MAX;

use super::PlanName;
use crate::code::Plan;

/// Plans with breakpoints, as an operator has them: those that the program marks, but for some, and others.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    /// Plans that the operator said something about, and whether they have one.
    set: Vec<(PlanName, bool)>,
}

impl Breakpoints {
    /// Whether this plan has one.
    pub fn is_at(&self, plan: &Plan) -> bool {
        let name = PlanName::of(plan);
        let set = self.set.iter().find(|(other, _)| *other == name).map(|(_, on)| *on);
        set.unwrap_or_else(|| is_marked(plan))
    }

    /// Sets one, or takes it away, also one that the program has; false if there are too many of either.
    pub fn set(&mut self, plan: PlanName, on: bool) -> bool {
        self.set.retain(|(other, _)| *other != plan);
        let has_room = self.set.len() < BREAKPOINTS_MAX;
        self.set.extend(has_room.then_some((plan, on)));
        has_room
    }
}

/// Whether the program has a breakpoint at its plan: `@label[breakpoint]`.
pub(super) fn is_marked(plan: &Plan) -> bool {
    plan.annots.iter().any(|annot| annot.to_value().functor().is_some_and(|name| name.as_str() == "breakpoint"))
}
