//! Steps: places of their variables, and their outcomes.

use whimbrel_acl::Symbol;

use crate::mind::IntentionId;
use crate::prover::Failure;

/// Place of a step's variables.
#[derive(Clone, Copy)]
pub(super) struct At<'p> {
    /// Intention.
    pub(super) id: IntentionId,
    /// First slot of its plan.
    pub(super) base: u32,
    /// Names of the plan's variables.
    pub(super) names: &'p [Symbol],
}

/// Stands for the intention of a step that is executed without one.
pub(super) const NOBODY: IntentionId = IntentionId { index: u32::MAX, number: 0 };

/// Effect of a step on its intention.
pub(super) enum Stepped {
    /// Continue with the next operation.
    Next,
    /// Continue likewise, after a change of beliefs whose event interests no plan.
    Unheard,
    /// Continue at this operation.
    Jump(u32),
    /// Continue with the plan for a goal.
    Called,
    /// The step itself has moved the intention.
    Moved,
    /// The step failed.
    Failed(Failure),
}

/// Effect of a step that needs no intention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepEffect {
    /// No further effect.
    Alone,
    /// A change of beliefs whose event interests no plan.
    Unheard,
}

/// Fails a step that was not done because a term in it nests too deep, which is noted.
pub(super) fn unfit() -> Stepped {
    Stepped::Failed(Failure::said_no())
}
